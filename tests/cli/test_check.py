"""`rankstone check`: gates in a file or in words, and what it ends with."""

import json
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from rankstone.cli.commands import main

QUERIES = range(1, 61)
CLOSE = ["--candidate", "close.jsonl", "-m", "rr"]
GATES = """
truth = "gold.csv"
baseline = "main.run"
candidate = "new.jsonl"

[[gate]]
metric = "rr"
not_worse_than = 0.1
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A CSV of gold ids, a TREC run, and JSON lines of retrieved ids: one as good, one worse, one that is close."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gold.csv").write_text(
        "query,item,country\n" + "".join(f"{q},d{q},{'fi' if q % 2 else 'se'}\n" for q in QUERIES)
    )
    (tmp_path / "main.run").write_text("".join(f"{q} Q0 d{q} 1 9 t\n" for q in QUERIES))
    (tmp_path / "main.csv").write_text("query,item\n" + "".join(f"{q},d{q}\n" for q in QUERIES))
    for name, falls in {"new": lambda q: False, "worse": lambda q: q % 9, "close": lambda q: q in (5, 6, 7)}.items():
        lines = [json.dumps({"query": q, "retrieved": ["x", f"d{q}"] if falls(q) else [f"d{q}", "x"]}) for q in QUERIES]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    (tmp_path / "gates.toml").write_text(GATES)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ([], 0, "passed   rr      not worse than 0.1  1.0000 to 1.0000: 0.0000"),
        (["--candidate", "worse.jsonl"], 3, "failed   rr      not worse than 0.1  1.0000 to 0.5500: -0.4500 (-0."),
        ([*CLOSE, "--not-worse-than", "0.03"], 4, "inconclusive  rr      not worse than 0.03"),
        ([*CLOSE, "--not-worse-than", "3 %"], 4, "not worse than 3 %"),
        ([*CLOSE, "--not-worse-than", "0.03", "--undecided", "pass"], 0, "inconclusive"),
        ([*CLOSE, "--not-worse-than", "0.03", "--undecided", "fail"], 3, "inconclusive"),
        ([*CLOSE, "--at-least", "0.9"], 0, "0.9750 ("),
        ([*CLOSE, "-m", "recall@5", "--at-least", "0.99"], 3, "failed   rr        at least 0.99"),
        ([*CLOSE, "--at-most", "0.9"], 3, "at most 0.9"),
        (["--baseline", "main.csv"], 0, "passed"),
    ],
)  # fmt: skip
def test_exit_codes(files, capsys, words, code, told):
    assert main(["check", "gates.toml", *words]) == code
    assert told in capsys.readouterr().out


def test_the_first_gate_is_two_lines_away(files, capsys):
    assert main(["evaluate", "gold.csv", "new.jsonl", "-m", "recall@1", "-o", "main.json"]) == 0
    words = ["check", "--truth", "gold.csv", "--baseline", "main.json", "-m", "recall@1", "--not-worse-than", "0.06"]
    assert main([*words, "--candidate", "new.jsonl"]) == 0
    assert main([*words, "--candidate", "worse.jsonl"]) == 3
    assert main([*words, "--candidate", "close.jsonl"]) == 4
    assert main([*words, "--candidate", "worse.jsonl", "--undecided", "pass"]) == 3
    capsys.readouterr()
    assert main([*words, "--candidate", "new.jsonl", "-s", "missing=skip"]) == 1
    err = capsys.readouterr().err
    assert "recall@1 is not the same number in both: missing is 'zero' in baseline, 'skip' in candidate" in err


def test_the_exit_code_is_the_processs(files):
    def ended(*words):
        return subprocess.run(
            [sys.executable, "-m", "rankstone", "check", *words], capture_output=True, check=False
        ).returncode

    assert ended("gates.toml") == 0
    assert ended("gates.toml", "--candidate", "worse.jsonl") == 3


def test_a_closed_pipe_does_not_pass(files):
    """Nobody reads the table; the verdict stands."""
    done = subprocess.Popen(
        [sys.executable, "-m", "rankstone", "check", "gates.toml", "--candidate", "worse.jsonl"], stdout=subprocess.PIPE
    )
    done.stdout.close()
    assert done.wait() == 3


def test_files_are_written(files, capsys):
    words = [
        "check",
        "gates.toml",
        "--candidate",
        "worse.jsonl",
        "--junit",
        "a.xml",
        "--markdown",
        "a.md",
        "--json",
        "a.json",
    ]
    assert main(words) == 3
    first = capsys.readouterr().out
    suite = ElementTree.parse("a.xml").getroot()[0]
    assert (suite.get("failures"), suite[0][0].tag) == ("1", "failure")
    assert (files / "a.md").read_text().startswith("**rankstone check: FAILED: 1 failed**\n\n| verdict |")
    data = json.loads((files / "a.json").read_text())
    assert (data["exit_code"], data["gates"][0]["candidate"]) == (3, pytest.approx(0.55))
    before = [(files / name).read_bytes() for name in ("a.xml", "a.md", "a.json")]
    assert main(words) == 3
    assert capsys.readouterr().out == first
    assert [(files / name).read_bytes() for name in ("a.xml", "a.md", "a.json")] == before


def test_groups_and_columns(files, capsys):
    text = (files / "gold.csv").read_text().replace("query,item", "question,chunk")
    (files / "gold.csv").write_text(text)
    (files / "gates.toml").write_text(
        'truth = "gold.csv"\nbaseline = "main.run"\ncandidate = "worse.jsonl"\n'
        'columns = { truth = { query = "question", item = "chunk" } }\n'
        '[[gate]]\nmetric = "rr"\nby = "country"\nnot_worse_than = 0.1\n'
    )
    assert main(["check", "gates.toml"]) == 3
    assert "0 of 2 groups passed; fi: 1.0000 to 0.5500" in capsys.readouterr().out
    words = ["check", "--truth", "gold.csv", "--baseline", "main.run", "--candidate", "new.jsonl", "-m", "rr"]
    more = ["--columns", "truth.query=question", "truth.item=chunk", "--at-least", "1", "--cluster", "country"]
    assert main([*words, *more]) == 0


@pytest.mark.parametrize(
    ("words", "text", "code", "told"),
    [
        ([], None, 2, "give a file of gates, --pins FILE, or -m METRIC and one of --not-worse-than"),
        (["none.toml"], None, 1, "none.toml: No such file"),
        (["gates.toml", "--not-worse-than", "0.1"], None, 2, "--not-worse-than 0.1: of which metric; give -m"),
        (["gates.toml", "-m", "ndgc", "--at-least", "0.1"], None, 2, "did you mean 'ndcg'"),
        (["gates.toml", "--candidate", "none.run"], None, 1, "none.run"),
        (["gates.toml"], GATES + "severety = 'warn'", 2, "gate 1 (rr): unknown key 'severety'; did you mean"),
        (["gates.toml"], "truth = gold.csv", 2, "gates.toml: is no TOML file"),
        (["gates.toml"], "unknown = 1\n" + GATES, 2, "gates.toml: unknown key 'unknown'"),
        (["gates.toml"], GATES + "by = 'town'", 1, "town"),
        (["--candidate", "new.jsonl", "-m", "rr", "--at-least", "1"], None, 2, "a truth is required"),
        (["--truth", "gold.csv", *CLOSE, "--not-worse-than", "1"], None, 2, "there is no baseline"),
        (["gates.toml", "-m", "rr", "--not-worse-than", "-1"], None, 2, "margin -1.0; give a number from 0"),
        (["gates.toml", "--confidence", "95"], None, 2, "confidence = 95.0; give a number from 0.5 to 1"),
    ],
)  # fmt: skip
def test_what_is_wrong(files, capsys, words, text, code, told):
    if text is not None:
        (files / "gates.toml").write_text(text)
    found = main(["check", *words])
    out, err = capsys.readouterr()
    assert (out, told in err) == ("", True), err
    assert found in (code, 2)
    assert found == code


def test_hostile_ids(files, capsys):
    odd = ["a|b", "<i>x", "&amp;", "`c`"]
    (files / "gold.csv").write_text("query,item\n" + "".join(f'"{odd[q % 4]}{q}",d{q}\n' for q in QUERIES))
    for name, first in (("main.jsonl", "d"), ("new.jsonl", "x")):
        lines = [json.dumps({"query": f"{odd[q % 4]}{q}", "retrieved": [f"{first}{q}", f"d{q}"][: 1 + (first == "x")]})
                 for q in QUERIES]  # fmt: skip
        (files / name).write_text("\n".join(lines))
    (files / "gates.toml").write_text(
        'truth = "gold.csv"\nbaseline = "main.jsonl"\ncandidate = "new.jsonl"\n'
        '[[gate]]\nmetric = "rr"\nlost_queries = 3\n'
    )
    assert main(["check", "gates.toml", "--junit", "a.xml", "--markdown", "a.md"]) == 3
    assert "60 of 60 queries" in capsys.readouterr().out
    text = ElementTree.parse("a.xml").getroot()[0][0][0].text
    assert any(name in text for name in odd)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_know_the_new_words(capsys, shell):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(word in script for word in ("compare", "check", "not-worse-than", "junit", "correction", "bonferroni"))


def test_help_tells_the_exit_codes(capsys):
    for words in ([], ["check"]):
        with pytest.raises(SystemExit):
            main([*words, "--help"])
        assert "3: failed, 4: inconclusive" in " ".join(capsys.readouterr().out.split())
