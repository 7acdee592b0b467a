"""rankstone's answers to logged feedback, to its exact enumeration, and to lists with sampled negatives."""

from fractions import Fraction
from itertools import permutations
from math import prod

import numpy as np

import rankstone as rs

# obp's estimators, and what its lambda is here.
SINGLE = {
    "ips": ("ips", None),
    "ips_clipped": ("ips", "clip"),
    "snips": ("snips", None),
    "dm": ("dm", None),
    "dr": ("dr", None),
    "dr_clipped": ("dr", "clip"),
    "sndr": ("sndr", None),
    "switch_dr": ("dr", "switch"),
    "dros": ("dr", "shrink"),
    "subgaussian_ips": ("ips", "subgaussian"),
    "subgaussian_dr": ("dr", "subgaussian"),
}
LISTS = {
    "sips": ("ips", "list"),
    "iips": ("ips", "item"),
    "rips": ("ips", "cascade"),
    "snsips": ("snips", "list"),
    "sniips": ("snips", "item"),
    "snrips": ("snips", "cascade"),
    "cascade_dr": ("dr", "cascade"),
}
COLUMNS = {"list": ("p", "pe"), "item": ("p_item", "pe_item"), "cascade": ("p_cascade", "pe_cascade")}


def obp(case):
    given = case["input"]
    if "rows" in given:
        return {"value": lists(case["metric"], given)}
    name, change = SINGLE[case["metric"]]
    found = rs.offpolicy.estimate(
        None, name, item=given["action"], reward=given["reward"], propensity=given["propensity"],
        target=given["policy"], predicted=given.get("predicted"), convention="obp",
        **({} if change is None else {change: float(case["params"]["lambda"])}),
    )  # fmt: skip
    return {"value": found[name], "per_query": found.per_list[name].tolist()}


def lists(metric, given):
    name, form = LISTS[metric]
    rows = {word: [row[word] for row in given["rows"]] for word in given["rows"][0]}
    logged, target = COLUMNS[form]
    predicts = metric == "cascade_dr"
    return rs.offpolicy.estimate(
        None, name, weight=form, convention="obp", list=rows["slate"], place=rows["position"], item=rows["action"],
        reward=rows["reward"], propensity=rows[logged], target=rows["next_policy" if predicts else target],
        predicted=given["predicted"] if predicts else None,
    )[name]  # fmt: skip


# -- every list of two small policies ------------------------------------------------------------------------

FORMS = {"ips": "list", "iips": "item", "rips": "cascade", "pi": "pseudo_inverse", "cascade_dr": "cascade"}


def enumeration(case):
    given, name = case["input"], case["metric"].removeprefix("expected_")
    logging, target = (drawn(given[side], given["places"]) for side in ("logging_weights", "target_weights"))
    truth = expected("truth", given, target, target)
    value = truth if name == "truth" else expected(name, given, logging, target)
    fraction = None if isinstance(value, float) else str(value)
    return {"value": float(value), "fraction": fraction, "bias": float(value - truth)}


def drawn(weights, places):
    """Every list of so many items, drawn one after another by their weights, with its probability."""
    out = {}
    for items in permutations(range(len(weights)), places):
        left = [sum(weights) - sum(weights[above] for above in items[:at]) for at in range(places)]
        out[items] = prod(Fraction(weights[item], rest) for item, rest in zip(items, left, strict=True))
    return out


def earned(items, attraction, rewards):
    """What each place of a list earns."""
    q = [attraction[item] for item in items]
    return {
        "independent": lambda at: q[at] / (at + 1),
        "cascade": lambda at: q[at] * prod(1 - above for above in q[:at]),
        "standard": lambda at: q[at] * (1 + q[-1]) / (2 * (at + 1)),
    }[rewards]


def expected(name, given, logging, target):
    """The mean of the estimate over all lists that could have been logged."""
    attraction = [Fraction(q) for q in given["attraction"]]
    possible = [items for items, chance in logging.items() if chance]
    rows = [(number, at, item) for number, items in enumerate(possible) for at, item in enumerate(items)]
    reward = [earned(items, attraction, given["rewards"])(at) for items in possible for at in range(len(items))]
    number, place, item = (np.array(column) for column in zip(*rows, strict=True))
    estimate = {"truth": "as_logged", "cascade_dr": "dr"}.get(name, "ips")
    found = rs.offpolicy.estimate(
        None, estimate, weight=FORMS.get(name, "list"), list=number, place=place, item=item, reward=reward,
        propensity=logging, target=target,
        predicted=np.array([[q / 2 for q in attraction]] * len(rows)) if estimate == "dr" else None,
    )  # fmt: skip
    return sum(logging[items] * value for items, value in zip(possible, found.per_list[estimate], strict=True))


# -- one item among a sample of the others -------------------------------------------------------------------


def sampling(case):
    """Whose sample it is; Krichene and Rendle draw with replacement."""
    params = case["params"]
    return rs.sampled_metrics(params["negatives"], params["items"], replacement=params.get("replacement", True))


def sampled(case):
    ranks = case["input"]["true_ranks"]
    found = sampling(case).expected(metric_of(case), ranks)
    per_query = {str(rank): float(value) for rank, value in zip(ranks, found, strict=True)}
    return {"value": float(found.mean()), "per_query": per_query}


def corrected(case):
    params, places = case["params"], case["input"]["sampled_ranks"]
    given = {"gamma": params["gamma"]} if "gamma" in params else {}
    found = sampling(case).corrected_values(metric_of(case), params["method"], **given)
    return {"per_query": {str(place): float(found[place - 1]) for place in places}}


def metric_of(case):
    return case["metric"].partition("_")[2].replace("hit", "hit_rate")


TOOLS = {
    "obp": obp,
    "exact enumeration": enumeration,
    ("exact formula", "sampled"): sampled,
    ("exact formula", "corrected"): corrected,
}
DEVIATIONS = {}
