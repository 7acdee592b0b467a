"""What people have in memory beside dicts and frames: pairs, matrices of ids, flat arrays; and what is refused."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import rankstone as rs
from rankstone.errors import DataError, DataTypeError

TRUTH = {"q": {"x": 0, "y": 2}}


# -- dicts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [tuple, list])
def test_pairs_are_scores(kind):
    """As gensim and many retrievers return them; in any order."""
    pairs = [kind(("y", 0.5)), kind(("x", 0.9))]
    assert rs.evaluate(TRUTH, {"q": pairs}, "rr")["rr"] == 1 / 2
    assert rs.evaluate({"q": [kind(("x", 0)), kind(("y", 2))]}, {"q": pairs}, "rr")["rr"] == 1 / 2
    table = pd.DataFrame({"query": ["q", "q"], "item": ["x", "y"], "grade": [0, 2]})
    assert rs.evaluate(table, {"q": pairs}, "rr")["rr"] == 1 / 2


def test_pairs_that_are_none():
    with pytest.raises(DataError, match="query 'q': item 'x' is in the run twice"):
        rs.evaluate(TRUTH, {"q": [("x", 0.9), ("x", 0.5)]}, "rr")
    with pytest.raises(DataTypeError, match=r"query 'q': \('y',\) is not a pair of an item and a number"):
        rs.evaluate(TRUTH, {"q": [("x", 0.9), ("y",)]}, "rr")
    places = {"q": [("shelf", "a"), ("shelf", "b")]}  # ids that are tuples
    assert rs.evaluate({"q": [("shelf", "b")]}, places, "rr")["rr"] == 1 / 2


@pytest.mark.parametrize(
    "runs",
    [
        {"bm25": {"q": {"x": 1.0}}},
        {"bm25": {"q": ["x"]}},
        {"bm25": pd.DataFrame({"query": ["q"], "item": ["x"]})},
    ],
)
def test_a_dict_of_runs(runs):
    with pytest.raises(
        DataTypeError, match="'bm25' is a run of its own, not a list of items; evaluate one run at a time"
    ):
        rs.evaluate(TRUTH, runs, "rr")


@pytest.mark.parametrize("key", ["q", "a"])
def test_a_dict_of_paths(key):
    with pytest.raises(DataTypeError, match=r"the run is 'a.run'; give {item: score} or a list.*one by one"):
        rs.evaluate(TRUTH, {key: "a.run"}, "rr")


@pytest.mark.parametrize("items", [[0.1, 0.9], (0.1,), np.array([0.1, 0.9]), {0.5: 1.0}, [np.float32(1)]])
def test_floats_are_no_ids(items):
    with pytest.raises(DataTypeError, match=r"is a float, not the id of an item; pass {item: score} or a list"):
        rs.evaluate({"q": [1, 0]}, {"q": items}, "rr")


@pytest.mark.parametrize("other", [rs.lists, lambda lists, query: pd.DataFrame({"query": query, "items": lists})])
def test_empty_lists_count_in_any_company(other):
    """A query without a judged or a returned item is a query all the same, whatever the other side is."""
    empty = {"q1": ["a"], "q2": []}
    full = other([["a"], ["b"]], query=["q1", "q2"])
    for truth, run in ((empty, full), (full, empty)):
        result = rs.evaluate(truth, run, "rr", undefined=0)
        assert (result["rr"], list(result.queries), result.account.missing) == (1 / 2, ["q1", "q2"], 0)
    rows = pd.DataFrame({"query": ["q2", "q1"], "item": ["b", "a"], "score": [1.0, 2.0]})
    result = rs.evaluate(empty, rows, "rr", undefined=0)
    assert (result["rr"], list(result.queries), result.account.missing) == (1 / 2, ["q1", "q2"], 0)
    result = rs.evaluate(rows[["query", "item"]], empty, "rr", missing="error")
    assert (result["rr"], list(result.queries)) == (1 / 2, ["q2", "q1"])


def test_the_order_of_a_list_counts_in_any_company():
    truth, run = {"q": ["a", "b", "c"]}, {"q": {"c": 3.0, "a": 2.0, "b": 1.0}}
    table = pd.DataFrame({"query": "q", "item": run["q"].keys(), "score": run["q"].values()})
    expected = rs.evaluate(truth, run, "rbo")["rbo"]
    assert expected != rs.evaluate({"q": ["c", "a", "b"]}, run, "rbo")["rbo"]
    assert rs.evaluate(truth, table, "rbo")["rbo"] == expected
    assert rs.evaluate(rs.lists([["a", "b", "c"]], query=["q"]), table, "rbo")["rbo"] == expected


# -- arrays --------------------------------------------------------------------------------------------------


def tensors(array):
    return pytest.importorskip("torch").tensor(array)


@pytest.mark.parametrize("kind", [np.array, tensors, lambda rows: [tensors(row) for row in rows]])
def test_matrices_of_ids(kind):
    """As implicit's `recommend` and torch's `topk` return them."""
    run = rs.lists(kind([[7, 1], [3, 9]]))
    assert rs.evaluate(rs.lists([[7], [9]]), run, "rr")["rr"] == 3 / 4
    truth = sp.csr_array(([1, 1], ([0, 1], [7, 9])), shape=(2, 20))
    assert rs.evaluate(truth, run, "rr")["rr"] == 3 / 4
    users = kind([[0, 1]])[0]
    named = rs.lists(kind([[7, 1], [3, 9]]), query=users)
    assert rs.evaluate({0: [7], 1: [9]}, named, "rr")["rr"] == 3 / 4


def test_ids_are_no_scores():
    truth = sp.csr_array(([1, 1], ([0, 1], [7, 9])), shape=(2, 20))
    with pytest.raises(ValueError, match=r"the run has shape \(2, 2\) but the truth \(2, 20\);.*rs.lists\(run\)"):
        rs.evaluate(truth, np.array([[7, 1], [3, 9]]), "rr")


def test_a_sparse_truth_with_columns():
    truth = sp.csr_array(([1, 1], ([0, 1], [7, 9])), shape=(2, 20))
    run = rs.columns(query=[0, 0, 1], item=[1, 7, 9], score=[2.0, 1.0, 1.0])
    assert rs.evaluate(truth, run, "rr")["rr"] == 3 / 4
    assert rs.evaluate(truth, {0: [1, 7], 1: [9]}, "rr")["rr"] == 3 / 4


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, tensors])
def test_flat_arrays(kind):
    """As every learning-to-rank library has them."""
    labels, scores = [0, 2, 1, 0, 1], [0.9, 0.8, 0.1, 0.5, 0.7]
    expected = (1 / 2 + 1) / 2
    assert rs.evaluate(kind(labels), kind(scores), "rr", groups=[3, 2])["rr"] == expected
    result = rs.evaluate(kind(labels), kind(scores), "rr", query=["a", "a", "a", "b", "b"])
    assert (result["rr"], list(result.queries)) == (expected, ["a", "b"])
    with pytest.raises(TypeError, match=r"flat labels and scores need groups= .* or query="):
        rs.evaluate(kind(labels), kind(scores), "rr")
    with pytest.raises(ValueError, match="there are 5 labels but 4 scores"):
        rs.evaluate(kind(labels), kind(scores[:4]), "rr", groups=[3, 2])
    with pytest.raises(ValueError, match="groups add up to 4 rows but there are 5"):
        rs.evaluate(kind(labels), kind(scores), "rr", groups=[3, 1])


# -- what was seen -------------------------------------------------------------------------------------------

SEEN = {"u": ["a"], "v": ["d", "z"]}
TEST = {"u": ["b"], "v": ["c"]}
LISTS = {"u": {"a": 3.0, "b": 2.0}, "v": {"d": 3.0, "x": 2.0, "c": 1.0}}


def rows(side, **more):
    flat = [(query, item) for query, items in side.items() for item in items]
    values = {"score": [score for items in side.values() for score in items.values()]} if side is LISTS else {}
    return pd.DataFrame({"user_id": [row[0] for row in flat], "item_id": [row[1] for row in flat], **values})


@pytest.mark.parametrize("seen", [SEEN, rows(SEEN).assign(rating=[1.0, 0.0, 5.0])])
@pytest.mark.parametrize(
    "run",
    [LISTS, rows(LISTS), rs.lists([["a", "b"], ["d", "x", "c"]], query=["u", "v"]), {u: list(LISTS[u]) for u in LISTS}],
)
def test_seen_items_leave_the_lists(seen, run):
    result = rs.evaluate(TEST, run, ["rr", "num_ret"], exclude=seen, averaging="macro")
    assert dict(result) == {"rr": (1 + 1 / 2) / 2, "num_ret": (1 + 2) / 2}
    assert "2 training items removed from the lists (exclude)" in result.notes


def test_seen_cells_leave_the_matrix():
    labels, scores = np.array([[0, 1, 0]]), np.array([[0.9, 0.8, 0.7]])
    for seen in (np.array([[1, 0, 0]]), sp.csr_array([[5.0, 0, 0]])):
        result = rs.evaluate(labels, scores, "rr", exclude=seen)
        assert result["rr"] == 1
        assert "1 training item removed from the lists (exclude)" in result.notes
    with pytest.raises(ValueError, match=r"scores have shape \(1, 3\) but exclude= \(1, 2\)"):
        rs.evaluate(labels, scores, "rr", exclude=np.ones((1, 2)))


RELEVANT = {"u": ["a", "b"], "v": ["d"]}  # a and d have been seen


@pytest.mark.parametrize(
    ("truth", "run"),
    [
        (RELEVANT, LISTS),
        (rows(RELEVANT).assign(rating=1), rows(LISTS)),
        (rs.lists([["a", "b"], ["d"]], query=["u", "v"]), rs.lists([["a", "b"], ["d", "x", "c"]], query=["u", "v"])),
        (np.array([[1, 1, 0], [1, 0, 0]]), np.array([[3.0, 2.0, -np.inf], [3.0, 2.0, 1.0]])),
    ],
)  # fmt: skip
def test_the_residual_collection(truth, run):
    """b is first in the list of u, of one relevant item or of two; v has none left, and stays."""
    seen = np.array([[1, 0, 0], [1, 0, 0]]) if isinstance(run, np.ndarray) else SEEN
    whole = rs.evaluate(truth, run, ["ap", "num_rel"], exclude=seen, averaging="macro")
    assert dict(whole) == {"ap": (1 / 2 + 0) / 2, "num_rel": (2 + 1) / 2}
    assert any(note.startswith("2 relevant items excluded") and "exclude_from_truth" in note for note in whole.notes)
    rest = rs.evaluate(truth, run, ["ap", "num_rel"], exclude=seen, exclude_from_truth=True, averaging="macro")
    assert dict(rest) == {"ap": (1 + 0) / 2, "num_rel": (1 + 0) / 2}
    assert "2 judged items removed from the truth (exclude_from_truth)" in rest.notes
    assert rs.evaluate(truth, run, "ap", exclude=seen, exclude_from_truth=True, no_relevant="skip")["ap"] == 1


def test_what_the_residual_collection_needs():
    with pytest.raises(TypeError, match="exclude_from_truth= goes with exclude= and a truth"):
        rs.evaluate(TEST, LISTS, "rr", exclude_from_truth=True)
    weighted = rows(RELEVANT).assign(weight=[1.0, 2.0, 1.0])
    more = {"relevance": "weighted", "exclude_from_truth": True}
    with pytest.raises(ValueError, match="query 'v' has no judged items left"):
        rs.evaluate(weighted, LISTS, "recall@1", exclude=SEEN, **more)
    assert rs.evaluate(weighted[:2], LISTS, "recall@1", exclude={"u": ["a"]}, **more)["recall@1"] == 1


def test_seen_by_other_ids():
    for run in (LISTS, rows(LISTS)):
        with pytest.raises(TypeError, match="exclude items are integers but run items are strings"):
            rs.evaluate(TEST, run, "rr", exclude={"u": [1]})
