"""Metrics of what was shown are the same numbers from batches: accumulators, streams, large files."""

import pickle

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import rankstone as rs
from rankstone.align import topk as first_module
from rankstone.data import files
from rankstone.data import lines as text_files

from .listed import SHOWN, assert_equal, near, some_lists

BY_GRADE = [label for label in SHOWN if label.startswith(("epc", "efd", "reo", "serendipity", "iaa", "false", "abst"))]
ALONE = [label for label in SHOWN if label not in BY_GRADE]
KEPT = [label for label in SHOWN if not label.startswith("reo")]  # which reads the truth's items again


def pieces(rng, queries, most=5):
    queries = rng.permutation(list(queries)).tolist()
    while queries:
        count = int(rng.integers(1, most))
        yield queries[:count]
        queries = queries[count:]


def only(side, queries):
    return {query: side[query] for query in queries}


# -- accumulators --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("ties", ["item_desc", "group_mean"])
def test_an_accumulator_is_evaluate(seed, ties):
    truth, run, side_info = some_lists(seed)
    rng = np.random.default_rng(seed)
    asked = ["ndcg@5", *KEPT] if ties == "item_desc" else KEPT
    want = rs.evaluate(truth, run, asked, ties=ties, **side_info)
    accumulators = [rs.Accumulator(asked, ties=ties, **side_info) for _ in range(3)]
    for some in pieces(rng, truth):
        accumulators[rng.integers(3)].update(only(truth, some), only(run, some))
    one, two, three = map(pickle.loads, map(pickle.dumps, accumulators))
    assert_equal(two.merge(three.merge(one)).compute(), want)
    again = rs.Accumulator(asked, ties=ties, **side_info)
    again.load_state_dict(two.state_dict())
    assert_equal(again.compute(), want)
    assert_equal(pickle.loads(pickle.dumps(again.compute())), want)
    again.reset()
    again.update(truth, run)
    assert_equal(again.compute(), want)


def test_an_accumulator_without_a_truth():
    _, run, side_info = some_lists()
    accumulator = rs.Accumulator(ALONE, **side_info)
    for some in pieces(np.random.default_rng(0), run):
        accumulator.update(run=only(run, some))
    assert_equal(accumulator.compute(), rs.evaluate(run=run, metrics=ALONE, **side_info))


def test_lists_without_ids_by_hand():
    accumulator = rs.Accumulator(["coverage@2", "entropy@2"], catalogue=["a", "b", "c", "d"])
    accumulator.update(run=["a", "b", "c"])
    accumulator.update(run={"a": 0.9, "c": 0.8})
    accumulator.update(run=[])
    found = accumulator.compute()
    assert found["coverage@2"] == near(3 / 4)
    assert found["entropy@2"] == near(-(2 / 4 * np.log2(2 / 4) + 2 * 1 / 4 * np.log2(1 / 4)))


def test_sums_of_what_looks_at_each_list_by_itself():
    truth, run, side_info = some_lists()
    accumulator = rs.Accumulator(["novelty@5", "unseen@5", "rr"], keep=False, history=side_info["history"])
    for query in run:
        accumulator.update(truth[query], run[query], query=query)
    want = rs.evaluate(truth, run, ["novelty@5", "unseen@5", "rr"], history=side_info["history"])
    assert dict(accumulator.compute()) == {label: near(value) for label, value in want.items()}


def test_no_more_than_the_first_places_is_kept():
    accumulator = rs.Accumulator("coverage@3", catalogue=range(1000))
    for at in range(5):
        accumulator.update(run=list(range(at, 1000)))
    (piece,) = accumulator.state_dict()["pieces"]
    assert len(piece["firsts"][0]["item"]) == 5 * (3 + 1)  # and one more, to tell whether the last place was open


@pytest.mark.parametrize(
    ("made", "told", "problem"),
    [
        ({"metrics": "coverage@3", "keep": False}, None, "coverage@3 counts each item over all lists"),
        ({"metrics": ["rr", "coverage@3"]}, {"run": ["a"]}, "rr needs a truth"),
        ({"metrics": "coverage@3"}, {}, r"a run only: update\(run=run\)"),
        ({"metrics": "unseen@3", "history": {"u": ["a"]}}, {"run": ["a"]}, "the lists have no query ids"),
        ({"metrics": "coverage@3", "catalogue": ["a"]}, {"run": ["b"]}, "item 'b' is not in the catalogue"),
        ({"metrics": "coverage@3", "catalogue": 7}, None, "catalogue=7 would change nothing"),
        ({"metrics": "rr", "catalogue": ["a"]}, None, "have no effect: rr read none of them"),
        ({"metrics": "overlap@3"}, {"run": {"u": ["b"]}}, "reference="),
    ],
)
def test_what_an_accumulator_says_no_to(made, told, problem):
    def go():
        accumulator = rs.Accumulator(**made)
        if told is not None:
            accumulator.update(**told)
            accumulator.compute()

    with pytest.raises((ValueError, TypeError), match=problem):
        go()


def test_numbers_and_strings_do_not_mix():
    accumulator = rs.Accumulator("entropy@3")
    accumulator.update(run=["a"])
    accumulator.update(run=[1])
    with pytest.raises(TypeError, match="run items are integers but others are strings"):
        accumulator.compute()


def test_another_catalogue_is_another_number():
    ours, theirs = (rs.Accumulator("coverage@3", catalogue=items) for items in (["a", "b"], ["a", "c"]))
    with pytest.raises(ValueError, match="differ in their catalogue="):
        ours.merge(theirs)
    with pytest.raises(ValueError, match="the state has another side_info"):
        ours.load_state_dict(theirs.state_dict())


def test_a_broken_state_of_an_accumulator(breaks):
    accumulator = rs.Accumulator("gini@2", catalogue=["a", "b", "c"], duplicates="once")
    accumulator.update(run={"u1": ["a", "a", "b"], "u2": ["c"]})
    kept = accumulator.compute()["gini@2"]
    for path, state in breaks(accumulator.state_dict()):
        other = rs.Accumulator("gini@2", catalogue=["a", "b", "c"], duplicates="once")
        try:
            other.load_state_dict(state)
            assert isinstance(other.compute()["gini@2"], float), path
        except (ValueError, TypeError):
            pass
    assert accumulator.compute()["gini@2"] == kept


# -- streams -------------------------------------------------------------------------------------------------


def rows_of(run, rng):
    rows = [(query, item, score) for query, items in run.items() for item, score in items.items()]
    return [rows[at] for at in rng.permutation(len(rows))]


def in_batches(rows, size):
    for start in range(0, len(rows), size):
        query, item, score = zip(*rows[start : start + size], strict=True)
        yield {"query": list(query), "item": list(item), "score": list(score)}


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("ties", ["item_desc", "item_asc"])
def test_a_stream_is_evaluate(size, ties, monkeypatch):
    monkeypatch.setattr(first_module, "_FEW", 16)
    truth, run, side_info = some_lists(size)
    rng = np.random.default_rng(size)
    want = rs.evaluate(truth, run, ["ndcg@5", *SHOWN], ties=ties, **side_info)
    rows = list(in_batches(rows_of(run, rng), size))
    stream = rs.Stream(truth, ["ndcg@5", *SHOWN], ties=ties, **side_info)
    shares = [pickle.loads(pickle.dumps(stream)) for _ in range(3)]
    for at, batch in enumerate(rows):
        shares[at % 3].first_pass(batch)
    for share in shares:
        stream.merge(pickle.loads(pickle.dumps(share)))
    for batch in reversed(rows):
        stream.second_pass(batch)
    assert_equal(stream.compute(), want)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_stream_without_a_truth(size, monkeypatch):
    monkeypatch.setattr(first_module, "_FEW", 16)
    _, run, side_info = some_lists(size)
    rows = list(in_batches(rows_of(run, np.random.default_rng(size)), size))
    stream = rs.Stream(None, ALONE, **side_info)
    shares = [pickle.loads(pickle.dumps(stream)) for _ in range(3)]
    for at, batch in enumerate(rows):
        shares[at % 3].first_pass(batch)
    for share in shares:
        stream.merge(share)
    with pytest.raises(ValueError, match="hold the same finds"):
        stream.merge(shares[0])
    other = rs.Stream(None, ALONE, **side_info)
    other.load_state_dict(stream.state_dict())
    assert_equal(other.compute(), rs.evaluate(run=run, metrics=ALONE, **side_info))


def test_what_a_stream_cannot_know():
    films = {"catalogue": ["a", "b", "c"]}
    for metric, choices, problem in [
        ("coverage", {}, "coverage reads whole lists; choose a cutoff, as in coverage@10"),
        ("coverage@2", {"ties": "group_mean"}, "ties='group_mean' needs whole lists"),
        ("coverage@2", {"ties": "input"}, "needs an order of rows; .*the rows of a stream have no order"),
        ("coverage@2", {"duplicates": "once"}, "all rows of a query at once"),
    ]:
        for truth in (None, {"u": ["a"]}):
            with pytest.raises(ValueError, match=problem):
                rs.Stream(truth, metric, **choices, **films)
    with pytest.raises(ValueError, match="rr needs a truth"):
        rs.Stream(None, ["coverage@2", "rr"], **films)
    stream = rs.Stream(None, "coverage@2", **films)
    with pytest.raises(ValueError, match="there are no rows"):
        stream.compute()
    with pytest.raises(ValueError, match="one pass is enough"):
        stream.second_pass({"query": ["u"], "item": ["a"], "score": [1.0]})
    stream.first_pass({"query": ["u", "u"], "item": ["a", "a"], "score": [1.0, 2.0]})
    with pytest.raises(ValueError, match="query 'u': item 'a' appears twice"):
        stream.compute()


def test_a_broken_state_of_a_stream(breaks):
    stream = rs.Stream(None, "gini@2", catalogue=["a", "b", "c"])
    stream.first_pass({"query": ["u", "u", "v"], "item": ["a", "b", "c"], "score": [1.0, 2.0, 3.0]})
    for path, state in breaks(stream.state_dict()):
        other = rs.Stream(None, "gini@2", catalogue=["a", "b", "c"])
        try:
            other.load_state_dict(state)
            assert isinstance(other.compute()["gini@2"], float), path
        except (ValueError, TypeError):
            pass


# -- large files ---------------------------------------------------------------------------------------------


@pytest.fixture
def large(monkeypatch):
    monkeypatch.setattr(files, "LARGE_ROWS", 10)
    monkeypatch.setattr(text_files, "BATCH_ROWS", 13)
    monkeypatch.setattr(first_module, "_FEW", 16)


@pytest.mark.parametrize("grouped", [True, False])
@pytest.mark.parametrize("scored", [True, False])
def test_a_large_file_is_evaluate(large, tmp_path, grouped, scored):
    truth, run, side_info = some_lists(5)
    if not scored:
        run = {query: sorted(items, key=lambda item: (-items[item], item)) for query, items in run.items()}
        rows = [(query, item, -rank) for query, items in run.items() for rank, item in enumerate(items)]
    else:
        rows = [(query, item, score) for query, items in run.items() for item, score in items.items()]
    if not grouped:
        rows = [rows[at] for at in np.random.default_rng(0).permutation(len(rows))]
        rows = rows if scored else sorted(rows, key=lambda row: -row[2])
    query, item, score = map(list, zip(*rows, strict=True))
    table = pa.table({"query": query, "item": item, **({"score": score} if scored else {})})
    parquet.write_table(table, tmp_path / "run.parquet", row_group_size=20)
    asked = ["ndcg@5", *SHOWN]
    if scored or grouped:
        found = rs.evaluate(truth, tmp_path / "run.parquet", asked, **side_info)
        assert_equal(found, rs.evaluate(truth, run, asked, **side_info))
    found = rs.evaluate(run=tmp_path / "run.parquet", metrics=ALONE, **side_info)
    assert_equal(found, rs.evaluate(run=run, metrics=ALONE, **side_info))
    for sides in ((truth, tmp_path / "run.parquet"), (None, tmp_path / "run.parquet")):
        with pytest.raises(ValueError, match="coverage reads whole lists; choose a cutoff"):
            rs.evaluate(*sides, "coverage", **side_info)


def test_ids_that_turn_out_to_be_text(large, tmp_path):
    rows = [*((1, at) for at in range(40)), ("x", "y")]
    path = tmp_path / "run.tsv"
    path.write_text("".join(f"{query}\t{item}\t{-at}\n" for at, (query, item) in enumerate(rows)))
    text_files.BATCH_BYTES, before = 60, text_files.BATCH_BYTES
    try:
        found = rs.evaluate(run=path, metrics="coverage@50", catalogue=[*map(str, range(40)), "y", "z"])
    finally:
        text_files.BATCH_BYTES = before
    assert found["coverage@50"] == near(41 / 42)
