"""The standard APIs: spaces, text against numbers, hostile text, and that nothing hidden shows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test
from pettingzoo.utils import parallel_to_aec

from wager.envs import garble_v0
from wager.envs.garble import constants as c
from wager.envs.garble.compose import COLUMNS, SIZES
from wager.envs.garble.env import ParallelGarble
from wager.envs.garble.lexicon import NUM_WORDS, TEXTS
from wager.envs.garble.policies import POLICIES
from wager.envs.garble.records import OBSERVATION, STATE
from wager.envs.garble.speech import Confirm, Decision, cut_line
from wager.envs.garble.vector import VectorGarble
from wager.envs.garble.view import SeatViews, observe, pack
from wager.envs.garble.wire import scan

SEATS = [f"seat_{s}" for s in range(5)]


@pytest.mark.parametrize("action", ["offers", "words"])
def test_pettingzoo_clean(action: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(garble_v0.parallel_env(action=action), 30)
        parallel_seed_test(lambda: garble_v0.parallel_env(action=action), 30)


@pytest.mark.parametrize("action", ["offers", "words"])
def test_pettingzoo_clean_turn_by_turn(action: str) -> None:
    """The AEC tests draw their actions under the mask of ``info``."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # spaces that are neither Box nor Discrete are excused by the name of the environment
        for advice in ("Observation is not a NumPy array", ".* space for each agent probably"):
            warnings.filterwarnings("ignore", advice)
        api_test(parallel_to_aec(garble_v0.parallel_env(action=action)), 30)
        seed_test(lambda: parallel_to_aec(garble_v0.parallel_env(action=action)), 30)


def test_sampling_under_the_flat_mask() -> None:
    env = ParallelGarble(turns=6)
    space = env.action_space("seat_3")
    space.seed(0)
    ends = np.cumsum(space.nvec)
    drawn = set()
    for seed in range(30):
        infos = env.reset(seed=seed)[1]
        while env.agents:
            mask = infos["seat_3"]["action_mask"]
            action = space.sample(mask)
            assert mask[ends - space.nvec + action].all()
            drawn.add((int(action[0]), int(action[10])))
            offers = {agent: env.action_space(agent).sample() for agent in env.agents}
            infos = env.step(offers | {"seat_3": action})[-1]
    channels, slots = (set(column) for column in zip(*drawn, strict=True))
    assert channels == {0, 1, 2, 3, 5}  # the fourth is its own
    assert {0, 1, 2} <= slots


def sample(env: ParallelGarble) -> dict[str, np.ndarray]:
    return {agent: env.action_space(agent).sample() for agent in env.agents}


@pytest.mark.parametrize("action", ["offers", "words"])
def test_observations_lie_in_their_space(action: str) -> None:
    for kwargs in ({"preset": "storm"}, {"turns": 24}, {"turns": 6, "noise_scale": 0.0}):
        env = ParallelGarble(action=action, **kwargs)
        for agent in SEATS:
            env.action_space(agent).seed(1)
        for seed in range(4):
            observations, infos = env.reset(seed=seed)
            while env.agents:
                for agent in SEATS:
                    assert env.observation_space(agent).contains(observations[agent])
                    mask = infos[agent]["action_mask"]
                    assert mask.dtype == np.int8
                    assert mask.shape == (SIZES[action].sum(),)
                observations, _, ended, cut, infos = env.step(sample(env))
            assert all(ended.values())
            assert not any(cut.values())
            assert all(env.observation_space(a).contains(observations[a]) for a in SEATS)
            assert env.step({}) == ({}, {}, {}, {}, {})


def test_presets_and_arguments() -> None:
    assert ParallelGarble().table.turns == 12
    storm = ParallelGarble(preset="storm", turns=8).table
    assert (storm.turns, storm.noise_scale) == (8, 1.5)
    assert ParallelGarble(preset="long-session").table.turns == 18
    for bad, name in (
        ({"turns": 5}, "turns"),
        ({"turns": 25}, "turns"),
        ({"turns": 12.0}, "turns"),
        ({"noise_scale": 2.1}, "noise_scale"),
        ({"noise_scale": float("nan")}, "noise_scale"),
        ({"noise_scale": "1"}, "noise_scale"),
        ({"preset": "calm"}, "preset"),
        ({"action": "text"}, "action"),
        ({"render_mode": "video"}, "render_mode"),
        ({"perspective": "seat_5"}, "perspective"),
    ):
        with pytest.raises(ValueError, match=name):
            ParallelGarble(**bad)
    for seed in (-1, 2**63, 1.5, True):
        with pytest.raises(ValueError, match="seed"):
            ParallelGarble().reset(seed=seed)


def test_bad_batches_say_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="num_envs must be at least 1; got 0"):
        VectorGarble(0)
    table = VectorGarble(2)
    with pytest.raises(ValueError, match="over: reset"):
        table.step(np.zeros((2, 5, 15), np.int64))
    for seeds in ([1], [1, -2], ["a", "b"], [1.0, 2.0], 5, [1, 2**70]):
        with pytest.raises(ValueError, match="seeds must be"):
            table.reset(seeds)
        with pytest.raises(ValueError, match="episodes must be"):
            table.reset([1, 2], -1 if seeds == 5 else seeds)
    table.reset([1, 2], 3)
    both = table.states.copy()
    table.reset([1, 2], [3, 3])
    assert (table.states == both).all()
    bad = np.zeros((2, 5, 15), np.int64)
    bad[1, 4, 2] = 100
    with pytest.raises(ValueError, match=r"actions\[1\] of seat_4: qty must be 0\.\.99; got 100"):
        table.step(bad)
    for shape in ((2, 5, 14), (1, 5, 15), (10, 15)):
        with pytest.raises(ValueError, match=r"integers of shape \(2, 5, 15\)"):
            table.step(np.zeros(shape, np.int64))
    assert (table.states == both).all()


def test_episodes_of_a_seed() -> None:
    env = ParallelGarble()
    firsts = [env.reset(seed=7)[0]] + [env.reset()[0] for _ in range(3)]
    assert (
        len({o["seat_0"]["curve"].tobytes() + o["seat_0"]["prices"].tobytes() for o in firsts}) > 2
    )
    again = env.reset(seed=7, options={"episode": 2})[0]
    for agent in SEATS:
        for name in again[agent]:
            assert again[agent][name].tobytes() == firsts[2][agent][name].tobytes()
    assert env.reset(seed=None)[0] is not None
    assert env.episode == 3


def test_bad_actions_name_the_column() -> None:
    env = ParallelGarble()
    env.reset(seed=0)
    for column, size in enumerate(SIZES["offers"]):
        for value in (-1, size):
            action = np.zeros(15, np.int64)
            action[column] = value
            with pytest.raises(ValueError, match=rf"seat_3.*{COLUMNS['offers'][column]}"):
                env.step({"seat_3": action})
    for action in (np.zeros(14, np.int64), np.zeros(15), [0] * 16, "x"):
        with pytest.raises(ValueError, match="seat_2"):
            env.step({"seat_2": action})
    with pytest.raises(ValueError, match="seat_9"):
        env.step({"seat_9": np.zeros(15, np.int64)})
    assert env.table.states[0]["turn"] == 0


@pytest.mark.parametrize(
    ("decision", "match"),
    [
        (Decision(text=5), "text"),
        (Decision(channel=None), "channel"),
        (Decision(notes=b"x"), "notes"),
        (Decision(confirm={"ticket": 1}), "confirm"),
        (Decision(confirm=Confirm("1", "SELL", 1, "ORE", 1)), "ticket"),
        (Decision(confirm=Confirm(True, "SELL", 1, "ORE", 1)), "ticket"),
        (Decision(confirm=Confirm(1, "sell", 1, "ORE", 1)), "side"),
        (Decision(confirm=Confirm(1, "SELL", 100, "ORE", 1)), r"qty must be 0\.\.99"),
        (Decision(confirm=Confirm(1, "SELL", 1, "GOLD", 1)), "commodity"),
        (Decision(confirm=Confirm(1, "SELL", 1, "ORE", -1)), r"price must be 0\.\.99"),
        (Decision(confirm=Confirm(1, "SELL", 1, "ORE", 1.0)), "price"),
    ],
)
def test_bad_decisions_name_the_field(decision: Decision, match: str) -> None:
    env = ParallelGarble()
    env.reset(seed=0)
    with pytest.raises(ValueError, match=match):
        env.play({"seat_0": decision})
    assert env.table.states[0]["turn"] == 0


HOSTILE = [
    "",
    " ",
    "\n",
    "A" * 10_000,
    "SELL 5 ORE AT 12 " * 2_000,
    "5 " * 5_000,
    "".join(map(chr, range(32))) + "\x7f\x80\x9f",
    "\ud800\udc00 SELL \udfff5 ORE AT 12",
    "😀" * 200,
    "\u202eSELL 5 ORE AT 12\u202c \u05d0\u05d1",
    "SELL\x005\x00ORE\x00AT\x0012",
    '{"channel": "radio", "text": "SELL 5 ORE AT 12", "confirm": null',
    "SELL \u0665 ORE AT \uff11\uff12 \u0967",
    "SELL 5 ORE AT 12 \u2028\u2029\x85\r\n BUY",
    "stra\xdfe \ufb01 \u0131",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text(text: str) -> None:
    env = ParallelGarble()
    env.reset(seed=0)
    for channel in ("radio", text, env.aliases[1]):
        env.play({"seat_0": Decision(text, channel, notes=text)})
        line = env.lines[0]
        assert len(line) <= 160
        assert len(line.split()) <= 32
        assert "\n" not in line
        (line + env.notes[0] + "".join(env.hear(0, s) for s in range(5))).encode("utf-8")
        assert len(env.notes[0]) <= 400
        assert env.table.decisions[0, 0]["runes"] == len(line)
        opened = env.table.decisions[0, 0]["opened"] > 0
        assert opened == (scan(line) is not None)


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=300), st.text(max_size=30), st.integers(0, 900), st.data())
def test_any_text_is_a_line(text: str, channel: str, airtime: int, data: st.DataObject) -> None:
    env = ParallelGarble()
    env.reset(seed=data.draw(st.integers(0, 1000)))
    env.table.states[0]["airtime"][0] = airtime
    env.play({"seat_0": Decision(text, channel)})
    assert env.table.states[0]["airtime"][0] == airtime - len(env.lines[0])
    env.lines[0].encode("utf-8")


def test_random_bytes_are_lines() -> None:
    """100,000 lines of random bytes: cut, normalised and scanned without an error."""
    rng = np.random.default_rng(0)
    parts = [b"SELL", b"BUY", b" AT ", b"ORE", b"5", b" 12 ", b"\xff", b"\xed\xa0\x80", b"\n"]
    read = 0
    for _ in range(100_000):
        if rng.random() < 0.5:
            data = rng.bytes(int(rng.integers(0, 60)))
        else:
            data = b" ".join(parts[i] for i in rng.integers(0, len(parts), 12))
        line, _ = cut_line(data.decode("utf-8", "surrogateescape"), 900)
        line.encode("utf-8")
        read += scan(line) is not None
    assert read > 100


def test_empty_notes_keep_the_old_ones() -> None:
    env = ParallelGarble()
    env.reset(seed=0)
    env.play({"seat_0": Decision(notes="a" * 500), "seat_1": Decision(notes="b")})
    env.play({"seat_0": Decision(), "seat_1": Decision(notes="\udfff")})
    assert env.notes[:3] == ["a" * 400, "\ufffd", ""]
    env.reset()
    assert env.notes == [""] * 5


def same(a: dict, b: dict) -> bool:
    return all(a[k][n].tobytes() == b[k][n].tobytes() for k in SEATS for n in a[k])


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(["offers", "words"]), st.integers(0, 2**32), st.integers(0, 130))
def test_a_composed_line_is_its_text(action: str, seed: int, airtime: int) -> None:
    """The same turns once by numbers and once by the text that they compose give the same game."""
    rng = np.random.default_rng(seed)
    numbers, texts = ParallelGarble(turns=6, action=action), ParallelGarble(turns=6, action=action)
    numbers.reset(seed=seed)
    texts.reset(seed=seed)
    for env in (numbers, texts):
        env.table.states[0]["airtime"][:3] = airtime
        env.table.seen[0]["airtime"][:3] = airtime
    while numbers.agents:
        actions = rng.integers(0, np.broadcast_to(SIZES[action], (5, len(SIZES[action]))))
        if action == "words":
            actions[:, 1:33] *= rng.random((5, 32)) < 0.5
        decisions = {}
        for seat, agent in enumerate(SEATS):
            slot, side, qty, good, price = actions[seat, -5:].tolist()
            ticket = numbers.table.seen[0, seat]["tickets"][slot - 1, 0] if slot else 0
            terms = (("SELL", "BUY")[side], qty, TEXTS[139 + good], price)
            claim = Confirm(int(ticket), *terms) if ticket else None
            channel = ["radio", *numbers.aliases][actions[seat, 0]]
            decisions[agent] = Decision(written(action, actions[seat]), channel, claim)
        a = numbers.step(dict(zip(SEATS, actions, strict=True)))
        b = texts.play(decisions)
        assert numbers.lines == texts.lines
        assert same(a[0], b[0])
        assert a[1] == b[1]
        assert numbers.events() == texts.events()


def written(action: str, row: np.ndarray) -> str:
    """What an action means, in words: an oracle apart from the kernel that composes it."""
    if action == "words":
        return " ".join(TEXTS[i] for i in row[1:33] if i)
    _, verb, qty, good, price, kq, kg, kp, qty_form, price_form = row[:10].tolist()

    def number(value: int, form: int) -> str:
        spelled = {
            int(v): TEXTS[i]
            for i, v in zip(range(111, 139), [*range(20), *range(20, 100, 10)], strict=True)
        }
        return (
            spelled.get(value, str(value))
            if form == 2
            else f"{value:02}"
            if form == 1
            else str(value)
        )

    if not verb:
        return ""
    words = [("SELL", "BUY")[verb - 1], *[number(qty, qty_form)] * (1 + kq)]
    return " ".join(
        [*words, *[TEXTS[139 + good]] * (1 + kg), "AT", *[number(price, price_form)] * (1 + kp)]
    )


@pytest.mark.parametrize("action", ["offers", "words"])
def test_a_vector_row_equals_the_scalar_environment(action: str) -> None:
    table = VectorGarble(6, 8, 1.3, action=action)
    seeds = 100 + np.arange(6)
    views = table.reset(seeds)
    envs = [ParallelGarble(8, 1.3, action=action) for _ in seeds]
    firsts = [env.reset(seed=int(seed)) for env, seed in zip(envs, seeds, strict=True)]
    steps = [(first[0], None, None, None, first[1]) for first in firsts]
    rng = np.random.default_rng(0)
    rewards, ended = np.zeros((6, 5)), np.zeros((6, 5), bool)
    for _ in range(9):
        masks = table.action_masks()
        for row, (observations, reward, end, _, infos) in enumerate(steps):
            for seat, agent in enumerate(SEATS):
                for name, array in views.items():
                    assert (array[row, seat] == observations[agent][name]).all()
                    assert array.dtype == observations[agent][name].dtype
                assert (masks[row, seat] == infos[agent]["action_mask"]).all()
                if reward is not None:
                    assert reward[agent] == rewards[row, seat]
                    assert end[agent] == ended[row, seat]
        if table.done:
            break
        actions = rng.integers(0, np.broadcast_to(table.sizes, (6, 5, len(table.sizes))))
        steps = [
            env.step(dict(zip(SEATS, rows, strict=True)))
            for env, rows in zip(envs, actions, strict=True)
        ]
        views, rewards, ended, _ = table.step(actions)
    assert table.done
    assert all(not env.agents for env in envs)


def test_a_policy_plays_what_its_kernel_plays() -> None:
    table = VectorGarble(8)
    table.reset(np.arange(8))
    keys = np.arange(40, dtype=np.uint64).reshape(8, 5)
    actions = np.zeros((8, 5, 15), np.int64)
    while not table.done:
        for name in ("shark", "random", "quoter"):
            POLICIES[name].act(table.seen, keys, np.ones((8, 5), np.bool_), actions)
            views = {n: a.reshape(40, *a.shape[2:]) for n, a in SeatViews(table.seen).items()}
            assert (POLICIES[name](views, None, keys.ravel()) == actions.reshape(40, 15)).all()
        table.step(actions)
    assert pack(SeatViews(table.seen)) is table.seen


@pytest.mark.parametrize("action", ["offers", "words"])
def test_the_mask_marks_what_does_nothing(action: str) -> None:
    """Changing a masked value to the column's first legal one never changes the outcome."""
    rng = np.random.default_rng(4)
    masked = 0
    for seed in range(12):
        a, b = VectorGarble(4, 6, action=action), VectorGarble(4, 6, action=action)
        for table in (a, b):
            table.reset(seed * 4 + np.arange(4))
            table.states["airtime"][:, :2] = 30
            observe(table.states, table.seen)
        while not a.done:
            masks = a.action_masks()
            actions = rng.integers(0, np.broadcast_to(a.sizes, (4, 5, len(a.sizes))))
            plain = actions.copy()
            starts = np.cumsum(a.sizes) - a.sizes
            for index in np.ndindex(actions.shape):
                row, seat, column = index
                mask = masks[row, seat, starts[column] : starts[column] + a.sizes[column]]
                assert mask.any()
                if not mask[actions[index]] and not (column == len(a.sizes) - 3 and mask[1:].any()):
                    plain[index] = np.flatnonzero(mask)[0]
                    masked += 1
            a.step(actions)
            b.step(plain)
            for name in STATE.names or ():
                if name not in ("sent", "channel"):  # a line refused says so
                    assert (a.states[name] == b.states[name]).all()
    assert masked > 1000


HIDDEN_PER_SEAT = ["cash", "units", "airtime", "surplus", "demand", "premium", "quota", "value",
                   "deals", "misheard", "voids", "confirms"]  # fmt: skip


@settings(deadline=None, max_examples=80)
@given(st.integers(0, 2**32), st.integers(0, 12), st.integers(0, 4))
def test_hidden_state_never_shows(seed: int, turns: int, seat: int) -> None:
    """Change all that a seat may not know: its observation and mask stay byte-identical."""
    rng = np.random.default_rng(seed)
    table = VectorGarble(1)
    table.reset([seed])
    for _ in range(turns):
        actions = rng.integers(0, np.broadcast_to(table.sizes, (1, 5, 15)))
        for s in range(5):
            name = ("quoter", "shark", "random")[s % 3]
            if rng.random() < 0.8:
                mine = np.zeros((1, 5), np.bool_)
                mine[0, s] = True
                POLICIES[name].act(table.seen, np.zeros((1, 5), np.uint64), mine, actions)
                actions[0, s, 0] = rng.integers(0, 6)
        table.step(actions)
    before = table.seen[0, seat].tobytes()
    mask = table.action_masks()[0, seat].tobytes()
    truth = table.states[0]
    other = truth.copy()
    scramble(other, seat, rng)
    assert other.tobytes() != truth.tobytes()
    table.states[0] = other
    table.seen[:] = np.zeros((), OBSERVATION)
    observe(table.states, table.seen)
    assert table.seen[0, seat].tobytes() == before
    assert table.action_masks()[0, seat].tobytes() == mask


def scramble(state: np.void, seat: int, rng: np.random.Generator) -> None:
    """Everything hidden from ``seat`` in a row of ``STATE``, at random."""
    turn, now = int(state["turn"]), min(int(state["turn"]), int(state["turns"]) - 1)
    others = [s for s in range(5) if s != seat]
    state["key"] = rng.integers(0, 2**63)
    state["aliases"] = rng.integers(0, 10, 5)
    for name in HIDDEN_PER_SEAT:
        high = 4 if name in ("surplus", "demand") else 20
        keep = state[name][seat].copy()
        state[name] = rng.integers(0, high, state[name].shape)
        state[name][seat] = keep
    for name in ("value", "deals", "misheard", "voids"):
        state[name][seat] = rng.integers(0, 20)
    later = slice(now + 1, None)
    for name in ("prices", "interference", "burst", "burst_at", "burst_len"):
        state[name][later] = rng.integers(0, 2, state[name][later].shape)
    if not state["burst"][now]:
        state["burst_at"][now] = rng.random()
        state["burst_len"][now] = rng.integers(2, 5)
    for sender in others:  # lines that went to somebody else
        if state["channel"][sender] not in (c.RADIO, 1 + seat):
            state["sent"][sender] = rng.integers(0, 4)
            state["channel"][sender] = 1 + others[(others.index(sender) + 1) % 4]
        elif state["sent"][sender] in (c.NOTHING, c.SILENT):
            state["sent"][sender] = (c.NOTHING, c.SILENT)[rng.integers(0, 2)]
        else:
            state["sent"][sender] = (c.SENT, c.CLIPPED)[rng.integers(0, 2)]
    for listener in others:
        state["heard"][:, :, listener] = rng.integers(0, NUM_WORDS, (2, 5, 32))
        state["heard_terms"][:, :, listener] = rng.integers(0, 99, (2, 5, 10))
    for ticket in state["tickets"][: state["num_tickets"]]:
        ticket[c.T_TERMS :] = rng.integers(0, 99, 10)
        if ticket[c.T_CHANNEL] not in (c.RADIO, 1 + seat) or ticket[c.T_OFFERER] == seat:
            ticket[c.T_SETTLED] = rng.integers(0, 2)
    assert turn <= state["turns"]


def test_the_scramble_knows_every_field() -> None:
    """A new field of the state must be given a place in the test above."""
    seen = {"turns", "turn", "done", "num_deals", "curve", "tape"}
    hidden = {*HIDDEN_PER_SEAT, "key", "aliases", "prices", "interference", "burst", "burst_at",
              "burst_len", "sent", "channel", "heard", "heard_terms", "tickets"}  # fmt: skip
    assert seen | hidden | {"num_tickets"} == set(STATE.names or ())


@settings(deadline=None, max_examples=40)
@given(st.text(max_size=60), st.text(max_size=60), st.integers(0, 1000))
def test_a_whisper_is_heard_by_nobody_else(a: str, b: str, seed: int) -> None:
    envs = [ParallelGarble(), ParallelGarble()]
    steps = []
    for env, text in zip(envs, (a, b), strict=True):
        env.reset(seed=seed)
        line = "SELL 5 ORE AT 12 " + text.replace("AT", "")
        whisper = Decision(line, env.aliases[1], notes=text)
        steps.append(env.play({"seat_0": whisper, "seat_3": Decision("BUY 1 TIN AT 9")}))
    for agent in SEATS[2:]:
        for name, array in steps[0][0][agent].items():
            assert array.tobytes() == steps[1][0][agent][name].tobytes()
        assert (steps[0][4][agent]["action_mask"] == steps[1][4][agent]["action_mask"]).all()
