"""CSV and TSV, with a header line or without."""

from __future__ import annotations

import csv
from collections.abc import Iterator

import numpy as np

from rankstone.errors import FileError
from rankstone.inputs.columns import Columns
from rankstone.inputs.lines import (
    IrregularError,
    RowError,
    Rows,
    Text,
    as_ids,
    as_read,
    count_lines,
    one_piece,
    text_array,
    to_id,
    to_number,
)
from rankstone.inputs.roles import Given, Roles, by_name, by_position

# The number of its first line, where the next row starts, and its fields or what is wrong with it.
Record = tuple[int, int, "list[str] | RowError"]

_BLOCK = 16 << 20
_RETURN = "has a carriage return in it that is neither quoted nor the end of the line"


def read_delimited(text: Text, kind: str, separator: str, given: Given, skip: bool) -> Columns:
    """A truth or a run, one row a line."""
    line, start, first = next(_records(text, separator, text.start, 1), (1, 0, RowError("has no rows")))
    if isinstance(first, RowError):
        raise FileError(text.name, str(first), line)
    if any(isinstance(where, int) for where in given.values()) or (not given and _is_number(first[-1])):
        roles = by_position(len(first), kind, given, text.name, line)
        start, line = text.start, 1
    else:
        roles = by_name(first, kind, given, text.name, line)
        line = 1 + text.data[text.start : start].count(b"\n")
    if start >= text.end:
        raise FileError(text.name, "has a header line but no rows")
    try:
        return _quick(text, start, separator, len(first), roles)
    except IrregularError:
        return _line_by_line(text, _records(text, separator, start, line), len(first), roles, skip)


def _is_number(word: str) -> bool:
    try:
        to_number(word, "score")
    except RowError:
        return False
    return True


def _quick(text: Text, start: int, separator: str, width: int, roles: Roles) -> Columns:
    import pyarrow
    import pyarrow.compute as pc
    from pyarrow import csv as arrow_csv

    names = [str(at) for at in range(width)]
    query, item = names[roles.query], names[roles.item]
    types = {query: pyarrow.string(), item: pyarrow.string()}
    value = None if roles.value is None else names[roles.value]
    if value is not None:
        types[value] = pyarrow.float64()
    view = text.view(start)
    if _returns_inside(view) or _open_at_end(text, separator, start):  # Arrow would take them for something else
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
    if any(pc.min(pc.binary_length(table[one])).as_py() == 0 for one in (query, item)):
        raise IrregularError
    if value is None:
        return as_read(as_ids(table[query]), as_ids(table[item]), None, None)
    if not pc.all(pc.is_finite(table[value])).as_py():
        raise IrregularError
    return as_read(as_ids(table[query]), as_ids(table[item]), one_piece(table[value]), roles.role)


def _returns_inside(view: memoryview) -> bool:
    """Is there a carriage return that does not end a line."""
    for at in range(0, len(view), _BLOCK):
        block = np.frombuffer(view[at : at + _BLOCK + 1], np.uint8)
        found = np.flatnonzero(block[:_BLOCK] == 13)
        if len(found) and (found[-1] + 1 == len(block) or (block[found + 1] != 10).any()):
            return True
    return False


def _open_at_end(text: Text, separator: str, start: int) -> bool:
    """Does the file end inside quotes, if each row is one line."""
    last = max(start, text.data.rfind(b"\n", start, text.end) + 1)
    if b'"' not in text.data[last : text.end]:
        return False
    return isinstance(next(_records(text, separator, last, 1))[2], RowError)


def _line_by_line(text: Text, records: Iterator[Record], width: int, roles: Roles, skip: bool) -> Columns:
    rows = Rows(text.name, roles.role, skip)
    for number, _, fields in records:
        try:
            if isinstance(fields, RowError):
                raise fields
            if len(fields) != width:
                raise RowError(f"expected {width} fields, found {len(fields)}")
            query, item = to_id(fields[roles.query], "query"), to_id(fields[roles.item], "item")
            if roles.value is not None:
                rows.value.append(to_number(fields[roles.value], str(roles.role)))
        except RowError as problem:
            rows.refuse(number, str(problem))
            continue
        rows.query.append(query)
        rows.item.append(item)
    query_ids, item_ids = as_ids(text_array(rows.query)), as_ids(text_array(rows.item))
    return rows.columns(query_ids, item_ids, np.array(rows.value))


def _records(text: Text, separator: str, start: int, number: int) -> Iterator[Record]:
    """Rows, each a line; only a quoted field can make it longer."""
    lines = text.lines(start, number)
    given_back: list[tuple[int, int, bytes]] = []
    while (got := given_back.pop() if given_back else next(lines, None)) is not None:
        number, end, line = got
        if line in (b"", b"\r"):
            continue
        if b'"' not in line:
            line = line.removesuffix(b"\r")
            yield number, end, _decoded(line).split(separator) if b"\r" not in line else RowError(_RETURN)
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
            yield number, end, RowError(_RETURN if stray else str(error))
        else:
            yield number, taken[-1][1], fields


def _decoded(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")
