"""Every named choice that a number depends on, and the presets that reproduce other tools' numbers."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from rankstone.align.ranking import Relevance
from rankstone.conventions.presets import PRESETS
from rankstone.metrics.registry import Row, depth, rows

TIES = (
    "item_desc", "item_asc", "input", "reverse_input", "optimistic", "pessimistic", "expected", "group_end",
    "group_mean",
)  # fmt: skip


class Choice(NamedTuple):
    """One thing that has to be decided before a list has a number."""

    stage: str
    default: Any
    allowed: tuple[Any, ...]  # words; empty where any value of the right type will do
    meaning: str


CHOICES: Mapping[str, Choice] = MappingProxyType(
    {
        "ties": Choice("align", "item_desc", TIES, "who goes first among equal scores"),
        "score_precision": Choice("align", "float64", ("float64", "float32"), "how finely scores are compared"),
        "duplicates": Choice(
            "align",
            "error",
            ("error", "first", "best", "count", "once"),
            "an item twice in one list of the run",
        ),
        "truth_duplicates": Choice("align", "error", ("error", "first", "count"), "an item twice in one query's truth"),
        "pool": Choice(
            "align", "truth", ("truth", "list"), "what is known of a query: its truth, or only the items returned"
        ),
        "nonpositive_score": Choice(
            "align", "count", ("count", "miss"), "a relevant item with a score of 0 or less: counted, or never found"
        ),
        "default_k": Choice("metric", None, (), "the cutoff of a metric asked for without one"),
        "threshold": Choice(
            "metric", 1, (), "the lowest grade that is relevant; '>3' for grades above 3, 'all' for every judged item"
        ),
        "credit": Choice("metric", "whole", ("whole", "clamp"), "what a relevant item counts: 1, or its grade up to 1"),
        "truth_depth": Choice("metric", "all", ("all", "k"), "how much of the truth can be relevant at k"),
        "undefined": Choice("metric", 0, (0, 1, 0.5, "nan", "skip", "error"), "a query where nothing could be earned"),
        "no_relevant": Choice(
            "metric",
            None,
            (None, 0, 1, "nan", "skip", "error"),
            "a query without a relevant item; None: by the formula",
        ),
        "empty_list": Choice(
            "metric",
            "count",
            ("count", "skip", "error"),
            "a query whose list in the run is empty: as it is, or left out",
        ),
        "empty_truth": Choice(
            "metric", "count", ("count", "skip"), "a query whose truth judges nothing: as it is, or left out"
        ),
        "both_empty": Choice("metric", None, (), "a query with an empty truth and an empty list; None: as undefined"),
        "short_list": Choice("metric", "count", ("count", "zero"), "a list shorter than k: as it is, or scored 0"),
        "query_digits": Choice("metric", None, (), "decimals that each query's value is rounded to"),
        "missing": Choice("mean", "zero", ("zero", "skip", "error"), "a judged query that the run does not have"),
        "extra": Choice("mean", "skip", ("skip", "zero", "error"), "a query of the run that nobody judged"),
        "averaging": Choice(
            "mean",
            "macro",
            ("macro", "micro", "weighted", "pooled", "parts", "geometric", "sum"),
            "mean of the queries' values, ratio of sums, weighted mean, all rows as one list, "
            "f1 of mean precision and mean recall, geometric mean, or sum",
        ),
        "nan_in_mean": Choice("mean", "nan", ("nan", "zero"), "a value that is NaN: makes the mean NaN, or counts 0"),
        "no_queries": Choice("mean", "nan", (0, "nan", "error"), "the mean over no query at all"),
        "digits": Choice("mean", None, (), "decimals that the mean is rounded to"),
    }
)


def check_choice(row: Row | None, name: str, value: Any) -> Any:
    """A choice's value in the form it is kept in, or an error that says what it could have been."""
    if row is not None and name in row.defaults:
        if isinstance(value, Mapping):
            value = tuple(sorted((float(grade), float(gain)) for grade, gain in value.items()))
        row.check(name, value)
        return value
    if name not in CHOICES:
        known = [*(row.defaults if row else ()), *CHOICES]
        raise ValueError(_unknown("choice" if row is None else f"parameter of {row.name}", name, known))
    if name == "threshold":
        Relevance.of(value)
    elif (
        name in ("undefined", "no_relevant", "both_empty", "no_queries")
        and isinstance(value, float)
        and math.isnan(value)
    ):
        value = "nan"
    elif (
        name in ("undefined", "no_relevant", "both_empty")
        and isinstance(value, (int, float))
        and not isinstance(value, bool)
    ):
        pass  # any number may stand in
    elif CHOICES[name].allowed and value not in CHOICES[name].allowed:
        words = ", ".join(repr(word) for word in CHOICES[name].allowed)
        raise ValueError(f"{name}={value!r}; choose from {words}")
    elif name == "both_empty" and value not in (None, "nan"):
        raise ValueError(f"both_empty={value!r}; give a number, or None to treat it like any query without a value")
    elif name in ("digits", "query_digits") and not (value is None or (isinstance(value, int) and value >= 0)):
        raise ValueError(f"{name}={value!r}; give a number of decimals, or None")
    elif name == "default_k" and value is not None:
        value = depth(value)
    return value


def check_choices(choices: Mapping[str, Any]) -> dict[str, Any]:
    """Check choices that hold for all metrics (`gain=`) or for one (`ap_divisor=`)."""
    known = rows()
    out: dict[str, Any] = {}
    for given, value in choices.items():
        name = given.replace("@k_", "_", 1)  # `rr@k_ties` is that of rr with a cutoff
        owners = [row for row in known.values() if name in row.defaults]
        if name in CHOICES:
            out[given] = check_choice(None, name, value)
        elif owners:  # one that some metric can take; the others keep their own or refuse it when asked for
            takers = [row for row in owners if row.takes(name, value)]
            out[given] = check_choice((takers or owners)[0], name, value)
        else:
            metric = max((m for m in known if name.startswith(f"{m}_")), key=len, default=None)
            if metric is None:
                every = {*CHOICES, *(one for row in known.values() for one in row.defaults)}
                raise ValueError(_unknown("choice", name, sorted(every)))
            out[given] = check_choice(known[metric], name[len(metric) + 1 :], value)
    return out


@dataclass(frozen=True)
class Convention:
    """A named set of choices. What it leaves out is as in the default convention, `rankstone`."""

    name: str
    summary: str
    choices: Mapping[str, Any]
    library: str = ""  # the package it reproduces, and the version that was measured
    notes: tuple[str, ...] = ()  # what a reader should know; how its options are said here
    undefined_order: str = ""  # where the package itself has no order of tied items
    not_reproduced: tuple[str, ...] = ()  # what the package does that no choice says

    def __post_init__(self) -> None:
        object.__setattr__(self, "choices", MappingProxyType(dict(self.choices)))

    def but(self, **choices: Any) -> Convention:
        """The same convention with some choices made otherwise."""
        if not choices:
            return self
        merged = {**self.choices, **check_choices(choices)}
        changed = ", ".join(f"{name}={value!r}" for name, value in choices.items())
        return replace(self, name=f"{self.name} but {changed}", choices=merged)

    def __hash__(self) -> int:
        return hash((self.name, *self.choices))

    def __reduce__(self) -> tuple[Any, ...]:
        parts = {one.name: getattr(self, one.name) for one in fields(self)}
        return Convention, tuple({**parts, "choices": dict(self.choices)}.values())


def decide(
    row: Row,
    name: str,
    given: Mapping[str, Any],
    over: Mapping[str, Any],
    convention: Convention,
    k: int | None = None,
) -> Any:
    """The value of one choice for one metric. The nearest word wins:

    the metric's own parameters, then the caller's overrides, then the convention; in each of these
    `ap_divisor` before `divisor`, and before both `ap@k_divisor` if there is a cutoff. What a metric always does its
    own way stands before a convention's general word.
    """
    own = [f"{row.name}_{name}"] if k is None else [f"{row.name}@k_{name}", f"{row.name}_{name}"]
    if name in given:
        return given[name]
    for word in own:
        if word in over:
            return over[word]
    if name in over:
        return check_choice(row, name, over[name])
    for word in own:
        if word in convention.choices:
            return convention.choices[word]
    if name in row.choices:
        return row.choices[name]
    if name in convention.choices and row.takes(name, convention.choices[name]):
        return convention.choices[name]
    return row.defaults[name] if name in row.defaults else CHOICES[name].default


_PRESETS = {name: Convention(name, **row) for name, row in PRESETS.items()}


def convention(name: str | Convention) -> Convention:
    """A convention by name."""
    if isinstance(name, Convention):
        return name
    try:
        return _PRESETS[name]
    except (KeyError, TypeError):
        raise ValueError(_unknown("convention", name, list(_PRESETS))) from None


def conventions() -> dict[str, Convention]:
    """Every preset, by name."""
    return dict(_PRESETS)


def _unknown(what: str, name: Any, known: list[str]) -> str:
    close = difflib.get_close_matches(str(name).lower(), known, n=1, cutoff=0.5)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return (
        f"unknown {what} {name!r}{hint} Known: {', '.join(known)}"
        if hint
        else f"unknown {what} {name!r}; known: {', '.join(known)}"
    )
