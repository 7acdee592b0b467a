"""Measures of lists as macros in a DuckDB database, and metrics as macros for dbt: no Python is called."""

import math
import random
import subprocess
import sys
from dataclasses import replace

import pytest

import rankstone as rs
from rankstone.cli.commands import main
from rankstone.metrics import declared
from rankstone.sql import macros
from rankstone.sql.list_functions import measures
from rankstone.sql.sql_text import package
from tests.table.cases import fed

duckdb = pytest.importorskip("duckdb")

KS = (None, 1, 3, 20)
CHANCE = random.Random(7)
LISTS = [
    (CHANCE.sample(range(12), CHANCE.randint(0, 9)), CHANCE.sample(range(12), CHANCE.randint(0, 5))) for _ in range(40)
]
LISTS += [(list(range(90)), list(range(80, 0, -1)))]  # an ideal list that is longer than what is looked up


@pytest.fixture(scope="module")
def database():
    """A database with the macros and lists in it, and no function of Python's."""
    with duckdb.connect() as connection:
        rs.sql.install(connection)
        connection.execute(
            "create table lists (rec BIGINT[], truth BIGINT[], rec_text VARCHAR[], truth_text VARCHAR[])"
        )
        rows = [(rec, truth, [*map(str, rec)], [*map(str, truth)]) for rec, truth in LISTS]
        connection.executemany("insert into lists values (?, ?, ?, ?)", rows)
        yield connection


def installed():
    made = {name for name, _ in macros()}
    return [name for name in measures() if name in made]


def measured(name, k):
    """What `rs.evaluate` says of the lists."""
    metric = measures()[name]
    convention = "rankstone" if name.startswith("rs_") else "hivemall"
    truth, run = ({at: pair[side] for at, pair in enumerate(LISTS)} for side in (1, 0))
    return rs.evaluate(truth, run, metric if k is None else f"{metric}@{k}", convention=convention)


def close(found, expected):
    expected = float(expected)
    return found is None if math.isnan(expected) else found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", installed())
def test_numbers(database, name):
    """Each row's value and the mean are those of `rs.evaluate`, of ids that are numbers or texts."""
    for k in KS:
        if k is not None and not declared()[measures()[name]].takes_k:
            continue
        if (name, k is not None) == ("auc", True):  # its places count, which are not rows here
            continue
        expected = measured(name, k)
        for columns in ("rec, truth", "rec_text, truth_text"):
            given = columns if k is None else f"{columns}, {k}"
            rows = database.execute(f"select {name}_score({given}) from lists").fetchall()
            values = next(iter(expected.per_query.values()))
            assert all(close(row[0], value) for row, value in zip(rows, values, strict=True)), (name, k)
            mean = database.execute(f"select {name}({given}) from lists").fetchall()[0][0]
            assert close(mean, next(iter(expected.values()))), (name, k)


def test_what_is_installed():
    """All but what goes by scores, compares two orders, or reads more than a list and its truth."""
    kinds = ("ratings", "agreement", "intents", "recommendations")
    others = {f"rs_{name}" for name, row in declared().items() if row.kind in kinds}
    assert set(measures()) - set(installed()) == others


def test_for_good(tmp_path):
    """Whoever opens the file has them, in a process that has never heard of rankstone."""
    path = str(tmp_path / "lists.duckdb")
    with duckdb.connect(path) as connection:
        assert {"ndcg", "ndcg_score", "rs_ap"} <= set(rs.sql.install(connection))
        rs.sql.install(connection)  # once more does no harm
    asked = "select ndcg([1, 3, 2, 6], [1, 2, 4], 2)"
    code = f"import duckdb; print(duckdb.connect({path!r}).execute({asked!r}).fetchall()[0][0])"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert float(found) == pytest.approx(0.6131471927654584, abs=1e-12)


def test_functions_of_lists_are_macros():
    """Python is called for maps, options and other ids, not for lists of ids."""
    connection = rs.sql.connect()
    plan = connection.sql("explain select ndcg(range(3), range(2), 2)").fetchall()[0][1]
    assert "_rankstone_ndcg" not in plan
    graded = connection.sql("select ndcg([1, 2], map {1: 1, 2: 3}, 2)").fetchall()[0][0]
    assert graded == pytest.approx(0.7098, abs=1e-4)
    with pytest.raises(duckdb.Error, match="truth items are integers but run items are strings"):
        connection.sql("select ndcg(['a'], [1], 2)").fetchall()


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("ndcg([1, null], [1], 2)", r"an item is null in the list \[1, NULL\] and the truth \[1\]"),
        ("ndcg([1], [1, null], 2)", "an item is null"),
        ("ndcg([1, 2], [1], 0)", r"k must be a whole number from 1; for the list \[1, 2\] it is 0"),
        ("ndcg([1], [1], null)", "k is null for the list"),
        ("rs_ndcg([1, 1], [1], 2)", r"rs_ndcg: an item appears twice in rec \[1, 1\]"),
        ("rs_ndcg([1], [1, 1], 2)", "an item appears twice in truth"),
        ("ndcg(['a'], [1], 2)", "does not support the supplied arguments"),
        ("ndcg([1], map {1: 1}, 2)", "does not support the supplied arguments"),
    ],
)
def test_errors(database, call, problem):
    with pytest.raises(duckdb.Error, match=problem):
        database.execute(f"select {call}").fetchall()


def test_missing_lists(database):
    """A null list is a query that the run does not have; a null truth does not count."""
    rows = "(values (null::bigint[], [1::bigint]), ([1], [1]), ([1], null)) t(rec, truth)"
    assert database.execute(f"select recall_at_score(rec, truth, 1) from {rows}").fetchall() == [(0,), (1,), (None,)]
    assert database.execute(f"select recall_at(rec, truth, 1) from {rows}").fetchone()[0] == 0.5


def test_columns_called_as_ours(database):
    """A caller's columns are not taken for what a lambda calls its own."""
    found = database.execute(
        "select ndcg_score(item, i, k) from (select [1, 3, 2, 6] as item, [1, 2, 4] as i, 2 as k) t"
    )
    assert found.fetchone()[0] == pytest.approx(0.6131471927654584, abs=1e-12)


# -- dbt -----------------------------------------------------------------------------------------------------


def as_dbt(text):
    """The macros as dbt reads them: a test is a macro of that name, and an error of the compiler is an exception."""
    jinja2 = pytest.importorskip("jinja2")
    from jinja2.ext import Extension

    class Tests(Extension):
        tags = {"test"}  # noqa: RUF012

        def parse(self, parser):
            node = jinja2.nodes.Macro(lineno=next(parser.stream).lineno)
            node.name = "test_" + parser.parse_assign_target(name_only=True).name
            parser.parse_signature(node)
            node.body = parser.parse_statements(("name:endtest",), drop_needle=True)
            return node

    class Exceptions:
        @staticmethod
        def raise_compiler_error(problem):
            raise ValueError(problem)

    environment = jinja2.Environment(extensions=[Tests])
    environment.globals["exceptions"] = Exceptions
    return environment.from_string(text).module


@pytest.fixture(scope="module")
def rendered():
    return as_dbt(package("duckdb"))


WEEKS = {"q1": 1, "q2": 2, "q3": 2}
TRUTH = {"q1": {"a": 1, "b": 2}, "q2": {"a": 0, "c": 3}, "q3": {"a": 1}}
RUN = {"q1": {"a": 1.0, "x": 3.0, "b": 0.5}, "q2": {"a": 5.0, "c": 3.0}}


@pytest.fixture(scope="module")
def tables():
    with duckdb.connect() as connection:
        for name, side, value in (("judgments", TRUTH, "grade"), ("results", RUN, "score")):
            connection.execute(f"create table {name} (user_id VARCHAR, item VARCHAR, {value} DOUBLE)")
            rows = [(query, item, number) for query, items in side.items() for item, number in items.items()]
            connection.executemany(f"insert into {name} values (?, ?, ?)", rows)
        connection.execute("alter table judgments add column week BIGINT")
        for query, week in WEEKS.items():
            connection.execute("update judgments set week = ? where user_id = ?", (week, query))
        yield connection


@pytest.mark.parametrize("name", [name for name, row in fed().items() if row.kind != "agreement"])
def test_dbt(rendered, tables, name):
    """The mean and each query's value of a macro for dbt, with a cutoff and without."""
    for k in (None, 2) if declared()[name].takes_k else (None,):
        expected = rs.evaluate(TRUTH, RUN, name if k is None else f"{name}@{k}")
        given = {"query": "user_id", **({} if k is None else {"k": k})}
        mean = getattr(rendered, f"rankstone_{name}")("judgments", "results", **given)
        found = tables.execute(f"select * from (\n{mean}\n)").fetchall()
        assert len(found) == 1
        assert tables.description[0][0] == name  # what the test of dbt reads
        assert close(found[0][0], next(iter(expected.values())))
        values = getattr(rendered, f"rankstone_{name}_per_query")("judgments", "results", **given)
        by_query = dict(tables.execute(str(values)).fetchall())
        each = dict(zip(expected.queries, next(iter(expected.per_query.values())), strict=True))
        assert by_query.keys() == each.keys()
        assert all(close(by_query[query], each[query]) for query in each)


@pytest.mark.parametrize("dialect", ["bigquery", "snowflake", "postgres", "tsql"])
def test_dbt_in_other_dialects(dialect):
    sqlglot = pytest.importorskip("sqlglot")
    module = as_dbt(package(dialect))
    for by in (None, "week"):
        text = str(module.rankstone_ndcg("judgments", "results", k=10, by=by))
        assert isinstance(sqlglot.parse_one(text, dialect=dialect), sqlglot.exp.Select)
    assert not hasattr(module, "rankstone_kendall")


@pytest.mark.parametrize("name", ["ap", "ndcg", "recall"])
def test_dbt_without_grades(rendered, tables, name):
    """All items of the truth are relevant."""
    expected = rs.evaluate({query: list(items) for query, items in TRUTH.items()}, RUN, f"{name}@2")
    mean = getattr(rendered, f"rankstone_{name}")("judgments", "results", k=2, query="user_id", grade=None)
    assert close(tables.execute(str(mean)).fetchall()[0][0], expected[f"{name}@2"])


def test_dbt_with_choices(tables, capsys):
    assert main(["sql", "macros", "-s", "threshold=2"]) == 0
    module = as_dbt(capsys.readouterr().out)
    found = tables.execute(str(module.rankstone_recall("judgments", "results", query="user_id"))).fetchall()
    assert close(found[0][0], rs.evaluate(TRUTH, RUN, "recall", threshold=2)["recall"])


def test_dbt_refuses_a_convention_that_ends_its_comment():
    named = replace(rs.conventions["trec_eval"], name="mine #}{{ env_var('SECRET') }}")
    with pytest.raises(ValueError, match="has characters of dbt's own"):
        package("duckdb", named)


@pytest.mark.parametrize("name", ["ndcg", "recall", "gmap"])
def test_dbt_by(rendered, tables, name):
    """One row per group, or each query with its group."""
    values = rs.evaluate(TRUTH, RUN, name)
    expected = {week: dict(result)[name] for week, result in values.by_group(WEEKS).items()}
    means = getattr(rendered, f"rankstone_{name}")("judgments", "results", by="week", query="user_id")
    found = dict(tables.execute(str(means)).fetchall())
    assert tables.description[0][0] == "week"
    assert found == pytest.approx(expected)
    each = getattr(rendered, f"rankstone_{name}_per_query")("judgments", "results", by="week", query="user_id")
    assert {query: week for query, week, _ in tables.execute(str(each)).fetchall()} == WEEKS


def test_dbt_without_by_or_k_is_the_statement(rendered):
    """What an argument adds is not there without it."""
    text = rs.sql.text("rr", "judgments", "results", columns={"query": "user_id"})
    assert str(rendered.rankstone_rr("judgments", "results", query="user_id")).strip() == text.strip()
    text = rs.sql.text("rr", "judgments", "results", columns={"query": "user_id"}, by="week")
    assert str(rendered.rankstone_rr("judgments", "results", query="user_id", by="week")).strip() == text.strip()


def test_dbt_by_refuses_what_is_not_in_one_group(rendered, tables):
    """A value of no one group is an error of the database; a pooled metric has no groups."""
    means = rendered.rankstone_rr("judgments", "results", by="item", query="user_id")
    with pytest.raises(duckdb.Error, match="the truth has several item for query q1"):
        tables.execute(str(means)).fetchall()
    with pytest.raises(TypeError, match="by"):
        rendered.rankstone_pearson("judgments", "results", by="week")


# Reciprocal ranks: q1 has x above a, 1/2; q2 has c after a, which is not relevant, 1/2; q3 is missing, 0.
@pytest.mark.parametrize(
    ("limits", "failures"),
    [
        ({"minimum": 0.3}, []),
        ({"minimum": 0.34}, [(1 / 3,)]),
        ({"maximum": 0.3}, [(1 / 3,)]),
        ({"minimum": 0.3, "maximum": 0.4}, []),
        ({"minimum": 0.5, "by": "week"}, [(2, 1 / 4)]),
        ({"minimum": 0.4, "maximum": 0.45, "by": "week"}, [(1, 1 / 2), (2, 1 / 4)]),
        ({"minimum": 0.1, "k": 1}, [(0,)]),
    ],
)
def test_dbt_test(rendered, tables, limits, failures):
    """The rows of a test of dbt are its failures."""
    text = rendered.test_rankstone_metric("results", truth="judgments", metric="rr", query="user_id", **limits)
    assert sorted(tables.execute(str(text)).fetchall()) == [pytest.approx(row) for row in failures]


def test_dbt_test_of_no_value(rendered, tables):
    """No query is averaged: neither above nor below, so a failure."""
    tables.execute("create or replace temp view nothing as select * from judgments where false")
    text = rendered.test_rankstone_metric("results", truth="nothing", metric="rr", minimum=0, query="user_id")
    assert tables.execute(str(text)).fetchall() == [(None,)]


def test_dbt_test_refuses(rendered):
    with pytest.raises(ValueError, match="needs a minimum or a maximum"):
        rendered.test_rankstone_metric("results", truth="judgments", metric="rr")
    with pytest.raises(ValueError, match="has no metric mrr; choose from cg, dcg, "):
        rendered.test_rankstone_metric("results", truth="judgments", metric="mrr", minimum=0.5)
