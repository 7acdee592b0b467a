"""What keeps tests the same on every machine: examples by the profile, CPU time and not the clock."""

import re
from pathlib import Path

import pytest
from hypothesis import settings

from .effort import TooMuchCPUError, cpu_limit, examples

HERE = Path(__file__).parent
FILES = [path for path in sorted(HERE.rglob("*.py")) if path.name not in ("conftest.py", "effort.py", "test_effort.py")]


def test_examples_are_those_of_the_profile_so_many_times():
    assert examples(10).max_examples == 10 * settings().max_examples
    assert examples(0.01).max_examples == 1
    assert examples(1, database=None).database is None


def test_too_much_cpu():
    with cpu_limit(30):
        pass
    with pytest.raises(TooMuchCPUError, match=r"more than 0\.05 seconds of CPU"), cpu_limit(0.05):
        re.fullmatch("(a*)*b", "a" * 100)  # which takes for ever


@pytest.mark.parametrize("word", ["max_examples", "perf_counter", "process_time", "thread_time", "timeit"])
def test_neither_numbers_of_examples_nor_a_clock(word):
    found = [path.relative_to(HERE).as_posix() for path in FILES if re.search(rf"\b{word}\b", path.read_text("utf-8"))]
    assert found == []
