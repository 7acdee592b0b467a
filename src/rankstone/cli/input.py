"""What the commands read: the truth, the runs, and what their words say of them."""

from __future__ import annotations

import argparse
import ast
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankstone.errors import Advice, Hint

if TYPE_CHECKING:
    from rankstone.data.columns import Columns
    from rankstone.data.files import OnError
    from rankstone.data.lists import Lists
    from rankstone.results.result import Result


class UsageError(ValueError):
    """The command's words are off, not the data."""


# -- words --------------------------------------------------------------------------------------------------


def check_words(metrics: Iterable[str], convention: str, choices: Mapping[str, Any]) -> None:
    """Find out what is wrong with the words before any file is read."""
    from rankstone.conventions.plan import make_plans

    try:
        make_plans(metrics, convention, choices)
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from None


def pairs(words: Iterable[str], option: str) -> dict[str, Any]:
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


def named(words: Sequence[str]) -> dict[str, str]:
    """Runs by name, as given (`bm25=a.run`) or made of the file's name and as many folders as tell it from others."""
    given = [re.match(r"([^=/]+)=(.+)", word) for word in words]
    names = [found[1] if found and not os.path.exists(word) else "" for word, found in zip(words, given, strict=True)]
    paths = [found[2] if name and found else word for word, name, found in zip(words, names, given, strict=True)]
    made = iter(_short_names([path for path, name in zip(paths, names, strict=True) if not name]))
    out: dict[str, str] = {}
    for name, path in zip(names, paths, strict=True):
        name = name or next(made)
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
            if len({own[-1] for own in parts}) < len(parts):  # endings do not tell them apart
                break
    return list(paths)


def _stem(name: str) -> str:
    """The name of a file without the endings that say what it is."""
    if name == "-":
        return "stdin"
    from rankstone.data.files import FORMATS as FILE_FORMATS
    from rankstone.data.lines import CODECS

    known = {*CODECS, "txt", "json", *(ending for form in FILE_FORMATS.values() for ending in form.endings)}
    stem, dot, ending = name.rpartition(".")
    return _stem(stem) if dot and stem and ending.lower() in known else name


# -- files --------------------------------------------------------------------------------------------------


def results_of(
    arguments: argparse.Namespace, runs: Mapping[str, str], metrics: Any, choices: Any, unjudged: Any = None
) -> dict[str, Result]:
    """The results of some files, by the runs' names; the truth is read once."""
    from rankstone.conventions.plan import make_plans
    from rankstone.data.files import is_large, read_side, same_ids
    from rankstone.evaluate.beside import given_beside
    from rankstone.evaluate.evaluate import evaluate

    form = format_of(arguments, "run")
    known = {name: getattr(arguments, name) for name in ("catalogue", "history", "reference")}
    known = {name: path for name, path in known.items() if path is not None}
    alone = not arguments.runs and not any(
        plan.needs_truth for plan in make_plans(metrics, arguments.convention, choices)
    )
    truth = None if alone else truth_of(arguments, [*runs.values()], arguments.on_error)
    results = {}
    seen: Any = {}
    if arguments.exclude:
        seen = {"exclude": arguments.exclude}
        if arguments.columns:
            seen["columns"] = {"truth": roles_for(arguments, "truth", arguments.exclude, []) or {}}
    if arguments.parent:
        seen["parent"] = arguments.parent
    if unjudged:
        seen["unjudged"] = unjudged
    for name, path in runs.items():
        columns = roles_for(arguments, "run", path, [arguments.truth])
        in_batches = arguments.on_error == "stop" and not form and not seen
        if in_batches and is_large(path):
            from rankstone.evaluate.stream import evaluate_file

            beside, made = given_beside(**known, metrics=metrics, choices=choices)
            results[name] = evaluate_file(
                truth, path, metrics, convention=arguments.convention, columns=columns, beside=beside, **made
            )
            continue
        other = None if alone else arguments.truth
        run = read_side(path, "run", form, columns, arguments.on_error, other)
        report_skipped(path, run)
        if truth is None:
            judged, returned = None, run
        else:
            if not arguments.runs:
                _refuse_one_sided(arguments.truth, truth, run)
            judged, returned = same_ids(truth, run)
        results[name] = evaluate(judged, returned, metrics, convention=arguments.convention, **seen, **known, **choices)
    return results


def truth_of(arguments: argparse.Namespace, runs: Sequence[str], on_error: OnError = "stop") -> Columns | Lists:
    """The truth, from its file."""
    from rankstone.data.files import read_side

    columns = roles_for(arguments, "truth", arguments.truth, runs)
    read = read_side(arguments.truth, "truth", format_of(arguments, "truth"), columns, on_error)
    report_skipped(arguments.truth, read)
    return read


def _refuse_one_sided(path: str, truth: Columns | Lists, run: Columns | Lists) -> None:
    """Stop at one table for both sides that is only one of them."""
    for role, side in (("grade", truth), ("score", run)):
        if getattr(side, role, side) is None:
            raise UsageError(f"{path} has no {role} column, so it is not both the truth and the run; give a RUN too")


def report_skipped(path: str, side: Columns | Lists) -> None:
    if side.skipped:
        first = side.bad_lines[0]
        print(
            f"rankstone: {path}: {side.skipped} bad lines skipped; line {first.line}: {first.problem}", file=sys.stderr
        )


def groups_by(arguments: argparse.Namespace, column: str, what: str = "by") -> dict[Any, Any]:
    """Each query's group, from a column of the truth file; what: the keyword that named it."""
    from rankstone.data.files import read_truth
    from rankstone.data.loaders import grouped

    path = arguments.truth
    if path == "-":
        raise UsageError(Advice(Hint(what), " reads the truth twice; it cannot come from standard input"))
    roles = {**(roles_for(arguments, "truth", path, arguments.runs) or {}), "item": column}
    try:
        read = read_truth(path, format=format_of(arguments, "truth"), columns=roles, on_error=arguments.on_error)
    except ValueError as error:
        parts = (Hint(what) if part == Hint("columns") else part for part in Advice(str(error)).parts)
        raise ValueError(Advice(*parts)) from None
    return grouped(read, path)


def sides(arguments: argparse.Namespace, runs: Sequence[str]) -> list[Columns | Lists]:
    """The truth and the runs, with ids of one kind."""
    from rankstone.data.files import all_same_ids, read_run

    truth, form = truth_of(arguments, runs), format_of(arguments, "run")
    read = [
        read_run(
            path, format=form, columns=roles_for(arguments, "run", path, [arguments.truth]), beside=arguments.truth
        )
        for path in runs
    ]
    return all_same_ids(truth, read)


# -- which column is which, and what the files are -----------------------------------------------------------


def roles_for(arguments: argparse.Namespace, side: str, path: str, others: Sequence[str]) -> dict[str, Any] | None:
    """The columns of one side's file: those named for both sides, if it can have any, and its own."""
    from rankstone.data.files import side_columns

    named = _by_side(arguments.columns)
    return {**(side_columns(named[""] or None, side, path, others) or {}), **named[side]} or None


def columns_of(arguments: argparse.Namespace) -> dict[str, Any] | None:
    """The columns as `rs.evaluate` takes them, where it reads the files."""
    from rankstone.data.roles import ROLES

    named = _by_side(arguments.columns)
    both = named.pop("")
    if not any(named.values()):
        return both or None
    return {side: {**{role: name for role, name in both.items() if role in ROLES[side]}, **own}
            for side, own in named.items()}  # fmt: skip


def _by_side(words: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Names by role, of each side and of both."""
    from rankstone.data.roles import ROLES

    named: dict[str, dict[str, Any]] = {"": {}, "truth": {}, "run": {}}
    for word, name in pairs(words, "--columns").items():
        which, _, role = word.rpartition(".")
        known = {"": [*dict.fromkeys(ROLES["truth"] + ROLES["run"])], "truth": ROLES["truth"], "run": ROLES["run"]}
        if role not in known.get(which, ()):
            roles = [f"{side}.{role}" if side else role for side in known for role in known[side]]
            raise UsageError(f"--columns {word}={name}: the roles are {', '.join(roles)}")
        named[which][role] = name if name is None or type(name) in (int, str) else str(name)
    return named


def format_of(arguments: argparse.Namespace, side: str) -> str | None:
    """What one side's files are, if that was said."""
    found: dict[str, str] = {}
    for word in arguments.format:
        which, equals, form = word.rpartition("=")
        if equals and which not in ("truth", "run"):
            raise UsageError(f"--from-format {word}: write truth={form} or run={form}, or {form} for both")
        found |= {which: form} if equals else {"truth": form, "run": form}
    return found.get(side)
