"""`rankstone sql`, as people run it."""

import json

import pytest

from rankstone.cli.commands import main

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
    ("words", "code", "told"),
    [
        (["select * from broken"], 1, "broken.parquet"),
        (["select nope(1)"], 1, "nope"),
        (["-c", "nobody", "select 1"], 2, "unknown convention 'nobody'"),
        (["select ndcg([1], [1], 0)"], 1, "k must be a whole number from 1"),
    ],
)
def test_errors(capsys, words, code, told):
    assert main(["sql", *words]) == code
    assert told in capsys.readouterr().err
