"""`fuse`: several runs in, one run out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.errors import Advice, DataError, Hint
from rankstone.fusion.choices import Fusing, decide, find_preset, told
from rankstone.fusion.found import Found
from rankstone.fusion.fused import Fused
from rankstone.fusion.merge import United, by_place, open_runs, unite
from rankstone.fusion.methods import Fusion, fusions
from rankstone.fusion.norms import NORMS, normalised
from rankstone.results.definition import Definition
from rankstone.version import __version__

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from rankstone.align.alignment import Bools, Floats, Ints
    from rankstone.typing import Numbers, Roles, Run


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
