"""Draws a plot as SVG: lines, circles, bars and text, nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from unicodedata import east_asian_width

from rankstone.plots.marks import (
    Band,
    Bars,
    Dots,
    Drawing,
    Intervals,
    Line,
    Mark,
    RefLine,
    Span,
    TextMarks,
    escape,
    escape_sentence,
    printable,
)

# After Okabe and Ito: distinguishable with colour vision deficiency, on light and on dark pages.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b5588c", "#8a6d00", "#3f7f93", "#777777")

# Text and lines take the colour of the page, whatever that is.
STYLE = (
    ".rs{font:12px system-ui,sans-serif;fill:none;stroke-width:1.5;max-width:100%;height:auto;"
    "font-variant-numeric:tabular-nums}.rs text{fill:currentColor;stroke:none}.rs .dim{fill-opacity:.8}"
    ".rs .grid{stroke:currentColor;stroke-width:1;stroke-opacity:.14}"
    ".rs .rule{stroke:currentColor;stroke-opacity:.6;stroke-dasharray:4 3}.rs .strong{stroke-dasharray:none}"
    ".rs .zone{fill:currentColor;fill-opacity:.1}.rs .thin{stroke-width:1}.rs .thick{stroke-width:5}"
    ".rs .dot{stroke-linecap:round;stroke-opacity:.6}.rs .band{fill-opacity:.18;stroke:none}.rs .hollow{fill:none}"
    + "".join(f".rs .c{at}{{stroke:{colour}}}.rs .f{at}{{fill:{colour}}}" for at, colour in enumerate(COLOURS))
)
_SENTENCE = 4_000  # characters of the text alternative
_MANY = 250  # marks, above which they are one shape without titles
_FONT = 12  # pixels
_NAME = 245  # pixels of a row name
# Widths of letters in a very wide font (DejaVu Sans Bold), in its size: what has room there has room in any other.
_WIDTHS = {
    **dict.fromkeys("fijlrt !'()*,-./:;I[]|", 0.47),
    **dict.fromkeys("#+<=>^~ABCDEFGHKNOPQRSTUVXYZ", 0.86),
    **dict.fromkeys("%@MWmw\N{HORIZONTAL ELLIPSIS}", 1.08),
}
_TOP, _BOTTOM, _RIGHT, _LEGEND = 12, 44, 16, 18


def draw(plot: Drawing, *, styled: bool = True) -> str:
    """The picture as text."""
    return _Canvas(plot).text(styled)


def around(plot: Drawing) -> float:
    """How many pixels of its width names and notes take."""
    canvas = _Canvas(plot)
    return plot.width - (canvas.right - canvas.left)


class _Canvas:
    def __init__(self, plot: Drawing) -> None:
        self.plot = plot
        notes = [mark for mark in plot.marks if isinstance(mark, TextMarks)]
        side_info = max((_pixels(text) for mark in notes for text in (*mark.texts, mark.head)), default=0)
        names = plot.y.names or [plot.y.tick_label(tick) for tick in plot.y.ticks()]
        self.left = 14 + max(map(_pixels, names), default=0) + (0 if plot.y.names else 18)
        self.right = plot.width - _RIGHT - side_info
        self.legend = list(self._placed())
        self.top: float = _TOP + (14 if any(mark.head for mark in notes) else 0)
        self.top += 4 + self.legend[-1][1] if self.legend else 0
        self.bottom = plot.height - _BOTTOM

    def x(self, value: float) -> float:
        """Where a number of the x axis lies."""
        return self.left + (value - self.plot.x.low) / (self.plot.x.high - self.plot.x.low) * (self.right - self.left)

    def y(self, value: float) -> float:
        """Where a number of the y axis lies: names go down, numbers up."""
        share = (value - self.plot.y.low) / (self.plot.y.high - self.plot.y.low)
        return self.top + (share if self.plot.y.names else 1 - share) * (self.bottom - self.top)

    def text(self, styled: bool) -> str:
        """All of it."""
        plot = self.plot
        body = "".join([*self._axes(), *self._legend(), *(part for mark in plot.layers for part in self._mark(mark))])
        style = f"<style>{STYLE}</style>" if styled else ""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="rs" role="img" viewBox="0 0 {plot.width} {plot.height}" '
            f'width="{plot.width}" height="{plot.height}"><title>{escape(plot.title)}</title>'
            f"<desc>{escape_sentence(plot.sentence, _SENTENCE)}</desc>{style}{body}</svg>"
        )

    # -- around it -------------------------------------------------------------------------------------------

    def _axes(self) -> Iterable[str]:
        plot = self.plot
        about = max(2, int((self.right - self.left) / 64))
        for tick in plot.x.ticks(about):
            at = _n(self.x(tick))
            yield f'<path class="grid" d="M{at} {_n(self.top)}V{_n(self.bottom)}"/>'
            label = plot.x.tick_label(tick, about)
            yield _text(min(self.x(tick), plot.width - _pixels(label) / 2), self.bottom + 18, label, "middle", "dim")
        wide, high = self.right - self.left, self.bottom - self.top
        yield _text(
            (self.left + self.right) / 2, plot.height - 7, plot.x.label, "middle", longest=_fitting(plot.x.label, wide)
        )
        if plot.y.names:
            for row, name in enumerate(plot.y.names):
                yield _text(self.left - 8, self.y(row) + 4, name, "end", longest=_fitting(name))
            return
        about = max(2, int(high / 40))
        for tick in plot.y.ticks(about):
            yield f'<path class="grid" d="M{_n(self.left)} {_n(self.y(tick))}H{_n(self.right)}"/>'
            yield _text(self.left - 6, self.y(tick) + 4, plot.y.tick_label(tick, about), "end", "dim")
        label = escape(plot.y.label, _fitting(plot.y.label, high))
        middle = (self.top + self.bottom) / 2
        yield f'<text transform="translate(14 {_n(middle)}) rotate(-90)" text-anchor="middle">{label}</text>'

    def _placed(self) -> Iterable[tuple[float, float, Callable[[float, float], str], str]]:
        """Where each name of the legend stands, and its sign: in as many rows as they need."""
        signs: list[tuple[Callable[[float, float], str], str]] = [
            (partial(_shape, size=4, series=series % len(COLOURS), hollow=False, title=""), name)
            for series, name in self.plot.series
        ]
        signs += [(partial(_stroke, thick=thick), name) for thick, name in self.plot.widths]
        x, y = self.left, 11
        for sign, name in signs:
            wide = 36 + _pixels(name)
            if x > self.left and x + wide > self.plot.width:
                x, y = self.left, y + _LEGEND
            yield x, y, sign, name
            x += wide

    def _legend(self) -> Iterable[str]:
        for x, y, sign, name in self.legend:
            yield sign(x + 7, y)
            yield _text(x + 20, y + 4, name, "start", longest=_fitting(name))

    # -- marks -----------------------------------------------------------------------------------------------

    def _mark(self, mark: Mark) -> Iterable[str]:
        draw: Callable[[Mark], Iterable[str]] = getattr(self, f"_{type(mark).__name__.lower()}")
        return draw(mark)

    def _line(self, mark: Line) -> Iterable[str]:
        points = self._points(mark.x, mark.y)
        yield _titled(f'<path class="c{_series(mark)}" d="{_path(points)}"', "path", mark.name)
        if mark.name:  # the shape of the legend at intervals, in addition to the colour
            for x, y in _apart(points, 90, 12.0 * mark.series):
                yield _shape(x, y, 3, _series(mark), hollow=False, title="")

    def _points(self, xs: Sequence[float], ys: Sequence[float]) -> list[tuple[float, float]]:
        return [(self.x(x), self.y(y)) for x, y in zip(xs, ys, strict=True) if math.isfinite(x) and math.isfinite(y)]

    def _band(self, mark: Band) -> Iterable[str]:
        there = self._points(mark.x, mark.low)
        back = self._points(mark.x, mark.high)[::-1]
        yield f'<path class="band f{_series(mark)}" d="{_path([*there, *back])}Z"/>'

    def _dots(self, mark: Dots) -> Iterable[str]:
        if len(mark.x) > _MANY:
            yield from self._many_dots(mark)
            return
        for at, (x, y, radius) in enumerate(zip(mark.x, mark.y, mark.radii, strict=True)):
            if math.isfinite(x) and math.isfinite(y):
                title = mark.titles[at] if mark.titles else ""
                yield _shape(self.x(x), self.y(y), radius, _series(mark), mark.hollow, title)

    def _many_dots(self, mark: Dots) -> Iterable[str]:
        """The same as lines of no length, those of one size in one path; half as wide, as there are many."""
        places: dict[int, dict[tuple[int, int], None]] = {}
        for x, y, radius in zip(mark.x, mark.y, mark.radii, strict=True):
            if math.isfinite(x) and math.isfinite(y):
                places.setdefault(max(round(radius), 3), {})[round(self.x(x)), round(self.y(y))] = None
        for wide, some in sorted(places.items()):
            path, before = "", (0, 0)
            for x, y in some:  # from the one before it, which is shorter
                path += f"m{x - before[0]}{' ' * (y >= before[1])}{y - before[1]}h0"
                before = x, y
            yield f'<path class="c{_series(mark)} dot" stroke-width="{wide}" d="{path}"/>'

    def _bars(self, mark: Bars) -> Iterable[str]:
        wide = max(self.x(mark.width) - self.x(0), 0.4)
        if len(mark.x) > _MANY:
            yield from self._many_bars(mark)
            return
        gap = 0.15 * wide if wide > 3 else 0.0
        for at, (x, y) in enumerate(zip(mark.x, mark.y, strict=True)):
            ends = sorted((self.y(0), self.y(y)))
            title = mark.titles[at] if mark.titles else ""
            shape = (
                f'<rect class="f{int(y < 0)}" x="{_n(self.x(x) - wide / 2 + gap / 2)}" y="{_n(ends[0])}" '
                f'width="{_n(wide - gap)}" height="{_n(max(ends[1] - ends[0], 0.5))}"'
            )
            yield _titled(shape, "rect", title)

    def _many_bars(self, mark: Bars) -> Iterable[str]:
        """The same as two stairs, with one step for those that lie on one pixel."""
        columns: dict[int, list[float]] = {}
        for x, y in zip(mark.x, mark.y, strict=True):
            columns.setdefault(round(self.x(x - mark.width / 2)), []).append(y)
        starts = [*columns, round(self.x(mark.x[-1] + mark.width / 2))]
        foot = round(self.y(0))
        for below in (False, True):
            path, at, high = "", 0, foot
            for start, end, some in zip(starts, starts[1:], columns.values(), strict=False):
                mean = sum(some) / len(some)
                top = round(self.y(mean)) if (mean < 0) == below else foot
                if top != high:
                    path += (f"H{start}" if path else f"M{start} {foot}") + f"V{top}"
                at, high = end, top
            yield f'<path class="f{int(below)}" d="{f"{path}H{at}V{foot}Z" if path else "M0 0"}"/>'

    def _intervals(self, mark: Intervals) -> Iterable[str]:
        for y, low, high in zip(mark.y, mark.low, mark.high, strict=True):
            if math.isfinite(low) and math.isfinite(high):
                kind = "thick" if mark.thick else "thin"
                yield (
                    f'<path class="c{_series(mark)} {kind}" d="M{_n(self.x(low))} {_n(self.y(y))}H{_n(self.x(high))}"/>'
                )

    def _refline(self, mark: RefLine) -> Iterable[str]:
        kind = "rule strong" if mark.strong else "rule"
        if mark.axis == "both":
            low, high = max(self.plot.x.low, self.plot.y.low), min(self.plot.x.high, self.plot.y.high)
            path = f"M{_n(self.x(low))} {_n(self.y(low))}L{_n(self.x(high))} {_n(self.y(high))}"
        elif mark.axis == "x":
            path = f"M{_n(self.x(mark.at))} {_n(self.top)}V{_n(self.bottom)}"
        else:
            path = f"M{_n(self.left)} {_n(self.y(mark.at))}H{_n(self.right)}"
        yield f'<path class="{kind}" d="{path}"/>'
        if mark.label and mark.axis == "x":
            end = self.x(mark.at) > (self.left + self.right) / 2
            yield _text(
                self.x(mark.at) + (-4 if end else 4), self.bottom - 8, mark.label, "end" if end else "start", "dim"
            )

    def _span(self, mark: Span) -> Iterable[str]:
        low, high = self.x(max(mark.low, self.plot.x.low)), self.x(min(mark.high, self.plot.x.high))
        yield (
            f'<rect class="zone" x="{_n(low)}" y="{_n(self.top)}" width="{_n(max(high - low, 0))}" '
            f'height="{_n(self.bottom - self.top)}"/>'
        )

    def _textmarks(self, mark: TextMarks) -> Iterable[str]:
        if mark.head:
            yield _text(self.right + 10, self.top - 4, mark.head, "start", "dim", _fitting(mark.head))
        for y, text in zip(mark.y, mark.texts, strict=True):
            yield _text(self.right + 10, self.y(y) + 4, text, "start", longest=_fitting(text))


def _fitting(text: str, pixels: float = _NAME) -> int:
    """How many letters of a text fit; at least 8."""
    longest = int(pixels / (0.5 * _FONT))
    return next((count for count in range(longest, 8, -1) if _width(printable(text, count)) <= pixels), 8)


def _pixels(name: str) -> float:
    """How wide a name is, cut to the room that names have."""
    return _width(printable(name, _fitting(name)))


def _width(text: str) -> float:
    """In pixels, if the font is very wide."""
    return _FONT * sum(_WIDTHS.get(letter) or (1.0 if east_asian_width(letter) in "WF" else 0.71) for letter in text)


def _apart(points: Sequence[tuple[float, float]], step: float, shift: float) -> Iterable[tuple[float, float]]:
    """Points of a line, about so many pixels apart; each line begins elsewhere, so that they do not hide each other."""
    if not points:
        return
    following = points[0][0] + shift
    for x, y in points:
        if x >= following:
            yield x, y
            following += step * math.ceil((x - following) / step or 1)


def _series(mark: Line | Band | Dots | Intervals) -> int:
    return mark.series % len(COLOURS)


def _n(value: float) -> str:
    """A place, to a tenth of a pixel."""
    return f"{value:.1f}".rstrip("0").rstrip(".")


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{_n(x)} {_n(y)}" for x, y in points) if points else "M0 0"


def _text(x: float, y: float, text: str, anchor: str, kind: str = "", longest: int = 80) -> str:
    whole = printable(text, None)
    more = f"<title>{escape(text, 2_000)}</title>" if len(whole) > longest else ""
    name = f' class="{kind}"' if kind else ""
    side = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text{name} x="{_n(x)}" y="{_n(y)}"{side}>{more}{escape(text, longest)}</text>'


def _stroke(x: float, y: float, thick: bool) -> str:
    """The sign of intervals."""
    return f'<path class="rule strong {"thick" if thick else "thin"}" d="M{_n(x - 7)} {_n(y)}h14"/>'


def _shape(x: float, y: float, size: float, series: int, hollow: bool, title: str) -> str:
    """A circle, a square, a diamond or a triangle, so that series differ by more than colour."""
    inside = "hollow" if hollow else f"f{series}"
    name = f'class="c{series} {inside}"'
    kind = series % 4
    if kind == 0:
        return _titled(f'<circle {name} cx="{_n(x)}" cy="{_n(y)}" r="{_n(size)}"', "circle", title)
    corners = {
        1: ((-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)),
        2: ((0, -1.2), (1.2, 0), (0, 1.2), (-1.2, 0)),
        3: ((0, -1.15), (1.05, 0.8), (-1.05, 0.8)),
    }[kind]
    path = _path([(x + size * right, y + size * down) for right, down in corners])
    return _titled(f'<path {name} d="{path}Z"', "path", title)


def _titled(shape: str, tag: str, title: str) -> str:
    return f"{shape}><title>{escape(title, 200)}</title></{tag}>" if title else f"{shape}/>"
