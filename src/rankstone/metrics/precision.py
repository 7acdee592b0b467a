"""Average precision, interpolated precision and reciprocal rank."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from rankstone.align.elementwise import Depth, Functions, Values
from rankstone.errors import NoClosedFormError
from rankstone.metrics.gains import reciprocal
from rankstone.metrics.registry import ByName, Monotonicity, Parameter, by_relevant, metric
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
        "denominator of average precision",
        {
            "relevant": "the number of relevant items",
            "min(relevant,k)": "the number of relevant items, at most k",
            "min(relevant,retrieved)": "the number of relevant items, at most the number of returned items",
            "min(relevant,k,retrieved)": "the number of relevant items, at most k and the number of returned items",
            "found": "the number of relevant items in the top k",
            "k": "k",
            "grades": "the sum of the k highest grades; equals min(relevant,k) for binary grades",
            "none": "not divided",
        },
        text={
            "none": "",
            "relevant": ", divided by the number of relevant items",
            "min(relevant,k)": ", divided by the smaller of k and the number of relevant items",
            "min(relevant,retrieved)": ", divided by the smaller of the numbers of relevant and of returned items",
            "min(relevant,k,retrieved)": ", divided by the smallest of k, the relevant and the returned items",
            "found": ", divided by hits(k)",
            "k": ", divided by k",
            "retrieved": ", divided by the number of returned items",
            "grades": ", divided by the sum of the highest grades(k)",
        },
        latex={
            "none": "",
            "found": r"\frac{1}{\mathrm{hits}(k)} ",
            "grades": r"\frac{1}{\mathrm{sum\ of\ the\ highest\ grades}(k)} ",
            ...: r"\frac{1}{{}} ",
        },
    ),
]
RecallRounding = Annotated[
    Literal["ceil(x)", "floor(x+0.9)", "round(x)"],
    Parameter(
        "how recall * relevant is rounded to a number of items",
        {
            "ceil(x)": "x = recall * relevant is rounded to ceil(x)",
            "floor(x+0.9)": "x = recall * relevant is rounded to floor(x+0.9)",
            "round(x)": "x = recall * relevant is rounded to round(x)",
        },
        hidden=("ceil(x)",),
    ),
]
Recall = Annotated[float, Parameter("recall level", at_least=0, at_most=1)]
TermDigits = Annotated[
    int | None,
    Parameter(
        "decimals of each precision before summing",
        {None: "precisions are not rounded", ...: "each precision rounded to {} decimals"},
        hidden=(None,),
    ),
]
MeanTerms = Annotated[
    Literal["first", "all", "mean"],
    Parameter(
        "which relevant items count",
        {
            "first": "only the first relevant item counts",
            "all": "grade / rank, summed over all relevant items",
            "mean": "1 / rank, averaged over the relevant items returned",
        },
        text={
            "first": "1 / rank of the first relevant item, 0 if there is none",
            "all": "sum of grade / rank over the relevant items",
            "mean": "mean of 1 / rank over the relevant items returned",
        },
        latex={
            "first": r"\frac{1}{\min \{i \le k : \mathrm{rel}_i\}}",
            "all": r"\sum_{i \le k} \mathrm{rel}_i \, \frac{g_i}{i}",
            "mean": r"\frac{1}{\mathrm{hits}(k)} \sum_{i \le k} \frac{\mathrm{rel}_i}{i}",
        },
    ),
]


def _hits_or_none(ranking: Ranking, parameters: ByName) -> Values | None:
    """Divided by hits, fewer hits may be better; rounded fractional relevance has no best order."""
    by_hits = parameters["divisor"] == "found" and not ranking.ties_irrelevant(parameters["k"])
    in_part = parameters.get("term_digits") is not None and ranking.relevance_rule.credit != "binary"
    return None if by_hits or in_part else ranking.credit


def _first(ranking: Ranking, parameters: ByName) -> Values | None:
    if parameters["terms"] == "mean" and not ranking.ties_irrelevant(parameters["k"]):
        return None  # divided by hits, fewer hits may be better
    return ranking.relevant_grade if parameters["terms"] == "all" else ranking.credit


def _grows(parameters: ByName) -> Monotonicity | None:
    """Divided by k, or undivided, it is a sum over hits; divided by grades, it depends on the grades."""
    return None if parameters["divisor"] == "grades" else "hits" if parameters["divisor"] in ("k", "none") else "share"


of_relevant = partial(metric, reads_zero_grades=False, defined_where=by_relevant)
averaged = partial(of_relevant, ends_at_k=True, best_first=_hits_or_none, monotonicity=_grows)
interpolated = partial(of_relevant, monotonicity="share")


_PRECISIONS = "sum of the precision at the rank of each relevant item[k:  in the top k]"


@averaged(
    "ap",
    title="Average precision (MAP)",
    aliases=("map", "average_precision", "mean_average_precision"),
    spellings={"map_cut_{k}": "ap@{k}"},
    formula=f"{_PRECISIONS}<divisor>",
    latex=r"<divisor>\sum_{i \le k} \mathrm{rel}_i \, \frac{\mathrm{hits}(i)}{i}",
    use_when="Relevance is binary, queries have several relevant items, and all of them should be ranked early.",
    caveat="Libraries use different denominators with a cutoff; always report which one.",
    expected=True,
)
def ap(ranking: Ranking, *, k: Depth = None, divisor: ApDivisor = "relevant", term_digits: TermDigits = None) -> Ratio:
    """Mean of the precision at the rank of each relevant item; its mean over queries is MAP.

    Relevant items below rank k, or not returned, count 0. Buckley and Voorhees, 2000.

    >>> rs.ap([1, 3, 2, 6, 4, 5], truth=[1, 2, 4])
    0.7555555555555555
    """
    return Ratio(_sum_of_precisions(ranking, k, term_digits), _ap_divisor(ranking, k, divisor))


@averaged(
    "gmap",
    title="Geometric mean average precision (GMAP)",
    aliases=("gm_map",),
    formula=f"geometric mean over queries of: {_PRECISIONS}<divisor>",
    latex=r"\Bigl(\prod_{q} <divisor>\sum_{i \le k} \mathrm{rel}_i \, \frac{\mathrm{hits}(i)}{i}\Bigr)^{1/|Q|}",
    use_when="Hard queries should have more weight: doubling a low value counts as much as doubling a high one.",
    caveat="Values below 0.00001 are raised to 0.00001, so that a single 0 does not make the mean 0.",
    choices={"averaging": "geometric"},
)
def gmap(ranking: Ranking, *, k: Depth = None, divisor: ApDivisor = "relevant") -> Ratio:
    """Geometric mean over queries of average precision; it emphasises hard queries.

    A query's value is at least 0.00001. Robertson, 2006.

    >>> rs.metrics.gmap([1, 3], truth=[1])
    1.0
    """
    return Ratio(_sum_of_precisions(ranking, k, None), _ap_divisor(ranking, k, divisor))


def _sum_of_precisions(ranking: Ranking, k: Depth, digits: int | None) -> Values:
    if ranking.ties_averaged:
        if digits is not None:
            raise NoClosedFormError("has no closed form over all orders of tied items with rounded terms")
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
        if ranking.ties_averaged:
            raise NoClosedFormError("has no closed form over all orders of tied items with divisor='found'")
        return ranking.hits(k)
    if divisor == "k":
        return ranking.places(k, "k")
    if divisor == "grades":
        ideal = ranking.ideal(k=k)
        return ideal.sum(ideal.maximum(ideal.grade, 0.0), k)
    bound = ranking.minimum(ranking.relevant, ranking.retrieved) if "retrieved" in divisor else ranking.relevant
    return ranking.minimum(bound, k) if "k" in divisor and k is not None else bound


def _grows_by_terms(parameters: ByName) -> Monotonicity:
    growths: dict[str, Monotonicity] = {"first": "hits", "all": "sum of gains", "mean": "share"}
    return growths[parameters["terms"]]


@of_relevant(
    "rr",
    title="Reciprocal rank (MRR)",
    aliases=("mrr", "reciprocal_rank", "recip_rank", "mean_reciprocal_rank"),
    formula="<terms>",
    latex="<terms>",
    use_when="The user needs one correct answer and stops there: question answering, navigational search.",
    caveat="The steps are uneven: it halves from rank 1 to 2 and hardly changes from rank 10 to 11.",
    expected=True,
    ends_at_k=True,
    best_first=_first,
    monotonicity=_grows_by_terms,
)
def rr(ranking: Ranking, *, k: Depth = None, terms: MeanTerms = "first") -> Ratio:
    """Reciprocal rank of the first relevant item in the top k, 0 if there is none; its mean over queries is MRR.

    terms="all" sums grade / rank over all relevant items instead; terms="mean" averages 1 / rank over the
    relevant items returned. Voorhees, 1999.

    >>> rs.rr([3, 1, 2], truth=[1, 2])
    0.5
    """
    if terms == "all":
        return Ratio(ranking.discounted(ranking.relevant_grade, reciprocal, k), ranking.one)
    if terms == "mean":
        if ranking.ties_averaged:
            raise NoClosedFormError("has no closed form over all orders of tied items with terms='mean'")
        return Ratio(ranking.discounted(ranking.credit, reciprocal, k), ranking.sum(ranking.credit, k))
    return Ratio(ranking.expected_reciprocal(k) if ranking.ties_averaged else 1.0 / ranking.first(k), ranking.one)


@interpolated(
    "iprec",
    aliases=("iprec_at_recall",),
    spellings={"iprec_at_recall_{x}": "iprec(recall={x})", "iprec@{x}": "iprec(recall={x})"},
    formula="highest precision at or beyond recall <recall>",
    latex=r"\max_{i : \mathrm{recall}(i) \ge <recall>} \mathrm{precision}(i)",
    use_when="Drawing an interpolated precision-recall curve.",
    caveat="It is interpolated: the highest precision at this recall or any higher one.",
)
def iprec(ranking: Ranking, *, recall: Recall = 0.0, recall_rounding: RecallRounding = "ceil(x)") -> Ratio:
    """Interpolated precision at a recall level: the highest precision at this recall or any higher one.

    `recall_rounding`: how recall times relevant is rounded. trec_eval 9 uses floor(x+0.9), trec_eval 10 round(x).

    >>> rs.metrics.iprec([1, 3, 2], truth=[1, 2], recall=0.75)
    0.6666666666666666
    """
    return Ratio(_interpolated(ranking, recall, recall_rounding), ranking.one)


@interpolated(
    "iprec11",
    aliases=("eleven_point",),
    spellings={"11pt_avg": "iprec11"},
    formula="mean of the interpolated precision at recall 0, 0.1, ..., 1",
    latex=r"\frac{1}{11} \sum_{r \in \{0, 0.1, \ldots, 1\}} \max_{i : \mathrm{recall}(i) \ge r} \mathrm{precision}(i)",
    use_when="Comparing with older results that report 11-point average precision.",
    caveat="Average precision measures nearly the same without interpolation.",
)
def iprec11(ranking: Ranking, *, recall_rounding: RecallRounding = "ceil(x)") -> Ratio:
    """Eleven-point interpolated average precision: the mean at recall 0, 0.1, ..., 1.

    >>> rs.metrics.iprec11([1, 3, 2], truth=[1, 2])
    0.8484848484848484
    """
    return Ratio(sum(_interpolated(ranking, i / 10, recall_rounding) for i in range(11)) / 11.0, ranking.one)


def _interpolated(ranking: Ranking, recall: float, recall_rounding: RecallRounding) -> Values:
    def least(f: Functions, relevant: Values) -> Values:
        if recall_rounding == "ceil(x)":  # 0.3 * 10 in floating point is a little more than 3
            return f.ceil(f.round(recall * relevant, 9))
        return f.floor(recall * relevant + (0.9 if recall_rounding == "floor(x+0.9)" else 0.5))

    so_far = ranking.relevant_so_far
    inside = (ranking.credit > 0) & (so_far >= ranking.broadcast(ranking.by_count(least)))
    return ranking.highest(ranking.where(inside, so_far / ranking.rank, 0.0))
