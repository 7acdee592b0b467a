"""The `rankstone` command: a row per command, whose functions are loaded when it is called."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple, NoReturn

from rankstone.cli.options import UsageError
from rankstone.errors import Advice, DataError, Hint
from rankstone.metrics.declaration import unknown_word


class Command(NamedTuple):
    """A command. Its functions are named by module, as seen from this package, and name."""

    summary: str  # what it does, in a line of help
    run: str  # of the arguments, or of the words where none are described
    describe: str | None = None  # adds its arguments
    runs_after_options: bool = False
    words: str = ""  # what completion offers for its arguments: metrics or conventions
    choices: str = "choices"  # and for --set: choices or fusing
    epilog: str | None = None
    example: str = ""  # commands that run, a line each
    in_usage: bool = False  # the usage line has it as an option, so the list of commands does not
    by_name: bool = False  # the list of commands has only its name, at the end


def _command(module: str, name: str, summary: str, example: str, **traits: Any) -> Command:
    """The row of a command whose functions are `describe_X` and `run_X` of a module of this package."""
    return Command(summary, f".{module}:run_{name}", f".{module}:describe_{name}", example=example, **traits)


COMMANDS = {
    "evaluate": _command(
        "evaluate_command", "evaluate", "evaluate one or more runs against a truth",
        "rankstone evaluate qrels.txt bm25=a.run neural=b.run -m ndcg@10,ap\n"
        "rankstone evaluate qrels.txt a.run -c ranx --per-query -o values.csv", runs_after_options=True,
    ),
    "compare": _command(
        "compare_commands", "compare", "is one run better than another, and how sure is that",
        "rankstone compare qrels.txt bm25=a.run neural=b.run -m ndcg@10\n"
        "rankstone compare qrels.txt a.run b.run --baseline a --html report.html\n"
        "rankstone compare robust=qrels.txt,runs/ dl19=dl19.txt,dl19/ --format latex --percent",
        runs_after_options=True,
    ),
    "check": _command(
        "compare_commands", "check", "may a run replace another, by the gates in a file", "rankstone check gates.toml\n"
        "rankstone check gates.toml --candidate new.run --markdown summary.md --github",
        epilog="Exit code 0: passed, 3: failed, 4: inconclusive; 1: bad data, 2: bad usage.",
    ),
    "pin": _command(
        "compare_commands", "pin", "write the first items of a run as pinned queries, for check",
        "rankstone pin main.run --top 1 -o pins.toml\nrankstone check --pins pins.toml --candidate new.run",
        by_name=True,
    ),
    "verify": _command(
        "verify_command", "verify", "compute a saved result, comparison, report or check again",
        "rankstone verify result.json\nrankstone verify report.html",
        epilog="Exit code 0: the same, 3: a file, a version or a number differs; 1: bad data, 2: bad usage.",
        by_name=True,
    ),
    "agree": _command(
        "judge_commands", "agree", "how far judges agree, and what that does to runs",
        "rankstone agree human.qrels llm.qrels\n"
        "rankstone agree human.qrels llm.qrels --runs a.run b.run -m ndcg@10",
    ),
    "judge-next": Command(
        "list the items whose judgement would move a comparison most",
        ".judge_commands:run_next", ".judge_commands:describe_next", runs_after_options=True,
        example="rankstone judge-next qrels.txt a.run b.run -m ndcg@10 -o to_judge.csv --to quepid\n"
        "rankstone judge-next qrels.txt a.run b.run -m ndcg@10 --answers to_judge.csv", by_name=True,
    ),
    "leaderboard": _command(
        "leaderboard_command", "leaderboard", "rank models by the scores that other tools reported",
        "rankstone leaderboard results/ -m ndcg@10 --split test\n"
        "rankstone leaderboard results/ --by borda -o board.md",
    ),
    "metrics": _command(
        "explain_commands", "metrics", "list the metrics with their formulas",
        "rankstone metrics\nrankstone metrics ndcg", words="metrics",
    ),
    "define": _command(
        "explain_commands", "define", "print the definition of a metric under a convention",
        "rankstone define ndcg@10 -c trec_eval\nrankstone define ap rr@10 -s ties=expected", words="metrics",
        by_name=True,
    ),
    "conventions": _command(
        "explain_commands", "conventions", "list the conventions: other tools' definitions by name",
        "rankstone conventions\nrankstone conventions trec_eval", words="conventions", by_name=True,
    ),
    "explain": _command(
        "explain_commands", "explain", "show how a score was computed, or why two scores differ",
        "rankstone explain qrels.txt a.run ndcg@10 -q 101\n"
        "rankstone explain qrels.txt a.run b.run ndcg@10 -q 101\n"
        "rankstone explain qrels.txt a.run ndcg@10 -c trec_eval -c ranx", words="metrics",
    ),
    "identify": _command(
        "explain_commands", "identify", "find the definitions that give a reported number",
        "rankstone identify qrels.txt a.run 'nDCG@10 = 0.683'\n"
        "rankstone identify qrels.txt a.run ndcg@10=0.683 ap=0.52", words="metrics",
    ),
    "compile": _command(
        "compile_command", "compile", "write metrics as source code in another language",
        "rankstone compile ndcg@10 ap rr@10 -c trec_eval -o metrics.js\n"
        "rankstone compile ndcg@10 --to rust", words="metrics",
    ),
    "audit": _command(
        "audit_command", "audit", "find out whose metric a program computes, and where it breaks",
        "rankstone audit -m rr@10 -- python3 my_metric.py",
        epilog="The program reads a JSON object per line, with truth, run and k, and prints a number per line; or two "
        "files, if its words have {truth} and {run}: -- ./my_trec_eval {truth} {run}.\n"
        "Exit code 0: passed, 3: failed, 4: inconclusive; 1: bad data, 2: bad usage.",
    ),
    "conformance": _command(
        "conformance_command", "conformance", "check a program in any language against the conformance suite",
        "rankstone conformance --run 'python3 my_metric.py' -m rr --expect rankstone\n"
        "rankstone conformance --write suite/", by_name=True,
    ),
    "fuse": _command(
        "fuse_commands", "fuse", "fuse several runs into one", "rankstone fuse a.run b.run --method rrf -o fused.run\n"
        "rankstone fuse a.run b.run --method comb_sum --norm min-max --weights 0.7,0.3\n"
        "rankstone fuse a.run b.run --tune qrels.txt -m ndcg@10 -o fused.run",
        runs_after_options=True, choices="fusing",
    ),
    "pool": _command(
        "fuse_commands", "pool", "list the items of some runs that should be judged",
        "rankstone pool a.run b.run --depth 20 -o pool.csv\n"
        "rankstone pool a.run b.run --depth 20 --truth qrels.txt", runs_after_options=True, by_name=True,
    ),
    "convert": _command(
        "fuse_commands", "convert", "write a truth or a run in another format",
        "rankstone convert a.run a.parquet\nrankstone convert qrels.txt judgements.csv",
    ),
    "schema": _command(
        "compare_commands", "schema", "print the JSON Schema of a saved file or state",
        "rankstone schema result", by_name=True,
    ),
    "sql": _command(
        "sql_commands", "sql", "run a query over files; sql text, sql macros: write SQL",
        "rankstone sql \"select count(*) from 'a.parquet'\"",
    ),
    "sql text": _command(
        "sql_commands", "text", "write metrics as SQL for a warehouse",
        "rankstone sql text -m ndcg@10 --dialect bigquery",
    ),
    "sql macros": _command(
        "sql_commands", "macros", "print metrics as macros for dbt or DuckDB", "rankstone sql macros"
    ),
    "trec_eval": Command("take trec_eval's own arguments and print its exact output", "..trec_eval:main"),
    "completion": _command(
        "completion", "completion", "print a completion script for a shell", "rankstone completion bash", by_name=True,
    ),
    "version": Command("print the version", ".commands:print_version", in_usage=True),
    "help": Command("print the help of a command", ".commands:print_help", in_usage=True),
}  # fmt: skip


def print_version(words: Sequence[str]) -> None:
    """Print the version."""
    from rankstone.version import __version__

    print(f"rankstone {__version__}")


def print_help(words: Sequence[str]) -> None:
    """Print the help of a command, or of all."""
    main([*words, "--help"])


def _load(name: str) -> Callable[..., Any]:
    """A function of a row."""
    module, _, function = name.partition(":")
    return getattr(import_module(module, __package__), function)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns 0, 1 for bad data or 2 for bad usage, and of `check` and `audit` 3 or 4."""
    argument_list = sys.argv[1:] if argv is None else argv
    words = _spread(argument_list)
    if " ".join(words[:2]) in COMMANDS:
        words[:2] = [" ".join(words[:2])]
    row = COMMANDS.get(words[0]) if words else None
    if row is None and words and not words[0].startswith("-"):
        print(f"rankstone: {unknown_word('command', words[0], COMMANDS)}", file=sys.stderr)
        return 2
    if row is not None and row.describe is None:
        return _load(row.run)(words[1:]) or 0
    arguments, more = parser(words[0] if words else "").parse_known_args(words)
    if row is not None and row.runs_after_options:
        arguments.runs += [word for word in more if word == "-" or not word.startswith("-")]
        more = [word for word in more if word not in arguments.runs]
    if more:
        top = arguments.command if row else parser("")
        top.error(unknown_word("argument", more[0].partition("=")[0], top._option_string_actions))
    if row is None:
        parser("").print_help()
        return 2
    arguments.line = shlex.join(["rankstone", *argument_list])
    code = 0
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: print(f"rankstone: {message}", file=sys.stderr)
            code = _load(row.run)(arguments) or 0
        sys.stdout.flush()
    except UsageError as error:
        _report(str(error), arguments.command)
        return 2
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        return _report(f"{error.filename}: {error.strerror}" if error.filename else str(error), arguments.command)
    except DataError as error:
        _report(str(error), arguments.command)
        return 1
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
    from rankstone.fusion.fusion_choices import FUSION_CHOICES

    name, value = hint
    plain = "" if value is ... else str(value)
    if isinstance(value, Mapping):
        plain = " ".join("..." if key is ... else f"{key}={'...' if to is ... else to}" for key, to in value.items())
    if name in options:
        return f"{options[name]} {plain}".rstrip()
    return f"-s {name}={plain}" if "set" in options and (name in CHOICES or name in FUSION_CHOICES) else str(hint)


class _Parser(argparse.ArgumentParser):
    """Arguments whose errors are one line: what is wrong, and the names that may have been meant."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"rankstone: {message} ({self.prog} --help)\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        for word in value if isinstance(value, list) else [value]:
            if action.choices is not None and word not in action.choices:
                raise argparse.ArgumentError(action, unknown_word("value", word, map(str, action.choices)))


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

    def _format_usage(self, usage: Any, actions: Any, groups: Any, prefix: Any) -> str:
        """The usage without what may be left out."""
        needed = [action for action in actions if action.required or not action.option_strings]
        text = super()._format_usage(usage, needed, [], prefix)
        return text if usage else f"{text.rstrip()} [options]\n\n"

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Paragraphs, but lines that are indented as they are."""
        fill = super()._fill_text
        return "\n".join(line if line.startswith(" ") else fill(line, width, indent) for line in text.splitlines())


class _OneLineEach(_Formatter):
    """Help with room for the longest command, which argparse counts two letters short."""

    def __init__(self, prog: str) -> None:
        longest = 4 + max(len(name) for name in COMMANDS if " " not in name)
        super().__init__(prog, max_help_position=longest + 3)
        self._action_max_length = longest

    def _format_action(self, action: argparse.Action) -> str:
        text = super()._format_action(action)
        return text.partition("\n")[2] if isinstance(action, argparse._SubParsersAction) else text


def parser(asked: str | None = None) -> argparse.ArgumentParser:
    """The command's arguments: of all commands, which takes long, or of the one that is asked for."""
    from rankstone.version import __version__

    top = _Parser(
        prog="rankstone",
        usage="%(prog)s [-h] [--version] COMMAND ...",
        add_help=False,
        description="Evaluates rankings: search, recommendation, RAG, learning to rank.",
        epilog=f"Also: {', '.join(sorted(name for name, row in COMMANDS.items() if row.by_name))}.\n"
        "Exit code 1: bad data, 2: bad usage; of check and audit, 3: failed, 4: inconclusive.",
        formatter_class=_OneLineEach,
    )
    top.add_argument("-h", "--help", action="help", help=argparse.SUPPRESS)  # the usage says it, in fewer lines
    top.add_argument("--version", action="version", version=f"rankstone {__version__}", help=argparse.SUPPRESS)
    commands = top.add_subparsers(
        title="commands (rankstone COMMAND --help for details)", metavar="COMMAND", prog="rankstone"
    )
    for name in [asked] if asked in COMMANDS else COMMANDS:
        row = COMMANDS[name]
        # A command of two words is in the help of the first.
        listed: dict[str, Any] = {} if " " in name or row.in_usage or row.by_name else {"help": row.summary}
        subparser = commands.add_parser(
            name,
            formatter_class=_Formatter,
            description=f"{row.summary[0].upper()}{row.summary[1:]}.",
            epilog="\n  ".join(["Examples:", *row.example.splitlines()]) + (f"\n{row.epilog}" if row.epilog else ""),
            add_help=row.describe is not None,
            **listed,
        )
        subparser.set_defaults(row=row, command=subparser, parser=parser)
        if row.describe is not None and asked in (None, name):
            _load(row.describe)(subparser.add_argument)
    return top


if __name__ == "__main__":
    sys.exit(main())
