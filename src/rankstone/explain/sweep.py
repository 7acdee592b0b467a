"""One metric under many definitions on the same data, with shared parts computed once; and why two of them differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple, TypeVar

import numpy as np

from rankstone.align.alignment import Alignment, Floats
from rankstone.align.ties import TIES
from rankstone.conventions.choices import CHOICES
from rankstone.conventions.convention import conventions
from rankstone.conventions.plan import Plan, make_plan, make_plans
from rankstone.data.source import Aligned, AlignOptions, Source
from rankstone.errors import Advice, Hint, InputError, InputTypeError, QueryError, some
from rankstone.evaluate.checks import check_common_items, check_data, warn_unjudged
from rankstone.evaluate.means import MetricResult, mean_from, outcome_of, range_of, span
from rankstone.evaluate.values import measured, ratio_of, view_for
from rankstone.metrics.registry import ByName, Metric
from rankstone.program.flat import ranking_of
from rankstone.program.ranking import Ranking, Ratio
from rankstone.results.answer import Answer, Readable, plain, queries, signed
from rankstone.results.result import TieRange

T = TypeVar("T")

_EXACT = 6  # most choices of which all orders are averaged
_OPPOSITES = {"item_asc": "item_desc", "reverse_input": "input"}  # if no item is repeated


class _RecordedChoices(dict[str, Any]):
    """Choices that record which of them are read."""

    def __init__(self, choices: ByName) -> None:
        super().__init__(choices)
        self.used: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        value = self.used[name] = super().__getitem__(name)
        return value


class _Memo:
    """Cached values of a function of choices, by the choices that it reads."""

    def __init__(self) -> None:
        # By key, then by the names of the choices read, then by their values.
        self._answers: dict[Any, dict[tuple[str, ...], dict[tuple[Any, ...], Any]]] = {}

    def get(self, key: Any, plan: Plan, make: Callable[[Plan], T]) -> T:
        by_names, choices = self._answers.setdefault(key, {}), plan.choices
        for names, answers in by_names.items():
            cached = answers.get(tuple(choices[name] for name in names), by_names)
            if cached is not by_names:
                return _value_or_raise(cached)
        read = _RecordedChoices(choices)
        answer: Any
        try:
            answer = make(replace(plan, choices=read))
        except ValueError as error:  # contradictory choices, or not applicable to the data
            answer = error
        by_names.setdefault(tuple(read.used), {})[tuple(read.used.values())] = answer
        return _value_or_raise(answer)


def _value_or_raise(answer: Any) -> Any:
    if isinstance(answer, ValueError):
        raise answer
    return answer


@dataclass(frozen=True, eq=False)
class _Divided:
    ranked: Alignment
    ratio: Ratio
    ranking: Ranking


class Sweep:
    """A truth and a run, evaluated under many definitions."""

    def __init__(self, source: Source, threads: int = 0) -> None:
        if not isinstance(threads, int):  # it is a part of the keys below
            raise InputTypeError(f"threads must be a whole number, not {threads!r}")
        self._source, self._threads = source, threads
        self._aligned: dict[AlignOptions, Aligned] = {}
        self._by_plan: dict[tuple[AlignOptions, tuple[str, ...]], Aligned] = {}  # the same by options of plans
        self._ratios, self._outcomes = _Memo(), _Memo()
        self._rankings: dict[Alignment, Ranking] = {}  # with cached intermediate values
        self._plain: dict[str, Any] | None = None  # options without effect; None: not yet computed
        self._tied: dict[bool, bool] = {}  # whether there are equal scores, by float32

    def outcome(self, plan: Plan) -> MetricResult:
        """The metric's values and mean under this plan."""
        aligned = self.aligned(plan)
        divided = self._ratio(plan, aligned)

        def average(plan: Plan) -> MetricResult:
            check_common_items(plan, aligned)
            warn_unjudged(self._source, plan.align, aligned)
            check_data(plan, aligned)
            with aligned.naming(plan.label):
                return outcome_of(plan, measured(plan, divided.ranked, divided.ratio, divided.ranking), None)

        return self._outcomes.get((divided,), plan, average)

    def tie_range(self, plan: Plan) -> TieRange | None:
        """The range of the mean over all orders of tied items, and how many queries they decide; None: no such range.

        A plan that averages over the orders has none.
        """
        ranked = self.aligned(plan).ranked
        if ranked.tied is None or TIES[plan.choices["ties"]].averaged:
            return None
        over_orders, outcome = range_of(plan, ranked, None), self.outcome(plan)
        if over_orders is None or not over_orders.moved.any():
            return None
        ends = (mean_from(plan, sums.rounded(), outcome.finish) for sums in over_orders.ends)
        return TieRange(*span([outcome.mean, *ends]), int(over_orders.moved.sum()))

    def value(self, plan: Plan, at: int) -> float:
        """The value of one query, independent of the others; NaN if it is not averaged."""
        ranked, ratio = self.ratio(plan)
        alone = np.arange(len(ranked)) == at
        plain = replace(plan, choices={**plan.choices, "averaging": "macro", "no_queries": "nan"})
        try:
            return float(measured(plain, ranked.only(alone), ratio.only(alone)).values[0])
        except QueryError as error:
            raise QueryError(f"{plan.label}: {error.problem}", self.aligned(plan).queries[at]) from None

    def ratio(self, plan: Plan) -> tuple[Alignment, Ratio]:
        """The alignment that the metric reads, and numerator and denominator per query."""
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
        """A plan with the same values on this alignment; plans that differ only in choices without effect are equal."""
        grades, tied, nonpositive = ranked.remember("facts", lambda: _facts(ranked))
        rule = plan.relevance
        relevant = grades[grades > rule.threshold if rule.strict else grades >= rule.threshold]
        lowest = float(relevant[0]) if rule.credit != "clipped" and len(relevant) else math.inf
        choices = {
            **plan.choices,
            **({} if tied else {"ties": "item_desc"}),
            **({} if nonpositive else {"nonpositive_score": "count"}),
        }
        return replace(plan, relevance=rule._replace(threshold=lowest, strict=False), choices=choices)

    def aligned(self, plan: Plan) -> Aligned:
        """The alignment of the plan, or an equal one if there are no ties, repeated items or extra queries."""
        key = plan.align, plan.annotations
        if key not in self._by_plan:
            options = replace(plan.align, keep_zero_grades=True, threads=self._threads, annotations=plan.annotations)
            if self._plain is None:
                self._plain = self._probe(options)
            options = replace(options, **self._plain)
            options = options if self._tied.get(options.float32, True) else replace(options, order="item_desc")
            self._by_plan[key] = self._align(options)
        return self._by_plan[key]

    def _align(self, options: AlignOptions) -> Aligned:
        if options not in self._aligned:
            opposite = _OPPOSITES.get(options.order) if self._plain else None
            if opposite is not None:
                reverse = self._align(replace(options, order=opposite))
                self._aligned[options] = replace(reverse, ranked=reverse.ranked.ties_reversed())
            else:
                self._aligned[options] = self._source.align(options)
        return self._aligned[options]

    def _probe(self, options: AlignOptions) -> dict[str, Any]:
        """Options of the alignment without effect on this data, each with one fixed value."""
        same: dict[str, Any] = {"duplicates": "error", "truth_duplicates": "error"}
        plain = replace(options, **same, order="item_desc", extra_queries=False)
        try:
            double, single = (self._align(replace(plain, float32=float32)) for float32 in (False, True))
        except ValueError:  # a repeated item: every option may matter
            return {}
        self._tied = {False: double.ranked.tied is not None, True: single.ranked.tied is not None}
        return {
            **same,
            **({} if double.extra_count else {"extra_queries": False}),
            **({"float32": False} if _same_ties(double.ranked, single.ranked) else {}),
        }


def _facts(ranked: Alignment) -> tuple[Floats, bool, bool]:
    """The distinct grades, with 0 and 1; whether there are tied scores, and scores <= 0."""
    grades = np.unique(np.append(ranked.truth_grades, (0.0, 1.0)))
    return grades, ranked.tied is not None, bool((ranked.score <= 0).any())


def _same_ties(first: Alignment, second: Alignment) -> bool:
    return all(
        a is b if a is None or b is None else np.array_equal(a, b)
        for a, b in ((first.above, second.above), (first.tied, second.tied))
    )


def presets(metric: Metric, choices: ByName) -> dict[str, Plan]:
    """The metric's plan under every convention that defines it."""
    plans = {}
    for name in conventions:
        try:
            (plans[name],) = make_plans(metric, name, choices)
        except ValueError:  # noqa: PERF203  not defined there
            continue
    return plans


def options_of(metric: Metric, plans: Mapping[str, Plan]) -> dict[str, list[Any]]:
    """Values of each choice: those with names, and those of the conventions."""
    declaration = metric.declaration
    out: dict[str, list[Any]] = {}
    for name in (*declaration.defaults, *CHOICES):
        words = declaration.words(name) if name in declaration.about else CHOICES[name].allowed
        used = [choice_of(plan, name) for plan in plans.values()]
        out[name] = list(dict.fromkeys([*used, *words]))
        if name == "relevance" and "weighted" not in used:
            out[name].remove("weighted")  # weights are always requested
    return out


def choice_of(plan: Plan, name: str) -> Any:
    """A choice or a parameter by name."""
    return plan.arguments[name] if name in plan.arguments else plan.choices[name]


def changed(plan: Plan, changes: ByName) -> Plan:
    """The plan with changed choices."""
    arguments = {**plan.arguments, **{name: value for name, value in changes.items() if name in plan.arguments}}
    choices = {**plan.choices, **{name: value for name, value in changes.items() if name in plan.choices}}
    return make_plan(plan.metric, arguments, choices)


def differences(first: Plan, second: Plan) -> Iterator[str]:
    """Names of the choices in which two plans of a metric differ."""
    for name in (*first.metric.declaration.defaults, *CHOICES):
        if choice_of(first, name) != choice_of(second, name):
            yield name


# -- two conventions -----------------------------------------------------------------------------------------


class ChoiceEffect(NamedTuple):
    """The effect of one choice on the value.

    Attributes
    ----------
    choice : str
        Name of the choice.
    first, second : object
        Its value in each convention.
    effect : float
        Change of the value, averaged over the orders in which the choices are changed (Shapley value).
    lowest, highest : float
        Range of the change over these orders.
    queries : int or None
        Number of queries whose values change if only this choice is changed; None for a single query.
    """

    choice: str
    first: Any
    second: Any
    effect: float
    lowest: float
    highest: float
    queries: int | None

    @property
    def depends_on_order(self) -> bool:
        """Whether the effect depends on the choices changed before it, to the digits printed."""
        return signed(self.lowest) != signed(self.highest)


@dataclass(frozen=True, repr=False)
class ConventionDifference(Readable):
    """Why the values of two conventions differ: the effects of the choices sum to `difference`.

    Attributes
    ----------
    metric : str
        Name of the metric.
    query : hashable
        Id of the query; None is the mean over all queries.
    queries : int
        Number of queries.
    names : tuple of str
        The two conventions.
    values : tuple of float
        Their values.
    effects : list of ChoiceEffect
        Effect of each choice on the value, the largest first.
    no_effect : list of str
        Choices that differ but do not change the value on this data.
    """

    metric: str
    query: Hashable
    queries: int
    names: tuple[str, str]
    values: tuple[float, float]
    effects: list[ChoiceEffect]
    no_effect: list[str]

    @property
    def difference(self) -> float:
        """Second value minus first value."""
        return self.values[1] - self.values[0]

    def to_dict(self) -> dict[str, Any]:
        """The result as plain dicts, lists and numbers."""
        return {**plain(self), "difference": self.difference}

    def _answer(self) -> Answer:
        """The effect of each choice on the value."""
        mean = self.query is None
        varying = [row.choice for row in self.effects if row.depends_on_order]
        table = [["choice", *self.names, "effect", *(["lowest", "highest"] * bool(varying)), *(["queries"] * mean)]]
        for row in self.effects:
            numbers = [row.effect, *([row.lowest, row.highest] * bool(varying))]
            counts = ["-" if row.queries is None else str(row.queries)] * mean
            table.append([row.choice, _word(row.first), _word(row.second), *map(signed, numbers), *counts])
        blank = [""] * (len(table[0]) - 4)
        table += [*[[]] * bool(self.effects), ["", *map("{:.4f}".format, self.values), signed(self.difference), *blank]]
        notes = []
        if varying:
            notes.append(
                f"order matters: the effect of {', '.join(varying)} depends on which choices are changed first, "
                "between lowest and highest; effect is the mean over the orders"
            )
        if self.no_effect:
            notes.append(f"different, without effect here: {', '.join(self.no_effect)}")
        subject = queries(self.queries) if mean else f"query {self.query!r}"
        return Answer(table, f"{self.metric} of {subject}", notes, align="<<<")


def between_conventions(
    sweep: Sweep, plans: Sequence[Plan], names: Sequence[str], query: Hashable
) -> ConventionDifference:
    """The effect of each choice in which two plans of a metric differ."""
    first, second = plans
    at = None if query is None else place_of(sweep.aligned(first).queries, query)
    differing = list(differences(first, second))
    targets = {name: choice_of(second, name) for name in differing}

    def plan_of(chosen: frozenset[str]) -> Plan:
        return changed(first, {name: targets[name] for name in chosen})

    def measured(chosen: frozenset[str]) -> float:
        plan = plan_of(chosen)
        return sweep.outcome(plan).mean if at is None else sweep.value(plan, at)

    def value(chosen: frozenset[str]) -> float | None:
        if chosen not in values:
            try:
                number = measured(chosen)
            except ValueError:  # contradictory choices
                number = math.nan
            values[chosen] = None if math.isnan(number) else number
        return values[chosen]

    def changed_queries(name: str) -> int | None:
        try:
            ends = (sweep.outcome(plan_of(subset)).values for subset in (frozenset(), frozenset({name})))
            return _unlike(*ends) if at is None else None
        except ValueError:
            return None

    values: dict[frozenset[str], float | None] = {}
    every = frozenset(differing)
    ends = measured(frozenset()), measured(every)  # errors are raised
    relevant = [name for name in differing if value(frozenset({name})) != ends[0] or value(every - {name}) != ends[1]]
    if value(frozenset(relevant)) != ends[1]:
        relevant = differing
    steps = {name: [(1.0, math.nan)] for name in relevant} if math.isnan(sum(ends)) else _steps(relevant, value)
    effects = [
        ChoiceEffect(name, choice_of(first, name), targets[name], *_effect(steps[name]), changed_queries(name))
        for name in relevant
    ]
    effects.sort(key=lambda row: -abs(row.effect) if not math.isnan(row.effect) else 0.0)
    no_effect = [name for name in differing if name not in relevant]
    queries = sweep.aligned(first).queries
    query_id = None if at is None else queries[at]
    return ConventionDifference(
        str(first.metric), query_id, len(queries), (names[0], names[1]), ends, effects, no_effect
    )


def _steps(names: Sequence[str], value: Any) -> dict[str, list[tuple[float, float]]]:
    """Weights and changes of the value per choice, over the sets of choices changed before it.

    Over all orders (Shapley values) if the choices are few and no set of them is contradictory, else over the given
    order and its reverse.
    """
    steps: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    subsets = [frozenset(subset) for size in range(len(names) + 1) for subset in combinations(names, size)]
    if len(names) <= _EXACT and all(value(subset) is not None for subset in subsets):
        for subset in subsets:
            weight = 1.0 / (len(names) * math.comb(len(names) - 1, len(subset))) if len(subset) < len(names) else 0.0
            for name in names:
                if name not in subset:
                    steps[name].append((weight, value(subset | {name}) - value(subset)))
        return steps
    for path in (list(names), list(names)[::-1]):
        chosen: frozenset[str] = frozenset()
        reached = value(chosen)
        for name in path:
            chosen |= {name}
            here = value(chosen)
            here = reached if here is None else here  # counted with the next choice that gives a value
            steps[name].append((0.5, here - reached))
            reached = here
    return steps


def _effect(steps: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    effect = math.fsum(weight * change for weight, change in steps)
    changes = [change for _, change in steps]
    low, high = min(changes), max(changes)
    return (effect, effect, effect) if math.isclose(low, high, rel_tol=1e-9, abs_tol=1e-12) else (effect, low, high)


def _unlike(before: Floats, after: Floats) -> int:
    """Number of queries with different values, or in only one of the two."""
    shared = min(len(before), len(after))
    same = np.isclose(before[:shared], after[:shared], rtol=1e-12, atol=1e-15, equal_nan=True)
    return int((~same).sum()) + abs(len(before) - len(after))


def place_of(queries: Sequence[Hashable], query: Hashable) -> int:
    """Index of a query; 7 and "7" are the same if only one of them occurs."""
    if query is None:
        if len(queries) == 1:
            return 0
        raise InputError(Advice(f"there are {len(queries)} queries, such as {some(queries)}; pass ", Hint("query")))
    for kind in (lambda query: query, str):
        indices = [at for at, candidate in enumerate(queries) if kind(candidate) == kind(query)]
        if indices:
            return indices[0]
    raise InputError(f"query {query!r} is not in the truth; there are {len(queries)} queries, such as {some(queries)}")


def _word(value: Any) -> str:
    return str(dict(value)) if isinstance(value, tuple) else str(value)
