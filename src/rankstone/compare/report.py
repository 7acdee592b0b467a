"""The report: a comparison or a result as one page to look at."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankstone.compare import plot_kinds as plots
from rankstone.compare.breakdown import Changes, changes_of, large_groups, leaderboard_of, slices_of
from rankstone.compare.caveats import general_caveats
from rankstone.compare.config import Rules, default_correction
from rankstone.compare.differences import Difference, Experiment
from rankstone.compare.summary import detectable_of, method_of
from rankstone.plots.marks import prose, safe
from rankstone.plots.marks import shown as visible
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
_RUNS = 7  # whose queries are shown


Section = tuple[str, str, str]


def report_of(data: Experiment) -> str:
    """The page of a comparison."""
    first = data.labels[0] if data.rules.primary is None else data.rules.primary[0]
    every = [of for of in data.differences if of.metric == first]
    shown = every[:_RUNS]
    sections = [
        ("answer", "The answer", _answer(data)),
        ("differences", "Differences", _differences(data)),
        ("queries", f"Queries, by {first}", _queries(data, shown, len(every))),
        *_cutoffs(data, first, shown[:_CURVES]),
        *_slices(data),
        ("power", "What would have been found", _power(shown[:_CURVES])),
        ("doubts", "Ties and judgements", _ties_and_judgements(data)),
        *([("leaderboard", "Leaderboard", _leaderboard(data, first))] if len(data.names) > 2 else []),
        ("definitions", "How this was made", _made(data)),
    ]
    return page(f"Comparison of {', '.join(data.names[:4])}{' and more' * (len(data.names) > 4)}", sections)


# -- the parts -----------------------------------------------------------------------------------------------


def _answer(data: Experiment) -> str:
    lines = [sentence_of(of) for of in data.differences if of.verdict]
    more = paragraph(f"and {len(lines) - 60:,} more in the table below") if len(lines) > 60 else ""
    caveats = general_caveats(data) + [
        f"{_pair(of)} by {of.metric} [{caveat.code}]: {caveat.sentence}"
        for of in data.differences
        for caveat in of.warnings
    ]
    if not caveats:
        return bullets(lines[:60]) + more
    rest = fold(f"{len(caveats) - 20:,} more", bullets(caveats[20:200])) if len(caveats) > 20 else ""
    return f"{bullets(lines[:60])}{more}<h3>Before you believe it</h3>{bullets(caveats[:20])}{rest}"


def sentence_of(of: Difference) -> str:
    """The answer about one run and one metric."""
    run, baseline = visible(of.run), visible(of.baseline)
    verdict = {
        "better": f"is better than {baseline}", "worse": f"is worse than {baseline}",
        "higher": f"is higher than {baseline}", "lower": f"is lower than {baseline}",
    }.get(of.verdict, f"and {baseline}: {of.verdict}")  # fmt: skip
    ends = f", interval {signed(of.low)} to {signed(of.high)}" if math.isfinite(of.low) else ""
    sure = f", adjusted {p_said(of.adjusted)}" if not math.isnan(of.adjusted) else ""
    return f"{run} {verdict} by {of.metric}: {signed(of.difference)}{ends}{sure}; {plots.counts(of)}"


def _pair(of: Difference) -> str:
    return f"{visible(of.run)} against {visible(of.baseline)}"


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
    pictures = rows_figure(plots.forest(data, data.differences[:60]))
    listed = table(rows, (0, 1, 2, 13), anchor="table-differences", caption="Differences of means")
    return f"{bullets(method_of(data))}{pictures}{listed}"


def _queries(data: Experiment, shown: Sequence[Difference], many: int) -> str:
    most = max(_QUERY_ROWS // max(len(shown), 1), _FEWEST_ROWS)
    explained = _EXPLAINED // max(len(shown), 1)
    groups: dict[Any, Any] = {}
    if data.by is not None:
        groups = dict(zip(data.paired.queries, large_groups(data.groups(data.by)), strict=True))
    out = []
    for at, of in enumerate(shown):
        changes = changes_of(of)
        kept, less = _ends(changes.records, most), ""
        anchor, signs = f"table-queries-{at}", (3,) if of.direction > 0 else ()
        head = ["query", of.baseline, of.run, "change", *(["group"] if groups else [])]
        body = [head, *(
            [one.query, number(one.first), number(one.second), signed(one.change),
             *([groups[one.query]] if groups else [])]
            for one in kept
        )]  # fmt: skip
        if len(kept) < len(changes):
            less = paragraph(f"The {len(kept):,} of {len(changes):,} queries that changed most are in the table.")
        bars = small_figure(plots.waterfall(changes), anchor, len(changes))
        pictures = figures(bars, small_figure(plots.scatter(changes), anchor))
        why = list(_explained(data, of, changes, explained, anchor))
        out.append(
            f"<h3>{prose(_pair(of))}</h3>{pictures}{less}"
            f"{filter_box(anchor)}"
            f"{table(body, (0, 4), anchor=anchor, caption=f'Queries of {of.run}, by {of.metric}', signs=signs)}"
            f"{folds('Why: the items that moved', why)}"
        )
    if len(shown) < many:
        out.append(paragraph(f"These are {len(shown)} of {many} pairs; comparison.queries() has the others.", "quiet"))
    return "".join(out)


def _ends(rows: Sequence[Any], most: int) -> Sequence[Any]:
    """All of them, or the first and the last."""
    return rows if len(rows) <= most else [*rows[: most // 2], *rows[-(most // 2) :]]


def _explained(data: Experiment, of: Difference, changes: Changes, most: int, anchor: str) -> Iterator[str]:
    """Both lists of the queries that changed most."""
    if data.origin is None or not data.origin.explains(of.metric, of.baseline, of.run):
        return
    half, many = max(most // 2, 1), len(changes)
    for at in sorted({*range(half), *range(many - half, many)} & {*range(many)}):
        one = changes[at]
        if not one.change:
            continue
        cells = [row for row in one.explain().answer().table if row]
        more = len(cells) - 1 - _ITEMS
        text = table(cells[: _ITEMS + 1], (0,), caption=f"Items of {one.query} that moved in {of.run}")
        text += paragraph(f"and {more:,} more rows", "quiet") if more > 0 else ""
        said = f"{visible(one.query, 48)}: {number(one.first)} to {number(one.second)} ({signed(one.change)})"
        yield fold(said, text, f"{anchor} {at - many if at >= half else at}")


def _cutoffs(data: Experiment, metric: str, shown: Sequence[Difference]) -> Iterator[Section]:
    """The metric at every cutoff, where the lists are at hand."""
    parsed = data.paired.first.plan_of(metric).metric
    if parsed.k is None:
        return
    labels = [str(parsed @ k) for k in _CUTOFFS]
    try:
        deeper = data.with_metrics(labels)
    except ValueError:  # results that were saved have no lists, and several seeds no one list
        return
    name = str(parsed).rpartition("@")[0]
    lines = dict(list(deeper.single().items())[:_RUNS])
    pictures = [plots.by_cutoff(lines, labels, _CUTOFFS, name)]
    pairs = (deeper.select((of.baseline, of.run)) for of in shown)
    pictures += [plots.difference_by_cutoff(several, _CUTOFFS, name) for several in pairs]
    yield "cutoffs", f"{name} by cutoff", figures(*map(small_figure, pictures))


def _slices(data: Experiment) -> Iterator[Section]:
    if data.by is None:
        return
    found = slices_of(data, data.groups(data.by), data.differences)
    answer = found.answer()
    text = table(answer.table, (0, 1, 2), anchor="table-slices", caption="Differences by group",
                 links=answer.table[0].index("group"))  # fmt: skip
    yield "slices", "Groups of queries", rows_figure(plots.slices(found)) + text + bullets(answer.notes)


def _power(shown: Sequence[Difference]) -> str:
    usable = [of for of in shown if of.error > 0 and of.queries > 1]
    if not usable:
        return paragraph("The runs do not differ, or there is one query only: nothing can be said.")
    rows = [["run", "metric", "queries", "found in 80 of 100", "needed for half of that"], *(
        [of.run, of.metric, f"{of.queries:,}", f"{of.detectable():.4f}", f"{of.needed(of.detectable() / 2):,}"]
        for of in usable
    )]  # fmt: skip
    pictures = figures(*(small_figure(draw(of)) for of in usable for draw in (plots.power, plots.detectable)))
    return pictures + table(rows, (0, 1), caption="Differences that would be found")


def _ties_and_judgements(data: Experiment) -> str:
    rows: list[list[Any]] = [["metric", "run", "than", "lowest", "highest"]]
    for of in data.differences:
        ends = data.paired.tie_ends(of.metric, of.baseline, of.run)
        if ends is not None:
            rows.append([of.metric, of.run, of.baseline, *map(signed, ends)])
    if len(rows) > 1:
        text = table(rows, (0, 1, 2), caption="Differences that other orders of tied items would make")
    else:
        text = paragraph("No order of tied items changes a mean.")
    less_judged = {
        (caveat.sentence, of.run)
        for of in data.differences
        for caveat in of.warnings
        if caveat.code in ("judged", "missing")
    }
    lines = [f"{run}: {sentence}" for sentence, run in sorted(less_judged)]
    text += _judged_by_cutoff(data)
    return text + (bullets(lines) or paragraph("No run is judged less than its baseline, or lacks queries."))


def _judged_by_cutoff(data: Experiment) -> str:
    """How much of each run's lists is judged, where the runs are at hand and there is anything to tell."""
    labels = [f"judged@{k}" for k in _CUTOFFS]
    found = None if data.origin is None else data.origin.judged(*labels)
    if not found or any(len(several) > 1 for several in found.values()):
        return ""
    results: dict[str, Result] = {name: several[0] for name, several in list(found.items())[:_RUNS]}
    if not all(result.has_bad(labels[0]) for result in results.values()):
        return paragraph("The truth names relevant items only, so how much is judged tells nothing else.")
    if all(result[label] == 1 for result in results.values() for label in labels):
        return paragraph("Every item that the runs returned, down to the hundredth place, is judged.")
    return small_figure(plots.by_cutoff(results, labels, _CUTOFFS, "judged"))


def _leaderboard(data: Experiment, metric: str) -> str:
    board = leaderboard_of(data, metric)
    answer = board.answer()
    return rows_figure(plots.leaders(board)) + table(answer.table, (1,), caption="Ranks") + bullets(answer.notes)


def _made(data: Experiment) -> str:
    keywords = [f"baseline={data.baseline!r}"] if data.baseline is not None else []
    defaults = Rules(correction=default_correction(data.baseline))
    for name in ("correction", "confidence", "margin", "primary", "seed", "resamples", "population", "test"):
        value = getattr(data.rules, name)
        if value != getattr(defaults, name):
            keywords.append(f"{name}={'...' if callable(value) else repr(value)}")
    given = {"by": data.by is not None, "clusters": data.paired.clusters is not None, "weights": data.is_weighted}
    keywords += [f"{name}=..." for name, is_given in given.items() if is_given]
    runs = "{" + ", ".join(f"{visible(name)!r}: ..." for name in data.names) + "}"
    words = ["truth", runs, repr(list(data.labels)), *keywords, *_chosen(data.definitions)]
    call = data.command or f"rs.compare({', '.join(words)})"
    return _provenance(data.paired.systems, data.definitions, call, [*method_of(data), *detectable_of(data)])


def _chosen(definitions: Mapping[str, Definition]) -> list[str]:
    """The convention and what was chosen otherwise, as keywords; its name has them."""
    name, _, choices = next(iter(definitions.values())).convention.partition(" with ")
    return [*([f"convention={name!r}"] if name != "rankstone" else []), *([choices] if choices else [])]


def _provenance(systems: Any, definitions: Any, call: str, lines: Sequence[str]) -> str:
    digests: list[list[Any]] = [["run", "truth", "run's digest"]]
    for name, results in list(systems.items())[:_RUNS]:
        digests += [[name, result.inputs["truth"], result.inputs["run"]] for result in results]
    cited = bullets(definition.cite for definition in definitions.values())
    return (
        f"{bullets(lines)}<h3>Definitions</h3>{cited}<h3>Again</h3><pre>{safe(call, 4_000)}</pre>"
        f"{table(digests, (0, 1, 2), caption='Digests of what was read')}"
        f"{paragraph(f'rankstone {__version__}', 'quiet')}"
    )


# -- one run -------------------------------------------------------------------------------------------------


def report_of_result(result: Result) -> str:
    """The page of one run."""
    sections: list[Section] = [("means", "Means", _means(result)), *_deeper(result)]
    sections.append(("queries", "Queries", _values(result)))
    name = result.name or "run"
    call = f"rs.evaluate({', '.join(['truth', 'run', repr(list(result)), *_chosen(result.definitions)])})"
    made = _provenance({name: (result,)}, result.definitions, call, result.remarks())
    return page(f"Result of {name}", [*sections, ("definitions", "How this was made", made)])


def _means(result: Result) -> str:
    shown = result if result._confidence is not None else result.with_intervals()
    return table(shown.answer().table, (0,), caption="Means") + bullets(result.remarks())


def _deeper(result: Result) -> Iterator[Section]:
    pictures: list[Plot] = []
    first = next((label for label in result if result.plan_of(label).metric.k is not None), None)
    if first is not None:
        parsed = result.plan_of(first).metric
        try:
            labels = [str(parsed @ k) for k in _CUTOFFS]
            name = str(parsed).rpartition("@")[0]
            pictures.append(plots.by_cutoff({"": result.more(labels)}, labels, _CUTOFFS, name))
        except ValueError:  # a result that was saved has no lists
            pass
    with contextlib.suppress(ValueError):
        pictures.append(result.curve("precision-recall"))
    if pictures:
        yield "curves", "Curves", figures(*map(small_figure, pictures))


def _values(result: Result) -> str:
    values = {label: result.per_query[label] for label in result}
    first = next(iter(values.values()))
    order = sorted(range(len(first)), key=lambda at: (math.isnan(first[at]), first[at]))
    kept, less = _ends(order, _QUERY_ROWS), ""
    if len(kept) < len(order):
        less = paragraph(f"{len(kept):,} of {len(order):,} queries: the lowest and the highest.")
    rows: list[list[Any]] = [["query", *values]]
    for at in kept:
        cells = ("" if math.isnan(column[at]) else number(float(column[at])) for column in values.values())
        rows.append([result.queries[at], *cells])
    return less + filter_box("table-values") + table(rows, (0,), anchor="table-values", caption="Values of each query")
