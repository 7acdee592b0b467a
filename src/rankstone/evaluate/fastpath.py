"""Compiled evaluations, cached by their arguments: small dicts go through the core in one call, without arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from rankstone import _core
from rankstone.align.ties import COUNTED
from rankstone.conventions.choices import CHOICES
from rankstone.conventions.convention import Convention, find_convention
from rankstone.conventions.plan import Plan, alignments, make_plans
from rankstone.data.dicts import aligned_from, check_same_kind
from rankstone.data.source import AlignOptions, own_leads
from rankstone.evaluate.checks import require_grades
from rankstone.evaluate.means import MetricResult, mean_from, parts_of
from rankstone.evaluate.measurement import LiveMeasurement
from rankstone.evaluate.values import Compiled, MetricValues, compile_plans
from rankstone.metrics.registry import ByName, is_built_in, on_declare
from rankstone.program.core import SHORT, Program
from rankstone.program.graph import Expression
from rankstone.program.ranking import Ranking, StaticFacts
from rankstone.results.result import Result

if TYPE_CHECKING:
    from rankstone.typing import Items, Metrics

_UNLIMITED = 1 << 60


class CompiledEvaluation:
    """Metrics with all choices, compiled for dicts."""

    def __init__(self, plans: Sequence[Plan], convention: Convention, choices: ByName) -> None:
        self.plans, self.convention, self.choices = plans, convention, choices
        self._compiled = _compiled(plans)
        self._graded = any(map(_needs_grades, plans))
        self.in_core = self._compiled is not None
        self._scaled = "threshold" in choices  # else the grades may not be of the convention's scale

    def evaluate(self, truth: object, run: object) -> Result | None:
        """The result; None where the general path is needed."""
        compiled = self._compiled
        swift = None if compiled is None else compiled.core.measure(truth, run)
        if compiled is None or swift is None or (self._graded and not (swift.graded and self._scaled)):
            return None
        notes = own_leads(run)  # type: ignore[arg-type]  # the core has read it, so it is a dict

        def later() -> LiveMeasurement:
            """All but the means, from values that were computed with them."""
            answers, at = swift.values(), compiled.program.at
            aligned = aligned_from(swift.alignment(), swift.ordered, swift.graded, None, notes, compiled.options)
            outcomes = {}
            for nth, (plan, trace) in enumerate(zip(self.plans, compiled.compiled.traces, strict=True)):
                assert trace is not None  # else there is no program
                counted = None if trace.counted is None else answers[at[trace.counted]]
                view = aligned.ranked.judged_by(plan.relevance)
                values = compiled.compiled.measured(nth, view, answers[at[trace.values]], counted)
                outcomes[plan.label] = MetricResult(plan, values, means[plan.label])
            return LiveMeasurement(outcomes, {self.plans[0].align: aligned}, self.convention, self.choices)

        means = {
            plan.label: mean_from(plan, sums, finish)
            for plan, sums, finish in zip(self.plans, swift.sums, compiled.finishes, strict=True)
        }
        return Result(means, later)

    def mean(self, truth: Items, run: Items) -> float | None:
        """The first metric of one list; None where the general path is needed."""
        compiled, judged, returned = self._compiled, {0: truth}, {0: run}
        swift = None if compiled is None else compiled.core.measure(judged, returned, True)
        if compiled is None or swift is None or (self._graded and not (swift.graded and self._scaled)):
            return None
        if not swift.placed:
            check_same_kind(judged, returned)
        mean: float = mean_from(self.plans[0], swift.sums[0], compiled.finishes[0])
        return mean


def _needs_grades(plan: Plan) -> bool:
    try:
        require_grades(plan, graded=False)
    except ValueError:
        return True
    return False


class _CorePlan(NamedTuple):
    core: _core.Kept
    options: AlignOptions
    finishes: list[Any]
    compiled: Compiled
    program: Program


def _compiled(plans: Sequence[Plan]) -> _CorePlan | None:
    """The core's part, if it supports all of the metrics and choices."""
    options = alignments(plans, 1)
    ordinary = all(
        plan.choices["ties"] in COUNTED
        and not plan.annotations
        and plan.metric.declaration.reads == "ranking"
        and is_built_in(plan.metric.declaration)
        and not (plan.averaging.pooled or plan.averaging.weighted)
        and all(not row.by_itself or plan.choices[name] in row.by_itself for name, row in CHOICES.items())
        for plan in plans
    )
    return _core_plan(plans, *options.values()) if ordinary and len(options) == 1 else None


def _core_plan(plans: Sequence[Plan], options: AlignOptions) -> _CorePlan | None:
    """All sums of all means as one program; None if one of them needs more than the core's own fields."""
    compiled = compile_plans(plans, [StaticFacts(plan.relevance) for plan in plans])
    sums, finishes = [], []
    for plan, facts, trace in zip(plans, compiled.facts, compiled.traces, strict=True):
        if trace is None:
            return None
        symbolic: Any = Ranking(compiled.graph, facts), trace.ratio, trace.values, trace.counted
        top, bottom = parts_of(plan, MetricValues(*symbolic), None)
        sums.append((top, None if bottom is None or bottom.number == 1 else bottom, trace.counted))
        finishes.append(trace.ratio.finish)
    values = [trace.values for trace in compiled.traces if trace is not None]
    program = compiled.program_of([*(part for several in sums for part in several), *values])
    if not program.alone or any(value.kind == "number" for value in program.values):
        return None
    at: dict[Any, int] = {None: -1, **program.at}
    core = _core.Kept(
        program.core, options, [str(column.field) for column in program.columns], list(map(_constant, program.numbers)),
        [table.entries(min(table.depth, SHORT)) for table in program.tables],
        [(at[top], at[each], at[counted]) for top, each, counted in sums],
        SHORT if any(table.depth > SHORT for table in program.tables) else _UNLIMITED,
    )  # fmt: skip
    return _CorePlan(core, options, finishes, compiled, program)


def _constant(number: Expression) -> float:
    assert number.number is not None  # else the value of a query depends on other queries
    return number.number


@lru_cache(maxsize=512)
def _cached(metrics: Any, convention: Any, choices: tuple[tuple[str, Any], ...]) -> CompiledEvaluation:
    return CompiledEvaluation(
        make_plans(metrics, convention, dict(choices)), find_convention(convention), dict(choices)
    )


on_declare.append(_cached.cache_clear)


def compiled_for(metrics: Metrics, convention: str | Convention, choices: ByName) -> CompiledEvaluation | None:
    """The cached evaluation of these metrics and choices; None where they cannot be hashed."""
    hashable: Any = tuple(metrics) if type(metrics) is list else metrics
    try:
        return _cached(hashable, convention, tuple(choices.items()))
    except TypeError:  # not hashable; errors are raised by the general path
        return None
