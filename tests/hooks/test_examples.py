"""Every training example trains, on made-up data and on real data, from any folder."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.effort import PATIENCE

EXAMPLES = Path(__file__).parents[2] / "examples"
NEEDS = {
    "train_catboost": "catboost",
    "train_lightgbm": "lightgbm",
    "train_lightning": "lightning",
    "train_scikit_learn": "sklearn",
    "train_torch": "torch",
    "train_xgboost": "xgboost",
}


def test_every_example_is_known():
    assert NEEDS.keys() == {path.stem for path in EXAMPLES.glob("train_*.py")}


@pytest.mark.service("training")
@pytest.mark.parametrize("data", ["made up", "real"])
@pytest.mark.parametrize("name", sorted(NEEDS))
def test_example_trains(name, data, shared, tmp_path):
    if importlib.util.find_spec(NEEDS[name]) is None:
        pytest.skip(f"needs {NEEDS[name]}")
    arguments = [] if data == "made up" else [str(shared("data/lightgbm/rank.test"))]
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    last = done.stdout.splitlines()[-1]
    assert 0.5 < float(re.search(r"\d\.\d+", last)[0]) < 1, last
    assert not list(tmp_path.iterdir()), "an example leaves no files behind"
