"""Learning Garble: the network of tickets, the evaluation, frozen selves, runs and their folder."""

from __future__ import annotations

import io
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
from stable_baselines3 import PPO

from wager.cli.main import main
from wager.envs.errors import InputError
from wager.envs.garble.constants import SEATS
from wager.envs.garble.policies import POLICIES
from wager.envs.garble.tables import play_tables
from wager.envs.seeds import SEED_BASE, TRAIN_LOW
from wager.probe.report import SCHEMA_FILE
from wager.training import loop
from wager.training.garble import (
    PLAN,
    FrozenSelf,
    GarbleTask,
    chair_scores,
    load_policy,
    model_policy,
    policy_named,
)
from wager.training.progress import Progress
from wager.training.task import Plan
from wager.training.ticket_network import TicketPolicy
from wager.wrappers.garble import COLUMNS, QUOTE_SIZES, quote_space
from wager.wrappers.garble_features import CONTEXT, FEATURES, TICKET, feature_space
from wager.wrappers.garble_seats import GarbleSeats

TINY: dict[str, Any] = {**PLAN, "envs": 64, "batch": 256, "width": 8, "seed": 3}
SEEDS = np.arange(SEED_BASE, SEED_BASE + 40)


def quiet() -> Progress:
    return Progress(Console(file=io.StringIO()))


def network(spread: float = 0.3) -> TicketPolicy:
    torch.manual_seed(0)
    policy = TicketPolicy(feature_space(), quote_space(), lambda _: 1e-3, width=8, critic_width=8)
    if spread:
        for parameter in policy.parameters():
            torch.nn.init.normal_(parameter, std=spread)
    return policy


def seen_like(n: int, tickets: int) -> torch.Tensor:
    """Random features with so many tickets that can be read."""
    seen = torch.randn(n, len(FEATURES), generator=torch.Generator().manual_seed(4))
    each = seen[:, len(CONTEXT) :].reshape(n, -1, len(TICKET))
    each[:, :, 0] = 1.0
    each[:, tickets:] = 0.0
    return seen


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short run: 2,048 episodes of 12 turns."""
    folder = tmp_path_factory.mktemp("runs") / "trained"
    plan = Plan(**{**PLAN, "steps": 24_576, "envs": 256, "batch": 512, "width": 32})
    loop.train(GarbleTask(60), plan, folder, progress=quiet())
    return folder


def test_reordering_tickets_reorders_their_odds_and_nothing_else() -> None:
    policy = network()
    seen = seen_like(5, 6)
    order = torch.randperm(8, generator=torch.Generator().manual_seed(1))
    each = seen[:, len(CONTEXT) :].reshape(5, 8, len(TICKET))
    moved = torch.cat([seen[:, : len(CONTEXT)], each[:, order].flatten(1)], 1)
    k = COLUMNS.index("ticket")
    first, second = (policy.get_distribution(x).distribution for x in (seen, moved))
    for column, (one, other) in enumerate(zip(first, second, strict=True)):
        expected = one.probs[:, [0, *(1 + order).tolist()]] if column == k else one.probs
        torch.testing.assert_close(other.probs, expected)
    assert not torch.allclose(first[k].probs[:, 1], first[k].probs[:, 2])
    torch.testing.assert_close(policy.predict_values(moved), policy.predict_values(seen))


def test_a_ticket_that_cannot_be_read_is_never_chosen() -> None:
    policy = network()
    for tickets in (0, 3):
        chosen = policy.get_distribution(seen_like(50, tickets)).distribution
        probs = chosen[COLUMNS.index("ticket")].probs
        assert not probs[:, 1 + tickets :].any()
        assert (probs[:, : 1 + tickets] > 0.0).all()


def test_a_fresh_actor_prefers_nothing() -> None:
    distribution = network(0.0).get_distribution(seen_like(3, 8))
    for one, size in zip(distribution.distribution, QUOTE_SIZES, strict=True):
        torch.testing.assert_close(one.probs, torch.full((3, size), 1.0 / size))


def test_log_probabilities_are_those_of_the_actions_drawn() -> None:
    policy = network()
    seen = seen_like(7, 5)
    actions, values, log_prob = policy(seen)
    again, expected, entropy = policy.evaluate_actions(seen, actions)
    torch.testing.assert_close(values, again)
    torch.testing.assert_close(log_prob, expected)
    probs = [one.probs.detach().numpy() for one in policy.get_distribution(seen).distribution]
    drawn = actions.numpy()
    oracle = sum(np.log(p[np.arange(7), drawn[:, k]]) for k, p in enumerate(probs))
    np.testing.assert_allclose(log_prob.detach().numpy(), oracle, rtol=1e-4)
    assert entropy is not None
    np.testing.assert_allclose(
        entropy.detach().numpy(), sum(stats.entropy(p, axis=1) for p in probs), rtol=1e-4
    )


def test_the_evaluation_rotates_the_chair_among_quoters() -> None:
    """Against whole episodes of scripted tables; any ``Policy`` scores as its kernel does."""
    scores = chair_scores(POLICIES["shark"], SEEDS)
    for chair in range(SEATS):
        seats = ["quoter"] * SEATS
        seats[chair] = "shark"
        expected = play_tables(seats, SEEDS).seen["score"][:, chair]
        np.testing.assert_array_equal(scores[:, chair], expected)

    def same(seen: Any, masks: Any, rng: NDArray[np.uint64]) -> NDArray[np.int64]:
        return POLICIES["shark"](seen, masks, rng)

    np.testing.assert_array_equal(chair_scores(same, SEEDS), scores)
    among = GarbleTask(40, "shark").returns(POLICIES["shark"])
    np.testing.assert_allclose(among, play_tables(["shark"] * SEATS, SEEDS).seen["score"].mean(1))
    task = GarbleTask(40)
    np.testing.assert_array_equal(task.returns(same), scores.mean(1))
    assert task.seeds == {
        "split": "evaluation",
        "first": SEED_BASE,
        "last": SEED_BASE + 39,
        "count": 40,
    }
    assert task.seeds["last"] < TRAIN_LOW


def test_the_frozen_self_is_the_learner_of_the_segments_start() -> None:
    task = GarbleTask(2)
    policy = network()
    table = GarbleSeats(4, 1, {"quoter": 1.0})
    table.reset(seed=0)
    table.step(np.zeros((4, len(COLUMNS)), np.int64))
    seen = {name: array[:, 0] for name, array in table.table.observe().items()}
    keys = np.zeros(4, np.uint64)
    assert not task.self_play(seen, None, keys).any()
    task.begin(policy)
    before = model_policy(policy)(seen, None, keys)
    for parameter in policy.parameters():
        torch.nn.init.normal_(parameter, std=3.0)
    assert (model_policy(policy)(seen, None, keys) != before).any()
    np.testing.assert_array_equal(task.self_play(seen, None, keys), before)
    assert isinstance(task.self_play, FrozenSelf)


def test_a_short_run_beats_the_shark_and_leaves_everything(trained: Path) -> None:
    """From silence (1.0) past the shark (about 1.8), paired on 60 evaluation seeds."""
    result = json.loads((trained / "results.json").read_text())
    jsonschema.validate(result, json.loads(SCHEMA_FILE.read_text()))
    leads = {one["name"]: one for one in result["differences"]}
    assert leads["agent - quoter"]["low"] > 0.0
    assert leads["agent - shark"]["low"] > 0.0
    assert result["curve"][0]["value"] == pytest.approx(1.0, abs=0.05)
    assert {one["unit"] for one in result["figures"]} == {"score"}
    assert result["config"]["entropy"] == PLAN["entropy"]
    for name in GarbleTask.made:
        assert (trained / name).read_bytes().startswith(b"\x89PNG")
    agent = next(one for one in result["figures"] if one["name"] == "agent")
    saved = GarbleTask(60).returns(load_policy(trained / "model.zip"))
    assert saved.mean() == pytest.approx(agent["value"], abs=1e-12)


def test_a_run_that_was_stopped_and_resumed_is_the_run_that_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Self-play included: who is met hangs on the checkpoint alone."""
    monkeypatch.setattr(loop, "SAVE_EVERY", 0.0)
    plan = Plan(**TINY, steps=4 * 64 * 12)

    class Stops(Progress):
        def scored(self, score: float, steps: int) -> None:
            if steps > 2 * 64 * 12:
                raise KeyboardInterrupt

    loop.train(GarbleTask(4), plan, tmp_path / "whole", progress=quiet())
    progress = Stops(Console(file=io.StringIO()))
    with pytest.raises(KeyboardInterrupt):
        loop.train(GarbleTask(4), plan, tmp_path / "cut", progress=progress)
    loop.train(GarbleTask(4), plan, tmp_path / "cut", resume=True, progress=quiet())
    whole, cut = ((tmp_path / name / "results.json").read_bytes() for name in ("whole", "cut"))
    assert whole == cut


def test_the_entropy_bonus_falls_with_the_budget() -> None:
    plan = Plan(**TINY, steps=1000)
    task = GarbleTask(2)
    model = loop._model(task, plan, task.vec_env(plan), loop.Run("x", {}), loop.Checkpoint())
    for spent, weight in ((0.0, 0.01), (0.25, 0.0075), (1.0, 0.0)):
        model.spent = spent
        model._update_current_progress_remaining(0, 1)
        assert model.ent_coef == pytest.approx(weight)


def test_the_command_trains_and_grades(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, report = tmp_path / "run", tmp_path / "report.json"
    assert main(["train", "garble", "--steps", "200", "--envs", "16", "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert "training on garble (quoter 1.198, shark 1.783)" in said.err
    assert "garble: 400 evaluation seeds" in said.out
    assert re.search(r"\nagent (beats|does not beat) shark: [+-]\d", said.out)
    assert said.out.splitlines()[-1].endswith("learning_curve.png, chairs.png, tensorboard/")
    graded = ["evaluate", "garble", "--seeds", "20", "--json", str(report), "--policy"]
    assert main([*graded, f"sb3:{out / 'model.zip'}"]) == 0
    assert main([*graded, "broker"]) == 0
    result = json.loads(report.read_text())
    jsonschema.validate(result, json.loads(SCHEMA_FILE.read_text()))
    leads = {one["name"]: one["low"] for one in result["differences"]}
    assert leads["broker - shark"] > 0.0
    assert main([*graded, "broker", "--others", "shark"]) == 0
    among_sharks = json.loads(report.read_text())
    jsonschema.validate(among_sharks, json.loads(SCHEMA_FILE.read_text()))
    assert among_sharks["config"]["others"] == "shark"
    assert among_sharks["figures"] != result["figures"]


def test_wrong_input_is_one_clear_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.zip"
    PPO("MlpPolicy", "CartPole-v1", n_steps=2, batch_size=2, device="cpu").save(other)
    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"no zip")
    cases: list[tuple[str, Any]] = [
        ("no such policy; known: broker", lambda: policy_named("nobody")),
        ("no llm seat here; known: broker", lambda: policy_named("llm:m@http://localhost/v1")),
        ("no such file", lambda: load_policy(tmp_path / "none.zip")),
        ("cannot be read", lambda: load_policy(broken)),
        ("trained on something else: observations", lambda: load_policy(other)),
        ("group must be 1 in garble", lambda: GarbleTask(2).vec_env(Plan(steps=1))),
        ("entropy must be at least 0", lambda: Plan(steps=1, entropy=-1.0)),
        ("seeds must be at least 2", lambda: GarbleTask(1)),
        ("others must be one of quoter, ", lambda: GarbleTask(2, "nobody")),
    ]
    for message, make in cases:
        with pytest.raises(InputError, match=message) as caught:
            make()
        assert "\n" not in str(caught.value)
    for arguments, message in (
        (["evaluate", "garble", "--policy", "nobody"], "seat 'nobody': no such policy"),
        (["evaluate", "garble", "--policy", "shark", "--others", "me"], "others must be one of"),
        (["evaluate", "grand-exchange", "--policy", "plain", "--others", "plain"], "one seat"),
        (["evaluate", "garble", "--policy", f"sb3:{other}"], "trained on something else"),
        (["train", "garble", "--out", "x", "--envs", "1"], "envs must be 2..65536; got 1"),
    ):
        assert main(arguments) == 2
        said = capsys.readouterr()
        assert message in said.err
        assert said.err.count("\n") == 1
