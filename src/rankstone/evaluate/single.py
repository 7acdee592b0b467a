"""One list, one number: `rs.ndcg([1, 3, 2, 6], truth=[1, 2, 4], k=2)`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Set
from dataclasses import replace
from numbers import Integral, Number
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.align.alignment import Alignment
from rankstone.conventions.plan import plan_one
from rankstone.data.arrow import PADDING
from rankstone.data.dicts import OneList, check_ids
from rankstone.data.lists import Dense, check_padding
from rankstone.data.source import Aligned, AlignOptions, Source, TopK
from rankstone.errors import InputError, InputTypeError, QueryError, UndefinedWarning
from rankstone.evaluate.fastpath import CompiledEvaluation, compiled_for
from rankstone.evaluate.measurement import evaluate_source
from rankstone.metrics.registry import Metric, Value

if TYPE_CHECKING:
    from rankstone.typing import Items


def measure_list(metric: Metric, ranked: Items | None = None, **options: Value) -> float:
    """The value of one list, as `_measured`; errors do not name a query."""
    try:
        return _measured(metric, ranked, **options)
    except QueryError as error:
        raise InputError(error.problem) from None


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
    """The value of one list.

    Either items and a truth (`ranked`, `truth`), or grades: `labels` in ranked order, or `labels` and `scores` in any
    order. With labels, `truth` may have the grades of all judged items, best first. For prediction errors, `ranked`
    has the predictions and `truth` the actual values.
    """
    name = metric.name
    declaration = metric.declaration
    if declaration.reads == "recommendations":
        raise InputTypeError(
            f"{name} is a beyond-accuracy metric: rs.evaluate(run={{query: items}}, metrics={name!r}, ...)"
        )
    if labels is not None:
        if ranked is not None:
            raise InputTypeError(f"{name}: give items or labels, not both")
        if truth is None and (value := _of_labels(metric, labels, scores, convention, choices)) is not None:
            return value
        by_value = truth is None and scores is not None and (declaration.kind == "ratings" or declaration.of_columns)
        source = _Labels(name, labels, scores, truth, ranked=not (by_value and declaration.expected))
        return _evaluated(source, metric, convention, choices)
    if scores is not None:
        raise InputTypeError(f"{name}: scores need labels")
    if truth is None:
        raise InputTypeError(f"{name} needs the relevant items: rs.{name}(items, truth=relevant)")
    if declaration.kind == "ratings" and not isinstance(ranked, Mapping):
        predicted, actual = _numbers(f"{name}: predictions", ranked), _numbers(f"{name}: actual values", truth)
        if predicted.shape != actual.shape:
            raise InputError(f"{name}: {predicted.size} predictions but {actual.size} actual values")
        return _evaluated(_Labels(name, actual, predicted, None, ranked=False), metric, convention, choices)
    judged, returned = _items(truth, "truth"), _items(ranked, "list")
    _check_ids(metric, judged, returned)
    compiled = compiled_for(metric, convention, choices)
    value = None if compiled is None else compiled.mean(judged, returned)
    if compiled is None or value is None or _stands_in(compiled, value):
        return _evaluated(OneList(0, judged, returned), metric, convention, choices)
    return value


def _check_ids(metric: Metric, judged: Any, returned: Any) -> None:
    """Raise where the items are numbers that are no ids, or that may be ids as well as values."""
    name = metric.name
    kinds = [{*map(type, side)} for side in (judged, returned)]
    for what, side, types in zip(("truth", "list"), (judged, returned), kinds, strict=True):
        if not types <= _IDS and any(_is_fraction(kind) for kind in types):
            number = next(item for item in side if _is_fraction(type(item)))
            hint = f"for scores and grades write {name}(scores=..., labels=...)"
            raise InputTypeError(f"{name}: {number!r} in the {what} is not an item id; {hint}")
        if not types <= _IDS:
            check_ids(side, what)
    lists = isinstance(judged, (list, tuple)) and isinstance(returned, (list, tuple))
    if not (metric.declaration.of_columns and lists and judged and len(judged) == len(returned)):
        return
    if all(issubclass(kind, Integral) for types in kinds for kind in types):
        raise InputTypeError(
            f"{name}: {len(judged)} whole numbers on each side may be values or item ids; "
            f"write {name}(scores=..., labels=...) for values, or the ids as text: "
            f"{name}([{str(returned[0])!r}, ...], truth=[{str(judged[0])!r}, ...])"
        )


def _is_fraction(kind: type) -> bool:
    return issubclass(kind, Number) and not issubclass(kind, Integral)


def _evaluated(source: Source, metric: Metric, convention: Any, choices: Any) -> float:
    """The value by the general path; a warning where the metric has nothing to compare."""
    result = evaluate_source(source, [metric], convention, None, 1, choices)
    value = float(result[metric])
    if metric.declaration.binary_only and "undefined" not in choices:
        plan, account = plan_one(metric, convention, choices), result.account
        pairs = plan.arguments.get("pairs")  # those of a list are missing where it holds no relevant item
        if pairs != "list" and (account.no_pairs or (account.nothing_relevant and value)):
            more = ", or choose pairs='list'" * (pairs is not None)
            warnings.warn(
                f"{metric} has no pair of a relevant and a non-relevant item to compare and is undefined, for which "
                f"{value:g} stands; give items of both kinds: truth={{item: 1, other: 0}}{more}",
                UndefinedWarning,
                stacklevel=6,
            )
    return value


def _stands_in(compiled: CompiledEvaluation, value: float) -> bool:
    """Whether the value may be that of an undefined one."""
    plan = compiled.plans[0]
    undefined = plan.choices["undefined"]
    return plan.metric.declaration.binary_only and (value != value or value == {"zero": 0.0}.get(undefined, undefined))


def _of_labels(metric: Metric, labels: Any, scores: Any, convention: Any, choices: Any) -> float | None:
    """The value of short lists of grades, with positions as item ids; None for others, and for invalid ones."""
    if type(labels) is not list or not labels or not (scores is None or type(scores) is list) or PADDING in labels:
        return None
    compiled = compiled_for(metric, convention, choices)
    if compiled is None or not compiled.in_core or (scores is not None and len(scores) != len(labels)):
        return None
    positions = range(len(labels))
    try:
        value = compiled.mean(
            dict(zip(positions, labels, strict=True)),
            list(positions) if scores is None else dict(zip(positions, scores, strict=True)),
        )
    except (TypeError, ValueError):  # the general path raises the error
        return None
    return None if value is None or _stands_in(compiled, value) else value


_IDS = {str, int}  # common types of ids
_LISTS = {list, dict, tuple, set}  # common types of lists


def _items(items: Any, what: str) -> Any:
    if type(items) in _LISTS or isinstance(items, (Mapping, Set, list, tuple)):
        return items
    if isinstance(items, np.ndarray):
        return items.tolist()
    if isinstance(items, (str, bytes)) or not hasattr(items, "__iter__"):
        raise InputTypeError(f"the {what} is {items!r}; give a list of items or a dict")
    return list(items)


def _numbers(what: str, values: Any) -> Any:
    out = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if out.ndim != 1:
        raise InputError(f"{what} of one list, not an array of shape {out.shape}; see evaluate")
    bad = ~np.isfinite(out)
    if bad.any():
        at = int(np.argmax(bad))
        raise InputError(f"{what}: {out[at]} at position {at + 1}")
    return out


class _Labels:
    """The grades of one list, in ranked order or with scores; ranked: False for metrics that read no ranks."""

    def __init__(self, name: str, labels: Any, scores: Any, truth: Any, ranked: bool = True) -> None:
        grades = _numbers(f"{name}: labels", labels)
        if ranked:  # else they are values that scores predict
            check_padding(grades, "leave these items out")
        n = len(grades)
        self.ordered = scores is None
        values = np.arange(n, 0, -1) if scores is None else np.atleast_1d(np.asarray(scores))
        if values.shape != grades.shape:
            raise InputError(f"{name}: {n} labels but {values.size} scores")
        self.dense = Dense(values.reshape(1, n), grades.reshape(1, n))
        self.ranked = ranked or values.dtype.kind not in "iuf" or not np.isfinite(values).all()
        self.truth = None if truth is None else _numbers(f"{name}: truth", truth)

    repeatable = True

    def ids(self) -> None:
        """None: items are positions in the list."""

    def first(self, options: AlignOptions, depth: int | None) -> TopK:
        return self.dense.first(options, depth)

    def align(self, options: AlignOptions) -> Aligned:
        if not self.ranked and not options.float32:
            return self._unranked()
        aligned = self.dense.align(options)
        ranked = aligned.ranked
        if self.ordered:
            ranked = ranked.replace(score=np.full(len(ranked.score), np.nan))
        if self.truth is not None:
            ranked = ranked.with_truth(np.array([0, len(self.truth)]), self.truth)
        return replace(aligned, ranked=ranked)

    def _unranked(self) -> Aligned:
        """The pairs of score and grade by position, as nothing is sorted for what reads them alone."""
        grades, scores = (array[0].astype(np.float64) for array in (self.dense.labels, self.dense.scores))
        n, places = np.array([len(grades)]), np.arange(1, len(grades) + 1)
        ends = np.array([0, len(grades)])
        ranked = Alignment(n, np.array([True]), ends, grades, None, ends, places, grades, scores, places)
        return Aligned(ranked, lambda: range(1), lambda: (), 0, 0)
