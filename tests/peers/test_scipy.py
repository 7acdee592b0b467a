"""Correlations against scipy."""

import numpy as np
import pytest
from scipy import stats

import rankstone as rs

pytestmark = pytest.mark.peers

SEEDS = range(10)
PAIRS = [
    ("kendall", lambda x, y: stats.kendalltau(x, y).statistic),
    ("spearman", lambda x, y: stats.spearmanr(x, y).statistic),
    ("pearson", lambda x, y: stats.pearsonr(x, y).statistic),
]


@pytest.mark.parametrize(("name", "theirs"), PAIRS)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("levels", [3, 1000], ids=["tied", "distinct"])
def test_correlation(name, theirs, seed, levels):
    random = np.random.default_rng(seed)
    grades, scores = random.integers(0, levels, (5, 30)), random.integers(0, levels, (5, 30)) / 4
    expected = [theirs(*row) for row in zip(scores, grades, strict=True)]
    ours = rs.evaluate(grades, scores, name)
    np.testing.assert_allclose(ours.per_query[name], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_order_of_tied_scores_does_not_move_a_correlation(seed):
    random = np.random.default_rng(seed)
    truth = {"q": {f"i{n}": int(grade) for n, grade in enumerate(random.integers(0, 3, 20))}}
    run = {"q": {f"i{n}": float(score) for n, score in enumerate(random.integers(0, 3, 20))}}
    first, *others = [
        dict(rs.evaluate(truth, run, ["kendall", "spearman", "pearson"], ties=ties))
        for ties in rs.choices["ties"].allowed
        if ties != "expected"  # the mean over all orders, of which none is tied
    ]
    for other in others:
        assert other == pytest.approx(first, rel=1e-12)


def test_auc_is_the_rank_sum_statistic():
    random = np.random.default_rng(3)
    labels, scores = random.integers(0, 2, (1, 40)), random.integers(0, 9, (1, 40)) / 2
    good, bad = scores[labels == 1], scores[labels == 0]
    statistic = stats.mannwhitneyu(good, bad).statistic
    assert rs.evaluate(labels, scores, "auc")["auc"] == pytest.approx(statistic / (len(good) * len(bad)), rel=1e-12)
