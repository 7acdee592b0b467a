"""Interactions in two parts, to train on and to test on: `rs.split.last(frame)`, `rs.split.random(frame, 0.2, seed=1)`.

A row's lot is drawn from what it holds (user, item and time) and from the seed, never from where it stands, so the same
rows in another order are split alike. Rows that draw the same, or have the same time, are told apart by the item,
then by their other columns; rows alike in every column may take each other's place.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from rankstone.inputs.roles import ROLES, find_all, need, refuse_unknown

Key = Callable[[Any], Any]  # of some rows, or of all for None: uint64, to order them by


@dataclass(frozen=True)
class Report:
    """What a split made of the rows, and what the training part knows of the test."""

    how: str
    rows: int
    train_rows: int
    test_rows: int
    dropped_rows: int  # of users with fewer rows than the minimum
    dropped_users: int
    train_users: int
    test_users: int
    train_items: int
    test_items: int
    unseen_users: int  # in the test, and not in training
    unseen_user_rows: int  # of the test
    unseen_items: int
    unseen_item_rows: int
    later_rows: int | None  # of training, after the first row of the test; None if there are no times
    own_later_rows: int | None  # of training, after the first row of the same user in the test
    untimed_rows: int | None  # rows without a time, which are not looked at for these two

    def to_dict(self) -> dict[str, Any]:
        """The same by name."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [
            ("training", self.train_rows, f"{self.train_users:,} users, {self.train_items:,} items"),
            ("test", self.test_rows, f"{self.test_users:,} users, {self.test_items:,} items"),
            ("dropped", self.dropped_rows, f"{self.dropped_users:,} users with too few rows"),
            ("test, user not in training", self.unseen_user_rows, f"{self.unseen_users:,} users"),
            ("test, item not in training", self.unseen_item_rows, f"{self.unseen_items:,} items"),
        ]
        if self.later_rows is not None and self.own_later_rows is not None:
            lines += [
                ("training, after the first test row", self.later_rows, ""),
                ("training, after the user's first test row", self.own_later_rows, ""),
            ]
        if self.untimed_rows:
            lines.append(("without a time", self.untimed_rows, "not counted as before or after"))
        wide, digits = max(len(name) for name, _, _ in lines), max(len(f"{count:,}") for _, count, _ in lines)
        table = [f"  {name:<{wide}}  {count:>{digits},}  {more}".rstrip() for name, count, more in lines]
        return "\n".join([f"{self.how}; {self.rows:,} rows", *table])


@dataclass(frozen=True, eq=False)
class Split:
    """Frames of the given kind, rows in the given order. `train, test = split` works too."""

    train: Any
    test: Any
    dropped: Any  # rows in neither
    report: Report

    def __iter__(self) -> Iterator[Any]:
        return iter((self.train, self.test))

    def __repr__(self) -> str:
        return f"<Split: {self.report.train_rows:,} rows to train on, {self.report.test_rows:,} to test on>"


def random(
    frame: Any, share: float = 0.2, *, seed: int = 0, minimum: int = 1, columns: Mapping[str, str] | None = None
) -> Split:
    """A share of all rows for the test, drawn at random."""
    data = _Interactions(frame, columns, minimum)
    count = round(_checked_share(share) * len(data))
    if not 0 < count < len(data):
        raise ValueError(f"a share of {share} of {len(data)} rows leaves a part empty")
    test = _highest(data.alone, np.array([count]), data.at_random(seed))
    return data.split(test, f"a share of {share} of all rows at random, seed {seed}")


def per_user(
    frame: Any,
    *,
    share: float | None = None,
    count: int | None = None,
    by: Literal["random", "time"] = "random",
    seed: int = 0,
    minimum: int = 1,
    columns: Mapping[str, str] | None = None,
) -> Split:
    """A share of each user's rows, or a count of them, for the test: at random or the latest.

    A share is rounded to a whole number of rows. Every user keeps a row to train on: who has too few to give up `count`
    of them gives none.
    """
    if (share is None) == (count is None):
        raise TypeError("give a share or a count, one of them")
    if by not in ("random", "time"):
        raise ValueError(f"by={by!r}; choose 'random' or 'time'")
    data = _Interactions(frame, columns, minimum)
    sizes = data.sizes
    if share is not None:
        take = np.minimum(np.rint(_checked_share(share) * sizes).astype(np.int64), np.maximum(sizes - 1, 0))
        what = f"a share of {share}"
    else:
        number = _checked_count("count", count)
        take = np.where(sizes > number, number, 0)
        what = f"{number:,}"
    if not take.any():
        raise ValueError(f"no user has rows enough to give up {what}; the most that one has is {sizes.max()}")
    if by == "random":
        test = _highest(data.users, take, data.at_random(seed))
        return data.split(test, f"{what} of each user's rows at random, seed {seed}")
    test = _highest(data.users, take, data.by_time())
    return data.split(test, f"the last {what} of each user's rows by time, then by item")


def last(frame: Any, n: int = 1, *, minimum: int = 1, columns: Mapping[str, str] | None = None) -> Split:
    """Each user's last n rows by time for the test; of equal times, the higher item is the later."""
    return per_user(frame, count=n, by="time", minimum=minimum, columns=columns)


def one(frame: Any, *, seed: int = 0, minimum: int = 1, columns: Mapping[str, str] | None = None) -> Split:
    """One row of each user for the test, drawn at random."""
    return per_user(frame, count=1, seed=seed, minimum=minimum, columns=columns)


def at(frame: Any, time: Any, *, minimum: int = 1, columns: Mapping[str, str] | None = None) -> Split:
    """Rows at a point in time or after it for the test, rows before it for training."""
    data = _Interactions(frame, columns, minimum)
    test = data.since(time)
    if not test.any() or test.all():
        first, last = data.span()
        raise ValueError(
            f"no row is {'before' if test.all() else 'at or after'} {time}; they go from {first} to {last}"
        )
    return data.split(test, f"before {time}, and from then on")


def folds(
    frame: Any,
    k: int = 5,
    *,
    by: Literal["row", "user"] = "row",
    seed: int = 0,
    minimum: int = 1,
    columns: Mapping[str, str] | None = None,
) -> Iterator[Split]:
    """k splits, in which each row, or each user with all rows, is tested once, in parts of equal size."""
    if by not in ("row", "user"):
        raise ValueError(f"by={by!r}; choose 'row' or 'user'")
    data = _Interactions(frame, columns, minimum)
    of_row = by == "row"
    number = len(data) if of_row else data.user_count
    if _checked_count("k", k) < 2 or k > number:
        raise ValueError(f"k is {k}; it must be 2 or more, and at most the {number} {by}s there are")
    parts = _dealt(data.alone, data.at_random(seed), k) if of_row else data.dealt_users(seed, k)
    how = f"of {k} by {by} at random, seed {seed}"
    return (data.split(parts == fold, f"fold {fold + 1} {how}") for fold in range(k))


def _checked_share(share: float) -> float:
    if not 0 < share < 1:
        raise ValueError(f"share is {share}; it must be between 0 and 1")
    return float(share)


def _checked_count(name: str, count: Any) -> int:
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
        raise ValueError(f"{name} is {count!r}; it must be a whole number from 1")
    return int(count)


# -- choosing rows -------------------------------------------------------------------------------------------


def _highest(groups: tuple[Any, int], take: Any, keys: list[Key]) -> Any:
    """Marks the `take` rows of each group that have the highest keys. The next key decides between equal ones.

    Only values are sorted, group and key in one number, to find each group's lowest key that is taken. The next key
    is asked for the rows that have this one, where not all of them are taken.
    """
    group, count = groups
    chosen = np.zeros(len(group), dtype=bool)
    rows = left = None  # rows that are still to be decided, None for all; what is left of their key
    waiting = iter([*keys, _position])
    while True:
        key = next(waiting)(rows) if left is None else left
        joined, spare = _joined(group, count, key)
        ordered = np.sort(joined)
        ends = np.bincount(group, minlength=count).cumsum()
        asked = np.flatnonzero(take)
        at = ends[asked] - take[asked]
        lowest = np.full(count, np.iinfo(np.uint64).max, dtype=np.uint64)
        lowest[asked] = ordered[at]
        torn = np.ones(count, dtype=bool)  # not all of the lowest are taken; none is, where nothing is asked for
        torn[asked] = (at > 0) & (ordered[at - 1] == ordered[at])
        sure = np.empty(len(joined), dtype=bool)
        equal = np.empty(len(joined), dtype=bool)
        for block in _blocks(len(joined)):
            limit = lowest[group[block]]
            np.greater(joined[block], limit, out=sure[block])
            np.equal(joined[block], limit, out=equal[block])
        equal = np.flatnonzero(equal)
        sure[equal] = ~torn[group[equal]]
        chosen[slice(None) if rows is None else rows] = sure
        again = asked[torn[asked]]
        if not again.size:
            return chosen
        rest = np.zeros_like(take)
        rest[again] = take[again] - (ends[again] - np.searchsorted(ordered, lowest[again], "right"))
        equal = equal[torn[group[equal]]]
        left = key[equal] & np.uint64(2**spare - 1) if spare else None
        rows, group, take = equal if rows is None else rows[equal], group[equal], rest


def _blocks(rows: int) -> Iterator[slice]:
    """Some rows at a time, so that what is made of them stays in the cache."""
    size = 1 << 15
    return (slice(begin, begin + size) for begin in range(0, rows, size))


def _position(rows: Any) -> Any:
    return rows.astype(np.uint64)


def _joined(group: Any, count: int, key: Any) -> tuple[Any, int]:
    """Group and key in one number of 64 bits, and how many low bits of the key found no room."""
    for_group, for_key = (count - 1).bit_length(), int(key.max()).bit_length()
    spare = max(for_group + for_key - 64, 0)
    joined = key >> np.uint64(spare) if spare else key
    return (joined | (group.astype(np.uint64) << np.uint64(for_key - spare)) if for_group else joined), spare


def _dealt(alone: tuple[Any, int], keys: list[Key], k: int) -> Any:
    """A part from 0 to k - 1 for each row, drawn by the keys; parts are equal, but for one row."""
    rows = len(alone[0])
    part = np.zeros(rows, dtype=np.int32)
    for one in range(1, k):  # the rows above each bound move up by one
        part += _highest(alone, np.array([one * rows // k]), keys)
    return part


# -- lots ----------------------------------------------------------------------------------------------------

_NULL = np.uint64(0x9AE16A3B2F90404F)


def _mixed(x: Any) -> Any:
    """Every bit of x depends on every other (the finalizer of SplitMix64); in place."""
    x += np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def _lots(columns: list[Any], seed: int) -> Any:
    """A number for each row, drawn by what the columns hold."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise TypeError(f"the seed is {seed!r}; it must be a whole number")
    out = np.empty(len(columns[0]), dtype=np.uint64)
    start = _mixed(np.array([int(seed) % 2**64], dtype=np.uint64))
    for block in _blocks(len(out)):
        out[block] = start
        for column in columns:
            out[block] += column[block]
            _mixed(out[block])
    return out


def _content(column: Any) -> Any:
    """A number of 64 bits for what each row of an Arrow column holds; equal values have equal numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    column = _plain(column)
    kind = column.type
    if types.is_timestamp(kind) or types.is_date(kind):  # the same moment in any unit
        column, kind = pc.cast(column, pa.timestamp("us"), safe=False).cast(pa.int64()), pa.int64()
    elif types.is_temporal(kind):
        column, kind = column.view(f"int{kind.bit_width}"), pa.int64()
    if types.is_boolean(kind):
        column = column.cast(pa.int8())
    if _is_number(kind) or types.is_boolean(kind):
        values = (pc.fill_null(column, 0) if column.null_count else column).to_numpy(zero_copy_only=False)
        if values.dtype.kind == "f":
            values = values.astype(np.float64) + 0.0  # -0.0 is 0.0
            bits = np.where(np.isnan(values), np.nan, values).view(np.uint64)
        else:
            bits = values.astype(np.int64, copy=False).view(np.uint64)
        return np.where(column.is_valid().to_numpy(zero_copy_only=False), bits, _NULL) if column.null_count else bits
    if not (types.is_large_string(kind) or types.is_large_binary(kind)):
        column = pa.array([None if value is None else repr(value) for value in column.to_pylist()], pa.large_string())
    coded = column.dictionary_encode()
    known = np.append(_of_texts(coded.dictionary), _NULL)
    return known[pc.fill_null(coded.indices, len(known) - 1).to_numpy(zero_copy_only=False)]


def _of_texts(texts: Any) -> Any:
    """A number for each text: its bytes, each times a factor of its place."""
    if not len(texts):
        return np.empty(0, dtype=np.uint64)
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    sizes = np.diff(ends)
    out = _mixed(sizes.astype(np.uint64))
    if sizes.any():
        letters = np.frombuffer(data, dtype=np.uint8)[ends[0] : ends[-1]].astype(np.uint64)
        places = np.arange(len(letters)) - np.repeat(ends[:-1] - ends[0], sizes)
        letters *= (_mixed(np.arange(sizes.max(), dtype=np.uint64)) | np.uint64(1))[places]
        filled = sizes > 0  # a sum over nothing would be the next text's first byte
        out[filled] += np.add.reduceat(letters, (ends[:-1] - ends[0])[filled])
    return _mixed(out)


def _order(column: Any) -> Any:
    """Numbers of 64 bits in the order of an Arrow column's values, from 0."""
    import pyarrow.compute as pc
    from pyarrow import types

    kind = column.type
    if types.is_temporal(kind):
        column = column.view(f"int{kind.bit_width}")
    elif not _is_number(kind):
        return pc.rank(_plain(column), tiebreaker="dense").to_numpy(zero_copy_only=False)
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype.kind == "f":
        bits = (values.astype(np.float64) + 0.0).view(np.int64)
        values = bits ^ ((bits >> 63) & np.int64(2**63 - 1))  # as the floats are ordered
    return _from_zero(values)


def _from_zero(values: Any) -> Any:
    """How far each whole number is above the lowest, in 64 bits."""
    wide = values.astype(np.uint64 if values.dtype.kind == "u" else np.int64, copy=False).view(np.uint64)
    return wide - wide[values.argmin()]


def _plain(column: Any) -> Any:
    """The column without what only concerns its storage: dictionaries, views, short offsets."""
    import pyarrow as pa
    from pyarrow import types

    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if types.is_dictionary(column.type):
        return _plain(column.dictionary).take(column.indices)
    if str(column.type) in ("string", "string_view"):
        return column.cast(pa.large_string())
    if str(column.type) in ("binary", "binary_view") or types.is_fixed_size_binary(column.type):
        return column.cast(pa.large_binary())
    return column


def _codes(column: Any) -> tuple[Any, int]:
    """A small number for each id, and how many such numbers there are; some may be nobody's."""
    from pyarrow import types

    column = _plain(column)
    if types.is_integer(column.type):
        values = column.to_numpy(zero_copy_only=False)
        lowest, highest = int(values.min()), int(values.max())
        if highest - lowest < 2 * len(values) + 1000:
            return _from_zero(values).view(np.int64), highest - lowest + 1
    coded = column.dictionary_encode()
    return coded.indices.to_numpy(zero_copy_only=False).astype(np.int64), len(coded.dictionary)


# -- frames --------------------------------------------------------------------------------------------------


class _Interactions:
    """A frame's rows, without those of users who have fewer than the minimum."""

    def __init__(self, frame: Any, columns: Mapping[str, str] | None, minimum: int) -> None:
        self.frame = _frame(frame)
        given = columns or {}
        refuse_unknown(given, ROLES["interactions"])
        self.names = find_all(_column_names(self.frame), ROLES["interactions"], "frame", given, optional=("time",))
        if len(self.frame) == 0:
            raise ValueError("the frame has no rows")
        self.place: Any = None  # of each row in the given frame, None for the same
        self.columns = {role: _column(self.frame, name) for role, name in self.names.items()}
        for role in ("query", "item"):
            self._refuse_null(role)
        self.users = _codes(self.columns["query"])
        self.sizes = np.bincount(self.users[0], minlength=self.users[1])
        few = self.sizes < _checked_count("minimum", minimum)
        self.rows = len(self.frame)
        self.dropped_rows, self.dropped_users = int(self.sizes[few].sum()), int(np.count_nonzero(self.sizes[few]))
        out = few[self.users[0]] if self.dropped_rows else np.zeros(self.rows, dtype=bool)
        self.dropped = _filtered(self.frame, out)
        if self.dropped_rows == self.rows:
            raise ValueError(f"no user has {minimum} rows; the most that one has is {self.sizes.max()}")
        if self.dropped_rows:
            self.frame = _filtered(self.frame, ~out)
            self.columns = {role: _column(self.frame, name) for role, name in self.names.items()}
            self.users = self.users[0][~out], self.users[1]
            self.sizes[few] = 0
            self.place = np.flatnonzero(~out)

    def __len__(self) -> int:
        return self.rows - self.dropped_rows

    @property
    def user_count(self) -> int:
        return int(np.count_nonzero(self.sizes))

    @property
    def alone(self) -> tuple[Any, int]:
        """All rows as one group."""
        return np.zeros(len(self), dtype=np.int64), 1

    # Keys to choose by.

    def at_random(self, seed: int) -> list[Key]:
        lots = _lots([_content(column) for column in self.columns.values()], seed)
        return [lambda rows: lots if rows is None else lots[rows], self._item, self._others]

    def by_time(self) -> list[Key]:
        self._time_column()
        times, _ = self._known_times
        return [lambda rows: times if rows is None else times[rows], self._item, self._others]

    def dealt_users(self, seed: int, k: int) -> Any:
        """The part of each row if users are dealt out with all their rows."""
        code, count = self.users
        first = np.empty(count, dtype=np.int64)
        first[code[::-1]] = np.arange(len(code))[::-1]
        present = np.flatnonzero(self.sizes)
        who = self.columns["query"].take(_arrow_array(first[present]))
        lots, order = _lots([_content(who)], seed), _order(who)

        def drawn(rows: Any) -> Any:
            return lots if rows is None else lots[rows]

        part = np.zeros(count, dtype=np.int32)
        alone = np.zeros(len(present), dtype=np.int64), 1
        part[present] = _dealt(alone, [drawn, lambda rows: order[rows]], k)
        return part[code]

    def _item(self, rows: Any) -> Any:
        return _order(self.columns["item"].take(_arrow_array(rows)))

    def _others(self, rows: Any) -> Any:
        """The content of the rows' other columns."""
        few = _taken(self.frame, rows)
        others = [_content(_column(few, name)) for name in _column_names(few) if name not in self.names.values()]
        return _lots(others, 0) if others else np.zeros(len(rows), dtype=np.uint64)

    # Times.

    def _time_column(self) -> Any:
        """The times, one in each row."""
        if "time" not in self.columns:
            need(_column_names(self.frame), "time", "frame", {})  # says which names were looked for
        column = self.columns["time"]
        if not _is_time(column.type):
            raise TypeError(f"column {self.names['time']!r} holds {column.type}, not numbers or times")
        self._refuse_null("time")
        return column

    def since(self, time: Any) -> Any:
        """Which rows are at a point in time or after it."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column = self._time_column()
        name, kind = self.names["time"], column.type
        cut = pa.array(np.array([time]))[0] if isinstance(time, np.datetime64) else pa.scalar(time)
        if _is_number(kind) != _is_number(cut.type):
            raise TypeError(f"column {name!r} holds {kind}; {time!r} cannot be compared with it")
        try:
            found = pc.greater_equal(column, cut.cast(kind) if isinstance(time, str) else cut)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise TypeError(f"column {name!r} holds {kind}; {time!r} cannot be compared with it: {error}") from None
        return found.to_numpy(zero_copy_only=False)

    def span(self) -> tuple[Any, Any]:
        import pyarrow.compute as pc

        ends = pc.min_max(self.columns["time"]).as_py()
        return ends["min"], ends["max"]

    def _refuse_null(self, role: str) -> None:
        missing = _missing(self.columns[role])
        if missing is None:
            return
        row, name = int(np.argmax(missing)), self.names[role]
        who = "" if role == "query" else f" (user {self.columns['query'][row].as_py()!r})"
        more = f", and {missing.sum() - 1:,} more" if missing.sum() > 1 else ""
        what = "user" if role == "query" else role
        place = row if self.place is None else self.place[row]
        raise ValueError(f"row {place}{who} has no {what} in column {name!r}{more}; rows are counted from 0")

    # The answer.

    def split(self, test: Any, how: str) -> Split:
        train = ~test
        report = self._report(test, how)
        return Split(_filtered(self.frame, train), _filtered(self.frame, test), self.dropped, report)

    def _report(self, test: Any, how: str) -> Report:
        tested = int(test.sum())
        users, items = _parts(self.users, self.sizes, test), _parts(self.items, self.item_sizes, test)
        timed = "time" in self.columns and _is_time(self.columns["time"].type)
        times: tuple[int | None, ...] = self._later(test) if timed else (None, None, None)
        return Report(
            how, self.rows, len(test) - tested, tested, self.dropped_rows, self.dropped_users,
            users[0], users[1], items[0], items[1], users[2], users[3], items[2], items[3], *times,
        )  # fmt: skip

    @cached_property
    def items(self) -> tuple[Any, int]:
        return _codes(self.columns["item"])

    @cached_property
    def item_sizes(self) -> Any:
        return np.bincount(self.items[0], minlength=self.items[1])

    @cached_property
    def _known_times(self) -> tuple[Any, Any]:
        """Numbers in the order of times, 0 where there is none, and which rows have one (None: all)."""

        column = self.columns["time"]
        missing = _missing(column)
        if missing is None:
            return _order(column), None
        times = np.zeros(len(column), dtype=np.uint64)
        if not missing.all():
            times[~missing] = _order(column.filter(_arrow_array(~missing))) + np.uint64(1)
        return times, ~missing

    def _later(self, test: Any) -> tuple[int, int, int]:
        times, known = self._known_times
        untimed = 0 if known is None else int((~known).sum())
        tested = test if known is None else test & known
        if not tested.any():
            return 0, 0, untimed
        tested_times, tested_users = times[tested], self.users[0][tested]
        cut = tested_times.min()
        first = np.full(self.users[1], np.iinfo(np.uint64).max, dtype=np.uint64)
        np.minimum.at(first, tested_users, tested_times)
        later = own = 0
        for block in _blocks(len(times)):
            trained = ~test[block]
            later += int(np.count_nonzero(trained & (times[block] > cut)))
            own += int(np.count_nonzero(trained & (times[block] > first[self.users[0][block]])))
        return later, own, untimed


def _parts(coded: tuple[Any, int], sizes: Any, test: Any) -> tuple[int, int, int, int]:
    """How many of them training has, the test has, only the test has, and in how many rows."""
    tested = np.bincount(coded[0][test], minlength=coded[1])
    unseen = (tested > 0) & (tested == sizes)
    return (
        int(np.count_nonzero(sizes > tested)),
        int(np.count_nonzero(tested)),
        int(np.count_nonzero(unseen)),
        int(tested[unseen].sum()),
    )


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return types.is_integer(kind) or types.is_floating(kind)


def _is_time(kind: Any) -> bool:
    from pyarrow import types

    return types.is_temporal(kind) or _is_number(kind)


def _missing(column: Any) -> Any:
    """Which rows are null or NaN; None if none is."""
    import pyarrow.compute as pc
    from pyarrow import types

    if not column.null_count and not types.is_floating(column.type):
        return None
    missing = pc.is_null(column, nan_is_null=True).to_numpy(zero_copy_only=False)
    return missing if missing.any() else None


# Kinds of frames. Their libraries are never imported here: who has such a frame has them loaded.


def _is_pandas(frame: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(frame, pandas.DataFrame)


def _frame(frame: Any) -> Any:
    import pyarrow as pa

    if _is_pandas(frame) or isinstance(frame, (pa.Table, pa.RecordBatch)):
        return frame
    if type(frame).__module__.startswith("polars."):
        return frame.collect() if type(frame).__name__ == "LazyFrame" else frame
    if hasattr(frame, "__arrow_c_stream__"):
        return pa.table(frame)
    raise TypeError(f"a frame of pandas, polars or Arrow, not {type(frame).__name__}")


def _column_names(frame: Any) -> list[str]:
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def _column(frame: Any, name: str) -> Any:
    """A column as an Arrow array in one piece."""
    import pyarrow as pa

    column = frame[name]
    if _is_pandas(frame):
        try:
            column = pa.Array.from_pandas(column)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise TypeError(f"column {name!r}: {error}") from None
    elif hasattr(column, "to_arrow"):
        column = column.to_arrow()
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _filtered(frame: Any, keep: Any) -> Any:
    return frame[keep] if _is_pandas(frame) else frame.filter(keep)


def _taken(frame: Any, rows: Any) -> Any:
    if _is_pandas(frame):
        return frame.iloc[rows]
    return frame.take(rows) if hasattr(frame, "take") else frame[rows]


def _arrow_array(values: Any) -> Any:
    import pyarrow as pa

    return pa.array(values)
