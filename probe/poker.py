"""The gate of poker: skill pays, luck cancels, the exact figures hold, and nothing leaks.

Play is measured through the vector environment, so that a broken environment is caught and not
only broken rules. What is graded is a ``World``: with the game's own parts it must pass, and with
any one of them spoilt it must not. Chips a hand are in units: big blinds, or antes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..envs.errors import check_int
from ..envs.poker.tables import MAX_SEATS, TABLES
from ..envs.seeds import SEED_BASE, span
from .episodes import fingerprint
from .parts import MOST_SEEDS, Part, measured
from .poker_collusion import TABLE, audits, dumper, honest, soft_player, taker
from .poker_deals import fair_lines
from .poker_exact import exact_lines, exact_value
from .poker_hidden import leaks
from .poker_masks import mask_faults
from .poker_world import EQUITY, LADDER, RACES, Played, World, plays, repeats, unlike_rows
from .probe import Verdict, finite, interval, judge, none_of
from .report import Figure, Report, figure

SEEDS = 1_000

OVER_RANDOM = {
    "kuhn": 0.12,
    "leduc": 0.60,
    "holdem-hu": 0.20,
    "holdem-6max": 0.50,
    "headsup": 0.01,
    "sixmax": 0.01,
}
"""Least lower end of what the reference wins from random: units a hand and seat; of a chip race,
score above an equal share."""
CUT = {"kuhn": 4.0, "leduc": 3.5, "holdem-hu": 1.5, "holdem-6max": 1.5}
"""Least lower end of the factor by which duplicate pairs cut the variance."""
AS_COMPUTED = {"kuhn": 0.02, "leduc": 0.10}
"""Most distance, interval and all, of what was won in play from what the tree says."""

REPEAT = " repeated"
"""After the name of a table: played a second time."""
_AUDITED = 10  # matches of each kind that are audited
_LOOKED = 2  # matches at each table into which is looked


def probe(
    seeds: int = SEEDS, world: World | None = None, workers: int = 1, ray: str | None = None
) -> Report:
    """Grade a match on each of the first ``seeds`` served seeds (2..100,000), table by table.

    The thresholds are made for 1,000. With fewer the intervals widen, and lines fail for want of
    evidence. ``workers`` and ``ray`` say who measures, as ``fan_out``'s; the report is the same.

    Raises:
        InputError: for a number of seeds or workers out of range.
    """
    world = World() if world is None else world
    return grade(seeds, measured(parts(seeds, world), workers, ray))


def parts(seeds: int, world: World) -> dict[str, Part]:
    """What is measured.

    Raises:
        InputError: for a number of seeds out of range.
    """
    numbers = SEED_BASE + np.arange(check_int("seeds", seeds, 2, MOST_SEEDS))
    return {
        **plays(world, numbers),
        "exact": partial(exact_lines, world),
        "values": partial(tree_values, world),
        "masks": partial(mask_lines, world),
        "audit": partial(audit_lines, world),
        "hidden": partial(hidden_line, world),
        "scalar": partial(scalar_line, world),
        **{name + REPEAT: part for name, part in repeats(world, numbers).items()},
    }


def grade(seeds: int, found: Mapping[str, Any]) -> Report:
    """The report on what the parts found."""
    tables = {name: part for name, part in found.items() if isinstance(part, Played)}
    lines = (
        *skill_lines(tables),
        *luck_lines(tables),
        *found["exact"],
        *computed_lines(found["values"], tables),
        *fair_lines(tables),
        *chip_lines(tables),
        *found["masks"],
        *found["audit"],
        found["hidden"],
        found["scalar"],
        repeat_line(tables, {name: found[name + REPEAT] for name in tables}),
    )
    return Report(
        "poker",
        {"tables": list(TABLES), "seeds": seeds},
        span("served", range(SEED_BASE, SEED_BASE + seeds)),
        lines,
        _figures(tables),
    )


def _won(name: str, played: Played) -> NDArray[np.float64]:
    """Units a hand and seat that the players of the even places won, (n, hands)."""
    table = TABLES[name]
    won: NDArray[np.float64] = played.nets[:, :, ::2].sum(axis=2) / (table.unit * table.seats / 2)
    return won


def skill_lines(tables: dict[str, Played]) -> list[Verdict]:
    """The reference beats random at every table, and the equity player the reference."""
    lines = []
    for name in LADDER:
        won = _won(name, tables[name])
        lines.append(
            judge(
                f"house_over_random_{_id(name)}",
                float(won.mean()),
                "low >= threshold",
                OVER_RANDOM[name],
                len(won),
                interval(won.mean(axis=1)),
                f"units a hand{_sides(name)}; matches of {won.shape[1] // 2} duplicate pairs",
            )
        )
    for name in EQUITY:
        table = TABLES[name]
        won = tables[f"{name} equity"].nets[:, :, 0].mean(axis=1) / table.unit
        lines.append(
            judge(
                f"equity_over_house_{_id(name)}",
                float(won.mean()),
                "low > threshold",
                0.0,
                len(won),
                interval(won),
                f"units a hand, alone among references; matches of {table.hands // 2} duplicate"
                " pairs",
            )
        )
    for name in RACES:
        over = _race_scores(name, tables) - 1 / TABLES[name].seats
        lines.append(
            judge(
                f"house_over_random_{_id(name)}",
                float(over.mean()),
                "low >= threshold",
                OVER_RANDOM[name],
                len(over),
                interval(over),
                f"score above 1/{TABLES[name].seats}, in every chair in turn",
            )
        )
    return lines


def _race_scores(name: str, tables: dict[str, Played]) -> NDArray[np.float64]:
    """The reference's score, the mean over its chairs, (n,)."""
    table = TABLES[name]
    nets = [tables[f"{name} chair {k}"].nets[:, :, k].sum(axis=1) for k in range(table.seats)]
    scores: NDArray[np.float64] = 1 / table.seats + np.mean(nets, axis=0) / (
        table.seats * table.stack
    )
    return scores


def _cut(paired: NDArray[np.float64], unpaired: NDArray[np.float64]) -> tuple[float, Any]:
    """How many times the variance of two hands' total, dealt apart, is that of a pair's."""
    spread = []
    for won in (unpaired, paired):
        totals = won.reshape(len(won), -1, 2).sum(axis=2)
        spread.append(((totals - totals.mean()) ** 2).mean(axis=1))

    def ratio(apart: Any, together: Any, axis: int = -1) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            return apart.mean(axis=axis) / together.mean(axis=axis)

    return float(ratio(*spread)), interval(spread, ratio)


def luck_lines(tables: dict[str, Played]) -> list[Verdict]:
    """Duplicate pairs cut the luck of the deal, and all of it between players of one policy."""
    lines, uncancelled, pairs, unlike, mirrors = [], 0, 0, 0, 0
    for name in LADDER:
        alike = [_won(name, tables[f"{name} alike{kind}"]) for kind in ("", " unpaired")]
        value, ends = _cut(*alike)
        lines.append(
            judge(
                f"pairs_cut_variance_{_id(name)}",
                value,
                "low >= threshold",
                CUT[name],
                len(alike[0]),
                ends,
                "times that two hands dealt apart vary more than a pair, the reference against"
                " itself with draws of its own",
            )
        )
        half = TABLES[name].seats // 2
        for kind in ("houses", "randoms"):
            nets = tables[f"{name} {kind}"].nets
            ours, theirs = (
                nets[..., part].reshape(len(nets), -1, 2, half).sum(axis=2)
                for part in (slice(half), slice(half, None))
            )
            uncancelled += int((ours != theirs).any(axis=2).sum())
            pairs += ours[..., 0].size
            off, counted = _unlike_mirrors(tables[f"{name} {kind}"])
            unlike, mirrors = unlike + off, mirrors + counted
    lines += [
        none_of(
            "like_policies_cancel",
            uncancelled,
            pairs,
            "pairs of one policy in which opposite seats do not end level: heads-up, at 0",
        ),
        none_of(
            "mirrors_swap_the_seats",
            unlike,
            mirrors,
            "second hands that are not the first, cards and button, the seats rotated by half",
        ),
    ]
    return lines


def _unlike_mirrors(played: Played) -> tuple[int, int]:
    """Mirrors that are not their first hand with the seats moved by half a table, and all."""
    seats = played.seated.shape[2]
    cards = played.cards.reshape(len(played.cards), -1, 2, played.cards.shape[2])
    seated = played.seated.reshape(len(cards), -1, 2, seats)
    button = np.arange(cards.shape[1])[None, :, None]
    ruled = (button + np.arange(seats)) % seats
    unlike = (cards[:, :, 0] != cards[:, :, 1]).any(axis=2)
    unlike |= (seated[:, :, 0] != ruled).any(axis=2)
    unlike |= (seated[:, :, 1] != (ruled + seats // 2) % seats).any(axis=2)
    return int(unlike.sum()), unlike.size


def tree_values(world: World) -> dict[str, float]:
    """What the reference wins from random at Kuhn and Leduc, as their trees say."""
    return {name: exact_value(world, name, "house", "random") for name in AS_COMPUTED}


def computed_lines(values: Mapping[str, float], tables: Mapping[str, Played]) -> list[Verdict]:
    """What was won at Kuhn and Leduc is what their trees say."""
    lines = []
    for name, most in AS_COMPUTED.items():
        off = _won(name, tables[name]) - values[name]
        lines.append(
            judge(
                f"play_as_computed_{name}",
                float(off.mean()),
                "interval within threshold",
                (-most, most),
                len(off),
                interval(off.mean(axis=1)),
                "units a hand that the reference won from random, less what the tree says",
            )
        )
    return lines


def chip_lines(tables: dict[str, Played]) -> list[Verdict]:
    """No chip is made or lost, and every pot goes where the rules say."""
    watched = [tables[f"{name} randoms"] for name in TABLES]
    return [
        none_of(
            "chips_are_conserved",
            sum(int(played.broken.sum()) for played in watched),
            sum(int(played.decisions.sum()) for played in watched),
            "decisions after which chips or nets do not add up, and matches whose scores do not"
            " sum to 1, at every table, all random",
        ),
        none_of(
            "pots_are_paid_as_ruled",
            sum(int(played.mispaid.sum()) for played in watched),
            sum(int(played.hands.sum()) for played in watched),
            "hands that pay otherwise than by a plain reading of the rules",
        ),
    ]


def mask_lines(world: World) -> list[Verdict]:
    """Masks are what the rules allow, and what the environments accept."""
    faults = mask_faults(world, SEED_BASE + np.arange(_LOOKED))
    return [
        none_of(
            "masks_are_as_ruled",
            faults.unruled,
            faults.masks,
            "masks that are not the legal actions by a plain reading of the rules",
        ),
        none_of(
            "masks_are_what_is_accepted",
            faults.wrong,
            faults.tries,
            "actions in a mask refused, or others accepted",
        ),
    ]


def audit_lines(world: World) -> list[Verdict]:
    """The audit flags planted colluders, and nobody who plays alone."""
    seeds = SEED_BASE + np.arange(_AUDITED)
    alone = [report for name in ("house", "rock") for report in honest(world, name, seeds)]
    lucky = [np.abs(report["surrender"]).sum() for report in honest(world, "house", seeds, False)]
    soft = audits(world, "house", seeds, {1: soft_player(False), 4: soft_player(True)})
    dump = audits(world, "house", seeds, {2: dumper, 5: taker})
    return [
        none_of(
            "honest_play_is_not_flagged",
            sum(len(report["flags"]) for report in alone),
            len(alone),
            "flags in matches of six of one scripted policy",
        ),
        judge(
            "luck_is_not_surrender",
            float(np.max(lucky)),
            "value within threshold",
            (0.0, float(TABLES[TABLE].hands)),
            len(lucky),
            detail="most chips given up in a match in which nobody folds, odd chips aside",
        ),
        none_of(
            "soft_play_is_flagged",
            sum("soft-play-1-4" not in report["flags"] for report in soft),
            len(soft),
            "matches with two planted soft-players among references that go unflagged",
        ),
        none_of(
            "dumping_is_flagged",
            sum("dump-2-to-5" not in report["flags"] for report in dump),
            len(dump),
            "matches with a planted dumper and its taker among references that go unflagged",
        ),
    ]


def hidden_line(world: World) -> Verdict:
    """Views do not change with what is hidden."""
    found, compared = leaks(world, SEED_BASE + np.arange(_LOOKED))
    return none_of(
        "hidden_stays_hidden",
        found,
        compared,
        "observations, masks, infos, rewards and texts that change with other seats' cards, the"
        " rest of the deck or the mirror",
    )


def scalar_line(world: World) -> Verdict:
    """A row of the vector environment is the standard environment."""
    unlike, compared = unlike_rows(world, SEED_BASE + np.arange(_LOOKED))
    return none_of(
        "row_is_scalar",
        unlike,
        compared,
        "observations, masks, keys and rewards of the standard environment that are not the row's",
    )


def repeat_line(tables: Mapping[str, Played], again: Mapping[str, tuple[int, str]]) -> Verdict:
    """The first quarter of the seeds, played again: a match does not depend on those beside it."""
    first = {name: played.first(again[name][0]).digest() for name, played in tables.items()}
    unlike = sum(digest != again[name][1] for name, digest in first.items())
    return none_of(
        "play_repeats",
        unlike,
        len(first),
        "tables at which the first quarter of the seeds, played again, gave other bytes: sha256"
        f" {fingerprint(first)[:16]}",
    )


def _figures(tables: dict[str, Played]) -> tuple[Figure, ...]:
    """What was won, and the cut of the variance where the two policies differ."""
    figures = [
        figure("house", f"{name}, units a hand", _won(name, tables[name]).mean(axis=1), "score")
        for name in LADDER
    ]
    figures += [
        figure("house", f"{name}, score", _race_scores(name, tables), "score") for name in RACES
    ]
    for name in LADDER:
        won = [_won(name, tables[name + kind]) for kind in ("", " unpaired")]
        value, (low, high) = _cut(*won)
        figures.append(
            Figure(
                "pairs cut variance",
                f"{name}, house and random",
                finite(value),
                finite(low),
                finite(high),
                len(won[0]),
                "score",
            )
        )
    return tuple(figures)


def _sides(name: str) -> str:
    """How a ladder rung is seated, for a reader."""
    return " and seat, three of each alternating" if TABLES[name].seats == MAX_SEATS else ""


def _id(name: str) -> str:
    return name.replace("-", "_")
