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
    equal: Literal["half", "order", "wrong"] = "half",
    divisor: Literal["k", "min(k,retrieved)"] = "min(k,retrieved)",
    catalogue: int | None = None,
    alone: Literal["undefined", "right"] = "undefined",
) -> Ratio:
    """Chance that a relevant item stands above one that is not.

    pairs="judged": over all judged items; those that the first k places do not hold share the end of the list.
    pairs="list": over the first k places, where everything not relevant counts against; divisor="k" then counts the
    places that a short list leaves empty, and with a catalogue of so many items those not shown share the end.
    A pair with equal scores counts half, or is decided by its order, or is wrong. alone="right": 1 where all items are
    relevant.

    >>> rs.auc(scores=[0.8, 0.7, 0.5, 0.3], labels=[1, 0, 1, 0])
    0.75
    """
    if ranked.expected and k is not None:
        raise NoExpectedValue("has no closed form over all orders of tied items with a cutoff")
    if ranked.shared and equal == "order":
        raise NoExpectedValue("is not decided by the order of items that share a rank")
    if ranked.expected and equal == "order":  # the mean over all orders
        equal = "half"
    good = ranked.credit * ranked.chance(k)
    found = ranked.sum(good)
    if pairs == "list" or ranked.unjudged is not None:  # where only the list is known
        relevant, ratio = found, _within_list(ranked, k, good, equal, divisor, catalogue)
    else:
        bad = _judged_bad(ranked) * ranked.chance(k)
        shown, relevant = ranked.sum(bad), ranked.relevant
        hidden = ranked.nonrelevant - shown
        right = found * shown - _wrong(ranked, good, *_judged_above(ranked, bad), equal) + found * hidden
        ratio = Ratio(right + 0.5 * (relevant - found) * hidden, relevant * ranked.nonrelevant)
    if alone == "undefined":
        return ratio
    only = (relevant > 0) & (ratio.denominator == 0)
    return Ratio(np.where(only, 1.0, ratio.numerator), np.where(only, 1.0, ratio.denominator))


def _within_list(
    ranked: Ranked, k: Depth, good: Floats, equal: str, divisor: Literal["k", "min(k,retrieved)"], catalogue: int | None
) -> Ratio:
    found, places = ranked.sum(good), ranked.places(k, divisor)
    wrong = _wrong(ranked, good, *_others_above(ranked, k, good), equal)
    if catalogue is None:
        right = found * (ranked.places(k, "min(k,retrieved)") - found) - wrong
        return Ratio(right, found * (places - found))
    largest = max(ranked.relevant.max(initial=0.0), ranked.retrieved.max(initial=0))
    if catalogue < largest:
        raise ValueError(f"auc: a catalogue of {catalogue} items cannot hold the {largest:g} of one query")
    bad = catalogue - ranked.relevant
    hidden = bad - (places - found)
    right = found * (places - found) - wrong + (found + ranked.relevant) / 2 * hidden
    return Ratio(right, ranked.relevant * bad)


def _judged_bad(ranked: Ranked) -> Floats:
    """1 for each hit that is judged not relevant; a negative grade is no judgement."""
    return ((ranked.grade >= 0) & (ranked.credit == 0)).astype(np.float64)


def _judged_above(ranked: Ranked, bad: Floats) -> tuple[Floats, Floats, Floats]:
    """For each group of tied hits: bad ones with a higher score and with the same; for each hit, those before it."""
    before, starts = ranked.running(bad) - bad, ranked.group_starts
    return before[starts], np.add.reduceat(bad, starts) if len(starts) else bad, before


def _others_above(ranked: Ranked, k: Depth, good: Floats) -> tuple[Floats, Floats, Floats]:
    """The same of all items that are not relevant, judged or not."""
    starts = ranked.group_starts
    before = ranked.ranks - 1 - (ranked.running(good) - good)
    if len(starts) == 0 or ranked.above is None or ranked.tied is None:
        return before, np.zeros(len(starts)), before
    above, size = ranked.above[starts], ranked.tied[starts]
    if k is not None:
        limit = k[ranked.query[starts]] if isinstance(k, np.ndarray) else k
        size = np.clip(limit - above, 0, size)
    higher = above - (ranked.running(good) - good)[starts]
    return higher, size.astype(np.float64) - np.add.reduceat(good, starts), before


def _wrong(ranked: Ranked, good: Floats, higher: Floats, tied: Floats, before: Floats, equal: str) -> Floats:
    """Pairs in the wrong order, by query."""
    if equal == "order":
        return ranked.sum(good * before)
    starts = ranked.group_starts
    if len(starts) == 0:
        return np.zeros(len(ranked))
    pairs = np.add.reduceat(good, starts) * (higher + tied / (2 if equal == "half" else 1))
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
    bad = ranked.running(_judged_bad(ranked))
    if ranked.unjudged is None:
        return bad
    hits_above = np.arange(len(bad)) - ranked.hit_offsets[ranked.query]
    return bad + (ranked.rank - 1 - hits_above)  # what nobody judged counts as not relevant


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
