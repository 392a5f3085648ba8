"""Pictures of a run that every game shares."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..envs.errors import require
from ..envs.files import write_bytes
from .results import Comparison

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

    from .task import Task

__all__ = ["INK", "PALETTE", "learning_curve", "new_picture", "save_picture"]

INK, MUTED, GRID = "#1f2933", "#7b8794", "#e4e7eb"
PALETTE = ("#0b6e99", "#c2410c", "#4d7c0f", "#7c3aed", "#a16207", "#be185d")
"""Colours that stay apart for most eyes, on white and on grey."""


def new_picture(width: float, height: float, share: float = 1.0) -> Picture:
    """An empty picture, inches, no display; the axes fill its left ``share``."""
    require("matplotlib", "train")
    from matplotlib.figure import Figure as Picture
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(rect=(0, 0, share, 1))
    return Picture(figsize=(width, height), dpi=110, layout=layout, facecolor="white")


def save_picture(picture: Picture, path: Path) -> None:
    """Write a picture as PNG, atomically, without date or version in it."""
    stream = io.BytesIO()
    picture.savefig(stream, format="png", metadata={"Software": None})
    write_bytes(path, stream.getvalue())


def style(axes: Any) -> None:
    """A plain look: no box, a light grid under the data."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(MUTED)
    axes.tick_params(colors=INK, labelsize=9)
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)


def learning_curve(
    path: Path, task: Task, curve: Sequence[Mapping[str, Any]], comparison: Comparison
) -> None:
    """Score against environment steps, with its 95% band, and the rivals as lines."""
    scale = 100.0 if task.unit == "return" else 1.0
    picture = new_picture(10.0, 5.2, share=0.8)  # the rivals' names stand right of it
    axes = picture.subplots()
    style(axes)
    steps = [max(point["steps"], 0) for point in curve]
    axes.plot(steps, [scale * p["value"] for p in curve], color=PALETTE[0], lw=2, label="agent")
    low, high = ([scale * p[end] for p in curve] for end in ("low", "high"))
    axes.fill_between(steps, low, high, color=PALETTE[0], alpha=0.18, lw=0)
    rivals = sorted(
        (one for one in comparison.figures if one.name != comparison.agent), key=lambda f: f.value
    )
    ends = [*low, *high, *(scale * one.value for one in rivals)]
    span = max(ends) - min(ends)
    at = float("-inf")
    for k, rival in enumerate(rivals):
        value = scale * rival.value
        axes.axhline(value, color=PALETTE[1 + k % 5], lw=1.2, ls="--")
        at = max(value, at + 0.04 * span)  # labels do not overlap
        axes.annotate(
            f"{rival.name} {rival.text()}",
            (1.01, at),
            xycoords=("axes fraction", "data"),
            color=PALETTE[1 + k % 5],
            fontsize=9,
            va="center",
            annotation_clip=False,
        ).set_in_layout(False)
    last = comparison.of(comparison.agent)
    axes.set_title(
        f"{task.subject}: agent {last.text()} on {last.n:,} {last.split} seeds",
        loc="left",
        color=INK,
        fontsize=12,
    )
    axes.set_xlabel("environment steps trained on (log scale)", color=INK)
    axes.set_ylabel("mean return, %" if task.unit == "return" else "mean score", color=INK)
    # the climb is steep: linear up to the first evaluation, logarithmic from there
    axes.set_xscale("symlog", linthresh=next((s for s in steps if s > 0), 1))
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    save_picture(picture, path)
