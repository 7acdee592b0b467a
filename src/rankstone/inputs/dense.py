"""Matrices: one row a query, one column an item, scores beside labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankstone import _core
from rankstone.inputs.source import Align, Aligned, ranked_from


def is_matrix(one: Any) -> bool:
    """Is it a two-dimensional array, of NumPy or of a library that hands its arrays over."""
    frame = hasattr(one, "__arrow_c_stream__")
    return getattr(one, "ndim", None) == 2 and not frame and (hasattr(one, "__array__") or hasattr(one, "__dlpack__"))


def _array(one: Any) -> Any:
    """A NumPy array; a tensor is taken off its device and out of its graph."""
    if hasattr(one, "detach"):
        one = one.detach().cpu()
    return np.asarray(one)


class Dense:
    """Scores and labels of the same items; a mask says which cells are real, or `lengths` how many of each row."""

    def __init__(self, scores: Any, labels: Any, mask: Any = None, lengths: Any = None) -> None:
        self.scores, self.labels = _array(scores), _array(labels)
        if mask is not None and lengths is not None:
            raise TypeError("give a mask or lengths, not both")
        self.mask = None if mask is None else _array(mask)
        if lengths is not None:
            sizes = _array(lengths)
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

    repeatable = True

    def align(self, how: Align) -> Aligned:
        # A matrix has no item twice, and no queries of its own.
        how = Align(order=how.order, float32=how.float32, zeros=how.zeros, threads=how.threads)
        found = _core.align_dense(self.scores, self.labels, self.mask, how)
        return Aligned(ranked_from(found), lambda: range(len(self.scores)), lambda: (), 0, 0)
