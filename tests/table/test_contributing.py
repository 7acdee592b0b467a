"""CONTRIBUTING's steps, followed to the letter with their own examples: the tests of every row hold for them."""

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


# -- a statistical test and a plot kind ----------------------------------------------------------------------

ADDED = {
    "Add a statistical test": ("src/rankstone/statistics/paired.py", "tests/answers/test_compare.py"),
    "Add a plot kind": ("src/rankstone/answers/plots.py", "tests/pictures/test_plots.py"),
}
READERS = ("name_every_row", "name_every_plot", "the_reference")  # of all rows: the command, errors, the handbook


@pytest.mark.slow
def test_a_new_statistical_test_and_a_new_plot_are_a_row_and_its_case(tmp_path):
    for folder in ("src/rankstone", "tests", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for page in ("CHANGELOG.md", "pyproject.toml", "CONTRIBUTING.md", "README.md", "Makefile", "mkdocs.yml"):
        shutil.copy(ROOT / page, tmp_path / page)
    core = next(Path(__import__("rankstone").__file__).parent.glob("_core*.so"))
    shutil.copy(core, tmp_path / "src" / "rankstone")
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for title, files in ADDED.items():
        section = guide.split(f"## {title}\n")[1].split("\n## ")[0]
        for file, code in zip(files, re.findall(r"```py\n(.*?)\n *```", section, re.DOTALL), strict=True):
            with open(tmp_path / file, "a", encoding="utf-8") as out:
                out.write(f"\n\n{textwrap.dedent(code)}\n")
    wanted = {"trimmed_t": 5, "superiority": 4, **dict.fromkeys(READERS, 1)}
    options = ["-q", "-rA", "-n", "0", "-p", "no:cacheprovider", "-k", " or ".join(wanted)]
    files = [file for _, file in ADDED.values()]
    paths = os.pathsep.join([str(tmp_path / "src"), str(tmp_path)])
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "tests/table/test_rows.py", "tests/examples/test_pages.py", *files],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-4000:]
    for word, least in wanted.items():
        found = re.findall(rf"^PASSED .*{word}", ran.stdout, re.MULTILINE)
        assert len(found) >= least, (word, ran.stdout[-4000:])
