"""Generates pages of the handbook from the code: one per metric, one per convention, the comparison, the changelog.

mkdocs calls the `on_` functions while it builds the site; the tests call `pages` and run what the pages show.
reference.py has the pages of the Python API, play.py the playground.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import re
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import rankstone as rs
from rankstone.conventions.choices import Choice
from rankstone.metrics.registry import Declaration, Parameter, declared, is_built_in
from rankstone.results.definition import Definition

sys.path.append(str(Path(__file__).parent))
import play
import recorded
import reference
from reference import cell_safe

ROOT = Path(__file__).parents[1]
K = 3
FIRST = ("ndcg", "ap", "rr", "recall", "precision", "hit_rate")  # what most people need
# The families in the order of the index: modules of `rankstone.metrics`, whose docstrings begin with a title.
FAMILIES = (
    "gains", "precision", "sets", "cascade", "pairs", "intents", "beyond_accuracy", "diversity", "fairness",
    "rank_correlation", "rating_errors", "answers", "nuggets",
)  # fmt: skip
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
        "changelog.md": _changelog(),
        **reference.pages(),
    }


def _changelog() -> str:
    title, _, text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").partition("\n")
    return "\n".join([*_front(title.removeprefix("# "), 0.3), text.replace("](docs/", "](")])


def _front(title: str, boost: float) -> list[str]:
    """The head of a page, with its weight in the search."""
    return ["---", f"search: {{boost: {boost}}}", "---", "", f"# {title}", ""]


# -- metrics -------------------------------------------------------------------------------------------------


def _families(known: Mapping[str, Declaration]) -> dict[str, list[Declaration]]:
    """The metrics of each family, by its title."""
    families: dict[str, list[Declaration]] = {name: [] for name in FAMILIES}
    for row in known.values():
        families[row.function.__module__.rpartition(".")[2]].append(row)
    modules = {name: sys.modules[f"rankstone.metrics.{name}"].__doc__ or "" for name in FAMILIES}
    return {re.split("[:.]", modules[name])[0]: rows for name, rows in families.items()}


def _metrics_index(known: Mapping[str, Declaration]) -> str:
    out = [
        *_front("Metrics", 2),
        "## Start with these",
        "",
        *_metrics_table([known[name] for name in FIRST]),
        'Add `@k` to any of them to read the first k places: `ndcg@10`. `print(rs.define("ndcg@10"))` prints the',
        "definition of a number, [conventions](../conventions/index.md) are those of other tools.",
        "",
    ]
    for title, rows in _families(known).items():
        out += [f"## {title}", "", *_metrics_table(rows)]
    return "\n".join(out)


def _metrics_table(rows: Sequence[Declaration]) -> list[str]:
    lines = [f"| [`{row.name}`]({row.name}.md) | {row.full_name} | `{rs.define(_cut(row)).formula}` |" for row in rows]
    return ["| metric | name | formula |", "|---|---|---|", *map(cell_safe, lines), ""]


def _cut(row: Declaration) -> str:
    """The metric with a cutoff, if it takes one."""
    return f"{row.name}@{K}" if row.takes_k else row.name


def _title(row: Declaration) -> str:
    """The full name, the name here, the abbreviation: "Average precision (`ap`, MAP)"."""
    words, _, abbreviation = row.full_name.rstrip(")").partition(" (")
    return f"{words} (`{row.name}`{', ' if abbreviation else ''}{abbreviation})"


def _metric(row: Declaration) -> str:
    named = _cut(row)
    definition = rs.define(named)
    paragraphs = (row.function.__doc__ or "").split(">>>", 1)[0].strip().split("\n\n")[1:]
    return "\n".join(
        [
            *_front(_title(row), 4 if row.name in FIRST else 2),
            row.summary,
            "",
            *(line for one in paragraphs for line in (_with_links(re.sub(r"\s+", " ", one.strip())), "")),
            *([] if definition.latex.startswith(r"\text") else [_mathml(definition.latex), ""]),
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


def _with_links(text: str) -> str:
    return re.sub(r"doi:(10\.\S*\w)", r"[doi:\1](https://doi.org/\1)", text)


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
    return ["| parameter | about | default | values |", "|---|---|---|---|", *map(cell_safe, lines), ""]


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
        *map(cell_safe, lines),
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
            *_front("Conventions", 2),
            'A convention is a set of choices with a name: `rs.evaluate(truth, run, metrics, convention="ranx")`.',
            "",
            "| convention | what it follows |",
            "|---|---|",
            *map(cell_safe, lines),
            "",
            "## Every choice",
            "",
            'Each can be set by name, for all metrics (`ties="expected"`) or for one (`rr_ties="expected"`). The',
            'parameters of a metric are set on the metric: `"ndcg(gain=\'exp2\')@10"`, `rs.ap(divisor="k")`.',
            "",
            "| choice | about | default | values |",
            "|---|---|---|---|",
            *map(cell_safe, choices),
            "",
        ]
    )


def _convention(one: rs.authoring.Convention) -> str:
    has = recorded.metrics_of(one.name) or COMPARED
    metrics = json.dumps([f"{metric}@{K}" for metric in COMPARED if metric in has])
    begins = one.summary if one.summary.startswith(one.name) else f"{one.summary[0].upper()}{one.summary[1:]}"
    example = RATED if one.choices.get("threshold") == ">3" else EXAMPLE  # else nothing would be relevant
    call = f'rs.evaluate(truth, run, metrics, convention="{one.name}")'
    code = f"import rankstone as rs\n\n{example}metrics = {metrics}\nprint({call})"
    said = [f"| `{name}` | `{value!r}` | {_meaning(name)} |" for name, value in one.choices.items()]
    table = ["| choice | here | about |", "|---|---|---|", *map(cell_safe, said), ""]
    return "\n".join(
        [
            *_front(f"{one.name} convention{''.join(f' ({name})' for name in one.aliases)}", 1.5),
            f"{begins}.",
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
        *_front("Same name, different number", 2),
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


# -- Markdown ------------------------------------------------------------------------------------------------


def _block(code: str) -> list[str]:
    return ["```python", code, "```"]


def _printed(code: str) -> list[str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {})
    return ["```text", out.getvalue().rstrip("\n"), "```"]


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

# A link to a generated page, which is none before it is generated: `generated.md#metrics/ndcg`, `generated.md#play`.
_GENERATED = re.compile(r"(?<=\]\()(?P<up>(?:\.\./)*)generated\.md#(?P<page>[\w./-]+)(?P<place>#[\w-]+)?(?=\))")


def _link(link: re.Match[str]) -> str:
    page = {"play": "play.html", "metrics": "metrics/index.md", "conventions": "conventions/index.md"}
    return f"{link['up']}{page.get(link['page'], link['page'] + '.md')}{link['place'] or ''}"


# A Python block, or a picture that its names draw: `<!-- figure: comparison.plot("forest") -->`, unseen elsewhere.
_PARTS = re.compile(
    r"^ *```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^ *```$|^<!-- figure: (?P<figure>.+?) -->$", re.MULTILINE | re.DOTALL
)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point links at the generated pages; run the Python blocks of a page that has pictures, and draw these."""
    if page.file.src_path == "index.md":
        page.meta["hide"] = ["navigation", "toc"]
    if page.file.src_path.startswith("moving/"):  # before the convention of the same tool
        page.meta["search"] = {"boost": 2}
    markdown = _GENERATED.sub(_link, markdown)
    if "<!-- figure:" not in markdown:
        return markdown
    namespace: dict[str, Any] = {"__name__": "__main__"}

    def drawn(part: re.Match[str]) -> str:
        if part["figure"]:
            value = eval(part["figure"], namespace)
            text = re.sub(r"\n\s*\n", "\n", value if isinstance(value, str) else value.svg())  # one block of HTML
            return f'<div class="figure">{text}</div>'
        if part["language"] == "python":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(textwrap.dedent(part["code"]), page.file.src_path, "exec"), namespace)
        return part[0]

    return _PARTS.sub(drawn, markdown)


def on_config(config: Any) -> Any:
    """Name the generated pages in the navigation, where it has a word in angle brackets."""
    known = {name: row for name, row in sorted(declared().items()) if is_built_in(row)}
    families = [
        {title: [{row.full_name: f"metrics/{row.name}.md"} for row in rows]} for title, rows in _families(known).items()
    ]
    generated = {
        "<metrics>": ["metrics/index.md", *families],
        "<conventions>": ["conventions/index.md", *({name: f"conventions/{name}.md"} for name in rs.conventions)],
        "<modules>": [
            "reference.md",
            {"Results": "reference/results.md"},
            *({f"rankstone.{name}": path} for name, path in reference.PAGES.items()),
        ],
    }

    def filled(entry: Any) -> Any:
        if isinstance(entry, list):
            return [filled(part) for part in entry]
        if isinstance(entry, dict):
            return {title: filled(part) for title, part in entry.items()}
        return generated.get(entry, entry)

    config.nav = filled(config.nav)
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages."""
    from mkdocs.structure.files import File

    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    files.append(File.generated(config, "play.html", content=play.page(_tabs(config.nav))))
    return files


def _tabs(nav: Any) -> dict[str, str]:
    """The first page of each part of the handbook, by the part's title."""
    tabs = {}
    for part in nav:
        for title, entry in part.items():
            while not isinstance(entry, str):
                entry = entry[0] if isinstance(entry, list) else next(iter(entry.values()))
            if entry.endswith(".md"):
                tabs[title] = re.sub(r"(?:/?index)?\.md$", "", entry) + "/index.html"
    return {title: address.lstrip("/") for title, address in tabs.items()}
