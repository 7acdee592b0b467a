"""`assert_not_worse`, as a test of one's own calls it."""

import pytest

import rankstone as rs

TRUTH = {f"q{at}": {"hit": 1} for at in range(40)}
GOOD = {query: ["hit"] for query in TRUTH}
BAD = {query: ["x", "hit"] if at % 8 else ["hit"] for at, query in enumerate(TRUTH)}
CLOSE = {query: ["x", "hit"] if at in (3, 4) else ["hit"] for at, query in enumerate(TRUTH)}
assert_not_worse = rs.testing.assert_not_worse


def test_proven():
    assert assert_not_worse(TRUTH, {"main": GOOD, "new": CLOSE}, "rr", margin=0.1) is None
    assert_not_worse(TRUTH, {"main": BAD, "new": GOOD}, ["rr", "ndcg@5"], margin=0)
    results = {"main": rs.evaluate(TRUTH, GOOD, "rr"), "new": rs.evaluate(TRUTH, CLOSE, "rr")}
    assert_not_worse(results, margin="10 %")
    with pytest.raises(AssertionError):
        assert_not_worse(results, margin=0.1, baseline="main", confidence=0.99999)


def test_refuted():
    """7 of 8 queries fall from 1 to 1/2: the difference is -0.4375."""
    with pytest.raises(AssertionError) as error:
        assert_not_worse(TRUTH, {"main": GOOD, "new": BAD}, ["rr", "recall@5"], margin=0.1)
    text = str(error.value)
    assert text.startswith("rr: new is worse than main by more than 0.1: failed; 1.0000 to 0.5625, -0.4375 ")
    assert str(rs.compare(TRUTH, {"main": GOOD, "new": BAD}, ["rr", "recall@5"])) in text  # the whole table


def test_not_decided():
    runs = {"main": GOOD, "new": CLOSE}
    with pytest.raises(
        AssertionError, match=r"inconclusive; .* about [\d,]+ queries like these would prove it"
    ) as error:
        assert_not_worse(TRUTH, runs, "rr", margin=0.03)
    assert "there are 40" in str(error.value)
    assert_not_worse(TRUTH, runs, "rr", margin=0.03, undecided="pass")
    with pytest.warns(UserWarning, match="inconclusive"):
        assert_not_worse(TRUTH, runs, "rr", margin=0.03, undecided="warn")
    for undecided in ("pass", "warn"):
        with pytest.raises(AssertionError, match="failed"):
            assert_not_worse(TRUTH, {"main": GOOD, "new": BAD}, "rr", margin=0.03, undecided=undecided)


def test_several_runs_are_compared_with_the_first():
    with pytest.raises(AssertionError) as error:
        assert_not_worse(TRUTH, {"main": GOOD, "same": GOOD, "bad": BAD}, "rr", margin=0.1)
    assert "bad is worse than main" in str(error.value)
    assert "same" not in str(error.value).split("\n\n", maxsplit=1)[0]


def test_margins_by_metric():
    runs = {"main": GOOD, "new": CLOSE}
    assert_not_worse(TRUTH, runs, ["rr", "recall@1"], margin={"rr": 0.1, "R@1": 0.2})
    with pytest.raises(ValueError, match="margin has no entry for recall@1; there are rr"):
        assert_not_worse(TRUTH, runs, ["rr", "recall@1"], margin={"rr": 0.1})


@pytest.mark.parametrize(
    ("metric", "how", "told"),
    [
        ("rr", {"margin": -1}, "margin -1; give a number from 0"),
        ("rr", {"margin": 0.1, "undecided": "maybe"}, "undecided='maybe'; choose from 'pass', 'warn', 'fail'"),
        ("num_ret", {"margin": 0.1}, "neither a higher nor a lower num_ret is better"),
        ("rr", {"margin": 0.1, "baseline": "old"}, "baseline='old' is none of the runs"),
    ],
)
def test_what_cannot_be(metric, how, told):
    with pytest.raises(ValueError, match=told):
        assert_not_worse(TRUTH, {"main": GOOD, "new": CLOSE}, metric, **how)
