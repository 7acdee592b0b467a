"""Pairs of a relevant and a non-relevant item: AUC, bpref, infAP."""

from __future__ import annotations

from typing import Annotated, Literal

from rankstone.align.elementwise import Depth, Values
from rankstone.errors import NoClosedFormError
from rankstone.metrics.registry import ByName, Parameter, metric
from rankstone.metrics.sets import Catalogue, check_catalogue
from rankstone.program.ranking import Ranking, Ratio

Pairs = Annotated[
    Literal["judged", "list"],
    Parameter("which pairs", {"judged": "pairs of judged items", "list": "pairs within the top k"}),
]
TiedPairs = Annotated[
    Literal["half", "order", "wrong"],
    Parameter(
        "a pair with equal scores",
        {
            "half": "tied pairs count half",
            "order": "tied pairs are decided by their order",
            "wrong": "tied pairs count as wrong",
        },
    ),
]
Divisor = Annotated[
    Literal["k", "min(k,retrieved)"],
    Parameter(
        "number of ranks that form pairs, with pairs='list'",
        {
            "k": "pairs with an empty rank of a list shorter than k are in the denominator only",
            "min(k,retrieved)": "empty ranks of a list shorter than k are ignored",
        },
        hidden=("min(k,retrieved)",),
    ),
]
BprefNoNegatives = Annotated[
    Literal["right", "zero"],
    Parameter(
        "value of a query without judged non-relevant items",
        {
            "right": "without judged non-relevant items every returned relevant item counts 1",
            "zero": "queries without judged non-relevant items score 0",
        },
        hidden=("right",),
    ),
]
NoNegatives = Annotated[
    Literal["undefined", "right"],
    Parameter(
        "value of a query without non-relevant items",
        {
            "undefined": "queries without non-relevant items are undefined",
            "right": "queries without non-relevant items score 1",
        },
        hidden=("undefined",),
    ),
]

# Keeps the precision estimated from judged items off 0/0; the value trec_eval uses.
INFAP_EPSILON = 0.00001


def _good_and_bad(ranking: Ranking, parameters: ByName) -> Values:
    return ranking.credit - ranking.judged_nonrelevant


def _right_pairs(ranking: Ranking, parameters: ByName) -> Values | None:
    """Within the top k, the number of pairs depends on the number of relevant items among them."""
    counts_places = (parameters["pairs"] == "list" or ranking.returned_only) and parameters["catalogue"] is None
    return (
        None if counts_places and not ranking.ties_irrelevant(parameters["k"]) else _good_and_bad(ranking, parameters)
    )


def _estimated(ranking: Ranking, parameters: ByName) -> Values | None:
    """A pooled, unjudged item can raise or lower the estimates below it."""
    judged = ranking.always((ranking.grade >= 0) | (ranking.credit > 0))
    return _good_and_bad(ranking, parameters) if judged else None


@metric(
    "auc",
    title="Area under the ROC curve (AUC)",
    aliases=("auroc",),
    formula="pairs with the relevant item above the non-relevant one / all such pairs",
    latex=r"\frac{|\{(a, b) : g_a > g_b,\ s_a > s_b\}|}{|\{(a, b) : g_a > g_b\}|}",
    use_when="The whole order matters, not only the top: scores, classifiers.",
    caveat=(
        "The last ranks count as much as the first. Some tools compute it over all rows, not per query. "
        "A truth of relevant items only has no pairs and scores 0.5: add non-relevant items, or choose pairs='list'."
    ),
    expected=True,
    choices={"undefined": 0.5},
    binary_only=True,
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
    """Probability that a relevant item is ranked above a non-relevant one (area under the ROC curve).

    pairs="judged": over all judged items; those outside the top k are tied at the end of the list.
    pairs="list": over the top k, where every item that is not relevant is non-relevant; divisor="k" then includes the
    empty ranks of a short list, and with catalogue= the items that were not returned are tied at the end.
    Hanley and McNeil, 1982, doi:10.1148/radiology.143.1.7063747.

    >>> rs.auc(scores=[0.8, 0.7, 0.5, 0.3], labels=[1, 0, 1, 0])
    0.75
    """
    if catalogue is not None:
        check_catalogue(ranking, catalogue)
    if ranking.ties_averaged and k is not None:
        raise NoClosedFormError("has no closed form over all orders of tied items with a cutoff")
    if ranking.ties_share_rank and tied_pairs == "order":
        raise NoClosedFormError("is not decided by the order of items that share a rank")
    if ranking.ties_share_rank and k is not None and (pairs == "list" or ranking.returned_only):
        raise NoClosedFormError("has no pairs of k places where items share a rank")
    if ranking.ties_averaged:  # over all orders, each of two tied items is first equally often
        tied_pairs = "half"
    inside = 1.0 if k is None else ranking.number(ranking.rank <= ranking.broadcast(k))
    good = ranking.credit * inside
    hits = ranking.sum(good)
    if pairs == "list" or ranking.returned_only:  # only returned items count
        relevant, ratio = hits, _within_list(ranking, k, good, tied_pairs, divisor, catalogue)
    else:
        relevant, bad = ranking.relevant, ranking.judged_nonrelevant * inside
        hidden = ranking.nonrelevant - ranking.sum(bad)
        right = hits * ranking.nonrelevant - ranking.sum(good * _above(ranking, bad, tied_pairs))
        ratio = Ratio(right + 0.5 * (relevant - hits) * hidden, relevant * ranking.nonrelevant)
    if no_negatives == "undefined":
        return ratio
    only = (relevant > 0) & (ratio.denominator == 0)
    return Ratio(ranking.where(only, 1.0, ratio.numerator), ranking.where(only, 1.0, ratio.denominator))


def _above(ranking: Ranking, bad: Values, tied_pairs: str) -> Values:
    """The number of non-relevant items above each item; tied ones count half, fully, or by their order."""
    if tied_pairs == "order":
        return ranking.running(bad) - bad
    return ranking.above_sum(bad) + ranking.tied_sum(bad) / (2 if tied_pairs == "half" else 1)


def _within_list(
    ranking: Ranking, k: Depth, good: Values, tied_pairs: str, divisor: str, catalogue: int | None
) -> Ratio:
    hits, relevant, places = ranking.sum(good), ranking.relevant, ranking.places(k, divisor)
    if tied_pairs == "order":
        above = ranking.rank - 1 - (ranking.running(good) - good)
    else:
        higher, level = ranking.items_above, ranking.items_tied
        if k is not None:
            level = ranking.minimum(higher + level, ranking.broadcast(k)) - higher
        above = higher - ranking.above_sum(good) + (level - ranking.tied_sum(good)) / (2 if tied_pairs == "half" else 1)
    wrong = ranking.sum(good * above)
    if catalogue is None:
        return Ratio(hits * (ranking.places(k, "min(k,retrieved)") - hits) - wrong, hits * (places - hits))
    bad = catalogue - relevant
    hidden = bad - (places - hits)
    return Ratio(hits * (places - hits) - wrong + (hits + relevant) / 2 * hidden, relevant * bad)


@metric(
    "bpref",
    formula=(
        "sum over the relevant items of 1 - non-relevant items above / min(relevant, non-relevant), "
        "divided by the number of relevant items"
    ),
    latex=(
        r"\frac{1}{\mathrm{relevant}} \sum_{i} \mathrm{rel}_i \Bigl(1 - "
        r"\frac{\mathrm{nonrelevant}(i)}{\min(\mathrm{relevant}, \mathrm{nonrelevant})}\Bigr)"
    ),
    use_when="Judgements are incomplete: it uses judged items only.",
    caveat="It needs judged non-relevant items; with few of them it hardly varies.",
    binary_only=True,
    best_first=_good_and_bad,
)
def bpref(ranking: Ranking, *, no_negatives: BprefNoNegatives = "right") -> Ratio:
    """Binary preference: how rarely judged non-relevant items are above relevant ones; unjudged items are ignored.

    Buckley and Voorhees, 2004, doi:10.1145/1008992.1009000, as trec_eval computes it.

    >>> rs.bpref(["a", "b", "c"], truth={"a": 1, "b": 0, "c": 1})
    0.5
    """
    relevant = ranking.broadcast(ranking.relevant)
    above = ranking.minimum(ranking.nonrelevant_so_far, relevant)
    bound = ranking.maximum(ranking.minimum(relevant, ranking.broadcast(ranking.nonrelevant)), 1.0)
    right = ranking.credit > 0
    if no_negatives == "zero":
        right = right & (ranking.broadcast(ranking.nonrelevant) > 0)
    return Ratio(ranking.sum(ranking.where(right, 1.0 - above / bound, 0.0)), ranking.relevant)


@metric(
    "infap",
    formula="sum over the relevant items of the estimated precision, divided by the number of relevant items",
    latex=r"\frac{1}{\mathrm{relevant}} \sum_{i} \mathrm{rel}_i \, E[\mathrm{precision}(i)]",
    use_when="The judgements are a random sample of the pool, and average precision is to be estimated.",
    caveat="Pooled items that were not sampled must be in the truth with grade -1.",
    binary_only=True,
    best_first=_estimated,
)
def infap(ranking: Ranking) -> Ratio:
    """Inferred average precision: AP estimated from a random sample of judgements.

    Items with a negative grade were pooled but not judged. Yilmaz and Aslam, 2006, doi:10.1145/1183614.1183633, as
    trec_eval computes it.

    >>> rs.metrics.infap(["a", "b", "c"], truth={"a": 1, "b": 0, "c": 1})
    0.8333333333333333
    """
    relevant, bad = ranking.relevant_so_far - 1.0, ranking.nonrelevant_so_far
    pooled = relevant + bad + ranking.running(ranking.number((ranking.grade < 0) & (ranking.credit == 0)))
    estimate = (relevant + INFAP_EPSILON) / (relevant + bad + 2 * INFAP_EPSILON)
    terms = (1.0 + pooled * estimate) / ranking.rank
    return Ratio(ranking.sum(ranking.where(ranking.credit > 0, terms, 0.0)), ranking.relevant)
