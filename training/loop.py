"""The training loop: segments of PPO, an evaluation and a checkpoint between them.

A run is a row of segments. Each begins with new seeds for everything random (environments, action
noise, minibatch order), derived from the run's seed and the segment's number. So there is nothing
to remember across a border but the model with its optimiser, and a run that was killed and resumed
is, under a budget of steps, the run that was not: bit for bit on the same machine. A budget of
minutes bends the learning rate to the clock, so there no two runs are equal.
"""

from __future__ import annotations

import io
import time
from pathlib import Path
from typing import Any

from ..envs.errors import InputError, require
from ..envs.files import write_bytes, write_json
from ..envs.rng import mix

require("stable_baselines3", "train")

import torch  # noqa: E402
from stable_baselines3 import PPO  # noqa: E402
from stable_baselines3.common.callbacks import BaseCallback  # noqa: E402
from stable_baselines3.common.logger import (  # noqa: E402
    KVWriter,
    Logger,
    TensorBoardOutputFormat,
)
from stable_baselines3.common.utils import LinearSchedule, set_random_seed  # noqa: E402
from stable_baselines3.common.vec_env import VecEnv  # noqa: E402

from .plots import learning_curve  # noqa: E402
from .progress import Progress  # noqa: E402
from .results import Comparison, Scores, compare, figure, report  # noqa: E402
from .runs import MODEL, RESULTS, TIMING, Checkpoint, Run  # noqa: E402
from .task import Plan, Task  # noqa: E402

__all__ = ["AGENT", "PacedPPO", "train"]

AGENT = "agent"
SAVE_EVERY = 5.0
"""Least seconds between two checkpoints."""


class PacedPPO(PPO):
    """PPO whose schedules follow ``spent``, the share of the run's budget that is used up.

    The weight of the entropy bonus falls from ``entropy`` as the learning rate does.
    """

    spent: float = 0.0
    entropy: float = 0.0

    def _update_current_progress_remaining(self, num_timesteps: int, total_timesteps: int) -> None:
        self._current_progress_remaining = 1.0 - self.spent
        self.ent_coef = self.entropy * self._current_progress_remaining


class _Pace(BaseCallback):
    """Keeps the model's ``spent``, shows the progress, and stops at the end of the minutes."""

    def __init__(self, plan: Plan, progress: Progress, seconds: float) -> None:
        super().__init__()
        self.plan = plan
        self.progress = progress
        self.begin = time.monotonic() - seconds

    @property
    def seconds(self) -> float:
        """Time spent in segments, of this process and of those before it."""
        return time.monotonic() - self.begin

    def _on_step(self) -> bool:
        assert isinstance(self.model, PacedPPO)
        seconds = self.seconds
        self.model.spent = self.plan.spent(seconds, self.num_timesteps)
        self.progress.moved(self.model.spent, self.num_timesteps)
        return self.plan.minutes is None or seconds < 60.0 * self.plan.minutes


def train(
    task: Task,
    plan: Plan,
    folder: str | Path,
    resume: bool = False,
    progress: Progress | None = None,
) -> Comparison:
    """Train on ``task`` into ``folder``, and compare the agent with its rivals.

    The folder then holds ``config.json``, ``checkpoint.zip``, ``model.zip`` (Stable-Baselines3),
    ``results.json``, ``timing.json``, ``learning_curve.png``, the task's pictures, and
    ``tensorboard/``. The evaluation does not choose the model: what is graded is what the budget
    left. With ``resume``, a run in the folder is gone on with from its last checkpoint.

    Raises:
        InputError: before any work, if the folder is taken or cannot be written, or its checkpoint
            cannot be read.
    """
    run = Run(folder, {"subject": task.subject} | plan.to_json())
    state = run.open(resume)
    progress = progress or Progress(unit=task.unit)
    torch.set_num_threads(plan.threads)
    env = task.vec_env(plan)
    try:
        model = _model(task, plan, env, run, state)
        rivals = task.rivals()
        with progress.over(task.subject, {name: rivals[name].mean() for name in task.shown}):
            scores = _learn(task, plan, model, run, state, progress)
    finally:
        env.close()
    return _finish(task, model, run, state, {AGENT: scores} | rivals)


def _model(task: Task, plan: Plan, env: VecEnv, run: Run, state: Checkpoint) -> PacedPPO:
    """A new model, or the checkpoint's."""
    if state.model:
        try:
            return PacedPPO.load(io.BytesIO(state.model), env=env, device="cpu")
        except Exception as error:  # a pickle inside can fail in any way
            raise InputError(
                f"{run.folder}: the checkpoint's model cannot be read: {error}"
            ) from None
    network, arguments = task.policy(plan)
    model = PacedPPO(
        network,
        env,
        learning_rate=LinearSchedule(plan.learning_rate, 0.0, 1.0),
        n_steps=plan.n_steps,
        batch_size=min(plan.batch, plan.envs * plan.n_steps),
        n_epochs=plan.epochs,
        clip_range=plan.clip,
        gamma=1.0,
        gae_lambda=1.0 if plan.n_steps == 1 else 0.95,
        policy_kwargs=arguments,
        seed=plan.seed,
        device="cpu",
    )
    model.entropy = plan.entropy
    return model


def _learn(
    task: Task, plan: Plan, model: PacedPPO, run: Run, state: Checkpoint, progress: Progress
) -> Scores:
    """Run the segments that are left; the last evaluation's scores."""
    env = model.get_env()
    assert env is not None
    writers: list[KVWriter] = [TensorBoardOutputFormat(str(run.folder / "tensorboard"))]
    logger = Logger(None, writers)
    model.set_logger(logger)
    pace = _Pace(plan, progress, state.seconds)
    saved = time.monotonic()
    scores = task.score(model.policy)
    if not state.curve:
        _evaluated(task, state, scores, 0, pace.seconds)
    progress.scored(float(scores.mean()), model.num_timesteps)
    while plan.spent(pace.seconds, model.num_timesteps) < 1.0:
        key = int(mix(plan.seed, state.segment) >> 2)
        set_random_seed(key & 0x7FFFFFFF)
        task.begin(model.policy)
        env.seed(key)
        model.set_env(env, force_reset=True)
        rollout = plan.envs * plan.n_steps
        # short segments at first, where a curve is steep
        count = min(max(1, 2 ** (state.segment - 1)), plan.rollouts)
        if plan.steps is not None:
            count = min(count, -((model.num_timesteps - plan.steps) // rollout))
        model.learn(count * rollout, pace, log_interval=count, reset_num_timesteps=False)
        state.segment += 1
        scores = task.score(model.policy)
        _evaluated(task, state, scores, model.num_timesteps, pace.seconds)
        progress.scored(float(scores.mean()), model.num_timesteps)
        logger.record("eval/score", float(scores.mean()))
        logger.dump(model.num_timesteps)
        state.seconds = pace.seconds
        over = plan.spent(state.seconds, model.num_timesteps) >= 1.0
        if over or time.monotonic() - saved >= SAVE_EVERY:
            model.set_env(env, force_reset=True)  # forgets the last observations: not kept
            state.model = _saved(model)
            run.save(state)
            saved = time.monotonic()
    logger.close()
    return scores


def _evaluated(task: Task, state: Checkpoint, scores: Scores, steps: int, seconds: float) -> None:
    """Add a point to the curve."""
    one = figure(AGENT, scores, str(task.seeds["split"]), task.unit)
    state.curve.append({"steps": steps, "value": one.value, "low": one.low, "high": one.high})
    state.clock.append(seconds)


def _saved(model: PPO) -> bytes:
    stream = io.BytesIO()
    model.save(stream)
    return stream.getvalue()


def _finish(
    task: Task, model: PacedPPO, run: Run, state: Checkpoint, scores: dict[str, Scores]
) -> Comparison:
    """Write what came out."""
    comparison = compare(AGENT, scores, str(task.seeds["split"]), task.unit)
    write_bytes(run.folder / MODEL, _saved(model))
    steps = model.num_timesteps
    config: dict[str, Any] = run.config | {"steps_done": steps}
    result = report("train", task.subject, config, task.seeds, comparison, state.curve)
    write_json(run.folder / RESULTS, result)
    timing = {"seconds": state.seconds, "steps_a_second": steps / max(state.seconds, 1e-9)}
    write_json(run.folder / TIMING, timing | {"clock": state.clock})
    learning_curve(run.folder / "learning_curve.png", task, state.curve, comparison)
    task.pictures(model.policy, run.folder)
    return comparison
