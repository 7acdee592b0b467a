"""Which pictures answers have: the numbers of a comparison or a result, as marks; those of a comparison in `KINDS`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.plots.marks import Axis, Band, Bars, Dots, Line, Mark, Notes, Rule, Spans, Zone
from rankstone.plots.plot import Plot, counted
from rankstone.results.answer import number, p_said, p_value, queries, signed

if TYPE_CHECKING:
    from rankstone.compare.breakdown import Changes, Leaderboard, Slices
    from rankstone.compare.comparison import Comparison
    from rankstone.compare.config import Groups
    from rankstone.compare.differences import Difference, Experiment
    from rankstone.results.result import Result

MOST_BARS = 2_000
_ROW, _AROUND = 24, 78  # pixels of a row, and around all of them


def forest(data: Experiment, wanted: Sequence[Difference]) -> Plot:
    """Differences with their intervals: thick by itself, thin for all of them together."""
    together = 1 - data.rules.level / max(sum(bool(of.verdict) for of in data.differences), 1)
    several = len(data.labels) > 1
    names = [(f"{of.metric}, " if several else "") + data.pair(of) for of in wanted]
    wide = [of.interval(together) if math.isfinite(of.low) else (of.low, of.high) for of in wanted]
    rows, outer_low, outer_high = list(range(len(wanted))), [low for low, _ in wide], [high for _, high in wide]
    columns = columns_of(wanted, "run", "baseline", "metric", "difference", "low", "high")
    columns |= {"simultaneous_low": outer_low, "simultaneous_high": outer_high, **columns_of(wanted, "verdict")}
    margins = {data.rules.margin_of(of.metric) for of in wanted} - {None}
    margin = margins.pop() if len(margins) == 1 else None
    marks: list[Mark] = [
        *([Zone(-margin, margin)] if margin else []),
        Rule(0.0, strong=True),
        Spans(rows, outer_low, outer_high, thick=False),
        Spans(rows, columns["low"], columns["high"]),
        Dots(columns["difference"], rows, titles=[_told(of) for of in wanted], series=0),
        Notes(rows, columns["verdict"]),
    ]
    ends = [*(end for pair in wide for end in pair), *columns["difference"], *((-margin, margin) if margin else ())]
    axis = Axis.over("difference, in the metric's unit", ends, signed=True, zero=True)
    sentence = "; ".join(f"{name}: {signed(of.difference)}, {of.verdict or 'no verdict'}"
                         for name, of in zip(names, wanted, strict=True))  # fmt: skip
    return Plot("Differences and their intervals", sentence, axis, Axis.of_names("", names), tuple(marks), columns,
                height=_AROUND + _ROW * len(wanted))  # fmt: skip


def waterfall(changes: Changes) -> Plot:
    """The change of each query, the most won first; of very many, those side by side are one bar."""
    of = changes.difference
    values = np.array([change.change for change in changes])
    titles = [f"{change.query}: {number(change.first)} to {number(change.second)}" for change in changes]
    if len(values) > MOST_BARS:
        parts = np.array_split(values, MOST_BARS)
        values = np.array([part.mean() for part in parts])
        titles = [f"{queries(len(part))}, mean change {signed(float(part.mean()))}" for part in parts]
    bars = Bars(list(range(len(values))), values.tolist(), titles=titles)
    return Plot(
        f"{of.metric}: change of each query, {of.run} less {of.baseline}",
        f"{counts(of)}.",
        Axis("queries, the most won first", -0.5, max(len(values) - 0.5, 0.5), whole=True),
        Axis.over("change", values.tolist(), signed=True, zero=True),
        (Rule(0.0, "y", strong=True), bars),
        changes._columns(),
    )


def scatter(changes: Changes) -> Plot:
    """The baseline's value of each query, and the run's."""
    of = changes.difference
    first, second = ([getattr(change, side) for change in changes] for side in ("first", "second"))
    x, y, many, places = counted(first, second)
    titles = [f"{changes[at].query if n == 1 else queries(n)}: {number(a)} to {number(b)}"
              for a, b, n, at in zip(x, y, many, places, strict=True)]  # fmt: skip
    axis = Axis.over(f"{of.metric} of {of.baseline}", [*first, *second])
    return Plot(
        f"{of.metric}: both values of each query",
        f"Above the line {of.run} is higher, below it {of.baseline}. {counts(of)}.",
        axis,
        Axis(f"{of.metric} of {of.run}", axis.low, axis.high),
        (Rule(axis="both"), Dots(x, y, many, titles, hollow=True)),
        changes._columns(),
        height=440,
        width=480,
    )


def slices(found: Slices) -> Plot:
    """Differences by group of queries."""
    several = len({(one.metric, one.run, one.baseline) for one in found}) > 1
    rows = list(range(len(found)))
    names = [f"{one.group}{f', {one.run} ({one.metric})' if several else ''}" for one in found]
    marks: list[Mark] = [Rule(0.0, strong=True), Notes(rows, [f"{one.queries:,}" for one in found], "queries")]
    for series, is_small in ((0, False), (6, True)):
        some = [(row, one) for row, one in zip(rows, found, strict=True) if one.is_small == is_small]
        if some:
            at, parts = [row for row, _ in some], columns_of([one for _, one in some], "low", "high", "difference")
            titles = [f"{one.group}: {signed(one.difference)}, {p_said(one.p)}" for _, one in some]
            marks += [
                Spans(at, parts["low"], parts["high"], series=series),
                Dots(parts["difference"], at, series=series, hollow=is_small, titles=titles),
            ]
    ends = [end for one in found for end in (one.low, one.high, one.difference)]
    differ = "; ".join(f"{run} ({metric}): groups that do not differ would look so unlike with {p_said(p)}"
                       for (_, run, metric), p in found.differ.items() if not math.isnan(p))  # fmt: skip
    return Plot("Differences by group", differ, Axis.over("difference", ends, signed=True, zero=True),
                Axis.of_names("", names), tuple(marks), found._columns(),
                height=_AROUND + _ROW * len(found))  # fmt: skip


def power(of: Difference, points: int = 120) -> Plot:
    """How often a true difference of each size would be found with these queries."""
    far = max(2.2 * of.detectable(0.8), 1.2 * abs(of.difference)) if of.error else 1.0
    sizes = np.linspace(0, far, points).tolist()
    found = [of.power(size) for size in sizes]
    name = f"{of.run} ({of.metric})"
    marks = (
        Rule(0.8, "y"),
        Rule(abs(of.difference), label=f"found: {abs(of.difference):.3g}"),
        Line(sizes, found),
    )
    return Plot(
        f"{name}: what {of.queries:,} queries would find",
        f"A true difference of {of.detectable(0.8):.3g} would be found in 80 of 100 such samples.",
        Axis("true difference", 0, far),
        Axis("found how often", 0, 1.04),
        marks,
        {"difference": sizes, "power": found},
        height=280,
    )


def detectable(of: Difference, points: int = 20) -> Plot:
    """The difference that would be found in 80 of 100 samples, by how many queries there are."""
    most = 4 * of.queries
    sizes = sorted(
        {max(round(most * 20 ** (at / points - 1)), 3) for at in range(points + 1)}
    )  # close where it is steep
    found = [of.detectable(0.8, size) for size in sizes]
    marks = (Rule(of.queries, label=f"these {of.queries:,}"), Rule(abs(of.difference), "y"), Line(sizes, found))
    enough = f"{of.needed(of.difference):,} would find the difference of these" if of.difference else ""
    return Plot(
        f"{of.run} ({of.metric}): queries needed",
        f"{of.queries:,} queries find {of.detectable(0.8):.3g} in 80 of 100 samples{'; ' * bool(enough)}{enough}.",
        Axis("queries", 0, most, whole=True),
        Axis("true difference found in 80 of 100", 0, 1.04 * max(*found, abs(of.difference))),
        marks,
        {"queries": sizes, "difference": found},
        height=280,
    )


def leaders(board: Leaderboard) -> Plot:
    """Means with their intervals, and the ranks that each run may have."""
    rows, columns = list(range(len(board))), board._columns()
    marks: list[Mark] = [
        Spans(rows, columns["low"], columns["high"]),
        Dots(columns["mean"], rows, titles=[f"{place.run}: {number(place.mean)}" for place in board]),
        Notes(rows, [f"{place.best_rank}-{place.worst_rank}{' *' * place.with_the_best}" for place in board], "ranks"),
    ]
    axis = Axis.over(board.metric, [*columns["low"], *columns["high"]])
    sentence = f"Not to be told from the best: {', '.join(board.best)}."
    return Plot(f"Leaderboard by {board.metric}", sentence, axis, Axis.of_names("", columns["run"]), tuple(marks),
                columns, height=_AROUND + _ROW * len(board))  # fmt: skip


def by_cutoff(results: dict[str, Result], labels: Sequence[str], ks: Sequence[int], name: str) -> Plot:
    """A metric at every cutoff, a line a run."""
    series = {run: [result[label] for label in labels] for run, result in results.items()}
    several = len(series) > 1
    marks = [Line(list(ks), values, run if several else "", at) for at, (run, values) in enumerate(series.items())]
    if len(ks) == 1:
        marks += [Dots(list(ks), values, series=at) for at, values in enumerate(series.values())]  # type: ignore[misc]
    ends = "; ".join(f"{f'{run}: ' if run else ''}{number(values[0])} at {ks[0]}, {number(values[-1])} at {ks[-1]}"
                     for run, values in series.items())  # fmt: skip
    low, high = (ks[0], ks[-1]) if ks[-1] > ks[0] else (ks[0] - 1, ks[0] + 1)
    values = [value for some in series.values() for value in some]
    return Plot(f"{name} by cutoff", ends, Axis("k", low, high), Axis.over(name, values), tuple(marks),
                {"k": list(ks), **series})  # fmt: skip


def difference_by_cutoff(differences: Sequence[Difference], ks: Sequence[int], name: str) -> Plot:
    """The difference of two runs at every cutoff, with its interval."""
    middle, low, high = columns_of(differences, "difference", "low", "high").values()
    return Plot(
        f"{name}: {differences[0].run} less {differences[0].baseline}, by cutoff",
        f"{signed(middle[0])} at {ks[0]}, {signed(middle[-1])} at {ks[-1]}.",
        Axis("k", ks[0], ks[-1] if ks[-1] > ks[0] else ks[0] + 1),
        Axis.over("difference", [*low, *middle, *high], signed=True, zero=True),
        (Rule(0.0, "y", strong=True), Band(list(ks), low, high), Line(list(ks), middle)),
        {"k": list(ks), "difference": middle, "low": low, "high": high},
        height=240,
    )


def counts(of: Difference) -> str:
    """How many queries it wins, in words."""
    return f"{queries(of.wins)} better, {of.ties:,} same, {of.losses:,} worse"


def columns_of(records: Sequence[object], *names: str) -> dict[str, list[Any]]:
    """Some fields of records, by name."""
    return {name: [getattr(one, name) for one in records] for name in names}


def _told(of: Difference) -> str:
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
    groups: bool = False  # needs each query's group


KINDS: dict[str, PlotKind] = {
    "forest": PlotKind(
        "differences with their intervals", lambda of, key, by: forest(of.experiment, of.experiment.select(key))
    ),
    "queries": PlotKind("change of each query, most won first", lambda of, key, by: waterfall(of.queries(*key))),
    "scatter": PlotKind("both values of each query", lambda of, key, by: scatter(of.queries(*key))),
    "slices": PlotKind("differences by group of queries", lambda of, key, by: slices(of.slices(by, *key)), groups=True),
    "power": PlotKind(
        "power, by the size of a true difference", lambda of, key, by: power(of.experiment.select_one(key))
    ),
    "leaderboard": PlotKind("means, and the ranks possible", lambda of, key, by: leaders(of.leaderboard(*key))),
}


def plot_of(comparison: Comparison, kind: str, key: tuple[str, ...], by: str | Groups | None) -> Plot:
    """A plot of a comparison by the name of its kind; key: of these runs and metrics, by: each query's group."""
    if kind not in KINDS:
        raise ValueError(
            f"unknown plot {kind!r}; choose from {', '.join(KINDS)}, or a metric by cutoff: ndcg@{{1..100}}"
        )
    if KINDS[kind].groups and by is None:
        raise ValueError(f"{kind} need by=: each query's group, or a column of the truth")
    return KINDS[kind].draw(comparison, key, {} if by is None else by)
