"""Conventions: named sets of choices, which the caller's own words override."""

import math
import pickle

import numpy as np
import pyarrow as pa
import pytest

import rankstone as rs
from rankstone.conventions.convention import check_choices

TRUTH = {"q": {"a": 1, "b": 2, "c": 1}, "r": {"d": 1}}
RUN = {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}


def test_default_is_rankstone():
    assert rs.evaluate(TRUTH, RUN, "ap")._measurement.convention == rs.conventions["rankstone"]
    assert dict(rs.conventions["rankstone"].choices) == {}


def test_by_name_or_value():
    one = rs.evaluate(TRUTH, RUN, "ap", convention="trec_eval-9")
    other = rs.evaluate(TRUTH, RUN, "ap", convention=rs.conventions["trec_eval-9"])
    assert one["ap"] == other["ap"] == pytest.approx((1 / 1 + 2 / 3) / 3)  # r is missing and left out
    assert rs.evaluate(TRUTH, RUN, "ap")["ap"] == pytest.approx((1 / 1 + 2 / 3) / 3 / 2)


def test_all_of_them_are_listed_and_work():
    known = rs.conventions
    assert {"rankstone", "trec_eval", "hivemall", "python-recsys"} <= set(known)
    for name, convention in known.items():
        assert rs.conventions[name] is convention
        result = rs.evaluate(
            {"q": {"a": 1, "b": 2}}, {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}, ["ap@2", "ndcg@2"], convention=name
        )
        assert result.definitions["ap@2"].cite.endswith(f"convention {name}")
    with pytest.raises(TypeError, match="does not support item assignment"):
        known["mine"] = known["ranx"]
    with pytest.raises(KeyError, match="did you mean 'trec_eval'"):
        known["treceval"]


def test_the_callers_words_come_first():
    result = rs.evaluate(TRUTH, RUN, "ap", convention="trec_eval-9", missing="zero")
    assert result["ap"] == pytest.approx((1 / 1 + 2 / 3) / 3 / 2)
    result = rs.evaluate(TRUTH, RUN, "ap(missing='zero')", convention="trec_eval-9")
    assert result["ap(missing='zero')"] == pytest.approx((1 / 1 + 2 / 3) / 3 / 2)
    # hivemall-0.5 divides AP by what was found: its own word for ap gives way to the caller's general one.
    assert rs.evaluate(TRUTH, RUN, "ap@1", convention="hivemall-0.5").per_query["ap@1"][0] == pytest.approx(1 / 1)
    result = rs.evaluate(TRUTH, RUN, rs.ap(divisor="relevant") @ 1, convention="hivemall-0.5")
    assert result.per_query["ap(divisor='relevant')@1"][0] == pytest.approx(1 / 3)


def test_with_choices():
    """The same convention with some choices made otherwise."""
    changed = rs.conventions["trec_eval-9"].with_choices(missing="zero", threshold=2)
    assert changed.name == "trec_eval-9 with missing='zero', threshold=2"
    assert changed.choices["score_precision"] == "float32"
    assert rs.evaluate(TRUTH, RUN, "ap", convention=changed)["ap"] == pytest.approx((1 / 3) / 1 / 2)
    assert rs.conventions["trec_eval-9"].choices["missing"] == "skip"
    assert rs.conventions["trec_eval-9"].with_choices() is rs.conventions["trec_eval-9"]
    with pytest.raises(ValueError, match="unknown choice 'colour'"):
        changed.with_choices(colour=1)
    with pytest.raises(ValueError, match="missing='x'; choose from"):
        changed.with_choices(missing="x")


def test_two_changed_conventions_are_not_mixed_up():
    one, other = (rs.conventions["rankstone"].with_choices(threshold=threshold) for threshold in (1, 2))
    assert one != other
    values = [rs.evaluate(TRUTH, RUN, "recall", convention=each).per_query["recall"][0] for each in (one, other, one)]
    assert values == pytest.approx([2 / 3, 1 / 1, 2 / 3])


def test_choices_cannot_be_changed():
    with pytest.raises(TypeError):
        rs.conventions["rankstone"].choices["ties"] = "input"
    with pytest.raises(TypeError):
        rs.choices["ties"] = None


def test_a_metrics_own_way_stands_before_a_conventions_general_word():
    """Ratings are pooled, and queries without any are skipped, whatever a convention says of queries in general."""
    convention = rs.conventions["rankstone"].with_choices(undefined=1, averaging="macro")
    run = {"q": {"a": 2.0}, "r": {"x": 1.0}}
    assert rs.evaluate(TRUTH, run, "mae", convention=convention)["mae"] == pytest.approx(1 / 1)
    assert rs.evaluate(TRUTH, run, "mae", convention=convention, averaging="macro", undefined=1)[
        "mae"
    ] == pytest.approx((1 / 1 + 1) / 2)


@pytest.mark.parametrize("name", list(rs.choices))
def test_every_choice_says_what_it_is(name):
    choice = rs.choices[name]
    assert choice.stage in ("align", "metric", "mean")
    assert choice.meaning
    if choice.allowed:
        assert choice.default in choice.allowed or choice.numbers
        for value in choice.allowed:
            rs.conventions["rankstone"].with_choices(**{name: value})


@pytest.mark.parametrize("name", list(rs.conventions))
def test_every_preset_is_made_of_choices(name):
    convention = rs.conventions[name]
    assert check_choices(convention.choices) == dict(convention.choices)
    assert convention.summary
    assert pickle.loads(pickle.dumps(convention)) == convention
    if convention.undefined_order or convention.not_reproduced:
        assert convention.library, "only what was measured can be said to differ"


def test_a_choice_for_a_metric_with_a_cutoff():
    """ir_measures orders equal scores one way for RR and the other way for RR@k."""
    truth, run = {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}
    result = rs.evaluate(truth, run, ["rr", "rr@2"], convention="ir_measures")
    assert dict(result) == {"rr": 1 / 2, "rr@2": 1 / 1}


def test_depth_where_none_is_given():
    run = {"q": [*range(40)]}
    result = rs.evaluate({"q": [35]}, run, ["ap", "ap@40", "rr"], convention="xgboost")
    assert dict(result) == {"ap": 0.0, "ap@40": pytest.approx(1 / 36), "rr": pytest.approx(1 / 36)}


@pytest.mark.parametrize("items", [["a", "b", "c"], ["a", "a", "b"]], ids=["once", "twice"])
def test_rules_for_what_is_there_twice_hold_for_each_metric(items):
    """RePlay counts an item given twice once in precision, and twice in ap; all of it in one call."""
    truth, asked = {"q": ["a", "b"]}, ["precision@3", "ap@3", "ndcg@3"]
    together = rs.evaluate(truth, {"q": items}, asked, convention="replay")
    assert dict(together) == {one: rs.evaluate(truth, {"q": items}, one, convention="replay")[one] for one in asked}
    assert together["precision@3"] == pytest.approx(2 / 3)
    assert together["ap@3"] == pytest.approx((1 / 1 + 2 / 2) / 2 if items[1] == "b" else (1 / 1 + 2 / 2 + 3 / 3) / 2)


# -- the ideal list as given -------------------------------------------------------------------------------------

RECREL = {"itemid": [1, 3, 2, 6, 4], "score": [10.0, 8.0, 6.0, 2.0, 1.0], "relscore": [5.0, 2.0, 4.0, 1.0, 3.0]}
PRINTED = {2: 0.8128912838590544, 3: 0.9187707805346093}  # as Hivemall's manual prints them
DCG_2 = 31 + 3 / math.log2(3)  # of grades 5 and 2


def recrel(order):
    columns = {name: [values[at] for at in order] for name, values in RECREL.items()}
    return pa.table({"userid": [1] * 5, **columns})


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (1, 4, 0, 3, 2)])
@pytest.mark.parametrize("k", PRINTED)
def test_rows_are_no_order_of_grades(order, k):
    """Neither those of a table nor those of a dict; the ideal list is that of the grades in descending order."""
    table = recrel(order)
    found = rs.evaluate(table, metrics=f"ndcg@{k}", convention="hivemall")
    assert found[f"ndcg@{k}"] == pytest.approx(PRINTED[k], rel=1e-15)
    grades = dict(zip(*(table.column(name).to_pylist() for name in ("itemid", "relscore")), strict=True))
    found = rs.ndcg([1, 3, 2, 6, 4], truth=grades, k=k, convention="hivemall")
    assert found == pytest.approx(PRINTED[k], rel=1e-15)


def test_labels_in_ranked_order_are_no_ideal_list():
    assert rs.ndcg(labels=[0, 0, 5], k=3, convention="hivemall") == 1 / 2
    assert rs.evaluate(np.array([[0, 0, 5]]), np.array([[3.0, 2, 1]]), "ndcg@3", convention="hivemall")["ndcg@3"] == 0.5


def test_a_list_of_grades_is_in_the_callers_order():
    """Beside labels, and in list columns; the value can then exceed 1."""
    ideal = 3 + 31 / math.log2(3)
    one = rs.ndcg(labels=[5, 2, 4], truth=[2, 5, 4, 1, 3], k=2, convention="hivemall")
    assert one == pytest.approx(DCG_2 / ideal, rel=1e-15)
    assert one > 1
    truth = rs.lists([[3, 1, 2]], grades=[[2, 5, 4]])
    found = rs.evaluate(truth, rs.lists([[1, 3, 2]]), "ndcg@2", convention="hivemall")
    assert found["ndcg@2"] == pytest.approx(DCG_2 / ideal, rel=1e-15)


def test_an_accumulator_keeps_orders_of_grades_apart():
    batches = rs.Accumulator("ndcg@2", convention="hivemall")
    batches.update(rs.lists([[3, 1]], grades=[[2, 5]]), rs.lists([[1, 3]]))
    with pytest.raises(ValueError, match="some truths are orders of items and some are not"):
        batches.update(np.array([[0, 1]]), np.array([[2.0, 1.0]]))


def test_choices_and_conventions_are_readable():
    """One line each, in a terminal and in a notebook."""
    lines = repr(rs.choices).splitlines()
    assert len(lines) == len(rs.choices)
    assert lines[0].startswith(
        "ties: tie-breaking: the order of items with equal scores; 'item_desc' (default), 'item_asc', 'input'"
    )
    for listing in (rs.choices, rs.conventions, rs.metrics):
        assert repr(listing).count("\n") == len(listing) - 1
        assert listing._repr_html_().count("<tr>") == len(listing)
