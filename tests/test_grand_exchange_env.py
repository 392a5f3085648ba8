"""The standard environment: Gymnasium's contract, the seeds, the score, and what stays hidden."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from wager.envs import grand_exchange_v0
from wager.envs.errors import InputError
from wager.envs.grand_exchange.book import Offer, plain_orders, run_offers
from wager.envs.grand_exchange.constants import RULES, Rules
from wager.envs.grand_exchange.engine import Fill
from wager.envs.grand_exchange.env import GrandExchange
from wager.envs.grand_exchange.market import Markets, build_market, fill_markets, served_seeds
from wager.envs.seeds import training_seed

IDS = ["wager/GrandExchange-v0", "wager/GrandExchangeLive-v0"]
SIZES: dict[str, Any] = {"num_items": 4, "visible": 12, "held_out": 6}


def lively(observation: dict[str, NDArray[Any]], rng: np.random.Generator) -> NDArray[np.int64]:
    """An action that trades most items around their last price."""
    last = observation["prices"][:, -1]
    action = np.zeros((len(last), 4), np.int64)
    action[:, 0] = last * rng.uniform(0.0, 1.3, last.shape)
    action[:, 1] = last * rng.uniform(0.5, 1.3, last.shape)
    action[:, 2] = rng.integers(0, 40, last.shape)
    action[:, 3] = rng.integers(0, 3, last.shape)
    return action


@pytest.mark.parametrize("name", IDS)
def test_check_env_has_nothing_to_say(name: str) -> None:
    env = gymnasium.make(f"wager.envs:{name}", render_mode="ansi")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


def test_ids_register_on_import_alone() -> None:
    code = "import wager.envs, gymnasium, sys; "
    code += "".join(f"gymnasium.spec({name!r}); " for name in IDS)
    code += "sys.exit(any(m in sys.modules for m in ('numba', 'scipy.stats', 'pettingzoo')))"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_ids_differ_in_their_decision_interval() -> None:
    for name, steps in zip(IDS, (1, 60), strict=True):
        env = gymnasium.make(name)
        assert isinstance(env.unwrapped, grand_exchange_v0.GrandExchange)
        env.reset(seed=0)
        ended, count = False, 0
        while not ended:
            *_, ended, truncated, _ = env.step(env.action_space.sample())
            count += 1
            assert not truncated
        assert count == steps


def test_seeds_choose_training_markets_in_turn() -> None:
    env = GrandExchange()
    env.reset(seed=9)
    for episode in range(1, 4):
        env.reset()
        assert env.market.seed == training_seed(9, episode)
    assert env.market == build_market(training_seed(9, 3))
    env.reset(seed=9)
    assert env.market.seed == training_seed(9, 0)
    env.reset(options={"market_seed": 60_000})
    assert env.market == build_market(60_000)
    env.reset(options={"task": 11})
    assert env.market.seed == served_seeds(12)[11]
    env.reset()
    assert env.market.seed == training_seed(9, 1)


def test_without_a_seed_the_base_comes_from_the_env_s_generator() -> None:
    seeds = []
    for _ in range(2):
        env = GrandExchange()
        env.np_random = np.random.default_rng(4)
        env.reset()
        seeds.append(env.market.seed)
        env.reset()
        assert env.market.seed != seeds[-1]
    assert seeds[0] == seeds[1]


@given(seed=st.integers(0, 2**31), interval=st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_rewards_sum_to_the_return(seed: int, interval: int) -> None:
    env = GrandExchange(**SIZES, decision_interval=interval)
    observation, _ = env.reset(seed=seed)
    rng, total, ended = np.random.default_rng(seed), 0.0, False
    info: dict[str, Any] = {}
    while not ended:
        observation, reward, ended, _, info = env.step(lively(observation, rng))
        assert env.observation_space.contains(observation)
        total += reward
    assert total == pytest.approx(info["return"], abs=1e-12, rel=0)
    assert observation["purse"][0] == pytest.approx(250_000 * (1 + info["return"]), rel=1e-12)
    assert info["market_seed"] == env.market.seed
    bought = np.maximum(info["fills"], 0).sum(axis=1)
    np.testing.assert_array_equal(bought, observation["units_bought"])


def test_an_episode_leaves_nothing_behind() -> None:
    """A used environment plays a market as a fresh one does, to the last byte."""
    traces = []
    for warm_up in (True, False):
        env = GrandExchange(**SIZES, decision_interval=2, render_mode="ansi")
        if warm_up:
            env.reset(seed=3)
            while not env.step(np.tile([20_000, 10**7, 1, 0], (4, 1)))[2]:
                pass
        observation, info = env.reset(options={"market_seed": 60_000})
        rng, trace, ended = np.random.default_rng(2), [repr(info)], False
        while not ended:
            observation, reward, ended, _, info = env.step(lively(observation, rng))
            trace.append(repr((observation, reward, info, env.render())))
        assert info["fills"].any()
        traces.append(trace)
    assert traces[0] == traces[1]


def test_one_decision_is_a_run_of_the_book() -> None:
    env = GrandExchange()
    for task in range(30):
        env.reset(options={"task": task})
        offers = plain_orders(env.market)
        *_, info = env.step_offers(offers)
        assert info["return"] == pytest.approx(run_offers(env.market, offers), abs=1e-12, rel=0)


def scripted(prices: list[list[int]], volumes: list[list[int]]) -> Fill:
    """A market written by hand: the first two items' ticks are given, buy limits are the names'."""

    def fill(
        markets: Markets, seeds: NDArray[np.int64], rows: NDArray[np.int64] | None = None
    ) -> None:
        fill_markets(markets, seeds, rows)
        markets.codes[:] = [2, 8]  # Bogwater draught (limit 5000), Gilded harpoon head (800)
        markets.prices[:] = prices
        markets.volumes[:] = volumes

    return fill


def test_a_live_episode_worked_by_hand() -> None:
    """Eight flat ticks, then four: limits, the fractional allowance, the dump, every reward."""
    fill = scripted(
        [[100] * 8 + [90, 95, 110, 80], [300] * 8 + [300] * 4],
        [[10] * 8 + [10, 11, 13, 4], [20] * 12],
    )
    env = GrandExchange(2, 8, 4, decision_interval=1, fill=fill)
    observation, info = env.reset(seed=0)
    assert info["items"].tolist() == ["Bogwater draught", "Gilded harpoon head"]
    assert observation["buy_limits"].tolist() == [5000, 800]

    def act(buy: int, sell: int, quantity: int) -> Any:
        return env.step(np.array([[buy, sell, quantity, 0], [0, 0, 0, 0]]))

    # tick 1 at 90, volume 10: a quarter is 2.5, two units bought at 90, half a unit kept
    observation, reward, *_ = act(100, 105, 50)
    assert (observation["stock"][0], observation["purse"][0]) == (2, 250_000 - 2 * 90)
    assert reward == pytest.approx(0.0, abs=1e-15)
    # tick 2 at 95, volume 11: 0.5 + 2.75 = 3.25, three units bought; worth rises by 2 * 5
    observation, reward, *_ = act(100, 105, 50)
    assert (observation["stock"][0], observation["units_bought"][0]) == (5, 5)
    assert reward == pytest.approx(10 / 250_000, abs=1e-15)
    # tick 3 at 110, volume 13: a sell limit alone (quantity 0) sells 3 of 5, taxed by a hundredth
    observation, reward, *_ = act(100, 105, 0)
    purse = 250_000 - 2 * 90 - 3 * 95 + 3 * 110 * 0.99
    assert (observation["stock"][0], observation["purse"][0]) == (2, pytest.approx(purse))
    assert reward == pytest.approx((3 * 110 * 0.99 + 2 * 110 - 5 * 95) / 250_000, abs=1e-14)
    # tick 4 at 80: no offer; the last 2 go at 80 less 0.03 + 0.05 * 2 / 10 and the tax
    observation, reward, ended, _, info = act(0, 0, 0)
    final = purse + 2 * 80 * (1 - 0.03 - 0.05 * 2 / 10) * 0.99
    assert ended
    assert observation["purse"][0] == pytest.approx(final)
    assert observation["stock"].tolist() == [0, 0]
    assert info["return"] == pytest.approx(final / 250_000 - 1, abs=1e-15)
    assert info["fills"].tolist() == [[2, 3, -3, 0], [0, 0, 0, 0]]
    assert observation["prices"][0].tolist() == [100] * 4 + [90, 95, 110, 80]
    assert (observation["tick"][0], observation["ticks_left"][0]) == (4, 0)


def test_priority_decides_who_gets_the_purse() -> None:
    fill = scripted([[100] * 8 + [100] * 2, [300] * 10], [[4_000_000] * 10, [4_000_000] * 10])
    env = GrandExchange(2, 8, 2, fill=fill)
    for priorities, bought in (((0, 0), [2500, 0]), ((1, 2), [100, 800])):
        env.reset(seed=0)
        action = [[100, 200, 2500, priorities[0]], [300, 400, 800, priorities[1]]]
        observation, *_ = env.step(np.array(action))
        assert observation["units_bought"].tolist() == bought


def test_rules_reach_the_book() -> None:
    means = []
    for rules in (RULES, RULES._replace(fill_share=0.001), Rules(tax=0.2)):
        env, total = GrandExchange(rules=rules), 0.0
        for task in range(10):
            env.reset(options={"task": task})
            total += env.step_offers(plain_orders(env.market))[4]["return"]
        means.append(total / 10)
    assert means[0] > 0.1
    assert 0 < means[1] < 0.01
    assert means[2] < means[0] - 0.1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_items": 0}, "num_items must be 2..16; got 0"),
        ({"visible": 1}, "visible must be 8..4095; got 1"),
        ({"held_out": -1}, "held_out must be 1..4036; got -1"),
        ({"decision_interval": 0}, "decision_interval must be 1..60; got 0"),
        ({"decision_interval": 61}, "decision_interval must be 1..60; got 61"),
        ({"decision_interval": 1.0}, "decision_interval must be an integer"),
        ({"rules": RULES._replace(tax=1.5)}, "rules.tax must be 0..1; got 1.5"),
        ({"rules": RULES._replace(fill_share=math.nan)}, "rules.fill_share must be 0..1; got nan"),
        ({"render_mode": "human"}, "render_mode must be None, ansi, rgb_array; got 'human'"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        GrandExchange(**arguments)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"seed": "1"}, "seed must be an integer"),
        ({"seed": 1.0}, "seed must be an integer"),
        ({"seed": -1}, "seed must be 0..9223372036854775807; got -1"),
        ({"options": {"market_seed": -1}}, "market_seed must be 0..9223372036854775807; got -1"),
        ({"options": {"market_seed": [1]}}, r"market_seed must be an integer"),
        ({"options": {"task": True}}, "task must be an integer"),
        ({"options": {"task": 10**12}}, "task must be 0..9939999; got 1000000000000"),
        ({"options": {"task": 1, "market_seed": 1}}, "market_seed or task, not both"),
        ({"options": {"reset_mask": [True]}}, "unknown option 'reset_mask'; known: market_seed"),
        ({"options": [1]}, "options must be a dict; got list"),
    ],
)
def test_bad_resets_are_named(call: dict[str, Any], message: str) -> None:
    env = GrandExchange(**SIZES)
    env.reset(seed=2)
    market = env.market
    with pytest.raises(InputError, match=message):
        env.reset(**call)
    assert env.market == market


def bad_action(place: tuple[int, int], value: float) -> NDArray[np.float64]:
    action = np.zeros((4, 4))
    action[place] = value
    return action


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (np.zeros((3, 4), np.int64), r"action must have shape \(4, 4\); got \(3, 4\)"),
        (None, r"action must have shape \(4, 4\); got \(\)"),
        ([[1, 2], [3]], r"action must have shape \(4, 4\); got a ragged sequence"),
        (bad_action((1, 2), np.nan), r"action\[1, 2\] must be an integer 0..2147483647; got nan"),
        (bad_action((0, 3), np.inf), r"action\[0, 3\] must be an integer 0..2147483647; got inf"),
        (bad_action((3, 0), 0.5), r"action\[3, 0\] must be an integer 0..2147483647; got 0.5"),
        (bad_action((3, 0), -1), r"action\[3, 0\] must be an integer 0..2147483647; got -1"),
        (bad_action((3, 0), 2**31), r"action\[3, 0\] must be an integer 0..2147483647; got"),
        (np.full((4, 4), "a"), "action must be integers 0..2147483647; got dtype <U1"),
        (np.ones((4, 4), np.bool_), "action must be integers 0..2147483647; got dtype bool"),
    ],
)
def test_bad_actions_are_named(action: Any, message: str) -> None:
    env = GrandExchange(**SIZES)
    env.reset(seed=0)
    with pytest.raises(InputError, match=message):
        env.step(action)
    env.step(np.zeros((4, 4)))  # type: ignore[arg-type]  # whole floats are integers
    with pytest.raises(ResetNeeded):
        env.step(np.zeros((4, 4), np.int64))


def test_bad_offers_are_named() -> None:
    env = GrandExchange()
    env.reset(options={"market_seed": 60_000})
    name = env.market.items[0].name
    with pytest.raises(InputError, match="offer 0: no item 'Gold'"):
        env.step_offers([("Gold", 1, 2, 3)])
    with pytest.raises(InputError, match="offer 1: a second offer for"):
        env.step_offers([Offer(name, 1, 2, 3), (name.upper() + " ", 1, 2, 3)])


def test_plain_python_plays_the_same_episode_without_a_warning() -> None:
    """NUMBA_DISABLE_JIT: generator, policies and book, to the last bit."""
    code = (
        "import numpy as np\n"
        "from wager.envs.grand_exchange_v0 import GrandExchange\n"
        "from wager.envs.grand_exchange.policies import POLICIES\n"
        "env = GrandExchange(2, 8, 3, decision_interval=1)\n"
        "seen, _ = env.reset(seed=3)\n"
        "for tick in range(3):\n"
        "    batch = {name: array[None] for name, array in seen.items()}\n"
        "    keys = np.array([5], np.uint64)\n"
        "    actions = [play(batch, None, keys)[0] for play in POLICIES.values()]\n"
        "    last = seen['prices'][:, -1]\n"
        "    trade = np.stack([last + 9 * last, 99 * last, 5 + 0 * last, last], axis=1)\n"
        "    seen, *rest = env.step(trade if tick == 0 else actions[tick])\n"
        "    print([action.tolist() for action in actions], rest[0].hex())\n"
        "print(seen['prices'].tolist(), rest[3]['fills'].any())\n"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-W", "error", "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"NUMBA_DISABLE_JIT": flag},
        ).stdout
        for flag in ("0", "1")
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0].endswith("True\n")


def altered(changes: dict[str, Any], after: int) -> Fill:
    """The same market with another truth: other ticks past ``after``, other flags and seeds."""

    def fill(
        markets: Markets, seeds: NDArray[np.int64], rows: NDArray[np.int64] | None = None
    ) -> None:
        fill_markets(markets, seeds, rows)
        rng = np.random.default_rng(changes["noise"])
        future = markets.prices[:, :, markets.visible + after :]
        future[:] = rng.integers(1, 100_000, future.shape)
        future = markets.volumes[:, :, markets.visible + after :]
        future[:] = rng.integers(1, 100_000, future.shape)
        markets.reverting[:] = rng.random(markets.reverting.shape) < 0.5
        markets.fundamentals[:] = rng.random(markets.fundamentals.shape)
        markets.seeds[:] = rng.integers(2**40, size=len(markets))  # it would rebuild all of it

    return fill


@given(
    seed=st.integers(0, 2**40),
    noise=st.integers(0, 2**30),
    interval=st.integers(1, 3),
    decisions=st.integers(0, 2),
    items=st.integers(2, 7),
)
@settings(max_examples=25, deadline=None)
def test_nothing_hidden_shows(
    seed: int, noise: int, interval: int, decisions: int, items: int
) -> None:
    """Change ticks to come, flags, anchors, seeds: what an agent gets stays the same bytes."""
    sizes = {"num_items": items, "visible": 9, "held_out": 7}
    fill = altered({"noise": noise}, interval * decisions)
    outputs: list[list[bytes]] = []
    for kwargs in ({}, {"fill": fill}):
        told: list[bytes] = []
        for mode in ("ansi", "rgb_array"):
            env = GrandExchange(
                **sizes,
                decision_interval=interval,
                render_mode=mode,
                **kwargs,  # type: ignore[arg-type]
            )
            rng = np.random.default_rng(seed)
            observation, info = env.reset(seed=seed)
            for step in range(decisions + 1):
                told += [name.encode() + a.tobytes() for name, a in observation.items()]
                told.append(repr(info).encode())
                frame = env.render()
                told.append(frame.encode() if isinstance(frame, str) else frame.tobytes())
                if step < decisions:
                    observation, reward, ended, _, info = env.step(lively(observation, rng))
                    told.append(repr((reward, ended, {} if ended else info)).encode())
        outputs.append(told)
    assert outputs[0] == outputs[1]
