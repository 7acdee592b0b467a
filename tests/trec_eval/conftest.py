"""Writes judgments and results as files, and runs the command on them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rankstone.trec_eval import main


class Command:
    """The command on files of its own."""

    def __init__(self, folder: Path, captured: Any) -> None:
        self.folder, self.captured = folder, captured

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def qrels(self, truth: dict[str, dict[str, int]], name: str = "qrels") -> Path:
        lines = [f"{query} 0 {item} {grade}\n" for query, one in truth.items() for item, grade in one.items()]
        return self.write(name, "".join(lines))

    def results(self, run: dict[str, dict[str, float]], name: str = "results") -> Path:
        lines = [f"{query} Q0 {item} 1 {score!r} tag\n" for query, one in run.items() for item, score in one.items()]
        return self.write(name, "".join(lines))

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        """Exit code, output and error output."""
        self.captured.readouterr()
        code = main([str(argument) for argument in arguments])
        out, err = self.captured.readouterr()
        return code, out, err

    def values(self, *arguments: object) -> dict[tuple[str, str], str]:
        """What was printed, by measure and query."""
        code, out, err = self(*arguments)
        assert code == 0, err
        rows = [line.split("\t") for line in out.splitlines()]
        return {(name.strip(), query): value for name, query, value in rows}


def asked(*measures: str) -> list[str]:
    """Arguments that ask for measures."""
    return [word for name in measures for word in ("-m", name)]


@pytest.fixture
def command(tmp_path: Path, capsys: Any) -> Command:
    return Command(tmp_path, capsys)


@pytest.fixture
def trec_eval_data(shared: Callable[[str], Path]) -> Path:
    """Inputs and outputs of trec_eval 10's own check."""
    return shared("data/trec_eval")
