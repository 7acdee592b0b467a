"""The command, run as people run it."""

import json
import subprocess
import sys

import pytest

from rankstone.cli.commands import main
from rankstone.cli.progress import Progress

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
    assert head.split() == ["metric", "good.run", "bad.run"]
    assert body.split() == ["rr", "0.7500", f"{(1 / 2 + 0) / 2:.4f}"]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("csv", "metric,good.run\nrr,0.75\n"),
        ("markdown", "| metric | good.run |\n| ------ | -------: |\n| rr     |   0.7500 |\n"),
        (
            "latex",
            "\\begin{tabular}{lr}\n\\hline\nmetric & good.run \\\\\n\\hline\n"
            "rr & 0.7500 \\\\\n\\hline\n\\end{tabular}\n",
        ),
    ],
)
def test_formats(files, capsys, form, expected):
    assert main(["evaluate", str(files / "qrels.txt"), str(files / "good.run"), "-m", "rr", "--format", form]) == 0
    assert capsys.readouterr().out == expected


def test_json_carries_its_definition(files, capsys):
    assert main(["evaluate", str(files / "qrels.txt"), str(files / "good.run"), "-m", "rr", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["good.run"]
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
    assert capsys.readouterr().out == "query,rr\nq1,1.0\nq2,0.5\n"


def test_groups_of_queries(tmp_path, capsys):
    truth, ranked = tmp_path / "truth.csv", tmp_path / "run.csv"
    truth.write_text("user,item,grade,country\n1,7,1,se\n2,7,1,fi\n3,7,1,fi\n")
    ranked.write_text("user,item,score\n1,7,1\n2,8,2\n2,7,1\n3,7,1\n")
    assert main(["evaluate", str(truth), str(ranked), "-m", "rr", "--by", "country", "--format", "csv"]) == 0
    assert capsys.readouterr().out == f"country,rr\nfi,{(1 / 2 + 1 / 1) / 2}\nse,1.0\n"


def test_choices_and_conventions(files, capsys):
    words = ["evaluate", str(files / "qrels.txt"), str(files / "bad.run"), "-m", "precision@5", "--format", "csv"]
    assert main([*words, "-s", "precision_divisor=min(k,retrieved)"]) == 0
    assert capsys.readouterr().out == f"metric,bad.run\nprecision@5,{(1 / 2 + 0) / 2}\n"
    assert main([*words, "-c", "hivemall"]) == 0
    assert capsys.readouterr().out == f"metric,bad.run\nprecision@5,{(1 / 2 + 0) / 2}\n"


def test_output_file(files, capsys):
    target = files / "out.json"
    words = ["evaluate", str(files / "qrels.txt"), str(files / "good.run"), "-m", "rr", "--format", "json"]
    assert main([*words, "-o", str(target)]) == 0
    assert capsys.readouterr().out == ""
    assert json.loads(target.read_text())["good.run"]["means"] == {"rr": 0.75}
    assert main([*words[:-1], "csv", "-o", str(files / "out.csv")]) == 0
    assert json.loads((files / "out.csv.json").read_text()) == json.loads(target.read_text())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["evaluate", "qrels.txt", "good.run", "-m", "ndgc@10"], "did you mean 'ndcg@10'?"),
        (["evaluate", "qrels.txt", "good.run", "-c", "trec-eval"], "did you mean 'trec_eval'?"),
        (["evaluate", "qrels.txt", "good.run", "-s", "gian=exp2"], "did you mean 'gain'?"),
        (["evaluate", "qrels.txt", "good.run", "-s", "gain"], "write it as NAME=VALUE"),
        (["evaluate", "-", "-"], "only one file can be read from standard input"),
        (["define", "nothing"], "unknown metric 'nothing'"),
        (["conventions", "nothing"], "unknown convention 'nothing'"),
        (["evaluate"], "required"),
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
    assert capsys.readouterr().out == "metric,good.parquet\nrr,0.75\n"


def test_words_about_metrics_and_conventions(capsys):
    assert main(["metrics"]) == 0
    assert "ndcg@k" in capsys.readouterr().out
    assert main(["metrics", "map"]) == 0
    assert capsys.readouterr().out.startswith("ap: ")
    assert main(["conventions"]) == 0
    assert "hivemall" in capsys.readouterr().out
    assert main(["conventions", "trec_eval"]) == 0
    assert "score_precision = 'float32'" in capsys.readouterr().out
    assert main(["define", "ndcg@10", "-c", "hivemall", "-s", "gain=linear"]) == 0
    told = capsys.readouterr().out
    assert "sum of grade / log2(rank+1)" in told
    assert "convention hivemall with gain='linear'" in told


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


def test_bash_completes(files, capsys):
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    asked = script + '\nCOMP_WORDS=(rankstone evaluate -m nd); COMP_CWORD=3; _rankstone; echo "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["ndcg"]


class Terminal:
    def __init__(self, tty):
        self.text, self.tty = "", tty

    def isatty(self):
        return self.tty

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@pytest.mark.parametrize("tty", [True, False])
def test_progress_shows_after_a_second_and_only_on_a_terminal(monkeypatch, tty):
    clock = iter([0.0, 0.5, 2.0, 2.01, 4.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    seen = Terminal(tty)
    with Progress("big.run", stream=seen) as progress:
        progress(1_000_000, 8_000_000)
        assert seen.text == ""
        progress(4_000_000, 8_000_000)
        progress(4_000_001, 8_000_000)  # too soon to draw again
    if not tty:
        assert seen.text == ""
        return
    assert seen.text.count("big.run") == 1
    assert " 50% 2.0M rows/s, 0:02 left" in seen.text
    assert seen.text.endswith("\r\x1b[K")


# -- explain and identify ---------------------------------------------------------------------------------------


def test_explain(files, capsys):
    words = ["explain", str(files / "qrels.txt"), str(files / "good.run"), "rr"]
    assert main([*words, "-q", "q2"]) == 0
    out = capsys.readouterr().out
    assert "rr of query 'q2': 0.5000" in out
    assert out.split("\n")[4].split() == ["2", "a", "1", "1", "0.5000"]
    assert main([*words, "--query", "q2", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["ranking"][1]["earned"] == 1 / 2
    assert main([*words, "-q", "q2", "--format", "csv"]) == 0
    assert capsys.readouterr().out.startswith("rank,item,score,grade,earned\n1,c,2,-,\n2,a,1,1,0.5000\n")


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


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["explain", "qrels.txt", "good.run", "ndgc", "-q", "q1"], "did you mean 'ndcg'?"),
        (["explain", "qrels.txt", "good.run", "rr", "-c", "trec-eval"], "did you mean 'trec_eval'?"),
        (["explain", "qrels.txt", "good.run", "bad.run", "good.run", "rr"], "give one run and one or two conventions"),
        (["identify", "qrels.txt", "good.run", "ndcg@10"], "write it like 'ndcg@10 = 0.4704'"),
        (["identify", "qrels.txt", "good.run", "ndcg@10=high"], "cannot read 'ndcg@10=high'"),
        (["identify", "qrels.txt", "good.run", "ndcg@10=0.5", "-s", "gian=exp2"], "did you mean 'gain'?"),
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
