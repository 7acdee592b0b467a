"""Writes the page to play with: every metric of one list, under every convention, in a browser.

A metric is not written again for it. `Tables` turns its one graph into terms, of which the SQL is made too; here they
become data: a list of nodes, which play/evaluate.js computes for one list. Equal expressions are one node, so
that hundreds of definitions share most of what they are made of.
"""

from __future__ import annotations

import base64
import json
import math
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import rankstone as rs
from rankstone.align.ties import TIES
from rankstone.conventions.choices import CHOICES
from rankstone.conventions.plan import Plan, make_plans
from rankstone.errors import NoClosedFormError
from rankstone.explain.sweep import changed, choice_of
from rankstone.metrics.registry import Declaration, declared, is_built_in
from rankstone.program.graph import Expression, Fault
from rankstone.program.ranking import Ranking
from rankstone.program.sql_terms import OPERATIONS, Items, Operand, Tables, Term, Tree
from rankstone.results.definition import definition_of
from rankstone.sql.sql_text import mean_of_rows, mean_of_values, values_and_ratio

sys.path.append(str(Path(__file__).parent))
import recorded

HERE = Path(__file__).parent / "play"
# An item is once in a list of the page, and its one query is on both sides.
IDLE = ("duplicates", "truth_duplicates", "missing", "extra")
LEFT_OUT = (
    "agreement",
    "intents",
    "recommendations",
)  # kinds of metrics for which expressions have no words, or a page no data
KINDS = ("ranking", "count", "ratings")  # in the order of the page
USUAL = ("ndcg", "ap", "rr", "precision", "recall", "f1", "hit_rate", "dcg", "auc", "err", "rbp", "bpref")
SCRIPTS = ("evaluate.js", "compare.js", "lines.js", "page.js")


class Bounded(Tree):
    """Terms of numbers that the page keeps small enough to add up, in a place that can round."""

    def compare(self, sign: str, left: Any, right: Any) -> Term:
        value = self.of(left)
        if isinstance(right, float) and right == math.inf and not value.infinite:
            return self.of(sign in ("<", "<=", "<>"))
        return super().compare(sign, value, right)

    def round(self, x: Term, digits: int) -> Term:
        return self._op("round", (x, self.of(float(digits))))


def _column(to: Tables, one: Expression) -> Operand:
    column = OPERATIONS["column"](to, one)
    if one.params[0] == "score":
        column.nullable = True  # a list may be only an order of items
    return column


def _discount_total(to: Tables, one: Expression, depth: Operand) -> Operand:
    if not isinstance(depth, Term) or depth.kind != "number":
        return OPERATIONS["discount_total"](to, one, depth)
    places = to.tree.items("places")
    return to.aggregate("sum", one.params[0](to.functions, to.column(places, "item_rank")), places, "")


class Listed(Tables):
    """One list, and k is not known yet."""

    operations: ClassVar[Any] = {
        **OPERATIONS,
        "column": _column,
        "discount_total": _discount_total,
        "is_repeat": lambda to, one, place: to.tree.of(0.0),  # a list of the page has each item once
    }


class Compiled(NamedTuple):
    """What a definition comes to: how the list is put in order, the number, and what would be an error."""

    how: int
    root: int


@dataclass
class Program:
    """The nodes of all definitions, each once."""

    tree: Tree = field(default_factory=Bounded)
    nodes: list[list[Any]] = field(default_factory=list)
    rows: list[list[Any]] = field(default_factory=list)
    hows: list[tuple[str, bool]] = field(default_factory=list)  # the order of equal scores, and are they float32
    roots: list[tuple[int, int]] = field(default_factory=list)  # a number, and what must not be
    faults: list[list[list[Any]]] = field(default_factory=list)  # a condition, what to say, and of which value
    _at: dict[Any, int] = field(default_factory=dict)

    @cached_property
    def tables(self) -> Listed:
        return Listed(self.tree, ordered_truth=True)

    def compile(self, plan: Plan, symbolic: bool) -> Compiled:
        """A definition; symbolic: its k is the page's."""
        if symbolic:
            plan = replace(plan, arguments={**plan.arguments, "k": "k"})
        rule = TIES[plan.choices["ties"]]
        order = rule.name if rule.by else "item_desc"
        how = (order, plan.choices["score_precision"] == "float32")
        try:
            mean = self._mean(plan)
        except NoClosedFormError as error:  # but there is one where nothing is tied
            mean = self._mean(replace(plan, choices={**plan.choices, "ties": order}))
            view = self.tables.judged_by(plan.relevance)
            ranking: Ranking = view.ranking
            ranking.raise_at_items(ranking.items_tied > 1.0, str(error), math.nan)
            view.faults()
        faults = [list(self._fault(fault)) for fault in self.tree.faults]
        root = (self.node(mean), self._kept("faults", json.dumps(faults), self.faults, faults))
        return Compiled(self._kept("how", how, self.hows), self._kept("root", root, self.roots))

    def _mean(self, plan: Plan) -> Term:
        """Over one query."""
        self.tree.faults.clear()
        found = values_and_ratio(plan, self.tables)
        if plan.averaging.pooled:
            return mean_of_rows(plan, self.tree, found)
        return mean_of_values(plan, self.tree, found, False)

    def _fault(self, fault: Fault) -> Iterator[Any]:
        yield self.node(fault.condition)
        yield fault.problem.replace("{:g}", "{}")
        yield -1 if fault.value is None else self.node(fault.value)

    def _kept(self, what: str, key: Any, among: list[Any], value: Any = None) -> int:
        if (what, key) not in self._at:
            self._at[what, key] = len(among)
            among.append(key if value is None else value)
        return self._at[what, key]

    def node(self, value: Term) -> int:
        """The number of the node that an expression is."""
        if value.op in ("spread", "total", "average"):  # there is one query
            return self.node(value.args[0])
        if value not in self._at:
            made = list(self._written(value))
            self._at[value] = self._kept("node", json.dumps(made), self.nodes, made)
        return self._at[value]

    def _written(self, value: Term) -> Iterator[Any]:
        yield value.op
        if value.op in ("column", "carried", "aggregate", "window", "highest grade"):
            items = value.args[0] if value.op == "highest grade" else value.items
            assert items is not None
            yield self.items(items)
        for arg in value.args:
            if isinstance(arg, Term):
                yield self.node(arg)
            elif not isinstance(arg, Items):
                yield -1 if arg is None else arg

    def items(self, items: Items) -> int:
        """The number of the rows that items are."""
        made: list[Any] = [
            items.what,
            -1 if items.of is None else self.items(items.of),
            -1 if items.order is None else self.node(items.order),
            int(items.nonzero),
            -1 if items.kept is None else self.node(items.kept),
        ]
        return self._kept("rows", json.dumps(made), self.rows, made)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as play/evaluate.js reads it."""
        return {name: getattr(self, name) for name in ("nodes", "rows", "hows", "roots", "faults")}


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
