"""One list, one number: `rs.ndcg([1, 3, 2, 6], truth=[1, 2, 4], k=2)`."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.data.dicts import OneList
from rankstone.data.lists import Dense
from rankstone.data.source import Align, Aligned, First, Source
from rankstone.errors import QueryError
from rankstone.evaluate.fastpath import kept_for
from rankstone.evaluate.measurement import evaluate_source
from rankstone.metrics.registry import Metric, Value

if TYPE_CHECKING:
    from rankstone.typing import Items


def measure_list(metric: Metric, ranked: Items | None = None, **given: Value) -> float:
    """Measure one list, as `_measured` reads it. It is no query, so an error need not name it."""
    try:
        return _measured(metric, ranked, **given)
    except QueryError as error:
        raise ValueError(error.problem) from None


def _measured(
    metric: Metric,
    ranked: Any = None,
    *,
    truth: Any = None,
    labels: Any = None,
    scores: Any = None,
    convention: Any = "rankstone",
    **choices: Any,
) -> float:
    """Measure one list.

    Either items and a truth (`ranked`, `truth`), or grades: `labels` in ranked order, or beside `scores` in any
    order. With labels, `truth` may give the grades of all judged items, best first. For prediction errors,
    `ranked` holds the predictions and `truth` the actual values.
    """
    name = metric.name
    declaration = metric.declaration
    if declaration.reads == "shown":
        raise TypeError(f"{name} is of what lists show: rs.evaluate(run={{query: items}}, metrics={name!r}, ...)")
    if labels is not None:
        if ranked is not None:
            raise TypeError(f"{name}: give items or labels, not both")
        if truth is None and (found := _of_labels(metric, labels, scores, convention, choices)) is not None:
            return found
        source: Source = _Labels(name, labels, scores, truth)
        return float(evaluate_source(source, [metric], convention, None, 1, choices)[metric])
    if scores is not None:
        raise TypeError(f"{name}: scores need labels beside them")
    if truth is None:
        raise TypeError(f"{name}: give the relevant items too: rs.{name}(items, truth=relevant)")
    if declaration.kind == "ratings" and not isinstance(ranked, Mapping):
        predicted, actual = _numbers(f"{name}: predictions", ranked), _numbers(f"{name}: actual values", truth)
        if predicted.shape != actual.shape:
            raise ValueError(f"{name}: {predicted.size} predictions but {actual.size} actual values")
        source = Dense(predicted.reshape(1, -1), actual.reshape(1, -1))
        return float(evaluate_source(source, [metric], convention, None, 1, choices)[metric])
    judged, returned = _items(truth, "truth"), _items(ranked, "list")
    for what, side in (("truth", judged), ("list", returned)):
        kinds = {*map(type, side)}
        if not kinds <= _IDS and any(issubclass(kind, float) for kind in kinds):
            number = next(item for item in side if isinstance(item, float))
            hint = f"for scores and grades write {name}(scores=..., labels=...)"
            raise TypeError(f"{name}: {number!r} in the {what} is no item; {hint}")
    kept = kept_for(metric, convention, choices)
    found = None if kept is None else kept.mean(judged, returned)
    if found is not None:
        return found
    source = OneList(0, judged, returned)
    return float(evaluate_source(source, [metric], convention, None, 1, choices)[metric])


def _of_labels(metric: Metric, labels: Any, scores: Any, convention: Any, choices: Any) -> float | None:
    """Short lists of grades as items by their places; None for others, and where something is wrong with them."""
    if type(labels) is not list or not labels or not (scores is None or type(scores) is list):
        return None
    kept = kept_for(metric, convention, choices)
    if kept is None or (scores is not None and len(scores) != len(labels)):
        return None
    places = range(len(labels))
    try:
        return kept.mean(
            dict(zip(places, labels, strict=True)),
            list(places) if scores is None else dict(zip(places, scores, strict=True)),
        )
    except (TypeError, ValueError):  # which is said in other words
        return None


_IDS = {str, int}  # what ids mostly are
_LISTS = {list, dict, tuple, set}  # what items mostly are in


def _items(items: Any, what: str) -> Any:
    if type(items) in _LISTS or isinstance(items, (Mapping, Set, list, tuple)):
        return items
    if isinstance(items, np.ndarray):
        return items.tolist()
    if isinstance(items, (str, bytes)) or not hasattr(items, "__iter__"):
        raise TypeError(f"the {what} is {items!r}; give a list of items or a dict")
    return list(items)


def _numbers(what: str, values: Any) -> Any:
    out = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if out.ndim != 1:
        raise ValueError(f"{what} of one list, not an array of shape {out.shape}; see evaluate")
    bad = ~np.isfinite(out)
    if bad.any():
        at = int(np.argmax(bad))
        raise ValueError(f"{what}: {out[at]} at position {at + 1}")
    return out


class _Labels:
    """The grades of one list, in ranked order or beside scores."""

    def __init__(self, name: str, labels: Any, scores: Any, truth: Any) -> None:
        grades = _numbers(f"{name}: labels", labels)
        n = len(grades)
        self.ordered = scores is None
        values = np.arange(n, 0, -1) if scores is None else np.atleast_1d(np.asarray(scores))
        if values.shape != grades.shape:
            raise ValueError(f"{name}: {n} labels but {values.size} scores")
        self.dense = Dense(values.reshape(1, n), grades.reshape(1, n))
        self.truth = None if truth is None else _numbers(f"{name}: truth", truth)

    repeatable = True

    def ids(self) -> None:
        """An item is a place in the list."""

    def first(self, how: Align, depth: int | None) -> First:
        return self.dense.first(how, depth)

    def align(self, how: Align) -> Aligned:
        aligned = self.dense.align(how)
        ranked = aligned.ranked
        if self.ordered:
            ranked = ranked.replace(score=np.full(len(ranked.score), np.nan))
        if self.truth is not None:
            ranked = ranked.with_truth(np.array([0, len(self.truth)]), self.truth)
        return replace(aligned, ranked=ranked)
