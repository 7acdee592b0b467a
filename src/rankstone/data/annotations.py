"""Annotations of judged items besides their grades: weights, and grades per subtopic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Numbers = NDArray[np.integer]

SEVERAL = "an item judged for several subtopics is one item, with the highest of its grades"  # a note on a truth
_PIECE = 1 << 15


class Subtopics(NamedTuple):
    """One row per judged item and subtopic, sorted by item and subtopic."""

    offsets: Ints  # of each judged item's rows
    subtopic: Ints  # its number among those of the query, from 0
    grade: Floats
    order: Ints  # per judged item: its position in the query by descending id, from 0

    def only(self, items: Ints) -> Subtopics:
        """The annotations of some judged items, in any order, with repetitions."""
        rows, offsets = ranges(self.offsets, items)
        return Subtopics(offsets, self.subtopic[rows], self.grade[rows], self.order[items])


class Annotations(NamedTuple):
    """Annotations of all judged items, in the order of the truth, query by query."""

    weight: Floats | None = None
    subtopics: Subtopics | None = None

    def only(self, items: Ints) -> Annotations:
        """The annotations of some judged items, in any order, with repetitions."""
        weight = None if self.weight is None else self.weight[items]
        return Annotations(weight, None if self.subtopics is None else self.subtopics.only(items))


def join_annotations(pieces: Sequence[Annotations | None]) -> Annotations | None:
    """Concatenated annotations of several truths; None unless all have them."""

    def every(parts: list[Any], name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts])

    present = [piece for piece in pieces if piece is not None]
    if len(present) < len(pieces):
        return None
    weighed = all(piece.weight is not None for piece in present)
    split = [piece.subtopics for piece in present if piece.subtopics is not None]
    subtopics = None
    if len(split) == len(pieces):
        sizes = np.concatenate([np.diff(part.offsets) for part in split])
        offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))
        subtopics = Subtopics(offsets, every(split, "subtopic"), every(split, "grade"), every(split, "order"))
    return Annotations(every(present, "weight") if weighed else None, subtopics)


def ranges(offsets: Ints, segments: Ints) -> tuple[Ints, Ints]:
    """Positions of the elements of some segments, concatenated, and their offsets."""
    sizes = offsets[segments + 1] - offsets[segments]
    ends = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))
    return np.arange(ends[-1]) + np.repeat(offsets[segments] - ends[:-1], sizes), ends


def consecutive(numbers: Numbers) -> bool:
    """Do the numbers increase by 1. Compared in blocks, which limits copies."""
    if int(numbers[-1]) - int(numbers[0]) != len(numbers) - 1:
        return False
    pieces = (numbers[at : at + _PIECE + 1] for at in range(0, len(numbers), _PIECE))
    return all((piece[1:] - piece[:-1] == 1).all() for piece in pieces)


def all_in_order(numbers: Numbers, count: int) -> bool:
    """Are they exactly 0, 1, ..., count - 1."""
    return len(numbers) == count and (count == 0 or (numbers[0] == 0 and consecutive(numbers)))
