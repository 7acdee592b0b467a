"""Split strategies (random, per user, by time, folds) and sampled negatives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankstone.align.alignment import Ints
from rankstone.data.arrow import Frame, encoded, is_pandas, take
from rankstone.errors import InputError, InputTypeError
from rankstone.progress import watched
from rankstone.splits.interactions import Interactions, Split, Time, checked_count
from rankstone.splits.sampling import Bits, content, dealt, draw_lots, highest, mixed

if TYPE_CHECKING:
    import pyarrow

    from rankstone.explain.sampled_metrics import SampledMetrics


@watched("splitting")
def random(
    frame: Frame, share: float = 0.2, *, seed: int = 0, minimum: int = 1, columns: Mapping[str, str] | None = None
) -> Split:
    """Test on a share of all rows, drawn at random.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame, polars.LazyFrame or pyarrow.Table
        Interactions, one row each, with a user and an item column.
    share : float, default 0.2
        Share of the rows in the test set, above 0 and below 1.
    seed : int, default 0
        Random seed. The draw depends on the content of the rows, not on their order.
    minimum : int, default 1
        Users with fewer rows are dropped.
    columns : dict, optional
        Columns by role, `{"query": "user_id", "item": "movie", "time": "ts"}`; usual names are detected.

    Returns
    -------
    Split
        Frames of the same library, rows in the order of the input.

    Raises
    ------
    ValueError
        If the training set or the test set would be empty.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame = pa.table({"user": [1, 1, 2, 2], "item": ["a", "b", "a", "c"]})
    >>> rs.split.random(frame, 0.5)
    <Split: 2 rows to train on, 2 to test on>
    """
    data = Interactions(frame, columns, minimum)
    count = round(_checked_share(share) * len(data))
    if not 0 < count < len(data):
        raise InputError(f"a share of {share} of {len(data)} rows leaves a part empty")
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
    """Test on a share or a number of each user's rows, at random or the latest ones.

    Every user keeps at least one row to train on. A user with too few rows for `count` is in training only.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame, polars.LazyFrame or pyarrow.Table
        Interactions, one row each, with a user and an item column.
    share : float, optional
        Share of each user's rows in the test set, rounded to whole rows. Pass either `share` or `count`.
    count : int, optional
        Number of each user's rows in the test set.
    by : {"random", "time"}, default "random"
        Draw the rows at random, or take the latest ones; of equal times, the higher item id is the later.
    seed : int, default 0
        Random seed. The draw depends on the content of the rows, not on their order.
    minimum : int, default 1
        Users with fewer rows are dropped.
    columns : dict, optional
        Columns by role, `{"query": "user_id", "item": "movie", "time": "ts"}`; usual names are detected.

    Returns
    -------
    Split
        Frames of the same library, rows in the order of the input.

    Raises
    ------
    TypeError
        If both or neither of `share` and `count` are passed.
    ValueError
        If no user has enough rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame = pa.table({"user": [1, 1, 1, 2, 2], "item": ["a", "b", "c", "a", "d"], "time": [1, 2, 3, 1, 2]})
    >>> rs.split.per_user(frame, count=1, by="time").test["item"].to_pylist()
    ['c', 'd']
    """
    if (share is None) == (count is None):
        raise InputTypeError("pass either share= or count=")
    if by not in ("random", "time"):
        raise InputError(f"by={by!r}; choose 'random' or 'time'")
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
        raise InputError(f"no user has enough rows to test {what} of them; the largest number is {sizes.max()}")
    if by == "random":
        test = highest(data.users, take, data.at_random(seed))
        return data.split(test, f"{what} of each user's rows at random, seed {seed}")
    test = highest(data.users, take, data.by_time())
    return data.split(test, f"the last {what} of each user's rows by time, then by item")


def leave_last_out(frame: Frame, n: int = 1, *, minimum: int = 1, columns: Mapping[str, str] | None = None) -> Split:
    """Test on each user's last n rows by time; of equal times, the higher item id is the later.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame, polars.LazyFrame or pyarrow.Table
        Interactions, one row each, with a user, an item and a time column.
    n : int, default 1
        Rows per user in the test set. Users with n rows or fewer are in training only.
    minimum : int, default 1
        Users with fewer rows are dropped.
    columns : dict, optional
        Columns by role, `{"query": "user_id", "item": "movie", "time": "ts"}`; usual names are detected.

    Returns
    -------
    Split
        Frames of the same library, rows in the order of the input.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame = pa.table({"user": [1, 1, 2, 2], "item": ["a", "b", "a", "c"], "time": [1, 2, 4, 3]})
    >>> rs.split.leave_last_out(frame).test["item"].to_pylist()
    ['b', 'a']
    """
    return per_user(frame, count=n, by="time", minimum=minimum, columns=columns)


def leave_one_out(frame: Frame, *, seed: int = 0, minimum: int = 1, columns: Mapping[str, str] | None = None) -> Split:
    """Test on one row per user, drawn at random.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame, polars.LazyFrame or pyarrow.Table
        Interactions, one row each, with a user and an item column.
    seed : int, default 0
        Random seed. The draw depends on the content of the rows, not on their order.
    minimum : int, default 1
        Users with fewer rows are dropped.
    columns : dict, optional
        Columns by role, `{"query": "user_id", "item": "movie", "time": "ts"}`; usual names are detected.

    Returns
    -------
    Split
        Frames of the same library, rows in the order of the input.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame = pa.table({"user": [1, 1, 2, 2], "item": ["a", "b", "a", "c"]})
    >>> rs.split.leave_one_out(frame).test["user"].to_pylist()
    [1, 2]
    """
    return per_user(frame, count=1, seed=seed, minimum=minimum, columns=columns)


@watched("splitting")
def at_time(frame: Frame, time: Time, *, minimum: int = 1, columns: Mapping[str, str] | None = None) -> Split:
    """Train on the rows before a point in time, test on the others.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame, polars.LazyFrame or pyarrow.Table
        Interactions, one row each, with a user, an item and a time column.
    time : float, str, datetime.date, datetime.datetime or numpy.datetime64
        First time of the test set, comparable with the time column.
    minimum : int, default 1
        Users with fewer rows are dropped.
    columns : dict, optional
        Columns by role, `{"query": "user_id", "item": "movie", "time": "ts"}`; usual names are detected.

    Returns
    -------
    Split
        Frames of the same library, rows in the order of the input.

    Raises
    ------
    ValueError
        If no row is before `time`, or none is at it or after it.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame = pa.table({"user": [1, 1, 2, 2], "item": ["a", "b", "a", "c"], "time": [1, 2, 4, 3]})
    >>> rs.split.at_time(frame, 3).test["item"].to_pylist()
    ['a', 'c']
    """
    data = Interactions(frame, columns, minimum)
    test = data.since(time)
    if not test.any() or test.all():
        first, last = data.span()
        raise InputError(
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
    """k-fold cross-validation: every row, or every user with all rows, is in one of k test sets of equal size.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame, polars.LazyFrame or pyarrow.Table
        Interactions, one row each, with a user and an item column.
    k : int, default 5
        Number of folds, 2 or more.
    by : {"row", "user"}, default "row"
        Deal out single rows, or users with all their rows.
    seed : int, default 0
        Random seed. The draw depends on the content of the rows, not on their order.
    minimum : int, default 1
        Users with fewer rows are dropped.
    columns : dict, optional
        Columns by role, `{"query": "user_id", "item": "movie", "time": "ts"}`; usual names are detected.

    Returns
    -------
    iterator of Split
        One split per fold.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame = pa.table({"user": [1, 1, 2, 2], "item": ["a", "b", "a", "c"]})
    >>> [len(split.test) for split in rs.split.folds(frame, k=2)]
    [2, 2]
    """
    if by not in ("row", "user"):
        raise InputError(f"by={by!r}; choose 'row' or 'user'")
    data = Interactions(frame, columns, minimum)
    of_row = by == "row"
    number = len(data) if of_row else data.user_count
    if checked_count("k", k) < 2 or k > number:
        raise InputError(f"k is {k}; it must be 2 or more, and at most the {number} {by}s there are")
    parts = dealt(data.alone, data.at_random(seed), k) if of_row else data.dealt_users(seed, k)
    how = f"of {k} by {by} at random, seed {seed}"
    return (data.split(parts == fold, f"fold {fold + 1} {how}") for fold in range(k))


def _checked_share(share: float) -> float:
    if not isinstance(share, (int, float, np.number)) or not 0 < share < 1:
        raise InputError(f"share is {share!r}; it must be between 0 and 1")
    return float(share)


_PAIRS = 1 << 16  # pairs of user and item per block, which fit in the cache


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
    """Sampled negatives: per user of the test set, items to rank together with the user's test items.

    They are drawn uniformly without replacement from the items of both sets that the user has in neither.

    Parameters
    ----------
    train, test : pandas.DataFrame, polars.DataFrame, polars.LazyFrame or pyarrow.Table
        The two sets of a split.
    n : int, default 100
        Negatives per user of the test set, or per row of the test set.
    per : {"user", "positive"}, default "user"
        Draw n negatives per user, or n per row that the user has in the test set.
    seed : int, default 0
        Random seed.
    columns : dict, optional
        Columns by role, `{"query": "user_id", "item": "movie", "time": "ts"}`; usual names are detected.

    Returns
    -------
    frame
        A frame of the library of `test` with its user and item columns.

    Raises
    ------
    ValueError
        If a user has fewer items left than are to be drawn.

    Examples
    --------
    >>> import pyarrow as pa
    >>> train = pa.table({"user": [1, 2, 2], "item": ["a", "b", "c"]})
    >>> test = pa.table({"user": [1], "item": ["b"]})
    >>> rs.split.negatives(train, test, n=1)["item"].to_pylist()
    ['c']
    """
    if per not in ("user", "positive"):
        raise InputError(f"per={per!r}; choose 'user' or 'positive'")
    others = _Others(train, test, columns)
    users, items, catalogue = others.users, others.items, others.catalogue
    rows, left = others.rows, others.left
    wanted = checked_count("n", n) * (rows if per == "positive" else np.ones_like(rows))
    lots = (
        draw_lots([content(take(users, others.first_of_user))], seed),
        mixed(content(take(items, others.first_of_item)).copy()),
    )
    if (wanted > left).any():
        at = int(np.argmax(wanted > left))
        who = users[int(others.first_of_user[at])].as_py()
        raise InputError(
            f"user {who!r} has {left[at]:,} of {len(catalogue):,} items left, fewer than the {wanted[at]:,} to be drawn"
        )
    drawn = _drawn(*lots, others.tested, wanted, others.own)
    chosen = {
        "query": take(users, np.repeat(others.first_of_user, wanted)),
        "item": take(items, others.first_of_item[drawn]),
    }
    names = others.test.names
    return _like(others.test.frame, {names[role]: column for role, column in chosen.items()})


def sampled(train: Frame, test: Frame, n: int = 100, *, columns: Mapping[str, str] | None = None) -> SampledMetrics:
    """What metrics among n sampled negatives say about the full ranking, for the negatives that `negatives` draws.

    The catalogue is that of an average user: the test item, and all items that the user has in neither set.

    Parameters
    ----------
    train, test : pandas.DataFrame, polars.DataFrame, polars.LazyFrame or pyarrow.Table
        The two sets of a split.
    n : int, default 100
        Negatives per test item.
    columns : dict, optional
        Columns by role, `{"query": "user_id", "item": "movie", "time": "ts"}`; usual names are detected.

    Returns
    -------
    SampledMetrics
        As `rs.sampled_metrics` returns it.

    Examples
    --------
    >>> import pyarrow as pa
    >>> train = pa.table({"user": [1] * 3 + [2] * 28, "item": [0, 1, 2, *range(3, 31)]})
    >>> test = pa.table({"user": [1], "item": [3]})
    >>> rs.split.sampled(train, test, n=10).describe("hit_rate@5").split(":")[0]
    'hit_rate@5 among 10 negatives is about hit_rate@11 among 28'
    """
    from rankstone.explain.sampled_metrics import SampledMetrics  # imported late: SciPy is slow to load

    others = _Others(train, test, columns)
    return SampledMetrics(checked_count("n", n), round(float(others.left.mean())) + 1)


class _Others:
    """The users of a test set, and the number of items that each of them has in neither set."""

    def __init__(self, train: Frame, test: Frame, columns: Mapping[str, str] | None) -> None:
        parts = [Interactions(part, columns, 1) for part in (train, test)]
        self.test = parts[1]
        self.users, self.items = (_together(parts, role) for role in ("query", "item"))
        user, item = (encoded(column)[1] for column in (self.users, self.items))
        first = len(parts[0])  # row of the test set
        self.catalogue, self.first_of_item = np.unique(item, return_index=True)
        tested, first_of_user, rows = np.unique(user[first:], return_index=True, return_counts=True)
        order = np.argsort(first_of_user)  # in the order of the test set
        self.tested, self.first_of_user, self.rows = tested[order], first_of_user[order] + first, rows[order]
        count = len(self.catalogue)
        self.own = np.unique(user * count + item)
        self.left = count - np.bincount(self.own // count, minlength=int(user.max()) + 1)[self.tested]


def _together(parts: list[Interactions], role: str) -> pyarrow.Array:
    """A column of the training set, followed by the same column of the test set."""
    import pyarrow as pa
    from pyarrow import types

    train, test = (part.columns[role] for part in parts)
    if train.type != test.type:
        if not (types.is_integer(train.type) and types.is_integer(test.type)):
            name = parts[1].names[role]
            raise InputTypeError(f"column {name!r} holds {test.type} in the test and {train.type} in training")
        train, test = train.cast(pa.int64()), test.cast(pa.int64())
    return pa.concat_arrays([train, test])


def _drawn(of_user: Bits, of_item: Bits, tested: Ints, wanted: Ints, own_pairs: Ints) -> Ints:
    """Per user, the items with the highest lots that the user has in neither set."""
    count, drawn = len(of_item), []
    step = max(_PAIRS // count, 1)
    for begin in range(0, len(tested), step):
        block = slice(begin, begin + step)
        lots = mixed(of_user[block, None] + of_item[None, :])
        for row, (user, number) in enumerate(zip(tested[block], wanted[block], strict=True)):
            own = own_pairs[slice(*np.searchsorted(own_pairs, [user * count, (user + 1) * count]))] - user * count
            lots[row, own] = 0
            highest = np.argpartition(lots[row], count - number)[count - number :]
            drawn.append(highest[np.argsort(lots[row, highest])[::-1]])
    return np.concatenate(drawn)


def _like(frame: Frame, columns: dict[str, pyarrow.Array]) -> Frame:
    """A table as a frame of the same library."""
    import pyarrow as pa

    table = pa.table(columns)
    if is_pandas(frame):
        return table.to_pandas().astype({name: frame[name].dtype for name in columns})
    if isinstance(frame, pa.RecordBatch):
        return table.combine_chunks().to_batches()[0]
    return table if isinstance(frame, pa.Table) else type(frame)(table)
