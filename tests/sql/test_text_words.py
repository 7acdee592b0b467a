"""The words of a text of SQL: what it says of itself, what is refused, and dialects of databases that are not here.

The latter are read back by sqlglot and carried to DuckDB, where they have to give the numbers of `rs.evaluate`.
"""

import re
import sys
from collections import Counter

import pytest

import rankstone as rs
from rankstone.metrics import declared, registry
from rankstone.sql.dialects import DIALECTS
from tests.effort import cpu_limit
from tests.sql.engines import ENGINES, DuckDB, but_spark
from tests.sql.measured import agree, differences, evaluated, put, roles, rows_of
from tests.sql.test_text import CHANCES, CLICKS, NAMES, RUN, SOME, TRUTH, WHOLE

sqlglot = pytest.importorskip("sqlglot", reason="needs sqlglot")

ELSEWHERE = sorted(DIALECTS.keys() - ENGINES.keys())
ALL = [f"{name}{cut}" for name in NAMES for cut in (("", "@3") if declared()[name].takes_k else ("",))]
# What sqlglot leaves as it is, and DuckDB does not know.
CARRIED = {
    "collate utf8mb4_0900_bin": "",
    "collate Latin1_General_100_BIN2_UTF8": "",
    "raise_error(": "error(",
    "extractvalue('<a/>', concat('~', min(problem)))": "error(min(problem))",
}
TEN = ["ndcg@10", "ap", "rr", "precision@10", "recall@10", "f1@10", "hit_rate@10", "rbp", "err@10", "auc"]


# -- databases that are not here -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def duckdb():
    engine = DuckDB()
    yield engine
    engine.close()


def carried(dialect, text):
    """A text as DuckDB has it."""
    for theirs, ours in CARRIED.items():
        text = text.replace(theirs, ours)
    if dialect == "tsql":  # where + joins texts, and a float has 64 bits
        text = re.sub(r"(?<=') \+ | \+ (?=')", " || ", text).replace(" as float)", " as double)")
    [found] = sqlglot.transpile(text, read=dialect, write="duckdb", error_level=sqlglot.ErrorLevel.RAISE)
    return found


@pytest.mark.parametrize("dialect", ELSEWHERE)
def test_other_dialects(duckdb, dialect):
    ratings = [name for name in NAMES if declared()[name].kind == "ratings"]
    metrics = [metric for metric in ALL if metric not in ratings]
    for some, truth, run in ((metrics, TRUTH, RUN), (ratings, CLICKS, CHANCES)):
        truth, run = rows_of(truth, "grade"), rows_of(run, "score")
        put(duckdb, "judgments", truth)
        put(duckdb, "results", run)
        want = evaluated(some, truth, run)
        _, [means] = duckdb.ask(carried(dialect, rs.sql.text(some, dialect=dialect)))
        assert not differences(want, means, want.values())
        _, rows = duckdb.ask(carried(dialect, rs.sql.text(some, dialect=dialect, per_query=True)))
        for query, *values in rows:
            at = want.queries.index(query)
            assert not differences(want, values, [want.per_query[metric][at] for metric in want])
        assert len(rows) == len(want.queries)


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"by": "market", "account": True},
        {"weights": "w", "per_query": True},
        {"by": "week", "columns": {"query": ["user", "week"]}},
    ],
    ids=str,
)
def test_texts_are_read_back(dialect, how):
    text = rs.sql.text(TEN, "judgments", "select * from results", dialect, **how)
    tree = sqlglot.parse_one(text, dialect=DIALECTS[dialect].grammar or None, error_level=sqlglot.ErrorLevel.RAISE)
    assert len(tree.selects) >= len(TEN)


@pytest.mark.parametrize("dialect", sorted(name for name, row in DIALECTS.items() if row.rows and row.grammar))
def test_texts_of_lists_are_read_back(dialect):
    for columns in (roles({"item": []}, {"item": []}), roles({"grade": []}, {"score": []})):
        text = rs.sql.text(TEN, dialect=dialect, lists=True, columns=columns, ties="input", truth_duplicates="first")
        sqlglot.parse_one(text, dialect=dialect, error_level=sqlglot.ErrorLevel.RAISE)


@pytest.mark.parametrize("dialect", ELSEWHERE)
@pytest.mark.parametrize("name", ['x"; drop table y --', "x`; drop table y --", "x]; drop table y --", "group", "a b"])
def test_odd_names_are_read_back(dialect, name):
    """In the databases that are here, names are tried in test_text_traps.py."""
    tree = sqlglot.parse_one(rs.sql.text("ap", name, dialect=dialect, columns={"item": f"{name} 2"}), dialect=dialect)
    assert name in {table.name for table in tree.find_all(sqlglot.exp.Table)}
    assert f"{name} 2" in {column.name for column in tree.find_all(sqlglot.exp.Column)}


@pytest.mark.parametrize(
    ("dialect", "table"),
    [("bigquery", "my-project.shop.purchases"), ("snowflake", "shop.public.purchases"), ("redshift", "shop.purchases"),
     ("databricks", "main.shop.purchases"), ("trino", "hive.shop.purchases")],
)  # fmt: skip
def test_qualified_names_are_read_back(dialect, table):
    """A table of a schema, with columns of its own, as the pages of warehouses have it."""
    columns = {"query": "user_id", "item": "sku", "grade": "stars", "score": "points"}
    text = rs.sql.text(["recall@20", "ndcg@10"], table, "recommendations", dialect, columns=columns)
    tree = sqlglot.parse_one(text, dialect=dialect, error_level=sqlglot.ErrorLevel.RAISE)
    [truth] = [one for one in tree.find_all(sqlglot.exp.Table) if one.name == "purchases"]
    assert ".".join(part.name for part in truth.parts) == table
    assert {*columns.values()} <= {column.name for column in tree.find_all(sqlglot.exp.Column)}


@pytest.mark.parametrize("dialect", ["mysql", "tsql"])
def test_no_lists(dialect):
    with pytest.raises(ValueError, match=f"{dialect} has no lists: pass a subquery with one row per item"):
        rs.sql.text(dialect=dialect, lists="run")


# -- what a text says of itself ------------------------------------------------------------------------------


def head(text):
    """The comment on top."""
    lines = text.splitlines()
    end = lines.index("with")
    assert all(line.startswith("--") for line in lines[:end])
    return " ".join(" ".join(line[2:].split()) for line in lines[:end])


def test_the_head():
    how = {"convention": "lenskit", "missing": "skip"}
    text = rs.sql.text(ALL, lists=True, columns={"score": "score"}, **how)
    assert text.startswith(f"-- rankstone {rs.__version__}, convention lenskit with ")
    said = head(text)
    for metric, definition in evaluated(ALL, *WHOLE, **how).definitions.items():
        assert re.search(rf"\b{re.escape(metric)}: {re.escape(' '.join(definition.formula.split()))}", said)
        assert all(" ".join(rule.split()) in said for rule in definition.rules)


def test_columns_are_called_as_metrics_are():
    tree = sqlglot.parse_one(rs.sql.text(["ndcg@{5,10}", rs.ap(divisor="k") @ 3, "p@5"]), dialect="duckdb")
    assert [column.alias_or_name for column in tree.selects] == ["ndcg_5", "ndcg_10", "ap_divisor_k_3", "precision_5"]


def test_steps():
    tree = sqlglot.parse_one(rs.sql.text("rr"), dialect="duckdb")
    steps = [step.alias for step in tree.ctes]
    assert len(set(steps)) == len(steps)
    assert steps[:4] == ["judged_items", "returned_items", "ranked_items", "found_items"]
    assert "tied_items" not in rs.sql.text("rr", dialect="spark")
    assert steps[-5:] == ["query_sums", "query_values", "problems", "checked", "means"]


@pytest.fixture
def odd_metric(monkeypatch):
    for name in ("rows", "names"):
        monkeypatch.setattr(registry.metrics, name, dict(getattr(registry.metrics, name)))

    @rs.metric("checked", formula="hits(k)\n; drop table judgments; --\r\nselect 1")
    def checked(ranking: rs.authoring.Ranking, *, k: int | None = None) -> rs.authoring.Ratio:
        """What it says\nof itself."""
        return rs.authoring.Ratio(ranking.hits(k), ranking.relevant)

    yield checked
    for forget in registry.on_declare:
        forget()


def test_a_formula_cannot_leave_its_comment(duckdb, odd_metric):
    """Nor does a metric that is called as a step is stand in its way."""
    truth, run = rows_of(TRUTH, "grade"), rows_of(RUN, "score")
    put(duckdb, "judgments", truth)
    put(duckdb, "results", run)
    text = rs.sql.text("checked@3")
    assert "drop table judgments" in head(text)
    assert duckdb.ask(text)[1] == [(pytest.approx(evaluated("checked@3", truth, run)["checked@3"]),)]


def test_the_same_text_each_time():
    texts = {rs.sql.text(ALL, dialect="postgres", account=True) for _ in range(3)}
    assert len(texts) == 1


def test_ten_metrics_take_50_ms():
    """Counted in calls of Python functions, as many on every machine: 17,000 take 6 ms, 140,000 would take 50."""
    rs.sql.text(TEN, dialect="snowflake")
    calls = Counter()
    sys.setprofile(lambda frame, event, argument: calls.update([event]))
    try:
        rs.sql.text(TEN, dialect="snowflake")
    finally:
        sys.setprofile(None)
    assert 1_000 < calls["call"] <= 140_000


# -- what is refused -----------------------------------------------------------------------------------------

REFUSED = [
    ({"dialect": "postgrse"}, "unknown dialect 'postgrse'; did you mean 'postgres'"),
    ({"dialect": "oracle"}, "unknown dialect 'oracle'.*duckdb"),
    ({"columns": {"user": "u"}}, "columns= names 'user'; the roles are query, item, grade, score, rank"),
    ({"columns": {"score": "s", "rank": "r"}}, "names a score and a rank"),
    ({"columns": {"score": None}}, "rows of a table have no order: name the run's score or rank"),
    ({"columns": {"query": None}}, "the truth needs a query column"),
    ({"ties": "input"}, "ties='input' needs an order of rows.*rows of a table have no order"),
    ({"ties": "reverse_input"}, "rows of a table have no order"),
    ({"ties": "input", "lists": "truth"}, "rows of a table have no order"),
    ({"duplicates": "first"}, "duplicates='first' needs an order of rows"),
    ({"duplicates": "first", "columns": {"rank": "r"}}, "duplicates='first' needs an order of rows"),
    ({"truth_duplicates": "first", "lists": "run"}, "needs an order of the truth"),
    ({"truth_depth": "k"}, "needs an order of the truth"),
    ({"digits": 4}, "databases round halves in their own ways"),
    ({"averaging": "weighted"}, "pass weights=, a table with query and weight"),
    ({"averaging": "macro", "weights": "w"}, "weights= go with averaging='weighted', not with 'macro'"),
    ({"score_precision": "float32", "dialect": "sqlite"}, "sqlite has no such numbers"),
    ({"averaging": "one_list", "ties": "optimistic", "by": "market"}, "does not group queries; leave out by="),
    ({"averaging": "one_list", "ties": "optimistic", "lists": True}, "needs scores, and the run has none"),
    ({"nonpositive_score": "miss", "columns": {"rank": "r"}}, "needs scores, and the run has ranks"),
    ({"threshold": 2, "columns": {"grade": None}}, "the truth has no grades"),
    ({"truth": "select * from judgments; drop table x"}, "must be one query, not 2 statements"),
    ({"truth": "select from where"}, "the truth's query cannot be read as duckdb"),
    ({"metrics": "rr", "ties": "expected"}, "no closed form over counts of tied items, which is what SQL can say"),
    ({"metrics": "rmse", "columns": {"rank": "r"}}, "the run is only an order of items"),
    ({"metrics": "ndgc"}, "did you mean 'ndcg'"),
    ({"convention": "lenskti"}, "lenskit"),
]


@pytest.mark.parametrize(("how", "why"), REFUSED, ids=str)
def test_refused(how, why):
    with pytest.raises(ValueError, match=why):
        rs.sql.text(**{"metrics": SOME, **how})


@pytest.mark.parametrize("name", sorted(name for name, row in declared().items() if row.kind == "agreement"))
def test_agreement_is_refused(name):
    with pytest.raises(ValueError, match=rf"{name}.* compares two orders; choose metrics of lists, or use rs.evaluate"):
        rs.sql.text(name)


@pytest.mark.parametrize(
    "how",
    [
        {"ties": "input", "lists": True},
        {"ties": "input", "lists": "run", "columns": {"score": "score"}},
        {"ties": "reverse_input", "columns": {"rank": "place"}},
        {"duplicates": "first", "lists": "run"},
        {"truth_depth": "k", "lists": "truth"},
        {"truth_duplicates": "first", "lists": "truth"},
        {"dialect": "PostgreSQL"},
        {"dialect": "sql server"},
    ],
    ids=str,
)
def test_not_refused(how):
    assert rs.sql.text(SOME, **how)


@pytest.mark.parametrize("table", ["", "  ", None, 3])
def test_a_table_has_a_name(table):
    with pytest.raises(TypeError, match="the truth is the name of a table or a query"):
        rs.sql.text(truth=table)
    with pytest.raises(TypeError, match="a column of a database has a name"):
        rs.sql.text(columns={"query": table if table != "  " else 3} if table is not None else {"query": 1})


def test_a_term_that_is_used_twice_is_written_once():
    """The rank in the ideal list is compared with k and discounted; a denominator is tested and divided by."""
    ideal = rs.sql.text("ndcg@10", unjudged="only_returned")
    assert ideal.count("case when grade < 0 then") == 1
    assert rs.sql.text("f1(precision_divisor='min(k,retrieved)')@10").count("least(10, retrieved)") == 1


# -- shared parts --------------------------------------------------------------------------------------------

DOUBLED = {  # of a ranking, doubled many times
    "per query": lambda ranking, n: doubled(ranking.sum(ranking.grade), n),
    "per grade": lambda ranking, n: ranking.sum(doubled(ranking.grade, n)),
    "per rank": lambda ranking, n: ranking.sum(doubled(ranking.rank, n)),
    "per ideal rank": lambda ranking, n: ranking.ideal().sum(doubled(ranking.ideal().grade, n)),
    "at each item": lambda ranking, n: ranking.sum(ranking.broadcast(doubled(ranking.relevant, n))),
}


def doubled(value, times):
    for _ in range(times):
        value = value + value
    return value


@pytest.fixture
def declare():
    """Declares a metric that is the sum it is called with."""
    names = []

    def made(name, function):
        def of(ranking: rs.authoring.Ranking) -> rs.authoring.Ratio:
            """A sum."""
            return rs.authoring.Ratio(function(ranking), 1.0)

        names.append(name)
        return rs.metric(name, formula="sum")(of)

    yield made
    for name in names:
        registry.metrics.rows.pop(name)
    for forget in registry.on_declare:
        forget()


@but_spark
@pytest.mark.parametrize("what", DOUBLED)
def test_a_shared_part_is_written_once(engine, declare, what):
    declare("doubled_often", lambda ranking: DOUBLED[what](ranking, 20))
    with cpu_limit(20):  # written out, it has a million terms
        assert len(rs.sql.text("doubled_often", dialect=engine.dialect)) < 20_000
    declare("doubled", lambda ranking: DOUBLED[what](ranking, 3))  # databases write it out themselves
    agree(engine, ["doubled"], rows_of({"q": {"a": 3, "b": 1}}, "grade"), rows_of({"q": {"b": 2, "a": 1}}, "score"))


def test_what_is_too_long(declare):
    def conditions(ranking):
        test = ranking.rank > 1
        for _ in range(24):
            test = (test & (ranking.grade > 1)) | (test & (ranking.grade < 5))
        return ranking.sum(ranking.number(test))

    def deep(ranking):
        value = ranking.relevant
        for _ in range(5000):
            value = value + ranking.hits()
        return value

    declare("repeated_condition", conditions)
    declare("deep_sum", deep)
    with cpu_limit(20):
        with pytest.raises(ValueError, match=r"more than 10000 operations; use rs\.evaluate"):
            rs.sql.text("repeated_condition")
        with pytest.raises(ValueError, match="too many nested operations for SQL"):
            rs.sql.text("deep_sum")
        with pytest.raises(ValueError, match=r"unknown metric 'x{100}'\.\.\.; ") as error:
            rs.sql.text("x" * 1_000_000)
    assert len(str(error.value)) < 1000
