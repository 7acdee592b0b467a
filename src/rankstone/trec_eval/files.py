"""Reads the text files that trec_eval reads: judgments, preferences, results, and means for Z scores."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rankstone import _core
from rankstone.align.alignment import Floats
from rankstone.trec_eval.ahead import QRELS, RESULTS, BadFile, Shape, parsed

_QRELS, _PREFS = "qid iter docno rel", "qid jg jsg docno rel_level"
_RESULTS, _ZSCORES = "qid iter docno rank sim run_id", "qid measure mean stddev"
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


def read_qrels(path: str, *, comments: bool) -> Judgments:
    """Judgments of documents: `qid iter docno rel`."""
    (query, item), (grade,) = _Lines(path, _QRELS, QRELS._replace(comments=comments)).read()
    return Judgments(query, item, grade)


def read_jg(path: str, *, comments: bool) -> Judgments:
    """Judgments by several people: `qid jg docno rel`."""
    (query, group, item), (grade,) = _Lines(path, _QRELS, Shape("qiiw", comments)).read()
    return Judgments(query, item, grade, group)


def read_prefs(path: str, *, comments: bool) -> Judgments:
    """Preferences: `qid jg jsg docno rel_level`, by somebody, in a set of documents compared with each other."""
    (query, group, subgroup, item), (level,) = _Lines(path, _PREFS, Shape("qiiin", comments)).read()
    return Judgments(query, item, level, group, subgroup)


def read_qrels_prefs(path: str, *, comments: bool) -> Judgments:
    """Judgments of documents, to be taken for preferences."""
    (query, group, item), (level,) = _Lines(path, _QRELS, Shape("qiin", comments)).read()
    return Judgments(query, item, level, group)


def read_results(path: str, *, comments: bool) -> Results:
    """Retrieved documents: `qid iter docno rank sim run_id`; the last line's run id is the run's."""
    lines = _Lines(path, _RESULTS, RESULTS._replace(comments=comments))
    (query, item), (score,) = lines.read()
    return Results(query, item, score, lines.last()[5])


def read_zscores(path: str) -> dict[bytes, dict[bytes, tuple[float, float]]]:
    """Mean and standard deviation by query and measure: `qid measure mean stddev`."""
    ids, numbers = _Lines(path, _ZSCORES, Shape("iinn", comments=False)).read()
    found: dict[bytes, dict[bytes, tuple[float, float]]] = {}
    for query, measure, mean, deviation in zip(*ids, *(column.tolist() for column in numbers), strict=True):
        found.setdefault(query, {})[measure] = (mean, deviation)
    return found


# -- lines ---------------------------------------------------------------------------------------------------


class _Lines:
    """A file's lines."""

    def __init__(self, path: str, names: str, shape: Shape) -> None:
        self.path, self.names, self.shape = path, names.split(), shape
        self.data, self.parsed = parsed(path, shape)

    def read(self) -> tuple[list[_core.Strings], list[Floats]]:
        """The ids and the numbers of all lines."""
        ids, numbers = self.parsed
        if isinstance(ids, int) or isinstance(numbers, int):  # a line that is odd or wrong
            return self._one_by_one()
        if not len(numbers[0]):
            raise BadFile(f"{self.path}: no line to read")
        if "w" in self.shape.fields and np.abs(numbers[0]).max() >= _TOO_LARGE:
            return self._one_by_one()
        return ids, numbers

    def last(self) -> list[bytes]:
        """The fields of the last line."""
        end = len(self.data)
        while True:
            start = self.data.rfind(b"\n", 0, end) + 1
            fields = self.data[start:end].split()
            if not self._skipped(fields):
                return fields
            end = start - 1

    def _skipped(self, fields: list[bytes]) -> bool:
        return fields[0].startswith(b"#") and self.shape.comments if fields else self.shape.blanks

    def _one_by_one(self) -> tuple[list[_core.Strings], list[Floats]]:
        """Numbers as C reads them. Says what is wrong with which line."""
        words: list[bytes] = []
        values: list[list[float]] = []
        for number, fields in self._fields():
            words.append(
                b" ".join(field for field, what in zip(fields, self.shape.fields, strict=False) if what in "iq")
            )
            parsed = zip(fields, self.shape.fields, self.names, strict=False)
            values.append([self._parsed(number, *field) for field in parsed if field[1] in "nw"])
        shape = "".join(what for what in self.shape.fields if what in "iq")
        ids, _ = _core.Text(b"\n".join(words), shape, comments=False, utf8=False).columns()
        assert not isinstance(ids, int)
        return ids, list(np.array(values).T.copy())

    def _fields(self) -> Iterator[tuple[int, list[bytes]]]:
        width = len(self.names)
        for number, line in enumerate(self.data[:].rstrip(b" \t\r\v\f").removesuffix(b"\n").split(b"\n"), 1):
            fields = line.split()
            if self._skipped(fields):
                continue
            if len(fields) < width or (len(fields) > width and not self.shape.more):
                names = " ".join(self.names)
                raise BadFile(f"{self.path}:{number}: expected {width} fields ({names}), found {len(fields)}")
            yield number, fields

    def _parsed(self, number: int, text: bytes, what: str, name: str) -> float:
        if not _NUMBER.fullmatch(text):
            raise BadFile(f"{self.path}:{number}: {name} {text.decode(errors='replace')!r} is not a number")
        if what == "n":
            return float(text)
        value = whole(text.decode())
        if abs(value) >= _TOO_LARGE:
            raise BadFile(f"{self.path}:{number}: {name} {value} is too large")
        return value


def whole(text: str) -> int:
    """The whole number that a text starts with, or 0."""
    found = re.match(r"\s*([+-]?)0*(\d{0,99})", text)  # Python reads no more than some thousand digits
    assert found
    return int(found[1] + (found[2] or "0"))


def real(text: str) -> float:
    """The number that a text starts with, or 0."""
    match = _NUMBER.match(text.strip().encode())
    return float(match[0]) if match else 0.0
