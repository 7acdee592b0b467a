"""Rank correlation: of the truth (by grade, or in its own order) and the run."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from rankstone.align.elementwise import Depth, Values
from rankstone.metrics.cascade import Persisting
from rankstone.metrics.rating_errors import correlation
from rankstone.metrics.registry import ByName, Parameter, metric
from rankstone.program.ranking import Ranking, Ratio

Variant = Annotated[
    Literal["b", "a", "ties_agree"],
    Parameter(
        "treatment of tied pairs",
        {
            "b": "tau-b: corrected for ties in each ranking",
            "a": "tau-a: tied pairs are neither concordant nor discordant, divided by all pairs",
            "ties_agree": "tied pairs are concordant, divided by all pairs",
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
    """In the order of the truth; items that it does not have are last."""
    merit = ranking.merit
    return merit + ranking.broadcast(ranking.highest(1.0 - merit))


of_orders = partial(
    metric,
    kind="agreement",
    choices={"undefined": "skip", "missing": "skip"},
    best_first=_by_merit,
    bounds=(-1, 1),
    of_columns=True,
)


@of_orders(
    "spearman",
    title="Spearman's rank correlation",
    formula="Pearson correlation of the ranks in the run and in the truth",
    latex=r"\mathrm{pearson}(\mathrm{rank}(s), \mathrm{rank}(g))",
    use_when="Agreement of two rankings of the same items.",
    caveat="Tied items share their mean rank; the top has no more weight than the bottom.",
    expected=True,
)
def spearman(ranking: Ranking) -> Ratio:
    """Spearman's rank correlation of run and truth; tied items share their mean rank.

    Spearman, 1904. Over the items that are in both. For ratings: `spearman(scores=predicted, labels=actual)`.

    >>> rs.metrics.spearman(["a", "b", "c"], truth=["a", "c", "b"])
    0.5
    """
    result = correlation(ranking, ranking.mean_rank(ranking.opinion), ranking.mean_rank(ranking.merit))
    if not ranking.ties_averaged:
        return result
    # In each order of tied items the ranks are 1, 2, 3 ...; averaged over all orders they are the mean ranks.
    by_merit = correlation(ranking, ranking.mean_rank(ranking.merit), ranking.mean_rank(ranking.merit))
    spread = ranking.placed * (ranking.placed * ranking.placed - 1.0) / 12.0
    return Ratio(result.numerator, ranking.sqrt(spread * by_merit.numerator))


@of_orders(
    "kendall",
    aliases=("tau", "kendall_tau"),
    formula="<variant>",
    latex="<variant>",
    use_when="Agreement of two rankings of the same items, counted in pairs.",
    caveat="The variants treat ties differently; always report the variant.",
    expected=True,
)
def kendall(ranking: Ranking, *, variant: Variant = "b") -> Ratio:
    """Kendall's tau: concordant minus discordant pairs of items, as a fraction of all pairs.

    variant "a" divides by all pairs, "b" corrects for tied pairs, "ties_agree" counts a tied pair as agreement.
    Kendall, 1938 and 1945. Over the items that are in both.

    >>> rs.metrics.kendall(["a", "b", "c"], truth=["a", "c", "b"])
    0.3333333333333333
    """
    balance, x_pairs, y_pairs, tied = ranking.compared(ranking.opinion, ranking.merit)
    pairs = ranking.placed * (ranking.placed - 1.0) / 2.0
    if ranking.ties_averaged:  # in each order no scores are tied, and a tied pair is concordant in half of the orders
        x_pairs, tied = pairs, pairs - y_pairs
    if variant == "b":
        return Ratio(balance, ranking.sqrt(x_pairs * y_pairs))  # one root: equal orders are exactly 1
    agreed = tied if variant == "ties_agree" else 0.0
    return Ratio(balance + agreed, pairs)


@of_orders(
    "tau_ap",
    formula="2 / (n - 1) * sum over ranks i > 1 of (items correctly ranked above i) / (i - 1), minus 1",
    latex=r"\frac{2}{n - 1} \sum_{i > 1} \frac{\mathrm{right\ above}(i)}{i - 1} - 1",
    use_when="Agreement of two rankings where the top matters more.",
    caveat="It is not symmetric in run and truth.",
)
def tau_ap(ranking: Ranking) -> Ratio:
    """AP rank correlation: disagreement near the top of the run has more weight.

    Items tied in the truth count half. Yilmaz, Aslam and Robertson, 2008, doi:10.1145/1390334.1390435. Over the items
    that are in both.

    >>> rs.metrics.tau_ap(["a", "c", "b"], truth=["a", "b", "c"])
    0.5
    """
    below_top = ranking.maximum(ranking.placed - 1.0, 0.0)
    return Ratio(2.0 * ranking.sum(ranking.right_above(ranking.merit)) - below_top, below_top)


@of_orders(
    "rbo",
    title="Rank-biased overlap (RBO)",
    formula="(1 - <p>) * sum over depths d of <p>^(d - 1) * overlap(d) / d, extrapolated",
    latex=r"(1 - <p>) \sum_{d} <p>^{d - 1} \frac{\mathrm{overlap}(d)}{d}",
    use_when="Agreement of two rankings that need not have the same items, with more weight at the top.",
    caveat="It depends on p: always report p. The unseen part of the lists is extrapolated.",
    choices={"missing": "zero"},
    bounds=(0.0, 1.0),
    of_columns=False,
)
def rbo(ranking: Ranking, *, k: Depth = None, p: Persisting = 0.9) -> Ratio:
    """Rank-biased overlap of run and truth, for a user who continues to the next depth with probability p.

    Extrapolated to lists of any length; items need not be in both. Webber, Moffat and Zobel, 2010,
    doi:10.1145/1852102.1852106. Items tied in the truth: the mean over all orders of them; Corsi and Urbano, 2024.

    >>> round(rs.metrics.rbo(["a", "c", "b"], truth=["a", "b", "c"]), 6)
    0.955
    """
    return Ratio(ranking.overlap(p, k), ranking.one)
