"""The text table and the picture: what is on them, and what is not yet."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.wrappers import RecordVideo
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from wager.envs.errors import MissingExtraError
from wager.envs.grand_exchange.env import GrandExchange
from wager.envs.grand_exchange.market import Markets, fill_markets
from wager.envs.grand_exchange.picture import _BUY, _SELL, HEADER, PANEL, WIDTH, short
from wager.envs.grand_exchange.vector import GrandExchangeVector


def trade(env: GrandExchange, decisions: int) -> dict[str, NDArray[Any]]:
    """Buy under and sell over the visible mean, ``decisions`` times."""
    observation, _ = env.reset(options={"market_seed": 60_002})
    for _ in range(decisions):
        mean = observation["prices"].mean(axis=1)
        action = np.zeros((len(mean), 4), np.int64)
        action[:, 0], action[:, 1], action[:, 2] = mean * 0.97, mean * 1.03, 20
        observation, *_ = env.step(action)
    return observation


def has(frame: NDArray[np.uint8], colour: str) -> int:
    """How many pixels are exactly of a colour, under the panels' two lines of text."""
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    count = 0
    for top in range(HEADER, frame.shape[0], PANEL):
        plot = frame[top + 42 : top + PANEL]
        count += int((plot == [red, green, blue]).all(axis=2).sum())
    return count


@pytest.mark.parametrize(("items", "height"), [(2, 364), (4, 664), (6, 664), (9, 964), (16, 1264)])
def test_pictures_are_whole_at_every_size(items: int, height: int) -> None:
    env = GrandExchange(items, render_mode="rgb_array", decision_interval=20)
    trade(env, 1)
    frame = env.render()
    assert frame.shape == (height, WIDTH, 3)
    assert frame.dtype == np.uint8
    assert height % 2 == 0  # video codecs want even sides
    # nothing reaches the left and right edges: no text is cut
    assert (frame[:, :4] == 255).all()
    assert (frame[:, -8:] == 255).all()
    np.testing.assert_array_equal(frame, env.render())


def test_limits_and_fills_are_drawn_once_they_exist() -> None:
    env = GrandExchange(render_mode="rgb_array")
    trade(env, 0)
    before = env.render()
    assert has(before, _BUY) == has(before, _SELL) == 0
    trade(env, 1)
    after = env.render()
    assert has(after, _BUY) > 500
    assert has(after, _SELL) > 500


def test_no_offer_draws_no_limit() -> None:
    """Prices near zero put 0, which stands for no limit, on the panel."""

    def low(
        markets: Markets, seeds: NDArray[np.int64], rows: NDArray[np.int64] | None = None
    ) -> None:
        fill_markets(markets, seeds, rows)
        markets.prices[:] %= 120
        markets.prices[:] += 1

    env = GrandExchange(render_mode="rgb_array", fill=low)
    env.reset(seed=0)
    env.step(np.zeros((6, 4), np.int64))
    frame = env.render()
    assert has(frame, _BUY) == has(frame, _SELL) == 0


def test_the_picture_ends_at_the_last_public_tick() -> None:
    """Right of the ticks played the panels hold nothing but the ground and level lines."""
    env = GrandExchange(render_mode="rgb_array", decision_interval=1)
    for played in (0, 10, 30):
        trade(env, played)
        frame = env.render()
        right = WIDTH - 16  # of the last column's panels
        left = right - round((60 - played - 2) / 120 * (WIDTH / 3 - 75))
        for top in (HEADER, HEADER + PANEL):
            blank = frame[top + 44 : top + PANEL - 36, left : right - 2]
            assert (blank == blank[:, :1]).all()
    trade(env, 60)
    blank = env.render()[HEADER + 44 : HEADER + PANEL - 36, left : right - 2]
    assert not (blank == blank[:, :1]).all()


def test_the_table_tells_the_observation() -> None:
    env = GrandExchange(render_mode="ansi", decision_interval=1)
    observation = trade(env, 25)
    head, titles, *lines = env.render().splitlines()
    assert head.startswith("Grand Exchange  tick 25/60  purse ")
    assert f"{observation['purse'][0]:,.0f}" in head
    assert titles.split()[0] == "item"
    assert len(lines) == 6
    for i, line in enumerate(lines):
        name = env.market.items[i].name
        assert line.startswith(name)
        cells = line.removeprefix(name).replace(",", "").split()
        assert int(cells[0]) == observation["prices"][i, -1]
        assert float(cells[1]) == pytest.approx(observation["prices"][i].mean(), abs=0.05)
        assert len(cells[2]) == 20
        rest = [observation[key][i] for key in ("stock", "units_bought", "buy_limits")]
        assert [int(cell) for cell in cells[3:7]] == [observation["volumes"][i, -1], *rest]


def test_the_table_tells_what_was_forced_out() -> None:
    env = GrandExchange(2, 8, 2, render_mode="ansi")
    env.reset(options={"market_seed": 3})
    prices = [item.prices[-2:] for item in env.market.items]
    # buys both ticks, never sells
    action = [[max(p) + 1, 2**31 - 1, 5, 0] for p in prices]
    observation, *_ = env.step(np.array(action))
    last = env.render().splitlines()[-1]
    bought = observation["units_bought"]
    assert bought.sum() > 0
    for item, units in zip(env.market.items, bought, strict=True):
        assert (f"{units:,} {item.name}" in last) == bool(units)


def test_flat_prices_can_be_drawn() -> None:
    def flat(
        markets: Markets, seeds: NDArray[np.int64], rows: NDArray[np.int64] | None = None
    ) -> None:
        fill_markets(markets, seeds, rows)
        markets.prices[:] = 1
        markets.volumes[:] = 1

    for mode in ("ansi", "rgb_array"):
        env = GrandExchange(visible=8, held_out=1, render_mode=mode, fill=flat)
        trade(env, 1)
        assert len(env.render()) > 0


def test_rendering_a_batch_is_rendering_each_row() -> None:
    for mode in ("ansi", "rgb_array"):
        vector = GrandExchangeVector(3, decision_interval=30, render_mode=mode)
        vector.reset(seed=5)
        actions = np.tile([1000, 1100, 30, 0], (3, 6, 1))
        vector.step(actions)
        frames = vector.render()
        assert frames is not None
        for row in range(3):
            env = GrandExchange(decision_interval=30, render_mode=mode)
            env.reset(seed=5 + row)
            env.step(actions[row])
            np.testing.assert_array_equal(frames[row], env.render())


def test_record_video(tmp_path: Path) -> None:
    pytest.importorskip("moviepy", reason="wager[video]")
    env = GrandExchange(render_mode="rgb_array", decision_interval=15)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        recorder = RecordVideo(env, str(tmp_path), episode_trigger=lambda _: True)
        recorder.reset(seed=0)
        ended = False
        while not ended:
            *_, ended, _, _ = recorder.step(np.tile([1000, 1100, 30, 0], (6, 1)))
        recorder.close()
    (video,) = tmp_path.glob("*.mp4")
    assert video.stat().st_size > 5_000


def test_rendering_without_a_mode_or_an_episode() -> None:
    with pytest.raises(ResetNeeded):
        GrandExchange(render_mode="ansi").render()
    env = GrandExchange()
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="without a render_mode"):
        assert env.render() is None


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    env = GrandExchange(render_mode="rgb_array")
    env.reset(seed=0)
    for name in [name for name in sys.modules if name.partition(".")[0] == "PIL"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        MissingExtraError, match=r"PIL is not installed: pip install 'wager\[render\]'"
    ):
        env.render()


@given(st.integers(-(2**53), 2**53))
def test_numbers_stay_short(number: int) -> None:
    assert len(short(number)) <= 8
    assert short(1_234) == "1,234"
    assert short(2**31 - 1) == "2.15G"
