"""The engines that run a SQL text: a test that takes `engine` is run in each."""

from collections.abc import Iterator

import pytest

from tests.spark.conftest import spark  # noqa: F401 - a fixture
from tests.sql.engines import ENGINES, Engine


@pytest.fixture(
    scope="session",
    params=[pytest.param(dialect, marks=pytest.mark.slow if dialect == "spark" else ()) for dialect in ENGINES],
)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    needs = [request.getfixturevalue("spark")] if request.param == "spark" else []
    made = ENGINES[request.param](*needs)
    yield made
    made.close()
