"""The fusion methods, each declared once by `@method`, and the score normalisations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from rankstone.align.alignment import Floats
from rankstone.errors import Advice, DataError, Hint, InputError
from rankstone.fusion.fusion_input import FusionInput
from rankstone.metrics.declaration import ByName, DeclaredFunction, Parameter, Registry

if TYPE_CHECKING:
    from rankstone.align.alignment import Floats
    from rankstone.fusion.merge import MergedRuns


@dataclass(frozen=True, eq=False)
class Norm:
    """A normalisation: a shift and a divisor per list, or points by position."""

    words: str
    parts: Callable[[MergedRuns], tuple[Any, Any]] | None = None  # per row: dividend and divisor
    places: Callable[[MergedRuns], Floats] | None = None  # per row, from positions alone
    absent: Callable[[Any, Any], Any] | None = None  # score of a missing item, from the list's length and candidates
    constant: Callable[[Any], Any] | None = None  # score if all scores are equal, from the list's length
    equal: str = ""  # the same in words
    lower_first: bool = False  # whether scores are distances


def _ends(lists: MergedRuns) -> tuple[Floats, Floats]:
    """The lowest and the highest score per list; the lists are sorted."""
    first, last = lists.score[lists.offsets[:-1]], lists.score[lists.offsets[1:] - 1]
    return np.minimum(first, last), np.maximum(first, last)


def _sums(lists: MergedRuns, values: Floats) -> Floats:
    return np.add.reduceat(values, lists.offsets[:-1]) if len(values) else np.zeros(0)


def _min_max(lists: MergedRuns) -> tuple[Any, Any]:
    lowest, highest = _ends(lists)
    return lists.score - lists.by_row(lowest), highest - lowest


def _inverted(lists: MergedRuns) -> tuple[Any, Any]:
    lowest, highest = _ends(lists)
    return lists.by_row(highest) - lists.score, highest - lowest


def _max(lists: MergedRuns) -> tuple[Any, Any]:
    return lists.score, _ends(lists)[1]


def _sum(lists: MergedRuns) -> tuple[Any, Any]:
    shifted = lists.score - lists.by_row(_ends(lists)[0])
    return shifted, _sums(lists, shifted)


def _zmuv(lists: MergedRuns) -> tuple[Any, Any]:
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
        "1 - items above / candidates, or (candidates - length + 1) / (2 candidates) if the run did not return it",
        places=lambda lists: 1 - lists.above() / lists.by_row(lists.candidates()[lists.list_query]),
        absent=lambda length, candidates: (candidates - length + 1) / (2 * candidates),
    ),
}


def normalised(lists: MergedRuns, norm: str | None, floor: float | None, constant: float | None) -> Floats:
    """Normalised scores, one per row; `floor` is the lowest divisor, `constant` the score in lists of equal scores."""
    if norm is None:
        return lists.score
    rule = NORMS[norm]
    if rule.places is not None:
        return rule.places(lists)
    assert rule.parts is not None
    shifted, divisor = rule.parts(lists)
    if not np.isfinite(divisor).all():
        run, query, _ = lists.where(int(lists.offsets[np.argmin(np.isfinite(divisor))]))
        raise DataError(
            Advice(f"{run}: query {query!r}: ", Hint("norm", norm), " overflows: the scores are too far apart"),
            "number", "run", query,
        )  # fmt: skip
    if floor is not None:
        floored: Floats = shifted / lists.by_row(np.maximum(divisor, floor))
        return floored
    if rule.constant is None:
        _check_positive(lists, divisor, norm)
        scaled: Floats = shifted / lists.by_row(divisor)
        return scaled
    lowest, highest = _ends(lists)
    same = lowest == highest
    level = rule.constant(lists.sizes) if constant is None else constant
    quotient = shifted / lists.by_row(np.where(same, 1.0, divisor))
    out: Floats = np.where(lists.by_row(same), lists.by_row(np.broadcast_to(level, same.shape)), quotient)
    return out


def _check_positive(lists: MergedRuns, divisor: Floats, norm: str) -> None:
    if (divisor > 0).all():
        return
    at = int(np.argmax(~(divisor > 0)))
    run, query, _ = lists.where(int(lists.offsets[at]))
    raise DataError(
        Advice(f"{run}: query {query!r}: ", Hint("norm", norm), " divides by the highest score, which is ",
               f"{divisor[at]:g}; ", Hint("norm", "min-max"), " works with any scores"),
        "number", "run", query,
    )  # fmt: skip


Reads = Literal["score", "rank"]


@dataclass(frozen=True, eq=False)
class FusionMethod(DeclaredFunction):
    """A fusion method: a function from the rows of all runs to one score per item of a query.

    `rs.fuse` takes it as `method`; `@rs.fusion.method` makes one of a function.

    Attributes
    ----------
    name : str
        Its name.
    aliases : tuple of str
        Other names.
    summary, formula : str
        What it does, in a sentence and as a formula.
    defaults : dict
        Its parameters.

    Examples
    --------
    >>> rs.fusion.methods["CombSUM"].name
    'comb_sum'
    """

    formula: str  # <k> stands for the value of parameter k
    reads: Reads  # scores or ranks
    weighted: str  # effect of a run's weight; empty if the method has no weights

    def filled(self, arguments: ByName) -> str:
        """Fill the values of parameters into the formula.

        Parameters
        ----------
        arguments : mapping of str to value
            The value of each parameter.

        Returns
        -------
        str
            The formula, or the summary of a method without a formula.
        """
        text = self.formula or self.summary
        for name, value in arguments.items():
            text = text.replace(f"<{name}>", f"{value:g}")
        return text

    @property
    def entry(self) -> str:
        """The line of a listing: formula and summary."""
        return f"{self.filled(self.defaults)}; {self.summary}"

    def __repr__(self) -> str:
        return f"{self.name}: {self.entry}"


class FusionMethods(Registry[FusionMethod, FusionMethod]):
    """All fusion methods by name, user-defined ones included: `rs.fusion.methods["rrf"]`, `rs.fusion.methods.rrf`."""


methods: FusionMethods = FusionMethods("a fusion", lambda name: methods.find(name))


def method(
    name: str, *, aliases: Iterable[str] = (), formula: str = "", reads: Reads = "score", weighted: str = ""
) -> Callable[[Callable[..., Floats]], FusionMethod]:
    """Declare a fusion method: decorate a function from `FusionInput` to one score per item.

    The function's keyword-only arguments are the method's parameters. The name then works in `rs.fuse` and in
    `rankstone fuse`.

    Parameters
    ----------
    name : str
        Name of the method.
    aliases : iterable of str, default ()
        Other names that are accepted.
    formula : str, default ""
        Formula in words for definitions; `<k>` stands for the value of parameter k.
    reads : {"score", "rank"}, default "score"
        Whether the method reads scores or only ranks. With "rank", runs need no scores and `norm` does not apply.
    weighted : str, default ""
        Effect of a run's weight, in a few words. If empty, `weights` is an error.

    Returns
    -------
    callable
        A decorator that returns the `FusionMethod`.

    Raises
    ------
    ValueError
        If the name is taken, or `reads` is unknown.

    Examples
    --------
    >>> @rs.fusion.method("votes_squared", reads="rank")  # doctest: +SKIP
    ... def votes_squared(rows):
    ...     '''Square of the number of runs that returned the item.'''
    ...     return rows.count**2
    >>> rs.fuse([{"q": ["a", "b"]}, {"q": ["b"]}], "votes_squared").to_dict()  # doctest: +SKIP
    {'q': {'b': 4.0, 'a': 1.0}}
    """
    if reads not in ("score", "rank"):
        raise InputError(f"reads={reads!r}; choose from 'score', 'rank'")
    return lambda function: methods.declare(
        FusionMethod(name, function, formula, reads, weighted, aliases=tuple(aliases))
    )


_TERM = "each run's term times its weight"
Constant = Annotated[float, Parameter("added to the rank: the larger, the less the top ranks dominate", at_least=0)]
Gamma = Annotated[float, Parameter("exponent of the number of runs that returned the item", at_least=0)]
Sigma = Annotated[float, Parameter("added to the number of runs, so that items of one run score above 0", above=0)]
Persisting = Annotated[float, Parameter("probability of going on to the next rank", above=0, below=1)]


# -- by ranks ------------------------------------------------------------------------------------------------


@method("rrf", formula="sum of 1 / (<k> + rank)", reads="rank", weighted=_TERM)
def rrf(rows: FusionInput, *, k: Constant = 60) -> Floats:
    """Reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009)."""
    return rows.sum(rows.weight / (k + rows.rank))


@method("isr", formula="number of runs x sum of 1 / rank^2", reads="rank", weighted=_TERM)
def isr(rows: FusionInput) -> Floats:
    """Inverse square ranks (Mourão, Martins and Magalhães, 2014)."""
    return rows.count * rows.sum(rows.weight / rows.rank**2)


@method("log_isr", formula="ln(number of runs) x sum of 1 / rank^2", reads="rank", weighted=_TERM)
def log_isr(rows: FusionInput) -> Floats:
    """Inverse square ranks, times the logarithm of the number of runs: 0 for an item of one run."""
    return np.log(rows.count) * rows.sum(rows.weight / rows.rank**2)


@method("logn_isr", formula="ln(number of runs + <sigma>) x sum of 1 / rank^2", reads="rank", weighted=_TERM)
def logn_isr(rows: FusionInput, *, sigma: Sigma = 0.01) -> Floats:
    """Inverse square ranks, times a logarithm that is above 0 for an item of one run."""
    return np.log(rows.count + sigma) * rows.sum(rows.weight / rows.rank**2)


@method("rbc", formula="sum of (1 - <p>) <p>^(items above)", reads="rank", weighted=_TERM)
def rbc(rows: FusionInput, *, p: Persisting = 0.8) -> Floats:
    """Rank-biased centroids (Bailey, Moffat, Scholer and Thomas, 2017)."""
    return rows.sum(rows.weight * ((1 - p) * p**rows.above))


@method(
    "borda",
    aliases=("bordafuse", "w_bordafuse"),
    formula="sum of candidates - items above, or of (candidates - length + 1) / 2 if the run did not return the item",
    reads="rank",
    weighted=_TERM,
)
def borda(rows: FusionInput) -> Floats:
    """Borda count: points for items ranked below; unreturned items share what is left (Aslam and Montague, 2001)."""
    absent = rows.absent
    returned = rows.sum(rows.weight * (rows.candidates - rows.above))
    return returned + absent.sum(absent.weight * ((absent.candidates - absent.length + 1) / 2))


# -- by scores -----------------------------------------------------------------------------------------------


@method("comb_sum", aliases=("sum", "combsum", "wsum"), formula="sum of the scores", weighted=_TERM)
def comb_sum(rows: FusionInput) -> Floats:
    """CombSUM: sum of the scores (Fox and Shaw, 1993)."""
    return rows.sum(rows.weight * rows.score)


@method(
    "comb_mnz",
    aliases=("mnz", "combmnz", "wmnz"),
    formula="number of runs x sum of the scores",
    weighted="sum of the weights of the runs that returned the item, instead of their number",
)
def comb_mnz(rows: FusionInput) -> Floats:
    """CombMNZ: sum of the scores, times the number of runs that returned the item (Fox and Shaw, 1993)."""
    return rows.sum(rows.weight) * rows.sum(rows.score)


@method(
    "comb_gmnz",
    aliases=("gmnz", "combgmnz"),
    formula="(number of runs)^<gamma> x sum of the scores",
    weighted=_TERM,
)
def comb_gmnz(rows: FusionInput, *, gamma: Gamma = 1.0) -> Floats:
    """CombGMNZ: sum of the scores, times a power of the number of runs that returned the item (Lee, 1997)."""
    return rows.count**gamma * rows.sum(rows.weight * rows.score)


@method("mixed", formula="sqrt(number of runs) x sum of the scores", weighted=_TERM)
def mixed(rows: FusionInput) -> Floats:
    """Between CombSUM and CombMNZ (Wu and Crestani, 2002)."""
    return comb_gmnz.function(rows, gamma=0.5)


@method("comb_anz", aliases=("anz", "combanz", "mean"), formula="mean of the scores in the runs that returned the item")
def comb_anz(rows: FusionInput) -> Floats:
    """CombANZ: mean of the scores (Fox and Shaw, 1993)."""
    return rows.sum(rows.score) / rows.count


@method("comb_min", aliases=("min", "combmin"), formula="lowest of the scores in the runs that returned the item")
def comb_min(rows: FusionInput) -> Floats:
    """CombMIN: lowest score (Fox and Shaw, 1993)."""
    return rows.lowest(rows.score)


@method("comb_max", aliases=("max", "combmax"), formula="highest of the scores in the runs that returned the item")
def comb_max(rows: FusionInput) -> Floats:
    """CombMAX: highest score (Fox and Shaw, 1993)."""
    return rows.highest(rows.score)


@method(
    "comb_med", aliases=("med", "combmed", "median"), formula="median of the scores in the runs that returned the item"
)
def comb_med(rows: FusionInput) -> Floats:
    """CombMED: median score (Fox and Shaw, 1993)."""
    return rows.median(rows.score)
