"""The page: one HTML file that holds its style, its scripts and the story of a replay."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from ...envs import replay as envelope
from ...envs.errors import InputError
from ...envs.garble import replay as garble_replay
from ...envs.grand_exchange import replay as exchange_replay
from ...envs.poker import replay as poker_replay
from ...envs.replay import Replay, brief
from . import garble, grand_exchange, poker

Story = dict[str, Any]

STATIC = Path(__file__).parent / "static"

_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
"""


class _Game(NamedTuple):
    verify: Callable[[Replay], None]
    story: Callable[[Replay], Story]
    scripts: tuple[str, ...]


GAMES = {
    "garble": _Game(
        garble_replay.verify, garble.story, ("garble_weather.js", "garble_air.js", "garble.js")
    ),
    "grand_exchange": _Game(exchange_replay.verify, grand_exchange.story, ("grand_exchange.js",)),
    "poker": _Game(poker_replay.verify, poker.story, ("poker_audit.js", "poker.js")),
}
"""How a replay of a game is verified, what its page tells (``story`` of each module), and by which
scripts."""

_SCRIPTS = ("elements.js", "chart.js", "playback.js")


def load(path: str | os.PathLike[str]) -> Replay:
    """Read a replay of any game and verify it.

    Raises:
        InputError: naming the file and what is wrong with it.
    """
    return envelope.load(path, lambda replay: _game(replay).verify(replay))


def page(replay: Replay) -> str:
    """The HTML of a verified replay's page, UTF-8.

    What players wrote goes into it as data alone: the scripts show it as text.
    """
    game = _game(replay)
    story = {"digest": replay["digest"], **game.story(replay)}
    # no "<" leaves JSON as it is, so no string can close the element
    data = json.dumps(story, sort_keys=True, separators=(",", ":")).replace("<", "\\u003c")
    scripts = "".join(f"<script>\n{_static(s)}</script>\n" for s in (*_SCRIPTS, *game.scripts))
    style = _static("base.css") + _static(f"{replay['game']}.css")
    return (
        _HEAD.format(title=escape(story["title"]), style=style)
        + _static("body.html")
        + f'<script type="application/json" id="story">{data}</script>\n'
        + scripts
        + "</body>\n</html>\n"
    )


def plain(title: str, body: str) -> str:
    """A page without a replay, in the same style; ``body`` is HTML."""
    head = _HEAD.format(title=escape(title), style=_static("base.css"))
    return (
        f"{head}<header><h1>{escape(title)}</h1></header>\n"
        f'<main id="stage"><section>{body}</section></main>\n</body>\n</html>\n'
    )


def _game(replay: Replay) -> _Game:
    if replay["game"] not in GAMES:
        raise InputError(f"game must be one of {', '.join(GAMES)}; got {brief(replay['game'])}")
    return GAMES[replay["game"]]


def _static(name: str) -> str:
    return (STATIC / name).read_text("utf-8")
