"""How an answer can be computed again: a command, and digests of the files that it names."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from rankstone.results.schema import TEXT, by_name, record
from rankstone.version import __version__

# Options that say where to and how an answer is written, with whether a value follows them.
OUTPUTS = {"-o": True, "--output": True, "--format": True, "--html": True, "--title": True, "--json": True,
           "--junit": True, "--markdown": True, "--github": False, "--no-color": False}  # fmt: skip
SCHEMA = record(command=TEXT, files=by_name(TEXT), versions=by_name(TEXT))


def _is_path(side: object) -> TypeGuard[str | os.PathLike[str]]:
    return isinstance(side, (str, os.PathLike))


def record_of(command: str, more: Iterable[object] = ()) -> dict[str, Any] | None:
    """What `rankstone verify` reads: a command, the digests of its files, and versions; None if it cannot run again.

    more: files that are named in other files.
    """
    words = without_outputs(shlex.split(command))
    if not words or "-" in words:  # nothing, or standard input
        return None
    named = [part for word in words[2:] for part in (word, word.partition("=")[2]) if part and os.path.exists(part)]
    named += [os.fspath(path) for path in more if _is_path(path) and os.path.exists(path)]
    files = {name: file_digest(name) for name in dict.fromkeys(named)}
    versions = {"rankstone": __version__, "numpy": np.__version__}
    return {"command": shlex.join(words), "files": files, "versions": versions}


def with_record(data: Mapping[str, object], reproduce: Mapping[str, object] | None) -> dict[str, Any]:
    """Plain data with how to compute it again, if that is possible."""
    return dict(data) if reproduce is None else {**data, "reproduce": reproduce}


def without_outputs(words: Sequence[str]) -> list[str]:
    """The words of a command without those that say where to and how to write, also where these are shortened."""
    out: list[str] = []
    rest = iter(words)
    for word in rest:
        long = word.partition("=")[0] if word.startswith("--") and len(word) > 2 else ""
        name = next((option for option in OUTPUTS if long and option.startswith(long)), None)
        if name is None and (short := re.match(r"-v*o", word)):
            name, long = "-o", short[0]
        if name is None:
            out.append(word)
        elif OUTPUTS[name] and word == long:
            next(rest, None)
    return out


def file_digest(name: str) -> str:
    """The digest of a file, or of the files in a folder."""
    from hashlib import blake2b

    digest = blake2b(digest_size=16)
    inside = sorted(os.path.join(folder, file) for folder, _, files in os.walk(name) for file in files)
    for path in inside or [name]:
        if inside:
            digest.update(os.path.relpath(path, name).encode())
        with open(path, "rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return f"blake2b:{digest.hexdigest()}"


def command_line(
    name: str, truth: object, runs: Mapping[str, object], labels: Iterable[str], how: Mapping[str, object]
) -> str:
    """The command that does what a call in Python does; empty where there is none: data in memory, other options.

    how: the keywords of the call, None for what was not passed.
    """
    paths = [os.fspath(side) for side in (truth, *runs.values()) if _is_path(side)]
    if len(paths) <= len(runs) or not all(map(os.path.exists, paths)):
        return ""
    named = (f"{label}={path}" for label, path in zip(runs, paths[1:], strict=True))
    words = ["rankstone", name, paths[0], *named, *(word for label in labels for word in ("-m", label))]
    for option, value in how.items():
        if option == "threads" or value is None or value is False:
            continue
        more = _words(option, value)
        if more is None:
            return ""
        words += more
    return shlex.join(words)


def _words(option: str, value: Any) -> list[str] | None:
    """An argument of a call as words of a command; None if a command has no such words."""
    from rankstone.conventions.choices import CHOICES

    flag, is_text = f"--{option.replace('_', '-')}", isinstance(value, str) or _is_path(value)
    if option == "convention":
        return None if not is_text else [] if value == "rankstone" else ["-c", value]
    if option in CHOICES:
        return ["-s", f"{option}={value}"] if is_text or isinstance(value, (int, float)) else None
    if value is True:
        return [flag]
    if option == "columns" and isinstance(value, Mapping):
        plain = all(isinstance(name, str) for name in value.values())
        return [word for role, name in value.items() for word in (flag, f"{role}={name}")] if plain else None
    if isinstance(value, tuple) and all(isinstance(text, str) for text in value):
        return [word for text in value for word in (flag, text)]
    is_number = isinstance(value, (int, float)) and option not in ("catalogue", "queries")
    return [flag, str(os.fspath(value) if is_text else value)] if is_text or is_number else None
