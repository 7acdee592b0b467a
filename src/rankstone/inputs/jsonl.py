"""JSON lines: one object a line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, BinaryIO

from rankstone.errors import FileError, NoRowsError
from rankstone.inputs.arrow import Column, Table, one_piece, text_array, without_nan
from rankstone.inputs.columns import Columns
from rankstone.inputs.lines import (
    WRITTEN_ROWS,
    IrregularError,
    Row,
    RowError,
    Rows,
    Text,
    as_read,
    check_number,
    count_lines,
    show,
    valid,
)
from rankstone.inputs.roles import Given, by_name, value_role

_BLOCK = 16 << 20


def read_jsonl(text: Text, kind: str, given: Given, skip: bool) -> Columns:
    """A truth or a run, one object a row."""
    number, first = _first(text)
    names = by_name(list(first), kind, given, text.name, number)
    try:
        return _quick(text, names, first)
    except IrregularError:
        return _line_by_line(text, names, skip)


def _first(text: Text) -> tuple[int, dict[str, Any]]:
    """The first object; it says how the columns are called."""
    number = 1
    for number, _, line in text.lines():
        if line.strip():
            try:
                return number, _object(line)
            except RowError as error:
                raise FileError(text.name, str(error), number) from None
    raise NoRowsError(text.name, line=number)


def _quick(text: Text, names: dict[str, str], first: dict[str, Any]) -> Columns:
    import pyarrow
    import pyarrow.compute as pc
    from pyarrow import json as arrow_json

    types = []
    for role, name in names.items():
        if role in ("query", "item"):
            types.append((name, pyarrow.int64() if type(first[name]) is int else pyarrow.string()))
        else:
            types.append((name, pyarrow.float64()))
    view = text.view()
    try:
        table = arrow_json.read_json(
            pyarrow.BufferReader(view),
            read_options=arrow_json.ReadOptions(block_size=_BLOCK),
            parse_options=arrow_json.ParseOptions(
                explicit_schema=pyarrow.schema(types), unexpected_field_behavior="ignore"
            ),
        )
        table.validate(full=True)  # strings come unchecked
    except pyarrow.ArrowInvalid:
        raise IrregularError from None
    if table.num_rows != count_lines(view) or any(table[name].null_count for name in names.values()):
        raise IrregularError
    found = {role: one_piece(table[name]) for role, name in names.items()}
    named = value_role(names)
    value = None if named is None else found[named]
    if value is not None and not pc.all(pc.is_finite(value)).as_py():
        raise IrregularError
    return as_read(found["query"], found["item"], value, named)


def _line_by_line(text: Text, names: dict[str, str], skip: bool) -> Columns:
    role = value_role(names)

    def parse(line: bytes) -> Row:
        row = _object(line)
        for name in names.values():
            if name not in row:
                raise RowError(f"has no {name!r}")
        value = None if role is None else _number(row[names[role]], role)
        return _id(row[names["query"]], "query"), _id(row[names["item"]], "item"), value

    lines = ((number, line) for number, _, line in text.lines() if line.strip())
    return Rows(text.name, role, skip).read(lines, parse, _ids)


def _object(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError) as error:
        raise RowError(f"is not JSON: {error}") from None
    if not isinstance(row, dict):
        raise RowError(f"expected an object, found {show(row)}")
    return row


def _id(value: object, role: str) -> int | str:
    if type(value) is int:
        return value
    if not isinstance(value, str):
        raise RowError(f"{role} {show(value)} is neither a whole number nor a string")
    return valid(value, role)


def _number(value: object, role: str) -> float:
    if not isinstance(value, (int, float)):
        raise RowError(f"{role} {show(value)} is not a number")
    try:
        return check_number(float(value), role, str(value))
    except OverflowError:
        raise RowError(f"{role} {show(value)} is too large") from None


def _ids(ids: Sequence[int | str]) -> Column:
    """Whole numbers if all of them are, else strings."""
    import pyarrow

    if all(type(name) is int and -(2**63) <= name < 2**63 for name in ids):
        return pyarrow.array(ids, pyarrow.int64())
    return text_array(list(map(str, ids)))


def write_jsonl(table: Table, stream: BinaryIO) -> None:
    """Any table, one object a row."""
    for batch in without_nan(table).to_batches(max_chunksize=WRITTEN_ROWS):
        stream.write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist()).encode())
