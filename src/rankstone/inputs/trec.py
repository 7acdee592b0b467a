"""TREC text: qrels (`query iteration item grade`) and runs (`query Q0 item rank score tag`).

As trec_eval reads them: any white space between fields, `#` opens a comment line, a run is ordered by its scores and
its ranks are ignored, and so is what follows its tag. Blank lines are ignored in both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankstone.inputs.columns import Columns
from rankstone.inputs.lines import (
    IrregularError,
    RowError,
    Rows,
    Text,
    as_read,
    count_lines,
    one_piece,
    text_array,
    to_id,
    to_number,
)

FIELDS = {
    "truth": ("query", "iteration", "item", "grade"),
    "run": ("query", "Q0", "item", "rank", "score", "tag"),
}
_BLOCK = 1 << 20
_SPACE, _NEWLINE, _RETURN, _HASH = b" \n\r#"


def read_trec(text: Text, kind: str, skip: bool) -> Columns:
    """A qrels file or a run."""
    try:
        return parse_trec(text.view(), kind, text.name)
    except IrregularError:
        return _line_by_line(text, kind, skip)


def parse_trec(data: memoryview, kind: str, name: str) -> Columns:
    """The quick way, for text with one space or tab between fields and nothing wrong; else `IrregularError`."""
    import pyarrow
    import pyarrow.compute as pc
    from pyarrow import csv

    if any(_RETURN in block for block in _blocks(data)):
        data = memoryview(bytes(data).replace(b"\r\n", b"\n"))
    separator = _separator(data)
    fields, value = FIELDS[kind], "grade" if kind == "truth" else "score"
    try:
        table = csv.read_csv(
            pyarrow.BufferReader(data),
            read_options=csv.ReadOptions(column_names=fields, block_size=16 * _BLOCK),
            parse_options=csv.ParseOptions(delimiter=separator, quote_char=False),
            convert_options=csv.ConvertOptions(
                include_columns=["query", "item", value],
                column_types={"query": pyarrow.string(), "item": pyarrow.string(), value: pyarrow.float64()},
                null_values=[],
            ),
        )
    except pyarrow.ArrowInvalid:
        raise IrregularError from None
    if table.num_rows != count_lines(data) or not pc.all(pc.is_finite(table[value])).as_py():
        raise IrregularError
    return as_read(one_piece(table["query"]), one_piece(table["item"]), one_piece(table[value]), value)


def _blocks(data: memoryview) -> Any:
    """The bytes in pieces, each with the first byte of the next."""
    return (np.frombuffer(data[at : at + _BLOCK + 1], np.uint8) for at in range(0, len(data), _BLOCK))


def _separator(data: memoryview) -> str:
    """The byte between fields, if it is the same everywhere, and no line is blank, indented or a comment."""
    if len(data) == 0 or data[0] <= _SPACE or data[0] == _HASH or data[-1] <= _SPACE:
        raise IrregularError
    separator = 0
    for block in _blocks(data):
        gaps = np.flatnonzero(block <= _SPACE)
        kinds = block[gaps]
        inner = kinds[kinds != _NEWLINE]
        if len(inner):
            separator = separator or int(inner[0])
        ends = gaps[kinds == _NEWLINE]
        starts = ends[ends + 1 < len(block)] + 1
        if (inner != separator).any() or (np.diff(gaps) == 1).any() or (block[starts] == _HASH).any():
            raise IrregularError
    if chr(separator) not in (" ", "\t"):
        raise IrregularError
    return chr(separator)


def _line_by_line(text: Text, kind: str, skip: bool) -> Columns:
    names, value = FIELDS[kind], "grade" if kind == "truth" else "score"
    wanted, at = len(names), names.index(value)
    rows = Rows(text.name, value, skip)
    for number, _, line in text.lines():
        fields = line.split(None, wanted)
        if not fields or fields[0].startswith(b"#"):
            continue
        try:
            if len(fields) < wanted or (len(fields) > wanted and kind == "truth"):
                found = len(line.split())
                raise RowError(f"expected {wanted} fields ({' '.join(names)}), found {found}")
            query, item, amount = to_id(fields[0], "query"), to_id(fields[2], "item"), to_number(fields[at], value)
        except RowError as problem:
            rows.refuse(number, str(problem))
            continue
        rows.query.append(query)
        rows.item.append(item)
        rows.value.append(amount)
    return rows.columns(text_array(rows.query), text_array(rows.item), np.array(rows.value))
