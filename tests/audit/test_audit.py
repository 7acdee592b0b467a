"""`rs.audit`: conventions behind a black box are named again, and defects are found with a small example."""

import json
import math
import os
import random
import re
import shutil
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

import rankstone as rs
from rankstone.audit.audit import _Audit
from rankstone.audit.calling import STYLES, JsonProgram, _compiles
from rankstone.audit.changes import DEFECTS as CHANGES
from rankstone.audit.changes import TRAPS
from rankstone.audit.properties import DEFECTS_OF_IDS, PROPERTIES
from rankstone.cli.commands import main
from rankstone.explain.sweep import presets
from rankstone.metrics.registry import parse_one
from tests.effort import cpu_limit

from .defects import CORRECT, DEFECTS, over_queries

METRICS = ("ndcg@3", "ap", "rr@3", "precision@2", "recall@3", "hit_rate@2", "err@3", "auc")


def black_box(metric, convention, calling):
    """A function that computes a convention's values, for each calling style."""
    evaluator = rs.Evaluator(metric, convention=convention)

    def value(truth, run):
        return evaluator({"q": truth}, {"q": run})[metric]

    return {
        "dicts": lambda truth, run: evaluator(truth, run)[metric],
        "lists": lambda ranked, relevant: value(relevant, ranked),
        "labels": lambda labels: value(dict(enumerate(labels)), list(range(len(labels)))),
        "arrays": lambda y, scores: value(dict(enumerate(y.tolist())), dict(enumerate(scores.tolist()))),
    }[calling]


def defining(metric):
    return list(presets(parse_one(metric, ""), {}))


# Every convention of every metric takes half an hour: RANKSTONE_AUDIT_ALL=1 pytest -m slow tests/audit.
STEP = 1 if os.environ.get("RANKSTONE_AUDIT_ALL") else 25
CASES = [(metric, name) for metric in METRICS for name in defining(metric)][::STEP]
QUICK = [("ndcg@3", name) for name in ("trec_eval", "scikit-learn", "lightgbm", "haystack", "opensearch")] + [
    ("ap", "torchmetrics"), ("rr@3", "mteb"), ("precision@2", "implicit"), ("recall@3", "cornac"),
    ("hit_rate@2", "rectools"), ("err@3", "gdeval"), ("auc", "rankstone"), ("precision@2", "recmetrics"),
    ("err@3", "scikit-learn"),
]  # fmt: skip


def check_named(metric, name, calling):
    report = rs.audit(black_box(metric, name, calling), metric, calling)
    assert name in (report.convention, *report.equivalent), report
    assert report.agreement == 1
    return report


@pytest.mark.parametrize(("metric", "name"), QUICK)
def test_black_boxes_are_named(metric, name):
    assert check_named(metric, name, "dicts").questions <= 200


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "name"), CASES)
def test_every_convention_is_named(metric, name):
    check_named(metric, name, "dicts")


@pytest.mark.slow
@pytest.mark.parametrize("calling", ["lists", "labels", "arrays"])
@pytest.mark.parametrize("name", defining("ndcg@3")[::STEP])
def test_calling_styles_name_conventions(calling, name):
    check_named("ndcg@3", name, calling)


REMEMBERED = """
const { createInterface } = require("readline");
createInterface({ input: process.stdin }).on("line", (line) => {
  const { truth, run, k } = JSON.parse(line);
  const dcg = (gains) => gains.reduce((sum, gain, at) => sum + gain / Math.log2(at + 2), 0);
  const values = Object.keys(run).map((query) => {
    const ranked = Object.entries(run[query]).sort((a, b) => b[1] - a[1]).slice(0, k);
    const gains = ranked.map(([item]) => (truth[query] || {})[item] || 0);
    const best = dcg([...gains].sort((a, b) => b - a));
    return best ? dcg(gains) / best : 0;
  });
  console.log(values.reduce((sum, value) => sum + value, 0) / values.length);
});
"""
QUICK_DEFECTS = ("1 repeated, ndcg", "4 ideal not cut", "13 rank from 0", "15 ties in input order", "25 modified truth")


def check_found(name):
    metric, calling, make, words = DEFECTS[name]
    report = rs.audit(make(), metric, calling)
    found = [finding for finding in report.findings if words in f"{finding.name} {finding.detail}"]
    assert found, report
    assert min(finding.items for finding in found) <= 4
    return report


@pytest.mark.parametrize("name", QUICK_DEFECTS)
def test_planted_defects_are_found(name):
    check_found(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", DEFECTS)
def test_every_planted_defect_is_found(name):
    check_found(name)


@pytest.mark.parametrize("metric", CORRECT)
def test_correct_functions_pass(metric):
    """No finding but what tools do with repeated items, and whose definition it is."""
    report = rs.audit(CORRECT[metric], metric, "lists", expect="trec_eval")
    assert report.verdict == "passed", report
    assert report.convention == "trec_eval"
    assert report.findings == ()
    assert report.exit_code == 0


def read_files(qrels, run):
    sides = ({}, {})
    for path, side, at in ((qrels, sides[0], 3), (run, sides[1], 4)):
        for line in open(path, encoding="utf-8"):  # noqa: SIM115
            words = line.split()
            side.setdefault(words[0], {})[words[2]] = float(words[at])
    return sides


def test_every_style_takes_the_simplest_function():
    """Precision of one list, whatever the arguments are."""

    def of_dicts(truth, run, k):
        return over_queries(CORRECT["precision@3"], truth, run, k)

    def of_files(qrels, run, k):
        return of_dicts(*read_files(qrels, run), k)

    functions = {
        "lists": CORRECT["precision@3"],
        "dicts": of_dicts,
        "labels": lambda labels, k: sum(label >= 1 for label in labels[:k]) / k,
        "arrays": lambda y, scores, k: sum(y[row] >= 1 for row in (-scores).argsort(kind="stable")[:k]) / k,
        "trec files": of_files,
    }
    assert set(functions) == set(STYLES)
    for calling, function in functions.items():
        report = rs.audit(function, "precision@3", calling)
        assert "ranx" in (report.convention, *report.equivalent) or calling in ("dicts", "trec files"), report
        assert report.agreement == 1


def test_a_function_of_files_takes_the_cutoff_by_position():
    def of_files(qrels, run, last):
        return over_queries(CORRECT["rr@3"], *read_files(qrels, run), last)

    assert rs.audit(of_files, "rr@3", "trec files").agreement == 1


def test_adapters_call_the_function():
    report = rs.audit(
        CORRECT["rr@3"], "rr@3", lambda function, question: function(question.ranked, question.truth["q1"], question.k)
    )
    assert any("ties" in finding.choice for finding in report.differences), report  # it asks for the order of rows


def test_arrays_of_one_row_are_tried():
    def of_rows(y, scores):
        assert y.ndim == 2
        return float((y[0] >= 1).any())

    assert rs.audit(of_rows, "hit_rate", "arrays").agreement == 1


def test_precision_of_the_values():
    single = rs.audit(
        lambda ranked, grades, k: float(__import__("numpy").float32(CORRECT["ndcg@3"](ranked, grades, k))), "ndcg@3"
    )
    assert single.convention == "preference-note"  # items credited once, the ideal list cut at k
    assert single.notes == ("the values have single precision",)
    rounded = rs.audit(lambda ranked, grades, k: round(CORRECT["ap@3"](ranked, grades, k), 5), "ap@3")
    assert rounded.agreement == 1
    assert any("rounded" in text for text in (*rounded.notes, *(each.name for each in rounded.differences)))


@pytest.mark.parametrize(
    ("returned", "words"),
    [({}, "no call returned a number; dicts are called f({query: {item: grade}}, {query: {item: score}}[, k])"),
     (1.0, "each call returned 1.0000"), (math.nan, "each call returned NaN")],
)  # fmt: skip
def test_answers_that_say_nothing_name_no_convention(returned, words):
    report = rs.audit(lambda truth, run: returned, "ap", "dicts")
    assert (report.convention, report.notes) == (None, (words,))
    assert report.verdict != "passed"
    assert not any("same item" in finding.name for finding in report.findings)


def test_what_raises_hangs_or_is_random_is_a_finding():
    def raises(ranked, grades, k):
        return len({*ranked[:k]} & {*grades}) / len(grades)

    def slow(ranked, grades, k):
        while not ranked:
            time.sleep(0.001)
        return CORRECT["recall@3"](ranked, grades, k)

    raising = rs.audit(raises, "recall@3").findings
    finding = next(each for each in raising if each.name == "raises")
    assert finding.detail.startswith("ZeroDivisionError")
    assert finding.items == 0
    hanging = rs.audit(slow, "recall@3", seconds=0.05).findings
    assert any(each.name == "takes too long" for each in hanging)
    jumping = rs.audit(lambda ranked, grades, k: random.random(), "recall@3").findings
    assert any(each.name == "not deterministic" for each in jumping)


def test_no_compiler_is_stopped():
    """Numba in the middle of a compilation: to stop it there has ended processes."""
    compiler = {"__name__": "numba.core.compiler", "compiles": _compiles, "frame": sys._getframe}
    assert eval("(lambda: compiles(frame()))()", compiler)
    assert not _compiles(sys._getframe())


def test_expected_conventions_are_gates():
    count = lambda ranked, relevant, k: sum(item in relevant for item in ranked[:k]) / k  # noqa: E731
    assert rs.audit(count, "precision@3", expect="spark").exit_code == 0
    failed = rs.audit(count, "precision@3", expect="lenskit")
    assert failed.exit_code == 3
    assert failed.disagreement > 0
    assert any(each.choice == "divisor" for each in failed.differences)


def test_a_report_has_every_form():
    report = rs.audit(DEFECTS["4 ideal not cut"][2](), "ndcg@2", expect="trec_eval")
    plain = json.loads(json.dumps(report.to_dict()))
    assert plain["verdict"] == "failed"
    assert plain["findings"][0]["items"] <= 4
    assert ElementTree.fromstring(report.to_junit()).get("failures") != "0"
    assert report.findings[0].name in report.render("html")
    assert report.findings[0].name in report.render("markdown")
    assert "not cut" in str(report)
    assert math.isfinite(report.findings[0].value)
    assert report.questions <= 200


def test_the_page_of_traps_has_findings_of_an_audit():
    page = (Path(__file__).parents[2] / "docs" / "explain" / "is-your-ndcg-wrong.md").read_text(encoding="utf-8")
    table = re.search(r"the finding of an audit \| seen in \|\n\|---\|---\|\n((?:\|.*\n)+)", page)
    names = {row.split("|")[1].strip() for row in table[1].splitlines()}
    assert len(names) >= 9
    assert names <= {row.name for row in (*TRAPS, *CHANGES, *PROPERTIES)} | DEFECTS_OF_IDS.keys()


@pytest.mark.service("compilers")
def test_a_program_of_javascript(tmp_path):
    """Its objects sort ids that are whole numbers, which is a finding, and no reason not to be named."""
    if (node := shutil.which("node")) is None:
        pytest.skip("needs node")
    (tmp_path / "metric.js").write_text(REMEMBERED)
    with JsonProgram([node, str(tmp_path / "metric.js")]) as program:
        report = rs.audit(program, "ndcg@10", "dicts")
    assert report.agreement == 1, report
    names = [finding.name for finding in report.findings]
    assert any("first k returned items" in name for name in names)
    assert any(name.startswith("whole numbers as ids") for name in names)


PROGRAM = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    top = asked["run"][: asked["k"]]
    print(sum(asked["truth"].get(item, 0) >= 1 for item in top) / max(len(top), 1), flush=True)
"""


@pytest.mark.parametrize(
    ("name", "begins"),
    [("a.html", "<!DOCTYPE html>"), ("a.xml", "<?xml"), ("a.json", "{"), ("a.md", "| finding"), ("a.txt", "FAILED")],
)
def test_the_ending_of_a_file_is_its_format(name, begins, tmp_path, capsys):
    words = ["audit", "-m", "precision@2", "--calling", "lists", "--expect", "trec_eval", "-o", str(tmp_path / name)]
    assert main([*words, "--", sys.executable, "-c", PROGRAM]) == 3
    text = (tmp_path / name).read_text()
    assert text.startswith(begins)
    assert "precision over the length of the list" in text
    assert capsys.readouterr().out == ""


def test_other_endings_are_refused(tmp_path, capsys):
    words = ["audit", "-m", "precision@2", "-o", str(tmp_path / "a.csv"), "--", sys.executable, "-c", PROGRAM]
    assert main(words) == 2
    assert "a.csv is csv by its name; here there are table, json, junit, html, markdown" in capsys.readouterr().err


def test_wrong_arguments():
    with pytest.raises(ValueError, match="calling='lists of'; choose from 'lists'"):
        rs.audit(len, "ndcg@3", "lists of")
    with pytest.raises(ValueError, match="audit asks about rankings"):
        rs.audit(len, "coverage@3")
    with pytest.raises(ValueError, match="did you mean 'trec_eval'"):
        rs.audit(len, "ndcg@3", expect="trec_evil")
    with pytest.raises(TypeError, match="audit needs a function"):
        rs.audit(3, "ndcg@3")


def test_an_audit_takes_seconds():
    """A function of 50 microseconds, with all properties: a second on an idle machine."""
    with cpu_limit(60):
        rs.audit(CORRECT["ndcg@3"], "ndcg@3", expect="trec_eval")


def test_extensions_and_defects_are_tried_for_each_metric():
    for metric in METRICS:
        audit = _Audit(len, parse_one(metric, ""), "dicts", None, 1.0, 28)
        assert len(audit.changes) > 50
        assert len(audit.pool) > 300
