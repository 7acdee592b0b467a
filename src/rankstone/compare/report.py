"""The report: a comparison or a result as one page to look at."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankstone.compare import plot_kinds as plots
from rankstone.compare.caveats import general_doubts
from rankstone.compare.closer import large_groups
from rankstone.compare.config import Rules, default_correction
from rankstone.compare.difference import Difference
from rankstone.plots.escape import prose, safe
from rankstone.plots.escape import shown as visible
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
    from rankstone.compare.comparison import Comparison
    from rankstone.plots.plot import Plot
    from rankstone.results.definition import Definition
    from rankstone.results.result import Means

_CUTOFFS = [*range(1, 10), *range(10, 101, 5)]  # of a curve
_CURVES = 3  # differences that have curves and powers of their own
_QUERY_ROWS, _FEWEST_ROWS = 420, 20  # of all tables of queries together, and of each
_EXPLAINED = 40  # queries of all tables together whose lists are explained
_ITEMS = 10  # of an explained list
_RUNS = 7  # whose queries are shown


Section = tuple[str, str, str]


def report_of(comparison: Comparison) -> str:
    """The page of a comparison."""
    first = comparison.labels[0] if comparison.rules.primary is None else comparison.rules.primary[0]
    every = [of for of in comparison if of.metric == first]
    shown = every[:_RUNS]
    sections = [
        ("answer", "The answer", _answer(comparison)),
        ("differences", "Differences", _differences(comparison)),
        ("queries", f"Queries, by {first}", _queries(comparison, shown, len(every))),
        *_cutoffs(comparison, first, shown[:_CURVES]),
        *_slices(comparison),
        ("power", "What would have been found", _power(shown[:_CURVES])),
        ("doubts", "Ties and judgements", _doubts(comparison)),
        *([("leaderboard", "Leaderboard", _leaderboard(comparison, first))] if len(comparison.names) > 2 else []),
        ("definitions", "How this was made", _made(comparison)),
    ]
    return page(f"Comparison of {', '.join(comparison.names[:4])}{' and more' * (len(comparison.names) > 4)}", sections)


# -- the parts -----------------------------------------------------------------------------------------------


def _answer(comparison: Comparison) -> str:
    lines = [sentence_of(of) for of in comparison if of.verdict]
    warned = [
        f"{_pair(of)} by {of.metric} [{doubt.code}]: {doubt.sentence}" for of in comparison
        for doubt in of.warnings
    ]  # fmt: skip
    found = bullets(lines[:60]) + (
        paragraph(f"and {len(lines) - 60:,} more in the table below") if len(lines) > 60 else ""
    )
    more = [*general_doubts(comparison), *warned]
    if not more:
        return found
    told = bullets(more[:20])
    rest = fold(f"{len(more) - 20:,} more", bullets(more[20:200])) if len(more) > 20 else ""
    return f"{found}<h3>Before you believe it</h3>{told}{rest}"


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


def _differences(comparison: Comparison) -> str:
    head = ["metric", "run", "than", "mean", "difference", "relative", "from", "to", "p", "adjusted", "better", "same",
            "worse", "verdict"]  # fmt: skip
    rows: list[list[Any]] = [head, *(
        [of.metric, of.run, of.baseline, number(of.second), signed(of.difference),
         "" if math.isnan(of.relative) else f"{100 * of.relative:+.1f} %",
         *(("unknown", "unknown") if math.isinf(of.low) else (signed(of.low), signed(of.high))),
         p_value(of.p), p_value(of.adjusted), of.wins, of.ties, of.losses, of.verdict]
        for of in comparison
    )]  # fmt: skip
    said = bullets(comparison._method())
    pictures = rows_figure(plots.forest(comparison, list(comparison)[:60]))
    return f"{said}{pictures}{table(rows, (0, 1, 2, 13), anchor='table-differences', caption='Differences of means')}"


def _queries(comparison: Comparison, shown: Sequence[Difference], many: int) -> str:
    most = max(_QUERY_ROWS // max(len(shown), 1), _FEWEST_ROWS)
    explained = _EXPLAINED // max(len(shown), 1)
    groups: dict[Any, Any] = {}
    if comparison._by is not None:
        groups = dict(zip(comparison.paired.queries, large_groups(comparison._groups(comparison._by)), strict=True))
    out = []
    for at, of in enumerate(shown):
        changes = comparison.queries(*comparison._key(of))
        rows = list(changes)
        kept = rows if len(rows) <= most else [*rows[: most // 2], *rows[-(most // 2) :]]
        anchor, signs = f"table-queries-{at}", (3,) if of.direction > 0 else ()
        head = ["query", of.baseline, of.run, "change", *(["group"] if groups else [])]
        body = [head, *(
            [one.query, number(one.first), number(one.second), signed(one.change),
             *([groups[one.query]] if groups else [])]
            for one in kept
        )]  # fmt: skip
        less = ""
        if len(kept) < len(rows):
            less = paragraph(f"The {len(kept):,} of {len(rows):,} queries that changed most are in the table.")
        bars = small_figure(plots.waterfall(changes), anchor, len(rows))
        pictures = figures(bars, small_figure(plots.scatter(changes), anchor))
        why = list(_explained(comparison, of, rows, explained, anchor))
        out.append(
            f"<h3>{prose(_pair(of))}</h3>{pictures}{less}"
            f"{filter_box(anchor)}"
            f"{table(body, (0, 4), anchor=anchor, caption=f'Queries of {of.run}, by {of.metric}', signs=signs)}"
            f"{folds('Why: the items that moved', why)}"
        )
    if len(shown) < many:
        out.append(paragraph(f"These are {len(shown)} of {many} pairs; comparison.queries() has the others.", "quiet"))
    return "".join(out)


def _explained(comparison: Comparison, of: Difference, rows: Sequence[Any], most: int, anchor: str) -> Iterator[str]:
    """Both lists of the queries that changed most."""
    if comparison.origin is None or not comparison.origin.explains(of.metric, of.baseline, of.run):
        return
    half = max(most // 2, 1)
    ends = {*range(half), *range(len(rows) - half, len(rows))} & {*range(len(rows))}
    for at in sorted(ends):
        one = rows[at]
        if not one.change:
            continue
        found = one.explain()
        cells = [row for row in found.answer().table if row]
        more = len(cells) - 1 - _ITEMS
        text = table(cells[: _ITEMS + 1], (0,), caption=f"Items of {one.query} that moved in {of.run}")
        text += paragraph(f"and {more:,} more rows", "quiet") if more > 0 else ""
        said = f"{visible(one.query, 48)}: {number(one.first)} to {number(one.second)} ({signed(one.change)})"
        yield fold(said, text, f"{anchor} {at - len(rows) if at >= half else at}")


def _cutoffs(comparison: Comparison, metric: str, shown: Sequence[Difference]) -> Iterator[Section]:
    """The metric at every cutoff, where the lists are at hand."""
    parsed = comparison.paired.first.plan_of(metric).metric
    if parsed.k is None:
        return
    labels = [str(parsed @ k) for k in _CUTOFFS]
    try:
        deeper = comparison.by_other(labels)
    except ValueError:  # results that were saved have no lists, and several seeds no one list
        return
    name = str(parsed).rpartition("@")[0]
    lines = dict(list(deeper._single().items())[:_RUNS])
    pictures = [plots.by_cutoff(lines, labels, _CUTOFFS, name)]
    for of in shown:
        found = [deeper[of.baseline, of.run, label] for label in labels]
        pictures.append(plots.difference_by_cutoff(found, _CUTOFFS, name))
    yield "cutoffs", f"{name} by cutoff", figures(*map(small_figure, pictures))


def _slices(comparison: Comparison) -> Iterator[Section]:
    if comparison._by is None:
        return
    found = comparison.slices(comparison._by)
    rows = found.rows()
    text = table(rows, (0, 1, 2), anchor="table-slices", caption="Differences by group", links=rows[0].index("group"))
    text += bullets(found.remarks())
    yield "slices", "Groups of queries", rows_figure(plots.slices(found)) + text


def _power(shown: Sequence[Difference]) -> str:
    usable = [of for of in shown if of.error > 0 and of.queries > 1]
    text = figures(*(small_figure(draw(of)) for of in usable for draw in (plots.power, plots.detectable)))
    rows = [["run", "metric", "queries", "found in 80 of 100", "needed for half of that"], *(
        [of.run, of.metric, f"{of.queries:,}", f"{of.detectable():.4f}", f"{of.needed(of.detectable() / 2):,}"]
        for of in usable
    )]  # fmt: skip
    none = paragraph("The runs do not differ, or there is one query only: nothing can be said.")
    return text + table(rows, (0, 1), caption="Differences that would be found") if usable else none


def _doubts(comparison: Comparison) -> str:
    rows: list[list[Any]] = [["metric", "run", "than", "lowest", "highest"]]
    for of in comparison:
        ends = comparison.tie_ends(of.metric, of.baseline, of.run)
        if ends is not None:
            rows.append([of.metric, of.run, of.baseline, *map(signed, ends)])
    if len(rows) > 1:
        text = table(rows, (0, 1, 2), caption="Differences that other orders of tied items would make")
    else:
        text = paragraph("No order of tied items changes a mean.")
    judged = {
        (doubt.sentence, of.run) for of in comparison for doubt in of.warnings if doubt.code in ("judged", "missing")
    }
    lines = [f"{run}: {sentence}" for sentence, run in sorted(judged)]
    text += _judged_by_cutoff(comparison)
    return text + (bullets(lines) or paragraph("No run is judged less than its baseline, or lacks queries."))


def _judged_by_cutoff(comparison: Comparison) -> str:
    """How much of each run's lists is judged, where the runs are at hand and there is anything to tell."""
    labels = [f"judged@{k}" for k in _CUTOFFS]
    found = None if comparison.origin is None else comparison.origin.judged(*labels)
    if not found or any(len(several) > 1 for several in found.values()):
        return ""
    results: dict[str, Means] = {name: several[0] for name, several in list(found.items())[:_RUNS]}
    if not all(result.has_bad(labels[0]) for result in results.values()):
        return paragraph("The truth names relevant items only, so how much is judged tells nothing else.")
    if all(result[label] == 1 for result in results.values() for label in labels):
        return paragraph("Every item that the runs returned, down to the hundredth place, is judged.")
    return small_figure(plots.by_cutoff(results, labels, _CUTOFFS, "judged"))


def _leaderboard(comparison: Comparison, metric: str) -> str:
    board = comparison.leaderboard(metric)
    return rows_figure(plots.leaders(board)) + table(board.rows(), (1,), caption="Ranks") + bullets(board.remarks())


def _made(comparison: Comparison) -> str:
    rules = comparison.rules
    keywords = [f"baseline={comparison.baseline!r}"] if comparison.baseline is not None else []
    defaults = Rules(correction=default_correction(comparison.baseline))
    for name in ("correction", "confidence", "margin", "primary", "seed", "resamples", "population", "test"):
        value = getattr(rules, name)
        if value != getattr(defaults, name):
            keywords.append(f"{name}={'...' if callable(value) else repr(value)}")
    given = {"by": comparison._by is not None, "clusters": comparison.paired.clusters is not None,
             "weights": comparison._is_weighted}  # fmt: skip
    keywords += [f"{name}=..." for name, is_given in given.items() if is_given]
    runs = "{" + ", ".join(f"{visible(name)!r}: ..." for name in comparison.names) + "}"
    definitions = comparison.definitions
    call = f"rs.compare({', '.join(['truth', runs, repr(list(comparison.labels)), *keywords, *_chosen(definitions)])})"
    lines = [*comparison._method(), *comparison._findable()]
    return _provenance(comparison.paired.systems, definitions, comparison.command or call, lines)


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


def report_of_result(result: Means) -> str:
    """The page of one run."""
    sections: list[Section] = [("means", "Means", _means(result)), *_deeper(result)]
    sections.append(("queries", "Queries", _values(result)))
    name = result.name or "run"
    call = f"rs.evaluate({', '.join(['truth', 'run', repr(list(result)), *_chosen(result.definitions)])})"
    made = _provenance({name: (result,)}, result.definitions, call, result.remarks())
    return page(f"Result of {name}", [*sections, ("definitions", "How this was made", made)])


def _means(result: Means) -> str:
    head, *body = (result if result._confidence is not None else result.with_intervals()).answer().table
    return table([head, *body], (0,), caption="Means") + bullets(result.remarks())


def _deeper(result: Means) -> Iterator[Section]:
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


def _values(result: Means) -> str:
    values = {label: result.per_query[label] for label in result}
    first = next(iter(values.values()))
    order = sorted(range(len(first)), key=lambda at: (math.isnan(first[at]), first[at]))
    kept = order if len(order) <= _QUERY_ROWS else [*order[: _QUERY_ROWS // 2], *order[-(_QUERY_ROWS // 2) :]]
    rows = [["query", *values], *(
        [result.queries[at], *("" if math.isnan(value) else number(value) for value in (
            float(column[at]) for column in values.values()))]
        for at in kept
    )]  # fmt: skip
    less = (
        paragraph(f"{len(kept):,} of {len(order):,} queries: the lowest and the highest.")
        if len(kept) < len(order)
        else ""
    )
    return less + filter_box("table-values") + table(rows, (0,), anchor="table-values", caption="Values of each query")
