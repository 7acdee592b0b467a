"""The default convention against ranx, on scores without ties (ranx orders ties by an unstable sort)."""

import random
import warnings

import pytest

import rankstone as rs

# ranx compiles for half a minute before its first number, and warns on import.
pytestmark = [pytest.mark.peers, pytest.mark.slow]

# ranx's name: ours
PAIRS = {
    "precision@3": "precision@3",
    "recall@5": "recall@5",
    "f1@5": "f1@5",
    "r-precision": "r_precision",
    "mrr@2": "rr@2",
    "map@5": "ap@5",
    "ndcg@5": "ndcg@5",
    "ndcg_burges@5": "ndcg(gain='exp2')@5",
    "rbp.80": "rbp(gain='linear')",
}


@pytest.fixture(scope="module")
def ranx():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("ranx", reason="ranx is not installed")


def some_data(seed):
    rng = random.Random(seed)
    items = [f"d{number}" for number in range(30)]
    truth = {f"q{n}": {item: rng.randint(1, 3) for item in rng.sample(items, rng.randint(1, 10))} for n in range(20)}
    run = {}
    for query in truth:
        chosen = rng.sample(items, rng.randint(1, 15))
        run[query] = dict(zip(chosen, rng.sample(range(100), len(chosen)), strict=True))
    return truth, {query: {item: score / 10 for item, score in scores.items()} for query, scores in run.items()}


@pytest.mark.parametrize("seed", range(3))
def test_every_measure(ranx, seed):
    truth, run = some_data(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = ranx.evaluate(ranx.Qrels(truth), ranx.Run(run), list(PAIRS))
    ours = rs.evaluate(truth, run, list(PAIRS.values()))
    for name, metric in PAIRS.items():
        assert ours[metric] == pytest.approx(theirs[name], rel=1e-9), name
