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
from ..envs.poker.infosets import check_game, tree
from ..envs.poker.policies import pack
from ..envs.poker.tables import TABLES
from ..envs.seats import Observations
from ..wrappers.poker_bets import BARRED, BetSpace
from ..wrappers.poker_features import feature_names, seen_features
from ..wrappers.poker_models import draw_natives

__all__ = ["NetworkAtTable", "NetworkPolicy", "load_policy", "save_policy"]

SCHEMA = "wager.policy/1"
_HEADER = "header"

Layers = tuple[tuple[NDArray[np.float32], NDArray[np.float32]], ...]
"""Weights (outputs, inputs) and biases (outputs,) of a perceptron with ReLU between the layers."""


@dataclass(frozen=True)
class NetworkAtTable:
    """A network at one table: a ``Policy`` that draws from the chances that it gives."""

    layers: Layers
    table: str
    bets: BetSpace

    def probabilities(
        self, seen: NDArray[np.int32], history: NDArray[np.int16]
    ) -> NDArray[np.float64]:
        """The chances of the small actions: float64 (batch, actions), 0 of those not legal.

        ``seen``: packed observations int32 (batch, width), ``history`` int16 (batch, decisions, 3)
        of seats to act. At Kuhn and Leduc the actions are fold, call and raise.
        """
        return self._chances(seen, history, self.bets.menus(seen))

    def __call__(
        self,
        observations: Observations,
        action_masks: NDArray[np.int8] | None,
        rng: NDArray[np.uint64],
    ) -> NDArray[np.int64]:
        """Decide one native action a row."""
        seen = pack(observations)
        history = np.ascontiguousarray(observations["history"], np.int16)
        menus = self.bets.menus(seen)
        actions = np.empty(len(seen), np.int64)
        keys = np.ascontiguousarray(rng, np.uint64)
        draw_natives(self._chances(seen, history, menus), menus, keys, actions)
        return actions

    def _chances(
        self, seen: NDArray[np.int32], history: NDArray[np.int16], menus: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        x = seen_features(self.table, seen, history)
        *hidden, (weights, bias) = self.layers
        for weight, shift in hidden:
            x = np.maximum(x @ weight.T + shift, np.float32(0.0))
        logits = (x @ weights.T + bias).astype(np.float64)
        scores = np.where(menus != BARRED, logits, -np.inf)
        chances: NDArray[np.float64] = np.exp(scores - scores.max(1, keepdims=True))
        chances /= chances.sum(1, keepdims=True)
        return chances


@dataclass(frozen=True)
class NetworkPolicy:
    """A network as a player, as the scripted ones of ``POLICIES`` are.

    It plays the tables with the game and the seats of the one that it was trained at: a network of
    ``holdem-hu`` also ``headsup``, one of ``holdem-6max`` also ``sixmax``.
    """

    name: str
    layers: Layers
    bets: BetSpace

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that it plays."""
        own = (self.bets.game, self.bets.seats)
        return tuple(name for name, one in TABLES.items() if (one.game, one.seats) == own)

    def at(self, table: str) -> NetworkAtTable:
        """The player at a table.

        Raises:
            InputError: if it does not play there.
        """
        if table not in self.tables:
            raise InputError(f"{self.name} plays {', '.join(self.tables)}; got {table!r}")
        return NetworkAtTable(self.layers, table, self.bets)

    def strategy(self, game: str) -> NDArray[np.float64]:
        """What it does in every information set of Kuhn or Leduc, for ``exploitability``.

        Chances of fold, call and raise, float64 (information sets of ``tree(game)``, 3).

        Raises:
            InputError: for another game, or one that it does not play.
        """
        known = tree(check_game(game))
        return self.at(game).probabilities(known.seen, known.history)


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


def load_policy(path: str | Path) -> NetworkPolicy:
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
        raise InputError(f"policy {path} is no poker policy: {line}") from None
    return NetworkPolicy(f"policy {path}", layers, bets)


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
