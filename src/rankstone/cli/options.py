"""Options that several commands share, what their words mean, and where answers go."""

from __future__ import annotations

import argparse
import ast
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from rankstone.errors import InputError
from rankstone.metrics.declaration import some_of

if TYPE_CHECKING:
    from rankstone.results.answer import Answer, Screen

FORMATS = ("table", "markdown", "latex", "html", "json", "csv", "tsv")

Add: TypeAlias = Callable[..., argparse.Action]  # the `add_argument` of a command's parser

_ENDING = "output file; format by file extension"
_SHARED: dict[str, dict[str, Any]] = {
    "-m --metric": {"action": "append", "metavar": "METRIC", "help": "ndcg@10,recall@{5,10},...; repeatable"},
    "-c --convention": {
        "default": "rankstone", "metavar": "NAME",
        "help": "whose definitions; see rankstone conventions [default: rankstone]",
    },
    "-s --set": {
        "action": "append", "default": [], "metavar": "CHOICE=VALUE",
        "help": "set a choice: threshold=2, ties=expected",
    },
    "--columns": {
        "action": "append", "default": [], "metavar": "ROLE=NAME", "help": "query=user_id; truth.item=x for one side",
    },
    "--on-error": {"choices": ("stop", "skip"), "default": "stop", "help": "what a bad line does [default: stop]"},
    "--cluster": {
        "dest": "clusters", "metavar": "COLUMN", "help": "clusters of related queries: a column of the truth file",
    },
    "--machine": {
        "metavar": "FILE", "help": "a machine's labels of all queries; TRUTH has human ones of a random part of them",
    },
    "--drawn-at-random": {
        "action": "store_true", "help": "vouch that this part is a random one, where the data speaks against it",
    },
    "-v --verbose": {"action": "store_true", "help": "print the definitions of all metrics too"},
    "--no-color": {"action": "store_true", "help": "no colours, as with NO_COLOR in the environment"},
    "-o --output": {"metavar": "FILE", "help": _ENDING},
}  # fmt: skip


class UsageError(InputError):
    """The command's words are off, not the data."""


@contextmanager
def usage(*kinds: type[Exception]) -> Iterator[None]:
    """Turn errors of these kinds, or ValueErrors, into errors of usage."""
    expected = kinds or (ValueError,)
    try:
        yield
    except expected as error:
        raise UsageError(str(error)) from None


# -- arguments ----------------------------------------------------------------------------------------------


def share(add: Add, *options: str) -> None:
    """Add options that several commands have."""
    for option in options:
        add(*option.split(), **_SHARED[option])


def share_reading(add: Add) -> None:
    """Add what says how to read files."""
    from rankstone.data.formats import FORMATS

    share(add, "--columns")
    formats = f"format of the files: {some_of(list(FORMATS))}; run=trec for one side [default: by content]"
    add("--from-format", dest="format", metavar="FORMAT", action="append", default=[], help=formats)


def share_input(add: Add) -> None:
    """Add what says how to evaluate files."""
    share(add, "-m --metric", "-c --convention", "-s --set")
    share_reading(add)
    share(add, "--on-error")
    seen = "training items per query, as a truth: they are removed before ranking; self: the item with the query's id"
    add("--exclude", metavar="FILE", help=seen)
    add("--exclude-from-truth", action="store_true", help="remove these from the truth, too: the residual collection")
    add("--queries", metavar="IDS", help="only these queries: a file with one id per line, or ids with commas")
    chunks = "the document of each chunk: a file with two columns, or a separator such as '#'"
    add("--parent", metavar="FILE", help=chunks)
    spans = "files of spans (document, start, end): the share of a relevant span that a returned one must cover"
    add("--overlap", metavar="SHARE", type=float, help=spans)
    add("--catalogue", metavar="FILE", help="all items; for coverage, novelty, ...")
    add("--history", metavar="FILE", help="past interactions per query, as a truth; for novelty, ...")
    add("--reference", metavar="FILE", help="other lists of the same queries, as a run; for overlap")


def share_output(add: Add, forms: Sequence[str]) -> None:
    """Add what says how to print an answer, and where to."""
    share(add, "-v --verbose", "--no-color")
    add("--format", dest="shown", metavar="FORMAT", choices=forms, help=f"{', '.join(forms)} [default: table]")
    share(add, "-o --output")


# -- words --------------------------------------------------------------------------------------------------


def choices_of(
    arguments: argparse.Namespace, metrics: Iterable[str] = (), convention: str | None = None
) -> dict[str, Any]:
    """What `--set` says; what is wrong with it or with the metrics is an error before any file is read."""
    from rankstone.conventions.plan import make_plans

    choices = pairs(arguments.set, "--set")
    if metrics:
        with usage(ValueError, TypeError):
            make_plans(metrics, convention or arguments.convention, choices)
    return choices


def pairs(words: Iterable[str], option: str) -> dict[str, Any]:
    """Pairs such as `threshold=2`, their values read as Python's where they are."""
    out = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {word!r}: write it as NAME=VALUE")
        try:
            out[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            out[name] = value
    return out


# -- answers ------------------------------------------------------------------------------------------------


def screen(arguments: argparse.Namespace) -> Screen:
    """The terminal, if there is one: its width, and whether it takes colours and marks."""
    from rankstone.results.answer import VERDICTS, Screen

    is_terminal, width = sys.stdout.isatty(), None
    if is_terminal or "COLUMNS" in os.environ:
        import shutil  # which takes long to load

        width = shutil.get_terminal_size().columns
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or getattr(arguments, "no_color", False)
    marks = "".join(look.mark for look in VERDICTS.values())
    colour = is_terminal and not is_plain
    return Screen(width, colour, colour and _encodable(marks) == marks)


def _encodable(text: str) -> str:
    """The text with ? for the letters that the terminal does not have."""
    return text.encode(sys.stdout.encoding, "replace").decode(sys.stdout.encoding)


def show(answer: Answer, arguments: argparse.Namespace, verbose: bool = False) -> None:
    """Print an answer, in a terminal in colour."""
    text = answer.text(screen(arguments), verbose or getattr(arguments, "verbose", False), "-v")
    print(_encodable(text) if sys.stdout.isatty() else text, flush=True)


def put_prose(text: str, arguments: argparse.Namespace) -> None:
    """Print lines of prose, in a terminal no longer than it is wide."""
    from rankstone.results.answer import wrapped

    width = screen(arguments).width
    print("\n".join("\n".join(wrapped([line], width)) if width else line for line in text.split("\n")))


def form_of(path: str | None, form: str | None, forms: Sequence[str]) -> str:
    """The format that a file's name and `--format` ask for."""
    from rankstone.results.export import result_format

    if path is None and form == "parquet":
        raise UsageError("--format parquet is not for a screen; say where to: -o FILE")
    with usage():
        form = form or "table" if path is None else result_format(path, form, "table")
    if form not in forms:
        raise UsageError(f"{path} is {form} by its name; here there are {', '.join(forms)}")
    return form


def put(text: str, path: str | None) -> None:
    """Print a text, or write it to a file."""
    if not path:
        print(text)
        return
    from rankstone.data.atomic import replacing

    with replacing(path) as stream:
        stream.write((text + "\n").encode())
