"""What the scripts share: a command line, training with checkpoints, acting from one."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import ray
import torch
from numpy.typing import NDArray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.rl_module import RLModule

from ...envs.errors import InputError, check_int

__all__ = ["SHARED", "Module", "choose", "command", "load", "mean_text", "run", "scores", "train"]

Module: TypeAlias = Any
"""A network of RLlib, which is not typed."""
Seen: TypeAlias = Mapping[str, NDArray[Any]] | NDArray[Any]
"""Observations (batch, ...)."""

SHARED = "shared"
"""The one policy that sits in every seat."""
_MODULES = Path("learner_group", "learner", "rl_module")  # in a checkpoint


def train(
    config: PPOConfig,
    iterations: int,
    out: Path,
    restore: Path | None = None,
    tell: Callable[[int, float], None] = lambda iteration, mean: None,
) -> None:
    """Train for ``iterations`` more and leave a checkpoint in ``out``.

    ``restore`` is a checkpoint to go on from; ``tell`` gets the number of each iteration and the
    mean return of its episodes, with several agents the sum of theirs.

    Raises:
        InputError: if ``restore`` is no checkpoint of this configuration.
    """
    algorithm: Any = config.build_algo()
    try:
        if restore is not None:
            try:
                algorithm.restore_from_path(str(restore.resolve()))
            except Exception as error:  # pickles inside can fail in any way
                raise InputError(_unreadable(restore, error)) from None
        for _ in range(iterations):
            result = algorithm.train()
            mean = result["env_runners"].get("episode_return_mean", float("nan"))
            tell(result["training_iteration"], float(mean))
        algorithm.save_to_path(str(out.resolve()))
    finally:
        algorithm.stop()


def load(checkpoint: Path, policy: str = SHARED) -> Module:
    """The network of a policy in a checkpoint; Ray need not run. Load only files that you trust.

    Raises:
        InputError: if there is none.
    """
    try:
        return RLModule.from_checkpoint(str(checkpoint.resolve() / _MODULES / policy))
    except Exception as error:  # pickles inside can fail in any way
        raise InputError(_unreadable(checkpoint, error)) from None


def _unreadable(checkpoint: Path, error: Exception) -> str:
    line = (str(error) or type(error).__name__).splitlines()[0]
    return f"{checkpoint} is no checkpoint of this game: {line[:160]}"


def scores(module: Module, seen: Seen) -> Any:
    """What the network makes of observations: logits, or the mean and log sd, (batch, ...)."""
    if isinstance(seen, Mapping):
        given: Any = {name: torch.as_tensor(array) for name, array in seen.items()}
    else:
        given = torch.as_tensor(seen)
    with torch.no_grad():
        return module.forward_inference({Columns.OBS: given})[Columns.ACTION_DIST_INPUTS]


def choose(module: Module, seen: Seen) -> NDArray[Any]:
    """The likeliest action in each row of observations."""
    chances = module.get_inference_action_dist_cls().from_logits(scores(module, seen))
    actions: NDArray[Any] = chances.to_deterministic().sample().numpy()
    return actions


def mean_text(values: NDArray[np.float64]) -> str:
    """A mean and the half-width of its 95% interval (normal approximation)."""
    half = 1.96 * values.std(ddof=1) / len(values) ** 0.5
    return f"{values.mean():+.4f} ± {half:.4f} (n = {len(values)})"


def command(about: str) -> argparse.ArgumentParser:
    """The options of every script."""
    parser = argparse.ArgumentParser(description=about.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of the checkpoint")
    parser.add_argument("--iterations", type=int, default=50, help="how many more (50)")
    parser.add_argument("--restore", type=Path, help="a checkpoint to go on from")
    parser.add_argument("--runners", type=int, default=0, help="processes that play (0: this one)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ray", metavar="ADDRESS", help="a cluster; without, Ray starts here")
    return parser


def run(
    parser: argparse.ArgumentParser,
    arguments: Sequence[str] | None,
    make_config: Callable[[argparse.Namespace], PPOConfig],
    grade: Callable[[argparse.Namespace, Module], str],
    policy: str = SHARED,
) -> None:
    """Train as the command line says, and print what ``grade`` finds of the checkpoint."""
    options = parser.parse_args(arguments)
    try:
        check_int("--iterations", options.iterations, 1)
        check_int("--runners", options.runners, 0, 1024)
        check_int("--seed", options.seed, 0, 2**31 - 1)
        if options.restore is not None:
            load(options.restore, policy)  # before Ray takes its time to start
        config = make_config(options)
        config.env_runners(num_env_runners=options.runners)
        config.debugging(seed=options.seed, log_level="ERROR")
        _start(options.ray)
        try:
            train(
                config,
                options.iterations,
                options.out,
                options.restore,
                lambda k, mean: print(f"iteration {k}: mean return {mean:.4f}", flush=True),
            )
        finally:
            ray.shutdown()
        print(grade(options, load(options.out, policy)))
    except InputError as error:
        parser.error(str(error))


def _start(address: str | None) -> None:
    here = {} if address else {"include_dashboard": False}
    try:
        ray.init(address, log_to_driver=False, logging_level="error", **here)
    except Exception as error:  # what it raises depends on how it failed
        line = (str(error) or type(error).__name__).splitlines()[0]
        what = f"no Ray cluster at {address!r}" if address else "Ray does not start here"
        raise InputError(f"{what}: {line[:160]}") from None
