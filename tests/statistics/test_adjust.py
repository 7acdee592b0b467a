"""Corrections for many comparisons."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankstone as rs

adjust = rs.statistics.adjust
METHODS = ["holm", "bonferroni", "hochberg", "hommel", "bh", "by", "sidak", "holm_sidak", "none"]
some = st.lists(st.floats(0, 1), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("none", [0.01, 0.04, 0.03]),
        ("bonferroni", [0.01 * 3, 0.04 * 3, 0.03 * 3]),
        ("holm", [0.01 * 3, 0.03 * 2, 0.03 * 2]),
        ("hochberg", [0.01 * 3, 0.04, 0.04]),
        ("hommel", [0.01 * 3, 0.04, 0.04]),
        ("bh", [0.01 * 3, 0.04, 0.04]),
        ("by", [0.01 * 3 * (1 + 1 / 2 + 1 / 3), 0.04 * (1 + 1 / 2 + 1 / 3), 0.04 * (1 + 1 / 2 + 1 / 3)]),
        ("sidak", [1 - 0.99**3, 1 - 0.96**3, 1 - 0.97**3]),
        ("holm_sidak", [1 - 0.99**3, 1 - 0.97**2, 1 - 0.97**2]),
    ],
)
def test_hand_worked(method, expected):
    assert adjust([0.01, 0.04, 0.03], method).tolist() == pytest.approx(expected, rel=1e-12)


@given(some, st.sampled_from(METHODS), st.randoms())
def test_order_does_not_matter(p, method, random):
    adjusted = dict(zip(p, adjust(p, method), strict=True))
    mixed = random.sample(p, len(p))
    assert adjust(mixed, method).tolist() == pytest.approx([adjusted[one] for one in mixed])


@given(some)
def test_some_find_more_than_others(p):
    found = {method: adjust(p, method) for method in METHODS}
    for less, more in [("hommel", "hochberg"), ("hochberg", "holm"), ("holm", "bonferroni"), ("bh", "by"),
                       ("bh", "hommel"), ("sidak", "bonferroni"), ("holm_sidak", "holm")]:  # fmt: skip
        assert (found[less] <= found[more] + 1e-12).all(), (less, more)
    for one in found.values():
        assert (one >= np.array(p) - 1e-12).all()
        assert (one <= 1).all()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=7))
def test_hommel_is_simes_over_all_sets(p):
    """The slow definition: the largest p of Simes' test over all sets with the hypothesis."""
    n = len(p)
    sets = [[at for at in range(n) if mask >> at & 1] for mask in range(1, 2**n)]
    simes = [min(len(one) * value / rank for rank, value in enumerate(sorted(p[at] for at in one), 1)) for one in sets]
    expected = [max(value for one, value in zip(sets, simes, strict=True) if at in one) for at in range(n)]
    assert adjust(p, "hommel").tolist() == pytest.approx(expected)


def test_small_p_keep_their_digits():
    assert adjust([1e-30, 0.5], "sidak")[0] == pytest.approx(2e-30, rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_shapes(method):
    assert adjust([], method).shape == (0,)
    assert adjust([0.25], method).tolist() == pytest.approx([0.25])
    table = np.array([[0.01, 0.2], [0.03, 1.0]])
    assert adjust(table, method).ravel().tolist() == adjust(table.ravel(), method).tolist()
    assert table[0, 0] == 0.01


def test_bad_input():
    with pytest.raises(ValueError, match=r"p\[1\] is nan"):
        adjust([0.5, float("nan")])
    with pytest.raises(ValueError, match=r"1\.5 at place 0"):
        adjust([1.5])
    with pytest.raises(ValueError, match="method='fdr' is not one of 'holm', 'bh'"):
        adjust([0.5], "fdr")
