"""How far two orders of the same items agree: the truth's, by grade or as given, and the run's."""

from __future__ import annotations

from typing import Literal

from rankstone.align.ranked import Ranked
from rankstone.align.ranking import Depth, Ratio
from rankstone.metrics.errors import correlation
from rankstone.metrics.registry import metric

_SKIP = {"undefined": "skip", "missing": "skip"}


@metric(
    "spearman",
    formula="pearson of the two rank numbers",
    kind="agreement",
    choices=_SKIP,
    expected=True,
    bounds=(-1, 1),
)
def spearman(ranked: Ranked) -> Ratio:
    """Correlation of the two orders' rank numbers; equal values share their mean rank.

    Spearman, 1904. Over the items that both lists hold.

    >>> rs.spearman(["a", "b", "c"], ["a", "c", "b"])
    0.5
    """
    return correlation(ranked, ranked.mean_rank(ranked.opinion), ranked.mean_rank(ranked.merit))


@metric(
    "kendall",
    aliases=("tau", "kendall_tau"),
    formula="(concordant - discordant) / pairs",
    kind="agreement",
    choices=_SKIP,
    expected=True,
    bounds=(-1, 1),
)
def kendall(ranked: Ranked, *, variant: Literal["b", "a", "ties_agree"] = "b") -> Ratio:
    """Pairs that the two orders place the same way, less those they place opposite ways.

    variant "a" divides by all pairs, "b" corrects for tied pairs, "ties_agree" counts a tied pair as agreement.
    Kendall, 1938 and 1945. Over the items that both lists hold.

    >>> rs.kendall(["a", "b", "c"], ["a", "c", "b"])
    0.3333333333333333
    """
    balance, x_pairs, y_pairs, tied = ranked.compared(ranked.opinion, ranked.merit)
    if variant == "b":
        return Ratio(balance, ranked.sqrt(x_pairs * y_pairs))  # one root: equal orders are exactly 1
    agreed = tied if variant == "ties_agree" else 0.0
    return Ratio(balance + agreed, ranked.placed * (ranked.placed - 1.0) / 2.0)


@metric(
    "tau_ap",
    formula="2 / (n - 1) * sum over i > 1 of right above i / (i - 1), less 1",
    kind="agreement",
    choices=_SKIP,
    bounds=(-1, 1),
)
def tau_ap(ranked: Ranked) -> Ratio:
    """Rank correlation that weighs disagreement near the top of the run more.

    Items equal in the truth count half. Yilmaz, Aslam and Robertson, 2008. Over the items that both lists hold.

    >>> rs.tau_ap(["a", "c", "b"], ["a", "b", "c"])
    0.5
    """
    below_top = ranked.maximum(ranked.placed - 1.0, 0.0)
    return Ratio(2.0 * ranked.sum(ranked.right_above(ranked.merit)) - below_top, below_top)


@metric(
    "rbo",
    formula="(1 - p) * sum of p^(d - 1) * overlap(d) / d, extrapolated",
    kind="agreement",
    choices={"missing": "zero"},
)
def rbo(ranked: Ranked, *, k: Depth = None, p: float = 0.9) -> Ratio:
    """Overlap of the two lists, depth by depth, for a reader who goes on with probability p.

    Rank-biased overlap, extrapolated to lists of any length; items need not be in both. Webber, Moffat and
    Zobel, 2010.

    >>> rs.rbo(["a", "b", "c"], ["a", "b", "c"])
    1.0
    """
    if not 0 < p < 1:
        raise ValueError(f"rbo: p must lie between 0 and 1, not {p!r}")
    return Ratio(ranked.overlap(p, k), ranked.one)
