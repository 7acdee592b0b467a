"""Keys: beside NumPy's own functions, which are slower; and ids of few bits through the door."""

import numpy as np
import pytest

import rankstone as rs
from rankstone.data.annotations import consecutive
from rankstone.data.id_encoder import LOWER, among, distinct, order_of, pair


@pytest.mark.parametrize(("asked", "known"), [(0, 0), (0, 5), (5, 0), (1, 1), (1000, 10), (1000, 5000)])
def test_keys_that_are_known(asked, known):
    rng = np.random.default_rng(asked + known)
    keys, others = (pair(rng.integers(0, 50, size), rng.integers(0, 50, size)) for size in (asked, known))
    np.testing.assert_array_equal(among(keys, others), np.isin(keys, others))
    np.testing.assert_array_equal(distinct(keys), np.unique(keys))


def test_pair_comes_apart_again():
    high, low = np.array([0, 1, 2**31 - 1], dtype=np.int32), np.array([2**31 - 1, 0, 7], dtype=np.int32)
    both = pair(high, low)
    np.testing.assert_array_equal(both >> 32, high)
    np.testing.assert_array_equal(both & LOWER, low)


@pytest.mark.parametrize("highest", [3, 70_000])
def test_order_leaves_equal_numbers_as_they_stand(highest):
    counts = np.random.default_rng(1).integers(0, highest, 1000)
    np.testing.assert_array_equal(order_of(counts), np.argsort(counts, kind="stable"))


def test_consecutive_across_pieces():
    numbers = np.arange(-3, 100_000)
    assert consecutive(numbers)
    numbers[32_768:65_536] += 5  # jumps only where one piece ends and the next begins
    assert not consecutive(numbers)
    assert not consecutive(np.array([0, 2, 1, 3]))


@pytest.mark.parametrize("catalogue", [np.arange(-100, 100), np.arange(99, -101, -1)])
def test_ids_of_eight_bits(catalogue):
    run = rs.columns(query=[1, 1, 2], item=np.array([-100, 99, 99], dtype=np.int8))
    result = rs.evaluate(run=run, metrics=["coverage@2", "entropy@2"], catalogue=catalogue.astype(np.int8))
    assert result["coverage@2"] == pytest.approx(2 / 200)
    assert result["entropy@2"] == pytest.approx(-(1 / 3 * np.log2(1 / 3) + 2 / 3 * np.log2(2 / 3)))
