"""`rs.audit` names real functions of other libraries."""

import pytest

import rankstone as rs

from .functions import PEERS

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("name", PEERS)
def test_functions_of_libraries_are_named(name, request):
    peer = PEERS[name]
    if peer.tool == "spark":
        request.getfixturevalue("spark")
    metric = f"{peer.metric}@{peer.k}" if peer.k else peer.metric
    report = rs.audit(peer.function(), metric, peer.calling, seconds=60)  # some compile
    own = {"ranx": "grades cut to integers", "ir_measures": "empty_truth='count'"}.get(peer.convention, "")
    named = (report.convention, report.nearest, *report.equivalent)
    assert peer.convention in named or any(each == f"{peer.convention} with {own}" for each in named), report
    assert report.agreement == 1
