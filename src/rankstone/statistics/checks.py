"""What goes into a test: numbers, all finite, and enough of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from rankstone.data.annotations import Floats, Ints


def finite(values: ArrayLike, name: str, dimensions: tuple[int, ...] = (1,)) -> Floats:
    """The values as an array of floats; a ValueError says where one is NaN or infinite."""
    array = np.asarray(values, dtype=float)
    if array.ndim not in dimensions:
        wanted = " or ".join(str(one) for one in dimensions)
        raise ValueError(f"{name} has {array.ndim} dimensions, not {wanted}")
    if not np.isfinite(array).all():
        place = tuple(int(one) for one in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name}[{', '.join(map(str, place))}] is {array[place]}, not a finite number")
    return array


def paired(first: ArrayLike, second: ArrayLike, names: tuple[str, str] = ("first", "second")) -> tuple[Floats, Floats]:
    """Two arrays of one length, a place for each query."""
    one, two = finite(first, names[0]), finite(second, names[1])
    if one.shape != two.shape:
        raise ValueError(f"{names[0]} has {one.size} values, {names[1]} has {two.size}")
    return one, two


def differences(values: ArrayLike) -> Floats:
    """Differences of queries; at least one."""
    array = finite(values, "difference")
    if array.size == 0:
        raise ValueError("there is no query to compare")
    return array


def layout(scores: ArrayLike) -> Floats:
    """A matrix with a row for each query and a column for each run; at least two of each."""
    array = finite(scores, "scores", (2,))
    if min(array.shape) < 2:
        rows, columns = array.shape
        raise ValueError(f"scores has {rows} queries and {columns} runs; at least 2 of each are needed")
    return array


def cluster_numbers(clusters: ArrayLike, n: int) -> Ints:
    """Clusters as numbers from 0 without gaps, whatever they are called."""
    array = np.asarray(clusters)
    if array.shape != (n,):
        raise ValueError(f"clusters has the shape {array.shape}, but there are {n} values")
    return np.unique(array, return_inverse=True)[1].astype(np.int64, copy=False)


def level(value: float, name: str) -> float:
    """A confidence, level or power: more than 0, less than 1."""
    if not 0 < value < 1:
        raise ValueError(f"{name}={value!r} is not between 0 and 1")
    return float(value)


def choice(value: str, name: str, choices: Iterable[str]) -> str:
    """One of the choices, or a ValueError that names them."""
    known = list(choices)
    if value not in known:
        raise ValueError(f"{name}={value!r} is not one of {', '.join(map(repr, known))}")
    return value
