"""What the tests of everything that is fed bit by bit share."""

import copy
import sys
import threading

import numpy as np
import pytest


@pytest.fixture
def together():
    """Calls a function with each of several arguments, each in a thread of its own, as much at once as can be."""
    before = sys.getswitchinterval()

    def call(function, arguments):
        problems = []

        def safely(argument):
            try:
                function(argument)
            except BaseException as error:
                problems.append(error)

        threads = [threading.Thread(target=safely, args=(one,)) for one in arguments]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not problems, problems

    sys.setswitchinterval(1e-6)
    yield call
    sys.setswitchinterval(before)


@pytest.fixture
def breaks():
    """Every way to change one thing in a state: the place, and the changed state."""
    return _breaks


def _breaks(state):
    for path in _leaves(state, ()):
        if path[0] == "settings":
            continue
        for change in _changes(_at(state, path)):
            changed = copy.deepcopy(state)
            _at(changed, path[:-1])[path[-1]] = change
            yield path, changed
        changed = copy.deepcopy(state)
        del _at(changed, path[:-1])[path[-1]]
        yield path, changed


def _leaves(state, path):
    if path:
        yield path
    if isinstance(state, dict | list):
        for key, value in state.items() if isinstance(state, dict) else enumerate(state):
            yield from _leaves(value, (*path, key))


def _at(state, path):
    for key in path:
        state = state[key]
    return state


def _changes(value):
    yield from ("text", -1, [None], [()], {}, 2**70)
    if isinstance(value, list):
        yield [*value, "more"]
    if isinstance(value, np.ndarray):
        yield from (value[:-1], np.append(value, value[:1]), value.astype(str), value.reshape(1, -1))
        for number in (-1, 2**40, np.nan):
            other = value.astype(float) if np.isnan(number) else value.copy()
            if len(other):
                other[0] = number
                yield other
