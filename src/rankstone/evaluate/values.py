"""From what a query earned to its value: nothing to earn, empty, short and rounded. In any array library."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rankstone.align.alignment import Alignment, Bools, Floats
from rankstone.align.functions import Values
from rankstone.align.recommendations import Shown
from rankstone.align.ties import TIES
from rankstone.conventions.plan import Plan
from rankstone.data.source import Aligned
from rankstone.errors import Advice, Hint, NoExpectedValue, NotGiven
from rankstone.program.flat import by_gain, ranking_of, with_ties
from rankstone.program.ranking import Ranking, Ratio

if TYPE_CHECKING:
    from rankstone.typing import Weights


V = TypeVar("V", bound=Any)  # an alignment, recommended lists, or tables of a database

# A number that grew too large is looked for in `values_of`, where the query is known.
_quiet = np.errstate(over="ignore", invalid="ignore", divide="ignore")


def view_for(plan: Plan, aligned: V) -> Any:
    """The alignment as the metric sees it; of recommended lists, the first k."""
    rule = TIES[plan.choices["ties"]]
    if isinstance(aligned, Shown):
        return aligned.judged_by(plan.relevance).with_ties(rule).first(plan.arguments.get("k"))
    view = _seen(plan, aligned)
    return with_ties(view, rule) if isinstance(view, Alignment) else view.with_ties(rule)


def extreme_for(plan: Plan, aligned: V, best: bool) -> Any:
    """The same with tied items in the order that makes the value highest, or lowest; None if none is known to."""
    view = _seen(plan, aligned)
    gains = plan.metric.declaration.best_first(words(view), plan.arguments)
    if gains is None:
        return None
    return by_gain(view, gains, best) if isinstance(view, Alignment) else view.by_gain(gains, best)


def words(view: Any) -> Any:
    """What a metric's function speaks of: an alignment's words give arrays, those of tables expressions."""
    return ranking_of(view) if isinstance(view, Alignment) else getattr(view, "ranking", view)


def _seen(plan: Plan, aligned: V) -> V:
    """The alignment, but for the order of tied items."""
    view = aligned
    if plan.choices["known"] == "judged":
        view = view.condensed()
    elif plan.choices["known"] == "returned" and plan.metric.declaration.kind in ("ranking", "count"):
        view = view.within_the_list()
    if plan.choices["nonpositive_score"] == "miss":
        view = view.above_zero()
    return view.judged_by(plan.relevance)  # last, so that notions of relevance share what was made before


@_quiet
def apply(plan: Plan, ranking: Ranking | Shown) -> Ratio:
    """What the metric's function says."""
    try:
        return plan.metric.declaration.function(ranking, **plan.arguments)
    except NotGiven as error:
        raise NotGiven(Advice(f"{plan.metric}: ", str(error))) from None
    except NoExpectedValue as error:
        raise NoExpectedValue(Advice(f"{plan.metric} {error}; choose another order for ", Hint("ties"))) from None


def ratio_of(plan: Plan, ranking: Ranking) -> Ratio:
    """What each query of a ranking, as the metric sees it, earned over what it could have earned."""
    if isinstance(ranking, Shown) and (counted := counted_of(plan, ranking)) is not None and not counted.all():
        some = _of_lists(plan, ranking.only(counted))  # as if there were no other lists
        parts = (np.zeros(len(counted)), np.zeros(len(counted)))
        parts[0][counted], parts[1][counted] = some.numerator, some.denominator
        ratio = some._replace(numerator=parts[0], denominator=parts[1])
    else:
        ratio = _of_lists(plan, ranking) if isinstance(ranking, Shown) else apply(plan, ranking)
    short = _short(plan, ranking)
    return ratio if short is None else ratio._replace(numerator=ranking.where(short, 0.0, ratio.numerator))


def _of_lists(plan: Plan, shown: Shown) -> Ratio:
    """What the metric's function says of lists; of none there is nothing to say."""
    return apply(plan, shown) if len(shown) else Ratio(np.zeros(0), np.zeros(0))


def _short(plan: Plan, ranking: Ranking) -> Values:
    """Which lists are too short to have a value; None where that does not matter."""
    k = plan.arguments.get("k")
    return None if k is None or plan.choices["short_list"] != "zero" else ranking.retrieved < k


def counted_of(plan: Plan, ranking: Ranking) -> Values:
    """Which queries enter the mean, whatever their values; None for all."""
    choices, counted = plan.choices, None
    if choices["missing"] == "skip":
        counted = ranking.present
    if choices["empty_list"] == "skip":
        counted = _both(counted, ranking.retrieved > 0)
    if choices["empty_truth"] == "skip":
        counted = _both(counted, ranking.judged > 0)
    return counted


def entering(plan: Plan, ranking: Ranking, counted: Values | None) -> Values | None:
    """Which of the queries that count have a relevant item, if that matters; None for all."""
    skips = plan.choices["no_relevant"] == "skip"
    return _both(counted, ~_nothing_relevant(plan, ranking)) if skips else counted


def _both(counted: Values | None, more: Values) -> Values:
    return more if counted is None else counted & more


def _both_empty(ranking: Ranking) -> Values:
    return (ranking.retrieved == 0) & (ranking.judged == 0)


def _nothing_relevant(plan: Plan, ranking: Ranking) -> Values:
    """Which queries have no relevant item, but for those whose truth and list are empty and that have a rule."""
    none = ranking.relevant == 0
    return none if plan.choices["both_empty"] is None else none & ~_both_empty(ranking)


@_quiet
def values_of(plan: Plan, ranking: Ranking, ratio: Ratio, counted: Values | None) -> tuple[Values, Values | None]:
    """The queries' values, NaN where one does not enter the mean, and which of them enter it (None: all)."""
    choices, where = plan.choices, ranking.where
    earned, possible = ratio.numerator, ratio.denominator
    defined = possible != 0
    earns = plan.metric.declaration.earns
    ruled = choices["undefined"] != 0 or choices["both_empty"] is not None  # else 0, as it is
    if earns is not None and ruled and choices["no_relevant"] is None:
        defined = defined & (earns(ranking, plan.arguments) != 0)
    every = ranking.every(defined)
    values = earned / possible if every else where(defined, earned / where(defined, possible, 1.0), math.nan)
    if ratio.finish is not None:
        values = ratio.finish(values)
    infinite = ~(ranking.abs(earned) < math.inf) | ~(ranking.abs(possible) < math.inf)  # or not a number
    infinite = infinite | (defined & ~(ranking.abs(values) < math.inf))
    ranking.refuse(_both(counted, infinite), "grades or scores are too large to add up as floats")
    short = _short(plan, ranking)
    if short is not None:
        values, defined = where(short, 0.0, values), defined | short
    if choices["both_empty"] is not None:
        both = _both_empty(ranking)
        values, defined = where(~defined & both, float(choices["both_empty"]), values), defined | both
    undefined = choices["undefined"]
    if undefined == "skip":
        counted = _both(counted, defined)
    elif undefined == "error":
        if not plan.averaging.divides:
            ranking.refuse(_both(counted, ~defined), "nothing could be earned")
    elif undefined != "nan" and not every:
        values = where(defined, values, float(undefined))
    counted = entering(plan, ranking, counted)
    if choices["no_relevant"] == "error":
        ranking.refuse(_both(counted, _nothing_relevant(plan, ranking)), "there is no relevant item")
    elif choices["no_relevant"] not in (None, "skip"):
        values = where(_nothing_relevant(plan, ranking), float(choices["no_relevant"]), values)
    if choices["empty_list"] == "nan":
        values = where(ranking.retrieved == 0, math.nan, values)
    if choices["query_digits"] is not None:
        values = ranking.round(values, choices["query_digits"])
    return values if counted is None else where(counted, values, math.nan), counted


def without_pairs(plan: Plan, aligned: Alignment, ratio: Ratio) -> Bools:
    """Queries that have relevant items but none that is not, where a metric asks for both."""
    if not plan.metric.declaration.two_sided or plan.metric.declaration.reads == "shown":
        return np.zeros(len(aligned), dtype=bool)
    found: Bools = (ratio.denominator == 0) & (ranking_of(aligned.judged_by(plan.relevance)).relevant > 0)
    return found


def weights_of(weights: Weights, aligned: Aligned) -> Floats:
    """Weights in the order of the queries, checked."""
    queries = aligned.queries
    if isinstance(weights, Mapping):
        missing = [query for query in queries if query not in weights]
        if missing:
            raise ValueError(f"weights has no entry for query {missing[0]!r}")
        out = np.array([weights[query] for query in queries], dtype=np.float64)
    else:
        out = np.asarray(weights, dtype=np.float64)
        if out.shape != (len(aligned.ranked),):
            raise ValueError(f"weights has shape {out.shape}; there are {len(aligned.ranked)} queries")
    if not np.isfinite(out).all() or (out < 0).any():
        at = int(np.argmax(~np.isfinite(out) | (out < 0)))
        raise ValueError(f"weight {out[at]} of query {queries[at]!r} is not a number from 0")
    return out
