"""Normalisations: the scores of each list brought to one scale, before they are fused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.errors import Advice, DataError, Hint

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
