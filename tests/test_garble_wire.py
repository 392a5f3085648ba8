"""The scanner, the channel and the shield against goldens, the rules' examples and properties."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from wager.envs.garble import lexicon, wire
from wager.envs.garble.lexicon import CHATTER, GAP, TEXTS, normalise, word_ids
from wager.envs.garble.wire import Terms, admissible, neighbours, scan
from wager.envs.jit import kernel
from wager.envs.rng import mix

GOLDEN = json.loads((Path(__file__).parent / "data" / "garble_wire.json").read_text())
WORDS = TEXTS[1:CHATTER]
NUMBERS = [word for word in WORDS if lexicon.VALUES[lexicon.IDS[word]] >= 0]


def deliver(
    line: str, noise: float, turn: int = 0, sender: int = 0, to: int = 1, seed: int = 0
) -> list[str]:
    words = normalise(line)
    heard = np.zeros(32, np.uint8)
    key = np.uint64(mix(seed, 0))
    wire.deliver(key, turn, sender, to, noise, word_ids(words), len(words), 0, 0, heard)
    assert not heard[len(words) :].any()
    return wire.heard_text(words, heard).split()


def test_neighbours_equal_the_goldens() -> None:
    assert len(GOLDEN["neighbours"]) == 146
    for word, expected in GOLDEN["neighbours"].items():
        assert neighbours(word) == expected
    assert neighbours("") == neighbours("5 5") == neighbours("100") == []


def test_scanner_equals_the_goldens() -> None:
    assert len(GOLDEN["scan"]) == 400
    for case in GOLDEN["scan"]:
        assert normalise(case["line"]) == case["words"]
        terms = scan(case["line"])
        if case["terms"] is None:
            assert terms is None
        else:
            assert terms is not None
            assert {name: getattr(terms, name) for name in case["terms"]} == case["terms"]


def test_shield_equals_the_goldens() -> None:
    assert len(GOLDEN["admissible"]) == 300
    for case in GOLDEN["admissible"]:
        assert admissible(case["line"], **case["confirm"]) is case["admissible"]
        terms = scan(case["line"])
        if terms is not None:
            assert admissible(terms, **case["confirm"]) is case["admissible"]


def test_worked_examples_of_the_rules() -> None:
    """A misheard offer settles, an echo shields it, two spellings count as two."""
    assert admissible("SELL 5 ORE AT 12", "SELL", 50, "ORE", 1)
    assert admissible("SELL 5 ORE AT 12", "SELL", 5, "OAT", 12)
    assert not admissible("SELL 5 ORE AT 12", "BUY", 5, "ORE", 12)
    shielded = "SELL 5 5 ORE ORE AT 12 12"
    assert admissible(shielded, "SELL", 5, "ORE", 12)
    assert not admissible(shielded, "SELL", 50, "ORE", 12)
    assert not admissible(shielded, "SELL", 5, "ORE", 1)
    assert not admissible(shielded, "SELL", 5, "OAT", 12)
    both = scan("SELL 5 FIVE ORE AT 12")
    assert both is not None
    assert (both.k_qty, both.qty_word) == (2, "FIVE")
    assert scan("SELL 5 ORE OAT AT 12") == Terms("SELL", 5, "OAT", 12, 1, 1, 1, "5", "OAT", "12")
    assert [len(s) for s in ("SELL 5 ORE AT 12", shielded, "SELL 5 5 5 ORE ORE AT 12 12 12")] == [
        16,
        25,
        30,
    ]


def test_scanner_ties_and_refusals() -> None:
    for line, qty, price in (
        ("SELL 5 7 ORE AT 3 4", 7, 3),
        ("SELL 5 7 5 7 ORE AT 3 4 4 3", 7, 3),
        ("SELL 7 5 5 7 ORE AT 4 3 3", 7, 3),
        ("9 SELL 5 05 7 ORE BUY AT AT 3", 5, 3),
        ("BUY TWENTY FIVE TAR AT FORTY", 5, 40),
    ):
        terms = scan(line)
        assert terms is not None
        assert (terms.qty, terms.price) == (qty, price)
    for line in ("", "SELL", "AT 5", "SELL 0 ORE AT 5", "SELL ORE 5 AT", "SELL 5 AT 4 ORE"):
        assert scan(line) is None
    assert scan("SELL 5 ORE AT 0") is not None


@pytest.mark.parametrize(
    ("field", "value"),
    [("side", "sell"), ("qty", 100), ("qty", -1), ("qty", True), ("qty", 5.0), ("price", "5"),
     ("commodity", "COAL"), ("commodity", None), ("side", 1), ("price", 10**30)],
)  # fmt: skip
def test_bad_fields_name_themselves(field: str, value: object) -> None:
    confirm = {"side": "SELL", "qty": 5, "commodity": "ORE", "price": 5, field: value}
    with pytest.raises(ValueError, match=field):
        admissible("SELL 5 ORE AT 12", **confirm)  # type: ignore[arg-type]


@settings(deadline=None)  # the first example compiles
@given(st.text(max_size=400))
@example("stra\xdfe \u0131 \ufb01 \u0665 \uff15 \x00\ud800 sell\u30005")
def test_any_text_normalises(line: str) -> None:
    words = normalise(line)
    assert len(words) <= 32
    assert all(word and set(word) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") for word in words)
    assert normalise(" ".join(words)) == words
    kept = "".join(c if c.isascii() and c.isalnum() else " " for c in line)
    assert words == kept.upper().split()[:32]
    scan(line)


@settings(deadline=None)  # the first example compiles
@given(st.lists(st.sampled_from(WORDS), max_size=32), st.integers(0, 2**63 - 1))
def test_a_clean_channel_and_a_dead_one(words: list[str], seed: int) -> None:
    line = " ".join(words)
    assert deliver(line, 0.0, seed=seed) == words
    assert all(a in (b, lexicon.GAP_TEXT, *neighbours(b))
               for a, b in zip(deliver(line, 0.95, seed=seed), words, strict=True))  # fmt: skip


@settings(deadline=None)  # the first example compiles
@given(
    st.sampled_from(["SELL", "BUY"]),
    st.sampled_from([w for w in NUMBERS if lexicon.VALUES[lexicon.IDS[w]] > 0]),
    st.sampled_from(lexicon.COMMODITIES),
    st.sampled_from(NUMBERS),
)
def test_admissible_is_what_the_channel_can_do(side: str, qty: str, good: str, price: str) -> None:
    """One word a field: whatever delivery can yield is admissible, nothing else is."""
    line = f"{side} {qty} {good} AT {price}"

    def reach(word: str) -> set[int]:
        """What 400 deliveries at full noise make of a word; every neighbour has p > 0.09."""
        got = {deliver(word, 0.95, to=to, turn=turn)[0] for to in range(5) for turn in range(80)}
        return {int(lexicon.IDS[text]) for text in got - {lexicon.GAP_TEXT}}

    said = scan(line)
    assert said is not None
    quantities = {int(lexicon.VALUES[i]) for i in reach(qty)}
    prices = {int(lexicon.VALUES[i]) for i in reach(price)}
    goods = {TEXTS[i] for i in reach(good)}
    for value in range(100):
        assert admissible(line, side, value, good, said.price) == (value in quantities)
        assert admissible(line, side, said.qty, good, value) == (value in prices)
    for other in lexicon.COMMODITIES:
        assert admissible(line, side, said.qty, other, said.price) == (other in goods)


@settings(deadline=None)  # the first example compiles
@given(st.lists(st.sampled_from([*WORDS, "CHATTER"]), max_size=32), st.integers(0, 10**6))
def test_what_is_heard_as_terms_is_admissible_when_each_field_is_said_once(
    words: list[str], seed: int
) -> None:
    """Whole lines: every heard reading of a one-word-a-field line passes the shield."""
    line = " ".join(words)
    said = scan(line)
    numbers = sum(word in NUMBERS for word in words)
    goods = sum(word in lexicon.COMMODITIES for word in words)
    verbs = sum(word in ("SELL", "BUY") for word in words)
    if said is None or numbers != 2 or goods != 1 or verbs != 1 or words.count("AT") != 1:
        return
    for to in range(5):
        heard = scan(" ".join(deliver(line, 0.95, to=to, seed=seed)))
        if heard is not None:
            assert admissible(said, heard.side, heard.qty, heard.commodity, heard.price)


@kernel
def _count(noise: float, words: np.ndarray, lines: int, counts: np.ndarray) -> None:
    heard = np.zeros(32, np.uint8)
    for turn in range(lines):
        wire.deliver(np.uint64(11), turn, 0, 1, noise, words, 32, 0, 0, heard)
        for i in range(32):
            counts[heard[i]] += 1


@pytest.mark.parametrize("word", ["5", "12", "FIVE", "ORE", "AT"])
@pytest.mark.parametrize("noise", [0.15, 0.6, 0.95])
def test_delivery_frequencies_match_the_formula(word: str, noise: float) -> None:
    """Chi-square over 1,000,000 words (key 11); 15 tests, so 1e-4 each."""
    counts = np.zeros(lexicon.NUM_WORDS, np.int64)
    _count(noise, word_ids([word] * 32), 31_250, counts)
    targets = [lexicon.IDS[text] for text in neighbours(word)]
    swapped = 0.40 * noise
    expected = [1.0 - 0.85 * noise, 0.45 * noise + (0.0 if targets else swapped)]
    expected += [swapped / len(targets) for _ in targets]
    observed = counts[[lexicon.IDS[word], GAP, *targets]]
    assert observed.sum() == counts.sum() == 1_000_000
    assert chisquare(observed, np.array(expected) * 1_000_000).pvalue > 1e-4


@settings(deadline=None)  # the first example compiles
@given(st.floats(0, 1, exclude_max=True), st.integers(2, 4), st.integers(0, 32))
def test_burst_blanks_one_span_of_the_line(at: float, length: int, n: int) -> None:
    first, last = wire.burst_span(True, at, length, n)
    assert first == int(at * n)
    assert last == min(n, first + length)
    assert wire.burst_span(False, at, length, n) == (0, 0)
