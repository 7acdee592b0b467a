"""Nothing lies in `data/` that no test reads."""

from importlib import import_module
from inspect import signature
from pathlib import Path

import pytest

from .recorded import FOLDER, same


def marked():
    """The files that tests of this folder are marked with, and take: pytest gives them nothing else."""
    for path in Path(__file__).parent.glob("test_*.py"):
        for name, test in vars(import_module(f".{path.stem}", __package__)).items():
            for mark in getattr(test, "pytestmark", []) if name.startswith("test_") else []:
                if mark.name == "recorded" and {"case", "recorded"} & {*signature(test).parameters}:
                    yield mark.args[0]


def test_every_file_is_read():
    assert {path.name for path in FOLDER.iterdir()} == {"README.md", *(f"{name}.gz" for name in marked())}


def test_every_file_has_a_line():
    lines = (FOLDER / "README.md").read_text(encoding="utf-8").splitlines()
    for path in FOLDER.glob("*.gz"):
        assert sum(line.startswith(f"| `{path.name}` |") for line in lines) == 1, path.name


def test_files_do_not_tell_when_they_were_made():
    for path in FOLDER.glob("*.gz"):
        assert path.read_bytes()[4:8] == bytes(4), f"{path.name} has a time: use gzip.compress(data, mtime=0)"


@pytest.mark.parametrize(
    ("found", "expected", "tolerance"),
    [(0.5, 0.25, 0.1), (float("nan"), 0.5, 1), (0.5, "NaN", 1), ([0.5], 0.5, 1), (0.5, [0.5], 1),
     ([0.5], [0.5, 0.5], 1), (1.0, "Infinity", 1), (0.1 + 0.2, 0.3, 0), ([], [0.5], 1), ("0.5", 0.5, 1)],
)  # fmt: skip
def test_the_comparison_can_fail(found, expected, tolerance):
    assert not same(found, expected, tolerance)
