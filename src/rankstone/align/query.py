"""`Query`: a ranking that is only spoken of. Its values are expressions of SQL, for a warehouse to compute.

A metric's function, and all that makes a value and a mean of what it answers, are called with it as with any other
ranking. What comes back is a tree; `rankstone.sql.statement` writes it down in a dialect.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, cast

from rankstone.align.expression import PLAIN, TESTS, Expression, Kind, Operand, Spoken, kind_of
from rankstone.align.ranked import sums_of_discounts
from rankstone.align.ranking import Depth, Discount, Functions, Ideal, Relevance, Values, Views, Worth
from rankstone.align.ties import SHARED
from rankstone.errors import NoExpectedValue

T = TypeVar("T")
HUGE = 1.7976931348623157e308  # the largest float
_INVERSE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "=": "<>", "<>": "="}
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "<>": "<>"}


@dataclass(frozen=True, eq=False)
class Items:
    """Rows of items, one or more a query, and what they are made of."""

    what: Literal["judged", "ranked", "placed", "ideal", "pooled"]
    suffix: str = ""  # of its name, where there are several alignments
    of: Items | None = None  # whose rows they are: in their best order, or all queries as one
    order: Expression | None = None  # best first; None: by grade
    nonzero: bool = False  # without those judged 0
    kept: Expression | None = None  # a condition that their queries meet

    @property
    def whole(self) -> bool:
        """Are they one list of all queries."""
        return self.what == "pooled" or (self.of is not None and self.of.whole)


@dataclass(frozen=True, eq=False)
class Fault:
    """Data that cannot be measured: what holds of it, and what to say; {} in it is a value."""

    condition: Expression
    problem: str
    value: Expression | None = None


@dataclass(eq=False)
class Tree:
    """All expressions of a statement; equal ones are one."""

    faults: list[Fault] = field(default_factory=list)
    known: dict[tuple[Any, ...], Expression] = field(default_factory=dict)
    lists: dict[tuple[Any, ...], Items] = field(default_factory=dict)

    # -- making ----------------------------------------------------------------------------------------------

    def node(self, op: str, *args: Any, kind: Kind, items: Items | None = None) -> Expression:
        """The expression that this is, made once."""
        key = (op, kind, items, *(id(arg) if isinstance(arg, Expression) else arg for arg in args))
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = Expression(self, op, args, kind, items)
        return found

    def items(self, what: str, *about: Any) -> Items:
        """The rows that these are, made once."""
        key = (what, *(id(part) if isinstance(part, (Items, Expression)) else part for part in about))
        if key not in self.lists:
            self.lists[key] = Items(cast("Any", what), *about)
        return self.lists[key]

    def of(self, value: Operand) -> Expression:
        """A plain number, a truth value, infinity or NaN as an expression."""
        if isinstance(value, Expression):
            return value
        if isinstance(value, str):
            return self.node("parameter", value, kind="number")
        if isinstance(value, bool):
            return self.node("true" if value else "false", kind="number")
        if math.isnan(value) or value == math.inf:
            return self.null
        return self.node("number", float(value), kind="number")

    @property
    def null(self) -> Expression:
        """Nothing."""
        found = self.node("null", kind="number")
        found.nullable = True
        return found

    def make(self, op: str, *operands: Operand) -> Expression:
        """An operation, or what it comes to where that is known."""
        args = tuple(map(self.of, operands))
        numbers = [arg.number for arg in args]
        if None not in numbers:
            return self.of(PLAIN[op](*numbers))
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

    def _op(self, op: str, args: tuple[Expression, ...]) -> Expression:
        kind, items = kind_of(args)
        made = self.node(op, *args, kind=kind, items=items)
        made.nullable = any(arg.nullable for arg in args)
        made.infinite = op not in ("/", "or_else", "where") and any(arg.infinite for arg in args)
        return made

    def _extreme(self, op: str, a: Expression, b: Expression) -> Expression:
        """The lesser or the greater of two, of which one may be nothing: databases leave that out, or not."""
        if not (a.nullable or a.infinite):
            a, b = b, a
        both = self._op(op, (a, b)) if not (b.nullable or b.infinite) else self._extreme(op, b, a)
        other = b if a.infinite and op == "least" else math.inf if a.infinite else math.nan
        return self.where(self.known_(a), both, other)

    def or_else(self, value: Expression, other: Operand) -> Expression:
        """A value, or another where there is none."""
        made = self._op("or_else", (value, self.of(other)))
        made.nullable = False
        return made

    # -- conditions ------------------------------------------------------------------------------------------

    def compare(self, sign: str, left: Operand, right: Operand) -> Expression:
        a, b = self.of(left), self.of(right)
        if isinstance(right, float) and right == -math.inf:
            return self.of(sign in (">", ">=", "<>"))
        if a.number is not None and b.number is not None:
            return self.of(TESTS[sign](a.number, b.number))
        if a is b:
            return self.known_(a) if sign == "=" else self.negated(self.known_(a))
        if isinstance(right, float) and right == math.inf:  # what is not flagged so has no infinity but by overflow
            if a.infinite:
                return self.known_(a) if sign in ("<", "<>") else self.negated(self.known_(a))
            return self.of(True) if sign in ("<", "<=", "<>") else self._op(">", (a, self.of(HUGE)))
        if a.number is not None:
            a, b, sign = b, a, _MIRRORED[sign]
        made = self._op(sign, (a, b))
        if a.infinite and sign in (">", ">="):
            return self.either(self.negated(self.known_(a)), made)
        return made

    def known_(self, value: Expression) -> Expression:
        """Is there a value."""
        return self._op("known", (value,)) if value.nullable or value.infinite else self.of(True)

    def both(self, left: Operand, right: Operand) -> Expression:
        a, b = self.of(left), self.of(right)
        if "false" in (a.op, b.op):
            return self.of(False)
        return b if a.op == "true" or a is b else a if b.op == "true" else self._op("and", (a, b))

    def either(self, left: Operand, right: Operand) -> Expression:
        a, b = self.of(left), self.of(right)
        if "true" in (a.op, b.op):
            return self.of(True)
        return b if a.op == "false" or a is b else a if b.op == "false" else self._op("or", (a, b))

    def negated(self, condition: Operand) -> Expression:
        a = self.of(condition)
        if a.op in ("true", "false"):
            return self.of(a.op == "false")
        if a.op == "not":
            return cast("Expression", a.args[0])
        if a.op in _INVERSE and not a.args[0].nullable and not a.args[1].nullable:
            return self._op(_INVERSE[a.op], a.args)
        if a.op == "and":
            return self.either(self.negated(a.args[0]), self.negated(a.args[1]))
        if a.op == "or":
            return self.both(self.negated(a.args[0]), self.negated(a.args[1]))
        return self._op("not", (a,))

    def where(self, condition: Operand, yes: Operand, no: Operand) -> Expression:
        """One value where a condition holds, else another."""
        test = self.of(condition)
        if test.op in ("true", "false"):
            return self.of(yes if test.op == "true" else no)
        a, b = self.given(test, True, self.of(yes)), self.given(test, False, self.of(no))
        if a is b:
            return a
        if _counts_none(test) and _of_all(b):  # which is nothing, then
            return b if a.op == "null" else self.or_else(b, a)
        made = self._op("where", (test, a, b))
        made.nullable = a.nullable or b.nullable
        made.infinite = a.infinite or b.infinite or any(isinstance(x, float) and x == math.inf for x in (yes, no))
        return made

    def given(self, condition: Expression, holds: bool, value: Expression) -> Expression:
        """A value where it is known whether a condition holds."""
        value = self._given(condition, holds, value)
        if condition.op == ("and" if holds else "or"):
            for part in condition.args:
                value = self.given(part, holds, value)
        return value

    def _given(self, condition: Expression, holds: bool, value: Expression) -> Expression:
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

    def total(self, values: Expression) -> Expression:
        """The sum over all queries that have a value."""
        made = self.node("total", values, kind="mean")
        made.nullable = True  # of none
        return made

    def count(self, values: Expression) -> Expression:
        """How many queries have a value, or meet a condition."""
        if values.op in (*_INVERSE, "and", "or", "not", "known", "true", "false"):
            values = self.where(values, 1.0, math.nan)
        return self.node("count", values, kind="mean")

    def choose(self, condition: Expression, yes: Callable[[], Operand], no: Callable[[], Operand]) -> Expression:
        """One of two values, decided where the data is."""
        return self.where(condition, yes(), no())

    def refuse(self, condition: Expression, problem: str) -> None:
        """An error where a condition holds."""
        if condition.op != "false":
            self.faults.append(Fault(condition, problem))

    def exp(self, x: Expression) -> Expression:
        return self.make("exp", x)

    def round(self, x: Expression, digits: int) -> Expression:
        """To so many decimals, a half to the even one: in words that every database has."""
        scale = 10.0**digits
        whole = self.make("floor", x * scale)
        rest = x * scale - whole
        odd = whole - 2.0 * self.make("floor", whole / 2.0)
        up = self.either(rest > 0.5, self.both(rest == 0.5, odd == 1.0))
        return (whole + self.where(up, 1.0, 0.0)) / scale


def at_rank(value: Expression, rank: int) -> float | None:
    """What a value of an item comes to at a rank, if it depends on nothing else."""
    if value.op == "column" and value.args[0] == "item_rank":
        return float(rank)
    if value.number is not None:
        return value.number
    if value.op == "window":  # of the same value at each rank
        inside = at_rank(value.args[2], rank) if value.args[2].number is not None else None
        steps = {"down to": rank, "before": rank - 1}.get(value.args[0])
        return None if inside is None or steps is None else inside * steps
    parts = [at_rank(arg, rank) for arg in value.args] if value.op in PLAIN else [None]
    return None if None in parts else PLAIN[value.op](*parts)


def outermost(values: Iterable[Expression], wanted: Callable[[Expression], bool]) -> list[Expression]:
    """Of what some expressions are made of, what is wanted and stands in nothing else that is."""
    found: dict[Expression, None] = {}

    def look(value: Expression) -> None:
        if wanted(value):
            found[value] = None
            return
        for part in value.parts:
            look(part)

    for value in values:
        look(value)
    return list(found)


def _counts_none(condition: Expression) -> bool:
    return condition.op == "=" and condition.args[0].op == "count" and condition.args[1].number == 0


def _of_all(value: Expression) -> bool:
    """Is it made of a sum over queries, so that there is none without any."""
    return value.op in ("total", "average") or (
        value.op in ("+", "-", "*", "/", "exp", "sqrt", "negative") and any(map(_of_all, value.args))
    )


class Query(Spoken, Views):
    """Lists of items with ranks and grades, in a database.

    `items` says which rows: the returned ones that were judged, or those of an ideal list. `scored`: the run has
    scores, and not just ranks. `ordered_truth`: the truth has an order.
    """

    def __init__(
        self,
        tree: Tree,
        suffix: str = "",
        *,
        scored: bool = True,
        ordered_truth: bool = False,
        ordered_grades: bool = False,
    ) -> None:
        self.__dict__.update(
            tree=tree,
            suffix=suffix,  # of the names of rows, where there are several alignments
            scored=scored,
            ordered_truth=ordered_truth,
            ordered_grades=ordered_grades,
            items=tree.items("placed", suffix),
            run=tree.items("ranked", suffix),
            truth=tree.items("judged", suffix),
            rule=Relevance(),
            misses=False,  # items with a score of 0 or less count as if they were not relevant
            best=None,
            _rank=None,  # in the place of the rows' own
            _memo={},
        )

    tree: Tree
    suffix: str
    scored: bool
    ordered_truth: bool
    items: Items
    run: Items
    truth: Items
    misses: bool
    best: bool | None
    _rank: Expression | None
    _memo: dict[Hashable, Any]

    def replace(self, **changes: object) -> Query:
        """The same, but for this."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, _memo={}, **changes)
        return other

    # -- views -----------------------------------------------------------------------------------------------

    def judged_by(self, rule: Relevance) -> Query:
        return self.replace(rule=rule)

    def within_the_list(self) -> Query:
        return self.replace(listed=True)

    def condensed(self) -> Query:
        return self  # the statement selects no other rows (`How.judged`)

    def above_zero(self) -> Query:
        return self.replace(misses=True) if self.scored else self

    def with_ties(self, ties: str) -> Query:
        if ties == "expected":
            return self.replace(expected=True)
        above, level = self.items_above, self.items_level
        if ties in SHARED:
            last = above + (level if ties == "group_end" else self.floor((level + 1.0) / 2.0))
            return self.replace(_rank=last, shared=True)
        good = (self.grade > 0) | (self.relevance(self.grade) > 0)
        if ties == "optimistic":
            return self._arranged(-self.grade, good)
        return self._arranged(self.grade, ~good)

    def arranged(self, worth: Expression, best: bool) -> Query:
        key = -worth if best else worth
        return self._arranged(key, key < 0).replace(best=best)

    def _arranged(self, key: Expression, front: Expression) -> Query:
        """Tied items by key, the lowest first; those of `front` before the unjudged ones, the others after them."""
        nth = self._window("nth", key, name="nth_of_tied")
        last = self.items_level - self.level(self.tree.of(1.0)) + nth
        rank = self.items_above + self.where(front, nth, last)
        rank.name = "rank_by_grade"
        # A column of its own, as windows look at it.
        return self.replace(_rank=self._window("same", rank, name="rank_by_grade"), _level=True)

    def only(self, queries: Expression) -> Query:
        return self.replace(_kept=queries)

    _kept: Expression | None = None
    _level = False  # no items are tied any more

    def as_one_list(self) -> Query:
        """All queries as one: every placed item in a single list, by score."""
        pooled = {}
        for name, of in (("items", self.items), ("run", self.run), ("truth", self.truth)):
            kept = None if self._kept is None else self.replace(items=of).spread(self._kept)
            pooled[name] = self.tree.items("pooled", self.suffix, of, None, False, kept)
        return self.replace(**pooled, expected=False, shared=False, best=None, _rank=None, _level=False)

    def ideal(self, items: Ideal = "judged", worth: Worth | None = None, k: Depth = None) -> Query:
        given = items == "given"
        source = self.items if self.listed or items == "retrieved" else self.truth
        view = self.replace(misses=False, expected=False, shared=False, _rank=None, _ideal=True, items=source)
        if given:
            return view.replace(_rank=view.place if self.ordered_truth else None)
        order = None if worth is None else worth(view)
        made = self.tree.items("ideal", self.suffix, source, order, items == "nonzero")
        view = view.replace(items=made)
        if self.listed and items in ("judged", "retrieved"):  # as grade 0, they come before the negative ones
            unjudged = view.spread(self.retrieved - self.placed)
            rank = view._column("item_rank")
            view = view.replace(_rank=view.where(view.grade < 0, rank + unjudged, rank))
        return view

    _ideal = False

    # -- one an item -----------------------------------------------------------------------------------------

    def _column(self, name: str) -> Expression:
        if name == "place" and not self.ordered_truth:
            raise ValueError("rows of a table have no order")
        if name == "item_rank" and self.items is self.truth:
            raise ValueError("the truth's rows are not ranked: choose ranking.ideal('judged')")
        return self.tree.node("column", name, kind="item", items=self.items)

    def _carried(self, value: Expression) -> Expression:
        """A value of each returned item, at those that were judged."""
        return self.tree.node("carried", value, kind="item", items=self.items)

    @property
    def rank(self) -> Expression:
        self.need_order()
        return self._any_rank

    @property
    def _any_rank(self) -> Expression:
        return self._column("item_rank") if self._rank is None else self._rank

    @property
    def grade(self) -> Expression:
        return self._column("grade")

    @property
    def score(self) -> Expression:
        return self._column("score")

    @property
    def place(self) -> Expression:
        return self._column("place")

    @property
    def predicted(self) -> Expression:
        if not self.scored:
            raise ValueError("a prediction error needs scores, and the run is only an order of items")
        return self.score

    @property
    def _tied(self) -> bool:
        """Can items have equal scores."""
        return not self._ideal and not self._level

    @property
    def items_above(self) -> Expression:
        return self._column("items_above") if self._tied else self._any_rank - 1.0

    @property
    def items_level(self) -> Expression:
        return self._column("items_level") if self._tied else self.tree.of(1.0)

    @property
    def credit(self) -> Expression:
        def credit() -> Expression:
            whole = self.relevance(self.grade)
            return self.where(self.score <= 0, 0.0, whole) if self.misses else whole

        return self.remember("credit", credit)

    @property
    def bad_so_far(self) -> Expression:
        self.need_order()
        bad = self.running(self.judged_bad)
        if not self.listed:
            return bad
        return bad + (self.rank - self.running(self.tree.of(1.0)))  # what nobody judged counts as not relevant

    # -- one a query -----------------------------------------------------------------------------------------

    def _of_query(self, name: str) -> Expression:
        return self.tree.node("of query", name, kind="query", items=self.run)

    @property
    def retrieved(self) -> Expression:
        return self._of_query("retrieved")

    @property
    def present(self) -> Expression:
        return self._of_query("is_returned") == 1.0

    @property
    def placed(self) -> Expression:
        return self._aggregate("sum", self.tree.of(1.0), name="placed")

    @property
    def _judged_items(self) -> Query:
        """What the truth judges, returned or not."""
        return self.replace(items=self.truth, _ideal=True, _rank=None, misses=False, expected=False, listed=False)

    @property
    def judged(self) -> Expression:
        return self._judged_items._aggregate("sum", self.tree.of(1.0), name="judged")

    @property
    def relevant(self) -> Expression:
        truth = self.ideal("given")
        return truth._aggregate("sum", truth.credit, name="relevant")

    @property
    def nonrelevant(self) -> Expression:
        truth = self.ideal("given")
        judged = truth._aggregate("sum", truth.judged_bad, name="nonrelevant")
        return judged + (self.retrieved - self.placed) if self.listed else judged

    @property
    def first_rank(self) -> Expression:
        found = self._aggregate("min", self.where(self.credit > 0, self.rank, math.nan), name="first_rank")
        found.infinite = True
        return found

    @property
    def highest_grade(self) -> Expression:
        known = self.tree.items("placed", self.suffix) if self.listed else self.tree.items("judged", self.suffix)
        return self.tree.node("highest grade", known, kind="number")

    # -- from items to queries and back ----------------------------------------------------------------------

    def per_query(self, value: Values) -> Expression:
        return self.tree.of(value)

    def number(self, condition: Values) -> Expression:
        return self.tree.where(condition, 1.0, 0.0)

    def every(self, condition: Any) -> bool:
        return self.tree.of(condition).op == "true"

    def spread(self, values: Values) -> Expression:
        value = self.tree.of(values)
        if value.kind == "number":
            return value
        if value.op in ("aggregate", "of query"):
            if value.op == "aggregate" and value.items is self.items:
                return self._window("all", value.args[1], name=value.name, how=value.args[0])
            made = self.tree.node("spread", value, kind="item", items=self.items)
            made.nullable, made.infinite = value.nullable, value.infinite
            return made
        args = tuple(self.spread(arg) for arg in value.args)
        return self.tree._op(value.op, args)

    def _aggregate(self, how: str, values: Values, *, name: str) -> Expression:
        value = self.tree.of(values)
        made = self.tree.node("aggregate", how, value, kind="query", items=self.items)
        made.name = made.name or name
        return made

    def _window(self, over: str, values: Expression, *, name: str, how: str = "sum") -> Expression:
        made = self.tree.node("window", over, how, values, self._window_order(over), kind="item", items=self.items)
        made.name = made.name or name
        return made

    def _window_order(self, over: str) -> Expression | None:
        return self._any_rank if over in ("down to", "before") else None

    def sum(self, values: Values, k: Depth = None) -> Expression:
        if self.expected and k is not None:
            depth = self.spread(k)
            return self._sum(
                values * self.minimum(self.maximum((depth - self.items_above) / self.items_level, 0.0), 1.0)
            )
        return self._sum(self._inside(values, k), k)

    def _inside(self, values: Values, k: Depth) -> Values:
        return values if k is None else self.where(self._any_rank <= self.spread(k), values, 0.0)

    def _sum(self, values: Values, k: Depth = None, name: str = "") -> Expression:
        value = self.tree.of(values)
        source = value.args[1] if value.op == "where" and k is not None else value
        name = name or ("hits" if source.name == "credit" else source.name or "earned")
        return self._aggregate("sum", value, name=name + (f"_{k}" if isinstance(k, int) else ""))

    def running(self, values: Values) -> Expression:
        value = self.tree.of(values)
        names = {"credit": "relevant_so_far", "judged_bad": "nonrelevant_so_far"}
        return self._window("down to", value, name=names.get(value.name, "so_far"))

    def surviving(self, stops: Values) -> Expression:
        # A product is the exponential of a sum of logarithms, and 0 after the first 0.
        stops = self.tree.of(stops)
        goes_on = self.where(stops < 1.0, self.tree.make("ln", self.where(stops < 1.0, 1.0 - stops, 1.0)), 0.0)
        before = self._window("before", goes_on, name="log_reading_on")
        stopped = self._window("before", self.number(stops >= 1.0), name="stopped_before")
        return self.where(stopped > 0, 0.0, self.tree.exp(before))

    def highest(self, values: Values) -> Expression:
        return self._aggregate("max", values, name="highest")

    def higher(self, values: Values) -> Expression:
        value = self.tree.of(values)
        if not self._tied:
            return self.running(value) - value
        return self._window("level and above", value, name="level_and_above") - self.level(value)

    def level(self, values: Values) -> Expression:
        value = self.tree.of(values)
        return self._window("level", value, name="level") if self._tied else value

    # -- discounts -------------------------------------------------------------------------------------------

    def discounted(self, gains: Values, discount: Discount, k: Depth = None) -> Expression:
        if self.expected:
            return self._sum(gains * self._mean_of_places(lambda rank: discount(self, rank), k, "mean_discount"))
        suffix = f"_{k}" if isinstance(k, int) else ""
        name = ("best_" if self._ideal else "") + "discounted" + suffix
        return self._sum(self._inside(gains * discount(self, self._any_rank), k), name=name)

    def _mean_of_places(self, of: Callable[[Expression], Values], k: Depth, name: str) -> Expression:
        """For each item the mean of a function over all the places down to k that it can have among tied ones."""
        if self.items.whole:
            raise NoExpectedValue("has no closed form over tied items of all queries, which is what SQL can say")
        run = self.replace(items=self.run, expected=False, _rank=None)
        return self._carried(run._window("level", run._inside(of(run._any_rank), k), name=name, how="avg"))

    def sum_of_discounts(self, discount: Discount, depth: Depth, smooth: bool = False) -> Expression:
        if isinstance(depth, int):
            return self.tree.of(float(sums_of_discounts(discount, float(depth), smooth)))
        if isinstance(depth, str) or (isinstance(depth, Expression) and depth.kind == "number"):
            raise ValueError("the discounts of k places add up to a number only for a k that is one")
        run = self.replace(items=self.run, expected=False, _rank=None)
        weights = run._inside(discount(run, run._any_rank), depth)
        return run._aggregate("sum", weights, name="discounts_of_places")

    # -- the rest --------------------------------------------------------------------------------------------

    def by_count(self, of: Callable[[Functions, Values], Values]) -> Expression:
        return self.tree.of(of(self, self.relevant))

    def refuse(self, queries: Values, problem: str) -> None:
        self.tree.refuse(self.tree.of(queries), problem)

    def refuse_items(self, items: Values, problem: str, values: Values) -> None:
        condition = self.tree.of(items)
        if condition.op != "false":
            self.tree.faults.append(Fault(condition, problem, self.tree.of(values)))

    def remember(self, key: Hashable, make: Callable[[], T]) -> T:
        if key not in self._memo:
            value = make()
            if isinstance(value, Expression) and not value.name and value.op != "number":
                value.name = str(key[0] if isinstance(key, tuple) else key)
            self._memo[key] = value
        return cast("T", self._memo[key])

    # -- closed forms over all orders of tied items ----------------------------------------------------------

    def expected_precisions(self, k: Depth) -> Expression:
        """As in `Ranked`, item by item: those of a group share what it earns."""
        if self.rule.credit != "whole":
            raise NoExpectedValue("has no closed form over all orders of tied items for partly relevant ones")
        above, size, found = self.items_above, self.items_level, self.level(self.credit)
        before = self.higher(self.credit)
        slope = self.where(size > 1, (found - 1.0) / self.maximum(size - 1.0, 1.0), 0.0)
        constant = before + 1.0 - slope * (above + 1.0)
        places = size if k is None else self.maximum(self.minimum(above + size, self.spread(k)) - above, 0.0)
        reciprocals = self._mean_of_places(lambda rank: 1.0 / rank, k, "mean_reciprocal") * size
        return self._sum(self.credit * (constant * reciprocals + slope * places) / size)

    def expected_reciprocal(self, k: Depth) -> Expression:
        raise NoExpectedValue("has no closed form over counts of tied items, which is what SQL can say")

    def chance_of_none(self, k: Depth) -> Expression:
        """The product of the chances that each relevant item is not drawn, if those before it in its group are not."""
        size, drawn = self.items_level, self.items_level
        if k is not None:
            drawn = self.minimum(self.maximum(self.spread(k) - self.items_above, 0.0), size)
        relevant = self.number(self.credit > 0)
        nth = self.replace(expected=False).running(relevant) - self.higher(relevant) - 1.0
        left = self.where(relevant > 0, self.maximum(size - drawn - nth, 0.0) / self.maximum(size - nth, 1.0), 1.0)
        logs = self.where(left > 0, self.tree.make("ln", self.where(left > 0, left, 1.0)), 0.0)
        certain = self._sum(self.number(left <= 0), name="certain")
        return self.where(certain > 0, 0.0, self.tree.exp(self._sum(logs, name="log_chance")))

    def round(self, x: Values, digits: int) -> Expression:
        return self.tree.round(self.tree.of(x), digits)
