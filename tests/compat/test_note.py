"""The functions of a note on ranking metrics, beside its own code."""

import ast
import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankstone.compat import note

from .documents import document, functions

FUNCTIONS = ("metric_at_k", "precision_at_k", "recall_at_k")


@pytest.fixture(scope="module")
def text(shared):
    return document(shared, "002")


@pytest.fixture(scope="module")
def original(text):
    return functions(text)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures(name, original):
    ours, theirs = (
        {one.name: one.default or None for one in inspect.signature(function).parameters.values()}
        for function in (getattr(note, name), original[name])
    )
    assert ours == theirs


def test_the_printed_numbers(text):
    """The note's example: three lines of data for each user, then what it prints of them."""
    lines = [ast.literal_eval(line.strip()) for line in text.splitlines() if line.startswith(("    [", "    {"))]
    preferences, recommendations, masks = lines[0::3], lines[1::3], lines[2::3]
    assert len(masks) == 10
    assert note.precision_at_k(preferences, recommendations, 4) == 0.95
    assert note.recall_at_k(preferences, recommendations, 4) == 0.95
    assert note.recall_at_k(preferences, recommendations, 4, masks) == 0.76


items = st.lists(st.integers(0, 6), min_size=1, max_size=7)
users = st.lists(st.tuples(items, items, st.lists(st.integers(0, 1), min_size=7, max_size=7)), min_size=1, max_size=4)


@given(users=users, k=st.integers(1, 8), masked=st.booleans())
def test_the_notes_own_code(original, users, k, masked):
    true, predicted = [user[0] for user in users], [user[1] for user in users]
    masks = [dict(enumerate(user[2])) for user in users] if masked else []
    for name in FUNCTIONS[1:]:
        try:
            expected = original[name](true, predicted, k, masks)
        except ZeroDivisionError:
            continue
        assert getattr(note, name)(true, predicted, k, masks) == expected


@pytest.mark.parametrize("items", [(1.0, 2.5), ((1, 2), (3,)), ("a", None), (np.float32(1.5), 2)])
def test_items_of_any_hashable_type(original, items):
    one, other = items
    true, predicted, masks = [[one, other], [other]], [[other, one], [one]], [{one: 1, other: 1}, {one: 0, other: 1}]
    for name in FUNCTIONS[1:]:
        for arguments in ((true, predicted, 2), (true, predicted, 2, masks)):
            assert getattr(note, name)(*arguments) == original[name](*arguments)
