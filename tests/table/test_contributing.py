"""CONTRIBUTING's steps, followed to the letter with its own examples: every table of tests holds for what they add."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# For each section of the guide: the files its blocks of code go into, the tests to run, and how many must pass by name.
GUIDE = {
    "Add a metric": (
        ("src/rankstone/metrics/sets.py", "tests/table/slow.py", "tests/metrics/test_sets.py"),
        ("tests/table", "tests/metrics/test_sets.py"),
        {"miss_rate": 16},
    ),
    "Add a rule for tied items": (
        ("src/rankstone/align/ties.py",),
        ("tests/table/test_ties.py",),
        {"group_start": 7},
    ),
    "Add a statistical test": (
        ("src/rankstone/statistics/paired.py", "tests/compare/test_compare.py"),
        ("tests/table/test_rows.py", "tests/examples/test_pages.py", "tests/compare/test_compare.py"),
        {"trimmed_t": 5, "name_every_row": 1, "the_reference": 1},
    ),
    "Add a plot kind": (
        ("src/rankstone/compare/plot_kinds.py", "tests/plots/test_plots.py"),
        ("tests/table/test_rows.py", "tests/plots/test_plots.py"),
        {"superiority": 4, "name_every_plot": 1},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("title", GUIDE)
def test_what_is_added_by_the_guide_holds_everywhere(title, tmp_path):
    files, tests, wanted = GUIDE[title]
    for folder in ("src/rankstone", "tests", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for page in ("CHANGELOG.md", "pyproject.toml", "CONTRIBUTING.md", "README.md", "Makefile", "mkdocs.yml"):
        shutil.copy(ROOT / page, tmp_path / page)
    core = next(Path(__import__("rankstone").__file__).parent.glob("_core*.so"))
    shutil.copy(core, tmp_path / "src" / "rankstone")
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split(f"## {title}\n")[1].split("\n## ")[0]
    for file, code in zip(files, re.findall(r"```py\n(.*?)\n *```", section, re.DOTALL), strict=True):
        with open(tmp_path / file, "a", encoding="utf-8") as out:
            out.write(f"\n\n{textwrap.dedent(code)}\n")
    options = ["-q", "-rA", "-n", "0", "-p", "no:cacheprovider", "-m", "", "-k", " or ".join(wanted)]
    paths = os.pathsep.join([str(tmp_path / "src"), str(tmp_path)])
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-4000:]
    for word, least in wanted.items():
        passed = re.findall(rf"^PASSED .*{word}", ran.stdout, re.MULTILINE)
        assert len(passed) >= least, (word, ran.stdout[-4000:])
