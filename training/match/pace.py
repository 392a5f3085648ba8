"""How fast a match may ask, and when it has to stop: spacing floors, call rate, guards, budget."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, replace
from typing import Literal

from .clock import now

MINUTE = 60.0
BACKOFF = 0.5
"""Seconds by which a 429 lengthens the spacing for the rest of the match."""

_SLACK = 1e-6  # a wait that is over but for rounding

Verdict = Literal["play", "stop", "void"]


@dataclass(frozen=True)
class Limits:
    """A match's times in seconds, on the clock of the match, and its counts.

    ``stop``: play ends at the next boundary once so much has passed. ``void``: the live hand is
    refunded. ``settle``: no call lasts past it. ``spacing``: least time from one start to the next,
    of decisions (a batch is one), and if ``even`` of retries too. ``call``: a call's timeout.
    ``rate``: most calls in any minute, retries included; None for any number.
    ``decisions``: most decisions of all chat seats together; None for any number.
    """

    stop: float
    settle: float
    spacing: float
    even: bool
    void: float = float("inf")
    call: float = 20.0
    rate: int | None = 29
    decisions: int | None = None


EPISODE = 1200.0
"""The episode timeout that the shares below are of."""
POKER = Limits(
    stop=0.55 * EPISODE,
    void=0.56 * EPISODE,
    settle=0.60 * EPISODE,
    spacing=2.1,
    even=True,
    decisions=220,
)
GARBLE = Limits(stop=0.60 * EPISODE, settle=EPISODE, spacing=12.0, even=False)
GRAND_EXCHANGE = Limits(stop=0.60 * EPISODE, settle=EPISODE, spacing=2.1, even=True)


def limits_of(base: Limits, episode: float = EPISODE, paced: bool = True) -> Limits:
    """``base`` for another episode timeout, and with neither spacing nor rate if not ``paced``."""
    share = episode / EPISODE
    limits = replace(
        base, stop=share * base.stop, void=share * base.void, settle=share * base.settle
    )
    return limits if paced else replace(limits, spacing=0.0, rate=None)


class Pace:
    """The time of one match, from its making on; made on the running loop."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.spacing = limits.spacing
        self.decisions = 0
        self._began = now()
        self._last: float | None = None
        self._calls: deque[float] = deque()

    def elapsed(self) -> float:
        """Seconds since the match began."""
        return now() - self._began

    def verdict(self) -> Verdict:
        """What the guards say now."""
        passed = self.elapsed()
        if passed >= self.limits.void:
            return "void"
        return "stop" if passed >= self.limits.stop else "play"

    def spent(self) -> bool:
        """Whether the decision budget has run out."""
        most = self.limits.decisions
        return most is not None and self.decisions >= most

    async def space(self) -> None:
        """Wait until the next decision, or batch of them, may start."""
        while self._last is not None and (wait := self._last + self.spacing - now()) > _SLACK:
            await asyncio.sleep(wait)
        self._last = now()

    async def admit(self, retry: bool = False) -> None:
        """Wait until one more call may start."""
        if retry and self.limits.even:
            await self.space()
        rate = self.limits.rate
        while rate is not None and len(self._calls) >= rate:
            wait = self._calls[0] + MINUTE - now()
            if wait > _SLACK:
                await asyncio.sleep(wait)
            else:
                self._calls.popleft()
        if rate is not None:
            self._calls.append(now())

    def throttle(self) -> None:
        """A provider said 429."""
        self.spacing += BACKOFF

    def allowance(self) -> float:
        """Seconds that a call which starts now may last; 0 or less past the last moment."""
        return min(self.limits.call, self.limits.settle - self.elapsed())
