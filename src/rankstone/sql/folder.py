"""Queries over the files of a folder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rankstone.data.files import FORMATS
from rankstone.sql import Connection, connect, query
from rankstone.sql.hive import rewritten

_READERS = {f".{ending}": form.sql for form in FORMATS.values() if form.sql for ending in form.endings}


def answer(text: str, folder: str | Path, convention: str | None, *, hive: bool = False) -> tuple[list[str], list[Any]]:
    """A query's columns and rows. A file such as `rec.csv` is a table by its name without the ending."""
    connection = connect(convention=convention)
    import duckdb  # which connect has found

    files = _mentioned(text, folder)
    try:
        # In a schema of their own, so that a query can make tables by these names.
        connection.execute("create schema files; set search_path = 'main,files'")
        for name, paths in files.items():
            if len(paths) == 1:
                _open(connection, name, paths[0])
        found = query(connection, text) if hive else connection.sql(text)
        return ([], []) if found is None else (found.columns, found.fetchall())
    except duckdb.Error as error:
        hints = [_several(name, paths) for name, paths in files.items() if len(paths) > 1]
        unread = isinstance(error, (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException))
        if unread and not (hive or hints) and _is_hive(connection, text):
            hints = ["it is written for Hive: add --hive"]
        raise ValueError("\n".join([str(error), *hints])) from None
    finally:
        connection.close()


def _mentioned(text: str, folder: str | Path) -> dict[str, list[Path]]:
    """The files that can be read and whose names, without their endings, are words of the text."""
    found: dict[str, list[Path]] = {}
    for path in sorted(Path(folder).iterdir()):
        if path.suffix.lower() in _READERS and re.search(rf"\b{re.escape(path.stem)}\b", text, re.IGNORECASE):
            found.setdefault(path.stem.lower(), []).append(path)
    return found


def _open(connection: Connection, name: str, path: Path) -> None:
    """Make a file known as a table."""
    quoted, place = name.replace('"', '""'), str(path).replace("'", "''")
    reader = _READERS[path.suffix.lower()]
    connection.execute(f"""create view files."{quoted}" as select * from {reader}('{place}')""")


def _several(name: str, paths: Sequence[Path]) -> str:
    names = [f"'{path.name}'" for path in paths]
    return f"{name} could be {', '.join(names[:-1])} or {names[-1]}: write from {names[0]}"


def _is_hive(connection: Connection, text: str) -> bool:
    """Would DuckDB run it as a query for Hive."""
    try:
        for statements in rewritten(text):
            if not statements[0].startswith("set "):
                connection.execute(f"explain {statements[0]}")
    except Exception:  # whatever keeps it from running
        return False
    return True
