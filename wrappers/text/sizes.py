"""How long the texts get, in tokens: whole scripted episodes whose players say all that they may.

A conversation is the system prompt with a full operator's block, every user message and every reply
of one seat (poker: of one hand). Players fill what is theirs to fill: lines of table talk and notes
of full length in prose, lines on the air padded with made-up words, the longest betting there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs.errors import InputError, require
from ...envs.garble.constants import MAX_NOTES, MAX_RUNES, MAX_TURNS
from ...envs.garble.env import ParallelGarble
from ...envs.garble.policies import POLICIES as GARBLE_POLICIES
from ...envs.garble.tables import turn_keys
from ...envs.grand_exchange.env import GrandExchange
from ...envs.grand_exchange.policies import POLICIES as EXCHANGE_POLICIES
from ...envs.poker.env import PokerEnv
from ...envs.poker.match import begin_hand
from ...envs.poker.replay import TALK
from ...envs.poker.tables import TABLES
from ...envs.rng import mix
from ...envs.seats import one_row
from ...envs.seeds import SEED_BASE
from . import garble, grand_exchange, poker
from .blocks import MAX_OPERATOR

GAMES = ("grand-exchange", "garble", "poker")
ENCODINGS = ("o200k_base", "cl100k_base")
MAX_OBSERVATION = 4096
MAX_CONVERSATION = 16_384
"""What the texts keep to, tokens."""

_MESSAGE = 4  # tokens that a chat template puts around a message
_BASKETS, _LIVE, _TABLES = 300, 4, 4
_PROSE = (
    "I think that you have been bluffing since the flop and everybody at this table knows it, so"
    " do yourself a favour and let it go now. "
)
_WORDS = "QUIXZ JOVKA WYPTH ZEBRU FJORN VEXLI KWARB GLYPO"

Count = Callable[[str], int]


@dataclass(frozen=True)
class Size:
    """The longest texts of one form of a game, in tokens.

    ``longest`` names the episode of the longest conversation; ``messages`` are that one's.
    """

    name: str
    observation: int
    conversation: int
    messages: int
    longest: str

    @property
    def fits(self) -> bool:
        """Whether both are within what the texts keep to."""
        return self.observation <= MAX_OBSERVATION and self.conversation <= MAX_CONVERSATION


class Conversation:
    """One seat's conversation as it grows, measured and not kept."""

    def __init__(self, game: ModuleType, count: Count) -> None:
        self._game, self._count = game, count
        self._told: Any = None
        self.observation = self.tokens = self.messages = 0

    def turn(self, view: Any, decision: Any) -> None:
        """Tell ``view`` and take ``decision`` for the reply."""
        if self._told is None:
            self._add(self._game.system_prompt(view, filled(_PROSE, MAX_OPERATOR)))
        self.observation = max(self.observation, self._count(self._game.describe(view)))
        self._add(self._game.describe(view, self._told))
        self._add(self._game.format_action(decision, view))
        self._told = view

    def _add(self, text: str) -> None:
        self.tokens += self._count(text) + _MESSAGE
        self.messages += 1


def counter(encoding: str = ENCODINGS[0]) -> Count:
    """A function from a text to its tokens.

    Raises:
        InputError: for an unknown encoding.
        MissingExtraError: without the ``llm`` extra.
    """
    if encoding not in ENCODINGS:
        raise InputError(f"encoding must be {' or '.join(ENCODINGS)}; got {encoding!r}")
    tokens = require("bpe_openai", "llm").get_encoding(encoding)
    return lambda text: len(tokens.encode(text))


def sizes(games: Sequence[str] = GAMES, encoding: str = ENCODINGS[0]) -> list[Size]:
    """The longest texts of the games, found by playing them; the same at every call.

    Raises:
        InputError: for an unknown game or encoding.
        MissingExtraError: without the ``llm`` extra.
    """
    unknown = [game for game in games if game not in GAMES]
    if unknown:
        raise InputError(f"game must be one of: {', '.join(GAMES)}; got {unknown[0]!r}")
    count = counter(encoding)
    measures = {"grand-exchange": _exchanges, "garble": _garble, "poker": _poker}
    return [size for game in games for size in measures[game](count)]


def filled(text: str, runes: int) -> str:
    """``text`` over and over, ``runes`` long."""
    return (text * (runes // len(text) + 1))[:runes]


def _longest(name: str, found: Iterator[tuple[str, Conversation]]) -> Size:
    talks = list(found)
    where, longest = max(talks, key=lambda talk: talk[1].tokens)
    observation = max(talk.observation for _, talk in talks)
    return Size(name, observation, longest.tokens, longest.messages, where)


def _exchanges(count: Count) -> Iterator[Size]:
    """One decision on many baskets, then one a tick on those that were longest."""
    once = [
        (seed, talk.observation, (f"market {seed}", talk))
        for seed in range(SEED_BASE, SEED_BASE + _BASKETS)
        for talk in [_exchange(seed, None, "random", count)]
    ]
    yield _longest("grand-exchange", (talk for _, _, talk in once))
    once.sort(key=lambda entry: -entry[1])
    yield _longest(
        "grand-exchange live",
        (
            (f"market {seed}, {policy}", _exchange(seed, 1, policy, count))
            for seed, _, _ in once[:_LIVE]
            for policy in ("random", "reference")
        ),
    )


def _exchange(market: int, interval: int | None, policy: str, count: Count) -> Conversation:
    env, talk = GrandExchange(decision_interval=interval), Conversation(grand_exchange, count)
    env.reset(options={"market_seed": market})
    scribe, ended, k = grand_exchange.Scribe(env), False, 0
    while not ended:
        view = scribe.view()
        key = np.array([mix(market, k)], np.uint64)
        action = EXCHANGE_POLICIES[policy](one_row(view.seen), None, key)[0]
        decision = grand_exchange.decision_of(action, view)
        talk.turn(view, decision)
        _, _, ended, _, _ = env.step(grand_exchange.action_of(decision, view))
        k += 1
    return talk


def _garble(count: Count) -> Iterator[Size]:
    """Every policy on the longest episodes, terse, and with all lines and notes filled."""
    yield _longest(
        f"garble {MAX_TURNS} turns",
        (
            (f"seed {seed}, five {policy}s{', all filled' * full}, noise {noise}", talk)
            for policy in ("quoter", "broker")
            for full in (False, True)
            for noise in (0.0, 1.0)
            for seed in range(SEED_BASE, SEED_BASE + _TABLES)
            for talk in _session(seed, noise, policy, full, count)
        ),
    )


def _session(
    seed: int, noise: float, policy: str, full: bool, count: Count
) -> Sequence[Conversation]:
    env = ParallelGarble(MAX_TURNS, noise)
    env.reset(seed)
    scribe = garble.Scribe(env)
    talks = {agent: Conversation(garble, count) for agent in env.agents}
    while env.agents:
        decisions = {}
        for seat, agent in enumerate(env.agents):
            view = scribe.view(agent)
            keys = turn_keys(seed, view.number("turn"))
            action = GARBLE_POLICIES[policy](one_row(view.seen), None, keys[:, seat])[0]
            decision = garble.decision_of(action, view)
            if full:
                decision = _padded(decision)
            talks[agent].turn(view, decision)
            decisions[agent] = decision
        env.play(decisions)
        scribe.note()
    return list(talks.values())


def _padded(decision: garble.Decision) -> garble.Decision:
    """The same decision with a line and notes of full length."""
    text = f"{decision.text} {filled(_WORDS + ' ', MAX_RUNES)}"[:MAX_RUNES]
    notes = filled(_PROSE, MAX_NOTES)
    return garble.Decision(text, decision.channel, decision.confirm, notes)


def _poker(count: Count) -> Iterator[Size]:
    """At every table the hand that lasts longest, a full line of talk with each decision."""
    for table in TABLES.values():
        lefts = range(2, table.seats + 1) if table.race else [table.seats]
        yield _longest(
            f"poker {table.name}",
            (hand for left in lefts for hand in _hands(table.name, left, count)),
        )


def _hands(table: str, left: int, count: Count) -> Iterator[tuple[str, Conversation]]:
    """Two hands, or of a race the one in which ``left`` seats share the chips evenly."""
    env = PokerEnv(table, hands=1 if TABLES[table].race else 2)
    env.reset(SEED_BASE)
    row = env.row
    if left < env.table.seats:
        row["chips"] = 0
        row["chips"][row["order"][:left]] = env.table.seats * env.table.stack // left
        begin_hand(row)
        env.agent_selection = env.possible_agents[row["seat_at"][row["actor"]]]
    scribe = poker.Scribe(env)
    talks: dict[tuple[int, str], Conversation] = {}
    while not env.row["over"]:
        agent = env.agent_selection
        view = scribe.view(agent)
        decision = poker.Decision(_drag_on(view.seen), filled(_PROSE, TALK))
        hand = view.number("hand")
        talks.setdefault((hand, agent), Conversation(poker, count)).turn(view, decision)
        scribe.note(decision)
        env.step(decision.action)
    for (hand, agent), talk in talks.items():
        yield f"seed {SEED_BASE}, hand {hand + 1}, {left} seats, {agent}", talk


def _drag_on(seen: Mapping[str, NDArray[Any]]) -> int:
    """What makes a hand last: call, but where a call would end the street, raise the least."""
    bets, others = seen["bets"], np.arange(len(seen["bets"])) != seen["position"][0]
    others &= np.arange(len(bets)) < seen["players"][0]
    matched = bool((bets[others] == bets.max()).all())
    least = int(seen["raise_to"][0])
    return least + 1 if least and matched else 1
