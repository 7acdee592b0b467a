"""Metrics of graded relevance: what the items are worth, discounted by how far down they stand."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Literal

from rankstone.align.ranking import Depth, Discount, Functions, Ranking, Ratio, Values
from rankstone.metrics.registry import metric

Negative = Literal["zero", "signed", "error"]
Below = Literal["gain", "none"]  # what an item graded below the threshold has
DiscountName = Literal["log2(rank+1)", "log2(max(rank,2))", "ln(rank+1)", "rank"]
IdealItems = Literal["judged", "nonzero", "retrieved", "ones", "given"]
IdealSign = Literal["any", "positive"]  # "positive": nothing can be earned where the ideal list earns no more than 0
IdealDepth = Literal["k", "min(k,retrieved)", "all"]


def _log2(f: Functions, rank: Values) -> Values:
    return 1.0 / f.log2(rank + 1.0)


def _log2_from_2(f: Functions, rank: Values) -> Values:
    return 1.0 / f.log2(f.maximum(rank, 2.0))


def _ln(f: Functions, rank: Values) -> Values:
    return 1.0 / f.log(rank + 1.0)


def reciprocal(f: Functions, rank: Values) -> Values:
    """One over the rank."""
    return 1.0 / rank


DISCOUNTS: Mapping[str, Discount] = {
    "log2(rank+1)": _log2,
    "log2(max(rank,2))": _log2_from_2,
    "ln(rank+1)": _ln,
    "rank": reciprocal,
}


def gains(ranking: Ranking, gain: Any, negative: Negative, below: Below) -> Values:
    """What each item is worth under a named gain."""
    key = ("gains", gain, negative, below)
    return ranking.remember(key, lambda: _worth(ranking, gain, negative, below))


def _worth(ranking: Ranking, gain: Any, negative: Negative, below: Below) -> Values:
    grade = ranking.grade
    if below == "none":
        return ranking.where(ranking.relevance(grade) > 0, _worth(ranking, gain, negative, "gain"), 0.0)
    if gain == "binary":
        return ranking.relevance(grade)
    if isinstance(gain, tuple):
        return ranking.looked_up(grade, gain)
    base = _base(gain)
    worth = grade
    if base is not None:
        worth = base**grade - 1.0
        ranking.refuse_items(worth == math.inf, f"a grade is too large for gain {gain!r}")
    return ranking.maximum(worth, 0.0) if negative == "zero" else worth


def _base(gain: Any) -> float | None:
    """Of an exponential gain; None for the grade itself."""
    if gain == "linear":
        return None
    match = re.fullmatch(r"exp(\d+(?:\.\d+)?)", gain) if isinstance(gain, str) else None
    if match is None or not float(match[1]) > 1:
        raise ValueError(f"gain {gain!r}; choose from 'linear', 'exp2', 'binary' or a table such as {{0: 0, 1: 3}}")
    return float(match[1])


def _refuse_negative(ranking: Ranking, negative: Negative) -> None:
    if negative == "error":
        truth = ranking.ideal()
        truth.refuse_items(truth.grade < 0, "a grade is negative; choose negative='zero' or 'signed'")


def _values_zero(parameters: Mapping[str, Any]) -> bool:
    """A table may give a gain to grade 0."""
    return isinstance(parameters["gain"], tuple)


def _places_zero(parameters: Mapping[str, Any]) -> bool:
    """In some ideal lists an item judged 0 holds a place before others that count."""
    return _values_zero(parameters) or parameters["ideal"] == "given" or parameters["negative"] == "signed"


@metric("cg", formula="sum of gain(grade)", expected=True, zeros=_values_zero, bounds=(0, math.inf))
def cg(
    ranking: Ranking, *, k: Depth = None, gain: Any = "linear", negative: Negative = "zero", below: Below = "gain"
) -> Ratio:
    """Total gain of the first k items, wherever they stand.

    Jarvelin and Kekalainen, 2002.

    >>> rs.cg(labels=[3, 2, 3, 0, 1, 2], k=6)
    11.0
    """
    _refuse_negative(ranking, negative)
    return Ratio(ranking.sum(gains(ranking, gain, negative, below), k), ranking.one)


@metric("dcg", formula="sum of gain(grade) / log2(rank + 1)", expected=True, zeros=_values_zero, bounds=(0, math.inf))
def dcg(
    ranking: Ranking,
    *,
    k: Depth = None,
    gain: Any = "linear",
    discount: DiscountName = "log2(rank+1)",
    negative: Negative = "zero",
    below: Below = "gain",
) -> Ratio:
    """Total gain of the first k items, each discounted by its rank.

    Jarvelin and Kekalainen, 2002. below="none" takes the gain from grades below the threshold.

    >>> rs.dcg(labels=[3, 0, 1], k=3)
    3.5
    """
    _refuse_negative(ranking, negative)
    return Ratio(ranking.discounted(gains(ranking, gain, negative, below), DISCOUNTS[discount], k), ranking.one)


@metric("ndcg", formula="dcg(k) / dcg(k) of the ideal list", expected=True, zeros=_places_zero)
def ndcg(
    ranking: Ranking,
    *,
    k: Depth = None,
    gain: Any = "linear",
    discount: DiscountName = "log2(rank+1)",
    negative: Negative = "zero",
    ideal: IdealItems = "judged",
    ideal_depth: IdealDepth = "k",
    ideal_sign: IdealSign = "any",
    below: Below = "gain",
) -> Ratio:
    """Discounted gain of the first k items, over that of the best possible list.

    Jarvelin and Kekalainen, 2002; gain="exp2" is that of Burges et al., 2005. below="none" takes the gain from grades
    below the threshold.

    >>> rs.ndcg([1, 3, 2, 6], [1, 2, 4], k=2)
    0.6131471927654584
    """
    _refuse_negative(ranking, negative)
    weigh = DISCOUNTS[discount]

    def worth(items: Ranking) -> Values:
        return gains(items, gain, negative, below)

    depth = k if ideal_depth == "k" else None if ideal_depth == "all" else ranking.places(k, "min(k,retrieved)")
    if ideal == "ones":
        possible = ranking.sum_of_discounts(weigh, ranking.places(depth))
    else:
        by_worth = isinstance(gain, tuple) and ideal != "given"  # a table need not grow with the grade
        best = ranking.ideal(ideal, worth if by_worth else None)
        possible = best.discounted(worth(best), weigh, depth)
    earned = ranking.discounted(worth(ranking), weigh, k)
    return Ratio(earned, ranking.maximum(possible, 0.0) if ideal_sign == "positive" else possible)
