"""Truths and runs in files: TREC, CSV, TSV, JSON lines, Parquet, and LETOR with scores; plain or compressed."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from rankstone.errors import FileError, NoRowsError
from rankstone.inputs.columns import BadLine, Columns
from rankstone.inputs.delimited import read_delimited
from rankstone.inputs.jsonl import read_jsonl
from rankstone.inputs.letor import find_beside, read_letor, read_scores
from rankstone.inputs.lines import RowError, Text, open_text, show, to_number
from rankstone.inputs.parquet import read_parquet
from rankstone.inputs.roles import check_given
from rankstone.inputs.trec import read_trec

__all__ = ["FORMATS", "BadLine", "FileError", "is_path", "read_run", "read_truth", "same_ids"]

Path = str | os.PathLike[str]
OnError = Literal["stop", "skip"]

FORMATS = ("trec", "csv", "tsv", "jsonl", "parquet", "letor", "scores")

_SURE = {"csv": "csv", "tsv": "tsv", "jsonl": "jsonl", "ndjson": "jsonl", "parquet": "parquet", "pq": "parquet"}
_LIKELY = {
    **dict.fromkeys(("trec", "qrels", "qrel", "run", "res"), "trec"),
    **dict.fromkeys(("letor", "svm", "svmlight", "libsvm"), "letor"),
    "scores": "scores",
}
_LETOR = re.compile(rb"\s*[-+.\deE]+\s+(qid:\S|\d+:[-+.\d])")
_HEAD = 1 << 16


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
    from dataclasses import replace

    for role in ("query", "item"):
        one, other = getattr(truth, role), getattr(run, role)
        if _is_whole(one) and not _is_whole(other):
            truth = replace(truth, **{role: _as_text(one)})
        elif _is_whole(other) and not _is_whole(one):
            run = replace(run, **{role: _as_text(other)})
    return truth, run


def is_path(one: Any) -> bool:
    """Is it a file's name."""
    return isinstance(one, (str, os.PathLike))


def _is_whole(column: Any) -> bool:
    if isinstance(column, np.ndarray):
        return column.dtype.kind in "iu"
    import pyarrow

    kind = pyarrow.array(column).type
    return bool(pyarrow.types.is_integer(kind.value_type if pyarrow.types.is_dictionary(kind) else kind))


def _as_text(column: Any) -> Any:
    import pyarrow

    found = pyarrow.array(column)
    if pyarrow.types.is_dictionary(found.type):
        found = found.dictionary_decode()
    return found.cast(pyarrow.string())


def _read(
    path: Path,
    kind: str,
    form: str | None,
    columns: Mapping[str, str | int] | None,
    on_error: str,
    beside: Path | None,
) -> Columns:
    name = os.fspath(path)
    if form is not None and form not in FORMATS:
        raise ValueError(f"unknown format {form!r}; choose from {', '.join(FORMATS)}")
    if on_error not in ("stop", "skip"):
        raise ValueError(f"unknown on_error {on_error!r}; choose from stop, skip")
    given, skip = check_given(columns, kind), on_error == "skip"
    if name != "-" and not os.path.isfile(name):
        several = _several(name, form)
        if several is not None:
            return read_parquet(name, several, kind, given, skip)
    text = open_text(name)
    if len(text.data) == 0:
        raise FileError(text.name, "is empty")
    form = form or _told(text, kind)
    if given and form in ("trec", "letor", "scores"):
        raise ValueError(f"columns= goes with csv, tsv, jsonl and parquet; {text.name} is {form}")
    if form == "parquet":
        return read_parquet(text.name, text.data, kind, given, skip)
    if form == "trec":
        return read_trec(text, kind, skip)
    if form == "jsonl":
        return read_jsonl(text, kind, given, skip)
    if form in ("csv", "tsv"):
        return read_delimited(text, kind, "," if form == "csv" else "\t", given, skip)
    if (form == "letor") != (kind == "truth"):
        raise FileError(text.name, "a LETOR file is a truth, and a file of scores is the run that goes with it")
    if form == "letor":
        return read_letor(text, name, skip)
    return read_scores(text, find_beside(name) if beside is None else os.fspath(beside), skip)


def _several(name: str, form: str | None) -> Any:
    """A folder, or the files that a pattern names; None if it is neither."""
    if os.path.isdir(name):
        found: Any = name
    elif glob.has_magic(name) and not os.path.exists(name):
        found = sorted(one for one in glob.glob(name, recursive=True) if os.path.isfile(one))
        if not found:
            raise FileError(name, "no file has such a name")
    else:
        return None
    if form not in (None, "parquet"):
        raise FileError(name, f"a folder or a pattern can only be read as parquet, not as {form}")
    return found


def _told(text: Text, kind: str) -> str:
    """The format, by the name and the first lines."""
    if text.data[:4] == b"PAR1":
        return "parquet"
    name = os.path.basename(text.name).lower()
    endings = name.split(".")[1:]
    while endings and endings[-1] in ("gz", "bz2", "xz", "zst"):
        endings.pop()
    ending = endings[-1] if endings else ""
    heads = _heads(text)
    sure = _SURE.get(ending)
    if sure is not None and not (sure == "tsv" and heads and _like_trec(heads[0], kind, name)):
        return sure
    form = next((form for form in (_looks(head, kind, name) for head in heads) if form), _LIKELY.get(ending))
    if form is not None:
        return form
    if not heads:
        raise NoRowsError(text.name)
    if b"\t" in heads[0] or b"," in heads[0]:
        return "tsv" if b"\t" in heads[0] else "csv"
    first = show(heads[0][:40].decode("utf-8", "replace"))
    raise FileError(
        text.name,
        f"cannot tell its format by its name or its first line {first}; give format=, one of {', '.join(FORMATS)}",
    )


def _heads(text: Text) -> list[bytes]:
    """The first lines that are neither blank nor comments."""
    head = Text("", bytes(text.view()[:_HEAD]))
    lines = (line.strip(b" \r\v\f") for _, _, line in head.lines())
    return [line for line in lines if line and not line.startswith(b"#")][:10]


def _looks(line: bytes, kind: str, name: str) -> str | None:
    """What format a line has, if there is no doubt."""
    if line.startswith(b"{"):
        return "jsonl"
    if _LETOR.match(line):
        return "letor"
    if _like_trec(line, kind, name):
        return "trec"
    return "scores" if kind == "run" and _number(line) else None


def _like_trec(line: bytes, kind: str, name: str) -> bool:
    """Fields in the right number and place. Without a hint in the name, the second must be what it is in most files."""
    fields = line.split()
    if kind == "truth":
        hint, fits = "qrel" in name, len(fields) == 4 and _number(fields[3])
    else:
        hint, fits = "trec" in name, len(fields) >= 6 and _number(fields[3]) and _number(fields[4])
    return fits and (hint or fields[1].upper() in (b"Q0", b"0"))


def _number(word: bytes) -> bool:
    try:
        to_number(word, "score")
    except RowError:
        return False
    return True
