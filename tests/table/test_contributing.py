"""CONTRIBUTING's steps for a new metric, followed to the letter with its own example: the whole table holds for it."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def blocks():
    """The blocks of code of the section on adding a metric: the metric, and its slow definition."""
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## Add a metric")[1].split("\n## ")[0]
    return [textwrap.dedent(block) for block in re.findall(r"```py\n(.*?)\n *```", section, re.DOTALL)]


@pytest.mark.slow
def test_a_new_metric_is_one_function_and_its_second_opinion(tmp_path):
    shutil.copytree(ROOT / "src" / "rankstone", tmp_path / "src" / "rankstone")
    shutil.copytree(ROOT / "tests", tmp_path / "tests")
    for page in ("CHANGELOG.md", "pyproject.toml", "CONTRIBUTING.md", "README.md"):
        shutil.copy(ROOT / page, tmp_path / page)
    core = next(Path(__import__("rankstone").__file__).parent.glob("_core*.so"))
    shutil.copy(core, tmp_path / "src" / "rankstone")
    metric, slow = blocks()
    for file, code in (("src/rankstone/metrics/sets.py", metric), ("tests/table/slow.py", slow)):
        with open(tmp_path / file, "a", encoding="utf-8") as out:
            out.write(f"\n\n{code}\n")
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "miss_rate", "tests/table"]
    paths = os.pathsep.join([str(tmp_path / "src"), str(tmp_path)])
    ran = subprocess.run(
        words, cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout[-4000:]
    found = re.search(r"(\d+) passed", ran.stdout)
    assert found, ran.stdout[-2000:]
    assert int(found[1]) >= 15  # names, bounds, definition, pairs, words: as for any other
