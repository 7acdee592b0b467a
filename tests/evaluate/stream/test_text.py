"""TREC text, read by the core on all cores: the same columns as from a reader that goes line by line."""

import numpy as np
import pyarrow as pa
import pytest

from rankstone import _core
from rankstone.data.lines import TextFile
from rankstone.data.trec import parse_trec

RUN = {"fields": "i-i-n-", "more": True}


def strings(column):
    return [text.decode() for text in column]


def test_any_white_space_and_comments():
    text = "# no row\n\n q1\t0  d1\v2 \r\n   # neither\r\nq\u00e9 x \U0001f600 -1e-3\n\f\nq1 0 d2 +.5"
    (query, item), (grade,) = _core.Text(text.encode(), "i-in").columns()
    assert strings(query) == ["q1", "qé", "q1"]
    assert strings(item) == ["d1", "\U0001f600", "d2"]
    assert grade.tolist() == [2, -0.001, 0.5]


def test_many_pieces():
    rng = np.random.default_rng(0)
    rows = [(f"q{n // 1000}", f"d{rng.integers(10**9)}", float(rng.normal())) for n in range(120_000)]
    text = "".join(f"{q} Q0 {d} {n} {s!r} tag with more\n" for n, (q, d, s) in enumerate(rows)).encode()
    assert len(text) > 4 << 20
    for threads in (1, 2, 3, 8):
        (query, item), (score,) = _core.Text(text, **RUN, threads=threads).columns()
        assert list(zip(strings(query), strings(item), score.tolist(), strict=True)) == rows
    columns = parse_trec(TextFile("a file", text), "run")
    query, item = pa.array(columns.query), pa.array(columns.item)
    assert query.type == pa.string()
    assert query.to_pylist() == [row[0] for row in rows]
    query.validate(full=True)
    item.validate(full=True)


@pytest.mark.parametrize("together", [1000, 3, 1])
def test_ids_that_rows_share(together):
    """Each is there once for rows next to each other, which nobody can tell."""
    rows = [(f"q{n // together % 700}", f"d{n}") for n in range(120_000)]
    text = "".join(f"{q} Q0 {d} 1 0.5 a tag of some length\n" for q, d in rows).encode()
    (apart, item), _ = _core.Text(text, "i-i-n-", more=True).columns()
    for threads in (1, 2, 5):
        (shared, again), _ = _core.Text(text, "q-q-n-", more=True, threads=threads).columns()
        assert pa.array(shared).equals(pa.array(apart))
        assert pa.array(again).equals(pa.array(item))
        assert strings(shared) == [query for query, _ in rows]
        assert shared.words([0, 5, 119_999]) == [rows[at][0] for at in (0, 5, 119_999)]
    assert shared[2:4].to_pylist() == [rows[2][0], rows[3][0]]
    with pytest.raises(IndexError):
        shared[120_000]


def test_lines_with_one_blank_and_others():
    """Most lines are read in one go, which others among them must not disturb."""
    plain, odd = ["q1 Q0 d{} 1 0.5 tag", "q1\tQ0\td{}\t1\t0.5\ttag"], [
        " q1 Q0 d{} 1 0.5 tag", "q1  Q0 d{} 1 0.5 tag", "q1 Q0 d{} 1 0.5 tag ", "q1 Q0 d{} 1 0.5 tag more of it",
        "q1 Q0 d{} 1 0.5 tag\r", "q1 Q0 d{} 1 0.5 t\x01g", "# q1 Q0 x{} 1 0.5", "", "#q1 Q0 x{} 1 0.5 tag",
    ]  # fmt: skip
    rng = np.random.default_rng(3)
    lines = [str(rng.choice(plain if rng.random() < 0.7 else odd)).format(n) for n in range(50_000)]
    text = "\n".join(lines).encode()
    (query, item), (score,) = _core.Text(text, "q-i-n-", more=True).columns()
    expected = [line.split()[2] for line in lines if line and not line.startswith("#")]
    assert strings(item) == expected
    assert set(strings(query)) == {"q1"}
    assert score.tolist() == [0.5] * len(expected)


@pytest.mark.parametrize(
    "line",
    ["q Q0 d 1 0.5", "q Q0 d 1 x t", "q Q0 d 1 nan t", "q Q0 d 1 inf t", "q Q0 d 1 1e999 t", "q Q0 d 1 1_0 t",
     "q Q0 d 1 +-1 t", "q Q0 d 1 0x1 t", "q Q0 d 1 1e t", "\udcff Q0 d 1 1 t", "q Q0 \udced\udca0\udc80 1 1 t"],
)  # fmt: skip
def test_a_line_that_needs_a_closer_look(line):
    good = b"q Q0 d 1 0.5 t\n"
    for before in (0, 3, 200_000):
        text = good * before + line.encode(errors="surrogateescape") + b"\n" + good * 10 + b"bad again\n"
        assert _core.Text(text, **RUN).columns() == (before + 1, len(good) * before)


def test_fields_behind_a_grade():
    assert _core.Text(b"q 0 d 1\nq 0 d 1 2\n", "i-in").columns() == (2, 8)


def test_no_rows():
    for text in (b"", b"\n\n", b"# only this", b" \t"):
        (query, item), (score,) = _core.Text(text, **RUN).columns()
        assert len(query) == len(item) == len(score) == 0
        assert pa.array(query).to_pylist() == []
    with pytest.raises(ValueError, match="fields: one letter each"):
        _core.Text(b"", "ix").columns()
    with pytest.raises(ValueError, match="fields: one letter each"):
        _core.Text(b"", "").columns()
    with pytest.raises(TypeError):
        _core.Text("text", "i").columns()


def test_other_shapes_of_lines():
    """As trec_eval has them: any bytes, several ids and numbers, lines of # and blank lines or not."""
    ids, numbers = _core.Text(b"q A s \xff 1 -2\n# A s d +3 4 \n", "iiiinw", comments=False, utf8=False).columns()
    assert [list(column) for column in ids] == [[b"q", b"#"], [b"A", b"A"], [b"s", b"s"], [b"\xff", b"d"]]
    assert [column.tolist() for column in numbers] == [[1, 3], [-2, 4]]
    assert _core.Text(b"q 1\n\nq 2\n", "in", blanks=False).columns() == (2, 4)
    assert _core.Text(b"q 1\n#\n", "in", comments=False).columns() == (2, 4)


@pytest.mark.parametrize("text", [b"1.0", b"1e2", b"1.", b"+", b"-", b"--1", b"0x1"])
def test_whole_numbers_are_digits(text):
    assert _core.Text(b"q 12\nq " + text + b"\n", "iw").columns() == (2, 5)


@pytest.mark.parametrize("longest", [3, 15, 16, 17, 40])
def test_numbers_are_those_of_python(longest):
    rng = np.random.default_rng(longest)
    words = []
    for _ in range(5000):
        digits = "".join(map(str, rng.integers(0, 10, rng.integers(1, longest + 1))))
        point = rng.integers(0, len(digits) + 1)
        words.append(rng.choice(["", "-", "+"]) + rng.choice([digits, digits[:point] + "." + digits[point:]]))
    words += ["-0", "-0.0", "0.1", "123456789012345", "999999999999999.", ".000000000000001"]
    _, (numbers,) = _core.Text("\n".join(words).encode(), "n").columns()
    assert [repr(number) for number in numbers.tolist()] == [repr(float(word)) for word in words]


def test_ids_of_any_length():
    """A short id is copied as a block of known size, so the end of the text and of a column matter."""
    rng = np.random.default_rng(0)
    words = ["x" * size for size in rng.integers(1, 80, 500)]
    for count in range(1, 40):
        (ids,), _ = _core.Text(" \n".join(words[:count]).encode(), "i").columns()
        assert strings(ids) == words[:count]


def test_strings_outlive_what_they_came_from():
    (ids,), _ = _core.Text(b"a\nb\n" * 1000, "i").columns()
    column = pa.array(ids)
    assert ids[1] == b"b"
    for row in (-1, 2000):
        with pytest.raises(IndexError):
            ids[row]
    capsules = ids.__arrow_c_array__()  # that nobody takes
    del ids, capsules
    assert column.to_pylist() == ["a", "b"] * 1000
