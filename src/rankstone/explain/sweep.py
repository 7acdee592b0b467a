"""One metric under many definitions on the same data, what they share computed once; and why two of them differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple, TypeVar

import numpy as np

from rankstone.align.alignment import Alignment, Floats
from rankstone.conventions.choices import CHOICES
from rankstone.conventions.convention import conventions
from rankstone.conventions.plan import Plan, make_plan, make_plans
from rankstone.data.source import Align, Aligned, Source
from rankstone.errors import Advice, Hint, QueryError, some
from rankstone.evaluate.checks import refuse, refuse_strangers, warn_unjudged
from rankstone.evaluate.means import Outcome, outcome_of
from rankstone.evaluate.values import measured, ratio_of, view_for
from rankstone.metrics.registry import ByName, Metric
from rankstone.program.flat import ranking_of
from rankstone.program.ranking import Ranking, Ratio
from rankstone.results.answer import Answer, Readable, plain, queries

T = TypeVar("T")

_FEW = 6  # choices whose every order is tried
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


# -- two conventions -----------------------------------------------------------------------------------------


class Share(NamedTuple):
    """What one choice does to the number; where `lowest` and `highest` differ, it depends on the choices before it."""

    choice: str
    first: Any
    second: Any
    share: float
    lowest: float
    highest: float
    queries: int | None  # of the whole set: whose values change if only this choice does, if it can be made alone

    @property
    def moves(self) -> bool:
        """Does it depend on the choices before it, in the digits that are shown."""
        return _signed(self.lowest) != _signed(self.highest)


@dataclass(frozen=True, repr=False)
class Difference(Readable):
    """Why two conventions give different numbers: the shares add up to `difference`."""

    metric: str
    query: Hashable  # None: the mean over all queries
    queries: int
    names: tuple[str, str]
    values: tuple[float, float]
    shares: list[Share]  # the largest first
    idle: list[str]  # choices that differ, and make no difference here

    @property
    def difference(self) -> float:
        """The second number less the first."""
        return self.values[1] - self.values[0]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**plain(self), "difference": self.difference}

    def answer(self) -> Answer:
        """What each choice does to the number."""
        many = self.query is None
        moving = [share.choice for share in self.shares if share.moves]
        table = [["choice", *self.names, "share", *(["lowest", "highest"] * bool(moving)), *(["queries"] * many)]]
        for share in self.shares:
            numbers = [share.share, *([share.lowest, share.highest] * bool(moving))]
            counts = ["-" if share.queries is None else str(share.queries)] * many
            table.append([share.choice, _word(share.first), _word(share.second), *map(_signed, numbers), *counts])
        blank = [""] * (len(table[0]) - 4)
        table += [[], ["", *map("{:.4f}".format, self.values), _signed(self.difference), *blank]]
        notes = []
        if moving:
            notes.append(
                f"order matters: what {', '.join(moving)} {'do' if len(moving) > 1 else 'does'} depends on which "
                "choices change first, and lies between lowest and highest; the share is the mean over the orders"
            )
        if self.idle:
            notes.append(f"also different, but not in effect here: {', '.join(self.idle)}")
        whose = queries(self.queries) if many else f"query {self.query!r}"
        return Answer(table, f"{self.metric} of {whose}", notes, align="<<<")


def between_conventions(sweep: Sweep, plans: Sequence[Plan], names: Sequence[str], query: Any) -> Difference:
    first, second = plans
    at = None if query is None else place_of(sweep.aligned(first).queries, query)
    names_of_choices = list(differences(first, second))
    asked = {name: choice_of(second, name) for name in names_of_choices}

    def plan_of(chosen: frozenset[str]) -> Plan:
        return changed(first, {name: asked[name] for name in chosen})

    def measured(chosen: frozenset[str]) -> float:
        plan = plan_of(chosen)
        return sweep.outcome(plan).mean if at is None else sweep.value(plan, at)

    def value(chosen: frozenset[str]) -> float | None:
        if chosen not in known:
            try:
                found = measured(chosen)
            except ValueError:  # these choices do not go together
                found = math.nan
            known[chosen] = None if math.isnan(found) else found
        return known[chosen]

    def moved(name: str) -> int | None:
        try:
            ends = (sweep.outcome(plan_of(subset)).values for subset in (frozenset(), frozenset({name})))
            return _unlike(*ends) if at is None else None
        except ValueError:
            return None

    known: dict[frozenset[str], float | None] = {}
    every = frozenset(names_of_choices)
    ends = measured(frozenset()), measured(every)  # with their errors
    matter = [
        name for name in names_of_choices if value(frozenset({name})) != ends[0] or value(every - {name}) != ends[1]
    ]
    if value(frozenset(matter)) != ends[1]:
        matter = names_of_choices
    steps = {name: [(1.0, math.nan)] for name in matter} if math.isnan(sum(ends)) else _steps(matter, value)
    shares = [Share(name, choice_of(first, name), asked[name], *_share(steps[name]), moved(name)) for name in matter]
    shares.sort(key=lambda share: -abs(share.share) if not math.isnan(share.share) else 0.0)
    idle = [name for name in names_of_choices if name not in matter]
    queries = sweep.aligned(first).queries
    named = None if at is None else queries[at]
    return Difference(str(first.metric), named, len(queries), (names[0], names[1]), ends, shares, idle)


def _steps(names: Sequence[str], value: Any) -> dict[str, list[tuple[float, float]]]:
    """What each choice changes, with a weight, whichever choices have changed before it.

    Over all orders (these are Shapley's values) if the choices are few and any of them go together, else along the
    choices from the first to the last and from the last to the first.
    """
    steps: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    subsets = [frozenset(subset) for size in range(len(names) + 1) for subset in combinations(names, size)]
    if len(names) <= _FEW and all(value(subset) is not None for subset in subsets):
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
            here = reached if here is None else here  # counted with the next choice that it does go with
            steps[name].append((0.5, here - reached))
            reached = here
    return steps


def _share(steps: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    share = math.fsum(weight * change for weight, change in steps)
    changes = [change for _, change in steps]
    low, high = min(changes), max(changes)
    return (share, share, share) if math.isclose(low, high, rel_tol=1e-9, abs_tol=1e-12) else (share, low, high)


def _unlike(before: Floats, after: Floats) -> int:
    """How many queries have another value, or are in one of the two only."""
    shared = min(len(before), len(after))
    same = np.isclose(before[:shared], after[:shared], rtol=1e-12, atol=1e-15, equal_nan=True)
    return int((~same).sum()) + abs(len(before) - len(after))


def place_of(queries: Sequence[Hashable], query: Hashable) -> int:
    """Which of the queries is meant; 7 may be written for "7", and the other way round."""
    if query is None:
        if len(queries) == 1:
            return 0
        raise ValueError(
            Advice(f"which query? There are {len(queries)}, such as {some(queries)}; give ", Hint("query"))
        )
    for kind in (lambda query: query, str):
        found = [at for at, known in enumerate(queries) if kind(known) == kind(query)]
        if found:
            return found[0]
    raise ValueError(f"query {query!r} is not in the truth; there are {len(queries)}, such as {some(queries)}")


def _signed(value: float) -> str:
    return f"{round(value, 4) + 0.0:+.4f}"  # no -0.0000


def _word(value: Any) -> str:
    return str(dict(value)) if isinstance(value, tuple) else str(value)
