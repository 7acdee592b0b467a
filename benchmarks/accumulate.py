"""Lists measured as they come, by `Accumulator`, against one `evaluate` on all of them."""

from __future__ import annotations

from collections.abc import Iterator

from data import integers
from lists import ITEMS, JUDGED, METRICS, label_matrix
from race import Contender, Numbers, Row, race, within

import rankstone as rs

ALLOWED = 1.10  # of the time of one evaluate
UPDATES = (10_000, 1_000, 100, 10)  # lists in each update


def rows(scale: float, repeats: int) -> Iterator[Row]:
    queries = max(int(100_000 * scale), 1)
    data = integers(queries, ITEMS, JUDGED, retrieved=1.0)
    labels, scores = label_matrix(data), data.run.value.reshape(queries, ITEMS)

    def whole() -> Numbers:
        return dict(rs.evaluate(labels, scores, METRICS))

    for keep in (True, False):
        for size in UPDATES:

            def ours(keep: bool = keep, size: int = size) -> Numbers:
                accumulator = rs.Accumulator(METRICS, keep=keep)
                for at in range(0, queries, size):
                    accumulator.update(labels[at : at + size], scores[at : at + size])
                return dict(accumulator.compute())

            goal = within(ALLOWED) if size >= 1_000 else None  # less is the price of a call
            kept = "values kept" if keep else "only sums kept"
            yield from race(
                f"accumulator, {queries:,} x {ITEMS} in updates of {size:,}, {kept}",
                ours,
                [Contender("rankstone, one evaluate", whole, goal)],
                repeats,
            )
