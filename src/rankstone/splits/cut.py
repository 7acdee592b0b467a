"""Ways to cut interactions in two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np

from rankstone.data.arrow import Frame
from rankstone.progress import watched
from rankstone.splits.draw import dealt, highest
from rankstone.splits.interactions import Interactions, Time, checked_count
from rankstone.splits.report import Split


@watched("splitting")
def random(
    frame: Frame, share: float = 0.2, *, seed: int = 0, minimum: int = 1, columns: Mapping[str, str] | None = None
) -> Split:
    """A share of all rows for the test, drawn at random."""
    data = Interactions(frame, columns, minimum)
    count = round(_checked_share(share) * len(data))
    if not 0 < count < len(data):
        raise ValueError(f"a share of {share} of {len(data)} rows leaves a part empty")
    test = highest(data.alone, np.array([count]), data.at_random(seed))
    return data.split(test, f"{100 * share:g}% of all rows at random, seed {seed}")


@watched("splitting")
def per_user(
    frame: Frame,
    *,
    share: float | None = None,
    count: int | None = None,
    by: Literal["random", "time"] = "random",
    seed: int = 0,
    minimum: int = 1,
    columns: Mapping[str, str] | None = None,
) -> Split:
    """A share of each user's rows, or a count of them, for the test: at random or the latest.

    A share is rounded to a whole number of rows. Every user keeps a row to train on: who has too few to give up `count`
    of them gives none.
    """
    if (share is None) == (count is None):
        raise TypeError("give a share or a count, one of them")
    if by not in ("random", "time"):
        raise ValueError(f"by={by!r}; choose 'random' or 'time'")
    data = Interactions(frame, columns, minimum)
    sizes = data.sizes
    if share is not None:
        take = np.minimum(np.rint(_checked_share(share) * sizes).astype(np.int64), np.maximum(sizes - 1, 0))
        what = f"{100 * share:g}%"
    else:
        number = checked_count("count", count)
        take = np.where(sizes > number, number, 0)
        what = f"{number:,}"
    if not take.any():
        raise ValueError(f"no user has rows enough to give up {what}; the most that one has is {sizes.max()}")
    if by == "random":
        test = highest(data.users, take, data.at_random(seed))
        return data.split(test, f"{what} of each user's rows at random, seed {seed}")
    test = highest(data.users, take, data.by_time())
    return data.split(test, f"the last {what} of each user's rows by time, then by item")


def leave_last_out(frame: Frame, n: int = 1, *, minimum: int = 1, columns: Mapping[str, str] | None = None) -> Split:
    """Each user's last n rows by time for the test; of equal times, the higher item is the later."""
    return per_user(frame, count=n, by="time", minimum=minimum, columns=columns)


def leave_one_out(frame: Frame, *, seed: int = 0, minimum: int = 1, columns: Mapping[str, str] | None = None) -> Split:
    """One row of each user for the test, drawn at random."""
    return per_user(frame, count=1, seed=seed, minimum=minimum, columns=columns)


@watched("splitting")
def at_time(frame: Frame, time: Time, *, minimum: int = 1, columns: Mapping[str, str] | None = None) -> Split:
    """Rows at a point in time or after it for the test, rows before it for training."""
    data = Interactions(frame, columns, minimum)
    test = data.since(time)
    if not test.any() or test.all():
        first, last = data.span()
        raise ValueError(
            f"no row is {'before' if test.all() else 'at or after'} {time}; they go from {first} to {last}"
        )
    return data.split(test, f"before {time}, and from then on")


@watched("splitting")
def folds(
    frame: Frame,
    k: int = 5,
    *,
    by: Literal["row", "user"] = "row",
    seed: int = 0,
    minimum: int = 1,
    columns: Mapping[str, str] | None = None,
) -> Iterator[Split]:
    """k splits, in which each row, or each user with all rows, is tested once, in parts of equal size."""
    if by not in ("row", "user"):
        raise ValueError(f"by={by!r}; choose 'row' or 'user'")
    data = Interactions(frame, columns, minimum)
    of_row = by == "row"
    number = len(data) if of_row else data.user_count
    if checked_count("k", k) < 2 or k > number:
        raise ValueError(f"k is {k}; it must be 2 or more, and at most the {number} {by}s there are")
    parts = dealt(data.alone, data.at_random(seed), k) if of_row else data.dealt_users(seed, k)
    how = f"of {k} by {by} at random, seed {seed}"
    return (data.split(parts == fold, f"fold {fold + 1} {how}") for fold in range(k))


def _checked_share(share: float) -> float:
    if not 0 < share < 1:
        raise ValueError(f"share is {share}; it must be between 0 and 1")
    return float(share)
