"""Metrics of two lists as DuckDB expressions: items in ranked order, and the relevant items. No Python is called."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple, cast

from rankstone.align.ties import TieRule
from rankstone.conventions.plan import Capabilities, Plan, check_supported
from rankstone.errors import InputTypeError
from rankstone.evaluate.checks import require_grades
from rankstone.program.sql_terms import OPERATIONS, Tables, Term, Tree, at_rank
from rankstone.sql.dialects import DIALECTS
from rankstone.sql.expressions import Expressions
from rankstone.sql.list_functions import AGGREGATED, ends_at_k
from rankstone.sql.sql_text import mean_of_values, values_and_ratio

# In lambdas; they must differ from the user's column names.
_ITEM, _I, _N = "_rankstone_item", "_rankstone_i", "_rankstone_n"
# A list in an error message; only its first items if it is long.
_LISTED = (
    "case when len(rec) > 5 then left(rec[:5]::varchar, -1) || ', ...] of ' || len(rec) || ' items' "
    "else coalesce(rec::varchar, 'null') end"
)
SHORT = 64  # ranks of an ideal list whose sums are in a table
KINDS = ("BIGINT", "INTEGER", "VARCHAR")  # of ids; each type has its own macros


class Macro(NamedTuple):
    """A metric of two lists, `rec` and `truth`, and `k` if it has one: of a row, and its mean over rows."""

    row: str
    mean: str  # {row} is the value of a row


def _column(to: Tables, node: Any) -> Any:
    if node.kind == "item" and node.params[0] == "grade":
        return 1.0
    if node.kind == "item" and node.params[0] == "score":
        raise InputTypeError("items without scores")
    return OPERATIONS["column"](to, node)


def _places(to: Tables, node: Any, *args: Any) -> Any:
    raise InputTypeError("the ranks of a list are not rows here")


class _Lists(Tables):
    """A list in ranked order without ties, and the relevant items, all with grade 1."""

    operations: ClassVar[Any] = {
        **OPERATIONS, "column": _column, "highest_grade": lambda to, node: 1.0, "discount_total": _places
    }  # fmt: skip

    def __init__(self, tree: Tree) -> None:
        super().__init__(tree)
        self.facts = self.facts._replace(tied=False)

    def with_ties(self, rule: TieRule) -> _Lists:
        return self


def macro(plan: Plan) -> Macro | None:
    """A metric as macros; None if list expressions cannot express its definition."""
    choices = plan.choices
    if (
        choices["unjudged"] != "nonrelevant"
        or choices["nonpositive_score"] != "count"
        or choices["truth_depth"] != "all"
    ):
        return None
    if choices["duplicates"] not in ("count", "error") or choices["truth_duplicates"] == "first":
        return None
    if "error" in (choices["undefined"], choices["no_relevant"], choices["empty_list"], choices["no_queries"]):
        return None
    try:
        check_supported([plan], _LIST_CAPABILITIES)
        require_grades(plan, graded=False)
        tree = Tree()
        if plan.arguments.get("k") is not None:
            plan = replace(plan, arguments={**plan.arguments, "k": "k"})
        terms = values_and_ratio(plan, _Lists(tree))
        judged = tree.node("judged", kind="query") == 1.0  # a row without a truth is not averaged
        values = tree.where(judged, terms.values, math.nan)
        terms = terms._replace(values=values, counted=tree.both(judged, terms.counted))
        mean, writer = mean_of_values(plan, tree, terms, False), _Writer(plan)
        return Macro(writer.value(values), writer.write(mean, _Row(writer, {values: "{row}"})))
    except (TypeError, ValueError):
        return None


_LIST_CAPABILITIES = Capabilities(
    ratings="lists of items have none",
    agreement="they need both orders",
    recommendations="they have no catalogue",
    annotations="lists of items have grades only",
    one_list=AGGREGATED.one_list,
    weights=AGGREGATED.weights,
    digits=AGGREGATED.digits,
)


class _Writer(Expressions):
    """Writes values of two lists; `k` is the cutoff, if any."""

    dialect = DIALECTS["duckdb"]

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.k = "k" if plan.arguments.get("k") is not None else None
        self.items = f"rec[:{self.k}]" if self.k and ends_at_k(plan) else "rec"
        once = plan.choices["truth_duplicates"] in ("distinct", "max")
        self.judged = "cast(list_unique(truth) as bigint)" if once else "len(truth)"

    def value(self, value: Term) -> str:
        """The value of a row, or an error that names the problem."""
        lists = {"rec": self.items, "truth": "truth"}
        counts, sizes = (" + ".join(f"{of}({items})" for items in lists.values()) for of in ("list_count", "len"))
        texts = " || ' and the truth ' || ".join(f"coalesce({items}::varchar, 'null')" for items in lists.values())
        tests = {f"{counts} <> {sizes}": f"'an item is null in the list ' || {texts}"}
        for side, choice in (("rec", "duplicates"), ("truth", "truth_duplicates")):
            if self.plan.choices[choice] == "error":
                problem = f"'an item appears twice in {side} ' || {side}::varchar"
                tests[f"list_unique({side}) <> len({side})"] = problem
        if self.k:
            tests["k < 1"] = f"'k must be a whole number from 1; for the list ' || {_LISTED} || ' it is ' || k"
            tests["k is null"] = f"'k is null for the list ' || {_LISTED} || '; leave it out to use the whole list'"
        # One test for all problems, since each branch costs time.
        whens = " ".join(f"when {test} then {problem}" for test, problem in reversed(tests.items()))
        message = f"'{self.plan.label}: ' || case {whens} end"
        return f"case when {' or '.join(tests)} then error({message}) else {self.write(value, _Row(self))} end"


@dataclass(frozen=True)
class _Row:
    """A row with its two lists."""

    to: _Writer
    values: Mapping[Term, str] = field(default_factory=dict)  # values with names

    def named(self, value: Term) -> str | None:
        if value in self.values:
            return self.values[value]
        if value.op == "judged":
            return "(case when truth is null then 0 else 1 end)"
        if value.op == "of query":
            return (
                "coalesce(len(rec), 0)" if value.args[0] == "retrieved" else "(case when rec is null then 0 else 1 end)"
            )
        return self._sum(value) if value.op == "aggregate" else None

    def _sum(self, value: Term) -> str:
        how, inside = value.args
        assert value.items is not None
        what, items = value.items.what, self.to.items
        if what == "judged":
            if how != "sum" or inside.number is None:
                raise InputTypeError("the truth has no grades")
            count = f"coalesce({self.to.judged}, 0)"
            return count if inside.number == 1 else f"({self.to.number(inside.number)} * {count})"
        if what not in ("placed", "ideal") or (value.items.of is not None and value.items.of.what != "judged"):
            raise InputTypeError(f"{what} items are not rows here")
        inside, cut = _cut(inside)
        if what == "ideal":
            judged = self.to.judged
            return self._ideal_sum(how, inside, judged if cut is None else f"least({judged}, {self.to.k})")
        if cut is not None and items == "rec":
            items = f"rec[:{self.to.k}]"
        at = _Item(self, _N)
        text = self.to.write(inside, at)
        hit = f"lambda {_ITEM}, {_I}: case when list_contains(truth, {_ITEM}) then {{}} end"
        if at.counted:
            ranks = f"list_filter(list_transform({items}, {hit.format(_I)}), lambda {_I}: {_I} is not null)"
            text = f"list_transform({ranks}, lambda {_I}, {_N}: {text})"
        else:
            text = f"list_transform({items}, {hit.format(text)})"
        return f"list_min({text})" if how == "min" else f"coalesce(list_{how}({text}), 0)"

    def _ideal_sum(self, how: str, inside: Term, places: str) -> str:
        """A sum over the ideal list; from a table of sums if it is short."""
        text = self.to.write(inside, _Item(self, _I))
        text = f"coalesce(list_{how}(list_transform(range(1, {places} + 1), lambda {_I}: {text})), 0)"
        terms = [at_rank(inside, rank) for rank in range(1, SHORT + 1)]
        if how != "sum" or None in terms:
            return text
        sums = ", ".join(map(repr, accumulate(cast("list[float]", terms), initial=0.0)))
        return f"(case when {places} <= {SHORT} then (cast([{sums}] as double[]))[{places} + 1] else {text} end)"


class _Item:
    """An item of a list: its rank, and the number of relevant items down to it."""

    def __init__(self, row: _Row, nth: str) -> None:
        self.row, self.nth, self.counted = row, nth, False

    def named(self, value: Term) -> str | None:
        if value.op == "column" and value.args[0] == "item_rank":
            return _I
        if value.op == "window":
            over, how, inside, _ = value.args
            if inside.number is None or how != "sum" or over not in ("down to", "before"):
                raise InputTypeError("a running sum of a value that varies")
            self.counted = self.nth == _N
            count = self.nth if over == "down to" else f"({self.nth} - 1)"
            return count if inside.number == 1 else f"({self.row.to.number(inside.number)} * {count})"
        if value.op == "spread":
            return f"({self.row.to.write(value.args[0], self.row)})"
        if value.op == "column":
            raise InputTypeError(f"there is no {value.args[0]} here")
        return self.row.named(value)


def _cut(inside: Term) -> tuple[Term, Term | None]:
    """The summand, and the cutoff if all rows share one."""
    if inside.op == "where" and inside.args[2].number == 0:
        test, yes, _ = inside.args
        if test.op == "<=" and test.args[0].op == "column" and test.args[1].op == "parameter":
            return yes, test.args[1]
    return inside, None
