"""The vocabulary of a metric: `Ranking`, which a metric's function reads, and its answer (`Ratio`).

Values come in two kinds: one per item (`rank, grade, credit, score, judged_nonrelevant, truth_position`), for each item
that was judged and returned, from the top of the list; and one per query (`retrieved, relevant, judged, nonrelevant`).
Both kinds add, multiply and compare like numbers. `sum`, `highest` and `first` lead from items to queries,
`broadcast` leads back.

Every word builds expressions of a graph, which back-ends run; so a metric is the same number in each of them. Over an
`Eager` graph the same words give arrays at once, for functions that ask for arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar, cast

from rankstone.align.elementwise import Depth, Discount, Functions, Values, sums_of_discounts
from rankstone.errors import InputError, NoClosedFormError

if TYPE_CHECKING:
    from rankstone.align.alignment import Alignment, Relevance
    from rankstone.align.ties import TieRule
    from rankstone.program.flat import Eager
    from rankstone.program.graph import Graph, Space, View

T = TypeVar("T")
Finish: TypeAlias = Callable[[Values], Values]  # applied after a division, as the root of the squared errors is
Ideal = Literal["judged", "nonzero", "retrieved", "given"]
GainFunction: TypeAlias = "Callable[[Ranking], Values]"  # the gain of each item: lambda ranking: ranking.grade**2


class Ratio(NamedTuple):
    """A numerator and a denominator per query."""

    numerator: Values
    denominator: Values
    finish: Finish | None = None
    parts: tuple[Ratio, Ratio] | None = None  # precision and recall, where the value is made of them

    def only(self, queries: Values) -> Ratio:
        """The same for some of the queries.

        Parameters
        ----------
        queries : array of bool or int
            Which of them.
        """
        return self.map(lambda side: side[queries])

    def map(self, change: Callable[[Values], Values]) -> Ratio:
        """The same with a function applied to all sides.

        Parameters
        ----------
        change : callable
            From values per query to values per query.
        """
        parts = self.parts and (self.parts[0].map(change), self.parts[1].map(change))
        return Ratio(change(self.numerator), change(self.denominator), self.finish, parts)


class StaticFacts(NamedTuple):
    """What of a ranking decides which expressions its words make."""

    rule: Relevance
    ties: TieRule | None = None  # the rule for tied items, where they share a rank or are averaged
    returned_only: bool = False
    unjudged: bool = False  # do unjudged items count as graded 0
    misses: bool = False  # does a score of 0 or less make an item non-relevant
    ordered_truth: bool = False
    ordered_grades: bool = False
    arranged: bool = False  # do tied items stand by their gains
    scored: bool = True  # can items have scores
    tied: bool = True  # can items be tied

    @classmethod
    def of(cls, alignment: Alignment) -> StaticFacts:
        return cls(
            alignment.rule, alignment.ties, alignment.listed, alignment.unjudged is not None, alignment.misses,
            alignment.ordered_truth, alignment.ordered_grades, alignment.best is not None,
        )  # fmt: skip


class Ranking(Functions):
    """Lists of items with ranks and grades, by query.

    Operands of its methods
    -----------------------
    k : int or None
        Cutoff; None is the whole list.
    values, value, gains, worth, grades, x, y, merit : values
        One number per item or per query, such as `ranking.grade`.
    condition, queries, items, stops : values
        True or false per item or per query.
    discount, table, p, alpha, exact, smooth : as the metric's parameter of this name
    depth, divisor, front, of : values or str
        How deep a sum goes, what a count is divided by, which items come first, what is counted.
    op, operands, key, make : names and functions
        For operations that have no method of their own.
    problem : str
        The text of the error that is raised where a condition holds.
    """

    def __init__(self, graph: Graph | Eager, facts: StaticFacts, view: View | None = None) -> None:
        self.graph: Any = graph
        self.facts, self.relevance_rule, self._view = facts, facts.rule, view
        self.space: Space = graph.space("placed", view=view)
        self.ties_averaged = facts.ties is not None and facts.ties.expected  # the mean over all orders of tied items
        self.ties_share_rank = facts.ties is not None and facts.ties.place is not None  # tied items share one rank
        self.returned_only = facts.returned_only  # only the items returned count: unjudged ones have grade 0
        self.ordered_grades = facts.ordered_grades  # the truth came as a list of grades, whose order is the caller's
        self._arranged: Values = None  # the rank of each item where tied ones stand in another order
        self._memo: dict[Hashable, Any] = {}

    def _with(self, **changes: object) -> Any:
        """The same, but for this."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, _memo={}, **changes)
        return other

    def __len__(self) -> int:
        """How many queries there are, where that is known."""
        return self.graph.queries()

    def __getattr__(self, name: str) -> Any:
        """An array of the alignment, for functions over arrays: `query`, `placed_offsets`, `truth_grades` ..."""
        if name.startswith("_") or name == "graph":
            raise AttributeError(name)
        return self.graph.array(name)

    def call(self, op: str, *operands: Values) -> Values:
        return self.graph.call(op, *operands)

    def remember(self, key: Hashable, make: Callable[[], T]) -> T:
        """Keep values that several metrics or cutoffs share; the key names them."""
        if key not in self._memo:
            self._memo[key] = self.graph.named(make(), str(key[0] if isinstance(key, tuple) else key))
        return cast("T", self._memo[key])

    # -- one per item ----------------------------------------------------------------------------------------

    def _column(self, name: str, *params: Hashable) -> Values:
        return self._down("column", params=(name, *params))

    @property
    def rank(self) -> Values:
        """Rank of each item, from 1."""
        self.need_order()
        return self._rank

    @property
    def _rank(self) -> Values:
        """The same, also where ties are averaged: then it is that of one of the orders."""
        if self.space.ranked_by_place:
            return self._place_in_space
        if self._arranged is not None:
            return self._arranged
        if self.ties_share_rank:
            return self.facts.ties.place(self, self.items_above, self.items_tied)  # type: ignore[union-attr,misc]
        return self._column("rank")

    @property
    def _place_in_space(self) -> Values:
        place = self._nth
        if self.space.what == "truth" or self.space.nonzero or not self.facts.unjudged:
            return place
        gain = self.grade if self.space.order is None else self._gain(self)
        return place + self.where(gain < 0, self.broadcast(self._unjudged), 0.0)  # as grade 0, they come before

    _gain: GainFunction

    @property
    def _nth(self) -> Values:
        """Which item of its query it is, from 1."""
        return self._down("nth")

    @property
    def grade(self) -> Values:
        """The grade of each item."""
        return self._column("grade")

    @property
    def score(self) -> Values:
        """The score of each item; NaN where the run is only an order."""
        return math.nan if self.space.ranked_by_place else self._column("score")

    @property
    def truth_position(self) -> Values:
        """Position of each item in its query's truth as given, from 1."""
        return self._nth if self.space.what == "truth" else self._column("place")

    @property
    def weight(self) -> Values:
        """The weight of each item in the truth."""
        return self._column("weight")

    @property
    def _tied(self) -> bool:
        """Can items have equal scores."""
        return self.facts.tied and not self.space.ranked_by_place and self._arranged is None

    @property
    def items_above(self) -> Values:
        """How many items have a higher score."""
        return self._column("above") if self._tied else self._rank - 1.0

    @property
    def items_tied(self) -> Values:
        """How many items have the same score, itself included."""
        return self._column("level") if self._tied else self.graph.of(1.0)

    @property
    def predicted(self) -> Values:
        """The scores, where they predict the grades."""
        problem = "a prediction error needs scores, and the run is only an order of items"
        if not self.facts.scored:
            raise InputError(problem)
        self.graph.raise_where(self.score != self.score, problem, named=False)
        return self.score

    def relevance(self, grades: Values) -> Values:
        """How far items of these grades are relevant: 1 or 0, or a part of 1."""
        relevance = self.relevance_rule.of_grades(self, grades)
        if not self.relevance_rule.relative:
            return relevance
        return self.where(grades >= self.broadcast(self.relative_threshold), relevance, 0.0)

    def weighted(self, values: Values) -> Values:
        """A value of each item times its weight in the truth, if weights count."""
        return values * self.weight if self.relevance_rule.credit == "weighted" else values

    @property
    def credit(self) -> Values:
        """What each item counts: 1 if relevant, else 0."""

        def credit() -> Values:
            whole = self.weighted(self.relevance(self.grade))
            misses = self.facts.misses and not self.space.ranked_by_place
            return self.where(self.score <= 0, 0.0, whole) if misses else whole

        return self.remember("credit", credit)

    @property
    def relevant_grade(self) -> Values:
        """The grade of each relevant item, 0 of the others."""
        return self.where(self.credit > 0, self.grade, 0.0)

    @property
    def judged_nonrelevant(self) -> Values:
        """1 for an item that was judged not relevant, else 0; a negative grade is no judgement."""
        return self.remember("judged_nonrelevant", lambda: self.number((self.grade >= 0) & (self.credit == 0)))

    @property
    def is_repeat(self) -> Values:
        """1 for an item that the list has above already, else 0; only where duplicates count each time."""
        self.need_order()
        return self._down("is_repeat", self._column("place"))

    @property
    def nonrelevant_so_far(self) -> Values:
        """How many items that are not relevant stand at each item or above it."""
        self.need_order()
        bad = self.graph.named(self.running(self.judged_nonrelevant), "nonrelevant_so_far")
        # Unjudged items above count as not relevant.
        return bad + (self.rank - self.running(self.graph.of(1.0))) if self.facts.unjudged else bad

    @property
    def relevant_so_far(self) -> Values:
        """How many relevant items stand at each item's rank or above it."""

        def count() -> Values:
            return (
                self.above_sum(self.credit) + self.tied_sum(self.credit)
                if self.ties_share_rank
                else self.running(self.credit)
            )

        return self.remember("relevant_so_far", count)

    def credit_at(self, k: Depth = None) -> Values:
        """What each item counts at k: its credit, but nothing where the truth is cut at k and it stands below."""
        return (
            self.where(self.truth_position <= self.broadcast(k), self.credit, 0.0) if self._cut_at(k) else self.credit
        )

    def _cut_at(self, k: Depth) -> bool:
        return self.relevance_rule.truth_depth == "k" and k is not None

    # -- one per query ---------------------------------------------------------------------------------------

    def _of_query(self, name: str) -> Values:
        space = self.graph.space("placed", view=self._view)
        return self.graph.node("column", params=(name,), kind="query", space=space)

    @property
    def retrieved(self) -> Values:
        """How many items the run returned."""
        return self._of_query("retrieved")

    @property
    def present(self) -> Values:
        """Is the query in the run at all."""
        return self._of_query("present")

    @property
    def _unjudged(self) -> Values:
        """How many returned items are unjudged, where they count as graded 0."""
        return self._of_query("unjudged")

    @property
    def placed(self) -> Values:
        """How many items were judged and returned."""
        return self.graph.named(self._reduced("length"), "placed")

    @property
    def judged(self) -> Values:
        """How many items the truth judges."""
        return self._of_query("judged") if self.facts.unjudged else self.graph.named(self._truth.placed, "judged")

    @property
    def _truth(self) -> Ranking:
        return self.ideal("given")

    @property
    def relevant(self) -> Values:
        """How many relevant items the truth has."""
        return self.remember("relevant", lambda: self._truth.sum(self._truth.credit))

    @property
    def nonrelevant(self) -> Values:
        """How many items the truth judges not relevant (a negative grade is no judgement)."""

        def count() -> Values:
            judged = self.graph.named(self._truth.sum(self._truth.judged_nonrelevant), "nonrelevant")
            return judged + self._unjudged if self.facts.unjudged else judged

        return self.remember("nonrelevant", count)

    @property
    def highest_grade(self) -> Values:
        """Of the whole truth, all queries together; at least 0."""
        return self.graph.node("highest_grade", kind="number", space=self.space)

    @property
    def first_rank(self) -> Values:
        """Rank of the first relevant item; infinite where there is none."""
        return self.remember("first_rank", lambda: self._reduced("first", self.credit > 0, self.rank))

    @property
    def relative_threshold(self) -> Values:
        """Half the highest grade of the query, or the 90th percentile of its grades, whichever is higher.

        The percentile is the nearest rank: the grade that 90 % of the query's grades, rounded up, do not exceed.
        """

        def threshold() -> Values:
            best = self.ideal()
            count = best.placed + self._unjudged if self.facts.unjudged else best.placed
            place = count - self.ceil(0.9 * count) + 1.0
            percentile = best.highest(self.where(best._rank >= best.broadcast(place), best.grade, 0.0))
            return self.maximum(0.5 * best.highest(best.grade), percentile)

        return self.remember("relative_threshold", threshold)

    @property
    def one(self) -> Values:
        """1 for each query."""
        return self.per_query(1.0)

    # -- from items to queries and back ----------------------------------------------------------------------

    def per_query(self, value: Values) -> Values:
        """A number as a value of each query."""
        return self.graph.per_query(value)

    def number(self, condition: Values) -> Values:
        """1 where a condition holds, else 0."""
        return self.graph.call("where", condition, 1.0, 0.0)

    def always(self, condition: Values) -> bool:
        """Is it known that a condition holds everywhere."""
        return self.graph.is_true(condition)

    def broadcast(self, values: Values) -> Values:
        """A value of each query at each of its items; a plain number is one already."""
        return self.graph.broadcast(values, self.space)

    def _reduced(self, op: str, *values: Values, params: tuple[Any, ...] = ()) -> Values:
        return self.graph.node(op, *values, params=params, kind="query", space=self.space)

    def sum(self, values: Values, k: Depth = None) -> Values:
        """Sum over a query's items in the first k places; expected, if ties are averaged. `values` know no ranks."""
        if k is not None and self.ties_averaged:
            depth, above, level = self.broadcast(k), self.items_above, self.items_tied
            return self._reduced("sum", values * (self.minimum(self.maximum(depth - above, 0.0), level) / level))
        return self._sum_inside(values, k)

    def _sum_inside(self, values: Values, k: Depth) -> Values:
        return self._reduced("sum", values) if k is None else self._reduced("sum_to", values, self._rank, k)

    def highest(self, values: Values) -> Values:
        """The highest value of a query's items, 0 if there is none."""
        return self._reduced("highest", values)

    def _down(self, op: str, *values: Values, params: tuple[Any, ...] = ()) -> Values:
        return self.graph.node(op, *values, params=params, kind="item", space=self.space)

    def running(self, values: Values) -> Values:
        """Sum from the top of the list down to each item, itself included."""
        return self._down("running", values, *self._order())

    def surviving(self, stops: Values) -> Values:
        """The chance to come as far as each item, if each one above it ends the way with this chance."""
        return self._down("surviving", stops, *self._order())

    def _order(self) -> tuple[Values, ...]:
        """The ranks by which items stand, where it is not their own order."""
        return () if self._arranged is None else (self._arranged,)

    def above_sum(self, values: Values) -> Values:
        """For each item the sum over the items with a higher score."""
        return self._down("above_sum", values, self.items_above) if self._tied else self.running(values) - values

    def tied_sum(self, values: Values) -> Values:
        """For each item the sum over the items with the same score, itself included."""
        return self._down("tied_sum", values, self.items_above) if self._tied else values

    def hits(self, k: Depth = None) -> Values:
        """Relevant items in the first k places (their expected number, if ties are averaged)."""
        return self.graph.named(self.sum(self.credit_at(k), k), "hits")

    def relevant_at(self, k: Depth = None) -> Values:
        """How many items of the truth are relevant at k: fewer than all of them where it is cut at k."""
        return self._truth.sum(self._truth.credit, k) if self._cut_at(k) else self.relevant

    def returned_at(self, k: Depth = None) -> Values:
        """How many of these the list holds, in any place."""
        return self.sum(self.credit_at(k)) if self._cut_at(k) else self.hits()

    def any_hit(self, k: Depth = None) -> Values:
        """1 if any item of the first k places is relevant (the chance of it, if ties are averaged)."""
        if self.relevance_rule.truth_depth == "k":
            if self.ties_averaged:
                raise NoClosedFormError("has no closed form over all orders of tied items with truth_depth='k'")
            return self.number(self.hits(k) > 0)
        return 1.0 - self.chance_of_none(k) if self.ties_averaged else self.number(self.first(k) < math.inf)

    def first(self, k: Depth = None) -> Values:
        """Rank of the first relevant item in the first k places; infinite where there is none."""
        return self.first_rank if k is None else self.where(self.first_rank <= k, self.first_rank, math.inf)

    def judged_at(self, k: Depth = None) -> Values:
        """Judged items in the first k places; where only returned items count, each of them has a grade."""
        if self.returned_only:
            return self.places(k, "min(k,retrieved)")
        return self.sum(self.number(self.grade == self.grade), k)

    def places(self, k: Depth, divisor: str = "k") -> Values:
        """How many places of the list count: k, or fewer if the list or the truth is shorter."""
        if k is None:
            places = self.per_query(self.retrieved)
        elif divisor == "min(k,retrieved)":
            places = self.minimum(self.per_query(k), self.per_query(self.retrieved))
        else:
            places = self.per_query(k)
        if divisor == "judged":
            if self.ties_averaged:
                raise NoClosedFormError("has no closed form over all orders of tied items with divisor='judged'")
            return self.judged_at(k)
        return self.minimum(places, self.relevant) if divisor == "min(k,relevant)" else places

    def ties_irrelevant(self, k: Depth = None) -> bool:
        """Do the first k places hold the same items in every order of tied ones."""
        if k is None:
            return True
        above, level = self.items_above, self.items_tied
        return self.always((above >= self.broadcast(k)) | (above + level <= self.broadcast(k)))

    def need_order(self) -> None:
        """Say that the metric needs one order of the items, not an average over orders."""
        if self.ties_averaged:
            raise NoClosedFormError("has no closed form over all orders of tied items")

    # -- discounts and tables --------------------------------------------------------------------------------

    def discounted(self, gains: Values, discount: Discount, k: Depth = None) -> Values:
        """Sum over a query's items to depth k of gain times discount(rank); expected, if ties are averaged."""
        if self.ties_averaged:
            total = self._reduced("sum", gains * self._mean_discount(discount, k))
        else:
            total = self._sum_inside(gains * self._discount(discount, self._rank), k)
        return self.graph.named(total, "ideal_discounted" if self.space.ranked_by_place else "discounted")

    def _discount(self, discount: Discount, ranks: Values) -> Values:
        """discount(rank), from a table."""
        kind: Any = "item" if getattr(ranks, "kind", "item") == "item" else "query"
        return self.graph.node("discount", ranks, params=(discount,), kind=kind, space=self.space)

    def _mean_discount(self, discount: Discount, k: Depth) -> Values:
        """For each item the mean of discount(rank), 0 beyond k, over the places that it can have among tied ones."""
        depth = () if k is None else (k,)
        return self._down("mean_discount", self.items_above, self.items_tied, *depth, params=(discount,))

    def sum_of_discounts(self, discount: Discount, depth: Depth, smooth: bool = False) -> Values:
        """The discounts of the first so many places, added up; of all places of the list for None.

        smooth: the discount falls ever more evenly, as 1/rank does; then a depth of billions takes no time.
        """
        places = self.retrieved if depth is None else depth
        number = places if isinstance(places, (int, float)) else getattr(places, "number", None)
        if number is not None:
            return self.per_query(float(sums_of_discounts(discount, number, smooth)))
        return self._reduced("discount_total", places, params=(discount, smooth))

    def looked_up(self, grades: Values, table: tuple[tuple[float, float], ...]) -> Values:
        """The gain of each grade in a table; a grade that is not in the table is an error."""
        gains = self._down("lookup", grades, params=(table,))
        self.raise_at_items(gains != gains, "the gain table has no entry for grade {:g}", grades)
        return gains

    def by_count(self, of: Callable[[Functions, Values], Values]) -> Values:
        """A function of the number of relevant items, computed in double precision."""
        if self.relevance_rule.credit != "binary":  # then it is no count
            return of(self, self.relevant)
        return self._reduced("by_count", self.relevant, params=(of,))

    # -- other lists of the same queries ---------------------------------------------------------------------

    def ideal(self, items: Ideal = "judged", worth: GainFunction | None = None, k: Depth = None) -> Ranking:
        """The best list of the items judged, judged other than 0, or retrieved: by grade, or by the gain of each.

        "given": the judged items in the order of the truth as given. k: ignored; the graph says how far it is read.
        """
        return self.remember(("ideal", items, worth), lambda: self._ideal(items, worth))

    def _ideal(self, items: Ideal, worth: GainFunction | None) -> Ranking:
        base = self.graph.space("placed" if items == "retrieved" else "truth", view=self._view)
        plain = {"ties_averaged": False, "ties_share_rank": False, "_arranged": None}
        if items == "given":
            return self._with(space=base, **plain)
        gains = None if worth is None else worth(self._with(space=base, **plain))
        best = self.graph.space("ideal", base, gains, nonzero=items == "nonzero", view=self._view)
        return self._with(space=best, _gain=worth, **plain)

    def arranged(self, key: Values, front: Values) -> Ranking:
        """The same with tied items by key, the lowest first; those of `front` before unjudged ones, others after."""
        nth = self._down("tied_nth", key, self.items_above)
        last = self.items_tied - self.tied_sum(self.graph.of(1.0)) + nth
        rank = self.graph.named(self.items_above + self.where(front, nth, last), "rank_by_grade")
        return self._with(_arranged=self._down("same", rank))

    def raise_where(self, queries: Values, problem: str) -> None:
        """An error that names the first of the queries for which a condition holds."""
        self.graph.raise_where(queries, problem)

    def raise_at_items(self, items: Values, problem: str, values: Values) -> None:
        """An error that names the query of the first item for which a condition holds; {} in it is the item's value."""
        self.graph.raise_where(items, problem, values, space=self.space)

    # -- closed forms over all orders of tied items ----------------------------------------------------------

    def expected_precisions(self, k: Depth) -> Values:
        """The mean of the sum of the precisions at each relevant item; McSherry and Najork, 2008, in closed form.

        In a group of n tied items, r of them relevant, after t places that hold R relevant ones, place i adds
        r/n * (R + 1 + (i - t - 1) * (r - 1) / (n - 1)) / i.
        """
        if self.relevance_rule.credit != "binary":
            raise NoClosedFormError("has no closed form over all orders of tied items for partly relevant ones")
        above, size, relevant = self.items_above, self.items_tied, self.tied_sum(self.credit)
        slope = self.where(size > 1, (relevant - 1.0) / self.maximum(size - 1.0, 1.0), 0.0)
        constant = self.above_sum(self.credit) + 1.0 - slope * (above + 1.0)
        places = size if k is None else self.maximum(self.minimum(above + size, self.broadcast(k)) - above, 0.0)
        reciprocals = self._mean_discount(_reciprocal, k) * size
        return self._reduced("sum", self.credit * (constant * reciprocals + slope * places) / size)

    def expected_reciprocal(self, k: Depth) -> Values:
        """The mean of one over the rank of the first relevant item: one of the first group that holds any."""
        relevant = self.credit > 0
        above = self._reduced("first", relevant, self.items_above)
        inside = relevant & (self.items_above == self.broadcast(above))
        size = self._reduced("highest", self.where(inside, self.items_tied, 0.0))
        count = self._reduced("highest", self.where(inside, self.tied_sum(self.number(relevant)), 0.0))
        return self._reduced("first_hit", above, size, count, math.inf if k is None else k)

    def chance_of_none(self, k: Depth) -> Values:
        """The chance that no relevant item lies in the first k places: of each, if those before it in its group do
        not."""
        size, drawn = self.items_tied, self.items_tied
        if k is not None:
            drawn = self.minimum(self.maximum(self.broadcast(k) - self.items_above, 0.0), size)
        relevant = self.number(self.credit > 0)
        nth = self.running(relevant) - self.above_sum(relevant) - 1.0
        left = self.maximum(size - drawn - nth, 0.0) / self.maximum(size - nth, 1.0)
        return self._reduced("product", self.where(relevant > 0, left, 1.0))

    # -- two orders of the same items ------------------------------------------------------------------------

    @property
    def merit(self) -> Values:
        """The truth's opinion of each item: its grade, or its place if the truth is an order."""
        return -self.truth_position if self.facts.ordered_truth else self.grade

    @property
    def opinion(self) -> Values:
        """The run's opinion of each item: its score, or its rank if the run is an order."""
        return -self._rank if self.facts.arranged else self.where(self.score == self.score, self.score, -self._rank)

    def mean_rank(self, values: Values) -> Values:
        """Each value's rank among those of its query; equal values share their mean rank."""
        return self._down("mean_rank", values)

    def compared(self, x: Values, y: Values) -> tuple[Values, ...]:
        """By query: concordant less discordant pairs; pairs untied in x, in y; tied pairs."""
        pairs = self._reduced("pairs", x, y)
        return tuple(self._reduced("nth_of", pairs, params=(nth,)) for nth in range(4))

    def right_above(self, merit: Values) -> Values:
        """For each item but the first the share of those above it that are better; equal ones count half."""
        self.need_order()
        return self._down("right_above", merit)

    def overlap(self, p: float, k: Depth) -> Values:
        """Overlap of the run and the truth, depth by depth, for a reader who goes on with probability p.

        Equal grades leave the truth's order open: the mean over all orders of these.
        """
        return self._reduced("overlap", self.rank, math.inf if k is None else k, params=(p,))

    # -- items by subtopic -----------------------------------------------------------------------------------

    def by_subtopic(self) -> Ranking:
        """The same lists, with a row for each subtopic that an item is judged for, at the same rank."""
        return self._with(space=self.graph.space("subtopics", self.space, view=self._view))

    @property
    def nth_of_subtopic(self) -> Values:
        """Which relevant item of its subtopic a row is, from the top; 1 where it is not relevant."""
        self.need_order()
        return self._down("nth_of_subtopic", self.credit > 0)

    @property
    def relevant_of_subtopic(self) -> Values:
        """How many relevant items the subtopic of a row has."""
        return self._column("relevant_of_subtopic", self.relevance_rule)

    @property
    def subtopics(self) -> Values:
        """How many subtopics have a relevant item."""
        return self._reduced("column", params=("subtopics", self.relevance_rule))

    def ideal_sum(self, alpha: float, discount: Discount, k: Depth, exact: bool) -> Values:
        """The sum of an ideal list, if a subtopic counts 1 - alpha times as much each time it comes again.

        At each place the item that adds most, the one with the larger id of those that add the same; or exact: the
        best of all lists.
        """
        return self._reduced("column", params=("ideal_sum", self.relevance_rule, alpha, discount, k, exact))


def _reciprocal(f: Functions, rank: Values) -> Values:
    return 1.0 / rank
