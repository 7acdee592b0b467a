"""The commands `sql`, `sql text` and `sql macros`."""

from __future__ import annotations

import argparse
import os
import re
import sys
from typing import Any

from rankstone.cli.options import FORMATS, Add, UsageError, choices_of, form_of, pairs, put, share, usage
from rankstone.conventions.convention import find_convention
from rankstone.conventions.plan import DEFAULT_METRICS
from rankstone.results.answer import render

# Options of `sql text` that its function takes by the same names.
_SETTINGS = ("convention", "lists", "per_query", "by", "weights", "account", "ids")
_DIALECTS = {"default": "duckdb", "metavar": "DIALECT", "help": "bigquery, snowflake, postgres, ..."}


def describe_sql(add: Add) -> None:
    query = "DuckDB's SQL, or a file of it; rec.csv is the table rec; - to read from stdin"
    add("query", metavar="QUERY", help=query)
    add("-c", "--convention", metavar="NAME", help="whose definitions all functions follow")
    add("--hive", action="store_true", help="the query is written for Hive")
    add("--format", choices=FORMATS)
    share(add, "-o --output")


def run_sql(arguments: argparse.Namespace) -> None:
    """Run a query over files, and print or write its rows."""
    from rankstone.results.export import as_json
    from rankstone.sql import answer

    form = form_of(arguments.output, arguments.format, FORMATS)
    with usage():
        find_convention(arguments.convention or "rankstone")
    with usage(ImportError):
        names, rows = answer(_query_text(arguments.query), ".", arguments.convention, hive=arguments.hive)
    if form == "json":
        shown = as_json([dict(zip(names, row, strict=True)) for row in rows])
    else:
        shown = render([names, *([_cell(cell, form) for cell in row] for row in rows)], form)
    if arguments.output or names:
        put(shown, arguments.output)


def _query_text(word: str) -> str:
    """A query as it is, or what is in a file, or on standard input."""
    if word == "-":
        return sys.stdin.read()
    if os.path.isfile(word) or re.fullmatch(r"\S+\.(sql|hql)", word, re.IGNORECASE):
        with open(word, encoding="utf-8-sig") as stream:
            return stream.read()
    return word


def _cell(cell: Any, form: str) -> str:
    if cell is None:
        return ""
    if not isinstance(cell, float):
        return str(cell)
    return repr(cell) if form in ("csv", "tsv") else f"{cell:.4f}"


def describe_text(add: Add) -> None:
    share(add, "-m --metric", "-c --convention", "-s --set")
    add("--dialect", **_DIALECTS)
    add("--truth", default="judgments", metavar="TABLE", help="a table, or a query: query, item, grade")
    add("--run", default="results", metavar="TABLE", help="a table, or a query: query, item, score or rank")
    share(add, "--columns")
    sides, rows = ("truth", "run", True), "one row per query, with a list of items; truth or run for one of them"
    add("--lists", nargs="?", const=True, default=False, choices=sides, metavar="SIDE", help=rows)
    add("--per-query", action="store_true", help="values per query instead of means")
    add("--by", action="append", metavar="COLUMN", help="means by group: a column of the truth")
    add("--weights", metavar="TABLE", help="a table, or a query: query, weight")
    add("--account", action="store_true", help="also the number of queries that were missing, tied, ...")
    add("--ids", choices=("text", "integer"), help="type of the ids, for MySQL and T-SQL")
    add("-o", "--output", metavar="FILE", help="output file")


def run_text(arguments: argparse.Namespace) -> None:
    """Print or write metrics as SQL."""
    from rankstone.sql import text

    metrics = arguments.metric or list(DEFAULT_METRICS)
    choices = choices_of(arguments, metrics)
    columns: dict[str, dict[str, Any]] = {"truth": {}, "run": {}}
    for word, name in pairs(arguments.columns, "--columns").items():
        side, _, role = word.rpartition(".")
        for which in [side] if side in columns else columns:
            columns[which][role] = name if name is None or isinstance(name, list) else str(name)
    settings = {name: getattr(arguments, name) for name in _SETTINGS}
    with usage():
        written = text(
            metrics, arguments.truth, arguments.run, arguments.dialect, columns=columns, **settings, **choices
        )
    put(written, arguments.output)


def describe_macros(add: Add) -> None:
    add("--dialect", **_DIALECTS)
    add("-c", "--convention", metavar="NAME", help="whose definitions they follow")
    share(add, "-s --set")
    lists = "sql: DuckDB's own, of lists: ndcg(rec, truth, k)"
    add("--format", choices=("dbt", "sql"), default="dbt", help=lists)
    add("-o", "--output", metavar="FILE", help="output file")


def run_macros(arguments: argparse.Namespace) -> None:
    """Print or write metrics as macros."""
    named = find_convention(arguments.convention or "rankstone")
    chosen = choices_of(argparse.Namespace(**{**vars(arguments), "convention": named.name}), list(DEFAULT_METRICS))
    if arguments.format == "sql":
        from rankstone.sql import macros

        if arguments.dialect != "duckdb":
            raise UsageError("--format sql is for DuckDB; others have --format dbt")
        put(
            ";\n\n".join(text for _, text in macros(named.with_choices(**chosen) if chosen else arguments.convention))
            + ";",
            arguments.output,
        )
        return
    from rankstone.sql.sql_text import package

    with usage():
        written = package(arguments.dialect, named.with_choices(**chosen))
    put(written, arguments.output)
