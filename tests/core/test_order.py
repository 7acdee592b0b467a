"""Rows in any order: the answer of the same rows next to each other, array by array, whatever the ids and the threads.

Rows that are not grouped by query are moved into parts before they are aligned; the data is large enough for several.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankstone import _core
from rankstone.data.source import AlignOptions
from rankstone.errors import DataError
from tests.effort import examples

from .doors import align_columns
from .slow_align import slow_align
from .test_align import DUPLICATES, ORDERS, assert_same, by_query, check

PART = 8192  # rows; there are about as many parts as that goes into all rows


def texts(form: str, kind: pa.DataType) -> Callable[[np.ndarray], Any]:
    return lambda numbers: pa.array([form.format(number) for number in numbers.tolist()], kind)


IDS: dict[str, Callable[[np.ndarray], Any]] = {
    "int64": lambda numbers: numbers * 2**40 - 7,
    "int32": lambda numbers: numbers.astype(np.int32),
    "short text": texts("i{:05}", pa.string()),
    "text of 8 bytes": texts("{:08}", pa.string()),
    "text of 8 bytes, not ASCII": texts("é{:06}", pa.string()),
    "longer text": texts("item {:05}", pa.string()),
    "large text": texts("{:07}é", pa.large_string()),
    "string views": texts("a longer item {:05}", pa.string_view()),
    "dictionary": lambda numbers: texts("i{:05}", pa.string())(numbers).dictionary_encode(),
}


class Rows(NamedTuple):
    query: np.ndarray
    item: np.ndarray
    value: np.ndarray

    def at(self, rows: Any) -> "Rows":
        return Rows(*(column[rows] for column in self))

    def columns(self, ids: str) -> list[Any]:
        return [IDS[ids](self.query), IDS[ids](self.item), self.value]

    def grouped(self) -> np.ndarray:
        """The rows by query, in order of first appearance, as they come within each."""
        _, first, query = np.unique(self.query, return_index=True, return_inverse=True)
        return np.argsort(first[query], kind="stable")


def make(chance: Any, sizes: Iterable[int], items: int, *, twice: bool = False, levels: int = 20) -> Rows:
    """Lists of these sizes, their rows in random order; few levels of score make ties."""
    query = np.repeat(np.arange(len(list(sizes))), list(sizes))
    item = [chance.choice(items, size, replace=twice) for size in sizes]
    made = Rows(query, np.concatenate([*item, np.empty(0, int)]), chance.integers(0, levels, len(query)) / 4)
    return made.at(chance.permutation(len(query)))


SHAPES: dict[str, list[int]] = {
    "many short lists": [20] * 3000,
    "two long lists": [25_000, 30_000],
    "one list that has almost all": [40_000, *[3] * 2000],
    "some lists longer than a sieve takes": [1500] * 30,
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ids", IDS)
def test_any_order_of_rows_gives_the_same_arrays(ids: str, shape: str) -> None:
    chance = np.random.default_rng(len(ids) + len(shape))
    run = make(chance, SHAPES[shape], 60_000)
    truth = make(chance, [10] * (len(SHAPES[shape]) - 1) + [0, 4], 60_000)  # one only in the run, one only here
    expected = align_columns(*truth.at(truth.grouped()).columns(ids), *run.at(run.grouped()).columns(ids), threads=1)
    assert expected.placed_offsets[-1] > 0
    for threads in range(1, 9):
        columns = run.at(chance.permutation(len(run.query))).columns(ids)
        assert_same(align_columns(*truth.columns(ids), *columns, threads=threads), expected)


@pytest.mark.slow
@pytest.mark.parametrize("duplicates", DUPLICATES)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("ids", ["int64", "short text", "longer text"])
def test_rows_that_are_moved_keep_their_order(ids: str, order: str, duplicates: str) -> None:
    """Where the order of rows counts, what counts is that among the rows of a query."""
    chance = np.random.default_rng(3)
    run = make(chance, [60] * 1000, 300, twice=duplicates != "error", levels=5)
    truth = make(chance, [8] * 1100, 300)
    options: Any = {"order": order, "duplicates": duplicates, "extra_queries": True}
    expected = align_columns(*truth.at(truth.grouped()).columns(ids), *run.at(run.grouped()).columns(ids), **options)
    for threads in (1, 5):
        found = align_columns(*truth.columns(ids), *run.columns(ids), threads=threads, **options)
        assert_same(found, expected)
        assert truth.query[found.queries].tolist() == list(dict.fromkeys(truth.query.tolist()))


@given(
    st.integers(0, 2**32),
    st.sampled_from(list(IDS)),
    st.sampled_from(ORDERS),
    st.sampled_from(DUPLICATES),
    st.booleans(),
    st.integers(1, 8),
)
@examples(0.375)
def test_equal_to_the_slow_definition(
    seed: int, ids: str, order: str, duplicates: str, extra: bool, threads: int
) -> None:
    chance = np.random.default_rng(seed)
    sizes = chance.integers(0, 40, 200) * (chance.random(200) < 0.9)
    run = make(chance, (5 * sizes).tolist(), 250 if duplicates == "error" else 60, twice=duplicates != "error")
    truth = make(chance, chance.integers(0, 9, 210).tolist(), 60)
    run, truth = (side.at(side.query % 11 != other) for side, other in ((run, 3), (truth, 4)))
    assert len(run.query) > PART
    options: Any = {"order": order, "duplicates": duplicates, "extra_queries": extra}
    sides = [by_query(list(zip(*(column.tolist() for column in side), strict=True))) for side in (truth, run)]
    expected = slow_align(*sides, **options)
    firsts = [truth.query.tolist().index(query) for query in expected.queries]
    extras = [run.query.tolist().index(query) for query in expected.extra]
    check(align_columns(*truth.columns(ids), *run.columns(ids), threads=threads, **options), expected, firsts, extras)


@pytest.mark.parametrize("ids", ["int64", "short text", "longer text"])
@pytest.mark.parametrize("side", ["truth", "run"])
def test_an_error_names_the_row(ids: str, side: str) -> None:
    """The first query in order of first appearance, and in it the first row that is wrong."""
    chance = np.random.default_rng(5)
    sides = {"truth": make(chance, [10] * 3000, 60), "run": make(chance, [30] * 3000, 60)}
    rows = sides[side]
    query = np.array(list(dict.fromkeys(sides["truth"].query.tolist())))[1000]
    second, third = np.flatnonzero(rows.query == query)[[4, 7]]

    def failure() -> DataError:
        with pytest.raises(DataError) as caught:
            align_columns(*sides["truth"].columns(ids), *sides["run"].columns(ids), threads=3)
        return caught.value

    rows.item[third] = rows.item[second]
    found = failure()
    assert (found.kind, found.side, found.row) == ("twice", side, third)
    rows.value[second] = np.nan
    assert failure().row == second


@pytest.mark.parametrize("ids", ["int64", "longer text"])
def test_what_is_shown_and_what_is_one_item(ids: str) -> None:
    chance = np.random.default_rng(9)
    run = make(chance, [*[30] * 1500, 0, 9000], 10_000)
    grouped = run.grouped()
    query, item, score = run.columns(ids)
    one, other, third = run.at(grouped).columns(ids)
    for threads in (1, 4):
        how = AlignOptions(threads=threads, extra_queries=True)
        for depth in (1, 7, None):
            offsets, rows, dropped = _core.first_columns(query[:0], query, item, score, how, depth)
            wanted = _core.first_columns(one[:0], one, other, third, how, depth)
            np.testing.assert_array_equal(offsets, wanted[0])
            np.testing.assert_array_equal(rows, grouped[wanted[1]])
            assert dropped == wanted[2]
        codes = np.arange(len(run.query)) % 3
        found = _core.item_columns(query, item, codes, threads)
        wanted_items = _core.item_columns(one, other, codes[grouped], threads)
        for at, (actual, expected) in enumerate(zip(found, wanted_items, strict=True)):
            rows_of = at in (1, 4)  # an item's first row, and all rows
            np.testing.assert_array_equal(actual, grouped[expected] if rows_of else expected, err_msg=str(at))


@pytest.mark.parametrize("ids", IDS)
def test_no_rows(ids: str) -> None:
    chance = np.random.default_rng(1)
    some, none = make(chance, [20] * 1000, 60), make(chance, [], 60)
    assert align_columns(*none.columns(ids), *none.columns(ids)).retrieved.tolist() == []
    assert align_columns(*none.columns(ids), *some.columns(ids)).retrieved.tolist() == []
    found = align_columns(*none.columns(ids), *some.columns(ids), extra_queries=True)
    assert found.retrieved.tolist() == [20] * 1000
    assert not align_columns(*some.columns(ids), *none.columns(ids)).present.any()
