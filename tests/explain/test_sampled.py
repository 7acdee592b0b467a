"""Numbers among sampled negatives: what they mean, by every sample that can be drawn, and their correction."""

from itertools import combinations, product

import numpy as np
import pytest

import rankstone as rs


def values_of_all_samples(metric, rank, items, negatives, replacement):
    """The metric's value in each sample of an item at a rank: its place is 1 + those drawn from above it."""
    others = [other for other in range(1, items + 1) if other != rank]
    samples = product(others, repeat=negatives) if replacement else combinations(others, negatives)
    places = [1 + sum(other < rank for other in sample) for sample in samples]
    lists = {place: [0] * (place - 1) + [1] + [0] * (negatives + 1 - place) for place in set(places)}
    return [rs.metrics[metric[0]](labels=lists[place], k=metric[1]) for place in places]


@pytest.mark.parametrize("metric", [("hit_rate", 2), ("ndcg", None), ("ndcg", 2), ("rr", None), ("auc", None)])
@pytest.mark.parametrize("replacement", [False, True])
def test_the_expected_value_is_the_mean_over_all_samples(metric, replacement):
    sampled = rs.sampled_metrics(3, items=6, replacement=replacement)
    name = metric[0] if metric[1] is None else f"{metric[0]}@{metric[1]}"
    for rank in range(1, 7):
        by_hand = np.mean(values_of_all_samples(metric, rank, 6, 3, replacement))
        assert sampled.expected(name, [rank])[0] == pytest.approx(by_hand, rel=1e-13)


def test_expected_by_hand():
    """Of 10 items, 3 of 9 others: the item at rank 4 is first if none of the three above it is drawn."""
    found = rs.sampled_metrics(3, items=10).expected("hit_rate@1", [1, 4, 10])
    assert found == pytest.approx([1, 6 / 9 * 5 / 8 * 4 / 7, 0])
    again = rs.sampled_metrics(3, items=10, replacement=True).expected("hit_rate@1", [1, 4, 10])
    assert again == pytest.approx([1, (6 / 9) ** 3, 0])


def test_choices_of_the_metric_are_kept():
    found = rs.sampled_metrics(3, items=10).expected("ndcg(discount='rank')@2", [1, 4])
    first, second = 6 / 9 * 5 / 8 * 4 / 7, 3 * (3 / 9 * 6 / 8 * 5 / 7)
    assert found == pytest.approx([1, first + second / 2])


@pytest.mark.parametrize("replacement", [False, True])
def test_chances_of_many_negatives_add_up(replacement):
    sampled = rs.sampled_metrics(500, items=3000, replacement=replacement)
    chances = sampled.probabilities(np.array([1, 2, 10, 1500, 2999, 3000]))
    assert chances.sum(axis=1) == pytest.approx(1, abs=1e-12)
    mean = chances @ np.arange(1, 502)
    assert mean == pytest.approx([1 + 500 * (rank - 1) / 2999 for rank in (1, 2, 10, 1500, 2999, 3000)])
    assert (chances >= 0).all()


def test_in_words():
    sampled = rs.sampled_metrics(100, items=20_000)
    assert str(sampled) == (
        "hit_rate@10 among 100 negatives is about hit_rate@1,800 among 20,000: an item at rank 1,927 is in the "
        "sampled top 10 half of the time"
    )
    assert sampled.estimated_rank(10) == 1 + 19_999 * 9 // 100
    assert sampled.expected("hit_rate@10", [1927])[0] >= 0.5 > sampled.expected("hit_rate@10", [1928])[0]
    first = (
        "hit_rate@1 among 100 negatives is not hit_rate@1 among 20,000: an item at rank 138 is in the sampled top 1 "
        "half of the time"
    )
    assert sampled.describe("hit_rate@1") == first
    assert sampled.describe("recall@200") == (
        "recall@200 among 100 negatives has no information: all 101 items of a list are in its top 200"
    )
    assert sampled.describe("rr") == "rr among 100 negatives: one sampled rank is about 199 ranks among 20,000 items"
    assert rs.sampled_metrics(19, items=20).describe("rr@5") == (
        "rr@5 among 19 negatives equals that among all 20 items: all of them are sampled"
    )


def test_counts_by_the_rank():
    """Of 10 items, 3 negatives: places 1 to 4 are ranks 1, 4, 7 and 10."""
    found = rs.sampled_metrics(3, items=10).corrected_values("rr", method="rank")
    assert found == pytest.approx([1, 1 / 4, 1 / 7, 1 / 10])


@pytest.mark.parametrize("metric", ["hit_rate@2", "ndcg@3", "rr"])
def test_counts_make_bias_and_variance_least(metric):
    """By the definition: any other number for a place makes bias^2 + gamma variance larger."""
    sampled, gamma = rs.sampled_metrics(4, items=12), 0.05
    chances = sampled.probabilities(np.arange(1, 13))
    wanted = np.array([_at(metric, rank, 12) for rank in range(1, 13)])

    def loss(counts):
        means = chances @ counts
        return ((means - wanted) ** 2 + gamma * (chances @ counts**2 - means**2)).mean()

    best = sampled.corrected_values(metric, gamma=gamma)
    for at in range(5):
        for step in (-1e-3, 1e-3):
            other = best.copy()
            other[at] += step
            assert loss(other) > loss(best)


def _at(metric, rank, length):
    labels = [0] * (rank - 1) + [1] + [0] * (length - rank)
    (found,) = rs.authoring.Metric.parse(metric)
    return found(labels=labels)


def test_a_correction_of_many_lists():
    """True ranks of 4,000 lists, drawn; each item then among 50 of 500 others."""
    rng = np.random.default_rng(3)
    ranks = rng.integers(1, 101, 4000)
    places = 1 + rng.hypergeometric(ranks - 1, 500 - ranks, 50)
    sampled = rs.sampled_metrics(50, items=500)
    truth = (ranks <= 50).mean()
    naive = (places <= 50).mean()
    found = sampled.corrected("hit_rate@50", places, gamma=0.01)
    assert found.low < found.mean < found.high
    assert abs(found.mean - truth) < abs(naive - truth) / 10
    values = sampled.corrected_values("hit_rate@50", gamma=0.01)[places - 1]
    assert found.mean == pytest.approx(values.mean())
    assert found.error == pytest.approx(values.std(ddof=1) / 4000**0.5)


def lists(places, length=4):
    """One relevant item in each list, at a place."""
    truth = {f"u{number}": {"it": 1} for number in range(len(places))}
    run = {
        f"u{number}": ["it" if at == place else f"o{at}" for at in range(1, length + 1)]
        for number, place in enumerate(places)
    }
    return truth, run


def test_a_result_says_it_and_is_corrected():
    sampled = rs.sampled_metrics(3, items=10)
    result = rs.evaluate(*lists([1, 3, 4, 2]), ["hit_rate@2", "rr"])
    found = sampled.corrected("rr", result, method="rank")
    assert found.mean == pytest.approx((1 + 1 / 7 + 1 / 10 + 1 / 4) / 4)
    text = repr(sampled.note(result))
    assert "hit_rate@2 among 3 negatives is about hit_rate@4 among 10" in text
    assert "rr among 3 negatives: one sampled rank is about 3 ranks among 10 items" in text


def test_refused():
    for change in ({"negatives": 0}, {"negatives": 1.5}, {"items": 1}, {"negatives": True}):
        with pytest.raises(ValueError, match="it must be a whole number from"):
            rs.sampled_metrics(**{"negatives": 3, "items": 10, **change})
    with pytest.raises(ValueError, match="30 negatives cannot be sampled from 9 other items; use replacement=True"):
        rs.sampled_metrics(30, items=10)
    assert rs.sampled_metrics(30, items=10, replacement=True).negatives == 30
    sampled = rs.sampled_metrics(3, items=10)
    with pytest.raises(ValueError, match="a rank is a whole number from 1 to 10, not 11"):
        sampled.expected("rr", [1, 11])
    with pytest.raises(ValueError, match="a sampled rank is a whole number from 1 to 4, not 0"):
        sampled.corrected("rr", [0, 1])
    with pytest.raises(ValueError, match="the estimate needs the sampled ranks of at least two lists"):
        sampled.corrected("rr", [1])
    with pytest.raises(ValueError, match="method='plain'; choose from 'bias-variance', 'rank'"):
        sampled.corrected_values("rr", method="plain")
    with pytest.raises(ValueError, match="gamma is 0; it must be above 0"):
        sampled.corrected_values("rr", gamma=0)
    truth, run = lists([1, 2])
    with pytest.raises(rs.errors.DataError, match="query 'u1' has 2 relevant items"):
        sampled.note(rs.evaluate({**truth, "u1": {"it": 1, "o1": 1}}, run, "rr"))
    with pytest.raises(rs.errors.DataError, match="query 'u0' has 4 items; there must be 6"):
        rs.sampled_metrics(5, items=10).note(rs.evaluate(truth, run, "rr"))
    with pytest.raises(rs.errors.DataError, match="query 'u1': the relevant item is not returned"):
        sampled.note(rs.evaluate({**truth, "u1": {"elsewhere": 1}}, run, "rr"))
