"""`rankstone fuse` and `rankstone pool`, run as people run them."""

import json

import pytest

import rankstone as rs
from rankstone.cli.commands import main

ONE = "q1 Q0 a 1 9 t\nq1 Q0 b 2 6 t\nq1 Q0 c 3 3 t\nq2 Q0 a 1 1 t\n"
OTHER = "query,item,score\nq1,c,0.9\nq1,a,0.5\nq1,d,0.1\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    for name, text in {"one.run": ONE, "other.csv": OTHER, "t.qrels": "q1 0 a 1\nq1 0 c 0\n"}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_run_to_standard_output(files, capsys):
    assert main(["fuse", "one.run", "other.csv"]) == 0
    out = capsys.readouterr().out
    lines = [line.split() for line in out.splitlines()]
    assert [line[:4] for line in lines] == [
        ["q1", "Q0", "a", "1"], ["q1", "Q0", "c", "2"], ["q1", "Q0", "b", "3"], ["q1", "Q0", "d", "4"],
        ["q2", "Q0", "a", "1"],
    ]  # fmt: skip
    assert float(lines[0][4]) == 1 / 61 + 1 / 62
    assert lines[0][5] == "rrf"


def test_a_run_to_a_file(files, capsys):
    words = [
        "fuse",
        "lexical=one.run",
        "--norm",
        "min-max",
        "dense=other.csv",
        "--method",
        "sum",
        "--weights",
        "0.7,0.3",
    ]
    assert main([*words, "--depth", "2", "-o", "x.parquet"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "comb_sum of 2 runs (lexical, dense): 2 queries, 4 items" in out
    assert "each run's term times its weight: 0.7 (lexical), 0.3 (dense)" in out
    found = rs.fuse([files / "x.parquet"], "sum").to_dict()
    assert found["q1"] == pytest.approx({"a": 0.7, "c": 0.3, "b": 0.0})
    assert rs.evaluate(files / "t.qrels", files / "x.parquet", "rr")["rr"] == 1
    assert main([*words, "--quiet", "-o", "x.run"]) == 0
    assert capsys.readouterr().out == ""


def test_choices(files, capsys):
    assert (
        main(["fuse", "one.run", "other.csv", "-c", "pyterrier", "-s", "k=0", "-s", "first_rank=1", "--tag", "me"]) == 0
    )
    first = capsys.readouterr().out.splitlines()[0].split()
    assert (float(first[4]), first[5]) == (1 / 1 + 1 / 2, "me")


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (["fuse", "one.run", "--set", "kk=1"], 2, "unknown choice or parameter of rrf 'kk'"),
        (["fuse", "one.run", "--norm", "sum"], 2, "--norm sum would have no effect: rrf reads ranks"),
        (["fuse", "one.run", "other.csv", "--weights", "a"], 2, "--weights a: write a number for each run"),
        (["fuse", "one.run", "other.csv", "--weights", "1"], 1, "there are 2 runs but 1 weights"),
        (["fuse", "one.run", "other.csv", "-c", "ranx"], 1, "other has no query 'q2'; -s queries=union"),
        (["fuse", "one.run", "one.run"], 2, "one.run is there twice"),
        (["fuse", "one.run", "other.csv", "-m", "rr"], 2, "--metric is for --tune: add --tune TRUTH"),
        (["fuse", "one.run", "other.csv", "-s", "k=1,60"], 2, "several methods or values are for --tune: add --tune"),
        (["fuse", "one.run", "other.csv", "--method", "rrf,isr"], 2, "several methods or values are for --tune"),
        (["fuse", "one.run", "--tune", "t.qrels", "--weights", "1"], 2, "--tune chooses the weights; leave out --we"),
        (["fuse", "one.run", "--tune", "t.qrels", "-m", "rr,ap"], 2, "'rr,ap' names 2 metrics; ask for one"),
        (["fuse", "one.run", "--tune", "t.qrels", "-s", "k=1,x"], 2, "k='x'"),
        (["fuse", "one.run", "other.csv", "--tune", "t.qrels", "--folds", "1"], 2, "--folds 1 of 1 queries"),
        (["fuse", "-", "one.run", "--tune", "-"], 2, "only one file can be read from standard input"),
        (["fuse", "-", "-"], 2, "only one file can be read from standard input"),
        (["fuse", "nothing.run"], 1, "nothing.run"),
        (["fuse", "one.run", "-o", "x.pdf"], 1, "unknown format of 'x.pdf'"),
        (["pool", "one.run", "--depth", "0"], 2, "--depth 0; give a whole number from 1"),
    ],
)
def test_what_is_refused(files, capsys, words, code, problem):
    assert main(words) == code
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize("words", [["fuse", "a", "--method", "x"], ["pool", "a"], ["fuse"]])
def test_bad_usage(words):
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2


def test_tune(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    truth, runs, *_ = rs.example()
    rs.write_truth(truth, "t.qrels")
    for name in ("popular", "hybrid"):
        rs.write_run(runs[name], f"{name}.run")
    pair = {name: runs[name] for name in ("popular", "hybrid")}
    tuned = rs.fuse.tune(pair, truth, "rr", folds=4, method=["comb_sum", "comb_mnz"],
                         parameters={"norm": ["min-max", "zmuv"], "depth": [20]})  # fmt: skip
    words = ["fuse", "popular.run", "hybrid.run", "--tune", "t.qrels", "-m", "rr", "--folds", "4", "--depth", "20",
             "--method", "sum,mnz", "-s", "norm=min-max,zmuv"]  # fmt: skip
    assert main(words) == 0
    assert capsys.readouterr().out.rstrip("\n") == str(tuned)
    assert main([*words, "-o", "fused.run"]) == 0
    assert capsys.readouterr().out.rstrip("\n") == str(tuned)
    assert rs.evaluate("t.qrels", "fused.run", "rr")["rr"] == pytest.approx(tuned.best.mean)
    assert main([*words, "-o", "-"]) == 0
    assert capsys.readouterr().out == (tmp_path / "fused.run").read_text()
    assert main(["fuse", "popular.run", "hybrid.run", "--tune", "t.qrels"]) == 0
    assert capsys.readouterr().out.rstrip("\n") == str(rs.fuse.tune(pair, truth))


def test_pool(files, capsys):
    assert main(["pool", "one.run", "other.csv", "--depth", "2", "--truth", "t.qrels", "-o", "pool.qrels"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "2 items of 2 queries to judge: the first 2 of one, other; 2 more are already judged" in out
    assert (files / "pool.qrels").read_text() == "q1 0 b -1\nq2 0 a -1\n"
    assert main(["pool", "one.run", "other.csv", "--depth", "1", "-o", "-", "--to-format", "jsonl"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["query"], line["item"]) for line in lines] == [("q1", "a"), ("q1", "c"), ("q2", "a")]


def test_whole_numbers_and_text(files, capsys):
    (files / "n.csv").write_text("query,item,score\n1,7,1\n")
    (files / "m.csv").write_text("query,item,score\n1,7,1\n1,x,2\n")
    (files / "n.qrels").write_text("1 0 7 1\n")
    assert main(["fuse", "n.csv", "m.csv"]) == 0
    assert "1 Q0 7 1 0.0325" in capsys.readouterr().out
    assert main(["fuse", "n.csv", "again=n.csv", "third=n.csv", "m.csv"]) == 0
    assert "1 Q0 7 1 0.0653" in capsys.readouterr().out
    assert main(["pool", "n.csv", "m.csv", "--depth", "5", "--truth", "n.qrels", "-o", "-"]) == 0
    assert capsys.readouterr().out == "1 0 x -1\n"
