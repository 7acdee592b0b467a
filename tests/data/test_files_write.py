"""Files written: what a result says, other forms of the same truth or run, and never half a file."""

import io
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankstone as rs
from rankstone.data import atomic as writing
from rankstone.data.atomic import replacing
from rankstone.data.columns import Columns
from rankstone.data.files import read_run, read_truth
from rankstone.errors import FileError
from rankstone.results.export import convert, write

FORMATS = ("trec", "csv", "tsv", "jsonl", "parquet")

# Two lists: a relevant item first, and a relevant item second.
TRUTH = {"q1": {"a": 1}, "q2": {"b": 1}}
RUN = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 2.0, "b": 1.0}}


@pytest.fixture
def result() -> rs.Result:
    return rs.evaluate(TRUTH, RUN, ["rr", "num_ret"])


def test_csv_and_tsv(result: rs.Result, tmp_path: Path) -> None:
    write(result, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "query,rr,num_ret\nq1,1,2\nq2,0.5,2\n"
    write(result, tmp_path / "a.tsv")
    assert (tmp_path / "a.tsv").read_text() == "query\trr\tnum_ret\nq1\t1\t2\nq2\t0.5\t2\n"


def test_jsonl(result: rs.Result, tmp_path: Path) -> None:
    write(result, tmp_path / "a.jsonl")
    found = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert found == [{"query": "q1", "rr": 1.0, "num_ret": 2.0}, {"query": "q2", "rr": 0.5, "num_ret": 2.0}]


def test_parquet(result: rs.Result, tmp_path: Path) -> None:
    write(result, tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet")
    assert table.equals(result.to_arrow())
    assert (
        json.loads(table.schema.metadata[b"rankstone"])["runs"]["run"]["definitions"]["rr"]["cite"]
        == result.definitions["rr"].cite
    )


@pytest.mark.parametrize("name", ["a.csv", "a.tsv.gz", "a.jsonl", "a.trec", "a.md", "a.json"])
def test_one_file_and_nothing_beside_it(result: rs.Result, tmp_path: Path, name: str) -> None:
    write(result, tmp_path / name)
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_for_people(result: rs.Result, tmp_path: Path) -> None:
    """The table that is printed, with the definitions under it."""
    for ending, end in {"txt": "", "md": "| rr ", "tex": "% ", "html": "<table"}.items():
        write(result, tmp_path / f"a.{ending}")
        text = (tmp_path / f"a.{ending}").read_text()
        assert "0.7500" in text
        assert "rank of the first relevant item" in text
        assert end in text
    assert (tmp_path / "a.txt").read_text() == f"{result.render(verbose=True)}\n"
    assert (tmp_path / "a.md").read_text().splitlines()[0] == "| metric  |   mean |"
    assert (tmp_path / "a.tex").read_text() == f"{result.render('latex', verbose=True)}\n"


def test_trec(result: rs.Result, tmp_path: Path) -> None:
    write(result, tmp_path / "a.trec")
    assert (tmp_path / "a.trec").read_text() == (
        "rr                    \tq1\t1.0000\nnum_ret               \tq1\t2\n"
        "rr                    \tq2\t0.5000\nnum_ret               \tq2\t2\n"
        "rr                    \tall\t0.7500\nnum_ret               \tall\t4\n"
    )


def test_a_query_that_does_not_count_has_no_value(tmp_path: Path) -> None:
    result = rs.evaluate(TRUTH, {"q1": RUN["q1"]}, "rr", missing="skip")
    write(result, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "query,rr\nq1,1\nq2,\n"
    write(result, tmp_path / "a.jsonl")
    assert (tmp_path / "a.jsonl").read_text().splitlines()[1] == '{"query": "q2", "rr": null}'
    write(result, tmp_path / "a.trec")
    assert (
        tmp_path / "a.trec"
    ).read_text() == "rr                    \tq1\t1.0000\nrr                    \tall\t1.0000\n"


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz", "zst"])
def test_compressed_by_its_name(result: rs.Result, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.csv.{suffix}"
    write(result, path)
    assert not path.read_bytes().startswith(b"query")
    read = read_run(path, columns={"query": "query", "item": "num_ret", "score": "rr"})
    assert np.asarray(read.score).tolist() == [1.0, 0.5]
    with pytest.raises(ValueError, match="Parquet compresses by itself"):
        write(result, tmp_path / f"a.parquet.{suffix}")


def test_ids_and_names_with_separators_in_them(tmp_path: Path) -> None:
    truth = {'a,"b"': {"x": 1}, "c\nd": {"x": 1}, "plain": {"x": 1}}
    result = rs.evaluate(truth, {query: ["x"] for query in truth}, ["rr", "recall@5"])
    write(result, tmp_path / "a.csv")
    options = pa.csv.ParseOptions(newlines_in_values=True)
    assert pa.csv.read_csv(tmp_path / "a.csv", parse_options=options)["query"].to_pylist() == list(truth)
    with pytest.raises(ValueError, match="has white space in it and cannot be written as trec"):
        write(result, tmp_path / "a.trec")
    assert not (tmp_path / "a.trec").exists()


def test_unknown_endings_and_formats(result: rs.Result, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"unknown format of .*; use the extension \.csv, \.tsv"):
        write(result, tmp_path / "a.doc")
    with pytest.raises(ValueError, match="unknown format 'doc'; choose from csv, html, json, jsonl, latex, markdown"):
        write(result, tmp_path / "a.csv", "doc")
    write(result, tmp_path / "a.doc", "csv")
    assert (tmp_path / "a.doc").read_text().startswith("query,rr")
    with pytest.raises(ValueError, match=r"a\.csv is csv by its name, but json was asked for"):
        write(result, tmp_path / "a.csv", "json")


# -- whole or not at all ---------------------------------------------------------------------------------------


def fail_halfway(stream: Any, error: BaseException) -> None:
    stream.write(b"half of it")
    raise error


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.csv.xz"])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("old")
    for error in (RuntimeError("disk full"), KeyboardInterrupt()):
        with pytest.raises(type(error)), replacing(path) as stream:
            fail_halfway(stream, error)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_writer_that_fails_midway(result: rs.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    write(result, path)
    before = path.read_bytes()

    def fail(*_: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("pyarrow.csv.write_csv", fail)
    for target in (path, tmp_path / "new.csv"):
        with pytest.raises(OSError, match="no space left"):
            write(result, target)
    assert path.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == [path]


def test_it_is_on_the_disk_before_it_takes_the_name(
    result: rs.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    monkeypatch.setattr(writing, "_sync", lambda path: calls.append(os.path.getsize(path)))
    replace = os.replace
    monkeypatch.setattr(os, "replace", lambda *paths: (calls.append("replace"), replace(*paths)))
    write(result, tmp_path / "a.csv")
    assert calls[:2] == [(tmp_path / "a.csv").stat().st_size, "replace"]


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX file modes and links")
def test_modes_and_links_stay(result: rs.Result, tmp_path: Path) -> None:
    path, link = tmp_path / "a.csv", tmp_path / "link.csv"
    path.touch()
    path.chmod(0o640)
    link.symlink_to(path)
    write(result, link)
    assert link.is_symlink()
    assert path.read_text().startswith("query")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    mask = os.umask(0o022)
    try:
        write(result, tmp_path / "new.csv")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "new.csv").stat().st_mode) == 0o644


def test_folders_that_are_not_there(result: rs.Result, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such folder"):
        write(result, tmp_path / "none/a.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(IsADirectoryError):
        write(result, tmp_path / "folder.csv")


def test_standard_output(result: rs.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out))
    write(result, "-", "csv")
    assert out.getvalue().startswith(b"query,rr")


# -- from one format to another --------------------------------------------------------------------------------


def rows(read: Columns) -> list[tuple[str, str, float | None]]:
    """Rows with ids as text: CSV has no types."""
    value = read.grade if read.grade is not None else read.score
    query, item = ([str(one) for one in pa.array(column).to_pylist()] for column in (read.query, read.item))
    values = [None] * len(query) if value is None else np.asarray(value, dtype=float).tolist()
    return list(zip(query, item, values, strict=True))


def ids(exclude: str = "") -> st.SearchStrategy[str]:
    letters = st.characters(exclude_categories=["Cs"], exclude_characters=exclude)
    return st.one_of(st.integers(-5, 10**6).map(str), st.text(letters, min_size=1, max_size=6))


NUMBERS = st.one_of(st.integers(-4, 4).map(float), st.floats(allow_nan=False, allow_infinity=False))
SCORES = st.one_of(NUMBERS, st.sampled_from([float("inf"), float("-inf"), 5e-324, 1.7976931348623157e308, -0.0]))


@pytest.mark.parametrize("form", FORMATS)
@given(data=st.data())
def test_write_and_read_back(form: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    item = ids(" \t\n\r\v\f") if form == "trec" else ids()
    query = item.filter(lambda word: word[0] not in "#\ufeff") if form == "trec" else item
    folder = tmp_path_factory.mktemp("roundtrip")
    for kind, read, value, values in (("truth", read_truth, "grade", NUMBERS), ("run", read_run, "score", SCORES)):
        found = data.draw(st.lists(st.tuples(query, item, values), min_size=1, max_size=8))
        table = pa.table(dict(zip(("query", "item", value), map(list, zip(*found, strict=True)), strict=True)))
        pq.write_table(table, folder / "in.parquet")
        convert(folder / "in.parquet", folder / f"out.{form}", kind)
        assert rows(read(folder / f"out.{form}")) == found
        convert(folder / f"out.{form}", folder / f"back.{form}", kind)
        assert rows(read(folder / f"back.{form}")) == found


@pytest.mark.parametrize("form", FORMATS)
def test_what_has_no_values(tmp_path: Path, form: str) -> None:
    (tmp_path / "in.csv").write_text("query,item\n1,8\n1,9\n2,9\n")
    convert(tmp_path / "in.csv", tmp_path / f"truth.{form}", "truth")
    grade = 1.0 if form == "trec" else None
    assert rows(read_truth(tmp_path / f"truth.{form}")) == [("1", "8", grade), ("1", "9", grade), ("2", "9", grade)]
    convert(tmp_path / "in.csv", tmp_path / f"run.{form}", "run")
    run = rows(read_run(tmp_path / f"run.{form}"))
    score = [-1.0, -2.0, -1.0] if form == "trec" else [None] * 3
    assert run == [("1", "8", score[0]), ("1", "9", score[1]), ("2", "9", score[2])]


def test_a_trec_run_has_ranks_and_a_tag(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("query,item,score\n1,a,0.5\n2,a,1\n1,b,2\n1,c,2\n")
    convert(tmp_path / "in.csv", tmp_path / "out.run", "run", tag="mine")
    assert (tmp_path / "out.run").read_text() == (
        "1 Q0 a 3 0.5 mine\n2 Q0 a 1 1 mine\n1 Q0 b 1 2 mine\n1 Q0 c 2 2 mine\n"
    )


@pytest.mark.parametrize(("query", "item"), [("q", "a b"), ("a\tb", "d"), ("q", ""), ("#a", "d")])
def test_ids_that_trec_cannot_hold(tmp_path: Path, query: str, item: str) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps({"query": query, "item": item}) + "\n")
    with pytest.raises(ValueError, match="and cannot be written as trec; jsonl and parquet can"):
        convert(tmp_path / "in.jsonl", tmp_path / "out.qrels")
    assert not (tmp_path / "out.qrels").exists()
    convert(tmp_path / "in.jsonl", tmp_path / "out.parquet")
    assert rows(read_truth(tmp_path / "out.parquet")) == [(query, item, None)]


def test_float32_scores_keep_their_value_in_text(tmp_path: Path) -> None:
    table = pa.table({"query": ["q"], "item": ["d"], "score": pa.array([0.1], pa.float32())})
    pq.write_table(table, tmp_path / "in.parquet")
    convert(tmp_path / "in.parquet", tmp_path / "out.run", "run")
    assert rows(read_run(tmp_path / "out.run")) == [("q", "d", float(np.float32(0.1)))]


def test_converting_a_bad_file(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("query,item,grade\n1,8,1\n1,9,x\n")
    (tmp_path / "out.qrels").write_text("old")
    with pytest.raises(FileError, match=r"in.csv:3: grade 'x' is not a number"):
        convert(tmp_path / "in.csv", tmp_path / "out.qrels")
    assert (tmp_path / "out.qrels").read_text() == "old"
    assert convert(tmp_path / "in.csv", tmp_path / "out.qrels", on_error="skip").skipped == 1
    assert (tmp_path / "out.qrels").read_text() == "1 0 8 1\n"
    with pytest.raises(ValueError, match="unknown kind 'ratings'; choose from truth, run"):
        convert(tmp_path / "in.csv", tmp_path / "out.qrels", "ratings")


KILLED = """
import os, signal, sys
from rankstone.data.atomic import replacing
with replacing(sys.argv[1]) as stream:
    stream.write(b"half of it")
    stream.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="the system has no files without a name")
def test_a_killed_writer_leaves_nothing(tmp_path: Path) -> None:
    try:
        os.close(os.open(tmp_path, os.O_TMPFILE | os.O_RDWR))
    except OSError:
        pytest.skip("the file system has no files without a name")
    (tmp_path / "a.json").write_text("before")
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "a.json"], check=False)
    assert done.returncode == -signal.SIGKILL
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.json", "before")]


@pytest.mark.parametrize("nameless", [True, False])
def test_the_mode_is_that_of_the_file_at_any_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nameless: bool
) -> None:
    if not nameless:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    path = tmp_path / "secret.csv"
    path.write_text("before")
    path.chmod(0o600)
    with replacing(path) as stream:
        stream.write(b"after")
        assert {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()} == {0o600}
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("after", 0o600)
    with replacing(tmp_path / "new.csv") as stream:
        stream.write(b"after")
    (tmp_path / "plain.csv").write_text("after")
    assert (tmp_path / "new.csv").stat().st_mode == (tmp_path / "plain.csv").stat().st_mode
    assert {each.name for each in tmp_path.iterdir()} == {"secret.csv", "new.csv", "plain.csv"}


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_a_plot_is_there_whole_or_not_at_all(
    result: rs.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    if ending != "svg":
        pytest.importorskip("matplotlib")
    path, plot = tmp_path / f"a.{ending}", result.plot("rr@{1..3}")
    plot.save(path)
    before = path.read_bytes()
    assert before[:4] in (b"<svg", b"\x89PNG", b"%PDF")

    def full(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="the disk is full"):
        plot.save(path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
