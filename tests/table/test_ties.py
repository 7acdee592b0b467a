"""Every rule for tied items in every engine, from its row: none is named here."""

from itertools import permutations

import numpy as np
import pytest

import rankstone as rs
from rankstone.align.ties import ORDERS, TIES
from rankstone.conventions.plan import make_plans
from rankstone.evaluate.pipeline import open_source
from rankstone.evaluate.values import measure

from .test_programs import measure_over_arrays

METRIC = "dcg(discount='rank')"
TRUTH = {"q": {"a": 1, "b": 2, "c": 0}}
ROWS = (("x", 9.0), ("y", 8.0), ("a", 5.0), ("c", 5.0), ("b", 5.0))
RUN = {"q": dict(ROWS)}
GRADES = (1, 2, 0)  # of a, b and c
NO_ORDER = "order"  # in an error of an engine that has no order of rows


def total(ranks):
    """Gain over rank of a, b and c."""
    return sum(grade / rank for grade, rank in zip(GRADES, ranks, strict=True))


def expected(rule):
    if rule.example is not None:
        return total(rule.example)
    orders = list(permutations((3, 4, 5)))
    return sum(map(total, orders)) / len(orders)


def expected_by_column(rule):
    """Where the columns are the items: x, y, a, c, b."""
    if rule.by is None:
        return expected(rule)
    a, c, b = (5, 4, 3) if rule.descending else (3, 4, 5)
    return total((a, b, c))


@pytest.fixture(params=TIES.values(), ids=TIES)
def rule(request):
    return request.param


def same(value, wanted):
    assert value == pytest.approx(wanted, rel=1e-12)


def columns(rows):
    return {"query": ["q"] * len(rows), "item": [item for item, _ in rows], "score": [score for _, score in rows]}


def test_every_rule_says_what_it_does(rule):
    """By an order, by what comes first, by one place for all, or by the mean: one of them."""
    assert sum((rule.by is not None, rule.arrange is not None, rule.place is not None, rule.expected)) == 1
    assert (rule.example is None) == rule.expected
    assert rule.order in ORDERS.values()
    assert rs.choices["ties"].labels[rule.name] == rule.words


def test_dicts_and_columns(rule):
    same(rs.evaluate(TRUTH, RUN, METRIC, ties=rule.name)[METRIC], expected(rule))
    same(rs.evaluate(TRUTH, rs.columns(**columns(ROWS)), METRIC, ties=rule.name)[METRIC], expected(rule))


def test_core_and_flat_arrays(rule):
    (plan,) = make_plans(METRIC, "rankstone", {"ties": rule.name})
    aligned = open_source(TRUTH, RUN).align(plan.alignment).ranked
    for run in (measure, measure_over_arrays):
        same(run(plan, aligned).values[0], expected(rule))


def test_rectangular_arrays(rule):
    labels = np.array([[0.0, 0.0, 1.0, 0.0, 2.0]])
    scores = np.array([[score for _, score in ROWS]])
    value = rs.arrays.dcg(scores=scores, labels=labels, discount="rank", ties=rule.name)
    same(value[0], expected_by_column(rule))


def test_batches(rule):
    batches = rs.Accumulator(METRIC, ties=rule.name)
    batches.update(TRUTH, RUN)
    same(batches.compute()[METRIC], expected(rule))
    if rule.by == "input":
        with pytest.raises(ValueError, match=NO_ORDER):
            rs.Stream(TRUTH, [METRIC], ties=rule.name)
        return
    stream = rs.Stream(TRUTH, [METRIC], ties=rule.name)
    stream.first_pass(columns(ROWS))
    stream.second_pass(columns(ROWS))
    same(stream.compute()[METRIC], expected(rule))


def test_tables_in_a_database(rule):
    connection = pytest.importorskip("duckdb").connect()
    connection.sql(
        "create table judgments as select * from (values ('q','a',1), ('q','b',2), ('q','c',0)) t(query, item, grade)"
    )
    rows = ", ".join(f"('q', '{item}', {score})" for item, score in ROWS)
    connection.sql(f"create table results as select * from (values {rows}) t(query, item, score)")
    connection.sql(
        "create table lists as select query, list(item) as item, list(score) as score from results group by query"
    )
    if rule.by == "input":
        with pytest.raises(ValueError, match=NO_ORDER):
            rs.sql.text(METRIC, ties=rule.name)
    else:
        (value,) = connection.sql(rs.sql.text(METRIC, ties=rule.name)).fetchall()[0]
        same(value, expected(rule))
    text = rs.sql.text(METRIC, run="lists", lists="run", columns={"run": {"score": "score"}}, ties=rule.name)
    (value,) = connection.sql(text).fetchall()[0]
    same(value, expected(rule))


def test_functions_in_a_database(rule):
    pytest.importorskip("duckdb")
    connection = rs.sql.connect()
    run = ", ".join(f"'{item}': {score}" for item, score in ROWS)
    text = f"select rs_dcg(map {{{run}}}, map {{'a': 1, 'b': 2, 'c': 0}}, 5, '-discount rank -ties {rule.name}')"
    (value,) = connection.sql(text).fetchall()[0]
    same(value, expected(rule))
