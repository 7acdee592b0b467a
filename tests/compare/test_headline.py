"""The verdicts in words, and the interval that agrees with an adjusted p-value."""

import re

import numpy as np
import pytest
from scipy import stats

import rankstone as rs


def shifted(means, queries=40, spread=0.1):
    """Saved values of runs: a truth with one relevant item, and runs that rank it so that rr is near a mean."""
    rng = np.random.default_rng(1)
    truth = {f"q{at}": {"a": 1} for at in range(queries)}
    runs = {}
    for name, mean in means.items():
        ranks = np.clip(np.round(1 / np.clip(mean + spread * rng.normal(size=queries), 0.05, 1)), 1, 20).astype(int)
        runs[name] = {
            query: [*(f"x{n}" for n in range(rank - 1)), "a"] for query, rank in zip(truth, ranks, strict=True)
        }
    return truth, runs


def test_runs_with_the_same_verdicts_share_a_sentence():
    truth, runs = shifted({"old": 0.3, "new": 0.9, "newer": 0.9})
    comparison = rs.compare(truth, runs, ["rr", "hit_rate@1"], baseline="old")
    assert comparison.headline == "new and newer are better than old on both metrics (adjusted p < 0.001)."
    assert str(comparison).startswith(comparison.headline)


def test_the_winner_is_the_subject_without_a_baseline():
    truth, runs = shifted({"good": 0.9, "bad": 0.2, "twin": 0.2})
    runs["twin"] = runs["bad"]
    headline = rs.compare(truth, runs, "rr").headline
    assert headline.startswith("good is better than bad and twin on rr (adjusted p < 0.001).")
    assert headline.endswith("twin vs. bad: identical on rr.")


def test_mixed_verdicts():
    truth = {f"q{at}": {"a": 1, "b": 1} for at in range(30)}
    runs = {
        "old": {query: ["a", "x", "y", "z"] for query in truth},
        "new": {query: ["x", "a", "b", "z"] if at else ["x", "y", "z", "a"] for at, query in enumerate(truth)},
    }
    headline = rs.compare(truth, runs, ["recall@3", "rr", "hit_rate@4"], baseline="old").headline
    assert headline.startswith("new is better than old on recall@3 (adjusted p < 0.001), worse on rr")
    assert headline.endswith("identical on hit_rate@4.")


def test_no_more_than_three_sentences():
    truth, runs = shifted({f"run {at}": 0.1 + 0.1 * at for at in range(8)}, spread=0.3)
    headline = rs.compare(truth, runs, "rr").headline
    assert len(re.findall(r"\.(?= |$)", headline.replace("vs.", "vs"))) == 3
    assert headline.endswith(" more pairs of runs are in the table.")


@pytest.mark.parametrize("correction", ["holm", "bonferroni", "bh", "westfall_young"])
def test_the_adjusted_interval_agrees_with_the_verdict(correction):
    truth, runs, _, _ = rs.example()
    comparison = rs.compare(
        truth, runs, ["ndcg@10", "ap", "rr", "recall@20"], baseline="popular", correction=correction
    )
    for of in comparison:
        low, high = of.adjusted_interval
        assert (low > 0 or high < 0) == (of.verdict in ("better", "worse"))
        assert low <= of.low <= of.high <= high


def test_the_adjusted_interval_of_bonferroni_by_scipy():
    truth, runs, _, _ = rs.example()
    comparison = rs.compare(truth, runs, ["ndcg@10", "rr"], baseline="popular", correction="bonferroni")
    values = {name: rs.evaluate(truth, run, "rr").per_query["rr"] for name, run in runs.items()}
    between = values["hybrid"] - values["popular"]
    of = comparison["hybrid", "rr"]
    interval = stats.t.interval(1 - 0.05 / 4, len(between) - 1, between.mean(), stats.sem(between))
    assert of.adjusted_interval == pytest.approx(interval, abs=1e-12)


def test_one_difference_has_one_interval():
    truth, runs, _, _ = rs.example()
    del runs["neighbours"]
    of = rs.compare(truth, runs, "rr")["hybrid", "rr"]
    assert of.adjusted_interval == (of.low, of.high)
