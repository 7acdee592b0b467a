"""Metrics of graded relevance: what the items are worth, discounted by how far down they stand."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from rankstone.metrics.registry import metric
from rankstone.ranked import Depth, Floats, Ints, Ranked, Ratio, lengths, sorted_within

Negative = Literal["zero", "signed", "error"]
Below = Literal["gain", "none"]  # what an item graded below the threshold has
Discount = Literal["log2(rank+1)", "log2(max(rank,2))", "ln(rank+1)", "rank"]
Ideal = Literal["judged", "nonzero", "retrieved", "ones", "given"]
IdealSign = Literal["any", "positive"]  # "positive": nothing can be earned where the ideal list earns no more than 0
IdealDepth = Literal["k", "min(k,retrieved)", "all"]

DISCOUNTS: dict[str, Callable[[Floats], Floats]] = {
    "log2(rank+1)": lambda rank: 1.0 / np.log2(rank + 1.0),
    "log2(max(rank,2))": lambda rank: 1.0 / np.log2(np.maximum(rank, 2.0)),
    "ln(rank+1)": lambda rank: 1.0 / np.log(rank + 1.0),
    "rank": lambda rank: 1.0 / rank,
}


def worth(ranked: Ranked, grades: Floats, gain: Any, negative: Negative, below: Below = "gain") -> Floats:
    """What items of these grades are worth under a named gain."""
    if negative == "error" and ranked.grades.min(initial=0.0) < 0:
        raise ValueError(f"grade {ranked.grades.min():g} is negative; choose negative='zero' or 'signed'")
    if below == "none":
        return np.where(ranked.relevance(grades) > 0, worth(ranked, grades, gain, negative), 0.0)
    if gain == "binary":
        return ranked.relevance(grades)
    if isinstance(gain, tuple):
        return _looked_up(grades, gain)
    if gain == "linear":
        values = grades
    else:
        match = re.fullmatch(r"exp(\d+(?:\.\d+)?)", gain) if isinstance(gain, str) else None
        if match is None or not float(match[1]) > 1:
            raise ValueError(f"gain {gain!r}; choose from 'linear', 'exp2', 'binary' or a table such as {{0: 0, 1: 3}}")
        with np.errstate(over="ignore"):
            values = np.power(float(match[1]), grades) - 1.0
        if not np.isfinite(values).all():
            raise ValueError(f"grade {grades.max():g} is too large for gain {gain!r}")
    return np.maximum(values, 0.0) if negative == "zero" and len(values) and values.min() < 0 else values


def _looked_up(grades: Floats, table: tuple[tuple[float, float], ...]) -> Floats:
    keys = np.array([key for key, _ in table], dtype=np.float64)
    values = np.array([value for _, value in table], dtype=np.float64)
    order = np.argsort(keys)
    at = np.searchsorted(keys[order], grades).clip(max=len(keys) - 1)
    unknown = keys[order][at] != grades
    if unknown.any():
        raise ValueError(f"the gain table has no entry for grade {grades[unknown][0]:g}")
    return values[order][at]


def _earned(ranked: Ranked, k: Depth, gain: Any, discount: str | None, negative: Negative, below: Below) -> Floats:
    gains = ranked.remember(("gain", gain, negative, below), lambda: worth(ranked, ranked.grade, gain, negative, below))
    return ranked.discounted(gains, DISCOUNTS[discount] if discount else None, k)


def _values_zero(parameters: Mapping[str, Any]) -> bool:
    """A table may give a gain to grade 0."""
    return isinstance(parameters["gain"], tuple)


def _places_zero(parameters: Mapping[str, Any]) -> bool:
    """In some ideal lists an item judged 0 holds a place before others that count."""
    return _values_zero(parameters) or parameters["ideal"] == "given" or parameters["negative"] == "signed"


@metric("cg", formula="sum of gain(grade)", expected=True, zeros=_values_zero, bounds=(0, np.inf))
def cg(
    ranked: Ranked, *, k: Depth = None, gain: Any = "linear", negative: Negative = "zero", below: Below = "gain"
) -> Ratio:
    """Total gain of the first k items, wherever they stand.

    Jarvelin and Kekalainen, 2002.

    >>> rs.cg(labels=[3, 2, 3, 0, 1, 2], k=6)
    11.0
    """
    return Ratio(_earned(ranked, k, gain, None, negative, below), np.ones(len(ranked)))


@metric("dcg", formula="sum of gain(grade) / log2(rank + 1)", expected=True, zeros=_values_zero, bounds=(0, np.inf))
def dcg(
    ranked: Ranked,
    *,
    k: Depth = None,
    gain: Any = "linear",
    discount: Discount = "log2(rank+1)",
    negative: Negative = "zero",
    below: Below = "gain",
) -> Ratio:
    """Total gain of the first k items, each discounted by its rank.

    Jarvelin and Kekalainen, 2002. below="none" takes the gain from grades below the threshold.

    >>> rs.dcg(labels=[3, 0, 1], k=3)
    3.5
    """
    return Ratio(_earned(ranked, k, gain, discount, negative, below), np.ones(len(ranked)))


@metric("ndcg", formula="dcg(k) / dcg(k) of the ideal list", expected=True, zeros=_places_zero)
def ndcg(
    ranked: Ranked,
    *,
    k: Depth = None,
    gain: Any = "linear",
    discount: Discount = "log2(rank+1)",
    negative: Negative = "zero",
    ideal: Ideal = "judged",
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
    earned = _earned(ranked, k, gain, discount, negative, below)
    depth = k
    if ideal_depth == "min(k,retrieved)":
        depth = ranked.retrieved if k is None else np.minimum(k, ranked.retrieved)
    elif ideal_depth == "all":
        depth = None
    possible = _ideal(ranked, depth, gain, DISCOUNTS[discount], negative, ideal, below)
    return Ratio(earned, np.maximum(possible, 0.0) if ideal_sign == "positive" else possible)


def _ideal(
    ranked: Ranked,
    k: Depth,
    gain: Any,
    discount: Callable[[Floats], Floats],
    negative: Negative,
    ideal: Ideal,
    below: Below,
) -> Floats:
    if ideal == "ones":
        return sums_of_discounts(np.broadcast_to(ranked.retrieved if k is None else k, len(ranked)), discount)
    if ideal == "retrieved":
        return _ideal_of_hits(ranked, k, worth(ranked, ranked.grade, gain, negative, below), discount)
    if isinstance(k, int) and k >= ranked.longest_ideal:
        k = None

    def sums() -> Floats:
        worths = ranked.remember(("ideal", gain, discount, negative, ideal, below), discounted)
        if k is None:
            return ranked.sum_truth(worths)
        limit = np.repeat(k, lengths(ranked.truth_offsets)) if isinstance(k, np.ndarray) else k
        return ranked.sum_truth(np.where(places() <= limit, worths, 0.0))

    def places() -> Ints:
        """Where each item stands in the ideal list."""
        if ideal != "nonzero":
            return ranked.ideal_rank
        zeros = ranked.sum_truth((ranked.ideal == 0).astype(np.float64)).astype(np.int64)
        return ranked.ideal_rank - np.where(ranked.ideal < 0, np.repeat(zeros, lengths(ranked.truth_offsets)), 0)

    def discounted() -> Floats:
        gains = worth(ranked, ranked.grades if ideal == "given" else ranked.ideal, gain, negative, below)
        if isinstance(gain, tuple) and ideal != "given":  # a table need not grow with the grade
            gains = -sorted_within(-gains, ranked.truth_offsets)
        positions = np.arange(1.0, ranked.longest_ideal + 1)
        return gains * discount(positions)[places() - 1]

    key = ("ideal", gain, discount, negative, ideal, below, k)
    return sums() if isinstance(k, np.ndarray) else ranked.remember(key, sums)


def sums_of_discounts(depths: Any, discount: Callable[[Floats], Floats]) -> Floats:
    """Sum of the first discounts, for each depth; in pieces, since a cutoff can be far deeper than memory."""
    levels, at = np.unique(depths, return_inverse=True)
    sums, total, reached = np.zeros(len(levels)), 0.0, 0
    for i, level in enumerate(levels.tolist()):
        while reached < level:
            step = min(level - reached, 1 << 20)
            total += float(discount(np.arange(reached + 1.0, reached + step + 1.0)).sum())
            reached += step
        sums[i] = total
    return sums[at]


def _ideal_of_hits(ranked: Ranked, k: Depth, gains: Floats, discount: Callable[[Floats], Floats]) -> Floats:
    gains = -sorted_within(-gains, ranked.hit_offsets)
    position = np.arange(1, len(gains) + 1) - ranked.hit_offsets[ranked.query]
    limit = np.inf if k is None else k[ranked.query] if isinstance(k, np.ndarray) else k
    return ranked.sum(np.where(position <= limit, gains * discount(position.astype(np.float64)), 0.0))
