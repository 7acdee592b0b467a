"""Metrics of two lists as expressions of DuckDB's: items, best first, and the relevant ones. No Python is called."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple, cast

from rankstone.align.ties import TieRule
from rankstone.conventions.plan import Capabilities, Plan, check_supported
from rankstone.evaluate.checks import refuse_ungraded
from rankstone.program.sql import OPERATIONS, Tables, Term, Tree, at_rank
from rankstone.sql.dialects import DIALECTS
from rankstone.sql.expressions import Expressions
from rankstone.sql.functions import AGGREGATED, ends_at_k
from rankstone.sql.warehouse import mean_of_values, values_and_ratio

# In lambdas; a caller's columns by these names would be taken for them.
_ITEM, _I, _N = "_rankstone_item", "_rankstone_i", "_rankstone_n"
# A list for an error, its first items if it is long.
_LISTED = (
    "case when len(rec) > 5 then left(rec[:5]::varchar, -1) || ', ...] of ' || len(rec) || ' items' "
    "else coalesce(rec::varchar, 'null') end"
)
SHORT = 64  # places of an ideal list whose sums are looked up
KINDS = ("BIGINT", "INTEGER", "VARCHAR")  # of ids, each with macros of its own


class Macro(NamedTuple):
    """A metric of two lists, `rec` and `truth`, and `k` if it has one: of a row, and the mean over rows."""

    row: str
    mean: str  # {row} in it stands for the value of a row


def _column(to: Tables, one: Any) -> Any:
    if one.kind == "item" and one.params[0] == "grade":
        return 1.0
    if one.kind == "item" and one.params[0] == "score":
        raise TypeError("items without scores")
    return OPERATIONS["column"](to, one)


def _places(to: Tables, one: Any, *args: Any) -> Any:
    raise TypeError("the places of a list are not rows here")


class _Lists(Tables):
    """A list in its order, and the relevant items; nothing is tied, and each of these has grade 1."""

    operations: ClassVar[Any] = {
        **OPERATIONS, "column": _column, "highest_grade": lambda to, one: 1.0, "discount_total": _places
    }  # fmt: skip

    def __init__(self, tree: Tree) -> None:
        super().__init__(tree)
        self.facts = self.facts._replace(tied=False)

    def with_ties(self, rule: TieRule) -> _Lists:
        return self


def macro(plan: Plan) -> Macro | None:
    """A metric as macros; None where a definition asks for more than expressions of lists can say."""
    choices = plan.choices
    if choices["known"] != "truth" or choices["nonpositive_score"] != "count" or choices["truth_depth"] != "all":
        return None
    if choices["duplicates"] not in ("count", "error") or choices["truth_duplicates"] not in ("count", "error"):
        return None
    if "error" in (choices["undefined"], choices["no_relevant"], choices["empty_list"], choices["no_queries"]):
        return None
    try:
        check_supported([plan], _FED)
        refuse_ungraded(plan, graded=False)
        tree = Tree()
        if plan.arguments.get("k") is not None:
            plan = replace(plan, arguments={**plan.arguments, "k": "k"})
        found = values_and_ratio(plan, _Lists(tree))
        judged = tree.node("judged", kind="query") == 1.0  # a row without a truth does not count
        values = tree.where(judged, found.values, math.nan)
        found = found._replace(values=values, counted=tree.both(judged, found.counted))
        mean, writer = mean_of_values(plan, tree, found, False), _Writer(plan)
        return Macro(writer.value(values), writer.write(mean, _Row(writer, {values: "{row}"})))
    except (TypeError, ValueError):
        return None


_FED = Capabilities(
    ratings="lists of items have none",
    agreement="they need both orders",
    shown="they have no catalogue",
    notes="lists of items have grades alone",
    one_list=AGGREGATED.one_list,
    weights=AGGREGATED.weights,
    digits=AGGREGATED.digits,
)


class _Writer(Expressions):
    """Writes values of two lists; `k` is the cutoff, where there is one."""

    dialect = DIALECTS["duckdb"]

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.k = "k" if plan.arguments.get("k") is not None else None
        self.shown = f"rec[:{self.k}]" if self.k and ends_at_k(plan) else "rec"

    def value(self, value: Term) -> str:
        """The value of a row, or an error that shows what is wrong with it."""
        lists = {"rec": self.shown, "truth": "truth"}
        known, sizes = (" + ".join(f"{of}({items})" for items in lists.values()) for of in ("list_count", "len"))
        shown = " || ' and the truth ' || ".join(f"coalesce({items}::varchar, 'null')" for items in lists.values())
        tests = {f"{known} <> {sizes}": f"'an item is null in the list ' || {shown}"}
        for side, choice in (("rec", "duplicates"), ("truth", "truth_duplicates")):
            if self.plan.choices[choice] == "error":
                said = f"'an item appears twice in {side} ' || {side}::varchar"
                tests[f"list_unique({side}) <> len({side})"] = said
        if self.k:
            tests["k < 1"] = f"'k must be a whole number from 1; beside the list ' || {_LISTED} || ' it is ' || k"
            tests["k is null"] = f"'k is null beside the list ' || {_LISTED} || '; leave it out to use the whole list'"
        # One test for all of them: each further branch has a price.
        whens = " ".join(f"when {test} then {problem}" for test, problem in reversed(tests.items()))
        said = f"'{self.plan.label}: ' || case {whens} end"
        return f"case when {' or '.join(tests)} then error({said}) else {self.write(value, _Row(self))} end"


@dataclass(frozen=True)
class _Row:
    """A row, with its two lists."""

    to: _Writer
    values: Mapping[Term, str] = field(default_factory=dict)  # what has a name

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
        what, shown = value.items.what, self.to.shown
        if what == "judged":
            if how != "sum" or inside.number is None:
                raise TypeError("the truth's items are all alike")
            count = "coalesce(len(truth), 0)"
            return count if inside.number == 1 else f"({self.to.number(inside.number)} * {count})"
        if what not in ("placed", "ideal") or (value.items.of is not None and value.items.of.what != "judged"):
            raise TypeError(f"{what} items are not rows here")
        inside, cut = _cut(inside)
        if what == "ideal":
            return self._ideal_sum(how, inside, "len(truth)" if cut is None else f"least(len(truth), {self.to.k})")
        if cut is not None and shown == "rec":
            shown = f"rec[:{self.to.k}]"
        at = _Item(self, _N)
        text = self.to.write(inside, at)
        found = f"lambda {_ITEM}, {_I}: case when list_contains(truth, {_ITEM}) then {{}} end"
        if at.counted:
            ranks = f"list_filter(list_transform({shown}, {found.format(_I)}), lambda {_I}: {_I} is not null)"
            text = f"list_transform({ranks}, lambda {_I}, {_N}: {text})"
        else:
            text = f"list_transform({shown}, {found.format(text)})"
        return f"list_min({text})" if how == "min" else f"coalesce(list_{how}({text}), 0)"

    def _ideal_sum(self, how: str, inside: Term, places: str) -> str:
        """Of the best list, which is looked up as long as it is short."""
        text = self.to.write(inside, _Item(self, _I))
        text = f"coalesce(list_{how}(list_transform(range(1, {places} + 1), lambda {_I}: {text})), 0)"
        terms = [at_rank(inside, rank) for rank in range(1, SHORT + 1)]
        if how != "sum" or None in terms:
            return text
        sums = ", ".join(map(repr, accumulate(cast("list[float]", terms), initial=0.0)))
        return f"(case when {places} <= {SHORT} then (cast([{sums}] as double[]))[{places} + 1] else {text} end)"


class _Item:
    """An item of a list: its rank, and how many relevant ones there are down to it."""

    def __init__(self, row: _Row, nth: str) -> None:
        self.row, self.nth, self.counted = row, nth, False

    def named(self, value: Term) -> str | None:
        if value.op == "column" and value.args[0] == "item_rank":
            return _I
        if value.op == "window":
            over, how, inside, _ = value.args
            if inside.number is None or how != "sum" or over not in ("down to", "before"):
                raise TypeError("a running sum of what differs")
            self.counted = self.nth == _N
            count = self.nth if over == "down to" else f"({self.nth} - 1)"
            return count if inside.number == 1 else f"({self.row.to.number(inside.number)} * {count})"
        if value.op == "spread":
            return f"({self.row.to.write(value.args[0], self.row)})"
        if value.op == "column":
            raise TypeError(f"there is no {value.args[0]} here")
        return self.row.named(value)


def _cut(inside: Term) -> tuple[Term, Term | None]:
    """What is summed, and down to which rank, where there is a cutoff that all rows share."""
    if inside.op == "where" and inside.args[2].number == 0:
        test, yes, _ = inside.args
        if test.op == "<=" and test.args[0].op == "column" and test.args[1].op == "parameter":
            return yes, test.args[1]
    return inside, None
