"""Two passes over a run in batches, in any order: where the judged items are, and what stands above each.

Without a truth there is one pass, which keeps the first rows of each list. No metrics in here.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import Any

import numpy as np

from rankstone import _core
from rankstone.align import state as saved
from rankstone.align.state import State, locked
from rankstone.align.topk import Best, shown_by
from rankstone.data.arrow import plain_ids
from rankstone.data.columns import ColumnPair, Columns, annotations_of
from rankstone.data.source import (
    Aligned,
    AlignOptions,
    Extra,
    RunOnly,
    TopK,
    aligned_with,
    bounded,
    more_extra,
    ranked_from,
)
from rankstone.errors import DataError, InputError

_FINDS = ("scores", "retrieved", "repeated", "repeated_scores", "rows", "unjudged")  # as the core has them
_COUNTS = ("levels", "before", "rows")


class TwoPasses:
    """Finds the judged items of a run, then counts what stands above each; both can be shared out and merged."""

    repeatable = False

    def __init__(
        self, truth: Columns | None, alignments: Iterable[AlignOptions], depths: Mapping[AlignOptions, int]
    ) -> None:
        if truth is not None and len(truth.query) == 0:
            raise InputError("the truth has no rows")
        self.truth = truth
        self._depths = depths  # how many rows of each list to keep, by what changes what it shows
        self._ways = () if truth is None else tuple(dict.fromkeys(map(_counted_by, alignments)))
        self._lock = RLock()
        self.reset()

    def reset(self) -> None:
        """Forget all rows."""
        self._resume(self._open(), self._open_firsts(), _Passed())
        # Which shares of the work are in here. Each object's has its own mark, so that none is added twice.
        self._mark = uuid.uuid4().hex

    def _open(self) -> dict[AlignOptions, _core.Stream]:
        truth = self.truth
        return {how: _core.Stream(truth.query, truth.item, truth.grade, how) for how in self._ways if truth is not None}

    def _open_firsts(self) -> dict[AlignOptions, Best]:
        judged = None if self.truth is None else self.truth.query
        return {how: Best(judged, how, depth) for how, depth in self._depths.items()}

    @locked
    def _resume(
        self, cores: dict[AlignOptions, _core.Stream], firsts: dict[AlignOptions, Best], passed: _Passed
    ) -> None:
        self._cores, self._firsts, self._rows = cores, firsts, passed.rows
        self._found, self._counted = set(passed.found), set(passed.counted)
        self._counting, self._extra = passed.counting, passed.extra

    # -- the two passes --------------------------------------------------------------------------------------

    @locked
    def find(self, rows: Columns, threads: int) -> None:
        """First pass: remember the score of each judged item."""
        if self._counting:
            raise InputError("first_pass() after second_pass(): complete the first pass over every batch first")
        self._found.add(self._mark)
        self._rows += len(rows.query)
        for core in self._cores.values():
            extra = core.find(rows.query, rows.item, rows.score, threads)
            self._extra = more_extra(self._extra, rows.query, extra)
        for best in self._firsts.values():
            best.add(rows, threads)

    @locked
    def count(self, rows: Columns, threads: int) -> None:
        """Second pass: count the rows that stand before each judged item."""
        if self.truth is None:
            raise InputError("nothing is judged, so one pass is enough: first_pass() for every batch, then compute()")
        if not self._found and len(rows.query):
            raise InputError(
                "second_pass() before first_pass(): each batch goes to first_pass(), then to second_pass()"
            )
        self._counting = True
        self._counted.add(self._mark)
        for core in self._cores.values():
            core.count(rows.query, rows.item, rows.score, threads)

    def ids(self) -> tuple[tuple[()], tuple[()]] | None:
        """A stream's items have gone by; without a truth there is nothing to match them with."""
        return None if self.truth is None else ((), ())

    def _check_complete(self) -> None:
        """Raise an error if a batch was interrupted: the core raises it at the next call."""
        for core in self._cores.values():
            core.count(self._judged.query[:0], self._judged.item[:0], np.zeros(0), 1)

    @property
    def _judged(self) -> Columns:
        assert self.truth is not None  # or there is no core
        return self.truth

    @locked
    def seen(self) -> tuple[int, int]:
        """Number of rows of the first and of the second pass."""
        for core in self._cores.values():
            return core.finds[4], core.counts[2] if self._counted else 0
        return self._rows, self._rows

    @locked
    def align(self, how: AlignOptions) -> Aligned:
        """Ranks of the judged items, as `evaluate` asks for them; without a truth, lists as long as they were kept."""
        if self.truth is None:
            return self._lists(how).align(how)
        self._check_complete()
        # Where the order is "input", only the counts of ties are read.
        read = replace(how, order="item_desc") if how.order == "input" else how
        aligned = self._cores[_counted_by(how)].result(read)
        return aligned_with(
            ranked_from(aligned, annotations=annotations_of(self._judged, how)),
            aligned.dropped,
            lambda: plain_ids(self._judged.query, aligned.queries),
            self._extra,
            self._judged.grade is not None,
        )

    @locked
    def first(self, how: AlignOptions, depth: int | None) -> TopK:
        """The top of the lists, to the depth set at construction."""
        if self.truth is None:
            return self._lists(how).first(how, depth)
        top = self._firsts[shown_by(how)].first()
        queries = len(next(iter(self._cores.values())).truth()[1])
        nothing = np.zeros(queries, dtype=np.int64)
        return TopK(nothing, None, nothing[:0], None) if top is None else top

    def _lists(self, how: AlignOptions) -> RunOnly:
        kept = self._firsts[shown_by(how)].kept()
        if kept is None:
            raise InputError("there are no rows: first_pass() for every batch, then compute()")
        return RunOnly(ColumnPair(Columns(kept.query[:0], kept.item[:0]), kept))

    # -- sharing the work ------------------------------------------------------------------------------------

    def merge(self, other: TwoPasses) -> None:
        """Take in what another has found, or counted, of the same truth."""
        self._take_in(other._passed(), other is self)  # one lock after the other, so that none waits for ever

    @locked
    def _take_in(self, more: _Passed, same: bool) -> None:
        mine = self._passed()
        if mine.counting or more.counting:
            self._add_counts(mine, more)
        elif mine.found & more.found:
            if not same and self._cores and mine.found == more.found and mine.digest() == more.digest():
                return  # a copy without anything new
            raise InputError(SAME_FINDS)
        else:
            self._add_finds(mine, more)

    def _add_finds(self, mine: _Passed, more: _Passed) -> None:
        both = [self._united(how, *pair) for how, *pair in zip(self._ways, mine.finds, more.finds, strict=True)]
        for core, finds in zip(self._cores.values(), both, strict=True):
            core.finds = finds
        for best, rows in zip(self._firsts.values(), more.firsts, strict=True):
            if rows is not None:
                best.add(rows, 1)
        self._found |= more.found
        self._rows += more.rows
        self._extra = None if self._extra is None or more.extra is None else bounded(self._extra | more.extra)

    def _united(self, how: AlignOptions, mine: _core.Finds, more: _core.Finds) -> _core.Finds:
        scores, retrieved, again, again_scores, rows, unjudged = mine
        both = np.flatnonzero(~np.isnan(scores) & ~np.isnan(more[0]))
        if len(both) and how.duplicates == "error":
            row = self._cores[how].truth()[0][both[:1]]
            query, item = plain_ids(self._judged.query, row)[0], plain_ids(self._judged.item, row)[0]
            raise DataError(f"query {query!r}: item {item!r} appears twice in the run", "twice", "run", query, item)
        return (
            np.where(np.isnan(scores), more[0], scores),
            retrieved + more[1],
            np.concatenate((again, more[2], both)),
            np.concatenate((again_scores, more[3], more[0][both])),
            rows + more[4],
            unjudged + more[5],
        )

    def _add_counts(self, mine: _Passed, more: _Passed) -> None:
        if mine.digest() != more.digest():
            raise InputError(
                "the streams have not found the same: merge all finds first, then give each worker a copy of the "
                "merged stream to count with"
            )
        if mine.counted & more.counted:
            raise InputError(
                "both streams hold the same counts, which would count twice: one was merged already, or copied after "
                "second_pass() had begun; give each worker a copy of a stream that has counted nothing"
            )
        for at, core in enumerate(self._cores.values()):
            if not more.counted:
                continue
            levels, before, rows = more.counts[at]
            if mine.counted:
                ours = mine.counts[at]
                levels, before, rows = ours[0] + levels, ours[1] + before, ours[2] + rows
            core.counts = (levels, before, rows)
        self._counting = True
        self._counted |= more.counted

    # -- state -----------------------------------------------------------------------------------------------

    @locked
    def _passed(self) -> _Passed:
        self._check_complete()
        cores = self._cores.values()
        counts = tuple(core.counts for core in cores) if self._counted else ()
        marks = frozenset(self._found), frozenset(self._counted)
        firsts = tuple(best.kept() for best in self._firsts.values())
        finds = tuple(core.finds for core in cores)
        return _Passed(finds, counts, *marks, self._counting, self._extra, firsts, self._rows)

    def state(self) -> dict[str, Any]:
        """All it knows of the run, as arrays, lists and numbers."""
        passed = self._passed()
        return {
            **({"rows": passed.rows} if self.truth is None else {}),
            "finds": [dict(zip(_FINDS, finds, strict=True)) for finds in passed.finds],
            "counts": [dict(zip(_COUNTS, counts, strict=True)) for counts in passed.counts],
            "found": sorted(passed.found),
            "counted": sorted(passed.counted),
            "counting": passed.counting,
            "extra": None if passed.extra is None else sorted(passed.extra),
            "firsts": [best.state() for best in self._firsts.values()],
        }

    def load(self, state: State) -> None:
        """Continue from a `state`. Everything is checked before it is passed to the core."""
        if self.truth is None:  # version 0.1.0 saved no more than this
            state = {**_NOTHING_JUDGED, **state}
        found, counted = (_marks(state, name) for name in ("found", "counted"))
        counting = saved.flag(state, "counting")
        if (counted and not counting) or bool(saved.items(state, "counts")) != bool(counted):
            raise InputError("counts, counted and counting do not go together")
        cores = self._open()
        finds = [
            self._checked_finds(found, how, cores[how])
            for how, found in zip(self._ways, saved.items(state, "finds"), strict=True)
        ]
        for core, checked in zip(cores.values(), finds, strict=True):
            core.finds = checked
        if counted:
            counts = [
                _checked_counts(counts, core.counts)
                for counts, core in zip(saved.items(state, "counts"), cores.values(), strict=True)
            ]
            for core, some in zip(cores.values(), counts, strict=True):
                core.counts = some
        firsts = self._open_firsts()
        rows = finds[0][4] if finds else saved.whole(state, "rows")
        for best, first in zip(firsts.values(), saved.items(state, "firsts"), strict=True):
            best.load(first)
            if (kept := best.kept()) is not None and len(kept.query) > rows:
                raise InputError(f"it keeps {len(kept.query)} rows of {rows}")
        passed = _Passed((), (), found, counted, counting, self._checked_extra(state), rows=rows)
        self._resume(cores, firsts, passed)

    def _checked_finds(self, state: State, how: AlignOptions, core: _core.Stream) -> _core.Finds:
        offsets = core.truth()[1]
        query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        scores = saved.floats(state, "scores", len(query), nan=True)
        rows, unjudged = saved.whole(state, "rows"), saved.whole(state, "unjudged")
        retrieved = saved.ints(state, "retrieved", len(offsets) - 1, high=rows + 1)
        repeated = saved.ints(state, "repeated", high=len(query))
        repeated_scores = saved.floats(state, "repeated_scores", len(repeated))
        hits = np.bincount(query[~np.isnan(scores)], minlength=len(retrieved))
        hits += np.bincount(query[repeated], minlength=len(retrieved))
        if int(retrieved.sum()) + unjudged != rows or (hits > retrieved).any():
            raise InputError("scores, retrieved, unjudged and rows do not go together")
        if len(repeated) and (how.duplicates == "error" or np.isnan(scores[repeated]).any()):
            raise InputError("items were returned again that cannot have been")
        return scores, retrieved, repeated, repeated_scores, rows, unjudged

    def _checked_extra(self, state: State) -> Extra:
        if state["extra"] is None:
            return None
        extra = set(saved.items(state, "extra"))
        kind = None if self.truth is None else type(plain_ids(self.truth.query[:1])[0])
        if bounded(extra) is None or not all(type(query) is kind for query in extra):
            raise InputError("extra is not a list of queries")
        return extra


@dataclass(frozen=True)
class _Passed:
    """What both passes have seen so far."""

    finds: tuple[_core.Finds, ...] = ()
    counts: tuple[_core.Counts, ...] = ()
    found: frozenset[str] = frozenset()
    counted: frozenset[str] = frozenset()
    counting: bool = False
    extra: Extra = field(default_factory=set)  # unjudged queries
    firsts: tuple[Columns | None, ...] = ()  # the first rows of lists, where a metric reads them
    rows: int = 0

    def digest(self) -> bytes:
        """What the finds are, in a few bytes; the same whatever the order in which they came."""
        digest = hashlib.blake2b(digest_size=16)
        for scores, retrieved, again, again_scores, rows, unjudged in self.finds:
            returned = np.flatnonzero(~np.isnan(scores))
            item, score = np.concatenate((returned, again)), np.concatenate((scores[returned], again_scores))
            order = np.lexsort((score, item))
            for part in (item[order], score[order], retrieved, np.array([rows, unjudged])):
                digest.update(part.tobytes())
        return digest.digest()


_NOTHING_JUDGED = {"finds": (), "counts": (), "counted": (), "counting": False, "extra": ()}
SAME_FINDS = (
    "both streams hold the same finds, which would count twice: one was merged already, or copied after first_pass() "
    "had begun; give each worker a copy of a stream that has found nothing"
)


def _checked_counts(state: State, like: _core.Counts) -> _core.Counts:
    rows = saved.whole(state, "rows")
    levels = saved.ints(state, "levels", len(like[0]), high=rows + 1)
    before = saved.ints(state, "before", len(like[1]), high=rows + 1)
    if levels.sum() > rows or before.sum() > rows:
        raise InputError("levels, before and rows do not go together")
    return levels, before, rows


def _marks(state: State, name: str) -> frozenset[str]:
    marks = saved.items(state, name)
    if not all(isinstance(mark, str) for mark in marks):
        raise InputError(f"{name} is {marks!r}")
    return frozenset(marks)


def _counted_by(how: AlignOptions) -> AlignOptions:
    """What of it changes what has to be counted; the rest only changes how counts are read."""
    return AlignOptions(float32=how.float32, duplicates=how.duplicates, truth_duplicates=how.truth_duplicates)
