"""`rs.fuse.tune`: weights and parameters chosen on folds, and reported on the rest."""

import numpy as np
import pytest

import rankstone as rs

truth, runs, *_ = rs.example()


def test_the_best_is_the_best_of_all():
    tuned = rs.fuse.tune(runs, truth, "ndcg@10", parameters={"k": [10, 60]})
    assert rs.fusion.tune is rs.fuse.tune
    for of in tuned.candidates[:3]:
        fused = rs.fuse(runs, of.method, weights=of.weights, **of.parameters)
        assert rs.evaluate(truth, fused, "ndcg@10")["ndcg@10"] == pytest.approx(of.mean, abs=1e-12)
    assert tuned.best == tuned.candidates[0]
    assert tuned.best.mean == max(of.mean for of in tuned.candidates)
    assert rs.evaluate(truth, tuned.run, "ndcg@10")["ndcg@10"] == pytest.approx(tuned.best.mean)
    assert tuned.untuned == pytest.approx(rs.evaluate(truth, rs.fuse(runs, k=10), "ndcg@10")["ndcg@10"])
    assert tuned.single == ("hybrid", pytest.approx(rs.evaluate(truth, runs["hybrid"], "ndcg@10")["ndcg@10"]))
    assert tuned.low < tuned.expected < tuned.high
    assert tuned.expected < tuned.best.mean
    assert (tuned.queries, tuned.folds) == (60, 5)
    assert len(tuned.candidates) == 2 * (63 + 1)  # ten steps among three runs, none of them alone


def test_what_is_expected_is_what_selection_says():
    ways = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    tuned = rs.fuse.tune(runs, truth, "rr", weights=ways, folds=3, seed=4)
    values = [rs.evaluate(truth, rs.fuse(runs, weights=way), "rr").per_query["rr"] for way in ways]
    best = rs.statistics.selection(np.column_stack(values), folds=3, seed=4)
    assert (tuned.expected, tuned.low, tuned.high) == best[2:5]
    assert tuned.best.weights == dict(zip(runs, map(float, ways[best.best]), strict=True))


def test_methods_without_weights():
    tuned = rs.fuse.tune(runs, truth, "rr", method=["isr", "borda"], weights=False, parameters={"depth": [3, 10]})
    assert [of.weights for of in tuned.candidates] == [None] * 4
    assert {of.method for of in tuned.candidates} == {"isr", "borda"}


def test_files(tmp_path):
    rs.write_truth(truth, tmp_path / "truth.qrels")
    for name, run in runs.items():
        rs.write_run(run, tmp_path / f"{name}.run")
    files = {name: tmp_path / f"{name}.run" for name in runs}
    ways = [(1, 1, 1), (0, 1, 2)]
    tuned = rs.fuse.tune(files, tmp_path / "truth.qrels", "rr", weights=ways)
    assert tuned.expected == rs.fuse.tune(runs, truth, "rr", weights=ways).expected


def test_forms():
    tuned = rs.fuse.tune(runs, truth, "rr", weights=[(1, 1, 1), (0, 1, 2)])
    assert tuned.to_dict()["best"]["weights"] == dict(tuned.best.weights)
    assert f"{tuned.expected:.4f}" in str(tuned)
    assert tuned.to_pandas()["mean"].tolist() == [of.mean for of in tuned.candidates]


def test_errors():
    with pytest.raises(ValueError, match="there is one candidate; give several methods, weights or values"):
        rs.fuse.tune(runs, truth, weights=False)
    with pytest.raises(ValueError, match=r"weights= has \[1, 2\]; give one number per run: popular"):
        rs.fuse.tune(runs, truth, weights=[(1, 2)])
    with pytest.raises(ValueError, match="there is 1 run; fusion needs two"):
        rs.fuse.tune({"one": runs["hybrid"]}, truth)
