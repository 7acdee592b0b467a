"""Answers to the cases of what was shown: coverage, novelty, diversity, fairness. Each is a call of `rs.evaluate`."""

import math
import re

import rankstone as rs

from ..asking import on_metric, on_metrics

NAN = float("nan")
NO_EMPTY = "LensKit cannot join the ids of an empty list; ours shows nothing"
SEEN = "recommenders refuses lists with items of the history; ours measures them"
RAGGED = "recmetrics cannot compare lists of different lengths; ours divides by each one's own"
DEVIATIONS = {
    "s-evidently-ties-gini_scores@2": ("cut at the exact mean rank here, at its whole part elsewhere", {"value": 0.3}),
    "s-fairranktune-one_group-arp": ("one group has no pair with another: nothing to compare", {"value": NAN}),
    "s-lenskit-empty_list-gini@3": (NO_EMPTY, {"value": 11 / 24}),
    "s-lenskit-empty_list-exposure_gini@3": (NO_EMPTY, {"value": 0.4980563654033042}),
    "s-lenskit-empty_list-exposure_gini_log@3": (NO_EMPTY, {"value": 0.5226289292344096}),
    "s-recommenders-seen-coverage@4": (SEEN, {"value": 1.0}),
    "s-recommenders-seen-entropy@4": (SEEN, {"value": 2.396240625180289}),
    "s-recommenders-seen-novelty@4": (SEEN, {"value": 1.8537593748197108}),
    "s-recommenders-seen-diversity_cooccurrence@4": (SEEN, {"value": 0.8396249252251039}),
    "s-recommenders-seen-serendipity_cooccurrence@4": (SEEN, {"value": 0.7547186939188278}),
    "s-recommenders-seen-diversity_features@4": (SEEN, {"value": 0.523312382501997}),
    "s-replay-empty_list-categories@3": ("RePlay fails at an empty list; ours has no category", {"value": 1 / 3}),
    "s-recmetrics-short-personalization@4": (RAGGED, {"value": 11 / 12}),
    "s-recmetrics-empty_list-personalization@3": (RAGGED, {"value": 2 / 3}),
    "s-recmetrics-one_user-personalization@3": (
        "one list has no pair with another: nothing to compare",
        {"value": NAN},
    ),
}


def item(text):
    """Ids of items are numbers, but as keys of JSON they are text."""
    return int(text) if re.fullmatch(r"-?\d+", str(text)) else text


def by_item(found):
    return {item(name): value for name, value in found.items()}


def run_of(case):
    """The lists, best first; with scores where these decide."""
    if case["metric"].endswith("_scores"):
        return {user: dict(map(tuple, rows)) for user, rows in case["input"]["recs"].items()}
    return {user: [row[0] for row in rows] for user, rows in case["input"]["recs"].items()}


def catalogue_of(given, convention):
    """What is known of the items."""
    known = {
        name: by_item(given[key])
        for name, key in {
            "category": "categories",
            "group": "groups",
            "embedding": "features",
            "popularity": "popularity",
        }.items()
        if key in given
    }
    if convention == "replay" and "category" in known:  # which knows one of each item
        known["category"] = {name: words[0] for name, words in known["category"].items() if words}
    ids = given.get("catalogue")
    if ids is None and known:
        ids = sorted({one for values in known.values() for one in values}, key=str)
    return None if ids is None else rs.catalogue(ids, **known)


def measured(case, name, convention, run=None, **choices):
    given = case["input"]
    history = given.get("train", given.get("history"))
    metric, choices = on_metric(f"{name}@{case['params']['k']}" if "k" in case["params"] else name, choices)
    # RePlay counts training users without a list in this one.
    truth = history if (convention, name) == ("replay", "unseen") else given.get("test")
    result = rs.evaluate(
        truth, run_of(case) if run is None else run, metric, convention=convention,
        catalogue=catalogue_of(given, convention), history=history, reference=given.get("base"), **choices,
    )  # fmt: skip
    (value,) = result.values()
    (each,) = result.per_query.values()
    alone = {query: float(one) for query, one in zip(result.queries, each, strict=True) if not math.isnan(one)}
    return {"value": value, "per_query": alone}


CALLS = {
    ("RecTools", "coverage"): lambda case: ("coverage", {"unit": "share" if case["params"]["normalize"] else "count"}),
    ("RecTools", "arp"): ("popularity", {}),
    ("RecTools", "arp_normalized"): ("popularity", {"scale": "share"}),
    ("RecTools", "novelty"): ("novelty", {}),
    ("RecTools", "ild_hamming"): ("ild", {}),
    ("RecTools", "serendipity"): ("serendipity", {}),
    ("RecTools", "sufficient"): ("filled", {"empty_list": "skip"}),
    ("RecTools", "covered_users"): ("filled", {"at_least": 1}),
    ("RePlay", "coverage"): ("coverage", {}),
    ("RePlay", "coverage_pandas"): ("coverage", {}),
    ("RePlay", "coverage_polars"): ("coverage", {}),
    ("RePlay", "surprisal_pandas"): ("novelty", {}),
    ("RePlay", "surprisal_polars"): ("novelty", {}),
    ("RePlay", "novelty_pandas"): ("unseen", {}),
    ("RePlay", "categories"): ("categories", {}),
    ("RePlay", "unexpectedness"): ("overlap", {"sign": "difference"}),
    ("recommenders", "diversity_cooccurrence"): ("ild", {"distance": "cooccurrence"}),
    ("recommenders", "serendipity_cooccurrence"): ("serendipity", {"distance": "cooccurrence"}),
    ("recommenders", "diversity_features"): ("ild", {}),
    ("recommenders", "serendipity_features"): ("serendipity", {}),
    ("recmetrics", "novelty"): lambda case: ("novelty", {"popularity_total": case["params"].get("users", "users")}),
    ("recmetrics", "personalization"): ("personalisation", {}),
    ("recmetrics", "ils"): ("ild", {"sign": "likeness"}),
    ("jurity", "inter_list"): ("personalisation", {}),
    ("jurity", "intra_list"): ("ild", {}),
    ("Elliot", "pop_rsp"): ("rsp", {"grouping": "popularity"}),
    ("Elliot", "pop_reo"): ("reo", {"grouping": "popularity"}),
    ("Elliot", "rsp"): ("rsp", {}),
    ("Elliot", "reo"): ("reo", {}),
    ("Elliot", "srecall"): ("categories", {"of": "relevant", "divisor": "categories"}),
    ("Evidently", "novelty_scores"): ("novelty", {"ties": "group_mean"}),
    ("Evidently", "gini_scores"): ("gini", {"ties": "group_mean"}),
    ("Evidently", "diversity"): ("ild", {}),
    ("Evidently", "personalization"): ("personalisation", {}),
    ("Evidently", "serendipity"): ("serendipity", {}),
    ("RePlay", "surprisal"): ("novelty", {}),
    ("RePlay", "novelty"): ("unseen", {}),
    ("recommenders", "coverage"): ("coverage", {}),
    ("recommenders", "entropy"): ("entropy", {}),
    ("recommenders", "novelty"): ("novelty", {}),
    ("LensKit", "gini"): ("gini", {}),
    ("LensKit", "exposure_gini"): ("gini", {"exposure": "geometric"}),
    ("LensKit", "exposure_gini_log"): ("gini", {"exposure": "log2_from_2"}),
    ("LensKit", "pop_rank"): ("popularity", {}),
    ("Elliot", "gini"): ("gini", {}),
    ("Elliot", "entropy"): ("entropy", {}),
    ("Elliot", "efd"): ("efd", {}),
    ("Elliot", "epc"): ("epc", {}),
    ("Elliot", "arp"): ("popularity", {}),
    ("Elliot", "aplt"): ("tail", {}),
    ("Elliot", "aclt"): ("tail", {"unit": "count"}),
    ("RecBole", "coverage"): ("coverage", {"digits": 10}),
    ("RecBole", "gini"): ("gini", {"digits": 10}),
    ("RecBole", "entropy"): ("entropy", {"divisor": "rows*items", "digits": 10}),
    ("RecBole", "popularity"): ("popularity", {"digits": 10}),
    ("RecBole", "tail"): lambda case: ("tail", {"tail_at": case["params"]["tail_ratio"], "digits": 10}),
    ("RecBole", "tail2"): lambda case: (
        "tail",
        {"tail_rule": "count", "tail_at": case["params"]["tail_ratio"], "digits": 10},
    ),
    ("recmetrics", "coverage"): ("coverage", {}),
    ("Evidently", "gini"): ("gini", {}),
    ("Evidently", "coverage"): ("coverage", {}),
    ("Evidently", "arp"): ("popularity", {}),
    ("Evidently", "arp_normalized"): ("popularity", {"scale": "highest"}),
    ("Evidently", "novelty"): ("novelty", {}),
}


# What the library's own documentation, or plain sense, speaks against: a preset of its own.
DEFECTS = {("Evidently", "diversity"), ("Evidently", "personalization"), ("Evidently", "serendipity")}


def answer(case):
    found = CALLS[case["tool"], case["metric"]]
    name, choices = found(case) if callable(found) else found
    defects = (case["tool"], case["metric"]) in DEFECTS
    found = measured(case, name, f"{case['tool'].lower()}{'+defects' * defects}", **choices)
    return {**found, "per_query": [*found["per_query"].values()]} if case["tool"] == "jurity" else found


def lists_of(given):
    """Lists that have no users, by their numbers."""
    return dict(enumerate([given["list"]] if "list" in given else given["lists"]))


EXPOSED = {
    "exp": lambda params: {},
    "awrf": lambda params: {"exposure": "geometric", "patience": 1 - params["p"], "exposure_scale": "percent"},
    "erbe": lambda params: {
        "exposure": "geometric",
        "patience": params["decay"],
        "exposure_scale": "sum",
        "per": "none",
    },
    "erbp": lambda params: {"exposure": "geometric", "patience": params["decay"], "exposure_scale": "sum"},
    "expu": lambda params: {"per": "relevance", "exposure_averaging": "micro"},
}


RATIO = ("exposure", "patience", "per")  # the choices that a ratio depends on


def fairranktune(case):
    given, params = case["input"], case["params"]
    run, groups = lists_of(given), given["groups"]
    truth = None
    if "relevance" in given:
        truth = {at: dict(zip(run[at], grades, strict=True)) for at, grades in enumerate(given["relevance"])}

    def value(name, **choices):
        metric, choices = on_metric(name, choices)
        (found,) = rs.evaluate(
            truth, run, metric, catalogue=rs.catalogue(list(groups), group=groups), convention="fairranktune", **choices
        ).values()
        return found

    kind = case["metric"].split("_")[0]
    names = sorted(set(groups.values()))
    if kind in ("iaa", "ndkl"):
        return {"value": value(kind)}
    if kind == "arp":
        return {
            "value": value("group_pairs"),
            "per_group": {name: value(f"group_pairs(group={name!r})") for name in names},
        }
    choices = EXPOSED[kind](params)
    each = {name: value(f"exposure(group={name!r})", **choices) for name in names}
    if params["combo"] == "MaxMinDiff":
        return {"value": value("exposure_difference", **choices), "per_group": each}
    return {
        "value": value("exposure_ratio", **{name: choice for name, choice in choices.items() if name in RATIO}),
        "per_group": each,
    }


def trec_fair(case):
    given, params = case["input"], case["params"]
    run, groups = lists_of(given), by_item(given["groups"])
    films = rs.catalogue(list(groups), group=groups)
    truth = dict.fromkeys(run, given["relevant"]) if "relevant" in given else None
    if case["metric"] == "awrf":
        metric = rs.metrics.awrf(target=given["target"])
        return {"value": rs.evaluate(truth, run, metric, catalogue=films, convention="trec-fair-2022")[metric]}
    choices = {"of": "relevant" if params["only_relevant"] else "shown"}
    aim = {"target": given["target"], "target_length": params["target_len"]}
    metrics = [*on_metrics(["ee_l", "ee_r"], choices | aim)[0], rs.metrics.ee_d(**choices)]
    found = rs.evaluate(truth, run, metrics, catalogue=films, convention="trec-fair-2022")
    return dict(zip(("value", "EE-R", "EE-D"), found.values(), strict=True))


def expected_exposure(case):
    given = case["input"]
    run = lists_of(given)
    items = sorted({one for ranked in run.values() for one in ranked} | set(given["relevant"]))
    films = rs.catalogue(items, group=items)
    truth = dict.fromkeys(run, given["relevant"])
    choices = {"exposure": "geometric", "patience": case["params"]["patience"]}
    aimed, _ = on_metrics(["ee_l", "ee_r"], {"target": "ideal", **choices})
    found = rs.evaluate(truth, run, [*aimed, rs.metrics.ee_d(**choices)], catalogue=films)

    def each(**of):
        metrics = [rs.metrics.exposure(group=item, **choices, **of) for item in items]
        return dict(zip(items, rs.evaluate(truth, run, metrics, catalogue=films).values(), strict=True))

    return {
        **dict(zip(("value", "EE-R", "EE-D"), found.values(), strict=True)),
        "exposure": each(),
        "target": each(of="ideal"),
    }


WEIGHTS = {"none": {}, "1/log2(rank+1)": {"exposure": "log2"}, "1/rank": {"exposure": "1/rank"}}


def calibration(case):
    given, params = case["input"], case["params"]
    films = rs.catalogue(list(by_item(given["categories"])), category=by_item(given["categories"]))
    form = (
        {"form": "js", "alpha": params["smoothing"], "log": 2} if "smoothing" in params else {"alpha": params["alpha"]}
    )
    metric = rs.metrics.calibration(**form, **WEIGHTS[params["weight"]])
    result = rs.evaluate(run=given["lists"], metrics=metric, catalogue=films, history=given["history"])
    (per_query,) = result.per_query.values()
    return {"value": result[metric], "per_query": dict(zip(result.queries, per_query.tolist(), strict=True))}


TOOLS = {
    **dict.fromkeys(CALLS, answer),
    "FairRankTune": fairranktune,
    "TREC Fair Ranking 2022 (wptrec)": trec_fair,
    "news-recommender-metrics": calibration,
    ("exact formula", "calibration"): calibration,
    ("exact formula", "expected_exposure"): expected_exposure,
}
