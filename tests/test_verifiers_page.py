"""The page on language models: its configs name what exists, its scripts run as they stand."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("verifiers.v1")
import verifiers.v1 as vf

PAGE = (Path(__file__).parent.parent / "docs" / "verifiers.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_the_config_names_what_exists() -> None:
    (text,) = blocks("toml")
    config = tomllib.loads(text)["orchestrator"]
    sources = config["train"]["source"] + config["eval"]["source"]
    assert {s["env"]["taskset"]["id"].removeprefix("wager-") for s in sources} == {
        "garble",
        "grand-exchange",
        "poker",
    }
    for source in sources:
        env = vf.load_environment(vf.resolve_env_config(source["env"]))
        assert next(iter(env.taskset)).data.split == source["env"]["taskset"].get("split", "eval")


def test_the_options_are_those_of_the_tasksets() -> None:
    table = PAGE.split("| `--env.taskset.` |")[1].split("\n\n")[0]
    firsts = [row.split("|")[1] for row in table.splitlines()[2:] if row]
    named = {name for first in firsts for name in re.findall(r"`(\w+)`", first)}
    fields: set[str] = set()
    for plugin in ("wager-garble", "wager-grand-exchange", "wager-poker"):
        fields |= set(vf.taskset_config_type(plugin).model_fields)
    assert named == fields - {"id", "task", "seed"}  # the stream stands beside the split


class Trainer:
    """Plays a trainer's part: some rows, each a few times, with a model that always says this."""

    says = ""
    rewards: list[float] = []  # noqa: RUF012

    def __init__(
        self, reward_funcs: Any, train_dataset: Any, environment_factory: Any = None, **others: Any
    ) -> None:
        self.reward, self.rows, self.factory = reward_funcs, train_dataset, environment_factory

    def train(self) -> None:
        for row in self.rows[:3]:
            if self.factory is None:
                reply = [[{"role": "assistant", "content": self.says}]]
                self.rewards += self.reward(completions=reply, seed=[row["seed"]], prompt=[])
                continue
            env = self.factory()
            told = env.reset(**row)
            for _ in range(6):
                if told == "The hand is over.":
                    break
                try:
                    told = env.act(self.says)
                except ValueError as error:
                    told = str(error)
            assert told == "The hand is over."
            self.rewards += self.reward(environments=[env], seed=[row["seed"]])


@pytest.mark.parametrize(
    ("place", "says", "low", "high"),
    [
        (0, '{"offers": []}', 0.0, 0.0),
        (0, "no", -1.0, -1.0),
        (1, '{"action": "call", "amount": null, "say": ""}', 0.4, 0.6),
        (1, "no", 0.0, 0.0),
    ],
)
def test_the_scripts_for_trl_run(
    monkeypatch: pytest.MonkeyPatch, place: int, says: str, low: float, high: float
) -> None:
    trl, datasets = ModuleType("trl"), ModuleType("datasets")
    trl.GRPOTrainer, trl.GRPOConfig = Trainer, dict  # type: ignore[attr-defined]
    datasets.Dataset = type("Dataset", (), {"from_list": staticmethod(list)})  # type: ignore[attr-defined]
    monkeypatch.setitem(__import__("sys").modules, "trl", trl)
    monkeypatch.setitem(__import__("sys").modules, "datasets", datasets)
    monkeypatch.setattr(Trainer, "says", says)
    monkeypatch.setattr(Trainer, "rewards", [])
    exec(compile(blocks("python")[place], "page", "exec"), {})
    assert len(Trainer.rewards) == 3
    assert all(low <= reward <= high for reward in Trainer.rewards)
