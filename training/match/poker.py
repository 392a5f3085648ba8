"""A poker match: one decision at a time, a fresh conversation each hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...envs.errors import InputError
from ...envs.poker.betting import CALL, FOLD, bounds
from ...envs.poker.env import PokerEnv
from ...envs.poker.policies import make_policy
from ...envs.poker.replay import By, Recorder, table_of
from ...envs.poker.tables import affordable_hands
from ...envs.replay import Replay
from ...envs.seats import Policy
from ...wrappers.text import poker as text
from .pace import POKER, Limits, Pace
from .seats import ChatSeat, Player
from .talk import Talk
from .watch import Watch, ignore


def affordable(config: dict[str, Any], players: Sequence[Player]) -> dict[str, Any]:
    """``config`` with as many hands as the decision budget is expected to last for.

    As it is where no chat endpoint plays.
    """
    if not any(isinstance(player, ChatSeat) for player in players):
        return config
    return config | {"hands": affordable_hands(table_of(config))}


async def play(
    config: dict[str, Any],
    seed: int,
    players: Sequence[Player],
    limits: Limits = POKER,
    watch: Watch = ignore,
    fallback: Policy | None = None,
) -> Replay:
    """Play the match that ``config`` and ``seed`` name; the players' tallies are kept in them.

    ``fallback`` decides where an endpoint does not: by default ``text.FALLBACK``. Where no endpoint
    plays, no clock is read.

    Raises:
        InputError: for a config or seed out of range, or another number of players.
    """
    table = table_of(config)
    if len(players) != table.seats:
        raise InputError(f"players must be {table.seats}, one a seat; got {len(players)}")
    env = PokerEnv(table.name, table.hands, table.pairs, stack=table.stack)
    env.reset(seed, {"episode": config["episode"]})
    match = _Match(env, players, fallback or make_policy(text.FALLBACK, table.name))
    chat = any(isinstance(player, ChatSeat) for player in players)
    pace = Pace(limits) if chat else None
    scored = 0
    while not env.row["over"]:
        player = players[match.seat]
        if pace is not None:
            if isinstance(player, ChatSeat):
                await pace.space()
            if match.ends(pace):
                break
        await match.decide(pace)
        if int(env.row["scored"]) != scored:
            scored = int(env.row["scored"])
            watch("hand", scored, table.hands, env.scores())
    return match.recorder.replay([player.name for player in players])


class _Match:
    """The match under way."""

    def __init__(self, env: PokerEnv, players: Sequence[Player], fallback: Policy) -> None:
        self.env = env
        self.players = players
        self.fallback = fallback
        self.recorder = Recorder(env)
        self.scribe = text.Scribe(env)
        self.talks = {
            seat: Talk(player, text, text.same_hand)
            for seat, player in enumerate(players)
            if isinstance(player, ChatSeat)
        }
        self.stopping = False

    @property
    def seat(self) -> int:
        """The seat to act."""
        return self.env.possible_agents.index(self.env.agent_selection)

    def ends(self, pace: Pace) -> bool:
        """Stop or void the match if guards or budget say so; whether it is over then."""
        verdict = pace.verdict()
        if verdict == "void":
            self.recorder.void("deadline")
        elif not self.stopping and (verdict == "stop" or pace.spent()):
            self.stopping = True
            self.recorder.stop("deadline" if verdict == "stop" else "budget")
        return bool(self.env.row["over"])

    async def decide(self, pace: Pace | None) -> None:
        """Play one decision."""
        seat = self.seat
        player = self.players[seat]
        player.tally.decisions += 1
        view = self.scribe.view(self.env.agent_selection)
        if isinstance(player, ChatSeat):
            assert pace is not None
            pace.decisions += 1
            decision = await self.talks[seat].decide(view, pace)
        else:
            decision = self._move(player.policy, view)
        by: By = "seat"
        if decision is None:
            decision = self._move(self.fallback, view)
            by = "fallback"
        if decision is None:
            fold = FOLD if bounds(self.env.row)[0] else CALL
            decision = text.decision_of(fold, view)
            by = "forced-fold"
        player.tally.fallbacks += by == "fallback"
        player.tally.forced_folds += by == "forced-fold"
        if by != "seat" and isinstance(player, ChatSeat):
            self.talks[seat].played(decision)
        self.scribe.note(decision)
        self.recorder.step(text.action_of(decision, view), decision.say, by)

    def _move(self, policy: Policy, view: text.View) -> text.Decision | None:
        """What a policy does now; None if that is not legal."""
        action = self.env.choice(policy)
        mask = self.env.infos[self.env.agent_selection]["action_mask"]
        if not 0 <= action < len(mask) or not mask[action]:
            return None
        return text.decision_of(action, view)
