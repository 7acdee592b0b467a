"""One metric under many definitions on the same data: what definitions share is computed once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from rankstone.align.alignment import Alignment, Floats
from rankstone.conventions.choices import CHOICES
from rankstone.conventions.convention import conventions
from rankstone.conventions.plan import Plan, make_plan, make_plans
from rankstone.data.source import Align, Aligned, Source
from rankstone.errors import QueryError
from rankstone.evaluate.checks import refuse, refuse_strangers, warn_unjudged
from rankstone.evaluate.means import Outcome, outcome_of
from rankstone.evaluate.programs import measured
from rankstone.evaluate.values import ratio_of, view_for
from rankstone.metrics.registry import ByName, Metric
from rankstone.program.flat import ranking_of
from rankstone.program.ranking import Ranking, Ratio

T = TypeVar("T")

_OPPOSITES = {"item_asc": "item_desc", "reverse_input": "input"}  # where no item comes twice


class _Read(dict[str, Any]):
    """Choices that remember which of them were asked for."""

    def __init__(self, choices: ByName) -> None:
        super().__init__(choices)
        self.asked: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        value = self.asked[name] = super().__getitem__(name)
        return value


class _Memo:
    """Answers of a function of choices, found again by the choices that it looked at and no others."""

    def __init__(self) -> None:
        # By a key: by the names of the choices looked at: by what these were.
        self._answers: dict[Any, dict[tuple[str, ...], dict[tuple[Any, ...], Any]]] = {}

    def get(self, key: Any, plan: Plan, make: Callable[[Plan], T]) -> T:
        known, choices = self._answers.setdefault(key, {}), plan.choices
        for names, answers in known.items():
            found = answers.get(tuple(choices[name] for name in names), known)
            if found is not known:
                return _given(found)
        read = _Read(choices)
        answer: Any
        try:
            answer = make(replace(plan, choices=read))
        except ValueError as error:  # these choices do not go with each other, or with the data
            answer = error
        known.setdefault(tuple(read.asked), {})[tuple(read.asked.values())] = answer
        return _given(answer)


def _given(answer: Any) -> Any:
    if isinstance(answer, ValueError):
        raise answer
    return answer


@dataclass(frozen=True, eq=False)
class _Divided:
    ranked: Alignment
    ratio: Ratio
    ranking: Ranking


class Sweep:
    """A truth and a run, measured under as many definitions as wanted."""

    def __init__(self, source: Source, threads: int = 0) -> None:
        self._source, self._threads = source, threads
        self._aligned: dict[Align, Aligned] = {}
        self._found: dict[tuple[Align, tuple[str, ...]], Aligned] = {}  # the same by what plans ask for
        self._ratios, self._outcomes = _Memo(), _Memo()
        self._rankings: dict[Alignment, Ranking] = {}  # with what definitions share
        self._plain: dict[str, Any] | None = None  # options that make no difference; None until that was looked at
        self._tied: dict[bool, bool] = {}  # are there equal scores, as float32 or not

    def outcome(self, plan: Plan) -> Outcome:
        """The metric's values and mean under this plan."""
        aligned = self.aligned(plan)
        divided = self._ratio(plan, aligned)

        def average(plan: Plan) -> Outcome:
            refuse_strangers(plan, aligned)
            warn_unjudged(self._source, plan.align, aligned)
            refuse(plan, aligned)
            with aligned.naming(plan.label):
                return outcome_of(plan, measured(plan, divided.ranked, divided.ratio, divided.ranking), None)

        return self._outcomes.get((divided,), plan, average)

    def value(self, plan: Plan, at: int) -> float:
        """One query's value, whatever the others and their mean come to; NaN if it does not count."""
        ranked, ratio = self.ratio(plan)
        alone = np.arange(len(ranked)) == at
        plain = replace(plan, choices={**plan.choices, "averaging": "macro", "no_queries": "nan"})
        try:
            return float(measured(plain, ranked.only(alone), ratio.only(alone)).values[0])
        except QueryError as error:
            raise QueryError(f"{plan.label}: {error.problem}", self.aligned(plan).queries[at]) from None

    def ratio(self, plan: Plan) -> tuple[Alignment, Ratio]:
        """The ranking as the metric sees it, and what each query earned over what it could have earned."""
        divided = self._ratio(plan, self.aligned(plan))
        return divided.ranked, divided.ratio

    def _ratio(self, plan: Plan, aligned: Aligned) -> _Divided:
        plan = self._alike(plan, aligned.ranked)

        def divide(plan: Plan) -> _Divided:
            ranked = view_for(plan, aligned.ranked)
            if ranked not in self._rankings:
                self._rankings[ranked] = ranking_of(ranked)
            return _Divided(ranked, ratio_of(plan, self._rankings[ranked]), self._rankings[ranked])

        return self._ratios.get((aligned, plan.relevance, *plan.arguments.items()), plan, divide)

    def _alike(self, plan: Plan, ranked: Alignment) -> Plan:
        """The plan, or one for all that look at these rankings and see the same: no ties, grades without the others."""
        grades, tied, nonpositive = ranked.remember("facts", lambda: _facts(ranked))
        rule = plan.relevance
        relevant = grades[grades > rule.threshold if rule.strict else grades >= rule.threshold]
        lowest = float(relevant[0]) if rule.credit != "clamp" and len(relevant) else math.inf
        choices = {
            **plan.choices,
            **({} if tied else {"ties": "item_desc"}),
            **({} if nonpositive else {"nonpositive_score": "count"}),
        }
        return replace(plan, relevance=rule._replace(threshold=lowest, strict=False), choices=choices)

    def aligned(self, plan: Plan) -> Aligned:
        """The alignment that the plan asks for, or one that is the same for want of ties, repeats or extra queries."""
        asked = plan.align, plan.notes
        if asked not in self._found:
            how = replace(plan.align, zeros=True, threads=self._threads, notes=plan.notes)
            if self._plain is None:
                self._plain = self._probe(how)
            how = replace(how, **self._plain)
            how = how if self._tied.get(how.float32, True) else replace(how, order="item_desc")
            self._found[asked] = self._align(how)
        return self._found[asked]

    def _align(self, how: Align) -> Aligned:
        if how not in self._aligned:
            opposite = _OPPOSITES.get(how.order) if self._plain else None
            if opposite is not None:
                found = self._align(replace(how, order=opposite))
                self._aligned[how] = replace(found, ranked=found.ranked.ties_reversed())
            else:
                self._aligned[how] = self._source.align(how)
        return self._aligned[how]

    def _probe(self, how: Align) -> dict[str, Any]:
        """Options of the alignment that make no difference in this data, each with one value for all."""
        same: dict[str, Any] = {"duplicates": "error", "truth_duplicates": "error"}
        plain = replace(how, **same, order="item_desc", extra_queries=False)
        try:
            double, single = (self._align(replace(plain, float32=float32)) for float32 in (False, True))
        except ValueError:  # an item twice: every option may matter
            return {}
        self._tied = {False: double.ranked.tied is not None, True: single.ranked.tied is not None}
        return {
            **same,
            **({} if double.extra_count else {"extra_queries": False}),
            **({"float32": False} if _same_ties(double.ranked, single.ranked) else {}),
        }


def _facts(ranked: Alignment) -> tuple[Floats, bool, bool]:
    """The grades that items have or are given where there are none; are any scores equal, and any 0 or less."""
    grades = np.unique(np.append(ranked.truth_grades, (0.0, 1.0)))
    return grades, ranked.tied is not None, bool((ranked.score <= 0).any())


def _same_ties(first: Alignment, second: Alignment) -> bool:
    return all(
        a is b if a is None or b is None else np.array_equal(a, b)
        for a, b in ((first.above, second.above), (first.tied, second.tied))
    )


def presets(metric: Metric, choices: ByName) -> dict[str, Plan]:
    """The metric's plan under every convention that has one."""
    found = {}
    for name in conventions:
        try:
            (found[name],) = make_plans(metric, name, choices)
        except ValueError:  # noqa: PERF203  it has no such number
            continue
    return found


def options_of(metric: Metric, plans: Mapping[str, Plan]) -> dict[str, list[Any]]:
    """What each choice can be: the words it has, and whatever some convention makes it."""
    declaration = metric.declaration
    out: dict[str, list[Any]] = {}
    for name in (*declaration.defaults, *CHOICES):
        words = declaration.words(name) if name in declaration.about else CHOICES[name].allowed
        used = [choice_of(plan, name) for plan in plans.values()]
        known = [word for word in words if (name, word) != ("credit", "weight")]  # who has weights says so
        out[name] = list(dict.fromkeys([*used, *known]))
    return out


def choice_of(plan: Plan, name: str) -> Any:
    """A choice or a parameter by name."""
    return plan.arguments[name] if name in plan.arguments else plan.choices[name]


def changed(plan: Plan, changes: ByName) -> Plan:
    """The plan with some choices made otherwise."""
    arguments = {**plan.arguments, **{name: value for name, value in changes.items() if name in plan.arguments}}
    choices = {**plan.choices, **{name: value for name, value in changes.items() if name in plan.choices}}
    return make_plan(plan.metric, arguments, choices)


def differences(first: Plan, second: Plan) -> Iterator[str]:
    """Names of the choices that two plans of a metric make differently."""
    for name in (*first.metric.declaration.defaults, *CHOICES):
        if choice_of(first, name) != choice_of(second, name):
            yield name
