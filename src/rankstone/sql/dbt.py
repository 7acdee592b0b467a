"""The metrics as macros for dbt: Jinja around statements of SQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from rankstone.conventions.convention import Convention, find_convention
from rankstone.conventions.plan import make_plans, unknown
from rankstone.metrics.registry import declared
from rankstone.sql.dialects import Dialect, find_dialect
from rankstone.sql.tables import Side
from rankstone.sql.warehouse import Request, feeding_of, written
from rankstone.version import __version__

_ROLES = ("query", "item", "grade", "score")


def package(dialect: str, convention: str | Convention = "rankstone") -> str:
    """A file of macros: `{{ rankstone_ndcg(ref('judgments'), ref('results'), k=10) }}` is a query."""
    to, named = find_dialect(dialect), find_convention(convention)
    head = (
        f"{{# rankstone {__version__}: ranking metrics in {to.name}, convention {named.name}.\n"
        "   rankstone_<metric>(truth, run) makes the mean, rankstone_<metric>_per_query of the queries' values.\n"
        "   truth: rows of query, item, grade; run: rows of query, item, score; say so if they are called otherwise. #}"
    )
    return "\n\n".join([head, *(text for name in declared() for text in _macros(name, named, to))]) + "\n"


def _macros(name: str, named: Convention, to: Dialect) -> Iterator[str]:
    """A metric's macros; none where SQL cannot say it."""
    columns = {role: f"{{{{ {role} }}}}" for role in _ROLES}
    sides = {
        "truth": Side("{{ truth }}", {role: columns[role] for role in ("query", "item", "grade")}),
        "run": Side("{{ run }}", {role: columns[role] for role in ("query", "item", "score")}),
    }
    cuts = (None, "{{ k }}") if declared()[name].takes_k else (None,)
    for per_query in (False, True):
        bodies = [_body(name, k, named, to, sides, per_query) for k in cuts]
        if bodies[0] is not None:
            yield _macro(f"rankstone_{name}{'_per_query' * per_query}", [body for body in bodies if body is not None])


def _body(
    name: str, k: str | None, named: Convention, to: Dialect, sides: Mapping[str, Side], per_query: bool
) -> str | None:
    """The statement for a metric; None if the convention has no such metric, or SQL cannot say it."""
    try:
        (plan,) = make_plans(name if k is None else f"{name}@1", named, {})
        if unknown([plan], feeding_of(sides, None, to)):
            return None
        if k is not None:
            plan = replace(plan, arguments={**plan.arguments, "k": k}, label=plan.label.removesuffix("@1"))
        return written(Request([plan], named, to, sides, per_query))
    except ValueError:
        return None


def _macro(name: str, bodies: list[str]) -> str:
    arguments = ["truth", "run", *(["k=none"] if len(bodies) > 1 else []), *(f"{role}='{role}'" for role in _ROLES)]
    text = bodies[0]
    if len(bodies) > 1:
        text = f"{{% if k is none %}}\n{bodies[0]}{{% else %}}\n{bodies[1]}{{% endif %}}\n"
    return f"{{% macro {name}({', '.join(arguments)}) %}}\n{text}{{% endmacro %}}"
