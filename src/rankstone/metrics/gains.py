"""Metrics of graded relevance: what the items are worth, discounted by how far down they stand."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from rankstone.align.functions import Depth, Discount, Functions, Values
from rankstone.metrics.registry import ByName, Growth, Parameter, metric
from rankstone.program.ranking import Ranking, Ratio

Gain = Annotated[
    Any,
    Parameter(
        "what a grade is worth: linear, exp2 (or exp with another base), binary, or a table such as {0: 0, 1: 3}",
        {
            "linear": "gain is the grade",
            "exp2": "gain is 2^grade - 1",
            "binary": "gain is 1 for a relevant item",
            ...: "gain {}",
        },
    ),
]
Negative = Annotated[
    Literal["zero", "signed", "error"],
    Parameter(
        "what a negative grade is worth",
        {
            "zero": "negative grades count 0",
            "signed": "negative grades count against",
            "error": "a negative grade is an error",
        },
    ),
]
BelowThreshold = Annotated[
    Literal["gain", "no_gain"],
    Parameter(
        "what a grade below the threshold has",
        {"gain": "a grade below the threshold has its gain", "no_gain": "no gain below the threshold"},
        quiet=("gain",),
    ),
]
DiscountName = Annotated[
    Literal["log2(rank+1)", "log2(max(rank,2))", "ln(rank+1)", "rank"],
    Parameter(
        "what a gain is divided by, further down the list",
        {
            "log2(rank+1)": "divided by log2(rank+1): 1, 1.58, 2 ...",
            "log2(max(rank,2))": "divided by log2(rank), and not at all at ranks 1 and 2",
            "ln(rank+1)": "divided by the natural logarithm of rank + 1",
            "rank": "divided by the rank",
        },
    ),
]
IdealItems = Annotated[
    Literal["judged", "nonzero", "retrieved", "ones", "given"],
    Parameter(
        "which items make the ideal list",
        {
            "judged": "ideal list of all judged items",
            "nonzero": "ideal list of all items judged other than 0",
            "retrieved": "ideal list of the judged items in the run",
            "ones": "ideal list of k relevant items",
            "given": "ideal list of all judged items, in the order of the truth where that is a list of grades",
        },
    ),
]
DcgDivisor = Annotated[
    Literal["none", "relevant"],
    Parameter(
        "whether to divide by the number of relevant items",
        {"none": "not divided", "relevant": "divided by the number of relevant items, or by what these weigh"},
        text={"none": "", "relevant": ", over relevant"},
        latex={"none": "", "relevant": r" \Bigm/ \mathrm{relevant}"},
    ),
]
IdealSign = Annotated[
    Literal["any", "positive"],
    Parameter(
        "whether an ideal list may earn 0 or less",
        {
            "any": "an ideal list may earn less than 0",
            "positive": "nothing could be earned where the ideal list earns no more than 0",
        },
        quiet=("any",),
    ),
]
IdealDepth = Annotated[
    Literal["k", "min(k,retrieved)", "all"],
    Parameter(
        "how deep the ideal list goes",
        {"k": "cut at k", "min(k,retrieved)": "cut at k or the length of the list", "all": "not cut"},
    ),
]


def reciprocal(f: Functions, rank: Values) -> Values:
    """One over the rank."""
    return 1.0 / rank


@dataclass(frozen=True)
class Geometric:
    """p^(rank - 1), of a person who goes on to the next place with probability p; times what the first one counts."""

    p: float
    first: float = 1.0

    def __call__(self, f: Functions, rank: Values) -> Values:
        return self.first * self.p ** (rank - 1.0)


DISCOUNTS: Mapping[str, Discount] = {
    "log2(rank+1)": lambda f, rank: 1.0 / f.log2(rank + 1.0),
    "log2(max(rank,2))": lambda f, rank: 1.0 / f.log2(f.maximum(rank, 2.0)),
    "ln(rank+1)": lambda f, rank: 1.0 / f.log(rank + 1.0),
    "rank": reciprocal,
}


def gains(ranking: Ranking, gain: Gain, negative: Negative, below_threshold: BelowThreshold) -> Values:
    """What each item is worth under a named gain."""
    key = ("gains", gain, negative, below_threshold)
    return ranking.remember(key, lambda: ranking.weighted(_worth(ranking, gain, negative, below_threshold)))


def _worth(ranking: Ranking, gain: Gain, negative: Negative, below_threshold: BelowThreshold) -> Values:
    grade = ranking.grade
    if below_threshold == "no_gain":
        return ranking.where(ranking.relevance(grade) > 0, _worth(ranking, gain, negative, "gain"), 0.0)
    if gain == "binary":
        return ranking.relevance(grade)
    if isinstance(gain, tuple):
        return ranking.looked_up(grade, gain)
    base = _base(gain)
    worth = grade
    if base is not None:
        worth = exponential(ranking, base, grade)
        ranking.refuse_items(worth == math.inf, f"grade {{:g}} is too large for gain {gain!r}", grade)
    return ranking.maximum(worth, 0.0) if negative == "zero" else worth


def exponential(f: Functions, base: float, grade: Values) -> Values:
    """The gain by which each grade is worth so many times the one below, and a little more: 2^grade - 1."""
    return f.power(base, grade) - 1.0


def _base(gain: Gain) -> float | None:
    """Of an exponential gain; None for the grade itself."""
    if gain == "linear":
        return None
    match = re.fullmatch(r"exp(\d+(?:\.\d+)?)", gain) if isinstance(gain, str) else None
    if match is None or not float(match[1]) > 1:
        raise ValueError(f"gain {gain!r}; choose from 'linear', 'exp2', 'binary' or a table such as {{0: 0, 1: 3}}")
    return float(match[1])


def _refuse_grades(ranking: Ranking, gain: Gain, negative: Negative) -> None:
    if ranking.listed and isinstance(gain, tuple) and dict(gain).get(0) != 0:
        ranking.refuse(
            ranking.placed < ranking.retrieved,
            "known='returned' gives items that nobody judged grade 0, and the gain table has no gain of 0 for it; "
            "write 0: 0, or judge every item that the run returned:",
        )
    if negative == "error":
        truth = ranking.ideal("given")
        truth.refuse_items(truth.grade < 0, "grade {:g} is negative; choose negative='zero' or 'signed'", truth.grade)


def _values_zero(parameters: ByName) -> bool:
    """A table may give a gain to grade 0."""
    return isinstance(parameters["gain"], tuple)


def _places_zero(parameters: ByName) -> bool:
    """In some ideal lists an item judged 0 holds a place before others that count."""
    return _values_zero(parameters) or parameters["ideal"] == "given" or parameters["negative"] == "signed"


def _gains(ranking: Ranking, parameters: ByName) -> Values:
    return gains(ranking, parameters["gain"], parameters["negative"], parameters["below_threshold"])


def _sum_grows(parameters: ByName) -> Growth | None:
    """A sum of gains grows with each of them, unless a table says what these are, or it is divided."""
    known = not isinstance(parameters["gain"], tuple) and parameters.get("divisor", "none") == "none"
    return "gains" if known else None


def _any_gain(ranking: Ranking, parameters: ByName) -> Values:
    truth = ranking.ideal("given")
    return truth.highest(truth.abs(_gains(truth, parameters)))


graded = partial(metric, expected=True, ends_at_k=True, best_first=_gains, weighs=True)
of_gains = partial(graded, zeros=_values_zero, bounds=(0, math.inf), earns=_any_gain, grows=_sum_grows)


@of_gains(
    "cg",
    formula="sum of <gain>",
    latex=r"\sum_{i \le k} <gain>",
    use="What the first k places are worth, in any order.",
    beware="It does not see the order, nor what was possible.",
)
def cg(
    ranking: Ranking,
    *,
    k: Depth = None,
    gain: Gain = "linear",
    negative: Negative = "zero",
    below_threshold: BelowThreshold = "gain",
) -> Ratio:
    """Total gain of the first k items, wherever they stand.

    Jarvelin and Kekalainen, 2002.

    >>> rs.metrics.cg(labels=[3, 2, 3, 0, 1, 2], k=6)
    11.0
    """
    _refuse_grades(ranking, gain, negative)
    return Ratio(ranking.sum(gains(ranking, gain, negative, below_threshold), k), ranking.one)


@of_gains(
    "dcg",
    aliases=("discounted_cumulative_gain",),
    spellings={"dcg_burges": "dcg(gain='exp2')"},  # ranx
    formula="sum of <gain> / <discount><divisor>",
    latex=r"\sum_{i \le k} \frac{<gain>}{<discount>}<divisor>",
    use="Grades, and early places matter more, on a scale that keeps how much there was to earn.",
    beware="Values of different queries do not compare: a query with more relevant items can earn more.",
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
) -> Ratio:
    """Total gain of the first k items, each discounted by its rank.

    Jarvelin and Kekalainen, 2002. below_threshold="no_gain" takes the gain from grades below the threshold. Where
    items count by weights of one over their propensity, it is that of Schnabel et al., 2016, and divisor="relevant"
    normalises it by these weights.

    >>> rs.dcg(labels=[3, 0, 1], k=3)
    3.5
    """
    _refuse_grades(ranking, gain, negative)
    earned = ranking.discounted(gains(ranking, gain, negative, below_threshold), DISCOUNTS[discount], k)
    return Ratio(earned, ranking.one if divisor == "none" else ranking.relevant)


def _grows(parameters: ByName) -> Growth | None:
    """Where a list as given would have other items, nobody knows; negative gains may leave nothing to divide by."""
    table, given = isinstance(parameters["gain"], tuple), parameters["ideal"] == "given"
    if table or given or parameters["negative"] == "signed":
        return None
    if parameters["ideal"] == "ones":  # whatever is judged, this is what could be earned
        return "hits" if parameters["gain"] == "binary" else "gains"
    return "share" if parameters["gain"] == "binary" else "share of gains"


@graded(
    "ndcg",
    aliases=("normalized_dcg", "normalized_discounted_cumulative_gain"),
    spellings={"ndcg_cut_{k}": "ndcg@{k}", "ndcg_burges": "ndcg(gain='exp2')"},  # trec_eval, ranx
    formula="sum of <gain> / <discount>, over that of the ideal list",
    latex=r"\frac{\sum_{i \le k} <gain> / <discount>}{\sum_{i \in \mathrm{ideal}} <gain> / <discount>}",
    use="Grades of more than two levels, and early places matter more.",
    beware=(
        "Libraries differ in the gain (grade, or 2^grade - 1), the ideal list and queries without a "
        "relevant item, and each of these moves the mean more than most improvements do."
    ),
    zeros=_places_zero,
    grows=_grows,
)
def ndcg(
    ranking: Ranking,
    *,
    k: Depth = None,
    gain: Gain = "linear",
    discount: DiscountName = "log2(rank+1)",
    negative: Negative = "zero",
    ideal: IdealItems = "judged",
    ideal_depth: IdealDepth = "k",
    ideal_sign: IdealSign = "any",
    below_threshold: BelowThreshold = "gain",
) -> Ratio:
    """Discounted gain of the first k items, over that of the best possible list.

    Jarvelin and Kekalainen, 2002; gain="exp2" is that of Burges et al., 2005. below_threshold="no_gain" takes the gain
    from grades below the threshold.

    >>> rs.ndcg([1, 3, 2, 6], truth=[1, 2, 4], k=2)
    0.6131471927654584
    """
    _refuse_grades(ranking, gain, negative)
    weigh = DISCOUNTS[discount]

    def worth(items: Ranking) -> Values:
        return gains(items, gain, negative, below_threshold)

    if ideal == "given" and not ranking.ordered_grades:  # there is no order to go by
        ideal = "judged"
    weighted = ranking.rule.credit == "weight"
    if weighted and ideal != "judged":
        raise ValueError(f"ndcg: credit='weight' goes with ideal='judged', not with {ideal!r}")
    depth = k if ideal_depth == "k" else None if ideal_depth == "all" else ranking.places(k, "min(k,retrieved)")
    if ideal == "ones":
        possible = ranking.sum_of_discounts(weigh, depth, smooth=True)
    else:
        # A table need not grow with the grade, nor does a weight.
        by_worth = (isinstance(gain, tuple) and ideal != "given") or weighted
        best = ranking.ideal(ideal, worth if by_worth else None, None if ideal_depth == "all" else k)
        possible = best.discounted(worth(best), weigh, depth)
    earned = ranking.discounted(worth(ranking), weigh, k)
    return Ratio(earned, ranking.maximum(possible, 0.0) if ideal_sign == "positive" else possible)
