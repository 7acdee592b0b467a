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
from typing import Any, NamedTuple

from rankstone.cli.options import UsageError
from rankstone.errors import Advice, Hint


class Command(NamedTuple):
    """A command. Its functions are named by module, as seen from this package, and name."""

    summary: str  # what it does, in a line of help
    run: str  # of the arguments, or of the words where none are described
    describe: str | None = None  # adds its arguments
    runs_after_options: bool = False
    words: str = ""  # what completion offers for its arguments: metrics or conventions
    choices: str = "choices"  # and for --set: choices or fusing
    epilog: str | None = None


COMMANDS = {
    "evaluate": Command(
        "measure one or more runs against a truth", ".evaluate:evaluate_runs", ".evaluate:describe_evaluate", True
    ),
    "compare": Command(
        "is one run better than another, and how sure is that", ".compare:compare_runs", ".compare:describe_compare",
        runs_after_options=True,
    ),
    "check": Command(
        "may a run take the place of another, by gates in a file", ".compare:check_gates", ".compare:describe_check",
        epilog="Exit code 0: passed, 3: failed, 4: not decided; 1: bad data, 2: bad usage.",
    ),
    "metrics": Command(
        "what can be measured, with formulas", ".explain:show_metrics", ".explain:describe_metrics", words="metrics"
    ),
    "define": Command(
        "say in words what a metric's number means", ".explain:define_metrics", ".explain:describe_define",
        words="metrics",
    ),
    "conventions": Command(
        "whose definitions can be followed", ".explain:show_conventions", ".explain:describe_conventions",
        words="conventions",
    ),
    "explain": Command(
        "show where a score came from, or why two scores differ", ".explain:explain_score", ".explain:describe_explain",
        words="metrics",
    ),
    "identify": Command(
        "find the definitions that make a reported number", ".explain:identify_number", ".explain:describe_identify",
        words="metrics",
    ),
    "fuse": Command("make one run of several", ".fuse:fuse_runs", ".fuse:describe_fuse", True, choices="fusing"),
    "pool": Command("what of some runs is to be judged", ".fuse:pool_runs", ".fuse:describe_pool", True),
    "convert": Command("write a truth or a run in another format", ".fuse:convert_file", ".fuse:describe_convert"),
    "sql": Command("run a query over files; sql text, sql macros: write SQL", ".sql:run_query", ".sql:describe_sql"),
    "sql text": Command("write metrics as SQL, for a warehouse to run", ".sql:write_text", ".sql:describe_text"),
    "sql macros": Command(
        "print metrics as macros for dbt, or for DuckDB", ".sql:write_macros", ".sql:describe_macros"
    ),
    "trec_eval": Command("take trec_eval's own arguments and print its exact text", "..trec_eval:main"),
    "completion": Command(
        "print a script that completes words in a shell", ".completion:complete", ".completion:describe_completion"
    ),
}  # fmt: skip


def _load(name: str) -> Callable[..., Any]:
    """A function of a row."""
    module, _, function = name.partition(":")
    return getattr(import_module(module, __package__), function)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns 0, 1 for bad data or 2 for bad usage, and of `check` 3 or 4."""
    given = sys.argv[1:] if argv is None else argv
    words = _spread(given)
    if " ".join(words[:2]) in COMMANDS:
        words[:2] = [" ".join(words[:2])]
    row = COMMANDS.get(words[0]) if words else None
    if row is not None and row.describe is None:
        return _load(row.run)(words[1:]) or 0
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
            code = _load(row.run)(arguments) or 0
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
            epilog=row.epilog,
            add_help=row.describe is not None,
            **listed,
        )
        made.set_defaults(row=row, command=made, parser=parser)
        if row.describe is not None and asked in (None, name):
            _load(row.describe)(made.add_argument)
    return top


if __name__ == "__main__":
    sys.exit(main())
