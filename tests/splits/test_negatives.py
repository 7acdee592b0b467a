"""Negatives: what must hold of every one, and that each item has the same chance."""

from collections import Counter

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankstone as rs

from .test_split import KINDS, frame, rows_of

TRAIN = [(1, 10, 0), (1, 11, 0), (2, 12, 0), (3, 13, 0), (3, 14, 0), (3, 15, 0)]
TEST = [(2, 10, 0), (1, 12, 0), (1, 13, 0)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ids", [int, str])
def test_each_kind_of_frame(kind, ids):
    def of(rows):
        return frame([(ids(user), ids(item), time) for user, item, time in rows], kind)

    found = rs.split.negatives(of(TRAIN), of(TEST), n=2)
    assert type(found) is type(of(TEST))
    pairs = rows_of(found)
    assert [user for user, _ in pairs] == [ids(2), ids(2), ids(1), ids(1)]  # as they come in the test
    assert {item for user, item in pairs if user == ids(1)} == {ids(14), ids(15)}
    assert {item for user, item in pairs if user == ids(2)} < {ids(item) for item in (11, 13, 14, 15)}
    assert sorted(rows_of(rs.split.negatives(of(TRAIN[::-1]), of(TEST[::-1]), n=2))) == sorted(pairs)


def test_so_many_for_each_positive():
    found = rs.split.negatives(frame(TRAIN), frame(TEST), n=1, per="positive")
    assert Counter(found["user"].to_pylist()) == {2: 1, 1: 2}


pairs = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9), st.just(0)), min_size=1, max_size=20)


@given(train=pairs, test=pairs, n=st.integers(1, 4), seed=st.integers(0, 3))
def test_what_holds_of_every_one(train, test, n, seed):
    items = {item for _, item, _ in train + test}
    seen = {(user, item) for user, item, _ in train + test}
    users = {user for user, _, _ in test}
    short = [user for user in users if len(items) - sum(one == user for one, _ in seen) < n]
    if short:
        with pytest.raises(ValueError, match=r"user \d has \d of \d+ items left, fewer than the \d to be drawn"):
            rs.split.negatives(frame(train), frame(test), n)
        return
    found = rows_of(rs.split.negatives(frame(train), frame(test), n, seed=seed))
    assert len(set(found)) == len(found)
    assert Counter(user for user, _ in found) == dict.fromkeys(users, n)
    assert not seen & set(found)
    assert {item for _, item in found} <= items


def test_each_item_has_the_same_chance():
    """4,000 users who have seen one of ten items draw three of the nine others: 1,333 times each, give or take 30."""
    train = frame([(0, item, 0) for item in range(10)])
    test = frame([(user, 0, 0) for user in range(1, 4001)])
    for seed in (0, 1):
        count = Counter(rs.split.negatives(train, test, 3, seed=seed)["item"].to_pylist())
        assert sorted(count) == list(range(1, 10))
        assert all(abs(number - 4000 / 3) < 150 for number in count.values())
    first, second = (rs.split.negatives(train, test, 3, seed=seed).to_pylist() for seed in (0, 1))
    assert first != second


def test_wrong_calls():
    for more, problem in [
        ({"n": 0}, "n is 0; it must be a whole number from 1"),
        ({"per": "row"}, "per='row'; choose 'user' or 'positive'"),
    ]:
        with pytest.raises(ValueError, match=problem):
            rs.split.negatives(frame(TRAIN), frame(TEST), **more)
    words = frame([(user, str(item), time) for user, item, time in TEST])
    with pytest.raises(TypeError, match="column 'item' holds large_string in the test and int64 in training"):
        rs.split.negatives(frame(TRAIN), words, 1)


def test_narrow_numbers_are_the_same_ids():
    narrow = pd.DataFrame({"user": pd.Series([1], dtype="int32"), "item": pd.Series([12], dtype="int16")})
    found = rs.split.negatives(frame(TRAIN), narrow, 3)
    assert set(found["item"]) == {13, 14, 15}
    assert found.dtypes.astype(str).to_dict() == {"user": "int32", "item": "int16"}
    assert pa.table(found).num_rows == 3


def test_what_numbers_among_them_mean():
    """User 2 has two of six items, user 1 four: on average three others and the one."""
    found = rs.split.sampled(frame(TRAIN), frame(TEST), n=2)
    assert (found.negatives, found.items, found.replacement) == (2, (6 - 2 + 6 - 4) / 2 + 1, False)
    assert str(found).startswith("hit_rate@2 among 2 negatives is about hit_rate@2 among 4")
    with pytest.raises(ValueError, match="30 negatives cannot be sampled from 3 other items"):
        rs.split.sampled(frame(TRAIN), frame(TEST), n=30)
