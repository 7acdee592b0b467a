"""States of what is fed bit by bit, changed at random in several places: a `ValueError` or an answer, nothing else."""

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankstone as rs

from .test_readers import for_a_while, fuzzing

BATCH = {"query": ["q", "q", "q", "q", "x"], "item": ["c", "a", "b", "b", "a"], "score": [3.0, 2.0, 2.0, 1.0, 1.0]}


def stream() -> rs.Stream:
    truth = rs.columns(query=["q", "q", "p"], item=["a", "b", "a"], grade=[1, 2, 1])
    return rs.Stream(truth, ["ap", "ndcg(score_precision='float32')"], duplicates="count")


def found() -> rs.Stream:
    made = stream()
    made.first_pass(BATCH)
    return made


def counted() -> rs.Stream:
    made = found()
    made.second_pass(BATCH)
    return made


def accumulator(keep: bool) -> rs.Accumulator:
    return rs.Accumulator(["rr", "ndcg@2", "precision@3"], keep=keep)


def accumulated(keep: bool) -> rs.Accumulator:
    made = accumulator(keep)
    made.update(
        {"x": {"a": 1, "b": 2}, "y": {"c": 3}, "z": {"d": 1}},
        {"x": {"a": 0.5, "b": 0.5, "e": 0.5}, "y": {"e": 1.0, "c": 0.1}},
    )
    return made


def online() -> rs.Online:
    return rs.Online(["rr", "recall"], window=100, horizon=10)


def served() -> rs.Online:
    made = online()
    for number, time in enumerate((1, 2, 30, 31)):
        made.log_impression(number, ["a", "b"], time=time)
        made.log_feedback(number, "a", time=time)
        made.log_feedback(f"nobody's {number}", "a", time=time)
    return made


CASES: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "found": (found, stream),
    "counted": (counted, stream),
    "kept": (lambda: accumulated(True), lambda: accumulator(True)),
    "summed": (lambda: accumulated(False), lambda: accumulator(False)),
    "served": (served, online),
}


def places(state: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something can be changed: each field, and each number of an array."""
    below: Any = ()
    if isinstance(state, dict):
        below = state.items()
    elif isinstance(state, (list, np.ndarray)):
        below = enumerate(state)
    return [*([path] if path else []), *(place for key, value in below for place in places(value, (*path, key)))]


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([-1, 0, 1, 2, 3, 2**31, 2**53, 2**63 - 1, 2**63, 2**70, -(2**63)]),
    st.floats(),
    st.text(max_size=2),
    st.lists(st.one_of(st.integers(-1, 4), st.floats(), st.none(), st.text(max_size=1)), max_size=4),
    st.lists(st.one_of(st.integers(-1, 4), st.just(2**62)), max_size=4).map(lambda given: np.array(given, np.int64)),
    st.lists(st.floats(), max_size=4).map(lambda given: np.array(given, float)),
    st.lists(st.booleans(), max_size=4).map(lambda given: np.array(given, bool)),
)


@st.composite
def changed(draw: st.DrawFn, state: dict[str, Any]) -> dict[str, Any]:
    state = copy.deepcopy(state)
    for _ in range(draw(st.integers(1, 3))):
        *path, last = draw(st.sampled_from([place for place in places(state) if place[0] != "settings"]))
        inner: Any = state
        for key in path:
            inner = inner[key]
        value = draw(VALUES)
        if isinstance(inner, np.ndarray):
            with np.errstate(all="ignore"):
                inner[last] = np.array(value).astype(inner.dtype) if isinstance(value, (bool, float)) else inner[0]
        elif isinstance(inner, dict) and draw(st.booleans()):
            other = draw(st.sampled_from([*inner]))  # of a kind that could be right
            inner[last] = copy.deepcopy(inner[other])
        else:
            inner[last] = value
    return state


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_changed_states(case: str) -> None:
    make, fresh = CASES[case]
    state = make().state_dict()
    expected = json.dumps({name: str(value) for name, value in _answer(make()).items()})

    @fuzzing
    @given(changed(state))
    def check(other: dict[str, Any]) -> None:
        again = fresh()
        try:
            again.load_state_dict(other)
            _answer(again)
        except ValueError:
            again = fresh()
        again.load_state_dict(state)
        assert json.dumps({name: str(value) for name, value in _answer(again).items()}) == expected

    for_a_while(check)


def _answer(made: Any) -> dict[str, Any]:
    try:
        return dict(made.compute())
    except ValueError as error:  # nothing was counted, so far
        return {"error": str(error)}
