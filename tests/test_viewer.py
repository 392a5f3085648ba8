"""The pages of replays: what they hold, and what they show in a real browser."""

from __future__ import annotations

import json
import re
import shutil
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wager.cli.main import main
from wager.cli.view import make_server
from wager.envs import poker_v0
from wager.envs.errors import InputError
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

HOSTILE = "<script>alert(1)</script></script><img src=x onerror=alert(2)> \u202etxet \u2066& ' \""
LONG = "W" * 10_000
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def garble_replay() -> dict[str, Any]:
    names = ["quoter", "shark", "broker", "random", "quoter"]
    return garble.record(garble.config(), 7, [GARBLE[name] for name in names], names)


def hostile_garble() -> dict[str, Any]:
    """Every line a different attack; long ones too."""
    env = ParallelGarble(turns=6)
    env.reset(seed=3)
    recorder = garble.Recorder(env)
    lines = [HOSTILE, LONG, "SELL 5 ORE AT 13", "\u202eBUY 5 TIN AT 10", "\x07\u0000 {}"]
    while env.agents:
        recorder.play(
            {
                agent: Decision(lines[seat], "radio", None, HOSTILE)
                for seat, agent in enumerate(env.agents)
            }
        )
    return recorder.replay([HOSTILE, "<b>", LONG, "a", "b"])


def poker_replay(table: str, say: str = "", seat: str | None = None) -> dict[str, Any]:
    env = poker_v0.raw_env(table=table)
    env.reset(seed=5)
    recorder = poker.Recorder(env)
    policy = make_policy("house", table)
    while not env.row["over"]:
        observation = env.observe(env.agent_selection)
        batch = {name: np.asarray(v)[None] for name, v in observation["observation"].items()}
        mask = observation["action_mask"][None]
        action = policy(batch, mask, np.array([env.decision_key()], np.uint64))
        recorder.step(int(action[0]), say=say)
    return recorder.replay([seat or "house"] * len(env.possible_agents))


def exchange_replay(name: str = "plain", interval: int | None = None) -> dict[str, Any]:
    config = exchange.config(decision_interval=interval)
    return exchange.record(config, 60_000, EXCHANGE[name], name)


@pytest.fixture(scope="module")
def replays() -> dict[str, dict[str, Any]]:
    return {
        "garble": garble_replay(),
        "hostile": hostile_garble(),
        "leduc": poker_replay("leduc", HOSTILE[:100], HOSTILE),
        "sixmax": poker_replay("sixmax"),
        "holdem-6max": poker_replay("holdem-6max"),
        "exchange": exchange_replay(),
        "live": exchange_replay("reference", 15),
    }


def story(html: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="story">(.*?)</script>', html, re.S)
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


def test_what_players_wrote_is_data(replays: dict[str, dict[str, Any]]) -> None:
    for name in ("hostile", "leduc"):
        html = page(replays[name])
        assert "alert(1)" in html
        assert "<script>alert" not in html
        assert "<img src=x" not in html
        assert "\u202e" not in html
        assert HOSTILE in story(html)["policies"]


@pytest.mark.parametrize("name", ["leduc", "sixmax", "holdem-6max"])
def test_the_last_poker_frame_has_the_results(
    replays: dict[str, dict[str, Any]], name: str
) -> None:
    told = story(page(replays[name]))
    nets = {held["seat"]: held["net"] for held in told["frames"][-1]["players"]}
    assert nets == dict(enumerate(replays[name]["results"]["net"]))
    decisions = sum("action" in entry for entry in replays[name]["inputs"])
    assert sum(frame["seat"] >= 0 for frame in told["frames"]) == decisions


def test_the_last_garble_frame_has_the_results(replays: dict[str, dict[str, Any]]) -> None:
    told, results = story(page(replays["garble"])), replays["garble"]["results"]
    last = told["frames"][-1]["accounts"]
    assert [held["score"] for held in last] == pytest.approx(results["scores"], abs=1e-12)
    assert [held["cash"] for held in last] == results["cash"]
    assert sum(results["misheard"]) == 2 * sum(deal["misheard"] for deal in told["tape"])


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
    newer["digest"] = garble.envelope.digest(newer)
    (tmp_path / "newer.json").write_text(json.dumps(newer))
    (tmp_path / "foreign.json").write_text("[1, 2]")
    (tmp_path / "empty").mkdir()
    for arguments, words in (
        (["edited.json"], "digest"),
        (["newer.json"], "version must be 'v0'; got 'v9'"),
        (["foreign.json"], "must be an object"),
        (["absent.json"], "cannot read"),
        (["empty"], "has no replay"),
        (["foreign.json", "--serve"], "--serve shows a folder"),
        (["empty", "--serve", "--port", "70000"], "port must be 0..65535"),
    ):
        assert main(["view", str(tmp_path / arguments[0]), *arguments[1:]]) == 2
        said = capsys.readouterr().err.strip()
        assert words in said
        assert len(said.splitlines()) == 1
    assert not list(tmp_path.rglob("*.html"))


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


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as engine:
        opened = engine.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


NUMBERS = {
    "garble": lambda results: [f"{score:.4f}" for score in results["scores"]],
    "hostile": lambda results: [f"{score:.4f}" for score in results["scores"]],
    "leduc": lambda results: [f"{value:.4f}" for value in results["scores"]],
    "sixmax": lambda results: [f"{value:.4f}" for value in results["scores"]],
    "holdem-6max": lambda results: [f"{value:.4f}" for value in results["scores"]],
    "exchange": lambda results: [f"{100 * results['return']:+.2f}%", f"{results['purse']:,.2f}"],
    "live": lambda results: [f"{100 * results['return']:+.2f}%", f"{results['purse']:,.2f}"],
}


@pytest.mark.parametrize("width", [360, 1440])
@pytest.mark.parametrize("name", NUMBERS)
def test_a_browser_shows_it(
    browser: Any, tmp_path: Path, replays: dict[str, dict[str, Any]], name: str, width: int
) -> None:
    from playwright.sync_api import expect

    replay = replays[name]
    (tmp_path / "page.html").write_text(page(replay), "utf-8")
    context = browser.new_context(viewport={"width": width, "height": 900}, offline=True)
    shown = context.new_page()
    wrong: list[str] = []
    shown.on("console", lambda message: wrong.append(message.text))
    shown.on("pageerror", lambda error: wrong.append(str(error)))
    shown.on("dialog", lambda dialog: wrong.append(dialog.message))
    asked: list[str] = []
    shown.on("request", lambda request: asked.append(request.url))
    shown.goto((tmp_path / "page.html").as_uri())
    count = shown.evaluate("story.frames.length")

    def at() -> int:
        return int(shown.input_value("#scrub"))

    assert at() == 0
    shown.keyboard.press("ArrowRight")
    assert at() == 1
    shown.click("#back")
    assert at() == 0
    shown.click("#next-beat")
    assert shown.evaluate(f"story.frames[{at()}].beat") or at() == count - 1
    for k in range(0, count, max(1, count // 12)):  # scrubs through, and nothing sticks out
        shown.evaluate(f"playback.show({k})")
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
    shown.keyboard.press("End")
    assert at() == count - 1
    text = shown.inner_text("#stage")
    for number in NUMBERS[name](replay["results"]):
        assert number in text
    if name == "hostile":
        assert HOSTILE.split()[0] in text
        assert shown.locator("#stage script, #stage img").count() == 0
    shown.goto((tmp_path / "page.html").as_uri() + "#3")
    shown.reload()
    assert at() == 3
    before = shown.evaluate("getComputedStyle(document.body).backgroundColor")
    shown.click("#theme")
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") != before
    shown.select_option("#speed", "20")
    shown.click("#play")
    expect(shown.locator("#link")).not_to_have_attribute("href", "#3")
    unnamed = shown.evaluate(
        "[...document.querySelectorAll('button, a, input, select, svg')]"
        ".filter(e => !(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby')"
        " || e.textContent.trim() || e.closest('label'))).length"
    )
    assert unnamed == 0
    assert wrong == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    context.close()
