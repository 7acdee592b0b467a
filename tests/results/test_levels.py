"""How often `compare` finds what is not there, on values of real queries, and how often its intervals hold the truth.

Queries are drawn with replacement from those of a real collection. To make runs equal, each has its values moved so
that the means over the whole collection are the same; what is then found is a false alarm.
"""

import numpy as np
import pytest

import rankstone as rs

from ..golden.recorded import read

pytestmark = pytest.mark.simulation
RUNS = ("org_manual_bm25", "org_manual_ance", "org_manual_ance_bert", "org_convdr", "org_convdr_bert")


@pytest.fixture(scope="module")
def collection(shared):
    """Values of 158 queries: by metric, a column a run."""
    folder = shared("data/cast2021")
    found = [
        rs.evaluate(folder / "trec-cast-qrels-docs.2021.qrel", folder / f"{run}.run", ["ndcg@10", "ap", "rr"])
        for run in RUNS
    ]
    return {label: np.column_stack([result.per_query[label] for result in found]) for label in found[0]}


def results(values):
    """Results with these values, a column a run: the absolute error of one item is any number from 0."""
    truth = np.zeros((len(values), 1))
    return {
        f"r{at}": rs.evaluate(truth, column[:, None], "mae", averaging="macro") for at, column in enumerate(values.T)
    }


def level(values, n, samples, seed=0, **rules):
    """How often anything is found between runs that are made equal."""
    rng, found = np.random.default_rng(seed), 0
    equal = values - values.mean(axis=0)
    equal -= equal.min()  # an error is not negative
    for _ in range(samples):
        drawn = equal[rng.integers(0, len(equal), n)]
        comparison = rs.compare(results(drawn), **rules)
        found += any(verdict != "inconclusive" for verdict in comparison.verdicts.values())
    return found / samples


@pytest.mark.parametrize("metric", ["ndcg@10", "ap"])
@pytest.mark.parametrize("pair", [(0, 1), (1, 4)])
def test_a_pair(collection, metric, pair):
    assert 0.04 <= level(collection[metric][:, pair], n=50, samples=4000) <= 0.06


def test_a_pair_by_flips(collection):
    assert 0.04 <= level(collection["ap"][:, [0, 3]], n=30, samples=2500, test="flips", resamples=999) <= 0.06


def test_a_family_against_a_baseline(collection):
    assert level(collection["ndcg@10"], n=50, samples=1500, baseline="r0") <= 0.06


def test_a_family_of_all_pairs(collection):
    found = level(collection["ndcg@10"], n=50, samples=1500, resamples=499)
    assert 0.03 <= found <= 0.06
    assert level(collection["ndcg@10"], n=50, samples=400, correction="none") > 0.15  # so there is something to correct


@pytest.mark.parametrize(("metric", "n"), [("rr", 25), ("rr", 100), ("ndcg@10", 25), ("ndcg@10", 100)])
def test_intervals_of_differences(collection, metric, n):
    """93.5 to 95.8 % where 95 % is said."""
    rng, held, samples = np.random.default_rng(0), 0, 2000
    values = collection[metric][:, :2]
    true = np.diff(values.mean(axis=0))[0]
    for _ in range(samples):
        of = rs.compare(results(values[rng.integers(0, len(values), n)]))["r1", "mae"]
        held += of.low <= true <= of.high
    assert 0.93 <= held / samples <= 0.965


def test_intervals_of_a_skewed_mean():
    """Student's misses too often on reciprocal ranks of a recommender (LensKit's Pop); Hall's does not."""
    case = next(case for case in read("decisions.json") if case["kind"] == "skew_interval")
    values = np.array(case["input"]["values"])
    rng, samples = np.random.default_rng(0), 2000
    held = {"hall": 0, "t": 0}
    for _ in range(samples):
        result = rs.evaluate(
            np.zeros((25, 1)), values[rng.integers(0, len(values), 25)][:, None], "mae", averaging="macro"
        )
        for method in held:
            found = result.interval("mae", method=method)
            held[method] += found.low <= values.mean() <= found.high
    assert held["hall"] / samples >= 0.915
    assert held["t"] / samples <= 0.905


@pytest.mark.parametrize(("lists", "items"), [(400, 1_500), (400, 20_000)])
def test_intervals_of_numbers_of_all_lists(lists, items):
    """The bootstrap's interval held the expected coverage, Gini and entropy at this number of lists never."""
    labels = ["coverage@10", "gini@10", "entropy@10", "personalisation@10"]
    rng, samples = np.random.default_rng(1), 60
    popularity = np.log(1 / np.arange(1, items + 1) ** 0.8)
    found, ends = np.empty((samples, len(labels))), np.empty((samples, len(labels), 2))
    for at in range(samples):
        shown = np.argpartition(-(popularity + rng.gumbel(size=(lists, items))), 10, axis=1)[:, :10]
        result = rs.evaluate(run=rs.lists(shown), metrics=labels, catalogue=np.arange(items))
        for place, label in enumerate(labels):
            interval = result.interval(label)
            assert interval.mean == pytest.approx(result[label], abs=1e-12)
            found[at, place], ends[at, place] = result[label], (interval.low, interval.high)
    expected = found.mean(axis=0)
    held = ((ends[:, :, 0] <= expected) & (expected <= ends[:, :, 1])).mean(axis=0)
    assert (held >= 0.92).all(), dict(zip(labels, held, strict=True))


def test_differences_of_numbers_of_all_lists():
    """Two runs that draw alike, their lists alike in part: what is found is a false alarm."""
    rng, samples, alarms = np.random.default_rng(2), 60, 0
    popularity = np.log(1 / np.arange(1, 1_501) ** 0.8)
    for _ in range(samples):
        both = popularity + rng.gumbel(size=(200, 1_500))
        runs = {
            name: rs.lists(np.argpartition(-(both + 0.5 * rng.gumbel(size=both.shape)), 10, axis=1)[:, :10])
            for name in ("old", "new")
        }
        of = rs.compare(runs=runs, metrics="coverage@10", catalogue=np.arange(1_500))["new", "coverage@10"]
        alarms += not of.low <= 0 <= of.high
    assert alarms / samples <= 0.1
