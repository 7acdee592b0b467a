"""Metrics of an alignment: traced once, all of them together, and run by the core; and from ratios to values.

A query's value follows from its numerator and denominator by the choices for undefined values, empty and short lists
and rounding, which are written once, for any array library.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, cast

import numpy as np

from rankstone.align.alignment import Alignment, Bools, Floats
from rankstone.align.elementwise import Values
from rankstone.align.recommendations import Recommendations
from rankstone.align.ties import TIES
from rankstone.conventions.plan import Plan, common_relevance_rule
from rankstone.data.source import Aligned, AlignOptions
from rankstone.errors import (
    Advice,
    Hint,
    InputError,
    InputTypeError,
    MissingInputError,
    NoClosedFormError,
    PerItemError,
    QueryError,
    show,
)
from rankstone.metrics.registry import is_built_in, on_declare
from rankstone.program.core import Program
from rankstone.program.flat import by_gain, ranking_of, with_ties
from rankstone.program.graph import Expression, Graph
from rankstone.program.ranking import Finish, Ranking, Ratio, StaticFacts

if TYPE_CHECKING:
    from rankstone.typing import Weights

V = TypeVar("V", bound=Any)  # an alignment, recommended lists, or tables of a database

# Overflow is checked in `values_of`, where the query can be named.
_quiet = np.errstate(over="ignore", invalid="ignore", divide="ignore")


def view_for(plan: Plan, aligned: V) -> Any:
    """The alignment as the metric reads it; of recommended lists, the first k."""
    rule = TIES[plan.choices["ties"]]
    if isinstance(aligned, Recommendations):
        return aligned.judged_by(plan.relevance).with_ties(rule).first(plan.arguments.get("k"))
    view = _restricted(plan, aligned)
    return with_ties(view, rule) if isinstance(view, Alignment) else view.with_ties(rule)


def extreme_for(plan: Plan, aligned: V, best: bool) -> Any:
    """The same with tied items in the order of the highest, or lowest, value; None if that is not known."""
    view = _restricted(plan, aligned)
    gains = plan.metric.declaration.best_first(metric_input(view), plan.arguments)
    if gains is None:
        return None
    return by_gain(view, gains, best) if isinstance(view, Alignment) else view.by_gain(gains, best)


def metric_input(view: Any) -> Any:
    """The argument of a metric's function: for an alignment it computes arrays, for tables expressions."""
    return ranking_of(view) if isinstance(view, Alignment) else getattr(view, "ranking", view)


def _restricted(plan: Plan, aligned: V) -> V:
    """The alignment by the choices of the plan, except for the order of tied items."""
    view = aligned
    if plan.choices["unjudged"] == "condensed":
        view = view.condensed()
    elif plan.choices["unjudged"] == "only_returned" and plan.metric.declaration.kind in ("ranking", "count"):
        view = view.within_the_list()
    if plan.choices["nonpositive_score"] == "miss":
        view = view.above_zero()
    return view.judged_by(plan.relevance)  # last, so that relevance rules share the steps before


@_quiet
def apply(plan: Plan, ranking: Ranking | Recommendations) -> Ratio:
    """The ratio that the metric's function returns."""
    try:
        ratio: Any = plan.metric.declaration.function(ranking, **plan.arguments)
        if not isinstance(ratio, Ratio):
            raise InputTypeError(
                f"{plan.metric}: its function returned {ratio!r}; return rs.authoring.Ratio(numerator, denominator)"
            )
        if not is_built_in(plan.metric.declaration):
            _require_per_query(plan, ranking, ratio)
        return ratio
    except MissingInputError as error:
        raise MissingInputError(Advice(f"{plan.metric}: ", str(error))) from None
    except NoClosedFormError as error:
        raise NoClosedFormError(Advice(f"{plan.metric} {error}; choose another order for ", Hint("ties"))) from None


def _require_per_query(plan: Plan, ranking: Ranking | Recommendations, ratio: Ratio) -> None:
    """Raise for a metric that returns one value per item."""
    for name in ("numerator", "denominator"):
        side = getattr(ratio, name, None)
        per_item = isinstance(side, Expression) and side.kind == "item"
        if isinstance(side, np.ndarray) and isinstance(ranking.present, np.ndarray):
            per_item = side.shape not in ((), ranking.present.shape)
        if per_item:
            problem = f"{plan.metric}: the {name} has one value per item, and needs one per query"
            raise PerItemError(f"{problem}; add them up: ranking.sum(...)")


def ratio_of(plan: Plan, ranking: Ranking) -> Ratio:
    """Numerator and denominator of each query, for a ranking as the metric reads it."""
    if (
        isinstance(ranking, Recommendations)
        and (counted := counted_of(plan, ranking)) is not None
        and not counted.all()
    ):
        subset = _of_lists(plan, ranking.only(counted))  # as if there were no other lists
        parts = (np.zeros(len(counted)), np.zeros(len(counted)))
        parts[0][counted], parts[1][counted] = subset.numerator, subset.denominator
        ratio = subset._replace(numerator=parts[0], denominator=parts[1])
    else:
        ratio = _of_lists(plan, ranking) if isinstance(ranking, Recommendations) else apply(plan, ranking)
    short = _short(plan, ranking)
    return ratio if short is None else ratio._replace(numerator=ranking.where(short, 0.0, ratio.numerator))


def _of_lists(plan: Plan, lists: Recommendations) -> Ratio:
    """The ratio of recommended lists; empty if there are none."""
    return apply(plan, lists) if len(lists) else Ratio(np.zeros(0), np.zeros(0))


def _short(plan: Plan, ranking: Ranking) -> Values:
    """Which lists are too short to have a value; None where short lists are no special case."""
    k = plan.arguments.get("k")
    return None if k is None or plan.choices["short_list"] != "zero" else ranking.retrieved < k


def counted_of(plan: Plan, ranking: Ranking) -> Values:
    """Which queries are averaged, independent of their values; None for all."""
    choices, counted = plan.choices, None
    if choices["missing"] == "skip":
        counted = ranking.present
    if choices["empty_list"] == "skip":
        counted = _both(counted, ranking.retrieved > 0)
    if choices["empty_truth"] == "skip":
        counted = _both(counted, ranking.judged > 0)
    return counted


def entering(plan: Plan, ranking: Ranking, counted: Values | None) -> Values | None:
    """Which queries are averaged, where those without relevant items are skipped; None for all."""
    skips = plan.choices["no_relevant"] == "skip"
    return _both(counted, ~_nothing_relevant(plan, ranking)) if skips else counted


def _both(counted: Values | None, more: Values) -> Values:
    return more if counted is None else counted & more


def _both_empty(ranking: Ranking) -> Values:
    return (ranking.retrieved == 0) & (ranking.judged == 0)


def _nothing_relevant(plan: Plan, ranking: Ranking) -> Values:
    """Which queries have no relevant item, except those with empty truth and list where these have a rule."""
    none = ranking.relevant == 0
    return none if plan.choices["both_empty"] is None else none & ~_both_empty(ranking)


@_quiet
def values_of(plan: Plan, ranking: Ranking, ratio: Ratio, counted: Values | None) -> tuple[Values, Values | None]:
    """The values of the queries, NaN where a query is not averaged, and which are averaged (None: all)."""
    choices, where = plan.choices, ranking.where
    numerator, denominator = ratio.numerator, ratio.denominator
    defined = denominator != 0
    defined_where = plan.metric.declaration.defined_where
    has_rule = choices["undefined"] != 0 or choices["both_empty"] is not None  # else the value is 0 already
    if defined_where is not None and has_rule and choices["no_relevant"] is None:
        defined = defined & (defined_where(ranking, plan.arguments) != 0)
    every = ranking.always(defined)
    values = (
        numerator / denominator if every else where(defined, numerator / where(defined, denominator, 1.0), math.nan)
    )
    if ratio.finish is not None:
        values = ratio.finish(values)
    infinite = ~(ranking.abs(numerator) < math.inf) | ~(ranking.abs(denominator) < math.inf)  # or not a number
    infinite = infinite | (defined & ~(ranking.abs(values) < math.inf))
    ranking.raise_where(_both(counted, infinite), "grades or scores are too large to add up as floats")
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
            ranking.raise_where(_both(counted, ~defined), "the value is undefined: its denominator is 0")
    elif undefined != "nan" and not every:
        values = where(defined, values, float(undefined))
    counted = entering(plan, ranking, counted)
    if choices["no_relevant"] == "error":
        ranking.raise_where(_both(counted, _nothing_relevant(plan, ranking)), "there is no relevant item")
    elif choices["no_relevant"] not in (None, "skip"):
        values = where(_nothing_relevant(plan, ranking), float(choices["no_relevant"]), values)
    if choices["empty_list"] == "nan":
        values = where(ranking.retrieved == 0, math.nan, values)
    if choices["query_digits"] is not None:
        digits, scale = choices["query_digits"], 10.0 ** choices["query_digits"]
        up = choices["query_rounding"] == "half_up"
        values = ranking.floor(values * scale + 0.5) / scale if up else ranking.round(values, digits)
    return values if counted is None else where(counted, values, math.nan), counted


class HasRatio(Protocol):
    """Values of a metric, in memory or on a cluster."""

    @property
    def ratio(self) -> Ratio: ...


def account_of(
    plans: Sequence[Plan], aligned: Mapping[AlignOptions, Aligned], measured: Sequence[HasRatio], moved: Sequence[Bools]
) -> dict[str, int]:
    """Counts of queries, by the names of `Account`.

    measured: the ratios by metric. moved: by metric, the queries whose values depend on the order of tied items.
    """
    first, ranked = aligned[plans[0].align], aligned[plans[0].align].ranked
    truths = len(ranked) - (first.extra_count if plans[0].choices["extra"] == "zero" else 0)
    relevant = ranking_of(ranked.judged_by(common_relevance_rule(plans))).relevant[:truths]
    pairs = (without_pairs(plan, aligned, values) for plan, values in zip(plans, measured, strict=True))
    no_pairs = np.logical_or.reduce([np.zeros(len(ranked), dtype=bool), *(some for some in pairs if some is not None)])
    return {
        "judged": truths,
        "missing": int((~ranked.present[:truths]).sum()),
        "extra": first.extra_count,
        "nothing_relevant": int((relevant == 0).sum()) if any(plan.needs_truth for plan in plans) else 0,
        "dropped_rows": first.dropped,
        "tied": int(np.logical_or.reduce(moved).sum()),
        "no_pairs": int(no_pairs[:truths].sum()),
    }


def without_pairs(plan: Plan, aligned: Mapping[AlignOptions, Aligned], values: HasRatio) -> Bools | None:
    """Which queries have relevant items and nothing to compare them with; None where the metric does not compare."""
    declaration = plan.metric.declaration
    if not declaration.binary_only or declaration.reads == "recommendations":
        return None
    has_relevant = ranking_of(aligned[plan.align].ranked.judged_by(plan.relevance)).relevant > 0
    return np.asarray((values.ratio.denominator == 0) & has_relevant)


def weights_of(weights: Weights, aligned: Aligned) -> Floats:
    """Weights in the order of the queries, checked."""
    queries = aligned.queries
    if isinstance(weights, Mapping):
        missing = [query for query in queries if query not in weights]
        if missing:
            raise InputError(f"weights has no entry for query {missing[0]!r}")
        weights = [weights[query] for query in queries]
    try:
        out = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise InputTypeError(f"weights={show(weights)}; pass one number per query") from None
    if out.shape != (len(aligned.ranked),):
        raise InputError(f"weights has shape {out.shape}; there are {len(aligned.ranked)} queries")
    if not np.isfinite(out).all() or (out < 0).any():
        at = int(np.argmax(~np.isfinite(out) | (out < 0)))
        raise InputError(f"weight {out[at]} of query {queries[at]!r} is not a finite number >= 0")
    return out


# -- measured ------------------------------------------------------------------------------------------------


class MetricValues:
    """One metric's values, with their ranking and ratios, and which queries are averaged (None: all)."""

    __slots__ = ("_ratio", "alone", "counted", "finish", "ranked", "values")

    def __init__(
        self,
        ranked: Alignment,
        ratio: Ratio | Callable[[], Ratio],
        values: Floats,
        counted: Bools | None,
        finish: Finish | None = None,
        alone: bool = False,
    ) -> None:
        self.ranked, self._ratio = ranked, ratio
        self.alone = alone  # whether a query's value is bitwise independent of the other queries
        self.values, self.counted = values, counted  # one value per query; NaN where it is not averaged
        self.finish = ratio.finish if isinstance(ratio, Ratio) else finish

    @property
    def ratio(self) -> Ratio:
        """Numerator and denominator of each query, computed on first use."""
        if not isinstance(self._ratio, Ratio):
            self._ratio = self._ratio()
        return self._ratio

    def __reduce__(self) -> tuple[Any, ...]:
        return MetricValues, (self.ranked, self.ratio, self.values, self.counted)


def measure(plan: Plan, aligned: Alignment, threads: int = 1) -> MetricValues:
    """One metric of an alignment."""
    values = measure_all((plan,), aligned, threads)[0]
    if isinstance(values, Exception):
        raise values
    return values


def measure_all(plans: Sequence[Plan], aligned: Alignment, threads: int = 1) -> list[MetricValues | Exception]:
    """The values of each metric of an alignment, or its error."""
    out: list[Any] = [None] * len(plans)
    views: dict[int, Alignment] = {}
    alike: dict[tuple[Any, ...], list[int]] = {}  # plans that read the same arrays
    for at, plan in enumerate(plans):
        view = views[at] = view_for(plan, aligned)
        if isinstance(view, Alignment):
            alike.setdefault((is_built_in(plan.metric.declaration), view.arrays), []).append(at)
        else:  # recommended lists
            out[at] = _measured_eagerly(plan, view)
    for numbers in alike.values():
        same = [views[at] for at in numbers]
        compiled = compile_plans([plans[at] for at in numbers], [StaticFacts.of(view) for view in same])
        for at, values in zip(numbers, compiled.run(same, threads), strict=True):
            out[at] = values
    return out


def measure_each(
    plans: Sequence[Plan], aligned: Mapping[AlignOptions, Aligned], threads: int = 1
) -> list[MetricValues]:
    """The values of each metric; metrics that read the same run together. Errors name the query."""
    forms = [aligned[plan.align].form(plan.metric.declaration.reads) for plan in plans]
    alike: dict[Any, list[int]] = {}
    for at, form in enumerate(forms):
        alike.setdefault(form, []).append(at)
    results: dict[int, MetricValues | Exception] = {}
    for numbers in alike.values():
        several = measure_all([plans[at] for at in numbers], forms[numbers[0]], threads)
        results.update(zip(numbers, several, strict=True))
    out = []
    for at, plan in enumerate(plans):
        values = results[at]
        if isinstance(values, QueryError):
            raise aligned[plan.align].named(values, plan.label)
        if isinstance(values, Exception):
            raise values
        out.append(values)
    return out


def _measured_eagerly(plan: Plan, view: Any) -> MetricValues | Exception:
    """By the metric's function over arrays, where it cannot be traced."""
    try:
        return measured(plan, view, ratio_of(plan, metric_input(view)))
    except Exception as error:
        return error


def measured(
    plan: Plan, aligned: Alignment | Recommendations, ratio: Ratio, ranking: Ranking | None = None
) -> MetricValues:
    """The values of a ratio, by the choices that apply after the metric; ranking: its `metric_input`, if at hand."""
    view = cast("Alignment", aligned)
    ranking = metric_input(aligned) if ranking is None else ranking
    return MetricValues(view, ratio, *values_of(plan, ranking, ratio, counted_of(plan, ranking)))


# -- traced metrics ------------------------------------------------------------------------------------------


class Trace(NamedTuple):
    """A metric and its choices as expressions."""

    ratio: Ratio
    values: Expression
    counted: Expression | None
    faults: slice  # of the graph's


def trace(plan: Plan, facts: StaticFacts, graph: Graph) -> Trace | None:
    """The metric as expressions; None where its function or its choices cannot be expressed in a graph."""
    before = len(graph.faults)
    try:
        ranking = Ranking(graph, facts)
        ratio = ratio_of(plan, ranking).map(graph.of)
        if ratio.finish is not None and isinstance(ratio.finish(0.5), Expression):
            raise InputTypeError("a function of the ranking itself")
        values, counted = values_of(plan, ranking, ratio, counted_of(plan, ranking))
        averaged = None if counted is None or graph.is_true(counted) else graph.of(counted)
        return Trace(ratio, graph.of(values), averaged, slice(before, len(graph.faults)))
    except PerItemError:
        raise
    except Exception:  # any error: over arrays it works, or raises again
        del graph.faults[before:]
        return None


class Compiled:
    """Several metrics of the same arrays, as one program."""

    def __init__(self, plans: Sequence[Plan], facts: Sequence[StaticFacts]) -> None:
        self.graph, self.plans, self.facts = Graph(), plans, facts
        self.traces = [trace(plan, fact, self.graph) for plan, fact in zip(plans, facts, strict=True)]
        traced = [trace for trace in self.traces if trace is not None]
        self.program = self.program_of([*(each.values for each in traced), *(each.counted for each in traced)])
        # Whether there are ties is a fact of all queries, and expected values take another path then.
        self.alone = self.program.alone and not any(fact.ties for fact in facts)
        self._ratios: dict[int, Program] = {}

    def program_of(self, wanted: Iterable[Expression | None], checks: bool = True) -> Program:
        """The program for these values. checks: whether it checks for errors in the data."""
        values = list(dict.fromkeys(value for value in wanted if value is not None))
        return Program(values, self.graph.faults if checks else ())

    def run(self, views: Sequence[Alignment], threads: int) -> list[MetricValues | Exception]:
        """Each metric of its view, all of which have the same arrays."""
        if all(trace is None for trace in self.traces):
            return [_measured_eagerly(plan, view) for plan, view in zip(self.plans, views, strict=True)]
        try:
            values, errors = self.program.run(views[0], threads)
        except ValueError as error:  # in a column that only some of them read
            if len(views) == 1:
                return [error]
            each = zip(self.plans, self.facts, views, strict=True)
            return [compile_plans([plan], [facts]).run([view], threads)[0] for plan, facts, view in each]
        out: list[MetricValues | Exception] = []
        for at, (plan, view, trace) in enumerate(zip(self.plans, views, self.traces, strict=True)):
            if trace is None:
                out.append(_measured_eagerly(plan, view))
                continue
            fault = next((error for error in errors[trace.faults] if error is not None), None)
            counted = None if trace.counted is None else values[trace.counted]
            out.append(fault or self.measured(at, view, values[trace.values], counted))
        return out

    def measured(
        self, at: int, view: Alignment, values: Floats | float, counted: Floats | float | None
    ) -> MetricValues:
        """The `MetricValues` of one of the metrics."""
        trace = self.traces[at]
        assert trace is not None  # else it was computed over arrays
        averaged = None if counted is None else _each(counted, view) != 0
        return MetricValues(
            view, partial(self._ratio, at, view), _each(values, view), averaged, trace.ratio.finish, self.alone
        )

    def _ratio(self, at: int, view: Alignment) -> Ratio:
        """Numerator and denominator of a metric, which most averages do not need."""
        trace = self.traces[at]
        assert trace is not None
        if at not in self._ratios:
            ratios = (trace.ratio, *(trace.ratio.parts or ()))
            self._ratios[at] = self.program_of(
                (side for ratio in ratios for side in (ratio.numerator, ratio.denominator)), checks=False
            )
        sides, _ = self._ratios[at].run(view, 1)
        return trace.ratio.map(lambda side: _each(sides[side], view))


def _each(value: Floats | float, view: Alignment) -> Floats:
    """One value per query."""
    return value if isinstance(value, np.ndarray) else np.full(len(view), value)


def _is_plain(plan: Plan) -> bool:
    return not isinstance(plan.arguments.get("k"), np.ndarray)


_COMPILED: dict[tuple[Any, ...], Compiled] = {}  # by plans and facts
on_declare.append(_COMPILED.clear)


def compile_plans(plans: Sequence[Plan], facts: Sequence[StaticFacts]) -> Compiled:
    """The compiled plans; those of built-in metrics are cached."""
    # A user's function may change, and a cutoff per query is data.
    if not all(is_built_in(plan.metric.declaration) and _is_plain(plan) for plan in plans):
        return Compiled(plans, facts)
    key = (tuple(plans), tuple(facts))
    if key not in _COMPILED:
        if len(_COMPILED) >= 512:
            _COMPILED.clear()
        _COMPILED[key] = Compiled(plans, facts)
    return _COMPILED[key]
