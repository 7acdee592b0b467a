"""Metrics of pairs: how often a relevant item stands above one that is not."""

from __future__ import annotations

from typing import Annotated, Literal

from rankstone.align.functions import Depth, Values
from rankstone.errors import NoExpectedValue
from rankstone.metrics.registry import ByName, Parameter, metric
from rankstone.metrics.sets import Catalogue, check_catalogue
from rankstone.program.ranking import Ranking, Ratio

Pairs = Annotated[
    Literal["judged", "list"],
    Parameter("which pairs", {"judged": "pairs of judged items", "list": "pairs within the first k places"}),
]
TiedPairs = Annotated[
    Literal["half", "order", "wrong"],
    Parameter(
        "a pair with equal scores",
        {
            "half": "equal scores count half",
            "order": "equal scores by their order",
            "wrong": "equal scores count as wrong",
        },
    ),
]
Divisor = Annotated[
    Literal["k", "min(k,retrieved)"],
    Parameter(
        "how many places of the list make pairs, where pairs are within the first k",
        {
            "k": "places that a list shorter than k leaves empty count as not relevant",
            "min(k,retrieved)": "a list shorter than k has no empty places",
        },
        quiet=("min(k,retrieved)",),
    ),
]
NoNegatives = Annotated[
    Literal["undefined", "right"],
    Parameter(
        "where all items are relevant",
        {
            "undefined": "nothing could be earned where all items are relevant",
            "right": "1 where all items are relevant",
        },
        quiet=("undefined",),
    ),
]

# Keeps the precision estimated from judged items off 0/0; the value trec_eval uses.
INFAP_EPSILON = 0.00001


def _good_and_bad(ranking: Ranking, parameters: ByName) -> Values:
    return ranking.credit - ranking.judged_bad


def _right_pairs(ranking: Ranking, parameters: ByName) -> Values | None:
    """Of pairs within k places there are more or fewer with each relevant item among them."""
    counts_places = (parameters["pairs"] == "list" or ranking.listed) and parameters["catalogue"] is None
    return None if counts_places and not ranking.settled(parameters["k"]) else _good_and_bad(ranking, parameters)


def _estimated(ranking: Ranking, parameters: ByName) -> Values | None:
    """An item that was pooled and not judged can raise the estimate below it, or lower it."""
    judged = ranking.every((ranking.grade >= 0) | (ranking.credit > 0))
    return _good_and_bad(ranking, parameters) if judged else None


@metric(
    "auc",
    aliases=("auroc",),
    formula="pairs in the right order / pairs",
    latex=r"\frac{|\{(a, b) : g_a > g_b,\ s_a > s_b\}|}{|\{(a, b) : g_a > g_b\}|}",
    use="Is a relevant item above one that is not? For scores and classifiers, where the whole order matters.",
    beware=(
        "The last places count as much as the first. Some tools compute it for all rows at once, not for each query. "
        "A truth that names relevant items alone has no pairs and earns 0.5: judge others too, or choose pairs='list'."
    ),
    expected=True,
    choices={"undefined": 0.5},
    two_sided=True,
    ends_at_k=True,
    best_first=_right_pairs,
)
def auc(
    ranking: Ranking,
    *,
    k: Depth = None,
    pairs: Pairs = "judged",
    tied_pairs: TiedPairs = "half",
    divisor: Divisor = "min(k,retrieved)",
    catalogue: Catalogue = None,
    no_negatives: NoNegatives = "undefined",
) -> Ratio:
    """Chance that a relevant item stands above one that is not.

    pairs="judged": over all judged items; those that the first k places do not hold share the end of the list.
    pairs="list": over the first k places, where everything not relevant counts against; divisor="k" then counts the
    places that a short list leaves empty, and with a catalogue of so many items those not shown share the end.
    A pair with equal scores counts half, or is decided by its order, or is wrong. no_negatives="right": 1 where all
    items are relevant.

    >>> rs.auc(scores=[0.8, 0.7, 0.5, 0.3], labels=[1, 0, 1, 0])
    0.75
    """
    if catalogue is not None:
        check_catalogue(ranking, catalogue)
    if ranking.expected and k is not None:
        raise NoExpectedValue("has no closed form over all orders of tied items with a cutoff")
    if ranking.shared and tied_pairs == "order":
        raise NoExpectedValue("is not decided by the order of items that share a rank")
    if ranking.shared and k is not None and (pairs == "list" or ranking.listed):
        raise NoExpectedValue("has no pairs of k places where items share a rank")
    if ranking.expected:  # in each order one of the two goes first, in as many orders as the other
        tied_pairs = "half"
    inside = 1.0 if k is None else ranking.number(ranking.rank <= ranking.spread(k))
    good = ranking.credit * inside
    found = ranking.sum(good)
    if pairs == "list" or ranking.listed:  # where only the list is known
        relevant, ratio = found, _within_list(ranking, k, good, tied_pairs, divisor, catalogue)
    else:
        relevant, bad = ranking.relevant, ranking.judged_bad * inside
        hidden = ranking.nonrelevant - ranking.sum(bad)
        right = found * ranking.nonrelevant - ranking.sum(good * _above(ranking, bad, tied_pairs))
        ratio = Ratio(right + 0.5 * (relevant - found) * hidden, relevant * ranking.nonrelevant)
    if no_negatives == "undefined":
        return ratio
    only = (relevant > 0) & (ratio.denominator == 0)
    return Ratio(ranking.where(only, 1.0, ratio.numerator), ranking.where(only, 1.0, ratio.denominator))


def _above(ranking: Ranking, bad: Values, tied_pairs: str) -> Values:
    """For each item how many bad ones stand above it; of those with the same score, a half, all, or by their order."""
    if tied_pairs == "order":
        return ranking.running(bad) - bad
    return ranking.higher(bad) + ranking.level(bad) / (2 if tied_pairs == "half" else 1)


def _within_list(
    ranking: Ranking, k: Depth, good: Values, tied_pairs: str, divisor: str, catalogue: int | None
) -> Ratio:
    found, relevant, places = ranking.sum(good), ranking.relevant, ranking.places(k, divisor)
    if tied_pairs == "order":
        above = ranking.rank - 1 - (ranking.running(good) - good)
    else:
        higher, level = ranking.items_above, ranking.items_level
        if k is not None:
            level = ranking.minimum(higher + level, ranking.spread(k)) - higher
        above = higher - ranking.higher(good) + (level - ranking.level(good)) / (2 if tied_pairs == "half" else 1)
    wrong = ranking.sum(good * above)
    if catalogue is None:
        return Ratio(found * (ranking.places(k, "min(k,retrieved)") - found) - wrong, found * (places - found))
    bad = catalogue - relevant
    hidden = bad - (places - found)
    return Ratio(found * (places - found) - wrong + (found + relevant) / 2 * hidden, relevant * bad)


@metric(
    "bpref",
    formula="sum over relevant items of 1 - nonrelevant above / min(relevant, nonrelevant), over relevant",
    latex=(
        r"\frac{1}{\mathrm{relevant}} \sum_{i} \mathrm{rel}_i \Bigl(1 - "
        r"\frac{\mathrm{nonrelevant}(i)}{\min(\mathrm{relevant}, \mathrm{nonrelevant})}\Bigr)"
    ),
    use="Judgements are known to be incomplete: it looks only at what was judged.",
    beware="Without judged items that are not relevant it says little.",
    two_sided=True,
    best_first=_good_and_bad,
)
def bpref(ranking: Ranking) -> Ratio:
    """How seldom judged non-relevant items stand above relevant ones; unjudged items do not count.

    Buckley and Voorhees, 2004, as trec_eval computes it.

    >>> rs.bpref(["a", "b", "c"], truth={"a": 1, "b": 0, "c": 1})
    0.5
    """
    relevant = ranking.spread(ranking.relevant)
    above = ranking.minimum(ranking.bad_so_far, relevant)
    bound = ranking.maximum(ranking.minimum(relevant, ranking.spread(ranking.nonrelevant)), 1.0)
    return Ratio(ranking.sum(ranking.where(ranking.credit > 0, 1.0 - above / bound, 0.0)), ranking.relevant)


@metric(
    "infap",
    formula="sum over relevant items of estimated precision, over relevant",
    latex=r"\frac{1}{\mathrm{relevant}} \sum_{i} \mathrm{rel}_i \, E[\mathrm{precision}(i)]",
    use="Judgements are a random sample: it estimates average precision from them.",
    beware="Items that were not sampled must be in the truth as such, with a grade of -1.",
    two_sided=True,
    best_first=_estimated,
)
def infap(ranking: Ranking) -> Ratio:
    """Average precision estimated when only a sample of the items was judged.

    Items with a negative grade were in the sample's pool but not judged. Yilmaz and Aslam, 2006, as trec_eval
    computes it.

    >>> rs.metrics.infap(["a", "b", "c"], truth={"a": 1, "b": 0, "c": 1})
    0.8333333333333333
    """
    relevant, bad = ranking.relevant_so_far - 1.0, ranking.bad_so_far
    pooled = relevant + bad + ranking.running(ranking.number((ranking.grade < 0) & (ranking.credit == 0)))
    estimate = (relevant + INFAP_EPSILON) / (relevant + bad + 2 * INFAP_EPSILON)
    terms = (1.0 + pooled * estimate) / ranking.rank
    return Ratio(ranking.sum(ranking.where(ranking.credit > 0, terms, 0.0)), ranking.relevant)
