"""Learning poker: whole hands of self-play, the learner, the saved player, grades and runs."""

from __future__ import annotations

import io
import itertools
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from rich.console import Console
from scipy import stats

from wager.cli.main import main
from wager.envs.errors import InputError
from wager.envs.files import digest
from wager.envs.poker import replay
from wager.envs.poker.exploitability import expected_value, exploitability, tree
from wager.envs.poker.policies import POLICIES, make_policy, pack
from wager.envs.poker.vector import PokerVector
from wager.envs.seeds import SEED_BASE, TRAIN_LOW
from wager.probe.report import SCHEMA_FILE
from wager.training import poker
from wager.training.match.lineup import seat_players
from wager.training.match.match import play_match
from wager.training.poker import PLANS, title_of, train
from wager.training.poker_grades import grades, match_gains, player_named, strategy_of
from wager.training.poker_hands import Decisions, SelfPlay, Step
from wager.training.poker_learner import Learner
from wager.training.poker_policy import load_policy, save_policy
from wager.training.progress import Progress
from wager.training.results import show
from wager.training.runs import Checkpoint
from wager.training.task import Plan
from wager.wrappers.poker_bets import BARRED, BetSpace
from wager.wrappers.poker_features import feature_names, seen_features

TINY: dict[str, Any] = {**PLANS["kuhn"], "envs": 64, "batch": 64, "width": 16, "seed": 3}


def quiet() -> Progress:
    return Progress(Console(file=io.StringIO()))


def layers(table: str, width: int = 8) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    rng = np.random.default_rng(0)
    sizes = (len(feature_names(table)), width, int(BetSpace(table).n))
    return [
        (rng.normal(size=(after, before)), rng.normal(size=after))
        for before, after in itertools.pairwise(sizes)
    ]


def uniform(seen: Any, legal: NDArray[np.bool_]) -> NDArray[np.float64]:
    chances: NDArray[np.float64] = legal / legal.sum(1, keepdims=True)
    return chances


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short run at Kuhn poker."""
    folder = tmp_path_factory.mktemp("runs") / "trained"
    small = {"envs": 256, "batch": 256, "width": 32, "learning_rate": 1e-3}
    plan = Plan(**{**PLANS["kuhn"], **small, "steps": 250_000})
    train("kuhn", plan, folder, progress=quiet())
    return folder


def test_a_short_run_lowers_exploitability(trained: Path) -> None:
    """From 0.458 (uniform) to 0.15 or less; the saved file is what was graded."""
    result = json.loads((trained / "results.json").read_text())
    jsonschema.validate(result, json.loads(SCHEMA_FILE.read_text()))
    assert result["digest"] == digest(result)
    assert result["config"]["table"] == "kuhn"
    assert result["config"]["steps_done"] >= 250_000
    curve = result["curve"]
    assert curve[0]["value"] == pytest.approx(0.458333, abs=1e-6)
    assert curve[-1]["value"] < 0.15
    figures = {one["name"]: one for one in result["figures"]}
    assert set(figures) == {"agent", "random", "rock", "house", "nash"}
    saved = load_policy(trained / "policy.npz")
    again = exploitability("kuhn", saved.strategy("kuhn"))
    assert figures["agent"]["value"] == again == curve[-1]["value"]
    assert figures["random"]["value"] == pytest.approx(0.458333, abs=1e-6)
    assert figures["house"]["value"] < 1e-9
    assert "seconds" not in json.dumps(result)
    timing = json.loads((trained / "timing.json").read_text())
    assert len(timing["clock"]) == len(curve)
    assert (trained / "learning_curve.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_a_stopped_run_resumes_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = 64 * 60
    plan = Plan(steps=steps, **TINY)
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    comparison = train("kuhn", plan, whole, progress=quiet())
    monkeypatch.setattr(poker, "SAVE_EVERY", 0.0)
    save = poker.Run.save

    def save_thrice(run: Any, state: Checkpoint) -> None:
        save(run, state)
        if state.segment == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(poker.Run, "save", save_thrice)
    with pytest.raises(KeyboardInterrupt):
        train("kuhn", plan, stopped, progress=quiet())
    monkeypatch.undo()
    assert Checkpoint.read(stopped / "checkpoint.zip").segment == 3
    train("kuhn", plan, stopped, resume=True, progress=quiet())
    for name in ("results.json", "policy.npz"):
        assert (stopped / name).read_bytes() == (whole / name).read_bytes(), name
    # resuming what is finished trains nothing and says the same again
    assert train("kuhn", plan, stopped, resume=True, progress=quiet()) == comparison
    other = Plan(**{**TINY, "steps": steps, "seed": 4})
    train("kuhn", other, tmp_path / "other", progress=quiet())
    assert (tmp_path / "other" / "policy.npz").read_bytes() != (whole / "policy.npz").read_bytes()


@pytest.mark.parametrize("table", ["kuhn", "leduc", "holdem-hu", "holdem-6max"])
def test_hands_of_self_play(table: str) -> None:
    """Everybody's winnings sum to 0, hands are whole, only legal actions are drawn."""
    play = SelfPlay(table, 40)
    hands = play.play(uniform, np.random.default_rng(1))
    assert hands.legal[np.arange(len(hands)), hands.action].all()
    assert (hands.chance > 0).all()
    ended = np.concatenate([step.ended for step in hands.steps])
    np.testing.assert_array_equal(np.sort(ended), np.arange(40))
    won = np.concatenate([step.won for step in hands.steps])
    np.testing.assert_allclose(won.sum(1), 0.0, atol=1e-9)
    # with no baseline and full traces, a decision's advantage is what its seat won in the hand
    gains = hands.advantages(np.zeros(len(hands), np.float32), 1.0)
    by_row = np.zeros((40, play.seats))
    by_row[ended] = won
    rows = np.concatenate([step.rows for step in hands.steps])
    seats = np.concatenate([step.seats for step in hands.steps])
    np.testing.assert_allclose(gains, by_row[rows, seats])
    assert hands.acted.any()
    assert not hands.acted.all()
    assert (play.vector._bases >= TRAIN_LOW).all()


def test_in_a_hand_somebody_explores_nobody_else_is_learned_from() -> None:
    hands = SelfPlay("leduc", 2_000).play(uniform, np.random.default_rng(4))
    rows = np.concatenate([step.rows for step in hands.steps])
    seats = np.concatenate([step.seats for step in hands.steps])
    calm = np.array([hands.acted[rows == row].all() for row in range(2_000)])
    assert abs(calm.mean() - 0.5) < 0.06
    assert hands.valued[calm[rows]].all()
    for row in np.flatnonzero(~calm)[:300]:
        mine = rows == row
        acted, seat = hands.acted[mine], seats[mine]
        assert len(set(seat[acted])) <= 1
        if acted.any():  # from where the explorer stopped on, all its decisions; values after it
            first = int(np.argmax(acted))
            np.testing.assert_array_equal(acted[first:], seat[first:] == seat[first])
            np.testing.assert_array_equal(hands.valued[mine], np.arange(len(acted)) > first)
        else:
            assert not hands.valued[mine].any()


def test_advantages_along_a_seats_own_decisions() -> None:
    """By hand: seat 0 acts twice with seat 1 between; values 1, 2, 3; it wins 10."""
    row = np.array([0])
    nobody, nothing = np.empty(0, np.int64), np.empty((0, 2))
    steps = (
        Step(row, np.array([0]), nobody, nothing),
        Step(row, np.array([1]), nobody, nothing),
        Step(row, np.array([0]), row, np.array([[10.0, -10.0]])),
    )
    one, flag = np.ones(3, np.float32), np.ones(3, np.bool_)
    wide = np.ones((3, 1), np.float32)
    hands = Decisions(
        1, 2, steps, wide, wide, flag[:, None], np.zeros(3, np.int64), one, flag, flag
    )
    gains = hands.advantages(np.array([1.0, 2.0, 3.0], np.float32), 0.5)
    np.testing.assert_allclose(gains, [3.0 - 1.0 + 0.5 * 7.0, -10.0 - 2.0, 10.0 - 3.0])


def test_the_critic_sees_the_cards_and_the_actor_does_not() -> None:
    """Deals that differ in the other's card alone: the actor's features are equal."""
    hands = SelfPlay("kuhn", 60).play(uniform, np.random.default_rng(0))
    first = hands.steps[0]
    n = len(first.rows)
    seen, hidden = hands.seen[:n], hands.hidden[:n]
    for line in np.unique(seen, axis=0):
        same = (seen == line).all(1)
        assert len(np.unique(hidden[same], axis=0)) == 2  # either of the two other cards
    width = len(feature_names("kuhn"))
    learner = Learner("kuhn", 2, Plan(steps=1, **TINY))
    assert next(learner.actor.parameters()).shape[1] == width
    assert next(learner.critic.parameters()).shape[1] == width + hands.hidden.shape[1]


def test_a_fresh_learner_plays_uniformly_and_its_step_favours_what_won() -> None:
    learner = Learner("kuhn", 2, Plan(steps=1, **{**TINY, "entropy": 0.0}))
    seen = torch.rand(1, len(feature_names("kuhn")))
    legal = torch.tensor([[False, True, True]])
    before = learner.chances(seen.numpy(), legal.numpy())
    np.testing.assert_allclose(before, [[0.0, 0.5, 0.5]], atol=1e-6)
    for _ in range(100):
        learner._step_actor(seen, legal, torch.tensor([[2]]), torch.tensor([3.0]), 0.0)
    after = learner.chances(seen.numpy(), legal.numpy())
    assert after[0, 2] > 0.6
    assert after[0, 0] == 0.0
    for _ in range(1500):  # with nothing to win, the pull leads back
        learner._step_actor(seen, legal, torch.tensor([[2]]), torch.tensor([0.0]), 1.0)
    np.testing.assert_allclose(learner.chances(seen.numpy(), legal.numpy()), before, atol=0.05)


@pytest.mark.parametrize("table", ["leduc", "holdem-hu"])
def test_a_saved_player_plays_the_networks_chances(table: str, tmp_path: Path) -> None:
    bets = BetSpace(table)
    save_policy(tmp_path / "policy.npz", layers(table), bets)
    save_policy(tmp_path / "again.npz", layers(table), bets)
    assert (tmp_path / "policy.npz").read_bytes() == (tmp_path / "again.npz").read_bytes()
    policy = load_policy(tmp_path / "policy.npz").at(table)
    vector = PokerVector(200, table, hands=2)
    vector.reset(5)
    observations, masks = vector.observe(), vector.masks()
    seen, history = pack(observations), observations["history"]
    menus = bets.menus(seen)
    (w0, b0), (w1, b1) = ([torch.from_numpy(one) for one in pair] for pair in layers(table))
    x = torch.from_numpy(seen_features(table, seen, history)).double()
    logits = torch.relu(x @ w0.T + b0) @ w1.T + b1
    barred = torch.from_numpy(menus == BARRED)
    expected = torch.softmax(logits.masked_fill(barred, -torch.inf), 1).numpy()
    chances = policy.probabilities(seen, history)
    np.testing.assert_allclose(chances, expected, atol=1e-4)
    # a draw is a legal native action, the same for the same key, as frequent as its chance
    actions = policy(observations, masks, vector.keys())
    assert masks[np.arange(200), actions].all()
    np.testing.assert_array_equal(policy(observations, masks, vector.keys()), actions)
    one = {name: np.repeat(values[:1], 20_000, 0) for name, values in observations.items()}
    draws = policy(one, None, np.random.default_rng(0).integers(0, 2**63, 20_000, np.uint64))
    for k in np.flatnonzero(menus[0] != BARRED):
        share = (draws == menus[0, k]).mean()
        assert abs(share - chances[0, k]) < 4.5 * np.sqrt(0.25 / 20_000)


def test_a_player_of_one_rung_plays_its_chip_race(tmp_path: Path) -> None:
    save_policy(tmp_path / "policy.npz", layers("holdem-hu"), BetSpace("holdem-hu"))
    player = player_named(str(tmp_path / "policy.npz"))
    assert player.tables == ("holdem-hu", "headsup")
    gains = match_gains("headsup", player.at("headsup"), POLICIES["house"].at("headsup"), range(20))
    assert np.isfinite(gains).all()
    with pytest.raises(InputError, match=r"policy.npz plays holdem-hu, headsup; got 'kuhn'"):
        player.at("kuhn")


def test_duplicate_pairs_cancel_the_luck_of_equal_players() -> None:
    """Heads-up a policy wins nothing from itself, exactly, and what it wins else is mirrored."""
    for table in ("kuhn", "leduc", "holdem-hu"):
        house, rock = POLICIES["house"].at(table), POLICIES["rock"].at(table)
        seeds = np.arange(SEED_BASE, SEED_BASE + 30)
        assert not match_gains(table, house, house, seeds).any()
        one, other = (match_gains(table, *pair, seeds) for pair in ((house, rock), (rock, house)))
        np.testing.assert_allclose(one, -other, atol=1e-12)
        assert one.std() > 0


def test_match_gains_agree_with_the_tree() -> None:
    """At Leduc the interval of the mean holds the exact value, and is a normal one over matches."""
    comparison = grades("leduc", "rock", {"rock": POLICIES["rock"]}, 400, "random")
    figure = comparison.of("rock")
    exact = expected_value("leduc", "rock", "random")
    assert figure.low < exact < figure.high
    policy, others = POLICIES["rock"].at("leduc"), POLICIES["random"].at("leduc")
    gains = match_gains("leduc", policy, others, range(SEED_BASE, SEED_BASE + 400))
    low, high = stats.norm.interval(0.95, gains.mean(), stats.sem(gains))
    assert (figure.low, figure.high) == pytest.approx((low, high))
    assert figure.n == 400


def test_strategies_of_any_player_give_the_published_table(trained: Path) -> None:
    known = tree("kuhn")
    for name, value in (("random", 0.458333), ("rock", 0.25), ("nash", 0.0)):
        chances = strategy_of(player_named(name), "kuhn")
        assert exploitability("kuhn", chances) == pytest.approx(value, abs=1e-6)
    chances = strategy_of(player_named(str(trained / "policy.npz")), "kuhn")
    assert chances.shape == known.legal.shape
    with pytest.raises(InputError, match="plays kuhn; got 'leduc'"):
        strategy_of(player_named(str(trained / "policy.npz")), "leduc")


def test_a_hold_em_run_leaves_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(poker, "GRADED", 4)
    monkeypatch.setattr(poker, "WATCHED", 2)
    plan = Plan(**{**PLANS["holdem-6max"], "envs": 16, "batch": 64, "width": 8, "steps": 500})
    comparison = train("holdem-6max", plan, tmp_path / "run", progress=quiet())
    result = json.loads((tmp_path / "run" / "results.json").read_text())
    jsonschema.validate(result, json.loads(SCHEMA_FILE.read_text()))
    names = [one["name"] for one in result["figures"]]
    assert names == ["agent", "random", "rock", "house", "equity", "agent among equity"]
    assert result["seeds"] == {
        "split": "evaluation",
        "first": SEED_BASE,
        "last": SEED_BASE + 3,
        "count": 4,
    }
    assert comparison.of("agent").n == 4
    player = load_policy(tmp_path / "run" / "policy.npz")
    again = grades("holdem-6max", "agent", {"agent": player}, 4).of("agent")
    assert again == comparison.of("agent")
    show(Console(), title_of("holdem-6max", 4), comparison)
    said = capsys.readouterr().out
    assert "units a hand, alone among house, 4 evaluation seeds" in said
    met = comparison.of("agent among equity").text()
    assert f"  agent among equity: {met}\n" in said  # another table: no paired difference


def test_files_that_are_no_players_are_named(tmp_path: Path) -> None:
    good = tmp_path / "good.npz"
    save_policy(good, layers("kuhn"), BetSpace("kuhn"))
    data = good.read_bytes()
    (tmp_path / "rubbish.npz").write_bytes(b"rubbish")
    (tmp_path / "cut.npz").write_bytes(data[:-40])
    np.savez(tmp_path / "other.npz", weight0=np.ones(3))
    save_policy(tmp_path / "wide.npz", layers("leduc"), BetSpace("kuhn"))
    holey = [(weight * np.nan, bias) for weight, bias in layers("kuhn")]
    save_policy(tmp_path / "nan.npz", holey, BetSpace("kuhn"))
    np.savez(tmp_path / "pickle.npz", header=np.array({"a": 1}, dtype=object))
    for name, message in (
        ("missing.npz", "no such file"),
        ("rubbish.npz", "is no poker policy: "),
        ("cut.npz", "is no poker policy: "),
        ("other.npz", "is no poker policy: "),
        ("wide.npz", r"is no poker policy: layer 0 has weights \(8, 29\)"),
        ("nan.npz", "is no poker policy: layer 0 has numbers that are not finite"),
        ("pickle.npz", "is no poker policy: not an .npz file"),
    ):
        with pytest.raises(InputError, match=message) as caught:
            load_policy(tmp_path / name)
        assert "\n" not in str(caught.value)
    for name, message in (
        ("nobody", "no such policy; known: equity, house"),
        ("llm:m@http://localhost/v1", "no llm seat here"),
    ):
        with pytest.raises(InputError, match=message):
            player_named(name)


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str], trained: Path) -> None:
    out = tmp_path / "run"
    command = ["train", "poker", "--table", "kuhn", "--steps", "2000", "--envs", "64"]
    assert main([*command, "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert "poker, kuhn: exploitability, chips a hand, over 12 information sets" in said.out
    assert re.search(r"^  random: 0\.4583; [-+]0\.\d{4}$", said.out, re.MULTILINE)
    assert said.err.splitlines()[-1].startswith("100.0%")
    assert main([*command, "--out", str(out)]) == 2
    assert "is not empty (resume goes on" in capsys.readouterr().err
    assert main([*command, "--out", str(out), "--resume"]) == 0
    report = tmp_path / "report.json"
    graded = ["evaluate", "poker", "--json", str(report)]
    policy = str(trained / "policy.npz")
    assert main([*graded, "--policy", policy]) == 0
    made = json.loads(report.read_text())
    jsonschema.validate(made, json.loads(SCHEMA_FILE.read_text()))
    result = json.loads((trained / "results.json").read_text())
    assert made["figures"][-1]["value"] == result["curve"][-1]["value"]
    hands = ["--table", "holdem-hu", "--seeds", "3", "--others", "rock"]
    assert main([*graded, "--policy", "house", *hands]) == 0
    assert json.loads(report.read_text())["config"]["others"] == "rock"
    capsys.readouterr()
    for arguments, message in (
        ([*command[:2], "--table", "go", "--out", "x"], "no table 'go'; the tables are kuhn"),
        ([*command[:2], "--table", "sixmax", "--out", "x"], "a policy of holdem-6max plays it"),
        (["train", "garble", "--table", "kuhn", "--out", "x"], "--table goes with poker"),
        (["evaluate", "garble", "--policy", "quoter", "--table", "kuhn"], "--table goes with"),
        ([*graded, "--policy", policy, "--table", "go"], "no table 'go'"),
        ([*graded, "--policy", policy, "--table", "leduc"], "plays kuhn; got 'leduc'"),
        ([*graded, "--policy", policy, "--others", "rock"], "--others: at kuhn"),
        ([*graded, "--policy", "nash", "--table", "holdem-hu"], "nash plays kuhn, leduc; got"),
        ([*graded, "--policy", "nobody"], "no such policy"),
        ([*graded, "--policy", "missing.npz"], "missing.npz: no such file"),
    ):
        assert main(arguments) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1


def test_a_broken_checkpoint_is_refused(tmp_path: Path) -> None:
    plan = Plan(steps=64, **TINY)
    train("kuhn", plan, tmp_path / "run", progress=quiet())
    path = tmp_path / "run" / "checkpoint.zip"
    path.write_bytes(Checkpoint(1, model=b"no model").to_bytes())
    with pytest.raises(InputError, match="the checkpoint's model cannot be read"):
        train("kuhn", plan, tmp_path / "run", resume=True, progress=quiet())


def test_what_was_trained_takes_a_seat(trained: Path) -> None:
    name = f"sb3:{trained / 'policy.npz'}"
    players = seat_players("poker", [name, "house"], table="kuhn")
    match = play_match("poker", replay.config("kuhn", hands=4), 7, players)
    policies = [load_policy(trained / "policy.npz").at("kuhn"), make_policy("house", "kuhn")]
    again = replay.record(replay.config("kuhn", hands=4), 7, policies, [name, "house"])
    assert match.replay == again
    assert player_named(name).tables == ("kuhn",)
    with pytest.raises(InputError, match="plays kuhn; got 'leduc'"):
        seat_players("poker", [name, "house"], table="leduc")
