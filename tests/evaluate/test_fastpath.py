"""Small calls go through the core at once; whatever they are asked for later is the same as by the long way."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankstone as rs
from rankstone.conventions.convention import takes
from rankstone.evaluate.fastpath import compiled_for
from rankstone.evaluate.measurement import evaluate_source
from rankstone.evaluate.pipeline import open_source
from rankstone.metrics import declared

from ..table.cases import fed, fitting, metrics
from ..table.test_definition import GENERAL, ORDERS, choices

TRUTH = {"u1": {"i1": 1, "i2": 1, "i4": 1}, "u2": {"a": 2, "b": 0}}
RUN = {"u1": {"i1": 10.0, "i3": 8.0, "i2": 6.0}, "u2": {"b": 1.0, "a": 1.0}, "u3": {"a": 1.0}}
SEVERAL = ["ndcg@10", "ap", "rr", "recall@2", "bpref"]


def told(call):
    """What is answered and warned of, or the error."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = call()
        except (ValueError, TypeError) as error:
            return type(error), str(error)
    values = {label: values.tolist() for label, values in found.per_query.items()}
    return repr((dict(found), values, list(found.queries), found.account)), [str(one.message) for one in said]


@pytest.mark.parametrize("name", sorted(fed()))
@given(data=st.data())
def test_as_by_the_long_way(name, data):
    truth, run = data.draw(fitting(declared()[name].kind))
    metric, _, _ = data.draw(metrics(name, refusing=True))
    values = dict(GENERAL, ties=ORDERS, duplicates=("error", "first"))
    chosen = data.draw(choices(**{one: some for one, some in values.items() if takes(metric, one)}))
    long_way = told(lambda: evaluate_source(open_source(truth, run), metric, "rankstone", None, 1, chosen))
    assert told(lambda: rs.evaluate(truth, run, metric, **chosen)) == long_way
    assert told(lambda: rs.Evaluator(metric, **chosen)(truth, run)) == long_way


def is_swift(result):
    return result._later is not None


def test_small_calls_make_no_arrays():
    result = rs.evaluate(TRUTH, RUN, SEVERAL)
    assert is_swift(result)
    assert result["ap"] == ((1 / 1 + 2 / 3) / 3 + 1 / 2) / 2  # of the tied ones, b stands before a
    assert is_swift(result)
    assert len(result) == 5
    assert list(result) == SEVERAL
    assert result.per_query["rr"].tolist() == [1.0, 0.5]
    assert result._later is None


def test_what_is_told_later_is_of_what_was_given_then():
    truth, run = copy.deepcopy(TRUTH), copy.deepcopy(RUN)
    first = rs.evaluate(truth, run, SEVERAL)
    run["u1"] = {"x": 1.0}
    truth["u9"] = truth.pop("u2")
    wanted = rs.evaluate(TRUTH, RUN, SEVERAL)
    assert list(first.queries) == ["u1", "u2"]
    assert first.per_query["ap"].tolist() == wanted.per_query["ap"].tolist()
    assert first.to_dict() == wanted.to_dict()
    assert first.account.extra == 1


def test_saved_and_copied():
    result = rs.evaluate(TRUTH, RUN, SEVERAL)
    back = pickle.loads(pickle.dumps(result))
    assert dict(back) == dict(result)
    assert back.to_dict() == result.to_dict()
    assert dict(copy.copy(rs.evaluate(TRUTH, RUN, SEVERAL))) == dict(result)
    assert "0." in str(rs.evaluate(TRUTH, RUN, "ap")._with_intervals())


def test_long_lists_and_far_cutoffs():
    """Tables of discounts reach as far as short lists; others go the long way."""
    rng = np.random.default_rng(0)
    for length in (1023, 1024, 1025, 3000):
        run = {"q": {f"d{i}": float(score) for i, score in enumerate(rng.random(length))}}
        truth = {"q": {f"d{i}": 1 for i in range(0, length, 3)}}
        for metric in ("ndcg", "ndcg@5000", "rbp", "ndcg@1024", "ndcg(ideal='ones')@1000000"):
            long_way = evaluate_source(open_source(truth, run), metric, "rankstone", None, 1, {})
            assert rs.evaluate(truth, run, metric)[metric] == long_way[metric]


def test_one_list():
    assert rs.precision(["a", "b"], truth=["a"]) == 1 / 2
    assert rs.precision(["a", "b"], truth=["x"]) == 0
    assert rs.precision(("a", "b"), truth={"a", "b"}, k=2) == 1
    assert rs.precision({"a": 2.0, "b": 3.0}, truth={"a": 2}, k=1) == 0
    assert rs.precision([], truth=["a"], k=1) == 0
    with pytest.raises(TypeError, match="truth items are strings but run items are integers"):
        rs.precision([1, 2], truth=["1"])
    with pytest.raises(TypeError, match="in the list is not an item id"):
        rs.precision([1, 2.5], truth=[1])
    with pytest.raises(TypeError, match="in the list is not an item id"):
        rs.precision([1, np.float64(2.5)], truth=[1])
    with pytest.raises(ValueError, match="'a' appears twice"):
        rs.precision(["a", "b", "a"], truth=["a"])
    with pytest.raises(ValueError, match="would leave none of them"):
        rs.precision(["a"], truth=["a"], threshold=2)


def test_evaluator():
    evaluator = rs.Evaluator(["ndcg@{5,10}", rs.ap], threshold=2)
    assert evaluator.metrics == ("ndcg@5", "ndcg@10", "ap")
    assert repr(evaluator) == "Evaluator of ndcg@5, ndcg@10, ap"
    wanted = rs.evaluate(TRUTH, RUN, ["ndcg@{5,10}", "ap"], threshold=2)
    assert dict(evaluator(TRUTH, RUN)) == dict(wanted)
    table = rs.columns(query=["u1"], item=["i1"], grade=[2]), rs.columns(query=["u1"], item=["i1"], score=[1.0])
    assert evaluator(*table)["ap"] == 1
    weighted = rs.Evaluator("ap")(TRUTH, RUN, weights={"u1": 1, "u2": 0})
    assert weighted["ap"] == (1 / 1 + 2 / 3) / 3
    with pytest.raises(ValueError, match=r"gain= is a parameter of .*, not of ap"):
        rs.Evaluator("ap", gain="exp2")
    with pytest.raises(ValueError, match="unknown metric"):
        rs.Evaluator("npcg")


def test_a_plan_is_kept():
    assert compiled_for(["ap"], "rankstone", {}) is compiled_for(["ap"], "rankstone", {})
    assert compiled_for(["ap"], "rankstone", {"threshold": [1]}) is None
    assert is_swift(rs.evaluate(TRUTH, RUN, "ap", convention="hivemall"))
    assert not is_swift(rs.evaluate(TRUTH, RUN, "ap", weights={"u1": 1, "u2": 2}))
    assert not is_swift(rs.evaluate(TRUTH, RUN, "kendall"))


GRADES = st.lists(st.sampled_from((0, 1, 2, 3.5, -1)), min_size=1, max_size=8)


@pytest.mark.filterwarnings("ignore::rankstone.errors.UndefinedWarning")
@given(data=st.data(), name=st.sampled_from(("ndcg", "ap", "rr", "auc", "err", "bpref", "kendall", "rmse")))
@pytest.mark.filterwarnings("ignore::rankstone.errors.UndefinedWarning")  # random labels may be all relevant
def test_lists_of_labels_as_arrays_of_them(data, name):
    labels = data.draw(GRADES)
    scores = data.draw(st.sampled_from((None, [data.draw(st.sampled_from((0.5, 1.5, -2))) for _ in labels])))
    chosen = {"ties": data.draw(st.sampled_from(ORDERS))}

    def measured(kind):
        try:
            return rs.metrics[name](labels=kind(labels), scores=None if scores is None else kind(scores), **chosen)
        except (TypeError, ValueError) as error:
            return type(error), str(error)

    assert repr(measured(list)) == repr(measured(np.array))


def test_labels_that_are_none():
    for labels in ([1, float("nan")], [1, float("inf")]):
        with pytest.raises(ValueError, match=r"ndcg: labels: (nan|inf) at position 2"):
            rs.ndcg(labels=labels)
    with pytest.raises(ValueError, match="2 labels but 1 scores"):
        rs.ndcg(labels=[1, 2], scores=[1])
    with pytest.raises(ValueError, match="column 1: score is nan"):
        rs.ndcg(labels=[1, 2], scores=[1.0, float("nan")])
    with pytest.raises((TypeError, ValueError), match="could not convert"):
        rs.ndcg(labels=[1, "x"])
