"""The command `evaluate`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from rankstone.cli.input import (
    check_stdin,
    columns_of,
    format_of,
    groups_by,
    named,
    queries_of,
    report_skipped,
    roles_for,
    truth_of,
)
from rankstone.cli.options import Add, UsageError, choices_of, form_of, share, share_input, share_output, show
from rankstone.compare.run_table import Groups, Runs, Values
from rankstone.conventions.plan import DEFAULT_METRICS, make_plans
from rankstone.data.files import is_large, read_side, same_ids
from rankstone.data.formats import FORMATS, listed
from rankstone.data.loaders import check_apart
from rankstone.errors import naming_run
from rankstone.metrics.registry import ByName
from rankstone.results.export import PAGES, RESULT_FORMATS, write_answer
from rankstone.results.result import Result


def describe_evaluate(add: Add) -> None:
    titles = listed(form.title for form in FORMATS.values() if "truth" in form.kinds)
    add("truth", metavar="TRUTH", help=f"a file: {titles}; - for stdin")
    runs = "files, as the truth; none if its rows have grades and scores, or are a run's and no metric needs a truth"
    add("runs", metavar="[NAME=]RUN", nargs="*", help=runs)
    share_input(add)
    add("--per-query", action="store_true", help="values per query instead of means")
    add("--by", metavar="COLUMN", help="means by group of queries: a column of the truth file")
    add("--interval", action="store_true", help="95 %% confidence intervals of the means")
    bounds = "lowest and highest means over all grades of the unjudged items"
    add("--bounds", action="store_true", help=bounds)
    share(add, "--machine", "--drawn-at-random")
    share_output(add, RESULT_FORMATS)


def run_evaluate(arguments: argparse.Namespace) -> None:
    """Evaluate files, and print or write the answer."""
    metrics = arguments.metric or list(DEFAULT_METRICS)
    choices = choices_of(arguments, metrics)
    check_stdin([arguments.truth, *arguments.runs])
    if arguments.by and arguments.per_query:
        raise UsageError("--by and --per-query do not go together")
    form = form_of(arguments.output, arguments.shown, RESULT_FORMATS)
    if arguments.interval and (arguments.per_query or arguments.by or form not in PAGES.values()):
        raise UsageError(f"--interval goes with means, as {listed(PAGES.values())}")
    if arguments.bounds and (arguments.per_query or arguments.by):
        raise UsageError("--bounds goes with means, not with --per-query or --by")
    results = results_of(arguments, named(arguments.runs or [arguments.truth]), metrics, choices, arguments.bounds)
    if arguments.machine is not None:
        from rankstone.evaluate.assisted import assist  # which loads SciPy

        by_machine = by_machine_labels(arguments, named(arguments.runs), metrics, choices)
        results = {name: assist(human, by_machine[name], arguments.drawn_at_random) for name, human in results.items()}
        if len(results) > 1 and form not in PAGES.values():
            raise UsageError(f"several runs with --machine are printed as {listed(PAGES.values())}; write one of them")
    if arguments.interval:
        results = {name: result._with_intervals() for name, result in results.items()}
    answer: Runs = Runs(results)
    if arguments.by:
        answer = Groups(results, arguments.by, groups_by(arguments, arguments.by))
    elif arguments.per_query or form == "parquet":
        answer = Values(results)
    whole = next(iter(results.values())) if form == "table" and type(answer) is Runs and len(results) == 1 else answer
    if arguments.machine is not None and len(results) == 1 and (arguments.output or form != "table"):
        next(iter(results.values())).write(arguments.output or "-", form)
    elif form == "table" and not arguments.output:
        show(whole._answer(), arguments)
    else:
        for result in results.values() if len(results) == 1 else ():
            result._command = arguments.line  # for its report
        write_answer(whole, arguments.output or "-", form, results, command=arguments.line)


def by_machine_labels(
    arguments: argparse.Namespace, runs: Mapping[str, str], metrics: Sequence[str], choices: ByName
) -> dict[str, Result]:
    """The results under the machine's labels."""
    for option in ("by", "bounds", "per_query"):
        if getattr(arguments, option, None):
            raise UsageError(f"--{option.replace('_', '-')} does not go with --machine, which estimates means")
    if not runs:
        raise UsageError("--machine goes with a truth and runs")
    labelled = argparse.Namespace(**{**vars(arguments), "truth": arguments.machine})
    return results_of(labelled, runs, metrics, choices)


def results_of(
    arguments: argparse.Namespace, runs: Mapping[str, str], metrics: Any, choices: Any, bounds: bool = False
) -> dict[str, Result]:
    """The results of some files, by the runs' names; the truth is read once."""
    from rankstone.evaluate.evaluate import evaluate
    from rankstone.evaluate.pipeline import resolve_side_info

    form = format_of(arguments, "run")
    side_info = {name: getattr(arguments, name) for name in ("catalogue", "history", "reference")}
    side_info = {name: path for name, path in side_info.items() if path is not None}
    plans = make_plans(metrics, arguments.convention, choices)
    alone = not arguments.runs and not any(plan.needs_truth for plan in plans)
    alone = alone or arguments.overlap is not None
    truth = None if alone else truth_of(arguments, [*runs.values()], arguments.on_error)
    more: Any = {
        "exclude": arguments.exclude, "exclude_from_truth": arguments.exclude_from_truth,
        "queries": queries_of(arguments), "parent": arguments.parent, "bounds": bounds,
    }  # fmt: skip
    more = {name: value for name, value in more.items() if value}
    if arguments.exclude and arguments.columns:
        more["columns"] = {"truth": roles_for(arguments, "truth", arguments.exclude, []) or {}}
    if arguments.overlap is not None:
        more |= {"overlap": arguments.overlap, "columns": columns_of(arguments)}
    in_batches = arguments.on_error == "stop" and not form and not more
    results = {}
    for name, path in runs.items():
        if arguments.overlap is not None:  # spans are tables of their own
            results[name] = evaluate(arguments.truth, path, metrics, convention=arguments.convention, **more, **choices)
            continue
        columns = roles_for(arguments, "run", path, [arguments.truth])
        if in_batches and path != arguments.truth and is_large(path):
            from rankstone.evaluate.stream import evaluate_file

            side, resolved = resolve_side_info(**side_info, metrics=metrics, choices=choices)
            results[name] = evaluate_file(
                truth, path, metrics, convention=arguments.convention, columns=columns, side_info=side, **resolved
            )
            continue
        run = read_side(path, "run", form, columns, arguments.on_error, None if alone else arguments.truth)
        report_skipped(path, run)
        if truth is not None:
            check_apart(arguments.truth, path, truth, run)
        judged, returned = (None, run) if truth is None else same_ids(truth, run)
        with naming_run(name) if len(runs) > 1 else nullcontext():
            results[name] = evaluate(
                judged, returned, metrics, convention=arguments.convention, **more, **side_info, **choices
            )
    return results
