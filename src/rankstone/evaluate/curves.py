"""The points of a ROC curve: how many relevant items a list has found when it has shown so many others."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankstone.align.alignment import Alignment, Floats
from rankstone.conventions.convention import Convention
from rankstone.conventions.plan import Plan, make_plans
from rankstone.data.loaders import load
from rankstone.data.source import Aligned
from rankstone.errors import QueryError, some
from rankstone.evaluate.checks import refuse_strangers
from rankstone.evaluate.means import one_list
from rankstone.evaluate.values import apply, view_for
from rankstone.metrics.registry import Value
from rankstone.program.flat import ranking_of

if TYPE_CHECKING:
    from rankstone.typing import Array, Numbers, Roles, Run, Truth


class Curve(NamedTuple):
    """The points from (0, 0) to (1, 1), in order."""

    false_positive_rate: Floats
    true_positive_rate: Floats


def roc_curve(
    truth: Truth,
    run: Run | None = None,
    *,
    query: Hashable = None,
    convention: str | Convention = "rankstone",
    columns: Roles | None = None,
    mask: Array | None = None,
    lengths: Numbers | None = None,
    groups: Numbers | None = None,
    threads: int = 0,
    **choices: Value,
) -> Curve:
    """The ROC curve of one query, or of the rows of all queries with `averaging="one_list"`. Its area is `auc`.

    It is about the judged items; pairs="list" takes every other item of the list for one that is not relevant, and with
    catalogue= those not shown too. Items with equal scores make one straight line, and so do judged items that the run
    lacks. Data and choices are as `evaluate` takes them.

    >>> fpr, tpr = rs.roc_curve({"u1": {"a": 1, "b": 0, "c": 1, "d": 0}}, {"u1": ["a", "b", "c", "d"]})
    >>> fpr.tolist(), tpr.tolist()
    ([0.0, 0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0])
    """
    plan = make_plans("auc", convention, {**choices, "ties": "input"})[0]  # what is tied is one line in any order
    source = load(
        truth, run, mask=mask, lengths=lengths, groups=groups, query=None, columns=columns, exclude=None
    )  # fmt: skip
    aligned = source.align(plan.align.keeping(True, threads))
    refuse_strangers(plan, aligned)
    return roc_points(plan, aligned, query)


def _chosen(plan: Plan, aligned: Aligned, query: Hashable) -> Alignment:
    """The list that the curve is of."""
    queries = list(aligned.queries)
    if plan.averaging.pooled:
        if query is not None:
            raise ValueError("give query= or averaging='one_list', not both")
        return view_for(plan, one_list(plan, aligned.ranked))
    if query is None and len(queries) != 1:
        raise ValueError(
            f"there are {len(queries):,} queries: {some(queries)}; name one with query=, or choose "
            "averaging='one_list' for the rows of all of them by score"
        )
    if query is not None and query not in queries:
        raise ValueError(f"the truth has no query {query!r}; it has {some(queries)}")
    return view_for(plan, aligned.ranked.only(np.array([0 if query is None else queries.index(query)])))


def roc_points(plan: Plan, lists: Aligned, query: Hashable) -> Curve:
    """The curve of one of the queries, or of the rows of all."""
    aligned = _chosen(plan, lists, query)
    ranking = ranking_of(aligned)
    try:
        apply(plan, ranking)
    except QueryError as error:  # what has no area has no curve
        raise ValueError(error.problem) from None
    good = ranking.credit
    found = ranking.higher(good), ranking.higher(good) + ranking.level(good)  # above each item, and with its ties
    catalogue = plan.arguments["catalogue"]
    relevant = float(ranking.relevant[0])
    if plan.arguments["pairs"] == "list" or ranking.listed:  # where only the list is known
        above = ranking.items_above, ranking.items_above + ranking.items_level
        shown = tuple(items - hits for items, hits in zip(above, found, strict=True))
        relevant = relevant if catalogue is not None else float(ranking.hits()[0])
        others = float((aligned.retrieved[0] if catalogue is None else catalogue) - relevant)
    else:
        bad = ranking.judged_bad
        shown = ranking.higher(bad), ranking.higher(bad) + ranking.level(bad)
        others = float(ranking.nonrelevant[0])
    if relevant <= 0 or others <= 0:
        lacks = "relevant" if relevant <= 0 else "judged not relevant (pairs='list' counts all others of the list)"
        raise ValueError(f"there is no curve: no item is {lacks}")
    fpr, tpr = ([0.0, *np.concatenate(counts) / total, 1.0] for counts, total in ((shown, others), (found, relevant)))
    points = np.unique(np.column_stack([fpr, tpr]), axis=0)  # both rise together, so their order is one order
    return Curve(points[:, 0], points[:, 1])
