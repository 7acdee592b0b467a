"""The `rankstone` command."""

from __future__ import annotations

import argparse
import ast
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankstone.answers.table import render

if TYPE_CHECKING:
    from rankstone.answers.explain import Difference, Explanation, Moves
    from rankstone.answers.identify import Identified
    from rankstone.answers.result import Result
    from rankstone.inputs.columns import Columns

FORMATS = ("table", "json", "csv", "markdown", "latex")

WATCHED_BYTES = 32 << 20  # a smaller file is read before anyone has looked


class UsageError(ValueError):
    """The command's words are off, not the data."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns 0, 1 for bad data or 2 for bad usage."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["trec_eval"]:  # it has its own ways with options
        from rankstone.trec_eval import main as trec_eval

        return trec_eval(words[1:])
    arguments = parser().parse_args(words)
    if not hasattr(arguments, "run_command"):
        parser().print_help()
        return 2
    try:
        arguments.run_command(arguments)
        sys.stdout.flush()
    except UsageError as error:
        return _complain(error, 2)
    except (ValueError, TypeError, OSError) as error:
        if isinstance(error, BrokenPipeError):  # the reader has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        return _complain(error, 1)
    except KeyboardInterrupt:
        return 130
    return 0


def _complain(error: Exception, code: int) -> int:
    text = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)
    print(f"rankstone: {text}", file=sys.stderr)
    return code


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    from rankstone.inputs.formats import FORMATS as FILE_FORMATS
    from rankstone.inputs.formats import listed
    from rankstone.version import __version__

    titles = listed(form.title for form in FILE_FORMATS.values() if "truth" in form.kinds)
    top = argparse.ArgumentParser(
        prog="rankstone",
        description="Measures ranked lists: search results, recommendations, output of models.",
        epilog="rankstone COMMAND --help tells more. Exit code 1: bad data, 2: bad usage.",
        formatter_class=lambda prog: argparse.HelpFormatter(prog, max_help_position=18),
    )
    top.add_argument("--version", action="version", version=f"rankstone {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND")

    command = _command(commands, "evaluate", "measure command or more runs against a truth", _evaluate)
    command.add_argument("truth", metavar="TRUTH", help=f"a file: {titles}; - for stdin")
    command.add_argument("runs", metavar="RUN", nargs="+", help="files, as the truth")
    command.add_argument(
        "-m", "--metric", action="append", metavar="M", help="ndcg@10, recall@{5,10}, ...; several times"
    )
    _choosing(command)
    command.add_argument("--columns", metavar="ROLE=NAME", action="append", default=[], help="e.g. query=user_id")
    command.add_argument("--per-query", action="store_true", help="values of each query instead of means")
    command.add_argument("--by", metavar="COLUMN", help="means by group of queries: a column of the truth file")
    command.add_argument("--on-error", choices=("stop", "skip"), default="stop", help="what to do with a bad line")
    command.add_argument("--format", choices=FORMATS, default="table")
    command.add_argument("-o", "--output", metavar="FILE", help="write there instead of printing")

    command = _command(commands, "metrics", "what can be measured, with formulas", _metrics)
    command.add_argument("names", metavar="NAME", nargs="*", help="tell all about these")

    command = _command(commands, "define", "say in words what a metric's number means", _define)
    command.add_argument("metrics", metavar="METRIC", nargs="+")
    _choosing(command)

    command = _command(commands, "conventions", "whose definitions can be followed", _conventions)
    command.add_argument("names", metavar="NAME", nargs="*", help="tell all choices of these")

    command = _command(commands, "explain", "show where a score came from, or why two scores differ", _explain)
    command.add_argument("truth", metavar="TRUTH", help="a file, as for evaluate")
    command.add_argument("runs", metavar="RUN", nargs="+", help="a file; two of them to see what moved")
    command.add_argument("metric", metavar="METRIC", help="ndcg@10, ...")
    command.add_argument("-q", "--query", metavar="QUERY", help="whose score; two conventions also differ in the mean")
    command.add_argument(
        "-c", "--convention", action="append", metavar="NAME", help="twice to see which choices make the difference"
    )
    _more(command)

    command = _command(commands, "identify", "find the definitions that make a reported number", _identify)
    command.add_argument("truth", metavar="TRUTH", help="a file, as for evaluate")
    command.add_argument("run", metavar="RUN", help="a file")
    command.add_argument(
        "reported", metavar="METRIC=NUMBER", nargs="+", help="ndcg@10=0.4704; a percentage ends with %%"
    )
    _more(command)

    command = _command(commands, "convert", "write a truth or a run in another format", _convert)
    command.add_argument("source", metavar="FROM")
    command.add_argument("target", metavar="TO", help="the name's ending tells the format")
    command.add_argument("--kind", choices=("truth", "run"), required=True)
    command.add_argument("--columns", metavar="ROLE=NAME", action="append", default=[], help="e.g. query=user_id")
    command.add_argument("--from-format", metavar="F", help=listed(FILE_FORMATS))
    command.add_argument(
        "--to-format", metavar="F", help=listed(form.name for form in FILE_FORMATS.values() if form.write)
    )
    command.add_argument("--on-error", choices=("stop", "skip"), default="stop", help="what to do with a bad line")

    command = _command(commands, "sql", "run a query over the files in this folder, with our functions", _sql)
    command.add_argument(
        "query", metavar="QUERY", help="DuckDB's SQL; rec.csv is the table rec; - to read it from stdin"
    )
    command.add_argument("-c", "--convention", metavar="NAME", help="whose definitions all functions follow")
    command.add_argument("--hive", action="store_true", help="the query is written for Hive")
    command.add_argument("--format", choices=FORMATS, default="table")
    command.add_argument("-o", "--output", metavar="FILE", help="write there instead of printing")

    commands.add_parser("trec_eval", help="take trec_eval's own arguments and print its exact text", add_help=False)

    command = _command(commands, "completion", "print a script that completes words in a shell", _completion)
    command.add_argument("shell", choices=("bash", "zsh", "fish"))
    return top


def _command(commands: Any, name: str, summary: str, function: Callable[..., None]) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=summary.capitalize() + ".")
    made.set_defaults(run_command=function)
    return made


def _choosing(command: argparse.ArgumentParser) -> None:
    command.add_argument("-c", "--convention", default="rankstone", metavar="NAME", help="see rankstone conventions")
    _setting(command)


def _setting(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-s", "--set", action="append", default=[], metavar="CHOICE=VALUE", help="e.g. gain=exp2, ties=expected"
    )


def _more(command: argparse.ArgumentParser) -> None:
    _setting(command)
    command.add_argument("--columns", metavar="ROLE=NAME", action="append", default=[], help="e.g. query=user_id")
    command.add_argument("--format", choices=FORMATS, default="table")


# -- evaluate ------------------------------------------------------------------------------------------------


def _evaluate(arguments: argparse.Namespace) -> None:
    from rankstone.conventions.plan import DEFAULT_METRICS

    metrics = arguments.metric or list(DEFAULT_METRICS)
    choices = _pairs(arguments.set, "--set")
    _check(metrics, arguments.convention, choices)
    if [arguments.truth, *arguments.runs].count("-") > 1:
        raise UsageError("only one file can be read from standard input")
    if arguments.by and arguments.per_query:
        raise UsageError("--by and --per-query do not go together")
    columns = _columns(arguments)
    results = _results(arguments, metrics, choices, columns)
    if arguments.by:
        text = _by_group(results, _groups(arguments.truth, arguments.by, columns), arguments)
    elif arguments.per_query:
        text = _per_query(results, arguments.format)
    else:
        text = _means(results, arguments.format)
    _put(text, arguments.output)
    if arguments.output and (arguments.format != "json" or arguments.by or arguments.per_query):
        from rankstone.answers.write import about_result, write_beside

        write_beside(arguments.output, {name: about_result(result) for name, result in results.items()})


def _results(arguments: argparse.Namespace, metrics: Any, choices: Any, columns: Any) -> dict[str, Result]:
    from rankstone.inputs.files import is_large, open_batches, read_run, read_truth, same_ids
    from rankstone.inputs.roles import roles_of
    from rankstone.measure.evaluate import evaluate
    from rankstone.measure.stream import evaluate_file

    truth = read_truth(arguments.truth, columns=roles_of(columns, "truth") or None, on_error=arguments.on_error)
    _report_skipped(arguments.truth, truth)
    results = {}
    for name, path in zip(_short_names(arguments.runs), arguments.runs, strict=True):
        run_columns = roles_of(columns, "run") or None
        if arguments.on_error == "stop" and (is_large(path) or _worth_watching(path, metrics, arguments, choices)):
            from rankstone.cli.progress import Progress

            with Progress(name, open_batches(path, columns=run_columns).unit) as progress:
                results[name] = evaluate_file(
                    truth, path, metrics,
                    convention=arguments.convention, columns=run_columns, progress=progress, **choices,
                )  # fmt: skip
            continue
        run = read_run(path, columns=run_columns, on_error=arguments.on_error, beside=arguments.truth)
        _report_skipped(path, run)
        results[name] = evaluate(*same_ids(truth, run), metrics, convention=arguments.convention, **choices)
    return results


def _worth_watching(path: str, metrics: Any, arguments: argparse.Namespace, choices: Any) -> bool:
    """Would reading take so long that someone at a terminal wants to see how far it is, and can it go in batches."""
    from rankstone.conventions.plan import make_plans, unknown
    from rankstone.inputs.files import open_batches
    from rankstone.measure.stream import STREAM

    if not sys.stderr.isatty() or not os.path.isfile(path) or os.path.getsize(path) < WATCHED_BYTES:
        return False
    if unknown(make_plans(metrics, arguments.convention, choices), STREAM):
        return False
    try:
        open_batches(path)
    except ValueError:  # whoever reads it whole will say what is wrong, if anything is
        return False
    return True


def _report_skipped(path: str, side: Columns) -> None:
    if side.skipped:
        first = side.bad_lines[0]
        print(
            f"rankstone: {path}: {side.skipped} bad lines skipped; line {first.line}: {first.problem}", file=sys.stderr
        )


def _check(metrics: Iterable[str], convention: str, choices: Mapping[str, Any]) -> None:
    """Find out what is wrong with the words before any file is read."""
    from rankstone.conventions.plan import make_plans

    try:
        make_plans(metrics, convention, choices)
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from None


def _pairs(words: Iterable[str], option: str) -> dict[str, Any]:
    out = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {word!r}: write it as NAME=VALUE")
        try:
            out[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            out[name] = value
    return out


def _short_names(paths: Sequence[str]) -> list[str]:
    """Names for the table's columns: the files' own, with folders only where they are needed to tell them apart."""
    names = [os.path.basename(path.rstrip("/")) for path in paths]
    if len(set(names)) == len(names):
        return names
    return [f"{path} ({n})" if list(paths).count(path) > 1 else path for n, path in enumerate(paths, 1)]


def _means(results: Mapping[str, Result], form: str) -> str:
    first = next(iter(results.values()))
    if form == "table" and len(results) == 1:
        return repr(first)
    if form == "json":
        from rankstone.answers.write import about_result

        return _json({name: about_result(result) for name, result in results.items()})
    rows = [["metric", *results]]
    rows += [[label, *(_value(result[label], form) for result in results.values())] for label in first]
    text = render(rows, form)
    if form != "table":
        return text
    remarks = {name: result.remarks() for name, result in results.items()}
    if len({tuple(lines) for lines in remarks.values()}) == 1:
        return "\n".join([text, *next(iter(remarks.values())), *first.defined()])
    own = [f"{name}: {line}" for name, lines in remarks.items() for line in lines[1:]]
    return "\n".join([text, next(iter(remarks.values()))[0], *own, *first.defined()])


def _per_query(results: Mapping[str, Result], form: str) -> str:
    labels = list(next(iter(results.values())))
    if form == "json":
        return _json(
            {
                name: {
                    str(query): {label: float(result.per_query[label][at]) for label in labels}
                    for at, query in enumerate(result.queries)
                }
                for name, result in results.items()
            }
        )
    many = len(results) > 1
    rows = [[*(["run"] if many else []), "query", *labels]]
    for name, result in results.items():
        columns = [[_value(float(value), form) for value in result.per_query[label]] for label in labels]
        for at, query in enumerate(result.queries):
            rows.append([*([name] if many else []), str(query), *(column[at] for column in columns)])
    return render(rows, form)


def _groups(path: str, column: str, columns: Mapping[str, str] | None) -> dict[Any, Any]:
    """Each query's group, from a column of the truth file."""
    from rankstone.inputs.arrow import plain_ids
    from rankstone.inputs.files import read_truth
    from rankstone.inputs.roles import roles_of

    if path == "-":
        raise UsageError("--by reads the truth twice; it cannot come from standard input")
    read = read_truth(path, columns={**roles_of(columns, "truth"), "item": column})
    out: dict[Any, Any] = {}
    for query, group in zip(plain_ids(read.query), plain_ids(read.item), strict=True):
        if out.setdefault(query, group) != group:
            raise ValueError(f"{path}: query {query!r} is in two groups, {out[query]!r} and {group!r}")
    return out


def _by_group(results: Mapping[str, Result], groups: Any, arguments: argparse.Namespace) -> str:
    found = {name: result.by(groups) for name, result in results.items()}
    if arguments.format == "json":
        return _json(
            {name: {str(group): means for group, means in by_group.items()} for name, by_group in found.items()}
        )
    labels = list(next(iter(results.values())))
    many = len(results) > 1
    rows = [[*(["run"] if many else []), arguments.by, *labels]]
    for name, by_group in found.items():
        for group in sorted(by_group, key=str):
            values = [_value(by_group[group][label], arguments.format) for label in labels]
            rows.append([*([name] if many else []), str(group), *values])
    return render(rows, arguments.format)


# -- tables --------------------------------------------------------------------------------------------------


def _value(value: float, form: str) -> str:
    return repr(value) if form == "csv" else f"{value:.4f}"


def _put(text: str, path: str | None) -> None:
    if not path:
        print(text)
        return
    from rankstone.answers.write import replacing

    with replacing(path) as stream:
        stream.write((text + "\n").encode())


def _json(data: Any) -> str:
    from rankstone.answers.write import as_json

    return as_json(data)


# -- the other commands --------------------------------------------------------------------------------------


def _metrics(arguments: argparse.Namespace) -> None:
    from rankstone.answers.definition import define, manual
    from rankstone.metrics.registry import Metric, declared, parse

    if not arguments.names:
        table = [["metric", "formula"]]
        for name, declaration in sorted(declared().items()):
            table.append([f"{name}@k" if declaration.takes_k else name, define(name).formula])
        print(render(table, "table"))
        print("rankstone metrics NAME tells all about one")
        return
    for name in arguments.names:
        try:
            found = parse(name)[0]
        except ValueError as error:
            raise UsageError(str(error)) from None
        print(manual(Metric(found.name)))


def _define(arguments: argparse.Namespace) -> None:
    from rankstone.answers.definition import definition_of
    from rankstone.conventions.convention import find_convention
    from rankstone.conventions.plan import make_plans

    choices = _pairs(arguments.set, "--set")
    _check(arguments.metrics, arguments.convention, choices)
    named = find_convention(arguments.convention).with_choices(**choices)
    for plan in make_plans(arguments.metrics, arguments.convention, choices):
        print(definition_of(plan, named).cite)


def _explain(arguments: argparse.Namespace) -> None:
    from rankstone.answers.explain import explain

    conventions, choices = arguments.convention or ["rankstone"], _pairs(arguments.set, "--set")
    if len(conventions) > 2 or len(arguments.runs) > 2 or len(conventions) + len(arguments.runs) > 3:
        raise UsageError("give one run and one or two conventions, or two runs and one convention")
    for convention in conventions:
        _check([arguments.metric], convention, choices)
    explained = explain(
        arguments.truth,
        arguments.runs[0] if len(arguments.runs) == 1 else tuple(arguments.runs),
        arguments.metric,
        query=arguments.query,
        convention=conventions[0] if len(conventions) == 1 else tuple(conventions),
        columns=_columns(arguments),
        **choices,
    )
    print(_shown(explained, explained.rows(), arguments.format))


def _identify(arguments: argparse.Namespace) -> None:
    from rankstone.answers.identify import asked, identify

    reported, choices = " ".join(arguments.reported), _pairs(arguments.set, "--set")
    try:
        asked(reported)
    except ValueError as error:
        raise UsageError(str(error)) from None
    _check([str(asked(reported)[0])], "rankstone", choices)
    identified = identify(arguments.truth, arguments.run, reported, columns=_columns(arguments), **choices)
    print(_shown(identified, [["convention", "changed", "value"], *identified.rows()], arguments.format))


def _columns(arguments: argparse.Namespace) -> dict[str, str] | None:
    return {role: str(name) for role, name in _pairs(arguments.columns, "--columns").items()} or None


def _shown(answer: Explanation | Difference | Moves | Identified, rows: Iterable[Sequence[str]], form: str) -> str:
    if form == "json":
        return _json(answer.to_dict())
    return repr(answer) if form == "table" else render([row for row in rows if row], form)


def _conventions(arguments: argparse.Namespace) -> None:
    from rankstone.conventions.convention import conventions, find_convention

    if not arguments.names:
        table = [["convention", "what it follows"]]
        table += [[name, convention.summary] for name, convention in conventions.items()]
        print(render(table, "table"))
        print("rankstone conventions NAME tells all its choices")
        return
    for name in arguments.names:
        try:
            convention = find_convention(name)
        except ValueError as error:
            raise UsageError(str(error)) from None
        print(f"{convention.name}: {convention.summary}")
        for choice, value in convention.choices.items():
            print(f"  {choice} = {value!r}")


def _convert(arguments: argparse.Namespace) -> None:
    from rankstone.answers.write import convert

    read = convert(
        arguments.source,
        arguments.target,
        arguments.kind,
        source_format=arguments.from_format,
        target_format=arguments.to_format,
        columns=_columns(arguments),
        on_error=arguments.on_error,
    )
    _report_skipped(arguments.source, read)


def _sql(arguments: argparse.Namespace) -> None:
    from rankstone.conventions.convention import find_convention
    from rankstone.sql.folder import answer

    try:
        find_convention(arguments.convention or "rankstone")
    except ValueError as error:
        raise UsageError(str(error)) from None
    text = sys.stdin.read() if arguments.query == "-" else arguments.query
    names, found = answer(text, ".", arguments.convention, hive=arguments.hive)
    if arguments.format == "json":
        shown = _json([dict(zip(names, row, strict=True)) for row in found])
    else:
        shown = render([names, *([_cell(cell, arguments.format) for cell in row] for row in found)], arguments.format)
    if arguments.output or names:
        _put(shown, arguments.output)


def _cell(cell: Any, form: str) -> str:
    if cell is None:
        return ""
    return _value(cell, form) if isinstance(cell, float) else str(cell)


def _completion(arguments: argparse.Namespace) -> None:
    from rankstone.cli.completion import script

    print(script(parser(), arguments.shell))


if __name__ == "__main__":
    sys.exit(main())
