"""A plugin of pytest: each gate and each pinned query of a file of gates is a test. rankstone loads on its first use.

`pytest gates.toml` runs them, and so do the patterns of the ini option `rankstone_gates`, such as `gates/*.toml`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rankstone.compare.check import CheckResult
    from rankstone.results.junit import JUnitCase


_KEYS = ("candidate", "baseline", "truth")  # that options replace


def pytest_addoption(parser: pytest.Parser) -> None:
    """The patterns of files, and what takes the place of their keys."""
    parser.addini("rankstone_gates", "files of gates that are collected: gates.toml, gates/*.toml", "args", [])
    group = parser.getgroup("rankstone", "gates and pinned queries")
    for name in _KEYS:
        group.addoption(f"--gates-{name}", metavar="FILE", help=f"the {name}, in place of that of the file of gates")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> GatesFile | None:
    """A file that is named on the command line, or that a pattern of the ini file fits."""
    if file_path.suffix != ".toml":
        return None
    named = (Path(argument.partition("::")[0]) for argument in parent.config.args)
    is_named = any((parent.config.invocation_params.dir / name).resolve() == file_path.resolve() for name in named)
    patterns = parent.config.getini("rankstone_gates")
    if not is_named and not any(file_path.match(pattern) for pattern in patterns):
        return None
    return GatesFile.from_parent(parent, path=file_path)


class GatesFile(pytest.File):
    """A file of gates, which is checked once."""

    _result: CheckResult | Exception | None = None

    def collect(self) -> Iterator[GateItem]:
        """A test for each gate and each pin."""
        from rankstone.compare.gates import read_gates

        gates = read_gates(self.path, self._over)
        pins = (f"{pin.query}: {pin.rule}" for pin in gates.pin)
        for at, name in enumerate([*(f"{gate.metric} {gate.rule}" for gate in gates.gate), *pins]):
            yield GateItem.from_parent(self, name=name, number=at)

    @property
    def _over(self) -> dict[str, Any]:
        """The keys that options replace."""
        return {name: value for name in _KEYS if (value := self.config.getoption(f"--gates-{name}")) is not None}

    def case(self, number: int) -> JUnitCase:
        """The outcome of a test; the whole file is checked on first use."""
        from rankstone.compare.check import check

        if self._result is None:
            try:
                self._result = check(self.path, **self._over)
            except Exception as error:  # that of every test
                self._result = error
        if isinstance(self._result, Exception):
            raise self._result
        return self._result.cases()[number]


class GateItem(pytest.Item):
    """One gate or one pinned query. What neither passes nor fails is skipped, with its numbers as the reason."""

    def __init__(self, *, number: int, **keywords: Any) -> None:
        super().__init__(**keywords)
        self._number = number

    def runtest(self) -> None:
        """Fail or skip as the gate does."""
        assert isinstance(self.parent, GatesFile)
        case = self.parent.case(self._number)
        if case.outcome == "failure":
            raise GateError(case.details)
        if case.outcome:
            pytest.skip(case.details)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The numbers of a gate, without a traceback; so are errors of rankstone's own."""
        from rankstone.errors import RankstoneError

        if isinstance(excinfo.value, (GateError, RankstoneError, OSError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where the test is from, and a headline; a name with a dot would be cut there."""
        return self.path, None, f"{self.path.name}: {self.name}"


class GateError(AssertionError):
    """A gate failed."""
