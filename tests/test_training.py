"""Training: the network, the loop and its checkpoints, results, and what a user can get wrong."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import torch
from gymnasium import spaces
from rich.console import Console
from scipy import stats
from stable_baselines3 import PPO

from wager.cli.main import main
from wager.envs.errors import InputError
from wager.envs.files import digest
from wager.envs.grand_exchange.market import build_markets
from wager.envs.grand_exchange.policies import POLICIES, first_observations, one_shot_returns
from wager.envs.grand_exchange.vector import GrandExchangeVector
from wager.envs.seeds import TRAIN_LOW
from wager.probe.report import SCHEMA_FILE
from wager.training import loop
from wager.training.grand_exchange import GrandExchangeTask, load_policy, policy_named
from wager.training.network import BasketPolicy
from wager.training.progress import Progress
from wager.training.results import compare, figure, show
from wager.training.runs import Checkpoint, Run
from wager.training.task import Plan
from wager.wrappers.grand_exchange import FEATURES, features_of, native_actions

TINY: dict[str, Any] = {"envs": 16, "batch": 8, "width": 8, "rollouts": 4, "seed": 3}


class Small(GrandExchangeTask):
    """Twenty served baskets and no picture of them."""

    def __init__(self) -> None:
        super().__init__(20)

    def pictures(self, policy: Any, folder: Path) -> None:
        pass


def quiet() -> Progress:
    return Progress(Console(file=io.StringIO()))


def network(**kwargs: Any) -> BasketPolicy:
    torch.manual_seed(0)
    policy = BasketPolicy(
        spaces.Box(-10, 10, (6 * len(FEATURES),), np.float32),
        spaces.Box(-1, 1, (6 * 4,), np.float32),
        lambda _: 1e-3,
        item_features=len(FEATURES),
        item_actions=4,
        **kwargs,
    )
    for parameter in policy.parameters():  # away from the tiny initial gain
        torch.nn.init.normal_(parameter, std=0.3)
    return policy


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short run that has learned something: 16,384 baskets."""
    folder = tmp_path_factory.mktemp("runs") / "trained"
    plan = Plan(steps=16_384, envs=256, batch=128, width=16)
    loop.train(GrandExchangeTask(300), plan, folder, progress=quiet())
    return folder


@pytest.mark.parametrize("items", [2, 4, 6, 9])
def test_reordering_items_reorders_actions_and_keeps_the_value(items: int) -> None:
    policy = network(width=8)
    seen = torch.randn(5, items, len(FEATURES))
    order = torch.randperm(items, generator=torch.Generator().manual_seed(1))
    means = policy.get_distribution(seen.flatten(1)).mode().reshape(5, items, 4)
    moved = policy.get_distribution(seen[:, order].flatten(1)).mode().reshape(5, items, 4)
    torch.testing.assert_close(moved, means[:, order])
    assert not torch.allclose(means[:, 0], means[:, 1])
    values = policy.predict_values(seen.flatten(1))
    assert values.shape == (5, 1)
    torch.testing.assert_close(policy.predict_values(seen[:, order].flatten(1)), values)


def test_an_item_sees_the_rest_of_the_basket() -> None:
    policy = network(width=8)
    seen = torch.randn(1, 6, len(FEATURES))
    other = seen.clone()
    other[:, 5] += 1.0
    first, second = (policy.get_distribution(x.flatten(1)).mode() for x in (seen, other))
    assert not torch.allclose(first[:, :4], second[:, :4])


def test_log_probabilities_are_those_of_the_actions_drawn() -> None:
    policy = network(width=8, log_std_init=-0.7)
    seen = torch.randn(7, 6 * len(FEATURES))
    actions, values, log_prob = policy(seen)
    again, expected, entropy = policy.evaluate_actions(seen, actions)
    torch.testing.assert_close(values, again)
    torch.testing.assert_close(log_prob, expected)
    sd = policy.log_std.detach().exp().repeat(6).numpy()
    means = policy.get_distribution(seen).mode().detach().numpy()
    oracle = stats.norm(means, sd).logpdf(actions.detach().numpy()).sum(1)
    np.testing.assert_allclose(log_prob.detach().numpy(), oracle, rtol=1e-4)
    assert entropy is not None
    np.testing.assert_allclose(
        entropy.detach().numpy(), stats.norm(0, sd).entropy().sum(), rtol=1e-5
    )


def test_grouped_rows_share_baskets_and_are_paid_their_lead() -> None:
    plan = Plan(steps=8, envs=8, group=4)
    env, alone = (
        GrandExchangeTask(20).vec_env(plan),
        GrandExchangeVector(8, autoreset_mode="Disabled"),
    )
    env.seed(50)
    seen = env.reset()
    alone.reset(seed=[50] * 4 + [54] * 4)
    rng = np.random.default_rng(0)
    for _ in range(3):
        public = alone.unwrapped._observations()
        np.testing.assert_array_equal(seen, features_of(public))
        np.testing.assert_array_equal(seen[0], seen[3])
        assert (seen[0] != seen[4]).any()
        actions = rng.uniform(-1, 1, (8, 24)).astype(np.float32)
        seen, rewards, dones, _ = env.step(actions)
        returns = alone.step(native_actions(public, actions))[1]
        for row in range(8):
            group = range(4) if row < 4 else range(4, 8)
            others = np.mean([returns[k] for k in group if k != row])
            assert rewards[row] == pytest.approx(10 * (returns[row] - others), abs=1e-6)
        alone.reset(options={"reset_mask": dones})


def test_a_short_run_learns_and_leaves_everything(trained: Path) -> None:
    """From near random (+1%) to +10% or more in 16,384 baskets, graded on 300 served ones."""
    result = json.loads((trained / "results.json").read_text())
    jsonschema.validate(result, json.loads(SCHEMA_FILE.read_text()))
    assert result["kind"] == "train"
    assert result["digest"] == digest(result)
    assert result["seeds"]["last"] < TRAIN_LOW
    assert result["config"]["steps_done"] == 16_384
    assert result["n"] == 300
    curve = result["curve"]
    assert [point["steps"] for point in curve[:4]] == [0, 256, 512, 1024]
    assert abs(curve[0]["value"]) < 0.05
    assert curve[-1]["value"] > 0.10
    figures = {one["name"]: one for one in result["figures"]}
    assert set(figures) == {"agent", "random", "plain", "reference", "informed"}
    assert figures["agent"]["value"] == curve[-1]["value"]
    assert "seconds" not in json.dumps(result)
    timing = json.loads((trained / "timing.json").read_text())
    assert timing["clock"] == sorted(timing["clock"])
    assert len(timing["clock"]) == len(curve)
    for name in ("learning_curve.png", "baskets.png"):
        assert (trained / name).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert list((trained / "tensorboard").iterdir())
    assert PPO.load(trained / "model.zip").num_timesteps == 16_384


def test_a_model_is_a_policy_for_any_basket_size(trained: Path) -> None:
    policy = policy_named(f"sb3:{trained / 'model.zip'}")
    result = json.loads((trained / "results.json").read_text())
    scores = GrandExchangeTask(300).returns(policy)
    assert scores.mean() == next(f["value"] for f in result["figures"] if f["name"] == "agent")
    for items in (4, 9):
        markets = build_markets(range(200), items)
        seen = first_observations(markets)
        keys = np.zeros(200, np.uint64)
        assert one_shot_returns(policy, markets, keys).mean() > 0.06
        order = np.random.default_rng(0).permutation(items)
        moved = {k: v[:, order] if v.shape[1] == items else v for k, v in seen.items()}
        found, expected = policy(moved, None, keys), policy(seen, None, keys)[:, order]
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1)


CHILD = """
import sys, time
from wager.training import loop
from wager.training.grand_exchange import GrandExchangeTask
from wager.training.task import Plan
class Slow(GrandExchangeTask):
    def score(self, policy):
        time.sleep(0.3)
        return super().score(policy)
loop.SAVE_EVERY = 0.0
loop.train(Slow(20), Plan(steps=int(sys.argv[2]), **eval(sys.argv[3])), sys.argv[1])
"""


def test_a_killed_run_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    steps = 16 * 36
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    loop.train(Small(), Plan(steps=steps, **TINY), whole, progress=quiet())
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(killed), str(steps), repr(TINY)],
        stderr=subprocess.PIPE,
        text=True,
    )
    path = killed / "checkpoint.zip"
    while not path.exists() or Checkpoint.read(path).segment < 4:
        assert child.poll() is None, child.communicate()[1]
        time.sleep(0.02)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    before = Checkpoint.read(path)
    assert 4 <= before.segment < 11
    assert not (killed / "results.json").exists()
    comparison = loop.train(
        Small(), Plan(steps=steps, **TINY), killed, resume=True, progress=quiet()
    )
    assert (killed / "results.json").read_bytes() == (whole / "results.json").read_bytes()
    a, b = (PPO.load(folder / "model.zip").get_parameters() for folder in (whole, killed))
    for name, value in a["policy"].items():
        assert torch.equal(value, b["policy"][name]), name
    moments = [p["policy.optimizer"]["state"][0]["exp_avg"] for p in (a, b)]
    assert torch.equal(*moments)
    curve = json.loads((killed / "results.json").read_text())["curve"]
    assert curve[: len(before.curve)] == before.curve
    # resuming what is finished trains nothing and says the same again
    again = loop.train(Small(), Plan(steps=steps, **TINY), killed, resume=True, progress=quiet())
    assert again == comparison


def test_another_seed_is_another_run(tmp_path: Path) -> None:
    runs = [
        loop.train(
            Small(), Plan(steps=64, **TINY | {"seed": k}), tmp_path / str(k), progress=quiet()
        )
        for k in (1, 2)
    ]
    assert runs[0].of("agent") != runs[1].of("agent")


def test_a_budget_of_minutes_ends_by_the_clock(tmp_path: Path) -> None:
    plan = Plan(minutes=0.01, **TINY)
    loop.train(Small(), plan, tmp_path / "run", progress=quiet())
    assert Checkpoint.read(tmp_path / "run" / "checkpoint.zip").seconds >= 0.6


def test_a_spent_budget_is_the_larger_share() -> None:
    plan = Plan(minutes=1.0, steps=100)
    assert plan.spent(30.0, 10) == 0.5
    assert plan.spent(3.0, 60) == 0.6
    assert plan.spent(90.0, 10) == 1.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "give a budget"),
        ({"minutes": -1.0}, "minutes must be above 0 .*got -1"),
        ({"minutes": float("nan")}, "minutes must be above 0 .*got nan"),
        ({"steps": 0}, "steps must be 1.*got 0"),
        ({"steps": 10, "envs": 0}, "envs must be 2.*got 0"),
        ({"steps": 10, "envs": 10}, "envs must be a multiple of 4; got 10"),
        ({"steps": 10, "seed": -1}, "seed must be 0.*got -1"),
        ({"steps": 10, "threads": 0}, "threads must be 1.*got 0"),
        ({"steps": 10, "learning_rate": 2.0}, "learning_rate must be between"),
    ],
)
def test_senseless_plans_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Plan(**settings)


def test_a_taken_or_unwritable_folder_is_refused_before_any_work(tmp_path: Path) -> None:
    task, plan = Small(), Plan(steps=64, **TINY)
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="taken is not empty: choose another folder"):
        loop.train(task, plan, taken, resume=True)
    assert [path.name for path in taken.iterdir()] == ["thesis.txt"]
    for path in (taken / "thesis.txt", taken / "thesis.txt" / "run", Path("/proc/run")):
        with pytest.raises(InputError, match="cannot write"):
            loop.train(task, plan, path)
    Run(tmp_path / "run", {"subject": "x"}).open(resume=False)
    with pytest.raises(InputError, match="resume goes on with it"):
        loop.train(task, plan, tmp_path / "run")
    with pytest.raises(InputError, match="holds a run with batch None; got 8"):
        loop.train(task, plan, tmp_path / "run", resume=True)


def test_a_broken_checkpoint_is_refused(tmp_path: Path) -> None:
    task, plan = Small(), Plan(steps=64, **TINY)
    loop.train(task, plan, tmp_path / "run", progress=quiet())
    path = tmp_path / "run" / "checkpoint.zip"
    whole = path.read_bytes()
    middle = bytearray(whole)
    middle[len(whole) // 2] ^= 0xFF
    for broken in (b"", b"rubbish", whole[:-100], bytes(middle)):
        path.write_bytes(broken)
        with pytest.raises(InputError, match=r"checkpoint.zip is not a readable checkpoint: "):
            loop.train(task, plan, tmp_path / "run", resume=True)
    path.write_bytes(Checkpoint(1, model=b"no model").to_bytes())
    with pytest.raises(InputError, match="the checkpoint's model cannot be read"):
        loop.train(task, plan, tmp_path / "run", resume=True)


def test_unknown_and_unreadable_policies_are_named(tmp_path: Path) -> None:
    assert policy_named("plain") is POLICIES["plain"]
    rubbish, other = tmp_path / "rubbish.zip", tmp_path / "other.zip"
    rubbish.write_bytes(b"rubbish")
    PPO("MlpPolicy", "CartPole-v1", n_steps=8, batch_size=8, device="cpu").save(other)
    empty = tmp_path / "empty.zip"
    with zipfile.ZipFile(empty, "w") as archive:
        archive.writestr("data", "{}")
    for name, message in (
        ("nobody", "no such policy; known: "),
        ("informed", "no such policy"),
        ("llm:m@http://localhost/v1", "no llm seat here; known: "),
        (f"sb3:{tmp_path / 'missing.zip'}", "missing.zip: no such file"),
        (f"sb3:{tmp_path}", "no such file"),
        (f"sb3:{rubbish}", "rubbish.zip cannot be read"),
        (f"sb3:{empty}", "empty.zip cannot be read"),
        (f"sb3:{other}", r"other.zip was trained on something else: observations \(4,\)"),
    ):
        with pytest.raises(InputError, match=message) as caught:
            policy_named(name)
        assert "\n" not in str(caught.value)


def test_figures_and_paired_differences() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.2, 0.1, 400), rng.normal(0.1, 0.1, 400)
    one = figure("a", a, "served")
    error = stats.sem(a)
    low, high = stats.norm.interval(0.95, a.mean(), error)
    assert (one.value, one.low, one.high) == pytest.approx((a.mean(), low, high))
    result = compare("a", {"a": a, "b": b}, "served")
    lead = result.lead("b")
    assert lead.name == "a - b"
    assert (lead.low, lead.high) == pytest.approx(
        stats.norm.interval(0.95, (a - b).mean(), stats.sem(a - b))
    )
    with pytest.raises(InputError, match="scores of b must have shape"):
        compare("a", {"a": a, "b": b[:-1]}, "served")
    with pytest.raises(InputError, match="scores of b must be finite"):
        compare("a", {"a": a, "b": np.where(b > 0, b, np.nan)}, "served")
    plain, terminal = io.StringIO(), io.StringIO()
    show(Console(file=plain), "title", result)
    assert plain.getvalue().splitlines()[1:] == [
        f"  b: {result.of('b').text()}; {lead.text()}",
        f"  a: {result.of('a').text()}",
    ]
    show(Console(file=terminal, width=100, force_terminal=True), "title", result)
    assert lead.text() in terminal.getvalue()


def test_progress_in_plain_lines(tmp_path: Path) -> None:
    stream = io.StringIO()
    progress = Progress(Console(file=stream))
    plan = Plan(steps=64, **TINY)
    loop.train(Small(), plan, tmp_path / "run", progress=progress)
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("training on grand-exchange (random +")
    assert "reference +" in lines[0]
    assert lines[-1].startswith("100.0%")
    assert "64 steps" in lines[-1]
    assert "\x1b" not in stream.getvalue()


def test_progress_on_a_terminal(tmp_path: Path) -> None:
    stream = io.StringIO()
    progress = Progress(Console(file=stream, force_terminal=True, width=140))
    plan = Plan(steps=64, **TINY)
    loop.train(Small(), plan, tmp_path / "run", progress=progress)
    assert "steps" in stream.getvalue()
    assert "reference +" in stream.getvalue()


def test_a_loaded_model_plays_what_was_trained(trained: Path) -> None:
    policy = load_policy(trained / "model.zip")
    assert isinstance(policy.policy, BasketPolicy)
    assert policy.policy.width == 16


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str], trained: Path) -> None:
    out = tmp_path / "run"
    command = ["train", "grand-exchange", "--steps", "64", "--envs", "16", "--out", str(out)]
    assert main(command) == 0
    said = capsys.readouterr()
    assert "agent does not beat plain: -" in said.out
    assert "informed: +" in said.out
    assert said.err.splitlines()[-1].startswith("100.0%")
    assert (out / "baskets.png").exists()
    assert main(command) == 2
    assert capsys.readouterr().err.startswith(f"wager: {out} is not empty (resume goes on")
    assert main([*command, "--resume"]) == 0
    capsys.readouterr()
    report = tmp_path / "report.json"
    graded = ["evaluate", "grand-exchange", "--seeds", "300", "--json", str(report)]
    assert main([*graded, "--policy", f"sb3:{trained / 'model.zip'}"]) == 0
    assert "paired" in capsys.readouterr().out
    jsonschema.validate(json.loads(report.read_text()), json.loads(SCHEMA_FILE.read_text()))
    result = json.loads((trained / "results.json").read_text())
    assert json.loads(report.read_text())["figures"][-1]["value"] == result["curve"][-1]["value"]
    assert main([*graded, "--policy", "plain"]) == 0
    assert len(json.loads(report.read_text())["figures"]) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "chess", "--out", "x"], "game must be one of: garble, grand-exchange"),
        (["train", "grand-exchange", "--out", "x", "--minutes", "-5"], "minutes must be above 0"),
        (["train", "grand-exchange", "--out", "x", "--envs", "0"], "envs must be 2.."),
        (["train", "grand-exchange", "--out", "/proc/x", "--steps", "9"], "cannot write /proc/x"),
        (["evaluate", "grand-exchange", "--policy", "nobody"], "no such policy; known: "),
        (["evaluate", "grand-exchange", "--policy", "plain", "--seeds", "0"], "seeds must be 2.."),
        (["evaluate", "grand-exchange", "--policy", "plain", "--json", "/no/x"], "cannot write"),
        (["evaluate", "grand-exchange", "--policy", "sb3:/no/x"], "model /no/x: no such file"),
    ],
)
def test_a_users_mistake_is_one_line_and_exit_2(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert len(said.err.splitlines()) == 1
    assert said.out == ""
    assert not list(tmp_path.iterdir())


def test_the_recorded_run_is_what_its_page_says() -> None:
    folder = Path(__file__).parent.parent / "docs" / "runs" / "grand_exchange"
    result = json.loads((folder / "results.json").read_text())
    assert result["digest"] == digest(result)
    jsonschema.validate(result, json.loads(SCHEMA_FILE.read_text()))
    task = GrandExchangeTask(result["seeds"]["count"])
    scores = task.returns(load_policy(folder / "model.zip"))
    agent = next(one for one in result["figures"] if one["name"] == "agent")
    assert scores.mean() == pytest.approx(agent["value"], abs=1e-4)
    assert f"{100 * scores.mean():+.2f}%" in (folder / "README.md").read_text()
    assert figure("lead", scores - task.returns(POLICIES["plain"]), "served").low > 0.04
