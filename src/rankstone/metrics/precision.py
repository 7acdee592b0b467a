"""Metrics that average precision down the list, and those that look for the first relevant item."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from rankstone.align.functions import Depth, Functions, Values
from rankstone.errors import NoExpectedValue
from rankstone.metrics.gains import reciprocal
from rankstone.metrics.registry import ByName, Growth, Parameter, by_relevant, metric
from rankstone.program.ranking import Ranking, Ratio

ApDivisor = Annotated[
    Literal[
        "relevant",
        "min(relevant,k)",
        "min(relevant,retrieved)",
        "min(relevant,k,retrieved)",
        "found",
        "k",
        "grades",
        "none",
    ],
    Parameter(
        "what the sum of precisions is divided by",
        {
            "relevant": "the relevant items",
            "min(relevant,k)": "the relevant items, at most k",
            "min(relevant,retrieved)": "the relevant items, at most as many as the list has",
            "min(relevant,k,retrieved)": "the relevant items, at most k and at most as many as the list has",
            "found": "the relevant items found in the first k",
            "k": "k",
            "grades": "the sum of the k highest grades; of grades 0 and 1, as min(relevant,k)",
            "none": "nothing",
        },
        text={
            "none": "",
            "found": ", over hits(k)",
            "grades": ", over the grades(k) of the ideal list",
            ...: ", over {}",
        },
        latex={
            "none": "",
            "found": r"\frac{1}{\mathrm{hits}(k)} ",
            "grades": r"\frac{1}{\mathrm{grades}(k)\ \mathrm{of\ the\ ideal\ list}} ",
            ...: r"\frac{1}{{}} ",
        },
    ),
]
RecallRounding = Annotated[
    Literal["ceil(x)", "floor(x+0.9)", "round(x)"],
    Parameter(
        "how many items a share of x items is",
        {
            "ceil(x)": "a share of x items needs ceil(x) of them",
            "floor(x+0.9)": "a share of x items needs floor(x+0.9) of them",
            "round(x)": "a share of x items needs round(x) of them",
        },
        quiet=("ceil(x)",),
    ),
]
Recall = Annotated[float, Parameter("share of the relevant items", at_least=0, at_most=1)]
TermDigits = Annotated[
    int | None,
    Parameter(
        "decimals that each precision is rounded to",
        {None: "precisions are not rounded", ...: "each precision rounded to {} decimals"},
        quiet=(None,),
    ),
]
Terms = Annotated[
    Literal["first", "all", "mean"],
    Parameter(
        "which relevant items count",
        {
            "first": "only the first relevant item counts",
            "all": "grade / rank, summed over all relevant items",
            "mean": "1 / rank, averaged over the relevant items found",
        },
        text={
            "first": "1 / rank of the first relevant item",
            "all": "sum of grade / rank over the relevant items",
            "mean": "mean of 1 / rank over the relevant items found",
        },
        latex={
            "first": r"\frac{1}{\min \{i \le k : \mathrm{rel}_i\}}",
            "all": r"\sum_{i \le k} \mathrm{rel}_i \, \frac{g_i}{i}",
            "mean": r"\frac{1}{\mathrm{hits}(k)} \sum_{i \le k} \frac{\mathrm{rel}_i}{i}",
        },
    ),
]


def _found(ranking: Ranking, parameters: ByName) -> Values | None:
    """A mean over the items found may be better with fewer of them; rounded parts of items have no best order."""
    by_found = parameters["divisor"] == "found" and not ranking.settled(parameters["k"])
    in_part = parameters.get("term_digits") is not None and ranking.rule.credit != "whole"
    return None if by_found or in_part else ranking.credit


def _first(ranking: Ranking, parameters: ByName) -> Values | None:
    if parameters["terms"] == "mean" and not ranking.settled(parameters["k"]):
        return None  # a mean over the items found may be better with fewer of them
    return ranking.relevant_grade if parameters["terms"] == "all" else ranking.credit


def _grows(parameters: ByName) -> Growth | None:
    """By k or by nothing it is a sum of hits; by grades it reads more than hits."""
    return None if parameters["divisor"] == "grades" else "hits" if parameters["divisor"] in ("k", "none") else "share"


of_relevant = partial(metric, zeros=False, earns=by_relevant)
averaged = partial(of_relevant, ends_at_k=True, best_first=_found, grows=_grows)
interpolated = partial(of_relevant, grows="share")


@averaged(
    "ap",
    aliases=("map", "average_precision", "mean_average_precision"),
    spellings={"map_cut_{k}": "ap@{k}"},
    formula="sum of the precision at each relevant item<divisor>",
    latex=r"<divisor>\sum_{i \le k} \mathrm{rel}_i \, \frac{\mathrm{hits}(i)}{i}",
    use="Grades are binary, a query has several relevant items, and all of them should come early.",
    beware="Five libraries divide it by five different numbers. At a cutoff, always say which.",
    expected=True,
)
def ap(ranking: Ranking, *, k: Depth = None, divisor: ApDivisor = "relevant", term_digits: TermDigits = None) -> Ratio:
    """Precision at each relevant item of the first k, averaged over all relevant items.

    Buckley and Voorhees, 2000. Its mean over queries is MAP.

    >>> rs.ap([1, 3, 2, 6, 4, 5], truth=[1, 2, 4])
    0.7555555555555555
    """
    return Ratio(_sum_of_precisions(ranking, k, term_digits), _ap_divisor(ranking, k, divisor))


@averaged(
    "gmap",
    aliases=("gm_map",),
    formula="geometric mean over queries of: sum of the precision at each relevant item<divisor>",
    latex=r"\Bigl(\prod_{q} <divisor>\sum_{i \le k} \mathrm{rel}_i \, \frac{\mathrm{hits}(i)}{i}\Bigr)^{1/|Q|}",
    use="Bad queries should weigh more: doubling a poor query counts as much as doubling a good one.",
    beware="Values below 0.00001 are raised to it, so that one query of 0 does not decide.",
    choices={"averaging": "geometric"},
)
def gmap(ranking: Ranking, *, k: Depth = None, divisor: ApDivisor = "relevant") -> Ratio:
    """Average precision, to be averaged geometrically: it rewards lifting the worst queries.

    A query's value counts as at least 0.00001. Robertson, 2006.

    >>> rs.metrics.gmap([1, 3], truth=[1])
    1.0
    """
    return Ratio(_sum_of_precisions(ranking, k, None), _ap_divisor(ranking, k, divisor))


def _sum_of_precisions(ranking: Ranking, k: Depth, digits: int | None) -> Values:
    if ranking.expected:
        if digits is not None:
            raise NoExpectedValue("has no closed form over all orders of tied items with rounded terms")
        return ranking.expected_precisions(k)

    def terms() -> Values:
        precisions = ranking.relevant_so_far / ranking.rank
        return ranking.credit * (precisions if digits is None else ranking.round(precisions, digits))

    return ranking.sum(ranking.remember(("precisions", digits), terms), k)


def _ap_divisor(ranking: Ranking, k: Depth, divisor: ApDivisor) -> Values:
    if divisor == "relevant":
        return ranking.relevant
    if divisor == "none":
        return ranking.one
    if divisor == "found":
        if ranking.expected:
            raise NoExpectedValue("has no closed form over all orders of tied items with divisor='found'")
        return ranking.hits(k)
    if divisor == "k":
        return ranking.places(k, "k")
    if divisor == "grades":
        ideal = ranking.ideal(k=k)
        return ideal.sum(ideal.maximum(ideal.grade, 0.0), k)
    bound = ranking.minimum(ranking.relevant, ranking.retrieved) if "retrieved" in divisor else ranking.relevant
    return ranking.minimum(bound, k) if "k" in divisor and k is not None else bound


def _grows_by_terms(parameters: ByName) -> Growth:
    growths: dict[str, Growth] = {"first": "hits", "all": "gains", "mean": "share"}
    return growths[parameters["terms"]]


@of_relevant(
    "rr",
    aliases=("mrr", "reciprocal_rank", "recip_rank", "mean_reciprocal_rank"),
    formula="<terms>",
    latex="<terms>",
    use="The reader wants one right answer and stops there: questions, navigation.",
    beware="The steps are uneven: from rank 1 to 2 it falls by a half, from 10 to 11 by hardly anything.",
    expected=True,
    ends_at_k=True,
    best_first=_first,
    grows=_grows_by_terms,
)
def rr(ranking: Ranking, *, k: Depth = None, terms: Terms = "first") -> Ratio:
    """One over the rank of the first relevant item in the first k; 0 if there is none.

    terms="all" sums grade / rank over every relevant item instead, terms="mean" averages 1 / rank over those found. Its
    mean over queries is MRR.

    >>> rs.rr([3, 1, 2], truth=[1, 2])
    0.5
    """
    if terms == "all":
        return Ratio(ranking.discounted(ranking.relevant_grade, reciprocal, k), ranking.one)
    if terms == "mean":
        if ranking.expected:
            raise NoExpectedValue("has no closed form over all orders of tied items with terms='mean'")
        return Ratio(ranking.discounted(ranking.credit, reciprocal, k), ranking.sum(ranking.credit, k))
    return Ratio(ranking.expected_reciprocal(k) if ranking.expected else 1.0 / ranking.first(k), ranking.one)


@interpolated(
    "iprec",
    aliases=("iprec_at_recall",),
    spellings={"iprec_at_recall_{x}": "iprec(recall={x})", "iprec@{x}": "iprec(recall={x})"},
    formula="highest precision at or beyond recall <recall>",
    latex=r"\max_{i : \mathrm{recall}(i) \ge <recall>} \mathrm{precision}(i)",
    use="Drawing a precision-recall curve.",
    beware="It is interpolated: the highest precision from there on.",
)
def iprec(ranking: Ranking, *, recall: Recall = 0.0, recall_rounding: RecallRounding = "ceil(x)") -> Ratio:
    """Highest precision at any rank where at least this share of the relevant items has been found.

    `recall_rounding` says how many items a share of x items is: trec_eval 9 takes floor(x+0.9), trec_eval 10 round(x).

    >>> rs.metrics.iprec([1, 3, 2], truth=[1, 2], recall=0.75)
    0.6666666666666666
    """
    return Ratio(_interpolated(ranking, recall, recall_rounding), ranking.one)


@interpolated(
    "iprec11",
    aliases=("eleven_point",),
    spellings={"11pt_avg": "iprec11"},
    formula="mean of iprec at recall 0, 0.1 ... 1",
    latex=r"\frac{1}{11} \sum_{r \in \{0, 0.1, \ldots, 1\}} \max_{i : \mathrm{recall}(i) \ge r} \mathrm{precision}(i)",
    use="Comparing with figures from the time when this was the usual summary.",
    beware="Average precision says nearly the same without interpolation.",
)
def iprec11(ranking: Ranking, *, recall_rounding: RecallRounding = "ceil(x)") -> Ratio:
    """Mean of the interpolated precision at recall 0, 0.1, up to 1.

    >>> rs.metrics.iprec11([1, 3, 2], truth=[1, 2])
    0.8484848484848484
    """
    return Ratio(sum(_interpolated(ranking, i / 10, recall_rounding) for i in range(11)) / 11.0, ranking.one)


def _interpolated(ranking: Ranking, recall: float, recall_rounding: RecallRounding) -> Values:
    def least(f: Functions, relevant: Values) -> Values:
        if recall_rounding == "ceil(x)":  # 0.3 of 10 items are 3, although 0.3 * 10 is a little more than 3
            return f.ceil(f.round(recall * relevant, 9))
        return f.floor(recall * relevant + (0.9 if recall_rounding == "floor(x+0.9)" else 0.5))

    so_far = ranking.relevant_so_far
    inside = (ranking.credit > 0) & (so_far >= ranking.spread(ranking.by_count(least)))
    return ranking.highest(ranking.where(inside, so_far / ranking.rank, 0.0))
