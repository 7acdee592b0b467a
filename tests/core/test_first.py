"""What each list shows, against plain Python: any order of rows, any rule for equal scores and repeated items."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankstone import _core
from rankstone.data.arrow import as_column
from rankstone.data.source import AlignOptions
from rankstone.errors import DataError

ORDERS = ("item_desc", "item_asc", "input", "reverse_input")
rows_of = st.lists(
    st.tuples(st.sampled_from("pqr"), st.sampled_from("abcdef"), st.sampled_from([2.0, 1.0, 0.5, -1.0])), max_size=25
)


def slow(rows, known, order, duplicates, extra, depth):
    """By query the rows that come first, -1 where a place is held by an item that was there before."""
    queries = list(dict.fromkeys(known))
    if extra:
        queries = list(dict.fromkeys([*known, *(query for query, _, _ in rows)]))
    out = []
    for query in queries:
        mine = [(at, item, score) for at, (one, item, score) in enumerate(rows) if one == query]
        again = set()
        if duplicates != "count":
            for item in {item for _, item, _ in mine}:
                same = [row for row in mine if row[1] == item]
                if len(same) > 1 and duplicates == "error":
                    return None
                kept = same[0] if duplicates == "first" else max(same, key=lambda row: (row[2], -row[0]))
                again |= {row[0] for row in same if row is not kept}
        left = mine if duplicates == "once" else [row for row in mine if row[0] not in again]
        left.sort(key=lambda row: -row[0] if order == "reverse_input" else row[0])
        if order in ("item_desc", "item_asc"):
            left.sort(key=lambda row: row[1], reverse=order == "item_desc")
        left.sort(key=lambda row: -row[2])
        out.append([-1 if at in again else at for at, _, _ in left[:depth]])
    return out


def found(rows, known, how, depth, ids=list):
    """The same by the core."""
    query, item = (as_column("ids", ids([row[at] for row in rows])) for at in (0, 1))
    score = np.array([row[2] for row in rows], dtype=np.float64)
    offsets, places, _ = _core.first_columns(as_column("ids", ids(known)), query, item, score, how, depth)
    return [places[start:end].tolist() for start, end in pairwise(offsets)]


def numbers(words):
    return np.array([ord(word) for word in words], dtype=np.int64)


def texts(words):
    import pyarrow

    return pyarrow.array(words, pyarrow.string())


@pytest.mark.parametrize("ids", [numbers, texts])
@given(
    rows=rows_of,
    known=st.lists(st.sampled_from("pqrs"), max_size=4),
    order=st.sampled_from(ORDERS),
    duplicates=st.sampled_from(("error", "first", "best", "count", "once")),
    extra=st.booleans(),
    depth=st.sampled_from((1, 2, 3, 50, None)),
    threads=st.sampled_from((1, 2, 3)),
)
def test_equal_to_plain_python(ids, rows, known, order, duplicates, extra, depth, threads):
    how = AlignOptions(order, duplicates=duplicates, extra_queries=extra, threads=threads)
    expected = slow(rows, known, order, duplicates, extra, depth)
    if expected is None:
        with pytest.raises(DataError, match="appears twice in the run"):
            found(rows, known, how, depth, ids)
        return
    if duplicates in ("count", "once") and order in ("item_desc", "item_asc"):  # which of one item's rows is no matter
        assert list(map(sorted, found(rows, known, how, None, ids))) == list(
            map(sorted, slow(rows, known, order, duplicates, extra, None))
        )
    else:
        assert found(rows, known, how, depth, ids) == expected


def test_many_rows_in_any_order():
    """Enough of them for several threads."""
    rng = np.random.default_rng(0)
    query, item = rng.integers(0, 2000, 200_000), rng.permutation(200_000)
    score = rng.random(200_000).round(2)
    how = AlignOptions("item_desc", extra_queries=True)
    one, two = (
        _core.first_columns(query[:0], query, item, score, AlignOptions(how.order, extra_queries=True, threads=n), 5)
        for n in (1, 2)
    )
    assert np.array_equal(one[0], two[0])
    assert np.array_equal(one[1], two[1])
    order = np.lexsort((-item, -score, query))
    rank = np.arange(len(order)) - np.searchsorted(query[order], query[order])
    assert sorted(one[1].tolist()) == sorted(order[rank < 5].tolist())


def test_a_score_that_is_no_number():
    with pytest.raises(DataError, match="query 7, item 2: score is nan"):
        _core.first_columns(
            np.array([7]), np.array([7, 7]), np.array([1, 2]), np.array([0.5, np.nan]), AlignOptions(), None
        )  # fmt: skip


def test_lists_are_named_in_errors():
    offsets, items = np.array([0, 2]), np.array([1, 1])
    with pytest.raises(DataError, match="query 'u1': item 1 appears twice in the run"):
        _core.first_lists(offsets, items, None, None, AlignOptions(), 5, lambda row: ["u1"][row])
    with pytest.raises(DataError, match="row 0: item 1 appears twice in the run"):
        _core.first_lists(offsets, items, None, None, AlignOptions(), 5, None)
    with pytest.raises(ValueError, match="run_rows: row 0: the run has no row 4"):
        _core.first_lists(offsets, items, None, np.array([4]), AlignOptions(duplicates="count"), 5, None)
    with pytest.raises(ValueError, match="the last is 9, past the 2 items"):
        _core.first_lists(np.array([0, 9]), items, None, None, AlignOptions(), 5, None)


def test_lists_without_scores_are_in_order():
    offsets, rows, _ = _core.first_lists(
        np.array([0, 3, 5]), np.array([5, 6, 7, 5, 9]), None, np.array([1, -1, 0]), AlignOptions(), 2, None
    )
    assert offsets.tolist() == [0, 2, 2, 4]
    assert rows.tolist() == [3, 4, 0, 1]
