"""What the page of a poker replay tells: a frame a decision, every card face up."""

from __future__ import annotations

from typing import Any

from ...envs.poker.cards import NO_CARD, name
from ...envs.poker.replay import views
from ...envs.poker.scene import Player, View
from ...envs.replay import Replay


def story(replay: Replay) -> dict[str, Any]:
    """The deal and every decision of each hand; a frame is a beat if it ends a hand."""
    seen, hands = list(views(replay)), _hands(replay)
    said = [entry for entry in replay["inputs"] if "action" in entry]
    frames, decided, hand, before = [], 0, -1, 0
    for view in seen:
        moves = len(view.told)
        if view.hand != hand:
            hand, before = view.hand, 0
        dealt = hands[view.hand]
        if moves > before:  # the frame of a decision, with what was said along with it
            entry, before = said[decided], moves
            decided += 1
            frames.append(_frame(view, dealt, entry))
        else:
            frames.append(_frame(view, dealt, None))
    results = replay["results"]
    hands_played, stack = results["hands_played"], results["starting_stack"]
    price = f"ante {results['ante']}"
    if not results["ante"]:
        price = "blinds {}/{}".format(*results["blinds"])
    return {
        "game": "poker",
        "title": f"Poker, {results['table']}, seed {replay['seed']}",
        "subtitle": f"{hands_played} hands, stacks of {stack}, {price}",
        "policies": replay["seats"],
        "pairs": replay["config"]["pairs"],
        "frames": frames,
        "hands": hands,
        "results": results,
    }


def _frame(view: View, dealt: dict[str, Any], entry: dict[str, Any] | None) -> dict[str, Any]:
    done = any(player.won for player in view.players)
    # a view that pays a hand out has the nets from before it
    paid = dict(zip(dealt["seats"], dealt["net"], strict=True)) if done else {}
    return {
        "label": f"hand {view.hand + 1} of {view.hands}",
        "hand": view.hand,
        "street": view.street,
        "beat": done,
        "board": [_card(card) for card in view.board],
        "pot": view.pot,
        "players": [_player(player, paid.get(player.seat, 0)) for player in view.players],
        "told": [list(row) for row in view.told],
        "seat": entry["seat"] if entry is not None else -1,
        "say": entry["say"] if entry is not None else "",
        "by": entry["by"] if entry is not None else "",
    }


def _player(player: Player, paid: int) -> dict[str, Any]:
    return {
        "seat": player.seat,
        "cards": [_card(card) for card in player.cards],
        "stack": player.stack,
        "bet": player.bet,
        "net": player.net + paid,
        "won": player.won,
        "folded": player.folded,
        "marks": player.marks(),
    }


def _card(card: int) -> str:
    return "" if card == NO_CARD else name(card)


def _hands(replay: Replay) -> list[dict[str, Any]]:
    """What came of each hand, from the events: who held what, the board, who won what."""
    hands: list[dict[str, Any]] = []
    for event in replay["events"]:
        if event["event"] == "deal":
            kept = ("hand", "deal", "mirror", "seats", "hole", "posts")
            hands.append(
                {**{key: event[key] for key in kept}, "board": "", "net": None, "told": []}
            )
        elif event["event"] == "board":
            hands[-1]["board"] = f"{hands[-1]['board']} {event['cards']}".strip()
        elif event["event"] == "action":
            hands[-1]["told"].append([event["seat"], event["kind"], event["to"]])
        elif event["event"] == "end":
            hands[-1]["net"] = event["net"]
    return hands
