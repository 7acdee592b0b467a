"""Every named choice that a number depends on: its type, its default, what it means and how its values read.

`Choices` is the table. A type checker reads it as the keywords of `rs.evaluate`; `CHOICES` is the same, to be looked
things up in. The parameters of single metrics, which can be given there too, are in `rankstone.typing`. Annotations are
not left for later here: they are the table.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, TypedDict, get_args, get_origin

from rankstone.align.alignment import Relevance
from rankstone.align.ties import TIES, TieName
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
    allowed: tuple[Any, ...] = ()  # words; empty where any value of the right type will do
    numbers: bool = False  # may any number stand in
    by_itself: tuple[Any, ...] = ()  # values by which a query needs no look at others; empty: all of them

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


class Choices(TypedDict, total=False):
    """What `rs.evaluate` can be told by name."""

    ties: Annotated[
        TieName,
        Choice(
            "align",
            "item_desc",
            "who goes first among equal scores",
            {name: rule.words for name, rule in TIES.items()},
        ),
    ]
    score_precision: Annotated[
        Literal["float64", "float32"],
        Choice(
            "align",
            "float64",
            "how finely scores are compared",
            {"float64": "scores compared as they are", "float32": "scores compared as float32"},
            quiet=("float64",),
        ),
    ]
    duplicates: Annotated[
        Literal["error", "first", "best", "count", "once"],
        Choice(
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
    ]
    truth_duplicates: Annotated[
        Literal["error", "first", "count"],
        Choice(
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
    ]
    known: Annotated[
        Literal["truth", "returned", "judged"],
        Choice(
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
    ]
    nonpositive_score: Annotated[
        Literal["count", "miss"],
        Choice(
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
    ]
    default_k: Annotated[
        int | None,
        Choice(
            "metric",
            None,
            "the cutoff of a metric asked for without one",
            {None: "the whole list where no cutoff is given", ...: "cut at {} where no cutoff is given"},
            quiet=(None,),
            always=True,
        ),
    ]
    threshold: Annotated[
        float | str,
        Choice(
            "metric",
            1,
            "the lowest grade that is relevant; '>3' for grades above 3, 'all' for every judged item",
            {"all": "every judged item is relevant", ...: "relevant from grade {}"},
            always=True,
        ),
    ]
    credit: Annotated[
        Literal["whole", "clamp", "weight"],
        Choice(
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
    ]
    truth_depth: Annotated[
        Literal["all", "k"],
        Choice(
            "metric",
            "all",
            "how much of the truth can be relevant at k",
            {
                "all": "every item of the truth can be relevant",
                "k": "only the first k items of the truth can be relevant",
            },
            quiet=("all",),
            always=True,
        ),
    ]
    undefined: Annotated[
        Literal["nan", "skip", "error"] | float,
        Choice(
            "metric",
            0,
            "a query where nothing could be earned: without a relevant item, or with nothing to divide by",
            {
                "skip": "queries where nothing could be earned are left out",
                "nan": "NaN where nothing could be earned",
                "error": "an error where nothing could be earned",
                ...: "{:g} where nothing could be earned",
            },
            numbers=True,
        ),
    ]
    no_relevant: Annotated[
        Literal["nan", "skip", "error"] | float | None,
        Choice(
            "metric",
            None,
            "a query without a relevant item; None: as undefined",
            {
                None: "a query without a relevant item as any other where nothing could be earned",
                "skip": "queries without a relevant item are left out",
                "nan": "NaN for a query without a relevant item",
                "error": "a query without a relevant item is an error",
                ...: "{:g} for a query without a relevant item",
            },
            quiet=(None,),
            numbers=True,
        ),
    ]
    empty_list: Annotated[
        Literal["count", "nan", "skip", "error"],
        Choice(
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
    ]
    empty_truth: Annotated[
        Literal["count", "skip"],
        Choice(
            "metric",
            "count",
            "a query whose truth judges nothing: as it is, or left out",
            {
                "count": "a query whose truth judges nothing counts as any other",
                "skip": "queries whose truth judges nothing are left out",
            },
            quiet=("count",),
        ),
    ]
    both_empty: Annotated[
        Literal["nan"] | float | None,
        Choice(
            "metric",
            None,
            "a query with an empty truth and an empty list; None: as undefined",
            {
                None: "an empty list and an empty truth as any other query where nothing could be earned",
                "nan": "NaN for an empty list and an empty truth",
                ...: "{:g} for an empty list and an empty truth",
            },
            quiet=(None,),
            numbers=True,
        ),
    ]
    short_list: Annotated[
        Literal["count", "zero"],
        Choice(
            "metric",
            "count",
            "a list shorter than k: as it is, or scored 0",
            {"count": "a list shorter than k is measured as it is", "zero": "0 if the list is shorter than k"},
            quiet=("count",),
        ),
    ]
    query_digits: Annotated[
        int | None,
        Choice(
            "metric",
            None,
            "decimals that each query's value is rounded to",
            {None: "values are not rounded", ...: "each query's value rounded to {} decimals"},
            quiet=(None,),
            always=True,
        ),
    ]
    missing: Annotated[
        Literal["zero", "skip", "error"],
        Choice(
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
    ]
    extra: Annotated[
        Literal["skip", "zero", "error"],
        Choice(
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
    ]
    averaging: Annotated[
        Literal["macro", "micro", "weighted", "one_list", "parts", "geometric", "sum"],
        Choice(
            "mean",
            "macro",
            "mean of the queries' values, ratio of sums, weighted mean, all rows as one list, "
            "f1 of mean precision and mean recall, geometric mean, or sum",
            {name: row.words for name, row in AVERAGING.items()},
            always=True,
        ),
    ]
    nan_in_mean: Annotated[
        Literal["nan", "zero"],
        Choice(
            "mean",
            "nan",
            "a value that is NaN: makes the mean NaN, or counts 0",
            {"nan": "one NaN makes the mean NaN", "zero": "NaN counts 0 in the mean"},
            quiet=("nan",),
        ),
    ]
    no_queries: Annotated[
        Literal[0, "nan", "error"],
        Choice(
            "mean",
            "nan",
            "the mean over no query at all",
            {0: "0 if no query counts", "nan": "NaN if no query counts", "error": "an error if no query counts"},
            quiet=("nan",),
        ),
    ]
    digits: Annotated[
        int | None,
        Choice(
            "mean",
            None,
            "decimals that the mean is rounded to",
            {None: "the mean is not rounded", ...: "rounded to {} decimals"},
            quiet=(None,),
            always=True,
        ),
    ]


def _read(hint: Any) -> Choice:
    choice: Choice = hint.__metadata__[0]
    kind = get_args(hint)[0]
    words = [word for part in (kind, *get_args(kind)) if get_origin(part) is Literal for word in get_args(part)]
    if not words:
        return choice
    return replace(choice, allowed=(*words, *((None,) if type(None) in get_args(kind) else ())))


class _Table(Listing[Choice]):
    def __getitem__(self, name: str) -> Choice:
        return _FOUND[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_FOUND)

    def __len__(self) -> int:
        return len(_FOUND)

    def _about(self, name: str) -> str:
        choice = self[name]
        others = [repr(word) for word in choice.allowed if word != choice.default]
        return f"{choice.meaning}; {', '.join([f'{choice.default!r} (default)', *others])}"


_FOUND = {name: _read(hint) for name, hint in Choices.__annotations__.items()}
CHOICES: Mapping[str, Choice] = _Table()
