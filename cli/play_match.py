"""Seats of every kind at a match, for `wager play`: who sits, who follows, what it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .names import short

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table

    from ..training.match.match import Match
    from ..training.match.seats import Player


def play_seats(
    game: str,
    config: dict[str, Any],
    seed: int,
    names: Sequence[str],
    prompts: Mapping[int, str],
    keys: Mapping[int, str],
    timeout: float,
    paced: bool,
    console: Console,
    **options: Any,
) -> Match:
    """Seat ``names`` and play the match, followed on ``console`` where an endpoint plays.

    ``prompts`` are files and ``keys`` environment variables, by seat.

    Raises:
        InputError: for what is no seat, prompt or key, and as ``play_match``.
    """
    from ..training.match.lineup import seat_players
    from ..training.match.match import GAMES, play_match
    from ..training.match.pace import limits_of
    from ..training.match.poker import affordable
    from ..training.match.seats import ChatSeat, read_guidance

    guidance = {seat: read_guidance(path) for seat, path in prompts.items()}
    players = seat_players(game, names, config.get("table", ""), guidance, keys)
    limits = limits_of(GAMES[game].limits, timeout, paced)
    if not any(isinstance(player, ChatSeat) for player in players):
        return play_match(game, config, seed, players, limits, **options)
    if game == "poker":
        config = affordable(config, players)
    with _Follower(console, players) as follower:
        return play_match(game, config, seed, players, limits, follower, **options)


class _Follower:
    """Shows a match while it is played: a live table on a terminal, else a line a unit."""

    def __init__(self, console: Console, players: Sequence[Player]) -> None:
        self._console = console
        self._players = players
        self._live: Live | None = None

    def __enter__(self) -> _Follower:
        if self._console.is_terminal:
            from rich.live import Live

            self._live = Live(console=self._console, transient=True, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, unit: str, played: int, of: int, scores: Sequence[float]) -> None:
        """After a hand, turn or decision."""
        if self._live is not None:
            table = self._table(f"{unit} {played}/{of}", scores)
            self._live.update(table, refresh=True)
            return
        stood_in = [p.tally.fallbacks + p.tally.forced_folds for p in self._players]
        line = f"{unit} {played}/{of}: scores {' '.join(f'{s:.4f}' for s in scores)}"
        line += f", fallbacks {' '.join(map(str, stood_in))}"
        self._console.print(line, highlight=False, soft_wrap=True)

    def _table(self, title: str, scores: Sequence[float]) -> Table:
        from rich.table import Table

        table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
        table.add_column("seat", no_wrap=True)
        for column in ("score", "decisions", "fallbacks", "calls", "tokens", "last call"):
            table.add_column(column, justify="right", no_wrap=True)
        for player, score in zip(self._players, scores, strict=True):
            tally = player.tally
            last = f"{tally.seconds[-1]:.1f} s" if tally.seconds else "-"
            counts = [tally.decisions, tally.fallbacks + tally.forced_folds, tally.calls]
            counts.append(tally.prompt_tokens + tally.completion_tokens)
            table.add_row(short(player.name), f"{score:.4f}", *(f"{n:,}" for n in counts), last)
        return table


def seats_table(results: Mapping[str, Any]) -> Table:
    """What each seat of a finished match (``wager.match/1``) did and took."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("seat", no_wrap=True)
    for column in ("decisions", "fallbacks", "calls", "tokens in", "out", "mean call"):
        table.add_column(column, justify="right", no_wrap=True)
    for seat, timing in zip(results["seats"], results["timing"]["seats"], strict=True):
        stood_in = seat["fallbacks"] + seat["forced_folds"]
        counts = [seat["decisions"], stood_in, seat["calls"]]
        counts += [seat["prompt_tokens"], seat["completion_tokens"]]
        mean = "-" if timing["mean"] is None else f"{timing['mean']:.2f} s"
        table.add_row(short(seat["name"]), *(f"{count:,}" for count in counts), mean)
    return table


def what_went_wrong(results: Mapping[str, Any]) -> list[str]:
    """A line a seat that lost calls or offers."""
    lines = []
    for k, seat in enumerate(results["seats"]):
        faults = [f"{name} {count}" for name, count in seat["faults"].items()]
        faults += [f"offers dropped {seat['dropped']}"] if seat["dropped"] else []
        if faults:
            lines.append(f"seat {k}, {short(seat['name'])}: {', '.join(faults)}")
    return lines
