"""Matrices: one row a query, one column an item, scores beside labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankstone import _core
from rankstone.inputs import Aligned, ranked_from


def is_matrix(one: Any) -> bool:
    """Is it a two-dimensional array, of NumPy or of a library that hands its arrays over."""
    return getattr(one, "ndim", None) == 2 and (hasattr(one, "__array__") or hasattr(one, "__dlpack__"))


class Dense:
    """Scores and labels of the same items; a mask says which cells are real."""

    def __init__(self, scores: Any, labels: Any, mask: Any = None) -> None:
        self.scores, self.labels = np.asarray(scores), np.asarray(labels)
        self.mask = None if mask is None else np.asarray(mask)
        if self.scores.shape != self.labels.shape:
            raise ValueError(f"scores have shape {self.scores.shape} but labels {self.labels.shape}")
        if self.mask is not None:
            if self.mask.shape != self.scores.shape:
                raise ValueError(f"scores have shape {self.scores.shape} but the mask {self.mask.shape}")
            if self.mask.dtype != np.bool_:
                raise TypeError(f"the mask holds {self.mask.dtype}; it must hold bool, True for a real item")

    def align(self, **options: Any) -> Aligned:
        options.pop("duplicates"), options.pop("truth_duplicates"), options.pop("extra_queries")
        core = _core.align_dense(self.scores, self.labels, self.mask, **options)
        return Aligned(ranked_from(core), lambda: range(len(self.scores)), lambda: (), 0, 0)
