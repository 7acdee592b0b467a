"""The conformance suite: its files, and programs that pass and fail it."""

import json
import math
import sys
from pathlib import Path

import pytest

import rankstone as rs
from rankstone.audit.conformance import REFUSED, cases, conformance, definitions, files
from rankstone.cli.commands import main

from ..golden.recorded import numbers, read

SUITE = Path(__file__).parents[2] / "docs" / "conformance"
# By Python's own means: precision at k of trec_eval, which reads a line per question.
PROGRAM = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    values = []
    for query, grades in asked["truth"].items():
        scores = asked["run"].get(query, {})
        ranked = sorted(scores, key=lambda item: (scores[item], item.encode()), reverse=True)
        k = asked["k"] or max(len(ranked), 1)
        values.append(sum(grades.get(item, 0) >= 1 for item in ranked[:k]) / k)
    print(sum(values) / len(values) if values else "nan", flush=True)
"""


def asked(metric, definition):
    """The metric of a convention, as a program would compute it."""
    convention = definition.conventions[0]
    own = rs.conventions[convention].choices.get("threshold")  # asked for, it goes with any grades
    choices = {"threshold": own} if own is not None and "threshold" in definition.choices else {}

    def ask(truth, run, k):
        label = f"{metric}@{k}" if k and rs.metrics[metric].declaration.takes_k else metric
        return rs.evaluate(truth, run, label, convention=convention, **choices)[label]

    return ask


def close(ours, written):
    if isinstance(written, dict):
        return ours.keys() == written.keys() and all(close(ours[key], written[key]) for key in written)
    if isinstance(written, list):
        return len(ours) == len(written) and all(map(close, ours, written))
    return ours == written or (isinstance(written, float) and math.isclose(ours, written, rel_tol=1e-10))


def test_the_files_are_those_of_this_version():
    made = dict(files())
    assert {path.name for path in SUITE.glob("*.json")} - {"tools.json"} == made.keys()
    for name, text in made.items():
        assert close(json.loads(text), json.loads((SUITE / name).read_text(encoding="utf-8"))), name
    assert sum(map(len, made.values())) < 1_000_000


def test_conventions_that_differ_are_separated():
    """By the numbers that the tools themselves gave for the same inputs, where they are recorded."""
    recorded = read("rosetta.json")["results"]
    plain = recorded["b_graded"]["ranx"]["ndcg@3"]["agg"]
    place = [case.name for case in cases()].index("grades")
    for each in definitions("ndcg"):
        if "ranx" in each.conventions:
            assert each.expected[place].mean == pytest.approx(numbers(plain), abs=1e-9)
        if "scikit-learn" in each.conventions:  # which has the returned items only
            assert each.expected[place].mean != pytest.approx(numbers(plain), abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["ndcg", "ap", "precision"])
def test_every_convention_passes_its_own_cases_only(metric):
    for each in definitions(metric):
        result = conformance(asked(metric, each), metric, each.conventions[0])
        assert result.verdict == "passed"
        refused = any(expected.mean == REFUSED for expected in each.expected)
        assert refused or result.conventions == each.conventions or set(each.conventions) < set(result.conventions)


def test_a_program(tmp_path, capsys):
    path = tmp_path / "precision.py"
    path.write_text(PROGRAM, encoding="utf-8")
    run = ["conformance", "--run", f"{sys.executable} {path}", "-m", "precision"]
    assert main([*run, "--expect", "rankstone"]) == 0
    assert "PASSED: precision as in rankstone" in capsys.readouterr().out
    path.write_text(PROGRAM.replace("reverse=True", "reverse=False"), encoding="utf-8")
    assert main([*run, "--expect", "rankstone", "--format", "json"]) == 3
    answer = json.loads(capsys.readouterr().out)
    failed = {row["case"] for row in answer["definitions"][0]["failed"]}
    assert {"plain", "ties"} & failed
    assert "no-hit" not in failed  # any order is right


def test_a_program_that_fails(tmp_path, capsys):
    path = tmp_path / "none.py"
    path.write_text("raise SystemExit('no such file')", encoding="utf-8")
    assert main(["conformance", "--run", f"{sys.executable} {path}", "-m", "rr", "--expect", "ranx"]) == 3
    assert "none" in capsys.readouterr().out


def test_the_suite_is_written(tmp_path, capsys):
    assert main(["conformance", "--write", str(tmp_path / "suite")]) == 0
    assert {path.name for path in (tmp_path / "suite").iterdir()} == dict(files()).keys()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "say which program"),
        (["--run", "true"], "say what the program computes"),
        (["--run", "true", "-m", "rr", "--expect", "ranks"], "unknown convention 'ranks'"),
    ],
)
def test_usage(words, problem, capsys):
    assert main(["conformance", *words]) in (1, 2)
    assert problem in capsys.readouterr().err
