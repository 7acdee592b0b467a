"""Imports go one way through the house: no knots, late imports only where there is a reason."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "rankstone"
# A room may use itself and what stands before it. Doors are what users type by name.
ROOMS = (
    "errors",
    "version",
    "progress",
    "inputs",
    "align",
    "metrics",
    "conventions",
    "statistics",
    "pictures",
    "measure",
    "answers",
    "feedback",
    "fusing",
    "typing",
)
DOORS = ("arrays", "sql", "spark", "split", "trec_eval", "integrations", "compat", "testing", "cli", "")
# Against the order of the rooms, each with its reason.
BACK = {
    ("inputs.source", "align.ranked"): "a door ends where the ranking begins",
    ("measure", "answers"): "what was measured is handed over as an answer",
}
# Loaded when first needed, each with its reason; `*`: a quick start.
LATE = {
    ("", "*"),
    ("cli", "*"),
    ("metrics.registry", "measure.single"),  # a metric that is called measures a list
    ("metrics.registry", "conventions.convention"),  # and one that is given choices checks them
    ("metrics.registry", "answers.definition"),  # and `help` tells its definition
    ("answers.result", "answers.write"),  # the writers bring Arrow
    ("answers.result", "answers.compare"),  # which makes results, too
    ("answers.result", "answers.sample"),  # which is made of results
    ("answers.result", "answers.plots"),  # pictures are for those who look
    ("answers.result", "answers.curve"),
    ("answers.result", "answers.report"),
    ("pictures.plot", "pictures.svg"),  # what draws knows what is drawn
    ("pictures.plot", "pictures.matplotlib"),
    ("measure.sums", "statistics"),  # a quick start: SciPy takes long
    ("measure.online", "statistics"),
    ("measure.evaluate", "inputs.files"),  # a quick start: most runs are in memory
    ("measure.evaluate", "inputs.tables"),
    ("measure.evaluate", "measure.stream"),
    ("measure.evaluate", "inputs.arrow"),
    ("measure.beside", "inputs.doors"),
    ("measure.beside", "inputs.arrow"),
    ("measure.sources", "inputs.known"),
    ("measure.sums", "inputs.known"),
    ("measure.accumulate", "inputs.known"),
    ("measure.evaluate", "spark.evaluate"),  # a table of Spark's is measured where it is
    ("inputs.open", "inputs.doors"),
    ("inputs.formats", "inputs.delimited"),  # a quick start: a file is of one format
    ("inputs.formats", "inputs.jsonl"),
    ("inputs.formats", "inputs.letor"),
    ("inputs.doors", "inputs.catalogue"),  # a quick start: few ask for it
    ("inputs.doors", "inputs.known"),
    ("inputs.doors", "inputs.parents"),
    ("inputs.doors", "inputs.seen"),
    ("inputs.doors", "inputs.spans"),
}
UPWARD = {
    ("measure.evaluate", "spark.evaluate"),
    ("metrics.registry", "measure.single"),
    ("metrics.registry", "answers.definition"),
    ("metrics.registry", "conventions.convention"),
    ("answers.result", "answers.write"),
    ("answers.result", "answers.compare"),
    ("answers.result", "answers.sample"),
    ("answers.result", "answers.plots"),
    ("answers.result", "answers.curve"),
    ("answers.result", "answers.report"),
    ("pictures.plot", "pictures.svg"),
    ("pictures.plot", "pictures.matplotlib"),
}


def modules():
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), ast.parse(path.read_text(encoding="utf-8"))


def imports(tree, known):
    """The modules of the package that a module imports: at once, and late."""
    found = {False: set(), True: set()}

    def visit(node, late):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            if isinstance(child, ast.ImportFrom) and (child.module or "").split(".")[0] == "rankstone":
                base = child.module.partition(".")[2]
                inner = [f"{base}.{name.name}".strip(".") for name in child.names]
                found[late].update(one if one in known else base for one in inner if not one.startswith("_core"))
            visit(child, late or isinstance(child, ast.FunctionDef))

    visit(tree, False)
    return found[False], found[True]


@pytest.fixture(scope="module")
def graph():
    trees = dict(modules())
    return {name: imports(tree, trees) for name, tree in trees.items()}


def room(module):
    return module.split(".")[0]


def listed(pairs, user, used):
    """Is the import in the list: by module or by room."""
    return any(a in (user, room(user)) and b in (used, room(used), "*") for a, b in pairs)


def test_arrows_go_one_way(graph):
    for user, (at_once, late) in graph.items():
        for used in at_once | late:
            if room(user) in ROOMS and not listed(BACK, user, used) and not listed(LATE, user, used):
                allowed = ROOMS[: ROOMS.index(room(user)) + 1]
                assert room(used) in allowed, f"{user} imports {used}"


def test_late_imports_are_listed(graph):
    for user, (at_once, late) in graph.items():
        for used in late - at_once:
            assert room(user) in DOORS or listed(LATE, user, used), f"{user} imports {used} late"
    for user, used in LATE:  # and nothing is listed in vain
        assert used == "*" or used in graph[user][1], (user, used)
    for user, used in BACK:
        assert any(
            listed([(user, used)], one, other) for one, (at_once, late) in graph.items() for other in at_once | late
        ), (user, used)


def test_there_are_no_knots(graph):
    """Late imports count, but for those that lead up on purpose."""
    edges = {
        user: {used for used in at_once | late if used != user and (user, used) not in UPWARD}
        for user, (at_once, late) in graph.items()
        if user not in ("", "__main__")
    }
    for knot in strongly_connected(edges):
        assert len(knot) == 1, f"these import each other: {sorted(knot)}"


def strongly_connected(edges):
    """Sets of modules each of which leads to each other one."""
    reach = {}

    def reached(start):
        if start not in reach:
            seen, waiting = set(), [start]
            while waiting:
                for used in edges.get(waiting.pop(), ()):
                    if used not in seen:
                        seen.add(used)
                        waiting.append(used)
            reach[start] = seen
        return reach[start]

    for start in edges:
        yield {start} | {other for other in reached(start) if start in reached(other)}


def test_few_modules_lie_flat():
    flat = [path.stem for path in SOURCE.glob("*.py") if not path.stem.startswith("__")]
    assert sorted(flat) == ["arrays", "errors", "progress", "testing", "typing", "version"]


def test_a_knot_would_be_seen():
    assert {"a", "b"} in list(strongly_connected({"a": {"b"}, "b": {"c", "a"}, "c": set()}))
