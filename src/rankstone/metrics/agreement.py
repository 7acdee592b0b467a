"""How far two orders of the same items agree: the truth's, by grade or as given, and the run's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np

from rankstone.metrics.errors import correlation
from rankstone.metrics.registry import metric
from rankstone.ranked import Depth, Floats, Ranked, Ratio, lengths

_SKIP = {"undefined": "skip", "missing": "skip"}


def _merit(ranked: Ranked) -> Floats:
    """The truth's opinion of each hit: its grade, or its place if the truth is an order."""
    return -ranked.place.astype(np.float64) if ranked.ordered_truth else ranked.grade


def _opinion(ranked: Ranked) -> Floats:
    """The run's opinion of each hit: its score, or its rank if the run is an order."""
    return np.where(np.isnan(ranked.score), -ranked.ranks.astype(np.float64), ranked.score)


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
    return correlation(ranked, _mean_ranks(ranked, _opinion(ranked)), _mean_ranks(ranked, _merit(ranked)))


def _mean_ranks(ranked: Ranked, values: Floats) -> Floats:
    order = np.lexsort((values, ranked.query))
    values, query = values[order], ranked.query[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (values[1:] != values[:-1]) | (query[1:] != query[:-1])
    starts = np.flatnonzero(first)
    sizes = np.diff(np.append(starts, len(order)))
    ranks = np.empty(len(order))
    ranks[order] = np.repeat(starts + (sizes + 1) / 2.0, sizes) - ranked.hit_offsets[query]
    return ranks


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
    x, y = _opinion(ranked), _merit(ranked)

    def counts(rows: slice) -> tuple[float, float]:
        n = rows.stop - rows.start
        balance = x_pairs = y_pairs = tied = 0.0
        for dx, dy in _differences(x[rows], y[rows]):
            balance += float((dx * dy).sum())
            x_pairs += np.count_nonzero(dx)
            y_pairs += np.count_nonzero(dy)
            tied += np.count_nonzero((dx == 0) | (dy == 0))
        if variant == "b":
            return balance / 2, float(np.sqrt(x_pairs * y_pairs)) / 2  # one root: equal orders are exactly 1
        agreed = (tied - n) / 2 if variant == "ties_agree" else 0.0  # an item is tied with itself
        return balance / 2 + agreed, n * (n - 1) / 2

    return _per_query(ranked, counts)


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
    merit = _merit(ranked)
    ranked.need_order()

    def counts(rows: slice) -> tuple[float, float]:
        n, earned, row = rows.stop - rows.start, 0.0, 0
        for _, difference in _differences(merit[rows], merit[rows]):
            right = np.where(difference < 0, 1.0, np.where(difference == 0, 0.5, 0.0))
            above = np.tril(right, row - 1).sum(axis=1)  # each row of `difference` is one item against all
            earned += float((above / np.maximum(np.arange(row, row + len(above)), 1)).sum())
            row += len(above)
        below_top = max(n - 1, 0)
        return 2.0 * earned - below_top, float(below_top)

    return _per_query(ranked, counts)


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
    rank, place = ranked.rank, _truth_rank(ranked)
    cuts = np.broadcast_to(np.asarray(np.iinfo(np.int64).max if k is None else k), len(ranked))
    out = np.zeros(len(ranked))
    for q in range(len(ranked)):
        rows = slice(ranked.hit_offsets[q], ranked.hit_offsets[q + 1])
        both = np.maximum(rank[rows], place[rows])
        short, long = sorted(int(min(n, cuts[q])) for n in (ranked.retrieved[q], ranked.judged[q]))
        out[q] = _overlap(both[both <= long], short, long, p)
    return Ratio(out, np.ones(len(ranked)))


def _overlap(depths: Floats, short: int, long: int, p: float) -> float:
    """Extrapolated overlap from the depth at which each common item is in both lists."""
    if short == 0:
        return 1.0 if long == 0 else 0.0
    shared = np.cumsum(np.bincount(depths.astype(np.int64), minlength=long + 1)[: long + 1])[1:].astype(np.float64)
    d = np.arange(1.0, long + 1)
    beyond = np.maximum(d - short, 0.0) * shared[short - 1] / short
    series = float((((shared + beyond) / d) * np.power(p, d)).sum()) * (1 - p) / p
    tail = (shared[long - 1] - shared[short - 1]) / long + shared[short - 1] / short
    return series + float(tail) * p**long


def _truth_rank(ranked: Ranked) -> Floats:
    """Each hit's rank in the truth: by grade, equal grades as given."""
    if ranked.ordered_truth:
        return ranked.place.astype(np.float64)
    if (ranked.place > lengths(ranked.truth_offsets)[ranked.query]).any():
        raise ValueError("rbo needs all rows of a graded truth, and an item is there twice; leave the second out")
    query = np.repeat(np.arange(len(ranked)), lengths(ranked.truth_offsets))
    order = np.lexsort((-ranked.grades, query))
    ranks = np.empty(len(order))
    ranks[order] = ranked.ideal_rank
    return ranks[ranked.truth_offsets[ranked.query] + ranked.place - 1]


def _differences(x: Floats, y: Floats) -> Iterator[tuple[Floats, Floats]]:
    """The sign of every item's difference to every other, a block of items at a time to keep memory flat."""
    for start in range(0, len(x), 256):
        block = slice(start, start + 256)
        yield _sign(x[block, None], x), _sign(y[block, None], y)


def _sign(a: Floats, b: Floats) -> Floats:
    """1, 0 or -1 as a is above, equal to or below b; infinite values included."""
    return (a > b).astype(np.float64) - (a < b)


def _per_query(ranked: Ranked, counts: Callable[[slice], tuple[float, float]]) -> Ratio:
    offsets = ranked.hit_offsets
    pairs = [counts(slice(int(offsets[q]), int(offsets[q + 1]))) for q in range(len(ranked))]
    earned, possible = np.array(pairs).reshape(-1, 2).T
    return Ratio(earned, possible)
