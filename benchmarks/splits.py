"""Splits: 20 million interactions of 200,000 users into training and test parts, with the report of leaks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow
from race import Contender, Goal, Lap, Numbers, Row, audition, invite, named, race, row, say, seconds

import rankstone as rs

EACH = 100  # rows of a user, about
IN_SECONDS = Goal(10, at_least=False, unit=" s")


def rows(scale: float, repeats: int) -> Iterator[Row]:
    table = interactions(max(int(20_000_000 * scale), 1000))
    repeats = min(repeats, 3)
    yield from times(table, repeats)
    yield from races(table, repeats)


def interactions(count: int) -> Any:
    """Rows in no order; no two at the same time, so that no rule for ties plays a part."""
    rng = np.random.default_rng(1)
    return pyarrow.table(
        {
            "user": rng.integers(0, count // EACH, count),
            "item": rng.zipf(1.3, count) % 100_000,
            "time": rng.permutation(count) + 1_000_000_000,
        }
    )


def times(table: Any, repeats: int) -> Iterator[Row]:
    """Every split alone, on an Arrow table."""
    middle = 1_000_000_000 + table.num_rows * 4 // 5
    work: dict[str, Callable[[], Any]] = {
        "a fifth at random": lambda: rs.split.random(table, 0.2, seed=1),
        "a fifth of each user at random": lambda: rs.split.per_user(table, share=0.2, seed=1),
        "the last fifth of each user": lambda: rs.split.per_user(table, share=0.2, by="time"),
        "the last of each user": lambda: rs.split.leave_last_out(table),
        "one of each user at random": lambda: rs.split.leave_one_out(table, seed=1),
        "the last of users with 100 rows or more": lambda: rs.split.leave_last_out(table, minimum=EACH),
        "at a point in time": lambda: rs.split.at_time(table, middle),
        "5 folds by row": lambda: _each(rs.split.folds(table, 5, seed=1)),
        "5 folds by user": lambda: _each(rs.split.folds(table, 5, by="user", seed=1)),
    }
    for name, call in work.items():
        laps = [Lap(lambda call=call: _nothing(call())) for _ in range(repeats)]
        best, cpu = min(lap.wall for lap in laps), min(lap.cpu for lap in laps)
        say(f"    {name}: best {seconds(best)}, best of all cores' time together {seconds(cpu)}")
        yield row(f"split {table.num_rows:,} Arrow rows: {name}", seconds(best), "", "", best, IN_SECONDS)


def races(table: Any, repeats: int) -> Iterator[Row]:
    """The same work on a pandas frame, by those who take one."""
    frame = table.to_pandas()
    shape = f"split {len(frame):,} pandas rows"
    for n in (1, 5):
        yield from race(
            f"{shape}: the last {n} of each user",
            lambda n=n: _last_numbers(*rs.split.leave_last_out(frame, n)),
            [
                invite("pandas", lambda n=n: pandas_last(frame, n)),
                invite("rectools", lambda n=n: rectools_last(frame, n)),
            ],
            repeats,
        )
    yield from race(
        f"{shape}: a fifth of each user at random",
        lambda: _counted(rs.split.per_user(frame, share=0.2, seed=1).test),
        [invite("pandas", lambda: pandas_sample(frame))],
        repeats,
    )
    yield from race(
        f"{shape}: a fifth at random",
        lambda: _counted(rs.split.random(frame, 0.2, seed=1).test),
        [invite("scikit-learn", lambda: sklearn_rows(frame))],
        repeats,
    )
    yield from race(
        f"{shape}: a fifth of the users",
        lambda: _users(next(rs.split.folds(frame, 5, by="user", seed=1)).test),
        [invite("scikit-learn", lambda: sklearn_users(frame))],
        repeats,
    )


def pandas_last(frame: Any, n: int) -> Contender:
    def by_sorting() -> Numbers:
        last = frame.sort_values(["user", "time"]).groupby("user").tail(n).index
        return _last_numbers(frame.drop(last), frame.loc[last])

    def by_rank() -> Numbers:
        test = frame.groupby("user")["time"].rank(method="first", ascending=False) <= n
        return _last_numbers(frame[~test], frame[test])

    def by_maximum() -> Numbers:
        last = frame.groupby("user")["time"].idxmax()
        return _last_numbers(frame.drop(last), frame.loc[last])

    ways = {"sort and tail": by_sorting, "rank": by_rank, **({"idxmax": by_maximum} if n == 1 else {})}
    name, call = audition("pandas", ways)
    return Contender(f"{named('pandas')}, {name}", call)


def rectools_last(frame: Any, n: int) -> Contender:
    import pandas
    from rectools.dataset import Interactions
    from rectools.model_selection import LastNSplitter

    given = frame.rename(columns={"user": "user_id", "item": "item_id", "time": "datetime"})
    given["datetime"] = pandas.to_datetime(given["datetime"], unit="s")
    given["weight"] = 1.0
    whole = Interactions(given)
    splitter = LastNSplitter(n, filter_cold_users=False, filter_cold_items=False, filter_already_seen=False)

    def call() -> Numbers:
        ((train, test, _),) = splitter.split(whole)
        return _last_numbers(frame.iloc[train], frame.iloc[test])

    return Contender(named("rectools"), call)


def pandas_sample(frame: Any) -> Contender:
    def call() -> Numbers:
        test = frame.groupby("user").sample(frac=0.2, random_state=1)
        frame.drop(test.index)
        return _counted(test)

    return Contender(f"{named('pandas')}, groupby.sample", call)


def sklearn_rows(frame: Any) -> Contender:
    from sklearn.model_selection import train_test_split

    def call() -> Numbers:
        return _counted(train_test_split(frame, test_size=0.2, random_state=1)[1])

    return Contender(f"{named('scikit-learn')}, train_test_split", call)


def sklearn_users(frame: Any) -> Contender:
    from sklearn.model_selection import GroupShuffleSplit

    splitter = GroupShuffleSplit(1, test_size=0.2, random_state=1)

    def call() -> Numbers:
        ((train, test),) = splitter.split(frame, groups=frame["user"])
        frame.iloc[train]
        return _users(frame.iloc[test])

    return Contender(f"{named('scikit-learn')}, GroupShuffleSplit", call)


def _last_numbers(train: Any, test: Any) -> Numbers:
    """Enough to see that two splits are the same."""
    return {"rows": float(len(train)), "times": float(test["time"].sum()), "items": float(test["item"].sum())}


def _counted(test: Any) -> Numbers:
    return {"rows": float(len(test))}


def _users(test: Any) -> Numbers:
    return {"users": float(test["user"].nunique())}


def _each(splits: Iterator[Any]) -> None:
    for _ in splits:
        pass


def _nothing(_: Any) -> None:
    """Lets go of what a lap made."""
