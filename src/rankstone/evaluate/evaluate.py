"""`evaluate`: a truth, a run and some metrics in; a `Result` out."""

from __future__ import annotations

import sys
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from rankstone.conventions.convention import Convention
from rankstone.conventions.plan import DEFAULT_METRICS, make_plans
from rankstone.data.arrow import is_spark
from rankstone.evaluate.fastpath import kept_for
from rankstone.evaluate.measurement import evaluate_source
from rankstone.evaluate.pipeline import given_beside, open_source
from rankstone.metrics.registry import Metric, Value
from rankstone.results.result import Result

if TYPE_CHECKING:
    from rankstone.typing import Array, Column, Metrics, Numbers, Parent, Roles, Run, Stock, Truth, Weights


def evaluate(
    truth: Truth | None = None,
    run: Run | None = None,
    metrics: Metrics = DEFAULT_METRICS,
    *,
    convention: str | Convention = "rankstone",
    weights: Weights | None = None,
    columns: Roles | None = None,
    mask: Array | None = None,
    lengths: Numbers | None = None,
    groups: Numbers | None = None,
    query: Column | None = None,
    exclude: Truth | None = None,
    catalogue: Stock | int | None = None,
    history: Truth | None = None,
    reference: Run | None = None,
    parent: Parent | None = None,
    overlap: float | None = None,
    unjudged: Literal["bounds"] | None = None,
    threads: int = 0,
    **choices: Value,
) -> Result:
    """Measure a run against a truth.

    truth, run: `{query: {item: grade}}` and `{query: {item: score}}` (or lists of items, the run's best first), tables
    with a query and an item column (or a column of lists), files, `rs.columns(...)`, `rs.lists(...)`, SciPy sparse
    matrices, or two matrices, labels and scores, with a `mask` or `lengths`. A large file is read in batches; a text
    that begins with `select`, `with` or `from` is a query for DuckDB. One table
    with a label and a score in each row is both sides; it has a query column, or `groups`: the number of rows of each
    query. Two flat arrays, labels and scores, go with `groups`, or with `query`: the query of each row. `columns` names
    a table's columns: `{"query": "user_id", "item": "movie"}`, or `{"truth": {...}, "run": {...}}`; None for a role
    that no column plays. exclude: what was seen before, in any shape of a truth; it leaves the lists before ranks are
    counted. parent: of which document each item is a chunk, `{chunk: document}`, a table or a file with these two
    columns, a separator (`"#"`: `doc7#3` is of `doc7`) or a function; a document then counts once, where its best chunk
    stands. overlap: items are spans, tuples (document, start, end) or a table with these columns; a returned one finds
    a true one of which it covers at least this share, once. unjudged: "bounds" for the lowest and the highest mean that
    the returned items nobody judged could make, `result.unjudged`.

    catalogue, history, reference: for metrics of what was shown, such as coverage, which need no truth. catalogue: the
    ids of all items, a table of them, or `rs.catalogue(...)`; history: what each query had before, in any shape of a
    truth; reference: other lists of the same queries.

    metrics: `"ndcg@10"`, `"recall@{5,10}"`, `rs.ndcg @ 10`, or several. convention: whose definitions to follow.
    weights: one a query, a dict or an array in the truth's order. threads: how many cores to use, 0 for all. Any choice
    can be made by name: `threshold=2`, `gain="exp2"`, `ap_divisor="k"`, `ties="expected"`, `missing="skip"`,
    `averaging="micro"`; see `rs.choices`.

    >>> result = rs.evaluate({"u1": {"i1": 1, "i2": 1, "i4": 1}}, {"u1": {"i1": 10.0, "i3": 8.0, "i2": 6.0}}, "ap")
    >>> result["ap"]
    0.5555555555555555
    """
    if truth is None and run is None:
        raise TypeError("give a truth and a run; or for metrics of what was shown a run alone: evaluate(run=run, ...)")
    plain = columns is None and mask is None and lengths is None and groups is None and query is None
    alone = catalogue is None and history is None and reference is None and parent is None and overlap is None
    entire = weights is exclude is unjudged is None and type(threads) is int and threads >= 0
    if type(truth) is dict and type(run) is dict and plain and alone and entire:
        kept = kept_for(metrics, convention, choices)
        found = None if kept is None else kept.evaluate(truth, run)
        if found is not None:
            return found
    if weights is not None and choices.setdefault("averaging", "weighted") != "weighted":
        raise ValueError(f"weights= go with averaging='weighted', not with {choices['averaging']!r}")
    if unjudged not in (None, "bounds"):
        raise ValueError(f"unjudged={unjudged!r}; choose 'bounds', or leave it out")
    if "pyspark" in sys.modules and (is_spark(truth) or is_spark(run)):
        given = {
            "mask": mask, "lengths": lengths, "groups": groups, "query": query, "exclude": exclude,
            "parent": parent, "overlap": overlap, "unjudged": unjudged,
        }  # fmt: skip
        for name in (name for name, value in given.items() if value is not None):
            raise TypeError(f"{name}= does not go with a Spark table")
        from rankstone.spark.evaluate import evaluate as on_the_cluster  # the table stays where it is

        tables: Any = {
            "truth": truth, "run": run, "weights": weights, "catalogue": catalogue, "history": history,
            "reference": reference,
        }  # fmt: skip
        return on_the_cluster(
            **tables, metrics=metrics, convention=convention, columns=columns, threads=threads or 1, **choices
        )
    beside, choices = given_beside(catalogue, history, reference, metrics, choices)
    if isinstance(truth, str) or isinstance(run, str):
        from rankstone.data.tables import queried

        truth, run = queried(truth), queried(run)
    if isinstance(run, (str, PathLike)):
        from rankstone.data.files import is_large  # a quick start: most runs are in memory

        whole = (exclude, parent, overlap, unjudged)  # which need all rows at once
        if all(asked is None for asked in whole) and is_large(run):
            from rankstone.evaluate.stream import evaluate_file

            return evaluate_file(
                truth, run, metrics, convention=convention, weights=weights, columns=columns, beside=beside,
                threads=threads, **choices,
            )  # fmt: skip
    source = open_source(
        truth, run, mask=mask, lengths=lengths, groups=groups, query=query, columns=columns, exclude=exclude,
        parent=parent, overlap=overlap,
    )  # fmt: skip
    return evaluate_source(source, metrics, convention, weights, threads, choices, unjudged is not None, beside)


class Evaluator:
    """Metrics with every choice made, kept for many calls.

    As `evaluate`, called with a truth and a run; what can be settled before is settled once. `evaluate` keeps as much
    for itself, so this saves a few microseconds a call: worth it in a loop over small lists.

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
        asked = metrics if isinstance(metrics, (str, Metric)) else tuple(metrics)
        self._asked, self._convention, self._threads, self._choices = asked, convention, threads, choices
        self.metrics = tuple(plan.label for plan in make_plans(asked, convention, choices))
        self._kept = kept_for(asked, convention, choices) if type(threads) is int and threads >= 0 else None

    def __call__(
        self, truth: Truth, run: Run, *, weights: Weights | None = None, columns: Roles | None = None
    ) -> Result:
        """Measure a run against a truth, in any shape that `evaluate` takes."""
        if weights is None and columns is None and self._kept is not None:
            found = self._kept.evaluate(truth, run)
            if found is not None:
                return found
        return evaluate(
            truth, run, self._asked, convention=self._convention, weights=weights, columns=columns,
            threads=self._threads, **self._choices,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"Evaluator of {', '.join(self.metrics)}"
