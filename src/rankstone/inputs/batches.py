"""A run's file in batches, for what does not fit in memory: Parquet, and text cut at line ends, plain or compressed."""

from __future__ import annotations

import contextlib
import lzma
import os
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np

from rankstone.errors import FileError, NoRowsError
from rankstone.inputs import delimited, files, parquet
from rankstone.inputs.columns import Columns
from rankstone.inputs.jsonl import read_jsonl
from rankstone.inputs.lines import _COMPRESSED, IrregularError, RowError, Text, as_read
from rankstone.inputs.roles import Given, Roles, by_name, by_position, check_given
from rankstone.inputs.trec import read_trec

ROWS = 1 << 18  # in a batch of Parquet; larger ones cost more time, for fresh memory
BYTES = 1 << 24  # in a batch of text
LARGE_BYTES = 256 << 20  # on disk
LARGE_ROWS = 20_000_000  # of Parquet
STREAMED = ("trec", "csv", "tsv", "jsonl", "parquet")

# Rows, and how far into the file they go.
Batch = tuple[Columns, int]


class Batches:
    """A run in batches. It can be gone through more than once."""

    def __init__(self, name: str, total: int, unit: str, read: Callable[[], Iterator[Batch]]) -> None:
        self.name, self.total, self.unit, self._read = name, total, unit, read

    def __iter__(self) -> Iterator[Batch]:
        """Rows, and how much of the total is done with them. The next batch is read while this one is used."""
        return _ahead(self._read())


def open_batches(
    path: Any,
    *,
    columns: Mapping[str, str | int] | None = None,
    format: str | None = None,  # noqa: A002
) -> Batches:
    """A run's file, a folder of Parquet files or a pattern such as `part-*.parquet`; options as for `rs.read_run`."""
    name, given = os.fspath(path), check_given(columns, "run")
    if format is not None and format not in files.FORMATS:
        raise ValueError(f"unknown format {format!r}; choose from {', '.join(files.FORMATS)}")
    several = None if os.path.isfile(name) else files._several(name, format)
    if several is not None:
        return _parquet(name, several, given)
    head = _head(name)
    if not head:
        raise FileError(name, "is empty")
    form = format or files._told(Text(name, head), "run")
    if form == "parquet":
        return _parquet(name, [name], given)
    if form not in STREAMED:
        raise FileError(name, f"a run in {form} format cannot be read in batches; choose from {', '.join(STREAMED)}")
    if given and form == "trec":
        raise ValueError(f"columns= goes with csv, tsv, jsonl and parquet; {name} is trec")
    readers: dict[str, Callable[[], Iterator[Batch]]] = {
        "trec": lambda: _parsed(name, _chunks(name), lambda: _trec),
        "jsonl": lambda: _parsed(name, _chunks(name), lambda: _jsonl(given)),
        "csv": lambda: _parsed(name, _chunks(name, quotes=True), lambda: _Delimited(",", given)),
        "tsv": lambda: _parsed(name, _chunks(name, quotes=True), lambda: _Delimited("\t", given)),
    }
    return Batches(name, os.path.getsize(name), "bytes", readers[form])


def is_large(path: Any, format: str | None = None) -> bool:  # noqa: A002
    """Is a run's file so large that it is better read in batches, and can it be."""
    name = os.fspath(path)
    if name == "-":
        return False
    try:
        several = [name] if os.path.isfile(name) else files._several(name, format)
        paths = several if isinstance(several, list) else [] if several is None else _inside(several)
        if sum(map(os.path.getsize, paths)) < LARGE_BYTES and _parquet_rows(paths) < LARGE_ROWS:
            return False
        return not os.path.isfile(name) or (format or files._told(Text(name, _head(name)), "run")) in STREAMED
    except FileError:  # whoever reads it will say so
        return False


def _inside(folder: str) -> list[str]:
    return [os.path.join(one, name) for one, _, names in os.walk(folder) for name in names]


def _parquet_rows(paths: list[str]) -> int:
    from pyarrow import parquet as pq

    def rows(path: str) -> int:
        with open(path, "rb") as file:
            if file.read(4) != b"PAR1":
                return 0
        with contextlib.suppress(OSError, ValueError):
            return pq.read_metadata(path).num_rows
        return 0

    return sum(map(rows, paths))


# -- Parquet -------------------------------------------------------------------------------------------------


def _parquet(name: str, source: Any, given: Given) -> Batches:
    import pyarrow
    from pyarrow import dataset
    from pyarrow import parquet as pq

    try:
        if isinstance(source, str):
            whole = dataset.dataset(source, format="parquet", partitioning="hive")
            paths, schema = whole.files, whole.schema
            if set(schema.names) - set(pq.read_schema(paths[0]).names if paths else ()):
                return _partitioned(name, whole, given)
        else:
            paths, schema = source, None
        total = sum(pq.read_metadata(one).num_rows for one in paths)
    except (pyarrow.ArrowException, OSError, ValueError, TypeError) as error:
        raise FileError(name, f"cannot be read as Parquet: {error}") from None

    def read() -> Iterator[Batch]:
        done = 0
        for one in paths:
            # Without the buffer, a whole row group's columns would be read at once, however large.
            with pq.ParquetFile(one, buffer_size=1 << 20, pre_buffer=False) as file:
                roles = by_name(file.schema_arrow.names, "run", given, one)
                wanted = roles.named(file.schema_arrow.names)
                row = 0
                for batch in _guarded(one, file.iter_batches(ROWS, columns=list(dict.fromkeys(wanted.values())))):
                    yield _plain(one, batch, wanted, roles, row), done + row + len(batch)
                    row += len(batch)
                done += row
        if done == 0:
            raise NoRowsError(name)

    return Batches(name, total, "rows", read)


def _partitioned(name: str, whole: Any, given: Given) -> Batches:
    """A folder whose folders' names are values of a column: `user=7/part-0.parquet`."""
    from pyarrow import dataset

    names = whole.schema.names
    roles = by_name(names, "run", given, name)
    wanted = roles.named(names)

    def read() -> Iterator[Batch]:
        done = 0
        scanner = whole.scanner(
            columns=list(dict.fromkeys(wanted.values())),
            batch_size=ROWS,
            batch_readahead=1,
            fragment_readahead=1,
            fragment_scan_options=dataset.ParquetFragmentScanOptions(
                use_buffered_stream=True, buffer_size=1 << 20, pre_buffer=False
            ),
        )
        for batch in _guarded(name, scanner.to_batches()):
            if len(batch):
                yield _plain(name, batch, wanted, roles, done), done + len(batch)
                done += len(batch)
        if done == 0:
            raise NoRowsError(name)

    return Batches(name, whole.count_rows(), "rows", read)


def _guarded(name: str, batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow

    try:
        yield from batches
    except (pyarrow.ArrowException, OSError) as error:
        raise FileError(name, f"cannot be read as Parquet: {error}") from None


def _plain(path: str, batch: Any, wanted: Mapping[str, str], roles: Roles, row: int) -> Columns:
    """A batch's columns, without anything missing; `row` is how many the file had before."""
    found = {role: parquet._plain(path, name, batch[name], role) for role, name in wanted.items()}
    for role, column in found.items():
        if column.null_count:
            at = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise FileError(path, f"{role} is null", row + at + 1)
    value = None if roles.role is None else found[roles.role]
    if value is not None and str(value.type) in ("double", "float"):
        numbers = value.to_numpy()
        if np.isnan(numbers.min()):  # one NaN makes the whole minimum NaN
            at = int(np.argmax(np.isnan(numbers)))
            raise FileError(path, f"{roles.role} nan is not a number", row + at + 1)
    return as_read(found["query"], found["item"], value, roles.role)


# -- text ----------------------------------------------------------------------------------------------------

Parser = Callable[[Text], "Columns | None"]  # None: there is no row in it


def _parsed(name: str, chunks: Iterator[tuple[bytes, int]], start: Callable[[], Parser]) -> Iterator[Batch]:
    parse, line, some = start(), 0, False
    for chunk, done in chunks:
        try:
            rows = parse(Text(name, chunk))
        except FileError as error:
            if error.line is None:
                raise
            raise FileError(error.path, error.problem, line + error.line) from None
        line += chunk.count(b"\n")
        if rows is not None:
            some = True
            yield rows, done
    if not some:
        raise NoRowsError(name)


def _trec(text: Text) -> Columns | None:
    return _some(lambda: read_trec(text, "run", False))


def _jsonl(given: Given) -> Parser:
    return lambda text: _some(lambda: read_jsonl(text, "run", given, False))


def _some(read: Callable[[], Columns]) -> Columns | None:
    try:
        return read()
    except NoRowsError:
        return None


class _Delimited:
    """CSV or TSV; the first chunk says which columns are which."""

    def __init__(self, separator: str, given: Given) -> None:
        self.separator, self.given = separator, given
        self.roles: Roles | None = None
        self.width = 0

    def __call__(self, text: Text) -> Columns | None:
        start, line = text.start, 1
        if self.roles is None:
            at, after, first = next(
                delimited._records(text, self.separator, start, 1), (1, text.end, RowError("has no rows"))
            )
            if isinstance(first, RowError):
                raise FileError(text.name, str(first), at)
            self.width = len(first)
            positions = any(isinstance(where, int) for where in self.given.values())
            if positions or (not self.given and delimited._is_number(first[-1])):
                self.roles = by_position(self.width, "run", self.given, text.name, at)
            else:
                self.roles = by_name(first, "run", self.given, text.name, at)
                start, line = after, 1 + text.data[text.start : after].count(b"\n")
        if start >= text.end:
            return None
        try:
            return delimited._quick(text, start, self.separator, self.width, self.roles)
        except IrregularError:
            records, roles = delimited._records(text, self.separator, start, line), self.roles
            return _some(lambda: delimited._line_by_line(text, records, self.width, roles, False))


def _chunks(name: str, quotes: bool = False) -> Iterator[tuple[bytes, int]]:
    """Bytes cut at line ends, and how much of the file is read; `quotes`: a line end inside of quotes is none."""
    with open(name, "rb") as file:
        source = _decompressed(name, file)
        rest = b""
        while True:
            try:
                block = source.read(BYTES)
            except (OSError, EOFError, lzma.LZMAError) as error:
                raise FileError(name, f"cannot be decompressed: {error}") from None
            if not block:
                break
            data = rest + block
            end = data.rfind(b"\n") + 1
            # A quote that is never closed would go on for ever; the reader says where it is.
            inside = quotes and len(data) < 4 * BYTES and data.count(b'"', 0, end) % 2 == 1
            while inside and end:
                before = data.rfind(b"\n", 0, end - 1) + 1
                inside = data.count(b'"', before, end) % 2 == 0
                end = before
            chunk, rest = data[:end], data[end:]
            if chunk:
                yield chunk, file.tell()
        if rest:
            yield rest, file.tell()


def _decompressed(name: str, file: BinaryIO) -> Any:
    import pyarrow

    start = file.read(16)
    file.seek(0)
    codec = next((codec for magic, codec in _COMPRESSED if magic.match(start)), None)
    if codec is None:
        return file
    if codec == "xz":
        return lzma.open(file)
    return pyarrow.CompressedInputStream(pyarrow.PythonFile(file, mode="r"), codec)


def _head(name: str) -> bytes:
    """The first bytes, decompressed; whole lines where there are any."""
    with open(name, "rb") as file:
        try:
            source = _decompressed(name, file)
            data = bytes(source.read(files._HEAD))
        except (OSError, EOFError, lzma.LZMAError) as error:
            raise FileError(name, f"cannot be decompressed: {error}") from None
    end = data.rfind(b"\n") + 1
    return data[:end] or data


# -- reading ahead -------------------------------------------------------------------------------------------


def _ahead(batches: Iterator[Batch]) -> Iterator[Batch]:
    """The same, with the next one read in a thread of its own meanwhile."""
    ready: queue.Queue[Any] = queue.Queue(maxsize=1)
    stop = threading.Event()

    def put(one: Any) -> None:
        waiting = True
        while waiting and not stop.is_set():
            with contextlib.suppress(queue.Full):
                ready.put(one, timeout=0.1)
                waiting = False

    def read() -> None:
        try:
            for one in batches:
                put(one)
                if stop.is_set():
                    return
            put(None)
        except BaseException as error:  # handed over, and raised there
            put(error)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    try:
        while (one := ready.get()) is not None:
            if isinstance(one, BaseException):
                raise one
            yield one
    finally:
        stop.set()
        thread.join()
