"""Data that is not there: a test that needs it is skipped, and fails in CI."""

import pytest

from .conftest import chromium


@pytest.mark.parametrize(("ci", "expected"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)])
def test_absent_data(shared, monkeypatch, ci, expected):
    monkeypatch.setenv("CI", ci)
    with pytest.raises((pytest.skip.Exception, pytest.fail.Exception), match=r"needs \.\./shared/nothing") as found:
        shared("nothing")
    assert found.type is expected


@pytest.mark.parametrize(("ci", "expected"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)])
def test_absent_browser(monkeypatch, ci, expected):
    monkeypatch.setenv("CI", ci)
    monkeypatch.setenv("PATH", "")
    with pytest.raises((pytest.skip.Exception, pytest.fail.Exception), match="needs chromium: make browser") as found:
        chromium()
    assert found.type is expected
