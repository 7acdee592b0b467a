"""`evaluate`: a truth, a run and some metrics in; a `Result` out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankstone.conventions import CHOICES, Convention, check_choices, decide
from rankstone.conventions import convention as find_convention
from rankstone.inputs import Aligned, Source, open_source
from rankstone.metrics.registry import Metric, on_declare, parse
from rankstone.metrics.sets import harmonic
from rankstone.ranked import SHARED, Bools, Floats, NoExpectedValue, Ranked, Ratio, Relevance

if TYPE_CHECKING:
    from rankstone.result import Outcome, Result

DEFAULT_METRICS = ("ndcg@10", "ap", "rr", "precision@10", "recall@10")

# Orders that the core can count with; the others are derived from how many items share a score.
_COUNTED = ("item_desc", "item_asc", "input", "reverse_input")
_BY_ITEM = ("item_desc", "item_asc", "reverse_input")  # those that need to know more than each query's own order
_AVERAGED = ("expected", *SHARED)  # those that only some metrics can be computed for
_TWO_SIDED = ("auc", "bpref", "infap", "fallout")  # for which an item is relevant or not, and nothing between


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
    matrices, or two matrices, labels and scores, with a `mask` or `lengths`. A large file is read in batches; a text
    that begins with `select`, `with` or `from` is a query for DuckDB. One table
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
    if isinstance(truth, str) or isinstance(run, str):
        from rankstone.inputs.tables import queried

        truth, run = queried(truth), queried(run)
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
    aligned = _aligned(source, alignments(plans), threads)
    weighing = None if weights is None else weights_of(weights, aligned[plans[0].align])
    outcomes = {}
    for one in plans:
        refuse(one, aligned[one.align])
        try:
            outcomes[one.label] = outcome(one, aligned[one.align].ranked, weighing)
        except NothingToEarn as error:
            query = aligned[one.align].queries[error.query]
            raise ValueError(f"{one.label}: nothing could be earned in query {query!r} (no relevant item)") from None
    return Result(outcomes, aligned, find_convention(convention), choices, weighing)


def alignments(plans: Iterable[Plan]) -> dict[Any, bool]:
    """The alignments that plans read, each once, and whether items judged 0 must be kept in it."""
    plans = tuple(plans)
    if len({one.choices["extra"] == "zero" for one in plans}) > 1:
        raise ValueError("extra='zero' adds queries, so it must hold for all metrics or for none")
    zeros: dict[Any, bool] = {}
    for one in plans:
        zeros[one.align] = zeros.get(one.align, False) or one.zeros
    return zeros


def _aligned(source: Source, zeros: Mapping[Any, bool], threads: int) -> dict[Any, Aligned]:
    """Each alignment once. Rules for what is there twice make no difference where nothing is."""
    twice = {"duplicates": "error", "truth_duplicates": "error"}
    alike: dict[Any, list[Any]] = {}
    for align in zeros:
        alike.setdefault(tuple({**dict(align), **twice}.items()), []).append(align)
    out: dict[Any, Aligned] = {}
    for strict, ways in alike.items():
        if len(ways) > 1 and _at_once(source):
            try:
                shared = source.align(**dict(strict), zeros=any(zeros[one] for one in ways), threads=threads)
                out.update(dict.fromkeys(ways, shared))
                continue
            except ValueError:  # something is there twice, or wrong in a way that is said below
                pass
        out.update({one: source.align(**dict(one), zeros=zeros[one], threads=threads) for one in ways})
    return {align: out[align] for align in zeros}


def _at_once(source: Source) -> bool:
    """Are all rows at hand, so that they can be aligned by any rules."""
    from rankstone.inputs.columns import ColumnPair
    from rankstone.inputs.dicts import Dicts
    from rankstone.inputs.lists import ListPair

    return isinstance(source, (Dicts, ColumnPair, ListPair))


class NothingToEarn(ValueError):  # noqa: N818  it says what is the matter
    """Nothing could be earned in a query, and the choices call that an error."""

    def __init__(self, query: int) -> None:
        self.query = query


def refuse(one: Plan, aligned: Aligned) -> None:
    """Stop where the convention calls a missing, an empty or an extra query an error."""
    ranked = aligned.ranked
    if one.choices["missing"] == "error" and not ranked.present.all():
        missing = [aligned.queries[int(at)] for at in np.flatnonzero(~ranked.present)]
        hint = "missing='zero' counts them as empty lists, missing='skip' leaves them out"
        raise ValueError(f"the run lacks {len(missing)} judged queries: {some(missing)}; {hint}")
    if one.choices["empty_list"] == "error" and (ranked.present & (ranked.retrieved == 0)).any():
        empty = [aligned.queries[int(at)] for at in np.flatnonzero(ranked.present & (ranked.retrieved == 0))]
        raise ValueError(f"the run has an empty list for {len(empty)} queries: {some(empty)}")
    if one.choices["extra"] == "error" and aligned.extra_count:
        raise ValueError(f"the truth lacks {aligned.extra_count} queries of the run: {some(aligned.extra)}")


def some(queries: Any) -> str:
    """The first few, for an error."""
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
    choices = {name: decide(row, name, given, over, named, metric.k) for name in CHOICES}
    arguments = {name: decide(row, name, given, over, named, metric.k) for name in row.defaults}
    return planned(metric, arguments, choices)


def planned(metric: Metric, arguments: Mapping[str, Any], choices: Mapping[str, Any]) -> Plan:
    """What follows from the choices for the alignment, or an error if they do not go together."""
    row, ties = metric.row, choices["ties"]
    if row.takes_k:
        arguments = {**arguments, "k": choices["default_k"] if metric.k is None else metric.k}
    if ties in _AVERAGED and not row.expected:
        raise NoExpectedValue(
            f"{metric} has no closed form over all orders of tied items; choose ties= another of "
            f"{', '.join(one for one in CHOICES['ties'].allowed if one not in _AVERAGED)}"
        )
    if choices["averaging"] == "pooled" and row.kind not in ("ratings", "agreement") and ties in _BY_ITEM:
        raise ValueError(f"{metric}: with averaging='pooled', items of all queries cannot be ordered by ties={ties!r}")
    for choice, value in (("credit", "clamp"), ("nonpositive_score", "miss")):
        if choices[choice] == value and row.name in _TWO_SIDED:
            raise ValueError(
                f"{metric} asks which items are relevant and which are not: {choice}={value!r} says neither"
            )
    if choices["averaging"] == "parts" and row.name not in ("f", "f1"):
        raise ValueError(f"{metric} has no parts; averaging='parts' is for f1 of mean precision and mean recall")
    relevance = Relevance.of(choices["threshold"], choices["credit"], choices["truth_depth"])
    every_row = relevance.threshold < 0 or (relevance.threshold == 0 and not relevance.strict)
    if choices["pool"] == "list" and every_row and row.kind in ("ranking", "count"):
        raise ValueError(f"{metric}: pool='list' gives unjudged items grade 0, so the threshold must be above 0")
    if choices["pool"] == "list" and choices["truth_depth"] == "k" and row.kind in ("ranking", "count"):
        raise ValueError(f"{metric}: truth_depth='k' goes by the order of the truth, of which pool='list' leaves none")
    needed = choices["both_empty"] is not None or choices["empty_truth"] != "count" or choices["averaging"] == "pooled"
    zeros = row.zeros(arguments) or every_row or needed
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
    sums = sums_of(one, ranked, ratio, values, counted, weights)
    return Outcome(one, ratio, values, counted, mean_from(one, sums, ratio.finish))


def scored(one: Plan, aligned: Ranked, ties: str | None = None) -> tuple[Ranked, Ratio, Floats, Bools | None]:
    """One metric's values, the ranking and the ratios they come from, and which of them count (None: all)."""
    ranked, ratio = earned(one, aligned, ties)
    return ranked, ratio, *_values(one, ranked, ratio, _counted(one, ranked))


def earned(one: Plan, aligned: Ranked, ties: str | None = None) -> tuple[Ranked, Ratio]:
    """The ranking as the metric sees it, and what each query earned over what it could have earned."""
    ranked = seen(one, aligned, ties)
    return ranked, ratio_of(one, ranked)


def seen(one: Plan, aligned: Ranked, ties: str | None = None) -> Ranked:
    """The ranking as the metric sees it."""
    ties = ties or one.choices["ties"]
    ranked = aligned.judged_by(one.relevance)  # first, as it says which tied items are the better ones
    if one.choices["pool"] == "list" and one.metric.row.kind in ("ranking", "count"):
        ranked = ranked.within_the_list()
    if one.choices["nonpositive_score"] == "miss":
        ranked = ranked.above_zero()
    return ranked if ties in _COUNTED else ranked.with_ties(ties)


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
    counted = None
    if one.choices["missing"] == "skip" and not ranked.present.all():
        counted = ranked.present.copy()
    for choice, sizes in (("empty_list", ranked.retrieved), ("empty_truth", ranked.judged)):
        if one.choices[choice] == "skip" and not sizes.all():
            counted = sizes > 0 if counted is None else counted & (sizes > 0)
    return counted


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
    empty = one.choices["both_empty"]
    both = None if empty is None else (ranked.retrieved == 0) & (ranked.judged == 0)
    if not defined.all():
        if both is not None:
            values[~defined & both] = float(empty)
            defined = defined | both
        if isinstance(undefined, (int, float)):
            values[~defined] = undefined
        elif undefined == "skip":
            counted = defined if counted is None else counted & defined
        elif undefined == "error" and one.choices["averaging"] not in ("micro", "pooled"):
            _stop_at(~defined, counted)
    if one.choices["no_relevant"] is not None:
        none = ranked.relevant == 0
        none = none if both is None else none & ~both
        values, counted = _without_relevant(one.choices["no_relevant"], none, values, counted)
    if one.choices["query_digits"] is not None:
        values = np.round(values, one.choices["query_digits"])
    if counted is not None:
        values = np.where(counted, values, np.nan)
    return values, counted


def _without_relevant(choice: Any, none: Bools, values: Floats, counted: Bools | None) -> tuple[Floats, Bools | None]:
    """What queries without a relevant item get, whatever the formula says."""
    if choice == "skip":
        return values, ~none if counted is None else ~none & counted
    if choice == "error":
        _stop_at(none, counted)
        return values, counted
    return np.where(none, float(choice), values), counted


def _stop_at(wrong: Bools, counted: Bools | None) -> None:
    wrong = wrong if counted is None else wrong & counted
    if wrong.any():
        raise NothingToEarn(int(np.argmax(wrong)))


def mean_of(
    one: Plan, ranked: Ranked, ratio: Ratio, values: Floats, counted: Bools | None, weights: Floats | None
) -> float:
    """The mean of the queries' values, of the kind that was chosen."""
    return mean_from(one, sums_of(one, ranked, ratio, values, counted, weights), ratio.finish)


def _as_one_list(one: Plan, ranked: Ranked) -> Ranked:
    """The rows of all queries by score."""
    unjudged = ranked.retrieved - np.diff(ranked.hit_offsets)
    if one.metric.row.kind in ("ranking", "count") and unjudged.any():
        raise ValueError(
            f"{one.metric}: averaging='pooled' needs a grade for every row; {unjudged.sum()} rows of the run have none"
        )
    whole, ties = ranked.pooled(), one.choices["ties"]
    return whole if ties in _COUNTED else whole.with_ties(ties)


class Sums(NamedTuple):
    """What a mean is made of. The sums of several shares of the queries add up."""

    top: float
    bottom: float
    queries: int


def _total(values: Floats) -> float:
    return float(np.add.reduce(values))


def sums_of(
    one: Plan,
    ranked: Ranked,
    ratio: Ratio,
    values: Floats,
    counted: Bools | None,
    weights: Floats | None,
    add: Callable[[Floats], Any] = _total,
) -> Sums:
    """The sums for the kind of mean that was chosen, each made by `add`."""
    averaging = one.choices["averaging"]
    chosen = values if counted is None else values[counted]
    if one.choices["nan_in_mean"] == "zero":
        chosen = np.nan_to_num(chosen, nan=0.0)
    queries = len(chosen)
    if averaging == "pooled":
        pooled = _apply(one, _as_one_list(one, ranked))
        return Sums(float(pooled.numerator[0]), float(pooled.denominator[0]), queries)
    if averaging == "micro":
        keep = slice(None) if counted is None else counted
        return Sums(add(ratio.numerator[keep]), add(ratio.denominator[keep]), queries)
    if averaging == "weighted":
        if weights is None:
            raise ValueError("averaging='weighted' needs weights=, one a query")
        shares = weights if counted is None else weights[counted]
        return Sums(add(shares * chosen), add(shares), queries)
    if averaging == "parts" and ratio.parts is not None:  # of precision and of recall
        top, bottom = (_values(one, ranked, part, counted)[0] for part in ratio.parts)
        keep = slice(None) if counted is None else counted
        return Sums(add(top[keep]), add(bottom[keep]), queries)
    if averaging == "geometric":
        return Sums(add(np.log(np.maximum(chosen, 1e-5))), queries, queries)
    return Sums(add(chosen), queries, queries)


def mean_from(one: Plan, sums: Sums, finish: Callable[[Any], Any] | None) -> float:
    """The mean that the sums make."""
    averaging, digits = one.choices["averaging"], one.choices["digits"]
    if averaging == "pooled" or (averaging == "micro" and sums.queries):
        mean = _divided(one, sums.top, sums.bottom, finish)
    elif averaging == "parts" and sums.queries:
        mean = _divided(one, *harmonic(sums.top / sums.queries, sums.bottom / sums.queries, one.arguments), finish)
    elif sums.bottom == 0:
        mean = _nothing(one)
    elif averaging == "geometric":
        mean = float(np.exp(sums.top / sums.bottom))
    else:
        mean = sums.top if averaging == "sum" else sums.top / sums.bottom
    return mean if digits is None else round(mean, digits)


def _divided(one: Plan, earned: float, possible: float, finish: Callable[[Any], Any] | None) -> float:
    """One division for all queries together."""
    if possible == 0:
        undefined = one.choices["undefined"]
        if undefined == "error":
            raise ValueError(f"{one.metric}: nothing could be earned in any query")
        return float("nan") if isinstance(undefined, str) else float(undefined)
    value = earned / possible
    return float(value if finish is None else finish(value))


def _nothing(one: Plan) -> float:
    if one.choices["no_queries"] == "error":
        raise ValueError(f"{one.metric}: there is no query to average over")
    return float(one.choices["no_queries"])


def weights_of(weights: Any, aligned: Aligned) -> Floats:
    """Weights in the order of the queries, checked."""
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
