"""Plot elements in the units of the data: axes and marks; and escaped text for SVG and HTML."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

LONGEST = 80  # printed characters of an id

# Characters that reverse or hide adjacent text: controls, bidirectional ones, those of no width, lone surrogates.
_INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202f\u205f-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)


# Right-to-left letters, which reorder the text that follows them.
_TURNING = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]+")
_STRAIGHT = "\N{LEFT-TO-RIGHT MARK}"


def printable(text: object, longest: int | None = LONGEST) -> str:
    """Text with invisible characters made visible and shortened in the middle; not escaped.

    Names of related runs, files and pages often differ at the end.
    """
    whole = str(text)
    if longest is None or len(whole) <= longest:
        visible = _visible(whole)
    else:
        visible = _visible(whole[:longest]) + _visible(whole[-longest:])  # the rest is cut in any case
    if longest is None or len(visible) <= longest:
        return visible
    end = (longest - 1) // 2
    return f"{visible[: longest - 1 - end]}\N{HORIZONTAL ELLIPSIS}{visible[len(visible) - end :]}"


def _visible(text: str) -> str:
    return _INVISIBLE.sub(lambda mark: f"<U+{ord(mark[0]):04X}>", text)


def escape(text: object, longest: int | None = LONGEST) -> str:
    """Printable text, escaped for elements and attributes of HTML and SVG."""
    return html.escape(printable(text, longest), quote=True)


def escape_sentence(text: str, longest: int | None = None) -> str:
    """An escaped sentence with ids in it: right-to-left ids do not reorder the text that follows."""
    cut = text if longest is None or len(text) <= longest else text[: longest - 1] + "\N{HORIZONTAL ELLIPSIS}"
    return _TURNING.sub(lambda letters: letters[0] + _STRAIGHT, escape(cut, None))


Numbers: TypeAlias = Sequence[float]


@dataclass(frozen=True)
class Axis:
    """An axis of numbers from `low` to `high`, or of names at 0, 1, 2, ..."""

    label: str
    low: float
    high: float
    names: tuple[str, ...] = ()
    signed: bool = False  # whether tick labels have a sign
    whole: bool = False  # whether ticks are integers

    @classmethod
    def over(cls, label: str, values: Sequence[float], *, signed: bool = False, zero: bool = False) -> Axis:
        """An axis that spans all finite values."""
        finite = [float(value) for value in values if math.isfinite(value)] + ([0.0] if zero else [])
        low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
        spare = 0.04 * (high - low) or 0.05 * (abs(high) or 1.0)
        return cls(label, low - spare, high + spare, signed=signed)

    @classmethod
    def of_names(cls, label: str, names: Sequence[str]) -> Axis:
        """An axis with one position per name."""
        return cls(label, -0.6, len(names) - 0.4, tuple(names))

    def ticks(self, about: int = 6) -> list[float]:
        """Round numbers along it."""
        span = self.high - self.low
        step = 10.0 ** math.floor(math.log10(span / about))
        step *= next(factor for factor in (1, 2, 5, 10) if span / (step * factor) <= about)
        step = max(step, 1.0) if self.whole else step
        first = math.ceil(self.low / step - 1e-9)
        return [number * step for number in range(first, math.floor(self.high / step + 1e-9) + 1)]

    def tick_label(self, tick: float, about: int = 6) -> str:
        """The label of a tick, with as few digits as the step allows."""
        ticks = self.ticks(about)
        step = ticks[1] - ticks[0] if len(ticks) > 1 else abs(tick) or 1.0
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        tick = 0.0 if abs(tick) < step / 1e6 else tick
        return f"{tick:+,.{digits}f}" if self.signed and tick else f"{tick:,.{digits}f}"


@dataclass(frozen=True)
class Line:
    """Points joined by a line."""

    x: Numbers
    y: Numbers
    name: str = ""
    series: int = 0


@dataclass(frozen=True)
class Band:
    """The area between two lines."""

    x: Numbers
    low: Numbers
    high: Numbers
    series: int = 0


@dataclass(frozen=True)
class Dots:
    """Points; `sizes`: number of coinciding points, `titles`: tooltip of each."""

    x: Numbers
    y: Numbers
    sizes: Numbers = ()
    titles: Sequence[str] = ()
    name: str = ""
    series: int = 0
    hollow: bool = False

    @property
    def radii(self) -> list[float]:
        """Radii in pixels; the area is proportional to the size."""
        sizes = self.sizes or [1.0] * len(self.x)
        unit = min(4.0, 12.0 / math.sqrt(max([1.0, *sizes])))
        return [max(unit * math.sqrt(size), 2.0) for size in sizes]


@dataclass(frozen=True)
class Bars:
    """Bars from 0; those below it are another series."""

    x: Numbers
    y: Numbers
    width: float = 1.0
    titles: Sequence[str] = ()


@dataclass(frozen=True)
class Intervals:
    """Horizontal intervals; `name`: of all that are as thick, for the legend."""

    y: Numbers
    low: Numbers
    high: Numbers
    thick: bool = True
    series: int = 0
    name: str = ""


@dataclass(frozen=True)
class RefLine:
    """A line across at a number of the x axis, of the y axis, or along the diagonal (`both`)."""

    at: float = 0.0
    axis: str = "x"
    label: str = ""
    strong: bool = False


@dataclass(frozen=True)
class Span:
    """A vertical stripe between two numbers of the x axis."""

    low: float
    high: float


@dataclass(frozen=True)
class TextMarks:
    """Texts at the right end of rows."""

    y: Numbers
    texts: Sequence[str]
    head: str = ""


Mark: TypeAlias = Line | Band | Dots | Bars | Intervals | RefLine | Span | TextMarks
_LAYERS = (Span, Band, RefLine, Bars, Intervals, Line, Dots, TextMarks)  # from the back to the front


@dataclass(frozen=True, repr=False)
class Drawing:
    """The contents of a plot, independent of the drawing library."""

    title: str
    sentence: str  # text alternative
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    data: Mapping[str, Any] = field(default_factory=dict)  # columns by name
    height: int = 320
    width: int = 640

    @property
    def series(self) -> list[tuple[int, str]]:
        """The named series, for a legend."""
        named = {mark.series: mark.name for mark in self.marks if isinstance(mark, (Line, Dots)) and mark.name}
        return sorted(named.items())

    @property
    def widths(self) -> list[tuple[bool, str]]:
        """The named kinds of intervals, for a legend: whether they are thick."""
        named = {mark.thick: mark.name for mark in self.marks if isinstance(mark, Intervals) and mark.name}
        return sorted(named.items(), reverse=True)

    @property
    def layers(self) -> list[Mark]:
        """The marks, those behind first."""
        return sorted(self.marks, key=lambda mark: _LAYERS.index(type(mark)))
