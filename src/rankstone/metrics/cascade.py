"""Cascade and user models: expected reciprocal rank and rank-biased precision."""

from __future__ import annotations

import math
from functools import partial
from typing import Annotated, Literal

from rankstone.align.elementwise import Depth, Values
from rankstone.metrics.gains import DISCOUNTS, DiscountName, Geometric
from rankstone.metrics.registry import ByName, Monotonicity, Parameter, by_relevant, metric
from rankstone.program.ranking import Ranking, Ratio

StopChance = Annotated[
    Literal["exp2", "grade"],
    Parameter(
        "probability that an item of a grade satisfies the user",
        {
            "exp2": "stopping probability (2^grade - 1) / 2^max_grade",
            "grade": "stopping probability: the grade, from 0 to 1",
        },
        text={"exp2": "(2^grade - 1) / 2^<max_grade>", "grade": "grade"},
        latex={"exp2": r"\frac{2^{g_i} - 1}{2^{<max_grade>}}", "grade": "g_i"},
    ),
]
MaxGrade = Annotated[
    float | None,
    Parameter(
        "highest grade of the scale",
        {None: "highest grade in the truth, over all queries", ...: "{}"},
        text={None: "(highest grade in the truth)"},
        latex={None: r"g_{\max}"},
        at_least=0,
    ),
]
RelevantGain = Annotated[
    Literal["binary", "linear"],
    Parameter(
        "gain of a relevant item",
        {"binary": "binary gain: 1 if relevant", "linear": "linear gain: the grade of a relevant item"},
        text={"binary": "", "linear": "grade * "},
        latex={"binary": "", "linear": r"g_i \, "},
    ),
]
BestDivisor = Annotated[
    Literal["none", "best"],
    Parameter(
        "whether to divide by the value of the ideal ranking",
        {"none": "not divided", "best": "divided by the value of the ideal ranking of the same length"},
        text={"none": "", "best": ", divided by the value of the ideal ranking"},
        latex={"none": "", "best": r" \Bigm/ \mathrm{value\ of\ the\ ideal\ ranking}"},
    ),
]
Persisting = Annotated[float, Parameter("probability of continuing to the next rank", above=0, below=1)]


def _takes_highest(parameters: ByName) -> str:
    unset = parameters["max_grade"] is None and parameters["stop_chance"] != "grade"
    return "uses the highest grade over all queries; set max_grade=" if unset else ""


def _stops(ranking: Ranking, parameters: ByName) -> Values:
    return _stop(ranking, parameters["max_grade"], parameters["stop_chance"])


def _satisfies(ranking: Ranking, parameters: ByName) -> Values:
    truth = ranking.ideal("given")
    return truth.highest(truth.abs(_stops(truth, parameters)))


of_stopping = partial(metric, all_queries=_takes_highest, ends_at_k=True, best_first=_stops)


@of_stopping(
    "err",
    title="Expected reciprocal rank (ERR)",
    aliases=("expected_reciprocal_rank",),
    formula="sum of R / <discount> times the product of (1 - R) over the items above, where R = <stop_chance>",
    latex=r"\sum_{i \le k} \frac{R_i}{<discount>} \prod_{j < i} (1 - R_j), \quad R_i = <stop_chance>",
    use_when="After a highly relevant item, the items below it matter little: the user stops.",
    caveat="It depends on the highest grade; set max_grade for a whole study, so that all values have the same scale.",
    reads_zero_grades=False,
    defined_where=_satisfies,
    monotonicity="gains",
)
def err(
    ranking: Ranking,
    *,
    k: Depth = None,
    max_grade: MaxGrade = None,
    stop_chance: StopChance = "exp2",
    discount: DiscountName = "rank",
) -> Ratio:
    """Expected reciprocal rank: the expected value of 1 / rank at which a user stops, satisfied.

    An item satisfies the user with probability (2^grade - 1) / 2^max_grade. Without max_grade, the highest grade of the
    whole truth is used. stop_chance="grade": the grade is the probability, as a click probability is.
    discount="log2(rank+1)" uses DCG's discount. Chapelle et al., 2009, doi:10.1145/1645953.1646033.

    >>> rs.err(labels=[3, 2, 4], max_grade=4)
    0.633056640625
    """
    _check_grades(ranking, max_grade, stop_chance)
    return Ratio(_cascade(ranking, k, max_grade, stop_chance, discount), ranking.one)


@of_stopping(
    "nerr",
    title="Normalised expected reciprocal rank (nERR)",
    formula=(
        "sum of R / <discount> times the product of (1 - R) over the items above, divided by the value of the ideal "
        "ranking, where R = <stop_chance>"
    ),
    latex=(
        r"\frac{\sum_{i \le k} R_i / <discount> \prod_{j < i} (1 - R_j)}{\mathrm{value\ of\ the\ ideal\ ranking}}, "
        r"\quad R_i = <stop_chance>"
    ),
    use_when="As err, normalised to 0..1 per query.",
    caveat="It depends on the ideal ranking, so all relevant items must be judged.",
    reads_zero_grades=lambda parameters: (
        parameters["stop_chance"] == "grade"
    ),  # in the ideal ranking they are above negative ones
    monotonicity="binary",
)
def nerr(
    ranking: Ranking,
    *,
    k: Depth = None,
    max_grade: MaxGrade = None,
    stop_chance: StopChance = "exp2",
    discount: DiscountName = "rank",
) -> Ratio:
    """Expected reciprocal rank, divided by that of the ideal ranking.

    Chapelle et al., 2009, doi:10.1145/1645953.1646033.

    >>> rs.metrics.nerr(labels=[4, 3, 2])
    1.0
    """
    _check_grades(ranking, max_grade, stop_chance)
    best = _cascade(ranking.ideal(k=k), k, max_grade, stop_chance, discount)
    return Ratio(_cascade(ranking, k, max_grade, stop_chance, discount), best)


def _check_grades(ranking: Ranking, max_grade: float | None, stop_chance: StopChance) -> None:
    highest = 1.0 if stop_chance == "grade" else max_grade
    if highest is None:
        return
    why = "not a probability; choose stop_chance='exp2'" if stop_chance == "grade" else f"above max_grade={highest:g}"
    truth = ranking.ideal("given")
    truth.raise_at_items(truth.grade > highest, f"grade {{:g}} is {why}", truth.grade)


def _cascade(
    ranking: Ranking, k: Depth, max_grade: float | None, stop_chance: StopChance, discount: DiscountName
) -> Values:
    """Sum over items of the stopping probability, discounted by the rank."""

    def chances() -> Values:
        ranking.need_order()
        stops = _stop(ranking, max_grade, stop_chance)
        return ranking.surviving(stops) * stops

    stopping = ranking.remember(("cascade", max_grade, stop_chance), chances)
    return ranking.discounted(stopping, DISCOUNTS[discount], k)


def _stop(ranking: Ranking, max_grade: float | None, stop_chance: StopChance) -> Values:
    if stop_chance == "grade":
        return ranking.grade
    top = ranking.highest_grade if max_grade is None else float(max_grade)
    return ranking.maximum(2.0 ** (ranking.grade - top) - 2.0**-top, 0.0)


def _relevant_gain(ranking: Ranking, gain: RelevantGain) -> Values:
    """The gain of each relevant item."""
    return ranking.credit if gain == "binary" else ranking.relevant_grade


def _grows(parameters: ByName) -> Monotonicity:
    if parameters["divisor"] == "none":
        return "sum of hits" if parameters["gain"] == "binary" else "sum of gains"
    return "share" if parameters["gain"] == "binary" else "share of gains"


@metric(
    "rbp",
    title="Rank-biased precision (RBP)",
    spellings={"rbp{x}": "rbp(p={x})"},  # ranx writes rbp.95
    formula="(1 - <p>) * sum over the relevant items of <gain><p>^(rank - 1)<divisor>",
    latex=r"(1 - <p>) \sum_{i \le k} \mathrm{rel}_i \, <gain><p>^{i - 1}<divisor>",
    use_when="The user continues to the next rank with probability p (persistence).",
    caveat="It cannot reach 1 on short lists, and it depends on p: always report p.",
    expected=True,
    reads_zero_grades=False,
    ends_at_k=True,
    best_first=lambda ranking, parameters: _relevant_gain(ranking, parameters["gain"]),
    defined_where=by_relevant,
    monotonicity=_grows,
    max_depth=lambda parameters: math.ceil(
        -60 / math.log2(parameters["p"])
    ),  # the remaining weight is below the precision of a float
)
def rbp(
    ranking: Ranking,
    *,
    k: Depth = None,
    p: Persisting = 0.8,
    gain: RelevantGain = "binary",
    divisor: BestDivisor = "none",
) -> Ratio:
    """Rank-biased precision: the expected rate of relevant items seen by a user who continues with probability p.

    Moffat and Zobel, 2008, doi:10.1145/1416950.1416952. gain="linear" weights each item by its grade; divisor="best"
    divides by the value of the ideal ranking of the same length.

    >>> rs.rbp([1, 3, 2], truth=[1, 2], p=0.5)
    0.625
    """

    def total(items: Ranking, depth: Depth) -> Values:
        return items.discounted(_relevant_gain(items, gain), Geometric(p, 1.0 - p), depth)

    best = ranking.one if divisor == "none" else total(ranking.ideal(k=k), ranking.places(k, "min(k,retrieved)"))
    return Ratio(total(ranking, k), best)
