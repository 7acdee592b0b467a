"""Every script in examples/ runs as a user would run it, from any folder."""

import re
import runpy
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from rankstone.cli.commands import main

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = [path for path in sorted(EXAMPLES.glob("*.py")) if not path.name.startswith("train_")]  # those: tests/hooks


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_script_runs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    out = capsys.readouterr().out
    assert out.strip()
    files = list(tmp_path.iterdir())
    assert files == ([tmp_path / "demo.html"] if path.name == "demo.py" else []), "an example leaves no files behind"
    assert all(f"The report: {file}" in out for file in files)


def test_gates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The gates pass; so does the test beside them; the other way round they fail; the README's commands run."""
    folder = EXAMPLES / "gates"
    monkeypatch.chdir(tmp_path)
    gates = str(folder / "gates.toml")
    assert main(["check", gates]) == 0
    runpy.run_path(str(folder / "test_retrieval.py"))["test_the_candidate_is_not_worse"]()
    turned = ["--baseline", str(folder / "candidate.jsonl"), "--candidate", str(folder / "main.run")]
    assert main(["check", gates, *turned]) == 3
    for path in folder.iterdir():
        if path.suffix in (".csv", ".run", ".jsonl", ".toml"):
            shutil.copy(path, tmp_path)
    lines = re.findall(r"^    rankstone (.*)$", (folder / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert [main(line.split()) for line in lines] == [0] * 3
    steps = re.findall(r"rankstone (check .*)$", (folder / "workflow.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert [main(step.split()) for step in steps] == [0]
    assert (tmp_path / "gates.md").exists()


def test_simulation_is_reproducible() -> None:
    simulate = runpy.run_path(str(EXAMPLES / "simulated_films.py"))["simulate"]
    assert simulate(seed=3) == simulate(seed=3)
    assert simulate(seed=4)["truth"] != simulate(seed=3)["truth"]


def test_movielens_as_downloaded(shared, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["movielens.py", str(shared("data/ml-latest-small"))])
    runpy.run_path(str(EXAMPLES / "movielens.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert "training                                   80,001  671 users" in out
    assert "671 judged queries; rankstone definitions, threshold=4" in out
    (popular,) = re.findall(r"^ndcg@10 +popular +([\d.]+)$", out, re.MULTILINE)
    neighbours, difference, verdict = re.findall(r"^ +item-kNN +([\d.]+) +(\S+) +(\w+) ", out, re.MULTILINE)[0]
    assert 0 < float(popular) < float(neighbours)
    assert difference.startswith("+")
    assert verdict == "better"


def test_movielens_recommends_what_was_not_rated() -> None:
    example = runpy.run_path(str(EXAMPLES / "movielens.py"))
    ratings = example["simulate"](users=40, items=60)
    users = set(ratings["user"].to_pylist()[:500])
    rated = set(zip(ratings["user"].to_pylist(), ratings["item"].to_pylist(), strict=True))
    for run in example["recommend"](ratings, np.array(sorted(users))).values():
        assert set(run["query"].tolist()) == users
        assert not rated & set(zip(run["query"].tolist(), run["item"].tolist(), strict=True))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ratings.csv", "userId,movieId,rating,timestamp\n1,1193,5.0,978300760\n"),
        ("ratings.dat", "1::1193::5::978300760\n"),
        ("u.data", "1\t1193\t5\t978300760\n"),
    ],
)
def test_movielens_forms(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    table = runpy.run_path(str(EXAMPLES / "movielens.py"))["read"](tmp_path)
    assert table.to_pylist() == [{"user": 1, "item": 1193, "rating": 5, "time": 978300760}]
