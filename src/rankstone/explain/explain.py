"""How a score is computed from the items of a query, and why two scores differ."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankstone.align.alignment import Alignment, Floats, Ints
from rankstone.align.elementwise import NUMPY
from rankstone.align.subtopics import by_subtopic
from rankstone.conventions.convention import Convention, find_convention
from rankstone.conventions.plan import Capabilities, Plan, check_supported, make_plans
from rankstone.data.arrow import plain_ids
from rankstone.data.columns import ColumnPair, columns
from rankstone.data.dicts import Dicts
from rankstone.data.lists import Dense, ListPair
from rankstone.data.source import Source
from rankstone.errors import InputError, InputTypeError, NoClosedFormError
from rankstone.evaluate.pipeline import open_source
from rankstone.evaluate.values import ratio_of
from rankstone.explain.sweep import ConventionDifference, Sweep, between_conventions, place_of
from rankstone.metrics.gains import DISCOUNTS, cg
from rankstone.metrics.registry import ByName, Metric, Value, parse_one
from rankstone.program.flat import ranking_of
from rankstone.results.answer import Answer, Readable
from rankstone.results.answer import plain as as_plain
from rankstone.results.definition import Definition, definition_of, summarize

if TYPE_CHECKING:
    from rankstone.typing import Array, ColumnRoles, Numbers, Run, Truth

_MAX_ROWS = 30  # rows of a printed table
JUDGED = Capabilities(recommendations="explain needs a truth to compare the lists with")
_MAX_HITS = 1 << 21  # in the copies of a query that are evaluated together


def explain(
    truth: Truth,
    run: Run | tuple[Run, Run] | None = None,
    metric: str | Metric | None = None,
    *,
    query: Hashable = None,
    convention: str | Convention | tuple[str | Convention, str | Convention] = "rankstone",
    columns: ColumnRoles | None = None,
    mask: Array | None = None,
    lengths: Numbers | None = None,
    groups: Numbers | None = None,
    threads: int = 0,
    **choices: Value,
) -> Explanation | ConventionDifference | Moves:
    """Explain the score of a query, the difference of two conventions, or the difference of two runs.

    Parameters
    ----------
    truth : mapping, frame, table, array or path
        Relevance judgements, as for `evaluate`.
    run : mapping, frame, table, array or path, or tuple of two
        The run, as for `evaluate`; None if the truth is a table with labels and scores. With two runs, the result lists
        the items whose ranks differ.
    metric : str or Metric
        One metric: "ndcg@10".
    query : hashable, optional
        Id of the query. Needed if there are several, except with two conventions: then None is the mean.
    convention : str or Convention, or tuple of two, default "rankstone"
        With two conventions, the result lists the choices that make the difference.
    columns : mapping, optional
        Column names by role, as for `evaluate`.
    mask : array, optional
        Which entries of matrices are items, as for `evaluate`.
    lengths : array of int, optional
        Length of each row of matrices, as for `evaluate`.
    groups : array of int, optional
        Number of rows per query of flat arrays, as for `evaluate`.
    threads : int, default 0
        Number of threads; 0 is all cores.
    **choices
        Choices that replace those of the convention: `ties="input"`.

    Returns
    -------
    Explanation
        Each item's grade and contribution, the ideal list and the division; for one run and one convention.
    ConventionDifference
        For two conventions.
    Moves
        For two runs.

    Raises
    ------
    ValueError
        If the query is not in the truth, or if both two runs and two conventions are passed.

    Examples
    --------
    >>> explanation = rs.explain({"u1": {"i1": 3, "i2": 1}}, {"u1": ["i2", "i3", "i1"]}, "dcg", query="u1")
    >>> [(row.item, row.contribution) for row in explanation.ranking]
    [('i2', 1.0), ('i3', 0.0), ('i1', 1.5)]
    """
    if metric is None:
        raise InputTypeError("pass a metric: rs.explain(truth, run, 'ndcg@10', query=...), or metric= with one table")
    runs = run if isinstance(run, tuple) else (run,)
    options: Any = {"mask": mask, "lengths": lengths, "groups": groups, "columns": columns}

    def sources() -> list[Source]:
        if truth is None:
            raise InputTypeError("pass a truth: a score is explained by what is relevant")
        return [open_source(truth, side, **options) for side in runs]

    return explain_sources(len(runs), sources, metric, query, convention, choices, threads)


def explain_sources(
    many: int,
    opened: Callable[[], Sequence[Source]],
    metric: str | Metric,
    query: Hashable,
    convention: str | Convention | Sequence[str | Convention],
    choices: ByName,
    threads: int = 0,
) -> Any:
    """The explanation of one or two (`many`) runs, which are opened after the other arguments are checked."""
    names = convention if isinstance(convention, (tuple, list)) else (convention,)
    if (len(names), many) not in ((1, 1), (1, 2), (2, 1)):
        raise InputError("explain one score, or the difference of two conventions, or that of two runs")
    parsed = parse_one(metric, "explain one")
    plans = [make_plans(parsed, name, choices)[0] for name in names]
    check_supported(plans, JUDGED)
    conventions = [find_convention(name).with_choices(**choices) for name in names]
    sources = [_only(source, plans, query) for source in opened()]
    sweeps = [Sweep(source, threads) for source in sources]
    if len(names) == 2:
        return between_conventions(sweeps[0], plans, [convention.name for convention in conventions], query)
    explanations = [_of_query(*pair, plans[0], conventions[0], query) for pair in zip(sources, sweeps, strict=True)]
    return explanations[0] if len(explanations) == 1 else _between_runs(*explanations)


# -- one query -----------------------------------------------------------------------------------------------


def _only(source: Source, plans: Sequence[Plan], query: Any) -> Source:
    """The source with the query alone, if no metric reads the others; as it is if that takes longer or is unknown."""
    if any(plan.annotations or plan.metric.declaration.all_queries(plan.arguments) for plan in plans):
        return source
    if type(source) is Dicts and query in source.truth:
        return Dicts(*({query: side[query]} if query in side else {} for side in (source.truth, source.run)))
    if type(source) is ColumnPair and len(source.truth.rows_of(query)) and source.truth.rows is None:
        return ColumnPair(source.truth.only(query), source.run.only(query))
    return source


class Row(NamedTuple):
    """An item of a ranking. Fields that are missing or that the metric does not use are None."""

    rank: int
    item: Any
    score: float | None
    grade: float | None  # None: unjudged
    gain: float | None
    discount: float | None  # factor of the gain
    contribution: float  # to the numerator


@dataclass(frozen=True, repr=False)
class Explanation(Readable):
    """How the score of a query is computed.

    Attributes
    ----------
    query : hashable
        Id of the query.
    value : float
        Value of the metric; NaN if the query is not averaged.
    numerator : float
        Sum of the contributions of `ranking`, plus `base`.
    denominator : float
        Divisor; the sum of the contributions of `ideal`, if the metric has an ideal list.
    base : float
        Numerator of a ranking without hits.
    ranking : list of Row
        Returned items, each with `rank, item, score, grade, gain, discount, contribution`.
    ideal : list of Row
        Items of the ideal list; empty if the metric has none.
    finish : str or None
        Function that is applied after the division, "sqrt" for RMSE.
    definition : Definition
        Definition of the metric.
    """

    query: Any
    value: float
    numerator: float
    denominator: float
    base: float
    ranking: list[Row]
    ideal: list[Row]
    finish: str | None
    definition: Definition

    def to_dict(self) -> dict[str, Any]:
        """The result as plain dicts, lists and numbers."""
        return as_plain(self)

    def _columns(self) -> dict[str, list[Any]]:
        rows = [row if isinstance(row.item, (str, int)) else row._replace(item=str(row.item)) for row in self.ranking]
        return {name: [getattr(row, name) for row in rows] for name in Row._fields}

    def _answer(self) -> Answer:
        """Contributions of the ranking and of the ideal list, and the division."""
        graded = any(row.gain is not None for row in (*self.ranking, *self.ideal))
        head = ["rank", "item", "score", "grade", *(["gain", "discount"] if graded else []), "contribution"]

        def total(label: str, value: float) -> list[str]:
            return ["", label, *[""] * (len(head) - 3), _number(value)]

        table = [head, *(_cells(row, graded) for row in _printed_rows(self.ranking, self.definition.choices.get("k")))]
        table += [total("without hits", self.base)] if self.base else []
        table += [[], total("numerator", self.numerator)]
        if self.ideal:
            table += [[], ["", "ideal list", *head[2:]], []]
            table += [*(_cells(row, graded) for row in _printed_rows(self.ideal, None)), []]
        table.append(total("denominator", self.denominator))
        title = f"{self.definition.metric} of query {self.query!r}: {_number(self.value)}"
        return Answer(table, title, [self._division(), *summarize([self.definition])], align="><")

    def _division(self) -> str:
        division = f"{_number(self.numerator)} / {_number(self.denominator)}"
        ratio = self.numerator / self.denominator if self.denominator else math.nan
        if math.isnan(self.value):
            return f"{division}: the query is not averaged"
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
    base, contributions = _contributions(plan, ranked, at)
    hits = slice(int(ranked.placed_offsets[at]), int(ranked.placed_offsets[at + 1]))
    hit_items = [lists.judged[place - 1] for place in ranked.place[hits]]
    gains, discounts = _gains(plan, ranked, at)
    rows = zip(hit_items, ranked.rank[hits].tolist(), gains, discounts, contributions.tolist(), strict=True)
    numerator, denominator = float(ratio.numerator[at]), float(ratio.denominator[at])
    order = _order(lists, plan)
    if plan.choices["unjudged"] == "condensed":  # unjudged items are removed
        order = [row for row in order if row[1] in set(hit_items)]
    return Explanation(
        query=aligned.queries[at],
        value=sweep.value(plan, at),
        numerator=numerator,
        denominator=denominator,
        base=base,
        ranking=_ranking(lists, order, list(rows)),
        ideal=_ideal(plan, ranked, at, denominator, hit_items if ranked.unjudged is not None else lists.judged),
        finish=None if ratio.finish is None else getattr(ratio.finish, "__name__", "f"),
        definition=definition_of(plan, convention),
    )


def _contributions(plan: Plan, ranked: Alignment, at: int) -> tuple[float, Floats]:
    """Numerator of the list without hits, and what each hit adds to that of the hits above it.

    The metric is evaluated on the list with its first 0, 1, 2 ... hits, together with all other queries.
    """
    n, hits = len(ranked), int(ranked.placed_offsets[at + 1] - ranked.placed_offsets[at])
    sums = []
    step = max(1, _MAX_HITS // max(hits, 1))
    for start in range(0, hits + 1, step):
        counts = np.arange(start, min(start + step, hits + 1))
        copies = ranked.only(np.concatenate((np.arange(n), np.full(len(counts), at))))
        others = np.ones(len(ranked.rank), dtype=bool)
        keep = np.concatenate((others, (np.arange(hits) < counts[:, None]).ravel()))
        sums.append(ratio_of(plan, ranking_of(copies.with_placed(keep))).numerator[n:])
    total = np.concatenate(sums)
    each = np.diff(total)
    noise = 1e-13 * np.abs(total).max()  # sums of different lengths round differently
    return float(total[0]), np.where(np.abs(each) <= noise, 0.0, each)


def _gains(plan: Plan, ranked: Alignment, at: int) -> tuple[list[float | None], list[float | None]]:
    """Gain and discount of each hit, for metrics that have both. The gain is that of a list with this hit alone."""
    hits = slice(int(ranked.placed_offsets[at]), int(ranked.placed_offsets[at + 1]))
    count = hits.stop - hits.start
    discount = DISCOUNTS.get(plan.arguments.get("discount", ""))
    if discount is None or "gain" not in plan.arguments or count == 0:
        return [None] * count, [None] * count
    alone = ranked.only(np.full(count, at)).with_placed(np.eye(count, dtype=bool).ravel())
    arguments = {name: plan.arguments[name] for name in cg.declaration.defaults}
    gains = cg.declaration.function(ranking_of(alone), k=None, **arguments).numerator
    return gains.tolist(), discount(NUMPY, ranked.rank[hits].astype(np.float64)).tolist()


def _ideal(plan: Plan, ranked: Alignment, at: int, denominator: float, items: Sequence[Any]) -> list[Row]:
    """The list whose contributions sum to the denominator: by grade, in truth order, among returned items, by intents.

    Empty if none of these does.
    """
    intents = plan.metric.declaration.kind == "intents"
    if not intents and (plan.metric.declaration.bounds[1] != 1 or plan.metric.declaration.kind != "ranking"):
        return []
    grades = ranked.truth_grades[ranked.truth_offsets[at] : ranked.truth_offsets[at + 1]]
    if len(grades) != len(items):
        items = list(dict.fromkeys(items))  # an item judged twice counts once
    returned = ranked.place[ranked.placed_offsets[at] : ranked.placed_offsets[at + 1]] - 1
    by_grade, truth_order = np.argsort(-grades, kind="stable"), np.arange(len(grades))
    by_grade_returned = by_grade[np.isin(by_grade, returned)]
    k = plan.arguments.get("k")
    depths = [k, None, int(min(k, ranked.retrieved[at]))] if isinstance(k, int) else [k, int(ranked.retrieved[at])]
    for order in by_subtopic(ranked).ideal_lists(at) if intents else (by_grade, truth_order, by_grade_returned):
        ideal = _with_list(ranked, at, order)
        for depth in depths:
            cut = replace(plan, arguments={**plan.arguments, "k": depth}) if plan.metric.declaration.takes_k else plan
            try:
                base, contributions = _contributions(cut, ideal, len(ranked))
            except NoClosedFormError:  # at this depth only
                continue
            if base == 0 and math.isclose(contributions.sum(), denominator, rel_tol=1e-9, abs_tol=1e-12):
                gains, discounts = _gains(plan, ideal, len(ranked))
                rows = zip(order.tolist(), gains, discounts, contributions.tolist(), strict=True)
                return [
                    Row(rank, items[row], None, float(grades[row]), gain, discount, contribution)
                    for rank, (row, gain, discount, contribution) in enumerate(rows, 1)
                    if contribution
                ]
    return []


def _with_list(ranked: Alignment, at: int, order: Ints) -> Alignment:
    """The alignment with one more query: a copy of query `at` that returns these judged items in this order."""
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


# -- items of the query -----------------------------------------------------------------------------------------


class _Lists(NamedTuple):
    """Truth and ranking of a query, with the user's ids."""

    judged: list[Any]  # items in truth order
    grades: list[float]
    returned: Source  # the ranking, with all of its items as truth
    returned_items: Sequence[Any]  # items of that truth, in its order


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
        return _Lists(
            list(truth), grades, Dicts({query: dict.fromkeys(run, 1)}, {query: run}), list(dict.fromkeys(run))
        )
    if isinstance(source, ListPair):
        judged, values = _list_at(source.truth, at)
        row = at if source.run_rows is None else int(source.run_rows[at])
        returned, scores = _list_at(source.run, row) if row >= 0 else ([], None)
    else:
        judged, values = _rows_at(source.truth, query, "grade")
        returned, scores = _rows_at(source.run, query, "score")
    distinct = list(dict.fromkeys(returned))
    pair = [
        columns(query=np.zeros(len(items), dtype=np.int64), item=items or np.zeros(0, dtype=np.int64), **value)
        for items, value in ((distinct, {}), (returned, {} if scores is None else {"score": scores}))
    ]
    return _Lists(judged, values or [1.0] * len(judged), ColumnPair(*pair), distinct)


def _list_at(side: Any, row: int) -> tuple[list[Any], list[float] | None]:
    inside = np.arange(int(side.offsets[row]), int(side.offsets[row + 1]))
    return plain_ids(side.items, inside), None if side.values is None else plain_ids(side.values, inside)


def _rows_at(side: Any, query: Any, value: str) -> tuple[list[Any], list[float] | None]:
    rows, values = side.rows_of(query), getattr(side, value)
    return plain_ids(side.item, rows), None if values is None else plain_ids(values, rows)


def _order(lists: _Lists, plan: Plan) -> list[tuple[int, Any, float | None]]:
    """Rank, id and score of every returned item, in the order of the alignment."""
    if not len(lists.returned_items):
        return []
    options = replace(plan.alignment, truth_duplicates="error", extra_queries=False, keep_zero_grades=True)
    ranked = lists.returned.align(options).ranked
    rows = zip(ranked.rank.tolist(), ranked.place.tolist(), ranked.score.tolist(), strict=True)
    return [
        (rank, lists.returned_items[place - 1], None if math.isnan(score) else score) for rank, place, score in rows
    ]


def _ranking(lists: _Lists, order: list[tuple[int, Any, float | None]], hits: list[Any]) -> list[Row]:
    """The whole ranking: hits at the ranks that the metric uses, the other items at the ranks between."""
    grades: dict[Any, float] = {}
    for item, grade in zip(lists.judged, lists.grades, strict=True):
        grades.setdefault(item, float(grade))
    scores: dict[Any, list[float | None]] = {}
    for _, item, score in order:
        scores.setdefault(item, []).append(score)
    left = Counter(item for item, *_ in hits)
    rows = [
        Row(rank, item, scores[item].pop(0), grades.get(item), gain, discount, contribution)
        for item, rank, gain, discount, contribution in hits
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
    """An item that two runs rank differently, and the change of the score. A rank is None if it is not returned."""

    item: Any
    grade: float | None
    first_rank: int | None
    second_rank: int | None
    change: float  # of the score


@dataclass(frozen=True, repr=False)
class Moves(Readable):
    """Why the scores of two runs differ for a query: the changes of `moves` and `residual` sum to `difference`.

    Attributes
    ----------
    query : hashable
        Id of the query.
    first, second : Explanation
        Explanation of each run's score.
    moves : list of Move
        Items whose ranks differ: `item, grade, first_rank, second_rank, change`. The largest change comes first.
    residual : float
        Part of the difference that no item explains: different denominators, or an undefined value.
    """

    query: Any
    first: Explanation
    second: Explanation
    moves: list[Move]
    residual: float

    @property
    def difference(self) -> float:
        """Second score minus first score."""
        return self.second.value - self.first.value

    def to_dict(self) -> dict[str, Any]:
        """The result as plain dicts, lists and numbers."""
        return as_plain(
            {
                "query": self.query,
                "first": self.first.value,
                "second": self.second.value,
                "difference": self.difference,
                "moves": self.moves,
                "residual": self.residual,
                "definition": self.first.definition,
            }
        )

    def _answer(self) -> Answer:
        """The change of the score by item."""
        table = [["item", "grade", "first", "second", "change"]]
        for move in self.moves[:_MAX_ROWS]:
            ranks = ["-" if rank is None else str(rank) for rank in (move.first_rank, move.second_rank)]
            table.append([str(move.item), _short(move.grade), *ranks, f"{move.change:+.4f}"])
        if len(self.moves) > _MAX_ROWS:
            small = sum(move.change for move in self.moves[_MAX_ROWS:])
            table.append([f"{len(self.moves) - _MAX_ROWS} more", "", "", "", f"{small:+.4f}"])
        if self.residual:
            table.append(["different denominator", "", "", "", f"{self.residual:+.4f}"])
        table += [[], ["", "", "", "", f"{self.difference:+.4f}"]]
        values = f"{_number(self.first.value)} and {_number(self.second.value)}"
        title = f"{self.first.definition.metric} of query {self.query!r}: {values}"
        return Answer(table, title, summarize([self.first.definition]))


def _between_runs(first: Explanation, second: Explanation) -> Moves:
    sides = []
    for side in (first, second):
        by_item: dict[Any, tuple[int, float, float | None]] = {}
        for row in side.ranking:
            rank, contribution, _ = by_item.get(row.item, (row.rank, 0.0, None))
            by_item[row.item] = (rank, contribution + row.contribution, row.grade)
        sides.append(by_item)
    moves = []
    for item in {**sides[0], **sides[1]}:
        (first_rank, before, grade), (second_rank, after, other) = (side.get(item, (None, 0.0, None)) for side in sides)
        change = (after - before) / first.denominator if first.denominator else 0.0
        if change and not math.isnan(change):
            moves.append(Move(item, other if grade is None else grade, first_rank, second_rank, change))
    moves.sort(key=lambda move: -abs(move.change))
    residual = second.value - first.value - math.fsum(move.change for move in moves)
    if abs(residual) < 1e-12:
        residual = 0.0
    return Moves(first.query, first, second, moves, residual)


# -- printing -------------------------------------------------------------------------------------------------------


def _printed_rows(rows: Sequence[Row], k: Any) -> list[Row | float]:
    """The rows to print: the first ranks, and those below that contribute or could; a sum for the rows between."""
    whole = not isinstance(k, int)
    depth = _MAX_ROWS // 3 if whole or k > _MAX_ROWS else k
    indices = [at for at, row in enumerate(rows) if row.rank <= depth or row.contribution or (whole and row.grade)][
        :_MAX_ROWS
    ]
    out: list[Row | float] = []
    for at, following in pairwise([*indices, len(rows)]):
        between = rows[at + 1 : following]
        out += [rows[at], *([math.fsum(row.contribution for row in between)] if between else [])]
    return out


def _cells(row: Row | float, graded: bool) -> list[str]:
    if isinstance(row, float):
        return ["...", *[""] * (5 if graded else 3), _number(row) if row else ""]
    factors = [_short(row.gain), "" if row.discount is None else f"{row.discount:.4f}"] if graded else []
    grade = _short(row.grade) if row.grade is not None else "-"
    contribution = _number(row.contribution) if row.contribution else ""
    return [str(row.rank), str(row.item), _short(row.score), grade, *factors, contribution]


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _number(value: float) -> str:
    return f"{value:.4f}"
