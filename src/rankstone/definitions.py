"""Says in words which definition a number follows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankstone.conventions import Convention
    from rankstone.evaluate import Plan

# How a choice reads in a sentence; those at their most ordinary value may say nothing.
_WORDS: Mapping[tuple[str, Any], str] = {
    ("ties", "item_desc"): "equal scores in descending order of item id",
    ("ties", "item_asc"): "equal scores in ascending order of item id",
    ("ties", "input"): "equal scores in input order",
    ("ties", "reverse_input"): "equal scores in reverse input order",
    ("ties", "optimistic"): "equal scores with the best item first",
    ("ties", "pessimistic"): "equal scores with the worst item first",
    ("ties", "expected"): "mean over all orders of equal scores",
    ("score_precision", "float64"): "",
    ("score_precision", "float32"): "scores compared as float32",
    ("duplicates", "error"): "",
    ("duplicates", "first"): "of a repeated item only the first row",
    ("duplicates", "best"): "of a repeated item only the best row",
    ("duplicates", "count"): "a repeated item counts each time",
    ("duplicates", "once"): "a repeated item counts once but keeps its places",
    ("truth_duplicates", "error"): "",
    ("truth_duplicates", "first"): "of an item judged twice only the first judgement",
    ("truth_duplicates", "count"): "an item judged twice counts twice in the truth",
    ("credit", "whole"): "",
    ("credit", "clamp"): "a grade below 1 counts in part",
    ("truth_depth", "all"): "",
    ("truth_depth", "k"): "only the first k items of the truth can be relevant",
    ("both_empty", None): "",
    ("short_list", "count"): "",
    ("short_list", "zero"): "0 if the list is shorter than k",
    ("missing", "zero"): "a judged query missing from the run counts as an empty list",
    ("missing", "skip"): "judged queries missing from the run are left out",
    ("missing", "error"): "judged queries missing from the run are an error",
    ("extra", "skip"): "queries nobody judged are left out",
    ("extra", "zero"): "queries nobody judged count as having nothing relevant",
    ("extra", "error"): "queries nobody judged are an error",
    ("undefined", "skip"): "queries where nothing could be earned are left out",
    ("undefined", "nan"): "NaN where nothing could be earned",
    ("undefined", "error"): "an error where nothing could be earned",
    ("averaging", "macro"): "mean of the queries' values",
    ("averaging", "micro"): "sum of all numerators over sum of all denominators",
    ("averaging", "weighted"): "weighted mean of the queries' values",
    ("averaging", "pooled"): "over all rows of all queries as one list",
    ("averaging", "geometric"): "geometric mean of the queries' values, each at least 0.00001",
    ("averaging", "sum"): "sum over the queries",
    ("no_queries", "nan"): "",
    ("no_queries", 0): "0 if no query counts",
    ("no_queries", "error"): "an error if no query counts",
    ("digits", None): "",
    ("negative", "zero"): "negative grades count 0",
    ("negative", "signed"): "negative grades count against",
    ("gain", "linear"): "gain is the grade",
    ("gain", "exp2"): "gain is 2^grade - 1",
    ("gain", "binary"): "gain is 1 for a relevant item",
    ("ideal", "judged"): "ideal list of all judged items",
    ("ideal", "retrieved"): "ideal list of the judged items in the run",
    ("ideal", "ones"): "ideal list of k relevant items",
    ("ideal", "given"): "ideal list in the order of the truth as given",
    ("ideal_depth", "k"): "cut at k",
    ("ideal_depth", "min(k,retrieved)"): "cut at k or the length of the list",
    ("ideal_depth", "all"): "not cut",
    ("over", "first"): "",
    ("needed", "ceil(x)"): "",
    ("needed", "floor(x+0.9)"): "a share of x items needs floor(x+0.9) of them",
    ("needed", "round(x)"): "a share of x items needs round(x) of them",
    ("over", "all"): "summed over all relevant items",
    ("term_digits", None): "",
    ("catalogue", None): "over judged items",
    ("max_grade", None): "max_grade is the highest grade of the truth",
    ("pairs", "judged"): "pairs of judged items, equal scores count half",
    ("pairs", "list"): "pairs within the first k places",
}
_ORDER = ("threshold", "credit", "truth_depth", "ties", "score_precision", "duplicates", "truth_duplicates",
          "short_list", "undefined", "both_empty", "missing", "extra", "averaging", "no_queries",
          "digits")  # fmt: skip


def definition(plan: Plan, convention: Convention) -> str:
    """The definition in one line: formula, choices, convention and version."""
    from rankstone import __version__

    row = plan.metric.row
    parts = [f"{plan.metric}: {row.formula or row.summary}"]
    parts += [_say(name, value) for name, value in plan.arguments.items() if name != "k"]
    parts += [_say(name, plan.choices[name]) for name in _ORDER if not _idle(name, row.kind)]
    words = "; ".join(part for part in parts if part)
    return f"{words}. rankstone {__version__}, convention {convention.name}"


def _idle(name: str, kind: str) -> bool:
    """Choices that cannot move a metric of this kind."""
    return kind in ("ratings", "agreement") and name in ("threshold", "credit", "truth_depth", "short_list")


def _say(name: str, value: Any) -> str:
    try:
        if (name, value) in _WORDS and not (name in ("both_empty", "digits") and value is not None):
            return _WORDS[name, value]
    except TypeError:
        pass
    if name == "threshold":
        return f"relevant {value if isinstance(value, str) else f'from grade {value:g}'}"
    if name == "undefined":
        return f"{value:g} where nothing could be earned"
    if name == "both_empty":
        return f"{value:g} for an empty list and an empty truth"
    if name == "digits":
        return f"rounded to {value} decimals"
    if name == "term_digits":
        return f"each precision rounded to {value} decimals"
    if name.endswith("divisor"):
        return f"{name.replace('_', ' ')} {value}"
    if name == "discount":
        return f"discount 1/{value}"
    if isinstance(value, tuple):
        return f"{name} {dict(value)}"
    return f"{name} {value}"
