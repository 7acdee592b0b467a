"""Tests, intervals, corrections and powers of other tools, from rankstone, or a reason why not."""

import pytest

from .decisions import KINDS, compute
from .recorded import same

READ = ("kind", "tool", "command", "input")  # the answer may depend on nothing else

# Numbers that rankstone has otherwise, by case and place: why, and ours.
EQUAL = "runs that are equal on every query: no number from the tool, p = 1 from us"
DEVIATIONS = {
    ("t-identical", "statistic"): (EQUAL, float("nan")),  # 0 / 0 standard errors; the file has null
    ("t-identical", "p_two_sided"): (EQUAL, 1.0),
    ("compare-ranx-student", "better", "p", "other", "mrr"): (EQUAL, 1.0),
    ("compare-ranx-student", "other", "p", "better", "mrr"): (EQUAL, 1.0),
}


def leaves(value, place=()):
    """Every number, text or list in dicts of dicts, with the names that lead to it."""
    if not isinstance(value, dict):
        yield place, value
        return
    for name, one in value.items():
        yield from leaves(one, (*place, name))


@pytest.mark.recorded("decisions.json")
def test_decision(case):
    found = dict(leaves(compute({name: case[name] for name in READ})))
    for place, theirs in leaves(case["output"]):
        ours = found[place]
        deviation = DEVIATIONS.get((case["id"], *place))
        if deviation is not None:
            reason, expected = deviation
            assert same(ours, expected, 1e-12), f"{place}: {ours!r} is not {expected!r}"
            assert not same(ours, theirs, case["tolerance"]), f"{place}: no deviation: {reason}"
        else:
            assert same(ours, theirs, case["tolerance"]), f"{place}: {ours!r} is not {theirs!r}"


@pytest.mark.recorded("decisions.json")
def test_every_kind_and_deviation_is_there(recorded):
    assert {case["kind"] for case in recorded} == set(KINDS)
    places = {(case["id"], *place) for case in recorded for place, _ in leaves(case["output"])}
    assert set(DEVIATIONS) <= places
