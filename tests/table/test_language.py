"""The words of the field: in names, texts and documentation; and a public face that is documented."""

import ast
import inspect
import re
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

import rankstone as rs
from rankstone.results.answer import Readable

from .test_names import run_examples

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
DIALECT = re.compile(
    r"\b(told|tells?|telling|nobody|somebody|strangers?|spoken|beside|doubts?|earn(s|ed)?)\b", re.IGNORECASE
)
ALLOWED = (
    "file.tell()",  # a method of Python's files
    '"beside"',  # a field of states written by 0.1.0
)
PARTICIPLES = ("found", "given", "known", "made", "kept", "told")
VOCABULARIES = (rs.authoring.Ranking, rs.authoring.Recommendations)  # each word has its operands in one docstring
MODULES = sorted({name for name in dir(rs) if isinstance(getattr(rs, name), ModuleType)})


@pytest.mark.parametrize("path", [*SOURCES, *PAGES], ids=lambda path: str(path.relative_to(ROOT)))
def test_words_of_the_field(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        for allowed in ALLOWED:
            line = line.replace(allowed, "")
        assert not DIALECT.search(line), f"{path.relative_to(ROOT)}:{number}: {line.strip()}"


def test_variables_are_named_after_what_they_hold():
    names = Counter()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names[node.id] += 1
            elif isinstance(node, ast.arg):
                names[node.arg] += 1
    assert {name: names[name] for name in PARTICIPLES if names[name] >= 20} == {}


def test_no_two_modules_or_classes_of_one_name():
    modules = Counter(path.stem for path in SOURCES if not path.stem.startswith("__"))
    classes = Counter(
        node.name
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in (modules + classes).items() if count > 1 and name in modules] == []
    assert [name for name, count in classes.items() if count > 1] == []


def public(of):
    return [name for name in dir(of) if not name.startswith("_")]


def test_the_front_is_narrow():
    assert len(rs.__all__) <= 49
    assert len(public(rs.Result)) <= 22
    assert len(public(rs.Comparison)) <= 23
    keywords = {*inspect.signature(rs.evaluate).parameters, *rs.choices}
    assert len(keywords) <= 47


def parameters(function):
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


def documented():
    """Every public function and method, and the classes that users make objects of, by name."""
    out = {}
    modules = [getattr(rs, name) for name in MODULES if name not in ("errors", "typing")]
    for module, names in [(rs, rs.__all__), *((module, getattr(module, "__all__", ())) for module in modules)]:
        for name in names:
            try:
                value = getattr(module, name)
            except ModuleNotFoundError:  # torch, which an integration is for
                continue
            label = f"{module.__name__}.{name}"
            if inspect.isclass(value) and value.__module__.startswith("rankstone"):
                if not issubclass(value, (Readable, tuple)) and "Attributes\n---" not in inspect.getdoc(value):
                    out[label] = value
                for method, function in vars(value).items():
                    if not method.startswith("_") and inspect.isfunction(getattr(function, "__func__", function)):
                        out[f"{label}.{method}"] = getattr(value, method)
            elif inspect.isfunction(value):
                out[label] = value
    return out


DOCUMENTED = documented()


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_parameter_has_a_line(name):
    """In numpydoc's form, in the order of the signature; those of a vocabulary once for all of its methods."""
    function = DOCUMENTED[name]
    text = inspect.getdoc(function)
    assert text, f"{name} has no docstring"
    vocabulary = [of for of in VOCABULARIES if name.endswith(of.__name__) or f".{of.__name__}." in name]
    if vocabulary:
        if not inspect.isclass(function):
            assert {*parameters(function)} <= {*listed(inspect.getdoc(vocabulary[0]), "Operands of its methods")}
    else:
        assert listed(text, "Parameters") == parameters(function)


def listed(text, title):
    """The names in a section of a docstring."""
    section = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", text, re.MULTILINE | re.DOTALL)
    lines = re.findall(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : .*)?$", section[1], re.MULTILINE) if section else []
    return [word.strip(" *") for line in lines for word in line.split(",")]


@pytest.mark.parametrize(
    "name", [name for name, function in DOCUMENTED.items() if ">>> " in (inspect.getdoc(function) or "")]
)
def test_examples_run(name):
    run_examples(name, inspect.getdoc(DOCUMENTED[name]))
