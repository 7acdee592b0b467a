"""`rs.Accumulator`: whatever the batches and their order, it says what `rs.evaluate` says of the whole."""

import math
import pickle
from contextlib import suppress
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import rankstone as rs
from rankstone.evaluate import accumulate, partial
from rankstone.evaluate.means import ExactSum
from rankstone.evaluate.stream import evaluate_file
from rankstone.evaluate.values import measure_each
from tests.asking import on_metrics
from tests.effort import examples
from tests.table.cases import fed

LISTS = {"averaging": "macro", "max_grade": 3}  # so that every metric can be summed a few queries at a time


def near(value):
    return pytest.approx(value, rel=1e-12, abs=1e-12, nan_ok=True)


# -- sums ----------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)), st.data())
def test_a_sum_is_exact_whatever_its_parts(values, data):
    at = data.draw(st.integers(0, len(values)))
    one, other = ExactSum(np.array(values[:at])), ExactSum(np.array(values[at:]))
    whole = sum(map(Fraction, values), Fraction(0))
    try:
        total = float(whole)
    except OverflowError:
        total = math.inf if whole > 0 else -math.inf
    for found in (one + other, other + one, pickle.loads(pickle.dumps(one)) + other):
        assert float(found) == total


@pytest.mark.parametrize(
    ("values", "total"),
    [
        ([math.inf, 1.0], math.inf),
        ([-math.inf, 1e300], -math.inf),
        ([math.inf, -math.inf], math.nan),
        ([math.nan], math.nan),
    ],
)
def test_what_is_not_finite_stays_so(values, total):
    assert float(ExactSum(np.array(values))) == pytest.approx(total, nan_ok=True)
    assert float(ExactSum(np.array(values[:1])) + ExactSum(np.array(values[1:]))) == pytest.approx(total, nan_ok=True)


def test_naive_sums_would_depend_on_the_order():
    values = np.array([0.1] * 7 + [1e9] + [0.7] * 3)
    assert float(np.add.reduce(values)) != float(np.add.reduce(values[::-1]))
    assert float(ExactSum(values)) == float(ExactSum(values[::-1])) == math.fsum(values)


# -- one list ------------------------------------------------------------------------------------------------


def test_one_list_at_a_time():
    accumulator = rs.Accumulator(["rr", "precision@2"])
    accumulator.update(["a", "c"], ["b", "a"])  # relevant, returned
    accumulator.update({"d": 2}, {"d": 0.1, "e": 0.2, "f": 0.3})
    accumulator.update({"x"}, [])
    result = accumulator.compute()
    assert isinstance(result, rs.Result)
    assert result.per_query["rr"].tolist() == [1 / 2, 1 / 3, 0]
    assert result["rr"] == near((1 / 2 + 1 / 3 + 0) / 3)
    assert result["precision@2"] == near((1 / 2 + 0 + 0) / 3)
    assert list(result.queries) == [0, 1, 2]
    assert result.account.judged == 3


def test_a_list_may_have_an_id():
    accumulator = rs.Accumulator("rr")
    accumulator.update(["a"], ["a"], query="u1")
    accumulator.update(["a"], ["b", "a"], query="u2")
    assert list(accumulator.compute().queries) == ["u1", "u2"]
    with pytest.raises(ValueError, match="query 'u2' occurs twice: it was in an earlier update"):
        accumulator.update(["a"], ["a"], query="u2")
    assert accumulator.compute()["rr"] == 3 / 4  # as before the error


def test_without_ids_a_list_that_comes_twice_is_two_queries():
    accumulator = rs.Accumulator("rr")
    for _ in range(2):
        accumulator.update(["a"], ["b", "a"])
    assert accumulator.compute().account.judged == 2


def test_small_pieces_are_gathered_as_they_come(monkeypatch):
    monkeypatch.setattr(accumulate, "_GATHERED", 3)
    truth = {f"u{n}": {"a": n % 3, "b": 1} for n in range(11)}
    run = {f"u{n}": {"a": n % 2, "b": 0.5, "c": 0.25 * n} for n in range(11)}
    one, other = rs.Accumulator(["ndcg", "rr"]), rs.Accumulator(["ndcg", "rr"])
    for n, query in enumerate(truth):
        (one if n < 7 else other).update({query: truth[query]}, {query: run[query]})
    assert (len(one._held.pieces), len(other._held.pieces)) == (3, 2)  # 3 + 3 + 1 queries, and 3 + 1
    found, whole = one.merge(other).compute(), rs.evaluate(truth, run, ["ndcg", "rr"])
    assert list(found.queries) == list(truth)
    for name in whole:
        assert found.per_query[name].tolist() == whole.per_query[name].tolist()


def lists_of(queries):
    """Truths and runs with ties, negative grades and empty lists in some queries and not in others."""
    rng = np.random.default_rng(11)
    truth, run = {}, {}
    for n in range(queries):
        scores = rng.permutation(9) if n % 4 else rng.integers(0, 3, 9)
        truth[f"u{n}"] = {f"i{at}": int(rng.integers(n % 3 and -1, 4)) for at in rng.permutation(9)[: n % 7]}
        run[f"u{n}"] = {f"i{at}": float(scores[at] + 0.1) for at in range(n % 10)}
    return truth, run


@pytest.mark.parametrize(
    "choices",
    [
        {"convention": "rankstone"},
        {"convention": "torchmetrics"},
        {"convention": "lenskit"},
        {"ties": "expected"},
        {"ties": "group_mean"},
        {"ties": "pessimistic"},
        {"unjudged": "condensed"},
        {"unjudged": "only_returned"},
        {"averaging": "micro"},
        {"averaging": "geometric"},
    ],
    ids=str,
)
def test_large_pieces_are_measured_by_themselves_to_the_same_bits(monkeypatch, choices):
    truth, run = lists_of(40)
    apart = 0
    for name in fed():
        try:
            wanted = rs.Accumulator(name, **choices)
            wanted.update(truth, run)
            want = wanted.compute()
        except ValueError:
            continue
        with monkeypatch.context() as patch:
            patch.setattr(accumulate, "_GATHERED", 3)
            accumulator = rs.Accumulator(name, **choices)
            for at in range(0, 40, 2):
                some = list(truth)[at : at + 2]
                accumulator.update({query: truth[query] for query in some}, {query: run[query] for query in some})
        found = accumulator.compute()
        apart += found._later is not None
        label = next(iter(want))
        assert repr(found[label]) == repr(want[label])
        assert repr(dict(found._means)) == repr({label: one.mean for label, one in found._measurement.outcomes.items()})
        assert found.per_query[label].tobytes() == want.per_query[label].tobytes()
        assert found.account == want.account
    assert (apart == 0) == (choices.get("ties") in ("expected", "group_mean")), apart


def test_what_was_measured_is_not_measured_again(monkeypatch):
    sizes = []

    def counted(plans, aligned, threads):
        sizes.extend(len(each.ranked) for each in aligned.values())
        return measure_each(plans, aligned, threads)

    monkeypatch.setattr(accumulate, "_GATHERED", 4)
    monkeypatch.setattr(partial, "measure_each", counted)
    truth, run = lists_of(14)
    accumulator = rs.Accumulator(["ndcg", "rr"])
    for query in list(truth)[:10]:
        accumulator.update({query: truth[query]}, {query: run[query]})
    first = accumulator.compute()
    assert sizes == [4, 4, 2]
    accumulator.compute()
    assert sizes == [4, 4, 2]
    for query in list(truth)[10:]:
        accumulator.update({query: truth[query]}, {query: run[query]})
    second = accumulator.compute()
    assert sizes == [4, 4, 2, 4, 2]
    assert (len(first.queries), len(second.queries)) == (10, 14)
    assert sizes == [4, 4, 2, 4, 2, 10, 14]
    assert list(map(len, accumulator._held.pieces)) == [14]  # what was made one is kept as one
    assert accumulator.compute()["ndcg"] == second["ndcg"] == rs.evaluate(truth, run, "ndcg")["ndcg"]
    assert sizes == [4, 4, 2, 4, 2, 10, 14]
    accumulator.update({"more": ["a"]}, {"more": ["a"]})
    assert list(accumulator.compute().queries) == [*truth, "more"]
    assert sizes == [4, 4, 2, 4, 2, 10, 14, 1, 15]


def test_a_result_is_of_the_queries_there_were(monkeypatch):
    """What it is asked later is made later, of what there was then."""
    monkeypatch.setattr(accumulate, "_GATHERED", 3)
    truth, run = lists_of(8)
    accumulator = rs.Accumulator(["ndcg", "rr"])
    found = []
    for query in truth:
        accumulator.update({query: truth[query]}, {query: run[query]})
        found.append(accumulator.compute())
    accumulator.reset()
    for count, result in enumerate(found, 1):
        some = list(truth)[:count]
        want = rs.evaluate({query: truth[query] for query in some}, run, ["ndcg", "rr"])
        assert dict(result) == near(dict(want))
        assert list(result.queries) == some
        assert result.per_query["ndcg"].tolist() == want.per_query["ndcg"].tolist()


@pytest.mark.parametrize("named", [True, False])
def test_an_error_names_the_query_wherever_it_is(monkeypatch, named):
    monkeypatch.setattr(accumulate, "_GATHERED", 3)
    accumulator = rs.Accumulator(["rr", "ap"], no_relevant="error")
    for n in range(8):
        accumulator.update({"a": int(n != 7)}, ["a"], query=f"u{n}" if named else None)
    for _ in range(2):
        with pytest.raises(ValueError, match=f"rr: there is no relevant item in query {'.u7.' if named else 7}"):
            accumulator.compute()


def test_nothing_stays_of_an_update_whose_sums_are_refused(monkeypatch):
    monkeypatch.setattr(accumulate, "_FOLDED", 2)
    accumulator = rs.Accumulator("rr", keep=False, no_relevant="error")
    accumulator.update(["a"], ["a"], query="u1")
    with pytest.raises(ValueError, match="rr: there is no relevant item in query 'u2'"):
        accumulator.update({"a": 0}, ["a"], query="u2")
    accumulator.update(["a"], ["b", "a"], query="u2")
    found = accumulator.compute()
    assert (found["rr"], found.queries) == (3 / 4, 2)


@pytest.mark.parametrize("keep", [True, False])
def test_an_id_that_comes_twice_is_an_error(keep):
    accumulator = rs.Accumulator("rr", keep=keep)
    accumulator.update({"u1": ["a"], "u2": ["a"]}, {"u1": ["a"], "u2": ["b", "a"]})
    with pytest.raises(ValueError, match="query 'u2' occurs twice: it was in an earlier update"):
        accumulator.update({"u3": ["a"], "u2": ["a"]}, {"u3": ["a"]})
    accumulator.update({"u3": ["a"]}, {"u3": ["b"]})
    assert accumulator.compute()["rr"] == near((1 + 1 / 2 + 0) / 3)


@pytest.mark.parametrize(
    ("metrics", "given", "problem"),
    [
        ("rr", ([["a"], ["b"]], [["a"], ["b"]]), r"the truth is a list of lists; for a batch give rs.lists"),
        ("rr", (["a"], 3), "the run is 3; give a list of items or a dict"),
        (["mae", "rr"], (4.0, 3.2), r"rr evaluates lists, not the single values 4.0 and 3.2"),
    ],
)
def test_what_is_no_list(metrics, given, problem):
    with pytest.raises((TypeError, ValueError), match=problem):
        rs.Accumulator(metrics).update(*given)


def test_ids_for_all_or_for_none():
    accumulator = rs.Accumulator("rr")
    accumulator.update({"u1": ["a"]}, {"u1": ["a"]})
    with pytest.raises(ValueError, match="some queries have ids and some have none"):
        accumulator.update(["a"], ["a"])
    with pytest.raises(TypeError, match="query= names a single list"):
        accumulator.update({"u2": ["a"]}, {"u2": ["a"]}, query="u2")


# -- ratings -------------------------------------------------------------------------------------------------

DATA_PRED = [(3, 2.3), (1, 0.9), (5, 4.9), (2, 0.9), (3, 1.5)]  # actual, predicted: document 003 of python-recsys


@pytest.mark.parametrize("keep", [True, False])
def test_ratings_one_by_one(keep):
    accumulator = rs.Accumulator(["mae", "rmse"], keep=keep)
    accumulator.update(4.0, 3.2)
    assert accumulator.compute()["mae"] == near(0.8)
    assert accumulator.compute()["rmse"] == near(0.8)
    accumulator.reset()
    for actual, predicted in DATA_PRED:
        accumulator.update(actual, predicted)
    result = accumulator.compute()
    assert result["mae"] == near(0.7)
    assert round(result["rmse"], 6) == 0.891067
    assert result["rmse"] == near(math.sqrt((0.7**2 + 0.1**2 + 0.1**2 + 1.1**2 + 1.5**2) / 5))


def test_the_first_number_is_the_actual_one():
    """r2 divides by the spread of the actual values, so the order matters."""
    accumulator = rs.Accumulator("r2")
    accumulator.update([3.0, 1.0], [3.0, 2.0])
    accumulator.update(5.0, 4.0)
    assert accumulator.compute()["r2"] == near(1 - (0 + 1 + 1) / (0 + 4 + 4))
    with pytest.raises(ValueError, match="2 actual values but 1 predictions"):
        accumulator.update([3.0, 1.0], [3.0])


# -- any cut, any order --------------------------------------------------------------------------------------

grades = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 3), max_size=5)
scores = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([0.1, 0.25, 0.5, 0.7]), max_size=6)
whole = st.dictionaries(st.integers(0, 30), st.tuples(grades, st.none() | scores), min_size=1, max_size=12)


def cut(data, queries):
    """The queries in any order, in batches of any size."""
    queries = data.draw(st.permutations(queries))
    while queries:
        size = data.draw(st.integers(1, len(queries)))
        yield queries[:size]
        queries = queries[size:]


def sides(queries, of):
    return {q: of[q][0] for q in queries}, {q: of[q][1] for q in queries if of[q][1] is not None}


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize(
    "choices", [LISTS, {**LISTS, "averaging": "micro"}, {"averaging": "geometric", "max_grade": 3}]
)
@given(whole, st.data())
@examples(0.375)
def test_every_metric_is_that_of_the_whole(keep, choices, queries, data):
    metrics, choices = on_metrics(map(rs.authoring.Metric, fed()), choices)
    want = rs.evaluate(*sides(queries, queries), metrics, **choices)
    found = []
    for _ in range(2):
        accumulator = rs.Accumulator(metrics, keep=keep, **choices)
        for batch in cut(data, list(queries)):
            accumulator.update(*sides(batch, queries))
        found.append(accumulator.compute())
        assert dict(found[-1]) == {name: near(value) for name, value in want.items()}
    for metric in want:
        if metric != "iprec11":  # NumPy adds its eleven values in an order that depends on how many queries there are
            assert repr(found[0][metric]) == repr(found[1][metric]), "not the same to the last bit"


@pytest.mark.parametrize("convention", ["rankstone", "trec_eval", "spark", "lenskit", "torchmetrics", "hivemall"])
@given(whole, st.data())
@examples(0.375)
def test_kept_values_and_account_are_those_of_the_whole(convention, queries, data):
    choices = {"convention": convention, "missing": "skip"}
    metrics = ["ndcg@3", "recall@2", "precision@2", "rr"]
    want = rs.evaluate(*sides(queries, queries), metrics, **choices)
    accumulator = rs.Accumulator(metrics, **choices)
    for batch in cut(data, list(queries)):
        accumulator.update(*sides(batch, queries))
    result = accumulator.compute()
    by_id = {query: at for at, query in enumerate(result.queries)}
    order = [by_id[query] for query in want.queries]
    for metric in metrics:
        assert result.per_query[metric][order].tolist() == near(want.per_query[metric].tolist())
        assert result.ties[metric].lowest == near(want.ties[metric].lowest)
        assert result.definitions[metric] == want.definitions[metric]
    assert result.account == want.account
    assert repr(accumulator.compute()) == repr(result)  # asking twice changes nothing


def test_pooled_and_highest_grade_look_at_all_queries():
    queries = {
        1: ({"a": 3, "b": 1}, {"a": 0.5, "b": 0.7}),
        2: ({"a": 1}, {"a": 0.9}),
        3: ({"c": 2}, {"c": 2.0, "a": 3.0}),
    }
    metrics = ["r2", "pearson", "err", "nerr"]
    accumulator = rs.Accumulator(metrics)
    for query in (3, 1, 2):
        accumulator.update(*sides([query], queries))
    assert dict(accumulator.compute()) == near(dict(rs.evaluate(*sides(queries, queries), metrics)))
    with pytest.raises(ValueError, match=r"r2: averaging='one_list' needs the rows of all .*, or choose keep=True"):
        rs.Accumulator("r2", keep=False)
    with pytest.raises(ValueError, match="err uses the highest grade over all queries; set max_grade=, or choose"):
        rs.Accumulator("err", keep=False)
    rs.Accumulator("err(max_grade=3)", keep=False)


@pytest.mark.parametrize("keep", [True, False])
def test_weights(keep):
    truth = {q: ["a"] for q in "xyz"}
    run = {"x": ["a"], "y": ["b", "a"], "z": ["b", "c", "a"]}
    weights = {"x": 1.0, "y": 2.0, "z": 5.0}
    accumulator = rs.Accumulator("rr", averaging="weighted", keep=keep)
    accumulator.update({"z": truth["z"]}, {"z": run["z"]}, weights=weights)
    accumulator.update({q: truth[q] for q in "xy"}, {q: run[q] for q in "xy"}, weights=[1.0, 2.0])
    assert accumulator.compute()["rr"] == near((1 * 1 + 2 / 2 + 5 / 3) / 8)
    assert accumulator.compute()["rr"] == near(rs.evaluate(truth, run, "rr", weights=weights)["rr"])
    with pytest.raises(ValueError, match="needs weights=, one per query, in every update"):
        accumulator.update({"w": ["a"]}, {"w": ["a"]})
    with pytest.raises(ValueError, match=r"weights= needs averaging='weighted' in rs\.Accumulator"):
        rs.Accumulator("rr").update({"w": ["a"]}, {"w": ["a"]}, weights=[1.0])


def test_queries_that_only_the_run_has():
    batches = [({"a": ["x"]}, {"a": ["y", "x"], "b": ["x"]}), ({"c": ["x"], "d": ["x"]}, {"c": ["x"], "e": ["x", "y"]})]
    for extra, judged in (("zero", "acdbe"), ("skip", "acd")):
        accumulator = rs.Accumulator(["rr", "precision@2"], extra=extra)
        for batch in batches:
            accumulator.update(*batch)
        result = accumulator.compute()
        want = rs.evaluate(
            *({**one, **two} for one, two in zip(*batches, strict=True)), ["rr", "precision@2"], extra=extra
        )
        assert "".join(result.queries) == judged
        assert sorted(result.queries) == sorted(want.queries)
        assert dict(result) == near(dict(want))
        assert result.account == want.account == accumulator.compute().account


# -- shapes --------------------------------------------------------------------------------------------------


def test_batches_of_arrays_lists_tables_and_sparse_matrices():
    random = np.random.default_rng(7)
    labels, scores = random.integers(0, 4, (30, 8)), random.random((30, 8))
    want = dict(rs.evaluate(labels, scores, ["ndcg@5", "ap"]))
    halves = [slice(0, 11), slice(11, 30)]
    items = np.broadcast_to(np.arange(8), (30, 8))

    def update(accumulator, shape, half):
        truth, run = labels[half], scores[half]
        rows = {"item": items[half].ravel(), "query": np.repeat(np.arange(30)[half], 8)}
        if shape == "matrices":
            accumulator.update(truth, run)
        elif shape == "mask":
            padded = (np.pad(one, ((0, 0), (0, 2))) for one in (truth, run))
            accumulator.update(*padded, lengths=np.full(len(truth), 8))
        elif shape == "lists":
            columns = items[half].tolist()
            accumulator.update(rs.lists(columns, grades=truth.tolist()), rs.lists(columns, scores=run.tolist()))
        elif shape == "tables":
            accumulator.update(
                *(pd.DataFrame({**rows, name: one.ravel()}) for name, one in (("grade", truth), ("score", run)))
            )
        elif shape == "one table":
            table = pd.DataFrame({"label": truth.ravel(), "score": run.ravel()})
            accumulator.update(table, groups=[8] * len(truth))
        elif shape == "sparse":
            accumulator.update(scipy.sparse.csr_array(truth), scipy.sparse.csr_array(run))

    for shape in ("matrices", "mask", "lists", "tables", "one table", "sparse"):
        for keep in (True, False):
            accumulator = rs.Accumulator(["ndcg@5", "ap"], keep=keep)
            for half in halves:
                update(accumulator, shape, half)
            assert dict(accumulator.compute()) == near(want), shape


# -- merge, pickle, reset ------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [True, False])
@given(whole, st.data())
@examples(0.375)
def test_merged_copies_are_the_whole(keep, queries, data):
    metrics = ["ndcg@3", "ap", "rmse"]
    want = rs.Accumulator(metrics, keep=keep)
    want.update(*sides(queries, queries))
    merged = rs.Accumulator(metrics, keep=keep)
    for batch in cut(data, list(queries)):
        part = rs.Accumulator(metrics, keep=keep)
        part.update(*sides(batch, queries))
        merged.merge(pickle.loads(pickle.dumps(part)))
    assert repr(merged) == f"Accumulator(ndcg@3, ap, rmse; {len(queries):,} queries)"
    again = pickle.loads(pickle.dumps(merged)).compute()
    for metric in ("ndcg@3", "ap"):
        assert repr(merged.compute()[metric]) == repr(again[metric]) == repr(want.compute()[metric])
    assert merged.compute()["rmse"] == near(want.compute()["rmse"])


def test_what_cannot_be_merged():
    one, other = rs.Accumulator("rr"), rs.Accumulator("rr")
    for each in (one, other):
        each.update({"u1": ["a"]}, {"u1": ["a"]})
    with pytest.raises(ValueError, match="query 'u1' is in both accumulators"):
        one.merge(other)
    with pytest.raises(ValueError, match="cannot be merged with itself"):
        one.merge(one)
    with pytest.raises(ValueError, match="differ in their metrics, choices or keep="):
        one.merge(rs.Accumulator("rr", threshold=2))
    with pytest.raises(TypeError, match="not with dict"):
        one.merge({})
    nameless = rs.Accumulator("rr")
    nameless.update(["a"], ["a"])
    with pytest.raises(ValueError, match="some queries have ids and some have none"):
        one.merge(nameless)
    assert list(one.compute().queries) == ["u1"]


def test_merged_ids_are_known():
    one, other = rs.Accumulator("rr"), rs.Accumulator("rr")
    other.update({"u1": ["a"]}, {"u1": ["a"]})
    one.merge(other)
    with pytest.raises(ValueError, match="query 'u1' occurs twice: it was in an earlier update"):
        one.update({"u1": ["a"]}, {"u1": ["a"]})


def test_merging_leaves_the_other_as_it_was():
    one, other = rs.Accumulator("rr"), rs.Accumulator("rr")
    other.update(["a"], ["b", "a"])
    one.merge(other)
    one.update(["a"], ["a"])
    one.compute()
    assert other.compute()["rr"] == 1 / 2


@pytest.mark.parametrize("keep", [True, False])
def test_nothing_yet_and_nothing_again(keep):
    accumulator = rs.Accumulator(["rr", "mae"], keep=keep)
    assert math.isnan(accumulator.compute()["rr"])
    assert math.isnan(accumulator.compute()["mae"])
    accumulator.update({}, {})
    assert math.isnan(accumulator.compute()["rr"])
    accumulator.update({"u1": {"a": 1}}, {"u1": {"a": 0.5}})
    assert accumulator.compute()["mae"] == 0.5
    accumulator.reset()
    accumulator.update({"u1": {"a": 1}}, {"u1": {"a": 0.25}})
    assert accumulator.compute()["mae"] == 0.75
    weighted = rs.Accumulator("rr", averaging="weighted", keep=keep)
    assert math.isnan(weighted.compute()["rr"])


def test_means_have_their_definitions():
    metric = rs.ndcg(gain="exp2") @ 5
    accumulator = rs.Accumulator(["rr", metric], keep=False)
    accumulator.update(["a"], ["a"])
    found = accumulator.compute()
    assert found.queries == 1
    assert list(found) == ["rr", "ndcg(gain='exp2')@5"]
    assert found[metric] == 1
    assert found.definitions[str(metric)] == rs.evaluate({1: ["a"]}, {1: ["a"]}, metric).definitions[str(metric)]
    assert repr(found) == "{'rr': 1.0, \"ndcg(gain='exp2')@5\": 1.0} of 1 queries"


def test_choices_that_call_something_an_error():
    accumulator = rs.Accumulator("rr", undefined="error", no_relevant="error")
    accumulator.update({"u1": {"a": 0}}, {"u1": ["a"]})
    with pytest.raises(ValueError, match="rr: there is no relevant item in query 'u1'"):
        accumulator.compute()
    with pytest.raises(ValueError, match="the run lacks 1 judged queries: 'u2'"):
        rs.Accumulator("rr", missing="error").update({"u2": ["a"]}, {})
    truths = rs.Accumulator("kendall")
    truths.update({"u1": ["a", "b"]}, {"u1": ["a", "b"]})
    with pytest.raises(ValueError, match="some truths are orders of items and some are not"):
        truths.update({"u2": {"a": 2, "b": 1}}, {"u2": ["a", "b"]})


# -- state and threads ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metrics", "choices"),
    [
        (["ndcg@3", "ap"], {"keep": True}),
        (["ndcg@3", "rmse"], {"keep": False}),
        (["rr", "kendall", "ap(ties='expected')"], {"keep": True, "extra": "zero"}),
        (["rr", "ap"], {"keep": True, "averaging": "weighted"}),
        (["rr", "ap"], {"keep": False, "averaging": "weighted"}),
    ],
    ids=str,
)
def test_a_state_goes_on_where_it_was(metrics, choices):
    rng = np.random.default_rng(5)
    weighted = choices.get("averaging") == "weighted"

    def some(accumulator, names):
        for name in names:
            truth = {name: {f"i{at}": float(rng.integers(0, 4)) for at in rng.permutation(9)[:4]}}
            run = {name: {f"i{at}": float(rng.integers(0, 3)) for at in range(9)}, f"extra {name}": {"i1": 1.0}}
            accumulator.update(truth, run, weights=[rng.random()] if weighted else None)

    accumulator = rs.Accumulator(metrics, **choices)
    some(accumulator, "abc")
    again = rs.Accumulator(metrics, **choices)
    again.load_state_dict(accumulator.state_dict())
    assert repr(again) == repr(accumulator)
    rng = np.random.default_rng(6)
    some(accumulator, "def")
    rng = np.random.default_rng(6)
    some(again, "def")
    assert dict(again.compute()) == dict(accumulator.compute())
    with pytest.raises(ValueError, match=r"query '(extra )?a' occurs twice: it was in an earlier update"):
        some(again, "a")
    if choices["keep"]:
        assert str(again.compute()) == str(accumulator.compute())
        assert again.compute().account == accumulator.compute().account
        for metric in metrics:
            assert repr(again.compute().per_query[metric]) == repr(accumulator.compute().per_query[metric])


def test_a_state_of_another():
    state = rs.Accumulator("rr").state_dict()
    for other, problem in (
        (rs.Accumulator("ap"), "another metrics"),
        (rs.Accumulator("rr", threshold=2), "another choices"),
        (rs.Accumulator("rr", keep=False), "another keep: True, not False"),
        (rs.Online("rr", window=1), "its format is 'rankstone accumulator', not 'rankstone online'"),
    ):
        with pytest.raises(ValueError, match=problem):
            other.load_state_dict(state)


def held(keep):
    accumulator = rs.Accumulator(["rr", "ndcg"], keep=keep, averaging="weighted")
    accumulator.update(
        {"x": {"a": 1, "b": 2}, "y": {"c": 3}, "z": {"d": 1}},
        {"x": {"a": 0.5, "b": 0.5, "e": 0.5}, "y": {"e": 1.0, "c": 0.1}},
        weights=[1.0, 2.0, 3.0],
    )
    return accumulator


@pytest.mark.parametrize("keep", [True, False])
def test_a_broken_state_is_refused(keep, breaks):
    """Whatever is changed: it is an error, or something that a state can be."""
    harmless = {"retrieved", "present", "place", "truth_grades", "grade", "score", "weights", "extra", "scale"}
    if not keep:
        harmless |= {"ids", "sums"}
    for path, state in breaks(held(keep).state_dict()):
        again = held(keep)
        before = dict(again.compute())
        if harmless & set(path):
            with suppress(ValueError):
                again.load_state_dict(state)
            continue
        with pytest.raises(ValueError, match="the state of this accumulator is broken"):
            again.load_state_dict(state)
        assert dict(again.compute()) == before, "it was changed all the same"


@pytest.mark.parametrize("keep", [True, False])
def test_threads_lose_nothing(keep, together):
    accumulator = rs.Accumulator("rr", keep=keep)
    other = rs.Accumulator("rr", keep=keep)

    def update(share):
        for number in range(share, 6000, 4):
            accumulator.update(["a"], ["b", "a"], query=number)
            if number % 500 == 0:
                part = rs.Accumulator("rr", keep=keep)
                part.update(["a"], ["a"], query=f"part {number}")
                accumulator.merge(part)
                other.merge(part)

    together(update, range(4))
    assert repr(accumulator) == "Accumulator(rr; 6,012 queries)"
    assert accumulator.compute()["rr"] == near((6000 / 2 + 12) / 6012)
    assert other.compute()["rr"] == 1


def test_two_that_merge_each_other_do_not_wait_for_ever(together):
    pair = [rs.Accumulator("rr"), rs.Accumulator("rr")]

    def merge(at):
        for _ in range(300):
            pair[at].merge(pair[1 - at])

    together(merge, (0, 1))


# -- a threshold of ratings for clicks ---------------------------------------------------------------------------

CLICKS, RATINGS = {"u": {"a": 1, "b": 0}}, {"v": {"a": 4, "b": 0}}
NO_RATINGS = "hit_rate@1: the truth has grades of 0 and 1 only, and threshold='>3' would leave none of them"


@pytest.mark.parametrize("keep", [True, False])
def test_a_threshold_of_ratings_for_clicks(keep):
    """Whether a scale is one of ratings can only be seen at the end."""

    def updated(*truths, **choices):
        accumulator = rs.Accumulator("hit_rate@1", convention="recsys-blog", keep=keep, **choices)
        for truth in truths:
            accumulator.update(truth, {query: {"a": 2.0, "b": 1.0} for query in truth})
        return accumulator

    with pytest.raises(rs.errors.InputError, match=NO_RATINGS):
        updated(CLICKS).compute()
    fresh = updated()
    fresh.load_state_dict(updated(CLICKS).state_dict())
    for clicks in (fresh, pickle.loads(pickle.dumps(updated(CLICKS))), updated().merge(updated(CLICKS))):
        with pytest.raises(rs.errors.InputError, match=NO_RATINGS):
            clicks.compute()
        assert clicks.merge(updated(RATINGS)).compute()["hit_rate@1"] == (0 + 1) / 2
    assert updated(CLICKS, RATINGS).compute()["hit_rate@1"] == (0 + 1) / 2
    assert updated(CLICKS, threshold=1).compute()["hit_rate@1"] == 1
    assert updated(CLICKS, threshold=">3").compute()["hit_rate@1"] == 0
    older = updated(CLICKS).state_dict()
    del older["scale"]  # as the first version saved it
    fresh.load_state_dict(older)
    assert fresh.compute()["hit_rate@1"] == 0


def test_a_threshold_of_ratings_for_clicks_in_batches(tmp_path):
    batch, path = {"query": ["u", "u"], "item": ["a", "b"], "score": [2.0, 1.0]}, tmp_path / "run.csv"
    stream = rs.Stream(CLICKS, "hit_rate@1", convention="recsys-blog")
    stream.first_pass(batch)
    stream.second_pass(batch)
    with pytest.raises(rs.errors.InputError, match=NO_RATINGS):
        stream.compute()
    pd.DataFrame(batch).to_csv(path, index=False)
    with pytest.raises(rs.errors.InputError, match=NO_RATINGS):
        evaluate_file(CLICKS, path, "hit_rate@1", convention="recsys-blog")
