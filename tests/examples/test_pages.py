"""Every Python block of the README and the docs runs, and says the truth.

The blocks of a page run from top to bottom in one namespace. Two marks are checked:

- `expression  # -> value`: the expression has this value. A number is compared to the digits written.
- A `text` block right after a Python block is what that block printed, word for word.

A comment `<!-- figure: expression -->` is a picture that the handbook draws there: the expression is a plot, or HTML.
"""

import ast
import contextlib
import inspect
import io
import os
import re
import runpy
import shutil
import sys
import textwrap
import tokenize
import warnings
from collections.abc import Iterator
from functools import cached_property
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, SimpleNamespace
from typing import Any, NamedTuple

import pytest

import rankstone as rs
from rankstone.compare.plot_kinds import KINDS
from rankstone.metrics import registry

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
FENCE = re.compile(
    r"^ *```(?P<language>[^\n]*)\n(?P<text>.*?)^ *```$|^<!-- (?P<figure>figure): (?P<expression>.+?) -->$",
    re.MULTILINE | re.DOTALL,
)
MARK = re.compile(r"# -> (.*)$")


class Block(NamedTuple):
    language: str
    text: str
    line: int  # the page's line before the text, so that errors name lines of the page


def blocks(page: str) -> list[Block]:
    return [
        Block(
            fence["figure"] or fence["language"],
            textwrap.dedent(fence["expression"] or fence["text"]),
            page.count("\n", 0, fence.start("expression" if fence["figure"] else "text")),
        )
        for fence in FENCE.finditer(page)
    ]


def run_block(block: Block, page: str, namespace: dict[str, Any]) -> str:
    """Run one block, check its `# ->` marks, and return what it printed."""
    expected = {}
    for token in tokenize.generate_tokens(io.StringIO(block.text).readline):
        if token.type == tokenize.COMMENT and (mark := MARK.search(token.string)):
            expected[token.start[0] + block.line] = mark[1]

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for statement in ast.increment_lineno(ast.parse(block.text), block.line).body:
            line = statement.end_lineno
            if isinstance(statement, ast.Expr) and line in expected:
                value = eval(code(ast.Expression(statement.value), page), namespace)
                check(value, expected.pop(line), f"{page}:{line}")
            else:
                exec(code(ast.Module([statement], []), page), namespace)
    assert not expected, f"{page}: `# ->` does not follow an expression on lines {sorted(expected)}"
    return printed.getvalue()


def code(tree: ast.Expression | ast.Module, page: str) -> CodeType:
    return compile(tree, page, "eval" if isinstance(tree, ast.Expression) else "exec")


def check(value: Any, expected: str, where: str) -> None:
    if re.fullmatch(r"-?\d+\.\d+", expected):
        digits = len(expected.partition(".")[2])
        assert f"{value:.{digits}f}" == expected, f"{where}: the page says {expected}, it is {value!r}"
    else:
        assert value == ast.literal_eval(expected), f"{where}: the page says {expected}, it is {value!r}"


@pytest.fixture
def own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A metric, a fusion or a provider that a page declares is gone after the page."""
    for place in (rs.metrics, rs.fusion.methods):
        for name in ("rows", "names"):
            monkeypatch.setattr(place, name, dict(getattr(place, name)))
    yield
    library = sys.modules.get("ir_measures")
    if library and (ours := library.providers.registry.pop("rankstone", None)):  # a page lets it compute by rankstone
        library.DefaultPipeline.providers.remove(ours)


def _marked(path: Path) -> Any:
    java = pytest.mark.skipif(shutil.which("java") is None and "JAVA_HOME" not in os.environ, reason="needs java")
    marks = {"spark.md": [pytest.mark.service("spark"), java], "ranx.md": [pytest.mark.slow]}  # ranx compiles for long
    return pytest.param(path, marks=marks.get(path.name, []))


@pytest.mark.parametrize("path", list(map(_marked, PAGES)), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_page_runs(path: Path, own_registry: None) -> None:
    try:
        with warnings.catch_warnings():
            if path.parent.name in ("moving", "integrations"):  # what other tools warn of is theirs
                warnings.simplefilter("ignore")
            run_page(path.name, path.read_text(encoding="utf-8"))
    except ModuleNotFoundError as missing:
        if (missing.name or "rankstone").startswith("rankstone"):
            raise
        pytest.skip(f"the page needs {missing.name}")


def run_page(page: str, text: str) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed = None
    for block in blocks(text):
        if block.language == "python":
            printed = run_block(block, page, namespace)
        elif block.language == "figure":
            figure = eval(block.text, namespace)
            shown = figure if isinstance(figure, str) else figure.svg()
            assert shown.startswith("<"), f"{page}:{block.line}: {block.text} is neither a plot nor HTML"
        elif block.language == "text" and printed is not None:
            assert printed.split() == block.text.split(), f"{page}:{block.line}: it prints\n{printed}"
            printed = None
        else:
            assert block.language in {"text", "sh", "py", "pycon", "toml", "yaml", "js"}, (
                f"{page}:{block.line}: unknown language {block.language!r}"
            )
            printed = None


class TestHandbook:
    """The pages that docs/handbook.py writes."""

    @pytest.fixture
    def handbook(self) -> Any:
        pytest.importorskip("latex2mathml")
        found = spec_from_file_location("handbook", ROOT / "docs" / "handbook.py")
        assert found is not None
        module = module_from_spec(found)
        sys.modules["handbook"] = module
        assert found.loader is not None
        found.loader.exec_module(module)
        return module

    def test_pages_run(self, handbook: Any, own_registry: None) -> None:
        pages = handbook.pages()
        assert len(pages) > len(registry.declared()) + len(rs.conventions)
        for name, text in pages.items():
            run_page(name, text)

    def test_numbers_of_tools_are_their_own(self, handbook: Any) -> None:
        pages = handbook.pages()
        row = re.search(r"^\| lightgbm 4.*$", pages["same-name.md"], re.MULTILINE)
        assert row is not None
        cells = [cell.strip() for cell in row[0].strip("|").split("|")]
        assert cells[1:5] == ["\N{EN DASH}", "\N{EN DASH}", "**0.500**", "0.613"]  # it has no precision and recall
        assert "No number of another tool is recorded." in pages["metrics/rbo.md"]
        assert "| 0.8308 | lightgbm 4.7.0" in pages["metrics/ndcg.md"]
        assert "lightgbm" not in pages["metrics/recall.md"].partition("## Who")[2]

    def test_bars_in_tables(self, handbook: Any) -> None:
        assert "<code>sum of &#124;score - grade&#124; / n</code>" in handbook.pages()["metrics/index.md"]

    def test_the_reference_of_plots_and_statistics(self, handbook: Any) -> None:
        pages = handbook.pages()
        assert all(f"| `{name}` | {kind.words} |" in pages["reference.md"] for name, kind in KINDS.items())
        for rows in (rs.statistics.TESTS, rs.statistics.CORRECTIONS, rs.statistics.INTERVALS):
            assert all(f"| `{name}` | {row.words} |" in pages["statistics.md"] for name, row in rows.items())

    def test_every_public_name_has_an_entry(self, handbook: Any) -> None:
        pages = handbook.reference.pages()
        entries = {
            name: text
            for page in pages.values()
            for name, text in re.findall(r"^##+ (\S+)\n(.*?)(?=^##+ |\Z)", page, re.MULTILINE | re.DOTALL)
        }
        for name, value in public_names().items():
            label = name if name in entries else name.rpartition(".")[2]  # a result has its class's name
            assert label in entries, f"the reference has no entry for {name}"
            if inspect.isfunction(value) or isinstance(value, rs.authoring.Metric):
                missing = undocumented(value, entries[label])
                assert f"```py\n{label}(" in entries[label], f"{label} has no signature"
                assert not missing, f"{label}: {missing} are not described"
        assert "- `truth`, `runs`, `metrics`: As" in entries["rs.testing.assert_not_worse"]
        assert "metrics: Metrics = " in entries["rs.evaluate"]
        assert "**Examples**" in entries["rs.Online"]
        assert "half_life" in entries["rs.Online"]

    def test_titles_of_metrics(self, handbook: Any) -> None:
        pages = handbook.pages()
        for name, title in (
            ("ap", "Average precision (`ap`, MAP)"),
            ("rr", "Reciprocal rank (`rr`, MRR)"),
            ("ndcg", "Normalised discounted cumulative gain (`ndcg`, nDCG)"),
            ("coverage", "Catalogue coverage (`coverage`)"),
            ("precision", "Precision (`precision`)"),
        ):
            assert f"\n# {title}\n" in pages[f"metrics/{name}.md"]
        assert "(sklearn)\n" in pages["conventions/scikit-learn.md"]
        assert pages["metrics/ap.md"].startswith("---\nsearch: {boost: 4}\n---\n")  # before metrics with the word in it
        assert "| [`precision`](precision.md) | Precision | `hits(k) / k` |" in pages["metrics/index.md"]

    def test_figures_are_drawn(self, handbook: Any) -> None:
        page = SimpleNamespace(file=SimpleNamespace(src_path="page.md"), meta={})
        text = "```python\nprint(1)\nx = '<b>3</b>'\n```\n\n<!-- figure: x -->\n"
        assert handbook.on_page_markdown(text, page).endswith('```\n\n<div class="figure"><b>3</b></div>\n')
        with pytest.raises(NameError):
            handbook.on_page_markdown("<!-- figure: absent -->\n", page)

    def test_links_to_generated_pages(self, handbook: Any) -> None:
        page = SimpleNamespace(file=SimpleNamespace(src_path="page.md"), meta={})
        for link, wanted in (
            ("generated.md#metrics", "metrics/index.md"),
            ("../generated.md#metrics/ap", "../metrics/ap.md"),
            ("generated.md#reference#plots", "reference.md#plots"),
            ("generated.md#play", "play.html"),
        ):
            assert handbook.on_page_markdown(f"[a]({link})", page) == f"[a]({wanted})"


def public_names() -> dict[str, Any]:
    """What users can reach by a name: those of the package, of its modules, and the members of their classes."""
    modules = {name: getattr(rs, name) for name in dir(rs) if inspect.ismodule(getattr(rs, name))}
    names = {f"rs.{name}": getattr(rs, name) for name in rs.__all__ if name not in modules}
    for module, of in modules.items():
        for name in getattr(of, "__all__", ()):
            with contextlib.suppress(ImportError):  # of a library that is not installed
                names.setdefault(f"rs.{module}.{name}", getattr(of, name))
    top = {id(value) for name, value in names.items() if name.count(".") == 1}
    names = {
        name.removeprefix("rs.typing."): value
        for name, value in names.items()
        if not name.isupper()
        and not name.rpartition(".")[2].isupper()
        and (name.count(".") == 1 or id(value) not in top)
    }
    for value in [value for value in names.values() if inspect.isclass(value) and hasattr(value, "__module__")]:
        if value.__module__.startswith("rankstone") and value.__module__ not in OPAQUE:
            for name, member in vars(value).items():
                plain = getattr(member, "__func__", member)
                if not name.startswith("_") and (
                    inspect.isfunction(plain) or isinstance(member, (property, cached_property))
                ):
                    names[f"{value.__name__}.{name}"] = plain
    return names


OPAQUE = ("rankstone.data.columns", "rankstone.data.lists", "rankstone.data.side_info")  # data to hand on


def undocumented(function: Any, entry: str) -> set[str]:
    """Parameters that an entry does not describe; those of a vocabulary are described at its class."""
    if getattr(function, "__qualname__", "").partition(".")[0] in ("Ranking", "Recommendations", "FusionInput"):
        return set()
    names = set(inspect.signature(function).parameters) - {"self", "cls"}
    described = re.findall(r"^- (.*)$", entry, re.MULTILINE)
    return names - {name.strip("*") for line in described for name in re.findall(r"`([*\w]+)`", line.partition(":")[0])}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_make_targets_exist(path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"(?:^|`)make ([a-z-]+)", path.read_text(encoding="utf-8"), re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{path.name}: no target {target!r} in the Makefile"


def test_readme_names_what_people_search_for() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 200
    assert readme.count("<img ") >= 3
    for word in (
        "MRR", "MAP", "hit rate", "significance", "confidence interval", "p-value", "power", "RAG", "BigQuery",
        "Snowflake", "Elasticsearch", "MTEB", "LaTeX", "pytest", "A/B", "notebook",
    ):  # fmt: skip
        assert re.search(rf"\b{word}", re.sub(r"\s+", " ", readme)), word
    for convention in re.findall(r"^\|.*?\|(.*?)\|", readme.partition("## Coming from")[2], re.MULTILINE):
        assert set(re.findall(r"`([^`]+)`", convention)) <= set(rs.conventions)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("1 / 3  # -> 0.3334\n", "the page says 0.3334, it is 0.333"),
        ("[1, 2]  # -> [2, 1]\n", "the page says"),
        ("x = 1  # -> 1\n", "does not follow an expression"),
        ("max(  # -> 3\n    1,\n    2,\n)\n", "does not follow an expression"),
    ],
)
def test_a_false_mark_fails(text: str, error: str) -> None:
    with pytest.raises(AssertionError, match=re.escape(error)):
        run_block(Block("python", text, 10), "page.md", {})


def test_a_figure_is_checked() -> None:
    run_page("page.md", "```python\nx = '<svg/>'\n```\n<!-- figure: x -->\n")
    with pytest.raises(AssertionError, match="neither a plot nor HTML"):
        run_page("page.md", "```python\nx = 'svg'\n```\n<!-- figure: x -->\n")


def test_a_true_mark_passes() -> None:
    assert run_block(Block("python", "x = 2\nx / 3  # -> 0.667\nprint(x)\n[x]  # -> [2]\n", 10), "page.md", {}) == "2\n"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_to_files_that_are_checked_in(path: Path) -> None:
    """So that they work where the pages are read without the handbook; `generated.md#metrics` is for generated ones."""
    text = re.sub(r"^ *```.*?^ *```$|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if not re.match(r"\w+:", link):
            assert (path.parent / link).exists(), f"{path.name}: {link} is not there"


def test_pictures_show_what_is_recorded() -> None:
    """Those of the README are as docs/figures.py draws them, and the seven values are seven."""
    figures = runpy.run_path(str(ROOT / "docs" / "figures.py"))
    for name, text in figures["pictures"]().items():
        assert (ROOT / "docs" / "assets" / name).read_text(encoding="utf-8") == text, "run docs/figures.py"
    assert len({bar.value for bar in figures["tools"]()}) == 7
