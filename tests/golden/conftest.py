"""`@pytest.mark.recorded("seeds.json")` on a test that takes a `case` of that file, or all that is `recorded` in it."""

import pytest

from .recorded import read


def pytest_configure(config):
    config.addinivalue_line("markers", "recorded(file): takes a case of a file of data/, or all that it holds")


def pytest_generate_tests(metafunc):
    mark = metafunc.definition.get_closest_marker("recorded")
    if mark is not None and "case" in metafunc.fixturenames:
        cases = read(*mark.args)
        ids = [case.get("id") or f"{case['suite']}-{at}" for at, case in enumerate(cases)]
        metafunc.parametrize("case", cases, ids=ids)


@pytest.fixture
def recorded(request):
    return read(*request.node.get_closest_marker("recorded").args)
