"""The rows of all runs as flat arrays: what fusion methods are written with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.errors import InputTypeError

if TYPE_CHECKING:
    from rankstone.align.alignment import Bools, Floats, Ints


@dataclass(eq=False, repr=False, kw_only=True)
class FusionInput:
    """The input of a fusion method: one row per run, query and returned item.

    A row has the item's `score` after normalisation and its `rank`; the aggregations (`sum`, `count`, `lowest`,
    `highest`, `median`) go over the rows of an item, which is one value per item of a query.

    Attributes
    ----------
    item : array of int
        Index of the item of a query; aggregations group by it.
    above : array of int
        Number of items ranked above the row's item in its list.
    items : int
        Number of items over all queries.
    runs : int
        Number of runs.
    first_rank : int
        Rank of the first item of a list, 1 or 0.

    Examples
    --------
    >>> import numpy as np
    >>> rows = rs.fusion.FusionInput(
    ...     item=np.array([0, 1, 0]), above=np.array([0, 1, 0]), column=lambda name: np.zeros(3, int), items=2, runs=2
    ... )
    >>> rows.sum(1 / rows.rank).tolist()
    [2.0, 0.5]
    >>> rows.count.tolist()
    [2, 1]
    """

    item: Ints
    above: Ints
    column: Callable[[str], Ints]  # run, length or candidates, computed on first use
    items: int
    runs: int
    first_rank: int = 1
    scores: Floats | None = None
    weights: Floats | None = None
    missing: Callable[[], FusionInput] | None = None  # rows of the items that a run did not return
    rank_used: bool = field(default=False, init=False)  # whether a rank was read, so that the first rank matters
    absent_used: bool = field(default=False, init=False)  # whether rows of unreturned items were read

    @cached_property
    def run(self) -> Ints:
        """Index of the run, from 0, per row."""
        return self.column("run")

    @cached_property
    def length(self) -> Ints:
        """Length of the list, per row."""
        return self.column("length")

    @cached_property
    def candidates(self) -> Ints:
        """Number of different items that all runs returned for the query, per row."""
        return self.column("candidates")

    @property
    def score(self) -> Floats:
        """Score after normalisation, per row; only for methods declared with reads="score"."""
        if self.scores is None:
            raise InputTypeError("this fusion method reads scores; declare it with reads='score'")
        return self.scores

    @property
    def rank(self) -> Ints:
        """Rank, per row, counted from the first rank."""
        self.rank_used = True
        return self.above + self.first_rank

    @property
    def weight(self) -> Any:
        """Weight of the run, per row; 1 without weights."""
        return 1.0 if self.weights is None else self.weights[self.run]

    @property
    def absent(self) -> FusionInput:
        """Rows of the items that a run did not return, without scores; none if `missing` sets their scores."""
        self.absent_used = True
        return self.where(np.zeros(len(self.item), dtype=bool)) if self.missing is None else self.missing()

    # -- by item ---------------------------------------------------------------------------------------------

    def sum(self, values: Floats | float) -> Floats:
        """Sum over the runs that returned the item.

        Parameters
        ----------
        values : array of float or float
            One value per row, or one for all rows.

        Returns
        -------
        array of float
            One sum per item.
        """
        each = np.broadcast_to(np.asarray(values, dtype=np.float64), self.item.shape)
        sums: Floats = np.bincount(self.item, weights=each, minlength=self.items).astype(np.float64, copy=False)
        return sums

    @cached_property
    def count(self) -> Ints:
        """Number of runs that returned the item, one per item."""
        return np.bincount(self.item, minlength=self.items)

    def lowest(self, values: Floats) -> Floats:
        """Lowest value over the runs that returned the item.

        Parameters
        ----------
        values : array of float
            One value per row.

        Returns
        -------
        array of float
            One value per item.
        """
        return np.minimum.reduceat(values[self._by_item], self._starts) if len(values) else np.zeros(0)

    def highest(self, values: Floats) -> Floats:
        """Highest value over the runs that returned the item.

        Parameters
        ----------
        values : array of float
            One value per row.

        Returns
        -------
        array of float
            One value per item.
        """
        return np.maximum.reduceat(values[self._by_item], self._starts) if len(values) else np.zeros(0)

    def median(self, values: Floats) -> Floats:
        """Median over the runs that returned the item; the mean of the two middle values if their number is even.

        Parameters
        ----------
        values : array of float
            One value per row.

        Returns
        -------
        array of float
            One value per item.
        """
        middle: Floats = self.sum(values) / np.maximum(self.count, 1)  # the median of one or two values
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

    def with_rows(self, more: FusionInput, score: Floats) -> FusionInput:
        """Append rows.

        Parameters
        ----------
        more : FusionInput
            The rows to append.
        score : array of float
            Their scores.

        Returns
        -------
        FusionInput
        """
        scores = None if self.scores is None else np.concatenate((self.scores, score))
        return self._each(lambda name: np.concatenate((getattr(self, name), getattr(more, name))), scores)

    def where(self, keep: Bools) -> FusionInput:
        """Select rows.

        Parameters
        ----------
        keep : array of bool
            Whether to keep the row, one per row.

        Returns
        -------
        FusionInput
        """
        return self._each(lambda name: getattr(self, name)[keep], None if self.scores is None else self.scores[keep])

    def _each(self, column: Callable[[str], Ints], scores: Floats | None) -> FusionInput:
        return replace(self, item=column("item"), above=column("above"), column=column, scores=scores, missing=None)
