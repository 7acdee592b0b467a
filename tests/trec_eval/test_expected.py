"""The text that trec_eval 10's own check expects, to the last byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankstone.trec_eval import main

QT, RT = "qrels.test", "results.test"
PARAMETERS = (
    "-q -miprec_at_recall..10,.20,.25,.75,.50 -m P.5,7,3 -m recall.20,2000 -m Rprec_mult.5.0,0.2,0.35 "
    "-mutility.2,-1,0,0 -m 11pt_avg..25,.5,.75 -mndcg.1=3,2=9,4=4.5 -mndcg_cut.10,20,23.4 -msuccess.2,5,20"
)
CASES = [
    (f"{QT} {RT}", "out.test"),
    (f"qrels.test.with-comments {RT}", "out.test"),
    ("qrels.comment.test results.comment.test", "out.comment.test"),
    (f"-m all_trec {QT} {RT}", "out.test.a"),
    (f"-m all_trec -q {QT} {RT}", "out.test.aq"),
    (f"-m all_trec -q -c {QT} results.trunc", "out.test.aqc"),
    (f"-m all_trec -q -c -M100 {QT} results.trunc", "out.test.aqcM"),
    (f"-m all_trec -mrelstring.20 -q -l2 qrels.rel_level {RT}", "out.test.aql"),
    (f"-q -m all_trec -Z zscores_file {QT} {RT}", "out.test.aqZ"),
    (f"{PARAMETERS} {QT} {RT}", "out.test.meas_params"),
    ("-m all_prefs -q -R prefs prefs.test prefs.results.test", "out.test.prefs"),
    ("-m all_prefs -q -R prefs prefs.comment.test prefs.results.test", "out.test.prefs"),
    (f"-m all_prefs -q -R qrels_prefs {QT} {RT}", "out.test.qrels_prefs"),
    (f"-m qrels_jg -q -R qrels_jg qrels.123 {RT}", "out.test.qrels_jg"),
    (f"-m qrels_jg -q -R qrels_jg qrels.comments.123 {RT}", "out.test.qrels_jg"),
]


@pytest.mark.parametrize(("arguments", "expected"), CASES, ids=[arguments[-60:] for arguments, _ in CASES])
def test_same_bytes(
    arguments: str,
    expected: str,
    trec_eval_data: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    monkeypatch.chdir(trec_eval_data)
    code = main(arguments.split())
    out, err = capfdbinary.readouterr()
    assert (code, err) == (0, b"")
    assert out == (trec_eval_data / expected).read_bytes()


def test_every_expected_file_is_compared(trec_eval_data: Path) -> None:
    assert {path.name for path in trec_eval_data.glob("out.*")} == {expected for _, expected in CASES}
