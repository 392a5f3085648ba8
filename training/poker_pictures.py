"""The learning curve of a poker run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..envs.poker.exploitability import GAMES
from .plots import INK, MUTED, PALETTE, new_picture, save_picture, style
from .results import Comparison

__all__ = ["curve_picture"]


def curve_picture(
    path: Path, table: str, curve: Sequence[Mapping[str, Any]], comparison: Comparison
) -> None:
    """Exploitability (log scale), or units a hand among the house, against decisions."""
    exact = table in GAMES
    picture = new_picture(10.0, 5.2, share=0.84)  # the others' names stand right of it
    axes = picture.subplots()
    style(axes)
    steps = [point["steps"] for point in curve]
    axes.plot(steps, [point["value"] for point in curve], color=PALETTE[0], lw=2)
    low, high = ([point[end] for point in curve] for end in ("low", "high"))
    axes.fill_between(steps, low, high, color=PALETTE[0], alpha=0.18, lw=0)
    others = sorted(
        (one for one in comparison.figures if not one.name.startswith(comparison.agent)),
        key=lambda one: one.value,
    )
    ends = [*low, *high, *(one.value for one in others)]
    place, apart = -np.inf, 0.0 if exact else 0.04 * (max(ends) - min(ends))
    for k, other in enumerate(others):
        if exact and other.value < 1e-3:
            continue  # an equilibrium has no place on a log scale
        colour = PALETTE[1 + k % 5]
        axes.axhline(other.value, color=colour, lw=1.2, ls="--")
        place = max(other.value, place + apart)  # labels do not overlap
        axes.annotate(
            f"{other.name} {other.value:.3f}",
            (1.01, place),
            xycoords=("axes fraction", "data"),
            color=colour,
            fontsize=9,
            va="center",
            annotation_clip=False,
        ).set_in_layout(False)
    last = comparison.of(comparison.agent)
    if exact:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        # of a decade 2 and 5: more would run into each other
        axes.yaxis.set_minor_formatter(
            lambda value, _: f"{value:g}" if f"{value:e}"[0] in "25" else ""
        )
        label, measured = "exploitability, chips a hand", f"{last.value:.4f} chips a hand, exact"
    else:
        axes.axhline(0.0, color=MUTED, lw=0.8)
        label, measured = (
            "big blinds a hand among the house",
            f"{last.text(True)} big blinds a hand",
        )
    axes.set_title(f"poker, {table}: agent {measured}", loc="left", color=INK, fontsize=12)
    axes.set_xlabel("decisions trained on (log scale)", color=INK)
    axes.set_ylabel(label, color=INK)
    axes.set_xscale("symlog", linthresh=next((s for s in steps if s > 0), 1))
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    save_picture(picture, path)
