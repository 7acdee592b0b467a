"""Wilcoxon's signed-rank test and the sign test; random sign patterns of the randomisation tests."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, ndtr

from rankstone.data.annotations import Floats, Ints
from rankstone.errors import InputError
from rankstone.progress import watched
from rankstone.statistics.intervals import proportion_interval
from rankstone.statistics.power import ALTERNATIVES
from rankstone.statistics.student_t import choice, cluster_numbers, differences, finite

EXACT_BY_ITSELF = 200  # sign patterns of so many ranks are counted in milliseconds
EXACT_AT_MOST = 1000  # takes seconds; 2 ** -1000 is about the smallest share that a float holds
NOISE = 1e-12  # of the largest difference: 0.3 - 0.2 and 0.2 - 0.1 are the same


class Wilcoxon(NamedTuple):
    """Result of Wilcoxon's signed-rank test.

    Attributes
    ----------
    statistic, v : float
        The smaller rank sum, and the rank sum of the positive differences.
    z : float
        Standardised statistic.
    p, greater, less : float
        p-value of the chosen alternative, and the one-sided ones.
    sizes : int
        Number of distinct absolute differences above 0.
    exact : bool
        Whether all sign patterns were counted.
    """

    statistic: float
    v: float
    z: float
    p: float
    greater: float
    less: float
    sizes: int
    exact: bool


class Sign(NamedTuple):
    """Result of the sign test.

    Attributes
    ----------
    wins, ties, losses : int
        Number of positive, zero and negative differences.
    m : float
        (wins - losses) / 2.
    p, greater, less : float
        Two-sided and one-sided p-values.
    share, low, high : float
        Share of wins among wins and losses, and its confidence interval.
    """

    wins: int
    ties: int
    losses: int
    m: float
    p: float
    greater: float
    less: float
    share: float
    low: float
    high: float


def _sizes(difference: Floats) -> Ints:
    """A number for each size of difference, rising, 0 for none. Sizes that lie together as near as noise are one."""
    size = np.concatenate(([0.0], np.abs(difference)))
    order = np.argsort(size)
    gaps = np.diff(size[order]) > NOISE * size.max()
    numbers = np.empty(size.size, dtype=np.int64)
    numbers[order] = np.concatenate(([0], np.cumsum(gaps)))
    return numbers[1:]


def _patterns(ranks: Floats) -> Floats:
    """How often each sum of ranks comes up if each has a coin of its own; ranks are whole or half, sums doubled."""
    doubled = np.sort(np.rint(2 * ranks).astype(np.int64))
    shares = np.zeros(int(doubled.sum()) + 1)
    shares[0] = 0.5**doubled.size
    top = 1
    for rank in doubled.tolist():
        shares[rank : top + rank] += shares[:top]
        top += rank
    return shares


def wilcoxon(
    difference: ArrayLike,
    *,
    zeros: str = "wilcox",
    correction: bool = False,
    method: str = "auto",
    alternative: str = "two-sided",
) -> Wilcoxon:
    """Wilcoxon's signed-rank test (1945) that the differences are symmetric about 0; not a test of the mean.

    Parameters
    ----------
    difference : array_like
        One difference per query. Absolute differences that differ by rounding errors only are tied.
    zeros : str, default "wilcox"
        "wilcox" drops differences of 0, "pratt" (Pratt 1959) drops them after ranking, "zsplit" splits their ranks.
    correction : bool, default False
        Continuity correction of the normal approximation.
    method : str, default "auto"
        "exact" (with ties, too), "asymptotic" (normal approximation), or "auto": exact up to 200 nonzero differences.
    alternative : str, default "two-sided"
        "two-sided", "greater" or "less".

    Returns
    -------
    Wilcoxon
        With p = 1 if all differences are 0.

    Examples
    --------
    >>> rs.statistics.wilcoxon([1.1, -0.4, 2.3, 0.9, -1.7, 3.1, 0.2, 1.6]).p
    0.1953125
    """
    choice(zeros, "zeros", ("wilcox", "pratt", "zsplit"))
    choice(method, "method", ("auto", "exact", "asymptotic"))
    choice(alternative, "alternative", ALTERNATIVES)
    array = differences(difference)
    numbers = _sizes(array)
    sizes = int(numbers.max())
    if zeros == "wilcox":
        array, numbers = array[numbers > 0], numbers[numbers > 0]
    counts = np.bincount(numbers, minlength=1)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[numbers]
    moves = numbers > 0
    half = float(ranks[~moves].sum()) / 2 if zeros == "zsplit" else 0.0
    v, opposite = float(ranks[moves & (array > 0)].sum()), float(ranks[moves & (array < 0)].sum())
    statistic = min(v, opposite) + half
    n = int(moves.sum())
    exact = method == "exact" or (method == "auto" and n <= EXACT_BY_ITSELF)
    if n == 0:
        return Wilcoxon(statistic, v + half, math.nan, 1.0, 1.0, 1.0, sizes, exact)

    used = ranks if zeros == "zsplit" else ranks[moves]
    error = math.sqrt(float((used**2).sum())) / 2
    distance = (v - opposite) / 2
    off = 0.5 if correction and not exact else 0.0
    z = math.copysign(abs(distance) - off, distance) / error if distance else 0.0
    if exact:
        if n > EXACT_AT_MOST:
            raise InputError(f"method='exact' is for at most {EXACT_AT_MOST} differences that are not 0; there are {n}")
        shares = _patterns(ranks[moves])
        at = round(2 * v)
        greater, less = float(shares[at:].sum()), float(shares[: at + 1].sum())
        both = 2 * min(greater, less)
    else:
        greater, less = float(ndtr(-(distance - off) / error)), float(ndtr((distance + off) / error))
        both = 2 * float(ndtr(-abs(z)))
    p = {"two-sided": min(1.0, both), "greater": min(1.0, greater), "less": min(1.0, less)}[alternative]
    return Wilcoxon(statistic, v + half, z, p, min(1.0, greater), min(1.0, less), sizes, exact)


def sign_test(difference: ArrayLike, confidence: float = 0.95) -> Sign:
    """Sign test (Arbuthnot 1710) that as many queries win as lose; ties are left out.

    Parameters
    ----------
    difference : array_like
        One difference per query.
    confidence : float, default 0.95
        Confidence level of the exact interval of the share of wins (Clopper and Pearson 1934).

    Returns
    -------
    Sign

    Examples
    --------
    >>> rs.statistics.sign_test([0.5, 0.25, 0.0, -0.125]).wins
    2
    """
    array = differences(difference)
    wins, losses = int((array > 0).sum()), int((array < 0).sum())
    n = wins + losses
    ties = array.size - n
    portion, low, high = math.nan, 0.0, 1.0
    if n:
        interval = proportion_interval(wins, n, confidence, "exact")
        portion, low, high = wins / n, float(interval.low), float(interval.high)
    greater, less = float(bdtr(losses, n, 0.5)), float(bdtr(wins, n, 0.5))
    p = min(1.0, 2 * min(greater, less))
    return Sign(wins, ties, losses, (wins - losses) / 2, p, greater, less, portion, low, high)


Singles = NDArray[np.float32]
Real = TypeVar("Real", np.float32, np.float64)
T = TypeVar("T")

TIE = 1e-9  # of the sum of the sizes of the differences: sums nearer than this are equal
CHUNK = 4096  # flips of one job; a multiple of 4, for Philox gives four words a step
_CELLS = 1 << 19  # signs at a time: small enough for a processor's cache
_ALL_CELLS = 1 << 21  # of all threads together
_DEEP, _WIDE, _TILE = 112, 64, 1 << 18  # queries and columns of a tile, and its products; see `product`
_EVEN = 8  # rows; what the inner loops of a BLAS take at a time
_SMALL = 1 << 22  # products for which a second thread costs more than it gains
_NOTHING = 1e-12  # of the largest difference: what is left where equal values were added in another order

_WHOLE = float(2**53 - 2**44)  # whole numbers whose sizes add up to this are exact in float64, with room for rounding
_COARSE = float(2**24 - 2**8)  # the same in float32

# Row i holds the signs that the bits of byte i stand for.
_EIGHT: Singles = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float32) * 2 - 1


class Signs:
    """`count` flips of `width` signs: flip i is the same in whatever chunk; drawn, or explicit."""

    def __init__(self, count: int, width: int, seed: int, patterns: Singles | None = None) -> None:
        self.count, self.width, self._patterns = count, width, patterns
        self.cells = _CELLS
        self.tiles = max(1, -(-width // _DEEP))
        # In tiles of equal size and in whole bytes; the signs after `width` are to be multiplied by zeros.
        self.padded = max(1, -(-width // (8 * self.tiles))) * 8 * self.tiles
        self._words = -(-self.padded // 64)
        self._key = np.random.SeedSequence(seed).generate_state(2, np.uint64)

    def blocks(self, start: int, stop: int) -> Iterator[Singles]:
        """The flips from `start` to `stop` as rows of 1 and -1; the next block overwrites the one before."""
        size = max(1, self.cells // self.padded)
        out = np.ones((min(size, stop - start), self.padded), dtype=np.float32)
        generator = np.random.Philox(counter=start * self._words // 4, key=self._key)
        for first in range(start, stop, size):
            block = out[: min(size, stop - first)]
            if self._patterns is not None:
                block[:, : self.width] = self._patterns[first : first + len(block)]
            else:
                words = np.asarray(generator.random_raw(len(block) * self._words), dtype="<u8")
                octets = words.view(np.uint8).reshape(len(block), -1)[:, : self.padded // 8]
                np.take(_EIGHT, octets, axis=0, out=block.reshape(len(block), -1, 8), mode="clip")
            yield block

    def product(self, block: NDArray[Real], columns: NDArray[Real]) -> NDArray[Real]:
        """`block @ columns` for whole numbers, in tiles that a BLAS takes with one thread.

        Its own threads wait for each other in every product, which takes many times as long where a core is busy.
        """
        deep, count = self.padded // self.tiles, len(block)
        product = np.empty((count, columns.shape[1]), dtype=columns.dtype)
        for left in range(0, columns.shape[1], _WIDE):
            right = columns[:, left : left + _WIDE].reshape(self.tiles, 1, deep, -1)
            high = max(_EVEN, _TILE // (deep * right.shape[3]) // _EVEN * _EVEN)
            even = count - count % high
            for start, stop, rows in ((0, even, high), (even, count, count - even)):
                if start < stop:
                    tiles = block[start:stop].reshape(-1, rows, self.tiles, deep).transpose(2, 0, 1, 3)
                    sums = np.matmul(tiles, right).sum(axis=0)
                    product[start:stop, left : left + _WIDE] = sums.reshape(stop - start, -1)
        return product


def whole(columns: Floats, scale: Floats | float) -> Floats:
    """Columns in units so small that `scale`, a bound on the sum of their sizes, is just below 2 ** 53; rounded."""
    return np.rint(columns / scale * _WHOLE)


class Coarse(NamedTuple):
    """Columns of whole numbers, rounded so that float32 has room for them, and how far that is from the truth."""

    columns: Singles
    unit: float
    rest: Floats  # what rounding left, in the units of the fine columns
    sums: Floats  # by column: how far a signed sum can be off because tiles are added up in float32; the same units


def coarse(fine: Floats, signs: Signs) -> Coarse:
    """Whole numbers in units so large that the signed sums of a tile are exact in float32."""
    sizes = np.abs(fine).reshape(signs.tiles, -1, fine.shape[1]).sum(axis=1)
    unit = 2.0 ** math.ceil(math.log2(max(sizes.max() / _COARSE, 1.0)))
    columns = np.rint(fine / unit)
    sums = signs.tiles * 2.0**-23 * np.abs(columns).sum(axis=0) * unit
    return Coarse(columns.astype(np.float32), unit, fine - columns * unit, sums)


def padded(columns: Floats, rows: int) -> Floats:
    """With rows of zeros at the end."""
    return np.concatenate([columns, np.zeros((rows - len(columns), columns.shape[1]))])


def counts(job: Callable[[int, int], Ints], signs: Signs, columns: int, threads: int) -> Ints:
    """The job's counts for all flips, chunk by chunk, added up; whole numbers, so the order does not matter."""
    chunks = [(start, min(start + CHUNK, signs.count)) for start in range(0, signs.count, CHUNK)]
    workers = 1 if signs.count * signs.padded * columns < _SMALL else min(workers_of(threads), len(chunks))
    signs.cells = min(_CELLS, _ALL_CELLS // workers)
    return add_up(lambda chunk: job(*chunk), chunks, workers, "flipping signs")


def add_up(job: Callable[[T], Any], tasks: Sequence[T], workers: int, words: str) -> Any:
    """The sum of a job's answers to all tasks."""
    with watched(words) as progress, ThreadPoolExecutor(workers) as pool:
        return sum(progress.of((pool.map if workers > 1 else map)(job, tasks), len(tasks)))


def workers_of(threads: int) -> int:
    """`threads`, or as many as there are cores for 0."""
    if threads < 0:
        raise InputError(f"threads={threads}, but it must be 0 (all cores) or more")
    if threads:
        return threads
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def checked(values: ArrayLike, name: str) -> Floats:
    """A matrix of finite numbers, one row per query; a vector is one column."""
    matrix = finite(values, name, (1, 2))
    if len(matrix) == 0:
        raise InputError("there is no query to flip")
    return matrix[:, None] if matrix.ndim == 1 else matrix


def units(matrix: Floats, clusters: ArrayLike | None) -> Floats:
    """What gets one sign each: the queries, or the sums of clusters; what is nothing but rounding errors is 0."""
    if clusters is not None:
        codes = cluster_numbers(clusters, len(matrix))
        sums = np.stack([np.bincount(codes, column) for column in matrix.T], axis=1)
        sizes = np.stack([np.bincount(codes, column) for column in np.abs(matrix).T], axis=1)
        matrix = np.where(np.abs(sums) <= _NOTHING * sizes, 0.0, sums)
    sizes = np.abs(matrix)
    return np.where(sizes <= _NOTHING * sizes.max(axis=0), 0.0, matrix)


def check_resamples(resamples: int) -> int:
    """How often to draw: at least once."""
    if resamples < 1:
        raise InputError(f"resamples={resamples}, but it must be 1 or more")
    return resamples


def make_signs(resamples: int, seed: int, mask: Any, patterns: Any) -> Signs:
    """Signs of the units in the mask: drawn ones, or the columns of explicit patterns."""
    width = int(np.count_nonzero(mask))
    if patterns is None:
        return Signs(check_resamples(resamples), width, seed)
    matrix = np.asarray(patterns)
    if matrix.ndim != 2 or matrix.shape[1] != len(mask) or len(matrix) == 0:
        raise InputError(f"signs has the shape {matrix.shape}, but it needs rows of {len(mask)} signs")
    if not (np.abs(matrix) == 1).all():
        raise InputError("signs must be 1 or -1")
    return Signs(len(matrix), width, seed, matrix[:, mask].astype(np.float32))
