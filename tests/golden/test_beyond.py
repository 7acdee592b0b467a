"""Metrics beyond relevance, fusion, judging and logged feedback of other tools, from rankstone, or a reason why not."""

import pytest

from .beyond import DEVIATIONS, TOOLS, answering, compute
from .recorded import numbers, same

READ = ("tool", "command", "metric", "params", "input")  # the answer may depend on nothing else
RAISES = "a clear error"


def near(found, expected, tolerance):
    """The same, in proportion where it is above 1, in dicts and lists too."""
    expected = numbers(expected)
    if isinstance(expected, dict):
        same_keys = isinstance(found, dict) and expected.keys() == found.keys()
        return same_keys and all(near(found[key], expected[key], tolerance) for key in expected)
    if isinstance(expected, list):
        same_length = isinstance(found, list) and len(found) == len(expected)
        return same_length and all(near(*pair, tolerance) for pair in zip(found, expected, strict=True))
    scale = max(1.0, abs(expected)) if isinstance(expected, float) else 1.0
    return same(found, expected, tolerance * scale)


@pytest.mark.recorded("beyond.json")
def test_beyond(case):
    try:
        found = compute({name: case[name] for name in READ})
    except (ValueError, TypeError) as error:
        found = {"error": str(error)}
    if case["id"] in DEVIATIONS:
        reason, ours = DEVIATIONS[case["id"]]
        if ours == RAISES:
            assert "error" in found, f"{found} is no error"
            assert "error" not in case["output"], f"no deviation: {reason}"
        else:
            assert all(near(found.get(key), ours[key], 1e-12) for key in ours), f"{found} is not {ours}"
            assert not all(near(found.get(key), case["output"].get(key), case["tolerance"]) for key in ours), reason
        return
    if "error" in case["output"]:
        assert "error" in found, f"{found}, where {case['tool']} has no number"
        return
    for key, theirs in case["output"].items():
        assert near(found.get(key), theirs, case["tolerance"]), f"{key}: {found.get(key)!r} is not {theirs!r}"


@pytest.mark.recorded("beyond.json")
def test_every_answer_and_deviation_is_of_a_case(recorded):
    assert set(DEVIATIONS) <= {case["id"] for case in recorded}
    assert {answering(case) for case in recorded} == set(TOOLS.values())
