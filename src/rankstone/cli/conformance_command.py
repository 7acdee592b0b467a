"""The command `conformance`: a program in any language against the conformance suite, and the suite's files."""

from __future__ import annotations

import argparse
import json
import os
import shlex
from pathlib import Path

from rankstone.audit.calling import JsonProgram
from rankstone.audit.conformance import METRICS, TOLERANCE, conformance, files
from rankstone.cli.options import Add, UsageError, form_of, put, share, show

_FORMATS = ("table", "json")


def describe_conformance(add: Add) -> None:
    lines = "a program that reads a JSON object per line (truth, run, k) and prints the mean of the queries"
    add("--run", metavar="COMMAND", help=lines)
    add("-m", "--metric", choices=METRICS, metavar="METRIC", help=f"what it computes: {', '.join(METRICS)}")
    add("--expect", metavar="CONVENTION", default="", help="the convention that it should follow [default: any]")
    tolerance = "of the values; 1e-6 for single precision [default: 1e-9]"
    add("--tolerance", type=float, default=TOLERANCE, metavar="NUMBER", help=tolerance)
    add("--seconds", type=float, default=10.0, metavar="N", help="time limit of a case [default: 10]")
    add("--format", dest="shown", metavar="FORMAT", choices=_FORMATS, help="table, json [default: table]")
    share(add, "--no-color", "-o --output")
    add("--write", metavar="FOLDER", help="write the suite's files into a folder")


def run_conformance(arguments: argparse.Namespace) -> int:
    """Check the program, or write the files."""
    if arguments.write:
        os.makedirs(arguments.write, exist_ok=True)
        for name, text in files():
            put(text.removesuffix("\n"), str(Path(arguments.write, name)))
    if not arguments.run:
        if not arguments.write:
            raise UsageError("say which program: --run 'node my_metric.js' -m ndcg; or --write FOLDER")
        return 0
    if not arguments.metric:
        raise UsageError("say what the program computes: -m ndcg")
    form = form_of(arguments.output, arguments.shown, _FORMATS)
    with JsonProgram(shlex.split(arguments.run), seconds=arguments.seconds) as program:
        result = conformance(
            lambda truth, run, k: program(truth, run, k=k), arguments.metric, arguments.expect, arguments.tolerance
        )
    if form == "json":
        put(json.dumps(result.to_dict(), indent=1), arguments.output)
    elif arguments.output:
        put(result.render("table"), arguments.output)
    else:
        show(result._answer(), arguments)
    return result.exit_code
