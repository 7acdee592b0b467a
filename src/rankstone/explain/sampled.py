"""What a number means where an item was ranked among a sample of the others: `rs.sampled(100, items=20_000)`."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from rankstone.align.alignment import Alignment, Floats, Ints
from rankstone.conventions.plan import make_plans
from rankstone.errors import DataError
from rankstone.evaluate.values import measure
from rankstone.metrics.registry import Metric, Value, parse_one
from rankstone.program.flat import ranking_of
from rankstone.results.result import Result
from rankstone.statistics.intervals import interval_of

if TYPE_CHECKING:
    from rankstone.statistics import Interval
    from rankstone.typing import Numbers

V = TypeVar("V", int, Ints)  # one of them, or an array
Method = Literal["bias-variance", "rank"]
_BLOCK = 1 << 20  # chances that are computed at a time


@dataclass(frozen=True)
class Sampled:
    """Lists of one relevant item among so many others, drawn at random from a catalogue of so many items.

    It prints as a sentence. `say` says the same of any metric, `expected` is what a metric will be among the sample,
    and `corrected` what it would have been among all items, as far as that can be known.
    """

    negatives: int  # drawn for each list
    items: int  # of the catalogue, the relevant one included
    replacement: bool = False  # can one be drawn twice

    def __post_init__(self) -> None:
        for name, lowest in (("negatives", 1), ("items", 2)):
            value = getattr(self, name)
            try:
                whole = operator.index(value)
            except TypeError:
                whole = 0
            if isinstance(value, bool) or whole < lowest:
                raise ValueError(f"{name} is {value!r}; it must be a whole number from {lowest}")
            object.__setattr__(self, name, whole)
        if not self.replacement and self.negatives > self.items - 1:
            raise ValueError(
                f"{self.negatives:,} negatives cannot be drawn from {self.items - 1:,} other items; "
                "replacement=True draws some of them twice"
            )

    # -- in words --------------------------------------------------------------------------------------------

    def rank(self, place: V) -> V:
        """The rank in the catalogue that a place in the sample is estimated at: 1 + (items - 1)(place - 1) / negatives.

        Krichene and Rendle (2020), rounded down.
        """
        return 1 + (self.items - 1) * (place - 1) // self.negatives

    def even(self, k: int) -> int:
        """The last rank in the catalogue from which an item gets into the first k of the sample half of the time."""
        if k > self.negatives:
            return self.items
        low, high = 1, self.items  # in, and out
        while high - low > 1:
            middle = (low + high) // 2
            inside = float(self.chances(np.array([middle]))[0, :k].sum())
            low, high = (middle, high) if inside >= 0.5 else (low, middle)
        return low

    def say(self, metric: str | Metric = "hit_rate@10") -> str:
        """What a metric among the sample is like, in a sentence."""
        found = parse_one(metric)
        among = f"among {self.negatives:,} negatives"
        if self.negatives == self.items - 1 and not self.replacement:
            return f"{found} {among} is that among all {self.items:,} items: the sample has all of them"
        if found.k is None:
            return f"{found} {among}: a place there is about {self.rank(2) - 1:,} ranks among {self.items:,} items"
        if found.k > self.negatives:
            return (
                f"{found} {among} says nothing: all {self.negatives + 1:,} items of a list are in its first {found.k:,}"
            )
        even = f"an item at rank {self.even(found.k):,} gets in half of the time"
        if found.k == 1:
            return f"{found} {among} is not {found} among {self.items:,}: {even}"
        name = str(found).rpartition("@")[0]
        return f"{found} {among} is about {name}@{self.rank(found.k):,} among {self.items:,}: {even}"

    def __str__(self) -> str:
        return self.say(f"hit_rate@{min(10, self.negatives)}")

    # -- what a metric will be -------------------------------------------------------------------------------

    def chances(self, ranks: Ints) -> Floats:
        """The chance of each place in the sample, from 1, a row for each rank in the catalogue."""
        above = (np.asarray(ranks, dtype=np.float64) - 1)[:, None]
        below = self.items - 1 - above
        drawn = np.arange(self.negatives)  # so many stand above; how likelier is one more
        if self.replacement:
            over, under = above * (self.negatives - drawn), below * (drawn + 1)
        else:
            over = (above - drawn) * (self.negatives - drawn)
            under = (below - self.negatives + drawn + 1) * (drawn + 1)
        # From the likeliest number up and down, so that nothing large is subtracted.
        rising = over >= under
        up = np.cumprod(np.divide(over, under, where=~rising, out=np.ones_like(over)), axis=1)
        down = np.cumprod(np.divide(under, over, where=rising, out=np.ones_like(over))[:, ::-1], axis=1)[:, ::-1]
        peak = np.ones((len(above), 1))
        every = np.where(np.hstack([rising, peak < 0]), np.hstack([down, peak]), np.hstack([peak, up]))
        return every / every.sum(axis=1, keepdims=True)

    def expected(self, metric: str | Metric, ranks: Numbers, **choices: Value) -> Floats:
        """The mean of a metric over all samples, for each rank that the relevant item has in the catalogue."""
        where = self._whole(ranks, self.items, "rank")
        return self.chances(where) @ self._places(metric, choices)

    def _places(self, metric: str | Metric, choices: dict[str, Value]) -> Floats:
        """The value at each place in the sample."""
        return at_ranks(metric, np.arange(1, self.negatives + 2), self.negatives + 1, choices)

    # -- what a metric would have been -----------------------------------------------------------------------

    def counts(
        self, metric: str | Metric, method: Method = "bias-variance", gamma: float = 0.01, **choices: Value
    ) -> Floats:
        """What an item at each place in the sample counts, so that the mean over many lists is nearer that among all.

        "bias-variance": with it bias^2 + gamma variance is least, if all true ranks are equally likely; "rank": the
        value at the estimated rank. Both by Krichene and Rendle (2020). A single list's number is nearly noise.
        """
        places = np.arange(1, self.negatives + 2)
        if method == "rank":
            return at_ranks(metric, self.rank(places), self.items, choices)
        if method != "bias-variance":
            raise ValueError(f"method={method!r}; choose from 'bias-variance', 'rank'")
        if isinstance(gamma, bool) or not 0 < gamma <= 1:
            raise ValueError(f"gamma is {gamma!r}; it must be above 0 and at most 1")
        wanted = at_ranks(metric, np.arange(1, self.items + 1), self.items, choices)
        both, right, each = np.zeros((len(places), len(places))), np.zeros(len(places)), np.zeros(len(places))
        step = max(_BLOCK // len(places), 1)
        for begin in range(0, self.items, step):
            ranks = np.arange(begin, min(begin + step, self.items)) + 1
            chances = self.chances(ranks)
            both += chances.T @ chances
            right += chances.T @ wanted[ranks - 1]
            each += chances.sum(axis=0)
        return np.linalg.solve((1 - gamma) * both + gamma * np.diag(each), right).astype(np.float64)

    def corrected(
        self,
        metric: str | Metric,
        places: Numbers | Result,
        method: Method = "bias-variance",
        gamma: float = 0.01,
        *,
        confidence: float = 0.95,
        **choices: Value,
    ) -> Interval:
        """The mean of a metric among all items, estimated from the relevant item's place in each sampled list.

        places: one a list, from 1, or a result of such lists. The answer has the `mean`, its standard `error` and
        an interval. The error is that of lists and samples; what bias is left is in no error: `counts` says how it is
        weighed against variance.
        """
        where = self._seen(places) if isinstance(places, Result) else self._whole(places, self.negatives + 1, "place")
        if len(where) < 2:
            raise ValueError("one list says nearly nothing of a rank among all items; give the places of many")
        values = self.counts(metric, method, gamma, **choices)[where - 1]
        found = interval_of(values, None, confidence, "t", 0, 0)
        low, high, error, mean = map(float, (found.low, found.high, found.error, found.mean))
        return found._replace(low=low, high=high, error=error, mean=mean)

    def remark(self, result: Result) -> Result:
        """The same result, which says under its table what its numbers mean."""
        self._seen(result)
        return result.remarked(self.say(label) for label in result)

    def _seen(self, result: Result) -> Ints:
        """The place of the relevant item in each list of a result."""
        plan = result.plan_of(next(iter(result)))
        aligned = result.measurement.aligned(plan)
        ranking = ranking_of(aligned.ranked.judged_by(plan.relevance))
        for bad, problem in (
            (ranking.relevant != 1, "relevant items, where one was ranked among a sample"),
            (ranking.retrieved != self.negatives + 1, f"items, where there should be {self.negatives + 1:,}"),
        ):
            if bad.any():
                at = int(np.argmax(bad))
                count = int((ranking.relevant if "relevant" in problem else ranking.retrieved)[at])
                query = aligned.queries[at]
                raise DataError(f"query {query!r} has {count:,} {problem}", "shape", "run", query=query)
        if not np.isfinite(ranking.first_rank).all():
            query = aligned.queries[int(np.argmax(~np.isfinite(ranking.first_rank)))]
            raise DataError(f"query {query!r}: its relevant item is not in its list", "missing", "run", query=query)
        return ranking.first_rank.astype(np.int64)

    def _whole(self, given: Numbers, most: int, what: str) -> Ints:
        found = np.atleast_1d(np.asarray(given, dtype=np.float64))
        bad = ~((found >= 1) & (found <= most) & (found == np.floor(found)))
        if found.ndim != 1 or bad.any():
            value = f"{found[bad][0]:g}" if found.ndim == 1 else f"of shape {found.shape}"
            raise ValueError(f"a {what} is a whole number from 1 to {most:,}, not {value}")
        return found.astype(np.int64)


def sampled(negatives: int, items: int, *, replacement: bool = False) -> Sampled:
    """What numbers mean where one relevant item is ranked among negatives drawn at random from all items.

    >>> print(rs.sampled(100, items=20_000))
    hit_rate@10 among 100 negatives is about hit_rate@1,800 among 20,000: an item at rank 1,927 gets in half of the time
    """
    return Sampled(negatives, items, replacement)


def at_ranks(metric: str | Metric, ranks: Ints, length: int, choices: dict[str, Value]) -> Floats:
    """A metric of lists of one length, each with one relevant item, at these ranks; nothing else is relevant."""
    (plan,) = make_plans(parse_one(metric), "rankstone", {"known": "returned", **choices})
    many, ones = len(ranks), np.ones(len(ranks))
    each: Ints = np.arange(many + 1)
    lists = Alignment(
        np.full(many, length), np.ones(many, dtype=bool), each, ones, ones, each, np.asarray(ranks, dtype=np.int64),
        ones, np.full(many, np.nan), np.ones(many, dtype=np.int64),
    )  # fmt: skip
    return measure(plan, lists).values
