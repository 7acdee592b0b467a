"""The plots of comparisons and results; `KINDS` has those of a comparison by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.errors import InputError
from rankstone.plots.marks import Axis, Band, Bars, Dots, Intervals, Line, Mark, RefLine, Span, TextMarks
from rankstone.plots.plot import Plot, counted
from rankstone.results.answer import number, p_said, p_value, queries, signed, verdict_of

if TYPE_CHECKING:
    from rankstone.compare.breakdown import Leaderboard, QueryChanges, Slices
    from rankstone.compare.comparison import Comparison
    from rankstone.compare.config import Groups
    from rankstone.compare.differences import Difference, Experiment
    from rankstone.results.result import Result

MOST_BARS = 2_000
_ROW, _AROUND, _LEGEND = 24, 78, 18  # pixels of a row, around all of them, and of a legend


_SERIES = {"good": 2, "bad": 1, "open": 6, "same": 0}  # colours of verdicts


def forest(data: Experiment, wanted: Sequence[Difference]) -> Plot:
    """Differences with their intervals: thick for each alone, thin at the adjusted level, which decides."""
    names = [(f"{of.metric}, " if len(data.labels) > 1 else "") + data.pair(of) for of in wanted]
    adjusted = [of.adjusted_interval for of in wanted]
    columns = columns_of(wanted, "run", "baseline", "metric", "difference", "low", "high")
    columns |= {"adjusted_low": [low for low, _ in adjusted], "adjusted_high": [high for _, high in adjusted]}
    columns |= columns_of(wanted, "verdict")
    margins = {data.rules.margin_of(of.metric) for of in wanted} - {None}
    margin = margins.pop() if len(margins) == 1 else None
    marks: list[Mark] = [*([Span(-margin, margin)] if margin else []), RefLine(0.0, strong=True)]
    alone, both = f"{100 * data.rules.confidence:g} % interval", data.is_adjusted
    for kind, series in _SERIES.items():
        rows = [row for row, of in enumerate(wanted) if getattr(verdict_of(of.verdict), "kind", "same") == kind]
        low, high, adjusted_low, adjusted_high, middle = (
            [columns[name][row] for row in rows]
            for name in ("low", "high", "adjusted_low", "adjusted_high", "difference")
        )
        marks += [
            *([Intervals(rows, adjusted_low, adjusted_high, False, series, "adjusted: decides")] if both else []),
            Intervals(rows, low, high, True, series, f"{alone}, each alone" if both else alone),
            Dots(middle, rows, titles=[_tooltip(wanted[row]) for row in rows], series=series),
        ]
    marks.append(TextMarks(list(range(len(wanted))), columns["verdict"]))
    ends = [*(end for pair in adjusted for end in pair), *columns["low"], *columns["high"], *columns["difference"]]
    axis = Axis.over("difference, in the metric's unit", [*ends, *((-margin, margin) if margin else ())],
                     signed=True, zero=True)  # fmt: skip
    sentence = "; ".join(f"{name}: {signed(of.difference)}, {of.verdict or 'no verdict'}"
                         for name, of in zip(names, wanted, strict=True))  # fmt: skip
    return Plot("Differences and their intervals", sentence, axis, Axis.of_names("", names), tuple(marks), columns,
                height=_AROUND + _LEGEND * both + _ROW * len(wanted))  # fmt: skip


def waterfall(changes: QueryChanges) -> Plot:
    """The change per query, the largest improvement first; adjacent bars are merged if there are many."""
    of = changes.difference
    values = np.array([change.change for change in changes])
    titles = [f"{change.query}: {number(change.first)} to {number(change.second)}" for change in changes]
    if len(values) > MOST_BARS:
        parts = np.array_split(values, MOST_BARS)
        values = np.array([part.mean() for part in parts])
        titles = [f"{queries(len(part))}, mean change {signed(float(part.mean()))}" for part in parts]
    bars = Bars(list(range(len(values))), values.tolist(), titles=titles)
    return Plot(
        f"{of.metric}: change per query, {of.run} minus {of.baseline}",
        f"{counts(of)}.",
        Axis("queries, largest improvement first", -0.5, max(len(values) - 0.5, 0.5), whole=True),
        Axis.over("change", values.tolist(), signed=True, zero=True),
        (RefLine(0.0, "y", strong=True), bars),
        changes._columns(),
    )


def scatter(changes: QueryChanges) -> Plot:
    """The values of both runs per query."""
    of = changes.difference
    first, second = ([getattr(change, side) for change in changes] for side in ("first", "second"))
    x, y, many, places = counted(first, second)
    titles = [f"{changes[at].query if n == 1 else queries(n)}: {number(a)} to {number(b)}"
              for a, b, n, at in zip(x, y, many, places, strict=True)]  # fmt: skip
    axis = Axis.over(f"{of.metric} of {of.baseline}", [*first, *second])
    return Plot(
        f"{of.metric}: both values per query",
        f"{of.run} is higher above the line, {of.baseline} below it. {counts(of)}.",
        axis,
        Axis(f"{of.metric} of {of.run}", axis.low, axis.high),
        (RefLine(axis="both"), Dots(x, y, many, titles, hollow=True)),
        changes._columns(),
        height=440,
        width=480,
    )


def slices(parts: Slices) -> Plot:
    """Differences by group of queries."""
    several = len({(part.metric, part.run, part.baseline) for part in parts}) > 1
    rows = list(range(len(parts)))
    names = [f"{part.group}{f', {part.run} ({part.metric})' if several else ''}" for part in parts]
    marks: list[Mark] = [RefLine(0.0, strong=True), TextMarks(rows, [f"{part.queries:,}" for part in parts], "queries")]
    for series, is_small in ((0, False), (6, True)):
        selected = [(row, part) for row, part in zip(rows, parts, strict=True) if part.is_small == is_small]
        if selected:
            at = [row for row, _ in selected]
            columns = columns_of([part for _, part in selected], "low", "high", "difference")
            titles = [f"{part.group}: {signed(part.difference)}, {p_said(part.p)}" for _, part in selected]
            marks += [
                Intervals(at, columns["low"], columns["high"], series=series),
                Dots(columns["difference"], at, series=series, hollow=is_small, titles=titles),
            ]
    ends = [end for part in parts for end in (part.low, part.high, part.difference)]
    differ = "; ".join(f"{run} ({metric}): F test that the groups differ, {p_said(p)}"
                       for (_, run, metric), p in parts.differ.items() if not math.isnan(p))  # fmt: skip
    return Plot("Differences by group", differ, Axis.over("difference", ends, signed=True, zero=True),
                Axis.of_names("", names), tuple(marks), parts._columns(),
                height=_AROUND + _ROW * len(parts))  # fmt: skip


def power(of: Difference, points: int = 120) -> Plot:
    """Power by the size of a true difference, with as many queries as there are."""
    far = 2.2 * of.detectable(0.8) if of.error else 1.0
    sizes = np.linspace(0, far, points).tolist()
    powers = [of.power(size) for size in sizes]
    name = f"{of.run} ({of.metric})"
    marks = (RefLine(0.8, "y"), Line(sizes, powers))
    return Plot(
        f"{name}: power with {of.queries:,} queries",
        f"Smallest detectable difference (80 % power): {of.detectable(0.8):.3g}.",
        Axis("true difference", 0, far),
        Axis("power", 0, 1.04),
        marks,
        {"difference": sizes, "power": powers},
        height=280,
    )


def detectable(of: Difference, points: int = 20) -> Plot:
    """The smallest detectable difference (80 % power) by the number of queries."""
    most = 4 * of.queries
    sizes = sorted(
        {max(round(most * 20 ** (at / points - 1)), 3) for at in range(points + 1)}
    )  # close where it is steep
    differences = [of.detectable(0.8, size) for size in sizes]
    marks = (RefLine(of.queries, label=f"now: {of.queries:,}"), Line(sizes, differences))
    return Plot(
        f"{of.run} ({of.metric}): detectable difference by sample size",
        f"Smallest detectable difference with {of.queries:,} queries (80 % power): {of.detectable(0.8):.3g}.",
        Axis("queries", 0, most, whole=True),
        Axis("detectable difference (80 % power)", 0, 1.04 * max(differences)),
        marks,
        {"queries": sizes, "difference": differences},
        height=280,
    )


def leaders(board: Leaderboard) -> Plot:
    """Means with their intervals, and the range of ranks of each run."""
    rows, columns = list(range(len(board))), board._columns()
    marks: list[Mark] = [
        Intervals(rows, columns["low"], columns["high"]),
        Dots(columns["mean"], rows, titles=[f"{entry.run}: {number(entry.mean)}" for entry in board]),
        TextMarks(rows, ["-".join(map(str, sorted({entry.best_rank, entry.worst_rank}))) for entry in board], "ranks"),
    ]
    axis = Axis.over(board.metric, [*columns["low"], *columns["high"]])
    sentence = f"Statistically tied for first: {', '.join(board.best)}."
    return Plot(f"Leaderboard by {board.metric}", sentence, axis, Axis.of_names("", columns["run"]), tuple(marks),
                columns, height=_AROUND + _ROW * len(board))  # fmt: skip


def by_cutoff(results: dict[str, Result], labels: Sequence[str], ks: Sequence[int], name: str) -> Plot:
    """A metric at every cutoff, one line per run."""
    series = {run: [result[label] for label in labels] for run, result in results.items()}
    several = len(series) > 1
    marks = [Line(list(ks), values, run if several else "", at) for at, (run, values) in enumerate(series.items())]
    if len(ks) == 1:
        marks += [Dots(list(ks), values, series=at) for at, values in enumerate(series.values())]  # type: ignore[misc]
    ends = "; ".join(f"{f'{run}: ' if run else ''}{number(values[0])} at {ks[0]}, {number(values[-1])} at {ks[-1]}"
                     for run, values in series.items())  # fmt: skip
    low, high = (ks[0], ks[-1]) if ks[-1] > ks[0] else (ks[0] - 1, ks[0] + 1)
    values = [value for several_values in series.values() for value in several_values]
    return Plot(f"{name} by cutoff", ends, Axis("k", low, high, whole=True), Axis.over(name, values), tuple(marks),
                {"k": list(ks), **series})  # fmt: skip


def difference_by_cutoff(differences: Sequence[Difference], ks: Sequence[int], name: str) -> Plot:
    """The difference of two runs at every cutoff, with its interval."""
    middle, low, high = columns_of(differences, "difference", "low", "high").values()
    return Plot(
        f"{name}: {differences[0].run} minus {differences[0].baseline}, by cutoff",
        f"{signed(middle[0])} at {ks[0]}, {signed(middle[-1])} at {ks[-1]}.",
        Axis("k", ks[0], ks[-1] if ks[-1] > ks[0] else ks[0] + 1, whole=True),
        Axis.over("difference", [*low, *middle, *high], signed=True, zero=True),
        (RefLine(0.0, "y", strong=True), Band(list(ks), low, high), Line(list(ks), middle)),
        {"k": list(ks), "difference": middle, "low": low, "high": high},
        height=240,
    )


def counts(of: Difference) -> str:
    """Numbers of queries that are better, equal and worse."""
    return f"{queries(of.wins)} better, {of.ties:,} same, {of.losses:,} worse"


def columns_of(records: Sequence[object], *names: str) -> dict[str, list[Any]]:
    """Fields of records as columns, by name."""
    return {name: [getattr(record, name) for record in records] for name in names}


def _tooltip(of: Difference) -> str:
    return (
        f"{of.run}, {of.metric}: {signed(of.difference)} ({signed(of.low)} {signed(of.high)}), {p_said(of.p)}, "
        f"adjusted {p_value(of.adjusted)}; {counts(of)}"
    )


# -- the kinds of a comparison, by name ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PlotKind:
    """A plot of a comparison."""

    words: str  # what it shows
    draw: Callable[[Comparison, tuple[str, ...], str | Groups], Plot]  # of runs and metrics, by groups of queries
    groups: bool = False  # requires groups of queries


KINDS: dict[str, PlotKind] = {
    "forest": PlotKind(
        "differences with their intervals", lambda of, key, by: forest(of._experiment, of._experiment.select(key))
    ),
    "queries": PlotKind("change per query, largest improvement first", lambda of, key, by: waterfall(of.queries(*key))),
    "scatter": PlotKind("both values per query", lambda of, key, by: scatter(of.queries(*key))),
    "slices": PlotKind("differences by group of queries", lambda of, key, by: slices(of.slices(by, *key)), groups=True),
    "power": PlotKind(
        "power, by the size of a true difference", lambda of, key, by: power(of._experiment.select_one(key))
    ),
    "leaderboard": PlotKind("means and ranges of ranks", lambda of, key, by: leaders(of.leaderboard(*key))),
}


def plot_of(comparison: Comparison, kind: str, key: tuple[str, ...], by: str | Groups | None) -> Plot:
    """A plot of a comparison by the name of its kind; key: runs and metrics, by: the group of each query."""
    if kind not in KINDS:
        raise InputError(
            f"unknown plot {kind!r}; choose from {', '.join(KINDS)}, or a metric by cutoff: ndcg@{{1..100}}"
        )
    if KINDS[kind].groups and by is None:
        raise InputError(f"{kind} need by=: the group of each query, or a column of the truth")
    return KINDS[kind].draw(comparison, key, {} if by is None else by)
