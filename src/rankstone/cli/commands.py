"""The `rankstone` command."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rankstone.cli.input import (
    UsageError,
    check_words,
    format_of,
    groups_by,
    named,
    pairs,
    report_skipped,
    results_of,
    roles_for,
    sides,
)
from rankstone.cli.output import form_of, put, screen
from rankstone.errors import Advice, Hint
from rankstone.results.answer import render

if TYPE_CHECKING:
    from rankstone.compare.runs import Runs
    from rankstone.explain.explain import Explanation, Moves
    from rankstone.explain.identify import Identified
    from rankstone.explain.sweep import Difference
    from rankstone.results.result import Result

FORMATS = ("table", "markdown", "latex", "html", "json", "csv", "tsv")
# Those of rs.compare, which takes long to load.


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns 0, 1 for bad data or 2 for bad usage, and of `check` 3 or 4."""
    given = sys.argv[1:] if argv is None else argv
    words = _spread(given)
    if " ".join(words[:2]) in COMMANDS:
        words[:2] = [" ".join(words[:2])]
    row = COMMANDS.get(words[0]) if words else None
    if row is not None and row.describe is None:
        return row.run(words[1:]) or 0
    arguments, more = parser(words[0] if words else "").parse_known_args(words)
    if row is not None and row.runs_after_options:
        arguments.runs += [word for word in more if word == "-" or not word.startswith("-")]
        more = [word for word in more if word not in arguments.runs]
    if more:
        parser("").error(f"unrecognized arguments: {' '.join(more)}")
    if row is None:
        parser("").print_help()
        return 2
    arguments.line = shlex.join(["rankstone", *given])
    code = 0
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: print(f"rankstone: {message}", file=sys.stderr)
            code = row.run(arguments) or 0
        sys.stdout.flush()
    except UsageError as error:
        _report(str(error), arguments.command)
        return 2
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        return _report(f"{error.filename}: {error.strerror}" if error.filename else str(error), arguments.command)
    except (ValueError, TypeError, ImportError) as error:
        return _report(str(error), arguments.command)
    except KeyboardInterrupt:
        return 130
    return code


def _spread(words: Sequence[str]) -> list[str]:
    """The words, with an option before each of several values: `--columns query=q item=i`."""
    out: list[str] = []
    for word in words:
        if out[-2:-1] == ["--columns"] and re.match(r"((truth|run)\.)?(query|item|grade|score|rank)=", word):
            out.append("--columns")
        out.append(word)
    return out


# -- what went wrong, in the words of the command ------------------------------------------------------------


def _report(text: str, command: argparse.ArgumentParser) -> int:
    """Print an error, the arguments that it names as the command's options; 2 where there are any, else 1."""
    options = {action.dest: max(action.option_strings, key=len) for action in command._actions if action.option_strings}
    spelled = text.spelled(lambda hint: _option(hint, options)) if isinstance(text, Advice) else text
    print(f"rankstone: {spelled}", file=sys.stderr)
    return 1 if spelled == text else 2


def _option(hint: Hint, options: Mapping[str, str]) -> str:
    """An argument as an option: `by='x'` as `--by x`, `ties='input'` as `-s ties=input`."""
    from rankstone.conventions.choices import CHOICES
    from rankstone.fusion.choices import FUSING

    name, value = hint
    plain = "" if value is ... else str(value)
    if isinstance(value, Mapping):
        plain = " ".join("..." if key is ... else f"{key}={'...' if to is ... else to}" for key, to in value.items())
    if name in options:
        return f"{options[name]} {plain}".rstrip()
    return f"-s {name}={plain}" if "set" in options and (name in CHOICES or name in FUSING) else str(hint)


class _Formatter(argparse.HelpFormatter):
    """Help that looks how wide the screen is only when it is shown: arguments are described with one of these, too."""

    def __init__(self, prog: str, max_help_position: int = 24) -> None:
        super().__init__(prog, max_help_position=max_help_position, width=80)
        self._most = max_help_position

    def format_help(self) -> str:
        import shutil  # which takes long to load

        self._width = shutil.get_terminal_size().columns - 2
        self._max_help_position = min(self._most, max(self._width - 20, 2 * self._indent_increment))
        return super().format_help()


class _OneLineEach(_Formatter):
    """Help where the longest command has room beside it, which argparse counts two letters short."""

    def __init__(self, prog: str) -> None:
        longest = 4 + max(len(name) for name in COMMANDS if " " not in name)
        super().__init__(prog, max_help_position=longest + 3)
        self._action_max_length = longest


def parser(asked: str | None = None) -> argparse.ArgumentParser:
    """The command's arguments: of all commands, which takes long, or of the one that is asked for."""
    from rankstone.version import __version__

    top = argparse.ArgumentParser(
        prog="rankstone",
        usage="%(prog)s [-h] [--version] COMMAND ...",
        add_help=False,
        description="Measures ranked lists: search results, recommendations, output of models.",
        epilog="Exit code 1: bad data, 2: bad usage; of check, 3: failed, 4: not decided.",
        formatter_class=_OneLineEach,
    )
    top.add_argument("-h", "--help", action="help", help=argparse.SUPPRESS)  # the usage says it, in fewer lines
    top.add_argument("--version", action="version", version=f"rankstone {__version__}", help=argparse.SUPPRESS)
    commands = top.add_subparsers(title="commands", metavar="COMMAND", help="its --help tells more", prog="rankstone")
    for name in [asked] if asked in COMMANDS else COMMANDS:
        row = COMMANDS[name]
        # A command of two words is in the help of the first.
        listed: dict[str, Any] = {} if " " in name else {"help": row.summary}
        made = commands.add_parser(
            name,
            formatter_class=_Formatter,
            description=f"{row.summary[0].upper()}{row.summary[1:]}.",
            add_help=row.describe is not None,
            **listed,
        )
        made.set_defaults(row=row, command=made)
        if row.describe is not None and asked in (None, name):
            row.describe(made)
    return top


def _describe_evaluate(command: argparse.ArgumentParser) -> None:
    from rankstone.data.formats import FORMATS as FILE_FORMATS
    from rankstone.data.formats import listed
    from rankstone.results.export import RESULT_FORMATS

    titles = listed(form.title for form in FILE_FORMATS.values() if "truth" in form.kinds)
    command.add_argument("truth", metavar="TRUTH", help=f"a file: {titles}; - for stdin")
    command.add_argument(
        "runs", metavar="[NAME=]RUN", nargs="*",
        help="files, as the truth; none if its rows have grades and scores, or are a run's and no metric needs a truth",
    )  # fmt: skip
    _measuring(command)
    command.add_argument("--per-query", action="store_true", help="values of each query instead of means")
    command.add_argument("--by", metavar="COLUMN", help="means by group of queries: a column of the truth file")
    command.add_argument("--interval", action="store_true", help="95 %% intervals beside the means")
    command.add_argument(
        "--unjudged", choices=("bounds",), help="bounds: what the means could be if all that was returned were judged"
    )
    _showing(command, RESULT_FORMATS)


def _describe_compare(command: argparse.ArgumentParser) -> None:
    from rankstone.results.export import RESULT_FORMATS
    from rankstone.statistics import CORRECTIONS, TESTS

    command.add_argument("truth", metavar="TRUTH", help="a file, as for evaluate; leave it out before saved results")
    command.add_argument(
        "runs", metavar="[NAME=]RUN", nargs="*", help="files, as for evaluate, or results that it saved: -o x.json"
    )
    _measuring(command)
    command.add_argument("--baseline", metavar="NAME", help="the run that all others are compared with; else all pairs")
    command.add_argument("--test", default="t", choices=TESTS, help=", ".join(TESTS))
    command.add_argument("--correction", choices=CORRECTIONS, help=f"for many comparisons: {', '.join(CORRECTIONS)}")
    command.add_argument("--confidence", type=float, default=0.95, metavar="P", help="of intervals and verdicts: 0.95")
    command.add_argument("--margin", type=float, metavar="D", help="the smallest difference that matters")
    command.add_argument("--html", metavar="FILE", help="write a report too: one page with pictures")
    command.add_argument("--primary", action="append", metavar="M", help="metrics that decide; others are only shown")
    command.add_argument("--by", metavar="COLUMN", help="differences by group of queries: a column of the truth file")
    command.add_argument(
        "--cluster", dest="clusters", metavar="COLUMN", help="queries that belong together: a column of the truth file"
    )
    command.add_argument("--population", type=int, metavar="N", help="queries in all, if these are a sample of them")
    command.add_argument("--resamples", type=int, default=100_000, metavar="N", help="of what is random: 100000")
    command.add_argument("--seed", type=int, default=0, metavar="N", help="of what is random: 0")
    _showing(command, [form for form in RESULT_FORMATS if form != "trec"])


def _describe_check(command: argparse.ArgumentParser) -> None:
    command.epilog = "Exit code 0: passed, 3: failed, 4: not decided; 1: bad data, 2: bad usage."
    command.add_argument("gates", metavar="GATES", nargs="?", help="a TOML file; options take the place of its keys")
    command.add_argument("--truth", metavar="FILE", help="a file, as for evaluate")
    command.add_argument("--baseline", metavar="FILE", help="a run, or a result that evaluate saved: -o main.json")
    command.add_argument("--candidate", metavar="FILE", help="the same, of the run that is checked")
    command.add_argument("-m", "--metric", action="append", metavar="M", help="of the limits that follow, or to show")
    command.add_argument(
        "--not-worse-than",
        type=_margin,
        metavar="D",
        help="by so much it may fall: 0.01, or '2 %%' of the baseline's mean",
    )
    command.add_argument("--at-least", type=float, metavar="X", help="the candidate's mean")
    command.add_argument("--at-most", type=float, metavar="X", help="the candidate's mean, where lower is better")
    command.add_argument("-c", "--convention", metavar="NAME", help="see rankstone conventions")
    _setting(command)
    command.add_argument(
        "--columns", metavar="ROLE=NAME", action="append", default=[], help="query=user_id; truth.item=x for one side"
    )
    command.add_argument("--exclude", metavar="FILE", help="what was seen before, as a truth: it leaves the lists")
    command.add_argument(
        "--cluster", dest="clusters", metavar="COLUMN", help="queries that belong together: a column of the truth file"
    )
    command.add_argument("--confidence", type=float, metavar="P", help="of each one-sided test: 0.95")
    command.add_argument("--undecided", choices=("pass", "warn", "fail"), help="what a gate that is not decided does")
    command.add_argument("--quiet", action="store_true", help="leave out what the metrics mean")
    command.add_argument("--junit", metavar="FILE", help="write it for a build server")
    command.add_argument("--markdown", metavar="FILE", help="write it for a pull request")
    command.add_argument("--json", metavar="FILE", help="write all of it")


def _describe_metrics(command: argparse.ArgumentParser) -> None:
    command.add_argument("names", metavar="NAME", nargs="*", help="tell all about these")


def _describe_define(command: argparse.ArgumentParser) -> None:
    command.add_argument("metrics", metavar="METRIC", nargs="+")
    _choosing(command)


def _describe_conventions(command: argparse.ArgumentParser) -> None:
    command.add_argument("names", metavar="NAME", nargs="*", help="tell all choices of these")


def _describe_explain(command: argparse.ArgumentParser) -> None:
    command.add_argument("truth", metavar="TRUTH", help="a file, as for evaluate")
    command.add_argument("runs", metavar="RUN", nargs="+", help="a file; two of them to see what moved")
    command.add_argument("metric", metavar="METRIC", help="ndcg@10, ...")
    command.add_argument("-q", "--query", metavar="QUERY", help="whose score; two conventions also differ in the mean")
    command.add_argument(
        "-c", "--convention", action="append", metavar="NAME", help="twice to see which choices make the difference"
    )
    _more(command)


def _describe_identify(command: argparse.ArgumentParser) -> None:
    command.add_argument("truth", metavar="TRUTH", help="a file, as for evaluate")
    command.add_argument("run", metavar="RUN", help="a file")
    command.add_argument(
        "reported", metavar="METRIC=NUMBER", nargs="+", help="ndcg@10=0.4704; a percentage ends with %%"
    )
    _more(command)


def _describe_fuse(command: argparse.ArgumentParser) -> None:
    from rankstone.fusion.choices import PRESETS
    from rankstone.fusion.methods import fusions
    from rankstone.fusion.norms import NORMS

    command.add_argument("runs", metavar="[NAME=]RUN", nargs="+", help="files, as for evaluate")
    command.add_argument("--method", default="rrf", metavar="M", choices=list(fusions), help=", ".join(fusions))
    command.add_argument("--norm", metavar="N", choices=list(NORMS), help=f"of the scores: {', '.join(NORMS)}")
    command.add_argument("--weights", metavar="W", help="one a run: 0.7,0.3")
    command.add_argument("--depth", type=int, metavar="N", help="only the first N of each list")
    command.add_argument(
        "-c", "--convention", default="rankstone", metavar="NAME", choices=list(PRESETS), help=", ".join(PRESETS)
    )
    command.add_argument(
        "-s", "--set", action="append", default=[], metavar="CHOICE=VALUE", help="e.g. k=10, missing=lowest, keep=1000"
    )
    command.add_argument("--tag", metavar="TAG", help="the last field of a TREC run: the method's name")
    _pooling(command)


def _describe_pool(command: argparse.ArgumentParser) -> None:
    from rankstone.align.ties import COUNTED

    command.add_argument("runs", metavar="[NAME=]RUN", nargs="+", help="files, as for evaluate")
    command.add_argument("--depth", type=int, required=True, metavar="N", help="the first N of each list")
    command.add_argument("--truth", metavar="FILE", help="what is judged already; it is left out")
    command.add_argument("--ties", default="item_desc", choices=COUNTED, help="who goes first among equal scores")
    _pooling(command)


def _describe_convert(command: argparse.ArgumentParser) -> None:
    from rankstone.data.formats import FORMATS as FILE_FORMATS
    from rankstone.data.formats import listed

    command.add_argument("source", metavar="FROM")
    command.add_argument("target", metavar="TO", help="the name's ending tells the format")
    command.add_argument("--kind", choices=("truth", "run"), required=True)
    _reading(command)
    command.add_argument(
        "--to-format", metavar="F", help=listed(form.name for form in FILE_FORMATS.values() if form.write)
    )
    command.add_argument("--on-error", choices=("stop", "skip"), default="stop", help="what to do with a bad line")


def _describe_sql(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "query", metavar="QUERY", help="DuckDB's SQL, or a file of it; rec.csv is the table rec; - to read from stdin"
    )
    command.add_argument("-c", "--convention", metavar="NAME", help="whose definitions all functions follow")
    command.add_argument("--hive", action="store_true", help="the query is written for Hive")
    command.add_argument("--format", choices=FORMATS)
    command.add_argument("-o", "--output", metavar="FILE", help="write there; the name's ending tells the format")


def _describe_sql_text(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-m", "--metric", action="append", metavar="M", help="ndcg@10,recall@{5,10},...; or several times"
    )
    _choosing(command)
    command.add_argument("--dialect", default="duckdb", metavar="D", help="bigquery, snowflake, postgres, ...")
    command.add_argument(
        "--truth", default="judgments", metavar="TABLE", help="a table, or a query: query, item, grade"
    )
    command.add_argument(
        "--run", default="results", metavar="TABLE", help="a table, or a query: query, item, score or rank"
    )
    command.add_argument(
        "--columns", metavar="ROLE=NAME", action="append", default=[], help="query=user_id; truth.item=x for one side"
    )
    command.add_argument(
        "--lists", nargs="?", const=True, default=False, choices=("truth", "run", True), metavar="SIDE",
        help="one row a query, with a list of items; truth or run if only one of them",
    )  # fmt: skip
    command.add_argument("--per-query", action="store_true", help="a row a query instead of the means")
    command.add_argument("--by", action="append", metavar="COLUMN", help="means by group: a column of the truth")
    command.add_argument("--weights", metavar="TABLE", help="a table, or a query: query, weight")
    command.add_argument("--account", action="store_true", help="also how many queries were missing, tied, ...")
    command.add_argument("--ids", choices=("text", "integer"), help="what ids are, for MySQL and T-SQL")
    command.add_argument("-o", "--output", metavar="FILE", help="write there")


def _describe_sql_macros(command: argparse.ArgumentParser) -> None:
    command.add_argument("--dialect", default="duckdb", metavar="D", help="bigquery, snowflake, postgres, ...")
    command.add_argument("-c", "--convention", metavar="NAME", help="whose definitions they follow")
    command.add_argument(
        "--format", choices=("dbt", "sql"), default="dbt", help="sql: DuckDB's own, of lists: ndcg(rec, truth, k)"
    )
    command.add_argument("-o", "--output", metavar="FILE", help="write there")


def _describe_completion(command: argparse.ArgumentParser) -> None:
    command.add_argument("shell", choices=("bash", "zsh", "fish"))


def _choosing(command: argparse.ArgumentParser) -> None:
    command.add_argument("-c", "--convention", default="rankstone", metavar="NAME", help="see rankstone conventions")
    _setting(command)


def _measuring(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-m", "--metric", action="append", metavar="M", help="ndcg@10,recall@{5,10},...; or several times"
    )
    _choosing(command)
    _reading(command)
    command.add_argument("--on-error", choices=("stop", "skip"), default="stop", help="what to do with a bad line")
    command.add_argument(
        "--exclude",
        metavar="FILE",
        help="what was seen before, as a truth: it leaves the lists before they are measured",
    )
    command.add_argument(
        "--parent",
        metavar="FILE",
        help="of which document each item is a chunk: a file with these two columns, or a separator such as '#'",
    )
    command.add_argument("--catalogue", metavar="FILE", help="all items, for metrics such as coverage")
    command.add_argument("--history", metavar="FILE", help="what each query had before, as a truth; for novelty, ...")
    command.add_argument("--reference", metavar="FILE", help="other lists of the same queries, as a run; for overlap")


def _showing(command: argparse.ArgumentParser, forms: Sequence[str]) -> None:
    command.add_argument("--quiet", action="store_true", help="leave out what the metrics mean")
    command.add_argument("--format", dest="shown", metavar="F", choices=forms, help=", ".join(forms))
    command.add_argument("-o", "--output", metavar="FILE", help="write there; the name's ending tells the format")


def _pooling(command: argparse.ArgumentParser) -> None:
    from rankstone.data.formats import FORMATS as FILE_FORMATS
    from rankstone.data.formats import listed

    _reading(command)
    command.add_argument("--on-error", choices=("stop", "skip"), default="stop", help="what to do with a bad line")
    command.add_argument("--quiet", action="store_true", help="do not say what was made")
    command.add_argument("-o", "--output", metavar="FILE", help="write there; the name's ending tells the format")
    command.add_argument(
        "--to-format", metavar="F", help=listed(form.name for form in FILE_FORMATS.values() if form.write)
    )


def _setting(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-s", "--set", action="append", default=[], metavar="CHOICE=VALUE", help="e.g. gain=exp2, ties=expected"
    )


def _reading(command: argparse.ArgumentParser) -> None:
    from rankstone.data.formats import FORMATS as FILE_FORMATS
    from rankstone.data.formats import listed

    command.add_argument(
        "--columns", metavar="ROLE=NAME", action="append", default=[], help="query=user_id; truth.item=x for one side"
    )
    command.add_argument(
        "--from-format", dest="format", metavar="F", action="append", default=[],
        help=f"what the files are: {listed(FILE_FORMATS)}; run=trec for one side",
    )  # fmt: skip


def _more(command: argparse.ArgumentParser) -> None:
    _setting(command)
    _reading(command)
    command.add_argument("--format", dest="shown", choices=FORMATS, default="table")


# -- evaluate ------------------------------------------------------------------------------------------------


def _evaluate(arguments: argparse.Namespace) -> None:
    from rankstone.compare.runs import Groups, Runs, Values
    from rankstone.conventions.plan import DEFAULT_METRICS
    from rankstone.data.formats import listed
    from rankstone.results.export import PAGES, RESULT_FORMATS, write_answer

    metrics = arguments.metric or list(DEFAULT_METRICS)
    choices = pairs(arguments.set, "--set")
    check_words(metrics, arguments.convention, choices)
    if [arguments.truth, *arguments.runs].count("-") > 1:
        raise UsageError("only one file can be read from standard input")
    if arguments.by and arguments.per_query:
        raise UsageError("--by and --per-query do not go together")
    form = form_of(arguments.output, arguments.shown, RESULT_FORMATS)
    if arguments.interval and (arguments.per_query or arguments.by or form not in PAGES.values()):
        raise UsageError(f"--interval goes with means, as {listed(PAGES.values())}")
    if arguments.unjudged and (arguments.per_query or arguments.by):
        raise UsageError("--unjudged goes with means, not with --per-query or --by")
    results: dict[str, Result] = results_of(
        arguments, named(arguments.runs or [arguments.truth]), metrics, choices, arguments.unjudged
    )
    if arguments.interval:
        results = {name: result.with_intervals() for name, result in results.items()}
    answer: Runs = Runs(results)
    if arguments.by:
        answer = Groups(results, arguments.by, groups_by(arguments, arguments.by))
    elif arguments.per_query or form == "parquet":
        answer = Values(results)
    whole = next(iter(results.values())) if form == "table" and type(answer) is Runs and len(results) == 1 else answer
    if form == "table" and not arguments.output:
        print(whole.text(screen(), arguments.quiet))
    else:
        write_answer(whole, arguments.output or "-", form, results, arguments.quiet)


def _compare(arguments: argparse.Namespace) -> None:
    from rankstone.cli.compare import compare_runs

    compare_runs(arguments)


def _fuse(arguments: argparse.Namespace) -> None:
    from rankstone.cli.fuse import fuse_runs

    fuse_runs(arguments)


def _pool(arguments: argparse.Namespace) -> None:
    from rankstone.cli.fuse import pool_runs

    pool_runs(arguments)


def _check(arguments: argparse.Namespace) -> int:
    from rankstone.cli.check import check_gates

    return check_gates(arguments)


def _margin(word: str) -> float | str:
    """A number, or a percentage as it is."""
    return word if word.strip().endswith("%") else float(word)


# -- the other commands --------------------------------------------------------------------------------------


def _metrics(arguments: argparse.Namespace) -> None:
    from rankstone.metrics.registry import Metric, declared, parse
    from rankstone.results.definition import define, manual

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
    from rankstone.conventions.convention import find_convention
    from rankstone.conventions.plan import make_plans
    from rankstone.results.definition import definition_of

    choices = pairs(arguments.set, "--set")
    check_words(arguments.metrics, arguments.convention, choices)
    named = find_convention(arguments.convention).with_choices(**choices)
    plans = make_plans(arguments.metrics, arguments.convention, choices)
    print("\n\n".join(str(definition_of(plan, named)) for plan in plans))


def _explain(arguments: argparse.Namespace) -> None:
    from rankstone.explain.explain import explain

    conventions, choices = arguments.convention or ["rankstone"], pairs(arguments.set, "--set")
    if len(conventions) > 2 or len(arguments.runs) > 2 or len(conventions) + len(arguments.runs) > 3:
        raise UsageError("give one run and one or two conventions, or two runs and one convention")
    for convention in conventions:
        check_words([arguments.metric], convention, choices)
    truth, run, *other = sides(arguments, arguments.runs)
    explained = explain(
        truth,
        (run, other[0]) if other else run,
        arguments.metric,
        query=arguments.query,
        convention=conventions[0] if len(conventions) == 1 else tuple(conventions),
        **choices,
    )
    print(_shown(explained, arguments.shown))


def _identify(arguments: argparse.Namespace) -> None:
    from rankstone.explain.identify import asked, identify

    reported, choices = " ".join(arguments.reported), pairs(arguments.set, "--set")
    try:
        asked(reported)
    except ValueError as error:
        raise UsageError(str(error)) from None
    check_words([str(asked(reported)[0])], "rankstone", choices)
    truth, run = sides(arguments, [arguments.run])
    identified = identify(truth, run, reported, **choices)
    print(_shown(identified, arguments.shown))


def _shown(answer: Explanation | Difference | Moves | Identified, form: str) -> str:
    from rankstone.results.export import as_json

    if form == "json":
        return as_json(answer.to_dict())
    return repr(answer) if form == "table" else render([row for row in answer.answer().table if row], form)


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
    from rankstone.results.export import convert

    read = convert(
        arguments.source,
        arguments.target,
        arguments.kind,
        source_format=format_of(arguments, arguments.kind),
        target_format=arguments.to_format,
        columns=roles_for(arguments, arguments.kind, arguments.source, []),
        on_error=arguments.on_error,
    )
    report_skipped(arguments.source, read)


def _sql(arguments: argparse.Namespace) -> None:
    from rankstone.conventions.convention import find_convention
    from rankstone.results.export import as_json
    from rankstone.sql.folder import answer

    form = form_of(arguments.output, arguments.format, FORMATS)
    try:
        find_convention(arguments.convention or "rankstone")
    except ValueError as error:
        raise UsageError(str(error)) from None
    try:
        names, found = answer(_query_text(arguments.query), ".", arguments.convention, hive=arguments.hive)
    except ImportError as error:
        raise UsageError(str(error)) from None
    if form == "json":
        shown = as_json([dict(zip(names, row, strict=True)) for row in found])
    else:
        shown = render([names, *([_cell(cell, form) for cell in row] for row in found)], form)
    if arguments.output or names:
        put(shown, arguments.output)


def _sql_text(arguments: argparse.Namespace) -> None:
    from rankstone.conventions.plan import DEFAULT_METRICS
    from rankstone.sql import text

    metrics, choices = arguments.metric or list(DEFAULT_METRICS), pairs(arguments.set, "--set")
    check_words(metrics, arguments.convention, choices)
    sides: dict[str, dict[str, Any]] = {"truth": {}, "run": {}}
    for word, name in pairs(arguments.columns, "--columns").items():
        side, _, role = word.rpartition(".")
        for which in [side] if side in sides else sides:
            sides[which][role] = name if name is None else str(name)
    written = text(
        metrics,
        arguments.truth,
        arguments.run,
        arguments.dialect,
        convention=arguments.convention,
        columns=sides,
        lists=arguments.lists,
        per_query=arguments.per_query,
        by=arguments.by,
        weights=arguments.weights,
        account=arguments.account,
        ids=arguments.ids,
        **choices,
    )
    put(written, arguments.output)


def _sql_macros(arguments: argparse.Namespace) -> None:
    if arguments.format == "sql":
        from rankstone.sql import macros

        if arguments.dialect != "duckdb":
            raise UsageError("--format sql is for DuckDB; others have --format dbt")
        put(";\n\n".join(text for _, text in macros(arguments.convention)) + ";", arguments.output)
        return
    from rankstone.sql.dbt import package

    put(package(arguments.dialect, arguments.convention or "rankstone"), arguments.output)


def _query_text(given: str) -> str:
    """A query as it is, or what is in a file, or on standard input."""
    if given == "-":
        return sys.stdin.read()
    if os.path.isfile(given) or re.fullmatch(r"\S+\.(sql|hql)", given, re.IGNORECASE):
        with open(given, encoding="utf-8-sig") as stream:
            return stream.read()
    return given


def _cell(cell: Any, form: str) -> str:
    if cell is None:
        return ""
    if not isinstance(cell, float):
        return str(cell)
    return repr(cell) if form in ("csv", "tsv") else f"{cell:.4f}"


def _completion(arguments: argparse.Namespace) -> None:
    from rankstone.cli.completion import script

    print(script(parser(), arguments.shell))


def _trec_eval(words: list[str]) -> int:
    from rankstone.trec_eval import main as trec_eval

    return trec_eval(words)


class Command(NamedTuple):
    """A command: what it does, in a line of help; what runs it; what describes its arguments."""

    summary: str
    run: Callable[..., int | None]  # of the arguments, or of the words where none are described
    describe: Callable[[argparse.ArgumentParser], None] | None = None
    runs_after_options: bool = False
    words: str = ""  # what completion offers for its arguments: metrics or conventions
    choices: str = "choices"  # and for --set: choices or fusing


COMMANDS = {
    "evaluate": Command("measure one or more runs against a truth", _evaluate, _describe_evaluate, True),
    "compare": Command("is one run better than another, and how sure is that", _compare, _describe_compare, True),
    "check": Command("may a run take the place of another, by gates in a file", _check, _describe_check),
    "metrics": Command("what can be measured, with formulas", _metrics, _describe_metrics, words="metrics"),
    "define": Command("say in words what a metric's number means", _define, _describe_define, words="metrics"),
    "conventions": Command(
        "whose definitions can be followed", _conventions, _describe_conventions, words="conventions"
    ),
    "explain": Command(
        "show where a score came from, or why two scores differ", _explain, _describe_explain, words="metrics"
    ),
    "identify": Command(
        "find the definitions that make a reported number", _identify, _describe_identify, words="metrics"
    ),
    "fuse": Command("make one run of several", _fuse, _describe_fuse, True, choices="fusing"),
    "pool": Command("what of some runs is to be judged", _pool, _describe_pool, True),
    "convert": Command("write a truth or a run in another format", _convert, _describe_convert),
    "sql": Command("run a query over files; sql text, sql macros: write SQL", _sql, _describe_sql),
    "sql text": Command("write metrics as SQL, for a warehouse to run", _sql_text, _describe_sql_text),
    "sql macros": Command("print metrics as macros for dbt, or for DuckDB", _sql_macros, _describe_sql_macros),
    "trec_eval": Command("take trec_eval's own arguments and print its exact text", _trec_eval),
    "completion": Command("print a script that completes words in a shell", _completion, _describe_completion),
}


if __name__ == "__main__":
    sys.exit(main())
