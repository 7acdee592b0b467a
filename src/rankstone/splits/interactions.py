"""Interactions (users, items and times of a frame), and the result of a split with its report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import date, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankstone.align.alignment import Bools, Ints
from rankstone.data.arrow import (
    Frame,
    Kind,
    as_column,
    check_not_spark,
    convertible,
    is_a,
    is_lazy,
    is_number,
    is_pandas,
    one_piece,
    plain,
    take,
)
from rankstone.data.columns import Columns
from rankstone.data.roles import ROLES, check_roles, find_all, need
from rankstone.errors import InputError, InputTypeError, show
from rankstone.results.answer import Answer, aligned
from rankstone.splits.sampling import Bits, Groups, Key, blocks, codes, comparable, content, dealt, draw_lots, from_zero

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True)
class Report:
    """Counts of a split: sizes, dropped rows, cold starts and temporal leakage.

    Attributes
    ----------
    how : str
        The strategy in words.
    rows : int
        Rows of the input.
    train_rows, test_rows : int
        Rows of the two sets.
    dropped_rows, dropped_users : int
        Users with fewer rows than the minimum, and their rows.
    train_users, test_users, train_items, test_items : int
        Distinct users and items per set.
    unseen_users, unseen_user_rows : int
        Users of the test set without a row in training, and their test rows.
    unseen_items, unseen_item_rows : int
        Items of the test set without a row in training, and their test rows.
    later_rows : int or None
        Training rows after the first test row; None without times.
    own_later_rows : int or None
        Training rows after the first test row of the same user.
    untimed_rows : int or None
        Rows without a time, which the two counts above leave out.
    """

    how: str
    rows: int
    train_rows: int
    test_rows: int
    dropped_rows: int
    dropped_users: int
    train_users: int
    test_users: int
    train_items: int
    test_items: int
    unseen_users: int
    unseen_user_rows: int
    unseen_items: int
    unseen_item_rows: int
    later_rows: int | None
    own_later_rows: int | None
    untimed_rows: int | None

    def to_dict(self) -> dict[str, Any]:
        """All counts by name."""
        return asdict(self)

    def __str__(self) -> str:
        table = aligned(self._lines(), "<><")
        return "\n".join([f"{self.how}; {self.rows:,} rows", *(f"  {line}" for line in table)])

    def _repr_html_(self) -> str:
        title = f"{self.how}; {self.rows:,} rows"
        return Answer([["part", "rows", ""], *self._lines()], title, align="<><").render("html")

    def _lines(self) -> list[list[str]]:
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
        return [[name, f"{count:,}", more] for name, count, more in lines]


@dataclass(frozen=True, eq=False)
class Split:
    """A training set and a test set, frames of the library of the input; `train, test = split` unpacks them.

    Attributes
    ----------
    train, test : frame
        Rows of the two sets, in the order of the input.
    dropped : frame
        Rows in neither set, of users with too few rows.
    report : Report
        Counts of the split.
    """

    train: Frame
    test: Frame
    dropped: Frame
    report: Report

    def __iter__(self) -> Iterator[Frame]:
        return iter((self.train, self.test))

    def __repr__(self) -> str:
        return f"<Split: {self.report.train_rows:,} rows to train on, {self.report.test_rows:,} to test on>"

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


Time = float | str | date | datetime | np.datetime64  # 1577836800, "2020-01-01", datetime(2020, 1, 1)


def checked_count(name: str, count: object) -> int:
    """The count as an int, if it is a whole number from 1."""
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or not 1 <= count < 2**63:
        raise InputError(f"{name} is {show(count)}; it must be a whole number from 1")
    return int(count)


class Interactions:
    """The rows of a frame, without users who have fewer than `minimum`."""

    def __init__(self, frame: Frame, columns: Mapping[str, str] | None, minimum: int) -> None:
        self.frame = _frame(frame)
        role_map = columns or {}
        check_roles(role_map, ROLES["interactions"])
        self.names = find_all(_column_names(self.frame), ROLES["interactions"], "frame", role_map, optional=("time",))
        if len(self.frame) == 0:
            raise InputError("the frame has no rows")
        self.place: Ints | None = None  # of each row in the input frame; None: the same
        self.columns = {role: _column(self.frame, name) for role, name in self.names.items()}
        for role in ("query", "item"):
            self._check_null(role)
        self.users = codes(self.columns["query"])
        self.sizes = np.bincount(self.users[0], minlength=self.users[1])
        few = self.sizes < checked_count("minimum", minimum)
        self.rows = len(self.frame)
        self.dropped_rows, self.dropped_users = int(self.sizes[few].sum()), int(np.count_nonzero(self.sizes[few]))
        keep = ~few[self.users[0]] if self.dropped_rows else None
        none = np.zeros(0, dtype=np.int64)
        self.dropped = _taken(self.frame, none) if keep is None else _filtered(self.frame, ~keep)
        if self.dropped_rows == self.rows:
            raise InputError(f"no user has {minimum} rows; the largest number is {self.sizes.max()}")
        if keep is not None:
            self.frame = _filtered(self.frame, keep)
            self.columns = {role: _column(self.frame, name) for role, name in self.names.items()}
            self.users = self.users[0][keep], self.users[1]
            self.sizes[few] = 0
            self.place = np.flatnonzero(keep)

    def __len__(self) -> int:
        return self.rows - self.dropped_rows

    @property
    def user_count(self) -> int:
        return int(np.count_nonzero(self.sizes))

    @property
    def alone(self) -> Groups:
        """All rows as one group."""
        return np.zeros(len(self), dtype=np.int64), 1

    # Keys to select rows by.

    def at_random(self, seed: int) -> list[Key]:
        lots = draw_lots([content(column) for column in self.columns.values()], seed)
        return [_as_key(lots), self._item, self._others]

    def by_time(self) -> list[Key]:
        self._time_column()
        times, _ = self._times
        return [_as_key(from_zero(times)), self._item, self._others]

    def dealt_users(self, seed: int, k: int) -> NDArray[np.int32]:
        """The fold of each row, where users are dealt out with all their rows."""
        code, count = self.users
        first = np.empty(count, dtype=np.int64)
        first[code[::-1]] = np.arange(len(code))[::-1]
        present = np.flatnonzero(self.sizes)
        who = take(self.columns["query"], first[present])
        lots, order = draw_lots([content(who)], seed), from_zero(comparable(who))

        part = np.zeros(count, dtype=np.int32)
        alone = np.zeros(len(present), dtype=np.int64), 1
        part[present] = dealt(alone, [_as_key(lots), _as_key(order)], k)
        return part[code]

    def _item(self, rows: Any) -> Bits:
        return from_zero(comparable(take(self.columns["item"], rows)))

    def _others(self, rows: Any) -> Bits:
        """Hash of the other columns of the rows."""
        few = _taken(self.frame, rows)
        others = [content(_column(few, name)) for name in _column_names(few) if name not in self.names.values()]
        return draw_lots(others, 0) if others else np.zeros(len(rows), dtype=np.uint64)

    # Times.

    def _time_column(self) -> pyarrow.Array:
        """The time column, without nulls."""
        if "time" not in self.columns:
            need(_column_names(self.frame), "time", "frame", {})  # raises with the usual names
        column = self.columns["time"]
        if not _is_time(column.type):
            kind = str(column.type).removeprefix("large_")
            raise InputTypeError(f"column {self.names['time']!r} holds {kind}, not numbers or times")
        self._check_null("time")
        return column

    def since(self, time: Time) -> Bools:
        """Which rows are at or after a point in time."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column = self._time_column()
        name, kind = self.names["time"], column.type
        with convertible(f"the time {time!r}"):
            cut = pa.array(np.array([time]))[0] if isinstance(time, np.datetime64) else pa.scalar(time)
        if is_number(kind) != is_number(cut.type):
            raise InputTypeError(f"column {name!r} holds {kind}; {time!r} cannot be compared with it")
        try:
            later = pc.greater_equal(column, cut.cast(kind) if isinstance(time, str) else cut)
        except pa.ArrowException as error:
            raise InputTypeError(
                f"column {name!r} holds {kind}; {time!r} cannot be compared with it: {error}"
            ) from None
        return later.to_numpy(zero_copy_only=False)

    def span(self) -> tuple[Any, Any]:
        import pyarrow.compute as pc

        ends = pc.min_max(self.columns["time"]).as_py()
        return ends["min"], ends["max"]

    def _check_null(self, role: str) -> None:
        missing = _missing(self.columns[role])
        if missing is None:
            return
        row, name = int(np.argmax(missing)), self.names[role]
        who = "" if role == "query" else f" (user {self.columns['query'][row].as_py()!r})"
        more = f", and {missing.sum() - 1:,} more" if missing.sum() > 1 else ""
        what = "user" if role == "query" else role
        place = row if self.place is None else self.place[row]
        raise InputError(f"row {place}{who} has no {what} in column {name!r}{more}; rows are counted from 0")

    # The result.

    def split(self, test: Bools, how: str) -> Split:
        return Split(_filtered(self.frame, ~test), _filtered(self.frame, test), self.dropped, self._report(test, how))

    def _report(self, test: Bools, how: str) -> Report:
        at = np.flatnonzero(test)
        tested = len(at)
        users, items = _parts(self.users, self.sizes, at), _parts(self.items, self.item_sizes, at)
        timed = "time" in self.columns and _is_time(self.columns["time"].type)
        times: tuple[int | None, ...] = self._later(at) if timed else (None, None, None)
        return Report(
            how, self.rows, len(test) - tested, tested, self.dropped_rows, self.dropped_users,
            users[0], users[1], items[0], items[1], users[2], users[3], items[2], items[3], *times,
        )  # fmt: skip

    @cached_property
    def items(self) -> Groups:
        return codes(self.columns["item"])

    @cached_property
    def item_sizes(self) -> Ints:
        return np.bincount(self.items[0], minlength=self.items[1])

    @cached_property
    def _times(self) -> tuple[NDArray[np.integer[Any]], Bools | None]:
        """Integers in the order of the times, the lowest for rows without one; and which rows have one (None: all)."""
        column = self.columns["time"]
        missing = _missing(column)
        if missing is None:
            return comparable(column), None
        times = np.zeros(len(column), dtype=np.uint64)
        if not missing.all():
            times[~missing] = from_zero(comparable(take(column, np.flatnonzero(~missing)))) + np.uint64(1)
        return times, ~missing

    def _later(self, tested: Ints) -> tuple[int, int, int]:
        times, timed = self._times
        untimed = 0 if timed is None else int((~timed).sum())
        tested = tested if timed is None else tested[timed[tested]]
        if not tested.size:
            return 0, 0, untimed
        tested_times, tested_users = times[tested], self.users[0][tested]
        cut = tested_times.min()
        first = np.full(self.users[1], np.iinfo(times.dtype).max, dtype=times.dtype)
        np.minimum.at(first, tested_users, tested_times)
        # Count all rows, minus those of the test set.
        later = -int(np.count_nonzero(tested_times > cut))
        own = -int(np.count_nonzero(tested_times > first[tested_users]))
        for block in blocks(len(times)):
            later += int(np.count_nonzero(times[block] > cut))
            own += int(np.count_nonzero(times[block] > first[self.users[0][block]]))
        return later, own, untimed


def _as_key(numbers: Bits) -> Key:
    """Numbers of all rows as a key."""
    return lambda rows: numbers if rows is None else numbers[rows]


def _parts(coded: Groups, sizes: Ints, test: Ints) -> tuple[int, int, int, int]:
    """Distinct ids in training, in the test set, and only in the test set; and the test rows of the latter."""
    tested = np.bincount(coded[0][test], minlength=coded[1])
    unseen = (tested > 0) & (tested == sizes)
    return (
        int(np.count_nonzero(sizes > tested)),
        int(np.count_nonzero(tested)),
        int(np.count_nonzero(unseen)),
        int(tested[unseen].sum()),
    )


def _is_time(kind: Kind) -> bool:
    from pyarrow import types

    return types.is_temporal(kind) or is_number(kind)


def _missing(column: pyarrow.Array) -> Bools | None:
    """Which rows are null or NaN; None if none is."""
    import pyarrow.compute as pc
    from pyarrow import types

    if not column.null_count and not types.is_floating(column.type):
        return None
    missing = pc.is_null(column, nan_is_null=True).to_numpy(zero_copy_only=False)
    return missing if missing.any() else None


# -- frames --------------------------------------------------------------------------------------------------


def _frame(frame: Frame) -> Frame:
    import pyarrow as pa

    check_not_spark(frame)
    if isinstance(frame, Columns):
        roles = ("query", "item", "grade", "score")
        return pa.table({role: plain(values) for role in roles if (values := getattr(frame, role)) is not None})
    frame = frame.collect() if is_lazy(frame) else frame
    if is_pandas(frame) or is_a(frame, "polars", "DataFrame") or isinstance(frame, (pa.Table, pa.RecordBatch)):
        return frame
    if type(frame).__module__.startswith("pyspark."):
        raise InputTypeError("a Spark table cannot be split; pass frame.toPandas() or frame.toArrow()")
    if hasattr(frame, "__arrow_c_stream__"):
        return pa.table(frame)
    raise InputTypeError(f"expected a frame of pandas, polars or Arrow, got {type(frame).__name__}")


def _column_names(frame: Frame) -> list[str]:
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def _column(frame: Frame, name: str) -> pyarrow.Array:
    """A column as a plain Arrow array in one piece."""
    import pyarrow as pa

    if not is_pandas(frame):
        return plain(as_column(name, frame[name]))
    with convertible(f"column {name!r}"):
        return plain(one_piece(pa.Array.from_pandas(frame[name])))


def _filtered(frame: Frame, keep: Bools) -> Frame:
    return frame[keep] if is_pandas(frame) else frame.filter(keep)


def _taken(frame: Frame, rows: Ints) -> Frame:
    if is_pandas(frame):
        return frame.iloc[rows]
    return frame.take(rows) if hasattr(frame, "take") else frame[rows]
