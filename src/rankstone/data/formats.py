"""The file formats, one row each: how a file is known, read, read in batches and written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, BinaryIO, NamedTuple

from rankstone.data.arrow import Table
from rankstone.data.columns import Columns
from rankstone.data.lines import HEAD, Data, Files, Opener, Text, ending_of, in_pieces, is_number, show
from rankstone.data.lists import Lists
from rankstone.data.roles import Given, has_positions
from rankstone.data.trec import NOT_TREC, looks_letor, looks_trec, read_letor, read_scores, read_trec, write_trec
from rankstone.errors import Advice, FileError, Hint, NoRowsError

_LINES = 1 << 16  # bytes that tell most formats


class Ask(NamedTuple):
    """What is wanted of a file."""

    kind: str  # "truth" or "run"
    given: Given
    skip: bool  # bad lines
    path: str
    beside: str | None  # the file that scores belong to


@dataclass(frozen=True, eq=False, repr=False)
class Format:
    """A file format."""

    name: str
    title: str
    endings: tuple[str, ...]  # of a file's name
    read: Callable[[Text, Ask], Columns | Lists]
    sure: bool = False  # is its ending proof
    borrowed: tuple[str, ...] = ()  # sure endings of others that its files have at times
    magic: bytes | None = None  # a file's first bytes
    looks: Callable[[bytes, str, str], bool] = lambda line, kind, name: False  # is a line like it, without a doubt
    may: Callable[[bytes], bool] = lambda line: False  # could it be the first line, where nothing else tells
    which: Callable[[bytes], str] | None = None  # of several alike a file is, by how it begins
    kinds: tuple[str, ...] = ("truth", "run")
    note: str = ""  # on what else there is, where it is not of the right kind
    columns: bool = False  # do its columns have names, so that it holds any table
    table: Callable[[Any], Table] | None = None  # any table, of Arrow's reader of bytes
    count: Callable[[str], int] | None = None  # the rows of a file, without reading it
    header: int = 0  # lines of a table before its first row
    batches: Opener | None = None  # of a run
    several: Callable[[Files, Ask], Columns | Lists] | None = None  # reads a folder, or a list of files
    write: Callable[[Table, BinaryIO, str, str], None] | None = None  # table, stream, kind, tag
    bad_ids: Mapping[str, str] = field(default_factory=dict)  # by role, a pattern of ids that would not be read back
    sql: str = ""  # DuckDB's function that reads it


# -- readers that a TREC file needs none of: a quick start ---------------------------------------------------


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
        lambda text, ask: _tables().Delimited(ask.kind, separator, ask.given, ask.skip)(text),
        may=may, columns=True,
        batches=in_pieces(lambda name, given: _tables().Delimited("run", separator, given), quotes=True),
    )  # fmt: skip
    if len(separator) > 1:
        return plain
    return replace(
        plain, endings=(name,), sure=True, sql="read_csv", bad_ids={"query": "^$", "item": "^$"}, header=1,
        table=lambda data: _tables().read_any(data, separator),
        write=lambda table, stream, *_: _tables().write_delimited(table, stream, separator),
    )  # fmt: skip


def _which_json(head: bytes) -> str:
    return str(_json().which_json(head))


_FORMATS = (
    Format(
        "trec", "TREC", ("trec", "qrels", "qrel", "run", "res"),
        lambda text, ask: read_trec(text, ask.kind, ask.skip),
        borrowed=("tsv",), looks=looks_trec, write=write_trec,
        batches=in_pieces(lambda name, given: lambda text: read_trec(text, "run", False)),
        bad_ids={"query": NOT_TREC + "|^[#\ufeff]", "item": NOT_TREC},
    ),
    _delimited("csv", ",", lambda line: b"," in line and b"\t" not in line),
    _delimited("tsv", "\t", lambda line: b"\t" in line),
    _delimited("dat", "::", lambda line: b"::" in line),
    Format(
        "jsonl", "JSON lines", ("jsonl", "ndjson"),
        lambda text, ask: _json().Reader(text.name, ask.kind, ask.given, ask.skip)(text),
        sure=True, columns=True, sql="read_json", looks=lambda line, kind, name: line.startswith((b"{", b"[{")),
        table=lambda data: _json().arrow_json.read_json(data),
        which=_which_json, batches=lambda *files: _json().open_json(*files),
        write=lambda table, stream, *_: _json().write_jsonl(table, stream),
    ),
    Format(
        "json", "JSON", ("json",),
        lambda text, ask: _json().Reader(text.name, ask.kind, {}, ask.skip, queries=True)(text),
        sure=True, sql="read_json", which=_which_json, batches=lambda *files: _json().open_json(*files, queries=True),
        table=lambda data: _json().arrow_json.read_json(data),
    ),
    Format(
        "parquet", "Parquet", ("parquet", "pq"),
        lambda text, ask: _parquet().read_parquet(text.name, text.data, ask.kind, ask.given, ask.skip),
        sure=True, columns=True, sql="read_parquet", magic=b"PAR1",
        table=lambda data: _parquet().parquet.read_table(data),
        count=lambda path: int(_parquet().parquet.read_metadata(path).num_rows),
        batches=lambda *files: _parquet().open_parquet(*files),
        several=lambda source, ask: _parquet().read_parquet(ask.path, source, ask.kind, ask.given, ask.skip),
        write=lambda table, stream, *_: _parquet().parquet.write_table(table, stream),
    ),
    Format(
        "letor", "LETOR", ("letor", "svm", "svmlight", "libsvm"),
        lambda text, ask: read_letor(text, ask.path, ask.skip),
        looks=lambda line, kind, name: looks_letor(line),
        kinds=("truth",), note="; a file of scores is the run that goes with it",
    ),
    Format(
        "scores", "scores", ("scores",),
        lambda text, ask: read_scores(text, ask.path, ask.beside, ask.skip),
        looks=lambda line, kind, name: kind == "run" and is_number(line),
        kinds=("run",), note="; a LETOR file is the truth that goes with it",
    ),
)  # fmt: skip
FORMATS: Mapping[str, Format] = {form.name: form for form in _FORMATS}


def named_format(name: str | None) -> Format | None:
    """The format of this name, or None for none."""
    if name is not None and name not in FORMATS:
        raise ValueError(f"unknown format {name!r}; choose from {', '.join(FORMATS)}")
    return None if name is None else FORMATS[name]


def by_magic(data: Data) -> Format | None:
    """The format that a file's first bytes prove."""
    return next((form for form in _FORMATS if form.magic and data[: len(form.magic)] == form.magic), None)


def detect_format(text: Text, kind: str, given: Given) -> Format:
    """The format of a file, by its name and its first lines; one with columns, if the caller says where they are."""
    if proven := by_magic(text.data):
        return proven
    name, ending, heads = os.path.basename(text.name).lower(), ending_of(text.name), _heads(text)
    named = next((form for form in _FORMATS if ending in form.endings), None)
    first = heads[0] if heads else b""
    forms = [form for form in _FORMATS if form.columns or not has_positions(given)]
    borrowed = any(ending in form.borrowed and form.looks(first, kind, name) for form in forms)
    if named is not None and named.sure and not borrowed:
        found: Format | None = named
    else:
        found = next((form for line in heads for form in forms if form.looks(line, kind, name)), named)
        found = found or next((form for form in forms if form.may(first)), None)
    if found is not None:
        return found if found.which is None else FORMATS[found.which(bytes(text.view()[:HEAD]))]
    if not heads:
        raise NoRowsError(text.name)
    raise FileError(
        text.name,
        Advice(
            f"cannot tell its format by its name or its first line {show(first[:40].decode('utf-8', 'replace'))}; ",
            "give ",
            Hint("format"),
            f", one of {', '.join(FORMATS)}",
        ),
    )


def _heads(text: Text) -> list[bytes]:
    """The first lines that are neither blank nor comments."""
    head = Text("", bytes(text.view()[:_LINES]))
    lines = (line.strip(b" \r\v\f") for _, _, line in head.lines())
    return list(islice((line for line in lines if line and not line.startswith(b"#")), 10))


def listed(words: Iterable[str], last: str = "or") -> str:
    """`a, b or c`."""
    *others, end = words
    return f"{', '.join(others)} {last} {end}"
