"""Spans of documents, worked by hand."""

import pandas as pd
import polars as pl
import pytest

import rankstone as rs
from rankstone.cli.commands import main

# Three true spans; the second chunk returned covers half of the first, the third all of it once more.
TRUTH = {"q": {("d", 0, 100): 1, ("d", 200, 260): 2, ("e", 0, 10): 1}}
CHUNKS = [("e", 50, 90), ("d", 50, 150), ("d", 0, 120), ("f", 0, 100), ("d", 190, 300)]


def test_a_true_span_counts_once():
    found = rs.evaluate(TRUTH, {"q": CHUNKS}, ["ap", "recall", "precision", "cg"], overlap=0.5)
    assert found["ap"] == pytest.approx((1 / 2 + 2 / 5) / 3)
    assert found["recall"] == 2 / 3
    assert found["precision"] == 2 / 5
    assert found["cg"] == 1 + 2
    assert "1 returned span not relevant again, as the true one had been found (overlap)" in repr(found)


def test_how_much_must_be_covered():
    """A share of the true span: the second chunk covers 50 of 100, the third all."""
    found = {share: rs.evaluate(TRUTH, {"q": CHUNKS}, "rr", overlap=share)["rr"] for share in (0.01, 0.5, 0.51, 1)}
    assert found == {0.01: 1 / 2, 0.5: 1 / 2, 0.51: 1 / 3, 1: 1 / 3}
    touching = {"q": [("d", 100, 200)]}  # ends where the next begins
    with pytest.warns(rs.errors.UnmatchedWarning):
        assert rs.evaluate(TRUTH, touching, "rr", overlap=0.01)["rr"] == 0


def test_a_returned_span_finds_one():
    """One chunk covers both true spans: first that of the higher grade; a second one finds the other."""
    truth = {"q": {("d", 0, 10): 1, ("d", 20, 30): 3}}
    one = rs.evaluate(truth, {"q": [("d", 0, 100)]}, ["recall", "cg"], overlap=1)
    assert (one["recall"], one["cg"]) == (1 / 2, 3)
    two = rs.evaluate(truth, {"q": [("d", 0, 100), ("d", 0, 90)]}, ["recall", "cg"], overlap=1)
    assert (two["recall"], two["cg"]) == (1, 4)


def test_the_same_span_twice():
    truth = {"q": [("d", 0, 10)]}
    found = rs.evaluate(truth, {"q": [("d", 0, 10), ("d", 0, 10)]}, ["precision", "recall"], overlap=1)
    assert (found["precision"], found["recall"]) == (1 / 2, 1)


@pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame])
def test_tables(form):
    judged = [("q", *span, grade) for span, grade in TRUTH["q"].items()]
    names = ["query", "document", "start", "end"]
    returned = [("q", *span, -float(place)) for place, span in enumerate(CHUNKS)][::-1]
    truth, run = (
        form({name: [row[at] for row in rows] for at, name in enumerate([*names, value])})
        for rows, value in ((judged, "grade"), (returned, "score"))
    )
    assert rs.evaluate(truth, run, "ap", overlap=0.5)["ap"] == pytest.approx((1 / 2 + 2 / 5) / 3)
    scored = {"q": {span: -float(place) for place, span in enumerate(CHUNKS)}}
    assert rs.evaluate(truth, scored, "ap", overlap=0.5)["ap"] == pytest.approx((1 / 2 + 2 / 5) / 3)


@pytest.mark.parametrize(("given", "error"), [
    ({"run": {"q": {("d", 0, 1): 1.0, ("d", 5, 6): 1.0}}}, "have the same score, and which comes first decides"),
    ({"run": {"q": [("d", 5, 5)]}}, r"query 'q': span \('d', 5, 5\) of the run must start before it ends"),
    ({"run": {"q": ["d"]}}, "query 'q': 'd' of the run is no span"),
    ({"run": {"q": [("d", "0", "9")]}}, "must start before it ends"),
    ({"overlap": 0}, "overlap=0; give the share of a true span that must be covered"),
    ({"overlap": 1.5}, "overlap=1.5; give the share"),
    ({"overlap": True}, "overlap=True; give the share"),
    ({"run": 7}, "overlap= takes a run as"),
    ({"parent": {"d": "e"}}, "parent= does not go with overlap="),
])  # fmt: skip
def test_what_cannot_be(given, error):
    with pytest.raises((ValueError, TypeError), match=error):
        rs.evaluate(**{"truth": TRUTH, "run": {"q": CHUNKS}, "metrics": "ap", "overlap": 0.5, **given})


def test_spans_in_files(tmp_path, monkeypatch, capsys):
    """The second returned span covers 8 of the 10 letters of the true one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "truth.csv").write_text("query,document,start,end\nq,d,0,10\n")
    (tmp_path / "run.csv").write_text("query,document,start,end,score\nq,d,20,30,0.9\nq,d,2,15,0.8\n")
    assert rs.evaluate("truth.csv", "run.csv", "rr", overlap=0.5)["rr"] == 1 / 2
    for command, *runs in (["evaluate", "run.csv"], ["compare", "A=run.csv", "B=run.csv"]):
        assert main([command, "truth.csv", *runs, "-m", "rr", "--overlap", "0.5"]) == 0
        assert "0.5000" in capsys.readouterr().out
    assert main(["evaluate", "truth.csv", "run.csv", "-m", "rr", "--overlap", "0.9"]) == 0
    assert "0.0000" in capsys.readouterr().out
