"""Metrics run by the core: their functions are traced once, all of them together, and run over every alignment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from rankstone.align.expression import Expression
from rankstone.align.ranked import Bools, Floats, Ranked
from rankstone.align.ranking import Finish, Ratio
from rankstone.align.traced import Facts, Program, Steps, Traced
from rankstone.conventions.plan import Plan
from rankstone.errors import QueryError
from rankstone.inputs.source import Align, Aligned
from rankstone.measure.values import counted_of, ratio_of, values_of, view_for
from rankstone.metrics.registry import is_built_in, on_declare


class Measured:
    """One metric's values, the ranking and the ratios they come from, and which of them count (None: all)."""

    __slots__ = ("_ratio", "alone", "counted", "finish", "ranked", "values")

    def __init__(
        self,
        ranked: Ranked,
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


def measure(plan: Plan, aligned: Ranked, threads: int = 1) -> Measured:
    """One metric of an alignment."""
    found = measure_all((plan,), aligned, threads)[0]
    if isinstance(found, Exception):
        raise found
    return found


def measure_all(plans: Sequence[Plan], aligned: Ranked, threads: int = 1) -> list[Measured | Exception]:
    """Each metric of an alignment, or what is wrong with the data for it."""
    found: list[Any] = [None] * len(plans)
    views: dict[int, Ranked] = {}
    alike: dict[tuple[Any, ...], list[int]] = {}  # plans that read the same arrays
    for at, plan in enumerate(plans):
        view = views[at] = view_for(plan, aligned)
        if type(view) is not Ranked:  # what lists show, or a ranking that has words of its own
            found[at] = _measured_over(plan, view)
        else:
            alike.setdefault((is_built_in(plan.metric.declaration), *map(id, view.fields)), []).append(at)
    for numbers in alike.values():
        seen = [views[at] for at in numbers]
        compiled = _compiled([plans[at] for at in numbers], [Facts.of(view) for view in seen])
        for at, one in zip(numbers, compiled.run(seen, threads), strict=True):
            found[at] = one
    return found


def measure_each(plans: Sequence[Plan], aligned: Mapping[Align, Aligned], threads: int = 1) -> list[Measured]:
    """Each metric of what it reads, those that read the same at once; an error names the query."""
    forms = [aligned[plan.align].form(plan.metric.declaration.reads) for plan in plans]
    alike: dict[int, list[int]] = {}
    for at, form in enumerate(forms):
        alike.setdefault(id(form), []).append(at)
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


def measure_over_arrays(plan: Plan, aligned: Ranked) -> Measured:
    """One metric of an alignment, by NumPy: where the core has no steps for it, and to check the core by."""
    view = view_for(plan, aligned)
    return measured(plan, view, ratio_of(plan, view))


def _measured_over(plan: Plan, view: Ranked) -> Measured | Exception:
    try:
        return measured(plan, view, ratio_of(plan, view))
    except Exception as error:
        return error


def measured(plan: Plan, ranked: Ranked, ratio: Ratio) -> Measured:
    """The values of what was earned, by the choices that come after the metric."""
    return Measured(ranked, ratio, *values_of(plan, ranked, ratio, counted_of(plan, ranked)))


# -- what is traced ------------------------------------------------------------------------------------------


class Trace(NamedTuple):
    """What a metric and its choices say of a ranking that is only spoken of."""

    ratio: Ratio
    values: Expression
    counted: Expression | None
    faults: slice  # of the program's


def trace(plan: Plan, facts: Facts, steps: Steps) -> Trace | None:
    """None for a function that asks for more than can be spoken of, or whose choices do not go with the data."""
    before = len(steps.faults)
    try:
        ranking = Traced(steps, facts)
        ratio = _spoken(ratio_of(plan, ranking), steps)
        values, counted = values_of(plan, ranking, ratio, counted_of(plan, ranking))
        told = None if counted is None else steps.of(counted)
        some = None if told is None or told.number == 1 else told
        return Trace(ratio, steps.of(values), some, slice(before, len(steps.faults)))
    except Exception:  # whatever it is: over arrays it works, or says what is the matter
        del steps.faults[before:]
        return None


def _spoken(ratio: Ratio, steps: Steps) -> Ratio:
    if ratio.finish is not None and isinstance(ratio.finish(0.5), Expression):
        raise TypeError("a function that belongs to the ranking itself")
    parts = ratio.parts and (_spoken(ratio.parts[0], steps), _spoken(ratio.parts[1], steps))
    return ratio._replace(numerator=steps.of(ratio.numerator), denominator=steps.of(ratio.denominator), parts=parts)


class _Compiled:
    """Several metrics of the same arrays, as one program."""

    def __init__(self, plans: Sequence[Plan], facts: Sequence[Facts]) -> None:
        self.steps = Steps()
        self.plans = plans  # as long as this is known by them, they must live
        self.traces = [trace(plan, fact, self.steps) for plan, fact in zip(plans, facts, strict=True)]
        known = [trace for trace in self.traces if trace is not None]
        self.program = self._program([trace.values for trace in known] + [trace.counted for trace in known])
        # Whether items are tied is asked of all queries, and what is expected of ties goes another way then.
        self.alone = self.program.alone and not any(fact.expected or fact.shared for fact in facts)
        self._ratios: dict[int, Program] = {}

    def _program(self, wanted: Iterable[Expression | None], refusing: bool = True) -> Program:
        values = list(dict.fromkeys(one for one in wanted if one is not None))
        return Program(values, self.steps.faults if refusing else (), self.steps.reach)

    def run(self, views: Sequence[Ranked], threads: int) -> list[Measured | Exception]:
        """Each metric of its view, all of which have the same arrays."""
        if all(trace is None for trace in self.traces):
            return [_measured_over(plan, view) for plan, view in zip(self.plans, views, strict=True)]
        found, errors = self.program.run(views[0], threads)
        out: list[Measured | Exception] = []
        for at, (plan, view, trace) in enumerate(zip(self.plans, views, self.traces, strict=True)):
            if trace is None:
                out.append(_measured_over(plan, view))
                continue
            wrong = next((error for error in errors[trace.faults] if error is not None), None)
            counted = None if trace.counted is None else _each(found[trace.counted], view) != 0
            later, finish = partial(self._ratio, at, view), trace.ratio.finish
            values = _each(found[trace.values], view)
            out.append(wrong or Measured(view, later, values, counted, finish, self.alone))
        return out

    def _ratio(self, at: int, view: Ranked) -> Ratio:
        """What a metric's values were made of: most means ask for nothing else."""
        trace = self.traces[at]
        assert trace is not None  # or it was measured over arrays
        if at not in self._ratios:
            ratios = (trace.ratio, *(trace.ratio.parts or ()))
            self._ratios[at] = self._program(
                (side for ratio in ratios for side in (ratio.numerator, ratio.denominator)), refusing=False
            )
        found, _ = self._ratios[at].run(view, 1)

        def told(ratio: Ratio) -> Ratio:
            parts = ratio.parts and (told(ratio.parts[0]), told(ratio.parts[1]))
            top, bottom = (_each(found[side], view) for side in (ratio.numerator, ratio.denominator))
            return Ratio(top, bottom, ratio.finish, parts)

        return told(trace.ratio)


def _each(value: Floats | float, view: Ranked) -> Floats:
    """A value of each query."""
    return value if isinstance(value, np.ndarray) else np.full(len(view), value)


_KEPT: dict[tuple[Any, ...], _Compiled] = {}  # by plans and what is known of the ranking
on_declare.append(_KEPT.clear)


def _compiled(plans: Sequence[Plan], facts: Sequence[Facts]) -> _Compiled:
    if not is_built_in(plans[0].metric.declaration):  # a user's function may answer otherwise tomorrow
        return _Compiled(plans, facts)
    key = (tuple(map(id, plans)), tuple(facts))
    if key not in _KEPT:
        if len(_KEPT) >= 512:
            _KEPT.clear()
        _KEPT[key] = _Compiled(plans, facts)
    return _KEPT[key]
