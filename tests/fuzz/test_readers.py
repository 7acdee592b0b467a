"""Readers of files against bytes that nobody would write: an answer or a `FileError`, nothing else, and the same
answer however the same rows are written. `RANKSTONE_FUZZ_SECONDS=600` goes on for so long in each test.
"""

import gzip
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankstone.data import delimited, json_files, trec
from rankstone.data.columns import Columns
from rankstone.data.files import read_run, read_truth
from rankstone.data.formats import FORMATS
from rankstone.data.lines import IrregularError
from rankstone.errors import FileError
from tests.effort import cpu_limit, examples

SECONDS = float(os.environ.get("RANKSTONE_FUZZ_SECONDS", "0"))
READERS = {"truth": read_truth, "run": read_run}

fuzzing = examples(
    2.5,
    database=None,
    derandomize=settings().derandomize and not SECONDS,
    suppress_health_check=[*HealthCheck],
)


def for_a_while(check: Callable[[], None]) -> None:
    """Once, and again until the time is up; each time with other examples."""
    end = time.monotonic() + SECONDS
    check()
    while time.monotonic() < end:
        check()


def rows(read: Columns) -> list[tuple[Any, ...]]:
    value = read.grade if read.grade is not None else read.score
    columns = [pa.array(one).to_pylist() for one in (read.query, read.item, value) if one is not None]
    assert len({len(column) for column in columns}) == 1
    return list(zip(*columns, strict=True))


def attempt(kind: str, path: Path, form: str | None, on_error: str = "stop") -> Columns | FileError:
    """What is read, or what is wrong; a few hundred bytes do not hang."""
    try:
        with cpu_limit(30):
            read = READERS[kind](path, format=form, on_error=on_error)  # type: ignore[operator]
    except FileError as error:
        return error
    assert rows(read)
    return read


def check_skipping(kind: str, path: Path, form: str | None) -> None:
    """Stopping and skipping agree on what is good and what is bad."""
    stopped, skipped = attempt(kind, path, form), attempt(kind, path, form, "skip")
    if isinstance(stopped, Columns):
        assert isinstance(skipped, Columns)
        assert rows(skipped) == rows(stopped)
        assert skipped.skipped == 0
    elif isinstance(skipped, Columns):
        assert skipped.skipped > 0
        assert skipped.bad_lines[0] == (stopped.line, stopped.problem)


# -- anything --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [None, *FORMATS])
def test_any_bytes(form: str | None, tmp_path: Path) -> None:
    letters = st.sampled_from(
        [b"\n", b" ", b"\t", b",", b'"', b"#", b"{", b"}", b"\r", b"0", b"1", b"q", b"\xff", b":"]
    )
    path = tmp_path / "any"

    @fuzzing
    @given(
        st.one_of(st.binary(max_size=300), st.lists(letters, max_size=60).map(b"".join)), st.sampled_from([*READERS])
    )
    def check(content: bytes, kind: str) -> None:
        path.write_bytes(content)
        check_skipping(kind, path, form)

    for_a_while(check)


# -- nearly right ----------------------------------------------------------------------------------------------


def parquet_bytes(value: str) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"query": ["q1", "q1", "q2"], "item": [1, 2, 3], value: [1.0, 0.5, 2.0]}), sink)
    return sink.getvalue().to_pybytes()


def csv_text(separator: str, value: str) -> bytes:
    lines = (("query", "item", value), ("q1", "a", "1"), ("q1", '"b"', "0"), ("q2", "c", "2.5"))
    return "".join(separator.join(line) + "\n" for line in lines).encode()


def json_text(value: str) -> bytes:
    found = ({"query": "q1", "item": "a", value: 1}, {"query": "q1", "item": "b", value: 0.5})
    return "".join(json.dumps(one) + "\n" for one in found).encode()


SAMPLES = {
    ("truth", "trec"): b"q1 0 a 1\nq1 0 b 0\n# note\nq2 0 c 2\n",
    ("run", "trec"): b"q1 Q0 a 1 2.5 t\nq1 Q0 b 2 -1e3 t\nq2 Q0 c 1 0 t\n",
    ("truth", "letor"): b"2 qid:1 1:0.5 #docid = a\n0 qid:1 1:1 #docid = b\n1 qid:2 3:1 #docid = c\n",
    ("truth", "csv"): csv_text(",", "grade"),
    ("run", "csv"): csv_text(",", "score"),
    ("run", "tsv"): csv_text("\t", "score"),
    ("truth", "jsonl"): json_text("grade"),
    ("run", "jsonl"): json_text("rank"),
    ("truth", "parquet"): parquet_bytes("grade"),
    ("run", "parquet"): parquet_bytes("score"),
}
TOKENS = [
    b"", b"\n", b"\r\n", b"\r", b" ", b"\t", b",", b'"', b'""', b"#", b"\x00", b"\xff", b"\xc3\xa9", b"\xef\xbb\xbf",
    b"nan", b"inf", b"-inf", b"1e400", b"1_0", b"+1", b"007", b"-0", b"0x1", b"null", b"true", b"{}", b"[", b"\\ud800",
    b"99999999999999999999", b"\xe2\x80\xa8", b"qid:", b"1:", b"\n\n", b"\x1a", b"e", b".", b"'",
]  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn, sample: bytes) -> bytes:
    """The sample with a few pieces taken out, put in or repeated."""
    content = sample
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        stop = draw(st.integers(start, min(len(content), start + draw(st.sampled_from([0, 1, 2, 8, 1000])))))
        put = draw(st.one_of(st.sampled_from(TOKENS), st.binary(max_size=3), st.just(content[start:stop] * 2)))
        content = content[:start] + put + content[stop:]
    return content


@pytest.mark.parametrize(("kind", "form"), SAMPLES)
def test_mutated_files(kind: str, form: str, tmp_path: Path) -> None:
    @fuzzing
    @given(mutated(SAMPLES[kind, form]), st.booleans())
    def check(content: bytes, told: bool) -> None:
        path = tmp_path / ("file" if told else f"file.{form}")
        path.write_bytes(content)
        check_skipping(kind, path, form if told else None)

    for_a_while(check)


def test_mutated_compressed_files(tmp_path: Path) -> None:
    path = tmp_path / "a.run.gz"
    content = gzip.compress(SAMPLES["run", "trec"], mtime=0)

    @fuzzing
    @given(mutated(content))
    def check(content: bytes) -> None:
        path.write_bytes(content)
        check_skipping("run", path, None)

    for_a_while(check)


def no_short_cut(*_: Any) -> None:
    raise IrregularError


@pytest.mark.parametrize(("kind", "form"), [one for one in SAMPLES if one[1] not in ("parquet", "letor")])
def test_the_quick_way_and_line_by_line_agree(kind: str, form: str, tmp_path: Path) -> None:
    path = tmp_path / "file"

    @fuzzing
    @given(mutated(SAMPLES[kind, form]))
    def check(content: bytes) -> None:
        path.write_bytes(content)
        quick = attempt(kind, path, form)
        with (
            mock.patch.object(trec, "parse_trec", no_short_cut),
            mock.patch.object(delimited, "_quick", no_short_cut),
            mock.patch.object(json_files, "_quick", no_short_cut),
        ):
            slow = attempt(kind, path, form)
        if isinstance(quick, Columns):
            assert isinstance(slow, Columns), str(slow)
            assert rows(quick) == rows(slow)
        else:
            assert str(quick) == str(slow)

    for_a_while(check)


# -- the same rows in every format -----------------------------------------------------------------------------

GAPS = st.text(" \t\v\f", min_size=1, max_size=3)
ENDS = st.sampled_from(["\n", "\r\n", " \n", "\n\n", "\n# note\n", "\n  \n"])
WORDS = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zs"], exclude_characters='",#\ufeff'), min_size=1, max_size=5
)
ROWS = st.lists(st.tuples(WORDS, WORDS, st.floats(allow_nan=False, allow_infinity=False)), min_size=1, max_size=8)


def test_every_format_gives_the_same_rows(tmp_path: Path) -> None:
    @fuzzing
    @given(ROWS, st.data())
    def check(found: list[tuple[str, str, float]], data: st.DataObject) -> None:
        lines = []
        for query, item, score in found:
            fields = [query, "Q0", item, "1", repr(score), "tag"]
            gaps = [data.draw(GAPS) for _ in fields]
            lines.append("".join(field + gap for field, gap in zip(fields, gaps, strict=True)) + data.draw(ENDS))
        bom = data.draw(st.sampled_from(["", "\ufeff"]))
        end = data.draw(st.sampled_from(["\n", "\r\n"]))
        files = {"trec": bom + "".join(lines)}
        for form, separator in (("csv", ","), ("tsv", "\t")):
            rows_ = [("query", "item", "score"), *((query, item, repr(score)) for query, item, score in found)]
            files[form] = bom + end.join(separator.join(row) for row in rows_)
        objects = ({"score": score, "query": query, "item": item} for query, item, score in found)
        files["jsonl"] = bom + end.join(json.dumps(one, ensure_ascii=data.draw(st.booleans())) for one in objects)
        for form, text in files.items():
            path = tmp_path / f"a.{form}"
            path.write_bytes(text.encode())
            read = rows(read_run(path, format=form))
            assert [(str(query), str(item), score) for query, item, score in read] == found, form

    for_a_while(check)
