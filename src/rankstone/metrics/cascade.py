"""Metrics of a person who reads from the top and stops when satisfied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rankstone.align.ranking import Depth, Functions, Ranking, Ratio, Values
from rankstone.metrics.registry import metric

Stop = Literal["exp2", "grade"]


def _takes_highest(parameters: Mapping[str, Any]) -> str:
    unsaid = parameters["max_grade"] is None and parameters["stop"] != "grade"
    return "takes the highest grade of all queries; say it: max_grade=" if unsaid else ""


@metric(
    "err",
    formula="sum of R(i) / i * product of 1 - R(j) above i, with R = (2^grade - 1) / 2^max_grade",
    zeros=False,
    all_queries=_takes_highest,
)
def err(ranking: Ranking, *, k: Depth = None, max_grade: float | None = None, stop: Stop = "exp2") -> Ratio:
    """Expected value of one over the rank at which a person stops, satisfied.

    An item satisfies with probability (2^grade - 1) / 2^max_grade. Without max_grade, the highest grade of the
    whole truth is taken. stop="grade": the grade is the probability itself. Chapelle et al., 2009.

    >>> rs.err(labels=[3, 2, 4], max_grade=4)
    0.633056640625
    """
    return Ratio(_cascade(ranking, k, max_grade, stop), ranking.one)


@metric("nerr", formula="err(k) / err(k) of the ideal list", zeros=False, all_queries=_takes_highest)
def nerr(ranking: Ranking, *, k: Depth = None, max_grade: float | None = None, stop: Stop = "exp2") -> Ratio:
    """Expected reciprocal rank, over that of the best possible list.

    >>> rs.nerr(labels=[4, 3, 2])
    1.0
    """
    return Ratio(_cascade(ranking, k, max_grade, stop), _cascade(ranking.ideal(), k, max_grade, stop))


def _cascade(ranking: Ranking, k: Depth, max_grade: float | None, stop: Stop) -> Values:
    """Sum over items of stop / rank times the chance to have come so far."""
    stops = _stop(ranking, max_grade, stop)
    return ranking.sum(ranking.surviving(stops) * stops / ranking.rank, k)


def _stop(ranking: Ranking, max_grade: float | None, stop: Stop) -> Values:
    truth = ranking.ideal()
    if stop == "grade":
        truth.refuse_items(truth.grade > 1, "a grade is above 1, which is no probability; choose stop='exp2'")
        return ranking.grade
    if max_grade is not None:
        truth.refuse_items(truth.grade > max_grade, f"a grade is above max_grade={max_grade:g}")
    top = ranking.highest_grade if max_grade is None else float(max_grade)
    return ranking.maximum(2.0 ** (ranking.grade - top) - 2.0**-top, 0.0)


@metric("rbp", formula="(1 - p) * sum of p^(rank - 1) over relevant hits", expected=True, zeros=False)
def rbp(
    ranking: Ranking,
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

    def earned(items: Ranking, depth: Depth) -> Values:
        gains = items.credit if gain == "binary" else items.where(items.credit > 0, items.grade, 0.0)
        return items.discounted(gains, Persistence(p), depth)

    best = ranking.one if divisor == "none" else earned(ranking.ideal(), ranking.places(k, "min(k,retrieved)"))
    return Ratio(earned(ranking, k), best)


@dataclass(frozen=True)
class Persistence:
    """(1 - p) p^(rank - 1)."""

    p: float

    def __call__(self, f: Functions, rank: Values) -> Values:
        return (1.0 - self.p) * self.p ** (rank - 1.0)
