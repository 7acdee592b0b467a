"""Plots of a result: precision by recall, ROC, the Lorenz curve of recommended items, bounds over unjudged items."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.errors import InputError, some
from rankstone.metrics.registry import Metric
from rankstone.plots.marks import Axis, Dots, Intervals, Line, Mark, RefLine, TextMarks
from rankstone.plots.plot import Plot

if TYPE_CHECKING:
    from rankstone.results.result import Result


def curve_of(result: Result, kind: str, query: Hashable) -> Plot:
    """A curve of a result, as a plot with its points."""
    if kind not in CURVES:
        raise InputError(f"unknown curve {kind!r}; choose from {', '.join(map(repr, CURVES))}")
    return CURVES[kind](result, query)


def _roc(result: Result, query: Hashable) -> Plot:
    plan = result._more("auc")._measurement.plan("auc")
    of = result._measurement.roc(plan, query)
    whose = "all rows by score" if query is None and plan.averaging.pooled else f"query {query!r}"
    steps, heights = np.diff(of.false_positive_rate), of.true_positive_rate[1:] + of.true_positive_rate[:-1]
    area = float(steps @ heights) / 2
    sides = ("false positive rate", of.false_positive_rate), ("true positive rate", of.true_positive_rate)
    return _curve("ROC curve", *sides, f"Of {whose}; the area under it is {area:.4f}.", diagonal=True)


def _precision_recall(result: Result, query: Hashable) -> Plot:
    recall = np.linspace(0, 1, 101)
    metrics = [Metric("iprec").given(recall=round(float(at), 2)) for at in recall]
    measured = result._more(metrics)
    labels = list(measured)
    if query is None:
        precision = np.array([measured[label] for label in labels])
    else:
        queries = list(measured.queries)
        if query not in queries:
            raise InputError(f"the truth has no query {query!r}; it has {some(queries)}")
        precision = np.array([measured.per_query[label][queries.index(query)] for label in labels])
    whose = f"The mean of {len(measured.queries):,} queries" if query is None else f"Query {query!r}"
    said = f"{whose}: precision {precision[0]:.4f} at recall 0, {precision[50]:.4f} at 0.5, {precision[-1]:.4f} at 1."
    return _curve("Precision and recall", ("recall", recall), ("precision", precision), said)


def _lorenz(result: Result, query: Hashable) -> Plot:
    plans = [result._measurement.plan(label) for label in result]
    plan = next((plan for plan in plans if plan.metric.declaration.reads == "recommendations"), None)
    if plan is None or query is not None:
        raise InputError("the Lorenz curve is that of all recommended lists: evaluate gini@k with catalogue=")
    lists: Any = result._measurement.aligned(plan).form("recommendations")
    view = lists.first(plan.arguments.get("k")).within("catalogue", "error")
    times = view.frequency()
    sizes = np.sort(times if view.base is None else times[view.base[0]])
    share = np.concatenate([[0.0], np.cumsum(sizes) / sizes.sum()])
    items = np.linspace(0, 1, len(share))
    least = f"{100 * float(np.mean(sizes == 0)):.0f} % of the items are in no list"
    rest = f"the most frequent tenth takes {100 * float(1 - np.interp(0.9, items, share)):.0f} % of the places"
    sides = ("share of the items", items), ("share of the places", share)
    return _curve("Lorenz curve", *sides, f"{least}; {rest}.", diagonal=True)


def _bounds(result: Result, query: Hashable) -> Plot:
    if query is not None:
        raise InputError("the bounds are those of the means, not of a query; leave query= out")
    labels = [label for label, ends in result.bounds.items() if not math.isnan(ends.lowest)]
    low, high = ([getattr(result.bounds[label], end) for label in labels] for end in ("lowest", "highest"))
    means, rows = [result[label] for label in labels], list(range(len(labels)))
    texts = [f"{a:.4f} to {b:.4f}" for a, b in zip(low, high, strict=True)]
    marks = (Intervals(rows, low, high), Dots(means, rows), TextMarks(rows, texts))
    said = "; ".join(f"{label}: {text}" for label, text in zip(labels, texts, strict=True))
    data = {"metric": labels, "mean": means, "lowest": low, "highest": high}
    return Plot("Bounds over all grades of the unjudged items", said, Axis.over("mean", [*low, *high, *means]),
                Axis.of_names("", labels), marks, data, height=78 + 24 * len(labels))  # fmt: skip


def _curve(title: str, x: tuple[str, Any], y: tuple[str, Any], sentence: str, diagonal: bool = False) -> Plot:
    """A line through points that are there already, from 0 to 1 both ways."""
    marks: tuple[Mark, ...] = (*([RefLine(axis="both")] if diagonal else []), Line(list(x[1]), list(y[1])))
    return Plot(title, sentence, Axis(x[0], 0, 1), Axis(y[0], 0, 1.02), marks,
                {x[0]: x[1], y[0]: y[1]}, height=400, width=440)  # fmt: skip


CURVES = {"precision-recall": _precision_recall, "roc": _roc, "lorenz": _lorenz, "bounds": _bounds}
