"""TREC text: qrels (`query iteration item grade`) and runs (`query Q0 item rank score tag`).

As trec_eval reads them: any white space between fields, `#` opens a comment line, a run is ordered by its scores and
its ranks are ignored, and so is what follows its tag. Blank lines are ignored in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import numpy as np

from rankstone import _core
from rankstone.data.arrow import Column, Places, Table, distinct, one_piece, pc, pyarrow, text_array
from rankstone.data.columns import Columns, by_role
from rankstone.data.lines import (
    WRITTEN_ROWS,
    Data,
    IrregularError,
    Row,
    RowError,
    Rows,
    Text,
    is_number,
    to_id,
    to_number,
)
from rankstone.errors import FileError

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

    def parse(self, data: Data | memoryview) -> tuple[list[_core.Strings], list[Floats]]:
        """The ids and the numbers of all lines, if nothing is wrong or odd in any; else `IrregularError`."""
        text = _core.Text(data, self.fields, more=self.more, comments=self.comments, blanks=self.blanks, utf8=self.utf8)
        ids, numbers = text.columns()
        if isinstance(ids, int) or isinstance(numbers, int):  # the number and the place of a line to be looked at
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
            raise RowError(f"expected {wanted} fields ({self.names}), found {len(fields)}")
        return fields


LAYOUTS = {
    "truth": Layout("query iteration item grade", "q-in"),
    "run": Layout("query Q0 item rank score tag", "q-i-n-", more=True),
}


def read_trec(text: Text, kind: str, skip: bool) -> Columns:
    """A qrels file or a run."""
    try:
        return parse_trec(text.view(), kind, text.name)
    except IrregularError:
        return _line_by_line(text, kind, skip)


def parse_trec(data: memoryview, kind: str, name: str) -> Columns:
    """The quick way, for text with nothing wrong or odd in it; else `IrregularError`."""
    (query, item), (number,) = LAYOUTS[kind].parse(data)
    if len(number) == 0:
        raise IrregularError
    rows = by_role({"query": query, "item": item, "grade" if kind == "truth" else "score": number})
    if kind == "run":
        return rows

    def second() -> Column | None:
        fields, _ = _core.Text(data, "-q--").columns()
        if isinstance(fields, int):  # the one thing that is looked at only now
            raise FileError(name, "subtopic is not valid UTF-8", fields)
        return _subtopics(fields[0])

    return replace(rows, iteration=second)


def _subtopics(second: Column) -> Column | None:
    """The second field of qrels; None where it only says that there is nothing to say."""
    said = set(distinct(second)) if len(second) else set()
    return None if said <= {"0", "Q0", "q0", "-"} else second


def _line_by_line(text: Text, kind: str, skip: bool) -> Columns:
    layout, value = LAYOUTS[kind], "grade" if kind == "truth" else "score"
    at = layout.names.split().index(value)
    seconds: list[bytes] = []  # which nobody may ask for

    def parse(line: bytes) -> Row:
        fields = layout.split(line)
        row = to_id(fields[0], "query"), to_id(fields[2], "item"), to_number(fields[at], value)
        seconds.append(fields[1])
        return row

    lines = ((number, line) for number, _, line in text.lines() if not layout.skips(line))
    rows = Rows(text.name, skip).read(lines, ("query", "item", value), parse, text_array)
    return rows if kind == "run" else replace(rows, iteration=lambda: _subtopics(_decoded(seconds, text.name)))


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
