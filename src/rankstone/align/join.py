"""Several alignments as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankstone.align.ranked import Ints, Ranked
from rankstone.inputs.notes import join_notes


def join(pieces: Sequence[Ranked]) -> Ranked:
    """The queries of several rankings, one after the other."""
    if len(pieces) == 1:
        return pieces[0]

    def every(name: str) -> Any:
        return np.concatenate([getattr(piece, name) for piece in pieces])

    def ends(name: str) -> Ints:
        sizes = np.concatenate([np.diff(getattr(piece, name)) for piece in pieces])
        return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))

    above = tied = None
    if any(piece.tied is not None for piece in pieces):
        above, tied = every("items_above"), every("items_level")
    return Ranked(
        every("retrieved"), every("present"), ends("truth_offsets"), every("truth_grades"), every("ideal_grades"),
        ends("placed_offsets"), every("rank_unchecked"), every("grade"), every("score"), every("place"), above, tied,
        ordered_truth=all(piece.ordered_truth for piece in pieces),
        ordered_grades=all(piece.ordered_grades for piece in pieces),
        notes=join_notes([piece.notes for piece in pieces]),
    )  # fmt: skip
