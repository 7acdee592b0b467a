"""`evaluate`: from a truth, a run and metrics to a `Result`."""

from __future__ import annotations

import sys
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any

from rankstone.conventions.convention import Convention
from rankstone.conventions.plan import DEFAULT_METRICS, make_plans
from rankstone.data.arrow import is_spark
from rankstone.errors import Advice, Hint, InputError, InputTypeError
from rankstone.evaluate.fastpath import compiled_for
from rankstone.evaluate.measurement import evaluate_source
from rankstone.evaluate.pipeline import open_source, resolve_side_info
from rankstone.metrics.registry import Value, as_tuple
from rankstone.results.reproduction import command_line
from rankstone.results.result import Result

if TYPE_CHECKING:
    from rankstone.typing import (
        Array,
        CatalogueLike,
        Column,
        ColumnRoles,
        Metrics,
        Numbers,
        Parent,
        Path,
        Run,
        Truth,
        Weights,
    )


def evaluate(
    truth: Truth | None = None,
    run: Run | None = None,
    metrics: Metrics = DEFAULT_METRICS,
    *,
    convention: str | Convention = "rankstone",
    weights: Weights | None = None,
    columns: ColumnRoles | None = None,
    mask: Array | None = None,
    lengths: Numbers | None = None,
    groups: Numbers | None = None,
    query: Column | None = None,
    queries: Column | Path | None = None,
    exclude: Truth | None = None,
    exclude_from_truth: bool = False,
    catalogue: CatalogueLike | int | None = None,
    history: Truth | None = None,
    reference: Run | None = None,
    parent: Parent | None = None,
    overlap: float | None = None,
    bounds: bool = False,
    machine: Truth | None = None,
    drawn_at_random: bool = False,
    threads: int = 0,
    **choices: Value,
) -> Result:
    """Evaluate a run against a truth.

    Parameters
    ----------
    truth : dict, table, path, matrix or None, optional
        The judged items of each query: `{query: {item: grade}}`, `{query: [item, ...]}`, a table with a query and an
        item column (or a column of lists), a file, `rs.columns(...)`, `rs.lists(...)`, a SciPy sparse matrix, a matrix
        or a flat array of labels. One table with a label and a score per row is truth and run. A string that begins
        with `select`, `with` or `from` is a query for DuckDB. Beyond-accuracy metrics need no truth.
    run : dict, table, path or matrix, optional
        The returned items of each query: `{query: {item: score}}`, `{query: [item, ...]}`, best first, or any other
        form of a truth, with scores or ranks. A large file is read in batches.
    metrics : str, Metric or list of these, optional
        `"ndcg@10"`, `"recall@{5,10}"`, `rs.ndcg @ 10`, or several. Parameters are set on the metric:
        `"ndcg(gain='exp2')@10"`.
    convention : str or Convention, default "rankstone"
        Whose definitions to follow, such as "trec_eval".
    weights : dict or array, optional
        One weight per query, by query id or in the order of the truth; implies averaging="weighted".
    columns : dict, optional
        Columns of a table by role: `{"query": "user_id", "item": "movie"}`, or `{"truth": {...}, "run": {...}}`; None
        for a role that no column has.
    mask : array of bool, optional
        Which cells of two matrices are items.
    lengths : array of int, optional
        Number of items in each row of two matrices.
    groups : array of int, optional
        Number of rows per query, for flat arrays or a table without a query column.
    query : array, optional
        The query of each row of flat arrays.
    queries : ids or path, optional
        Evaluate these queries only: their ids, or a file with one id per line.
    exclude : truth-like or "self", optional
        Items, such as those of the training data, that are removed from the lists before ranking; "self" is the item
        with the query's id.
    exclude_from_truth : bool, default False
        Remove the excluded items from the truth, too (residual collection); otherwise relevant ones still count as
        relevant.
    catalogue : ids, table, catalogue or int, optional
        All items, a table of them, `rs.catalogue(...)`, or their number, for metrics that need them (coverage).
    history : truth-like, optional
        Earlier interactions of each query, for metrics that need them.
    reference : run-like, optional
        Other lists of the same queries, for metrics that need them.
    parent : dict, table, path, str or callable, optional
        The document of each passage: `{passage: document}`, a table or file with these two columns, a separator
        (`"#"`: `doc7#3` belongs to `doc7`) or a function. A document counts once, at the rank of its best passage.
    overlap : float, optional
        Items are spans, tuples (document, start, end) or tables with these columns; a returned span matches a
        relevant one if it covers at least this share of it.
    bounds : bool, default False
        Also compute the lowest and highest mean over all grades of the unjudged items, `result.bounds`.
    machine : truth-like, optional
        A machine's labels of all queries, where the truth has human labels of a random part of them: the means are
        estimated from both (prediction-powered inference), with `result.estimates`.
    drawn_at_random : bool, default False
        For `machine`: vouch that the queries of the truth are a random part, where the data speaks against it.
    threads : int, default 0
        Number of cores to use, 0 for all.
    **choices
        Choices by name, such as `threshold=2`, `ties="expected"`, `missing="skip"`, `averaging="micro"`; see
        `rs.choices`.

    Returns
    -------
    Result
        Means by metric, with values per query, definitions and counts.

    Raises
    ------
    DataError
        If the data is not valid, or truth and run have no query in common.
    ValueError, TypeError
        If metrics, choices and data do not match.

    Examples
    --------
    >>> result = rs.evaluate({"u1": {"i1": 1, "i2": 1, "i4": 1}}, {"u1": {"i1": 10.0, "i3": 8.0, "i2": 6.0}}, "ap")
    >>> result["ap"]
    0.5555555555555555
    """
    if truth is None and run is None:
        raise InputTypeError("give a truth and a run; for beyond-accuracy metrics a run only: evaluate(run=run, ...)")
    if machine is not None:
        from rankstone.evaluate.assisted import assist  # a fast import: most evaluations have one kind of labels

        if weights is not None or bounds:
            raise InputError(
                Advice(Hint("bounds" if bounds else "weights"), " does not go with ", Hint("machine", ...))
            )
        human, other = (
            evaluate(
                labels, run, metrics, convention=convention, columns=columns, mask=mask, lengths=lengths, groups=groups,
                query=query, queries=queries, exclude=exclude, exclude_from_truth=exclude_from_truth,
                catalogue=catalogue, history=history, reference=reference, parent=parent, overlap=overlap,
                threads=threads, **choices,
            )
            for labels in (truth, machine)
        )  # fmt: skip
        return assist(human, other, drawn_at_random)
    plain = columns is None and mask is None and lengths is None and groups is None and query is None
    alone = catalogue is None and history is None and reference is None and parent is None and overlap is None
    entire = weights is exclude is queries is None and not (exclude_from_truth or bounds)
    entire = entire and type(threads) is int and threads >= 0
    if type(truth) is dict and type(run) is dict and plain and alone and entire:
        compiled = compiled_for(metrics, convention, choices)
        result = None if compiled is None else compiled.evaluate(truth, run)
        if result is not None:
            return result
    if weights is not None and choices.setdefault("averaging", "weighted") != "weighted":
        raise InputError(f"weights= needs averaging='weighted', not {choices['averaging']!r}")
    if "pyspark" in sys.modules and (is_spark(truth) or is_spark(run)):
        arrays = {
            "mask": mask, "lengths": lengths, "groups": groups, "query": query, "queries": queries, "exclude": exclude,
            "exclude_from_truth": exclude_from_truth or None, "parent": parent, "overlap": overlap,
            "bounds": bounds or None,
        }  # fmt: skip
        for name in (name for name, value in arrays.items() if value is not None):
            raise InputTypeError(f"{name}= is not supported for Spark tables")
        from rankstone.spark.distributed import evaluate as evaluate_on_spark  # the table stays on the cluster

        tables: Any = {
            "truth": truth, "run": run, "weights": weights, "catalogue": catalogue, "history": history,
            "reference": reference,
        }  # fmt: skip
        return evaluate_on_spark(
            **tables, metrics=metrics, convention=convention, columns=columns, threads=threads or 1, **choices
        )
    metrics = as_tuple(metrics)
    options: dict[str, Any] = {
        "convention": convention, "columns": columns, "queries": queries, "exclude": exclude,
        "exclude_from_truth": exclude_from_truth, "catalogue": catalogue, "history": history, "reference": reference,
        "parent": parent, "overlap": overlap, "bounds": bounds, **choices,
        **{name: ... for name, value in (("weights", weights), ("mask", mask), ("lengths", lengths), ("groups", groups),
                                         ("query", query)) if value is not None},
    }  # fmt: skip
    command = command_line("evaluate", truth, {"run": run}, map(str, metrics), options)
    side_info, choices = resolve_side_info(catalogue, history, reference, metrics, choices)
    make_plans(metrics, convention, choices)  # what is wrong with them is an error before data is read
    if isinstance(run, (str, PathLike)):
        from rankstone.data.files import is_large  # a fast import: most runs are in memory

        same = type(run) is type(truth) and run == truth  # an array has a comparison of its own
        # Options that need all rows at once.
        in_memory = (queries, exclude, exclude_from_truth or None, parent, overlap, bounds or None)
        if all(option is None for option in in_memory) and not same and is_large(run):
            from rankstone.evaluate.stream import evaluate_file

            large = evaluate_file(
                truth, run, metrics, convention=convention, weights=weights, columns=columns, side_info=side_info,
                threads=threads, **choices,
            )  # fmt: skip
            large._command = command
            return large
    source = open_source(
        truth, run, mask=mask, lengths=lengths, groups=groups, query=query, columns=columns, exclude=exclude,
        exclude_from_truth=exclude_from_truth, parent=parent, overlap=overlap, queries=queries,
    )  # fmt: skip
    result = evaluate_source(source, metrics, convention, weights, threads, choices, bounds, side_info)
    result._command = command
    return result


class Evaluator:
    """`rs.evaluate` with its metrics and choices bound, for many calls.

    Saves a few microseconds per call, which matters in a loop over small lists.

    Parameters
    ----------
    metrics : str, Metric or list of these, optional
        Metrics, as in `rs.evaluate`.
    convention : str or Convention, default "rankstone"
        Whose definitions to follow.
    threads : int, default 0
        Number of cores to use, 0 for all.
    **choices
        Choices by name, as in `rs.evaluate`.

    Attributes
    ----------
    metrics : tuple of str
        The names of the metrics.

    Examples
    --------
    >>> evaluator = rs.Evaluator(["ndcg@10", "ap"])
    >>> evaluator({"u1": {"i1": 1, "i2": 1}}, {"u1": {"i1": 10.0, "i3": 8.0, "i2": 6.0}})["ap"]
    0.8333333333333333
    """

    def __init__(
        self,
        metrics: Metrics = DEFAULT_METRICS,
        *,
        convention: str | Convention = "rankstone",
        threads: int = 0,
        **choices: Value,
    ) -> None:
        metrics = as_tuple(metrics)
        self._metrics, self._convention, self._threads, self._choices = metrics, convention, threads, choices
        self.metrics = tuple(plan.label for plan in make_plans(metrics, convention, choices))
        self._compiled = compiled_for(metrics, convention, choices) if type(threads) is int and threads >= 0 else None

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(
            Evaluator, self._metrics, convention=self._convention, threads=self._threads, **self._choices
        ), ()

    def __call__(
        self, truth: Truth, run: Run, *, weights: Weights | None = None, columns: ColumnRoles | None = None
    ) -> Result:
        """Evaluate a run against a truth.

        Parameters
        ----------
        truth, run : any form that `rs.evaluate` takes
            The judged and the returned items of each query.
        weights : dict or array, optional
            One weight per query.
        columns : dict, optional
            Columns of a table by role.

        Returns
        -------
        Result
        """
        if weights is None and columns is None and self._compiled is not None:
            result = self._compiled.evaluate(truth, run)
            if result is not None:
                return result
        return evaluate(
            truth, run, self._metrics, convention=self._convention, weights=weights, columns=columns,
            threads=self._threads, **self._choices,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"Evaluator of {', '.join(self.metrics)}"
