"""Queries of a truth, numbered, and the stretches of a run that hold them: against plain Python."""

from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from rankstone import _core

SORTED = np.repeat(np.arange(3000), 5)
KINDS: dict[str, Any] = {
    "numbers": lambda ids: ids,
    "texts": lambda ids: pa.array([f"query {one} of some length" for one in ids.tolist()]),
}


def ids(column: Any) -> list[Any]:
    return list(column.tolist())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("threads", [1, 3])
def test_numbers_are_those_of_first_appearance(kind: str, together: bool, threads: int) -> None:
    chance = np.random.default_rng(5)
    order = SORTED[::-1] if together else chance.permutation(SORTED)
    truth = KINDS[kind](order.copy())
    run = KINDS[kind](np.repeat(chance.permutation(4000), chance.integers(1, 30, 4000)))  # a quarter is not judged
    queries = _core.Queries(truth, threads)

    rows: dict[Any, list[int]] = {}
    for row, one in enumerate(ids(truth)):
        rows.setdefault(one, []).append(row)
    assert queries.first_rows.tolist() == [mine[0] for mine in rows.values()]
    assert queries.offsets.tolist() == np.cumsum([0, *map(len, rows.values())]).tolist()
    by_query = [row for mine in rows.values() for row in mine]
    if together:
        assert queries.rows is None
        assert by_query == list(range(len(by_query)))
    else:
        assert queries.rows is not None
        assert queries.rows.tolist() == by_query

    numbers = {one: number for number, one in enumerate(rows)}
    starts, found, at = [], [], 0
    for one, mine in groupby(ids(run)):
        starts.append(at)
        found.append(numbers.get(one, -1))
        at += len(list(mine))
    told = queries.stretches(run, threads)
    assert (told[0].tolist(), told[1].tolist()) == (starts, found)


def test_few_rows_and_none() -> None:
    queries = _core.Queries(np.array([7, 7, 8]))
    assert [part.tolist() for part in queries.stretches(np.zeros(0, dtype=np.int64))] == [[], []]
    assert [part.tolist() for part in queries.stretches(np.array([8]))] == [[0], [1]]
    with pytest.raises(TypeError):
        queries.stretches(pa.array(["8"]))
