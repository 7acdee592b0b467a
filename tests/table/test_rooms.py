"""The import graph of the package with its late imports: one order of packages, short chains, no knots."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "rankstone"
# A package uses itself and those before it. From `arrays` on they are entry points, by the names that users type.
ORDER = (
    "errors", "version", "progress", "data", "align", "program", "metrics", "conventions", "statistics", "plots",
    "results", "evaluate", "explain", "compare", "offpolicy", "fusion", "typing", "authoring", "arrays", "sql",
    "compile", "spark", "splits", "trec_eval", "compat", "integrations", "testing", "cli", "__main__", "",
)  # fmt: skip
# What is left to untangle. These numbers may only fall.
AGAINST_THE_ORDER = 6  # imports: a source has alignments, a result is compared, a Spark table stays on its cluster
LONGEST_CHAIN = 13  # modules, each of which imports the next one at load
_MARKS = re.compile(r"src/rankstone/|[`/]|\.py")


def imports(node, modules, late=False):
    """The modules of the package that a piece of code imports, each with whether it does so late, in a function."""
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        children = node.orelse
    else:
        children = ast.iter_child_nodes(node)
    names = [name.name for name in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
    if isinstance(node, ast.ImportFrom):
        assert not node.level, "imports are absolute"
        inner = [f"{node.module}.{name}" for name in names]
        names = [name if name.removeprefix("rankstone.") in modules else node.module for name in inner]
    for name in names:
        if name.startswith("rankstone.") and (inside := name.removeprefix("rankstone.")) in modules:
            yield inside, late
    for child in children:
        yield from imports(child, modules, late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


class Graph:
    """Which module imports which, at load and late."""

    def __init__(self, sources):
        found = {name: set(imports(ast.parse(text), sources.keys())) for name, text in sources.items()}
        self.load = {name: {used for used, late in pairs if not late} - {name} for name, pairs in found.items()}
        self.late = {name: {used for used, _ in pairs} - self.load[name] - {name} for name, pairs in found.items()}
        self.all = {name: self.load[name] | self.late[name] for name in sources}

    def edges(self, of):
        return [(user, used) for user, several in of.items() for used in sorted(several)]

    def reached(self, start, of):
        """All that a module leads to, itself included."""
        found, waiting = {start}, [start]
        while waiting:
            new = of[waiting.pop()] - found
            found |= new
            waiting += new
        return found

    def knots(self, of):
        """Sets of modules each of which leads to each other one."""
        reached = {name: self.reached(name, of) for name in of}
        knots = {frozenset(other for other in reached[name] if name in reached[other]) for name in of}
        return sorted((sorted(knot) for knot in knots if len(knot) > 1), key=len)


def sources():
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def graph():
    return Graph(dict(sources()))


def package(module):
    return module.split(".")[0]


def test_every_package_has_its_place(graph):
    assert set(ORDER) == set(map(package, graph.all))
    assert len(set(ORDER)) == len(ORDER)


def test_imports_follow_the_order(graph):
    place = {name: at for at, name in enumerate(ORDER)}
    against = [edge for edge in graph.edges(graph.all) if place[package(edge[0])] < place[package(edge[1])]]
    assert len(against) <= AGAINST_THE_ORDER, against


def test_no_knot_at_load(graph):
    assert graph.knots(graph.load) == []


def test_no_knot_with_late_imports(graph):
    assert graph.knots(graph.all) == []


def test_chains_are_short(graph):
    @cache
    def chain(name):
        return (name, *max(map(chain, graph.load[name]), key=len, default=()))

    longest = max(map(chain, graph.load), key=len)
    assert len(longest) <= LONGEST_CHAIN, longest


def test_a_late_import_saves_something(graph):
    """The module is not loaded already by what the other one imports at load."""
    for user, used in graph.edges(graph.late):
        loaded = graph.reached(user, graph.load)
        assert used not in loaded, f"{user} imports {used} late, and has loaded it already"


def test_the_guide_has_the_same_order():
    """The layout table of CONTRIBUTING.md names every package once, in this order."""
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## Layout")[1].split("\n## ")[0]
    cells = [line.split("|")[1] for line in section.split("\n") if line.startswith("| `")]
    inside = [cell for cell in cells if "src/rankstone/" in cell]
    assert [_MARKS.sub("", name).strip() for cell in inside for name in cell.split(",")] == list(ORDER[:-2])


def test_few_modules_lie_flat():
    flat = [path.stem for path in SOURCE.glob("*.py") if not path.stem.startswith("__")]
    assert sorted(flat) == ["arrays", "authoring", "errors", "progress", "testing", "typing", "version"]


def test_the_graph_sees_every_kind_of_import():
    found = Graph(
        {
            "": "",
            "a": "from rankstone import _core\nfrom rankstone.b import one\nimport rankstone.c\nimport numpy\n",
            "b": "def one():\n    from rankstone import c\n    async def two():\n        import rankstone.d.e\n",
            "c": "if TYPE_CHECKING:\n    from rankstone import a\nelse:\n    from rankstone.d import e\n",
            "d": "",
            "d.e": "class E:\n    def f(self):\n        from rankstone.b import one\n",
        }
    )
    assert found.edges(found.load) == [("a", "b"), ("a", "c"), ("c", "d.e")]
    assert found.edges(found.late) == [("b", "c"), ("b", "d.e"), ("d.e", "b")]
    assert found.knots(found.load) == []
    assert found.knots(found.all) == [["b", "c", "d.e"]]
    assert found.reached("c", found.load) == {"c", "d.e"}


LARGE = 40  # methods
ALLOWED = {"Ranking"}  # the vocabulary of metrics


def test_few_classes_are_large():
    large = {
        node.name
        for _, text in sources()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef) and sum(isinstance(one, ast.FunctionDef) for one in node.body) > LARGE
    }
    assert large == ALLOWED


def test_few_files_are_large():
    """But for the table of presets. Docstrings do not count."""
    lengths = {path.name: lines_of_code(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")}
    assert [name for name, length in lengths.items() if length > 600] == ["presets.py"]


def lines_of_code(text):
    lines = text.count("\n")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            lines -= node.body[0].end_lineno - node.body[0].lineno + 1
    return lines
