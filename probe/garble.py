"""The gate of Garble: the game punishes noise, rewards robust speech, and hides what it must.

Everything is measured through the vector environment, so that a broken environment is caught and
not only broken rules. What is graded is a ``World``: with the game's own parts it must pass, and
with any one of them spoilt it must not. Scores are those of the rules: 1 is trading to no effect.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..envs.errors import check_int
from ..envs.garble.constants import MAX_TURNS, NOISE_SCALE, SEATS, TURNS
from ..envs.seeds import SEED_BASE, TRAIN_HIGH, TRAIN_LOW, span
from .episodes import fingerprint
from .garble_hidden import leaks
from .garble_world import ROWS, Played, World, plays, unlike_rows
from .parts import MOST_SEEDS, Part, measured, scores_repeat
from .probe import Verdict, interval, judge, none_of, paired
from .report import Figure, Report, figure

SEEDS = 1_000

# Least lower ends leave at least a fifth of what was measured on 1,000 seeds, many times what
# another choice of seeds moves it by.
OVER_RANDOM = 0.10
"""Least lower end of quoter minus random in one chair, four randoms in the others."""
OVER_RANDOM_AMONG_QUOTERS = 0.18
"""The same, four quoters in the others."""
QUOTER_MEAN = (1.18, 1.21)
"""Where the mean score of an all-quoter table must lie: published 1.198."""
CALM_OVER_STORM = 0.10
"""Least lower end of its score at noise scale 0.5 minus 1.5: published 0.12 to 0.13."""
MISHEARD = 0.75
"""Least lower end of misheard deals a seed, three sharks minus none: half of what is published."""
SHARK_PAYS = 0.40
"""Least lower end of shark minus quoter in one chair among quoters: published 1.76 less 1.198."""
REPEATS_PAY = 0.10
"""Least lower end of the share of readings that are right at noise scale 1.5, fields said four
times minus once: 0.13 with the modal rule."""
GARBLED = 0.005
"""Most distance of the share of words garbled from what the forecast says."""
DEALLESS = 1_000
"""At most 1 seed in as many, begun, is without a deal: seen in 1 of 40,000."""
MEDIAN_DEALS = (3, SEATS * TURNS)
"""Least median number of deals, and all that there could be."""
FIRST_PRICE, PRICES = (8, 14), (3, 30)
"""The rules of the price walk; it moves by at most 1 a turn."""

AGAIN = " again"
"""After the name of a table: played a second time."""
_WATCHED = 64  # tables whose hidden state is disturbed
_ROWS = 8  # tables that the scalar environment plays too
_DRAWS = 256  # training tables begun at once


def probe(
    seeds: int = SEEDS, world: World | None = None, workers: int = 1, ray: str | None = None
) -> Report:
    """Grade the first ``seeds`` served seeds (2..100,000). The thresholds are made for 1,000.

    With fewer seeds the intervals widen, and lines fail for want of evidence. ``workers`` and
    ``ray`` say who measures, as ``fan_out``'s; the report is the same.

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
    tables = plays(world, numbers)
    return {
        **tables,
        "seeds": partial(_seeds_line, world, numbers),
        "hidden": partial(_hidden_line, world),
        "scalar": partial(_scalar_line, world),
        **{name + AGAIN: partial(_digest, play) for name, play in tables.items()},
    }


def _digest(play: Callable[[], Played]) -> str:
    return play().digest()


def grade(seeds: int, found: Mapping[str, Any]) -> Report:
    """The report on what the parts found."""
    tables = {name: part for name, part in found.items() if isinstance(part, Played)}
    lines = (
        *_score_lines(tables),
        *_noise_lines(tables),
        *_shark_lines(tables),
        *_deal_lines(tables),
        *_rule_lines(tables),
        found["seeds"],
        found["hidden"],
        found["scalar"],
        _repeat_line(seeds, tables, {name: found[name + AGAIN] for name in tables}),
    )
    return Report(
        "garble",
        {"turns": TURNS, "noise_scale": NOISE_SCALE, "seeds": seeds},
        span("served", range(SEED_BASE, SEED_BASE + seeds)),
        lines,
        _figures(tables),
    )


def _mean(played: Played) -> NDArray[np.float64]:
    """The mean score over chairs, float64 (n,)."""
    means: NDArray[np.float64] = played.scores.mean(axis=1)
    return means


def _score_lines(tables: dict[str, Played]) -> list[Verdict]:
    quoters = _mean(tables["quoters"])
    n, ends = len(quoters), interval(quoters)
    return [
        paired(
            "quoter_over_random",
            _mean(tables["quoter among randoms"]),
            _mean(tables["randoms"]),
            OVER_RANDOM,
            "low >= threshold",
            detail="in every chair among four randoms, paired by seed",
        ),
        paired(
            "quoter_over_random_among_quoters",
            quoters,
            _mean(tables["random among quoters"]),
            OVER_RANDOM_AMONG_QUOTERS,
            "low >= threshold",
            detail="in every chair among four quoters, paired by seed",
        ),
        judge(
            "quoter_gains", float(quoters.mean()), "low > threshold", 1.0, n, ends, "all quoters"
        ),
        judge(
            "quoter_mean",
            float(quoters.mean()),
            "value within threshold",
            QUOTER_MEAN,
            n,
            ends,
            "all quoters, as published",
        ),
    ]


def _noise_lines(tables: dict[str, Played]) -> list[Verdict]:
    once, often, quoters = (tables[name] for name in ("said once", "said four times", "quoters"))
    readings = [
        counts.astype(np.float64) for counts in (often.right, often.read, once.right, once.read)
    ]
    words = [part.astype(np.float64) for part in (quoters.garbled - quoters.expect, quoters.words)]

    def gain(*parts: NDArray[np.float64], axis: int = -1) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            totals = [part.sum(axis=axis) for part in parts]
            return totals[0] / totals[1] - totals[2] / totals[3]

    def excess(*parts: NDArray[np.float64], axis: int = -1) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            return parts[0].sum(axis=axis) / parts[1].sum(axis=axis)

    return [
        paired(
            "calm_over_storm",
            _mean(tables["noise 0.5"]),
            _mean(tables["noise 1.5"]),
            CALM_OVER_STORM,
            detail="all quoters, noise scale 0.5 minus 1.5, paired by seed",
        ),
        judge(
            "garbled_as_forecast",
            float(excess(*words)),
            "interval within threshold",
            (-GARBLED, GARBLED),
            len(quoters.words),
            interval(words, excess),
            f"share of {int(quoters.words.sum()):,} words that arrived otherwise, less the"
            " forecast's",
            "share",
        ),
        judge(
            "bursts_blank_for_all",
            quoters.blanked.sum() / quoters.burst.sum() if quoters.burst.any() else math.nan,
            "value = threshold",
            1,
            int(quoters.burst.sum()),
            detail="share of the words under a public burst that no listener heard",
            unit="share",
        ),
        judge(
            "repeats_are_read_right",
            float(gain(*readings)),
            "low > threshold",
            REPEATS_PAY,
            len(once.read),
            interval(readings, gain),
            "share of readings that are right, fields said four times minus once, noise scale 1.5",
            "share",
        ),
    ]


def _shark_lines(tables: dict[str, Played]) -> list[Verdict]:
    shielded = (tables["shielded"], tables["shark among shielded"])
    settled = sum(int(played.deals.sum()) for played in shielded)
    return [
        paired(
            "sharks_mishear",
            tables["three sharks"].misheard.astype(np.float64),
            tables["quoters"].misheard.astype(np.float64),
            MISHEARD,
            detail="misheard deals a seed, three sharks minus none",
        ),
        paired(
            "shark_pays_among_quoters",
            _mean(tables["shark among quoters"]),
            _mean(tables["quoters"]),
            SHARK_PAYS,
            detail="shark minus quoter in every chair, paired by seed",
        ),
        none_of(
            "shield_holds",
            sum(int(played.misheard.sum()) for played in shielded),
            settled,
            "deals settled misheard where all say every field twice",
        ),
        judge(
            "shield_stops_sharks",
            float((_mean(shielded[1]) - _mean(shielded[0])).mean()),
            "high < threshold",
            0.0,
            len(shielded[0].scores),
            interval(_mean(shielded[1]) - _mean(shielded[0])),
            "shark minus quoter in every chair of such a table, paired by seed",
        ),
    ]


def _deal_lines(tables: dict[str, Played]) -> list[Verdict]:
    deals = tables["quoters"].deals
    return [
        judge(
            "seeds_without_a_deal",
            int((deals == 0).sum()),
            "value within threshold",
            (0, -(-len(deals) // DEALLESS)),
            len(deals),
            detail="all quoters",
            unit="count",
        ),
        judge(
            "median_deals",
            float(np.median(deals)),
            "value within threshold",
            MEDIAN_DEALS,
            len(deals),
            detail="all quoters",
            unit="count",
        ),
    ]


def _rule_lines(tables: dict[str, Played]) -> list[Verdict]:
    silence = tables["silence"]
    walk = silence.prices
    off = int(((walk < PRICES[0]) | (walk > PRICES[1])).sum())
    off += int(((walk[:, 0] < FIRST_PRICE[0]) | (walk[:, 0] > FIRST_PRICE[1])).sum())
    off += int((abs(np.diff(walk, axis=1)) > 1).sum())
    episodes = sum(int(played.episodes.sum()) for played in tables.values())
    return [
        none_of(
            "prices_in_range",
            off,
            walk.size,
            f"prices outside {PRICES[0]}..{PRICES[1]}, first prices outside"
            f" {FIRST_PRICE[0]}..{FIRST_PRICE[1]}, moves of more than 1; {MAX_TURNS} turns",
        ),
        none_of(
            "holding_scores_one",
            int((silence.scores != 1.0).sum()),
            silence.scores.size,
            "silent seats whose score is not exactly 1",
        ),
        none_of(
            "rewards_sum_to_score",
            sum(int(played.misscored.sum()) for played in tables.values()),
            SEATS * episodes,
            "seats whose rewards do not sum to portfolio / hold less 1",
        ),
        none_of(
            "conserved",
            sum(int(played.broken.sum()) for played in tables.values()),
            episodes,
            "turns on which cash or units are made or lost, or a holding or a meter leaves"
            " its range",
        ),
    ]


def _seeds_line(world: World, served: NDArray[np.int64]) -> Verdict:
    """Episodes that the training environment begins, over many resets, against the served ones.

    The base seeds include those that it might take for served ones. Two episodes are the same if
    their keys are.
    """
    drawn, keys = [], []
    for base in (0, SEED_BASE, int(served[-1]), TRAIN_LOW - _DRAWS):
        env = world.make_training(_DRAWS)
        for seed in (base, None, None):
            env.reset(seed=seed)
            drawn.append(env.seeds.copy())
            keys.append(env.table.states["key"].copy())
    graded = []
    for first in range(0, len(served), ROWS):
        table = world.vector(len(served[first : first + ROWS]))
        table.reset(served[first : first + ROWS])
        graded.append(table.states["key"].copy())
    training = np.concatenate(drawn)
    shared = np.isin(np.concatenate(keys), np.concatenate(graded))
    outside = (training < TRAIN_LOW) | (training >= TRAIN_HIGH)
    beyond = (served < SEED_BASE) | (served >= TRAIN_LOW)
    return none_of(
        "seeds_disjoint",
        int((outside | shared).sum()) + int(beyond.sum()),
        len(training),
        f"training episodes that are served too, or whose seed is not in {TRAIN_LOW}.."
        f"{TRAIN_HIGH - 1}, and served seeds that are not before that",
    )


def _hidden_line(world: World) -> Verdict:
    found, compared = leaks(world, SEED_BASE + np.arange(_WATCHED))
    return none_of(
        "hidden_stays_hidden",
        found,
        compared,
        "observations, masks and rewards that change with other seats' holdings, contracts"
        " and airtime, later prices and bursts, or lines not heard",
    )


def _scalar_line(world: World) -> Verdict:
    unlike, compared = unlike_rows(world, SEED_BASE + np.arange(_ROWS))
    return none_of(
        "row_is_scalar",
        unlike,
        compared,
        "observations, infos and rewards of the scalar environment that are not the row's",
    )


def _repeat_line(seeds: int, tables: Mapping[str, Played], again: Mapping[str, str]) -> Verdict:
    first = fingerprint({name: played.digest() for name, played in tables.items()})
    return scores_repeat(seeds, first, fingerprint(again))


def _figures(tables: dict[str, Played]) -> tuple[Figure, ...]:
    """Mean scores, over the chairs of the policy named."""
    sharks = tables["three sharks"].scores
    scores = (
        ("quoter", "all alike", _mean(tables["quoters"])),
        ("random", "all alike", _mean(tables["randoms"])),
        ("quoter", "all, noise 0.5", _mean(tables["noise 0.5"])),
        ("quoter", "all, noise 1.5", _mean(tables["noise 1.5"])),
        ("shark", "3 sharks, 2 quoters", sharks[:, :3].mean(axis=1)),
        ("quoter", "3 sharks, 2 quoters", sharks[:, 3:].mean(axis=1)),
        ("shark", "among quoters", _mean(tables["shark among quoters"])),
        ("random", "among quoters", _mean(tables["random among quoters"])),
        ("quoter", "among randoms", _mean(tables["quoter among randoms"])),
        ("quoter", "fields said twice", _mean(tables["shielded"])),
        ("shark", "fields said twice", _mean(tables["shark among shielded"])),
    )
    return tuple(figure(name, split, x, "score") for name, split, x in scores)
