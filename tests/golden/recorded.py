"""What other tools answered, as kept in `data/`, and whether another answer is the same."""

import gzip
import json
import math
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "data"
WRITTEN = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


@cache
def read(name):
    """A file of `data/`, named without its .gz; of .jsonl the list of its lines."""
    text = gzip.decompress((FOLDER / f"{name}.gz").read_bytes()).decode("utf-8")
    return [json.loads(line) for line in text.splitlines()] if name.endswith(".jsonl") else json.loads(text)


def numbers(value):
    """The same with NaN and infinities, which JSON writes as strings, as numbers."""
    if isinstance(value, dict):
        return {key: numbers(one) for key, one in value.items()}
    if isinstance(value, list):
        return [numbers(one) for one in value]
    return WRITTEN.get(value, value) if isinstance(value, str) else value


def same(found, expected, tolerance):
    """Are two answers the same, each a number, a text or a list of them."""
    if isinstance(expected, list) or isinstance(found, list):
        return (
            isinstance(expected, list)
            and isinstance(found, list)
            and len(found) == len(expected)
            and all(same(*pair, tolerance) for pair in zip(found, expected, strict=True))
        )
    expected = numbers(expected)
    if not (isinstance(expected, float | int) and isinstance(found, float | int)):
        return found == expected
    if math.isnan(expected) or math.isnan(found):
        return math.isnan(expected) and math.isnan(found)
    return found == expected or abs(found - expected) <= tolerance
