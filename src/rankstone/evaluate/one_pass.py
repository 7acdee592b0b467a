"""One pass over a run in batches, where the rows of each query are contiguous: whole queries are aligned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from rankstone import _core
from rankstone.align.alignment import Ints
from rankstone.align.topk import shown_by
from rankstone.data.annotations import consecutive, ranges
from rankstone.data.arrow import concatenated, plain_ids, take
from rankstone.data.columns import ColumnPair, Columns, annotations_of
from rankstone.data.source import Aligned, AlignOptions, Extra, TopK, aligned_with, more_extra
from rankstone.errors import InputError
from rankstone.evaluate.partial import Partial, concat

CARRY_LIMIT = 1 << 24  # rows of one query that are carried over to the next batch


class Grouped:
    """Queries aligned in batches, concatenated in the order of the truth."""

    repeatable = False

    def __init__(
        self, truth: Columns, alignments: Iterable[AlignOptions], depths: Mapping[AlignOptions, int], threads: int
    ) -> None:
        self.core = _core.Queries(truth.query, threads)
        self._offsets, self._first_rows, rows = self.core.offsets, self.core.first_rows, self.core.rows
        self._query, self._whole_truth = truth.query, truth
        self.truth = self._truth = _taken(truth, slice(None) if rows is None else rows)
        self._alignments = tuple(alignments)
        self._depths = depths  # how many rows of each list to keep, by alignment
        self._partials: list[Partial] = []
        self._finished = np.zeros(len(self._offsets) - 1, dtype=bool)
        self._extra: Extra = set()

    def add(self, rows: Columns, starts: Ints, queries: Ints) -> bool:
        """Add whole queries; False if one of them occurred before."""
        judged = queries[queries >= 0]
        if self._finished[judged].any():
            return False
        self._finished[judged] = True
        self._extra = more_extra(self._extra, rows.query, starts[queries < 0])
        self._align(rows, judged)
        return True

    def _align(self, rows: Columns, queries: Ints) -> None:
        source = ColumnPair(self._judged(queries), rows)
        aligned = {options: source.align(options) for options in self._alignments}
        ranked = {options: each.ranked for options, each in aligned.items()}
        firsts = {options: source.first(options, depth) for options, depth in self._depths.items()}
        dropped = aligned[self._alignments[0]].dropped
        self._partials.append(Partial(ranked, None, dropped=dropped, firsts=firsts, labels={"number": queries}))

    def _judged(self, queries: Ints) -> Columns:
        """The truth of these queries."""
        if len(queries) and consecutive(queries):  # most files have the queries in the order of the truth
            return _taken(self._truth, slice(int(self._offsets[queries[0]]), int(self._offsets[queries[-1] + 1])))
        return _taken(self._truth, ranges(self._offsets, queries)[0])

    def finish(self, empty: Columns) -> None:
        """Add the judged queries that are missing from the run."""
        self._align(empty, np.flatnonzero(~self._finished))

    @cached_property
    def _whole(self) -> Partial:
        """All queries, in the order of the truth."""
        whole = concat(self._partials)
        self._partials = []
        return whole.only(np.argsort(whole.labels["number"], kind="stable"))

    def align(self, options: AlignOptions) -> Aligned:
        """Ranks of the judged items."""
        ranked = self._whole.ranked[options].replace(annotations=annotations_of(self._whole_truth, options))
        return aligned_with(
            ranked,
            self._whole.dropped,
            lambda: plain_ids(self._query, self._first_rows),
            self._extra,
            self._truth.grade is not None,
        )

    def first(self, options: AlignOptions, depth: int | None) -> TopK:
        """The first rows of the lists, to the depth of `__init__`."""
        return self._whole.firsts[shown_by(options)]

    def ids(self) -> tuple[tuple[()], tuple[()]]:
        """The ids of a stream's items are not kept."""
        return (), ()


def one_pass(
    truth: Columns,
    batches: Iterable[Columns],
    alignments: Iterable[AlignOptions],
    depths: Mapping[AlignOptions, int],
    threads: int,
) -> Grouped | None:
    """All queries aligned; None if the rows of a query are not contiguous."""
    if len(truth.query) == 0:
        raise InputError("the truth has no rows")
    grouped = Grouped(truth, alignments, depths, threads)
    carry: Columns | None = None  # rows of the last query, which may continue in the next batch
    rows: Columns | None = None
    for rows in batches:
        starts, queries = grouped.core.stretches(rows.query, threads)
        if len(starts) == 0:
            continue
        judged = queries[queries >= 0]
        if not (judged[1:] > judged[:-1]).all() and len(np.unique(judged)) < len(judged):
            return None
        ends = np.append(starts[1:], len(rows.query))
        first = 0
        if carry is not None:
            if _last(carry.query) == _first(rows.query):
                carry = _join(carry, _slice(rows, 0, int(ends[0])))
                first = 1
                if len(carry.query) > CARRY_LIMIT:
                    return None
            if first < len(starts) and not _add(grouped, carry, threads):
                return None
        if first < len(starts):
            last = len(starts) - 1
            begin, end = int(starts[first]), int(starts[last])
            if end > begin:
                whole = slice(first, last)
                if not grouped.add(_slice(rows, begin, end), starts[whole] - begin, queries[whole]):
                    return None
            carry = _copied(_slice(rows, end, len(rows.query)))
    if carry is not None and not _add(grouped, carry, threads):
        return None
    if rows is None:
        raise InputError("the run has no rows")
    grouped.finish(_slice(rows, 0, 0))
    return grouped


def _add(grouped: Grouped, rows: Columns, threads: int) -> bool:
    return grouped.add(rows, *grouped.core.stretches(rows.query, threads))


def _taken(truth: Columns, rows: Ints | slice) -> Columns:
    return Columns(*(take(column, rows) for column in (truth.query, truth.item, truth.grade)))


def _slice(rows: Columns, start: int, end: int) -> Columns:
    score = None if rows.score is None else rows.score[start:end]
    return Columns(rows.query[start:end], rows.item[start:end], score=score)


def _join(first: Columns, second: Columns) -> Columns:
    score = None if first.score is None or second.score is None else concatenated((first.score, second.score))
    query, item = (concatenated((getattr(first, role), getattr(second, role))) for role in ("query", "item"))
    return Columns(query, item, score=score)


def _copied(rows: Columns) -> Columns:
    """A copy of the rows, so that the memory of the batch can be freed."""
    return _join(rows, _slice(rows, 0, 0))


def _first(column: Any) -> Any:
    return plain_ids(column[:1])[0]


def _last(column: Any) -> Any:
    return plain_ids(column[len(column) - 1 :])[0]
