"""What is drawn: axes, and marks in the units of the data; and text that is safe to write into a picture."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, TypeAlias

LONGEST = 80  # letters that are shown of an id

# Marks that turn or hide what stands beside them: controls, bidirectional ones, those of no width, lone surrogates.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202f\u205f-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)


# Letters that are written from right to left: what follows them would be drawn before them.
_TURNING = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]+")
_STRAIGHT = "\N{LEFT-TO-RIGHT MARK}"


def shown(text: object, longest: int | None = LONGEST) -> str:
    """A text in which every mark is seen, and that is not too long; not escaped. It is cut in the middle: names of
    runs, files and pages that belong together often differ at the end."""
    whole = str(text)
    if longest is None or len(whole) <= longest:
        seen = _seen(whole)
    else:
        seen = _seen(whole[:longest]) + _seen(whole[-longest:])  # the rest is cut out in any case
    if longest is None or len(seen) <= longest:
        return seen
    end = (longest - 1) // 2
    return f"{seen[: longest - 1 - end]}\N{HORIZONTAL ELLIPSIS}{seen[len(seen) - end :]}"


def _seen(text: str) -> str:
    return _UNSEEN.sub(lambda mark: f"<U+{ord(mark[0]):04X}>", text)


def safe(text: object, longest: int | None = LONGEST) -> str:
    """The same for text and attributes of HTML and SVG."""
    return escape(shown(text, longest), quote=True)


def prose(text: str, longest: int | None = None) -> str:
    """The same for sentences that have ids in them: an id written from right to left does not move what follows it."""
    cut = text if longest is None or len(text) <= longest else text[: longest - 1] + "\N{HORIZONTAL ELLIPSIS}"
    return _TURNING.sub(lambda letters: letters[0] + _STRAIGHT, safe(cut, None))


Numbers: TypeAlias = Sequence[float]


@dataclass(frozen=True)
class Axis:
    """One of the two directions: numbers from `low` to `high`, or names at 0, 1, 2, ..."""

    label: str
    low: float
    high: float
    names: tuple[str, ...] = ()
    signed: bool = False  # are numbers written with their signs
    whole: bool = False  # are there whole numbers only

    @classmethod
    def over(cls, label: str, values: Sequence[float], *, signed: bool = False, zero: bool = False) -> Axis:
        """Wide enough for all values that are finite."""
        known = [float(value) for value in values if math.isfinite(value)] + ([0.0] if zero else [])
        low, high = (min(known), max(known)) if known else (0.0, 1.0)
        spare = 0.04 * (high - low) or 0.05 * (abs(high) or 1.0)
        return cls(label, low - spare, high + spare, signed=signed)

    @classmethod
    def of_names(cls, label: str, names: Sequence[str]) -> Axis:
        """A place for each name."""
        return cls(label, -0.6, len(names) - 0.4, tuple(names))

    def ticks(self, about: int = 6) -> list[float]:
        """Round numbers along it."""
        span = self.high - self.low
        step = 10.0 ** math.floor(math.log10(span / about))
        step *= next(factor for factor in (1, 2, 5, 10) if span / (step * factor) <= about)
        step = max(step, 1.0) if self.whole else step
        first = math.ceil(self.low / step - 1e-9)
        return [number * step for number in range(first, math.floor(self.high / step + 1e-9) + 1)]

    def said(self, tick: float, about: int = 6) -> str:
        """A tick's number, as short as its neighbours allow."""
        ticks = self.ticks(about)
        step = ticks[1] - ticks[0] if len(ticks) > 1 else abs(tick) or 1.0
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        tick = 0.0 if abs(tick) < step / 1e6 else tick
        return f"{tick:+,.{digits}f}" if self.signed and tick else f"{tick:,.{digits}f}"


@dataclass(frozen=True)
class Line:
    """Points that are joined."""

    x: Numbers
    y: Numbers
    name: str = ""
    series: int = 0


@dataclass(frozen=True)
class Band:
    """What lies between two lines."""

    x: Numbers
    low: Numbers
    high: Numbers
    series: int = 0


@dataclass(frozen=True)
class Dots:
    """Single points; `sizes`: how many of them lie there; `titles`: what is told of each."""

    x: Numbers
    y: Numbers
    sizes: Numbers = ()
    titles: Sequence[str] = ()
    name: str = ""
    series: int = 0
    hollow: bool = False

    @property
    def radii(self) -> list[float]:
        """How large to draw each, in pixels: its area grows with how many lie there."""
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
class Spans:
    """Intervals that lie flat."""

    y: Numbers
    low: Numbers
    high: Numbers
    thick: bool = True
    series: int = 0


@dataclass(frozen=True)
class Rule:
    """A line across at a number of the x axis, of the y axis, or along the diagonal (`both`)."""

    at: float = 0.0
    axis: str = "x"
    label: str = ""
    strong: bool = False


@dataclass(frozen=True)
class Zone:
    """A stripe across, between two numbers of the x axis."""

    low: float
    high: float


@dataclass(frozen=True)
class Notes:
    """Texts at the right end of rows."""

    y: Numbers
    texts: Sequence[str]
    head: str = ""


Mark: TypeAlias = Line | Band | Dots | Bars | Spans | Rule | Zone | Notes
_LAYERS = (Zone, Band, Rule, Bars, Spans, Line, Dots, Notes)  # from the back to the front


@dataclass(frozen=True, repr=False)
class Drawing:
    """What a plot shows, apart from how it is drawn."""

    title: str
    sentence: str  # what it shows, for those who do not see it
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
    def layers(self) -> list[Mark]:
        """The marks, those behind first."""
        return sorted(self.marks, key=lambda mark: _LAYERS.index(type(mark)))
