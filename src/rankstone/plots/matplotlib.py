"""Draws a plot with matplotlib, also for PNG and PDF."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rankstone.plots.marks import Band, Bars, Dots, Drawing, Intervals, Line, RefLine, Span, TextMarks, printable
from rankstone.plots.svg import COLOURS

_QUIET = "#57606a"
_SHAPES = ("o", "s", "D", "^")


def draw(plot: Drawing, ax: Any = None) -> Any:
    """Draw on axes; returns them."""
    if ax is None:
        ax = _new(plot)
    for mark in plot.layers:
        _DRAWN[type(mark)](ax, mark)
    ax.set_xlim(plot.x.low, plot.x.high)
    ax.set_ylim(*((plot.y.high, plot.y.low) if plot.y.names else (plot.y.low, plot.y.high)))
    ax.set_xlabel(_plain(plot.x.label))
    if plot.y.names:
        ax.set_yticks(range(len(plot.y.names)), [_plain(name) for name in plot.y.names])
    else:
        ax.set_ylabel(_plain(plot.y.label))
    ax.set_title(_plain(plot.title), loc="left", fontsize="medium")
    if plot.series:
        ax.legend(loc="best", frameon=False)
    return ax


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
    ax.plot(mark.x, mark.y, color=_colour(mark.series), label=_plain(mark.name) or None, **more)


def _dots(ax: Any, mark: Dots) -> None:
    sizes = (1.5 * np.asarray(mark.radii)) ** 2  # the square of how wide it is, in points
    colour = _colour(mark.series)
    ax.scatter(
        mark.x, mark.y, s=sizes, marker=_SHAPES[mark.series % 4], edgecolors=colour, zorder=3,
        facecolors="none" if mark.hollow else colour, label=_plain(mark.name) or None,
    )  # fmt: skip


def _spans(ax: Any, mark: Intervals) -> None:
    finite = [(y, low, high) for y, low, high in zip(mark.y, mark.low, mark.high, strict=True)
             if math.isfinite(low) and math.isfinite(high)]  # fmt: skip
    if finite:
        ax.hlines(*zip(*finite, strict=True), color=_colour(mark.series), linewidth=4 if mark.thick else 1)


def _rule(ax: Any, mark: RefLine) -> None:
    style: dict[str, Any] = {"color": _QUIET, "linewidth": 1, "linestyle": "-" if mark.strong else "--"}
    if mark.axis == "both":
        ax.axline((0, 0), slope=1, **style)
    else:
        (ax.axvline if mark.axis == "x" else ax.axhline)(mark.at, **style)
    if mark.label and mark.axis == "x":
        ax.annotate(_plain(mark.label), (mark.at, 1), xycoords=("data", "axes fraction"), xytext=(4, -12),
                    textcoords="offset points", color=_QUIET)  # fmt: skip


def _notes(ax: Any, mark: TextMarks) -> None:
    if mark.head:
        ax.annotate(_plain(mark.head), (1, 1), xycoords="axes fraction", xytext=(6, 4), textcoords="offset points",
                    color=_QUIET)  # fmt: skip
    for y, text in zip(mark.y, mark.texts, strict=True):
        ax.annotate(_plain(text), (1, y), xycoords=("axes fraction", "data"), xytext=(6, 0),
                    textcoords="offset points", va="center")  # fmt: skip


_DRAWN: dict[type, Any] = {
    Line: _line,
    Band: lambda ax, mark: ax.fill_between(
        mark.x, mark.low, mark.high, color=_colour(mark.series), alpha=0.18, linewidth=0
    ),
    Dots: _dots,
    Bars: lambda ax, mark: ax.bar(mark.x, mark.y, width=mark.width, color=[_colour(int(y < 0)) for y in mark.y]),
    Intervals: _spans,
    RefLine: _rule,
    Span: lambda ax, mark: ax.axvspan(mark.low, mark.high, color=_QUIET, alpha=0.12, linewidth=0),
    TextMarks: _notes,
}
