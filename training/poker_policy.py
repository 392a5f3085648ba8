"""A learned poker player in one file: a small network, read and played by NumPy alone."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..envs.errors import InputError
from ..envs.files import canonical, write_bytes
from ..wrappers.poker_bets import BetSpace
from ..wrappers.poker_features import feature_names
from ..wrappers.poker_player import Player

__all__ = ["Layers", "Perceptron", "load_policy", "save_policy"]

SCHEMA = "wager.policy/1"
_HEADER = "header"

Layers = tuple[tuple[NDArray[np.float32], NDArray[np.float32]], ...]
"""Weights (outputs, inputs) and biases (outputs,) of a perceptron with ReLU between the layers."""


@dataclass(frozen=True)
class Perceptron:
    """The scores that a network's layers give, without any library of networks."""

    layers: Layers

    def __call__(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Features (batch, features) to logits (batch, actions)."""
        x = features
        *hidden, (weights, bias) = self.layers
        for weight, shift in hidden:
            x = np.maximum(x @ weight.T + shift, np.float32(0.0))
        logits: NDArray[np.float32] = x @ weights.T + bias
        return logits


def save_policy(path: str | Path, layers: Sequence[Sequence[NDArray[Any]]], bets: BetSpace) -> None:
    """Write a network that plays ``bets`` at its table: a ``.npz`` of arrays, equal for equal ones.

    Raises:
        InputError: if the file cannot be written.
    """
    header = {"schema": SCHEMA, "game": "poker", "table": bets.table, "sizes": list(bets.sizes)}
    arrays = {_HEADER: np.frombuffer(canonical(header).encode(), np.uint8)}
    for k, (weight, bias) in enumerate(layers):
        arrays[f"weight{k}"] = np.asarray(weight, np.float32)
        arrays[f"bias{k}"] = np.asarray(bias, np.float32)
    stream = io.BytesIO()
    np.savez(stream, **arrays)  # type: ignore[arg-type]  # allow_pickle is no array
    write_bytes(path, stream.getvalue())


def load_policy(path: str | Path) -> Player:
    """The player in a file of ``save_policy``. Nothing in it is run, so any file may be tried.

    Raises:
        InputError: if the file is missing, cannot be read, or holds no poker player.
    """
    if not Path(path).is_file():
        raise InputError(f"policy {path}: no such file")
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = dict(archive)
        header = json.loads(arrays.pop(_HEADER).tobytes())
        if header["schema"] != SCHEMA or header["game"] != "poker":
            raise ValueError(f"schema {header['schema']}, game {header['game']}")
        bets = BetSpace(header["table"], header["sizes"])
        layers = tuple((arrays[f"weight{k}"], arrays[f"bias{k}"]) for k in range(len(arrays) // 2))
        _check(layers, bets)
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        line = (str(error) or type(error).__name__).splitlines()[0]
        if "pickle" in line:  # what NumPy says of any file that it does not know
            line = "not an .npz file"
        raise InputError(f"policy {path} is no poker policy: {line}") from None
    return Player(f"policy {path}", Perceptron(layers), bets)


def _check(layers: Layers, bets: BetSpace) -> None:
    """Raise ``ValueError`` unless the layers fit one another, the features and the actions."""
    width = len(feature_names(bets.table))
    for k, (weight, bias) in enumerate(layers):
        if weight.ndim != 2 or weight.shape[1] != width or bias.shape != weight.shape[:1]:
            raise ValueError(f"layer {k} has weights {weight.shape}, biases {bias.shape}")
        if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
            raise ValueError(f"layer {k} has numbers that are not finite")
        width = len(bias)
    if not layers or width != int(bets.n):
        raise ValueError(f"{width} outputs for {int(bets.n)} actions")
