"""Poker as text; see the package for the interface."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs.poker.betting import CALL, FOLD
from ...envs.poker.cards import NO_CARD, name
from ...envs.poker.env import PokerEnv
from ...envs.poker.match import REWARDS
from ...envs.poker.replay import TALK
from ...envs.poker.scene import told
from ...envs.poker.tables import HOLDEM, Table
from ...envs.rng import below
from .blocks import Block, Kind, prompt, tell
from .poker_rules import rules
from .reply import (
    ReplyError,
    compact,
    find_object,
    member,
    quoted,
    shown,
    string,
    valid_unicode,
    whole,
    word,
)

FALLBACK = "house"
"""Plays for a seat whose reply was ill-formed twice."""

ALIASES = (
    *("Alder", "Aspen", "Birch", "Cedar", "Elm", "Hazel"),
    *("Juniper", "Laurel", "Linden", "Maple", "Rowan", "Willow"),
)
"""The pool that a match draws its seats' names from."""

_ALIAS_STREAM = 64  # far from the streams of the engine
STREETS = {True: ("preflop", "flop", "turn", "river"), False: ("first round", "second round")}
WHOLE_TALK, NEWS_TALK = (12, 720), (6, 240)
"""Lines and runes of the newest talk that a whole text shows, and one of news; the rest is counted.

Six seats can say 120 runes at each of some three hundred decisions of a hand."""
SEAT_TALK = 600
"""Bytes of one seat's talk in a hand that are shown in news; of what follows only the count.

So no seat fills another's context, in whatever characters it talks: a token is a byte or more."""
_WAGERS = ("bet", "raise")
_ALL_IN = ("allin", "all-in", "all in", "all_in")


@dataclass(frozen=True)
class Decision:
    """An action of ``PokerEnv`` and the line said with it, at most 120 runes; "" for none."""

    action: int
    say: str = ""


@dataclass(frozen=True)
class Said:
    """A line of table talk: the street it was said on, who said it, what."""

    street: int
    alias: str
    text: str


@dataclass(frozen=True)
class View:
    """What a seat knows: the env's fields (``seen``), names by position, the talk of this hand.

    ``alias`` is the seat's own name, ``to_act`` whether it is its turn, ``reward`` the env's kind.
    """

    table: Table
    reward: str
    seen: Mapping[str, NDArray[Any]]
    alias: str
    aliases: tuple[str, ...]
    talk: tuple[Said, ...]
    to_act: bool

    def number(self, field: str) -> int:
        """A field of one number."""
        return int(self.seen[field][0])

    @property
    def raise_to(self) -> tuple[int, int]:
        """Least and most to bet or raise to; 0, 0 if barred."""
        least, most = self.seen["raise_to"].tolist()
        return least, most


class Scribe:
    """Keeps the names and the table talk of one match of ``env``, from its reset on."""

    def __init__(self, env: Any) -> None:
        self.env: PokerEnv = env.unwrapped
        self.aliases = draw_aliases(np.uint64(self.env.row["key"]), self.env.table.seats)
        self._hand = -1
        self._talk: list[Said] = []

    def note(self, decision: Decision) -> None:
        """Take down what the seat to act says; before the env steps."""
        row = self.env.row
        if row["hand"] != self._hand:
            self._hand, self._talk = int(row["hand"]), []
        if decision.say:
            seat = self.env.possible_agents.index(self.env.agent_selection)
            text = clean_talk(decision.say)
            self._talk.append(Said(int(row["street"]), self.aliases[seat], text))

    def view(self, agent: str) -> View:
        """What ``agent`` knows now."""
        env, row = self.env, self.env.row
        told_now = env.observe(agent)
        talk = tuple(self._talk) if row["hand"] == self._hand else ()
        return View(
            env.table,
            REWARDS[env.reward_kind],
            told_now["observation"],
            self.aliases[env.possible_agents.index(agent)],
            tuple(self.aliases[seat] for seat in row["seat_at"][: row["players"]].tolist()),
            talk,
            bool(told_now["action_mask"].any()),
        )


def draw_aliases(key: np.uint64, seats: int) -> tuple[str, ...]:
    """The name of each seat in the match of this key; whoever plays, and wherever it sits."""
    pool = list(ALIASES)
    return tuple(pool.pop(below(key, _ALIAS_STREAM, k, len(pool))) for k in range(seats))


def same_hand(view: View, since: View) -> bool:
    """Whether two views of a seat are of one hand, and so of one conversation."""
    return view.number("hand") == since.number("hand")


def system_prompt(view: View, operator: str = "") -> str:
    """The rules of the view's table, and the operator's guidance in a block below them.

    Raises:
        InputError: if the guidance is longer than 4,000 runes.
    """
    return prompt(rules(view.table, view.reward), operator)


def describe(view: View, since: View | None = None) -> str:
    """What the seat knows; of what ``since``, an earlier view of this hand, told, only the news."""
    if since is None:
        return tell(_blocks(view))
    return tell(_blocks(view, since), _blocks(since))


def parse(reply: object, view: View) -> Decision:
    """Read a reply of ``{"action", "amount", "say"}``.

    Raises:
        ReplyError: if it is no legal decision.
    """
    found = find_object(reply)
    kind = word(member(found, "action"))
    spoken = found.get("say")
    say = "" if spoken is None else string(spoken, "say")[:TALK]
    if not view.to_act:
        raise ReplyError("illegal", "It is not your turn.")
    price = view.number("to_call")
    least, most = view.raise_to
    if kind in _ALL_IN:
        return Decision(most + 1 if most else CALL, say)
    if kind == "fold":
        return Decision(FOLD if price else CALL, say)
    if kind == "call" or (kind == "check" and not price):
        return Decision(CALL, say)
    if kind in _WAGERS and least:
        amount = found.get("amount")
        if amount is None and least == most:
            return Decision(least + 1, say)
        return Decision(whole(amount, "amount", least, most) + 1, say)
    given = "" if kind in ("check", *_WAGERS) else f" got {shown(found['action'])};"
    raise ReplyError("illegal", f'"action" is not legal;{given} you may {_legal(view)}.')


def salvage(reply: object, view: View) -> tuple[Decision | None, int]:
    """Nothing of an ill-formed reply is kept: ``FALLBACK`` plays."""
    return None, 0


def decision_of(action: int, view: View) -> Decision:
    """An action of the env as a decision, in silence."""
    return Decision(int(action))


def action_of(decision: Decision, view: View) -> int:
    """The action of the env."""
    return decision.action


def format_action(decision: Decision, view: View) -> str:
    """The reply that ``parse`` reads as this decision."""
    price, amount = view.number("to_call"), None
    if decision.action == FOLD:
        kind = "fold"
    elif decision.action == CALL:
        kind = "call" if price else "check"
    else:
        kind = "raise" if view.seen["bets"].any() else "bet"
        amount = decision.action - 1
    return compact({"action": kind, "amount": amount, "say": decision.say})


def clean_talk(text: str) -> str:
    """What goes out of a line of talk: 120 runes, lone surrogates as U+FFFD."""
    return valid_unicode(text)[:TALK]


def _legal(view: View) -> str:
    """The legal decisions in words."""
    price = view.number("to_call")
    least, most = view.raise_to
    parts = ["fold", f"call {price}"] if price else ["check"]
    if least:
        verb = "raise to" if view.seen["bets"].any() else "bet"
        parts.append(f"{verb} {least}" if least == most else f"{verb} {least}..{most}")
    return ", ".join(parts)


def _cards(cards: Sequence[int]) -> str:
    return " ".join(name(card) for card in cards if card != NO_CARD) or "none"


def _blocks(view: View, since: View | None = None) -> list[Block]:
    seen, number = view.seen, view.number
    position, players = number("position"), number("players")
    streets = STREETS[view.table.game == HOLDEM]
    where = f"position {position} of {players}" if position >= 0 else "out of the hand"
    hand, hands = seen["hand"].tolist()
    if position < 0:
        turn = "you are not in this hand"
    elif not view.to_act:
        turn = "wait, it is not your turn"
    else:
        turn = f"to call {number('to_call')}; you may {_legal(view)}"
    folded = [name for p, name in enumerate(view.aliases) if not seen["live"][p]]
    street = f"{streets[number('street')]}, {number('wagers')} bets or raises on it"
    betting = _told(view)
    talk = heard = view.talk
    if since is not None:
        betting = betting[len(_told(since)) :]
        # its own lines stand in its replies
        audible = _audible(talk)[len(since.talk) :]
        talk = tuple(said for said in talk[len(since.talk) :] if said.alias != view.alias)
        heard = tuple(said for said in audible if said is not None and said.alias != view.alias)
    by_street = groupby(betting, lambda entry: entry[0])
    shown = _newest(heard, WHOLE_TALK if since is None else NEWS_TALK)
    return [
        Block("Hand", (f"{hand + 1} of {hands}; you are {view.alias}, {where}",)),
        Block("Your cards", (_cards(seen["hole"].tolist()),)),
        Block("Board", (_cards(seen["board"].tolist()),)),
        Block("Street", (f"{street}; pot {number('pot')}",)),
        Block("Seats", (", ".join(_seat(view, p) for p in range(players)),)),
        Block("Net before this hand", (_row(view, "standings", "+"),)),
        Block("Folded", (", ".join(folded) or "nobody",)),
        Block("Stacks", (_row(view, "stacks"),)),
        Block("Bets on this street", (_row(view, "bets"),)),
        Block("Put in this hand", (_row(view, "committed"),)),
        Block(
            "Betting",
            tuple(
                f"{street}: {', '.join(f'{who} {words}' for _, who, words in said)}"
                for street, said in by_street
            ),
            Kind.NOW,
        ),
        Block("Talk not shown", tuple(_counts(talk, shown)), Kind.NOW),
        Block(
            "Table talk",
            tuple(f"{streets[said.street]}: {said.alias}: {quoted(said.text)}" for said in shown),
            Kind.NOW,
        ),
        Block("Your turn", (turn,), Kind.NOW),
    ]


def _seat(view: View, p: int) -> str:
    marks = ["you"] if p == view.number("position") else []
    marks += ["button"] if p == 0 else []
    return f"{p} {view.aliases[p]}" + (f" ({', '.join(marks)})" if marks else "")


def _row(view: View, field: str, sign: str = "") -> str:
    """A field by position, the positions of the hand only."""
    return " ".join(f"{x:{sign}d}" for x in view.seen[field][: view.number("players")].tolist())


def _newest(talk: tuple[Said, ...], room: tuple[int, int]) -> tuple[Said, ...]:
    """The newest lines that fit into ``room``: lines and runes."""
    lines, runes = room
    first = len(talk)
    while first > max(0, len(talk) - lines) and runes >= len(talk[first - 1].text):
        first -= 1
        runes -= len(talk[first].text)
    return talk[first:]


def _audible(talk: tuple[Said, ...]) -> list[Said | None]:
    """The talk of a hand, with None for what a seat says past its share of the news."""
    spent: Counter[str] = Counter()
    lines: list[Said | None] = []
    for said in talk:
        spent[said.alias] += len(said.text.encode())
        lines.append(said if spent[said.alias] <= SEAT_TALK else None)
    return lines


def _counts(talk: tuple[Said, ...], shown: tuple[Said, ...]) -> Iterator[str]:
    """How many lines each said that are not shown."""
    count = Counter(said.alias for said in talk) - Counter(said.alias for said in shown)
    if count:
        yield ", ".join(f"{alias} {lines}" for alias, lines in count.items())


def _told(view: View) -> list[tuple[str, str, str]]:
    """The decisions of the hand: street, who, what."""
    seen, table = view.seen, view.table
    row = {
        "game": table.game,
        "players": view.number("players"),
        "small_blind": table.small_blind,
        "big_blind": table.big_blind,
        "seat_at": np.arange(view.number("players")),
        "paid": seen["committed"],
        "stacks": seen["stacks"],
    }
    return [(street, view.aliases[p], words) for street, p, words in told(row, seen["history"])]
