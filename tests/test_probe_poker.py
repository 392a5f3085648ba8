"""The gate of poker: green on the game, red in the right line when a part is spoilt."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jsonschema
import numpy as np
import pytest
from numpy.typing import NDArray

from wager.envs.errors import InputError
from wager.envs.files import canonical, digest
from wager.envs.poker import audit as audits
from wager.envs.poker.audit import audit, equity
from wager.envs.poker.betting import RAISE, cards_on_board
from wager.envs.poker.cards import parse
from wager.envs.poker.env import PokerEnv
from wager.envs.poker.exploitability import expected_value, exploitability, policy_table
from wager.envs.poker.infosets import GAMES
from wager.envs.poker.limit_play import HOUSE
from wager.envs.poker.playback import Playback
from wager.envs.poker.policies import POLICIES, LimitPolicy, Scripted
from wager.envs.poker.render import frame
from wager.envs.poker.scene import full_view
from wager.envs.poker.showdown import next_level
from wager.envs.poker.state import STATE
from wager.envs.poker.tables import HOLDEM, TABLES, Table, make_table
from wager.envs.poker.vector import PokerVector
from wager.envs.seeds import SEED_BASE
from wager.probe.poker import (
    audit_lines,
    chip_lines,
    computed_lines,
    hidden_line,
    luck_lines,
    mask_lines,
    probe,
    repeat_line,
    scalar_line,
    skill_lines,
    tree_values,
)
from wager.probe.poker_deals import fair_lines
from wager.probe.poker_exact import exact_lines
from wager.probe.poker_hidden import CARDED, UNTOLD
from wager.probe.poker_rules import ruled_actions, ruled_gains
from wager.probe.poker_world import Played, World, plays, repeats
from wager.probe.probe import Verdict
from wager.probe.report import SCHEMA_FILE, Report

FEW = 24
SEEDS = SEED_BASE + np.arange(FEW)


def measure(world: World, seeds: NDArray[np.int64]) -> dict[str, Played]:
    return {name: play() for name, play in plays(world, seeds).items()}


def red(report: Report) -> set[str]:
    return {line.name for line in report.lines if not line}


@pytest.fixture(scope="module")
def few() -> Report:
    return probe(FEW)


def test_the_game_passes_every_line() -> None:
    report = probe()
    assert red(report) == set()
    assert report.passed
    lines = {line.name: line for line in report.lines}
    assert lines["house_over_random_kuhn"].value == pytest.approx(0.1389, abs=0.01)
    assert lines["house_over_random_leduc"].value == pytest.approx(0.7123, abs=0.05)
    assert lines["house_over_random_holdem_6max"].n == 1000
    assert lines["equity_over_house_holdem_hu"].value == pytest.approx(0.5, abs=0.1)
    assert lines["pairs_cut_variance_kuhn"].value == pytest.approx(5, abs=0.2)
    assert lines["exploitability_leduc_house"].value == pytest.approx(1.022222, abs=5e-7)
    assert lines["game_value_kuhn"].value == pytest.approx(-1 / 18, abs=1e-12)
    assert lines["honest_play_is_not_flagged"].n == 20
    figures = {(figure.name, figure.split): figure.value for figure in report.figures}
    assert figures["house", "sixmax, score"] == pytest.approx(0.203, abs=0.01)
    written = json.loads(canonical(report.to_json()))
    jsonschema.validate(written, json.loads(SCHEMA_FILE.read_text()))
    assert written["digest"] == digest(written)
    assert written["seeds"] == {
        "split": "served",
        "first": SEED_BASE,
        "last": SEED_BASE + 999,
        "count": 1000,
    }


def test_same_seeds_same_bytes(few: Report) -> None:
    again = probe(FEW)
    assert canonical(again.to_json()) == canonical(few.to_json())
    assert again.to_junit() == few.to_junit()
    assert again.to_markdown() == few.to_markdown()


def test_few_seeds_can_only_fail_for_want_of_evidence(few: Report) -> None:
    statistical = ("house_over_random", "equity_over_house", "pairs_cut", "play_as_computed")
    assert all(name.startswith(statistical) for name in red(few))


@pytest.mark.parametrize("seeds", [1, 100_001, 2.5, True])
def test_bad_numbers_of_seeds(seeds: Any) -> None:
    with pytest.raises(InputError, match="seeds must be"):
        probe(seeds)


def test_everything_hidden_is_disturbed() -> None:
    """A new field of the state must be given a place in the check of what is hidden."""
    rules = {"game", "seats", "stack", "ante", "small_blind", "big_blind", "hands", "race"}
    match = {"over", "reason", "stop", "hand", "scored", "button", "order", "net"}
    hand = {"players", "street", "actor", "moves", "high", "increment", "wagers", "seat_at"}
    seats = {"stacks", "bets", "paid", "folded", "acted", "able", "due"}
    public = rules | match | hand | seats
    assert public.isdisjoint({*CARDED, *UNTOLD})
    assert public | {*CARDED, *UNTOLD} == set(STATE.names or ())


def hand_of_six(paid: list[int], hole: list[Any], board: str, folded: list[int]) -> Any:
    """A hand of hold'em whose betting is over."""
    hand = np.zeros(1, STATE)[0]
    hand["game"], hand["seats"], hand["players"] = HOLDEM, 6, 6
    hand["seat_at"] = 5 - np.arange(6)
    hand["paid"], hand["folded"] = paid, folded
    hand["hole"] = [parse(cards) for cards in hole]
    hand["board"] = parse(board)
    return hand


def test_a_plain_reading_of_the_pots() -> None:
    royal = "Ts Js Qs Ks As"
    holes = ["2c 2d", "3c 3d", "4c 4d", "5c 5d", "6c 6d", "7c 7d"]
    tie = hand_of_six([10, 10, 5, 0, 0, 0], holes, royal, [0, 0, 1, 1, 1, 1])
    assert ruled_gains(tie)[::-1] == [2, 3, -5, 0, 0, 0]  # the odd chip: left of the button
    holes[:3] = ["Ac Ad", "Kc Kd", "Qc Qd"]
    side = hand_of_six([4, 10, 30, 2, 0, 0], holes, "2h 3s 8h 9s Jc", [0, 0, 0, 1, 1, 1])
    assert ruled_gains(side)[::-1] == [10, 2, -10, -2, 0, 0]
    alone = hand_of_six([1, 2, 6, 0, 0, 0], holes, royal, [1, 1, 0, 1, 1, 1])
    assert ruled_gains(alone)[::-1] == [-1, -2, 3, 0, 0, 0]


def test_a_plain_reading_of_who_may_raise() -> None:
    """The example of the rules: bet 100, all-in 160, call 160, all-in 220."""
    table = make_table("holdem-6max", stack=1000)
    seen = {
        "players": [4],
        "street": [1],
        "bets": [100, 160, 160, 220],
        "stacks": [900, 0, 840, 0],
        "live": [1, 1, 1, 1],
        "history": [(0, 0, 1), (1, 0, 101), (1, 1, 161), (1, 2, 1), (1, 3, 221), (-1, -1, -1)],
    }
    bettor = ruled_actions(table, seen | {"position": [0]})
    assert bettor == {0, 1, *range(321, 1002)}
    assert ruled_actions(table, seen | {"position": [2]}) == {0, 1}


class Spoilt(PokerVector):
    """Matches in which something is amiss once a hand is dealt, or once a decision is played."""

    def dealt(self, rows: NDArray[np.int64]) -> None:
        """Change ``states`` where a hand was just dealt."""

    def after(self, before: NDArray[np.void], rewards: NDArray[np.float64]) -> None:
        """Change ``states`` and ``rewards`` after a step; ``before`` are the states at its open."""

    def odd_chips(self, rewards: NDArray[np.float64]) -> list[tuple[int, int, int]]:
        """Rows of a ladder rung with two winners a chip apart: row, who is ahead, who is behind."""
        found = []
        for k, gains in enumerate(rewards):
            winners = np.flatnonzero(gains > 0)
            if len(winners) == 2 and abs(np.diff(gains[winners])[0]) == 1 and not self.table.race:
                ahead, behind = winners[np.argsort(-gains[winners])].tolist()
                found.append((k, ahead, behind))
        return found

    def reset(self, seeds: Any = None) -> None:
        super().reset(seeds)
        self.dealt(np.arange(self.batch))

    def step(self, actions: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        before = self.states.copy()
        rewards, over = super().step(actions)
        new = (self.states["hand"] != before["hand"]) | (before["over"] != 0)
        self.dealt(np.flatnonzero(new & ~over))
        self.after(before, rewards)
        return rewards, over


class BiasedShuffle(Spoilt):
    """The button's first card is never below its neighbour's."""

    def dealt(self, rows: NDArray[np.int64]) -> None:
        first = self.states["hole"][rows, :2, 0]
        self.states["hole"][rows, :2, 0] = np.sort(first, axis=1)[:, ::-1]


class NewDeals(Spoilt):
    """The second hand of a pair is dealt anew."""

    def dealt(self, rows: NDArray[np.int64]) -> None:
        mirrored = rows[self.states["hand"][rows] % 2 == 1]
        for cards in (self.states["hole"], self.states["board"]):
            was = cards[mirrored]
            ranks = was // 4  # every rank is another one, of those in the deck
            now = (ranks + 1) % 13 if self.table.game == HOLDEM else 9 + (ranks - 8) % 3
            cards[mirrored] = np.where(was < 0, -1, 4 * now + was % 4)


class OneDeal(Spoilt):
    """Every seed is the same match."""

    def reset(self, seeds: Any = None) -> None:
        super().reset(None if seeds is None else np.full(self.batch, SEED_BASE))


class OddChipLost(Spoilt):
    """Where two seats win alike but for an odd chip, it is gone."""

    def after(self, before: NDArray[np.void], rewards: NDArray[np.float64]) -> None:
        for k, ahead, _ in self.odd_chips(rewards):
            rewards[k, ahead] -= 1
            self.states["net"][k, ahead] -= 1


class OddChipMoved(Spoilt):
    """... or it goes to the other one."""

    def after(self, before: NDArray[np.void], rewards: NDArray[np.float64]) -> None:
        for k, ahead, behind in self.odd_chips(rewards):
            for gains in (rewards, self.states["net"]):
                gains[k, ahead] -= 1
                gains[k, behind] += 1


class ChipMissing(Spoilt):
    """A stack that is deep after a decision is a chip less deep."""

    def after(self, before: NDArray[np.void], rewards: NDArray[np.float64]) -> None:
        stack = self.states["stacks"][:, 1]
        stack -= (stack == 77).astype(np.int32)


class ShortRaise(PokerVector):
    """The mask allows a raise that is a chip too short."""

    def masks(self) -> NDArray[np.int8]:
        masks = super().masks()
        least = self.observe()["raise_to"][:, 0]
        masks[least > 1, least[least > 1]] = 1
        return masks


class ShortRaiseTaken(ShortRaise):
    """... and the engine takes it."""

    def step(self, actions: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        least = self.observe()["raise_to"][:, 0]
        self.legal[:, 1] = least - (least > 1)
        return super().step(actions)


class NoFold(PokerVector):
    """The mask forgets that one may fold."""

    def masks(self) -> NDArray[np.int8]:
        masks = super().masks()
        masks[:, 0] = 0
        return masks


class VisibleCard(PokerVector):
    """Where no card is on the board yet, a hole card of the next position lies there."""

    def observe(self) -> dict[str, NDArray[Any]]:
        seen = super().observe()
        at = (seen["position"][:, 0] + 1) % seen["players"][:, 0]
        card = self.states["hole"][np.arange(self.batch), at, 0]
        seen["board"] = np.where(seen["board"] < 0, card[:, None], seen["board"])
        return seen


class FirstRowIsOdd(PokerVector):
    """What is true of one match is not true of the first of many."""

    def masks(self) -> NDArray[np.int8]:
        masks = super().masks()
        masks[0, 0] = 1
        return masks


class VisibleCardEnv(PokerEnv):
    """Everybody's standings tell a card of the button's."""

    def observe(self, agent: str) -> Any:
        told = super().observe(agent)
        told["observation"]["standings"][0] = self.row["hole"][0, 0]
        return told


class OpenTable(PokerEnv):
    """The text shows every card."""

    def render(self) -> Any:
        names = [""] * self.table.seats
        return frame(full_view(self.row, self.table.name, self._histories[0], names), "ansi")


class ToldInInfo(PokerEnv):
    """The info of the seat to act tells what river is to come."""

    def _play(self, agent: str, action: Any) -> None:
        super()._play(agent, action)
        self.infos[self.agent_selection]["river"] = int(self.row["board"][4])


class Remembers(PokerEnv):
    """An observation tells what the button held in the hand before: in a mirror, what it holds."""

    held = (-1, -1, -1)

    def observe(self, agent: str) -> Any:
        hand, now, last = self.held
        if hand != self.row["hand"]:
            last = now
        self.held = (int(self.row["hand"]), int(self.row["hole"][0, 0]), last)
        told = super().observe(agent)
        told["observation"]["wagers"][0] = max(0, self.held[2])
        return told


class LaxEnv(PokerEnv):
    """An illegal action is taken for a check or call."""

    def step(self, action: Any) -> None:
        try:
            super().step(action)
        except InputError:
            super().step(1)


class LosesAReward(Spoilt):
    def after(self, before: NDArray[np.void], rewards: NDArray[np.float64]) -> None:
        rewards[0, 0] = np.nan


@dataclass
class Changed:
    """A player in whose play something is amiss; its table of chances is right."""

    name: str
    calls: int = field(default=0)

    def at(self, table: str) -> Any:
        honest, random = POLICIES[self.name].at(table), POLICIES["random"].at(table)

        def play(seen: Any, masks: Any, keys: Any) -> NDArray[np.int64]:
            self.calls += 1
            return self.choose(honest, random, seen, keys)

        if not isinstance(honest, LimitPolicy):
            return play
        made: Any = type("Played", (), {"__call__": staticmethod(play)})()
        made.probabilities = honest.probabilities
        return made

    def choose(self, honest: Any, random: Any, seen: Any, keys: Any) -> NDArray[np.int64]:
        """Decide a batch."""
        actions: NDArray[np.int64] = random(seen, None, keys)
        return actions


class Moody(Changed):
    """Checks or calls in the first row, once."""

    def choose(self, honest: Any, random: Any, seen: Any, keys: Any) -> NDArray[np.int64]:
        actions: NDArray[np.int64] = honest(seen, None, keys)
        actions[0] = 1 if self.calls == 5 else actions[0]
        return actions


def at_the_last_bet(table: Table, key: Any, decisions: Sequence[int]) -> dict[str, Any] | None:
    """The audit with showdowns priced on the board of the last bet, not on the final one."""
    match, now, shown = Playback(table, key), 0, []
    for action in decisions:
        step = match.decide(action)
        now = cards_on_board(step.before) if action >= RAISE else now
        if step.paid_out:
            shown += [now] + [0] * (len(step.paid_out) - 1)
            now = 0
    hands = iter(shown)

    class Books(audits._Books):
        def close(self, unpaid: Any, paid: Any) -> None:
            self.now = next(hands)
            super().close(unpaid, paid)

    books = Books(table.seats)

    def losses(s: Any, won: NDArray[np.int64], out: NDArray[np.float64]) -> None:
        out[:] = 0.0
        floor, level = 0, next_level(s, 0)
        while level > 0:
            pot = int(np.clip(s["paid"][: len(out)] - floor, 0, level - floor).sum())
            for p in range(len(out)):
                if not s["folded"][p] and s["paid"][p] >= level:
                    out[p] += equity(s, p, level, books.now, 0) * pot
            floor, level = level, next_level(s, level)
        live = s["folded"][: len(out)] == 0
        out[live] -= won[live]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audits, "showdown_losses", losses)
        patch.setattr(audits, "_Books", lambda seats: books)
        return audit(table, key, decisions)


def strict(table: Table, key: Any, decisions: Sequence[int]) -> dict[str, Any] | None:
    """The audit flags what is not even a chip a hand."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audits, "SOFT_PLAY", 0.0)
        patch.setattr(audits, "CONTESTED", 1)
        return audit(table, key, decisions)


def blind(table: Table, key: Any, decisions: Sequence[int]) -> dict[str, Any] | None:
    """The audit sees nothing."""
    report = audit(table, key, decisions)
    return None if report is None else report | {"flags": []}


def another(game: str, lines: Any) -> float:
    """Exploitability of a policy halfway to uniform play."""
    return exploitability(game, (policy_table(game, "random") + lines) / 2)


def a_millionth_off(game: str, first: Any, second: Any) -> float:
    """What the first wins, and a little."""
    return expected_value(game, first, second) + 1e-6


VALUED = ("house_random", "rock_random", "house_rock")


Part = Callable[[World], list[Verdict]]


def played(*parts: Callable[[Any], list[Verdict]]) -> Part:
    """Lines of what was played on few seeds."""
    return lambda world: [line for part in parts for line in part(measure(world, SEEDS))]


FAIR, LUCK, CHIPS = played(fair_lines), played(luck_lines), played(chip_lines)
DECK = {"fair_deal_kuhn", "fair_deal_leduc", "fair_deal_holdem"}
NO_PAIRS = {"like_policies_cancel", "mirrors_swap_the_seats", "pairs_cut_variance_kuhn"}
BAD_MASKS = {"masks_are_as_ruled", "masks_are_what_is_accepted"}
UNFLAGGED = {"soft_play_is_flagged", "dumping_is_flagged"}


@pytest.mark.parametrize(
    ("world", "part", "lines"),
    [
        pytest.param(World(make_vector=BiasedShuffle), FAIR, DECK, id="a biased shuffle"),
        pytest.param(World(make_vector=OneDeal), FAIR, {*DECK, "fair_seating"}, id="one deal"),
        pytest.param(World(make_vector=NewDeals), LUCK, NO_PAIRS, id="no mirrors"),
        pytest.param(
            World(make_vector=OddChipLost),
            CHIPS,
            {"chips_are_conserved", "pots_are_paid_as_ruled"},
            id="an odd chip lost",
        ),
        pytest.param(
            World(make_vector=OddChipMoved),
            CHIPS,
            {"pots_are_paid_as_ruled"},
            id="an odd chip moved",
        ),
        pytest.param(
            World(make_vector=ChipMissing),
            CHIPS,
            {"chips_are_conserved", "pots_are_paid_as_ruled"},
            id="a chip missing",
        ),
        pytest.param(World(make_vector=ShortRaise), mask_lines, BAD_MASKS, id="an illegal raise"),
        pytest.param(
            World(make_vector=ShortRaiseTaken),
            mask_lines,
            {"masks_are_as_ruled"},
            id="an illegal raise that is taken",
        ),
        pytest.param(World(make_vector=NoFold), mask_lines, BAD_MASKS, id="no fold"),
        pytest.param(
            World(make_env=LaxEnv), mask_lines, {"masks_are_what_is_accepted"}, id="anything goes"
        ),
        pytest.param(
            World(audit=at_the_last_bet),
            audit_lines,
            {"luck_is_not_surrender"},
            id="an audit priced at the last bet",
        ),
        pytest.param(
            World(audit=strict), audit_lines, {"honest_play_is_not_flagged"}, id="a strict audit"
        ),
        pytest.param(World(audit=blind), audit_lines, UNFLAGGED, id="a blind audit"),
        pytest.param(
            World(exploitability=another),
            exact_lines,
            {
                *(f"exploitability_{game}_{name}" for game in GAMES for name in ("house", "rock")),
                *(f"nash_is_unexploitable_{game}" for game in GAMES),
            },
            id="exploitability of another policy",
        ),
        pytest.param(
            World(expected_value=a_millionth_off),
            exact_lines,
            {f"value_{game}_{pair}" for game in GAMES for pair in VALUED},
            id="values a millionth off",
        ),
        pytest.param(
            World(policies=POLICIES | {"nash": Scripted("house", GAMES, HOUSE)}),
            exact_lines,
            {"nash_is_unexploitable_leduc", "game_value_leduc"},
            id="no equilibrium",
        ),
    ],
)
def test_a_fault_turns_its_lines_red_and_no_other_of_their_part(
    world: World, part: Part, lines: set[str], few: Report
) -> None:
    found = {line.name for line in part(world) if not line}
    assert found - {name for name in red(few) if name not in lines} == lines


@pytest.mark.parametrize(
    ("world", "hidden", "scalar"),
    [
        pytest.param(World(make_vector=VisibleCard), True, True, id="a visible hole card"),
        pytest.param(World(make_env=VisibleCardEnv), True, True, id="a card in the standings"),
        pytest.param(World(make_env=OpenTable), True, False, id="an open table"),
        pytest.param(World(make_env=ToldInInfo), True, False, id="an info that tells"),
        pytest.param(World(make_env=Remembers), True, True, id="a memory of the hand before"),
        pytest.param(World(make_vector=ShortRaise), False, True, id="an illegal raise"),
        pytest.param(World(make_vector=FirstRowIsOdd), False, True, id="an odd row"),
    ],
)
def test_leaks_and_odd_rows(world: World, hidden: bool, scalar: bool) -> None:
    assert bool(hidden_line(world)) is not hidden
    assert bool(scalar_line(world)) is not scalar


def test_players_who_do_not_play_as_they_say() -> None:
    """The reference plays at random; its table of chances is right."""
    world = World(policies=POLICIES | {"house": Changed("house")})
    numbers = SEED_BASE + np.arange(100)
    tables = measure(world, numbers)
    won = {line.name for line in skill_lines(tables) if not line}
    assert {f"house_over_random_{name.replace('-', '_')}" for name in TABLES} <= won
    assert not any(computed_lines(tree_values(world), tables))
    assert all(exact_lines(world))


def test_an_equity_player_that_is_the_reference() -> None:
    world = World(policies=POLICIES | {"equity": POLICIES["house"]})
    found = {line.name for line in skill_lines(measure(world, SEEDS)) if not line}
    assert {"equity_over_house_holdem_hu", "equity_over_house_holdem_6max"} <= found


def test_a_moody_player() -> None:
    world = World(policies=POLICIES | {"house": Moody("house")})
    again = {name: play() for name, play in repeats(world, SEEDS).items()}
    assert not repeat_line(measure(world, SEEDS), again)


def test_a_game_with_many_faults_is_still_reported_on() -> None:
    world = World(
        make_vector=LosesAReward,
        make_env=OpenTable,
        audit=at_the_last_bet,
        exploitability=lambda game, lines: np.nan,
    )
    report = probe(4, world)
    faults = {"chips_are_conserved", "hidden_stays_hidden", "luck_is_not_surrender"}
    assert faults | {"exploitability_kuhn_rock"} <= red(report)
    canonical(report.to_json())  # what is not finite is null
