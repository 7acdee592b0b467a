"""One row per query: list columns, each row with its list of items, and matrices with a column per item."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from rankstone import _core
from rankstone.data.arrow import (
    PADDING,
    Column,
    Places,
    as_array,
    as_column,
    convertible,
    distinct,
    flat_dictionary,
    is_list,
    one_piece,
    pc,
    plain,
    plain_ids,
    pyarrow,
    take,
)
from rankstone.data.columns import BadLine, first_rows
from rankstone.data.source import Aligned, AlignOptions, TopK, left_out, left_out_of_truth, ranked_from, still_judged
from rankstone.errors import DataError, DataTypeError, InputError, InputTypeError

if TYPE_CHECKING:
    import scipy

    from rankstone import typing
    from rankstone.align.alignment import Floats, Ints
    from rankstone.typing import Array, Numbers

Sparse: TypeAlias = "scipy.sparse.sparray"  # scipy.sparse.csr_array([[0, 3], [1, 0]])


@dataclass(frozen=True, eq=False)
class Lists:
    """Lists of items in one flat array, with offsets.

    Attributes
    ----------
    offsets : array
        Start of each list, and the end of the last one.
    items : array
        Ids of the items.
    values : array or None
        Grades of a truth, scores of a run.
    query : array or None
        Id of the query per list.
    ordered : bool
        Whether the order of the items is meaningful.
    skipped : int
        Bad lines of a file that were skipped.
    ranks : bool
        Whether the scores were derived from ranks.
    bad_lines : tuple of BadLine
        The first hundred skipped lines.
    notes : tuple of str
        How a file was read.
    """

    offsets: Places
    items: Column
    values: Column | None = None
    query: Column | None = None
    ordered: bool = True
    skipped: int = 0
    ranks: bool = False
    bad_lines: tuple[BadLine, ...] = ()
    notes: tuple[str, ...] = ()
    names: Mapping[str, object] = field(default_factory=dict)  # columns of a table or file that it was read from
    path: str = ""  # of the file that it was read from

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
    """A truth or a run as list columns, one list per query.

    Row i of the truth belongs to row i of the run, unless both have a `query` column.

    Parameters
    ----------
    items : array-like
        An Arrow list array, a list of lists, a matrix of ids, or flat ids with `offsets`.
    grades : array-like, optional
        Grades of a truth, in the shape of `items`. Without them, every item of a truth is relevant.
    scores : array-like, optional
        Scores of a run, in the shape of `items`. Without them, the items of a run are in ranked order.
    offsets : array-like of int, optional
        For flat `items`: the start of each list, and the end of the last one.
    query : array-like, optional
        Id of the query per list.

    Returns
    -------
    Lists
        To be passed as a truth or a run.

    Raises
    ------
    ValueError
        If lengths differ, or both grades and scores are passed.

    Examples
    --------
    >>> rs.evaluate(rs.lists([[7, 8], [9]]), rs.lists([[7, 1], [2, 3, 9]]), "rr")["rr"]
    0.6666666666666666
    """
    if grades is not None and scores is not None:
        raise InputError("a list column has grades (a truth) or scores (a run), not both")
    name = "grades" if grades is not None else "scores"
    numbers = grades if grades is not None else scores
    ids = None if query is None else as_column("query", query)
    if offsets is not None:
        starts = np.asarray(offsets)
        if starts.ndim != 1 or starts.dtype.kind not in "iu" or len(starts) == 0:
            raise InputError("offsets must be whole numbers: where each list starts, and where the last one ends")
        side = Lists(starts, as_column("items", items), None if numbers is None else as_column(name, numbers), ids)
    else:
        starts, flat = _flattened("items", items)
        side = Lists(starts, flat, None, ids)
        if numbers is not None:
            other, values = _flattened(name, numbers)
            if len(other) != len(starts) or (np.diff(other) != np.diff(starts)).any():
                raise InputError(f"items and {name} differ in the lengths of their lists")
            side = Lists(starts - starts[0], flat.slice(starts[0]), values.slice(other[0]), ids)
    if ids is not None and len(ids) != len(side):
        raise InputError(f"there are {len(side)} lists but {len(ids)} queries")
    return side


def labelled(
    items: typing.Column, grades: typing.Column, scores: typing.Column, offsets: typing.Column
) -> tuple[Lists, Lists]:
    """A truth and a run of rows that have a label and a score each; the order of the rows has no meaning."""
    truth = replace(lists(items, grades=grades, offsets=offsets), ordered=False)
    return truth, lists(items, scores=scores, offsets=offsets)


def rows_of(lists: Lists) -> tuple[Column, Column]:
    """The query and the item of each row; without query ids, the numbers of the lists."""
    numbers = np.repeat(np.arange(len(lists)), np.diff(lists.offsets))
    inside = slice(int(lists.offsets[0]), int(lists.offsets[-1]))
    return numbers if lists.query is None else take(lists.query, numbers), lists.items[inside]


def _flattened(name: str, lists: typing.Column) -> tuple[Places, pyarrow.Array]:
    if getattr(lists, "ndim", None) == 2:  # as implicit and torch's `topk` return them
        rows = as_array(lists)
        with convertible(name):
            return np.arange(len(rows) + 1) * rows.shape[1], pyarrow.array(rows.ravel())
    if isinstance(lists, (list, tuple)) and any(hasattr(row, "detach") for row in lists[:1]):
        lists = [as_array(row) for row in lists]
    with convertible(name):
        column = one_piece(
            pyarrow.chunked_array(lists) if hasattr(lists, "__arrow_c_stream__") else pyarrow.array(lists)
        )
    if not is_list(column.type):
        raise InputTypeError(f"{name}: {column.type} is not a list column; give lists, or a flat column with offsets=")
    if pyarrow.types.is_fixed_size_list(column.type):
        column = column.cast(pyarrow.large_list(column.type.value_type))
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise InputError(f"{name}: row {row} is null; an empty list is []")
    return column.offsets.to_numpy(), flat_dictionary(column.values)


def first_of(
    run: Lists, rows: Places | None, options: AlignOptions, depth: int | None, name: Callable[[int], object] | None
) -> TopK:
    """The first `depth` items per list. rows: the list of each query; name: the id of a query, for errors."""
    offsets, first, _ = _core.first_lists(run.offsets, run.items, run.values, rows, options, depth, name)
    return first_rows(offsets, first, run.items, run.values)


class ListPair:
    """A truth and a run as list columns, paired by row or by query."""

    def __init__(self, truth: Lists, run: Lists, *, notes: tuple[str, ...] = ()) -> None:
        self.truth, self.run = truth, run
        self.notes = (*truth.notes, *run.notes, *notes)
        self.run_rows: Any = None  # row of the run per query of the truth; None: the same row
        self.extra_rows: Places = np.zeros(0, dtype=np.int64)
        if truth.query is not None and run.query is not None:
            self.run_rows, self.extra_rows = _matched(truth.query, run.query)
        elif len(truth) != len(run):
            raise InputError(
                f"the truth has {len(truth)} lists but the run {len(run)}, and no queries to match them by"
            )

    repeatable = True

    def align(self, options: AlignOptions) -> Aligned:
        truth, run = self.truth, self.run
        offsets, run_rows = truth.offsets, self._rows(options)
        if run_rows is not None:  # unjudged queries have an empty truth
            offsets = np.append(offsets, np.full(len(run_rows) + 1 - len(offsets), offsets[-1]))
        ids = self._ids
        core = _core.align_lists(
            offsets, truth.items, truth.values, run.offsets, run.items, run.values, run_rows, options,
            None if ids is None else lambda row: self._queries(options)[row],
        )  # fmt: skip
        graded = truth.values is not None
        ranked = ranked_from(core, ordered_truth=not graded, ordered_grades=graded and truth.ordered)
        count = len(self.extra_rows)
        return Aligned(
            ranked, partial(self._queries, options), self._extra, count, core.dropped, notes=self.notes, graded=graded
        )

    def first(self, options: AlignOptions, depth: int | None) -> TopK:
        names = None if self._ids is None else lambda row: self._queries(options)[row]
        return first_of(self.run, self._rows(options), options, depth, names)

    def _rows(self, options: AlignOptions) -> Any:
        """Row of the run per query; None: the same row."""
        if self.run_rows is None or not options.extra_queries:
            return self.run_rows
        return np.append(self.run_rows, self.extra_rows)

    @property
    def _ids(self) -> Column | None:
        return self.truth.query if self.truth.query is not None else self.run.query

    def _queries(self, options: AlignOptions) -> Sequence[Any]:
        if self._ids is None:
            return range(len(self.truth))
        return [*plain_ids(self._ids), *(self._extra() if options.extra_queries else ())]

    def _extra(self) -> Sequence[Any]:
        return plain_ids(self.run.query, self.extra_rows) if len(self.extra_rows) else ()

    def ids(self) -> tuple[Iterable[Any], Iterable[Any]] | None:
        return distinct(self.truth.items), distinct(self.run.items)


class GradeLists(ListPair):
    """Lists of grades in ranked order, and the grades of all judged items."""

    def __init__(self, offsets: Places, grades: Floats, truth_offsets: Ints, truth: Floats) -> None:
        places = np.arange(len(grades))
        super().__init__(lists(places, grades=grades, offsets=offsets), lists(places, offsets=offsets))
        self.judged = truth_offsets, truth

    def align(self, options: AlignOptions) -> Aligned:
        aligned = super().align(options)
        return replace(aligned, ranked=aligned.ranked.with_truth(*self.judged))


def _matched(truth: Column, run: Column) -> tuple[Places, Places]:
    """Row of the run per query of the truth, or -1; and the rows of unjudged queries."""
    judged, returned = plain(truth), plain(run)
    for side, ids in (("truth", judged), ("run", returned)):
        with convertible("the queries"):
            counts = pc.value_counts(ids)
        twice = counts.filter(pc.greater(counts.field("counts"), 1))
        if len(twice):
            query = twice[0]["values"].as_py()
            raise DataError(f"query {query!r} has two lists in the {side}", "twice", side, query)
    if pyarrow.types.is_integer(judged.type) != pyarrow.types.is_integer(returned.type):
        raise InputTypeError(f"the truth's queries are {judged.type} but the run's are {returned.type}")
    with convertible("the queries"):
        value_set = returned.cast(judged.type)
    rows = pc.fill_null(pc.index_in(judged, value_set=value_set), -1).to_numpy().astype(np.int64)
    extra = np.setdiff1d(np.arange(len(returned)), rows)
    return rows, extra


# -- matrices ------------------------------------------------------------------------------------------------


def is_matrix(data: object) -> TypeGuard[Array]:
    """Is it a two-dimensional array, of NumPy or of a compatible library."""
    frame = hasattr(data, "__arrow_c_stream__")
    return (
        getattr(data, "ndim", None) == 2 and not frame and (hasattr(data, "__array__") or hasattr(data, "__dlpack__"))
    )


def is_scores(data: object) -> TypeGuard[Numbers]:
    """Is it a one-dimensional array, or a list, of numbers."""
    if isinstance(data, (list, tuple)):
        return len(data) > 0 and all(isinstance(value, (int, float)) for value in data)
    return getattr(data, "ndim", None) == 1 and hasattr(data, "__array__") and as_array(data).dtype.kind in "iuf"


_MOST = 10  # the highest usual grade


def check_padding(labels: Column, remedy: str) -> None:
    """Raise for labels that are padding."""
    if isinstance(labels, np.ndarray) and (labels == PADDING).any():
        raise DataError(f"labels of {PADDING} are padding, not grades: {remedy}", "number", "truth")


def check_arrays(labels: NDArray[np.generic], scores: NDArray[np.generic], remedy: str) -> None:
    """Raise for labels that are padding, and warn where labels and scores look swapped; remedy: for padding."""
    if labels.dtype.kind in "OSUMm" or scores.dtype.kind in "OSUMm":
        problem = f"labels hold {labels.dtype} and scores {scores.dtype}; they must be numbers of up to 64 bits"
        raise DataTypeError(problem, "number")
    check_padding(labels, remedy)
    whole = not np.isfinite(labels).all() or _whole(labels)
    if whole or not scores.size or not _whole(scores) or not 0 <= scores.min() <= scores.max() <= _MOST:
        return
    if scores.min() == 0 or len(np.unique(scores)) < scores.size:  # and not the ranks of a short list
        warnings.warn(
            "the truth has fractions and the run small whole numbers: the labels come first, "
            "evaluate(truth=labels, run=scores)", UserWarning, stacklevel=5,
        )  # fmt: skip


def _whole(values: NDArray[Any]) -> bool:
    return values.dtype.kind in "iub" or bool((values == np.floor(values)).all())


def _cells(there: NDArray[np.bool_], values: NDArray[Any]) -> Lists:
    """Cells of a matrix as lists; the items are column numbers."""
    offsets = np.concatenate(([0], np.cumsum(there.sum(axis=1))))
    return Lists(offsets, np.nonzero(there)[1], values[there])


class Dense:
    """Matrices of scores and labels; a mask marks the valid cells, or `lengths` their number per row."""

    def __init__(
        self,
        scores: Array,
        labels: Array,
        mask: Array | None = None,
        lengths: Numbers | None = None,
    ) -> None:
        self.scores, self.labels = as_array(scores), as_array(labels)
        self.notes: tuple[str, ...] = ()
        if mask is not None and lengths is not None:
            raise InputTypeError("give a mask or lengths, not both")
        self.mask = None if mask is None else as_array(mask)
        if lengths is not None:
            sizes = as_array(lengths)
            rows, width = self.scores.shape
            if sizes.shape != (rows,) or sizes.dtype.kind not in "iu" or (sizes < 0).any() or (sizes > width).any():
                raise InputError(f"lengths must be {rows} whole numbers from 0 to {width}")
            self.mask = np.arange(width) < sizes[:, None]
        if self.scores.shape != self.labels.shape:
            raise InputError(f"scores have shape {self.scores.shape} but labels {self.labels.shape}")
        if self.mask is not None:
            if self.mask.shape != self.scores.shape:
                raise InputError(f"scores have shape {self.scores.shape} but the mask {self.mask.shape}")
            if self.mask.dtype != np.bool_:
                raise InputTypeError(f"the mask holds {self.mask.dtype}; it must hold bool, True for a real item")

    def check(self) -> None:
        """Raise for labels that are padding, note those that may be, and warn where labels and scores look swapped."""
        labels, scores = (side if self.mask is None else side[self.mask] for side in (self.labels, self.scores))
        remedy = "pass mask=labels != {}, or lengths= (items per row)"
        check_arrays(labels, scores, remedy.format(PADDING))
        low = labels < 0
        if labels.ndim == 2 and low.any() and not low.all() and (low[:, :-1] <= low[:, 1:]).all():
            value = labels[low].max()
            if (labels[low] == value).all():
                hint = remedy.format(f"{value:g}")
                self.notes += (f"labels of {value:g} end some rows and count as items; if they are padding, {hint}",)

    def without(self, exclude: Array, from_truth: bool) -> Dense | ListPair:
        """The same without the nonzero cells of `exclude` in the lists; from_truth: in the truth neither."""
        excluded = as_array(exclude) != 0
        if excluded.shape != self.scores.shape:
            raise InputError(f"scores have shape {self.scores.shape} but exclude= {excluded.shape}")
        there = self._cells()
        judged, gone = there & excluded & (self.labels != 0), int((there & excluded & (self.scores > -np.inf)).sum())
        relevant = int((judged & (self.labels > 0)).sum())
        about = left_out_of_truth(int(judged.sum())) if from_truth else still_judged(relevant)
        notes = (*self.notes, left_out(gone), *about)
        if from_truth or not judged.any():
            rest = Dense(self.scores, self.labels, there & ~excluded)
            rest.notes = notes
            return rest
        truth = replace(_cells(there, self.labels), ordered=False)
        return ListPair(truth, _cells(there & ~excluded, self.scores), notes=notes)

    def _cells(self) -> NDArray[np.bool_]:
        return np.ones(self.scores.shape, dtype=bool) if self.mask is None else self.mask

    repeatable = True

    def align(self, options: AlignOptions) -> Aligned:
        # A matrix has no duplicates and no query ids.
        options = AlignOptions(
            order=options.order,
            float32=options.float32,
            keep_zero_grades=options.keep_zero_grades,
            threads=options.threads,
        )
        core = _core.align_dense(self.scores, self.labels, self.mask, options)
        return Aligned(ranked_from(core), lambda: range(len(self.scores)), lambda: (), 0, 0, notes=self.notes)

    def first(self, options: AlignOptions, depth: int | None) -> TopK:
        """The items are column numbers."""
        return first_of(_cells(self._cells(), self.scores), None, options, depth, None)

    def ids(self) -> None:
        """None: an item is a position in its row."""


def is_sparse(data: object) -> TypeGuard[Sparse]:
    """Is it a sparse matrix of SciPy."""
    return type(data).__module__.startswith("scipy.sparse")


def from_sparse(matrix: Sparse) -> Lists:
    """One list per row; row numbers are the queries, column numbers the items."""
    rows = matrix.tocsr()
    if not rows.has_canonical_format:  # a cell stored twice is their sum, as everywhere in SciPy
        rows = rows.copy()
        rows.sum_duplicates()
    return Lists(rows.indptr, rows.indices, rows.data, np.arange(rows.shape[0]), ordered=False)
