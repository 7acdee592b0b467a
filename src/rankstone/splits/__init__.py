"""Interactions in two parts, to train on and to test on: `rs.split.leave_last_out(frame)`.

A row's lot is drawn from what it holds (user, item and time) and from the seed, never from where it stands, so the same
rows in another order are split alike. Rows that draw the same, or have the same time, are told apart by the item,
then by their other columns; rows alike in every column may take each other's place.
"""

from rankstone.splits.cut import at_time, folds, leave_last_out, leave_one_out, negatives, per_user, random, sampled
from rankstone.splits.interactions import Report, Split

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
