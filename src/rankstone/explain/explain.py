"""Where a score came from, and why two scores differ."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankstone.align.alignment import Alignment, Floats, Ints
from rankstone.align.functions import NUMPY
from rankstone.align.subtopics import by_subtopic
from rankstone.conventions.convention import Convention, find_convention
from rankstone.conventions.plan import Capabilities, Plan, check_supported, make_plans
from rankstone.data.arrow import plain, plain_ids
from rankstone.data.columns import ColumnPair, columns
from rankstone.data.dicts import Dicts
from rankstone.data.lists import Dense, ListPair
from rankstone.data.source import Source
from rankstone.errors import NoExpectedValue
from rankstone.evaluate.pipeline import open_source
from rankstone.evaluate.values import ratio_of
from rankstone.explain.sweep import Difference, Sweep, between_conventions, place_of
from rankstone.metrics.gains import DISCOUNTS, cg
from rankstone.metrics.registry import Metric, Value, parse_one
from rankstone.program.flat import ranking_of
from rankstone.results.answer import Answer, Readable
from rankstone.results.answer import plain as as_plain
from rankstone.results.definition import Definition, definition_of, summarize

if TYPE_CHECKING:
    from rankstone.typing import Array, Numbers, Roles, Run, Truth

_SHOWN = 30  # rows of a printed table
JUDGED = Capabilities(shown="what is explained is a list beside its truth")
_AT_ONCE = 1 << 21  # hits of copies of a query


def explain(
    truth: Truth,
    run: Run | tuple[Run, Run],
    metric: str | Metric,
    *,
    query: Hashable = None,
    convention: str | Convention | tuple[str | Convention, str | Convention] = "rankstone",
    columns: Roles | None = None,
    mask: Array | None = None,
    lengths: Numbers | None = None,
    groups: Numbers | None = None,
    threads: int = 0,
    **choices: Value,
) -> Explanation | Difference | Moves:
    """Where a query's score came from: each item's grade and what it earned, the ideal list, and the division.

    With two conventions, `convention=("rankstone", "lightgbm")`: both numbers, and which choices make the difference,
    for one query or, without `query`, for the mean. With two runs, `explain(truth, (run_a, run_b), ...)`: which items
    moved, and what each move earned or cost. Data and choices are as `evaluate` takes them.

    >>> explanation = rs.explain({"u1": {"i1": 3, "i2": 1}}, {"u1": ["i2", "i3", "i1"]}, "dcg", query="u1")
    >>> [(row.item, row.earned) for row in explanation.ranking]
    [('i2', 1.0), ('i3', 0.0), ('i1', 1.5)]
    """
    metric = parse_one(metric, "explain one")
    doors: Any = {"mask": mask, "lengths": lengths, "groups": groups, "columns": columns}
    named = convention if isinstance(convention, (tuple, list)) else (convention,)
    runs = run if isinstance(run, tuple) else (run,)
    if len(named) > 2 or len(runs) > 2 or len(named) + len(runs) > 3:
        raise ValueError("explain one score, or the difference of two conventions, or that of two runs")
    plans = [make_plans(metric, name, choices)[0] for name in named]
    check_supported(plans, JUDGED)
    conventions = [find_convention(name).with_choices(**choices) for name in named]
    sources = [open_source(truth, side, **doors) for side in runs]
    sweeps = [Sweep(source, threads) for source in sources]
    if len(named) == 2:
        return between_conventions(sweeps[0], plans, [convention.name for convention in conventions], query)
    found = [_of_query(*pair, plans[0], conventions[0], query) for pair in zip(sources, sweeps, strict=True)]
    return found[0] if len(found) == 1 else _between_runs(*found)


# -- one query -----------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """A place of a list. What is not known or has no meaning for the metric is None."""

    rank: int
    item: Any
    score: float | None
    grade: float | None  # None: nobody judged the item
    gain: float | None
    discount: float | None  # what the gain is multiplied with
    earned: float


@dataclass(frozen=True, repr=False)
class Explanation(Readable):
    """A query's score: `ranking` adds up to `numerator`, and `ideal`, if there is such a list, to `denominator`."""

    query: Any
    value: float
    numerator: float
    denominator: float
    base: float  # what the metric earns without any hit
    ranking: list[Row]
    ideal: list[Row]
    finish: str | None  # what is applied after the division
    definition: Definition

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return as_plain(self)

    def _columns(self) -> dict[str, list[Any]]:
        rows = [row if isinstance(row.item, (str, int)) else row._replace(item=str(row.item)) for row in self.ranking]
        return {name: [getattr(row, name) for row in rows] for name in Row._fields}

    def answer(self) -> Answer:
        """What the list earned, what the ideal list would have, and the division."""
        graded = any(row.gain is not None for row in (*self.ranking, *self.ideal))
        head = ["rank", "item", "score", "grade", *(["gain", "discount"] if graded else []), "earned"]

        def total(what: str, value: float) -> list[str]:
            return ["", what, *[""] * (len(head) - 3), _number(value)]

        table = [head, *(_cells(row, graded) for row in _worth_showing(self.ranking, self.definition.choices.get("k")))]
        table += [total("without any hit", self.base)] if self.base else []
        table += [[], total("earned", self.numerator)]
        if self.ideal:
            table += [[], ["", "ideal list", *head[2:]], []]
            table += [*(_cells(row, graded) for row in _worth_showing(self.ideal, None)), []]
        table.append(total("possible", self.denominator))
        title = f"{self.definition.metric} of query {self.query!r}: {_number(self.value)}"
        return Answer(table, title, [self._division(), *summarize([self.definition])], align="><")

    def _division(self) -> str:
        division = f"{_number(self.numerator)} / {_number(self.denominator)}"
        ratio = self.numerator / self.denominator if self.denominator else math.nan
        if math.isnan(self.value):
            return f"{division}: the query does not count"
        if self.finish is not None and self.denominator:
            return f"{self.finish}({division}) = {_number(self.value)}"
        if math.isclose(ratio, self.value, rel_tol=1e-9, abs_tol=1e-12):
            return f"{division} = {_number(self.value)}"
        return f"{division}, counted as {_number(self.value)}"


def _of_query(source: Source, sweep: Sweep, plan: Plan, convention: Convention, query: Any) -> Explanation:
    aligned = sweep.aligned(plan)
    at = place_of(aligned.queries, query)
    ranked, ratio = sweep.ratio(plan)
    lists = _lists_of(source, aligned.queries[at], at)
    base, earned = _contributions(plan, ranked, at)
    hits = slice(int(ranked.placed_offsets[at]), int(ranked.placed_offsets[at + 1]))
    found = [lists.judged[place - 1] for place in ranked.place[hits]]
    gains, discounts = _worths(plan, ranked, at)
    each = list(zip(found, ranked.rank[hits].tolist(), gains, discounts, earned.tolist(), strict=True))
    numerator, denominator = float(ratio.numerator[at]), float(ratio.denominator[at])
    order = _order(lists, plan)
    if plan.choices["known"] == "judged":  # nothing else is left in the list
        order = [row for row in order if row[1] in set(found)]
    return Explanation(
        query=aligned.queries[at],
        value=sweep.value(plan, at),
        numerator=numerator,
        denominator=denominator,
        base=base,
        ranking=_ranking(lists, order, each),
        ideal=_ideal(plan, ranked, at, denominator, found if ranked.unjudged is not None else lists.judged),
        finish=None if ratio.finish is None else getattr(ratio.finish, "__name__", "f"),
        definition=definition_of(plan, convention),
    )


def _contributions(plan: Plan, ranked: Alignment, at: int) -> tuple[float, Floats]:
    """What the list earns without any hit, and what each hit adds to those above it.

    The metric itself is asked: it measures the list with its first 0, 1, 2 ... hits, beside all the other queries.
    """
    n, hits = len(ranked), int(ranked.placed_offsets[at + 1] - ranked.placed_offsets[at])
    sums = []
    step = max(1, _AT_ONCE // max(hits, 1))
    for start in range(0, hits + 1, step):
        counts = np.arange(start, min(start + step, hits + 1))
        copies = ranked.only(np.concatenate((np.arange(n), np.full(len(counts), at))))
        others = np.ones(len(ranked.rank), dtype=bool)
        keep = np.concatenate((others, (np.arange(hits) < counts[:, None]).ravel()))
        sums.append(ratio_of(plan, ranking_of(copies.with_placed(keep))).numerator[n:])
    total = np.concatenate(sums)
    each = np.diff(total)
    noise = 1e-13 * np.abs(total).max()  # sums of other lengths are rounded otherwise
    return float(total[0]), np.where(np.abs(each) <= noise, 0.0, each)


def _worths(plan: Plan, ranked: Alignment, at: int) -> tuple[list[float | None], list[float | None]]:
    """Gain and discount of each hit, for metrics that have both. The gain is what the hit would earn alone."""
    hits = slice(int(ranked.placed_offsets[at]), int(ranked.placed_offsets[at + 1]))
    count = hits.stop - hits.start
    discount = DISCOUNTS.get(plan.arguments.get("discount", ""))
    if discount is None or "gain" not in plan.arguments or count == 0:
        return [None] * count, [None] * count
    alone = ranked.only(np.full(count, at)).with_placed(np.eye(count, dtype=bool).ravel())
    known = {name: plan.arguments[name] for name in cg.declaration.defaults}
    gains = cg.declaration.function(ranking_of(alone), k=None, **known).numerator
    return gains.tolist(), discount(NUMPY, ranked.rank[hits].astype(np.float64)).tolist()


def _ideal(plan: Plan, ranked: Alignment, at: int, possible: float, items: Sequence[Any]) -> list[Row]:
    """The list that earns just what could be earned: by grade, as given, of what was returned, by intents; or none."""
    intents = plan.metric.declaration.kind == "intents"
    if not intents and (plan.metric.declaration.bounds[1] != 1 or plan.metric.declaration.kind != "ranking"):
        return []
    grades = ranked.truth_grades[ranked.truth_offsets[at] : ranked.truth_offsets[at + 1]]
    if len(grades) != len(items):
        items = list(dict.fromkeys(items))  # an item judged twice counts once
    returned = ranked.place[ranked.placed_offsets[at] : ranked.placed_offsets[at + 1]] - 1
    by_grade, given = np.argsort(-grades, kind="stable"), np.arange(len(grades))
    inside = by_grade[np.isin(by_grade, returned)]
    k = plan.arguments.get("k")
    depths = [k, None, int(min(k, ranked.retrieved[at]))] if isinstance(k, int) else [k, int(ranked.retrieved[at])]
    for order in by_subtopic(ranked).ideal_lists(at) if intents else (by_grade, given, inside):
        perfect = _with_list(ranked, at, order)
        for depth in depths:
            cut = replace(plan, arguments={**plan.arguments, "k": depth}) if plan.metric.declaration.takes_k else plan
            try:
                base, earned = _contributions(cut, perfect, len(ranked))
            except NoExpectedValue:  # at this depth; it may have one at another
                continue
            if base == 0 and math.isclose(earned.sum(), possible, rel_tol=1e-9, abs_tol=1e-12):
                gains, discounts = _worths(plan, perfect, len(ranked))
                rows = zip(order.tolist(), gains, discounts, earned.tolist(), strict=True)
                return [
                    Row(rank, items[row], None, float(grades[row]), gain, discount, share)
                    for rank, (row, gain, discount, share) in enumerate(rows, 1)
                    if share
                ]
    return []


def _with_list(ranked: Alignment, at: int, order: Ints) -> Alignment:
    """One more query: a copy of one, whose list is some of its judged items."""
    base = ranked.only(np.append(np.arange(len(ranked)), at))
    start, size = int(base.placed_offsets[-2]), len(order)
    ranks = np.arange(1, size + 1)

    def ending(values: Any, new: Any) -> Any:
        return None if values is None else np.concatenate((values[:start], new)).astype(values.dtype)

    return base.replace(
        retrieved=np.append(base.retrieved[:-1], max(int(base.retrieved[-1]), size)),
        placed_offsets=np.append(base.placed_offsets[:-1], start + size),
        rank=ending(base.rank, ranks),
        grade=ending(base.grade, base.truth_grades[base.truth_offsets[-2] :][order]),
        score=ending(base.score, size + 1 - ranks),
        place=ending(base.place, order + 1),
        above=ending(base.above, ranks - 1),
        tied=ending(base.tied, np.ones(size)),
    )


# -- the query's own rows ----------------------------------------------------------------------------------------


class _Lists(NamedTuple):
    """A query's truth and list as the user gave them."""

    judged: list[Any]  # items by their place in the truth
    grades: list[float]
    returned: Source  # the list, with all of its items for a truth
    returned_items: Sequence[Any]  # that truth's items by place


def _lists_of(source: Any, query: Any, at: int) -> _Lists:
    if isinstance(source, Dense):
        mask = np.ones(source.labels.shape[1], dtype=bool) if source.mask is None else source.mask[at]
        judged = np.flatnonzero(mask).tolist()
        labels = source.labels[at][mask]
        alone = Dense(source.scores[at : at + 1], np.ones((1, len(mask))), mask[None])
        return _Lists(judged, labels.tolist(), alone, judged)
    if isinstance(source, Dicts):
        truth, run = source.truth.get(query, ()), source.run.get(query, ())
        grades = list(truth.values()) if isinstance(truth, Mapping) else [1.0] * len(truth)
        found = dict.fromkeys(run)
        return _Lists(list(truth), grades, Dicts({query: dict.fromkeys(run, 1)}, {query: run}), list(found))
    if isinstance(source, ListPair):
        judged, values = _list_at(source.truth, at)
        row = at if source.run_rows is None else int(source.run_rows[at])
        returned, scores = _list_at(source.run, row) if row >= 0 else ([], None)
    else:
        judged, values = _rows_at(source.truth, query, "grade")
        returned, scores = _rows_at(source.run, query, "score")
    found = dict.fromkeys(returned)
    pair = [
        columns(query=np.zeros(len(items), dtype=np.int64), item=items or np.zeros(0, dtype=np.int64), **value)
        for items, value in ((list(found), {}), (returned, {} if scores is None else {"score": scores}))
    ]
    return _Lists(judged, values or [1.0] * len(judged), ColumnPair(*pair), list(found))


def _list_at(side: Any, row: int) -> tuple[list[Any], list[float] | None]:
    inside = np.arange(int(side.offsets[row]), int(side.offsets[row + 1]))
    return plain_ids(side.items, inside), None if side.values is None else plain_ids(side.values, inside)


def _rows_at(side: Any, query: Any, value: str) -> tuple[list[Any], list[float] | None]:
    if isinstance(side.query, np.ndarray):
        rows = np.flatnonzero(side.query == query)
    else:
        import pyarrow
        import pyarrow.compute as pc

        ids = plain(side.query)
        rows = np.flatnonzero(pc.equal(ids, pyarrow.scalar(query, ids.type)).to_numpy(zero_copy_only=False))
    values = getattr(side, value)
    return plain_ids(side.item, rows), None if values is None else plain_ids(values, rows)


def _order(lists: _Lists, plan: Plan) -> list[tuple[int, Any, float | None]]:
    """Every item returned, with its rank and score, as the alignment orders them."""
    if not len(lists.returned_items):
        return []
    how = replace(plan.alignment, truth_duplicates="error", extra_queries=False, zeros=True)
    ranked = lists.returned.align(how).ranked
    rows = zip(ranked.rank.tolist(), ranked.place.tolist(), ranked.score.tolist(), strict=True)
    return [
        (rank, lists.returned_items[place - 1], None if math.isnan(score) else score) for rank, place, score in rows
    ]


def _ranking(lists: _Lists, order: list[tuple[int, Any, float | None]], hits: list[Any]) -> list[Row]:
    """The whole list: hits where the metric sees them, the other items in the places between."""
    grades: dict[Any, float] = {}
    for item, grade in zip(lists.judged, lists.grades, strict=True):
        grades.setdefault(item, float(grade))
    scores: dict[Any, list[float | None]] = {}
    for _, item, score in order:
        scores.setdefault(item, []).append(score)
    left = Counter(item for item, *_ in hits)
    rows = [
        Row(rank, item, scores[item].pop(0), grades.get(item), gain, discount, earned)
        for item, rank, gain, discount, earned in hits
    ]
    taken = {row.rank for row in rows}
    free = iter(sorted({rank for rank, *_ in order} - taken)) if len(taken) == len(rows) else None
    for rank, item, score in order:
        if left[item] > 0:
            left[item] -= 1
            continue
        rows.append(Row(next(free, rank) if free is not None else rank, item, score, grades.get(item), None, None, 0.0))
    return sorted(rows, key=lambda row: row.rank)


# -- two runs ----------------------------------------------------------------------------------------------------


class Move(NamedTuple):
    """An item that two runs place differently, and what that earned or cost. A rank is None where there is none."""

    item: Any
    grade: float | None
    first_rank: int | None
    second_rank: int | None
    change: float  # of the score


@dataclass(frozen=True, repr=False)
class Moves(Readable):
    """Why two runs' scores of a query differ: the moves' changes and `rest` add up to `difference`."""

    query: Any
    first: Explanation
    second: Explanation
    moves: list[Move]  # the largest change first
    rest: float  # what moves do not explain: another denominator, or a rule for what has none

    @property
    def difference(self) -> float:
        """The second score less the first."""
        return self.second.value - self.first.value

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return as_plain(
            {
                "query": self.query,
                "first": self.first.value,
                "second": self.second.value,
                "difference": self.difference,
                "moves": self.moves,
                "rest": self.rest,
                "definition": self.first.definition,
            }
        )

    def answer(self) -> Answer:
        """What each move earned or cost."""
        table = [["item", "grade", "first", "second", "change"]]
        for move in self.moves[:_SHOWN]:
            ranks = ["-" if rank is None else str(rank) for rank in (move.first_rank, move.second_rank)]
            table.append([str(move.item), _short(move.grade), *ranks, f"{move.change:+.4f}"])
        if len(self.moves) > _SHOWN:
            small = sum(move.change for move in self.moves[_SHOWN:])
            table.append([f"{len(self.moves) - _SHOWN} more", "", "", "", f"{small:+.4f}"])
        if self.rest:
            table.append(["another denominator", "", "", "", f"{self.rest:+.4f}"])
        table += [[], ["", "", "", "", f"{self.difference:+.4f}"]]
        values = f"{_number(self.first.value)} and {_number(self.second.value)}"
        title = f"{self.first.definition.metric} of query {self.query!r}: {values}"
        return Answer(table, title, summarize([self.first.definition]))


def _between_runs(first: Explanation, second: Explanation) -> Moves:
    sides = []
    for side in (first, second):
        found: dict[Any, tuple[int, float, float | None]] = {}
        for row in side.ranking:
            rank, earned, _ = found.get(row.item, (row.rank, 0.0, None))
            found[row.item] = (rank, earned + row.earned, row.grade)
        sides.append(found)
    moves = []
    for item in {**sides[0], **sides[1]}:
        (a, was, grade), (b, now, other) = (side.get(item, (None, 0.0, None)) for side in sides)
        change = (now - was) / first.denominator if first.denominator else 0.0
        if change and not math.isnan(change):
            moves.append(Move(item, other if grade is None else grade, a, b, change))
    moves.sort(key=lambda move: -abs(move.change))
    rest = second.value - first.value - math.fsum(move.change for move in moves)
    if abs(rest) < 1e-12:
        rest = 0.0
    return Moves(first.query, first, second, moves, rest)


# -- looks -------------------------------------------------------------------------------------------------------


def _worth_showing(rows: Sequence[Row], k: Any) -> list[Row | float]:
    """The first places, and those below that earned something or could have; for those between, what they earned."""
    whole = not isinstance(k, int)
    depth = _SHOWN // 3 if whole or k > _SHOWN else k
    shown = [at for at, row in enumerate(rows) if row.rank <= depth or row.earned or (whole and row.grade)][:_SHOWN]
    out: list[Row | float] = []
    for at, following in zip(shown, [*shown[1:], len(rows)], strict=True):
        between = rows[at + 1 : following]
        out += [rows[at], *([math.fsum(row.earned for row in between)] if between else [])]
    return out


def _cells(row: Row | float, graded: bool) -> list[str]:
    if isinstance(row, float):
        return ["...", *[""] * (5 if graded else 3), _number(row) if row else ""]
    worth = [_short(row.gain), "" if row.discount is None else f"{row.discount:.4f}"] if graded else []
    grade = _short(row.grade) if row.grade is not None else "-"
    return [str(row.rank), str(row.item), _short(row.score), grade, *worth, _number(row.earned) if row.earned else ""]


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _number(value: float) -> str:
    return f"{value:.4f}"
