"""What a truth says of its judged items besides their grades: how much each weighs, and its grade for each subtopic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Numbers = NDArray[np.integer]

SEVERAL = "an item judged for several subtopics is one item, with the highest of its grades"  # a remark on a truth
_PIECE = 1 << 15


class Subtopics(NamedTuple):
    """One row for each judged item and subtopic, the rows of an item together and by subtopic."""

    offsets: Ints  # of each judged item's rows
    subtopic: Ints  # its number among those of the query, from 0
    grade: Floats
    order: Ints  # one a judged item: its place among those of the query, the largest id first, from 0

    def only(self, items: Ints) -> Subtopics:
        """Those of some judged items, in any order and as often as wanted."""
        rows, offsets = ranges(self.offsets, items)
        return Subtopics(offsets, self.subtopic[rows], self.grade[rows], self.order[items])


class Notes(NamedTuple):
    """Judged items in the order of the truth as given, all queries one after the other."""

    weight: Floats | None = None
    subtopics: Subtopics | None = None

    def only(self, items: Ints) -> Notes:
        """Those of some judged items, in any order and as often as wanted."""
        weight = None if self.weight is None else self.weight[items]
        return Notes(weight, None if self.subtopics is None else self.subtopics.only(items))


def join_notes(pieces: Sequence[Notes | None]) -> Notes | None:
    """Those of several truths, one after the other; None unless all have them."""

    def every(parts: list[Any], name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts])

    found = [piece for piece in pieces if piece is not None]
    if len(found) < len(pieces):
        return None
    weighed = all(piece.weight is not None for piece in found)
    split = [piece.subtopics for piece in found if piece.subtopics is not None]
    subtopics = None
    if len(split) == len(pieces):
        sizes = np.concatenate([np.diff(part.offsets) for part in split])
        offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))
        subtopics = Subtopics(offsets, every(split, "subtopic"), every(split, "grade"), every(split, "order"))
    return Notes(every(found, "weight") if weighed else None, subtopics)


def ranges(offsets: Ints, segments: Ints) -> tuple[Ints, Ints]:
    """Positions of all that is in some segments, one segment after the other, and their offsets."""
    sizes = offsets[segments + 1] - offsets[segments]
    ends = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))
    return np.arange(ends[-1]) + np.repeat(offsets[segments] - ends[:-1], sizes), ends


def consecutive(numbers: Numbers) -> bool:
    """Do some numbers go up by 1. A few at a time, so that no more than these are copied."""
    if int(numbers[-1]) - int(numbers[0]) != len(numbers) - 1:
        return False
    pieces = (numbers[at : at + _PIECE + 1] for at in range(0, len(numbers), _PIECE))
    return all((piece[1:] - piece[:-1] == 1).all() for piece in pieces)


def all_in_order(numbers: Numbers, count: int) -> bool:
    """Are they the numbers from 0 to below a count, each once, as they go up."""
    return len(numbers) == count and (count == 0 or (numbers[0] == 0 and consecutive(numbers)))
