"""`rs.audit` names real functions of other libraries."""

import numpy as np
import pytest

import rankstone as rs

from .test_presets import lightgbm_values, need

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]


def scikit_learn(name, **options):
    function = getattr(need("sklearn.metrics"), name)
    return lambda y, scores, k: function(y, scores, k=k, **options)


def binary(name, **options):
    function = getattr(need("sklearn.metrics"), name)
    return lambda y, scores: function(y > 0, scores, **options)


def pytrec_eval(measure):
    library = need("pytrec_eval")

    def mean(truth, run):
        values = library.RelevanceEvaluator(truth, {measure}).evaluate(run)
        return np.mean([value for by_name in values.values() for value in by_name.values()])

    return mean


def ir_measures(measure):
    library = need("ir_measures")
    return lambda truth, run: library.calc_aggregate([library.parse_measure(measure)], truth, run)[
        library.parse_measure(measure)
    ]


def ranx(metric):
    library = need("ranx")
    return lambda truth, run: library.evaluate(
        library.Qrels(truth), library.Run(run), metric, make_comparable=True
    )  # fmt: skip


def torchmetrics(name, cut=True):
    torch, library = need("torch"), need("torchmetrics.functional.retrieval")
    function = getattr(library, name)

    def value(y, scores, k):
        target = torch.tensor(y) if name.endswith("dcg") else torch.tensor(y > 0)
        return function(torch.tensor(scores), target, top_k=k)

    return value if cut else lambda y, scores: function(torch.tensor(scores), torch.tensor(y > 0))


def lightgbm(metric):
    library = need("lightgbm")

    def value(y, scores):
        return lightgbm_values(library, [(y.astype(float), scores)], [metric], eval_at="3")[f"{metric}@3"]

    return value


def rectools(name, **options):
    pandas, library = need("pandas"), need("rectools.metrics")

    def value(ranked, relevant, k):
        if len({*ranked}) < len(ranked) or len({*relevant}) < len(relevant):
            raise ValueError("its join multiplies items that are repeated")
        reco = pandas.DataFrame({"user_id": 1, "item_id": ranked, "rank": range(1, len(ranked) + 1)})
        metric = getattr(library, name)(k=k, **options)
        return metric.calc(reco, pandas.DataFrame({"user_id": 1, "item_id": list(relevant)}))

    return value


def implicit(name):
    library, scipy = need("implicit.evaluation"), need("scipy.sparse")

    class Model:
        def __init__(self, items):
            self.items = items

        def recommend(self, ids, likes, **_):
            return np.array([self.items], np.int32), None

    def value(ranked, relevant, k):
        numbers = {item: at for at, item in enumerate(dict.fromkeys([*relevant, *ranked]))}
        items = [*(numbers[item] for item in ranked), *range(100, 100 + k)][:k]
        columns = [numbers[item] for item in dict.fromkeys(relevant)]
        test = scipy.csr_matrix((np.ones(len(columns)), ([0] * len(columns), columns)), shape=(1, 200))
        found = library.ranking_metrics_at_k(Model(items), scipy.csr_matrix((1, 200)), test, K=k, show_progress=False)
        return found[name]

    return value


def llamaindex(name):
    metric = getattr(need("llama_index.core.evaluation.retrieval.metrics"), name)()
    return lambda ranked, relevant: metric.compute(expected_ids=relevant, retrieved_ids=ranked).score


def haystack(name):
    evaluator, document = getattr(need("haystack.components.evaluators"), name)(), need("haystack").Document

    def value(ranked, relevant):
        truth = [document(content=str(item), score=1.0) for item in relevant]
        run = [document(content=str(item)) for item in ranked]
        return evaluator.run(ground_truth_documents=[truth], retrieved_documents=[run])["score"]

    return value


def rax(name):
    library = need("rax")
    return lambda y, scores, k: getattr(library, name)(np.float32(scores), np.float32(y), topn=k)


# By peer: how the function is made, the metric, the calling style, and the convention.
PEERS = {
    "scikit-learn ndcg": (lambda: scikit_learn("ndcg_score"), "ndcg@3", "arrays", "scikit-learn"),
    "scikit-learn dcg": (lambda: scikit_learn("dcg_score"), "dcg@3", "arrays", "scikit-learn"),
    "scikit-learn ap": (lambda: binary("average_precision_score"), "ap", "arrays", "scikit-learn"),
    "scikit-learn auc": (lambda: binary("roc_auc_score"), "auc", "arrays", "scikit-learn"),
    "pytrec_eval ndcg": (lambda: pytrec_eval("ndcg_cut_3"), "ndcg@3", "dicts", "trec_eval-9"),
    "pytrec_eval ap": (lambda: pytrec_eval("map"), "ap", "dicts", "trec_eval-9"),
    "pytrec_eval rr": (lambda: pytrec_eval("recip_rank"), "rr", "dicts", "trec_eval-9"),
    "ir_measures ndcg": (lambda: ir_measures("nDCG@3"), "ndcg@3", "dicts", "ir_measures"),
    "ir_measures rr": (lambda: ir_measures("RR@3"), "rr@3", "dicts", "ir_measures"),
    "ir_measures ap": (lambda: ir_measures("AP"), "ap", "dicts", "ir_measures"),
    "ranx ndcg": (lambda: ranx("ndcg@3"), "ndcg@3", "dicts", "ranx"),
    "ranx ap": (lambda: ranx("map@3"), "ap@3", "dicts", "ranx"),
    "ranx rr": (lambda: ranx("mrr@3"), "rr@3", "dicts", "ranx"),
    "torchmetrics ndcg": (lambda: torchmetrics("retrieval_normalized_dcg"), "ndcg@3", "arrays", "torchmetrics"),
    "torchmetrics ap": (lambda: torchmetrics("retrieval_average_precision"), "ap@3", "arrays", "torchmetrics+defects"),
    "torchmetrics rr": (lambda: torchmetrics("retrieval_reciprocal_rank"), "rr@3", "arrays", "torchmetrics+defects"),
    "lightgbm ndcg": (lambda: lightgbm("ndcg"), "ndcg@3", "arrays", "lightgbm"),
    "lightgbm map": (lambda: lightgbm("map"), "ap@3", "arrays", "lightgbm"),
    "rectools ndcg": (lambda: rectools("NDCG"), "ndcg@3", "lists", "rectools"),
    "rectools map": (lambda: rectools("MAP"), "ap@3", "lists", "rectools"),
    "implicit precision": (lambda: implicit("precision"), "precision@3", "lists", "implicit"),
    "implicit ndcg": (lambda: implicit("ndcg"), "ndcg@3", "lists", "implicit"),
    "implicit map": (lambda: implicit("map"), "ap@3", "lists", "implicit"),
    "llamaindex ndcg": (lambda: llamaindex("NDCG"), "ndcg", "lists", "llamaindex"),
    "llamaindex ap": (lambda: llamaindex("AveragePrecision"), "ap", "lists", "llamaindex"),
    "haystack map": (lambda: haystack("DocumentMAPEvaluator"), "ap", "lists", "haystack"),
    "haystack mrr": (lambda: haystack("DocumentMRREvaluator"), "rr", "lists", "haystack"),
    "rax ndcg": (lambda: rax("ndcg_metric"), "ndcg@3", "arrays", "rax"),
}  # fmt: skip


@pytest.mark.parametrize("name", PEERS)
def test_functions_of_libraries_are_named(name):
    make, metric, calling, convention = PEERS[name]
    report = rs.audit(make(), metric, calling)
    own = {"ranx": "grades cut to integers", "ir_measures": "empty_truth='count'"}.get(convention, "")
    named = (report.convention, *report.equivalent)
    assert convention in named or (report.nearest.startswith(convention) and own in report.changes), report
    assert report.agreement == 1
