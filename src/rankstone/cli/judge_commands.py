"""The commands `agree` and `judge-next`: how far judges agree, and what to judge next."""

from __future__ import annotations

import argparse
from typing import Any

from rankstone.cli.input import check_stdin, columns_of, named
from rankstone.cli.options import Add, UsageError, choices_of, form_of, share, share_output, show
from rankstone.data.atomic import replacing
from rankstone.data.formats import FORMATS as FILE_FORMATS
from rankstone.data.formats import listed
from rankstone.judges.agreement import agreement
from rankstone.judges.judge_next import judge_next
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


def describe_next(add: Add) -> None:
    add("truth", metavar="TRUTH", help="the judgements so far, a file as for evaluate; none if there are none yet")
    add("runs", metavar="[NAME=]RUN", nargs="+", help="files, as for evaluate")
    add("-m", "--metric", default="ndcg@10", metavar="METRIC", help="what is compared [default: ndcg@10]")
    share(add, "-c --convention", "-s --set", "--columns", "--machine")
    add("-n", type=int, default=20, metavar="N", help="number of items [default: 20]")
    add("--answers", metavar="FILE", help="more judgements, as of a file that was written here and filled in")
    add("--baseline", metavar="NAME", help="the run that all others are compared with; else all pairs")
    add("--error", type=float, default=0.05, metavar="CHANCE", help="of a false verdict, to stop at [default: 0.05]")
    add("--seed", type=int, default=0, metavar="N", help="random seed [default: 0]")
    formats = listed(form.name for form in FILE_FORMATS.values() if form.write and "truth" in form.kinds)
    add("--to", "--to-format", dest="to_format", metavar="FORMAT", help=formats)
    share(add, "-o --output", "--no-color")


def run_next(arguments: argparse.Namespace) -> None:
    """Print what to judge next, and write it to a file to fill in."""
    check_stdin([arguments.truth, *arguments.runs])
    options: dict[str, Any] = {
        name: getattr(arguments, name) for name in ("machine", "answers", "baseline", "error", "seed")
    }
    following = judge_next(
        None if arguments.truth == "none" else arguments.truth, named(arguments.runs), arguments.metric, arguments.n,
        columns=columns_of(arguments), convention=arguments.convention, **options,
        **choices_of(arguments, [arguments.metric]),
    )  # fmt: skip
    if arguments.output:
        following.write(arguments.output, arguments.to_format)
    if arguments.output != "-":
        show(following._answer(), arguments)
