"""The pieces of the recorded run on Kuhn: hands, rewards, decisions; a model of a test's size."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wager.envs.errors import InputError
from wager.envs.poker.policies import make_policy
from wager.envs.poker.replay import config, record
from wager.envs.seeds import TRAIN_LOW
from wager.training.grpo_kuhn import (
    AFTER,
    BEFORE,
    FLOOR,
    Hand,
    decisions,
    draw,
    graded,
    main,
    play_hands,
    rewards,
)
from wager.training.match.chat import Completion, Message
from wager.training.match.clock import VirtualTime, run
from wager.training.match.scripted import GARBAGE, answers
from wager.training.results import compare
from wager.training.transcripts import Lessons, teach
from wager.wrappers.text import read_poker

ACTIONS = {
    name: json.dumps({"action": name, "amount": None, "say": ""}, separators=(",", ":"))
    for name in ("check", "call", "fold")
} | {"bet": '{"action":"bet","amount":1,"say":""}'}


class Scripted:
    """A policy in the model's place."""

    def __init__(self, name: str) -> None:
        self._answer = answers(name)

    async def complete(self, messages: Sequence[Message], timeout: float) -> Completion:
        return Completion(self._answer([dict(message) for message in messages]))

    async def __aenter__(self) -> Scripted:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return decisions(120, seed=4)


def paid(rows: list[dict[str, Any]], replies: Sequence[str], then: str = "rock") -> list[float]:
    """What the reward function pays for these replies."""
    columns = {name: [row[name] for row in rows] for name in ("seed", "seat", "replies")}
    said = [[{"role": "assistant", "content": reply}] for reply in replies]
    prompts = [row["prompt"] for row in rows]
    return rewards(prompts, said, **columns, speaker=Scripted(then))


def test_hands_are_played_as_on_arrays() -> None:
    hands = [Hand(seed, seat) for seed in range(20) for seat in (0, 1)]
    nets, fallbacks = play_hands(hands, Scripted("rock"))
    rock = make_policy("rock", "kuhn")
    expected = [
        record(config("kuhn", 1, pairs=False), hand.seed, [rock, rock], ["rock"] * 2)["results"][
            "net"
        ][hand.seat]
        for hand in hands
    ]
    assert nets.tolist() == expected
    assert fallbacks == 0


def test_what_cannot_be_read_falls_back_and_is_counted() -> None:
    hands = [Hand(seed, 0) for seed in range(10)]
    nets, fallbacks = play_hands(hands, Scripted(GARBAGE))
    assert fallbacks >= 10
    assert np.isin(np.abs(nets), (1, 2)).all()


def test_decisions_are_the_prompts_of_transcripts(rows: list[dict[str, Any]]) -> None:
    lessons = Lessons("poker", "house", "rock", 120, seed=4, hands=1, pairs=False)
    whole = {lesson.seed: lesson.rows[0]["messages"] for lesson in teach(lessons)}
    assert len(rows) == 120
    assert {len(row["replies"]) for row in rows} == {0, 1}
    assert {row["seat"] for row in rows} == {0, 1}
    for row in rows:
        assert row["seed"] >= TRAIN_LOW
        assert row["prompt"] == whole[row["seed"]][: len(row["prompt"])]
        assert row["prompt"][-1]["role"] == "user"


def test_an_unreadable_or_illegal_reply_is_paid_the_floor(rows: list[dict[str, Any]]) -> None:
    replies = ["", "I bet", '{"action":"bet"', '{"action":"raise","amount":9}', "{}" * 200] * 24
    assert paid(rows, replies) == [FLOOR] * 120


def test_a_reply_is_paid_what_the_hand_comes_to(rows: list[dict[str, Any]]) -> None:
    """Rock bets and calls kings alone, so a hand's end follows from its cards."""
    views = [read_poker.read(row["prompt"]) for row in rows]
    facing = [view.number("to_call") > 0 for view in views]
    assert any(facing)
    nets = paid(rows, [ACTIONS["fold" if bet else "check"] for bet in facing])
    called = paid(rows, [ACTIONS["call" if bet else "bet"] for bet in facing])
    for view, bet, net, bold in zip(views, facing, nets, called, strict=True):
        card = "JQK"[view.seen["hole"][0] // 4 - 9]
        if bet:  # by a king
            assert (net, bold) == (-1.0, -2.0)
        elif card == "K":
            assert (net, bold) == (1.0, 1.0)  # nobody calls a king
        else:
            assert bold in (1.0, -2.0)  # it folds, or calls with its king
            assert net in (1.0, -1.0)


def test_later_decisions_are_the_speakers(rows: list[dict[str, Any]]) -> None:
    """After a check and rock's bet, rock folds what house sometimes calls with."""
    first = [row for row in rows if not row["replies"]]
    after = [row for row in rows if row["replies"]]
    assert all(len(row["prompt"]) == 4 for row in after)
    hands = [Hand(row["seed"], row["seat"], (ACTIONS["check"],)) for row in after]
    nets, fallbacks = play_hands(hands, Scripted("rock"))
    assert (nets == -1).all()
    assert fallbacks == 0
    assert first


def test_a_grade_is_of_both_seats() -> None:
    """Rock against itself: what one seat wins the other loses, on every evaluation seed."""
    nets, fallbacks = graded(Scripted("rock"), 12)
    assert nets.tolist() == [0.0] * 12
    assert fallbacks == 0


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is there already: nothing is overwritten"):
        main(out=tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_picture(tmp_path: Path) -> None:
    scores = {BEFORE: np.array([0.0, 1.0, -1.0]), AFTER: np.array([1.0, 1.0, 0.0])}
    curve = [{"steps": k, "value": 0.1 * k, "low": -0.1, "high": 0.3} for k in range(3)]
    draw(tmp_path / "curve.png", curve, compare(AFTER, scores, "eval", "score"))
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_a_tiny_model_speaks_at_many_matches_at_once() -> None:
    pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    from wager.training.tiny_lm import Speaker, make_model, make_tokenizer, say

    torch.set_num_threads(1)
    torch.manual_seed(0)
    (lesson,) = teach(Lessons("poker", "house", hands=2, seed=1))
    chats = [row["messages"] for row in lesson.rows]
    tokenizer = make_tokenizer((m["content"] for chat in chats for m in chat), 900)
    for words in (*(m["content"] for m in chats[0]), "né — 札 {\n"):
        assert tokenizer.decode(tokenizer.encode(words)) == words
    marked = tokenizer.apply_chat_template(
        chats[0], return_dict=True, return_assistant_tokens_mask=True
    )
    ids, mask = np.array(marked["input_ids"]), np.array(marked["assistant_masks"], bool)
    said = [m["content"] for m in chats[0] if m["role"] == "assistant"]
    assert tokenizer.decode(ids[mask]) == "<end>".join([*said, ""])
    model = make_model(tokenizer, 32, 1)
    assert len(say(model, tokenizer, [chats[0][:2], chats[1][:2]], 5)) == 2
    speaker = Speaker(model, tokenizer, 5)
    batches = []
    answer = speaker._answer

    def counted() -> None:
        batches.append(len(speaker._asked))
        answer()

    speaker._answer = counted  # type: ignore[method-assign]

    async def ask() -> list[Completion]:
        return await asyncio.gather(*(speaker.complete(chat[:2], 1.0) for chat in chats))

    assert len(run(ask(), VirtualTime)) == len(chats)
    assert batches == [len(chats)]
