"""The text side on a real training step: a tiny language model learns to beat ``rock`` at Kuhn.

    python -m wager.training.grpo_kuhn --out runs/poker_grpo

A model made from a config, with a tokenizer trained on the same data, learns by TRL's
``SFTTrainer`` from transcripts of ``house``, which mixes as the equilibrium does and wins nothing
from ``rock``; then by ``GRPOTrainer`` from hands against ``rock``, which loses 0.25 chips a hand to
its best response. Evaluation seeds are used to measure alone. Needs the ``trl`` extra.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray

from ..envs.errors import InputError, MissingExtraError, require
from ..envs.files import write_json
from ..envs.poker.policies import make_policy
from ..envs.poker.replay import config
from ..envs.seeds import SEED_BASE
from ..wrappers.text import poker as text
from ..wrappers.text import read_poker
from ..wrappers.text.reply import ReplyError
from .match import poker
from .match.chat import ChatModel, Completion, Message
from .match.clock import VirtualTime, run
from .match.pace import Limits
from .match.seats import ChatSeat, Player, PolicySeat
from .plots import INK, PALETTE, new_picture, save_picture, style
from .results import Comparison, compare, figure, report, show
from .tiny_lm import EXTRA, Speaker, make_model, make_tokenizer
from .transcripts import Lessons, teach

TEACHER, RIVAL = "house", "rock"
BEST = 0.25
"""What the best response wins from ``RIVAL``, chips a hand: its exploitability."""
FLOOR = -2.0
"""The reward of a reply that cannot be read: all that a hand of Kuhn can lose, chips."""
LONGEST = 40
"""Most tokens of a reply."""
BEFORE, AFTER = "after SFT", "after GRPO"

_UNHURRIED = Limits(float("inf"), float("inf"), 0.0, False, rate=None)


@dataclass(frozen=True)
class Plan:
    """Sizes of a run; the defaults are the recorded run's.

    ``lessons``: hands of SFT. ``prompts``: decisions of a GRPO step, each answered ``group`` times.
    ``points``: GRPO steps between two points of the curve. ``seeds``: evaluation seeds at the end;
    ``curve_seeds``: at each point.
    """

    seed: int = 0
    lessons: int = 2000
    width: int = 64
    layers: int = 2
    vocabulary: int = 1200
    sft_steps: int = 300
    sft_batch: int = 16
    sft_rate: float = 3e-3
    grpo_steps: int = 100
    prompts: int = 8
    group: int = 8
    grpo_rate: float = 5e-4
    points: int = 20
    seeds: int = 600
    curve_seeds: int = 150


class Hand(NamedTuple):
    """A hand of Kuhn against ``RIVAL``: its seed, the model's seat, and what that has said."""

    seed: int
    seat: int
    replies: tuple[str, ...] = ()


class _Reminded:
    """A chat model that first repeats what was said, and then speaks for itself."""

    def __init__(self, replies: Sequence[str], model: ChatModel) -> None:
        self._replies, self._model = list(replies), model

    async def complete(self, messages: Sequence[Message], timeout: float) -> Completion:
        if self._replies:
            return Completion(self._replies.pop(0))
        return await self._model.complete(messages, timeout)

    async def __aenter__(self) -> _Reminded:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


def play_hands(hands: Sequence[Hand], speaker: ChatModel) -> tuple[NDArray[np.float64], int]:
    """Play the hands, all at once: the seat's net of each, chips, and how many decisions fell back.

    ``speaker`` decides what ``replies`` do not. Where it says nothing legal at the second try,
    ``house`` decides, as in every match.
    """
    rival = make_policy(RIVAL, "kuhn")

    async def one(hand: Hand) -> tuple[float, int]:
        seat = ChatSeat("model", _Reminded(hand.replies, speaker))
        players: list[Player] = [seat, PolicySeat(RIVAL, rival)]
        if hand.seat:
            players.reverse()
        replay = await poker.play(config("kuhn", 1, pairs=False), hand.seed, players, _UNHURRIED)
        return float(replay["results"]["net"][hand.seat]), seat.tally.fallbacks

    async def every() -> list[tuple[float, int]]:
        return await asyncio.gather(*map(one, hands))

    played = run(every(), VirtualTime)
    return np.array([net for net, _ in played]), sum(fallen for _, fallen in played)


def decisions(count: int, seed: int) -> list[dict[str, Any]]:
    """``count`` decisions of ``TEACHER`` against ``RIVAL`` on training seeds, for GRPO.

    ``prompt``: the conversation up to there; ``seed``, ``seat`` and ``replies`` make the ``Hand``.
    """
    rows: list[dict[str, Any]] = []
    lessons = Lessons("poker", TEACHER, RIVAL, count, seed=seed, hands=1, pairs=False)
    for lesson in teach(lessons):
        for row in lesson.rows:
            said = row["messages"]
            seat = int(row["seat"].removeprefix("seat_"))
            for end in range(2, len(said), 2):
                replies = [message["content"] for message in said[2:end:2]]
                rows.append(
                    {"prompt": said[:end], "seed": lesson.seed, "seat": seat, "replies": replies}
                )
        if len(rows) >= count:
            break
    return rows[:count]


def rewards(
    prompts: Sequence[Sequence[Message]],
    completions: Sequence[Sequence[Message]],
    seed: Sequence[int],
    seat: Sequence[int],
    replies: Sequence[Sequence[str]],
    speaker: ChatModel,
) -> list[float]:
    """The reward function: the net of the hand that a reply leads to, chips; else ``FLOOR``.

    What the seat has yet to decide after it, ``speaker`` does.
    """
    paid = np.full(len(completions), FLOOR)
    hands, places = [], []
    for k, (prompt, completion) in enumerate(zip(prompts, completions, strict=True)):
        said = completion[-1]["content"]
        try:
            text.parse(said, read_poker.read(prompt))
        except ReplyError:
            continue
        places.append(k)
        hands.append(Hand(seed[k], seat[k], (*replies[k], said)))
    if hands:
        paid[places] = play_hands(hands, speaker)[0]
    return [float(net) for net in paid]


def graded(speaker: ChatModel, count: int) -> tuple[NDArray[np.float64], int]:
    """The net a hand on each of ``count`` evaluation seeds, from both seats, and the fallbacks."""
    hands = [Hand(SEED_BASE + k, seat) for k in range(count) for seat in (0, 1)]
    nets, fallbacks = play_hands(hands, speaker)
    return nets.reshape(count, 2).mean(axis=1), fallbacks


@dataclass(frozen=True)
class Run:
    """The report of a run (``wager.report/1``), and the seconds of CPU until each stage ended."""

    report: dict[str, Any]
    comparison: Comparison
    seconds: dict[str, float]


def train(plan: Plan, log: Callable[[str], None]) -> Run:
    """The whole run.

    Raises:
        MissingExtraError: without the ``trl`` extra.
    """
    require("trl", EXTRA)
    torch = require("torch", EXTRA)
    torch.set_num_threads(1)
    torch.manual_seed(plan.seed)
    began = time.process_time()
    taught = Lessons("poker", TEACHER, episodes=plan.lessons, seed=plan.seed, hands=1, pairs=False)
    chats = [row["messages"] for lesson in teach(taught) for row in lesson.rows]
    tokenizer = make_tokenizer((m["content"] for chat in chats for m in chat), plan.vocabulary)
    model = make_model(tokenizer, plan.width, plan.layers)
    speaker = Speaker(model, tokenizer, LONGEST)
    size = sum(p.numel() for p in model.parameters())
    length = len(tokenizer.apply_chat_template(chats[0], return_dict=False))
    log(f"{len(chats)} conversations, the first {length} tokens long; {size:,} weights")
    seconds = {"transcripts": time.process_time() - began}
    with tempfile.TemporaryDirectory() as folder:
        _sft(plan, model, tokenizer, chats, folder)
        seconds["sft"] = time.process_time() - began
        curve: list[dict[str, Any]] = []
        _point(curve, 0, speaker, plan, log)
        before, fell_before = graded(speaker, plan.seeds)
        _grpo(plan, model, tokenizer, speaker, folder, curve, log)
    seconds["grpo"] = time.process_time() - began
    after, fell_after = graded(speaker, plan.seeds)
    seconds["all"] = time.process_time() - began
    comparison = compare(AFTER, {BEFORE: before, AFTER: after}, "eval", "score")
    seeds = {"split": "eval", "first": SEED_BASE, "last": SEED_BASE + plan.seeds - 1}
    settings = asdict(plan) | {
        "teacher": TEACHER,
        "rival": RIVAL,
        "unit": "chips a hand",
        "weights": size,
        "conversations": len(chats),
        "fallbacks": {BEFORE: fell_before, AFTER: fell_after},
        "versions": {name: version(name) for name in ("torch", "transformers", "trl")},
    }
    body = report("train", "poker", settings, seeds | {"count": plan.seeds}, comparison, curve)
    return Run(body, comparison, seconds)


def _trainer_settings(folder: str, plan: Plan) -> dict[str, Any]:
    """What both trainers are told: on the CPU, in float32, nothing kept, nothing sent."""
    return {
        "output_dir": folder,
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "save_strategy": "no",
        "report_to": "none",
        "disable_tqdm": True,
        "logging_strategy": "no",
        "seed": plan.seed,
    }


def _sft(plan: Plan, model: Any, tokenizer: Any, chats: list[Any], folder: str) -> None:
    trl, datasets = require("trl", EXTRA), require("datasets", EXTRA)
    settings = trl.SFTConfig(
        **_trainer_settings(folder, plan),
        max_steps=plan.sft_steps,
        per_device_train_batch_size=plan.sft_batch,
        learning_rate=plan.sft_rate,
        lr_scheduler_type="cosine",
        warmup_steps=20,
        assistant_only_loss=True,
    )
    data = datasets.Dataset.from_list([{"messages": chat} for chat in chats])
    trl.SFTTrainer(model, settings, train_dataset=data, processing_class=tokenizer).train()


def _grpo(
    plan: Plan,
    model: Any,
    tokenizer: Any,
    speaker: Speaker,
    folder: str,
    curve: list[dict[str, Any]],
    log: Any,
) -> None:
    trl, datasets = require("trl", EXTRA), require("datasets", EXTRA)
    transformers = require("transformers", EXTRA)

    def chips(prompts: Any, completions: Any, seed: Any, seat: Any, replies: Any, **_: Any) -> Any:
        return rewards(prompts, completions, seed, seat, replies, speaker)

    class Graded(transformers.TrainerCallback):  # type: ignore[name-defined,misc]
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step % plan.points == 0:
                _point(curve, state.global_step, speaker, plan, log)

    settings = trl.GRPOConfig(
        **_trainer_settings(folder, plan),
        max_steps=plan.grpo_steps,
        per_device_train_batch_size=plan.prompts * plan.group,
        num_generations=plan.group,
        max_completion_length=LONGEST,
        learning_rate=plan.grpo_rate,
        lr_scheduler_type="constant",
        scale_rewards="none",
    )
    rows = decisions(plan.grpo_steps * plan.prompts, plan.seed + 1)
    trl.GRPOTrainer(
        model,
        chips,
        settings,
        train_dataset=datasets.Dataset.from_list(rows),
        processing_class=tokenizer,
        callbacks=[Graded()],
    ).train()


def _point(curve: list[dict[str, Any]], step: int, speaker: Speaker, plan: Plan, log: Any) -> None:
    """One more point of the curve."""
    nets, fallbacks = graded(speaker, plan.curve_seeds)
    one = figure("agent", nets, "eval", "score")
    curve.append({"steps": step, "value": one.value, "low": one.low, "high": one.high, "n": one.n})
    log(f"GRPO step {step}: {one.text(difference=True)} chips a hand, {fallbacks} fallbacks")


def draw(path: Path, curve: Sequence[dict[str, Any]], comparison: Comparison) -> None:
    """Chips a hand against GRPO steps, with 95% intervals."""
    picture = new_picture(8.0, 4.5)
    axes = picture.subplots()
    style(axes)
    steps = [point["steps"] for point in curve]
    values = np.array([[point[name] for point in curve] for name in ("value", "low", "high")])
    axes.plot(steps, values[0], color=PALETTE[0], lw=2, label="sampled replies")
    axes.fill_between(steps, values[1], values[2], color=PALETTE[0], alpha=0.18, lw=0)
    axes.axhline(BEST, color=PALETTE[1], lw=1.2, ls="--", label="best response")
    axes.axhline(0.0, color=PALETTE[2], lw=1.2, ls="--", label=f"{TEACHER}, the teacher")
    axes.set_xlabel("GRPO steps", color=INK)
    axes.set_ylabel(f"chips a hand against {RIVAL}", color=INK)
    lead = comparison.lead(BEFORE).text(difference=True)
    axes.set_title(f"GRPO after SFT: {lead} chips a hand", color=INK, fontsize=11, loc="left")
    axes.legend(frameon=False, fontsize=9)
    save_picture(picture, path)


@contextmanager
def quiet() -> Iterator[None]:
    """Without the libraries' bars and warnings."""
    datasets = require("datasets", EXTRA)
    datasets.disable_progress_bars()
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


def main(
    out: Annotated[Path, typer.Option(help="A new folder.")] = Path("runs/poker_grpo"),
    seed: Annotated[int, typer.Option(help="Of the data, the weights and the sampling.")] = 0,
    sft_steps: Annotated[int, typer.Option(help="Steps of SFT.")] = Plan.sft_steps,
    grpo_steps: Annotated[int, typer.Option(help="Steps of GRPO.")] = Plan.grpo_steps,
    seeds: Annotated[int, typer.Option(help="Evaluation seeds at the end.")] = Plan.seeds,
) -> None:
    """Teach a tiny language model Kuhn poker: SFT on house, then GRPO against rock."""
    from rich.console import Console

    if out.exists():
        raise InputError(f"{out} is there already: nothing is overwritten")
    plan = Plan(seed=seed, sft_steps=sft_steps, grpo_steps=grpo_steps, seeds=seeds)
    console = Console()
    with quiet():
        run_of = train(plan, lambda line: console.print(line, highlight=False, soft_wrap=True))
    out.mkdir(parents=True)
    write_json(out / "results.json", run_of.report)
    write_json(out / "timing.json", run_of.seconds)
    draw(out / "learning_curve.png", run_of.report["curve"], run_of.comparison)
    show(console, f"chips a hand against {RIVAL}, {seeds} evaluation seeds", run_of.comparison)
    console.print(f"wrote {out}", highlight=False)


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing is downloaded
    try:
        typer.run(main)
    except (InputError, MissingExtraError) as error:
        print(f"grpo_kuhn: {error}", file=sys.stderr)
        sys.exit(2)
