"""Each preset against the library it is named after, in this process: the value of every user, and the mean."""

import logging
import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import rankstone as rs
from tests.asking import on_metrics

from .data import arrays, draw, lists, relevant

pytestmark = pytest.mark.peers
SEEDS = range(6)
KS = (1, 3, 10, 50)


def need(name):
    return pytest.importorskip(name, reason=f"{name} is not installed; `make peers` installs it", exc_type=ImportError)


def at(name):
    """The metric at every cutoff."""
    return [f"{name}@{k}" for k in KS]


def agree(convention, truth, run, theirs, tolerance=1e-9, **choices):
    """`theirs`: by metric the values of users, and the mean under the key None; None where it has none."""
    metrics, choices = on_metrics(theirs, choices)
    ours = rs.evaluate(truth, run, metrics, convention=convention, **choices)
    for metric, wanted in zip(metrics, theirs.values(), strict=True):
        values = dict(zip(ours.queries, ours.per_query[metric].tolist(), strict=True))
        for user, value in wanted.items():
            mine = ours[metric] if user is None else values.get(user, math.nan)
            if value is None:
                assert math.isnan(mine), (metric, user)
            else:
                assert mine == pytest.approx(value, rel=tolerance, abs=tolerance, nan_ok=True), (metric, user)


def macro(values):
    """Values of users with their mean."""
    return {**values, None: sum(values.values()) / len(values)}


def text(truth, run):
    return tuple({user: {str(item): value for item, value in rows.items()} for user, rows in side.items()}
                 for side in (truth, run))  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("grades", ["binary", "graded", "negative"])
def test_ir_measures(seed, grades):
    library = need("ir_measures")
    truth, run = text(*draw(seed, grades))
    names = {"AP": "ap", "RR": "rr", "nDCG": "ndcg", "Rprec": "r_precision", "SetP": "precision", "SetR": "recall",
             "SetF": "f1", "Bpref": "bpref", "infAP": "infap"}  # fmt: skip
    cut = {"AP": "ap", "RR": "rr", "nDCG": "ndcg", "P": "precision", "R": "recall", "Success": "hit_rate",
           "Judged": "judged"}  # fmt: skip
    names |= {f"{theirs}@{k}": f"{ours}@{k}" for theirs, ours in cut.items() for k in KS}
    condensed = [
        "AP",
        "RR",
        "nDCG",
        "Rprec",
        "SetP",
        *(f"{one}@{k}" for one in ("AP", "nDCG", "P", "R", "Success") for k in KS),
    ]
    for name in condensed:  # read as they are written
        word, at, k = name.partition("@")
        names[f"{word}(judged_only=True){at}{k}"] = str(*rs.authoring.Metric.parse(f"{word}(judged_only=True){at}{k}"))
    measures = [library.parse_measure(name) for name in names]
    theirs = {metric: {} for metric in names.values()}
    for one in library.iter_calc(measures, truth, run):
        theirs[names[str(one.measure)]][one.query_id] = one.value
    for measure, value in library.calc_aggregate(measures, truth, run).items():
        theirs[names[str(measure)]][None] = value
    agree("ir_measures", truth, run, theirs)


@pytest.mark.parametrize("seed", SEEDS)
def test_llamaindex(seed):
    """Lists of ids, some of them twice."""
    library = need("llama_index.core.evaluation.retrieval.metrics")
    truth, run = text(*draw(seed, "binary", tied=False))
    truth = {user: [item for item, grade in rows.items() if grade > 0] for user, rows in truth.items()}
    run = {user: sorted(rows, key=rows.get, reverse=True) for user, rows in run.items()}
    run = {user: [*items[:5], *items[1:4], *items[5:]] for user, items in run.items()}
    truth = {user: [*items, items[0]] for user, items in truth.items() if items and run.get(user)}
    measures = {
        "hit_rate": library.HitRate(), "rr": library.MRR(), "precision": library.Precision(),
        "recall": library.Recall(), "ap": library.AveragePrecision(), "ndcg": library.NDCG(),
        "recall(duplicates='count', truth_duplicates='count')": library.HitRate(use_granular_hit_rate=True),
        "rr(terms='mean')": library.MRR(use_granular_mrr=True),
    }  # fmt: skip
    theirs = {
        name: macro({user: measure.compute(expected_ids=truth[user], retrieved_ids=run[user]).score for user in truth})
        for name, measure in measures.items()
    }
    agree("llamaindex", truth, run, theirs)
    run = {user: [*dict.fromkeys(items)] for user, items in run.items()}
    theirs = {
        f"{name}@{k}": macro({user: measures[name].compute(expected_ids=truth[user], retrieved_ids=run[user][:k]).score
                              for user in truth})
        for name in ("hit_rate", "rr", "precision", "recall", "ap", "ndcg") for k in KS
    }  # fmt: skip
    agree("llamaindex", truth, run, theirs)  # it has no cutoff: the lists are cut before the call


def documents(seed, grades):
    """Grades, and lists of ids of which some are repeated, by user of the truth."""
    truth, run = text(*draw(seed, grades, tied=False))
    run = {user: sorted(rows, key=rows.get, reverse=True) for user, rows in run.items()}
    run = {user: [*items[:5], *items[1:4], *items[5:]] for user, items in run.items()}
    return truth, {user: run.get(user, []) for user in truth}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.filterwarnings("ignore")
def test_haystack(seed):
    library, document = need("haystack.components.evaluators"), need("haystack").Document
    truth, run = documents(seed, "graded")
    positive = {user: [item for item, grade in rows.items() if grade > 0] for user, rows in truth.items()}

    def values(evaluator, expected, k=None):
        shown = [[document(content=item) for item in run[user][:k]] for user in truth]
        answer = evaluator.run(ground_truth_documents=expected, retrieved_documents=shown)
        return {**dict(zip(truth, answer["individual_scores"], strict=True)), None: answer["score"]}

    sets = [[document(content=item) for item in positive[user]] for user in truth]
    graded = [[document(content=item, score=grade) for item, grade in truth[user].items()] for user in truth]
    theirs = {
        "rr": values(library.DocumentMRREvaluator(), sets),
        "ap": values(library.DocumentMAPEvaluator(), sets),
        "hit_rate": values(library.DocumentRecallEvaluator(mode="single_hit"), sets),
        "recall": values(library.DocumentRecallEvaluator(mode="multi_hit"), sets),
        "ndcg": values(library.DocumentNDCGEvaluator(), graded),
        "ndcg(gain='binary')": values(library.DocumentNDCGEvaluator(), sets),
        **{f"ndcg@{k}": values(library.DocumentNDCGEvaluator(), graded, k) for k in KS},
        **{f"ap@{k}": values(library.DocumentMAPEvaluator(), sets, k) for k in KS},
    }
    agree("haystack", truth, run, theirs)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("grades", ["binary", "graded", "negative"])
@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.filterwarnings("ignore:.*unsafe cast")
def test_ranx(seed, grades, level):
    library = need("ranx")
    truth, run = text(*draw(seed, grades, longest=15))  # the order of ties in longer lists is undefined
    long = text(*draw(seed, grades, tied=False))
    cut = {"map": "ap", "mrr": "rr", "ndcg": "ndcg", "precision": "precision", "recall": "recall", "f1": "f1",
           "hit_rate": "hit_rate"}  # fmt: skip
    names = {**cut, "r-precision": "r_precision", "rbp.80": "rbp"}
    names |= {f"{theirs}@{k}": f"{ours}@{k}" for theirs, ours in cut.items() for k in KS}
    for judged, returned in ((truth, run), long):
        graded = {user: rows for user, rows in judged.items() if rows}
        asked = [name if level == 1 else f"{name}-l{level}" for name in names]
        found = library.evaluate(library.Qrels(graded), library.Run(returned), asked, return_mean=False,
                                 make_comparable=True)  # fmt: skip
        users = sorted(graded)
        theirs = {ours: macro(dict(zip(users, found[name].tolist(), strict=True)))
                  for name, ours in zip(asked, names.values(), strict=True)}  # fmt: skip
        agree("ranx", graded, returned, theirs, threshold=level)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("grades", ["binary", "graded"])
def test_scikit_learn(seed, grades):
    library = need("sklearn.metrics")
    truth, run = draw(seed, grades)
    run = {user: rows for user, rows in run.items() if len(rows) > 1}  # ndcg_score refuses a list of one
    theirs = {metric: {} for metric in ["ap", "auc", "ndcg", *at("ndcg"), *at("dcg")]}
    for user, (labels, scores) in arrays(truth, run).items():
        binary = [int(label > 0) for label in labels]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of labels that are all alike
            theirs["ap"][user] = library.average_precision_score(binary, scores)
            theirs["auc"][user] = math.nan if len(set(binary)) == 1 else library.roc_auc_score(binary, scores)
        theirs["ndcg"][user] = library.ndcg_score([labels], [scores])
        for k in KS:
            theirs[f"ndcg@{k}"][user] = library.ndcg_score([labels], [scores], k=k)
            theirs[f"dcg@{k}"][user] = library.dcg_score([labels], [scores], k=k)
    agree("scikit-learn", truth, run, theirs)
    lrap = {user: library.label_ranking_average_precision_score([[int(label > 0) for label in labels]], [scores])
            for user, (labels, scores) in arrays(truth, run).items()}  # fmt: skip
    agree("scikit-learn", truth, run, {"ap": macro(lrap)}, ap_undefined=1)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("action", ["neg", "skip", "pos"])
@pytest.mark.parametrize("low", [0.001, -2.0])
def test_torchmetrics(seed, action, low):
    torch, library = need("torch"), need("torchmetrics.retrieval")
    truth, run = draw(seed, tied=False, low=low)  # the order of ties is undefined
    rows = arrays(truth, run)
    index = torch.tensor([at for at, (labels, _) in enumerate(rows.values()) for _ in labels])
    target = torch.tensor([label for labels, _ in rows.values() for label in labels])
    preds = torch.tensor([score for _, scores in rows.values() for score in scores], dtype=torch.float32)
    classes = {"precision": library.RetrievalPrecision, "recall": library.RetrievalRecall, "rr": library.RetrievalMRR,
               "hit_rate": library.RetrievalHitRate, "ap": library.RetrievalMAP, "fallout": library.RetrievalFallOut,
               "ndcg": library.RetrievalNormalizedDCG}  # fmt: skip
    theirs = {}
    for name, kind in classes.items():
        for k in (None, *KS):
            metric = kind(empty_target_action=action, top_k=k)
            theirs[name if k is None else f"{name}@{k}"] = {None: float(metric(preds, target, indexes=index))}
    theirs["r_precision"] = {
        None: float(library.RetrievalRPrecision(empty_target_action=action)(preds, target, indexes=index))
    }
    choices = {"neg": {}, "skip": {"no_relevant": "skip", "fallout_no_relevant": None, "fallout_undefined": "skip"},
               "pos": {"no_relevant": 1, "fallout_no_relevant": None, "fallout_undefined": 1}}[action]  # fmt: skip
    agree("torchmetrics+defects", truth, run, theirs, 1e-6, **choices)
    if low > 0:  # then the defect does not show
        agree("torchmetrics", truth, run, theirs, 1e-6, **choices)


@pytest.mark.parametrize("seed", SEEDS)
def test_torchmetrics_ndcg_of_ties(seed):
    torch, library = need("torch"), need("torchmetrics.functional.retrieval")
    truth, run = draw(seed, "graded")
    theirs = {"ndcg": {}, **{f"ndcg@{k}": {} for k in KS}}
    for user, (labels, scores) in arrays(truth, run).items():
        given = torch.tensor(scores, dtype=torch.float32), torch.tensor(labels, dtype=torch.float32)
        for k in (None, *KS):
            name = "ndcg" if k is None else f"ndcg@{k}"
            theirs[name][user] = float(library.retrieval_normalized_dcg(*given, top_k=k))
    agree("torchmetrics", truth, run, theirs, 1e-6)


def lightgbm_values(library, groups, asked, **params):
    """LightGBM's own numbers for scores that it did not compute: they are where the trees start."""
    labels = np.concatenate([labels for labels, _ in groups])
    scores = np.concatenate([scores for _, scores in groups])
    quiet = {"verbose": -1, "min_data_in_bin": 1}
    other = library.Dataset(np.arange(100.0)[:, None], np.zeros(100), group=[100], params=quiet)
    data = library.Dataset(np.zeros((len(labels), 1)), labels, group=[len(one) for one, _ in groups], init_score=scores,
                           reference=other, params=quiet)  # fmt: skip
    record, nothing = {}, lambda found, _: (np.zeros(len(found)), np.ones(len(found)))
    asked = {"objective": nothing, "metric": asked, "eval_at": list(KS), "verbose": -1, **params}
    library.train(asked, other, 1, valid_sets=[data], valid_names=["x"],
                  callbacks=[library.record_evaluation(record)])  # fmt: skip
    return {name: values[0] for name, values in record["x"].items()}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("grades", ["binary", "graded"])
def test_lightgbm(seed, grades):
    library = need("lightgbm")
    truth, run = draw(seed, grades)
    rows = arrays(truth, run)
    names = {f"{theirs}@{k}": f"{ours}@{k}" for theirs, ours in (("ndcg", "ndcg"), ("map", "ap")) for k in KS}
    theirs = {ours: {} for ours in names.values()}
    for user, groups in [*((user, [one]) for user, one in rows.items()), (None, list(rows.values()))]:
        for name, value in lightgbm_values(library, groups, ["ndcg", "map"]).items():
            theirs[names[name]][user] = value
    agree("lightgbm", truth, run, theirs)
    linear = lightgbm_values(library, list(rows.values()), ["ndcg"], label_gain="0,1,2,3,4")
    agree("lightgbm", truth, run, {name: {None: value} for name, value in linear.items()}, gain="linear")
    every = {user: {item: truth.get(user, {}).get(item, 0) for item in shown} for user, shown in run.items()}
    pooled = lightgbm_values(library, list(rows.values()), ["auc"])["auc"]
    agree("lightgbm", every, run, {"auc": {None: pooled}})


def xgboost_values(library, groups, asked, **params):
    """XGBoost's own numbers for scores that it did not compute: they are the margin of a model without trees."""
    labels = np.concatenate([labels for labels, _ in groups])
    data = library.DMatrix(np.zeros((len(labels), 1)), labels)
    data.set_group([len(one) for one, _ in groups])
    data.set_base_margin(np.concatenate([scores for _, scores in groups]))
    booster = library.train({"objective": "rank:ndcg", "eval_metric": asked, "base_score": 0.0, "verbosity": 0,
                             **params}, data, num_boost_round=0)  # fmt: skip
    parts = [part.removeprefix("x-").rpartition(":") for part in booster.eval(data, "x").split("\t")[1:]]
    return {name: float(value) for name, _, value in parts}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("grades", ["binary", "graded"])
def test_xgboost(seed, grades):
    library = need("xgboost")
    truth, run = draw(seed, grades, longest=45)
    rows = arrays(truth, run)
    words = {"ndcg": "ndcg", **({"map": "ap", "pre": "precision"} if grades == "binary" else {})}
    names = {f"{theirs}{cut}": f"{ours}{cut}" for theirs, ours in words.items() for cut in ("", *(f"@{k}" for k in KS))}

    theirs = {ours: {} for ours in names.values()}
    for user, groups in [*((user, [one]) for user, one in rows.items()), (None, list(rows.values()))]:
        for name, value in xgboost_values(library, groups, list(names)).items():
            theirs[names[name]][user] = value
    agree("xgboost", truth, run, theirs, 1e-6)
    linear = xgboost_values(library, list(rows.values()), ["ndcg@3-"], ndcg_exp_gain=False)
    chosen = {"gain": "linear", "negative": "signed", "ndcg_undefined": 0}
    agree("xgboost", truth, run, {"ndcg@3": {None: linear["ndcg@3-"]}}, 1e-6, **chosen)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("grades", ["binary", "graded", "negative"])
def test_catboost(seed, grades):
    library = need("catboost.utils")
    truth, run = draw(seed, grades)
    rows = arrays(truth, run)
    cut = {"NDCG:top={};type=Base": "ndcg", "DCG:top={};type=Base": "dcg", "MAP:top={}": "ap", "MRR:top={}": "rr",
           "PrecisionAt:top={}": "precision", "RecallAt:top={}": "recall"}  # fmt: skip
    names = {theirs.format(k): f"{ours}@{k}" for theirs, ours in cut.items() for k in KS}
    if grades == "binary":
        names |= {f"ERR:top={k}": f"err@{k}" for k in KS}

    def values(groups, name):
        labels = [label for labels, _ in groups for label in labels]
        scores = [score for _, scores in groups for score in scores]
        group = [at for at, (labels, _) in enumerate(groups) for _ in labels]
        return library.eval_metric(labels, scores, name, group_id=group)[0]

    theirs = {ours: {user: values([one], name) for user, one in rows.items()} | {None: values([*rows.values()], name)}
              for name, ours in names.items()}  # fmt: skip
    agree("catboost", truth, run, theirs, 1e-6)
    exp = {f"ndcg@{k}": {None: values([*rows.values()], f"NDCG:top={k};type=Exp;denominator=Position")} for k in KS}
    agree("catboost", truth, run, exp, 1e-6, gain="exp2", discount="rank")
    if grades == "binary":
        every = {user: {item: truth.get(user, {}).get(item, 0) for item in shown} for user, shown in run.items()}
        agree("catboost", every, run, {"auc": {None: values([*rows.values()], "AUC:type=Classic")}}, 1e-6)
        agree("catboost", every, run, {"auc": {None: values([*rows.values()], "QueryAUC")}}, 1e-6, averaging="macro")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("grades", ["binary", "graded", "negative"])
def test_rax(seed, grades):
    library, jax = need("rax"), need("jax.numpy")
    truth, run = draw(seed, grades)
    functions = {"ndcg": library.ndcg_metric, "dcg": library.dcg_metric, "ap": library.ap_metric,
                 "rr": library.mrr_metric, "precision": library.precision_metric,
                 "recall": library.recall_metric}  # fmt: skip
    theirs = {}
    for user, (labels, scores) in arrays(truth, run).items():
        given = jax.array(scores, dtype=jax.float32), jax.array(labels, dtype=jax.float32)
        for name, function in functions.items():
            for k in (None, 3, 10):
                metric = name if k is None else f"{name}@{k}"
                theirs.setdefault(metric, {})[user] = float(function(*given, topn=k))
        if grades == "binary":
            theirs.setdefault("auc", {})[user] = float(library.opa_metric(*given))
    if grades == "negative":  # an ideal list that earns 0 is taken for one that earns 1
        theirs = {metric: values for metric, values in theirs.items() if not metric.startswith("ndcg@")}
    agree("rax", truth, run, {metric: macro(values) for metric, values in theirs.items()}, 1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_rectools(seed):
    pandas, library = need("pandas"), need("rectools.metrics")
    truth, run = draw(seed)
    reco = pandas.DataFrame([(user, item, rank) for user, items in lists(run).items()
                             for rank, item in enumerate(items, 1)],
                            columns=["user_id", "item_id", "rank"])  # fmt: skip
    interactions = pandas.DataFrame([(user, item) for user in truth for item in relevant(truth, user)],
                                    columns=["user_id", "item_id"])  # fmt: skip
    kinds = {"precision": library.Precision, "recall": library.Recall, "f1": library.F1Beta,
             "hit_rate": library.HitRate, "ap": library.MAP, "ndcg": library.NDCG, "rr": library.MRR}  # fmt: skip

    def values(metric):
        found = metric.calc_per_user(reco, interactions)
        return {**dict.fromkeys(truth), **found.to_dict(), None: metric.calc(reco, interactions)}

    agree("rectools", truth, run, {f"{name}@{k}": values(kind(k=k)) for name, kind in kinds.items() for k in KS})
    for k in KS:
        variants = (
            (f"precision@{k}", library.Precision(k=k, r_precision=True), {"precision_divisor": "min(k,relevant)"}),
            (f"ap@{k}", library.MAP(k=k, divide_by_k=True), {"ap_divisor": "k"}),
            (f"ndcg@{k}", library.NDCG(k=k, divide_by_achievable=True), {"ideal": "judged"}),
        )
        for name, metric, choices in variants:
            agree("rectools", truth, run, {name: values(metric)}, **choices)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("grades", ["binary", "graded"])
def test_lenskit(seed, grades):
    library, basic = need("lenskit.metrics.ranking"), need("lenskit.data")
    analysis_of = need("lenskit.metrics").RunAnalysis
    logging.getLogger("lenskit").setLevel(logging.ERROR)
    truth, run = draw(seed, grades)
    run = {user: rows for user, rows in run.items() if relevant(truth, user)}  # AP stops at a user without a test item
    truth = {user: {item: grade for item, grade in rows.items() if grade > 0} for user, rows in truth.items()}
    outputs = basic.ItemListCollection.from_dict(
        {user: basic.ItemList(items, ordered=True) for user, items in lists(run).items()}, key="user_id"
    )
    test = basic.ItemListCollection.from_dict(
        {user: basic.ItemList([*rows], rating=[float(one) for one in rows.values()]) for user, rows in truth.items()},
        key="user_id",
    )
    kinds = {"precision": library.Precision, "recall": library.Recall, "rr": library.RecipRank, "dcg": library.DCG,
             "ap": library.AveragePrecision, "ndcg": library.NDCG, "hit_rate": library.Hit,
             "rbp": library.RBP}  # fmt: skip
    analysis = analysis_of()
    asked = []
    for name, kind in kinds.items():
        for k in KS:
            extra = {"patience": 0.8} if name == "rbp" else {}
            analysis.add_metric(kind(n=k, **extra), label=f"{name}@{k}")
            asked.append(f"{name}@{k}")
    found = analysis.measure(outputs, test)
    users, means = found.list_metrics(), found.list_summary()
    theirs = {name: {user: float(users.loc[user, name]) for user in run} | {None: float(means.loc[name, "mean"])}
              for name in asked}  # fmt: skip
    agree("lenskit", truth, run, theirs)
    graded = analysis_of()
    graded.add_metric(library.NDCG(n=10, gain="rating"), label="ndcg@10")
    value = float(graded.measure(outputs, test).list_summary().loc["ndcg@10", "mean"])
    agree("lenskit", truth, run, {"ndcg@10": {None: value}}, gain="linear")


@pytest.mark.parametrize("seed", SEEDS)
def test_cornac(seed):
    library = need("cornac.metrics")
    truth, run = draw(seed, missing=False, extra=False)
    kinds = {"precision": library.Precision, "recall": library.Recall, "f1": library.FMeasure,
             "hit_rate": library.HitRatio, "ndcg": library.NDCG}  # fmt: skip
    theirs = {f"{name}@{k}": {} for name in kinds for k in KS} | {"ap": {}, "auc": {}, "rr": {}}
    for user, rows in run.items():
        good = np.array(relevant(truth, user))
        if len(good) == 0:
            continue
        ranked, ids, scores = np.array(lists(run)[user]), np.array([*rows]), np.array([*rows.values()])
        for name, kind in kinds.items():
            for k in KS:
                theirs[f"{name}@{k}"][user] = float(kind(k=k).compute(gt_pos=good, pd_rank=ranked))
        if set(good) & set(rows):
            theirs["rr"][user] = float(library.MRR().compute(gt_pos=good, pd_rank=ranked))
        shown = np.array([item for item in good if item in rows])
        if len(shown) and len(shown) < len(rows):
            given = {"item_indices": ids, "pd_scores": scores, "gt_pos": shown}
            theirs["ap"][user] = float(library.MAP().compute(**given))
            theirs["auc"][user] = float(library.AUC().compute(**given))
    agree("cornac", truth, run, theirs)


@pytest.mark.parametrize("seed", SEEDS)
def test_implicit(seed):
    library, scipy = need("implicit.evaluation"), need("scipy.sparse")
    truth, run = draw(seed, missing=False, extra=False, longest=50)
    users = list(truth)
    rows = [at for at, user in enumerate(users) for _ in relevant(truth, user)]
    columns = [item for user in users for item in relevant(truth, user)]
    test = scipy.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(users), 200))
    for k in KS:
        # A model always returns k items: what a short list lacks are items that nobody likes.
        full = {user: [*items, *range(100, 100 + k)][:k] for user, items in lists(run).items()}
        model = SimpleNamespace(
            recommend=lambda ids, likes, full=full, **_: (np.array([full[users[one]] for one in ids], np.int32), None)
        )
        found = library.ranking_metrics_at_k(model, scipy.csr_matrix(test.shape), test, K=k, show_progress=False)
        names = {"precision": "precision", "map": "ap", "ndcg": "ndcg", "auc": "auc"}
        theirs = {f"{ours}@{k}": {None: float(found[name])} for name, ours in names.items()}
        agree("implicit", truth, run, theirs, auc_catalogue=200)
        agree("implicit", truth, full, theirs, auc_catalogue=200)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.filterwarnings("ignore")
def test_spark(spark, seed):
    from pyspark.mllib.evaluation import RankingMetrics

    truth, run = draw(seed)
    shown = lists(run)
    pairs = [([float(one) for one in shown.get(user, [])], [float(one) for one in relevant(truth, user)])
             for user in dict.fromkeys([*truth, *run])]  # fmt: skip
    found = RankingMetrics(spark.sparkContext.parallelize(pairs, 1))
    theirs = {"ap": {None: found.meanAveragePrecision}}
    for k in (1, 3, 10):
        theirs |= {
            f"ap@{k}": {None: found.meanAveragePrecisionAt(k)}, f"ndcg@{k}": {None: found.ndcgAt(k)},
            f"precision@{k}": {None: found.precisionAt(k)}, f"recall@{k}": {None: found.recallAt(k)},
        }  # fmt: skip
    agree("spark", truth, run, theirs)
