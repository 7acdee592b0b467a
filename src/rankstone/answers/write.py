"""Writing files: values a query, and truths and runs in another format. A file is there whole, or not at all."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.errors import FileError
from rankstone.inputs.columns import Columns
from rankstone.inputs.files import OnError, Path, read_run, read_truth
from rankstone.inputs.lines import one_piece, open_text
from rankstone.metrics.registry import parse

if TYPE_CHECKING:
    from rankstone.answers.result import Result, Saved

_SUFFIXES = {"csv": "csv", "tsv": "tsv", "jsonl": "jsonl", "ndjson": "jsonl", "parquet": "parquet", "pq": "parquet"}
_RESULTS = {**_SUFFIXES, "json": "json", "txt": "trec", "trec": "trec", "eval": "trec"}
_LISTS = {**_SUFFIXES, **dict.fromkeys(("trec", "qrels", "qrel", "run", "res"), "trec")}
_CODECS = {"gz": "gzip", "bz2": "bz2", "zst": "zstd", "xz": "xz"}
_NOT_TREC = "^$|[ \t\n\r\v\f]"
_ROWS = 1 << 16  # written at a time


def write(result: Result, path: Path, format: str | None = None) -> None:  # noqa: A002
    """Write a result: json, or each query's values as csv, tsv, jsonl, parquet or trec (`metric query value` lines).

    The format is told by the name's ending if not given; .gz, .bz2, .xz and .zst compress. Definitions, versions and
    digests are in the file itself if it is json or parquet, else in a second one, with .json after the first's name.
    """
    form = _format(path, format, _RESULTS)
    with replacing(path, form) as stream:
        if form == "trec":
            _write_values(result, stream)
        elif form == "json":
            stream.write((as_json(result.to_dict()) + "\n").encode())
        elif form == "parquet":
            about = {b"rankstone": as_json(about_result(result)).encode()}
            table = result.to_arrow()
            _write_table(table.replace_schema_metadata({**(table.schema.metadata or {}), **about}), stream, form)
        else:
            _write_table(result.to_arrow(), stream, form)
    if form not in ("json", "parquet"):
        write_beside(path, about_result(result))


def write_beside(path: Path, about: Any) -> None:
    """Put what a file has no room for beside it; nothing beside standard output or a device."""
    name = os.fspath(path)
    if name != "-" and os.path.isfile(os.path.realpath(name)):
        with replacing(f"{name}.json") as stream:
            stream.write((as_json(about) + "\n").encode())


def about_result(result: Result) -> dict[str, Any]:
    """All but the values of each query."""
    whole = result.to_dict()
    del whole["queries"], whole["per_query"]
    return whole


def as_json(data: Any) -> str:
    """JSON proper, where NaN is null."""
    return json.dumps(_jsonable(data), indent=2, ensure_ascii=False, allow_nan=False)


def _jsonable(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {str(name): _jsonable(one) for name, one in data.items()}
    if isinstance(data, (list, tuple)):
        return [_jsonable(one) for one in data]
    if isinstance(data, float):
        return data if math.isfinite(data) else None if math.isnan(data) else str(data)
    return data if data is None or isinstance(data, (str, int)) else str(data)


def read_result(path: Path) -> Saved:
    """A result that was written as json: means, values a query, definitions; `compare` takes it as any other."""
    from rankstone.answers.result import Saved

    text = open_text(os.fspath(path))
    try:
        data = json.loads(bytes(text.view()))
        return Saved(data)
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(text.name, f"is no result that rankstone wrote as json ({error})") from None


def convert(
    source: Path,
    target: Path,
    kind: str = "truth",
    *,
    source_format: str | None = None,
    target_format: str | None = None,
    columns: Mapping[str, str | int] | None = None,
    on_error: OnError = "stop",
    beside: Path | None = None,
    tag: str = "rankstone",
) -> Columns:
    """Write a truth or a run in another format: trec, csv, tsv, jsonl or parquet. Returns what was read.

    kind: "truth" or "run". columns, on_error, beside: as `read_truth` and `read_run` take them. tag: the last field of
    a TREC run.
    """
    if kind not in ("truth", "run"):
        raise ValueError(f"unknown kind {kind!r}; choose from truth, run")
    form = _format(target, target_format, _LISTS)
    if kind == "truth":
        read = read_truth(source, format=source_format, columns=columns, on_error=on_error)
    else:
        read = read_run(source, format=source_format, columns=columns, on_error=on_error, beside=beside)
    table = _plain(read)
    _check_ids(table, form, os.fspath(target))
    with replacing(target, form) as stream:
        if form == "trec":
            _write_trec(table, stream, kind, tag)
        else:
            _write_table(table, stream, form)
    return read


@contextlib.contextmanager
def replacing(path: Path, form: str = "") -> Iterator[Any]:
    """A stream to a file that takes its place when all is written; `-` is standard output."""
    import pyarrow

    name = os.fspath(path)
    ending = name.rpartition(".")[2].lower()
    codec = _CODECS.get(ending)
    if codec is not None and form == "parquet":
        raise ValueError(f"{name}: Parquet compresses by itself; leave .{ending} out")
    if name == "-":
        yield sys.stdout.buffer
        sys.stdout.flush()
        return
    final = os.path.realpath(name)  # a link stays a link
    if os.path.isdir(final):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if not os.path.isdir(os.path.dirname(final)):
        raise FileNotFoundError(errno.ENOENT, "no such folder", os.path.dirname(final))
    if os.path.exists(final) and not os.path.isfile(final):  # a device or a pipe
        with open(final, "wb") as stream:
            yield stream
        return
    folder, base = os.path.split(final)
    beside = os.path.join(folder, f".{base[:100]}.{secrets.token_hex(4)}.tmp")
    os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        if codec == "xz":
            import lzma

            with lzma.open(beside, "wb") as stream:
                yield stream
        else:
            with pyarrow.output_stream(beside, compression=codec) as stream:
                yield stream
        if os.path.exists(final):
            shutil.copymode(final, beside)
        _sync(beside)
        os.replace(beside, final)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
    with contextlib.suppress(OSError):
        _sync(folder)


def _sync(path: str) -> None:
    """Wait until it is on the disk."""
    handle = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _format(path: Path, given: str | None, suffixes: Mapping[str, str]) -> str:
    formats = sorted(set(suffixes.values()))
    if given is not None:
        if given not in formats:
            raise ValueError(f"unknown format {given!r}; choose from {', '.join(formats)}")
        return given
    endings = os.path.basename(os.fspath(path)).lower().split(".")[1:]
    while endings and endings[-1] in _CODECS:
        endings.pop()
    if not endings or endings[-1] not in suffixes:
        raise ValueError(
            f"cannot tell the format by the name {os.fspath(path)!r}; end it with .{', .'.join(suffixes)}, "
            f"or give the format: {', '.join(formats)}"
        )
    return suffixes[endings[-1]]


def _write_values(result: Result, stream: Any) -> None:
    """As trec_eval prints them: name, query and value, a query at a time, then the means."""
    lines = []
    shapes = {label: "%.0f" if parse(label)[0].row.kind == "count" else "%6.4f" for label in result}
    values = {label: result.per_query[label] for label in result}
    for at, query in enumerate(result.queries):
        if any(letter in str(query) for letter in " \t\n\r\v\f"):
            raise ValueError(f"query {query!r} has white space in it and cannot be written as trec")
        for label, shape in shapes.items():
            if not np.isnan(values[label][at]):  # the query does not count
                lines.append(f"{label:<22s}\t{query}\t{shape % values[label][at]}\n")
        if len(lines) >= _ROWS:
            stream.write("".join(lines).encode())
            lines = []
    lines += [f"{label:<22s}\tall\t{shape % result[label]}\n" for label, shape in shapes.items()]
    stream.write("".join(lines).encode())


def _plain(read: Columns) -> Any:
    """A truth or a run as a table of whole numbers, strings and float64."""
    import pyarrow

    found = {}
    for name in ("query", "item", "grade", "score"):
        column = getattr(read, name)
        if column is None:
            continue
        column = pyarrow.array(column)
        if pyarrow.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if pyarrow.types.is_boolean(column.type):
            column = column.cast(pyarrow.int8())
        elif pyarrow.types.is_floating(column.type):
            column = column.cast(pyarrow.float64())
        elif str(column.type) == "string_view":
            column = column.cast(pyarrow.large_string())
        found[name] = column
    return pyarrow.table(found)


def _check_ids(table: Any, form: str, target: str) -> None:
    """Refuse ids that would not be read back as they are."""
    import pyarrow.compute as pc
    from pyarrow import types

    if form not in ("trec", "csv", "tsv"):
        return
    for role in ("query", "item"):
        pattern = "^$" if form != "trec" else _NOT_TREC if role == "item" else _NOT_TREC + "|^[#\ufeff]"
        if types.is_integer(table[role].type):
            continue
        bad = pc.match_substring_regex(table[role], pattern)
        if pc.any(bad).as_py():
            first = table[role].filter(bad)[0].as_py()
            why = "is empty" if first == "" else "has white space or a leading # in it"
            raise ValueError(f"{target}: {role} {first!r} {why} and cannot be written as {form}; jsonl and parquet can")


def _write_table(table: Any, stream: Any, form: str) -> None:
    from pyarrow import parquet

    if form == "parquet":
        parquet.write_table(table, stream)
    elif form == "jsonl":
        table = _without_nan(table)
        for batch in table.to_batches(max_chunksize=_ROWS):
            stream.write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist()).encode())
    else:
        _write_delimited(_without_nan(table), stream, "," if form == "csv" else "\t")


def _write_delimited(table: Any, stream: Any, separator: str) -> None:
    import pyarrow.compute as pc
    from pyarrow import csv, types

    names = [f'"{name}"' if separator in name or '"' in name else name for name in table.column_names]
    stream.write((separator.join(names) + "\n").encode())
    texts = [one for one in table.columns if not (types.is_integer(one.type) or types.is_floating(one.type))]
    quoted = any(pc.any(pc.match_substring_regex(one, f'["\r\n{separator}]')).as_py() for one in texts)
    options = csv.WriteOptions(
        include_header=False, delimiter=separator, quoting_style="needed" if quoted else "none", batch_size=_ROWS
    )
    csv.write_csv(table, stream, options)


def _without_nan(table: Any) -> Any:
    """NaN as nothing; JSON and CSV have no word for it."""
    import pyarrow.compute as pc
    from pyarrow import types

    for at, column in enumerate(table.columns):
        if types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
            column = pc.if_else(pc.is_nan(column), None, column)
            table = table.set_column(at, table.column_names[at], column)
    return table


def _write_trec(table: Any, stream: Any, kind: str, tag: str) -> None:
    import pyarrow
    import pyarrow.compute as pc

    count = table.num_rows
    query, item = (table[one].cast(pyarrow.large_string()) for one in ("query", "item"))
    if kind == "truth":
        grade = table["grade"] if "grade" in table.column_names else pyarrow.array(np.ones(count, np.int8))
        fields = [query, "0", item, grade]
    else:
        codes = pc.dictionary_encode(table["query"].combine_chunks()).indices.to_numpy()
        scored = "score" in table.column_names
        score = table["score"].to_numpy().astype(np.float64) if scored else np.zeros(count)
        rank = _ranks(codes, score)
        fields = [query, "Q0", item, pyarrow.array(rank), table["score"] if scored else pyarrow.array(-rank), tag]
    text = pyarrow.large_string()
    texts = [pyarrow.scalar(one, text) if isinstance(one, str) else one_piece(one.cast(text)) for one in fields]
    for at in range(0, count, _ROWS):
        piece = [one if isinstance(one, pyarrow.Scalar) else one.slice(at, _ROWS) for one in texts]
        lines = pc.binary_join_element_wise(*piece, pyarrow.scalar(" ", text))
        stream.write(("\n".join(lines.to_pylist()) + "\n").encode())


def _ranks(codes: Any, score: Any) -> Any:
    """Places from 1 within each query, the best score first, as in the file where scores are equal."""
    order = np.lexsort((-score, codes))
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order))) + 1
    return ranks
