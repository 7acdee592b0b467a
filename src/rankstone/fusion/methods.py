"""A way to fuse runs is declared once, by `@fusion`; the ways there are, and how scores are normalised before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from rankstone.align.alignment import Floats
from rankstone.errors import Advice, DataError, Hint
from rankstone.fusion.found import Found
from rankstone.metrics.declaration import ByName, Declared, Parameter, Registry

if TYPE_CHECKING:
    from rankstone.align.alignment import Floats
    from rankstone.fusion.merge import United


@dataclass(frozen=True, eq=False)
class Norm:
    """A normalisation: of each list a shift and a divisor, or points by place."""

    words: str
    parts: Callable[[United], tuple[Any, Any]] | None = None  # by row: what is divided, and by what
    places: Callable[[United], Floats] | None = None  # by row, from places alone
    absent: Callable[[Any, Any], Any] | None = None  # of a list's length and candidates: for an item it does not have
    constant: Callable[[Any], Any] | None = None  # of a list's length: what its items get if all scores are equal
    equal: str = ""  # the same in words
    lower_first: bool = False  # are scores distances


def _ends(lists: United) -> tuple[Floats, Floats]:
    """The lowest and the highest score of each list, which is in order."""
    first, last = lists.score[lists.offsets[:-1]], lists.score[lists.offsets[1:] - 1]
    return np.minimum(first, last), np.maximum(first, last)


def _sums(lists: United, values: Floats) -> Floats:
    return np.add.reduceat(values, lists.offsets[:-1]) if len(values) else np.zeros(0)


def _min_max(lists: United) -> tuple[Any, Any]:
    lowest, highest = _ends(lists)
    return lists.score - lists.by_row(lowest), highest - lowest


def _inverted(lists: United) -> tuple[Any, Any]:
    lowest, highest = _ends(lists)
    return lists.by_row(highest) - lists.score, highest - lowest


def _max(lists: United) -> tuple[Any, Any]:
    return lists.score, _ends(lists)[1]


def _sum(lists: United) -> tuple[Any, Any]:
    shifted = lists.score - lists.by_row(_ends(lists)[0])
    return shifted, _sums(lists, shifted)


def _zmuv(lists: United) -> tuple[Any, Any]:
    apart = lists.score - lists.by_row(_sums(lists, lists.score) / lists.sizes)
    return apart, np.sqrt(_sums(lists, apart**2) / lists.sizes)


NORMS: Mapping[str, Norm] = {
    "min-max": Norm(
        "(score - lowest) / (highest - lowest) of the list",
        _min_max,
        constant=lambda length: 1.0,
        equal="1 where all scores of a list are equal",
    ),
    "min-max-inverted": Norm(
        "scores are distances: (highest - score) / (highest - lowest) of the list",
        _inverted,
        constant=lambda length: 1.0,
        equal="1 where all scores of a list are equal",
        lower_first=True,
    ),
    "max": Norm("score / highest of the list", _max),
    "sum": Norm(
        "(score - lowest) / sum of that over the list",
        _sum,
        constant=lambda length: 1.0 / length,
        equal="1 / length where all scores of a list are equal",
    ),
    "zmuv": Norm(
        "(score - mean) / standard deviation of the list",
        _zmuv,
        constant=lambda length: 0.0 * length,
        equal="0 where all scores of a list are equal",
    ),
    "rank": Norm(
        "1 - items above / length of the list", places=lambda lists: 1 - lists.above() / lists.by_row(lists.sizes)
    ),
    "borda": Norm(
        "1 - items above / candidates, or half of (candidates - length + 1) / candidates where a run does not have it",
        places=lambda lists: 1 - lists.above() / lists.by_row(lists.candidates()[lists.list_query]),
        absent=lambda length, candidates: (candidates - length + 1) / (2 * candidates),
    ),
}


def normalised(lists: United, norm: str | None, floor: float | None, constant: float | None) -> Floats:
    """The scores of each row. floor: the lowest divisor. constant: what items of equal scores get; None: the norm's."""
    if norm is None:
        return lists.score
    found = NORMS[norm]
    if found.places is not None:
        return found.places(lists)
    assert found.parts is not None
    shifted, divisor = found.parts(lists)
    if not np.isfinite(divisor).all():
        run, query, _ = lists.where(int(lists.offsets[np.argmin(np.isfinite(divisor))]))
        raise DataError(
            Advice(f"{run}: query {query!r}: ", Hint("norm", norm), " cannot scale scores that are so far apart"),
            "number", "run", query,
        )  # fmt: skip
    if floor is not None:
        floored: Floats = shifted / lists.by_row(np.maximum(divisor, floor))
        return floored
    if found.constant is None:
        _refuse_nothing_above(lists, divisor, norm)
        scaled: Floats = shifted / lists.by_row(divisor)
        return scaled
    lowest, highest = _ends(lists)
    same = lowest == highest
    level = found.constant(lists.sizes) if constant is None else constant
    quotient = shifted / lists.by_row(np.where(same, 1.0, divisor))
    out: Floats = np.where(lists.by_row(same), lists.by_row(np.broadcast_to(level, same.shape)), quotient)
    return out


def _refuse_nothing_above(lists: United, divisor: Floats, norm: str) -> None:
    if (divisor > 0).all():
        return
    at = int(np.argmax(~(divisor > 0)))
    run, query, _ = lists.where(int(lists.offsets[at]))
    raise DataError(
        Advice(f"{run}: query {query!r}: ", Hint("norm", norm), " divides by the highest score, and that is ",
               f"{divisor[at]:g}; ", Hint("norm", "min-max"), " takes any scores"),
        "number", "run", query,
    )  # fmt: skip


Reads = Literal["score", "rank"]


@dataclass(frozen=True, eq=False)
class Fusion(Declared):
    """A way to fuse runs: a function from what the runs returned to one score an item."""

    formula: str  # <k> stands for a parameter's value
    reads: Reads  # scores, or ranks
    weighted: str  # what a run's weight does; empty where there is no place for weights

    def filled(self, arguments: ByName) -> str:
        """The formula with the parameters' values in their places."""
        text = self.formula or self.summary
        for name, value in arguments.items():
            text = text.replace(f"<{name}>", f"{value:g}")
        return text

    @property
    def entry(self) -> str:
        """What a listing says of it."""
        return f"{self.filled(self.defaults)}; {self.summary}"

    def __repr__(self) -> str:
        return f"{self.name}: {self.entry}"


class Fusions(Registry[Fusion, Fusion]):
    """Every way to fuse runs by name: `rs.fusions["rrf"]`, `rs.fusions.rrf`; those that a user declared, too."""


fusions: Fusions = Fusions("a fusion", lambda name: fusions.find(name))


def fusion(
    name: str, *, aliases: Iterable[str] = (), formula: str = "", reads: Reads = "score", weighted: str = ""
) -> Callable[[Callable[..., Floats]], Fusion]:
    """Declare a way to fuse runs: a function from `Found`, and its parameters by name, to one score an item.

    reads: "score", or "rank" if it goes by places alone; then runs need no scores, and no `norm=`. weighted: what a
    run's weight does, in a few words; without them, weights are refused. The name works wherever the others do.
    """
    if reads not in ("score", "rank"):
        raise ValueError(f"reads={reads!r}; choose from 'score', 'rank'")
    return lambda function: fusions.declare(Fusion(name, function, formula, reads, weighted, aliases=tuple(aliases)))


_TERM = "each run's term times its weight"
Constant = Annotated[float, Parameter("what is added to a rank: the larger, the less the top counts", at_least=0)]
Gamma = Annotated[float, Parameter("how much more an item counts that many runs returned", at_least=0)]
Sigma = Annotated[float, Parameter("what an item of one run is worth at least", above=0)]
Persisting = Annotated[float, Parameter("chance to go on to the next place", above=0, below=1)]


# -- by ranks ------------------------------------------------------------------------------------------------


@fusion("rrf", formula="sum of 1 / (<k> + rank)", reads="rank", weighted=_TERM)
def rrf(found: Found, *, k: Constant = 60) -> Floats:
    """Reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009)."""
    return found.sum(found.weight / (k + found.rank))


@fusion("isr", formula="runs that have it x sum of 1 / rank^2", reads="rank", weighted=_TERM)
def isr(found: Found) -> Floats:
    """Inverse square ranks (Mourão, Martins and Magalhães, 2014)."""
    return found.count * found.sum(found.weight / found.rank**2)


@fusion("log_isr", formula="ln(runs that have it) x sum of 1 / rank^2", reads="rank", weighted=_TERM)
def log_isr(found: Found) -> Floats:
    """Inverse square ranks, times the logarithm: 0 for an item of one run."""
    return np.log(found.count) * found.sum(found.weight / found.rank**2)


@fusion("logn_isr", formula="ln(runs that have it + <sigma>) x sum of 1 / rank^2", reads="rank", weighted=_TERM)
def logn_isr(found: Found, *, sigma: Sigma = 0.01) -> Floats:
    """Inverse square ranks, times a logarithm that is above 0 for an item of one run."""
    return np.log(found.count + sigma) * found.sum(found.weight / found.rank**2)


@fusion("rbc", formula="sum of (1 - <p>) <p>^(items above)", reads="rank", weighted=_TERM)
def rbc(found: Found, *, p: Persisting = 0.8) -> Floats:
    """Rank-biased centroid (Bailey, Moffat, Scholer and Thomas, 2017)."""
    return found.sum(found.weight * ((1 - p) * p**found.above))


@fusion(
    "borda",
    aliases=("bordafuse", "w_bordafuse"),
    formula="sum of candidates - items above, or half of (candidates - length + 1) where a run does not have it",
    reads="rank",
    weighted=_TERM,
)
def borda(found: Found) -> Floats:
    """Points for each item below, the left-over ones shared (Aslam and Montague, 2001)."""
    absent = found.absent
    placed = found.sum(found.weight * (found.candidates - found.above))
    return placed + absent.sum(absent.weight * ((absent.candidates - absent.length + 1) / 2))


# -- by scores -----------------------------------------------------------------------------------------------


@fusion("sum", aliases=("comb_sum", "combsum", "wsum"), formula="sum of the scores", weighted=_TERM)
def sum_(found: Found) -> Floats:
    """Sum of the scores, CombSUM (Fox and Shaw, 1993)."""
    return found.sum(found.weight * found.score)


@fusion(
    "mnz",
    aliases=("comb_mnz", "combmnz", "wmnz"),
    formula="runs that have it x sum of the scores",
    weighted="the weights of the runs that have it in place of their number",
)
def mnz(found: Found) -> Floats:
    """Sum of the scores times how many runs have it, CombMNZ (Fox and Shaw, 1993)."""
    return found.sum(found.weight) * found.sum(found.score)


@fusion("gmnz", aliases=("comb_gmnz",), formula="(runs that have it)^<gamma> x sum of the scores", weighted=_TERM)
def gmnz(found: Found, *, gamma: Gamma = 1.0) -> Floats:
    """Sum of the scores times a power of how many runs have it, CombGMNZ (Lee, 1997)."""
    return found.count**gamma * found.sum(found.weight * found.score)


@fusion("mixed", formula="sqrt(runs that have it) x sum of the scores", weighted=_TERM)
def mixed(found: Found) -> Floats:
    """Between sum and mnz (Wu and Crestani, 2002)."""
    return gmnz.function(found, gamma=0.5)


@fusion("anz", aliases=("comb_anz", "mean"), formula="mean of the scores in the runs that have it")
def anz(found: Found) -> Floats:
    """Mean of the scores, CombANZ (Fox and Shaw, 1993)."""
    return found.sum(found.score) / found.count


@fusion("min", aliases=("comb_min",), formula="lowest of the scores in the runs that have it")
def min_(found: Found) -> Floats:
    """Lowest score, CombMIN (Fox and Shaw, 1993)."""
    return found.lowest(found.score)


@fusion("max", aliases=("comb_max",), formula="highest of the scores in the runs that have it")
def max_(found: Found) -> Floats:
    """Highest score, CombMAX (Fox and Shaw, 1993)."""
    return found.highest(found.score)


@fusion("med", aliases=("comb_med", "median"), formula="median of the scores in the runs that have it")
def med(found: Found) -> Floats:
    """Middle score, CombMED (Fox and Shaw, 1993)."""
    return found.median(found.score)
