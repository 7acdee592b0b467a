"""Every named choice that a number depends on, and the presets that reproduce other tools' numbers."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from rankstone.metrics.registry import Row, rows
from rankstone.ranked import Relevance

TIES = ("item_desc", "item_asc", "input", "reverse_input", "optimistic", "pessimistic", "expected")


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
        "threshold": Choice("metric", 1, (), "the lowest grade that is relevant; '>3' for grades above 3"),
        "credit": Choice("metric", "whole", ("whole", "clamp"), "what a relevant item counts: 1, or its grade up to 1"),
        "truth_depth": Choice("metric", "all", ("all", "k"), "how much of the truth can be relevant at k"),
        "undefined": Choice("metric", 0, (0, 1, 0.5, "nan", "skip", "error"), "a query where nothing could be earned"),
        "both_empty": Choice("metric", None, (), "a query with an empty truth and an empty list; None: as undefined"),
        "short_list": Choice("metric", "count", ("count", "zero"), "a list shorter than k: as it is, or scored 0"),
        "missing": Choice("mean", "zero", ("zero", "skip", "error"), "a judged query that the run does not have"),
        "extra": Choice("mean", "skip", ("skip", "zero", "error"), "a query of the run that nobody judged"),
        "averaging": Choice(
            "mean",
            "macro",
            ("macro", "micro", "weighted", "pooled", "geometric", "sum"),
            "mean of the queries' values, ratio of sums, weighted mean, all rows as one list, geometric mean, or sum",
        ),
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
    elif name in ("undefined", "no_queries") and isinstance(value, float) and math.isnan(value):
        value = "nan"
    elif name in ("undefined", "both_empty") and isinstance(value, (int, float)) and not isinstance(value, bool):
        pass  # any number may stand in
    elif CHOICES[name].allowed and value not in CHOICES[name].allowed:
        words = ", ".join(repr(word) for word in CHOICES[name].allowed)
        raise ValueError(f"{name}={value!r}; choose from {words}")
    elif name == "both_empty" and value is not None:
        raise ValueError(f"both_empty={value!r}; give a number, or None to treat it like any query without a value")
    elif name == "digits" and not (value is None or (isinstance(value, int) and value >= 0)):
        raise ValueError(f"digits={value!r}; give a number of decimals, or None")
    return value


def check_choices(choices: Mapping[str, Any]) -> dict[str, Any]:
    """Check choices that hold for all metrics (`gain=`) or for one (`ap_divisor=`)."""
    known = rows()
    out: dict[str, Any] = {}
    for name, value in choices.items():
        owners = [row for row in known.values() if name in row.defaults]
        if name in CHOICES:
            out[name] = check_choice(None, name, value)
        elif owners:  # one that some metric can take; the others keep their own or refuse it when asked for
            takers = [row for row in owners if row.takes(name, value)]
            out[name] = check_choice((takers or owners)[0], name, value)
        else:
            metric = max((m for m in known if name.startswith(f"{m}_")), key=len, default=None)
            if metric is None:
                every = {*CHOICES, *(one for row in known.values() for one in row.defaults)}
                raise ValueError(_unknown("choice", name, sorted(every)))
            out[name] = check_choice(known[metric], name[len(metric) + 1 :], value)
    return out


@dataclass(frozen=True)
class Convention:
    """A named set of choices. What it leaves out is as in the default convention, `rankstone`."""

    name: str
    summary: str
    choices: Mapping[str, Any]

    def but(self, **choices: Any) -> Convention:
        """The same convention with some choices made otherwise."""
        if not choices:
            return self
        merged = {**self.choices, **check_choices(choices)}
        changed = ", ".join(f"{name}={value!r}" for name, value in choices.items())
        return Convention(f"{self.name} but {changed}", self.summary, MappingProxyType(merged))

    def __hash__(self) -> int:
        return hash((self.name, *self.choices))

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.name, self.summary, dict(self.choices))


def _unpickled(name: str, summary: str, choices: dict[str, Any]) -> Convention:
    return Convention(name, summary, MappingProxyType(choices))


def decide(row: Row, name: str, given: Mapping[str, Any], over: Mapping[str, Any], convention: Convention) -> Any:
    """The value of one choice for one metric. The nearest word wins:

    the metric's own parameters, then the caller's overrides, then the convention; in each of these
    `ap_divisor` before `divisor`. What a metric always does its own way stands before a convention's general word.
    """
    own = f"{row.name}_{name}"
    if name in given:
        return given[name]
    if own in over:
        return over[own]
    if name in over:
        return check_choice(row, name, over[name])
    if own in convention.choices:
        return convention.choices[own]
    if name in row.choices:
        return row.choices[name]
    if name in convention.choices and row.takes(name, convention.choices[name]):
        return convention.choices[name]
    return row.defaults[name] if name in row.defaults else CHOICES[name].default


_PRESETS: dict[str, Convention] = {}


def _preset(name: str, summary: str, **choices: Any) -> None:
    _PRESETS[name] = Convention(name, summary, MappingProxyType(choices))


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


_preset(
    "rankstone",
    "trec_eval's definitions; every judged query counts, and 0 where a query has no relevant item",
)
_preset(
    "trec_eval",
    "trec_eval 9 and pytrec_eval: scores compared as float32, judged queries missing from the run left out",
    score_precision="float32",
    missing="skip",
    needed="floor(x+0.9)",
)

# The five documents that rankstone grew out of. Where a document disagrees with its own code, both are here.
_HIVEMALL = {
    "duplicates": "count",
    "truth_duplicates": "count",
    "precision_divisor": "min(k,retrieved)",
    "precision_both_empty": 1,
    "recall_both_empty": 1,
    "ap_both_empty": 1,
    "gain": "exp2",
    "negative": "signed",
    "ideal": "given",
    "auc_pairs": "list",
    "auc_divisor": "k",
    "auc_undefined": 0.5,
    "r2_undefined": 1,
    "mae_undefined": 0,
    "mse_undefined": 0,
    "rmse_undefined": 0,
    "logloss_undefined": 0,
    "no_queries": 0,
}
_preset("hivemall", "Hivemall's ranking measures as its manual prints them", **_HIVEMALL)
_preset(
    "hivemall-0.5",
    "Hivemall since 0.5: average precision over the hits found, an ideal list no longer than the list itself",
    **_HIVEMALL,
    ap_divisor="found",
    ndcg_ideal_depth="min(k,retrieved)",
)
_preset(
    "ptranking",
    "PT-Ranking's metrics as first written: average precision over k, and 0 where the list is shorter than k",
    ties="input",
    threshold=">0",
    gain="exp2",
    negative="signed",
    ap_divisor="k",
    precision_short_list="zero",
    ap_short_list="zero",
    err_short_list="zero",
    ndcg_short_list="zero",
    ndcg_undefined="nan",
)
_preset(
    "ptranking-head",
    "PT-Ranking today: average precision over the sum of the k highest labels, labels below 1 count in part",
    ties="input",
    threshold=">0",
    gain="exp2",
    negative="signed",
    precision_credit="clamp",
    ap_credit="clamp",
    ap_divisor="grades",
    precision_short_list="zero",
    ap_short_list="zero",
    ndcg_short_list="zero",
    nerr_short_list="zero",
    ap_undefined="nan",
    ndcg_undefined="nan",
    nerr_undefined="nan",
    kendall_variant="ties_agree",
)
_NOTE = {
    "threshold": ">0",
    "truth_depth": "k",
    "duplicates": "once",
    "truth_duplicates": "first",
    "precision_averaging": "micro",
    "recall_averaging": "micro",
    "precision_digits": 4,
    "recall_digits": 4,
    "recall_undefined": "error",
    "no_queries": "error",
    "rr_over": "all",
    "ap_divisor": "none",
}
_preset(
    "preference-note",
    "a note on ranking metrics: the truth is a ranked list cut at k, sums over all users are divided",
    **_NOTE,
    recall_divisor="min(relevant,k)",
)
_preset(
    "preference-note-masked",
    "the same note with a mask of relevant items: recall is divided by all that the mask holds",
    **_NOTE,
    recall_divisor="grades",
)
_preset(
    "python-recsys",
    "python-recsys: results rounded to 6 decimals, average precision over the hits found",
    duplicates="once",
    truth_duplicates="count",
    undefined="error",
    mae_undefined="error",
    rmse_undefined="error",
    ap_divisor="found",
    ap_term_digits=6,
    ap_undefined=0,
    ap_digits=None,
    precision_divisor="min(k,retrieved)",
    pearson_undefined="nan",
    spearman_undefined="nan",
    kendall_undefined="nan",
    digits=6,
)
_preset(
    "recsys-blog",
    "a post on recommender metrics: relevant above a rating of 3, average precision over all relevant items",
    threshold=">3",
)
