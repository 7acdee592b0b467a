"""Writes the page to play with: every metric of one list, under every convention, in a browser.

A metric is not written again for it. Its functions are those that `rs.compile` writes in JavaScript, of the same graph.
What several definitions read is a function of its own, so that thousands of them share most of what they compute.
"""

from __future__ import annotations

import base64
import json
import sys
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import rankstone as rs
from rankstone.align.ties import TIES
from rankstone.compile import File, facts_of
from rankstone.compile.languages import JAVASCRIPT
from rankstone.compile.translate import Printer, functions_of
from rankstone.conventions.choices import CHOICES
from rankstone.conventions.plan import Plan, make_plans
from rankstone.errors import NoClosedFormError
from rankstone.evaluate.means import mean_from, parts_of
from rankstone.evaluate.values import MetricValues, apply, counted_of, ratio_of, values_of
from rankstone.explain.sweep import changed, choice_of
from rankstone.metrics.registry import Declaration, declared, is_built_in
from rankstone.program.graph import Expression, Fault, Graph
from rankstone.program.ranking import Ranking, StaticFacts
from rankstone.program.source_terms import Lowering, nodes_of, orders
from rankstone.program.statements import Statements
from rankstone.results.definition import definition_of

sys.path.append(str(Path(__file__).parent))
import recorded

HERE = Path(__file__).parent / "play"
# An item is once in a list of the page, and its one query is on both sides.
IDLE = ("duplicates", "truth_duplicates", "missing", "extra")
LEFT_OUT = ("agreement", "intents", "recommendations")  # kinds of metrics for which a page has no data
KINDS = ("ranking", "count", "ratings")  # in the order of the page
USUAL = ("ndcg", "ap", "rr", "precision", "recall", "f1", "hit_rate", "dcg", "auc", "err", "rbp", "bpref")
SCRIPTS = ("lists.js", "compare.js", "lines.js", "page.js")


class Decided:
    """Decisions of a mean over one query, as expressions."""

    def __init__(self, ranking: Ranking) -> None:
        self.ranking = ranking

    def choose(self, condition: Any, yes: Any, no: Any) -> Any:
        return self.ranking.where(condition, yes(), no())

    def raise_where(self, condition: Any, problem: str) -> None:
        self.ranking.raise_where(condition, problem)

    def exp(self, x: Any) -> Any:
        return self.ranking.exp(x)

    def round(self, x: Any, digits: int) -> Any:
        return self.ranking.round(x, digits)


class Pooled(Ranking):
    """All rows as one list, in which items without scores are tied."""

    @property
    def items_above(self) -> Any:
        return self.where(self.score == self.score, super().items_above, 0.0)

    @property
    def items_tied(self) -> Any:
        return self.where(self.score == self.score, super().items_tied, self.broadcast(self.placed))


class Compiled(NamedTuple):
    """What a definition comes to: how the list is put in order, the number, and what would be an error."""

    how: int
    root: int


# Values of the query that a function of their own computes, once for a list.
SHARED = ("sum", "highest", "lowest", "product", "pairs", "overlap", "discount_total", "highest_grade")
LANGUAGE = replace(JAVASCRIPT, calls={**JAVASCRIPT.calls, "shared": "shared({0}, lists)"})


class Program:
    """The functions of all definitions, each once."""

    def __init__(self) -> None:
        self.file = File([], rs.conventions["rankstone"], LANGUAGE, "grades")
        self.graph = Graph()
        self.lower = Lowering(self.graph)
        self.functions: dict[str, int] = {}  # by their lines
        self.names: dict[Expression, str] = {}  # of the values of functions
        self.hows: list[tuple[str, str]] = []  # functions that align the list, and that put its tied items in order
        self.roots: list[tuple[int, int]] = []  # a function of the number, and those of what is an error
        self.faults: list[tuple[int, ...]] = []
        self._at: dict[Any, int] = {}

    def compile(self, plan: Plan, symbolic: bool) -> Compiled:
        """A definition; symbolic: its k is the page's."""
        if symbolic:
            plan = replace(plan, arguments={**plan.arguments, "k": "k"})
        rule, facts = TIES[plan.choices["ties"]], facts_of(plan, "grades")
        self.graph.faults.clear()
        try:
            mean = self._mean(plan, facts)
        except NoClosedFormError as error:  # but there is one where nothing is tied
            self.graph.faults.clear()
            ranking = Ranking(self.graph, facts)
            ranking.raise_at_items(ranking.items_tied > 1.0, str(error), None)
            mean = self._mean(plan, facts._replace(ties=None))
        faults = tuple(self._function([], [fault]) for fault in self.graph.faults)
        arranged = "" if rule.arrange is None else self.file.arranged(rule.name, facts)
        how = self._number("how", (self.file.aligned(plan, facts), arranged), self.hows)
        root = (self._function([mean], []), self._number("faults", faults, self.faults))
        return Compiled(how, self._number("root", root, self.roots))

    def _mean(self, plan: Plan, facts: StaticFacts) -> Expression:
        """Over one query."""
        ranking = Ranking(self.graph, facts)
        ratio = ratio_of(plan, ranking).map(self.graph.of)
        values, counted = values_of(plan, ranking, ratio, counted_of(plan, ranking))
        queries = 1.0 if counted is None else ranking.number(counted)
        if plan.choices["empty_list"] == "error":
            ranking.raise_where(ranking.retrieved == 0, "the list is empty")
        if plan.averaging.pooled:
            if plan.metric.declaration.kind in ("ranking", "count"):
                problem = "averaging='one_list' needs a grade for every row"
                ranking.raise_where(ranking.retrieved > ranking.placed, problem)
            whole = apply(plan, Pooled(self.graph, facts._replace(ties=None))).map(self.graph.of)
            parts = tuple(ranking.where(queries == 0, 0.0, part) for part in (whole.numerator, whole.denominator))
        else:
            measured = MetricValues(ranking, ratio, values, counted)
            parts = tuple(part for part in parts_of(plan, measured, None) if part is not None)
        top, bottom = parts if len(parts) > 1 else (parts[0], queries)
        mean = mean_from(plan, (top, bottom, queries), ratio.finish, Decided(ranking))
        return self.graph.of(mean)

    def _function(self, values: list[Expression], faults: list[Fault]) -> int:
        """The number of the function of a value, or of an error."""
        wanted = [part for fault in faults for part in (fault.condition, fault.value) if part is not None]
        for one in nodes_of(map(self.lower, (*values, *wanted)), lambda one: (*one.args, *orders(one)), self.names):
            if one.op in SHARED and one not in self.names:
                self.names[one] = f"shared({self._written([one], [])})"
        return self._written(values, faults)

    def _written(self, values: list[Expression], faults: list[Fault]) -> int:
        """The number of a function's lines."""
        written = Statements(self.graph, values, faults, lower=self.lower, names=self.names)
        returned = written.text(written.values[0], written.names_of_query) if values else "0.0"
        lines = "\n".join(f"    {line}" for line in (*written.lines, f"return {returned}"))
        return self.functions.setdefault(lines, len(self.functions))

    def _number(self, what: str, key: Any, among: list[Any]) -> int:
        if (what, key) not in self._at:
            self._at[what, key] = len(among)
            among.append(key)
        return self._at[what, key]

    @property
    def script(self) -> str:
        """All functions, in JavaScript."""
        texts = [f"def f{at}(lists: Lists, k: float) -> float:\n{lines}" for lines, at in self.functions.items()]
        own = functions_of("\n".join(texts))
        self.file.own.update(own)
        functions, _ = self.file.all()
        printer = Printer(LANGUAGE, functions, ())
        written = [printer.function(function) for function in functions.values()]
        hows = [
            f"(truth, run) => {printer.name(rule)}({printer.name(align)}(truth, run))" if rule else printer.name(align)
            for align, rule in self.hows
        ]
        lists = f"const FUNCTIONS = [{', '.join(own)}];\nconst HOWS = [{', '.join(hows)}];"
        return "\n".join([*LANGUAGE.helpers.values(), *written, lists])

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as play/lists.js reads it."""
        return {"script": self.script, "roots": self.roots, "faults": self.faults}


# -- what the page has ---------------------------------------------------------------------------------------


@dataclass
class Form:
    """A metric with a k, or without: what each convention makes of it."""

    row: Declaration
    symbolic: bool
    program: Program

    @cached_property
    def names(self) -> list[str]:
        """The choices and parameters that a number of one list can depend on."""
        idle = {*IDLE, *(["default_k"] if self.symbolic else [])}
        return [name for name in (*self.row.defaults, *CHOICES) if name not in idle]

    def chosen(self, plan: Plan) -> tuple[Any, ...]:
        return tuple(choice_of(plan, name) for name in self.names)

    def to_dict(self) -> dict[str, Any]:
        """Each convention's definition, and each of these with one choice as another convention makes it."""
        plans: dict[tuple[Any, ...], Plan] = {}  # by what they choose
        by_convention: dict[str, int | str] = {}  # the place of its definition, or why there is none
        made: list[tuple[Plan, Compiled, str]] = []
        for name, convention in rs.conventions.items():
            if self.row.name not in (recorded.metrics_of(name) or [self.row.name]):
                by_convention[name] = f"{name} has no such metric, or none of its numbers is recorded"
                continue
            try:
                (plan,) = make_plans(f"{self.row.name}@1" if self.symbolic else self.row.name, name, {})
                found = self.program.compile(plan, self.symbolic)
            except ValueError as error:
                by_convention[name] = str(error).replace("@1", "@k")
                continue
            key = self.chosen(plan)
            if key not in plans:
                plans[key] = plan
                made.append((plan, found, definition_of(plan, convention).formula))
            by_convention[name] = list(plans).index(key)
        values = [list(dict.fromkeys(column)) for column in zip(*plans, strict=True)]
        differing = [at for at, found in enumerate(values) if len(found) > 1]
        return {
            "choices": [
                [self.names[at], [[repr(value), self._said(self.names[at], value)] for value in values[at]]]
                for at in differing
            ],
            "conventions": by_convention,
            "definitions": [
                {
                    "made": found,
                    "formula": formula,
                    "chosen": [values[at].index(key[at]) for at in differing],
                    "changed": self._changed(plan, found, [(self.names[at], values[at]) for at in differing]),
                }
                for key, (plan, found, formula) in zip(plans, made, strict=True)
            ],
        }

    def _changed(self, plan: Plan, found: Compiled, choices: Sequence[tuple[str, Sequence[Any]]]) -> list[list[int]]:
        """What it comes to with one choice made otherwise, where that is another thing: choice, value, how and root."""
        out = []
        for at, (name, values) in enumerate(choices):
            for nth, value in enumerate(values):
                if value == choice_of(plan, name):
                    continue
                try:
                    other = self.program.compile(changed(plan, {name: value}), self.symbolic)
                except ValueError:  # they do not go together
                    other = Compiled(-1, -1)
                if other != found:
                    out.append([at, nth, *other])
        return out

    def _said(self, name: str, value: Any) -> str:
        about = self.row.about.get(name) or CHOICES[name]
        return about.describe(name, value) or about.labels.get(value, "")


@cache
def program() -> dict[str, Any]:
    """All that the page computes with."""
    made = Program()
    known = [row for row in declared().values() if is_built_in(row)]
    kept = sorted((row for row in known if row.kind not in LEFT_OUT), key=_order)
    metrics = [
        {
            "name": row.name,
            "kind": row.kind,
            "summary": row.summary,
            "forms": {
                "k" if symbolic else "all": Form(row, symbolic, made).to_dict()
                for symbolic in ((True, False) if row.takes_k else (False,))
            },
        }
        for row in kept
    ]
    return {
        "version": rs.__version__,
        "conventions": [{"name": name, "summary": found.summary} for name, found in rs.conventions.items()],
        "metrics": metrics,
        "left_out": [row.name for row in known if row.kind in LEFT_OUT],
        **made.to_dict(),
    }


def _order(row: Declaration) -> tuple[int, int]:
    """What most people look for comes first."""
    return KINDS.index(row.kind), USUAL.index(row.name) if row.name in USUAL else len(USUAL)


def page(tabs: Mapping[str, str] = MappingProxyType({"Handbook": "index.html"})) -> str:
    """The page, in one file that asks for no other; tabs: links of its header, by their titles."""
    parts = {name: (HERE / name).read_text(encoding="utf-8") for name in ("page.html", "style.css", *SCRIPTS)}
    data = json.dumps(program(), separators=(",", ":")).encode()
    links = [f'<a href="{address}">{title}</a>' for title, address in tabs.items()]
    filled = {
        "<!--logo-->": (HERE.parent / "assets" / "logo.svg").read_text(encoding="utf-8"),
        "<!--tabs-->": "\n    ".join([*links, '<a href="play.html" aria-current="page">Play</a>']),
        "/*style*/": parts["style.css"],
        "/*program*/": base64.b64encode(zlib.compress(data, 9)).decode(),
        "/*script*/": "\n".join(parts[name] for name in SCRIPTS),
    }
    text = parts["page.html"]
    for mark, inside in filled.items():
        before, _, after = text.partition(mark)
        text = before + inside + after
    return text
