"""Metrics among sampled negatives: `rs.sampled_metrics(100, items=20_000)` (Krichene and Rendle, 2020)."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from rankstone.align.alignment import Alignment, Floats, Ints
from rankstone.conventions.plan import make_plans
from rankstone.errors import DataError, InputError
from rankstone.evaluate.values import measure
from rankstone.metrics.registry import Metric, Value, parse_one
from rankstone.program.flat import ranking_of
from rankstone.results.result import Result
from rankstone.statistics.intervals import interval_of

if TYPE_CHECKING:
    from rankstone.statistics import Interval
    from rankstone.typing import Numbers

V = TypeVar("V", int, Ints)  # a rank, or an array of ranks
Method = Literal["bias-variance", "rank"]
_BLOCK = 1 << 20  # probabilities per block


@dataclass(frozen=True)
class SampledMetrics:
    """Rankings of one relevant item among sampled negatives, and what their metrics mean for the whole catalogue.

    A "sampled rank" is the rank of the relevant item among the sampled negatives. Printed, it is a sentence.

    Attributes
    ----------
    negatives : int
        Number of negatives sampled per list.
    items : int
        Number of items in the catalogue, with the relevant one.
    replacement : bool
        Whether negatives are sampled with replacement.

    References
    ----------
    Krichene and Rendle (2020), On Sampled Metrics for Item Recommendation. doi:10.1145/3394486.3403226
    """

    negatives: int
    items: int
    replacement: bool = False

    def __post_init__(self) -> None:
        for name, lowest in (("negatives", 1), ("items", 2)):
            value = getattr(self, name)
            try:
                whole = operator.index(value)
            except TypeError:
                whole = 0
            if isinstance(value, bool) or whole < lowest:
                raise InputError(f"{name} is {value!r}; it must be a whole number from {lowest}")
            object.__setattr__(self, name, whole)
        if not self.replacement and self.negatives > self.items - 1:
            raise InputError(
                f"{self.negatives:,} negatives cannot be sampled from {self.items - 1:,} other items; "
                "use replacement=True"
            )

    # -- description --------------------------------------------------------------------------------------------

    def estimated_rank(self, sampled_rank: V) -> V:
        """The rank in the catalogue estimated from a sampled rank: 1 + (items - 1)(sampled_rank - 1) / negatives.

        Parameters
        ----------
        sampled_rank : int or array of int
            Rank among the sampled negatives, from 1.

        Returns
        -------
        int or array of int
            The estimate, rounded down.
        """
        return 1 + (self.items - 1) * (sampled_rank - 1) // self.negatives

    def median_rank(self, k: int) -> int:
        """The last rank in the catalogue whose item is in the sampled top k with probability at least 1/2.

        Parameters
        ----------
        k : int
            Cutoff of the sampled list.

        Returns
        -------
        int
        """
        if k > self.negatives:
            return self.items
        low, high = 1, self.items  # in, and out
        while high - low > 1:
            middle = (low + high) // 2
            inside = float(self.probabilities(np.array([middle]))[0, :k].sum())
            low, high = (middle, high) if inside >= 0.5 else (low, middle)
        return low

    def describe(self, metric: str | Metric = "hit_rate@10") -> str:
        """What a metric among sampled negatives means for the whole catalogue, in one sentence.

        Parameters
        ----------
        metric : str or Metric, default "hit_rate@10"
            One metric.

        Returns
        -------
        str

        Examples
        --------
        >>> rs.sampled_metrics(100, items=1000).describe("rr")
        'rr among 100 negatives: one sampled rank is about 9 ranks among 1,000 items'
        """
        metric = parse_one(metric)
        among = f"among {self.negatives:,} negatives"
        if self.negatives == self.items - 1 and not self.replacement:
            return f"{metric} {among} equals that among all {self.items:,} items: all of them are sampled"
        if metric.k is None:
            ranks = f"{self.estimated_rank(2) - 1:,} ranks among {self.items:,} items"
            return f"{metric} {among}: one sampled rank is about {ranks}"
        if metric.k > self.negatives:
            every = f"all {self.negatives + 1:,} items of a list are in its top {metric.k:,}"
            return f"{metric} {among} has no information: {every}"
        half = f"an item at rank {self.median_rank(metric.k):,} is in the sampled top {metric.k:,} half of the time"
        if metric.k == 1:
            return f"{metric} {among} is not {metric} among {self.items:,}: {half}"
        name = str(metric).rpartition("@")[0]
        return f"{metric} {among} is about {name}@{self.estimated_rank(metric.k):,} among {self.items:,}: {half}"

    def __str__(self) -> str:
        return self.describe(f"hit_rate@{min(10, self.negatives)}")

    # -- expected values -------------------------------------------------------------------------------

    def probabilities(self, ranks: Ints) -> Floats:
        """Probability of each sampled rank, given the rank in the catalogue.

        Parameters
        ----------
        ranks : array of int
            Ranks in the catalogue, from 1.

        Returns
        -------
        array of float
            One row per rank, one column per sampled rank from 1.
        """
        above = (np.asarray(ranks, dtype=np.float64) - 1)[:, None]
        below = self.items - 1 - above
        drawn = np.arange(
            self.negatives
        )  # sampled negatives ranked above; ratio of the probabilities of one more and this many
        if self.replacement:
            over, under = above * (self.negatives - drawn), below * (drawn + 1)
        else:
            over = (above - drawn) * (self.negatives - drawn)
            under = (below - self.negatives + drawn + 1) * (drawn + 1)
        # From the mode up and down, which avoids cancellation.
        rising = over >= under
        up = np.cumprod(np.divide(over, under, where=~rising, out=np.ones_like(over)), axis=1)
        down = np.cumprod(np.divide(under, over, where=rising, out=np.ones_like(over))[:, ::-1], axis=1)[:, ::-1]
        peak = np.ones((len(above), 1))
        weights = np.where(np.hstack([rising, peak < 0]), np.hstack([down, peak]), np.hstack([peak, up]))
        return weights / weights.sum(axis=1, keepdims=True)

    def expected(self, metric: str | Metric, ranks: Numbers, **choices: Value) -> Floats:
        """Expected value of a metric among sampled negatives, given the rank in the catalogue.

        Parameters
        ----------
        metric : str or Metric
            One metric.
        ranks : array of int
            Ranks of the relevant item in the catalogue, from 1.
        **choices
            Choices, as for `evaluate`.

        Returns
        -------
        array of float
            One value per rank.

        Examples
        --------
        >>> rs.sampled_metrics(1, items=3).expected("hit_rate@1", [1, 2, 3]).tolist()
        [1.0, 0.5, 0.0]
        """
        whole = self._whole(ranks, self.items, "rank")
        return self.probabilities(whole) @ self._sampled_values(metric, choices)

    def _sampled_values(self, metric: str | Metric, choices: dict[str, Value]) -> Floats:
        """The value of the metric per sampled rank."""
        return at_ranks(metric, np.arange(1, self.negatives + 2), self.negatives + 1, choices)

    # -- corrected values -----------------------------------------------------------------------

    def corrected_values(
        self, metric: str | Metric, method: Method = "bias-variance", gamma: float = 0.01, **choices: Value
    ) -> Floats:
        """Corrected value of a metric per sampled rank, whose mean over many lists estimates the full metric.

        Parameters
        ----------
        metric : str or Metric
            One metric.
        method : str, default "bias-variance"
            "bias-variance" minimises bias^2 + gamma * variance for uniformly distributed ranks; "rank" is the value at
            the estimated rank.
        gamma : float, default 0.01
            Weight of the variance, above 0 and at most 1.
        **choices
            Choices, as for `evaluate`.

        Returns
        -------
        array of float
            One value per sampled rank, from 1. The value of a single list is mostly noise.

        Examples
        --------
        >>> rs.sampled_metrics(3, items=10).corrected_values("rr", method="rank").round(4).tolist()
        [1.0, 0.25, 0.1429, 0.1]
        """
        sampled_ranks = np.arange(1, self.negatives + 2)
        if method == "rank":
            return at_ranks(metric, self.estimated_rank(sampled_ranks), self.items, choices)
        if method != "bias-variance":
            raise InputError(f"method={method!r}; choose from 'bias-variance', 'rank'")
        if isinstance(gamma, bool) or not 0 < gamma <= 1:
            raise InputError(f"gamma is {gamma!r}; it must be above 0 and at most 1")
        target = at_ranks(metric, np.arange(1, self.items + 1), self.items, choices)
        gram, moments, totals = (
            np.zeros((len(sampled_ranks), len(sampled_ranks))),
            np.zeros(len(sampled_ranks)),
            np.zeros(len(sampled_ranks)),
        )
        step = max(_BLOCK // len(sampled_ranks), 1)
        for begin in range(0, self.items, step):
            ranks = np.arange(begin, min(begin + step, self.items)) + 1
            probabilities = self.probabilities(ranks)
            gram += probabilities.T @ probabilities
            moments += probabilities.T @ target[ranks - 1]
            totals += probabilities.sum(axis=0)
        return np.linalg.solve((1 - gamma) * gram + gamma * np.diag(totals), moments).astype(np.float64)

    def corrected(
        self,
        metric: str | Metric,
        ranks: Numbers | Result,
        method: Method = "bias-variance",
        gamma: float = 0.01,
        *,
        confidence: float = 0.95,
        **choices: Value,
    ) -> Interval:
        """Estimate the mean of a metric among all items from sampled ranks.

        Parameters
        ----------
        metric : str or Metric
            One metric.
        ranks : array of int or Result
            Sampled rank of the relevant item per list, from 1; or a result of such lists.
        method : str, default "bias-variance"
            "bias-variance" or "rank", as for `corrected_values`.
        gamma : float, default 0.01
            Weight of the variance, as for `corrected_values`.
        confidence : float, default 0.95
            Confidence level of the interval.
        **choices
            Choices, as for `evaluate`.

        Returns
        -------
        Interval
            `mean`, standard `error`, `low` and `high`. The error includes the variance of lists and samples, but not
            the remaining bias.

        Raises
        ------
        ValueError
            If there are fewer than two lists.
        """
        sampled = (
            self._sampled_ranks(ranks)
            if isinstance(ranks, Result)
            else self._whole(ranks, self.negatives + 1, "sampled rank")
        )
        if len(sampled) < 2:
            raise InputError("the estimate needs the sampled ranks of at least two lists")
        values = self.corrected_values(metric, method, gamma, **choices)[sampled - 1]
        interval = interval_of(values, None, confidence, "t", 0, 0)
        low, high, error, mean = map(float, (interval.low, interval.high, interval.error, interval.mean))
        return interval._replace(low=low, high=high, error=error, mean=mean)

    def note(self, result: Result) -> Result:
        """Add the description of each metric to the notes of a result.

        Parameters
        ----------
        result : Result
            Result of lists of one relevant item and the sampled negatives.

        Returns
        -------
        Result
            The same result with more notes.
        """
        self._sampled_ranks(result)
        return result._with_notes(self.describe(label) for label in result)

    def _sampled_ranks(self, result: Result) -> Ints:
        """The rank of the relevant item in each list of a result."""
        plan = result._measurement.plan(next(iter(result)))
        aligned = result._measurement.aligned(plan)
        ranking = ranking_of(aligned.ranked.judged_by(plan.relevance))
        for bad, problem in (
            (ranking.relevant != 1, "relevant items; there must be one per list"),
            (ranking.retrieved != self.negatives + 1, f"items; there must be {self.negatives + 1:,}"),
        ):
            if bad.any():
                at = int(np.argmax(bad))
                count = int((ranking.relevant if "relevant" in problem else ranking.retrieved)[at])
                query = aligned.queries[at]
                raise DataError(f"query {query!r} has {count:,} {problem}", "shape", "run", query=query)
        if not np.isfinite(ranking.first_rank).all():
            query = aligned.queries[int(np.argmax(~np.isfinite(ranking.first_rank)))]
            raise DataError(f"query {query!r}: the relevant item is not returned", "missing", "run", query=query)
        return ranking.first_rank.astype(np.int64)

    def _whole(self, ranks: Numbers, highest: int, name: str) -> Ints:
        numbers = np.atleast_1d(np.asarray(ranks, dtype=np.float64))
        bad = ~((numbers >= 1) & (numbers <= highest) & (numbers == np.floor(numbers)))
        if numbers.ndim != 1 or bad.any():
            value = f"{numbers[bad][0]:g}" if numbers.ndim == 1 else f"of shape {numbers.shape}"
            raise InputError(f"a {name} is a whole number from 1 to {highest:,}, not {value}")
        return numbers.astype(np.int64)


def sampled_metrics(negatives: int, items: int, *, replacement: bool = False) -> SampledMetrics:
    """Interpret and correct metrics of one relevant item ranked among sampled negatives.

    Parameters
    ----------
    negatives : int
        Number of negatives sampled per list.
    items : int
        Number of items in the catalogue, with the relevant one.
    replacement : bool, default False
        Whether negatives are sampled with replacement.

    Returns
    -------
    SampledMetrics
        With `describe`, `expected` and `corrected`.

    Raises
    ------
    ValueError
        If there are fewer items than negatives and `replacement` is False.

    Examples
    --------
    >>> sampled = rs.sampled_metrics(100, items=20_000)
    >>> sampled.estimated_rank(10), sampled.median_rank(10)
    (1800, 1927)
    """
    return SampledMetrics(negatives, items, replacement)


def at_ranks(metric: str | Metric, ranks: Ints, length: int, choices: dict[str, Value]) -> Floats:
    """Values of a metric for lists with one relevant item at these ranks."""
    (plan,) = make_plans(parse_one(metric), "rankstone", {"unjudged": "only_returned", **choices})
    count, ones = len(ranks), np.ones(len(ranks))
    offsets: Ints = np.arange(count + 1)
    lists = Alignment(
        np.full(count, length), np.ones(count, dtype=bool), offsets, ones, ones, offsets,
        np.asarray(ranks, dtype=np.int64), ones, np.full(count, np.nan), np.ones(count, dtype=np.int64),
    )  # fmt: skip
    return measure(plan, lists).values
