"""Parquet: a file, a folder of files, or several by a pattern. A row counts as a line, and has an item or a list."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute as pc
from pyarrow import BufferReader, parquet, types

from rankstone.data import lines
from rankstone.data.arrow import Places, as_numpy, as_text, is_list, is_number, is_text, numbers, one_piece, stored
from rankstone.data.columns import Columns
from rankstone.data.lines import Batch, Batches, FileRows, Files
from rankstone.data.lists import Lists
from rankstone.data.roles import IDS, RoleMap, by_name, value_role
from rankstone.data.tables import as_batch, floats_in, inside, lists_in, side_of, unpacked
from rankstone.errors import FileError, NoRowsError


def read_parquet(name: str, source: bytes | Files, kind: str, role_map: RoleMap, skip: bool) -> Columns | Lists:
    """A truth or a run; `source` is a file's bytes, a folder, or a list of paths."""
    with _guarded(name):
        if isinstance(source, (str, list)):
            whole = _dataset(source)
            schema, read = whole.schema, whole.to_table
        else:
            file = parquet.ParquetFile(BufferReader(source))
            schema, read = file.schema_arrow, file.read
        names = _roles(schema, kind, role_map, name)
        table = read(columns=list(dict.fromkeys(names.values())))
        columns = _playing(name, names, {role: one_piece(table[column]) for role, column in names.items()}, kind)
    return replace(_checked(name, columns, skip), names={**names, **inside(schema.field(names["item"]).type, kind)})


def sample_of(text: lines.TextFile) -> dict[str, None] | None:
    """The names of the columns; None if this is only the beginning of a file."""
    with contextlib.suppress(pyarrow.ArrowException, OSError):
        return dict.fromkeys(parquet.ParquetFile(BufferReader(text.whole)).schema_arrow.names)
    return None


def entries(text: lines.TextFile) -> Iterator[lines.Entry]:
    """Rows as objects."""
    with _guarded(text.name):
        for row, value in enumerate(parquet.read_table(BufferReader(text.whole)).to_pylist(), 1):
            yield lines.Entry(row, None, value)


def _roles(schema: pyarrow.Schema, kind: str, role_map: RoleMap, name: str) -> dict[str, str]:
    return by_name(schema.names, kind, role_map, name, is_list=lists_in(schema), is_float=floats_in(schema))


def _dataset(source: Files) -> pyarrow.dataset.Dataset:
    from pyarrow import dataset  # which loads pandas, if there is one

    return dataset.dataset(source, format="parquet", partitioning="hive")


def _playing(path: str, names: Mapping[str, str], columns: Mapping[str, Any], kind: str) -> dict[str, pyarrow.Array]:
    """The columns by their roles, in types that can play them."""
    parts = unpacked(columns, kind)
    return {role: _playable(path, names.get(role, names["item"]), column, role) for role, column in parts.items()}


def _playable(path: str, name: str, column: pyarrow.Array, role: str) -> pyarrow.Array:
    """The column in a type that can play its role, or one of lists of such."""
    if is_list(column.type) and role != "query":
        values = _playable(path, name, column.values, role)
        return column.cast(pyarrow.large_list(values.type))
    kind = stored(column.type)
    if types.is_null(kind):
        return column
    if role in IDS:
        if types.is_integer(kind) or is_text(kind):
            return column
        if types.is_binary(kind) or types.is_large_binary(kind):
            return as_text(column)
        raise FileError(path, f"column {name!r} holds {column.type}; ids are whole numbers or strings")
    if is_number(kind) or types.is_boolean(kind) or types.is_decimal(kind):
        return numbers(column)
    raise FileError(path, f"column {name!r} holds {column.type}; a {role} is a number")


def _checked(path: str, columns: dict[str, pyarrow.Array], skip: bool, before: int = 0) -> Columns | Lists:
    """Without the rows that lack something or whose value is no grade or score; `before`: rows of the file before."""
    rows, role, problems = FileRows(path, skip), value_role(columns), dict[int, str]()
    for part, column in columns.items():
        for row, problem in _problems(part, column, part == role):
            problems.setdefault(row, problem)
    if role is not None and is_list(columns["item"].type):
        items, values = (
            pc.fill_null(pc.list_value_length(columns[part]), -1).to_numpy(zero_copy_only=False)
            for part in ("item", role)
        )
        for row in map(int, np.flatnonzero(items != values)):
            problems.setdefault(row, f"has {items[row]} items, but {values[row]} as {role}")
    for row in sorted(problems):
        rows.reject(before + row + 1, problems[row])
    if problems:
        keep = np.ones(len(columns["query"]), dtype=bool)
        keep[list(problems)] = False
        columns = {part: column.filter(pyarrow.array(keep)) for part, column in columns.items()}
    return rows.side(side_of(columns))


def _problems(part: str, column: pyarrow.Array, valued: bool) -> Iterator[tuple[int, str]]:
    """Rows that lack something or hold what is no grade or score, and what is wrong with them."""
    rows: Places | range = range(len(column))
    if is_list(column.type):
        yield from ((int(row), f"{part} is null; an empty list is []") for row in _where(pc.is_null(column)))
        rows, column = pc.list_parent_indices(column).to_numpy(), pc.list_flatten(column)
    if column.null_count or stored(column.type) != column.type:  # a dictionary may hold null
        yield from ((int(rows[at]), f"{part} is null") for at in _where(pc.is_null(column)))
    # Where the sum is a finite number, so is each part of it. It takes a third of a look at each.
    if valued and types.is_floating(column.type) and not math.isfinite(pc.sum(column, min_count=0).as_py()):
        bad = pc.is_nan(column) if part == "score" else pc.invert(pc.is_finite(column))
        if not pc.any(bad).as_py():
            return
        word = "not a number" if part == "score" else "not finite"
        yield from ((int(rows[at]), f"{part} {column[int(at)].as_py()} is {word}") for at in _where(bad))


def _where(mask: pyarrow.Array) -> Places:
    return np.flatnonzero(pc.fill_null(mask, False).to_numpy(zero_copy_only=False))


# -- batches -------------------------------------------------------------------------------------------------


def open_parquet(name: str, source: Files, role_map: RoleMap) -> Batches:
    """A run in batches; `source` is a folder or a list of paths."""
    with _guarded(name):
        whole = None
        if isinstance(source, list):
            paths = source
        else:
            whole = _dataset(source)
            paths = whole.files
            if not set(whole.schema.names) - set(parquet.read_schema(paths[0]).names if paths else ()):
                whole = None
        total = sum(parquet.read_metadata(path).num_rows for path in paths)

    def read() -> Iterator[Batch]:
        done = 0
        for path, names, batches in _files(paths, role_map) if whole is None else _partitions(name, whole, role_map):
            row = 0
            for batch in batches:
                if len(batch):
                    columns = _playing(path, names, {role: batch[name] for role, name in names.items()}, "run")
                    rows = as_batch(_checked(path, columns, False, row))
                    plain: dict[str, Any] = {role: as_numpy(getattr(rows, role)) for role in ("query", "item", "score")}
                    row += len(batch)
                    yield replace(rows, **plain), done + row
            done += row
        if done == 0:
            raise NoRowsError(name)

    return Batches(name, total, read)


# A path, the names of its columns by role, and its batches.
_Opened = tuple[str, dict[str, str], Iterator[pyarrow.RecordBatch]]


def _files(paths: list[str], role_map: RoleMap) -> Iterator[_Opened]:
    for path in paths:
        # Without the buffer, a whole row group's columns would be read at once, however large.
        with parquet.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file:
            names = _roles(file.schema_arrow, "run", role_map, path)
            batches = file.iter_batches(lines.BATCH_ROWS, columns=list(dict.fromkeys(names.values())))
            yield path, names, _naming(path, batches)


def _partitions(name: str, whole: pyarrow.dataset.Dataset, role_map: RoleMap) -> Iterator[_Opened]:
    """A folder whose folders' names are values of a column: `user=7/part-0.parquet`."""
    names = _roles(whole.schema, "run", role_map, name)
    options = pyarrow.dataset.ParquetFragmentScanOptions(
        use_buffered_stream=True, buffer_size=1 << 20, pre_buffer=False
    )
    scanner = whole.scanner(
        columns=list(dict.fromkeys(names.values())), batch_size=lines.BATCH_ROWS, batch_readahead=1,
        fragment_readahead=1, fragment_scan_options=options,
    )  # fmt: skip
    yield name, names, _naming(name, scanner.to_batches())


def _naming(path: str, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    with _guarded(path):
        yield from batches


@contextlib.contextmanager
def _guarded(name: str) -> Iterator[None]:
    """Arrow's errors with the file's name."""
    try:
        yield
    except FileError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, TypeError) as error:
        raise FileError(name, f"cannot be read as Parquet: {error}") from None
