"""Plans that are kept: small calls go through the core at once, without an array."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from rankstone import _core
from rankstone.align.ties import COUNTED
from rankstone.conventions.choices import CHOICES
from rankstone.conventions.convention import Convention, find_convention
from rankstone.conventions.plan import Plan, alignments, make_plans
from rankstone.data.dicts import aligned_from, refuse_mixed
from rankstone.data.source import Align
from rankstone.evaluate.checks import refuse_ungraded
from rankstone.evaluate.means import Outcome, mean_from, parts_of
from rankstone.evaluate.measurement import LiveMeasurement
from rankstone.evaluate.values import Compiled, Measured, compile_plans
from rankstone.metrics.registry import ByName, is_built_in, on_declare
from rankstone.program.core import SHORT, Program
from rankstone.program.graph import Expression
from rankstone.program.ranking import Facts, Ranking
from rankstone.results.result import Result

if TYPE_CHECKING:
    from rankstone.typing import Items, Metrics

_ENDLESS = 1 << 60


class Kept:
    """Some metrics with every choice made, ready for dicts."""

    def __init__(self, plans: Sequence[Plan], convention: Convention, choices: ByName) -> None:
        self.plans, self.convention, self.choices = plans, convention, choices
        self._made = _made(plans)
        self._graded = any(map(_needs_grades, plans))

    def evaluate(self, truth: object, run: object) -> Result | None:
        """The result; None where somebody has to look closer."""
        made = self._made
        swift = None if made is None else made.core.measure(truth, run)
        if made is None or swift is None or (self._graded and not swift.graded):
            return None

        def later() -> LiveMeasurement:
            """What was not asked for at once: nothing is measured again."""
            answers, at = swift.values(), made.program.at
            aligned = aligned_from(swift.alignment(), swift.ordered, swift.graded, None, (), made.how)
            outcomes = {}
            for nth, (plan, trace) in enumerate(zip(self.plans, made.compiled.traces, strict=True)):
                assert trace is not None  # or there had been no program
                counted = None if trace.counted is None else answers[at[trace.counted]]
                view = aligned.ranked.judged_by(plan.relevance)
                one = made.compiled.measured(nth, view, answers[at[trace.values]], counted)
                outcomes[plan.label] = Outcome(plan, one, means[plan.label])
            return LiveMeasurement(outcomes, {self.plans[0].align: aligned}, self.convention, self.choices)

        means = {
            plan.label: mean_from(plan, sums, finish)
            for plan, sums, finish in zip(self.plans, swift.sums, made.finishes, strict=True)
        }
        return Result(means, later)

    def mean(self, truth: Items, run: Items) -> float | None:
        """The first metric of one list; None where somebody has to look closer."""
        made, judged, returned = self._made, {0: truth}, {0: run}
        swift = None if made is None else made.core.measure(judged, returned, True)
        if made is None or swift is None or (self._graded and not swift.graded):
            return None
        if not swift.placed:
            refuse_mixed(judged, returned)
        found: float = mean_from(self.plans[0], swift.sums[0], made.finishes[0])
        return found


def _needs_grades(plan: Plan) -> bool:
    try:
        refuse_ungraded(plan, graded=False)
    except ValueError:
        return True
    return False


class _Made(NamedTuple):
    core: _core.Kept
    how: Align
    finishes: list[Any]
    compiled: Compiled
    program: Program


def _made(plans: Sequence[Plan]) -> _Made | None:
    """The core's part, if the metrics are of a kind that it can carry through."""
    ways = alignments(plans, 1)
    ordinary = all(
        plan.choices["ties"] in COUNTED
        and not plan.notes
        and plan.metric.declaration.reads == "ranking"
        and is_built_in(plan.metric.declaration)
        and not (plan.averaging.pooled or plan.averaging.weighted)
        and all(not row.by_itself or plan.choices[name] in row.by_itself for name, row in CHOICES.items())
        for plan in plans
    )
    return _written(plans, *ways.values()) if ordinary and len(ways) == 1 else None


def _written(plans: Sequence[Plan], how: Align) -> _Made | None:
    """All sums of all means as one program; None if one of them needs more than the core's own fields."""
    compiled = compile_plans(plans, [Facts(plan.relevance) for plan in plans])
    sums, finishes = [], []
    for plan, facts, trace in zip(plans, compiled.facts, compiled.traces, strict=True):
        if trace is None:
            return None
        symbolic: Any = Ranking(compiled.graph, facts), trace.ratio, trace.values, trace.counted
        top, bottom = parts_of(plan, Measured(*symbolic), None)
        sums.append((top, None if bottom is None or bottom.number == 1 else bottom, trace.counted))
        finishes.append(trace.ratio.finish)
    values = [trace.values for trace in compiled.traces if trace is not None]
    program = compiled.program_of([*(part for several in sums for part in several), *values])
    if not program.alone or any(value.kind == "number" for value in program.values):
        return None
    at: dict[Any, int] = {None: -1, **program.at}
    core = _core.Kept(
        program.core, how, [str(column.field) for column in program.columns], list(map(_constant, program.numbers)),
        [table.entries(min(table.depth, SHORT)) for table in program.tables],
        [(at[top], at[each], at[counted]) for top, each, counted in sums],
        SHORT if any(table.depth > SHORT for table in program.tables) else _ENDLESS,
    )  # fmt: skip
    return _Made(core, how, finishes, compiled, program)


def _constant(number: Expression) -> float:
    assert number.number is not None  # or a query's value depended on others
    return number.number


@lru_cache(maxsize=512)
def _kept(metrics: Any, convention: Any, choices: tuple[tuple[str, Any], ...]) -> Kept:
    return Kept(make_plans(metrics, convention, dict(choices)), find_convention(convention), dict(choices))


on_declare.append(_kept.cache_clear)


def kept_for(metrics: Metrics, convention: str | Convention, choices: ByName) -> Kept | None:
    """The plan that is kept for these; None where they cannot be known again."""
    asked: Any = tuple(metrics) if type(metrics) is list else metrics
    try:
        return _kept(asked, convention, tuple(choices.items()))
    except TypeError:  # something that cannot be hashed; what is wrong, if something is, is said elsewhere
        return None
