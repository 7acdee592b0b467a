"""States that version 0.1.0 saved are read, and go on to the numbers that it gave."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import rankstone as rs

SAVED = json.loads(gzip.decompress((Path(__file__).parent / "data" / "states-0.1.0.json.gz").read_bytes()))
CASES = SAVED["cases"]


def near(expected):
    return pytest.approx(expected, rel=1e-12, nan_ok=True)


def made(case):
    settings = case["settings"]
    if case["kind"] == "Stream":
        return rs.Stream(case["truth"], case["metrics"], **settings)
    return getattr(rs, case["kind"])(case["metrics"], **settings)


def check_answer(case, found):
    if case["kind"] == "Online":
        assert {label: near(tuple(values)) for label, values in case["estimates"].items()} == dict(found)
        by = {group: {label: near(tuple(values)) for label, values in of.items()} for group, of in case["by"].items()}
        assert by == found.by
        assert found.counters == {**case["account"], "outcomes merged too late": 0}  # which 0.1.0 did not count
        return
    assert dict(found) == near(case["means"])
    for label, values in (case["per_query"] or {}).items():
        assert found.per_query[label].tolist() == near(values)


@pytest.mark.parametrize("name", CASES)
def test_states_of_the_first_version(name):
    case = CASES[name]
    again = made(case)
    again.load_state_dict(case["state"])
    for batch in SAVED["batches"] if case.get("count") else ():
        again.second_pass(batch)
    check_answer(case, again.compute())


@pytest.mark.parametrize("name", CASES)
def test_a_state_goes_on_from_its_own(name):
    """What is read and saved again is, entry by entry, what is saved of it once more."""
    first, second = made(CASES[name]), made(CASES[name])
    first.load_state_dict(CASES[name]["state"])
    second.load_state_dict(first.state_dict())
    states = [{**each.state_dict(), "ids": sorted(each.state_dict().get("ids", ()))} for each in (first, second)]
    one, other = (json.dumps(state, default=plain, sort_keys=True) for state in states)
    assert one == other


def plain(value):
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else list(value)


def test_every_kind_is_there():
    assert {case["kind"] for case in CASES.values()} == {"Accumulator", "Stream", "Online"}
    assert SAVED["rankstone"] == "0.1.0"
