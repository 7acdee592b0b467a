"""Files with a list of items a query: JSON lines, Parquet, and `{query: {item: score}}` in one object."""

import json
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankstone as rs
from rankstone.data import json_files
from rankstone.data import lines as text_files
from rankstone.data.lines import IrregularError
from rankstone.data.lists import Lists
from rankstone.data.roles import NAMES
from rankstone.data.tables import as_columns
from rankstone.errors import FileError
from rankstone.evaluate.stream import evaluate_file

TRUTH = {"q1": ["c1"], "q2": ["c3", "c4"], "q3": ["c9"]}
RUN = {"q1": ["c2", "c1"], "q2": ["c3", "c5", "c4"], "q3": []}  # nothing was found for the last one
SCORES = {"q1": [0.9, 0.8], "q2": [0.5, 0.25, 0.125], "q3": []}
RR = [1 / 2, 1, 0]


def write(path: Path, content: Any) -> Path:
    """Text as it is; several objects as lines, anything else as one document."""
    if isinstance(content, list) and path.suffix == ".jsonl":
        content = "".join(json.dumps(one) + "\n" for one in content)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    return write(tmp_path / "gold.csv", "question_id,chunk_id\nq1,c1\nq2,c3\nq2,c4\nq3,c9\n")


LINES = [{"question_id": query, "retrieved_chunk_ids": items} for query, items in RUN.items()]
SHAPES: dict[str, Any] = {
    "ids.jsonl": LINES,
    "text.jsonl": [{"question": "why?", "latency": 0.5, "score": 1.5, **line} for line in LINES],
    "scores.jsonl": [{"qid": query, "scores": SCORES[query], "items": items} for query, items in RUN.items()],
    "ranks.jsonl": [
        {"qid": query, "items": items[::-1], "ranks": list(range(len(items), 0, -1))} for query, items in RUN.items()
    ],
    "objects.jsonl": [
        {"qid": q, "retrieved": [{"id": i, "score": s, "text": "x"} for i, s in zip(RUN[q], SCORES[q], strict=True)]}
        for q in RUN
    ],
    "pairs.jsonl": [{"qid": q, "retrieved": list(zip(RUN[q], SCORES[q], strict=True))} for q in RUN],
    "dicts.jsonl": [{"qid": q, "retrieved": dict(zip(RUN[q], SCORES[q], strict=True))} for q in RUN],
    "records.json": LINES,
    "lists.json": RUN,
    "nested.json": {q: dict(zip(RUN[q], SCORES[q], strict=True)) for q in RUN},
    "nested_objects.json": {
        q: [{"docno": i, "score": s} for i, s in zip(RUN[q], SCORES[q], strict=True)] for q in RUN
    },
    "nested_pairs.json": {q: list(zip(RUN[q], SCORES[q], strict=True)) for q in RUN},
    "pretty.json": json.dumps(RUN, indent=2),
    "pretty_records.json": json.dumps(LINES, indent=2),
    "lines.json": "".join(json.dumps(line) + "\n" for line in LINES),
    "noname": json.dumps({q: dict(zip(RUN[q], SCORES[q], strict=True)) for q in RUN}),
    "blanks.jsonl": "\n\n".join(json.dumps(line) for line in LINES),
    "bom.json": "\ufeff" + json.dumps(RUN),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("missing", ["zero", "skip"])
def test_a_run_in_every_shape(tmp_path: Path, truth: Path, name: str, missing: Any) -> None:
    """An empty list is not a missing query."""
    result = rs.evaluate(truth, write(tmp_path / name, SHAPES[name]), "rr", missing=missing)
    assert result.per_query["rr"].tolist() == RR
    assert (result["rr"], result.account.missing) == ((1 / 2 + 1 + 0) / 3, 0)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("size", [1, 40, 10_000])
def test_a_run_in_batches(tmp_path: Path, truth: Path, name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "BATCH_BYTES", size)
    path = write(tmp_path / name, SHAPES[name])
    assert evaluate_file(truth, path, "rr").per_query["rr"].tolist() == RR
    with pytest.raises(ValueError, match="query 'q3' has an empty list, which a run in batches cannot distinguish"):
        evaluate_file(truth, path, "rr", missing="skip")


TRUTHS: dict[str, Any] = {
    "gold.jsonl": [{"question_id": query, "relevant_chunk_ids": items} for query, items in TRUTH.items()],
    "graded.jsonl": [{"qid": q, "items": [*TRUTH[q], "c2"], "grades": [1] * len(TRUTH[q]) + [0]} for q in TRUTH],
    "scored.jsonl": [{"qid": q, "items": [*TRUTH[q], "c2"], "score": [1] * len(TRUTH[q]) + [0]} for q in TRUTH],
    "objects.jsonl": [
        {"qid": q, "gold": [{"id": i, "score": int(i != "c2")} for i in [*TRUTH[q], "c2"]]} for q in TRUTH
    ],
    "qrels.json": {query: dict.fromkeys(items, 1) | {"c2": 0} for query, items in TRUTH.items()},
    "lists.json": TRUTH,
    "records.json": [{"query-id": q, "corpus-id": i, "score": 1} for q, items in TRUTH.items() for i in items],
}  # fmt: skip


@pytest.mark.parametrize("name", TRUTHS)
@pytest.mark.parametrize("run", [RUN, "lists.json", "ids.jsonl"])
def test_a_truth_in_every_shape(tmp_path: Path, name: str, run: Any) -> None:
    judged = write(tmp_path / f"truth-{name}", TRUTHS[name])
    run = run if isinstance(run, dict) else write(tmp_path / run, SHAPES[run])
    assert rs.evaluate(judged, run, "rr").per_query["rr"].tolist() == RR


def test_a_query_with_nothing_relevant_counts(tmp_path: Path) -> None:
    """As in a dict: rows of items could not tell of it."""
    judged = {"q1": ["c1"], "q2": []}
    expected = rs.evaluate(judged, {"q1": ["c1"], "q2": ["c1"]}, "rr")["rr"]
    assert expected == 1 / 2
    path = write(tmp_path / "t.json", judged)
    csv = write(tmp_path / "run.csv", "query,item,score\nq1,c1,1\nq2,c1,1\n")
    rows = pd.DataFrame({"query": ["q1", "q2"], "item": ["c1", "c1"], "score": [1.0, 1.0]})
    for truth in (path, judged, rs.read_truth(path)):
        for run in (csv, rows):
            assert rs.evaluate(truth, run, "rr")["rr"] == expected
    with pytest.raises(ValueError, match="query 'q2' of the truth has no items"):
        evaluate_file(path, csv, "rr")
    for truth in (judged, {"q1": ["c1"]}):
        with pytest.raises(ValueError, match="run queries: row 1 is null"):
            rs.evaluate(truth, pa.table({"query": ["q1", None], "item": ["c1", "c1"], "score": [1.0, 2.0]}), "rr")


def test_both_sides_in_one_file(tmp_path: Path) -> None:
    """The scores are those of the list that was returned."""
    path = write(
        tmp_path / "log.jsonl",
        [
            {"question_id": q, "question": "why?", "gold": TRUTH[q], "retrieved": RUN[q], "scores": SCORES[q]}
            for q in ("q1", "q2")
        ],
    )
    assert rs.evaluate(path, metrics="rr").per_query["rr"].tolist() == RR[:2]
    assert rs.evaluate(path, path, "rr").per_query["rr"].tolist() == RR[:2]
    rows = write(tmp_path / "rows.csv", "query,item,label,score\n1,a,0,0.9\n1,b,1,0.8\n")
    assert rs.evaluate(rows, metrics="rr")["rr"] == 1 / 2


@pytest.mark.parametrize("size", [10, 1 << 18])
@pytest.mark.parametrize("objects", [False, True])
def test_parquet_with_lists(
    tmp_path: Path, truth: Path, size: int, objects: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_files, "BATCH_ROWS", size)
    if objects:
        found = {
            "retrieved": [[{"id": i, "score": s} for i, s in zip(RUN[q], SCORES[q], strict=True)] for q in RUN]
        }  # fmt: skip
    else:
        found = {"retrieved_chunk_ids": list(RUN.values()), "scores": list(SCORES.values())}
    path = tmp_path / "run.parquet"
    pq.write_table(pa.table({"question_id": list(RUN), **found}), path)
    assert rs.evaluate(truth, path, "rr", missing="skip").per_query["rr"].tolist() == RR
    assert rs.evaluate(truth, pq.read_table(path), "rr").per_query["rr"].tolist() == RR
    assert evaluate_file(truth, path, "rr").per_query["rr"].tolist() == RR
    pq.write_table(pa.table({"question_id": list(TRUTH), "gold": list(TRUTH.values())}), tmp_path / "gold.parquet")
    assert rs.evaluate(tmp_path / "gold.parquet", path, "rr").per_query["rr"].tolist() == RR


@pytest.mark.parametrize("item", [pa.int32(), pa.dictionary(pa.int8(), pa.string()), pa.binary()])
@pytest.mark.parametrize("score", [pa.float32(), pa.decimal128(21, 2), pa.int8()])
def test_types_of_lists_in_parquet(tmp_path: Path, item: pa.DataType, score: pa.DataType) -> None:
    ids = pa.array([1, 2, 3]) if item == pa.int32() else pa.array(["1", "2", "3"])
    ids = ids.dictionary_encode() if pa.types.is_dictionary(item) else ids.cast(item)
    scores = pa.array([1, 3, 2]).cast(score)
    run = pa.table(
        {"query": [7, 8], "items": pa.ListArray.from_arrays([0, 2, 3], ids),
         "scores": pa.LargeListArray.from_arrays(pa.array([0, 2, 3], pa.int64()), scores)}
    )  # fmt: skip
    pq.write_table(run, tmp_path / "run.parquet")
    judged = write(tmp_path / "qrels", "7 0 1 1\n8 0 3 1\n")
    assert rs.evaluate(judged, tmp_path / "run.parquet", "rr").per_query["rr"].tolist() == [1 / 2, 1]


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("items", [["a"], None, ["b"]], "2: item is null; an empty list is []"),
        ("items", [["a"], ["b", None], ["c"]], "2: item is null"),
        ("scores", [[1.0], [1.0, 2.0], [1.0]], "2: has 1 items, but 2 as score"),
        ("scores", [[1.0], [1.0], [float("nan")]], "3: score nan is not a number"),
        ("scores", [[1.0], None, [1.0]], "2: score is null; an empty list is []"),
        ("query", ["q", None, "r"], "2: query is null"),
    ],
)
def test_bad_lists_in_parquet(tmp_path: Path, column: str, values: Any, said: str) -> None:
    path = tmp_path / "run.parquet"
    found = {"query": ["x", "y", "z"], "items": [["a"], ["b"], ["c"]], "scores": [[1.0], [1.0], [1.0]]}
    pq.write_table(pa.table({**found, column: values}), path)
    with pytest.raises(FileError) as caught:
        rs.read_run(path)
    assert str(caught.value) == f"{path}:{said}"
    read = rs.read_run(path, on_error="skip")
    assert isinstance(read, Lists)
    assert (len(read), read.skipped) == (2, 1)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"q1": {"a": 1},\n "q2": {"b": "x"}}', "2: query 'q2': score 'x' is not a number"),
        ('{"q1": {"a": 1},\n "q2": ["b"]}',
         "2: query 'q2' has no scores for its items, unlike the queries before it"),
        ('{"q1": ["a"],\n\n "q2": "b"}', "3: query 'q2': expected a list of items or {item: score}, found 'b'"),
        ('{"q1": ["a", ["b", 1]]}', "1: query 'q1': item ['b', 1] is neither a whole number nor a string"),
        ('{"q1": [["a", 1], ["b"]]}', "1: query 'q1': expected [item, score], found ['b']"),
        ('{"q1": [{"x": 1}]}',
         f"1: query 'q1': the object has no item column among 'x'; usual names are {', '.join(NAMES['item'])}; "
         "or name it: columns={'item': ...}"),
        ('{"q1": {"a": 1},\n "q2": {"b": 1, "a": 2, "b": 3}}', "2: an object has twice the key 'b'"),
        ('{"q1": ["a"],\n "q2": ["b"],\n "q1": ["c"]}', "3: an object has twice the key 'q1'"),
        ('{"q1": [{"id": "a"}, {"id": 1, "id": 2}]}', "1: an object has twice the key 'id'"),
        ('[{"query": "q1", "item": "a", "score": 1},\n {"query": "q1", "query": "q2", "item": "a", "score": 1}]',
         "2: an object has twice the key 'query'"),
        ('{"query": "q1", "item": "a", "score": 1}\n{"query": "q1", "item": "b", "score": 1, "score": 2}',
         "2: an object has twice the key 'score'"),
        ('{"query": "q1", "item": "a", "note": 1}\n{"query": "q1", "item": "b", "note": 1, "note": 2}',
         "2: an object has twice the key 'note'"),
        ('{"query": "q1", "item": "a", "score": 1}\n{"query": "q1", "item": "b", "score": 1, "sc\\u006fre": 2}',
         "2: an object has twice the key 'score'"),
        ('{"q1": [{"id": 1}, {"x": 2}]}', "1: query 'q1': {'x': 2} has no 'id'"),
        ('{"q1": ["a"],\n "q2": ["b"', "2: is not JSON: Expecting ',' delimiter"),
        ('{"q1": ["a"],\n "q2": ["b"]', "2: is not JSON: it ends too early"),
        ('{"q1": ["a"]}\n]', "2: is not JSON: there is more after its end"),
        ('{"q1": {"\\ud800": 1}}', "1: query 'q1': item '?' is not valid UTF-8"),
        ('{"q1": ["a", "\\ud800"]}', "1: query 'q1': item '?' is not valid UTF-8"),
        ('{"q1": {"a": NaN}}', "1: query 'q1': score 'nan' is not a number"),
        ("{}", " has no rows"),
        ("[]", " has no rows"),
        ('[{"query": "q1", "items": ["a"]},\n 7]', "2: expected an object, found 7"),
        ('[{"query": "q1", "items": ["a"]},\n {"query": "q2"}]', "2: has no 'items'"),
        ('{"query": "q1", "items": ["a"], "scores": [1, 2]}', "1: has 1 items, but as score [1, 2]"),
        ('{"query": "q1", "items": ["a"]}\n{"query": "q2", "items": "b"}',
         "2: expected a list of items or {item: score}, found 'b'"),
    ],
)  # fmt: skip
def test_bad_json(tmp_path: Path, content: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "run.json", content)
    with pytest.raises(FileError) as caught:
        rs.read_run(path)
    assert str(caught.value) == f"{path}:{said}"
    monkeypatch.setattr(text_files, "BATCH_BYTES", 3)
    with pytest.raises(FileError) as caught:
        evaluate_file(TRUTH, path, "rr")
    assert str(caught.value) == f"{path}:{said}"


def test_columns_are_not_queries(tmp_path: Path) -> None:
    """What pandas writes if it is not told otherwise."""
    rows = pd.DataFrame({"query": ["q1", "q1"], "item": ["a", "b"], "score": [1.0, 2.0]})
    path = tmp_path / "run.json"
    rows.to_json(path)
    with pytest.raises(FileError, match=r"has one entry per column \('query', 'item', 'score'\); write one object"):
        rs.read_run(path)
    rows.to_json(path, orient="records")
    assert rs.evaluate({"q1": ["a"]}, path, "rr")["rr"] == 1 / 2
    rows.to_json(path, orient="records", lines=True)
    assert rs.evaluate({"q1": ["a"]}, path, "rr")["rr"] == 1 / 2


@pytest.mark.slow
def test_what_ranx_writes(tmp_path: Path) -> None:
    ranx = pytest.importorskip("ranx")
    judged = {"q1": {"a": 1, "b": 2}, "q2": {"c": 1}}
    returned = {"q1": {"b": 0.5, "x": 0.75, "a": 0.25}, "q2": {"c": 1.0}}
    ranx.Qrels(judged).save(str(tmp_path / "qrels.json"))
    ranx.Run(returned).save(str(tmp_path / "run.json"))
    assert rs.evaluate(tmp_path / "qrels.json", tmp_path / "run.json", "rr").per_query["rr"].tolist() == [1 / 2, 1]


def test_a_large_document_is_read_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that no piece holds whole, numbers that go on in the next, letters cut in two."""
    rng = np.random.default_rng(0)
    run = {f"frage-ü{q}": {f"d{i}": float(rng.normal()) for i in range(rng.integers(0, 50))} for q in range(40)}
    truth = {query: {f"d{i}": 1 for i in rng.integers(0, 60, 5)} for query in run}
    path = write(tmp_path / "run.json", run)
    path.write_text(json.dumps(run, ensure_ascii=False, indent=1))
    expected = rs.evaluate(truth, run, ["ap", "ndcg@5"])
    for size in (1, 7, 501, 1 << 20):
        monkeypatch.setattr(text_files, "BATCH_BYTES", size)
        for result in (rs.evaluate(truth, path, ["ap", "ndcg@5"]), evaluate_file(truth, path, ["ap", "ndcg@5"])):
            assert result.per_query["ap"].tolist() == expected.per_query["ap"].tolist()
            assert result["ndcg@5"] == expected["ndcg@5"]


def test_skipped_lists(tmp_path: Path) -> None:
    path = write(tmp_path / "run.jsonl", [*LINES, {"question_id": "q4", "retrieved_chunk_ids": [1.5]}, {}])
    read = rs.read_run(path, on_error="skip")
    assert isinstance(read, Lists)
    assert [tuple(one) for one in read.bad_lines] == [
        (4, "item 1.5 is neither a whole number nor a string"), (5, "has no 'question_id'"),
    ]  # fmt: skip
    assert (len(read), read.skipped) == (3, 2)


def test_numbers_in_one_file_and_strings_in_the_other(tmp_path: Path) -> None:
    """Keys are strings in JSON, whatever they were before."""
    judged = write(tmp_path / "truth.json", {1: [10, 20], 2: [30]})
    lists = write(tmp_path / "run.jsonl", [{"user": 1, "items": [10]}, {"user": 2, "items": [5, 30]}])
    for run in (lists, {1: [10], 2: [5, 30]}, write(tmp_path / "run.csv", "user,item\n1,10\n2,5\n2,30\n")):
        assert rs.evaluate(judged, run, "rr")["rr"] == (1 + 1 / 2) / 2


# -- nearly right ----------------------------------------------------------------------------------------------

PUT = [
    "",
    "\n",
    " ",
    ",",
    '"',
    "{",
    "}",
    "[",
    "]",
    ":",
    "1e400",
    "NaN",
    "null",
    "7",
    "ü",
    "\ufeff",
    "[]",
    "{}",
    '["x", 1]',
]


def outcome(path: Path) -> Any:
    """What was read, or what was said."""
    try:
        read = as_columns(rs.read_run(path), "run")
    except FileError as error:
        return str(error)
    score = None if read.score is None else np.asarray(read.score).tolist()
    return pa.array(read.query).to_pylist(), pa.array(read.item).to_pylist(), score


@pytest.mark.parametrize("name", ["ids.jsonl", "scores.jsonl", "objects.jsonl", "records.json", "nested.json"])
def test_mutated_documents(tmp_path: Path, name: str) -> None:
    """The same rows or the same words, however the file is cut into pieces and whichever way it is read."""
    text = write(tmp_path / name, SHAPES[name]).read_text()

    def no_short_cut(*_: Any) -> None:
        raise IrregularError

    @given(st.lists(st.tuples(st.integers(0, len(text)), st.integers(0, 9), st.sampled_from(PUT)), max_size=3))
    def check(changes: list[tuple[int, int, str]]) -> None:
        changed = text
        for start, length, put in changes:
            changed = changed[:start] + put + changed[start + length :]
        path = write(tmp_path / name, changed)
        whole = outcome(path)
        with mock.patch.object(text_files, "BATCH_BYTES", 5), mock.patch.object(json_files, "_quick", no_short_cut):
            assert outcome(path) == whole

    check()
