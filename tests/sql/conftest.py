"""The engines that run a SQL text: a test that takes `engine` is run in each."""

from collections.abc import Callable, Iterator

import pytest

from tests.sql.engines import ENGINES, MARKED, Engine, Spark


@pytest.fixture(scope="session")
def _spark_engine(spark: object) -> Iterator[Engine]:
    made = Spark(spark)
    yield made
    made.close()


@pytest.fixture(scope="session")
def _started() -> Iterator[Callable[[str], Engine]]:
    """Engines by dialect, each made when it is first asked for."""
    made: dict[str, Engine] = {}

    def find(dialect: str) -> Engine:
        if dialect not in made:
            made[dialect] = ENGINES[dialect]()
        return made[dialect]

    yield find
    for engine in made.values():
        engine.close()


@pytest.fixture(params=MARKED)
def engine(request: pytest.FixtureRequest, _started: Callable[[str], Engine]) -> Engine:
    return request.getfixturevalue("_spark_engine") if request.param == "spark" else _started(request.param)


@pytest.fixture
def quoted(engine: Engine) -> Callable[[str], str]:
    """Quotes a name as the engine does."""
    mark = "`" if engine.dialect == "spark" else '"'
    return lambda name: mark + name.replace(mark, 2 * mark) + mark
