"""A value is a finite number, or there is an error that names the query."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rankstone as rs

TRUTH = {"u1": {"a": 1.0, "b": 0.0}, "u2": {"a": 2.0, "b": 1.0, "c": 0.0}}
HUGE = {"u1": {"a": 1.0, "b": 0.5}, "u2": {"a": 1e200, "b": 2.0, "c": 1.0}}  # 1e200 squared is no float
TOO_LARGE = "grades or scores are too large to add up as floats"


def accumulated(keep: bool) -> Any:
    accumulator = rs.Accumulator(["mse"], keep=keep)
    accumulator.update(TRUTH, HUGE)
    return accumulator.compute()


def streamed() -> Any:
    rows = [(query, item, score) for query, ranked in HUGE.items() for item, score in ranked.items()]
    run = dict(zip(("query", "item", "score"), map(list, zip(*rows, strict=True)), strict=True))
    stream = rs.Stream(TRUTH, ["mse"])
    stream.first_pass(run)
    stream.second_pass(run)
    return stream.compute()


DOORS: dict[str, tuple[Callable[[], Any], str]] = {
    "evaluate": (lambda: rs.evaluate(TRUTH, HUGE, ["mse"]), " in query 'u2'"),
    "macro": (lambda: rs.evaluate(TRUTH, HUGE, ["mse"], averaging="macro"), " in query 'u2'"),
    "accumulator": (lambda: accumulated(True), " in query 'u2'"),
    "sums": (lambda: accumulated(False), " in query 'u2'"),
    "stream": (streamed, " in query 'u2'"),
    "one list": (lambda: rs.metrics.mse([1e200], truth=[1.0]), ""),
    "arrays": (
        lambda: rs.arrays.mse(scores=np.array([[1.0], [1e200]]), labels=np.array([[1.0], [0.0]])),
        " in row 1",
    ),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_value_beyond_floats_is_an_error_that_names_the_query(door: str) -> None:
    call, where = DOORS[door]
    with pytest.raises(ValueError, match=f"^mse: {TOO_LARGE}{where}$"):
        call()


@pytest.mark.parametrize("metric", ["mse", "rmse", "r2", "pearson"])
def test_an_overflow_on_the_way_is_one_too(metric: str) -> None:
    """Pearson's correlation would be 0: a finite number over an infinite one."""
    with pytest.raises(ValueError, match=f"^{metric}: {TOO_LARGE} in query 'u2'$"):
        rs.evaluate(TRUTH, HUGE, [metric], averaging="macro")


@pytest.mark.parametrize("metric", ["dcg", "ndcg"])
def test_grades_that_do_not_add_up(metric: str) -> None:
    truth = {"u1": ["a"], "u2": dict.fromkeys("abc", 1e308)}
    with pytest.raises(ValueError, match=f"^{metric}: {TOO_LARGE} in query 'u2'$"):
        rs.evaluate(truth, {"u1": ["a"], "u2": ["a", "b", "c"]}, [metric])


def test_means_that_do_not_add_up() -> None:
    truth, run = {f"u{at}": {"a": 1e308} for at in range(3)}, {f"u{at}": ["a"] for at in range(3)}
    with pytest.raises(ValueError, match=r"^dcg: the values of the queries are too large to add up as floats$"):
        rs.evaluate(truth, run, ["dcg"])


def test_nothing_to_earn_is_what_the_convention_says() -> None:
    truth, run = {"u1": {"a": 0}, "u2": {"a": 1}}, {"u1": ["a"], "u2": ["a"]}
    for undefined, value in ((0, 0.0), (1, 1.0), ("nan", math.nan)):
        found = rs.evaluate(truth, run, ["ndcg"], undefined=undefined).per_query["ndcg"]
        np.testing.assert_array_equal(found, [value, 1.0])


@pytest.mark.parametrize("k", [10**19, 2**63, 10**30])
def test_a_cutoff_beyond_64_bits(k: int) -> None:
    result = rs.evaluate({"u1": ["a"]}, {"u1": ["b", "a"]}, [f"{name}@{k}" for name in ("judged", "num_ret", "recall")])
    assert list(dict(result).values()) == [1 / 2, 2.0, 1.0]


def test_a_cutoff_beyond_floats() -> None:
    with pytest.raises(ValueError, match="k must be a whole number from 1, not one of more than 300 digits"):
        rs.evaluate({"u1": ["a"]}, {"u1": ["b", "a"]}, [f"num_ret@{10**400}"])
