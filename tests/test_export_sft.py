"""`wager export sft`: an endpoint's very conversations, whole episodes of one split, or nothing."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from wager.cli.main import main
from wager.envs.files import digest
from wager.envs.grand_exchange import replay as exchange_replays
from wager.envs.grand_exchange.market import served_seeds
from wager.envs.grand_exchange.policies import POLICIES as TRADERS
from wager.envs.poker import replay as poker_replays
from wager.envs.poker.policies import make_policy
from wager.envs.rng import mix
from wager.envs.seeds import SEED_BASE, TRAIN_HIGH, TRAIN_LOW, training_seed
from wager.training import transcripts
from wager.training.match.clock import VirtualTime
from wager.training.match.lineup import seat_players
from wager.training.match.match import play_match
from wager.training.match.pace import Limits
from wager.training.match.scripted import answers
from wager.training.transcripts import Lessons, export, manifest_of, teach
from wager.wrappers.text import (
    garble,
    grand_exchange,
    poker,
    read_garble,
    read_grand_exchange,
    read_poker,
)

TEXTS = {
    "garble": (garble, read_garble),
    "grand-exchange": (grand_exchange, read_grand_exchange),
    "poker": (poker, read_poker),
}
CASES = [
    Lessons("poker", "house", hands=8),
    Lessons("poker", "house", "rock", table="holdem-6max", hands=4, seed=5),
    Lessons("poker", "house", hands=1, pairs=False),
    Lessons("garble", "quoter", turns=6),
    Lessons("grand-exchange", live=True),
    Lessons("grand-exchange", split="eval"),
]


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def name(lessons: Lessons) -> str:
    return f"{lessons.game}-{lessons.table or ''}-{lessons.hands}-{lessons.live}-{lessons.split}"


@pytest.mark.parametrize("lessons", CASES, ids=name)
def test_an_endpoint_is_told_the_same(lessons: Lessons, monkeypatch: pytest.MonkeyPatch) -> None:
    """A match over (pretended) HTTP, its endpoints answering as the teacher does."""
    monkeypatch.setenv("WAGER_API_KEY", "none")
    answer = answers(lessons.policy, int(mix(lessons.seed, 0) >> np.uint64(1)))
    asked: list[list[dict[str, str]]] = []

    async def line(request: httpx.Request) -> httpx.Response:
        messages = json.loads(request.content)["messages"]
        said = answer(messages)
        asked.append([*messages, {"role": "assistant", "content": said}])
        return httpx.Response(200, json={"choices": [{"message": {"content": said}}]})

    (lesson,) = teach(lessons)
    taught = {int(row["seat"].removeprefix("seat_")) for row in lesson.rows}
    seats = {"garble": 5, "grand-exchange": 1, "poker": 6 if lessons.table else 2}[lessons.game]
    names = [
        "llm:m@https://h.example/v1" if seat in taught else lessons.others or ""
        for seat in range(seats)
    ]
    config = lessons.config()
    transport = lambda: httpx.MockTransport(line)  # noqa: E731
    players = seat_players(lessons.game, names, config.get("table", ""), transport=transport)
    endless = Limits(1e9, 1e9, 0.0, False, rate=None)
    match = play_match(lessons.game, config, lesson.seed, players, endless, clock=VirtualTime)
    assert not any(player.tally.faults for player in players)
    grown = [said for said in asked if not any(more[: len(said)] == said for more in asked
                                               if len(more) > len(said))]  # fmt: skip
    key = json.dumps
    assert sorted(map(key, grown)) == sorted(key(row["messages"]) for row in lesson.rows)
    results = match.replay["results"]
    scores = results.get("scores") or [results["return"]]
    assert lesson.score == pytest.approx(sum(scores[s] for s in taught) / len(taught), abs=1e-15)


@pytest.mark.parametrize("lessons", CASES, ids=name)
def test_replies_are_those_of_format_action(lessons: Lessons) -> None:
    text, reader = TEXTS[lessons.game]
    (lesson,) = teach(lessons)
    assert lesson.rows
    for row in lesson.rows:
        messages = row["messages"]
        roles = [message["role"] for message in messages]
        assert roles == ["system"] + ["user", "assistant"] * (len(roles) // 2)
        for end in range(2, len(messages), 2):
            view = reader.read(messages[:end])
            said = messages[end]["content"]
            assert text.format_action(text.parse(said, view), view) == said


def test_the_teacher_scores_as_on_arrays() -> None:
    for lesson in teach(Lessons("grand-exchange", episodes=3)):
        replay = exchange_replays.record(
            exchange_replays.config(), lesson.seed, TRADERS["reference"], "reference"
        )
        assert lesson.score == replay["results"]["return"]
    for seat, lesson in enumerate(teach(Lessons("poker", "rock", "random", 2, hands=20))):
        names = ["random", "random"]
        names[seat] = "rock"
        policies = [make_policy(name, "kuhn") for name in names]
        config = poker_replays.config("kuhn", 20)
        replay = poker_replays.record(config, lesson.seed, policies, names)
        assert lesson.score == replay["results"]["scores"][seat]


def test_a_poker_row_is_one_hand_of_one_seat() -> None:
    (lesson,) = teach(Lessons("poker", "house", hands=20))
    places = [(row["seat"], row["hand"]) for row in lesson.rows]
    assert len(set(places)) == len(places)
    assert {hand for _, hand in places} == set(range(20))
    for row in lesson.rows:
        assert f"Hand: {row['hand'] + 1} of 20;" in row["messages"][1]["content"]


def test_splits_do_not_meet() -> None:
    for game in TEXTS:
        train = Lessons(game, episodes=50, seed=3).seeds()
        served = Lessons(game, episodes=50, split="eval").seeds()
        assert train == [training_seed(3, k) for k in range(50)]
        assert all(TRAIN_LOW <= seed < TRAIN_HIGH for seed in train)
        assert all(SEED_BASE <= seed < TRAIN_LOW for seed in served)
        wanted = range(SEED_BASE, SEED_BASE + 50)
        assert served == list(served_seeds(50) if game == "grand-exchange" else wanted)


def test_the_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "data.jsonl"
    command = "export sft poker --policy house --others rock --hands 4 --episodes 6 --seed 9"
    assert main([*command.split(), "--out", str(out)]) == 0
    told = capsys.readouterr().out
    rows, manifest = rows_of(out), json.loads((tmp_path / "data.manifest.json").read_text())
    assert told.startswith(f"wrote {len(rows)} conversations of 6 episodes (train seeds), mean")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.jsonl", "data.manifest.json"]
    data = out.read_bytes()
    sha = hashlib.sha256(data).hexdigest()
    assert manifest["data"] == {"file": "data.jsonl", "bytes": len(data), "sha256": sha}
    assert manifest["digest"] == digest(manifest)
    assert manifest["conversations"] == len(rows)
    said = [message for row in rows for message in row["messages"]]
    assert manifest["decisions"] == sum(message["role"] == "assistant" for message in said)
    assert manifest["characters"] == sum(len(message["content"]) for message in said)
    assert manifest["seeds"]["all"] == [training_seed(9, k) for k in range(6)]
    by_episode: dict[int, set[tuple[int, str, float, str]]] = defaultdict(set)
    for row in rows:
        by_episode[row["episode"]].add((row["seed"], row["seat"], row["score"], row["split"]))
    kept = [by_episode[k] for k in range(6)]
    assert [len(one) for one in kept] == [1] * 6
    ((seeds, seats, scores, splits),) = [zip(*(next(iter(one)) for one in kept), strict=True)]
    assert list(seeds) == manifest["seeds"]["all"]
    assert seats == ("seat_0", "seat_1") * 3
    assert set(splits) == {"train"}
    half = 1.959963984540054 * np.std(scores, ddof=1) / 6**0.5
    score = manifest["score"]
    assert score["value"] == pytest.approx(np.mean(scores), abs=1e-12)
    assert score["high"] - score["low"] == pytest.approx(2 * half, abs=1e-12)
    again = tmp_path / "again.jsonl"
    assert main([*command.split(), "--out", str(again)]) == 0
    assert again.read_bytes() == data


def test_one_episode_has_no_interval(tmp_path: Path) -> None:
    manifest = export(Lessons("grand-exchange"), tmp_path / "one.jsonl")
    assert (manifest["score"]["low"], manifest["score"]["high"]) == (None, None)


def test_what_breaks_off_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = teach

    def broken(lessons: Lessons) -> Any:
        yield next(whole(lessons))
        raise KeyboardInterrupt

    monkeypatch.setattr(transcripts, "teach", broken)
    with pytest.raises(KeyboardInterrupt):
        export(Lessons("grand-exchange", episodes=2), tmp_path / "data.jsonl")
    monkeypatch.setattr(transcripts, "teach", whole)

    def full(*_: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr(transcripts, "write_json", full)
    with pytest.raises(OSError, match="no space"):
        export(Lessons("grand-exchange"), tmp_path / "data.jsonl")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("there", ["data.jsonl", "data.manifest.json"])
def test_nothing_is_overwritten(
    there: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "data.jsonl"
    (tmp_path / there).write_text("mine")
    arguments = ["export", "sft", "grand-exchange", "--episodes", "1", "--out", str(out)]
    assert main(arguments) == 2
    assert f"{there} is there already: nothing is overwritten" in capsys.readouterr().err
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]
    assert manifest_of(out) == tmp_path / "data.manifest.json"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("chess --episodes 1", "game must be one of: "),
        ("poker --episodes 0", "episodes must be 1..1000000; got 0"),
        ("poker --episodes 1 --seed -1", "seed must be 0..9223372036854775807; got -1"),
        ("poker --episodes 1 --split test", "split must be train or eval; got 'test'"),
        ("poker --episodes 1 --policy garbage", "seat 'garbage': no such policy; known: "),
        ("poker --episodes 1 --policy llm:m@http://h/v1", "no llm seat here"),
        ("poker --episodes 1 --policy nash --table holdem-hu", "nash"),
        ("poker --episodes 1 --others shark", "seat 'shark': no such policy"),
        ("poker --episodes 1 --table chess", "no table 'chess'"),
        ("poker --episodes 1 --hands 3", "hands must be even with pairs, 2..1000; got 3"),
        ("poker --episodes 1 --live", "live goes with grand-exchange, not poker"),
        ("garble --episodes 1 --no-pairs", "pairs goes with poker, not garble"),
        ("garble --episodes 1 --table kuhn", "table goes with poker, not garble"),
        ("garble --episodes 1 --turns 99", "turns must be 6..24; got 99"),
        ("grand-exchange --episodes 1 --others random", "others: grand-exchange has one seat"),
        ("grand-exchange --episodes 99999999 --split eval", "episodes must be 1.."),
        ("grand-exchange --episodes 1 --out data.json", "out must end in .jsonl"),
        ("grand-exchange --episodes 1 --out no/data.jsonl", "cannot write no/data.jsonl: No such"),
    ],
)
def test_bad_input_is_one_line(
    arguments: str,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    rest = arguments if "--out" in arguments else f"{arguments} --out data.jsonl"
    assert main(["export", "sft", *rest.split()]) == 2
    told = capsys.readouterr()
    (line,) = [line for line in told.err.splitlines() if "compiling kernels" not in line]
    assert said in line
    assert told.out == ""
    assert not list(tmp_path.iterdir())
