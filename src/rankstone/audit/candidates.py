"""Candidates: definitions by which a function may compute its values, and those values on many questions at once.

A candidate is a convention's definition with some changes. A change sets choices, or has one of the usual defects: it
changes the question before the metric is computed, for the list, for the ideal (the denominator), or for both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from rankstone.align.alignment import Floats
from rankstone.audit.questions import Query, Question
from rankstone.conventions.plan import Plan, make_plan
from rankstone.data.dicts import Dicts
from rankstone.errors import InputError
from rankstone.evaluate.means import mean_from, shares_of
from rankstone.explain.sweep import Sweep, changed, choice_of
from rankstone.metrics.registry import ByName, Metric

ERROR = -math.inf  # the value of a question that is refused
ANY = math.inf  # a value that is not determined
_ERRORS = (ValueError, TypeError)
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
        every = (*self.changes, change)
        if change in self.changes or sum(each.side != "both" for each in every) > 1:
            return None
        if sum(each.value is not None or each.mean is not None for each in every) > 1:
            return None
        try:
            plan = change.plan(self.plan) if change.side == "both" and change.choices and not change.swap else self.plan
        except _ERRORS:
            return None
        return Candidate(self.convention, plan, (*self.changes, change))

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
        self._sweeps: dict[tuple[tuple[int, int], ...], Sweep] = {}

    @property
    def settings(self) -> tuple[bool, bool]:
        """How questions are evaluated: with scores, and apart by highest grade."""
        return self._scores, self._by_top

    def values(self, candidate: Candidate) -> Floats:
        """The candidate's value of each question; `ERROR` where it refuses one, `ANY` where it is not determined."""
        parts = {side: self._side(candidate, side) for side in ("list", "ideal")}
        if not any(change.side != "both" for change in candidate.changes):
            values = parts["list"][0].own(parts["list"][1], candidate)
        else:
            values = self._one_sided(candidate, parts)
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
        key = (*data, plan.relevance)
        if key not in self._changed:
            questions = self.questions
            for transform in data:
                questions = [_transformed(question, transform, plan) for question in questions]
            self._changed[key] = Questionnaire(questions, self._scores, self._by_top)
        return self._changed[key]

    def own(self, plan_at: Callable[[int | None], Plan], candidate: Candidate) -> Floats:
        """Values by one plan per cutoff."""
        out = np.full(len(self.questions), ERROR)
        mean = next((change.mean for change in candidate.changes if change.mean is not None), None)
        for k, groups in self._groups.items():
            try:
                plan = plan_at(k)
                rules = {name: plan.choices[name] for name in _PER_QUERY}
                several = any(
                    isinstance(rule, (int, float)) for rule in rules.values()
                )  # one may hide that another refuses
                refused = {name: "nan" for name, rule in rules.items() if rule == "error" and not several}
                plan = changed(plan, refused) if refused else plan
            except _ERRORS:
                out[[at for group in groups for at, _ in group]] = ANY
                continue
            for group in groups:
                self._fill(out, tuple(group), plan, mean)
                if refused:
                    values = out[[at for at, _ in group]]
                    out[[at for at, _ in group]] = np.where(np.isnan(values), ERROR, values)
        return out

    @cached_property
    def _tied(self) -> Any:
        """Which questions have equal scores, in single precision."""
        scores = [[[np.float32(score) for _, score in query.run or ()] for query in question.queries]
                  for question in self.questions]  # fmt: skip
        return np.array([any(len({*each}) < len(each) for each in several) for several in scores], dtype=bool)

    @cached_property
    def _groups(self) -> dict[int | None, list[list[tuple[int, int]]]]:
        """By cutoff: questions of one query that are evaluated together, and each of the others."""
        by_key: dict[Any, list[tuple[int, int]]] = {}
        for at, question in enumerate(self.questions):
            key = at if len(question.queries) > 1 else _key(question.queries[0], self._by_top)
            by_key.setdefault((question.k, key), []).append((at, len(question.queries)))
        out: dict[int | None, list[list[tuple[int, int]]]] = {}
        for (k, _), group in by_key.items():
            out.setdefault(k, []).append(group)
        return out

    def _fill(self, out: Floats, group: tuple[tuple[int, int], ...], plan: Plan, mean: Any) -> None:
        """The values of a group; if it is refused, of its halves."""
        indices = [at for at, _ in group]
        try:
            result = self._sweep(group).outcome(plan)
            if mean is not None:
                counted = result.values[~np.isnan(result.values)]
                each = [counted.tolist()] if group[0][1] > 1 else [[value] for value in counted.tolist()]
                out[indices] = [mean(values) for values in each] if len(each) == len(indices) else ANY
            elif group[0][1] > 1:
                out[indices] = result.mean
            else:
                out[indices] = _means(plan, result)
        except _ERRORS:
            if len(group) > 1:
                half = len(group) // 2
                self._fill(out, group[:half], plan, mean)
                self._fill(out, group[half:], plan, mean)

    def _one_sided(self, candidate: Candidate, parts: Mapping[str, tuple[Questionnaire, Any]]) -> Floats:
        """Numerators by one plan and data, denominators by the other; where that is 0 the plain value."""
        plain = replace(candidate, changes=tuple(change for change in candidate.changes if change.side == "both"))
        out = self.values(plain)
        for k, groups in self._groups.items():
            for group in groups:
                indices = [at for at, _ in group]
                try:
                    tops, bottoms = (
                        getattr(questions._sweep(tuple(group)).outcome(plan_at(k)).ratio, name)
                        for (questions, plan_at), name in (
                            (parts["list"], "numerator"),
                            (parts["ideal"], "denominator"),
                        )
                    )
                except _ERRORS:
                    out[indices] = np.where(out[indices] == ERROR, ERROR, ANY)
                    continue
                own = np.atleast_1d(self._values_per_query(tuple(group), plain.plan, k))
                if not {np.size(tops), np.size(bottoms)} <= {1, own.size}:  # a change has left out queries
                    out[indices] = ANY
                    continue
                tops, bottoms = (np.broadcast_to(side, own.shape) for side in (tops, bottoms))
                with np.errstate(divide="ignore", invalid="ignore"):
                    values = np.where((bottoms != 0) & ~np.isnan(own), tops / bottoms, np.where(tops == 0, own, ANY))
                if group[0][1] == 1:
                    out[indices] = np.where(np.isnan(own) | (out[indices] == ERROR), out[indices], values)
                elif not np.array_equal(
                    values, own, equal_nan=True
                ):  # a rule for empty queries may come before the mean
                    plain_mean = plain.plan.averaging.plain and plain.plan.choices["digits"] is None
                    out[indices] = np.nanmean(values) if plain_mean and not (values == ANY).any() else ANY
        return out

    def _values_per_query(self, group: tuple[tuple[int, int], ...], plan: Plan, k: int | None) -> Floats:
        """Values of the queries of a group; NaN where a query is refused or not averaged."""
        try:
            return self._sweep(group).outcome(_at(plan, k)).values
        except _ERRORS:
            return np.full(sum(queries for _, queries in group), math.nan)

    def _sweep(self, group: tuple[tuple[int, int], ...]) -> Sweep:
        if group not in self._sweeps:
            truth, run = {}, {}
            for at, _ in group:
                for number, query in enumerate(self.questions[at].queries):
                    if query.truth is not None:
                        repeated = len(dict(query.truth)) < len(query.truth)
                        truth[at, number] = [item for item, _ in query.truth] if repeated else dict(query.truth)
                    if query.run is not None:
                        run[at, number] = dict(query.run) if self._scores else [item for item, _ in query.run]
            self._sweeps[group] = Sweep(Dicts(_named(truth), _named(run)), 1)
        return self._sweeps[group]


def _transformed(question: Question, transform: Transform, plan: Plan) -> Question:
    return question.map(lambda query: transform(query, _at(plan, question.k)))


def _named(side: dict[tuple[int, int], Any]) -> dict[Any, Any]:
    return {at * 1000 + number: content for (at, number), content in side.items()}


def _key(query: Query, by_top_grade: bool) -> tuple[Any, ...]:
    """Questions of one key are refused, or not, by the same choices in most cases."""
    truth, run = query.truth or (), query.run or ()
    kinds = {type(item) for rows in query for item, _ in rows or ()}
    repeats = any(len(dict(rows)) < len(rows) for rows in (truth, run))
    returned = {item for item, _ in run}
    rows = (truth, [row for row in truth if row[0] in returned]) if by_top_grade else ()
    tops = [max((grade for _, grade in some), default=0.0) for some in rows]  # of all items, and of those returned
    return str in kinds, int in kinds, repeats, any(grade < 0 for _, grade in truth), not truth or not run, *tops


def _means(plan: Plan, result: Any) -> Any:
    """The mean of each query alone."""
    top, bottom, counted = shares_of(plan, result.metric_values)
    if plan.averaging.plain and plan.choices["digits"] is None and plan.choices["no_queries"] != "error":
        none = plan.choices["no_queries"]
        return np.where(counted, top, math.nan if none == "nan" else float(none))
    each = zip(top.tolist(), bottom.tolist(), counted.tolist(), strict=True)
    return [mean_from(plan, (one, other, int(inside)), result.finish) for one, other, inside in each]


def _at(plan: Plan, k: int | None) -> Plan:
    """The plan with a cutoff."""
    if plan.metric.k == k:
        return plan
    return make_plan(Metric(plan.metric.name, k, plan.metric.params), plan.arguments, plan.choices)
