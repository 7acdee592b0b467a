"""One number from every door: the same truth and run, in every form that they can come in."""

import itertools
import re
from functools import cache

import numpy as np
import pytest

import rankstone as rs

from ..asking import on_metric
from . import doors
from .doors import Data, Numbers, Rows, as_text, compare, evaluate, every_metric, listed

METRICS = every_metric()
CONVENTIONS = list(rs.conventions)
EACH = {convention: "text" if at % 2 else "whole" for at, convention in enumerate(CONVENTIONS)}  # both kinds of ids

# What a door cannot do, in the words that it says so with. All else gives the numbers of dicts.
LIMITS = {
    "rs.Stream": (
        r"needs an order of rows",
        r"needs all rows of a query at once",
        r"keeps every query of the run",
    ),
    "rs.Accumulator, sums": (
        r"uses the highest grade over all queries; set max_grade=",
        r"averaging='one_list' needs the rows of all queries",
    ),
    "rs.arrays": (r"is not computed on batches of arrays", r"set max_grade="),
}


def evaluated(sides, **more):
    """A door of `rs.evaluate`."""

    def door(metrics, **given):
        return Numbers(evaluate(*sides, metrics=metrics, **given, **more))

    return door


# -- tables ----------------------------------------------------------------------------------------------------


def pandas_frame(columns):
    return pytest.importorskip("pandas").DataFrame(columns)


def polars_frame(columns):
    return pytest.importorskip("polars").DataFrame(columns)


def lazy_frame(columns):
    return polars_frame(columns).lazy()


def arrow_table(columns):
    """In several pieces."""
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(columns)
    return pyarrow.concat_tables([table.slice(0, 10), table.slice(10, 0), table.slice(10)])


def plain_columns(columns):
    return rs.columns(**columns)


def relation(columns):
    """Of DuckDB."""
    duckdb = pytest.importorskip("duckdb")
    return duckdb.from_arrow(pytest.importorskip("pyarrow").table(columns))


TABLES = {
    "pandas": pandas_frame,
    "polars": polars_frame,
    "polars, lazy": lazy_frame,
    "arrow": arrow_table,
    "rs.columns": plain_columns,
    "duckdb": relation,
}


def asked(convention, mixed):
    """The metrics whose values do not depend on how the truth's rows were mixed."""
    return [metric for metric in METRICS if not mixed or not doors.goes_by_the_truths_rows(metric, convention)]


@pytest.mark.parametrize("name", TABLES)
def test_tables(name):
    """In any order of rows, unless a convention goes by their order."""
    measured = 0
    for convention, ids in EACH.items():
        data, mixed = doors.filled(ids), not doors.goes_by_rows(convention)
        door = evaluated(Rows(data, mixed).tables(TABLES[name]))
        measured += compare(door, data, convention, asked(convention, mixed))
    assert measured > 1000


def test_rows_in_order():
    """Queries lie between each other; each query's rows are in the order of the dicts."""
    for convention, ids in EACH.items():
        data = doors.filled(ids)
        assert compare(evaluated(Rows(data, mixed=False).tables(arrow_table)), data, convention, METRICS)


# -- files -----------------------------------------------------------------------------------------------------

KEEP_NUMBERS = ("parquet", "jsonl", "csv")  # ids of the other are text, whatever they look like


@pytest.mark.parametrize("form", doors.WRITERS)
def test_files(form, tmp_path):
    measured = 0
    for ids, mixed in itertools.product(("text", "whole"), (True, False)):
        data, rows = doors.filled(ids), Rows(doors.filled(ids), mixed)
        paths = [tmp_path / f"{what}-{ids}-{mixed}.{form}" for what in ("truth", "run")]
        for path, what in zip(paths, ("truth", "run"), strict=True):
            doors.WRITERS[form](path, getattr(rows, what), what)
        data = data if form in KEEP_NUMBERS else as_text(data)
        for convention in CONVENTIONS:
            if doors.goes_by_rows(convention) != mixed and EACH[convention] == ids:
                measured += compare(evaluated(paths), data, convention, asked(convention, mixed))
    assert measured > 1000


# -- lists and matrices ----------------------------------------------------------------------------------------


def rs_lists(columns):
    return rs.lists(columns.pop("items"), **columns)


def arrow_lists(columns):
    return pytest.importorskip("pyarrow").table(columns)


LISTS = {"rs.lists": rs_lists, "polars": polars_frame, "arrow": arrow_lists, "pandas": pandas_frame, "duckdb": relation}


@pytest.mark.parametrize("name", LISTS)
def test_lists(name):
    """Polars with queries named by text has a test of its own."""
    for convention, ids in EACH.items():
        data = doors.made("whole" if name == "polars" else ids)
        door = evaluated([LISTS[name](columns) for columns in listed(data)])
        metrics = [metric for metric in METRICS if not doors.goes_by_lists_of_grades(metric, convention)]
        assert compare(door, data, convention, metrics)


def test_sparse():
    """A grade of 0 is stored. A matrix has its items in order, which is not that of the dicts."""
    sparse = pytest.importorskip("scipy.sparse")
    data = doors.numbered()
    sides = []
    for side in (data.truth, data.run):
        row, column, value = zip(*((q, i, v) for q, one in side.items() for i, v in one.items()), strict=True)
        sides.append(sparse.coo_array((np.array(value, dtype=float), (row, column)), shape=(len(side), 14)))
    for at, convention in enumerate(CONVENTIONS):
        kind = (sparse.csr_array, sparse.csc_matrix, sparse.coo_array)[at % 3]
        assert compare(evaluated([kind(side) for side in sides]), data, convention, METRICS)


def matrices(data, **more):
    scores, labels, _ = data.arrays
    return evaluated((labels, scores), **more)


def test_dense():
    data = doors.full()
    for convention in CONVENTIONS:
        assert compare(matrices(data), data, convention, METRICS)


def test_dense_with_lengths():
    data = doors.left_aligned()
    for convention in CONVENTIONS:
        assert compare(matrices(data, lengths=data.arrays[2].sum(axis=1)), data, convention, METRICS)


def test_dense_with_a_mask():
    data = doors.rectangle()
    for convention in CONVENTIONS:
        assert compare(matrices(data, mask=data.arrays[2]), data, convention, METRICS)


def test_tensors():
    torch = pytest.importorskip("torch")
    data = doors.full()
    scores, labels, _ = (torch.from_numpy(array) for array in data.arrays)
    assert compare(evaluated((labels, scores)), data, "rankstone", METRICS)


def test_one_table():
    """A label and a score in each row."""
    data = doors.left_aligned()
    data = Data(*({query: one for query, one in side.items() if one} for side in (data.truth, data.run)))
    rows = [(q, i, grade, data.run[q][i]) for q, one in data.truth.items() for i, grade in one.items()]
    query, item, label, score = (list(column) for column in zip(*rows, strict=True))
    table = arrow_table({"query": query, "item": item, "label": label, "score": score})
    for convention in CONVENTIONS:
        assert compare(evaluated((table,)), data, convention, METRICS)


def test_groups():
    """Rows without queries and items, and how many rows each query has."""
    data = doors.left_aligned()
    rows = [(grade, data.run[q][i]) for q, one in data.truth.items() for i, grade in one.items()]
    label, score = (list(column) for column in zip(*rows, strict=True))
    table = pandas_frame({"label": label, "score": score})
    door = evaluated((table,), groups=[len(one) for one in data.truth.values()])
    for convention in CONVENTIONS:
        assert compare(door, data, convention, METRICS)


# -- in pieces -------------------------------------------------------------------------------------------------


def streamed(truth, batches, metrics, **given):
    """The numbers of a stream."""
    stream = rs.Stream(truth, metrics, **given)
    for batch in batches:
        stream.first_pass(batch)
    for batch in batches[::-1]:
        stream.second_pass(batch)
    return Numbers(stream.compute())


def test_stream():
    """Rows of one query lie in several batches."""
    measured = 0
    for convention, ids in EACH.items():
        data = doors.filled(ids)
        rows = Rows(data, mixed=True)
        cuts = [slice(start, start + 60) for start in range(0, len(rows.run[0]), 60)]
        batches = [dict(zip(("query", "item", "score"), (side[cut] for side in rows.run), strict=True)) for cut in cuts]
        truth, _ = rows.tables(arrow_table)

        def door(metrics, truth=truth, batches=batches, **given):
            return streamed(truth, batches, metrics, **given)

        measured += compare(door, data, convention, asked(convention, mixed=True), LIMITS["rs.Stream"])
    assert measured > 300


def accumulated(batches, metrics, **given):
    """The numbers of an accumulator."""
    accumulator = rs.Accumulator(metrics, **given)
    for truth, run in batches:
        accumulator.update(truth, run)
    return Numbers(accumulator.compute())


@pytest.mark.parametrize("keep", [True, False])
def test_accumulator(keep):
    """Queries come a few at a time, in another order."""
    measured, rng = 0, np.random.default_rng(5)
    for convention, ids in EACH.items():
        data = doors.made(ids)
        queries = list({**data.truth, **data.run})
        queries = [queries[at] for at in rng.permutation(len(queries))]
        parts = [queries[start : start + 8] for start in range(0, len(queries), 8)]
        batches = [[{q: side[q] for q in part if q in side} for side in (data.truth, data.run)] for part in parts]

        def door(metrics, batches=batches, **given):
            return accumulated(batches, metrics, keep=keep, **given)

        measured += compare(door, data, convention, METRICS, () if keep else LIMITS["rs.Accumulator, sums"])
    assert measured > 1000


# -- any order of rows, whatever is chosen ---------------------------------------------------------------------

# These choices are about the order of rows.
BY_ROWS = {"ties": ("input", "reverse_input"), "duplicates": ("first",), "truth_duplicates": ("first",),
           "truth_depth": ("k",)}  # fmt: skip
NUMBERS = {"threshold": (2, ">0", "all"), "default_k": (3,), "undefined": (0.25,), "no_relevant": (0.25,),
           "both_empty": (1,), "query_digits": (3,), "digits": (3,)}  # fmt: skip


def every_choice():
    """Each value of each choice, but for those that are about the order of rows."""
    for name, choice in rs.choices.items():
        for value in (*choice.allowed, *NUMBERS.get(name, ())):
            if value not in BY_ROWS.get(name, ()):
                yield {name: value}


def test_every_choice_is_made():
    assert {name for made in every_choice() for name in made} == set(rs.choices)


def rows_of_lists(make):
    """The rows of each query as its list."""

    def door(truth, run, folder):
        sides = []
        for columns, values in ((truth, "grades"), (run, "scores")):
            lists = {query: ([], []) for query in columns[0]}
            for query, item, value in zip(*columns, strict=True):
                lists[query][0].append(item)
                lists[query][1].append(value)
            items, numbers = zip(*lists.values(), strict=True)
            sides.append(make({"query": list(lists), "items": list(items), values: list(numbers)}))
        return evaluated(sides)

    return door


def rows_of_tables(make):
    def door(truth, run, folder):
        sides = ((truth, "grade"), (run, "score"))
        return evaluated([make({"query": side[0], "item": side[1], value: side[2]}) for side, value in sides])

    return door


def rows_of_files(form):
    def door(truth, run, folder):
        paths = [folder / f"{what}.{form}" for what in ("truth", "run")]
        for path, columns in zip(paths, (truth, run), strict=True):
            doors.WRITERS[form](path, columns, path.stem)
        return evaluated(paths)

    return door


def rows_of_a_stream(truth, run, folder):
    table = arrow_table(dict(zip(("query", "item", "grade"), truth, strict=True)))
    cuts = [slice(start, start + 60) for start in range(0, len(run[0]), 60)]
    batches = [dict(zip(("query", "item", "score"), (side[cut] for side in run), strict=True)) for cut in cuts]
    return lambda metrics, **given: streamed(table, batches, metrics, **given)


BY_ROW = {
    **{f"table: {name}": rows_of_tables(make) for name, make in TABLES.items()},
    **{f"lists: {name}": rows_of_lists(make) for name, make in LISTS.items()},
    **{f"file: {form}": rows_of_files(form) for form in doors.WRITERS},
    "stream": rows_of_a_stream,
}


def shuffled(columns, seed):
    order = np.random.default_rng(seed).permutation(len(columns[0]))
    return tuple([column[at] for at in order] for column in columns)


def doubled(columns, values=None):
    """Some of the rows once more, the scores with another value."""
    *ids, numbers = (column[::5] for column in columns)
    return tuple([*one, *more] for one, more in zip(columns, (*ids, values or numbers), strict=True))


@cache
def rows_and_numbers():
    """Rows of both sides, a choice, and by metric the numbers of these rows in the order given."""
    rows = Rows(doors.filled("text"), mixed=False)
    once, twice = (rows.truth, rows.run), (doubled(rows.truth), doubled(rows.run, [0.6] * len(rows.run[0][::5])))
    made = []
    for chosen in every_choice():
        counted = {"duplicates": "count", "truth_duplicates": "count"} | chosen
        for sides, given in ((once, chosen), (twice, counted)):
            made.append((sides, given, doors.asked_of(rows_of_tables(plain_columns)(*sides, None), METRICS, given)[0]))
    return made


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_ROW)
def test_row_order_changes_no_number(name, tmp_path):
    """Whatever is chosen, and where rows are there twice."""
    third, measured = list(BY_ROW).index(name) % 3, 0  # of the metrics: all of them by some door
    limits = LIMITS["rs.Stream"] if name == "stream" else ()
    for sides, given, wanted in rows_and_numbers():
        door = BY_ROW[name](*(shuffled(side, seed=1) for side in sides), tmp_path)
        found, refused = doors.asked_of(door, list(wanted)[third::3], given)
        for metric, numbers in found.items():
            assert not doors.difference(numbers, wanted[metric], str(metric)), given
        for why in refused.values():
            assert any(re.search(limit, why) for limit in limits), why
        measured += len(found)
    assert measured > 1000


# -- values without means --------------------------------------------------------------------------------------


class Values:
    """Values by query, without means."""

    def __init__(self, values):
        self.means, self.values = {}, values


def of_arrays(data, library):
    scores, labels, mask = map(library, data.arrays)

    def door(metrics, convention, missing=None):  # missing= is about the mean, which there is none of
        values = {
            str(metric): getattr(rs.arrays, metric.name)(
                scores=scores, labels=labels, k=metric.k, mask=mask, convention=convention
            )
            for metric in metrics
        }
        return Values({label: dict(enumerate(np.asarray(array).tolist())) for label, array in values.items()})

    return door


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_arrays(library):
    make = np.asarray if library == "numpy" else pytest.importorskip("torch").from_numpy
    data, measured = doors.rectangle(), 0
    for convention in CONVENTIONS:
        measured += compare(of_arrays(data, make), data, convention, METRICS, LIMITS["rs.arrays"])
    assert measured > 1000


def in_sql(connection, queries):
    """The functions of DuckDB that give one value a row."""

    def door(metrics, convention, **choices):
        calls = [
            f"rs_{metric.name}_score(map(i, s), map(j, g){f', {metric.k}' if metric.k else ''}, '{options}')"
            for metric in metrics
            for options in [_options(metric, {"convention": convention, **choices})]
        ]
        try:
            found = connection.sql(f"select {', '.join(calls)} from t order by n").fetchall()
        except Exception as error:  # of DuckDB, around one of ours
            raise ValueError(str(error)) from None
        columns = [[np.nan if value is None else value for value in column] for column in zip(*found, strict=True)]
        return Values(
            {str(metric): dict(zip(queries, one, strict=True)) for metric, one in zip(metrics, columns, strict=True)}
        )

    return door


def _options(metric, words):
    """A function sees some of the rows at a time, so the highest grade of all has to be said."""
    chosen = rs.conventions[words["convention"]].choices
    if "max_grade" in metric.declaration.defaults and not {"max_grade", f"{metric.name}_max_grade"} & chosen.keys():
        words = {**words, "max_grade": max(doors.GRADES)}
    return " ".join(f"-{name} {value}" for name, value in words.items())


@pytest.mark.slow
@pytest.mark.parametrize("ids", ["text", "whole"])
def test_functions_of_duckdb(ids):
    """A query that is missing from the run has no list; one that nobody judged has no row."""
    pytest.importorskip("duckdb")
    made = doors.made(ids)
    data = Data(made.truth, {query: one for query, one in made.run.items() if query in made.truth})
    kind, measured = "varchar" if ids == "text" else "bigint", 0
    with rs.sql.connect() as connection:
        connection.execute(f"create table t(n int, i {kind}[], s double[], j {kind}[], g double[])")
        sides = [[([*one], [*one.values()]) if one is not None else (None, None)
                  for one in (side.get(query) for query in data.truth)] for side in (data.run, data.truth)]  # fmt: skip
        rows = [(n, *run, *truth) for n, (run, truth) in enumerate(zip(*sides, strict=True))]
        connection.executemany("insert into t values (?, ?, ?, ?, ?)", rows)
        for convention in CONVENTIONS:
            if EACH[convention] == ids:
                door = in_sql(connection, list(data.truth))
                measured += compare(door, data, convention, METRICS)
    assert measured > 500


# -- differences that there were, one by one -----------------------------------------------------------------------


def mean(truth, run, metric, **given):
    """The mean of one metric."""
    metric, given = on_metric(metric, given)
    return evaluate(truth, run, metrics=metric, **given)[metric]


def orders(run):
    """Every order that equal scores leave open, as lists."""
    groups = [[item for item in run if run[item] == score] for score in sorted(set(run.values()), reverse=True)]
    return [list(itertools.chain(*parts)) for parts in itertools.product(*map(itertools.permutations, groups))]


def over_orders(truth, run, metric, **given):
    """The metric's value in every order of the tied items."""
    return [mean({"q": truth}, {"q": order}, metric, **given) for order in orders(run)]


def test_polars_lists_of_queries_named_by_text():
    data = doors.made("text")
    door = evaluated([polars_frame(columns) for columns in listed(data)])
    assert compare(door, data, "rankstone", METRICS)


def test_pooled_means_leave_out_what_is_left_out():
    truth, run = {"a": {"x": 0, "y": 0}, "b": {"x": 1}}, {"a": {"x": 5.0, "y": 3.0}, "b": {"x": 2.0}}
    assert mean(truth, run, "mae", no_relevant="skip") == 1
    batches = [({query: truth[query]}, {query: run[query]}) for query in truth]
    for keep in (True, False):
        assert accumulated(batches, "mae", no_relevant="skip", keep=keep).means == {"mae": 1}


@pytest.mark.parametrize(("metric", "given"), [("precision@1", {"truth_depth": "k"}), ("rbo", {})])
def test_places_under_a_mask(metric, given):
    """The first item of the truth is the first that is real."""
    labels, scores = np.array([[0, 2, 1]]), np.array([[9, 0.2, 0.1]])
    mask = np.array([[False, True, True]])
    assert mean(labels, scores, metric, mask=mask, **given) == 1


def test_an_ideal_list_as_given_is_the_querys_own():
    """Of what is known only by the list, in the truth's order; another query changes nothing."""
    metric = rs.ndcg(ideal="given")

    def first(items, grades, run):
        truth = rs.lists(items, grades=grades)
        return evaluate(truth, rs.lists(run), metrics=metric, unjudged="only_returned").per_query[metric][0]

    alone = first([["x", "y", "w"]], [[1, 3, 2]], [["y", "x"]])
    among = first([["x", "y", "w"], ["z"]], [[1, 3, 2], [1]], [["y", "x"], []])
    assert alone == among == pytest.approx((3 + 1 / np.log2(3)) / (1 + 3 / np.log2(3)), rel=1e-15)


def test_rbo_does_not_go_by_the_truths_rows():
    run = {"q": {"a": 0.9, "b": 0.8, "c": 0.7}}
    assert mean({"q": {"a": 1, "b": 1, "c": 1}}, run, "rbo") == mean({"q": {"c": 1, "b": 1, "a": 1}}, run, "rbo")


@pytest.mark.parametrize("scores", [(0.2, 0.5, 0.9), (0.9, 0.5, 0.2)])
def test_an_item_that_counts_once_counts_where_it_is_best(scores):
    """a, b, a by rows; by score it is first and last, or last and first."""
    run = rs.columns(query=["q"] * 3, item=["a", "b", "a"], score=list(scores))
    assert mean({"q": {"a": 1}}, run, "rr", duplicates="once") == 1


def test_clipped_probabilities_of_arrays():
    scores, labels = np.array([[1.5], [1.0], [0.0], [-2.0]]), np.array([[1.0], [0.0], [1.0], [0.0]])
    found = evaluate(labels, scores, metrics="logloss").per_query["logloss"]
    np.testing.assert_allclose(rs.arrays.logloss(scores=scores, labels=labels), found, rtol=1e-12)
    np.testing.assert_allclose(found, [1e-15, -np.log(1e-15), -np.log(1e-15), 1e-15], rtol=1e-3)


ODD_GAINS = {-1: 2.0, 0: 0.0, 1: 1.0, 2: 0.5}
RANGES = [
    ("fallout@1", {"a": 0, "b": -1, "r": 1}, ("a", "b", "r"), {}),
    ("fallout@2", {"c": 0, "b": -1}, ("b", "a", "c"), {}),
    ("auc@1", {"c": 0, "a": 2, "d": -1}, ("d", "c", "b", "u"), {}),
    ("precision@1", {"a": 1, "b": 1, "c": 1}, ("a", "b", "c"), {"truth_depth": "k"}),
    ("dcg@2", {"a": -1, "b": 0, "c": 1, "d": 2}, ("a", "b", "c", "d"), {"gain": ODD_GAINS}),
    ("ndcg@2", {"a": -1, "b": 0, "c": 1, "d": 2}, ("a", "b", "c", "d"), {"gain": ODD_GAINS}),
]


@pytest.mark.parametrize(("metric", "truth", "items", "given"), RANGES)
def test_ranges_hold_every_order(metric, truth, items, given):
    run = dict.fromkeys(items, 0.5)
    metric, given = on_metric(metric, given)
    values = over_orders(truth, run, metric, **given)
    found = evaluate({"q": truth}, {"q": run}, metrics=metric, **given).ties[str(metric)]
    assert (found.lowest, found.highest) == pytest.approx((min(values), max(values)))


UNKNOWN = [
    ("infap", {"a": -1, "e": 1}, ("c", "a", "e", "b"), {}),
    ("auc@2", {"a": 1, "b": 0, "c": 1}, ("a", "b", "c", "u"), {"auc_pairs": "list"}),
    ("ap@2", {"a": 1, "b": 0, "c": 1}, ("a", "b", "c", "u"), {"ap_divisor": "found"}),
]


@pytest.mark.parametrize(("metric", "truth", "items", "given"), UNKNOWN)
def test_ranges_that_nobody_knows_are_not_said(metric, truth, items, given):
    """No order by what items are worth is this metric's best or worst."""
    metric, given = on_metric(metric, given)
    found = evaluate({"q": truth}, {"q": dict.fromkeys(items, 0.5)}, metrics=[metric, "rr"], **given)
    ends = found.ties[str(metric)]
    assert np.isnan([ends.lowest, ends.highest]).all()
    assert ends.queries == 1
    assert f"(unknown for {metric}: no closed form)" in " ".join(repr(found).split())


def test_range_of_one_list():
    """Two queries with one item each, of the same score: which goes first decides, and no order of a query does."""
    truth, run = {"a": {"x": 1}, "b": {"y": 0}}, {"a": {"x": 0.5}, "b": {"y": 0.5}}
    metric = rs.auc(tied_pairs="order")
    found = evaluate(truth, run, metrics=metric, averaging="one_list", ties="input")
    assert found[metric] == 1
    assert (found.ties[str(metric)].lowest, found.ties[str(metric)].highest) == (0, 1)


EXPECTED = [
    *(("kendall", {"a": 3, "b": 1, "c": 1}, {"variant": variant}) for variant in ("a", "b", "ties_agree")),
    ("spearman", {"a": 3, "b": 1, "c": 1}, {}),
    *(("auc", {"a": 1, "b": 0, "c": 0}, {"tied_pairs": tied_pairs}) for tied_pairs in ("half", "order", "wrong")),
]


@pytest.mark.parametrize(("metric", "truth", "given"), EXPECTED)
def test_expected_is_the_mean_over_all_orders(metric, truth, given):
    run = {"a": 0.5, "b": 0.25, "c": 0.5}
    metric, given = on_metric(metric, given)
    values = over_orders(truth, run, metric, **given)
    found = evaluate({"q": truth}, {"q": run}, metrics=metric, ties="expected", **given)
    assert found[metric] == pytest.approx(sum(values) / len(values), rel=1e-12)
    ends = found.ties[str(metric)]
    assert (ends.lowest, ends.highest) == pytest.approx((min(values), max(values)))
