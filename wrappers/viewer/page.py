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


GAMES = {
    "garble": _Game(garble_replay.verify, garble.story),
    "grand_exchange": _Game(exchange_replay.verify, grand_exchange.story),
    "poker": _Game(poker_replay.verify, poker.story),
}
"""How a replay of a game is verified, and what its page tells: see ``story`` of each module."""


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
    story = {"digest": replay["digest"], **_game(replay).story(replay)}
    # no "<" leaves JSON as it is, so no string can close the element
    data = json.dumps(story, sort_keys=True, separators=(",", ":")).replace("<", "\\u003c")
    scripts = "".join(
        f"<script>\n{_static(name)}</script>\n" for name in ("view.js", f"{replay['game']}.js")
    )
    return (
        _HEAD.format(title=escape(story["title"]), style=_static("view.css"))
        + _static("body.html")
        + f'<script type="application/json" id="story">{data}</script>\n'
        + scripts
        + "</body>\n</html>\n"
    )


def _game(replay: Replay) -> _Game:
    if replay["game"] not in GAMES:
        raise InputError(f"game must be one of {', '.join(GAMES)}; got {brief(replay['game'])}")
    return GAMES[replay["game"]]


def _static(name: str) -> str:
    return (STATIC / name).read_text("utf-8")
