"""Prompt sizes: what the command prints, what it counts, and that it can fail."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from wager.cli.main import main
from wager.envs.errors import InputError
from wager.envs.grand_exchange.env import GrandExchange
from wager.envs.poker.tables import TABLES
from wager.wrappers.text import grand_exchange, sizes
from wager.wrappers.text.sizes import Conversation, Size, counter, filled

pytest.importorskip("bpe_openai")


def test_tokens_are_counted_over_all_messages() -> None:
    count = counter("o200k_base")
    assert count("hello hello") == 2
    env = GrandExchange()
    env.reset(options={"task": 0})
    view = grand_exchange.Scribe(env).view()
    talk = Conversation(grand_exchange, len)
    talk.turn(view, ())
    prompt = grand_exchange.system_prompt(view, filled("x", 4000))
    observation = grand_exchange.describe(view)
    assert talk.observation == len(observation)
    assert talk.messages == 3
    assert talk.tokens == len(prompt) + len(observation) + len('{"offers":[]}') + 3 * 4
    talk.turn(view, ())
    assert talk.tokens < len(prompt) + 2 * len(observation) + 100  # the news are short
    assert (talk.messages, talk.observation) == (5, len(observation))


def few_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "TABLES", {name: TABLES[name] for name in ("kuhn", "leduc")})


def test_a_call_gives_the_same_figures_again(monkeypatch: pytest.MonkeyPatch) -> None:
    few_tables(monkeypatch)
    assert sizes.sizes(["poker"]) == sizes.sizes(["poker"])


def test_the_texts_of_poker_fit() -> None:
    found = sizes.sizes(["poker"])
    assert [size.name.split()[1] for size in found] == list(TABLES)
    assert all(size.fits for size in found)
    by_name = {size.name: size for size in found}
    assert by_name["poker kuhn"].conversation < by_name["poker leduc"].conversation
    # a race: two seats of 300 chips bet longer than six of 100, and talk is bounded
    assert "2 seats" in by_name["poker sixmax"].longest
    assert by_name["poker sixmax"].messages > by_name["poker holdem-6max"].messages > 80


def test_the_texts_of_the_other_games_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "_BASKETS", 20)
    monkeypatch.setattr(sizes, "_LIVE", 1)
    monkeypatch.setattr(sizes, "_TABLES", 1)
    found = sizes.sizes(["grand-exchange", "garble"], "cl100k_base")
    assert [size.name for size in found] == [
        *("grand-exchange", "grand-exchange live"),
        "garble 24 turns",
    ]
    assert all(size.fits for size in found)
    assert [size.messages for size in found] == [3, 1 + 2 * 60, 1 + 2 * 24]


def test_what_is_too_long_does_not_fit() -> None:
    size = Size("x", sizes.MAX_OBSERVATION, sizes.MAX_CONVERSATION, 3, "")
    assert size.fits
    assert not dataclasses.replace(size, observation=4097).fits
    assert not dataclasses.replace(size, conversation=16_385).fits


def test_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    few_tables(monkeypatch)
    path = tmp_path / "tokens.json"
    assert main(["tokens", "poker", "--json", str(path)]) == 0
    assert "all within 4,096 and 16,384 tokens of o200k_base" in capsys.readouterr().out
    report = json.loads(path.read_text())
    assert report["passed"] is True
    assert len(report["sizes"]) == 2
    monkeypatch.setattr(sizes, "MAX_CONVERSATION", 1000)
    assert main(["tokens", "poker", "--encoding", "cl100k_base"]) == 1
    assert "NOT all within 4,096 and 1,000" in capsys.readouterr().out
    for arguments in (["chess"], ["poker", "--encoding", "utf8"], ["poker", "--json", "/no/x"]):
        assert main(["tokens", *arguments]) == 2
        assert capsys.readouterr().err.startswith("wager: ")


def test_unknown_games_are_named() -> None:
    with pytest.raises(InputError, match="game must be one of: grand-exchange, garble, poker"):
        sizes.sizes(["poker", "chess"])
