"""Hand-worked: distances of items by their categories."""

import numpy as np
import pytest

import rankstone as rs

FILMS = rs.catalogue(["a", "b", "c", "d"], category={"a": "x", "b": "y", "c": ["x", "y"], "d": ["x", "z"]})
LISTS = {"u": ["a", "b", "c"], "v": ["d", "a"], "w": ["a"]}


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        # of the pairs a-b, a-c and b-c; and of the pair d-a
        ("jaccard", [(1 + 1 / 2 + 1 / 2) / 3, 1 / 2]),
        ("hamming", [(2 + 1 + 1) / 3, 1]),
        ("cosine", [(1 + 2 * (1 - 1 / np.sqrt(2))) / 3, 1 - 1 / np.sqrt(2)]),
    ],
)
def test_ild_over_categories(distance, expected):
    metric = rs.metrics.ild(distance=distance) @ 3
    result = rs.evaluate(run=LISTS, metrics=metric, catalogue=FILMS)
    assert result.per_query[metric].tolist()[:2] == pytest.approx(expected)
    assert result[metric] == pytest.approx(sum(expected) / 2)  # a list of one item has no pairs
    assert "distances are those of their categories" in str(result)
    # the same categories as columns of 0 and 1
    vectors = rs.catalogue(["a", "b", "c", "d"], embedding=[[1, 0, 0], [0, 1, 0], [1, 1, 0], [1, 0, 1]])
    assert rs.evaluate(run=LISTS, metrics=metric, catalogue=vectors)[metric] == pytest.approx(result[metric])


@pytest.mark.parametrize(("missing", "expected"), [("skip", 1 / 2), ("zero", (1 + 1 / 2 + 1) / 3)])
def test_items_without_a_category(missing, expected):
    films = rs.catalogue(["a", "c", "n"], category={"a": "x", "c": ["x", "y"]})
    metric = rs.metrics.ild(distance="jaccard", missing_features=missing)
    assert rs.evaluate(run={"u": ["a", "n", "c"]}, metrics=metric, catalogue=films)[metric] == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"item 'n' has no vector; missing_features='skip' ignores pairs with it"):
        rs.evaluate(run={"u": ["a", "n", "c"]}, metrics="ild", catalogue=films)


def test_jaccard_of_long_lists_is_that_of_all_pairs():
    random = np.random.default_rng(0)
    vectors = (random.random((40, 6)) < 0.3).astype(float)
    lists = {q: random.permutation(40)[: q + 2].tolist() for q in range(20)}
    metric = rs.metrics.ild(distance="jaccard")
    result = rs.evaluate(run=lists, metrics=metric, catalogue=(list(range(40)), vectors))

    def distance(a, b):
        common, either = np.sum(vectors[a] * vectors[b]), np.sum(np.maximum(vectors[a], vectors[b]))
        return 1 - common / either if either else 0.0

    for items, value in zip(lists.values(), result.per_query[metric], strict=True):
        pairs = [distance(a, b) for at, a in enumerate(items) for b in items[:at]]
        assert value == pytest.approx(sum(pairs) / len(pairs))


def test_serendipity_is_not_computed_by_other_distances():
    """It sums cosines; other distances were taken for them."""
    with pytest.raises(ValueError, match="distance='hamming'; choose from 'cosine', 'cooccurrence'"):
        rs.metrics.serendipity(form="history", distance="hamming")
