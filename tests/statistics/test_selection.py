"""The best of many columns: its mean on new queries, how often another wins, and which may be the best."""

import numpy as np
import pytest

import rankstone as rs

of = rs.statistics


def test_a_clear_winner_has_its_own_mean():
    """Where one column is always the best, nothing is selected: its mean and Student's interval."""
    random = np.random.default_rng(0)
    low = random.normal(0.3, 0.05, (60, 4))
    values = np.column_stack([low, random.normal(0.8, 0.05, 60)])
    best = of.selection(values)
    assert best.best == 4
    assert best.expected == pytest.approx(values[:, 4].mean())
    assert best.wins.tolist() == [0, 0, 0, 0, 1]
    ends = of.student(values[:, 4]).interval()
    assert best.low <= ends[0] + 1e-12
    assert best.high >= ends[1] - 1e-12
    assert of.contenders(values).tolist() == [False] * 4 + [True]


def test_two_folds_by_hand():
    """Four queries in two folds: whichever pairs they are, each column is worth what the other fold says."""
    values = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.9]])
    best = of.selection(values, folds=2)
    # Folds {1,2},{3,4}: the best of one fold is the worst of the other: (0 + 0 + 0 + 0) / 4.
    # Folds {1,3},{2,4}: column 1 is as good (1 / 2 each), first in order, or better: 1 of {2,4}, 0 of them, and so on.
    apart = 0.0
    mixed = [(1 + 0 + 1 + 0) / 4, (1 + 0 + 1 + 0) / 4]
    assert best.best == 0
    assert min(apart, *mixed) < best.expected < max(apart, *mixed)
    assert best.mean == 0.5


def test_equal_columns_are_all_contenders():
    values = np.random.default_rng(2).normal(0.5, 0.2, (150, 30))
    best = of.selection(values)
    assert best.expected < best.mean
    assert of.contenders(values).sum() > 20
    same = np.repeat(values[:, :1], 3, axis=1)
    assert of.contenders(same).tolist() == [True] * 3
    assert of.contenders(same + np.array([0.0, 0.1, 0.0])).tolist() == [False, True, False]


def test_clusters_stay_together():
    """Each query twice, as a cluster: nothing new is known, so the interval is the same."""
    values = np.random.default_rng(3).normal(0.5, 0.2, (40, 5))
    once = of.selection(values)
    twice = of.selection(np.repeat(values, 2, axis=0), clusters=np.repeat(np.arange(40), 2))
    assert twice[1:5] == pytest.approx(once[1:5])
    alone = of.selection(np.repeat(values, 2, axis=0))
    assert alone.high - alone.low < 0.8 * (once.high - once.low)


def test_few_queries():
    with pytest.raises(ValueError, match="folds=5 of 3 queries or clusters: at least 2 and 4 are needed"):
        of.selection(np.ones((3, 2)))
    with pytest.raises(ValueError, match="folds=1 of 9"):
        of.selection(np.ones((9, 2)), folds=1)


def covered(queries, runs, spread, sweeps, seed):
    """How often the interval has the winner's true mean, and how often that of the mean alone has it."""
    random, hits, alone, looks = np.random.default_rng(seed), 0, 0, []
    for sweep in range(sweeps):
        truth = 0.5 + spread * random.normal(size=runs)
        values = truth + 0.25 * random.normal(size=(queries, 1)) + 0.15 * random.normal(size=(queries, runs))
        best = of.selection(values, resamples=2, seed=sweep)
        hits += best.low <= truth[best.best] <= best.high
        low, high = of.student(values[:, best.best]).interval()
        alone += low <= truth[best.best] <= high
        looks.append(best.expected - truth[best.best])
    return hits / sweeps, alone / sweeps, float(np.mean(looks))


@pytest.mark.simulation
@pytest.mark.parametrize("spread", [0.0, 0.02], ids=["equal", "different"])
@pytest.mark.parametrize("queries", [42, 150, 500])
@pytest.mark.parametrize("runs", [5, 20, 82])
def test_coverage(queries, runs, spread):
    """93 to 97 % of sweeps, but for the noise of 600 of them; the winner's own interval has less in large sweeps."""
    hits, alone, bias = covered(queries, runs, spread, 600, 1)
    print(
        f"{runs} runs, {queries} queries, spread {spread}: {hits:.3f}, of the mean alone {alone:.3f}, bias {bias:+.4f}"
    )
    assert 0.92 <= hits <= 0.98
    assert abs(bias) < 0.01
    if runs == 82 and not spread:
        assert alone < 0.87
