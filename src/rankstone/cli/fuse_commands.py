"""The commands `fuse`, `pool` and `convert`: one run of several, what of them is to be judged, another format."""

from __future__ import annotations

import argparse
from itertools import product
from typing import Any

from rankstone.align.ties import COUNTED
from rankstone.cli.input import check_stdin, format_of, named, report_skipped, roles_for, truth_of
from rankstone.cli.options import Add, UsageError, pairs, share, share_reading, show, usage
from rankstone.data.files import all_same_ids, format_of_file, read_run
from rankstone.data.formats import FORMATS, listed, named_format
from rankstone.data.lines import head_of
from rankstone.data.trec import LAYOUTS
from rankstone.fusion.fuse import fuse
from rankstone.fusion.fusion_choices import PRESETS, decide, find_preset
from rankstone.fusion.fusion_methods import NORMS, methods
from rankstone.fusion.pool import pool
from rankstone.fusion.tune import tune
from rankstone.metrics.registry import parse_one
from rankstone.results.export import convert


def describe_fuse(add: Add) -> None:
    add("runs", metavar="[NAME=]RUN", nargs="+", help="files, as for evaluate")
    several = f"{', '.join(methods)} [default: rrf]; with --tune also several: rrf,comb_sum"
    add("--method", default="rrf", metavar="METHOD", type=_method_names, choices=list(methods), help=several)
    add("--norm", metavar="NORM", choices=list(NORMS), help=f"normalisation of scores: {', '.join(NORMS)}")
    add("--weights", metavar="WEIGHTS", help="one per run: 0.7,0.3")
    add("--depth", type=int, metavar="N", help="only the first N of each list")
    presets = list(PRESETS)
    add("-c", "--convention", default="rankstone", metavar="NAME", choices=presets, help=", ".join(presets))
    choices = "e.g. k=10, missing=lowest, keep=1000; with --tune also several: k=10,60"
    add("-s", "--set", action="append", default=[], metavar="CHOICE=VALUE", help=choices)
    add("--tag", metavar="TAG", help="last field of a TREC run [default: the method]")
    tuned = "choose weights, methods and values by a truth, and print what to expect on new queries"
    add("--tune", dest="truth", metavar="TRUTH", help=tuned)
    add("-m", "--metric", metavar="METRIC", help="the metric that --tune decides by [default: ndcg@10]")
    add("--folds", type=int, metavar="N", help="folds of the queries, of --tune [default: 5]")
    _share_pooling(add)


def describe_pool(add: Add) -> None:
    add("runs", metavar="[NAME=]RUN", nargs="+", help="files, as for evaluate")
    add("--depth", type=int, required=True, metavar="N", help="the first N of each list")
    add("--truth", metavar="FILE", help="judged items, which are left out")
    add("--ties", default="item_desc", choices=COUNTED, help="order of tied items [default: item_desc]")
    _share_pooling(add)


def describe_convert(add: Add) -> None:
    add("source", metavar="FROM")
    add("target", metavar="TO", nargs="?", help="output file; format by file extension")
    add("--kind", choices=("truth", "run"), help="[default: what FROM or TO can only be]")
    share_reading(add)
    share(add, "-o --output")
    add("--tag", default="rankstone", metavar="TAG", help="name of the run or the judgements [default: rankstone]")
    _add_to_format(add)
    share(add, "--on-error")


def _share_pooling(add: Add) -> None:
    share_reading(add)
    share(add, "--on-error")
    add("--quiet", action="store_true", help="print no summary")
    share(add, "-o --output")
    _add_to_format(add)


def _add_to_format(add: Add) -> None:
    formats = listed(form.name for form in FORMATS.values() if form.write)
    add("--to", "--to-format", dest="to_format", metavar="FORMAT", help=formats)


def run_fuse(arguments: argparse.Namespace) -> None:
    """Fuse files into one: to a file, or to standard output as a TREC run; with --tune only if there is an output."""
    tried = _tried(arguments)
    ways = [(method, dict(zip(tried, values, strict=True)))
            for method, *values in product(arguments.method, *tried.values())]  # fmt: skip
    with usage(ValueError, TypeError):
        for method, choices in ways:
            decide(methods.find(method), find_preset(arguments.convention), choices)
        if arguments.metric:
            parse_one(arguments.metric)
    weights, convention = _weights(arguments.weights), arguments.convention
    options = {name: value for name in ("metric", "folds") if (value := getattr(arguments, name)) is not None}
    if arguments.truth:
        if weights:
            raise UsageError("--tune chooses the weights; leave out --weights")
        truth, runs = _read(arguments)
        shown: Any = tune(runs, truth, method=arguments.method, parameters=tried, convention=convention, **options)
        fused = shown.run
    elif options or len(ways) > 1:
        what = f"--{next(iter(options))} is" if options else "several methods or values are"
        raise UsageError(f"{what} for --tune: add --tune TRUTH")
    else:
        shown = fused = fuse(_read(arguments)[1], method, weights=weights, convention=convention, **choices)
    target = arguments.output or ("" if arguments.truth else "-")
    if target:
        fused.write(target, arguments.to_format or ("trec" if target == "-" else None), tag=arguments.tag)
    if target != "-" and not arguments.quiet:
        show(shown._answer(), arguments, verbose=True)


def run_pool(arguments: argparse.Namespace) -> None:
    """Pool files: to a file, and how many items there are on the screen."""
    truth, runs = _read(arguments)
    pooled = pool(runs, arguments.depth, truth, ties=arguments.ties)
    if arguments.output:
        pooled.write(arguments.output, arguments.to_format or ("trec" if arguments.output == "-" else None))
    if arguments.output != "-" and not arguments.quiet:
        show(pooled._answer(), arguments)


def run_convert(arguments: argparse.Namespace) -> None:
    """Write a file in another format."""
    targets = [path for path in (arguments.target, arguments.output) if path is not None]
    if len(targets) != 1:
        raise UsageError("name one output file: rankstone convert FROM TO, or -o TO")
    kind = arguments.kind or _kind(arguments.source, arguments.to_format)
    read = convert(
        arguments.source, targets[0], kind, source_format=format_of(arguments, kind), target_format=arguments.to_format,
        columns=roles_for(arguments, kind, arguments.source, []), on_error=arguments.on_error, tag=arguments.tag,
    )  # fmt: skip
    report_skipped(arguments.source, read)


def _kind(source: str, to_format: str | None) -> str:
    """Whether a file is a truth or a run, where its format or the one to write can only be one of them."""
    for form in (named_format(to_format), None if source == "-" else format_of_file(source)):
        if form is not None and len(form.kinds) == 1:
            return form.kinds[0]
    first = len(head_of(source).partition(b"\n")[0].split()) if form is FORMATS["trec"] else 0
    for kind in (kind for kind, layout in LAYOUTS.items() if len(layout.fields) == first):
        return kind
    raise UsageError(f"{source} could be a truth or a run; pass --kind truth or --kind run")


def _read(arguments: argparse.Namespace) -> tuple[Any, dict[str, Any]]:
    """The truth, if there is one, and the runs by name, with ids of one kind."""
    check_stdin([*arguments.runs, arguments.truth])
    paths = named(arguments.runs)
    read = []
    for path in paths.values():
        columns, form = roles_for(arguments, "run", path, []), format_of(arguments, "run")
        read.append(read_run(path, format=form, columns=columns, on_error=arguments.on_error))
        report_skipped(path, read[-1])
    truth, read = None, all_same_ids(read[0], read[1:])
    if arguments.truth:
        truth, *read = all_same_ids(truth_of(arguments, arguments.runs, arguments.on_error), read)
    return truth, dict(zip(paths, read, strict=True))


def _tried(arguments: argparse.Namespace) -> dict[str, list[Any]]:
    """The values of each choice."""
    tried = {}
    for word in arguments.set:
        name, equals, values = word.partition("=")
        tried[name] = [pairs([f"{name}{equals}{value}"], "--set")[name] for value in values.split(",")]
    own = {name: [value] for name in ("norm", "depth") if (value := getattr(arguments, name)) is not None}
    return tried | own


def _method_names(words: str) -> list[str]:
    """The names of methods by any of their aliases; unknown words unchanged, so that argparse lists the choices."""
    return [methods.names.get(word.lower(), word) for word in words.split(",")]


def _weights(word: str | None) -> list[float] | None:
    if word is None:
        return None
    try:
        return [float(part) for part in word.split(",")]
    except ValueError:
        raise UsageError(f"--weights {word}: write a number for each run: 0.7,0.3") from None
