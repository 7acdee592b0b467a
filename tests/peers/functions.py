"""Metrics of other libraries as functions that `rs.audit` and the conformance suite can call."""

import logging
from typing import NamedTuple

import numpy as np

from .test_presets import lightgbm_values, need, xgboost_values

_ALL = 10_000  # places, for a library whose metric has a cutoff always


def scikit_learn(name):
    function = getattr(need("sklearn.metrics"), name)
    if name.endswith("dcg_score"):
        return lambda y, scores, k: function([y], [scores], k=k)
    return lambda y, scores: function(y > 0, scores)


def named(name, k):
    return f"{name}@{k}" if k else name


def refuse_negative(truth):
    """trec_eval's code reads memory of others where each grade of a query is negative."""
    if any(items and max(items.values()) < 0 for items in truth.values()):
        raise ValueError("a query with negative grades only, which can end the process")


def pytrec_eval(name, with_cutoff=""):
    library = need("pytrec_eval")

    def mean(truth, run, k):
        refuse_negative(truth)
        measure = with_cutoff.format(k) if k else name
        values = library.RelevanceEvaluator(truth, {measure}).evaluate(run)
        return np.mean([value for by_name in values.values() for value in by_name.values()])

    return mean if with_cutoff else lambda truth, run: mean(truth, run, None)


def ir_measures(name):
    library = need("ir_measures")

    def mean(truth, run, k):
        refuse_negative(truth)
        measure = library.parse_measure(named(name, k))
        return library.calc_aggregate([measure], truth, run)[measure]

    return mean


def ranx(name):
    library = need("ranx")
    return lambda truth, run, k: library.evaluate(
        library.Qrels(truth), library.Run(run), named(name, k), make_comparable=True
    )


def torchmetrics(name):
    torch, function = need("torch"), getattr(need("torchmetrics.functional.retrieval"), f"retrieval_{name}")

    def value(y, scores, k):
        target = torch.tensor(y) if name.endswith("dcg") else torch.tensor(y > 0)
        return function(torch.tensor(scores), target, top_k=k)

    return value


def lightgbm(name):
    library = need("lightgbm")

    def value(y, scores, k):
        at = k or _ALL
        return lightgbm_values(library, [(y.astype(float), scores)], [name], eval_at=str(at))[f"{name}@{at}"]

    return value


def xgboost(name):
    library = need("xgboost")
    return lambda y, scores, k: xgboost_values(library, [(y, scores)], [named(name, k)])[named(name, k)]


def catboost(name, options=""):
    library = need("catboost.utils")

    def value(y, scores, k):
        if np.ndim(y) != 1 or len(y) == 0:
            raise ValueError("arrays of one dimension that have an item; others end the process")
        return library.eval_metric(y, scores, f"{name}:top={k or -1}{options}", group_id=np.zeros(len(y), int))[0]

    return value


def rectools(name):
    pandas, library = need("pandas"), need("rectools.metrics")

    def value(ranked, relevant, k):
        reco = pandas.DataFrame({"user_id": 1, "item_id": ranked, "rank": range(1, len(ranked) + 1)})
        metric = getattr(library, name)(k=k)
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


def lenskit(name):
    metrics, analysis_of, data = (
        need("lenskit.metrics.ranking"),
        need("lenskit.metrics").RunAnalysis,
        need("lenskit.data"),
    )
    logging.getLogger("lenskit").setLevel(logging.ERROR)

    def value(ranked, relevant, k):
        lists = (data.ItemList(ranked, ordered=True), data.ItemList(list(relevant)))
        output, test = (data.ItemListCollection.from_dict({1: items}, key="user_id") for items in lists)
        analysis = analysis_of()
        analysis.add_metric(getattr(metrics, name)(n=k), label="it")
        return analysis.measure(output, test).list_summary().loc["it", "mean"]

    return value


def cornac(name):
    library = need("cornac.metrics")
    return lambda ranked, relevant, k: getattr(library, name)(k=k or -1).compute(
        gt_pos=np.array(list(relevant)), pd_rank=np.array(ranked)
    )


def llamaindex(name):
    """It knows no cutoff: the list is cut before the call."""
    metric = getattr(need("llama_index.core.evaluation.retrieval.metrics"), name)()
    return lambda ranked, relevant, k: metric.compute(expected_ids=relevant, retrieved_ids=ranked[:k]).score


def haystack(name):
    """It knows no cutoff: the list is cut before the call."""
    evaluator, document = getattr(need("haystack.components.evaluators"), name)(), need("haystack").Document

    def value(ranked, relevant, k):
        truth = [document(content=str(item), score=1.0) for item in relevant]
        run = [document(content=str(item)) for item in ranked[:k]]
        return evaluator.run(ground_truth_documents=[truth], retrieved_documents=[run])["score"]

    return value


def mlflow(name):
    library, pandas = need("mlflow.metrics"), need("pandas")
    return lambda ranked, relevant, k: getattr(library, f"{name}_at_k")(k).eval_fn(
        pandas.Series([ranked]), pandas.Series([list(relevant)])
    ).aggregate_results["mean"]  # fmt: skip


def sentence_transformers(name):
    library = need("sentence_transformers.evaluation")

    def mean(truth, run, k):
        relevant = {query: {item for item, grade in items.items() if grade > 0} for query, items in truth.items()}
        kept = [query for query in relevant if relevant[query]]
        cuts = ("mrr_at_k", "ndcg_at_k", "accuracy_at_k", "precision_recall_at_k", "map_at_k")
        corpus = dict.fromkeys((item for items in [*truth.values(), *run.values()] for item in items), "")
        evaluator = library.InformationRetrievalEvaluator(
            dict.fromkeys(kept, ""), corpus, relevant, **{name: [k] for name in cuts}
        )
        shown = [[{"corpus_id": item, "score": score} for item, score in run.get(query, {}).items()] for query in kept]
        return evaluator.compute_metrics(shown)[f"{name}@k"][k]

    return mean


def rax(name):
    library = need("rax")
    return lambda y, scores, k: getattr(library, f"{name}_metric")(np.float32(scores), np.float32(y), topn=k)


def spark(name):
    """Lists of one query, in the session that is there."""
    session = need("pyspark.sql").SparkSession.getActiveSession()
    ranking = need("pyspark.mllib.evaluation").RankingMetrics

    def value(ranked, relevant, k):
        numbers = {item: float(at) for at, item in enumerate(dict.fromkeys([*ranked, *relevant]))}
        row = [numbers[item] for item in ranked], [numbers[item] for item in relevant]
        return getattr(ranking(session.sparkContext.parallelize([row], 1)), name)(k)

    return value


class Peer(NamedTuple):
    """A library's function: how it is made, its metric, calling style and convention, and whether it takes a cutoff."""

    make: object
    arguments: tuple
    metric: str
    calling: str
    convention: str
    k: int | None = 3

    @property
    def tool(self):
        return self.make.__name__.replace("_", "-") if self.make is not pytrec_eval else "pytrec_eval"

    def function(self):
        return self.make(*self.arguments)


def _peers():
    """The rows by calling style and convention: for each library its metrics, by their names here."""
    lists, arrays, dicts = "lists", "arrays", "dicts"
    for make, calling, convention, names, k in (
        (scikit_learn, arrays, "scikit-learn", {"ndcg": "ndcg_score", "dcg": "dcg_score"}, 3),
        (scikit_learn, arrays, "scikit-learn", {"ap": "average_precision_score", "auc": "roc_auc_score"}, None),
        (pytrec_eval, dicts, "trec_eval-9", {"ndcg": ("ndcg", "ndcg_cut_{}"), "ap": ("map", "map_cut_{}")}, 3),
        (pytrec_eval, dicts, "trec_eval-9", {"rr": "recip_rank"}, None),
        (ir_measures, dicts, "ir_measures", {"ndcg": "nDCG", "rr": "RR", "ap": "AP"}, 3),
        (ranx, dicts, "ranx", {"ndcg": "ndcg", "ap": "map", "rr": "mrr", "recall": "recall"}, 3),
        (torchmetrics, arrays, "torchmetrics", {"ndcg": "normalized_dcg"}, 3),
        (torchmetrics, arrays, "torchmetrics+defects", {"ap": "average_precision", "rr": "reciprocal_rank"}, 3),
        (lightgbm, arrays, "lightgbm", {"ndcg": "ndcg", "ap": "map"}, 3),
        (xgboost, arrays, "xgboost", {"ndcg": "ndcg"}, 3),
        (catboost, arrays, "catboost", {"ndcg": ("NDCG", ";type=Base"), "ap": "MAP"}, 3),
        (rectools, lists, "rectools", {"ndcg": "NDCG", "precision": "Precision"}, 3),
        (implicit, lists, "implicit", {"precision": "precision", "ndcg": "ndcg", "ap": "map"}, 3),
        (lenskit, lists, "lenskit", {"ndcg": "NDCG", "ap": "AveragePrecision", "rr": "RecipRank"}, 3),
        (cornac, lists, "cornac", {"ndcg": "NDCG", "precision": "Precision", "recall": "Recall"}, 3),
        (llamaindex, lists, "llamaindex", {"ndcg": "NDCG", "ap": "AveragePrecision", "rr": "MRR"}, 3),
        (haystack, lists, "haystack", {"ap": "DocumentMAPEvaluator", "rr": "DocumentMRREvaluator"}, 3),
        (mlflow, lists, "mlflow", {"ndcg": "ndcg", "precision": "precision", "recall": "recall"}, 3),
        (sentence_transformers, dicts, "sentence-transformers", {"ndcg": "ndcg", "ap": "map", "rr": "mrr"}, 3),
        (rax, arrays, "rax", {"ndcg": "ndcg", "ap": "ap", "rr": "mrr"}, 3),
        (spark, lists, "spark", {"ndcg": "ndcgAt", "precision": "precisionAt"}, 3),
    ):
        for metric, arguments in names.items():
            arguments = (arguments,) if isinstance(arguments, str) else arguments
            peer = Peer(make, arguments, metric, calling, convention, k)
            yield f"{peer.tool} {metric}", peer


PEERS = dict(_peers())
