"""The league's figures: strengths from scores, intervals that hold, whatever is missing."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from wager.training.league.intervals import mean_of
from wager.training.league.ratings import Rating, rate


class TestIntervals:
    @pytest.mark.parametrize("n", [2, 4, 200])
    def test_they_cover(self, n: int) -> None:
        draws, trials = np.random.default_rng(n), 2_000
        means = [mean_of(draws.normal(0.3, 2.0, n).tolist()) for _ in range(trials)]
        covered = sum(one.low <= 0.3 <= one.high for one in means)  # type: ignore[operator]
        assert 0.935 <= covered / trials <= 0.965  # 0.95 within three standard errors

    def test_one_match_has_none(self) -> None:
        one = mean_of([0.25])
        assert (one.value, one.low, one.high, one.n) == (0.25, None, None, 1)


def width(rated: list[Rating], agent: str) -> float:
    one = next(one for one in rated if one.agent == agent)
    assert one.low is not None
    assert one.high is not None
    return one.high - one.low


class TestRatings:
    def test_they_are_the_strengths_that_made_the_results(self) -> None:
        truth = np.array([200.0, 50.0, -50.0, -200.0])
        groups = {
            ("t", a, b): dict.fromkeys(range(2_000), 1 / (1 + 10 ** ((truth[b] - truth[a]) / 400)))
            for a, b in combinations(range(4), 2)
        }
        rated = {one.agent: one for one in rate("abcd", groups)}
        found = np.array([rated[name].elo for name in "abcd"])
        np.testing.assert_allclose(found - 1500, truth, atol=0.2)

    @pytest.mark.parametrize("matches", [5, 150])
    def test_the_interval_covers(self, matches: int) -> None:
        """95% intervals of two agents' ratings hold the truth about 95% of the time."""
        draws, covered, trials = np.random.default_rng(5), 0, 300
        for trial in range(trials):
            scores = draws.beta(6.4, 3.6, matches)  # whose mean is 0.64
            groups = {("t", 0, 1): dict(enumerate(scores.tolist()))}
            a = next(one for one in rate("ab", groups, trial) if one.agent == "a")
            true = 1500 + 200 * np.log10(0.64 / 0.36)
            assert a.low is not None
            assert a.high is not None
            covered += a.low <= true <= a.high
        assert 0.90 <= covered / trials <= 0.985

    def test_matches_on_the_same_deals_are_drawn_together(self) -> None:
        """A second table that repeats the first adds nothing; one of its own deals does."""
        scores = np.random.default_rng(1).beta(2, 2, 100).tolist()
        once = {("t", 0, 1): dict(enumerate(scores))}
        same = once | {("u", 0, 1): dict(enumerate(scores))}
        fresh = once | {("u", 0, 1): dict(enumerate(scores, 100))}
        assert width(rate("ab", same), "a") == pytest.approx(width(rate("ab", once), "a"), rel=0.05)
        assert width(rate("ab", fresh), "a") < 0.85 * width(rate("ab", once), "a")

    def test_an_unfinished_league_is_rated_on_what_there_is(self) -> None:
        """Whichever match is missing, the deals that are drawn are those that were played."""
        scores = {seed: 0.5 + 0.4 * (-1) ** seed for seed in range(20)}
        full = {("t", 0, 1): scores, ("t", 0, 2): scores}
        part = full | {("t", 0, 2): {seed: scores[seed] for seed in range(1, 20)}}
        assert [one.matches for one in rate("abc", part)] != [
            one.matches for one in rate("abc", full)
        ]
        assert width(rate("abc", part), "a") == pytest.approx(
            width(rate("abc", full), "a"), rel=0.1
        )

    def test_a_sure_winner_has_a_rating(self) -> None:
        first, second = rate("ab", {("t", 0, 1): dict.fromkeys(range(50), 1.0)})
        assert first.agent == "a"
        assert 1500 < first.elo < 3000
        assert first.elo + second.elo == pytest.approx(3000)
        assert (first.ahead, second.ahead) == (1.0, None)

    def test_equal_ones_are_ahead_half_of_the_time(self) -> None:
        (first, _) = rate("ab", {("t", 0, 1): dict.fromkeys(range(5), 0.5)})
        assert first.ahead == 0.5

    def test_one_deal_gives_no_interval(self) -> None:
        for one in rate("ab", {("t", 0, 1): {7: 0.75}}):
            assert (one.low, one.high, one.ahead) == (None, None, None)

    def test_an_agent_without_matches_has_none_and_moves_nobody(self) -> None:
        groups = {("t", 0, 1): {0: 0.9, 1: 0.8}}
        assert rate("abc", groups) == rate("ab", groups)
        assert rate("ab", {}) == []
