"""The native core. It finds where each judged item stands in its query's run, and runs metrics' programs over that.

Every door answers with an `Alignment` of new arrays; its placed items are sorted by query, then by rank. Bad data is a
`rankstone.errors.DataError`, which names the query and the item, or a ValueError or TypeError.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias, overload

import numpy as np
import pyarrow
from numpy.typing import NDArray

from rankstone.data.source import AlignOptions

Column: TypeAlias = Any
"""A NumPy array of one dimension, or anything with `__arrow_c_array__`."""

_Ints: TypeAlias = NDArray[np.int64]

class Alignment(NamedTuple):
    """Where the judged items stand. An item is placed if it is judged and the run returned it."""

    queries: Any  # ids (dicts), first rows in the truth (columns), None
    extra: Any  # the same for queries that only the run has: ids, first rows in the run, None
    retrieved: NDArray[np.int64]  # a query: rows of the run that the duplicates rule leaves
    present: NDArray[np.bool_]  # a query: whether the run has it
    truth_offsets: NDArray[np.int64]  # where each query's rows start in the next two
    truth_grades: NDArray[np.float64]  # in the given order
    ideal_grades: NDArray[np.float64]  # the same, best first
    placed_offsets: NDArray[np.int64]  # where each query's placed items start in the arrays below
    rank: NDArray[np.int64]  # from 1
    grade: NDArray[np.float64]
    score: NDArray[np.float64]  # as compared; NaN if the run is only an order
    place: NDArray[np.int64]  # position in the query's truth as given, from 1
    above: NDArray[np.int64] | None  # rows with a higher score; None: nothing is tied, so it is rank - 1
    tied: NDArray[np.int64] | None  # rows with the same score, itself included; None: nothing is tied, so it is 1
    dropped: int  # rows of the run that the duplicates rule took out

def align_dicts(
    truth: dict[Any, Any],
    run: dict[Any, Any],
    how: AlignOptions,
) -> Alignment: ...
def unite_dicts(
    names: Sequence[str],
    queries: Sequence[Any],
    contents: Sequence[list[Any]],
) -> tuple[list[Any], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """One number for each item of a query, in whichever run it is.

    contents: for each run, named by `names`, a list with a dict {item: score}, a list of items or None for each query.
    Answers with the different items of each query, one query after the other; how many each has; and for each row, by
    query, then by run, its item's place among those and its score, from a list's length down to 1 where it has none.
    """

def spread_dicts(
    truth: Any,
) -> tuple[dict[Any, dict[Any, float]], _Ints, _Ints, _Ints, _Ints, NDArray[np.float64]] | None:
    """A truth by subtopic taken apart: {query: {item: its highest grade}}, and its rows.

    It is {query: {item: {subtopic: grade}}}, or has lists of subtopics. Of each item its place among those of its
    query, the largest id first (the order of the truth where ids cannot be compared), and where its rows end in the
    next two; rows by item, then by subtopic, as `item_columns` has them; and the grades of the rows as they came. None
    where something is of another type, not finite, or there twice.
    """

def align_columns(
    truth_query: Column,
    truth_item: Column,
    truth_grade: Column | None,
    run_query: Column,
    run_item: Column,
    run_score: Column | None,
    how: AlignOptions,
) -> Alignment: ...
def align_lists(
    truth_offsets: Column,
    truth_items: Column,
    truth_grades: Column | None,
    run_offsets: Column,
    run_items: Column,
    run_scores: Column | None,
    run_rows: Column | None,
    how: AlignOptions,
    names: Callable[[int], Any] | None = None,
) -> Alignment:
    """`names` says what a query is called in an error; else that names its row."""

TopK: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], int]
"""Where each query's rows start in the next; rows of the run, each list's best first; how many the duplicates rule took
out. -1 holds the place of an item that was there before, where it counts once and keeps its places."""

def first_columns(
    known: Column,
    query: Column,
    item: Column,
    score: Column | None,
    how: AlignOptions,
    depth: int | None,
) -> TopK:
    """What the lists of the queries that are known (or, with `extra_queries`, of all) show down to a depth."""

def first_lists(
    offsets: Column,
    items: Column,
    scores: Column | None,
    run_rows: Column | None,
    how: AlignOptions,
    depth: int | None,
    names: Callable[[int], Any] | None = None,
) -> TopK: ...

ItemRows: TypeAlias = tuple[_Ints, _Ints, _Ints, _Ints, _Ints, _Ints, int]

def item_columns(query: Column, item: Column, codes: NDArray[np.int64] | None, threads: int = 0) -> ItemRows:
    """Which rows are one item of a query; items are numbered by query, then as they come.

    codes: which subtopic each row is for. Answers with where each query's items start; of each item its first row, its
    place among those of its query, the largest id first, from 0, and where its rows end in the next two; rows by item,
    then by code; each row's subtopic, numbered from 0 among those of its query, in the order of the codes; and the
    first of those rows that were left out, since an earlier one has their item and code, or -1.
    """

def fill_greedily(
    queries: NDArray[np.int64],
    items: NDArray[np.int64],
    subtopic: NDArray[np.int64],
    relevant: NDArray[np.bool_],
    order: NDArray[np.int64],
    alpha: float,
    weights: NDArray[np.float64],
    threads: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Lists that have at each place the item that adds most, the lowest in `order` of those that add the same.

    queries: where each query's judged items start. items: where each item's rows start, one a subtopic. An item adds
    the worth of the subtopics that it is relevant for: 1, less the part alpha for each item above that has it too.
    Returns the discounted gain of each list, and the rank of each item, 0 if it has none.
    """

def end() -> None:
    """Stop what other threads do, as the program ends."""

def invalid_row(array: Any) -> int:
    """The first row of an Arrow array whose offsets, view or index point outside of its memory; -1: none."""

def align_dense(
    scores: NDArray[Any],
    labels: NDArray[Any],
    mask: NDArray[np.bool_] | None,
    how: AlignOptions,
) -> Alignment: ...
def total(values: NDArray[np.float64], keep: NDArray[np.float64] | None = None) -> float:
    """The sum of some values, or of those where `keep` is not 0; the same for the same values, whoever asks."""

def exact_total(values: NDArray[np.float64]) -> tuple[bytes, float]:
    """The sum of all finite values, without rounding: bytes of a signed number of 2 ** -1074, the lowest first; and
    the sum of the others.
    """

class Program:
    """Metrics' functions written down: steps that the core runs over a few queries at a time.

    A step is (name, space, register to write, three operands); `core/program.hpp` says what each does. A space is
    (the column that says where each query's items start, how many of them are looked at; None: all); space 0 is that of
    the queries. constants: registers that hold one number each.
    """

    def __init__(
        self,
        steps: Sequence[tuple[Any, ...]],
        spaces: Sequence[tuple[int, int | None]],
        constants: Sequence[int],
        registers: int,
        columns: int,
        tables: int,
        answers: int,
        faults: int,
    ) -> None: ...
    def run(
        self,
        queries: int,
        columns: Sequence[NDArray[Any] | None],
        constants: Sequence[float],
        tables: Sequence[NDArray[np.float64]],
        threads: int = 0,
    ) -> tuple[list[NDArray[np.float64]], list[tuple[int, float]]]:
        """Answers, one a query each; and for each fault the first query where it is found, -1 for none, and a value."""

def is_plain(side: object) -> bool:
    """Is it a dict of dicts of numbers, lists, tuples and sets, whose first ids are texts or whole numbers."""

class Swift:
    """A truth and a run that were evaluated by `Kept`."""

    sums: list[tuple[float, float, int]]  # of each metric: above, below, and how many queries count
    graded: bool  # has the truth grades
    ordered: bool  # is it all lists or tuples
    placed: int  # items that were judged and returned
    def values(self) -> list[NDArray[np.float64]]:
        """Each answer of the program, one value per query."""

    def alignment(self) -> Alignment:
        """As `align_dicts` would have answered; once."""

class Kept:
    """One way to align dicts, and one program for what comes of it.

    fields: of `Alignment`, one for each column of the program. sums: of each metric the answers that are added up above
    and below (-1: how many queries count), and the one that says which queries count (-1: all). short_lists: how long
    lists and truths may be.
    """

    def __init__(
        self,
        program: Program,
        how: AlignOptions,
        fields: Sequence[str],
        constants: Sequence[float],
        tables: Sequence[NDArray[np.float64]],
        sums: Sequence[tuple[int, int, int]],
        short_lists: int,
    ) -> None: ...
    def measure(self, truth: Any, run: Any, one_list: bool = False) -> Swift | None:
        """None if the input needs the general path, for example for a note."""

class Strings:
    """A column of ids that were read from a file, each as bytes. Several of them, `strings[:5]`, are an Arrow array."""

    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, row: int) -> bytes: ...
    @overload
    def __getitem__(self, row: slice) -> pyarrow.Array: ...
    def words(self, rows: Iterable[int]) -> list[str]:
        """The ids of some rows, which must be valid text."""

    def __iter__(self) -> Iterator[bytes]: ...
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...

class Text:
    """Lines of fields, read.

    fields: one letter each, `i` for an id, `q` for one that rows next to each other share, `n` for a number, `w` for
    one written with digits only, `-` for an ignored field. more: other fields may follow. comments, blanks: lines
    that start with # and blank ones are left out. utf8: an id must be valid text.
    """

    def __init__(
        self,
        text: Any,
        fields: str,
        *,
        more: bool = False,
        comments: bool = True,
        blanks: bool = True,
        utf8: bool = True,
        threads: int = 0,
    ) -> None: ...
    def columns(self) -> tuple[list[Strings], list[NDArray[np.float64]]] | tuple[int, int]:
        """The ids and the numbers of all lines; or the number and the first byte of a line that needs a closer look.

        It gives them away, once.
        """

class Queries:
    """The queries of a truth, for a run that comes in batches with each query's rows together."""

    def __init__(self, query: Column, threads: int = 0) -> None: ...
    @property
    def first_rows(self) -> NDArray[np.int64]:
        """One a query, in order of first appearance."""
    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each query's rows start, once they are by query."""
    @property
    def rows(self) -> NDArray[np.int64] | None:
        """The rows by query; None: as they are."""
    def stretches(self, query: Column, threads: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First rows of stretches with the same query, and the queries' numbers, -1 for unjudged ones."""

Finds: TypeAlias = tuple[
    NDArray[np.float64],  # a judged item: its score, NaN if the run has not returned it
    NDArray[np.int64],  # a query: rows of the run
    NDArray[np.int64],  # judged items that were returned again
    NDArray[np.float64],  # and their scores
    int,  # rows
    int,  # of them, rows of unjudged queries
]
Counts: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], int]
"""Two numbers a score that a placed item has, one number a placed item, and rows."""

class Stream:
    """Two passes over batches of rows in any order. `finds` and `counts` are its state."""

    finds: Finds
    counts: Counts

    def __init__(
        self, truth_query: Column, truth_item: Column, truth_grade: Column | None, how: AlignOptions
    ) -> None: ...
    def find(self, query: Column, item: Column, score: Column, threads: int = 0) -> NDArray[np.int64]:
        """Returns the first rows of unjudged queries that no earlier batch had, up to a limit."""

    def count(self, query: Column, item: Column, score: Column, threads: int = 0) -> None: ...
    def result(self, how: AlignOptions) -> Alignment: ...
    def truth(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The truth's rows by query, and where each query's start in these."""
