"""Arrow arrays out of pandas series, for Spark before 4.1, whose functions get nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import pandas


def from_series(series: pandas.Series) -> pa.Array:
    """A series as an Arrow array: arrays are lists, rows are structs, dicts are maps."""
    first = next((value for value in series if value is not None), None)
    if isinstance(first, dict):
        pairs = [None if value is None else list(value.items()) for value in series]
        keys, items = (pa.array([pair[at] for of_row in pairs if of_row for pair in of_row]) for at in range(2))
        return pa.array(pairs, pa.map_(keys.type, items.type))
    if isinstance(first, str) or not hasattr(first, "__len__"):
        return pa.array(series, from_pandas=True)
    return pa.array([None if value is None else [_plain(item) for item in value] for value in series])


def to_series(array: pa.Array) -> pandas.Series:
    """Null where there is no value. (NaN is null too, as pandas has only one of them.)"""
    return array.to_pandas()


def _plain(item: Any) -> Any:
    if hasattr(item, "asDict"):
        return item.asDict()
    return item.item() if hasattr(item, "item") else list(item) if hasattr(item, "tolist") else item
