"""Every number of other libraries in `rosetta.json`, by the preset that claims it; `rosetta.py` says what is asked."""

import collections

import pytest

import rankstone as rs

from . import rosetta
from .recorded import same


def cells(recorded, library):
    for case, data in recorded["cases"].items():
        for name, cell in recorded["results"][case].get(library, {}).items():
            yield rosetta.Cell(library, case, data, name), cell


def compare(recorded, library):
    """How many values are equal, those that differ, and how many each rule leaves out."""
    equal, different, left_out = 0, [], collections.Counter()
    tolerance = rosetta.TOLERANCE.get(library, 1e-9)
    for one, cell in cells(recorded, library):
        alone = cell["per_user_by"] != "native" or library in ("recbole", "recmetrics", "lenskit")
        for user, theirs in [*cell["per_user"].items(), ("mean", cell["agg"])]:
            one.user, one.theirs = user, theirs
            reason = next((reason for reason, fits in rosetta.RULES if fits(one)), None)
            if reason:
                left_out[reason] += 1
                continue
            try:
                mine = rosetta.ours(one, user, alone)
            except ValueError as error:
                mine = str(error)
            if near(mine, theirs, tolerance):
                equal += 1
            else:
                different.append((one.case, one.name, user, theirs, mine, *one.call()[2].items()))
    return equal, different, left_out


def near(mine, theirs, tolerance):
    """The same, in proportion where it is above 1; a user whom the library has no value for has NaN here."""
    scale = max(1, abs(theirs)) if isinstance(theirs, float | int) else 1
    return same(mine, "NaN" if theirs == "absent" else theirs, tolerance * scale)


# library: values compared, all of them equal
COMPARED = {
    "pytrec_eval": 1350,
    "ir_measures": 2021,
    "ranx": 2069,
    "trectools": 1044,
    "rankereval": 3267,
    "sklearn": 586,
    "torchmetrics": 5534,
    "lightgbm": 862,
    "xgboost": 2186,
    "catboost": 3258,
    "rax": 2466,
    "tensorflow-ranking": 2172,
    "evidently": 2130,
    "pyspark": 1827,
    "spark-scala": 24,
    "rectools": 1360,
    "recommenders": 1278,
    "replay": 2856,
    "lenskit": 2313,
    "cornac": 807,
    "implicit": 544,
    "recbole": 1728,
    "recmetrics": 404,
    "hivemall": 1779,
}


@pytest.mark.recorded("rosetta.json")
@pytest.mark.parametrize("library", rosetta.LIBRARIES)
def test_library(recorded, library):
    equal, different, _ = compare(recorded, library)
    assert not different, f"{len(different)} of {equal + len(different)}: {different[:5]}"
    assert equal == COMPARED[library]


@pytest.mark.recorded("rosetta.json")
def test_every_library_is_asked(recorded):
    assert set(rosetta.LIBRARIES) == set(recorded["libraries"]) - {"surprise"}  # it has no ranking metric
    assert {convention for convention, _ in rosetta.LIBRARIES.values()} <= set(rs.conventions)


@pytest.mark.recorded("rosetta.json")
def test_every_rule_leaves_something_out(recorded):
    left_out = collections.Counter()
    for library in rosetta.LIBRARIES:
        for one, cell in cells(recorded, library):
            for one.user, one.theirs in [*cell["per_user"].items(), ("mean", cell["agg"])]:
                left_out.update([next((reason for reason, fits in rosetta.RULES if fits(one)), "")])
    assert set(left_out) - {""} == {reason for reason, _ in rosetta.RULES}


@pytest.mark.recorded("rosetta.json")
def test_the_numbers_can_be_missed(recorded):
    """Another library's definitions do not pass for these."""
    data, theirs = recorded["cases"]["a_seed"], recorded["results"]["a_seed"]["lenskit"]["ndcg@4"]["agg"]
    values = [
        rosetta.ours(rosetta.Cell(one, "a_seed", data, "ndcg@4"), "mean", False) for one in ("lenskit", "pyspark")
    ]
    assert [near(value, theirs, 1e-9) for value in values] == [True, False]
