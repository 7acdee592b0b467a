"""Learning-to-rank text: LETOR and SVMlight rows as a truth, and a file of scores for the same rows as a run.

The query is `qid:` or comes from a file of group sizes beside it (`x.query`, `x.group`); the item is the comment
`#docid = ...` where every row has one, else the row's number, from 1. Features are not read.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rankstone.data.arrow import Column, Places, as_ids, text_array
from rankstone.data.columns import Columns, by_role
from rankstone.data.lines import CODECS, RowError, Rows, Text, open_text, show, to_id, to_number
from rankstone.errors import FileError, NoRowsError

_ROW = re.compile(rb"\s*(\S+)(?:\s+qid:(\S+))?")
_DOCID = re.compile(rb"#\s*docid\s*=\s*(\S+)")
_COMPRESSED = tuple(f".{ending}" for ending in CODECS)
_LOOKS = re.compile(rb"\s*[-+.\deE]+\s+(qid:\S|\d+:[-+.\d])")


@dataclass(eq=False, repr=False)
class _Table:
    """Every row of a file, bad ones too, so that scores can be laid beside them."""

    name: str
    lines: list[int] = field(default_factory=list)
    grades: list[float] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    items: list[str] = field(default_factory=list)
    problems: dict[int, str] = field(default_factory=dict)  # by row
    grouped: bool = False

    def columns(self, path: str, good: NDArray[np.bool_], **values: NDArray[np.float64]) -> Columns:
        """The good rows, with their grades or scores."""
        rows = np.flatnonzero(good)
        query: Column = _groups(path, len(self.grades))[rows] if self.grouped else _chosen(self.queries, rows)
        item: Column = _chosen(self.items, rows) if all(self.items[row] for row in rows) else rows + 1
        return by_role({"query": query, "item": item, **{role: value[rows] for role, value in values.items()}})


def looks_letor(line: bytes) -> bool:
    """Is it a grade with a query or a feature after it."""
    return _LOOKS.match(line) is not None


def read_letor(text: Text, path: str, skip: bool) -> Columns:
    """The labels of a file of features, as a truth."""
    table = _read(text)
    rows = Rows(text.name, skip)
    good = np.ones(len(table.grades), dtype=bool)
    for row, problem in table.problems.items():
        rows.refuse(table.lines[row], problem)
        good[row] = False
    if not good.any():
        return rows.side(Columns(np.zeros(0), np.zeros(0)))
    return rows.side(table.columns(path, good, grade=np.array(table.grades)))


def read_scores(text: Text, path: str, beside: str | None, skip: bool) -> Columns:
    """A file of scores, one a line, for the rows of the file of features `beside` it."""
    beside = beside or _find_beside(path)
    table = _read(open_text(beside))
    rows = Rows(text.name, skip)
    scores, good = np.zeros(len(table.grades)), np.ones(len(table.grades), dtype=bool)
    count = 0
    for number, _, line in text.lines():
        if not line.strip():
            continue
        if count < len(scores):
            try:
                if count in table.problems:
                    raise RowError(f"belongs to {beside}:{table.lines[count]}, where {table.problems[count]}")
                scores[count] = to_number(line.rstrip(), "score")
            except RowError as problem:
                rows.refuse(number, str(problem))
                good[count] = False
        count += 1
    if count == 0:
        raise NoRowsError(text.name)
    if count != len(scores):
        raise FileError(text.name, f"has {count} scores, but {beside} has {len(scores)} rows")
    return rows.side(table.columns(beside, good, score=scores))


def _find_beside(path: str) -> str:
    """The file of features that a file of scores belongs to: `x` for `x.scores`."""
    plain, last = os.path.splitext(path)
    if last in _COMPRESSED:
        plain = os.path.splitext(plain)[0]
    found = [
        near for near in (plain, *(plain + suffix for suffix in _COMPRESSED)) if plain != path and os.path.isfile(near)
    ]
    if not found:
        raise FileError(path, f"scores need the file whose rows they belong to; there is no {plain!r}: give beside=...")
    return found[0]


def _read(text: Text) -> _Table:
    table = _Table(text.name)
    for number, _, line in text.lines():
        comment = line.find(b"#")
        found = _ROW.match(line, 0, len(line) if comment < 0 else comment)
        if found is None:
            continue
        row = len(table.grades)
        table.lines.append(number)
        grade, query, item = 0.0, "", ""
        if row == 0:
            table.grouped = found[2] is None
        try:
            grade = to_number(found[1], "grade")
            if not table.grouped:
                if found[2] is None:
                    raise RowError("expected 'grade qid:query feature:value ...', found no qid")
                query = to_id(found[2], "query")
            if comment >= 0 and (named := _DOCID.match(line, comment)):
                item = to_id(named[1], "item")
        except RowError as problem:
            table.problems[row] = str(problem)
        table.grades.append(grade)
        table.queries.append(query)
        table.items.append(item)
    return table


def _chosen(words: list[str], rows: Places) -> Column:
    return as_ids(text_array([words[row] for row in rows]))


def _groups(path: str, count: int) -> Places:
    """The number of each row's group, from 1."""
    bases = [path, os.path.splitext(path)[0]]
    if bases[0].endswith(_COMPRESSED):
        bases.append(os.path.splitext(bases[1])[0])
    looked = [base + suffix for base in bases for suffix in (".query", ".group")]
    found = next((near for near in looked if near != path and os.path.isfile(near)), None)
    if found is None:
        raise FileError(path, f"has no qid, and there is no file of group sizes beside it: {', '.join(looked[:2])}", 1)
    sizes = []
    for number, _, line in open_text(found).lines():
        for word in line.split():
            if not word.isdigit() or len(word) > 18:
                raise FileError(
                    found, f"group size {show(word.decode('utf-8', 'replace'))} is not a whole number", number
                )
            sizes.append(int(word))
    if sum(sizes) != count:
        raise FileError(found, f"the groups have {sum(sizes)} rows together, but {path} has {count}")
    return np.repeat(np.arange(1, len(sizes) + 1), sizes)
