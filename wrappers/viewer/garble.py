"""What the page of a Garble replay tells: a frame a turn, every line as said over every hearing."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ...envs.garble.lexicon import COMMODITIES, GAP_TEXT
from ...envs.garble.replay import views
from ...envs.garble.scene import Line, View, headline
from ...envs.replay import Replay


def story(replay: Replay) -> dict[str, Any]:
    """The start and every turn played. A frame is a beat if a confirm came to something on it."""
    seen = list(views(replay))
    first, last = seen[0], seen[-1]
    frames = [_frame(view, replay, k) for k, view in enumerate(seen)]
    config = replay["config"]
    return {
        "game": "garble",
        "title": f"Garble, seed {replay['seed']}",
        "subtitle": f"{first.turns} turns, noise {config['noise_scale']:g}",
        "commodities": list(COMMODITIES),
        "aliases": list(first.aliases),
        "policies": replay["seats"],
        "contracts": [account.contract for account in first.accounts],
        "curve": first.curve.tolist(),
        "interference": last.interference.tolist(),
        "bursts": last.bursts.tolist(),
        "prices": last.prices.tolist(),
        "tape": list(last.tape),
        "frames": frames,
        "results": replay["results"],
    }


def _frame(view: View, replay: Replay, played: int) -> dict[str, Any]:
    decisions = replay["inputs"][5 * (played - 1) : 5 * played] if played else []
    lines = [_line(line, view) for line in view.lines]
    for line, decision in zip(lines, decisions, strict=True):
        line["notes"], line["fallback"] = decision["notes"], decision["fallback"]
    return {
        "label": f"turn {played} of {view.turns}" if played else "the start",
        "turn": played - 1,
        "beat": any(line["verdict"] for line in lines),
        "band": view.band if played else "",
        "lines": lines,
        "accounts": [_account(account) for account in view.accounts],
    }


def _account(account: Any) -> dict[str, Any]:
    kept = asdict(account)
    del kept["policy"], kept["contract"]
    return kept


def _line(line: Line, view: View) -> dict[str, Any]:
    said = line.said or ()
    return {
        "sender": line.sender,
        "head": headline(line, view),
        "said": list(said),
        # how a word was heard: 0 as said, 1 another word, 2 not at all
        "heard": [
            [to, [[word, _how(word, said[k])] for k, word in enumerate(words)]]
            for to, words in line.heard
        ],
        "confirm": line.confirm,
        "verdict": line.verdict,
    }


def _how(word: str, said: str) -> int:
    return 2 if word == GAP_TEXT else int(word != said)
