"""Student's t of means, columns and clusters."""

import math

import numpy as np
import pytest

import rankstone as rs

student = rs.statistics.student


def test_hand_worked():
    found = student([1.0, 2.0, 6.0])
    assert found.mean == 3
    assert found.error == pytest.approx(math.sqrt((4 + 1 + 9) / 2 / 3))
    assert found.freedom == 2
    # With 2 degrees of freedom the distribution is 1/2 + t / (2 sqrt(2 + t^2)).
    t = 3 / found.error
    assert found.p() == pytest.approx(1 - t / math.sqrt(2 + t * t))


def test_equal_runs_have_p_1():
    found = student(np.zeros(5))
    assert (found.p(), *found.interval()) == (1, 0, 0)


def test_columns_are_the_same_as_one_by_one():
    values = np.random.default_rng(1).random((9, 3))
    together = student(values)
    for column in range(3):
        alone = student(values[:, column])
        assert together.p()[column] == pytest.approx(alone.p(), rel=1e-12)
        assert together.interval(0.9)[0][column] == pytest.approx(alone.interval(0.9)[0], rel=1e-12)


@pytest.mark.parametrize("labels", [[0, 0, 1, 2], [5, 5, 9, 7], ["a", "a", "z", "b"]])
def test_clusters_may_have_any_labels(labels):
    found = student([1.0, 2.0, 4.0, 9.0], labels)
    assert found.freedom == 2
    # Sums of what is left of the mean 4: -5, 0 and 5.
    assert found.error == pytest.approx(math.sqrt((25 + 0 + 25) * 3 / 2) / 4)


def test_one_value_has_no_answer():
    found = student([0.5])
    assert math.isnan(found.p())
    assert found.interval() == (-math.inf, math.inf)


def test_a_whole_population_has_no_error():
    assert student([1.0, 2.0], population=2).error == 0
    with pytest.raises(ValueError, match="population=2, but there are 3"):
        student([1.0, 2.0, 3.0], population=2)
