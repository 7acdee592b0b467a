"""One row per query: list columns, each row with its list of items, and matrices with a column per item."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from rankstone import _core
from rankstone.data.arrow import (
    Column,
    Places,
    as_array,
    as_column,
    distinct,
    is_list,
    one_piece,
    pc,
    plain,
    plain_ids,
    pyarrow,
    take,
)
from rankstone.data.columns import BadLine, first_rows
from rankstone.data.source import Align, Aligned, First, left_out, ranked_from
from rankstone.errors import DataError

if TYPE_CHECKING:
    import scipy

    from rankstone import typing
    from rankstone.align.alignment import Floats, Ints
    from rankstone.typing import Array, Numbers

Sparse: TypeAlias = "scipy.sparse.sparray"  # scipy.sparse.csr_array([[0, 3], [1, 0]])


@dataclass(frozen=True, eq=False)
class Lists:
    """Lists of items in one flat array, and where each of them starts."""

    offsets: Places
    items: Column
    values: Column | None = None  # grades of a truth, scores of a run
    query: Column | None = None  # the queries' ids
    ordered: bool = True  # is the order of the grades the caller's
    skipped: int = 0  # bad rows of a file that were left out
    ranks: bool = False  # are its scores made of ranks, which tell an order and nothing more
    bad_lines: tuple[BadLine, ...] = ()  # the first hundred of them
    remarks: tuple[str, ...] = ()  # on how a file was read, for whoever reads the result

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"{len(self):,} lists of {int(self.offsets[-1] - self.offsets[0]):,} items"


def lists(
    items: typing.Column,
    *,
    grades: typing.Column | None = None,
    scores: typing.Column | None = None,
    offsets: typing.Column | None = None,
    query: typing.Column | None = None,
) -> Lists:
    """A truth or a run as list columns: an Arrow list array, a list of lists, a matrix of ids, or flat `items`
    with `offsets`.

    Row i of the truth belongs with row i of the run, unless both have a `query` column to go by. `grades` or `scores`
    have the same shape as `items`; without them, every item of a truth is relevant and a run's items are in ranked
    order.

    >>> rs.evaluate(rs.lists([[7, 8], [9]]), rs.lists([[7, 1], [2, 3, 9]]), "rr")["rr"]
    0.6666666666666666
    """
    if grades is not None and scores is not None:
        raise ValueError("a list column has grades (a truth) or scores (a run), not both")
    name = "grades" if grades is not None else "scores"
    given = grades if grades is not None else scores
    ids = None if query is None else as_column("query", query)
    if offsets is not None:
        starts = np.asarray(offsets)
        if starts.ndim != 1 or starts.dtype.kind not in "iu" or len(starts) == 0:
            raise ValueError("offsets must be whole numbers: where each list starts, and where the last one ends")
        made = Lists(starts, as_column("items", items), None if given is None else as_column(name, given), ids)
    else:
        starts, flat = _flattened("items", items)
        made = Lists(starts, flat, None, ids)
        if given is not None:
            other, values = _flattened(name, given)
            if len(other) != len(starts) or (np.diff(other) != np.diff(starts)).any():
                raise ValueError(f"items and {name} differ in the lengths of their lists")
            made = Lists(starts - starts[0], flat.slice(starts[0]), values.slice(other[0]), ids)
    if ids is not None and len(ids) != len(made):
        raise ValueError(f"there are {len(made)} lists but {len(ids)} queries")
    return made


def labelled(
    items: typing.Column, grades: typing.Column, scores: typing.Column, offsets: typing.Column
) -> tuple[Lists, Lists]:
    """A truth and a run of rows that have a label and a score each. Their order is nobody's order of grades."""
    truth = replace(lists(items, grades=grades, offsets=offsets), ordered=False)
    return truth, lists(items, scores=scores, offsets=offsets)


def rows_of(lists: Lists) -> tuple[Column, Column]:
    """The query and the item of each row; where lists have no queries, their numbers."""
    numbers = np.repeat(np.arange(len(lists)), np.diff(lists.offsets))
    inside = slice(int(lists.offsets[0]), int(lists.offsets[-1]))
    return numbers if lists.query is None else take(lists.query, numbers), lists.items[inside]


def _flattened(name: str, lists: typing.Column) -> tuple[Places, pyarrow.Array]:
    if getattr(lists, "ndim", None) == 2:  # as implicit and torch's `topk` return them
        rows = as_array(lists)
        return np.arange(len(rows) + 1) * rows.shape[1], pyarrow.array(rows.ravel())
    if isinstance(lists, (list, tuple)) and any(hasattr(row, "detach") for row in lists[:1]):
        lists = [as_array(row) for row in lists]
    if hasattr(lists, "__arrow_c_stream__"):
        column = one_piece(pyarrow.chunked_array(lists))
    else:
        try:
            column = one_piece(pyarrow.array(lists))
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
            raise TypeError(f"{name}: {error}") from None
    if not is_list(column.type):
        raise TypeError(f"{name}: {column.type} is not a list column; give lists, or a flat column with offsets=")
    if pyarrow.types.is_fixed_size_list(column.type):
        column = column.cast(pyarrow.large_list(column.type.value_type))
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise ValueError(f"{name}: row {row} is null; an empty list is []")
    return column.offsets.to_numpy(), column.values


def first_of(
    run: Lists, rows: Places | None, how: Align, depth: int | None, name: Callable[[int], object] | None
) -> First:
    """What the lists show down to a depth. rows: where each query's list is; name: the id of a query, for errors."""
    offsets, shown, _ = _core.first_lists(run.offsets, run.items, run.values, rows, how, depth, name)
    return first_rows(offsets, shown, run.items, run.values)


class ListPair:
    """A truth and a run as list columns, paired by row or by query."""

    def __init__(self, truth: Lists, run: Lists, *, remarks: tuple[str, ...] = ()) -> None:
        self.truth, self.run = truth, run
        self.remarks = (*truth.remarks, *run.remarks, *remarks)
        self.run_rows: Any = None  # where in the run each query of the truth is; None: in the same row
        self.extra_rows: Places = np.zeros(0, dtype=np.int64)
        if truth.query is not None and run.query is not None:
            self.run_rows, self.extra_rows = _matched(truth.query, run.query)
        elif len(truth) != len(run):
            raise ValueError(
                f"the truth has {len(truth)} lists but the run {len(run)}, and no queries to match them by"
            )

    repeatable = True

    def align(self, how: Align) -> Aligned:
        truth, run = self.truth, self.run
        offsets, run_rows = truth.offsets, self._rows(how)
        if run_rows is not None:  # queries that nobody judged have an empty truth
            offsets = np.append(offsets, np.full(len(run_rows) + 1 - len(offsets), offsets[-1]))
        ids = self._ids
        found = _core.align_lists(
            offsets, truth.items, truth.values, run.offsets, run.items, run.values, run_rows, how,
            None if ids is None else lambda row: self._queries(how)[row],
        )  # fmt: skip
        graded = truth.values is not None
        ranked = ranked_from(found, ordered_truth=not graded, ordered_grades=graded and truth.ordered)
        count = len(self.extra_rows)
        return Aligned(
            ranked, partial(self._queries, how), self._extra, count, found.dropped, remarks=self.remarks, graded=graded
        )

    def first(self, how: Align, depth: int | None) -> First:
        names = None if self._ids is None else lambda row: self._queries(how)[row]
        return first_of(self.run, self._rows(how), how, depth, names)

    def _rows(self, how: Align) -> Any:
        """Where in the run the lists of the queries are; None: in the same row."""
        if self.run_rows is None or not how.extra_queries:
            return self.run_rows
        return np.append(self.run_rows, self.extra_rows)

    @property
    def _ids(self) -> Column | None:
        return self.truth.query if self.truth.query is not None else self.run.query

    def _queries(self, how: Align) -> Sequence[Any]:
        if self._ids is None:
            return range(len(self.truth))
        return [*plain_ids(self._ids), *(self._extra() if how.extra_queries else ())]

    def _extra(self) -> Sequence[Any]:
        return plain_ids(self.run.query, self.extra_rows) if len(self.extra_rows) else ()

    def ids(self) -> tuple[Iterable[Any], Iterable[Any]] | None:
        return distinct(self.truth.items), distinct(self.run.items)


class GradeLists(ListPair):
    """Lists of grades in ranked order, beside the grades that were to be had."""

    def __init__(self, offsets: Places, grades: Floats, truth_offsets: Ints, truth: Floats) -> None:
        places = np.arange(len(grades))
        super().__init__(lists(places, grades=grades, offsets=offsets), lists(places, offsets=offsets))
        self.given = truth_offsets, truth

    def align(self, how: Align) -> Aligned:
        aligned = super().align(how)
        return replace(aligned, ranked=aligned.ranked.with_truth(*self.given))


def _matched(truth: Column, run: Column) -> tuple[Places, Places]:
    """For each query of the truth its row in the run, or -1; and the rows that only the run has."""
    judged, returned = plain(truth), plain(run)
    for side, ids in (("truth", judged), ("run", returned)):
        counts = pc.value_counts(ids)
        twice = counts.filter(pc.greater(counts.field("counts"), 1))
        if len(twice):
            query = twice[0]["values"].as_py()
            raise DataError(f"query {query!r} has two lists in the {side}", "twice", side, query)
    if pyarrow.types.is_integer(judged.type) != pyarrow.types.is_integer(returned.type):
        raise TypeError(f"the truth's queries are {judged.type} but the run's are {returned.type}")
    rows = pc.fill_null(pc.index_in(judged, value_set=returned.cast(judged.type)), -1).to_numpy().astype(np.int64)
    extra = np.setdiff1d(np.arange(len(returned)), rows)
    return rows, extra


# -- matrices ------------------------------------------------------------------------------------------------


def is_matrix(given: object) -> TypeGuard[Array]:
    """Is it a two-dimensional array, of NumPy or of a library that hands its arrays over."""
    frame = hasattr(given, "__arrow_c_stream__")
    return (
        getattr(given, "ndim", None) == 2
        and not frame
        and (hasattr(given, "__array__") or hasattr(given, "__dlpack__"))
    )


def is_scores(given: object) -> TypeGuard[Numbers]:
    """Is it a one-dimensional array, or a list, of numbers."""
    if isinstance(given, (list, tuple)):
        return len(given) > 0 and all(isinstance(one, (int, float)) for one in given)
    return getattr(given, "ndim", None) == 1 and hasattr(given, "__array__") and as_array(given).dtype.kind in "iuf"


class Dense:
    """Scores and labels of the same items; a mask says which cells are real, or `lengths` how many of each row.

    seen: a matrix whose cells that are not 0 leave the lists.
    """

    def __init__(
        self,
        scores: Array,
        labels: Array,
        mask: Array | None = None,
        lengths: Numbers | None = None,
        seen: Array | None = None,
    ) -> None:
        self.scores, self.labels = as_array(scores), as_array(labels)
        self.remarks: tuple[str, ...] = ()
        if mask is not None and lengths is not None:
            raise TypeError("give a mask or lengths, not both")
        self.mask = None if mask is None else as_array(mask)
        if lengths is not None:
            sizes = as_array(lengths)
            rows, width = self.scores.shape
            if sizes.shape != (rows,) or sizes.dtype.kind not in "iu" or (sizes < 0).any() or (sizes > width).any():
                raise ValueError(f"lengths must be {rows} whole numbers from 0 to {width}")
            self.mask = np.arange(width) < sizes[:, None]
        if self.scores.shape != self.labels.shape:
            raise ValueError(f"scores have shape {self.scores.shape} but labels {self.labels.shape}")
        if self.mask is not None:
            if self.mask.shape != self.scores.shape:
                raise ValueError(f"scores have shape {self.scores.shape} but the mask {self.mask.shape}")
            if self.mask.dtype != np.bool_:
                raise TypeError(f"the mask holds {self.mask.dtype}; it must hold bool, True for a real item")

        if seen is not None:
            self._leave_out(as_array(seen) != 0)

    def _leave_out(self, seen: NDArray[np.bool_]) -> None:
        if seen.shape != self.scores.shape:
            raise ValueError(f"scores have shape {self.scores.shape} but exclude= {seen.shape}")
        there = self.scores > -np.inf if self.mask is None else self.mask & (self.scores > -np.inf)
        self.remarks = (left_out(int((seen & there).sum())),)
        self.mask = ~seen if self.mask is None else self.mask & ~seen

    repeatable = True

    def align(self, how: Align) -> Aligned:
        # A matrix has no item twice, and no queries of its own.
        how = Align(order=how.order, float32=how.float32, zeros=how.zeros, threads=how.threads)
        found = _core.align_dense(self.scores, self.labels, self.mask, how)
        return Aligned(ranked_from(found), lambda: range(len(self.scores)), lambda: (), 0, 0, remarks=self.remarks)

    def first(self, how: Align, depth: int | None) -> First:
        """The items are the columns' numbers."""
        there = np.ones(self.scores.shape, dtype=bool) if self.mask is None else self.mask
        offsets = np.concatenate(([0], np.cumsum(there.sum(axis=1))))
        return first_of(Lists(offsets, np.nonzero(there)[1], self.scores[there]), None, how, depth, None)

    def ids(self) -> None:
        """An item is a place in its row."""


def is_sparse(given: object) -> TypeGuard[Sparse]:
    """Is it a sparse matrix of SciPy."""
    return type(given).__module__.startswith("scipy.sparse")


def from_sparse(matrix: Sparse) -> Lists:
    """One list a row; the rows' numbers are the queries, the columns' the items."""
    rows = matrix.tocsr()
    if not rows.has_canonical_format:  # a cell stored twice is their sum, as everywhere in SciPy
        rows = rows.copy()
        rows.sum_duplicates()
    return Lists(rows.indptr, rows.indices, rows.data, np.arange(rows.shape[0]), ordered=False)
