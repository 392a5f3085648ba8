"""Poker for learning: small bets and flat features, on the standard environment and in batches."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from pettingzoo.test import api_test, render_test, seed_test

from wager.envs import poker_v0
from wager.envs.errors import InputError
from wager.envs.poker.betting import cards_on_board, is_legal
from wager.envs.poker.infosets import GAMES
from wager.envs.poker.policies import pack
from wager.envs.poker.state import Row
from wager.wrappers.poker import SIZES, BetSizes, FlatFeatures
from wager.wrappers.poker_bets import BARRED, BetSpace
from wager.wrappers.poker_features import feature_space, features_of

TABLES = list(poker_v0.TABLES)
HOLDEM = TABLES[2:]
ANY_SIZES = st.lists(st.floats(0.01, 20.0), max_size=6, unique=True).map(sorted)


def under_way(table: str, seed: int, steps: int, **arguments: Any) -> Any:
    """A native environment after some random decisions, small ones often; never over."""
    env = poker_v0.raw_env(table=table, **arguments)
    env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        if env.terminations[env.agent_selection]:
            env.reset()
        legal = np.flatnonzero(env.infos[env.agent_selection]["action_mask"])
        env.step(int(legal[min(len(legal) - 1, int(rng.exponential(2)))]))
    if env.terminations[env.agent_selection]:
        env.reset()
    return env


def one(env: Any, agent: str | None = None) -> dict[str, NDArray[Any]]:
    """What the agent to act sees, as a batch of one."""
    seen = env.observe(agent or env.agent_selection)["observation"]
    return {name: value[None] for name, value in seen.items()}


def menu_of(env: Any, sizes: Any = None) -> list[int]:
    menu: list[int] = BetSpace(env.table.name, sizes).menus(pack(one(env)))[0].tolist()
    return menu


@given(st.sampled_from(HOLDEM), st.integers(0, 2**40), st.integers(0, 60), ANY_SIZES)
@settings(max_examples=120, deadline=None)
def test_every_small_action_is_legal_once(
    table: str, seed: int, steps: int, sizes: list[float]
) -> None:
    env = under_way(table, seed, steps, stack=2 + seed % 150)
    menu = menu_of(env, sizes)
    native = [action for action in menu if action != BARRED]
    assert len(menu) == len(sizes) + 3
    assert all(is_legal(env.row, action) for action in native)
    assert native == sorted(set(native))
    mask = env.infos[env.agent_selection]["action_mask"]
    assert (menu[0] == 0) == bool(mask[0])
    assert menu[1] == 1
    legal = np.flatnonzero(mask[2:]) + 2
    assert menu[-1] == (legal[-1] if len(legal) else BARRED)
    seen = env.observe(env.agent_selection)["observation"]
    price, pot = int(seen["to_call"][0]), int(seen["pot"][0])
    bet = int(seen["bets"][seen["position"][0]])
    wanted = [bet + price + size * (pot + price) for size in sizes]
    for size, action in zip(wanted, menu[2:-1], strict=True):
        if action == BARRED:  # another says it
            near = math.floor(size + 0.5)
            chips = min(max(near, legal[0] - 1), legal[-1] - 1) if len(legal) else None
            assert chips is None or chips + 1 in native
        else:
            assert abs(action - 1 - size) <= 0.5 or (size < action - 1 and action == legal[0])


@given(st.sampled_from(GAMES), st.integers(0, 2**40), st.integers(0, 30))
@settings(max_examples=40, deadline=None)
def test_where_there_is_one_wager_the_small_actions_are_all(
    table: str, seed: int, steps: int
) -> None:
    env = under_way(table, seed, steps)
    mask = env.infos[env.agent_selection]["action_mask"]
    assert [action for action in menu_of(env) if action != BARRED] == np.flatnonzero(mask).tolist()


def test_sizes_are_measured_over_a_call() -> None:
    """Pot-sized opens by the book: 6 from a small blind of 1/2 heads-up, 7 under the gun."""
    env = poker_v0.raw_env(table="holdem-hu")
    env.reset(seed=0)
    assert menu_of(env) == [0, 1, 1 + 4, 1 + 6, 1 + 10, 1 + 100]
    env.step(1 + 6)
    # 6 against 2: call 4 into 8, then half of 12, 12 and 24 over the 6
    assert menu_of(env) == [0, 1, 1 + 12, 1 + 18, 1 + 30, 1 + 100]
    env.step(1)
    # unopened flop, 12 in the pot
    assert menu_of(env) == [BARRED, 1, 1 + 6, 1 + 12, 1 + 24, 1 + 94]
    env = poker_v0.raw_env(table="holdem-6max")
    env.reset(seed=0)
    assert menu_of(env) == [0, 1, 1 + 5, 1 + 7, 1 + 12, 1 + 100]


def test_small_sizes_are_cut_up_to_the_least_raise_and_large_ones_left_to_the_all_in() -> None:
    env = poker_v0.raw_env(table="holdem-hu", stack=7)
    env.reset(seed=0)
    # 0.1 and 0.3 pots come to 2 and 3: the least raise is to 4, once; 2 pots are more than there is
    assert menu_of(env, (0.1, 0.3, 0.5, 1.0, 2.0)) == [0, 1, 5, BARRED, BARRED, 7, BARRED, 8]
    env = poker_v0.raw_env(table="holdem-hu", stack=3)
    env.reset(seed=0)
    assert menu_of(env) == [0, 1, BARRED, BARRED, BARRED, 4]
    assert menu_of(env, ()) == [0, 1, 4]
    env.step(4)
    assert menu_of(env) == [0, 1, BARRED, BARRED, BARRED, BARRED]


def test_nobody_to_act_has_the_check_alone() -> None:
    vector = poker_v0.PokerVector(1, "kuhn", hands=2)
    vector.reset(0)
    while not vector.over[0]:
        vector.step(np.ones(1, np.int64))
    seen = vector.observe()
    assert BetSpace("kuhn").menus(pack(seen)).tolist() == [[BARRED, 1, BARRED]]
    assert not features_of("kuhn", seen).any()


@pytest.mark.filterwarnings("ignore:.*Observation.*", "ignore:.*action_mask.*")
@pytest.mark.parametrize("table", TABLES)
def test_pettingzoos_own_tests(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    for make in (poker_v0.env, poker_v0.raw_env):
        for wrap in (BetSizes, lambda env: FlatFeatures(BetSizes(env))):
            api_test(wrap(make(table=table)), num_cycles=40)
            seed_test(lambda wrap=wrap, make=make: wrap(make(table=table)), num_cycles=40)
    render_test(lambda **mode: BetSizes(poker_v0.env(table=table, **mode)))
    capsys.readouterr()


@pytest.mark.parametrize("table", TABLES)
def test_the_wrapped_environment_is_the_native_one(table: str) -> None:
    """The same match move for move: masks, observations, rewards; features of the batch side."""
    small = BetSizes(poker_v0.env(table=table))
    flat = FlatFeatures(BetSizes(poker_v0.env(table=table)))
    native = poker_v0.raw_env(table=table)
    for env in (small, flat, native):
        env.reset(seed=3)
    rng = np.random.default_rng(3)
    for agent in native.agent_iter(80):
        assert small.agent_selection == flat.agent_selection == agent
        seen, paid, over, cut, info = native.last()
        view, *rest, small_info = small.last()
        assert rest == [paid, over, cut]
        for name, value in seen["observation"].items():
            np.testing.assert_array_equal(view["observation"][name], value)
        if over:
            assert small_info == info == {}
            for env in (small, flat, native):
                env.step(None)
            continue
        menu = menu_of(native)
        mask = small_info["action_mask"]
        assert mask.dtype == np.int8
        assert mask.tolist() == [action != BARRED for action in menu]
        assert small.observation_space(agent).contains(view)
        assert flat.observation_space(agent).contains(flat.observe(agent))
        np.testing.assert_array_equal(view["action_mask"], mask)
        np.testing.assert_array_equal(
            flat.observe(agent)["observation"], features_of(table, one(native))[0]
        )
        for other in native.agents:
            if other != agent:
                assert not small.observe(other)["action_mask"].any()
                assert small.infos[other] == {}
        action = int(rng.choice(np.flatnonzero(mask)))
        small.step(action)
        flat.step(np.int64(action))
        native.step(menu[action])
        assert small.rewards == native.rewards


@given(st.sampled_from(TABLES), st.integers(0, 2**40), st.integers(0, 60))
@settings(max_examples=80, deadline=None)
def test_nothing_hidden_is_seen(table: str, seed: int, steps: int) -> None:
    """Other seats' cards, the rest of the board and the key may be anything."""
    env = under_way(table, seed, steps)
    row: Row = env.row
    rng = np.random.default_rng(seed)
    shown = cards_on_board(row)
    truth = row.copy()
    for seat, agent in enumerate(env.possible_agents):
        before = _bytes(env, agent)
        row["key"] = rng.integers(2**63)
        row["board"][shown:] = rng.integers(0, 52, 5 - shown)
        for p in range(int(row["players"])):
            if row["seat_at"][p] != seat:
                row["hole"][p] = rng.integers(0, 52, 2)
        assert _bytes(env, agent) == before
        for name in row.dtype.names:
            row[name] = truth[name]


def _bytes(native: Any, agent: str) -> list[bytes]:
    """What wrappers that join the match now show."""
    env = FlatFeatures(BetSizes(native))
    seen = env.observe(agent)
    return [seen["observation"].tobytes(), seen["action_mask"].tobytes(), repr(env.infos).encode()]


def test_the_wrapper_follows_the_native_environment() -> None:
    """Moves under the wrapper, and a match that is stopped, leave nothing stale."""
    env = poker_v0.env(table="holdem-hu")
    small = BetSizes(env)
    small.reset(seed=0)
    agent = small.agent_selection
    assert small.infos[agent]["action_mask"].tolist() == [1] * 6
    env.step(1 + 100)
    assert small.infos[agent] == {}
    other = small.agent_selection
    assert small.infos[other]["action_mask"].tolist() == [1, 1, 0, 0, 0, 0]
    assert small.observe(other)["action_mask"] is small.infos[other]["action_mask"]
    env.unwrapped.void("deadline")
    _, _, over, cut, info = small.last()
    assert (over, cut, info) == (False, True, {})
    assert not small.observe(other)["action_mask"].any()
    for _ in range(2):
        small.step(None)
    assert small.agents == []


def test_spaces_are_told_apart() -> None:
    assert BetSpace("holdem-hu") == BetSpace("headsup", SIZES)
    assert hash(BetSpace("holdem-hu")) == hash(BetSpace("headsup"))
    assert BetSpace("holdem-hu") != BetSpace("holdem-6max")
    assert BetSpace("holdem-hu") != BetSpace("holdem-hu", (0.5, 1.0, 3.0))
    assert BetSpace("kuhn") != BetSpace("leduc")
    assert BetSpace("kuhn").labels == ("fold", "check or call", "raise")
    assert BetSpace("sixmax", (0.75,)).labels == ("fold", "check or call", "0.75 pot", "all-in")
    assert repr(BetSpace("holdem-hu", (1,))) == "BetSpace('holdem-hu', (1.0,))"


def test_wrong_input_is_one_clear_line() -> None:
    env = poker_v0.env(table="holdem-hu")
    small = BetSizes(env)
    cases: list[tuple[str, Any]] = [
        ("sizes: leduc has one wager; leave sizes out", lambda: BetSpace("leduc", (1.0,))),
        (
            r"sizes must rise, above 0 and at most 1000; got \(1\.0, 0\.5\)",
            lambda: BetSizes(env, (1, 0.5)),
        ),
        (r"sizes must rise.*got \(0\.5, 0\.5\)", lambda: BetSizes(env, (0.5, 0.5))),
        (r"sizes must rise.*got \(0\.0,\)", lambda: BetSizes(env, (0.0,))),
        (r"sizes must rise.*got \(nan,\)", lambda: BetSizes(env, (math.nan,))),
        (r"sizes must rise.*got \(1001\.0,\)", lambda: BetSizes(env, (1001,))),
        ("no table 'omaha'", lambda: BetSpace("omaha")),
        ("no table 'omaha'", lambda: feature_space("omaha")),
        ("BetSizes needs the native actions of poker_v0", lambda: BetSizes(small)),
        ("BetSizes needs the native observations", lambda: BetSizes(FlatFeatures(env))),
        ("FlatFeatures needs the native observ", lambda: FlatFeatures(FlatFeatures(small))),
    ]
    for message, call in cases:
        with pytest.raises(InputError, match=message):
            call()
    small.reset(seed=1)
    before = env.unwrapped.row.tobytes()
    legal = r"legal: 0 \(fold\), 1 \(check or call\), 2 \(0\.5 pot: to 4\), .*5 \(all-in: to 100\)"
    for action in (6, -1, None, 1.0, "1"):
        with pytest.raises(InputError, match=rf"seat_. ?: ?action .* is not legal; {legal}"):
            small.step(action)  # type: ignore[arg-type]
    assert env.unwrapped.row.tobytes() == before
    small.step(5)
    with pytest.raises(InputError, match=r"action 5 is not legal; legal: 0 \(fold\), 1 \(check or"):
        small.step(5)


def test_kernels_run_uncompiled() -> None:
    """The same menus and features, byte for byte, with and without compilation."""
    code = (
        "import hashlib, numpy as np\n"
        "from wager.envs.poker.policies import pack\n"
        "from wager.envs.poker.vector import PokerVector\n"
        "from wager.wrappers.poker_bets import BetSpace\n"
        "from wager.wrappers.poker_features import features_of\n"
        "digest = hashlib.sha256()\n"
        "for table in ('kuhn', 'leduc', 'holdem-6max', 'headsup'):\n"
        "    vector = PokerVector(2, table, hands=2)\n"
        "    vector.reset(3)\n"
        "    for k in range(40):\n"
        "        seen = vector.observe()\n"
        "        menus = BetSpace(table).menus(pack(seen))\n"
        "        legal = [menu[menu >= 0] for menu in menus]\n"
        "        vector.step(np.array([a[k * 7 % len(a)] for a in legal]))\n"
        "        digest.update(menus.tobytes() + features_of(table, seen).tobytes())\n"
    )
    here: dict[str, Any] = {}
    exec(code, here)
    plain = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code + "print(digest.hexdigest())"],
        env=dict(os.environ) | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert plain.strip() == here["digest"].hexdigest()
