"""RLlib trains every game, keeps what it learned, and plays with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wager.envs.errors import InputError

ray: Any = pytest.importorskip("ray")
pytest.importorskip("tree")

from wager.envs.poker.exploitability import exploitability  # noqa: E402
from wager.training.rllib import garble, grand_exchange, poker, session  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield
    ray.shutdown()


def trained(config: Any, out: Path, restore: Path | None = None) -> list[tuple[int, float]]:
    told: list[tuple[int, float]] = []
    config.env_runners(num_env_runners=0).debugging(seed=0, log_level="ERROR")
    session.train(config, 1, out, restore, lambda k, mean: told.append((k, mean)))
    return told


def weights(module: Any) -> list[Any]:
    return [value.numpy() for value in module.state_dict().values()]


def test_garble(tmp_path: Path) -> None:
    """One policy at the table of the parallel environment; a checkpoint is gone on from."""
    first, second = tmp_path / "first", tmp_path / "second"
    ((count, mean),) = trained(garble.make_config(24), first)
    assert count == 1
    assert np.isfinite(mean)
    assert [k for k, _ in trained(garble.make_config(24), second, first)] == [2]
    modules = [session.load(path) for path in (first, second)]
    assert any((a != b).any() for a, b in zip(*map(weights, modules), strict=True))
    seeds = range(60_000, 60_003)
    scores = garble.table_scores(modules[0], seeds)
    assert (scores >= 0.0).all()
    assert (scores == garble.table_scores(session.load(first), seeds)).all()


def test_poker(tmp_path: Path) -> None:
    """One policy on both sides of the AEC environment, every action within its mask."""
    trained(poker.make_config("leduc", 60), tmp_path / "run")
    module = session.load(tmp_path / "run")
    assert 0.0 < exploitability("leduc", poker.player(module, "leduc").strategy("leduc")) < 15.0
    env = poker.make(table="leduc", hands=20)
    env.reset(seed=0)
    for _ in env.agent_iter():
        seen, _, terminated, truncated, _ = env.last()
        if terminated or truncated:
            env.step(None)
            continue
        mask = seen["action_mask"]
        batch = {name: array[None] for name, array in seen.items()}
        assert (session.scores(module, batch)[0].numpy()[mask == 0] < -1e8).all()
        env.step(session.choose(module, batch)[0])  # raises if it is not legal
    out_of_turn = {"observation": batch["observation"], "action_mask": np.zeros((1, 3), np.int8)}
    assert np.isfinite(session.scores(module, out_of_turn).numpy()).all()


def test_grand_exchange(tmp_path: Path) -> None:
    """A single agent, made by its Gymnasium id."""
    trained(grand_exchange.make_config(40), tmp_path / "run")
    module = session.load(tmp_path / "run", grand_exchange.DEFAULT_MODULE_ID)
    returns = grand_exchange.returns(module, range(4))
    assert (returns >= -1.0).all()
    assert returns.std() > 0.0
    with pytest.raises(InputError, match="is no checkpoint of this game"):
        session.load(tmp_path / "run")  # no policy of that name in it


def test_a_checkpoint_of_another_game_is_refused(tmp_path: Path) -> None:
    trained(poker.make_config("kuhn", 30), tmp_path / "kuhn")
    with pytest.raises(InputError, match="is no checkpoint of this game"):
        trained(poker.make_config("leduc", 30), tmp_path / "leduc", tmp_path / "kuhn")
    assert not (tmp_path / "leduc").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--iterations", "0"], "--iterations must be at least 1; got 0"),
        (["--runners", "-1"], "--runners must be 0..1024; got -1"),
        (["--seed", "-1"], "--seed must be 0..2147483647; got -1"),
        (["--restore", "nowhere"], "nowhere is no checkpoint of this game"),
        (["--table", "bridge"], "invalid choice: 'bridge'"),
    ],
)
def test_a_mistake_on_the_command_line_is_one_line(
    options: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        poker.main(["--out", str(tmp_path / "run"), *options])
    assert ended.value.code == 2
    assert words in capsys.readouterr().err.splitlines()[-1]


def test_the_command_line_trains_and_grades(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray, "init", lambda *_, **__: None)  # it runs already
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    make_config = poker.make_config
    monkeypatch.setattr(poker, "make_config", lambda table: make_config(table, 40))
    out = str(tmp_path / "run")
    poker.main(["--out", out, "--iterations", "1", "--table", "kuhn"])
    first = capsys.readouterr().out.splitlines()
    assert first[0].startswith("iteration 1: mean return ")
    assert re.fullmatch(
        r"kuhn: exploitability 0\.\d{4} chips a hand; of random play 0\.4583", first[1]
    )


def test_names_outlive_a_restart_of_ray(tmp_path: Path) -> None:
    ray.shutdown()
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="error")
    trained(poker.make_config("kuhn", 40), tmp_path / "run")
