"""A user's script under mypy: what is right passes, what is wrong is found, and few parameters are `Any`."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import rankstone as rs
from rankstone.metrics.registry import declared
from rankstone.typing import Keywords

SOURCE = Path(rs.__file__).parent
SCRIPT = """
import rankstone as rs

truth = {"u1": {"a": 3, "b": 1}}
run = {"u1": {"a": 0.9, "x": 0.5}}
result: rs.Result = rs.evaluate(truth, run, ["ndcg@10", rs.ap @ 5], convention="trec_eval", threshold=2, ap_divisor="k")
mean: float = result["ap@5"]
one: float = rs.ndcg(["a", "b"], truth=["b"], k=2)
other: float = rs.ndcg(labels=[3, 0], scores=[0.5, 0.25])
metric: rs.Metric = rs.ndcg(gain="exp2") @ 10
rare: rs.Metric = rs.metrics["infap"]
definition: rs.Definition = result.define("ap@5")
fused: rs.Fused = rs.fuse({"one": run, "other": run}, "sum", norm="min-max", weights=[0.7, 0.3])
mean = rs.evaluate(truth, fused, "ap")["ap"]
"""
WRONG = {
    'rs.evaluate({}, {}, "ap", treshold=2)': "treshold",
    'rs.evaluate({}, {}, "ap", ties="alphabetic")': "ties",
    'rs.evaluate({}, {}, "ap", ap_divisor="q")': "ap_divisor",
    "rs.evaluate({}, {}, 3)": "evaluate",
    'rs.ndcg(["a"], ["b"])': "__call__",
    'rs.fuse([{}], nrom="max")': "nrom",
}


def checked(code, tmp_path):
    mypy = pytest.importorskip("mypy.api", reason="needs mypy")
    script = tmp_path / "script.py"
    script.write_text(code)
    options = ["--no-error-summary", "--hide-error-context", "--cache-dir", str(tmp_path / "cache")]
    return mypy.run([*options, "--python-executable", sys.executable, str(script)])[0]


@pytest.mark.slow
def test_a_users_script(tmp_path):
    wrong = "\n".join(WRONG)
    said = checked(f"{SCRIPT}\n{wrong}\n", tmp_path)
    errors = [line for line in said.split("\n") if ": error: " in line and "script.py" in line]
    first = SCRIPT.count("\n") + 2
    assert [int(line.split(":")[1]) for line in errors] == [*range(first, first + len(WRONG))], said
    for line, word in zip(errors, WRONG.values(), strict=True):
        assert word in line


def test_keywords_are_the_choices_and_the_parameters():
    own = {name: row for name, row in declared().items() if row.function.__module__.startswith("rankstone.")}
    parameters = {parameter for row in own.values() for parameter in row.defaults}
    of_one = {f"{name}_{parameter}" for name, row in own.items() for parameter in row.defaults}
    arguments = {"catalogue"}  # of `evaluate`, where it can be more than a number
    assert set(Keywords.__annotations__) | set(rs.choices) | arguments == set(rs.choices) | parameters | of_one


def test_few_public_parameters_are_of_any_type():
    """Of functions and methods without an underscore, in all modules; it was 233."""
    found = [where for path in SOURCE.rglob("*.py") for where in anys(ast.parse(path.read_text()), path.name)]
    assert len(found) < 60, found


def anys(node, where, public=True):
    for child in ast.iter_child_nodes(node):
        name = getattr(child, "name", "")
        shown = public and (not name.startswith("_") or name in ("__init__", "__call__"))
        if isinstance(child, ast.ClassDef):
            yield from anys(child, f"{where}:{name}", shown)
        elif isinstance(child, ast.FunctionDef) and shown:
            for argument in ast.walk(child.args):
                if isinstance(argument, ast.arg) and argument.annotation and "Any" in ast.unparse(argument.annotation):
                    yield f"{where}:{name}({argument.arg})"


def test_the_package_says_that_it_is_typed():
    assert (SOURCE / "py.typed").exists()
    assert subprocess.run([sys.executable, "-c", "import rankstone.typing"], check=True).returncode == 0
