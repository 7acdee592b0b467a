"""ROC curves."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankstone.align.alignment import Alignment, Floats
from rankstone.conventions.convention import Convention
from rankstone.conventions.plan import Plan, plan_one
from rankstone.data.loaders import load
from rankstone.data.source import Aligned
from rankstone.errors import InputError, QueryError, some
from rankstone.evaluate.checks import check_common_items
from rankstone.evaluate.means import one_list
from rankstone.evaluate.values import apply, view_for
from rankstone.metrics.registry import Value
from rankstone.program.flat import ranking_of

if TYPE_CHECKING:
    from rankstone.typing import Array, ColumnRoles, Numbers, Run, Truth


class Curve(NamedTuple):
    """The points of a ROC curve, from (0, 0) to (1, 1).

    Attributes
    ----------
    false_positive_rate, true_positive_rate : array of float
        Coordinates of the points.
    """

    false_positive_rate: Floats
    true_positive_rate: Floats


def roc_curve(
    truth: Truth,
    run: Run | None = None,
    *,
    query: Hashable = None,
    convention: str | Convention = "rankstone",
    columns: ColumnRoles | None = None,
    mask: Array | None = None,
    lengths: Numbers | None = None,
    groups: Numbers | None = None,
    threads: int = 0,
    **choices: Value,
) -> Curve:
    """ROC curve of one query, or of the rows of all queries with `averaging="one_list"`. The area under it is `auc`.

    Only judged items count. pairs="list" counts unjudged items of the list as non-relevant, and with catalogue= also
    the items that are not returned. Tied items form one straight segment, and so do judged items missing from the run.

    Parameters
    ----------
    truth : truth-like
        The judged items of each query, as in `rs.evaluate`.
    run : run-like, optional
        The returned items of each query, as in `rs.evaluate`.
    query : hashable, optional
        The query; needed if there are several.
    convention : str or Convention, default "rankstone"
        Whose definitions to follow.
    columns, mask, lengths, groups : optional
        As in `rs.evaluate`.
    threads : int, default 0
        Number of cores to use, 0 for all.
    **choices
        Choices by name, such as `threshold=2` or `averaging="one_list"`; see `rs.choices`.

    Returns
    -------
    Curve
        A pair of arrays: false positive rates and true positive rates.

    Raises
    ------
    ValueError
        If there are no relevant or no non-relevant items.

    Examples
    --------
    >>> fpr, tpr = rs.roc_curve({"u1": {"a": 1, "b": 0, "c": 1, "d": 0}}, {"u1": ["a", "b", "c", "d"]})
    >>> fpr.tolist(), tpr.tolist()
    ([0.0, 0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0])
    """
    plan = plan_one("auc", convention, {**choices, "ties": "input"})  # ties are one segment in any order
    source = load(
        truth, run, mask=mask, lengths=lengths, groups=groups, query=None, columns=columns, exclude=None
    )  # fmt: skip
    aligned = source.align(plan.align.with_(True, threads))
    check_common_items(plan, aligned)
    return roc_points(plan, aligned, query)


def _chosen(plan: Plan, aligned: Aligned, query: Hashable) -> Alignment:
    """The list of the curve."""
    queries = list(aligned.queries)
    if plan.averaging.pooled:
        if query is not None:
            raise InputError("give query= or averaging='one_list', not both")
        return view_for(plan, one_list(plan, aligned.ranked))
    if query is None and len(queries) != 1:
        raise InputError(
            f"there are {len(queries):,} queries: {some(queries)}; name one with query=, or choose "
            "averaging='one_list' for the rows of all of them by score"
        )
    if query is not None and query not in queries:
        raise InputError(f"the truth has no query {query!r}; it has {some(queries)}")
    return view_for(plan, aligned.ranked.only(np.array([0 if query is None else queries.index(query)])))


def roc_points(plan: Plan, lists: Aligned, query: Hashable) -> Curve:
    """The curve of one query, or of the rows of all queries."""
    aligned = _chosen(plan, lists, query)
    ranking = ranking_of(aligned)
    try:
        apply(plan, ranking)
    except QueryError as error:  # without an area there is no curve
        raise InputError(error.problem) from None
    good = ranking.credit
    # True and false positives above each item, without and with its ties.
    true = ranking.above_sum(good), ranking.above_sum(good) + ranking.tied_sum(good)
    catalogue = plan.arguments["catalogue"]
    relevant = float(ranking.relevant[0])
    if plan.arguments["pairs"] == "list" or ranking.returned_only:
        above = ranking.items_above, ranking.items_above + ranking.items_tied
        false = tuple(items - hits for items, hits in zip(above, true, strict=True))
        relevant = relevant if catalogue is not None else float(ranking.hits()[0])
        others = float((aligned.retrieved[0] if catalogue is None else catalogue) - relevant)
    else:
        bad = ranking.judged_nonrelevant
        false = ranking.above_sum(bad), ranking.above_sum(bad) + ranking.tied_sum(bad)
        others = float(ranking.nonrelevant[0])
    if relevant <= 0 or others <= 0:
        lacks = (
            "relevant" if relevant <= 0 else "judged non-relevant (pairs='list' counts the unjudged items of the list)"
        )
        raise InputError(f"there is no curve: no item is {lacks}")
    fpr, tpr = ([0.0, *np.concatenate(counts) / total, 1.0] for counts, total in ((false, others), (true, relevant)))
    points = np.unique(np.column_stack([fpr, tpr]), axis=0)  # both increase together
    return Curve(points[:, 0], points[:, 1])
