"""What other projects' own tests expect, recorded from those projects; `suites.py` says how it is asked."""

import pytest

import rankstone as rs

from .recorded import read, same
from .suites import CALLS, LEFT_OUT, left_out, measures_of

# XGBoost's are written as in its code.
TOLERANCES = {"kRtEps": 1e-6, "1.f - 0.001f": 1 - 0.001, "0.001f": 0.001, "1e-7": 1e-7, "1e-10": 1e-10}
# values compared, all of them equal
COMPARED = {"catboost": 29, "hivemall": 35, "ir_measures": 405, "spark": 48, "xgboost": 26}


def check(case):
    tolerance = case.get("abs_tol", case.get("tol", 1e-6))
    for found, expected in CALLS[case["suite"]](case):
        assert same(found, expected, TOLERANCES.get(tolerance, tolerance)), f"{found!r} is not {expected!r}"


@pytest.mark.recorded("catboost.jsonl")
def test_catboost(case):
    check(case)


@pytest.mark.recorded("hivemall.jsonl")
def test_hivemall(case):
    check(case)


@pytest.mark.recorded("ir_measures.jsonl")
def test_ir_measures(case):
    check(case)


@pytest.mark.recorded("spark.jsonl")
def test_spark(case):
    check(case)


@pytest.mark.recorded("xgboost.jsonl")
def test_xgboost(case):
    check(case)


@pytest.mark.parametrize("suite", CALLS)
def test_how_many_are_compared(suite):
    assert sum(len(list(CALLS[suite](case))) for case in read(f"{suite}.jsonl")) == COMPARED[suite]


@pytest.mark.recorded("ir_measures.jsonl")
def test_what_is_left_out_is_there_and_has_no_metric(recorded):
    found = {left_out(measure) for case in recorded for measure in measures_of(case)} - {None}
    assert found == {(reason, word) for reason, words in LEFT_OUT for word in words}
    for _, word in found:
        with pytest.raises(ValueError, match=r"unknown metric|cannot read|not a metric"):
            rs.authoring.Metric.parse(word)
