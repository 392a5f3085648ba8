"""The collusion audit: its figures from the event log alone, honest play, planted colluders."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from wager.envs import poker_v0
from wager.envs.poker import replay as replays
from wager.envs.poker.audit import SAMPLES, audit, equity
from wager.envs.poker.cards import evaluate, names, parse
from wager.envs.poker.match import begin_match
from wager.envs.poker.policies import make_policy
from wager.envs.poker.state import new_histories, new_states
from wager.envs.rng import mix

Choice = Callable[[Any, dict[str, Any]], int]


def recorded(table: str, seed: int, seats: list[str], **settings: Any) -> dict[str, Any]:
    policies = [make_policy(name, table) for name in seats]
    return replays.record(replays.config(table, **settings), seed, policies, seats)


def share(holes: dict[int, str], board: str, position: int) -> float:
    """Equity of a hand by the public evaluator: of all runouts; before the flop, of 8,000."""
    held = {p: parse(cards).tolist() for p, cards in holes.items()}
    shown = parse(board).tolist()
    used = {card for cards in (*held.values(), shown) for card in cards}
    deck = [card for card in range(52) if card not in used]
    if shown:
        runouts = list(combinations(deck, 5 - len(shown)))
    else:
        rng = np.random.default_rng(0)
        runouts = [tuple(rng.permutation(deck)[:5].tolist()) for _ in range(8000)]
    values = {
        p: evaluate(np.array([[*cards, *shown, *runout] for runout in runouts], np.int8))
        for p, cards in held.items()
    }
    best = np.max(list(values.values()), axis=0)
    winners = np.sum([value == best for value in values.values()], axis=0)
    return float(((values[position] == best) / winners).mean())


def from_the_log(replay: dict[str, Any]) -> dict[str, Any]:
    """Surrender at folds and its standard error, and contested, from the events."""
    n = replay["results"]["seats"]
    surrender, spread = np.zeros((n, n)), np.zeros((n, n))
    contested = np.zeros((n, n), int)
    deal: dict[str, Any] = {}
    for event in replay["events"]:
        match event["event"]:
            case "deal":
                deal = event
                seats, paid, board = event["seats"], list(event["posts"]), ""
                holes = dict(enumerate(event["hole"]))
                bets, street, folds = list(event["posts"]), 0, []
            case "board":
                board, bets, street = f"{board} {event['cards']}", [0] * len(seats), event["street"]
            case "action":
                p = event["position"]
                if event["kind"] == "fold":
                    left = deal["stacks"][p] - paid[p]
                    price = min(max(bets) - bets[p], left)
                    pot = price + sum(min(chips, paid[p] + price) for chips in paid)
                    worth = share(holes, board, p)
                    noise = 0.5 / np.sqrt(SAMPLES) if street < 3 else 0.0
                    folds.append((p, worth * pot - price, noise * pot, list(paid)))
                    del holes[p]
                paid[p] += event["chips"]
                bets[p] += event["chips"]
            case "end":
                for p, loss, noise, chips in folds:
                    others = [c if q != p else 0 for q, c in enumerate(chips)]
                    for q, c in enumerate(others):
                        surrender[seats[p], seats[q]] += max(0.0, loss) * c / sum(others)
                        spread[seats[p], seats[q]] += noise * c / sum(others)
                put = [c - back for c, back in zip(paid, event["uncalled"], strict=True)]
                for p, q in combinations(range(len(seats)), 2):
                    if put[p] and put[q]:
                        contested[seats[p], seats[q]] += 1
                        contested[seats[q], seats[p]] += 1
    return {"surrender": surrender, "spread": spread, "contested": contested}


def play(choices: dict[int, Choice], seed: int, table: str = "holdem-6max") -> dict[str, Any]:
    """A match of the reference but for the seats of ``choices``."""
    env = poker_v0.raw_env(table=table)
    env.reset(seed=seed)
    house = make_policy("house", table)
    while not env.row["over"]:
        agent = env.agent_selection
        told = env.observe(agent)
        seat = env.possible_agents.index(agent)
        if seat in choices:
            env.step(choices[seat](env.row, told["observation"]))
        else:
            seen = {name: array[None] for name, array in told["observation"].items()}
            env.step(int(house(seen, None, np.array([env.decision_key()], np.uint64))[0]))
    report: dict[str, Any] = env.results()["audit"]
    return report


def in_hand(row: Any, seat: int) -> int:
    """A seat's position if it is live, else -1."""
    found = np.flatnonzero(row["seat_at"][: row["players"]] == seat)
    return int(found[0]) if len(found) and not row["folded"][found[0]] else -1


def wager(seen: dict[str, Any], chips: int) -> int:
    least, most = seen["raise_to"].tolist()
    return int(np.clip(chips, least, most)) + 1 if least else 1


def soft(me: int, partner: int) -> Choice:
    """Builds a pot with the partner; then in turns one bets little and the other lets it go."""

    def choose(row: Any, seen: dict[str, Any]) -> int:
        price = int(seen["to_call"][0])
        if in_hand(row, partner) < 0:
            return 0 if price else 1
        if seen["street"][0] == 0:
            return wager(seen, 24) if seen["wagers"][0] == 0 else 1 if price <= 24 else 0
        if price:
            return 0
        mine = seen["hand"][0] % 2 == (me > partner)
        return wager(seen, 2) if mine else 1

    return choose


def dumper(partner: int) -> Choice:
    """Raises with anything while the partner is in, then folds to it."""

    def choose(row: Any, seen: dict[str, Any]) -> int:
        price = int(seen["to_call"][0])
        mine = int(seen["bets"][seen["position"][0]])
        if in_hand(row, partner) < 0:
            return 0 if price else 1
        if mine >= 10 or seen["street"][0] > 0:
            return 0 if price else 1
        return wager(seen, 12)

    return choose


def taker(partner: int) -> Choice:
    """Raises the partner out, and sits out of all else."""

    def choose(row: Any, seen: dict[str, Any]) -> int:
        price = int(seen["to_call"][0])
        if in_hand(row, partner) < 0:
            return 0 if price else 1
        if seen["street"][0] == 0 and seen["wagers"][0] == 0:
            return 1
        return wager(seen, 40)

    return choose


def test_equity_is_the_exact_share() -> None:
    """2,000 runouts within 4 standard errors of all of them; on the river exactly."""
    states = new_states(poker_v0.TABLES["holdem-6max"], 1)
    rng = np.random.default_rng(0)
    for seed in range(12):
        begin_match(states[0], new_histories(poker_v0.TABLES["holdem-6max"], 1)[0], np.uint64(seed))
        row = states[0]
        row["folded"][: int(rng.integers(0, 5))] = 1
        row["paid"][:6] = 10
        live = np.flatnonzero(row["folded"] == 0)
        holes = {int(p): names(row["hole"][p]) for p in live}
        for shown in (3, 4, 5):
            board = names(row["board"][:shown])
            exact = share(holes, board, int(live[0]))
            sampled = equity(row, int(live[0]), 0, shown, 0)
            error = 4 * np.sqrt(max(exact * (1 - exact), 1e-9) / SAMPLES)
            assert abs(sampled - exact) <= (error if shown < 5 else 1e-12), (seed, shown)
            if shown < 5 and 0 < exact < 1:
                assert sampled != equity(row, int(live[0]), 0, shown, 10_000_000)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_audit_follows_from_the_event_log(seed: int) -> None:
    """Recomputed from the events by the public evaluator."""
    replay = recorded("sixmax", seed, ["random", "house"] * 3, hands=8)
    report = replays.audit(replay)
    assert report == replay["results"]["audit"]
    log = from_the_log(replay)
    assert report["contested"] == log["contested"].tolist()
    gap = np.abs(np.array(report["surrender"]) - log["surrender"])
    odd_chips = sum(any(event.get("shown", [])) for event in replay["events"])
    assert (gap <= 4 * log["spread"] + odd_chips).all()
    net = np.array(report["net_flow"]).sum(1)
    assert np.allclose(-net, replay["results"]["net"])


def test_honest_play_raises_no_flag() -> None:
    for name in ("house", "rock"):
        for seed in range(60_000, 60_010):
            report = recorded("holdem-6max", seed, [name] * 6)["results"]["audit"]
            assert report["flags"] == []
            assert report["power"]["hands"] == 14
            assert report["power"]["equity_samples"] == SAMPLES


@pytest.mark.parametrize("seed", range(60_000, 60_004))
def test_planted_colluders_are_flagged_and_nobody_else(seed: int) -> None:
    flags = play({1: soft(1, 4), 4: soft(4, 1)}, seed)["flags"]
    assert "soft-play-1-4" in flags
    assert set(flags) <= {"soft-play-1-4", "dump-1-to-4", "dump-4-to-1"}
    report = play({2: dumper(5), 5: taker(2)}, seed)
    assert report["flags"] == ["dump-2-to-5"]
    assert report["net_flow"][2][5] > 0


def test_a_table_of_two_has_no_audit() -> None:
    assert recorded("headsup", 3, ["house", "rock"])["results"]["audit"] is None
    assert audit(poker_v0.TABLES["kuhn"], mix(1, 0), [1, 1]) is None


def test_an_unfinished_hand_counts_for_nothing() -> None:
    replay = recorded("holdem-6max", 4, ["house"] * 6)
    actions = [entry["action"] for entry in replay["inputs"]]
    last = sum(entry["hand"] == 13 for entry in replay["inputs"])
    table, key = replays.table_of(replay["config"]), mix(4, 0)
    cut = audit(table, key, actions[:-1])
    assert cut is not None
    assert cut["power"]["hands"] == 13
    assert cut == audit(table, key, actions[:-last])
