"""Grand Exchange as text: all that a trader sees and nothing else, both ways."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wager.envs.errors import InputError
from wager.envs.grand_exchange.book import Offer, run_offers
from wager.envs.grand_exchange.constants import MAX_ACTION, RULES, Rules
from wager.envs.grand_exchange.engine import Exchange, snapshot
from wager.envs.grand_exchange.env import GrandExchange
from wager.envs.grand_exchange.policies import POLICIES
from wager.wrappers.text import grand_exchange as text
from wager.wrappers.text.grand_exchange import Scribe, View, describe, parse
from wager.wrappers.text.reply import ReplyError


def traded(ticks: int, seed: int = 60_000, **arguments: Any) -> tuple[GrandExchange, Scribe]:
    """A live episode after ``ticks`` of random trading."""
    env = GrandExchange(decision_interval=1, **arguments)
    env.reset(options={"market_seed": seed})
    for k in range(ticks):
        seen = {name: array[None] for name, array in Scribe(env).view().seen.items()}
        env.step(POLICIES["random"](seen, None, np.array([k], np.uint64))[0])
    return env, Scribe(env)


def test_10_000_random_decisions_are_read_back() -> None:
    rows, count = 100, 0
    rng = np.random.default_rng(3)
    for n, policy in ((6, "random"), (16, "random"), (6, "reference")):
        exchange = Exchange(rows, n, 60, 60, 1, RULES)
        exchange.begin(exchange.all_rows, np.arange(20_000_000, 20_000_000 + rows))
        for tick in range(34):
            keys = rng.integers(2**63, size=rows).astype(np.uint64)
            actions = POLICIES[policy](exchange.public, None, keys)
            wild = rng.random(actions.shape) < 0.1
            actions[wild] = rng.integers(0, MAX_ACTION + 1, int(wild.sum()))
            quiet = rng.random(actions.shape[:2]) < 0.2
            actions[quiet, 2] = 0
            for row in range(rows):
                view = View(
                    tuple(str(name) for name in exchange.names()[row]),
                    {name: array[row] for name, array in exchange.public.items()},
                    1,
                    RULES,
                )
                decision = text.decision_of(actions[row], view)
                assert parse(text.format_action(decision, view), view) == decision
                action = text.action_of(decision, view)
                assert text.decision_of(action, view) == decision
                count += 1
            exchange.play(exchange.all_rows, actions)
            assert tick < 60
    assert count >= 10_000


@given(st.integers(0, 2**40), st.integers(1, 8), st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_offers_read_back_trade_as_the_action_did(seed: int, interval: int, key: int) -> None:
    """Dropping what offers nothing and numbering the rest changes no fill."""
    envs = [GrandExchange(decision_interval=interval) for _ in range(2)]
    for env in envs:
        env.reset(options={"market_seed": seed})
    rng = np.random.default_rng(key)
    ended = False
    while not ended:
        view = Scribe(envs[0]).view()
        seen = {name: array[None] for name, array in view.seen.items()}
        action = POLICIES["random"](seen, None, rng.integers(2**63, size=1).astype(np.uint64))[0]
        action[:, 3] = rng.integers(0, 3, len(action))
        action[rng.random(len(action)) < 0.3, 2] = 0
        same = text.action_of(text.decision_of(action, view), view)
        _, reward, ended, _, _ = envs[0].step(action)
        assert envs[1].step(same)[1] == reward


@pytest.mark.parametrize("ticks", [0, 1, 25, 60])
def test_every_field_is_in_the_text(ticks: int) -> None:
    env, scribe = traded(ticks)
    view = scribe.view()
    whole = describe(view)
    assert set(view.seen) == set(env.observation_space.keys())  # type: ignore[attr-defined]
    for name, array in view.seen.items():
        for place in {0, array.size // 2, array.size - 1}:
            changed = array.copy()
            changed.flat[place] += 1
            other = dataclasses.replace(view, seen={**view.seen, name: changed})
            assert describe(other) != whole, (name, place)


def test_the_text_of_a_basket() -> None:
    _, scribe = traded(3)
    view = scribe.view()
    lines = describe(view).splitlines()
    seen = view.seen
    assert lines[0] == "Tick: 3 of 60 played, 57 left"
    assert lines[1] == f"Purse: {float(seen['purse'][0])!r} gp"
    assert lines[3] == f"{view.items[0]}: buy limit {seen['buy_limits'][0]}"
    assert "Held: " + " ".join(map(str, seen["stock"])) in lines
    assert "Bought so far: " + " ".join(map(str, seen["units_bought"])) in lines
    at = lines.index("Prices:")
    for i, item in enumerate(view.items, 1):
        assert lines[at + i] == f"{item}: " + " ".join(map(str, seen["prices"][i - 1]))
        assert lines[at + 7 + i] == f"{item}: " + " ".join(map(str, seen["volumes"][i - 1]))
    assert len(lines) == at + 14


@given(st.integers(0, 2**40), st.integers(0, 12), st.integers(1, 10**6))
@settings(max_examples=40, deadline=None)
def test_what_is_hidden_is_not_in_the_text(seed: int, ticks: int, by: int) -> None:
    env, scribe = traded(ticks, seed)
    before, prompt = describe(scribe.view()), text.system_prompt(scribe.view())
    exchange = env.exchange
    markets, public = exchange.markets, exchange.visible + ticks
    markets.prices[:, :, public:] += by
    markets.volumes[:, :, public:] += by
    markets.reverting[:] = ~markets.reverting
    markets.fundamentals[:] += by
    markets.seeds[:] += by
    exchange.worth += by
    exchange.allowance += by
    exchange.bases += by
    exchange.observe(exchange.all_rows)
    assert describe(scribe.view()) == before
    assert text.system_prompt(scribe.view()) == prompt


def test_a_conversation_tells_every_tick() -> None:
    """The news after the first message hold each new tick once, and what else has changed."""
    env = GrandExchange(decision_interval=2, held_out=9)
    env.reset(options={"market_seed": 60_005})
    scribe = Scribe(env)
    told = scribe.view()
    prices = told.seen["prices"]
    ended = False
    while not ended:
        seen = {name: array[None] for name, array in told.seen.items()}
        *_, ended, _, _ = env.step(POLICIES["reference"](seen, None, np.zeros(1, np.uint64))[0])
        view = scribe.view()
        news = describe(view, told)
        assert "Items:" not in news
        assert ("Held: " in news) == (view.seen["stock"].tolist() != told.seen["stock"].tolist())
        assert ("Purse: " in news) == (view.purse != told.purse)
        block = news.split("New prices:")[1].split("New volumes:")[0].split("\n")
        rows = [list(map(int, line.split())) for line in block if line.strip()]
        assert len(rows) == view.tick - told.tick
        prices = np.concatenate([prices, np.array(rows).T], axis=1)
        told = view
    assert prices[:, -60:].tolist() == told.seen["prices"].tolist()


GOOD = '["%s",5,9,3]'


def reply(view: View, *offers: str) -> str:
    return '{"offers":[' + ",".join(o % view.items[0] if "%s" in o else o for o in offers) + "]}"


def test_offers_are_read_in_their_order_and_leniently() -> None:
    _, scribe = traded(0)
    view = scribe.view()
    a, b = view.items[:2]
    listed = {
        "offers": [[f"  {b.upper()} ", 1, 2, 3], {"item": a, "buy": 4, "sell": 5, "quantity": 6}]
    }
    decision = (Offer(b, 1, 2, 3), Offer(a, 4, 5, 6))
    assert parse(f"```json\n{json.dumps(listed)}\n```", view) == decision
    assert parse('{"offers":[]}', view) == ()
    huge = reply(view, f'["%s",1,{"9" * 400},{"8" * 400}]')
    assert parse(huge, view) == (Offer(a, 1, MAX_ACTION, MAX_ACTION),)
    action = text.action_of(decision, view)
    assert action[:2].tolist() == [[4, 5, 6, 1], [1, 2, 3, 2]]


@pytest.mark.parametrize(
    ("offers", "code", "hint"),
    [
        (['["ghost",1,2,3]'], "illegal", 'Offer 1: no item "ghost"; the items: '),
        (["[7,1,2,3]"], "illegal", "no item 7"),
        (['["",1,2,3]'], "illegal", 'no item ""'),
        ([GOOD, GOOD], "illegal", "Offer 2: a second offer for .*; one an item"),
        (['["%s",9,5,3]'], "range", "sell must be above buy 9; got 5"),
        (['["%s",5,5,3]'], "range", "sell must be above buy 5; got 5"),
        (['["%s",0,5,3]'], "range", "buy must be an integer, at least 1; got 0"),
        (['["%s",-5,5,3]'], "range", "buy must be an integer, at least 1; got -5"),
        (['["%s",5,9,0]'], "range", "quantity must be an integer, at least 1; got 0"),
        (['["%s",5,9,2.0]'], "type", "quantity must be an integer"),
        (['["%s",5,9,1e309]'], "type", "quantity must be an integer, at least 1; got Infinity"),
        (['["%s",5,9,"3"]'], "type", "quantity must be an integer"),
        (['["%s",5,9,true]'], "type", "quantity must be an integer"),
        (['["%s",5,9,null]'], "type", "got null"),
        (['["%s",5,9]'], "type", r"Offer 1 must be \[item, buy, sell, quantity\]"),
        (['"%s"'], "type", "Offer 1 must be"),
        (['{"item":"%s","buy":5,"sell":9}'], "missing", 'Offer 1 lacks "quantity"'),
    ],
)
def test_an_ill_formed_offer_says_how_to_mend_it(offers: list[str], code: str, hint: str) -> None:
    _, scribe = traded(0)
    view = scribe.view()
    with pytest.raises(ReplyError, match=hint) as caught:
        parse(reply(view, *offers), view)
    assert caught.value.code == code
    other = f'["{view.items[1]}",5,9,3]'
    kept, dropped = text.salvage(reply(view, *offers, other), view)
    assert kept is not None
    assert dropped == 1
    assert kept[-1] == Offer(view.items[1], 5, 9, 3)
    assert len(kept) == len(offers)


def test_look_alikes_name_no_item() -> None:
    _, scribe = traded(0)
    view = scribe.view()
    name = view.items[0]
    for alike in (name.replace("o", "\u043e"), name + "\u200b", name.replace(" ", "\u00a0")):
        if alike != name:
            with pytest.raises(ReplyError, match="no item"):
                parse(json.dumps({"offers": [[alike, 1, 2, 3]]}), view)


def test_what_holds_no_list_of_offers_is_not_salvaged() -> None:
    _, scribe = traded(0)
    view = scribe.view()
    for bad in ("", "{}", '{"offers":null}', '{"offers":{}}', '{"offers":[],"offers":[]}'):
        with pytest.raises(ReplyError):
            parse(bad, view)
        assert text.salvage(bad, view) == (None, 0)
    assert text.salvage('{"offers":[1,2]}', view) == (None, 2)
    for echo in (text.system_prompt(view), describe(view)):
        with pytest.raises(ReplyError):
            parse(echo, view)


def test_a_quantity_of_0_sells_what_is_held_and_nothing_else() -> None:
    _, scribe = traded(20)
    view = scribe.view()
    held = int(np.argmax(view.seen["stock"]))
    none = dataclasses.replace(view, seen=view.seen | {"stock": np.zeros(6, np.int64)})
    line = json.dumps({"offers": [[view.items[held], 1, 9999, 0]]})
    assert view.seen["stock"][held] > 0
    assert parse(line, view) == (Offer(view.items[held], 1, 9999, 0),)
    with pytest.raises(ReplyError, match="at least 1"):
        parse(line, none)


@given(st.lists(st.lists(st.text(max_size=8) | st.integers() | st.floats(), max_size=5)))
@settings(max_examples=100, deadline=None)
def test_any_list_is_a_decision_or_the_error(offers: list[Any]) -> None:
    _, scribe = traded(0)
    view = scribe.view()
    line = json.dumps({"offers": offers}).replace("NaN", "1").replace("Infinity", "1e999")
    kept, dropped = text.salvage(line, view)
    try:
        assert parse(line, view) == (kept or ())
        assert dropped == 0
    except ReplyError:
        assert dropped > 0


def test_text_offers_are_worth_what_the_book_says() -> None:
    env = GrandExchange()
    env.reset(options={"task": 7})
    view = Scribe(env).view()
    pairs = zip(view.items, view.seen["prices"], strict=True)
    offers = [[name, int(line.min()), int(line.max()), 40] for name, line in pairs]
    decision = parse(json.dumps({"offers": offers}), view)
    *_, info = env.step(text.action_of(decision, view))
    assert info["return"] == run_offers(env.market, decision)


def test_the_prompt_quotes_the_exchange() -> None:
    _, scribe = traded(0)
    view = scribe.view()
    prompt = text.system_prompt(view, "Stay calm.")
    for fact in ("250000 gp", "0.25 of", "1% tax", "0.03 + 0.05 x", "at most 0.4", "every tick"):
        assert fact in prompt
    assert "quantity of 0" in prompt
    assert "Some items may have no anchor" in prompt
    assert prompt.endswith("<operator>\nStay calm.\n</operator>")
    once = text.system_prompt(dataclasses.replace(view, interval=60))
    assert "You decide once" in once
    assert "quantity of 0" not in once
    rules = Rules(0.02, 0.5, 0.1, 0.2, 0.3)
    other = text.system_prompt(dataclasses.replace(view, rules=rules, interval=7))
    for fact in ("2% tax", "0.5 of", "0.1 + 0.2 x", "at most 0.3", "every 7 ticks"):
        assert fact in other
    with pytest.raises(InputError, match="at most 4000 runes"):
        text.system_prompt(view, "x" * 4001)


def test_a_view_is_kept_as_it_was() -> None:
    env, scribe = traded(0)
    view = scribe.view()
    before = {name: array.copy() for name, array in view.seen.items()}
    env.step(np.zeros((6, 4), np.int64))
    for name, array in before.items():
        assert (view.seen[name] == array).all()
    assert snapshot(env.exchange.public, 0)["tick"][0] == 1
