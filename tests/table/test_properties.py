"""What holds for every metric, whatever its name."""

import copy
import random
import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import rankstone as rs
from rankstone.evaluate import plan

from .cases import built_in, fitting, metrics

ROWS = list(built_in().values())
every_metric = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


def same(one, other):
    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def cut(draw, row, ks=(None, 1, 2, 5)):
    """The metric with its defaults, perhaps cut."""
    k = draw(st.sampled_from(ks)) if row.takes_k else None
    return rs.Metric(row.name, k)


@every_metric
@given(data=st.data())
def test_bounds(row, data):
    truth, run = data.draw(fitting(row))
    metric = cut(data.draw, row)
    values = rs.evaluate(truth, run, metric, ties=data.draw(st.sampled_from(("item_desc", "optimistic")))).per_query[metric]
    low, high = row.bounds
    assert ((values >= low - 1e-12) & (values <= high + 1e-12) | np.isnan(values)).all()


@every_metric
@given(data=st.data())
def test_row_order_does_not_matter(row, data):
    """An order of equal grades in the truth is an opinion about the items, so for agreement the truth stays."""
    truth, run = data.draw(fitting(row))
    assume(all(isinstance(side, dict) for side in (*truth.values(), *run.values())))
    rng = random.Random(data.draw(st.integers(0, 9)))

    def shuffled(scores):
        return dict(rng.sample(list(scores.items()), len(scores)))

    other_truth = {query: grades if row.kind == "agreement" else shuffled(grades) for query, grades in truth.items()}
    other_run = shuffled({query: shuffled(scores) for query, scores in run.items()})
    metric = cut(data.draw, row)
    for ties in ("item_desc", "item_asc"):
        one, other = rs.evaluate(truth, run, metric, ties=ties), rs.evaluate(other_truth, other_run, metric, ties=ties)
        same(one.per_query[metric], other.per_query[metric])
        same(one[metric], other[metric])


@every_metric
@given(data=st.data())
def test_appending_unjudged_items_never_helps(row, data):
    truth, run = data.draw(fitting(row))
    metric = cut(data.draw, row)
    text = any(isinstance(item, str) for side in (*truth.values(), *run.values()) for item in side)
    new = ("new-1", "new-2") if text else (10**6, 10**6 + 1)

    def appended(scores):
        if not isinstance(scores, dict):
            return [*scores, *new]
        last = min([0.0, *scores.values()])
        return {**scores, new[0]: last - 1, new[1]: last - 2}

    longer = {query: appended(scores) for query, scores in run.items()}
    one, other = (rs.evaluate(truth, each, metric, undefined=0).per_query[metric] for each in (run, longer))
    if row.better == "higher":
        assert (np.nan_to_num(other) <= np.nan_to_num(one) + 1e-12).all()
    if row.better == "lower":
        assert (np.nan_to_num(other) >= np.nan_to_num(one) - 1e-12).all()


@every_metric
@given(data=st.data())
def test_cutoff_past_the_end(row, data):
    """A cutoff deeper than every list leaves what was earned as it is without one."""
    assume(row.takes_k)
    truth, run = data.draw(fitting(row))
    whole = rs.Metric(row.name)
    deep = [whole @ k for k in (20, 10**9)]
    result = rs.evaluate(truth, run, [whole, *deep])
    for metric in deep:
        same(result.ratio(metric).numerator, result.ratio(whole).numerator)
        assert np.isfinite(result.per_query[metric]).all()


@every_metric
@pytest.mark.parametrize("grades", [{}, {"a": 0}, {"a": 0, "b": 0, "z": 0}, {"a": -1}])
@pytest.mark.parametrize("scores", [{}, {"a": 0.5}, {"a": 0.5, "b": 0.5, "c": 0.25}])
def test_nothing_relevant(row, grades, scores):
    """No warning, no infinity, and the choice decides wherever nothing could be earned."""
    metric = rs.Metric(row.name, 2 if row.takes_k else None)
    truth, run = {"q": grades}, {"q": scores}
    averaging = {"averaging": "macro"}
    result = rs.evaluate(truth, run, metric, undefined=0.25, **averaging)
    empty = bool(result.ratio(metric).denominator[0] == 0)
    value = result.per_query[metric][0]
    assert np.isfinite(value)
    assert value == result[metric]
    if not empty:
        return
    assert value == 0.25
    assert np.isnan(rs.evaluate(truth, run, metric, undefined="nan", **averaging)[metric])
    assert rs.evaluate(truth, run, metric, undefined="skip", no_queries=0, **averaging)[metric] == 0
    with pytest.raises(ValueError, match="nothing could be earned"):
        rs.evaluate(truth, run, metric, undefined="error", **averaging)


@every_metric
@given(data=st.data())
def test_zero_grades_may_go_where_the_metric_says_so(row, data):
    """Items judged 0 are not even read where they cannot matter; so adding or dropping them must change nothing."""
    truth, run = data.draw(fitting(row))
    metric, _, _ = data.draw(metrics(row.name))
    choices = {
        "threshold": data.draw(st.sampled_from((1, 2, ">0", 0.5))),
        "ties": data.draw(st.sampled_from(("item_desc", "optimistic", "pessimistic"))),
    }
    assume(not plan(metric, "rankstone", choices)[0].zeros)
    without = {
        query: {item: grade for item, grade in grades.items() if grade} if isinstance(grades, dict) else grades
        for query, grades in truth.items()
    }
    one, other = rs.evaluate(truth, run, metric, **choices), rs.evaluate(without, run, metric, **choices)
    same(one.per_query[metric], other.per_query[metric])
    same(one[metric], other[metric])


@every_metric
@given(data=st.data())
def test_other_metrics_beside_it_change_nothing(row, data):
    truth, run = data.draw(fitting(row))
    metric, _, _ = data.draw(metrics(row.name))
    beside = [data.draw(st.sampled_from([one.name for one in ROWS if one.kind != "ratings"])) for _ in range(2)]
    both_empty = data.draw(st.sampled_from((None, 1)))
    alone = rs.evaluate(truth, run, metric, both_empty=both_empty)
    among = rs.evaluate(truth, run, [*beside, metric], both_empty=both_empty)
    same(alone.per_query[metric], among.per_query[metric])
    same(alone[metric], among[metric])


@every_metric
@given(data=st.data())
def test_mean_is_over_the_queries_that_count(row, data):
    truth, run = data.draw(fitting(row))
    metric = cut(data.draw, row)
    result = rs.evaluate(truth, run, metric, averaging="macro", undefined="skip")
    values = result.per_query[metric]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the mean of nothing
        same(result[metric], np.nanmean(values))


@every_metric
@given(data=st.data())
def test_data_is_left_alone(row, data):
    truth, run = data.draw(fitting(row))
    before = copy.deepcopy((truth, run))
    order = [list(side) for side in (truth, run, *truth.values(), *run.values())]
    result = rs.evaluate(truth, run, rs.Metric(row.name))
    assert (truth, run) == before
    assert [list(side) for side in (truth, run, *truth.values(), *run.values())] == order
    queries, values = list(result.queries), result.per_query[row.name].copy()
    truth.clear()
    run.clear()
    assert list(result.queries) == queries
    np.testing.assert_array_equal(result.per_query[row.name], values)
