"""Every language against `rs.evaluate`: all metrics of one list under ten conventions, on random lists."""

import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import rankstone as rs
from rankstone.compile import LANGUAGES
from rankstone.conventions.plan import make_plans
from rankstone.metrics.registry import declared, is_built_in

from .programs import PROGRAMS, One, answers, command, random_lists
from .test_compile import same

CONVENTIONS = ("rankstone", "trec_eval", "scikit-learn", "torchmetrics", "spark", "lightgbm", "evidently", "rectools",
               "mteb", "haystack")  # fmt: skip
LEFT_OUT = ("recommendations", "intents")
pytestmark = [pytest.mark.slow, pytest.mark.service("compilers")]


def metrics_of(convention: str) -> list[rs.authoring.Metric]:
    """All metrics of one list that the convention defines, with a cutoff and without."""
    metrics = []
    for row in declared().values():
        if not is_built_in(row) or row.kind in LEFT_OUT:
            continue
        for name in ([f"{row.name}@3"] if row.takes_k else []) + [row.name]:
            with suppress(ValueError):  # no closed form over its ties
                metrics += [plan.metric for plan in make_plans(name, convention, {})]
    return metrics


def value(metric: Any, one: One, convention: str) -> float | None:
    """What `rs.evaluate` has for a list; None for an error of the list, and not of the mean or the scale of grades."""
    run: Any = dict(one.run) if one.run and one.run[0][1] is not None else [item for item, _ in one.run or ()]
    threshold = rs.conventions[convention].choices.get("threshold", 1)
    for choices in ({}, {"averaging": "macro"}, {"threshold": threshold}):
        with suppress(ValueError):
            result = rs.evaluate({"q": dict(one.truth)}, {"q": run}, [metric], convention=convention, **choices)
            return float(result.per_query[metric][0])
    return None


def compare(language: str, convention: str, folder: Path, count: int, ids: str = "text") -> None:
    command(PROGRAMS[language].compiler)
    metrics = metrics_of(convention)
    lists = random_lists(count, seed=CONVENTIONS.index(convention), ids=ids)
    code = rs.compile(metrics, language, convention=convention, ids=ids, name=PROGRAMS[language].name)
    numbers = answers(code, lists, folder, ids)
    compared = absent = 0
    for at, metric in enumerate(metrics):
        for one, row in zip(lists, numbers, strict=True):
            wanted = value(metric, one, convention)
            assert same(row[at], wanted), (convention, str(metric), one, row[at], wanted)
            is_number = wanted is not None and not math.isnan(wanted)
            compared, absent = compared + is_number, absent + (not is_number)
    assert compared > len(lists) * len(metrics) / 3
    assert absent > 0


# Of the languages that compile slowly each has some of the conventions, and together they have all.
SLOW = {"typescript": (0, 1), "c": (2, 3), "java": (4, 5), "rust": (6, 7), "go": (8, 9)}
CASES = [
    (language, CONVENTIONS[at])
    for language in LANGUAGES
    for at in (0, *(SLOW.get(language) or range(1, len(CONVENTIONS))))
]


@pytest.mark.parametrize(("language", "convention"), dict.fromkeys(CASES))
def test_equal_to_evaluate(language: str, convention: str, tmp_path: Path) -> None:
    compare(language, convention, tmp_path, 25)


@pytest.mark.parametrize("language", LANGUAGES)
def test_ids_that_are_integers(language: str, tmp_path: Path) -> None:
    compare(language, "trec_eval", tmp_path, 15, "integer")


def test_every_language_has_a_program() -> None:
    assert set(PROGRAMS) == set(LANGUAGES)
