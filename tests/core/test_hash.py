"""Ids that somebody made to meet in the same slot of a hash table: they cost no more than others."""

import functools
import hashlib
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from rankstone import _core
from rankstone.data.source import AlignOptions
from tests.effort import cpu_limit

from .doors import align_columns

COUNT = 300_000
WORD = 2**64


def mix(a: int, b: int) -> int:
    return (a * b >> 64) ^ (a * b % WORD)


@functools.cache
def colliding_texts() -> pa.Array:
    """Texts of 24 bytes that are all 0 to the hash of wyhash's kind with the constants that everybody knows."""
    k0, k1 = 0xA0761D6478BD642F, 0xE7037ED1A0B428DB
    texts = []
    for number in range(COUNT):
        front = f"{number:016d}".encode()
        words = int.from_bytes(front[:8], "little"), int.from_bytes(front[8:], "little")
        state = mix(words[0] ^ k1, words[1] ^ (24 * k0 % WORD))
        texts.append(front + (state ^ k0).to_bytes(8, "little"))
    column = pa.array(texts, pa.binary())
    return pa.StringArray.from_buffers(COUNT, *column.buffers()[1:])


def colliding_ints() -> np.ndarray:
    """Multiples of a Fibonacci number, which multiplying with the golden ratio hardly moves."""
    return np.arange(COUNT, dtype=np.int64) * 2971215073


def columns(items: Any) -> None:
    align_columns(np.zeros(COUNT, int), items, None, np.zeros(COUNT, int), items, None)


def stream(items: Any) -> None:
    made = _core.Stream(np.zeros(COUNT, int), items, None, AlignOptions())
    made.find(np.zeros(COUNT, int), items, np.ones(COUNT), 1)


def queries(ids: Any) -> None:
    align_columns(ids, np.zeros(COUNT, int), None, ids, np.zeros(COUNT, int), None)


@pytest.mark.parametrize("call", [columns, stream, queries])
@pytest.mark.parametrize("colliding", [colliding_texts, colliding_ints])
def test_colliding_ids_take_no_longer(call: Any, colliding: Any) -> None:
    """Compared with each other they would take minutes, not milliseconds."""
    ids = colliding()
    with cpu_limit(20):
        call(ids)


def test_the_answer_is_the_same_in_every_process() -> None:
    """Each has a seed of its own."""
    program = """
        import hashlib
        import numpy as np, pyarrow as pa
        from rankstone import _core
        from rankstone.data.source import AlignOptions

        chance = np.random.default_rng(1)
        query = pa.array([f"q{n}" for n in chance.integers(0, 30, 3000)])
        item = pa.array([f"item{n}" for n in chance.integers(0, 200, 3000)])
        score = chance.integers(0, 5, 3000).astype(float)
        how = AlignOptions(duplicates="best", truth_duplicates="first")
        found = [_core.align_columns(query[:500], item[:500], None, query, item, score, how)]
        stream = _core.Stream(query[:500], item[:500], None, AlignOptions(duplicates="count", truth_duplicates="first"))
        extra = stream.find(query, item, score, 2)
        stream.count(query, item, score, 2)
        found.append(stream.result(AlignOptions()))
        told = [array.tobytes() for each in found for array in each if isinstance(array, np.ndarray)]
        print(hashlib.sha256(b"".join([*told, extra.tobytes()])).hexdigest())
    """
    run = [sys.executable, "-c", textwrap.dedent(program)]
    answers = {subprocess.run(run, capture_output=True, text=True, check=True).stdout for _ in range(3)}
    assert len(answers) == 1
    assert len(answers.pop().strip()) == hashlib.sha256().digest_size * 2
