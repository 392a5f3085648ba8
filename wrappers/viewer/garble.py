"""What the page of a Garble replay tells: a frame a turn, every line as said over every hearing."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ...envs.garble.constants import AIRTIME, CLIPPED, NOTHING, SILENT, WINDOW
from ...envs.garble.lexicon import COMMODITIES
from ...envs.garble.replay import views
from ...envs.garble.scene import Account, Line, View, headline
from ...envs.replay import Replay


def story(replay: Replay) -> dict[str, Any]:
    """The start and every turn played.

    A frame's ``beat`` is what its confirms came to: "misheard", "settled" or "void", the first of
    these that did; else "".
    """
    seen = list(views(replay))
    first, last = seen[0], seen[-1]
    config, start = replay["config"], replay["events"][0]
    written = {
        (event["turn"], event["seat"]): event["said"]
        for event in replay["events"]
        if event["event"] == "line"
    }
    return {
        "game": "garble",
        "title": f"Garble, seed {replay['seed']}",
        "subtitle": f"{first.turns} turns, noise {config['noise_scale']:g}",
        "commodities": list(COMMODITIES),
        "airtime": AIRTIME,
        "aliases": list(first.aliases),
        "policies": replay["seats"],
        "contracts": list(zip(start["demand"], start["premium"], start["quota"], strict=True)),
        "curve": first.curve.tolist(),
        "interference": last.interference.tolist(),
        "bursts": last.bursts.tolist(),
        "prices": last.prices.tolist(),
        "tickets": _tickets(seen),
        "tape": list(last.tape),
        "frames": [_frame(view, replay["inputs"], written, k) for k, view in enumerate(seen)],
        "results": replay["results"],
    }


def _tickets(seen: list[View]) -> list[dict[str, Any]]:
    """Every ticket: its terms as said, its turn, the turn it is gone, the turn it settled."""
    settled = {row["ticket"]: row["turn"] for row in seen[-1].tape}
    return [
        {
            "number": line.ticket,
            "seat": line.sender,
            "channel": view.channel(line.channel),
            "terms": _times(line.terms),
            "turn": view.turn,
            "expires": view.turn + WINDOW + 1,
            "settled": settled.get(line.ticket),
        }
        for view in seen
        for line in view.lines
        if line.ticket
    ]


def _frame(
    view: View, inputs: list[dict[str, Any]], written: dict[tuple[int, int], str], played: int
) -> dict[str, Any]:
    """``inputs`` are the replay's; ``written`` has each line by turn and seat, as it was sent."""
    decisions = inputs[5 * (played - 1) : 5 * played] if played else []
    turn = played - 1
    verdicts = {line.verdict for line in view.lines}
    return {
        "label": f"turn {played} of {view.turns}" if played else "the start",
        "turn": turn,
        "beat": next((v for v in ("misheard", "settled", "void") if v in verdicts), ""),
        "lines": [
            {
                **_line(line, view, written.get((turn, line.sender), "")),
                "notes": decision["notes"],
                "fallback": decision["fallback"],
            }
            for line, decision in zip(view.lines, decisions, strict=True)
        ],
        "accounts": [_account(account) for account in view.accounts],
    }


def _account(account: Account) -> dict[str, Any]:
    kept = asdict(account)
    for name in ("seat", "policy", "contract"):
        del kept[name]
    return kept


def _line(line: Line, view: View, written: str) -> dict[str, Any]:
    """``silent`` is why there is nothing to hear; ``raw`` the line, where its words hide it."""
    said = " ".join(line.said or ())
    return {
        "sender": line.sender,
        "silent": headline(line, view) if line.sent in (NOTHING, SILENT) else "",
        "channel": view.channel(line.channel),
        "clipped": line.sent == CLIPPED,
        "ticket": line.ticket,
        "said": list(line.said or ()),
        "raw": "" if " ".join(written.split()).upper() == said else written,
        "heard": [[to, list(words)] for to, words in line.heard],
        "confirm": line.confirm,
        "verdict": line.verdict,
    }


def _times(terms: str) -> str:
    """Terms with a multiplication sign where a word was said more than once."""
    return " ".join(
        word.replace("x", "\N{MULTIPLICATION SIGN}") if word[-1:].isdigit() else word
        for word in terms.split()
    )
