"""The figures of the game: what the exchange takes, and the table that items are drawn from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

TAX = 0.01
"""Share of every sale's proceeds."""
FILL_SHARE = 0.25
"""Share of a tick's volume that one participant can take."""
DUMP_BASE = 0.03
DUMP_IMPACT = 0.05
DUMP_CAP = 0.40
"""Haircut on stock still held at the close: base, growth in ticks of volume, most."""
STARTING_CAPITAL = 250_000
"""The purse, gp."""
WALKS = (1, 2)
"""How many items of a basket do not revert, both ends in."""
PHI = 0.45
"""AR(1) decay of the mispricing, a tick."""
FUND_DRIFT = 0.0008
"""Sd of the fundamental's relative step, a tick."""
VOLUME_SD = 0.35
"""Sd of the log-volume around an item's base volume."""
DRIFT_STEP = 0.055
"""Sd of a walk's relative step, a tick."""

NUM_ITEMS = 6
VISIBLE = 60
HELD_OUT = 60
MIN_ITEMS, MAX_ITEMS = 2, 16
MIN_VISIBLE, MIN_HELD_OUT = 8, 1
MAX_TICKS = 4096
"""Most ticks (visible + held out) of a market: far beyond it a walk leaves every sensible range."""
MAX_SEED = 2**63 - 1

BUY, SELL, QUANTITY, PRIORITY = range(4)
"""Columns of a decision: int64 (items, 4)."""
MAX_ACTION = 2**31 - 1
"""Highest value of every column of a decision; the lowest is 0."""


class Tier(NamedTuple):
    """One row of the table that items are drawn from."""

    names: tuple[str, str, str, str]
    price: tuple[float, float]
    volume: tuple[float, float]
    buy_limit: int
    spread: float


TIERS = (
    Tier(
        (
            "Thornroot poultice",
            "Chipped bone charm",
            "Bogwater draught",
            "Coarse fletching feather",
        ),
        (90, 170),
        (400, 800),
        5000,
        0.09,
    ),
    Tier(
        ("Emberglass shard", "Stormrune tablet", "Marrowsteel nail", "Pale grimoire page"),
        (900, 1700),
        (40, 90),
        400,
        0.09,
    ),
    Tier(
        ("Gilded harpoon head", "Cinderweave cloak", "Wyrmbone talisman", "Frostbitten ledger"),
        (200, 420),
        (12, 30),
        800,
        0.15,
    ),
    Tier(
        ("Duskforged sigil", "Heart of the sunken cairn", "Voidglass lens", "Tideworn crown"),
        (6000, 14000),
        (1.2, 3.0),
        40,
        0.16,
    ),
)
NAMES = tuple(name for tier in TIERS for name in tier.names)
"""All 16 names; an item's code is its place here, and ``code // 4`` its tier."""
BUY_LIMITS = np.array([tier.buy_limit for tier in TIERS for _ in tier.names], np.int64)


class Rules(NamedTuple):
    """What the exchange takes and gives, as the book's kernels read it."""

    tax: float = TAX
    fill_share: float = FILL_SHARE
    dump_base: float = DUMP_BASE
    dump_impact: float = DUMP_IMPACT
    dump_cap: float = DUMP_CAP


RULES = Rules()
