"""Cumulative gain of graded relevance: CG, DCG and nDCG."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Literal

from rankstone.align.elementwise import Depth, Discount, Functions, Values
from rankstone.errors import InputError
from rankstone.metrics.registry import ByName, Monotonicity, Parameter, metric
from rankstone.program.ranking import Ranking, Ratio

GAIN = Parameter(
    "gain of a grade: linear, exp2 (or exp with another base), binary, or a table such as {0: 0, 1: 3}",
    {
        "linear": "linear gain: the grade",
        "exp2": "exponential gain: 2^grade - 1",
        "binary": "binary gain: 1 if relevant",
        ...: "gain {}",
    },
)
Gain = Annotated[Any, GAIN]
# The words of the formula of nDCG: "DCG with linear gain".
NdcgGain = Annotated[Any, replace(GAIN, text={"linear": "linear gain", "binary": "binary gain", ...: "gain {}"})]
Negative = Annotated[
    Literal["zero", "signed", "error"],
    Parameter(
        "gain of a negative grade",
        {
            "zero": "negative grades have gain 0",
            "signed": "negative grades have negative gain",
            "error": "a negative grade is an error",
        },
    ),
]
BelowThreshold = Annotated[
    Literal["gain", "no_gain"],
    Parameter(
        "gain of a grade below the relevance threshold",
        {"gain": "grades below the threshold have their gain", "no_gain": "grades below the threshold have gain 0"},
        hidden=("gain",),
    ),
]
DISCOUNT = Parameter(
    "rank discount: the gain is divided by it",
    {
        "log2(rank+1)": "discount log2(rank+1)",
        "log2(max(rank,2))": "discount log2(rank), 1 at ranks 1 and 2",
        "ln(rank+1)": "discount ln(rank+1)",
        "rank": "discount by the rank",
    },
)
DiscountName = Annotated[Literal["log2(rank+1)", "log2(max(rank,2))", "ln(rank+1)", "rank"], DISCOUNT]
NdcgDiscount = Annotated[
    Literal["log2(rank+1)", "log2(max(rank,2))", "ln(rank+1)", "rank"],
    replace(DISCOUNT, text={"log2(rank+1)": "", ...: " and discount {}"}),
]
IdealItems = Annotated[
    Literal["judged", "nonzero", "retrieved", "ones", "repeats", "given"],
    Parameter(
        "which items are in the ideal ranking",
        {
            "judged": "ideal ranking of all judged items",
            "nonzero": "ideal ranking of all items with a non-zero grade",
            "retrieved": "ideal ranking of the judged items that were returned",
            "ones": "ideal ranking of k relevant items",
            "repeats": "ideal ranking of the relevant items, a repeated one as often as it is returned",
            "given": "ideal ranking of all judged items, in the order of the truth if that is a list of grades",
        },
    ),
]
DcgDivisor = Annotated[
    Literal["none", "relevant"],
    Parameter(
        "whether to divide by the number of relevant items",
        {"none": "not divided", "relevant": "divided by the number of relevant items, or by their total weight"},
        text={"none": "", "relevant": ", divided by the number of relevant items"},
        latex={"none": "", "relevant": r" \Bigm/ \mathrm{relevant}"},
    ),
]
IdealSign = Annotated[
    Literal["any", "positive"],
    Parameter(
        "whether the ideal DCG may be negative",
        {
            "any": "the ideal DCG may be negative",
            "positive": "undefined if the ideal DCG is not positive",
        },
        hidden=("any",),
    ),
]
IdealOrder = Annotated[
    Literal["best", "worst"],
    Parameter(
        "which items of the ideal ranking come first",
        {"best": "best items first in the ideal ranking", "worst": "worst items first in the ideal ranking"},
        hidden=("best",),
        applies_when=("ideal", ("judged", "nonzero", "retrieved", "given")),
    ),
]
IdealGrades = Annotated[
    Literal["judged", "whole"],
    Parameter(
        "grades in the ideal ranking",
        {"judged": "grades as judged", "whole": "grades rounded down to whole numbers in the ideal ranking"},
        hidden=("judged",),
        applies_when=("ideal", ("judged", "nonzero", "retrieved", "given")),
    ),
]
UnjudgedGain = Annotated[
    float,
    Parameter(
        "gain of returned items that are unjudged; the ideal ranking has none of them",
        {...: "unjudged items that are returned have gain {:g}"},
        hidden=(0,),
    ),
]
IdealDepth = Annotated[
    Literal["k", "min(k,retrieved)", "all"],
    Parameter(
        "cutoff of the ideal ranking",
        {
            "k": "ideal ranking cut at k",
            "min(k,retrieved)": "ideal ranking cut at k and at the number of returned items",
            "all": "ideal ranking not cut",
        },
    ),
]


def reciprocal(f: Functions, rank: Values) -> Values:
    """The reciprocal rank, 1 / rank."""
    return 1.0 / rank


@dataclass(frozen=True)
class Geometric:
    """The geometric discount first * p^(rank - 1): the user continues to the next rank with probability p."""

    p: float
    first: float = 1.0

    def __call__(self, f: Functions, rank: Values) -> Values:
        return self.first * self.p ** (rank - 1.0)


DISCOUNTS: Mapping[str, Discount] = {
    "log2(rank+1)": lambda f, rank: 1.0 / f.log2(rank + 1.0),
    "log2(max(rank,2))": lambda f, rank: 1.0 / f.log2(f.maximum(rank, 2.0)),
    "ln(rank+1)": lambda f, rank: 1.0 / f.log(rank + 1.0),
    "rank": reciprocal,
    "log2(rank+2)": lambda f, rank: 1.0 / f.log2(rank + 2.0),  # an error of some tools, which audits look for
}


def gains(
    ranking: Ranking, gain: Gain, negative: Negative, below_threshold: BelowThreshold, whole: bool = False
) -> Values:
    """The gain of each item; whole: of its grade, rounded down."""
    key = ("gains", gain, negative, below_threshold, whole)
    return ranking.remember(key, lambda: ranking.weighted(_gain_of(ranking, gain, negative, below_threshold, whole)))


def _discounted(ranking: Ranking, gains: Values, unjudged_gain: float, discount: Discount, k: Depth) -> Values:
    """The DCG; unjudged items add the discounts of all that is returned, less those of the judged items."""
    dcg = ranking.discounted(gains, discount, k)
    if unjudged_gain == 0:
        return dcg
    judged = ranking.discounted(ranking.graph.of(1.0), discount, k)
    return dcg + unjudged_gain * (ranking.sum_of_discounts(discount, ranking.places(k, "min(k,retrieved)")) - judged)


def _gain_of(
    ranking: Ranking, gain: Gain, negative: Negative, below_threshold: BelowThreshold, whole: bool = False
) -> Values:
    grade = ranking.floor(ranking.grade) if whole else ranking.grade
    if below_threshold == "no_gain":
        return ranking.where(ranking.relevance(grade) > 0, _gain_of(ranking, gain, negative, "gain", whole), 0.0)
    if gain == "binary":
        return ranking.relevance(grade)
    if isinstance(gain, tuple):
        return ranking.looked_up(grade, gain)
    base = _base(gain)
    value = grade
    if base is not None:
        value = exponential(ranking, base, grade)
        ranking.raise_at_items(value == math.inf, f"grade {{:g}} is too large for gain {gain!r}", grade)
    return ranking.maximum(value, 0.0) if negative == "zero" else value


def exponential(f: Functions, base: float, grade: Values) -> Values:
    """The exponential gain: base^grade - 1."""
    return f.power(base, grade) - 1.0


def _base(gain: Gain) -> float | None:
    """The base of an exponential gain; None for linear gain."""
    if gain == "linear":
        return None
    match = re.fullmatch(r"exp(\d+(?:\.\d+)?)", gain) if isinstance(gain, str) else None
    if match is None or not float(match[1]) > 1:
        raise InputError(f"gain {gain!r}; choose from 'linear', 'exp2', 'binary' or a table such as {{0: 0, 1: 3}}")
    return float(match[1])


def _check_grades(ranking: Ranking, gain: Gain, negative: Negative) -> None:
    if ranking.returned_only and isinstance(gain, tuple) and dict(gain).get(0) != 0:
        ranking.raise_where(
            ranking.placed < ranking.retrieved,
            "unjudged='only_returned' gives unjudged items grade 0, and the gain table does not map grade 0 to gain 0; "
            "add 0: 0, or judge every returned item:",
        )
    if negative == "error":
        truth = ranking.ideal("given")
        truth.raise_at_items(truth.grade < 0, "grade {:g} is negative; choose negative='zero' or 'signed'", truth.grade)


def _values_zero(parameters: ByName) -> bool:
    """A gain table may map grade 0 to a gain; and an unjudged item's gain is not that of an item judged 0."""
    return isinstance(parameters["gain"], tuple) or parameters.get("unjudged_gain", 0) != 0


def _places_zero(parameters: ByName) -> bool:
    """In some ideal rankings an item with grade 0 is ranked above others with a gain."""
    ordered = parameters["ideal"] == "given" or parameters["ideal_order"] == "worst"
    return _values_zero(parameters) or ordered or parameters["negative"] == "signed"


def _gains(ranking: Ranking, parameters: ByName) -> Values:
    """Gains above that of an unjudged item, which counts 0 where tied items are ordered."""
    gain_of = gains(ranking, parameters["gain"], parameters["negative"], parameters["below_threshold"])
    return gain_of - parameters["unjudged_gain"] if parameters.get("unjudged_gain") else gain_of


def _sum_grows(parameters: ByName) -> Monotonicity | None:
    """A sum of gains grows with each gain, unless the gains are a table or the sum is divided."""
    plain = not _values_zero(parameters) and parameters.get("divisor", "none") == "none"
    return "sum of gains" if plain else None


def _any_gain(ranking: Ranking, parameters: ByName) -> Values:
    truth = ranking.ideal("given")
    any_gain = truth.highest(truth.abs(_gains(truth, {**parameters, "unjudged_gain": 0})))
    return any_gain + abs(parameters.get("unjudged_gain", 0))  # an unjudged item may have one


graded = partial(metric, expected=True, ends_at_k=True, best_first=_gains, weightable=True)
of_gains = partial(
    graded, reads_zero_grades=_values_zero, bounds=(0, math.inf), defined_where=_any_gain, monotonicity=_sum_grows
)


@of_gains(
    "cg",
    formula="sum of <gain>",
    latex=r"\sum_{i \le k} <gain>",
    use_when="The total gain of the top k, in any order.",
    caveat="It ignores the order and is not normalised.",
)
def cg(
    ranking: Ranking,
    *,
    k: Depth = None,
    gain: Gain = "linear",
    negative: Negative = "zero",
    below_threshold: BelowThreshold = "gain",
) -> Ratio:
    """Cumulative gain: the sum of the gains of the top k items.

    Järvelin and Kekäläinen, 2002, doi:10.1145/582415.582418.

    >>> rs.metrics.cg(labels=[3, 2, 3, 0, 1, 2], k=6)
    11.0
    """
    _check_grades(ranking, gain, negative)
    return Ratio(ranking.sum(gains(ranking, gain, negative, below_threshold), k), ranking.one)


@of_gains(
    "dcg",
    title="Discounted cumulative gain (DCG)",
    aliases=("discounted_cumulative_gain",),
    spellings={"dcg_burges": "dcg(gain='exp2')"},  # ranx
    formula="sum of <gain> / <discount><divisor>",
    latex=r"\sum_{i \le k} \frac{<gain>}{<discount>}<divisor>",
    use_when="Graded relevance, and early ranks matter more, without normalisation per query.",
    caveat="Not comparable between queries: a query with more relevant items can reach a higher value.",
)
def dcg(
    ranking: Ranking,
    *,
    k: Depth = None,
    gain: Gain = "linear",
    discount: DiscountName = "log2(rank+1)",
    negative: Negative = "zero",
    below_threshold: BelowThreshold = "gain",
    divisor: DcgDivisor = "none",
    unjudged_gain: UnjudgedGain = 0.0,
) -> Ratio:
    """Discounted cumulative gain: the sum of gain / discount(rank) over the top k items.

    Järvelin and Kekäläinen, 2002, doi:10.1145/582415.582418. below_threshold="no_gain": no gain for grades below the
    threshold to 0. With inverse propensities as weights it is the estimator of Schnabel et al., 2016, and
    divisor="relevant" normalises it by these weights.

    >>> rs.dcg(labels=[3, 0, 1], k=3)
    3.5
    """
    _check_grades(ranking, gain, negative)
    gain_of = gains(ranking, gain, negative, below_threshold)
    dcg = _discounted(ranking, gain_of, unjudged_gain, DISCOUNTS[discount], k)
    return Ratio(dcg, ranking.one if divisor == "none" else ranking.relevant)


def _grows(parameters: ByName) -> Monotonicity | None:
    """The order of a truth that is a list of grades is not predictable; negative gains may make the ideal DCG 0."""
    other = parameters["ideal"] == "repeats" or parameters["ideal_grades"] == "whole"
    if _places_zero(parameters) or other:
        return None
    if parameters["ideal"] == "ones":  # the ideal DCG does not depend on the judgements
        return "sum of hits" if parameters["gain"] == "binary" else "sum of gains"
    return "share" if parameters["gain"] == "binary" else "share of gains"


@graded(
    "ndcg",
    title="Normalised discounted cumulative gain (nDCG)",
    aliases=("normalized_dcg", "normalized_discounted_cumulative_gain"),
    spellings={  # trec_eval, Quepid, ranx
        "ndcg_cut_{k}": "ndcg@{k}",
        "ndcg_cut@{k}": "ndcg(ideal_depth='k')@{k}",
        "ndcg_burges": "ndcg(gain='exp2')",
    },
    formula="DCG with <gain><discount>, divided by the ideal DCG",
    latex=r"\frac{\sum_{i \le k} <gain> / <discount>}{\sum_{i \in \mathrm{ideal}} <gain> / <discount>}",
    use_when="Graded relevance, and early ranks matter more.",
    caveat=(
        "Libraries differ in the gain (grade, or 2^grade - 1), the ideal ranking and queries without relevant "
        "items; each of these can change the mean more than most improvements do."
    ),
    reads_zero_grades=_places_zero,
    monotonicity=_grows,
)
def ndcg(
    ranking: Ranking,
    *,
    k: Depth = None,
    gain: NdcgGain = "linear",
    discount: NdcgDiscount = "log2(rank+1)",
    negative: Negative = "zero",
    ideal: IdealItems = "judged",
    ideal_depth: IdealDepth = "k",
    ideal_sign: IdealSign = "any",
    ideal_order: IdealOrder = "best",
    ideal_grades: IdealGrades = "judged",
    below_threshold: BelowThreshold = "gain",
    unjudged_gain: UnjudgedGain = 0.0,
) -> Ratio:
    """Normalised discounted cumulative gain: the DCG of the top k, divided by the DCG of the ideal ranking.

    Järvelin and Kekäläinen, 2002, doi:10.1145/582415.582418; gain="exp2" is that of Burges et al., 2005.
    below_threshold="no_gain": no gain for grades below the threshold to 0.

    >>> rs.ndcg([1, 3, 2, 6], truth=[1, 2, 4], k=2)
    0.6131471927654584
    """
    if ideal == "repeats":
        ranking.need_order()  # whatever the grades
    _check_grades(ranking, gain, negative)
    weigh = DISCOUNTS[discount]

    def gain_of(items: Ranking) -> Values:
        return gains(items, gain, negative, below_threshold)

    def ideal_gain(items: Ranking) -> Values:
        return gains(items, gain, negative, below_threshold, ideal_grades == "whole")

    def best_last(items: Ranking) -> Values:
        return -ideal_gain(items)

    if ideal == "given" and not ranking.ordered_grades:  # the truth has no order
        ideal = "judged"
    weighted = ranking.relevance_rule.credit == "weighted"
    if weighted and ideal != "judged":
        raise InputError(f"ndcg: relevance='weighted' goes with ideal='judged', not with {ideal!r}")
    depth = k if ideal_depth == "k" else None if ideal_depth == "all" else ranking.places(k, "min(k,retrieved)")
    if ideal == "ones":
        ideal_dcg = ranking.sum_of_discounts(weigh, depth, smooth=True)
    elif ideal == "repeats":
        count = ranking.floor(ranking.relevant + ranking.sum(ranking.credit * ranking.is_repeat, k))
        ideal_dcg = ranking.sum_of_discounts(weigh, count if depth is None else ranking.minimum(count, depth))
    else:
        # Gains of a table, and weights, need not grow with the grade.
        by_gain = (isinstance(gain, tuple) and ideal != "given") or weighted
        order = best_last if ideal_order == "worst" else ideal_gain if by_gain else None
        best = ranking.ideal(ideal, order, None if ideal_depth == "all" else k)
        ideal_dcg = best.discounted(ideal_gain(best), weigh, depth)
    dcg = _discounted(ranking, gain_of(ranking), unjudged_gain, weigh, k)
    return Ratio(dcg, ranking.maximum(ideal_dcg, 0.0) if ideal_sign == "positive" else ideal_dcg)
