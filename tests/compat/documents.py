"""The documents whose code is answered for: their examples and functions, read from ../shared at run time."""

import ast
import json
import math
import re
import runpy
import textwrap
from pathlib import Path

WRITTEN = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
RAISES = "a clear error"
_DEVIATIONS = runpy.run_path(str(Path(__file__).parents[1] / "golden" / "deviations.py"))


def document(shared, number):
    """The text of a document."""
    (path,) = shared("seeds").glob(f"{number}_*.txt")
    return path.read_text(encoding="utf-8")


def examples(text):
    """The indented blocks of a document in reStructuredText."""
    blocks = re.findall(r"\.\. code-block:: python\n\n((?:(?: {4}.*)?\n)+)", text)
    return [textwrap.dedent(block) for block in blocks]


def functions(text, **names):
    """The functions that a document in Markdown defines."""
    for block in re.findall(r"```(?:python)?\n(.*?)```", text, re.DOTALL):
        if block.lstrip().startswith(("def ", '"""')):
            exec(block, names)
    return names


def run(example, names):
    """Runs an example; gives the value and the comment of each call of compute that stands alone."""
    lines = example.splitlines()
    found = []
    for node in ast.parse(example).body:
        source = ast.get_source_segment(example, node)
        if isinstance(node, ast.Expr) and ".compute(" in source:
            found.append((eval(source, names), lines[node.lineno - 1].partition("#")[2]))
        else:
            exec(source, names)
    return found


def answers(shared, seed, impl, metrics):
    """Cases of the golden file: each with what rankstone is to answer, and how near."""
    for case in json.loads(shared("golden/seeds.json").read_text(encoding="utf-8")):
        if case["seed"] != seed or case["metric"] not in metrics or not case["impl"].startswith(impl):
            continue
        kind = _DEVIATIONS["deviation"](case)
        if kind is not None and case["id"] in kind.ours:
            expected, near = kind.ours[case["id"]], 1e-12
        else:
            expected, near = (RAISES if case.get("raises") else _numbers(case["expected"])), case["tol"]
        yield case["id"], case["metric"], _numbers(case["inputs"]), _numbers(case["params"]), expected, near


def _numbers(value):
    if isinstance(value, dict):
        return {key: _numbers(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_numbers(one) for one in value]
    return WRITTEN.get(value, value) if isinstance(value, str) else value


def same(found, expected, near):
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected, [near] * len(expected)))
    if math.isnan(expected):
        return math.isnan(found)
    return abs(found - expected) <= near
