"""Which definitions of a metric produce a reported number."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.conventions.choices import CHOICES
from rankstone.conventions.convention import conventions, find_convention
from rankstone.conventions.plan import Plan, check_supported, make_plans
from rankstone.errors import InputError, InputTypeError
from rankstone.evaluate.pipeline import open_source
from rankstone.explain.explain import JUDGED
from rankstone.explain.sweep import Sweep, changed, choice_of, options_of, presets
from rankstone.metrics.declaration import some_of, text_parts
from rankstone.metrics.registry import ByName, Metric, Value, parse_one
from rankstone.progress import watched
from rankstone.results.answer import Answer, Readable, plain
from rankstone.results.definition import Definition, definition_of
from rankstone.results.result import TieRange

if TYPE_CHECKING:
    from rankstone.typing import Array, ColumnRoles, Numbers, Run, Truth

_MAX_LINES = 40  # lines of a printed table
_PROBED = 3  # conventions with different values, after which choices without effect are dropped
_MAX_GRADES = 20  # tried as thresholds; more are no relevance grades
_OF_TIES = {"ties", "score_precision"}  # choices that decide the order of tied items


@dataclass(frozen=True)
class Match:
    """A definition that produces the number: conventions, and choices that differ from theirs.

    Attributes
    ----------
    conventions : tuple of str
        Conventions that produce the number with these changes, the most common first.
    changes : dict
        Choices that differ from the conventions', by name.
    value : float
        Value of the metric.
    ties : TieRange or None
        Range of the value over all orders of tied items, if the number is in that range only.
    """

    conventions: tuple[str, ...]
    changes: ByName
    value: float
    plan: Plan
    ties: TieRange | None = None

    @property
    def definition(self) -> Definition:
        """Definition of the metric under the first convention and the changes."""
        return definition_of(
            self.plan, find_convention(self.conventions[0]).with_choices(**_of_metric(self.plan, self.changes))
        )

    def to_dict(self) -> dict[str, Any]:
        """The match as plain data; the definition as one line of text."""
        return {
            "conventions": list(self.conventions),
            "changes": dict(self.changes),
            "value": self.value,
            "ties": None if self.ties is None else plain(self.ties),
            "definition": self.definition.cite,
        }

    def _cells(self) -> list[str]:
        """Conventions, changes and value as text."""
        value = f"{self.value:.6f}" if self.ties is None else f"{self.ties.lowest:.6f} to {self.ties.highest:.6f}"
        return [", ".join(self.conventions), ", ".join(f"{name}={to!r}" for name, to in self.changes.items()), value]


@dataclass(frozen=True, repr=False)
class IdentifyResult(Readable):
    """Definitions that produce a reported number, the most common first.

    Attributes
    ----------
    metric : str
        Name of the metric.
    reported : str
        The number as reported.
    lowest, highest : float
        Values that round to the reported number: lowest <= value <= highest.
    tried : int
        Number of definitions tried.
    distinct_values : int
        Number of distinct values among them.
    matches : list of Match
        Definitions that produce the number.
    nearest : Match or None
        The definition with the nearest value, if there is no match.
    possible : list of Match
        If no convention produces the number, but tools that order tied items arbitrarily can: these, with their ranges
        over the orders; then definitions with changed choices that produce it, perhaps by coincidence.
    ties : TieRange or None
        How many queries the order of tied items decides, and the range of the mean, under the first convention.
    queries : int
        Number of queries.
    """

    metric: str
    reported: str
    lowest: float
    highest: float
    tried: int
    distinct_values: int
    matches: list[Match]
    nearest: Match | None
    possible: list[Match] = field(default_factory=list)
    ties: TieRange | None = None
    queries: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The result as plain dicts, lists and numbers."""
        return plain(self)

    def _answer(self) -> Answer:
        """The matches: conventions, changed choices, value."""
        matches = [*self.matches, *self.possible] or ([self.nearest] if self.nearest else [])
        title = f"{self.tried} definitions tried, {self.distinct_values} distinct values"
        if self.matches:
            title = f"{len(self.matches)} match{'es' * (len(self.matches) > 1)}; {title}"
        elif matches:
            title = f"no match; {title}; {'possible' if self.possible else 'nearest'}:"
        title, notes = f"{self.metric} = {self.reported}: {title}", []
        if self.ties is not None:
            ends = "" if math.isnan(self.ties.lowest) else f": {self.ties.lowest:.6f} to {self.ties.highest:.6f}"
            notes.append(f"the order of tied items decides {self.ties.queries:,} of {self.queries:,} queries{ends}")
        if self.possible:
            notes.append(
                f"the last {len(self.possible)} are possible only: a range over the orders of tied items has the "
                "number, or another changed choice gives it, which may be a coincidence"
            )
        table = [["convention", "changed", "value"], *(match._cells() for match in matches)]
        return Answer(table, title, notes, align="<<")

    def _printed(self) -> Answer:
        answer = self._answer()
        head, *rows = [line for row in answer.table for line in _narrow(row)]
        more = [f"and {len(rows) - _MAX_LINES} lines more"] if len(rows) > _MAX_LINES else []
        table = [head, *rows[:_MAX_LINES]] if rows else []
        return replace(answer, table=table, notes=[*more, *answer.notes])


@dataclass(frozen=True, repr=False)
class IdentifyTable(Readable):
    """Definitions that produce several reported numbers at once.

    Attributes
    ----------
    results : list of IdentifyResult
        One per number, in order.
    runs : list of str
        Name of each number's run; empty for one run.
    matches : list of tuple of str and dict
        Conventions and changed choices that produce every number, the most common first. A parameter has the name of
        its metric as prefix.
    """

    results: list[IdentifyResult]
    runs: list[str]
    matches: list[tuple[str, ByName]]

    def to_dict(self) -> dict[str, Any]:
        """The result as plain dicts, lists and numbers."""
        return plain(self)

    def _answer(self) -> Answer:
        """The definitions of all numbers; without one, those of each number."""
        rows = [
            [name, ", ".join(f"{choice}={value!r}" for choice, value in changes.items())]
            for name, changes in self.matches
        ]
        title = f"definitions that produce all {len(self.results)} numbers: {len(rows) or 'none'}"
        notes = []
        for at, result in enumerate(self.results):
            run = f"{self.runs[at]}, " if self.runs else ""
            names = [name for match in result.matches if not match.changes for name in match.conventions]
            shown = f"{some_of(names)}" if names else f"no convention, {len(result.matches)} with changes"
            notes.append(f"{run}{result.metric} = {result.reported}: {shown}")
            notes += [f"{run}{result.metric}: {note}" for note in result._answer().notes]
        return Answer([["convention", "changed"], *rows[:_MAX_LINES]], title, notes, align="<<")


def identify(
    truth: Truth,
    run: Run | Mapping[str, Run] | None = None,
    metric: str | Metric | Sequence[str] | Mapping[str, object] | None = None,
    value: float | str | None = None,
    *,
    columns: ColumnRoles | None = None,
    mask: Array | None = None,
    lengths: Numbers | None = None,
    groups: Numbers | None = None,
    threads: int = 0,
    **choices: Value,
) -> IdentifyResult | IdentifyTable:
    """Find the conventions and choices that produce a reported number.

    The conventions are tried first, then each convention with one choice changed (the threshold to every grade that
    occurs). If there is no match, the default convention is tried with two choices changed.

    Parameters
    ----------
    truth : mapping, frame, table, array or path
        Relevance judgements, as for `evaluate`.
    run : mapping, frame, table, array or path, optional
        The run, as for `evaluate`; None if the truth is a table with labels and scores.
    metric : str, Metric, list or mapping
        One metric, "ndcg@10"; or metric and number, "nDCG@10 = 0.4704". Several numbers: "ap = 0.213, ndcg@10 = 0.322",
        a list of such texts, or `{"ap": 0.213, "ndcg@10": "0.322"}`. A table of runs: `{"bm25": {"ap": 0.213}, ...}`,
        with `run={"bm25": run, ...}`.
    value : float or str, optional
        The number, with the digits reported: "0.4704" is 0.47035 to 0.47045, and so is "47.04 %".
    columns : mapping, optional
        Column names by role, as for `evaluate`.
    mask : array, optional
        Which entries of matrices are items, as for `evaluate`.
    lengths : array of int, optional
        Length of each row of matrices, as for `evaluate`.
    groups : array of int, optional
        Number of rows per query of flat arrays, as for `evaluate`.
    threads : int, default 0
        Number of threads; 0 is all cores.
    **choices
        Choices that are fixed: `ties="input"`.

    Returns
    -------
    IdentifyResult
        The matches, the most common first.
    IdentifyTable
        For several numbers: definitions that produce all of them.

    Raises
    ------
    ValueError
        If the text has no metric and number, or no convention accepts the data.

    Examples
    --------
    >>> truth, run = {"u1": {"i1": 1, "i2": 1, "i4": 1}}, {"u1": {"i1": 3.0, "i3": 2.0, "i2": 1.0}}
    >>> rs.identify(truth, run, "AP@2 = 0.33").matches[0].conventions[:3]
    ('rankstone', 'trec_eval', 'trec_eval-9')
    """
    options: Any = {"mask": mask, "lengths": lengths, "groups": groups, "columns": columns}
    if isinstance(metric, Mapping) and any(isinstance(numbers, Mapping) for numbers in metric.values()):
        missing = [name for name in metric if not isinstance(run, Mapping) or name not in run]
        if missing:
            name = repr(missing[0])
            raise InputError(f"the numbers are of run {name}; pass the runs by name: run={{{name}: ...}}")
        runs: Mapping[str, Any] = {name: run[name] for name in metric} if isinstance(run, Mapping) else {}
        pairs = [(name, number) for name, several in metric.items() for number in parse_several(several)]
        names, numbers = [name for name, _ in pairs], [number for _, number in pairs]
    else:
        numbers, names, runs = parse_several(metric, value), [], {"": run}
    for each, reported in numbers:
        check_supported(make_plans(each, "rankstone", {}), JUDGED)
        interval(reported)
    sweeps = {name: Sweep(open_source(truth, side, **options), threads) for name, side in runs.items()}
    ordered = [sweeps[name] for name in names or [""] * len(numbers)]
    results = [_identify(sweep, *number, choices) for sweep, number in zip(ordered, numbers, strict=True)]
    if len(results) == 1 and not names:
        return results[0]
    common = _common(results, ordered, [name for name, _ in numbers], choices)
    return IdentifyTable(results, names, sorted(common, key=lambda match: len(match[1])))


def _identify(sweep: Sweep, name: Metric, reported: str, choices: ByName) -> IdentifyResult:
    lowest, highest = interval(reported)
    plans = presets(name, choices) or {"rankstone": make_plans(name, "rankstone", choices)[0]}
    search = _Search(sweep, plans, choices)
    with watched(f"identifying {name}", "definitions") as progress:
        for level in (search.conventions, search.one_change, search.two_changes):
            for match in level():
                search.add(match, lowest, highest)
                progress(search.tried)
            if search.matches and level != search.conventions:
                break
    if not search.values and search.error is not None:
        raise search.error
    matches, by_ties = search.matches, search.within_ties(lowest, highest)
    possible = [*by_ties, *(match for match in matches if match.changes.keys() - _OF_TIES)] if by_ties else []
    matches = [match for match in matches if match not in possible]
    return IdentifyResult(
        str(name), reported, lowest, highest, search.tried, len(search.values), matches,
        None if matches or possible else search.nearest, possible, search.ties, search.queries,
    )  # fmt: skip


def _common(
    results: Sequence[IdentifyResult], sweeps: Sequence[Sweep], metrics: Sequence[Metric], choices: ByName
) -> Iterator[tuple[str, ByName]]:
    """Conventions and changes that produce every number; a changed choice holds for all metrics."""
    plans = [presets(metric, choices) for metric in metrics]
    general = {
        (name, tuple((choice, value) for choice, value in match.changes.items() if choice in CHOICES)): None
        for result in results for match in result.matches for name in match.conventions
    }  # fmt: skip
    own: dict[tuple[str, str], list[ByName]] = {}  # changed parameters, by name of the metric and convention
    for each, result in zip(metrics, results, strict=True):
        for match in result.matches:
            made = {choice: value for choice, value in match.changes.items() if choice not in CHOICES}
            for name in match.conventions if made else ():
                own.setdefault((each.name, name), []).append(made)
    sides = list(zip(metrics, results, sweeps, plans, strict=True))
    order = list(conventions)
    for name, shared in sorted(general, key=lambda pair: (len(pair[1]), order.index(pair[0]))):
        changes: dict[str, Any] = dict(shared)
        for metric in dict.fromkeys(each.name for each in metrics):  # parameters of one do not change another
            several = [
                (result, sweep, by_name[name])
                for other, result, sweep, by_name in sides
                if other.name == metric and name in by_name
            ]
            for parameters in ({}, *own.get((metric, name), [])):
                if several and all(_produces(*side, {**dict(shared), **parameters}) for side in several):
                    changes |= {f"{metric}_{key}": to for key, to in parameters.items()}
                    break
            else:
                break
        else:
            yield name, changes


def _produces(result: IdentifyResult, sweep: Sweep, plan: Plan, changes: ByName) -> bool:
    """Whether a plan with these changes produces the number."""
    try:
        return result.lowest <= sweep.outcome(changed(plan, changes)).mean <= result.highest
    except ValueError:  # contradictory choices, or not applicable to the data
        return False


_NUMBER = r"[-+]?[\d.]+(?:[eE][-+]?\d+)?\s*%?"
_REPORTED = re.compile(rf"\s*([^\s=:()]+(?:\s*\([^()]*\))?(?:\s*@\s*\d+)?)\s*[\s=:]\s*({_NUMBER})(?=\s|$)")


def parse_several(reported: Any, value: float | str | None = None) -> list[tuple[Metric, str]]:
    """Metrics and numbers: of one text, of several, or by metric."""
    if value is not None or isinstance(reported, Metric):
        return [parse_reported(reported, value)]
    if isinstance(reported, Mapping):
        return [parse_reported(metric, number) for metric, number in reported.items()]
    if reported is None or not isinstance(reported, (str, list, tuple)) or not reported:
        raise InputTypeError("pass metric and number, as 'ndcg@10 = 0.4704' or {'ndcg@10': 0.4704, 'ap': 0.2130}")
    out = []
    for part in text_parts(reported) if isinstance(reported, str) else reported:
        several = [match.groups() for match in _REPORTED.finditer(part)]
        read = "".join(match[0] for match in _REPORTED.finditer(part)).strip() == part.strip()
        out += [parse_reported(*pair) for pair in several] if read and several else [parse_reported(part)]
    return out


def parse_reported(metric: str | Metric, value: float | str | None = None) -> tuple[Metric, str]:
    """The metric, and the number as text."""
    text = str(metric)
    if value is None:
        body = text.strip().removesuffix("%").rstrip()
        number = re.split(r"[\s=:]", body)[-1]
        name = body[: len(body) - len(number)]
        if not name or not re.fullmatch(r"[-+.\deE]+", number):
            raise InputError(f"cannot read {text!r}; write it like 'ndcg@10 = 0.4704'")
        value = number + "%" * text.rstrip().endswith("%")
        text = re.sub(r"[=:]$", "", name.rstrip()).rstrip()
    return parse_one(text if isinstance(metric, str) else metric, "pass one metric"), str(value).strip()


def interval(reported: str) -> tuple[float, float]:
    """Lowest and highest value that round to the reported digits. A half may be rounded either way."""
    from decimal import Decimal, InvalidOperation

    percent = reported.endswith("%")
    try:
        number = Decimal(reported.rstrip("% "))
    except InvalidOperation:
        raise InputError(f"{reported!r} is not a number") from None
    if not number.is_finite():
        raise InputError(f"{reported!r} is not a finite number")
    if percent:
        number = number.scaleb(-2)
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    half = max(Decimal(5).scaleb(exponent - 1), abs(number) * Decimal("1e-12"))  # not below floating-point precision
    return float(number - half), float(number + half)


class _Search:
    """Definitions, the most common first. Each value is stored with the first definition that produces it."""

    def __init__(self, sweep: Sweep, plans: Mapping[str, Plan], fixed: ByName) -> None:
        self.sweep, self.plans = sweep, plans
        self._matches: dict[Any, tuple[Match, list[str]]] = {}
        self._unchanged: set[str] = set()  # conventions that produce the number without a change
        self.nearest: Match | None = None
        self.values: set[float] = set()
        self.tried = 0
        self.error: ValueError | None = None  # of the first definition without a value
        self._distance = math.inf
        self._plan_keys: set[Any] = set()  # of plans already tried
        self._effective: set[Any] = set()  # choices with values that changed the number
        metric = next(iter(plans.values())).metric
        fixed_names = {*dict(metric.params), *fixed}
        options = options_of(metric, plans)
        options["threshold"] = list(dict.fromkeys([*options["threshold"], *self._grades()]))
        self.choices = {
            name: values for name, values in options.items()
            if len(values) > 1 and name not in fixed_names and f"{metric.name}_{name}" not in fixed_names
        }  # fmt: skip

    @property
    def queries(self) -> int:
        """Number of queries, under the first convention that accepts the data."""
        return next((len(self.sweep.aligned(plan).ranked) for plan in self._usable()), 0)

    @property
    def ties(self) -> TieRange | None:
        """The range over the orders of tied items, under the first convention that has one."""
        return next((ends for plan in self._usable() if (ends := self.sweep.tie_range(plan)) is not None), None)

    def within_ties(self, lowest: float, highest: float) -> list[Match]:
        """Conventions of tools that order tied items arbitrarily, with the number in their range over all orders.

        None if a convention produces the number.
        """
        if self._unchanged or self.ties is None:
            return []
        by_range: dict[TieRange, list[str]] = {}
        for name, plan in self.plans.items():
            if not conventions[name].undefined_order:
                continue
            with suppress(ValueError):  # this convention does not accept the data
                ends = self.sweep.tie_range(plan)
                if ends is not None and ends.lowest <= highest and lowest <= ends.highest:
                    by_range.setdefault(ends, []).append(name)
        return [
            Match(tuple(names), {}, self._value(self.plans[names[0]]), self.plans[names[0]], ends)
            for ends, names in by_range.items()
        ]

    def _usable(self) -> Iterator[Plan]:
        """Plans of conventions that accept the data."""
        return (plan for plan in self.plans.values() if not math.isnan(self._value(plan)))

    @property
    def matches(self) -> list[Match]:
        """Definitions that produce the number; conventions with the same changes are one match."""
        return [Match(tuple(names), match.changes, match.value, match.plan) for match, names in self._matches.values()]

    def add(self, match: Match, lowest: float, highest: float) -> None:
        """Record a definition, as a match if it produces the number, unless its convention does so unchanged."""
        self.values.add(match.value)
        if lowest <= match.value <= highest and not (match.changes and self._unchanged & {*match.conventions}):
            key = (*match.changes.items(), round(match.value, 12))
            self._matches.setdefault(key, (match, []))[1].extend(match.conventions)
            self._unchanged |= set() if match.changes else {*match.conventions}
        distance = abs(match.value - (lowest + highest) / 2)
        if distance < self._distance:
            self._distance, self.nearest = distance, match

    def conventions(self) -> Iterator[Match]:
        """The unchanged conventions, grouped by value."""
        by_value: dict[float, list[str]] = {}
        for name, plan in self.plans.items():
            self.tried += 1
            value = self._value(plan)
            if not math.isnan(value):
                by_value.setdefault(value, []).append(name)
        for value, names in by_value.items():
            yield Match(tuple(names), {}, value, self.plans[names[0]])

    def one_change(self) -> Iterator[Match]:
        """Every convention with every choice changed, where the value changes.

        A choice without effect in the first few conventions with different values is not tried in the others.
        """
        probed: set[float] = set()
        for name, base in self.plans.items():
            before = self._value(base)
            if len(probed) == _PROBED:
                self._drop_ineffective()
            probed |= {before} if len(probed) < _PROBED else set()
            if self._is_new(base):
                for choice, values in self.choices.items():
                    for value in values:
                        yield from self._changed(name, base, before, {choice: value})

    def two_changes(self) -> Iterator[Match]:
        """The default convention with two choices changed."""
        self._drop_ineffective()
        name, base = next(iter(self.plans.items()))
        before = self._value(base)
        for pair in combinations(self.choices, 2):
            for values in product(*(self.choices[choice] for choice in pair)):
                yield from self._changed(name, base, before, dict(zip(pair, values, strict=True)))

    def _grades(self) -> list[float]:
        """The grades above 0 that occur: candidates for the threshold."""
        for plan in self.plans.values():
            with suppress(ValueError):  # this convention does not accept the data
                grades = np.unique(self.sweep.aligned(plan).ranked.ideal_grades)
                values = [int(grade) if grade == int(grade) else float(grade) for grade in grades if grade > 0]
                return values if len(values) <= _MAX_GRADES else []
        return []

    def _drop_ineffective(self) -> None:
        effective = {
            name: [value for value in values if (name, value) in self._effective]
            for name, values in self.choices.items()
        }
        self.choices = {name: values for name, values in effective.items() if values}

    def _is_new(self, plan: Plan) -> bool:
        """Whether no plan with the same values of the remaining choices has been tried."""
        key = tuple(choice_of(plan, choice) for choice in self.choices)
        is_new = (tuple(self.choices), key) not in self._plan_keys
        self._plan_keys.add((tuple(self.choices), key))
        return is_new

    def _value(self, plan: Plan) -> float:
        try:
            return self.sweep.outcome(plan).mean
        except ValueError as error:  # it does not accept the data
            self.error = self.error or error
            return math.nan

    def _changed(self, name: str, base: Plan, before: float, changes: ByName) -> Iterator[Match]:
        if any(choice_of(base, choice) == value for choice, value in changes.items()):
            return
        try:
            plan = changed(base, changes)
        except ValueError:  # contradictory choices
            return
        if not self._is_new(plan):
            return
        self.tried += 1
        value = self._value(plan)
        if value != before and not (math.isnan(value) and math.isnan(before)):
            self._effective |= {*changes.items()}
            if not math.isnan(value):
                yield Match((name,), changes, value, plan)


def _of_metric(plan: Plan, changes: ByName) -> dict[str, Any]:
    """Changes by names of a convention: parameters get the metric's name as prefix."""
    return {f"{plan.metric.name}_{name}" if name in plan.arguments else name: value for name, value in changes.items()}


def _narrow(row: Sequence[str]) -> list[list[str]]:
    """The row with a long list of conventions on several lines."""
    import textwrap

    first, *more = textwrap.wrap(row[0], 46, break_on_hyphens=False)
    return [[first, *row[1:]], *([line, "", ""] for line in more)]
