"""Metrics of an alignment: traced once, all of them together, and run by the core; and from ratios to values.

A query's value follows from what it earned by the choices for what is undefined, empty, short and rounded, which are
written once, for any array library.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, cast

import numpy as np

from rankstone.align.alignment import Alignment, Bools, Floats
from rankstone.align.functions import Values
from rankstone.align.recommendations import Shown
from rankstone.align.ties import TIES
from rankstone.conventions.plan import Plan
from rankstone.data.source import Align, Aligned
from rankstone.errors import Advice, Hint, NoExpectedValue, NotGiven, QueryError
from rankstone.metrics.registry import is_built_in, on_declare
from rankstone.program.core import Program
from rankstone.program.flat import by_gain, ranking_of, with_ties
from rankstone.program.graph import Expression, Graph
from rankstone.program.ranking import Facts, Finish, Ranking, Ratio

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


class HasRatio(Protocol):
    """What was measured of a metric, here or elsewhere."""

    @property
    def ratio(self) -> Ratio: ...


def account_of(
    plans: Sequence[Plan], aligned: Mapping[Align, Aligned], measured: Sequence[HasRatio], moved: Sequence[Bools]
) -> dict[str, int]:
    """What happened to the queries, by the names of `Account`.

    measured: what has the ratio of each metric. moved: by metric, the queries that the order of tied items decides.
    """
    first, ranked = aligned[plans[0].align], aligned[plans[0].align].ranked
    truths = len(ranked) - (first.extra_count if plans[0].choices["extra"] == "zero" else 0)
    relevant = ranking_of(ranked.judged_by(plans[0].relevance)).relevant[:truths]
    no_pairs = np.zeros(len(ranked), dtype=bool)
    for plan, one in zip(plans, measured, strict=True):  # nothing but relevant items
        if plan.metric.declaration.two_sided and plan.metric.declaration.reads != "shown":
            some = ranking_of(aligned[plan.align].ranked.judged_by(plan.relevance)).relevant > 0
            no_pairs |= (one.ratio.denominator == 0) & some
    return {
        "judged": truths,
        "missing": int((~ranked.present[:truths]).sum()),
        "extra": first.extra_count,
        "nothing_relevant": int((relevant == 0).sum()) if any(plan.needs_truth for plan in plans) else 0,
        "dropped_rows": first.dropped,
        "tied": int(np.logical_or.reduce(moved).sum()),
        "no_pairs": int(no_pairs[:truths].sum()),
    }


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


# -- measured ------------------------------------------------------------------------------------------------


class Measured:
    """One metric's values, the ranking and the ratios they come from, and which of them count (None: all)."""

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
        self.alone = alone  # is a query's value known to be the same to the last bit, whatever other queries there are
        self.values, self.counted = values, counted  # one a query; NaN where the query does not enter the mean
        self.finish = ratio.finish if isinstance(ratio, Ratio) else finish

    @property
    def ratio(self) -> Ratio:
        """What each query earned over what it could have earned; made when first asked for."""
        if not isinstance(self._ratio, Ratio):
            self._ratio = self._ratio()
        return self._ratio

    def __reduce__(self) -> tuple[Any, ...]:
        return Measured, (self.ranked, self.ratio, self.values, self.counted)


def measure(plan: Plan, aligned: Alignment, threads: int = 1) -> Measured:
    """One metric of an alignment."""
    found = measure_all((plan,), aligned, threads)[0]
    if isinstance(found, Exception):
        raise found
    return found


def measure_all(plans: Sequence[Plan], aligned: Alignment, threads: int = 1) -> list[Measured | Exception]:
    """Each metric of an alignment, or what is wrong with the data for it."""
    found: list[Any] = [None] * len(plans)
    views: dict[int, Alignment] = {}
    alike: dict[tuple[Any, ...], list[int]] = {}  # plans that read the same arrays
    for at, plan in enumerate(plans):
        view = views[at] = view_for(plan, aligned)
        if isinstance(view, Alignment):
            alike.setdefault((is_built_in(plan.metric.declaration), view.arrays), []).append(at)
        else:  # recommended lists
            found[at] = _measured_eagerly(plan, view)
    for numbers in alike.values():
        seen = [views[at] for at in numbers]
        compiled = compile_plans([plans[at] for at in numbers], [Facts.of(view) for view in seen])
        for at, one in zip(numbers, compiled.run(seen, threads), strict=True):
            found[at] = one
    return found


def measure_each(plans: Sequence[Plan], aligned: Mapping[Align, Aligned], threads: int = 1) -> list[Measured]:
    """Each metric of what it reads, those that read the same at once; an error names the query."""
    forms = [aligned[plan.align].form(plan.metric.declaration.reads) for plan in plans]
    alike: dict[Any, list[int]] = {}
    for at, form in enumerate(forms):
        alike.setdefault(form, []).append(at)
    found: dict[int, Measured | Exception] = {}
    for numbers in alike.values():
        several = measure_all([plans[at] for at in numbers], forms[numbers[0]], threads)
        found.update(zip(numbers, several, strict=True))
    out = []
    for at, plan in enumerate(plans):
        one = found[at]
        if isinstance(one, QueryError):
            raise aligned[plan.align].named(one, plan.label)
        if isinstance(one, Exception):
            raise one
        out.append(one)
    return out


def _measured_eagerly(plan: Plan, view: Any) -> Measured | Exception:
    """By the metric's function over arrays, where it cannot be traced."""
    try:
        return measured(plan, view, ratio_of(plan, words(view)))
    except Exception as error:
        return error


def measured(plan: Plan, aligned: Alignment | Shown, ratio: Ratio, ranking: Ranking | None = None) -> Measured:
    """The values of a ratio, by the choices that come after the metric; ranking: the words over the alignment."""
    view = cast("Alignment", aligned)
    ranking = words(aligned) if ranking is None else ranking
    return Measured(view, ratio, *values_of(plan, ranking, ratio, counted_of(plan, ranking)))


# -- what is traced ------------------------------------------------------------------------------------------


class Trace(NamedTuple):
    """A metric and its choices as expressions."""

    ratio: Ratio
    values: Expression
    counted: Expression | None
    faults: slice  # of the graph's


def trace(plan: Plan, facts: Facts, graph: Graph) -> Trace | None:
    """None for a function that asks for more than a graph can express, or whose choices do not go with the data."""
    before = len(graph.faults)
    try:
        ranking = Ranking(graph, facts)
        ratio = ratio_of(plan, ranking).map(graph.of)
        if ratio.finish is not None and isinstance(ratio.finish(0.5), Expression):
            raise TypeError("a function that belongs to the ranking itself")
        values, counted = values_of(plan, ranking, ratio, counted_of(plan, ranking))
        some = None if counted is None or graph.is_true(counted) else graph.of(counted)
        return Trace(ratio, graph.of(values), some, slice(before, len(graph.faults)))
    except Exception:  # whatever it is: over arrays it works, or says what is the matter
        del graph.faults[before:]
        return None


class Compiled:
    """Several metrics of the same arrays, as one program."""

    def __init__(self, plans: Sequence[Plan], facts: Sequence[Facts]) -> None:
        self.graph, self.plans, self.facts = Graph(), plans, facts
        self.traces = [trace(plan, fact, self.graph) for plan, fact in zip(plans, facts, strict=True)]
        traced = [trace for trace in self.traces if trace is not None]
        self.program = self.program_of([*(one.values for one in traced), *(one.counted for one in traced)])
        # Whether items are tied is asked of all queries, and what is expected of ties goes another way then.
        self.alone = self.program.alone and not any(fact.ties for fact in facts)
        self._ratios: dict[int, Program] = {}

    def program_of(self, wanted: Iterable[Expression | None], refusing: bool = True) -> Program:
        """The program for some values."""
        values = list(dict.fromkeys(one for one in wanted if one is not None))
        return Program(values, self.graph.faults if refusing else ())

    def run(self, views: Sequence[Alignment], threads: int) -> list[Measured | Exception]:
        """Each metric of its view, all of which have the same arrays."""
        if all(trace is None for trace in self.traces):
            return [_measured_eagerly(plan, view) for plan, view in zip(self.plans, views, strict=True)]
        try:
            values, errors = self.program.run(views[0], threads)
        except ValueError as error:  # of a column that some of them read
            if len(views) == 1:
                return [error]
            each = zip(self.plans, self.facts, views, strict=True)
            return [compile_plans([plan], [facts]).run([view], threads)[0] for plan, facts, view in each]
        out: list[Measured | Exception] = []
        for at, (plan, view, trace) in enumerate(zip(self.plans, views, self.traces, strict=True)):
            if trace is None:
                out.append(_measured_eagerly(plan, view))
                continue
            wrong = next((error for error in errors[trace.faults] if error is not None), None)
            counted = None if trace.counted is None else values[trace.counted]
            out.append(wrong or self.measured(at, view, values[trace.values], counted))
        return out

    def measured(self, at: int, view: Alignment, values: Floats | float, counted: Floats | float | None) -> Measured:
        """One of the metrics, by its values."""
        trace = self.traces[at]
        assert trace is not None  # or it was measured over arrays
        some = None if counted is None else _each(counted, view) != 0
        return Measured(view, partial(self._ratio, at, view), _each(values, view), some, trace.ratio.finish, self.alone)

    def _ratio(self, at: int, view: Alignment) -> Ratio:
        """What a metric's values were made of: most means ask for nothing else."""
        trace = self.traces[at]
        assert trace is not None
        if at not in self._ratios:
            ratios = (trace.ratio, *(trace.ratio.parts or ()))
            self._ratios[at] = self.program_of(
                (side for ratio in ratios for side in (ratio.numerator, ratio.denominator)), refusing=False
            )
        sides, _ = self._ratios[at].run(view, 1)
        return trace.ratio.map(lambda side: _each(sides[side], view))


def _each(value: Floats | float, view: Alignment) -> Floats:
    """A value of each query."""
    return value if isinstance(value, np.ndarray) else np.full(len(view), value)


def _is_plain(plan: Plan) -> bool:
    return not isinstance(plan.arguments.get("k"), np.ndarray)


_COMPILED: dict[tuple[Any, ...], Compiled] = {}  # by plans and facts
on_declare.append(_COMPILED.clear)


def compile_plans(plans: Sequence[Plan], facts: Sequence[Facts]) -> Compiled:
    """The program for some plans; that of built-in metrics is made once."""
    # A user's function may answer otherwise later, and a cutoff per query is data.
    if not all(is_built_in(plan.metric.declaration) and _is_plain(plan) for plan in plans):
        return Compiled(plans, facts)
    key = (tuple(plans), tuple(facts))
    if key not in _COMPILED:
        if len(_COMPILED) >= 512:
            _COMPILED.clear()
        _COMPILED[key] = Compiled(plans, facts)
    return _COMPILED[key]
