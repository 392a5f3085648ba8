"""A run's folder: what was asked for, the checkpoint, and what came out."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..envs.errors import InputError
from ..envs.files import canonical, read_json, write_bytes, write_json

__all__ = ["Checkpoint", "Run"]

CONFIG, CHECKPOINT, MODEL, RESULTS, TIMING = (
    "config.json",
    "checkpoint.zip",
    "model.zip",
    "results.json",
    "timing.json",
)
_MODEL, _STATE = "model.zip", "state.json"


@dataclass
class Checkpoint:
    """All that a run is at the border of two segments; everything random follows from ``segment``.

    ``segment``: how many are behind; ``seconds``: time spent in them; ``curve``: a point an
    evaluation; ``clock``: the seconds at each; ``model``: a saved Stable-Baselines3 model with its
    optimiser, empty before the first.
    """

    segment: int = 0
    seconds: float = 0.0
    curve: list[dict[str, Any]] = field(default_factory=list)
    clock: list[float] = field(default_factory=list)
    model: bytes = b""

    def to_bytes(self) -> bytes:
        """One zip file."""
        state = {
            "segment": self.segment,
            "seconds": self.seconds,
            "curve": self.curve,
            "clock": self.clock,
        }
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr(_STATE, canonical(state))
            archive.writestr(_MODEL, self.model)
        return stream.getvalue()

    @classmethod
    def read(cls, path: Path) -> Checkpoint:
        """Read a checkpoint file.

        Raises:
            InputError: if it is missing, cut short or not a checkpoint.
        """
        try:
            with zipfile.ZipFile(path) as archive:
                state = json.loads(archive.read(_STATE))
                model = archive.read(_MODEL)
            return cls(
                int(state["segment"]),
                float(state["seconds"]),
                list(state["curve"]),
                list(state["clock"]),
                model,
            )
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            raise InputError(f"{path} is not a readable checkpoint: {error}") from None


class Run:
    """A folder that holds one run. ``config`` is what the run was asked to do, JSON values."""

    def __init__(self, folder: str | os.PathLike[str], config: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        self.config = dict(config)

    @property
    def started(self) -> bool:
        """Whether the folder already holds a run."""
        return (self.folder / CONFIG).exists()

    def open(self, resume: bool) -> Checkpoint:
        """Make the folder, or go on with the run in it if ``resume``; a fresh state or the last.

        Raises:
            InputError: if the folder holds something and ``resume`` is not set, holds a run that
                was asked to do something else, or cannot be written.
        """
        path = self.folder / CHECKPOINT
        if self.started and resume:
            known = read_json(self.folder / CONFIG)
            if not isinstance(known, dict):
                raise InputError(f"{self.folder / CONFIG} must hold a JSON object")
            for key in sorted(known.keys() | self.config.keys()):
                if known.get(key) != self.config.get(key):
                    raise InputError(
                        f"{self.folder} holds a run with {key} {known.get(key)};"
                        f" got {self.config.get(key)}"
                    )
            write_json(self.folder / CONFIG, self.config)  # writable?
            return Checkpoint.read(path) if path.exists() else Checkpoint()
        try:
            if self.folder.exists() and any(self.folder.iterdir()):
                hint = " (resume goes on with it)" if self.started else ""
                raise InputError(f"{self.folder} is not empty{hint}: choose another folder")
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot write {self.folder}: {error.strerror or error}") from None
        write_json(self.folder / CONFIG, self.config)
        return Checkpoint()

    def save(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint, atomically."""
        write_bytes(self.folder / CHECKPOINT, checkpoint.to_bytes())
