"""`verify`: whether a saved answer can be computed again from the files that it names."""

from __future__ import annotations

import argparse
import contextlib
import html
import io
import json
import math
import os
import re
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.cli.options import Add, share, show
from rankstone.data.files import path_name
from rankstone.data.formats import by_magic
from rankstone.data.lines import open_text
from rankstone.errors import FileError, InputError
from rankstone.evaluate.evaluate import evaluate
from rankstone.evaluate.result_file import of_parquet
from rankstone.results.answer import Answer, Readable
from rankstone.results.export import as_json, as_runs
from rankstone.results.reproduction import file_digest, without_outputs
from rankstone.version import __version__

if TYPE_CHECKING:
    from rankstone.typing import Path, Run, Truth

_PAGE = re.compile(r'<template id="rankstone-data">(.*?)</template>', re.DOTALL)
_OUTPUT = {"evaluate": "-o", "compare": "-o", "check": "--json"}  # how a command writes everything
# Compared on their own; and sentences about the numbers, of which the command has no certificate.
_SKIPPED = ("versions", "reproduce", "format_version", "notes")
_SHOWN = 10  # numbers that differ


class Verification(Readable):
    """What differs between a saved answer and the same computed again.

    Attributes
    ----------
    path : str
        The saved file.
    kind : str
        "result", "comparison" or "check".
    command : str
        The command that was run again; empty if it was not.
    findings : tuple of str
        What differs: files, digests, versions, numbers. Empty if nothing does.
    compared : int
        Number of values that were compared.
    """

    def __init__(self, path: str, kind: str, command: str, findings: Sequence[str], compared: int) -> None:
        self.path, self.kind, self.command, self.compared = path, kind, command, compared
        self.findings = tuple(findings)

    @property
    def passed(self) -> bool:
        """Whether everything is the same."""
        return not self.findings

    @property
    def exit_code(self) -> int:
        """Exit code of the command: 0 if everything is the same, else 3."""
        return 0 if self.passed else 3

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        names = ("path", "kind", "command", "passed", "compared", "findings")
        return {name: getattr(self, name) for name in names}

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        return {"finding": list(self.findings)}

    def _answer(self) -> Answer:
        title = f"{'PASSED' if self.passed else 'FAILED'}: {self.path}, a {self.kind}"
        rows = [] if self.passed else [["verdict", "finding"], *(["failed", finding] for finding in self.findings)]
        note = f"{self.compared:,} values compared" if self.compared else "not computed again"
        return Answer(rows, title, [f"{note}: {self.command}" if self.command else note], align="<<")


def verify(path: Path, truth: Truth | None = None, run: Run | None = None) -> Verification:
    """Compute a saved result, comparison, report or check again, and say what differs.

    Parameters
    ----------
    path : str or PathLike
        A file that `write` or the command made: JSON or Parquet, or the HTML page of a report.
    truth, run : truth-like and run-like, optional
        The data of a result that does not name its files, because it was in memory.

    Returns
    -------
    Verification
        With `passed` and `findings`: a file is missing or has changed, another version computes it, a number differs.

    Raises
    ------
    FileError
        If the file holds no saved answer.
    ValueError
        If it does not say how it was computed, and no data is passed.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "result.json")
    >>> truth, run = {"u1": {"a": 1}}, {"u1": ["b", "a"]}
    >>> rs.evaluate(truth, run, "rr").write(path)
    >>> rs.verify(path, truth, run).passed
    True
    """
    name = path_name(path)
    saved = _load(name)
    kind, record = saved["format"].removeprefix("rankstone "), saved.get("reproduce")
    if truth is not None or run is not None:
        if kind != "result" or len(saved["runs"]) != 1:
            raise InputError(f"truth= and run= go with a result of one run; {name} is a {kind}")
        ((label, data),) = saved["runs"].items()
        result = evaluate(truth, run, list(data["means"]), convention=data["convention"], **data["choices"])
        again = json.loads(as_json(as_runs({label: result})))
        return _verification(name, kind, "", [], saved, again, data["versions"])
    if record is None:
        with_data = "; pass the data: rs.verify(path, truth, run)" if kind == "result" else ""
        raise InputError(f"{name} does not say how it was computed: its data or options were in memory{with_data}")
    folder, findings = _folder(name, record["files"]), []
    for file, digest in record["files"].items():
        path_now = os.path.join(folder, file)
        if not os.path.exists(path_now):
            findings.append(f"{file} is missing")
        elif (now := file_digest(path_now)) != digest:
            findings.append(f"{file} has changed: its digest is {now}, was {digest}")
    fresh: dict[str, Any] = {}
    if not any(finding.endswith(" is missing") for finding in findings):
        fresh, problem = _again(record["command"], folder)
        findings += [problem] if problem else []
    return _verification(name, kind, record["command"], findings, saved, fresh, record["versions"])


def _verification(
    name: str, kind: str, command: str, findings: list[str], saved: Any, fresh: Any, versions: Mapping[str, str]
) -> Verification:
    """The findings on versions and numbers, after those on files."""
    every = [versions, *(run["versions"] for run in (saved["runs"].values() if kind == "result" else ()))]
    for library, now in (("rankstone", __version__), ("numpy", np.__version__)):
        others = {of.get(library) for of in every} - {now}
        findings += [f"{library} is {now}, was {before}" for before in sorted(map(str, others))]
    pairs = list(_pairs(saved, fresh, "")) if fresh else []
    different = [(where, *pair) for where, *pair in pairs if not _same(*pair)]
    findings += [f"{where} is {_text(before)}, computed again {_text(after)}"
                 for where, before, after in different[:_SHOWN]]  # fmt: skip
    if len(different) > _SHOWN:
        findings.append(f"and {len(different) - _SHOWN:,} more values differ")
    return Verification(name, kind, command, findings, len(pairs))


def _load(name: str) -> dict[str, Any]:
    """The plain data of a saved answer."""
    text = open_text(name)
    try:
        if by_magic(text.data):
            saved = of_parquet(text.whole)
        else:
            page = _PAGE.search(words := bytes(text.view()).decode())
            saved = json.loads(html.unescape(page[1]) if page else words)
        if saved["format"] in ("rankstone result", "rankstone comparison", "rankstone check"):
            return dict(saved)
    except (ValueError, KeyError, TypeError):
        pass
    raise FileError(name, "is no result, comparison, report or check that rankstone saved")


def _folder(name: str, files: Mapping[str, str]) -> str:
    """The folder that the paths of the files are relative to: this one, or that of the saved file or one around it."""
    saved_in = os.path.dirname(os.path.abspath(name))
    folders = [os.getcwd(), saved_in, os.path.dirname(saved_in)]
    return max(folders, key=lambda folder: sum(os.path.exists(os.path.join(folder, file)) for file in files))


def _again(command: str, folder: str) -> tuple[dict[str, Any], str]:
    """What a command writes when it is run again in a folder, and why it writes nothing."""
    from rankstone.cli.commands import main

    words, before = without_outputs(shlex.split(command))[1:], os.getcwd()  # a file may name outputs all the same
    option = _OUTPUT.get(words[0]) if words else None
    if option is None:
        raise InputError(f"{command!r} is none of {', '.join(_OUTPUT)}")
    errors, printed = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as temporary:
        target = os.path.join(temporary, "again.json")
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
                main([*words, option, target])
        finally:
            os.chdir(before)
        if not os.path.exists(target):
            return {}, f"{command} fails: {errors.getvalue().strip()}"
        with open(target, encoding="utf-8") as stream:
            return dict(json.load(stream)), ""


def _pairs(before: Any, after: Any, where: str) -> Iterator[tuple[str, Any, Any]]:
    """The values at the same place in both, and those that the saved one has alone."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in before:
            if name not in _SKIPPED:
                yield from _pairs(before[name], after.get(name), f"{where}.{name}" if where else name)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for at, pair in enumerate(zip(before, after, strict=True)):
            yield from _pairs(*pair, f"{where}[{at}]")
    else:
        yield where, before, after


def _same(before: Any, after: Any) -> bool:
    """Equal; numbers but for rounding in another order."""
    numbers = [value for value in (before, after) if isinstance(value, (int, float)) and not isinstance(value, bool)]
    return math.isclose(*numbers, rel_tol=1e-9, abs_tol=1e-12) if len(numbers) == 2 else bool(before == after)


def _text(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}..."


# -- the command ---------------------------------------------------------------------------------------------


def describe_verify(add: Add) -> None:
    add("saved", metavar="FILE", help="a result, a comparison or a check as JSON, or a report as HTML")
    share(add, "--no-color")


def run_verify(arguments: argparse.Namespace) -> int:
    """Compute a saved answer again, and print what differs."""
    verification = verify(arguments.saved)
    show(verification._answer(), arguments)
    return verification.exit_code
