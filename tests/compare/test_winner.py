"""`comparison.winner`: the best of a sweep, and what it is worth on new queries."""

import numpy as np
import pytest

import rankstone as rs

from ..effort import cpu_limit


@pytest.fixture(scope="module")
def sweep():
    """Twenty variants that differ by nothing but noise, on 60 queries."""
    random = np.random.default_rng(4)
    truth = {query: {item: int(random.integers(0, 3)) for item in range(20)} for query in range(60)}
    return truth, {
        f"v{at:02d}": {
            query: {item: float(random.normal() + grade) for item, grade in grades.items()}
            for query, grades in truth.items()
        }
        for at in range(20)
    }


@pytest.fixture(scope="module")
def comparison(sweep):
    return rs.compare(*sweep, ["ndcg@10", "rr"], primary="ndcg@10", resamples=1000)


def test_the_winner(sweep, comparison):
    winner = comparison.winner
    means = {name: rs.evaluate(sweep[0], run, "ndcg@10")["ndcg@10"] for name, run in sweep[1].items()}
    assert winner.metric == "ndcg@10"
    assert winner.name == max(means, key=means.__getitem__)
    assert winner.mean == pytest.approx(means[winner.name])
    assert winner.low < winner.expected < winner.high
    assert winner.expected < winner.mean
    assert winner.optimism == winner.mean - winner.expected
    assert winner.runs == 20
    assert winner.queries == 60
    assert 0.2 < winner.others_win < 1
    assert sum(winner.rivals.values()) == pytest.approx(winner.others_win)
    assert winner.smallest_sweep[0] == winner.name
    assert len(winner.smallest_sweep) > 10


def test_the_caveat(comparison):
    (line,) = [line for line in comparison.notes if "20 runs on one truth" in line]
    assert line == f"20 runs on one truth: the best mean is biased upwards; {comparison.winner.sentence}"
    with pytest.raises(KeyError, match="rr"):  # it has no verdict
        comparison.winner["rr"]


def test_five_runs_have_no_caveat(sweep):
    five = {name: sweep[1][name] for name in list(sweep[1])[:5]}
    assert not [line for line in rs.compare(sweep[0], five, "rr", resamples=100).notes if "biased" in line]


def test_lower_is_better():
    """Of an error the lowest mean wins, and the expected one is higher."""
    random = np.random.default_rng(5)
    truth = {query: dict.fromkeys(range(5), 3.0) for query in range(40)}
    runs = {
        f"v{at}": {query: {item: 3 + float(random.normal()) for item in range(5)} for query in truth}
        for at in range(12)
    }
    winner = rs.compare(truth, runs, "mae", resamples=100).winner
    assert winner.mean == min(rs.evaluate(truth, run, "mae")["mae"] for run in runs.values())
    assert winner.expected > winner.mean
    assert winner.low < winner.expected < winner.high


def test_forms(comparison):
    winner = comparison.winner
    assert winner.to_dict()["ndcg@10"]["name"] == winner.name
    assert winner.to_pandas()["expected"].tolist() == [winner.expected]
    text = str(winner)
    assert winner.name in text
    assert f"{winner.expected:.4f}" in text
    assert "smallest sweep: runs that" in text


def test_few_queries():
    truth = {query: {"a": 1} for query in "xyz"}
    runs = {"one": {query: ["a"] for query in truth}, "two": {query: ["b"] for query in truth}}
    with pytest.raises(ValueError, match="rr: a winner needs at least 4 queries; there are 3"):
        _ = rs.compare(truth, runs, "rr").winner


def test_resamples_of_many_pairs(sweep):
    """190 pairs of one metric leave 100,000; where they are given, they stay."""
    assert rs.compare(*sweep, "rr").to_dict()["resamples"] == 100_000
    assert rs.compare(*sweep, ["rr", *(f"ndcg@{k}" for k in range(1, 9))]).to_dict()["resamples"] == 100_000_000 // 1710
    assert rs.compare(*sweep, "rr", resamples=123).to_dict()["resamples"] == 123


@pytest.mark.slow
def test_a_large_sweep():
    """82 runs, 500 queries, 3 metrics: all pairs and the winner."""
    random = np.random.default_rng(0)
    truth = {query: {item: int(random.integers(0, 3)) for item in range(10)} for query in range(500)}
    results = {}
    for at in range(82):
        scores = random.normal(size=(500, 10))
        run = {query: dict(enumerate(scores[query].tolist())) for query in truth}
        results[f"v{at}"] = rs.evaluate(truth, run, ["ndcg@10", "ap", "rr"])
    with cpu_limit(60):
        comparison = rs.compare(results)
        winner = comparison.winner
    assert len(comparison) == 3 * 82 * 81 // 2
    assert winner.expected < winner.mean
