"""Chat transcripts of scripted teachers: the very conversations in which an endpoint is asked.

A teacher sits at a match as a chat endpoint does, under a clock that never presses, and answers
from the text alone. What it was told and what it said is kept: a conversation an episode, in poker
one a hand.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from ..envs.errors import InputError, check_int
from ..envs.files import digest, write_json, writing
from ..envs.garble import replay as garble_replays
from ..envs.garble.constants import SEATS
from ..envs.grand_exchange import replay as exchange_replays
from ..envs.grand_exchange.market import served_seeds
from ..envs.poker import replay as poker_replays
from ..envs.rng import mix
from ..envs.seats import parse_seat
from ..envs.seeds import SEED_BASE, TRAIN_LOW, training_seed
from ..wrappers.text import read_poker
from .match.chat import Completion, Message
from .match.clock import VirtualTime
from .match.lineup import GAMES, seat_players
from .match.match import play_match
from .match.pace import Limits
from .match.scripted import answers
from .match.seats import ChatSeat, Player, assistant
from .match.server import Answer
from .results import LEVEL, Unit, figure

SCHEMA = "wager.transcripts/1"
SUFFIX = ".jsonl"
MAX_EPISODES = 1_000_000
MAX_SEED = 2**63 - 1

Split: TypeAlias = Literal["train", "eval"]
SPLITS: tuple[Split, ...] = ("train", "eval")
Row: TypeAlias = dict[str, Any]

_UNHURRIED = Limits(stop=math.inf, settle=math.inf, spacing=0.0, even=False, rate=None)


@dataclass(frozen=True)
class Lessons:
    """What to have played, and by whom.

    ``policy`` is the teacher. It has every seat, or with ``others`` one among policies of that
    name, another at each episode. ``seed`` picks the stream of training seeds and a mixing
    policy's draws. ``table``, ``hands`` and ``pairs`` are poker's, ``turns`` Garble's, ``live`` (a
    decision a tick) Grand Exchange's.

    Raises:
        InputError: for a value out of its range, or one that is not the game's.
    """

    game: str
    policy: str = "reference"
    others: str | None = None
    episodes: int = 1
    split: Split = "train"
    seed: int = 0
    table: str | None = None
    hands: int | None = None
    turns: int | None = None
    live: bool = False
    pairs: bool = True

    def __post_init__(self) -> None:
        if self.game not in GAMES:
            raise InputError(f"game must be one of: {', '.join(GAMES)}; got {self.game!r}")
        if self.split not in SPLITS:
            raise InputError(f"split must be {' or '.join(SPLITS)}; got {self.split!r}")
        most = MAX_EPISODES if self.split == "train" else TRAIN_LOW - SEED_BASE
        check_int("episodes", self.episodes, 1, min(most, MAX_EPISODES))
        check_int("seed", self.seed, 0, MAX_SEED)
        for name, owner in (
            ("table", "poker"),
            ("hands", "poker"),
            ("pairs", "poker"),
            ("turns", "garble"),
            ("live", "grand-exchange"),
        ):
            if getattr(self, name) != getattr(Lessons, name) and self.game != owner:
                raise InputError(f"{name} goes with {owner}, not {self.game}")
        if self.others is not None and self.game == "grand-exchange":
            raise InputError("others: grand-exchange has one seat")
        for name in (self.policy, self.others or self.policy):
            parse_seat(name, GAMES[self.game], ["policy"])
            seat_players(self.game, [name], self.config().get("table", ""))

    def config(self) -> dict[str, Any]:
        """The config of every episode's replay."""
        if self.game == "garble":
            return garble_replays.config(self.turns)
        if self.game == "poker":
            return poker_replays.config(self.table or "kuhn", self.hands, self.pairs)
        return exchange_replays.config(decision_interval=1 if self.live else None)

    def seeds(self) -> list[int]:
        """The seed of each episode (Grand Exchange: of the market), all of the split."""
        count = range(self.episodes)
        if self.split == "train":
            return [training_seed(self.seed, k) for k in count]
        if self.game == "grand-exchange":
            return [int(seed) for seed in served_seeds(self.episodes)]
        return [SEED_BASE + k for k in count]


class Teacher:
    """A policy in a chat model's place: it answers a seat's conversations, and keeps them."""

    def __init__(self, answer: Answer) -> None:
        self.conversations: list[list[Message]] = []
        self._answer = answer

    async def complete(self, messages: Sequence[Message], timeout: float) -> Completion:
        """Say what the policy decides."""
        told = [dict(message) for message in messages]
        whole = [*told, assistant(self._answer(told))]
        if self.conversations and self.conversations[-1] == told[:-1]:
            self.conversations.pop()  # it goes on
        self.conversations.append(whole)
        return Completion(whole[-1]["content"])

    async def __aenter__(self) -> Teacher:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


@dataclass(frozen=True)
class Lesson:
    """An episode: its seed, the mean score of the teacher's seats, and a row a conversation.

    A row has ``messages`` and says where they are from: ``game``, ``policy``, ``split``, ``seed``,
    ``episode`` (from 0), ``seat`` and its ``score`` of the whole episode; in poker ``table`` and
    ``hand`` (from 0), too. Where a seat has nothing to decide, there is no conversation.
    """

    seed: int
    score: float
    rows: tuple[Row, ...]


def teach(lessons: Lessons) -> Iterator[Lesson]:
    """Play the episodes, in order."""
    config = lessons.config()
    for episode, seed in enumerate(lessons.seeds()):
        players, teachers = _seat(lessons, episode)
        match = play_match(lessons.game, config, seed, players, _UNHURRIED, clock=VirtualTime)
        assert not any(player.tally.faults for player in players)
        results = match.replay["results"]
        scores = results["scores"] if "scores" in results else [results["return"]]
        rows = []
        for seat, teacher in teachers.items():
            where = {
                "game": lessons.game,
                "policy": lessons.policy,
                "split": lessons.split,
                "seed": seed,
                "episode": episode,
                "seat": f"seat_{seat}",
                "score": scores[seat],
            }
            for messages in teacher.conversations:
                row = {"messages": messages} | where
                if lessons.game == "poker":
                    hand = read_poker.read(messages).number("hand")
                    row |= {"table": config["table"], "hand": hand}
                rows.append(row)
        yield Lesson(seed, sum(scores[seat] for seat in teachers) / len(teachers), tuple(rows))


def export(lessons: Lessons, out: Path, watch: Any = lambda played, of: None) -> dict[str, Any]:
    """Write the transcripts, a JSON object a line, and a manifest beside them; return that.

    The manifest (``manifest_of(out)``) comes last, so data without one are not whole. ``watch`` is
    told after each episode how many of how many are played.

    Raises:
        InputError: if either file is there already or cannot be written, or for another suffix.
    """
    if out.suffix != SUFFIX:
        raise InputError(f"out must end in {SUFFIX}; got {out.name!r}")
    for path in (out, manifest_of(out)):
        if path.exists() or path.is_symlink():
            raise InputError(f"{path} is there already: nothing is overwritten")
    sha, counts = hashlib.sha256(), {"conversations": 0, "decisions": 0, "characters": 0}
    scores = []
    with writing(out) as stream:
        for lesson in teach(lessons):
            for row in lesson.rows:
                line = f"{json.dumps(row, ensure_ascii=False)}\n".encode()
                stream.write(line)
                sha.update(line)
                said = [message["content"] for message in row["messages"]]
                counts["conversations"] += 1
                counts["decisions"] += len(said) // 2
                counts["characters"] += sum(map(len, said))
            scores.append(lesson.score)
            watch(len(scores), lessons.episodes)
        size = stream.tell()
    manifest = _manifest(lessons, scores, counts)
    manifest["data"] = {"file": out.name, "bytes": size, "sha256": sha.hexdigest()}
    manifest["digest"] = digest(manifest)
    try:
        write_json(manifest_of(out), manifest)
    except BaseException:
        out.unlink()
        raise
    return manifest


def manifest_of(out: Path) -> Path:
    """Where the manifest of a data file stands."""
    return out.with_suffix(".manifest.json")


def _manifest(
    lessons: Lessons, scores: Sequence[float], counts: Mapping[str, int]
) -> dict[str, Any]:
    """What was played, without the data's own entry."""
    unit: Unit = "return" if lessons.game == "grand-exchange" else "score"
    score = asdict(figure(lessons.policy, np.array(scores), lessons.split, unit))
    if len(scores) < 2:
        score |= {"low": None, "high": None}
    seeds = lessons.seeds()
    return {
        "schema": SCHEMA,
        "game": lessons.game,
        "version": version("wager"),
        "config": lessons.config(),
        "policy": lessons.policy,
        "others": lessons.others,
        "seed": lessons.seed,
        "split": lessons.split,
        "seeds": {"split": lessons.split, "count": len(seeds), "all": seeds},
        "episodes": lessons.episodes,
        **counts,
        "level": LEVEL,
        "score": score,
    }


def _seat(lessons: Lessons, episode: int) -> tuple[list[Player], dict[int, Teacher]]:
    """Who sits where at an episode, and the teachers among them by seat."""
    config = lessons.config()
    seats = {"garble": SEATS, "grand-exchange": 1}.get(lessons.game)
    if seats is None:
        seats = poker_replays.table_of(config).seats
    names = [lessons.others or lessons.policy] * seats
    players = seat_players(lessons.game, names, config.get("table", ""))
    taught = range(seats) if lessons.others is None else [episode % seats]
    draws = int(mix(lessons.seed, episode) >> np.uint64(1))  # a seed is at most 2^63-1
    teachers = {}
    for seat in taught:
        teachers[seat] = Teacher(answers(lessons.policy, draws))
        players[seat] = ChatSeat(lessons.policy, teachers[seat])
    return players, teachers
