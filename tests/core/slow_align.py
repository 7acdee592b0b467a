"""What alignment means, in plain Python: sort everything, look everywhere. Slow and easy to check by eye."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

Truth = dict[Any, list[tuple[Any, float]]]
"""Each query's items and grades, in the given order. An item may occur twice."""

Run = dict[Any, list[tuple[Any, float | None]]]
"""Each query's items and scores; all scores are None where the run is only an order."""


@dataclass
class Aligned:
    """The fields of the core's answer as lists."""

    queries: list[Any] = field(default_factory=list)
    extra: list[Any] = field(default_factory=list)
    retrieved: list[int] = field(default_factory=list)
    present: list[bool] = field(default_factory=list)
    truth_offsets: list[int] = field(default_factory=lambda: [0])
    truth_grades: list[float] = field(default_factory=list)
    ideal_grades: list[float] = field(default_factory=list)
    placed_offsets: list[int] = field(default_factory=lambda: [0])
    rank: list[int] = field(default_factory=list)
    grade: list[float] = field(default_factory=list)
    score: list[float] = field(default_factory=list)
    place: list[int] = field(default_factory=list)
    above: list[int] = field(default_factory=list)
    tied: list[int] = field(default_factory=list)
    dropped: int = 0


@dataclass
class Row:
    item: Any
    score: float
    index: int
    may_hit: bool = True


def slow_align(
    truth: Truth,
    run: Run,
    *,
    order: str = "item_desc",
    duplicates: str = "error",
    truth_duplicates: str = "error",
    float32: bool = False,
    keep_zero_grades: bool = True,
    extra_queries: bool = False,
) -> Aligned:
    result = Aligned(queries=list(truth), extra=[query for query in run if query not in truth])
    for query in result.queries + (result.extra if extra_queries else []):
        judged = judge(truth.get(query, []), truth_duplicates)
        grades = [grade for _, _, grade in judged if keep_zero_grades or grade != 0]
        result.truth_grades += grades
        result.ideal_grades += sorted(grades, reverse=True)
        result.truth_offsets.append(len(result.truth_grades))

        scored = all(score is not None for _, score in run.get(query, []))
        given = [
            Row(item, precise(score, float32) if scored else -index, index)
            for index, (item, score) in enumerate(run.get(query, []))
        ]
        rows = without_duplicates(given, duplicates)
        result.retrieved.append(len(rows))
        result.present.append(query in run)
        result.dropped += len(given) - len(rows)

        first: dict[Any, tuple[int, float]] = {}
        for item, place, grade in judged:
            first.setdefault(item, (place, grade))
        for rank, row in enumerate(in_order(rows, order), start=1):
            if not row.may_hit or row.item not in first:
                continue
            place, grade = first[row.item]
            if not keep_zero_grades and grade == 0:
                continue
            result.rank.append(rank)
            result.grade.append(grade)
            result.score.append(row.score if scored else float("nan"))
            result.place.append(place)
            result.above.append(sum(other.score > row.score for other in rows))
            result.tied.append(sum(other.score == row.score for other in rows))
        result.placed_offsets.append(len(result.rank))
    return result


def judge(given: list[tuple[Any, float]], truth_duplicates: str) -> list[tuple[Any, int, float]]:
    """The truth's rows with their places, after the rule for items that occur twice."""
    judged: list[tuple[Any, int, float]] = []
    for place, (item, grade) in enumerate(given, start=1):
        if any(item == other for other, _, _ in judged):
            if truth_duplicates == "error":
                raise ValueError("appears twice in the truth")
            if truth_duplicates == "first":
                continue
            if truth_duplicates == "max":
                judged = [
                    (other, at, max(first, float(grade)) if other == item else first) for other, at, first in judged
                ]
                continue
            if any(item == other and float(grade) != first for other, _, first in judged):
                raise ValueError("is judged twice, with two grades")
            if truth_duplicates == "distinct":
                continue
        judged.append((item, place, float(grade)))
    return judged


def precise(score: float, float32: bool) -> float:
    if not float32:
        return float(score)
    with np.errstate(over="ignore"):
        return float(np.float32(score))


def without_duplicates(rows: list[Row], duplicates: str) -> list[Row]:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.item, []).append(row)
    if duplicates == "error" and any(len(group) > 1 for group in groups.values()):
        raise ValueError("appears twice in the run")
    if duplicates == "first":
        return [group[0] for group in groups.values()]
    best = [max(group, key=lambda row: (row.score, -row.index)) for group in groups.values()]
    if duplicates == "best":
        return sorted(best, key=lambda row: row.index)
    if duplicates == "once":
        for row in rows:
            row.may_hit = any(row is other for other in best)
    return rows


def in_order(rows: list[Row], order: str) -> list[Row]:
    """Best first. Python's sort keeps the order of equals, so the last rule is applied first."""
    rows = sorted(rows, key=lambda row: row.index, reverse=order == "reverse_input")
    if order in ("item_desc", "item_asc"):
        rows = sorted(rows, key=lambda row: row.item, reverse=order == "item_desc")
    return sorted(rows, key=lambda row: row.score, reverse=True)
