"""Integer codes for ids, and fast operations on them: pairs as one number, order, lookup."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankstone.data.annotations import consecutive
from rankstone.data.arrow import Column, Places, encoded, is_whole, pc, plain, plain_ids, pyarrow, take
from rankstone.errors import Advice, Hint, InputError, InputTypeError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Keys = Ints
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


def among(keys: Keys, members: Keys) -> NDArray[np.bool_]:
    """Which keys are members. Usually few are, and a hash table rules out most of the others."""
    bits = min(len(members).bit_length() + 4, 25)
    table = np.zeros(1 << bits, dtype=bool)
    table[_hashed(members, bits)] = True
    inside = table[_hashed(keys, bits)]
    candidates = np.flatnonzero(inside)
    if len(candidates):
        members, wanted = np.sort(members), keys[candidates]
        inside[candidates] = members[np.minimum(np.searchsorted(members, wanted), len(members) - 1)] == wanted
    return inside


def _hashed(keys: Keys, bits: int) -> Keys:
    spread = keys.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)  # 2 ** 64 over the golden ratio
    spread >>= np.uint64(64 - bits)
    return spread.view(np.int64)


def order_of(counts: Places) -> Keys:
    """The order of some numbers from the least, equal ones as they stand; by counting where they are small."""
    if np.issubdtype(counts.dtype, np.integer) and int(counts.max(initial=0)) < 1 << 16:
        return np.argsort(counts.astype(np.uint16), kind="stable")
    return np.argsort(counts, kind="stable")


class IdEncoder:
    """Integer codes for ids, from 0 in order of addition."""

    def __init__(self) -> None:
        self.ids: list[Column] = []
        self.count = 0
        self._tables: list[Any] = []

    def add(self, column: Column, what: str, *, distinct: bool = False) -> NDArray[Any]:
        """The codes of the ids of a column; new ids get the next codes. distinct: a duplicate is an error."""
        column = _whole_numbers(column)
        codes = self.find(column, what)
        fresh = codes < 0
        if fresh.any():
            every = bool(fresh.all())
            new = column if every else take(column, np.flatnonzero(fresh))
            words, at = _unique(new)
            if distinct and len(words) < len(new):
                twice = plain_ids(words, np.array([np.bincount(at).argmax()]))[0]
                text = f"item {twice!r} is in the {what} twice; pass its distinct items, or past interactions as "
                raise InputError(Advice(text, Hint("history")))
            at += self.count
            if every:
                codes = at
            else:
                codes[fresh] = at
            self._tables.append(_Lookup(words, self.count))
            self.ids.append(words)
            self.count += len(words)
        return codes

    def find(self, column: Column, what: str) -> NDArray[Any]:
        """The codes of the ids of a column, -1 for unknown ids."""
        column = _whole_numbers(column)
        codes = np.full(len(column), -1, dtype=np.int32)
        for table in self._tables:
            check_same_kind(column, table.words, what)
            table.fill(column, codes)
        return codes

    def order(self, count: int) -> NDArray[Any]:
        """The first `count` codes, in the order of their ids."""
        ids = [one for words in self.ids for one in plain_ids(words)][:count]
        return np.array(sorted(range(count), key=ids.__getitem__), dtype=np.int64)

    def name(self, code: int) -> Any:
        """The id of a number."""
        for words in self.ids:
            if code < len(words):
                return plain_ids(words, np.array([code]))[0]
            code -= len(words)
        raise IndexError(code)


def check_same_kind(column: Column, others: Column, what: str) -> None:
    """Raise if ids are integers on one side and strings on the other."""
    if len(column) and len(others) and is_whole(others) != is_whole(column):
        kinds = ["integers" if is_whole(side) else "strings" for side in (column, others)]
        raise InputTypeError(f"{what} items are {kinds[0]} but others are {kinds[1]}; write them alike")


def _whole_numbers(column: Column) -> Column:
    """Ids that are whole numbers as an array of these."""
    if not isinstance(column, np.ndarray) and is_whole(column):
        column = plain(column).to_numpy(zero_copy_only=False)
    if isinstance(column, np.ndarray) and column.dtype.kind in "iu" and column.dtype.itemsize < 4:
        return column.astype(np.int32)  # or the difference of two may not fit
    return column


def _unique(column: Column) -> tuple[Column, NDArray[Any]]:
    """The ids that occur, in the order of their first row, and the number of each row's."""
    if isinstance(column, np.ndarray) and len(column):
        if consecutive(column):
            return column, np.arange(len(column), dtype=np.int32)
        low, high = int(column.min()), int(column.max())
        if high - low < 4 * len(column) + (1 << 16):  # a table of all that could be is small
            table = np.full(high - low + 1, -1, dtype=np.int32)
            table[column[::-1] - low] = np.arange(len(column) - 1, -1, -1, dtype=np.int32)
            rows = np.sort(table[table >= 0])  # the first of each id
            if len(rows) == len(column):
                return column, np.arange(len(column), dtype=np.int32)
            table[column[rows] - low] = np.arange(len(rows), dtype=np.int32)
            return column[rows], table[column - low]
    words, codes = encoded(column)
    return words.to_numpy() if isinstance(column, np.ndarray) else words, codes.astype(np.int32)


class _Lookup:
    """Looks up the codes of ids."""

    def __init__(self, words: Column, base: int) -> None:
        self.words, self.base = words, base
        self.table: NDArray[np.int32] | None = None
        self.in_order = False  # ids that are numbers already, but for where they start
        if isinstance(words, np.ndarray) and len(words):
            self.low, self.high = int(words.min()), int(words.max())
            if consecutive(words):
                self.in_order = True
            elif self.high - self.low < 4 * len(words) + (1 << 16):
                self.table = np.full(self.high - self.low + 1, -1, dtype=np.int32)
                self.table[words - self.low] = np.arange(len(words), dtype=np.int32)

    def fill(self, column: Column, codes: NDArray[Any]) -> None:
        """Fill in the codes of the ids in this table where there is none."""
        if not len(column):
            return
        if self.in_order and isinstance(column, np.ndarray):
            inside_table = (column >= self.low) & (column <= self.high) & (codes < 0)
            np.subtract(column, self.low - self.base, out=codes, where=inside_table, dtype=np.int64, casting="unsafe")
            return
        if self.table is not None and isinstance(column, np.ndarray):
            inside = (column >= self.low) & (column <= self.high)
            if inside.all():
                at = self.table[column - self.low]
                inside_table = at >= 0
            else:
                at = self.table[np.where(inside, column - self.low, 0)]
                inside_table = inside & (at >= 0)
        else:
            words = plain(self.words)
            values: pyarrow.Array = plain(column).cast(words.type)
            at = pc.fill_null(pc.index_in(values, value_set=words), -1).to_numpy(zero_copy_only=False)
            inside_table = at >= 0
        np.copyto(codes, at + np.int32(self.base), where=inside_table & (codes < 0), casting="same_kind")
