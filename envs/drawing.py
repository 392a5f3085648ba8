"""What the pictures of every game share: a pen over Pillow (the ``render`` extra), and colours.

The colours are Okabe and Ito's ("Color universal design", 2008), told apart with any colour vision.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .errors import require

Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right, bottom, in pixels."""

PAPER, PLOT, PLAYED = "#ffffff", "#f4f5f7", "#e8f1f8"
INK, MUTED, FAINT, GRID = "#1f2328", "#5b6370", "#aeb4bd", "#d9dce1"
BLUE, VERMILLION, ORANGE, GREEN, PURPLE = "#0072b2", "#d55e00", "#e69f00", "#009e73", "#cc79a7"

_SCALE = 2  # drawn larger and reduced, for smooth lines


class Pen:
    """Pillow's drawing calls in picture pixels, on a canvas ``_SCALE`` times as large."""

    def __init__(self, width: int, height: int) -> None:
        image, draw, self._fonts = (
            require(f"PIL.{name}", "render") for name in ("Image", "ImageDraw", "ImageFont")
        )
        self._image = image.new("RGB", (width * _SCALE, height * _SCALE), PAPER)
        self._draw = draw.Draw(self._image)
        self._sized: dict[float, Any] = {}
        self._reduce = image.Resampling.BOX

    def _font(self, size: float) -> Any:
        if size not in self._sized:
            self._sized[size] = self._fonts.load_default(size * _SCALE)
        return self._sized[size]

    def text(
        self, x: float, y: float, text: str, size: float, colour: str, anchor: str = "ls"
    ) -> float:
        """Write ``text``; ``anchor`` as Pillow has it. Returns its width."""
        font = self._font(size)
        self._draw.text((x * _SCALE, y * _SCALE), text, fill=colour, font=font, anchor=anchor)
        return float(font.getlength(text)) / _SCALE

    def width(self, text: str, size: float) -> float:
        """How wide ``text`` would be."""
        return float(self._font(size).getlength(text)) / _SCALE

    def fit(self, text: str, size: float, room: float) -> str:
        """``text``, or as much of it as ``room`` pixels hold, with an ellipsis."""
        if self.width(text, size) <= room:
            return text
        keep = len(text)
        while keep and self.width(text[:keep] + "\N{HORIZONTAL ELLIPSIS}", size) > room:
            keep -= 1
        return text[:keep] + "\N{HORIZONTAL ELLIPSIS}"

    def box(self, box: Box, colour: str) -> None:
        """Fill a rectangle."""
        left, top, right, bottom = (round(v * _SCALE) for v in box)
        if right > left and bottom > top:
            self._draw.rectangle((left, top, right - 1, bottom - 1), fill=colour)

    def line(self, points: list[tuple[float, float]], colour: str, width: float) -> None:
        """Draw a line through the points."""
        scaled = [(x * _SCALE, y * _SCALE) for x, y in points]
        self._draw.line(scaled, fill=colour, width=round(width * _SCALE), joint="curve")

    def triangle(self, x: float, y: float, up: bool, colour: str) -> None:
        """A marker with its tip at (x, y), pointing up or down, edged in white."""
        h = 7.0 if up else -7.0
        points = [(x, y), (x - 4.0, y + h), (x + 4.0, y + h)]
        scaled = [(px * _SCALE, py * _SCALE) for px, py in points]
        self._draw.polygon(scaled, fill=colour, outline=PAPER)

    def pixels(self) -> NDArray[np.uint8]:
        """The finished picture, uint8 (height, width, 3)."""
        width, height = self._image.size
        small = self._image.resize((width // _SCALE, height // _SCALE), self._reduce)
        return np.array(small, np.uint8)
