"""The back-end for databases: a graph becomes terms of SQL, which `rankstone.sql.statement` writes in a dialect.

`Tree` has the operations on values one by one, with the rules for nulls; `OPERATIONS` the others; `Tables` are a truth
and a run in a database, as a metric looks at them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Literal, TypeAlias, cast

from rankstone.align.alignment import Relevance
from rankstone.align.elementwise import ELEMENTWISE, Discount, Functions, Values, table_lookup
from rankstone.align.ties import TieRule
from rankstone.errors import InputError, InputTypeError, NoClosedFormError
from rankstone.program.graph import Expression, Fault, FunctionsOf, Graph, Operators, walk
from rankstone.program.ranking import Ranking, StaticFacts

Kind = Literal["number", "item", "query", "mean"]  # the same everywhere, one per item, per query, of all queries
Operand: TypeAlias = "Term | float | bool | str"  # a text names a parameter
HUGE = 1.7976931348623157e308  # the largest float
_KINDS: tuple[Kind, ...] = ("number", "query", "item", "mean")
_INVERSE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "=": "<>", "<>": "="}
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "<>": "<>"}
_NAMES = {"minimum": "least", "maximum": "greatest", "log": "ln"}  # of operations, in SQL
_OPERATIONS = {name: op for op, name in _NAMES.items()}  # by their names in SQL
_TESTS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "<>": operator.ne}


# Terms are shared, so a recursion over their parts computes each of them once.
_once = lru_cache(maxsize=1 << 14)


def computed(op: str, numbers: Iterable[float]) -> float:
    """What an operation on numbers comes to."""
    return float(ELEMENTWISE[_OPERATIONS.get(op, op)](*map(float, numbers)))


class Term(Operators):
    """A number or a condition in SQL. It can be null, which is what arrays call NaN; where `infinite`, null stands for
    a number beyond all others."""

    __slots__ = ("args", "graph", "infinite", "items", "kind", "name", "nullable", "op", "parts", "serial")
    __hash__ = object.__hash__

    def __init__(self, graph: Tree, op: str, args: tuple[object, ...], kind: Kind, items: Items | None) -> None:
        self.graph, self.op, self.kind = graph, op, kind
        self.args: tuple[Any, ...] = args
        self.parts = [arg for arg in args if isinstance(arg, Term)]  # the terms that it is made of
        self.items = items  # whose items, where it is one per item
        self.nullable = self.infinite = False
        self.name = ""  # of a column that holds it
        self.serial = len(graph.known)

    @property
    def number(self) -> float | None:
        """The number that it is, whatever the data."""
        return self.args[0] if self.op == "number" else None


@dataclass(frozen=True, eq=False)
class Items:
    """Rows of items, one or more a query, and what they are made of."""

    what: Literal["judged", "ranked", "placed", "ideal", "pooled"]
    suffix: str = ""  # of its name, where there are several alignments
    of: Items | None = None  # whose rows they are: in their best order, or all queries as one
    order: Term | None = None  # best first; None: by grade
    nonzero: bool = False  # without those judged 0
    kept: Term | None = None  # a condition that their queries meet

    @property
    def whole(self) -> bool:
        """Are they one list of all queries."""
        return self.what == "pooled" or (self.of is not None and self.of.whole)


@dataclass(eq=False)
class Tree:
    """All expressions of a statement; equal ones are one."""

    faults: list[Fault] = field(default_factory=list)
    known: dict[tuple[Any, ...], Term] = field(default_factory=dict)
    lists: dict[tuple[Any, ...], Items] = field(default_factory=dict)

    def node(self, op: str, *args: Any, kind: Kind, items: Items | None = None) -> Term:
        """The expression that this is, made once."""
        key = (op, kind, items, *(arg.serial if isinstance(arg, Term) else (type(arg), arg) for arg in args))
        term = self.known.get(key)
        if term is None:
            term = self.known[key] = Term(self, op, args, kind, items)
        return term

    def items(self, what: str, *about: Any) -> Items:
        """The rows that these are, made once."""
        key = (what, *((Term, part.serial) if isinstance(part, Term) else part for part in about))
        if key not in self.lists:
            self.lists[key] = Items(cast("Any", what), *about)
        return self.lists[key]

    def of(self, value: Operand) -> Term:
        """A plain number, a truth value, infinity or NaN as an expression."""
        if isinstance(value, Term):
            return value
        if isinstance(value, str):
            return self.node("parameter", value, kind="number")
        if isinstance(value, bool):
            return self.node("true" if value else "false", kind="number")
        if not math.isnan(value) and value != math.inf:
            return self.node("number", float(value), kind="number")
        null = self.node("null", kind="number")
        null.nullable = True
        return null

    def make(self, op: str, *operands: Operand) -> Term:
        """An operation, or what it comes to where that is known."""
        args = tuple(map(self.of, operands))
        numbers = [arg.number for arg in args]
        if None not in numbers:
            return self.of(computed(op, cast("list[float]", numbers)))
        first, last = numbers[0], numbers[-1]
        if (op == "+" and first == 0) or (op == "*" and first == 1):
            return args[1]
        if (op in "+-" and last == 0) or (op in "*/" and last == 1):
            return args[0]
        if op == "*" and 0 in (first, last):
            return self.of(0.0)
        if op == "*" and args[1].op == "/" and args[1].args[0].number == 1:
            return self.make("/", args[0], args[1].args[1])
        if op in ("least", "greatest") and any(arg.nullable or arg.infinite for arg in args):
            return self._extreme(op, *args)
        if op == "/" and args[1].infinite:
            return self.or_else(self._op(op, args), 0.0)
        if op == "/" and args[0].op == "total" and args[1].op == "count" and args[0].args[0] is args[1].args[0]:
            return self.node("average", *args[0].args, kind="mean")
        return self._op(op, args)

    def _op(self, op: str, args: tuple[Term, ...]) -> Term:
        kind = max((arg.kind for arg in args), key=_KINDS.index)
        items = next((arg.items for arg in args if arg.kind == "item"), None)
        term = self.node(op, *args, kind=kind, items=items)
        term.nullable = any(arg.nullable for arg in args)
        term.infinite = op not in ("/", "or_else", "where") and any(arg.infinite for arg in args)
        return term

    def _extreme(self, op: str, a: Term, b: Term) -> Term:
        """The lesser or the greater of two, of which one may be nothing: databases leave that out, or not."""
        if not (a.nullable or a.infinite):
            a, b = b, a
        both = self._op(op, (a, b)) if not (b.nullable or b.infinite) else self._extreme(op, b, a)
        other = b if a.infinite and op == "least" else math.inf if a.infinite else math.nan
        return self.where(self.known_(a), both, other)

    def or_else(self, value: Term, other: Operand) -> Term:
        """A value, or another where there is none."""
        term = self._op("or_else", (value, self.of(other)))
        term.nullable = False
        return term

    # -- conditions ------------------------------------------------------------------------------------------

    def compare(self, sign: str, left: Operand, right: Operand) -> Term:
        a, b = self.of(left), self.of(right)
        if isinstance(right, float) and right == -math.inf:
            return self.of(sign in (">", ">=", "<>"))
        if a.number is not None and b.number is not None:
            return self.of(_TESTS[sign](a.number, b.number))
        if a is b:
            return self.known_(a) if sign == "=" else self.negated(self.known_(a))
        if isinstance(right, float) and right == math.inf:  # what is not flagged so has no infinity but by overflow
            if a.infinite:
                return self.known_(a) if sign in ("<", "<>") else self.negated(self.known_(a))
            return self.of(True) if sign in ("<", "<=", "<>") else self._op(">", (a, self.of(HUGE)))
        if a.number is not None:
            a, b, sign = b, a, _MIRRORED[sign]
        term = self._op(sign, (a, b))
        if a.infinite and sign in (">", ">="):
            return self.either(self.negated(self.known_(a)), term)
        return term

    def known_(self, value: Term) -> Term:
        """Is there a value."""
        return self._op("known", (value,)) if value.nullable or value.infinite else self.of(True)

    def both(self, left: Operand, right: Operand) -> Term:
        return self._junction("and", "true", left, right)

    def either(self, left: Operand, right: Operand) -> Term:
        return self._junction("or", "false", left, right)

    def _junction(self, op: str, neutral: str, left: Operand, right: Operand) -> Term:
        a, b = self.of(left), self.of(right)
        if a.op == neutral or a is b:
            return b
        if b.op == neutral:
            return a
        decided = next((side for side in (a, b) if side.op in ("true", "false")), None)
        return self._op(op, (a, b)) if decided is None else decided

    @_once
    def negated(self, condition: Operand) -> Term:
        a = self.of(condition)
        if a.op in ("true", "false"):
            return self.of(a.op == "false")
        if a.op == "not":
            return cast("Term", a.args[0])
        if a.op in _INVERSE and not a.args[0].nullable and not a.args[1].nullable:
            return self._op(_INVERSE[a.op], a.args)
        if a.op in ("and", "or"):
            return (self.either if a.op == "and" else self.both)(*map(self.negated, a.args))
        return self._op("not", (a,))

    def where(self, condition: Operand, yes: Operand, no: Operand) -> Term:
        """One value where a condition holds, else another."""
        test = self.of(condition)
        if test.op in ("true", "false"):
            return self.of(yes if test.op == "true" else no)
        a, b = self.given(test, True, self.of(yes)), self.given(test, False, self.of(no))
        if a is b:
            return a
        counts_none = test.op == "=" and test.args[0].op == "count" and test.args[1].number == 0
        if counts_none and _of_all(b):  # which is nothing, then
            return b if a.op == "null" else self.or_else(b, a)
        term = self._op("where", (test, a, b))
        term.nullable = a.nullable or b.nullable
        term.infinite = a.infinite or b.infinite or any(isinstance(x, float) and x == math.inf for x in (yes, no))
        return term

    def given(self, condition: Term, holds: bool, value: Term) -> Term:
        """A value where it is known whether a condition holds."""
        value = self._given(condition, holds, value)
        if condition.op == ("and" if holds else "or"):
            for part in condition.args:
                value = self.given(part, holds, value)
        return value

    @_once
    def _given(self, condition: Term, holds: bool, value: Term) -> Term:
        if value is condition:
            return self.of(holds)
        if value.op == "where" and value.args[0] is condition:
            return self._given(condition, holds, value.args[1] if holds else value.args[2])
        if value.op == "where" and self.negated(value.args[0]) is condition:
            return self._given(condition, holds, value.args[2] if holds else value.args[1])
        if value.op in ("+", "-", "*", "/", "negative", "sqrt", "power", "where", "least", "greatest", "or_else"):
            args = tuple(self._given(condition, holds, arg) for arg in value.args)
            if any(new is not old for new, old in zip(args, value.args, strict=True)):
                if value.op == "where":
                    return self.where(*args)
                return self.or_else(*args) if value.op == "or_else" else self.make(value.op, *args)
        return value

    # -- all queries -----------------------------------------------------------------------------------------

    def total(self, values: Term) -> Term:
        """The sum over all queries that have a value."""
        term = self.node("total", values, kind="mean")
        term.nullable = True  # of none
        return term

    def count(self, values: Term) -> Term:
        """How many queries have a value, or meet a condition."""
        if values.op in (*_INVERSE, "and", "or", "not", "known", "true", "false"):
            values = self.where(values, 1.0, math.nan)
        return self.node("count", values, kind="mean")

    def choose(self, condition: Term, yes: Callable[[], Operand], no: Callable[[], Operand]) -> Term:
        """One of two values, decided where the data is."""
        return self.where(condition, yes(), no())

    def raise_where(self, condition: Term, problem: str) -> None:
        """An error where a condition holds."""
        if condition.op != "false":
            self.faults.append(Fault(condition, problem))

    def exp(self, x: Term) -> Term:
        return self.make("exp", x)

    def call(self, op: str, *operands: Operand) -> Term:
        """An operation of a graph: the table of those on values one by one."""
        if op in ("<", "<=", "=="):
            left, right = operands
            sign = "=" if op == "==" else op
            if isinstance(right, Term) and not isinstance(left, Term):  # a number stands on the right
                left, right, sign = right, left, _MIRRORED[sign]
            return self.compare(sign, left, right)
        own: dict[str, Any] = {"where": self.where, "and": self.both, "or": self.either, "not": self.negated}
        own["round"] = self.round
        return own[op](*operands) if op in own else self.make(_NAMES.get(op, op), *operands)

    def round(self, x: Term, digits: int) -> Term:
        """To so many decimals, a half to the even one: in words that every database has."""
        scale = 10.0**digits
        whole = self.make("floor", x * scale)
        rest = x * scale - whole
        odd = whole - 2.0 * self.make("floor", whole / 2.0)
        up = self.either(rest > 0.5, self.both(rest == 0.5, odd == 1.0))
        return (whole + self.where(up, 1.0, 0.0)) / scale


@_once
def at_rank(value: Term, rank: int) -> float | None:
    """What a value of an item comes to at a rank, if it depends on nothing else."""
    if value.op == "column" and value.args[0] == "item_rank":
        return float(rank)
    if value.number is not None:
        return value.number
    if value.op == "window":  # of the same value at each rank
        inside = at_rank(value.args[2], rank) if value.args[2].number is not None else None
        steps = {"down to": rank, "before": rank - 1}.get(value.args[0])
        return None if inside is None or steps is None else inside * steps
    is_elementwise = _OPERATIONS.get(value.op, value.op) in ELEMENTWISE
    parts = [at_rank(arg, rank) for arg in value.args] if is_elementwise else [None]
    return None if None in parts else computed(value.op, cast("list[float]", parts))


@_once
def _of_all(value: Term) -> bool:
    """Is it made of a sum over queries, so that there is none without any."""
    return value.op in ("total", "average") or (
        value.op in ("+", "-", "*", "/", "exp", "sqrt", "negative") and any(map(_of_all, value.args))
    )


class Tables:
    """A truth and a run in tables of a database, as a metric looks at them, and their terms.

    facts: of the truth and the run, as in `scored=False`: the run has no scores, just ranks.
    """

    operations: ClassVar[Mapping[str, Callable[..., Any]]]

    def __init__(self, tree: Tree, suffix: str = "", **facts: Values) -> None:
        self.tree, self.suffix = tree, suffix  # of the names of rows, where there are several alignments
        self.functions: Functions = FunctionsOf(tree)
        self.facts = StaticFacts(Relevance())._replace(**facts)
        self.arrange: Callable[[Ranking], tuple[Any, Any]] | None = None  # tied items by key, if not as they are
        self.best: bool | None = None
        self.pooled, self.entered = False, cast("Any", None)  # are all queries one list, and which of them
        self.graph, self._terms = Graph(), cast("dict[Expression, Operand]", {})

    def _with(self, facts: Mapping[str, Any] | None = None, **changes: object) -> Any:
        """The same, but for this."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, graph=Graph(), _terms={}, facts=self.facts._replace(**(facts or {})))
        other.__dict__.update(changes)
        return other

    # -- how a metric looks at it ------------------------------------------------------------------------------

    def judged_by(self, rule: Relevance) -> Tables:
        return self._with({"rule": rule})

    def within_the_list(self) -> Tables:
        return self._with({"returned_only": True, "unjudged": True})

    def condensed(self) -> Tables:
        return self  # the statement selects no other rows (`How.judged`)

    def above_zero(self) -> Tables:
        return self._with({"misses": self.facts.scored})

    def with_ties(self, rule: TieRule) -> Tables:
        if rule.by is not None:
            return self
        return self._with({"ties": rule}) if rule.arrange is None else self._with(arrange=rule.arrange)

    def by_gain(self, gains: Expression, best: bool) -> Tables:
        key = -gains if best else gains
        same = {"graph": self.graph, "_terms": self._terms}  # whose gains these are
        return self._with({"arranged": True}, best=best, arrange=lambda ranking: (key, key < 0), **same)

    def only(self, queries: Expression) -> Tables:
        return self._with(entered=self.term(queries))

    def as_one_list(self) -> Tables:
        """All queries as one: every placed item in a single list, by score."""
        return self._with({"ties": None, "arranged": False}, pooled=True, arrange=None, best=None)

    @property
    def ranking(self) -> Ranking:
        """The symbolic lists that a metric's function reads."""
        plain = Ranking(self.graph, self.facts)
        return plain if self.arrange is None else plain.arranged(*self.arrange(plain))

    # -- terms -------------------------------------------------------------------------------------------------

    def term(self, value: Values) -> Term:
        """An expression in SQL."""
        return self.tree.of(self.operand(self.graph.of(value)))

    def condition(self, value: Values) -> Term:
        """A condition in SQL."""
        number = self.graph.of(value).number
        return self.term(value) if number is None else self.tree.of(bool(number))

    def operand(self, value: Expression) -> Operand:
        for one in walk([value], self._terms):
            args = [self._terms[arg] for arg in one.args]
            own = self.operations.get(one.op)
            operand = self.tree.call(one.op, *args) if own is None else own(self, one, *args)
            if isinstance(operand, Term) and one.name and not operand.name and operand.op not in ("number", "null"):
                operand.name = one.name
            self._terms[one] = operand
        return self._terms[value]

    def faults(self) -> None:
        """Hand the graph's faults over to the tree."""
        for fault in self.graph.faults:
            test, value = self.condition(fault.condition), fault.value
            if test.op != "false":
                self.tree.faults.append(Fault(test, fault.problem, None if value is None else self.term(value)))
        self.graph.faults.clear()

    def rows(self, what: str) -> Items:
        """Rows of the alignment: judged, ranked or placed ones."""
        base = self.tree.items(what, self.suffix)
        if not self.pooled:
            return base
        kept = None if self.entered is None else self.broadcast(self.entered, base)
        return self.tree.items("pooled", self.suffix, base, None, False, kept)

    def items(self, space: Values) -> Items:
        """The rows of a space."""
        if space.what == "ideal":
            order = None if space.order is None else self.term(space.order)
            return self.tree.items("ideal", self.suffix, self.items(space.of), order, space.nonzero)
        if space.what not in ("placed", "truth"):
            raise InputTypeError("SQL has no subtopics")
        return self.rows("placed" if space.what == "placed" or self.facts.returned_only else "judged")

    def column(self, items: Items, name: str) -> Term:
        if name == "place" and not self.facts.ordered_truth:
            raise InputError("rows of a table have no order")
        return self.tree.node("column", name, kind="item", items=items)

    def of_query(self, name: str) -> Term:
        return self.tree.node("of query", name, kind="query", items=self.rows("ranked"))

    def aggregate(self, how: str, values: Operand, items: Items, name: str) -> Term:
        term = self.tree.node("aggregate", how, self.tree.of(values), kind="query", items=items)
        term.name = term.name or name
        return term

    def window(
        self, over: str, values: Operand, items: Items, name: str, how: str = "sum", order: Term | None = None
    ) -> Term:
        if over in ("down to", "before") and order is None:
            order = self.column(items, "item_rank")
        term = self.tree.node("window", over, how, self.tree.of(values), order, kind="item", items=items)
        term.name = term.name or name
        return term

    @_once
    def broadcast(self, value: Operand, items: Items) -> Operand:
        """A value per query at each of its items."""
        if not isinstance(value, Term) or value.kind == "number":
            return value
        if value.op in ("aggregate", "of query"):
            if value.op == "aggregate" and value.items is items:
                return self.window("all", value.args[1], items, value.name, value.args[0])
            term = self.tree.node("spread", value, kind="item", items=items)
            term.nullable, term.infinite = value.nullable, value.infinite
            return term
        return self.tree._op(value.op, tuple(self.tree.of(self.broadcast(arg, items)) for arg in value.args))

    def inside(self, values: Operand, rank: Operand, k: Operand, items: Items) -> Term:
        """Values down to a rank, else 0."""
        return self.tree.where(self.tree.call("<=", rank, self.broadcast(k, items)), values, 0.0)

    def places(self, of: Discount, k: Sequence[Operand]) -> tuple[Items, Term]:
        """The rows of all places of the lists, and a function of their ranks, 0 beyond k."""
        run = self.rows("ranked")
        rank = self.column(run, "item_rank")
        values = of(self.functions, rank)
        return run, self.tree.of(values) if not k else self.inside(values, rank, k[0], run)


def _column(to: Tables, one: Expression) -> Operand:
    name = one.params[0]
    if one.kind == "item":
        names = {"rank": "item_rank", "above": "items_above", "level": "items_tied"}
        return to.column(to.items(one.space), names.get(name) or str(name))
    if name == "judged":
        return to.aggregate("sum", 1.0, to.rows("judged"), "judged")
    if name == "unjudged":
        return to.of_query("retrieved") - to.aggregate("sum", 1.0, to.rows("placed"), "placed")
    return to.of_query("retrieved") if name == "retrieved" else to.of_query("is_returned") == 1.0


def _nth(to: Tables, one: Expression) -> Operand:
    items = to.items(one.space)
    if items.what == "ideal":
        return to.column(items, "item_rank")
    if not to.facts.ordered_truth:
        raise InputError("the truth's rows are not ranked: choose ranking.ideal('judged')")
    return to.column(items, "place")


def _sum_to(to: Tables, one: Expression, values: Operand, rank: Operand, k: Operand) -> Operand:
    items = to.items(one.space)
    cutoff = f"_{k:g}" if isinstance(k, float) else ""
    return to.aggregate("sum", to.inside(values, rank, k, items), items, _total(one, values) + cutoff)


def _total(one: Expression, values: Operand) -> str:
    """A sum's name: its own, or that of its values."""
    name = values.name if isinstance(values, Term) else ""
    return one.name or {"credit": "hits", "": "total"}.get(name, name)


def _first(to: Tables, one: Expression, condition: Operand, rank: Operand) -> Operand:
    ranks = to.tree.where(condition, rank, math.nan)
    term = to.aggregate("min", ranks, to.items(one.space), one.name or "first_rank")
    term.infinite = True
    return term


def _product(to: Tables, one: Expression, values: Operand) -> Operand:
    # A product is the exponential of a sum of logarithms, and 0 if one of them is.
    tree, items = to.tree, to.items(one.space)
    positive = tree.call("<", 0.0, values)
    logs = tree.where(positive, tree.make("ln", tree.where(positive, values, 1.0)), 0.0)
    zero = to.aggregate("sum", tree.where(positive, 0.0, 1.0), items, "certain")
    return tree.where(zero > 0, 0.0, tree.exp(to.aggregate("sum", logs, items, "log_chance")))


def _surviving(to: Tables, one: Expression, stops: Operand, order: Term | None = None) -> Operand:
    tree, items = to.tree, to.items(one.space)
    goes_on = tree.call("<", stops, 1.0)
    left = tree.where(goes_on, tree.make("-", 1.0, stops), 1.0)
    before = to.window("before", tree.where(goes_on, tree.make("ln", left), 0.0), items, "log_reading_on", order=order)
    stopped = to.window("before", tree.where(goes_on, 0.0, 1.0), items, "stopped_before", order=order)
    return tree.where(stopped > 0, 0.0, tree.exp(before))


def _above_sum(to: Tables, one: Expression, values: Operand, above: Operand) -> Operand:
    items = to.items(one.space)
    return to.window("level and above", values, items, "level_and_above") - to.window("level", values, items, "level")


def _mean_discount(to: Tables, one: Expression, above: Operand, level: Operand, *k: Operand) -> Operand:
    if to.pooled:
        raise NoClosedFormError("has no closed form over tied items of all queries, which is what SQL can say")
    run, values = to.places(one.params[0], k)
    mean = to.window("level", values, run, "mean_discount", "avg")
    return to.tree.node("carried", mean, kind="item", items=to.items(one.space))


def _discount_total(to: Tables, one: Expression, depth: Operand) -> Operand:
    if isinstance(depth, Term) and depth.kind == "number":
        raise InputError("the discounts of k places add up to a number only for a k that is one")
    run, values = to.places(one.params[0], [depth])
    return to.aggregate("sum", values, run, "discounts_of_places")


def _no_closed_form(to: Tables, one: Expression, *args: Operand) -> Operand:
    raise NoClosedFormError("has no closed form over counts of tied items, which is what SQL can say")


OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "number": lambda to, one: one.params[0],
    "parameter": lambda to, one: to.tree.of(one.params[0]),
    "weight": lambda to, one: to.tree.node("weight", kind="query"),
    "column": _column,
    "highest_grade": lambda to, one: to.tree.node(
        "highest grade", to.tree.items("placed" if to.facts.returned_only else "judged", to.suffix), kind="number"
    ),
    "spread": lambda to, one, value: to.broadcast(value, to.items(one.space)),
    "nth": _nth,
    # A column of its own, as windows look at it.
    "same": lambda to, one, value: to.window("same", value, to.items(one.space), "rank_by_grade"),
    "length": lambda to, one: to.aggregate("sum", 1.0, to.items(one.space), one.name or "placed"),
    "sum": lambda to, one, values: to.aggregate("sum", values, to.items(one.space), _total(one, values)),
    "sum_to": _sum_to,
    "highest": lambda to, one, values: to.aggregate("max", values, to.items(one.space), one.name or "highest"),
    "product": _product,
    "first": _first,
    "running": lambda to, one, values, order=None: to.window(
        "down to", values, to.items(one.space), one.name or "so_far", order=order
    ),
    "surviving": _surviving,
    "above_sum": _above_sum,
    "tied_sum": lambda to, one, values, above: to.window("level", values, to.items(one.space), "level"),
    "tied_nth": lambda to, one, key, above: to.window("nth", key, to.items(one.space), "nth_of_tied"),
    "discount": lambda to, one, rank: one.params[0](to.functions, rank),
    "mean_discount": _mean_discount,
    "discount_total": _discount_total,
    "lookup": lambda to, one, grades: table_lookup(to.functions, grades, one.params[0]),
    "by_count": lambda to, one, count: one.params[0](to.functions, count),
    "first_hit": _no_closed_form,
}
Tables.operations = OPERATIONS
