"""Metrics that average precision down the list, and those that look for the first relevant item."""

from __future__ import annotations

from typing import Literal

import numpy as np

from rankstone.metrics.registry import metric
from rankstone.ranked import Depth, Floats, NoExpectedValue, Ranked, Ratio

ApDivisor = Literal[
    "relevant",
    "min(relevant,k)",
    "min(relevant,retrieved)",
    "min(relevant,k,retrieved)",
    "found",
    "k",
    "grades",  # the sum of the k highest grades; of grades 0 and 1, min(relevant,k)
    "none",
]

Needed = Literal["ceil(x)", "floor(x+0.9)", "round(x)"]


@metric(
    "ap",
    aliases=("map", "average_precision"),
    formula="sum over relevant hits of nth / rank, over relevant",
    expected=True,
    zeros=False,
)
def ap(ranked: Ranked, *, k: Depth = None, divisor: ApDivisor = "relevant", term_digits: int | None = None) -> Ratio:
    """Precision at each relevant item of the first k, averaged over all relevant items.

    Buckley and Voorhees, 2000. Its mean over queries is MAP.

    >>> rs.ap([1, 3, 2, 6, 4, 5], [1, 2, 4])
    0.7555555555555555
    """
    return Ratio(_sum_of_precisions(ranked, k, term_digits), _ap_divisor(ranked, k, divisor))


@metric(
    "gmap",
    aliases=("gm_map",),
    formula="geometric mean of ap over queries",
    choices={"averaging": "geometric"},
    zeros=False,
)
def gmap(ranked: Ranked, *, k: Depth = None, divisor: ApDivisor = "relevant") -> Ratio:
    """Average precision, to be averaged geometrically: it rewards lifting the worst queries.

    A query's value counts as at least 0.00001. Robertson, 2006.

    >>> rs.gmap([1, 3], [1])
    1.0
    """
    return Ratio(_sum_of_precisions(ranked, k, None), _ap_divisor(ranked, k, divisor))


def _sum_of_precisions(ranked: Ranked, k: Depth, digits: int | None) -> Floats:
    if ranked.expected:
        if digits is not None:
            raise NoExpectedValue("has no closed form over all orders of tied items with rounded terms")
        return _expected_sum(ranked, k)

    def terms() -> Floats:
        precisions = ranked.nth / ranked.rank
        if digits is not None:
            precisions = np.round(precisions, digits)
        return precisions * ranked.credit

    values = ranked.remember(("precisions", digits), terms)
    inside = ranked.cut(k)
    return ranked.sum(values if inside is None else np.where(inside, values, 0.0))


def _expected_sum(ranked: Ranked, k: Depth) -> Floats:
    """Mean over all orders of tied items; McSherry and Najork, 2008, summed in closed form.

    In a group of n tied items, r of them relevant, after t places that hold R relevant ones, place i earns
    r/n * (R + 1 + (i - t - 1) * (r - 1) / (n - 1)) / i.
    """
    if ranked.relevance.credit != "whole":
        raise NoExpectedValue("has no closed form over all orders of tied items for partly relevant ones")
    groups = ranked.groups()
    limit = np.inf if k is None else k[groups.query] if isinstance(k, np.ndarray) else k
    last = np.minimum(groups.before + groups.size, limit).astype(np.int64)
    first = np.minimum(groups.before, last)
    deepest = int(last.max(initial=0))
    harmonic = np.concatenate(([0.0], np.cumsum(1.0 / np.arange(1.0, deepest + 1))))
    slope = np.where(groups.size > 1, (groups.relevant - 1.0) / np.maximum(groups.size - 1, 1), 0.0)
    constant = groups.relevant_before + 1.0 - slope * (groups.before + 1.0)
    earned = constant * (harmonic[last] - harmonic[first]) + slope * (last - first)
    return ranked.sum_groups(earned * groups.relevant / groups.size)


def _ap_divisor(ranked: Ranked, k: Depth, divisor: ApDivisor) -> Floats:
    relevant = ranked.relevant
    if divisor == "relevant":
        return relevant
    if divisor == "none":
        return np.ones(len(ranked))
    if divisor == "found":
        if ranked.expected:
            raise NoExpectedValue("has no closed form over all orders of tied items with divisor='found'")
        return ranked.hits(k)
    if divisor == "k":
        return ranked.places(k, "k")
    if divisor == "grades":
        return _sum_of_grades(ranked, k)
    bound = relevant if "retrieved" not in divisor else np.minimum(relevant, ranked.retrieved)
    return bound if k is None or "k" not in divisor else np.minimum(bound, k)


def _sum_of_grades(ranked: Ranked, k: Depth) -> Floats:
    grades = np.maximum(ranked.ideal, 0.0)
    if k is None:
        return ranked.sum_truth(grades)
    limit = np.repeat(k, np.diff(ranked.truth_offsets)) if isinstance(k, np.ndarray) else k
    return ranked.sum_truth(np.where(ranked.ideal_rank <= limit, grades, 0.0))


@metric("rr", aliases=("mrr", "reciprocal_rank"), formula="1 / first", expected=True, zeros=False)
def rr(ranked: Ranked, *, k: Depth = None, over: Literal["first", "all"] = "first") -> Ratio:
    """One over the rank of the first relevant item in the first k; 0 if there is none.

    over="all" sums grade / rank over every relevant item instead. Its mean over queries is MRR.

    >>> rs.rr([3, 1, 2], [1, 2])
    0.5
    """
    ones = np.ones(len(ranked))
    if over == "all":
        weights = np.where(ranked.credit > 0, ranked.grade, 0.0)
        return Ratio(ranked.discounted(weights, _reciprocal, k), ones)
    if ranked.expected:
        return Ratio(_expected_reciprocal(ranked, k), ones)
    return Ratio(1.0 / ranked.first(k), ones)


def _reciprocal(rank: Floats) -> Floats:
    return 1.0 / rank


def _expected_reciprocal(ranked: Ranked, k: Depth) -> Floats:
    """Mean over all orders of the first group that holds a relevant item; nothing deeper can come first."""
    groups = ranked.groups()
    query = groups.query[groups.opens]
    before, size, relevant = (
        groups.before[groups.opens],
        groups.size[groups.opens],
        groups.found[groups.opens],
    )
    limit = np.broadcast_to(np.inf if k is None else k[query] if isinstance(k, np.ndarray) else k, len(query))
    steps = np.minimum(size - relevant + 1, limit - before).astype(np.int64)
    out = np.zeros(len(ranked))
    if len(query) < steps.max(initial=0):  # few long groups: all places of one at a time
        for at in np.flatnonzero(steps > 0):
            left = size[at] - np.arange(steps[at])  # items of the group not yet placed
            none_yet = np.append(1.0, np.cumprod((left - relevant[at]) / left)[:-1])
            out[query[at]] = (none_yet * relevant[at] / left / (before[at] + np.arange(1, steps[at] + 1))).sum()
        return out
    none_yet = np.ones(len(query))
    for step in range(1, int(steps.max(initial=0)) + 1):  # many short groups: one place of all at a time
        open_ = step <= steps
        left = np.maximum(size - step + 1, 1)
        hit = none_yet * relevant / left
        out[query[open_]] += (hit / (before + step))[open_]
        none_yet = none_yet * (left - relevant) / left
    return out


@metric("iprec", aliases=("iprec_at_recall",), formula="highest precision at or beyond a recall", zeros=False)
def iprec(ranked: Ranked, *, recall: float = 0.0, needed: Needed = "ceil(x)") -> Ratio:
    """Highest precision at any rank where at least this share of the relevant items has been found.

    `needed` says how many items a share of x items is: trec_eval 9 takes floor(x+0.9), trec_eval 10 round(x).

    >>> rs.iprec([1, 3, 2], [1, 2], recall=0.75)
    0.6666666666666666
    """
    if not 0 <= recall <= 1:
        raise ValueError(f"iprec: recall must lie between 0 and 1, not {recall!r}")
    return Ratio(_interpolated(ranked, recall, needed), np.ones(len(ranked)))


@metric("iprec11", aliases=("eleven_point",), formula="mean of iprec at recall 0, 0.1 ... 1", zeros=False)
def iprec11(ranked: Ranked, *, needed: Needed = "ceil(x)") -> Ratio:
    """Mean of the interpolated precision at recall 0, 0.1, up to 1.

    >>> rs.iprec11([1, 3, 2], [1, 2])
    0.8484848484848484
    """
    levels = [_interpolated(ranked, i / 10, needed) for i in range(11)]
    return Ratio(np.sum(levels, axis=0) / 11.0, np.ones(len(ranked)))


def _interpolated(ranked: Ranked, recall: float, needed: Needed) -> Floats:
    share = recall * ranked.relevant
    if needed == "ceil(x)":  # 0.3 of 10 items are 3 of them, although 0.3 * 10 is a little more in floating point
        least = np.ceil(np.round(share, 9))
    else:
        least = np.floor(share + (0.9 if needed == "floor(x+0.9)" else 0.5))
    precisions = np.where(
        (ranked.credit > 0) & (ranked.nth >= least[ranked.query]),
        ranked.nth / np.maximum(ranked.rank, 1),
        0.0,
    )
    out = np.zeros(len(ranked))
    np.maximum.at(out, ranked.query, precisions)
    return out
