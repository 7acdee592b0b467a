"""The command `compare`: of runs, of saved results, or of both."""

from __future__ import annotations

import argparse
import errno
import os
from collections.abc import Mapping, Sequence

from rankstone.cli.input import UsageError, check_words, groups_by, named, pairs, results_of, sides
from rankstone.cli.output import form_of, screen
from rankstone.compare.compare import Origin, judged_beside
from rankstone.compare.comparison import compare_results
from rankstone.conventions.plan import DEFAULT_METRICS
from rankstone.data.files import is_large
from rankstone.metrics.registry import Metric, parse_all
from rankstone.results.export import RESULT_FORMATS, is_result, read_result, write_answer
from rankstone.results.result import Means

FORMS = [form for form in RESULT_FORMATS if form != "trec"]  # which has no place for differences


def compare_runs(arguments: argparse.Namespace) -> None:
    """Compare what the words name, and print or write the answer."""
    form = form_of(arguments.output, arguments.shown, FORMS)
    truth, files = _files(arguments)
    systems, metrics = _systems(arguments, truth, files)
    if len(systems) < 2:
        raise UsageError(f"there is one run only, {next(iter(systems))}; a comparison needs two")
    groups = {what: groups_by(arguments, getattr(arguments, what), what) for what in ("by", "clusters")
              if getattr(arguments, what) is not None}  # fmt: skip
    needs_lists = arguments.html or (form == "html" and arguments.output)
    comparison = compare_results(
        systems,
        metrics,
        baseline=_baseline(arguments.baseline, files, list(systems)),
        test=arguments.test,
        correction=arguments.correction,
        confidence=arguments.confidence,
        margin=arguments.margin,
        primary=arguments.primary,
        resamples=arguments.resamples,
        seed=arguments.seed,
        population=arguments.population,
        by=groups.get("by"),
        clusters=groups.get("clusters"),
        origin=_origin(arguments, truth, files) if needs_lists and truth is not None else None,
        command=arguments.line,
    )
    if arguments.html:
        write_answer(comparison, arguments.html, "html", {})
    if form == "table" and not arguments.output:
        print(comparison.text(screen(), arguments.quiet))
    else:
        write_answer(comparison, arguments.output or "-", form, {}, arguments.quiet)


def _origin(arguments: argparse.Namespace, truth: str, files: Mapping[str, str]) -> Origin | None:
    """The lists themselves, for a report that explains them; None if some are not at hand."""
    paths = truth, *files.values()
    if arguments.exclude or arguments.parent or arguments.reference or arguments.on_error != "stop" or "-" in paths:
        return None
    if any(is_result(path) or is_large(path) for path in paths):
        return None
    judged, *runs = sides(arguments, list(files.values()))
    known = {name: getattr(arguments, name) for name in ("catalogue", "history") if getattr(arguments, name)}
    how = {"columns": None, "convention": arguments.convention, **known, **pairs(arguments.set, "--set")}
    return Origin(judged, {name: (run,) for name, run in zip(files, runs, strict=True)}, how)


def _files(arguments: argparse.Namespace) -> tuple[str | None, dict[str, str]]:
    """The truth, if there is one, and the other files by their names."""
    words = [arguments.truth, *arguments.runs]
    if words.count("-") > 1:
        raise UsageError("only one file can be read from standard input")
    every = named(words)
    if all(map(is_result, every.values())):
        _refuse_reading(arguments)
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


def _refuse_reading(arguments: argparse.Namespace) -> None:
    """Stop at options that say how to measure what has been measured."""
    given = {
        "-c": arguments.convention != "rankstone", "-s": arguments.set, "--columns": arguments.columns,
        "--from-format": arguments.format, "--exclude": arguments.exclude, "--catalogue": arguments.catalogue,
        "--history": arguments.history, "--reference": arguments.reference,
        "--parent": arguments.parent,
    }  # fmt: skip
    for option in (option for option, is_given in given.items() if is_given):
        raise UsageError(f"{option} goes with a truth and runs; saved results have been measured already")
    for option, column in (("--by", arguments.by), ("--cluster", arguments.clusters)):
        if column is not None:
            words = " ".join([arguments.truth, *arguments.runs])
            raise UsageError(
                f"{option} {column} is a column of the truth; give it too: rankstone compare TRUTH {words}"
            )


def _systems(
    arguments: argparse.Namespace, truth: str | None, files: Mapping[str, str]
) -> tuple[dict[str, Means], list[str] | None]:
    """The results by name, of files that are saved ones and of those that are runs, and the metrics to compare."""
    saved = {name: _saved(name, path) for name, path in files.items() if is_result(path)}
    had = [result for several in saved.values() for result in several.values()]
    metrics: list[str] | None = arguments.metric and [str(metric) for metric in _parsed(arguments.metric)]
    for result in had:
        lost = [metric for metric in metrics or () if metric not in result]
        if lost:
            raise UsageError(f"{result.name} has no {lost[0]}; it was saved with {', '.join(result)}")
    fresh = {name: path for name, path in files.items() if name not in saved}
    made: Mapping[str, Means] = {}
    if fresh:
        choices = pairs(arguments.set, "--set")
        metrics = metrics or _shared(had) or list(DEFAULT_METRICS)
        check_words(metrics, arguments.convention, choices)
        beside = judged_beside(metrics, arguments.convention, choices)
        made = results_of(arguments, fresh, [*metrics, *beside], choices)
    out: dict[str, Means] = {}
    for name in files:
        for own, result in saved.get(name, {name: made[name]} if name in made else {}).items():
            if own in out:
                raise UsageError(f"two runs are called {own}; name the files of one run: NAME={files[name]}")
            out[own] = result
    return out, metrics


def _parsed(words: Sequence[str]) -> list[Metric]:
    try:
        return parse_all(words)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _saved(name: str, path: str) -> dict[str, Means]:
    """The results of a file: one by the file's name, several by their own."""
    found = read_result(path)
    return dict(found) if isinstance(found, dict) else {name: found}


def _shared(results: Sequence[Means]) -> list[str]:
    """The metrics that all of some results have."""
    return [label for label in (results[0] if results else ()) if all(label in result for result in results)]


def _baseline(given: str | None, files: Mapping[str, str], names: Sequence[str]) -> str | None:
    """The run that is meant by its name or by its file's."""
    if given is None or given in names:
        return given
    found = [name for name, path in files.items() if given in (path, os.path.basename(path)) and name in names]
    if len(found) != 1:
        raise UsageError(f"--baseline {given} is none of the runs: {', '.join(names)}")
    return found[0]
