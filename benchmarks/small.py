"""One small call: one query, ten items, three metrics."""

from __future__ import annotations

import timeit
from collections.abc import Iterator

from race import Goal, Row, row, say, seconds

import rankstone as rs

METRICS = ["ndcg@10", "ap", "rr"]


def rows(scale: float, repeats: int) -> Iterator[Row]:
    truth = {"q": {f"d{i}": 1 + i % 3 for i in range(0, 20, 4)}}
    run = {"q": {f"d{i}": 1.0 / (i + 1) for i in range(10)}}
    number = max(int(2_000 * scale), 1)
    taken = timeit.repeat(lambda: rs.evaluate(truth, run, METRICS), number=number, repeat=max(repeats, 7))
    best = min(taken) / number
    say(f"    rankstone: best {seconds(best)}")
    yield row("one query, 10 items, 3 metrics", seconds(best), "", "", best * 1e6, Goal(150, False, " µs"))
