"""The pages of replays in a real browser: what is shown, by which keys, and for whom."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wager.envs import poker_v0
from wager.envs.garble import replay as garble
from wager.envs.garble.env import ParallelGarble
from wager.envs.garble.policies import POLICIES as GARBLE
from wager.envs.garble.speech import Decision
from wager.envs.grand_exchange import replay as exchange
from wager.envs.grand_exchange.policies import POLICIES as EXCHANGE
from wager.envs.poker import replay as poker
from wager.envs.poker.policies import make_policy
from wager.wrappers.viewer import page

HOSTILE = (
    "<script>alert(1)</script></script ><img src=x onerror=alert(2)> \u202etxet \u2066& ' \" "
    "\u2028\u2029<!-- ]]> \x07"
)
LONG = "W" * 10_000
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def hostile_garble() -> dict[str, Any]:
    """Every line a different attack; long ones too."""
    env = ParallelGarble(turns=6)
    env.reset(seed=3)
    recorder = garble.Recorder(env)
    lines = [HOSTILE, LONG, "SELL 5 ORE AT 13", "\u202eBUY 5 TIN AT 10", "W " * 32]
    while env.agents:
        recorder.play(
            {
                agent: Decision(lines[seat], "radio", None, HOSTILE)
                for seat, agent in enumerate(env.agents)
            }
        )
    return recorder.replay([HOSTILE, "<b>", LONG, "\u202ea", "b"])


def hostile_poker() -> dict[str, Any]:
    env = poker_v0.raw_env(table="holdem-6max", hands=2)
    env.reset(seed=5)
    recorder = poker.Recorder(env)
    says = [HOSTILE, "\u202ereversed", "x" * 120]
    turn = 0
    while not env.row["over"]:
        mask = env.observe(env.agent_selection)["action_mask"]
        recorder.step(int(mask.nonzero()[0][1]), say=says[turn % 3])
        turn += 1
    return recorder.replay([HOSTILE, LONG, "</title>", "a", "\u2028", "{}"])


def garble_replay() -> dict[str, Any]:
    names = ["quoter", "shark", "broker", "random", "quoter"]
    return garble.record(garble.config(), 7, [GARBLE[name] for name in names], names)


def poker_replay(table: str, **config: Any) -> dict[str, Any]:
    settings = poker.config(table, **config)
    names = ["random", "house"] * (poker.table_of(settings).seats // 2)
    return poker.record(settings, 5, [make_policy(name, table) for name in names], names)


def exchange_replay(interval: int | None) -> dict[str, Any]:
    config = exchange.config(decision_interval=interval)
    return exchange.record(config, 60_000, EXCHANGE["plain"], "plain")


@pytest.fixture(scope="module")
def replays() -> dict[str, dict[str, Any]]:
    return {
        "garble": garble_replay(),
        "hostile-garble": hostile_garble(),
        "hostile-poker": hostile_poker(),
        "kuhn": poker_replay("kuhn", hands=10),
        "sixmax": poker_replay("sixmax"),
        "holdem-6max": poker_replay("holdem-6max"),
        "exchange": exchange_replay(None),
        "live": exchange_replay(1),
    }


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as engine:
        opened = engine.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


class Shown:
    """A page in a browser that is offline, and what went wrong in it."""

    def __init__(self, browser: Any, path: Path, width: int, **options: Any) -> None:
        size = {"width": width, "height": 900}
        self.context = browser.new_context(viewport=size, offline=True, **options)
        self.page = self.context.new_page()
        self.wrong: list[str] = []
        self.page.on("console", lambda message: self.wrong.append(message.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", lambda dialog: self.wrong.append(dialog.message))
        self.page.on("request", lambda request: self._asked(request.url))
        self.url = path.as_uri()
        self.page.goto(self.url)
        self.last = self.run("story.frames.length") - 1

    def _asked(self, url: str) -> None:
        if not url.startswith(("file:", "data:")):
            self.wrong.append(f"asked for {url}")

    def run(self, script: str) -> Any:
        return self.page.evaluate(script)

    def at(self) -> int:
        return int(self.page.input_value("#scrub"))

    def text(self, selector: str = "#stage") -> str:
        # minus signs as the tests write them
        return str(self.page.inner_text(selector)).replace("\u2212", "-")

    def texts(self, selector: str) -> list[str]:
        found = self.page.locator(selector)
        svg = selector.endswith(".name")
        found = found.all_text_contents() if svg else found.all_inner_texts()
        return [text.replace("\u2212", "-") for text in found]


@pytest.fixture
def show(browser: Any, tmp_path: Path, replays: dict[str, dict[str, Any]]) -> Iterator[Any]:
    """Opens a replay's page; nothing may have gone wrong in any by the end."""
    opened: list[Shown] = []

    def _show(name: str, width: int = 1440, **options: Any) -> Shown:
        path = tmp_path / f"{name}.html"
        path.write_text(page(replays[name]), "utf-8")
        opened.append(Shown(browser, path, width, **options))
        return opened[-1]

    yield _show
    for shown in opened:
        assert shown.wrong == []
        shown.context.close()


def numbers(replay: dict[str, Any]) -> list[str]:
    """What the results must show."""
    results = replay["results"]
    if replay["game"] == "grand_exchange":
        return [f"{100 * results['return']:+.2f}%", f"{results['purse']:,.2f}"]
    shown = [f"{score:.4f}" for score in results["scores"]]
    shown += [f"{net:+}" if net else "0" for net in results.get("net", [])]
    return shown + [f"{value:.4f}" for value in results.get("exploitability") or []]


@pytest.mark.parametrize("width", [360, 1440])
@pytest.mark.parametrize(
    "name",
    ["garble", "hostile-garble", "hostile-poker", "kuhn", "sixmax", "holdem-6max", "live"],
)
def test_a_page_plays_to_its_results(
    show: Any, replays: dict[str, dict[str, Any]], name: str, width: int
) -> None:
    shown = show(name, width)
    for k in sorted({*range(0, shown.last, max(1, shown.last // 6)), shown.last}):
        shown.run(f"playback.show({k})")
        # nothing sticks out to the side, and no element hides a part of its text
        assert shown.run("document.documentElement.scrollWidth") <= width
        assert shown.run(CUT) == []
    for number in numbers(replays[name]):
        assert number in shown.text()
    audit = replays[name]["results"].get("audit")
    assert shown.page.locator(".heat td.flagged").count() >= len((audit or {}).get("flags", []))
    assert shown.page.locator(".heat tbody tr").count() == (6 if audit else 0)


CUT = """[...document.querySelectorAll('#stage *, header *, #controls *')].filter(e => {
  const style = getComputedStyle(e);
  if (e.closest('.unseen, .scroll, .theirs, .log, svg') || !e.clientWidth) return false;
  return (style.overflowX !== 'visible' || style.textOverflow === 'ellipsis')
    ? e.scrollWidth > e.clientWidth + 1
    : style.display !== 'inline' && !/^(TR|TBODY|THEAD|SELECT)$/.test(e.tagName)
      && e.scrollWidth > e.clientWidth + 2;
}).map(e => e.outerHTML.slice(0, 120))"""


def test_keys_buttons_scrubber_and_link(show: Any) -> None:
    from playwright.sync_api import expect

    shown = show("garble")
    keyboard = shown.page.keyboard
    assert shown.at() == 0
    for press, expected in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1)):
        keyboard.press(press)
        assert shown.at() == expected
    keyboard.press("Shift+ArrowRight")
    assert shown.run(f"story.frames[{shown.at()}].beat") != ""
    keyboard.press("Home")
    assert shown.at() == 0
    keyboard.press("End")
    assert shown.at() == shown.last
    shown.page.click("#back")
    shown.page.click("#back-beat")
    assert shown.run(f"story.frames[{shown.at()}].beat") != ""
    shown.page.fill("#scrub", "5")
    assert "Turn 5 of 12" in shown.text("#caption")
    assert shown.page.get_attribute("#link", "href") == "#5"
    expect(shown.page).to_have_url(f"{shown.url}#5")  # the address follows
    shown.page.goto(f"{shown.url}#3")
    shown.page.reload()
    assert shown.at() == 3
    shown.page.goto(f"{shown.url}#999999")
    assert shown.at() == shown.last
    shown.run("document.querySelector('.skip').click()")  # no moment: nothing moves
    assert shown.at() == shown.last
    shown.page.click("#keys")
    assert "a confirm" in shown.text("#help")
    keyboard.press("Escape")
    assert shown.page.is_hidden("#help")
    shown.page.select_option("#speed", "20")
    shown.page.click("#play")
    assert shown.page.get_attribute("#caption", "aria-live") == "off"
    assert shown.page.get_attribute("#play", "aria-label") == "Pause"
    expect(shown.page.locator("#play")).to_have_attribute("aria-label", "Play")
    assert shown.at() == shown.last
    assert shown.page.get_attribute("#caption", "aria-live") == "polite"


def test_every_garble_seat_is_shown_as_it_stands(
    show: Any, replays: dict[str, dict[str, Any]]
) -> None:
    shown = show("garble")
    closes = [event for event in replays["garble"]["events"] if event["event"] == "close"]
    heard = marked = misheard = 0
    for turn, close in enumerate(closes):
        shown.run(f"playback.show({turn + 1})")
        assert shown.texts(".seat .score b") == [f"{score:.3f}" for score in close["score"]]
        ends = [f"{shown.run('story.aliases')[k]} {s:.2f}" for k, s in enumerate(close["score"])]
        assert set(ends) <= set(shown.texts(".plot .name"))
        cards = shown.texts(".seat")
        for card, cash, airtime in zip(cards, close["cash"], close["airtime"], strict=True):
            assert f"cash {cash}" in card
            assert f"{airtime} of 900" in card
        lines = [
            event
            for event in replays["garble"]["events"]
            if event["event"] == "line" and event["turn"] == turn
        ]
        shown_said = [text.split()[1:] for text in shown.texts(".air tr.said")]
        assert shown_said == [event["said"].split() for event in lines]
        deals = sum(
            event["event"] == "settle" and event["turn"] <= turn
            for event in replays["garble"]["events"]
        )
        assert shown.page.locator(".deal .stamp").count() == deals
        for line in shown.run(f"story.frames[{turn + 1}].lines"):
            for _, words in line["heard"]:
                heard += sum(word != said for word, said in zip(words, line["said"], strict=True))
        misheard += shown.page.locator(".tickets .stamp.misheard").count()
        marked += shown.page.locator(".air td.swapped, .air td.missing").count()
    assert heard == marked > 50
    assert misheard == sum(replays["garble"]["results"]["misheard"]) // 2 > 0


def test_every_poker_moment_is_shown_as_it_stands(
    show: Any, replays: dict[str, dict[str, Any]]
) -> None:
    shown = show("holdem-6max")
    k = -1
    for event in replays["holdem-6max"]["events"]:
        if event["event"] not in ("deal", "action"):
            continue
        k += 1
        shown.run(f"playback.show({k})")
        if event["event"] == "deal":
            assert shown.text(".pot") == f"pot {sum(event['posts'])}"
            rank = [card.split("\n") for card in shown.texts(".place .playing-card")]
            held = sorted(" ".join(event["hole"]).split())
            assert sorted(_card(*card) for card in rank) == held
        else:
            verb = {"bet": f"bets {event['to']}", "raise": f"raises to {event['to']}"}
            words = verb.get(event["kind"], f"{event['kind']}s")
            assert f"seat_{event['seat']} {words}" in shown.text(".log li[aria-current]")
            assert f"seat_{event['seat']} {words}" in shown.text("#caption")
    assert k == shown.last
    nets = [
        f"seat_{seat} {net:+,}" for seat, net in enumerate(replays["holdem-6max"]["results"]["net"])
    ]
    chart = shown.page.get_attribute(".plot svg", "aria-label").replace("\u2212", "-")
    assert all(net in chart for net in nets)
    assert sorted(shown.texts(".plot .name")) == sorted(nets)
    assert shown.page.locator(".deal-of").count() == 2


def _card(rank: str, suit: str) -> str:
    return rank.replace("10", "T") + "shdc"["\u2660\u2665\u2666\u2663".index(suit[0])]


def test_every_exchange_tick_is_shown_as_it_stands(
    show: Any, replays: dict[str, dict[str, Any]]
) -> None:
    shown = show("live")
    events = replays["live"]["events"]
    for tick in (1, 17, 30, 44):
        shown.run(f"playback.show({tick})")
        own = [row.split("\t") for row in shown.texts(".item tbody tr:first-child")]
        stock = events[tick - 1]["stock"]
        assert [row[1] for row in own] == [f"{units:,}" for units in stock]
        purse = round(events[tick - 1]["purse"])
        assert shown.texts(".sums tbody tr:first-child td")[2] == f"{purse:,}"
        for fill in events[tick - 1]["fills"]:
            verb = "buys" if fill["units"] > 0 else "sells"
            words = f"{verb} {abs(fill['units']):,} {fill['item']} at {fill['price']:,}"
            assert words in shown.text("#caption")


@pytest.mark.parametrize("name", ["hostile-garble", "hostile-poker"])
def test_what_players_wrote_is_text(
    show: Any, replays: dict[str, dict[str, Any]], name: str
) -> None:
    html = page(replays[name])
    assert "alert(1)" in html
    for text in ("<script>alert", "</script ", "<img src=x", "\u202e", "\u2028", "<!--", "<b>"):
        assert text not in html.replace("<!doctype", "")
    found = re.search(r'id="story">(.*?)</script>', html, re.S)
    assert found
    assert HOSTILE in json.loads(found[1])["policies"]
    shown = show(name, 360)
    for k in range(shown.last + 1):
        shown.run(f"playback.show({k})")
        assert shown.page.locator("#stage script, #stage img").count() == 0
        # a mark that turns text around acts inside of its element alone
        turned = shown.run(
            "(() => { const walk = document.createTreeWalker(document.body, 4), bad = [];"
            "while (walk.nextNode()) { const e = walk.currentNode.parentElement;"
            "if (e.closest('#story') || !walk.currentNode.data.includes('\\u202e')) continue;"
            "if (!getComputedStyle(e).unicodeBidi.startsWith('isolate')) bad.push(e.className); }"
            "return bad; })()"
        )
        assert turned == []
    assert "<script>alert(1)</script>" in shown.run("document.getElementById('stage').textContent")


CONTRAST = """() => {
  const canvas = document.createElement('canvas'); canvas.width = canvas.height = 1;
  const pen = canvas.getContext('2d', { willReadFrequently: true });
  const rgba = (paint) => {
    pen.clearRect(0, 0, 1, 1); pen.fillStyle = paint; pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data].map((v, i) => i === 3 ? v / 255 : v); };
  const over = (top, low) => [0, 1, 2].map(i => top[i] * top[3] + low[i] * (1 - top[3])).concat(1);
  const ground = (e) => { const coats = [];
    for (let at = e; at; at = at.parentElement) {
      const coat = rgba(getComputedStyle(at).backgroundColor);
      coats.push(coat); if (coat[3] === 1) break; }
    return coats.reduceRight((low, top) => over(top, low), [255, 255, 255, 1]); };
  const light = (c) => { const [r, g, b] = c.map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const found = []; let seen = 0;
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !e.checkVisibility({ visibilityProperty: true })) continue;
    if (e.closest('script, .unseen, .skip, [popover], option')) continue;
    const style = getComputedStyle(e), svg = e instanceof SVGElement;
    const low = ground(svg ? e.closest('div') : e);
    const ink = over(rgba(svg ? style.fill : style.color), low);
    const [a, b] = [light(ink), light(low)].sort((x, y) => y - x);
    seen += 1;
    if ((a + 0.05) / (b + 0.05) < 4.5)
      found.push(`${((a + 0.05) / (b + 0.05)).toFixed(2)} ${e.className} ${walk.currentNode.data}`);
  }
  return [seen, found];
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["garble", "kuhn", "holdem-6max", "exchange"])
def test_text_stands_out_from_its_ground(show: Any, name: str, theme: str) -> None:
    shown = show(name, color_scheme=theme)
    for k in (0, shown.last // 2, shown.last):
        shown.run(f"playback.show({k})")
        seen, found = shown.run(CONTRAST)
        assert seen > 50
        assert found == []


def test_the_theme_follows_the_system_until_told(show: Any) -> None:
    shown = show("kuhn", color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = shown.run(ground)
    assert shown.text("#theme") == "Light"
    shown.page.click("#theme")
    assert shown.run(ground) != dark
    assert shown.text("#theme") == "Dark"
    shown.page.emulate_media(color_scheme="light")
    shown.page.click("#theme")
    assert shown.run(ground) == dark


@pytest.mark.parametrize("name", ["garble", "holdem-6max", "exchange"])
def test_the_keyboard_reaches_everything_and_shows_where_it_is(show: Any, name: str) -> None:
    shown = show(name)
    shown.page.keyboard.press("End")
    reached = set()
    while True:
        shown.page.keyboard.press("Tab")
        what, ring = shown.run(
            "(() => { const e = document.activeElement, s = getComputedStyle(e);"
            "e.dataset.seen = 1;"
            "return [e.id || e.getAttribute('aria-label') || e.className || e.tagName,"
            "s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2]; })()"
        )
        if what == "BODY" or (what, ring) in reached:
            break
        assert ring, what
        reached.add((what, ring))
    missed = shown.run(
        "[...document.querySelectorAll('button, a, input, select')]"
        ".filter(e => !e.dataset.seen && e.checkVisibility()).map(e => e.outerHTML)"
    )
    assert missed == []
    unnamed = shown.run(
        "[...document.querySelectorAll('button, a, input, select, meter, svg[role], [role=img],"
        " [role=region], section')].filter(e => !(e.getAttribute('aria-label')"
        " || e.textContent.trim())).map(e => e.outerHTML.slice(0, 99))"
    )
    assert unnamed == []


def test_nothing_needs_colour_or_moves_by_itself(show: Any) -> None:
    shown = show("garble", reduced_motion="reduce")
    shown.run("playback.show(6)")
    assert "underline" in shown.run(
        "getComputedStyle(document.querySelector('.air .swapped')).textDecorationLine"
    )
    assert shown.page.locator(".air td.missing").first.text_content() == "\u25a9lost"
    assert "said" in (shown.page.locator(".air td.swapped").first.text_content() or "")
    assert shown.run("document.getAnimations().length") == 0
