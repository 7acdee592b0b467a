"""Pinned queries: in a gate file, of a baseline, as rag-contract has them; and gates as tests of pytest."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import rankstone as rs
from rankstone.cli.commands import main
from rankstone.compare.pins import pins_of, toml_of
from rankstone.errors import GatesError

SOURCE = Path(rs.__file__).parents[1]
MAIN = {"refund policy": ["faq", "doc_refund", "c"], "plans": ["a", "b", "c"], "jobs": [], "7": ["x"]}
NEW = {
    "refund policy": ["a", "b", "c", "d", "e", "f", "doc_refund"],
    "plans": ["b", "a", "d"],
    "jobs": ["z", "y"],
    "7": ["x"],
}


def pinned(*pins, **more):
    return rs.check({"candidate": NEW, "baseline": MAIN, "pin": list(pins), **more})


@pytest.mark.parametrize(
    ("pin", "verdict", "sentence"),
    [
        ({"query": "refund policy", "item": "doc_refund", "within": 3}, "failed", "doc_refund is at 7, was at 2"),
        ({"query": "refund policy", "item": "doc_refund", "within": 7}, "passed", "doc_refund is at 7, was at 2"),
        ({"query": "refund policy", "item": "doc_refund"}, "passed", "doc_refund is at 7, was at 2"),
        ({"query": "refund policy", "item": "faq"}, "failed", "faq is not in the list, was at 1"),
        ({"query": "plans", "items": ["a", "d"], "within": 2}, "passed", "a is at 2, was at 1"),
        ({"query": "plans", "items": ["a", "d"], "within": 2, "all": True}, "failed", "d is at 3, was not in it"),
        (
            {"query": "plans", "items": ["a", "b"], "within": 2, "all": True},
            "passed",
            "a is at 2, was at 1; b is at 1,",
        ),
        ({"query": "plans", "items": ["c", "d"], "within": 1}, "failed", "c is not in the list, was at 3; d is at 3"),
        ({"query": "jobs", "empty": True}, "failed", "has 2 items, z is at 1, had none"),
        ({"query": "offices", "item": "a", "within": 1}, "failed", "the run does not have this query"),
        ({"query": 7, "item": "x", "within": 1}, "passed", "7: x is at 1"),
    ],
)
def test_pins(pin, verdict, sentence):
    checks = pinned(pin)
    (outcome,) = checks.pins
    assert (outcome.verdict, checks.verdict) == (verdict, verdict)
    assert outcome.sentence.startswith(f"{pin['query']}: ")
    assert sentence in outcome.sentence


def test_an_empty_list_holds_its_pin():
    checks = rs.check({"candidate": {"jobs": [], "x": ["a"]}, "pin": [{"query": "jobs", "empty": True}]})
    assert checks.passed
    assert checks.pins[0].sentence == "jobs: has no items"


def test_pins_and_gates_are_one_verdict():
    gate, pin = {"metric": "rr", "at_least": 0.4}, {"query": "plans", "item": "a", "within": 1}
    truth = {"plans": ["a"]}
    assert rs.check({"truth": truth, "candidate": NEW, "gate": [gate]}).exit_code == 0
    assert pinned(pin, truth=truth, gate=[gate]).exit_code == 3
    assert pinned({**pin, "severity": "warn"}, truth=truth, gate=[gate]).exit_code == 0
    text = str(pinned(pin, {"query": "7", "item": "x"}, truth=truth, gate=[gate]))
    assert text.startswith("FAILED: 2 passed, 1 failed")
    assert ["failed", "pin", "a within 1", "plans: a is at 2, was at 1"] in [
        re.split("  +", row) for row in text.split("\n")
    ]
    assert "passed   pin     1 of 2 pinned queries" in text


def test_ties_are_broken_as_the_convention_does():
    run = {"q": {"a": 1.0, "b": 1.0}}
    pin = {"query": "q", "item": "a", "within": 1}
    assert rs.check({"candidate": run, "pin": [pin]}).verdict == "failed"  # the larger id comes first
    assert rs.check({"candidate": run, "pin": [pin], "choices": {"ties": "item_asc"}}).verdict == "passed"


@pytest.mark.parametrize(
    ("pin", "message"),
    [
        ({"item": "a"}, "pin 1: it has no query"),
        ({"query": "q"}, r"pin 1 \(q\): it has no condition; give item or items, with within, or empty = true"),
        ({"query": "q", "item": "a", "items": ["b"]}, "it has item and items; give item or items"),
        ({"query": "q", "item": "a", "withn": 3}, "unknown key 'withn'; did you mean 'within'"),
        ({"query": "q", "item": "a", "within": 0}, "within = 0; give a whole number from 1"),
        ({"query": "q", "item": "a", "within": True}, "within = True; give a whole number from 1"),
        ({"query": "q", "items": "a"}, "items = 'a'; write a list of ids"),
        ({"query": "q", "items": []}, "write a list of ids"),
        ({"query": "q", "empty": True, "within": 2}, "it has empty and within"),
        ({"query": "q", "empty": False}, "empty = False; write empty = true, or leave it out"),
        ({"query": "q", "items": ["a", "b"], "all": True, "within": 1}, "2 items cannot all be within 1"),
        ("q", r"pin 1: it is no table of keys; write \[\[pin\]\]"),
    ],
)
def test_pins_that_cannot_be(pin, message):
    with pytest.raises(GatesError, match=message):
        pinned(pin)


def test_a_saved_result_has_no_lists(tmp_path):
    rs.evaluate({"plans": ["a"]}, NEW, "rr").write(tmp_path / "new.json")
    pin = {"query": "plans", "item": "a", "within": 2}
    with pytest.raises(GatesError, match="pins need lists, and the candidate is a saved result; give the run"):
        rs.check({"candidate": tmp_path / "new.json", "pin": [pin]})
    checks = rs.check({"candidate": NEW, "baseline": tmp_path / "new.json", "pin": [pin]})
    assert checks.pins[0].sentence == "plans: a is at 2"  # without "was"


def test_annotations_and_junit():
    missing = "the run does not have this query"
    checks = pinned({"query": "50 %, plans", "item": "a"}, {"query": "jobs", "empty": True, "severity": "warn"})
    assert checks.to_github("ci/gates.toml").split("\n") == [
        f"::error file=ci/gates.toml,title=50 %25%2C plans%3A a in the list::50 %25, plans: {missing}",
        "::warning file=ci/gates.toml,title=jobs%3A no items::jobs: has 2 items, z is at 1, had none",
    ]  # fmt: skip
    (suite,) = ElementTree.fromstring(checks.to_junit())
    assert [[case.get("classname"), case[0].tag] for case in suite] == [["pins", "failure"], ["pins", "skipped"]]
    assert json.loads(json.dumps(checks.to_dict()))["pins"][1]["verdict"] == "failed"
    assert pinned({"query": "7", "item": "x"}).to_github() == ""


# -- pins of a baseline --------------------------------------------------------------------------------------


@pytest.mark.parametrize("top", [1, 2, 5])
def test_a_baseline_holds_its_own_pins(tmp_path, top):
    path = tmp_path / "pins.toml"
    path.write_text(toml_of(list(pins_of(MAIN, top))), encoding="utf-8")
    assert rs.check({"candidate": MAIN, "pins": path}).passed
    failed = {pin.query for pin in rs.check({"candidate": NEW, "baseline": MAIN, "pins": path}).pins if
              pin.verdict == "failed"}  # fmt: skip
    assert failed == {"refund policy", "plans", "jobs"} - ({"plans"} if top == 2 else set())


def test_ids_with_marks_are_read_back(tmp_path):
    ids = ['say "hi"\\', "tab\tnew\nline", "\x7f\x01", "ä 🙂"]
    run = {query: [query, "b"] for query in ids}
    path = tmp_path / "pins.toml"
    path.write_text(toml_of(list(pins_of(run, 2))), encoding="utf-8")
    checks = rs.check({"candidate": run, "pins": path})
    assert checks.passed
    assert [pin.query for pin in checks.pins] == ids


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rs.write_run({query: items for query, items in MAIN.items() if " " not in query and items}, "main.run")
    rs.write_run({query: items for query, items in NEW.items() if " " not in query}, "new.run")
    assert main(["pin", "main.run", "--top", "1", "-o", "pins.toml"]) == 0
    assert main(["pin", "main.run", "--top", "2", "--within", "4", "--queries", "plans"]) == 0
    assert capsys.readouterr().out == ('[[pin]]\nquery = "plans"\nitems = ["a", "b"]\nall = true\nwithin = 4\n\n')
    assert main(["check", "--pins", "pins.toml", "--candidate", "main.run"]) == 0
    assert main(["check", "--pins", "pins.toml", "--candidate", "new.run", "--baseline", "main.run", "--github"]) == 3
    assert "::error title=plans%3A a within 1::plans: a is at 2, was at 1" in capsys.readouterr().out
    assert main(["pin", "main.run", "--queries", "nope"]) != 0
    assert main(["pin", "main.run", "--top", "0"]) != 0


def test_rag_contract(tmp_path):
    """Its file is truth and pins; `must_rank_at_most` is for the best of the relevant documents."""
    rows = [
        {"id": "g1", "query": "refunds", "relevant_doc_ids": ["r1", "r2"], "must_rank_at_most": 2},
        {"id": "g2", "query": "cancel", "relevant_doc_ids": ["c1"]},
    ]
    golden = tmp_path / "golden.jsonl"
    golden.write_text("\n".join(map(json.dumps, rows)))
    gates = {"truth": golden, "pins": golden, "gate": [{"metric": "recall@5", "at_least": 0.1}]}
    held = rs.check({**gates, "candidate": {"g1": ["x", "r2"], "g2": ["c1"]}})
    assert [pin.rule for pin in held.pins] == ["any of r1, r2 within 2"]
    assert held.passed
    assert held.candidate["recall@5"] == (1 / 2 + 1) / 2
    assert not rs.check({**gates, "candidate": {"g1": ["x", "y", "r2"], "g2": ["c1"]}}).passed
    rows[0]["must_rank_at_most"] = "2"
    golden.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(GatesError, match=r"golden.jsonl: pin 1 \(g1\): within = '2'; give a whole number"):
        rs.check({**gates, "candidate": NEW})


# -- tests of pytest -----------------------------------------------------------------------------------------

GATES = """
truth = "gold.csv"
candidate = "new.csv"

[[gate]]
metric = "rr"
at_least = 0.4

[[gate]]
metric = "recall@5"
at_least = 0.9

[[gate]]
metric = "rr"
at_least = 0.99
severity = "warn"

[[pin]]
query = "q1"
item = "a"
within = 1
"""


@pytest.fixture
def folder(tmp_path):
    """A folder with gates, and the package as if it were installed: its entry points."""
    (tmp_path / "gold.csv").write_text("query,item\nq1,a\nq2,b\n")
    (tmp_path / "new.csv").write_text("query,item,rank\nq1,x,1\nq1,a,2\nq2,b,1\n")
    (tmp_path / "other.csv").write_text("query,item,rank\nq1,a,1\n")
    (tmp_path / "gates.toml").write_text(GATES)
    about = tmp_path / "site" / "rankstone-0.dist-info"
    about.mkdir(parents=True)
    about.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: rankstone\nVersion: 0\n")
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    (line,) = project.split("[project.entry-points.pytest11]\n")[1].split("\n")[:1]
    about.joinpath("entry_points.txt").write_text("[pytest11]\n" + line.replace('"', "") + "\n")
    return tmp_path


def run_pytest(folder, *words):
    paths = os.pathsep.join([str(folder / "site"), str(SOURCE)])
    environment = {**os.environ, "PYTHONPATH": paths, "NO_COLOR": "1"}
    environment = {name: value for name, value in environment.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rs", "-v", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_each_gate_and_pin_is_a_test(folder):
    ended = run_pytest(folder, "gates.toml")
    assert ended.returncode == 1, ended.stdout
    assert "2 passed, 1 failed, 1 skipped" in ended.stdout or "1 failed, 2 passed, 1 skipped" in ended.stdout
    assert "gates.toml::recall@5 at least 0.9 PASSED" in ended.stdout
    assert "gates.toml::q1: a within 1 FAILED" in ended.stdout
    assert "q1: a is at 2" in ended.stdout
    assert "rr at least 0.99: failed; 0.7500" in ended.stdout  # the reason of what is skipped
    assert "Traceback" not in ended.stdout
    alone = run_pytest(folder, "gates.toml::recall@5 at least 0.9")
    assert "1 passed" in alone.stdout
    other = run_pytest(folder, "gates.toml", "--gates-candidate", "other.csv")
    assert "gates.toml::q1: a within 1 PASSED" in other.stdout
    assert "gates.toml::recall@5 at least 0.9 FAILED" in other.stdout


@pytest.mark.slow
def test_files_are_collected_where_the_configuration_says_so(folder):
    (folder / "test_one.py").write_text(
        "def test_one():\n    import sys\n\n    assert 'rankstone' not in sys.modules\n"
    )
    ended = run_pytest(folder)
    assert "1 passed" in ended.stdout  # and no gate: it was not asked for, and the package was not loaded
    (folder / "pytest.ini").write_text("[pytest]\nrankstone_gates = gates.toml\n")
    (folder / "test_one.py").unlink()
    assert "1 failed, 2 passed, 1 skipped" in run_pytest(folder).stdout


@pytest.mark.slow
def test_errors_are_lines_without_a_traceback(folder):
    (folder / "gates.toml").write_text(GATES.replace("new.csv", "missing.csv"))
    ended = run_pytest(folder, "gates.toml")
    assert "4 failed" in ended.stdout
    assert "missing.csv" in ended.stdout
    assert "Traceback" not in ended.stdout
    (folder / "gates.toml").write_text(GATES.replace("within = 1", "withn = 1"))
    ended = run_pytest(folder, "gates.toml")
    assert "unknown key 'withn'; did you mean 'within'" in ended.stdout
    assert ended.returncode == 2


@pytest.mark.slow
def test_the_plugin_loads_nothing_but_pytest():
    code = "import sys, rankstone_command.pytest_plugin; print({'numpy', 'rankstone', 'scipy'} & set(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                           env={"PYTHONPATH": str(SOURCE)})  # fmt: skip
    assert ended.stdout == "set()\n"
