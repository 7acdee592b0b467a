"""`evaluate`: a truth, a run and some metrics in; a `Result` out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.conventions import CHOICES, Convention, check_choices, decide
from rankstone.conventions import convention as find_convention
from rankstone.inputs import Aligned, Source, open_source
from rankstone.metrics.registry import Metric, on_declare, parse
from rankstone.ranked import Bools, Floats, NoExpectedValue, Ranked, Ratio, Relevance

if TYPE_CHECKING:
    from rankstone.result import Outcome, Result

DEFAULT_METRICS = ("ndcg@10", "ap", "rr", "precision@10", "recall@10")

# Orders that the core can count with; the others are derived from how many items share a score.
_COUNTED = ("item_desc", "item_asc", "input", "reverse_input")


@dataclass(frozen=True)
class Plan:
    """One metric with every choice made."""

    metric: Metric
    label: str
    arguments: Mapping[str, Any]
    relevance: Relevance
    choices: Mapping[str, Any]
    align: tuple[tuple[str, Any], ...]  # options of the alignment it reads
    zeros: bool  # must items judged 0 be kept


def evaluate(
    truth: Any,
    run: Any = None,
    metrics: str | Metric | Iterable[str | Metric] = DEFAULT_METRICS,
    *,
    convention: str | Convention = "rankstone",
    weights: Any = None,
    columns: Mapping[str, Any] | None = None,
    mask: Any = None,
    lengths: Any = None,
    groups: Any = None,
    threads: int = 0,
    **choices: Any,
) -> Result:
    """Measure a run against a truth.

    truth, run: `{query: {item: grade}}` and `{query: {item: score}}` (or lists of items, the run's best first), tables
    with a query and an item column (or a column of lists), files, `rs.columns(...)`, `rs.lists(...)`, SciPy sparse
    matrices, or two matrices, labels and scores, with a `mask` or `lengths`. A large file is read in batches. One table
    with a label and a score in each row is both sides; it has a query column, or `groups`: the number of rows of each
    query. `columns` names a table's columns: `{"query": "user_id", "item": "movie"}`, or
    `{"truth": {...}, "run": {...}}`.

    metrics: `"ndcg@10"`, `"recall@{5,10}"`, `rs.ndcg @ 10`, or several. convention: whose definitions to follow.
    weights: one a query, a dict or an array in the truth's order. threads: how many cores to use, 0 for all. Any choice
    can be made by name: `threshold=2`, `gain="exp2"`, `ap_divisor="k"`, `ties="expected"`, `missing="skip"`,
    `averaging="micro"`; see `rs.CHOICES`.

    >>> result = rs.evaluate({"u1": {"i1": 1, "i2": 1, "i4": 1}}, {"u1": {"i1": 10.0, "i3": 8.0, "i2": 6.0}}, "ap")
    >>> result["ap"]
    0.5555555555555555
    """
    if weights is not None and choices.setdefault("averaging", "weighted") != "weighted":
        raise ValueError(f"weights= go with averaging='weighted', not with {choices['averaging']!r}")
    if isinstance(run, (str, PathLike)) and _is_large(run):
        from rankstone.stream import evaluate_file

        return evaluate_file(
            truth, run, metrics, convention=convention, weights=weights, columns=columns, threads=threads, **choices
        )
    source = open_source(truth, run, mask=mask, lengths=lengths, groups=groups, columns=columns)
    return evaluate_source(source, metrics, convention, weights, threads, choices)


def _is_large(run: Any) -> bool:
    """Is the file better read batch by batch."""
    from rankstone.inputs.batches import is_large

    return is_large(run)


def evaluate_source(
    source: Source,
    metrics: Any,
    convention: str | Convention,
    weights: Any,
    threads: int,
    choices: dict[str, Any],
) -> Result:
    from rankstone.result import Result

    plans = plan(metrics, convention, choices)
    if len({one.choices["extra"] == "zero" for one in plans}) > 1:
        raise ValueError("extra='zero' adds queries, so it must hold for all metrics or for none")
    zeros: dict[Any, bool] = {}
    for one in plans:
        zeros[one.align] = zeros.get(one.align, False) or one.zeros
    aligned = {align: source.align(**dict(align), zeros=zeros[align], threads=threads) for align in zeros}
    weighing = None if weights is None else _weights(weights, aligned[plans[0].align])
    outcomes = {}
    for one in plans:
        _refuse(one, aligned[one.align])
        try:
            outcomes[one.label] = outcome(one, aligned[one.align].ranked, weighing)
        except NothingToEarn as error:
            query = aligned[one.align].queries[error.query]
            raise ValueError(f"{one.label}: nothing could be earned in query {query!r} (no relevant item)") from None
    return Result(outcomes, aligned, find_convention(convention), choices, weighing)


class NothingToEarn(ValueError):  # noqa: N818  it says what is the matter
    """Nothing could be earned in a query, and the choices call that an error."""

    def __init__(self, query: int) -> None:
        self.query = query


def _refuse(one: Plan, aligned: Aligned) -> None:
    """Stop where the convention calls a missing or an extra query an error."""
    if one.choices["missing"] == "error" and not aligned.ranked.present.all():
        missing = [aligned.queries[int(at)] for at in np.flatnonzero(~aligned.ranked.present)]
        raise ValueError(f"the run lacks {len(missing)} judged queries: {_some(missing)}")
    if one.choices["extra"] == "error" and aligned.extra_count:
        raise ValueError(f"the truth lacks {aligned.extra_count} queries of the run: {_some(aligned.extra)}")


def _some(queries: Any) -> str:
    return ", ".join(repr(query) for query in list(queries)[:5]) + (" ..." if len(queries) > 5 else "")


def plan(metrics: Any, convention: str | Convention, choices: Mapping[str, Any]) -> tuple[Plan, ...]:
    """Make every choice for every metric."""
    asked = (metrics,) if isinstance(metrics, (str, Metric)) or not isinstance(metrics, Iterable) else tuple(metrics)
    try:
        return _plan(asked, convention, tuple(sorted(choices.items())))
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
        return _plan.__wrapped__(asked, convention, tuple(sorted(choices.items())))


@lru_cache(maxsize=512)
def _plan(asked: tuple[Any, ...], name: str | Convention, choices: tuple[tuple[str, Any], ...]) -> tuple[Plan, ...]:
    named = find_convention(name)
    over = check_choices(dict(choices))
    found: dict[Metric, None] = {}
    for one in asked:
        if isinstance(one, Metric):
            found[one] = None
        elif isinstance(one, str):
            found.update(dict.fromkeys(parse(one)))
        else:
            raise TypeError(f"a metric is a name such as 'ndcg@10' or a value such as rs.ndcg @ 10, not {one!r}")
    if not found:
        raise ValueError("no metric was asked for")
    return tuple(_decided(metric, over, named) for metric in found)


on_declare.append(_plan.cache_clear)


def _decided(metric: Metric, over: Mapping[str, Any], named: Convention) -> Plan:
    row, given = metric.row, dict(metric.params)
    choices = {name: decide(row, name, given, over, named) for name in CHOICES}
    arguments = {name: decide(row, name, given, over, named) for name in row.defaults}
    if row.takes_k:
        arguments["k"] = metric.k
    return planned(metric, arguments, choices)


def planned(metric: Metric, arguments: Mapping[str, Any], choices: Mapping[str, Any]) -> Plan:
    """What follows from the choices for the alignment, or an error if they do not go together."""
    row, ties = metric.row, choices["ties"]
    if ties == "expected" and not row.expected:
        raise NoExpectedValue(
            f"{metric} has no closed form over all orders of tied items; choose ties= another of "
            f"{', '.join(one for one in CHOICES['ties'].allowed if one != 'expected')}"
        )
    if choices["averaging"] == "pooled" and row.kind != "ratings":
        raise ValueError(f"{metric} ranks the items of a query; averaging='pooled' is for errors of predicted ratings")
    relevance = Relevance.of(choices["threshold"], choices["credit"], choices["truth_depth"])
    every_row = relevance.threshold < 0 or (relevance.threshold == 0 and not relevance.strict)
    zeros = row.zeros(arguments) or every_row or choices["both_empty"] is not None
    align = (
        ("order", ties if ties in _COUNTED else "input"),
        ("float32", choices["score_precision"] == "float32"),
        ("duplicates", choices["duplicates"]),
        ("truth_duplicates", choices["truth_duplicates"]),
        ("extra_queries", choices["extra"] == "zero"),
    )
    return Plan(metric, str(metric), arguments, relevance, choices, align, zeros)


def outcome(one: Plan, aligned: Ranked, weights: Floats | None, ties: str | None = None) -> Outcome:
    """One metric's values and mean."""
    ranked, ratio = earned(one, aligned, ties)
    return settled(one, ranked, ratio, weights)


def settled(one: Plan, ranked: Ranked, ratio: Ratio, weights: Floats | None) -> Outcome:
    """Values and mean of what was earned, by the choices that come after the metric."""
    from rankstone.result import Outcome

    values, counted = _values(one, ranked, ratio, _counted(one, ranked))
    return Outcome(one, ratio, values, counted, mean_of(one, ranked, ratio, values, counted, weights))


def scored(one: Plan, aligned: Ranked, ties: str | None = None) -> tuple[Ranked, Ratio, Floats, Bools | None]:
    """What each query earned: the ranking as the metric sees it, the ratio, its value, and who counts (None: all)."""
    ranked, ratio = earned(one, aligned, ties)
    return ranked, ratio, *_values(one, ranked, ratio, _counted(one, ranked))


def earned(one: Plan, aligned: Ranked, ties: str | None = None) -> tuple[Ranked, Ratio]:
    """The ranking as the metric sees it, and what each query earned over what it could have earned."""
    ties = ties or one.choices["ties"]
    ranked = aligned.judged_by(one.relevance)  # first, as it says which tied items are the better ones
    ranked = ranked if ties in _COUNTED else ranked.with_ties(ties)
    return ranked, ratio_of(one, ranked)


def ratio_of(one: Plan, ranked: Ranked) -> Ratio:
    """What each query of a ranking, as the metric sees it, earned over what it could have earned."""
    ratio = _apply(one, ranked)
    k = one.arguments.get("k")
    if k is not None and one.choices["short_list"] == "zero":
        ratio = ratio._replace(numerator=np.where(ranked.retrieved < k, 0.0, ratio.numerator))
    return ratio


def _apply(one: Plan, ranked: Ranked) -> Ratio:
    try:
        return one.metric.row.function(ranked, **one.arguments)
    except NoExpectedValue as error:
        raise NoExpectedValue(f"{one.metric} {error}; choose another order for ties=") from None


def _counted(one: Plan, ranked: Ranked) -> Bools | None:
    """Which queries enter the mean; None for all."""
    if one.choices["missing"] == "skip" and not ranked.present.all():
        return ranked.present.copy()
    return None


def _values(one: Plan, ranked: Ranked, ratio: Ratio, counted: Bools | None) -> tuple[Floats, Bools | None]:
    earned, possible = ratio.numerator, ratio.denominator
    undefined = one.choices["undefined"]
    defined = possible != 0
    if defined.all():
        values = earned / possible
    else:
        values = np.divide(earned, possible, out=np.full(len(earned), np.nan), where=defined)
    if ratio.finish is not None:
        values = ratio.finish(values)
    k = one.arguments.get("k")
    if k is not None and one.choices["short_list"] == "zero":
        values = np.where(ranked.retrieved < k, 0.0, values)
        defined = defined | (ranked.retrieved < k)
    if not defined.all():
        empty = one.choices["both_empty"]
        if empty is not None:
            both = ~defined & (ranked.retrieved == 0) & (ranked.judged == 0)
            values[both] = empty
            defined = defined | both
        if isinstance(undefined, (int, float)):
            values[~defined] = undefined
        elif undefined == "skip":
            counted = defined if counted is None else counted & defined
        elif undefined == "error" and one.choices["averaging"] not in ("micro", "pooled"):
            wrong = ~defined if counted is None else ~defined & counted
            if wrong.any():
                raise NothingToEarn(int(np.argmax(wrong)))
    if counted is not None:
        values = np.where(counted, values, np.nan)
    return values, counted


def mean_of(
    one: Plan, ranked: Ranked, ratio: Ratio, values: Floats, counted: Bools | None, weights: Floats | None
) -> float:
    """The mean of the queries' values, of the kind that was chosen."""
    averaging, digits = one.choices["averaging"], one.choices["digits"]
    chosen = values if counted is None else values[counted]
    if averaging == "pooled":
        whole = ranked.pooled()
        pooled = _apply(one, whole)
        mean = _divided(one, float(pooled.numerator[0]), float(pooled.denominator[0]), pooled)
    elif len(chosen) == 0:
        mean = _nothing(one)
    elif averaging == "micro":
        keep = slice(None) if counted is None else counted
        mean = _divided(one, float(ratio.numerator[keep].sum()), float(ratio.denominator[keep].sum()), ratio)
    elif averaging == "weighted":
        if weights is None:
            raise ValueError("averaging='weighted' needs weights=, one a query")
        shares = weights if counted is None else weights[counted]
        total = float(shares.sum())
        mean = float((shares * chosen).sum() / total) if total else _nothing(one)
    elif averaging == "geometric":
        mean = float(np.exp(np.log(np.maximum(chosen, 1e-5)).mean()))
    else:
        mean = float(np.add.reduce(chosen)) / (1 if averaging == "sum" else len(chosen))
    return mean if digits is None else round(mean, digits)


def _divided(one: Plan, earned: float, possible: float, ratio: Ratio) -> float:
    """One division for all queries together."""
    if possible == 0:
        undefined = one.choices["undefined"]
        if undefined == "error":
            raise ValueError(f"{one.metric}: nothing could be earned in any query")
        return float("nan") if isinstance(undefined, str) else float(undefined)
    value = earned / possible
    return float(value if ratio.finish is None else ratio.finish(value))


def _nothing(one: Plan) -> float:
    if one.choices["no_queries"] == "error":
        raise ValueError(f"{one.metric}: there is no query to average over")
    return float(one.choices["no_queries"])


def _weights(weights: Any, aligned: Aligned) -> Floats:
    queries = aligned.queries
    if isinstance(weights, Mapping):
        missing = [query for query in queries if query not in weights]
        if missing:
            raise ValueError(f"weights has no entry for query {missing[0]!r}")
        out = np.array([weights[query] for query in queries], dtype=np.float64)
    else:
        out = np.asarray(weights, dtype=np.float64)
        if out.shape != (len(aligned.ranked),):
            raise ValueError(f"weights has shape {out.shape}; there are {len(aligned.ranked)} queries")
    if not np.isfinite(out).all() or (out < 0).any():
        at = int(np.argmax(~np.isfinite(out) | (out < 0)))
        raise ValueError(f"weight {out[at]} of query {queries[at]!r} is not a number from 0")
    return out
