"""Changes of a definition that an audit tries: other choices, and the usual defects, one row each."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

from rankstone.align.ties import TIES
from rankstone.audit.candidates import Candidate, Change
from rankstone.audit.questions import Form, Query
from rankstone.conventions.choices import CHOICES
from rankstone.conventions.convention import find_convention
from rankstone.conventions.plan import Plan
from rankstone.explain.sweep import choice_of, options_of
from rankstone.metrics.registry import ByName, Metric

_GAINS = ("ndcg", "dcg", "cg")
_GRADES = (-2, -1, 0, 0.25, 0.5, 1, 1.5, 2, 2.75, 3, 4, 5)  # of the questions


# -- other data ----------------------------------------------------------------------------------------------


def _whole_grades(query: Query, plan: Plan) -> Query:
    return query._replace(truth=query.truth and tuple((item, float(int(grade))) for item, grade in query.truth))


def _top(query: Query, plan: Plan) -> list[Any]:
    """The first k items of the list; equal scores by the rule of the plan, or else in input order."""
    rows, rule = list(query.run or ()), TIES[plan.choices["ties"]]
    if rule.by == "item":
        rows.sort(key=lambda row: str(row[0]))
    if rule.by and rule.descending:
        rows.reverse()
    return [item for item, _ in sorted(rows, key=lambda row: -row[1])][: plan.metric.k]


def _judged_top(query: Query, plan: Plan) -> Query:
    """The first k items of the list, a repeated one as often as it counts, are all that is judged."""
    grades, top = dict(query.truth or ()), _top(query, plan)
    again = [item for at, item in enumerate(top) if item in top[:at]] if plan.choices["duplicates"] == "count" else []
    numbers = all(isinstance(item, int) for item in top)
    others = [-at if numbers else f"again {at}" for at in range(1, len(again) + 1)]
    rows = [*((item, item) for item in dict.fromkeys(top)), *zip(others, again, strict=True)]
    return query._replace(truth=query.truth and tuple((name, grades.get(item, 0.0)) for name, item in rows))


def _last_relevant(query: Query, plan: Plan) -> Query:
    """Of the relevant items that were returned, only the last is relevant."""
    grades = dict(query.truth or ())
    hits = [item for item in dict.fromkeys(_top(query, plan))
            if item in grades and plan.relevance.reached(grades[item])]  # fmt: skip
    return _without_grades(query, hits[:-1])


def _without_grades(query: Query, items: Collection[Any]) -> Query:
    return query._replace(truth=query.truth and tuple(row for row in query.truth if row[0] not in items))


def _negated(query: Query, plan: Plan) -> Query:
    return query._replace(run=query.run and tuple((item, -score) for item, score in query.run))


def _reversed(query: Query, plan: Plan) -> Query:
    return query._replace(run=query.run and query.run[::-1])


def _unjudged_relevant(query: Query, plan: Plan) -> Query:
    if query.truth is None:
        return query
    judged = dict(query.truth)
    more = dict.fromkeys((item for item, _ in query.run or () if item not in judged), 1.0)
    return query._replace(truth=(*query.truth, *more.items()))


def _positive_only(query: Query, plan: Plan) -> Query:
    return query._replace(run=query.run and tuple(row for row in query.run if row[1] > 0))


def _positive_on_both_sides(query: Query, plan: Plan) -> Query:
    """Rows with a score of 0 or less are left out of the truth, too."""
    dropped = {item for item, score in query.run or () if not score > 0}
    return _positive_only(_without_grades(query, dropped), plan)


def _of_hits(none: float) -> Any:
    """The mean of the values above 0."""

    def mean(values: list[float]) -> float:
        hits = [value for value in values if value > 0]
        return sum(hits) / len(hits) if hits else none

    return mean


def _rank(shift: int) -> Any:
    """The reciprocal of a rank that is off by some places; not determined where that is 0."""
    return lambda value: 0.0 if value == 0 else math.inf if 1 / value + shift < 0.5 else 1 / (1 / value + shift)


def _times(factor: float) -> Any:
    return lambda value: value * factor


_LOG10 = math.log2(10)
_POWERS = tuple((grade, 2.0**grade) for grade in _GRADES)
DEFECTS: tuple[Change, ...] = (
    Change("gain 2^grade, without the - 1", _GAINS, {"gain": _POWERS}),
    Change(
        "gain 2^grade, without the - 1, for unjudged items too", ("ndcg", "dcg"),
        {"gain": _POWERS, "unjudged_gain": 1.0},
    ),
    Change(
        "gain 2^grade, without the - 1, for grades above 0", _GAINS,
        {"gain": tuple((grade, 2.0**grade if grade > 0 else 0.0) for grade in _GRADES)},
    ),
    Change("unjudged items have gain 1", ("ndcg", "dcg"), {"unjudged_gain": 1.0}),
    Change("discount off by one: log2(rank+2)", ("ndcg", "dcg"), {"discount": "log2(rank+2)"}),
    Change("natural logarithm in the list only", ("ndcg",), value=_times(1 / math.log(2))),
    Change("natural logarithm in the ideal only", ("ndcg",), value=_times(math.log(2))),
    Change("log10 in the list only", ("ndcg",), value=_times(_LOG10)),
    Change("log10 in the ideal only", ("ndcg",), value=_times(1 / _LOG10)),
    Change("log10 where log2 is meant", ("dcg",), value=_times(_LOG10)),
    *(Change("grades cut to integers", side=side, data=_whole_grades) for side in ("both", "list", "ideal")),
    Change("rank from 0", ("rr",), value=_rank(-1)),
    Change("rank one too high", ("rr",), value=_rank(1)),
    Change("rank of the last relevant item", ("rr",), data=_last_relevant),
    Change("ascending order of scores", data=_negated),
    Change("the list is read from its end", data=_reversed),
    *(
        Change(name, side=side, deeper=deeper)
        for name, deeper in (("cut one too early", -1), ("cut one too late", 1), ("not cut at k", None))
        for side in ("both", "list", "ideal")
    ),
    Change("only the first k returned items count", ("ndcg",), side="ideal", data=_judged_top),
    *(Change("unjudged items are relevant", side=side, data=_unjudged_relevant) for side in ("both", "list")),
    Change("counts hits", ("hit_rate",), side="list", swap="precision"),
    Change("items with a score of 0 or less are dropped", data=_positive_only),
    Change("rows with a score of 0 or less are dropped", data=_positive_on_both_sides),
    *(Change("queries without a hit are left out of the mean", mean=_of_hits(none)) for none in (0.0, math.inf)),
)  # fmt: skip


# -- choices -------------------------------------------------------------------------------------------------

_MORE: Mapping[str, tuple[Any, ...]] = {  # values besides those of the conventions
    "threshold": (">1", 2, ">2", 3, 0.5, 0),
    "undefined": (0, 1, "nan", "skip"),
    "no_relevant": (0, 1),
    "both_empty": (1,),
    "query_digits": (1, 2, 3, 4),
    "digits": (2, 3),
    "max_grade": (1, 2, 3, 4, 5),
}
_ONE_SIDED: Mapping[str, tuple[Any, ...]] = {
    "threshold": (">1", ">0", 2, 1),
    "gain": ("linear", "exp2", "binary"),
    "discount": ("log2(rank+1)", "log2(max(rank,2))", "log2(rank+2)"),
    "duplicates": ("count", "once"),
    "negative": ("zero", "signed"),
}
_NOT_TRIED = {"default_k": (), "averaging": ("weighted", "one_list", "parts")}
# What a calling style must express for a choice to matter: a trait of its form, and the words for its lack.
NEEDS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("ties", "score_precision", "nonpositive_score"), ("scores", "it passes no scores")),
    **dict.fromkeys(
        ("missing", "extra", "averaging", "nan_in_mean", "no_queries", "digits"), ("several", "it passes one query")
    ),
    "duplicates": ("repeats", "no list has an item twice"),
    "unjudged": ("unjudged", "each item is judged and returned"),
}


def choices_of(metric: Metric, plans: Mapping[str, Plan], form: Form) -> dict[str, list[Any]]:
    """Values of each choice that can matter in a calling style."""
    out = {}
    for name, values in options_of(metric, plans).items():
        needed = NEEDS.get(name)
        if name == "default_k" or (needed and not getattr(form, needed[0])) or name in dict(metric.params):
            continue
        out[name] = [value for value in dict.fromkeys([*values, *_MORE.get(name, ())])
                     if value not in _NOT_TRIED.get(name, ())]  # fmt: skip
    return out


def changes_of(metric: Metric, plans: Mapping[str, Plan], form: Form) -> list[Change]:
    """All changes that are tried."""
    choices = choices_of(metric, plans, form)
    single = [Change(f"{name}={value!r}", choices={name: value}) for name, values in choices.items()
              for value in values]  # fmt: skip
    sided = [
        Change(f"{name}={value!r}", choices={name: value}, side=side)
        for name, values in _ONE_SIDED.items() if name in choices for value in values for side in ("list", "ideal")
    ]  # fmt: skip
    defects = [change for change in DEFECTS if not change.metrics or metric.name in change.metrics]
    return [*single, *defects, *sided]


def extensions(candidate: Candidate, form: Form) -> Iterator[Candidate]:
    """The definition with rules for what it refuses or leaves out, where the calling style has that."""
    rules: list[tuple[str, tuple[Any, ...]]] = [
        ("duplicates", ("once", "count", "first") if form.repeats else ()),
        ("truth_duplicates", ("first", "count") if form.repeats and not form.grades else ()),
        ("no_queries", (0, 1)),  # where every query is left out
    ]
    before = {name: choice_of(candidate.plan, name) for name, _ in rules}
    open_rules = [(None, *values) if before[name] in ("error", "nan") else (None,) for name, values in rules]
    for values in product(*open_rules):
        choices = {name: value for (name, _), value in zip(rules, values, strict=True) if value is not None}
        name = ", ".join(f"{name}={value!r}" for name, value in choices.items())
        if choices and (extended := candidate.with_change(Change(name, choices=choices, extends=True))):
            yield extended


def loose_extensions(candidate: Candidate, form: Form) -> Iterator[Candidate]:
    """The definition with any value where the tool's own order of equal scores is undefined, or data is refused."""
    undefined = form.scores and bool(find_convention(candidate.convention).undefined_order)
    refuses = "error" in (candidate.plan.choices["duplicates"], candidate.plan.choices["truth_duplicates"])
    for change in (*(_ANY_TIES,) * undefined, *(_ANY_RULE,) * (refuses and form.repeats)):
        if extended := candidate.with_change(change):
            yield extended


_ANY_TIES = Change("an order of its own of equal scores", any_ties=True, extends=True)
_ANY_RULE = Change("a rule of its own for repeated items", any_refused=True, extends=True)


class Trap(NamedTuple):
    """A choice that is a known defect where another one is meant."""

    name: str
    choice: str
    values: tuple[Any, ...]
    metrics: tuple[str, ...] = ()


TRAPS: tuple[Trap, ...] = (
    Trap("a repeated item is credited each time", "duplicates", ("count",)),
    Trap("the ideal list is cut at the number of returned items", "ideal_depth", ("min(k,retrieved)",)),
    Trap("the ideal list has the returned items only", "ideal", ("retrieved",)),
    Trap("the ideal list is not cut at k", "ideal_depth", ("all",)),
    Trap("the ideal list is worst first", "ideal_order", ("worst",)),
    Trap("the ideal list has k relevant items, however many there are", "ideal", ("ones",)),
    Trap("the discount is off by one", "discount", ("log2(max(rank,2))", "log2(rank+2)")),
    Trap("natural logarithm", "discount", ("ln(rank+1)",)),
    Trap("grades are cut to integers in the ideal list", "ideal_grades", ("whole",)),
    Trap("average precision over the hits", "divisor", ("found",), ("ap", "gmap")),
    Trap("average precision over k", "divisor", ("k",), ("ap", "gmap")),
    Trap("average precision over min(k, relevant)", "divisor", ("min(relevant,k)", "min(relevant,k,retrieved)"),
         ("ap", "gmap")),
    Trap("precision over the length of the list", "divisor", ("min(k,retrieved)",), ("precision",)),
    Trap("precision over min(k, relevant)", "divisor", ("min(k,relevant)",), ("precision",)),
    Trap("recall over min(k, relevant)", "divisor", ("min(relevant,k)",), ("recall",)),
    Trap("reciprocal ranks of all relevant items", "terms", ("all", "mean"), ("rr",)),
    Trap("the threshold is exclusive", "threshold", (">1", ">2", ">3")),
    Trap("ties in input order", "ties", ("input", "reverse_input", "optimistic")),
    Trap("ties averaged", "ties", ("expected", "group_end", "group_mean")),
    Trap("queries missing from the run are left out", "missing", ("skip",)),
    Trap("queries without relevant items count", "undefined", (1, 0.5)),
    Trap("queries without relevant items are NaN", "undefined", ("nan",)),
    Trap("queries without relevant items count", "no_relevant", (1, 0.5)),
    Trap("queries without relevant items are NaN", "no_relevant", ("nan",)),
    Trap("values per query are rounded", "query_digits", (1, 2, 3, 4)),
    Trap("queries without a hit are left out of the mean", "misses", ("undefined",)),
    Trap("unjudged items are dropped", "unjudged", ("condensed",)),
    Trap("only returned items count, for the ideal list too", "unjudged", ("only_returned",)),
    Trap("items with a score of 0 or less are dropped", "nonpositive_score", ("miss",)),
    Trap("scores are compared as float32", "score_precision", ("float32",)),
)  # fmt: skip


def trap_of(metric: str, choices: ByName) -> str:
    """The name of the known defect that one of the choices is; empty if none is."""
    return next((
        trap.name for trap in TRAPS
        if trap.choice in choices and choices[trap.choice] in trap.values and metric in (trap.metrics or (metric,))
    ), "")  # fmt: skip


def words_of(metric: Metric, name: str, value: object) -> str:
    """A choice's value in words."""
    about = metric.declaration.about.get(name) or CHOICES[name]
    return about.describe(name, value) or f"{name}={value!r}"
