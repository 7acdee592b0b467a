"""Metrics of pairs: how often a relevant item stands above one that is not."""

from __future__ import annotations

from typing import Literal

import numpy as np

from rankstone.metrics.registry import metric
from rankstone.ranked import Depth, Floats, NoExpectedValue, Ranked, Ratio

# Keeps the precision estimated from judged items off 0/0; the value trec_eval uses.
INFAP_EPSILON = 0.00001


@metric("auc", formula="pairs in the right order / pairs", expected=True, choices={"undefined": 0.5})
def auc(
    ranked: Ranked,
    *,
    k: Depth = None,
    pairs: Literal["judged", "list"] = "judged",
    divisor: Literal["k", "min(k,retrieved)"] = "min(k,retrieved)",
) -> Ratio:
    """Chance that a relevant item stands above one that is not.

    pairs="judged": over all judged items; those that the first k places do not hold share the end of the list,
    and equal scores count half. pairs="list": over the first k places, where everything not relevant counts
    against; divisor="k" then counts the places that a short list leaves empty.

    >>> rs.auc(scores=[0.8, 0.7, 0.5, 0.3], labels=[1, 0, 1, 0])
    0.75
    """
    if ranked.expected and k is not None:
        raise NoExpectedValue("has no closed form over all orders of tied items with a cutoff")
    if pairs == "list":
        found = ranked.hits(k)
        right = found * (ranked.places(k, "min(k,retrieved)") - found) - _others_above(ranked, k)
        return Ratio(right, found * (ranked.places(k, divisor) - found))
    inside = ranked.chance(k)
    good, bad = ranked.credit * inside, _judged_bad(ranked) * inside
    shown_good, shown_bad = ranked.sum(good), ranked.sum(bad)
    hidden_good, hidden_bad = ranked.relevant - shown_good, ranked.nonrelevant - shown_bad
    right = shown_good * shown_bad - _bad_above(ranked, good, bad) + shown_good * hidden_bad
    return Ratio(right + 0.5 * hidden_good * hidden_bad, ranked.relevant * ranked.nonrelevant)


def _judged_bad(ranked: Ranked) -> Floats:
    """1 for each hit that is judged not relevant; a negative grade is no judgement."""
    return ((ranked.grade >= 0) & (ranked.credit == 0)).astype(np.float64)


def _others_above(ranked: Ranked, k: Depth) -> Floats:
    """Pairs of a relevant item in the first k and one not relevant above it, judged or not."""
    if ranked.expected:
        groups = ranked.groups()
        above = groups.before - groups.relevant_before + (groups.size - groups.relevant) / 2
        return ranked.sum_groups(groups.relevant * above)
    above = (ranked.rank - ranked.nth) * ranked.credit
    inside = ranked.cut(k)
    return ranked.sum(above if inside is None else np.where(inside, above, 0.0))


def _bad_above(ranked: Ranked, good: Floats, bad: Floats) -> Floats:
    """Pairs of a relevant hit and a non-relevant one with a higher score; an equal score counts half."""
    starts = ranked.group_starts
    if len(starts) == 0:
        return np.zeros(len(ranked))
    tied_bad = np.add.reduceat(bad, starts)
    before = (ranked.running(bad) - bad)[starts]
    pairs = np.add.reduceat(good, starts) * (before + tied_bad / 2)
    return np.bincount(ranked.query[starts], pairs, minlength=len(ranked)).astype(np.float64)


@metric(
    "bpref",
    formula="sum over relevant hits of 1 - nonrelevant above / min(relevant, nonrelevant), over relevant",
)
def bpref(ranked: Ranked) -> Ratio:
    """How seldom judged non-relevant items stand above relevant ones; unjudged items do not count.

    Buckley and Voorhees, 2004, as trec_eval computes it.

    >>> rs.bpref(["a", "b", "c"], {"a": 1, "b": 0, "c": 1})
    0.5
    """
    relevant = ranked.relevant[ranked.query]
    above = np.minimum(_running_bad(ranked), relevant)
    bound = np.maximum(np.minimum(relevant, ranked.nonrelevant[ranked.query]), 1.0)
    return Ratio(ranked.sum(np.where(ranked.credit > 0, 1.0 - above / bound, 0.0)), ranked.relevant)


def _running_bad(ranked: Ranked) -> Floats:
    ranked.need_order()
    return ranked.running(_judged_bad(ranked))


@metric("infap", formula="sum over relevant hits of estimated precision, over relevant")
def infap(ranked: Ranked) -> Ratio:
    """Average precision estimated when only a sample of the items was judged.

    Items with a negative grade were in the sample's pool but not judged. Yilmaz and Aslam, 2006, as trec_eval
    computes it.

    >>> rs.infap(["a", "b", "c"], {"a": 1, "b": 0, "c": 1})
    0.8333333333333333
    """
    earlier = (ranked.rank - 1).astype(np.float64)
    relevant = ranked.nth - 1.0
    bad = _running_bad(ranked)
    unjudged = ((ranked.grade < 0) & (ranked.credit == 0)).astype(np.float64)
    pooled = relevant + bad + ranked.running(unjudged)
    estimate = (relevant + INFAP_EPSILON) / (relevant + bad + 2 * INFAP_EPSILON)
    expected_precision = (1.0 + pooled * estimate) / (earlier + 1.0)
    return Ratio(ranked.sum(np.where(ranked.credit > 0, expected_precision, 0.0)), ranked.relevant)
