"""What came of a match, ``wager.match/1``: the game's results, and how each seat came by its own.

Calls, faults and tokens are as the endpoints had them. How long things took stands in ``timing``
alone, which the digest leaves out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ...envs.files import digest
from ...envs.replay import Replay
from .pace import Limits
from .seats import OUT_OF_TIME, ChatSeat, Player

SCHEMA = "wager.match/1"
SCHEMA_FILE = Path(__file__).with_name("match.schema.json")
"""The published JSON Schema."""


def match_results(
    replay: Replay, players: Sequence[Player], limits: Limits | None, seconds: float
) -> dict[str, Any]:
    """The results of a match, as JSON types.

    ``limits`` are those that the match was played under; None where no endpoint played. ``seconds``
    is what it took.
    """
    cut = any(player.tally.faults[OUT_OF_TIME] for player in players)
    body: dict[str, Any] = {
        "schema": SCHEMA,
        "game": replay["game"],
        "version": version("wager"),
        "config": replay["config"],
        "seed": replay["seed"],
        "limits": None if limits is None else _finite(asdict(limits)),
        "reason": replay["results"].get("reason", "deadline" if cut else "complete"),
        "seats": [_seat(player) for player in players],
        "results": replay["results"],
        "replay": replay["digest"],
    }
    sealed = body | {"digest": digest(body)}
    return sealed | {"timing": {"seconds": seconds, "seats": [_timing(p) for p in players]}}


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    return {name: None if value == float("inf") else value for name, value in values.items()}


def _seat(player: Player) -> dict[str, Any]:
    tally = player.tally
    return {
        "name": player.name,
        "kind": "llm" if isinstance(player, ChatSeat) else "policy",
        "decisions": tally.decisions,
        "fallbacks": tally.fallbacks,
        "forced_folds": tally.forced_folds,
        "dropped": tally.dropped,
        "calls": tally.calls,
        "retries": tally.retries,
        "faults": dict(sorted(tally.faults.items())),
        "prompt_tokens": tally.prompt_tokens,
        "completion_tokens": tally.completion_tokens,
    }


def _timing(player: Player) -> dict[str, float | None]:
    """Seconds a call took: the mean and the longest; null without a call."""
    seconds = player.tally.seconds
    return {
        "mean": sum(seconds) / len(seconds) if seconds else None,
        "longest": max(seconds, default=None),
    }
