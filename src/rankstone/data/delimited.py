"""CSV, TSV and text with `::` between fields: read with a header line or without, and written.

Without a header line, two or three columns are query, item, and grade or score; or rank, where a run's third column
counts 1, 2, 3 per query. For more columns, the caller passes positions.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import pyarrow
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv
from pyarrow import types

from rankstone.data.arrow import Column, Places, Table, as_ids, one_piece, text_array, without_nan
from rankstone.data.columns import Columns, as_scores, by_role
from rankstone.data.lines import (
    HEAD,
    LONE_RETURN,
    WRITTEN_ROWS,
    Entry,
    FileRows,
    IrregularError,
    Row,
    RowError,
    TextFile,
    count_lines,
    is_number,
    returns_inside,
    to_id,
    to_number,
)
from rankstone.data.roles import IDS, RoleMap, by_name, by_position, has_positions
from rankstone.errors import Advice, FileError, Hint, NoRowsError

if TYPE_CHECKING:
    from rankstone.align.alignment import Bools, Floats

# The number of its first line, where the next row starts, and its fields or what is wrong with it.
Record = tuple[int, int, "list[str] | RowError"]

_BLOCK = 16 << 20


class Delimited:
    """Reads a file, whole or in chunks; the first chunk determines the roles of the columns."""

    def __init__(self, kind: str, separator: str, role_map: RoleMap, skip: bool = False) -> None:
        self.kind, self.role_map, self.skip = kind, role_map, skip
        self.long = separator.encode() if len(separator) > 1 else b""  # to be a tab
        self.separator = "\t" if self.long else separator
        self.roles: dict[str, int] = {}  # where each column is
        self.names: dict[str, str] = {}  # what each is called, in a file with a header line
        self.width = 0
        self.counts: Counts | None = None  # of what could be scores or ranks

    def __call__(self, text: TextFile) -> Columns:
        """The rows of a truth or a run, one per line."""
        if self.long:
            text = TextFile(text.name, bytes(text.view()).replace(self.long, b"\t"), text.first)
        start, line = (text.start, text.first) if self.roles else self._begin(text)
        if start >= text.end:
            raise NoRowsError(text.name, "has a header line but no rows")
        try:
            rows = _quick(text, start, self.separator, self.width, self.roles)
        except IrregularError:
            rows = self._line_by_line(text, start, line)
        return replace(rows if self.counts is None else self.counts.ordered(rows), names=self.names or self.roles)

    def _line_by_line(self, text: TextFile, start: int, line: int) -> Columns:
        def parse(fields: list[str] | RowError) -> Row:
            if isinstance(fields, RowError):
                raise fields
            if len(fields) != self.width:
                raise RowError(f"expected {self.width} fields, found {len(fields)}")
            return tuple((to_id if role in IDS else to_number)(fields[self.roles[role]], role) for role in order)

        order = sorted(self.roles, key=IDS.__contains__)  # of two errors in a row, report that of the number
        lines = ((number, fields) for number, _, fields in _records(text, self.separator, start, line))
        return FileRows(text.name, self.skip).read(lines, order, parse, lambda words: as_ids(text_array(words)))

    def _begin(self, text: TextFile) -> tuple[int, int]:
        """Where the first row starts, and the number of its line."""
        records = _records(text, self.separator, text.start, text.first)
        record = next(records, None)
        if record is None:
            raise NoRowsError(text.name, line=text.first)
        line, after, first = record
        if isinstance(first, RowError):
            raise FileError(text.name, str(first), line)
        self.width = len(first)
        named = [where for where in self.role_map.values() if where is not None]
        if has_positions(self.role_map) or (not named and is_number(first[-1])):
            self.roles = by_position(self.width, self.kind, self.role_map, text.name, line)
            if not named and "score" in self.roles:
                self.counts = Counts(text.name)
            return text.start, text.first
        below = next(records, (0, 0, []))[2]
        fields = [] if isinstance(below, RowError) else below
        floats = {name for name, field in zip(first, fields, strict=False) if _is_float(field)}
        otherwise = "" if named else _POSITIONS
        self.names = names = by_name(
            first, self.kind, self.role_map, text.name, line, is_float=floats.__contains__, otherwise=otherwise
        )
        self.roles = {role: first.index(name) for role, name in names.items()}
        return after, text.first + text.whole[text.start : after].count(b"\n")


def _is_float(word: str) -> bool:
    return "." in word and is_number(word)


class Counts:
    """Scores or ranks: a run's third column, in a file without a header line.

    Where it counts 1, 2, 3 in each query (or from 0), it is a rank. The first query with several rows decides, and the
    others must agree. Where no query has several, both are the same.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.ranks: bool | None = None  # not yet decided
        self.first: float | None = None  # value of the file

    def ordered(self, rows: Columns) -> Columns:
        """The same rows, with a score by which the best has the highest."""
        if self.ranks is False:
            return rows
        value = np.asarray(rows.score, dtype=np.float64)
        query = pc.dictionary_encode(rows.query).indices.to_numpy()
        by_query = np.argsort(query, kind="stable")
        goes_on = np.diff(query[by_query], prepend=-1) == 0
        before = np.full(len(value), np.nan)
        before[by_query[1:]] = np.where(goes_on[1:], value[by_query[:-1]], np.nan)
        begins = np.isnan(before)
        starts = np.isin(value, (0, 1)) if self.first is None else (value >= 0) & (np.floor(value) == value)
        counts = np.where(begins, starts, value == before + 1)
        if self.ranks is None:
            self._decide(query, value, begins, counts)
        if not self.ranks:
            return rows
        if not counts.all():
            row = int(np.argmin(counts))
            at, item = rows.query[row].as_py(), rows.item[row].as_py()
            raise FileError(
                self.name,
                Advice(
                    f"its third column counts 1, 2, 3 as ranks do, but is {value[row]:g} for query {at!r}, item ",
                    f"{item!r}; ",
                    _PASS_ROLES,
                ),
            )
        note = f"{self.name}: the third column counts 1, 2, 3 in each query: read as ranks"
        return replace(rows, score=as_scores(value), notes=(note,), ranks=True)

    def _decide(self, query: Places, value: Floats, begins: Bools, counts: Bools) -> None:
        """Decide by the first rows, unless each is the only one of its query and all are 0 or all 1."""
        alike = begins.all() and np.isin(value, (0, 1)).all() and (value == value[0]).all()
        if self.first is not None and not (alike and value[0] == self.first):
            raise FileError(self.name, Advice("ambiguous whether its third column is a score or a rank; ", _PASS_ROLES))
        self.first = float(value[0])
        if not alike:
            decides = query == query[np.argmin(begins)]
            self.ranks = not begins.all() and bool(counts[decides].all())


_POSITIONS = Advice("; or positions, if this is no header line: ", Hint("columns", {"query": 0, "item": 1, ...: ...}))
_PASS_ROLES = Advice("pass ", Hint("columns", {"query": 0, "item": 1, "rank": 2}), ", or 'score': 2")


def _quick(text: TextFile, start: int, separator: str, width: int, roles: Mapping[str, int]) -> Columns:
    names = [str(at) for at in range(width)]
    types = {names[at]: pyarrow.float64() for role, at in roles.items() if role not in IDS}
    types |= {names[at]: pyarrow.string() for role, at in roles.items() if role in IDS}
    view = text.view(start)
    if returns_inside(view) or _open_at_end(text, separator, start):  # Arrow would misread them
        raise IrregularError
    try:
        table = arrow_csv.read_csv(
            pyarrow.BufferReader(view),
            read_options=arrow_csv.ReadOptions(column_names=names, block_size=_BLOCK),
            parse_options=arrow_csv.ParseOptions(delimiter=separator),
            convert_options=arrow_csv.ConvertOptions(include_columns=list(types), column_types=types, null_values=[]),
        )
    except pyarrow.ArrowInvalid:
        raise IrregularError from None
    if table.num_rows != count_lines(view):  # blank lines, or line ends inside quotes
        raise IrregularError
    for name, kind in types.items():
        if kind == pyarrow.string():
            if pc.min(pc.binary_length(table[name])).as_py() == 0:
                raise IrregularError
        elif not pc.all(pc.is_finite(table[name])).as_py():
            raise IrregularError
    columns = {role: table[names[at]] for role, at in roles.items()}
    return by_role({role: as_ids(column) if role in IDS else one_piece(column) for role, column in columns.items()})


def _open_at_end(text: TextFile, separator: str, start: int) -> bool:
    """Does the file end inside quotes, if each row is one line."""
    last = max(start, text.whole.rfind(b"\n", start, text.end) + 1)
    if b'"' not in text.whole[last : text.end]:
        return False
    return isinstance(next(_records(text, separator, last, 1))[2], RowError)


def _records(text: TextFile, separator: str, start: int, number: int) -> Iterator[Record]:
    """Rows, each a line; only a quoted field can make it longer."""
    lines = text.lines(start, number)
    given_back: list[tuple[int, int, bytes]] = []
    while (got := given_back.pop() if given_back else next(lines, None)) is not None:
        number, end, line = got
        if line in (b"", b"\r"):
            continue
        if b'"' not in line:
            line = line.removesuffix(b"\r")
            yield number, end, _decoded(line).split(separator) if b"\r" not in line else RowError(LONE_RETURN)
            continue
        taken = [got]

        def more(taken: list[tuple[int, int, bytes]] = taken) -> Iterator[str]:
            yield _decoded(taken[0][2]) + "\n"
            while (got := given_back.pop() if given_back else next(lines, None)) is not None:
                taken.append(got)
                yield _decoded(got[2]) + "\n"
            raise RowError("a quote is not closed")

        try:
            fields = next(csv.reader(more(), delimiter=separator))
        except (RowError, csv.Error) as error:  # go on with the line after this one
            given_back.extend(reversed(taken[1:]))
            stray = isinstance(error, csv.Error) and b"\r" in taken[-1][2].removesuffix(b"\r")
            yield number, end, RowError(LONE_RETURN if stray else str(error))
        else:
            yield number, taken[-1][1], fields


def _decoded(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")


def ids_of(words: Sequence[object]) -> Column:
    """A column of ids: whole numbers if all of them are."""
    return as_ids(text_array(list(map(str, words))))


def sample_of(text: TextFile, separator: str) -> dict[str, str] | None:
    """The first row by column name; None if the first line is no header."""
    head = TextFile(text.name, text.head(HEAD))
    entry = next(entries(head, separator), None)
    return None if entry is None or any(map(is_number, entry.value)) else entry.value


def entries(text: TextFile, separator: str) -> Iterator[Entry]:
    """Rows as objects, in which columns at the end may be missing."""
    records = _records(text, separator, text.start, text.first)
    names: list[str] = []
    for line, _, fields in records:
        if isinstance(fields, RowError):
            raise FileError(text.name, str(fields), line)
        if names:
            yield Entry(line, None, dict(zip(names, fields, strict=False)))
        names = names or [name.strip() for name in fields]


def read_any(data: pyarrow.NativeFile, separator: str) -> Table:
    """Any table, with a header line."""
    return arrow_csv.read_csv(data, parse_options=arrow_csv.ParseOptions(delimiter=separator))


def write_delimited(table: Table, stream: BinaryIO, separator: str) -> None:
    """Any table, with a header line."""
    table = without_nan(table)
    names = [f'"{name}"' if separator in name or '"' in name else name for name in table.column_names]
    stream.write((separator.join(names) + "\n").encode())
    plain = (types.is_integer, types.is_floating, types.is_null)
    texts = [column for column in table.columns if not any(is_plain(column.type) for is_plain in plain)]
    quoted = any(pc.any(pc.match_substring_regex(text, f'["\r\n{separator}]')).as_py() for text in texts)
    options = arrow_csv.WriteOptions(
        include_header=False, delimiter=separator, quoting_style="needed" if quoted else "none", batch_size=WRITTEN_ROWS
    )
    arrow_csv.write_csv(table, stream, options)
