"""Train-test splits of interactions: `rs.split.leave_last_out(frame)`.

Rows are drawn by their content (user, item and time) and the seed, never by their position, so the same rows in another
order are split alike. Ties are broken by item, then by the other columns; identical rows are interchangeable.
"""

from rankstone.splits.interactions import Report, Split
from rankstone.splits.strategies import (
    at_time,
    folds,
    leave_last_out,
    leave_one_out,
    negatives,
    per_user,
    random,
    sampled,
)

__all__ = [
    "Report",
    "Split",
    "at_time",
    "folds",
    "leave_last_out",
    "leave_one_out",
    "negatives",
    "per_user",
    "random",
    "sampled",
]


def __dir__() -> list[str]:
    return __all__
