"""Cases recorded outside the project, in `../shared`. Where that folder is absent, their tests are skipped."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def shared_path(name):
    """A file of the shared folder, which lies beside the project."""
    return ROOT.parent / "shared" / name


def pytest_configure(config):
    config.addinivalue_line("markers", "shared_cases(file): runs for each case of a file in the shared folder")


def pytest_generate_tests(metafunc):
    """`@pytest.mark.shared_cases("golden/seeds.json")` on a test that takes `case`."""
    mark = metafunc.definition.get_closest_marker("shared_cases")
    if mark is None:
        return
    (name,) = mark.args
    try:
        cases = read_cases(name)
    except FileNotFoundError as error:
        skip = pytest.mark.skip(reason=f"there is no {error.filename}")
        metafunc.parametrize("case", [pytest.param(None, marks=skip, id=name)])
        return
    metafunc.parametrize(
        "case", cases, ids=[case.get("id") or f"{case['suite']}-{at}" for at, case in enumerate(cases)]
    )


def read_cases(name):
    text = shared_path(name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()] if name.endswith(".jsonl") else json.loads(text)


@pytest.fixture
def shared_cases():
    """Reads all cases of a shared file, or skips the test."""

    def read(name):
        try:
            return read_cases(name)
        except FileNotFoundError as error:
            pytest.skip(f"there is no {error.filename}")

    return read
