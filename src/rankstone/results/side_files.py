"""Truths and runs in any form, written as files that other tools read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankstone.data.columns import Columns
from rankstone.data.files import Path
from rankstone.data.loaders import opened
from rankstone.data.tables import as_columns
from rankstone.results.export import write_side

if TYPE_CHECKING:
    from rankstone.typing import Run, Truth


def write_truth(
    truth: Truth,
    path: Path,
    *,
    format: str | None = None,  # noqa: A002
    tag: str = "rankstone",
) -> None:
    """Write relevance judgements to a file, as another tool reads them.

    Parameters
    ----------
    truth : truth-like
        Judgements in any form: dicts, a table, `rs.columns`, `rs.lists`, a file.
    path : str or path-like
        The file; `-` for standard output. The endings .gz, .bz2, .xz and .zst compress.
    format : str, optional
        One of "trec", "csv", "tsv", "jsonl", "parquet", "opensearch" (judgements to import into the Search Relevance
        Workbench), "rank-eval" (requests of `_rank_eval` with ratings), "quepid" (`query,docid,rating`) and "beir".
        By file extension if omitted.
    tag : str, default "rankstone"
        Name of the judgements in "opensearch", of the index in "rank-eval".

    Raises
    ------
    ValueError
        If the format cannot hold the ids or the grades.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "ratings.csv")
    >>> rs.write_truth({"q1": {"d1": 2, "d2": 0}}, path, format="quepid")
    >>> print(path.read_text().strip())
    query,docid,rating
    q1,d1,2
    q1,d2,0
    """
    write_side(_rows_of(truth, "truth"), path, "truth", format, tag)


def write_run(
    run: Run,
    path: Path,
    *,
    format: str | None = None,  # noqa: A002
    tag: str = "rankstone",
) -> None:
    """Write a run to a file, as another tool reads it.

    Parameters
    ----------
    run : run-like
        Ranked lists in any form: dicts, a table, `rs.columns`, `rs.lists`, a file.
    path : str or path-like
        The file; `-` for standard output. The endings .gz, .bz2, .xz and .zst compress.
    format : str, optional
        One of "trec", "csv", "tsv", "jsonl", "parquet" and "mteb" (predictions). By file extension if omitted.
    tag : str, default "rankstone"
        Last field of a TREC run, name of the model in "mteb".

    Raises
    ------
    ValueError
        If the format cannot hold the ids.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "bm25.run")
    >>> rs.write_run({"q1": {"d1": 0.5, "d2": 0.25}}, path, tag="bm25")
    >>> print(path.read_text().strip())
    q1 Q0 d1 1 0.5 bm25
    q1 Q0 d2 2 0.25 bm25
    """
    write_side(_rows_of(run, "run"), path, "run", format, tag)


def _rows_of(side: Truth | Run, kind: str) -> Columns:
    """A truth or a run in any form as rows; a run's order as scores."""
    rows = as_columns(opened(side, kind, None), kind)
    if kind == "truth" or rows.score is not None:
        return rows
    return replace(rows, score=-np.arange(len(rows.query), dtype=np.float64))
