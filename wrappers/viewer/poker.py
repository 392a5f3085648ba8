"""What the page of a poker replay tells: a frame a decision, every card face up."""

from __future__ import annotations

from typing import Any

from ...envs.poker.audit import CONTESTED, DUMP, SOFT_PLAY
from ...envs.poker.replay import views
from ...envs.poker.scene import Player, View
from ...envs.replay import Replay


def story(replay: Replay) -> dict[str, Any]:
    """The deal and every decision of each hand; a frame's ``beat`` is "hand" if it ends one.

    Frames hold what changes; cards and words are those of the hand, ``hands[frame["hand"]]``, of
    which ``moves`` decisions are made and ``shown`` cards of the board dealt. ``seat`` is who
    decided, or -1.
    """
    hands, frames = _hands(replay), []
    notes = [_note(entry) for entry in replay["inputs"] if "action" not in entry]
    hand, before = -1, 0
    for view in views(replay):
        moves, note = len(view.told), ""
        if view.hand != hand:
            hand, before = view.hand, 0
        elif moves == before and notes:
            note = notes.pop(0)
        frames.append(_frame(view, hands[hand], before, note))
        before = moves
    results, config = replay["results"], replay["config"]
    blinds = "blinds {}/{}".format(*results["blinds"])
    price = f"ante {results['ante']}" if results["ante"] else blinds
    played = f"{results['hands_played']}"
    if results["hands_played"] < results["hands"]:
        played += f" of {results['hands']}"
    kind = (
        "chip race"
        if results["stacks"]
        else "duplicate pairs"
        if config["pairs"]
        else "each for itself"
    )
    return {
        "game": "poker",
        "title": f"Poker, {results['table']}, seed {replay['seed']}",
        "subtitle": f"{played} hands ({kind}), stacks of {results['starting_stack']}, {price}",
        "policies": replay["seats"],
        "frames": frames,
        "hands": hands,
        "big": results["blinds"][1],
        "flags": {"soft": SOFT_PLAY, "dump": DUMP, "contested": CONTESTED},
        "results": results,
    }


def _frame(view: View, dealt: dict[str, Any], before: int, note: str) -> dict[str, Any]:
    done, moves = any(player.won for player in view.players), len(view.told)
    # a view that pays a hand out has the nets from before it
    paid = dict(zip(dealt["seats"], dealt["net"], strict=True)) if done else {}
    return {
        "label": f"hand {view.hand + 1} of {view.hands}",
        "hand": view.hand,
        "street": view.street,
        "beat": "hand" if done else "",
        "shown": sum(card >= 0 for card in view.board),
        "pot": view.pot,
        "players": [_player(player, paid.get(player.seat, 0)) for player in view.players],
        "moves": moves,
        "seat": dealt["told"][moves - 1]["seat"] if moves > before else -1,
        **({"note": note} if note else {}),
    }


def _player(player: Player, paid: int) -> dict[str, Any]:
    """What is to be told of a seat; what is 0 or "" is left out."""
    told = {"bet": player.bet, "won": player.won, "marks": player.marks()}
    return {
        "seat": player.seat,
        "stack": player.stack,
        "net": player.net + paid,
        **{name: value for name, value in told.items() if value},
    }


def _note(entry: dict[str, Any]) -> str:
    if "void" in entry:
        return f"the hand is void and refunded ({entry['void']})"
    return f"no hand begins after this one ({entry['stop']})"


def _hands(replay: Replay) -> list[dict[str, Any]]:
    """What came of each hand, from the events: who held what, the board, who did and won what.

    Of a seat that is out of the race there is nothing. ``net`` is None of a hand that was voided.
    """
    hands: list[dict[str, Any]] = []
    said = iter([entry for entry in replay["inputs"] if "action" in entry])
    for event in replay["events"]:
        if event["event"] == "deal":
            kept = {key: event[key] for key in ("hand", "deal", "mirror", "seats")}
            hole = [cards.split() for cards in event["hole"]]
            hands.append({**kept, "hole": hole, "board": [], "net": None, "told": []})
        elif event["event"] == "board":
            hands[-1]["board"] += event["cards"].split()
        elif event["event"] == "action":
            entry = next(said)
            did = {key: event[key] for key in ("seat", "street", "kind")}
            words = {"say": entry["say"], "by": "" if entry["by"] == "seat" else entry["by"]}
            chips = {"to": event["to"], "pot": event["pot"], "all_in": event["all_in"]}
            hands[-1]["told"].append({**did, **chips, **{k: v for k, v in words.items() if v}})
        elif event["event"] == "end":
            hands[-1]["net"] = event["net"]
    return hands
