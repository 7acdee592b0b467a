"""Metrics of a person who reads from the top and stops when satisfied."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from rankstone.metrics.registry import metric
from rankstone.ranked import Depth, Floats, Ints, Ranked, Ratio, lengths

Stop = Literal["exp2", "grade"]


@metric(
    "err", formula="sum of R(i) / i * product of 1 - R(j) above i, with R = (2^grade - 1) / 2^max_grade", zeros=False
)
def err(ranked: Ranked, *, k: Depth = None, max_grade: float | None = None, stop: Stop = "exp2") -> Ratio:
    """Expected value of one over the rank at which a person stops, satisfied.

    An item satisfies with probability (2^grade - 1) / 2^max_grade. Without max_grade, the highest grade of the
    whole truth is taken. stop="grade": the grade is the probability itself. Chapelle et al., 2009.

    >>> rs.err(labels=[3, 2, 4], max_grade=4)
    0.633056640625
    """
    stops = _stop(ranked, ranked.grade, max_grade, stop)
    inside = ranked.cut(k)
    if inside is not None:
        stops = np.where(inside, stops, 0.0)
    return Ratio(_cascade(stops, ranked.rank, ranked.query, ranked.hit_offsets), np.ones(len(ranked)))


@metric("nerr", formula="err(k) / err(k) of the ideal list", zeros=False)
def nerr(ranked: Ranked, *, k: Depth = None, max_grade: float | None = None, stop: Stop = "exp2") -> Ratio:
    """Expected reciprocal rank, over that of the best possible list.

    >>> rs.nerr(labels=[4, 3, 2])
    1.0
    """
    stops = _stop(ranked, ranked.ideal, max_grade, stop)
    query = np.repeat(np.arange(len(ranked)), lengths(ranked.truth_offsets))
    if k is not None:
        limit = k[query] if isinstance(k, np.ndarray) else k
        stops = np.where(ranked.ideal_rank <= limit, stops, 0.0)
    best = _cascade(stops, ranked.ideal_rank, query, ranked.truth_offsets)
    return Ratio(err.row.function(ranked, k=k, max_grade=max_grade, stop=stop).numerator, best)


def _stop(ranked: Ranked, grades: Floats, max_grade: float | None, stop: Stop) -> Floats:
    highest = float(ranked.grades.max(initial=0.0))
    highest = max(highest, float(ranked.grade.max(initial=0.0)))
    if stop == "grade":
        if highest > 1:
            raise ValueError(f"err: the truth has grade {highest:g}, which is no probability; choose stop='exp2'")
        return grades
    top = highest if max_grade is None else float(max_grade)
    if highest > top:
        raise ValueError(f"err: the truth has grade {highest:g}, above max_grade={top:g}")
    return np.maximum(np.exp2(grades - top) - np.exp2(-top), 0.0)


def _cascade(stops: Floats, ranks: Ints, query: Ints, offsets: Ints) -> Floats:
    """Sum over items of stop / rank times the chance to have come so far. One step a depth, all queries at once."""
    total, reading = np.zeros(len(offsets) - 1), np.ones(len(offsets) - 1)
    size = lengths(offsets)
    active = np.flatnonzero(size)
    for step in range(int(size.max(initial=0))):
        active = active[size[active] > step]
        at = offsets[active] + step
        stop = stops[at]
        total[active] += reading[active] * stop / ranks[at]
        reading[active] *= 1.0 - stop
    return total


@metric("rbp", formula="(1 - p) * sum of p^(rank - 1) over relevant hits", expected=True, zeros=False)
def rbp(
    ranked: Ranked,
    *,
    k: Depth = None,
    p: float = 0.8,
    gain: Literal["binary", "linear"] = "binary",
    divisor: Literal["none", "best"] = "none",
) -> Ratio:
    """Relevant items met by a person who goes on to the next place with probability p.

    Moffat and Zobel, 2008. gain="linear" weighs each item by its grade; divisor="best" divides by what the relevant
    items would earn at the top of a list of this length.

    >>> rs.rbp([1, 3, 2], [1, 2], p=0.5)
    0.625
    """
    if not 0 < p < 1:
        raise ValueError(f"rbp: p must lie between 0 and 1, not {p!r}")
    gains = ranked.credit if gain == "binary" else np.where(ranked.credit > 0, ranked.grade, 0.0)
    earned = ranked.discounted(gains, _Persistence(p), k)
    return Ratio(earned, np.ones(len(ranked)) if divisor == "none" else _best(ranked, k, p, gain))


def _best(ranked: Ranked, k: Depth, p: float, gain: str) -> Floats:
    relevance = ranked.relevance(ranked.ideal)
    gains = relevance if gain == "binary" else np.where(relevance > 0, ranked.ideal, 0.0)
    limit = np.repeat(ranked.places(k, "min(k,retrieved)"), lengths(ranked.truth_offsets))
    worths = gains * _Persistence(p)(ranked.ideal_rank.astype(np.float64))
    return ranked.sum_truth(np.where(ranked.ideal_rank <= limit, worths, 0.0))


class _Persistence:
    """(1 - p) p^(rank - 1), equal to another with the same p so that its values are kept once."""

    def __init__(self, p: float) -> None:
        self.p = p

    def __call__(self, rank: Floats) -> Floats:
        return (1.0 - self.p) * np.power(self.p, rank - 1.0)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, _Persistence) and other.p == self.p

    def __hash__(self) -> int:
        return hash(("persistence", self.p))
