"""Every door gives the same numbers for the same data, query by query, and says what is wrong with bad data."""

import random
import types
from collections import OrderedDict

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rankstone as rs

METRICS = [
    "ndcg@3", "ndcg", "ap", "rr", "precision@5", "recall@2", "bpref", "auc", "judged@3", "rbp", "f1@4", "num_ret",
    "infap",
]  # fmt: skip
TIES = ("item_desc", "item_asc", "input", "reverse_input", "optimistic", "pessimistic")


def some_data(seed, text):
    """Rows (query, item, grade) and (query, item, score); scores tie, queries are missing on either side."""
    rng = random.Random(seed)

    def as_id(number, prefix):
        return f"{prefix}{number}" if text else number

    truth, run = [], []
    for number in rng.sample(range(100), 8):
        query, kind = as_id(number, "q"), rng.choice(("both", "both", "both", "truth", "run"))
        items = [as_id(item, "") for item in rng.sample(range(120), 12)]
        if kind != "run":
            truth += [(query, item, rng.choice((-1, 0, 1, 2, 3))) for item in rng.sample(items, rng.randint(1, 8))]
        if kind != "truth":
            run += [(query, item, rng.choice((0.0, 0.5, -1.0, 2.0))) for item in rng.sample(items, rng.randint(1, 12))]
    return interleaved(truth, rng), interleaved(run, rng)


def interleaved(rows, rng):
    """Queries mixed, each query's rows in the order they had."""
    waiting = {}
    for row in rows:
        waiting.setdefault(row[0], []).append(row)
    order = [row[0] for row in rows]
    rng.shuffle(order)
    return [waiting[query].pop(0) for query in order]


def as_dicts(rows):
    out = {}
    for query, item, value in rows:
        out.setdefault(query, {})[item] = value
    return out


def by_query(result):
    return {
        query: [float(result.per_query[metric][at]) for metric in result] for at, query in enumerate(result.queries)
    }


def assert_same(truth, run, other_truth, other_run, **choices):
    expected, found = (
        rs.evaluate(truth, run, METRICS, **choices),
        rs.evaluate(other_truth, other_run, METRICS, **choices),
    )
    one, other = by_query(expected), by_query(found)
    assert list(one) == list(other)
    for query, values in one.items():
        np.testing.assert_allclose(other[query], values, rtol=1e-12, err_msg=repr(query))
    np.testing.assert_allclose(list(found.values()), list(expected.values()), rtol=1e-12)
    assert found.account == expected.account


def columns_of(rows, value, make):
    query, item, values = zip(*rows, strict=True)
    return rs.columns(query=make(query), item=make(item), **{value: np.array(values, dtype=float)})


NUMBER_COLUMNS = {
    "lists": list,
    "int64": np.array,
    "int32": lambda ids: np.array(ids, dtype=np.int32),
    "uint8": lambda ids: np.array(ids, dtype=np.uint8),
    "every other row of an array": lambda ids: np.repeat(np.array(ids), 2)[::2],
    "arrow": pa.array,
    "arrow, sliced": lambda ids: pa.array([0, 0, *ids])[2:],
    "arrow, in pieces": lambda ids: pa.chunked_array([ids[:3], [], ids[3:]], type=pa.int64()),
    "pandas": pd.Series,
    "polars": lambda ids: pl.Series(list(ids)),
}
TEXT_COLUMNS = {
    "lists": list,
    "utf8": pa.array,
    "large_utf8": lambda ids: pa.array(ids, pa.large_string()),
    "view": lambda ids: pa.array(ids, pa.string_view()),
    "dictionary": lambda ids: pa.array(ids).dictionary_encode(),
    "utf8, sliced": lambda ids: pa.array(["zzz", *ids])[1:],
    "in pieces": lambda ids: pa.chunked_array([ids[:3], [], ids[3:]], type=pa.string()),
    "numpy text": np.array,
    "numpy objects": lambda ids: np.array(ids, dtype=object),
    "pandas": pd.Series,
    "pandas category": lambda ids: pd.Series(ids, dtype="category"),
    "polars": lambda ids: pl.Series(list(ids)),
    "polars categorical": lambda ids: pl.Series(list(ids), dtype=pl.Categorical),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", NUMBER_COLUMNS)
def test_columns_of_numbers(name, seed):
    truth, run = some_data(seed, text=False)
    make = NUMBER_COLUMNS[name]
    for ties in TIES:
        assert_same(
            as_dicts(truth), as_dicts(run), columns_of(truth, "grade", make), columns_of(run, "score", make), ties=ties
        )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", TEXT_COLUMNS)
def test_columns_of_text(name, seed):
    truth, run = some_data(seed, text=True)
    make = TEXT_COLUMNS[name]
    for ties in TIES:
        assert_same(
            as_dicts(truth), as_dicts(run), columns_of(truth, "grade", make), columns_of(run, "score", make), ties=ties
        )


def test_columns_of_different_kinds():
    """A truth in one kind of text column, a run in another."""
    truth, run = some_data(5, text=True)
    for one in TEXT_COLUMNS.values():
        for other in TEXT_COLUMNS.values():
            assert_same(
                as_dicts(truth), as_dicts(run), columns_of(truth, "grade", one), columns_of(run, "score", other)
            )


TABLES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}
NAMES = [
    ("query", "item", "grade", "score"),
    ("user_id", "item_id", "rating", "prediction"),
    ("qid", "docno", "label", "score"),
    ("query_id", "doc_id", "relevance", "score"),
    ("Topic", "DocNo", "Rel", "Sim"),
]


@pytest.mark.parametrize("names", NAMES, ids=" ".join)
@pytest.mark.parametrize("library", TABLES)
@pytest.mark.parametrize("text", [True, False])
def test_tables(library, names, text):
    truth, run = some_data(1, text)
    query, item, grade, score = names

    def table(rows, value):
        columns = dict(zip((query, item, value), map(list, zip(*rows, strict=True)), strict=True))
        return TABLES[library]({"other": [None] * len(rows), **columns})

    assert_same(as_dicts(truth), as_dicts(run), table(truth, grade), table(run, score))
    # One of them may stay a dict.
    assert_same(as_dicts(truth), as_dicts(run), as_dicts(truth), table(run, score))
    assert_same(as_dicts(truth), as_dicts(run), table(truth, grade), as_dicts(run))


def test_duckdb_relation():
    truth, run = some_data(2, text=True)
    judged = pa.table(dict(zip(("query", "item", "grade"), map(list, zip(*truth, strict=True)), strict=True)))
    returned = pa.table(dict(zip(("query", "item", "score"), map(list, zip(*run, strict=True)), strict=True)))
    with duckdb.connect() as connection:
        relations = [connection.from_arrow(table) for table in (judged, returned)]
        assert_same(as_dicts(truth), as_dicts(run), *relations)


def test_rank_column_is_an_order():
    truth = {"q": {"a": 1}}
    run = pd.DataFrame({"query": ["q"] * 3, "item": ["x", "a", "y"], "rank": [3, 2, 1]})
    assert rs.evaluate(truth, run, "rr")["rr"] == 1 / 2
    assert rs.evaluate(truth, run.drop(columns="rank"), "rr")["rr"] == 1 / 2
    run["rank"] = [2, 1, 3]
    assert rs.evaluate(truth, run, "rr")["rr"] == 1 / 1


def nested(rows, queries):
    """Lists of items and of values, one a query, in the order of `queries`."""
    held = as_dicts(rows)
    return [list(held.get(query, {})) for query in queries], [list(held.get(query, {}).values()) for query in queries]


LISTS = {
    "lists": lambda rows, _: rows,
    "arrow list": lambda rows, kind: pa.array(rows, pa.list_(kind)),
    "arrow large list": lambda rows, kind: pa.array(rows, pa.large_list(kind)),
    "arrow list, sliced": lambda rows, kind: pa.array([[rows[0][0]] if rows[0] else [], *rows], pa.list_(kind))[1:],
    "polars": lambda rows, _: pl.Series(rows),
}


@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize("name", LISTS)
def test_list_columns(name, text):
    """Row i of the truth goes with row i of the run; a query that only one side has is an empty list on the other."""
    truth, run = some_data(3, text)
    queries = list(dict.fromkeys([row[0] for row in (*truth, *run)]))
    items, grades = nested(truth, queries)
    returned, scores = nested(run, queries)
    kind = pa.string() if text else pa.int64()
    make = LISTS[name]
    other_truth = rs.lists(make(items, kind), grades=make(grades, pa.int64()))
    other_run = rs.lists(make(returned, kind), scores=make(scores, pa.float64()))
    for ties in TIES:
        expected = rs.evaluate(
            {query: dict(zip(*pair, strict=True)) for query, pair in enumerate(zip(items, grades, strict=True))},
            {query: dict(zip(*pair, strict=True)) for query, pair in enumerate(zip(returned, scores, strict=True))},
            METRICS,
            ties=ties,
        )
        found = rs.evaluate(other_truth, other_run, METRICS, ties=ties)
        assert list(found.queries) == list(expected.queries)
        for metric in METRICS:
            np.testing.assert_allclose(found.per_query[metric], expected.per_query[metric], rtol=1e-12)


def test_lists_with_offsets():
    truth = rs.lists(np.array([7, 8, 9]), offsets=np.array([0, 2, 3]))
    run = rs.lists(np.array([7, 1, 2, 3, 9]), offsets=np.array([0, 2, 5]))
    result = rs.evaluate(truth, run, ["rr", "recall"])
    assert result.per_query["rr"] == pytest.approx([1, 1 / 3])
    assert result.per_query["recall"] == pytest.approx([1 / 2, 1])
    assert list(result.queries) == [0, 1]


def test_orders_are_the_same_through_every_door():
    """Runs and truths without scores and grades."""
    truth, run = {1: [7, 8], 2: [9]}, {1: [8, 5, 7], 2: [4, 9]}
    expected = rs.evaluate(truth, run, METRICS)
    flat = [
        (rs.columns(query=[1, 1, 2], item=[7, 8, 9]), rs.columns(query=[1, 2, 1, 2, 1], item=[8, 4, 5, 9, 7])),
        (
            pd.DataFrame({"user": [1, 1, 2], "item": [7, 8, 9]}),
            pl.DataFrame({"user": [1, 1, 1, 2, 2], "item": [8, 5, 7, 4, 9]}),
        ),
        (rs.lists([[7, 8], [9]]), rs.lists([[8, 5, 7], [4, 9]])),
        ({1: {7, 8}, 2: {9}}, {1: (8, 5, 7), 2: [4, 9]}),
        ({1: np.array([7, 8]), 2: np.array([9])}, {1: np.array([8, 5, 7]), 2: np.array([4, 9])}),
        ({1: {7: 1, 8: 1}, 2: {9: 1}}, OrderedDict({1: {8: 3, 5: 2, 7: 1}, 2: {4: 1.0, 9: 0.5}})),
        (
            types.MappingProxyType(truth),
            types.MappingProxyType({1: types.MappingProxyType({8: 3, 5: 2, 7: 1}), 2: [4, 9]}),
        ),
    ]
    for other_truth, other_run in flat:
        found = rs.evaluate(other_truth, other_run, METRICS)
        for metric in METRICS:
            np.testing.assert_allclose(found.per_query[metric], expected.per_query[metric], rtol=1e-12, err_msg=metric)


def dense_data(seed, rows=12, width=9):
    random_ = np.random.default_rng(seed)
    labels, scores = random_.integers(-1, 4, (rows, width)), random_.integers(0, 5, (rows, width)) / 2
    mask = random_.random((rows, width)) < 0.7
    mask[0] = False
    return labels, scores, mask


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.int8])
def test_matrices(kind, masked):
    labels, scores, mask = dense_data(0)
    scores = (scores * 2).astype(kind)
    real = mask if masked else np.ones_like(mask)
    truth = {
        row: {int(item): float(labels[row, item]) for item in np.flatnonzero(real[row])} for row in range(len(real))
    }
    run = {row: {int(item): float(scores[row, item]) for item in np.flatnonzero(real[row])} for row in range(len(real))}
    for ties in TIES:
        expected = rs.evaluate(truth, run, METRICS, ties=ties)
        found = rs.evaluate(labels, scores, METRICS, ties=ties, mask=mask if masked else None)
        assert list(found.queries) == list(expected.queries)
        for metric in METRICS:
            np.testing.assert_allclose(found.per_query[metric], expected.per_query[metric], rtol=1e-12, err_msg=metric)


def test_places_in_a_masked_matrix_are_those_of_real_items():
    """Metrics that read the order of the truth do not see the cells that are not there."""
    labels, scores, mask = np.array([[0, 1, 1]]), np.array([[9, 0.2, 0.1]]), np.array([[False, True, True]])
    assert rs.evaluate(labels, scores, "precision@1", mask=mask, truth_depth="k")["precision@1"] == 1
    labels, scores, mask = dense_data(2)
    real = [np.flatnonzero(row).tolist() for row in mask]
    truth = {at: {item: labels[at, item] for item in items} for at, items in enumerate(real)}
    run = {at: {item: scores[at, item] for item in items} for at, items in enumerate(real)}
    for metric, choices in (("rbo", {}), ("precision@2", {"truth_depth": "k"}), ("ap@3", {"truth_depth": "k"})):
        expected = rs.evaluate(truth, run, metric, **choices)
        found = rs.evaluate(labels, scores, metric, mask=mask, **choices)
        np.testing.assert_array_equal(found.per_query[metric], expected.per_query[metric], err_msg=metric)


@pytest.mark.parametrize("order", ["C", "F"])
def test_layout_of_a_matrix_does_not_matter(order):
    labels, scores, mask = dense_data(1)
    expected = rs.evaluate(labels, scores, METRICS, mask=mask)
    found = rs.evaluate(
        np.asarray(labels, order=order), np.asarray(scores, order=order), METRICS, mask=np.asarray(mask, order=order)
    )
    view = rs.evaluate(np.repeat(labels, 2, axis=1)[:, ::2], np.repeat(scores, 2, axis=0)[::2], METRICS, mask=mask)
    assert dict(found) == dict(expected) == dict(view)


def test_one_table_with_labels_and_scores():
    """Predictions beside labels: the rows are the items."""
    frame = pd.DataFrame({"qid": [1, 1, 1, 2, 2], "label": [0, 1, 2, 1, 0], "score": [3.0, 2.0, 1.0, 0.5, 0.1]})
    result = rs.evaluate(frame, metrics=["rr", "ndcg"])
    expected = rs.evaluate(
        {1: {0: 0, 1: 1, 2: 2}, 2: {3: 1, 4: 0}}, {1: {0: 3.0, 1: 2.0, 2: 1.0}, 2: {3: 0.5, 4: 0.1}}, ["rr", "ndcg"]
    )
    for metric in result:
        np.testing.assert_allclose(result.per_query[metric], expected.per_query[metric])
    assert list(result.queries) == [1, 2]
    grouped = rs.evaluate(frame.drop(columns="qid"), metrics=["rr", "ndcg"], groups=[3, 2])
    for metric in result:
        np.testing.assert_allclose(grouped.per_query[metric], expected.per_query[metric])


def test_numpy_ids_and_numbers_in_dicts():
    truth = {np.int64(1): {np.int32(5): np.int8(1), np.str_("x"): np.float32(0)}}
    run = {np.int64(1): {np.int32(5): np.float32(0.5), np.str_("x"): np.float64(1.5)}}
    assert rs.evaluate(truth, run, "rr")["rr"] == 1 / 2


def test_numbers_equal_as_python_has_them_equal():
    """1, 1.0 and True are one id to a dict, so they are to us."""
    assert rs.evaluate({1: {1: 1}}, {1.0: {True: 5}}, "rr")["rr"] == 1


# -- duplicates ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "precision", "ap"),
    [
        ("first", 2 / 3, (1 / 1 + 2 / 3) / 2),
        ("best", 2 / 3, (1 / 1 + 2 / 3) / 2),
        ("count", 3 / 4, (1 / 1 + 2 / 2 + 3 / 4) / 2),
        ("once", 2 / 4, (1 / 1 + 2 / 4) / 2),
    ],
)
def test_an_item_twice_in_a_list(rule, precision, ap):
    """a, a, x, b. If a repeated item counts each time, AP can exceed 1: here 3 hits are divided by 2 relevant items."""
    result = rs.evaluate({"q": ["a", "b"]}, {"q": ["a", "a", "x", "b"]}, ["precision", "ap"], duplicates=rule)
    assert dict(result) == pytest.approx({"precision": precision, "ap": ap})
    assert result.account.dropped_rows == (1 if rule in ("first", "best") else 0)


@pytest.mark.parametrize(("rule", "rank"), [("first", 3), ("best", 1)])
def test_which_of_two_rows_stays(rule, rank):
    run = rs.columns(query=[1, 1, 1, 1], item=[5, 6, 7, 5], score=[0.1, 0.5, 0.4, 0.9])
    assert rs.evaluate(rs.columns(query=[1], item=[5]), run, "rr", duplicates=rule)["rr"] == pytest.approx(1 / rank)


@pytest.mark.parametrize(("rule", "recall"), [("first", 1 / 2), ("count", 1 / 3), ("distinct", 1 / 2), ("max", 1 / 2)])
def test_an_item_twice_in_the_truth(rule, recall):
    assert rs.evaluate({"q": ["a", "b", "b"]}, {"q": ["a"]}, "recall", truth_duplicates=rule)[
        "recall"
    ] == pytest.approx(recall)


# -- bad data ------------------------------------------------------------------------------------------------

OK_TRUTH, OK_RUN = {"q": {"a": 1}}, {"q": {"a": 1.0}}
BAD = {
    "a string as the truth of a query": ({"q": "abc"}, OK_RUN, TypeError, "query 'q': the truth is 'abc'; give"),
    "a string as a list": (OK_TRUTH, {"q": "abc"}, TypeError, "query 'q': the run is 'abc'; give"),
    "a number as a list": (OK_TRUTH, {"q": 3}, TypeError, "query 'q': the run is 3"),
    "nothing as a list": (OK_TRUTH, {"q": None}, TypeError, "query 'q': the run is None"),
    "a set as a run": (OK_TRUTH, {"q": {"a"}}, TypeError, "query 'q': the run must be a dict .* not set"),
    "NaN score": (OK_TRUTH, {"q": {"b": float("nan")}}, ValueError, "query 'q', item 'b': score is nan"),
    "NaN score of a judged item": (
        OK_TRUTH,
        {"q": {"a": float("nan")}},
        ValueError,
        "query 'q', item 'a': score is nan",
    ),
    "NaN grade": ({"q": {"a": float("nan")}}, OK_RUN, ValueError, "query 'q', item 'a': grade is nan"),
    "infinite grade": ({"q": {"a": float("inf")}}, OK_RUN, ValueError, "query 'q', item 'a': grade is inf"),
    "text as a score": (OK_TRUTH, {"q": {"a": "1"}}, TypeError, "query 'q', item 'a': score '1' is not a number"),
    "nothing as a grade": ({"q": {"a": None}}, OK_RUN, TypeError, "query 'q', item 'a': grade None is not a number"),
    "an item twice in the run": (
        OK_TRUTH,
        {"q": ["b", "a", "b"]},
        ValueError,
        "query 'q': item 'b' appears twice in the run",
    ),
    "an item twice in the truth": (
        {"q": ["b", "b"]},
        OK_RUN,
        ValueError,
        "query 'q': item 'b' appears twice in the truth",
    ),
    "an item that is a list": (
        OK_TRUTH,
        {"q": [["a"]]},
        TypeError,
        r"query 'q': \['a'\] is not a pair of an item and a number",
    ),
    "ids of two kinds": (
        OK_TRUTH,
        {"q": {"a": 1, 2: 1}},
        TypeError,
        "query 'q': items .* have the same score and cannot be",
    ),
    "numbers and text": (
        {"q": {1: 1}},
        {"q": {"1": 1.0}},
        TypeError,
        "truth items are integers but run items are strings",
    ),
    "query numbers and text": (
        {1: {"a": 1}},
        {"1": {"a": 1.0}},
        TypeError,
        "truth queries are integers but run queries",
    ),
    "a list of rows": (OK_TRUTH, [("q", "a", 1)], TypeError, "cannot evaluate dict and list together"),
    "no run": (OK_TRUTH, None, TypeError, "cannot evaluate dict and NoneType together"),
    "one-dimensional arrays": (np.zeros(3), np.zeros(3), TypeError, "flat labels and scores need groups="),
    "shapes that differ": (
        np.zeros((2, 3)),
        np.zeros((2, 2)),
        ValueError,
        r"scores have shape \(2, 2\) but labels \(2, 3\)",
    ),
    "NaN in a matrix": (np.zeros((2, 3)), np.full((2, 3), np.nan), ValueError, "row 0, column 0: score is nan"),
    "NaN label in a matrix": (np.full((2, 3), np.nan), np.zeros((2, 3)), ValueError, "row 0, column 0: grade is nan"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_data(name):
    truth, run, kind, message = BAD[name]
    with pytest.raises(kind, match=message):
        rs.evaluate(truth, run)


def columns_like(**changes):
    return rs.columns(**{"query": [7, 7], "item": [1, 2], "score": [0.5, 0.25]} | changes)


BAD_COLUMNS = {
    "NaN": (lambda: columns_like(score=[0.5, float("nan")]), ValueError, "nan"),
    "null": (lambda: columns_like(score=[0.5, None]), (TypeError, ValueError), "null"),
    "null id": (lambda: columns_like(item=["a", None]), (TypeError, ValueError), "null"),
    "lengths": (lambda: columns_like(score=[0.5]), ValueError, "columns differ in length: query 2, item 2, score 1"),
    "twice": (lambda: columns_like(item=[5, 5]), ValueError, "query 7: item 5 appears twice in the run"),
    "text scores": (lambda: columns_like(score=["a", "b"]), TypeError, "score"),
    "two dimensions": (lambda: columns_like(item=np.zeros((2, 2))), ValueError, r"column 'item' has shape \(2, 2\)"),
    "kinds": (lambda: columns_like(item=["1", "2"]), (TypeError, ValueError), "item"),
    "float ids": (lambda: columns_like(item=np.array([1.5, 2.5])), (TypeError, ValueError), "item"),
}


@pytest.mark.parametrize("name", BAD_COLUMNS)
def test_bad_columns(name):
    make, kind, message = BAD_COLUMNS[name]
    with pytest.raises(kind, match=message):
        rs.evaluate(rs.columns(query=[7, 7], item=[1, 2], grade=[1, 0]), make(), "ap")


def test_bad_value_in_a_table_is_named():
    rows = {"query": ["q", "q"], "item": ["a", "b"], "score": [1.0, float("nan")]}
    for table in (pl.DataFrame(rows), pa.table(rows)):
        with pytest.raises(ValueError, match="query 'q', item 'b': score is nan"):
            rs.evaluate(OK_TRUTH, table, "ap")
    with pytest.raises(ValueError, match="scores: row 1 is null"):  # pandas hands over NaN as null
        rs.evaluate(OK_TRUTH, pd.DataFrame(rows), "ap")


def test_table_without_the_columns():
    frame = pd.DataFrame({"who": ["q"], "item": ["a"], "score": [1.0]})
    with pytest.raises(
        ValueError, match="the run has no query column among 'who', 'item', 'score'; usual names are query, query_id"
    ):
        rs.evaluate(OK_TRUTH, frame)
    assert rs.evaluate(OK_TRUTH, frame, "ap", columns={"run": {"query": "who"}})["ap"] == 1


def test_table_with_two_candidates():
    frame = pd.DataFrame({"user": ["q"], "user_id": ["q"], "item": ["a"], "score": [1.0]})
    with pytest.raises(ValueError, match="the run's query could be 'user' or 'user_id'"):
        rs.evaluate(OK_TRUTH, frame)


def test_mask_goes_with_matrices():
    with pytest.raises(TypeError, match="mask= and lengths= go with matrices"):
        rs.evaluate(rs.lists([[1]]), rs.lists([[1]]), mask=np.ones((1, 1), dtype=bool))
    with pytest.raises(TypeError, match="mask= and lengths= go with matrices"):
        rs.evaluate(OK_TRUTH, OK_RUN, mask=np.ones((1, 1), dtype=bool))
    with pytest.raises(TypeError, match="the mask holds int64; it must hold bool"):
        rs.evaluate(np.zeros((1, 2)), np.zeros((1, 2)), mask=np.ones((1, 2), dtype=np.int64))
    with pytest.raises(ValueError, match=r"scores have shape \(1, 2\) but the mask \(2, 1\)"):
        rs.evaluate(np.zeros((1, 2)), np.zeros((1, 2)), mask=np.ones((2, 1), dtype=bool))


def test_list_columns_of_polars_with_text_queries():
    """Their strings are views, which pyarrow can neither count nor look up."""
    truth = pl.DataFrame({"query": ["u1", "u2"], "items": [["i1"], ["i2"]], "grades": [[1.0], [1.0]]})
    run = pl.DataFrame({"query": ["u2", "u1"], "items": [["i9", "i2"], ["i1"]], "scores": [[2.0, 1.0], [1.0]]})
    assert rs.evaluate(truth, run, "rr").per_query["rr"].tolist() == [1, 1 / 2]
    with pytest.raises(rs.errors.DataError, match="query 'u1' has two lists in the run"):
        rs.evaluate(truth, pl.concat([run, run.slice(1)]), "rr")


def test_a_bad_list_is_called_by_its_query():
    truth, run = rs.lists([[1], [2]], query=["u1", "u2"]), rs.lists([[5, 5], [1]], query=["u2", "u1"])
    with pytest.raises(rs.errors.DataError, match=r"^query 'u2': item 5 appears twice in the run; ") as caught:
        rs.evaluate(truth, run, "rr")
    assert (caught.value.kind, caught.value.side, caught.value.query, caught.value.item) == ("twice", "run", "u2", 5)
    run = rs.lists([[1], [2], [5, 5]], query=["u1", "u2", "u3"])
    with pytest.raises(rs.errors.DataError, match=r"^query 'u3': item 5 appears twice in the run; "):
        rs.evaluate(truth, run, "rr", extra="zero")
    with pytest.raises(rs.errors.DataError, match=r"^query 'u1' has two lists in the truth$"):
        rs.evaluate(rs.lists([[1], [2]], query=["u1", "u1"]), run, "rr")


BAD_LISTS = {
    "null": (lambda: rs.lists([[1], None]), ValueError, "items: row 1 is null"),
    "flat": (lambda: rs.lists([1, 2]), TypeError, "items: int64 is not a list column"),
    "lengths": (lambda: rs.lists([[1, 2]], scores=[[1.0]]), ValueError, "items and scores differ in the lengths"),
    "both": (lambda: rs.lists([[1]], scores=[[1.0]], grades=[[1]]), ValueError, "grades .* or scores .* not both"),
    "offsets": (lambda: rs.lists([1], offsets=[0.5]), ValueError, "offsets must be whole numbers"),
}


@pytest.mark.parametrize("name", BAD_LISTS)
def test_bad_lists(name):
    make, kind, message = BAD_LISTS[name]
    with pytest.raises(kind, match=message):
        make()


def test_lists_of_different_numbers():
    with pytest.raises(ValueError, match="the truth has 2 lists but the run 1"):
        rs.evaluate(rs.lists([[1], [2]]), rs.lists([[1]]))


@pytest.mark.parametrize("offsets", [[0, 5], [1, 0], [-1, 1], [0, 1, 0]])
def test_offsets_beyond_the_items(offsets):
    with pytest.raises(ValueError, match="offsets"):
        rs.evaluate(
            rs.lists(np.array([1]), offsets=np.array(offsets)), rs.lists(np.array([1]), offsets=np.array(offsets))
        )


@pytest.mark.parametrize("series", [pd.Series({"q1": 1}), pl.Series([1])])
def test_a_series_is_one_column(series):
    if not hasattr(series, "__arrow_c_stream__"):
        pytest.skip("a pandas without Arrow's protocol")
    with pytest.raises(rs.errors.DataTypeError, match="a Series is one column; pass a frame"):
        rs.evaluate(series, {"q1": ["a"]}, "ap")
