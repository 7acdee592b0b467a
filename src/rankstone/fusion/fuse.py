"""`fuse`: several runs in, one run out, which is taken wherever a run is, and says how it was made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.data.columns import columns
from rankstone.data.lists import Lists
from rankstone.data.tables import Made, Side
from rankstone.errors import Advice, DataError, Hint
from rankstone.fusion.choices import Fusing, decide, find_preset, told
from rankstone.fusion.found import Found
from rankstone.fusion.merge import United, by_place, open_runs, unite
from rankstone.fusion.methods import NORMS, Fusion, fusions, normalised
from rankstone.metrics.declaration import ByName
from rankstone.results.answer import Answer, Readable, queries
from rankstone.results.definition import Definition, summarize
from rankstone.results.export import write_side
from rankstone.version import __version__

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from rankstone.align.alignment import Bools, Floats, Ints
    from rankstone.data.files import Path
    from rankstone.typing import Numbers, Roles, Run


_SHOWN = 5  # rows that are printed


class Fused(Made, Readable):
    """A run that was made of others: `{query: {item: score}}`, the best item first.

    `definition` tells how. `rs.evaluate`, `rs.compare` and `rs.fuse` take it as a run.
    """

    def __init__(
        self,
        united: United,
        score: Floats,
        definition: Definition,
        chosen: ByName,
        of_files: bool,
        by_place: bool,
    ) -> None:
        self.definition, self.runs, self.of_files = definition, united.runs, of_files
        self._united, self._score, self._chosen, self._by_place = united, score, chosen, by_place

    @cached_property
    def _best(self) -> United:
        """One list a query, the best item first."""
        united = self._united
        rows = np.argsort(united.query, kind="stable")
        sizes = united.candidates()
        there = np.flatnonzero(sizes)
        whole = replace(
            united,
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
        """The queries' ids, those with an empty list too."""
        return self._united.names.queries(self._asked)

    @cached_property
    def _asked(self) -> Any:
        return np.flatnonzero(self._united.present.any(axis=0))

    def __len__(self) -> int:
        """How many queries it has."""
        return len(self._asked)

    def to_dict(self) -> dict[Any, dict[Any, float]]:
        """`{query: {item: score}}`, the best item first."""
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
        """What `rs.evaluate` reads: a dict if it was made of dicts, else lists."""
        best = self._best
        if not self._united.names.columnar:
            return self.to_dict()
        sizes = np.zeros(best.present.shape[1], dtype=np.int64)
        sizes[best.list_query] = best.sizes
        offsets = np.concatenate(([0], np.cumsum(sizes[self._asked])))
        query = None if self._by_place else best.names.query_column(self._asked)
        return Lists(offsets, best.names.item_column(best.item), best.score, query, ordered=False)

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        best = self._best
        return {
            "query": best.names.query_column(best.by_row(best.list_query)),
            "item": best.names.item_column(best.item),
            "score": best.score,
        }

    def write(self, path: Path, format: str | None = None, *, tag: str | None = None) -> None:  # noqa: A002
        """Write it as a run; the name's ending tells the format: .run (TREC), .csv, .tsv, .jsonl or .parquet.

        tag: the last field of a TREC run, the method's name unless given.
        """
        write_side(columns(**self._columns()), path, "run", format, tag or self.definition.metric)

    def answer(self) -> Answer:
        """What is printed: the first rows, and how it was made."""
        best = self._best
        of = f"{self.definition.metric} of {len(self.runs)} runs ({', '.join(self.runs)})"
        title = f"{of}: {queries(len(self))}, {len(best.item):,} items"
        head = slice(min(len(best.item), _SHOWN))
        ids = best.names.queries(best.by_row(best.list_query)[head]), best.names.items(best.item[head])
        rows = [
            [str(query), str(item), f"{score:.6g}"] for query, item, score in zip(*ids, best.score[head], strict=True)
        ]
        more = [["...", "", ""]] if len(best.item) > _SHOWN else []
        table = [["query", "item", "score"], *rows, *more]
        return Answer(table, title, definitions=summarize([self.definition]), align="<<", fixed=2)


def fuse(
    runs: Mapping[str, Run] | Iterable[Run],
    method: str | Fusion = "rrf",
    *,
    weights: Mapping[str, float] | Numbers | None = None,
    convention: str = "rankstone",
    columns: Roles | None = None,
    **choices: Unpack[Fusing],
) -> Fused:
    """Fuse runs into one, which `rs.evaluate` takes as it is.

    runs: a list, or a dict by name, of runs in any shape that `rs.evaluate` takes: dicts, tables, files,
    `rs.columns(...)`, `rs.lists(...)`, sparse matrices; each may have its own. method: one of `rs.fusions`. weights:
    one a run, in their order or by name. convention: "rankstone", "ranx", "trectools" or "pyterrier". columns: as
    `rs.evaluate` takes them.

    Choices by name: `norm` ("min-max", "min-max-inverted", "max", "sum", "zmuv", "rank", "borda"), `missing` (what an
    item gets from a run that does not have it: a score, or "lowest"), `depth` (of each list), `keep` (of each query's
    fused items), `first_rank`, `ties`, `queries` ("union", "shared", "error"), `constant` and `floor` (of a norm); and
    the method's parameters: `k=60` of rrf. `print(fused.definition)` tells all that was chosen.

    >>> rs.fuse([{"q": ["a", "b"]}, {"q": ["b", "c"]}]).to_dict()["q"]["b"] == 1 / 62 + 1 / 61
    True
    """
    fusion = fusions.find(method)
    preset = find_preset(convention)
    chosen, arguments = decide(fusion, preset, choices)
    opened = open_runs(runs, columns)
    weighing = _weights(weights, tuple(opened.sides), fusion)
    norm = chosen["norm"]
    united = unite(opened, chosen["ties"], lower_first=bool(norm and NORMS[norm].lower_first))
    part = _of_queries(united, chosen["queries"]).first(chosen["depth"])
    united = united if part is united else part.compact()
    with np.errstate(all="ignore"):  # what is not finite is told below
        found = _found(united, fusion, chosen, weighing)
        score = np.asarray(fusion.function(found, **arguments), dtype=np.float64)
    _check(score, united, fusion)
    if "first_rank" in choices and chosen["first_rank"] != 1 and not found.counted_from_first:
        raise ValueError(f"first_rank={chosen['first_rank']} would change nothing: {fusion.name} reads no ranks")
    placing = found.placed_absent or norm == "borda"
    rules, edges = told(fusion, chosen, ranked=found.counted_from_first, placing=placing)
    if weighing is not None:
        each = (f"{weight:g} ({run})" for run, weight in zip(united.runs, weighing.tolist(), strict=True))
        rules = [f"{fusion.weighted}: {', '.join(each)}", *rules]
    said = ", ".join(f"{choice}={value!r}" for choice, value in choices.items())
    definition = Definition(
        metric=fusion.name,
        formula=fusion.filled(arguments),
        latex=rf"\text{{{fusion.filled(arguments)}}}",
        sentence=fusion.summary,
        rules=tuple(rules),
        edge_cases=tuple(edges),
        choices={**arguments, **chosen, "weights": None if weighing is None else weighing.tolist()},
        convention=f"{convention} with {said}" if said else convention,
        version=__version__,
    )
    return Fused(united, score, definition, chosen, opened.of_files, by_place(opened.sides.values()))


def _weights(given: Any, runs: tuple[str, ...], fusion: Fusion) -> Floats | None:
    if given is None:
        return None
    if not fusion.weighted:
        raise ValueError(Advice(Hint("weights"), f" would change nothing: {fusion.name} has no place for them"))
    if isinstance(given, Mapping):
        if set(given) != set(runs):
            raise ValueError(f"weights= are for {', '.join(map(str, given))}; the runs are {', '.join(runs)}")
        given = [given[run] for run in runs]
    try:
        weights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"weights={given!r}; give a number for each run") from None
    if weights.shape != (len(runs),):
        raise ValueError(f"there are {len(runs)} runs but {weights.size} weights")
    if not np.isfinite(weights).all():
        raise ValueError(Advice(Hint("weights", given), ": each must be a finite number"))
    return weights


def _of_queries(united: United, queries: str) -> United:
    everywhere: Bools = np.logical_and.reduce(united.present)
    if queries == "union" or everywhere.all():
        return united
    if queries == "error":
        at = int(np.argmin(everywhere))
        run = united.runs[int(np.argmin(united.present[:, at]))]
        (query,) = united.names.queries(np.array([at]))
        raise DataError(
            Advice(f"{run} has no query {query!r}; ", Hint("queries", "union"),
                   " takes it for an empty list there, 'shared' leaves it out"),
            "missing", "run", query,
        )  # fmt: skip
    kept = united.lists(everywhere[united.list_query])
    return replace(kept, present=united.present & everywhere)


def _found(united: United, fusion: Fusion, chosen: Mapping[str, Any], weights: Floats | None) -> Found:
    """The rows for the fusion, with scores if it reads them, and with what runs do not have if that gets anything."""
    norm, missing = chosen["norm"], chosen["missing"]
    score = None
    if fusion.reads == "score":
        _refuse_no_scores(united, fusion, norm)
        score = normalised(united, norm, chosen["floor"], chosen["constant"])
    candidates = cache(united.candidates)

    def rows(item: Ints, above: Ints, scores: Floats | None, **columns: Callable[[], Ints]) -> Found:
        columns["candidates"] = lambda: candidates()[united.query[item]]
        return Found(
            item=item, above=above, column=lambda name: columns[name](), items=len(united.query),
            runs=len(united.runs), first_rank=chosen["first_rank"], scores=scores, weights=weights,
        )  # fmt: skip

    def absent() -> Found:
        there = np.zeros((len(united.runs), len(united.query)), dtype=bool)
        there[found.run, found.item] = True
        run, item = np.nonzero(~there)
        length = united.by_query(united.sizes)[run, united.query[item]]
        return rows(item, length, None, run=lambda: run, length=lambda: length)

    run, length = (partial(united.by_row, values) for values in (united.list_run, united.sizes))
    found = rows(united.item, united.above(), score, run=run, length=length)
    share = NORMS[norm].absent if fusion.reads == "score" and norm is not None else None
    if share is not None:
        more = absent()
        return found.with_rows(more, share(more.length, more.candidates))
    if missing is None:
        found.missing = absent
        return found
    if missing == "lowest":
        more = absent()
        more = more.where(more.length > 0)  # an empty list has no lowest score
        if score is None:
            return found.with_rows(more, np.zeros(0))
        last = united.by_query(score[united.offsets[1:] - 1])  # the best is first
        return found.with_rows(more, last[more.run, united.query[more.item]])
    if fusion.reads == "rank":  # 0: it adds nothing
        return found
    more = absent()
    return found.with_rows(more, np.full(len(more.item), float(missing)))


def _refuse_no_scores(united: United, fusion: Fusion, norm: str | None) -> None:
    if norm is not None and NORMS[norm].places is not None:
        return
    for run, scored in zip(united.runs, united.scored, strict=True):
        if not scored:
            raise DataError(
                Advice(f"{run} is an order without scores, and {fusion.name} reads scores; ", Hint("norm", "rank"),
                       " makes scores of places, and rrf goes by places alone"),
                "number", "run",
            )  # fmt: skip
    bad = ~np.isfinite(united.score)
    if bad.any():
        row = int(np.argmax(bad))
        run, query, item = united.where(row)
        raise DataError(
            f"{run}: query {query!r}, item {item!r}: score is {united.score[row]}, which {fusion.name} cannot use",
            "number", "run", query, item,
        )  # fmt: skip


def _check(score: Floats, united: United, fusion: Fusion) -> None:
    if score.shape != united.query.shape:
        raise ValueError(f"{fusion.name} made {score.size} scores of {len(united.query)} items")
    bad = ~np.isfinite(score)
    if bad.any():
        at = int(np.argmax(bad))
        (query,), (item,) = united.names.queries(united.query[[at]]), united.names.items(np.array([at]))
        raise DataError(
            f"query {query!r}, item {item!r}: the fused score is {score[at]}; look at weights= and first_rank=",
            "number", "run", query, item,
        )  # fmt: skip
