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
from rankstone.metrics.declaration import Listing, Value, depth

Stage = Literal["align", "metric", "mean"]


@dataclass(frozen=True, eq=False)
class Choice:
    """One thing that has to be decided before a list has a number."""

    stage: Stage
    default: Value
    meaning: str
    words: Mapping[Any, str] = field(default_factory=dict)  # how a value reads; `...` for any other, with {} for it
    quiet: tuple[Any, ...] = ()  # values that go without saying
    always: bool = False  # it holds for every query; the others are edge cases
    allowed: tuple[Any, ...] = ()  # all that have words; none where any value of the right type will do
    numbers: bool = False  # may any number stand in
    by_itself: tuple[Any, ...] = ()  # values by which a query needs no look at others; empty: all of them

    def __post_init__(self) -> None:
        if not self.allowed and (self.numbers or ... not in self.words):
            object.__setattr__(self, "allowed", tuple(word for word in self.words if word is not ...))

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
            raise ValueError(f"{name}={value!r}; choose from {number}{', '.join(map(repr, self.allowed))}")
        if name.endswith("digits") and not (value is None or (isinstance(value, int) and value >= 0)):
            raise ValueError(f"{name}={value!r}; give a number of decimals, or None")
        return value

    def say(self, name: str, value: Value) -> str:
        """The value in a few words; nothing where it is the ordinary one."""
        if name == "threshold" and value != "all":
            relevance = Relevance.of(value)
            return f"relevant {'above' if relevance.strict else 'from'} grade {relevance.threshold:g}"
        if value in self.quiet:
            return ""
        return self.words.get(value, self.words.get(..., f"{name} {{}}")).format(value)


_ROWS = {
    "ties": Choice(
        "align", "item_desc", "who goes first among equal scores", {name: rule.words for name, rule in TIES.items()}
    ),
    "score_precision": Choice(
        "align",
        "float64",
        "how finely scores are compared",
        {"float64": "scores compared as they are", "float32": "scores compared as float32"},
        quiet=("float64",),
    ),
    "duplicates": Choice(
        "align",
        "error",
        "an item twice in one list of the run",
        {
            "error": "a repeated item is an error",
            "first": "of a repeated item only the first row",
            "best": "of a repeated item only the best row",
            "count": "a repeated item counts each time",
            "once": "a repeated item counts once but keeps its places",
        },
        quiet=("error",),
    ),
    "truth_duplicates": Choice(
        "align",
        "error",
        "an item twice in one query's truth",
        {
            "error": "an item judged twice is an error",
            "first": "of an item judged twice only the first judgement",
            "count": "an item judged twice counts twice in the truth",
        },
        quiet=("error",),
    ),
    "known": Choice(
        "align",
        "truth",
        "what is known of a query: its truth, only the items returned, or only the items judged",
        {
            "truth": "all that the truth judges is known, returned or not",
            "returned": "only the items returned are known, those nobody judged have grade 0",
            "judged": "items that nobody judged leave the lists before ranks are counted",
        },
        quiet=("truth",),
        by_itself=("truth",),
    ),
    "nonpositive_score": Choice(
        "align",
        "count",
        "a relevant item with a score of 0 or less: counted, or never found",
        {
            "count": "an item with a score of 0 or less counts as any other",
            "miss": "an item with a score of 0 or less is never found",
        },
        quiet=("count",),
        by_itself=("count",),
    ),
    "default_k": Choice(
        "metric",
        None,
        "the cutoff of a metric asked for without one",
        {None: "the whole list where no cutoff is given", ...: "cut at {} where no cutoff is given"},
        quiet=(None,),
        always=True,
    ),
    "threshold": Choice(
        "metric",
        1,
        "the lowest grade that is relevant; '>3' for grades above 3, 'all' for every judged item",
        {"all": "every judged item is relevant", ...: "relevant from grade {}"},
        always=True,
    ),
    "credit": Choice(
        "metric",
        "whole",
        "what a relevant item counts: 1, its grade up to 1, or what the truth says that it weighs",
        {
            "whole": "a relevant item counts 1",
            "clamp": "a grade below 1 counts in part",
            "weight": "an item counts by its weight in the truth, or one over its propensity",
        },
        quiet=("whole",),
        always=True,
    ),
    "truth_depth": Choice(
        "metric",
        "all",
        "how much of the truth can be relevant at k",
        {"all": "every item of the truth can be relevant", "k": "only the first k items of the truth can be relevant"},
        quiet=("all",),
        always=True,
    ),
    "undefined": Choice(
        "metric",
        0,
        "a query where nothing could be earned: without a relevant item, or with nothing to divide by",
        {
            "nan": "NaN where nothing could be earned",
            "skip": "queries where nothing could be earned are left out",
            "error": "an error where nothing could be earned",
            ...: "{:g} where nothing could be earned",
        },
        numbers=True,
    ),
    "no_relevant": Choice(
        "metric",
        None,
        "a query without a relevant item; None: as undefined",
        {
            "nan": "NaN for a query without a relevant item",
            "skip": "queries without a relevant item are left out",
            "error": "a query without a relevant item is an error",
            None: "a query without a relevant item as any other where nothing could be earned",
            ...: "{:g} for a query without a relevant item",
        },
        quiet=(None,),
        numbers=True,
    ),
    "empty_list": Choice(
        "metric",
        "count",
        "a query whose list in the run is empty",
        {
            "count": "an empty list is measured as it is",
            "nan": "NaN for an empty list",
            "skip": "queries with an empty list are left out",
            "error": "a query with an empty list is an error",
        },
        quiet=("count",),
        by_itself=("count", "skip", "nan"),
    ),
    "empty_truth": Choice(
        "metric",
        "count",
        "a query whose truth judges nothing: as it is, or left out",
        {
            "count": "a query whose truth judges nothing counts as any other",
            "skip": "queries whose truth judges nothing are left out",
        },
        quiet=("count",),
    ),
    "both_empty": Choice(
        "metric",
        None,
        "a query with an empty truth and an empty list; None: as undefined",
        {
            "nan": "NaN for an empty list and an empty truth",
            None: "an empty list and an empty truth as any other query where nothing could be earned",
            ...: "{:g} for an empty list and an empty truth",
        },
        quiet=(None,),
        numbers=True,
    ),
    "short_list": Choice(
        "metric",
        "count",
        "a list shorter than k: as it is, or scored 0",
        {"count": "a list shorter than k is measured as it is", "zero": "0 if the list is shorter than k"},
        quiet=("count",),
    ),
    "query_digits": Choice(
        "metric",
        None,
        "decimals that each query's value is rounded to",
        {None: "values are not rounded", ...: "each query's value rounded to {} decimals"},
        quiet=(None,),
        always=True,
    ),
    "missing": Choice(
        "mean",
        "zero",
        "a judged query that the run does not have",
        {
            "zero": "a judged query missing from the run counts as an empty list",
            "skip": "judged queries missing from the run are left out",
            "error": "judged queries missing from the run are an error",
        },
        by_itself=("zero", "skip"),
    ),
    "extra": Choice(
        "mean",
        "skip",
        "a query of the run that nobody judged",
        {
            "skip": "queries nobody judged are left out",
            "zero": "queries nobody judged count as having nothing relevant",
            "error": "queries nobody judged are an error",
        },
        by_itself=("skip",),
    ),
    "averaging": Choice(
        "mean",
        "macro",
        "mean of the queries' values, ratio of sums, weighted mean, all rows as one list, "
        "f1 of mean precision and mean recall, geometric mean, or sum",
        {name: row.words for name, row in AVERAGING.items()},
        always=True,
    ),
    "nan_in_mean": Choice(
        "mean",
        "nan",
        "a value that is NaN: makes the mean NaN, or counts 0",
        {"nan": "one NaN makes the mean NaN", "zero": "NaN counts 0 in the mean"},
        quiet=("nan",),
    ),
    "no_queries": Choice(
        "mean",
        "nan",
        "the mean over no query at all",
        {0: "0 if no query counts", "nan": "NaN if no query counts", "error": "an error if no query counts"},
        quiet=("nan",),
    ),
    "digits": Choice(
        "mean",
        None,
        "decimals that the mean is rounded to",
        {None: "the mean is not rounded", ...: "rounded to {} decimals"},
        quiet=(None,),
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
