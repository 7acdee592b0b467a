"""Files of truths and runs: one row per format, known by a file's name or its first lines; plain or compressed.

Every row says how its files are known, read, read in batches and written. A reader is loaded when a file needs it.
"""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, BinaryIO, Literal, NamedTuple, TypeAlias, TypeGuard

from rankstone.data.arrow import Table, as_text, is_table, is_whole, movable, pyarrow
from rankstone.data.columns import Columns
from rankstone.data.lines import (
    HEAD,
    Batches,
    Data,
    Files,
    Opener,
    Text,
    ending_of,
    head_of,
    in_pieces,
    is_number,
    open_text,
    show,
)
from rankstone.data.lists import Lists
from rankstone.data.roles import Given, check_given, has_positions, roles_of
from rankstone.data.trec import NOT_TREC, looks_letor, looks_trec, read_letor, read_scores, read_trec, write_trec
from rankstone.errors import Advice, FileError, Hint, NoRowsError
from rankstone.progress import watched

Path = str | os.PathLike[str]
OnError = Literal["stop", "skip"]
Named: TypeAlias = "Mapping[str, str | int | None]"  # {"query": "user_id", "item": "movie", "grade": None}
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


# -- reading -------------------------------------------------------------------------------------------------

_FOLDERS = next(form for form in FORMATS.values() if form.several)  # what a folder's files are
LARGE_BYTES = 256 << 20  # on disk
LARGE_ROWS = 20_000_000  # of Parquet


def read_truth(
    path: Path,
    *,
    format: str | None = None,  # noqa: A002
    columns: Named | None = None,
    on_error: OnError = "stop",
) -> Columns | Lists:
    """A truth from a file: TREC qrels, CSV, TSV, JSON, Parquet or LETOR; plain, .gz, .bz2, .xz or .zst.

    path: a file, `-` for standard input, or for Parquet a folder or a pattern such as `part-*.parquet`. format: one of
    "trec", "csv", "tsv", "dat" (`::` between fields), "jsonl", "json", "parquet", "letor"; told from the name and the
    first lines if not given. columns: names by role, `{"query": "user_id", "item": "movie", "grade": "stars"}`, or
    positions from 0 where there is no header line; usual names are found without, and None stands for no such column.
    A row has an item, or a list of them: then the answer is `Lists`. on_error: "stop" at the first bad line, or "skip"
    bad lines, count them in `skipped` and keep the first hundred in `bad_lines`.
    """
    return _with_arrays(read_side(path, "truth", format, columns, on_error))


def read_run(
    path: Path,
    *,
    format: str | None = None,  # noqa: A002
    columns: Named | None = None,
    on_error: OnError = "stop",
    beside: Path | None = None,
) -> Columns | Lists:
    """A run from a file, as `read_truth` reads a truth: TREC, CSV, TSV, JSON, Parquet, or scores.

    A column `rank` serves where there is no score; with neither, the rows are in ranked order. Without a header line, a
    third column that counts 1, 2, 3 in each query is a rank, and `remarks` says so. A file of scores, one a
    line, belongs to the LETOR file `beside`; without it, `x.scores` belongs to `x`.
    """
    return _with_arrays(read_side(path, "run", format, columns, on_error, beside))


def _with_arrays(side: Columns | Lists) -> Columns | Lists:
    """The same, with ids that anybody can read."""
    if isinstance(side, Lists):
        return side
    return replace(side, query=movable(side.query), item=movable(side.item))


def same_ids(truth: Columns | Lists, run: Columns | Lists) -> tuple[Columns | Lists, Columns | Lists]:
    """The same, with ids as strings where one side has strings and the other whole numbers."""
    for role in ("query", "item"):
        ours, theirs = _field(truth, role), _field(run, role)
        judged, returned = getattr(truth, ours), getattr(run, theirs)
        if judged is None or returned is None:  # lists that are matched by their rows
            continue
        if is_whole(judged) and not is_whole(returned):
            truth = replace(truth, **{ours: as_text(judged)})
        elif is_whole(returned) and not is_whole(judged):
            run = replace(run, **{theirs: as_text(returned)})
    return truth, run


def all_same_ids(truth: Columns | Lists, runs: Sequence[Columns | Lists]) -> list[Columns | Lists]:
    """A truth and several runs, with ids of one kind."""
    read = list(runs)
    for at in [*range(len(read))] * 2:  # again, as a later one may have made the truth's ids text
        truth, read[at] = same_ids(truth, read[at])
    return [truth, *read]


def _field(side: Columns | Lists, role: str) -> str:
    return "items" if role == "item" and isinstance(side, Lists) else role


def is_path(side: object) -> TypeGuard[Path]:
    """Is it a file's name."""
    return isinstance(side, (str, os.PathLike))


def read_side(
    path: Path,
    kind: str,
    named: str | None = None,
    columns: Named | None = None,
    on_error: str = "stop",
    beside: Path | None = None,
) -> Columns | Lists:
    """A truth or a run from a file, with ids as the core has read them; `named`: its format."""
    name, form = os.fspath(path), named_format(named)
    if on_error not in ("stop", "skip"):
        raise ValueError(f"unknown on_error {on_error!r}; choose from stop, skip")
    given = check_given(columns, kind)
    ask = Ask(kind, given, on_error == "skip", name, None if beside is None else os.fspath(beside))
    with watched(f"reading {name}"):
        return _read_any(name, form, ask)


def _read_any(name: str, form: Format | None, ask: Ask) -> Columns | Lists:
    kind, given = ask.kind, ask.given
    several = _several(name, form)
    if several is not None and _FOLDERS.several is not None:
        return _FOLDERS.several(several, ask)
    text = open_text(name)
    if len(text.data) == 0:
        raise FileError(text.name, "is empty")
    form = form or detect_format(text, kind, given)
    _refuse_columns(given, form, text.name)
    if kind not in form.kinds:
        raise FileError(text.name, f"a {form.title} file is a {form.kinds[0]}, not a {kind}{form.note}")
    return form.read(text, ask)


def is_table_file(path: str) -> bool:
    """Does a file's name end as that of a table does."""
    return ending_of(path) in {"txt", *(ending for form in FORMATS.values() if form.table for ending in form.endings)}


def read_table(path: Path) -> tuple[Table, int]:
    """A file of named columns, whatever they are: CSV, TSV, JSON lines or Parquet; and the line of its first row."""
    text = open_text(os.fspath(path))
    if len(text.data) == 0:
        raise FileError(text.name, "is empty")
    ending = "tsv" if ending_of(text.name) == "txt" else ending_of(text.name)
    named = next((form for form in FORMATS.values() if ending in form.endings and not form.magic), None)
    form = by_magic(text.data) or named
    if form is None or form.table is None:
        raise FileError(text.name, "this is read from files that end in csv, tsv, jsonl, ndjson or parquet")
    try:
        return form.table(pyarrow.BufferReader(text.view())), 1 + form.header
    except pyarrow.ArrowInvalid as error:
        raise FileError(text.name, str(error)) from None


def open_batches(
    path: Path,
    *,
    columns: Named | None = None,
    format: str | None = None,  # noqa: A002
) -> Batches:
    """A run's file, a folder of Parquet files or a pattern such as `part-*.parquet`; options as for `rs.read_run`."""
    name, given, form = os.fspath(path), check_given(columns, "run"), named_format(format)
    source = _several(name, form)
    if source is not None:
        form = _FOLDERS
    else:
        form, source = form or _detect(name, "run", given), [name]
    if form.batches is None:
        fit = ", ".join(fit.name for fit in FORMATS.values() if fit.batches)
        raise FileError(name, f"a run in {form.name} format cannot be read in batches; choose from {fit}")
    _refuse_columns(given, form, name)
    return form.batches(name, source, given)


def is_large(path: Path, format: str | None = None) -> bool:  # noqa: A002
    """Is a run's file so large that it is better read in batches, and can it be."""
    name, form = os.fspath(path), named_format(format)
    try:
        source = [name] if os.path.isfile(name) else _several(name, form)
        paths = source if isinstance(source, list) else [] if source is None else _inside(source)
        if sum(map(os.path.getsize, paths)) < LARGE_BYTES and sum(map(_rows, paths)) < LARGE_ROWS:
            return False
        return not os.path.isfile(name) or (form or _detect(name, "run", {})).batches is not None
    except FileError:  # whoever reads it will say so
        return False


def _rows(path: str) -> int:
    """The rows of a file; 0 if its format does not tell, or it cannot be read."""
    with open(path, "rb") as file:
        form = by_magic(file.read(16))
    with contextlib.suppress(OSError, ValueError):
        return form.count(path) if form and form.count else 0
    return 0


def _detect(name: str, kind: str, given: Given) -> Format:
    head = head_of(name)
    if not head:
        raise FileError(name, "is empty")
    return detect_format(Text(name, head), kind, given)


def side_columns(given: Given | None, kind: str, side: object, others: Iterable[object]) -> Given | None:
    """What the caller said of a side's columns. Roles for both sides are not for one that has no columns."""
    roles = roles_of(given, kind) or None
    if roles is None or given is None or given.keys() & {"truth", "run"} or _has_columns(side, kind):
        return roles
    other = "run" if kind == "truth" else "truth"
    usable = roles.keys() <= roles_of(given, other).keys()
    return None if usable and any(_has_columns(one, other) for one in others) else roles


def _has_columns(side: object, kind: str) -> bool:
    """Could its columns be named. A file that cannot be read is told of when it is."""
    if not is_path(side) or side == "-":
        return is_path(side) or is_table(side)
    name = os.fspath(side)
    return not os.path.isfile(name) or os.path.getsize(name) == 0 or _detect(name, kind, {}).columns


def _refuse_columns(given: Given, form: Format, name: str) -> None:
    if given and not form.columns:
        fit = listed((fit.name for fit in FORMATS.values() if fit.columns), "and")
        raise ValueError(Advice(Hint("columns"), f" goes with {fit}; {name} is {form.name}"))


def _inside(folder: str) -> list[str]:
    return [os.path.join(inside, name) for inside, _, names in os.walk(folder) for name in names]


def _several(name: str, form: Format | None) -> Files | None:
    """A folder, or the files that a pattern names; None if it is neither."""
    if os.path.isdir(name):
        found: Files = name
    elif glob.has_magic(name) and not os.path.exists(name):
        found = sorted(path for path in glob.glob(name, recursive=True) if os.path.isfile(path))
        if not found:
            raise FileError(name, "no file has such a name")
    else:
        return None
    if form is not None and form is not _FOLDERS:
        raise FileError(name, f"a folder or a pattern can only be read as {_FOLDERS.name}, not as {form.name}")
    return found
