"""Files of truths and runs: read whole or in batches, with roles of columns, and ids of one type."""

from __future__ import annotations

import contextlib
import glob
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Literal, TypeAlias, TypeGuard, TypeVar

from rankstone.data.arrow import Table, as_text, is_table, is_whole, movable, pyarrow
from rankstone.data.columns import Columns
from rankstone.data.formats import (
    FORMATS,
    HEAD_LINES,
    Format,
    ReadRequest,
    by_magic,
    detect_format,
    listed,
    named_format,
)
from rankstone.data.lines import (
    Batches,
    Files,
    TextFile,
    ending_of,
    head_of,
    open_text,
    with_newlines,
)
from rankstone.data.lists import Lists
from rankstone.data.roles import RoleMap, check_role_map, roles_of
from rankstone.errors import Advice, FileError, Hint, InputError, InputTypeError, show
from rankstone.progress import watched

Path = str | os.PathLike[str]
T = TypeVar("T", bound="Columns | Lists")
R = TypeVar("R", bound="Columns | Lists")
OnError = Literal["stop", "skip"]
ColumnNames: TypeAlias = "Mapping[str, str | int | None]"  # {"query": "user_id", "item": "movie", "grade": None}
_FIELDS = re.compile(rb'[\s,:"{}\[\]]+')  # between words of a line


# -- reading -------------------------------------------------------------------------------------------------

_FOLDERS = next(form for form in FORMATS.values() if form.several)  # the format that folders are read as
LARGE_BYTES = 256 << 20  # on disk
LARGE_ROWS = 20_000_000  # of Parquet


def read_truth(
    path: Path,
    *,
    format: str | None = None,  # noqa: A002
    columns: ColumnNames | None = None,
    on_error: OnError = "stop",
) -> Columns | Lists:
    """Read relevance judgements from a file.

    Formats are TREC qrels, CSV, TSV, JSON, Parquet and LETOR; plain or compressed (.gz, .bz2, .xz, .zst).

    Parameters
    ----------
    path : str or path-like
        A file, `-` for standard input, or for Parquet a folder or a pattern such as `part-*.parquet`.
    format : str, optional
        One of "trec", "csv", "tsv", "dat" (fields separated by `::`), "jsonl", "json", "parquet", "letor". Detected by
        file extension and first lines if omitted.
    columns : dict, optional
        Columns by role, `{"query": "user_id", "item": "movie", "grade": "stars"}`, or positions from 0 in files without
        a header line. Usual names are detected; None means that there is no such column.
    on_error : {"stop", "skip"}, default "stop"
        Raise at the first bad line, or skip bad lines, count them in `skipped` and keep the first hundred in
        `bad_lines`.

    Returns
    -------
    Columns or Lists
        `Lists` if a row has a list of items, else `Columns`.

    Raises
    ------
    rs.errors.FileError
        With the path, the line and the problem.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "qrels.txt")
    >>> path.write_text("q1 0 d1 2\\nq1 0 d2 0\\n")
    20
    >>> rs.read_truth(path)
    2 rows of query, item, grade
    q1  d1  2.0
    q1  d2  0.0
    """
    return _with_arrays(read_side(path, "truth", format, columns, on_error))


def read_run(
    path: Path,
    *,
    format: str | None = None,  # noqa: A002
    columns: ColumnNames | None = None,
    on_error: OnError = "stop",
    features: Path | None = None,
) -> Columns | Lists:
    """Read a run from a file: TREC, CSV, TSV, JSON, Parquet, or scores; plain or compressed.

    A `rank` column is used if there is no score; with neither, the rows are in ranked order. Without a header line, a
    third column that counts 1, 2, 3 per query is a rank, which `notes` reports.

    Parameters
    ----------
    path : str or path-like
        A file, `-` for standard input, or for Parquet a folder or a pattern such as `part-*.parquet`.
    format : str, optional
        One of "trec", "csv", "tsv", "dat" (fields separated by `::`), "jsonl", "json", "parquet", "scores". Detected by
        file extension and first lines if omitted.
    columns : dict, optional
        Columns by role, `{"query": "user_id", "item": "movie", "score": "prediction"}`, or positions from 0 in files
        without a header line. Usual names are detected; None means that there is no such column.
    on_error : {"stop", "skip"}, default "stop"
        Raise at the first bad line, or skip bad lines, count them in `skipped` and keep the first hundred in
        `bad_lines`.
    features : str or path-like, optional
        The LETOR file whose rows the scores belong to, for a file with one score per line. Without it, `x.scores`
        belongs to `x`.

    Returns
    -------
    Columns or Lists
        `Lists` if a row has a list of items, else `Columns`.

    Raises
    ------
    rs.errors.FileError
        With the path, the line and the problem.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "run.csv")
    >>> path.write_text("query,item,score\\nq1,d1,0.9\\nq1,d2,0.4\\n")
    37
    >>> rs.read_run(path)
    2 rows of query, item, score
    q1  d1  0.9
    q1  d2  0.4
    """
    return _with_arrays(read_side(path, "run", format, columns, on_error, features))


def _with_arrays(side: Columns | Lists) -> Columns | Lists:
    """The same, with ids as NumPy or Arrow arrays in place of the core's strings."""
    if isinstance(side, Lists):
        return side
    return replace(side, query=movable(side.query), item=movable(side.item))


def same_ids(truth: T, run: R) -> tuple[T, R]:
    """The same, with integer ids as strings where the other side has strings."""
    for role in ("query", "item"):
        ours, theirs = _field(truth, role), _field(run, role)
        judged, returned = getattr(truth, ours), getattr(run, theirs)
        if judged is None or returned is None:  # lists matched by row
            continue
        if is_whole(judged) and not is_whole(returned):
            truth = replace(truth, **{ours: as_text(judged)})
        elif is_whole(returned) and not is_whole(judged):
            run = replace(run, **{theirs: as_text(returned)})
    return truth, run


def all_same_ids(truth: T, runs: Sequence[T]) -> list[T]:
    """A truth and several runs, with ids of the same type."""
    read = list(runs)
    for at in [*range(len(read))] * 2:  # twice, as a later run may have changed the truth's ids to strings
        truth, read[at] = same_ids(truth, read[at])
    return [truth, *read]


def _field(side: Columns | Lists, role: str) -> str:
    return "items" if role == "item" and isinstance(side, Lists) else role


def is_path(side: object) -> TypeGuard[Path]:
    """Is it a path."""
    return isinstance(side, (str, os.PathLike))


def path_name(path: object) -> str:
    """The name of a file; raises for what is no path."""
    if not is_path(path):
        raise InputTypeError(f"give the path of a file, not {show(path)}")
    name = os.fspath(path)
    if "\0" in name or any("\ud800" <= letter <= "\udbff" for letter in name):
        raise FileError(repr(name), "this is no name of a file")
    return name


# The start of a query, after comments.
_SQL = re.compile(
    r"(?:[\s(]|--[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*(?:select|with|from|values|table|describe|pragma)[\s('\"]",
    re.IGNORECASE,
)


def check_path(name: str, folder: str = "") -> None:
    """Refuse a text that is SQL and no file in the folder: only `rs.sql.table` runs it."""
    path = os.path.join(folder, name)
    if _SQL.match(name) and not os.path.exists(path) and not glob.glob(path):
        sql = 'pass rs.sql.table("select ...") to run SQL, or write its rows to a file with the command rankstone sql'
        raise FileError(name, f"there is no such file; {sql}")


def read_side(
    path: Path,
    kind: str,
    named: str | None = None,
    columns: ColumnNames | None = None,
    on_error: str = "stop",
    features: Path | None = None,
) -> Columns | Lists:
    """A truth or a run from a file, with ids as the core reads them; named: its format."""
    name, form = path_name(path), named_format(named)
    if on_error not in ("stop", "skip"):
        raise InputError(f"unknown on_error {on_error!r}; choose from stop, skip")
    role_map = check_role_map(columns, kind)
    rows = None if features is None else path_name(features)
    request = ReadRequest(kind, role_map, on_error == "skip", name, rows, (named or "").partition(":")[2])
    with watched(f"reading {name}"):
        return replace(_read_any(name, form, request), path=name)


def place_in(path: str, query: object, item: object) -> str:
    """The file and the second line, or the only one, with these ids, for an error; the file if it has no such lines."""
    with contextlib.suppress(OSError, ValueError):
        text, wanted = open_text(path), {str(query).encode(), str(item).encode()}
        if path != "-" and item is not None and not by_magic(text.data):
            fits = (number for number, _, line in with_newlines(text).lines() if wanted <= {*_FIELDS.split(line)})
            return ":".join([path, *map(str, list(islice(fits, 2))[-1:])])
    return path


def _read_any(name: str, form: Format | None, request: ReadRequest) -> Columns | Lists:
    kind, role_map = request.kind, request.role_map
    name = _qrels_in(name, kind)
    several = _several(name, form)
    if several is not None and _FOLDERS.several is not None:
        return _FOLDERS.several(several, request)
    text = open_text(name)
    if len(text.data) == 0:
        raise FileError(text.name, "is empty")
    text = text if by_magic(text.data) else _without_request(with_newlines(text))
    form = form or detect_format(text, kind, role_map)
    _check_columns(role_map, form, text.name)
    if not form.kinds:
        raise FileError(text.name, form.note)
    if kind not in form.kinds:
        raise FileError(text.name, f"is a {form.kinds[0]} ({form.title}), not a {kind}{form.note}")
    return form.read(text, request)


def _qrels_in(name: str, kind: str) -> str:
    """The qrels of a folder as BEIR has it: `qrels/test.tsv`, or the only split that there is."""
    if kind != "truth" or not os.path.isdir(folder := os.path.join(name, "qrels")):
        return name
    splits = sorted(path for path in os.listdir(folder) if path.endswith(".tsv"))
    if "test.tsv" not in splits and len(splits) != 1:
        raise FileError(folder, f"has the splits {', '.join(splits) or 'none'}; pass the file of one of them")
    return os.path.join(folder, "test.tsv" if "test.tsv" in splits else splits[0])


_REQUEST = re.compile(rb"\s*(?:GET|POST|PUT)\s+\S+\s*\n")


def _without_request(text: TextFile) -> TextFile:
    """The same, without a first line such as `POST /index/_rank_eval`, as consoles of search engines have it."""
    request = _REQUEST.match(text.head(HEAD_LINES))
    if request is None:
        return text
    return TextFile(text.name, text.whole[text.start + request.end() :], 1 + request[0].count(b"\n"))


def is_table_file(path: str) -> bool:
    """Is the file extension that of a table."""
    return ending_of(path) in {"txt", *(ending for form in FORMATS.values() if form.table for ending in form.endings)}


def read_table(path: Path) -> tuple[Table, int]:
    """A table with any columns from a CSV, TSV, JSON lines or Parquet file, and the line of its first row."""
    check_path(os.fspath(path))
    text = open_text(os.fspath(path))
    if len(text.data) == 0:
        raise FileError(text.name, "is empty")
    ending = "tsv" if ending_of(text.name) == "txt" else ending_of(text.name)
    named = next((form for form in FORMATS.values() if ending in form.endings and not form.magic), None)
    form = by_magic(text.data) or named
    if form is None or form.table is None:
        raise FileError(text.name, "expected a file with the extension csv, tsv, jsonl, ndjson or parquet")
    try:
        return form.table(pyarrow.BufferReader(text.view())), 1 + form.header
    except (pyarrow.ArrowException, OSError) as error:
        raise FileError(text.name, str(error)) from None


def open_batches(
    path: Path,
    *,
    columns: ColumnNames | None = None,
    format: str | None = None,  # noqa: A002
) -> Batches:
    """A run in batches, from a file, a folder of Parquet files or a pattern; options as for `rs.read_run`."""
    name, role_map, form = os.fspath(path), check_role_map(columns, "run"), named_format(format)
    source = _several(name, form)
    if source is not None:
        form = _FOLDERS
    else:
        form, source = form or _detect(name, "run", role_map), [name]
    if form.batches is None:
        fit = ", ".join(fit.name for fit in FORMATS.values() if fit.batches)
        raise FileError(name, f"a run in {form.name} format cannot be read in batches; choose from {fit}")
    _check_columns(role_map, form, name)
    return form.batches(name, source, role_map)


def is_large(path: Path, format: str | None = None) -> bool:  # noqa: A002
    """Is the file of a run large enough to be read in batches, and does its format allow it."""
    name, form = os.fspath(path), named_format(format)
    try:
        source = [name] if os.path.isfile(name) else _several(name, form)
        paths = source if isinstance(source, list) else [] if source is None else _inside(source)
        if sum(map(os.path.getsize, paths)) < LARGE_BYTES and sum(map(_rows, paths)) < LARGE_ROWS:
            return False
        return not os.path.isfile(name) or (form or _detect(name, "run", {})).batches is not None
    except FileError:  # raised again when the file is read
        return False


def _rows(path: str) -> int:
    """Number of rows of a file; 0 if the format does not store it, or the file cannot be read."""
    with open(path, "rb") as file:
        form = by_magic(file.read(16))
    with contextlib.suppress(OSError, ValueError):
        return form.count(path) if form and form.count else 0
    return 0


def format_of_file(name: str) -> Format | None:
    """The format of a file; None if it cannot be detected."""
    with contextlib.suppress(FileError, OSError):
        return _detect(name, "truth", {})
    return None


def _detect(name: str, kind: str, role_map: RoleMap) -> Format:
    head = head_of(name)
    if not head:
        raise FileError(name, "is empty")
    return detect_format(TextFile(name, head), kind, role_map)


def side_columns(role_map: RoleMap | None, kind: str, side: object, others: Iterable[object]) -> RoleMap | None:
    """The roles that `columns=` has for a side. Roles for both sides are ignored by a side without named columns."""
    roles = roles_of(role_map, kind) or None
    if roles is None or role_map is None or role_map.keys() & {"truth", "run"} or _has_columns(side, kind):
        return roles
    other = "run" if kind == "truth" else "truth"
    usable = roles.keys() <= roles_of(role_map, other).keys()
    return None if usable and any(_has_columns(side, other) for side in others) else roles


def _has_columns(side: object, kind: str) -> bool:
    """Can its columns be named. Files that cannot be read raise later."""
    if not is_path(side) or side == "-":
        return is_path(side) or is_table(side)
    name = os.fspath(side)
    return not os.path.isfile(name) or os.path.getsize(name) == 0 or _detect(name, kind, {}).columns


def _check_columns(role_map: RoleMap, form: Format, name: str) -> None:
    if role_map and not form.columns and not form.objects:
        fit = listed((fit.name for fit in FORMATS.values() if fit.columns), "and")
        raise InputError(Advice(Hint("columns"), f" goes with {fit}; {name} is {form.name}"))


def _inside(folder: str) -> list[str]:
    return [os.path.join(inside, name) for inside, _, names in os.walk(folder) for name in names]


def _several(name: str, form: Format | None) -> Files | None:
    """A folder, or the files that match a pattern; None if it is neither."""
    check_path(name)
    if os.path.isdir(name):
        files: Files = name
    elif glob.has_magic(name) and not os.path.exists(name):
        files = sorted(path for path in glob.glob(name, recursive=True) if os.path.isfile(path))
        if not files:
            raise FileError(name, "no file matches this pattern")
    else:
        return None
    if form is not None and form is not _FOLDERS:
        raise FileError(name, f"a folder or a pattern can only be read as {_FOLDERS.name}, not as {form.name}")
    return files
