"""What numbers mean: the commands `metrics`, `define`, `conventions`, `explain` and `identify`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rankstone.cli.options import FORMATS, Add, UsageError, choices_of, put_prose, share, share_reading, show, usage
from rankstone.conventions.convention import conventions, find_convention
from rankstone.conventions.plan import make_plans
from rankstone.metrics.registry import Metric, declared, parse
from rankstone.results.answer import Answer, render
from rankstone.results.definition import define, definition_of, manual

if TYPE_CHECKING:
    from rankstone.explain.explain import Explanation, Moves
    from rankstone.explain.identify import IdentifyResult, IdentifyTable
    from rankstone.explain.sweep import ConventionDifference


def describe_metrics(add: Add) -> None:
    add("names", metavar="NAME", nargs="*", help="metrics to describe in full")


def run_metrics(arguments: argparse.Namespace) -> None:
    """Print the table of metrics, or the manual of some."""
    if not arguments.names:
        table = [["metric", "formula"]]
        for name, declaration in sorted(declared().items()):
            cut = declaration.takes_k
            table.append([f"{name}@k" if cut else name, define(Metric(name, 10 if cut else None)).formula])
        show(Answer(table, notes=["rankstone metrics NAME: all about one metric"], align="<<"), arguments)
    for name in arguments.names:
        with usage():
            metric = parse(name)[0]
        put_prose(manual(Metric(metric.name)), arguments)


def describe_define(add: Add) -> None:
    add("metrics", metavar="METRIC", nargs="+")
    share(add, "-c --convention", "-s --set")


def run_define(arguments: argparse.Namespace) -> None:
    """Print what metrics mean by a convention."""
    choices = choices_of(arguments, arguments.metrics)
    convention = find_convention(arguments.convention).with_choices(**choices)
    plans = make_plans(arguments.metrics, arguments.convention, choices)
    put_prose("\n\n".join(str(definition_of(plan, convention)) for plan in plans), arguments)


def describe_conventions(add: Add) -> None:
    add("names", metavar="NAME", nargs="*", help="conventions to print with all choices")


def run_conventions(arguments: argparse.Namespace) -> None:
    """Print the table of conventions, or the choices of some."""
    if not arguments.names:
        table = [["convention", "what it follows"]]
        table += [[name, convention.summary] for name, convention in conventions.items()]
        show(Answer(table, notes=["rankstone conventions NAME: all choices of one convention"], align="<<"), arguments)
    for name in arguments.names:
        with usage():
            convention = find_convention(name)
        print(f"{convention.name}: {convention.summary}")
        for choice, value in convention.choices.items():
            print(f"  {choice} = {value!r}")


def describe_explain(add: Add) -> None:
    add("truth", metavar="TRUTH", help="a file, as for evaluate")
    add("runs", metavar="RUN", nargs="+", help="a file; two of them to see what moved")
    add("metric", metavar="METRIC", help="ndcg@10, ...")
    add("-q", "--query", metavar="QUERY", help="whose score; two conventions also differ in the mean")
    twice = "twice to see which choices make the difference"
    add("-c", "--convention", action="append", metavar="NAME", help=twice)
    _share_explaining(add)


def run_explain(arguments: argparse.Namespace) -> None:
    """Print where a score came from, or why two scores differ."""
    from rankstone.cli.input import sides
    from rankstone.explain.explain import explain

    names = arguments.convention or ["rankstone"]
    if len(names) > 2 or len(arguments.runs) > 2 or len(names) + len(arguments.runs) > 3:
        raise UsageError("give one run and one or two conventions, or two runs and one convention")
    choices, *_ = [choices_of(arguments, [arguments.metric], name) for name in names]
    truth, run, *other = sides(arguments, arguments.runs)
    runs = (run, other[0]) if other else run
    convention = names[0] if len(names) == 1 else tuple(names)
    explained = explain(truth, runs, arguments.metric, query=arguments.query, convention=convention, **choices)
    _show(explained, arguments)


def describe_identify(add: Add) -> None:
    add("truth", metavar="TRUTH", help="a file, as for evaluate")
    add("run", metavar="RUN", help="a file")
    add("reported", metavar="METRIC=NUMBER", nargs="+", help="ndcg@10=0.4704; a percentage ends with %%")
    _share_explaining(add)


def run_identify(arguments: argparse.Namespace) -> None:
    """Print the definitions that make a reported number."""
    from rankstone.cli.input import sides
    from rankstone.explain.identify import identify, parse_several

    reported = " ".join(arguments.reported)
    with usage():
        metrics = [str(metric) for metric, _ in parse_several(reported)]
    choices = choices_of(arguments, metrics, "rankstone")
    truth, run = sides(arguments, [arguments.run])
    identified = identify(truth, run, reported, **choices)
    _show(identified, arguments)


def _share_explaining(add: Add) -> None:
    share(add, "-s --set")
    share_reading(add)
    share(add, "--no-color")
    add("--format", dest="shown", choices=FORMATS, default="table")


def _show(
    answer: Explanation | ConventionDifference | Moves | IdentifyResult | IdentifyTable, arguments: argparse.Namespace
) -> None:
    from rankstone.results.export import as_json

    if arguments.shown == "table":
        show(answer._printed(), arguments)
    elif arguments.shown == "json":
        print(as_json(answer.to_dict()))
    else:
        print(render([row for row in answer._answer().table if row], arguments.shown))
