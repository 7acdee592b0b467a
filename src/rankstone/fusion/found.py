"""What the runs returned, as flat arrays: the words that a fusion is written in."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from rankstone.align.alignment import Bools, Floats, Ints

_ROWS = ("item", "run", "above", "length", "candidates")


class Found:
    """One row for each item that a run returned for a query.

    score: after normalisation. above: how many items stand above it in that run. rank: the same, from the first rank
    on. length: of its list. candidates: different items that all runs have for the query. weight: of its run. run:
    its number, from 0. item: the number of the query's item, which the sums are taken by.
    """

    def __init__(
        self,
        *,
        item: Ints,
        score: Floats | None,
        above: Ints,
        run: Callable[[], Ints],
        length: Callable[[], Ints],
        candidates: Callable[[], Ints],
        weights: Floats | None,
        items: int,
        runs: int,
        first_rank: int = 1,
    ) -> None:
        self.item, self.above = item, above
        self._later = {"run": run, "length": length, "candidates": candidates}  # made when a fusion asks for it
        self.items, self.runs = items, runs
        self._score, self._weights, self._first_rank = score, weights, first_rank
        self._absent: Callable[[], Found] | None = None
        self.counted_from_first = False  # was a rank read, which the first rank moves
        self.placed_absent = False  # were the items read that a run does not have

    @cached_property
    def run(self) -> Ints:
        return self._later["run"]()

    @cached_property
    def length(self) -> Ints:
        return self._later["length"]()

    @cached_property
    def candidates(self) -> Ints:
        return self._later["candidates"]()

    @property
    def score(self) -> Floats:
        if self._score is None:
            raise TypeError("this fusion reads scores; declare it with reads='score'")
        return self._score

    @property
    def rank(self) -> Ints:
        self.counted_from_first = True
        return self.above + self._first_rank

    @property
    def weight(self) -> Any:
        return 1.0 if self._weights is None else self._weights[self.run]

    @property
    def absent(self) -> Found:
        """Rows of the items that a run does not have, without scores; none if `missing=` says what they get."""
        self.placed_absent = True
        nothing = np.zeros(len(self.item), dtype=bool)
        return self.where(nothing) if self._absent is None else self._absent()

    # -- by item ---------------------------------------------------------------------------------------------

    def sum(self, values: Floats | float) -> Floats:
        """Each item's sum over the runs that returned it."""
        each = np.broadcast_to(np.asarray(values, dtype=np.float64), self.item.shape)
        sums: Floats = np.bincount(self.item, weights=each, minlength=self.items).astype(np.float64, copy=False)
        return sums

    @cached_property
    def count(self) -> Ints:
        """How many runs returned each item."""
        return np.bincount(self.item, minlength=self.items)

    def lowest(self, values: Floats) -> Floats:
        """Each item's lowest value."""
        return np.minimum.reduceat(values[self._by_item], self._starts) if len(values) else np.zeros(0)

    def highest(self, values: Floats) -> Floats:
        """Each item's highest value."""
        return np.maximum.reduceat(values[self._by_item], self._starts) if len(values) else np.zeros(0)

    def median(self, values: Floats) -> Floats:
        """Each item's middle value, or the mean of the two middle ones."""
        middle: Floats = self.sum(values) / np.maximum(self.count, 1)  # of one or two it is the mean
        many = (self.count > 2)[self.item]
        if many.any():
            item, several = self.item[many], values[many]
            ordered = several[np.lexsort((several, item))]
            which, sizes = np.unique(item, return_counts=True)
            starts = np.cumsum(sizes) - sizes
            middle[which] = (ordered[starts + (sizes - 1) // 2] + ordered[starts + sizes // 2]) / 2
        return middle

    @cached_property
    def _by_item(self) -> Ints:
        return np.argsort(self.item, kind="stable")

    @cached_property
    def _starts(self) -> Ints:
        return np.cumsum(self.count) - self.count

    # -- rows ------------------------------------------------------------------------------------------------

    def beside(self, absent: Callable[[], Found]) -> Found:
        """The same, with what the runs do not have."""
        self._absent = absent
        return self

    def with_rows(self, more: Found, score: Floats) -> Found:
        """The same with more rows, and scores for these."""
        both = {name: np.concatenate((getattr(self, name), getattr(more, name))) for name in _ROWS}
        return self._like(both, None if self._score is None else np.concatenate((self._score, score)))

    def where(self, keep: Bools) -> Found:
        """Some of the rows."""
        rows = {name: getattr(self, name)[keep] for name in _ROWS}
        return self._like(rows, None if self._score is None else self._score[keep])

    def _like(self, rows: dict[str, Ints], score: Floats | None) -> Found:
        return Found(
            item=rows["item"],
            score=score,
            above=rows["above"],
            run=lambda: rows["run"],
            length=lambda: rows["length"],
            candidates=lambda: rows["candidates"],
            weights=self._weights,
            items=self.items,
            runs=self.runs,
            first_rank=self._first_rank,
        )
