"""The user's tables in a statement: quoted names, columns by role, and rows of items."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any, NamedTuple

from rankstone.align.ties import TIES
from rankstone.data.roles import SEPARATOR, RoleMap, names_of, roles_of
from rankstone.errors import InputError, InputTypeError
from rankstone.program.sql_terms import Term
from rankstone.sql.dialects import Dialect, as_one_line
from rankstone.sql.expressions import Expressions, Step, indented, select

# Words that have to be quoted as column names.
_RESERVED = frozenset(
    re.findall(
        r"\w+",
        """all and any as asc between by case cast check column constraint create cross current_date current_time
        current_timestamp default delete desc distinct drop else end except exists false for foreign from full grant
        group having in inner insert intersect into is join left like limit natural not null on or order outer primary
        references right select set some table then to true union unique update user using values when where with""",
    )
)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST = 56  # letters of a name: PostgreSQL truncates it silently at 63


@dataclass(frozen=True)
class Side:
    """A truth or a run in a database: its source, and its columns by role, quoted."""

    source: str
    columns: Mapping[str, str]  # of a query, the first
    query: tuple[str, ...] = ()  # its other columns
    lists: bool = False  # one row per query, with a list of items
    is_query: bool = False  # whether the source is a query
    names: frozenset[str] = field(default_factory=frozenset)  # of tables in it, in lower case

    def column(self, role: str) -> str:
        """A column with its table alias."""
        return f"t.{self.columns[role]}"

    @property
    def value(self) -> str | None:
        """Grade, score or rank; None: every item is relevant, or the list is in ranked order."""
        return next((role for role in ("grade", "score", "rank") if role in self.columns), None)


def side_of(what: str, table: str, columns: RoleMap | None, lists: bool, dialect: Dialect) -> Side:
    """A truth or a run from the caller's arguments."""
    renamed = roles_of(columns, what, several=True)
    roles: dict[str, Any] = {"query": "query", "item": "item"}
    usual = "grade" if what == "truth" else "score"
    if not lists and not renamed.keys() & {"grade", "score", "rank"}:
        roles[usual] = usual
    roles = {role: name for role, name in {**roles, **renamed}.items() if name is not None}
    if "score" in roles and "rank" in roles:
        raise InputError("columns names a score and a rank; a run is ordered by one of them")
    if what == "run" and not lists and not roles.keys() & {"score", "rank"}:
        raise InputError("rows of a table have no order: name the run's score or rank, columns={'rank': ...}")
    for role in ("query", "item"):
        if role not in roles:
            raise InputError(f"the {what} needs a {role} column")
    if lists and not dialect.rows:
        raise InputError(f"{dialect.name} has no lists: pass a subquery with one row per item")
    roles["query"], *others = names_of(roles["query"])
    own = {role: column_of(name, dialect) for role, name in roles.items()}
    source, names, is_query = source_of(what, table, dialect)
    return Side(source, own, tuple(column_of(name, dialect) for name in others), lists, is_query, names)


def column_of(name: str, dialect: Dialect) -> str:
    """A column's name, quoted unless it is a plain one or quoted already."""
    if not isinstance(name, str) or not name:
        raise InputTypeError(f"a column of a database has a name, not {name!r}")
    return name if _is_safe(name, dialect) else dialect.quoted(name)


def _is_safe(name: str, dialect: Dialect) -> bool:
    return name.lower() not in _RESERVED if _PLAIN.fullmatch(name) else dialect.is_quoted(name)


def source_of(what: str, table: str, dialect: Dialect) -> tuple[str, frozenset[str], bool]:
    """The source, the names of the tables in it, and whether it is a query."""
    if not isinstance(table, str) or not table.strip():
        raise InputTypeError(f"the {what} is the name of a table or a query, not {table!r}")
    text = table.strip()
    if re.match(r"(\(\s*)*(select|with|from)\b\s*[^\s.]", text, re.IGNORECASE):
        sqlglot, exp = _sqlglot()
        inside = text.rstrip("; \n\t")
        try:
            trees = [tree for tree in sqlglot.parse(inside, dialect=dialect.grammar or None) if tree is not None]
        except sqlglot.errors.SqlglotError as error:
            raise InputError(f"the {what}'s query cannot be read as {dialect.name}: {error}") from None
        if len(trees) != 1 or not isinstance(trees[0], exp.Query):
            raise InputError(f"the {what} must be one query, not {len(trees)} statements")
        names = frozenset(node.name.lower() for node in trees[0].find_all(exp.Table))
        inside = inside[1:-1].strip() if isinstance(trees[0], exp.Subquery) else inside
        return as_one_line(inside), names, True
    parts = _parts(text, dialect)
    if all(_PLAIN.fullmatch(part) or _is_safe(part, dialect) for part in parts):
        written = ".".join(column_of(part, dialect) for part in parts)
        return written, frozenset({parts[-1].strip(dialect.quotes).lower()}), False
    if _is_table(text, dialect):
        return text, frozenset({text.lower()}), False
    return dialect.quoted(text), frozenset({text.lower()}), False


def _sqlglot() -> tuple[Any, Any]:
    try:
        import sqlglot
        from sqlglot import exp
    except ImportError:
        raise ImportError("to read a query, rs.sql.text needs sqlglot: pip install sqlglot") from None
    return sqlglot, exp


def _parts(name: str, dialect: Dialect) -> list[str]:
    """The parts of a dotted name; dots within quotes are part of it."""
    left, right = map(re.escape, dialect.quotes)
    return re.findall(rf"(?:{left}(?:[^{right}]|{right}{right})*{right}|[^.])+", name) or [name]


def _is_table(text: str, dialect: Dialect) -> bool:
    """Whether the text is a table or a table function: project-x.data.table, read_parquet('x'), 'file.csv'."""
    if "--" in text or not re.fullmatch(r"[\w.-]+|'[^']*'|[\w.]+\([^;]*\)", text):
        return False
    sqlglot, exp = _sqlglot()
    try:
        tree = sqlglot.parse_one(f"select * from {text}", dialect=dialect.grammar or None)
    except sqlglot.errors.SqlglotError:
        return False
    source = tree.args.get("from_") or tree.args.get("from")
    node = source.this if source is not None else None
    return isinstance(node, exp.Table) and not node.args.get("alias") and not tree.args.get("joins")


@dataclass(frozen=True)
class How:
    """How a truth and a run are aligned in a statement."""

    order: str = "item_desc"  # tie-breaking
    single: bool = False  # scores compared as float32
    duplicates: str = "error"
    truth_duplicates: str = "error"
    judged: bool = False  # whether unjudged items are removed

    @property
    def merges_truth(self) -> bool:
        """Whether an item has one judgement in the end, of how many rows soever."""
        return self.truth_duplicates in ("first", "distinct", "max")


class ItemRows(NamedTuple):
    """Rows of items of one side: their source, the item, its position in a list, and its value."""

    source: str
    item: str
    position: str
    value: str


class Sources(Expressions):
    """The user's tables, the steps that read only these, and unique names of steps and columns."""

    def __init__(self, dialect: Dialect, truth: Side, run: Side, extra: bool, ids: str | None) -> None:
        self.dialect, self.truth, self.run, self.extra, self.ids = dialect, truth, run, extra, ids
        self.hows: dict[str, How] = {}  # by suffix
        self._names: dict[Term | str, str] = {}
        self._taken: set[str] = {
            "query", "item", "grade", "score", "item_rank", "items_above", "items_tied", "place", "retrieved",
            "is_returned", "weight", "position", "problem",
        }  # fmt: skip

    def source(self, side: Side) -> str:
        """The source of a side: a table, or the step with its query."""
        return self.step("truth_rows" if side is self.truth else "run_rows") if side.is_query else side.source

    def user_steps(self) -> list[Step]:
        """The user's own queries."""
        return [Step(self.source(side), "", side.source) for side in (self.truth, self.run) if side.is_query]

    def step(self, name: str) -> str:
        """A step's name, different from the user's tables."""
        while name in self.truth.names | self.run.names:
            name += "_"
        return name

    def taken(self, *names: str) -> None:
        """Reserve names."""
        self._taken.update(name.lower() for name in names)

    def unique(self, name: str) -> str:
        """A unique column name."""
        name = re.sub(r"\W+", "_", name.lower()).strip("_")[:_LONGEST] or "value"
        names = chain([name], (f"{name}_{at}" for at in count(2)))
        self._taken.add(free := next(other for other in names if other not in self._taken))
        return free

    def name_of(self, value: Term | str, name: str = "") -> str:
        """The column of a value; a text is an expression of the grade only."""
        if value not in self._names:
            self._names[value] = self.unique(name if isinstance(value, str) else value.name or "value")
        return self._names[value]

    def id_of(self, column: str) -> str:
        """An id, compared byte by byte if it is a text."""
        to = self.dialect
        converts = self.ids == "text" or (self.ids is None and not to.is_sorted_by_bytes and not to.by_kind)
        return to.bytewise.format(column) if converts else column

    def query_of(self, side: Side) -> str:
        """The id of a side's query; of several columns, their texts joined."""
        if not side.query:
            return self.id_of(side.column("query"))
        separator = self.dialect.literal(SEPARATOR)
        rest = (part for name in side.query for part in (separator, self.as_text(f"t.{name}")))
        return self.id_of(f"({self.text(self.as_text(side.column('query')), *rest)})")

    def opened(self, side: Side) -> ItemRows:
        """A side's rows of items."""
        source, item = f"{self.source(side)} as t", side.column("item")
        value = side.column(side.value) if side.value else ""
        if not side.lists:
            return ItemRows(source, item, "", value)
        rows = self.dialect.rows
        assert rows is not None  # checked in side_of
        form = rows.source_of_two if value and rows.source_of_two else rows.source
        forms = (form, rows.item, rows.position, rows.value if value else "")
        return ItemRows(*(text.format(t=source, items=item, values=value) for text in forms))

    def value_of(self, text: str) -> str:
        """A user's number."""
        return self.dialect.zero.format(self.double(text))

    # -- steps -----------------------------------------------------------------------------------------------

    def all_returned(self, suffix: str) -> str:
        """The step with all returned items, judged or not."""
        return self.step(("all_" if self.hows[suffix].judged else "") + "returned_items" + suffix)

    def all_judged(self, suffix: str) -> str:
        """The step with all judgements, also those of one item."""
        return self.step(("judgements" if self.hows[suffix].merges_truth else "judged_items") + suffix)

    def returned(self, suffix: str) -> Iterator[Step]:
        """The returned items; without the unjudged ones if these are removed."""
        yield self._rows_returned(suffix)
        if self.hows[suffix].judged:
            judged = f"select distinct query, item from {self.step('judged_items' + suffix)} where grade >= 0"
            both = "j.query = r.query and j.item = r.item"
            body = f"select r.*\nfrom {self.all_returned(suffix)} as r\njoin (\n  {judged}\n) as j on {both}"
            yield Step(self.step("returned_items" + suffix), "what of it is judged", body)

    def _rows_returned(self, suffix: str) -> Step:
        side, how = self.run, self.hows[suffix]
        rows, item, position, value = self.opened(side)
        if side.value is None or side.value == "rank":
            score = f"-{self.double(value or position)}"
        else:
            score = self.value_of(f"cast({value} as {self.dialect.single})" if how.single else value)
        columns = [f"{self.query_of(side)} as query", f"{self.id_of(item)} as item", f"{score} as score"]
        ordered = ["position"] if TIES[how.order].by == "input" else []
        if ordered or how.duplicates == "first":
            columns.append(f"{position} as position")
        if how.duplicates not in ("first", "best"):
            return Step(self.all_returned(suffix), "what was returned", f"{select(columns)}\nfrom {rows}")
        first = "position" if how.duplicates == "first" else ", ".join(["score desc", *ordered])
        inside = f"{select(columns, 4)}\n    from {rows}"
        nth = f"select r.*, row_number() over (partition by query, item order by {first}) as nth_row"
        names = ", ".join(["query", "item", "score", *ordered])
        body = f"select {names}\nfrom (\n  {nth}\n  from (\n    {inside}\n  ) as r\n) as r\nwhere nth_row = 1"
        return Step(self.all_returned(suffix), f"what was returned, of a repeated item the {how.duplicates} row", body)

    def lists(self, suffix: str) -> str:
        """The step with the lengths of the lists."""
        return self.step("returned_lists" + suffix)

    def list_lengths(self, suffix: str) -> Iterator[Step]:
        """The lengths of the lists."""
        returned, name = self.step("returned_items" + suffix), self.lists(suffix)
        count = f"{self.double('count(*)')} as retrieved"
        body = f"{select(['query', count, '1 as is_returned'])}\nfrom {returned}\ngroup by query"
        if not self.run.lists and not self.hows[suffix].judged:
            yield Step(name, "how long the lists are", body)
            return
        # Lists may be empty.
        every = self.step("returned_queries" + suffix)
        if self.run.lists:
            yield Step(every, "", f"select {self.query_of(self.run)} as query\nfrom {self.source(self.run)} as t")
        else:
            yield Step(every, "", f"select distinct query\nfrom {self.all_returned(suffix)}")
        counts = self.step("returned_counts" + suffix)
        yield Step(counts, "", body)
        columns = ["l.query as query", f"coalesce(n.retrieved, {self.number(0.0)}) as retrieved", "1 as is_returned"]
        body = f"{select(columns)}\nfrom {every} as l\nleft join {counts} as n on n.query = l.query"
        yield Step(name, "how long the lists are", body)

    def queries(self) -> Step:
        """The queries that are evaluated."""
        if self.extra:
            body = f"select query, is_judged\nfrom {self.step('query_sides')}"
        elif self.truth.lists:
            body = f"select {self.query_of(self.truth)} as query, 1 as is_judged\nfrom {self.source(self.truth)} as t"
        else:
            body = f"select query, 1 as is_judged\nfrom {self.step('judged_items')}\ngroup by query"
        return Step(self.step("queries"), "the queries that are measured", body)

    def query_sides(self) -> Step:
        """Whether each query is judged and returned."""
        both = []
        judged, returned = self.step("judged_items"), self.all_returned("")
        for side, source, is_judged in ((self.truth, judged, 1), (self.run, returned, 0)):
            query = "query"
            if side.lists:
                query, source = f"{self.query_of(side)} as query", f"{self.source(side)} as t"
            both.append(f"select {query}, {is_judged} as is_judged, {1 - is_judged} as is_returned\nfrom {source}")
        columns = ["query", "max(is_judged) as is_judged", "max(is_returned) as is_returned"]
        joined = indented("\nunion all\n".join(both))
        body = f"{select(columns)}\nfrom (\n{joined}\n) as b\ngroup by query"
        return Step(self.step("query_sides"), "which side has a query", body)
