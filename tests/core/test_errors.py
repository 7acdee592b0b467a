"""Bad input gets an error that names the query and the item, and never a crash."""

import itertools
import math
import pickle
import signal
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import rankstone as rs
from rankstone import _core
from rankstone.align.alignment import Alignment
from rankstone.data.source import AlignOptions
from rankstone.errors import DataError

from .doors import align_columns, align_dense, align_dicts, align_lists

NAN, INF = math.nan, math.inf


def columns(truth: list[tuple[Any, Any, float]], run: list[tuple[Any, Any, float]], **options: Any) -> Alignment:
    arrays = [pa.array([row[i] for row in rows]) for rows in (truth, run) for i in range(3)]
    return align_columns(*arrays, **options)


def lists(truth: list[list[Any]], run: list[list[Any]], grades: Any = None, scores: Any = None) -> Alignment:
    def side(rows: list[list[Any]]) -> tuple[np.ndarray, pa.Array]:
        return np.cumsum([0, *map(len, rows)]), pa.array([item for row in rows for item in row], pa.string())

    return align_lists(*side(truth), grades, *side(run), scores)


# The words of the errors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("truth", "run", "kind", "message"),
    [
        ({"q1": ["d1", "d1"]}, {}, ValueError, "query 'q1': item 'd1' appears twice in the truth; .*"),
        ({"q1": ["d1"]}, {"q1": ["d3", "d3"]}, ValueError, "query 'q1': item 'd3' appears twice in the run; .*"),
        ({"q1": ["d3"]}, {"q1": ["d3", "d3"]}, ValueError, "query 'q1': item 'd3' appears twice in the run; .*"),
        ({"q1": {"d3": 1}}, {"q1": {"d3": NAN}}, ValueError, "query 'q1', item 'd3': score is nan"),
        ({"q1": {"d3": 1}}, {"q1": {"d4": np.float32(NAN)}}, ValueError, "query 'q1', item 'd4': score is nan"),
        ({"q1": {"d3": INF}}, {"q1": {}}, ValueError, "query 'q1', item 'd3': grade is inf"),
        ({"q1": {"d3": NAN}}, {}, ValueError, "query 'q1', item 'd3': grade is nan"),
        ({"q1": {"d3": "1"}}, {}, TypeError, "query 'q1', item 'd3': grade '1' is not a number"),
        ({"q1": {"d3": 1}}, {"q1": {"d3": "abc"}}, TypeError, "query 'q1', item 'd3': score 'abc' is not a number"),
        ({"q1": {"d3": 1}}, {"q1": {"d3": None}}, TypeError, "query 'q1', item 'd3': score None is not a number"),
        ({"q1": {"d3": 1}}, {"q1": {"d3": b"1"}}, TypeError, "query 'q1', item 'd3': score b'1' is not a number"),
        ({"q1": {"d3": 1}}, {"q1": {"d3": 1j}}, TypeError, "query 'q1', item 'd3': score 1j is not a number"),
        (
            {1: {"d3": 1}},
            {1: {"d3": 2**53 + 1}},
            ValueError,
            "query 1, item 'd3': score 9007199254740993 is too large to be exact as a float",
        ),
        (
            {1: {"d3": 1}},
            {1: {"d3": np.uint64(2**64 - 1)}},
            ValueError,
            "query 1, item 'd3': score .*18446744073709551615.* is too large to be exact as a float",
        ),
        ({1: {"d3": 10**400}}, {}, ValueError, "query 1, item 'd3': grade 10+ is too large to be exact as a float"),
        ({1: 3}, {}, TypeError, "query 1: the truth must be a dict .item: grade., or a list or set of items, not int"),
        ({1: "ab"}, {}, TypeError, "query 1: the truth must be .* not str"),
        (
            {1: ["a"]},
            {1: {"a"}},
            TypeError,
            "query 1: the run must be a dict .item: score. or a list of items, not set",
        ),
        ({1: ["a"]}, {1: [["a"]]}, TypeError, r"query 1: item \['a'\] of type list cannot be hashed"),
        ({1: [["a"]]}, {}, TypeError, r"query 1: item \['a'\] of type list cannot be hashed"),
        ([], {}, TypeError, "the truth must be a dict, not list"),
        ({}, None, TypeError, "the run must be a dict, not NoneType"),
        (
            {"q": {"a": 1, 2: 1}},
            {"q": {"a": 1, 2: 1}},
            TypeError,
            "query 'q': items (2 and 'a'|'a' and 2) have the same score and cannot be compared; ties=\"input\"",
        ),
        (
            {"q": {frozenset("a"): 1}},
            {"q": {frozenset("a"): 1, frozenset("b"): 1}},
            TypeError,
            "query 'q': items frozenset.* and frozenset.* have the same score and cannot be compared",
        ),
    ],
)
def test_dicts(truth: Any, run: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{message}"):
        align_dicts(truth, run)


def test_numbers_that_dicts_take() -> None:
    scores = {"a": 2**60, "b": np.int64(5), "c": True, "d": np.float32(0.5), "e": Fraction(1, 4), "f": np.array(0.125)}
    result = align_dicts({1: dict.fromkeys(scores, np.int8(1))}, {1: scores})
    assert result.score.tolist() == [2.0**60, 5.0, 1.0, 0.5, 0.25, 0.125]
    assert result.grade.tolist() == [1.0] * 6


def test_items_of_different_types_need_no_order_without_ties() -> None:
    assert align_dicts({1: {"a": 1, 2: 1}}, {1: {"a": 1, 2: 3}}).place.tolist() == [2, 1]
    assert align_dicts({1: {"a": 1, 2: 1}}, {1: {2: 1, "a": 1}}, order="input").place.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("truth", "run", "kind", "message"),
    [
        ([("q1", "d3", 1.0)] * 2, [], ValueError, "query 'q1': item 'd3' appears twice in the truth; .*"),
        ([("q1", "b", 1.0)], [("q1", "d3", 1.0)] * 2, ValueError, "query 'q1': item 'd3' appears twice in the run; .*"),
        ([("q1", "b", 1.0)], [("q1", "d3", NAN)], ValueError, "query 'q1', item 'd3': score is nan"),
        ([("q1", "d3", INF)], [], ValueError, "query 'q1', item 'd3': grade is inf"),
        ([(7, -1, 1.0)], [(7, 5, 1.0), (7, 5, 1.0)], ValueError, "query 7: item 5 appears twice in the run; .*"),
        ([(7, -1, 1.0)], [(7, 5, 2**53 + 1)], ValueError, "query 7, item 5: score 9007199254740993 is too large.*"),
        ([(7, -1, 1.0)], [(7, "a", 1.0)], TypeError, "truth items are integers but run items are strings"),
        ([("q", "a", 1.0)], [(7, "a", 1.0)], TypeError, "truth queries are strings but run queries are integers"),
        ([("q", 0.5, 1.0)], [("q", 1, 1.0)], TypeError, "truth items: ids must be integers or strings, not floats"),
        ([("q", True, 1.0)], [("q", 1, 1.0)], TypeError, "truth items: ids must be integers or strings, not booleans"),
        ([("q", "a", "1")], [("q", "a", 1.0)], TypeError, "truth grades must be numbers, not strings"),
        ([("q", "a", 1.0), ("q", None, 1.0)], [("q", "a", 1.0)], ValueError, "truth items: row 1 is null"),
        ([("q", "a", 1.0)], [("q", "a", 1.0), (None, "b", 1.0)], ValueError, "run queries: row 1 is null"),
        ([("q", "a", 1.0)], [("q", "a", None), ("q", "b", 1.0)], ValueError, "run scores: row 0 is null"),
        ([("q", "a", 1.0)], [("q", "a", None)], ValueError, "run scores: row 0 is null"),
    ],
)  # fmt: skip
def test_columns(truth: list[Any], run: list[Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{message}$"):
        columns(truth, run)


def test_extra_queries_are_read_only_when_asked() -> None:
    truth, run = [("q1", "a", 1.0)], [("q1", "a", 1.0), ("q2", "b", NAN)]
    assert columns(truth, run).extra.tolist() == [1]
    with pytest.raises(ValueError, match="query 'q2', item 'b': score is nan"):
        columns(truth, run, extra_queries=True)


def test_the_first_error_is_told_whatever_the_threads() -> None:
    queries = np.repeat(np.arange(20_000), 20)
    items = np.tile(np.arange(20), 20_000)
    items[[100 * 20 + 1, 19_000 * 20 + 1]] = 0
    for threads in (1, 2, 7):
        with pytest.raises(ValueError, match="query 100: item 0 appears twice in the run"):
            align_columns(np.arange(20_000), np.zeros(20_000, int), None, queries, items, None, threads=threads)


def test_columns_of_the_wrong_shape() -> None:
    one, two = np.array([1]), np.array([1, 2])
    with pytest.raises(ValueError, match="run queries and run items differ in length: 2 and 1"):
        align_columns(one, one, None, two, one, None)
    with pytest.raises(ValueError, match="truth items and truth grades differ in length: 1 and 2"):
        align_columns(one, one, two, one, one, None)
    with pytest.raises(ValueError, match="run items: must have one dimension"):
        align_columns(one, one, None, one, one.reshape(1, 1), None)
    with pytest.raises(TypeError, match="run items: not a NumPy array or an Arrow array, but list"):
        align_columns(one, one, None, one, [1], None)
    with pytest.raises(TypeError, match=r"run items: NumPy type .* is not supported"):
        align_columns(one, one, None, one, np.array(["a"]), None)
    with pytest.raises(TypeError, match="run scores: NumPy type float16 is not supported"):
        align_columns(one, one, None, one, one, one.astype(np.float16))
    with pytest.raises(TypeError, match="run scores: Arrow type 'e' is not supported"):
        align_columns(one, one, None, one, one, pa.array(one.astype(np.float16)))


@pytest.mark.parametrize("make", [lambda ids: np.array(ids, np.uint64), lambda ids: pa.array(ids, pa.uint64())])
def test_ids_beyond_64_signed_bits(make: Any) -> None:
    with pytest.raises(ValueError, match="truth items: row 1: id 9223372036854775808 does not fit 64 signed bits"):
        align_columns(np.zeros(2, int), make([1, 2**63]), None, np.zeros(1, int), np.zeros(1, int), None)


def test_dictionary_with_a_null_value() -> None:
    def encoded(indices: list[int]) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), pa.array(["a", None]))

    queries = np.zeros(2, int)
    align_columns(queries, encoded([0, 0]), None, queries[:1], encoded([0]), None, truth_duplicates="first")
    with pytest.raises(ValueError, match="truth items: row 1 is null"):
        align_columns(queries, encoded([0, 1]), None, queries[:1], encoded([0]), None)


def test_dictionary_with_a_wild_index() -> None:
    wild = pa.DictionaryArray.from_arrays(pa.array([0, 9], pa.int8()), pa.array(["a"]), safe=False)
    with pytest.raises(ValueError, match="truth items: row 1 lies outside"):
        align_columns(np.zeros(2, int), wild, None, np.zeros(1, int), pa.array(["a"]), None)


def test_lists() -> None:
    with pytest.raises(
        ValueError, match=r"^row 1: item 'd3' appears twice in the run; duplicates='first' counts one of them$"
    ):
        lists([["a"], ["b"]], [["c"], ["d3", "d3"]])
    with pytest.raises(
        ValueError, match=r"^row 1: item 'd3' appears twice in the truth; truth_duplicates='first' counts one of them$"
    ):
        lists([["a"], ["d3", "d3"]], [["c"], []])
    with pytest.raises(ValueError, match=r"^row 1, item 'd3': score is nan$"):
        lists([["a"], ["b"]], [["c"], ["d3"]], scores=np.array([1.0, NAN]))
    with pytest.raises(ValueError, match=r"^row 0, item 'a': grade is -inf$"):
        lists([["a"], ["b"]], [["c"], ["d3"]], grades=np.array([-INF, 1.0]))
    with pytest.raises(ValueError, match="the truth has 2 rows but the run has 1"):
        lists([["a"], ["b"]], [["c"]])
    one = np.array([1, 2])
    with pytest.raises(ValueError, match="run offsets: the last is 3, past the 2 items"):
        align_lists(np.array([0, 2]), one, None, np.array([0, 3]), one, None)
    with pytest.raises(ValueError, match="truth offsets: row 1 ends before it starts"):
        align_lists(np.array([0, 2, 1]), one, None, np.array([0, 1, 2]), one, None)
    with pytest.raises(ValueError, match="truth offsets: row 0 ends before it starts"):
        align_lists(np.array([-1, 2]), one, None, np.array([0, 2]), one, None)
    with pytest.raises(ValueError, match="run_rows: row 0: the run has no row 5"):
        align_lists(np.array([0, 2]), one, None, np.array([0, 2]), one, None, run_rows=np.array([5]))
    with pytest.raises(ValueError, match="the truth has 1 rows but run_rows has 2"):
        align_lists(np.array([0, 2]), one, None, np.array([0, 2]), one, None, run_rows=np.array([0, 0]))
    with pytest.raises(ValueError, match="truth offsets: there must be at least one"):
        align_lists(np.array([], int), one, None, np.array([0, 2]), one, None)


def test_dense() -> None:
    ok = np.ones((2, 3))
    bad = ok.copy()
    bad[1, 2] = NAN
    with pytest.raises(ValueError, match=r"^row 1, column 2: score is nan$"):
        align_dense(bad, ok)
    with pytest.raises(ValueError, match=r"^row 1, column 2: grade is nan$"):
        align_dense(ok, bad)
    align_dense(bad, bad, ~np.isnan(bad))
    with pytest.raises(ValueError, match="row 0, column 0: score 9007199254740993 is too large to be exact"):
        align_dense(np.full((1, 1), 2**53 + 1), ok[:1, :1])
    with pytest.raises(ValueError, match="labels and scores differ in shape"):
        align_dense(ok, ok[:1])
    with pytest.raises(ValueError, match="scores: must have two dimensions"):
        align_dense(ok[0], ok[0])
    with pytest.raises(TypeError, match="mask: must be booleans"):
        align_dense(ok, ok, ok)


def arrow(*values: Any) -> pa.Array:
    return pa.array(values)


# What was raised, and its kind, side, query, item and row.
FIELDS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "dict, twice": (lambda: align_dicts({"q": ["a"]}, {"q": ["d", "d"]}), ("twice", "run", "q", "d", None)),
    "dict, truth twice": (lambda: align_dicts({"q": ["a", "a"]}, {}), ("twice", "truth", "q", "a", None)),
    "dict, score": (lambda: align_dicts({"q": ["a"]}, {"q": {"b": NAN}}), ("number", "run", "q", "b", None)),
    "dict, grade": (lambda: align_dicts({(1, 2): {"a": "x"}}, {}), ("number", "truth", (1, 2), "a", None)),
    "dict, hash": (lambda: align_dicts({"q": ["a"]}, {"q": [["a"]]}), ("id", "run", "q", ["a"], None)),
    "dict, shape": (lambda: align_dicts({"q": 3}, {}), ("shape", "truth", "q", None, None)),
    "columns, twice": (
        lambda: columns([("q1", "b", 1.0)], [("q1", "a", 2.0), ("q1", "b", 1.0), ("q1", "a", 1.0)]),
        ("twice", "run", "q1", "a", 2),
    ),
    "columns, grade": (lambda: columns([(7, 1, 1.0), (8, 2, NAN)], [(7, 1, 1.0)]), ("number", "truth", 8, 2, 1)),
    "columns, null": (
        lambda: align_columns(arrow("q"), arrow("a"), None, arrow("q", "q"), arrow("a", None), None),
        ("missing", "run", None, None, 1),
    ),
    "columns, id": (
        lambda: align_columns(arrow(1), np.array([2**63], np.uint64), None, arrow(1), arrow(1), None),
        ("id", "truth", None, None, 0),
    ),
    "lists": (lambda: lists([["a"], ["b"]], [["c"], ["d", "d"]]), ("twice", "run", 1, "d", 2)),
    "matrix": (lambda: align_dense(np.array([[1.0, 2.0], [NAN, 0.0]]), np.ones((2, 2))), ("number", "run", 1, 0, 1)),
}


@pytest.mark.parametrize("case", FIELDS)
def test_fields(case: str) -> None:
    call, fields = FIELDS[case]
    with pytest.raises(DataError) as caught:
        call()
    again = pickle.loads(pickle.dumps(caught.value))
    for error in (caught.value, again):
        assert (error.kind, error.side, error.query, error.item, error.row) == fields
    assert type(again) is type(caught.value)
    assert str(again) == str(caught.value)


def test_lists_are_called_by_their_names() -> None:
    one = np.array([1, 2])
    with pytest.raises(
        DataError, match=r"^query 'u0': item 1 appears twice in the run; duplicates='first' counts one of them$"
    ) as caught:
        align_lists(np.array([0, 2]), one, None, np.array([0, 2]), np.array([1, 1]), None, names=lambda row: f"u{row}")
    assert caught.value.query == "u0"


def test_unknown_choices() -> None:
    with pytest.raises(
        ValueError, match="unknown order 'up'; choose one of: item_desc, item_asc, input, reverse_input"
    ):
        align_dicts({}, {}, order="up")
    with pytest.raises(ValueError, match="unknown duplicates 'no'; choose one of: error, first, best, count, once"):
        align_dicts({}, {}, duplicates="no")
    with pytest.raises(ValueError, match="unknown truth_duplicates 'no'"):
        align_dicts({}, {}, truth_duplicates="no")
    with pytest.raises(ValueError, match="threads must be 0"):
        align_dicts({}, {}, threads=-1)
    with pytest.raises(TypeError, match=r"threads must be a whole number, not 1\.5"):
        align_dicts({}, {}, threads=1.5)


# Ctrl-C -----------------------------------------------------------------------------------------------------------

# Each takes a tenth of a second or more.
Q, ITEMS = np.arange(200_000), np.arange(5_000_000)
LONG_CALLS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "columns": lambda: (_core.align_columns, Q, Q, None, np.repeat(Q, 100), np.tile(Q[:100], len(Q)), None),
    "shuffled": lambda: (_core.align_columns, Q, Q, None, np.tile(Q, 100), np.repeat(Q[:100], len(Q)), None),
    "one query": lambda: (_core.align_columns, Q[:1], Q[:1], None, 0 * ITEMS, ITEMS, ITEMS.astype(float)),
    "dicts": lambda: (
        _core.align_dicts,
        dict.fromkeys(range(10**6), ("a",)),
        dict.fromkeys(range(10**6), ("a", "b", "c", "d")),
    ),
}


@pytest.fixture
def signalled() -> Iterator[Callable[..., list[Any]]]:
    """Calls the core, and has a handler called after 5 milliseconds of CPU. The list that it gets is empty while the
    call goes on: what fills it is C, so that no handler can run between the call and the filling."""
    before = signal.getsignal(signal.SIGPROF)

    def run(call: str, handler: Callable[[list[Any]], None]) -> list[Any]:
        function, *arguments = LONG_CALLS[call]()
        done: list[Any] = []
        signal.signal(signal.SIGPROF, lambda *_: handler(done))
        signal.setitimer(signal.ITIMER_PROF, 0.005)
        done.extend(itertools.starmap(function, [(*arguments, AlignOptions())]))
        return done

    yield run
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)


@pytest.mark.skipif(sys.platform == "win32", reason="no timer of CPU there")
@pytest.mark.parametrize("call", LONG_CALLS)
def test_ctrl_c_stops_a_long_call(call: str, signalled: Callable[..., list[Any]]) -> None:
    heard = []

    def interrupt(done: list[Any]) -> None:
        heard.append(len(done))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        signalled(call, interrupt)
    assert heard == [0]


@pytest.mark.skipif(sys.platform == "win32", reason="no timer of CPU there")
@pytest.mark.parametrize("call", ["one query", "dicts"])
def test_a_handler_runs_during_a_call(call: str, signalled: Callable[..., list[Any]]) -> None:
    """A signal whose handler does not raise is heard, and the call goes on to its answer."""
    heard = []
    (result,) = signalled(call, lambda done: heard.append(len(done)))
    assert heard == [0]
    assert result.retrieved.sum() == {"one query": 5_000_000, "dicts": 4_000_000}[call]


def test_two_grades_of_one_item() -> None:
    """Counted twice, its grade would be that of whichever row comes first."""
    run = rs.columns(query=[1], item=[7], score=[1.0])
    same = rs.columns(query=[1, 1], item=[7, 7], grade=[2, 2])
    other = rs.columns(query=[1, 1], item=[7, 7], grade=[2, 1])
    assert rs.evaluate(same, run, "recall", truth_duplicates="count")["recall"] == 1 / 2
    with pytest.raises(rs.errors.DataError, match="query 1: item 7 is judged twice, with two grades"):
        rs.evaluate(other, run, "recall", truth_duplicates="count")
    with pytest.raises(rs.errors.DataError, match="query 1: item 7 is judged twice, with two grades"):
        rs.Stream(other, ["recall"], truth_duplicates="count")
    assert rs.evaluate(other, run, "recall", truth_duplicates="first")["recall"] == 1


@pytest.mark.parametrize("grades", [[0, 2, 2], [2, 0, 2]])
def test_rules_for_repeated_judgements_that_need_no_order(grades):
    """An item judged twice with one grade counts once; of two grades, the highest counts or they are an error."""
    run = rs.columns(query=[1, 1], item=[7, 8], score=[2.0, 1.0])
    same = rs.columns(query=[1, 1, 1], item=[7, 7, 9], grade=[2, 2, 2])
    other = rs.columns(query=[1, 1, 1], item=[7, 7, 9], grade=grades)
    for rule in ("distinct", "max"):
        assert rs.evaluate(same, run, "recall", truth_duplicates=rule)["recall"] == 1 / 2
    found = rs.evaluate(other, run, ["recall", "dcg", "num_rel"], truth_duplicates="max")
    assert dict(found) == {"recall": 1 / 2, "dcg": 2, "num_rel": 2}
    stream = rs.Stream(other, ["dcg"], truth_duplicates="max")
    stream.first_pass(run)
    stream.second_pass(run)
    assert stream.compute()["dcg"] == 2
    for call in (rs.evaluate, lambda truth, run, *args, **how: rs.Stream(truth, *args, **how)):
        with pytest.raises(rs.errors.DataError, match="query 1: item 7 is judged twice, with two grades"):
            call(other, run, "recall", truth_duplicates="distinct")
