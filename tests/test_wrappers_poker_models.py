"""Models as players of the poker tables: what they do, where they sit, how exploitable they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import DQN, PPO

from wager.envs import poker_v0
from wager.envs.errors import InputError
from wager.envs.poker import replay
from wager.envs.poker.exploitability import exploitability, observe_match, tree
from wager.envs.poker.observation import columns
from wager.envs.poker.policies import make_policy, pack
from wager.envs.poker.vector import PokerVector
from wager.envs.rng import mix
from wager.wrappers.poker_bets import BARRED, BetSpace
from wager.wrappers.poker_features import features_of, seen_features
from wager.wrappers.poker_models import load_model, model_policy
from wager.wrappers.poker_player import Player
from wager.wrappers.poker_seats import PokerSeats

KINDS = {"ppo": PPO, "maskable": MaskablePPO}


def made(kind: str, table: str, sizes: Any = None, seed: int = 0, loud: float = 30.0) -> Any:
    """An untrained model whose action scores are ``loud`` times as far apart as at birth."""
    torch.set_num_threads(1)
    seats = PokerSeats(2, table, "random", sizes=sizes)
    model = KINDS[kind](
        "MlpPolicy", seats, n_steps=2, batch_size=4, seed=seed, device="cpu",
        policy_kwargs={"net_arch": [16]},
    )  # fmt: skip
    with torch.no_grad():
        model.policy.action_net.weight *= loud
    return model


def seen_at(table: str, rows: int, steps: int) -> PokerVector:
    """Hands under way at a table, played by random small actions."""
    vector, rng = PokerVector(rows, table), np.random.default_rng(steps)
    vector.reset(3)
    for _ in range(steps):
        menus = BetSpace(table).menus(pack(vector.observe()))
        places = (rng.random(menus.shape) * (menus != BARRED)).argmax(1)
        vector.step(menus[np.arange(rows), places])
    return vector


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("game", ["kuhn", "leduc"])
def test_the_strategy_is_the_networks_own(game: str, kind: str) -> None:
    """Against the model asked by Stable-Baselines3's means, one information set at a time."""
    model = made(kind, game, seed=3)
    known = tree(game)
    strategy = model_policy(model.policy).strategy(game)
    observed = {}
    for k, infoset in enumerate(known.infosets):
        features = seen_features(game, known.seen[k : k + 1], known.history[k : k + 1])
        tensor = torch.as_tensor(features)
        with torch.no_grad():
            if kind == "maskable":
                given = model.policy.get_distribution(tensor, known.legal[k : k + 1])
                chances = given.distribution.probs[0].numpy().astype(np.float64)
            else:
                chances = model.policy.get_distribution(tensor).distribution.probs[0].numpy()
                chances = np.where(known.legal[k], chances.astype(np.float64), 0.0)
        observed[infoset] = (chances / chances.sum()).tolist()
        np.testing.assert_allclose(strategy[k], observed[infoset], atol=1e-6)
    assert not strategy[~known.legal].any()
    exact = exploitability(game, strategy)
    assert exact == pytest.approx(exploitability(game, observed), abs=1e-6)
    assert exact > 0.1
    assert exact != pytest.approx(exploitability(game, "random"), abs=1e-3)


@pytest.mark.parametrize("deterministic", [False, True])
def test_its_play_is_its_strategy(deterministic: bool) -> None:
    """2,000 draws at each of Leduc's 288 information sets; the draw follows the key alone."""
    player = model_policy(made("maskable", "leduc", loud=100.0).policy, deterministic)
    known = tree("leduc")
    strategy = player.strategy("leduc")
    n, k = 2000, len(known.infosets)
    fields = {name: np.repeat(value, n, 0) for name, value in _fields(known.seen).items()}
    fields["history"] = np.repeat(known.history, n, 0)
    keys = np.array([mix(5, i) for i in range(n * k)], np.uint64)
    actions = player.at("leduc")(fields, None, keys)
    kinds = np.minimum(actions, 2).reshape(k, n)
    counts = np.stack([(kinds == kind).sum(1) for kind in range(3)], 1)
    spread = np.sqrt(strategy * (1 - strategy) / n)
    assert (np.abs(counts / n - strategy) <= 5 * spread + 1e-12).all()
    assert (strategy.max(1) == 1.0).all() == deterministic
    np.testing.assert_array_equal(player.at("leduc")(fields, None, keys), actions)
    other = player.at("leduc")(fields, None, keys[::-1])
    assert (other == actions).all() == deterministic


def _fields(seen: Any) -> dict[str, Any]:
    return {name: seen[:, at] for name, at in columns(poker_v0.TABLES["leduc"]).items()}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("table", ["holdem-hu", "holdem-6max", "headsup", "sixmax", "kuhn"])
def test_it_plays_legally_at_every_table_of_its_game(table: str, kind: str) -> None:
    trained = {"headsup": "holdem-hu", "holdem-6max": "sixmax"}.get(table, table)
    player = model_policy(made(kind, trained, loud=100.0).policy)
    assert table in player.tables
    vector = PokerVector(16, table)
    vector.reset(1)
    used = set()
    for _ in range(60):
        actions = player.at(table)(vector.observe(), vector.masks(), vector.keys())
        used |= set(actions.tolist())
        vector.step(actions)  # raises if any is not legal
    assert len(used) >= 3


@pytest.mark.parametrize("kind", KINDS)
def test_the_likeliest_action_is_what_the_model_predicts(kind: str) -> None:
    model = made(kind, "holdem-hu", loud=100.0)
    vector = seen_at("holdem-hu", 64, 9)
    seen = vector.observe()
    menus = model.action_space.menus(pack(seen))
    player = model_policy(model.policy, deterministic=True).at("headsup")
    actions = player(seen, None, vector.keys())
    features = features_of("holdem-hu", seen)
    if kind == "maskable":
        places, _ = model.predict(features, action_masks=menus != BARRED, deterministic=True)
        np.testing.assert_array_equal(actions, menus[np.arange(64), places])
    else:
        places, _ = model.predict(features, deterministic=True)
        free = menus[np.arange(64), places] != BARRED
        assert free.sum() > 10
        np.testing.assert_array_equal(actions[free], menus[np.arange(64), places][free])


def test_it_follows_a_model_that_is_being_trained() -> None:
    seats = PokerSeats(16, "leduc", "random", episode="hand")
    model = MaskablePPO("MlpPolicy", seats, n_steps=8, batch_size=64, seed=0, device="cpu")
    player = model_policy(model.policy)
    seats.seat_others("self", policies={"self": player.at("leduc")})
    before = player.strategy("leduc")
    model.policy.set_training_mode(True)
    player.strategy("leduc")
    assert model.policy.training
    model.learn(16 * 8 * 2)
    assert np.abs(player.strategy("leduc") - before).max() > 1e-3
    assert seats.names == ["random", "self"]
    assert (seats.chairs["lineup"].max(1)[:2] == 1).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_model_sits_at_the_table(kind: str, tmp_path: Path) -> None:
    model = made(kind, "kuhn")
    model.save(tmp_path / "model.zip")
    player = load_model(tmp_path / "model.zip")
    assert player.tables == ("kuhn",)
    np.testing.assert_array_equal(
        player.strategy("kuhn"), model_policy(model.policy).strategy("kuhn")
    )
    seats = [player.at("kuhn"), make_policy("nash", "kuhn")]
    names = [f"sb3:{kind}.zip", "nash"]
    record = replay.record(replay.config("kuhn"), 7, seats, names)
    replay.verify(record)
    assert record["results"]["names"] == names
    # a match of the deterministic player shows its strategy wherever it decided
    fixed = load_model(tmp_path / "model.zip", deterministic=True)
    env = poker_v0.raw_env(table="kuhn")
    env.reset(seed=2)
    while not env.row["over"]:
        told = env.observe(env.agent_selection)
        seen = {name: value[None] for name, value in told["observation"].items()}
        keys = np.array([env.decision_key()], np.uint64)
        env.step(int(fixed.at("kuhn")(seen, told["action_mask"][None], keys)[0]))
    for one in observe_match(env.table, np.uint64(mix(2, 0)), env.decisions):
        visited = one.counts.sum(1) > 0
        assert visited.sum() >= 4
        np.testing.assert_array_equal(one.table()[visited], fixed.strategy("kuhn")[visited])


def test_sizes_are_saved_with_the_model(tmp_path: Path) -> None:
    made("maskable", "sixmax", sizes=(0.33, 0.8)).save(tmp_path / "six.zip")
    player = load_model(tmp_path / "six.zip")
    assert player.bets == BetSpace("holdem-6max", (0.33, 0.8))
    assert player.tables == ("holdem-6max", "sixmax")
    assert isinstance(player, Player)


def test_wrong_input_is_one_clear_line(tmp_path: Path) -> None:
    other = gymnasium.make("CartPole-v1")
    PPO("MlpPolicy", other, n_steps=2, batch_size=2, device="cpu").save(tmp_path / "pole.zip")
    (tmp_path / "junk.zip").write_text("junk")
    player = model_policy(made("ppo", "holdem-hu").policy)
    dqn = DQN("MlpPolicy", other, device="cpu", buffer_size=10)
    cases: list[tuple[str, Any]] = [
        ("model .*none.zip: no such file", lambda: load_model(tmp_path / "none.zip")),
        ("model .*junk.zip cannot be read: ", lambda: load_model(tmp_path / "junk.zip")),
        (
            "pole.zip was trained on something else than PokerSeats",
            lambda: load_model(tmp_path / "pole.zip"),
        ),
        ("must be a policy of PPO or MaskablePPO; got DQNPolicy", lambda: model_policy(dqn.policy)),
        ("model plays holdem-hu, headsup; got 'sixmax'", lambda: player.at("sixmax")),
        ("model plays holdem-hu, headsup; got 'leduc'", lambda: player.strategy("leduc")),
        ("exploitability is exact at kuhn and leduc only", lambda: player.strategy("holdem-hu")),
    ]
    for message, call in cases:
        with pytest.raises(InputError, match=message):
            call()
