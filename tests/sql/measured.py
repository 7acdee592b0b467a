"""A truth and a run in an engine, and whether a text of SQL says of them what `rs.evaluate` says."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import rankstone as rs
from tests.sql.engines import Columns, Engine, Rows, arrow

Table = Mapping[str, Sequence[Any]]  # columns by name


def rows_of(side: Mapping[Any, Any], value: str) -> Table:
    """One row an item, of `{query: {item: grade}}`; of lists of items the value is 1, 2, 3 and so on."""
    graded = {query: items if isinstance(items, dict) else _numbered(items) for query, items in side.items()}
    rows = [(query, item, number) for query, items in graded.items() for item, number in items.items()]
    return {name: [row[at] for row in rows] for at, name in enumerate(("query", "item", value))}


def _numbered(items: Iterable[Any]) -> dict[Any, int]:
    return {item: place for place, item in enumerate(items, 1)}


def lists_of(side: Mapping[Any, Any], value: str | None = None) -> Table:
    """One row a query, with a list of items, and a list of their values where these have a name."""
    table = {"query": list(side), "item": [list(items) for items in side.values()]}
    return table if value is None else {**table, value: [[*map(float, items.values())] for items in side.values()]}


def put(engine: Engine, name: str, table: Table) -> None:
    """Make a table of the engine's."""
    engine.create(name, *_shaped(table))


def evaluated(metrics: Any, truth: Table, run: Table, **how: Any) -> rs.Result:
    """What `rs.evaluate` says of two tables."""
    return rs.evaluate(arrow(*_shaped(truth)), arrow(*_shaped(run)), metrics, **how)


def _shaped(table: Table) -> tuple[Columns, Rows]:
    kinds = {name: _kind(values) for name, values in table.items()}
    columns = [
        [value if value is None else float(value) for value in values] if kinds[name] == "double" else values
        for name, values in table.items()
    ]
    return kinds, list(zip(*columns, strict=True))


def _kind(values: Iterable[Any]) -> str:
    known = [value for value in values if value is not None]
    if known and isinstance(known[0], list):
        return f"list({_kind(item for items in known for item in items)})"
    types = {type(value) for value in known}
    return "double" if float in types else "integer" if int in types else "text"


def lists(truth: Table, run: Table) -> Any:
    """Which of them have lists, as `rs.sql.text` is told."""
    have = [
        name for name, side in (("truth", truth), ("run", run)) if any(isinstance(item, list) for item in side["item"])
    ]
    return have[0] if len(have) == 1 else bool(have)


def roles(truth: Table, run: Table) -> dict[str, dict[str, str | None]]:
    """Which column is which, where they are called as their roles are."""
    return {"truth": {"grade": None} | {name: name for name in truth}, "run": {name: name for name in run}}


def agree(engine: Engine, metrics: Any, truth: Table, run: Table, **how: Any) -> None:
    """Make both tables; the text must give what `rs.evaluate` gives, query by query and in the mean."""
    said_of = {"ids": how.pop("ids", None), "lists": lists(truth, run)}
    how.setdefault("columns", roles(truth, run))
    put(engine, "judgments", truth)
    put(engine, "results", run)
    same(engine, evaluated(metrics, truth, run, **how), metrics, **said_of, **how)


def same(engine: Engine, want: rs.Result, *asked: Any, **how: Any) -> None:
    """The text, of what is asked, gives the numbers of a result, query by query and in the mean."""
    _, rows = engine.ask(rs.sql.text(*asked, dialect=engine.dialect, per_query=True, **how))
    values = zip(*(want.per_query[label] for label in want), strict=True)
    known = dict(zip(want.queries, values, strict=True))
    assert sorted(row[0] for row in rows) == sorted(known)
    wrong = {query: differences(want, found, known[query]) for query, *found in rows}
    _, [means] = engine.ask(rs.sql.text(*asked, dialect=engine.dialect, **how))
    wrong["mean"] = differences(want, means, want.values())
    wrong = {who: some for who, some in wrong.items() if some}
    assert not wrong, wrong


def differences(names: Iterable[str], found: Iterable[Any], wanted: Iterable[float]) -> dict[str, tuple[Any, float]]:
    """What differs by more than a rounding. What is null in a database is NaN in Python."""
    pairs = {name: (one, other) for name, one, other in zip(names, found, wanted, strict=True)}
    return {name: (one, float(other)) for name, (one, other) in pairs.items() if not _equal(one, other)}


def _equal(found: Any, wanted: float) -> bool:
    if found is None or math.isnan(wanted):
        return found is None and math.isnan(wanted)
    return math.isclose(found, wanted, rel_tol=1e-9, abs_tol=1e-9)
