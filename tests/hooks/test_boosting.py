"""In training, a hook's number is the library's own, at every iteration and on both sets."""

import pickle

import numpy as np
import pandas as pd
import pytest

import rankstone as rs

ROUNDS = 25
TOLERANCE = 1e-9


def same(ours, theirs):
    assert len(ours) == len(theirs) == ROUNDS
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=TOLERANCE)


def moves(values):
    """A number that stays as it is shows nothing."""
    return len(set(values)) > ROUNDS / 4


# -- LightGBM ------------------------------------------------------------------------------------------------


def lightgbm_trained(data, params, hook, weights=False, **options):
    lgb = pytest.importorskip("lightgbm")
    params = {"objective": "lambdarank", "verbose": -1, "min_data_in_leaf": 3, "num_threads": 1, **params}
    random = np.random.default_rng(3)
    train = lgb.Dataset(data.train.rows, data.train.labels, group=data.train.sizes, params={"verbose": -1})
    valid = train.create_valid(data.valid.rows, data.valid.labels, group=data.valid.sizes)
    if weights:
        for part in (train, valid):
            part.set_weight(random.random(len(part.label)))
    record = {}
    model = lgb.train(
        params, train, ROUNDS, valid_sets=[train, valid], valid_names=["train", "valid"], feval=hook,
        callbacks=[lgb.record_evaluation(record), *options.get("callbacks", ())],
    )  # fmt: skip
    return model, record


# Where a query has nothing relevant, LightGBM and XGBoost add 1 to a weighted sum, whatever the query's weight: a mean
# above 1 is possible then. So with weights every query has something relevant here.
with_weights = pytest.mark.parametrize("weights", [False, True], ids=["", "weights"])


@with_weights
def test_lightgbm(data, weights):
    ks = [1, 3, 5, 10]
    hook = rs.integrations.lightgbm(["ndcg@{1,3,5,10}", "ap@{1,3,5,10}"])
    data = data.all_with_relevant() if weights else data
    _, record = lightgbm_trained(data, {"metric": ["ndcg", "map"], "eval_at": ks}, hook, weights)
    assert moves(record["valid"]["ndcg@10"])
    for part in ("train", "valid"):
        for k in ks:
            same(record[part][f"rs.ndcg@{k} (lightgbm)"], record[part][f"ndcg@{k}"])
            same(record[part][f"rs.ap@{k} (lightgbm)"], record[part][f"map@{k}"])


def test_lightgbm_label_gain(data):
    hook = rs.integrations.lightgbm(rs.ndcg(gain="linear") @ 5)
    params = {"metric": "ndcg", "eval_at": [5], "label_gain": [0, 1, 2, 3, 4]}
    _, record = lightgbm_trained(data, params, hook)
    same(record["valid"]["rs.ndcg(gain='linear')@5 (lightgbm)"], record["valid"]["ndcg@5"])


def test_lightgbm_weights_are_of_queries(data):
    with pytest.raises(ValueError, match="auc is over all rows as one list, and has no weights"):
        lightgbm_trained(data, {}, rs.integrations.lightgbm("auc"), weights=True)


def test_lightgbm_stops_early_on_our_metric(data):
    """At the iteration that the library's own metric would have chosen."""
    lgb = pytest.importorskip("lightgbm")
    stop = lgb.early_stopping(4, first_metric_only=True, verbose=False)
    # The training set is looked at too, so that both are given; early stopping leaves it out.
    ours, record = lightgbm_trained(data, {"metric": "None"}, rs.integrations.lightgbm("ndcg@3"), callbacks=[stop])
    theirs, _ = lightgbm_trained(data, {"metric": "ndcg", "eval_at": [3]}, None, callbacks=[stop])
    assert ours.best_iteration == theirs.best_iteration == 1 + int(np.argmax(record["valid"]["rs.ndcg@3 (lightgbm)"]))
    assert len(record["valid"]["rs.ndcg@3 (lightgbm)"]) < ROUNDS


def test_lightgbm_without_groups(data):
    with pytest.raises(ValueError, match="the LightGBM data has no groups"):
        lightgbm_trained(
            data._replace(train=data.train._replace(sizes=None), valid=data.valid._replace(sizes=None)),
            {"objective": "regression"}, rs.integrations.lightgbm("ndcg@3"),
        )  # fmt: skip


def test_lightgbm_error_of_predictions(data):
    """Lower is better, and the best iteration is that of the lowest error."""
    lgb = pytest.importorskip("lightgbm")
    stop = lgb.early_stopping(ROUNDS, first_metric_only=True, verbose=False)
    params = {"objective": "regression", "metric": "l1"}
    _, record = lightgbm_trained(data, params, rs.integrations.lightgbm("mae"))
    same(record["valid"]["rs.mae (lightgbm)"], record["valid"]["l1"])
    model, _ = lightgbm_trained(data, {**params, "metric": "None"}, rs.integrations.lightgbm("mae"), callbacks=[stop])
    assert model.best_iteration == 1 + int(np.argmin(record["valid"]["l1"])) > 1


def lgbm_ranker(data, hook, weights=False, **params):
    lgb = pytest.importorskip("lightgbm")
    ranker = lgb.LGBMRanker(n_estimators=ROUNDS, min_child_samples=3, n_jobs=1, verbose=-1, **params)
    random = np.random.default_rng(3)
    shares = [random.random(len(part.labels)) if weights else None for part in data]
    return ranker.fit(
        data.train.rows, data.train.labels, group=data.train.sizes, sample_weight=shares[0],
        eval_set=[(part.rows, part.labels) for part in data], eval_group=[part.sizes for part in data],
        eval_sample_weight=shares if weights else None, eval_names=["train", "valid"], eval_metric=hook, eval_at=[3, 5],
        callbacks=[lgb.early_stopping(4, first_metric_only=True, verbose=False)] if params.get("metric") else None,
    )  # fmt: skip


# LightGBM 4.7 has another word for eval_set, that those before it do not know.
old_words = pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")


@old_words
@with_weights
def test_lgbm_ranker(data, weights):
    hook = rs.integrations.lightgbm(["ndcg@{3,5}"])
    ranker = lgbm_ranker(data.all_with_relevant() if weights else data, hook, weights)
    for part in ("train", "valid"):
        for k in (3, 5):
            same(ranker.evals_result_[part][f"rs.ndcg@{k} (lightgbm)"], ranker.evals_result_[part][f"ndcg@{k}"])
    assert moves(ranker.evals_result_["valid"]["ndcg@5"])


@old_words
def test_lgbm_ranker_stops_early_on_our_metric(data):
    ours = lgbm_ranker(data, rs.integrations.lightgbm("ndcg@3"), metric="None")
    theirs = lgbm_ranker(data, None, metric="ndcg")
    assert ours.best_iteration_ == theirs.best_iteration_
    assert len(ours.evals_result_["valid"]["rs.ndcg@3 (lightgbm)"]) < ROUNDS


@old_words
def test_lgbm_without_groups(data):
    lgb = pytest.importorskip("lightgbm")
    model = lgb.LGBMRegressor(n_estimators=1, verbose=-1)
    with pytest.raises(ValueError, match=r"give Dataset\(..., group=\), or fit\(..., group=, eval_group=\)"):
        model.fit(
            data.train.rows, data.train.labels, eval_set=[(data.valid.rows, data.valid.labels)],
            eval_metric=rs.integrations.lightgbm("ndcg"),
        )  # fmt: skip


# -- XGBoost -------------------------------------------------------------------------------------------------


def xgboost_trained(data, params, hook, weights=False, **options):
    xgb = pytest.importorskip("xgboost")
    random = np.random.default_rng(3)
    parts = []
    for part in data:
        parts.append(xgb.DMatrix(part.rows, part.labels, qid=part.queries))
        if weights:
            parts[-1].set_weight(random.random(len(part.sizes)))
    said = []  # XGBoost rounds what a custom metric says to 6 decimals

    def custom_metric(predictions, matrix):
        found = hook(predictions, matrix)
        said.append(dict(found))
        return found

    record = {}
    model = xgb.train(
        {"nthread": 1, "min_child_weight": 0.01, **params}, parts[0], ROUNDS,
        evals=[(parts[0], "train"), (parts[1], "valid")],
        custom_metric=custom_metric, evals_result=record, verbose_eval=False, **options,
    )  # fmt: skip
    ours = {
        part: {name: [one[name] for one in said[at::2]] for name in said[0]}
        for at, part in enumerate(("train", "valid"))
    }
    return model, ours, record


@with_weights
def test_xgboost_ndcg(data, weights):
    names = ["ndcg@1", "ndcg@5", "ndcg@10", "ndcg"]
    params = {"objective": "rank:ndcg", "eval_metric": names}
    data = data.all_with_relevant() if weights else data
    _, ours, theirs = xgboost_trained(data, params, rs.integrations.xgboost(names), weights)
    assert moves(theirs["valid"]["ndcg@10"])
    for part in ("train", "valid"):
        for name in names:
            same(ours[part][f"rs.{name}(xgboost)"], theirs[part][name])
            np.testing.assert_allclose(
                theirs[part][f"rs.{name}(xgboost)"], theirs[part][name], atol=6e-7
            )  # as it prints them


def test_xgboost_ndcg_with_linear_gain(data):
    params = {"objective": "rank:ndcg", "eval_metric": ["ndcg@5"], "ndcg_exp_gain": False}
    _, ours, theirs = xgboost_trained(data, params, rs.integrations.xgboost(rs.ndcg(gain="linear") @ 5))
    same(ours["valid"]["rs.ndcg(gain='linear')@5(xgboost)"], theirs["valid"]["ndcg@5"])


@with_weights
def test_xgboost_map_and_precision(data, weights):
    names = {
        "map": "ap",
        "map@1": "ap@1",
        "map@5": "ap@5",
        "pre": "precision",
        "pre@1": "precision@1",
        "pre@5": "precision@5",
    }
    params = {"objective": "rank:map", "eval_metric": list(names)}
    hook = rs.integrations.xgboost(list(names.values()))
    data = data.relevant_from(2)
    _, ours, theirs = xgboost_trained(data.all_with_relevant() if weights else data, params, hook, weights)
    assert moves(theirs["valid"]["map"])
    for part in ("train", "valid"):
        for their_name, our_name in names.items():
            same(ours[part][f"rs.{our_name}(xgboost)"], theirs[part][their_name])


def test_xgboost_stops_early_on_our_metric(data):
    xgb = pytest.importorskip("xgboost")

    def trained(name):
        stop = xgb.callback.EarlyStopping(rounds=4, metric_name=name, data_name="valid", maximize=True)
        params = {"objective": "rank:ndcg", "eval_metric": ["ndcg@3"]}
        return xgboost_trained(data, params, rs.integrations.xgboost("ndcg@3"), callbacks=[stop])[0]

    ours, theirs = trained("rs.ndcg@3(xgboost)"), trained("ndcg@3")
    assert ours.best_iteration == theirs.best_iteration
    assert ours.num_boosted_rounds() < ROUNDS


def test_xgboost_without_groups(data):
    xgb = pytest.importorskip("xgboost")
    matrix = xgb.DMatrix(data.train.rows, data.train.labels)
    with pytest.raises(ValueError, match="the XGBoost data has no groups"):
        xgb.train(
            {}, matrix, 1, evals=[(matrix, "train")], custom_metric=rs.integrations.xgboost("ndcg"), verbose_eval=False
        )


def xgb_ranker(data, metric, **params):
    xgb = pytest.importorskip("xgboost")
    ranker = xgb.XGBRanker(
        n_estimators=ROUNDS, n_jobs=1, min_child_weight=0.01, objective="rank:ndcg", eval_metric=metric, **params
    )
    ranker.fit(
        data.train.rows, data.train.labels, qid=data.train.queries, verbose=False,
        eval_set=[(data.valid.rows, data.valid.labels)], eval_qid=[data.valid.queries],
    )  # fmt: skip
    return ranker


@pytest.fixture
def of_five(data):
    """Queries of five rows each: XGBRanker averages by rows."""
    parts = [part._replace(sizes=np.full(len(part.labels) // 5, 5)) for part in data]
    return type(data)(*(
        part._replace(rows=part.rows[: 5 * len(part.sizes)], labels=part.labels[: 5 * len(part.sizes)])
        for part in parts
    ))  # fmt: skip


@pytest.mark.parametrize(("ours", "theirs", "grade"), [
    ("ndcg@3", "ndcg@3", None), ("ndcg", "ndcg", None), ("ap@3", "map@3", 2), ("precision@3", "pre@3", 2),
])  # fmt: skip
def test_xgb_ranker(of_five, ours, theirs, grade):
    data = of_five if grade is None else of_five.relevant_from(grade)
    hook = rs.integrations.xgboost(ours)
    found = xgb_ranker(data, hook).evals_result()["validation_0"][hook.__name__]
    expected = xgb_ranker(data, theirs).evals_result()["validation_0"][theirs]
    np.testing.assert_allclose(found, expected, rtol=0, atol=6e-7)  # it prints 6 decimals
    assert len(set(found)) > 4


def test_xgb_ranker_averages_by_rows(data):
    """Which is not XGBoost's own number, and the name says so."""
    hook = rs.integrations.xgboost("ndcg@3")
    assert hook.__name__ == "ndcg@3(rankstone,xgboost,by-rows)"
    ranker = xgb_ranker(data, hook)
    table = pd.DataFrame({
        "query": data.valid.queries, "label": data.valid.labels, "score": ranker.predict(data.valid.rows),
    })  # fmt: skip
    values = rs.evaluate(table, None, "ndcg@3", convention="xgboost").per_query["ndcg@3"]
    values[data.valid.sizes == 1] = 1
    expected = np.average(values, weights=data.valid.sizes)
    assert ranker.evals_result()["validation_0"][hook.__name__][-1] == pytest.approx(expected, abs=6e-7)
    assert ranker.score(
        pd.DataFrame(data.valid.rows).assign(qid=data.valid.queries), data.valid.labels
    ) == pytest.approx(expected, abs=6e-7)


def test_xgb_ranker_stops_early_at_the_highest(of_five):
    ours = xgb_ranker(of_five, rs.integrations.xgboost("ndcg@3"), early_stopping_rounds=4)
    theirs = xgb_ranker(of_five, "ndcg@3", early_stopping_rounds=4)
    assert ours.best_iteration == theirs.best_iteration
    lower = rs.integrations.xgboost("mae", averaging="macro")
    found = xgb_ranker(of_five, lower, early_stopping_rounds=ROUNDS)
    assert found.best_iteration == np.argmin(found.evals_result()["validation_0"]["rs.mae(rankstone,xgboost,by-rows)"])


@pytest.mark.parametrize(("metrics", "choices", "problem"), [
    (["ndcg@3", "ap"], {}, "XGBRanker takes one eval_metric, not ndcg@3, ap"),
    ("rr", {}, "XGBRanker's early stopping would take rr for an error, and look for the lowest"),
    ("ap", {"averaging": "micro"}, "XGBRanker averages by itself, which is not averaging='micro'"),
    ("ap", {"undefined": "skip"}, "a query has no value, and XGBRanker leaves no query out"),
])  # fmt: skip
def test_what_xgb_ranker_cannot_do(metrics, choices, problem):
    hook = rs.integrations.xgboost(metrics, **choices)
    with pytest.raises(ValueError, match=rf"{problem}; xgb.train\(..., custom_metric=\) can do it"):
        hook(np.zeros(3), np.arange(3))


def test_hooks_can_be_pickled(data):
    labels, scores, sizes = data.valid.labels, np.cos(np.arange(len(data.valid.labels))), data.valid.sizes
    for hook, given in (
        (rs.integrations.lightgbm("ndcg@3"), (labels, scores, None, sizes)),
        (rs.integrations.xgboost("ndcg@3"), (labels[:4], scores[:4])),
    ):
        assert pickle.loads(pickle.dumps(hook))(*given) == hook(*given)


# -- CatBoost ------------------------------------------------------------------------------------------------


def catboost_pools(data, weights=False):
    cb = pytest.importorskip("catboost")
    random = np.random.default_rng(3)
    return [
        cb.Pool(
            part.rows, part.labels, group_id=part.queries,
            group_weight=np.repeat(random.random(len(part.sizes)), part.sizes) if weights else None,
        )
        for part in data
    ]  # fmt: skip


def catboost_trained(pools, hook, own=(), **params):
    cb = pytest.importorskip("catboost")
    model = cb.CatBoost(
        {
            "loss_function": "YetiRank", "iterations": ROUNDS, "learning_rate": 0.3, "depth": 3, "thread_count": 2,
            "random_seed": 5, "eval_metric": hook, "custom_metric": list(own), "use_best_model": False,
            "allow_writing_files": False, **params,
        }
    )  # fmt: skip
    model.fit(pools[0], eval_set=pools[1], verbose=False)
    return model, model.get_evals_result()


CATBOOST = [
    ("NDCG:type=Base", "ndcg", {}, None),
    ("NDCG:top=5;type=Base", "ndcg@5", {}, None),
    ("NDCG:top=5;type=Exp", "ndcg@5", {"gain": "exp2"}, None),
    ("NDCG:top=5;type=Base;denominator=Position", "ndcg@5", {"discount": "rank"}, None),
    *((f"{theirs}:top={k}", f"{ours}@{k}", {}, 2) for k in (1, 5, 10)
      for theirs, ours in (("MAP", "ap"), ("MRR", "rr"), ("PrecisionAt", "precision"), ("RecallAt", "recall"))),
    ("MAP", "ap", {}, 2),
    ("MRR", "rr", {}, 2),
    ("PrecisionAt", "precision", {}, 2),
]  # fmt: skip


@pytest.mark.parametrize(("theirs", "ours", "choices", "grade"), CATBOOST, ids=[f"{one[0]}" for one in CATBOOST])
def test_catboost(data, theirs, ours, choices, grade):
    pools = catboost_pools(data if grade is None else data.relevant_from(grade))
    asked = f"{theirs}{';' if ':' in theirs else ':'}hints=skip_train~false"
    _, record = catboost_trained(pools, rs.integrations.catboost(ours, *pools, **choices), [asked])
    for part in ("learn", "validation"):
        same(record[part][f"rs.{ours} (catboost)"], record[part][theirs])
    assert moves(record["validation"][theirs]) or ours != "ndcg"


def test_catboost_weights(data):
    pools = catboost_pools(data, weights=True)
    hook = rs.integrations.catboost("ndcg@5", *pools)
    _, record = catboost_trained(pools, hook, ["NDCG:top=5;type=Base;hints=skip_train~false"])
    name = next(one for one in record["learn"] if one.startswith("NDCG"))
    for part in ("learn", "validation"):
        same(record[part]["rs.ndcg@5 (catboost)"], record[part][name])


def test_catboost_ranker(data):
    cb = pytest.importorskip("catboost")
    pools = catboost_pools(data)
    hook = rs.integrations.catboost("ndcg@5", *pools)
    ranker = cb.CatBoostRanker(
        iterations=ROUNDS, depth=3, thread_count=2, random_seed=5, eval_metric=hook, allow_writing_files=False,
        custom_metric=["NDCG:top=5;type=Base;hints=skip_train~false"], use_best_model=False,
    )  # fmt: skip
    ranker.fit(data.train.rows, data.train.labels, group_id=data.train.queries, eval_set=pools[1], verbose=False)
    record = ranker.get_evals_result()
    for part in ("learn", "validation"):
        same(record[part]["rs.ndcg@5 (catboost)"], record[part]["NDCG:top=5;type=Base"])
    again = pickle.loads(pickle.dumps(hook))
    scores = ranker.predict(pools[1])
    assert again.evaluate([scores], data.valid.labels, None) == hook.evaluate([scores], data.valid.labels, None)
    assert type(again).__name__ == "rs.ndcg@5 (catboost)"


def test_catboost_stops_early_on_our_metric(data):
    pools = catboost_pools(data)
    hook = rs.integrations.catboost("ndcg@3", *pools)
    ours, _ = catboost_trained(pools, hook, early_stopping_rounds=4, use_best_model=True)
    theirs, _ = catboost_trained(pools, "NDCG:top=3", early_stopping_rounds=4, use_best_model=True)
    assert ours.get_best_iteration() == theirs.get_best_iteration()
    assert ours.tree_count_ < ROUNDS


def test_catboost_must_know_its_pools(data):
    cb = pytest.importorskip("catboost")
    pools = catboost_pools(data)
    with pytest.raises(ValueError, match="name the pools too"):
        rs.integrations.catboost("ndcg")
    with pytest.raises(ValueError, match="CatBoost takes one eval_metric, not ndcg@1, ndcg@5"):
        rs.integrations.catboost("ndcg@{1,5}", *pools)
    with pytest.raises(ValueError, match="a pool has no groups"):
        rs.integrations.catboost("ndcg", cb.Pool(data.train.rows, data.train.labels))
    metric = rs.integrations.catboost("ndcg", pools[0])
    with pytest.raises(
        ValueError, match=r"cannot tell the groups of \d+ rows: the pool with these labels was not given"
    ):
        metric.evaluate([data.valid.labels], data.valid.labels, None)
    regrouped = cb.Pool(data.train.rows, data.train.labels, group_id=np.arange(len(data.train.rows)) // 5)
    metric = rs.integrations.catboost("ndcg", pools[0], regrouped)
    with pytest.raises(ValueError, match="two of the pools that were given have these labels but other groups"):
        metric.evaluate([data.train.labels], data.train.labels, None)
