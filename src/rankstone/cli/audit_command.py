"""The command `audit`: whose metric a program computes, and which properties it breaks."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from rankstone.cli.options import Add, UsageError, form_of, put, share, show, usage
from rankstone.conventions.convention import find_convention
from rankstone.metrics.registry import parse_one

if TYPE_CHECKING:
    from rankstone.audit.audit_report import AuditReport

_FORMATS = ("table", "json", "junit", "html", "markdown")


def describe_audit(add: Add) -> None:
    add("program", metavar="WORD", nargs="+", help="after --: the program and its arguments; {truth} {run} for files")
    add("-m", "--metric", required=True, metavar="METRIC", help="the metric that it computes: ndcg@10")
    add("--expect", metavar="NAME", help="the convention that it should follow; see rankstone conventions")
    calling = "what a line of JSON has as truth and run: dicts, lists, labels or arrays [default: dicts]"
    add("--calling", choices=("dicts", "lists", "labels", "arrays"), default="dicts", help=calling)
    add("--pattern", metavar="REGEX", help="its first group is the number in the output [default: the last number]")
    add("--seconds", type=float, default=10.0, metavar="S", help="time limit of one call [default: 10]")
    add("--seed", type=int, default=28, metavar="N", help="random seed of the questions [default: 28]")
    add("--format", dest="shown", choices=_FORMATS, help=f"{', '.join(_FORMATS)} [default: table]")
    share(add, "-v --verbose", "--no-color", "-o --output")


def run_audit(arguments: argparse.Namespace) -> int:
    """Ask the program, print the report, and end with its verdict."""
    from rankstone.audit.audit import audit
    from rankstone.audit.calling import FileProgram, JsonProgram
    from rankstone.results.export import as_json

    words, is_xml = arguments.program, (arguments.output or "").endswith(".xml")
    is_junit = arguments.shown == "junit" or (arguments.shown is None and is_xml)
    form = "junit" if is_junit else form_of(arguments.output, arguments.shown, _FORMATS)
    with usage():
        parse_one(arguments.metric, "audit one")
        if arguments.expect is not None:
            find_convention(arguments.expect)
    if arguments.pattern is not None:
        try:
            re.compile(arguments.pattern)
        except re.error as error:
            raise UsageError(f"--pattern {arguments.pattern!r}: {error}") from None
    options = {"expect": arguments.expect, "seconds": 2 * arguments.seconds, "seed": arguments.seed}
    if any("{truth}" in word or "{run}" in word for word in words):
        files = FileProgram(words, arguments.pattern, arguments.seconds)
        report = audit(files, arguments.metric, "trec files", **options)
    else:
        with JsonProgram(words, arguments.calling, arguments.seconds) as program:
            report = audit(program, arguments.metric, arguments.calling, **options)
    texts: dict[str, Callable[[], str]] = {
        "json": lambda: as_json(report.to_dict()), "junit": report.to_junit, "html": lambda: _page(report),
        "markdown": lambda: report.render("markdown", verbose=arguments.verbose),
        "table": lambda: report.render(verbose=arguments.verbose),
    }  # fmt: skip
    if form == "table" and not arguments.output:
        show(report._printed(), arguments)
    else:
        put(texts[form](), arguments.output)
    return report.exit_code


def _page(report: AuditReport) -> str:
    from html import escape

    title = escape(f"rankstone audit: {report.metric}")
    return (
        f"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>{title}</title>"
        "<meta name='viewport' content='width=device-width'><style>body{font:15px/1.5 system-ui,sans-serif;"
        "margin:2rem auto;max-width:75rem;padding:0 1rem}body .rankstone td{white-space:normal;vertical-align:top}"
        f"</style></head><body>{report.render('html')}</body></html>"
    )
