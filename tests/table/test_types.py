"""A user's script under mypy: what is right passes, what is wrong is found, and few parameters are `Any`."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import rankstone as rs

SOURCE = Path(rs.__file__).parent
SCRIPT = """
import rankstone as rs

truth = {"u1": {"a": 3, "b": 1}}
run = {"u1": {"a": 0.9, "x": 0.5}}
result: rs.Result = rs.evaluate(truth, run, ["ndcg@10", rs.ap(divisor="k") @ 5], convention="trec_eval", threshold=2)
mean: float = result["ap@5"]
one: float = rs.ndcg(["a", "b"], truth=["b"], k=2)
other: float = rs.ndcg(labels=[3, 0], scores=[0.5, 0.25])
metric: rs.authoring.Metric = rs.ndcg(gain="exp2") @ 10
rare: rs.authoring.Metric = rs.metrics["infap"]
definition: rs.typing.Definition = result.definitions["ap@5"]
fused: rs.typing.FusedRun = rs.fuse({"one": run, "other": run}, "sum", norm="min-max", weights=[0.7, 0.3])
mean = rs.evaluate(truth, fused, "ap")["ap"]
"""
WRONG = {
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


# What is left to type. These numbers may only fall.
WRITTEN_ANY = 59  # parameters of public functions and methods whose annotations have the word Any; it was 233
EFFECTIVE_ANY = 289  # those that can be anything: Any itself, an alias of it, or a union with one


@pytest.fixture(scope="module")
def modules():
    return {
        ".".join(("rankstone", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__"): ast.parse(
            path.read_text(encoding="utf-8")
        )
        for path in SOURCE.rglob("*.py")
    }


def test_few_public_parameters_are_of_any_type(modules):
    written = [
        where
        for module, tree in modules.items()
        for where, annotation in parameters(tree, module)
        if "Any" in ast.unparse(annotation)
    ]
    assert len(written) <= WRITTEN_ANY, written


def test_few_public_parameters_can_be_anything(modules):
    """Aliases are looked through, wherever they are defined."""
    names = Names(modules)
    found = [
        where
        for module, tree in modules.items()
        for where, annotation in parameters(tree, module)
        if names.is_any(annotation, module)
    ]
    assert len(found) <= EFFECTIVE_ANY, found


def parameters(node, where, public=True):
    """The annotated parameters of functions and methods without an underscore."""
    for child in ast.iter_child_nodes(node):
        name = getattr(child, "name", "")
        shown = public and (not name.startswith("_") or name in ("__init__", "__call__"))
        if isinstance(child, ast.ClassDef):
            yield from parameters(child, f"{where}:{name}", shown)
        elif isinstance(child, ast.FunctionDef) and shown:
            for argument in ast.walk(child.args):
                if isinstance(argument, ast.arg) and argument.annotation:
                    yield f"{where}:{name}({argument.arg})", argument.annotation


class Names:
    """What the names of the modules stand for: types that they define as aliases, or import."""

    def __init__(self, modules):
        self.aliases, self.imported = {}, {}
        for module, tree in modules.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom):
                    for name in node.names:
                        self.imported[module, name.asname or name.name] = (node.module, name.name)
            for node in tree.body:
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    self.aliases[module, node.targets[0].id] = node.value
                elif isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation).endswith("TypeAlias"):
                    self.aliases[module, node.target.id] = node.value

    def is_any(self, node, module):
        """Is it Any, an alias of it, or a union or an annotated type that is."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node = ast.parse(node.value, mode="eval").body
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return self.is_any(node.left, module) or self.is_any(node.right, module)
        if isinstance(node, ast.Subscript):
            inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            kind = ast.unparse(node.value).split(".")[-1]
            several = {"Annotated": inside[:1], "Optional": inside, "Union": inside}.get(kind, ())
            return any(self.is_any(each, module) for each in several)
        if isinstance(node, ast.Attribute):  # typing.Column, of a module that was imported
            owner, name = self.imported.get((module, ast.unparse(node.value)), ("", "")), node.attr
            return node.attr == "Any" or self.named(".".join(owner), name)
        return isinstance(node, ast.Name) and self.named(module, node.id)

    def named(self, module, name):
        if (module, name) in self.aliases:
            return self.is_any(self.aliases[module, name], module)
        module, name = self.imported.get((module, name), ("", ""))
        return (module, name) == ("typing", "Any") or ((module, name) in self.aliases and self.named(module, name))


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ("Any", True), ("int | Any", True), ("Values", True), ("'Values | None'", True), ("Optional[Far]", True),
        ("Annotated[Any, 1]", True), ("other.Far", True), ("Mapping[str, Any]", False), ("int", False),
        ("Number", False), ("Unknown", False),
    ],
)  # fmt: skip
def test_aliases_are_looked_through(annotation, expected):
    one = "from typing import Any, TypeAlias\nfrom rankstone import other\nfrom rankstone.other import Far, Number\n"
    code = {
        "rankstone.one": ast.parse(one + "Values: TypeAlias = Any\n"),
        "rankstone.other": ast.parse(
            "from typing import Any\nfrom rankstone.one import Values\nFar = Values | None\nNumber = int\n"
        ),
    }
    assert Names(code).is_any(ast.parse(annotation, mode="eval").body, "rankstone.one") is expected


def test_the_package_says_that_it_is_typed():
    assert (SOURCE / "py.typed").exists()
    assert subprocess.run([sys.executable, "-c", "import rankstone.typing"], check=True).returncode == 0
