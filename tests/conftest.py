"""How hard Hypothesis tries, which tests need a service, and where real data is.

`make test` has 10 examples per test, `make test-all` 40, CI the same 40 in every run; `HYPOTHESIS_PROFILE=thorough` has
200. `tests/effort.py` has what scales with them.
"""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import HealthCheck, settings

from .effort import BROWSER_PATIENCE

os.environ.pop("COLUMNS", None)  # which pytest-xdist sets, as if there were a terminal

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile("quick", max_examples=10, deadline=None, suppress_health_check=_SLOW)
settings.register_profile("full", settings.get_profile("quick"), max_examples=40)
settings.register_profile("ci", settings.get_profile("full"), derandomize=True)
settings.register_profile("thorough", settings.get_profile("full"), max_examples=200)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "quick"))

_FIXTURES = {"spark": "spark", "browser": "browser"}  # those that start a service


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that takes the fixture of a service is marked by that."""
    for item in items:
        for fixture, service in _FIXTURES.items():
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.service(service))


def absent(reason: str) -> NoReturn:
    """What a test needs and a machine may lack: a skip with a reason, and a failure in CI, which has it."""
    (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)


@pytest.fixture(scope="session")
def shared() -> Callable[[str], Path]:
    """Finds real data beside the project, in ../shared. Without it a test is skipped; in CI it fails."""
    root = Path(__file__).parents[2] / "shared"

    def find(name: str) -> Path:
        if not (root / name).exists():
            absent(f"needs ../shared/{name}")
        return root / name

    return find


def chromium() -> str:
    """Where the browser is."""
    return shutil.which("chromium") or absent("needs chromium: make browser")


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One Spark session for all tests."""
    pyspark = pytest.importorskip("pyspark", reason="needs pyspark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("needs java")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = pyspark.sql.SparkSession.builder.master("local[2]").config("spark.driver.memory", "1g")
    builder = builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "4")
    session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def fonts(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A configuration of fontconfig that gives one wide font to all (DejaVu Sans, which comes with matplotlib): a page
    looks the same on every machine."""
    folder = Path(pytest.importorskip("matplotlib").get_data_path()) / "fonts" / "ttf"
    path = tmp_path_factory.mktemp("fonts") / "fonts.conf"
    edit = '<edit name="family" mode="prepend" binding="strong"><string>DejaVu Sans</string></edit>'
    path.write_text(
        f"<fontconfig><dir>{folder}</dir><cachedir>{path.parent}</cachedir>"
        f'<match target="pattern">{edit}</match></fontconfig>'
    )
    return str(path)


@pytest.fixture(scope="module")  # no longer, as it has an event loop that others would meet
def browser(fonts: str) -> Iterator[Any]:
    """Debian's Chromium, driven by Playwright. Without it a test is skipped; in CI it fails."""
    path = chromium()
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        environment = {"FONTCONFIG_FILE": fonts, **os.environ}
        arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
        found = playwright.chromium.launch(
            executable_path=path, args=arguments, env=environment, timeout=BROWSER_PATIENCE
        )
        yield found
        found.close()
