"""Rows by item and subtopic, and greedy lists of them: against plain Python, and arrays that do not go together."""

import random
from collections import OrderedDict

import numpy as np
import pyarrow as pa
import pytest

from rankstone import _core
from rankstone.errors import DataError

WORDS = [
    "",
    "a",
    "a\0",
    "b",
    "Z",
    "ä",
    "日本",
    "item0001",
    "item00012",
    "item00013",
    "item000123456789",
    "item000123456780",
]
WHOLE = [-(2**63), -7, -1, 0, 1, 2, 3, 100, 2**40, 2**63 - 1]


def slow_items(queries, items, codes):
    """The same with dicts."""
    found = {}
    for row, (query, item, code) in enumerate(zip(queries, items, codes, strict=True)):
        found.setdefault(query, {}).setdefault(item, {}).setdefault(code, []).append(row)
    starts, first, order, ends, rows, subtopics, again = [0], [], [], [], [], [], []
    for by_item in found.values():
        ids = sorted(by_item, key=lambda one: one.encode() if isinstance(one, str) else one, reverse=True)
        known = sorted({code for each in by_item.values() for code in each})
        for item, by_code in by_item.items():
            first.append(min(row for each in by_code.values() for row in each))
            order.append(ids.index(item))
            for code in sorted(by_code):
                rows.append(by_code[code][0])
                again += by_code[code][1:2]
                subtopics.append(known.index(code))
            ends.append(len(rows))
        starts.append(len(first))
    return starts, first, order, ends, rows, subtopics, again[0] if again else -1


@pytest.mark.parametrize("seed", range(40))
def test_items_are_those_of_a_dict(seed):
    rng = random.Random(seed)
    size = rng.choice((0, 1, 5, 60, 3000))
    pool = [f"item{n}" for n in range(50)] + WORDS if seed % 2 else [*WHOLE, *range(200, 250)]
    known = rng.choice(([0, 1, 2, 3, 70, 2**40], range(40)))
    cells = [(f"q{rng.randint(0, 9)}", rng.choice(pool), rng.choice(known)) for _ in range(size)]
    if rng.random() < 0.5:
        cells.sort(key=lambda one: one[0])
    queries, items, codes = zip(*cells, strict=True) if cells else ((), (), ())
    ids = pa.array(items, pa.string()) if seed % 2 else np.array(items, dtype=np.int64)
    given = pa.array(queries, pa.string()), ids, np.array(codes, dtype=np.int64)
    expected = slow_items(queries, items, codes)
    for threads in (1, 3):
        *arrays, again = _core.item_columns(*given, threads)
        assert (*(each.tolist() for each in arrays), again) == expected
    *arrays, again = _core.item_columns(*given[:2], None)
    assert (*(each.tolist() for each in arrays), again) == slow_items(queries, items, [0] * size)


def test_items_of_many_queries_on_several_threads():
    rng = np.random.default_rng(0)
    queries, items, codes = np.repeat(np.arange(20_000), 9), rng.integers(0, 6, 180_000), rng.integers(0, 4, 180_000)
    expected = slow_items(queries.tolist(), items.tolist(), codes.tolist())
    *arrays, again = _core.item_columns(queries, items, codes, 4)
    assert (*(each.tolist() for each in arrays), again) == expected


def test_columns_that_do_not_go_together():
    ids, codes = np.array([1, 2]), np.array([0, 0])
    for given, error, problem in (
        ((ids, ids[:1], codes), ValueError, "truth queries and truth items differ in length: 2 and 1"),
        ((ids, ids, codes[:1]), ValueError, "items and codes differ in length"),
        ((ids, ids, codes.astype(float)), TypeError, "codes: not a NumPy array of the right type"),
        ((ids, ids, [0, 0]), TypeError, "codes: not a NumPy array of the right type"),
        ((ids, np.array([0.5, 1.5]), codes), TypeError, "truth items"),
        ((pa.array(["a", None]), ids, codes), DataError, "truth queries: row 1 is null"),
        ((ids, ids, codes, -1), ValueError, "threads must be 0"),
    ):
        with pytest.raises(error, match=problem):
            _core.item_columns(*given)


@pytest.mark.parametrize("seed", range(30))
def test_dicts_are_taken_apart(seed):
    rng = random.Random(seed)
    pool = rng.choice((WORDS, WHOLE, [(1, "a"), (1, "b"), (0, "z")], [*WORDS, *WHOLE]))
    names = ["s1", "s2", "s0", 7, (1, 2), None]

    def judged():
        some = rng.sample(names, rng.randint(0, len(names)))
        shape = rng.choice((list, tuple, frozenset, dict))
        return {name: rng.choice((1, 0, 0.5, -2)) for name in some} if shape is dict else shape(some)

    truth = {
        f"q{n}": {item: judged() for item in rng.sample(pool, rng.randint(0, len(pool)))}
        for n in range(rng.choice((0, 1, 40)))
    }
    flat, order, ends, row, subtopic, grade = _core.spread_dicts(truth)
    codes, given, rows = {}, [], [[], [], []]
    for query, content in truth.items():
        for item, one in content.items():
            for name in one:
                given.append(float(one[name]) if isinstance(one, dict) else 1.0)
                for column, value in zip(rows, (query, item, codes.setdefault(name, len(codes))), strict=True):
                    column.append(value)
    highest = {
        query: {
            item: max(one.values(), default=0) if isinstance(one, dict) else bool(one) for item, one in each.items()
        }
        for query, each in truth.items()
    }
    assert flat == highest
    assert list(flat) == list(truth)
    assert all(list(flat[query]) == list(truth[query]) for query in truth)
    assert grade.tolist() == given
    sizes = [len(one) for content in truth.values() for one in content.values()]
    assert np.diff(ends, prepend=0).tolist() == sizes
    assert np.sort(row).tolist() == list(range(len(given)))
    at = 0
    for query, content in truth.items():
        known = sorted({codes[name] for one in content.values() for name in one})
        mixed = any(len({type(item) for item in each}) > 1 for each in truth.values())
        ids = list(content) if mixed else sorted(content, reverse=True)
        for item, one in content.items():
            assert order[at] == ids.index(item)
            mine = slice(ends[at] - len(one), ends[at])
            assert subtopic[mine].tolist() == sorted(known.index(codes[name]) for name in one)
            assert [known.index(rows[2][each]) for each in row[mine]] == subtopic[mine].tolist()
            assert {(rows[0][each], rows[1][each]) for each in row[mine]} <= {(query, item)}
            at += 1


@pytest.mark.parametrize(
    "truth",
    [
        None,
        [],
        {"q": []},
        {"q": {"a": 1}},
        {"q": {"a": "s1"}},
        {"q": {"a": {"s1": True}}},
        {"q": {"a": {"s1": "1"}}},
        {"q": {"a": {"s1": float("nan")}}},
        {"q": {"a": {"s1": float("inf")}}},
        {"q": {"a": {"s1": 10**400}}},
        {"q": {"a": {"s1": 2**60 + 1}}},
        {"q": {"a": {"s1": np.float64(1)}}},
        {"q": {"a": ["s1", "s2", "s1"]}},
        {"q": {"a": {"s1": 1}}, "r": {"a": 2}},
        {"q": OrderedDict({"a": {"s1": 1}})},
    ],
)
def test_dicts_that_are_not_plain(truth):
    assert _core.spread_dicts(truth) is None


def test_dicts_that_change_while_they_are_read():
    class Subtopic:
        def __hash__(self):
            inside.clear()
            return 1

    inside = {"a": {"s1": 1}}
    truth = {"q": inside}
    inside["b"] = [Subtopic.__new__(Subtopic)]
    inside["c"] = {"s1": 1}
    with pytest.raises(DataError, match="the truth changed while it was read"):
        _core.spread_dicts(truth)
    with pytest.raises(TypeError, match="unhashable"):
        _core.spread_dicts({"q": {"a": [[]]}})

    class Item(str):
        def __lt__(self, other):
            raise KeyError("no order")

    with pytest.raises(KeyError, match="no order"):
        _core.spread_dicts({"q": {Item("a"): ["s"], Item("b"): ["s"]}})


def slow_list(items, order, alpha, weights):
    """Earned, and the items' ranks; items: the subtopics that each is relevant for."""
    worth, ranks, earned = {}, [0] * len(items), 0.0
    for place, weight in enumerate(weights, 1):
        left = [(sum(worth.get(one, 1.0) for one in items[at]), -order[at], at)
                for at in range(len(items)) if items[at] and not ranks[at]]  # fmt: skip
        if not left or not max(left)[0]:
            break
        gain, _, best = max(left)
        ranks[best] = place
        earned += gain * weight
        for one in items[best]:
            worth[one] = worth.get(one, 1.0) * (1.0 - alpha)
    return earned, ranks


@pytest.mark.parametrize("seed", range(40))
def test_greedy_lists(seed):
    rng = random.Random(seed)
    alpha, places = rng.choice((0.0, 0.25, 0.5, 0.9, 1.0)), rng.choice((0, 1, 3, 30))
    weights = [1.0 / (place + 1) for place in range(places)]
    queries, items, subtopic, relevant, order, earned, ranks = [0], [0], [], [], [], [], []
    for _ in range(rng.choice((0, 1, 300))):
        judged = [sorted(rng.sample(range(6), rng.randint(0, 4))) for _ in range(rng.randint(0, 12))]
        counts = [[rng.random() < 0.7 for _ in each] for each in judged]
        places_of = rng.sample(range(len(judged)), len(judged))
        good = [[one for one, yes in zip(*pair, strict=True) if yes] for pair in zip(judged, counts, strict=True)]
        one, rank = slow_list(good, places_of, alpha, weights)
        earned.append(one)
        ranks += rank
        order += places_of
        for each, yes in zip(judged, counts, strict=True):
            subtopic += each
            relevant += yes
            items.append(len(subtopic))
        queries.append(len(order))
    if subtopic:
        subtopic += range(6)  # numbers may be as large as there are rows, which a few cases need
        relevant += [False] * 6
        items.append(len(subtopic))
        order.append(0)
        queries.append(len(order))
        earned.append(0.0)
        ranks.append(0)
    ints = [np.array(each, dtype=np.int64) for each in (queries, items, subtopic)]
    rest = np.array(relevant, dtype=bool), np.array(order, dtype=np.int64), alpha, np.array(weights)
    for threads in (1, 3):
        found, placed = _core.fill_greedily(*ints, *rest, threads)
        assert found.tolist() == pytest.approx(earned, rel=1e-15, abs=0)
        assert placed.tolist() == ranks


@pytest.mark.parametrize(
    ("changed", "error", "problem"),
    [
        ({"queries": [0, 1]}, ValueError, "queries: not offsets"),
        ({"queries": [1, 2]}, ValueError, "queries: not offsets"),
        ({"queries": [0, 3, 2]}, ValueError, "queries: not offsets"),
        ({"queries": []}, ValueError, "queries: not offsets"),
        ({"items": [0, 1, 2]}, ValueError, "items: not offsets"),
        ({"items": [0, 3]}, ValueError, "items and order differ in length"),
        ({"subtopic": [0, 3, 1]}, ValueError, "subtopic: out of range"),
        ({"subtopic": [0, -1, 1]}, ValueError, "subtopic: out of range"),
        ({"relevant": [True]}, ValueError, "subtopic and relevant differ in length"),
        ({"relevant": [1, 1, 1]}, TypeError, "relevant: not a NumPy array of the right type"),
        ({"order": [0, 0]}, ValueError, "order does not give each item a place"),
        ({"order": [0, 2]}, ValueError, "order does not give each item a place"),
        ({"order": [-1, 0]}, ValueError, "order does not give each item a place"),
        ({"weights": [1]}, TypeError, "weights: not a NumPy array of the right type"),
        ({"weights": [[1.0]]}, TypeError, "weights: not a NumPy array of the right type and one dimension"),
    ],
)
def test_arrays_that_do_not_go_together(changed, error, problem):
    given = {"queries": [0, 2], "items": [0, 1, 3], "subtopic": [0, 0, 1], "relevant": [True] * 3, "order": [1, 0]}
    arrays = {name: np.array(values) for name, values in {**given, "weights": [1.0, 0.5]}.items()}
    earned, rank = _core.fill_greedily(**arrays, alpha=0.5)
    assert earned.tolist() == [2 * 1.0 + (1 - 0.5) * 0.5]
    assert rank.tolist() == [2, 1]
    arrays |= {name: np.array(values, dtype=None if values else np.int64) for name, values in changed.items()}
    with pytest.raises(error, match=problem):
        _core.fill_greedily(**arrays, alpha=0.5)
