"""Every script in examples/ runs as a user would run it, from any folder."""

import runpy
import sys
from pathlib import Path

import pytest

import rankstone as rs

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = [path for path in sorted(EXAMPLES.glob("*.py")) if not path.name.startswith("train_")]  # those: tests/hooks


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_script_runs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()
    assert not list(tmp_path.iterdir()), "an example leaves no files behind"


def test_simulation_is_reproducible_and_ranks_the_recommenders() -> None:
    simulate = runpy.run_path(str(EXAMPLES / "demo.py"))["simulate"]
    truth, runs = simulate(seed=3)
    assert simulate(seed=3) == (truth, runs)
    assert simulate(seed=4)[0] != truth

    assert {grade for grades in truth.values() for grade in grades.values()} == {1, 2, 3}
    ndcg = {name: rs.evaluate(truth, run, ["ndcg@10"])["ndcg@10"] for name, run in runs.items()}
    assert 0 < ndcg["popular"] < ndcg["noisy taste"] < ndcg["good taste"] < 1
