"""All sign patterns without looking at each: by meeting in the middle, or on a grid."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import bdtr

from rankstone.align.alignment import Floats, Ints
from rankstone.statistics.signs import TIE, whole

MOST = 36  # differences for which two halves meet in a tenth of a second
_FEW = 16  # differences for which it is not worth to look for a grid
_GRIDS = np.array([*range(1, 1001), 2520, 10_000], dtype=float)  # 2520: ranks up to 10; 10,000: four decimals
_STEPS = 10**8  # of a convolution: below a tenth of a second
_PROBES = 8
_WHOLE_COUNTS = 53  # up to here numbers of patterns are exact in float64


class Tails(NamedTuple):
    """Of a sum that is not negative: how often a pattern's sum is as large, and how often it is larger."""

    as_large: float
    larger: float
    patterns: float  # how many patterns are as large; NaN if that is not a whole number in float64


def exact_tails(sizes: Floats, observed: float) -> Tails | None:
    """The tails of the sum of sizes with random signs, `observed` being one such sum; None if they cannot be had."""
    n = len(sizes)
    if n > _FEW:
        grid = on_grid(sizes)
        if grid is not None:
            steps, unit = grid
            found = _by_convolution(steps, round(observed / unit))
            if found is not None:
                return found
    return _by_halves(sizes, observed) if n <= MOST else None


def on_grid(sizes: Floats) -> tuple[Ints, float] | None:
    """Sizes as multiples of a unit 1/q, and that unit; None if there is no modest q."""
    total = sizes.sum()
    # If rounding to the grid moves no sum by more than a fourth of what counts as equal, no tie is won or lost.
    allowed = TIE / 4 * total
    probes = np.unique(sizes[: 4 * _PROBES])[:_PROBES, None] * _GRIDS
    near = (np.abs(probes - np.rint(probes)) <= allowed * _GRIDS).all(axis=0)
    for q in _GRIDS[near].tolist():
        steps = np.rint(sizes * q)
        if np.abs(sizes * q - steps).sum() <= allowed * q and steps.sum() * 4 * TIE < 1:
            whole_steps = steps.astype(np.int64)
            divisor = int(np.gcd.reduce(whole_steps))
            if divisor:
                return whole_steps // divisor, divisor / q
    return None


def _by_convolution(steps: Ints, observed: int) -> Tails | None:
    """Half the rest is what the negative ones add up to: T = (sum - S) / 2, so count the subsets up to there."""
    n, total = len(steps), int(steps.sum())
    reach = (total - observed) // 2
    if steps.min() == steps.max() and n > 1000:
        # S >= observed says that at most `reach` signs are negative.
        return Tails(float(bdtr(reach, n, 0.5)), float(bdtr(reach - 1, n, 0.5)) if reach else 0.0, math.nan)
    if n * (reach + 1) > _STEPS:
        return None
    ways, spare = np.zeros(reach + 1), np.zeros(reach + 1)
    ways[0] = 1.0
    top, shift = 0, 0
    for number, step in enumerate(np.sort(steps).tolist()):
        top = min(reach, top + step)
        spare[: top + 1] = ways[: top + 1]
        if step <= top:
            spare[step : top + 1] += ways[: top + 1 - step]
        ways, spare = spare, ways
        # 2 ** 1000 patterns and no more, so that all stay below the largest float; what falls below the smallest
        # cannot be seen in p either.
        if number >= 1000 and number % 16 == 0:
            ways *= 2.0**-16
            shift += 16
    larger = ways[:reach].sum()
    as_large = larger + ways[reach]
    count = float(as_large) if n <= _WHOLE_COUNTS else math.nan
    return Tails(math.ldexp(as_large, shift - n), math.ldexp(larger, shift - n), count)


def _by_halves(sizes: Floats, observed: float) -> Tails:
    """Each sum of all is a sum of one half plus one of the other, and those of a half are few enough to be sorted."""
    scale = sizes.sum()
    numbers = whole(sizes, scale)
    observed = float(whole(np.asarray(observed), scale))
    first, second = _sums(numbers[::2]), _sums(numbers[1::2])
    slack = TIE * numbers.sum()

    def above(bound: float, side: str) -> int:
        below = np.searchsorted(second, bound - first, side=side)  # type: ignore[call-overload]
        return len(first) * len(second) - int(below.sum())

    patterns = 2.0 ** len(sizes)
    as_large = above(observed - slack, "left")
    return Tails(as_large / patterns, above(observed + slack, "right") / patterns, float(as_large))


def _sums(numbers: Floats) -> Floats:
    """The sums of all sign patterns, in order."""
    sums = np.zeros(1)
    for number in numbers.tolist():
        sums = np.concatenate([sums - number, sums + number])
    return np.sort(sums)
