"""Bars for long jobs: in a real terminal, in a real notebook, and nowhere else."""

import os
import pty
import re
import subprocess
import sys
from unittest import mock

import pytest

from rankstone import progress as bars
from tests.effort import PATIENCE

# Goes on for more than two seconds, and until the bar is drawn where there is one, however busy the machine is.
JOB = """
import time
from rich.live import Live
from rich.progress import Progress
from rankstone import progress as bars

def noted(function, notes, when=lambda: True):
    def call(*given, **named):
        function(*given, **named)
        if when():
            notes.append(function)
    return call

updates, drawn = [], []
Progress.update = noted(Progress.update, updates)
Live.refresh = noted(Live.refresh, drawn, lambda: len(updates) > 1)
start = time.monotonic()

def tenths(progress):
    progress(min(int(10 * (time.monotonic() - start)), 35), {total})

with bars.watched({name!r}, {unit!r}, {ask}) as progress:
    while time.monotonic() - start < 3 or bars._visible() and not drawn:
        tenths(progress)
        with bars.watched("within"):
            time.sleep(0.1)
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


def job(name="counting", unit="", total="35", ask="None"):
    return JOB.format(name=name, unit=unit, total=total, ask=ask)


def test_a_bar_after_two_seconds():
    seen = run_in_terminal(job(ask="tenths"))
    shares = [int(share) for share in re.findall(r"(\d+)%", seen)]
    assert shares == sorted(shares)
    assert shares[0] >= 57  # two of three and a half seconds
    assert "counting" in seen
    assert "within" not in seen


def test_no_later_than_two_seconds():
    over = mock.Mock()
    over.wait.return_value = True
    bars._draw("short", "", bars.Progress(), None, over)
    over.wait.assert_called_once_with(2.0)


def test_a_total_that_is_not_known_and_a_name_that_looks_like_markup():
    seen = run_in_terminal(job("reading [red]x[/red].run", "definitions", "None"))
    assert "reading [red]x[/red].run" in seen
    assert re.search(r"\b\d+ definitions", seen)


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
    assert "rich.progress" not in sys.modules or not bars._drawing.locked()


def test_an_error_inside_comes_out_and_the_next_job_is_seen(monkeypatch):
    monkeypatch.setattr(bars, "_visible", lambda: True)
    with pytest.raises(KeyError, match="inside"), bars.watched("failing"):
        raise KeyError("inside")
    assert not bars._drawing.locked()


@pytest.mark.service("notebook")
def test_a_notebook_shows_a_widget():
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipywidgets")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(job())])
    nbclient.NotebookClient(book, timeout=PATIENCE, kernel_name="python3").execute()
    outputs = book.cells[0].outputs
    assert [one for one in outputs if "application/vnd.jupyter.widget-view+json" in one.get("data", {})], outputs
    assert not [one for one in outputs if one.output_type == "error"]
