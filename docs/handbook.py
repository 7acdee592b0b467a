"""Generates pages of the handbook from the code: one per metric, one per convention, the comparison, the reference.

mkdocs calls the two `on_` functions while it builds the site; the tests call `pages` and run what the pages show.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import rankstone as rs
from rankstone import statistics
from rankstone.compare.breakdown import Leaderboard, QueryChanges, Slices
from rankstone.compare.check import GateOutcome
from rankstone.compare.comparison import Comparison
from rankstone.compare.differences import Difference
from rankstone.compare.plot_kinds import KINDS
from rankstone.compare.scores import ModelEntry, Score, Scores, TaskLeaderboard
from rankstone.conventions.choices import Choice
from rankstone.evaluate.online import WindowResult
from rankstone.explain.explain import Explanation
from rankstone.explain.identify import IdentifyResult
from rankstone.metrics.registry import Declaration, Parameter, declared, is_built_in
from rankstone.results.definition import Definition
from rankstone.results.result import Account, TieRange, UnjudgedRange

sys.path.append(str(Path(__file__).parent))
import play
import recorded

K = 3
EXAMPLE = """\
truth = {"u1": {"a": 3, "b": 2, "c": 1, "d": 0}, "u2": {"b": 1}}
run = {
    "u1": {"a": 0.9, "d": 0.8, "x": 0.6, "b": 0.5},
    "u2": {"x": 0.7, "b": 0.4, "a": 0.1},
}
"""
RATED = EXAMPLE.replace(
    '"a": 3, "b": 2, "c": 1, "d": 0}, "u2": {"b": 1}', '"a": 5, "b": 4, "c": 3, "d": 1}, "u2": {"b": 4}'
)
# The lists of the comparison, by their names in the record of what other tools gave.
LISTS = {
    "a_seed": "three relevant items, two returned",
    "h_few_rel": "one relevant item, at rank 2",
    "h_many_rel": "more relevant items than places",
    "n_no_hit": "no relevant item returned",
}
COMPARED = ("precision", "recall", "ap", "ndcg")
DASH = "\N{EN DASH}"
GRADED = "b_graded"  # the list of the pages on metrics


def pages() -> dict[str, str]:
    """Every generated page, by its path below docs/."""
    known = {name: row for name, row in sorted(declared().items()) if is_built_in(row)}
    return {
        "metrics/index.md": _metrics_index(known),
        **{f"metrics/{name}.md": _metric(row) for name, row in known.items()},
        "conventions/index.md": _conventions_index(),
        **{f"conventions/{name}.md": _convention(one) for name, one in rs.conventions.items()},
        "same-name.md": _same_name(),
        "reference.md": _reference(),
        "statistics.md": _statistics(),
    }


# -- metrics -------------------------------------------------------------------------------------------------


def _metrics_index(known: Mapping[str, Declaration]) -> str:
    lines = [
        f"| [`{name}`]({name}.md) | {row.summary} | `{rs.define(row.name).formula}` |" for name, row in known.items()
    ]
    return "\n".join(["# Metrics", "", "| metric | what | formula |", "|---|---|---|", *map(_cell_safe, lines), ""])


def _metric(row: Declaration) -> str:
    named = f"{row.name}@{K}" if row.takes_k else row.name
    definition = rs.define(named)
    paragraphs = (row.function.__doc__ or "").split(">>>", 1)[0].strip().split("\n\n")[1:]
    return "\n".join(
        [
            f"# {row.name}",
            "",
            row.summary,
            "",
            *(line for one in paragraphs for line in (re.sub(r"\s+", " ", one.strip()), "")),
            _mathml(definition.latex),
            "",
            f"`{definition.formula}`{_by_default(row)}",
            "",
            *([f"Also called {', '.join(f'`{one}`' for one in row.aliases)}.", ""] if row.aliases else []),
            "## When to use it",
            "",
            row.use_when,
            "",
            f"**Caveat.** {row.caveat}",
            "",
            *(_pictures() if row.name in ("ndcg", "dcg") else []),
            "## An example",
            "",
            *_example(row, named),
            "## Its choices",
            "",
            *_parameters(row),
            "Choices of all metrics, such as tie-breaking, are on [this page](../conventions/index.md).",
            "",
            "## What other tools compute",
            "",
            *_who(row, named),
        ]
    )


def _by_default(row: Declaration) -> str:
    """The parameters that are numbers in the formula."""
    defaults = [
        f"`{name}={value}`" for name, value in row.defaults.items() if f"<{name}>" in row.formula and _is_number(value)
    ]
    return f", with {' and '.join(defaults)}, the default" if defaults else ""


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _example(row: Declaration, named: str) -> list[str]:
    if row.kind in ("ranking", "count"):
        code = f'import rankstone as rs\n\n{EXAMPLE}print(rs.explain(truth, run, "{named}", query="u1"))'
        return [*_block(code), "", *_printed(code), ""]
    calls = [line.strip()[4:] for line in (row.function.__doc__ or "").split("\n") if line.strip().startswith(">>> ")]
    lines, known = ["import rankstone as rs", ""], {"rs": rs}
    for call in calls:
        if re.match(r"\w+ = ", call):
            exec(call, known)
            lines.append(call)
        else:
            lines.append(f"{call}  # -> {eval(call, known)!r}")
    return [*_block("\n".join(lines)), ""]


def _parameters(row: Declaration) -> list[str]:
    if not row.defaults:
        return ["It has no parameters of its own.", ""]
    lines = [
        f"| `{name}` | {row.about[name].meaning} | `{value!r}` | {_words(row.about[name])} |"
        for name, value in row.defaults.items()
    ]
    return ["| parameter | about | default | values |", "|---|---|---|---|", *map(_cell_safe, lines), ""]


def _words(about: Parameter | Choice) -> str:
    """The named values, each with its words in a definition."""
    labels = [(word, about.labels.get(word)) for word in about.allowed]
    return "; ".join(f"`{word!r}`" + (f": {text}" if text else "") for word, text in labels)


def _who(row: Declaration, named: str) -> list[str]:
    """The numbers of other tools for one list, with the choices that differ."""
    if row.kind == "recommendations":
        return [
            "[Beyond accuracy](../beyond.md) compares what libraries compute for one input.",
            "",
        ]
    answers = recorded.answers(GRADED, row.name, K if row.takes_k else None)
    if not answers:
        return ["No number of another tool is recorded.", ""]
    data = recorded.case(GRADED)
    ours = rs.define(named)
    groups: dict[tuple[str, str], list[str]] = {}
    for answer in answers:
        metric, choices = rs.authoring.Metric.parse(named)[0].with_parameters(answer.choices)
        apart = _apart(ours, rs.define(metric, convention=answer.convention, **choices))
        link = f"{answer.tool} ([{answer.convention}](../conventions/{answer.convention}.md))"
        groups.setdefault((answer.number(4), apart), []).append(link)
    own = rs.metrics[row.name](data.run, truth=data.truth, **({"k": K} if row.takes_k else {}))
    lines = [f"| {number} | {', '.join(links)} | {apart} |" for (number, apart), links in groups.items()]
    grades = ", ".join(f"{item}: {grade}" for item, grade in data.truth.items())
    return [
        f"What the tools computed for `{named}`, where the grades are {grades} and {', '.join(data.run)} are "
        f"returned in this order. `rankstone` gives {own:.4f}. A tool that is not listed has no such metric, or its "
        "number was not recorded.",
        "",
        "| number | tool (convention) | choices |",
        "|---|---|---|",
        *map(_cell_safe, lines),
        "",
        *([] if row.kind in play.LEFT_OUT else [_played(row, data), ""]),
    ]


def _played(row: Declaration, data: recorded.Case) -> str:
    """The same list on the interactive page."""
    run, truth = "\n".join(data.run), "\n".join(f"{item} {grade}" for item, grade in data.truth.items())
    address = urlencode({"run": run, "truth": truth, "k": K if row.takes_k else "", "metric": row.name})
    return f"[Play with this list](../play.html#{address}): drag its items and see every tool's number change."


def _apart(ours: Definition, theirs: Definition) -> str:
    return ", ".join(f"`{name}={value!r}`" for name, (_, value) in ours.differences(theirs).items())


# -- conventions ---------------------------------------------------------------------------------------------


def _conventions_index() -> str:
    lines = [f"| [`{name}`]({name}.md) | {one.summary} |" for name, one in rs.conventions.items()]
    choices = [
        f"| `{name}` | {choice.meaning} | `{choice.default!r}` | {_words(choice)} |"
        for name, choice in rs.choices.items()
    ]
    return "\n".join(
        [
            "# Conventions",
            "",
            'A convention is a set of choices with a name: `rs.evaluate(truth, run, metrics, convention="ranx")`.',
            "",
            "| convention | what it follows |",
            "|---|---|",
            *map(_cell_safe, lines),
            "",
            "## Every choice",
            "",
            'Each can be set by name, for all metrics (`ties="expected"`) or for one (`rr_ties="expected"`). The',
            'parameters of a metric are set on the metric: `"ndcg(gain=\'exp2\')@10"`, `rs.ap(divisor="k")`.',
            "",
            "| choice | about | default | values |",
            "|---|---|---|---|",
            *map(_cell_safe, choices),
            "",
        ]
    )


def _convention(one: rs.authoring.Convention) -> str:
    metrics = json.dumps(["precision@3", "recall@3", "ap@3", "ndcg@3"])
    example = RATED if one.choices.get("threshold") == ">3" else EXAMPLE  # else nothing would be relevant
    call = f'rs.evaluate(truth, run, metrics, convention="{one.name}")'
    code = f"import rankstone as rs\n\n{example}metrics = {metrics}\nprint({call})"
    said = [f"| `{name}` | `{value!r}` | {_meaning(name)} |" for name, value in one.choices.items()]
    table = ["| choice | here | about |", "|---|---|---|", *map(_cell_safe, said), ""]
    return "\n".join(
        [
            f"# {one.name}",
            "",
            f"{one.summary[0].upper()}{one.summary[1:]}.",
            "",
            *([f"Compared with {one.library}.", ""] if one.library else []),
            *_block(code),
            "",
            *_printed(code),
            "",
            "## Its choices",
            "",
            *(table if said else ["All choices have their defaults.", ""]),
            *_list("Notes", one.notes),
            *_list("Order of equal scores", (one.undefined_order,) if one.undefined_order else ()),
            *_list("Not reproduced", one.not_reproduced),
        ]
    )


def _meaning(name: str) -> str:
    """The meaning of a choice of a convention: one of all metrics, or a parameter of a metric."""
    if name in rs.choices:
        return rs.choices[name].meaning
    known = declared()
    owners = [metric for metric, row in known.items() if name in row.defaults]
    if owners:
        links = ", ".join(f"[{metric}](../metrics/{metric}.md)" for metric in owners)
        return f"{known[owners[0]].about[name].meaning}; a parameter of {links}"
    plain = name.replace("@k_", "_")
    metric = max((metric for metric in known if plain.startswith(f"{metric}_")), key=len)
    own = plain.removeprefix(f"{metric}_")
    meaning = known[metric].about[own].meaning if own in known[metric].about else rs.choices[own].meaning
    return f"{meaning}; for [{metric}](../metrics/{metric}.md){' with a cutoff' if plain != name else ''}"


def _list(title: str, entries: Sequence[str]) -> list[str]:
    return [f"## {title}", "", *(f"- {one}" for one in entries), ""] if entries else []


# -- the comparison ------------------------------------------------------------------------------------------


def _same_name() -> str:
    out = [
        "# Same name, different number",
        "",
        "The same lists, and what each tool computed for them. A number in bold differs from that of",
        f"`rankstone`; {DASH} means that the tool has no such metric, or none with a cutoff. The convention of each",
        "tool gives the same number, but for what its page lists as not reproduced. On [a live page](play.html)",
        "the lists are yours.",
        "",
    ]
    for name, title in LISTS.items():
        out += _compared(name, title)
    data = recorded.case("a_seed")
    lists = f'truth, run = {{"q": {json.dumps([*data.truth])}}}, {{"q": {json.dumps(data.run)}}}'
    code = f"import rankstone as rs\n\n{lists}"
    code += '\nprint(rs.explain(truth, run, "ap@2", convention=("rankstone", "spark")))'
    out += [
        "## Why",
        "",
        "`rs.explain` shows which choices make the difference.",
        "",
        *_block(code),
        "",
        *_printed(code),
        "",
    ]
    return "\n".join(out)


def _compared(name: str, title: str) -> list[str]:
    """The tools' numbers for one list."""
    data = recorded.case(name)
    asked = [(metric, k) for k in data.cutoffs for metric in COMPARED]
    usual = [f"{rs.metrics[metric](data.run, truth=data.truth, k=k):.3f}" for metric, k in asked]
    tools: dict[str, dict[tuple[str, int], str]] = {}
    for metric, k in asked:
        for answer in recorded.answers(name, metric, k):
            link = f"{answer.tool} ([{answer.convention}](conventions/{answer.convention}.md))"
            tools.setdefault(link, {})[metric, k] = answer.number(3)
    alike: dict[tuple[str, ...], list[str]] = {}
    for link, numbers in tools.items():
        alike.setdefault(tuple(numbers.get(cell, DASH) for cell in asked), []).append(link)
    rows = [("[rankstone](conventions/rankstone.md)", usual)]
    for found, links in alike.items():
        marked = [one if one in (two, DASH) else f"**{one}**" for one, two in zip(found, usual, strict=True)]
        rows.append((", ".join(links), marked))
    return [
        f"## {title[0].upper()}{title[1:]}",
        "",
        f"Relevant: {', '.join(data.truth)}. Returned: {', '.join(data.run)}.",
        "",
        "| tool | " + " | ".join(f"{metric}@{k}" for metric, k in asked) + " |",
        "|---" * (len(asked) + 1) + "|",
        *(f"| {name} | {' | '.join(cells)} |" for name, cells in rows),
        "",
    ]


# -- the reference -------------------------------------------------------------------------------------------

ANSWERS = (
    Comparison, Difference, QueryChanges, Slices, Leaderboard, Account, TieRange,
    UnjudgedRange, Explanation, IdentifyResult, WindowResult, GateOutcome, Scores, Score, TaskLeaderboard, ModelEntry,
)  # what a call may return  # fmt: skip


# The modules of the package, each with the part of the reference that lists its names.
MODULES = (
    "authoring", "fusion", "offpolicy", "statistics", "split", "sql", "arrays", "spark", "testing", "integrations",
    "typing", "errors",
)  # fmt: skip


def _reference() -> str:
    """The public functions and classes with their docstrings, then the modules."""
    public = {name: getattr(rs, name) for name in rs.__all__}
    out = ["# Reference", "", "The names of `import rankstone as rs`, except the [metrics](metrics/index.md).", ""]
    out += ["Modules: " + ", ".join(f"[`rs.{name}`](#rs{name})" for name in MODULES) + ".", ""]
    for name, function in public.items():
        if inspect.isfunction(function):
            out += [f"## rs.{name}", "", *_signed(f"rs.{name}", function), *_documented(function)]
    classes = [entry for entry in public.values() if inspect.isclass(entry)]
    for kind in dict.fromkeys([*classes, *ANSWERS]):
        out += [f"## {kind.__name__}", "", *_documented(kind), *_members(kind)]
    out += _rows("Plots", "comparison.plot(kind)", KINDS)
    for name in MODULES:
        out += _module(name)
    return "\n".join(out)


def _module(name: str) -> list[str]:
    """The public names of a module."""
    module = getattr(rs, name)
    out = [f"## rs.{name}", "", *_documented(module)]
    if name == "statistics":
        return [*out, "All functions are on the page [Statistics](statistics.md).", ""]
    rows = []
    top = {id(getattr(rs, entry)) for entry in rs.__all__}
    for entry in getattr(module, "__all__", ()):
        try:
            member = getattr(module, entry)
        except ImportError:  # an optional library that is not installed
            continue
        label = f"rs.{name}.{entry}"
        if (
            id(member) in top
            or not (inspect.isfunction(member) or inspect.isclass(member))
            or name in ("typing", "errors")
        ):
            rows.append(f"| `{label}` | {_first_line(member)} |")
            continue
        signature = _signed(label, member) if inspect.isfunction(member) else []
        members = _members(member) if inspect.isclass(member) else []
        out += [f"### {label}", "", *signature, *_documented(member), *members]
    if rows:
        out += ["| name | what |", "|---|---|", *map(_cell_safe, rows), ""]
    return out


def _first_line(entry: Any) -> str:
    """The summary of an object; empty for plain values and type aliases."""
    own = inspect.isfunction(entry) or inspect.isclass(entry) or type(entry).__module__.startswith("rankstone")
    return (inspect.getdoc(entry) or "").split("\n")[0] if own else ""


def _statistics() -> str:
    """The functions of `rs.statistics`, and what they return."""
    public = [getattr(statistics, name) for name in statistics.__all__]
    out = [
        "# Statistics",
        "",
        "The functions of `rs.statistics`, on values per query. [`rs.compare`](decide.md) uses them.",
        "",
        "A test or correction that does not support clusters or a finite population raises an error.",
        "",
        *_rows("Tests", "rs.compare(test=...)", statistics.TESTS, "use", "clusters", "population"),
        *_rows("Corrections", "rs.compare(correction=...)", statistics.CORRECTIONS, "clusters", "population"),
        *_rows("Intervals", "result.interval(method=...)", statistics.INTERVALS, "clusters"),
    ]
    for function in (entry for entry in public if inspect.isfunction(entry)):
        name = f"rs.statistics.{function.__name__}"
        out += [f"## {function.__name__}", "", *_signed(name, function), *_documented(function)]
    for kind in (entry for entry in public if inspect.isclass(entry)):
        fields = ", ".join(f"`{name}`" for name in getattr(kind, "_fields", ()))
        out += [
            f"## {kind.__name__}",
            "",
            *_documented(kind),
            *([f"It has {fields}.", ""] if fields else []),
            *_verbs(kind),
        ]
    return "\n".join(out)


def _rows(title: str, call: str, table: Mapping[str, Any], *traits: str) -> list[str]:
    """The rows of a table: their names, what they are, and some of their traits."""
    cells = [
        [f"`{name}`", row.words, *(_trait(getattr(row, trait)) for trait in traits)] for name, row in table.items()
    ]
    head = ["name", "what", *traits]
    lines = [f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *cells]]
    return [f"## {title}", "", f"`{call}`, by name.", "", *lines, ""]


def _trait(value: str | bool) -> str:
    return value if isinstance(value, str) else "yes" if value else "no"


def _verbs(kind: type) -> list[str]:
    """The methods and properties of a class besides its fields."""
    inherited = {*dir(tuple), *getattr(kind, "_fields", ())}
    return _members(kind, {name for name, _ in inspect.getmembers(kind) if name not in inherited})


_UNQUOTED = re.compile(r"(: |-> )'([^']*)'")  # annotations are strings


def _signed(name: str, function: Any) -> list[str]:
    """The signature with types and defaults, one parameter per line if it is long."""
    signature = inspect.signature(function)
    try:
        text = str(signature)
    except ValueError:
        return [f"`{name}(...)`", ""]
    text = re.sub(r"<object object at 0x\w+>|<\w[\w.]*\.(\w+) object at 0x\w+>", "...", text)
    text = _UNQUOTED.sub(r"\1\2", text)
    if len(name) + len(text) > 100:
        parts, bare = [], False
        for parameter in signature.parameters.values():
            if parameter.kind is parameter.KEYWORD_ONLY and not bare:
                parts.append("*")
            bare = bare or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
            parts.append(_UNQUOTED.sub(r"\1\2", re.sub(r"<.* object at 0x\w+>", "...", str(parameter))))
        returned = "" if signature.return_annotation is signature.empty else f" -> {signature.return_annotation}"
        text = "".join(["(\n", *(f"    {part},\n" for part in parts), f"){returned}"])
    return ["```py", f"{name}{text}", "```", ""]


_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


def _documented(entry: Any) -> list[str]:
    """A numpydoc docstring as Markdown: paragraphs, parameters as a list, examples whole."""
    summary, *sections = _SECTION.split(inspect.getdoc(entry) or "")
    out = _paragraphs(summary)
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        out += [f"**{title}**", ""]
        if title in ("Parameters", "Returns", "Yields", "Raises", "Attributes", "Other Parameters", "Warns"):
            out += [*_fields(body), ""]
        else:
            out += _paragraphs(body)
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
            out.append(f"- `{name.strip()}`" + (f" ({_plain_stars(kind.strip())})" if colon else ""))
        elif line.strip():
            out[-1] = out[-1].removesuffix(_OPEN) + (" " if out[-1].endswith(_OPEN) else ": ") + line.strip() + _OPEN
    return [line.replace(_OPEN, "") for line in out]


_OPEN = "\0"  # a list entry that has a description


def _plain_stars(text: str) -> str:
    return text.replace("*", "\\*")


def _members(kind: type, wanted: set[str] | None = None) -> list[str]:
    """Methods and properties of a class, or the wanted ones."""
    rows = []
    for name, member in inspect.getmembers(kind):
        text = inspect.getdoc(member)
        if (
            name.startswith("_")
            or (wanted is not None and name not in wanted)
            or not text
            or not (callable(member) or isinstance(member, (property, cached_property)))
        ):
            continue
        rows.append(f"| `{name}{'()' if callable(member) else ''}` | {text.splitlines()[0]} |")
    return ["| member | |", "|---|---|", *map(_cell_safe, rows), ""] if rows else []


# -- Markdown ------------------------------------------------------------------------------------------------


def _block(code: str) -> list[str]:
    return ["```python", code, "```"]


def _printed(code: str) -> list[str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {})
    return ["```text", out.getvalue().rstrip("\n"), "```"]


def _cell_safe(line: str) -> str:
    """A table's line whose code may hold a bar, which only HTML can say there."""

    def marked(code: re.Match[str]) -> str:
        return f"<code>{escape(code[1]).replace('|', '&#124;')}</code>" if "|" in code[1] else code[0]

    return re.sub(r"`([^`]*)`", marked, line)


def _mathml(latex: str) -> str:
    """Browsers read MathML by themselves."""
    from latex2mathml.converter import convert

    return f'<div class="formula">{convert(latex, display="block")}</div>'


# -- pictures ------------------------------------------------------------------------------------------------


def _pictures() -> list[str]:
    ranks = range(1, 21)
    discounts = {
        "log2(rank+1)": [1 / math.log2(rank + 1) for rank in ranks],
        "log2(max(rank,2))": [1 / math.log2(max(rank, 2)) for rank in ranks],
        "rank": [1 / rank for rank in ranks],
    }
    grades = range(5)
    gains = {"linear": [float(g) for g in grades], "exp2": [2.0**g - 1 for g in grades]}
    return [
        "## Discount and gain",
        "",
        "The discount is the weight of a rank, the gain that of a grade.",
        "",
        _chart("discount by rank", list(ranks), discounts),
        "",
        _chart("gain by grade", list(grades), gains),
        "",
    ]


_COLOURS = ("#1b6ca8", "#c1440e", "#3a7d44")


def _chart(title: str, xs: Sequence[int], series: Mapping[str, Sequence[float]]) -> str:
    """Lines in an SVG of its own."""
    width, height, left, top = 560, 240, 44, 24
    highest = max(max(values) for values in series.values())

    def at(x: float, y: float) -> str:
        across = left + (x - xs[0]) / (xs[-1] - xs[0]) * (width - left - 150)
        return f"{across:.1f},{top + (1 - y / highest) * (height - top - 32):.1f}"

    parts = [f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{title}" class="chart">']
    parts.append(f'<text x="{left}" y="14" font-weight="600">{title}</text>')
    for share in (0, 0.5, 1):
        x1, y = at(xs[0], share * highest).split(",")
        x2, _ = at(xs[-1], 0).split(",")
        parts.append(f'<line x1="{x1}" x2="{x2}" y1="{y}" y2="{y}" stroke="currentColor" opacity="0.2"/>')
        parts.append(f'<text x="{left - 6}" y="{y}" text-anchor="end" dy="4">{share * highest:g}</text>')
    for x in xs if len(xs) < 10 else [xs[0], *xs[4::5]]:
        across, _ = at(x, 0).split(",")
        parts.append(f'<text x="{across}" y="{height - 12}" text-anchor="middle">{x}</text>')
    for colour, (name, values) in zip(_COLOURS, series.items(), strict=False):
        line = " ".join(at(x, y) for x, y in zip(xs, values, strict=True))
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(
            f'<text x="{width - 144}" y="{top + 18 * (1 + list(series).index(name))}" fill="{colour}">{name}</text>'
        )
    return "".join([*parts, "</svg>"])


# -- mkdocs --------------------------------------------------------------------------------------------------


def on_config(config: Any) -> Any:
    """Name the generated pages in the navigation."""
    metrics = [{name: f"metrics/{name}.md"} for name in sorted(declared()) if is_built_in(declared()[name])]
    conventions = [{name: f"conventions/{name}.md"} for name in rs.conventions]
    generated = {
        "Metrics": ["metrics/index.md", *metrics],
        "Conventions": ["conventions/index.md", *conventions],
    }
    config.nav = [{title: generated.get(title, entry)} for part in config.nav for title, entry in part.items()]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages."""
    from mkdocs.structure.files import File

    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    files.append(File.generated(config, "play.html", content=play.page()))
    return files
