"""Several alignments as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankstone.align.alignment import Alignment, Ints
from rankstone.data.id_encoder import join_notes

_FIELDS = (
    "retrieved", "present", "truth_offsets", "truth_grades", "ideal_grades", "placed_offsets", "rank",
    "grade", "score", "place",
)  # fmt: skip
_TIES = ("above", "tied")
_LINE = 64  # bytes that an array starts at a multiple of


def join(pieces: Sequence[Alignment]) -> Alignment:
    """The queries of several rankings, one after the other."""
    if len(pieces) == 1:
        return pieces[0]
    tied = any(piece.tied is not None for piece in pieces)

    def every(name: str) -> list[NDArray[Any]]:
        found = [_level(piece, name) if name in _TIES else getattr(piece, name) for piece in pieces]
        return list(_ends(found)) if name.endswith("offsets") else found

    return Alignment(
        *_concatenated([every(name) for name in (_FIELDS + _TIES if tied else _FIELDS)]),
        ordered_truth=all(piece.ordered_truth for piece in pieces),
        ordered_grades=all(piece.ordered_grades for piece in pieces),
        notes=join_notes([piece.notes for piece in pieces]),
    )


def _level(piece: Alignment, name: str) -> Ints:
    """How many items stand above, or are tied, also where none are."""
    if piece.above is None or piece.tied is None:
        return piece.rank - 1 if name == "above" else np.ones_like(piece.rank)
    return piece.above if name == "above" else piece.tied


def _ends(several: Sequence[Ints]) -> Iterator[Ints]:
    """The parts of offsets that go on where those before end."""
    yield np.zeros(1, dtype=np.int64)
    end = 0
    for offsets in several:
        yield offsets[1:] + end
        end += int(offsets[-1])


def _concatenated(several: Sequence[Sequence[NDArray[Any]]]) -> Iterator[NDArray[Any]]:
    """Each list of arrays as one array. All lie in one stretch of memory: large ones get large pages, by NumPy."""
    types = [np.result_type(*{part.dtype for part in parts}) for parts in several]
    sizes = [kind.itemsize * sum(map(len, parts)) for kind, parts in zip(types, several, strict=True)]
    memory = np.empty(sum(size + _LINE for size in sizes), dtype=np.uint8)
    at = 0
    for kind, size, parts in zip(types, sizes, several, strict=True):
        yield np.concatenate(parts, out=memory[at : at + size].view(kind))
        at += size + -size % _LINE
