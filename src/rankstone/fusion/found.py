"""What the runs returned, as flat arrays: the words that a fusion is written in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from rankstone.align.alignment import Bools, Floats, Ints


@dataclass(eq=False, repr=False, kw_only=True)
class Found:
    """One row for each item that a run returned for a query.

    score: after normalisation. above: how many items stand above it in that run. rank: the same, from the first rank
    on. length: of its list. candidates: different items that all runs have for the query. weight: of its run. run:
    its number, from 0. item: the number of the query's item, which the sums are taken by.
    """

    item: Ints
    above: Ints
    column: Callable[[str], Ints]  # run, length or candidates, made when a fusion asks for it
    items: int
    runs: int
    first_rank: int = 1
    scores: Floats | None = None
    weights: Floats | None = None
    missing: Callable[[], Found] | None = None  # rows of the items that a run does not have
    counted_from_first: bool = field(default=False, init=False)  # was a rank read, which the first rank moves
    placed_absent: bool = field(default=False, init=False)  # were the items read that a run does not have

    @cached_property
    def run(self) -> Ints:
        return self.column("run")

    @cached_property
    def length(self) -> Ints:
        return self.column("length")

    @cached_property
    def candidates(self) -> Ints:
        return self.column("candidates")

    @property
    def score(self) -> Floats:
        if self.scores is None:
            raise TypeError("this fusion reads scores; declare it with reads='score'")
        return self.scores

    @property
    def rank(self) -> Ints:
        self.counted_from_first = True
        return self.above + self.first_rank

    @property
    def weight(self) -> Any:
        return 1.0 if self.weights is None else self.weights[self.run]

    @property
    def absent(self) -> Found:
        """Rows of the items that a run does not have, without scores; none if `missing=` says what they get."""
        self.placed_absent = True
        return self.where(np.zeros(len(self.item), dtype=bool)) if self.missing is None else self.missing()

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

    def with_rows(self, more: Found, score: Floats) -> Found:
        """The same with more rows, and scores for these."""
        scores = None if self.scores is None else np.concatenate((self.scores, score))
        return self._each(lambda name: np.concatenate((getattr(self, name), getattr(more, name))), scores)

    def where(self, keep: Bools) -> Found:
        """Some of the rows."""
        return self._each(lambda name: getattr(self, name)[keep], None if self.scores is None else self.scores[keep])

    def _each(self, column: Callable[[str], Ints], scores: Floats | None) -> Found:
        return replace(self, item=column("item"), above=column("above"), column=column, scores=scores, missing=None)
