"""What holds for every metric, whatever its name. One example is tried on all of them at once."""

import copy
import random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import rankstone as rs
from rankstone.conventions.plan import make_plans

from .cases import fed, fitting, metrics

ROWS = list(fed().values())
# Predicted ratings need other data than everything else.
GROUPS = {
    "ratings": [row for row in ROWS if row.kind == "ratings"],
    "ranked": [row for row in ROWS if row.kind != "ratings"],
}
both_groups = pytest.mark.parametrize("group", GROUPS)
every_metric = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


def cuts(row, ks=(None, 1, 2, 5)):
    """The metric with its defaults, and cut."""
    return [rs.authoring.Metric(row.name, k) for k in (ks if row.takes_k else (None,))]


def evaluate(group, truth, run, **choices):
    return rs.evaluate(truth, run, [metric for row in GROUPS[group] for metric in cuts(row)], **choices)


def same(one, other, what):
    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12, err_msg=str(what))


def same_results(one, other):
    assert list(one) == list(other)
    for metric in one:
        same(one.per_query[metric], other.per_query[metric], metric)
        same(one[metric], other[metric], metric)


def test_groups_are_whole():
    assert sum(map(len, GROUPS.values())) == len(ROWS) > 30


@both_groups
@given(data=st.data())
def test_bounds(group, data):
    result = evaluate(group, *data.draw(fitting(group)), ties=data.draw(st.sampled_from(("item_desc", "optimistic"))))
    for row in GROUPS[group]:
        low, high = row.bounds
        for metric in cuts(row):
            values = result.per_query[metric]
            inside = (values >= low - 1e-12) & (values <= high + 1e-12) | np.isnan(values)
            assert inside.all(), (metric, values)


@both_groups
@given(data=st.data())
def test_row_order_does_not_matter(group, data):
    truth, run = data.draw(fitting(group))
    assume(all(isinstance(side, dict) for side in (*truth.values(), *run.values())))
    rng = random.Random(data.draw(st.integers(0, 9)))

    def shuffled(scores):
        return dict(rng.sample(list(scores.items()), len(scores)))

    other_run = shuffled({query: shuffled(scores) for query, scores in run.items()})
    other_truth = {query: shuffled(grades) for query, grades in truth.items()}
    ties = data.draw(st.sampled_from(("item_desc", "item_asc")))
    same_results(evaluate(group, truth, run, ties=ties), evaluate(group, other_truth, other_run, ties=ties))


@both_groups
@given(data=st.data())
def test_appending_unjudged_items_never_helps(group, data):
    """Agreement is left out: a longer list says more about the order, and may so be found to agree better."""
    truth, run = data.draw(fitting(group))
    text = any(isinstance(item, str) for side in (*truth.values(), *run.values()) for item in side)
    new = ("new-1", "new-2") if text else (10**6, 10**6 + 1)

    def appended(scores):
        if not isinstance(scores, dict):
            return [*scores, *new]
        last = min([0.0, *scores.values()])
        return {**scores, new[0]: last - 1, new[1]: last - 2}

    longer = {query: appended(scores) for query, scores in run.items()}
    before, after = (evaluate(group, truth, one, undefined=0) for one in (run, longer))
    for row in GROUPS[group]:
        for metric in cuts(row):
            gain = np.nan_to_num(after.per_query[metric]) - np.nan_to_num(before.per_query[metric])
            if row.better != "neither" and row.kind != "agreement":
                assert ((gain if row.better == "higher" else -gain) <= 1e-12).all(), metric


@given(data=st.data())
def test_cutoff_past_the_end(data):
    """A cutoff deeper than every list leaves what was earned as it is without one."""
    truth, run = data.draw(fitting("ranked"))
    some = [rs.authoring.Metric(row.name) for row in GROUPS["ranked"] if row.takes_k]
    result = rs.evaluate(truth, run, [*some, *(metric @ k for metric in some for k in (20, 10**9))])
    for metric in some:
        for k in (20, 10**9):
            same(
                result._measurement.ratio(str(metric @ k)).numerator,
                result._measurement.ratio(str(metric)).numerator,
                metric @ k,
            )
            assert np.isfinite(result.per_query[metric @ k]).all(), metric @ k


@every_metric
@pytest.mark.parametrize("grades", [{}, {"a": 0}, {"a": 0, "b": 0, "z": 0}, {"a": -1}], ids=str)
@pytest.mark.parametrize("scores", [{}, {"a": 0.5}, {"a": 0.5, "b": 0.5, "c": 0.25}], ids=str)
def test_nothing_relevant(row, grades, scores):
    """No warning, no infinity, and the choice decides wherever the value is undefined."""
    metric = cuts(row)[-1]
    truth, run = {"q": grades}, {"q": scores}
    result = rs.evaluate(truth, run, metric, undefined=0.25, averaging="macro")
    value = result.per_query[metric][0]
    assert np.isfinite(value)
    assert value == result[metric]
    if result._measurement.ratio(str(metric)).denominator[0] != 0:
        return
    assert value == 0.25
    assert np.isnan(rs.evaluate(truth, run, metric, undefined="nan", averaging="macro")[metric])
    assert rs.evaluate(truth, run, metric, undefined="skip", no_queries=0, averaging="macro")[metric] == 0
    with pytest.raises(ValueError, match="the value is undefined"):
        rs.evaluate(truth, run, metric, undefined="error", averaging="macro")


@pytest.mark.parametrize(
    "row", [row for row in ROWS if not row.reads_zero_grades(row.defaults)], ids=lambda row: row.name
)
@given(data=st.data())
def test_zero_grades_may_go_where_the_metric_says_so(row, data):
    """Items judged 0 are not even read where they cannot matter; so adding or dropping them must change nothing."""
    truth, run = data.draw(fitting("ranked"))
    metric, _, _ = data.draw(metrics(row.name))
    choices = {
        "threshold": data.draw(st.sampled_from((1, 2, ">0", 0.5))),
        "ties": data.draw(st.sampled_from(("item_desc", "optimistic", "pessimistic"))),
    }
    assume(not make_plans(metric, "rankstone", choices)[0].zeros)
    assume(choices["threshold"] != 2 or any(isinstance(grades, dict) for grades in truth.values()))
    without = {
        query: {item: grade for item, grade in grades.items() if grade} if isinstance(grades, dict) else grades
        for query, grades in truth.items()
    }
    same_results(rs.evaluate(truth, run, metric, **choices), rs.evaluate(without, run, metric, **choices))


@every_metric
@given(data=st.data())
def test_other_metrics_beside_it_change_nothing(row, data):
    truth, run = data.draw(fitting(row.kind))
    metric, _, _ = data.draw(metrics(row.name))
    side_info = [one.name for one in GROUPS["ranked"]]
    choices = {
        "both_empty": data.draw(st.sampled_from((None, 1))),
        "ties": data.draw(st.sampled_from(("input", "optimistic"))),
    }
    alone, among = rs.evaluate(truth, run, metric, **choices), rs.evaluate(truth, run, [*side_info, metric], **choices)
    same(alone.per_query[metric], among.per_query[metric], metric)
    same(alone[metric], among[metric], metric)


@both_groups
@given(data=st.data())
def test_mean_is_over_the_queries_that_count(group, data):
    result = evaluate(group, *data.draw(fitting(group)), averaging="macro", undefined="skip")
    for metric in result:
        counted = result.per_query[metric][~np.isnan(result.per_query[metric])]
        same(result[metric], counted.sum() / len(counted) if len(counted) else np.nan, metric)


@both_groups
@given(data=st.data())
def test_data_is_left_alone(group, data):
    truth, run = data.draw(fitting(group))
    before = copy.deepcopy((truth, run))
    order = [list(side) for side in (truth, run, *truth.values(), *run.values())]
    result = evaluate(group, truth, run)
    assert (truth, run) == before
    assert [list(side) for side in (truth, run, *truth.values(), *run.values())] == order
    queries, means = list(result.queries), dict(result)
    values = {metric: result.per_query[metric].copy() for metric in result}
    truth.clear()
    run.clear()
    assert list(result.queries) == queries
    np.testing.assert_equal(dict(result), means)
    for metric in result:
        np.testing.assert_array_equal(result.per_query[metric], values[metric])
