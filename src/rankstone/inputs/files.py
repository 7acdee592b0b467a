"""Truths and runs in files: TREC, CSV, TSV, JSON lines, Parquet, and LETOR with scores; plain or compressed."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from rankstone.errors import FileError
from rankstone.inputs.arrow import as_text, is_whole
from rankstone.inputs.batches import Batches, head_of
from rankstone.inputs.columns import Columns
from rankstone.inputs.formats import FORMATS, Ask, Format, detect_format, listed, named_format
from rankstone.inputs.lines import Text, open_text
from rankstone.inputs.parquet import count_rows
from rankstone.inputs.roles import Given, check_given

Path = str | os.PathLike[str]
OnError = Literal["stop", "skip"]

_FOLDERS = next(form for form in FORMATS.values() if form.several)  # what a folder's files are
LARGE_BYTES = 256 << 20  # on disk
LARGE_ROWS = 20_000_000  # of Parquet


def read_truth(
    path: Path,
    *,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str | int] | None = None,
    on_error: OnError = "stop",
) -> Columns:
    """A truth from a file: TREC qrels, CSV, TSV, JSON lines, Parquet or LETOR; plain, .gz, .bz2, .xz or .zst.

    path: a file, `-` for standard input, or for Parquet a folder or a pattern such as `part-*.parquet`. format: one of
    "trec", "csv", "tsv", "jsonl", "parquet", "letor"; told from the name and the first lines if not given. columns:
    names by role, `{"query": "user_id", "item": "movie", "grade": "stars"}`, or positions from 0 where there is no
    header line; usual names are found without. on_error: "stop" at the first bad line, or "skip" bad lines, count them
    in `skipped` and keep the first hundred in `bad_lines`.
    """
    return _read(path, "truth", format, columns, on_error, None)


def read_run(
    path: Path,
    *,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str | int] | None = None,
    on_error: OnError = "stop",
    beside: Path | None = None,
) -> Columns:
    """A run from a file, as `read_truth` reads a truth: TREC, CSV, TSV, JSON lines, Parquet, or scores.

    A column `rank` serves where there is no score; with neither, the rows are in ranked order. A file of scores, one a
    line, belongs to the LETOR file `beside`; without it, `x.scores` belongs to `x`.
    """
    return _read(path, "run", format, columns, on_error, beside)


def same_ids(truth: Columns, run: Columns) -> tuple[Columns, Columns]:
    """The same, with ids as strings where one side has strings and the other whole numbers."""
    for role in ("query", "item"):
        one, other = getattr(truth, role), getattr(run, role)
        if is_whole(one) and not is_whole(other):
            truth = replace(truth, **{role: as_text(one)})
        elif is_whole(other) and not is_whole(one):
            run = replace(run, **{role: as_text(other)})
    return truth, run


def is_path(one: Any) -> bool:
    """Is it a file's name."""
    return isinstance(one, (str, os.PathLike))


def _read(
    path: Path,
    kind: str,
    form: str | None,
    columns: Mapping[str, str | int] | None,
    on_error: str,
    beside: Path | None,
) -> Columns:
    name, row = os.fspath(path), named_format(form)
    if on_error not in ("stop", "skip"):
        raise ValueError(f"unknown on_error {on_error!r}; choose from stop, skip")
    given = check_given(columns, kind)
    ask = Ask(kind, given, on_error == "skip", name, None if beside is None else os.fspath(beside))
    several = _several(name, row)
    if several is not None and _FOLDERS.several is not None:
        return _FOLDERS.several(several, ask)
    text = open_text(name)
    if len(text.data) == 0:
        raise FileError(text.name, "is empty")
    row = row or detect_format(text, kind)
    _refuse_columns(given, row, text.name)
    if kind not in row.kinds:
        raise FileError(text.name, f"a {row.title} file is a {row.kinds[0]}, not a {kind}{row.note}")
    return row.read(text, ask)


def open_batches(
    path: Any,
    *,
    columns: Mapping[str, str | int] | None = None,
    format: str | None = None,  # noqa: A002
) -> Batches:
    """A run's file, a folder of Parquet files or a pattern such as `part-*.parquet`; options as for `rs.read_run`."""
    name, given, row = os.fspath(path), check_given(columns, "run"), named_format(format)
    source = _several(name, row)
    if source is not None:
        row = _FOLDERS
    else:
        row, source = row or _detect_run(name), [name]
    if row.batches is None:
        fit = ", ".join(form.name for form in FORMATS.values() if form.batches)
        raise FileError(name, f"a run in {row.name} format cannot be read in batches; choose from {fit}")
    _refuse_columns(given, row, name)
    return row.batches(name, source, given)


def is_large(path: Any, format: str | None = None) -> bool:  # noqa: A002
    """Is a run's file so large that it is better read in batches, and can it be."""
    name, row = os.fspath(path), named_format(format)
    try:
        source = [name] if os.path.isfile(name) else _several(name, row)
        paths = source if isinstance(source, list) else [] if source is None else _inside(source)
        if sum(map(os.path.getsize, paths)) < LARGE_BYTES and sum(map(count_rows, paths)) < LARGE_ROWS:
            return False
        return not os.path.isfile(name) or (row or _detect_run(name)).batches is not None
    except FileError:  # whoever reads it will say so
        return False


def _detect_run(name: str) -> Format:
    head = head_of(name)
    if not head:
        raise FileError(name, "is empty")
    return detect_format(Text(name, head), "run")


def _refuse_columns(given: Given, row: Format, name: str) -> None:
    if given and not row.columns:
        fit = listed((form.name for form in FORMATS.values() if form.columns), "and")
        raise ValueError(f"columns= goes with {fit}; {name} is {row.name}")


def _inside(folder: str) -> list[str]:
    return [os.path.join(one, name) for one, _, names in os.walk(folder) for name in names]


def _several(name: str, row: Format | None) -> Any:
    """A folder, or the files that a pattern names; None if it is neither."""
    if os.path.isdir(name):
        found: Any = name
    elif glob.has_magic(name) and not os.path.exists(name):
        found = sorted(one for one in glob.glob(name, recursive=True) if os.path.isfile(one))
        if not found:
            raise FileError(name, "no file has such a name")
    else:
        return None
    if row not in (None, _FOLDERS):
        raise FileError(name, f"a folder or a pattern can only be read as {_FOLDERS.name}, not as {row.name}")
    return found
