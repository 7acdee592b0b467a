"""What the commands read: the truth, the runs, and what their words say of them."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rankstone.cli.options import UsageError, pairs
from rankstone.data.columns import Columns
from rankstone.data.files import OnError, all_same_ids, read_run, read_side, read_truth, side_columns
from rankstone.data.formats import FORMATS
from rankstone.data.lines import CODECS
from rankstone.data.lists import Lists
from rankstone.data.loaders import grouped
from rankstone.data.roles import ROLES
from rankstone.errors import Advice, Hint, InputError

# -- names --------------------------------------------------------------------------------------------------


def named(words: Sequence[str]) -> dict[str, str]:
    """Runs by name, as given (`bm25=a.run`) or the file's name with as many folders as make it unique."""
    split = [
        ("", word) if os.path.exists(word) or not (match := re.match(r"([^=/]+)=(.+)", word)) else match.groups()
        for word in words
    ]
    short = iter(_short_names([path for name, path in split if not name]))
    out: dict[str, str] = {}
    for name, path in split:
        name = name or next(short)
        if name in out:
            raise UsageError(f"two runs are called {name}: {out[name]} and {path}; name them: NAME={path}")
        out[name] = path
    return out


def _short_names(paths: Sequence[str]) -> list[str]:
    """The files' names without endings; with endings or folders where two would be the same."""
    for path in paths:
        if list(paths).count(path) > 1:
            raise UsageError(f"{path} is there twice; name the runs if that is meant: NAME={path}")
    parts = [os.path.normpath(path).split(os.sep) for path in paths]
    for depth in range(1, max(map(len, parts), default=0) + 1):
        for stem in (_stem, str):
            names = [os.sep.join([*own[-depth:-1], stem(own[-1])]) for own in parts]
            if len({*names, "metric", "run", "query"}) == len(names) + 3:
                return names
            if len({own[-1] for own in parts}) < len(parts):  # extensions are ambiguous
                break
    return list(paths)


def _stem(name: str) -> str:
    """The name of a file without the endings that say what it is."""
    if name == "-":
        return "stdin"
    endings = {*CODECS, "txt", "json", *(ending for form in FORMATS.values() for ending in form.endings)}
    stem, dot, ending = name.rpartition(".")
    return _stem(stem) if dot and stem and ending.lower() in endings else name


def check_stdin(paths: Iterable[str | None]) -> None:
    """Refuse to read two files from standard input."""
    if list(paths).count("-") > 1:
        raise UsageError("only one file can be read from standard input")


# -- files --------------------------------------------------------------------------------------------------


def truth_of(arguments: argparse.Namespace, runs: Sequence[str], on_error: OnError = "stop") -> Columns | Lists:
    """The truth, from its file."""
    columns = roles_for(arguments, "truth", arguments.truth, runs)
    read = read_side(arguments.truth, "truth", format_of(arguments, "truth"), columns, on_error)
    report_skipped(arguments.truth, read)
    return read


def report_skipped(path: str, side: Columns | Lists) -> None:
    """Say how many lines of a file were left out."""
    if side.skipped:
        many, first = f"{side.skipped} bad lines skipped", side.bad_lines[0]
        print(f"rankstone: {path}: {many}; line {first.line}: {first.problem}", file=sys.stderr)


def groups_by(arguments: argparse.Namespace, column: str, what: str = "by") -> dict[Any, Any]:
    """Each query's group, from a column of the truth file; what: the keyword that named it."""
    path = arguments.truth
    if path == "-":
        raise UsageError(Advice(Hint(what), " reads the truth twice; it cannot come from standard input"))
    roles = {**(roles_for(arguments, "truth", path, arguments.runs) or {}), "item": column}
    try:
        read = read_truth(path, format=format_of(arguments, "truth"), columns=roles, on_error=arguments.on_error)
    except ValueError as error:
        parts = (Hint(what) if part == Hint("columns") else part for part in Advice(str(error)).parts)
        raise InputError(Advice(*parts)) from None
    return grouped(read, path)


def sides(arguments: argparse.Namespace, runs: Sequence[str]) -> list[Columns | Lists]:
    """The truth and the runs, with ids of one kind."""
    truth, form, features = truth_of(arguments, runs), format_of(arguments, "run"), arguments.truth
    columns = [roles_for(arguments, "run", path, [features]) for path in runs]
    read = [
        read_run(path, format=form, columns=own, features=features) for path, own in zip(runs, columns, strict=True)
    ]
    return all_same_ids(truth, read)


def queries_of(arguments: argparse.Namespace) -> str | list[str] | None:
    """The queries to evaluate: a file of ids, or ids; None for all."""
    given: str | None = arguments.queries
    return given if given is None or os.path.exists(given) else given.split(",")


# -- which column is which, and what the files are -----------------------------------------------------------


def roles_for(arguments: argparse.Namespace, side: str, path: str, others: Sequence[str]) -> dict[str, Any] | None:
    """The columns of one side's file: those named for both sides, if it can have any, and its own."""
    named = _by_side(arguments.columns)
    return {**(side_columns(named[""] or None, side, path, others) or {}), **named[side]} or None


def columns_of(arguments: argparse.Namespace) -> dict[str, Any] | None:
    """The columns as `rs.evaluate` takes them, where it reads the files."""
    named = _by_side(arguments.columns)
    both = named.pop("")
    if not any(named.values()):
        return both or None
    return {side: {**{role: name for role, name in both.items() if role in ROLES[side]}, **own}
            for side, own in named.items()}  # fmt: skip


def _by_side(words: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Names by role, of each side and of both."""
    named: dict[str, dict[str, Any]] = {"": {}, "truth": {}, "run": {}}
    for word, name in pairs(words, "--columns").items():
        which, _, role = word.rpartition(".")
        roles_by_side = {
            "": [*dict.fromkeys(ROLES["truth"] + ROLES["run"])],
            "truth": ROLES["truth"],
            "run": ROLES["run"],
        }
        if role not in roles_by_side.get(which, ()):
            roles = [f"{side}.{role}" if side else role for side in roles_by_side for role in roles_by_side[side]]
            raise UsageError(f"--columns {word}={name}: the roles are {', '.join(roles)}")
        named[which][role] = name if name is None or type(name) in (int, str) else str(name)
    return named


def format_of(arguments: argparse.Namespace, side: str) -> str | None:
    """What one side's files are, if that was said."""
    formats: dict[str, str] = {}
    for word in arguments.format:
        which, equals, form = word.rpartition("=")
        if equals and which not in ("truth", "run"):
            raise UsageError(f"--from-format {word}: write truth={form} or run={form}, or {form} for both")
        formats |= {which: form} if equals else {"truth": form, "run": form}
    return formats.get(side)
