"""Queries written for Hive, run by DuckDB. Expected rows are what Hive's manual says of each form."""

import pytest

import rankstone as rs


@pytest.fixture
def connection():
    made = rs.sql.connect()
    made.execute(
        "create table t as select 1 as u, map {'a': 7, 'b': 8} as m, [5, 6] as a union all select 2, map {}, []"
    )
    yield made
    made.close()


def ask(connection, text):
    return rs.sql.query(connection, text).fetchall()


class TestVariables:
    def test_are_filled_in(self, connection):
        text = 'set hivevar:k=2; set hivevar:name = O\'Brien ;select ${hivevar:k} + ${k}, "${name}"'
        assert ask(connection, text) == [(4, "O'Brien")]

    def test_stay_with_the_connection(self, connection):
        rs.sql.query(connection, "set hivevar:k=2")
        rs.sql.query(connection, "set hivevar:k=${k}0")
        assert ask(connection, "select ndcg([1, 3], [1], ${k}), ${k}") == [(1, 20)]

    def test_settings_are_variables_of_their_own(self, connection):
        assert ask(connection, "set hive.exec.parallel=true; SET k = 3; select ${hiveconf:k}") == [(3,)]
        with pytest.raises(ValueError, match=r"\$\{k\} has no value; write before it: set hivevar:k=...;"):
            ask(connection, "select ${k}")

    def test_a_value_may_be_a_part_of_the_query(self, connection):
        assert ask(connection, "set hivevar:rows=t where u = 2;\nselect u from ${rows}") == [(2,)]


def test_semicolons_quotes_and_comments(connection):
    text = """
    -- ; ${nothing} 'an open quote
    select 'a;b', "it's; -- no comment", 'it\\'s' /* ; " ${nothing} */, `u` from t where u = 1 - - 0;
    ; -- the end
    """
    assert ask(connection, text) == [("a;b", "it's; -- no comment", "it's", 1)]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("u, key, value from t lateral view explode(m) x as key, value", [(1, "a", 7), (1, "b", 8)]),
        ("u, v from t lateral view outer explode(m) x as k, v", [(1, 7), (1, 8), (2, None)]),
        ("u, i from t lateral view explode(a) x as i", [(1, 5), (1, 6)]),
        ("u, i from t lateral view outer explode(a) x as i", [(1, 5), (1, 6), (2, None)]),
        ("p, i from t lateral view posexplode(a) x as p, i", [(0, 5), (1, 6)]),
        ("u, x.i, y.v from t lateral view explode(a) x as i lateral view explode(map('k', i)) y as k, v where v > 5",
         [(1, 6, 6)]),
        ("x.m, x.v from t lateral view explode(m) x as m, v", [("a", 7), ("b", 8)]),
        ("explode(m) as (k, v) from t", [("a", 7), ("b", 8)]),
        ("sum(s.v) from (select u, v from t lateral view explode(m) x as k, v) s", [(15,)]),
    ],
)  # fmt: skip
def test_explode(connection, text, rows):
    assert sorted(ask(connection, f"select {text}"), key=str) == rows


class TestInsert:
    @pytest.fixture(autouse=True)
    def tables(self, connection):
        connection.execute("create table kept(u int, label varchar); insert into kept values (1, 'old')")

    def test_overwrites(self, connection):
        rs.sql.query(connection, 'INSERT OVERWRITE TABLE kept SELECT u, "new" FROM t -- both')
        assert connection.table("kept").fetchall() == [(1, "new"), (2, "new")]

    def test_a_table_by_its_own_rows(self, connection):
        text = "with more as (select 10 as n) insert overwrite table kept select u + n, label from kept, more"
        assert ask(connection, f"{text}; select * from kept") == [(11, "old")]

    def test_changes_nothing_if_it_fails(self, connection):
        with pytest.raises(Exception, match="Could not convert"):
            rs.sql.query(connection, "insert overwrite table kept select 'x', 'y'")
        assert connection.table("kept").fetchall() == [(1, "old")]
        rs.sql.query(connection, "insert overwrite table kept select 3, 'z'")
        assert connection.table("kept").fetchall() == [(3, "z")]

    def test_within_a_transaction(self, connection):
        connection.begin()
        rs.sql.query(connection, "insert overwrite table kept select 3, 'z'")
        connection.rollback()
        assert connection.table("kept").fetchall() == [(1, "old")]

    def test_appends(self, connection):
        rs.sql.query(connection, "insert into table kept select 2, 'more'")
        assert connection.table("kept").fetchall() == [(1, "old"), (2, "more")]


def test_where_hive_finds_its_functions_is_passed_over(connection):
    text = """add jar /opt/hivemall-all.jar; source /opt/define-all.hive;
    create temporary function ndcg as 'hivemall.evaluation.NDCGUDAF'; select ndcg([1], [1], 1)"""
    assert ask(connection, text) == [(1,)]


def test_precision_is_precision_at(connection):
    """Hivemall's name before 0.5, which DuckDB cannot parse."""
    assert ask(connection, "select precision(array(1, 3), array(1), 2)") == [(0.5,)]


def test_a_row_twice_in_the_truth(connection):
    """As in Hivemall's manual, whose queries make the truth with collect_set: (1/1) / 3."""
    truth, run = {1: [1, 2, 2, 4]}, {1: [1, 3, 2, 6]}
    rows = rs.columns(query=[1] * 4, item=[1, 2, 2, 4])
    ranked = rs.columns(query=[1] * 4, item=[1, 3, 2, 6], score=[4.0, 3.0, 2.0, 1.0])
    for judged, returned in ((truth, run), (rows, ranked), (rs.lists([[1, 2, 2, 4]]), rs.lists([[1, 3, 2, 6]]))):
        assert rs.evaluate(judged, returned, "ap@2", convention="hivemall")["ap@2"] == pytest.approx(1 / 3)
    for ids in ("array(1, 3, 2, 6), array(1, 2, 2, 4)", "array('1', '3', '2', '6'), array('1', '2', '2', '4')"):
        assert ask(connection, f"select average_precision({ids}, 2)") == [(pytest.approx(1 / 3),)]
    connection.execute("create temp table judged as select 1 as query, unnest([1, 2, 2, 4]) as item")
    rows = "(values (1, 4), (3, 3), (2, 2)) t(item, score)"
    connection.execute(f"create temp table returned as select 1 as query, * from {rows}")
    text = rs.sql.text("ap@2", "judged", "returned", convention="hivemall", columns={"truth": {"grade": None}})
    assert connection.execute(text).fetchall() == [(pytest.approx(1 / 3),)]


def test_how_a_table_is_stored_is_passed_over(connection):
    text = (
        "create table c row format delimited fields terminated by ',' stored as orc as select 1 as a; select * from c"
    )
    assert ask(connection, text) == [(1,)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("select 1 from t lateral view explode(m) x", r"EXPLODE\(m\): a lateral view is of .* its columns named"),
        ("select a from t lateral view json_tuple(u, 'a') x as a", "JSON_TUPLE"),
        ("insert overwrite table t partition (day='1') select 1", "leave out 'partition', and select the column"),
        ("insert overwrite directory '/tmp/x' select 1", r"copy \(select ...\) to 'name.csv'"),
        ("from t insert overwrite table a select u insert overwrite table b select u", "write each of them"),
        ("select u, count(*) from t group by u grouping sets ((u), ())", "DuckDB cannot run the query: "),
        ("source other.hql", "cannot read the query"),
        (" ; -- nothing", "there is no statement to run"),
    ],
)
def test_what_cannot_be_translated(connection, text, told):
    with pytest.raises(ValueError, match=told):
        rs.sql.query(connection, text)
