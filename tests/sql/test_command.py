"""`rankstone sql`, as people run it."""

import json
import sys

import pytest

import rankstone as rs
from rankstone.cli.commands import main

duckdb = pytest.importorskip("duckdb")

LISTS = "select userid, to_ordered_list(itemid, score, '-reverse') as rec from rec group by userid"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "truth.csv").write_text("userid,itemid\n1,1\n1,2\n2,5\n")
    (tmp_path / "rec.tsv").write_text("userid\titemid\tscore\n1\t3\t0.9\n1\t1\t0.8\n2\t5\t0.2\n")
    (tmp_path / "broken.parquet").write_text("not asked for")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_files_are_tables(capsys):
    query = f"select mrr(rec, [1, 5], 2) as mrr, count(*) as users from ({LISTS})"
    assert main(["sql", query]) == 0
    head, _, row, *_ = capsys.readouterr().out.split("\n")
    assert (head.split(), row.split()) == (["mrr", "users"], [f"{(1 / 2 + 1) / 2:.4f}", "2"])


def test_hive_and_json(capsys):
    assert main(["sql", "--hive", "--format", "json", f'select "x" as name, * from ({LISTS}) t order by userid']) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == [{"name": "x", "userid": 1, "rec": [3, 1]}, {"name": "x", "userid": 2, "rec": [5]}]


def test_convention(capsys):
    assert main(["sql", "-c", "hivemall-0.5", "--format", "csv", "select average_precision([1, 2], [1, 9], 2) a"]) == 0
    assert capsys.readouterr().out == "a\n1.0\n"


def test_output_file(folder, capsys):
    assert main(["sql", "select 1 as one", "--format", "csv", "-o", "out.csv"]) == 0
    assert capsys.readouterr().out == ""
    assert (folder / "out.csv").read_text() == "one\n1\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("out.csv", "one\n1\n"),
        ("out.json", '[\n  {\n    "one": 1\n  }\n]\n'),
        ("out.md", "| one |\n|--:|\n| 1 |\n"),
        ("out.txt", "one\n---\n  1\n---\n"),
    ],
)
def test_a_files_name_tells_its_format(folder, name, text):
    assert main(["sql", "select 1 as one", "-o", name]) == 0
    assert (folder / name).read_text().replace(" ", "") == text.replace(" ", "")


def test_a_query_in_a_file(folder, capsys):
    (folder / "query.sql").write_text("-- all of them\nselect count(*) as n from rec;", encoding="utf-8-sig")
    assert main(["sql", "query.sql", "--format", "csv"]) == 0
    assert capsys.readouterr().out == "n\n3\n"


def test_two_files_of_one_name(folder, capsys):
    (folder / "both.csv").write_text("a\n1\n")
    (folder / "both.jsonl").write_text('{"a": 2}\n')
    assert main(["sql", "select a from 'both.jsonl'", "--format", "csv"]) == 0
    assert capsys.readouterr().out == "a\n2\n"
    assert main(["sql", "select a from both"]) == 1
    assert "both could be 'both.csv' or 'both.jsonl': write from 'both.csv'" in capsys.readouterr().err


def test_a_table_may_have_the_name_of_a_file(capsys):
    text = "create table truth as select 7 as itemid; select itemid from truth"
    assert main(["sql", text, "--format", "csv"]) == 0
    assert capsys.readouterr().out == "itemid\n7\n"


@pytest.mark.parametrize(
    "query",
    [
        """select to_ordered_list(itemid, score, "-reverse") from rec group by userid""",
        "set hivevar:k=2; select ${k}",
        "select u, x from (select 1 as u, array(3) as a) t lateral view explode(a) e as x",
    ],
)
def test_what_is_written_for_hive(capsys, query):
    assert main(["sql", query]) == 1
    assert "this is Hive SQL: add --hive" in capsys.readouterr().err
    assert main(["sql", "--hive", query]) == 0


def test_a_reserved_word(capsys):
    query = "select precision([1, 3], [1], 2)"
    assert main(["sql", query]) == 1
    assert "precision is a reserved word of DuckDB: write precision_at(rec, truth, k)" in capsys.readouterr().err
    assert main(["sql", "--hive", query]) == 0


def test_without_duckdb(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert main(["sql", "select 1"]) == 2
    assert "rs.sql needs DuckDB: pip install" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["select * from broken"], 1, "broken.parquet"),
        (["select nope(1)"], 1, "nope"),
        (["-c", "nobody", "select 1"], 2, "unknown convention 'nobody'"),
        (["select ndcg([1], [1], 0)"], 1, "k must be a whole number from 1"),
        (["missing.sql"], 1, "missing.sql: No such file"),
        (["select 1", "-o", "out.xyz"], 2, "use the extension .csv, .tsv"),
        (["select 1", "-o", "out.csv", "--format", "json"], 2, "out.csv is csv by its name, but json was asked for"),
    ],
)
def test_errors(capsys, words, code, told):
    assert main(["sql", *words]) == code
    error = capsys.readouterr().err
    assert told in error
    assert "--hive" not in error


# -- sql text and sql macros ---------------------------------------------------------------------------------


def test_text(capsys):
    """The command writes what `rs.sql.text` writes."""
    words = "sql text -m ndcg@10 -m ap --dialect snowflake --truth t --run r --columns query=user_id truth.grade=rel"
    assert main(words.split()) == 0
    columns = {"truth": {"query": "user_id", "grade": "rel"}, "run": {"query": "user_id"}}
    assert capsys.readouterr().out == rs.sql.text(["ndcg@10", "ap"], "t", "r", "snowflake", columns=columns) + "\n"


def test_text_of_a_query_of_two_columns(capsys):
    assert main(["sql", "text", "-m", "ap", "--columns", "query=['user', 'week']", "--by", "week"]) == 0
    assert capsys.readouterr().out == rs.sql.text("ap", columns={"query": ["user", "week"]}, by="week") + "\n"


def test_text_of_queries(tmp_path):
    path = tmp_path / "a.sql"
    words = f"sql text -m ndcg(gain=exp2)@5 --per-query --account --by market --ids text -o {path}"
    given = {"per_query": True, "account": True, "by": ["market"], "ids": "text"}
    assert main(words.split()) == 0
    assert path.read_text() == rs.sql.text("ndcg(gain='exp2')@5", **given) + "\n"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("sql text --dialect bigqueri", "did you mean 'bigquery'"),
        ("sql text -m kendall", "kendall compares two orders"),
        ("sql text -m rr -s ties=input", "rows of a table have no order"),
        ("sql macros --format sql --dialect snowflake", "--format sql is for DuckDB"),
    ],
)
def test_what_cannot_be_written(capsys, words, problem):
    assert main(words.split()) in (1, 2)
    assert problem in capsys.readouterr().err


def test_macros(capsys):
    assert main(["sql", "macros", "--dialect", "bigquery"]) == 0
    assert "{% macro rankstone_ndcg(truth, run, k=none" in capsys.readouterr().out
    assert main(["sql", "macros", "--format", "sql"]) == 0
    with duckdb.connect() as connection:
        connection.execute(capsys.readouterr().out)
        assert connection.execute("select mrr([3, 1], [1], 2)").fetchall() == [(0.5,)]
