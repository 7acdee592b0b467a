"""Queries over the files of a folder."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from rankstone.inputs.formats import FORMATS
from rankstone.sql import connect, query

_READERS = {f".{ending}": form.sql for form in FORMATS.values() if form.sql for ending in form.endings}
_READERS[".json"] = FORMATS["jsonl"].sql


def answer(text: str, folder: str | Path, convention: str | None, *, hive: bool = False) -> tuple[list[str], list[Any]]:
    """A query's columns and rows. A file such as `rec.csv` is a table by its name without the ending."""
    import duckdb

    connection = connect(convention=convention)
    try:
        for path in sorted(Path(folder).iterdir()):
            reader = _READERS.get(path.suffix.lower())
            if reader and re.search(rf"\b{re.escape(path.stem)}\b", text, re.IGNORECASE):
                name, place = path.stem.replace('"', '""'), str(path).replace("'", "''")
                connection.execute(f"""create view "{name}" as select * from {reader}('{place}')""")
        found = query(connection, text) if hive else connection.sql(text)
        return ([], []) if found is None else (found.columns, found.fetchall())
    except duckdb.Error as error:
        raise ValueError(str(error)) from None
    finally:
        connection.close()
