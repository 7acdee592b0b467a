"""TREC text: qrels (`query iteration item grade`) and runs (`query Q0 item rank score tag`).

As trec_eval reads them: any white space between fields, `#` opens a comment line, a run is ordered by its scores and
its ranks are ignored, and so is what follows its tag. Blank lines are ignored in both.
"""

from __future__ import annotations

import numpy as np

from rankstone import _core
from rankstone.inputs.columns import Columns
from rankstone.inputs.lines import (
    IrregularError,
    RowError,
    Rows,
    Text,
    as_read,
    text_array,
    to_id,
    to_number,
)

FIELDS = {
    "truth": ("query", "iteration", "item", "grade"),
    "run": ("query", "Q0", "item", "rank", "score", "tag"),
}


def read_trec(text: Text, kind: str, skip: bool) -> Columns:
    """A qrels file or a run."""
    try:
        return parse_trec(text.view(), kind, text.name)
    except IrregularError:
        return _line_by_line(text, kind, skip)


def parse_trec(data: memoryview, kind: str, name: str) -> Columns:
    """The quick way, for text with nothing wrong or odd in it; else `IrregularError`."""
    import pyarrow

    ids, numbers = _core.parse_trec(data, "i-in") if kind == "truth" else _core.parse_trec(data, "i-i-n-", more=True)
    if isinstance(ids, int) or isinstance(numbers, int):  # the number and the place of a line to be looked at
        raise IrregularError
    if len(numbers[0]) == 0:
        raise IrregularError
    query, item = map(pyarrow.array, ids)
    return as_read(query, item, numbers[0], "grade" if kind == "truth" else "score")


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
