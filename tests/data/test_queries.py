"""`queries=`: some of the queries only, in every shape of the data."""

import numpy as np
import pandas as pd
import pytest

import rankstone as rs
from rankstone.cli.commands import main

# The reciprocal ranks are 1, 1/2, 1/3 and 0; query 4 is missing from the run, and query 5 is unjudged.
TRUTH = {1: ["a"], 2: ["b"], 3: ["c"], 4: ["d"]}
RUN = {1: ["a", "x"], 2: ["x", "b"], 3: ["x", "y", "c"], 5: ["a"]}
WANTED = [3, 1, 4]
MEAN = pytest.approx((1 + 1 / 3 + 0) / 3)


def graded(side, words=int):
    """The same with grades or scores, which fall along the lists."""
    return {words(query): {item: 9 - at for at, item in enumerate(items)} for query, items in side.items()}


def frame(side, number, words=int):
    rows = [(query, item, value) for query, items in graded(side, words).items() for item, value in items.items()]
    return pd.DataFrame(rows, columns=["query", "item", number])


def lists(side):
    return rs.lists([*side.values()], query=[*side])


SHAPES = {
    "lists in dicts": (TRUTH, RUN),
    "dicts": (graded(TRUTH), graded(RUN)),
    "frames": (frame(TRUTH, "grade"), frame(RUN, "score")),
    "frames with text ids": (frame(TRUTH, "grade", str), frame(RUN, "score", str)),
    "list columns": (lists(TRUTH), lists(RUN)),
    "a dict and a frame": (graded(TRUTH), frame(RUN, "score")),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", [list, tuple, set, np.array, pd.Series, lambda ids: [*map(str, ids)]])
def test_some_queries(shape, kind):
    result = rs.evaluate(*SHAPES[shape], "rr", queries=kind(WANTED))
    assert result["rr"] == MEAN
    assert {*map(int, result.queries)} == {*WANTED}
    assert not any("unjudged" in note for note in result.notes)


def test_flat_arrays():
    query, labels, scores = np.array([7, 7, 8, 8]), np.array([1, 0, 0, 1]), np.array([0.9, 0.1, 0.9, 0.1])
    assert rs.evaluate(labels, scores, "rr", query=query, queries=[8])["rr"] == 1 / 2


@pytest.mark.parametrize("ids", ["number", "text"])
def test_files(tmp_path, monkeypatch, capsys, ids):
    words = (lambda query: f"q{query}") if ids == "text" else str
    monkeypatch.chdir(tmp_path)
    frame(TRUTH, "grade", words).to_csv("truth.csv", index=False)
    frame(RUN, "score", words).to_csv("run.csv", index=False)
    (tmp_path / "some.txt").write_text("\ufeff" + "\n".join(map(words, WANTED)) + "\n\n", encoding="utf-8")
    for wanted in ("some.txt", tmp_path / "some.txt", [*map(words, WANTED)]):
        assert rs.evaluate("truth.csv", "run.csv", "rr", queries=wanted)["rr"] == MEAN
    for wanted in ("some.txt", ",".join(map(words, WANTED))):
        assert main(["evaluate", "truth.csv", "run.csv", "-m", "rr", "--queries", wanted, "--format", "csv"]) == 0
        assert float(capsys.readouterr().out.split(",")[-1]) == MEAN
    assert main(["evaluate", "truth.csv", "run.csv", "-m", "rr", "--queries", "nine,some.tx"]) == 2
    assert "--queries has 2 ids that are not in the truth and the run: 'nine', 'some.tx'" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"there is no file 'q9' with one id per line; pass ids as queries=\['q9'\]"):
        rs.evaluate("truth.csv", "run.csv", "rr", queries="q9")


def test_large_files_are_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("rankstone.data.files.LARGE_ROWS", 0)
    monkeypatch.setattr("rankstone.data.files.LARGE_BYTES", 0)
    frame(RUN, "score").to_csv(tmp_path / "run.csv", index=False)
    assert rs.evaluate(TRUTH, tmp_path / "run.csv", "rr", queries=WANTED)["rr"] == MEAN


@pytest.mark.parametrize("shape", SHAPES)
def test_unknown_queries_are_named(shape):
    with pytest.raises(ValueError, match=r"queries= has 2 ids that are not in the truth and the run: 8, 9$"):
        rs.evaluate(*SHAPES[shape], "rr", queries=[8, 1, 9, 8])
    unjudged = rs.evaluate(*SHAPES[shape], "rr", queries=[1, 5])
    assert unjudged["rr"] == 1
    assert any("1 unjudged" in note for note in unjudged.notes)


def test_rows_without_ids_are_refused():
    labels, scores = np.array([[1, 0], [0, 1]]), np.array([[0.9, 0.1], [0.9, 0.1]])
    with pytest.raises(TypeError, match="rows of a matrix have none: pass some of the rows"):
        rs.evaluate(labels, scores, "rr", queries=[1])
    with pytest.raises(TypeError, match="these lists have none: pass some of the lists"):
        rs.evaluate(rs.lists([["a"]]), rs.lists([["a"]]), "rr", queries=[0])
    with pytest.raises(TypeError, match="these lists have none"):
        rs.evaluate(labels.ravel(), scores.ravel(), "rr", groups=[2, 2], queries=[0])


def test_without_a_truth_and_spans():
    assert rs.evaluate(run=RUN, metrics="coverage@1", catalogue=[*"abcdefghxy"], queries=[2, 3])["coverage@1"] == 1 / 10
    with pytest.raises(ValueError, match=r"not in the run: 4$"):
        rs.evaluate(run=RUN, metrics="coverage@1", catalogue=[*"abcdefghxy"], queries=[2, 4])
    spans = {1: [("d", 0, 10)], 2: [("d", 0, 10)]}
    assert rs.evaluate(spans, {1: [("e", 0, 5)], 2: [("d", 0, 9)]}, "rr", overlap=0.5, queries=[2])["rr"] == 1


def test_qrels_with_subtopics(tmp_path):
    """The rows' subtopics follow their rows: query 2 has two, of which the list has one."""
    (tmp_path / "t.qrels").write_text("1 1 a 1\n2 1 b 1\n2 2 c 1\n")
    (tmp_path / "t.run").write_text("1 Q0 a 1 2 t\n2 Q0 b 1 2 t\n")
    both = str(tmp_path / "t.qrels"), str(tmp_path / "t.run")
    assert rs.evaluate(*both, "subtopic_recall@5", queries=["2"])["subtopic_recall@5"] == 1 / 2
    weighted = pd.DataFrame({"query": [1, 2, 2], "item": ["a", "b", "c"], "weight": [5.0, 1.0, 3.0]})
    recall = rs.evaluate(weighted, {1: ["a"], 2: ["b"]}, "recall@1", relevance="weighted", queries=[2])
    assert recall["recall@1"] == 1 / (1 + 3)


def test_comparisons(tmp_path, monkeypatch, capsys):
    runs = {"old": RUN, "new": {query: [*items] for query, items in TRUTH.items()}}
    comparison = rs.compare(TRUTH, runs, "rr", queries=WANTED)
    assert comparison["new", "rr"].difference == pytest.approx(1 - (1 + 1 / 3) / 3)
    changes = comparison.queries("new", "rr")
    assert [change.query for change in changes] == [4, 3, 1]
    assert changes[1].explain().query == 3
    results = {name: rs.evaluate(TRUTH, run, "rr") for name, run in runs.items()}
    with pytest.raises(TypeError, match="queries"):
        rs.compare(results, queries=WANTED)
    monkeypatch.chdir(tmp_path)
    frame(TRUTH, "grade").to_csv("truth.csv", index=False)
    for name, run in runs.items():
        frame(run, "score").to_csv(f"{name}.csv", index=False)
    words = ["compare", "truth.csv", "old.csv", "new.csv", "-m", "rr", "--queries", "3,1,4"]
    assert main([*words, "--html", "report.html"]) == 0
    assert "3 queries" in capsys.readouterr().out
