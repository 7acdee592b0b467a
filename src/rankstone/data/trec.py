"""Text with white space between fields: TREC's qrels (`query iteration item grade`) and runs (`query Q0 item rank score
tag`), and LETOR's rows with a file of scores for them.

TREC's are read as trec_eval reads them: any white space between fields, `#` opens a comment line, a run is ordered by
its scores and its ranks are ignored, and so is what follows its tag. Blank lines are ignored in both.

LETOR and SVMlight rows are a truth. The query is `qid:` or comes from a file of group sizes next to it (`x.query`,
`x.group`); the item is the comment `#docid = ...` where every row has one, else the row's number, from 1. Features are
not read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import numpy as np

from rankstone import _core
from rankstone.data.arrow import Column, Places, Table, as_ids, distinct, one_piece, pc, pyarrow, text_array
from rankstone.data.columns import Columns, by_role
from rankstone.data.lines import (
    CODECS,
    LONE_RETURN,
    WRITTEN_ROWS,
    FileRows,
    IrregularError,
    Row,
    RowError,
    TextFile,
    is_number,
    open_text,
    to_id,
    to_number,
)
from rankstone.errors import FileError, NoRowsError, show

if TYPE_CHECKING:
    from rankstone.align.alignment import Floats

NOT_TREC = "^$|[ \t\n\r\v\f]"  # in an id


class Layout(NamedTuple):
    """What the lines of a file look like: fields with white space between them."""

    names: str  # of the fields
    fields: str  # what each is, in one letter, as the core's parser has them
    more: bool = False  # fields may follow the last
    comments: bool = True  # lines that start with # are skipped
    blanks: bool = True  # and so are blank lines
    utf8: bool = True  # an id must be valid text
    swapped: tuple[int, str] = (0, "")  # the number of fields of the other side's lines, and what it is

    def parse(self, data: bytes | memoryview | tuple[int, int, int]) -> tuple[list[_core.Strings], list[Floats]]:
        """The ids and the numbers of all lines, if all are regular; else `IrregularError`."""
        text = _core.Text(data, self.fields, more=self.more, comments=self.comments, blanks=self.blanks, utf8=self.utf8)
        ids, numbers = text.columns()
        if isinstance(ids, int) or isinstance(numbers, int):  # an irregular line: its number and position
            raise IrregularError
        return ids, numbers

    def skips(self, line: bytes) -> bool:
        """Is it a comment or a blank line."""
        start = line.lstrip()[:1]
        return self.comments and start == b"#" if start else self.blanks

    def split(self, line: bytes) -> list[bytes]:
        """The fields of a line."""
        fields, wanted = line.split(), len(self.fields)
        if len(fields) < wanted or (len(fields) > wanted and not self.more):
            count, other = self.swapped
            hint = f"; this looks like {other}; the truth comes first" if len(fields) == count else ""
            raise RowError(f"expected {wanted} fields ({self.names}), found {len(fields)}{hint}")
        return fields


LAYOUTS = {
    "truth": Layout("query iteration item grade", "q-in", swapped=(6, "a TREC run")),
    "run": Layout("query Q0 item rank score tag", "q-i-n-", more=True, swapped=(4, "TREC qrels")),
}


def read_trec(text: TextFile, kind: str, skip: bool) -> Columns:
    """A qrels file or a run."""
    try:
        return parse_trec(text, kind)
    except IrregularError:
        return _line_by_line(text, kind, skip)


def parse_trec(text: TextFile, kind: str) -> Columns:
    """The fast path, for regular text; else `IrregularError`."""
    data = bytes(text.view()) if kind == "truth" else text.parsed()  # of a truth, the second field is read later
    (query, item), (number,) = LAYOUTS[kind].parse(data)
    if len(number) == 0:
        raise IrregularError
    rows = by_role({"query": query, "item": item, "grade" if kind == "truth" else "score": number})
    return replace(rows, iteration=_Second(data, text.name)) if isinstance(data, bytes) else rows


@dataclass(frozen=True)
class _Second:
    """The second field of the lines of a qrels file: subtopics, if they are used."""

    data: bytes | list[bytes]  # the file, or the fields
    name: str

    def __call__(self) -> Column | None:
        if isinstance(self.data, list):
            return _subtopics(_decoded(self.data, self.name))
        fields, _ = _core.Text(self.data, "-q--").columns()
        if isinstance(fields, int):  # checked only now
            raise FileError(self.name, "subtopic is not valid UTF-8", fields)
        return _subtopics(fields[0])


def _subtopics(second: Column) -> Column | None:
    """The second field of qrels; None if it is a placeholder."""
    values = set(distinct(second)) if len(second) else set()
    return None if values <= {"0", "Q0", "q0", "-"} else second


def _line_by_line(text: TextFile, kind: str, skip: bool) -> Columns:
    layout, value = LAYOUTS[kind], "grade" if kind == "truth" else "score"
    at = layout.names.split().index(value)
    seconds: list[bytes] = []  # decoded on use only

    def parse(line: bytes) -> Row:
        fields = layout.split(_one_line(line))
        row = to_id(fields[0], "query"), to_id(fields[2], "item"), to_number(fields[at], value)
        seconds.append(fields[1])
        return row

    lines = ((number, line) for number, _, line in text.lines() if not layout.skips(line))
    rows = FileRows(text.name, skip).read(lines, ("query", "item", value), parse, text_array)
    return rows if kind == "run" else replace(rows, iteration=_Second(seconds, text.name))


def _one_line(line: bytes) -> bytes:
    if b"\r" in line.rstrip():
        raise RowError(LONE_RETURN)
    return line


def _decoded(words: Sequence[bytes], name: str) -> Column:
    try:
        return text_array([to_id(word, "subtopic") for word in words])
    except RowError as problem:
        raise FileError(name, str(problem)) from None


def looks_trec(line: bytes, kind: str, name: str) -> bool:
    """Fields in the right number and place.

    trec_eval reads no more of a run's second field than of its tag, so any word will do. Ratings in four columns look
    like qrels: with tabs or commas, these must have their usual second field, or a name that says so.
    """
    fields = line.split()
    if kind == "run":
        whole = len(fields) >= 6 and fields[3].lstrip(b"+-").isdigit()
        return whole and is_number(fields[4])
    fits = len(fields) == 4 and is_number(fields[3])
    usual = fields[1:2] in ([b"Q0"], [b"q0"], [b"0"]) or not (b"\t" in line or b"," in line)
    return fits and (usual or "qrel" in name)


def write_trec(table: Table, stream: BinaryIO, kind: str, tag: str) -> None:
    """A truth or a run; the tag is the last field of a run."""
    count = table.num_rows
    query, item = table["query"], table["item"]
    if kind == "truth":
        grade = table["grade"] if "grade" in table.column_names else pyarrow.array(np.ones(count, np.int8))
        fields = [query, "0", item, grade]
    else:
        codes = pc.dictionary_encode(one_piece(table["query"])).indices.to_numpy()
        scored = "score" in table.column_names
        score = table["score"].to_numpy().astype(np.float64) if scored else np.zeros(count)
        rank = _ranks(codes, score)
        fields = [query, "Q0", item, pyarrow.array(rank), table["score"] if scored else pyarrow.array(-rank), tag]
    text = pyarrow.large_string()
    texts = [pyarrow.scalar(part, text) if isinstance(part, str) else one_piece(part.cast(text)) for part in fields]
    for at in range(0, count, WRITTEN_ROWS):
        piece = [part if isinstance(part, pyarrow.Scalar) else part.slice(at, WRITTEN_ROWS) for part in texts]
        lines = pc.binary_join_element_wise(*piece, pyarrow.scalar(" ", text))
        stream.write(("\n".join(lines.to_pylist()) + "\n").encode())


def _ranks(codes: Places, score: Floats) -> Places:
    """Places from 1 within each query, the best score first, as in the file where scores are equal."""
    order = np.lexsort((-score, codes))
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order))) + 1
    return ranks


# -- LETOR ---------------------------------------------------------------------------------------------------

_ROW = re.compile(rb"\s*(\S+)(?:\s+qid:(\S+))?")
_DOCID = re.compile(rb"#\s*docid\s*=\s*(\S+)")
_COMMENT = re.compile(rb"#\s*(?:docid\s*=\s*)?(\S+)")
_COMPRESSED = tuple(f".{ending}" for ending in CODECS)
_LOOKS = re.compile(rb"\s*[-+.\deE]+\s+(qid:\S|\d+:[-+.\d])")


class _Labelled(NamedTuple):
    """A row of features, bad ones too, so that scores can be aligned with them."""

    line: int
    grade: float = 0.0
    query: str = ""
    item: str = ""
    problem: str = ""


def looks_letor(line: bytes) -> bool:
    """Is it a grade with a query or a feature after it."""
    return _LOOKS.match(line) is not None


def read_letor(text: TextFile, path: str, skip: bool) -> Columns:
    """The labels of a file of features, as a truth."""
    table, grouped = _labelled(text)

    def parse(at: int) -> tuple[int, float]:
        if table[at].problem:
            raise RowError(table[at].problem)
        return at, table[at].grade

    rows = FileRows(text.name, skip)
    graded = list(rows.good(((row.line, at) for at, row in enumerate(table)), parse))
    return rows.side(_columns(path, table, grouped, "grade", graded))


def read_scores(text: TextFile, path: str, features: str | None, skip: bool) -> Columns:
    """A file with one score per line, for the rows of the file `features`."""
    features = features or _find_features(path)
    table, grouped = _labelled(open_text(features))
    lines = [(number, line) for number, _, line in text.lines() if line.strip()]

    def parse(pair: tuple[int, bytes]) -> tuple[int, float]:
        at, line = pair
        if table[at].problem:
            raise RowError(f"belongs to {features}:{table[at].line}, where {table[at].problem}")
        return at, to_number(line.rstrip(), "score")

    rows = FileRows(text.name, skip)
    pairs = ((number, (at, line)) for at, (number, line) in enumerate(lines[: len(table)]))
    scored = list(rows.good(pairs, parse))
    if not lines:
        raise NoRowsError(text.name)
    if len(lines) != len(table):
        raise FileError(text.name, f"has {len(lines)} scores, but {features} has {len(table)} rows")
    return rows.side(_columns(features, table, grouped, "score", scored))


def _columns(path: str, table: list[_Labelled], grouped: bool, role: str, good: Sequence[tuple[int, float]]) -> Columns:
    """The good rows, with their grades or scores."""
    if not good:
        return Columns(np.zeros(0), np.zeros(0))
    rows = np.array([at for at, _ in good])
    chosen = [table[at] for at in rows]
    query = _groups(path, len(table))[rows] if grouped else as_ids(text_array([row.query for row in chosen]))
    item = as_ids(text_array([row.item for row in chosen])) if all(row.item for row in chosen) else rows + 1
    return by_role({"query": query, "item": item, role: np.array([value for _, value in good])})


def _find_features(path: str) -> str:
    """The file of features that a file of scores belongs to: `x` for `x.scores`."""
    plain, last = os.path.splitext(path)
    if last in _COMPRESSED:
        plain = os.path.splitext(plain)[0]
    for near in (plain, *(plain + suffix for suffix in _COMPRESSED)):
        if plain != path and os.path.isfile(near):
            return near
    raise FileError(
        path, f"scores need the LETOR file whose rows they belong to; there is no {plain!r}: pass features=..."
    )


def _labelled(text: TextFile) -> tuple[list[_Labelled], bool]:
    """The rows, and whether they have no query but belong to groups, as the first row says."""
    table: list[_Labelled] = []
    grouped = False
    for number, _, line in text.lines():
        comment = line.find(b"#")
        match = _ROW.match(line, 0, len(line) if comment < 0 else comment)
        if match is None:
            continue
        grouped = grouped if table else match[2] is None
        try:
            _one_line(line)
            grade = to_number(match[1], "grade")
            if not grouped and match[2] is None:
                raise RowError("expected 'grade qid:query feature:value ...', found no qid")
            query = "" if grouped else to_id(match[2], "query")
            alone = comment >= 0 and match.end() == len(
                line[:comment].rstrip()
            )  # without features, as Quepid writes it
            named = (_COMMENT if alone else _DOCID).match(line, comment) if comment >= 0 else None
            table.append(_Labelled(number, grade, query, to_id(named[1], "item") if named else ""))
        except RowError as problem:
            table.append(_Labelled(number, problem=str(problem)))
    return table, grouped


def _groups(path: str, count: int) -> Places:
    """The number of each row's group, from 1."""
    bases = [path, os.path.splitext(path)[0]]
    if bases[0].endswith(_COMPRESSED):
        bases.append(os.path.splitext(bases[1])[0])
    looked = [base + suffix for base in bases for suffix in (".query", ".group")]
    sizes_file = next((near for near in looked if near != path and os.path.isfile(near)), None)
    if sizes_file is None:
        raise FileError(path, f"has no qid, and there is no file of group sizes next to it: {', '.join(looked[:2])}", 1)
    sizes = []
    for number, _, line in open_text(sizes_file).lines():
        for word in line.split():
            if not word.isdigit() or len(word) > 18:
                shown = show(word.decode("utf-8", "replace"))
                raise FileError(sizes_file, f"group size {shown} is not a whole number", number)
            sizes.append(int(word))
    if sum(sizes) != count:
        raise FileError(sizes_file, f"the groups have {sum(sizes)} rows together, but {path} has {count}")
    return np.repeat(np.arange(1, len(sizes) + 1), sizes)
