"""Answers to the cases of what was shown: coverage, novelty, diversity, fairness. Each is a call of `rs.evaluate`."""

import math
import re

import rankstone as rs

DEVIATIONS = {}


def item(text):
    """Ids of items are numbers, but as keys of JSON they are text."""
    return int(text) if re.fullmatch(r"-?\d+", str(text)) else text


def by_item(found):
    return {item(name): value for name, value in found.items()}


def run_of(case):
    """The lists, best first."""
    return {user: [row[0] for row in rows] for user, rows in case["input"]["recs"].items()}


def catalogue_of(given, convention):
    """What is known of the items."""
    known = {
        name: by_item(given[key])
        for name, key in {"category": "categories", "group": "groups", "embedding": "features", "popularity": "popularity"}.items()
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
    metric = f"{name}@{case['params']['k']}" if "k" in case["params"] else name
    result = rs.evaluate(
        given.get("test"), run_of(case) if run is None else run, metric, convention=convention,
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
    ("RecTools", "sufficient"): ("filled", {}),
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
    ("Elliot", "srecall"): ("categories", {"of": "relevant", "divisor": "categories"}),
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
    ("RecBole", "entropy"): ("entropy", {"log": "e", "divisor": "rows*items", "digits": 10}),
    ("RecBole", "popularity"): ("popularity", {"digits": 10}),
    ("RecBole", "tail"): lambda case: ("tail", {"tail_at": case["params"]["tail_ratio"], "digits": 10}),
    ("RecBole", "tail2"): lambda case: ("tail", {"tail_rule": "count", "tail_at": case["params"]["tail_ratio"], "digits": 10}),
    ("recmetrics", "coverage"): ("coverage", {}),
    ("Evidently", "gini"): ("gini", {}),
    ("Evidently", "coverage"): ("coverage", {}),
    ("Evidently", "arp"): ("popularity", {}),
    ("Evidently", "arp_normalized"): ("popularity", {"scale": "highest"}),
    ("Evidently", "novelty"): ("novelty", {}),
}


def answer(case):
    found = CALLS[case["tool"], case["metric"]]
    name, choices = found(case) if callable(found) else found
    found = measured(case, name, case["tool"].lower(), **choices)
    return {**found, "per_query": [*found["per_query"].values()]} if case["tool"] == "jurity" else found


TOOLS = dict.fromkeys(CALLS, answer)
