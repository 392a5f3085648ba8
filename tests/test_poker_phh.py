"""PHH exports: PokerKit parses every hand and replays it to the same stacks."""

from __future__ import annotations

import tomllib
import warnings
from typing import Any

import pytest
from pokerkit import HandHistory

from wager.envs.errors import InputError
from wager.envs.poker import phh
from wager.envs.poker import replay as replays
from wager.envs.poker.policies import make_policy

TABLES = {"holdem-hu": 2, "holdem-6max": 6, "headsup": 2, "sixmax": 6}


def recorded(table: str, seed: int, names: list[str], **settings: Any) -> dict[str, Any]:
    policies = [make_policy(name, table) for name in names]
    return replays.record(replays.config(table, **settings), seed, policies, names)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("who", ["random", "house"])
def test_pokerkit_replays_to_the_same_stacks(table: str, who: str) -> None:
    shown = all_in = 0
    for seed in range(4):
        stack = (100, 7)[seed % 2]
        names = ([who, "house", "rock"] * 2)[: TABLES[table]]
        replay = recorded(table, seed, names, stack=stack)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # as for a field it does not know
            parsed = list(HandHistory.loads_all(phh.export(replay)))
        assert len(parsed) == replay["results"]["hands_scored"]
        for history in parsed:
            *_, state = history
            assert not state.status
            assert list(state.stacks) == history.finishing_stacks
            shows = [k for k, action in enumerate(history.actions) if "sm" in action]
            shown += len(shows) > 0
            all_in += len(shows) > 0 and shows[-1] + 1 < len(history.actions)
    assert shown > 5
    assert all_in > 0


def test_what_a_file_holds() -> None:
    names = ['a "b" \\ \' \n', "\x7f\u05d1\U0001f0a1"]
    policies = [make_policy("house", "holdem-hu")] * 2
    replay = replays.record(replays.config("holdem-hu", 2), 3, policies, names)
    first, second = tomllib.loads(phh.export(replay)).values()
    assert [first["hand"], second["hand"]] == [1, 2]
    assert sorted(first["players"]) == sorted(names)
    assert first["players"] == [names[seat - 1] for seat in first["seats"]]
    # the mirror: the other seat holds the same cards, in the same position
    assert second["players"] == first["players"][::-1]
    assert second["actions"][:2] == first["actions"][:2]
    assert first["blinds_or_straddles"] == [1, 2]
    assert first["starting_stacks"] == [100, 100]
    assert sum(first["finishing_stacks"]) == 200
    assert first == phh.hands(replay)[0]


def test_a_voided_hand_is_left_out_and_other_games_refused() -> None:
    replay = recorded("holdem-hu", 1, ["house", "house"], hands=4)
    assert len(phh.hands(replay)) == 4
    entry = replay["inputs"][-1]
    cut = [*replay["inputs"][:-1], {"hand": entry["hand"], "void": "deadline"}]
    match = replays.playback_of(replay)
    walked = replays.walk(replay | {"inputs": cut}, match)
    events = [event for happened, _ in walked for event in happened]
    assert len(phh.hands(replay | {"inputs": cut, "events": events})) == 3
    with pytest.raises(InputError, match="PHH has no kuhn: export a table of no-limit hold'em"):
        phh.export(recorded("kuhn", 1, ["nash", "nash"]))


def test_odd_chips_of_a_pot_split_by_three_are_dealt_otherwise_there() -> None:
    """Here they go one each, clockwise from the button's left; PokerKit gives one seat both."""
    names = ["random", "house"] * 3
    policies: list[Any] = [make_policy("random", "sixmax"), lambda seen, masks, keys: keys * 0 + 1]
    config = replays.config("sixmax", hands=1, stack=5)
    (hand,) = phh.hands(replays.record(config, 445, policies * 3, names))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        *_, state = HandHistory.loads(phh.document(hand))
    assert hand["finishing_stacks"] == [7, 0, 7, 6, 5, 5]
    assert list(state.stacks) == [8, 0, 6, 6, 5, 5]
