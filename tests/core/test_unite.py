"""Items of several runs get one number each: against a plain dict, and with objects that misbehave."""

import random

import numpy as np
import pytest

from rankstone import _core
from rankstone.errors import DataError


def slow(queries, contents):
    """The same with dicts."""
    items, counts, codes, scores = [], [], [], []
    for at in range(len(queries)):
        known = {}
        for run in contents:
            content = run[at]
            if content is None:
                continue
            size = len(content)
            pairs = content.items() if isinstance(content, dict) else zip(content, range(size, 0, -1), strict=True)
            for item, score in pairs:
                codes.append(len(items) + known.setdefault(item, len(known)))
                scores.append(float(score))
        items += known
        counts.append(len(known))
    return items, counts, codes, scores


@pytest.mark.parametrize("seed", range(20))
def test_numbers_are_those_of_a_dict(seed):
    rng = random.Random(seed)
    pool = [*range(30), *map(str, range(30)), *((n, "x") for n in range(5)), None, 2.5, True, -1, -2]
    queries = list(range(rng.randint(0, 12)))

    def content():
        shown = rng.sample(pool, rng.choice((0, 1, 3, 40)))
        return rng.choice(
            (None, shown, tuple(shown), {item: rng.choice((1, 0.5, np.float32(2), True)) for item in shown})
        )

    contents = [[content() for _ in queries] for _ in range(rng.randint(1, 4))]
    items, counts, codes, scores = _core.unite_dicts([f"r{n}" for n in range(len(contents))], queries, contents)
    expected = slow(queries, contents)
    assert (items, counts.tolist(), codes.tolist(), scores.tolist()) == expected


def unite(*contents):
    return _core.unite_dicts([f"run {at}" for at in range(len(contents))], ["q"], [[content] for content in contents])


def test_what_is_wrong_is_named():
    for content, problem in (
        ({"a": "1"}, "run 1: query 'q', item 'a': score '1' is not a number"),
        ({"a": 2**60 + 1}, "run 1: query 'q', item 'a': score .* is too large to be exact"),
        ([[]], "of type list cannot be hashed"),
        ({"a"}, "run 1: query 'q': the run must be a dict .* not set"),
    ):
        with pytest.raises(DataError, match=problem) as caught:
            unite(["a"], content)
        assert (caught.value.side, caught.value.query) == ("run", "q")
    for names, contents in ((["a"], [[], []]), ([1], [[{"a": None}]]), (["a"], [()]), (["a"], [[]])):
        with pytest.raises((TypeError, ValueError)):
            _core.unite_dicts(names, ["q"], contents)


class Hostile:
    """Does something when it is compared, hashed or read."""

    def __init__(self, number, act):
        self.number, self.act = number, act

    def __hash__(self):
        return 7

    def __eq__(self, other):
        self.act()
        return self is other

    def __float__(self):
        self.act()
        return 1.0


def test_dicts_that_change_while_they_are_read():
    for change in (dict.clear, dict.popitem, lambda content: content.update(dict.fromkeys(range(1000), 1.0))):
        for victim in (0, 1):
            contents = [{}, {}]
            armed = []

            def act(contents=contents, victim=victim, change=change, armed=armed):
                if armed:
                    armed.clear()
                    change(contents[victim])

            for content in contents:
                content.update({Hostile(n, act): 1.0 for n in range(5)})
            armed.append(True)
            with pytest.raises(DataError, match="changed while it was read"):
                unite(*contents)


def test_a_list_that_shrinks_was_copied():
    items = []
    items += [Hostile(n, items.clear) for n in range(5)]
    found, counts, codes, _ = unite(items)
    assert (len(found), counts.tolist(), codes.tolist()) == (5, [5], [0, 1, 2, 3, 4])


def test_errors_of_objects_come_through():
    def fail():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        unite([Hostile(1, fail), Hostile(2, fail)])
    with pytest.raises(ZeroDivisionError):
        unite({"a": Hostile(1, fail)})
