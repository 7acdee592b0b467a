"""JSON lines: one object a line."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from rankstone.errors import FileError
from rankstone.inputs.columns import Columns
from rankstone.inputs.lines import (
    IrregularError,
    RowError,
    Rows,
    Text,
    as_read,
    check_number,
    count_lines,
    one_piece,
    show,
    text_array,
)
from rankstone.inputs.roles import Given, by_name

_BLOCK = 16 << 20


def read_jsonl(text: Text, kind: str, given: Given, skip: bool) -> Columns:
    """A truth or a run, one object a row."""
    number, first = _first(text)
    names = by_name(list(first), kind, given, text.name, number).named(list(first))
    try:
        return _quick(text, names, first)
    except IrregularError:
        return _line_by_line(text, names, skip)


def _first(text: Text) -> tuple[int, dict[str, Any]]:
    """The first object; it says how the columns are called."""
    number, problem = 1, "has no rows"
    for number, _, line in text.lines():
        if line.strip():
            try:
                return number, _object(line)
            except RowError as error:
                problem = str(error)
                break
    raise FileError(text.name, problem, number)


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
    query, item = found.pop("query"), found.pop("item")
    for role, value in found.items():
        if not pc.all(pc.is_finite(value)).as_py():
            raise IrregularError
        return as_read(query, item, value, role)
    return as_read(query, item, None, None)


def _line_by_line(text: Text, names: dict[str, str], skip: bool) -> Columns:
    role = next((role for role in names if role not in ("query", "item")), None)
    rows = Rows(text.name, role, skip)
    for number, _, line in text.lines():
        if not line.strip():
            continue
        try:
            row = _object(line)
            for name in names.values():
                if name not in row:
                    raise RowError(f"has no {name!r}")
            query, item = (_id(row[names[one]], one) for one in ("query", "item"))
            if role is not None:
                rows.value.append(_number(row[names[role]], role))
        except RowError as problem:
            rows.refuse(number, str(problem))
            continue
        rows.query.append(query)
        rows.item.append(item)
    return rows.columns(_ids(rows.query), _ids(rows.item), np.array(rows.value))


def _object(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError) as error:
        raise RowError(f"is not JSON: {error}") from None
    if not isinstance(row, dict):
        raise RowError(f"expected an object, found {show(row)}")
    return row


def _id(value: Any, role: str) -> int | str:
    if type(value) is int:
        return value
    if not isinstance(value, str):
        raise RowError(f"{role} {show(value)} is neither a whole number nor a string")
    if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise RowError(f"{role} {show(value.encode('utf-8', 'replace').decode())} is not valid UTF-8")
    return value


def _number(value: Any, role: str) -> float:
    if not isinstance(value, (int, float)):
        raise RowError(f"{role} {show(value)} is not a number")
    try:
        return check_number(float(value), role, str(value))
    except OverflowError:
        raise RowError(f"{role} {show(value)} is too large") from None


def _ids(found: list[int | str]) -> Any:
    """Whole numbers if all of them are, else strings."""
    import pyarrow

    if all(type(one) is int and -(2**63) <= one < 2**63 for one in found):
        return pyarrow.array(found, pyarrow.int64())
    return text_array([str(one) for one in found])
