"""Questions: small truths and runs that separate definitions, and smaller ones made of them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

Item: TypeAlias = str | int
Row: TypeAlias = tuple[Any, float]  # an item with a grade or a score
Rows: TypeAlias = tuple[Row, ...]


class Query(NamedTuple):
    """One query of a question. None: the query is missing on this side."""

    truth: Rows | None
    run: Rows | None  # in row order

    def map(self, change: Callable[[Rows], Iterable[Row]]) -> Query:
        """The query with the rows of each side changed."""
        return Query(*(None if rows is None else tuple(change(rows)) for rows in self))

    def without(self, item: Item) -> Query:
        """The query without the rows of an item."""
        return self.map(lambda rows: (row for row in rows if row[0] != item))

    def renamed(self, name: Callable[[Item], Item]) -> Query:
        """The query with other names of its items."""
        return self.map(lambda rows: ((name(item), value) for item, value in rows))


class Question(NamedTuple):
    """A truth and a run, and the cutoff.

    Attributes
    ----------
    queries : tuple of Query
        Rows of the truth and of the run per query.
    k : int or None
        The cutoff.
    prefix : str
        What the ids of queries begin with.
    """

    queries: tuple[Query, ...]
    k: int | None = None
    prefix: str = "q"

    @property
    def truth(self) -> dict[str, dict[Any, float]]:
        """Grades by query and item."""
        return {name: dict(query.truth) for name, query in self._named() if query.truth is not None}

    @property
    def run(self) -> dict[str, dict[Any, float]]:
        """Scores by query and item."""
        return {name: dict(query.run) for name, query in self._named() if query.run is not None}

    def _named(self) -> list[tuple[str, Query]]:
        return [(f"{self.prefix}{at}", query) for at, query in enumerate(self.queries, 1)]

    @property
    def ranked(self) -> list[Any]:
        """Items of the first query in row order."""
        return [item for item, _ in self.queries[0].run or ()]

    @property
    def items(self) -> int:
        """Number of distinct items."""
        return sum(len({item for rows in query for item, _ in rows or ()}) for query in self.queries)

    @property
    def size(self) -> tuple[float, ...]:
        """Sort key, the simplest first: few items, few rows, small grades, plain scores."""
        rows = [row for query in self.queries for side in query for row in side or ()]
        plain = sum(abs(value - 1) + (value != int(value)) for _, value in rows if abs(value) < 1e6)
        return self.items, len(self.queries), len(rows), sum(abs(value) >= 1e6 for _, value in rows), plain

    def map(self, change: Callable[[Query], Query]) -> Question:
        """The question with each query changed."""
        return self._replace(queries=tuple(map(change, self.queries)))

    def to_dict(self) -> dict[str, Any]:
        """Truth, run and cutoff as plain data; rows with repeated items as lists of pairs."""
        sides: dict[str, Any] = {"truth": {}, "run": {}, "k": self.k}
        for at, query in enumerate(self.queries, 1):
            for side, rows in zip(("truth", "run"), query, strict=True):
                if rows is not None:
                    repeated = len(dict(rows)) < len(rows)
                    sides[side][f"q{at}"] = [list(row) for row in rows] if repeated else dict(rows)
        return sides

    def __str__(self) -> str:
        truth, run = (", ".join(map(_written, side)) for side in zip(*self.queries, strict=True))
        return f"truth {truth}, run {run}" + (f", k={self.k}" if self.k else "")


def _written(rows: Rows | None) -> str:
    """One side of a query, with numbers as short as they read back."""
    if rows is None:
        return "missing"
    numbers = [f"{value:g}" if float(f"{value:g}") == value else repr(value) for _, value in rows]
    return "{" + ", ".join(f"{item!r}: {number}" for (item, _), number in zip(rows, numbers, strict=True)) + "}"


@dataclass(frozen=True)
class Form:
    """What a calling style can express."""

    scores: bool = True  # else the order of the rows is the ranking
    several: bool = False  # queries per call
    repeats: bool = False  # an item twice in a list
    unjudged: bool = True  # items on one side only
    text: bool = False  # ids must be text; those that are whole numbers come first, as in JavaScript's objects
    whole: bool = False  # grades are whole numbers
    grades: bool = True  # else the truth is a list of relevant items

    def fit(self, question: Question) -> Question:
        """The question as this style expresses it."""
        queries = question.queries if self.several else question.queries[:1]
        return question._replace(queries=tuple(map(self._query, queries)))

    def _query(self, query: Query) -> Query:
        truth, run = query if self.several else (query.truth or (), query.run or ())
        if run is not None:
            run = run if self.repeats else tuple(dict(reversed(run)).items())[::-1]
            if not self.scores:
                ordered = sorted(run, key=lambda row: -row[1])
                run = tuple((item, float(len(run) - at)) for at, (item, _) in enumerate(ordered))
        if truth is not None:
            if not self.grades:
                truth = tuple((item, 1.0) for item, grade in truth if grade > 0)
            elif len(dict(truth)) < len(truth):
                truth = tuple(dict(truth).items())
            if self.whole:
                truth = tuple((item, float(int(grade))) for item, grade in truth)
        if not self.unjudged and run is not None:
            graded = dict(truth or ())
            truth = tuple((at, graded.get(item, 0.0)) for at, (item, _) in enumerate(run))
            run = tuple((at, score) for at, (_, score) in enumerate(run))
        if not self.text:
            return Query(truth, run)
        named = Query(truth, run).renamed(str)
        sorted_ids = named.map(partial(sorted, key=_whole_first))
        return sorted_ids if self.scores else sorted_ids._replace(run=named.run)


def _whole_first(row: tuple[str, float]) -> float:
    """Sort key of rows: ids that are whole numbers in their order, before all others."""
    return float(row[0]) if row[0].isdigit() else math.inf


# -- the pool ------------------------------------------------------------------------------------------------

_GRADES: dict[str, tuple[float, ...]] = {
    "binary": (0, 1, 1),
    "graded": (0, 1, 2, 3),
    "all relevant": (1, 2),
    "nothing relevant": (0,),
    "high": (3, 4, 5),
    "fractional": (0.25, 0.5, 1.5, 2.75),
    "negative": (-2, -1, 0, 1, 2),
}
_SCORES: dict[str, Callable[[random.Random, int], list[float]]] = {
    "distinct": lambda rng, n: [float(n - at) for at in range(n)],
    "shuffled": lambda rng, n: [float(score) for score in rng.sample(range(1, n + 1), n)],
    "ties": lambda rng, n: [float(rng.randint(1, 2)) for _ in range(n)],
    "equal": lambda rng, n: [1.0] * n,
    "around 0": lambda rng, n: [float(score) for score in rng.sample(range(-(n // 2) - 1, n), n)],
    "close": lambda rng, n: [1.0 + 1e-9 * score for score in rng.sample(range(n), n)],
    "extreme": lambda rng, n: rng.sample([1e30 / 10.0**at for at in range(max(n, 1))], n),
}
_IDS: dict[str, Callable[[int], Any]] = {
    "letters": lambda at: chr(ord("a") + at) if at < 26 else f"z{at}",
    "numbers": lambda at: at + 1,
    "digits": lambda at: str(at + 8),  # "10" stands before "9" as text
}
_EDGES = ("repeats", "judged twice", "empty list", "empty truth", "missing", "nothing returned is judged")


def pool(form: Form, cutoffs: Sequence[int | None], count: int = 700, seed: int = 28) -> list[Question]:
    """Different questions that a calling style can express; most have one special feature, some several."""
    rng = random.Random(seed)
    out: dict[Question, None] = {}
    for at in range(count):
        question = _drawn(rng, rng.choice(cutoffs), 3 if form.several and at % 8 == 0 else 1)
        out[form.fit(question)] = None
    return list(out)


def _drawn(rng: random.Random, k: int | None, queries: int) -> Question:
    """A random question."""
    style = rng.choice(("plain", "plain", "grades", "scores", "ids", "edge", "edge", "all"))

    def pick(name: str, rows: Iterable[str], usual: Sequence[str]) -> str:
        return rng.choice(list(rows)) if style in (name, "all") else rng.choice(usual)

    def query(at: int) -> Query:
        usual = ("binary", "graded") if queries == 1 else ("all relevant", "all relevant", "graded")
        grades = _GRADES[pick("grades", _GRADES, usual)]
        scores = _SCORES[pick("scores", _SCORES, ("distinct", "shuffled"))]
        name = _IDS[ids]
        edges = {rng.choice(_EDGES)} if style == "edge" or (style == "all" and at % 2) else set()
        sizes = [1, 2, 2, 3, 3, 4, 5, *([] if k is None else [k, k + 1, k + 2])]
        length, judged = rng.choice(sizes), rng.choice(sizes)
        everything = list(range(max(length, judged) + rng.choice((0, 0, 1, 3))))
        rng.shuffle(everything)
        run_items = everything[:length]
        truth_items = rng.sample(everything, judged) if rng.random() < 0.8 else everything[-judged:]
        if "nothing returned is judged" in edges:
            truth_items = [item + len(everything) for item in truth_items]
        truth = [(name(item), float(rng.choice(grades))) for item in truth_items]
        values = scores(rng, length)
        run = [(name(item), score) for item, score in zip(run_items, values, strict=True)]
        if "repeats" in edges:
            for _ in range(rng.choice((1, 1, 2))):
                row = rng.choice(run)
                run.insert(rng.randrange(len(run) + 1), row)
            run = [(item, float(len(run) - row)) for row, (item, _) in enumerate(run)]
        if "judged twice" in edges:
            truth.append(rng.choice(truth))
        both = Query(() if "empty truth" in edges else tuple(truth), () if "empty list" in edges else tuple(run))
        if "missing" in edges and queries > 1:
            return both._replace(run=None) if rng.random() < 0.6 else both._replace(truth=None)
        return both

    ids = pick("ids", _IDS, ("letters",))
    several = tuple(map(query, range(rng.randint(2, queries) if queries > 1 else 1)))
    if all(one.truth is None or one.run is None for one in several):  # truth and run need a query in common
        several = (*several, Query(((_IDS[ids](0), 1.0),), ((_IDS[ids](0), 1.0),)))
    return Question(several, k)


# -- the smallest example ------------------------------------------------------------------------------------


def shrink(
    question: Question, holds: Callable[[Question], bool], fit: Callable[[Question], Question], most: int = 250
) -> Question:
    """The smallest question that is reached from one by steps after which something still holds.

    fit: makes a question one that the calling style can express.
    """
    tried, calls = {question}, 0
    while True:
        fresh = [each for each in dict.fromkeys(map(fit, _smaller(question))) if each not in tried]
        for smaller in sorted(fresh, key=lambda each: each.size):
            tried.add(smaller)
            calls += 1
            if smaller.size < question.size and holds(smaller):
                question = smaller
                break
            if calls >= most:
                return question
        else:
            return question


def _smaller(question: Question) -> Iterator[Question]:
    """Questions with less in them: queries, items, rows, then values."""
    for at, query in enumerate(question.queries):
        before, after = question.queries[:at], question.queries[at + 1 :]
        if before or after:
            yield question._replace(queries=(*before, *after))
        for changed in _smaller_queries(query):
            yield question._replace(queries=(*before, changed, *after))
    if question.k and question.k > 1:
        yield from (question._replace(k=k) for k in range(1, min(question.k, 4)))


def _smaller_queries(query: Query) -> Iterator[Query]:
    for item in dict.fromkeys(item for rows in query for item, _ in rows or ()):
        yield query.without(item)
    for side, rows in zip(("truth", "run"), query, strict=True):
        for at, (item, value) in enumerate(rows or ()):
            assert rows is not None
            yield query._replace(**{side: (*rows[:at], *rows[at + 1 :])})
            for simple in (1.0, 2.0, 3.0, 0.0, 0.5, -1.0):
                if simple != value:
                    yield query._replace(**{side: (*rows[:at], (item, simple), *rows[at + 1 :])})
    if query.run:
        scores = sorted({score for _, score in query.run})
        yield query._replace(run=tuple((item, scores.index(score) + 1.0) for item, score in query.run))
