"""Arrow arrays out of pandas series, for Spark before 4.1, whose functions get nothing else."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def from_series(series: Any) -> pa.Array:
    """A series as an Arrow array: arrays are lists, rows are structs, dicts are maps."""
    first = next((one for one in series if one is not None), None)
    if isinstance(first, dict):
        pairs = [None if one is None else list(one.items()) for one in series]
        keys, items = (pa.array([pair[at] for one in pairs if one for pair in one]) for at in range(2))
        return pa.array(pairs, pa.map_(keys.type, items.type))
    if isinstance(first, str) or not hasattr(first, "__len__"):
        return pa.array(series, from_pandas=True)
    return pa.array([None if one is None else [_plain(item) for item in one] for one in series])


def to_series(array: pa.Array) -> Any:
    """Null where there is no value. (NaN is null too, as pandas has only one of them.)"""
    return array.to_pandas()


def _plain(item: Any) -> Any:
    if hasattr(item, "asDict"):
        return item.asDict()
    return item.item() if hasattr(item, "item") else list(item) if hasattr(item, "tolist") else item
