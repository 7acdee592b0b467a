"""HTML reports of a comparison or a result."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankstone.compare import plot_kinds as plots
from rankstone.compare.breakdown import QueryChanges, changes_of, large_groups, leaderboard_of, slices_of
from rankstone.compare.caveats import general_caveats
from rankstone.compare.config import Rules, default_correction
from rankstone.compare.differences import Difference, Experiment
from rankstone.compare.summary import detectable_of, method_of, split_convention
from rankstone.plots.marks import escape, escape_sentence, printable
from rankstone.plots.page import (
    bullets,
    figures,
    filter_box,
    fold,
    folds,
    page,
    paragraph,
    rows_figure,
    small_figure,
    table,
)
from rankstone.results.answer import number, p_said, p_value, signed
from rankstone.version import __version__

if TYPE_CHECKING:
    from rankstone.plots.plot import Plot
    from rankstone.results.definition import Definition
    from rankstone.results.result import Result

_CUTOFFS = [*range(1, 10), *range(10, 101, 5)]  # of a curve
_CURVES = 3  # differences that have curves and powers of their own
_QUERY_ROWS, _FEWEST_ROWS = 420, 20  # of all tables of queries together, and of each
_EXPLAINED = 40  # queries of all tables together whose lists are explained
_ITEMS = 10  # of an explained list
_RUNS = 7  # with a table of queries


Section = tuple[str, str, str]


def report_of(data: Experiment) -> str:
    """The report of a comparison."""
    first = data.labels[0] if data.rules.primary is None else data.rules.primary[0]
    every = [of for of in data.differences if of.metric == first]
    selected = every[:_RUNS]
    sections = [
        ("answer", "Verdicts", _answer(data)),
        ("differences", "Differences", _differences(data)),
        ("queries", f"Queries, by {first}", _queries(data, selected, len(every))),
        *_cutoffs(data, first, selected[:_CURVES]),
        *_slices(data),
        ("power", "Power", _power(selected[:_CURVES])),
        ("ties", "Ties and judgements", _ties_and_judgements(data)),
        *([("leaderboard", "Leaderboard", _leaderboard(data, first))] if len(data.names) > 2 else []),
        ("definitions", "Definitions and provenance", _provenance_of(data)),
    ]
    return page(f"Comparison of {', '.join(data.names[:4])}{' and more' * (len(data.names) > 4)}", sections)


# -- the parts -----------------------------------------------------------------------------------------------


def _answer(data: Experiment) -> str:
    lines = [sentence_of(of) for of in data.differences if of.verdict]
    more = paragraph(f"and {len(lines) - 60:,} more in the table below") if len(lines) > 60 else ""
    caveats = general_caveats(data) + [
        f"{_pair(of)} by {of.metric} [{caveat.code}]: {caveat.sentence}"
        for of in data.differences
        for caveat in of.caveats
    ]
    if not caveats:
        return bullets(lines[:60]) + more
    rest = fold(f"{len(caveats) - 20:,} more", bullets(caveats[20:200])) if len(caveats) > 20 else ""
    return f"{bullets(lines[:60])}{more}<h3>Caveats</h3>{bullets(caveats[:20])}{rest}"


def sentence_of(of: Difference) -> str:
    """The verdict of one difference in a sentence."""
    run, baseline = printable(of.run), printable(of.baseline)
    verdict = {
        "better": f"is better than {baseline}", "worse": f"is worse than {baseline}",
        "higher": f"is higher than {baseline}", "lower": f"is lower than {baseline}",
    }.get(of.verdict, f"and {baseline}: {of.verdict}")  # fmt: skip
    ends = f", interval {signed(of.low)} to {signed(of.high)}" if math.isfinite(of.low) else ""
    sure = f", adjusted {p_said(of.adjusted)}" if not math.isnan(of.adjusted) else ""
    return f"{run} {verdict} by {of.metric}: {signed(of.difference)}{ends}{sure}; {plots.counts(of)}"


def _pair(of: Difference) -> str:
    return f"{printable(of.run)} against {printable(of.baseline)}"


def _differences(data: Experiment) -> str:
    head = ["metric", "run", "than", "mean", "difference", "relative", "from", "to", "p", "adjusted", "better", "same",
            "worse", "verdict"]  # fmt: skip
    rows: list[list[Any]] = [head, *(
        [of.metric, of.run, of.baseline, number(of.second), signed(of.difference),
         "" if math.isnan(of.relative) else f"{100 * of.relative:+.1f} %",
         *(("unknown", "unknown") if math.isinf(of.low) else (signed(of.low), signed(of.high))),
         p_value(of.p), p_value(of.adjusted), of.wins, of.ties, of.losses, of.verdict]
        for of in data.differences
    )]  # fmt: skip
    plots_html = rows_figure(plots.forest(data, data.differences[:60]))
    listed = table(rows, (0, 1, 2, 13), anchor="table-differences", caption="Differences of means")
    return f"{bullets(method_of(data))}{plots_html}{listed}"


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
    labels = [str(parsed @ k) for k in _CUTOFFS]
    try:
        deeper = data.with_metrics(labels)
    except ValueError:  # saved results have no lists, and seeds have several
        return
    name = str(parsed).rpartition("@")[0]
    lines = dict(list(deeper.single().items())[:_RUNS])
    plots_html = [plots.by_cutoff(lines, labels, _CUTOFFS, name)]
    pairs = (deeper.select((of.baseline, of.run)) for of in differences)
    plots_html += [plots.difference_by_cutoff(several, _CUTOFFS, name) for several in pairs]
    yield "cutoffs", f"{name} by cutoff", figures(*map(small_figure, plots_html))


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
    labels = [f"judged@{k}" for k in _CUTOFFS]
    rates = None if data.origin is None else data.origin.judged(*labels)
    if not rates or any(len(several) > 1 for several in rates.values()):
        return ""
    results: dict[str, Result] = {name: several[0] for name, several in list(rates.items())[:_RUNS]}
    if not all(result._measurement.has_bad(labels[0]) for result in results.values()):
        return paragraph("The truth has relevant items only, so the judged rate equals precision.")
    if all(result[label] == 1 for result in results.values() for label in labels):
        return paragraph("All items at ranks 1 to 100 of all runs are judged.")
    return small_figure(plots.by_cutoff(results, labels, _CUTOFFS, "judged"))


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
    runs = "{" + ", ".join(f"{printable(name)!r}: ..." for name in data.names) + "}"
    words = ["truth", runs, repr(list(data.labels)), *keywords, *_convention_keywords(data.definitions)]
    call = data.command or f"rs.compare({', '.join(words)})"
    return _provenance(data.paired.systems, data.definitions, call, [*method_of(data), *detectable_of(data)])


def _convention_keywords(definitions: Mapping[str, Definition]) -> list[str]:
    """The convention and the choices that differ from it, as keywords."""
    name, choices = split_convention(definitions)
    return [*([f"convention={name!r}"] if name != "rankstone" else []), *([choices] if choices else [])]


def _provenance(systems: Any, definitions: Any, call: str, lines: Sequence[str]) -> str:
    digests: list[list[Any]] = [["run", "digest of the truth", "digest of the run"]]
    for name, results in list(systems.items())[:_RUNS]:
        digests += [
            [name, result._measurement.inputs["truth"], result._measurement.inputs["run"]] for result in results
        ]
    cited = bullets(definition.cite for definition in definitions.values())
    return (
        f"{bullets(lines)}<h3>Definitions</h3>{cited}<h3>Reproduce this report</h3><pre>{escape(call, 4_000)}</pre>"
        f"{table(digests, (0, 1, 2), caption='Digests of the inputs')}"
        f"{paragraph(f'rankstone {__version__}', 'quiet')}"
    )


# -- one run -------------------------------------------------------------------------------------------------


def report_of_result(result: Result) -> str:
    """The report of a result."""
    sections: list[Section] = [("means", "Means", _means(result)), *_deeper(result)]
    sections.append(("queries", "Queries", _values(result)))
    name = result._name or "run"
    call = f"rs.evaluate({', '.join(['truth', 'run', repr(list(result)), *_convention_keywords(result.definitions)])})"
    provenance = _provenance({name: (result,)}, result.definitions, call, result.notes)
    return page(f"Result of {name}", [*sections, ("definitions", "Definitions and provenance", provenance)])


def _means(result: Result) -> str:
    with_intervals = result if result._confidence is not None else result._with_intervals()
    return table(with_intervals._answer().table, (0,), caption="Means") + bullets(result.notes)


def _deeper(result: Result) -> Iterator[Section]:
    plots_html: list[Plot] = []
    first = next((label for label in result if result._measurement.plan(label).metric.k is not None), None)
    if first is not None:
        parsed = result._measurement.plan(first).metric
        try:
            labels = [str(parsed @ k) for k in _CUTOFFS]
            name = str(parsed).rpartition("@")[0]
            plots_html.append(plots.by_cutoff({"": result._more(labels)}, labels, _CUTOFFS, name))
        except ValueError:  # a saved result has no lists
            pass
    with contextlib.suppress(ValueError):
        plots_html.append(result.plot("precision-recall"))
    if plots_html:
        yield "curves", "Curves", figures(*map(small_figure, plots_html))


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
