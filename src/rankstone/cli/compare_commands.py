"""The commands `compare`, of runs, of saved results, or of both, and `check`, of gates in a file or in the words."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rankstone.cli.evaluate_command import by_machine_labels, results_of
from rankstone.cli.input import check_stdin, columns_of, groups_by, named, queries_of, sides
from rankstone.cli.options import (
    Add,
    UsageError,
    choices_of,
    form_of,
    put,
    share,
    share_input,
    share_output,
    show,
    usage,
)
from rankstone.compare.check import CheckResult, check
from rankstone.compare.collections import compare_collections
from rankstone.compare.compare import InputOrigin, judged_rate
from rankstone.compare.comparison import Comparison, compare_results
from rankstone.compare.ledger import LEDGER_ENDING, SPENDINGS
from rankstone.compare.paper import MARKINGS
from rankstone.compare.pins import pins_of, toml_of
from rankstone.conventions.plan import DEFAULT_METRICS
from rankstone.data.atomic import replacing
from rankstone.data.files import is_large
from rankstone.errors import GatesError
from rankstone.evaluate.result_file import is_result, read_result
from rankstone.metrics.registry import Metric, parse_all
from rankstone.results.export import RESULT_FORMATS, as_json, write_answer
from rankstone.results.reproduction import record_of, with_record
from rankstone.results.result import Result
from rankstone.statistics import CORRECTIONS, TESTS
from rankstone.statistics.paired import canonical_name

FORMS = [form for form in RESULT_FORMATS if form != "trec"]  # which has no place for differences


# Options of `compare` that its function takes by the same names.
_RULES = ("test", "anytime", "correction", "confidence", "margin", "primary", "resamples", "seed", "population")


def _canonical(table: Any) -> Callable[[str], str]:
    """Replaces a name of an earlier version."""
    return lambda name: canonical_name(name, table)


def describe_compare(add: Add) -> None:
    truth = "a file, as for evaluate; leave it out before saved results. Several collections: NAME=TRUTH,RUN,RUN or "
    add("truth", metavar="TRUTH", help=f"{truth}NAME=TRUTH,FOLDER each")
    runs = "files, as for evaluate, or results that it saved: -o x.json"
    add("runs", metavar="[NAME=]RUN", nargs="*", help=runs)
    share_input(add)
    add("--baseline", metavar="NAME", help="the run that all others are compared with; else all pairs")
    tests, corrections = f"{', '.join(TESTS)} [default: t]", f"for many comparisons: {', '.join(CORRECTIONS)}"
    add("--test", default="t", type=_canonical(TESTS), choices=TESTS, metavar="NAME", help=tests)
    add(
        "--anytime",
        action="store_true",
        help="intervals and p-values that hold at every look, while queries keep coming",
    )
    add("--correction", type=_canonical(CORRECTIONS), choices=CORRECTIONS, metavar="NAME", help=corrections)
    add("--confidence", type=float, default=0.95, metavar="LEVEL", help="of intervals and verdicts [default: 0.95]")
    add(
        "--margin",
        type=float,
        metavar="DIFFERENCE",
        help="smallest difference that matters; for verdicts of equivalence",
    )
    add("--html", metavar="FILE", help="write a report too: one page with pictures")
    add("--title", metavar="TEXT", help="title of the report [default: the names of the runs]")
    add("--primary", action="append", metavar="METRIC", help="metrics that decide; others are only shown")
    add("--by", metavar="COLUMN", help="differences by group of queries: a column of the truth file")
    share(add, "--cluster")
    bounds = "lowest and highest differences over all grades of the unjudged items"
    add("--bounds", action="store_true", help=bounds)
    share(add, "--machine", "--drawn-at-random")
    add("--population", type=int, metavar="N", help="size of the population, if the queries are a sample of it")
    add(
        "--resamples",
        type=int,
        metavar="N",
        help="random sign flips [default: 100000, and fewer for more than 1,000 pairs]",
    )
    add("--seed", type=int, default=0, metavar="N", help="random seed [default: 0]")
    add("--digits", type=int, metavar="N", help="LaTeX: digits after the point [default: 4, and 1 in percent]")
    add("--percent", action="store_true", help="LaTeX: metrics from 0 to 1 in percent")
    add("--marks", choices=MARKINGS, metavar="NAME", help=f"LaTeX: {', '.join(MARKINGS)}")
    add("--caption", metavar="TEXT", help="LaTeX: the caption [default: a sentence on queries, marks and test]")
    add("--label", metavar="NAME", help="LaTeX: the label, for references")
    share_output(add, FORMS)


_LATEX = ("digits", "percent", "marks", "caption", "label")


def run_compare(arguments: argparse.Namespace) -> None:
    """Compare what the words name, and print or write the answer."""
    form = form_of(arguments.output, arguments.shown, FORMS)
    options = {name: value for name in _LATEX if (value := getattr(arguments, name)) not in (None, False)}
    if options and form != "latex":
        raise UsageError(f"--{next(iter(options))} goes with --format latex")
    collections = _collections([arguments.truth, *arguments.runs])
    needs_report = bool(arguments.html or (form == "html" and arguments.output))
    if collections and needs_report:
        raise UsageError("a page of HTML is a report on one collection; the table of several: --format html")
    comparison: Comparison
    if collections:
        comparison = compare_collections(collections, lambda of, correction: _of_collection(arguments, of, correction),
                                         arguments.correction)  # fmt: skip
    else:
        comparison = _comparison(arguments, needs_report)
    if arguments.html:
        with replacing(arguments.html, "html") as stream:
            stream.write(comparison.report(arguments.title).encode())
    if form == "latex":
        put(comparison.latex(**options, verbose=arguments.verbose), arguments.output or "-")
    elif form == "table" and not arguments.output:
        show(comparison._answer(), arguments)
    else:
        write_answer(comparison, arguments.output or "-", form, {}, command=arguments.line)


def _comparison(arguments: argparse.Namespace, needs_lists: bool) -> Comparison:
    """The comparison of the runs; needs_lists: for a report that explains them."""
    truth, files = _files(arguments)
    systems, metrics = _systems(arguments, truth, files)
    if len(systems) < 2:
        raise UsageError(f"there is one run only, {next(iter(systems))}; a comparison needs two")
    rules: dict[str, Any] = {name: getattr(arguments, name) for name in _RULES}
    for what in ("by", "clusters"):
        if getattr(arguments, what) is not None:
            rules[what] = groups_by(arguments, getattr(arguments, what), what)
    if arguments.machine is not None:
        if truth is None or set(systems) != set(files):
            raise UsageError("--machine goes with a truth and runs, not with saved results")
        labels = metrics or list(DEFAULT_METRICS)
        by_machine = by_machine_labels(arguments, files, labels, choices_of(arguments, labels))
        rules["machine"] = {name: (result,) for name, result in by_machine.items()}
        rules["drawn_at_random"] = arguments.drawn_at_random
    return compare_results(
        systems, metrics, baseline=_baseline(arguments.baseline, files, list(systems)), command=arguments.line,
        origin=_origin(arguments, truth, files) if needs_lists and truth is not None else None, **rules,
    )  # fmt: skip


def _collections(words: Sequence[str]) -> dict[str, list[str]]:
    """The files of each collection, the truth first, where all words are NAME=TRUTH,RUN or NAME=TRUTH,FOLDER."""
    collections = {}
    for word in words:
        name, _, paths = word.partition("=")
        parts = paths.split(",")
        if len(parts) < 2 or os.path.exists(paths):
            return {}
        collections[name] = [parts[0], *(path for part in parts[1:] for path in _runs_of(part))]
    return collections


def _runs_of(path: str) -> list[str]:
    """The files of a folder but hidden ones and ledgers of gates; a file itself."""
    if not os.path.isdir(path):
        return [path]
    files = (entry for entry in os.scandir(path) if entry.is_file() and not entry.name.startswith("."))
    return sorted(entry.path for entry in files if not entry.name.endswith(LEDGER_ENDING))


def _of_collection(arguments: argparse.Namespace, files: Sequence[str], correction: str) -> Comparison:
    """The comparison on one collection."""
    own = {"truth": files[0], "runs": list(files[1:]), "correction": correction}
    return _comparison(argparse.Namespace(**{**vars(arguments), **own}), False)


def _origin(arguments: argparse.Namespace, truth: str, files: Mapping[str, str]) -> InputOrigin | None:
    """The lists themselves, for a report that explains them; None if some are not at hand."""
    paths = truth, *files.values()
    transforms = arguments.exclude, arguments.parent, arguments.overlap, arguments.reference
    if any(transforms) or arguments.on_error != "stop" or "-" in paths:
        return None
    if any(is_result(path) or is_large(path) for path in paths):
        return None
    judged, *runs = sides(arguments, list(files.values()))
    side_info = {name: getattr(arguments, name) for name in ("catalogue", "history") if getattr(arguments, name)}
    how: dict[str, Any] = {"columns": None, "queries": queries_of(arguments), "convention": arguments.convention}
    how |= {**side_info, **choices_of(arguments)}
    return InputOrigin(judged, {name: (run,) for name, run in zip(files, runs, strict=True)}, how)


def _files(arguments: argparse.Namespace) -> tuple[str | None, dict[str, str]]:
    """The truth, if there is one, and the other files by their names."""
    words = [arguments.truth, *arguments.runs]
    check_stdin(words)
    every = named(words)
    if all(map(is_result, every.values())):
        _check_no_reading(arguments)
        return None, every
    if all(map(is_result, arguments.runs)) and not os.path.exists(arguments.truth):  # it need not be meant as a truth
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), arguments.truth)
    if is_result(arguments.truth):
        other = next(path for path in every.values() if not is_result(path))
        raise UsageError(
            f"{arguments.truth} is a saved result and {other} is none, so the truth is missing: rankstone compare "
            f"TRUTH {' '.join(words)}"
        )
    if not arguments.runs:
        raise UsageError(f"there is nothing to compare: rankstone compare {arguments.truth} RUN RUN")
    return arguments.truth, named(arguments.runs)


def _check_no_reading(arguments: argparse.Namespace) -> None:
    """Stop at options that say how to measure what has been measured."""
    options = {
        "-c": arguments.convention != "rankstone", "-s": arguments.set, "--columns": arguments.columns,
        "--from-format": arguments.format, "--exclude": arguments.exclude, "--queries": arguments.queries,
        "--exclude-from-truth": arguments.exclude_from_truth, "--catalogue": arguments.catalogue,
        "--history": arguments.history, "--reference": arguments.reference, "--parent": arguments.parent,
        "--overlap": arguments.overlap, "--bounds": arguments.bounds, "--machine": arguments.machine,
    }  # fmt: skip
    for option in (option for option, value in options.items() if value):
        raise UsageError(f"{option} goes with a truth and runs; saved results have been measured already")
    for option, column in (("--by", arguments.by), ("--cluster", arguments.clusters)):
        if column is not None:
            command = " ".join(["rankstone compare TRUTH", arguments.truth, *arguments.runs])
            raise UsageError(f"{option} {column} is a column of the truth; give it too: {command}")


def _systems(
    arguments: argparse.Namespace, truth: str | None, files: Mapping[str, str]
) -> tuple[dict[str, Result], list[str] | None]:
    """The results by name, of files that are saved ones and of those that are runs, and the metrics to compare."""
    saved = {name: _saved(name, path) for name, path in files.items() if is_result(path)}
    if saved and arguments.bounds:
        raise UsageError(f"--bounds needs the lists, and {files[next(iter(saved))]} is a saved result; give the run")
    had = [result for several in saved.values() for result in several.values()]
    metrics: list[str] | None = arguments.metric and [str(metric) for metric in _parsed(arguments.metric)]
    for result in had:
        lost = [metric for metric in metrics or () if metric not in result]
        if lost:
            raise UsageError(f"{result._name} has no {lost[0]}; it was saved with {', '.join(result)}")
    fresh = {name: path for name, path in files.items() if name not in saved}
    evaluated: Mapping[str, Result] = {}
    if fresh:
        metrics = metrics or _shared(had) or list(DEFAULT_METRICS)
        choices = choices_of(arguments, metrics)
        side_info = judged_rate(metrics, arguments.convention, choices)
        evaluated = results_of(arguments, fresh, [*metrics, *side_info], choices, arguments.bounds)
    out: dict[str, Result] = {}
    for name in files:
        for own, result in saved.get(name, {name: evaluated[name]} if name in evaluated else {}).items():
            if own in out:
                raise UsageError(f"two runs are called {own}; name the files of one run: NAME={files[name]}")
            out[own] = result
    return out, metrics


def _parsed(words: Sequence[str]) -> list[Metric]:
    with usage():
        return parse_all(words)


def _saved(name: str, path: str) -> dict[str, Result]:
    """The results of a file: one by the file's name, several by their own."""
    saved = read_result(path)
    return dict(saved) if isinstance(saved, dict) else {name: saved}


def _shared(results: Sequence[Result]) -> list[str]:
    """The metrics that all of some results have."""
    return [label for label in (results[0] if results else ()) if all(label in result for result in results)]


def _baseline(baseline: str | None, files: Mapping[str, str], names: Sequence[str]) -> str | None:
    """The run that is meant by its name or by its file's."""
    if baseline is None or baseline in names:
        return baseline
    matching = [name for name, path in files.items() if baseline in (path, os.path.basename(path)) and name in names]
    if len(matching) != 1:
        raise UsageError(f"--baseline {baseline} is none of the runs: {', '.join(names)}")
    return matching[0]


# -- check --------------------------------------------------------------------------------------------------

_LIMITS = {"not_worse_than": "--not-worse-than", "at_least": "--at-least", "at_most": "--at-most"}
# Options of `check` that stand in place of a file's keys of the same names.
_KEYS = ("truth", "baseline", "candidate", "pins", "convention", "exclude", "clusters", "confidence", "undecided",
         "anytime", "ledger", "spending", "candidates")  # fmt: skip


def describe_check(add: Add) -> None:
    add("gates", metavar="GATES", nargs="?", help="a TOML file; options take the place of its keys")
    add("--truth", metavar="FILE", help="a file, as for evaluate")
    add("--baseline", metavar="FILE", help="a run, or a result that evaluate saved: -o main.json")
    add("--candidate", metavar="FILE", help="the same, of the run that is checked")
    add("--pins", metavar="FILE", help="pinned queries: a file that rankstone pin wrote, or rag-contract's")
    add("-m", "--metric", action="append", metavar="METRIC", help="metric of the limits, or to show")
    fall = "largest loss allowed: 0.01, or '2 %%' of the baseline's mean"
    add("--not-worse-than", type=_margin, metavar="MARGIN", help=fall)
    add("--at-least", type=float, metavar="MEAN", help="lowest mean allowed")
    add("--at-most", type=float, metavar="MEAN", help="highest mean allowed, where lower is better")
    add("-c", "--convention", metavar="NAME", help="see rankstone conventions")
    share(add, "-s --set", "--columns")
    add("--exclude", metavar="FILE", help="training items per query, as a truth: they are removed before ranking")
    share(add, "--cluster")
    add("--confidence", type=float, metavar="LEVEL", help="of each one-sided test [default: 0.95]")
    add("--undecided", choices=("pass", "warn", "fail"), help="result of an inconclusive gate [default: exit code 4]")
    add("--anytime", action="store_true", default=None, help="tests that hold at every look")
    add("--ledger", metavar="FILE", help="count how often the truth was used, and by how many candidates")
    add(
        "--spending",
        choices=SPENDINGS,
        metavar="NAME",
        help=f"share the level among candidates: {', '.join(SPENDINGS)}",
    )
    add("--candidates", type=int, metavar="N", help="how many are planned, for some ways to share")
    share(add, "-v --verbose")
    share(add, "--no-color")
    add("--junit", metavar="FILE", help="write JUnit XML for a build server")
    add("--markdown", metavar="FILE", help="write Markdown for a pull request")
    add("--json", metavar="FILE", help="write everything as JSON")
    add("--github", action="store_true", help="print annotations for GitHub too: what does not pass")


def _margin(word: str) -> float | str:
    """A number, or a percentage as it is."""
    return word if word.strip().endswith("%") else float(word)


def run_check(arguments: argparse.Namespace) -> int:
    """Check the gates, print a line for each, and end with what came of them."""
    keys = _keys(arguments)
    if arguments.gates is None and not keys.keys() & {"gate", "pins"}:
        raise UsageError(f"give a file of gates, --pins FILE, or -m METRIC and one of {', '.join(_LIMITS.values())}")
    with usage(GatesError):
        checks = check({} if arguments.gates is None else arguments.gates, **keys)
    writers: dict[str, Callable[[CheckResult], str]] = {
        "junit": CheckResult.to_junit, "markdown": lambda checks: checks.render("markdown"),
        "json": lambda checks: as_json(with_record(checks.to_dict(), record_of(arguments.line, checks.files))),
    }  # fmt: skip
    for name, write in writers.items():
        if getattr(arguments, name) is not None:
            put(write(checks), getattr(arguments, name))
    try:
        show(checks._answer(), arguments)
        if arguments.github and (lines := checks.to_github(arguments.gates)):
            print(lines, flush=True)
    except BrokenPipeError:  # the verdict stands, whoever reads it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return checks.exit_code


def _keys(arguments: argparse.Namespace) -> dict[str, Any]:
    """What the words say in place of a file's keys."""
    every = {
        **{name: getattr(arguments, name) for name in _KEYS},
        "choices": choices_of(arguments) or None,
        "columns": columns_of(arguments),
        "metrics": arguments.metric,
    }
    keys = {name: value for name, value in every.items() if value is not None}
    limits = {name: value for name in _LIMITS if (value := getattr(arguments, name)) is not None}
    if not limits:
        return keys
    if not arguments.metric:
        name, value = next(iter(limits.items()))
        raise UsageError(f"{_LIMITS[name]} {value}: of which metric; give -m")
    metrics = _parsed(keys.pop("metrics"))
    return {**keys, "gate": [{"metric": str(metric), name: limits[name]} for metric in metrics for name in limits]}


# -- pin ----------------------------------------------------------------------------------------------------


def describe_pin(add: Add) -> None:
    add("run", metavar="RUN", help="a file, as for evaluate: what is live and right")
    add("--top", type=int, default=1, metavar="N", help="pin the first N items of each list [default: 1]")
    add("--within", type=int, metavar="N", help="they must stay in the first N places [default: as --top]")
    add("--queries", metavar="IDS", help="only these queries: a file with one id per line, or ids with commas")
    share(add, "-o --output")


def run_pin(arguments: argparse.Namespace) -> None:
    """Write the pins of a run as TOML."""
    put(toml_of(list(pins_of(arguments.run, arguments.top, arguments.within, queries_of(arguments)))), arguments.output)


# -- schema -------------------------------------------------------------------------------------------------


def describe_schema(add: Add) -> None:
    from rankstone.compare.schemas import SCHEMAS

    add("name", metavar="NAME", nargs="?", choices=SCHEMAS, help=", ".join(SCHEMAS))


def run_schema(arguments: argparse.Namespace) -> None:
    """Print a schema, or the names of all."""
    from rankstone.compare.schemas import SCHEMAS

    print("\n".join(SCHEMAS) if arguments.name is None else as_json(SCHEMAS[arguments.name]))
