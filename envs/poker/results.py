"""What a match comes to: scores on the common axis, and the results table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .audit import audit
from .exploitability import GAMES, exploitability, observe_match
from .state import REASONS, Row
from .tables import Table


def scores(table: Table, row: Row) -> list[float]:
    """Each seat's score, in [0, 1]; they sum to 1.

    ``1/n + net / (n * stack * hands scored)``; of a chip race, and of one hand, the share of the
    chips. Before a hand is scored everybody has ``1/n``.
    """
    n = table.seats
    scale = n * table.stack * (1 if table.race else max(1, int(row["scored"])))
    return [1 / n + int(net) / scale for net in row["net"][:n]]


def results(
    table: Table,
    row: Row,
    seed: int,
    decisions: Sequence[int],
    names: Sequence[str] | None = None,
    fallbacks: Sequence[int] | None = None,
    forced_folds: Sequence[int] | None = None,
) -> dict[str, Any]:
    """The results of a match, as JSON types. Lists are by seat.

    ``hands_won`` counts hands with chips gained, ``stack_offs`` hands that took a seat's last chip.
    ``exploitability`` (of what a seat did, Kuhn and Leduc) and ``audit`` (three seats or more, see
    ``audit.audit``) are null elsewhere.

    Args:
        table: the table.
        row: the match, over.
        seed: its seed, as recorded.
        decisions: its actions, in order.
        names: who played; None is the seats' own names.
        fallbacks: decisions that the reference made in a seat's stead.
        forced_folds: decisions that were folded in a seat's stead.
    """
    n = table.seats
    net = [int(chips) for chips in row["net"][:n]]
    scored = int(row["scored"])
    hands = max(1, scored)
    exact = table.name in GAMES
    observed = observe_match(table, row["key"], decisions) if exact else []
    return {
        "table": table.name,
        "seats": n,
        "names": list(names) if names is not None else [f"seat_{k}" for k in range(n)],
        "scores": scores(table, row),
        "win": [chips == max(net) for chips in net],
        "net": net,
        "net_per_hand": [chips / hands for chips in net],
        "units_per_hand": [chips / (table.unit * hands) for chips in net],
        "hands_won": row["hands_won"][:n].tolist(),
        "stack_offs": row["stack_offs"][:n].tolist(),
        "stacks": [table.stack + chips for chips in net] if table.race else None,
        "busted": [table.stack + chips == 0 for chips in net] if table.race else None,
        "decisions": row["decisions"][:n].tolist(),
        "fallbacks": list(fallbacks) if fallbacks is not None else [0] * n,
        "forced_folds": list(forced_folds) if forced_folds is not None else [0] * n,
        "exploitability": [exploitability(o.game, o) for o in observed] if exact else None,
        "exploitability_coverage": [o.coverage for o in observed] if exact else None,
        "exploitability_fill": observed[0].fill if exact else None,
        "audit": audit(table, row["key"], decisions),
        "hands": table.hands,
        "hands_played": int(row["dealt"]),
        "hands_scored": scored,
        "pairs_complete": scored // 2 if table.pairs else 0,
        "unpaired_hands": scored % 2 if table.pairs else 0,
        "starting_stack": table.stack,
        "ante": table.ante,
        "blinds": [table.small_blind, table.big_blind],
        "seed": seed,
        "seat_order": row["order"][:n].tolist(),
        "reason": REASONS[row["reason"]],
    }
