"""Draws a plot with matplotlib, also for PNG and PDF."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rankstone.plots.marks import Band, Bars, Dots, Drawing, Intervals, Line, RefLine, Span, TextMarks, printable
from rankstone.plots.svg import COLOURS

_QUIET = "#57606a"
_SHAPES = ("o", "s", "D", "^")
_NAME = 40  # characters of a row name


def draw(plot: Drawing, ax: Any = None) -> Any:
    """Draw on axes; returns them."""
    is_new = ax is None
    if is_new:
        ax = _new(plot)
    for mark in plot.layers:
        _DRAWN[type(mark)](ax, mark)
    ax.set_xlim(plot.x.low, plot.x.high)
    ax.set_ylim(*((plot.y.high, plot.y.low) if plot.y.names else (plot.y.low, plot.y.high)))
    ax.set_xlabel(_plain(plot.x.label))
    ax.set_xticks(ticks := plot.x.ticks(), [plot.x.tick_label(tick) for tick in ticks])
    if plot.y.names:
        ax.set_yticks(range(len(plot.y.names)), [_plain(printable(name, _NAME)) for name in plot.y.names])
    else:
        ax.set_ylabel(_plain(plot.y.label))
        ax.set_yticks(ticks := plot.y.ticks(), [plot.y.tick_label(tick) for tick in ticks])
    ax.tick_params(length=0, pad=6)
    ax.grid(axis="x" if plot.y.names else "both", color=_QUIET, alpha=0.18, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[:].set_visible(False)
    labels = [mark.label for mark in plot.marks if isinstance(mark, RefLine) and mark.label]
    above = labels or plot.widths  # which stand between title and plot
    ax.set_title(_plain(plot.title), loc="left", fontsize="large", pad=20 if above else None)
    if plot.widths:
        lines = [ax.plot([], [], color=_QUIET, linewidth=_width(thick))[0] for thick, _ in plot.widths]
        ax.legend(lines, [name for _, name in plot.widths], loc="lower left", bbox_to_anchor=(0, 1), ncols=2,
                  frameon=False, fontsize="small", borderaxespad=0)  # fmt: skip
    named = sorted(zip(*ax.get_legend_handles_labels(), strict=True), key=_end) if plot.series else ()
    if named:
        place = {"loc": "center left", "bbox_to_anchor": (1, 0.5)} if is_new else {"loc": "best"}
        ax.legend(*zip(*named, strict=True), frameon=False, **place)
    return ax


def _end(named: tuple[Any, str]) -> float:
    """Where a line ends, downwards, so that the legend has the order of the lines."""
    heights: Any = getattr(named[0], "get_ydata", list)()
    return -float(heights[-1]) if len(heights) else 0.0


def _new(plot: Drawing) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("PNG, PDF and to_matplotlib need matplotlib: pip install 'rankstone[plots]'") from None
    return Figure(figsize=(plot.width / 96, plot.height / 96), layout="constrained").add_subplot()


def _plain(text: str) -> str:
    """Text with escaped dollar signs, which would begin a formula."""
    return printable(text).replace("$", r"\$")


def _colour(series: int) -> str:
    return COLOURS[series % len(COLOURS)]


def _line(ax: Any, mark: Line) -> None:
    shape = {"marker": _SHAPES[mark.series % 4], "markersize": 5, "markevery": (mark.series * 0.02, 0.15)}
    more = shape if mark.name else {}
    ax.plot(mark.x, mark.y, color=_colour(mark.series), label=_plain(mark.name) or None, clip_on=False, **more)


def _dots(ax: Any, mark: Dots) -> None:
    sizes = (1.5 * np.asarray(mark.radii)) ** 2  # the square of how wide it is, in points
    colour = _colour(mark.series)
    ax.scatter(
        mark.x, mark.y, s=sizes, marker=_SHAPES[mark.series % 4], edgecolors=colour, zorder=3,
        facecolors="none" if mark.hollow else colour, label=_plain(mark.name) or None,
    )  # fmt: skip


def _width(thick: bool) -> int:
    return 4 if thick else 1


def _spans(ax: Any, mark: Intervals) -> None:
    finite = [(y, low, high) for y, low, high in zip(mark.y, mark.low, mark.high, strict=True)
             if math.isfinite(low) and math.isfinite(high)]  # fmt: skip
    if finite:
        ax.hlines(*zip(*finite, strict=True), color=_colour(mark.series), linewidth=_width(mark.thick))


def _rule(ax: Any, mark: RefLine) -> None:
    style: dict[str, Any] = {"color": _QUIET, "linewidth": 1, "linestyle": "-" if mark.strong else "--"}
    if mark.axis == "both":
        ax.axline((0, 0), slope=1, **style)
    else:
        (ax.axvline if mark.axis == "x" else ax.axhline)(mark.at, **style)
    if mark.label and mark.axis == "x":
        ax.annotate(_plain(mark.label), (mark.at, 1), xycoords=("data", "axes fraction"), xytext=(0, 4),
                    textcoords="offset points", color=_QUIET, ha="center")  # fmt: skip


def _bars(ax: Any, mark: Bars) -> None:
    width = mark.width * (0.85 if len(mark.x) < 200 else 1)
    ax.bar(mark.x, mark.y, width=width, color=[_colour(int(y < 0)) for y in mark.y])


def _notes(ax: Any, mark: TextMarks) -> None:
    if mark.head:
        ax.annotate(_plain(mark.head), (1, 1), xycoords="axes fraction", xytext=(6, 4), textcoords="offset points",
                    color=_QUIET)  # fmt: skip
    for y, text in zip(mark.y, mark.texts, strict=True):
        ax.annotate(_plain(text), (1, y), xycoords=("axes fraction", "data"), xytext=(6, 0),
                    textcoords="offset points", va="center_baseline")  # fmt: skip


_DRAWN: dict[type, Any] = {
    Line: _line,
    Band: lambda ax, mark: ax.fill_between(
        mark.x, mark.low, mark.high, color=_colour(mark.series), alpha=0.18, linewidth=0
    ),
    Dots: _dots,
    Bars: _bars,
    Intervals: _spans,
    RefLine: _rule,
    Span: lambda ax, mark: ax.axvspan(mark.low, mark.high, color=_QUIET, alpha=0.12, linewidth=0),
    TextMarks: _notes,
}
