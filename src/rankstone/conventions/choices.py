"""Every named choice that a number depends on: its values, its default, what it means and how its values read.

The parameters of single metrics, which can be given in the same places, are in the declarations of the metrics.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rankstone.align.alignment import Relevance
from rankstone.align.ties import TIES
from rankstone.conventions.averaging import AVERAGING
from rankstone.errors import InputError
from rankstone.metrics.declaration import Listing, Value, depth

Stage = Literal["align", "metric", "mean"]


@dataclass(frozen=True, eq=False)
class Choice:
    """One thing that has to be decided before a list has a number."""

    stage: Stage
    default: Value
    meaning: str
    labels: Mapping[Any, str] = field(default_factory=dict)  # how a value reads; `...` for any other, with {} for it
    hidden: tuple[Any, ...] = ()  # values that go without saying
    always: bool = False  # it holds for every query; the others are edge cases
    allowed: tuple[Any, ...] = ()  # all that have words; none where any value of the right type will do
    numbers: bool = False  # may any number stand in
    by_itself: tuple[Any, ...] = ()  # values by which a query needs no look at others; empty: all of them

    def __post_init__(self) -> None:
        if not self.allowed and (self.numbers or ... not in self.labels):
            object.__setattr__(self, "allowed", tuple(word for word in self.labels if word is not ...))

    def check(self, name: str, value: Value) -> Value:
        """The value in the form it is kept in, or an error that says what it could have been."""
        if name == "threshold":
            Relevance.of(value)
            return value
        if name == "default_k" and value is not None:
            return depth(value)
        if isinstance(value, float) and math.isnan(value) and "nan" in self.allowed:
            return "nan"
        if self.numbers and isinstance(value, (int, float)) and not isinstance(value, bool):
            return value
        if self.allowed and value not in self.allowed:
            number = "a number, or " if self.numbers else ""
            raise InputError(f"{name}={value!r}; choose from {number}{', '.join(map(repr, self.allowed))}")
        if name.endswith("digits") and not (value is None or (isinstance(value, int) and value >= 0)):
            raise InputError(f"{name}={value!r}; give a number of decimals, or None")
        return value

    def describe(self, name: str, value: Value) -> str:
        """The value in a few words; nothing where it is the ordinary one."""
        if name == "threshold" and value not in ("all", "relative"):
            relevance = Relevance.of(value)
            return f"relevant if grade {'>' if relevance.strict else '>='} {relevance.threshold:g}"
        if value in self.hidden:
            return ""
        return self.labels.get(value, self.labels.get(..., f"{name} {{}}")).format(value)


_ROWS = {
    "ties": Choice(
        "align",
        "item_desc",
        "tie-breaking: the order of items with equal scores",
        {name: rule.words for name, rule in TIES.items()},
    ),
    "score_precision": Choice(
        "align",
        "float64",
        "precision at which scores are compared",
        {"float64": "scores compared as float64", "float32": "scores compared as float32"},
        hidden=("float64",),
    ),
    "duplicates": Choice(
        "align",
        "error",
        "an item twice in one list of the run",
        {
            "error": "duplicate items are an error",
            "first": "first row of duplicate items",
            "best": "best row of duplicate items",
            "count": "duplicate items count each time",
            "once": "duplicate items count once but keep their ranks",
        },
        hidden=("error",),
    ),
    "truth_duplicates": Choice(
        "align",
        "error",
        "an item twice in one query's truth",
        {
            "error": "items judged twice are an error",
            "first": "first judgement of items judged twice",
            "count": "items judged twice count twice in the truth",
            "distinct": "items judged twice with one grade count once, with two grades are an error",
            "max": "highest grade of items judged twice",
        },
        hidden=("error",),
    ),
    "unjudged": Choice(
        "align",
        "nonrelevant",
        "what an unjudged item counts as",
        {
            "nonrelevant": "unjudged items are non-relevant",
            "only_returned": "only returned items count, unjudged ones with grade 0",
            "condensed": "unjudged items are removed before ranking (condensed lists)",
        },
        hidden=("nonrelevant",),
        by_itself=("nonrelevant",),
    ),
    "nonpositive_score": Choice(
        "align",
        "count",
        "relevant items with a score of 0 or less: retrieved, or never retrieved",
        {
            "count": "items with a score of 0 or less count as retrieved",
            "miss": "items with a score of 0 or less are never retrieved",
        },
        hidden=("count",),
        by_itself=("count",),
    ),
    "default_k": Choice(
        "metric",
        None,
        "the cutoff of a metric asked for without one",
        {None: "no default cutoff", ...: "default cutoff {}"},
        hidden=(None,),
        always=True,
    ),
    "threshold": Choice(
        "metric",
        1,
        "lowest relevant grade; '>3' for grades above 3, 'all' for every judged item, 'relative' for grades above 0 "
        "that reach half the query's highest grade and the 90th percentile of its grades",
        {
            "all": "every judged item is relevant",
            "relative": "relevant if grade > 0, >= half the query's highest and >= the 90th percentile of its grades",
            ...: "relevant if grade >= {}",
        },
        always=True,
    ),
    "relevance": Choice(
        "metric",
        "binary",
        "relevance of an item in set metrics",
        {
            "binary": "relevance is binary",
            "clipped": "relevance is the grade, clipped to [0, 1]",
            "weighted": "relevance is the weight of the item in the truth, or 1 / propensity",
        },
        hidden=("binary",),
        always=True,
    ),
    "truth_depth": Choice(
        "metric",
        "all",
        "how many items of the truth can be relevant at k",
        {"all": "every item of the truth can be relevant", "k": "only the first k items of the truth can be relevant"},
        hidden=("all",),
        always=True,
    ),
    "undefined": Choice(
        "metric",
        0,
        "a query whose denominator is 0, as that of a query without relevant items",
        {
            "nan": "queries without relevant items score NaN",
            "skip": "queries without relevant items are ignored",
            "error": "a query without relevant items is an error",
            ...: "queries without relevant items score {:g}",
        },
        numbers=True,
    ),
    "no_relevant": Choice(
        "metric",
        None,
        "a query without a relevant item; None: as undefined",
        {
            "nan": "queries whose truth has no relevant item score NaN",
            "skip": "queries whose truth has no relevant item are ignored",
            "error": "a query whose truth has no relevant item is an error",
            None: "queries without a relevant item: as undefined",
            ...: "queries whose truth has no relevant item score {:g}",
        },
        hidden=(None,),
        numbers=True,
    ),
    "empty_list": Choice(
        "metric",
        "count",
        "a query whose list in the run is empty",
        {
            "count": "empty lists are scored as they are",
            "nan": "queries with an empty list score NaN",
            "skip": "queries with an empty list are ignored",
            "error": "a query with an empty list is an error",
        },
        hidden=("count",),
        by_itself=("count", "skip", "nan"),
    ),
    "empty_truth": Choice(
        "metric",
        "count",
        "a query whose truth has no item: scored, or ignored",
        {
            "count": "queries with an empty truth are scored",
            "skip": "queries with an empty truth are ignored",
        },
        hidden=("count",),
    ),
    "both_empty": Choice(
        "metric",
        None,
        "a query with an empty truth and an empty list; None: as undefined",
        {
            "nan": "queries with an empty list and an empty truth score NaN",
            None: "queries with an empty list and an empty truth: as undefined",
            ...: "queries with an empty list and an empty truth score {:g}",
        },
        hidden=(None,),
        numbers=True,
    ),
    "short_list": Choice(
        "metric",
        "count",
        "a list shorter than k: as it is, or scored 0",
        {"count": "lists shorter than k are scored as they are", "zero": "lists shorter than k score 0"},
        hidden=("count",),
    ),
    "query_digits": Choice(
        "metric",
        None,
        "decimals of the values per query",
        {None: "values are not rounded", ...: "values per query rounded to {} decimals"},
        hidden=(None,),
        always=True,
    ),
    "query_rounding": Choice(
        "metric",
        "half_even",
        "how query_digits rounds a half: to the even decimal, or up",
        {"half_even": "halves rounded to the even decimal", "half_up": "halves rounded up"},
        hidden=("half_even",),
        always=True,
    ),
    "missing": Choice(
        "mean",
        "zero",
        "a judged query that the run does not have",
        {
            "zero": "judged queries missing from the run score 0",
            "skip": "judged queries missing from the run are ignored",
            "error": "judged queries missing from the run are an error",
        },
        by_itself=("zero", "skip"),
    ),
    "extra": Choice(
        "mean",
        "skip",
        "a query of the run without judgements",
        {
            "skip": "unjudged queries are ignored",
            "zero": "unjudged queries count as queries without relevant items",
            "error": "unjudged queries are an error",
        },
        by_itself=("skip",),
    ),
    "averaging": Choice(
        "mean",
        "macro",
        "macro average, micro average, weighted average, all rows as one list, "
        "f1 of mean precision and mean recall, geometric mean, or sum",
        {name: row.words for name, row in AVERAGING.items()},
        always=True,
    ),
    "nan_in_mean": Choice(
        "mean",
        "nan",
        "values of NaN: the mean is NaN, or they count 0",
        {"nan": "the mean is NaN if a value is", "zero": "NaN counts 0 in the mean"},
        hidden=("nan",),
    ),
    "no_queries": Choice(
        "mean",
        "nan",
        "the mean if no query counts",
        {0: "0 if no query counts", "nan": "NaN if no query counts", "error": "an error if no query counts"},
        hidden=("nan",),
    ),
    "digits": Choice(
        "mean",
        None,
        "decimals of the mean",
        {None: "the mean is not rounded", ...: "mean rounded to {} decimals"},
        hidden=(None,),
        always=True,
    ),
}


class _Table(Listing[Choice]):
    def __getitem__(self, name: str) -> Choice:
        return _ROWS[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_ROWS)

    def __len__(self) -> int:
        return len(_ROWS)

    def _about(self, name: str) -> str:
        choice = self[name]
        others = [repr(word) for word in choice.allowed if word != choice.default]
        return f"{choice.meaning}; {', '.join([f'{choice.default!r} (default)', *others])}"


CHOICES: Mapping[str, Choice] = _Table()

# Choices under the names that 0.1.0 gave them, in files and states that are still read.
_RENAMED = {
    "known": ("unjudged", {"truth": "nonrelevant", "returned": "only_returned", "judged": "condensed"}),
    "credit": ("relevance", {"whole": "binary", "clamp": "clipped", "weight": "weighted"}),
}


def current_names(choices: Mapping[str, Any]) -> dict[str, Any]:
    """Choices of a file or a state, under their present names."""
    renamed = {name: _RENAMED.get(name, (name, {})) for name in choices}
    return {
        renamed[name][0]: renamed[name][1].get(value, value) if isinstance(value, str) else value
        for name, value in choices.items()
    }
