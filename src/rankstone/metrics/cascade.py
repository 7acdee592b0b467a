"""Metrics of a person who reads from the top and stops when satisfied."""

from __future__ import annotations

import math
from functools import partial
from typing import Annotated, Literal

from rankstone.align.functions import Depth, Values
from rankstone.metrics.gains import DISCOUNTS, DiscountName, Geometric
from rankstone.metrics.registry import ByName, Growth, Parameter, by_relevant, metric
from rankstone.program.ranking import Ranking, Ratio

StopChance = Annotated[
    Literal["exp2", "grade"],
    Parameter(
        "the chance that a grade satisfies",
        {
            "exp2": "the chance to stop is (2^grade - 1) / 2^max_grade",
            "grade": "the chance to stop is the grade, from 0 to 1",
        },
        text={"exp2": "(2^grade - 1) / 2^<max_grade>", "grade": "grade"},
        latex={"exp2": r"\frac{2^{g_i} - 1}{2^{<max_grade>}}", "grade": "g_i"},
    ),
]
MaxGrade = Annotated[
    float | None,
    Parameter(
        "the highest grade there is",
        {None: "the highest grade of the truth, all queries together", ...: "{}"},
        text={None: "(highest grade of the truth)"},
        latex={None: r"g_{\max}"},
        at_least=0,
    ),
]
RelevantGain = Annotated[
    Literal["binary", "linear"],
    Parameter(
        "what a relevant item earns",
        {"binary": "gain is 1 for a relevant item", "linear": "gain is the grade of a relevant item"},
        text={"binary": "", "linear": "grade * "},
        latex={"binary": "", "linear": r"g_i \, "},
    ),
]
BestDivisor = Annotated[
    Literal["none", "best"],
    Parameter(
        "whether to divide by what the relevant items would earn at the top",
        {"none": "not divided", "best": "divided by what the relevant items would earn at the top of such a list"},
        text={"none": "", "best": ", over that of the ideal list"},
        latex={"none": "", "best": r" \Bigm/ \mathrm{that\ of\ the\ ideal\ list}"},
    ),
]
Persisting = Annotated[float, Parameter("chance to go on to the next place", above=0, below=1)]


def _takes_highest(parameters: ByName) -> str:
    unsaid = parameters["max_grade"] is None and parameters["stop_chance"] != "grade"
    return "takes the highest grade of all queries; say it: max_grade=" if unsaid else ""


def _stops(ranking: Ranking, parameters: ByName) -> Values:
    return _stop(ranking, parameters["max_grade"], parameters["stop_chance"])


def _satisfies(ranking: Ranking, parameters: ByName) -> Values:
    truth = ranking.ideal("given")
    return truth.highest(truth.abs(_stops(truth, parameters)))


of_stopping = partial(metric, all_queries=_takes_highest, ends_at_k=True, best_first=_stops)


@of_stopping(
    "err",
    aliases=("expected_reciprocal_rank",),
    formula="sum of R / <discount> * product of 1 - R above, with R = <stop_chance>",
    latex=r"\sum_{i \le k} \frac{R_i}{<discount>} \prod_{j < i} (1 - R_j), \quad R_i = <stop_chance>",
    use="A very relevant item early makes the rest matter little: the reader has found it.",
    beware="It depends on the highest grade there is; fix it for a whole study, or queries are on different scales.",
    zeros=False,
    earns=_satisfies,
    grows="gains",
)
def err(
    ranking: Ranking,
    *,
    k: Depth = None,
    max_grade: MaxGrade = None,
    stop_chance: StopChance = "exp2",
    discount: DiscountName = "rank",
) -> Ratio:
    """Expected value of one over the rank at which a person stops, satisfied.

    An item satisfies with probability (2^grade - 1) / 2^max_grade. Without max_grade, the highest grade of the
    whole truth is taken. stop_chance="grade": the grade is the probability itself, as that of a click.
    discount="log2(rank+1)" takes DCG's discount in place of the rank. Chapelle et al., 2009.

    >>> rs.err(labels=[3, 2, 4], max_grade=4)
    0.633056640625
    """
    _refuse_grades(ranking, max_grade, stop_chance)
    return Ratio(_cascade(ranking, k, max_grade, stop_chance, discount), ranking.one)


@of_stopping(
    "nerr",
    formula="sum of R / <discount> * product of 1 - R above, over that of the ideal list, with R = <stop_chance>",
    latex=(
        r"\frac{\sum_{i \le k} R_i / <discount> \prod_{j < i} (1 - R_j)}{\mathrm{that\ of\ the\ ideal\ list}}, "
        r"\quad R_i = <stop_chance>"
    ),
    use="As err, on a scale from 0 to 1 for each query.",
    beware="The ideal list decides; it needs all grades.",
    zeros=lambda parameters: parameters["stop_chance"] == "grade",  # in the ideal list they stand before negative ones
    grows="binary",
)
def nerr(
    ranking: Ranking,
    *,
    k: Depth = None,
    max_grade: MaxGrade = None,
    stop_chance: StopChance = "exp2",
    discount: DiscountName = "rank",
) -> Ratio:
    """Expected reciprocal rank, over that of the best possible list.

    >>> rs.metrics.nerr(labels=[4, 3, 2])
    1.0
    """
    _refuse_grades(ranking, max_grade, stop_chance)
    best = _cascade(ranking.ideal(k=k), k, max_grade, stop_chance, discount)
    return Ratio(_cascade(ranking, k, max_grade, stop_chance, discount), best)


def _refuse_grades(ranking: Ranking, max_grade: float | None, stop_chance: StopChance) -> None:
    highest = 1.0 if stop_chance == "grade" else max_grade
    if highest is None:
        return
    why = "no probability; choose stop_chance='exp2'" if stop_chance == "grade" else f"above max_grade={highest:g}"
    truth = ranking.ideal("given")
    truth.refuse_items(truth.grade > highest, f"grade {{:g}} is {why}", truth.grade)


def _cascade(
    ranking: Ranking, k: Depth, max_grade: float | None, stop_chance: StopChance, discount: DiscountName
) -> Values:
    """Sum over items of the chance to stop there, discounted by the rank."""

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


def _weighed(ranking: Ranking, gain: RelevantGain) -> Values:
    """What each item is worth if it is relevant."""
    return ranking.credit if gain == "binary" else ranking.relevant_grade


def _grows(parameters: ByName) -> Growth:
    if parameters["divisor"] == "none":
        return "hits" if parameters["gain"] == "binary" else "gains"
    return "share" if parameters["gain"] == "binary" else "share of gains"


@metric(
    "rbp",
    spellings={"rbp{x}": "rbp(p={x})"},  # ranx writes rbp.95
    formula="(1 - <p>) * sum of <gain><p>^(rank - 1) over the relevant items<divisor>",
    latex=r"(1 - <p>) \sum_{i \le k} \mathrm{rel}_i \, <gain><p>^{i - 1}<divisor>",
    use="A model of a reader who goes on to the next item with probability p.",
    beware="It does not reach 1 on short lists, and p has to be said.",
    expected=True,
    zeros=False,
    ends_at_k=True,
    best_first=lambda ranking, parameters: _weighed(ranking, parameters["gain"]),
    earns=by_relevant,
    grows=_grows,
    reach=lambda parameters: math.ceil(-60 / math.log2(parameters["p"])),  # what is left is less than a float can say
)
def rbp(
    ranking: Ranking,
    *,
    k: Depth = None,
    p: Persisting = 0.8,
    gain: RelevantGain = "binary",
    divisor: BestDivisor = "none",
) -> Ratio:
    """Relevant items met by a person who goes on to the next place with probability p.

    Moffat and Zobel, 2008. gain="linear" weighs each item by its grade; divisor="best" divides by what the relevant
    items would earn at the top of a list of this length.

    >>> rs.rbp([1, 3, 2], truth=[1, 2], p=0.5)
    0.625
    """

    def earned(items: Ranking, depth: Depth) -> Values:
        return items.discounted(_weighed(items, gain), Geometric(p, 1.0 - p), depth)

    best = ranking.one if divisor == "none" else earned(ranking.ideal(k=k), ranking.places(k, "min(k,retrieved)"))
    return Ratio(earned(ranking, k), best)
