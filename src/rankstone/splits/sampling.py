"""Drawing rows: the rows of each group with the highest keys, and random keys (lots) that depend on the content."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankstone.align.alignment import Bools, Ints
from rankstone.data.arrow import convertible, encoded, is_number
from rankstone.errors import InputTypeError

if TYPE_CHECKING:
    import pyarrow

Bits = NDArray[np.uint64]
Key = Callable[["Ints | None"], Bits]  # of some rows, or of all for None: numbers to order them by
Groups = tuple[Ints, int]  # each row's group, and how many groups there are: np.array([0, 0, 1]), 2


# -- choosing rows -------------------------------------------------------------------------------------------


def highest(groups: Groups, take: Ints, keys: list[Key]) -> Bools:
    """Mask of the `take` rows per group with the highest keys. Ties are broken by the next key.

    Only values are sorted, group and key in one number, to find the lowest selected key per group. The next key is
    computed only for the rows that have this key, if not all of them are selected.
    """
    group, count = groups
    chosen = np.zeros(len(group), dtype=bool)
    rows = left = None  # undecided rows, None: all; the unused low bits of their key
    waiting = iter([*keys, _position])
    while True:
        key = next(waiting)(rows) if left is None else left
        joined, spare = _joined(group, count, key)
        ends = np.array([len(group)]) if count == 1 else np.bincount(group, minlength=count).cumsum()
        wanting = np.flatnonzero(take)
        at = ends[wanting] - take[wanting]
        lowest = np.full(count, np.iinfo(np.uint64).max, dtype=np.uint64)
        lowest[wanting], begins, after = _sorted_at(joined, at)
        torn = np.ones(count, dtype=bool)  # not all rows with the lowest key are selected
        torn[wanting] = ~begins
        sure = np.empty(len(joined), dtype=bool)
        equal = np.empty(len(joined), dtype=bool)
        for block in blocks(len(joined)):
            limit = lowest if count == 1 else lowest[group[block]]
            np.greater(joined[block], limit, out=sure[block])
            np.equal(joined[block], limit, out=equal[block])
        equal = np.flatnonzero(equal)
        sure[equal] = ~torn[group[equal]]
        chosen[slice(None) if rows is None else rows] = sure
        if begins.all():
            return chosen
        rest = np.zeros_like(take)
        rest[wanting] = np.where(begins, 0, take[wanting] - (ends[wanting] - after))
        equal = equal[torn[group[equal]]]
        left = key[equal] & np.uint64(2**spare - 1) if spare else None
        rows, group, take = equal if rows is None else rows[equal], group[equal], rest


def _sorted_at(numbers: Bits, at: Ints) -> tuple[Bits, Bools, Ints]:
    """Values at some positions of the sorted numbers, whether they begin there, and where they end."""
    if len(at) == 1:  # a partition is enough
        place = int(at[0])
        parted = np.partition(numbers, place)
        value = parted[place : place + 1]
        begins = not place or parted[:place].max() < value[0]
        return value, np.array([begins]), np.array([len(parted) - np.count_nonzero(parted[place:] > value)])
    ordered = np.sort(numbers)
    begins = (at == 0) | (ordered[at - 1] != ordered[at])
    after = at.copy()
    after[~begins] = np.searchsorted(ordered, ordered[at[~begins]], "right")
    return ordered[at], begins, after


def blocks(rows: int) -> Iterator[slice]:
    """Slices of rows that fit in the cache."""
    size = 1 << 15
    return (slice(begin, begin + size) for begin in range(0, rows, size))


def _position(rows: Any) -> Bits:
    return rows.astype(np.uint64)


def _joined(group: Ints, count: int, key: Bits) -> tuple[Bits, int]:
    """Group and key in one 64-bit number, and the number of low bits of the key that do not fit."""
    for_group, for_key = (count - 1).bit_length(), int(key.max()).bit_length()
    spare = max(for_group + for_key - 64, 0)
    joined = key >> np.uint64(spare) if spare else key
    return (joined | (group.astype(np.uint64) << np.uint64(for_key - spare)) if for_group else joined), spare


def dealt(alone: Groups, keys: list[Key], k: int) -> NDArray[np.int32]:
    """The fold of each row, from 0 to k - 1, by the keys; fold sizes differ by one row at most."""
    rows = len(alone[0])
    part = np.zeros(rows, dtype=np.int32)
    for bound in range(1, k):  # the rows above each bound move up by one
        part += highest(alone, np.array([bound * rows // k]), keys)
    return part


# -- lots ----------------------------------------------------------------------------------------------------

_NULL = np.uint64(0x9AE16A3B2F90404F)


def mixed(x: Bits) -> Bits:
    """Every bit of x depends on every other (the finalizer of SplitMix64); in place."""
    x += np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def draw_lots(columns: list[Bits], seed: int) -> Bits:
    """A random number per row, which depends on the content of the columns and the seed."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise InputTypeError(f"the seed is {seed!r}; it must be a whole number")
    out = np.empty(len(columns[0]), dtype=np.uint64)
    start = mixed(np.array([int(seed) % 2**64], dtype=np.uint64))
    for block in blocks(len(out)):
        out[block] = start
        for column in columns:
            out[block] += column[block]
            mixed(out[block])
    return out


def content(column: pyarrow.Array) -> Bits:
    """A 64-bit hash per row of a plain Arrow column; equal values have equal hashes."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    kind = column.type
    if types.is_timestamp(kind) or types.is_date(kind):  # the same moment in any unit
        column, kind = pc.cast(column, pa.timestamp("us"), safe=False).cast(pa.int64()), pa.int64()
    elif types.is_temporal(kind):
        column, kind = column.view(f"int{kind.bit_width}"), pa.int64()
    if types.is_boolean(kind):
        column = column.cast(pa.int8())
    if is_number(kind) or types.is_boolean(kind):
        values = (pc.fill_null(column, 0) if column.null_count else column).to_numpy(zero_copy_only=False)
        if values.dtype.kind == "f":
            values = values.astype(np.float64) + 0.0  # -0.0 is 0.0
            bits = np.where(np.isnan(values), np.nan, values).view(np.uint64)
        else:
            bits = values.astype(np.int64, copy=False).view(np.uint64)
        return np.where(column.is_valid().to_numpy(zero_copy_only=False), bits, _NULL) if column.null_count else bits
    if not (types.is_large_string(kind) or types.is_large_binary(kind)):
        column = pa.array([None if value is None else repr(value) for value in column.to_pylist()], pa.large_string())
    texts, number = encoded(column)
    return np.append(_of_texts(texts), _NULL)[number]  # the last is the hash of null, whose code is -1


def _of_texts(texts: pyarrow.Array) -> Bits:
    """A hash per string: its bytes, each times a factor of its position."""
    if not len(texts):
        return np.empty(0, dtype=np.uint64)
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    sizes = np.diff(ends)
    out = mixed(sizes.astype(np.uint64))
    if sizes.any():
        letters = np.frombuffer(data, dtype=np.uint8)[ends[0] : ends[-1]].astype(np.uint64)
        places = np.arange(len(letters)) - np.repeat(ends[:-1] - ends[0], sizes)
        letters *= (mixed(np.arange(sizes.max(), dtype=np.uint64)) | np.uint64(1))[places]
        filled = sizes > 0  # a sum over nothing would be the next text's first byte
        out[filled] += np.add.reduceat(letters, (ends[:-1] - ends[0])[filled])
    return mixed(out)


def comparable(column: pyarrow.Array) -> NDArray[np.integer[Any]]:
    """Integers in the order of the values of a plain Arrow column."""
    import pyarrow.compute as pc
    from pyarrow import types

    kind = column.type
    if types.is_temporal(kind):
        column = column.view(f"int{kind.bit_width}")
    elif not is_number(kind):
        with convertible("a column"):
            return pc.rank(column, tiebreaker="dense").to_numpy(zero_copy_only=False)
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype.kind == "f":
        bits = (values.astype(np.float64) + 0.0).view(np.int64)
        values = bits ^ ((bits >> 63) & np.int64(2**63 - 1))  # as the floats are ordered
    return values


def from_zero(values: NDArray[np.integer[Any]]) -> Bits:
    """Differences from the lowest integer, in 64 bits."""
    wide = values.astype(np.uint64 if values.dtype.kind == "u" else np.int64, copy=False).view(np.uint64)
    return wide - np.uint64(int(values.min()) % 2**64)


def codes(column: pyarrow.Array) -> Groups:
    """A small code per id, and the number of codes, some of which may be unused."""
    from pyarrow import types

    if types.is_integer(column.type):
        values = column.to_numpy(zero_copy_only=False)
        lowest, highest, room = int(values.min()), int(values.max()), 2 * len(values) + 1000
        if lowest >= 0 and highest < room:  # new memory would cost more than the work itself
            return values.astype(np.int64, copy=False), highest + 1
        if highest - lowest < room:
            return from_zero(values).view(np.int64), highest - lowest + 1
    ids, number = encoded(column)
    return number, len(ids)
