"""Metrics of batches of arrays, (rows, items), in the library and on the device where they live.

`rs.arrays.ndcg(scores=scores, labels=labels, k=10)` takes arrays of NumPy, torch, JAX or CuPy and gives an array of the
same kind, one value per row, by the definitions of `rs.evaluate`: the same graphs, over a `Batch`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from rankstone.align.ties import TIES
from rankstone.conventions.choices import CHOICES
from rankstone.conventions.convention import Convention
from rankstone.conventions.plan import Capabilities, Plan, check_supported, make_plans
from rankstone.evaluate.values import counted_of, ratio_of, values_of
from rankstone.metrics.declaration import depth
from rankstone.metrics.registry import Metric, Value, declared, is_built_in, on_declare
from rankstone.program.array_libraries import Array
from rankstone.program.core import depths
from rankstone.program.graph import Expression, Fault, Graph, Space
from rankstone.program.ranking import Facts, Ranking
from rankstone.program.rectangular import Batch, Rectangular

# Rows come in any batches, and the value of one may not depend on its neighbours.
_ROWS = Capabilities(
    all_queries="a batch is some of the rows at a time; as in max_grade=4",
    unjudged="every item of a row has a label; leave out by the mask what nobody judged",
    notes="a batch has grades alone",
)


class BatchMetric:
    """A metric of each row of a batch.

    scores, labels: arrays of shape (rows, items) or (items,); `labels_by_rank` instead of both: the labels in predicted
    order, best first. mask: True for a real item; or `lengths`: how many items of each row are real. truth: the grades
    of all judged items, (rows, any number), where the rows do not hold them all; NaN for none. k: a cutoff, or several.
    Any choice can be made by name, as in `rs.evaluate`.

    The values have shape (rows,), or (rows, cutoffs) where k is a sequence; NaN stands for a row that the mean would
    leave out. They are float64 if the scores or the labels are, float32 if these are narrower, and have no gradient.
    check: raise an error for a NaN score and the like, for which one number is read from the device, or two where tied
    items are averaged or share a rank; if False, such a row is NaN.
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
            raise TypeError(f"give arrays by name, as they look alike: rs.arrays.{self.name}(scores=..., labels=...)")
        several = isinstance(k, Iterable)
        ks = [depth(cutoff) for cutoff in k] if isinstance(k, Iterable) else [k]
        if not ks:
            raise ValueError(f"{self.name}: k is an empty sequence")
        for given in choices:
            choice = CHOICES.get(given.removeprefix(f"{self.name}@k_").removeprefix(f"{self.name}_"))
            if choice is not None and choice.stage == "mean":
                raise ValueError(f"{given}= is about the mean over queries, and there is none here; use rs.evaluate")
        plan = make_plans(Metric(self.name, ks[0]), convention, choices)[0]
        check_supported([plan], _ROWS)
        plans = [plan] if ks == [None] else [_at(plan, cutoff) for cutoff in ks]
        batch = _batch(plan, scores, labels, mask, lengths, labels_by_rank, truth, check)
        with np.errstate(all="ignore"):  # what must not be is looked for
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
        raise TypeError(f"{plan.label}: a prediction error needs scores; labels_by_rank is only an order of items")
    return Batch(
        scores, labels, mask, lengths, by_rank, truth,
        ties=TIES[choices["ties"]],
        check=check,
        float32=choices["score_precision"] == "float32",
        listed=choices["known"] == "returned",
        misses=choices["nonpositive_score"] == "miss",
        ranked=not ratings,
    )  # fmt: skip


_NOT_OF_BATCHES = ("agreement", "intents", "shown")  # kinds of metrics that read more than rows of labels and scores


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
def _traced(plans: tuple[Plan, ...], facts: Facts) -> _Traced:
    """The graph of plans."""
    graph = Graph()
    ranking = Ranking(graph, facts)
    if plans[0].choices["empty_list"] == "error":
        ranking.refuse(ranking.retrieved == 0, "the list is empty")
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
    return BatchMetric(name)


def __dir__() -> list[str]:
    return [name for name, declaration in declared().items() if declaration.kind not in _NOT_OF_BATCHES]
