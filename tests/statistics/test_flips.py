"""Sign flips, max-T and the randomised Tukey test: by hand, against all patterns one by one, and against scipy."""

import importlib
import math
import tracemalloc
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
import pytest
from scipy import stats

import rankstone as rs
from rankstone.statistics import randomization_test, tukey_randomised, westfall_young

# The functions stand in front of their modules.
SIGNS = importlib.import_module("rankstone.statistics.rank_tests")
FLIPS = importlib.import_module("rankstone.statistics.randomization")
MAX_T = importlib.import_module("rankstone.statistics.westfall_young")
TUKEY = importlib.import_module("rankstone.statistics.tukey")


def one_by_one(differences):
    """Counts over all sign patterns of the differences that are not 0, in exact arithmetic."""
    differences = [one for one in differences if one]
    observed = sum(differences)
    sums = [
        sum(s * d for s, d in zip(signs, differences, strict=True))
        for signs in product((1, -1), repeat=len(differences))
    ]
    return (
        sum(abs(one) >= abs(observed) for one in sums),
        sum(one >= observed for one in sums),
        sum(one <= observed for one in sums),
        len(sums),
    )


def same(one, other):
    return all(np.array_equal(first, second, equal_nan=True) for first, second in zip(one, other, strict=True))


def uneven(rows, columns=None, seed=1):
    """Differences that are on no grid."""
    shape = rows if columns is None else (rows, columns)
    return np.random.default_rng(seed).normal(0.1, 1, shape)


# By hand


def test_three_differences_of_one_side():
    found = randomization_test([0.1, 0.2, 0.3])
    assert found.p == 2 / 8  # + + + and - - -
    assert found.greater == 1 / 8
    assert found.less == 1
    assert found.exact
    assert (found.patterns, found.as_extreme, found.nonzero) == (8, 2, 3)


def test_a_sum_that_others_reach_too():
    # Sums of .1 .2 -.3: 0 0 and, by size, .2 .4 .6 on both sides; the observed one is 0.
    found = randomization_test([0.1, 0.2, -0.3])
    assert found.p == 1
    assert found.greater == found.less == 5 / 8


def test_zeros_are_left_out_and_counted():
    with_zeros, without = randomization_test([0.0, 0.25, 0.0, 0.5]), randomization_test([0.25, 0.5])
    assert same(with_zeros, without)
    assert (with_zeros.nonzero, with_zeros.patterns) == (2, 4)


def test_decimals_that_are_not_equal_in_binary():
    # Every size is 0.3; five of six are +, and 2 * (6 + 1) patterns of 64 have five of one sign or more.
    first, second = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]), np.array([0.4, 0.5, 0.6, 0.7, 0.8, 0.3])
    assert len(set(np.abs(second - first))) > 1
    assert randomization_test(second - first).p == 2 * (6 + 1) / 64


def test_near_zero_where_scipy_is_wrong():
    baseline = np.array([0.9, 1, 0.5, 0, 0.6, 0.6, 0.4, 0.7])
    treatment = np.array([1, 0.9, 0.5, 0, 0.7, 0.4, 0.3, 1])
    assert randomization_test(treatment - baseline).p == 1  # SciPy 1.17.1 says 0.9375


def test_one_query():
    found = randomization_test([0.5])
    assert (found.p, found.greater, found.less) == (1, 1 / 2, 1)
    below = randomization_test([-0.5])
    assert (below.p, below.greater, below.less) == (1, 1, 1 / 2)


def test_a_run_against_itself():
    found = randomization_test(np.zeros(50))
    assert (found.p, found.greater, found.less) == (1, 1, 1)
    assert found.exact
    assert (found.patterns, found.as_extreme, found.nonzero) == (1, 1, 0)
    matrix = randomization_test(np.column_stack([np.zeros(50), uneven(50)]), resamples=99)
    assert matrix.p[0] == 1
    assert matrix.exact.tolist() == [True, False]


def test_given_signs():
    # Sums 3, 1, -3, -1: one of them is as large as 3, two are in size.
    found = randomization_test([1.0, 2.0], signs=[[1, 1], [-1, 1], [-1, -1], [1, -1]])
    assert found.p == (2 + 1) / (4 + 1)
    assert found.greater == (1 + 1) / (4 + 1)
    assert found.less == (4 + 1) / (4 + 1)
    assert not found.exact
    assert (found.patterns, found.as_extreme) == (4, 2)


def test_every_flip_is_as_extreme_as_a_sum_of_zero():
    found = randomization_test(
        [1.0, -1.0, 2.5, -2.5], signs=[[1, 1, 1, 1], [1, -1, 1, 1], [-1, -1, -1, -1], [-1, 1, 1, 1]]
    )
    assert (found.p, found.as_extreme) == (1, 4)
    assert found.greater == found.less == (3 + 1) / (4 + 1)  # sums 0, 2, 0, -2


def test_one_sign_a_cluster():
    differences, clusters = [0.5, 0.25, -0.125, 1.0, 0.0], [7, 7, -2, -2, 9]
    assert same(randomization_test(differences, clusters=clusters), randomization_test([0.75, 0.875, 0.0]))


def test_what_is_left_of_a_cluster_that_cancels_is_nothing():
    assert 0.1 + 0.2 - 0.3 != 0
    found = randomization_test([0.1, 0.2, -0.3], clusters=[0, 0, 0])
    assert (found.p, found.nonzero) == (1, 0)


def test_vectors_give_numbers_and_matrices_arrays():
    one, many = randomization_test(uneven(20)), randomization_test(uneven(20)[:, None])
    for number, array in zip(one, many, strict=True):
        assert np.ndim(number) == 0
        assert array.shape == (1,)
        assert array[0] == number


# Against all patterns one by one


@pytest.mark.parametrize("count", [1, 2, 3, 7, 11])
@pytest.mark.parametrize("q", [1, 10, 37, 1000, None])
def test_exact_counts(count, q):
    rng = np.random.default_rng(count)
    for _ in range(5):
        whole = rng.integers(-3 * (q or 10**9), 3 * (q or 10**9), count)
        if q:
            differences = [Fraction(int(one), q) for one in whole]
        else:
            differences = [Fraction(float(one) / 10**9) for one in whole]
        both, greater, less, patterns = one_by_one(differences)
        found = randomization_test([float(one) for one in differences])
        assert (found.as_extreme, found.patterns) == (both, patterns)
        assert (found.p, found.greater, found.less) == (both / patterns, greater / patterns, less / patterns)


@pytest.mark.parametrize("q", [1, 3, 10, 2520])
def test_both_exact_ways_agree(q, monkeypatch):
    differences = np.random.default_rng(q).integers(-q, q + 1, 30) / q
    by_grid = randomization_test(differences)
    monkeypatch.setattr(FLIPS, "on_grid", lambda sizes: None)
    by_halves = randomization_test(differences)
    assert by_grid.exact
    assert by_halves.exact
    assert same(by_grid, by_halves)


def exact_tail(steps):
    """P(S >= observed) in whole numbers: Python's own have no end."""
    ways = {0: 1}
    for step in steps:
        after = {}
        for total, count in ways.items():
            for sign in (step, -step):
                after[total + sign] = after.get(total + sign, 0) + count
        ways = after
    observed = abs(sum(steps))
    return Fraction(sum(count for total, count in ways.items() if total >= observed), 2 ** len(steps))


@pytest.mark.parametrize("shift", [0, 3, 10])
def test_tails_on_a_grid_are_right_relative_to_their_size(shift):
    steps = np.clip(np.random.default_rng(shift).integers(-10, 11, 150) + shift, -10, 10)
    steps = steps[steps != 0].tolist()
    expected = float(2 * exact_tail(steps))
    found = randomization_test(np.array(steps) / 10)
    assert found.exact
    assert float(found.p) == pytest.approx(expected, rel=1e-13)
    assert shift < 10 or expected < 1e-30


def test_hits_are_a_sign_test_however_many():
    for wins, losses in ((30, 20), (700, 600), (50_500, 49_500), (3000, 0)):
        differences = np.array([1.0] * wins + [0.0] * 7 + [-1.0] * losses)
        found = randomization_test(differences)
        assert found.exact
        expected = stats.binomtest(wins, wins + losses).pvalue
        assert float(found.p) == pytest.approx(max(expected, 4e-308), rel=1e-9)
        assert found.p > 0


def test_more_than_a_thousand_on_a_grid():
    rng = np.random.default_rng(5)
    steps = rng.integers(-3, 4, 1500)
    found = randomization_test(steps / 5)
    assert found.exact
    assert float(found.p) == pytest.approx(float(2 * exact_tail(steps[steps != 0].tolist())), rel=1e-12)


def test_the_order_of_queries_does_not_change_an_exact_p():
    rng = np.random.default_rng(2)
    for differences in (uneven(30), rng.integers(-10, 11, 200) / 10):
        assert same(randomization_test(differences), randomization_test(rng.permutation(differences)))


@pytest.mark.parametrize(
    "differences", [uneven(25), np.arange(-20, 45) / 10, uneven(90)], ids=["halves", "grid", "random"]
)
def test_the_other_sign_swaps_greater_and_less(differences):
    found, other = randomization_test(differences, resamples=999), randomization_test(-differences, resamples=999)
    assert (found.p, found.greater, found.less) == (other.p, other.less, other.greater)


@pytest.mark.parametrize("factor", [1e-300, 1e-310, 1e-9, 3.0, 1e300])
@pytest.mark.parametrize("count", [12, 60])
def test_the_unit_does_not_matter(count, factor):
    differences = np.random.default_rng(3).integers(-50, 60, count) + math.pi / 1e3
    found, scaled = (
        randomization_test(differences, resamples=500),
        randomization_test(differences * factor, resamples=500),
    )
    assert (found.p, found.greater, found.less) == (scaled.p, scaled.greater, scaled.less)


# Random flips


def naive(matrix, signs):
    observed = matrix.sum(axis=0)
    sums = signs @ matrix
    slack = 1e-9 * np.abs(matrix).sum(axis=0)
    hits = np.abs(sums) >= np.abs(observed) - slack, sums >= observed - slack, sums <= observed + slack
    return [(hit.sum(axis=0) + 1) / (len(signs) + 1) for hit in hits]


@pytest.mark.parametrize(("rows", "columns"), [(5, 3), (60, 1), (130, 70), (1000, 4), (2, 1)])
def test_given_signs_count_as_in_one_product(rows, columns):
    rng = np.random.default_rng(rows)
    signs = rng.choice([-1, 1], (700, rows))
    matrix = np.round(uneven(rows, columns), 1)  # with ties
    found = randomization_test(matrix, signs=signs)
    for mine, expected in zip(found[:3], naive(matrix, signs), strict=True):
        assert mine.tolist() == expected.tolist()


def test_the_second_look_decides_what_the_first_cannot(monkeypatch):
    # Few sizes, so that very many sums are those observed, and all of them next to it in float32.
    rng = np.random.default_rng(8)
    matrix = rng.choice([1.0, -1.0, math.sqrt(2), -math.sqrt(2)], (90, 6))
    signs = rng.choice([-1, 1], (3000, 90))
    found = randomization_test(matrix, signs=signs)
    for mine, expected in zip(found[:3], naive(matrix, signs), strict=True):
        assert mine.tolist() == expected.tolist()
    monkeypatch.setattr(FLIPS, "_UNSURE", 0.0)
    assert same(found, randomization_test(matrix, signs=signs))


def test_random_p_is_near_the_exact_one():
    differences = uneven(34, seed=4)
    exact, drawn = (
        randomization_test(differences),
        randomization_test(np.append(differences, [1e-6, 2e-6, 3.1e-6]), resamples=40_000),
    )
    assert exact.exact
    assert not drawn.exact
    for mine, expected in zip(drawn[:3], exact[:3], strict=True):
        assert abs(mine - expected) < 4 * math.sqrt(expected * (1 - expected) / 40_000)


def test_never_zero():
    found = randomization_test(np.abs(uneven(80)) + 1, resamples=99)
    assert (found.p, found.greater, found.less, found.as_extreme) == (1 / 100, 1 / 100, 1, 0)


def test_signs_are_fair_and_do_not_hang_together():
    drawn = SIGNS.Signs(20_000, 70, seed=0)
    block = np.concatenate([part.copy() for part in drawn.blocks(0, 20_000)])[:, :70]
    assert set(np.unique(block)) == {-1, 1}
    together = block.T @ block / len(block) - np.eye(70)
    assert np.abs(block.mean(axis=0)).max() < 5 / math.sqrt(20_000)
    assert np.abs(together).max() < 5 / math.sqrt(20_000)
    assert len(np.unique(block, axis=0)) == 20_000


def test_seeds_differ_and_repeat():
    differences = uneven(100)
    assert same(
        randomization_test(differences, seed=1, resamples=5000), randomization_test(differences, seed=1, resamples=5000)
    )
    assert (
        randomization_test(differences, seed=1, resamples=5000).p
        != randomization_test(differences, seed=2, resamples=5000).p
    )


@pytest.mark.parametrize("chunk", [4, 60, 4096, 100_000])
@pytest.mark.parametrize("cells", [1, 1 << 12, 1 << 19])
def test_chunks_threads_and_blocks_do_not_matter(chunk, cells, monkeypatch):
    matrix, values = uneven(150, 5), uneven(150, 6)
    pairs = list(combinations(range(6), 2))
    count = 300 if chunk == 4 or cells == 1 else 9000
    expected = (
        randomization_test(matrix, resamples=count, threads=1),
        westfall_young(values, pairs, resamples=count, threads=1),
    )
    monkeypatch.setattr(SIGNS, "CHUNK", chunk)
    monkeypatch.setattr(SIGNS, "_CELLS", cells)
    monkeypatch.setattr(SIGNS, "_SMALL", 0)
    for threads in (1, 8):
        found = (
            randomization_test(matrix, resamples=count, threads=threads),
            westfall_young(values, pairs, resamples=count, threads=threads),
        )
        assert same(expected[0], found[0])
        assert same(expected[1], found[1])


def test_tiles_make_the_same_product():
    rng = np.random.default_rng(0)
    for rows, width, columns in ((1, 1, 1), (7, 130, 200), (600, 1000, 45), (33, 113, 64), (40, 9, 1)):
        drawn = SIGNS.Signs(rows, width, seed=0)
        block = next(drawn.blocks(0, rows))
        matrix = SIGNS.padded(rng.integers(-99, 99, (width, columns)).astype(float), drawn.padded)
        assert np.array_equal(drawn.product(block.astype(float), matrix), block.astype(float) @ matrix)


@pytest.mark.parametrize("threads", [1, 4])
def test_memory(threads):
    values = uneven(1000, 50)
    pairs = [(5 * a + metric, 5 * b + metric) for metric in range(5) for a, b in combinations(range(10), 2)]
    tracemalloc.start()
    try:
        randomization_test(values[:, 5:], resamples=40_000, threads=threads)
        westfall_young(values, pairs, resamples=40_000, threads=threads)
        assert tracemalloc.get_traced_memory()[1] < 40e6
    finally:
        tracemalloc.stop()


# Against scipy


@pytest.mark.peers
@pytest.mark.parametrize("count", [4, 9, 13])
def test_scipy_exact(count):
    differences = uneven(count, seed=count)
    for alternative, field in (("two-sided", "p"), ("greater", "greater"), ("less", "less")):
        theirs = stats.permutation_test(
            (differences,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative=alternative
        )
        assert getattr(randomization_test(differences), field) == pytest.approx(theirs.pvalue, abs=1e-12)


# max-T


def slow_max_t(values, pairs, signs):
    """As the definition reads."""
    d = np.array([values[:, b] - values[:, a] for a, b in pairs]).T
    length = np.sqrt((d * d).sum(axis=0))
    observed = np.abs(d.sum(axis=0)) / length
    drawn = np.abs(signs @ d) / length
    slack = 1e-9 * np.abs(d).sum(axis=0) / length
    order = np.argsort(-observed)
    alone, single, step = np.zeros((3, len(pairs)))
    largest = 0.0
    for place, pair in enumerate(order):
        alone[pair] = (np.count_nonzero(drawn[:, pair] >= observed[pair] - slack[pair]) + 1) / (len(signs) + 1)
        single[pair] = (np.count_nonzero(drawn.max(axis=1) >= observed[pair] - slack[pair]) + 1) / (len(signs) + 1)
        rest = drawn[:, order[place:]].max(axis=1)
        largest = max(largest, (np.count_nonzero(rest >= observed[pair] - slack[pair]) + 1) / (len(signs) + 1))
        step[pair] = largest
    return observed, alone, single, step


@pytest.mark.parametrize("decimals", [1, 12])
@pytest.mark.parametrize("unsure", [0.0, 0.5, math.inf])
def test_max_t_is_its_definition(decimals, unsure, monkeypatch):
    monkeypatch.setattr(MAX_T, "_UNSURE", unsure)
    rng = np.random.default_rng(6)
    values = np.round(rng.random((300, 9)) + np.array([0, 0.1, 0.02, 0, 0, 0, 0, 0.2, 0]), decimals)
    values[:, 6:] *= 1000  # another metric, in another unit
    pairs = [*combinations(range(6), 2), (6, 7), (8, 6)]
    signs = rng.choice([-1, 1], (1200, 300))
    found = westfall_young(values, pairs, signs=signs)
    expected = slow_max_t(values, pairs, signs)
    np.testing.assert_allclose(found.statistics, expected[0], rtol=1e-9)
    for mine, theirs in zip(found[1:], expected[1:], strict=True):
        assert mine.tolist() == theirs.tolist()


def test_max_t_of_one_pair_is_flips():
    values = uneven(70, 2)
    alone = randomization_test(values[:, 1] - values[:, 0], resamples=3000)
    found = westfall_young(values, [(0, 1)], resamples=3000)
    assert found.p[0] == found.single_step[0] == found.step_down[0] == alone.p


def test_adjusting_only_adds():
    values = uneven(80, 7)
    found = westfall_young(values, list(combinations(range(7), 2)), resamples=2000)
    assert (found.p <= found.step_down).all()
    assert (found.step_down <= found.single_step).all()
    order = np.argsort(found.statistics)
    assert (np.diff(found.step_down[order]) <= 0).all()


def test_a_pair_without_a_difference_is_not_of_the_family():
    values = uneven(60, 4)
    values[:, 3] = values[:, 1]
    without, with_it = (
        westfall_young(values, pairs, resamples=500) for pairs in ([(0, 1), (0, 2)], [(0, 1), (1, 3), (0, 2)])
    )
    assert [field[1] for field in with_it] == [0, 1, 1, 1]
    assert without.statistics == pytest.approx(with_it.statistics[[0, 2]], rel=1e-12)
    for first, second in zip(without[1:], with_it[1:], strict=True):
        assert first.tolist() == second[[0, 2]].tolist()
    alone = westfall_young(values, [(1, 3)])
    assert [field.tolist() for field in alone] == [[0], [1], [1], [1]]


def test_rows_of_zeros_do_not_matter():
    values = uneven(50, 3)
    more = np.zeros((80, 3))
    more[5:55] = values
    pairs = [(0, 1), (0, 2), (1, 2)]
    found, expected = westfall_young(more, pairs, resamples=700), westfall_young(values, pairs, resamples=700)
    np.testing.assert_allclose(found.statistics, expected.statistics, rtol=1e-12)
    assert same(found[1:], expected[1:])


def test_clusters_of_max_t_are_their_sums():
    values = uneven(60, 3)
    clusters = np.repeat(np.arange(12), 5)
    sums = values.reshape(12, 5, 3).sum(axis=1)
    signs = np.random.default_rng(1).choice([-1, 1], (400, 12))
    pairs = [(0, 1), (2, 0)]
    found, expected = (
        westfall_young(values, pairs, signs=signs, clusters=clusters),
        westfall_young(sums, pairs, signs=signs),
    )
    np.testing.assert_allclose(found.statistics, expected.statistics, rtol=1e-12)
    assert same(found[1:], expected[1:])


@pytest.mark.simulation
def test_max_t_keeps_its_level():
    """Any false alarm among the pairs of five equal runs, two of them noisy and three alike."""
    rng = np.random.default_rng(11)
    pairs = list(combinations(range(5), 2))
    alarms = 0
    for number in range(1000):
        common = rng.exponential(size=(50, 1))
        values = common + rng.normal(size=(50, 5)) * [1, 1, 0.1, 0.1, 0.1]
        alarms += westfall_young(values, pairs, resamples=299, seed=number).step_down.min() <= 0.05
    assert 30 <= alarms <= 60


@pytest.mark.simulation
def test_flips_keep_their_level():
    rng = np.random.default_rng(12)
    found = [randomization_test(rng.normal(size=(40, 50)), resamples=499, seed=number).p for number in range(400)]
    assert abs(np.mean(np.array(found) <= 0.05) - 0.05) < 4 * math.sqrt(0.05 * 0.95 / 20_000)


# The randomised Tukey test


def slow_tukey(scores):
    """p of each pair, over all permutations within the queries, in exact arithmetic."""
    rows = [[Fraction(str(one)) for one in row] for row in scores]
    runs = len(rows[0])
    ranges = []
    for chosen in product(*(list(permutations(row)) for row in rows)):
        sums = [sum(column) for column in zip(*chosen, strict=True)]
        ranges.append(max(sums) - min(sums))
    means = [sum(column) for column in zip(*rows, strict=True)]
    return [
        sum(one >= abs(means[a] - means[b]) for one in ranges) / len(ranges) for a, b in combinations(range(runs), 2)
    ]


@pytest.mark.parametrize(("queries", "runs"), [(1, 2), (1, 4), (3, 2), (4, 3), (3, 4)])
def test_tukey_over_all_permutations(queries, runs):
    scores = np.random.default_rng(queries).integers(0, 8, (queries, runs)) / 10
    found = tukey_randomised(scores)
    assert found.exact
    assert found.permutations == math.factorial(runs) ** queries
    assert found.pairs == list(combinations(range(runs), 2))
    assert found.p.tolist() == slow_tukey(scores.tolist())
    assert (found.as_extreme / found.permutations).tolist() == found.p.tolist()


def test_tukey_by_hand():
    # Two runs: the sums of the two differ by .5 or .1, each for half of the four patterns.
    found = tukey_randomised([[0.4, 0.1], [0.1, 0.3]])
    assert found.p.tolist() == [1.0]
    assert found.differences == pytest.approx([(0.4 + 0.1 - 0.1 - 0.3) / 2])
    assert tukey_randomised([[0.4, 0.1], [0.3, 0.1]]).p.tolist() == [1 / 2]


def test_random_tukey_is_near_the_exact_one(monkeypatch):
    scores = np.round(np.random.default_rng(1).random((6, 3)), 2)
    exact = tukey_randomised(scores)
    monkeypatch.setattr(TUKEY, "MOST", 1)
    drawn = [tukey_randomised(scores, resamples=20_000, threads=threads) for threads in (1, 8)]
    assert same(drawn[0][:4], drawn[1][:4])
    assert not drawn[0].exact
    assert drawn[0].p.tolist() == ((drawn[0].as_extreme + 1) / 20_001).tolist()
    assert np.abs(drawn[0].p - exact.p).max() < 4 * 0.5 / math.sqrt(20_000)


def test_tukey_of_equal_runs():
    found = tukey_randomised(np.ones((5, 3)))
    assert found.p.tolist() == [1, 1, 1]


# What is refused


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: randomization_test([]), "no query"),
        (lambda: randomization_test([0.1, math.nan]), r"difference\[1\] is nan"),
        (lambda: randomization_test([[0.1, 1.0], [0.2, math.inf]]), r"difference\[1, 1\] is inf"),
        (lambda: randomization_test(np.zeros((2, 2, 2))), "3 dimensions"),
        (lambda: randomization_test(1.0), "0 dimensions"),
        (lambda: randomization_test(uneven(50), resamples=0), "resamples=0"),
        (lambda: randomization_test(uneven(50), threads=-1), "threads=-1"),
        (lambda: randomization_test([0.1, 0.2], signs=[[1, 1, 1]]), r"rows of 2 signs"),
        (lambda: randomization_test([0.1, 0.2], signs=[[1, 0]]), "1 or -1"),
        (
            lambda: randomization_test([0.1, 0.2], clusters=[0]),
            r"clusters has the shape \(1,\), but there are 2 values",
        ),
        (lambda: westfall_young([[0.1, math.nan]], [(0, 1)]), r"values\[0, 1\] is nan"),
        (lambda: westfall_young(np.zeros((0, 2)), [(0, 1)]), "no query"),
        (lambda: westfall_young([[0.1, 0.2]], [(0, 2)]), r"pairs\[0\] is \(0, 2\), but there are columns 0 to 1"),
        (lambda: westfall_young([[0.1, 0.2]], []), "one or more pairs"),
        (lambda: tukey_randomised([[0.1], [0.2]]), "1 column"),
        (lambda: tukey_randomised([[0.1, 0.2], [math.nan, 0.2]]), r"scores\[1, 0\] is nan"),
    ],
)
def test_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_public_names():
    assert {"randomization_test", "westfall_young", "tukey_randomised"} <= set(rs.statistics.__all__)
