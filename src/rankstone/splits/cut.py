"""Ways to cut interactions in two, and negatives: items that a user has not had, to rank beside those of the test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankstone.align.alignment import Ints
from rankstone.data.arrow import Frame, encoded, is_pandas, take
from rankstone.progress import watched
from rankstone.splits.draw import Bits, content, dealt, draw_lots, highest, mixed
from rankstone.splits.interactions import Interactions, Split, Time, checked_count

if TYPE_CHECKING:
    import pyarrow

    from rankstone.explain.sampled import Sampled


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


_PAIRS = 1 << 16  # of users and items that are looked at together, so that they stay in the cache


@watched("drawing negatives")
def negatives(
    train: Frame,
    test: Frame,
    n: int = 100,
    *,
    per: Literal["user", "positive"] = "user",
    seed: int = 0,
    columns: Mapping[str, str] | None = None,
) -> Frame:
    """Items to be ranked beside those of the test: n for each user of the test, or for each of the user's rows there.

    They are drawn from all items of the two parts, each with the same chance and none twice, but never one that the
    user has in either part. The answer is a frame of the test's kind with its columns of users and items.
    """
    if per not in ("user", "positive"):
        raise ValueError(f"per={per!r}; choose 'user' or 'positive'")
    others = _Others(train, test, columns)
    users, items, known, rows, left = others.users, others.items, others.known, others.rows, others.left
    wanted = checked_count("n", n) * (rows if per == "positive" else np.ones_like(rows))
    lots = (
        draw_lots([content(take(users, others.first_of_user))], seed),
        mixed(content(take(items, others.first_of_item)).copy()),
    )
    if (wanted > left).any():
        at = int(np.argmax(wanted > left))
        who = users[int(others.first_of_user[at])].as_py()
        raise ValueError(
            f"user {who!r} has {left[at]:,} of {len(known):,} items left, and {wanted[at]:,} are asked for"
        )
    drawn = _drawn(*lots, others.tested, wanted, others.seen)
    chosen = {
        "query": take(users, np.repeat(others.first_of_user, wanted)),
        "item": take(items, others.first_of_item[drawn]),
    }
    names = others.test.names
    return _like(others.test.frame, {names[role]: column for role, column in chosen.items()})


def sampled(train: Frame, test: Frame, n: int = 100, *, columns: Mapping[str, str] | None = None) -> Sampled:
    """What numbers mean of lists in which `negatives` puts n items beside one of the test; it prints as a sentence.

    The catalogue is that of an average user: the one item and all that the user has in neither part.
    """
    from rankstone.explain.sampled import Sampled  # a quick start: SciPy takes long

    others = _Others(train, test, columns)
    return Sampled(checked_count("n", n), round(float(others.left.mean())) + 1)


class _Others:
    """The users of a test, and how many items each of them has nothing to do with."""

    def __init__(self, train: Frame, test: Frame, columns: Mapping[str, str] | None) -> None:
        parts = [Interactions(part, columns, 1) for part in (train, test)]
        self.test = parts[1]
        self.users, self.items = (_together(parts, role) for role in ("query", "item"))
        user, item = (encoded(column)[1] for column in (self.users, self.items))
        first = len(parts[0])  # row of the test
        self.known, self.first_of_item = np.unique(item, return_index=True)
        tested, first_of_user, rows = np.unique(user[first:], return_index=True, return_counts=True)
        order = np.argsort(first_of_user)  # as they come in the test
        self.tested, self.first_of_user, self.rows = tested[order], first_of_user[order] + first, rows[order]
        count = len(self.known)
        self.seen = np.unique(user * count + item)
        self.left = count - np.bincount(self.seen // count, minlength=int(user.max()) + 1)[self.tested]


def _together(parts: list[Interactions], role: str) -> pyarrow.Array:
    """A column of the training part, and below it the same of the test."""
    import pyarrow as pa
    from pyarrow import types

    train, test = (part.columns[role] for part in parts)
    if train.type != test.type:
        if not (types.is_integer(train.type) and types.is_integer(test.type)):
            name = parts[1].names[role]
            raise TypeError(f"column {name!r} holds {test.type} in the test and {train.type} in training")
        train, test = train.cast(pa.int64()), test.cast(pa.int64())
    return pa.concat_arrays([train, test])


def _drawn(of_user: Bits, of_item: Bits, tested: Ints, wanted: Ints, seen: Ints) -> Ints:
    """For one user after another, the items with the highest lots that the user has not seen."""
    count, drawn = len(of_item), []
    step = max(_PAIRS // count, 1)
    for begin in range(0, len(tested), step):
        block = slice(begin, begin + step)
        lots = mixed(of_user[block, None] + of_item[None, :])
        for row, (user, number) in enumerate(zip(tested[block], wanted[block], strict=True)):
            own = seen[slice(*np.searchsorted(seen, [user * count, (user + 1) * count]))] - user * count
            lots[row, own] = 0
            highest = np.argpartition(lots[row], count - number)[count - number :]
            drawn.append(highest[np.argsort(lots[row, highest])[::-1]])
    return np.concatenate(drawn)


def _like(frame: Frame, columns: dict[str, pyarrow.Array]) -> Frame:
    """A table in the kind that a frame has."""
    import pyarrow as pa

    table = pa.table(columns)
    if is_pandas(frame):
        return table.to_pandas().astype({name: frame[name].dtype for name in columns})
    if isinstance(frame, pa.RecordBatch):
        return table.combine_chunks().to_batches()[0]
    return table if isinstance(frame, pa.Table) else type(frame)(table)
