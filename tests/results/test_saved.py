"""Result files that version 0.1.0 wrote are read, with their means, values and ranges."""

import gzip
import json
from pathlib import Path

import pytest

import rankstone as rs

DATA = Path(__file__).parent / "data"
TRUTH = {"x": {"a": 1, "b": 2, "h": 0}, "y": {"c": 3}, "z": {"d": 1}}
RUN = {"x": {"a": 0.5, "b": 0.5, "e": 0.5}, "y": {"e": 1.0, "c": 0.1}, "extra": {"a": 1.0}}


@pytest.mark.parametrize(
    ("name", "metrics", "choices"),
    [
        ("result-0.1.0.json.gz", ["ndcg@2", "ap", "rr", "f1"], {"averaging": "macro"}),
        ("result-0.1.0.parquet", ["ndcg@2", "ap", "rr", "f1"], {"averaging": "macro"}),
        ("micro-0.1.0.json.gz", ["ndcg@2", "precision@2"], {"averaging": "micro", "bounds": True}),
    ],
)
def test_files_of_the_first_version(name, metrics, choices):
    saved, fresh = rs.read_result(DATA / name), rs.evaluate(TRUTH, RUN, metrics, **choices)
    assert dict(saved) == pytest.approx(dict(fresh), rel=1e-12)
    assert list(saved.queries) == list(fresh.queries)
    for label in fresh:
        assert saved.per_query[label].tolist() == pytest.approx(fresh.per_query[label].tolist(), rel=1e-12)
        assert saved.ties[label].lowest == pytest.approx(fresh.ties[label].lowest, rel=1e-12)
    assert saved.account == fresh.account
    assert saved._measurement.inputs == fresh._measurement.inputs
    groups = {"x": 1, "y": 1, "z": 2}
    assert saved.by_group(groups) == {
        group: pytest.approx(means, rel=1e-12) for group, means in fresh.by_group(groups).items()
    }
    if "bounds" in choices:
        assert saved.bounds["precision@2"] == fresh.bounds["precision@2"]


def test_the_means_are_those_that_were_written():
    written = json.loads(gzip.decompress((DATA / "result-0.1.0.json.gz").read_bytes()))["runs"]["run"]
    assert dict(rs.read_result(DATA / "result-0.1.0.json.gz")) == written["means"]
