"""What is on a picture or a text of poker, and that no hidden card is."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from hypothesis import given, settings
from hypothesis import strategies as st
from pettingzoo.test import render_test

from wager.envs import poker_v0
from wager.envs.drawing import Pen
from wager.envs.errors import InputError
from wager.envs.poker import replay as replays
from wager.envs.poker.betting import cards_on_board
from wager.envs.poker.cards import names
from wager.envs.poker.picture import HEIGHT, WIDTH, draw
from wager.envs.poker.policies import make_policy
from wager.envs.poker.render import text
from wager.envs.poker.scene import View, live_view

TABLES = list(poker_v0.TABLES)


def advance(env: Any, steps: int, seed: int = 0) -> None:
    """Random legal decisions, small wagers mostly, until the match is over."""
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        if env.row["over"]:
            return
        legal = np.flatnonzero(env.infos[env.agent_selection]["action_mask"])
        kinds = legal[legal < 2].tolist() + legal[legal >= 2][:1].tolist()
        env.step(int(rng.choice(kinds)))


@pytest.mark.parametrize("table", TABLES)
def test_pettingzoo_clean(table: str) -> None:
    for make in (poker_v0.raw_env, poker_v0.env):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            render_test(lambda render_mode, make=make: make(table=table, render_mode=render_mode))
        assert printed.getvalue().startswith(f"Poker  {table}  hand 1 of ")


@pytest.mark.parametrize("perspective", [None, "seat_0", "seat_4"])
def test_modes(perspective: str | None) -> None:
    frames = {}
    for mode in ("ansi", "rgb_array"):
        env = poker_v0.raw_env(table="holdem-6max", render_mode=mode, perspective=perspective)
        with pytest.raises(ResetNeeded):
            env.render()
        env.reset(seed=1)
        advance(env, 9)
        frames[mode] = env.render()
    assert frames["rgb_array"].shape == (HEIGHT, WIDTH, 3)
    assert frames["rgb_array"].dtype == np.uint8
    head, _, *rows = frames["ansi"].splitlines()
    assert head.startswith("Poker  holdem-6max  hand 1 of 14, ")
    assert ("seen by" in head) == (perspective is not None)
    assert sum("-- --" in row for row in rows) == (6 if perspective is None else 5)
    env = poker_v0.raw_env(perspective=perspective if perspective != "seat_4" else None)
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="without a render_mode"):
        assert env.render() is None


def test_human_mode_prints_every_decision(capsys: pytest.CaptureFixture[str]) -> None:
    env = poker_v0.raw_env(table="leduc", hands=2, render_mode="human")
    env.reset(seed=0)
    advance(env, 3)
    assert capsys.readouterr().out.count("Poker  leduc  hand ") == 4
    assert env.render() is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"render_mode": "svg"}, "render_mode must be one of None, human, ansi, rgb_array; got"),
        ({"perspective": "seat_2"}, "perspective must be one of None, seat_0, seat_1; got"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        poker_v0.raw_env(**arguments)


@given(table=st.sampled_from(TABLES), seed=st.integers(0, 2**40), steps=st.integers(0, 60))
@settings(max_examples=60, deadline=None)
def test_nothing_hidden_is_shown(table: str, seed: int, steps: int) -> None:
    """Other seats' cards, the rest of the board and the key may be anything: the view is equal.

    A picture or a text is drawn from its view alone.
    """
    env = poker_v0.raw_env(table=table)
    env.reset(seed=seed)
    advance(env, steps, seed)
    row, history = env.row, env._histories[0]
    truth, shown = row.copy(), cards_on_board(row)
    rng = np.random.default_rng(seed)
    for viewer in range(-1, env.table.seats):
        before = live_view(row, table, history, viewer)
        row["key"] = rng.integers(2**63)
        row["board"][shown:] = rng.integers(0, 52, 5 - shown)
        row["strength"] = rng.integers(0, 99, 6)
        for p in range(int(row["players"])):
            if row["seat_at"][p] != viewer:
                row["hole"][p] = rng.integers(0, 52, 2)
        assert live_view(row, table, history, viewer) == before
        assert text(live_view(row, table, history, viewer)) == text(before)
        for name in row.dtype.names:
            row[name] = truth[name]


def test_a_picture_hides_what_the_view_does() -> None:
    env = poker_v0.raw_env(table="holdem-6max", render_mode="rgb_array", perspective="seat_2")
    env.reset(seed=3)
    before = env.render()
    own = int(np.flatnonzero(env.row["seat_at"] == 2)[0])
    for p in range(6):
        if p != own:
            env.row["hole"][p] = 0
    assert (env.render() == before).all()
    env.row["hole"][own] = (1, 2)
    assert (env.render() != before).any()


def recorded(table: str, seed: int, hands: int | None = None) -> dict[str, Any]:
    seats = (["house", "random", "rock"] * 2)[: poker_v0.TABLES[table].seats]
    policies = [make_policy(name, table) for name in seats]
    return replays.record(replays.config(table, hands), seed, policies, seats)


@pytest.mark.parametrize("table", TABLES)
def test_the_frames_of_a_replay_tell_its_events(table: str) -> None:
    """Every hole card from the deal on, every decision in its words, every hand's winners."""
    replay = recorded(table, 2, None if table in ("headsup", "sixmax") else 4)
    frames = list(replays.frames(replay, "ansi"))
    events, deal, k = replay["events"], {}, -1
    said: list[str] = []
    for event, after in zip(events, [*events[1:], {"event": ""}], strict=True):
        match event["event"]:
            case "deal":
                deal, said, k = event, [], k + 1
            case "action":
                kind = event["kind"]
                words = f"{kind}s to {event['to']}" if kind == "raise" else f"{kind}s"
                words += f" {event['to']}" if kind == "bet" else ""
                said.append(f"seat_{event['seat']} {words}")
                k += after["event"] not in ("board", "end")
            case "board":
                k += after["event"] == "action"
                assert after["event"] != "action" or event["cards"] in frames[k]
            case "end":
                k += 1
                for p, won in enumerate(event["won"]):
                    line = row_of(frames[k], deal["seats"][p])
                    assert (f"wins {won}" in line) == (won > 0)
                    assert event["shown"][p] is None or event["shown"][p] in line
        if event["event"] not in ("start", "board"):
            for p, seat in enumerate(deal["seats"]):
                assert f" {deal['hole'][p]} " in row_of(frames[k], seat)
            if event["event"] == "end" or after["event"] == "action":
                told = ", ".join(", ".join(row.split(": ")[1:]) for row in lines(frames[k]))
                assert told == ", ".join(said)
    assert k == len(frames) - 1


def row_of(frame: str, seat: int) -> str:
    (row,) = (row for row in frame.splitlines() if row.startswith(f"seat_{seat} "))
    return row + " "


def lines(frame: str) -> list[str]:
    return [row for row in frame.splitlines() if ": seat_" in row]


def test_names_of_cards_are_those_of_the_engine() -> None:
    env = poker_v0.raw_env(table="holdem-hu", perspective="seat_1", render_mode="ansi")
    env.reset(seed=8)
    p = int(np.flatnonzero(env.row["seat_at"][:2] == 1)[0])
    assert names(env.row["hole"][p]) in env.render()


def test_long_hands_and_odd_names_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """No text leaves the picture, whatever the names and however long the betting."""
    edges: list[float] = []
    write = Pen.text

    def checked(self: Pen, x: float, y: float, said: str, *rest: Any) -> float:
        width = write(self, x, y, said, *rest)
        left = x - {"l": 0, "m": width / 2, "r": width}[(rest[2] if len(rest) > 2 else "ls")[0]]
        edges.append(left + width)
        assert 0 <= left <= left + width <= WIDTH, said
        assert 0 < y < HEIGHT, said
        return width

    monkeypatch.setattr(Pen, "text", checked)
    env = poker_v0.raw_env(table="sixmax", stack=1000, hands=1000)
    env.reset(seed=0)
    for _ in range(150):  # least raises, round and round
        legal = np.flatnonzero(env.infos[env.agent_selection]["action_mask"])
        env.step(int(legal[2] if len(legal) > 2 else legal[-1]))
    assert env.row["moves"] == 150
    odd = ["llm:" + "m" * 60, "a\nb", "\u202e\x1b[2J", "\u05d1" * 9, "x", ""]
    view = replays.full_view(env.row, "sixmax", env._histories[0], odd)
    assert isinstance(view, View)
    draw(view)
    assert "\x1b" not in text(view)
    assert edges


def test_frames_check_their_mode() -> None:
    with pytest.raises(InputError, match="mode must be ansi or rgb_array; got 'human'"):
        next(replays.frames(recorded("kuhn", 1, 2), "human"))
