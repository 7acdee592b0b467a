"""`Stream` says what `evaluate` says, whatever the batches."""

import copy
import pickle
import random
from contextlib import suppress

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankstone as rs
from rankstone.data import source as extra_module
from rankstone.evaluate.stream import Stream
from rankstone.metrics.registry import declared
from tests.asking import on_metrics
from tests.table.cases import fed

from .data import assert_same, cut, pair, streamed

BUILT_IN = sorted(fed())
EXPECTED = [name for name in BUILT_IN if declared()[name].expected]
CUT = [name if not declared()[name].takes_k else f"{name}@{{1,3,10}}" for name in BUILT_IN]


@pytest.mark.parametrize("ties", ["item_desc", "item_asc", "optimistic", "pessimistic"])
@pytest.mark.parametrize("text", [False, True])
def test_every_metric(text, ties):
    rng = np.random.default_rng(3)
    truth, run = pair(rng, text=text, text_queries=not text)
    asked = [*BUILT_IN, *CUT]
    got = streamed(Stream(truth, asked, ties=ties), cut(run, rng))
    assert_same(got, rs.evaluate(truth, run, asked, ties=ties))


def test_ties_averaged():
    rng = np.random.default_rng(4)
    truth, run = pair(rng)
    got = streamed(Stream(truth, EXPECTED, ties="expected"), cut(run, rng))
    assert_same(got, rs.evaluate(truth, run, EXPECTED, ties="expected"))


@given(seed=st.integers(0, 2**32), levels=st.sampled_from((1, 2, 7, 10**6)), count=st.integers(1, 9), data=st.data())
def test_any_data(seed, levels, count, data):
    rng = np.random.default_rng(seed)
    text, text_queries = data.draw(st.booleans()), data.draw(st.booleans())
    judged, rows_ = data.draw(st.integers(1, 20)), data.draw(st.integers(1, 40))
    truth, run = pair(rng, text=text, text_queries=text_queries, queries=4, rows=rows_, judged=judged, levels=levels)
    options = {
        "ties": data.draw(st.sampled_from(("item_desc", "item_asc"))),
        "score_precision": data.draw(st.sampled_from(("float64", "float32"))),
        "missing": data.draw(st.sampled_from(("zero", "skip"))),
        "threads": data.draw(st.sampled_from((0, 1, 3))),
    }
    asked = ["ndcg", "ap@3", "rr", "auc", "rbo", "num_ret"]
    got = streamed(Stream(truth, asked, **options), cut(run, rng, count))
    assert_same(got, rs.evaluate(truth, run, asked, **options))


def test_large_batches_on_all_cores():
    rng = np.random.default_rng(5)
    for extra in (0, 40):
        truth, run = pair(rng, queries=300, rows=500, judged=60, levels=50, extra=extra)
        assert_same(streamed(Stream(truth, "ap"), [run]), rs.evaluate(truth, run, "ap"))
    # One query's rows lie together, so that threads meet in the same counters.
    truth, run = pair(rng, queries=4, rows=40_000, judged=300, levels=10**6, shuffled=False)
    assert_same(streamed(Stream(truth, "ap"), [run]), rs.evaluate(truth, run, "ap"))


@pytest.mark.parametrize("name", rs.conventions)
def test_conventions(name):
    """But for what a stream cannot do (rows have no order, extra queries are not kept) and negative grades."""
    rng = np.random.default_rng(6)
    truth, run = pair(rng)
    asked = ["precision@5", "recall@5", "ndcg@5", "ap@5", "rr"]
    but = {"convention": name, "ties": "item_desc", "duplicates": "error", "missing": "skip", "extra": "skip"}
    asked, but = on_metrics(asked, {**but, "negative": "zero"})
    assert_same(streamed(Stream(truth, asked, **but), cut(run, rng)), rs.evaluate(truth, run, asked, **but))


def test_metrics_that_align_differently():
    rng = np.random.default_rng(7)
    truth, run = pair(rng)
    run = rs.columns(query=run.query, item=run.item, score=run.score + rng.random(len(run.query)) * 1e-9)
    asked = ["ap(score_precision='float32')", "ap", "ap(ties='item_asc')", "ap(ties='expected')", "ndcg(ideal='given')"]
    got = streamed(Stream(truth, asked), cut(run, rng))
    assert_same(got, rs.evaluate(truth, run, asked))
    assert got[asked[0]] != got["ap"]


def test_repeated_items_that_count():
    rng = np.random.default_rng(8)
    truth, run = pair(rng, rows=10)
    again = rng.integers(0, len(run.query), 60)
    run = rs.columns(
        query=np.concatenate((run.query, run.query[again])),
        item=np.concatenate((run.item, run.item[again])),
        score=np.concatenate((run.score, rng.permuted(run.score[again]))),
    )
    asked = ["num_rel_ret", "ap", "ndcg", "precision@5"]
    for ties in ("item_desc", "item_asc"):
        want = rs.evaluate(truth, run, asked, duplicates="count", ties=ties)
        empty = Stream(truth, asked, duplicates="count", ties=ties)
        assert_same(streamed(copy.deepcopy(empty), cut(run, rng)), want)
        assert_same(shared_out(empty, cut(run, rng)), want)


def test_a_truth_with_repeated_items():
    run = rs.columns(query=[1, 1, 2], item=[6, 5, 5], score=[3.0, 2.0, 1.0])
    for rule, again in (("first", 3), ("count", 2), ("distinct", 2), ("max", 3)):
        truth = rs.columns(query=[1, 1, 1, 2], item=[5, 5, 6, 5], grade=[2, again, 0, 1])
        got = streamed(Stream(truth, ["ndcg", "recall"], truth_duplicates=rule), [run])
        assert_same(got, rs.evaluate(truth, run, ["ndcg", "recall"], truth_duplicates=rule))
    with pytest.raises(ValueError, match=r"query 1: item 5 appears twice in the truth"):
        Stream(truth, "ap")


def test_every_kind_of_batch():
    truth = {"u1": {"a": 1}, "u2": {"c": 1}}
    data = {"query": ["u1", "u2", "u2"], "item": ["a", "c", "d"], "score": [0.9, 0.3, 0.8]}
    other = {"user": data["query"], "movie": data["item"], "stars": data["score"]}
    table = pyarrow.table(data)
    for batch in (
        data, table, table.to_batches()[0], pandas.DataFrame(data), polars.DataFrame(data), rs.columns(**data),
        polars.DataFrame(data).lazy(), {**data, "query": pyarrow.array(data["query"]).dictionary_encode()},
        {"qid": data["query"], "docno": data["item"], "rank": [1, 2, 1]},
        {"u1": {"a": 0.9}, "u2": {"c": 0.3, "d": 0.8}},
    ):  # fmt: skip
        result = streamed(Stream(truth, "rr"), [batch])
        assert result["rr"] == (1 / 1 + 1 / 2) / 2
    for batch in (other, pyarrow.table(other)):
        roles = {"query": "user", "item": "movie", "score": "stars"}
        assert streamed(Stream(truth, "rr", columns={"run": roles}), [batch])["rr"] == 0.75


def test_weights():
    rng = np.random.default_rng(9)
    truth, run = pair(rng)
    weights = {query: rng.random() for query in truth.query.tolist()}
    stream = Stream(truth, "ap")
    stream.first_pass(run)
    stream.second_pass(run)
    assert stream.compute(weights)["ap"] == pytest.approx(
        rs.evaluate(truth, run, "ap", weights=weights)["ap"], rel=1e-12
    )


def test_nothing_returned():
    truth = {"a": {"x": 1}}
    assert_same(Stream(truth, ["ap", "ndcg@3"]).compute(), rs.evaluate(truth, {}, ["ap", "ndcg@3"]))


# -- sharing the work ----------------------------------------------------------------------------------------


def over_the_wire(stream):
    return pickle.loads(pickle.dumps(stream))


def shared_out(empty, batches, seed=0):
    """Both passes by one worker a batch, merged in any order."""
    lottery = random.Random(seed)
    for work in ("first_pass", "second_pass"):
        parts = []
        for batch in batches:
            part = over_the_wire(empty)
            getattr(part, work)(batch)
            parts.append(over_the_wire(part))
        lottery.shuffle(parts)
        for part in parts:
            empty.merge(part)
    return over_the_wire(empty).compute()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("text", [False, True])
def test_merging_in_any_order(seed, text):
    rng = np.random.default_rng(seed)
    truth, run = pair(rng, text=text, text_queries=text)
    asked = ["ap", "ndcg@5", "ap(score_precision='float32')", "bpref"]
    got = shared_out(Stream(truth, asked), cut(run, rng, 6), seed)
    assert_same(got, rs.evaluate(truth, run, asked))


def test_a_convention_of_ones_own_can_be_sent():
    mine = rs.conventions["trec_eval-9"].with_choices(gain="exp2")
    truth, run = pair(np.random.default_rng(1))
    got = streamed(over_the_wire(Stream(truth, "ndcg", convention=mine)), [run])
    assert_same(got, rs.evaluate(truth, run, "ndcg", convention=mine))


def test_a_worker_without_work():
    truth, run = pair(np.random.default_rng(2))
    stream = Stream(truth, "ap")
    part, idle = over_the_wire(stream), over_the_wire(stream)
    part.first_pass(run)
    stream.merge(idle).merge(part)
    part, idle = over_the_wire(stream), over_the_wire(stream)
    part.second_pass(run)
    stream.merge(idle).merge(part).merge(over_the_wire(idle))
    assert_same(stream.compute(), rs.evaluate(truth, run, "ap"))


def test_merging_twice_is_refused():
    truth, run = pair(np.random.default_rng(2))
    halves = cut(run, np.random.default_rng(0), 2)
    stream = Stream(truth, "ap")
    part = over_the_wire(stream)
    part.first_pass(halves[0])
    stream.merge(part)
    stream.merge(part)  # holds nothing new
    stream.first_pass(halves[1])
    with pytest.raises(ValueError, match="both streams hold the same finds"):
        stream.merge(part)
    counting = over_the_wire(stream)
    counting.second_pass(halves[0])
    stream.merge(counting)
    with pytest.raises(ValueError, match="both streams hold the same counts"):
        stream.merge(counting)
    late = over_the_wire(stream)
    late.second_pass(halves[1])
    with pytest.raises(ValueError, match="both streams hold the same counts"):
        stream.merge(late)
    stream.second_pass(halves[1])
    assert_same(stream.compute(), rs.evaluate(truth, run, "ap"))


def test_merging_what_does_not_fit():
    truth, run = pair(np.random.default_rng(2))
    stream = Stream(truth, "ap")
    stream.first_pass(run)
    for other in (Stream(truth, "rr"), Stream({1: {2: 1}}, "ap"), Stream(truth, "ap", missing="skip")):
        with pytest.raises(ValueError, match="differ in their truth, metrics or choices"):
            stream.merge(other)
    with pytest.raises(TypeError, match="not with dict"):
        stream.merge({})
    one, other = (cut(run, np.random.default_rng(0), 2)[at] for at in (0, 1))
    stream, late = Stream(truth, "ap"), Stream(truth, "ap")
    stream.first_pass(one)
    stream.second_pass(one)
    late.first_pass(other)
    with pytest.raises(ValueError, match="have not found the same: merge all finds first"):
        stream.merge(late)


def test_a_repeated_item_is_noticed_when_merging():
    stream = Stream({"q": {"a": 1}}, "ap")
    part = over_the_wire(stream)
    for one in (stream, part):
        one.first_pass({"query": ["q"], "item": ["a"], "score": [1.0]})
    with pytest.raises(ValueError, match="query 'q': item 'a' appears twice in the run"):
        stream.merge(part)


def test_all_can_be_forgotten():
    truth, run = pair(np.random.default_rng(2))
    stream = Stream(truth, "ap")
    streamed(stream, cut(run, np.random.default_rng(0)))
    old = over_the_wire(stream)
    stream.reset()
    assert repr(stream) == "Stream(ap; 0 rows in the first pass)"
    assert_same(streamed(stream, [run]), rs.evaluate(truth, run, "ap"))
    assert_same(old.compute(), stream.compute())


# -- state and threads ---------------------------------------------------------------------------------------

ASKED = ["ap", "ap(score_precision='float32')", "ndcg@5"]


@pytest.mark.parametrize("duplicates", ["error", "count"])
def test_a_state_goes_on_where_it_was(duplicates):
    truth, run = pair(np.random.default_rng(2), text_queries=True)
    one, other = cut(run, np.random.default_rng(0), 2)
    stream = Stream(truth, ASKED, duplicates=duplicates)
    for work in ("first_pass", "second_pass"):
        for batch in (one, other):
            getattr(stream, work)(batch)
            again = Stream(truth, ASKED, duplicates=duplicates)
            again.load_state_dict(stream.state_dict())
            assert repr(again) == repr(stream)
            stream = again
    assert_same(stream.compute(), rs.evaluate(truth, run, ASKED, duplicates=duplicates))


def test_a_state_of_another():
    truth, run = pair(np.random.default_rng(2))
    stream = Stream(truth, "ap")
    stream.first_pass(run)
    for other, problem in (
        (Stream(truth, "rr"), "another metrics"),
        (Stream(truth, "ap", missing="skip"), "another choices"),
        (Stream({1: {2: 1}}, "ap"), "another truth"),
        (rs.Accumulator("ap"), "its format is 'rankstone stream', not 'rankstone accumulator'"),
    ):
        with pytest.raises(ValueError, match=problem):
            other.load_state_dict(stream.state_dict())


@pytest.mark.parametrize("counted", [False, True])
def test_a_broken_state_is_refused(counted, breaks):
    """Whatever is changed: the core never gets it, or it is something that a state can be."""
    truth = rs.columns(query=["q", "q", "p"], item=["a", "b", "a"], grade=[1, 2, 1])
    batch = {"query": ["q", "q", "q", "q", "x"], "item": ["c", "a", "b", "b", "a"], "score": [3.0, 2.0, 2.0, 1.0, 1.0]}
    stream = Stream(truth, "ap", duplicates="count")
    stream.first_pass(batch)
    if counted:
        stream.second_pass(batch)
    harmless = {"scores", "repeated_scores", "repeated", "extra", "found", "counted", "counting", "levels", "before"}
    for path, state in breaks(stream.state_dict()):
        again = Stream(truth, "ap", duplicates="count")
        if harmless & set(path):
            with suppress(ValueError):
                again.load_state_dict(state)
                again.compute()
            continue
        with pytest.raises(ValueError, match="the state of this stream is broken"):
            again.load_state_dict(state)
        assert repr(again) == "Stream(ap; 0 rows in the first pass)", "it was changed all the same"


def test_a_state_without_finds():
    """This one made the core read past the end."""
    stream = Stream({"q": {"a": 1}}, ["rr"])
    state = stream.__getstate__()
    for finds in ([()], [], None, [{}], [None], [[1, 2]]):
        state["state"]["finds"] = finds
        with pytest.raises(ValueError, match="the state of this stream is broken"):
            Stream.__new__(Stream).__setstate__(state)


def test_a_batch_that_failed_half_way_cannot_be_saved():
    stream = Stream({"q": {"a": 1}}, "ap")
    with pytest.raises(ValueError, match="score is nan"):
        stream.first_pass({**BATCH, "score": [1.0, np.nan]})
    for use in (stream.state_dict, stream.compute, lambda: stream.merge(Stream({"q": {"a": 1}}, "ap"))):
        with pytest.raises(ValueError, match="an earlier batch stopped half-way"):
            use()
    stream.reset()
    assert streamed(stream, [BATCH])["ap"] == 1 / 2


def test_threads_lose_nothing(together):
    truth, run = pair(np.random.default_rng(2), rows=200)
    batches = cut(run, np.random.default_rng(0), 400)
    stream = Stream(truth, "ap", threads=1)
    for work in (stream.first_pass, stream.second_pass):
        together(lambda share, work=work: [work(batch) for batch in batches[share::4]], range(4))
    assert_same(stream.compute(), rs.evaluate(truth, run, "ap"))


# -- what is wrong -------------------------------------------------------------------------------------------

BATCH = {"query": ["q", "q"], "item": ["a", "b"], "score": [1.0, 2.0]}


def test_passes_out_of_order():
    stream = Stream({"q": {"a": 1}}, "ap")
    with pytest.raises(ValueError, match=r"second_pass\(\) before first_pass\(\)"):
        stream.second_pass(BATCH)
    stream.first_pass(BATCH)
    with pytest.raises(ValueError, match=r"the second pass is missing: pass the batches to second_pass\(\)"):
        stream.compute()
    stream.second_pass(BATCH)
    with pytest.raises(ValueError, match=r"first_pass\(\) after second_pass\(\)"):
        stream.first_pass(BATCH)
    assert stream.compute()["ap"] == 1 / 2
    stream.second_pass(BATCH)
    with pytest.raises(ValueError, match=r"first_pass\(\) read 2 rows but second_pass\(\) 4"):
        stream.compute()


def test_passes_over_different_rows():
    stream = Stream({"q": {"a": 1}}, "ap")
    stream.first_pass(BATCH)
    stream.second_pass({**BATCH, "score": [1.5, 2.0]})
    with pytest.raises(ValueError, match=r"second_pass\(\) has not seen all the rows that first_pass\(\) saw"):
        stream.compute()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"item": ["a", "a"]}, "query 'q': item 'a' appears twice in the run"),
        ({"score": [1.0, np.nan]}, "query 'q', item 'b': score is nan"),
        ({"score": np.array([1, 2**53 + 1])}, "query 'q', item 'b': score 9007199254740993 is too large"),
        ({"item": [1, 2]}, "truth items are strings but run items are integers"),
        ({"query": [1, 2]}, "truth queries are strings but run queries are integers"),
        ({"query": ["q", None]}, "row 1 is null"),
        ({"score": ["x", "y"]}, "must be numbers"),
        ({"score": [1.0]}, "differ in length"),
    ],
)
def test_bad_batches(change, problem):
    stream = Stream({"q": {"a": 1}}, "ap")
    with pytest.raises((ValueError, TypeError), match=problem):
        stream.first_pass({**BATCH, **change})


def test_a_batch_that_failed_half_way():
    stream = Stream({"q": {"a": 1}}, "ap")
    with pytest.raises(ValueError, match="score is nan"):
        stream.first_pass({**BATCH, "score": [1.0, np.nan]})
    with pytest.raises(ValueError, match="an earlier batch stopped half-way"):
        stream.first_pass(BATCH)


def test_nan_of_a_query_that_nobody_judged():
    batch = {"query": ["q", "z"], "item": ["a", "b"], "score": [1.0, np.nan]}
    assert streamed(Stream({"q": {"a": 1}}, "ap"), [batch])["ap"] == 1


def test_no_scores():
    with pytest.raises(ValueError, match="has no score or rank column, and the rows of a stream have no order"):
        Stream({"q": {"a": 1}}, "ap").first_pass({"query": ["q"], "item": ["a"]})


@pytest.mark.parametrize(
    "choice", [{"ties": "input"}, {"ties": "reverse_input"}, {"duplicates": "best"}, {"duplicates": "first"},
               {"duplicates": "once"}, {"extra": "zero"}, {"convention": "ptranking"}]
)  # fmt: skip
def test_choices_that_need_more(choice):
    with pytest.raises(ValueError, match=r"the rows of a stream have no order|keeps every query"):
        Stream({"q": {"a": 1}}, "ap", **choice)


def test_an_empty_truth():
    with pytest.raises(ValueError, match="the truth has no rows"):
        Stream({}, "ap")


# -- queries that nobody judged ------------------------------------------------------------------------------


def test_extra_queries_are_named():
    stream = Stream({"q": {"a": 1}}, "ap", extra="error")
    batch = {"query": ["q", "y", "x", "y"], "item": ["a", "b", "c", "d"], "score": [1.0, 1.0, 1.0, 1.0]}
    with pytest.raises(ValueError, match="the truth lacks 2 queries of the run: 'x', 'y'"):
        streamed(stream, [batch])


def test_too_many_extra_queries(monkeypatch):
    monkeypatch.setattr(extra_module, "EXTRA_LIMIT", 3)
    stream = Stream({0: {1: 1}}, "ap")
    result = streamed(stream, [{"query": np.arange(9), "item": np.ones(9, int), "score": np.ones(9)}])
    assert result["ap"] == 1
    assert result.account.extra is None
    assert "more than 3 unjudged (ignored)" in str(result)


def test_the_core_forgets_too_many_extra_queries():
    stream = Stream({0: {1: 1}}, "ap")
    for start in (0, 50_000, 100_000):
        stream.first_pass(
            {"query": np.arange(start, start + 50_000), "item": np.ones(50_000, int), "score": np.ones(50_000)}
        )
        assert (stream._passes._extra is None) == (start == 100_000 or start == 50_000)


def test_a_truth_without_grades():
    """Under a threshold above 1 it has nothing relevant, which is said."""
    stream = Stream({"u": ["a"]}, "recall", threshold=2)
    with pytest.raises(ValueError, match="recall: the truth has no grades, only relevant items, and threshold=2"):
        streamed(stream, [{"query": ["u"], "item": ["a"], "score": [1.0]}])


def test_two_grades_in_one_pass(tmp_path, monkeypatch):
    """The rule for what is judged twice is that of the call, also where a file is read in batches."""
    monkeypatch.setattr("rankstone.data.files.LARGE_BYTES", 0)
    (tmp_path / "run.csv").write_text("query,item,score\n1,5,1.0\n", encoding="utf-8")
    truth = rs.columns(query=[1, 1], item=[5, 5], grade=[2, 3])
    run = rs.columns(query=[1], item=[5], score=[1.0])
    found = rs.evaluate(truth, str(tmp_path / "run.csv"), "dcg", truth_duplicates="first")
    assert found["dcg"] == rs.evaluate(truth, run, "dcg", truth_duplicates="first")["dcg"] == 2
    with pytest.raises(ValueError, match="is judged twice, with two grades"):
        rs.evaluate(truth, str(tmp_path / "run.csv"), "dcg", truth_duplicates="count")


@pytest.mark.parametrize("text", [False, True])
def test_a_large_truth_of_which_the_run_has_little(text):
    """Where most rows are of queries that nobody judged, these are told apart in another way."""
    rng = np.random.default_rng(7)
    judged = rng.choice(200_000, 6_000, replace=False)
    query, item = rng.integers(0, 200_000, 300_000), rng.integers(0, 40, 300_000)
    _, first = np.unique(query * 64 + item, return_index=True)
    rows = rng.permutation(first)
    query, item, score = query[rows], item[rows], rng.integers(0, 50, len(rows)) / 7

    def ids(values):
        return [f"q{value}" for value in values] if text else values

    asked = ["ndcg@10", "ap", "rr", "precision@5"]
    truth = rs.columns(query=ids(np.repeat(judged, 3)), item=np.tile([1, 5, 9], len(judged)))
    stream = rs.Stream(truth, asked)
    for step in (stream.first_pass, stream.second_pass):
        for part in np.array_split(np.arange(len(rows)), 7):
            step(rs.columns(query=ids(query[part]), item=item[part], score=score[part]))
    whole = rs.evaluate(truth, rs.columns(query=ids(query), item=item, score=score), asked)
    found = stream.compute()
    assert dict(found) == dict(whole)
    assert found.account.missing == whole.account.missing
