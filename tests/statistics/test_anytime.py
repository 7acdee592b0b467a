"""Confidence sequences: by hand, as one and the same test, and how often they alarm under many looks."""

import math

import numpy as np
import pytest

import rankstone as rs

of = rs.statistics


def test_by_hand():
    """Theorem 2.2 with rho from the tuning, as GrowthBook has it."""
    alpha, n, sd, tuning = 0.05, 1000, 0.4, 5000
    rho2 = (-2 * math.log(alpha) + math.log(-2 * math.log(alpha) + 1)) / tuning
    half = sd * math.sqrt(2 * (n * rho2 + 1) / (n**2 * rho2) * math.log(math.sqrt(n * rho2 + 1) / alpha))
    sequence = of.confidence_sequence(0.3, sd / math.sqrt(n), n)
    assert sequence.interval() == pytest.approx((0.3 - half, 0.3 + half))
    e = math.exp(rho2 * (0.3 * n / sd) ** 2 / (2 * (n * rho2 + 1))) / math.sqrt(n * rho2 + 1)
    assert sequence.e_value() == pytest.approx(e)
    assert sequence.p() == pytest.approx(1 / e)


@pytest.mark.parametrize("z", [0.0, 1.0, 2.5, 3.2, 6.0])
def test_the_interval_is_the_test(z):
    """The interval excludes what the test rejects, on both sides and on one."""
    sequence = of.confidence_sequence(z * 0.01, 0.01, 400, tuning=500)
    low, high = sequence.interval()
    assert (low > 0) == (sequence.p() < 0.05)
    low, high = sequence.bounds()
    assert sequence.above(low) == pytest.approx(0.05)
    assert sequence.below(high) == pytest.approx(0.05)
    assert sequence.above(z * 0.01) == 1


def test_it_is_narrowest_at_its_tuning():
    """Compared with the standard error, near the number it was tuned for."""
    widths = {
        n: np.ptp(of.confidence_sequence(0, 1, n, tuning=1000).interval()) for n in (10, 100, 1000, 10_000, 10**6)
    }
    assert min(widths, key=widths.__getitem__) == 1000


def test_errors():
    with pytest.raises(ValueError, match="tuning=0; give the number of values at which to be narrowest"):
        of.confidence_sequence(0, 1, 10, tuning=0)
    assert of.confidence_sequence(0.5, math.inf, 1).p() == 1


def test_compare():
    truth, runs, *_ = rs.example()
    pair = {name: runs[name] for name in ("popular", "hybrid")}
    fixed, watched = (rs.compare(truth, pair, "ndcg@10", anytime=when)["hybrid", "ndcg@10"] for when in (False, 60))
    values = [rs.evaluate(truth, run, "ndcg@10").per_query["ndcg@10"] for run in pair.values()]
    difference = values[1] - values[0]
    sequence = of.confidence_sequence(difference.mean(), difference.std(ddof=1) / math.sqrt(60), 60, tuning=60)
    assert (watched.low, watched.high) == pytest.approx(tuple(map(float, sequence.interval())))
    assert watched.p == pytest.approx(float(sequence.p()))
    assert watched.e_value == pytest.approx(float(sequence.e_value()))
    assert watched.low < fixed.low < fixed.high < watched.high
    assert watched.verdict == "better"
    lines = rs.compare(truth, runs, "ndcg@10", anytime=True).notes
    assert lines[0].startswith(
        "60 queries; asymptotic confidence sequence, valid at every look, Holm over 3 comparisons"
    )
    assert "intervals and p hold at every look; they are narrowest at 500 queries" in lines
    assert not [line for line in lines if "smallest detectable" in line]
    with pytest.raises(ValueError, match="power is of a number of queries that is fixed before"):
        watched.detectable()
    with pytest.raises(ValueError, match="posterior probabilities are of a number of queries that is fixed before"):
        watched.probabilities()
    with pytest.raises(ValueError, match="an e-value is of intervals that hold at every look"):
        _ = fixed.e_value
    with pytest.raises(ValueError, match="anytime=True is a test of its own; leave out test='sign'"):
        rs.compare(truth, pair, "rr", anytime=True, test="sign")
    with pytest.raises(ValueError, match="correction='westfall_young' does not support anytime="):
        rs.compare(truth, runs, "rr", anytime=True, correction="westfall_young")
    with pytest.raises(ValueError, match="anytime=-1; give True, or the number of queries"):
        rs.compare(truth, runs, "rr", anytime=-1)


def test_all_that_is_made_of_it():
    """Leaderboards and reports have no fixed intervals where looks are many."""
    truth, runs, *_ = rs.example()
    comparison = rs.compare(truth, runs, "ndcg@10", anytime=True)
    board = comparison.leaderboard()
    assert "ranks by Holm over 3 pairs, at every look" in str(board)
    pairs = {frozenset((of.baseline, of.run)): of.adjusted <= 0.05 for of in comparison}
    assert board.best == [name for name in runs if name == "hybrid" or not pairs[frozenset((name, "hybrid"))]]
    assert "Intervals hold at every look" in comparison.report()


def alarms(draw, start, looks, step, tuning, experiments=2000, seed=0):
    """How often one of many looks sees a difference that is not there: by sequences, and by fixed intervals."""
    random = np.random.default_rng(seed)
    values = draw(random, (experiments, start + looks * step))
    ns = start + step * np.arange(looks)
    sums, squares = (np.cumsum(array, axis=1)[:, ns - 1] for array in (values, values**2))
    means = sums / ns
    errors = np.sqrt(np.maximum(squares / ns - means**2, 0) * ns / (ns - 1) / ns)
    anytime, fixed = np.zeros(experiments, dtype=bool), np.zeros(experiments, dtype=bool)
    for at, n in enumerate(ns.tolist()):
        anytime |= of.confidence_sequence(means[:, at], errors[:, at], n, tuning=tuning).p() <= 0.05
        fixed |= of.Student(means[:, at], errors[:, at], n - 1).p() <= 0.05
    return anytime.mean(), fixed.mean()


DRAWS = {
    "normal": lambda random, size: random.normal(size=size),
    "clicks": lambda random, size: (random.random(size) < 0.1).astype(float) - (random.random(size) < 0.1),
    "skewed": lambda random, size: random.exponential(size=size) - 1,
    "rr": lambda random, size: 1 / random.geometric(0.3, size) - 1 / random.geometric(0.3, size),
}


@pytest.mark.simulation
@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize(("start", "step", "tuning"), [(20, 10, 500), (50, 25, 5000), (20, 10, 5000)])
def test_false_alarms_under_200_looks(name, start, step, tuning):
    anytime, fixed = alarms(DRAWS[name], start, 200, step, tuning)
    print(f"{name}, from {start} by {step}, tuning {tuning}: {anytime:.4f}, fixed {fixed:.4f}")
    assert anytime <= 0.055  # and the noise of 2,000 experiments
    assert fixed > 0.3
