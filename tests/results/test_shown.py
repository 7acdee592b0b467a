"""Metrics of what was shown in answers: compared, saved, drawn, explained; or refused in words."""

import numpy as np
import pytest

import rankstone as rs

from ..evaluate.listed import near, some_lists

CATALOGUE = ["a", "b", "c", "d", "e"]
OLD = {"u1": ["a", "b"], "u2": ["a", "c"], "u3": ["b", "a"]}
NEW = {"u1": ["a", "b"], "u2": ["d", "c"], "u3": ["e", "a"]}


def test_a_comparison_without_a_truth_by_hand():
    new = {**OLD, "u3": ["e", "a"]}
    found = rs.compare(runs={"old": OLD, "new": new}, metrics="coverage@2", catalogue=CATALOGUE)["new", "coverage@2"]
    assert (found.first, found.second) == (near(3 / 5), near(4 / 5))
    assert found.difference == near(1 / 5)
    # Without u1, u2 or u3: 3, 2 and 3 items of the old run, and 3, 3 and 3 of the new one.
    off = 2 * np.array([1 - (3 - 3), 1 - (3 - 2), 1 - (3 - 3)]) / 5
    error = np.sqrt(((off - off.mean()) ** 2).sum() / (3 * 2))
    assert found.high - found.difference == near(4.302652729749464 * error)  # Student's, with 2 degrees of freedom


def test_an_interval_is_around_the_number_and_inside_its_bounds():
    found = rs.evaluate(run=NEW, metrics="coverage@2", catalogue=CATALOGUE).interval("coverage@2")
    assert (found.mean, found.high) == (near(1.0), 1.0)
    assert found.low < 1.0


@pytest.mark.parametrize("alone", [True, False])
def test_every_answer(tmp_path, alone):
    truth, run, side_info = some_lists(1, queries=30)
    _, other, _ = some_lists(2, queries=30)
    asked = ["coverage@5", "novelty@5"] if alone else ["ndcg@5", "coverage@5", "novelty@5"]
    given = None if alone else truth
    result = rs.evaluate(given, run, asked, **side_info)
    comparison = rs.compare(given, {"one": run, "two": other}, asked, **side_info)
    for answer in (result, comparison):
        for ending in ("html", "json", "md", "csv"):
            answer.write(tmp_path / f"answer.{ending}")
    assert "coverage@5" in (tmp_path / "answer.html").read_text()
    result.write(tmp_path / "result.json")
    saved = rs.read_result(tmp_path / "result.json")
    assert dict(saved) == dict(result)
    assert saved.interval("novelty@5").low == near(result.interval("novelty@5").low)
    with pytest.raises(ValueError, match="coverage@5 is computed over all rows at once"):
        saved.interval("coverage@5")
    saved.write(tmp_path / "saved.html")
    assert "unknown" in (tmp_path / "saved.html").read_text()
    want = rs.evaluate(run=run, metrics="coverage@{1..5}", catalogue=side_info["catalogue"])
    assert [dict(result._more("coverage@{1..5}"))[label] for label in want] == [near(want[label]) for label in want]
    assert "coverage by cutoff" in repr(result.plot("coverage@{1..5}"))
    halves = {query: int(query[1:]) % 2 for query in run}
    for half, means in result.by_group(halves).items():
        some = {query: run[query] for query in run if halves[query] == half}
        assert means["coverage@5"] == near(rs.evaluate(run=some, metrics="coverage@5", **side_info)["coverage@5"])


def test_what_is_refused():
    truth, run, side_info = some_lists(1, queries=30)
    for test in ("wilcoxon", "sign"):
        with pytest.raises(ValueError, match=f"test='{test}' does not support groups of lists, which are left out"):
            rs.compare(truth, {"one": run, "two": run}, "coverage@5", test=test, **side_info)
    for ask in (
        lambda: rs.explain(truth, run, "coverage@5", query="u1"),
        lambda: rs.identify(truth, run, "coverage@5 = 0.5"),
    ):
        with pytest.raises(ValueError, match="coverage@5 reads all that lists show, judged or not"):
            ask()
    alone = rs.evaluate(run=run, metrics="coverage@5", **side_info)
    with pytest.raises(ValueError, match="ndcg@5 needs a truth"):
        alone._more("ndcg@5")


def test_gini_of_a_query_does_not_depend_on_the_order_of_queries():
    """a is shown three times, b twice, c, d and e once: the equally frequent ones share place 2."""
    run = {"q0": ["a", "b"], "q1": ["a", "c"], "q2": ["d", "b"], "q3": ["e", "a"]}
    # (2 i - n - 1) of a is 4, of b 2, of the others -2; each list has two rows, and n - 1 is 4.
    expected = {"q0": (4 + 2) / 8, "q1": (4 - 2) / 8, "q2": (-2 + 2) / 8, "q3": (-2 + 4) / 8}
    for queries in (list(run), list(run)[::-1]):
        result = rs.evaluate(run={query: run[query] for query in queries}, metrics="gini@2", convention="evidently")
        assert dict(zip(queries, result.per_query["gini@2"], strict=True)) == pytest.approx(expected)
        assert result["gini@2"] == pytest.approx(sum(expected.values()) / 4)
