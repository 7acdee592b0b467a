"""How far two orders of the same items agree: the truth's, by grade or as given, and the run's."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from rankstone.align.functions import Depth, Values
from rankstone.metrics.cascade import Persisting
from rankstone.metrics.errors import correlation
from rankstone.metrics.registry import ByName, Parameter, metric
from rankstone.program.ranking import Ranking, Ratio

Variant = Annotated[
    Literal["b", "a", "ties_agree"],
    Parameter(
        "what becomes of tied pairs",
        {
            "b": "tau-b: pairs tied on a side are not counted on that side",
            "a": "tau-a: tied pairs count as neither, among all pairs",
            "ties_agree": "tied pairs count as agreement, among all pairs",
        },
        text={
            "b": "(concordant - discordant) / sqrt(pairs untied in the run * pairs untied in the truth)",
            "a": "(concordant - discordant) / pairs",
            "ties_agree": "(concordant + tied - discordant) / pairs",
        },
        latex={
            "b": r"\frac{\mathrm{concordant} - \mathrm{discordant}}"
            r"{\sqrt{\mathrm{untied\ in\ the\ run} \cdot \mathrm{untied\ in\ the\ truth}}}",
            "a": r"\frac{\mathrm{concordant} - \mathrm{discordant}}{\mathrm{pairs}}",
            "ties_agree": r"\frac{\mathrm{concordant} + \mathrm{tied} - \mathrm{discordant}}{\mathrm{pairs}}",
        },
    ),
]


def _by_merit(ranking: Ranking, parameters: ByName) -> Values:
    """As the truth has them; what it does not have comes last."""
    merit = ranking.merit
    return merit + ranking.spread(ranking.highest(1.0 - merit))


of_orders = partial(
    metric,
    kind="agreement",
    choices={"undefined": "skip", "missing": "skip"},
    best_first=_by_merit,
    bounds=(-1, 1),
)


@of_orders(
    "spearman",
    formula="pearson of the two rank numbers",
    latex=r"\mathrm{pearson}(\mathrm{rank}(s), \mathrm{rank}(g))",
    use="Do the two orders agree?",
    beware="Ties are given their mean rank.",
    expected=True,
)
def spearman(ranking: Ranking) -> Ratio:
    """Correlation of the two orders' rank numbers; equal values share their mean rank.

    Spearman, 1904. Over the items that both lists hold. Of ratings: `spearman(scores=predicted, labels=actual)`.

    >>> rs.metrics.spearman(["a", "b", "c"], truth=["a", "c", "b"])
    0.5
    """
    found = correlation(ranking, ranking.mean_rank(ranking.opinion), ranking.mean_rank(ranking.merit))
    if not ranking.expected:
        return found
    # In each order the run's ranks are 1, 2, 3 ..., in the mean they are the mean ranks.
    by_merit = correlation(ranking, ranking.mean_rank(ranking.merit), ranking.mean_rank(ranking.merit))
    spread = ranking.placed * (ranking.placed * ranking.placed - 1.0) / 12.0
    return Ratio(found.numerator, ranking.sqrt(spread * by_merit.numerator))


@of_orders(
    "kendall",
    aliases=("tau", "kendall_tau"),
    formula="<variant>",
    latex="<variant>",
    use="Do the two orders agree, counted in pairs?",
    beware="Say what becomes of ties; there are several variants.",
    expected=True,
)
def kendall(ranking: Ranking, *, variant: Variant = "b") -> Ratio:
    """Pairs that the two orders place the same way, less those they place opposite ways.

    variant "a" divides by all pairs, "b" corrects for tied pairs, "ties_agree" counts a tied pair as agreement.
    Kendall, 1938 and 1945. Over the items that both lists hold.

    >>> rs.metrics.kendall(["a", "b", "c"], truth=["a", "c", "b"])
    0.3333333333333333
    """
    balance, x_pairs, y_pairs, tied = ranking.compared(ranking.opinion, ranking.merit)
    pairs = ranking.placed * (ranking.placed - 1.0) / 2.0
    if ranking.expected:  # in each order no two scores are tied, and a pair that was agrees as often as not
        x_pairs, tied = pairs, pairs - y_pairs
    if variant == "b":
        return Ratio(balance, ranking.sqrt(x_pairs * y_pairs))  # one root: equal orders are exactly 1
    agreed = tied if variant == "ties_agree" else 0.0
    return Ratio(balance + agreed, pairs)


@of_orders(
    "tau_ap",
    formula="2 / (n - 1) * sum over i > 1 of right above i / (i - 1), less 1",
    latex=r"\frac{2}{n - 1} \sum_{i > 1} \frac{\mathrm{right\ above}(i)}{i - 1} - 1",
    use="Agreement of two orders where the top matters more.",
    beware="It is not symmetric.",
)
def tau_ap(ranking: Ranking) -> Ratio:
    """Rank correlation that weighs disagreement near the top of the run more.

    Items equal in the truth count half. Yilmaz, Aslam and Robertson, 2008. Over the items that both lists hold.

    >>> rs.metrics.tau_ap(["a", "c", "b"], truth=["a", "b", "c"])
    0.5
    """
    below_top = ranking.maximum(ranking.placed - 1.0, 0.0)
    return Ratio(2.0 * ranking.sum(ranking.right_above(ranking.merit)) - below_top, below_top)


@of_orders(
    "rbo",
    formula="(1 - <p>) * sum of <p>^(d - 1) * overlap(d) / d, extrapolated",
    latex=r"(1 - <p>) \sum_{d} <p>^{d - 1} \frac{\mathrm{overlap}(d)}{d}",
    use="Agreement of two lists that need not hold the same items, the top weighing more.",
    beware="The weight p has to be said; the tail that nobody saw is extrapolated.",
    choices={"missing": "zero"},
    bounds=(0.0, 1.0),
)
def rbo(ranking: Ranking, *, k: Depth = None, p: Persisting = 0.9) -> Ratio:
    """Overlap of the two lists, depth by depth, for a reader who goes on with probability p.

    Rank-biased overlap, extrapolated to lists of any length; items need not be in both. Webber, Moffat and
    Zobel, 2010. A truth with grades leaves the order of equal ones open: the mean over all orders of them; Corsi and
    Urbano, 2024.

    >>> round(rs.metrics.rbo(["a", "c", "b"], truth=["a", "b", "c"]), 6)
    0.955
    """
    return Ratio(ranking.overlap(p, k), ranking.one)
