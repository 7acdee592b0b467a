"""Two lists without a truth, and clicks over expected clicks, by hand."""

import pytest

import rankstone as rs


def test_jaccard():
    assert rs.statistics.jaccard(["a", "b", "b"], ["b", "c"]) == 1 / 3
    assert rs.statistics.jaccard([], []) == 0


def test_list_overlap():
    """Of a b c and b a: nothing shared at depth 1, both at 2; at 3 the shorter list has 2 of 3."""
    weights = [0.8**at for at in range(3)]
    assert rs.statistics.list_overlap("abc", "ba", p=0.8) == pytest.approx(
        (weights[1] + weights[2] * 2 / 3) / sum(weights)
    )
    assert rs.statistics.list_overlap("abc", "abc") == pytest.approx(1)
    assert rs.statistics.list_overlap([], []) == 0
    with pytest.raises(ValueError, match="p=1 is not between 0 and 1"):
        rs.statistics.list_overlap("a", "b", p=1)


def test_frequency_overlap():
    """b is 2 of 3 and 1 of 2, so it weighs (2/3 + 1/2) / 2; all weights add up to 1."""
    assert rs.statistics.frequency_overlap("abb", "bc") == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert rs.statistics.frequency_overlap("ab", "") == 0


def test_clicks_over_expected():
    """Two impressions at rank 0 with one click: 1/2. At rank 1 one of two, too. a was shown at 0 and at 1."""
    rows = [
        ("a", 0, False),
        ("a", 0, True),
        ("b", 0, False),
        ("a", 1, False),
        ("c", 1, False),
        ("c", 1, True),
        ("d", 9, True),
    ]
    found = rs.statistics.clicks_over_expected(*zip(*rows, strict=True), deepest=9)
    assert found == {"a": 1 / (1 / 2 * 2), "b": 0, "c": 1 / (1 / 2 * 1)}
