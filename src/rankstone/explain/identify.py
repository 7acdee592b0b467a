"""Which definition made a number that someone reported."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.conventions.convention import find_convention
from rankstone.conventions.plan import Plan, check_supported, make_plans
from rankstone.evaluate.pipeline import open_source
from rankstone.explain.explain import JUDGED
from rankstone.explain.sweep import Sweep, changed, choice_of, options_of, presets
from rankstone.metrics.registry import ByName, Metric, Value, parse_one
from rankstone.progress import watched
from rankstone.results.answer import Answer, Readable, plain
from rankstone.results.definition import Definition, definition_of

if TYPE_CHECKING:
    from rankstone.typing import Array, Numbers, Roles, Run, Truth

_SHOWN = 40  # lines of a printed table
_LEARNT_FROM = 3  # conventions that differ
_GRADES = 20  # that are tried as thresholds; if there are more, they are no grades that people give


@dataclass(frozen=True)
class Match:
    """A definition that makes the number: some conventions, with some choices made otherwise."""

    conventions: tuple[str, ...]  # that all make it, the most ordinary first
    changes: ByName
    value: float
    plan: Plan

    @property
    def definition(self) -> Definition:
        """What the number means, if this is where it came from."""
        return definition_of(
            self.plan, find_convention(self.conventions[0]).with_choices(**_of_metric(self.plan, self.changes))
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data; the definition as it is cited."""
        return {
            "conventions": list(self.conventions),
            "changes": dict(self.changes),
            "value": self.value,
            "definition": self.definition.cite,
        }


@dataclass(frozen=True, repr=False)
class Identified(Readable):
    """What could have made a number, the most ordinary first."""

    metric: str
    reported: str
    lowest: float  # the number as reported stands for lowest <= value <= highest: a half may be rounded either way
    highest: float
    tried: int  # definitions
    values: int  # different values among them
    matches: list[Match]
    nearest: Match | None  # if nothing matches

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return plain(self)

    def answer(self) -> Answer:
        """The matches: convention, what is otherwise, value."""
        shown = self.matches or ([self.nearest] if self.nearest else [])
        title = f"{self.tried} definitions tried, {self.values} different values"
        if self.matches:
            title = f"{len(self.matches)} found; {title}"
        elif self.nearest:
            title = f"nothing makes this number; {title}; the nearest:"
        rows = [
            [
                ", ".join(match.conventions),
                ", ".join(f"{name}={value!r}" for name, value in match.changes.items()),
                f"{match.value:.6f}",
            ]
            for match in shown
        ]
        asked = f"{self.metric} = {self.reported}: "
        return Answer([["convention", "changed", "value"], *rows], asked + title, align="<<>")

    def text(self, width: int | None = None, quiet: bool = False) -> str:
        """As it is printed: long lists of conventions on several lines, and not all of very many."""
        answer = self.answer()
        head, *rows = [line for row in answer.table for line in _narrow(row)]
        if not rows:
            return answer.title
        rest = [f"and {len(rows) - _SHOWN} lines more"] if len(rows) > _SHOWN else []
        return replace(answer, table=[head, *rows[:_SHOWN]], notes=rest).render(quiet=quiet, width=width)


def identify(
    truth: Truth,
    run: Run,
    metric: str | Metric,
    value: float | str | None = None,
    *,
    columns: Roles | None = None,
    mask: Array | None = None,
    lengths: Numbers | None = None,
    groups: Numbers | None = None,
    threads: int = 0,
    **choices: Value,
) -> Identified:
    """Which conventions and tools make a number that someone reported: `"nDCG@10 = 0.4704"`, or a metric and a number.

    The number is taken to the digits given: 0.4704 stands for 0.47035 up to 0.47045, and 47.04 % for the same. First
    come the conventions as they are, then those with one choice made otherwise (the threshold may be any grade that
    occurs), the default's before the others'; only if none of these makes the number, the default with two choices
    made otherwise. Choices that are known are given by name: `ties="input"`. The data is as `evaluate` takes it.

    >>> truth, run = {"u1": {"i1": 1, "i2": 1, "i4": 1}}, {"u1": {"i1": 3.0, "i3": 2.0, "i2": 1.0}}
    >>> rs.identify(truth, run, "AP@2 = 0.33").matches[0].conventions[:3]
    ('rankstone', 'trec_eval', 'trec_eval-9')
    """
    name, reported = asked(metric, value)
    lowest, highest = interval(reported)
    check_supported(make_plans(name, "rankstone", {}), JUDGED)
    source = open_source(truth, run, mask=mask, lengths=lengths, groups=groups, columns=columns)
    search = _Search(Sweep(source, threads), presets(name, choices), choices)
    with watched(f"identifying {name}", "definitions") as progress:
        for level in (search.conventions, search.one_change, search.two_changes):
            for match in level():
                search.see(match, lowest, highest)
                progress(search.tried)
            if search.matches and level != search.conventions:
                break
    if not search.values and search.refused is not None:
        raise search.refused
    return Identified(
        str(name), reported, lowest, highest, search.tried, len(search.values), search.matches,
        None if search.matches else search.nearest,
    )  # fmt: skip


def asked(metric: str | Metric, value: float | str | None = None) -> tuple[Metric, str]:
    """The metric and its number, as they were written."""
    text = str(metric)
    if value is None:
        body = text.strip().removesuffix("%").rstrip()
        number = re.split(r"[\s=:]", body)[-1]
        name = body[: len(body) - len(number)]
        if not name or not re.fullmatch(r"[-+.\deE]+", number):
            raise ValueError(f"cannot read {text!r}; write it like 'ndcg@10 = 0.4704'")
        value = number + "%" * text.rstrip().endswith("%")
        text = re.sub(r"[=:]$", "", name.rstrip()).rstrip()
    return parse_one(text if isinstance(metric, str) else metric, "give the number of one"), str(value).strip()


def interval(reported: str) -> tuple[float, float]:
    """The values that are written so, to the digits given."""
    from decimal import Decimal, InvalidOperation

    percent = reported.endswith("%")
    try:
        number = Decimal(reported.rstrip("% "))
    except InvalidOperation:
        raise ValueError(f"{reported!r} is not a number") from None
    if not number.is_finite():
        raise ValueError(f"{reported!r} is not a number that a definition could make")
    if percent:
        number = number.scaleb(-2)
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    half = max(Decimal(5).scaleb(exponent - 1), abs(number) * Decimal("1e-12"))  # no finer than arithmetic is
    return float(number - half), float(number + half)


class _Search:
    """Definitions in the order of how ordinary they are, each value kept with the first that makes it."""

    def __init__(self, sweep: Sweep, plans: Mapping[str, Plan], known: ByName) -> None:
        self.sweep, self.plans = sweep, plans
        self._matches: dict[Any, tuple[Match, list[str]]] = {}
        self._as_they_are: set[str] = set()  # conventions that make the number without any change
        self.nearest: Match | None = None
        self.values: set[float] = set()
        self.tried = 0
        self.refused: ValueError | None = None  # why the first of those that have no number has none
        self._away = math.inf
        self._seen: set[Any] = set()  # plans
        self._matter: set[Any] = set()  # choices with the values that made another number
        metric = next(iter(plans.values())).metric
        kept = {*dict(metric.params), *known}
        options = options_of(metric, plans)
        options["threshold"] = list(dict.fromkeys([*options["threshold"], *self._grades()]))
        self.choices = {
            name: values for name, values in options.items()
            if len(values) > 1 and name not in kept and f"{metric.name}_{name}" not in kept
        }  # fmt: skip

    @property
    def matches(self) -> list[Match]:
        """What makes the number, those that make it by the same change together."""
        return [Match(tuple(names), match.changes, match.value, match.plan) for match, names in self._matches.values()]

    def see(self, match: Match, lowest: float, highest: float) -> None:
        """Keep it if it makes the number, unless its convention does so as it is."""
        self.values.add(match.value)
        if lowest <= match.value <= highest and not (match.changes and self._as_they_are & {*match.conventions}):
            key = (*match.changes.items(), round(match.value, 12))
            self._matches.setdefault(key, (match, []))[1].extend(match.conventions)
            self._as_they_are |= set() if match.changes else {*match.conventions}
        away = abs(match.value - (lowest + highest) / 2)
        if away < self._away:
            self._away, self.nearest = away, match

    def conventions(self) -> Iterator[Match]:
        """The conventions as they are, those of one value together."""
        together: dict[float, list[str]] = {}
        for name, plan in self.plans.items():
            self.tried += 1
            value = self._value(plan)
            if not math.isnan(value):
                together.setdefault(value, []).append(name)
        for value, names in together.items():
            yield Match(tuple(names), {}, value, self.plans[names[0]])

    def one_change(self) -> Iterator[Match]:
        """Every choice of every convention made otherwise, where that makes another value.

        What has changed nothing in a few conventions that differ is taken to change nothing in this data.
        """
        tried: set[float] = set()
        for name, base in self.plans.items():
            before = self._value(base)
            if len(tried) == _LEARNT_FROM:
                self._forget_idle()
            tried |= {before} if len(tried) < _LEARNT_FROM else set()
            if self._is_new(base):
                for choice, values in self.choices.items():
                    for value in values:
                        yield from self._changed(name, base, before, {choice: value})

    def two_changes(self) -> Iterator[Match]:
        """The default with two choices made otherwise."""
        self._forget_idle()
        name, base = next(iter(self.plans.items()))
        before = self._value(base)
        for pair in combinations(self.choices, 2):
            for values in product(*(self.choices[choice] for choice in pair)):
                yield from self._changed(name, base, before, dict(zip(pair, values, strict=True)))

    def _grades(self) -> list[float]:
        """The grades above 0 that occur, each of which may be the lowest that was taken for relevant."""
        for plan in self.plans.values():
            with suppress(ValueError):  # this convention refuses the data
                grades = np.unique(self.sweep.aligned(plan).ranked.ideal_grades)
                found = [int(grade) if grade == int(grade) else float(grade) for grade in grades if grade > 0]
                return found if len(found) <= _GRADES else []
        return []

    def _forget_idle(self) -> None:
        matter = {
            name: [value for value in values if (name, value) in self._matter] for name, values in self.choices.items()
        }
        self.choices = {name: values for name, values in matter.items() if values}

    def _is_new(self, plan: Plan) -> bool:
        """Has no plan been here that makes the same of all choices that are still in question."""
        key = tuple(choice_of(plan, choice) for choice in self.choices)
        known = (tuple(self.choices), key) in self._seen
        self._seen.add((tuple(self.choices), key))
        return not known

    def _value(self, plan: Plan) -> float:
        try:
            return self.sweep.outcome(plan).mean
        except ValueError as error:  # it refuses this data
            self.refused = self.refused or error
            return math.nan

    def _changed(self, name: str, base: Plan, before: float, changes: ByName) -> Iterator[Match]:
        if any(choice_of(base, choice) == value for choice, value in changes.items()):
            return
        try:
            plan = changed(base, changes)
        except ValueError:  # choices that do not go together
            return
        if not self._is_new(plan):
            return
        self.tried += 1
        value = self._value(plan)
        if value != before and not (math.isnan(value) and math.isnan(before)):
            self._matter |= {*changes.items()}
            if not math.isnan(value):
                yield Match((name,), changes, value, plan)


def _of_metric(plan: Plan, changes: ByName) -> dict[str, Any]:
    """Changes by names that a convention knows: those of a parameter with the metric's name before it."""
    return {f"{plan.metric.name}_{name}" if name in plan.arguments else name: value for name, value in changes.items()}


def _narrow(row: Sequence[str]) -> list[list[str]]:
    """The row with a long list of conventions on several lines."""
    import textwrap

    first, *more = textwrap.wrap(row[0], 50, break_on_hyphens=False)
    return [[first, *row[1:]], *([line, "", ""] for line in more)]
