"""Reads the text files that trec_eval reads: judgments, preferences, results, and means for Z scores."""

from __future__ import annotations

import gc
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from rankstone.align.ranked import Floats, Ints

_TEXT = pa.large_string()
_NAME = pa.dictionary(pa.int32(), pa.string())  # a text that many lines share
_WORDS = {
    "qrels": "qid iter docno rel",
    "prefs": "qid jg jsg docno rel_level",
    "results": "qid iter docno rank sim run_id",
    "zscores": "qid measure mean stddev",
}
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf(inity)?)", re.IGNORECASE)


class BadFile(Exception):  # noqa: N818  it says what is the matter
    """A file that cannot be read, or a line of it that makes no sense."""


@dataclass(frozen=True)
class Judgments:
    """One entry a line. A code is an index into names in the order of their bytes."""

    queries: list[bytes]
    query: Ints
    items: Any  # distinct documents, an Arrow array
    item: Ints
    grade: Floats
    group: Ints  # whose judgment it is
    subgroup: Ints


@dataclass(frozen=True)
class Results:
    """One entry a retrieved document."""

    query: Any  # Arrow arrays
    item: Any
    score: Floats
    run_id: bytes


def read_qrels(path: str, *, comments: bool) -> Judgments:
    """Judgments of documents: `qid iter docno rel`."""
    lines = _lines(path, "qrels", {"qid": _NAME, "docno": _TEXT, "rel": pa.int32()}, comments=comments)
    return _judgments(lines)


def read_jg(path: str, *, comments: bool) -> Judgments:
    """Judgments by several people: `qid jg docno rel`."""
    lines = _lines(path, "qrels", {"qid": _NAME, "iter": _NAME, "docno": _TEXT, "rel": pa.int32()}, comments=comments)
    return _judgments(lines, group="iter")


def read_prefs(path: str, *, comments: bool) -> Judgments:
    """Preferences: `qid jg jsg docno rel_level`, by somebody, in a set of documents compared with each other."""
    kinds = {"qid": _NAME, "jg": _NAME, "jsg": _NAME, "docno": _TEXT, "rel_level": pa.float64()}
    return _judgments(_lines(path, "prefs", kinds, comments=comments), group="jg", subgroup="jsg")


def read_qrels_prefs(path: str, *, comments: bool) -> Judgments:
    """Judgments of documents, to be taken for preferences."""
    kinds = {"qid": _NAME, "iter": _NAME, "docno": _TEXT, "rel": pa.float64()}
    return _judgments(_lines(path, "qrels", kinds, comments=comments), group="iter")


def read_results(path: str, *, comments: bool) -> Results:
    """Retrieved documents: `qid iter docno rank sim run_id`; the last line's run id is the run's."""
    kinds = {"qid": _NAME, "docno": _TEXT, "sim": pa.float64(), "run_id": _NAME}
    lines = _lines(path, "results", kinds, comments=comments, blanks=True, more=True)
    run_id = lines["run_id"][-1].as_py() if len(lines["run_id"]) else b""
    return Results(lines["qid"], lines["docno"], _numbers(lines["sim"]), run_id)


def read_zscores(path: str) -> dict[bytes, dict[bytes, tuple[float, float]]]:
    """Mean and standard deviation by query and measure: `qid measure mean stddev`."""
    kinds = {"qid": _NAME, "measure": _NAME, "mean": pa.float64(), "stddev": pa.float64()}
    lines = _lines(path, "zscores", kinds, comments=False)
    found: dict[bytes, dict[bytes, tuple[float, float]]] = {}
    columns = (lines["qid"].to_pylist(), lines["measure"].to_pylist(), *map(_numbers, (lines["mean"], lines["stddev"])))
    for query, measure, mean, deviation in zip(*columns, strict=True):
        found.setdefault(query, {})[measure] = (float(mean), float(deviation))
    return found


# -- lines ---------------------------------------------------------------------------------------------------


def _lines(
    path: str, what: str, kinds: dict[str, Any], *, comments: bool, blanks: bool = False, more: bool = False
) -> dict[str, Any]:
    """The wanted fields of all lines, as one Arrow array each; texts as bytes.

    comments: lines that start with # are none. blanks: nor are empty lines. more: fields may follow the last.
    """
    data = _content(path)
    names = _WORDS[what].split()
    found = _even_lines(data, names, kinds, comments)
    if found is None:
        found = _even_lines(_single_spaced(data), names, kinds, comments)
    if found is None:
        found = _any_lines(data, path, names, kinds, comments, blanks, more)
    return {name: _as_bytes(column) for name, column in found.items()}


def _content(path: str) -> bytes:
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise BadFile(f"cannot read {path}: {error.strerror}") from None
    if not data:
        raise BadFile(f"cannot read {path}: it is empty")
    return data


def _single_spaced(data: bytes) -> bytes:
    """The same with one space between the fields of a line."""
    data = data.translate(bytes.maketrans(b"\t\r\v\f", b"    "))
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    return data.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")


def _even_lines(data: bytes, names: list[str], kinds: dict[str, Any], comments: bool) -> dict[str, Any] | None:
    """The quick way, for lines that all have the same fields with one space between them; else None."""
    if any(odd in data for odd in (b"\t", b"\r", b"\v", b"\f", b"\0", b"  ")):
        return None
    ends = {names[0]: _NAME, names[-1]: kinds.get(names[-1], _NAME)}  # a space at an end makes it empty
    wanted = {**kinds, **ends}
    try:
        table = pa.csv.read_csv(
            pa.BufferReader(data),
            pa.csv.ReadOptions(column_names=names),
            pa.csv.ParseOptions(delimiter=" ", quote_char=False, escape_char=False, ignore_empty_lines=False),
            pa.csv.ConvertOptions(check_utf8=False, column_types=wanted, include_columns=[*wanted], null_values=[]),
        )
    except pa.ArrowInvalid:
        return None
    columns = {name: table[name].unify_dictionaries().combine_chunks() for name in wanted}
    for name, column in columns.items():
        if wanted[name] == pa.float64() and pc.any(pc.is_nan(column)).as_py():
            return None
        if name in ends and wanted[name] == _NAME:
            texts = column.dictionary.cast(pa.binary()).to_pylist()
            if any(text == b"" or (comments and text.startswith(b"#")) for text in texts):
                return None
    return {name: columns[name] for name in kinds}


def _any_lines(
    data: bytes, path: str, names: list[str], kinds: dict[str, Any], comments: bool, blanks: bool, more: bool
) -> dict[str, Any]:
    """Line by line. Says what is wrong with which line."""
    wanted = [(names.index(name), kind) for name, kind in kinds.items()]
    columns: list[list[Any]] = [[] for _ in wanted]
    width = len(names)
    collecting = gc.isenabled()
    gc.disable()  # it would look at every line's list again and again
    try:
        for number, line in enumerate(data.removesuffix(b"\n").split(b"\n"), 1):
            fields = line.split()
            if (comments and fields and fields[0].startswith(b"#")) or (blanks and not fields):
                continue
            if len(fields) < width or (len(fields) > width and not more):
                raise BadFile(f"{path}:{number}: expected {width} fields ({' '.join(names)}), found {len(fields)}")
            for (at, kind), column in zip(wanted, columns, strict=True):
                column.append(_parsed(fields[at], kind, path, number, names[at]))
    finally:
        if collecting:
            gc.enable()
    if not columns[0]:
        raise BadFile(f"{path}: no line to read")
    arrays = {}
    for (name, kind), column in zip(kinds.items(), columns, strict=True):
        if kind in (_TEXT, _NAME):
            text = pa.array(column, pa.large_binary()).view(pa.large_string())
            arrays[name] = text.dictionary_encode() if kind == _NAME else text
        else:
            arrays[name] = pa.array(column, kind)
    return arrays


def _parsed(text: bytes, kind: Any, path: str, number: int, name: str) -> Any:
    if kind in (_TEXT, _NAME):
        return text
    if not _NUMBER.fullmatch(text):
        raise BadFile(f"{path}:{number}: {name} {text.decode(errors='replace')!r} is not a number")
    if kind == pa.float64():
        return float(text)
    value = whole(text.decode())
    if abs(value) >= 2**31:
        raise BadFile(f"{path}:{number}: {name} {value} is too large")
    return value


def whole(text: str) -> int:
    """The whole number that a text starts with, or 0."""
    match = re.match(r"\s*([+-]?\d+)", text)
    return int(match[1]) if match else 0


def real(text: str) -> float:
    """The number that a text starts with, or 0."""
    match = _NUMBER.match(text.strip().encode())
    return float(match[0]) if match else 0.0


# -- columns -------------------------------------------------------------------------------------------------


def _as_bytes(column: Any) -> Any:
    """Texts as bytes, whatever their encoding."""
    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(column.indices, column.dictionary.cast(pa.large_binary()))
    return column.cast(pa.large_binary()) if pa.types.is_large_string(column.type) else column


def _numbers(column: Any) -> Floats:
    return column.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)


def _judgments(lines: dict[str, Any], group: str | None = None, subgroup: str | None = None) -> Judgments:
    grade = _numbers(lines["rel"] if "rel" in lines else lines["rel_level"])
    queries, query = _coded(lines["qid"])
    items, item = _coded(lines["docno"].dictionary_encode())
    same = np.zeros(len(grade), dtype=np.int64)
    groups = _coded(lines[group])[1] if group else same
    subgroups = _coded(lines[subgroup])[1] if subgroup else same
    return Judgments(queries.to_pylist(), query, items, item, grade, groups, subgroups)


def _coded(column: Any) -> tuple[Any, Ints]:
    """Distinct texts in the order of their bytes, and each row's place among them."""
    distinct = column.dictionary
    order = pc.sort_indices(distinct)
    places = np.empty(len(distinct), dtype=np.int64)
    places[order.to_numpy()] = np.arange(len(distinct))
    return distinct.take(order), places[column.indices.to_numpy()]
