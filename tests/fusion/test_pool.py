"""What is to be judged, worked out by hand."""

import pandas as pd
import pytest

import rankstone as rs

ONE = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"x": 1.0}}
OTHER = {"q1": {"d": 9.0, "b": 8.0, "a": 7.0}, "q3": {"y": 1.0, "z": 1.0}}


def test_union_of_the_first():
    pool = rs.pool([ONE, OTHER], 1)
    assert pool.to_dict() == {"q1": ["a", "d"], "q2": ["x"], "q3": ["z"]}  # of y and z, tied, the higher id
    assert rs.pool([ONE, OTHER], 1, ties="item_asc").to_dict()["q3"] == ["y"]
    assert rs.pool([ONE, OTHER], 2).to_dict() == {"q1": ["a", "b", "d"], "q2": ["x"], "q3": ["y", "z"]}
    assert pool.counts == {"q1": 2, "q2": 1, "q3": 1}
    assert len(pool) == 4
    assert pool.judged is None


TRUTH = {"q1": {"a": 1, "zzz": 0}, "q2": ["x"], "q9": {"a": 1}}


@pytest.mark.parametrize("shape", ["dict", "table", "file"])
@pytest.mark.parametrize("runs", ["dict", "table"])
def test_less_what_is_judged(shape, runs, tmp_path):
    flat = [(query, item, 1) for query, items in TRUTH.items() for item in items]
    truth = TRUTH if shape == "dict" else pd.DataFrame(flat, columns=["query", "item", "grade"])
    if shape == "file":
        truth = tmp_path / "t.qrels"
        truth.write_text("".join(f"{query} 0 {item} 0\n" for query, item, _ in flat))
    given = [ONE, OTHER]
    if runs == "table":
        rows = [[(q, i, s) for q, content in run.items() for i, s in content.items()] for run in given]
        given = [pd.DataFrame(each, columns=["query", "item", "score"]) for each in rows]
    pool = rs.pool(given, 2, truth)
    assert pool.to_dict() == {"q1": ["b", "d"], "q2": [], "q3": ["y", "z"]}
    assert pool.counts == {"q1": 2, "q2": 0, "q3": 2}
    assert (len(pool), pool.judged) == (4, 2)
    assert "4 items of 3 queries to judge: the first 2 of run 1, run 2; 2 more are already judged" in " ".join(
        repr(pool).split()
    )


def test_a_run_may_be_called_truth():
    assert rs.pool({"truth": ONE}, 1, {"q1": ["b"]}).to_dict() == {"q1": ["a"], "q2": ["x"]}


def test_lists_without_queries():
    runs = [rs.lists([["a", "b"], ["c"]]), rs.lists([["b"], ["d"]])]
    assert rs.pool(runs, 1).to_dict() == {0: ["a", "b"], 1: ["c", "d"]}
    assert rs.pool(runs, 1, rs.lists([["a"], ["c", "x"]])).to_dict() == {0: ["b"], 1: ["d"]}


def test_ids_without_an_order_stay_as_they_came():
    assert rs.pool([{"q": [7, ("x",), "a"]}], 2).to_dict() == {"q": [7, ("x",)]}


def test_written_as_a_truth_that_is_not_judged(tmp_path):
    pool = rs.pool([ONE, OTHER], 1)
    pool.write(tmp_path / "pool.qrels")
    assert (tmp_path / "pool.qrels").read_text() == "q1 0 a -1\nq1 0 d -1\nq2 0 x -1\nq3 0 z -1\n"
    assert rs.evaluate(tmp_path / "pool.qrels", ONE, "ndcg")["ndcg"] == 0  # nothing is relevant yet
    pool.write(tmp_path / "pool.csv")
    assert (tmp_path / "pool.csv").read_text().splitlines()[:2] == ["query,item,grade", "q1,a,-1"]
    assert rs.pool([ONE, OTHER], 1, tmp_path / "pool.csv").to_dict() == {"q1": [], "q2": [], "q3": []}
    assert pool.to_pandas().columns.tolist() == ["query", "item"]


@pytest.mark.parametrize("depth", [0, -1, 2.5, None, True])
def test_depth(depth):
    with pytest.raises(ValueError, match="whole number from 1"):
        rs.pool([ONE], depth)


def test_errors():
    with pytest.raises(TypeError, match="is one list of items, not a run"):
        rs.pool(ONE, 1)
    with pytest.raises(ValueError, match="ties='expected'"):
        rs.pool([ONE], 1, ties="expected")
    with pytest.raises(TypeError, match="truth: items are integers but run 1: items are strings"):
        rs.pool(
            [pd.DataFrame({"query": ["q"], "item": ["1"], "score": [1]})],
            1,
            pd.DataFrame({"query": ["q"], "item": [1]}),
        )
    with pytest.raises(TypeError, match="truth: items are integers but run 1: items are strings"):
        rs.pool([ONE], 1, {"q1": [1, 2]})
