"""Parquet: a file, a folder of files, or several by a pattern. A row counts as a line."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankstone.errors import FileError
from rankstone.inputs.columns import Columns
from rankstone.inputs.lines import Rows, one_piece
from rankstone.inputs.roles import Given, by_name


def read_parquet(name: str, source: Any, kind: str, given: Given, skip: bool) -> Columns:
    """A truth or a run; `source` is a file's bytes, a folder, or a list of paths."""
    import pyarrow

    try:
        names, read = _open(source)
        roles = by_name(names, kind, given, name)
        wanted = roles.named(names)
        table = read(columns=list(dict.fromkeys(wanted.values())))
        found = {role: _plain(name, column, one_piece(table[column]), role) for role, column in wanted.items()}
    except FileError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, TypeError) as error:
        raise FileError(name, f"cannot be read as Parquet: {error}") from None
    return _checked(name, found, roles.role, skip)


def _open(source: Any) -> tuple[list[str], Any]:
    """Names of the columns, and what reads some of them."""
    from pyarrow import BufferReader, dataset, parquet

    if isinstance(source, (str, list)):
        several = dataset.dataset(source, format="parquet", partitioning="hive")
        return several.schema.names, several.to_table
    one = parquet.ParquetFile(BufferReader(source))
    return one.schema_arrow.names, one.read


def _plain(path: str, name: str, column: Any, role: str) -> Any:
    """The column in a type that can play its role."""
    from pyarrow import float64, string, types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if types.is_null(kind):
        return column
    if role in ("query", "item"):
        if types.is_integer(kind) or types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view":
            return column
        if types.is_binary(kind) or types.is_large_binary(kind):
            return column.cast(string())
        raise FileError(path, f"column {name!r} holds {column.type}; ids are whole numbers or strings")
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if types.is_integer(kind) or types.is_boolean(kind) or types.is_float32(kind) or types.is_float64(kind):
        return column
    if types.is_float16(kind) or types.is_decimal(kind):
        return column.cast(float64())
    raise FileError(path, f"column {name!r} holds {column.type}; a {role} is a number")


def _checked(path: str, found: dict[str, Any], role: str | None, skip: bool) -> Columns:
    """Without the rows that lack something or whose value is no grade or score."""
    import pyarrow
    import pyarrow.compute as pc

    rows = Rows(path, role, skip)
    problems: dict[int, str] = {}
    for one, column in found.items():
        if column.null_count or pyarrow.types.is_dictionary(column.type):
            missing = np.flatnonzero(pc.is_null(column).to_numpy(zero_copy_only=False))
            problems.update((int(row), f"{one} is null") for row in missing)
        if one == role and pyarrow.types.is_floating(column.type):
            bad = pc.is_nan(column) if role == "score" else pc.invert(pc.is_finite(column))
            wrong = np.flatnonzero(pc.fill_null(bad, False).to_numpy(zero_copy_only=False))
            word = "not a number" if role == "score" else "not finite"
            problems.update((int(row), f"{one} {column[int(row)].as_py()} is {word}") for row in wrong)
    for row in sorted(problems):
        rows.refuse(row + 1, problems[row])
    if problems:
        keep = np.ones(len(found["query"]), dtype=bool)
        keep[list(problems)] = False
        found = {one: column.filter(pyarrow.array(keep)) for one, column in found.items()}
    return rows.columns(found["query"], found["item"], None if role is None else found[role])
