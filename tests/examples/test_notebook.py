"""The notebook runs from top to bottom, and every cell shows what it should."""

import json
import os
from pathlib import Path

import pytest

from tests.effort import PATIENCE

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.service("notebook")
def test_the_notebook_runs(monkeypatch):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    # The kernel is another process: it finds what this one finds.
    import rankstone

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(rankstone.__file__).parents[1]), str(EXAMPLES)]))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    notebook = nbformat.read(EXAMPLES / "decide.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=PATIENCE, kernel_name="python3").execute(cwd=str(EXAMPLES))
    shown = [
        "".join(output.get("data", {}).get("text/html", "") for output in cell["outputs"])
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]
    assert sum("<svg" in text for text in shown) == 5
    assert sum("<table" in text for text in shown) >= 4
    assert "item-kNN" in shown[4]


def test_it_is_kept_without_outputs():
    cells = json.loads((EXAMPLES / "decide.ipynb").read_text(encoding="utf-8"))["cells"]
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in cells)
