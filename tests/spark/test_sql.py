"""The SQL functions in Spark: the queries of the page they come from, and every recorded case of the helpers."""

import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import rankstone as rs
from rankstone.metrics.registry import declared

from ..golden.deviations import deviation
from ..golden.recorded import read, same
from ..table.cases import fed
from .data import listed, made_up

Find = Callable[[str], Path]
Run = Callable[[str], Any]

USERS = (1, 2, 3)
TABLES = {
    "dummy_truth": ("userid int, itemid int", [(user, item) for user in USERS for item in (1, 2, 4)]),
    "dummy_rec": (
        "userid int, itemid int, score double",
        [(user, *row) for user in USERS for row in ((1, 10.0), (3, 8.0), (2, 6.0), (6, 2.0))],
    ),
    "dummy_recrel": (
        "userid int, itemid int, score double, relscore double",
        [
            (user, *row)
            for user in USERS
            for row in ((1, 10.0, 5.0), (3, 8.0, 2.0), (2, 6.0, 4.0), (6, 2.0, 1.0), (4, 1.0, 3.0))
        ],
    ),
}


@pytest.fixture(scope="module")
def session(spark: Any) -> Iterator[Any]:
    rs.spark.register(spark)
    for name, (kinds, content) in TABLES.items():
        spark.createDataFrame(content, kinds).createOrReplaceTempView(name)
    yield spark
    for name in TABLES:
        spark.catalog.dropTempView(name)


@pytest.fixture(params=["spark.sql", "rs.spark.sql"])
def run(request: pytest.FixtureRequest, session: Any) -> Run:
    return session.sql if request.param == "spark.sql" else lambda text: rs.spark.sql(session, text)


def page_queries(shared: Find) -> list[str]:
    page = next(shared("seeds").glob("000*.txt")).read_text(encoding="utf-8")
    return re.findall(r"```sql\n(.*?)```", page, re.DOTALL)


def test_the_pages_queries_run_verbatim(run: Run, shared: Find) -> None:
    binary, graded = page_queries(shared)
    found = run(binary).collect()
    assert len(found) == 1
    expected = {
        "recall": 2 / 3, "recall_at_2": 1 / 3, "precision": 0.5, "precision_at_2": 0.5,
        "average_precision": (1 / 1 + 2 / 3) / 3, "average_precision_at_2": 1 / 3, "auc": 0.75, "auc_at_2": 1.0,
        "mrr": 1.0, "mrr_at_2": 1.0, "ndcg": 0.7039180890341349, "ndcg_at_2": 0.6131471927654585,
    }  # fmt: skip
    assert found[0].asDict() == pytest.approx(expected, rel=1e-12)
    assert list(run(graded).first()) == pytest.approx([0.8128912838590544, 0.9187707805346093], rel=1e-12)


def test_an_aggregate_stands_beside_others_and_by_group(run: Run) -> None:
    lists = "values (1, array(1, 2), array(2)), (1, array(3), array(3)), (2, array(4), array(5)) as t(g, rec, truth)"
    found = run(
        f"select g, count(*), mrr(rec, truth), ndcg(rec, truth, g) from {lists} group by g order by g"
    ).collect()
    assert [tuple(row)[:3] for row in found] == [(1, 2, (1 / 2 + 1) / 2), (2, 1, 0.0)]
    assert [row[3] for row in found] == [(0 + 1) / 2, 0.0]  # k is a column
    assert run(f"select mrr(rec, truth) from {lists} where g > 5").first()[0] == 0.0


def test_errors_of_rows_and_options(run: Run) -> None:
    predicted = "values (0.25D, 0), (0.75D, 1), (0.5D, 1) as t(p, a)"
    found = run(f"select mae(p, a), mse(p, a), rmse(p, a), auc(p, a), f1score(a, a) from {predicted}").first()
    assert tuple(found) == pytest.approx((1 / 3, (2 * 0.25**2 + 0.5**2) / 3, math.sqrt(0.375 / 3), 1.0, 1.0))
    ap = "select average_precision(array(1, 3, 2, 6), array(1, 2, 4), 2{})"
    assert run(ap.format("")).first()[0] == 1 / 3
    assert run(ap.format(", '-convention hivemall-0.5'")).first()[0] == 1.0


def test_a_bad_k_shows_the_first_items_of_the_list(run: Run) -> None:
    with pytest.raises(Exception, match=r"for the list \[1, 2, 3, 4, 5, \.\.\.\] of 500 items it is 0"):
        run("select ndcg(sequence(1, 500), array(1), 0)").collect()


def test_maps(run: Run) -> None:
    """A map has no order: the ideal list is sorted, and a map of scores is not cut."""
    expected = (1 + 7 / math.log2(3)) / (7 + 1 / math.log2(3))
    assert run("select ndcg(array(1, 2), map(1, 1, 2, 3), 2)").first()[0] == pytest.approx(expected)
    assert run("select ndcg(map(1, 0.9D, 2, 0.5D, 3, 0.1D), map(1, 1, 2, 3), 2)").first()[0] == pytest.approx(expected)
    with pytest.raises(Exception, match="rs_err uses the highest grade over all queries; set max_grade="):
        run("select rs_err(array(1), map(1, 3), 2)").collect()


def test_a_map_keeps_the_order_of_its_keys_in_sql(run: Run) -> None:
    rows = "values (1, 'a'), (3, 'c'), (2, 'b') as t(k, v)"
    assert run(f"select map_keys(to_ordered_map(k, v, true)) from {rows}").first()[0] == [3, 2, 1]
    assert run(f"select map_values(to_ordered_map(k, v, 2)) from {rows}").first()[0] == ["c", "b"]
    assert run(f"select map_keys(to_ordered_list(k, v, '-vk_map')) from {rows}").first()[0] == [1, 2, 3]


def test_columns_are_named_as_they_are_written(run: Run) -> None:
    lists = "values (1, array(1, 2), array(2)), (2, array(2), array(2)) as t(g, rec, truth)"
    found = run(f"select g, mrr(rec, truth, 5), to_ordered_list(g, g, '-reverse') from {lists} group by g order by g")
    assert found.columns == ["g", "mrr(rec, truth, 5)", "to_ordered_list(g, g, '-reverse')"]
    assert [tuple(row) for row in found.collect()] == [(1, 1 / 2, [1]), (2, 1.0, [2])]
    found = run(f"select g, round(2 * mrr(rec, truth), 1) as r from {lists} group by g having mrr(rec, truth) < 1")
    assert [tuple(row) for row in found.collect()] == [(1, 1.0)]


def test_several_statements(session: Any) -> None:
    text = "set hivevar:k=2; -- a ; in a comment\nselect /*+ broadcast(t) */ ${k} + a, 'x;y' from values (1) as t(a);"
    assert tuple(rs.spark.sql(session, text).first()) == (3, "x;y")
    with pytest.raises(ValueError, match="there is no statement to run"):
        rs.spark.sql(session, "-- nothing")


def test_every_metric_is_a_function(session: Any) -> None:
    """The function of one row gives the values that `evaluate` has for each query."""
    truth, run = made_up(20)
    names = list(fed())
    options = {name: ", '-max_grade 3'" if "max_grade" in declared()[name].defaults else "" for name in names}
    for side, content in (("truth", truth), ("run", run)):
        frame = session.createDataFrame(listed(content), "query string, item array<string>, number array<double>")
        frame.selectExpr("query", f"map_from_arrays(item, number) as {side}").createOrReplaceTempView(side)
    rs.spark.register(session, "rankstone")
    try:
        calls = ", ".join(f"rs_{name}_score(run, truth{options[name]}) as {name}" for name in names)
        found = session.sql(f"select query, {calls} from truth join run using (query)").collect()
    finally:
        rs.spark.register(session)
    given = [
        rs.authoring.Metric(name).given(max_grade=3) if options[name] else rs.authoring.Metric(name) for name in names
    ]
    expected = rs.evaluate(truth, run, given)
    places = {query: at for at, query in enumerate(expected.queries)}
    assert len(found) == len(truth) - expected.account.missing
    for row in found:
        for name, metric in zip(names, given, strict=True):
            value, other = row[name], expected.per_query[metric][places[row["query"]]]
            assert (value is None and math.isnan(other)) or value == pytest.approx(other, rel=1e-12, abs=1e-12), name


# -- recorded cases --------------------------------------------------------------------------------------------


def literal(value: Any) -> str:
    if value is None:
        return "null"
    if value == "NaN":
        return "double('NaN')"
    return f"'{value}'" if isinstance(value, str) else f"{value}D" if isinstance(value, float) else str(value)


def table(*columns: list[Any]) -> str:
    content = ", ".join(f"({', '.join(map(literal, row))})" for row in zip(*columns, strict=True))
    return f"values {content} as t({', '.join('abc'[: len(columns)])})"


def statement(case: dict[str, Any]) -> str:
    inputs, params = case["inputs"], case["params"]
    if case["metric"] == "each_top_k":
        content = table(*([row[name] for row in inputs["rows"]] for name in ("group", "key", "value")))
        call = f"select each_top_k({params['k']}, a, b, a, c) as (rank, key, class, student) from {content}"
        return f"select * from ({call}) order by class, rank, student"
    if case["metric"] == "to_ordered_map":
        third = f", {literal(params['third']).lower()}" if "third" in params else ""
        return f"select to_ordered_map(a, b{third}) from {table(inputs['keys'], inputs['values'])}"
    keyed = [inputs["keys"]] if "keys" in inputs else []
    options = f", '{params['options']}'" if "options" in params else ""
    return f"select to_ordered_list(a{', b' if keyed else ''}{options}) from {table(inputs['values'], *keyed)}"


def test_recorded_cases_of_the_helpers(run: Run) -> None:
    helpers = [
        case for case in read("seeds.json") if case["metric"] in ("to_ordered_list", "to_ordered_map", "each_top_k")
    ]
    assert len(helpers) > 60
    rewritten = run.__name__ == "<lambda>"
    for case in helpers:
        text = statement(case)
        if case["metric"] == "each_top_k" and not rewritten:
            with pytest.raises(Exception, match=r"rs\.spark\.sql\(session, text\)"):
                run(text)
            continue
        if "raises" in case:
            with pytest.raises(Exception, match=r"other than 0|not both|needs both"):
                run(text).collect()
            continue
        found = run(text).collect()
        kind = deviation(case)
        expected = kind.ours.get(case["id"], case["expected"]) if kind else case["expected"]
        if case["metric"] == "each_top_k":
            assert same([list(row) for row in found], expected, 0), case["id"]
        elif isinstance(found[0][0], dict):  # Spark hands a map over in no order
            assert same(sorted(map(list, found[0][0].items()), key=str), sorted(expected, key=str), 0), case["id"]
        else:
            assert same(found[0][0], expected, 0), case["id"]
