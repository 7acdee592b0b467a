"""Options that several commands share, what their words mean, and where answers go."""

from __future__ import annotations

import argparse
import ast
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

FORMATS = ("table", "markdown", "latex", "html", "json", "csv", "tsv")

Add: TypeAlias = Callable[..., argparse.Action]  # the `add_argument` of a command's parser

_ENDING = "write there; the name's ending tells the format"
_SHARED: dict[str, dict[str, Any]] = {
    "-m --metric": {"action": "append", "metavar": "M", "help": "ndcg@10,recall@{5,10},...; or several times"},
    "-c --convention": {"default": "rankstone", "metavar": "NAME", "help": "see rankstone conventions"},
    "-s --set": {
        "action": "append", "default": [], "metavar": "CHOICE=VALUE", "help": "e.g. gain=exp2, ties=expected",
    },
    "--columns": {
        "action": "append", "default": [], "metavar": "ROLE=NAME", "help": "query=user_id; truth.item=x for one side",
    },
    "--on-error": {"choices": ("stop", "skip"), "default": "stop", "help": "what to do with a bad line"},
    "--cluster": {
        "dest": "clusters", "metavar": "COLUMN", "help": "queries that belong together: a column of the truth file",
    },
    "--quiet": {"action": "store_true", "help": "leave out what the metrics mean"},
    "-o --output": {"metavar": "FILE", "help": _ENDING},
}  # fmt: skip


class UsageError(ValueError):
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
    from rankstone.data.files import FORMATS, listed

    share(add, "--columns")
    formats = f"what the files are: {listed(FORMATS)}; run=trec for one side"
    add("--from-format", dest="format", metavar="F", action="append", default=[], help=formats)


def share_input(add: Add) -> None:
    """Add what says how to evaluate files."""
    share(add, "-m --metric", "-c --convention", "-s --set")
    share_reading(add)
    share(add, "--on-error")
    seen = "what was seen before, as a truth: it leaves the lists before they are measured"
    add("--exclude", metavar="FILE", help=seen)
    chunks = "of which document each item is a chunk: a file with these two columns, or a separator such as '#'"
    add("--parent", metavar="FILE", help=chunks)
    add("--catalogue", metavar="FILE", help="all items, for metrics such as coverage")
    add("--history", metavar="FILE", help="what each query had before, as a truth; for novelty, ...")
    add("--reference", metavar="FILE", help="other lists of the same queries, as a run; for overlap")


def share_output(add: Add, forms: Sequence[str]) -> None:
    """Add what says how to print an answer, and where to."""
    share(add, "--quiet")
    add("--format", dest="shown", metavar="F", choices=forms, help=", ".join(forms))
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
    """Words such as `gain=exp2`, their values read as Python's where they are."""
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


# -- answers ------------------------------------------------------------------------------------------------


def screen() -> int | None:
    """How wide the terminal is, if it is one."""
    if not sys.stdout.isatty() and "COLUMNS" not in os.environ:
        return None
    import shutil  # which takes long to load

    return shutil.get_terminal_size().columns


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
    from rankstone.results.export import replacing

    with replacing(path) as stream:
        stream.write((text + "\n").encode())
