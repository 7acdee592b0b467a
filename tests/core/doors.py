"""The core's doors with the options of an alignment as keywords."""

from typing import Any

from rankstone import _core
from rankstone.align.alignment import Alignment
from rankstone.data.source import AlignOptions


def align_dicts(truth: Any, run: Any, **options: Any) -> Alignment:
    return _core.align_dicts(truth, run, AlignOptions(**options))


def align_columns(
    truth_query: Any, truth_item: Any, truth_grade: Any, run_query: Any, run_item: Any, run_score: Any, **options: Any
) -> Alignment:
    return _core.align_columns(
        truth_query, truth_item, truth_grade, run_query, run_item, run_score, AlignOptions(**options)
    )


def align_lists(
    truth_offsets: Any,
    truth_items: Any,
    truth_grades: Any,
    run_offsets: Any,
    run_items: Any,
    run_scores: Any,
    run_rows: Any = None,
    names: Any = None,
    **options: Any,
) -> Alignment:
    return _core.align_lists(
        truth_offsets,
        truth_items,
        truth_grades,
        run_offsets,
        run_items,
        run_scores,
        run_rows,
        AlignOptions(**options),
        names,
    )


def align_dense(scores: Any, labels: Any, mask: Any = None, **options: Any) -> Alignment:
    return _core.align_dense(scores, labels, mask, AlignOptions(**options))
