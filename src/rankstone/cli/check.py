"""The command `check`: gates from a file, or one from the words."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import Any

from rankstone.cli.input import UsageError, columns_of, pairs
from rankstone.cli.output import put, screen
from rankstone.compare.check import Checks, check
from rankstone.errors import GatesError
from rankstone.metrics.registry import parse_all
from rankstone.results.export import as_json

_LIMITS = {"not_worse_than": "--not-worse-than", "at_least": "--at-least", "at_most": "--at-most"}


def check_gates(arguments: argparse.Namespace) -> int:
    """Check the gates, print a line for each, and end with what came of them."""
    over = _over(arguments)
    if arguments.gates is None and "gate" not in over:
        raise UsageError(f"give a file of gates, or -m METRIC and one of {', '.join(_LIMITS.values())}")
    try:
        checks = check({} if arguments.gates is None else arguments.gates, **over)
    except GatesError as error:
        raise UsageError(str(error)) from None
    written: dict[str, Callable[[Checks], str]] = {
        "junit": Checks.to_junit, "markdown": Checks.to_markdown, "json": lambda made: as_json(made.to_dict()),
    }  # fmt: skip
    for name, write in written.items():
        if getattr(arguments, name) is not None:
            put(write(checks), getattr(arguments, name))
    try:
        print(checks.text(screen(), arguments.quiet), flush=True)
    except BrokenPipeError:  # the verdict stands, whoever reads it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return checks.exit_code


def _over(arguments: argparse.Namespace) -> dict[str, Any]:
    """What the words say in place of a file's keys."""
    given = {
        **{name: getattr(arguments, name) for name in ("truth", "baseline", "candidate", "convention", "exclude",
                                                       "clusters", "confidence", "undecided")},
        "choices": pairs(arguments.set, "--set") or None,
        "columns": columns_of(arguments),
        "metrics": arguments.metric,
    }  # fmt: skip
    over = {name: value for name, value in given.items() if value is not None}
    limits = {name: value for name in _LIMITS if (value := getattr(arguments, name)) is not None}
    if not limits:
        return over
    if not arguments.metric:
        option = _LIMITS[next(iter(limits))]
        raise UsageError(f"{option} {next(iter(limits.values()))}: of which metric; give -m")
    try:
        metrics = parse_all(over.pop("metrics"))
    except ValueError as error:
        raise UsageError(str(error)) from None
    gates = [{"metric": str(metric), name: value} for metric in metrics for name, value in limits.items()]
    return {**over, "gate": gates}
