"""All choices that a fused run depends on, and presets that reproduce other tools."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, TypedDict

import numpy as np

from rankstone.align.ties import COUNTED
from rankstone.conventions.choices import CHOICES, Choice
from rankstone.conventions.convention import Convention
from rankstone.errors import Advice, Hint, InputError
from rankstone.fusion.fusion_methods import NORMS, FusionMethod
from rankstone.metrics.declaration import ByName, Value, unknown_word

NormName = Literal["min-max", "min-max-inverted", "max", "sum", "zmuv", "rank", "borda"]
TieOrder = Literal["item_desc", "item_asc", "input", "reverse_input"]


class FusionChoices(TypedDict, total=False):
    """Keyword arguments of `rs.fuse`: choices, and the parameters of the methods."""

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
FUSION_CHOICES: Mapping[str, Choice] = {
    "norm": _choice(
        None,
        "normalisation of the scores per list",
        {None: "scores as they are", **{name: norm.words for name, norm in NORMS.items()}},
        always=True,
        allowed=(None, *NORMS),
    ),
    "constant": _choice(
        None,
        "score after min-max, sum or zmuv in a list whose scores are all equal; None: 1, 1 / length and 0",
        {None: "", ...: "{:g} where all scores of a list are equal"},
        allowed=(None,),
        numbers=True,
    ),
    "floor": _choice(
        None,
        "lower bound of the divisor of a norm; None: no bound",
        {None: "", ...: "divisor at least {:g}"},
        allowed=(None,),
        numbers=True,
    ),
    "missing": _choice(
        None,
        "contribution of a run that did not return the item: none (None), a score, or 'lowest': the list's lowest "
        "score and the rank after its last",
        {
            None: "no contribution from runs that did not return the item",
            "lowest": "items that a run did not return get its lowest score and the rank after its last",
            ...: "items that a run did not return get the score {:g}",
        },
        allowed=(None, "lowest"),
        numbers=True,
    ),
    "first_rank": _choice(
        1, "the rank of the first item", {1: "ranks from 1", 0: "ranks from 0"}, always=True, allowed=(1, 0)
    ),
    "depth": _choice(
        None,
        "cutoff of each list before fusion; None: no cutoff",
        {None: "", ...: "first {} items of each list"},
        always=True,
    ),
    "keep": _choice(
        None,
        "fused items per query; None: all",
        {None: "", ...: "best {} items per query"},
        always=True,
    ),
    "ties": _choice(
        "item_desc",
        CHOICES["ties"].meaning,
        {name: CHOICES["ties"].labels[name] for name in COUNTED},
        allowed=COUNTED,
    ),
    "queries": _choice(
        "union",
        "queries that are not in every run",
        {
            "union": "queries missing from a run count as empty lists",
            "shared": "queries that are not in every run are ignored",
            "error": "queries that are not in every run are an error",
        },
        allowed=("union", "shared", "error"),
    ),
}

PRESETS: Mapping[str, Convention] = {
    preset.name: preset
    for preset in (
        Convention("rankstone", "ranks from 1, ties by item id, the queries of all runs", {}),
        Convention(
            "ranx",
            "ranx: min-max by default, divisors of at least 1e-9, the same queries in all runs",
            {"norm": "min-max", "floor": 1e-9, "queries": "error", "ties": "input"},
            "ranx 0.3.21",
        ),
        Convention(
            "trectools",
            "trectools: the first 1,000 of each list by rank, the best 1,000 per query, ties by ascending item id",
            {"rrf_depth": 1000, "rbc_depth": 1000, "keep": 1000, "ties": "item_asc"},
            "trectools 0.0.50",
        ),
        Convention(
            "pyterrier",
            "PyTerrier: ranks from 0, the best 1,000 per query, 0 where min-max has only equal scores",
            {"first_rank": 0, "keep": 1000, "ties": "input", "constant": 0},
            "pyterrier-alpha 0.16.5",
        ),
    )
}


def find_preset(name: str) -> Convention:
    """The choices of a tool, by its name."""
    if not isinstance(name, str) or name not in PRESETS:
        raise InputError(unknown_word("convention of fusion", name, PRESETS))
    return PRESETS[name]


def decide(fusion: FusionMethod, preset: Convention, options: ByName) -> tuple[dict[str, Any], dict[str, Any]]:
    """All choices, and all parameters of the method: the caller's, else the preset's."""
    for name in options:
        if name not in FUSION_CHOICES and name not in fusion.defaults:
            allowed = [*fusion.defaults, *FUSION_CHOICES]
            text = unknown_word(f"choice or parameter of {fusion.name}", name, allowed)
            raise InputError(text)
    presets = preset.choices
    choices = {
        name: checked(name, options[name]) if name in options
        else presets.get(f"{fusion.name}_{name}", presets.get(name, choice.default))
        for name, choice in FUSION_CHOICES.items()
    }  # fmt: skip
    arguments = {name: options.get(name, default) for name, default in fusion.defaults.items()}
    for name, value in arguments.items():
        fusion.check(name, value)
    _check_effective(fusion, choices, options)
    return choices, arguments


def checked(name: str, value: Value) -> Value:
    """The value of a choice, or an error with the allowed values."""
    if name in ("depth", "keep"):
        if value is None:
            return None
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 1:
            raise InputError(Advice(Hint(name, value), "; give a whole number from 1, or None for all"))
        return int(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(Advice(Hint(name, value), " is not a finite number"))
    if name == "floor" and value is not None and not (isinstance(value, (int, float)) and value > 0):
        raise InputError(Advice(Hint(name, value), "; give a number above 0, or None"))
    return FUSION_CHOICES[name].check(name, value)


def _check_effective(fusion: FusionMethod, choices: ByName, options: ByName) -> None:
    """Raise an error for options that would have no effect."""
    norm = choices["norm"]
    by_places = norm is None or NORMS[norm].parts is None
    idle = {
        "norm": fusion.reads == "rank" and not (norm and NORMS[norm].lower_first),
        "constant": fusion.reads == "rank" or by_places or NORMS[norm].constant is None or choices["floor"] is not None,
        "floor": fusion.reads == "rank" or by_places,
        "missing": (fusion.reads == "rank" and choices["missing"] not in (0, "lowest")) or norm == "borda",
    }
    why = {
        "norm": f"{fusion.name} reads ranks, not scores",
        "constant": "it applies to norm='min-max', 'sum' or 'zmuv', without floor=",
        "floor": "it applies to norm='min-max', 'max', 'sum' or 'zmuv', and to methods that read scores",
        "missing": "norm='borda' has its own rule"
        if norm == "borda"
        else f"{fusion.name} reads ranks; choose 'lowest'",
    }
    for name, is_idle in idle.items():
        if is_idle and options.get(name) is not None:
            raise InputError(Advice(Hint(name, options[name]), f" would have no effect: {why[name]}"))


def describe_choices(
    fusion: FusionMethod, choices: ByName, *, ranked: bool, placing: bool
) -> tuple[list[str], list[str]]:
    """The choices in words: rules for all queries, and edge cases.

    ranked: whether the first rank matters. placing: whether the formula covers items that a run did not return.
    """
    relevant = dict(choices)
    norm = choices["norm"]
    scores = fusion.reads == "score" or bool(norm and NORMS[norm].lower_first)
    scaled = scores and norm is not None and NORMS[norm].parts is not None
    if not scores:
        del relevant["norm"]
    if not ranked:
        del relevant["first_rank"]
    if not scaled or choices["floor"] is None:
        del relevant["floor"]
    if not scaled or choices["floor"] is not None or NORMS[norm].constant is None:
        del relevant["constant"]
    words = {name: FUSION_CHOICES[name].describe(name, value) for name, value in relevant.items()}
    if relevant.get("constant", 0) is None:
        words["constant"] = NORMS[norm].equal
    if placing:
        del words["missing"]
    always = [text for name, text in words.items() if text and FUSION_CHOICES[name].always]
    return always, [text for name, text in words.items() if text and not FUSION_CHOICES[name].always]
