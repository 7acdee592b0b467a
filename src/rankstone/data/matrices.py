"""Matrices, one row a query and one column an item: scores beside labels, or sparse ones of what was judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from rankstone import _core
from rankstone.data.arrow import as_array
from rankstone.data.columns import first_rows
from rankstone.data.lists import Lists
from rankstone.data.source import Align, Aligned, First, left_out, ranked_from

if TYPE_CHECKING:
    import scipy

    from rankstone.typing import Array, Numbers

Sparse: TypeAlias = "scipy.sparse.sparray"  # scipy.sparse.csr_array([[0, 3], [1, 0]])


def is_matrix(given: object) -> TypeGuard[Array]:
    """Is it a two-dimensional array, of NumPy or of a library that hands its arrays over."""
    frame = hasattr(given, "__arrow_c_stream__")
    return (
        getattr(given, "ndim", None) == 2
        and not frame
        and (hasattr(given, "__array__") or hasattr(given, "__dlpack__"))
    )


def is_scores(given: object) -> TypeGuard[Numbers]:
    """Is it a one-dimensional array, or a list, of numbers."""
    if isinstance(given, (list, tuple)):
        return len(given) > 0 and all(isinstance(one, (int, float)) for one in given)
    return getattr(given, "ndim", None) == 1 and hasattr(given, "__array__") and as_array(given).dtype.kind in "iuf"


class Dense:
    """Scores and labels of the same items; a mask says which cells are real, or `lengths` how many of each row.

    seen: a matrix whose cells that are not 0 leave the lists.
    """

    def __init__(
        self,
        scores: Array,
        labels: Array,
        mask: Array | None = None,
        lengths: Numbers | None = None,
        seen: Array | None = None,
    ) -> None:
        self.scores, self.labels = as_array(scores), as_array(labels)
        self.remarks: tuple[str, ...] = ()
        if mask is not None and lengths is not None:
            raise TypeError("give a mask or lengths, not both")
        self.mask = None if mask is None else as_array(mask)
        if lengths is not None:
            sizes = as_array(lengths)
            rows, width = self.scores.shape
            if sizes.shape != (rows,) or sizes.dtype.kind not in "iu" or (sizes < 0).any() or (sizes > width).any():
                raise ValueError(f"lengths must be {rows} whole numbers from 0 to {width}")
            self.mask = np.arange(width) < sizes[:, None]
        if self.scores.shape != self.labels.shape:
            raise ValueError(f"scores have shape {self.scores.shape} but labels {self.labels.shape}")
        if self.mask is not None:
            if self.mask.shape != self.scores.shape:
                raise ValueError(f"scores have shape {self.scores.shape} but the mask {self.mask.shape}")
            if self.mask.dtype != np.bool_:
                raise TypeError(f"the mask holds {self.mask.dtype}; it must hold bool, True for a real item")

        if seen is not None:
            self._leave_out(as_array(seen) != 0)

    def _leave_out(self, seen: NDArray[np.bool_]) -> None:
        if seen.shape != self.scores.shape:
            raise ValueError(f"scores have shape {self.scores.shape} but exclude= {seen.shape}")
        there = self.scores > -np.inf if self.mask is None else self.mask & (self.scores > -np.inf)
        self.remarks = (left_out(int((seen & there).sum())),)
        self.mask = ~seen if self.mask is None else self.mask & ~seen

    repeatable = True

    def align(self, how: Align) -> Aligned:
        # A matrix has no item twice, and no queries of its own.
        how = Align(order=how.order, float32=how.float32, zeros=how.zeros, threads=how.threads)
        found = _core.align_dense(self.scores, self.labels, self.mask, how)
        return Aligned(ranked_from(found), lambda: range(len(self.scores)), lambda: (), 0, 0, remarks=self.remarks)

    def first(self, how: Align, depth: int | None) -> First:
        """The items are the columns' numbers."""
        there = np.ones(self.scores.shape, dtype=bool) if self.mask is None else self.mask
        offsets = np.concatenate(([0], np.cumsum(there.sum(axis=1))))
        item, score = np.nonzero(there)[1], self.scores[there]
        found, rows, _ = _core.first_lists(offsets, item, score, None, how, depth, None)
        return first_rows(found, rows, item, score)

    def ids(self) -> None:
        """An item is a place in its row."""


def is_sparse(given: object) -> TypeGuard[Sparse]:
    """Is it a sparse matrix of SciPy."""
    return type(given).__module__.startswith("scipy.sparse")


def from_sparse(matrix: Sparse) -> Lists:
    """One list a row; the rows' numbers are the queries, the columns' the items."""
    rows = matrix.tocsr()
    if not rows.has_canonical_format:  # a cell stored twice is their sum, as everywhere in SciPy
        rows = rows.copy()
        rows.sum_duplicates()
    return Lists(rows.indptr, rows.indices, rows.data, np.arange(rows.shape[0]), ordered=False)
