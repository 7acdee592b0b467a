"""`evaluate`: a truth, a run and some metrics in; a `Result` out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

from rankstone.answers.result import Result
from rankstone.conventions.convention import Convention, find_convention
from rankstone.conventions.plan import DEFAULT_METRICS, alignments, make_plans
from rankstone.inputs.open import open_source
from rankstone.inputs.source import Align, Aligned, Source
from rankstone.measure.sums import measure, outcome_of
from rankstone.measure.values import refuse, weights_of
from rankstone.metrics.registry import Metric


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
    `averaging="micro"`; see `rs.choices`.

    >>> result = rs.evaluate({"u1": {"i1": 1, "i2": 1, "i4": 1}}, {"u1": {"i1": 10.0, "i3": 8.0, "i2": 6.0}}, "ap")
    >>> result["ap"]
    0.5555555555555555
    """
    if weights is not None and choices.setdefault("averaging", "weighted") != "weighted":
        raise ValueError(f"weights= go with averaging='weighted', not with {choices['averaging']!r}")
    if isinstance(truth, str) or isinstance(run, str):
        from rankstone.inputs.tables import queried

        truth, run = queried(truth), queried(run)
    if isinstance(run, (str, PathLike)):
        from rankstone.inputs.files import is_large  # a quick start: most runs are in memory

        if is_large(run):
            from rankstone.measure.stream import evaluate_file

            return evaluate_file(
                truth, run, metrics, convention=convention, weights=weights, columns=columns, threads=threads, **choices
            )
    source = open_source(truth, run, mask=mask, lengths=lengths, groups=groups, columns=columns)
    return evaluate_source(source, metrics, convention, weights, threads, choices)


def evaluate_source(
    source: Source,
    metrics: Any,
    convention: str | Convention,
    weights: Any,
    threads: int,
    choices: dict[str, Any],
) -> Result:
    plans = make_plans(metrics, convention, choices)
    aligned = align_all(source, alignments(plans, threads))
    weighing = None if weights is None else weights_of(weights, aligned[plans[0].align])
    outcomes = {}
    for plan in plans:
        found = aligned[plan.align]
        refuse(plan, found)
        with found.naming(plan.label):
            outcomes[plan.label] = outcome_of(plan, measure(plan, found.ranked), weighing)
    return Result(outcomes, aligned, find_convention(convention), choices, weighing)


def align_all(source: Source, wanted: Mapping[Align, Align]) -> dict[Align, Aligned]:
    """Each alignment once. Rules for what is there twice make no difference where nothing is."""
    alike: dict[Align, list[Align]] = {}
    for asked, how in wanted.items():
        alike.setdefault(replace(how, duplicates="error", truth_duplicates="error", zeros=True), []).append(asked)
    out: dict[Align, Aligned] = {}
    for strict, several in alike.items():
        if len(several) > 1 and source.repeatable:
            try:
                keep = any(wanted[asked].zeros for asked in several)
                out.update(dict.fromkeys(several, source.align(replace(strict, zeros=keep))))
                continue
            except ValueError:  # something is there twice, or wrong in a way that is said below
                pass
        out.update({asked: source.align(wanted[asked]) for asked in several})
    return {asked: out[asked] for asked in wanted}
