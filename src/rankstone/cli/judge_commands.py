"""The commands `agree` and `judge-next`: how far judges agree, and what to judge next."""

from __future__ import annotations

import argparse
from typing import Any

from rankstone.cli.input import check_stdin, columns_of, named
from rankstone.cli.options import Add, UsageError, choices_of, form_of, share, share_output, show
from rankstone.data.atomic import replacing
from rankstone.judges.agreement import agreement
from rankstone.results.export import RESULT_FORMATS, write_answer

FORMS = [form for form in RESULT_FORMATS if form != "trec"]


def describe_agree(add: Add) -> None:
    add(
        "runs",
        metavar="[NAME=]JUDGE",
        nargs="+",
        help="files of judgements, as a truth; or one file with several judges",
    )
    add("--runs", dest="compared", metavar="[NAME=]RUN", nargs="+", default=[], help="compare these under each judge")
    share(add, "-m --metric", "-c --convention", "-s --set", "--columns")
    add("--reference", metavar="NAME", help="the judge that the others are compared with [default: the first]")
    add("--confidence", type=float, default=0.95, metavar="LEVEL", help="of the intervals [default: 0.95]")
    add("--resamples", type=int, default=2000, metavar="N", help="bootstrap samples of queries [default: 2000]")
    add("--seed", type=int, default=0, metavar="N", help="random seed [default: 0]")
    add("--html", metavar="FILE", help="write a page with pictures, too")
    share_output(add, FORMS)


def run_agree(arguments: argparse.Namespace) -> None:
    """Print or write how far the judges agree."""
    form = form_of(arguments.output, arguments.shown, FORMS)
    check_stdin([*arguments.runs, *arguments.compared])
    judges = arguments.runs[0] if len(arguments.runs) == 1 else named(arguments.runs)
    options: dict[str, Any] = {name: getattr(arguments, name) for name in ("confidence", "resamples", "seed")}
    if arguments.compared:
        options |= {"convention": arguments.convention, **choices_of(arguments, arguments.metric or ())}
    elif arguments.metric:
        raise UsageError("-m goes with --runs")
    judged = agreement(
        judges, named(arguments.compared) or None, arguments.metric, reference=arguments.reference,
        columns=columns_of(arguments), **options,
    )  # fmt: skip
    if arguments.html:
        with replacing(arguments.html, "html") as stream:
            stream.write(judged.report().encode())
    if form == "table" and not arguments.output:
        show(judged._answer(), arguments)
    else:
        write_answer(judged, arguments.output or "-", form, {})
