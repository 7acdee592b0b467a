"""File formats of truths and runs, detected by file extension or content; plain or compressed.

One row per format: how to detect it, read it, read it in batches and write it. Readers are imported on first use.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, BinaryIO

from rankstone.data.arrow import Table
from rankstone.data.columns import Columns
from rankstone.data.lines import HEAD, Data, Files, Opener, TextFile, ending_of, in_pieces, is_number
from rankstone.data.lists import Lists
from rankstone.data.roles import RoleMap, has_positions
from rankstone.data.tool_formats import TOOLS, ToolFormat
from rankstone.data.tool_reader import ReadRequest, detect_tool, noted, read_tool
from rankstone.data.trec import NOT_TREC, looks_letor, looks_trec, read_letor, read_scores, read_trec, write_trec
from rankstone.errors import Advice, FileError, Hint, InputError, NoRowsError, show

HEAD_LINES = 1 << 16  # bytes that are enough to detect most formats


@dataclass(frozen=True, eq=False, repr=False)
class Format:
    """A file format."""

    name: str
    title: str
    endings: tuple[str, ...]  # file extensions
    read: Callable[[TextFile, ReadRequest], Columns | Lists]
    sure: bool = False  # is the extension enough to detect it
    borrowed: tuple[str, ...] = ()  # extensions of other formats that its files may have
    magic: bytes | None = None  # first bytes of a file
    looks: Callable[[bytes, str, str], bool] = lambda line, kind, name: False  # is this clearly a line of it
    may: Callable[[bytes], bool] = lambda line: False  # may this be its first line; used last
    which: Callable[[bytes], str] | None = None  # the exact one of several similar formats, by the first bytes
    kinds: tuple[str, ...] = ("truth", "run")
    note: str = ""  # hint for the error of a wrong kind
    columns: bool = False  # are its columns named
    objects: bool = False  # have its lists objects, whose parts are named
    table: Callable[[Any], Table] | None = None  # reads any table from an Arrow reader
    count: Callable[[str], int] | None = None  # number of rows, without reading the file
    header: int = 0  # lines before the first row
    batches: Opener | None = None  # reads a run in batches
    several: Callable[[Files, ReadRequest], Columns | Lists] | None = None  # reads a folder, or a list of files
    write: Callable[[Table, BinaryIO, str, str], None] | None = None  # table, stream, kind, tag
    bad_ids: Mapping[str, str] = field(default_factory=dict)  # by role, a pattern of ids that cannot be read back
    sql: str = ""  # DuckDB function that reads it
    sample: Callable[[TextFile], Any] | None = None  # the first of its objects, by which tools' formats are detected
    entries: Callable[[TextFile, Sequence[str], bool], Iterator[Any]] | None = None  # its objects, at a path
    ids: Callable[[list[Any]], Any] | None = None  # a column of ids in its objects
    tool: bool = False  # is it the format of a tool, in a file of another format


def _tables() -> Any:
    from rankstone.data import delimited

    return delimited


def _json() -> Any:
    from rankstone.data import json_files

    return json_files


def _parquet() -> Any:
    from rankstone.data import parquet

    return parquet


# -- the formats ---------------------------------------------------------------------------------------------


def _delimited(name: str, separator: str, may: Callable[[bytes], bool]) -> Format:
    plain = Format(
        name, name.upper(), (),
        lambda text, request: _tables().Delimited(request.kind, separator, request.role_map, request.skip)(text),
        may=may, columns=True,
        batches=in_pieces(lambda name, role_map: _tables().Delimited("run", separator, role_map), quotes=True),
    )  # fmt: skip
    if len(separator) > 1:
        return plain
    return replace(
        plain, endings=(name,), sure=True, sql="read_csv", bad_ids={"query": "^$", "item": "^$"}, header=1,
        table=lambda data: _tables().read_any(data, separator),
        sample=lambda text: _tables().sample_of(text, separator),
        entries=lambda text, *_: _tables().entries(text, separator), ids=lambda words: _tables().ids_of(words),
        write=lambda table, stream, *_: _tables().write_delimited(table, stream, separator),
    )  # fmt: skip


def _which_json(head: bytes) -> str:
    return str(_json().which_json(head))


def _json_sample(text: TextFile) -> Any:
    return _json().sample_of(text.head(HEAD_LINES))


def _json_entries(text: TextFile, path: Sequence[str], checked: bool) -> Any:
    return _json().entries_at(text, path, checked)


def _tool(tool: ToolFormat) -> Format:
    """The format of a tool, in a file of JSON, CSV or Parquet."""

    def read(text: TextFile, request: ReadRequest) -> Columns | Lists:
        around = _detect_plain(text, request.kind, {})
        if around.sample is None or around.entries is None:
            raise FileError(text.name, f"is {around.name}, and {tool.title} files are not")
        if tool.table is not None:
            return noted(tool, request.kind, _json().read_columns(text, request.kind, tool.table), text.name)
        if tool.plain:
            with contextlib.suppress(FileError):
                return noted(tool, request.kind, around.read(text, request), text.name)
        entries, ids = partial(around.entries, text), around.ids or _json().id_column
        return read_tool(tool, text.name, request, around.sample(text), entries, text.whole.count, ids)

    def write(table: Table, stream: BinaryIO, kind: str, tag: str) -> None:
        texts = tool.write(table, kind, tag) if tool.write else ()
        stream.writelines(text.encode() for text in texts)

    return Format(
        tool.name, tool.title, (), read, kinds=tool.kinds, note=tool.refusal, tool=True,
        write=None if tool.write is None else write,
    )  # fmt: skip


_FORMATS = (
    Format(
        "trec", "TREC", ("trec", "qrels", "qrel", "run", "res"),
        lambda text, request: read_trec(text, request.kind, request.skip),
        borrowed=("tsv",), looks=looks_trec, write=write_trec,
        batches=in_pieces(lambda name, role_map: lambda text: read_trec(text, "run", False)),
        bad_ids={"query": NOT_TREC + "|^[#\ufeff]", "item": NOT_TREC},
    ),
    _delimited("csv", ",", lambda line: b"," in line and b"\t" not in line),
    _delimited("tsv", "\t", lambda line: b"\t" in line),
    _delimited("dat", "::", lambda line: b"::" in line),
    Format(
        "jsonl", "JSON lines", ("jsonl", "ndjson"),
        lambda text, request: _json().Reader(text.name, request.kind, request.role_map, request.skip)(text),
        sure=True, columns=True, sql="read_json", looks=lambda line, kind, name: line.startswith((b"{", b"[{")),
        table=lambda data: _json().arrow_json.read_json(data),
        which=_which_json, batches=lambda *files: _json().open_json(*files), sample=_json_sample, entries=_json_entries,
        write=lambda table, stream, *_: _json().write_jsonl(table, stream),
    ),
    Format(
        "json", "JSON", ("json",),
        lambda text, request: _json().Reader(text.name, *request[:3], queries=True)(text),
        sure=True, sql="read_json", which=_which_json, batches=lambda *files: _json().open_json(*files, queries=True),
        table=lambda data: _json().arrow_json.read_json(data), objects=True,
        sample=_json_sample, entries=_json_entries,
    ),
    Format(
        "parquet", "Parquet", ("parquet", "pq"),
        lambda text, request: _parquet().read_parquet(
            text.name, text.whole, request.kind, request.role_map, request.skip
        ),
        sure=True, columns=True, sql="read_parquet", magic=b"PAR1",
        table=lambda data: _parquet().parquet.read_table(data),
        count=lambda path: int(_parquet().parquet.read_metadata(path).num_rows),
        sample=lambda text: _parquet().sample_of(text), entries=lambda text, *_: _parquet().entries(text),
        batches=lambda *files: _parquet().open_parquet(*files),
        several=lambda source, request: _parquet().read_parquet(
            request.path, source, request.kind, request.role_map, request.skip
        ),
        write=lambda table, stream, *_: _parquet().parquet.write_table(table, stream),
    ),
    Format(
        "letor", "LETOR", ("letor", "svm", "svmlight", "libsvm"),
        lambda text, request: read_letor(text, request.path, request.skip),
        looks=lambda line, kind, name: looks_letor(line),
        kinds=("truth",), note="; a file of scores is the run that goes with it",
    ),
    Format(
        "scores", "scores", ("scores",),
        lambda text, request: read_scores(text, request.path, request.features, request.skip),
        looks=lambda line, kind, name: kind == "run" and is_number(line),
        kinds=("run",), note="; a LETOR file is the truth that goes with it",
    ),
)  # fmt: skip
FORMATS: Mapping[str, Format] = {form.name: form for form in (*_FORMATS, *map(_tool, TOOLS))}


def named_format(name: str | None) -> Format | None:
    """The format of this name, or None for none. Behind a colon is the run that is meant: `mteb:default/test`."""
    if name is None:
        return None
    base, _, part = name.partition(":") if isinstance(name, str) else (name, "", "")
    if base not in FORMATS or (part and not FORMATS[base].tool):
        raise InputError(f"unknown format {name!r}; choose from {', '.join(FORMATS)}")
    return FORMATS[base]


def by_magic(data: Data) -> Format | None:
    """The format with these first bytes."""
    return next((form for form in _FORMATS if form.magic and data[: len(form.magic)] == form.magic), None)


def detect_format(text: TextFile, kind: str, role_map: RoleMap) -> Format:
    """The format of a file, by extension and content; that of a tool, if the caller names no columns."""
    plain = _detect_plain(text, kind, role_map)
    tool = None if role_map or plain.sample is None else detect_tool(text.name, plain.sample(text))
    return plain if tool is None or (tool.plain and kind not in tool.kinds) else FORMATS[tool.name]


def _detect_plain(text: TextFile, kind: str, role_map: RoleMap) -> Format:
    """By extension and first lines; a format with columns, if the caller passes column positions."""
    if proven := by_magic(text.data):
        return proven
    name, ending, heads = os.path.basename(text.name).lower(), ending_of(text.name), _heads(text)
    named = next((form for form in _FORMATS if ending in form.endings), None)
    first = heads[0] if heads else b""
    forms = [form for form in _FORMATS if form.columns or not has_positions(role_map)]
    borrowed = any(ending in form.borrowed and form.looks(first, kind, name) for form in forms)
    if named is not None and named.sure and not borrowed:
        detected: Format | None = named
    else:
        detected = next((form for line in heads for form in forms if form.looks(line, kind, name)), named)
        detected = detected or next((form for form in forms if form.may(first)), None)
    if detected is not None:
        return detected if detected.which is None else FORMATS[detected.which(text.head(HEAD))]
    if not heads:
        raise NoRowsError(text.name)
    raise FileError(
        text.name,
        Advice(
            f"unknown format: neither the extension nor the first line {show(first[:40].decode('utf-8', 'replace'))} ",
            "determines it; pass ",
            Hint("format"),
            f", one of {', '.join(FORMATS)}",
        ),
    )


def _heads(text: TextFile) -> list[bytes]:
    """The first lines that are neither blank nor comments."""
    head = TextFile("", text.head(HEAD_LINES))
    lines = (line.strip(b" \r\v\f") for _, _, line in head.lines())
    return list(islice((line for line in lines if line and not line.startswith(b"#")), 10))


def listed(words: Iterable[str], last: str = "or") -> str:
    """`a, b or c`."""
    *others, end = words
    return f"{', '.join(others)} {last} {end}"
