"""Micro means: influence values and the jackknife."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankstone as rs

influence, jackknife, student = rs.statistics.influence, rs.statistics.jackknife, rs.statistics.student
fractions = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=2, max_size=20)


def test_influence():
    r = (1 + 3) / (2 + 6)
    assert influence([1, 3], [2, 6]).tolist() == [r + (1 - r * 2) / 4, r + (3 - r * 6) / 4]


def test_jackknife():
    found = jackknife([1, 3, 0], [2, 4, 2])
    left = [3 / 6, 1 / 4, 4 / 6]
    mean = sum(left) / 3
    assert found.ratio == 4 / 8
    assert found.values.tolist() == left
    assert found.mean == pytest.approx(mean)
    assert found.error == pytest.approx(math.sqrt(2 / 3 * sum((one - mean) ** 2 for one in left)))
    assert student(found.pseudo).error == pytest.approx(found.error)


@given(fractions)
def test_the_mean_is_the_ratio(pairs):
    top, bottom = np.array(pairs, dtype=float).T
    assert influence(top, bottom).mean() == pytest.approx(top.sum() / bottom.sum())


@given(st.lists(st.integers(0, 9), min_size=2, max_size=20), st.integers(1, 5))
def test_equal_bottoms_make_a_plain_mean(top, bottom):
    values = np.array(top) / bottom
    bottoms = np.full(len(top), bottom)
    assert influence(top, bottoms).tolist() == pytest.approx(values.tolist())
    assert jackknife(top, bottoms).error == pytest.approx(float(student(values).error), abs=1e-12)


def test_columns():
    top, bottom = np.random.default_rng(0).integers(1, 9, (2, 6, 3)).astype(float)
    for column in range(3):
        assert influence(top, bottom)[:, column] == pytest.approx(influence(top[:, column], bottom[:, column]))
        assert jackknife(top, bottom).error[column] == pytest.approx(jackknife(top[:, column], bottom[:, column]).error)


def test_no_answer():
    assert math.isnan(jackknife([1, 0], [2, 0]).error)  # one query has all
    assert math.isnan(jackknife([1], [2]).error)
    with pytest.raises(ValueError, match="add up to 0"):
        influence([0, 0], [0, 0])
    with pytest.raises(ValueError, match=r"shape \(1,\), bottom has \(2,\)"):
        influence([0], [1, 2])
