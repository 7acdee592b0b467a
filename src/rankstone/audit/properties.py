"""Properties that a metric must have, one row each: which change of a question must not do what to its value."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from rankstone.audit.calling import Caller
from rankstone.audit.candidates import ERROR
from rankstone.audit.questions import Item, Query, Question, shrink
from rankstone.metrics.registry import Declaration

_CLOSE = 1e-9


@dataclass(frozen=True)
class Probe:
    """What a property is checked with."""

    ask: Caller
    declaration: Declaration

    def value(self, question: Question) -> float:
        """The function's value; NaN where it has none."""
        value = self.ask(question)
        return math.nan if value == ERROR else value


class Property(NamedTuple):
    """A property: in words, how it is broken. `broken` has the values that break it, or nothing."""

    name: str
    kind: str  # value: of one question; change: of a question and a changed one
    broken: Callable[[Probe, Question], tuple[float, ...] | None]
    applies: Callable[[Probe], bool] = lambda probe: True


class Violation(NamedTuple):
    """A property that is broken by a question: the values before and after."""

    property: Property
    question: Question
    values: tuple[float, ...]
    error: str = ""


def _outside(probe: Probe, question: Question) -> tuple[float, ...] | None:
    low, high = probe.declaration.bounds
    value = probe.value(question)
    return (value,) if value < low - _CLOSE or value > high + _CLOSE else None


def _not_finite(probe: Probe, question: Question) -> tuple[float, ...] | None:
    value = probe.ask(question)
    return (value,) if value != value or value == math.inf else None


def _raises(probe: Probe, question: Question) -> tuple[float, ...] | None:
    return (ERROR,) if probe.ask(question) == ERROR and probe.ask.errors.get(question) else None


def _hangs(probe: Probe, question: Question) -> tuple[float, ...] | None:
    """Whether a call took too long, by what is recorded; a call that takes too long again is one more."""
    if question not in probe.ask.errors:
        probe.ask(question)
    return (ERROR,) if probe.ask.errors.get(question) == "" else None


def _by_row_order(probe: Probe, question: Question) -> tuple[float, ...] | None:
    """The question with its rows in another order; without scores only those of the truth."""

    def reordered(query: Query) -> Query:
        other = query.map(reversed)
        return other if probe.ask.form.scores else other._replace(run=query.run)

    return _differ(probe.value(question), probe.value(question.map(reordered)))


def _differ(before: float, after: float) -> tuple[float, float] | None:
    return (before, after) if abs(before - after) > _CLOSE else None


def _better_swaps(question: Question) -> Iterator[Question]:
    """The question with an item of higher grade moved before one of lower grade, next to it."""
    query = question.queries[0]
    grades, run = dict(query.truth or ()), sorted(query.run or (), key=lambda row: -row[1])
    if len({score for _, score in run}) < len(run) or len({item for item, _ in run}) < len(run):
        return
    for at in range(len(run) - 1):
        (first, high), (second, low) = run[at : at + 2]
        if grades.get(second, 0) > max(grades.get(first, 0), 0):
            swapped = (*run[:at], (second, high), (first, low), *run[at + 2 :])
            yield question._replace(queries=(query._replace(run=swapped), *question.queries[1:]))


def _worse_if_better(probe: Probe, question: Question) -> tuple[float, ...] | None:
    before = probe.value(question)
    for better in _better_swaps(question):
        after = probe.value(probe.ask.form.fit(better))
        if after < before - _CLOSE:
            return before, after
    return None


def _raised_by_appending(probe: Probe, question: Question) -> tuple[float, ...] | None:
    query = question.queries[0]
    items = [item for item, _ in (*(query.truth or ()), *(query.run or ()))]
    if not query.run or len(question.queries) > 1:
        return None
    new = max((item for item in items if isinstance(item, int)), default=0) + 1 if isinstance(items[0], int) else "zz"
    lowest = min(score for _, score in query.run) - 1.0
    longer = question._replace(queries=(query._replace(run=(*query.run, (new, lowest))),))
    before, after = probe.value(question), probe.value(probe.ask.form.fit(longer))
    return (before, after) if after > before + _CLOSE else None


def _not_deterministic(probe: Probe, question: Question) -> tuple[float, ...] | None:
    first, second = probe.ask(question), probe.ask(question)
    alike = first == second or (first != first and second != second)
    return None if alike else (first, second)


_fresh = itertools.count(1)


def _by_name(probe: Probe, question: Question) -> tuple[float, ...] | None:
    """The same question with queries and items that were not in any question before, in the same order."""
    number = next(_fresh)

    def fresh(item: Item) -> Item:
        return f"x{number:05}{item}" if isinstance(item, str) else 1000 * number + item

    other = question.map(lambda query: query.renamed(fresh))._replace(prefix=f"q{number}-")
    return _differ(probe.value(question), probe.value(other))


def _numbers_never_match(probe: Probe, question: Question) -> tuple[float, ...] | None:
    """Ids that are numbers, where the same ids as text match."""
    items = dict.fromkeys(item for query in question.queries for rows in query for item, _ in rows or ())
    names = {item: at for at, item in enumerate(items, 11)}  # of two digits, so that both have one order

    def named(kind: type) -> Question:
        return question.map(lambda query: query.renamed(lambda item: kind(names[item])))

    return _differ(probe.value(named(str)), probe.value(named(int)))


def _mixed_ids(probe: Probe, k: int | None) -> tuple[Question, float, float] | None:
    """A question with ids 1 and "1" whose value is that of one id on both sides, where that of another id differs."""
    if probe.ask.form.text or not probe.ask.form.unjudged:
        return None
    questions = [Question((Query(((item, 1.0),), (("1", 1.0),)),), k) for item in ("1", 1, "2")]
    same, mixed, other = map(probe.value, questions)
    return (questions[1], mixed, same) if mixed == same != other else None


def _own_document(probe: Probe, k: int | None) -> tuple[Question, float, float] | None:
    """A question whose first item has the query's name, where it has another value than with another name."""
    if not probe.ask.form.several:
        return None
    questions = [Question((Query(((item, 1.0), ("b", 1.0)), ((item, 2.0), ("x", 1.0))),), k) for item in ("q1", "q")]
    values = _differ(*map(probe.value, questions))
    return values and (questions[0], *values)


def _numeric_order(probe: Probe, k: int | None) -> tuple[Question, float, float] | None:
    """A question with equal scores whose value is another one with letters, in the same order, as ids."""
    if not (probe.ask.form.text and probe.ask.form.scores):
        return None
    questions = [Question((Query(((ids[0], 1.0),), ((ids[0], 1.0), (ids[1], 1.0))),), k) for ids in ("98", "ba")]
    values = _differ(*map(probe.value, questions))
    return values and (questions[0], *values)


DEFECTS_OF_IDS = {
    "ids 1 and '1' are the same item": _mixed_ids,
    "the query's own document is left out": _own_document,
    "whole numbers as ids are sorted, as JavaScript's objects do": _numeric_order,
}


def defects_of_ids(probe: Probe) -> Iterator[tuple[str, tuple[Question, float, float]]]:
    """What a function does with certain ids: in words; a question, its value, and that with another id."""
    k = max((k for k in probe.ask.cutoffs if k is not None), default=None)
    for name, check in DEFECTS_OF_IDS.items():
        if example := check(probe, k):
            yield name, example


PROPERTIES: tuple[Property, ...] = (
    Property("outside of the bounds", "value", _outside),
    Property("not a finite number", "value", _not_finite),
    Property("raises", "value", _raises),
    Property("not deterministic", "value", _not_deterministic),
    Property("depends on the order of rows", "change", _by_row_order),
    Property(
        "a better list scores less", "change", _worse_if_better, lambda probe: probe.declaration.better == "higher"
    ),
    Property(
        "appending a non-relevant item raises it", "change", _raised_by_appending,
        lambda probe: probe.declaration.better == "higher" and not probe.declaration.binary_only,
    ),
    Property(
        "depends on names of queries or items, or on earlier calls", "change", _by_name,
        lambda probe: probe.ask.form.unjudged,
    ),
    Property(
        "ids that are numbers match otherwise than text", "change", _numbers_never_match,
        lambda probe: not probe.ask.form.text and probe.ask.form.unjudged,
    ),
    Property("takes too long", "value", _hangs),  # the last, as no more is called after some of these
)  # fmt: skip


def _breaks(each: Property, probe: Probe, question: Question) -> bool:
    return each.broken(probe, question) is not None


def violations(probe: Probe, questions: Sequence[Question], fit: Callable[[Question], Question]) -> Iterator[Violation]:
    """The first violation of each property, by the smallest question to which it shrinks."""
    for each in PROPERTIES:
        if not each.applies(probe):
            continue
        hung = [question for question, error in probe.ask.errors.items() if not error]
        several = sorted(hung if each.broken is _hangs else questions, key=lambda question: question.size)
        most = min(40 if probe.ask.is_fast else 20, len(several))
        tried = several if each.kind == "value" else random.Random(3).sample(several, most)
        if each.broken is _not_deterministic:
            tried = tried[:: max(1, len(tried) // 20)]
        breaks = partial(_breaks, each, probe)
        if (question := next(filter(breaks, tried), None)) is None:
            continue
        smallest = shrink(question, breaks, fit, 250 if probe.ask.is_fast else 60)
        values = each.broken(probe, smallest)
        if values is None:  # it depends on earlier calls
            smallest, values = question, each.broken(probe, question) or (math.nan,)
        yield Violation(each, smallest, values, probe.ask.errors.get(smallest, ""))
