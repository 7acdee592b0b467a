"""Every choice that a fused run depends on, and sets of them that reproduce other tools."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, TypedDict

import numpy as np

from rankstone.align.ties import COUNTED
from rankstone.conventions.choices import CHOICES, Choice
from rankstone.conventions.convention import Convention
from rankstone.errors import Advice, Hint
from rankstone.fusion.methods import NORMS, Fusion
from rankstone.metrics.declaration import ByName, Value, nearest, unknown_word

NormName = Literal["min-max", "min-max-inverted", "max", "sum", "zmuv", "rank", "borda"]
TieOrder = Literal["item_desc", "item_asc", "input", "reverse_input"]


class Fusing(TypedDict, total=False):
    """What `rs.fuse` can be told by name: choices, and the parameters of its methods."""

    norm: NormName | None
    constant: float | None
    floor: float | None
    missing: Literal["lowest"] | float | None
    first_rank: Literal[0, 1]
    depth: int | None
    keep: int | None
    ties: TieOrder
    queries: Literal["union", "shared", "error"]
    k: float
    gamma: float
    sigma: float
    p: float


_choice = partial(Choice, "align")
FUSING: Mapping[str, Choice] = {
    "norm": _choice(
        None,
        "how the scores of each list are brought to one scale",
        {None: "scores as they are", **{name: norm.words for name, norm in NORMS.items()}},
        always=True,
        allowed=(None, *NORMS),
    ),
    "constant": _choice(
        None,
        "what min-max, sum and zmuv make of a list whose scores are all equal; None: 1, 1 / length and 0",
        {None: "", ...: "{:g} where all scores of a list are equal"},
        allowed=(None,),
        numbers=True,
    ),
    "floor": _choice(
        None,
        "the lowest number that a norm divides by; None: no such bound",
        {None: "", ...: "divided by {:g} at least"},
        allowed=(None,),
        numbers=True,
    ),
    "missing": _choice(
        None,
        "what an item gets from a run that does not have it: nothing (None), a score, or 'lowest': the list's lowest "
        "score and the place after its last",
        {
            None: "an item gets nothing from a run that does not have it",
            "lowest": "an item that a run does not have stands after its last, with its lowest score",
            ...: "an item that a run does not have gets {:g} from it",
        },
        allowed=(None, "lowest"),
        numbers=True,
    ),
    "first_rank": _choice(
        1, "the rank of the first item", {1: "ranks from 1", 0: "ranks from 0"}, always=True, allowed=(1, 0)
    ),
    "depth": _choice(
        None, "how many of each list take part; None: all", {None: "", ...: "of each list the first {}"}, always=True
    ),
    "keep": _choice(
        None,
        "how many of a query's fused items are kept; None: all",
        {None: "", ...: "the best {} of each query are kept"},
        always=True,
    ),
    "ties": _choice(
        "item_desc",
        CHOICES["ties"].meaning,
        {name: CHOICES["ties"].words[name] for name in COUNTED},
        allowed=COUNTED,
    ),
    "queries": _choice(
        "union",
        "a query that not every run has",
        {
            "union": "a query that a run does not have counts as an empty list there",
            "shared": "queries that not every run has are left out",
            "error": "a query that not every run has is an error",
        },
        allowed=("union", "shared", "error"),
    ),
}

PRESETS: Mapping[str, Convention] = {
    preset.name: preset
    for preset in (
        Convention("rankstone", "ranks from 1, ties by item id, every query of any run", {}),
        Convention(
            "ranx",
            "ranx: min-max unless told otherwise, divisors of 1e-9 at least, the same queries in all runs",
            {"norm": "min-max", "floor": 1e-9, "queries": "error", "ties": "input"},
            "ranx 0.3.21",
        ),
        Convention(
            "trectools",
            "trectools: the first 1,000 of each list by rank, the best 1,000 kept, ties in ascending order of item id",
            {"rrf_depth": 1000, "rbc_depth": 1000, "keep": 1000, "ties": "item_asc"},
            "trectools 0.0.50",
        ),
        Convention(
            "pyterrier",
            "PyTerrier: ranks from 0, the best 1,000 kept, 0 where min-max has only equal scores",
            {"first_rank": 0, "keep": 1000, "ties": "input", "constant": 0},
            "pyterrier-alpha 0.16.5",
        ),
    )
}


def find_preset(name: str) -> Convention:
    """The choices of a tool, by its name."""
    if name not in PRESETS:
        raise ValueError(unknown_word("convention of fusion", name, nearest(name, PRESETS), PRESETS))
    return PRESETS[name]


def decide(fusion: Fusion, preset: Convention, given: ByName) -> tuple[dict[str, Any], dict[str, Any]]:
    """Every choice, and every parameter of the fusion: the caller's word, the tool's for this fusion, the tool's."""
    for name in given:
        if name not in FUSING and name not in fusion.defaults:
            known = [*fusion.defaults, *FUSING]
            text = unknown_word(f"choice or parameter of {fusion.name}", name, nearest(name, known), known)
            raise ValueError(text)
    said = preset.choices
    choices = {
        name: checked(name, given[name]) if name in given
        else said.get(f"{fusion.name}_{name}", said.get(name, choice.default))
        for name, choice in FUSING.items()
    }  # fmt: skip
    arguments = {name: given.get(name, default) for name, default in fusion.defaults.items()}
    for name, value in arguments.items():
        fusion.check(name, value)
    _refuse_idle(fusion, choices, given)
    return choices, arguments


def checked(name: str, value: Value) -> Value:
    """A choice's value, or an error that says what it could have been."""
    if name in ("depth", "keep"):
        if value is None:
            return None
        if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__") or operator.index(value) < 1:
            raise ValueError(Advice(Hint(name, value), "; give a whole number from 1, or None for all"))
        return operator.index(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(Advice(Hint(name, value), " is not a finite number"))
    if name == "floor" and value is not None and not (isinstance(value, (int, float)) and value > 0):
        raise ValueError(Advice(Hint(name, value), "; give a number above 0, or None"))
    return FUSING[name].check(name, value)


def _refuse_idle(fusion: Fusion, choices: ByName, given: ByName) -> None:
    """Stop at what the caller asked for and what would change nothing."""
    norm = choices["norm"]
    by_places = norm is None or NORMS[norm].parts is None
    idle = {
        "norm": fusion.reads == "rank" and not (norm and NORMS[norm].lower_first),
        "constant": fusion.reads == "rank" or by_places or NORMS[norm].constant is None or choices["floor"] is not None,
        "floor": fusion.reads == "rank" or by_places,
        "missing": (fusion.reads == "rank" and choices["missing"] not in (0, "lowest")) or norm == "borda",
    }
    why = {
        "norm": f"{fusion.name} goes by ranks, not by scores",
        "constant": "it goes with norm='min-max', 'sum' or 'zmuv', and without floor=",
        "floor": "it goes with norm='min-max', 'max', 'sum' or 'zmuv', and with scores",
        "missing": "norm='borda' says it" if norm == "borda" else f"{fusion.name} goes by ranks; 'lowest' has one",
    }
    for name, is_idle in idle.items():
        if is_idle and given.get(name) is not None:
            raise ValueError(Advice(Hint(name, given[name]), f" would change nothing: {why[name]}"))


def told(fusion: Fusion, choices: ByName, *, ranked: bool, placing: bool) -> tuple[list[str], list[str]]:
    """What was chosen, in words: what holds for every query, and edge cases.

    ranked: did the first rank matter. placing: does the formula say what an item gets from a run that does not have it.
    """
    spoken = dict(choices)
    norm = choices["norm"]
    scores = fusion.reads == "score" or bool(norm and NORMS[norm].lower_first)
    scaled = scores and norm is not None and NORMS[norm].parts is not None
    if not scores:
        del spoken["norm"]
    if not ranked:
        del spoken["first_rank"]
    if not scaled or choices["floor"] is None:
        del spoken["floor"]
    if not scaled or choices["floor"] is not None or NORMS[norm].constant is None:
        del spoken["constant"]
    words = {name: FUSING[name].say(name, value) for name, value in spoken.items()}
    if spoken.get("constant", 0) is None:
        words["constant"] = NORMS[norm].equal
    if placing:
        del words["missing"]
    always = [text for name, text in words.items() if text and FUSING[name].always]
    return always, [text for name, text in words.items() if text and not FUSING[name].always]
