"""Reads judgments and results, and ranks the judged documents of each query."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rankstone import _core
from rankstone.align.alignment import Alignment, Floats, Ints
from rankstone.data.lines import Data, IrregularError, RowError, open_text
from rankstone.data.source import AlignOptions, ranked_from
from rankstone.data.trec import Layout
from rankstone.errors import DataError, FileError, NoRowsError

_RESULTS = Layout("qid iter docno rank sim run_id", "q-i-n-", more=True, utf8=False)
_ZSCORES = Layout("qid measure mean stddev", "iinn", comments=False, blanks=False, utf8=False)
_NUMBER = re.compile(rb"[+-]?((\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|inf(inity)?)", re.IGNORECASE)
_TOO_LARGE = 2**31  # for a grade


class Judgments(NamedTuple):
    """One entry per line."""

    query: _core.Strings
    item: _core.Strings
    grade: Floats
    group: _core.Strings | None = None  # judgment group
    subgroup: _core.Strings | None = None


class Results(NamedTuple):
    """One entry per retrieved document."""

    query: _core.Strings
    item: _core.Strings
    score: Floats
    run_id: bytes


class JudgementFormat(NamedTuple):
    """A format of judgments: its lines, and which measures are for it."""

    names: str
    fields: str  # as in `Layout`
    over: str


# Judgments of documents, by several judgment groups (`qid jg docno rel`), preferences within a set of documents that
# were compared with each other, and judgments that are read as preferences.
FORMATS = {
    "qrels": JudgementFormat("qid iter docno rel", "q-iw", "qrels"),
    "qrels_jg": JudgementFormat("qid iter docno rel", "qiiw", "qrels_jg"),
    "prefs": JudgementFormat("qid jg jsg docno rel_level", "qiiin", "prefs"),
    "qrels_prefs": JudgementFormat("qid iter docno rel", "qiin", "prefs"),
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
    zscores: dict[bytes, dict[bytes, tuple[float, float]]] = {}
    for query, measure, mean, deviation in zip(*ids, *(column.tolist() for column in numbers), strict=True):
        zscores.setdefault(query, {})[measure] = (mean, deviation)
    return zscores


# -- lines ---------------------------------------------------------------------------------------------------

_TAIL = 1 << 16  # bytes in which the last line is looked for first
Read = tuple[list[_core.Strings], list[Floats]]  # the ids and the numbers of all lines


def _content(path: str) -> Data:
    data = open_text(path).data
    if not len(data):
        raise NoRowsError(path, "it is empty")
    return data


def _columns(path: str, data: Data, layout: Layout) -> Read:
    try:
        ids, numbers = layout.parse(data if isinstance(data, bytes) else data.part(0, len(data)))
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
    text = data[-_TAIL:]
    end = len(text)
    while True:
        start = text.rfind(b"\n", 0, end) + 1
        if start == 0 and len(text) < len(data):  # it is longer, or all of these are comments
            text, end = data[:], len(data) - len(text) + end
            continue
        line = text[start:end]
        if not layout.skips(line):
            return line
        end = start - 1


def whole(text: str) -> int:
    """The whole number that a text starts with, or 0."""
    match = re.match(r"\s*([+-]?)0*(\d{0,99})", text)  # Python reads no more than some thousand digits
    assert match
    return int(match[1] + (match[2] or "0"))


def real(text: str) -> float:
    """The number that a text starts with, or 0."""
    match = _NUMBER.match(text.strip().encode())
    return float(match[0]) if match else 0.0


class Setup(NamedTuple):
    """Options of the command line for all measures."""

    version: int = 10
    level: int = 1  # lowest grade that is relevant
    depth: int | None = None  # documents per query that are read
    judged_only: bool = False
    collection: int = 0  # number of documents

    @property
    def score_precision(self) -> type[np.floating[Any]]:
        """trec_eval read scores and levels into floats up to version 9, and into doubles since."""
        return np.float32 if self.version < 10 else np.float64


class Placed(NamedTuple):
    """Ranks of the judged documents of each query. A query's number is its position in the order of names."""

    queries: list[bytes]
    ranked: Alignment  # in the order of the judgments
    at: Ints  # position of each query in that order
    judged_twice: set[int]  # queries with a document that is judged twice
    returned_twice: dict[int, bytes]  # query -> document


def place(
    query: _core.Strings, item: _core.Strings, grade: Floats | None, results: Results, setup: Setup, order: str
) -> Placed:
    """Rank the judged documents; order: tie-breaking."""
    options = AlignOptions(order=order, float32=setup.score_precision is np.float32)
    columns = query, item, grade, results.query, results.item, results.score
    try:
        aligned, repeated = _core.align_columns(*columns, options), False
    except DataError as error:
        if error.kind != "twice":
            raise
        options = replace(options, duplicates="count", truth_duplicates="first")
        aligned, repeated = _core.align_columns(*columns, options), True
    names = [query[row] for row in aligned.queries.tolist()]
    at = sorted(range(len(names)), key=names.__getitem__)
    queries = [names[number] for number in at]
    judged = _judged_twice(queries, query, item) if repeated else set()
    returned = _returned_twice(queries, results, setup, order) if repeated else {}
    return Placed(queries, ranked_from(aligned), np.array(at, dtype=np.int64), judged, returned)


def _judged_twice(queries: list[bytes], query: _core.Strings, item: _core.Strings) -> set[int]:
    codes = {name: code for code, name in enumerate(queries)}
    counts = Counter(zip(query, item, strict=True))
    return {codes[name] for (name, _), count in counts.items() if count > 1}


def _returned_twice(queries: list[bytes], results: Results, setup: Setup, order: str) -> dict[int, bytes]:
    """Per query, the first document that its list, cut at the depth, has twice."""
    codes = {query: code for code, query in enumerate(queries)}
    lists: dict[bytes, list[tuple[float, bytes]]] = {}
    scores = results.score.astype(setup.score_precision).tolist()
    for query, score, item in zip(results.query, scores, results.item, strict=True):
        lists.setdefault(query, []).append((score, item))
    repeated = {}
    for query, rows in lists.items():
        if query not in codes or len({item for _, item in rows}) == len(rows):
            continue
        rows.sort(key=lambda row: row[1], reverse=order == "item_desc")
        rows.sort(key=lambda row: -row[0])
        items = sorted(item for _, item in rows[: setup.depth])
        if twice := next((item for item, other in itertools.pairwise(items) if item == other), None):
            repeated[codes[query]] = twice
    return repeated


class Lines(NamedTuple):
    """Judgments, maybe several per document; one entry per line. A code is a position in the order of names."""

    items: _core.Strings
    query: Ints
    pair: Ints  # lines that judge the same document of the same query share it; in the order of the documents' names
    rank: Ints  # from 1; 0 if not retrieved
    grade: Floats
    group: Ints
    subgroup: Ints


def place_lines(judgments: Judgments, results: Results, setup: Setup, order: str) -> tuple[Placed, Lines]:
    """The same for judgments of several groups."""
    keys = list(zip(judgments.query, judgments.item, strict=True))
    distinct, pair = _coded(keys)
    ids, _ = _core.Text(b"\n".join(map(b" ".join, distinct)), "ii", comments=False, utf8=False).columns()
    assert not isinstance(ids, int)
    query, item = ids
    placed = place(query, item, None, results, setup, order)
    ranked = placed.ranked
    rank = np.zeros(len(distinct), dtype=np.int64)
    at = ranked.truth_offsets[ranked.query] + ranked.place - 1
    rank[at[::-1]] = ranked.rank[::-1]  # of a document returned twice, the better rank
    same = np.zeros(len(keys), dtype=np.int64)
    group, subgroup = (
        same if column is None else _coded(list(column))[1] for column in (judgments.group, judgments.subgroup)
    )
    return placed, Lines(
        judgments.item, _coded(list(judgments.query))[1], pair, rank[pair], judgments.grade, group, subgroup
    )


def _coded(names: list[Any]) -> tuple[list[Any], Ints]:
    """Distinct names in order, and the position of each name among them."""
    distinct = sorted(set(names))
    codes = {name: code for code, name in enumerate(distinct)}
    return distinct, np.array([codes[name] for name in names], dtype=np.int64)


def ranked_by(owner: Ints, rank: Ints, grade: Floats, retrieved: Ints) -> Alignment:
    """One list per owner of lines, with their ranks and grades."""
    count = len(retrieved)
    placed = rank > 0
    order = np.lexsort((rank[placed], owner[placed]))
    best = grade[np.lexsort((-grade, owner))]
    return Alignment(
        retrieved=retrieved,
        present=np.ones(count, dtype=bool),
        truth_offsets=np.append(0, np.cumsum(np.bincount(owner, minlength=count))),
        truth_grades=best,
        _ideal_grades=best,
        placed_offsets=np.append(0, np.cumsum(np.bincount(owner[placed], minlength=count))),
        rank=rank[placed][order],
        grade=grade[placed][order],
        score=np.full(len(order), np.nan),
        place=rank[placed][order],
    )


def prepared(ranked: Alignment, setup: Setup) -> Alignment:
    """The lists with depth and -J applied. A negative grade is -2, as in trec_eval."""
    if setup.depth is not None:
        ranked = ranked.with_placed(ranked.rank <= setup.depth)
        ranked = ranked.replace(retrieved=np.minimum(ranked.retrieved, setup.depth))
    if setup.judged_only:
        ranked = ranked.condensed()
    grade, best = (np.where(grades < 0, -2.0, grades) for grades in (ranked.grade, ranked.ideal_grades))
    return ranked.replace(grade=grade, truth_grades=best, _ideal_grades=best, above=None, tied=None)
