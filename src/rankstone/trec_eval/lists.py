"""Judgments and results brought together: where in its query's list each judged document stands."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, cast

import numpy as np
import pyarrow as pa

from rankstone import _core
from rankstone.align.ranked import Bools, Floats, Ints, Ranked, lengths
from rankstone.align.ranking import Discount, Relevance
from rankstone.errors import DataError
from rankstone.inputs.source import Align, ranked_from
from rankstone.metrics.gains import DISCOUNTS
from rankstone.trec_eval.files import Judgments, Results


@dataclass(frozen=True)
class Setup:
    """What the command line says about all measures."""

    version: int = 10
    level: int = 1  # lowest grade that is relevant
    depth: int | None = None  # documents to look at
    judged_only: bool = False
    collection: int = 0  # documents there are

    @property
    def score_precision(self) -> type[np.floating[Any]]:
        """trec_eval read scores and levels into floats up to version 9, and into doubles since."""
        return np.float32 if self.version < 10 else np.float64


@dataclass(frozen=True)
class Placed:
    """Where the judged documents stand. One entry a query, or one a line of judgments."""

    retrieved: Ints
    present: Bools  # is the query in the results
    rank: Ints  # from 1; 0 for what was not retrieved
    pair: Ints  # lines that judge the same document of the same query share it; in the order of the documents' names
    judged_twice: Bools
    returned_twice: dict[int, bytes]  # query -> document


def place(judgments: Judgments, results: Results, setup: Setup, order: str) -> Placed:
    """Rank the judged documents; order says who goes first among equal scores."""
    pairs, first, pair, count = np.unique(
        judgments.query * len(judgments.items) + judgments.item,
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    query = judgments.query[first]
    names = pa.array(judgments.queries, pa.large_binary())
    columns = (
        pa.DictionaryArray.from_arrays(query, _text(names)),
        _text(judgments.items.take(pa.array(judgments.item[first]))),
        None,
        pa.DictionaryArray.from_arrays(results.query.indices, _text(results.query.dictionary)),
        _text(results.item),
        results.score,
    )
    how = Align(order=order, float32=setup.score_precision is np.float32)
    twice: dict[int, bytes] = {}
    try:
        core = _core.align_columns(*columns, how)
    except DataError as error:
        if (error.kind, error.side) != ("twice", "run"):
            raise
        twice = _returned_twice(judgments.queries, results, setup, order)
        core = _core.align_columns(*columns, replace(how, duplicates="count"))
    ranked = ranked_from(core)
    rank = np.zeros(len(pairs), dtype=np.int64)
    at = ranked.truth_offsets[ranked.query] + ranked.place - 1
    rank[at[::-1]] = ranked.rank_unchecked[::-1]  # of a document returned twice, the better place
    doubly = np.bincount(query, count > 1, minlength=len(judgments.queries)) > 0
    return Placed(ranked.retrieved, ranked.present, rank[pair], pair, doubly, twice)


def _text(column: Any) -> Any:
    return column.cast(pa.large_binary()).view(pa.large_string())


def _returned_twice(queries: list[bytes], results: Results, setup: Setup, order: str) -> dict[int, bytes]:
    """The first document that a query's list, as deep as it is looked at, holds twice."""
    codes = {query: code for code, query in enumerate(queries)}
    wanted = np.array([codes.get(query, -1) for query in results.query.dictionary.to_pylist()])
    lists: dict[int, list[tuple[float, bytes]]] = {}
    scores = results.score.astype(setup.score_precision)
    for query, score, item in zip(
        wanted[results.query.indices.to_numpy()].tolist(), scores.tolist(), results.item.to_pylist(), strict=True
    ):
        lists.setdefault(query, []).append((score, item))
    found = {}
    for query, rows in lists.items():
        if query < 0 or len({item for _, item in rows}) == len(rows):
            continue
        rows.sort(key=lambda row: row[1], reverse=order == "item_desc")
        rows.sort(key=lambda row: -row[0])
        items = sorted(item for _, item in rows[: setup.depth])
        for one, other in itertools.pairwise(items):
            if one == other:
                found[query] = one
                break
    return found


class Lists(Ranked):
    """One ranked list for each query, or for each of a query's groups of judgments.

    It adds up and divides as C does, so that the last digit is the same. A negative grade is -2, as in trec_eval.
    """

    setup: Setup

    def __init__(self, owner: Ints, rank: Ints, grade: Floats, retrieved: Ints, setup: Setup) -> None:
        count = len(retrieved)
        grade = np.where(grade < 0, -2.0, grade)
        if setup.depth is not None:
            retrieved = np.minimum(retrieved, setup.depth)
            rank = np.where(rank <= setup.depth, rank, 0)
        placed = (rank > 0) & (grade >= 0) if setup.judged_only else rank > 0
        order = np.lexsort((rank[placed], owner[placed]))
        sizes = np.bincount(owner[placed], minlength=count)
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        ranks = rank[placed][order]
        if setup.judged_only:
            ranks = np.arange(1, len(ranks) + 1) - np.repeat(offsets[:-1], sizes)
            retrieved = sizes
        best = grade[np.lexsort((-grade, owner))]
        super().__init__(
            retrieved=retrieved,
            present=np.ones(count, dtype=bool),
            truth_offsets=np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=count)))),
            truth_grades=best,
            ideal_grades=best,
            placed_offsets=offsets,
            rank=ranks,
            grade=grade[placed][order],
            score=np.full(len(ranks), np.nan),
            place=ranks,
            rule=Relevance(float(setup.level)),
        )
        self.__dict__.update(setup=setup)

    def replace(self, **changes: Any) -> Lists:
        return cast("Lists", super().replace(**changes))

    def every_place(self) -> Lists:
        """The same lists with all retrieved documents: -1 for one that is not judged."""

        def fill() -> Lists:
            offsets = np.concatenate(([0], np.cumsum(self.retrieved)))
            rank = np.arange(1, int(offsets[-1]) + 1) - np.repeat(offsets[:-1], self.retrieved)
            grade = np.full(len(rank), -1.0)
            grade[self.spread(offsets[:-1]) + self.rank - 1] = self.grade
            return self.replace(placed_offsets=offsets, rank_unchecked=rank, grade=grade, place=rank)

        return self.remember("every_place", fill)

    # -- the vocabulary, as C has it -------------------------------------------------------------------------------

    def _sum(self, values: Floats) -> Floats:
        return np.bincount(self.query, values, minlength=len(self)).astype(np.float64)

    def _sum_truth(self, values: Floats) -> Floats:
        owner = self.remember("owner", lambda: np.repeat(np.arange(len(self)), lengths(self.truth_offsets)))
        return np.bincount(owner, values, minlength=len(self)).astype(np.float64)

    def running(self, values: Floats) -> Floats:
        if (values == np.floor(values)).all():  # whole numbers add up to the same in any order
            return super().running(values)
        out = np.empty(len(values))
        for rows in self._segments():
            np.add.accumulate(values[rows], out=out[rows])
        return out

    def weighed(self, gains: Floats, discount: Discount) -> Floats:
        if discount is not DISCOUNTS["log2(rank+1)"]:
            return super().weighed(gains, discount)
        return gains / self.remember("log2", lambda: log2_of(self.rank + 1))


def log2_of(numbers: Ints) -> Floats:
    """The C library's logarithms of whole numbers; NumPy's own may differ in the last digit."""
    return _log2_up_to(1 << int(numbers.max(initial=2)).bit_length())[numbers]


@lru_cache(maxsize=8)
def _log2_up_to(size: int) -> Floats:
    return np.array([0.0, 0.0, *map(math.log2, range(2, size + 1))])
