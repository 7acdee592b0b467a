"""Bars for long jobs: in a real terminal, in a real notebook, and nowhere else."""

import os
import pty
import re
import subprocess
import sys

import pytest

from rankstone import progress as bars

JOB = """
import time
from rankstone.progress import watched

def work(name, unit, total):
    with watched(name, unit) as progress:
        for done in range(1, 36):
            progress(done, total)
            with watched("within"):
                time.sleep(0.1)

work({name!r}, {unit!r}, {total})
"""


def run_in_terminal(code, **environment):
    """What a program writes to a terminal."""
    ours, theirs = pty.openpty()
    job = subprocess.Popen(
        [sys.executable, "-c", code], stderr=theirs, stdout=theirs, stdin=theirs, close_fds=True,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", **environment},
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # Linux says so when the other side has closed
            break
        if not part:
            break
        seen += part
    os.close(ours)
    assert job.wait() == 0, seen.decode()
    return re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", seen.decode())


def job(name="counting", unit="", total="35"):
    return JOB.format(name=name, unit=unit, total=total)


def test_a_bar_after_two_seconds():
    seen = run_in_terminal(job())
    shares = [int(share) for share in re.findall(r"(\d+)%", seen)]
    assert shares == sorted(shares)
    assert 55 <= shares[0] <= 75  # two of three and a half seconds
    assert "counting" in seen
    assert "within" not in seen


def test_a_total_that_is_not_known_and_a_name_that_looks_like_markup():
    seen = run_in_terminal(job("reading [red]x[/red].run", "definitions", "None"))
    assert "reading [red]x[/red].run" in seen
    assert re.search(r"\b2\d definitions", seen)


def test_nothing_where_it_is_not_wanted():
    assert run_in_terminal(job(), RANKSTONE_PROGRESS="off") == ""


def test_nothing_in_a_pipe():
    done = subprocess.run([sys.executable, "-c", job()], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_a_short_job_draws_nothing(monkeypatch):
    monkeypatch.setattr(bars, "_visible", lambda: True)
    with bars.watched("short") as progress:
        assert list(progress.of("ab", 2)) == ["a", "b"]
    assert (progress.done, progress.total) == (2, 2)
    assert "rich.progress" not in sys.modules or not bars._shown.locked()


def test_an_error_inside_comes_out_and_the_next_job_is_seen(monkeypatch):
    monkeypatch.setattr(bars, "_visible", lambda: True)
    with pytest.raises(KeyError, match="inside"), bars.watched("failing"):
        raise KeyError("inside")
    assert not bars._shown.locked()


@pytest.mark.slow
def test_a_notebook_shows_a_widget():
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipywidgets")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(job())])
    nbclient.NotebookClient(book, timeout=60, kernel_name="python3").execute()
    outputs = book.cells[0].outputs
    assert [one for one in outputs if "application/vnd.jupyter.widget-view+json" in one.get("data", {})], outputs
    assert not [one for one in outputs if one.output_type == "error"]
