"""What the commands show: on a screen, or in a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from rankstone.cli.input import UsageError


def screen() -> int | None:
    """How wide the terminal is, if it is one."""
    if not sys.stdout.isatty() and "COLUMNS" not in os.environ:
        return None
    import shutil  # which takes long to load

    return shutil.get_terminal_size().columns


def form_of(path: str | None, given: str | None, forms: Sequence[str]) -> str:
    """The format that a file's name and `--format` ask for."""
    from rankstone.results.export import result_format

    if path is None and given == "parquet":
        raise UsageError("--format parquet is not for a screen; say where to: -o FILE")
    try:
        form = given or "table" if path is None else result_format(path, given, "table")
    except ValueError as error:
        raise UsageError(str(error)) from None
    if form not in forms:
        raise UsageError(f"{path} is {form} by its name; here there are {', '.join(forms)}")
    return form


def put(text: str, path: str | None) -> None:
    if not path:
        print(text)
        return
    from rankstone.results.export import replacing

    with replacing(path) as stream:
        stream.write((text + "\n").encode())
