"""Matrices with a column for each item, looked at once, some rows at a time, so that little is held at once."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankstone.align.alignment import Ints
from rankstone.offpolicy.policies import NEAR

Values: TypeAlias = NDArray[Any]  # floats; or fractions, of which everything that is made is exact
_ROWS = 1 << 15


class AtPlaces:
    """A matrix of three dimensions as one of two: of each row the columns at its place, taken when asked for."""

    def __init__(self, cube: Values, place: Ints) -> None:
        self.cube, self.place = cube, place
        self.shape, self.dtype = cube.shape[:2], cube.dtype

    def __getitem__(self, part: slice) -> Values:
        cube, place = self.cube[part], self.place[part]
        return cube[np.arange(len(cube)), :, place]


class Looked(NamedTuple):
    """What the log needs of the target's probabilities, and of the predictions if there are any."""

    picked: Values  # the target's probability of the item that was shown
    shown: Values  # what is predicted of it
    expected: Values  # what is predicted of what the target shows
    sound: bool  # is each row of the target's a row of probabilities


def look(target: Values | AtPlaces, predicted: Values | AtPlaces | None, codes: Ints) -> Looked:
    """codes: which column is that of the item that was shown."""
    rows, columns = target.shape
    exact = target.dtype == object or (predicted is not None and predicted.dtype == object)
    step = rows if exact else _ROWS
    first = np.arange(step) * columns
    kind = object if exact else np.float64
    picked = np.empty(rows, dtype=kind)
    shown, expected = np.empty((2, 0 if predicted is None else rows), dtype=kind)
    sound = True
    for begin in range(0, rows, step):
        part = slice(begin, begin + step)
        chances = target[part]
        at = first[: len(chances)] + codes[part]
        np.take(chances.reshape(-1), at, out=picked[part], mode="clip")  # which is quick, and all are inside
        sums = chances.sum(axis=1) if exact else np.einsum("ij->i", chances)
        sound = sound and bool(chances.min() >= 0 and sums.min() >= 1 - NEAR and sums.max() <= 1 + NEAR)
        if predicted is not None:
            of = predicted[part]
            np.take(of.reshape(-1), at, out=shown[part], mode="clip")
            if exact:
                expected[part] = (chances * of).sum(axis=1)
            else:
                np.einsum("ij,ij->i", chances, of, out=expected[part])
    return Looked(picked, shown, expected, sound)
