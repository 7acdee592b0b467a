"""What lists show where they come in pieces: whole lists one after the other, or rows of a run in any order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankstone import _core
from rankstone.align import state as saved
from rankstone.align.alignment import Ints
from rankstone.align.state import State
from rankstone.data.annotations import ranges
from rankstone.data.arrow import Column, as_column, concatenated, plain_ids, take
from rankstone.data.columns import Columns, first_rows
from rankstone.data.id_encoder import check_same_kind
from rankstone.data.source import AlignOptions, TopK
from rankstone.errors import InputError

_FEW = 1 << 16  # rows that may wait, however few are kept


def shown_by(how: AlignOptions) -> AlignOptions:
    """What of an alignment changes what lists show; the rest is about the truth."""
    return AlignOptions(how.order, how.float32, how.duplicates)


def deepest(depths: Mapping[AlignOptions, int | None]) -> dict[AlignOptions, int]:
    """How many rows to keep, by what changes what lists show."""
    out: dict[AlignOptions, int] = {}
    for align, depth in depths.items():
        assert depth is not None  # checked with the plan
        out[shown_by(align)] = max(depth, out.get(shown_by(align), 0))
    return out


# -- whole lists ---------------------------------------------------------------------------------------------


def joined(pieces: Sequence[TopK]) -> TopK:
    """The lists of several, one after the other."""
    if len(pieces) == 1:
        return pieces[0]
    sizes = np.concatenate([np.diff(piece.offsets) for piece in pieces])
    offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))
    filled = [piece for piece in pieces if len(piece.item)]
    if not filled:
        return TopK(offsets, None, pieces[0].item, None)
    for piece in filled[1:]:
        check_same_kind(piece.item, filled[0].item, "run")
    rank = score = None
    if any(piece.rank is not None for piece in filled):
        rank = np.concatenate([_ranks(piece) for piece in filled])
    if any(piece.score is not None for piece in filled):  # equal to none, where a list is in order without scores
        score = np.concatenate([
            np.full(len(piece.item), np.nan) if piece.score is None else np.asarray(piece.score, dtype=np.float64)
            for piece in filled
        ])  # fmt: skip
    return TopK(offsets, rank, concatenated([piece.item for piece in filled]), score)


def _ranks(first: TopK) -> Ints:
    if first.rank is not None:
        return first.rank
    return np.arange(1, len(first.item) + 1) - np.repeat(first.offsets[:-1], np.diff(first.offsets))


def some(first: TopK, lists: Ints) -> TopK:
    """Some of the lists, in this order."""
    rows, offsets = ranges(first.offsets, lists)
    rank = None if first.rank is None else first.rank[rows]
    return TopK(offsets, rank, take(first.item, rows), take(first.score, rows))


def first_state(first: TopK) -> dict[str, Any]:
    """Arrays and lists."""
    score = None if first.score is None else np.asarray(first.score, dtype=np.float64)
    return {"offsets": first.offsets, "rank": first.rank, "item": plain_ids(first.item), "score": score}


def first_from_state(state: State, queries: int) -> TopK:
    """The same from its state, if all goes together."""
    offsets, item = saved.offsets(state, "offsets", queries), _items(state)
    if len(item) != offsets[-1]:
        raise InputError(f"item has {len(item)} entries, not {offsets[-1]}")
    rank = score = None
    if state["rank"] is not None:
        rank = saved.ints(state, "rank", len(item), 1)
        inside = np.ones(max(len(item) - 1, 0), dtype=bool)
        inside[offsets[(offsets > 0) & (offsets < len(item))] - 1] = False
        if (np.diff(rank)[inside] <= 0).any():
            raise InputError("rank does not go up")
    if state["score"] is not None:
        score = saved.floats(state, "score", len(item), nan=True)
    return TopK(offsets, rank, item, score)


def _items(state: State, name: str = "item") -> Column:
    """Ids from a state: all strings, or all whole numbers."""
    ids = saved.items(state, name)
    if {type(one) for one in ids} - {str, int} or len({type(one) for one in ids}) > 1:
        raise InputError(f"{name} holds other things than ids")
    return as_column(name, ids) if ids else np.zeros(0, dtype=np.int64)


# -- rows in any order ---------------------------------------------------------------------------------------


class Best:
    """The first rows of each list of a run whose rows come in any order.

    What has left the first places is forgotten. So an item that comes again is only noticed while it is kept.
    """

    def __init__(self, judged: Column | None, how: AlignOptions, depth: int) -> None:
        self._judged, self._how, self._depth = judged, how, depth
        self._rows: list[Columns] = []  # what is kept, then what has come since
        self._kept: Columns | None = None
        self._offsets: Ints = np.zeros(1, dtype=np.int64)

    def add(self, rows: Columns, threads: int) -> None:
        """More rows."""
        if len(rows.query) == 0:
            return
        if self._rows:
            for role in ("query", "item"):
                check_same_kind(getattr(rows, role), getattr(self._rows[0], role), "run")
        query, item = concatenated([rows.query]), concatenated([rows.item])  # a batch may be written over
        self._rows.append(Columns(query, item, score=np.array(rows.score, dtype=np.float64)))
        kept = 0 if self._kept is None else len(self._kept.query)
        if sum(len(some.query) for some in self._rows) - kept >= max(kept, _FEW):
            self._reduce(threads)

    def _reduce(self, threads: int) -> None:
        """Forget what is not among the first rows."""
        if not self._rows or (len(self._rows) == 1 and self._rows[0] is self._kept):
            return
        query, item, score = (
            concatenated([getattr(rows, role) for rows in self._rows]) for role in ("query", "item", "score")
        )
        judged = query[:0] if self._judged is None else self._judged
        how = AlignOptions(
            self._how.order, self._how.float32, self._how.duplicates, extra_queries=self._judged is None,
            threads=threads,
        )  # fmt: skip
        offsets, rows, _ = _core.first_columns(judged, query, item, score, how, self._depth)
        self._offsets = offsets
        self._kept = Columns(take(query, rows), take(item, rows), score=score[rows])
        self._rows = [self._kept]

    def kept(self, threads: int = 1) -> Columns | None:
        """The first rows of all lists, by list, each list's best first; None if there are none."""
        self._reduce(threads)
        return self._kept

    def first(self) -> TopK | None:
        """The same as lists of the judged queries, or of all where nothing is judged; None if there are no rows."""
        kept = self.kept()
        return None if kept is None else first_rows(self._offsets, np.arange(len(kept.query)), kept.item, kept.score)

    def state(self) -> dict[str, Any] | None:
        kept = self.kept()
        if kept is None:
            return None
        return {"query": plain_ids(kept.query), "item": plain_ids(kept.item), "score": kept.score}

    def load(self, state: State | None) -> None:
        """Begin with what `state` gave."""
        self._rows, self._kept, self._offsets = [], None, np.zeros(1, dtype=np.int64)
        if state is not None:
            query, item = _items(state, "query"), _items(state)
            if len(query) != len(item):
                raise InputError("query and item differ in length")
            self._rows = [Columns(query, item, score=saved.floats(state, "score", len(item)))]
            self._reduce(1)
