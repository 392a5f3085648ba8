"""What is on a picture or a text of Garble, what is not, and that nothing overlaps or is cut."""

from __future__ import annotations

import contextlib
import io
import itertools
import sys
from typing import Any

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from pettingzoo.test import render_test
from pettingzoo.utils.conversions import parallel_to_aec

from wager.envs import garble_v0
from wager.envs.drawing import VERMILLION, Pen
from wager.envs.errors import MissingExtraError
from wager.envs.garble import constants as c
from wager.envs.garble import replay as replays
from wager.envs.garble.env import ParallelGarble
from wager.envs.garble.lexicon import CHATTER, GAP_TEXT, normalise
from wager.envs.garble.picture import HEIGHT, WIDTH, draw
from wager.envs.garble.policies import POLICIES
from wager.envs.garble.records import STATE
from wager.envs.garble.render import table
from wager.envs.garble.scene import View, chunks, full_view, plain, public_view, seat_view
from wager.envs.garble.speech import Confirm, Decision

NAMES = ["quoter", "shark", "broker", "random", "quoter"]
LONG = [
    "SELL SEVENTEEN SEVENTEEN SEVENTEEN ORE ORE ORE AT " + "SEVENTEEN " * 9,
    "W" * 160,
    "hello " * 32,
    "BUY 5 5 5 5 5 5 5 5 TIN TIN TIN TIN TIN TIN TIN AT" + " 12" * 16,
    "\U0001f4e6 \u05d1\n\x1b[31m",
    "",
]


def play(env: ParallelGarble, turns: int, seed: int = 7) -> ParallelGarble:
    """``turns`` of scripted play, a seat whispering and chattering beside it."""
    observations, _ = env.reset(seed=seed)
    for turn in range(turns):
        actions: dict[str, Any] = {}
        for seat, agent in enumerate(env.agents):
            seen = {name: array[None] for name, array in observations[agent].items()}
            key = np.array([1000 * turn + seat], np.uint64)
            actions[agent] = POLICIES[NAMES[seat]](seen, None, key)[0]
        decisions = env.spoken(actions)
        said = decisions["seat_1"]
        to = env.aliases[2] if turn % 2 else "radio"
        decisions["seat_1"] = Decision(f"hush {said.text} thanks", to, said.confirm)
        observations = env.play(decisions)[0]
    return env


def hostile(turns: int = 24) -> list[View]:
    """The views of an episode of the longest lines and the oddest names there are."""
    env = ParallelGarble(turns, 1.2)
    env.reset(seed=12)
    names = ["llm:" + "m" * 60 + "@http://h", "a\nb", "sb3:x/y.zip", "\u202e\x1b[2J", "\u05d1" * 9]
    views = [full_view(env.state_record, env.table.decisions[0], env.lines, names)]
    for turn in range(turns):
        decisions = {}
        for seat, agent in enumerate(env.agents):
            to = "radio" if (seat + turn) % 4 else env.aliases[(seat + 1) % 5]
            number = int(env.state_record["num_tickets"]) - turn % 4
            text = LONG[(seat + turn) % 6] if turn < 6 else "sell 5 ore at 12"
            decisions[agent] = Decision(text, to, Confirm(number, "SELL", 99, "ORE", 17))
        env.play(decisions)
        views.append(full_view(env.state_record, env.table.decisions[0], env.lines, names))
    return views


def every_kind(turns: int) -> list[View]:
    """The board, a seat's view and the truth after ``turns`` of play."""
    env = play(ParallelGarble(), turns)
    state, seen = env.state_record, env.table.seen[0]
    views = [seat_view(state, seen[seat], env.lines) for seat in range(c.SEATS)]
    return [*views, public_view(state), full_view(state, env.table.decisions[0], env.lines, NAMES)]


def test_pettingzoo_clean() -> None:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        render_test(
            lambda render_mode: parallel_to_aec(garble_v0.parallel_env(render_mode=render_mode))
        )
    assert printed.getvalue().startswith("Garble  turn 0")


@pytest.mark.parametrize("perspective", [None, "seat_0", "seat_4"])
def test_modes(perspective: str | None) -> None:
    frames = {}
    for mode in ("ansi", "rgb_array"):
        env = ParallelGarble(render_mode=mode, perspective=perspective)
        with pytest.raises(ResetNeeded):
            env.render()
        play(env, 12)
        frames[mode] = env.render()
    assert frames["rgb_array"].shape == (HEIGHT, WIDTH, 3)
    assert frames["rgb_array"].dtype == np.uint8
    head = frames["ansi"].splitlines()[0]
    assert head.startswith("Garble  turn 11 (last 11), over")
    assert ("seen by" in head) == (perspective is not None)
    assert ("\nseat " in frames["ansi"]) == (perspective is not None)
    env = ParallelGarble(perspective=perspective)
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="without a render_mode"):
        assert env.render() is None


def test_human_mode_prints_every_turn(capsys: pytest.CaptureFixture[str]) -> None:
    env = play(ParallelGarble(render_mode="human"), 3)
    assert capsys.readouterr().out.count("Garble  turn ") == 4
    assert env.render() is None


def noise_but(state: np.void, public: list[str], rng: np.random.Generator) -> np.void:
    """Random bytes for a row of ``STATE``, but for the fields and entries that are public."""
    other: np.void = np.frombuffer(rng.bytes(STATE.itemsize), STATE).copy()[0]
    for name in public:
        other[name] = state[name]
    now = min(int(state["turn"]), int(state["turns"]) - 1)
    for name in ("prices", "interference", "burst"):
        other[name][: now + 1] = state[name][: now + 1]
    other["tape"][: state["num_deals"]] = state["tape"][: state["num_deals"]]
    columns = [c.T_OFFERER, c.T_CHANNEL, c.T_OPENED, c.T_SETTLED]
    for k in range(int(state["num_tickets"])):
        ticket = state["tickets"][k]
        if ticket[c.T_CHANNEL] == c.RADIO:
            other["tickets"][k, columns] = ticket[columns]
        else:
            other["tickets"][k, c.T_CHANNEL] = rng.integers(1, 6)
    return other


PUBLIC = ["turns", "turn", "done", "aliases", "curve", "num_deals", "num_tickets"]


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), st.integers(0, 12), st.integers(0, 5))
def test_hidden_state_never_shows(seed: int, turns: int, viewer: int) -> None:
    """All but what is public at random: the board, and a seat's view of what it saw, stand."""
    rng = np.random.default_rng(seed)
    env = play(ParallelGarble(), turns, seed)
    state, lines = env.state_record, list(env.lines)
    other = noise_but(state, PUBLIC, rng)
    assert other.tobytes() != state.tobytes()
    if viewer == 5:
        views = public_view(state), public_view(other)
    else:
        seen = env.table.seen[0, viewer]
        other["channel"][viewer] = state["channel"][viewer]
        others = [hidden_words(seen, s, lines[s], rng) for s in range(5)]
        others[viewer] = lines[viewer]
        views = seat_view(state, seen, lines), seat_view(other, seen, others)
    assert table(views[0]) == table(views[1])
    if seed % 4 == 0:
        np.testing.assert_array_equal(draw(views[0]), draw(views[1]))


def hidden_words(seen: np.void, sender: int, line: str, rng: np.random.Generator) -> str:
    """Another line in which every word is new that did not reach the viewer as it was said."""
    if not seen["heard_channel"][sender]:
        return ("", "SECRET", "SELL 5 ORE AT 9")[rng.integers(3)]
    words = normalise(line)
    for i, heard in enumerate(seen["heard"][sender][: len(words)]):
        if heard != CHATTER:
            words[i] = f"SECRET{rng.integers(100)}"
    return " ".join(words)


def test_the_board_has_no_private_ticket_and_no_open_terms() -> None:
    for seed in range(100):  # until every word arrives: there is always some noise
        env = ParallelGarble(noise_scale=0.0)
        env.reset(seed=seed)
        to = env.aliases[3]
        lines = {"seat_0": Decision("sell 7 ore at 23"), "seat_1": Decision("sell 8 oat at 24", to)}
        env.play(lines)
        if [env.hear(0, s) for s in range(5)] == ["SELL 7 ORE AT 23"] * 5 and (
            env.hear(1, 3) == "SELL 8 OAT AT 24"
        ):
            break
    state, seen = env.state_record, env.table.seen[0]
    board = table(public_view(state))
    assert env.aliases[0] in board
    assert env.aliases[1] not in board
    assert "23" not in board
    views = [table(seat_view(state, seen[seat], env.lines)) for seat in range(5)]
    assert ["SELL 7 ORE AT 23" in view.partition("open tickets")[2] for view in views] == [
        False, True, True, True, True,
    ]  # fmt: skip
    assert ["SELL 8 OAT AT 24" in view for view in views] == [False, True, False, True, False]
    assert ["SELL 7 ORE AT 23" in view for view in views] == [True] * 5  # its own: as said
    assert "private" in views[3]


def _words(row: str) -> list[tuple[int, str]]:
    """The words of a row and where each begins."""
    found, at = [], 0
    for word in row.split():
        at = row.index(word, at)
        found.append((at, word))
        at += len(word)
    return found


def test_said_stands_over_heard_word_for_word() -> None:
    """Every block of the text: same columns, a star on what was swapped, a gap on what was not."""
    env = ParallelGarble(preset="storm")
    env.reset(seed=3)
    line = "SELL 5 FIVE ORE ORE AT 12 TWELVE BYE"
    swapped = missing = 0
    while env.agents:
        env.play(dict.fromkeys(env.agents, Decision(line)))
        view = full_view(env.state_record, env.table.decisions[0], env.lines, NAMES)
        blocks = [b for b in table(view).split("\n\n") if "\n  said " in b]
        for sender, block in enumerate(blocks):
            rows = [row for row in block.splitlines()[1:] if not row.startswith("  confirms")]
            said = _words(rows[0])[1:]
            listeners = [s for s in range(5) if s != sender]
            assert [word for _, word in said] == line.split()
            for listener, row in zip(listeners, rows[1:], strict=True):
                (_, name), *heard = _words(row)
                assert name == env.aliases[listener]
                assert [at for at, _ in heard] == [at for at, _ in said]
                truth = env.hear(sender, listener).split()
                assert [word.rstrip("*") for _, word in heard] == truth
                for (_, shown), (_, word) in zip(heard, said, strict=True):
                    assert shown.endswith("*") == (shown not in (word, GAP_TEXT))
                    swapped += shown.endswith("*")
                    missing += shown == GAP_TEXT
        if env.state_record["airtime"].min() > 50:
            assert len(blocks) == 5
    assert swapped > 50
    assert missing > 50


def test_the_text_tells_the_deals() -> None:
    env = play(ParallelGarble(), 12)
    view = full_view(env.state_record, env.table.decisions[0], env.lines, NAMES)
    assert view.tape
    rows = table(view).partition("\ntape, ")[2].splitlines()[1:]
    assert len(rows) == min(10, len(view.tape))
    for row, deal in zip(rows, view.tape[-10:], strict=True):
        cells = row.split()
        assert [int(n) for n in cells[:2]] == [deal["turn"], deal["ticket"]]
        assert cells[2] == env.aliases[deal["offerer"]]
        assert cells[5] == env.aliases[deal["confirmer"]]
        assert ("misheard" in row) == deal["misheard"]
        assert ("partial" in row) == deal["partial"]
        said, confirmed = deal["said"], deal["confirmed"]
        text = f"{said['qty']} {said['commodity']} AT {said['price']}"
        text += f" {confirmed['qty']} {confirmed['commodity']} AT {confirmed['price']}"
        assert text in " ".join(cells)
    for seat, name in enumerate(NAMES):
        (row,) = [r for r in table(view).splitlines() if r.split()[:2] == [env.aliases[seat], name]]
        assert f"{env.state_record['value'][seat]:.3f}" in row


class Recorded(Pen):
    """A pen that keeps where it wrote."""

    def __init__(self, width: int, height: int) -> None:
        super().__init__(width, height)
        self.boxes: list[tuple[str, tuple[float, float, float, float]]] = []
        MADE.append(self)

    def text(
        self, x: float, y: float, text: str, size: float, colour: str, anchor: str = "ls"
    ) -> float:
        if text:
            box = self._draw.textbbox((2 * x, 2 * y), text, font=self._font(size), anchor=anchor)
            self.boxes.append((text, tuple(v / 2 for v in box)))
        return super().text(x, y, text, size, colour, anchor)


MADE: list[Recorded] = []


@pytest.mark.parametrize("kind", ["hostile", "start", "middle", "end"])
def test_no_text_overlaps_or_is_cut(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wager.envs.garble.picture.Pen", Recorded)
    turns = {"start": 0, "middle": 6, "end": 12}
    for view in hostile() if kind == "hostile" else every_kind(turns[kind]):
        MADE.clear()
        draw(view)
        boxes = MADE[0].boxes
        assert len(boxes) > 20
        for text, (left, top, right, bottom) in boxes:
            assert left >= 8, text
            assert right <= WIDTH - 8, text
            assert top >= 4, text
            assert bottom <= HEIGHT - 4, text
        areas = np.array([box for _, box in boxes])
        for k, (text, (left, top, right, bottom)) in enumerate(boxes):
            rest = areas[k + 1 :]
            crossing = (rest[:, 0] < right) & (rest[:, 2] > left)
            crossing &= (rest[:, 1] < bottom) & (rest[:, 3] > top)
            met = [boxes[k + 1 + i][0] for i in np.flatnonzero(crossing)]
            assert not met, (text, met)


def has(frame: NDArray[np.uint8], colour: str) -> int:
    """How many pixels of the traffic are exactly of a colour."""
    rgb = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
    return int((frame[100:, :800] == rgb).all(axis=2).sum())


def test_swapped_words_are_in_colour_and_underlined() -> None:
    line = Decision("SELL 5 ORE AT 12")
    for noise, least, most in ((0.0, 0, 200), (2.0, 200, 10**6)):
        env = ParallelGarble(noise_scale=noise)
        env.reset(seed=2)
        total = 0
        for _ in range(3):
            env.play(dict.fromkeys(env.agents, line))
            view = full_view(env.state_record, env.table.decisions[0], env.lines, NAMES)
            total += has(draw(view), VERMILLION)
        # at the least noise, 5%, a few words are swapped too
        assert least <= total <= most


def test_frames_of_a_replay_are_a_video() -> None:
    """An array a turn, all of one even-sided shape, as a video writer takes them."""
    recording = replays.record(replays.config(6), 3, [POLICIES[n] for n in NAMES], NAMES)
    frames = list(replays.frames(recording))
    assert len(frames) == 7
    assert {(f.shape, f.dtype.name) for f in frames} == {((HEIGHT, WIDTH, 3), "uint8")}
    assert all((a != b).any() for a, b in itertools.pairwise(frames))
    np.testing.assert_array_equal(frames[-1], list(replays.frames(recording))[-1])


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    env = ParallelGarble(render_mode="rgb_array")
    env.reset(seed=0)
    for name in [name for name in sys.modules if name.partition(".")[0] == "PIL"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        MissingExtraError, match=r"PIL is not installed: pip install 'wager\[render\]'"
    ):
        env.render()


@given(st.lists(st.integers(1, 40), min_size=1, max_size=32), st.integers(1, 60))
def test_chunks_hold_every_column_once(widths: list[int], room: int) -> None:
    spans = chunks(widths, room, 2)
    assert [k for first, last in spans for k in range(first, last)] == list(range(len(widths)))
    for first, last in spans:
        used = sum(widths[first:last]) + 2 * (last - first - 1)
        assert used <= room or last == first + 1


@given(st.text(max_size=80))
def test_plain_text_is_one_short_printable_line(text: str) -> None:
    shown = plain(text)
    assert shown.isprintable()
    assert len(shown) <= 24
