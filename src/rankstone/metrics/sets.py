"""Metrics of the first k as a set: how many of them are relevant, whatever their order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from rankstone.metrics.registry import metric
from rankstone.ranked import Depth, Floats, NoExpectedValue, Ranked, Ratio

PrecisionDivisor = Literal["k", "min(k,retrieved)", "min(k,relevant)"]
RecallDivisor = Literal["relevant", "min(relevant,k)", "grades"]

_COUNT: dict[str, Any] = {
    "kind": "count",
    "choices": {"averaging": "sum"},
    "expected": True,
    "zeros": False,
    "bounds": (0, np.inf),
}


@metric("precision", aliases=("p",), formula="hits(k) / k", expected=True, zeros=False)
def precision(ranked: Ranked, *, k: Depth = None, divisor: PrecisionDivisor = "k") -> Ratio:
    """Share of the first k places that hold a relevant item.

    Without k, the whole list. Cleverdon, Mills and Keen, 1966.

    >>> rs.precision(["a", "b", "c", "d"], ["a", "c", "x"], k=2)
    0.5
    """
    return Ratio(ranked.hits(k), ranked.places(k, divisor))


@metric("recall", aliases=("r",), formula="hits(k) / relevant", expected=True, zeros=False)
def recall(ranked: Ranked, *, k: Depth = None, divisor: RecallDivisor = "relevant") -> Ratio:
    """Share of the relevant items that the first k places hold.

    Cleverdon, Mills and Keen, 1966.

    >>> rs.recall(["a", "b", "c", "d"], ["a", "c", "x", "y"], k=2)
    0.25
    """
    return Ratio(ranked.hits(k), _relevant(ranked, k, divisor))


def _relevant(ranked: Ranked, k: Depth, divisor: RecallDivisor) -> Floats:
    if divisor == "grades":
        return ranked.sum_truth(np.maximum(ranked.ideal, 0.0))
    if divisor == "min(relevant,k)" and k is not None:
        return np.minimum(ranked.relevant, k)
    return ranked.relevant


@metric("f", formula="(1 + beta^2) hits(k) / (beta^2 relevant + k)", expected=True, zeros=False)
def f(
    ranked: Ranked,
    *,
    k: Depth = None,
    beta: float = 1.0,
    precision_divisor: PrecisionDivisor = "k",
    recall_divisor: RecallDivisor = "relevant",
) -> Ratio:
    """Weighted harmonic mean of precision and recall; beta above 1 favours recall.

    Van Rijsbergen, 1979.

    >>> rs.f(["a", "b", "c", "d"], ["a", "c", "x", "y"], k=2, beta=2)
    0.2777777777777778
    """
    if not beta > 0:
        raise ValueError(f"f: beta must be above 0, not {beta!r}")
    weight = beta * beta
    hits, relevant, places = ranked.hits(k), _relevant(ranked, k, recall_divisor), ranked.places(k, precision_divisor)
    parts = (Ratio(hits, places), Ratio(hits, relevant))
    return Ratio((1.0 + weight) * hits, weight * relevant + places, parts=parts)


def harmonic(precision: float, recall: float, arguments: Mapping[str, Any]) -> tuple[float, float]:
    """Their weighted harmonic mean, as the two sides of a division."""
    weight = arguments.get("beta", 1.0) ** 2
    return (1.0 + weight) * precision * recall, weight * precision + recall


@metric("f1", formula="2 hits(k) / (relevant + k)", expected=True, zeros=False)
def f1(
    ranked: Ranked,
    *,
    k: Depth = None,
    precision_divisor: PrecisionDivisor = "k",
    recall_divisor: RecallDivisor = "relevant",
) -> Ratio:
    """Harmonic mean of precision and recall.

    Van Rijsbergen, 1979.

    >>> rs.f1(["a", "b", "c", "d"], ["a", "c", "x", "y"], k=2)
    0.3333333333333333
    """
    return f.row.function(ranked, k=k, beta=1.0, precision_divisor=precision_divisor, recall_divisor=recall_divisor)


@metric(
    "hit_rate",
    aliases=("hit", "success", "hr", "hitrate"),
    formula="1 if hits(k) > 0 else 0",
    expected=True,
    zeros=False,
)
def hit_rate(ranked: Ranked, *, k: Depth = None) -> Ratio:
    """1 if any of the first k items is relevant.

    >>> rs.hit_rate(["a", "b", "c"], ["c"], k=2)
    0.0
    """
    if ranked.expected:
        if ranked.relevance.truth_depth == "k":
            raise NoExpectedValue("has no closed form over all orders of tied items with truth_depth='k'")
        return Ratio(_chance_of_a_hit(ranked, k), np.ones(len(ranked)))
    return Ratio((ranked.hits(k) > 0).astype(np.float64), np.ones(len(ranked)))


def _chance_of_a_hit(ranked: Ranked, k: Depth) -> Floats:
    """One minus the chance that no relevant item lies in the first k, over all orders of tied items."""
    groups = ranked.groups()
    limit = np.inf if k is None else k[groups.query] if isinstance(k, np.ndarray) else k
    drawn = np.clip(limit - groups.before, 0, groups.size)
    none = np.ones(len(drawn))
    for i in range(int(groups.found.max(initial=0))):  # C(size - found, drawn) / C(size, drawn)
        factor = np.maximum(groups.size - drawn - i, 0) / np.maximum(groups.size - i, 1)
        none = np.where(i < groups.found, none * factor, none)
    miss = np.ones(len(ranked))
    np.multiply.at(miss, groups.query, none)
    return 1.0 - miss


@metric("r_precision", aliases=("rprec",), formula="hits(relevant) / relevant", expected=True, zeros=False)
def r_precision(ranked: Ranked) -> Ratio:
    """Precision at the rank that equals the number of relevant items.

    >>> rs.r_precision(["a", "b", "c", "d"], ["a", "c", "d"])
    0.6666666666666666
    """
    return Ratio(ranked.hits(ranked.relevant.astype(np.int64)), ranked.relevant)


@metric("fallout", formula="nonrelevant(k) / nonrelevant", expected=True, better="lower")
def fallout(
    ranked: Ranked, *, k: Depth = None, catalogue: int | None = None, among: Literal["judged", "list"] = "judged"
) -> Ratio:
    """Share of the non-relevant items that the first k places hold; lower is better.

    Over judged items, over all items of the list (among="list"), or over a catalogue of so many items.

    >>> rs.fallout(["a", "b", "c"], ["a"], k=3, catalogue=101)
    0.02
    """
    if catalogue is not None:
        largest = max(ranked.relevant.max(initial=0.0), ranked.retrieved.max(initial=0))
        if catalogue < largest:
            raise ValueError(f"fallout: a catalogue of {catalogue} items cannot hold the {largest:g} of one query")
        taken = ranked.places(k, "min(k,retrieved)") - ranked.hits(k)
        return Ratio(taken, catalogue - ranked.relevant)
    if among == "list" or ranked.unjudged is not None:  # where only the list is known
        return Ratio(ranked.places(k, "min(k,retrieved)") - ranked.hits(k), ranked.retrieved - ranked.hits())
    below = ((ranked.grade >= 0) & (ranked.credit == 0)).astype(np.float64)
    return Ratio(ranked.sum(below * ranked.chance(k)), ranked.nonrelevant)


@metric("num_ret", formula="min(k, retrieved)", better="neither", **_COUNT)
def num_ret(ranked: Ranked, *, k: Depth = None) -> Ratio:
    """How many items the run returned, over all queries.

    >>> rs.num_ret(["a", "b", "c"], ["a"])
    3.0
    """
    return Ratio(ranked.places(k, "min(k,retrieved)"), np.ones(len(ranked)))


@metric("num_rel", formula="relevant", better="neither", **_COUNT)
def num_rel(ranked: Ranked) -> Ratio:
    """How many relevant items the truth has, over all queries.

    >>> rs.num_rel(["a", "b", "c"], ["a", "x"])
    2.0
    """
    return Ratio(ranked.relevant, np.ones(len(ranked)))


@metric("num_rel_ret", formula="hits(k)", **_COUNT)
def num_rel_ret(ranked: Ranked, *, k: Depth = None) -> Ratio:
    """How many relevant items the run returned, over all queries.

    >>> rs.num_rel_ret(["a", "b", "c"], ["a", "x"])
    1.0
    """
    return Ratio(ranked.hits(k), np.ones(len(ranked)))
