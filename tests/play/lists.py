"""Random lists as a page has them, and what `rs.evaluate` says of them."""

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import rankstone as rs


class One(NamedTuple):
    """One list: pairs of an item with a score (None: only an order), and of an item with a grade."""

    run: list[tuple[str, float | None]]
    truth: list[tuple[str, float]]
    k: int | None


def random_lists(count: int, seed: int = 1) -> list[One]:
    """Ties, unjudged items, empty truths, nothing returned, short lists, negative grades and scores."""
    draw = random.Random(seed)
    return [_one(draw) for _ in range(count)]


def _one(draw: random.Random) -> One:
    names = [*"abcdefghij", "é", "\N{GRINNING FACE}", "\N{FULLWIDTH LATIN SMALL LETTER A}", "Z", "a1", "a10"]
    draw.shuffle(names)
    items = names[: draw.choice([0, 1, 2, 3, 5, 8, 12])]
    grades = draw.choice([[0, 1], [1], [0], [0, 1, 2, 3, 4], [-1, 0, 1, 2], [0, 0.5, 1]])
    judged = [name for name in names if draw.random() < draw.choice([0, 0.3, 0.7, 1])]
    draw.shuffle(judged)
    kind = draw.choice(["order", "few scores", "scores", "fine scores"])
    scores: list[float | None] = [
        {
            "order": None,
            "few scores": float(draw.choice([-1, 0, 0.5, 1])),
            "scores": float(draw.randint(-1, 9)),
            "fine scores": 1 + draw.choice([0, 1e-9, 2e-9]),  # equal as float32
        }[kind]
        for _ in items
    ]
    k = draw.choice([None, 1, 2, 3, 5, 10, 20])
    return One(list(zip(items, scores, strict=True)), [(item, draw.choice(grades)) for item in judged], k)


def evaluated(one: One, metrics: Sequence[str], convention: str) -> dict[str, float]:
    """What `rs.evaluate` gives, or its error."""
    ordered = all(score is None for _, score in one.run)
    run: Any = [item for item, _ in one.run] if ordered else dict(one.run)
    own = rs.conventions[convention].choices.get("threshold")  # asked for, it goes with any grades
    ratings = any(rs.authoring.Metric.parse(metric)[0].declaration.kind == "ratings" for metric in metrics)
    asked = {} if own is None or ratings else {"threshold": own}
    found = rs.evaluate({"q": dict(one.truth)}, {"q": run}, list(metrics), convention=convention, **asked)
    return {metric: float(found[metric]) for metric in metrics}


def evaluated_all(one: One, metrics: Sequence[str], convention: str) -> dict[str, float | None]:
    """The same, with None for each metric that is refused."""
    try:
        return dict(evaluated(one, metrics, convention))
    except ValueError:
        if len(metrics) == 1:
            return {metrics[0]: None}
    half = len(metrics) // 2
    return {
        **evaluated_all(one, metrics[:half], convention),
        **evaluated_all(one, metrics[half:], convention),
    }


def off(answer: Mapping[str, Any], wanted: float | None) -> float:
    """How far an answer of the page is off: an error is equal to an error only, no number to NaN."""
    if "value" not in answer or wanted is None:
        return 0.0 if "value" not in answer and wanted is None else math.inf
    value = answer["value"]
    if value is None or math.isnan(wanted):
        return 0.0 if value is None and math.isnan(wanted) else math.inf
    return abs(value - wanted) / max(1.0, abs(wanted))
