"""The data set that ships with the package."""

from collections import Counter
from pathlib import Path

import pytest
import pytrec_eval

import rankstone as rs
from rankstone.data import example as module


def test_sizes():
    truth, runs, groups, catalogue = rs.example()
    assert len(truth) == 60
    assert groups.keys() == truth.keys()
    assert Counter(groups.values()).keys() == {"new", "regular"}
    for run in runs.values():
        assert run.keys() == truth.keys()
        assert {len(films) for films in run.values()} == {20}
    coverage = rs.evaluate(run=runs["popular"], metrics="coverage@20", catalogue=catalogue)["coverage@20"]
    shown = {film for films in runs["popular"].values() for film in films}
    assert coverage == len(shown) / 240
    assert Path(module.__file__).with_suffix(".json").stat().st_size < 100_000


def test_its_numbers_are_those_of_trec_eval():
    truth, runs, _, _ = rs.example()
    peer = pytrec_eval.RelevanceEvaluator(truth, {"ndcg_cut.10", "map"})
    for run in runs.values():
        values = peer.evaluate(run).values()
        result = rs.evaluate(truth, run, ["ndcg@10", "ap"])
        assert abs(result["ndcg@10"] - sum(one["ndcg_cut_10"] for one in values) / 60) < 1e-12
        assert abs(result["ap"] - sum(one["map"] for one in values) / 60) < 1e-12


def test_the_caller_may_change_it():
    rs.example().truth.clear()
    assert rs.example().truth


def test_curves_of_recommended_lists_are_no_deeper_than_the_lists_that_were_kept():
    """Of coverage@10 the first 11 items are kept: cutoffs below are those of new evaluations, others an error."""
    _, runs, _, films = rs.example()
    result = rs.evaluate(run=runs["hybrid"], metrics="coverage@10", catalogue=films)
    curve = result.plot("coverage@{1..10}").data
    again = [
        rs.evaluate(run=runs["hybrid"], metrics=f"coverage@{k}", catalogue=films)[f"coverage@{k}"] for k in range(1, 11)
    ]
    assert next(column for name, column in curve.items() if name != "k") == again
    with pytest.raises(ValueError, match="coverage@12 needs longer lists than coverage@10; evaluate it"):
        result.plot("coverage@{1..20}")


def test_discovery_needs_a_history():
    truth, runs, _, films = rs.example()
    with pytest.raises(ValueError, match="efd@10: pass history="):
        rs.evaluate(truth, runs["hybrid"], "efd@10", catalogue=films)
