"""The learner's chair at many poker tables, against the standard environment and its policies."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecMonitor

from wager.envs import poker_v0
from wager.envs.errors import InputError
from wager.envs.poker.policies import make_policy
from wager.envs.seeds import TRAIN_HIGH, TRAIN_LOW, training_seed
from wager.wrappers.poker import BetSizes, FlatFeatures
from wager.wrappers.poker_bets import BetSpace
from wager.wrappers.poker_chairs import LEARNER
from wager.wrappers.poker_features import feature_names
from wager.wrappers.poker_seats import PokerSeats


class Step(NamedTuple):
    seen: NDArray[np.float32]
    mask: NDArray[np.bool_]
    action: int
    reward: float
    done: bool
    info: dict[str, Any]


def random_moves(seats: PokerSeats, rng: np.random.Generator) -> NDArray[np.int64]:
    """A legal action a row; all-in seldom, so that matches last."""
    masks = seats.action_masks()
    moves: NDArray[np.int64] = (rng.random(masks.shape) * masks).argmax(1)
    if seats.bets.sizes:
        last = masks.shape[1] - 1
        moves[(moves == last) & (rng.random(len(moves)) < 0.9)] = 1
    return moves


def played(seats: PokerSeats, steps: int, seed: int = 0) -> list[list[Step]]:
    """Random play of the learner from a reset: what each row went through."""
    rng = np.random.default_rng(seed)
    rows: list[list[Step]] = [[] for _ in range(seats.num_envs)]
    seen = seats.reset()
    for _ in range(steps):
        masks, moves = seats.action_masks(), random_moves(seats, rng)
        after, rewards, done, infos = seats.step(moves)
        for row, log in enumerate(rows):
            log.append(
                Step(
                    *(seen[row], masks[row], int(moves[row])),
                    *(float(rewards[row]), bool(done[row]), infos[row]),
                )
            )
        seen = after
    return rows


def others_move(env: Any, policies: list[Any], seat: int) -> int:
    """What the policy clockwise from the learner does in an environment."""
    agent = env.agent_selection
    place = (env.possible_agents.index(agent) - seat) % len(env.possible_agents) - 1
    told = env.observe(agent)
    seen = {name: value[None] for name, value in told["observation"].items()}
    keys = np.array([env.decision_key()], np.uint64)
    return int(policies[place](seen, told["action_mask"][None], keys)[0])


@pytest.mark.parametrize(
    ("table", "names", "arguments"),
    [
        ("kuhn", ["nash"], {"hands": 4}),
        ("kuhn", ["house"], {"episode": "hand", "hands": 5, "pairs": False}),
        ("leduc", ["random"], {"hands": 4, "reward": "chips"}),
        ("leduc", ["nash"], {"episode": "hand", "hands": 4}),
        ("holdem-hu", ["house"], {"hands": 4, "pairs": False}),
        ("holdem-hu", ["rock"], {"hands": 2, "reward": "score", "stack": 20}),
        ("holdem-6max", ["house", "rock", "random", "house", "rock"], {"hands": 2}),
        ("holdem-6max", ["rock"] * 5, {"episode": "hand", "hands": 4, "sizes": (1.0,)}),
        ("headsup", ["house"], {"hands": 6, "stack": 10}),
        ("sixmax", ["random", "house", "rock", "rock", "house"], {"hands": 8, "stack": 12}),
        ("sixmax", ["random"] * 5, {"hands": 5, "reward": "score", "stack": 15}),
    ],
)
def test_a_row_is_the_standard_environment(
    table: str, names: list[str], arguments: dict[str, Any]
) -> None:
    """Every row's decisions, played again in ``PokerEnv`` with the same policies beside it."""
    seats = PokerSeats(4, table, names, **arguments)
    seats.seed(70)
    n = seats.table.seats
    logs = played(seats, 60)
    settings = dict(arguments)
    by_hand, sizes = settings.pop("episode", "match") == "hand", settings.pop("sizes", None)
    policies = [make_policy(name, table) for name in names]
    raw = poker_v0.raw_env(table=table, **settings)
    env = FlatFeatures(BetSizes(raw, sizes))
    ended = 0
    for row, log in enumerate(logs):
        i, match = 0, 0
        while i < len(log):
            env.reset(seed=training_seed(70 + row, match))
            seat = (row + match) % n
            me = f"seat_{seat}"
            match += 1
            owed, last = 0.0, -1
            out = False
            while not (raw.row["over"] or out) and i < len(log):
                hand = raw.row["scored"]
                if raw.agent_selection == me:
                    if last >= 0:
                        assert log[last].reward == pytest.approx(owed, abs=1e-6)
                        assert not log[last].done
                        owed = 0.0
                    told = env.observe(me)
                    np.testing.assert_array_equal(told["observation"], log[i].seen)
                    np.testing.assert_array_equal(told["action_mask"], log[i].mask)
                    env.step(log[i].action)
                    last, i = i, i + 1
                else:
                    raw.step(others_move(raw, policies, seat))
                owed += raw.rewards[me]
                out = bool(raw.table.race and raw.row["chips"][seat] == 0)
                if by_hand and raw.row["scored"] > hand:
                    if last >= 0:
                        assert log[last].reward == pytest.approx(owed, abs=1e-6)
                        assert log[last].done
                    last, owed = -1 if not raw.row["over"] else last, 0.0
            if not (raw.row["over"] or out):
                break  # the log ends within a match
            if out and not raw.row["over"] and settings.get("reward") == "score":
                owed = -1 / n
            if last < 0:
                continue  # nothing to decide in the match (or in its last hand)
            ended += 1
            assert log[last].done
            if not by_hand:
                assert log[last].reward == pytest.approx(owed, abs=1e-6)
            net = int(raw.row["net"][seat])
            score = raw.scores()[seat] if raw.row["over"] else 0.0
            assert log[last].info == {"score": pytest.approx(score), "net": net, "seat": seat}
    assert ended >= 3
    assert all(not step.info for log in logs for step in log if not step.done)


@pytest.mark.parametrize("reward", ["units", "chips", "score"])
@pytest.mark.parametrize("table", ["kuhn", "leduc", "holdem-hu", "holdem-6max", "sixmax"])
def test_the_rewards_of_a_match_sum_to_its_net(table: str, reward: str) -> None:
    seats = PokerSeats(16, table, {"house": 1.0, "random": 1.0}, hands=4, reward=reward)
    seats.seed(5)
    matches = 0
    for log in played(seats, 80):
        paid = 0.0
        for step in log:
            paid += step.reward
            if step.done:
                net, score = step.info["net"], step.info["score"]
                expected = {"units": net / seats.table.unit, "chips": net}
                wanted = expected.get(reward, score - 1 / seats.table.seats)
                assert paid == pytest.approx(wanted, abs=1e-4)
                matches += 1
                paid = 0.0
    assert matches > 30


def test_hands_as_episodes_pay_what_the_match_nets() -> None:
    """Where the learner decides in every hand: at Kuhn, always."""
    seats = PokerSeats(8, "kuhn", "random", hands=6, episode="hand", reward="chips")
    seats.seed(1)
    for log in played(seats, 100):
        paid, hands = 0.0, 0
        for step in log:
            assert step.done or step.reward == 0.0
            paid, hands = paid + step.reward, hands + step.done
            if "net" in step.info:
                assert (paid, hands) == (step.info["net"], 6)
                paid, hands = 0.0, 0


def test_the_chair_moves_with_each_match() -> None:
    seats = PokerSeats(7, "leduc", "house", hands=2)
    seats.seed(9)
    for row, log in enumerate(played(seats, 40)):
        taken = [step.info["seat"] for step in log if step.info]
        assert taken == [(row + k) % 2 for k in range(len(taken))]
        assert len(taken) > 4


def test_seeds_are_training_seeds_and_repeat() -> None:
    seats = PokerSeats(3, "holdem-6max", {"house": 1.0, "random": 1.0})
    logs = []
    for _ in range(2):
        seats.seed(4)
        logs.append(played(seats, 30))
    for first, second in zip(*logs, strict=True):
        for one, other in zip(first, second, strict=True):
            np.testing.assert_array_equal(one.seen, other.seen)
            assert one[2:] == other[2:]
    assert seats.chairs["base"].tolist() == [4, 5, 6]
    assert TRAIN_LOW <= training_seed(4, 0) < TRAIN_HIGH
    begun = seats.chairs["begun"].copy()
    seats.reset()  # without a seed: the next matches
    assert (seats.chairs["begun"] > begun).all()
    fresh = [PokerSeats(1, "holdem-hu").reset().tobytes() for _ in range(4)]
    assert len(set(fresh)) == 4


def test_line_ups_follow_the_weights() -> None:
    """3,000 tables: at half of them all others alike; else one draw a chair."""
    weights = {"house": 3.0, "rock": 1.0, "random": 0.0}
    seats = PokerSeats(3000, "holdem-6max", weights, alike=0.5, hands=2)
    seats.seed(1)
    seats.reset()
    assert seats.names == ["house", "rock"]
    lineup = seats.chairs["lineup"]
    mine = lineup == LEARNER
    np.testing.assert_array_equal(mine.argmax(1), seats.chairs["seat"])
    assert (mine.sum(1) == 1).all()
    others = lineup[~mine].reshape(3000, 5)
    assert np.mean(others == 1) == pytest.approx(0.25, abs=0.03)
    assert np.mean((others == others[:, :1]).all(1)) == pytest.approx(
        0.5 + 0.5 * (0.75**5 + 0.25**5), abs=0.03
    )


class Recorder:
    """Checks or folds, and keeps what it was asked."""

    def __init__(self) -> None:
        self.rows = 0

    def __call__(
        self, seen: Any, masks: NDArray[np.int8], rng: NDArray[np.uint64]
    ) -> NDArray[np.int64]:
        self.rows += len(rng)
        assert set(seen) == {*poker_v0.raw_env().observation_space("seat_0")["observation"]}
        assert len(seen) == len(set(seen))
        assert masks.dtype == np.int8
        assert rng.dtype == np.uint64
        assert len(masks) == len(seen["history"]) == len(seen["hole"]) == len(rng)
        assert (masks[:, 1] == 1).all()
        # the price in the observation, the fold in the mask, the decisions told: one moment
        np.testing.assert_array_equal(masks[:, 0] == 1, seen["to_call"][:, 0] > 0)
        return np.where(masks[:, 0] == 1, 0, 1)


def test_another_policy_plays_its_own_chairs_and_no_other() -> None:
    mute, idle = Recorder(), Recorder()
    policies = {"mute": mute, "idle": idle}
    seats = PokerSeats(32, "holdem-hu", "mute", hands=2, policies=policies)
    seats.seed(0)
    logs = played(seats, 40)
    assert idle.rows == 0
    assert mute.rows > 500
    # it never bets: the learner, who raises, wins the blinds or loses nothing but its own folds
    names = feature_names("holdem-hu")
    place = names.index("preflop +1 raises")
    assert not any(step.seen[place] for log in logs for step in log)


def test_others_are_seated_anew_at_the_next_match() -> None:
    seats = PokerSeats(16, "kuhn", "house", hands=2)
    seats.seed(0)
    seats.reset()
    old = Recorder()
    seats.seat_others({"old": 1.0}, policies={"old": old})
    assert seats.names == ["house", "old"]
    assert (seats.chairs["lineup"].max(1)[:2] == 0).all()
    for _ in range(12):
        seats.step(random_moves(seats, np.random.default_rng(0)))
    others = np.where(seats.chairs["seat"] == 0, *seats.chairs["lineup"][:, [1, 0]].T)
    assert (others == 1).all()
    new = Recorder()
    seats.seat_others({"old": 1.0}, policies={"old": new})
    asked = old.rows
    seats.step(random_moves(seats, np.random.default_rng(0)))
    assert old.rows == asked > 0
    assert new.rows > 0
    with pytest.raises(InputError, match="opponents: no policy 'newer'"):
        seats.seat_others({"newer": 1.0})
    seats.step(random_moves(seats, np.random.default_rng(0)))


def test_an_illegal_policy_is_named() -> None:
    seats = PokerSeats(
        32, "holdem-hu", "bad", policies={"bad": lambda seen, masks, rng: rng * 0 + 9999}
    )
    seats.seed(0)
    with pytest.raises(
        InputError, match=r"policy bad: action 9999 is not legal; legal: 0 \(fold\), 1"
    ):
        seats.reset()
    seats = PokerSeats(32, "kuhn", "bad", policies={"bad": lambda seen, masks, rng: rng[:0]})
    seats.seed(0)
    with pytest.raises(InputError, match=r"policy bad: expected \(\d+,\) actions; got \(0,\)"):
        seats.reset()


@pytest.mark.parametrize("table", ["leduc", "holdem-6max"])
def test_what_the_learner_may_not_know_changes_nothing(table: str) -> None:
    """Other seats' cards and the rest of the board, changed under the same decision."""
    seats = PokerSeats(64, table, "random")
    seats.seed(2)
    rng = np.random.default_rng(2)
    seats.reset()
    for _ in range(10):
        seen, *_ = seats.step(random_moves(seats, rng))
        masks = seats.action_masks()
        for row in seats.states:
            shown = (0, 3, 4, 5)[row["street"]] if table != "leduc" else int(row["street"])
            row["board"][shown:] = rng.integers(0, 52, 5 - shown)
            for p in range(int(row["players"])):
                if row["seat_at"][p] != row["seat_at"][row["actor"]]:
                    row["hole"][p] = rng.integers(0, 52, 2)
        np.testing.assert_array_equal(seats._look(), seen)
        np.testing.assert_array_equal(seats.action_masks(), masks)
        seats.reset()


def test_stable_baselines3_learns_on_it() -> None:
    seats = PokerSeats(32, "kuhn", "random", hands=6, pairs=False, episode="hand")
    assert is_masking_supported(seats)
    assert not seats.has_attr("no_such_thing")
    assert seats.get_attr("reward_kind", [0, 1]) == [0, 0]
    assert seats.env_is_wrapped(VecMonitor, 3) == [False]
    torch.set_num_threads(1)
    rollouts = {"n_steps": 32, "batch_size": 512, "n_epochs": 4, "gamma": 1.0}
    model = MaskablePPO(
        "MlpPolicy", VecMonitor(seats), learning_rate=3e-3, seed=0, device="cpu", **rollouts
    )
    masks = get_action_masks(model.get_env())
    np.testing.assert_array_equal(masks, seats.action_masks())
    np.testing.assert_array_equal(masks[[3, 1]], seats.env_method("action_masks", indices=[3, 1]))
    model.learn(32 * 32 * 8)
    won = [episode["r"] for episode in model.ep_info_buffer or []]
    assert len(won) == 100
    # a best response to random play wins 0.458333 a hand, random play 0
    seats.seed(1000)
    total, hands, seen = 0.0, 0, seats.reset()
    for _ in range(100):
        moves, _ = model.predict(seen, action_masks=seats.action_masks())
        seen, rewards, done, _ = seats.step(moves)
        total, hands = total + rewards.sum(), hands + done.sum()
    assert hands > 1500
    assert total / hands > 0.35
    PPO("MlpPolicy", PokerSeats(2, "kuhn"), n_steps=2, batch_size=4, device="cpu")


def test_wrong_input_is_one_clear_line() -> None:
    seats = PokerSeats(2, "holdem-hu")
    cases: list[tuple[str, Any]] = [
        ("rows must be at least 1; got 0", lambda: PokerSeats(0)),
        ("no table 'omaha'", lambda: PokerSeats(1, "omaha")),
        ("hands must be even with pairs", lambda: PokerSeats(1, hands=3)),
        ("reward must be units, score, chips", lambda: PokerSeats(1, reward="money")),
        ("episode must be match or hand; got 'day'", lambda: PokerSeats(1, episode="day")),  # type: ignore[arg-type]
        ("episode must be match in a chip race", lambda: PokerSeats(1, "headsup", episode="hand")),
        ("episode must be match in", lambda: PokerSeats(1, episode="hand", reward="score")),
        ("sizes: kuhn has one wager", lambda: PokerSeats(1, sizes=(1.0,))),
        ("no policy 'nobody'; known: random, ", lambda: PokerSeats(1, opponents="nobody")),
        ("no policy 'nobody'", lambda: PokerSeats(1, opponents={"nobody": 1.0})),
        ("nash plays kuhn, leduc; got 'headsup'", lambda: PokerSeats(1, "headsup", "nash")),
        (
            "must be 5 names at holdem-6max; got 2",
            lambda: PokerSeats(1, "holdem-6max", ["rock"] * 2),
        ),
        (
            "weight of rock must be at least 0; got -1",
            lambda: PokerSeats(1, opponents={"rock": -1}),
        ),
        ("weight of rock must be", lambda: PokerSeats(1, opponents={"rock": float("nan")})),
        ("must have a policy of a weight above 0", lambda: PokerSeats(1, opponents={"rock": 0})),
        (r"alike must be 0\.\.1; got 2", lambda: PokerSeats(1, alike=2)),
        ("seed must be 0", lambda: seats.seed(-1)),
        ("call reset first", lambda: seats.step(np.ones(2, np.int64))),
        ("set_attr: the rows have no attributes", lambda: seats.set_attr("table", 1)),
        (
            "env_method: rows have action_masks alone; got 'render'",
            lambda: seats.env_method("render"),
        ),
    ]
    for message, call in cases:
        with pytest.raises(InputError, match=message):
            call()
    seats.seed(0)
    seats.reset()
    before = seats.states.tobytes()
    for actions, message in (
        (np.ones(3, np.int64), r"actions must be integers \(2,\); got int64 \(3,\)"),
        (np.ones(2), r"actions must be integers \(2,\); got float64 \(2,\)"),
        (np.array([1, 6]), "row 1: action 6 is not legal; legal: .*1"),
        (np.array([-1, 1]), "row 0: action -1 is not legal; legal: .*1"),
    ):
        with pytest.raises(InputError, match=message):
            seats.step(actions)
    assert seats.states.tobytes() == before
    assert seats.get_images() == [None, None]
    seats.close()


def test_kernels_run_uncompiled() -> None:
    """The same steps, byte for byte, with and without compilation."""
    code = (
        "import hashlib, numpy as np\n"
        "from wager.wrappers.poker_seats import PokerSeats\n"
        "digest = hashlib.sha256()\n"
        "for table in ('kuhn', 'leduc', 'holdem-6max', 'headsup'):\n"
        "    seats = PokerSeats(2, table, {'house': 1, 'rock': 2}, hands=2)\n"
        "    seats.seed(3)\n"
        "    digest.update(seats.reset().tobytes())\n"
        "    for k in range(12):\n"
        "        legal = [np.flatnonzero(mask) for mask in seats.action_masks()]\n"
        "        moves = np.array([a[k * 7 % len(a)] for a in legal])\n"
        "        seen, rewards, done, infos = seats.step(moves)\n"
        "        digest.update(seen.tobytes() + rewards.tobytes() + done.tobytes())\n"
        "        digest.update(repr(infos).encode())\n"
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


def test_the_space_is_the_small_one() -> None:
    seats = PokerSeats(1, "holdem-hu", sizes=(0.33, 1.0))
    assert seats.action_space == BetSpace("headsup", (0.33, 1.0))
    assert seats.reset().shape == (1, len(feature_names("holdem-hu")))
