"""Metrics of an alignment: their functions are traced once, all of them together, and run by the core."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from rankstone.align.alignment import Alignment, Bools, Floats
from rankstone.align.recommendations import Shown
from rankstone.conventions.plan import Plan
from rankstone.data.source import Align, Aligned
from rankstone.errors import QueryError
from rankstone.evaluate.values import counted_of, ratio_of, values_of, view_for, words
from rankstone.metrics.registry import is_built_in, on_declare
from rankstone.program.core import Program
from rankstone.program.graph import Expression, Graph
from rankstone.program.ranking import Facts, Finish, Ranking, Ratio


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
