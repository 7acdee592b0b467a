"""Matrices with a column for each item, looked at once, some rows at a time, so that little is held at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rankstone.align.ranked import Floats, Ints
from rankstone.feedback.policies import NEAR

_ROWS = 1 << 15


class Looked(NamedTuple):
    """What the log needs of the target's probabilities, and of the predictions if there are any."""

    picked: Floats  # the target's probability of the item that was shown
    shown: Floats | None  # what is predicted of it
    expected: Floats | None  # what is predicted of what the target shows
    sound: bool  # is each row of the target's a row of probabilities


def look(target: Any, predicted: Any, codes: Ints) -> Looked:
    """codes: which column is that of the item that was shown."""
    rows, columns = target.shape
    exact = object in (target.dtype, getattr(predicted, "dtype", None))
    step = rows if exact else _ROWS
    first = np.arange(step) * columns
    kind = object if exact else np.float64
    picked = np.empty(rows, dtype=kind)
    shown, expected = (None, None) if predicted is None else (np.empty(rows, dtype=kind), np.empty(rows, dtype=kind))
    sound = True
    for begin in range(0, rows, step):
        part = slice(begin, begin + step)
        chances = target[part]
        at = first[: len(chances)] + codes[part]
        picked[part] = chances.reshape(-1)[at]
        sums = chances.sum(axis=1) if exact else np.einsum("ij->i", chances)
        sound = sound and bool(chances.min() >= 0 and sums.min() >= 1 - NEAR and sums.max() <= 1 + NEAR)
        if shown is not None and expected is not None:
            of = predicted[part]
            shown[part] = of.reshape(-1)[at]
            expected[part] = (chances * of).sum(axis=1) if exact else np.einsum("ij,ij->i", chances, of)
    return Looked(picked, shown, expected, sound)
