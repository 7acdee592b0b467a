"""Dense scores and labels against scikit-learn, which averages over the orders of tied scores."""

import numpy as np
import pytest

import rankstone as rs

sklearn_metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
pytestmark = pytest.mark.peers

SEEDS = range(8)


def graded(seed, rows=20, columns=9):
    """Labels 0 to 3 and scores of which many are equal; every row has something relevant."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 4, (rows, columns))
    labels[:, 0] += 1
    return labels, random.integers(0, 4, (rows, columns)) / 2


def binary(seed, rows=20, columns=9):
    """Labels 0 and 1, each at least once a row, and tied scores."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 2, (rows, columns))
    labels[:, 0], labels[:, 1] = 1, 0
    return labels, random.integers(0, 5, (rows, columns)) / 4


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("k", [None, 1, 2, 5, 20])
def test_ndcg_and_dcg_with_ties(seed, k):
    labels, scores = graded(seed)
    cut = "" if k is None else f"@{k}"
    ours = rs.evaluate(labels, scores, [f"ndcg{cut}", f"dcg{cut}"], ties="expected")
    assert ours[f"ndcg{cut}"] == pytest.approx(sklearn_metrics.ndcg_score(labels, scores, k=k), rel=1e-12)
    assert ours[f"dcg{cut}"] == pytest.approx(sklearn_metrics.dcg_score(labels, scores, k=k), rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_dcg_with_another_base_of_the_logarithm(seed):
    labels, scores = graded(seed)
    ours = rs.evaluate(labels, scores, "dcg(discount='ln(rank+1)')", ties="expected")
    theirs = sklearn_metrics.dcg_score(labels, scores, log_base=np.e)
    assert ours["dcg(discount='ln(rank+1)')"] == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_negative_labels_count_against_in_dcg(seed):
    labels, scores = graded(seed)
    metric = rs.metrics.dcg(negative="signed") @ 4
    ours = rs.evaluate(labels - 2, scores, metric, ties="expected")
    assert ours[metric] == pytest.approx(sklearn_metrics.dcg_score(labels - 2, scores, k=4), rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_auc(seed):
    labels, scores = binary(seed)
    theirs = [sklearn_metrics.roc_auc_score(*row) for row in zip(labels, scores, strict=True)]
    ours = rs.evaluate(labels, scores, "auc")
    np.testing.assert_allclose(ours.per_query["auc"], theirs, rtol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_average_precision_of_distinct_scores(seed):
    """scikit-learn gives tied items their last rank, which no order does; so there are no ties here."""
    labels, _ = binary(seed)
    scores = np.random.default_rng(seed).permuted(np.tile(np.arange(9.0), (20, 1)), axis=1)
    theirs = [sklearn_metrics.average_precision_score(*row) for row in zip(labels, scores, strict=True)]
    ours = rs.evaluate(labels, scores, "ap")
    np.testing.assert_allclose(ours.per_query["ap"], theirs, rtol=1e-12)
    assert ours["ap"] == pytest.approx(sklearn_metrics.label_ranking_average_precision_score(labels, scores), rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_prediction_errors(seed):
    random = np.random.default_rng(seed)
    actual, predicted = random.uniform(1, 5, 50), random.uniform(1, 5, 50)
    for ours, theirs in [
        (rs.mae, sklearn_metrics.mean_absolute_error),
        (rs.metrics.mse, sklearn_metrics.mean_squared_error),
        (rs.rmse, sklearn_metrics.root_mean_squared_error),
        (rs.metrics.r2, sklearn_metrics.r2_score),
    ]:
        assert ours(predicted, truth=actual) == pytest.approx(theirs(actual, predicted), rel=1e-12), ours


@pytest.mark.parametrize("seed", SEEDS)
def test_logloss(seed):
    random = np.random.default_rng(seed)
    actual, predicted = random.integers(0, 2, 50), random.uniform(0.001, 0.999, 50)
    actual[:2] = 0, 1
    assert rs.metrics.logloss(predicted, truth=actual) == pytest.approx(
        sklearn_metrics.log_loss(actual, predicted), rel=1e-12
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_set_metrics_are_those_of_a_classifier_that_says_yes_k_times(seed):
    labels, _ = binary(seed)
    scores = np.random.default_rng(seed).permuted(np.tile(np.arange(9.0), (20, 1)), axis=1)
    chosen = scores >= 5  # the best four
    ours = rs.evaluate(labels, scores, ["precision@4", "recall@4", "f1@4", "f(beta=2.0)@4"])
    for name, theirs in [
        ("precision@4", sklearn_metrics.precision_score),
        ("recall@4", sklearn_metrics.recall_score),
        ("f1@4", sklearn_metrics.f1_score),
    ]:
        expected = [theirs(*row) for row in zip(labels, chosen, strict=True)]
        np.testing.assert_allclose(ours.per_query[name], expected, rtol=1e-12)
        pooled = rs.evaluate(labels, scores, name, averaging="micro")
        assert pooled[name] == pytest.approx(theirs(labels.ravel(), chosen.ravel()), rel=1e-12)
    expected = [sklearn_metrics.fbeta_score(*row, beta=2) for row in zip(labels, chosen, strict=True)]
    np.testing.assert_allclose(ours.per_query["f(beta=2.0)@4"], expected, rtol=1e-12)
