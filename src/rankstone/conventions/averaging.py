"""Averaging rules, one row each: the terms of each query, the mean of their sums, and what the rule requires."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, cast

from rankstone.align.elementwise import Values
from rankstone.errors import Advice, Hint, InputError

if TYPE_CHECKING:
    from rankstone.conventions.plan import Plan
    from rankstone.program.ranking import Finish, Ranking, Ratio

LOWEST_GEOMETRIC = 1e-5  # a query's value counts as at least this in a geometric mean
Sums: TypeAlias = tuple[Any, Any, Any]  # the two sums over the queries, and how many queries there are


class MeanTerms(NamedTuple):
    """What the terms of a mean are made of, for each query."""

    ranking: Ranking
    ratio: Callable[[], Ratio]  # not every rule needs it
    values: Values
    weights: Values | None
    value_of: Callable[[Ratio], Values]  # the values by one of the parts of the ratio


class Decisions(Protocol):
    """Makes decisions of a mean: at once, or where the data is."""

    def choose(self, condition: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any: ...
    def raise_where(self, condition: Any, problem: str) -> None: ...
    def exp(self, x: Any) -> Any: ...
    def round(self, x: Any, digits: int) -> Any: ...


@dataclass(frozen=True, eq=False)
class Averaging:
    """An averaging rule."""

    words: str
    terms: Callable[
        [MeanTerms], tuple[Values, Values | None]
    ]  # what each query adds to both sums; None: 1 to the second
    mean: Callable[[Plan, Sums, Finish | None, Decisions], Any]
    rises: bool = True  # is higher wherever a query's value is
    plain: bool = False  # the mean of the queries' values
    divides: bool = False  # one division for all queries together: numerators and denominators are summed
    pooled: bool = False  # the rows of all queries are one list
    weighted: bool = False  # needs a weight per query
    two_means: bool = False  # made of two means, of the parts of the metric
    logarithms: bool = False  # adds up logarithms of values
    total: bool = False  # a sum, whatever the number of queries


def _weighted(query: MeanTerms) -> tuple[Values, Values | None]:
    if query.weights is None:
        raise InputError(Advice(Hint("averaging", "weighted"), " needs weights=, one per query"))
    return query.weights * query.values, query.weights


def _parts(query: MeanTerms) -> tuple[Values, Values | None]:
    parts = query.ratio().parts
    return (query.values, None) if parts is None else (query.value_of(parts[0]), query.value_of(parts[1]))


def _logarithms(query: MeanTerms) -> tuple[Values, Values | None]:
    return query.ranking.log(query.ranking.maximum(query.values, LOWEST_GEOMETRIC)), None


def _quotient(plan: Plan, sums: Sums, finish: Finish | None, to: Decisions) -> Any:
    return sums[0] / sums[1]


def _divided(plan: Plan, sums: Sums, finish: Finish | None, to: Decisions) -> Any:
    """One division for all queries together."""
    numerator, denominator, _ = sums
    undefined = plan.choices["undefined"]
    if undefined == "error":
        to.raise_where(denominator == 0, f"{plan.metric}: no query has a relevant item")

    def value() -> Any:
        quotient = numerator / denominator
        return quotient if finish is None else finish(quotient)

    return to.choose(denominator == 0, lambda: number_for(undefined), value)


def _whole(plan: Plan, sums: Sums, finish: Finish | None, to: Decisions) -> Any:
    top, bottom, queries = sums
    whole = plan.metric.declaration.combine
    assert whole is not None  # or the plan had been refused
    return _divided(plan, (*whole(top / queries, bottom / queries, plan.arguments), queries), finish, to)


def number_for(choice: object) -> float:
    """The number of an undefined mean; NaN unless the choice is one."""
    return math.nan if isinstance(choice, str) else float(cast("float", choice))


AVERAGING: dict[str, Averaging] = {
    "macro": Averaging("macro average over queries", lambda query: (query.values, None), _quotient, plain=True),
    "micro": Averaging(
        "micro average: sum of numerators divided by sum of denominators", lambda query: query.ratio()[:2], _divided,
        rises=False, divides=True,
    ),
    "weighted": Averaging("weighted average over queries", _weighted, _quotient, weighted=True),
    "one_list": Averaging(
        "all rows of all queries as one list", lambda query: query.ratio()[:2], _divided,
        rises=False, divides=True, pooled=True,
    ),
    "parts": Averaging("F of mean precision and mean recall", _parts, _whole, rises=False, two_means=True),
    "geometric": Averaging(
        "geometric mean over queries, values at least 0.00001", _logarithms,
        lambda plan, sums, finish, to: to.exp(sums[0] / sums[1]), logarithms=True,
    ),
    "sum": Averaging(
        "sum over queries", lambda query: (query.values, None), lambda plan, sums, finish, to: sums[0], total=True
    ),
}  # fmt: skip
