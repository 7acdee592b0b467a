"""Candidates: definitions by which a function may compute its values, and those values on many questions at once.

A candidate is a convention's definition with some changes. A change sets choices, or has one of the usual defects: it
changes the question before the metric is computed, for the list, for the ideal (the denominator), or for both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from rankstone.align.alignment import Bools, Floats, Ints
from rankstone.audit.questions import Query, Question
from rankstone.conventions.plan import Plan, make_plan
from rankstone.data.dicts import Dicts
from rankstone.errors import InputError
from rankstone.evaluate.means import Contributions, Sums, mean_from, shares_of
from rankstone.explain.sweep import Sweep, changed, choice_of
from rankstone.metrics.registry import ByName, Metric

ERROR = -math.inf  # the value of a question that is refused
ANY = math.inf  # a value that is not determined
_ERRORS = (ValueError, TypeError)
_CLEAR = 1e-6  # difference of values that are not the same
_QUERIES = 1000  # more than a question has
_PER_QUERY = ("undefined", "no_relevant", "empty_list")  # choices that can refuse a query

Side: TypeAlias = Literal["both", "list", "ideal"]
Transform: TypeAlias = Callable[[Query, Plan], Query]


@dataclass(frozen=True, eq=False)
class Change:
    """A change of a definition: choices, another cutoff or metric, or other data; by name, for some metrics."""

    name: str
    metrics: tuple[str, ...] = ()  # empty: all
    choices: ByName = field(default_factory=dict)
    side: Side = "both"
    data: Transform | None = None
    deeper: int | None = 0  # added to k; None: no cutoff
    swap: str = ""  # the metric whose numerator, or value, it is
    value: Callable[[float], float] | None = None  # of the value
    mean: Callable[[list[float]], float] | None = None  # of the values of several queries
    any_refused: bool = False  # any value where a question is refused
    any_ties: bool = False  # any value where scores are equal
    extends: bool = False  # it says what to do with data that is refused otherwise

    def plan(self, plan: Plan) -> Plan:
        """The plan with the change."""
        metric, arguments = plan.metric, plan.arguments
        if self.swap:
            metric = Metric(self.swap, plan.metric.k)
            arguments = dict(metric.declaration.defaults)
        if self.deeper != 0 and metric.k is not None:
            k = None if self.deeper is None else metric.k + self.deeper
            if k is not None and k < 1:
                raise InputError("a cutoff below 1")
            metric = Metric(metric.name, k, metric.params)
        if metric is not plan.metric:
            plan = make_plan(metric, arguments, plan.choices)
        return changed(plan, self.choices) if self.choices else plan

    def __str__(self) -> str:
        return self.name + {"both": "", "list": " (in the list only)", "ideal": " (in the ideal only)"}[self.side]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A convention's definition with changes."""

    convention: str
    plan: Plan
    changes: tuple[Change, ...] = ()

    def with_change(self, change: Change) -> Candidate | None:
        """With one more change; None if it changes nothing or contradicts."""
        if change.side == "both" and change.choices:
            if all(choice_of(self.plan, name) == value for name, value in change.choices.items()):
                return None
            names = set(change.choices)
            if any(names & set(other.choices) and other.side == "both" for other in self.changes):
                return None
        changes = (*self.changes, change)
        if change in self.changes or sum(each.side != "both" for each in changes) > 1:
            return None
        if sum(each.value is not None or each.mean is not None for each in changes) > 1:
            return None
        try:
            plan = change.plan(self.plan) if change.side == "both" and change.choices and not change.swap else self.plan
        except _ERRORS:
            return None
        return Candidate(self.convention, plan, changes)

    @property
    def is_extension(self) -> bool:
        """Whether the changes only say what to do with data that the convention refuses, or refuse more."""
        return all(
            change.extends or (change.choices and {*change.choices.values()} == {"error"}) for change in self.changes
        )

    def __str__(self) -> str:
        return self.convention + (f" with {', '.join(map(str, self.changes))}" if self.changes else "")


class Questionnaire:
    """Questions, evaluated under many definitions."""

    def __init__(self, questions: Sequence[Question], scores: bool, by_top_grade: bool = False) -> None:
        self.questions, self._scores, self._by_top = list(questions), scores, by_top_grade
        self._changed: dict[Any, Questionnaire] = {}
        self._sweeps: dict[bytes, Sweep] = {}
        self._plain: dict[tuple[Plan, tuple[Change, ...]], Floats] = {}  # values without changes of one side

    def of(self, questions: Sequence[Question]) -> Questionnaire:
        """The same for other questions."""
        return Questionnaire(questions, self._scores, self._by_top)

    def values(self, candidate: Candidate) -> Floats:
        """The candidate's value of each question; `ERROR` where it refuses one, `ANY` where it is not determined."""
        if any(change.side != "both" for change in candidate.changes):
            values = self._one_sided(candidate)
        else:
            questions, plan_at = self._side(candidate, "list")
            values = questions.own(plan_at, candidate)
        if any(change.any_refused for change in candidate.changes):
            values[values == ERROR] = ANY
        if any(change.any_ties for change in candidate.changes):
            values[self._tied] = ANY
        for change in candidate.changes:
            if change.value is not None:
                number = np.isfinite(values)
                values[number] = list(map(change.value, values[number].tolist()))
        return values

    def _side(self, candidate: Candidate, side: str) -> tuple[Questionnaire, Callable[[int | None], Plan]]:
        """The questions and the plan by cutoff as one side of the ratio has them."""
        changes = [change for change in candidate.changes if change.side in ("both", side)]
        data = tuple(change.data for change in changes if change.data is not None)
        questions = self._with(data, candidate.plan) if data else self

        def plan_at(k: int | None) -> Plan:
            plan = _at(candidate.plan, k)
            for change in changes:
                if change.side != "both" or change.swap or change.deeper != 0:
                    plan = change.plan(plan)
            return plan

        return questions, plan_at

    def _with(self, data: tuple[Transform, ...], plan: Plan) -> Questionnaire:
        key = (*data, plan.relevance, plan.choices["ties"], plan.choices["duplicates"])
        if key not in self._changed:
            questions = self.questions
            for transform in data:
                questions = [_transformed(question, transform, plan) for question in questions]
            self._changed[key] = self.of(questions)
        return self._changed[key]

    def own(self, plan_at: Callable[[int | None], Plan], candidate: Candidate) -> Floats:
        """Values by one plan per cutoff."""
        out = np.full(len(self.questions), ERROR)
        mean = next((change.mean for change in candidate.changes if change.mean is not None), None)
        for k, groups in self._groups.items():
            try:
                plan = plan_at(k)
                rules = {name: plan.choices[name] for name in _PER_QUERY}
                hidden = any(isinstance(rule, (int, float)) for rule in rules.values())  # that another one refuses
                refused = {name: "nan" for name, rule in rules.items() if rule == "error" and not hidden}
                plan = changed(plan, refused) if refused else plan
            except _ERRORS:
                out[np.concatenate(groups)] = ANY
                continue
            for group in groups:
                self._fill(out, group, plan, mean)
                if refused:
                    out[group] = np.where(np.isnan(out[group]), ERROR, out[group])
        return out

    @cached_property
    def _tied(self) -> Any:
        """Which questions have equal scores, in single precision."""
        scores = [[[np.float32(score) for _, score in query.run or ()] for query in question.queries]
                  for question in self.questions]  # fmt: skip
        return np.array([any(len({*each}) < len(each) for each in several) for several in scores], dtype=bool)

    @cached_property
    def _keys(self) -> list[tuple[Any, ...]]:
        """Of each question what in most cases decides whether it is refused."""
        return [_most(question, _key_of) for question in self.questions]

    @cached_property
    def _groups(self) -> dict[int | None, list[Ints]]:
        """By cutoff: places of questions that are evaluated together."""
        groups: dict[Any, list[int]] = {}
        for at, question in enumerate(self.questions):
            apart = (*_most(question, _kinds), *(_most(question, _top_grades) if self._by_top else ()))
            groups.setdefault((question.k, *apart), []).append(at)
        out: dict[int | None, list[Ints]] = {}
        for (k, *_), group in groups.items():
            out.setdefault(k, []).append(np.array(group))
        return out

    def _parts(self, group: Ints) -> list[Ints]:
        """A group that is refused, by what may decide that; if that is the same for all, its halves."""
        parts: dict[Any, list[int]] = {}
        for at in group.tolist():
            parts.setdefault(self._keys[at], []).append(at)
        return list(map(np.array, parts.values())) if len(parts) > 1 else np.array_split(group, 2)

    def _fill(self, out: Floats, group: Ints, plan: Plan, mean: Any) -> None:
        """The values of a group; if it is refused, of its parts."""
        if plan.averaging.pooled and mean is None:  # the rows of all queries of a question are one list
            for each in np.split(group, len(group)):
                with suppress(*_ERRORS):
                    out[each] = self._sweep(each).outcome(plan).mean
            return
        sweep = self._sweep(group)
        try:
            result = sweep.outcome(plan)
            rows = Contributions(plan, result.finish, *shares_of(plan, result.metric_values))
        except _ERRORS:
            if len(group) > 1:
                for part in self._parts(group):
                    self._fill(out, part, plan, mean)
            return
        places = _places(sweep.aligned(plan).queries)
        none = plan.choices["no_queries"]
        if mean is None and plan.averaging.plain and plan.choices["digits"] is None and none != "error":
            counts = np.bincount(places[rows.counted], minlength=out.size)
            sums = np.bincount(places, rows.top, out.size)
            with np.errstate(invalid="ignore"):
                means = np.where(counts > 0, sums / counts, math.nan if none == "nan" else float(none))
            out[group] = means[group]
            return
        for at in group:
            with suppress(*_ERRORS):
                inside = places == at
                values = result.values[inside & rows.counted]
                out[at] = rows.only(inside).mean() if mean is None else mean(values[~np.isnan(values)].tolist())

    def _one_sided(self, candidate: Candidate) -> Floats:
        """Numerators by one plan and data, denominators by the other; where that is 0 the plain value."""
        plain = replace(candidate, changes=tuple(change for change in candidate.changes if change.side == "both"))
        if (plain.plan, plain.changes) not in self._plain:
            self._plain[plain.plan, plain.changes] = self.values(plain)
        out = self._plain[plain.plan, plain.changes].copy()
        sides = [(*self._side(candidate, side), part)
                 for side, part in (("list", "numerator"), ("ideal", "denominator"))]  # fmt: skip
        for k, groups in self._groups.items():
            for group in groups:
                self._fill_one_sided(out, group, _at(plain.plan, k), k, sides)
        return out

    def _fill_one_sided(self, out: Floats, group: Ints, plan: Plan, k: int | None, sides: Sequence[Any]) -> None:
        """The values of a group, where they differ from the plain ones; if it is refused, of its parts."""
        try:
            own = self._sweep(group).outcome(plan).values
            top, bottom = (
                np.broadcast_to(getattr(questions._sweep(group).outcome(plan_at(k)).ratio, part), own.shape)
                for questions, plan_at, part in sides
            )
        except _ERRORS:  # a shape that differs is one, too: a change has left out queries
            if len(group) > 1:
                for part in self._parts(group):
                    self._fill_one_sided(out, part, plan, k, sides)
            elif out[group] != ERROR:
                out[group] = ANY
            return
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.where(bottom != 0, top / bottom, np.where(top == 0, own, ANY))
        values = np.where(np.isnan(own), own, values)
        places = _places(self._sweep(group).aligned(plan).queries)
        for at in np.unique(places[unlike(values, own)]):
            each = values[(places == at) & ~np.isnan(values)]
            if (each == ANY).any() or not (plan.averaging.plain or len(each) == 1):
                out[at] = ANY
            elif out[at] != ERROR:
                out[at] = mean_from(plan, Sums(each.sum(), float(len(each)), len(each)), None)

    def _sweep(self, group: Ints) -> Sweep:
        key = group.tobytes()
        if key not in self._sweeps:
            truth: dict[int, Any] = {}
            run: dict[int, Any] = {}
            for at in group.tolist():
                for name, query in enumerate(self.questions[at].queries, at * _QUERIES):
                    if query.truth is not None:
                        grades = dict(query.truth)
                        truth[name] = grades if len(grades) == len(query.truth) else [item for item, _ in query.truth]
                    if query.run is not None:
                        run[name] = dict(query.run) if self._scores else [item for item, _ in query.run]
            self._sweeps[key] = Sweep(Dicts(truth, run), 1)
        return self._sweeps[key]


def _transformed(question: Question, transform: Transform, plan: Plan) -> Question:
    return question.map(lambda query: transform(query, _at(plan, question.k)))


def _places(queries: Sequence[Any]) -> Ints:
    """The question of each query, by the queries' names."""
    return np.asarray(queries, dtype=np.int64) // _QUERIES


def _most(question: Question, trait: Callable[[Query], tuple[Any, ...]]) -> tuple[Any, ...]:
    """Traits of the queries of a question, each the highest."""
    return tuple(map(max, zip(*map(trait, question.queries), strict=True)))


def _kinds(query: Query) -> tuple[bool, ...]:
    """The types of the ids, which are not mixed."""
    kinds = {type(item) for rows in query for item, _ in rows or ()}
    return str in kinds, int in kinds


def _top_grades(query: Query) -> tuple[float, ...]:
    """The highest grade of all items, and of those returned."""
    truth, returned = query.truth or (), {item for item, _ in query.run or ()}
    return tuple(max((grade for item, grade in truth if item in some), default=0.0) for some in (dict(truth), returned))


def _key_of(query: Query) -> tuple[bool, ...]:
    truth, run = query.truth or (), query.run or ()
    repeats = any(len(dict(rows)) < len(rows) for rows in (truth, run))
    negative = any(grade < 0 for _, grade in truth)
    return repeats, negative, not truth or not run, query.truth is None, query.run is None


def _at(plan: Plan, k: int | None) -> Plan:
    """The plan with a cutoff."""
    if plan.metric.k == k:
        return plan
    return make_plan(Metric(plan.metric.name, k, plan.metric.params), plan.arguments, plan.choices)


def unlike(one: Floats, other: Floats) -> Bools:
    """Where two rows of values differ clearly."""
    with np.errstate(invalid="ignore"):
        far = ~(np.abs(one - other) <= _CLEAR) & (one != other) & ~(np.isnan(one) & np.isnan(other))
    return far & (one != ANY) & (other != ANY)
