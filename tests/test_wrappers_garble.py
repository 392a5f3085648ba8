"""Garble for learning: features, quotes, SuperSuit, chairs at many tables, Stable-Baselines3."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pettingzoo.test import parallel_api_test, parallel_seed_test
from stable_baselines3 import PPO

from wager.envs import garble_v0
from wager.envs.errors import InputError
from wager.envs.garble import constants as c
from wager.envs.garble.lexicon import GAP, TEXTS
from wager.envs.garble.policies import POLICIES
from wager.envs.garble.records import Records
from wager.envs.garble.tables import policy_keys
from wager.envs.garble.vector import VectorGarble
from wager.envs.garble.view import SeatViews
from wager.envs.garble.wire import COMMODITIES, SIDES, neighbours, scan
from wager.envs.seeds import TRAIN_HIGH, TRAIN_LOW, training_seed
from wager.wrappers.garble import (
    COLUMNS,
    LOTS,
    PRICES,
    QUOTE_SIZES,
    TEMPLATES,
    FlatFeatures,
    Quotes,
    native_actions,
)
from wager.wrappers.garble_features import CONTEXT, FEATURES, TICKET, features_of, record_features
from wager.wrappers.garble_seats import LEARNER, GarbleSeats
from wager.wrappers.sb3 import SB3VecEnv

TICKET_AT, AS_QTY, AS_PRICE, AS_GOOD = (
    COLUMNS.index(name) for name in ("ticket", "as_quantity", "as_price", "as_commodity")
)


def flat_env(**kwargs: Any) -> FlatFeatures:
    return FlatFeatures(Quotes(garble_v0.parallel_env(**kwargs)))


def seen_among(names: list[str], n: int, turn: int, seed: int = 500) -> VectorGarble:
    """Tables of scripted policies at the open of ``turn``."""
    table = VectorGarble(n)
    seeds = np.arange(seed, seed + n)
    table.reset(seeds)
    keys = np.empty((n, c.SEATS), np.uint64)
    actions = np.zeros((n, c.SEATS, len(table.sizes)), np.int64)
    for t in range(turn):
        policy_keys(seeds, t, keys)
        for name in set(names):
            plays = np.broadcast_to([one == name for one in names], (n, c.SEATS))
            POLICIES[name].act(table.seen, keys, plays, actions)
        table.step(actions)
    return table


def quotes_of(rng: np.random.Generator, n: int) -> NDArray[np.int64]:
    return rng.integers(0, QUOTE_SIZES, (n, len(COLUMNS)))


def feature(features: NDArray[np.float32], slot: int, name: str) -> NDArray[np.float32]:
    return features[:, len(CONTEXT) + slot * len(TICKET) + TICKET.index(name)]


def heard_words(record: Records, slot: int) -> list[str]:
    return [TEXTS[i] for i in record["ticket_words"][slot] if i]


@pytest.fixture(scope="module")
def records() -> Records:
    """What 5 x 200 seats see on turn 5 among honest and shielded lines."""
    return seen_among(["quoter", "quoter", "broker", "shark", "quoter"], 200, 5).seen.reshape(-1)


def test_features_are_named_bounded_and_alive(records: Records) -> None:
    features = record_features(records)
    assert features.dtype == np.float32
    assert features.shape == (1000, len(FEATURES))
    assert len(set(FEATURES)) == len(FEATURES)
    assert np.abs(features).max() <= 10.0
    dead = [name for name, x in zip(FEATURES, features.T, strict=True) if np.ptp(x) == 0.0]
    constant = {"turns left / turns"}
    readable = {
        name
        for name in dead
        if not name.startswith(("ticket 4", "ticket 5", "ticket 6", "ticket 7", "ticket 8"))
    }
    assert readable <= constant


def test_one_implementation_serves_the_standard_wrappers_and_the_vector_side() -> None:
    env, table = flat_env(turns=6), VectorGarble(1, turns=6)
    observations, _ = env.reset(seed=11)
    table.reset([11])
    rng = np.random.default_rng(0)
    while env.agents:
        np.testing.assert_array_equal(
            np.stack(list(observations.values())), record_features(table.seen[0])
        )
        quotes = quotes_of(rng, c.SEATS)
        native = native_actions(SeatViews(table.seen[0]), quotes)
        observations, rewards, *_ = env.step(dict(zip(env.agents, quotes, strict=True)))
        _, expected, _, _ = table.step(native[None])
        np.testing.assert_array_equal(list(rewards.values()), expected[0])


def test_pettingzoo_is_content() -> None:
    parallel_api_test(flat_env(), num_cycles=50)
    parallel_seed_test(flat_env)
    space = flat_env().action_space("seat_0")
    np.testing.assert_array_equal(space.nvec, QUOTE_SIZES)  # type: ignore[attr-defined]


def test_supersuit_wraps_it() -> None:
    supersuit = pytest.importorskip("supersuit")
    env = supersuit.frame_stack_v1(flat_env(turns=6), 2)
    env = supersuit.dtype_v0(env, np.float32)
    env = supersuit.normalize_obs_v0(env)
    env = supersuit.clip_reward_v0(env)
    vector = supersuit.pettingzoo_env_to_vec_env_v1(env)
    vector = supersuit.concat_vec_envs_v1(vector, 2, base_class="gymnasium")
    observations, _ = vector.reset(seed=3)
    assert observations.shape == (10, 2 * len(FEATURES))
    rng = np.random.default_rng(0)
    for _ in range(8):  # past the end: they begin again by themselves
        observations, rewards, *_ = vector.step(quotes_of(rng, 10))
        assert 0.0 <= observations.min() <= observations.max() <= 1.0
        assert rewards.shape == (10,)


def test_a_line_is_what_its_columns_say(records: Records) -> None:
    seen = records[records["airtime"] > 100]
    rng = np.random.default_rng(1)
    quotes = quotes_of(rng, len(seen))
    actions = native_actions(SeatViews(seen), quotes)
    said = 0
    for record, (offer, price, lot, template, *_), action in zip(
        seen, quotes, actions, strict=True
    ):
        demand, surplus = int(record["demand"]), int(record["surplus"])
        held = [int(u) for u in record["units"]]
        missing = max(0, int(record["quota"]) - held[demand])
        spare = [u if g != demand else max(0, u - int(record["quota"])) for g, u in enumerate(held)]
        others = [spare[g] for g in range(4) if g != surplus]
        most = (spare[surplus], missing, max(others))[offer]
        if TEMPLATES[template] == "silence" or most == 0:
            assert action[c.VERB] == 0
            continue
        said += 1
        good = int(action[c.COMMODITY])
        assert action[c.VERB] == (2 if offer == 1 else 1)
        assert good == (surplus, demand, good)[offer]
        assert offer != 2 or (good != surplus and spare[good] == most)
        assert action[c.QTY] == min(most, LOTS[lot])
        assert action[c.PRICE] == record["prices"][good] + PRICES[price]
        text = TEMPLATES[template]
        repeats = action[[c.QTY_REPEATS, c.COMMODITY_REPEATS, c.PRICE_REPEATS]].tolist()
        assert repeats == [
            "everything" in text,
            "commodity" in text or "everything" in text,
            "price" in text or "everything" in text,
        ]
        assert (action[c.PRICE_FORM] == c.SPELLED_OUT) == ("spelled" in text)
    assert said > 300


def test_a_confirm_asserts_the_heard_word_or_its_neighbour_in_that_place(records: Records) -> None:
    """Against the text side of the wire: ``scan`` and ``neighbours`` of the heard line."""
    rng = np.random.default_rng(2)
    quotes = quotes_of(rng, len(records))
    actions = native_actions(SeatViews(records), quotes)
    checked = 0
    for record, quote, action in zip(records, quotes, actions, strict=True):
        slot = quote[TICKET_AT] - 1
        words = heard_words(record, slot) if slot >= 0 else []
        terms = scan(" ".join("X" if word == TEXTS[GAP] else word for word in words))
        if slot < 0 or not words:
            assert action[c.SLOT] == 0
        elif terms is not None and action[c.SLOT]:
            checked += 1
            assert action[c.SLOT] == 1 + slot
            assert SIDES[action[c.CONFIRM_SIDE]] == terms.side
            for column, word, value in (
                (AS_QTY, terms.qty_word, action[c.CONFIRM_QTY]),
                (AS_PRICE, terms.price_word, action[c.CONFIRM_PRICE]),
                (AS_GOOD, terms.commodity_word, action[c.CONFIRM_COMMODITY]),
            ):
                readings = [word, *neighbours(word)]
                k = quote[column]
                word = readings[k] if k < len(readings) else word
                if column == AS_GOOD:
                    assert COMMODITIES[value] == word
                elif word.isdigit():
                    assert value == int(word)
    assert checked > 100


def test_the_expected_gain_is_what_a_clean_deal_adds() -> None:
    """Confirm as heard; where the deal settles whole, the portfolio moves by gain / odds."""
    n = 1200
    table = seen_among(["quoter"] * c.SEATS, n, 3)
    before = table.seen.copy()
    features = record_features(np.ascontiguousarray(before[:, 0]))
    quotes = np.zeros((n, len(COLUMNS)), np.int64)
    quotes[:, TICKET_AT] = 1
    actions = np.zeros((n, c.SEATS, len(table.sizes)), np.int64)
    actions[:, 0] = native_actions(SeatViews(before[:, 0]), quotes)
    table.step(actions)
    checked = 0
    for row in range(n):
        mine, after = before[row, 0], table.seen[row, 0]
        if after["confirm"][c.C_OUTCOME] != c.SETTLED or mine["num_deals"]:
            continue
        worth = []
        for one in (mine, after):
            held = int(one["units"][mine["demand"]])
            bonus = int(mine["premium"]) * min(held, int(mine["quota"]))
            worth.append(int(one["cash"]) + int(one["units"] @ mine["prices"]) + bonus)
        one_row = features[row : row + 1]
        odds = feature(one_row, 0, "odds of quantity 0") * feature(one_row, 0, "odds of price 0")
        expected = feature(one_row, 0, "expected of quantity 0, price 0")[0]
        gain = (worth[1] - worth[0]) * 4.0 / float(mine["hold"]) * odds[0]
        # the odds of the commodity and of a lost verb are in it too
        assert abs(expected) <= abs(gain) + 1e-4
        assert expected * gain >= 0.0
        unsure = feature(one_row, 0, "commodity said once") + feature(one_row, 0, "words put back")
        if not unsure[0]:
            assert expected == pytest.approx(gain, abs=1e-4)
        checked += 1
    assert checked > 40


def test_a_neighbour_of_a_shielded_field_has_no_odds(records: Records) -> None:
    features = record_features(records)
    for slot in range(4):
        shielded = (feature(features, slot, "can be read") == 1.0) & (
            feature(features, slot, "price said once") == 0.0
        )
        assert shielded.sum() > 20
        for k in range(1, 4):
            assert not feature(features, slot, f"odds of price {k}")[shielded].any()


@pytest.mark.parametrize("chairs", [(0, 2), 3, (4,)])
def test_a_row_is_one_chair_of_the_learner(chairs: int | tuple[int, ...]) -> None:
    """Rows against the engine, driven with the same actions by hand."""
    env = GarbleSeats(6, chairs, {"quoter": 1.0, "shark": 1.0}, turns=6)
    held = chairs if isinstance(chairs, int) else len(chairs)
    assert env.num_envs == 6 * held
    features, _ = env.reset(seed=40)
    seeds = [training_seed(40 + held * i, 0) for i in range(6)]
    assert env.seeds.tolist() == seeds
    assert (env.seeds >= TRAIN_LOW).all()
    assert (env.seeds < TRAIN_HIGH).all()
    mine = env.lineup == LEARNER
    assert (mine.sum(1) == held).all()
    if not isinstance(chairs, int):
        assert mine[:, list(chairs)].all()
    table = VectorGarble(6, turns=6)
    table.reset(seeds)
    rng = np.random.default_rng(0)
    keys = np.empty((6, c.SEATS), np.uint64)
    actions = np.zeros((6, c.SEATS, len(table.sizes)), np.int64)
    paid = np.zeros(env.num_envs)
    for turn in range(6):
        np.testing.assert_array_equal(features, record_features(table.seen[mine]))
        quotes = quotes_of(rng, env.num_envs)
        policy_keys(env.seeds, turn, keys)
        for k, name in enumerate(env.names):
            POLICIES[name].act(table.seen, keys, env.lineup == k, actions)
        actions[mine] = native_actions(SeatViews(table.seen[mine]), quotes)
        features, rewards, over, cut, infos = env.step(quotes)
        _, expected, _, _ = table.step(actions)
        np.testing.assert_array_equal(rewards, expected[mine])
        assert over.all() == (turn == 5)
        assert not cut.any()
        paid += rewards
    np.testing.assert_allclose(paid, infos["score"] - 1.0, atol=1e-9)
    np.testing.assert_array_equal(infos["score"], table.seen["score"][mine])


def test_line_ups_follow_the_weights() -> None:
    """4,000 tables: chairs uniform; at half of them all others alike; else one draw a chair."""
    env = GarbleSeats(4000, 1, {"quoter": 3.0, "shark": 1.0, "random": 0.0}, alike=0.5)
    env.reset(seed=1)
    mine = env.lineup == LEARNER
    assert env.names == ["quoter", "shark"]
    np.testing.assert_allclose(mine.mean(0), 0.2, atol=0.03)
    others = env.lineup[~mine].reshape(4000, 4)
    assert np.mean(others == 1) == pytest.approx(0.25, abs=0.03)
    assert np.mean((others == others[:, :1]).all(1)) == pytest.approx(
        0.5 + 0.5 * (0.75**4 + 0.25**4), abs=0.03
    )
    first = env.lineup.copy()
    env.reset()
    assert (env.lineup != first).any()
    env.reset(seed=1)
    np.testing.assert_array_equal(env.lineup, first)


def test_a_frozen_policy_plays_its_own_chairs_and_no_other() -> None:
    calls: list[int] = []

    class Mute:
        def __call__(self, seen: Any, masks: Any, rng: NDArray[np.uint64]) -> NDArray[np.int64]:
            calls.append(len(rng))
            assert features_of(seen).shape == (len(rng), len(FEATURES))
            return np.zeros((len(rng), 15), np.int64)

    policies = {**POLICIES, "mute": Mute()}
    env = GarbleSeats(8, (1,), {"mute": 1.0, "quoter": 1.0}, alike=0.0, policies=policies)
    env.reset(seed=0)
    still = env.lineup == env.names.index("mute")
    env.step(np.zeros((8, len(COLUMNS)), np.int64))
    assert calls == [still.sum()]
    assert not (env.table.states["sent"][still] == c.SENT).any()
    assert (env.table.states["sent"][env.lineup == env.names.index("quoter")] == c.SENT).all()


def test_stable_baselines3_learns_on_it() -> None:
    env = SB3VecEnv(GarbleSeats(8, (0, 3), turns=6))
    model = PPO("MlpPolicy", env, n_steps=6, batch_size=96, n_epochs=1, seed=0, device="cpu")
    model.learn(2 * 6 * 16)
    seen = env.reset()
    assert seen.shape == (16, len(FEATURES))
    for turn in range(6):
        seen, rewards, done, infos = env.step(model.predict(seen)[0])
        assert done.all() == (turn == 5)
    assert rewards.dtype == np.float32
    assert len(infos) == 16


def test_wrong_input_is_one_clear_line() -> None:
    env = garble_v0.parallel_env()
    cases: list[tuple[str, Any]] = [
        ("FlatFeatures needs the native obs", lambda: FlatFeatures(FlatFeatures(env))),
        ("Quotes needs the native obs", lambda: Quotes(FlatFeatures(env))),
        ('Quotes needs action="offers"', lambda: Quotes(garble_v0.parallel_env(action="words"))),
        ("chairs must be 0..4; got 5", lambda: GarbleSeats(2, (0, 5))),
        ("chairs must be 0..4; got -1", lambda: GarbleSeats(2, (-1,))),
        ("chairs must be 1..5; got 6", lambda: GarbleSeats(2, 6)),
        ("chairs must be 1 to 5 different seats", lambda: GarbleSeats(2, (1, 1))),
        ("chairs must be 1 to 5 different seats", lambda: GarbleSeats(2, ())),
        ("tables must be at least 1", lambda: GarbleSeats(0)),
        ("population: no policy 'nobody'", lambda: GarbleSeats(2, 1, {"nobody": 1.0})),
        ("weight of shark must be at least 0", lambda: GarbleSeats(2, 1, {"shark": -1.0})),
        ("must have a policy of a weight above 0", lambda: GarbleSeats(2, 1, {"shark": 0.0})),
        ("alike must be 0..1; got 2", lambda: GarbleSeats(2, alike=2)),
        ("seed must be one integer or 2", lambda: GarbleSeats(2).reset(seed=[1])),
        ("seed must be at least 0|seed must be 0..", lambda: GarbleSeats(2).reset(seed=-1)),
    ]
    for message, make in cases:
        with pytest.raises(InputError, match=message) as caught:
            make()
        assert "\n" not in str(caught.value)
    vector = GarbleSeats(2)
    vector.reset(seed=0)
    with pytest.raises(InputError, match="reset_mask must have all rows set"):
        vector.reset(options={"reset_mask": np.array([True, False])})
    for wrong, message in (
        (np.zeros((2, 3), np.int64), r"quotes must be integers of shape \(2, 8\)"),
        (np.zeros((2, 8)), r"quotes must be integers of shape \(2, 8\); got float64"),
        (np.full((2, 8), 9), "offer must be 0..2; got 9"),
    ):
        with pytest.raises(InputError, match=message):
            vector.step(wrong)
    small = Quotes(garble_v0.parallel_env())
    small.reset(seed=0)
    with pytest.raises(InputError, match="no agent 'seat_9'"):
        small.step({"seat_9": np.zeros(8, np.int64)})
    with pytest.raises(InputError, match="seat_1: a quote must be 8 integers"):
        small.step({"seat_1": np.zeros(5, np.int64)})


def test_without_compilation_the_kernels_say_the_same() -> None:
    code = (
        "import numpy as np\n"
        "from wager.wrappers.garble_seats import GarbleSeats\n"
        "from wager.wrappers.garble import QUOTE_SIZES\n"
        "env = GarbleSeats(1, (0, 3), turns=6)\n"
        "env.reset(seed=5)\n"
        "rng = np.random.default_rng(0)\n"
        "for _ in range(3):\n"
        "    seen, paid, *_ = env.step(rng.integers(0, QUOTE_SIZES, (2, len(QUOTE_SIZES))))\n"
        "print(np.round(np.append(seen, paid), 4).tolist())\n"
    )
    texts = []
    for disabled in ("0", "1"):
        env = os.environ | {"NUMBA_DISABLE_JIT": disabled}
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
        )
        texts.append(done.stdout)
    assert texts[0] == texts[1]
