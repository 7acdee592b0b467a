"""A scorer that measures each query's rows as one list, in scikit-learn's own model selection."""

import pickle

import numpy as np
import pandas as pd
import pytest

import rankstone as rs

sklearn = pytest.importorskip("sklearn")

from sklearn.compose import make_column_transformer  # noqa: E402
from sklearn.linear_model import LogisticRegression, Ridge  # noqa: E402
from sklearn.metrics import mean_absolute_error, ndcg_score  # noqa: E402
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.tree import DecisionTreeRegressor  # noqa: E402

FOLDS = GroupKFold(4)


@pytest.fixture
def rows(data):
    """All queries, those with one row left out: scikit-learn's ndcg_score refuses them."""
    train = data.train
    keep = np.repeat(train.sizes > 1, train.sizes)
    return train.rows[keep], train.labels[keep], train.queries[keep]


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def by_hand(model, x, y, queries, k):
    """scikit-learn's own ndcg_score, query by query."""
    scores = []
    for train, test in FOLDS.split(x, y, queries):
        predicted = model.fit(x[train], y[train]).predict(x[test])
        inside = [queries[test] == query for query in np.unique(queries[test])]
        scores.append(np.mean([ndcg_score([y[test][one]], [predicted[one]], k=k) for one in inside]))
    return np.array(scores)


@pytest.mark.parametrize(
    "model", [Ridge(), DecisionTreeRegressor(max_depth=2, random_state=0)], ids=["", "tied scores"]
)
def test_cross_val_score_with_routed_groups(rows, routing, model):
    x, y, queries = rows
    scorer = rs.integrations.scorer("ndcg@5")
    found = cross_val_score(model, x, y, cv=FOLDS, scoring=scorer, params={"groups": queries})
    np.testing.assert_allclose(found, by_hand(model, x, y, queries, 5), rtol=0, atol=1e-9)
    assert found.std() > 0


def test_cross_val_score_with_a_column(rows):
    x, y, queries = rows
    table = pd.DataFrame(x, columns=[f"f{at}" for at in range(x.shape[1])]).assign(query=[f"q{one}" for one in queries])
    model = make_pipeline(make_column_transformer(("drop", ["query"]), remainder="passthrough"), Ridge())
    scorer = rs.integrations.scorer("ndcg@5", groups="query")
    found = cross_val_score(model, table, y, cv=FOLDS, groups=queries, scoring=scorer)
    np.testing.assert_allclose(found, by_hand(Ridge(), x, y, queries, 5), rtol=0, atol=1e-9)
    matrix = np.column_stack((x, queries))
    model = make_pipeline(make_column_transformer(("drop", [-1]), remainder="passthrough"), Ridge())
    scorer = rs.integrations.scorer("ndcg@5", groups=-1)
    found = cross_val_score(model, matrix, y, cv=FOLDS, groups=queries, scoring=scorer)
    np.testing.assert_allclose(found, by_hand(Ridge(), x, y, queries, 5), rtol=0, atol=1e-9)


def test_grid_search(rows, routing):
    x, y, queries = rows
    grid = {"max_depth": [1, 2, 4, 8]}
    search = GridSearchCV(
        DecisionTreeRegressor(random_state=0), grid, scoring=rs.integrations.scorer("ndcg@3"), cv=FOLDS
    )
    search.fit(x, y, groups=queries)
    want = [
        by_hand(DecisionTreeRegressor(random_state=0, max_depth=d), x, y, queries, 3).mean() for d in grid["max_depth"]
    ]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], want, rtol=0, atol=1e-9)
    assert search.best_params_["max_depth"] == grid["max_depth"][int(np.argmax(want))]
    again = pickle.loads(pickle.dumps(search))
    assert again.score(x, y, groups=queries) == search.score(x, y, groups=queries)
    by_column = pickle.loads(pickle.dumps(rs.integrations.scorer("ndcg@3", groups=0)))
    assert 0 < by_column(search.best_estimator_, x, y) <= 1


def test_a_classifier_is_ranked_by_its_decision_function(rows, routing):
    x, y, queries = rows
    y = (y >= 2).astype(int)
    model = LogisticRegression(max_iter=2000, C=0.01)
    scorer = rs.integrations.scorer("ap", undefined="skip")
    found = cross_val_score(model, x, y, cv=FOLDS, scoring=scorer, params={"groups": queries})
    for score, (train, test) in zip(found, FOLDS.split(x, y, queries), strict=True):
        values = model.fit(x[train], y[train]).decision_function(x[test])
        table = pd.DataFrame({"query": queries[test], "label": y[test], "score": values})
        assert score == pytest.approx(rs.evaluate(table, None, "ap", convention="scikit-learn", undefined="skip")["ap"])


def test_an_error_is_negative(rows, routing):
    x, y, queries = rows
    found = cross_val_score(Ridge(), x, y, cv=FOLDS, scoring=rs.integrations.scorer("mae"), params={"groups": queries})
    folds = FOLDS.split(x, y, queries)
    want = [-mean_absolute_error(y[test], Ridge().fit(x[train], y[train]).predict(x[test])) for train, test in folds]
    np.testing.assert_allclose(found, want, rtol=1e-12)


def test_groups_are_needed(rows):
    x, y, _ = rows
    with pytest.raises(ValueError, match="the scorer got no groups: name their column"):
        rs.integrations.scorer("ndcg@5")(Ridge().fit(x, y), x, y)
    with pytest.raises(ValueError, match="a scorer gives one number, not ndcg@1, ndcg@5"):
        rs.integrations.scorer("ndcg@{1,5}")
