"""`fuse`: combine several runs into one run, with its definition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.data.atomic import encodable
from rankstone.data.columns import columns
from rankstone.data.lists import Lists
from rankstone.data.tables import AsRun, Side
from rankstone.errors import Advice, DataError, Hint, InputError, InputTypeError, show
from rankstone.fusion.fusion_choices import FusionChoices, decide, describe_choices, find_preset
from rankstone.fusion.fusion_input import FusionInput
from rankstone.fusion.fusion_methods import NORMS, FusionMethod, methods, normalised
from rankstone.fusion.merge import MergedRuns, by_place, merge_runs, open_runs
from rankstone.metrics.declaration import ByName
from rankstone.results.answer import Answer, Readable, queries
from rankstone.results.definition import Definition, summarize
from rankstone.results.export import write_side
from rankstone.version import __version__

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from rankstone.align.alignment import Bools, Floats, Ints
    from rankstone.data.files import Path
    from rankstone.typing import ColumnRoles, Numbers, Run


_PRINTED_ROWS = 5


class FusedRun(AsRun, Readable):
    """A fused run, as `rs.fuse` returns it. `rs.evaluate`, `rs.compare` and `rs.fuse` take it as a run.

    Attributes
    ----------
    definition : Definition
        The method, its formula and all choices, in words.
    runs : tuple of str
        Names of the runs that were fused.
    of_files : bool
        Whether any run was read from a file, so that all ids are strings.

    Examples
    --------
    >>> fused = rs.fuse([{"q": {"a": 3, "b": 1}}, {"q": {"b": 1}}], "comb_sum")
    >>> fused.to_dict()
    {'q': {'a': 3.0, 'b': 2.0}}
    >>> rs.evaluate({"q": {"b": 1}}, fused, "rr")["rr"]
    0.5
    """

    def __init__(
        self,
        merged: MergedRuns,
        score: Floats,
        definition: Definition,
        chosen: ByName,
        of_files: bool,
        by_place: bool,
    ) -> None:
        self.definition, self.runs, self.of_files = definition, merged.runs, of_files
        self._merged, self._score, self._chosen, self._by_place = merged, score, chosen, by_place

    @cached_property
    def _best(self) -> MergedRuns:
        """One list per query, the best item first."""
        merged = self._merged
        rows = np.argsort(merged.query, kind="stable")
        sizes = merged.candidates()
        there = np.flatnonzero(sizes)
        whole = replace(
            merged,
            runs=("the fused run",),
            item=rows,
            score=self._score[rows],
            offsets=np.concatenate(([0], np.cumsum(sizes[there]))),
            list_run=np.zeros(len(there), dtype=np.int64),
            list_query=there,
        )
        return whole.best_first(self._chosen["ties"]).first(self._chosen["keep"])

    @property
    def queries(self) -> list[Any]:
        """Query ids, including queries with an empty list."""
        return self._merged.names.queries(self._present)

    @cached_property
    def _present(self) -> Any:
        return np.flatnonzero(self._merged.present.any(axis=0))

    def __len__(self) -> int:
        """Number of queries."""
        return len(self._present)

    def to_dict(self) -> dict[Any, dict[Any, float]]:
        """The run as `{query: {item: score}}`, the best item first."""
        best = self._best
        items, scores = best.names.items(best.item), best.score.tolist()
        out: dict[Any, dict[Any, float]] = {query: {} for query in self.queries}
        ends = best.offsets.tolist()
        for at, query in enumerate(best.names.queries(best.list_query)):
            inside = slice(ends[at], ends[at + 1])
            out[query] = dict(zip(items[inside], scores[inside], strict=True))
        return out

    @cached_property
    def side(self) -> Side:
        """The run as data for `rs.evaluate`: a dict if all runs were dicts, else lists."""
        best = self._best
        if not self._merged.names.columnar:
            return self.to_dict()
        sizes = np.zeros(best.present.shape[1], dtype=np.int64)
        sizes[best.list_query] = best.sizes
        offsets = np.concatenate(([0], np.cumsum(sizes[self._present])))
        query = None if self._by_place else best.names.query_column(self._present)
        return Lists(offsets, best.names.item_column(best.item), best.score, query, ordered=False)

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        best = self._best
        return {
            "query": best.names.query_column(best.by_row(best.list_query)),
            "item": best.names.item_column(best.item),
            "score": best.score,
        }

    def write(self, path: Path, format: str | None = None, *, tag: str | None = None) -> None:  # noqa: A002
        """Write the run to a file.

        Parameters
        ----------
        path : path
            File to write; "-" is standard output.
        format : str, optional
            Format: "trec", "csv", "tsv", "jsonl" or "parquet". By default by file extension: .run (TREC), .csv, .tsv,
            .jsonl or .parquet.
        tag : str, optional
            Last field of a TREC run, by default the name of the method.
        """
        with encodable(path):
            write_side(columns(**self._columns()), path, "run", format, tag or self.definition.metric)

    def _answer(self) -> Answer:
        """The first rows, and the definition."""
        best = self._best
        of = f"{self.definition.metric} of {len(self.runs)} runs ({', '.join(self.runs)})"
        title = f"{of}: {queries(len(self))}, {len(best.item):,} items"
        head = slice(min(len(best.item), _PRINTED_ROWS))
        ids = best.names.queries(best.by_row(best.list_query)[head]), best.names.items(best.item[head])
        rows = [
            [str(query), str(item), f"{score:.6g}"] for query, item, score in zip(*ids, best.score[head], strict=True)
        ]
        more = [["...", "", ""]] if len(best.item) > _PRINTED_ROWS else []
        table = [["query", "item", "score"], *rows, *more]
        return Answer(table, title, definitions=summarize([self.definition]), align="<<", fixed=2)


def fuse(
    runs: Mapping[str, Run] | Iterable[Run],
    method: str | FusionMethod = "rrf",
    *,
    weights: Mapping[str, float] | Numbers | None = None,
    convention: str = "rankstone",
    columns: ColumnRoles | None = None,
    **choices: Unpack[FusionChoices],
) -> FusedRun:
    """Fuse several runs into one.

    Parameters
    ----------
    runs : mapping of str to run, or iterable of runs
        The runs, by name or in order, in any form that `rs.evaluate` takes: dicts, tables, files, `rs.columns(...)`,
        `rs.lists(...)`, sparse matrices. Each run may have its own form.
    method : str or FusionMethod, default "rrf"
        One of `rs.fusion.methods`.
    weights : mapping of str to float, or sequence of float, optional
        One weight per run, by name or in order.
    convention : str, default "rankstone"
        "rankstone", "ranx", "trectools" or "pyterrier".
    columns : mapping, optional
        Column names by role, as for `rs.evaluate`.
    **choices
        `norm`: normalisation of the scores ("min-max", "min-max-inverted", "max", "sum", "zmuv", "rank", "borda");
        `constant` and `floor`: score in lists of equal scores, and the lowest divisor of a norm; `missing`:
        contribution of a run that did not return the item (a score, or "lowest"); `depth`: cutoff of each list before
        fusion; `keep`: fused items per query; `first_rank`: 1 or 0; `ties`: tie-breaking; `queries`: "union", "shared"
        or "error"; and the parameters of the method, such as `k=60` of rrf.

    Returns
    -------
    FusedRun
        The fused run; `fused.definition` lists all choices.

    Raises
    ------
    ValueError
        If a name or a value is unknown, or a choice would have no effect.
    DataError
        If an item appears twice in a list, or a score is missing or not finite.

    Examples
    --------
    >>> rs.fuse([{"q": ["a", "b"]}, {"q": ["b", "c"]}]).to_dict()["q"]["b"] == 1 / 62 + 1 / 61
    True
    """
    fusion = methods.find(method)
    preset = find_preset(convention)
    chosen, arguments = decide(fusion, preset, choices)
    opened = open_runs(runs, columns)
    weighing = _weights(weights, tuple(opened.sides), fusion)
    norm = chosen["norm"]
    merged = merge_runs(opened, chosen["ties"], lower_first=bool(norm and NORMS[norm].lower_first))
    part = _select_queries(merged, chosen["queries"]).first(chosen["depth"])
    merged = merged if part is merged else part.compact()
    with np.errstate(all="ignore"):  # _check reports what is not finite
        rows = _fusion_input(merged, fusion, chosen, weighing)
        score = np.asarray(fusion.function(rows, **arguments), dtype=np.float64)
    _check(score, merged, fusion)
    if "first_rank" in choices and chosen["first_rank"] != 1 and not rows.rank_used:
        raise InputError(f"first_rank={chosen['first_rank']} would have no effect: {fusion.name} reads no ranks")
    placing = rows.absent_used or norm == "borda"
    rules, edges = describe_choices(fusion, chosen, ranked=rows.rank_used, placing=placing)
    if weighing is not None:
        each = (f"{weight:g} ({run})" for run, weight in zip(merged.runs, weighing.tolist(), strict=True))
        rules = [f"{fusion.weighted}: {', '.join(each)}", *rules]
    changes = ", ".join(f"{choice}={value!r}" for choice, value in choices.items())
    definition = Definition(
        metric=fusion.name,
        formula=fusion.filled(arguments),
        latex=rf"\text{{{fusion.filled(arguments)}}}",
        sentence=fusion.summary,
        rules=tuple(rules),
        edge_cases=tuple(edges),
        choices={**arguments, **chosen, "weights": None if weighing is None else weighing.tolist()},
        convention=f"{convention} with {changes}" if changes else convention,
        version=__version__,
    )
    return FusedRun(merged, score, definition, chosen, opened.of_files, by_place(opened.sides.values()))


def _weights(weights: Any, runs: tuple[str, ...], fusion: FusionMethod) -> Floats | None:
    if weights is None:
        return None
    if not fusion.weighted:
        raise InputError(Advice(Hint("weights"), f" would have no effect: {fusion.name} has no weights"))
    if isinstance(weights, Mapping):
        if set(weights) != set(runs):
            raise InputError(f"weights= are for {', '.join(map(str, weights))}; the runs are {', '.join(runs)}")
        weights = [weights[run] for run in runs]
    try:
        array: Floats = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputTypeError(f"weights={show(weights)}; pass one number per run") from None
    if array.shape != (len(runs),):
        raise InputError(f"there are {len(runs)} runs but {array.size} weights")
    if not np.isfinite(array).all():
        raise InputError(Advice(Hint("weights", weights), ": each must be a finite number"))
    return array


def _select_queries(merged: MergedRuns, queries: str) -> MergedRuns:
    everywhere: Bools = np.logical_and.reduce(merged.present)
    if queries == "union" or everywhere.all():
        return merged
    if queries == "error":
        at = int(np.argmin(everywhere))
        run = merged.runs[int(np.argmin(merged.present[:, at]))]
        (query,) = merged.names.queries(np.array([at]))
        raise DataError(
            Advice(f"{run} has no query {query!r}; ", Hint("queries", "union"),
                   " counts it as an empty list, 'shared' ignores the query"),
            "missing", "run", query,
        )  # fmt: skip
    shared = merged.lists(everywhere[merged.list_query])
    return replace(shared, present=merged.present & everywhere)


def _fusion_input(
    merged: MergedRuns, fusion: FusionMethod, chosen: Mapping[str, Any], weights: Floats | None
) -> FusionInput:
    """The rows for the method: with scores if it reads them, with rows of unreturned items if they get a score."""
    norm, missing = chosen["norm"], chosen["missing"]
    score = None
    if fusion.reads == "score":
        _check_scores(merged, fusion, norm)
        score = normalised(merged, norm, chosen["floor"], chosen["constant"])
    candidates = cache(merged.candidates)

    def rows(item: Ints, above: Ints, scores: Floats | None, **columns: Callable[[], Ints]) -> FusionInput:
        columns["candidates"] = lambda: candidates()[merged.query[item]]
        return FusionInput(
            item=item, above=above, column=lambda name: columns[name](), items=len(merged.query),
            runs=len(merged.runs), first_rank=chosen["first_rank"], scores=scores, weights=weights,
        )  # fmt: skip

    def absent() -> FusionInput:
        there = np.zeros((len(merged.runs), len(merged.query)), dtype=bool)
        there[returned.run, returned.item] = True
        run, item = np.nonzero(~there)
        length = merged.by_query(merged.sizes)[run, merged.query[item]]
        return rows(item, length, None, run=lambda: run, length=lambda: length)

    run, length = (partial(merged.by_row, values) for values in (merged.list_run, merged.sizes))
    returned = rows(merged.item, merged.above(), score, run=run, length=length)
    share = NORMS[norm].absent if fusion.reads == "score" and norm is not None else None
    if share is not None:
        more = absent()
        return returned.with_rows(more, share(more.length, more.candidates))
    if missing is None:
        returned.missing = absent
        return returned
    if missing == "lowest":
        more = absent()
        more = more.where(more.length > 0)  # an empty list has no lowest score
        if score is None:
            return returned.with_rows(more, np.zeros(0))
        last = merged.by_query(score[merged.offsets[1:] - 1])  # the best is first
        return returned.with_rows(more, last[more.run, merged.query[more.item]])
    if fusion.reads == "rank":  # 0: no contribution
        return returned
    more = absent()
    return returned.with_rows(more, np.full(len(more.item), float(missing)))


def _check_scores(merged: MergedRuns, fusion: FusionMethod, norm: str | None) -> None:
    if norm is not None and NORMS[norm].places is not None:
        return
    for run, scored in zip(merged.runs, merged.scored, strict=True):
        if not scored:
            raise DataError(
                Advice(f"{run} has ranks but no scores, and {fusion.name} reads scores; ", Hint("norm", "rank"),
                       " converts ranks to scores, and rrf needs only ranks"),
                "number", "run",
            )  # fmt: skip
    bad = ~np.isfinite(merged.score)
    if bad.any():
        row = int(np.argmax(bad))
        run, query, item = merged.where(row)
        raise DataError(
            f"{run}: query {query!r}, item {item!r}: score is {merged.score[row]}, which {fusion.name} cannot use",
            "number", "run", query, item,
        )  # fmt: skip


def _check(score: Floats, merged: MergedRuns, fusion: FusionMethod) -> None:
    if score.shape != merged.query.shape:
        raise InputError(f"{fusion.name} returned {score.size} scores for {len(merged.query)} items")
    bad = ~np.isfinite(score)
    if bad.any():
        at = int(np.argmax(bad))
        (query,), (item,) = merged.names.queries(merged.query[[at]]), merged.names.items(np.array([at]))
        raise DataError(
            f"query {query!r}, item {item!r}: the fused score is {score[at]}; check weights= and first_rank=",
            "number", "run", query, item,
        )  # fmt: skip
