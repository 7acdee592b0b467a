"""`rankstone fuse` and `rankstone pool`: one run of several, and what of them is to be judged."""

from __future__ import annotations

import argparse
from typing import Any

from rankstone.cli.input import UsageError, format_of, named, pairs, report_skipped, roles_for, truth_of
from rankstone.cli.output import screen


def fuse_runs(arguments: argparse.Namespace) -> None:
    """Fuse files into one: to a file, or to standard output as a TREC run."""
    from rankstone.fusion.choices import decide, find_preset
    from rankstone.fusion.fuse import fuse
    from rankstone.fusion.methods import fusions

    choices = pairs(arguments.set, "--set")
    choices |= {name: getattr(arguments, name) for name in ("norm", "depth") if getattr(arguments, name) is not None}
    try:
        decide(fusions.find(arguments.method), find_preset(arguments.convention), choices)
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from None
    fused = fuse(
        _runs(arguments),
        arguments.method,
        weights=_weights(arguments.weights),
        convention=arguments.convention,
        **choices,
    )
    target = arguments.output or "-"
    fused.write(target, arguments.to_format or ("trec" if target == "-" else None), tag=arguments.tag)
    if target != "-" and not arguments.quiet:
        print(fused.text(screen()))


def pool_runs(arguments: argparse.Namespace) -> None:
    """Pool files: to a file, and how many items there are on the screen."""
    from rankstone.data.files import all_same_ids
    from rankstone.fusion.pool import pool

    runs, truth = _runs(arguments), None
    if arguments.truth:
        truth, *alike = all_same_ids(truth_of(arguments, arguments.runs, arguments.on_error), list(runs.values()))
        runs = dict(zip(runs, alike, strict=True))
    pooled = pool(runs, arguments.depth, truth, ties=arguments.ties)
    if arguments.output:
        pooled.write(arguments.output, arguments.to_format or ("trec" if arguments.output == "-" else None))
    if arguments.output != "-" and not arguments.quiet:
        print(pooled.text(screen()))


def _runs(arguments: argparse.Namespace) -> dict[str, Any]:
    """The runs by name, with ids of one kind."""
    from rankstone.data.files import all_same_ids, read_run

    if [*arguments.runs, getattr(arguments, "truth", None)].count("-") > 1:
        raise UsageError("only one file can be read from standard input")
    paths = named(arguments.runs)
    read = []
    for path in paths.values():
        columns, form = roles_for(arguments, "run", path, []), format_of(arguments, "run")
        read.append(read_run(path, format=form, columns=columns, on_error=arguments.on_error))
        report_skipped(path, read[-1])
    return dict(zip(paths, all_same_ids(read[0], read[1:]), strict=True))


def _weights(word: str | None) -> list[float] | None:
    if word is None:
        return None
    try:
        return [float(part) for part in word.split(",")]
    except ValueError:
        raise UsageError(f"--weights {word}: write a number for each run: 0.7,0.3") from None
