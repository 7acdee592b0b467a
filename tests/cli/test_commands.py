"""The command, run as people run it."""

import contextlib
import gzip
import json
import re
import subprocess
import sys
import warnings
from math import log2
from pathlib import Path

import pytest

import rankstone as rs
from rankstone.cli.commands import COMMANDS, main

ROOT = Path(__file__).parents[2]
QRELS = "q1 0 a 1\nq1 0 b 2\nq2 0 a 1\n"
RUN = "q1 Q0 a 1 0.9 t\nq1 Q0 c 2 0.8 t\nq1 Q0 b 3 0.7 t\nq2 Q0 c 1 2 t\nq2 Q0 a 2 1 t\n"
WORSE = "q1 Q0 c 1 0.9 t\nq1 Q0 a 2 0.8 t\nq2 Q0 c 1 2 t\n"


@pytest.fixture
def files(tmp_path):
    for name, text in {"qrels.txt": QRELS, "good.run": RUN, "bad.run": WORSE}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def run(files, *words):
    """Run in another process: exit code, standard output, standard error."""
    done = subprocess.run(
        [sys.executable, "-m", "rankstone", *words], cwd=files, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_one_run(files):
    code, out, err = run(files, "evaluate", "qrels.txt", "good.run", "-m", "rr", "-m", "recall@{1,2}")
    assert (code, err) == (0, "")
    lines = out.split("\n")
    assert lines[2].split() == ["rr", f"{(1 / 1 + 1 / 2) / 2:.4f}"]
    assert lines[3].split() == ["recall@1", f"{(1 / 2 + 0) / 2:.4f}"]
    assert lines[4].split() == ["recall@2", f"{(1 / 2 + 1 / 1) / 2:.4f}"]
    assert "2 judged queries" in out


def test_runs_side_by_side(files, capsys):
    assert (
        main(["evaluate", str(files / "qrels.txt"), str(files / "good.run"), str(files / "bad.run"), "-m", "rr"]) == 0
    )
    head, _, body, *_ = capsys.readouterr().out.split("\n")
    assert head.split() == ["metric", "good", "bad"]
    assert body.split() == ["rr", "0.7500", f"{(1 / 2 + 0) / 2:.4f}"]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("csv", "metric,good\nrr,0.75\n"),
        ("tsv", "metric\tgood\nrr\t0.75\n"),
        ("jsonl", '{"metric": "rr", "good": 0.75}\n'),
        ("trec", "rr                    \tq1\t1.0000\nrr                    \tq2\t0.5000\n"
         "rr                    \tall\t0.7500\n"),
        ("markdown", "| metric |   good |\n| ------ | -----: |\n| rr     | 0.7500 |\n"),
        ("latex", "\\begin{tabular}{lr}\n\\toprule\nmetric & good \\\\\n\\midrule\n"
         "rr & 0.7500 \\\\\n\\bottomrule\n\\end{tabular}\n"),
        ("html", "<td style='text-align:right'>0.7500</td>"),
    ],
)  # fmt: skip
def test_formats(files, capsys, form, expected):
    """Printed or written, by --format or by the name, it is the same."""
    words = ["evaluate", str(files / "qrels.txt"), str(files / "good.run"), "-m", "rr"]
    assert main([*words, "--format", form]) == 0
    printed = capsys.readouterr().out
    assert expected in printed
    assert ("1 / rank of the first" in printed) == (form in ("markdown", "latex", "html"))  # those have room for it
    ending = {"markdown": "md", "latex": "tex"}.get(form, form)
    assert main([*words, "-o", str(files / f"out.{ending}")]) == 0
    assert (files / f"out.{ending}").read_text() == printed
    assert main([*words, "-o", str(files / "out"), "--format", form]) == 0
    assert (files / "out").read_text() == printed
    assert {path.name for path in files.iterdir()} == {"qrels.txt", "good.run", "bad.run", f"out.{ending}", "out"}


def test_json_carries_its_definition(files, capsys):
    assert main(["evaluate", str(files / "qrels.txt"), str(files / "good.run"), "-m", "rr", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["runs"]["good"]
    assert found["means"] == {"rr": 0.75}
    assert found["convention"] == "rankstone"
    assert "1 / rank of the first relevant item" in found["definitions"]["rr"]["cite"]
    assert found["definitions"]["rr"]["choices"]["ties"] == "item_desc"
    assert found["versions"].keys() == {"rankstone", "numpy"}
    assert found["inputs"].keys() == {"truth", "run"}
    assert found["account"]["judged"] == 2


def test_per_query(files, capsys):
    words = [
        "evaluate",
        str(files / "qrels.txt"),
        str(files / "good.run"),
        "-m",
        "rr",
        "--per-query",
        "--format",
        "csv",
    ]
    assert main(words) == 0
    assert capsys.readouterr().out == "query,rr\nq1,1\nq2,0.5\n"


def test_groups_of_queries(tmp_path, capsys):
    truth, ranked = tmp_path / "truth.csv", tmp_path / "run.csv"
    truth.write_text("user,item,grade,country\n1,7,1,se\n2,7,1,fi\n3,7,1,fi\n")
    ranked.write_text("user,item,score\n1,7,1\n2,8,2\n2,7,1\n3,7,1\n")
    assert main(["evaluate", str(truth), str(ranked), "-m", "rr", "--by", "country", "--format", "csv"]) == 0
    assert capsys.readouterr().out == f"country,rr\nfi,{(1 / 2 + 1 / 1) / 2}\nse,1\n"


def test_choices_and_conventions(files, capsys):
    words = ["evaluate", str(files / "qrels.txt"), str(files / "bad.run"), "-m", "precision@5", "--format", "csv"]
    assert main([*words[:-3], "precision(divisor='min(k,retrieved)')@5", *words[-2:]]) == 0
    assert capsys.readouterr().out.endswith(f",{(1 / 2 + 0) / 2}\n")
    assert main([*words, "-c", "hivemall"]) == 0
    assert capsys.readouterr().out == f"metric,bad\nprecision@5,{(1 / 2 + 0) / 2}\n"


@pytest.mark.parametrize("name", ["out.json", "out.json.gz", "out.parquet"])
@pytest.mark.parametrize("more", [[], ["--per-query"]])
def test_python_reads_what_the_command_writes(files, capsys, name, more):
    one, both = [str(files / "good.run")], [str(files / "good.run"), str(files / "bad.run")]
    words = ["evaluate", str(files / "qrels.txt"), "-m", "rr,ap", *more, "-o", str(files / name)]
    assert main([*words, *one]) == 0
    result = rs.evaluate(files / "qrels.txt", files / "good.run", "rr,ap")
    saved = rs.read_result(files / name)
    assert repr(saved) == repr(result)
    assert saved.to_pandas().equals(result.to_pandas())
    assert saved._name == "good"
    assert main([*words, *both]) == 0
    runs = rs.read_result(files / name)
    assert {name: run["rr"] for name, run in runs.items()} == {"good": 0.75, "bad": 0.25}
    assert runs["good"].compare(runs["bad"]).runs == ("good", "bad")
    assert capsys.readouterr().out == ""


def test_a_result_has_one_shape(files, capsys):
    """Of one run or several, from the command or from Python."""
    rs.evaluate(files / "qrels.txt", files / "good.run", "rr").write(files / "python.json")
    words = ["evaluate", str(files / "qrels.txt"), str(files / "good.run"), "-m", "rr", "--format", "json"]
    assert main(words) == 0
    ours, theirs = json.loads(capsys.readouterr().out), json.loads((files / "python.json").read_text())
    assert ours["runs"]["good"] == theirs["runs"]["run"]
    assert main([*words, "--per-query"]) == 0
    assert json.loads(capsys.readouterr().out) == ours


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["-o", "a.csv", "--format", "json"], "a.csv is csv by its name, but json was asked for"),
        (["-o", "a.xlsx"], "unknown format of 'a.xlsx'; use the extension .csv"),
        (["--format", "parquet"], "--format parquet is not for a screen"),
    ],
)
def test_formats_that_cannot_be(files, capsys, words, told):
    assert main(["evaluate", str(files / "qrels.txt"), str(files / "good.run"), *words]) == 2
    assert told in capsys.readouterr().err


def test_several_metrics_in_one_word(files, capsys):
    words = ["evaluate", str(files / "qrels.txt"), str(files / "good.run"), "--format", "csv"]
    assert main([*words, "-m", "recip_rank,P_5", "-m", "AP(rel=2)"]) == 0
    assert [line.split(",")[0] for line in capsys.readouterr().out.split()] == [
        "metric", "rr", "precision@5", "ap(threshold=2)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["good.run", "bad.run"], ["good", "bad"]),
        (["bm25=good.run", "bad.run"], ["bm25", "bad"]),
        (["good.run", "again=good.run"], ["good", "again"]),
        (["a/x.run", "b/x.run"], ["a/x", "b/x"]),
        (["a/c/x.run", "b/c/x.run"], ["a/c/x", "b/c/x"]),
        (["a/x.run", "a/x.run.gz"], ["x.run", "x.run.gz"]),
        (["metric.run"], ["metric.run"]),
        (["v1.2.run"], ["v1.2"]),
    ],
)
def test_names_of_runs(files, monkeypatch, capsys, paths, names):
    monkeypatch.chdir(files)
    for path in paths:
        target = files / path.rpartition("=")[2]
        target.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(target, "wt") if path.endswith(".gz") else open(target, "w") as stream:
            stream.write(RUN)
    assert main(["evaluate", "qrels.txt", *paths, "-m", "rr", "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[0].split(",")[1:] == names


@pytest.mark.parametrize("words", [["good.run", "good.run"], ["x=good.run", "x=bad.run"], ["bad=good.run", "bad.run"]])
def test_two_runs_of_one_name(files, monkeypatch, capsys, words):
    monkeypatch.chdir(files)
    assert main(["evaluate", "qrels.txt", *words]) == 2
    assert "NAME=" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["-m", "rr", "good.run", "bad.run"], ["good.run", "-m", "rr", "bad.run"]])
def test_options_stand_anywhere(files, monkeypatch, capsys, words):
    monkeypatch.chdir(files)
    assert main(["evaluate", "qrels.txt", *words, "--format", "csv"]) == 0
    assert capsys.readouterr().out.split()[0] == "metric,good,bad"
    with pytest.raises(SystemExit):
        main(["evaluate", "qrels.txt", *words, "--colour"])
    error = capsys.readouterr().err
    assert "unknown argument '--colour'; did you mean" in error
    assert "'--no-color'" in error


def test_verbose(files, capsys):
    words = ["evaluate", str(files / "qrels.txt"), str(files / "good.run"), "-m", "rr"]
    assert main([*words, "-v"]) == 0
    assert "relevant if grade >= 1" in capsys.readouterr().out
    assert main(words) == 0
    *_, last = capsys.readouterr().out.splitlines()
    assert last == "2 judged queries; rankstone definitions (-v for all)"


def test_no_wider_than_the_terminal(files, monkeypatch, capsys):
    """Runs are rows where they are too many to be columns; where that is too wide too, the table has parts."""
    runs = [f"a-run-with-number-{n}={files / 'good.run'}" for n in range(5)]
    words = ["evaluate", str(files / "qrels.txt"), *runs, "-m", "rr,ap"]
    monkeypatch.setenv("COLUMNS", "40")
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["run", "rr", "ap"]
    assert lines[2].split() == ["a-run-with-number-0", "0.7500", f"{2 / 3:.4f}"]
    for width, name, heads in (
        ("33", "a-run-with-number-0", [["run", "rr", "ap"]]),
        ("30", "a-run-wi\u2026umber-0", [["run", "rr", "ap"]]),
        ("20", "a-run\u2026er-0", [["run", "rr"], ["run", "ap"]]),
    ):
        monkeypatch.setenv("COLUMNS", width)
        assert main(words) == 0
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= int(width)
        assert [line.split() for line in lines if line.startswith("run ")] == heads
        assert lines[2].split()[0] == name
    monkeypatch.delenv("COLUMNS")
    assert main(words) == 0
    assert capsys.readouterr().out.splitlines()[0].split()[1] == "a-run-with-number-0"


# -- columns -------------------------------------------------------------------------------------------------


@pytest.fixture
def tables(tmp_path):
    (tmp_path / "truth.csv").write_text("asked,chunk,stars\n1,a,1\n1,b,2\n")
    (tmp_path / "run.csv").write_text("asked,found,sure\n1,x,3\n1,b,2\n")
    (tmp_path / "both.csv").write_text("userid,itemid,score,relscore\n1,1,10,5\n1,3,8,2\n1,2,6,4\n1,6,2,1\n1,4,1,3\n")
    (tmp_path / "bare.tsv").write_text("9\t1\t3\tb\t5\n9\t1\t2\ta\t5\n")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ["truth.csv", "run.csv", "--columns", "query=asked", "truth.item=chunk", "grade=stars", "run.item=found",
         "score=sure"],
        ["--columns", "truth.query=asked", "run.query=asked", "truth.item=chunk", "truth.grade=stars",
         "run.item=found", "run.score=sure", "truth.csv", "run.csv"],
        ["--columns", "query=asked", "--columns", "truth.item=chunk", "--columns", "run.item=found", "truth.csv",
         "run.csv", "--columns", "grade=stars", "--columns", "score=sure"],
    ],
)  # fmt: skip
def test_columns_by_side(tables, monkeypatch, capsys, words):
    monkeypatch.chdir(tables)
    assert main(["evaluate", *words, "-m", "rr", "--format", "csv"]) == 0
    assert capsys.readouterr().out == f"metric,run\nrr,{1 / 2}\n".replace("run", "run.csv", 1)


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (["truth.csv", "one.run", "--columns", "query=asked", "item=chunk", "grade=stars"], 1 / 2),
        (["truth.csv", "one.run", "--columns", "query=asked", "item=chunk", "truth.grade=stars"], 1 / 2),
        (["one.qrels", "run.csv", "--columns", "query=asked", "item=found", "score=sure"], 1 / 2),
    ],
)
def test_columns_beside_a_file_that_has_none(tables, monkeypatch, capsys, words, value):
    monkeypatch.chdir(tables)
    (tables / "one.run").write_text("1 Q0 x 1 3 t\n1 Q0 b 2 2 t\n")
    (tables / "one.qrels").write_text("1 0 b 1\n")
    assert main(["evaluate", *words, "-m", "rr", "--format", "csv"]) == 0
    assert capsys.readouterr().out.endswith(f"rr,{value}\n")
    assert main(["explain", *words, "rr", "-q", "1"]) == 0
    assert f"rr of query '1': {value:.4f}" in capsys.readouterr().out
    other = "score=x" if words[0] == "truth.csv" else "grade=x"
    assert main(["evaluate", *words, other]) == 2  # nobody has it
    assert "--columns goes with csv" in capsys.readouterr().err


def test_columns_by_position(tables, monkeypatch, capsys):
    monkeypatch.chdir(tables)
    roles = ["query=asked", "item=chunk", "grade=stars", "run.query=1", "run.item=3", "run.score=2"]
    assert main(["evaluate", "truth.csv", "bare.tsv", "--columns", *roles, "-m", "rr", "--format", "csv"]) == 0
    assert capsys.readouterr().out == "metric,bare\nrr,1\n"


@pytest.mark.parametrize("role", ["colour=x", "truth.score=x", "side.item=x", "item"])
def test_roles_that_there_are_not(tables, capsys, role):
    assert main(["evaluate", str(tables / "truth.csv"), str(tables / "run.csv"), "--columns", role]) == 2
    assert "the roles are " in capsys.readouterr().err or role == "item"


def test_one_table_for_both_sides(tables, capsys):
    """The table of Hivemall's document: 5 and 2 are found first of 5, 4, 3, 2, 1."""
    assert main(["evaluate", str(tables / "both.csv"), "-m", "ndcg@2", "--format", "csv"]) == 0
    name, value = capsys.readouterr().out.split()[1].split(",")
    assert (name, float(value)) == ("ndcg@2", pytest.approx((5 + 2 / log2(3)) / (5 + 4 / log2(3))))
    words = ["--columns", "query=asked", "item=chunk", "grade=stars"]
    assert main(["evaluate", str(tables / "truth.csv"), *words]) == 2
    assert "has no score column, so it is not both the truth and the run; give a run too" in capsys.readouterr().err


def test_what_was_seen_before(tables, monkeypatch, capsys):
    """Without x, which question 1 has seen, b is first."""
    monkeypatch.chdir(tables)
    roles = ["--columns", "query=asked", "truth.item=chunk", "grade=stars", "run.item=found", "score=sure"]
    words = ["evaluate", "truth.csv", "run.csv", *roles, "-m", "rr", "--format", "csv"]
    (tables / "train.csv").write_text("asked,chunk\n1,x\n")
    assert main(words) == 0
    assert capsys.readouterr().out.endswith(f"rr,{1 / 2}\n")
    assert main([*words, "--exclude", "train.csv"]) == 0
    assert capsys.readouterr().out.endswith("rr,1\n")
    (tables / "train.csv").write_text("query,item\n1,x\n")
    plain = ["evaluate", "one.qrels", "one.run", "--exclude", "train.csv", "-m", "rr", "--format", "csv"]
    (tables / "one.qrels").write_text("1 0 b 1\n")
    (tables / "one.run").write_text("1 Q0 x 1 3 t\n1 Q0 b 2 2 t\n")
    assert main(plain) == 0
    assert capsys.readouterr().out.endswith("rr,1\n")


def test_chunks_and_unjudged_items(tmp_path, monkeypatch, capsys):
    """x#1, which nobody judged, is first; a's second chunk leaves the list."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.qrels").write_text("1 0 a 1\n")
    (tmp_path / "one.run").write_text("1 Q0 x#1 1 3 t\n1 Q0 a#1 2 2 t\n1 Q0 a#2 3 1 t\n")
    (tmp_path / "parents.csv").write_text("chunk,document\nx#1,x\na#1,a\na#2,a\n")
    words = ["evaluate", "one.qrels", "one.run", "-m", "ap,precision", "--format", "csv", "--parent"]
    for parent in ("#", "parents.csv"):
        assert main([*words, parent]) == 0
        assert capsys.readouterr().out == f"metric,one\nap,{1 / 2}\nprecision,{1 / 2}\n"
    assert main(["evaluate", "one.qrels", "one.run", "-m", "ap", "--parent", "#", "--bounds"]) == 0
    assert capsys.readouterr().out.splitlines()[2].split() == ["ap", "0.5000", "0.5000", "1.0000"]
    both = ["evaluate", "one.qrels", "a=one.run", "b=one.run", "-m", "ap", "--parent", "#", "--bounds"]
    assert main(both) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[2].split() == ["ap", *["0.5000", "[0.5000", "1.0000]"] * 2]
    assert "in square brackets: the range of the mean" in shown
    assert main([*words, "#", "-s", "unjudged=condensed"]) == 0
    assert capsys.readouterr().out == "metric,one\nap,1\nprecision,1\n"
    assert main([*words, "#", "--bounds", "--per-query"]) == 2
    assert "--bounds goes with means" in capsys.readouterr().err


# -- what went wrong -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["evaluate", "truth.csv", "run.csv"], "name it: --columns query=...; or positions, if this is no header line: "
         "--columns query=0 item=1 ...\n"),
        (["evaluate", "both.csv", "bare.tsv"], "pass --columns query=0 item=1 score=2\n"),
        (["evaluate", "qrels.txt", "bad.run", "--by", "country"], "--by goes with csv"),
        (["evaluate", "qrels.txt", "odd"], "pass --from-format, one of trec, csv"),
        (["explain", "qrels.txt", "bad.run", "ap"], "pass --query\n"),
        (["evaluate", "qrels.txt", "bad.run", "-m", "bpref", "-s", "ties=expected"], "choose -s ties= another of"),
        (["evaluate", "qrels.txt", "bad.run", "-m", "ap", "-s", "averaging=one_list"],
         "ap: with -s averaging=one_list, items of all queries cannot be ordered by -s ties=item_desc"),
    ],
)  # fmt: skip
def test_errors_speak_the_commands_language(files, tables, monkeypatch, capsys, words, told):
    """They name options, not keywords of Python; and as one of them mends it, the usage was bad."""
    monkeypatch.chdir(files)
    (files / "odd").write_text("zzz\n")
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert told in err
    assert err.startswith("rankstone: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", ["by=x", "columns={'query':'a'}", "ties='input'", "weights=2"])
def test_ids_are_printed_as_they_are(tmp_path, capsys, name):
    """An id that looks like an argument of Python is no option, next to an argument that is one."""
    qrels, run = tmp_path / "a.qrels", tmp_path / "a.run"
    qrels.write_text(f"{name} 0 {name} 1\nq 0 a 1\n")
    run.write_text(f"{name} Q0 a 1 2 t\n{name} Q0 a 2 1 t\n")
    assert main(["explain", str(qrels), str(run), "ap", "-s", "duplicates=best"]) == 2
    assert capsys.readouterr().err == f"rankstone: there are 2 queries, such as {name!r}, 'q'; pass --query\n"
    qrels.write_text(f"{name} 0 {name} 1\n{name} 0 {name} 1\n")
    assert main(["evaluate", str(qrels), str(run)]) == 1
    err = capsys.readouterr().err
    assert f"query {name!r}" in err
    assert f"item {name!r}" in err


def test_metrics_keep_their_parameters_in_errors(capsys):
    assert main(["define", "ap(divisor='min(relevant,k)', ties='expected')@5x"]) == 2
    assert "ap(divisor='min(relevant,k)', ties='expected')@5x" in capsys.readouterr().err


def test_a_format_can_be_named(files, capsys):
    """A run whose name says something else."""
    (files / "run.csv").write_text(RUN)
    words = [str(files / "qrels.txt"), str(files / "run.csv")]
    for form in ("trec", "run=trec"):
        assert main(["evaluate", *words, "--from-format", form, "-m", "rr", "--format", "csv"]) == 0
        assert capsys.readouterr().out.endswith("rr,0.75\n")
        assert main(["identify", *words, "rr=0.75", "--from-format", form]) == 0
        assert re.match(r"rr = 0\.75: [1-9]\d* matches", capsys.readouterr().out)
        assert main(["explain", *words, "rr", "-q", "q2", "--from-format", form]) == 0
        assert "rr of query 'q2': 0.5000" in capsys.readouterr().out
    assert main(["evaluate", *words, "--from-format", "left=trec"]) == 2
    assert "write truth=trec or run=trec" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["evaluate", "qrels.txt", "good.run", "-m", "ndgc@10"], "did you mean 'ndcg@10'?"),
        (["evaluate", "qrels.txt", "good.run", "-c", "trec-eval"], "did you mean 'trec_eval'"),
        (["evaluate", "qrels.txt", "good.run", "-s", "tresholt=exp2"], "did you mean 'threshold'?"),
        (["evaluate", "qrels.txt", "good.run", "-s", "gain"], "write it as NAME=VALUE"),
        (["evaluate", "-", "-"], "only one file can be read from standard input"),
        (["define", "nothing"], "unknown metric 'nothing'"),
        (["conventions", "nothing"], "unknown convention 'nothing'"),
        (["evaluate"], "required"),
        (["evaluate", "qrels.txt", "good.run", "-m", "ap", "-s", "averaging=weighted"], "needs weights"),
    ],
)
def test_bad_usage(files, words, told):
    code, out, err = run(files, *words)
    assert code == 2
    assert out == ""
    assert told in err
    assert "Traceback" not in err


def test_bad_data(files):
    (files / "broken.run").write_text(RUN + "q2 Q0 d 3 abc t\n")
    code, out, err = run(files, "evaluate", "qrels.txt", "broken.run", "-m", "rr")
    assert (code, out) == (1, "")
    assert "broken.run:6" in err
    assert "'abc' is not a number" in err
    assert "Traceback" not in err
    code, _, err = run(files, "evaluate", "qrels.txt", "no.run")
    assert code == 1
    assert "no.run" in err


def test_bad_lines_can_be_skipped(files):
    (files / "broken.run").write_text(RUN + "q2 Q0 d 3 abc t\n")
    code, out, err = run(files, "evaluate", "qrels.txt", "broken.run", "-m", "rr", "--on-error", "skip")
    assert code == 0
    assert "0.7500" in out
    assert "1 bad line" in err


def test_standard_input(files):
    done = subprocess.run(
        [sys.executable, "-m", "rankstone", "evaluate", "qrels.txt", "-", "-m", "rr", "--format", "csv"],
        cwd=files, input=RUN, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.endswith("rr,0.75\n")


def test_convert(files, capsys):
    assert main(["convert", str(files / "good.run"), str(files / "good.parquet"), "--kind", "run"]) == 0
    assert main(["evaluate", str(files / "qrels.txt"), str(files / "good.parquet"), "-m", "rr", "--format", "csv"]) == 0
    assert capsys.readouterr().out == "metric,good\nrr,0.75\n"


def test_words_about_metrics_and_conventions(capsys):
    assert main(["metrics"]) == 0
    assert "ndcg@k" in capsys.readouterr().out
    assert main(["metrics", "map"]) == 0
    assert capsys.readouterr().out.startswith("ap@k: ")
    assert main(["conventions"]) == 0
    assert "hivemall" in capsys.readouterr().out
    assert main(["conventions", "trec_eval"]) == 0
    assert "score_precision = 'float32'" in capsys.readouterr().out
    assert main(["define", "ndcg(gain=linear)@10", "-c", "hivemall", "-s", "ties=input"]) == 0
    told = capsys.readouterr().out
    assert told == f"{rs.define(rs.ndcg(gain='linear') @ 10, convention='hivemall', ties='input')}\n"
    assert "DCG with linear gain" in told
    assert "convention hivemall with ties='input'" in told


def test_help_fits_a_screen(files):
    code, out, _ = run(files, "--help")
    assert code == 0
    assert out.count("\n") <= 24
    assert run(files)[0] == 2


def test_trec_eval_is_there(files):
    code, out, err = run(files, "trec_eval", "-m", "recip_rank", "qrels.txt", "good.run")
    assert (code, err) == (0, "")
    assert out == "recip_rank            \tall\t0.7500\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_commands_metrics_and_conventions(capsys, shell):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(word in script for word in ("evaluate", "ndcg", "trec_eval", "per-query", "markdown"))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_a_row(name, capsys):
    """Help, completion and the pages know what the table has."""
    with pytest.raises(SystemExit) if COMMANDS[name].describe or name == "help" else contextlib.nullcontext():
        main([*name.split(), "--help"])
    help_text = capsys.readouterr().out
    assert len(help_text.splitlines()) > 4 or name == "version"
    assert all(f"  {line}\n" in help_text for line in COMMANDS[name].example.splitlines())
    if " " not in name and not COMMANDS[name].in_usage:
        assert main([]) == 2
        listed = rf"^    {name} +{re.escape(COMMANDS[name].summary)}$"
        by_name = rf"^Also: [^.]*\b{name}\b"
        assert re.search(by_name if COMMANDS[name].by_name else listed, capsys.readouterr().out, re.MULTILINE)
    assert main(["completion", "fish"]) == 0
    first, *second = name.split()
    assert re.search(rf"from {first}' -a '.*\b{second[0]}\b" if second else f"-a {name} -d", capsys.readouterr().out)
    pages = [*ROOT.glob("docs/**/*.md"), ROOT / "README.md"]
    assert any(re.search(rf"rankstone {name}[ `]", page.read_text(encoding="utf-8")) for page in pages)


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["evaluate", "-m", "ndc"], ["ndcg"]),
        (["evaluate", "-c", "trec"], ["trec_eval", "trec_eval-9", "trectools", "trec-fair-2022"]),
        (["evaluate", "-s", "tie"], ["ties=", "tied_pairs="]),
        (["evaluate", "-o", ""], []),
        (["evaluate", "q.txt", "--verb"], ["--verbose"]),
        (["trec_eval", "-m", "ndcg_"], ["ndcg_rel", "ndcg_cut"]),
        (["trec_eval", "-m", "map"], ["map", "map_cut", "map_avgjg"]),
        (["trec_eval", "-c", "trec"], []),
        (["completion", "f"], ["fish"]),
        (["metrics", "ndc"], ["ndcg"]),
        (["conv"], ["conventions", "convert"]),
    ],
)
def test_bash_completes(capsys, words, offered):
    assert main(["completion", "bash"]) == 0
    typed = " ".join(f"'{word}'" for word in ("rankstone", *words))
    asked = f'COMP_WORDS=({typed}); COMP_CWORD={len(words)}; _rankstone; echo "${{COMPREPLY[@]}}"'
    script = f"{capsys.readouterr().out}\n{asked}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == offered


def test_other_shells_complete_the_same(capsys):
    assert main(["completion", "zsh"]) == 0
    assert "compinit" in capsys.readouterr().out  # without it zsh has no completion at all
    assert main(["completion", "fish"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("from completion'" in line and "-a 'bash zsh fish'" in line for line in lines)
    measures, flag = (
        [line for line in lines if "from trec_eval'" in line and option in line] for option in ("-s m", "-s c")
    )
    assert " ndcg_cut " in measures[0]
    assert " -a " not in flag[0]


# -- explain and identify ---------------------------------------------------------------------------------------


def test_explain(files, capsys):
    words = ["explain", str(files / "qrels.txt"), str(files / "good.run"), "rr"]
    assert main([*words, "-q", "q2"]) == 0
    out = capsys.readouterr().out
    assert "rr of query 'q2': 0.5000" in out
    assert out.split("\n")[4].split() == ["2", "a", "1", "1", "0.5000"]
    assert main([*words, "--query", "q2", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["ranking"][1]["contribution"] == 1 / 2
    assert main([*words, "-q", "q2", "--format", "csv"]) == 0
    assert capsys.readouterr().out.startswith("rank,item,score,grade,contribution\n1,c,2,-,\n2,a,1,1,0.5000\n")


def test_explain_two_runs(files, capsys):
    runs = [str(files / name) for name in ("good.run", "bad.run")]
    assert main(["explain", str(files / "qrels.txt"), *runs, "rr", "-q", "q1"]) == 0
    line = capsys.readouterr().out.split("\n")[3]
    assert line.split() == ["a", "1", "1", "2", f"{1 / 2 - 1:+.4f}"]


def test_explain_two_conventions(files, capsys):
    words = [
        "explain",
        str(files / "qrels.txt"),
        str(files / "good.run"),
        "ap@2",
        "-c",
        "rankstone",
        "-c",
        "hivemall-0.5",
    ]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert out.split("\n")[3].split() == ["divisor", "relevant", "found", f"{(1 - 1 / 2) / 2:+.4f}", "1"]


def test_identify(files, capsys):
    words = ["identify", str(files / "qrels.txt"), str(files / "good.run")]
    assert main([*words, "ndcg@10=0.6956"]) == 0
    assert capsys.readouterr().out.split("\n")[3].startswith("rankstone, ")
    assert main([*words, "nDCG@10", "=", "69.56", "%", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["matches"][0]["conventions"][0] == "rankstone"


def test_identify_several_numbers(files, capsys):
    words = ["identify", str(files / "qrels.txt"), str(files / "good.run")]
    for reported in (["rr=0.75", "ap = 0.75"], ["rr=0.75,", "ap=0.75"], ["rr=0.75, ap: 75 %"]):
        assert main([*words, *reported]) == 0
        assert capsys.readouterr().out.startswith("definitions that produce all 2 numbers:")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["explain", "qrels.txt", "good.run", "ndgc", "-q", "q1"], "did you mean 'ndcg'?"),
        (["explain", "qrels.txt", "good.run", "rr", "-c", "trec-eval"], "did you mean 'trec_eval'"),
        (["explain", "qrels.txt", "good.run", "bad.run", "good.run", "rr"], "give one run and one or two conventions"),
        (["identify", "qrels.txt", "good.run", "ndcg@10"], "write it like 'ndcg@10 = 0.4704'"),
        (["identify", "qrels.txt", "good.run", "ndcg@10=high"], "cannot read 'ndcg@10=high'"),
        (["identify", "qrels.txt", "good.run", "ndcg@10=0.5", "-s", "tresholt=exp2"], "did you mean 'threshold'?"),
    ],
)
def test_bad_usage_of_explain_and_identify(files, words, told):
    code, out, err = run(files, *words)
    assert (code, out) == (2, "")
    assert told in err


def test_a_query_that_is_not_there(files):
    code, out, err = run(files, "explain", "qrels.txt", "good.run", "rr", "-q", "q9")
    assert (code, out) == (1, "")
    assert "query 'q9' is not in the truth" in err


def test_what_was_shown(files, capsys, monkeypatch):
    monkeypatch.chdir(files)
    (files / "items.csv").write_text("item\na\nb\nc\nd\n")
    (files / "had.csv").write_text("query,item\nq1,a\nq2,a\nq2,c\n")
    side_info = ["--catalogue", "items.csv", "--history", "had.csv"]
    assert main(["evaluate", "good.run", "-m", "coverage@2,unseen@2", *side_info]) == 0  # a run alone
    out = capsys.readouterr().out.split("\n")
    assert out[2].split() == ["coverage@2", f"{2 / 4:.4f}"]
    assert out[3].split() == ["unseen@2", f"{(1 / 2 + 0 / 2) / 2:.4f}"]
    assert "2 lists" in out[5]
    assert main(["evaluate", "qrels.txt", "good.run", "-m", "rr,coverage@1", *side_info]) == 0
    out = capsys.readouterr().out.split("\n")
    assert out[2].split() == ["rr", f"{(1 / 1 + 1 / 2) / 2:.4f}"]
    assert out[3].split() == ["coverage@1", f"{2 / 4:.4f}"]
    assert (
        main(["compare", "qrels.txt", "good.run", "bad.run", "-m", "coverage@2", *side_info, "--html", "page.html"])
        == 0
    )
    assert "coverage@2" in capsys.readouterr().out
    assert "coverage@2" in (files / "page.html").read_text()
    assert main(["evaluate", "good.run", "-m", "coverage@2"]) == 2
    assert "pass --catalogue: the ids of all items" in capsys.readouterr().err


def test_errors_name_the_run_and_the_line(tmp_path, monkeypatch, capsys):
    """Which of several runs, its file, the line of the second row, and what to write."""
    monkeypatch.chdir(tmp_path)
    files = {"q.qrels": "q 0 a 1\n", "a.run": "q Q0 a 1 3 t\n", "c.run": "q Q0 z 1 3 t\n",
             "b.run": "# two\n\nq Q0 a 1 3 t\nq Q0 b 2 2 t\nq Q0 a 3 1 t\n"}  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    said = "B: b.run:5: query 'q': item 'a' appears twice in the run; -s duplicates=first counts one of them"
    for command in ("evaluate", "compare"):
        assert main([command, "q.qrels", "A=a.run", "B=b.run", "-m", "rr"]) == 1
        assert said in capsys.readouterr().err
    assert main(["evaluate", "q.qrels", "A=a.run", "B=b.run", "-m", "rr", "-s", "duplicates=first"]) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert main(["evaluate", "q.qrels", "A=a.run", "C=c.run", "-m", "rr"]) == 0
    assert "C: no returned item is judged" in capsys.readouterr().err
    with pytest.raises(rs.errors.DataError, match=r"^y: query 'q': item 'a' appears twice") as caught:
        rs.compare({"q": ["a"]}, {"x": {"q": ["a"]}, "y": {"q": ["a", "a"]}}, "rr")
    assert (caught.value.kind, caught.value.item) == ("twice", "a")
