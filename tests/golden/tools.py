"""rankstone's answers to the cases of `tools.json`, by the conventions of search and RAG tools.

`compute` reads a case's tool, call, metric, k, truth, run and options. What a tool does to its input before it counts
(a set of relevant ids, lists cut at k) is done here; every number is rankstone's.
"""

import json
import math
import pathlib
import re
import tempfile
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pyarrow as pa

import rankstone as rs

from ..asking import on_metric


def compute(case):
    """The answer to a case: its mean and the values of its queries, None where the tool has none."""
    if case["tool"] not in TOOLS:
        raise NotImplementedError(f"{case['tool']}: {case['metric']}")
    return TOOLS[case["tool"]](case)


# -- what is handed over -----------------------------------------------------------------------------------------


def relevant(truth):
    """The items with a grade above 0, as a set of ids is handed over."""
    return {
        query: {item: 1 for item, grade in grades.items() if grade > 0} if isinstance(grades, dict) else grades
        for query, grades in truth.items()
    }


def ranked(run, k=None):
    """The lists in the order given, without their scores."""
    return {query: [row[0] if isinstance(row, list) else row for row in rows][:k] for query, rows in run.items()}


def scored(run):
    """Lists with scores, in which an item may be repeated."""
    items, scores = (
        pa.array([[row[at] for row in rows] for rows in run.values()], pa.list_(kind))
        for at, kind in ((0, pa.string()), (1, pa.float64()))
    )
    return rs.lists(items, query=pa.array(run, pa.string()), scores=scores)


def at(metric, k):
    return metric if k is None else f"{metric}@{k}"


def word(case):
    """The metric's name, without its cutoff."""
    return re.sub(r"(@|_at_)(\d+|k)$", "", case["metric"])


def answer(convention, metric, truth, run, skipped=math.nan, **choices):
    """The mean and the values of the queries; skipped: the value of those without one, None leaves them out."""
    metric, choices = on_metric(metric, choices)
    result = rs.evaluate(truth, run, metric, convention=convention, **choices)
    (label,) = result
    values = dict(zip(result.queries, result.per_query[label].tolist(), strict=True))
    return {
        "value": result[label],
        "per_query": {
            query: skipped if math.isnan(value) else value
            for query, value in values.items()
            if skipped is not None or not math.isnan(value)
        },
    }


def mean_only(answer):
    return {**answer, "per_query": None}


# -- retrieval models ----------------------------------------------------------------------------------------------


def sentence_transformers(case):
    name, k = word(case), case["k"]
    if "rerank" in name:
        return _reranking(case, name, k)
    truth = relevant(case["truth"])
    return answer(case["tool"], case["metric"], truth, scored(case["run"]), None)


def _reranking(case, name, k):
    """Positives and negatives among the returned documents; samples without either are dropped."""
    truth, run = relevant(case["truth"]), case["run"]
    positives = {query: sum(row[0] in truth.get(query, {}) for row in rows) for query, rows in run.items()}
    run = {query: rows for query, rows in run.items() if 0 < positives[query] < len(rows)}
    truth = {query: truth[query] for query in run}

    def of(metric, **choices):
        if not run:
            return {"value": math.nan, "per_query": None}
        return answer("sentence-transformers-reranking", metric, truth, scored(run), **choices)

    if name == "ce_rerank":
        values = {one: of(one)["value"] for one in (f"mrr@{k}", f"ndcg@{k}", "map")}
        scores = np.array([score for _, score in case["run"]["q1"]])
        order = [case["run"]["q1"][at][0] for at in np.argsort(scores)[::-1]]  # of equal scores: numpy's own
        values[f"mrr@{k}"] = rs.rr(order, truth=list(truth["q1"]), k=k)
        return {"value": None, "per_query": values}
    return mean_only(of(at(name.removeprefix("rerank_"), k if name != "rerank_map" else None)))


def mteb(case):
    name, k, truth = word(case), case["k"], case["truth"]
    if name.startswith("nauc_"):
        equal, metric = "mean" if case["tool"] == "mteb" else "order", re.sub(r"^nauc_|_[a-z0-9]+$", "", case["metric"])
        curves = rs.risk_coverage(truth, scored(case["run"]), metric, convention=case["tool"], equal=equal)
        return {"value": curves[case["metric"]], "per_query": None}
    given = {"score_precision": "float64", "ties": "item_desc" if case["tool"] == "mteb" else "input"}
    if name == "Accuracy":
        hits = answer("mteb+defects", f"Accuracy@{k}", truth, scored(case["run"]), None, ties=given["ties"])
        return _listed(case, hits)
    if name == "R_cap":
        given |= {"threshold": ">0", "no_relevant": "nan"}
        return _listed(case, answer(case["tool"], f"R_cap@{k}", truth, scored(case["run"]), **given))
    if name == "Hole":
        pool = pooled(truth, case["run"])
        return _listed(case, answer(case["tool"], f"Hole@{k}", pool, scored(case["run"]), **given))
    metric = "recall@1" if name == "accuracy" else case["metric"]
    return answer(case["tool"], metric, truth, scored(case["run"]), None)


def mteb_nauc(case):
    return {"value": rs.statistics.nauc(case["run"]["confidence"], case["run"]["values"]), "per_query": None}


def _listed(case, result):
    """A list in the order of the run's queries."""
    values = [result["per_query"][query] for query in case["run"] if query in result["per_query"]]
    return {"value": None, "per_query": {"list": [None if math.isnan(value) else value for value in values]}}


def pooled(truth, queries):
    """Every item that is judged for any query, as the truth of each of some queries."""
    items = {item: 0 for grades in truth.values() for item in grades}
    return dict.fromkeys(queries, items)


def beir(case):
    name, truth, run = word(case), case["truth"], case["run"]
    if "evaluate_custom" not in case["call"]:  # documents with the id of the query are removed first
        run = {query: [row for row in rows if row[0] != query] for query, rows in run.items()}
        return mean_only(answer("beir", case["metric"], truth, scored(run)))
    choices = {}
    if name == "R_cap":
        choices = {"ties": "input", "score_precision": "float64", "threshold": ">0", "missing": "zero"}
        choices |= {"empty_truth": "count", "no_relevant": "error"}
    truth = pooled(truth, truth) if name == "Hole" else truth
    return mean_only(answer("beir", case["metric"], truth, scored(run), **choices))


def vespa(case):
    if case["options"].get("graded"):
        return answer("vespa", case["metric"], case["truth"], ranked(case["run"]), gain="linear", no_relevant=None)
    return answer("vespa", case["metric"], relevant(case["truth"]), ranked(case["run"]), None)


def hf_evaluate(case):
    metric, run = case["metric"], case["run"]
    if metric == "num_q":
        return {"value": float(len(run)), "per_query": None}
    # nDCG goes by the order of the rows, whatever the scores.
    return mean_only(answer("hf-evaluate", metric, case["truth"], (ranked if "NDCG" in metric else scored)(run)))


# -- RAG -----------------------------------------------------------------------------------------------------------


def mlflow(case):
    if isinstance(case["truth"], str):
        raise NotImplementedError("mlflow: a case that names a file")
    return answer("mlflow", case["metric"], relevant(case["truth"]), ranked(case["run"]))


LLAMA_INDEX = {
    "hit_rate": "hit_rate",
    "hit_rate(granular)": "recall(duplicates='count', truth_duplicates='count')",
    "mrr": "rr",
    "mrr(granular)": "rr(terms='mean')",
    "precision": "precision",
    "recall": "recall",
    "ap": "ap",
    "ndcg": "ndcg",
    "ndcg(exponential)": "ndcg",
}


def llama_index(case):
    truth, run = relevant(case["truth"]), ranked(case["run"], case["k"])
    try:
        return answer("llamaindex", LLAMA_INDEX[case["metric"]], truth, run, empty_list="error", no_relevant="error")
    except rs.errors.RankstoneError:
        return {"value": None, "per_query": None}


def haystack(case):
    name = case["metric"]
    metric = {"recall(single_hit)": "hit_rate", "recall(multi_hit)": "recall", "ndcg(binary)": "ndcg"}.get(name, name)
    choices = {"gain": "binary"} if name == "ndcg(binary)" else {}
    truth = case["truth"] if name == "ndcg" else relevant(case["truth"])
    return answer("haystack", metric, truth, ranked(case["run"]), **choices)


def ragas(case):
    if case["metric"] == "context_precision":
        labels = case["run"]["verdicts"]
        return {"value": rs.ap(labels=labels, convention="ragas"), "per_query": None}
    truth, run = (
        {query: [str(item) for item in rows] for query, rows in side.items()}
        for side in (relevant(case["truth"]), case["run"])
    )
    return answer("ragas", case["metric"], truth, run)


PHOENIX = {"ndcg": "ndcg", "precision": "precision", "reciprocal_rank": "rr", "hit": "hit_rate"}


def phoenix(case):
    metric, k = PHOENIX[case["metric"]], case["k"]
    if case["truth"] is not None:
        return answer("phoenix", at(metric, k), case["truth"], ranked(case["run"]))
    labels = [float(label) for label in case["run"]["eval_scores"]]
    return {"value": _of_labels(metric, labels, k), "per_query": None}


def _of_labels(metric, labels, k):
    """Labels that are not finite are an error here; Phoenix' number is NaN, unless labels that it reads decide it."""
    finite = [label for label in labels if math.isfinite(label)]
    if len(finite) < len(labels) and metric == "precision" and k is not None:
        labels = labels[:k]
    before = next((at for at, label in enumerate(labels) if not math.isfinite(label)), len(labels))
    decided = before == len(labels)
    if not decided and metric in ("rr", "hit_rate"):
        labels = labels[:before] if metric == "rr" else finite
        decided = any(labels)
    return float(rs.metrics[metric](labels=labels, k=k, convention="phoenix")) if decided else math.nan


TRULENS = {"ndcg_at_k": "ndcg", "precision_at_k": "precision", "recall_at_k": "recall", "mrr": "rr",
           "ir_hit_rate": "hit_rate"}  # fmt: skip


def trulens(case):
    metric, k, run = TRULENS[case["metric"]], case["k"] or None, case["run"]
    if case["options"].get("relevance_scores"):
        run = {query: sorted(rows, key=lambda row: -row[1]) for query, rows in run.items()}
        if metric in ("precision", "recall") and k:  # all that score as high as the k-th best
            last = {query: rows[min(k, len(rows)) - 1][1] if rows else 0 for query, rows in run.items()}
            run = {query: [row for row in rows if row[1] >= last[query]] for query, rows in run.items()}
            k = None
    return answer("trulens", at(metric, None if metric == "rr" else k), case["truth"], ranked(run))


# -- search engines ------------------------------------------------------------------------------------------------


def elasticsearch(case):
    options, k, truth, run = case["options"], case["k"], case["truth"], ranked(case["run"], case["k"])
    name, unknown = case["metric"], case["options"].get("unknown_doc_rating")
    metric = {"expected_reciprocal_rank": "err", "mean_reciprocal_rank": "rr"}.get(name, name)
    choices = {}
    if "relevant_rating_threshold" in options:
        choices["threshold"] = options["relevant_rating_threshold"]
    if options.get("ignore_unlabeled"):
        choices["divisor"] = "judged"
    if metric == "err":
        choices["max_grade"] = options["maximum_relevance"]
        if unknown is not None:  # they get a rating
            truth = {query: {**dict.fromkeys(run.get(query, ()), unknown), **truth[query]} for query in truth}
    elif unknown is not None:
        choices["unjudged_gain"] = 2.0**unknown - 1
    return answer("elasticsearch", at(metric, k), truth, run, **choices)


def quepid(case):
    name, k, server = word(case), case["k"], case["tool"] == "quepid-server"
    if server and name == "err":  # it fails there
        return {"value": None, "per_query": dict.fromkeys(case["truth"])}
    choices = {"ideal_depth": "k"} if name == "ndcg_cut" else {}
    if name == "err":
        choices["max_grade"] = case["options"]["scale_max"]
    convention = "quepid-server" if server and name != "ndcg_cut" else f"{case['tool']}+defects"
    return answer(convention, at(name.removesuffix("_cut"), k), case["truth"], ranked(case["run"]), **choices)


def opensearch(case):
    name, k = word(case), case["k"]
    metric = "judged" if name == "Coverage" else at(name, k)
    return answer(case["tool"], metric, case["truth"], ranked(case["run"]))


# -- experiments ---------------------------------------------------------------------------------------------------


def growthbook(case):
    options, of = case["options"], rs.statistics
    confidence = 1 - options["alpha"]
    if case["metric"].startswith("halfwidth"):
        n, tuning = options["n"], options["tuning"]
        error = options["sd"] / math.sqrt(n)
        sequence = of.confidence_sequence(0.0, error, n, confidence=confidence, tuning=tuning)
        ends = sequence.bounds if case["metric"] == "halfwidth_one_sided" else sequence.interval
        return {"value": float(ends(confidence)[1]), "per_query": None}
    first, second = (
        of.moments(n=arm["n"], total=arm["sum"], squares=arm["sum_squares"]) for arm in case["run"].values()
    )
    fit, lift = of.welch(first, second), of.relative(first, second)
    if options["difference_type"] == "relative":
        fit = fit._replace(mean=np.asarray(lift.mean), error=np.asarray(lift.error))
    if case["metric"] == "sequential":
        fit = of.confidence_sequence(fit.mean, fit.error, lift.n, confidence=confidence, tuning=options["tuning"])
    low, high = map(float, fit.interval(confidence))
    return {"value": float(fit.mean), "per_query": {"low": low, "high": high, "p": float(fit.p())}}


# -- interleaving ----------------------------------------------------------------------------------------------------
def interleaving(case):
    method, what = case["metric"].split(".")
    if what == "distribution":
        lists = [{"q": case["run"][name]} for name in ("A", "B")]
        outcomes = rs.interleave(*lists, method=method, k=case["k"])["q"].distribution()
        teams = {outcome: {"teams": list(outcome.teams)} if outcome.teams[0] else {} for outcome in outcomes}
        listed = [{"ranking": list(one.items), **teams[one], "probability": one.probability} for one in outcomes]
        return {"value": None, "per_query": None, "distribution": sorted(listed, key=str)}
    options = case["options"]
    ranking, teams = tuple(options["ranking"]), tuple(options.get("teams", ()))
    shown = rs.typing.InterleavedList(ranking, teams, method, case["run"], case["k"])
    credit = shown.credit([ranking[at] for at in options["clicks"]])
    if method == "probabilistic":  # the tool's is not conditioned on the list that is shown
        credit = {name: value * shown.likelihood for name, value in credit.items()}
    return {"value": None, "per_query": credit}


# -- without a truth ---------------------------------------------------------------------------------------------------


def opensearch_pairwise(case):
    first, second = case["run"]["A"], case["run"]["B"]
    value = {
        "jaccard": rs.statistics.jaccard,
        "rbo50": lambda a, b: rs.statistics.list_overlap(a, b, 0.5),
        "rbo90": lambda a, b: rs.statistics.list_overlap(a, b, 0.9),
        "frequencyWeighted": rs.statistics.frequency_overlap,
    }[case["metric"]](first, second)
    return {"value": math.floor(100 * value + 0.5) / 100, "per_query": None}


def opensearch_coec(case):
    events, values = case["run"], {}
    if isinstance(events, str):
        raise NotImplementedError("opensearch-coec: a case that names a file")
    columns = zip(
        *(((row["query"], row["item"]), row["rank"], row["action"] == "click") for row in events), strict=True
    )
    coec = rs.statistics.clicks_over_expected(*columns, case["options"]["max_rank"])
    for (query, item), value in coec.items():
        rounded = Decimal(repr(value)).quantize(Decimal("0.001"), ROUND_HALF_UP)  # Java's %.3f
        values.setdefault(query, {})[item] = float(rounded)
    return {"value": None, "per_query": values}


# -- judges --------------------------------------------------------------------------------------------------------


def judgements(case, complete):
    """A row per query and item, a column per judge; complete: those that all judges have judged."""
    judges = case["truth"].values()
    units = dict.fromkeys((query, item) for judge in judges for query, items in judge.items() for item in items)
    grades = [[judge.get(query, {}).get(item) for judge in judges] for query, item in units]
    rows = np.array([[math.nan if grade is None else grade for grade in row] for row in grades], dtype=float)
    return rows[~np.isnan(rows).any(axis=1)] if complete else rows


def coefficient(grades, name, weights, **options):
    return rs.statistics.agreement_coefficient(grades, name, weights=weights, **options)


BY_PLACE = {None: None, "linear": "linear_places", "quadratic": "quadratic_places"}


def kappa_of_scikit_learn(case):
    grades, options = judgements(case, complete=True), case["options"]
    if "threshold" in options:
        grades = (grades >= options["threshold"]).astype(float)
    weights = BY_PLACE[options.get("weights")]
    found = coefficient(grades, "cohen", weights, categories=options.get("labels"))
    return {"value": found.value, "per_query": None}


def kappa_of_statsmodels(case):
    grades, options = judgements(case, complete=True), case["options"]
    if "method" in options:
        name = {"fleiss": "fleiss", "rand": "brennan_prediger"}[options["method"]]
        return {"value": coefficient(grades, name, None).value, "per_query": None}
    found = coefficient(grades, "cohen", BY_PLACE[options["wt"]])
    values = {"se": found.error, "low": found.low, "high": found.high, "se0": found.null_error}
    if found.null_error == 0 and options["wt"] is None:  # where a judge has one grade only, theirs is a rounding error
        first, second = (
            np.array([(grades[:, judge] == grade).mean() for grade in np.unique(grades)]) for judge in (0, 1)
        )
        chance = (first * second).sum()
        values["se0"] = math.nan if chance + chance**2 < (first * second * (first + second)).sum() else 0.0
    return {"value": found.value, "per_query": values}


def alpha_of_krippendorff(case):
    value = coefficient(judgements(case, complete=False), "krippendorff", case["options"]["level"]).value
    return {"value": value, "per_query": None}


def irr_cac(case):
    name, options = case["metric"].partition("(")[0], case["options"]
    weights = {"ordinal": "ordinal_places"}.get(options["weights"], options["weights"])
    name = {"AC1": "gwet", "AC2": "gwet"}.get(name, name)
    found = coefficient(judgements(case, complete=False), name, weights, categories=options["categories"])
    values = {"se": found.error, "low": found.low, "high": found.high, "p": found.p}
    if name == "brennan_prediger":  # of which it has the one-sided p
        values["p"] /= 2
    return {"value": found.value, "per_query": {**values, "agreement": found.agreement, "chance": found.chance}}


def ppi(case):
    values, options = case["run"], case["options"]
    weight = None if options["lam"] == "plug-in" else options["lam"]
    found = rs.statistics.prediction_powered(
        values["human"], values["machine_on_the_same"], values["machine_on_the_others"],
        weight=weight, confidence=1 - options["alpha"], method="normal",
    )  # fmt: skip
    return {"value": found.value, "per_query": {"low": found.low, "high": found.high}}


NUGGET_SCORES = {f"{name}_score": name for name in ("strict_vital", "vital", "strict_all", "all")}


def nuggetizer(case):
    """Through a file as the tool writes it."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "assignments.jsonl")
        path.write_text("\n".join(json.dumps({"query": "", **entry}) for entry in case["run"]))
        result = rs.evaluate(path, path, f"nuggets(score={NUGGET_SCORES[case['metric']]!r})")
    (label,) = result
    return {"value": result[label],
            "per_query": dict(zip(result.queries, result.per_query[label].tolist(), strict=True))}  # fmt: skip


TOOLS = {
    "growthbook": growthbook,
    "nuggetizer": nuggetizer,
    "scikit-learn-kappa": kappa_of_scikit_learn,
    "statsmodels-kappa": kappa_of_statsmodels,
    "krippendorff": alpha_of_krippendorff,
    "irrCAC": irr_cac,
    "ppi_py": ppi,
    "sentence-transformers": sentence_transformers,
    "sentence-transformers-5": sentence_transformers,
    "mteb": mteb,
    "mteb-before-2.18.19": mteb,
    "beir": beir,
    "vespa": vespa,
    "hf-evaluate-trec_eval": hf_evaluate,
    "mlflow": mlflow,
    "llama_index": llama_index,
    "haystack": haystack,
    "ragas": ragas,
    "phoenix": phoenix,
    "trulens": trulens,
    "elasticsearch": elasticsearch,
    "quepid": quepid,
    "quepid-server": quepid,
    "opensearch": opensearch,
    "opensearch-3.1": opensearch,
    "mpkato-interleaving": interleaving,
    "mteb-nauc": mteb_nauc,
    "opensearch-pairwise": opensearch_pairwise,
    "opensearch-coec": opensearch_coec,
}
