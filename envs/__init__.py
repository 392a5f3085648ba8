"""The games. Importing this package registers the Gymnasium ids."""

from __future__ import annotations

from gymnasium.envs.registration import register

# by name, so that a game is loaded when it is first made
for _id, _kwargs in (
    ("wager/GrandExchange-v0", {}),
    ("wager/GrandExchangeLive-v0", {"decision_interval": 1}),
):
    register(
        _id,
        entry_point="wager.envs.grand_exchange.env:GrandExchange",
        vector_entry_point="wager.envs.grand_exchange.vector:GrandExchangeVector",
        kwargs=_kwargs,
    )
