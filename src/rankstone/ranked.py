"""What a metric may read (`Ranked`) and what it returns (`Ratio`). From here on there are no ids, frames or strings."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Depth = int | Ints | None  # how far down the list to look: a number, one a query, or all of it
T = TypeVar("T")


class Ratio(NamedTuple):
    """What each query earned over what it could have earned."""

    numerator: Floats
    denominator: Floats
    finish: Callable[[Any], Any] | None = None  # applied after the division, e.g. a square root
    parts: tuple[Ratio, Ratio] | None = None  # precision and recall, where the value is made of them

    def only(self, queries: Bools) -> Ratio:
        """The same of some queries only."""
        return self._replace(
            numerator=self.numerator[queries],
            denominator=self.denominator[queries],
            parts=self.parts and (self.parts[0].only(queries), self.parts[1].only(queries)),
        )


class Relevance(NamedTuple):
    """Which judged items count as relevant, and how much each of them counts."""

    threshold: float = 1.0
    strict: bool = False
    credit: str = "whole"  # "clamp": a grade between 0 and 1 is that much of a relevant item
    truth_depth: str = "all"  # "k": only the first k items of the truth are relevant at k

    @classmethod
    def of(cls, threshold: float | str, credit: str = "whole", truth_depth: str = "all") -> Relevance:
        """Read a threshold: a grade, a string such as ">3" (above, not at) or ">=4", or "all" judged items."""
        strict = False
        if threshold == "all":
            return cls(-math.inf, strict, credit, truth_depth)
        if isinstance(threshold, str):
            text = threshold.strip()
            strict = text.startswith(">") and not text.startswith(">=")
            try:
                threshold = float(text.lstrip(">="))
            except ValueError:
                raise ValueError(f"threshold {text!r} is not a grade; write 2, '>=2', '>2' or 'all'") from None
        if isinstance(threshold, bool) or not isinstance(threshold, (int, float, np.number)):
            raise TypeError(f"threshold must be a grade, not {threshold!r}")
        if not math.isfinite(threshold):
            raise ValueError(f"threshold must be finite, not {threshold!r}")
        return cls(float(threshold), strict, credit, truth_depth)

    def __call__(self, grades: Floats) -> Floats:
        if self.credit == "clamp":
            return np.clip(grades, 0.0, 1.0)
        above = grades > self.threshold if self.strict else grades >= self.threshold
        return above.astype(np.float64)


SHARED = ("group_end", "group_mean")  # orders of tied items that give all of them one rank


class NoExpectedValue(ValueError):  # noqa: N818  it says what is the matter
    """Raised by a metric that has no closed form over all orders of tied items."""


class Ranked:
    """Where the judged items landed: flat arrays sorted by query, then rank.

    A *hit* is a judged item that the run returned. One entry a query: `retrieved` (how many items the run
    returned), `present` (is it in the run at all). One a judged item: `grades`, in the order of the truth as given,
    and `ideal`, the same with each query's in descending order; query q's are [truth_offsets[q]:truth_offsets[q + 1]].
    One a hit: `rank` (from 1), `grade`, `score` (NaN where the run is only an order) and `place` (from 1: the item's
    position in its query's truth as given); query q's are [hit_offsets[q]:hit_offsets[q + 1]]. Where scores are tied,
    `above` is how many items have a higher score and `tied` how many have the same, the hit itself included; both are
    None where nothing is.
    """

    def __init__(
        self,
        retrieved: Ints,
        present: Bools,
        truth_offsets: Ints,
        grades: Floats,
        ideal: Floats,
        hit_offsets: Ints,
        ranks: Ints,
        grade: Floats,
        score: Floats,
        place: Ints,
        above: Ints | None = None,
        tied: Ints | None = None,
        *,
        ordered_truth: bool = False,
        relevance: Relevance | None = None,
    ) -> None:
        self.retrieved = retrieved
        self.present = present
        self.truth_offsets = truth_offsets
        self.grades = grades
        self._ideal: Floats | None = ideal
        self.hit_offsets = hit_offsets
        self.ranks = ranks
        self.grade = grade
        self.score = score
        self.place = place
        self.above = above
        self.tied = tied
        self.ordered_truth = ordered_truth  # the truth came as an order, without grades
        self.expected = False  # answer with the mean over all orders of the tied items
        self.shared = False  # tied items share one rank
        self._judged: Floats | None = None  # how many items the truth judges, where not all of them are known here
        self.unjudged: Ints | None = None  # how many returned items nobody judged, where they count as graded 0
        self.misses: Bools | None = None  # hits that count as if they were not relevant
        self.relevance = relevance or Relevance()
        self._memo: dict[Any, Any] = {}

    def _but(self, **changes: Any) -> Ranked:
        """A copy that shares all arrays but these."""
        other = Ranked.__new__(Ranked)
        other.__dict__.update(self.__dict__, _memo={}, **changes)
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_memo": {}}

    # -- views ---------------------------------------------------------------------------------------------

    def judged_by(self, relevance: Relevance) -> Ranked:
        """The same ranking under another notion of relevance."""
        if relevance == self.relevance:
            return self
        return self.remember(("view", relevance), lambda: self._but(relevance=relevance))

    def with_ties(self, ties: str) -> Ranked:
        """The same ranking with its tied items in another order, or with all orders averaged.

        "optimistic" and "pessimistic" place tied items by grade, best or worst first, with unjudged items
        between the relevant and the others; "judged_first" and "judged_last" look only at what was judged.
        "group_end" and "group_mean" give all of them one rank: the last of their places, or the whole part of the mean.
        """
        if self.above is None or self.tied is None:
            return self
        if ties == "expected":
            return self.remember(ties, lambda: self._but(expected=True))
        if ties in SHARED:
            ranks = self.above + (self.tied if ties == "group_end" else (self.tied + 1) // 2)
            return self.remember(ties, lambda: self._but(ranks=ranks, shared=True))
        return self.remember(ties, lambda: self._reordered(ties))

    def within_the_list(self) -> Ranked:
        """The same ranking where nothing is known but the items returned: those nobody judged have grade 0."""

        def view() -> Ranked:
            unjudged = self.retrieved - lengths(self.hit_offsets)
            if len(self.grade) == len(self.grades):  # all that was judged was returned
                return self._but(unjudged=unjudged)
            changes = {"truth_offsets": self.hit_offsets, "grades": self.grade, "unjudged": unjudged}
            return self._but(_ideal=None, _judged=self.judged, **changes)

        return self.remember("within the list", view)

    def above_zero(self) -> Ranked:
        """The same ranking where an item with a score of 0 or less is never relevant."""
        return self.remember("above zero", lambda: self._but(misses=self.score <= 0))

    def _reordered(self, ties: str) -> Ranked:
        above, tied = self.above, self.tied
        assert above is not None
        assert tied is not None
        ascending = ties == "pessimistic"
        key = self.grade if ascending else -self.grade
        order = np.lexsort((key, above, self.query))
        grade, above, tied = self.grade[order], above[order], tied[order]
        starts = self.group_starts  # the sort moves hits within their group only
        sizes = np.diff(np.append(starts, len(order)))
        nth = np.arange(1, len(order) + 1) - np.repeat(starts, sizes)
        from_end = tied - np.repeat(sizes, sizes) + nth
        good = (grade > 0) | (self.relevance(grade) > 0)  # a threshold of 0 makes grade 0 relevant
        at_front = {
            "optimistic": good,
            "pessimistic": ~good,
            "judged_first": np.ones(len(order), dtype=bool),
            "judged_last": np.zeros(len(order), dtype=bool),
        }[ties]
        ranks = above + np.where(at_front, nth, from_end)
        return self._but(
            ranks=ranks,
            grade=grade,
            score=self.score[order],
            place=self.place[order],
            misses=None if self.misses is None else self.misses[order],
            above=None,
            tied=None,
        )

    def only(self, queries: Bools | Ints) -> Ranked:
        """The same ranking of some queries only: a mask, or their numbers, in any order and as often as wanted."""
        at = np.flatnonzero(queries) if queries.dtype == np.bool_ else np.asarray(queries, dtype=np.int64)
        judged, truth_offsets = _ranges(self.truth_offsets, at)
        hits, hit_offsets = _ranges(self.hit_offsets, at)
        return self._but(
            retrieved=self.retrieved[at],
            present=self.present[at],
            truth_offsets=truth_offsets,
            grades=self.grades[judged],
            _ideal=self.ideal[judged],
            unjudged=None if self.unjudged is None else self.unjudged[at],
            **self._hits_at(hits, hit_offsets),
        )

    def with_hits(self, keep: Bools) -> Ranked:
        """The same ranking without some of the hits: their places hold unjudged items."""
        running = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(keep, dtype=np.int64)))
        return self._but(**self._hits_at(np.flatnonzero(keep), running[self.hit_offsets]))

    def _hits_at(self, at: Ints, hit_offsets: Ints) -> dict[str, Any]:
        return {
            "hit_offsets": hit_offsets,
            "ranks": self.ranks[at],
            "grade": self.grade[at],
            "score": self.score[at],
            "place": self.place[at],
            "misses": None if self.misses is None else self.misses[at],
            "above": None if self.above is None else self.above[at],
            "tied": None if self.tied is None else self.tied[at],
        }

    def pooled(self) -> Ranked:
        """All queries as one: every hit in a single list, by score. For metrics that read scores and grades."""
        return self.remember("pooled", self._pool)

    def _pool(self) -> Ranked:
        order = np.argsort(-self.score, kind="stable")
        score = self.score[order]
        values, first, counts = np.unique(-score, return_index=True, return_counts=True)
        tied = len(values) < len(score)
        n = len(score)
        return self._but(
            retrieved=np.array([self.retrieved.sum()]),
            present=np.array([True]),
            truth_offsets=np.array([0, len(self.grades)]),
            _ideal=-np.sort(-self.grades),
            hit_offsets=np.array([0, n]),
            ranks=np.arange(1, n + 1),
            grade=self.grade[order],
            score=score,
            place=self.place[order],
            unjudged=None if self.unjudged is None else np.array([self.unjudged.sum()]),
            misses=None if self.misses is None else self.misses[order],
            above=np.repeat(first, counts) if tied else None,
            tied=np.repeat(counts, counts) if tied else None,
        )

    # -- sizes and indices -----------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.retrieved)

    @property
    def rank(self) -> Ints:
        """Rank of each hit, from 1."""
        self.need_order()
        return self.ranks

    def need_order(self) -> None:
        """Say that the metric needs one order of the items, not an average over orders."""
        if self.expected:
            raise NoExpectedValue("has no closed form over all orders of tied items")

    @property
    def query(self) -> Ints:
        """Index of each hit's query."""
        return self.remember("query", lambda: np.repeat(np.arange(len(self)), lengths(self.hit_offsets)))

    @property
    def ideal(self) -> Floats:
        """The grades of all judged items, each query's in descending order."""
        if self._ideal is None:
            self._ideal = -sorted_within(-self.grades, self.truth_offsets)
        return self._ideal

    @ideal.setter
    def ideal(self, grades: Floats) -> None:
        self._ideal = grades

    @property
    def judged(self) -> Floats:
        """How many items each query's truth judges."""
        if self._judged is not None:
            return self._judged
        return self.remember("judged", lambda: lengths(self.truth_offsets).astype(np.float64))

    @property
    def relevant(self) -> Floats:
        """How many relevant items each query's truth has."""
        return self.remember("relevant", lambda: self.sum_truth(self.relevance(self.grades)))

    @property
    def nonrelevant(self) -> Floats:
        """How many items each query's truth judges not relevant (a negative grade is no judgement)."""

        def count() -> Floats:
            below = (self.grades >= 0) & (self.relevance(self.grades) == 0)
            judged = self.sum_truth(below.astype(np.float64))
            return judged if self.unjudged is None else judged + self.unjudged

        return self.remember("nonrelevant", count)

    @property
    def credit(self) -> Floats:
        """What each hit counts: 1 if relevant, else 0."""

        def credit() -> Floats:
            whole = self.relevance(self.grade)
            return whole if self.misses is None else np.where(self.misses, 0.0, whole)

        return self.remember("credit", credit)

    @property
    def nth(self) -> Floats:
        """For each hit: how many relevant hits its query has down to its rank, itself included."""

        def nth() -> Floats:
            count = self.running(self.credit)
            if not self.shared:
                return count
            ends = np.append(self.group_starts[1:], len(count))
            return np.repeat(count[ends - 1], np.diff(np.append(self.group_starts, len(count))))

        return self.remember("nth", nth)

    # -- sums ------------------------------------------------------------------------------------------------

    def sum(self, values: Floats) -> Floats:
        """Sum of one value a hit, by query."""
        return _segment_sums(values, self.hit_offsets, self.remember("starts", lambda: _starts(self.hit_offsets)))

    def sum_truth(self, values: Floats) -> Floats:
        """Sum of one value a judged item, by query."""
        starts = self.remember("truth_starts", lambda: _starts(self.truth_offsets))
        return _segment_sums(values, self.truth_offsets, starts)

    def running(self, values: Floats) -> Floats:
        """Running sum of one value a hit, from the top of each query's list."""
        total = np.cumsum(values)
        before = np.concatenate(([0.0], total))[self.hit_offsets[:-1]]
        return total - np.repeat(before, lengths(self.hit_offsets))

    # -- what most metrics are made of -----------------------------------------------------------------------

    def cut(self, k: Depth) -> Bools | None:
        """Which hits lie in the first k places; None for all of them."""
        if k is None:
            return None
        if isinstance(k, np.ndarray):
            return self.rank <= k[self.query]
        if k >= self._deepest:
            return None
        return self.rank <= k

    def hits(self, k: Depth = None) -> Floats:
        """Relevant items in the first k places (their expected number, if ties are averaged)."""
        if self.relevance.truth_depth == "k" and k is not None:
            limit = k[self.query] if isinstance(k, np.ndarray) else k
            return self.sum(np.where(self.place <= limit, self.credit, 0.0) * self.chance(k))
        if isinstance(k, int) and k >= self._deepest:
            k = None
        if k is None:
            return self.remember("hits", lambda: self.sum(self.credit))
        return self.sum(self.credit * self.chance(k))

    def chance(self, k: Depth) -> Floats:
        """For each hit the chance to be in the first k places: 0 or 1, or between if ties are averaged."""
        if k is None:
            return np.ones(len(self.grade))
        limit = k[self.query] if isinstance(k, np.ndarray) else k
        if self.expected and self.above is not None and self.tied is not None:
            return np.clip(limit - self.above, 0, self.tied) / self.tied
        return (self.ranks <= limit).astype(np.float64)

    def discounted(self, gains: Floats, discount: Callable[[Floats], Floats] | None, k: Depth = None) -> Floats:
        """Sum over hits in the first k places of gain times discount(rank)."""
        if discount is None:
            return self.sum(gains if k is None else gains * self.chance(k))
        if self.expected and self.above is not None and self.tied is not None:
            table = np.concatenate(([0.0], np.cumsum(self._table(discount)[1:])))
            limit = self._deepest if k is None else k[self.query] if isinstance(k, np.ndarray) else k
            low, high = np.minimum(self.above, limit), np.minimum(self.above + self.tied, limit)
            return self.sum(gains * (table[high] - table[low]) / self.tied)
        worth = gains * self.remember(("discount", discount), lambda: self._table(discount)[self.ranks])
        inside = self.cut(k)
        return self.sum(worth if inside is None else np.where(inside, worth, 0.0))

    def _table(self, discount: Callable[[Floats], Floats]) -> Floats:
        """discount(rank) by rank; entry 0 is unused."""
        ranks = np.arange(self._deepest + 1, dtype=np.float64)
        ranks[0] = 1.0
        return discount(ranks)

    @property
    def _deepest(self) -> int:
        """No hit can lie deeper than this."""

        def deepest() -> int:
            if len(self.ranks) == 0:
                return 0
            last = self.ranks if self.above is None or self.tied is None else self.above + self.tied
            return int(last.max())

        return self.remember("deepest", deepest)

    def places(self, k: Depth, divisor: str = "k") -> Floats:
        """How many places of the list count: k, or fewer if the list or the truth is shorter."""
        if k is None:
            places = self.retrieved
        elif divisor == "min(k,retrieved)":
            places = np.minimum(k, self.retrieved)
        else:
            places = np.broadcast_to(np.asarray(k), len(self))
        if divisor == "min(k,relevant)":
            return np.minimum(places, self.relevant)
        return places.astype(np.float64)

    def first(self, k: Depth = None) -> Floats:
        """Rank of the first relevant item in the first k places; infinite where there is none."""

        def first() -> Floats:
            rank = np.where(self.credit > 0, self.rank, np.inf)
            out = np.full(len(self), np.inf)
            starts = self.remember("starts", lambda: _starts(self.hit_offsets))
            if len(rank):
                some = slice(None) if starts is None else starts[0]
                out[some] = np.minimum.reduceat(rank, self.hit_offsets[:-1][some])
            return out

        whole = self.remember("first", first)
        return whole if k is None else np.where(whole <= k, whole, np.inf)

    @property
    def group_starts(self) -> Ints:
        """Index of the first hit of each set of tied hits."""

        def starts() -> Ints:
            if self.above is None:
                return np.arange(len(self.ranks))
            first = np.ones(len(self.above), dtype=bool)
            first[1:] = (self.above[1:] != self.above[:-1]) | (self.query[1:] != self.query[:-1])
            return np.flatnonzero(first)

        return self.remember("group_starts", starts)

    def groups(self) -> TieGroups:
        """Tied hits taken together, for closed forms over all orders of tied items."""
        return self.remember("groups", lambda: TieGroups(self))

    def sum_groups(self, values: Floats) -> Floats:
        """Sum of one value a group of `groups()`, by query."""
        return np.bincount(self.groups().query, values, minlength=len(self)).astype(np.float64)

    @property
    def ideal_rank(self) -> Ints:
        """Position of each judged item in its query's ideal list, from 1."""

        def positions() -> Ints:
            sizes = lengths(self.truth_offsets)
            ranks = np.arange(1, len(self.ideal) + 1) - np.repeat(self.truth_offsets[:-1], sizes)
            if self.unjudged is not None:  # as grade 0, they come before the negative ones
                ranks += np.where(self.ideal < 0, np.repeat(self.unjudged, sizes), 0)
            return ranks

        return self.remember("ideal_rank", positions)

    @property
    def longest_ideal(self) -> int:
        """No judged item's place in an ideal list is deeper than this."""
        sizes = lengths(self.truth_offsets)
        return int((sizes if self.unjudged is None else sizes + self.unjudged).max(initial=0))

    def remember(self, key: Any, make: Callable[[], T]) -> T:
        """Keep an intermediate array that several metrics or cutoffs share."""
        if key in self._memo:
            return cast("T", self._memo[key])
        value = self._memo[key] = make()
        return value


class TieGroups:
    """Sets of tied hits: `size` items share the places after `before`, and `relevant` of them are relevant.

    `relevant` is the sum of what they count, `found` their number; the two differ where an item can count in part.
    """

    def __init__(self, ranked: Ranked) -> None:
        above = ranked.above if ranked.above is not None else ranked.ranks - 1
        tied = ranked.tied if ranked.tied is not None else np.ones(len(above), dtype=np.int64)
        starts = ranked.group_starts
        relevant = np.add.reduceat(ranked.credit, starts) if len(starts) else np.zeros(0)
        found = np.add.reduceat((ranked.credit > 0).astype(np.float64), starts) if len(starts) else np.zeros(0)
        keep = relevant > 0
        self.query: Ints = ranked.query[starts][keep]
        self.before: Ints = above[starts][keep]
        self.size: Ints = tied[starts][keep]
        self.relevant: Floats = relevant[keep]
        self.found: Floats = found[keep]
        running = np.cumsum(self.relevant) - self.relevant
        opens = np.ones(len(self.query), dtype=bool)
        opens[1:] = self.query[1:] != self.query[:-1]
        self.opens: Bools = opens  # is it the query's first group with a relevant item
        base = running[opens]
        self.relevant_before: Floats = running - np.repeat(base, np.diff(np.append(np.flatnonzero(opens), len(opens))))


def lengths(offsets: Ints) -> Ints:
    """How long the segments between offsets are."""
    return offsets[1:] - offsets[:-1]


def sorted_within(values: Floats, offsets: Ints) -> Floats:
    """Values in ascending order, segment by segment."""
    segment = np.repeat(np.arange(len(offsets) - 1), lengths(offsets))
    return values[np.lexsort((values, segment))]


def _ranges(offsets: Ints, segments: Ints) -> tuple[Ints, Ints]:
    """Positions of all that is in some segments, one segment after the other, and their offsets."""
    sizes = offsets[segments + 1] - offsets[segments]
    ends = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))
    return np.arange(ends[-1]) + np.repeat(offsets[segments] - ends[:-1], sizes), ends


def _starts(offsets: Ints) -> tuple[Bools, Ints] | None:
    """Which segments are not empty, and where they start; None if all of them are not."""
    some = offsets[1:] > offsets[:-1]
    return None if some.all() else (some, offsets[:-1][some])


def _segment_sums(values: Floats, offsets: Ints, starts: tuple[Bools, Ints] | None) -> Floats:
    if starts is None:
        return np.add.reduceat(values, offsets[:-1]) if len(offsets) > 1 else np.zeros(0)
    out = np.zeros(len(offsets) - 1)
    if len(starts[1]):
        out[starts[0]] = np.add.reduceat(values, starts[1])
    return out
