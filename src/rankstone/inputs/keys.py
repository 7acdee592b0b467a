"""Numbers of ids, and pairs of them, in order and looked up: what np.unique and np.isin do, several times as fast."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from rankstone.inputs.arrow import Places

Keys = NDArray[np.int64]
_PIECE = 1 << 15
LOWER = (1 << 32) - 1  # the bits of the second of a pair


def pair(high: Places, low: Places) -> Keys:
    """Two numbers as one, which sorts by the first, then by the second."""
    out: Keys = high.astype(np.int64)
    out <<= 32
    out |= low
    return out


def distinct(keys: Keys) -> Keys:
    """The keys in order, each once."""
    keys = np.sort(keys)
    return keys[np.concatenate((np.ones(min(len(keys), 1), dtype=bool), keys[1:] != keys[:-1]))]


def among(keys: Keys, known: Keys) -> NDArray[np.bool_]:
    """Which of some keys are known. As a rule few are, and a table of hashes tells of most of the others."""
    bits = min(len(known).bit_length() + 4, 25)
    table = np.zeros(1 << bits, dtype=bool)
    table[_hashed(known, bits)] = True
    found = table[_hashed(keys, bits)]
    doubtful = np.flatnonzero(found)
    if len(doubtful):
        known, asked = np.sort(known), keys[doubtful]
        found[doubtful] = known[np.minimum(np.searchsorted(known, asked), len(known) - 1)] == asked
    return found


def consecutive(numbers: Places) -> bool:
    """Do some numbers go up by 1. A few at a time, so that no more than these are copied."""
    if int(numbers[-1]) - int(numbers[0]) != len(numbers) - 1:
        return False
    pieces = (numbers[at : at + _PIECE + 1] for at in range(0, len(numbers), _PIECE))
    return all((piece[1:] - piece[:-1] == 1).all() for piece in pieces)


def all_in_order(numbers: Places, count: int) -> bool:
    """Are they the numbers from 0 to below a count, each once, as they go up."""
    return len(numbers) == count and (count == 0 or (numbers[0] == 0 and consecutive(numbers)))


def _hashed(keys: Keys, bits: int) -> Keys:
    spread = keys.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)  # 2 ** 64 over the golden ratio
    spread >>= np.uint64(64 - bits)
    return spread.view(np.int64)


def order_of(counts: Places) -> Keys:
    """The order of some numbers from the least, equal ones as they stand; by counting where they are small."""
    if np.issubdtype(counts.dtype, np.integer) and int(counts.max(initial=0)) < 1 << 16:
        return np.argsort(counts.astype(np.uint16), kind="stable")
    return np.argsort(counts, kind="stable")
