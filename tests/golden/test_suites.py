"""What other projects' own tests expect, recorded from those projects."""

import pytest

import rankstone as rs

HIVEMALL = {
    "nDCG": rs.ndcg,
    "Recall": rs.recall,
    "Precision": rs.precision,
    "ReciprocalRank": rs.rr,
    "Hit": rs.hit_rate,
    "AveragePrecision": rs.ap,
    "AUC": rs.auc,
}


@pytest.mark.recorded("hivemall.jsonl")
def test_hivemall(case):
    metric, (ranked, truth, k) = HIVEMALL[case["metric"]], case["args"]
    if any(isinstance(one, float) for one in ranked):  # the graded measure: lists of grades
        value = metric(labels=ranked, truth=truth, k=k, ideal_depth="k", convention="hivemall-0.5")
    else:
        value = metric(ranked, truth, k=k, convention="hivemall-0.5")
    assert value == pytest.approx(case["expected"], abs=case["abs_tol"], rel=0)
