"""What more rows and more threads cost: 1 to 100 million rows of int64 columns, grouped by query; 10 million on 1 to 8.

Writes `scaling.svg` in this folder: nanoseconds per row, by the number of rows.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from columns import ITEMS, JUDGED, METRICS
from data import Data, Side, integers
from race import Lap, Numbers, Row, row, say, seconds, within

import rankstone as rs
from rankstone.plots.marks import Axis, Dots, Line
from rankstone.plots.plot import Plot

PICTURE = Path(__file__).with_name("scaling.svg")
MOST = 100_000_000  # rows
SIZES = (100, 50, 20, 10, 5, 2, 1)  # one so many-th of them
TABLED = (100, 10, 1)  # of which there is a row in the table
THREADS = (1, 2, 4, 8)
PIECE = 100_000  # queries that are made up at a time
LINEAR = within(1.1)


def rows(scale: float, repeats: int) -> Iterator[Row]:
    data = many(max(int(MOST * scale), MOST // 1000) // ITEMS)
    laps = {part: best(first(data, data.queries // part), repeats) for part in SIZES}
    counts = {part: data.queries // part * ITEMS for part in SIZES}
    each = {part: lap.cpu / counts[part] for part, lap in laps.items()}  # what a row takes of all cores together
    for part, lap in laps.items():
        say(f"    {counts[part]:,} rows: {seconds(lap.wall)}, all cores {each[part] * 1e9:.3g} ns a row")
    before = TABLED[0]
    for part in TABLED:
        work = f"int64 columns, {counts[part]:,} rows grouped by query"
        ours, theirs = (f"{seconds(laps[at].wall)}, all cores {each[at] * 1e9:.3g} ns a row" for at in (part, before))
        side_info = () if part == before else (f"{counts[before]:,} rows", theirs)
        yield row(work, ours, *side_info, each[part] / each[before], LINEAR) if side_info else Row(work, ours)
        before = part
    yield from by_threads(first(data, data.queries // 10), repeats)
    if scale == 1:
        picture(counts, laps).save(PICTURE)
        say(f"    written: {PICTURE.name}")


def by_threads(data: Data, repeats: int) -> Iterator[Row]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    walls = {threads: best(data, repeats, threads).wall for threads in THREADS}
    for threads in THREADS[1:]:
        work = f"int64 columns, {len(data.run):,} rows, {threads} threads on {cores} cores"
        yield row(work, seconds(walls[threads]), "1 thread", seconds(walls[1]), walls[1] / walls[threads], None)


def many(queries: int) -> Data:
    """Data like that of `integers`, made a piece at a time: all at once it would take several times its memory."""
    truth, run = (
        Side(np.empty(queries * many, np.int64), np.empty(queries * many, np.int64), np.empty(queries * many, kind))
        for many, kind in ((JUDGED, np.int64), (ITEMS, np.float64))
    )
    for at in range(0, queries, PIECE):
        piece = integers(min(PIECE, queries - at), ITEMS, JUDGED, seed=1 + at // PIECE)
        for whole, some, each in ((truth, piece.truth, JUDGED), (run, piece.run, ITEMS)):
            inside = slice(at * each, at * each + len(some))
            whole.query[inside] = some.query + at // PIECE * 10_000_000  # ids that no other piece has
            whole.item[inside], whole.value[inside] = some.item, some.value
    return Data(truth, run, queries)


def first(data: Data, queries: int) -> Data:
    """The first queries of it, in the same memory."""

    def head(side: Side, each: int) -> Side:
        return Side(*(column[: queries * each] for column in (side.query, side.item, side.value)))

    return Data(head(data.truth, JUDGED), head(data.run, ITEMS), queries)


class Best(NamedTuple):
    """The shortest times of several goes."""

    wall: float
    cpu: float


def best(data: Data, repeats: int, threads: int = 0) -> Best:
    """Of some goes, after one that is not counted."""

    def measure() -> Numbers:
        truth = rs.columns(query=data.truth.query, item=data.truth.item, grade=data.truth.value)
        run = rs.columns(query=data.run.query, item=data.run.item, score=data.run.value)
        return dict(rs.evaluate(truth, run, METRICS, threads=threads))

    measure()
    laps = [Lap(measure) for _ in range(repeats)]
    return Best(min(lap.wall for lap in laps), min(lap.cpu for lap in laps))


def picture(counts: dict[int, int], laps: dict[int, Best]) -> Plot:
    parts = sorted(counts, key=counts.__getitem__)
    x = [math.log10(counts[part]) for part in parts]
    by_clock, by_cores = (
        [getattr(laps[part], kind) / counts[part] * 1e9 for part in parts] for kind in ("wall", "cpu")
    )
    marks = [
        mark
        for at, (y, name) in enumerate(((by_clock, "by the clock"), (by_cores, "all cores together")))
        for mark in (Line(x, y, name, at), Dots(x, y, series=at))
    ]
    return Plot(
        "Nanoseconds a row",
        f"Time of one row, from {counts[parts[0]]:,} rows ({by_clock[0]:.1f} ns) to {counts[parts[-1]]:,} "
        f"({by_clock[-1]:.1f} ns); {len(METRICS)} metrics, int64 columns grouped by query.",
        Axis("rows, a power of ten", x[0] - 0.1, x[-1] + 0.1, whole=True),
        Axis.over("ns a row", [*by_clock, *by_cores], zero=True),
        tuple(marks),
    )
