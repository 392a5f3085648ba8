"""The exchange: set-up, tickets, confirms, airtime, scores, and what never changes."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wager.envs.garble import constants as c
from wager.envs.garble.env import ParallelGarble
from wager.envs.garble.lexicon import COMMODITIES, GAP, GAP_TEXT
from wager.envs.garble.policies import POLICIES
from wager.envs.garble.setup import round3
from wager.envs.garble.speech import Confirm, Decision, cut_line, hear
from wager.envs.garble.vector import VectorGarble

JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"


def random_actions(table: VectorGarble, rng: np.random.Generator) -> np.ndarray:
    """Any action; half of the confirms at the heard terms, so that deals happen."""
    shape = (table.num_envs, c.SEATS, len(table.sizes))
    actions = rng.integers(0, np.broadcast_to(table.sizes, shape))
    heard = np.zeros_like(actions)
    keys = rng.integers(0, 2**63, shape[:2]).astype(np.uint64)
    POLICIES["random"].act(table.seen, keys, np.ones(shape[:2], np.bool_), heard)
    swap = rng.random(shape[:2]) < 0.5
    actions[swap, -5:] = heard[swap, -5:]
    swap = rng.random(shape[:2]) < 0.5
    actions[swap, 1:10] = heard[swap, 1:10]
    return actions


def test_rounding_is_pythons() -> None:
    rng = np.random.default_rng(0)
    ties = [k / 16 for k in range(17)] + [k / 2000 for k in range(2001)]
    near = [math.nextafter(x, d) for x in ties for d in (0.0, 1.0)]
    for x in [*ties, *near, *rng.random(20_000).tolist()]:
        assert round3(x) == round(x, 3)


@pytest.mark.parametrize(("turns", "scale"), [(6, 0.0), (12, 1.0), (12, 1.5), (18, 1.0), (24, 2.0)])
def test_interference_is_the_formula(turns: int, scale: float) -> None:
    table = VectorGarble(300, turns, scale)
    table.reset(np.arange(300))
    period = max(6, turns // 2)

    def clamp(x: float) -> float:
        return round(min(max(x, 0.05), 0.95), 3)

    def base(phase: int) -> list[float]:
        angles = [2 * math.pi * (t + phase) / period for t in range(turns)]
        return [0.15 + 0.60 * (0.5 - 0.5 * math.cos(a)) for a in angles]

    waves = {tuple(clamp(b * scale) for b in base(p)): base(p) for p in range(period)}
    met = set()
    for state in table.states:
        curve = tuple(state["curve"][:turns].tolist())
        met.add(curve)
        for t, b in enumerate(waves[curve]):
            extra = 0.35 if state["burst"][t] else 0.0
            assert state["interference"][t] == clamp((b + extra) * scale)
            assert 2 <= state["burst_len"][t] <= 4
        assert not state["curve"][turns:].any()
    assert met == set(waves)


def test_set_up_ranges_and_rates() -> None:
    """4,000 seeds: every value of every range occurs, and bursts come at 12%."""
    n = 4000
    table = VectorGarble(n, 24)
    table.reset(np.arange(n))
    s = table.states
    assert set(s["prices"][:, 0].ravel()) == set(range(8, 15))
    steps = np.diff(s["prices"].astype(int), axis=1)
    assert set(np.unique(steps)) == {-1, 0, 1}
    assert s["prices"].min() >= 3
    assert s["prices"].max() <= 30
    assert abs((steps == 0).mean() - 1 / 3) < 0.01
    assert set(s["premium"].ravel()) == {6, 7, 8, 9}
    assert set(s["quota"].ravel()) == set(range(12, 20))
    assert (s["surplus"] != s["demand"]).all()
    assert (s["surplus"][:, 4] == s["surplus"][:, 0]).all()
    assert all(len(set(row)) == 4 for row in s["surplus"][:, :4].tolist())
    assert np.allclose(np.bincount(s["surplus"][:, 0], minlength=4) / n, 0.25, atol=0.03)
    assert all(len(set(row)) == 5 for row in s["aliases"].tolist())
    assert set(s["aliases"].ravel()) == set(range(10))
    assert (s["units"].sum(2) == 20).all()
    assert (s["cash"] == 120).all()
    assert abs(s["burst"].mean() - 0.12) < 0.004
    assert abs(s["burst_at"].mean() - 0.5) < 0.005


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**40), st.sampled_from([6, 12, 24]), st.sampled_from([0.0, 1.0, 2.0]))
def test_what_never_changes(seed: int, turns: int, scale: float) -> None:
    table = VectorGarble(40, turns, scale)
    table.reset(seed + np.arange(40))
    rng = np.random.default_rng(seed)
    units = table.states["units"].sum(1)
    total = np.ones((40, 5))
    airtime = np.full((40, 5), c.AIRTIME)
    for _ in range(turns):
        actions = random_actions(table, rng)
        confirms = table.seen["tickets"][..., 0].copy()
        _, rewards, ended, _ = table.step(actions)
        total += rewards
        s = table.states
        assert (s["units"].sum(1) == units).all()
        assert (s["cash"].sum(1) == 5 * c.START_CASH).all()
        assert s["units"].min() >= 0
        assert s["cash"].min() >= 0
        assert s["airtime"].min() >= 0
        slots = np.take_along_axis(confirms, np.maximum(actions[..., 10:11] - 1, 0), 2)[..., 0]
        confirmed = (actions[..., 10] > 0) & (slots > 0)
        spent = table.decisions["runes"] + c.CONFIRM_RUNES * confirmed
        airtime = np.maximum(0, airtime - spent)
        assert (s["airtime"] == airtime).all()
        assert (total >= 0).all()
    assert ended.all()
    assert (table.states["turn"] == turns).all()
    assert np.allclose(total, table.seen["score"], atol=1e-12)
    assert (table.seen["hold"] >= 180).all()
    tape = table.states["tape"]
    assert (tape[..., c.TAPE_FILL] > 0).sum() == table.states["num_deals"].sum() > 0
    assert (table.states["deals"].sum(1) == 2 * table.states["num_deals"]).all()
    misheard = tape[..., c.TAPE_MISHEARD].sum(1)
    assert (table.states["misheard"].sum(1) == 2 * misheard).all()
    with pytest.raises(ValueError, match="over"):
        table.step(actions)


def test_holding_scores_exactly_one() -> None:
    for turns in (6, 24):
        table = VectorGarble(500, turns)
        table.reset(np.arange(500))
        for _ in range(turns):
            _, rewards, _, _ = table.step(np.zeros((500, 5, 15), np.int64))
            assert (rewards == 0.0).all()
        assert (table.seen["score"] == 1.0).all()


def table_of(seed: int = 3, **kwargs: Any) -> ParallelGarble:
    env = ParallelGarble(**kwargs)
    env.reset(seed=seed)
    return env


def say(env: ParallelGarble, seat: int, text: str, channel: str = "radio") -> None:
    env.play({f"seat_{seat}": Decision(text, channel)})


def confirm(env: ParallelGarble, seat: int, *terms: Any) -> str:
    env.play({f"seat_{seat}": Decision(confirm=Confirm(*terms))})
    return last_outcome(env, seat)


def last_outcome(env: ParallelGarble, seat: int) -> str:
    return c.OUTCOMES[env.table.states[0]["confirms"][seat, c.C_OUTCOME]]


def offer(env: ParallelGarble, seat: int, qty: int = 2, price: int = 10) -> tuple[str, str]:
    good = COMMODITIES[env.table.states[0]["surplus"][seat]]
    return f"SELL {qty} {good} AT {price}", good


def test_void_reasons_in_their_order() -> None:
    env = table_of()
    line, good = offer(env, 0)
    right = ("SELL", 2, good, 10)
    assert confirm(env, 1, 1, *right) == "no-ticket"
    env.play({"seat_0": Decision(line), "seat_1": Decision(confirm=Confirm(1, *right))})
    assert last_outcome(env, 1) == "no-ticket"  # opened this turn
    for seat, terms, reason in (
        (1, (2, *right), "no-ticket"),
        (1, (0, *right), "no-ticket"),
        (1, (-7, *right), "no-ticket"),
        (1, (10**40, *right), "no-ticket"),
    ):
        env.play({f"seat_{seat}": Decision(confirm=Confirm(*terms))})
        assert last_outcome(env, seat) == reason
        env.table.states[0]["turn"] = 2
    assert confirm(env, 0, 1, "BUY", 99, "ORE", 99) == "own-ticket"
    env.table.states[0]["turn"] = 2
    assert confirm(env, 1, 1, "BUY", 99, good, 99) == "side"
    env.table.states[0]["turn"] = 2
    assert confirm(env, 1, 1, "SELL", 99, good, 10) == "inadmissible"
    env.table.states[0]["turn"] = 2
    env.table.states[0]["cash"][1] = 9
    assert confirm(env, 1, 1, *right) == "uncovered"
    env.table.states[0]["turn"] = 2
    env.table.states[0]["cash"][1] = 120
    assert confirm(env, 1, 1, *right) == "settled"
    env.table.states[0]["turn"] = 3
    assert confirm(env, 0, 1, "BUY", 0, "ORE", 0) == "already-settled"
    assert env.table.states[0]["turn"] == 4
    assert confirm(env, 0, 1, "BUY", 0, "ORE", 0) == "expired"


def test_a_ticket_lives_for_two_turns_after_its_own() -> None:
    for wait, outcome in ((0, "settled"), (1, "settled"), (2, "expired")):
        env = table_of()
        line, good = offer(env, 0)
        say(env, 0, line)
        for _ in range(wait):
            assert env.table.seen[0, 1]["tickets"][0].tolist()[:5] == [1, 0, 0, 0, 3]
            env.step({})
        assert (env.table.seen[0, 1]["tickets"][0, 0] == 1) == (wait < 2)
        assert confirm(env, 1, 1, "SELL", 2, good, 10) == outcome


def test_same_turn_confirms_resolve_in_seat_order() -> None:
    env = table_of()
    line, good = offer(env, 4)
    say(env, 4, line)
    claim = Decision(confirm=Confirm(1, "SELL", 2, good, 10))
    wrong = Decision(confirm=Confirm(1, "SELL", 3, good, 99))
    env.play({"seat_3": claim, "seat_0": wrong, "seat_1": claim, "seat_2": claim})
    assert [last_outcome(env, seat) for seat in range(4)] == [
        *("inadmissible", "settled", "already-settled", "already-settled"),
    ]
    events = env.events()
    assert [e["event"] for e in events] == ["void", "settle", "void", "void"]
    assert events[1]["confirmer"] == 1
    assert env.table.states[0]["voids"].tolist() == [1, 0, 1, 1, 0]
    assert env.table.states[0]["airtime"].tolist() == [860, 860, 860, 860, 900 - len(line)]


def test_a_void_leaves_the_ticket_open() -> None:
    env = table_of()
    line, good = offer(env, 0)
    say(env, 0, line)
    assert confirm(env, 1, 1, "SELL", 9, good, 99) == "inadmissible"
    assert confirm(env, 2, 1, "SELL", 2, good, 10) == "settled"
    assert env.table.seen[0, 3]["tickets"][0, 0] == 0


def test_a_misheard_deal_settles_and_shows_both_versions() -> None:
    env = table_of()
    line, good = offer(env, 0, 5, 12)
    say(env, 0, line)
    assert confirm(env, 1, 1, "SELL", 50, good, 1) == "settled"
    (event,) = env.events()
    assert event == {
        "event": "settle",
        "turn": 1,
        "ticket": 1,
        "offerer": 0,
        "confirmer": 1,
        "side": "SELL",
        "said": {"qty": 5, "commodity": good, "price": 12},
        "confirmed": {"qty": 50, "commodity": good, "price": 1},
        "fill": 20,
        "partial": True,
        "misheard": True,
    }
    state = env.table.states[0]
    assert state["cash"].tolist() == [140, 100, 120, 120, 120]
    assert state["units"][1, COMMODITIES.index(good)] >= 20


def test_an_offer_to_buy_and_a_free_one() -> None:
    env = table_of()
    good = COMMODITIES[env.table.states[0]["surplus"][1]]
    say(env, 0, f"BUY 20 {good} AT 9")
    assert confirm(env, 1, 1, "BUY", 20, good, 9) == "settled"
    assert env.table.states[0]["cash"].tolist() == [3, 237, 120, 120, 120]  # 13 of 20: 120 // 9
    say(env, 1, f"SELL 4 {good} AT 0")
    env.table.states[0]["cash"][2] = 0
    assert confirm(env, 2, 2, "SELL", 4, good, 0) == "settled"  # price 0 has no cash limit
    assert env.table.states[0]["units"][2, COMMODITIES.index(good)] >= 4


def test_private_lines_reach_one_seat() -> None:
    env = table_of()
    line, good = offer(env, 0)
    say(env, 0, line, env.aliases[2])
    seen = env.table.seen[0]
    assert [seen[s]["tickets"][0, 0] for s in range(5)] == [0, 0, 1, 0, 0]
    assert [seen[s]["heard_channel"][0] for s in range(5)] == [2, 0, 2, 0, 0]
    assert seen[2]["tickets"][0, c.SLOT_CHANNEL] == 1 + 2
    assert not seen[1]["heard"].any()
    assert confirm(env, 1, 1, "SELL", 2, good, 10) == "not-addressed"
    assert confirm(env, 2, 1, "SELL", 2, good, 10) == "settled"


@pytest.mark.parametrize("name", ["", "radio", "nobody", "own", "x" * 99, "\x00", "seat_1"])
def test_unknown_channels_mean_the_radio(name: str) -> None:
    env = table_of()
    say(env, 0, offer(env, 0)[0], env.aliases[0] if name == "own" else name)
    assert env.table.seen["heard_channel"][0, :, 0].tolist() == [1] * 5


def test_airtime_clips_and_silences() -> None:
    env = table_of()
    env.table.states[0]["airtime"][0] = 20
    say(env, 0, "SELL 5 ORE AT 123456789")
    assert env.lines[0] == "SELL 5 ORE AT 123456"
    assert env.events() == [{"event": "clipped", "turn": 0, "seat": 0}]
    assert env.table.states[0]["airtime"][0] == 0
    say(env, 0, "SELL 5 ORE AT 12")
    assert env.lines[0] == ""
    assert env.events() == [{"event": "silent", "turn": 1, "seat": 0}]
    assert not env.table.seen["heard_channel"].any()
    env.table.states[0]["airtime"][1] = 39
    assert confirm(env, 1, 1, "SELL", 1, "ORE", 1) == "no-ticket"  # never blocked
    assert env.table.states[0]["airtime"][1] == 0


def test_a_line_is_cut_at_160_runes_then_32_words() -> None:
    assert cut_line("x" * 500, 900) == ("x" * 160, c.SENT)
    assert cut_line("a  b\n" * 100, 900) == (" ".join(["a b"] * 16), c.SENT)
    spaced = "SELL   5\nORE AT\u202812"
    assert cut_line(spaced, 900) == ("SELL   5 ORE AT 12", c.SENT)
    assert cut_line("\ud800é" * 3, 4) == ("\ufffdé\ufffdé", c.CLIPPED)
    assert cut_line("", 0) == ("", c.NOTHING)
    assert cut_line("a", 0) == ("", c.SILENT)


def test_bursts_blank_the_same_words_for_every_listener() -> None:
    """Lines of 9..32 words at the least noise: what all four lose is the burst, on every line."""
    bursts = 0
    for seed in range(60):
        env = table_of(seed, noise_scale=0.0, turns=6)
        for turn in range(6):
            words = [9 + (seed + turn + seat) % 24 for seat in range(5)]
            env.play({f"seat_{s}": Decision(" ".join("a" * words[s])) for s in range(5)})
            state = env.table.states[0]
            for sender in range(5):
                n = words[sender]
                heard = state["heard"][turn % 2, sender]
                lost = (heard[:, :n] == GAP)[[s for s in range(5) if s != sender]]
                first = int(state["burst_at"][turn] * n)
                span = range(first, min(n, first + int(state["burst_len"][turn])))
                if state["burst"][turn]:
                    bursts += 1
                    assert lost[:, list(span)].all()
                else:
                    assert not lost.all(1).any()
    assert bursts > 100


def test_every_mishearing_is_derived_again_from_the_said_text() -> None:
    env = table_of(5, preset="storm")
    text = "hello SELL 5 FIVE ORE hello AT 12 TWELVE"
    heard = {}
    for turn in range(12):
        where = ["radio", env.aliases[1]][turn % 2]
        env.play({f"seat_{s}": Decision(text[:33], where) for s in range(5)})
        for a in range(5):
            for b in range(5):
                heard[turn, a, b] = env.hear(a, b)
                ids = env.table.states[0]["heard"][turn % 2, a, b]
                assert len(heard[turn, a, b].split()) == (ids > 0).sum()
                for word, i in zip(heard[turn, a, b].split(), ids, strict=False):
                    assert (word == GAP_TEXT) == (i == GAP)
    assert len(set(heard.values())) > 100
    again = table_of(5, preset="storm")
    for (turn, a, b), said in heard.items():
        channel = 0 if turn % 2 == 0 or a == 1 else 2
        assert hear(again.table.states[0], turn, a, b, text[:33], channel) == said


def test_a_deadline_scores_the_turns_played() -> None:
    env = table_of()
    env.stop()
    results = env.results(["a"] * 5)
    assert results["scores"] == [1.0] * 5
    assert (results["turns"], results["reason"]) == (0, "deadline")
    env = table_of()
    line, good = offer(env, 0, 5, 1)
    total = np.array(list(env.play({"seat_0": Decision(line)})[1].values()))
    claim = Decision(confirm=Confirm(1, "SELL", 5, good, 1))
    total += list(env.play({"seat_1": claim})[1].values())
    env.stop()
    assert env.agents == []
    results = env.results(list("abcde"))
    assert np.allclose(results["scores"], 1 + total)
    assert results["scores"][0] < 1 < results["scores"][1]
    assert (results["turns"], results["max_turns"]) == (2, 12)
    assert results["deals"] == [1, 1, 0, 0, 0]
    assert results["airtime_used"] == [len(line), 40, 0, 0, 0]
    prices = env.table.states[0]["prices"][1]
    held = env.table.states[0]["units"][0] @ prices
    assert results["portfolio"][0] == 125 + held
    json.dumps(results)


@pytest.mark.skipif(not JIT, reason="the compiled run is compared with the plain one")
def test_rules_without_compilation_give_the_same_bytes() -> None:
    code = (
        "import hashlib, numpy as np\n"
        "from wager.envs.garble.vector import VectorGarble\n"
        "from wager.envs.garble.policies import POLICIES\n"
        "t = VectorGarble(2, 6, 2.0)\n"
        "t.reset([5, 6])\n"
        "keys = np.zeros((2, 5), np.uint64)\n"
        "for _ in range(6):\n"
        "    actions = np.zeros((2, 5, 15), np.int64)\n"
        "    for seat, name in enumerate(['quoter', 'shark', 'random', 'quoter', 'shark']):\n"
        "        plays = np.zeros((2, 5), np.bool_); plays[:, seat] = True\n"
        "        POLICIES[name].act(t.seen, keys, plays, actions)\n"
        "    t.step(actions)\n"
        "parts = t.states, t.seen, t.decisions, t.action_masks()\n"
        "print(*(hashlib.sha256(np.ascontiguousarray(p).tobytes()).hexdigest() for p in parts))\n"
    )

    def run(off: str) -> str:
        return subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            env={**os.environ, "NUMBA_DISABLE_JIT": off},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    assert run("1") == run("0")
