"""The pages of replays: what they hold is what the replay holds, and how the command makes them."""

from __future__ import annotations

import json
import re
import socket
import struct
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wager.cli.main import main
from wager.cli.view import make_server
from wager.envs import poker_v0
from wager.envs.errors import InputError
from wager.envs.files import digest
from wager.envs.garble import replay as garble
from wager.envs.garble.env import ParallelGarble
from wager.envs.garble.policies import POLICIES as GARBLE
from wager.envs.garble.speech import Decision
from wager.envs.grand_exchange import replay as exchange
from wager.envs.grand_exchange.course import course
from wager.envs.grand_exchange.policies import POLICIES as EXCHANGE
from wager.envs.poker import replay as poker
from wager.envs.poker.policies import make_policy
from wager.wrappers.viewer import load, page


def garble_replay(seed: int = 7) -> dict[str, Any]:
    names = ["quoter", "shark", "broker", "random", "quoter"]
    return garble.record(garble.config(), seed, [GARBLE[name] for name in names], names)


def poker_replay(table: str, seed: int = 5, **config: Any) -> dict[str, Any]:
    settings = poker.config(table, **config)
    names = ["house", "random"] * (poker.table_of(settings).seats // 2)
    return poker.record(settings, seed, [make_policy(name, table) for name in names], names)


def exchange_replay(name: str = "plain", interval: int | None = None) -> dict[str, Any]:
    config = exchange.config(decision_interval=interval)
    return exchange.record(config, 60_000, EXCHANGE[name], name)


@pytest.fixture(scope="module")
def replays() -> dict[str, dict[str, Any]]:
    return {
        "garble": garble_replay(),
        "kuhn": poker_replay("kuhn", hands=20),
        "leduc": poker_replay("leduc"),
        "sixmax": poker_replay("sixmax"),
        "holdem-6max": poker_replay("holdem-6max"),
        "exchange": exchange_replay(),
        "live": exchange_replay("reference", 15),
    }


def story(replay: dict[str, Any]) -> dict[str, Any]:
    found = re.search(
        r'<script type="application/json" id="story">(.*?)</script>', page(replay), re.S
    )
    assert found
    told: dict[str, Any] = json.loads(found[1])
    return told


def test_a_page_fetches_nothing(replays: dict[str, dict[str, Any]]) -> None:
    for replay in replays.values():
        html = page(replay)
        assert "default-src 'none'" in html
        outside = set(
            re.findall(r"https?://[^\"' )]+", re.sub(r'id="story">.*?</script>', "", html))
        )
        assert outside <= {"http://www.w3.org/2000/svg"}  # a name, never fetched
        assert not re.search(r"<(link|script|img|iframe)[^>]+(src|href)=[\"'](?!data:)", html)


@pytest.mark.parametrize("seed", [7, 11])
def test_every_garble_frame_is_what_the_events_say(seed: int) -> None:
    replay = garble_replay(seed)
    told = story(replay)
    of_turn: dict[int, list[dict[str, Any]]] = {}
    for event in replay["events"][1:]:
        of_turn.setdefault(event["turn"], []).append(event)
    frames = told["frames"][1:]
    assert [frame["turn"] for frame in frames] == list(of_turn)
    for frame, events in zip(frames, of_turn.values(), strict=True):
        turn = frame["turn"]
        opened, closed = events[0], events[-1]
        assert told["interference"][turn] == opened["interference"]
        assert told["bursts"][turn] == opened["burst"]
        assert told["prices"][turn] == opened["prices"]
        for seat, held in enumerate(frame["accounts"]):
            for name in ("score", "cash", "units", "airtime"):
                assert held[name] == closed[name][seat]
        said = {event["seat"]: event["said"] for event in events if event["event"] == "line"}
        assert {
            line["sender"]: " ".join(line["said"]) for line in frame["lines"] if not line["silent"]
        } == said
        tickets = {event["ticket"] for event in events if event["event"] == "ticket"}
        assert {t["number"] for t in told["tickets"] if t["turn"] == turn} == tickets
        settled = [event for event in events if event["event"] == "settle"]
        assert [row["ticket"] for row in told["tape"] if row["turn"] == turn] == [
            event["ticket"] for event in settled
        ]
        assert sorted(t["number"] for t in told["tickets"] if t["settled"] == turn) == sorted(
            event["ticket"] for event in settled
        )
        voids = sum(event["event"] == "void" for event in events)
        assert sum(line["verdict"] == "void" for line in frame["lines"]) == voids
        misheard = any(event["misheard"] for event in settled)
        kind = "misheard" if misheard else "settled" if settled else "void" if voids else ""
        assert frame["beat"] == kind
    assert any(row["misheard"] for row in told["tape"])
    # opened on t, a ticket can be confirmed on t + 1 and t + 2
    assert all(ticket["expires"] == ticket["turn"] + 3 for ticket in told["tickets"])


def test_what_was_written_is_told_where_the_words_hide_it() -> None:
    env = ParallelGarble(turns=6)
    env.reset(seed=3)
    recorder = garble.Recorder(env)
    lines = ["sell 5 ore at 13", "Selling 5 ore, at 13!", "", "SELL  5 TIN AT 9", "\u00e9t\u00e9"]
    while env.agents:
        recorder.play(
            {agent: Decision(lines[k], "radio", None, "") for k, agent in enumerate(env.agents)}
        )
    told = story(recorder.replay(["a"] * 5))
    assert [line["raw"] for line in told["frames"][1]["lines"]] == ["", lines[1], "", "", lines[4]]


@pytest.mark.parametrize("name", ["kuhn", "leduc", "sixmax", "holdem-6max"])
def test_every_poker_frame_is_what_the_events_say(
    replays: dict[str, dict[str, Any]], name: str
) -> None:
    replay = replays[name]
    told, frames = story(replay), iter(story(replay)["frames"])
    nets = dict.fromkeys(range(len(replay["seats"])), 0)
    stacks: dict[int, int] = {}
    frame: dict[str, Any] = {}
    for event in replay["events"][1:]:
        kind = event["event"]
        if kind == "deal":
            frame = next(frames)
            stacks = dict(zip(event["seats"], event["stacks"], strict=True))
            for seat, post in zip(event["seats"], event["posts"], strict=True):
                stacks[seat] -= post
            assert (frame["seat"], frame["moves"], frame["shown"]) == (-1, 0, 0)
            assert frame["pot"] == sum(event["posts"])
            dealt = told["hands"][frame["hand"]]
            assert [" ".join(cards) for cards in dealt["hole"]] == event["hole"]
            board = 0
        elif kind == "action":
            frame = next(frames)
            stacks[event["seat"]] -= event["chips"]
            assert frame["seat"] == event["seat"]
            if not frame["beat"]:
                assert frame["pot"] == event["pot"]
        elif kind == "board":
            board += len(event["cards"].split())
        elif kind == "end":
            assert frame["beat"] == "hand"
            seats = told["hands"][event["hand"]]["seats"]
            stacks = dict(zip(seats, event["stacks"], strict=True))
            for seat, net in zip(seats, event["net"], strict=True):
                nets[seat] += net
            won = {p["seat"]: p["won"] for p in frame["players"] if "won" in p}
            assert won == {s: w for s, w in zip(seats, event["won"], strict=True) if w}
            assert frame["shown"] in (board, len(told["hands"][event["hand"]]["board"]))
        if kind != "board" and (kind == "end" or not frame["beat"]):
            shown = {p["seat"]: p["stack"] for p in frame["players"] if p["seat"] in stacks}
            assert shown == stacks
            assert {p["seat"]: p["net"] for p in frame["players"]} == nets
    assert next(frames, None) is None
    assert nets == dict(enumerate(replay["results"]["net"]))


def test_a_poker_frame_says_why_a_match_ends() -> None:
    env = poker_v0.raw_env(table="leduc")
    env.reset(seed=5)
    recorder = poker.Recorder(env)
    recorder.step(1, say="hello", by="fallback")
    recorder.stop("budget")
    recorder.void("deadline")
    told = story(recorder.replay(["house"] * 2))
    assert [frame.get("note") for frame in told["frames"]] == [
        None,
        None,
        "no hand begins after this one (budget)",
        "the hand is void and refunded (deadline)",
    ]
    assert told["hands"][0]["net"] is None
    move = told["hands"][0]["told"][0]
    assert (move["say"], move["by"]) == ("hello", "fallback")


def test_a_long_match_is_a_small_page() -> None:
    replay = poker_replay("holdem-6max", hands=100)
    frames = len(story(replay)["frames"])
    assert frames > 700
    assert len(page(replay)) < 80_000 + 600 * frames


@pytest.mark.parametrize("name", ["exchange", "live"])
def test_every_exchange_frame_is_what_the_events_say(
    replays: dict[str, dict[str, Any]], name: str
) -> None:
    replay = replays[name]
    told = story(replay)
    names = [item["name"] for item in told["items"]]
    fills = np.zeros((len(names), 60), int)
    for event in replay["events"]:
        for fill in event["fills"]:
            k = names.index(fill["item"])
            fills[k, fill["tick"]] = fill["units"]
            assert told["items"][k]["prices"][60 + fill["tick"]] == fill["price"]
        if event is not replay["events"][-1]:
            at = event["tick"] + replay["config"]["decision_interval"]
            assert told["own"]["purse"][at] == pytest.approx(event["purse"], abs=0.01)
            assert [row[at] for row in told["own"]["stock"]] == event["stock"]
        for offer in event["offers"]:
            quote = told["own"]["quotes"][names.index(offer["item"])][event["tick"]]
            assert quote == [offer["buy"], offer["sell"]]
    assert told["own"]["fills"] == fills.tolist()
    assert [bool(frame["beat"]) for frame in told["frames"][1:]] == fills.any(axis=0).tolist()
    results = replay["results"]
    assert told["own"]["purse"][-1] == told["own"]["worth"][-1] == round(results["purse"], 2)


@pytest.mark.parametrize("interval", [None, 15, 1])
def test_the_course_ends_at_the_result(interval: int | None) -> None:
    replay = exchange_replay("reference", interval)
    whole = course(replay)
    assert whole.worth[0] == 250_000
    assert whole.worth[-1] == replay["results"]["purse"]
    bought = np.maximum(whole.fills, 0).sum(axis=1)
    assert bought.tolist() == replay["results"]["bought"]
    np.testing.assert_array_equal(np.cumsum(whole.fills, axis=1), whole.stock[:, 1:])
    for event in replay["events"][1:]:  # before an event's decision: what was left after the last
        assert event["tick"] > 0
    for event, after in zip(replay["events"], replay["events"][1:], strict=False):
        assert whole.stock[:, after["tick"]].tolist() == event["stock"]
        value = event["purse"] + sum(
            units * item.prices[60 + after["tick"] - 1]
            for units, item in zip(event["stock"], whole.market.items, strict=True)
        )
        assert whole.worth[after["tick"]] == pytest.approx(value, rel=1e-12)


def test_the_command_writes_pages(tmp_path: Path, replays: dict[str, dict[str, Any]]) -> None:
    one = tmp_path / "one.json"
    garble.save(one, replays["garble"])
    assert main(["view", str(one)]) == 0
    assert (tmp_path / "one.html").read_text("utf-8") == page(load(one))
    poker.save(tmp_path / "two.json", replays["leduc"])
    assert main(["view", str(tmp_path), "--out", str(tmp_path / "pages")]) == 0
    assert sorted(p.name for p in (tmp_path / "pages").iterdir()) == ["one.html", "two.html"]


def test_bad_input_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], replays: dict[str, dict[str, Any]]
) -> None:
    edited = json.loads(json.dumps(replays["garble"]))
    edited["results"]["cash"][0] += 1
    (tmp_path / "edited.json").write_text(json.dumps(edited))
    newer = {**replays["garble"], "version": "v9"}
    newer["digest"] = digest(newer)
    (tmp_path / "newer.json").write_text(json.dumps(newer))
    (tmp_path / "foreign.json").write_text("[1, 2]")
    (tmp_path / "cut.json").write_text(json.dumps(replays["garble"])[:3000])
    (tmp_path / "page.htm").write_text("<p>")
    (tmp_path / "bytes.json").write_bytes(b"\xab\x00\xff")
    (tmp_path / "empty").mkdir()
    (tmp_path / "good").mkdir()
    garble.save(tmp_path / "good" / "one.json", replays["garble"])
    taken = socket.create_server(("127.0.0.1", 0))
    port = str(taken.getsockname()[1])
    inside = str(tmp_path / "foreign.json" / "x")
    for arguments, words in (
        (["edited.json"], "digest"),
        (["newer.json"], "version must be 'v0'; got 'v9'"),
        (["foreign.json"], "must be an object"),
        (["cut.json"], "is not JSON"),
        (["bytes.json"], "is not JSON"),
        (["page.htm", "--out", str(tmp_path / "page.htm")], "is not JSON"),
        (["absent.json"], "cannot read"),
        (["empty"], "has no replay"),
        (["good", "--out", str(tmp_path / "foreign.json")], "cannot make the folder"),
        (["good", "--out", inside], "cannot make the folder"),
        (["good/one.json", "--out", inside], "cannot write"),
        (["good/one.json", "--out", str(tmp_path / "empty")], "cannot write"),
        (["good/one.json", "--out", str(tmp_path / "good/one.json")], "must not be the replay"),
        (["foreign.json", "--serve"], "--serve shows a folder"),
        (["good", "--serve", "--out", "x"], "not both"),
        (["good", "--serve", "--port", port], f"cannot serve on port {port}"),
        (["empty", "--serve", "--port", "70000"], "port must be 0..65535"),
    ):
        assert main(["view", str(tmp_path / arguments[0]), *arguments[1:]]) == 2, arguments
        said = capsys.readouterr().err.strip()
        assert words in said
        assert len(said.splitlines()) == 1
    taken.close()
    assert not list(tmp_path.rglob("*.html"))
    assert not list(tmp_path.rglob(".*"))
    assert not list((tmp_path / "empty").iterdir())


def test_a_bad_replay_in_a_folder_leaves_nothing(
    tmp_path: Path, replays: dict[str, dict[str, Any]]
) -> None:
    garble.save(tmp_path / "a.json", replays["garble"])
    (tmp_path / "b.json").write_text("{")
    assert main(["view", str(tmp_path), "--out", str(tmp_path / "pages")]) == 2
    assert not (tmp_path / "pages").exists()


def test_the_server_shows_the_folder_alone(
    tmp_path: Path, replays: dict[str, dict[str, Any]]
) -> None:
    folder = tmp_path / "shown"
    folder.mkdir()
    garble.save(folder / "a <b>.json", replays["garble"])
    (folder / "bad.json").write_text("{}")
    garble.save(tmp_path / "secret.json", replays["garble"])
    server = make_server(folder, 0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        with urllib.request.urlopen(f"{base}/") as answer:
            listing = answer.read().decode()
        assert "a &lt;b&gt;.json" in listing
        assert "secret" not in listing
        with urllib.request.urlopen(f"{base}/a%20%3Cb%3E.json") as answer:
            assert answer.read().decode() == page(replays["garble"])
        for path, status in (
            ("/../secret.json", 404),
            ("/%2e%2e%2fsecret.json", 404),
            ("/bad.json", 422),
        ):
            with pytest.raises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(base + path)
            assert caught.value.code == status
        with pytest.raises(InputError, match="cannot serve on port"):
            make_server(folder, server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()


def test_a_browser_that_leaves_is_not_spoken_of(
    tmp_path: Path, replays: dict[str, dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    garble.save(tmp_path / "one.json", replays["garble"])
    server = make_server(tmp_path, 0)
    noticed, told = threading.Event(), server.handle_error

    def notice(*arguments: Any) -> None:
        told(*arguments)
        noticed.set()

    server.handle_error = notice  # type: ignore[method-assign]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with socket.create_connection(server.server_address[:2]) as gone:
        gone.sendall(b"GET /one.json HTTP/1.0\r\n\r\n")
        at_once = struct.pack("ii", 1, 0)
        gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
    assert noticed.wait(30)
    server.shutdown()
    server.server_close()
    assert capsys.readouterr().err == ""
