"""Metrics of pairs: how often a relevant item stands above one that is not."""

from __future__ import annotations

from typing import Literal

from rankstone.align.ranking import Depth, Ranking, Ratio, Values
from rankstone.errors import NoExpectedValue
from rankstone.metrics.registry import metric

# Keeps the precision estimated from judged items off 0/0; the value trec_eval uses.
INFAP_EPSILON = 0.00001


@metric("auc", formula="pairs in the right order / pairs", expected=True, choices={"undefined": 0.5}, two_sided=True)
def auc(
    ranking: Ranking,
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
    if ranking.expected and k is not None:
        raise NoExpectedValue("has no closed form over all orders of tied items with a cutoff")
    if ranking.shared and equal == "order":
        raise NoExpectedValue("is not decided by the order of items that share a rank")
    if ranking.expected and equal == "order":  # the mean over all orders
        equal = "half"
    inside = 1.0 if k is None else ranking.number(ranking.rank <= ranking.spread(k))
    good = ranking.credit * inside
    found = ranking.sum(good)
    if pairs == "list" or ranking.listed:  # where only the list is known
        relevant, ratio = found, _within_list(ranking, k, good, equal, divisor, catalogue)
    else:
        relevant, bad = ranking.relevant, ranking.judged_bad * inside
        hidden = ranking.nonrelevant - ranking.sum(bad)
        right = found * ranking.nonrelevant - ranking.sum(good * _above(ranking, bad, equal))
        ratio = Ratio(right + 0.5 * (relevant - found) * hidden, relevant * ranking.nonrelevant)
    if alone == "undefined":
        return ratio
    only = (relevant > 0) & (ratio.denominator == 0)
    return Ratio(ranking.where(only, 1.0, ratio.numerator), ranking.where(only, 1.0, ratio.denominator))


def _above(ranking: Ranking, bad: Values, equal: str) -> Values:
    """For each item how many bad ones stand above it; of those with the same score, a half, all, or by their order."""
    if equal == "order":
        return ranking.running(bad) - bad
    return ranking.higher(bad) + ranking.level(bad) / (2 if equal == "half" else 1)


def _within_list(
    ranking: Ranking,
    k: Depth,
    good: Values,
    equal: str,
    divisor: str,
    catalogue: int | None,
) -> Ratio:
    found, relevant, places = ranking.sum(good), ranking.relevant, ranking.places(k, divisor)
    if equal == "order":
        above = ranking.rank - 1 - (ranking.running(good) - good)
    else:
        higher, level = ranking.items_above, ranking.items_level
        if k is not None:
            level = ranking.minimum(higher + level, ranking.spread(k)) - higher
        above = higher - ranking.higher(good) + (level - ranking.level(good)) / (2 if equal == "half" else 1)
    wrong = ranking.sum(good * above)
    if catalogue is None:
        return Ratio(found * (ranking.places(k, "min(k,retrieved)") - found) - wrong, found * (places - found))
    ranking.refuse(
        ranking.maximum(relevant, ranking.retrieved) > catalogue,
        f"a catalogue of {catalogue} items cannot hold the items",
    )
    bad = catalogue - relevant
    hidden = bad - (places - found)
    return Ratio(found * (places - found) - wrong + (found + relevant) / 2 * hidden, relevant * bad)


@metric(
    "bpref",
    formula="sum over relevant hits of 1 - nonrelevant above / min(relevant, nonrelevant), over relevant",
    two_sided=True,
)
def bpref(ranking: Ranking) -> Ratio:
    """How seldom judged non-relevant items stand above relevant ones; unjudged items do not count.

    Buckley and Voorhees, 2004, as trec_eval computes it.

    >>> rs.bpref(["a", "b", "c"], {"a": 1, "b": 0, "c": 1})
    0.5
    """
    relevant = ranking.spread(ranking.relevant)
    above = ranking.minimum(ranking.bad_so_far, relevant)
    bound = ranking.maximum(ranking.minimum(relevant, ranking.spread(ranking.nonrelevant)), 1.0)
    return Ratio(ranking.sum(ranking.where(ranking.credit > 0, 1.0 - above / bound, 0.0)), ranking.relevant)


@metric("infap", formula="sum over relevant hits of estimated precision, over relevant", two_sided=True)
def infap(ranking: Ranking) -> Ratio:
    """Average precision estimated when only a sample of the items was judged.

    Items with a negative grade were in the sample's pool but not judged. Yilmaz and Aslam, 2006, as trec_eval
    computes it.

    >>> rs.infap(["a", "b", "c"], {"a": 1, "b": 0, "c": 1})
    0.8333333333333333
    """
    relevant, bad = ranking.relevant_so_far - 1.0, ranking.bad_so_far
    pooled = relevant + bad + ranking.running(ranking.number((ranking.grade < 0) & (ranking.credit == 0)))
    estimate = (relevant + INFAP_EPSILON) / (relevant + bad + 2 * INFAP_EPSILON)
    terms = (1.0 + pooled * estimate) / ranking.rank
    return Ratio(ranking.sum(ranking.where(ranking.credit > 0, terms, 0.0)), ranking.relevant)
