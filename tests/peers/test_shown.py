"""Metrics of what was shown, beside the libraries that have them, on random lists."""

import random

import numpy as np
import pytest

import rankstone as rs

from .data import draw, lists, relevant

SEEDS = range(5)


def world(seed):
    """Lists, relevant items, what users had before (not all items, some users more), and features of all items."""
    truth, run = draw(seed, tied=False)
    rng = random.Random(seed)
    history = {f"u{n}": rng.sample(range(1, 50), rng.choice((1, 3, 9))) for n in range(12)}
    features = np.array([[rng.randint(0, 2) for _ in range(4)] for _ in range(60)])
    return {user: relevant(truth, user) for user in truth}, lists(run), history, features


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("k", [1, 3, 10])
def test_rectools(seed, k):
    pandas = pytest.importorskip("pandas")
    library = pytest.importorskip("rectools.metrics", reason="needs RecTools")
    truth, run, history, features = world(seed)
    items = list(range(1, 61))
    reco = pandas.DataFrame(
        [(user, item, rank) for user, shown in run.items() for rank, item in enumerate(shown, 1)],
        columns=["user_id", "item_id", "rank"],
    )
    had = pandas.DataFrame([(u, i) for u, some in history.items() for i in some], columns=["user_id", "item_id"])
    liked = pandas.DataFrame([(u, i) for u, some in truth.items() for i in some], columns=["user_id", "item_id"])
    table = pandas.DataFrame(features, index=pandas.Index(items, name="item_id"))
    distance = library.PairwiseHammingDistanceCalculator(table)
    theirs = {
        "coverage": library.CatalogCoverage(k=k).calc(reco, items),
        "popularity": library.AvgRecPopularity(k=k).calc(reco, had),
        "novelty": library.MeanInvUserFreq(k=k).calc(reco, had),
        "ild": library.IntraListDiversity(k=k, distance_calculator=distance).calc(reco),
    }
    films = rs.catalogue(items, embedding=features)
    ours = rs.evaluate(
        run=run, metrics=[f"{name}@{k}" for name in theirs], catalogue=films, history=history, convention="rectools"
    )
    for name, value in theirs.items():
        assert ours[f"{name}@{k}"] == pytest.approx(value, abs=1e-12), name
    # Users without a relevant item have a list all the same.
    judged = {**{user: [] for user in run}, **truth}
    found = rs.evaluate(
        judged, run, f"serendipity@{k}", catalogue=films, history=history, convention="rectools", missing="skip"
    )
    theirs = library.Serendipity(k=k).calc(reco, liked, had, items)
    assert found[f"serendipity@{k}"] == pytest.approx(theirs, abs=1e-12)
