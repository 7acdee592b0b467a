"""What a text of SQL meets in a database: ids of all kinds, odd names, sub-queries, groups, and data that is wrong."""

import math
from dataclasses import replace

import pytest

import rankstone as rs
from rankstone.align.ties import TIES
from rankstone.sql.dialects import DIALECTS, LINE_BREAK
from tests.sql.engines import but_spark, everywhere
from tests.sql.measured import agree, differences, evaluated, lists_of, put, rows_of, same
from tests.sql.test_text import RUN, SOME, TRUTH
from tests.table import cases

GRADES, SCORES = rows_of(TRUTH, "grade"), rows_of(RUN, "score")
SMALL = {"q1": {"a": 3, "b": 1, "c": 0}, "q2": {"a": 1, "d": 2}, "q3": {"a": 1}}
SMALL_RUN = {"q1": {"c": 3, "a": 2, "b": 1, "x": 1}, "q2": {"d": 5, "x": 3, "a": 1}, "q3": {"x": 1, "a": 1}}


@pytest.fixture
def tables(engine):
    """`judgments` and `results`, of whole numbers."""
    truth, run = rows_of(SMALL, "grade"), rows_of(SMALL_RUN, "score")
    put(engine, "judgments", truth)
    put(engine, "results", run)
    return truth, run


def text(engine, *asked, **how):
    return rs.sql.text(*asked, dialect=engine.dialect, **how)


# -- columns -------------------------------------------------------------------------------------------------


IDS = [("text", "item_desc", False), ("text", "item_asc", True), ("integer", "item_desc", True)]
IDS += [("integer", "item_asc", False)]


@everywhere("how", IDS, spark=IDS[1:2])
def test_order_of_ids(engine, how):
    """By bytes if they are texts, by size if they are numbers, whatever the database thinks of them."""
    kind, ties, told = how
    ids = cases.TEXT if kind == "text" else cases.NUMBERS
    truth = {query: {item: 1 + at for at, item in enumerate(ids)} for query in ("q", "Q")}
    run = {query: dict.fromkeys(ids, 1) for query in truth}
    data = rows_of(truth, "grade"), rows_of(run, "score")
    agree(engine, ["dcg@1", "dcg@2", "dcg@4", "ndcg"], *data, ties=ties, ids=kind if told else None)


RULES = [name for name, rule in TIES.items() if rule.by != "input"]


@everywhere("ties", RULES, spark=["pessimistic"])
def test_both_zeros_are_tied(engine, ties):
    """-0.0 equals 0.0, among scores and among grades."""
    for item in ("a", "b"):
        truth, run = {"q": {item: 1, "c": -0.0, "d": 0.0}}, {"q": {"a": 0.0, "b": -0.0, "c": -0.0}}
        agree(engine, ["ndcg", "ap", "auc", "judged@1"], rows_of(truth, "grade"), rows_of(run, "score"), ties=ties)


@pytest.mark.parametrize("queries", [("q10", "Q", "é"), (10, 9, -1)])
@but_spark
def test_values_of_every_kind(engine, queries):
    truth = rows_of(dict(zip(queries, SMALL.values(), strict=True)), "grade")
    run = dict(zip(queries, SMALL_RUN.values(), strict=True))
    places = {query: list(items) for query, items in run.items()}
    ungraded = {name: values for name, values in truth.items() if name != "grade"}
    metrics = [*SOME, "dcg@2", "err", "auc"]
    agree(engine, [*metrics, "rmse"], truth, rows_of(run, "score"))  # whole numbers, not to be divided as such
    agree(engine, metrics, truth, rows_of(places, "rank"))
    agree(engine, metrics, truth, rows_of(places, "rank"), ties="input")
    agree(engine, SOME, ungraded, rows_of(run, "score"))


LISTS = [(None, None, "item_desc"), ("grade", None, "input"), (None, "score", "input"), ("grade", "score", "input")]
LISTS += [("grade", "score", "item_desc"), ("grade", "score", "reverse_input")]


@everywhere("lists", LISTS, spark=[("grade", "score", "input")])
def test_lists(engine, lists):
    grade, score, ties = lists
    truth, run = TRUTH | {"none": {}}, RUN | {"q3": {}, "none": {}}
    agree(engine, [*SOME, "dcg"], lists_of(truth, grade), lists_of(run, score), ties=ties)


@but_spark
def test_one_side_of_lists(engine):
    truth, run = TRUTH | {"none": {}}, RUN | {"q3": {}, "none": {}}
    agree(engine, SOME, lists_of(truth), rows_of(run, "score"))
    agree(engine, SOME, rows_of(truth, "grade"), lists_of(run), averaging="micro")
    agree(engine, SOME, lists_of(truth), lists_of(run), nonpositive_score="miss")  # there is no score to miss


# -- names ---------------------------------------------------------------------------------------------------

ODD = {  # a truth, a run, and columns for query, item and value
    "reserved": ("order", "group", "user", "select", "table"),
    "quotes": ('a "quoted" name', "a `ticked` name", "it's", "[brackets]", "two words"),
    "ends": ('x"; drop table judgments; --', "x`; drop table judgments; --", 'a" from b --', "semi;colon", "--"),
    "backslashes": ("x\\", "\\", "q\\", " from judgments as t) as j) select 1; drop table judgments; -- ", '\\"'),
    "lines": ("two\nlines", "a\r\nb", "\n; --", "\\n", "tab\t"),
    "letters": ("naïve-名", "1st", "100%", "a.b", "{brace}"),
}


@everywhere("kind", list(ODD), spark=["ends"])
def test_odd_names_are_only_names(engine, tables, kind):
    truth, run = tables
    *names, query, item, value = ODD[kind]
    called = {"query": query, "item": item, "grade": value, "score": value}
    for name, table in zip(names, tables, strict=True):
        put(engine, name, {called[role]: values for role, values in table.items()})
    same(engine, evaluated(SOME, truth, run), SOME, *names, columns=called)
    assert len(engine.ask("select * from judgments")[1]) == len(truth["query"])  # it is still there


NASTY = (
    "x\\",
    "\\\\",
    "'",
    '"',
    "`",
    "]",
    "''",
    "\\'",
    '\\"',
    "\\`",
    "a'b\"c`d]e\\f",
    "two\nlines\r",
    "-- x",
    "/* x",
    "\\n",
)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_quotes(dialect):
    """A name and a string come back from the grammar as they went in, and nothing else with them."""
    sqlglot = pytest.importorskip("sqlglot")
    to = DIALECTS[dialect]
    for text in NASTY:
        quoted, written = (by(text).replace(LINE_BREAK, "\n") for by in (to.quoted, to.literal))
        name = sqlglot.parse_one(f"select {quoted} from t", dialect=to.grammar or None).selects[0]
        assert name.name == text
        value = sqlglot.parse_one(f"select {written}", dialect=to.grammar or None).selects[0]
        assert "".join(part.name for part in value.find_all(sqlglot.exp.Literal)) in (text, text.replace("'", ""))
    with pytest.raises(ValueError, match="a character that SQL cannot write"):
        rs.sql.text("rr", dialect=dialect, columns={"query": "a\0b"})


@pytest.mark.parametrize("dialect", ["clickhouse", "bigquery"])
def test_a_backslash_does_not_end_a_quoted_name(dialect):
    left = DIALECTS[dialect].quotes[0]
    text = rs.sql.text("rr", dialect=dialect, columns={"query": f"{left}x\\{left}"})
    assert f"t.{left}x\\{left}" not in text
    quoted = f"{left}x\\\\{left}"
    assert f"t.{quoted} as query" in rs.sql.text("rr", dialect=dialect, columns={"query": quoted})


def test_a_convention_does_not_end_a_comment():
    named = replace(rs.conventions["trec_eval"], name="mine\ndrop table judgments; --")
    lines = rs.sql.text("rr", convention=named).splitlines()
    assert lines[0].startswith("-- ")
    assert "drop table" in lines[0]
    assert not any(line.startswith("drop") for line in lines)


@but_spark
def test_names_in_quotes(engine, tables, quoted):
    truth, run = tables
    put(engine, "Judgments", {"Query": truth["query"], "item": truth["item"], "grade": truth["grade"]})
    columns = {"truth": {"query": quoted("Query")}, "run": {}}
    same(engine, evaluated(SOME, truth, run), SOME, quoted("Judgments"), "results", columns=columns)


STEPS = [
    *(("truth", "run"), ("t", "r"), ("judged_items", "ranked_items"), ("query_values", "queries")),
    *(("returned_items", "query_sums"), ("problems", "checked"), ("returned_lists", "means")),
]


@everywhere("names", STEPS)
def test_tables_called_as_steps_are(engine, tables, names):
    for name, table in zip(names, tables, strict=True):
        put(engine, name, table)
    same(engine, evaluated(SOME, *tables), SOME, *names)


@but_spark
def test_queries_that_read_tables_called_as_steps_are(engine, tables):
    names = ("judged_items", "truth_rows")
    for name, table in zip(names, tables, strict=True):
        put(engine, name, table)
    same(engine, evaluated(SOME, *tables), SOME, *(f"select * from {name}" for name in names))


@but_spark
def test_queries_for_tables(engine, tables):
    truth, run = tables
    same(engine, evaluated(SOME, truth, run), SOME, "(select * from judgments)", "select * from results -- all of them")
    some = {query: items for query, items in SMALL.items() if query != "q3"}
    with_more = "with picked as (select * from judgments where query <> 'q3') select * from picked;"
    same(engine, evaluated(SOME, rows_of(some, "grade"), run), SOME, with_more, "results")
    with pytest.raises(ValueError, match="the truth must be one query, not 2 statements"):
        text(engine, SOME, "select * from judgments; drop table results")


@but_spark
def test_lines_of_a_query_stay_as_they_are(engine):
    """A text of two lines is not indented with the statement."""
    put(engine, "judgments", {"query": ["a\nb", "other"], "item": ["x", "x"], "grade": [1, 1]})
    put(engine, "results", {"query": ["a\nb", "other"], "item": ["x", "y"], "score": [1, 1]})
    query = "select *\nfrom judgments\nwhere query = 'a\nb'"
    assert engine.ask(text(engine, "rr", query))[1] == [(1,)]


@but_spark
def test_columns_called_as_ours_are(engine, tables):
    truth, run = tables
    strange = {"query": "score", "item": "grade", "grade": "item", "score": "query"}
    put(engine, "strange truth", {strange[role]: values for role, values in truth.items()})
    put(engine, "strange run", {strange[role]: values for role, values in run.items()})
    same(engine, evaluated(SOME, truth, run), SOME, "strange truth", "strange run", columns=strange)


# -- means and what is told beside them ----------------------------------------------------------------------


@everywhere("averaging", ["micro", "geometric", "sum", "parts", "one_list"], spark=["parts"])
def test_averaging(engine, averaging):
    metrics = ["f1@3"] if averaging == "parts" else ["rmse", "mae"] if averaging == "one_list" else [*SOME, "f1@3"]
    agree(engine, metrics, GRADES, SCORES, averaging=averaging)


@but_spark
def test_one_list(engine):
    judged = {query: {item: at % 2 for at, item in enumerate(items)} for query, items in SMALL_RUN.items()}
    data = rows_of(judged, "grade"), rows_of(SMALL_RUN, "score")
    agree(engine, ["auc", "ap", "precision@2", "ndcg"], *data, averaging="one_list", ties="pessimistic")


@but_spark
def test_weights(engine, tables):
    truth, run = tables
    weights = {"q1": 2.0, "q2": 0.0, "q3": 0.5, "more": 1.0}
    put(engine, "weights", {"query": list(weights), "weight": list(weights.values())})
    want = evaluated(SOME, truth, run, weights=weights)
    same(engine, want, SOME, weights="weights")
    same(engine, want, SOME, weights="select * from weights")
    for bad, why in (({"q1": 1.0}, "no weight from 0 for query q2"), (weights | {"q3": -1.0}, "for query q3")):
        put(engine, "weights", {"query": list(bad), "weight": list(bad.values())})
        with pytest.raises(Exception, match=why):
            engine.ask(text(engine, SOME, weights="weights"))


def test_groups(engine, tables):
    truth, run = tables
    groups = {"q1": "de", "q2": "fr", "q3": "de"}
    put(engine, "judgments", truth | {"market of it": [groups[query] for query in truth["query"]]})
    want = evaluated(SOME, truth, run).by_group(groups)
    names, rows = engine.ask(text(engine, SOME, by="market of it", account=True))
    assert names[0] == "market of it"
    assert sorted(row[0] for row in rows) == ["de", "fr"]
    for group, *means in rows:
        assert not differences(SOME, means[: len(SOME)], [want[group][metric] for metric in SOME])
    at = [row[1 + len(SOME)] for row in sorted(rows)]
    assert at == [2, 1]  # judged
    _, rows = engine.ask(text(engine, SOME, by="market of it", per_query=True))
    assert {row[0]: row[1] for row in rows} == groups
    put(engine, "judgments", truth | {"market of it": [*map(str, range(len(truth["query"])))]})
    with pytest.raises(Exception, match="several market of it for query q1; make market of it a part of the query ids"):
        engine.ask(text(engine, SOME, by="market of it"))


def in_weeks(table):
    """Each query in two weeks; in the second one, its items have other ids."""
    weeks = {name: column * 2 for name, column in table.items()}
    size = len(table["query"])
    weeks["item"] = [*table["item"], *(f"{item}'" for item in table["item"])]
    return weeks | {"week": [1] * size + [2] * size}


def test_query_of_two_columns(engine, tables):
    """A query is a user in a week: it has the numbers of one whose id is both, and belongs to one week."""
    weeks = [in_weeks(table) for table in tables]
    for name, table in zip(("judgments", "results"), weeks, strict=True):
        put(engine, name, table)
    joined = [table | {"query": [*map("{}|{}".format, table["query"], table["week"])]} for table in weeks]
    want = evaluated(SOME, *({name: table[name] for name in table if name != "week"} for table in joined))
    both = {"columns": {"query": ["query", "week"]}}
    _, [means] = engine.ask(text(engine, SOME, **both))
    assert not differences(SOME, means, want.values())
    names, rows = engine.ask(text(engine, SOME, by="week", per_query=True, **both))
    assert names[:2] == ["query", "week"]
    assert {row[0]: row[1] for row in rows} == dict(zip(joined[0]["query"], weeks[0]["week"], strict=True))
    with pytest.raises(Exception, match=r"several week for query q1; .*columns={.*query.*: \[.*query.*, .*week.*\]}"):
        engine.ask(text(engine, SOME, by="week"))


def test_query_of_two_columns_with_the_separator_in_one(engine, tables):
    """a|b in week c, and a in week b|c, would be one query."""
    for name, table in zip(("judgments", "results"), tables, strict=True):
        put(engine, name, table | {"week": ["x|y"] * len(table["query"])})
    engine.ask(text(engine, SOME, columns={"query": ["query", "week"]}))  # in the last column it separates nothing
    with pytest.raises(Exception, match=r"has a \| within the columns of a query, which it separates: x\|y\|q1; make"):
        engine.ask(text(engine, SOME, columns={"query": ["week", "query"]}))


@everywhere("by", [["weight", "judged", "hits"], ["ndcg_3", "problem", "is_judged"]])
def test_groups_called_as_ours_are(engine, tables, by):
    truth, run = tables
    groups = {"q1": "de", "q2": "fr", "q3": "de"}
    column = [groups[query] for query in truth["query"]]
    put(engine, "judgments", truth | dict.fromkeys(by, column))
    want = evaluated(SOME, truth, run).by_group(groups)
    names, rows = engine.ask(text(engine, SOME, by=by))
    assert names[:3] == by
    assert len(rows) == 2
    for *group, means in ((*row[:3], row[3:]) for row in rows):
        assert len(set(group)) == 1
        assert not differences(SOME, means, [want[group[0]][metric] for metric in SOME])


@everywhere("how", [{}, {"extra": "zero"}, {"missing": "skip", "ties": "optimistic"}], spark=[{}])
def test_account(engine, how):
    metrics = [*SOME, "judged", "auc"]
    put(engine, "judgments", GRADES)
    put(engine, "results", SCORES)
    want = evaluated(metrics, GRADES, SCORES, **how)
    names, [row] = engine.ask(text(engine, metrics, account=True, **how))
    assert not differences(metrics, row[: len(metrics)], want.values())
    told = dict(zip(names[len(metrics) :], row[len(metrics) :], strict=True))
    account = want.account
    assert list(told.values()) == [
        account.judged,
        account.missing,
        account.nothing_relevant,
        account.tied,
        account.extra,
    ]


@but_spark
def test_several_cutoffs(engine, tables):
    truth, run = tables
    names, _ = engine.ask(text(engine, "ndcg@{1,2,5}"))
    assert names == ["ndcg_1", "ndcg_2", "ndcg_5"]
    same(engine, evaluated("ndcg@{1,2,5}", truth, run), "ndcg@{1,2,5}")


# -- data that would give a wrong number ---------------------------------------------------------------------

WRONG = {  # a row that is one too many, in the truth or the run, and what is said of it; SQLite stores NaN as null
    "an item twice in the truth": ("judgments", ("q1", "a", 3), "query q1: item a appears twice in the truth"),
    "an item twice in the run": ("results", ("q1", "a", 9), "query q1: item a appears twice in the run"),
    "no grade": ("judgments", ("q1", "y", None), "without a query, an item or a grade: query q1, item y"),
    "no item": ("judgments", ("q1", None, 1), r"without a query, an item or a grade: query q1, item \?"),
    "no query": ("judgments", (None, "y", 1), r"without a query, an item or a grade: query \?, item y"),
    "no score": ("results", ("q1", "y", None), "without a query, an item or a score: query q1, item y"),
    "no query in the run": ("results", (None, "y", 1), r"without a query, an item or a score: query \?, item y"),
    "NaN for a grade": (
        "judgments",
        ("q1", "y", math.nan),
        "(?:a grade that is NaN or infinite|or a grade): query q1, item y",
    ),
    "NaN for a score": (
        "results",
        ("q1", "y", math.nan),
        "(?:a score that is NaN or infinite|or a score): query q1, item y",
    ),
    "an infinite score": ("results", ("q1", "y", math.inf), "a score that is NaN or infinite: query q1, item y"),
    "quotes and a backslash": ("results", ("q1", 'it\'s "x" `y` \\ z', None), "query q1, item it"),
    "two lines": ("results", ("q1", "two\nlines; --", None), "query q1, item two"),
    "a query with quotes": ("results", ("it's '", "y", None), "query it"),
}


@everywhere("wrong", list(WRONG), spark=["quotes and a backslash"])
def test_wrong_data_is_an_error(engine, tables, wrong):
    name, row, why = WRONG[wrong]
    table = tables[name == "results"]
    put(engine, name, {role: [*values, more] for (role, values), more in zip(table.items(), row, strict=True)})
    with pytest.raises(Exception, match=why):
        engine.ask(text(engine, SOME, per_query=name == "results"))


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"missing": "error"}, "the run lacks query q3"),
        ({"extra": "error"}, "the truth lacks query Q"),
        ({"no_relevant": "error"}, "ap: query q2: there is no relevant item"),
        ({"undefined": "error"}, "ap: query q2: the value is undefined: its denominator is 0"),
    ],
    ids=str,
)
@but_spark
def test_queries_that_are_an_error(engine, how, why):
    put(engine, "judgments", GRADES)
    put(engine, "results", SCORES)
    with pytest.raises(ValueError, match=r"q2|q3|Q"):
        evaluated("ap", GRADES, SCORES, **how)
    with pytest.raises(Exception, match=why):
        engine.ask(text(engine, "ap", **how))


@but_spark
def test_a_label_with_quotes_in_an_error(engine):
    put(engine, "judgments", GRADES)
    put(engine, "results", SCORES)
    metric = rs.ndcg(gain="exp2", negative="error")
    with pytest.raises(Exception, match=r"gain=.{1,4}exp2.{1,3}, negative=.*: query q1.*: grade -[12].* is negative"):
        engine.ask(text(engine, metric))


@but_spark
def test_nothing_to_measure(engine, tables):
    engine.create("no_rows", {"query": "text", "item": "text", "grade": "double"}, [])
    assert engine.ask(text(engine, SOME, "no_rows"))[1] == [(None,) * len(SOME)]
    assert engine.ask(text(engine, "ap", "no_rows", averaging="micro"))[1] == [(None,)]
    assert engine.ask(text(engine, SOME, "no_rows", per_query=True))[1] == []
    assert engine.ask(text(engine, "ap", "no_rows", no_queries=0))[1] == [(0,)]
    with pytest.raises(Exception, match="ap: there is no query to average over"):
        engine.ask(text(engine, "ap", "no_rows", no_queries="error"))


@but_spark
def test_nothing_in_common(engine, tables):
    put(engine, "results", rows_of({"other": {"a": 1}}, "score"))
    with pytest.raises(Exception, match="no query in common: the truth has q1, the run has other"):
        engine.ask(text(engine, SOME))


@everywhere("side", ["judgments", "results"])
def test_two_lists_for_a_query(engine, side):
    truth, run = lists_of(SMALL), lists_of(SMALL_RUN)
    for name, table in (("judgments", truth), ("results", run)):
        put(engine, name, {role: [*values, values[0]] if name == side else values for role, values in table.items()})
    with pytest.raises(Exception, match=r"two lists for query q1|appears twice"):
        engine.ask(text(engine, SOME, lists=True))


def test_repeated_items_of_a_metric_without_ranks(engine):
    """Which row counts goes by rank, also where the metric does not."""
    truth = rows_of({"q1": {"a": 1, "b": 0}}, "grade")
    run = {"query": ["q1", "q1", "q1"], "item": ["a", "a", "b"], "score": [0.25, 0.75, 0.5]}
    put(engine, "judgments", truth)
    put(engine, "results", run)
    agree(engine, ["mae"], truth, run, duplicates="once")


def test_repeated_judgements(engine):
    """Once with one grade, or with the highest of several. Judgements that differ, or lack a grade, are not lost."""
    run = {"query": ["q1", "q1", "q2"], "item": ["a", "b", "c"], "score": [0.25, 0.75, 0.5]}
    queries, items = ["q1", "q1", "q1", "q2"], ["a", "a", "b", "d"]
    for rule, grades in (("distinct", [2.0, 2.0, 1.0, 1.0]), ("max", [0.0, 2.0, 1.0, 1.0])):
        truth = {"query": queries, "item": items, "grade": grades}
        agree(engine, ["ndcg@2", "recall", "rr"], truth, run, truth_duplicates=rule)
    for rule, second, problem in (
        ("distinct", 1.0, "query q1: item a is judged twice, with two grades"),
        ("distinct", None, "the truth has a row without a query, an item or a grade"),
        ("max", None, "the truth has a row without a query, an item or a grade"),
    ):
        put(engine, "judgments", {"query": queries, "item": items, "grade": [2.0, second, 1.0, 1.0]})
        with pytest.raises(Exception, match=problem):
            engine.ask(text(engine, ["recall"], truth_duplicates=rule))
