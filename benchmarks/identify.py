"""`rs.identify` and one evaluation of the same metric: all conventions, and every choice of them made otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from data import integers
from dicts import nested
from race import Lap, Row, row, say, seconds, within

import rankstone as rs

METRICS = ("ndcg@10", "ap", "precision@10")
NOWHERE = 0.98765  # nothing makes it, so everything is tried


def rows(scale: float, repeats: int) -> Iterator[Row]:
    queries = max(int(1_000 * scale), 1)
    data = integers(queries, 1_000, 50)
    sides = ((data.truth, "grade"), (data.run, "score"))
    flat = [rs.columns(query=one.query, item=one.item, **{value: one.value}) for one, value in sides]
    for door, pair in (("dicts of strings", nested(queries, 1_000, 50)), ("int64 columns", flat)):
        for metric in METRICS:
            yield _side_info(f"identify {metric}, {queries:,} queries x 1,000 items, {door}", pair, metric, repeats)


def _side_info(work: str, pair: Any, metric: str, repeats: int) -> Row:
    found = rs.identify(*pair, metric, NOWHERE)
    laps = [
        (Lap(lambda: dict(rs.evaluate(*pair, metric))), Lap(lambda: _nothing(rs.identify(*pair, metric, NOWHERE))))
        for _ in range(repeats)
    ]
    one, all_ = (min(lap.wall for lap in side) for side in zip(*laps, strict=True))
    say(f"    {work}: {found.tried} definitions, {found.values} values")
    return row(work, seconds(all_), "one evaluation", seconds(one), all_ / one, within(20))


def _nothing(_: Any) -> None:
    """An answer that no one compares."""
