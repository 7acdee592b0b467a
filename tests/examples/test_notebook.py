"""The notebook runs, and shows what is saved in it; `python -m tests.examples.test_notebook` saves what it shows."""

import os
import sys
import tempfile
from pathlib import Path

import pytest

import rankstone
from tests.effort import PATIENCE

NOTEBOOK = Path(__file__).parents[2] / "examples" / "decide.ipynb"


def executed(folder):
    """The notebook with the outputs that it has now, without what depends on the machine."""
    import nbclient
    import nbformat

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    # The kernel is another process: it finds what this one finds.
    os.environ["PYTHONPATH"] = str(Path(rankstone.__file__).parents[1])
    os.environ["JUPYTER_PLATFORM_DIRS"] = "1"
    client = nbclient.NotebookClient(notebook, timeout=PATIENCE, kernel_name="python3", record_timing=False)
    client.execute(cwd=str(folder))
    notebook["metadata"]["language_info"] = {"name": "python"}
    return notebook


def outputs(notebook, kind):
    """The outputs of a kind, by the cell."""
    return {
        cell["id"]: "".join(output["data"][kind])
        for cell in notebook["cells"]
        for output in cell.get("outputs", ())
        if kind in output.get("data", {})
    }


@pytest.mark.service("notebook")
def test_the_notebook_runs_and_shows_what_is_saved(tmp_path, monkeypatch):
    pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", "")  # so that it is restored
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "")
    saved, now = nbformat.read(NOTEBOOK, as_version=4), executed(tmp_path)
    assert outputs(saved, "text/plain") == outputs(now, "text/plain")
    assert outputs(saved, "text/html").keys() == outputs(now, "text/html").keys()
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_what_is_saved():
    text = NOTEBOOK.read_text(encoding="utf-8")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.reads(text, as_version=4)
    shown = outputs(notebook, "text/html").values()
    assert sum("<svg" in html for html in shown) == 3
    assert sum("<table" in html for html in shown) == 4
    assert {cell["execution_count"] for cell in notebook["cells"] if cell["cell_type"] == "code"} == {*range(1, 10)}
    assert not any("execution" in cell["metadata"] for cell in notebook["cells"])
    assert str(Path.home()) not in text
    assert "/tmp" not in text
    assert "site-packages" not in text


if __name__ == "__main__":
    import nbformat

    with tempfile.TemporaryDirectory() as folder:
        nbformat.write(executed(folder), NOTEBOOK)
    sys.exit()
