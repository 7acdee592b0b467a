"""Files that are read while the program is loaded: the same text and the same errors as if they were read later."""

import subprocess
import sys
import time

import pytest

from rankstone.inputs.source import Align
from rankstone.trec_eval import ahead

TRUTH = {"q1": {"a": 1, "b": 0}, "q2": {"c": 2}}
RUN = {"q1": {"a": 0.5, "x": 0.7}, "q2": {"c": 0.1}}


@pytest.fixture(autouse=True)
def nothing_begun():
    ahead._begun.clear()
    ahead._aligning.clear()
    yield
    ahead._begun.clear()
    ahead._aligning.clear()


def test_what_was_begun_is_used_once(command):
    files = [str(command.qrels(TRUTH)), str(command.results(RUN))]
    later = command("-q", "-m", "all_trec", *files)
    ahead.begin(["-q", "-m", "all_trec", *files])
    assert {path for path, _ in ahead._begun} == {*files}
    while any(parsing._done.locked() for parsing in ahead._begun.values()):
        time.sleep(0.001)
    (command.folder / "results").unlink()
    command.results({"q1": {"a": 9}, "q2": {"c": 9}})  # too late
    assert command("-q", "-m", "all_trec", *files) == later
    assert not ahead._begun
    assert not ahead._aligning
    assert command("-q", "-m", "all_trec", *files) != later


@pytest.mark.parametrize("words", ["-R prefs q r", "--version-like 9 q r", "-v q r", "q", "q -", "--none q r"])
def test_what_is_not_plain_is_not_begun(words):
    ahead.begin(words.split())
    assert not ahead._begun


def test_an_alignment_of_other_columns_or_in_another_way_is_not_used(command):
    files = [str(command.qrels(TRUTH)), str(command.results(RUN))]
    columns = [column for path, shape in zip(files, (ahead.QRELS, ahead.RESULTS), strict=True)
               for part in ahead.parsed(path, shape)[1] for column in part]  # fmt: skip
    for how in (Align(), Align(order="item_asc")):
        ahead.begin(files)
        ahead.go_on(how)
        begun = ahead._aligning[0].result()
        assert begun[1] == how
        assert ahead.align(begun[0], how) is begun[2]
        for others, other in ((tuple(columns), how), (begun[0], Align(float32=True))):
            ahead._aligning.append(ahead.Later(lambda found=begun: found))
            made = ahead.align(others, other)
            assert made is not begun[2]
            assert made.rank.tolist() == begun[2].rank.tolist()
            assert not ahead._aligning


@pytest.mark.parametrize(
    ("qrels", "results"),
    [
        ("q1 0 a 1\n", "q1 Q0 a 1 0.5 tag\nq1 Q0 b 2 0.25 tag\n"),
        ("q1 0 a +1.5\n", "q1 Q0 a 1 inf tag\n"),  # numbers that are read one by one
        ("q1 0 a 1\n", "q1 Q0 a 1 0.5 tag\nq1 Q0 a 2 0.25 tag\n"),  # a document twice
        ("q1 0 a 1\nq1 0 a 0\n", "q1 Q0 a 1 0.5 tag\n"),
        ("q1 0 a one\n", "q1 Q0 a 1 0.5 tag\n"),
        ("q1 0 a 1\n", "q1 Q0 a 1 0.5\n"),
        ("q1 0 a 1\n", ""),
        ("", "q1 Q0 a 1 0.5 tag\n"),
        ("q1 0 a 1\n", None),
        (None, None),
    ],
)
@pytest.mark.parametrize("option", ["-q", "-mutility.1", "-mP.5,5"])
def test_a_command_says_the_same(qrels, results, option, command):
    files = [command.folder / name for name in ("qrels", "results")]
    for path, text in zip(files, (qrels, results), strict=True):
        if text is not None:
            path.write_text(text)

    def ran(*module):
        words = [sys.executable, "-m", *module, option, *map(str, files)]
        done = subprocess.run(words, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    assert ran("rankstone", "trec_eval") == ran("rankstone.trec_eval")
