"""Hand-worked: agreement of two orders; tau_ap and rbo also against the papers' formulas, written out."""

import itertools
import random
from math import isnan, log, sqrt

import numpy as np
import pytest

import rankstone as rs
from tests.effort import cpu_limit


def test_kendall():
    """Of three pairs two agree and one does not."""
    assert rs.metrics.kendall(["a", "b", "c"], truth=["a", "c", "b"]) == pytest.approx((2 - 1) / 3)
    assert rs.metrics.kendall(["c", "b", "a"], truth=["a", "b", "c"]) == pytest.approx(-3 / 3)


@pytest.mark.parametrize(
    ("variant", "expected"), [("a", (3 - 2) / 6), ("b", (3 - 2) / sqrt(6 * 5)), ("ties_agree", (3 - 2 + 1) / 6)]
)
def test_kendall_with_ties(variant, expected):
    """Scores 4, 3, 2, 1 beside grades 3, 1, 1, 2: ab, ac and ad agree, bc is tied, bd and cd are opposed."""
    found = rs.metrics.kendall(
        {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}, truth={"a": 3, "b": 1, "c": 1, "d": 2}, variant=variant
    )
    assert found == pytest.approx(expected)


def test_spearman():
    """Rank differences 0, 1, 1: 1 - 6 * 2 / (3 * 8)."""
    assert rs.metrics.spearman(["a", "b", "c"], truth=["a", "c", "b"]) == pytest.approx(
        1 - 6 * (0 + 1 + 1) / (3 * (9 - 1))
    )


def test_spearman_shares_ranks():
    """Grades 1, 1, 2 have ranks 1.5, 1.5, 3; scores 1, 2, 3 have 1, 2, 3. Centred: -.5, -.5, 1 and -1, 0, 1."""
    expected = (0.5 + 0 + 1) / sqrt((0.25 + 0.25 + 1) * (1 + 0 + 1))
    assert rs.metrics.spearman({"a": 1.0, "b": 2.0, "c": 3.0}, truth={"a": 1, "b": 1, "c": 2}) == pytest.approx(
        expected
    )


def test_only_common_items_count():
    assert rs.metrics.kendall(["x", "a", "y", "b"], truth=["a", "z", "b"]) == pytest.approx(1 / 1)


def test_lists_and_grades_in_one_truth():
    """Where some queries have grades, their order as written means nothing: b is the better one in r."""
    truth, run = {"q": ["a", "b"], "r": {"a": 1, "b": 2}}, {"q": ["a", "b"], "r": ["a", "b"]}
    assert rs.evaluate(truth, run, "kendall").per_query["kendall"][1] == -1
    assert rs.evaluate({"q": truth["q"]}, run, "kendall")["kendall"] == 1


@pytest.mark.parametrize("metric", [rs.metrics.kendall, rs.metrics.spearman, rs.metrics.tau_ap])
@pytest.mark.parametrize("ranked", [[], ["a"], ["x", "y"]])
def test_fewer_than_two_common_items(metric, ranked):
    """Nothing can agree, so the query does not count."""
    assert isnan(metric(ranked, truth=["a", "b"]))
    assert metric(ranked, truth=["a", "b"], undefined=0) == 0


@pytest.mark.parametrize("name", ["spearman", "kendall", "tau_ap"])
@pytest.mark.parametrize("form", [list, tuple, np.array])
def test_whole_numbers_may_be_ids_or_values(name, form):
    """As values spearman is 0.8, as ids -0.5."""
    metric = rs.metrics[name]
    predicted, actual = [2, 1, 5, 4], [3, 1, 5, 2]
    with pytest.raises(TypeError, match=rf"whole numbers .* may be values or item ids; write {name}\(scores="):
        metric(form(predicted), truth=form(actual))
    as_ids = rs.evaluate({"q": actual}, {"q": predicted}, name)[name]
    assert metric([*map(str, predicted)], truth=[*map(str, actual)]) == as_ids
    assert metric([2, 1, 5], truth=actual) == pytest.approx(metric(["2", "1", "5"], truth=["3", "1", "5", "2"]))


def test_values_by_name_and_ids_as_text():
    predicted, actual = [2, 1, 5, 4], [3, 1, 5, 2]
    ranks = ((2 - 3) ** 2 + (1 - 1) ** 2 + (4 - 4) ** 2 + (3 - 2) ** 2) * 6 / (4 * (4**2 - 1))
    assert rs.metrics.spearman(scores=predicted, labels=actual) == pytest.approx(1 - ranks)
    assert rs.metrics.spearman(["2", "1", "5", "4"], truth=["3", "1", "5", "2"]) == pytest.approx(-0.5)
    assert rs.metrics.rbo([2, 1], truth=[1, 2], p=0.9) == pytest.approx(0.9)  # only ever of items
    with pytest.raises(TypeError, match="in the list is not an item id"):
        rs.metrics.spearman([np.float32(2.5), np.float32(1)], truth=[3, 1])


def tau_ap_of_the_paper(ranked, truth):
    """Yilmaz, Aslam and Robertson, SIGIR 2008, equation 2: C(i) items above rank i of the run are right of it."""
    n = len(ranked)
    correct = [sum(truth.index(above) < truth.index(ranked[i]) for above in ranked[:i]) for i in range(n)]
    return 2 / (n - 1) * sum(correct[i] / i for i in range(1, n)) - 1


def test_tau_ap():
    """a, c, b: above c stands a, right; above b stand a, right, and c, wrong."""
    assert rs.metrics.tau_ap(["a", "c", "b"], truth=["a", "b", "c"]) == pytest.approx(2 / 2 * (1 / 1 + 1 / 2) - 1)
    for ranked in itertools.permutations("abcd"):
        assert rs.metrics.tau_ap(list(ranked), truth=list("abcd")) == pytest.approx(
            tau_ap_of_the_paper(ranked, list("abcd"))
        )


def test_tau_ap_weighs_the_top():
    """The same swap costs more at the top of the list, and the measure is not symmetric."""
    items = list("abcdef")
    top, bottom = ["b", "a", *items[2:]], [*items[:4], "f", "e"]
    assert rs.metrics.kendall(top, truth=items) == pytest.approx(rs.metrics.kendall(bottom, truth=items))
    assert rs.metrics.tau_ap(top, truth=items) < rs.metrics.tau_ap(bottom, truth=items)


def test_tau_ap_items_equal_in_the_truth_count_half():
    assert rs.metrics.tau_ap(["a", "b"], truth={"a": 1, "b": 1}) == pytest.approx(2 * (1 / 2) - 1)


def rbo_by_definition(one, other, p, depth=4000):
    """Webber, Moffat and Zobel, TOIS 2010: (1 - p) times the sum of p^(d-1) * agreement(d).

    Lists are continued the way the paper extrapolates them (section 4.2): below the end of the shorter list, its
    share of common items stays what it was; below the end of the longer one, the agreement stays what it was.
    """
    short, long = sorted((one, other), key=len)
    total = 0.0
    for d in range(1, depth + 1):
        if d <= len(long):
            agreement = len(set(short[:d]) & set(long[:d])) / d
            if d > len(short):
                agreement += len(set(short) & set(long[: len(short)])) / len(short) * (d - len(short)) / d
        total += (1 - p) * p ** (d - 1) * agreement
    return total


@pytest.mark.parametrize("p", [0.5, 0.9, 0.98])
def test_rbo_by_definition(p):
    rng = random.Random(4)
    for _ in range(60):
        one = rng.sample("abcdefghij", rng.randint(1, 8))
        other = rng.sample("abcdefghij", rng.randint(1, 8))
        assert rs.metrics.rbo(one, truth=other, p=p) == pytest.approx(rbo_by_definition(one, other, p), abs=1e-9)
        assert rs.metrics.rbo(one, truth=other, p=p) == pytest.approx(rs.metrics.rbo(other, truth=one, p=p))
        assert rs.metrics.rbo(one, truth=other, p=p, k=3) == pytest.approx(
            rbo_by_definition(one[:3], other[:3], p), abs=1e-9
        )


def test_rbo_by_hand():
    """a, b against b, a: no agreement at depth 1, full agreement from depth 2 on."""
    p = 0.9
    assert rs.metrics.rbo(["a", "b"], truth=["b", "a"], p=p) == pytest.approx((1 - p) * 0 + p)
    # a, b against a, c: 1 at depth 1, 1/2 from depth 2 on.
    assert rs.metrics.rbo(["a", "b"], truth=["a", "c"], p=p) == pytest.approx((1 - p) * 1 + p * 1 / 2)


def test_rbo_ends():
    assert rs.metrics.rbo(["a", "b"], truth=["a", "b"]) == pytest.approx(1)
    assert rs.metrics.rbo(["a", "b"], truth=["c", "d"]) == 0
    assert rs.metrics.rbo([], truth=["a"]) == 0
    assert rs.metrics.rbo(["a"], truth=[]) == 0
    assert rs.metrics.rbo([], truth=[]) == 1


def test_rbo_reads_grades_as_an_order():
    assert rs.metrics.rbo(["a", "b"], truth={"b": 1, "a": 2}) == pytest.approx(1)
    assert rs.metrics.rbo({"a": 2.0, "b": 1.0}, truth={"b": 1, "a": 2}) == pytest.approx(1)


def test_share_of_the_first_ranks():
    """With p = 0.9 the first ten ranks carry 86 % of the weight of two endless lists (section 4.3 of the paper)."""
    p, d = 0.9, 10
    weight = 1 - p ** (d - 1) + (1 - p) / p * d * (log(1 / (1 - p)) - sum(p**i / i for i in range(1, d)))
    assert weight == pytest.approx(0.8556, abs=5e-4)
    same = [f"same-{n}" for n in range(d)]
    one, other = ([f"{side}-{n}" for n in range(5000)] for side in ("one", "other"))
    assert rs.metrics.rbo([*same, *one], truth=[*same, *other], p=p) == pytest.approx(weight, abs=1e-6)


def test_rbo_of_a_truth_with_an_item_twice():
    """Of which the first row counts, so that the order is 6, 5."""
    truth = rs.columns(query=[1, 1, 1], item=[5, 5, 6], grade=[2, 1, 3])
    assert rs.evaluate(truth, {1: {6: 2.0, 5: 1.0}}, "rbo", truth_duplicates="first")["rbo"] == pytest.approx(1)


def test_rbo_of_equal_grades_is_the_mean_over_their_orders():
    """c, b or b, c behind a: each order as a truth of its own. Corsi and Urbano, 2024, call this RBO-a."""
    orders = (["a", "b", "c"], ["a", "c", "b"])
    for run in itertools.permutations(("a", "b", "c", "x"), 3):
        expected = sum(rs.metrics.rbo(list(run), truth=order) for order in orders) / 2
        for rows in ({"a": 2, "b": 1, "c": 1}, {"c": 1, "b": 1, "a": 2}):
            assert rs.metrics.rbo(list(run), truth=rows) == pytest.approx(expected, rel=1e-12)


# -- long lists ----------------------------------------------------------------------------------------------

LONG = 1_000_000
IN_ORDER = [str(at) for at in range(LONG)]
NEIGHBOURS_SWAPPED = [str(at ^ 1) for at in range(LONG)]  # 1, 0, 3, 2 ...


def test_kendall_of_a_long_list():
    """One pair of each two neighbours is opposed. All pairs, compared one by one, would take hours."""
    pairs, opposed = LONG * (LONG - 1) / 2, LONG / 2
    with cpu_limit(120):
        found = rs.metrics.kendall(NEIGHBOURS_SWAPPED, truth=IN_ORDER)
    assert found == pytest.approx((pairs - 2 * opposed) / pairs, rel=1e-15)


def test_tau_ap_of_a_long_list():
    """At every second rank i one of the i - 1 items above is wrong."""
    wrong = sum(1 / (i - 1) for i in range(2, LONG + 1, 2))
    with cpu_limit(120):
        found = rs.metrics.tau_ap(NEIGHBOURS_SWAPPED, truth=IN_ORDER)
    assert found == pytest.approx(2 / (LONG - 1) * (LONG - 1 - wrong) - 1, rel=1e-12)


@pytest.mark.parametrize("values", [3, 10**6])
def test_many_queries_as_scipy_has_them(values):
    """Of different lengths, some of them empty, with many ties and with few."""
    stats = pytest.importorskip("scipy.stats")
    rng = random.Random(values)
    lists = {q: [[rng.randrange(values) for _ in range(q)] for _ in "xy"] for q in range(40)}
    truth, run = ({q: dict(enumerate(lists[q][side])) for q in lists} for side in (0, 1))
    result = rs.evaluate(truth, run, ["kendall", "spearman"], undefined="nan")
    for q, kendall, spearman in zip(result.queries, *result.per_query.values(), strict=True):
        if len({*lists[q][0]}) > 1 and len({*lists[q][1]}) > 1:
            assert kendall == pytest.approx(stats.kendalltau(*lists[q]).statistic, rel=1e-12)
            assert spearman == pytest.approx(stats.spearmanr(*lists[q]).statistic, rel=1e-12)
