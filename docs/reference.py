"""The pages of the reference: every public name of the package with its signature and its numpydoc docstring.

One page per module, and one for the classes that calls return. Names are read at run time, as the package loads them
late; what needs a library that is not installed is read from its source.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import rankstone as rs
from rankstone import statistics
from rankstone.audit.audit_report import AuditReport, Finding
from rankstone.audit.questions import Question
from rankstone.authoring import Metric
from rankstone.cli.verify_command import Verification
from rankstone.compare.breakdown import Leaderboard, QueryChange, QueryChanges, Slices
from rankstone.compare.caveats import Caveat
from rankstone.compare.check import CheckResult, GateOutcome
from rankstone.compare.differences import Difference
from rankstone.compare.plot_kinds import KINDS
from rankstone.compare.scores import ModelEntry, Score, Scores, TaskLeaderboard
from rankstone.compare.winner import Winner
from rankstone.data.example import Example
from rankstone.evaluate.accumulate import AccumulatedMeans
from rankstone.evaluate.confusion import Confusion
from rankstone.evaluate.unanswerable import AnswerThreshold, RiskCoverage
from rankstone.evaluate.windows import WindowResult
from rankstone.explain.explain import Explanation, Moves
from rankstone.explain.identify import IdentifyResult, IdentifyTable
from rankstone.explain.sampled_metrics import SampledMetrics
from rankstone.explain.sweep import ConventionDifference
from rankstone.interleaving.analysis import InterleavingResult, Preference
from rankstone.interleaving.designs import InterleavedList, Outcome
from rankstone.plots.plot import Plot
from rankstone.results.answer import Readable
from rankstone.results.definition import Definition
from rankstone.results.result import Account, TieRange, UnjudgedRange

# What calls return, besides what a module of its own has.
RESULTS = (
    rs.Result, AccumulatedMeans, Account, TieRange, UnjudgedRange, Definition, rs.Comparison, Difference, Caveat,
    QueryChanges, QueryChange, Slices, Leaderboard, Winner, CheckResult, GateOutcome, Scores, Score, TaskLeaderboard,
    ModelEntry,
    Explanation, Moves, ConventionDifference, IdentifyResult, IdentifyTable, SampledMetrics, AuditReport, Finding,
    Question, WindowResult, Confusion,
    RiskCoverage, AnswerThreshold, Verification, InterleavedList, Outcome, InterleavingResult, Preference, Example,
    Plot, Readable,
)  # fmt: skip
# Modules below the package, with their page; the title says what is in it.
MODULES = {
    "arrays": "batches of arrays",
    "authoring": "for authors of metrics and conventions",
    "errors": "exceptions and warnings",
    "fusion": "rank fusion and pooling",
    "integrations": "training hooks and other libraries",
    "offpolicy": "off-policy evaluation",
    "spark": "Spark data frames",
    "split": "training and test sets",
    "sql": "SQL",
    "statistics": "tests, intervals, power",
    "testing": "assertions for pytest",
    "typing": "types for annotations",
    "compat.note": "a note on ranking metrics",
    "compat.ptranking": "PT-Ranking's functions",
    "compat.pytrec_eval": "pytrec_eval's classes",
    "compat.recsys": "python-recsys' classes",
}
# Mappings by name, which have pages of their own.
LISTINGS = {
    "rs.choices": "Every choice by name: meaning, default, values. [All choices](conventions/index.md#every-choice).",
    "rs.conventions": 'Every convention by name: `rs.conventions["ranx"]`. [All conventions](conventions/index.md).',
    "rs.metrics": 'Every metric by name, your own too: `rs.metrics["infap"]`. [All metrics](metrics/index.md).',
}
PAGES = {name: "statistics.md" if name == "statistics" else f"reference/{name}.md" for name in MODULES}


class Unloaded(NamedTuple):
    """A class of a module that needs a library which is not installed, as its source has it."""

    signature: str
    doc: str


def pages() -> dict[str, str]:
    """Every page of the reference, by its path below docs/."""
    return {
        "reference.md": _package(),
        "reference/results.md": _results(),
        **{path: _module(name) for name, path in PAGES.items()},
    }


def public_names(name: str) -> dict[str, Any]:
    """The public names of a module, with what they are."""
    module = _imported(name)
    if name == "arrays":
        return {"BatchMetric": module.BatchMetric}
    if name == "errors":
        return {word: kind for word, kind in vars(module).items() if _is_own_error(kind, module)}
    return {word: _loaded(module, word) for word in module.__all__}


def _imported(name: str) -> ModuleType:
    return import_module(f"rankstone.{name}") if "." in name else getattr(rs, name)


def _is_own_error(kind: object, module: ModuleType) -> bool:
    return inspect.isclass(kind) and issubclass(kind, Exception) and kind.__module__ == module.__name__


def _loaded(module: ModuleType, name: str) -> Any:
    try:
        return getattr(module, name)
    except ImportError:
        for path in Path(module.__path__[0]).glob("*.py"):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and node.name == name:
                    return _from_source(node)
        raise


def _from_source(node: ast.ClassDef) -> Unloaded:
    makers = [line for line in node.body if isinstance(line, ast.FunctionDef) and line.name == "__init__"]
    arguments = [re.sub(r"^self(, )?", "", ast.unparse(line.args)) for line in makers]
    return Unloaded(f"({''.join(arguments)})", inspect.cleandoc(ast.get_docstring(node) or ""))


# -- pages ---------------------------------------------------------------------------------------------------


def _package() -> str:
    names = {name: getattr(rs, name) for name in rs.__all__ if name != "errors"}
    entries = {name: value for name, value in names.items() if value not in RESULTS}
    links = {
        f"rs.{name}": (f"#rs{name.lower()}" if name in entries else _result_link(name), names[name]) for name in names
    }
    modules = [f"| [`rankstone.{name}`]({path}) | {MODULES[name]} |" for name, path in PAGES.items()]
    return "\n".join(
        [
            *_front("rankstone"),
            "The names of `import rankstone as rs`. Types in signatures, such as `Truth` and `Run`, are described in",
            "[rankstone.typing](reference/typing.md), the classes that calls return under"
            " [results](reference/results.md).",
            "",
            *_contents(links),
            "| module | what is in it |",
            "|---|---|",
            *modules,
            "",
            *(line for name, value in entries.items() for line in _entry(f"rs.{name}", value)),
            *rows("Plots", "comparison.plot(kind)", KINDS),
        ]
    )


def _results() -> str:
    links = {kind.__name__: (f"#{kind.__name__.lower()}", kind) for kind in RESULTS}
    return "\n".join(
        [
            *_front("Results"),
            "The classes that calls return. All of them print themselves as tables, in a terminal and in a notebook;",
            "those that say so have the methods of [Readable](#readable).",
            "",
            *_contents(links),
            *(line for kind in RESULTS for line in _entry(kind.__name__, kind)),
        ]
    )


def _module(name: str) -> str:
    module, names = _imported(name), public_names(name)
    out = [*_front(f"rankstone.{name}"), *_documented(inspect.getdoc(module) or "")]
    if name == "arrays":
        words = ", ".join(f"`rs.arrays.{word}`" for word in sorted(dir(module)))
        out += [f"Each of these is a `BatchMetric`: {words}.", ""]
    if name == "statistics":
        out += [
            "A test or correction that does not support clusters or a finite population raises an error.",
            "",
            *rows("Tests", "rs.compare(test=...)", statistics.TESTS, "use", "clusters", "population"),
            *rows("Corrections", "rs.compare(correction=...)", statistics.CORRECTIONS, "clusters", "population"),
            *rows("Intervals", "result.interval(method=...)", statistics.INTERVALS, "clusters"),
        ]
        names = {word: value for word, value in names.items() if not word.isupper()}  # the tables
    if name == "typing":
        return "\n".join([*out, *_types(names)])
    top = {id(getattr(rs, word)) for word in rs.__all__}
    entries = {word: value for word, value in names.items() if id(value) not in top}
    prefix = f"rankstone.{name}." if "." in name else f"rs.{name}."
    links = {
        f"{prefix}{word}": (
            f"#{_anchor(prefix + word)}" if word in entries else f"../reference.md#rs{word.lower()}",
            value,
        )
        for word, value in names.items()
    }
    out += _contents(links)
    return "\n".join([*out, *(line for word, value in entries.items() for line in _entry(f"{prefix}{word}", value))])


def _types(names: Mapping[str, Any]) -> list[str]:
    """Aliases with the comment above each of them, and classes with a link to their own entry."""
    from rankstone import typing

    source = inspect.getsource(typing)
    out = []
    for name, value in names.items():
        alias = re.search(rf"^#: (.*)\n{name}: TypeAlias = (.*)$", source, re.MULTILINE)
        if alias:
            out += [f"## {name}", "", *_code(f"{name} = {alias[2].strip(chr(34))}"), alias[1], ""]
        elif value.__module__ == typing.__name__:
            out += _entry(name, value)
        else:
            out += [f"## {name}", "", f"{_summary(value)} [{name}]({_home(name, value)}).", ""]
    return out


def _home(name: str, value: Any) -> str:
    """The entry of a class, as a link from a page of a module."""
    if value in RESULTS:
        return f"results.md#{name.lower()}"
    for module in ("authoring", "fusion", "offpolicy"):
        if name in public_names(module):
            return f"{module}.md#rs{module}{name.lower()}"
    return f"../reference.md#rs{name.lower()}"  # Columns, Lists and Catalogue are what a function returns


def _result_link(name: str) -> str:
    return f"reference/results.md#{name.lower()}"


def _front(title: str) -> list[str]:
    return ["---", "search: {boost: 0.5}", "---", "", f"# {title}", ""]


def _contents(links: Mapping[str, tuple[str, Any]]) -> list[str]:
    lines = [f"| [`{name}`]({link}) | {_summary(value)} |" for name, (link, value) in links.items()]
    return ["| name | what it is |", "|---|---|", *map(cell_safe, lines), ""]


def _summary(value: Any) -> str:
    if isinstance(value, Metric):
        return value.declaration.summary
    if not (inspect.isroutine(value) or inspect.isclass(value) or isinstance(value, Unloaded)):
        own = (inspect.getdoc(value) or "") if type(value).__module__.startswith("rankstone") else "Names"
        listing = next((text for name, text in LISTINGS.items() if getattr(rs, name[3:]) is value), own)
        return f"{listing.partition(': ')[0]}."
    text = value.doc if isinstance(value, Unloaded) else inspect.getdoc(value) or ""
    return re.sub(r"\s+", " ", text.split("\n\n")[0])


def _anchor(label: str) -> str:
    return re.sub(r"[^\w-]", "", label.lower())


# -- entries -------------------------------------------------------------------------------------------------


def _entry(label: str, value: Any, level: int = 2) -> list[str]:
    """Heading, signature, docstring; of a class its methods and properties too."""
    out = [f"{'#' * level} {label}", ""]
    if isinstance(value, Unloaded):
        return [*out, *_code(f"{label}{value.signature}"), *_documented(value.doc)]
    if isinstance(value, Metric):
        return [*out, *_signed(label, value), *_metric(value)]
    text = inspect.getdoc(value) or ""
    if inspect.isclass(value):
        return [*out, *_made(label, value, text), *_documented(text), *_fields_of(value, text), *_members(value, level)]
    if isinstance(value, (property, cached_property)):
        kind = (value.fget if isinstance(value, property) else value.func).__annotations__.get("return", "")
        return [*out, *_code(f"{label}: {kind}" if kind else label), *_documented(text)]
    if label in LISTINGS:
        return [*out, LISTINGS[label], ""]
    if not inspect.isroutine(value):  # names, of methods or of measures
        summaries = {name: row.summary for name, row in getattr(value, "rows", {}).items()}
        listed = [f"- `{name}`{': ' * (name in summaries)}{summaries.get(name, '')}" for name in sorted(value)]
        return [*out, _summary(value), "", *listed, ""]
    return [*out, *_signed(label, value), *_documented(text)]


def _metric(metric: Metric) -> list[str]:
    """A metric as a function: its own parameters, after those of any metric."""
    row = metric.declaration
    _, *sections = _sections(inspect.getdoc(Metric.__call__) or "")
    own = [f"{name} : default {row.defaults[name]!r}\n    {about.meaning}" for name, about in row.about.items()]
    before, choices, after = dict(zip(sections[::2], sections[1::2], strict=True))["Parameters"].partition("**choices")
    called = "\n".join([before.rstrip(), *own, choices + after])
    return [
        row.summary,
        "",
        f"Formula, example, and what other tools compute: [{metric.name}](metrics/{metric.name}.md).",
        "",
        "**Parameters**",
        "",
        *_fields(called),
        "",
    ]


def _made(label: str, kind: type, text: str) -> list[str]:
    """How an object is made, if users make it."""
    if "Parameters\n---" not in text:
        return []
    if kind is rs.arrays.BatchMetric:
        return _signed("rs.arrays.ndcg", kind.__call__)
    return _signed(label, kind)


def _fields_of(kind: type, text: str) -> list[str]:
    """The fields of a record whose docstring does not list them, with the comments on their lines."""
    names = getattr(kind, "__dataclass_fields__", None) or getattr(kind, "_fields", None) or ()
    shown = [name for name in names if not name.startswith("_")]
    if not shown or "Attributes\n---" in text or "Parameters\n---" in text:
        return []
    types = {
        name: word for base in reversed(kind.__mro__) for name, word in getattr(base, "__annotations__", {}).items()
    }
    notes = dict(re.findall(r"^    (\w+): [^#\n]*  # (.*)$", inspect.getsource(kind), re.MULTILINE))
    lines = [
        f"- `{name}` ({plain_stars(str(types[name]))}){f': {notes[name]}' if name in notes else ''}" for name in shown
    ]
    return ["**Attributes**", "", *lines, ""]


def _members(kind: type, level: int) -> list[str]:
    """Methods and properties, in the order of the source; those of a base class that has an entry, by name."""
    out, inherited = [], {}
    if issubclass(kind, Exception):  # its parameters say it all
        return out
    for name, member, owner in members(kind):
        if owner is not kind and owner in RESULTS:
            inherited.setdefault(owner, []).append(name)
        else:
            out += _entry(f"{kind.__name__}.{name}", member, level + 1)
    for owner, names in inherited.items():
        links = ", ".join(f"[`{name}`]({_owner_link(owner, name)})" for name in names)
        out = [f"As every {owner.__name__}: {links}.", "", *out]
    return out


def _owner_link(owner: type, name: str) -> str:
    return f"results.md#{owner.__name__.lower()}{name}"


def members(kind: type) -> Iterator[tuple[str, Any, type]]:
    """The public methods and properties of a class, with the class that has each."""
    seen: set[str] = set()
    for owner in kind.__mro__:
        if not owner.__module__.startswith("rankstone"):
            continue
        for name, member in vars(owner).items():
            plain = getattr(member, "__func__", member)
            readable = inspect.isfunction(plain) or isinstance(member, (property, cached_property))
            if not name.startswith("_") and name not in seen and readable and inspect.getdoc(member):
                seen.add(name)
                yield name, member if isinstance(member, (property, cached_property)) else plain, owner


def rows(title: str, call: str, table: Mapping[str, Any], *traits: str) -> list[str]:
    """The rows of a table: their names, what they are, and some of their traits."""
    cells = [
        [f"`{name}`", row.words, *(_trait(getattr(row, trait)) for trait in traits)] for name, row in table.items()
    ]
    head = ["name", "what", *traits]
    lines = [f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *cells]]
    return [f"## {title}", "", f"`{call}`, by name.", "", *lines, ""]


def _trait(value: str | bool) -> str:
    return value if isinstance(value, str) else "yes" if value else "no"


# -- signatures and docstrings -------------------------------------------------------------------------------


def _code(text: str) -> list[str]:
    return ["```py", text, "```", ""]


def _signed(name: str, function: Any) -> list[str]:
    """The signature with types and defaults, one parameter per line if it is long."""
    signature = inspect.signature(function)
    given = [one for one in signature.parameters.values() if one.name not in ("self", "cls", "swapped")]
    signature = signature.replace(parameters=given)
    if inspect.isclass(function):
        signature = signature.replace(return_annotation=signature.empty)
    text = _plain(str(signature))
    if len(name) + len(text) > 100:
        parts, bare = [], False
        for parameter in given:
            if parameter.kind is parameter.KEYWORD_ONLY and not bare:
                parts.append("*")
            bare = bare or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
            parts.append(_plain(str(parameter)))
            if parameter.kind is parameter.POSITIONAL_ONLY:
                parts.append("/")
        returned = "" if signature.return_annotation is signature.empty else f" -> {signature.return_annotation}"
        text = "".join(["(\n", *(f"    {part},\n" for part in parts), f"){_plain(returned)}"])
    return _code(f"{name}{text}")


def _plain(text: str) -> str:
    """Annotations are strings, and some defaults are objects."""
    text = re.sub(r"<[^<>]* at 0x\w+>|<object object[^<>]*>", "...", text)
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)


_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
_LISTED = (
    "Parameters",
    "Returns",
    "Yields",
    "Raises",
    "Attributes",
    "Other Parameters",
    "Warns",
    "Operands of its methods",
)


def _sections(text: str) -> list[str]:
    return _SECTION.split(text)


def _documented(text: str) -> list[str]:
    """A numpydoc docstring as Markdown: paragraphs, parameters as a list, examples whole."""
    summary, *sections = _sections(text)
    out = _paragraphs(summary)
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        out += [f"**{title}**", ""]
        out += [*_fields(body), ""] if title in _LISTED else _paragraphs(body)
    return out


def _paragraphs(text: str) -> list[str]:
    """Paragraphs on a line each; examples as code."""
    out = []
    for part in re.split(r"\n\s*\n", text.strip()):
        before, mark, code = part.partition(">>>")
        if before.strip():
            out += [re.sub(r"\s+", " ", before.strip()), ""]
        if mark:
            out += ["```pycon", inspect.cleandoc(mark + code), "```", ""]
    return out


def _fields(body: str) -> list[str]:
    """The entries of a section, `name : type` with an indented description, as a list."""
    out: list[str] = []
    for line in body.strip("\n").split("\n"):
        if line.strip() and not line.startswith(" "):
            name, colon, kind = line.partition(" : ")
            names = ", ".join(f"`{word.strip()}`" for word in name.split(","))
            out.append(f"- {names}" + (f" ({plain_stars(kind.strip())})" if colon else ""))
        elif line.strip():
            out[-1] = out[-1].removesuffix(_OPEN) + (" " if out[-1].endswith(_OPEN) else ": ") + line.strip() + _OPEN
    return [line.replace(_OPEN, "") for line in out]


_OPEN = "\0"  # a list entry that has a description


def plain_stars(text: str) -> str:
    return text.replace("*", "\\*")


def cell_safe(line: str) -> str:
    """A table's line whose code may hold a bar, which only HTML can say there."""
    from html import escape

    def marked(code: re.Match[str]) -> str:
        return f"<code>{escape(code[1]).replace('|', '&#124;')}</code>" if "|" in code[1] else code[0]

    return re.sub(r"`([^`]*)`", marked, line)
