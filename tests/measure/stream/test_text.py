"""TREC text, read by the core on all cores: the same columns as from a reader that goes line by line."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

from rankstone import _core
from rankstone.inputs.trec import parse_trec


def strings(column):
    offsets, text = column
    return [bytes(text[start:end]).decode() for start, end in itertools.pairwise(offsets)]


def test_any_white_space_and_comments():
    text = "# no row\n\n q1\t0  d1\v2 \r\n   # neither\r\nq\u00e9 x \U0001f600 -1e-3\n\f\nq1 0 d2 +.5"
    query, item, grade = _core.parse_trec(text.encode(), "truth")
    assert strings(query) == ["q1", "qé", "q1"]
    assert strings(item) == ["d1", "\U0001f600", "d2"]
    assert grade.tolist() == [2, -0.001, 0.5]


def test_many_pieces():
    rng = np.random.default_rng(0)
    rows = [(f"q{n // 1000}", f"d{rng.integers(10**9)}", float(rng.normal())) for n in range(120_000)]
    text = "".join(f"{q} Q0 {d} {n} {s!r} tag with more\n" for n, (q, d, s) in enumerate(rows)).encode()
    assert len(text) > 4 << 20
    for threads in (1, 3):
        query, item, score = _core.parse_trec(text, "run", threads)
        assert list(zip(strings(query), strings(item), score.tolist(), strict=True)) == rows
    columns = parse_trec(memoryview(text), "run", "a file")
    assert columns.query.type == pa.string()
    assert columns.query.to_pylist() == [row[0] for row in rows]
    columns.query.validate(full=True)
    columns.item.validate(full=True)


@pytest.mark.parametrize(
    "line",
    ["q Q0 d 1 0.5", "q Q0 d 1 x t", "q Q0 d 1 nan t", "q Q0 d 1 inf t", "q Q0 d 1 1e999 t", "q Q0 d 1 1_0 t",
     "q Q0 d 1 +-1 t", "q Q0 d 1 0x1 t", "q Q0 d 1 1e t", "\udcff Q0 d 1 1 t", "q Q0 \udced\udca0\udc80 1 1 t"],
)  # fmt: skip
def test_a_line_that_needs_a_closer_look(line):
    good = b"q Q0 d 1 0.5 t\n"
    for before in (0, 3, 200_000):
        text = good * before + line.encode(errors="surrogateescape") + b"\n" + good * 10 + b"bad again\n"
        assert _core.parse_trec(text, "run") == (before + 1, len(good) * before)


def test_fields_behind_a_grade():
    assert _core.parse_trec(b"q 0 d 1\nq 0 d 1 2\n", "truth") == (2, 8)


def test_no_rows():
    for text in (b"", b"\n\n", b"# only this"):
        query, item, score = _core.parse_trec(text, "run")
        assert len(query[0]) == len(item[0]) == 1
        assert len(score) == 0
    with pytest.raises(ValueError, match="unknown kind 'x'; choose one of: truth, run"):
        _core.parse_trec(b"", "x")
    with pytest.raises(TypeError):
        _core.parse_trec("text", "run")
