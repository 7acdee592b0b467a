"""The command `compile`."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from rankstone.cli.options import Add, UsageError, choices_of, put, share, usage

_NAMES = "javascript, typescript, python, c, java, rust or go [default: by the ending of the output file]"


def describe_compile(add: Add) -> None:
    add("metrics", metavar="METRIC", nargs="+")
    share(add, "-c --convention", "-s --set")
    add("--to", metavar="LANGUAGE", help=_NAMES)
    add("--ids", choices=("text", "integer"), default="text", help="type of the items' ids [default: text]")
    order = "whether the truth has grades, or is a list of items, best first [default: grades]"
    add("--truth", choices=("grades", "order"), default="grades", help=order)
    add("-o", "--output", metavar="FILE", help="output file")


def run_compile(arguments: argparse.Namespace) -> None:
    """Print or write metrics as source code."""
    from rankstone.compile import compile_metrics, language_of

    language = arguments.to or (language_of(arguments.output) if arguments.output else None)
    if language is None:
        raise UsageError("which language: --to javascript, or an output file that says it, as -o metrics.js")
    stem = re.sub(r"\W", "_", Path(arguments.output).name.partition(".")[0]) if arguments.output else ""
    choices = choices_of(arguments, arguments.metrics)
    with usage():
        code = compile_metrics(
            arguments.metrics, language, arguments.convention, ids=arguments.ids, truth=arguments.truth,
            name=stem or "metrics", **choices,
        )  # fmt: skip
    put(str(code).rstrip("\n"), arguments.output)
