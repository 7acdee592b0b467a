"""Metrics of batches of arrays, (rows, items), in the library and on the device where they live.

`rs.arrays.ndcg(scores=scores, labels=labels, k=10)` takes arrays of NumPy, torch, JAX or CuPy and gives an array of the
same kind, one value per row, by the definitions of `rs.evaluate`: the same graphs, over a `Batch`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache, wraps
from typing import NamedTuple

import numpy as np

from rankstone.align.ties import TIES
from rankstone.conventions.choices import CHOICES
from rankstone.conventions.convention import Convention
from rankstone.conventions.plan import Capabilities, Plan, check_supported, plan_one
from rankstone.errors import InputError, InputTypeError
from rankstone.evaluate.checks import BINARY, excludes_ones, require_grades
from rankstone.evaluate.values import counted_of, ratio_of, values_of
from rankstone.metrics.declaration import depth
from rankstone.metrics.registry import Metric, Value, declared, is_built_in, on_declare
from rankstone.program.array_libraries import Array
from rankstone.program.core import depths
from rankstone.program.graph import Expression, Fault, Graph, Space
from rankstone.program.ranking import Ranking, StaticFacts
from rankstone.program.rectangular import Batch, Rectangular

# Rows come in any batches, and the value of one may not depend on its neighbours.
_ROWS = Capabilities(
    all_queries="a batch is some of the rows at a time; as in max_grade=4",
    unjudged="every item of a row has a label; mask unjudged items",
    annotations="a batch has grades alone",
)


class BatchMetric:
    """A metric with one value per row of a batch.

    Parameters
    ----------
    scores, labels : array, optional
        Predicted scores and true grades, of shape (rows, items) or (items,).
    k : int or sequence of int, optional
        One cutoff, or several.
    mask : array of bool, optional
        True for real items, False for padding.
    lengths : array of int, optional
        Number of real items per row; instead of `mask`.
    labels_by_rank : array, optional
        The grades in predicted order, best first; instead of `scores` and `labels`.
    truth : array, optional
        The grades of all judged items, (rows, any number), if a row does not have them all; NaN is no item.
    convention : str or Convention, default "rankstone"
        The definitions of a library or a preset.
    check : bool, default True
        Raise an error for NaN scores and the like, which reads one or two numbers from the device. If False, the value
        of such a row is NaN.
    **choices
        Any choice of `rs.evaluate`.

    Returns
    -------
    array
        One value per row, (rows,), or (rows, cutoffs) if k is a sequence; NaN for a row that the mean ignores. float64
        if the scores or the labels are float64, else float32. Without gradient.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.__doc__ = f"{declared()[name].summary}\n\n{BatchMetric.__doc__}"

    def __repr__(self) -> str:
        return f"rs.arrays.{self.name}"

    def __call__(
        self,
        *swapped: Array,
        scores: Array = None,
        labels: Array = None,
        k: int | Iterable[int] | None = None,
        mask: Array = None,
        lengths: Array = None,
        labels_by_rank: Array = None,
        truth: Array = None,
        convention: str | Convention = "rankstone",
        check: bool = True,
        **choices: Value,
    ) -> Array:
        if swapped:
            raise InputTypeError(
                f"give arrays by name, as they look alike: rs.arrays.{self.name}(scores=..., labels=...)"
            )
        several = isinstance(k, Iterable)
        ks = [depth(cutoff) for cutoff in k] if isinstance(k, Iterable) else [k]
        if not ks:
            raise InputError(f"{self.name}: k is an empty sequence")
        for name in choices:
            choice = CHOICES.get(name.removeprefix(f"{self.name}@k_").removeprefix(f"{self.name}_"))
            if choice is not None and choice.stage == "mean":
                raise InputError(f"{name}= is about the mean over queries, and there is none here; use rs.evaluate")
        plan = plan_one(Metric(self.name, ks[0]), convention, choices)
        check_supported([plan], _ROWS)
        plans = [plan] if ks == [None] else [_at(plan, cutoff) for cutoff in ks]
        batch = _batch(plan, scores, labels, mask, lengths, labels_by_rank, truth, check)
        if check and "threshold" not in choices and excludes_ones(plan):
            grades = batch.given if batch.truth is None else batch.truth
            is_binary = bool(batch.xp.all((grades == 0) | (grades == 1)))
            require_grades(plan, not is_binary or not bool(batch.xp.any(grades == 1)), BINARY)
        with np.errstate(all="ignore"):  # errors are checked for
            columns = _values(plans, batch, check)
            values = columns[0] if len(columns) == 1 else batch.xp.concat(columns, axis=-1)
        values = values if several else values[:, 0]
        values = values[0, ...] if batch.flat else values
        return batch.home.from_dlpack(values) if batch.lent else values


def _at(plan: Plan, k: int | None) -> Plan:
    return replace(plan, arguments={**plan.arguments, "k": k})


def _batch(
    plan: Plan, scores: Array, labels: Array, mask: Array, lengths: Array, by_rank: Array, truth: Array, check: bool
) -> Batch:
    """The batch as a plan sees it."""
    choices, ratings = plan.choices, plan.metric.declaration.kind == "ratings"
    if ratings and scores is None:
        raise InputTypeError(f"{plan.label}: a prediction error needs scores; labels_by_rank is only an order of items")
    return Batch(
        scores, labels, mask, lengths, by_rank, truth,
        ties=TIES[choices["ties"]],
        check=check,
        float32=choices["score_precision"] == "float32",
        returned_only=choices["unjudged"] == "only_returned",
        misses=choices["nonpositive_score"] == "miss",
        ranked=not ratings,
    )  # fmt: skip


_NOT_OF_BATCHES = (
    "agreement",
    "intents",
    "recommendations",
)  # kinds of metrics that read more than rows of labels and scores


def _values(plans: list[Plan], batch: Batch, check: bool) -> list[Array]:
    """The values of plans that differ in their cutoffs alone, (rows, 1) each."""
    facts = batch.facts(plans[0].relevance)
    own = not is_built_in(plans[0].metric.declaration)  # a user's function may answer otherwise later
    traced = _traced.__wrapped__(tuple(plans), facts) if own else _traced(tuple(plans), facts)
    batch.look(traced.depths.get(traced.placed, 1))
    return Rectangular(batch, traced.depths).run(traced.values, traced.faults, plans[0].label, check)


class _Traced(NamedTuple):
    values: list[Expression]
    faults: list[Fault]
    depths: dict[Space, float]
    placed: Space


@lru_cache(maxsize=512)
def _traced(plans: tuple[Plan, ...], facts: StaticFacts) -> _Traced:
    """The graph of plans."""
    graph = Graph()
    ranking = Ranking(graph, facts)
    if plans[0].choices["empty_list"] == "error":
        ranking.raise_where(ranking.retrieved == 0, "the list is empty")
    values = []
    for plan in plans:
        ratio = ratio_of(plan, ranking).map(graph.of)
        values.append(graph.of(values_of(plan, ranking, ratio, counted_of(plan, ranking))[0]))
    return _Traced(values, graph.faults, depths(values)[1], ranking.space)


on_declare.append(_traced.cache_clear)


def __getattr__(name: str) -> BatchMetric:
    declaration = declared().get(name)
    if declaration is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if declaration.kind in _NOT_OF_BATCHES:
        raise AttributeError(f"{name} is not computed on batches of arrays; use rs.evaluate(labels, scores, {name!r})")
    _exempt_from_compilation()
    return BatchMetric(name)


def _exempt_from_compilation() -> None:
    """Have torch.compile call metrics instead of tracing them, as they read numbers from the arrays."""
    disable = getattr(getattr(sys.modules.get("torch"), "compiler", None), "disable", None)
    if disable is not None and not hasattr(BatchMetric.__call__, "__wrapped__"):
        BatchMetric.__call__ = wraps(BatchMetric.__call__)(disable(BatchMetric.__call__))  # type: ignore[method-assign]


def __dir__() -> list[str]:
    return [name for name, declaration in declared().items() if declaration.kind not in _NOT_OF_BATCHES]
