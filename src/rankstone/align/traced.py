"""`Traced`: a ranking that is only spoken of. What a metric's function says of it becomes a program for the core.

The same function that runs over arrays runs over this once, and all that makes values of what it answers; the core then
runs the steps over a few queries at a time, on all cores. A function that asks for arrays themselves stops with an
error: it runs over `Ranked` then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from rankstone import _core
from rankstone.align.expression import PLAIN, TESTS, Expression, Kind, Operand, Spoken, kind_of
from rankstone.align.ranked import Floats, Ranked, discounts_up_to, lengths, sums_of_discounts
from rankstone.align.ranking import Depth, Discount, Functions, Ideal, Ranking, Relevance, Values, Worth
from rankstone.errors import QueryError

T = TypeVar("T")
_SWAPPED = {">": "<", ">=": "<="}
_NAMES = {"=": "==", "ln": "log", "least": "minimum", "greatest": "maximum"}  # of steps, where the core has others
_PLAINLY = {name: plain for plain, name in _NAMES.items()}
_ALL = 1 << 60  # more items than there are
_FEW = 32  # entries of a table that are looked at one by one
SHORT = 1024  # places of a table that is as long as the lists are, at least: so that short ones need no new table


class _UnspeakableError(Exception):
    """What the core has no steps for: it is measured over arrays instead."""


@dataclass(frozen=True)
class Lists:
    """Whose items they are: of a view, as `of` makes it from the ranking."""

    name: Hashable
    offsets: str  # the field that says where each query's start
    of: Callable[[Ranked], Ranked] | None = field(default=None, compare=False)

    def view(self, ranked: Ranked) -> Ranked:
        """The ranking whose fields they are."""
        return ranked if self.of is None else self.of(ranked)


class Table(NamedTuple):
    """Discounts by rank, or their sums."""

    discount: Discount
    summed: bool
    lists: Lists

    def over(self, view: Ranked, reach: float) -> Floats:
        """Its entries, down to the deepest place that is looked up; reach: the deepest that any metric looks at."""
        return self.entries(reach if reach < SHORT else max(SHORT, min(reach, _deepest(self.lists, view))))

    def entries(self, depth: float) -> Floats:
        """Its entries, as deep as this at least."""
        return _entries(self.discount, self.summed, 1 << (int(depth) - 1).bit_length())


@lru_cache(maxsize=64)
def _entries(discount: Discount, summed: bool, depth: int) -> Floats:
    table = discounts_up_to(discount, depth)
    if not summed:
        return table
    sums = np.concatenate((np.zeros(1), np.cumsum(table[1:])))
    sums.setflags(write=False)
    return sums


def _deepest(lists: Lists, view: Ranked) -> int:
    """The deepest place of any item, and the longest list."""
    if lists.offsets == "truth_offsets":
        return int(lengths(view.truth_offsets).max(initial=0))
    return max(view.deepest, int(view.retrieved.max(initial=0)))


class Fault(NamedTuple):
    """Data that cannot be measured: what holds of it, and what to say; {} in it is a value."""

    condition: Expression
    problem: str
    value: Expression | None
    named: bool  # is the query to be named

    def error(self, query: int, value: float) -> Exception:
        problem = self.problem.format(value) if self.value is not None else self.problem
        return QueryError(problem, query) if self.named else ValueError(problem)


class Steps:
    """All expressions of some metrics; equal ones are one."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.known: dict[tuple[Any, ...], Expression] = {}
        self.reach: dict[Lists | Table, float] = {}  # how deep each is looked into

    def node(self, op: str, *args: object, kind: Kind, items: Lists | None = None) -> Expression:
        """The expression that this is, made once."""
        key = (op, kind, items, *(id(arg) if isinstance(arg, Expression) else (type(arg), arg) for arg in args))
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = Expression(self, op, args, kind, items)
        return found

    def of(self, value: Operand) -> Expression:
        """A plain number or a truth value as an expression."""
        return value if isinstance(value, Expression) else self.node("number", float(value), kind="number")

    def make(self, op: str, *operands: Operand) -> Expression:
        """An operation, or what it comes to where that is known."""
        args = tuple(map(self.of, operands))
        if any(arg.op != "number" for arg in args):
            return self._op(op, args)
        return self.of(PLAIN[op](*(arg.number for arg in args)))

    def _op(self, op: str, args: tuple[Expression, ...]) -> Expression:
        key = (op, *map(id, args))
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = Expression(self, _NAMES.get(op, op), args, *kind_of(args))
        return found

    def compare(self, sign: str, left: Operand, right: Operand) -> Expression:
        a, b = self.of(left), self.of(right)
        if a.number is not None and b.number is not None:
            return self.of(TESTS[sign](a.number, b.number))
        if sign in _SWAPPED:
            a, b, sign = b, a, _SWAPPED[sign]
        return self.negated(self._op("==", (a, b))) if sign == "<>" else self._op(sign, (a, b))

    def both(self, left: Operand, right: Operand) -> Expression:
        a, b = self.of(left), self.of(right)
        if 0.0 in (a.number, b.number):
            return self.of(False)
        return b if a.number is not None or a is b else a if b.number is not None else self._op("and", (a, b))

    def either(self, left: Operand, right: Operand) -> Expression:
        a, b = self.of(left), self.of(right)
        if any(x.number is not None and x.number != 0 for x in (a, b)):
            return self.of(True)
        return b if a.number is not None or a is b else a if b.number is not None else self._op("or", (a, b))

    def negated(self, condition: Operand) -> Expression:
        a = self.of(condition)
        if a.number is not None:
            return self.of(a.number == 0)
        return cast("Expression", a.args[0]) if a.op == "not" else self._op("not", (a,))

    def where(self, condition: Operand, yes: Operand, no: Operand) -> Expression:
        """One value where a condition holds, else another."""
        test, a, b = self.of(condition), self.of(yes), self.of(no)
        if test.number is not None:
            return a if test.number else b
        return a if a is b else self._op("where", (test, a, b))

    def look(self, at: Lists | Table, k: Depth) -> None:
        """Note that it is looked into as deep as this."""
        self.reach[at] = max(self.reach.get(at, 0), k if isinstance(k, int) else math.inf)

    def refuse(self, condition: Operand, problem: str, value: Expression | None = None, named: bool = True) -> None:
        """Stop where a condition holds."""
        test = self.of(condition)
        if test.kind == "item":
            self.look(test.items, None)
        if test.number != 0:
            self.faults.append(Fault(test, problem, value, named))


class Facts(NamedTuple):
    """What of a ranking decides which steps a metric takes."""

    expected: bool
    shared: bool
    listed: bool
    ordered_grades: bool
    misses: bool  # some placed items count as if they were not relevant
    unjudged: bool  # what nobody judged counts as graded 0
    rule: Relevance

    @classmethod
    def plain(cls, rule: Relevance) -> Facts:
        """Of dicts, just as they were aligned."""
        return cls(False, False, False, False, False, False, rule)

    @classmethod
    def of(cls, ranked: Ranked) -> Facts:
        return cls(
            ranked.expected, ranked.shared, ranked.listed, ranked.ordered_grades, ranked.misses is not None,
            ranked.unjudged is not None, ranked.rule,
        )  # fmt: skip


PLACED = Lists("placed", "placed_offsets")


class Traced(Spoken, Ranking):
    """Lists of items with ranks and grades, wherever they are."""

    def __init__(self, steps: Steps, facts: Facts) -> None:
        self.__dict__.update(facts._asdict(), tree=steps, items=PLACED, _best=False, _memo={})

    tree: Steps
    items: Lists
    misses: bool
    unjudged: bool
    _best: bool  # is it an ideal list
    _memo: dict[Hashable, Any]

    def replace(self, **changes: object) -> Traced:
        """The same, but for this."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, _memo={}, **changes)
        return other

    def ideal(self, items: Ideal = "judged", worth: Worth | None = None, k: Depth = None) -> Traced:
        view = self.replace(misses=False, expected=False, shared=False, _best=True)
        rule = self.rule

        def best(ranked: Ranked) -> Ranked:
            return ranked.judged_by(rule).ideal(items, worth)

        if worth is None and (items == "given" or (items == "judged" and not self.unjudged)):
            lists = Lists(items, "truth_offsets")
        else:
            lists = Lists((items, worth, rule), "placed_offsets", best)
        return view.replace(items=lists)

    # -- one an item -----------------------------------------------------------------------------------------

    def _column(self, name: str, other: str | None = None, plus: int = 0) -> Expression:
        """A field of the items; where there is none, another (0) plus a number."""
        return self.tree.node("column", name, other, plus, kind="item", items=self.items)

    @property
    def _in_truth(self) -> bool:
        """Are they the truth's own items, whose places are their ranks."""
        return self.items.offsets == "truth_offsets"

    @property
    def rank(self) -> Expression:
        self.need_order()
        return self._any_rank

    @property
    def _any_rank(self) -> Expression:
        if self._in_truth:
            return self.tree.node("nth", kind="item", items=self.items)
        return self._column("rank_unchecked")

    @property
    def grade(self) -> Expression:
        if self._in_truth:
            return self._column("truth_grades" if self.items.name == "given" else "ideal_grades")
        return self._column("grade")

    @property
    def score(self) -> Expression:
        return self._column("score") if not self._best else self.tree.of(math.nan)

    @property
    def place(self) -> Expression:
        return self._any_rank if self._in_truth else self._column("place")

    @property
    def weight(self) -> Expression:
        if self._in_truth:
            raise _UnspeakableError("weights of the truth's own items")
        return self._column("weight")

    @property
    def predicted(self) -> Expression:
        problem = "a prediction error needs scores, and the run is only an order of items"
        self.tree.refuse(self.score != self.score, problem, named=False)
        return self.score

    @property
    def items_above(self) -> Expression:
        return self._any_rank - 1.0 if self._best else self._column("above", "rank_unchecked", -1)

    @property
    def items_level(self) -> Expression:
        return self.tree.of(1.0) if self._best else self._column("tied", None, 1)

    @property
    def credit(self) -> Expression:
        def credit() -> Expression:
            whole = self.weighted(self.relevance(self.grade))
            return self.where(self._column("misses"), 0.0, whole) if self.misses else whole

        return self.remember("credit", credit)

    @property
    def bad_so_far(self) -> Expression:
        self.need_order()
        bad = self.running(self.judged_bad)
        if not self.unjudged:
            return bad
        placed_above = self.tree.node("nth", kind="item", items=self.items) - 1.0
        return bad + (self.rank - 1.0 - placed_above)  # what nobody judged counts as not relevant

    # -- one a query -----------------------------------------------------------------------------------------

    def _of_query(self, name: str) -> Expression:
        return self.tree.node("column", name, None, 0, kind="query")

    @property
    def retrieved(self) -> Expression:
        return self._of_query("retrieved")

    @property
    def present(self) -> Expression:
        return self._of_query("present")

    @property
    def placed(self) -> Expression:
        self.tree.look(self.items, None)
        return self.tree.node("length", kind="query", items=self.items)

    @property
    def judged(self) -> Expression:
        if self.unjudged:  # the ranking itself knows less of the truth
            return self._of_query("judged")
        return self._truth.placed

    @property
    def _truth(self) -> Traced:
        return self.ideal("given")

    @property
    def relevant(self) -> Expression:
        rule = self.rule
        if rule.credit == "weight":
            judged = Lists(rule, "placed_offsets", lambda ranked: ranked.judged_by(rule))
            return self.tree.node("column", "relevant", None, 0, kind="query", items=judged)

        def count() -> Expression:
            truth = self._truth
            return truth._sum(truth.relevance(truth.grade))

        return self.remember("relevant", count)

    @property
    def nonrelevant(self) -> Expression:
        def count() -> Expression:
            truth = self._truth
            judged = truth._sum((truth.grade >= 0) & (truth.relevance(truth.grade) == 0))
            return judged + self._of_query("unjudged") if self.unjudged else judged

        return self.remember("nonrelevant", count)

    @property
    def first_rank(self) -> Expression:
        return self._reduced("lowest", self.where(self.credit > 0, self.rank, math.inf))

    @property
    def highest_grade(self) -> Expression:
        return self.tree.node("fact", "highest_grade", kind="number")

    # -- from items to queries and back ----------------------------------------------------------------------

    def per_query(self, value: Values) -> Expression:
        return self.tree.of(value)

    def number(self, condition: Values) -> Expression:
        return self.tree.of(condition)

    def every(self, condition: Values) -> bool:
        return bool(self.tree.of(condition).number)

    def spread(self, values: Values) -> Expression:
        value = self.tree.of(values)
        return value if value.kind == "number" else self.tree.node("spread", value, kind="item", items=self.items)

    def _reduced(self, op: str, values: Values, k: Depth = None) -> Expression:
        """From items to queries; k: no item below the first k matters. The nth item never stands above rank n."""
        self.tree.look(self.items, None if self.shared or self.expected else k)
        return self.tree.node(op, self.tree.of(values), kind="query", items=self.items)

    def sum(self, values: Values, k: Depth = None) -> Expression:
        if self.expected and k is not None:
            depth, above, level = self.spread(k), self.items_above, self.items_level
            return self._sum(values * (self.minimum(self.maximum(depth - above, 0.0), level) / level))
        return self._sum_inside(values, k)

    def _sum_inside(self, values: Values, k: Depth) -> Expression:
        if k is None or self.shared:
            inside = values if k is None else self.where(self._any_rank <= self.spread(k), values, 0.0)
            return self._reduced("sum", inside, k)
        # The first k places are the top of the list: where its sum down to each item is known, it is for all k.
        self.tree.look(self.items, k)
        count = self._across("upto", self._any_rank, k) if not self._in_truth else self.tree.of(k)
        return self._across("at", self.running(values), count)

    def _across(self, op: str, values: Expression, by: Values) -> Expression:
        """From this list to its queries."""
        return self.tree.node(op, values, self.items, self.tree.of(by), kind="query")

    def _sum(self, values: Values) -> Expression:
        return self._reduced("sum", values)

    def _down(self, op: str, values: Values, *more: Expression) -> Expression:
        return self.tree.node(op, self.tree.of(values), *more, kind="item", items=self.items)

    def running(self, values: Values) -> Expression:
        return self._down("running", values)

    def surviving(self, stops: Values) -> Expression:
        return self._down("surviving", stops)

    def highest(self, values: Values) -> Expression:
        return self._reduced("highest", values)

    def higher(self, values: Values) -> Expression:
        return self._down("higher", values, self.items_above)

    def level(self, values: Values) -> Expression:
        return self._down("level", values, self.items_above)

    # -- discounts -------------------------------------------------------------------------------------------

    def _table(self, discount: Discount, k: Depth, summed: bool = False) -> Table:
        """A table of discounts."""
        table = Table(discount, summed, self.items)
        self.tree.look(table, k)
        return table

    def _entry(self, at: Values, discount: Discount, k: Depth, summed: bool = False) -> Expression:
        value = self.tree.of(at)
        return self.tree.node("table", value, self._table(discount, k, summed), kind=value.kind, items=value.items)

    def discounted(self, gains: Values, discount: Discount, k: Depth = None) -> Expression:
        if self.expected:
            above, last = self.items_above, self.items_above + self.items_level
            if k is not None:
                above, last = self.minimum(above, self.spread(k)), self.minimum(last, self.spread(k))
            sums = self._entry(last, discount, k, True) - self._entry(above, discount, k, True)
            return self._sum(gains * sums / self.items_level)
        return self._sum_inside(gains * self._entry(self._any_rank, discount, k), k)

    def sum_of_discounts(self, discount: Discount, depth: Depth, smooth: bool = False) -> Expression:
        value = self.retrieved if depth is None else self.tree.of(depth)
        if value.number is not None:
            return self.tree.of(float(sums_of_discounts(discount, value.number, smooth)))
        parts = value.args if value.op == "minimum" else (value,)
        if not any(part is self.retrieved for part in parts):
            raise _UnspeakableError("discounts of places beyond the lists")
        return self._entry(value, discount, None, True)

    # -- the rest --------------------------------------------------------------------------------------------

    def looked_up(self, grades: Values, table: tuple[tuple[float, float], ...]) -> Values:
        if len(table) > _FEW:
            raise _UnspeakableError("a search in a long table")
        return super().looked_up(grades, table)

    def by_count(self, of: Callable[[Functions, Values], Values]) -> Expression:
        return self.tree.of(of(self, self.relevant))

    def refuse(self, queries: Values, problem: str) -> None:
        self.tree.refuse(queries, problem)

    def refuse_items(self, items: Values, problem: str, values: Values) -> None:
        self.tree.refuse(items, problem, self.tree.of(values))

    def remember(self, key: Hashable, make: Callable[[], T]) -> T:
        if key not in self._memo:
            self._memo[key] = make()
        return cast("T", self._memo[key])

    # -- over all orders of tied items: by groups, which `Ranked` makes ----------------------------------------

    def expected_precisions(self, k: Depth) -> Expression:
        raise _UnspeakableError("precisions over all orders")

    def expected_reciprocal(self, k: Depth) -> Expression:
        raise _UnspeakableError("the first relevant item over all orders")

    def chance_of_none(self, k: Depth) -> Expression:
        raise _UnspeakableError("the first relevant item over all orders")

    def round(self, x: Values, digits: int) -> Expression:
        scale = 10.0**digits
        scaled = self.tree.of(x) * scale
        return self.tree.node("rint", scaled, kind=scaled.kind, items=scaled.items) / scale


# -- programs ------------------------------------------------------------------------------------------------


class Program:
    """The steps that make some values of each query, for the core."""

    def __init__(
        self, values: Sequence[Expression], faults: Sequence[Fault], reach: Mapping[Lists | Table, float]
    ) -> None:
        self.values, self.faults = values, faults
        written = _Writer()
        for at, fault in enumerate(faults):
            written.refuse(fault, at)
        self.at = written.answers(values)
        self.columns, self.numbers = list(written.columns), list(written.numbers)
        self.tables = {table: reach[table] for table in written.tables}
        known = (value.kind != "number" or value.number is not None for value in (*values, *written.numbers))
        views = (lists for lists, _ in written.columns if lists is not None and lists.of is not None)
        self.alone = all(known) and not any(views)  # is a query's value the same whatever other queries there are
        deep = {lists: reach.get(lists, math.inf) for lists in written.lists if lists is not None}
        spaces = [
            (written.columns[lists, lists.offsets], None if most > _ALL else int(most)) for lists, most in deep.items()
        ]
        steps, registers = _with_few_registers(written.steps, list(written.numbers.values()))
        self.core = _core.Program(
            steps, spaces, list(range(len(self.numbers))), registers, len(self.columns), len(self.tables), len(self.at),
            len(faults),
        )  # fmt: skip

    def run(self, ranked: Ranked, threads: int) -> tuple[dict[Expression, Floats | float], list[Exception | None]]:
        """The values of each query, or a number where it is the same for all; and what is wrong, by fault."""
        memo: dict[Expression, float] = {}
        looked = [*(lists for lists, _ in self.columns), *(table.lists for table in self.tables)]
        views = {lists: ranked if lists is None else lists.view(ranked) for lists in dict.fromkeys(looked)}
        answers, refused = self.core.run(
            len(ranked),
            [_field(views[lists], name) for lists, name in self.columns],
            [_number(number, ranked, memo) for number in self.numbers],
            [table.over(views[table.lists], reach) for table, reach in self.tables.items()],
            threads,
        )
        found: dict[Expression, Floats | float] = {
            value: answers[self.at[value]] if value in self.at else _number(value, ranked, memo)
            for value in self.values
        }
        errors = [
            None if query < 0 else fault.error(query, value)
            for fault, (query, value) in zip(self.faults, refused, strict=True)
        ]
        return found, errors


def _field(view: Ranked, name: str) -> Any:
    found = getattr(view, name)
    return found if found is None or found.dtype in (np.float64, np.int64, np.bool_) else found.astype(np.float64)


def _number(value: Expression, ranked: Ranked, memo: dict[Expression, float]) -> float:
    """A number that is the same for all queries."""
    if value.number is not None:
        return value.number
    if value not in memo:
        if value.op == "fact":
            memo[value] = float(getattr(ranked, value.args[0]))
        else:
            parts = [_number(part, ranked, memo) for part in value.args]
            memo[value] = PLAIN[_PLAINLY.get(value.op, value.op)](*parts)
    return memo[value]


# Which parts of a step are registers; else all three are.
_READS = {"column": (), "nth": (), "length": (), "table": (3,), "sum": (3,), "highest": (3,), "lowest": (3,),
          "at": (3, 5), "upto": (3, 5), "elsewhere": (3, 5), "refuse": (3, 5), "answer": (3,)}  # fmt: skip


def _with_few_registers(steps: list[tuple[Any, ...]], kept: list[int]) -> tuple[list[tuple[Any, ...]], int]:
    """The same steps with registers that are used again once nobody reads them; those that are kept come first."""
    last = {step[at]: nth for nth, step in enumerate(steps) for at in _READS.get(step[0], (3, 4, 5))}
    where = {register: at for at, register in enumerate(kept)}
    free: list[int] = []
    stay, count = set(kept), len(kept)
    out = []
    for nth, step in enumerate(steps):
        reads = _READS.get(step[0], (3, 4, 5))
        parts = [where.get(part, part) if at in reads else part for at, part in enumerate(step)]
        if step[2] >= 0:
            if not free:
                free.append(count)
                count += 1
            parts[2] = where[step[2]] = free.pop()
        free += {where[step[at]] for at in reads if last[step[at]] == nth and step[at] >= 0 and step[at] not in stay}
        out.append(tuple(parts))
    return out, count


class _Writer:
    """Writes expressions down as steps, each once."""

    def __init__(self) -> None:
        self.steps: list[tuple[Any, ...]] = []
        self.lists: dict[Lists | None, int] = {None: 0}
        self.columns: dict[tuple[Lists | None, str], int] = {}
        self.numbers: dict[Expression, int] = {}  # with the registers they stay in
        self.tables: dict[Table, int] = {}
        self.registers = 0
        self._at: dict[Expression, int] = {}  # registers, as if there were no end of them

    def refuse(self, fault: Fault, at: int) -> None:
        value = -1 if fault.value is None else self.write(fault.value)
        condition = fault.condition
        self._step("refuse", condition, -1, self.write(condition), at, value)

    def answers(self, values: Sequence[Expression]) -> dict[Expression, int]:
        """Each value that is not the same for all, once."""
        found: dict[Expression, int] = {}
        for value in values:
            if value.kind != "number" and value not in found:
                found[value] = len(found)
                self._step("answer", value, -1, self.write(value), found[value])
        return found

    def write(self, value: Expression) -> int:
        """The register that it is in."""
        waiting, at = [value], self._at
        while waiting:  # not by calling itself, as a long sum goes deep
            one = waiting[-1]
            if one.kind == "number" and one not in at:
                at[one] = self.numbers[one] = self._register()
            elif one not in at:
                parts = one.parts
                if before := [part for part in parts if part not in at]:
                    waiting += before
                    continue
                at[one] = self._made(one, [at[part] for part in parts])
            waiting.pop()
        return at[value]

    def _made(self, value: Expression, parts: list[int]) -> int:
        operands: Sequence[int] = parts
        if value.op == "column":
            name, other, plus = value.args
            operands = self._field(value.items, name), -1 if other is None else self._field(value.items, other), plus
        elif value.op == "table":
            operands = parts[0], self._table(value.args[1])
        elif value.op in ("length", "sum", "highest", "lowest"):
            operands = parts[0] if parts else -1, self._space(value.items)
        elif value.op == "elsewhere":
            operands = parts[0], self._table(value.args[1]), parts[1]
        elif value.op in ("at", "upto"):
            operands = parts[0], self._space(value.args[1]), parts[1]
        to = self._register()
        self._step(value.op, value, to, *operands)
        return to

    def _step(self, op: str, value: Expression, to: int, *operands: int) -> None:
        space = self._space(value.items if value.kind == "item" or op == "elsewhere" else None)
        self.steps.append((op, space, to, *operands, *(-1,) * (3 - len(operands))))

    def _space(self, lists: Lists | None) -> int:
        if lists not in self.lists:
            self.lists[lists] = len(self.lists)
            self._field(lists, cast("Lists", lists).offsets)
        return self.lists[lists]

    def _table(self, table: Table) -> int:
        return self.tables.setdefault(table, len(self.tables))

    def _field(self, lists: Lists | None, name: str) -> int:
        return self.columns.setdefault((lists, name), len(self.columns))

    def _register(self) -> int:
        self.registers += 1
        return self.registers - 1
