"""User data as a `Source`, which is aligned by any `AlignOptions` into an `Aligned`: an `Alignment` with ids."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from numpy.typing import NDArray

from rankstone import _core
from rankstone.align.alignment import Alignment, Ints
from rankstone.data.annotations import Annotations
from rankstone.data.arrow import plain_ids
from rankstone.errors import QueryError

if TYPE_CHECKING:
    from rankstone.align.recommendations import Recommendations
    from rankstone.data.arrow import Column
    from rankstone.typing import Id


@dataclass(frozen=True)
class AlignOptions:
    """How a truth and a run are aligned."""

    order: str = "item_desc"  # of items with equal scores
    float32: bool = False  # compare scores as 32-bit floats
    duplicates: str = "error"
    truth_duplicates: str = "error"
    extra_queries: bool = False  # keep unjudged queries, with an empty truth
    keep_zero_grades: bool = True  # keep items with grade 0
    threads: int = 0  # 0: all cores
    annotations: tuple[str, ...] = ()  # to keep besides grades: "subtopic", "weight"; items with grade 0 stay then, too

    def with_(self, keep_zero_grades: bool, threads: int, annotations: tuple[str, ...] = ()) -> AlignOptions:
        """A copy with other values of these fields."""
        return replace(self, keep_zero_grades=keep_zero_grades, threads=threads, annotations=annotations)


@dataclass(eq=False, repr=False)
class Aligned:
    """An alignment with the ids of its queries, and notes on the data."""

    ranked: Alignment
    name_queries: Callable[[], Sequence[Any]]
    name_extra: Callable[[], Sequence[Any]]
    extra_count: int
    dropped: int  # duplicate rows of the run that were removed
    extra_known: bool = True  # False: there are at least `extra_count` of them, too many to remember
    notes: tuple[str, ...] = ()  # on how the data was read
    graded: bool = True  # False: the truth lists relevant items without grades
    judged: bool = True  # False: there is no truth
    shown: Recommendations | None = None  # the recommended lists, if a metric reads them

    def form(self, reads: str) -> Any:
        """The input of a metric: the alignment, or the recommended lists."""
        return self.shown if reads == "recommendations" else self.ranked

    @cached_property
    def queries(self) -> Sequence[Any]:
        """The queries' ids, in the truth's order."""
        return self.name_queries()

    @cached_property
    def extra(self) -> Sequence[Any]:
        """Ids of the unjudged queries of the run."""
        return self.name_extra()

    @contextmanager
    def naming(self, label: str) -> Iterator[None]:
        """Put the id of the query into the error of a metric, which has only its number."""
        try:
            yield
        except QueryError as error:
            raise self.named(error, label) from None

    def named(self, error: QueryError, label: str) -> QueryError:
        """The error of a metric with the id of the query in place of its number."""
        return QueryError(f"{label}: {error.problem}", self.queries[error.number])

    def __reduce__(self) -> tuple[Any, ...]:
        named = (partial(_same, list(ids)) for ids in (self.queries, self.extra))
        fields = self.extra_count, self.dropped, self.extra_known, self.notes, self.graded, self.judged, self.shown
        return Aligned, (self.ranked, *named, *fields)


def _same(ids: list[Any]) -> list[Any]:
    return ids


class TopK(NamedTuple):
    """The first items of each list."""

    offsets: NDArray[Any]  # first row per query, in the order of the alignment's queries
    rank: Ints | None  # from 1; None: consecutive ranks from 1
    item: Column
    score: Column | None


class Source(Protocol):
    """A truth and a run, ready to be aligned."""

    repeatable: bool  # are all rows in memory, so that they can be aligned again with other options

    def align(self, options: AlignOptions) -> Aligned: ...

    def first(self, options: AlignOptions, depth: int | None) -> TopK:
        """The first `depth` items per query, for the same queries; ties are ordered by `options`."""

    def ids(self) -> tuple[Iterable[Any], Iterable[Any]] | None:
        """The item ids of the truth and of the run that are in memory; None where items are mere positions."""


class RunOnly:
    """A run without a truth: every query has an empty one."""

    repeatable = True

    def __init__(self, source: Source) -> None:
        self.source = source

    def align(self, options: AlignOptions) -> Aligned:
        aligned = self.source.align(replace(options, extra_queries=True))
        return replace(aligned, name_extra=tuple, extra_count=0, judged=False)

    def first(self, options: AlignOptions, depth: int | None) -> TopK:
        return self.source.first(replace(options, extra_queries=True), depth)

    def ids(self) -> None:
        """None: there is no truth to match the items with."""


def left_out(count: int) -> str:
    """The note on returned items that `exclude=` removes."""
    return f"{count:,} training item{'s' * (count != 1)} removed from the lists (exclude)"


_TOO_FEW, _LOOKED_AT = 10, 200  # queries, to see whether their own documents lead


def own_leads(run: Mapping[Id, object]) -> tuple[str, ...]:
    """A note where many lists begin with the item that has the query's id, as in a search among the queries."""
    if len(run) < _TOO_FEW:
        return ()
    count, leading = 0, 0
    for query, items in islice(run.items(), _LOOKED_AT):
        count += 1
        if type(items) is dict:
            leading += query in items and items[query] == max(items.values())
        elif type(items) is list:
            leading += bool(items) and items[0] == query
    share = 2 if str(next(iter(run))).isdigit() else 10  # numbers of queries and items may be the same by chance
    if share * leading <= count:
        return ()
    return (f"the item with the query's id leads {leading} of {count} lists: exclude='self' removes it",)


def still_judged(count: int) -> tuple[str, ...]:
    """The note on relevant items that `exclude=` removes from the lists but not from the truth."""
    many = f"{count:,} relevant item{'s' * (count != 1)} excluded from the lists (exclude) still count as relevant"
    return (f"{many}: for the residual collection, set exclude_from_truth",) if count else ()


def left_out_of_truth(count: int) -> tuple[str, ...]:
    """The note on judged items that `exclude_from_truth=` removes."""
    return (f"{count:,} judged item{'s' * (count != 1)} removed from the truth (exclude_from_truth)",) if count else ()


def ranked_from(
    core: _core.Alignment,
    *,
    ordered_truth: bool = False,
    ordered_grades: bool = False,
    annotations: Annotations | None = None,
) -> Alignment:
    """The core's alignment as an `Alignment`; annotations: of all judged items."""
    return Alignment(
        core.retrieved, core.present, core.truth_offsets, core.truth_grades, core.ideal_grades,
        core.placed_offsets, core.rank, core.grade, core.score, core.place, core.above, core.tied,
        ordered_truth=ordered_truth, ordered_grades=ordered_grades, annotations=annotations,
    )  # fmt: skip


EXTRA_LIMIT = 1 << 16

Extra: TypeAlias = set[Any] | None  # {"u7", "u9"}; None: too many


def aligned_with(
    ranked: Alignment, dropped: int, queries: Callable[[], Sequence[Hashable]], extra: Extra, graded: bool
) -> Aligned:
    """An alignment with the ids of its queries and of the unjudged ones."""
    ids = [] if extra is None else sorted(extra)
    count = EXTRA_LIMIT + 1 if extra is None else len(ids)
    return Aligned(ranked, queries, lambda: ids, count, dropped, extra is not None, graded=graded)


def more_extra(extra: Extra, column: Column, rows: Ints) -> Extra:
    """The unjudged queries, and those of further rows; None: too many to store."""
    if extra is None or len(rows) == 0:
        return extra
    return bounded(extra | set(plain_ids(column, rows[: EXTRA_LIMIT + 1])))


def bounded(extra: set[Hashable]) -> Extra:
    """The same queries, or None if they are too many."""
    return extra if len(extra) <= EXTRA_LIMIT else None
