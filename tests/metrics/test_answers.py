"""Queries without an answer: what counts as answered, and which queries are averaged."""

import pyarrow as pa
import pytest

import rankstone as rs

TRUTH = {"q1": ["a"], "q2": {"b": 1, "c": 0}, "q7": [], "q8": {"x": 0}, "q9": []}
RUN = {"q1": {"a": 0.9}, "q2": {"z": 0.3}, "q7": {"a": 0.5}, "q8": {"x": 0.2, "y": 0.8}}  # nothing for q9


def test_by_hand():
    """Best scores: 0.9 and 0.3 of queries with an answer; 0.5, 0.8 and none without."""
    metrics = ["answer_rate", "answer_rate@0.5", "false_answer@0.5", "false_answer@0.6", "abstention_recall@0.6"]
    result = rs.evaluate(TRUTH, RUN, metrics)
    assert list(result.values()) == [4 / 5, 3 / 5, 2 / 3, 1 / 3, 2 / 3]
    assert result["false_answer(t=0.6)"] == pytest.approx(1 - result["abstention_recall(t=0.6)"])
    assert "2 with relevant items (ignored in false_answer(t=0.5)" in result.notes[1]


def test_a_threshold_of_relevance_makes_queries_unanswerable():
    """Of grade 1 only, q2 has an answer; from 2 on it has none."""
    assert rs.evaluate(TRUTH, RUN, "false_answer", threshold=2)["false_answer"] == 4 / 5


def test_an_empty_truth_is_no_missing_truth():
    """A query that is not in the truth is not judged, and ignored."""
    judged = {query: items for query, items in TRUTH.items() if query != "q7"}
    assert rs.evaluate(judged, RUN, "false_answer")["false_answer"] == 1 / 2


def test_scores_of_32_bits_are_compared_as_such():
    """0.7 as a 32-bit float is less than 0.7; the threshold is rounded alike."""
    run = {"q": {"a": 0.7}}
    for convention in ("rankstone", "trec_eval"):
        assert rs.evaluate(run=run, metrics="answer_rate@0.7", convention=convention)["answer_rate(t=0.7)"] == 1
    items, scores = pa.array([["a"]]), pa.array([[0.7]], pa.list_(pa.float32()))
    assert rs.evaluate(run=rs.lists(items, scores=scores), metrics="answer_rate@0.7")["answer_rate(t=0.7)"] == 1


def test_an_order_has_no_scores():
    with pytest.raises(ValueError, match=r"t=0.5 is a score, and the run is only an order of items"):
        rs.evaluate({"q": []}, {"q": ["a"]}, "false_answer@0.5")


@pytest.mark.parametrize("ties", ["item_desc", "input", "group_end", "group_mean"])
def test_tied_items_answer_once(ties):
    run = {"q": {"a": 0.5, "b": 0.5}}
    result = rs.evaluate({"q": []}, run, "false_answer@0.5", ties=ties)
    assert result["false_answer(t=0.5)"] == 1
    assert result.account.tied == 0


def test_a_window_of_served_lists():
    """The metrics work where lists come one by one."""
    batches = rs.Accumulator(["false_answer@0.5"])
    for query in TRUTH:
        batches.update({query: TRUTH[query]}, {query: RUN.get(query, {})})
    assert batches.compute()["false_answer(t=0.5)"] == 2 / 3
