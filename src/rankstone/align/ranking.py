"""The vocabulary of a ranking, by which alone a metric's function may speak, and what it answers with (`Ratio`).

Values come in two kinds: one an item (`rank, grade, credit, score, judged_bad, place`), for each item that was judged
and returned, from the top of the list; and one a query (`retrieved, relevant, judged, nonrelevant`). Both kinds add,
multiply and compare like numbers. `sum`, `highest` and `first` lead from items to queries, `spread` leads back.
A metric that uses nothing else runs in every engine: over flat arrays (`Ranked`), over rectangles of any array library
(`Batch`), and wherever else somebody answers to these words.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from rankstone.errors import NoExpectedValue

NO_WEIGHTS = "the truth has no weight or propensity column, and credit='weight' counts items by it"
NO_SUBTOPICS = (
    "the truth names no subtopics; give a column 'subtopic', or {query: {item: {subtopic: grade}}}, or qrels whose "
    "second field is the subtopic"
)
T = TypeVar("T")
Values: TypeAlias = Any  # one an item or one a query, in the engine's own kind of array: np.array([1.0, 0.5])
Finish: TypeAlias = Callable[[Values], Values]  # applied after a division, as the root of the squared errors is
Depth: TypeAlias = Any  # how far down the list to look: a whole number, one a query, or None for all of it
Ideal = Literal["judged", "nonzero", "retrieved", "given"]


class Ratio(NamedTuple):
    """What each query earned over what it could have earned."""

    numerator: Values
    denominator: Values
    finish: Finish | None = None
    parts: tuple[Ratio, Ratio] | None = None  # precision and recall, where the value is made of them

    def only(self, queries: Values) -> Ratio:
        """The same of some queries only."""
        return self._replace(
            numerator=self.numerator[queries],
            denominator=self.denominator[queries],
            parts=self.parts and (self.parts[0].only(queries), self.parts[1].only(queries)),
        )


class Relevance(NamedTuple):
    """Which judged items count as relevant, and how much each of them counts."""

    threshold: float = 1.0
    strict: bool = False
    credit: str = "whole"  # "clamp": a grade between 0 and 1 is that much of a relevant item; "weight": by the truth
    truth_depth: str = "all"  # "k": only the first k items of the truth are relevant at k

    @classmethod
    def of(cls, threshold: float | str, credit: str = "whole", truth_depth: str = "all") -> Relevance:
        """Read a threshold: a grade, a string such as ">3" (above, not at) or ">=4", or "all" judged items."""
        strict = False
        if threshold == "all":
            return cls(-math.inf, strict, credit, truth_depth)
        if isinstance(threshold, str):
            text = threshold.strip()
            strict = text.startswith(">") and not text.startswith(">=")
            try:
                threshold = float(text.lstrip(">="))
            except ValueError:
                raise ValueError(f"threshold {text!r} is not a grade; write 2, '>=2', '>2' or 'all'") from None
        if isinstance(threshold, bool) or not hasattr(threshold, "__float__"):
            raise TypeError(f"threshold must be a grade, not {threshold!r}")
        if not math.isfinite(threshold):
            raise ValueError(f"threshold must be finite, not {threshold!r}")
        return cls(float(threshold), strict, credit, truth_depth)


class Functions:
    """Plain functions of values, from an array library."""

    xp: Any

    def where(self, condition: Values, yes: Values, no: Values) -> Values:
        return self.xp.where(condition, yes, no)

    def minimum(self, a: Values, b: Values) -> Values:
        return self.xp.minimum(a, b)

    def maximum(self, a: Values, b: Values) -> Values:
        return self.xp.maximum(a, b)

    def log2(self, x: Values) -> Values:
        return self.xp.log2(x)

    def log(self, x: Values) -> Values:
        return self.xp.log(x)

    def sqrt(self, x: Values) -> Values:
        return self.xp.sqrt(x)

    def exp(self, x: Values) -> Values:
        return self.xp.exp(x)

    def abs(self, x: Values) -> Values:
        return self.xp.abs(x)

    def floor(self, x: Values) -> Values:
        return self.xp.floor(x)

    def ceil(self, x: Values) -> Values:
        return self.xp.ceil(x)

    def power(self, base: float, exponent: Values) -> Values:
        """Infinite where it is too large."""
        return base**exponent

    def round(self, x: Values, digits: int) -> Values:
        """To so many decimals, a half to the even one."""
        return self.xp.round(x * 10.0**digits) / 10.0**digits


Worth: TypeAlias = "Callable[[Ranking], Values]"  # what each item of a list is worth: lambda ranking: ranking.grade**2
Discount: TypeAlias = Callable[[Functions, Values], Values]  # what a gain at a rank is multiplied by


class Ranking(Functions, ABC):
    """Lists of items with ranks and grades, by query."""

    rule: Relevance  # which grades are relevant
    expected: bool = False  # answer with the mean over all orders of the tied items
    shared: bool = False  # tied items share one rank
    listed: bool = False  # nothing is known but the items returned: what nobody judged has grade 0
    ordered_grades: bool = False  # the truth came as a list of grades, whose order is the caller's

    # -- one an item: the engine's ---------------------------------------------------------------------------

    rank: Values  # from 1
    grade: Values
    score: Values
    place: Values  # position in the query's truth as given, from 1
    items_above: Values  # how many items have a higher score
    items_level: Values  # how many items have the same score, itself included
    predicted: Values  # the scores, where they predict the grades

    # -- one a query: the engine's ---------------------------------------------------------------------------

    retrieved: Values  # how many items the run returned
    present: Values  # is the query in the run at all
    placed: Values  # how many items were judged and returned
    relevant: Values  # how many relevant items the truth has
    judged: Values  # how many items the truth judges
    nonrelevant: Values  # how many items the truth judges not relevant (a negative grade is no judgement)
    first_rank: Values  # rank of the first relevant item; infinite where there is none
    highest_grade: Values  # of the whole truth, all queries together; at least 0

    @abstractmethod
    def per_query(self, value: Values) -> Values:
        """A number as a value of each query."""

    @abstractmethod
    def number(self, condition: Values) -> Values:
        """1 where a condition holds, else 0."""

    def every(self, condition: Any) -> bool:
        """Is it known, without asking a device, that a condition holds everywhere."""
        return False

    @abstractmethod
    def spread(self, values: Values) -> Values:
        """A value of each query at each of its items; a plain number is one already."""

    @abstractmethod
    def sum(self, values: Values, k: Depth = None) -> Values:
        """Sum over a query's items in the first k places; expected, if ties are averaged. `values` know no ranks."""

    @abstractmethod
    def running(self, values: Values) -> Values:
        """Sum from the top of the list down to each item, itself included."""

    @abstractmethod
    def surviving(self, stops: Values) -> Values:
        """The chance to come as far as each item, if each one above it ends the way with this chance."""

    @abstractmethod
    def highest(self, values: Values) -> Values:
        """The highest value of a query's items, 0 if there is none."""

    @abstractmethod
    def higher(self, values: Values) -> Values:
        """For each item the sum over the items with a higher score."""

    @abstractmethod
    def level(self, values: Values) -> Values:
        """For each item the sum over the items with the same score, itself included."""

    @abstractmethod
    def discounted(self, gains: Values, discount: Discount, k: Depth = None) -> Values:
        """Sum over a query's items to depth k of gain times discount(rank); expected, if ties are averaged."""

    @abstractmethod
    def sum_of_discounts(self, discount: Discount, depth: Depth, smooth: bool = False) -> Values:
        """The discounts of the first so many places, added up; of all places of the list for None.

        smooth: the discount falls ever more evenly, as 1/rank does; then a depth of billions takes no time.
        """

    def looked_up(self, grades: Values, table: tuple[tuple[float, float], ...]) -> Values:
        """What a table says of each grade; one it does not have is refused."""
        values: Values = 0.0
        known: Values = False
        for grade, worth in table:
            values, known = self.where(grades == grade, worth, values), known | (grades == grade)
        self.refuse_items(~known, "the gain table has no entry for grade {:g}", grades)
        return values

    @abstractmethod
    def by_count(self, of: Callable[[Functions, Values], Values]) -> Values:
        """A function of the number of relevant items, computed in double precision."""

    @abstractmethod
    def ideal(self, items: Ideal = "judged", worth: Worth | None = None, k: Depth = None) -> Ranking:
        """The best list of the items judged, judged other than 0, or retrieved: by grade, or by what each is worth.

        "given": the judged items in the order of the truth as given. k: how far down it will be looked at.
        """

    @abstractmethod
    def refuse(self, queries: Values, problem: str) -> None:
        """An error that names the first of the queries for which a condition holds."""

    @abstractmethod
    def refuse_items(self, items: Values, problem: str, values: Values) -> None:
        """An error that names the query of the first item for which a condition holds; {} in it is the item's value."""

    @abstractmethod
    def remember(self, key: Hashable, make: Callable[[], T]) -> T:
        """Keep values that several metrics or cutoffs share."""

    # -- closed forms over all orders of tied items: the engine's --------------------------------------------

    @abstractmethod
    def expected_precisions(self, k: Depth) -> Values:
        """The mean of the sum of the precisions at each relevant item."""

    @abstractmethod
    def expected_reciprocal(self, k: Depth) -> Values:
        """The mean of one over the rank of the first relevant item."""

    @abstractmethod
    def chance_of_none(self, k: Depth) -> Values:
        """The chance that no relevant item lies in the first k places."""

    # -- words made of these ---------------------------------------------------------------------------------

    def relevance(self, grades: Values) -> Values:
        """What items of these grades count: 1 if relevant, else 0, or a part of 1."""
        rule = self.rule
        if rule.credit == "clamp":
            return self.minimum(self.maximum(grades, 0.0), 1.0)
        return self.number(grades > rule.threshold if rule.strict else grades >= rule.threshold)

    @property
    def credit(self) -> Values:
        """What each item counts: 1 if relevant, else 0."""
        return self.remember("credit", lambda: self.relevance(self.grade))

    @property
    def weight(self) -> Values:
        """What the truth says that each item weighs; only engines that read a truth's weights have it."""
        raise NotImplementedError

    def weighted(self, values: Values) -> Values:
        """A value of each item times what the truth says that it weighs, if that counts."""
        return values * self.weight if self.rule.credit == "weight" else values

    @property
    def relevant_grade(self) -> Values:
        """The grade of each relevant item, 0 of the others."""
        return self.where(self.credit > 0, self.grade, 0.0)

    @property
    def judged_bad(self) -> Values:
        """1 for an item that was judged not relevant, else 0; a negative grade is no judgement."""
        return self.remember("judged_bad", lambda: self.number((self.grade >= 0) & (self.credit == 0)))

    @property
    def bad_so_far(self) -> Values:
        """How many items that are not relevant stand at each item or above it."""
        return self.running(self.judged_bad)

    @property
    def relevant_so_far(self) -> Values:
        """How many relevant items stand at each item's rank or above it."""

        def count() -> Values:
            return self.higher(self.credit) + self.level(self.credit) if self.shared else self.running(self.credit)

        return self.remember("relevant_so_far", count)

    @property
    def one(self) -> Values:
        """1 for each query."""
        return self.per_query(1.0)

    def hits(self, k: Depth = None) -> Values:
        """Relevant items in the first k places (their expected number, if ties are averaged)."""
        if k is None:
            return self.remember("hits", lambda: self.sum(self.credit))
        return self.sum(self.counted(k), k)

    def counted(self, k: Depth = None) -> Values:
        """What each item counts at k: its credit, but nothing where the truth is cut at k and it stands below."""
        return self.where(self.place <= self.spread(k), self.credit, 0.0) if self._cut_at(k) else self.credit

    def relevant_at(self, k: Depth = None) -> Values:
        """How many items of the truth are relevant at k: fewer than all of them where it is cut at k."""
        if not self._cut_at(k):
            return self.relevant
        truth = self.ideal("given")
        return truth.sum(truth.credit, k)

    def returned_at(self, k: Depth = None) -> Values:
        """How many of these the list holds, in any place."""
        return self.sum(self.counted(k)) if self._cut_at(k) else self.hits()

    def _cut_at(self, k: Depth) -> bool:
        return self.rule.truth_depth == "k" and k is not None

    def settled(self, k: Depth = None) -> bool:
        """Do the first k places hold the same items in every order of tied ones."""
        if k is None:
            return True
        above, level = self.items_above, self.items_level
        return self.every((above >= self.spread(k)) | (above + level <= self.spread(k)))

    def any_hit(self, k: Depth = None) -> Values:
        """1 if any item of the first k places is relevant (the chance of it, if ties are averaged)."""
        if self.rule.truth_depth == "k":
            if self.expected:
                raise NoExpectedValue("has no closed form over all orders of tied items with truth_depth='k'")
            return self.number(self.hits(k) > 0)
        return 1.0 - self.chance_of_none(k) if self.expected else self.number(self.first(k) < math.inf)

    def first(self, k: Depth = None) -> Values:
        """Rank of the first relevant item in the first k places; infinite where there is none."""
        return self.first_rank if k is None else self.where(self.first_rank <= k, self.first_rank, math.inf)

    def places(self, k: Depth, divisor: str = "k") -> Values:
        """How many places of the list count: k, or fewer if the list or the truth is shorter."""
        if k is None:
            places = self.per_query(self.retrieved)
        elif divisor == "min(k,retrieved)":
            places = self.minimum(self.per_query(k), self.per_query(self.retrieved))
        else:
            places = self.per_query(k)
        return self.minimum(places, self.relevant) if divisor == "min(k,relevant)" else places

    def need_order(self) -> None:
        """Say that the metric needs one order of the items, not an average over orders."""
        if self.expected:
            raise NoExpectedValue("has no closed form over all orders of tied items")


class Intents(Ranking):
    """Lists where an item has one row for each subtopic that it is judged for, at the same rank."""

    subtopics: Values  # one a query: how many subtopics have a relevant item
    nth: Values  # one a row: which relevant item of its subtopic it is, from the top; 1 where it is not relevant
    of_subtopic: Values  # one a row: how many relevant items its subtopic has

    @abstractmethod
    def ideal_sum(self, alpha: float, discount: Discount, k: Depth, exact: bool) -> Values:
        """What an ideal list earns, if a subtopic counts 1 - alpha times as much each time it comes again.

        At each place the item that adds most, the one with the larger id of those that add the same; or exact: the
        best of all lists.
        """

    @abstractmethod
    def ideal_lists(self, query: int) -> list[Any]:
        """A query's ideal lists that were asked for: where their items stand in the truth, from 0."""


V = TypeVar("V", bound="Views")


class Views(Ranking):
    """A ranking that can be looked at in other ways."""

    best: bool | None = (
        None  # do tied items stand with the best first (or last) for a metric; None: as they were ordered
    )

    @abstractmethod
    def judged_by(self: V, rule: Relevance) -> V:
        """The same ranking under another notion of relevance."""

    @abstractmethod
    def within_the_list(self: V) -> V:
        """The same ranking where nothing is known but the items returned: those nobody judged have grade 0."""

    @abstractmethod
    def condensed(self: V) -> V:
        """The same without the items that nobody judged: the others move up. A negative grade is no judgement."""

    @abstractmethod
    def above_zero(self: V) -> V:
        """The same ranking where an item with a score of 0 or less is never relevant."""

    @abstractmethod
    def with_ties(self: V, ties: str) -> V:
        """The same ranking with its tied items in another order, all at one rank, or with all orders averaged."""

    @abstractmethod
    def arranged(self: V, worth: Values, best: bool) -> V:
        """The same with tied items by what they are worth, the best or the worst first; an unjudged one is worth 0."""

    @abstractmethod
    def only(self: V, queries: Values) -> V:
        """The same ranking of some queries only."""
