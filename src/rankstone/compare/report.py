"""HTML reports of a comparison or a result."""

from __future__ import annotations

import contextlib
import html
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from rankstone.compare import plot_kinds as plots
from rankstone.compare.breakdown import QueryChanges, changes_of, large_groups, leaderboard_of, slices_of
from rankstone.compare.caveats import general_caveats
from rankstone.compare.config import Rules, default_correction
from rankstone.compare.differences import Difference, Experiment
from rankstone.compare.summary import command_of, detectable_of, headline_of, method_of, split_convention
from rankstone.data.files import is_path
from rankstone.plots.marks import escape, escape_sentence, printable
from rankstone.plots.page import (
    Cell,
    box,
    bullets,
    figures,
    filter_box,
    fold,
    folds,
    grid,
    page,
    paragraph,
    rows_figure,
    small_figure,
    table,
    wide_figure,
)
from rankstone.results.answer import number, p_said, p_value, signed, verdict_of
from rankstone.results.export import as_json
from rankstone.results.reproduction import record_of, with_record
from rankstone.results.schema import stamp
from rankstone.version import __version__

if TYPE_CHECKING:
    from rankstone.plots.plot import Plot
    from rankstone.results.definition import Definition
    from rankstone.results.result import Result

_DEEPEST = 100  # cutoff of a curve
_CURVES = 3  # differences that have curves and powers of their own
_QUERY_ROWS, _FEWEST_ROWS = 300, 20  # of all tables of queries together, and of each
_EXPLAINED = 20  # queries of all tables together whose lists are explained
_ITEMS = 10  # of an explained list
_RUNS = 6  # with a table of queries
_GRID = 12  # rows and columns of the grid of verdicts
_ROOMY = 5  # columns of the grid, up to which cells have details
_FOREST = 24  # differences in the picture
_CAVEATS = 3  # that are seen at once
_DIGEST = 16  # letters of a digest


Section = tuple[str, str, str]


def report_of(data: Experiment, title: str | None = None) -> str:
    """The report of a comparison."""
    first = data.labels[0] if data.rules.primary is None else data.rules.primary[0]
    every = [of for of in data.differences if of.metric == first]
    selected = every[:_RUNS]
    sections = [
        ("differences", "All differences", _differences(data)),
        ("queries", f"Queries, by {first}", _queries(data, selected, len(every))),
        *(_cutoffs(data, first, selected[:_CURVES]) if data.machine is None else ()),
        *_slices(data),
        ("power", "Power", _power(selected[:_CURVES])),
        ("ties", "Ties and judgements", _ties_and_judgements(data)),
        *(
            [("leaderboard", "Leaderboard", _leaderboard(data, first))]
            if len(data.names) > 2 and data.machine is None
            else []
        ),
        ("definitions", "Definitions and provenance", _provenance_of(data) + _saved(data)),
    ]
    convention = " with ".join(filter(None, split_convention(data.definitions)))
    truth = None if data.origin is None else data.origin.truth
    file = os.path.basename(os.fspath(truth) if is_path(truth) else getattr(truth, "path", "") or "")
    subtitle = [
        date.today().isoformat(), file, method_of(data)[0], f"{convention} definitions", f"rankstone {__version__}",
    ]  # fmt: skip
    return page(title or _title(data), subtitle, _lead(data), sections)


def _title(data: Experiment) -> str:
    if data.baseline is None:
        return f"{', '.join(data.names[:4])}{' and more' * (len(data.names) > 4)}"
    others = [name for name in data.names if name != data.baseline]
    return f"{others[0] if len(others) == 1 else f'{len(others)} candidates'} vs. {data.baseline}"


# -- what is seen at once ------------------------------------------------------------------------------------


def _lead(data: Experiment) -> str:
    """The headline, the verdicts by run and metric, caveats, and the differences as a picture."""
    kinds = {look.kind for of in data.differences if (look := verdict_of(of.verdict))} & {"good", "bad"}
    return (
        box(" ".join(["lead", *(kinds if len(kinds) == 1 else ())]), paragraph(headline_of(data)))
        + _grid(data)
        + _caveats(data)
        + wide_figure(plots.forest(data, data.differences[:_FOREST]))
    )


def _grid(data: Experiment) -> str:
    """Runs (or pairs of runs) by metrics, each cell with its verdict."""
    labels, pairs = data.labels[:_GRID], data.pairs[:_GRID]
    is_roomy = len(labels) <= _ROOMY
    by_pair = {(of.baseline, of.run, of.metric): of for of in data.differences}
    rows: list[tuple[str, str, Sequence[Cell]]] = []
    if data.baseline is not None:
        at = data.names.index(data.baseline)
        means = [Cell(number(data.samples[label].means[at])) for label in labels]
        rows.append((data.baseline, "baseline", means))
    for first, second in pairs:
        baseline, run = data.names[first], data.names[second]
        cells = [_cell(by_pair[baseline, run, label], is_roomy) for label in labels]
        rows.append((run, "" if data.baseline is not None else f"vs. {baseline}", cells))
    arrows = {1: "", -1: " (lower is better)", 0: " (neither is better)"}
    head = ["run", *(f"{label}{arrows[data.directions[label]]}" for label in labels)]
    interval = f"{100 * data.rules.confidence:g} % interval{' at the adjusted level' * data.is_adjusted}"
    caption = f"Mean, difference, {interval}, {'adjusted ' * data.is_adjusted}p, verdict." if is_roomy else ""
    left_out = [f"{len(data.pairs) - _GRID} more pairs"] if len(data.pairs) > _GRID else []
    left_out += [f"{len(data.labels) - _GRID} more metrics"] if len(data.labels) > _GRID else []
    more = paragraph(f"{' and '.join(left_out)} under All differences.", "quiet") if left_out else ""
    return grid(head, rows, caption) + more


def _cell(of: Difference, is_roomy: bool) -> Cell:
    look = verdict_of(of.verdict)
    verdict = f"{look.mark} {of.verdict}" if look else of.verdict
    kind = look.kind if look else ""
    if not is_roomy:
        return Cell(number(of.second), signed(of.difference), (), verdict, kind)
    relative = "" if math.isnan(of.relative) else f" ({100 * of.relative:+.1f}%)"
    interval = _ends_said(*of.adjusted_interval)
    sure = [*([interval] if interval else []), *([p_said(of.adjusted)] if not math.isnan(of.adjusted) else [])]
    return Cell(number(of.second), signed(of.difference) + relative, sure, verdict, kind)


def _ends_said(low: float, high: float) -> str:
    return "unknown" if math.isinf(low) else f"{signed(low)} to {signed(high)}" if math.isfinite(low) else ""


def _caveats(data: Experiment) -> str:
    """The caveats, those of one kind as one; the others folded."""
    by_kind: dict[str, list[str]] = {}
    for of in data.differences:
        for caveat in of.caveats:
            by_kind.setdefault(caveat.code, []).append(f"{data.pair(of)} by {of.metric}: {caveat.sentence}")
    merged = [f"{lines[0]}{f' (and {len(lines) - 1} more)' if len(lines) > 1 else ''}" for lines in by_kind.values()]
    undecided = any(of.verdict == "inconclusive" for of in data.differences)
    lines = [*general_caveats(data), *merged, *(detectable_of(data) if undecided else [])]
    rest = [*lines[_CAVEATS:], *(line for several in by_kind.values() for line in several[1:])]
    if not lines:
        return ""
    heading = f"<b>Caveat{'s' * (len(lines) > 1)}</b>"
    return box("caveats", heading + bullets(lines[:_CAVEATS]) + (_folded(rest) if rest else ""))


def _folded(lines: Sequence[str]) -> str:
    return fold(f"{len(lines):,} more", bullets(lines[:200]))


# -- the parts -----------------------------------------------------------------------------------------------


def _pair(of: Difference) -> str:
    return f"{printable(of.run)} vs. {printable(of.baseline)}"


def _differences(data: Experiment) -> str:
    adjusted = data.is_adjusted
    intervals = ["interval, each alone", "adjusted interval"] if adjusted else ["interval"]
    than = [] if data.baseline is not None else ["than"]
    head = ["metric", "run", *than, "mean", "difference", *intervals, "p", "adjusted p",
            "better / same / worse", "verdict"]  # fmt: skip
    rows: list[list[Any]] = [head, *(
        [of.metric, of.run, *([of.baseline] if than else []), number(of.second), signed(of.difference),
         _ends_said(of.low, of.high), *([_ends_said(*of.adjusted_interval)] if adjusted else []),
         p_value(of.p), p_value(of.adjusted), f"{of.wins:,} / {of.ties:,} / {of.losses:,}", of.verdict]
        for of in data.differences
    )]  # fmt: skip
    listed = table(
        rows, (0, 1, *([2] if than else []), len(head) - 1), anchor="table-differences", caption="Differences of means"
    )
    return bullets(method_of(data)) + listed


def _queries(data: Experiment, differences: Sequence[Difference], many: int) -> str:
    most = max(_QUERY_ROWS // max(len(differences), 1), _FEWEST_ROWS)
    explained = _EXPLAINED // max(len(differences), 1)
    groups: dict[Any, Any] = {}
    if data.by is not None:
        groups = dict(zip(data.paired.queries, large_groups(data.groups(data.by)), strict=True))
    out = []
    for at, of in enumerate(differences):
        changes = changes_of(of)
        rows, less = _ends(list(changes), most), ""
        anchor, signs = f"table-queries-{at}", (3,) if of.direction > 0 else ()
        head = ["query", of.baseline, of.run, "change", *(["group"] if groups else [])]
        body = [head, *(
            [row.query, number(row.first), number(row.second), signed(row.change),
             *([groups[row.query]] if groups else [])]
            for row in rows
        )]  # fmt: skip
        if len(rows) < len(changes):
            less = paragraph(f"The {len(rows):,} of {len(changes):,} queries that changed most are in the table.")
        bars = small_figure(plots.waterfall(changes), anchor, len(changes))
        plots_html = figures(bars, small_figure(plots.scatter(changes), anchor))
        why = list(_explained(data, of, changes, explained, anchor))
        out.append(
            f"<h3>{escape_sentence(_pair(of))}</h3>{plots_html}{less}"
            f"{filter_box(anchor)}"
            f"{table(body, (0, 4), anchor=anchor, caption=f'Queries of {of.run}, by {of.metric}', signs=signs)}"
            f"{folds('Items that moved', why)}"
        )
    if len(differences) < many:
        out.append(
            paragraph(f"These are {len(differences)} of {many} pairs; comparison.queries() has the others.", "quiet")
        )
    return "".join(out)


def _ends(rows: Sequence[Any], most: int) -> Sequence[Any]:
    """All of them, or the first and the last."""
    return rows if len(rows) <= most else [*rows[: most // 2], *rows[-(most // 2) :]]


def _explained(data: Experiment, of: Difference, changes: QueryChanges, most: int, anchor: str) -> Iterator[str]:
    """The items that moved, for the queries that changed most."""
    if data.origin is None or not data.origin.explains(of.metric, of.baseline, of.run):
        return
    half, many = max(most // 2, 1), len(changes)
    for at in sorted({*range(half), *range(many - half, many)} & {*range(many)}):
        change = changes[at]
        if not change.change:
            continue
        cells = [row for row in change.explain()._answer().table if row]
        more = len(cells) - 1 - _ITEMS
        text = table(cells[: _ITEMS + 1], (0,), caption=f"Items of {change.query} that moved in {of.run}")
        text += paragraph(f"and {more:,} more rows", "quiet") if more > 0 else ""
        values = f"{number(change.first)} to {number(change.second)} ({signed(change.change)})"
        heading = f"{printable(change.query, 48)}: {values}"
        yield fold(heading, text, f"{anchor} {at - many if at >= half else at}")


def _cutoffs(data: Experiment, metric: str, differences: Sequence[Difference]) -> Iterator[Section]:
    """The metric at every cutoff, where the lists are available."""
    parsed = data.paired.first._measurement.plan(metric).metric
    if parsed.k is None:
        return
    cutoffs = _cutoffs_of(*(result for several in data.paired.systems.values() for result in several))
    labels = [str(parsed @ k) for k in cutoffs]
    try:
        deeper = data.with_metrics(labels)
    except ValueError:  # saved results have no lists, and seeds have several
        return
    name = str(parsed).rpartition("@")[0]
    lines = dict(list(deeper.single().items())[:_RUNS])
    plots_html = [plots.by_cutoff(lines, labels, cutoffs, name)]
    pairs = (deeper.select((of.baseline, of.run)) for of in differences)
    plots_html += [plots.difference_by_cutoff(several, cutoffs, name) for several in pairs]
    yield "cutoffs", f"{name} by cutoff", figures(*map(small_figure, plots_html))


def _cutoffs_of(*results: Result) -> list[int]:
    """Cutoffs as deep as the lists."""
    measured = [(result._measurement, next(iter(result))) for result in results if result._measurement.has_lists]
    depths = (one.aligned(one.plan(label)).ranked.deepest for one, label in measured)
    deepest = min(max(depths, default=_DEEPEST), _DEEPEST)
    return sorted({k for k in (*range(1, 10), *range(10, _DEEPEST + 1, 5)) if k <= deepest} | {max(deepest, 1)})


def _slices(data: Experiment) -> Iterator[Section]:
    if data.by is None:
        return
    slices = slices_of(data, data.groups(data.by), data.differences)
    answer = slices._answer()
    text = table(answer.table, (0, 1, 2), anchor="table-slices", caption="Differences by group",
                 links=answer.table[0].index("group"))  # fmt: skip
    yield "slices", "Groups of queries", rows_figure(plots.slices(slices)) + text + bullets(answer.notes)


def _power(differences: Sequence[Difference]) -> str:
    usable = [of for of in differences if of.error > 0 and of.queries > 1]
    if any(of.is_anytime for of in usable):
        return paragraph("Intervals hold at every look: there is no number of queries that power would be of.")
    if not usable:
        return paragraph("The runs do not differ, or there is only one query: power is not defined.")
    rows = [["run", "metric", "queries", "detectable difference (80 % power)", "queries for half of that"], *(
        [of.run, of.metric, f"{of.queries:,}", f"{of.detectable():.4f}", f"{of.sample_size(of.detectable() / 2):,}"]
        for of in usable
    )]  # fmt: skip
    plots_html = figures(*(small_figure(draw(of)) for of in usable for draw in (plots.power, plots.detectable)))
    return plots_html + table(rows, (0, 1), caption="Smallest detectable differences")


def _ties_and_judgements(data: Experiment) -> str:
    rows: list[list[Any]] = [["metric", "run", "than", "lowest", "highest"]]
    for of in data.differences:
        ends = data.paired.tie_ends(of.metric, of.baseline, of.run)
        if ends is not None:
            rows.append([of.metric, of.run, of.baseline, *map(signed, ends)])
    if len(rows) > 1:
        text = table(rows, (0, 1, 2), caption="Range of the difference over all orders of tied items")
    else:
        text = paragraph("The order of tied items changes no mean.")
    less_judged = {
        (caveat.sentence, of.run)
        for of in data.differences
        for caveat in of.caveats
        if caveat.code in ("judged", "missing")
    }
    lines = [f"{run}: {sentence}" for sentence, run in sorted(less_judged)]
    text += _judged_by_cutoff(data)
    return text + (bullets(lines) or paragraph("No run is judged less than its baseline, and none lacks queries."))


def _judged_by_cutoff(data: Experiment) -> str:
    """Judged rate of each run by cutoff, where the runs are available."""
    cutoffs = _cutoffs_of(*(result for several in data.paired.systems.values() for result in several))
    labels = [f"judged@{k}" for k in cutoffs]
    rates = None if data.origin is None else data.origin.judged(*labels)
    if not rates or any(len(several) > 1 for several in rates.values()):
        return ""
    results: dict[str, Result] = {name: several[0] for name, several in list(rates.items())[:_RUNS]}
    if not all(result._measurement.has_bad(labels[0]) for result in results.values()):
        return paragraph("The truth has relevant items only, so the judged rate equals precision.")
    if all(result[label] == 1 for result in results.values() for label in labels):
        return paragraph(f"All items at ranks 1 to {cutoffs[-1]} of all runs are judged.")
    return small_figure(plots.by_cutoff(results, labels, cutoffs, "judged"))


def _leaderboard(data: Experiment, metric: str) -> str:
    board = leaderboard_of(data, metric)
    answer = board._answer()
    return rows_figure(plots.leaders(board)) + table(answer.table, (1,), caption="Ranks") + bullets(answer.notes)


def _provenance_of(data: Experiment) -> str:
    keywords = [f"baseline={data.baseline!r}"] if data.baseline is not None else []
    defaults = Rules(correction=default_correction(data.baseline))
    for name in ("correction", "confidence", "margin", "primary", "seed", "resamples", "population", "test"):
        value = getattr(data.rules, name)
        if value != getattr(defaults, name):
            keywords.append(f"{name}={'...' if callable(value) else repr(value)}")
    used = {"by": data.by is not None, "clusters": data.paired.clusters is not None, "weights": data.is_weighted}
    keywords += [f"{name}=..." for name, is_used in used.items() if is_used]
    inputs = {} if data.origin is None else {name: several[0] for name, several in data.origin.runs.items()}
    runs = ", ".join(f"{printable(name)!r}: {_path(inputs.get(name), '...')}" for name in data.names)
    truth = _path(data.origin and data.origin.truth, "truth")
    words = [truth, f"{{{runs}}}", repr(list(data.labels)), *keywords, *_convention_keywords(data.definitions)]
    call = command_of(data) or f"rs.compare({', '.join(words)})"
    return _provenance(data.paired.systems, data.definitions, call, [*method_of(data), *detectable_of(data)])


def _path(side: object, other: str) -> str:
    return repr(os.fspath(side)) if is_path(side) else other


def _convention_keywords(definitions: Mapping[str, Definition]) -> list[str]:
    """The convention and the choices that differ from it, as keywords."""
    name, choices = split_convention(definitions)
    return [*([f"convention={name!r}"] if name != "rankstone" else []), *([choices] if choices else [])]


def _provenance(systems: Any, definitions: Any, call: str, lines: Sequence[str]) -> str:
    digests: list[list[Any]] = [["run", "digest of the truth", "digest of the run"]]
    for name, results in list(systems.items())[:_RUNS]:
        sides = [result._measurement.inputs for result in results]
        digests += [[name, *(str(inputs[side])[:_DIGEST] for side in ("truth", "run"))] for inputs in sides]
    cited = bullets(definition.cite for definition in definitions.values())
    return (
        f"{bullets(lines)}<h3>Definitions</h3>{cited}<h3>Reproduce this report</h3><pre>{escape(call, 4_000)}</pre>"
        f"{table(digests, (0, 1, 2), caption='Digests of the inputs')}"
        f"{paragraph(f'rankstone {__version__}', 'quiet')}"
    )


_NUMBERS = ("run", "baseline", "metric", "first", "second", "difference", "low", "high", "p", "adjusted", "verdict")


def _saved(data: Experiment) -> str:
    """The numbers of a comparison and how to compute them again."""
    rows = [{name: getattr(of, name) for name in _NUMBERS} for of in data.differences]
    return _embedded("comparison", {"runs": list(data.names), "differences": rows}, command_of(data))


def _embedded(kind: str, numbers: Mapping[str, object], command: str) -> str:
    """Plain data in a page, which shows nothing of it, for `rankstone verify`; empty if it cannot be computed again."""
    reproduce = record_of(command)
    text = as_json(with_record({**stamp(kind), **(numbers if reproduce else {})}, reproduce))
    return f'<template id="rankstone-data">{html.escape(text, quote=False)}</template>'


# -- one run -------------------------------------------------------------------------------------------------


def report_of_result(result: Result, title: str | None = None) -> str:
    """The report of a result."""
    name = result._name or "run"
    words = ["truth", "run", repr(list(result)), *_convention_keywords(result.definitions)]
    call = result._command or f"rs.evaluate({', '.join(words)})"
    names = ("means", "inputs", "versions", "convention", "choices")
    numbers = {"runs": {name: {key: value for key, value in result.to_dict().items() if key in names}}}
    provenance = _provenance({name: (result,)}, result.definitions, call, result.notes)
    sections = [
        ("queries", "Queries", _values(result)),
        ("definitions", "Definitions and provenance", provenance + _embedded("result", numbers, result._command)),
    ]
    subtitle = [date.today().isoformat(), f"rankstone {__version__}"]
    return page(title or f"Result of {name}", subtitle, _means(result) + _curves(result), sections)


def _means(result: Result) -> str:
    with_intervals = result if result._confidence is not None else result._with_intervals()
    return table(with_intervals._answer().table, (0,), caption="Means") + bullets(result.notes)


def _curves(result: Result) -> str:
    plots_html: list[Plot] = []
    first = next((label for label in result if result._measurement.plan(label).metric.k is not None), None)
    if first is not None:
        parsed = result._measurement.plan(first).metric
        try:
            cutoffs = _cutoffs_of(result)
            labels = [str(parsed @ k) for k in cutoffs]
            name = str(parsed).rpartition("@")[0]
            plots_html.append(plots.by_cutoff({"": result._more(labels)}, labels, cutoffs, name))
        except ValueError:  # a saved result has no lists
            pass
    with contextlib.suppress(ValueError):
        plots_html.append(result.plot("precision-recall"))
    return figures(*map(small_figure, plots_html)) if plots_html else ""


def _values(result: Result) -> str:
    values = {label: result.per_query[label] for label in result}
    first = next(iter(values.values()))
    order = sorted(range(len(first)), key=lambda at: (math.isnan(first[at]), first[at]))
    positions, less = _ends(order, _QUERY_ROWS), ""
    if len(positions) < len(order):
        less = paragraph(f"{len(positions):,} of {len(order):,} queries: the lowest and the highest.")
    rows: list[list[Any]] = [["query", *values]]
    for at in positions:
        cells = ("" if math.isnan(column[at]) else number(float(column[at])) for column in values.values())
        rows.append([result.queries[at], *cells])
    return less + filter_box("table-values") + table(rows, (0,), anchor="table-values", caption="Values per query")
