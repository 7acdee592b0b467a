"""Reads the text files that trec_eval reads: judgments, preferences, results, and means for Z scores."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from rankstone import _core
from rankstone.align.alignment import Floats
from rankstone.data.lines import Data, IrregularError, RowError, open_text
from rankstone.data.trec import Layout
from rankstone.errors import FileError, NoRowsError

_RESULTS = Layout("qid iter docno rank sim run_id", "q-i-n-", more=True, utf8=False)
_ZSCORES = Layout("qid measure mean stddev", "iinn", comments=False, blanks=False, utf8=False)
_NUMBER = re.compile(rb"[+-]?((\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|inf(inity)?)", re.IGNORECASE)
_TOO_LARGE = 2**31  # for a grade


class Judgments(NamedTuple):
    """One entry a line."""

    query: _core.Strings
    item: _core.Strings
    grade: Floats
    group: _core.Strings | None = None  # whose judgment it is
    subgroup: _core.Strings | None = None


class Results(NamedTuple):
    """One entry a retrieved document."""

    query: _core.Strings
    item: _core.Strings
    score: Floats
    run_id: bytes


class Format(NamedTuple):
    """A format of judgments: its lines, and which measures are for it."""

    names: str
    fields: str  # as in `Layout`
    over: str


# Judgments of documents, those by several people (`qid jg docno rel`), preferences by somebody in a set of documents
# compared with each other, and judgments to be taken for preferences.
FORMATS = {
    "qrels": Format("qid iter docno rel", "q-iw", "qrels"),
    "qrels_jg": Format("qid iter docno rel", "qiiw", "qrels_jg"),
    "prefs": Format("qid jg jsg docno rel_level", "qiiin", "prefs"),
    "qrels_prefs": Format("qid iter docno rel", "qiin", "prefs"),
}


def read_judgments(path: str, form: str = "qrels", *, comments: bool) -> Judgments:
    """Judgments in one of the formats."""
    layout = Layout(FORMATS[form].names, FORMATS[form].fields, comments=comments, blanks=False, utf8=False)
    (query, *groups, item), (grade,) = _columns(path, _content(path), layout)
    return Judgments(query, item, grade, *groups)


def read_results(path: str, *, comments: bool) -> Results:
    """Retrieved documents: `qid iter docno rank sim run_id`; the last line's run id is the run's."""
    layout, data = _RESULTS._replace(comments=comments), _content(path)
    (query, item), (score,) = _columns(path, data, layout)
    return Results(query, item, score, _last_line(data, layout).split()[5])


def read_zscores(path: str) -> dict[bytes, dict[bytes, tuple[float, float]]]:
    """Mean and standard deviation by query and measure: `qid measure mean stddev`."""
    ids, numbers = _columns(path, _content(path), _ZSCORES)
    found: dict[bytes, dict[bytes, tuple[float, float]]] = {}
    for query, measure, mean, deviation in zip(*ids, *(column.tolist() for column in numbers), strict=True):
        found.setdefault(query, {})[measure] = (mean, deviation)
    return found


# -- lines ---------------------------------------------------------------------------------------------------

Read = tuple[list[_core.Strings], list[Floats]]  # the ids and the numbers of all lines


def _content(path: str) -> Data:
    data = open_text(path).data
    if not data:
        raise NoRowsError(path, "it is empty")
    return data


def _columns(path: str, data: Data, layout: Layout) -> Read:
    try:
        ids, numbers = layout.parse(data)
    except IrregularError:
        return _one_by_one(path, data, layout)
    if not len(numbers[0]):
        raise NoRowsError(path, "no line to read")
    if "w" in layout.fields and np.abs(numbers[0]).max() >= _TOO_LARGE:
        return _one_by_one(path, data, layout)
    return ids, numbers


def _one_by_one(path: str, data: Data, layout: Layout) -> Read:
    """Numbers as C reads them; an error names the line."""
    words: list[bytes] = []
    values: list[list[float]] = []
    for number, line in enumerate(data[:].rstrip(b" \t\r\v\f").removesuffix(b"\n").split(b"\n"), 1):
        if layout.skips(line):
            continue
        try:
            parts = list(zip(layout.split(line), layout.fields, layout.names.split(), strict=False))
            values.append([_number(text, what, name) for text, what, name in parts if what in "nw"])
        except RowError as problem:
            raise FileError(path, str(problem), number) from None
        words.append(b" ".join(text for text, what, _ in parts if what in "iq"))
    fields = "".join(what for what in layout.fields if what in "iq")
    ids, _ = Layout("", fields, comments=False, utf8=False).parse(b"\n".join(words))
    return ids, list(np.array(values).T.copy())


def _number(text: bytes, what: str, name: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise RowError(f"{name} {text.decode(errors='replace')!r} is not a number")
    if what == "n":
        return float(text)
    value = whole(text.decode())
    if abs(value) >= _TOO_LARGE:
        raise RowError(f"{name} {value} is too large")
    return value


def _last_line(data: Data, layout: Layout) -> bytes:
    end = len(data)
    while True:
        start = data.rfind(b"\n", 0, end) + 1
        line: bytes = data[start:end]
        if not layout.skips(line):
            return line
        end = start - 1


def whole(text: str) -> int:
    """The whole number that a text starts with, or 0."""
    found = re.match(r"\s*([+-]?)0*(\d{0,99})", text)  # Python reads no more than some thousand digits
    assert found
    return int(found[1] + (found[2] or "0"))


def real(text: str) -> float:
    """The number that a text starts with, or 0."""
    match = _NUMBER.match(text.strip().encode())
    return float(match[0]) if match else 0.0
