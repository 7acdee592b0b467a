"""How hard Hypothesis tries (`HYPOTHESIS_PROFILE=thorough` looks much longer), and where real data is."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

os.environ.pop("COLUMNS", None)  # which pytest-xdist sets, as if there were a terminal

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile("default", max_examples=40, deadline=None, suppress_health_check=_SLOW)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=200)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default"))


@pytest.fixture(scope="session")
def shared() -> Callable[[str], Path]:
    """Finds real data beside the project, in ../shared. Without it a test is skipped; in CI it fails."""
    root = Path(__file__).parents[2] / "shared"

    def find(name: str) -> Path:
        if not (root / name).exists():
            (pytest.fail if os.environ.get("CI") else pytest.skip)(f"needs ../shared/{name}")
        return root / name

    return find


def chromium() -> str:
    """Where the browser is."""
    path = shutil.which("chromium")
    if path is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("needs chromium: make browser")
    return str(path)


@pytest.fixture(scope="module")  # no longer, as it has an event loop that others would meet
def browser() -> Iterator[Any]:
    """Debian's Chromium, driven by Playwright. Without it a test is skipped; in CI it fails."""
    path = chromium()
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield found
        found.close()
