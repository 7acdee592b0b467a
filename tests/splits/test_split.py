"""Splits against a slow definition, and what must hold of every one of them."""

import datetime
import random as dice
import uuid
from collections import Counter
from functools import partial
from itertools import chain

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankstone as rs
from rankstone.splits.sampling import mixed

from . import slow

NAMES = ("user", "item", "time")
KINDS = {
    "arrow": pa.table,
    "batch": pa.RecordBatch.from_pydict,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
}
SPLITS = {
    "random": partial(rs.split.random, share=0.3, seed=5),
    "per_user share": partial(rs.split.per_user, share=0.4, seed=5),
    "per_user count": partial(rs.split.per_user, count=2, seed=5),
    "per_user time": partial(rs.split.per_user, share=0.5, by="time"),
    "leave_last_out": partial(rs.split.leave_last_out, n=1),
    "leave_one_out": partial(rs.split.leave_one_out, seed=5),
    "at_time": partial(rs.split.at_time, time=3),
    "fold": lambda frame, **more: next(rs.split.folds(frame, 2, seed=5, **more)),
    "fold by user": lambda frame, **more: next(rs.split.folds(frame, 2, by="user", seed=5, **more)),
}
every_split = pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)


def frame(rows, kind="arrow", **more):
    return KINDS[kind]({**dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True)), **more})


def rows_of(part):
    if isinstance(part, pd.DataFrame):
        return list(part.itertuples(index=False, name=None))
    return [tuple(row.values()) for row in (part.to_dicts() if isinstance(part, pl.DataFrame) else part.to_pylist())]


small = st.integers(0, 4)
rows = st.lists(st.tuples(small, st.integers(-3, 9), st.integers(0, 5)), min_size=1, max_size=30)


def attempt(split, *args, **more):
    """A split, or the reason why it cannot be made."""
    try:
        return split(*args, **more)
    except ValueError as error:
        return str(error)


@every_split
@given(rows=rows, minimum=st.integers(1, 3), data=st.data())
def test_every_row_is_in_one_part_whatever_the_order(split, rows, minimum, data):
    table = frame(rows, more=list(range(len(rows))))  # a column of its own in each row, so that all rows differ
    found = attempt(split, table, minimum=minimum)
    order = data.draw(st.permutations(range(len(rows))))
    again = attempt(split, table.take(order), minimum=minimum)
    if isinstance(found, str):
        assert found == again
        return
    parts, same = ([rows_of(one) for one in (part.train, part.test, part.dropped)] for part in (found, again))
    assert sorted(chain(*parts)) == sorted(rows_of(table))
    assert [sorted(part) for part in parts] == [sorted(part) for part in same]
    assert all(part == sorted(part, key=lambda row: row[3]) for part in parts)  # in the given order
    assert parts[0]
    assert parts[1]
    sizes = Counter(user for user, *_ in rows)
    assert parts[2] == [row for row in rows_of(table) if sizes[row[0]] < minimum]
    report = found.report.to_dict()
    assert report == {**report, **slow.report(*([row[:3] for row in part] for part in parts[:2])),
                      "rows": len(rows), "dropped_rows": len(parts[2]),
                      "dropped_users": len({row[0] for row in parts[2]})}  # fmt: skip
    assert again.report == found.report


@given(rows=st.lists(st.tuples(small, small, small), min_size=2, max_size=30), seed=st.integers(-(2**70), 2**70))
def test_random_is_the_slow_definition(rows, seed):
    count = round(0.3 * len(rows))
    if not count:
        return
    test = rs.split.random(frame(rows), 0.3, seed=seed).test
    assert sorted(rows_of(test)) == sorted(rows[at] for at in slow.random(rows, count, seed))


names = st.text(st.characters(codec="utf-8"), max_size=5)


@given(rows=st.lists(st.tuples(names, names, small), min_size=2, max_size=20), share=st.sampled_from([0.25, 0.5, 0.75]))
def test_per_user_is_the_slow_definition(rows, share):
    def take(size):
        return min(round(share * size), size - 1)

    for by, key in (("random", lambda row: slow.lot(row, 9)), ("time", lambda row: row[2])):
        found = attempt(rs.split.per_user, frame(rows), share=share, by=by, seed=9)
        test = slow.per_user(rows, take, key)
        if not test:
            assert "no user has enough rows" in found
        else:
            assert sorted(rows_of(found.test)) == sorted(rows[at] for at in test)


whole = st.lists(st.tuples(small, small, st.integers(-(2**63), 2**63 - 1)), min_size=2, max_size=30)
broken = st.lists(st.tuples(small, small, st.floats(allow_nan=False)), min_size=2, max_size=30)


@given(rows=whole | broken, n=st.integers(1, 3))
def test_last_is_the_slow_definition_for_any_times(rows, n):
    """Times that leave no room for the user in 64 bits too."""
    found = attempt(rs.split.leave_last_out, frame(rows), n)
    test = slow.per_user(rows, lambda size: n if size > n else 0, lambda row: row[2])
    if not test:
        assert "no user has enough rows" in found
    else:
        assert sorted(rows_of(found.test)) == sorted(rows[at] for at in test)


def test_times_that_agree_in_their_high_bits():
    rows = [(user, item, 2**62 + (item * 7 + user) % 16) for user in range(64) for item in range(16)] + [(0, 99, 0)]
    test = slow.per_user(rows, lambda size: 3, lambda row: row[2])
    assert rows_of(rs.split.leave_last_out(frame(rows), 3).test) == [rows[at] for at in test]


def test_the_lots_are_splitmix64():
    """The first outputs for the seed 1234567, as published with the reference implementation."""
    expected = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    states = [(1234567 + step * slow.GAMMA) % 2**64 for step in range(5)]
    assert mixed(np.array(states, dtype=np.uint64)).tolist() == expected
    assert [slow.mixed(state) for state in states] == expected


def many(users=40, each=50, seed=1):
    roll = dice.Random(seed)
    return [(user, roll.randrange(500), roll.randrange(1000)) for user in range(users) for _ in range(each)]


def test_another_seed_is_another_split():
    table = frame(many())
    tests = [rows_of(rs.split.random(table, 0.2, seed=seed).test) for seed in (1, 1, 2)]
    assert tests[0] == tests[1]
    assert tests[0] != tests[2]
    shared = set(tests[0]) & set(tests[2])
    assert len(shared) < 0.35 * len(tests[0])  # 0.2 of them by chance


def test_every_row_has_its_chance():
    """Over 400 seeds each row is drawn about 100 times, and drawn together with its neighbour about 25 times."""
    table = frame([(user, item, 0) for user in range(10) for item in range(10)])
    seeds = 400
    drawn = np.zeros((seeds, 100), dtype=bool)
    for seed in range(seeds):
        for user, item, _ in rows_of(rs.split.random(table, 0.25, seed=seed).test):
            drawn[seed, user * 10 + item] = True
    spread = (seeds * 0.25 * 0.75) ** 0.5
    assert abs(drawn.sum(axis=0) - seeds / 4).max() < 5 * spread
    both = (drawn[:, :-1] & drawn[:, 1:]).sum(axis=0)
    assert abs(both - seeds / 16).max() < 5 * (seeds / 16 * 15 / 16) ** 0.5


def test_the_share_is_exact():
    table = frame(many())
    assert rs.split.random(table, 0.2).report.test_rows == 400
    split = rs.split.per_user(table, share=0.1)
    assert set(Counter(user for user, *_ in rows_of(split.test)).values()) == {5}


@pytest.mark.parametrize("by", ["row", "user"])
def test_folds_test_everything_once(by):
    table = frame(many(users=41))
    splits = list(rs.split.folds(table, 4, by=by, seed=3))
    assert sorted(chain(*(rows_of(split.test) for split in splits))) == sorted(rows_of(table))
    count = (lambda split: split.report.test_rows) if by == "row" else (lambda split: split.report.test_users)
    assert max(map(count, splits)) - min(map(count, splits)) <= 1
    for split in splits:
        assert sorted(rows_of(split.train) + rows_of(split.test)) == sorted(rows_of(table))
        if by == "user":
            assert split.report.unseen_users == split.report.test_users
    assert [split.report.how[:11] for split in splits] == ["fold 1 of 4", "fold 2 of 4", "fold 3 of 4", "fold 4 of 4"]


# -- frames and columns --------------------------------------------------------------------------------------


@every_split
def test_every_kind_of_frame_is_split_alike_and_given_back(split):
    rows = [(user, item, at % 7) for at, (user, item, _) in enumerate(many(9, 9))]
    expected = split(frame(rows))
    for kind in KINDS:
        given_frame = frame(rows, kind)
        found = split(given_frame)
        for part in (found.train, found.test, found.dropped):
            assert type(part) is type(given_frame)
        assert rows_of(found.train) == rows_of(expected.train)
        assert rows_of(found.test) == rows_of(expected.test)
        assert found.report == expected.report


def test_pandas_keeps_its_index_and_types():
    data = pd.DataFrame({"user_id": [1, 1, 2, 2], "item_id": list("abab"), "date": pd.to_datetime(["2020-01-02"] * 4),
                         "rating": [1.5, None, 3, 4]}, index=[7, 5, 3, 1])  # fmt: skip
    split = rs.split.leave_last_out(data)
    assert list(split.test.index) == [5, 1]  # equal times: the higher item is the later
    assert (split.train.dtypes == data.dtypes).all()
    train, test = split
    assert train is split.train
    assert test is split.test


def test_lazy_frames_and_relations():
    duckdb = pytest.importorskip("duckdb")
    data = frame([(1, 2, 3), (1, 3, 4)], "polars")
    assert isinstance(rs.split.leave_last_out(data.lazy()).test, pl.DataFrame)
    assert rows_of(rs.split.leave_last_out(duckdb.sql("select * from data")).test) == [(1, 3, 4)]
    with pytest.raises(TypeError, match="expected a frame of pandas, polars or Arrow, got list"):
        rs.split.leave_last_out([1, 2])


UUIDS = [uuid.UUID(int=at).bytes for at in range(4)]
IDS = {
    "text": pa.array(["", "b", "long" * 9, "é"]),
    "large text": pa.array(["", "b", "long" * 9, "é"], pa.large_string()),
    "categories": pa.array(["", "b", "long" * 9, "é"]).dictionary_encode(),
    "small": pa.array([-128, -1, 5, 127], pa.int8()),
    "sparse": pa.array([-(2**63), 0, 5, 2**63 - 1]),
    "unsigned": pa.array([0, 1, 2, 2**64 - 1], pa.uint64()),
    "float": pa.array([-0.0, 0.5, 2.0, 1e300]),
    "bytes": pa.array(UUIDS, pa.binary(16)),
    "date": pa.array([datetime.date(2020, 1, day) for day in range(1, 5)]),
}


if hasattr(pa, "uuid"):  # from pyarrow 18 on
    IDS["uuid"] = pa.array(UUIDS, pa.uuid())


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_ids_of_every_type(ids):
    both = [(at, other, at * other) for at in range(4) for other in range(4)]
    users, items = (ids.take(pa.array([row[at] for row in both])) for at in (0, 1))
    table = pa.table({"user": users, "item": items, "time": [row[2] for row in both], "row": list(range(16))})
    order = np.random.default_rng(1).permutation(16)
    for split in (*SPLITS.values(), partial(rs.split.per_user, count=1, seed=8)):
        parts = [sorted(split(one).test["row"].to_pylist()) for one in (table, table.take(order))]
        assert parts[0] == parts[1]
    last = rs.split.leave_last_out(table)
    assert last.test["row"].to_pylist() == [3, 7, 11, 15]
    assert rs.split.leave_one_out(table).report.test_users == 4


def test_texts_draw_the_same_however_they_are_stored():
    frames = []
    for name in ("text", "large text", "categories"):
        column = pa.chunked_array([IDS[name], IDS[name], IDS[name]])
        table = pa.table({"user": column, "item": [0] * 4 + [1] * 4 + [2] * 4})
        frames += [table, pl.from_arrow(table), table.to_pandas()]
    tests = [pa.array(rs.split.leave_one_out(one, seed=4).test["item"]).to_pylist() for one in frames]
    assert len(tests[0]) == 4
    assert tests == [tests[0]] * 9


def test_zero_has_no_sign():
    ids = [float(at) for at in range(20)]
    tests = [
        rs.split.random(pa.table({"user": [zero, *ids], "item": [zero, *ids]}), 0.3, seed=seed).test.to_pylist()
        for seed in range(20)
        for zero in (0.0, -0.0)
    ]
    assert tests[::2] == tests[1::2]


def test_a_moment_draws_the_same_in_any_unit():
    rows = many(5, 10)
    tests = []
    for unit in ("s", "ms", "us", "ns"):
        times = pa.array([row[2] for row in rows], pa.timestamp("s")).cast(pa.timestamp(unit))
        table = pa.table({"user": [row[0] for row in rows], "item": [row[1] for row in rows], "time": times})
        tests.append(rs.split.random(table, 0.3).test["item"].to_pylist())
    assert tests == [tests[0]] * 4


OTHERS = [
    [[1], [2], [3], [4]],
    [1.5, None, 2.5, float("nan")],
    [None, "a", "b", "c"],
    [None] * 4,
    [True, False, None, None],
    [{"a": 1}, {"a": 2}, {"a": 3}, None],
]


@pytest.mark.parametrize("other", OTHERS)
def test_ties_are_broken_by_the_other_columns(other):
    table = pa.table({"user": [1] * 4, "item": [1] * 4, "time": [1] * 4, "other": other})
    for split in (rs.split.leave_last_out, partial(rs.split.random, share=0.5), rs.split.leave_one_out):
        kept = {repr(sorted(map(str, split(table.take(order)).test["other"].to_pylist())))
                for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1])}  # fmt: skip
        assert len(kept) == 1


def test_columns_are_found_or_named():
    table = pa.table({"who": [1, 1], "what": [1, 2], "when": [2, 1]})
    names = {"query": "who", "item": "what", "time": "when"}
    assert rs.split.leave_last_out(table, columns=names).test.to_pylist() == [{"who": 1, "what": 1, "when": 2}]
    with pytest.raises(ValueError, match="the frame has no query column among 'who', 'what', 'when'"):
        rs.split.leave_last_out(table)
    with pytest.raises(ValueError, match=r"the frame has no time column .*columns={'time': \.\.\.}"):
        rs.split.leave_last_out(table, columns={"query": "who", "item": "what"})
    with pytest.raises(ValueError, match="the frame has no column 'whom'"):
        rs.split.leave_last_out(table, columns={**names, "query": "whom"})
    with pytest.raises(ValueError, match="columns= names 'user'; the roles are query, item, time"):
        rs.split.leave_last_out(table, columns={"user": "who"})
    twice = pd.DataFrame([[1, 2, 3]], columns=["user", "item", "item"])
    with pytest.raises(ValueError, match="2 columns called 'item'"):
        rs.split.leave_one_out(twice)


# -- points in time ------------------------------------------------------------------------------------------

DAYS = pa.array([datetime.datetime(2020, 1, day) for day in (1, 2, 3)])


@pytest.mark.parametrize("cut", ["2020-01-02", datetime.datetime(2020, 1, 2), datetime.date(2020, 1, 2),
                                 pd.Timestamp("2020-01-02"), np.datetime64("2020-01-02")])  # fmt: skip
@pytest.mark.parametrize("kind", [pa.timestamp("ns"), pa.timestamp("s"), pa.date32(), pa.date64()], ids=str)
def test_at_takes_times_as_people_write_them(cut, kind):
    table = pa.table({"user": [1, 1, 1], "item": [1, 2, 3], "time": DAYS.cast(kind)})
    split = rs.split.at_time(table, cut)
    assert split.test["item"].to_pylist() == [2, 3]
    assert split.report.later_rows == 0


def test_at_does_not_cut_a_time_short():
    table = pa.table({"user": [1, 1, 1], "item": [1, 2, 3], "time": DAYS.cast(pa.date32())})
    assert rs.split.at_time(table, datetime.datetime(2020, 1, 2, 12)).test["item"].to_pylist() == [3]


def test_at_refuses_what_it_cannot_compare():
    table = pa.table({"user": [1, 1, 1], "item": [1, 2, 3], "time": DAYS})
    with pytest.raises(TypeError, match=r"'time' holds timestamp\[us\]; 5 cannot be compared"):
        rs.split.at_time(table, 5)
    zone = datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone.utc)
    for cut in (zone, "2020-01-02T00:00Z", "soon"):
        with pytest.raises(TypeError, match="cannot be compared with it"):
            rs.split.at_time(table, cut)
    there = table.set_column(2, "time", DAYS.cast(pa.timestamp("us", "UTC")))
    assert rs.split.at_time(there, zone).test["item"].to_pylist() == [2, 3]
    with pytest.raises(TypeError, match="cannot be compared with it"):
        rs.split.at_time(there, datetime.datetime(2020, 1, 2))
    with pytest.raises(TypeError, match="'time' holds int64; '5' cannot be compared"):
        rs.split.at_time(frame([(1, 1, 4), (1, 1, 6)]), "5")
    assert rs.split.at_time(frame([(1, 1, 4), (1, 1, 6)]), 4.5).test["time"].to_pylist() == [6]


# -- bad input -----------------------------------------------------------------------------------------------

FEW = frame([(1, 1, 1), (1, 2, 2), (2, 1, 1)])


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (lambda: rs.split.random(FEW.slice(0, 0)), "the frame has no rows"),
        (lambda: rs.split.random(FEW, 1.5), r"share is 1.5; it must be between 0 and 1"),
        (lambda: rs.split.random(FEW, 0.1), "a share of 0.1 of 3 rows leaves a part empty"),
        (lambda: rs.split.per_user(FEW, count=2), "no user has enough rows to test 2 of them; the largest number is 2"),
        (lambda: rs.split.per_user(FEW, count=0), "count is 0; it must be a whole number from 1"),
        (lambda: rs.split.leave_last_out(FEW, 1.5), "count is 1.5; it must be a whole number"),
        (lambda: rs.split.per_user(FEW, count=1, by="date"), "by='date'; choose 'random' or 'time'"),
        (lambda: rs.split.leave_last_out(FEW, minimum=3), "no user has 3 rows; the largest number is 2"),
        (lambda: rs.split.at_time(FEW, 9), "no row is at or after 9; they go from 1 to 2"),
        (lambda: rs.split.at_time(FEW, 0), "no row is before 0; they go from 1 to 2"),
        (lambda: rs.split.folds(FEW, 1), "k is 1; it must be 2 or more, and at most the 3 rows there are"),
        (lambda: rs.split.folds(FEW, 3, by="user"), "k is 3; it must be 2 or more, and at most the 2 users"),
        (lambda: rs.split.folds(FEW, by="item"), "by='item'; choose 'row' or 'user'"),
    ],
)
def test_what_cannot_be_split(split, message):
    with pytest.raises(ValueError, match=message):
        split()


def test_wrong_types():
    with pytest.raises(TypeError, match="pass either share= or count="):
        rs.split.per_user(FEW)
    with pytest.raises(TypeError, match=r"the seed is 1\.5; it must be a whole number"):
        rs.split.random(FEW, 0.5, seed=1.5)
    with pytest.raises(TypeError, match="column 'time' holds string, not numbers or times"):
        rs.split.leave_last_out(FEW.set_column(2, "time", [["a", "b", "c"]]))
    mixed = pd.DataFrame({"user": [1, "a"], "item": [1, 2]})
    with pytest.raises(TypeError, match="column 'user': "):
        rs.split.leave_one_out(mixed)


@pytest.mark.parametrize("kind", KINDS)
def test_missing_values_are_named(kind):
    gaps = frame([(1, 1, 1), (1, 2, None), (2, 3, 3), (2, 5, None)], kind)
    for split in (rs.split.leave_last_out, partial(rs.split.at_time, time=1)):
        with pytest.raises(ValueError, match=r"row 1 \(user 1\) has no time in column 'time', and 1 more; rows are"):
            split(gaps)
    lonely = frame([(9, 1, 1), (1, 1, 1), (1, 2, None)], kind)
    with pytest.raises(ValueError, match=r"row 2 \(user 1\) has no time"):  # counted with the rows that were dropped
        rs.split.leave_last_out(lonely, minimum=2)
    report = rs.split.random(gaps, 0.5).report
    assert report.untimed_rows == 2
    assert "without a time" in str(report)
    for name, word in (("user", r"row 1 has no user"), ("item", r"row 1 \(user 2\) has no item")):
        data = {"user": [1, 2], "item": [1, 2], name: [1, None]}
        with pytest.raises(ValueError, match=f"{word} in column '{name}'; rows"):
            rs.split.random(KINDS[kind](data), 0.5)


def test_not_a_number_is_no_time():
    with pytest.raises(ValueError, match=r"row 1 \(user 1\) has no time"):
        rs.split.leave_last_out(frame([(1, 1, 1.0), (1, 2, float("nan"))]))


# -- the report ----------------------------------------------------------------------------------------------


def test_report_is_printed():
    rows = [(1, 10, 1), (1, 11, 5), (2, 10, 2), (2, 12, 9), (3, 13, 3), (4, 10, 4), (4, 10, 6)]
    split = rs.split.leave_last_out(frame(rows), minimum=2)
    assert repr(split) == "<Split: 3 rows to train on, 3 to test on>"
    assert str(split.report).splitlines() == [
        "the last 1 of each user's rows by time, then by item; 7 rows",
        "  training                                   3  3 users, 1 items",
        "  test                                       3  3 users, 3 items",
        "  dropped                                    1  1 users with too few rows",
        "  test, user not in training                 0  0 users",
        "  test, item not in training                 2  2 items",
        "  training, after the first test row         0",
        "  training, after the user's first test row  0",
    ]
    texts = frame([(*row[:2], str(row[2])) for row in rows])
    for table in (frame(rows).drop(["time"]), texts):  # no times, or none that can be compared
        untimed = rs.split.random(table, 0.5).report
        assert untimed.later_rows is None
        assert "after" not in str(untimed)


def test_shares_are_in_percent():
    rows = frame([(1, item, item) for item in range(10)])
    for split, title in [
        (rs.split.per_user(rows, share=0.2, by="time"), "the last 20% of each user's rows by time, then by item; 10"),
        (rs.split.per_user(rows, share=0.2), "20% of each user's rows at random, seed 0; 10"),
        (rs.split.random(rows, 0.2), "20% of all rows at random, seed 0; 10"),
    ]:
        assert str(split.report).startswith(title)


def test_a_table_of_spark_is_refused():
    """It would be collected without a word."""
    table = type("DataFrame", (), {"__module__": "pyspark.sql.classic.dataframe", "__arrow_c_stream__": None})()
    with pytest.raises(TypeError, match=r"a Spark table cannot be split; pass frame\.toPandas\(\)"):
        rs.split.leave_last_out(table)


# -- real data -----------------------------------------------------------------------------------------------

MOVIES = {"query": "userId", "item": "movieId", "time": "timestamp"}


@pytest.fixture(scope="module")
def ratings(shared):
    return pd.read_csv(shared("data/ml-latest-small/ratings.csv"))


def test_movielens_last_is_what_pandas_finds(ratings):
    split = rs.split.leave_last_out(ratings, 5, columns=MOVIES)
    ordered = ratings.sort_values(["userId", "timestamp", "movieId"])
    pd.testing.assert_frame_equal(split.test, ordered.groupby("userId").tail(5).sort_index())
    pd.testing.assert_frame_equal(split.train, ratings.drop(split.test.index))
    assert split.report.own_later_rows == 0
    assert split.report.later_rows > 0  # the leak of leaving the last out: others go on


def test_movielens_at_is_what_pandas_finds(ratings):
    split = rs.split.at_time(ratings, 1_200_000_000, columns=MOVIES)
    test = ratings[ratings["timestamp"] >= 1_200_000_000]
    train = ratings[ratings["timestamp"] < 1_200_000_000]
    pd.testing.assert_frame_equal(split.test, test)
    pd.testing.assert_frame_equal(split.train, train)
    assert split.report.unseen_users == len(set(test["userId"]) - set(train["userId"]))
    assert split.report.unseen_item_rows == (~test["movieId"].isin(train["movieId"])).sum()


def test_movielens_in_any_order_and_kind(ratings):
    mixed = ratings.sample(frac=1, random_state=1)
    for split in (partial(rs.split.random, share=0.2, seed=3), partial(rs.split.per_user, share=0.2, seed=3)):
        test = split(ratings, columns=MOVIES).test
        pd.testing.assert_frame_equal(split(mixed, columns=MOVIES).test.sort_index(), test)
        assert split(pl.from_pandas(ratings), columns=MOVIES).test.equals(pl.from_pandas(test))
        assert split(pa.table(ratings), columns=MOVIES).test.to_pydict() == test.to_dict("list")
