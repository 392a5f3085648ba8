"""`wager serve`: a policy over HTTP decides as it does on arrays; bad requests are refused."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from queue import Queue
from typing import Any

import httpx
import numpy as np
import pytest

from tests.beside import running
from wager.cli.main import main
from wager.envs.errors import InputError
from wager.envs.poker.env import PokerEnv
from wager.envs.poker.policies import make_policy
from wager.training.match.scripted import GARBAGE, answers, names
from wager.training.match.server import MAX_REQUEST, ChatServer
from wager.wrappers.text import poker
from wager.wrappers.text.reply import ReplyError


@contextmanager
def served(model: str, **arguments: Any) -> Iterator[ChatServer]:
    with running(ChatServer(model, answers(model), **arguments)) as server:
        yield server


def conversation(view: poker.View) -> list[dict[str, str]]:
    return [
        {"role": "system", "content": poker.system_prompt(view, "Play well.")},
        {"role": "user", "content": poker.describe(view)},
    ]


def ask(client: httpx.Client, model: str, messages: list[dict[str, Any]]) -> httpx.Response:
    return client.post("chat/completions", json={"model": model, "messages": messages})


@pytest.mark.parametrize("table", ["kuhn", "leduc", "headsup"])
def test_a_deterministic_policy_decides_as_on_arrays(table: str) -> None:
    env = PokerEnv(table, hands=4)
    env.reset(seed=11)
    scribe, rock, random = (
        poker.Scribe(env),
        make_policy("rock", table),
        make_policy("random", table),
    )
    with served("rock") as server, httpx.Client(base_url=server.url) as client:
        for k in range(12):
            if env.row["over"]:
                break
            view = scribe.view(env.agent_selection)
            seen = {name: array[None] for name, array in view.seen.items()}
            key = np.array([k], np.uint64)
            answer = ask(client, "rock", conversation(view)).json()
            decision = poker.parse(answer["choices"][0]["message"]["content"], view)
            assert decision.action == rock(seen, None, key)[0]
            assert answer["usage"]["total_tokens"] > answer["usage"]["completion_tokens"] > 0
            env.step(int(random(seen, None, key)[0]))


def test_a_mixing_policy_draws_by_seed_and_words() -> None:
    env = PokerEnv("kuhn")
    env.reset(seed=0)
    view = poker.Scribe(env).view(env.agent_selection)
    said = conversation(view)
    assert len({answers("random", seed)(said) for seed in range(20)}) == 2
    assert len({answers("random", 3)(said) for _ in range(20)}) == 1


def test_garbage_is_never_a_decision() -> None:
    env = PokerEnv("kuhn")
    env.reset(seed=0)
    view = poker.Scribe(env).view(env.agent_selection)
    replies = {answers(GARBAGE, seed)(conversation(view)) for seed in range(60)}
    assert len(replies) > 5
    for reply in replies:
        with pytest.raises(ReplyError):
            poker.parse(reply, view)


def announced(server: ChatServer, length: str) -> int:
    """The status of a request that says how long it is and sends nothing."""
    connection = HTTPConnection(*server.server_address[:2])
    connection.putrequest("POST", "/v1/chat/completions")
    connection.putheader("Content-Length", length)
    connection.endheaders()
    status = connection.getresponse().status
    connection.close()
    return status


def test_requests_that_are_refused() -> None:
    env = PokerEnv("kuhn")
    env.reset(seed=0)
    good = conversation(poker.Scribe(env).view(env.agent_selection))
    parts = [{"role": "user", "content": [{"type": "text", "text": good[1]["content"]}]}]
    with served("nash") as server, httpx.Client(base_url=server.url) as client:
        assert [m["id"] for m in client.get("models").json()["data"]] == ["nash"]
        assert client.get("elsewhere").status_code == 404
        assert ask(client, "nash", good).status_code == 200
        assert ask(client, "nash", good[:1] + parts).status_code == 200
        missing = ask(client, "house", good)
        assert (missing.status_code, missing.json()["error"]["code"]) == (404, "model_not_found")
        said: list[Any]
        for said in ([], good[1:], [1], [{"role": "user"}], good[:1]):
            assert ask(client, "nash", said).status_code == 400
        good[1]["content"] = good[1]["content"].replace("Your cards", "Your card")
        assert (
            "cannot be read: block 'Hand'" in ask(client, "nash", good).json()["error"]["message"]
        )
        good[1]["content"] = good[1]["content"].replace("Your card:", "Your cards:")
        good[1]["content"] = good[1]["content"].replace("pot 2", f"pot {10**30}")
        assert ask(client, "nash", good).status_code == 400
        for body in (b"\xff", b"[1]", b"[" * 100_000, b'{"model": "nash", "stream": true}'):
            assert client.post("chat/completions", content=body).status_code == 400
        for length in (str(MAX_REQUEST + 1), "-1", "many"):
            assert announced(server, length) == 413
        assert server.answered == 2


def test_it_stops_after_so_many_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    codes: list[int] = []
    lines: Queue[str] = Queue()  # capsys loses what a thread prints while it is read
    monkeypatch.setattr("typer.echo", lines.put)

    def command() -> None:
        codes.append(main(["serve", "--policy", GARBAGE, "--port", "0", "--max-requests", "2"]))

    thread = threading.Thread(target=command)
    thread.start()
    told = lines.get(timeout=60)
    assert told.startswith("serving garbage: llm:garbage@http://127.0.0.1:")
    with httpx.Client(base_url=told.split("@")[1].strip()) as client:
        for _ in range(2):
            assert ask(client, GARBAGE, [{"role": "user", "content": "?"}]).status_code == 200
    thread.join(timeout=10)
    assert codes == [0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policy", "nobody"], "no policy 'nobody' to serve; known: "),
        (["--port", "65536"], "port must be 0..65535; got 65536"),
        (["--max-requests", "0"], "max-requests must be at least 1; got 0"),
        (["--host", "192.0.2.1", "--port", "0"], "cannot serve at 192.0.2.1:0: "),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", *arguments]) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]


def test_every_policy_can_be_served() -> None:
    assert {"reference", "house", "rock", "nash", "random", GARBAGE} <= set(names())
    with pytest.raises(InputError, match="system prompt of a game"):
        answers("rock")([{"role": "user", "content": "hello"}])
