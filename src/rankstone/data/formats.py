"""File formats of truths and runs, detected by file extension or content; plain or compressed.

One row per format: how to detect it, read it, read it in batches and write it. Readers are imported on first use.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice, pairwise
from typing import Any, BinaryIO, NamedTuple, TypeAlias, TypeVar

import numpy as np

from rankstone.data.arrow import Table, distinct
from rankstone.data.columns import Columns
from rankstone.data.lines import (
    HEAD,
    Data,
    Entry,
    FileRows,
    Files,
    Opener,
    RowError,
    TextFile,
    ending_of,
    in_pieces,
    is_number,
    open_text,
)
from rankstone.data.lists import Lists
from rankstone.data.roles import RoleMap, has_positions
from rankstone.data.tool_formats import TOOLS, Path, ToolFormat, at_path, text_roles
from rankstone.data.trec import NOT_TREC, looks_letor, looks_trec, read_letor, read_scores, read_trec, write_trec
from rankstone.errors import Advice, FileError, Hint, InputError, NoRowsError, show

HEAD_LINES = 1 << 16  # bytes that are enough to detect most formats


T = TypeVar("T")
FindPath: TypeAlias = "Callable[[dict[str, Any]], Path | None]"  # where entries are in a document like this sample


class ReadRequest(NamedTuple):
    """What to read from a file, and how."""

    kind: str  # "truth" or "run"
    role_map: RoleMap
    skip: bool  # skip bad lines
    path: str
    features: str | None  # the LETOR file whose rows the scores belong to
    part: str = ""  # the run that is meant, in a file with several


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
            return _noted(tool, request.kind, _json().read_columns(text, request.kind, tool.table), text.name)
        sample = around.sample(text)
        path = next((path for fits, path in _fitting(sample) if fits is tool), None)
        if path is None:
            raise FileError(text.name, f"is not as files of {tool.title} are")
        if tool.plain and not request.skip:
            with contextlib.suppress(FileError):
                return _noted(tool, request.kind, around.read(text, request), text.name)
        entries, ids = partial(around.entries, text), around.ids or _json().id_column
        names = text_roles(sample, request.kind) or {"item": request.kind}
        return replace(_read_tool(tool, text.name, request, path, entries, text.whole.count, ids), names=names)

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
    base, _, part = str(name).partition(":")
    if not isinstance(name, str) or base not in FORMATS or (part and not FORMATS[base].tool):
        raise InputError(f"unknown format {name!r}; choose from {', '.join(FORMATS)}")
    return FORMATS[base]


def by_magic(data: Data) -> Format | None:
    """The format with these first bytes."""
    return next((form for form in _FORMATS if form.magic and data[: len(form.magic)] == form.magic), None)


def detect_format(text: TextFile, kind: str, role_map: RoleMap) -> Format:
    """The format of a file, by extension and content; that of a tool, if the caller names no columns."""
    plain = _detect_plain(text, kind, role_map)
    tool = None if role_map or plain.sample is None else _detect_tool(text.name, plain.sample(text))
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


def find_entries(text: TextFile, forms: Iterable[tuple[T, FindPath]]) -> tuple[T, Iterator[Entry]] | None:
    """The first of several forms that a file of JSON, CSV or Parquet has, and its entries; None if it has none."""
    around = _detect_plain(text, "truth", {})
    if around.sample is None or around.entries is None:
        return None
    for outer, inner in _unwrapped(around.sample(text)):
        for form, path in forms:
            if isinstance(inner, dict) and (inside := path(inner)) is not None:
                return form, around.entries(text, (*outer, *inside), True)
    return None


# -- files of tools: detection ---------------------------------------------------------------------------------


def _detect_tool(name: str, sample: Any) -> ToolFormat | None:
    """The tool format of a file with such a sample, which has no other reading; None for none."""
    tools = [tool for tool, _ in _fitting(sample)]
    if len(tools) > 1:
        choices = " or ".join(repr(tool.name) for tool in tools)
        raise FileError(name, Advice(f"could be read as {choices}; pass ", Hint("format"), ", one of them"))
    return tools[0] if tools else None


def _fitting(sample: Any) -> list[tuple[ToolFormat, Path]]:
    """The formats that a sample fits, each with the path of its entries; what is wrapped in an answer comes first."""
    for around, inner in _unwrapped(sample):
        if not isinstance(inner, dict):
            continue
        tools = [tool for tool in TOOLS if tool.fetched or "_source" not in around]
        fitting = [(tool, (*around, *path)) for tool in tools if (path := tool.path(inner)) is not None]
        if fitting:
            return [fit for fit in fitting if not fit[0].fallback] or fitting[:1]
    return []


def entries_of_tool(name: str, tool: str) -> Iterator[Any] | None:
    """The objects of a file, if it is of this tool; None if it is not."""
    text = open_text(name)
    around = _detect_plain(text, "truth", {})
    sample = None if around.sample is None else around.sample(text)
    path = next((path for fits, path in _fitting(sample) if fits.name == tool), None)
    if path is None or around.entries is None:
        return None
    return (entry.value for entry in around.entries(text, path, False))


def _unwrapped(sample: Any, around: Path = ()) -> Iterator[tuple[Path, Any]]:
    """A sample and what is in it: the sources of hits, the answer inside of `rank_eval`, the first of several rows."""
    if isinstance(sample, list):
        yield from _unwrapped(sample[0], ("*",)) if sample and not around else ()
        return
    for path in (("hits", "hits", "*", "_source"), ("_source",), ("rank_eval",)):
        if isinstance(inner := at_path(sample, path), dict):
            yield (*around, *path), inner
    yield around, sample


# -- files of tools: reading -----------------------------------------------------------------------------------


def _read_tool(
    tool: ToolFormat,
    file: str,
    request: ReadRequest,
    path: Path,
    entries: Callable[[Path, bool], Iterator[Entry]],
    count: Callable[[bytes], int],
    ids: Callable[[list[Any]], Any],
) -> Lists:
    """A truth or a run in the format of a tool.

    entries: those of the file at a path, and whether to look for keys that are twice in an object, which takes time.
    count: how often bytes occur in the file. ids: a column of them.
    """
    kind, rows = request.kind, FileRows(file, request.skip)
    part, lists = _collected(tool, request, rows, entries(path, not tool.fields))
    items = [item for own, _ in lists.values() for item in own]
    if any(count(f'"{field}"'.encode()) > len(items) for field in tool.fields):  # an object may have a field twice
        part, lists = _collected(tool, request, rows, entries(path, True))
    values: list[Any] = [own for items, own in lists.values() if items]
    valued = bool(values) and values[0] is not None
    if any((own is not None) != valued for own in values):
        raise FileError(file, "some of its lists have scores, others none")
    if tool.ordered and kind == "run" and valued:
        valued = all(map(_falls, values))
    sizes = np.cumsum([0, *(len(own) for own, _ in lists.values())])
    numbers = np.array([value for own in values for value in own]) if valued else None
    side = Lists(sizes, ids(items), numbers, ids(list(lists)))
    return _noted(tool, kind, rows.side(side), f"{file} ({part})" if part else file)


def _collected(tool: ToolFormat, request: ReadRequest, rows: FileRows, entries: Iterator[Entry]) -> tuple[str, _Listed]:
    """The lists of the run that is meant, and its name if there are several."""
    from rankstone.data.json_files import item_ids, to_id

    parts: dict[str, _Listed] = {}
    several = request.kind == "truth" or tool.by_item  # may a query be in several entries
    for number, entry in enumerate(entries, 1):
        try:
            lists = parts.setdefault(tool.part(entry) if tool.part else "", {})
            for query, items, values in getattr(tool, request.kind)(entry):
                name, before = to_id(number if query is None else query, "query"), None
                if name in lists:
                    before = lists[name]
                    if not several:
                        raise RowError(f"query {show(name)} is there twice")
                lists[name] = _joined(before, item_ids(items), values)
        except RowError as problem:  # noqa: PERF203
            rows.reject(entry.line, str(problem))
        except (AttributeError, KeyError, TypeError, IndexError, ValueError):
            rows.reject(entry.line, f"{show(entry.value)} is not as {tool.title} has it")
    parts = {name: lists for name, lists in parts.items() if lists}
    part, lists = _chosen(rows.name, tool, parts, request.part)
    return part if len(parts) > 1 else "", lists


def _joined(before: Any, items: list[Any], values: list[float] | None) -> tuple[list[Any], list[float] | None]:
    if before is None:
        return items, values
    if not before[0] or not items:
        return (items, values) if items else before
    if (before[1] is None) != (values is None):
        raise RowError("some items of a query have scores, others none")
    before[0].extend(items)
    if values is not None:
        before[1].extend(values)
    return before


_Listed = dict[Any, "tuple[list[Any], list[float] | None]"]  # items and values, by query


def _noted(tool: ToolFormat, kind: str, side: Any, file: str) -> Any:
    """The same side, with a note on how it was read."""
    lists = isinstance(side, Lists)
    queries = len(side) if lists else len(distinct(side.query))
    what = f"{len(side.items if lists else side.item):,} {'ratings' if kind == 'truth' else 'items'}"
    more = f" ({tool.note})" if tool.note and kind == "truth" else ""
    return replace(side, notes=(*side.notes, f"{file}: read as {tool.title}: {queries:,} queries, {what}{more}"))


def _falls(scores: Sequence[float]) -> bool:
    """Does each score have a lower one after it, so that they say what the order says."""
    return all(first > second for first, second in pairwise(scores))


def _chosen(file: str, tool: ToolFormat, parts: dict[str, _Listed], wanted: str) -> tuple[str, _Listed]:
    """The run that is meant, and its lists: the only one, the one that was named, or the split `test` of a data set."""
    if not parts:
        return "", {}
    tests = [part for part in parts if part.rpartition("/")[2] == "test"]
    one_set = len({part.rpartition("/")[0] for part in parts}) == 1
    chosen = [wanted] if wanted else list(parts) if len(parts) == 1 else tests if one_set else []
    if len(chosen) != 1 or chosen[0] not in parts:
        hint = Hint("format", f"{tool.name}:{next(iter(parts))}")
        raise FileError(file, Advice(f"has the runs {', '.join(map(repr, parts))}; pass one of them: ", hint))
    return chosen[0], parts[chosen[0]]
