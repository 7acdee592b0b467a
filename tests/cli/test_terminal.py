"""What a person sees in a terminal: colours, hints, help."""

import io
import os
import re
import shlex

import pytest

import rankstone as rs
from rankstone.cli.commands import COMMANDS, main

from .test_leaderboard import task_result

TRUTH = "".join(f"q{number} 0 a 1\n" for number in range(20))


def run_of(item):
    return "".join(f"q{number} Q0 {item} 1 2 x\nq{number} Q0 a 2 1 x\n" for number in range(20))


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.qrels").write_text(TRUTH)
    (tmp_path / "old.run").write_text(run_of("b"))
    (tmp_path / "new.run").write_text(run_of("a").replace("a 2 1", "b 2 1"))
    return "compare", "t.qrels", "old.run", "new.run", "-m", "rr"


class Terminal(io.TextIOWrapper):
    """Standard output that is a terminal, of some encoding."""

    def __init__(self, encoding="utf-8"):
        super().__init__(io.BytesIO(), encoding, write_through=True)

    def isatty(self):
        return True

    @property
    def text(self):
        return self.buffer.getvalue().decode(self.encoding)


@pytest.fixture
def printed(monkeypatch):
    """What a command prints on a terminal."""

    def run(words, encoding="utf-8", **environment):
        terminal = Terminal(encoding)
        with monkeypatch.context() as patch:
            for name in ("NO_COLOR", "TERM", "COLUMNS"):
                patch.delenv(name, raising=False)
            for name, value in environment.items():
                patch.setenv(name, value)
            patch.setattr("sys.stdout", terminal)
            assert main(words) == 0
        return terminal.text

    return run


def test_verdicts_are_coloured_in_a_terminal(files, printed, capsys):
    assert main(files) == 0
    plain = capsys.readouterr().out
    assert "\x1b" not in plain  # no terminal
    coloured = printed(files, COLUMNS="200")
    assert coloured.count("\x1b[32m\u25b2 better\x1b[0m") == 1  # the verdict, not the column of that name
    assert coloured.startswith("\x1b[1mnew is better than old")
    assert "\n\x1b[1mmetric" in coloured
    assert "\x1b[2m20 queries;" in coloured
    for words, environment in ((["--no-color"], {}), ([], {"NO_COLOR": "1"}), ([], {"TERM": "dumb"})):
        assert printed([*files, *words], COLUMNS="200", **environment) == plain


def test_no_marks_where_the_terminal_has_no_letters_for_them(files, printed):
    text = printed(files, "ascii")
    assert "\x1b[32mbetter " in text
    assert "?" not in text
    long = ["compare", "t.qrels", "one=old.run", f"retrieval_model_{'x' * 20}_two=new.run", "-m", "rr"]
    assert re.search(r"retr\w*\?\w*two", printed(long, "ascii", COLUMNS="80"))


def test_the_verdict_and_the_adjusted_p_are_in_the_first_of_two_tables(files, printed):
    words = ["compare", "t.qrels", "popular=old.run", "neighbours=new.run", "-m", "ndcg@10", "--baseline", "popular"]
    lines = printed(words, COLUMNS="80", NO_COLOR="1").split("\n")
    heads = [line.split() for line in lines if line.startswith("metric")]
    assert heads == [
        ["metric", "run", "mean", "difference", "verdict", "95", "%", "interval", "adjusted"],
        ["metric", "run", "p", "better", "same", "worse"],
    ]
    assert max(map(len, lines)) <= 80
    assert re.search("verdict.*adjusted +better +same +worse\n", printed(words, COLUMNS="120", NO_COLOR="1"))


def test_long_names_are_shortened_in_the_middle_and_noted(files, printed):
    long = ["retrieval_model_large_seed_1", "retrieval_model_large_seed_2"]
    words = ["compare", "t.qrels", f"{long[0]}=old.run", f"{long[1]}=new.run", "-m", "ndcg@10"]
    text = printed(words, COLUMNS="80", NO_COLOR="1")
    first, *_ = text.split("metric")[1:]
    assert "adjusted" in first
    assert max(map(len, text.split("\n"))) <= 80
    for name in long:
        short = next(line for line in text.split("\n") if line.endswith(f": {name}")).partition(":")[0]
        assert short in first
        assert "\N{HORIZONTAL ELLIPSIS}" in short
        assert short[0] == "r"
        assert short[-1] == name[-1]
    assert "\N{HORIZONTAL ELLIPSIS}" not in printed(words, COLUMNS="200")


def test_names_that_would_look_the_same_are_not_shortened(files, printed):
    names = [f"retrieval_model_{seed}_large_of_the_year" for seed in (1, 2)]
    words = ["compare", "t.qrels", f"{names[0]}=old.run", f"{names[1]}=new.run", "-m", "ndcg@10"]
    assert "\N{HORIZONTAL ELLIPSIS}" not in printed(words, COLUMNS="80")


@pytest.mark.parametrize("command", ["metrics", "conventions"])
def test_long_lists_fit_the_terminal(command, printed, capsys):
    text = printed([command], COLUMNS="80")
    plain = re.sub(r"\x1b\[\d+m", "", text)
    assert max(map(len, plain.split("\n"))) <= 80
    assert main([command]) == 0
    rows = capsys.readouterr().out
    assert max(map(len, rows.split("\n"))) > 100  # a row each, where there is no terminal
    words = [{word for word in shown.split() if not word.startswith("---")} for shown in (plain, rows)]
    assert words[0] == words[1]


@pytest.mark.parametrize("words", [["metrics", "ndcg"], ["define", "ndcg@10", "ap"]])
def test_prose_fits_the_terminal(words, printed, capsys):
    text = printed(words, COLUMNS="80")
    assert max(map(len, text.split("\n"))) <= 80
    assert main(words) == 0
    whole = capsys.readouterr().out
    assert text.split() == whole.split()
    assert text.count("\n\n") == whole.count("\n\n")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["evaluate", "old.run", "t.qrels"], "this looks like a TREC run; the truth comes first"),
        (["evaluate", "t.qrels", "t.qrels"], "this looks like TREC qrels; the truth comes first"),
        (["evalute"], "did you mean 'evaluate'?"),
    ],
)
def test_hints(files, capsys, words, hint):
    assert main(words) in (1, 2)
    assert hint in capsys.readouterr().err


@pytest.mark.parametrize("name", [name for name, row in COMMANDS.items() if row.describe is not None])
def test_help_has_an_example_and_readable_words(name, capsys):
    with pytest.raises(SystemExit) as end:
        main([*name.split(), "--help"])
    text = capsys.readouterr().out
    assert end.value.code == 0
    assert f"\nExamples:\n  rankstone {name.split()[0]}" in text
    assert text.startswith(f"usage: rankstone {name} ")
    assert text.index("\n\n") < 200  # the usage has what is needed, not all options
    for letter in "MFPXDW":
        assert f" {letter} " not in text.replace("\n", " "), f"a metavar of one letter: {letter}"


MY_METRIC = """
import json, sys

def rr(scores, grades, k):
    ranked = sorted(scores, key=lambda item: (scores[item], item), reverse=True)[:k]
    return next((1 / rank for rank, item in enumerate(ranked, 1) if grades.get(item, 0) >= 1), 0)

for line in sys.stdin:
    question = json.loads(line)
    truth, run = question["truth"], question["run"]
    values = [rr(run.get(query, {}), truth[query], question["k"]) for query in truth]
    print(sum(values) / len(values), flush=True)
"""
EXAMPLES = [line for row in COMMANDS.values() for line in row.example.splitlines()]


@pytest.fixture
def example_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text(TRUTH.replace("q", "10"))
    for name, grades in (("human", "10"), ("llm", "11")):
        lines = (f"10{query} 0 {item} {grade}\n" for query in "123" for item, grade in zip("bc", grades, strict=True))
        (tmp_path / f"{name}.qrels").write_text("".join(lines))
    (tmp_path / "to_judge.csv").write_text("query,docid,rating\n10,b,1\n")
    for name, item in (("a.run", "b"), ("b.run", "c"), ("new.run", "c"), ("main.run", "b")):
        (tmp_path / name).write_text(run_of(item).replace("q", "10"))
    (tmp_path / "gates.toml").write_text(
        'truth = "qrels.txt"\nbaseline = "a.run"\ncandidate = "b.run"\n[[gate]]\nmetric = "ap"\nnot_worse_than = 0.1\n'
    )
    (tmp_path / "pins.toml").write_text('[[pin]]\nquery = "101"\nitem = "c"\n')
    (tmp_path / "my_metric.py").write_text(MY_METRIC)
    (tmp_path / "results" / "org__a").mkdir(parents=True)
    (tmp_path / "results" / "org__a" / "T1.json").write_text(task_result("T1", 0.5))
    rs.evaluate("qrels.txt", "a.run").write("a.parquet")
    (tmp_path / "dl19.txt").write_text(TRUTH.replace("q", "10"))
    for folder in ("runs", "dl19"):
        (tmp_path / folder).mkdir()
        for name, item in (("a.run", "b"), ("b.run", "c")):
            (tmp_path / folder / name).write_text(run_of(item).replace("q", "10"))
    rs.evaluate("qrels.txt", "a.run", "rr").write("result.json")
    rs.compare("qrels.txt", {"a": "a.run", "b": "b.run"}, "rr").write("report.html")


@pytest.mark.parametrize("line", EXAMPLES)
def test_examples_of_the_help_run(line, example_files, capsys):
    if line.startswith('rankstone sql "'):
        pytest.importorskip("duckdb")
    assert main(shlex.split(line)[1:]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out or os.path.getsize(line.split()[-1])


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("compare t.qrels old.run new.run --basline old", "argument '--basline'; did you mean '--baseline'?"),
        ("compare t.qrels old.run new.run --test student", "unknown value 'student'; there are t, randomization"),
        ("pool old.run", "required: --depth"),
        ("fuse old.run new.run --method comb_sun", "unknown value 'comb_sun'; did you mean 'comb_sum'"),
    ],
)
def test_what_is_wrong_with_the_words_is_one_line(words, error, files, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(words.split())
    message = capsys.readouterr().err
    assert error in message
    assert message.count("\n") == 1
    assert message.endswith(f" (rankstone {words.split()[0]} --help)\n")


def test_an_unknown_dialect_is_bad_usage(capsys):
    for words in ("sql text -m ap", "sql macros"):
        assert main([*words.split(), "--dialect", "bigqery"]) == 2
        assert "did you mean 'bigquery'?" in capsys.readouterr().err
