"""The SQL functions in DuckDB."""

import math
import re
from typing import ClassVar

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import rankstone as rs
from rankstone.metrics.registry import metric
from rankstone.sql.list_functions import MEASURES, measures
from tests.table.cases import fed

REC, REL = [(1, 10.0), (3, 8.0), (2, 6.0), (6, 2.0)], [(1, 10, 5), (3, 8, 2), (2, 6, 4), (6, 2, 1), (4, 1, 3)]


@pytest.fixture
def connection():
    made = rs.sql.connect()
    yield made
    made.close()


@pytest.fixture
def tables(connection):
    """The tables of Hivemall's page on ranking measures."""
    connection.execute("create table dummy_truth(userid int, itemid int)")
    connection.executemany("insert into dummy_truth values (?, ?)", [(u, i) for u in (1, 2, 3) for i in (1, 2, 4)])
    connection.execute("create table dummy_rec(userid int, itemid int, score double)")
    connection.executemany("insert into dummy_rec values (?, ?, ?)", [(u, *one) for u in (1, 2, 3) for one in REC])
    connection.execute("create table dummy_recrel(userid int, itemid int, score double, relscore double)")
    connection.executemany("insert into dummy_recrel values (?, ?, ?, ?)", [(u, *r) for u in (1, 2, 3) for r in REL])
    return connection


@pytest.fixture
def page(shared):
    return next(shared("seeds").glob("000*")).read_text()


def ask(connection, text):
    return connection.sql(text).fetchall()[0][0]


def fails(connection, text, told):
    with pytest.raises(duckdb.Error, match=told):
        connection.sql(text).fetchall()


def asked(connection, text):
    try:
        return ask(connection, text)
    except duckdb.Error as error:
        return error


def evaluated(truth, run, metric, convention):
    try:
        return rs.evaluate(truth, run, metric, convention=convention)[metric]
    except ValueError as error:
        return error


class TestPage:
    """Both queries of the page, letter by letter, and the numbers it prints."""

    def test_binary(self, tables, page):
        query, _ = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
        table = re.search(r"\| Ranking measure.*?\n\n", page, re.DOTALL).group().strip().split("\n")[2:]
        printed = [float(cell) for line in table for cell in line.strip("| ").split("|")[1:]]
        assert len(printed) == 12
        assert rs.sql.query(tables, query).fetchall() == [pytest.approx(printed, abs=1e-15)]
        assert tables.sql(query).fetchall() == [pytest.approx(printed, abs=1e-15)]  # DuckDB reads this one as it is

    def test_graded(self, tables, page):
        _, query = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
        printed = [float(number) for number in re.findall(r"-- => ([0-9.]+)", query)]
        assert rs.sql.query(tables, query).fetchall() == [pytest.approx(printed, abs=1e-15)]
        assert tables.sql(query.replace('"', "'")).fetchall() == [pytest.approx(printed, abs=1e-15)]


class TestMeasures:
    def test_mean_of_rows_and_one_row_a_group(self, connection):
        connection.execute("""create table t as select * from (values
            ('a', [1, 2], [1]), ('a', [2, 1], [1]), ('b', [5], [6])) t(g, rec, truth)""")
        assert ask(connection, "select mrr(rec, truth) from t") == (1 + 1 / 2 + 0) / 3
        found = connection.sql("select g, mrr(rec, truth), count(*) from t group by g order by g").fetchall()
        assert found == [("a", (1 + 1 / 2) / 2, 2), ("b", 0, 1)]
        scores = connection.sql("select mrr_score(rec, truth) from t order by 1").fetchall()
        assert scores == [(0,), (1 / 2,), (1,)]

    def test_k_is_a_number_a_column_or_left_out(self, connection):
        text = "select recall_at([7, 8, 9], [8, 9], {}) from (values (1), (2), (3)) t(k)"
        assert ask(connection, text.format("2")) == 1 / 2
        assert ask(connection, text.format("k")) == pytest.approx((0 + 1 / 2 + 1) / 3)
        assert ask(connection, "select recall_at([7, 8, 9], [8, 9])") == 1
        assert ask(connection, "select ndcg([1, 3], [1, 2, 4])") == ask(connection, "select ndcg([1, 3], [1, 2, 4], 2)")

    def test_convention_by_registration_and_by_option(self, connection):
        ap = "select average_precision([1, 2, 3], [1, 9, 8], 2{})"
        assert ask(connection, ap.format("")) == pytest.approx(1 / 3)
        assert ask(connection, ap.format(", '-convention hivemall-0.5'")) == 1
        assert ask(connection, ap.format(", '-divisor k'")) == 1 / 2
        rs.sql.register(connection, "hivemall-0.5")
        assert ask(connection, ap.format("")) == 1

    def test_nulls(self, connection):
        """No list is an empty list; a row without a truth does not count."""
        rows = "(values ([1, 3], [1]), (null, [8]), ([5], null)) t(rec, truth)"
        assert ask(connection, f"select hitrate(rec, truth, 2) from {rows}") == 1 / 2
        assert ask(connection, "select auc(null, [1, 2], 2)") == 0.5
        assert ask(connection, "select mrr([1], null, 2)") == 0
        assert ask(connection, "select mrr_score([1], null, 2)") is None
        skipping = "select hitrate(rec, truth, 2, '-missing skip') from " + rows
        assert ask(connection, skipping) == 1

    def test_types_of_ids(self, connection):
        assert ask(connection, "select recall_at([1, 2]::int[], [1, 5]::bigint[])") == 1 / 2
        assert ask(connection, "select recall_at(['a', 'b'], ['b'])") == 1
        fails(connection, "select recall_at([1], ['1'])", "truth items are strings but run items are integers")

    def test_grades_and_scores_as_maps(self, connection):
        found = ask(connection, "select rs_ndcg(map {'a': 0.5, 'b': 0.9}, map {'a': 3, 'c': 1}, 2)")
        assert found == pytest.approx(3 / math.log2(3) / (3 + 1 / math.log2(3)))
        found = ask(connection, "select ndcg(['b', 'a'], map {'a': 3, 'c': 1}, 2)")
        assert found == pytest.approx(7 / math.log2(3) / (7 + 1 / math.log2(3)))  # hivemall: 2^grade - 1
        found = ask(connection, "select ndcg([1, 2], map {1: 1, 2: 3}, 2)")  # a map has no order
        assert found == pytest.approx((1 + 7 / math.log2(3)) / (7 + 1 / math.log2(3)))

    def test_a_map_of_scores_with_a_cutoff(self, connection):
        """Cutting a list is no business of SQL: a map has no first items."""
        found = ask(connection, "select recall_at(map {'a': 0.5, 'b': 0.9, 'c': 0.7}, ['a', 'c'], 2)")
        assert found == 1 / 2

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ("-duplicates first", 1),  # without the second 7, 8 stands at rank 2
            ("-duplicates count", 0),
            ("-duplicates count -unjudged only_returned", 0),
        ],
    )
    def test_below_the_cutoff(self, connection, options, expected):
        connection.execute("create table t as select [7, 7, 8, 9, 9, 9] as rec, [8, 5] as truth")
        assert ask(connection, f"select hitrate(rec, truth, 2, '{options}') from t") == expected
        convention = rs.conventions["hivemall"].with_choices(duplicates="first")
        rs.sql.register(connection, convention)
        assert ask(connection, "select hitrate(rec, truth, 2) from t") == 1

    def test_a_divisor_that_is_the_lists_length(self, connection):
        """1/2 at rank 2, over min(3 relevant items, 6 returned ones)."""
        ap = "select average_precision([7, 8, 1, 2, 3, 4], [8, 5, 6], 2, '-divisor min(relevant,retrieved)')"
        assert ask(connection, ap) == pytest.approx((1 / 2) / 3)

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("ndcg([1], [1], -1)", r"k must be a whole number from 1; for the list \[1\] it is -1$"),
            ("recall_at([1, 2], [1], 0)", r"for the list \[1, 2\] it is 0$"),
            ("recall_at(range(500), [1], 0)", r"for the list \[0, 1, 2, 3, 4, \.\.\.\] of 500 items it is 0$"),
            ("ndcg(range(500), [1], null::int)", r"k is null for the list \[0, 1, 2, 3, 4, \.\.\.\] of 500 items;"),
            ("rs_recall([1], range(100, 105)[:0], 1, '-undefined error')", r"rs_recall: .* with the truth \[\]$"),
            ("ndcg([1], [1], null::int)", r"k is null for the list \[1\]"),
            ("ndcg([1], [1], 1.5)", "k must be a whole number, not decimal"),
            ("ndcg(1, [1])", "rec is int32; it must be a list of items"),
            ("ndcg([1], [1], '-convention nobody')", "unknown convention 'nobody'"),
            ("ndcg([1], [1], 'trec_eval')", "bare 'trec_eval'"),
            ("ndcg([1], [1], '-convention')", "-convention has no value"),
            ("ndcg([1, null], [1])", "null"),
            ("ndcg([1, 1], [1], 2, '-duplicates error')", "twice"),
            ("rs_r_precision([1], [1], 2)", "r_precision has no place for a cutoff"),
            ("ndcg([{'g': null, 'i': 1}], [1.0])", "null"),
            (
                "rs_err([1], map {1: 3}, 2)",
                "rs_err uses the highest grade over all queries; set max_grade=, as in '-max_grade 4'",
            ),
        ],
    )
    def test_errors(self, connection, text, told):
        fails(connection, f"select {text}", told)


class TestRegistry:
    def test_every_metric_by_its_name(self, connection):
        """Lists and maps of random rows, against `evaluate` on dicts."""
        rng = np.random.default_rng(5)
        truth = {q: {int(i): int(rng.integers(0, 4)) for i in rng.permutation(30)[:8]} for q in range(40)}
        run = {q: {int(i): float(n) for n, i in enumerate(rng.permutation(30)[:20])} for q in range(40)}
        data = [(list(run[q]), list(run[q].values()), list(truth[q]), list(truth[q].values())) for q in truth]
        connection.execute("create table t(i int[], s double[], j int[], g int[])")
        connection.executemany("insert into t values (?, ?, ?, ?)", data)
        for name, row in fed().items():
            cuts = ["", ", 5"] if row.takes_k else [""]
            top = {"max_grade": 3} if "max_grade" in row.defaults else {}
            more = " -max_grade 3" if top else ""
            for cut in cuts:
                for convention in ("rankstone", "hivemall"):
                    call = f"rs_{name}_score(map(i, s), map(j, g){cut}, '-convention {convention}{more}')"
                    found = ask(connection, f"select avg({call}) from t")
                    label = rs.authoring.Metric(name, 5 if cut else None).given(**top)
                    (values,) = rs.evaluate(truth, run, label, convention=convention).per_query.values()
                    kept = values[~np.isnan(values)]
                    assert found == pytest.approx(kept.mean(), abs=1e-12), (label, convention)

    @pytest.mark.slow
    @pytest.mark.parametrize("convention", rs.conventions)
    def test_every_measure_in_every_convention(self, connection, convention):
        """With a cutoff, a function may be handed no more of a list than it looks at."""
        rng = np.random.default_rng(6)
        truth = {q: [int(i) for i in rng.permutation(30)[: rng.integers(1, 9)]] for q in range(30)}
        run = {q: [int(i) for i in rng.permutation(30)[: rng.integers(1, 20)]] for q in range(30)}
        connection.execute("create table t(rec int[], truth int[])")
        connection.executemany("insert into t values (?, ?)", [(run[q], truth[q]) for q in truth])
        rs.sql.register(connection, convention)
        for name, metric_name in MEASURES.items():
            label = f"{metric_name}@4"
            call = f"select {name}(rec, truth, 4) from t"
            try:
                mean = rs.evaluate(truth, run, label, convention=convention)[label]
            except ValueError:  # implicit asks for the catalogue, recsys-blog for grades
                with pytest.raises(duckdb.Error, match=r"auc\(catalogue=|has no grades|use rs.evaluate"):
                    ask(connection, call)
                continue
            choices = rs.define(label, convention=convention).choices
            if choices["averaging"] == "one_list" or choices["digits"] is not None:
                with pytest.raises(duckdb.Error, match=r"use rs.evaluate"):
                    ask(connection, call)
                continue
            assert ask(connection, call) == pytest.approx(mean, abs=1e-12, nan_ok=True), name

    @pytest.mark.slow
    @pytest.mark.parametrize("convention", rs.conventions)
    @pytest.mark.parametrize("first", [4, 12], ids=["found", "nothing found"])
    def test_a_mean_is_the_conventions_or_refused(self, connection, convention, first):
        """Every metric there is, with grades and scores: what `evaluate` says, or an error that says what to do."""
        rng = np.random.default_rng(7)
        items = [rng.permutation(30).tolist() for _ in range(25)]
        truth = {q: {i: float(rng.integers(0, 4)) for i in some[: 2 + q % 9]} for q, some in enumerate(items)}
        run = {q: {i: 1 / n for n, i in enumerate(some[first:], 1)} for q, some in enumerate(items)}
        connection.execute("create table t(rec map(int, double), truth map(int, double))")
        connection.executemany("insert into t values (?, ?)", [(run[q], truth[q]) for q in truth])
        rs.sql.register(connection, convention)
        for name, row in fed().items():
            label, cut = (f"{name}@6", ", 6") if row.takes_k else (name, "")
            mean = evaluated(truth, run, label, convention)
            found = asked(connection, f"select rs_{name}(rec, truth{cut}) from t")
            if isinstance(found, duckdb.Error):
                told = re.search(r"use rs\.evaluate|-max_grade 4", str(found))
                assert told or isinstance(mean, ValueError), (label, found)
            elif found is None:  # no row counts
                assert isinstance(mean, ValueError) or math.isnan(mean), label
            else:
                assert found == pytest.approx(mean, abs=1e-12, nan_ok=True), label

    def test_the_mean_where_nothing_could_be_earned(self, connection):
        """What the convention says of no rows, and of rows without a relevant item, where it divides once for all."""
        connection.execute("create table t as select [1, 2] as rec, [3][:0] as truth")
        for none, zeros in ((0, 1), (0, 0), ("nan", 1), ("nan", "nan")):
            choices = {"averaging": "micro", "no_queries": none, "undefined": zeros}
            rs.sql.register(connection, rs.conventions["rankstone"].with_choices(**choices))
            for rows, expected in (("t", zeros), ("t where false", none)):
                found = ask(connection, f"select rs_recall(rec, truth) from {rows}")
                assert found == (None if expected == "nan" else expected), (choices, rows)

    def test_one_name_is_one_number(self, connection):
        """`rs_<metric>` follows rankstone as `rs.evaluate` does, its own mean too: rmse is over all rows."""
        truth = {q: {i: float((q * i) % 3) for i in range(5)} for q in range(6)}
        run = {q: {i: 1 / (1 + (q + i) % 4) + i / 100 for i in range(5)} for q in range(6)}
        connection.execute("create table t(rec map(int, double), truth map(int, double))")
        connection.executemany("insert into t values (?, ?)", [(run[q], truth[q]) for q in truth])
        for name in ("ndcg", "rmse", "mae", "gmap", "num_rel_ret", "precision", "kendall"):
            mean = rs.evaluate(truth, run, name)[name]
            assert ask(connection, f"select rs_{name}(rec, truth) from t") == pytest.approx(mean, rel=1e-12), name
        with pytest.raises(duckdb.Error, match=r"rs_r2: .*averaging='one_list' needs the rows of all queries"):
            ask(connection, "select rs_r2(rec, truth) from t")
        micro = rs.evaluate(truth, run, "recall@2", averaging="micro")["recall@2"]
        with pytest.raises(duckdb.Error, match=r"which options cannot change to 'micro'"):
            ask(connection, "select rs_recall(rec, truth, 2, '-averaging micro') from t")
        rs.sql.register(connection, rs.conventions["rankstone"].with_choices(averaging="micro"))
        assert ask(connection, "select rs_recall(rec, truth, 2) from t") == pytest.approx(micro, rel=1e-12)

    def test_a_metric_added_later(self, connection):
        @metric("last_rank", formula="the last hit's rank", bounds=(0, np.inf))
        def last_rank(ranked):
            """Rank of the last hit."""
            out = np.zeros(len(ranked))
            np.maximum.at(out, ranked.query, ranked.rank)
            return rs.authoring.Ratio(out, np.ones(len(ranked)))

        try:
            rs.sql.register(connection)
            assert ask(connection, "select rs_last_rank([5, 6, 7], [6, 5])") == 2
        finally:
            from rankstone.metrics import registry

            del registry.metrics.rows["last_rank"], registry.metrics.names["last_rank"]

    def test_what_arguments_are_called(self, connection):
        """As DuckDB shows it to who looks for a function."""
        listed = "select parameters from duckdb_functions() where function_name = '{}' order by len(parameters)"
        forms = [
            ["rec", "truth"],
            ["rec", "truth", "k"],
            ["rec", "truth", "k_or_options"],
            ["rec", "truth", "k", "options"],
        ]
        for name in ("ndcg", "ndcg_score", "rs_err"):
            shown = [row[0] for row in connection.sql(listed.format(name)).fetchall()]
            assert [form for form in forms if form in shown] == [*forms[:1], *forms[1 if name != "rs_err" else 2 :]]
            assert all(form in forms for form in shown)
        assert ask(connection, listed.format("f1score")) == ["actual", "predicted"]

    def test_names(self):
        assert {"ndcg", "recall_at", "rs_err", "rs_rbp"} <= measures().keys()


class TestRows:
    """Measures of rows that hold one prediction each."""

    def test_errors_of_predictions(self, connection):
        rows = "(values (2.0, 3.0), (4.0, 4.0), (null, 1.0), (1.0, null)) t(p, a)"
        found = connection.sql(f"select mae(p, a), mse(p, a), rmse(p, a), r2(p, a) from {rows}").fetchall()[0]
        assert found == pytest.approx((0.5, 0.5, math.sqrt(0.5), 1 - 1 / 0.5))
        none = "select mae(p, a), r2(p, a) from (values (null, 1.0)) t(p, a)"
        assert connection.sql(none).fetchall() == [(0, 0)]
        connection.register("nulls", pa.table({"p": [None], "a": [1.0]}))
        assert ask(connection, "select mae(p, a) from nulls") == 0
        logs = "select logloss(p, a) from (values (0.01, 0), (0.02, 1)) t(p, a)"
        assert ask(connection, logs) == pytest.approx(-(math.log(0.99) + math.log(0.02)) / 2)
        groups = (
            "select g, mae(p, a) from (values (1, 2.0, 3), (1, 5.0, 5), (2, 0.0, 4)) t(g, p, a) group by g order by g"
        )
        assert connection.sql(groups).fetchall() == [(1, 0.5), (2, 4)]

    def test_auc_of_scores_and_labels(self, connection):
        rows = "(values (0.8, 1), (0.7, 0), (0.5, 1), (0.3, 0)) t(score, label)"
        assert ask(connection, f"select auc(score, label) from {rows}") == 3 / 4
        assert ask(connection, "select auc([1, 3, 2, 6], [1, 2, 4])") == 3 / 4
        tied = "(values (0.8, 0), (0.5, 0), (0.5, 1), (0.3, 0)) t(score, label)"
        assert ask(connection, f"select auc(score, label) from {tied}") == (0 + 1 / 2 + 1) / 3
        fails(connection, "select auc(0.5, 1)", "all labels of a group are the same")
        fails(connection, "select auc(1.5, 1)", "score 1.5 is not a probability")

    def test_f(self, connection):
        rows = "(values ([1, 2], [2, 3]), ([4], [4])) t(a, p)"
        assert ask(connection, f"select f1score(a, p) from {rows}") == 2 * 2 / (3 + 3)
        beta = "select fmeasure(a, p, '-beta 2. -average micro') from "
        assert ask(connection, beta + rows) == pytest.approx((1 + 4) * 2 / (4 * 3 + 3))
        labels = "(values (1, 1), (0, 1), (1, 0), (0, 0)) t(a, p)"
        assert ask(connection, f"select fmeasure(a, p) from {labels}") == 2 * 2 / (4 + 4)
        assert ask(connection, f"select fmeasure(a, p, '-average binary') from {labels}") == 2 * 1 / (2 + 2)
        fails(connection, f"select fmeasure(a, p, '-average macro') from {labels}", "macro is not supported")
        fails(connection, "select fmeasure(3, 1)", "label 3 is not 1, 0 or -1")
        fails(connection, "select fmeasure(a, p) from (values (1, 1), (null, 1)) t(a, p)", "a label is null")
        fails(connection, "select fmeasure([1], 1)", "use the same type for both")
        fails(connection, "select fmeasure(1, true)", "use the same type for both")


class TestLists:
    def test_equal_keys_do_not_depend_on_the_order_of_rows(self, connection):
        for order in ("", "order by v desc"):
            rows = f"(select * from (values ('a', 1), ('b', 1), ('c', 2)) t(v, k) {order})"
            assert ask(connection, f"select to_ordered_list(v, k, '-reverse') from {rows}") == ["c", "b", "a"]

    def test_maps_need_the_rewriting(self, connection):
        fails(connection, "select to_ordered_list(1, 2, '-kv_map')", "use rs.sql.query")
        found = rs.sql.query(
            connection, "select to_ordered_list('x', 2, '-vk_map'), to_ordered_list('x', 2, '-kv_map')"
        )
        assert found.fetchall()[0] == ({"x": 2}, {2: "x"})

    def test_map_has_one_value_a_key(self, connection):
        rows = "(values (1, 'a'), (1, 'b'), (2, 'c')) t(k, v)"
        assert ask(connection, f"select to_ordered_map(k, v, 2) from {rows}") == {2: "c", 1: "b"}

    def test_each_top_k(self, connection):
        connection.execute(
            "create table t as select * from (values ('a', 3, 'x'), ('a', 3, 'y'), ('a', 1, 'z')) t(g, s, i)"
        )
        text = "select each_top_k({}, g, s, i) as (rank, score, item) from t order by item"
        assert rs.sql.query(connection, text.format(2)).fetchall() == [(1, 3, "x"), (1, 3, "y")]
        assert rs.sql.query(connection, text.format(-1)).fetchall() == [(1, 1, "z")]
        with pytest.raises(ValueError, match="returns all columns of its select"):
            rs.sql.query(connection, "select g, each_top_k(2, g, s, i) from t")


class TestConnections:
    def test_nothing_is_written(self, tmp_path):
        path = str(tmp_path / "my.db")
        with duckdb.connect(path) as mine:
            mine.execute("create table t as select [1, 2] as rec, [2] as truth")
        with duckdb.connect(path, read_only=True) as mine:
            rs.sql.register(mine)
            assert ask(mine, "select mrr(rec, truth) from t") == 1 / 2
        with duckdb.connect(path) as mine:
            fails(mine, "select mrr(rec, truth) from t", "mrr does not exist")

    def test_unreadable_hive(self, connection):
        with pytest.raises(ValueError, match="cannot read the query"):
            rs.sql.query(connection, "select from from")
        with pytest.raises(ValueError, match="no statement"):
            rs.sql.query(connection, "-- nothing")


def test_auc_beyond_the_list_as_the_manual_has_it(connection):
    """The list 1, 3, 2, 6 has 2 * 2 pairs, of which (2, 3) is wrong."""
    for k in (4, 10):
        assert ask(connection, f"select auc([1, 3, 2, 6], [1, 2, 4], {k})") == 3 / 4


@pytest.mark.parametrize("labels", ["1 a, 1 b", "true a, true b", "[1] a, [1] b", "null a, null b"])
@pytest.mark.parametrize("name", ["f1score", "fmeasure"])
def test_f_of_no_rows(connection, name, labels):
    assert ask(connection, f"select {name}(a, b) from (select {labels}) where false") is None


class TestEvaluate:
    TRUTH, RUN = "select userid, itemid from dummy_truth", "select userid, itemid, score from dummy_rec"

    def test_relations(self, tables):
        found = rs.evaluate(tables.sql(self.TRUTH), tables.sql(self.RUN), ["ap", "recall@2"])
        assert dict(found) == pytest.approx({"ap": (1 + 2 / 3) / 3, "recall@2": 1 / 3})

    def test_tables_see_files_and_frames(self, tmp_path):
        import pandas as pd

        (tmp_path / "truth.csv").write_text("userid,itemid\n1,1\n1,2\n")
        recs = pd.DataFrame({"userid": [1, 1, 1], "itemid": [3, 1, 2], "score": [0.9, 0.8, 0.1]})
        truth = rs.sql.table(f"select * from '{tmp_path}/truth.csv'")
        found = rs.evaluate(truth, rs.sql.table("from recs"), "ap")
        assert found["ap"] == pytest.approx((1 / 2 + 2 / 3) / 2)
        assert len(recs) == 3

    @pytest.mark.parametrize(
        ("query", "problem"),
        [
            ("select * from no_such_table", "no_such_table does not exist"),
            ("select error('at the first row')", "at the first row"),
        ],
    )
    def test_tables_that_are_not(self, query, problem):
        with pytest.raises(rs.errors.DataError, match=problem):
            rs.sql.table(query)

    def test_tables_of_a_connection(self, tables):
        found = rs.evaluate(rs.sql.table(self.TRUTH, tables), rs.sql.table(self.RUN, tables), "recall@2")
        assert found["recall@2"] == pytest.approx(1 / 3)

    QUERY = "{}select 'q' as query, 'a' as item, 1 as grade, 0.5 as score"
    PLACES: ClassVar = {  # where a path is taken
        "truth": lambda text: rs.evaluate(text, {"q": ["a"]}, "rr"),
        "run": lambda text: rs.evaluate({"q": ["a"]}, text, "rr"),
        "both": lambda text: rs.evaluate(text, metrics="rr"),
        "exclude": lambda text: rs.evaluate({"q": ["a"]}, {"q": ["a"]}, "rr", exclude=text),
        "compare": lambda text: rs.compare({"q": ["a"]}, {"one": text, "two": {"q": ["a"]}}, "rr"),
        "confusion": lambda text: rs.confusion(text, {"q": ["a"]}),
        "fuse": lambda text: rs.fuse([text, {"q": ["a"]}]),
        "pool": lambda text: rs.pool([{"q": ["a"]}], 1, truth=text),
        "check": lambda text: rs.check(
            {"truth": text, "candidate": {"q": ["a"]}, "gate": {"metric": "rr", "at_least": 0}}
        ),
        "catalogue": lambda text: rs.evaluate({"q": ["a"]}, {"q": ["a"]}, "coverage@1", catalogue=text),
        "read": lambda text: rs.read_run(text),
    }

    @pytest.mark.parametrize("place", PLACES)
    def test_a_text_is_never_run(self, place, tmp_path):
        """A path may come from someone else's request."""
        written = tmp_path / "written.csv"
        text = f"with t as (select 1) from t; copy (select 1) to '{written}'"
        for query in (text, *map(self.QUERY.format, ("", "\n (", "-- all\n", "/* a */ "))):
            with pytest.raises(rs.errors.FileError, match=r"no such file; pass rs.sql.table\("):
                self.PLACES[place](query)
        assert not written.exists()

    def test_a_gate_file_runs_no_text(self, tmp_path):
        gates = tmp_path / "gates.toml"
        gates.write_text('truth = "from t"\ncandidate = "r.csv"\n[[gate]]\nmetric = "rr"\nat_least = 0\n')
        with pytest.raises(ValueError, match=r"from t: there is no such file; pass rs.sql.table\("):
            rs.check(gates)

    def test_a_file_may_be_called_so(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        for name in ("with scores.csv", "from me.csv"):
            (tmp_path / name).write_text("query,item,score\nq,a,1\n")
            assert rs.evaluate({"q": ["a"]}, name, "rr")["rr"] == 1

    def test_decimals(self, connection):
        """What SQL makes of 0.5 is a decimal."""
        run = connection.sql("select 1 as query, * from (values ('a', 0.5), ('b', 0.75)) t(item, score)")
        truth = connection.sql("select 1 as query, 'a' as item, 2.0 as grade")
        assert rs.evaluate(truth, run, "rr")["rr"] == 1 / 2
