"""SciPy sparse matrices, users by items: what is stored is what was judged or returned."""

from __future__ import annotations

from typing import Any

from rankstone.inputs.lists import Lists


def is_sparse(one: Any) -> bool:
    return type(one).__module__.startswith("scipy.sparse")


def from_sparse(matrix: Any) -> Lists:
    """One list a row; the column numbers are the items."""
    rows = matrix.tocsr()
    if not rows.has_canonical_format:  # a cell stored twice is their sum, as everywhere in SciPy
        rows = rows.copy()
        rows.sum_duplicates()
    return Lists(rows.indptr, rows.indices, rows.data)
