"""From the names of the seats to the players: one grammar for all games (``envs.seats``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...envs.errors import InputError
from ...envs.garble.policies import POLICIES as GARBLE
from ...envs.grand_exchange.policies import POLICIES as GRAND_EXCHANGE
from ...envs.poker.policies import POLICIES as POKER
from ...envs.poker.policies import make_policy
from ...envs.seats import Policy, parse_seat
from .seats import ChatSeat, Player, PolicySeat

if TYPE_CHECKING:
    import httpx

GAMES: Mapping[str, Mapping[str, Any]] = {
    "garble": GARBLE,
    "grand-exchange": GRAND_EXCHANGE,
    "poker": POKER,
}
"""The scripted policies of each game by name."""


def seat_players(
    game: str,
    names: Sequence[str],
    table: str = "",
    guidance: Mapping[int, str] | None = None,
    variables: Mapping[int, str] | None = None,
    transport: Callable[[], httpx.AsyncBaseTransport] | None = None,
) -> list[Player]:
    """The players that ``names`` mean at a game, and in poker at a ``table``, in seat order.

    ``guidance`` has operators' prompts and ``variables`` the environment variables of keys other
    than ``WAGER_API_KEY``, both by seat, of chat endpoints alone. ``transport`` makes what stands
    in for the network.

    Raises:
        InputError: for a name of no player, a table that it does not play, a model that cannot be
            loaded, a key that is missing, or what is given for a seat of another kind.
    """
    policies = GAMES[game]
    players: list[Player] = []
    for k, name in enumerate(names):
        seat = parse_seat(name, policies)
        for what, given in (("prompt", guidance), ("key", variables)):
            if seat.kind != "llm" and k in (given or {}):
                raise InputError(f"a {what} for seat {k}: {name!r} is no chat endpoint")
        if seat.kind == "llm":
            from .endpoint import KEY, Endpoint, read_key

            key = read_key(seat.url, (variables or {}).get(k, KEY))
            line = transport() if transport is not None else None
            model = Endpoint(seat.name, seat.url, key, line)
            players.append(ChatSeat(name, model, (guidance or {}).get(k, "")))
        elif seat.kind == "sb3":
            players.append(PolicySeat(name, _model(game, seat.name, table)))
        else:
            policy = make_policy(name, table) if game == "poker" else policies[name]
            players.append(PolicySeat(name, policy))
    for given in (guidance, variables):
        for k in given or {}:
            if not 0 <= k < len(names):
                raise InputError(f"seat must be 0..{len(names) - 1}; got {k}")
    return players


def _model(game: str, path: str, table: str) -> Policy:
    """A learned model; only then is its library brought in. Poker's ``policy.npz`` needs none."""
    if game == "poker" and path.endswith(".npz"):
        from ..poker_policy import load_policy

        return load_policy(path).at(table)
    if game == "poker":
        from ...wrappers.poker_models import load_model

        return load_model(path).at(table)
    if game == "garble":
        from .. import garble

        return garble.load_policy(path)
    from .. import grand_exchange

    return grand_exchange.load_policy(path)
