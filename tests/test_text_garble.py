"""Garble as text: all that a seat knows, as it heard it, and nothing else, both ways."""

from __future__ import annotations

import dataclasses
import json
from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wager.envs.errors import InputError
from wager.envs.garble import constants as c
from wager.envs.garble.env import ParallelGarble
from wager.envs.garble.policies import POLICIES
from wager.envs.garble.records import OBSERVATION
from wager.envs.garble.speech import Confirm, Decision
from wager.envs.garble.tables import policy_keys
from wager.envs.garble.vector import VectorGarble
from wager.envs.garble.view import SeatViews
from wager.probe.garble_hidden import _disturb
from wager.wrappers.text import garble
from wager.wrappers.text.garble import Scribe, View, describe, parse
from wager.wrappers.text.reply import ReplyError

SEATS = [f"seat_{seat}" for seat in range(5)]
ALIASES = c.ALIASES[:5]
CHATTER = ("", "hello \u25a9 \U0001f600", "buy 5 tin at 9 please", "x" * 200, 'quote " and }{')


def moves(env: ParallelGarble, seed: int) -> dict[str, Any]:
    """A turn of mixed policies, some of their lines private or chatter, some with notes."""
    turn = int(env.state_record["turn"])
    rng = np.random.default_rng((seed, turn))
    keys = np.empty((1, 5), np.uint64)
    policy_keys(np.array([seed]), turn, keys)
    scribe, decisions = Scribe(env), {}
    for seat, agent in enumerate(SEATS):
        seen = SeatViews(env.table.seen[0, seat : seat + 1].copy())
        name = ("quoter", "shark", "broker", "random")[int(rng.integers(4))]
        action = POLICIES[name](seen, None, keys[:, seat])[0]
        view = View({n: a[0] for n, a in seen.items()}, scribe.aliases, (), "")
        decision = garble.decision_of(action, view)
        if rng.random() < 0.5:
            decision = dataclasses.replace(decision, channel=env.aliases[int(rng.integers(5))])
        if rng.random() < 0.2:
            decision = dataclasses.replace(decision, text=CHATTER[int(rng.integers(5))])
        decisions[agent] = dataclasses.replace(decision, notes=f"{agent} {turn}" * (seat > 2))
    return decisions


def session(seed: int, played: int, **arguments: Any) -> tuple[ParallelGarble, Scribe]:
    """An episode after ``played`` turns."""
    env = ParallelGarble(**arguments)
    env.reset(seed)
    scribe = Scribe(env)
    for _ in range(played):
        env.play(moves(env, seed))
        scribe.note()
    return env, scribe


def test_10_000_random_decisions_are_read_back() -> None:
    """Of random actions and of policies: as the line and the confirm that they compose."""
    rows, count = 100, 0
    rng = np.random.default_rng(2)
    table = VectorGarble(rows, turns=24)
    table.reset(np.arange(20_000_000, 20_000_000 + rows))
    keys = np.empty((rows, 5), np.uint64)
    for turn in range(21):
        actions = rng.integers(0, np.broadcast_to(table.sizes, (rows, 5, 15)))
        policy_keys(np.arange(rows), turn, keys)
        for seat, name in enumerate(("quoter", "shark", "broker", "random")):
            mine = np.zeros((rows, 5), np.bool_)
            mine[:, seat] = rng.random(rows) < 0.7
            POLICIES[name].act(table.seen, keys, mine, actions)
        for row in range(rows):
            for seat in range(5):
                one = SeatViews(table.seen[row, seat : seat + 1].copy())
                seen = {name: array[0] for name, array in one.items()}
                view = View(seen, ALIASES, (), "")
                decision = garble.decision_of(actions[row, seat], view)
                if count % 3 == 0:
                    decision = dataclasses.replace(decision, notes=CHATTER[count % 5])
                assert parse(garble.format_action(decision, view), view) == decision
                count += 1
        table.step(actions)
    assert count >= 10_000


def test_an_action_is_the_line_that_the_env_composes() -> None:
    env, scribe = session(4, 3)
    rng = np.random.default_rng(1)
    for _ in range(200):
        actions = {agent: rng.integers(0, env.table.sizes) for agent in SEATS}
        for agent, decision in env.spoken(actions).items():
            assert garble.decision_of(actions[agent], scribe.view(agent)) == decision


HEARD = {"heard", "heard_channel", "ticket_words", "sent"}
"""Fields that the text has from the heard lines themselves."""


@pytest.mark.parametrize("seed", [3, 11])
def test_every_field_is_in_the_text(seed: int) -> None:
    """A change of any visible field changes it; the traffic is told in the next test."""
    changed_names = set()
    for turns in (2, 5, 8, 12):
        _, scribe = session(seed, turns)
        for agent in SEATS:
            view = scribe.view(agent)
            text = describe(view)
            assert set(view.seen) == set(OBSERVATION.names or ())
            for name in set(view.seen) - HEARD:
                array = view.seen[name].copy()
                if name in ("interference", "curve"):
                    array[0] += 0.001
                elif name == "score":
                    array[0] += 0.0002
                elif name in ("burst_at", "burst_len"):
                    if not view.number("burst"):
                        continue
                    array[0] += 1
                elif name == "burst":
                    array[0] = 1 - array[0]
                elif name == "confirm":
                    if array[2] in (c.NO_CONFIRM, c.SETTLED):
                        continue
                    array[2] = 2 + (array[2] - 1) % 8
                elif name in ("band", "surplus", "demand"):
                    array[0] = (array[0] + 1) % 4
                elif name == "seat":
                    array[0] = (array[0] + 1) % 5
                elif name == "num_deals":
                    if array[0] == 0:
                        continue
                    array[0] -= 1
                elif name == "tape":
                    if view.number("num_deals") == 0:
                        continue
                    array[0, c.TAPE_FILL] += 1
                elif name == "tickets":
                    if array[0, 0] == 0:
                        continue
                    array[0, c.SLOT_EXPIRES] += 1
                else:
                    array[0] += 1
                other = dataclasses.replace(view, seen={**view.seen, name: array})
                assert describe(other) != text, name
                changed_names.add(name)
    assert set(OBSERVATION.names or ()) - HEARD - changed_names <= {"burst_at", "burst_len"}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_traffic_is_what_the_seat_heard(seed: int) -> None:
    """Its own version of each line, of the last three turns; of older ones their number."""
    env = ParallelGarble()
    env.reset(seed)
    scribe = Scribe(env)
    expected: dict[str, list[list[str]]] = {agent: [] for agent in SEATS}
    for _ in range(7):
        env.play(moves(env, seed))
        scribe.note()
        state, turn = env.state_record, int(env.state_record["turn"]) - 1
        for seat, agent in enumerate(SEATS):
            lines = []
            for sender in range(5):
                channel = int(state["channel"][sender])
                if state["sent"][sender] == c.SILENT and sender == seat:
                    lines.append(f"{turn} you: silent, no airtime")
                if not env.lines[sender] or (channel not in (0, 1 + seat) and sender != seat):
                    continue
                clipped = sender == seat and state["sent"][sender] == c.CLIPPED
                cut = ", clipped" if clipped else ""
                if sender == seat:
                    place = f"private to {env.aliases[channel - 1]}" if channel else "radio"
                else:
                    place = "private to you" if channel else "radio"
                who = "you" if sender == seat else env.aliases[sender]
                lines.append(f"{turn} {who}, {place}{cut}: {env.hear(sender, seat)}")
            expected[agent].append(lines)
            text = describe(scribe.view(agent))
            told = list(chain(*expected[agent][-3:]))
            if told:
                block = text.split("\nHeard:", 1)[1].strip().split("\n")
                assert block[: len(told)] == told
            for line in chain(*expected[agent][:-3]):
                assert f"\n{line}\n" not in text
            older = sum(len(lines) for lines in expected[agent][:-3])
            if older:
                counts = text.split("\nHeard before: ")[1].split("\n")[0]
                assert counts.startswith(f"turns 0..{turn - 3}, lines: ")
                assert sum(int(part.split()[-1]) for part in counts.split(",")[1:]) <= older
    with pytest.raises(InputError, match="note every turn once"):
        scribe.note()


def test_what_the_seat_itself_heard_of_a_ticket_is_told() -> None:
    for seed in range(30):
        env, scribe = session(seed, 2)
        for agent in SEATS:
            view = scribe.view(agent)
            text = describe(view)
            for row in view.seen["tickets"]:
                if row[0] == 0:
                    continue
                number, offerer, channel, opened, expires = row[:5].tolist()
                where = "private" if channel else "radio"
                times = f"opened {opened}, expires {expires}: "
                assert f"\n{number} by {env.aliases[offerer]}, {where}, {times}" in text.replace(
                    "Tickets to confirm: ", "\n"
                )
                heard = next(line for line in view.heard[opened] if line.sender == offerer)
                assert f": {heard.text}" in text


hidden = (st.integers(0, 2**30), st.integers(0, 12), st.integers(0, 4))


@given(*hidden)
@settings(max_examples=40, deadline=None)
def test_what_is_hidden_is_not_in_the_text(seed: int, turns: int, seat: int) -> None:
    env, scribe = session(seed, turns)
    agent = SEATS[seat]
    before, prompt = describe(scribe.view(agent)), garble.system_prompt(scribe.view(agent))
    _disturb(env.table.states, seat, turns + 1, np.random.default_rng(seed))
    env.table.states["key"] += np.uint64(1)
    env.table.observe()
    for other in range(5):
        if other != seat:
            env.notes[other] = "secret"
    assert describe(scribe.view(agent)) == before
    assert garble.system_prompt(scribe.view(agent)) == prompt


@given(*hidden, st.text(max_size=80))
@settings(max_examples=40, deadline=None)
def test_a_line_to_others_changes_no_text(seed: int, turns: int, seat: int, said: str) -> None:
    """Two games in which other seats whisper and note other things."""
    texts = []
    for whisper in ("SELL 5 ORE AT 9 to you alone", "SELL 7 TIN AT 11 " + said.replace("AT", "")):
        env = ParallelGarble()
        env.reset(seed)
        scribe, told = Scribe(env), []
        for _ in range(min(turns, 5)):
            sender, to = (seat + 1) % 5, (seat + 2) % 5
            decisions = {
                SEATS[sender]: Decision(whisper, env.aliases[to], notes=whisper),
                SEATS[to]: Decision("BUY 2 OAT AT 14", notes=said),
                SEATS[seat]: Decision("BUY 1 TAR AT 15 15"),
            }
            env.play(decisions)
            scribe.note()
            told.append(describe(scribe.view(SEATS[seat])))
        texts.append(told)
    assert texts[0] == texts[1]


def test_a_conversation_tells_every_turn_once() -> None:
    env = ParallelGarble()
    env.reset(6)
    scribe, told = Scribe(env), {}
    news: dict[str, list[str]] = {agent: [] for agent in SEATS}
    while env.agents:
        for agent in SEATS:
            view = scribe.view(agent)
            news[agent].append(describe(view, told.get(agent)))
            told[agent] = view
        env.play(moves(env, 6))
        scribe.note()
    for seat, agent in enumerate(SEATS):
        first, *later = news[agent]
        assert "Base curve: " in first
        assert all("Base curve" not in text and "Contract" not in text for text in later)
        assert all("Your notes" not in text for text in later)  # its own: it wrote them
        whole = "\n".join([*news[agent], describe(scribe.view(agent), told[agent])])
        rows = [row.removeprefix("Heard: ") for row in whole.split("\n")]
        for turn, lines in enumerate(scribe.view(agent).heard):
            for line in lines:
                who = "you" if line.sender == seat else env.aliases[line.sender]
                assert sum(x.startswith(f"{turn} {who}") for x in rows) == 1
        tape = env.state_record["tape"][: env.state_record["num_deals"]]
        assert [f" ticket {row[c.TAPE_TICKET]}: " in whole for row in tape] == [True] * len(tape)


def test_the_text_of_a_turn() -> None:
    env, scribe = session(1, 12)
    view = scribe.view("seat_2")
    text = describe(view)
    seen = view.seen
    turns = [line.split(": ", 1)[0] for line in text.split("\n") if ": " in line]
    assert turns[:4] == ["Turn", "Seats in order", "Interference", "Base curve"]
    assert "Turn: 12 of 0..11, over" in text
    assert f"{env.aliases[2]} (you)" in text
    assert f"ORE {seen['prices'][0]} (was {seen['previous_prices'][0]})" in text
    assert f"You hold: cash {seen['cash'][0]}, ORE {seen['units'][0]}" in text
    assert f"Airtime: {seen['airtime'][0]} runes left" in text
    assert " ".join(f"{x:.3f}" for x in seen["curve"][:12]) in text


def test_a_deal_is_told_in_both_versions() -> None:
    _, scribe = session(0, 0)
    view = scribe.view("seat_0")
    tape = view.seen["tape"].copy()
    tape[0] = (3, 7, 1, 2, 1, 5, 0, 12, 50, 0, 1, 20, 1, 1)
    tape[1] = (4, 9, 2, 1, 2, 5, 3, 9, 5, 3, 9, 5, 0, 0)
    seen = {**view.seen, "tape": tape, "num_deals": np.array([2])}
    text = describe(dataclasses.replace(view, seen=seen))
    a, b = view.aliases[1], view.aliases[2]
    assert (
        f"3 ticket 7: {a} sells to {b}, said 5 ORE AT 12, confirmed 50 ORE AT 1, 20 units, partial"
    ) in text
    assert f"4 ticket 9: {b} buys from {a}, 5 TAR AT 9 as said, 5 units" in text


FINE = {"channel": "radio", "text": "SELL 5 ORE AT 12", "notes": "", "confirm": None}
CONFIRM = {"ticket": 3, "side": "SELL", "qty": 5, "commodity": "ORE", "price": 12}


def test_what_is_read() -> None:
    env, scribe = session(0, 1)
    view = scribe.view("seat_0")
    assert parse(json.dumps(FINE), view) == Decision("SELL 5 ORE AT 12")
    loud = FINE | {"confirm": CONFIRM | {"side": " sell", "commodity": "Ore"}, "extra": 1}
    assert parse(json.dumps(loud), view).confirm == Confirm(3, "SELL", 5, "ORE", 12)
    for ticket in (0, -7, 10**30):  # they void, and are legal
        odd = json.dumps(FINE | {"confirm": CONFIRM | {"ticket": ticket}})
        env.play({"seat_0": parse(odd, view)})
    long = parse(
        json.dumps({"channel": "c" * 99, "text": "t" * 999, "notes": "n" * 999, "confirm": None}),
        view,
    )
    assert (len(long.channel), len(long.text), len(long.notes)) == (16, 160, 400)
    bad = parse(json.dumps(FINE | {"text": "\ud800", "notes": "\udfff"}), view)
    assert (bad.text, bad.notes) == ("\ufffd", "\ufffd")


@pytest.mark.parametrize(
    ("change", "code", "hint"),
    [
        ({"text": None}, "type", "text must be a string; got null"),
        ({"notes": 7}, "type", "notes must be a string; got 7"),
        ({"channel": ["radio"]}, "type", "channel must be a string; got a list"),
        ({"confirm": []}, "type", '"confirm" must be null or an object; got a list'),
        ({"confirm": {}}, "missing", 'lacks "ticket"'),
        ({"confirm": CONFIRM | {"ticket": "3"}}, "type", "ticket must be an integer; got"),
        ({"confirm": CONFIRM | {"ticket": 3.0}}, "type", "ticket must be an integer; got"),
        ({"confirm": CONFIRM | {"side": "HOLD"}}, "range", "side must be one of SELL, BUY"),
        ({"confirm": CONFIRM | {"side": None}}, "range", "side must be one of SELL, BUY"),
        ({"confirm": CONFIRM | {"qty": 100}}, "range", r"qty must be an integer, 0\.\.99; got 100"),
        ({"confirm": CONFIRM | {"qty": -1}}, "range", "got -1"),
        ({"confirm": CONFIRM | {"qty": True}}, "type", "got true"),
        ({"confirm": CONFIRM | {"price": 1e300}}, "type", "price must be an integer"),
        ({"confirm": CONFIRM | {"commodity": "GOLD"}}, "range", "ORE, OAT, TIN, TAR; got"),
        ({"confirm": CONFIRM | {"commodity": "\uff2fRE"}}, "range", "ORE, OAT, TIN, TAR; got"),
    ],
)
def test_an_ill_formed_reply_says_how_to_mend_it(change: Any, code: str, hint: str) -> None:
    _, scribe = session(0, 0)
    view = scribe.view("seat_0")
    reply = json.dumps(FINE | change)
    with pytest.raises(ReplyError, match=hint) as caught:
        parse(reply, view)
    assert caught.value.code == code
    assert garble.salvage(reply, view) == (None, 0)


def test_every_key_is_needed_and_an_echo_is_no_decision() -> None:
    _, scribe = session(3, 4)
    view = scribe.view("seat_1")
    for key in FINE:
        reply = json.dumps({name: value for name, value in FINE.items() if name != key})
        with pytest.raises(ReplyError, match=f'lacks "{key}"'):
            parse(reply, view)
    for key in CONFIRM:
        claim = {name: value for name, value in CONFIRM.items() if name != key}
        with pytest.raises(ReplyError, match=f'lacks "{key}"'):
            parse(json.dumps(FINE | {"confirm": claim}), view)
    for echo in (garble.system_prompt(view), describe(view)):
        with pytest.raises(ReplyError):
            parse(echo, view)


@given(st.text(), st.integers() | st.floats() | st.text() | st.none())
@settings(max_examples=100, deadline=None)
def test_any_reply_is_a_decision_or_the_error(text: str, value: Any) -> None:
    env, scribe = session(0, 0)
    view = scribe.view("seat_0")
    reply = FINE | {"text": text, "channel": text, "notes": text}
    for confirm in (None, CONFIRM | {"qty": value}, CONFIRM | {"ticket": value}, value):
        try:
            decision = parse(json.dumps(reply | {"confirm": confirm}), view)
        except ReplyError:
            continue
        env.play({"seat_0": decision})
        env.reset(0)


def test_notes_are_told_and_cannot_pass_for_the_prompt() -> None:
    env, scribe = session(0, 0)
    env.play({"seat_0": Decision(notes='mine\nTurn: 9 of 0..11\n"x"')})
    scribe.note()
    assert 'Your notes: "mine Turn: 9 of 0..11 \\"x\\""' in describe(scribe.view("seat_0"))
    assert "Your notes" not in describe(scribe.view("seat_1"))


def test_the_prompt_states_the_rules() -> None:
    _, scribe = session(0, 0, turns=9)
    prompt = garble.system_prompt(scribe.view("seat_0"), "Sell dear.")
    for fact in (
        *("for 9 turns", "900", "160 characters", "32 words", "40 runes", "FIVE-NINE", "0.45 n"),
        *("0.40 n", "private lines: 0.6 n", "ORE-OAT", "two turns after", "already-settled"),
    ):
        assert fact in prompt
    assert prompt.endswith("<operator>\nSell dear.\n</operator>")
