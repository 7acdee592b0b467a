"""Means from sums. Sums of parts of the queries add up to those of all queries, exactly where needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from rankstone._core import exact_total, total
from rankstone.align.alignment import Alignment, Bools, Floats, Ints
from rankstone.align.elementwise import Values
from rankstone.align.recommendations import Recommendations
from rankstone.conventions.averaging import AVERAGING, Decisions, MeanTerms, number_for
from rankstone.conventions.plan import Plan
from rankstone.data.dicts import Dicts
from rankstone.errors import InputError
from rankstone.evaluate.values import (
    MetricValues,
    V,
    apply,
    counted_of,
    entering,
    extreme_for,
    measure,
    measured,
    metric_input,
    ratio_of,
    values_of,
    view_for,
)
from rankstone.program.ranking import Finish, Ratio

if TYPE_CHECKING:
    from rankstone.data.side_info import ItemIndex

Add: TypeAlias = Callable[[Floats], Any]  # a sum: `total` or `ExactSum`

_NONE: Floats = np.zeros(0)
_SCALE = 1126  # every float is a whole number of 2 ** -1126, which saved states count in; the core's are of 2 ** -1074


@dataclass(frozen=True, eq=False, slots=True)
class MetricResult:
    """One metric's part of a result."""

    plan: Plan
    metric_values: MetricValues
    mean: float

    @property
    def values(self) -> Floats:
        """One value per query; NaN where the query is not averaged."""
        return self.metric_values.values

    @property
    def ratio(self) -> Ratio:
        """Numerator and denominator of each query's value."""
        return self.metric_values.ratio

    @property
    def finish(self) -> Finish | None:
        """The function that is applied after the division."""
        return self.metric_values.finish


class Sums(NamedTuple):
    """The sums of a mean. Sums of disjoint sets of queries can be added."""

    top: Any
    bottom: Any
    queries: int

    def plus(self, other: Sums) -> Sums:
        """The sums of both sets of queries."""
        return Sums(self.top + other.top, self.bottom + other.bottom, self.queries + other.queries)

    def rounded(self) -> Sums:
        """As floats."""
        return Sums(float(self.top), float(self.bottom), self.queries)


def outcome_of(plan: Plan, metric_values: MetricValues, weights: Floats | None, add: Add | None = None) -> MetricResult:
    """One metric's values and mean."""
    sums = sums_of(plan, metric_values, weights, add or total).rounded()
    return MetricResult(plan, metric_values, mean_from(plan, sums, metric_values.finish))


def sums_of(plan: Plan, metric_values: MetricValues, weights: Floats | None, add: Add = total) -> Sums:
    """The sums for the chosen averaging, each computed by `add`."""
    ranked, counted = metric_values.ranked, metric_values.counted
    keep: Any = slice(None) if counted is None else counted
    queries = len(metric_values.values) if counted is None else int(np.count_nonzero(counted))
    if plan.averaging.pooled:
        view = as_one(plan, ranked, one_list)
        if view is None:
            return UNKNOWN
        whole = apply(plan, metric_input(view))
        return Sums(float(whole.numerator[0]), float(whole.denominator[0]), queries)
    top, bottom = parts_of(plan, metric_values, weights)
    return Sums(add(top[keep]), queries if bottom is None else add(bottom[keep]), queries)


def as_one(plan: Plan, aligned: V, join: Callable[[Plan, V], V]) -> V | None:
    """The rows of all counted queries as one list; None where the extreme order of tied items is not known."""
    # A query without a value still has rows.
    entered = entering(plan, metric_input(aligned), counted_of(plan, metric_input(aligned)))
    joined = join(plan, aligned if entered is None else aligned.only(entered))
    return view_for(plan, joined) if aligned.best is None else extreme_for(plan, joined, aligned.best)


def parts_of(plan: Plan, metric_values: MetricValues, weights: Values) -> tuple[Values, Values | None]:
    """What each query adds to the two sums of the mean; None: 1 to the second."""
    ranking, values, counted = metric_input(metric_values.ranked), metric_values.values, metric_values.counted
    if plan.choices["nan_in_mean"] == "zero":
        values = ranking.where(values == values, values, 0.0)
    return plan.averaging.terms(
        MeanTerms(
            ranking,
            lambda: metric_values.ratio,
            values,
            weights,
            lambda part: values_of(plan, ranking, part, counted)[0],
        )
    )


def shares_of(plan: Plan, metric_values: MetricValues, weights: Floats | None = None) -> tuple[Floats, Floats, Bools]:
    """What each query adds to the two sums of the mean, and whether it is averaged."""
    counted = np.ones(len(metric_values.values), dtype=bool) if metric_values.counted is None else metric_values.counted
    top, bottom = parts_of(plan, metric_values, weights)
    shares = np.zeros((2, len(counted)))
    shares[0, counted] = top[counted]
    shares[1, counted] = 1.0 if bottom is None else bottom[counted]
    return shares[0], shares[1], counted


@dataclass(frozen=True, eq=False, slots=True)
class Contributions:
    """What each query adds to the two sums of a mean, and whether it is averaged; gives the mean of any subset."""

    plan: Plan
    finish: Finish | None
    top: Floats
    bottom: Floats
    counted: Bools

    def only(self, inside: Bools | Ints) -> Contributions:
        """Those of a subset of the queries, or of all in another order."""
        return Contributions(self.plan, self.finish, self.top[inside], self.bottom[inside], self.counted[inside])

    def mean(self) -> float:
        """The mean of these queries."""
        top, bottom = self.top[self.counted], self.bottom[self.counted]
        return mean_from(self.plan, Sums(total(top), total(bottom), len(top)), self.finish)

    def influence(self) -> Floats:
        """Linearised values: one per averaged query, their mean is the mean; of a geometric mean its logarithm.

        The first-order effect of each query on the mean (delta method; Deng, Knoblich and Lu 2018 on ratios).
        """
        averaging, n = self.plan.averaging, int(np.count_nonzero(self.counted))
        top, bottom = self.top[self.counted], self.bottom[self.counted]
        if averaging.rises and not averaging.weighted:
            return top * n if averaging.total else top
        if not averaging.two_means and not total(bottom):
            return np.full(len(top), self.mean())
        if not averaging.two_means and self.finish is None:
            from rankstone.statistics import influence  # a fast import: SciPy is slow to load

            return influence(top, bottom)
        means = total(top) / n, total(bottom) / n

        def mean(top: float, bottom: float) -> float:
            return float(mean_from(self.plan, Sums(top * n, bottom * n, n), self.finish))

        slopes = _slope(lambda x: mean(x, means[1]), means[0]), _slope(lambda x: mean(means[0], x), means[1])
        return mean(*means) + slopes[0] * (top - means[0]) + slopes[1] * (bottom - means[1])


def _slope(function: Callable[[float], float], x: float) -> float:
    """Derivative of a function, by central differences of the fourth order."""
    step = 1e-3 * (abs(x) or 1.0)
    near, far = (function(x + at * step) - function(x - at * step) for at in (1, 2))
    return (8 * near - far) / (12 * step)


def finish_of(plan: Plan, items: ItemIndex | None = None) -> Finish | None:
    """The function that the metric applies after the division. items: side information on items."""
    source = Dicts({}, {})
    ranked = source.align(plan.alignment).ranked
    if plan.metric.declaration.reads == "recommendations":
        if not plan.averaging.divides:  # it is applied to each list's value already
            return None
        from rankstone.data.side_info import anything  # a fast import: few metrics need it

        recommendations: Any = Recommendations.of(
            ranked, anything() if items is None else items, source.first(plan.alignment, None), list, plan.alignment
        )
        return apply(plan, view_for(plan, recommendations)).finish
    return measure(plan, ranked).finish


def one_list(plan: Plan, ranked: Alignment) -> Alignment:
    """The rows of all queries as one list, by score; every row must be judged."""
    unjudged = ranked.retrieved - np.diff(ranked.placed_offsets)
    if plan.metric.declaration.kind in ("ranking", "count") and unjudged.any():
        raise InputError(
            f"{plan.metric}: averaging='one_list' needs a grade for every row; {unjudged.sum()} of the run have none"
        )
    return ranked.as_one_list()


class Range(NamedTuple):
    """The sums of a mean over all orders of tied items, and the queries whose values depend on the order."""

    ends: tuple[Sums, Sums]
    moved: Bools


UNKNOWN = Sums(math.nan, math.nan, 0)  # where the extreme order is not known


def range_of(plan: Plan, aligned: Alignment, weights: Floats | None, add: Add = total) -> Range | None:
    """Lowest and highest sums (in either order) over all orders of tied items; None where nothing is tied."""
    if isinstance(aligned, Recommendations) and plan.arguments.get("k") is None and plan.depth is not None:
        return None  # of the best score alone, which any order has
    if isinstance(aligned, Recommendations):
        moved = aligned.data.undecided(plan.arguments.get("k"))
        return Range((UNKNOWN, UNKNOWN), moved) if moved.any() else None
    pooled = plan.averaging.pooled  # items of different queries can be tied
    if plan.metric.declaration.kind == "ratings" or (aligned.tied is None and not pooled):
        return None
    worst, best = extreme_for(plan, aligned, best=False), extreme_for(plan, aligned, best=True)
    if worst is None or best is None:
        tied = np.zeros(0) if aligned.tied is None else aligned.query[aligned.tied > 1]
        return Range((UNKNOWN, UNKNOWN), np.isin(np.arange(len(aligned)), tied))  # they may depend on the order
    low, high = (measured(plan, view, ratio_of(plan, metric_input(view))) for view in (worst, best))
    moved = ~np.isclose(low.values, high.values, rtol=1e-12, atol=1e-15, equal_nan=True)
    return Range((sums_of(plan, low, weights, add), sums_of(plan, high, weights, add)), moved)


def span(means: Sequence[float]) -> tuple[float, float]:
    """The lowest and the highest of several means; NaN where one of them is NaN."""
    return (math.nan, math.nan) if any(map(math.isnan, means)) else (min(means), max(means))


class _Numbers:
    """Decisions on plain numbers."""

    def choose(self, condition: bool, yes: Callable[[], float], no: Callable[[], float]) -> float:
        return yes() if condition else no()

    def raise_where(self, condition: bool, problem: str) -> None:
        if condition:
            raise InputError(problem)

    def exp(self, x: float) -> float:
        return float(np.exp(x))

    def round(self, x: float, digits: int) -> float:
        return round(x, digits)


_NUMBERS = _Numbers()


def mean_from(
    plan: Plan, sums: Sums | tuple[float, float, int], finish: Finish | None, to: Decisions = _NUMBERS
) -> Any:
    """The mean that follows from the sums."""
    choices = plan.choices
    averaging, digits = AVERAGING[choices["averaging"]], choices["digits"]
    top, bottom, queries = sums
    if to is _NUMBERS and (math.isinf(top) or math.isinf(bottom)):  # the values are finite
        raise InputError(f"{plan.metric}: the values of the queries are too large to add up as floats")
    if averaging.pooled:
        mean = averaging.mean(plan, sums, finish, to)
    else:
        none = (bottom if averaging.rises else queries) == 0
        if choices["no_queries"] == "error":
            to.raise_where(none, f"{plan.metric}: there is no query to average over")
        mean = to.choose(
            none, lambda: number_for(choices["no_queries"]), lambda: averaging.mean(plan, sums, finish, to)
        )
    return mean if digits is None else to.round(mean, digits)


def extreme_mean(plan: Plan, sums: Sums, finish: Finish | None) -> float:
    """The mean of another order of tied items; NaN where it has no query to average over."""
    return float(mean_from(replace(plan, choices={**plan.choices, "no_queries": "nan"}), sums.rounded(), finish))


class ExactSum:
    """A sum of floats without rounding, so that their order does not matter."""

    __slots__ = ("_other", "_units")

    def __init__(self, values: Floats = _NONE, units: int = 0, other: float = 0.0) -> None:
        self._units = units  # of 2 ** -_SCALE
        self._other = other  # infinite, or not a number
        if len(values):
            units_bytes, more = exact_total(values)
            self._units += int.from_bytes(units_bytes, "little", signed=True) << (_SCALE - 1074)
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
