"""Every door of the core against the slow definition, on generated truth and runs."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankstone.align.alignment import Alignment
from tests.effort import examples

from .doors import align_columns, align_dense, align_dicts, align_lists
from .slow_align import Aligned, Run, Truth, slow_align

TEXTS = ["", "a", "b", "Z", "ä", "日本", "𝄞", "item000123", "item000124", "a text of more than sixteen bytes, 1",
         "a text of more than sixteen bytes, 2", "\uffff", "é\x00"]  # fmt: skip
INTS = [-(2**63), -7, -1, 0, 1, 2, 3, 100, 2**31, 2**40, 2**40 + 1, 2**63 - 1]
SMALL_INTS = [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 127]
SCORES = [0.0, -0.0, 1.0, 1.0 + 1e-12, -1.5, 2.0, 3.25, 1e300, math.inf, -math.inf]
GRADES = [0.0, 1.0, 2.0, -1.0, 0.5]

ORDERS = ["item_desc", "item_asc", "input", "reverse_input"]
DUPLICATES = ["error", "first", "best", "count", "once"]
OPTIONS = st.fixed_dictionaries(
    {
        "order": st.sampled_from(ORDERS),
        "duplicates": st.sampled_from(DUPLICATES),
        "truth_duplicates": st.sampled_from(["error", "first", "count", "distinct", "max"]),
        "float32": st.booleans(),
        "keep_zero_grades": st.booleans(),
        "extra_queries": st.booleans(),
    }
)
"""The options of the slow definition; `threads` must change nothing."""


ARRAYS = [field for field in Aligned.__dataclass_fields__ if field not in ("queries", "extra", "dropped")]


def check(actual: Alignment, expected: Aligned, queries: Iterable[Any] | None, extra: Iterable[Any] | None) -> None:
    """`queries` and `extra` are what the door names its queries by."""
    assert (None if actual.queries is None else list(actual.queries)) == queries
    assert (None if actual.extra is None else list(actual.extra)) == extra
    any_tied = any(tied > 1 for tied in expected.tied)
    for name in ARRAYS:
        array = getattr(actual, name)
        if name in ("above", "tied") and not any_tied:
            assert array is None, name
        else:
            wanted = getattr(expected, name)
            kind = {bool: np.bool_, float: np.float64}.get(type(wanted[0]), np.int64) if wanted else array.dtype
            assert array.dtype == kind, name
            np.testing.assert_array_equal(array, wanted, err_msg=name)
    assert actual.dropped == expected.dropped


def assert_same(one: Alignment, other: Alignment) -> None:
    """All but the names of the queries, which each door has in its own form."""
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert one.dropped == other.dropped


def same_or_same_error(
    truth: Truth, run: Run, options: dict[str, Any], door: Callable[..., Alignment]
) -> tuple[Alignment, Aligned] | None:
    try:
        expected = slow_align(truth, run, **options)
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error)):
            door(**options)
        return None
    return door(**options), expected


@st.composite
def some(draw: st.DrawFn, pool: list[Any], most: int = 5) -> Any:
    """Draws a few of the pool to choose from: few items make hits and duplicates, few scores make ties."""
    return st.sampled_from(draw(st.lists(st.sampled_from(pool), min_size=1, max_size=most)))


def unique_pairs(items: st.SearchStrategy[Any], values: st.SearchStrategy[float], size: int) -> st.SearchStrategy[Any]:
    return st.lists(st.tuples(items, values), max_size=size, unique_by=lambda pair: pair[0])


def pairs(items: st.SearchStrategy[Any], values: st.SearchStrategy[Any], size: int) -> st.SearchStrategy[Any]:
    """Lists with repeated items about as often as without."""
    return st.one_of(st.lists(st.tuples(items, values), max_size=size), unique_pairs(items, values, size))


def by_query(rows: list[tuple[Any, Any, Any]]) -> dict[Any, list[tuple[Any, Any]]]:
    grouped: dict[Any, list[tuple[Any, Any]]] = {}
    for query, item, value in rows:
        grouped.setdefault(query, []).append((item, value))
    return grouped


def flat(grouped: dict[Any, list[tuple[Any, Any]]]) -> list[tuple[Any, Any, Any]]:
    return [(query, item, value) for query, rows in grouped.items() for item, value in rows]


# Dicts ------------------------------------------------------------------------------------------------------------


@st.composite
def dict_cases(draw: st.DrawFn) -> tuple[Truth, Run, dict[Any, Any], dict[Any, Any]]:
    """A truth and a run as lists of pairs for the slow definition, and as the dicts that a user would write."""
    tuples = [(number, letter) for number in range(3) for letter in "xyz"]
    items = draw(some(draw(st.sampled_from([TEXTS, INTS, tuples])), 10))
    queries = draw(some([1, "q", ("u", 3), None, 2.5], 4))
    score = draw(some([*SCORES, -1, 3, 2**60, True, False, np.float32(0.1), np.int64(7)]))
    truth: Truth = {}
    run: Run = {}
    truth_dict: dict[Any, Any] = {}
    run_dict: dict[Any, Any] = {}
    for query in draw(st.lists(queries, unique=True)):
        shape = draw(st.sampled_from([dict, list, tuple, set, dict.keys]))
        if shape is dict:
            truth[query] = draw(unique_pairs(items, st.sampled_from(GRADES), 8))
            truth_dict[query] = dict(truth[query])
        else:
            found = draw(st.lists(items, max_size=8, unique=shape not in (list, tuple)))
            truth_dict[query] = dict.fromkeys(found).keys() if shape is dict.keys else shape(found)
            truth[query] = [(item, 1.0) for item in truth_dict[query]]
    for query in draw(st.lists(queries, unique=True)):
        shape = draw(st.sampled_from([dict, list, tuple]))
        if shape is dict:
            run[query] = draw(unique_pairs(items, score, 12))
            run_dict[query] = dict(run[query])
        else:
            run_dict[query] = shape(draw(st.lists(items, max_size=12)))
            run[query] = [(item, None) for item in run_dict[query]]
    return truth, run, truth_dict, run_dict


@given(dict_cases(), OPTIONS)
@examples(10)
def test_dicts(case: tuple[Truth, Run, dict[Any, Any], dict[Any, Any]], options: dict[str, Any]) -> None:
    truth, run, truth_dict, run_dict = case
    answer = same_or_same_error(truth, run, options, lambda **o: align_dicts(truth_dict, run_dict, **o))
    if answer:
        check(*answer, answer[1].queries, answer[1].extra)


# Flat columns -----------------------------------------------------------------------------------------------------


def sliced(array: pa.Array) -> pa.Array:
    """The same values behind an offset."""
    padding = array.slice(0, 1) if len(array) else array
    return pa.concat_arrays([padding, padding, array]).slice(2 * len(padding))


def strings(kind: pa.DataType) -> Callable[[list[Any]], Any]:
    return lambda values: pa.array(values, kind)


def encoded(kind: pa.DataType) -> Callable[[list[Any]], Any]:
    return lambda values: pa.array(values, kind).dictionary_encode()


def repetitive(values: list[str]) -> pa.Array:
    """A dictionary that holds each value twice: the index alone does not tell equal from different."""
    indices = [i if i % 2 else i + len(values) for i in range(len(values))]
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int16()), pa.array(values + values, pa.string()))


INT_COLUMNS = [
    lambda values: np.array(values, np.int64),
    lambda values: np.array([x for v in values for x in (v, 9)], np.int64)[::2],
    lambda values: np.array(values, ">i8"),
    strings(pa.int64()),
    lambda values: sliced(pa.array(values, pa.int64())),
    encoded(pa.int64()),
]
SMALL_INT_COLUMNS = [
    *(lambda values, kind=kind: np.array(values, kind) for kind in "bhilBHIL"),
    *(strings(getattr(pa, kind)()) for kind in ("int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64")),
    encoded(pa.uint8()),
]
TEXT_COLUMNS = [
    strings(pa.string()),
    strings(pa.large_string()),
    strings(pa.string_view()),
    lambda values: sliced(pa.array(values, pa.string())),
    lambda values: sliced(pa.array(values, pa.large_string())),
    lambda values: pa.array(["x", *values], pa.string_view()).slice(1),
    encoded(pa.string()),
    encoded(pa.large_string()),
    lambda values: sliced(pa.array(values, pa.string())).dictionary_encode(),
    repetitive,
]
ID_KINDS = [(TEXTS, TEXT_COLUMNS), (INTS, INT_COLUMNS), (SMALL_INTS, SMALL_INT_COLUMNS + INT_COLUMNS)]

FLOAT_COLUMNS = [
    lambda values: np.array(values, np.float64),
    strings(pa.float64()),
    lambda values: sliced(pa.array(values, pa.float64())),
]
WHOLE_COLUMNS = [
    *(lambda values, kind=kind: np.array(values, kind) for kind in (np.int8, np.int64, np.float32, np.uint64)),
    *(strings(kind) for kind in (pa.int16(), pa.uint64(), pa.float32())),
    lambda values: pa.array([True, *(v > 0 for v in values)]).slice(1),
    lambda values: np.array([v > 0 for v in values], bool),
]
"""For values that are whole numbers from 0; the last two make them booleans."""


def read_back(column: Any) -> list[float]:
    return [float(x) for x in (column.to_pylist() if isinstance(column, pa.Array) else column.tolist())]


@st.composite
def columns(draw: st.DrawFn, values: list[Any], exact: list[Any]) -> tuple[list[float], Any]:
    """Draws a way to store that many numbers, and says which numbers the column then holds."""
    count = len(values)
    if draw(st.booleans()):
        return values, draw(st.sampled_from(FLOAT_COLUMNS))(values)
    whole = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    column = draw(st.sampled_from(exact))(whole)
    return read_back(column), column


@st.composite
def row_cases(draw: st.DrawFn) -> dict[str, Any]:
    query_ids, query_columns = draw(st.sampled_from(ID_KINDS))
    item_ids, item_columns = draw(st.sampled_from(ID_KINDS))
    queries, items = draw(some(query_ids, 4)), draw(some(item_ids, 10))
    score, grade = draw(some(SCORES)), draw(some(GRADES))
    unique = draw(st.booleans())
    key = (lambda row: row[:2]) if unique else None
    truth_rows = draw(st.lists(st.tuples(queries, items, grade), max_size=25, unique_by=key))
    run_rows = draw(st.lists(st.tuples(queries, items, score), max_size=60, unique_by=key))
    if draw(st.booleans()):
        truth_rows = flat(by_query(truth_rows))
    if draw(st.booleans()):
        run_rows = flat(by_query(run_rows))

    case: dict[str, Any] = {}
    for side, rows in (("truth", truth_rows), ("run", run_rows)):
        case[f"{side}_query"] = draw(st.sampled_from(query_columns))([row[0] for row in rows])
        case[f"{side}_item"] = draw(st.sampled_from(item_columns))([row[1] for row in rows])
        values, column = draw(columns([row[2] for row in rows], WHOLE_COLUMNS))
        if draw(st.integers(0, 4)) == 0:
            values, column = [1.0 if side == "truth" else None] * len(rows), None
        case["truth_grade" if side == "truth" else "run_score"] = column
        case[f"{side}_rows"] = [(query, item, value) for (query, item, _), value in zip(rows, values, strict=True)]
    return case


@given(row_cases(), OPTIONS, st.sampled_from([1, 2]))
@examples(10)
def test_columns(case: dict[str, Any], options: dict[str, Any], threads: int) -> None:
    truth_rows, run_rows = case.pop("truth_rows"), case.pop("run_rows")
    truth, run = by_query(truth_rows), by_query(run_rows)
    answer = same_or_same_error(truth, run, options, lambda **o: align_columns(**case, threads=threads, **o))
    if answer:
        actual, expected = answer
        truth_ids, run_ids = [row[0] for row in truth_rows], [row[0] for row in run_rows]
        firsts = [truth_ids.index(query) for query in expected.queries]
        check(actual, expected, firsts, [run_ids.index(query) for query in expected.extra])


# List columns -----------------------------------------------------------------------------------------------------


@st.composite
def list_cases(draw: st.DrawFn) -> dict[str, Any]:
    item_ids, item_columns = draw(st.sampled_from(ID_KINDS))
    items, score, grade = draw(some(item_ids, 10)), draw(some(SCORES)), draw(some(GRADES))
    truth = draw(st.lists(pairs(items, grade, 8), max_size=4))
    run = draw(st.lists(pairs(items, score, 15), min_size=len(truth), max_size=len(truth)))
    case: dict[str, Any] = {}
    for side, lists in (("truth", truth), ("run", run)):
        padding = draw(st.sampled_from([0, 3]))  # rows before the first list, which belong to none
        rows = [(item_ids[0], 1.0)] * padding + [pair for each in lists for pair in each]
        values, column = draw(columns([value for _, value in rows], WHOLE_COLUMNS))
        if draw(st.integers(0, 4)) == 0:
            values, column = [1.0 if side == "truth" else None] * len(rows), None
        offsets = np.cumsum([padding, *map(len, lists)])
        case[f"{side}_offsets"] = offsets.astype(draw(st.sampled_from([np.int32, np.int64])))
        case[f"{side}_items"] = draw(st.sampled_from(item_columns))([item for item, _ in rows])
        case["truth_grades" if side == "truth" else "run_scores"] = column
        case[side] = {
            i: [(rows[j][0], values[j]) for j in range(offsets[i], offsets[i + 1])] for i in range(len(lists))
        }
    return case


@given(list_cases(), OPTIONS, st.sampled_from([1, 2]), st.data())
@examples(7.5)
def test_lists(case: dict[str, Any], options: dict[str, Any], threads: int, data: st.DataObject) -> None:
    truth, run = case.pop("truth"), case.pop("run")
    options["extra_queries"] = False
    if truth and data.draw(st.booleans()):
        rows = st.integers(-1, len(truth) - 1)
        paired = data.draw(st.lists(rows, min_size=len(truth), max_size=len(truth)))
        case["run_rows"] = np.array(paired)
        run = {i: run[row] for i, row in enumerate(paired) if row >= 0}
    answer = same_or_same_error(truth, run, options, lambda **o: align_lists(**case, threads=threads, **o))
    if answer:
        check(*answer, None, None)


# Matrices ---------------------------------------------------------------------------------------------------------

MATRICES = [
    lambda cells: cells,
    lambda cells: np.asfortranarray(cells),
    lambda cells: np.repeat(cells, 2, axis=1)[:, ::2],
    lambda cells: np.repeat(cells, 2, axis=0)[::2],
    lambda cells: cells.astype(cells.dtype.newbyteorder()),
]


@st.composite
def matrices(draw: st.DrawFn, shape: tuple[int, int], values: list[float], kinds: list[Any]) -> np.ndarray:
    cells = draw(st.lists(draw(some(values)), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    if draw(st.booleans()):
        matrix = np.array(cells, np.float64).reshape(shape)
    else:
        whole = [int(abs(x)) if abs(x) < 100 else 7 for x in cells]
        matrix = np.array(whole).astype(draw(st.sampled_from(kinds))).reshape(shape)
    return draw(st.sampled_from(MATRICES))(matrix)


@given(st.data(), OPTIONS, st.sampled_from([1, 2]))
@examples(7.5)
def test_dense(data: st.DataObject, options: dict[str, Any], threads: int) -> None:
    shape = data.draw(st.tuples(st.integers(0, 4), st.integers(0, 12)))
    kinds = [np.float32, np.int64, np.int32, np.uint8, bool]
    scores = data.draw(matrices(shape, SCORES, kinds))
    labels = data.draw(matrices(shape, GRADES, kinds))
    mask = None
    if data.draw(st.booleans()):
        mask = data.draw(matrices(shape, [0.0, 1.0], [bool])).astype(bool)
        if scores.dtype.kind == "f":
            scores = np.where(mask, scores, math.nan)  # whatever is masked is never read
    kept = np.ones(shape, bool) if mask is None else mask
    options["extra_queries"] = False
    truth = {i: [(j, labels[i, j]) for j in range(shape[1]) if kept[i, j]] for i in range(shape[0])}
    run = {i: [(j, scores[i, j]) for j in range(shape[1]) if kept[i, j]] for i in range(shape[0])}
    expected = slow_align(truth, run, **options)
    check(align_dense(scores, labels, mask, threads=threads, **options), expected, None, None)


def test_equal_hashes_are_not_equal_items() -> None:
    """The first eight bytes cancel the hash's constant, so that the rest of the text does not matter to the hash."""
    prefix = bytes.fromhex("db28b4a0d17e03e7")
    texts = [prefix + f"item {i:03}".encode() for i in range(200)]
    buffers = [None, pa.py_buffer(np.arange(201, dtype=np.int32) * 16), pa.py_buffer(b"".join(texts))]
    items = pa.Array.from_buffers(pa.string(), 200, buffers)
    queries = np.zeros(200, int)
    answer = align_columns(queries[:100], items[50:150], None, queries, items, np.arange(200.0))
    assert answer.rank.tolist() == list(range(51, 151))
    assert answer.place.tolist() == list(range(100, 0, -1))
    assert len(align_columns(items, queries, None, items, queries, None).queries) == 200


# Many hits in one query --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("duplicates", DUPLICATES[1:])
@pytest.mark.parametrize("levels", [3, 100, 10**9])
@pytest.mark.parametrize("text", [True, False])
def test_many_hits(order: str, duplicates: str, levels: int, text: bool) -> None:
    """So many that searching replaces counting, and sorting replaces comparing; some rows tied, some dropped."""
    random = np.random.default_rng(levels)
    judged = random.choice(1500, 600, replace=False)
    items = random.choice(1500, 1200)
    scores = random.integers(0, levels, 1200) / 8
    name = str if text else int
    truth = [(name(item), float(grade)) for item, grade in zip(judged, random.integers(0, 3, 600), strict=True)]
    run = [(name(item), float(score)) for item, score in zip(items, scores, strict=True)]
    expected = slow_align({0: truth}, {0: run}, order=order, duplicates=duplicates)
    ids = [np.array([0, len(pairs)]) for pairs in (truth, run)]
    columns = [[pa.array([pair[i] for pair in pairs]) for i in (0, 1)] for pairs in (truth, run)]
    answer = align_lists(ids[0], *columns[0], ids[1], *columns[1], order=order, duplicates=duplicates)
    check(answer, expected, None, None)

    rows = dict(run)
    unique = slow_align({0: truth}, {0: list(rows.items())}, order=order)
    check(align_dicts({0: dict(truth)}, {0: rows}, order=order), unique, [0], [])


@pytest.mark.parametrize("tied_query", [0, 10_000, 19_999])
def test_ties_in_one_query_of_many(tied_query: int) -> None:
    """The threads that saw no tie fill in what the others had to tell."""
    queries, rows = 20_000, 20
    ids, items = np.repeat(np.arange(queries), rows), np.tile(np.arange(rows), queries)
    scores = -items.astype(float)
    scores[tied_query * rows + 1] = 0.0
    answer = align_columns(ids, items, None, ids, items, scores, order="input", threads=2)
    rank = np.tile(np.arange(1, rows + 1), queries)
    above, tied = rank - 1, np.ones_like(rank)
    above[tied_query * rows + 1] = 0
    tied[tied_query * rows : tied_query * rows + 2] = 2
    for actual, expected in zip((answer.rank, answer.above, answer.tied), (rank, above, tied), strict=True):
        np.testing.assert_array_equal(actual, expected)


# The same data through every door -----------------------------------------------------------------------------------


@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize(("queries", "judged", "rows"), [(300, 10, 200), (3, 3000, 20000), (1, 400, 120000)])
def test_doors_agree_on_large_data(queries: int, judged: int, rows: int, text: bool, ties: bool) -> None:
    """Large enough for several threads, for many hits in a query, and for hash tables beyond the cache."""
    random = np.random.default_rng(queries + ties)
    name = (lambda i: f"item{i:06d}") if text else int
    pool = [name(i) for i in range(4 * rows)]
    truth, run = {}, {}
    for query in range(queries):
        some = random.choice(4 * rows, judged, replace=False)
        truth[query] = {pool[i]: float(g) for i, g in zip(some, random.integers(0, 4, judged), strict=True)}
        found = random.permutation(np.unique(np.concatenate([some[: judged // 2], random.choice(4 * rows, rows)])))
        scores = random.integers(0, 50, len(found)) / 4 if ties else random.random(len(found))
        run[query] = {pool[i]: float(s) for i, s in zip(found, scores, strict=True)}

    def table(grouped: dict[Any, dict[Any, float]], shuffle: bool) -> list[Any]:
        rows = [(query, item, value) for query, pairs in grouped.items() for item, value in pairs.items()]
        if shuffle:
            rows = [rows[i] for i in random.permutation(len(rows))]
        items = [row[1] for row in rows]
        return [
            np.array([row[0] for row in rows]),
            pa.array(items) if text else np.array(items),
            np.array([row[2] for row in rows]),
        ]

    def offsets(grouped: dict[Any, dict[Any, float]]) -> np.ndarray:
        return np.cumsum([0, *(len(pairs) for pairs in grouped.values())])

    expected = align_dicts(truth, run)
    tables = table(truth, False), table(run, False)
    answers = [align_columns(*tables[0], *tables[1], threads=threads) for threads in (1, 2, 5)]
    answers += [
        align_lists(offsets(truth), *tables[0][1:], offsets(run), *tables[1][1:], threads=threads) for threads in (1, 2)
    ]
    for answer in answers:
        assert_same(expected, answer)

    # With the run's rows shuffled only row order changes, and the default order does not look at that.
    shuffled = table(run, True)
    for threads in (1, 2):
        answer = align_columns(*tables[0], *shuffled, threads=threads)
        assert_same(expected, answer)
    mixed = align_columns(*table(truth, True), *shuffled)
    assert mixed.rank.sum() == expected.rank.sum()

    slow = slow_align({0: list(truth[0].items())}, {0: list(run[0].items())}) if rows < 1000 else None
    if slow:
        np.testing.assert_array_equal(expected.rank[: expected.placed_offsets[1]], slow.rank)
