"""`Alignment`: where the judged items landed, as flat NumPy arrays, without ids, frames or strings."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from rankstone.align.elementwise import Functions, Values
from rankstone.align.ties import TIES, TieRule
from rankstone.data.annotations import Annotations, all_in_order, join_annotations, ranges
from rankstone.data.annotations import Bools as Bools
from rankstone.data.annotations import Floats as Floats
from rankstone.data.annotations import Ints as Ints
from rankstone.errors import InputError, InputTypeError, show

T = TypeVar("T")

_PLACED = ("rank", "grade", "score", "place", "above", "tied")


class Relevance(NamedTuple):
    """Which judged items count as relevant, and how much each of them counts."""

    threshold: float = 1.0
    strict: bool = False
    credit: str = (
        "binary"  # "clipped": a grade between 0 and 1 is that much of a relevant item; "weighted": by the truth
    )
    truth_depth: str = "all"  # "k": only the first k items of the truth are relevant at k
    relative: bool = False  # the threshold is also one of the query's own grades

    @classmethod
    def of(cls, threshold: float | str, credit: str = "binary", truth_depth: str = "all") -> Relevance:
        """Read a threshold: a grade, a string such as ">3" (above, not at) or ">=4", or "all" judged items."""
        strict = False
        if threshold == "all":
            return cls(-math.inf, strict, credit, truth_depth)
        if threshold == "relative":
            return cls(0.0, True, credit, truth_depth, relative=credit != "clipped")  # which reads no threshold
        if isinstance(threshold, str):
            text = threshold.strip()
            strict = text.startswith(">") and not text.startswith(">=")
            try:
                threshold = float(text.lstrip(">="))
            except ValueError:
                raise InputError(
                    f"threshold {text!r} is not a grade; write 2, '>=2', '>2', 'all' or 'relative'"
                ) from None
        if isinstance(threshold, (bool, type)) or not hasattr(threshold, "__float__"):
            raise InputTypeError(f"threshold must be a grade, not {threshold!r}")
        if not abs(threshold) <= sys.float_info.max:
            raise InputError(f"threshold must be finite, not {show(threshold)}")
        return cls(float(threshold), strict, credit, truth_depth)

    def of_grades(self, f: Functions, grades: Values) -> Values:
        """How far items of these grades are relevant: 1 or 0, or a part of 1."""
        if self.credit == "clipped":
            return f.minimum(f.maximum(grades, 0.0), 1.0)
        return f.where(self.reached(grades), 1.0, 0.0)

    def reached(self, grades: Values) -> Values:
        """Which grades reach the threshold."""
        return grades > self.threshold if self.strict else grades >= self.threshold


@dataclass(frozen=True, eq=False, repr=False)
class Alignment:
    """Where the judged items landed: flat arrays sorted by query, then rank; no arithmetic.

    An item is *placed* if it was judged and the run returned it. One entry per query: `retrieved` (how many items the
    run returned), `present` (is it in the run at all). One per judged item: `truth_grades`, in the order of the truth
    as given, and `ideal_grades`, the same with each query's in descending order; query q's are
    [truth_offsets[q]:truth_offsets[q + 1]]. One per placed item: `rank` (from 1), `grade`, `score` (NaN where the run
    is only an order) and `place` (from 1: the item's position in its query's truth as given); query q's are
    [placed_offsets[q]:placed_offsets[q + 1]]. Where scores are tied, `above` is how many items have a higher score and
    `tied` how many have the same, the item itself included; both are None where nothing is.
    """

    retrieved: Ints
    present: Bools
    truth_offsets: Ints
    truth_grades: Floats
    _ideal_grades: Floats | None
    placed_offsets: Ints
    rank: Ints
    grade: Floats
    score: Floats
    place: Ints
    above: Ints | None = None
    tied: Ints | None = None
    _: KW_ONLY
    annotations: Annotations | None = None  # what else the truth says of each judged item
    judged: Ints | None = None  # how many items the truth judges, where not all of them are here
    unjudged: Ints | None = None  # how many returned items are unjudged, where they count as graded 0
    arrays: object = field(default_factory=object)  # the same for alignments that share all arrays
    # How a metric looks at it.
    rule: Relevance = field(default_factory=Relevance)
    ordered_truth: bool = False  # the truth came as an order, without grades
    ordered_grades: bool = False  # the truth came as a list of grades, whose order is the caller's
    ties: TieRule | None = None  # the rule for tied items, where they share a rank or are averaged
    listed: bool = False  # only the items returned count: unjudged ones have grade 0
    misses: bool = False  # an item with a score of 0 or less is never relevant
    best: bool | None = None  # do tied items stand with the best first (or last) for a metric; None: as ordered
    _memo: dict[Any, Any] = field(default_factory=dict)

    def replace(self, **changes: object) -> Alignment:
        """A copy with other arrays in the place of these."""
        return self._looked_at(arrays=object(), **changes)

    def _looked_at(self, **changes: object) -> Alignment:
        """A copy that shares all arrays."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, _memo={}, **changes)
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_memo": {}, "arrays": None, "ties": self.ties and self.ties.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        ties = state["ties"]
        self.__dict__.update(state, arrays=object(), ties=None if ties is None else TIES[ties])

    def remember(self, key: Hashable, make: Callable[[], T]) -> T:
        """Keep what is made of it."""
        if key in self._memo:
            return cast("T", self._memo[key])
        value = self._memo[key] = make()
        return value

    # -- sizes and indices -----------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.retrieved)

    @property
    def query(self) -> Ints:
        """Index of each placed item's query."""
        return self.remember("query", lambda: np.repeat(np.arange(len(self)), lengths(self.placed_offsets)))

    @property
    def ideal_grades(self) -> Floats:
        """The grades of all judged items, each query's in descending order."""
        if self._ideal_grades is not None:
            return self._ideal_grades
        return self.remember("ideal_grades", lambda: -sorted_within(-self.truth_grades, self.truth_offsets))

    @property
    def truth_place(self) -> Ints:
        """Where each placed item stands among all judged items of all queries, in the order of the truth."""
        return self.truth_offsets[self.query] + self.place - 1

    @property
    def deepest(self) -> int:
        """No placed item can lie deeper than this, and no list is longer."""

        def deepest() -> int:
            last = self.rank if self.above is None or self.tied is None else self.above + self.tied
            return int(max(last.max(initial=0), self.retrieved.max(initial=0)))

        return self.remember("deepest", deepest)

    # -- other ways to look at it ----------------------------------------------------------------------------

    def judged_by(self, rule: Relevance) -> Alignment:
        """The same under another notion of relevance."""
        return self if rule == self.rule else self.remember(("rule", rule), lambda: self._looked_at(rule=rule))

    def with_ties(self, rule: TieRule) -> Alignment:
        """The same with tied items at one rank, or averaged over all orders."""
        if self.tied is None:
            return self
        return self.remember(("ties", rule.name), lambda: self._looked_at(ties=rule))

    def above_zero(self) -> Alignment:
        """The same where an item with a score of 0 or less is never relevant."""
        return self.remember("above zero", lambda: self._looked_at(misses=True))

    def within_the_list(self) -> Alignment:
        """The same where only the items returned count: unjudged ones have grade 0."""

        def view() -> Alignment:
            changes: dict[str, Any] = {"unjudged": self.retrieved - lengths(self.placed_offsets), "listed": True}
            changes["judged"] = lengths(self.truth_offsets)
            times = np.bincount(self.truth_place, minlength=len(self.truth_grades))
            if (times != 1).any():  # not all that was judged was returned, or some of it more than once
                at = np.lexsort((self.place, self.query))  # as the truth has them
                changes |= {"truth_offsets": self.placed_offsets, "truth_grades": self.grade[at]}
                changes |= {"_ideal_grades": None}
            return self.replace(**changes)

        return self.remember("within the list", view)

    def condensed(self) -> Alignment:
        """The same without unjudged items: the others move up. A negative grade is no judgement."""

        def view() -> Alignment:
            judged = self.with_placed(self.grade >= 0)
            sizes = lengths(judged.placed_offsets)
            nth = np.arange(1, len(judged.grade) + 1) - np.repeat(judged.placed_offsets[:-1], sizes)
            above = tied = None
            if judged.above is not None:
                starts, sizes_tied = equal_runs(judged.query, judged.above)
                if (sizes_tied > 1).any():
                    above, tied = np.repeat(nth[starts] - 1, sizes_tied), np.repeat(sizes_tied, sizes_tied)
            return judged.replace(retrieved=sizes, rank=nth, above=above, tied=tied)

        return self.remember("condensed", view)

    # -- other rows --------------------------------------------------------------------------------------------

    def ranked_by(self, rank: Ints, **changes: object) -> Alignment:
        """The placed items at other ranks."""
        key = self.query * (int(rank.max(initial=0)) + 1) + rank
        order = np.argsort(key, kind="stable")  # quick, as they are nearly in order
        return self.replace(**{**self._placed_of(order, self.placed_offsets), "rank": rank[order], **changes})

    def ties_reversed(self) -> Alignment:
        """The same with items of equal scores the other way round."""
        if self.above is None or self.tied is None:
            return self
        return self.ranked_by(2 * self.above + self.tied + 1 - self.rank)

    def only(self, queries: Bools | Ints) -> Alignment:
        """The same of some queries only: a mask, or their numbers, in any order and as often as wanted."""
        at = np.flatnonzero(queries) if queries.dtype == np.bool_ else np.asarray(queries, dtype=np.int64)
        if all_in_order(at, len(self)):
            return self
        judged, truth_offsets = ranges(self.truth_offsets, at)
        placed, placed_offsets = ranges(self.placed_offsets, at)
        return self.replace(
            retrieved=self.retrieved[at],
            present=self.present[at],
            truth_offsets=truth_offsets,
            truth_grades=self.truth_grades[judged],
            _ideal_grades=self.ideal_grades[judged],
            annotations=None if self.annotations is None else self.annotations.only(judged),
            judged=None if self.judged is None else self.judged[at],
            unjudged=None if self.unjudged is None else self.unjudged[at],
            **self._placed_of(placed, placed_offsets),
        )

    def with_placed(self, keep: Bools) -> Alignment:
        """The same without some of the placed items: unjudged ones take their places."""
        running = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(keep, dtype=np.int64)))
        return self.replace(**self._placed_of(np.flatnonzero(keep), running[self.placed_offsets]))

    def _placed_of(self, at: Ints, placed_offsets: Ints) -> dict[str, Any]:
        columns = {name: getattr(self, name) for name in _PLACED}
        picked = {name: None if column is None else column[at] for name, column in columns.items()}
        return {"placed_offsets": placed_offsets, **picked}

    def with_truth(self, offsets: Ints, grades: Floats) -> Alignment:
        """The same with other grades of the truth, where the list does not have all judged items."""
        inside = grades[offsets[0] : offsets[-1]]
        starts = np.asarray(offsets, dtype=np.int64) - offsets[0]
        best = -sorted_within(-inside, starts)
        return self.replace(truth_offsets=starts, truth_grades=inside, _ideal_grades=best, ordered_grades=True)

    def as_one_list(self) -> Alignment:
        """All queries as one: every placed item in a single list, by score."""
        if (
            len(self) == 1
            and self.retrieved[0] == len(self.rank)
            and self.tied is None
            and not np.isnan(self.score).any()
        ):
            return self  # its items are ordered by their scores already
        return self.remember("as one list", self._one_list)

    def _one_list(self) -> Alignment:
        order = np.argsort(-self.score, kind="stable")
        n = len(order)
        values, first, counts = np.unique(-self.score[order], return_index=True, return_counts=True)
        tied = len(values) < n
        changes = {
            "retrieved": np.array([self.retrieved.sum()]),
            "present": np.array([True]),
            "truth_offsets": np.array([0, len(self.truth_grades)]),
            "_ideal_grades": -np.sort(-self.truth_grades),
            "judged": None if self.judged is None else np.array([self.judged.sum()]),
            "unjudged": None if self.unjudged is None else np.array([self.unjudged.sum()]),
            "rank": np.arange(1, n + 1),
            "above": np.repeat(first, counts) if tied else None,
            "tied": np.repeat(counts, counts) if tied else None,
            "ties": None,
            "best": None,
        }
        return self.replace(**{**self._placed_of(order, np.array([0, n])), **changes})


def lengths(offsets: Ints) -> Ints:
    """How long the segments between offsets are."""
    return offsets[1:] - offsets[:-1]


def sorted_within(values: Floats, offsets: Ints) -> Floats:
    """Values in ascending order, segment by segment."""
    segment = np.repeat(np.arange(len(offsets) - 1), lengths(offsets))
    return values[np.lexsort((values, segment))]


def starts_of(offsets: Ints) -> tuple[Bools, Ints] | None:
    """Which segments are not empty, and where they start; None if all of them are not."""
    some = offsets[1:] > offsets[:-1]
    return None if some.all() else (some, offsets[:-1][some])


def segment_reduce(
    values: Floats, offsets: Ints, starts: tuple[Bools, Ints] | None, function: np.ufunc = np.add, empty: float = 0.0
) -> Floats:
    """The sum of each segment, or what another function makes of it; `empty` where there is nothing."""
    if starts is None:
        return function.reduceat(values, offsets[:-1]) if len(offsets) > 1 else np.zeros(0)
    out = np.full(len(offsets) - 1, empty)
    if len(starts[1]):
        out[starts[0]] = function.reduceat(values, starts[1])
    return out


def equal_runs(query: Ints, *values: NDArray[Any]) -> tuple[Ints, Ints]:
    """Where each run of equal values of one query starts, and how many it holds."""
    first = np.ones(len(query), dtype=bool)
    first[1:] = query[1:] != query[:-1]
    for value in values:
        first[1:] |= value[1:] != value[:-1]
    starts = np.flatnonzero(first)
    return starts, np.diff(starts, append=len(query))


# -- several as one ------------------------------------------------------------------------------------------

_FIELDS = (
    "retrieved", "present", "truth_offsets", "truth_grades", "ideal_grades", "placed_offsets", "rank",
    "grade", "score", "place",
)  # fmt: skip
_TIES = ("above", "tied")
_LINE = 64  # bytes that an array starts at a multiple of


def join(pieces: Sequence[Alignment]) -> Alignment:
    """The queries of several rankings, one after the other."""
    if len(pieces) == 1:
        return pieces[0]
    tied = any(piece.tied is not None for piece in pieces)

    def every(name: str) -> list[NDArray[Any]]:
        columns = [_level(piece, name) if name in _TIES else getattr(piece, name) for piece in pieces]
        return list(_ends(columns)) if name.endswith("offsets") else columns

    return Alignment(
        *_concatenated([every(name) for name in (_FIELDS + _TIES if tied else _FIELDS)]),
        ordered_truth=all(piece.ordered_truth for piece in pieces),
        ordered_grades=all(piece.ordered_grades for piece in pieces),
        annotations=join_annotations([piece.annotations for piece in pieces]),
    )


def _level(piece: Alignment, name: str) -> Ints:
    """How many items stand above, or are tied, also where none are."""
    if piece.above is None or piece.tied is None:
        return piece.rank - 1 if name == "above" else np.ones_like(piece.rank)
    return piece.above if name == "above" else piece.tied


def _ends(several: Sequence[Ints]) -> Iterator[Ints]:
    """The parts of offsets that go on where those before end."""
    yield np.zeros(1, dtype=np.int64)
    end = 0
    for offsets in several:
        yield offsets[1:] + end
        end += int(offsets[-1])


def _concatenated(several: Sequence[Sequence[NDArray[Any]]]) -> Iterator[NDArray[Any]]:
    """Each list of arrays as one array. All lie in one stretch of memory: large ones get large pages, by NumPy."""
    types = [np.result_type(*{part.dtype for part in parts}) for parts in several]
    sizes = [kind.itemsize * sum(map(len, parts)) for kind, parts in zip(types, several, strict=True)]
    memory = np.empty(sum(size + _LINE for size in sizes), dtype=np.uint8)
    at = 0
    for kind, size, parts in zip(types, sizes, several, strict=True):
        yield np.concatenate(parts, out=memory[at : at + size].view(kind))
        at += size + -size % _LINE
