"""Metrics that average precision down the list, and those that look for the first relevant item."""

from __future__ import annotations

from typing import Literal

from rankstone.align.ranking import Depth, Functions, Ranking, Ratio, Values
from rankstone.errors import NoExpectedValue
from rankstone.metrics.gains import reciprocal
from rankstone.metrics.registry import metric

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
def ap(ranking: Ranking, *, k: Depth = None, divisor: ApDivisor = "relevant", term_digits: int | None = None) -> Ratio:
    """Precision at each relevant item of the first k, averaged over all relevant items.

    Buckley and Voorhees, 2000. Its mean over queries is MAP.

    >>> rs.ap([1, 3, 2, 6, 4, 5], [1, 2, 4])
    0.7555555555555555
    """
    return Ratio(_sum_of_precisions(ranking, k, term_digits), _ap_divisor(ranking, k, divisor))


@metric(
    "gmap",
    aliases=("gm_map",),
    formula="geometric mean of ap over queries",
    choices={"averaging": "geometric"},
    zeros=False,
)
def gmap(ranking: Ranking, *, k: Depth = None, divisor: ApDivisor = "relevant") -> Ratio:
    """Average precision, to be averaged geometrically: it rewards lifting the worst queries.

    A query's value counts as at least 0.00001. Robertson, 2006.

    >>> rs.gmap([1, 3], [1])
    1.0
    """
    return Ratio(_sum_of_precisions(ranking, k, None), _ap_divisor(ranking, k, divisor))


def _sum_of_precisions(ranking: Ranking, k: Depth, digits: int | None) -> Values:
    if ranking.expected:
        if digits is not None:
            raise NoExpectedValue("has no closed form over all orders of tied items with rounded terms")
        return ranking.expected_precisions(k)

    def terms() -> Values:
        precisions = ranking.relevant_so_far / ranking.rank
        return ranking.credit * (precisions if digits is None else ranking.round(precisions, digits))

    return ranking.sum(ranking.remember(("precisions", digits), terms), k)


def _ap_divisor(ranking: Ranking, k: Depth, divisor: ApDivisor) -> Values:
    if divisor == "relevant":
        return ranking.relevant
    if divisor == "none":
        return ranking.one
    if divisor == "found":
        if ranking.expected:
            raise NoExpectedValue("has no closed form over all orders of tied items with divisor='found'")
        return ranking.hits(k)
    if divisor == "k":
        return ranking.places(k, "k")
    if divisor == "grades":
        ideal = ranking.ideal()
        return ideal.sum(ranking.maximum(ideal.grade, 0.0), k)
    bound = ranking.minimum(ranking.relevant, ranking.retrieved) if "retrieved" in divisor else ranking.relevant
    return ranking.minimum(bound, k) if "k" in divisor and k is not None else bound


@metric("rr", aliases=("mrr", "reciprocal_rank"), formula="1 / first", expected=True, zeros=False)
def rr(ranking: Ranking, *, k: Depth = None, over: Literal["first", "all"] = "first") -> Ratio:
    """One over the rank of the first relevant item in the first k; 0 if there is none.

    over="all" sums grade / rank over every relevant item instead. Its mean over queries is MRR.

    >>> rs.rr([3, 1, 2], [1, 2])
    0.5
    """
    if over == "all":
        return Ratio(
            ranking.discounted(ranking.where(ranking.credit > 0, ranking.grade, 0.0), reciprocal, k), ranking.one
        )
    return Ratio(ranking.expected_reciprocal(k) if ranking.expected else 1.0 / ranking.first(k), ranking.one)


@metric("iprec", aliases=("iprec_at_recall",), formula="highest precision at or beyond a recall", zeros=False)
def iprec(ranking: Ranking, *, recall: float = 0.0, needed: Needed = "ceil(x)") -> Ratio:
    """Highest precision at any rank where at least this share of the relevant items has been found.

    `needed` says how many items a share of x items is: trec_eval 9 takes floor(x+0.9), trec_eval 10 round(x).

    >>> rs.iprec([1, 3, 2], [1, 2], recall=0.75)
    0.6666666666666666
    """
    if not 0 <= recall <= 1:
        raise ValueError(f"iprec: recall must lie between 0 and 1, not {recall!r}")
    return Ratio(_interpolated(ranking, recall, needed), ranking.one)


@metric("iprec11", aliases=("eleven_point",), formula="mean of iprec at recall 0, 0.1 ... 1", zeros=False)
def iprec11(ranking: Ranking, *, needed: Needed = "ceil(x)") -> Ratio:
    """Mean of the interpolated precision at recall 0, 0.1, up to 1.

    >>> rs.iprec11([1, 3, 2], [1, 2])
    0.8484848484848484
    """
    return Ratio(sum(_interpolated(ranking, i / 10, needed) for i in range(11)) / 11.0, ranking.one)


def _interpolated(ranking: Ranking, recall: float, needed: Needed) -> Values:
    def least(f: Functions, relevant: Values) -> Values:
        if needed == "ceil(x)":  # 0.3 of 10 items are 3 of them, although 0.3 * 10 is a little more in floating point
            return f.ceil(f.round(recall * relevant, 9))
        return f.floor(recall * relevant + (0.9 if needed == "floor(x+0.9)" else 0.5))

    so_far = ranking.relevant_so_far
    inside = (ranking.credit > 0) & (so_far >= ranking.spread(ranking.by_count(least)))
    return ranking.highest(ranking.where(inside, so_far / ranking.rank, 0.0))
