"""What a mean is made of. Sums of some of the queries add up to those of all, exactly if need be."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from rankstone._core import exact_total, total
from rankstone.align.alignment import Alignment, Bools, Floats, Ints
from rankstone.align.functions import Values
from rankstone.align.recommendations import Shown
from rankstone.conventions.averaging import AVERAGING, Deciding, Terms, number_for
from rankstone.conventions.plan import Plan
from rankstone.data.dicts import Dicts
from rankstone.evaluate.values import (
    Measured,
    V,
    apply,
    counted_of,
    entering,
    extreme_for,
    measure,
    measured,
    ratio_of,
    values_of,
    view_for,
    words,
)
from rankstone.program.ranking import Finish, Ratio

if TYPE_CHECKING:
    from rankstone.data.side_info import Known

Add: TypeAlias = Callable[[Floats], Any]  # sums up: `ExactSum`; np.asarray leaves each query's share as it is

_NONE: Floats = np.zeros(0)
_SCALE = 1126  # every float is a whole number of 2 ** -1126, which saved states count in; the core's are of 2 ** -1074


@dataclass(frozen=True, eq=False, slots=True)
class Outcome:
    """One metric's part of a result."""

    plan: Plan
    found: Measured
    mean: float

    @property
    def values(self) -> Floats:
        """One a query; NaN where the query does not enter the mean."""
        return self.found.values

    @property
    def ratio(self) -> Ratio:
        """What each query earned over what it could have earned."""
        return self.found.ratio

    @property
    def finish(self) -> Finish | None:
        """What is applied after the division."""
        return self.found.finish


class Sums(NamedTuple):
    """What a mean is made of. The sums of several shares of the queries add up."""

    top: Any
    bottom: Any
    queries: int

    def plus(self, other: Sums) -> Sums:
        """Both shares together."""
        return Sums(self.top + other.top, self.bottom + other.bottom, self.queries + other.queries)

    def rounded(self) -> Sums:
        """As floats."""
        return Sums(float(self.top), float(self.bottom), self.queries)


def outcome_of(plan: Plan, found: Measured, weights: Floats | None, add: Add | None = None) -> Outcome:
    """One metric's values and mean."""
    sums = sums_of(plan, found, weights, add or total).rounded()
    return Outcome(plan, found, mean_from(plan, sums, found.finish))


def sums_of(plan: Plan, found: Measured, weights: Floats | None, add: Add = total) -> Sums:
    """The sums for the kind of mean that was chosen, each made by `add`."""
    ranked, counted = found.ranked, found.counted
    keep: Any = slice(None) if counted is None else counted
    queries = len(found.values) if counted is None else int(np.count_nonzero(counted))
    if plan.averaging.pooled:
        view = as_one(plan, ranked, one_list)
        if view is None:
            return UNKNOWN
        whole = apply(plan, words(view))
        return Sums(float(whole.numerator[0]), float(whole.denominator[0]), queries)
    top, bottom = parts_of(plan, found, weights)
    return Sums(add(top[keep]), queries if bottom is None else add(bottom[keep]), queries)


def as_one(plan: Plan, aligned: V, join: Callable[[Plan, V], V]) -> V | None:
    """The rows of all queries that count as one list; None where no order of tied items is known to be it."""
    # A query that has no value of its own has rows all the same.
    entered = entering(plan, words(aligned), counted_of(plan, words(aligned)))
    joined = join(plan, aligned if entered is None else aligned.only(entered))
    return view_for(plan, joined) if aligned.best is None else extreme_for(plan, joined, aligned.best)


def parts_of(plan: Plan, found: Measured, weights: Values) -> tuple[Values, Values | None]:
    """What each query adds to the two sums of the mean; None: 1 to the second."""
    ranking, values, counted = words(found.ranked), found.values, found.counted
    if plan.choices["nan_in_mean"] == "zero":
        values = ranking.where(values == values, values, 0.0)
    return plan.averaging.terms(
        Terms(ranking, lambda: found.ratio, values, weights, lambda part: values_of(plan, ranking, part, counted)[0])
    )


def shares_of(plan: Plan, found: Measured, weights: Floats | None = None) -> tuple[Floats, Floats, Bools]:
    """What each query adds to the two sums of the mean, and whether it does."""
    kept = np.ones(len(found.values), dtype=bool) if found.counted is None else found.counted
    top, bottom = parts_of(plan, found, weights)
    shares = np.zeros((2, len(kept)))
    shares[0, kept] = top[kept]
    shares[1, kept] = 1.0 if bottom is None else bottom[kept]
    return shares[0], shares[1], kept


@dataclass(frozen=True, eq=False, slots=True)
class Shares:
    """What each query adds to the two sums of a mean, and whether it does: all that the mean of any of them needs."""

    plan: Plan
    finish: Finish | None
    top: Floats
    bottom: Floats
    kept: Bools

    def only(self, inside: Bools | Ints) -> Shares:
        """Those of some queries, or of all in another order."""
        return Shares(self.plan, self.finish, self.top[inside], self.bottom[inside], self.kept[inside])

    def mean(self) -> float:
        """The mean of these queries."""
        top, bottom = self.top[self.kept], self.bottom[self.kept]
        return mean_from(self.plan, Sums(total(top), total(bottom), len(top)), self.finish)

    def influence(self) -> Floats:
        """Values whose mean is the mean, one a query that counts; of a geometric mean its logarithm.

        What the mean would be if there were ever more queries like this one, to the first order (Deng, Knoblich and
        Lu 2018 on ratios).
        """
        averaging, n = self.plan.averaging, int(np.count_nonzero(self.kept))
        top, bottom = self.top[self.kept], self.bottom[self.kept]
        if averaging.rises and not averaging.weighted:
            return top * n if averaging.total else top
        if not averaging.two_means and not total(bottom):
            return np.full(len(top), self.mean())
        if not averaging.two_means and self.finish is None:
            from rankstone.statistics import influence  # a quick start: SciPy takes long

            return influence(top, bottom)
        means = total(top) / n, total(bottom) / n

        def mean(top: float, bottom: float) -> float:
            return float(mean_from(self.plan, Sums(top * n, bottom * n, n), self.finish))

        slopes = _slope(lambda x: mean(x, means[1]), means[0]), _slope(lambda x: mean(means[0], x), means[1])
        return mean(*means) + slopes[0] * (top - means[0]) + slopes[1] * (bottom - means[1])


def _slope(function: Callable[[float], float], x: float) -> float:
    """How fast a function grows, by differences of the fourth order."""
    step = 1e-3 * (abs(x) or 1.0)
    near, far = (function(x + at * step) - function(x - at * step) for at in (1, 2))
    return (8 * near - far) / (12 * step)


def finish_of(plan: Plan, known: Known | None = None) -> Finish | None:
    """What is applied after the division, as the metric says of no queries at all. known: what is known of items."""
    source = Dicts({}, {})
    ranked = source.align(plan.alignment).ranked
    if plan.metric.declaration.reads == "shown":
        if not plan.averaging.divides:  # each list's value has it applied already
            return None
        from rankstone.data.side_info import anything  # a quick start: few metrics need it

        shown: Any = Shown.of(
            ranked, anything() if known is None else known, source.first(plan.alignment, None), list, plan.alignment
        )
        return apply(plan, view_for(plan, shown)).finish
    return measure(plan, ranked).finish


def one_list(plan: Plan, ranked: Alignment) -> Alignment:
    """The rows of all queries by score, if each has a grade."""
    unjudged = ranked.retrieved - np.diff(ranked.placed_offsets)
    if plan.metric.declaration.kind in ("ranking", "count") and unjudged.any():
        raise ValueError(
            f"{plan.metric}: averaging='one_list' needs a grade for every row; {unjudged.sum()} of the run have none"
        )
    return ranked.as_one_list()


class Range(NamedTuple):
    """What other orders of tied items would make of a mean, and which queries' values depend on their order."""

    ends: tuple[Sums, Sums]
    moved: Bools


UNKNOWN = Sums(math.nan, math.nan, 0)  # of an order that nobody knows


def range_of(plan: Plan, aligned: Alignment, weights: Floats | None, add: Add = total) -> Range | None:
    """The sums that orders of tied items can make, lowest and highest in any order; None where nothing is tied."""
    if isinstance(aligned, Shown):
        moved = aligned.data.undecided(plan.arguments.get("k"))
        return Range((UNKNOWN, UNKNOWN), moved) if moved.any() else None
    pooled = plan.averaging.pooled  # where items of different queries can be tied
    if plan.metric.declaration.kind == "ratings" or (aligned.tied is None and not pooled):
        return None
    worst, best = extreme_for(plan, aligned, best=False), extreme_for(plan, aligned, best=True)
    if worst is None or best is None:
        tied = np.zeros(0) if aligned.tied is None else aligned.query[aligned.tied > 1]
        return Range((UNKNOWN, UNKNOWN), np.isin(np.arange(len(aligned)), tied))  # they may depend on it
    low, high = (measured(plan, view, ratio_of(plan, words(view))) for view in (worst, best))
    moved = ~np.isclose(low.values, high.values, rtol=1e-12, atol=1e-15, equal_nan=True)
    return Range((sums_of(plan, low, weights, add), sums_of(plan, high, weights, add)), moved)


def span(means: Sequence[float]) -> tuple[float, float]:
    """The lowest and the highest of some means; NaN where one of them is not known."""
    return (math.nan, math.nan) if any(map(math.isnan, means)) else (min(means), max(means))


class _Here:
    """The numbers are at hand."""

    def choose(self, condition: bool, yes: Callable[[], float], no: Callable[[], float]) -> float:
        return yes() if condition else no()

    def refuse(self, condition: bool, problem: str) -> None:
        if condition:
            raise ValueError(problem)

    def exp(self, x: float) -> float:
        return float(np.exp(x))

    def round(self, x: float, digits: int) -> float:
        return round(x, digits)


_HERE = _Here()


def mean_from(plan: Plan, sums: Sums | tuple[float, float, int], finish: Finish | None, to: Deciding = _HERE) -> Any:
    """The mean that the sums make."""
    choices = plan.choices
    averaging, digits = AVERAGING[choices["averaging"]], choices["digits"]
    top, bottom, queries = sums
    if to is _HERE and (math.isinf(top) or math.isinf(bottom)):  # of values that are finite
        raise ValueError(f"{plan.metric}: the values of the queries are too large to add up as floats")
    if averaging.pooled:
        found = averaging.mean(plan, sums, finish, to)
    else:
        none = (bottom if averaging.rises else queries) == 0
        if choices["no_queries"] == "error":
            to.refuse(none, f"{plan.metric}: there is no query to average over")
        found = to.choose(
            none, lambda: number_for(choices["no_queries"]), lambda: averaging.mean(plan, sums, finish, to)
        )
    return found if digits is None else to.round(found, digits)


class ExactSum:
    """A sum of floats without any rounding, so that their order does not matter."""

    __slots__ = ("_other", "_units")

    def __init__(self, values: Floats = _NONE, units: int = 0, other: float = 0.0) -> None:
        self._units = units  # of 2 ** -_SCALE
        self._other = other  # infinite, or not a number
        if len(values):
            found, more = exact_total(values)
            self._units += int.from_bytes(found, "little", signed=True) << (_SCALE - 1074)
            self._other += more

    def __add__(self, other: ExactSum | float) -> ExactSum:
        if isinstance(other, int):
            return ExactSum(units=self._units + (other << _SCALE), other=self._other)
        if isinstance(other, float):
            other = ExactSum(np.array([other]))
        return ExactSum(units=self._units + other._units, other=self._other + other._other)

    __radd__ = __add__

    def __float__(self) -> float:
        try:
            return self._units / (1 << _SCALE) + self._other
        except OverflowError:
            return (math.inf if self._units > 0 else -math.inf) + self._other

    def __reduce__(self) -> tuple[Any, ...]:
        return ExactSum, (_NONE, self._units, self._other)
