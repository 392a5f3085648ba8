"""Grand Exchange as text; see the package for the interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs.grand_exchange.book import Offer
from ...envs.grand_exchange.constants import (
    BUY,
    MAX_ACTION,
    PRIORITY,
    QUANTITY,
    SELL,
    STARTING_CAPITAL,
    Rules,
)
from ...envs.grand_exchange.engine import snapshot
from ...envs.grand_exchange.env import GrandExchange
from .blocks import Block, Kind, prompt, tell
from .reply import ReplyError, compact, find_object, member, shown, whole

FALLBACK = ""
"""No scripted policy stands in: an ill-formed seat offers nothing."""

Decision = tuple[Offer, ...]
"""Offers, first placed first. A quantity of 0 stands for a sell limit on units held."""

_FIELDS = Offer._fields
_RULES = """\
You trade {n} items on an exchange. You see the last {visible} ticks of each item's price (gp a \
unit) and volume (units traded a tick), oldest first. {then} You start with {capital} gp, and your \
score is your return: final purse / {capital} - 1.

Prices: many items swing around an anchor that hardly moves, so that a price far below it tends to \
come back. Some items may have no anchor at all: theirs wander, and a low price is no promise.

An offer is an item, a buy limit, a sell limit above it and a quantity, all whole numbers; one \
offer an item. It buys up to the quantity at the buy limit or less, and sells what it holds at the \
sell limit or more, at the tick's price. Offers are placed in the order that you give. Placing one \
reserves quantity x buy limit from the purse; a quantity is cut to the item's buy limit and to \
what the purse still funds, so one large offer first can leave nothing for the others. What was \
reserved and not spent comes back.

Each tick an item either sells (units bought on an earlier tick) or buys. On either side you \
take at most {fill:g} of the tick's volume; fractions of a unit carry over, so thin items fill \
slowly. A sale pays the price less {tax:.3g}% tax. An item's buy limit is the most units that you \
may buy of it in all.

What you still hold after the last tick is forced out at the last price, less a haircut of \
{base:.3g} + {impact:.3g} x units / median visible volume, at most {cap:.3g}, and taxed as a sale.
{live}
Reply with one JSON object and nothing after it, the first offer placed first:
{{"offers": [[ITEM, BUY, SELL, QUANTITY], ...]}}
ITEM is a name in double quotes. An empty list offers nothing. Where the figures of the items \
stand in a row, they are in the order of the items."""
_ONCE = "You decide once; your offers then stand for the {held_out} ticks that follow."
_OFTEN = (
    "You decide again every {every} of the {held_out} that follow; at each decision your earlier"
    " offers are withdrawn."
)
_LIVE = """
A sell limit applies to all units held of its item, whether or not its buy side is funded. To sell \
and buy nothing, give a quantity of 0, legal where units are held. Without an offer an item rests.
"""


@dataclass(frozen=True)
class View:
    """What a trader knows: the names of the items, the env's observation (``seen``), the rules.

    ``interval`` is how many ticks a decision covers.
    """

    items: tuple[str, ...]
    seen: Mapping[str, NDArray[Any]]
    interval: int
    rules: Rules

    @property
    def tick(self) -> int:
        """Ticks played."""
        return int(self.seen["tick"][0])

    @property
    def ticks_left(self) -> int:
        """Ticks to come."""
        return int(self.seen["ticks_left"][0])

    @property
    def purse(self) -> float:
        """Money free to spend, gp."""
        return float(self.seen["purse"][0])


class Scribe:
    """The trader's side of ``env``, whatever it is wrapped in."""

    def __init__(self, env: Any) -> None:
        self.env: GrandExchange = env.unwrapped

    def view(self) -> View:
        """What the trader knows now."""
        exchange = self.env.exchange
        names = tuple(str(name) for name in exchange.names()[0])
        return View(names, snapshot(exchange.public, 0), exchange.interval, exchange.rules)


def system_prompt(view: View, operator: str = "") -> str:
    """The rules of the view's exchange, and the operator's guidance in a block below them.

    Raises:
        InputError: if the guidance is longer than 4,000 runes.
    """
    rules = view.rules
    held_out = view.tick + view.ticks_left
    once = view.interval >= held_out
    every = "tick" if view.interval == 1 else f"{view.interval} ticks"
    then = (_ONCE if once else _OFTEN).format(held_out=held_out, every=every)
    text = _RULES.format(
        n=len(view.items),
        visible=view.seen["prices"].shape[1],
        then=then,
        capital=STARTING_CAPITAL,
        fill=rules.fill_share,
        tax=100 * rules.tax,
        base=rules.dump_base,
        impact=rules.dump_impact,
        cap=rules.dump_cap,
        live="" if once else _LIVE,
    )
    return prompt(text, operator)


def describe(view: View, since: View | None = None) -> str:
    """What the trader knows; of what ``since``, an earlier view, told, only the news."""
    if since is None:
        return tell(_blocks(view))
    return tell(_blocks(view, since.tick), _blocks(since))


def parse(reply: object, view: View) -> Decision:
    """Read a reply of ``{"offers": [[item, buy, sell, quantity], ...]}``.

    An offer may also be an object of those four keys. Limits and quantities past what an action
    holds are cut to it: they are beyond every price, purse and buy limit.

    Raises:
        ReplyError: if any of it is ill-formed.
    """
    offers: list[Offer] = []
    for rank, entry in enumerate(_listed(reply)):
        offers.append(_offer(entry, rank, view, offers))
    return tuple(offers)


def salvage(reply: object, view: View) -> tuple[Decision | None, int]:
    """The well-formed offers of a reply, None if there are none, and how many others it has."""
    try:
        listed = _listed(reply)
    except ReplyError:
        return None, 0
    offers: list[Offer] = []
    for rank, entry in enumerate(listed):
        try:
            offers.append(_offer(entry, rank, view, offers))
        except ReplyError:
            continue
    return tuple(offers) or None, len(listed) - len(offers)


def decision_of(action: NDArray[np.integer[Any]], view: View) -> Decision:
    """The offers that an action (items, 4) places, first placed first."""
    held = view.seen["stock"]
    return tuple(
        Offer(view.items[i], *(int(v) for v in action[i, :PRIORITY]))
        for i in np.argsort(-action[:, PRIORITY], kind="stable").tolist()
        if 1 <= action[i, BUY] < action[i, SELL] and (action[i, QUANTITY] >= 1 or held[i] > 0)
    )


def action_of(decision: Sequence[Offer], view: View) -> NDArray[np.int64]:
    """The action, int64 (items, 4), that places these offers in this order."""
    places = {item: i for i, item in enumerate(view.items)}
    action = np.zeros((len(places), 4), np.int64)
    for rank, offer in enumerate(decision):
        action[places[offer.item]] = *offer[1:], len(decision) - rank
    return action


def format_action(decision: Sequence[Offer], view: View) -> str:
    """The reply that ``parse`` reads as this decision."""
    return compact({"offers": [list(offer) for offer in decision]})


def _listed(reply: object) -> list[Any]:
    offers = member(find_object(reply), "offers")
    if not isinstance(offers, list):
        raise ReplyError("type", f'"offers" must be a list; got {shown(offers)}.')
    return offers


def _offer(entry: object, rank: int, view: View, before: Sequence[Offer]) -> Offer:
    """An entry of the list as an offer, none of its item being ``before`` it."""
    where = f"Offer {rank + 1}"
    if isinstance(entry, Mapping):
        missing = [field for field in _FIELDS if field not in entry]
        if missing:
            raise ReplyError("missing", f'{where} lacks "{missing[0]}".')
        entry = [entry[field] for field in _FIELDS]
    if not isinstance(entry, list) or len(entry) != len(_FIELDS):
        raise ReplyError("type", f"{where} must be [item, buy, sell, quantity].")
    wanted = entry[0].strip().casefold() if isinstance(entry[0], str) else None
    place = next((i for i, item in enumerate(view.items) if item.casefold() == wanted), None)
    if place is None:
        raise ReplyError(
            "illegal", f"{where}: no item {shown(entry[0])}; the items: {', '.join(view.items)}."
        )
    item = view.items[place]
    if any(offer.item == item for offer in before):
        raise ReplyError("illegal", f"{where}: a second offer for {item}; one an item is legal.")
    buy = min(whole(entry[1], f"{where}: buy", 1), MAX_ACTION - 1)
    sell = min(whole(entry[2], f"{where}: sell", 1), MAX_ACTION)
    held = view.seen["stock"][place] > 0
    quantity = whole(entry[3], f"{where}: quantity", 0 if held else 1)
    if sell <= buy:
        raise ReplyError("range", f"{where}: sell must be above buy {buy}; got {sell}.")
    return Offer(item, buy, sell, min(quantity, MAX_ACTION))


def _blocks(view: View, told: int | None = None) -> list[Block]:
    """The blocks; of the ticks all that are seen or, after ``told`` of them, the newer ones."""
    seen = view.seen
    prices, volumes = (seen[name] for name in ("prices", "volumes"))
    clock = f"{view.tick} of {view.tick + view.ticks_left} played, {view.ticks_left} left"
    limits = zip(view.items, seen["buy_limits"], strict=True)
    blocks = [
        Block("Tick", (clock,), Kind.NOW),
        Block("Purse", (f"{view.purse!r} gp",)),
        Block("Items", tuple(f"{item}: buy limit {limit}" for item, limit in limits)),
        Block("Held", (_row(seen["stock"]),)),
        Block("Bought so far", (_row(seen["units_bought"]),)),
    ]
    if told is None:
        for title, lines in (("Prices", prices), ("Volumes", volumes)):
            named = zip(view.items, lines, strict=True)
            blocks.append(Block(title, tuple(f"{item}: {_row(line)}" for item, line in named)))
        return blocks
    new = min(view.tick - told, prices.shape[1])
    for title, lines in (("New prices", prices), ("New volumes", volumes)):
        ticks = lines[:, lines.shape[1] - new :].T
        blocks.append(Block(title, tuple(map(_row, ticks)), Kind.NOW))
    return blocks


def _row(numbers: NDArray[np.integer[Any]]) -> str:
    return " ".join(map(str, numbers.tolist()))
