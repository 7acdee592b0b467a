"""One finder says which column is which, whatever they are columns of."""

import pandas as pd
import pyarrow as pa
import pytest

import rankstone as rs
from rankstone.inputs.roles import find_side

TRUTH = {1: [7], 2: [9]}
RUN = {1: [8, 7], 2: [9]}


def test_a_column_does_not_play_two_roles():
    """Relevant items in a list called `labels` are not their own grades, nor is a rating its own prediction."""
    truth = pa.table({"user": [1, 2], "labels": [[7], [9]]})
    run = pa.table({"user": [1, 2], "predictions": [[8, 7], [9]]})
    assert dict(rs.evaluate(truth, run, ["rr", "ndcg"])) == dict(rs.evaluate(TRUTH, RUN, ["rr", "ndcg"]))
    with pytest.raises(ValueError, match="the table has no score column among 'user', 'item', 'rating'"):
        rs.evaluate(pd.DataFrame({"user": [1], "item": [7], "rating": [3]}), metrics="rr")


def test_lists_can_have_ranks():
    run = pa.table({"user": [1, 2], "items": [[7, 8], [9]], "rank": [[2, 1], [1]]})
    assert dict(rs.evaluate(TRUTH, run, "rr")) == dict(rs.evaluate(TRUTH, RUN, "rr"))


def test_a_name_twice_in_another_case():
    run = pa.table({"user": [1], "User": [2], "item": [7], "score": [1.0]})
    with pytest.raises(ValueError, match="the run has 2 columns called 'User'"):
        rs.evaluate(TRUTH, run, "rr")
    assert rs.evaluate(TRUTH, run, "rr", columns={"run": {"query": "user"}})["rr"] == 1 / 2


def test_a_name_that_is_not_there():
    run = pa.table({"user": [1], "item": [7], "score": [1.0]})
    for role in ("query", "item", "score"):
        with pytest.raises(ValueError, match="the run has no column 'x'; it has 'user', 'item', 'score'"):
            rs.evaluate(TRUTH, run, "rr", columns={"run": {role: "x"}})
    with pytest.raises(ValueError, match="the table has no column 'x'"):
        rs.evaluate(run, metrics="rr", columns={"item": "x"})


def test_the_value_of_a_run():
    names = ["qid", "docno", "score", "rank"]
    assert find_side(names, "run", {}) == {"query": "qid", "item": "docno", "score": "score"}
    assert find_side(names, "run", {"rank": "rank"}) == {"query": "qid", "item": "docno", "rank": "rank"}
    assert find_side(names[:2], "run", {}) == {"query": "qid", "item": "docno"}
