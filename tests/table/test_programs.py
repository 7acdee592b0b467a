"""The core runs metrics as their functions say: every metric, choice and rule for ties, beside NumPy's opinion."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankstone as rs
from rankstone import _core
from rankstone.conventions.plan import make_plans
from rankstone.evaluate import values as programs
from rankstone.evaluate.pipeline import open_source
from rankstone.evaluate.values import (
    Compiled,
    MetricValues,
    measure,
    measure_all,
    measured,
    metric_input,
    ratio_of,
    view_for,
)
from rankstone.metrics import declared
from rankstone.program.flat import Eager, Flat
from rankstone.program.ranking import StaticFacts

from .cases import fed, fitting, metrics
from .test_definition import GENERAL, ORDERS, SHARED, choices, takes


def measure_over_arrays(plan, aligned):
    """The same graph by the flat back-end: a second opinion."""
    view = view_for(plan, aligned)
    compiled = Compiled([plan], [StaticFacts.of(view)])
    if compiled.traces[0] is None:  # a choice that has no closed form: what is wrong is said over arrays
        return measured(plan, view, ratio_of(plan, metric_input(view)))
    flat, eager = Flat(view), Eager(view)
    for condition, problem, value, named in compiled.graph.faults:
        space = condition.space if condition.kind == "item" else None
        eager.raise_where(flat.value(condition), problem, None if value is None else flat.value(value), named, space)
    ratio, values, counted, _ = compiled.traces[0]
    chosen = None if counted is None else flat.per_query(counted) != 0
    return MetricValues(view, ratio.map(flat.per_query), flat.per_query(values), chosen)


def same(first, second):
    np.testing.assert_allclose(first, second, rtol=1e-12, atol=1e-12)


def plan_of(metric, chosen):
    try:
        return make_plans(metric, "rankstone", chosen)[0]
    except ValueError:  # choices that do not go together
        return None


def told(measure, plan, ranked):
    """What was measured, or the error."""
    try:
        return measure(plan, ranked)
    except ValueError as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", sorted(fed()))
@given(data=st.data())
def test_both_engines_agree(name, data):
    row = declared()[name]
    truth, run = data.draw(fitting(row.kind))
    metric, _, _ = data.draw(metrics(name, refusing=True))
    values = dict(GENERAL, ties=(*ORDERS, *SHARED, "expected"), relevance=("clipped",), truth_depth=("k",))
    chosen = data.draw(choices(**{one: some for one, some in values.items() if takes(metric, one)}))
    plan = plan_of(metric, chosen)
    if plan is None:
        return
    ranked = open_source(truth, run).align(plan.alignment).ranked
    wanted, found = told(measure_over_arrays, plan, ranked), told(measure, plan, ranked)
    if isinstance(wanted, tuple):
        assert found == wanted
        return
    same(found.values, wanted.values)
    same(found.ratio.numerator, wanted.ratio.numerator)
    same(found.ratio.denominator, wanted.ratio.denominator)
    assert (found.counted is None or found.counted.all()) == (wanted.counted is None or wanted.counted.all())
    if found.counted is not None and wanted.counted is not None:
        assert (found.counted == wanted.counted).all()
    assert found.finish is wanted.finish
    for ours, theirs in zip(found.ratio.parts or (), wanted.ratio.parts or (), strict=True):
        same(ours.numerator, theirs.numerator)
        same(ours.denominator, theirs.denominator)


def test_every_metric_is_traced():
    truth, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 0.5, "b": 0.25}}
    for name in fed():
        plan = make_plans(name, "rankstone", {})[0]
        ranked = open_source(truth, run).align(plan.alignment).ranked
        assert programs.compile_plans([plan], [StaticFacts.of(ranked)]).traces[0] is not None, name


def large(queries=3000, items=40, seed=0):
    rng = np.random.default_rng(seed)
    query = np.repeat(np.arange(queries), items)
    item = np.argsort(rng.random((queries, 2 * items)), axis=1)[:, :items].ravel()
    score = rng.integers(0, 30, len(query)) / 8
    judged = rng.integers(0, 60, queries)
    judged[17] = 5000  # more than the core takes at a time
    wanted = np.repeat(np.arange(queries), judged)
    place = np.concatenate([np.arange(count) for count in judged])
    truth = rs.columns(query=wanted, item=place, grade=rng.integers(-1, 4, len(place)) * 0.7)
    return truth, rs.columns(query=query, item=item, score=score)


WANTED = [
    "ndcg", "ndcg@{1,10,100000}", "ndcg(gain='exp2', ideal='nonzero')", "ap", "ap@5", "rr", "recall@{5,1000}",
    "precision", "err(max_grade=4)", "nerr", "rbp", "rbp(p=0.95, divisor='best')", "bpref", "infap", "auc", "iprec11",
    "r_precision", "f1@10", "dcg(discount='ln(rank+1)')", "hit_rate@3",
]  # fmt: skip


@pytest.mark.parametrize("ties", ["item_desc", "group_mean", "optimistic"])
def test_bit_for_bit_whatever_the_threads_and_the_company(ties):
    source = open_source(*large())
    plans = [*make_plans([name for name in WANTED if plan_of(name, {"ties": ties})], "rankstone", {"ties": ties})]
    ranked = source.align(plans[0].align.with_(True, 0)).ranked
    first = measure_all(plans, ranked, 1)
    for threads in (2, 3, 8):
        for one, other in zip(first, measure_all(plans, ranked, threads), strict=True):
            assert np.array_equal(one.values, other.values, equal_nan=True)
    for plan, one in zip(plans, first, strict=True):
        assert np.array_equal(one.values, measure(plan, ranked).values, equal_nan=True)
        same(one.values, measure_over_arrays(plan, ranked).values)
    some = np.array([len(ranked) - 1, 17, 5, 0])  # in another chunk, beside others
    for plan, one in zip(plans, measure_all(plans, ranked.only(some), 1), strict=True):
        if plan.metric.name != "nerr":  # whose highest grade is of all queries
            assert np.array_equal(one.values, measure(plan, ranked).values[some], equal_nan=True)


def test_sums_go_down_the_ranks():
    """As trec_eval adds up, to the last digit."""
    grades = [3.0, 0.1, 7.0, 1e-9, 2.5, 0.3]
    total = 0.0
    for rank, grade in enumerate(grades, 1):
        total += grade * (1.0 / np.log2(rank + 1.0))
    assert rs.dcg(labels=grades) == total


def test_the_first_query_is_named_whatever_the_threads():
    rng = np.random.default_rng(0)
    query = np.repeat(np.arange(5000), 10)
    item, grade = np.tile(np.arange(10), 5000), rng.integers(0, 3, 50000).astype(float)
    grade[[30017, 44444]] = -1.0
    truth, run = rs.columns(query=query, item=item, grade=grade), rs.columns(query=query, item=item, score=grade)
    for threads in (1, 2, 8):
        with pytest.raises(ValueError, match=r"grade -1 is negative.* in query 3001"):
            rs.evaluate(truth, run, ["rr", "ndcg(negative='error')"], threads=threads)


# -- a user's own --------------------------------------------------------------------------------------------

TRUTH, RUN = {"q": {"a": 1, "b": 0, "c": 1}}, {"q": {"c": 3.0, "x": 2.0, "a": 1.0}}
steepness = 1.0


@pytest.fixture
def own():
    names = []

    def declare(function):
        names.append(function.__name__)
        return rs.metric(function.__name__)(function)

    yield declare
    from rankstone.metrics import registry

    for name in names:
        registry.metrics.rows.pop(name, None)
        registry.metrics.names.pop(name, None)
    for forget in registry.on_declare:
        forget()


def test_one_that_reaches_for_arrays(own):
    @own
    def by_arrays(ranking, *, k=None):
        return rs.authoring.Ratio(np.array([np.sort(ranking.rank).sum()]), ranking.relevant)

    assert rs.evaluate(TRUTH, RUN, "by_arrays")["by_arrays"] == (1 + 3) / 2


def test_one_that_asks_for_truth_values(own):
    @own
    def by_asking(ranking, *, k=None):
        return rs.authoring.Ratio(ranking.hits(k) if (ranking.retrieved > 2).all() else ranking.relevant, ranking.one)

    assert rs.evaluate(TRUTH, RUN, "by_asking")["by_asking"] == 2


def test_one_that_answers_otherwise_tomorrow(own):
    global steepness

    @own
    def by_mood(ranking, *, k=None):
        return rs.authoring.Ratio(ranking.sum(ranking.credit / ranking.rank**steepness, k), ranking.one)

    assert rs.evaluate(TRUTH, RUN, "by_mood")["by_mood"] == 1 + 1 / 3
    steepness = 2.0
    assert rs.evaluate(TRUTH, RUN, "by_mood")["by_mood"] == 1 + 1 / 9
    steepness = 1.0


def test_one_that_looks_deeper_than_it_said(own):
    @own
    def by_surprise(ranking, *, k=None):
        best = ranking.ideal(k=1)
        return rs.authoring.Ratio(
            best.sum(best.grade) + best.sum(best.grade, 1) + best.highest(-best.grade), ranking.one
        )

    truth = {"q": {"a": 3, "b": 2, "c": 1}}
    assert rs.evaluate(truth, RUN, "by_surprise")["by_surprise"] == (3 + 2 + 1) + 3 - 1


def test_one_that_goes_deep(own):
    @own
    def by_many_steps(ranking, *, k=None):
        total = ranking.hits(1)
        for depth in range(2, 3001):
            total = total + ranking.hits(depth) / 1.0
        return rs.authoring.Ratio(total, ranking.one)

    assert rs.evaluate(TRUTH, RUN, "by_many_steps")["by_many_steps"] == 2 * 1 + 2998 * 2
    table = {grade: float(grade) for grade in range(-5000, 5000)}
    assert rs.dcg(labels=[3, 0, 1], gain=table) == 3 + 1 / 2


def test_one_that_reads_lengths_alone(own):
    def halving(f, rank):
        return 0.5**rank

    @own
    def by_length(ranking, *, k=None):
        return rs.authoring.Ratio(ranking.sum_of_discounts(halving, None), ranking.one)

    assert rs.evaluate(TRUTH, RUN, "by_length")["by_length"] == 1 / 2 + 1 / 4 + 1 / 8


def test_one_whose_finish_is_the_rankings(own):
    @own
    def by_root(ranking, *, k=None):
        return rs.authoring.Ratio(ranking.hits(k), ranking.retrieved, ranking.sqrt)

    assert rs.evaluate(TRUTH, RUN, "by_root", averaging="micro")["by_root"] == (2 / 3) ** 0.5


# -- the core's own door -------------------------------------------------------------------------------------


def test_a_program_stays_within_its_data():
    offsets, grades = np.array([0, 2]), np.array([1.0, 2.0])
    steps = [("column", 1, 0, 1, -1, 0), ("sum", 0, 1, 0, 1, -1), ("answer", 0, -1, 1, 0, -1)]
    program = _core.Program(steps, [(0, None)], [], 2, 2, 0, 1, 0)
    assert program.run(1, [offsets, grades], [], [])[0][0].tolist() == [3.0]
    for columns in ([offsets, grades[:1]], [offsets[:1], grades], [offsets.astype(float), grades], [offsets]):
        with pytest.raises(ValueError, match="not of the size"):
            program.run(1, columns, [], [])
    with pytest.raises(ValueError, match="names no register"):
        _core.Program([("+", 0, 5, 0, 0, -1)], [], [], 2, 0, 0, 0, 0)
    with pytest.raises(ValueError, match="unknown step 'dance'"):
        _core.Program([("dance", 0, 0, 0, 0, -1)], [], [], 2, 0, 0, 0, 0)


def test_values_of_another_list():
    # Two queries: lists of 3 and 0 items beside lists of 2 and 1.
    ours, theirs = np.array([0, 3, 3]), np.array([0, 2, 3])
    wanted, values, ranks = np.array([0.0, 1.0, 9.0]), np.array([10.0, 20.0, 30.0]), np.array([1.0, 2.0, 5.0])

    def each(op, columns):
        steps = [
            ("column", 1, 0, 1, -1, 0),
            ("column", 0, 1, 2, -1, 0),
            (op, 0, 2, 0, 1, 1),
            ("answer", 0, -1, 2, 0, -1),
        ]
        return _core.Program(steps, [(0, None)], [], 3, 3, 0, 1, 0).run(2, columns, [], [])[0][0].tolist()

    assert each("at", [theirs, values, np.array([5.0, 0.0])]) == [20, 0]
    assert each("upto", [theirs, ranks, np.array([1.5, 5.0])]) == [1, 1]
    long = np.array([0, 100, 300])
    assert each("upto", [long, np.tile(np.arange(100.0), 3)[:300], np.array([41.0, -1.0])]) == [42, 0]

    def sums(op, own, other, columns):
        steps = [("column", own, 0, 2, -1, 0), ("column", other, 1, 3, -1, 0), (op, own, 2, 1, other, 0)]
        steps += [("sum", 0, 3, 2, own, -1), ("answer", 0, -1, 3, 0, -1)]
        program = _core.Program(steps, [(0, None), (1, None)], [], 4, 4, 0, 1, 0)
        return program.run(2, [ours, theirs, *columns], [], [])[0][0].tolist()

    assert sums("at", 1, 2, [wanted, values]) == [0 + 10 + 20, 0]  # before the first, the first, beyond the last
    assert sums("at", 2, 1, [np.array([2.0, 7.0, 1.0]), values]) == [20 + 30, 0]  # nothing in an empty list
    assert sums("upto", 1, 2, [ranks, values / 10]) == [1 + 2 + 2, 0]
    assert sums("upto", 2, 1, [np.array([1.0, 4.0, 7.0]), ranks]) == [1 + 2, 0]
    for step in (("at", 1, 2, 1, 0, 0), ("at", 0, 2, 1, 2, 0), ("upto", 1, 2, 1, -1, 0)):
        with pytest.raises(ValueError, match="names no list"):
            _core.Program([step], [(0, None)], [], 4, 1, 0, 0, 0)
    with pytest.raises(ValueError, match="names no register"):
        _core.Program([("at", 1, 2, 1, 1, -1)], [(0, None)], [], 4, 1, 0, 0, 0)


def test_entries_of_places_that_no_item_has():
    offsets, ranks = np.array([0, 3, 3, 5]), np.array([2.0, 0.0, 4.0, 1.0, 9.0])
    steps = [("column", 1, 0, 1, -1, 0), ("column", 0, 1, 2, -1, 0), ("elsewhere", 1, 2, 0, 0, 1)]
    program = _core.Program([*steps, ("answer", 0, -1, 2, 0, -1)], [(0, None)], [], 3, 3, 1, 1, 0)
    table = 2.0 ** np.arange(6)
    found = program.run(3, [offsets, ranks, np.array([5.0, 2.0, 3.0])], [], [table])[0][0]
    assert found.tolist() == [2 + 8 + 32, 2 + 4, 4 + 8]
    found = program.run(3, [offsets, ranks, np.array([100.0, 0.0, -1.0])], [], [table])[0][0]
    assert found.tolist() == [2 + 8 + 32, 0, 0]  # the table ends there
    for step in (("elsewhere", 0, 2, 0, 0, 1), ("elsewhere", 1, 2, 0, 1, 1), ("elsewhere", 1, 2, 0, 0, -1)):
        with pytest.raises(ValueError, match=r"names no (list|table|register)"):
            _core.Program([step], [(0, None)], [], 3, 3, 1, 1, 0)


@pytest.mark.parametrize("count", [0, 1, 7, 127, 128, 129, 1000, 100_000])
def test_total(count):
    values = np.random.default_rng(count).random(count)
    assert _core.total(values) == pytest.approx(float(np.sum(values, dtype=np.longdouble)), rel=1e-14)
    keep = values > 0.5
    assert _core.total(values, keep.astype(float)) == pytest.approx(float(values[keep].sum()), rel=1e-14)
