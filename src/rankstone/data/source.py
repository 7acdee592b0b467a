"""User data as a `Source`, which can be aligned in any way; what comes of it is an `Alignment` with names."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from numpy.typing import NDArray

from rankstone import _core
from rankstone.align.alignment import Alignment, Ints
from rankstone.data.annotations import Notes
from rankstone.data.arrow import plain_ids
from rankstone.errors import QueryError

if TYPE_CHECKING:
    from rankstone.align.recommendations import Shown
    from rankstone.data.arrow import Column


@dataclass(frozen=True)
class Align:
    """How a truth and a run are brought together."""

    order: str = "item_desc"  # who goes first among equal scores
    float32: bool = False  # how finely scores are compared
    duplicates: str = "error"
    truth_duplicates: str = "error"
    extra_queries: bool = False  # are queries that nobody judged kept, with an empty truth
    zeros: bool = True  # are items judged 0 kept
    threads: int = 0  # 0: all cores
    notes: tuple[str, ...] = ()  # what is kept of the truth besides grades: "subtopic", "weight"; zeros then, too

    def keeping(self, zeros: bool, threads: int, notes: tuple[str, ...] = ()) -> Align:
        """The same with or without items judged 0 and what else is said of items, on so many cores."""
        return Align(
            self.order, self.float32, self.duplicates, self.truth_duplicates, self.extra_queries, zeros, threads, notes
        )


@dataclass(eq=False, repr=False)
class Aligned:
    """A truth and a run brought together."""

    ranked: Alignment
    name_queries: Callable[[], Sequence[Any]]
    name_extra: Callable[[], Sequence[Any]]
    extra_count: int
    dropped: int  # rows of the run that the rule for duplicates removed
    extra_known: bool = True  # False: there are at least `extra_count` of them, too many to remember
    remarks: tuple[str, ...] = ()  # on how the data was read
    graded: bool = True  # False: the truth names relevant items, and has no grades
    judged: bool = True  # False: there is no truth
    shown: Shown | None = None  # what the lists hold, where a metric asks for it

    def form(self, reads: str) -> Any:
        """What a metric reads: where the judged items stand, or what the lists hold."""
        return self.shown if reads == "shown" else self.ranked

    @cached_property
    def queries(self) -> Sequence[Any]:
        """The queries' ids, in the truth's order."""
        return self.name_queries()

    @cached_property
    def extra(self) -> Sequence[Any]:
        """Ids of queries in the run that nobody judged."""
        return self.name_extra()

    @contextmanager
    def naming(self, label: str) -> Iterator[None]:
        """Name the query in an error of a metric, which knows only its number."""
        try:
            yield
        except QueryError as error:
            raise self.named(error, label) from None

    def named(self, error: QueryError, label: str) -> QueryError:
        """An error of a metric with the query's id, where it has had its number."""
        return QueryError(f"{label}: {error.problem}", self.queries[error.number])

    def __reduce__(self) -> tuple[Any, ...]:
        named = (partial(_same, list(ids)) for ids in (self.queries, self.extra))
        told = self.extra_count, self.dropped, self.extra_known, self.remarks, self.graded, self.judged, self.shown
        return Aligned, (self.ranked, *named, *told)


def _same(ids: list[Any]) -> list[Any]:
    return ids


class First(NamedTuple):
    """What each list shows: the items of its first places."""

    offsets: NDArray[Any]  # where each query's start, in the order of the alignment's queries
    rank: Ints | None  # from 1; None: they fill the places from the first on
    item: Column
    score: Column | None


class Source(Protocol):
    """A truth and a run, ready to be aligned."""

    repeatable: bool  # are all rows at hand, so that they can be aligned by any rules

    def align(self, how: Align) -> Aligned: ...

    def first(self, how: Align, depth: int | None) -> First:
        """What the lists of the same queries show down to a depth, in any order that the rules give equal scores."""

    def ids(self) -> tuple[Iterable[Any], Iterable[Any]] | None:
        """The items of the truth and of the run, as far as they are at hand; None where they are mere places."""


class Alone:
    """A run without a truth: each of its queries has one that judges nothing."""

    repeatable = True

    def __init__(self, source: Source) -> None:
        self.source = source

    def align(self, how: Align) -> Aligned:
        found = self.source.align(replace(how, extra_queries=True))
        return replace(found, name_extra=tuple, extra_count=0, judged=False)

    def first(self, how: Align, depth: int | None) -> First:
        return self.source.first(replace(how, extra_queries=True), depth)

    def ids(self) -> None:
        """There is nothing to match the items with."""


def left_out(count: int) -> str:
    """A note on returned items that were known before."""
    return f"{count:,} returned item{'s' * (count != 1)} left out, as seen before (exclude)"


def ranked_from(
    found: _core.Alignment, *, ordered_truth: bool = False, ordered_grades: bool = False, notes: Notes | None = None
) -> Alignment:
    """The core's answer as a `Alignment`; notes: what else the truth says of the judged items, all of which it has."""
    return Alignment(
        found.retrieved, found.present, found.truth_offsets, found.truth_grades, found.ideal_grades,
        found.placed_offsets, found.rank, found.grade, found.score, found.place, found.above, found.tied,
        ordered_truth=ordered_truth, ordered_grades=ordered_grades, notes=notes,
    )  # fmt: skip


EXTRA_LIMIT = 1 << 16

Extra: TypeAlias = set[Any] | None  # {"u7", "u9"}; None: too many


def aligned_with(
    ranked: Alignment, dropped: int, queries: Callable[[], Sequence[Hashable]], extra: Extra, graded: bool
) -> Aligned:
    """A ranking, with what is known of such queries."""
    known = [] if extra is None else sorted(extra)
    count = EXTRA_LIMIT + 1 if extra is None else len(known)
    return Aligned(ranked, queries, lambda: known, count, dropped, extra is not None, graded=graded)


def more_extra(known: Extra, column: Column, rows: Ints) -> Extra:
    """Queries that nobody judged, with those of some rows; None: too many to remember."""
    if known is None or len(rows) == 0:
        return known
    return bounded(known | set(plain_ids(column, rows[: EXTRA_LIMIT + 1])))


def bounded(known: set[Hashable]) -> Extra:
    """The same queries, or None if they are too many."""
    return known if len(known) <= EXTRA_LIMIT else None
