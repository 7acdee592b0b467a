"""Averaging rules, one row each: what each query adds to two sums, which mean the sums make, and what it needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, cast

from rankstone.align.functions import Values
from rankstone.errors import Advice, Hint

if TYPE_CHECKING:
    from rankstone.conventions.plan import Plan
    from rankstone.program.ranking import Finish, Ranking, Ratio

LOWEST_GEOMETRIC = 1e-5  # a query's value counts as at least this in a geometric mean
Sums: TypeAlias = tuple[Any, Any, Any]  # the two sums over the queries, and how many queries there are


class Terms(NamedTuple):
    """What the terms of a mean are made of, for each query."""

    ranking: Ranking
    ratio: Callable[[], Ratio]  # not every rule needs it
    values: Values
    weights: Values | None
    value_of: Callable[[Ratio], Values]  # the values by one of the parts of the ratio


class Deciding(Protocol):
    """Makes decisions of a mean: at once, or where the data is."""

    def choose(self, condition: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any: ...
    def refuse(self, condition: Any, problem: str) -> None: ...
    def exp(self, x: Any) -> Any: ...
    def round(self, x: Any, digits: int) -> Any: ...


@dataclass(frozen=True, eq=False)
class Averaging:
    """An averaging rule."""

    words: str
    terms: Callable[[Terms], tuple[Values, Values | None]]  # what each query adds to both sums; None: 1 to the second
    mean: Callable[[Plan, Sums, Finish | None, Deciding], Any]
    rises: bool = True  # is higher wherever a query's value is
    plain: bool = False  # the mean of the queries' values
    divides: bool = False  # one division for all queries together: numerators and denominators are summed
    pooled: bool = False  # the rows of all queries are one list
    weighted: bool = False  # needs a weight per query
    two_means: bool = False  # made of two means, of the parts of the metric
    logarithms: bool = False  # adds up logarithms of values
    total: bool = False  # a sum, whatever the number of queries


def _weighted(query: Terms) -> tuple[Values, Values | None]:
    if query.weights is None:
        raise ValueError(Advice(Hint("averaging", "weighted"), " needs weights=, one per query"))
    return query.weights * query.values, query.weights


def _parts(query: Terms) -> tuple[Values, Values | None]:
    parts = query.ratio().parts
    return (query.values, None) if parts is None else (query.value_of(parts[0]), query.value_of(parts[1]))


def _logarithms(query: Terms) -> tuple[Values, Values | None]:
    return query.ranking.log(query.ranking.maximum(query.values, LOWEST_GEOMETRIC)), None


def _quotient(plan: Plan, sums: Sums, finish: Finish | None, to: Deciding) -> Any:
    return sums[0] / sums[1]


def _divided(plan: Plan, sums: Sums, finish: Finish | None, to: Deciding) -> Any:
    """One division for all queries together."""
    numerator, denominator, _ = sums
    undefined = plan.choices["undefined"]
    if undefined == "error":
        to.refuse(denominator == 0, f"{plan.metric}: nothing could be earned in any query")

    def value() -> Any:
        quotient = numerator / denominator
        return quotient if finish is None else finish(quotient)

    return to.choose(denominator == 0, lambda: number_for(undefined), value)


def _whole(plan: Plan, sums: Sums, finish: Finish | None, to: Deciding) -> Any:
    top, bottom, queries = sums
    whole = plan.metric.declaration.whole
    assert whole is not None  # or the plan had been refused
    return _divided(plan, (*whole(top / queries, bottom / queries, plan.arguments), queries), finish, to)


def number_for(choice: object) -> float:
    """What stands for a mean that there is not; NaN where nothing does."""
    return math.nan if isinstance(choice, str) else float(cast("float", choice))


AVERAGING: dict[str, Averaging] = {
    "macro": Averaging("mean of the queries' values", lambda query: (query.values, None), _quotient, plain=True),
    "micro": Averaging(
        "sum of all numerators over sum of all denominators", lambda query: query.ratio()[:2], _divided,
        rises=False, divides=True,
    ),
    "weighted": Averaging("weighted mean of the queries' values", _weighted, _quotient, weighted=True),
    "one_list": Averaging(
        "over all rows of all queries as one list", lambda query: query.ratio()[:2], _divided,
        rises=False, divides=True, pooled=True,
    ),
    "parts": Averaging("of the mean precision and the mean recall", _parts, _whole, rises=False, two_means=True),
    "geometric": Averaging(
        "geometric mean of the queries' values, each at least 0.00001", _logarithms,
        lambda plan, sums, finish, to: to.exp(sums[0] / sums[1]), logarithms=True,
    ),
    "sum": Averaging(
        "sum over the queries", lambda query: (query.values, None), lambda plan, sums, finish, to: sums[0], total=True
    ),
}  # fmt: skip
