"""Every number of the five documents that rankstone grew out of, from rankstone, or a reason why not."""

import pytest

from .deviations import DEVIATIONS, RAISES, deviation
from .recorded import same
from .seed_cases import compute

READ = ("seed", "impl", "metric", "inputs", "params")  # the answer may depend on nothing else
MORE = [one for kind in DEVIATIONS for one in kind.more]


def check(case, expected, tolerance):
    """Does rankstone give this answer to a case."""
    call = {name: case[name] for name in READ}
    if expected == RAISES:
        with pytest.raises((ValueError, TypeError, NotImplementedError), match=r"\w+ \w+"):
            compute(call)
        return
    found = compute(call)
    assert same(found, expected, tolerance), f"{found!r} is not {expected!r} within {tolerance}"


def original(case):
    return RAISES if case.get("raises") else case["expected"]


@pytest.mark.recorded("seeds.json")
def test_seed(case):
    kind = deviation(case)
    if kind is None or case["id"] not in kind.ours:
        check(case, original(case), case["tol"])
        return
    ours, theirs = kind.ours[case["id"]], original(case)
    check(case, ours, 1e-12)
    agree = ours == theirs if RAISES in (ours, theirs) else same(ours, theirs, case["tol"])
    assert not agree, f"no deviation, the original has the same: {kind.reason}"


@pytest.mark.parametrize(
    ("case", "expected"), MORE, ids=[f"{case['metric']}-{at}" for at, (case, _) in enumerate(MORE)]
)
def test_deviation_outside_the_file(case, expected):
    assert deviation(case) is not None
    check(case, expected, 1e-12)


@pytest.mark.recorded("seeds.json")
@pytest.mark.parametrize("kind", DEVIATIONS, ids=[kind.reason[:40] for kind in DEVIATIONS])
def test_deviation_is_used(kind, recorded):
    assert kind.ours or kind.more
    cases = {case["id"]: case for case in recorded}
    for name in kind.ours:
        assert name in cases, f"{name} is no case of seeds.json"
        assert deviation(cases[name]) is kind, f"{name} is not of this kind"
    for case, _ in kind.more:
        assert deviation(case) is kind


def test_unknown_metric():
    with pytest.raises(ValueError, match="document 004 has no metric 'bleu'"):
        compute({"seed": "004", "impl": "", "metric": "bleu", "inputs": {}, "params": {}})
