"""The core's own threads, and several Python threads in the core at once: the answer of one thread alone.

`make sanitize` runs these under ThreadSanitizer too.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import rankstone as rs
from rankstone import _core
from rankstone.data.source import AlignOptions

ROWS = 100_000  # enough for the core to share them out
CHANCE = np.random.default_rng(7)
QUERY = CHANCE.integers(0, 50, ROWS)
ITEM = np.arange(ROWS) % 997
TEXT = pa.array([f"item {number}" for number in ITEM])
SCORE = CHANCE.integers(0, 500, ROWS) / 8
TREC = b"".join(b"q%d Q0 d%d 1 %f t\n" % row for row in zip(QUERY, ITEM, SCORE, strict=True))  # several pieces


def columns(items: Any, threads: int) -> Any:
    how = AlignOptions(duplicates="best", truth_duplicates="first", threads=threads)
    return _core.align_columns(QUERY[:2000], items[:2000], None, QUERY, items, SCORE, how)[2:14]


def dense(threads: int, keep_zero_grades: bool = True) -> Any:
    scores = SCORE.reshape(-1, 100)
    return _core.align_dense(
        scores, (scores > 50).astype(float), None, AlignOptions(keep_zero_grades=keep_zero_grades, threads=threads)
    )[2:14]


def stream(items: Any, threads: int) -> Any:
    made = _core.Stream(QUERY[:2000], items[:2000], None, AlignOptions(duplicates="count", truth_duplicates="first"))
    found = made.find(QUERY, items, SCORE, threads)
    made.count(QUERY, items, SCORE, threads)
    return [found, *made.result(AlignOptions(threads=threads))[2:14]]


def text(threads: int) -> Any:
    ids, numbers = _core.Text(TREC, "i-i-n-", threads=threads).columns()
    return [*(pa.array(column).to_numpy(zero_copy_only=False) for column in ids), *numbers]  # type: ignore[union-attr]


CALLS: dict[str, Callable[[int], Any]] = {
    "columns": lambda threads: columns(ITEM, threads),
    "columns of text": lambda threads: columns(TEXT, threads),
    "matrices": dense,
    "matrices without zeros": lambda threads: dense(threads, keep_zero_grades=False),
    "stream": lambda threads: stream(ITEM, threads),
    "stream of text": lambda threads: stream(TEXT, threads),
    "TREC": text,
}


@pytest.mark.parametrize("call", CALLS)
def test_four_threads_inside_and_two_outside(call: str) -> None:
    alone = CALLS[call](1)
    with ThreadPoolExecutor(2) as pool:
        for found in pool.map(CALLS[call], [4, 4]):
            for one, other in zip(alone, found, strict=True):
                np.testing.assert_array_equal(one, other)


def test_memory_that_is_used_again() -> None:
    """Rows in random order are moved into room that stays for the next call, which fits other calls or does not."""

    def call(size: int) -> Any:
        chance = np.random.default_rng(size)
        query, score = chance.integers(0, 5000, size), chance.random(size)
        how = AlignOptions(truth_duplicates="first", threads=1 + size % 2)
        return _core.align_columns(query[::7], np.arange(size)[::7], None, query, np.arange(size), score, how)[2:14]

    sizes = [400_001, 700_002, 350_003, 900_004, 400_005]  # rows of 24 bytes: 8 MB and more
    alone = [call(size) for size in sizes]
    with ThreadPoolExecutor(3) as pool:
        for expected, found in zip(alone * 3, pool.map(call, sizes * 3), strict=True):
            for one, other in zip(expected, found, strict=True):
                np.testing.assert_array_equal(one, other)


def test_one_stream_fed_by_several_threads() -> None:
    truth = rs.columns(query=QUERY[:900], item=ITEM[:900], grade=np.ones(900))
    batches = [
        {"query": QUERY[at : at + 5000], "item": ITEM[at : at + 5000], "score": SCORE[at : at + 5000]}
        for at in range(0, ROWS, 5000)
    ]
    choices: Any = {"duplicates": "count", "truth_duplicates": "first"}
    several, alone = (rs.Stream(truth, ["ap", "ndcg@10"], threads=2, **choices) for _ in range(2))
    with ThreadPoolExecutor(4) as pool:
        for work in (several.first_pass, several.second_pass):
            list(pool.map(work, batches))
    for batch in batches:
        alone.first_pass(batch)
    for batch in batches:
        alone.second_pass(batch)
    assert dict(several.compute()) == dict(alone.compute())
