"""`evaluate_file` says what `evaluate` says of a file read whole, in one pass or two."""

import gzip
import json
import lzma
import pickle

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import rankstone as rs
from rankstone.data import files
from rankstone.data import lines as text_files
from rankstone.errors import FileError, NoRowsError
from rankstone.evaluate import one_pass as grouped
from rankstone.evaluate import stream as stream_module
from rankstone.evaluate.stream import Stream, evaluate_file
from rankstone.progress import Progress

from .data import assert_same, pair, streamed

ASKED = ["ap", "ndcg@5", "rr", "recall@10", "bpref"]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(text_files, "BATCH_ROWS", 37)
    monkeypatch.setattr(text_files, "BATCH_BYTES", 700)


@pytest.fixture
def one_pass_only(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("one pass is enough")

    monkeypatch.setattr(stream_module, "Stream", refuse)


def table(run):
    return pa.table({"query": run.query, "item": run.item, "score": run.score})


def write(path, run, form):
    """A run in a file."""
    rows = list(zip(*(pa.array(one).to_pylist() for one in (run.query, run.item, run.score)), strict=True))
    if form == "parquet":
        parquet.write_table(table(run), path, row_group_size=100)
    elif form == "trec":
        path.write_text("# a comment\n" + "".join(f"{q} Q0 {i} 1 {s} tag\n" for q, i, s in rows))
    elif form == "csv":
        path.write_text("qid,docno,score\n" + "".join(f"{q},{i},{s}\n" for q, i, s in rows))
    elif form == "tsv":
        path.write_text("".join(f"{q}\t{i}\t{s}\n" for q, i, s in rows))
    else:
        path.write_text("".join(json.dumps({"query": q, "item": i, "score": s}) + "\n" for q, i, s in rows))
    return path


@pytest.mark.parametrize("form", ["parquet", "trec", "csv", "tsv", "jsonl"])
@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("shuffled", [False, True])
def test_every_format(tmp_path, form, text, shuffled):
    rng = np.random.default_rng(1)
    truth, run = pair(rng, text=text, text_queries=text, shuffled=shuffled)
    path = write(tmp_path / f"run.{form}", run, form)
    for ties in ("item_desc", "item_asc"):
        assert_same(evaluate_file(truth, path, ASKED, ties=ties), rs.evaluate(truth, path, ASKED, ties=ties))


@pytest.mark.parametrize("rows", [1, 10, 37, 1000])
@pytest.mark.usefixtures("one_pass_only")
def test_one_pass_is_enough_for_grouped_rows(tmp_path, monkeypatch, rows):
    monkeypatch.setattr(text_files, "BATCH_ROWS", rows)
    for text in (False, True):
        truth, run = pair(np.random.default_rng(2), text=text, text_queries=text, shuffled=False)
        path = write(tmp_path / "run.parquet", run, "parquet")
        # Rows have an order here, so that all choices can be made.
        for choices in ({}, {"ties": "input"}, {"ties": "expected"}, {"duplicates": "best"}, {"missing": "skip"}):
            asked = ["ap", "ndcg@5"]
            assert_same(evaluate_file(truth, path, asked, **choices), rs.evaluate(truth, path, asked, **choices))
        asked = ["ap", "ap(score_precision='float32')", "bpref", "ap(ties='reverse_input')"]
        assert_same(evaluate_file(truth, path, asked), rs.evaluate(truth, path, asked))


@pytest.mark.usefixtures("one_pass_only")
def test_one_pass_over_a_ranked_list_without_scores(tmp_path):
    truth, run = pair(np.random.default_rng(2), shuffled=False)
    parquet.write_table(table(run).drop(["score"]), tmp_path / "run.parquet")
    assert_same(
        evaluate_file(truth, tmp_path / "run.parquet", ASKED), rs.evaluate(truth, tmp_path / "run.parquet", ASKED)
    )


def test_a_query_that_comes_back_late(tmp_path):
    truth, run = pair(np.random.default_rng(3), shuffled=False)
    at = np.r_[1 : len(run.query), 0]
    run = rs.columns(query=run.query[at], item=run.item[at], score=run.score[at])
    path = write(tmp_path / "run.parquet", run, "parquet")
    assert_same(evaluate_file(truth, path, ASKED), rs.evaluate(truth, path, ASKED))
    with pytest.raises(ValueError, match="ties='input' needs an order of rows"):
        evaluate_file(truth, path, ASKED, ties="input")


def test_a_query_too_long_to_wait_for(tmp_path, monkeypatch):
    monkeypatch.setattr(grouped, "CARRY_LIMIT", 50)
    truth, run = pair(np.random.default_rng(3), rows=200, shuffled=False)
    path = write(tmp_path / "run.parquet", run, "parquet")
    with pytest.raises(ValueError, match="the rows of a stream have no order"):  # in two passes
        evaluate_file(truth, path, "ap", ties="input")
    assert_same(evaluate_file(truth, path, "ap"), rs.evaluate(truth, path, "ap"))


@pytest.mark.parametrize("shuffled", [False, True])
def test_several_files(tmp_path, shuffled):
    truth, run = pair(np.random.default_rng(4), shuffled=shuffled)
    want = rs.evaluate(truth, run, ASKED)
    whole = table(run)
    for part in range(3):
        size = whole.num_rows // 3 + 1
        parquet.write_table(whole.slice(part * size, size), tmp_path / f"part-{part}.parquet")
    assert_same(evaluate_file(truth, tmp_path, ASKED), want)
    assert_same(evaluate_file(truth, str(tmp_path / "part-*.parquet"), ASKED), want)


def test_partitions_by_query(tmp_path):
    truth, run = pair(np.random.default_rng(4))
    parquet.write_to_dataset(table(run), tmp_path / "parts", partition_cols=["query"])
    assert_same(evaluate_file(truth, tmp_path / "parts", ASKED), rs.evaluate(truth, run, ASKED))


@pytest.mark.parametrize(("ending", "compress"), [("gz", gzip.compress), ("xz", lzma.compress)])
def test_compressed(tmp_path, ending, compress):
    truth, run = pair(np.random.default_rng(5), text=True, text_queries=True)
    plain = write(tmp_path / "run.trec", run, "trec")
    packed = tmp_path / f"run.trec.{ending}"
    packed.write_bytes(compress(plain.read_bytes()))
    assert_same(evaluate_file(truth, packed, ASKED), rs.evaluate(truth, run, ASKED))
    packed.write_bytes(packed.read_bytes()[:200])
    with pytest.raises(FileError, match="cannot be decompressed"):
        evaluate_file(truth, packed, ASKED)


def test_ids_that_turn_out_to_be_text(tmp_path):
    # As whole numbers 9 < 10, as text "9" > "10": the same whether a batch happens to hold numbers only or not.
    path = tmp_path / "run.csv"
    rows = [("1", item, 1.0) for item in ("9", "10", "11")] + [(str(q), "7", 1.0) for q in range(2, 200)]
    truth = rs.columns(query=[1, 150], item=[10, 7])
    for last in (("1", "2", 0.5), ("1", "x", 0.5)):
        text = "".join(f"{q},{i},{s}\n" for q, i, s in [*rows, last])
        path.write_text("query,item,score\n" + text)
        assert_same(evaluate_file(truth, path, ["ap", "rr"]), rs.evaluate(truth, path, ["ap", "rr"]))


def test_quotes_with_line_ends_inside(tmp_path):
    path = tmp_path / "run.csv"
    rows = [("q", f'"a\n{n},\nb"' if n % 3 else f'"say ""{n}"""', n / 7) for n in range(100)]
    path.write_text("query,item,score\n" + "".join(f"{q},{i},{s}\n" for q, i, s in rows))
    truth = {"q": {"a\n55,\nb": 1, 'say "9"': 1}}
    assert_same(evaluate_file(truth, path, ["ap"]), rs.evaluate(truth, path, ["ap"]))


def test_errors_name_the_line(tmp_path):
    truth = {"1": {"7": 1}}
    path = tmp_path / "run.trec"
    lines = [f"1 Q0 {n} 1 {n / 3} t\n" for n in range(500)]
    lines[333] = "1 Q0 333 1 abc t\n"
    path.write_text("".join(lines))
    with pytest.raises(FileError, match=r"run\.trec:334: score 'abc' is not a number"):
        evaluate_file(truth, path)
    path = tmp_path / "run.csv"
    lines = ["query,item,score\n", *(f"1,{n},{n / 3}\n" for n in range(500))]
    lines[400] = "1,2\n"
    path.write_text("".join(lines))
    with pytest.raises(FileError, match=r"run\.csv:401: expected 3 fields, found 2"):
        evaluate_file(truth, path)


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        ("query", "query is null"),
        ("item", "item is null"),
        ("score", "score is null"),
        ("nan", "score nan is not a number"),
    ],
)
def test_bad_rows_of_parquet(tmp_path, column, problem):
    data = {"query": [1] * 100, "item": list(range(100)), "score": [n / 7 for n in range(100)]}
    if column == "nan":
        data["score"][88] = float("nan")
    else:
        data[column][88] = None
    parquet.write_table(pa.table(data), tmp_path / "run.parquet")
    with pytest.raises(FileError, match=rf"run\.parquet:89: {problem}"):
        evaluate_file({1: {7: 1}}, tmp_path / "run.parquet")


def test_what_cannot_be_read_in_batches(tmp_path):
    path = tmp_path / "x.scores"
    path.write_text("0.5\n0.25\n")
    with pytest.raises(FileError, match="cannot be read in batches; choose from trec, csv"):
        evaluate_file({1: {1: 1}}, path)
    path.write_text("")
    with pytest.raises(FileError, match="is empty"):
        evaluate_file({1: {1: 1}}, path)
    with pytest.raises(FileNotFoundError):
        evaluate_file({1: {1: 1}}, tmp_path / "none.csv")
    (tmp_path / "run.csv").write_text("query,item,score\n")
    with pytest.raises(FileError, match="has no rows"):
        evaluate_file({1: {1: 1}}, tmp_path / "run.csv")


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("shuffled", [False, True])
def test_progress(tmp_path, form, shuffled, monkeypatch):
    truth, run = pair(np.random.default_rng(6), shuffled=shuffled)
    path = write(tmp_path / f"run.{form}", run, form)
    seen = []
    monkeypatch.setattr(Progress, "__call__", lambda progress, done, total: seen.append((done, total)))
    evaluate_file(truth, path, "ap")
    size = len(run.query) if form == "parquet" else path.stat().st_size
    assert seen[-1] == ((2 * size, 2 * size) if shuffled else (size, size))
    last = [done for done, total in seen if total == seen[-1][1]]
    assert last == sorted(last)
    assert len(last) > 3


def test_columns_by_name_and_a_truth_in_a_file(tmp_path):
    truth, run = pair(np.random.default_rng(7))
    (tmp_path / "truth.csv").write_text(
        "who,what,grade\n"
        + "".join(f"{q},{i},{g}\n" for q, i, g in zip(truth.query, truth.item, truth.grade, strict=True))
    )
    path = tmp_path / "run.parquet"
    parquet.write_table(pa.table({"who": run.query, "what": run.item, "how": run.score}), path)
    roles = {"truth": {"query": "who", "item": "what"}, "run": {"query": "who", "item": "what", "score": "how"}}
    assert_same(evaluate_file(tmp_path / "truth.csv", path, ASKED, columns=roles), rs.evaluate(truth, run, ASKED))


def test_strings_as_polars_has_them(tmp_path):
    truth, run = pair(np.random.default_rng(8), text=True, text_queries=True, shuffled=False)
    views = {"query": run.query.cast(pa.string_view()), "item": run.item.cast(pa.string_view()), "score": run.score}
    path = tmp_path / "run.parquet"
    parquet.write_table(pa.table(views), path)
    judged = rs.columns(
        query=truth.query.cast(pa.string_view()), item=truth.item.cast(pa.string_view()), grade=truth.grade
    )
    for ties in ("input", "item_asc"):
        assert_same(evaluate_file(judged, path, ASKED, ties=ties), rs.evaluate(truth, run, ASKED, ties=ties))
    stream = pickle.loads(pickle.dumps(Stream(judged, ASKED)))
    assert_same(streamed(stream, [pa.table(views)]), rs.evaluate(truth, run, ASKED))


def test_what_is_large(tmp_path, monkeypatch):
    _, run = pair(np.random.default_rng(9))
    paths = [write(tmp_path / f"run.{form}", run, form) for form in ("parquet", "csv", "trec")]
    (tmp_path / "run.scores").write_text("0.5\n" * 9999)
    (tmp_path / "parts").mkdir()
    write(tmp_path / "parts" / "part-0.parquet", run, "parquet")
    several = [tmp_path / "parts", str(tmp_path / "parts" / "*.parquet")]
    assert not any(map(files.is_large, [*paths, *several, tmp_path / "none", "-"]))
    monkeypatch.setattr(files, "LARGE_ROWS", 100)
    assert [files.is_large(one) for one in [*paths, *several]] == [True, False, False, True, True]
    monkeypatch.setattr(files, "LARGE_BYTES", 1000)
    assert all(map(files.is_large, [*paths, *several]))
    assert not files.is_large(tmp_path / "run.scores")


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("run.jsonl", ['{"query": "q", "item": "a", "score": 2}', '{"query": "q", "item": "b", "score": 1}']),
        ("run.csv", ["query,item,score", "q,a,2", "q,b,1"]),
        ("run.trec", ["q Q0 a 1 2 tag", "q Q0 b 2 1 tag"]),
    ],
)
def test_batches_of_blank_lines(tmp_path, monkeypatch, name, lines):
    monkeypatch.setattr(text_files, "BATCH_BYTES", 64)
    path = tmp_path / name
    path.write_text(("\n" * 200).join(["", *lines, ""]))
    assert evaluate_file({"q": {"b": 1}}, path, "rr")["rr"] == 1 / 2
    path.write_text("\n" * 200)
    with pytest.raises(NoRowsError):
        evaluate_file({"q": {"b": 1}}, path, "rr", format=name.split(".")[1])
