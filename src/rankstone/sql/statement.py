"""Metrics as one SQL statement: from expressions over items and queries to common table expressions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from rankstone.align.ties import TIES
from rankstone.errors import InputError
from rankstone.program.sql_terms import Items, Term, Tree
from rankstone.sql.dialects import Dialect
from rankstone.sql.expressions import Step, indented, outermost, select
from rankstone.sql.table_sources import How, Side, Sources

_STEPS = {
    "judged": "judged_items",
    "ranked": "ranked_items",
    "placed": "placed_items",
    "ideal": "ideal_items",
    "pooled": "all",
}
_WITH_COLUMNS = ("carried", "window", "spread", "aggregate")  # operations with columns in a step
_WINDOWS = ("item_rank", "items_above", "items_tied")  # columns that each kind of rows computes itself
_MOST_OPERATIONS = 10_000  # of one expression
_FRAMES = {
    "level and above": "range between unbounded preceding and current row",
    "down to": "rows between unbounded preceding and current row",
    "before": "rows between unbounded preceding and 1 preceding",
}


@dataclass(eq=False)
class _Used:
    """The columns and terms that a statement reads of some rows."""

    columns: dict[str, None] = field(default_factory=dict)
    judgements: dict[str, str] = field(default_factory=dict)  # values that follow from a grade: name by text
    terms: dict[str, list[Term]] = field(default_factory=lambda: {op: [] for op in _WITH_COLUMNS})  # by operation


class Statement(Sources):
    """The terms of one statement, and its text."""

    def __init__(self, dialect: Dialect, truth: Side, run: Side, *, extra: bool, ids: str | None) -> None:
        super().__init__(dialect, truth, run, extra, ids)
        self.tree = Tree()
        self._used: dict[Items, _Used] = {}
        self._visited: set[Term] = set()
        self._shared: dict[Term, None] = {}
        self.named_parts: dict[Term, str] = {}  # shared values per query, with their columns
        self.per_query = self.step("query_sums")  # the step that has them
        self._stages: dict[Term, int] = {}
        self._highest: dict[Items, None] = {}
        self._lists: dict[str, None] = {}  # suffixes of the alignments whose list lengths are read

    def rows_of(self, items: Items) -> str:
        """The step that makes some rows."""
        if items.what == "pooled":
            assert items.of is not None
            return self.step(f"all_{self.rows_of(items.of)}")
        name = _STEPS[items.what]
        if items.what == "ideal":
            name += "_returned" if items.of is not None and items.of.what == "placed" else ""
            name += "_nonzero" if items.nonzero else ""
            name += "" if items.order is None else f"_by_{self.ordinal(items)}"
            name = f"all_{name}" if items.whole else name
        return self.step(name + items.suffix)

    def ordinal(self, items: Items) -> int:
        """Numbers the orders of ideal lists that are not by grade."""
        orders = [other for other in self._used if other.order is not None]
        return 1 + (orders.index(items) if items in orders else len(orders))

    def highest(self, items: Items) -> str:
        """The step that has the highest grade of some rows."""
        return self.step("highest_" + self.rows_of(items))

    def sums_of(self, items: Items) -> str:
        """The step that has the sums over some rows."""
        return self.step(self.rows_of(items).replace("_items", "") + "_sums")

    # -- requirements --------------------------------------------------------------------------------------

    def used(self, items: Items) -> _Used:
        """The requirements of some rows, to be extended."""
        if items not in self._used:
            used = self._used[items] = _Used()
            if items.what == "placed":
                self.used(self.tree.items("ranked", items.suffix)).columns["item_rank"] = None
                self.used(self.tree.items("judged", items.suffix))
            elif items.of is not None:
                of = self.used(items.of)
                graded = items.of.what != "ranked"
                if graded and (items.order is None or items.what == "pooled"):
                    of.columns["grade"] = None
                for value in (items.order, items.kept):
                    if value is not None:
                        self.visit(value)
                if graded:
                    used.columns["grade"] = None
        return self._used[items]

    def column(self, items: Items, name: str) -> None:
        """Require a column of some rows, and of the rows they are made of."""
        columns = self.used(items).columns
        if name in columns:
            return
        columns[name] = None
        if items.what in ("pooled", "ideal") and name in _WINDOWS:
            if items.what == "pooled" and items.of is not None:
                self.column(items.of, "score")
        elif items.what == "placed":
            side = "judged" if name in ("grade", "place") else "ranked"
            self.column(self.tree.items(side, items.suffix), name)
        elif items.of is not None:
            self.column(items.of, name)

    def share(self, values: Iterable[Term]) -> None:
        """Give terms that are used more than once a column of their own."""
        terms = sorted(_all_of(values), key=lambda value: value.serial)  # parts first
        uses = Counter(part for value in terms for part in value.parts)
        self._shared = dict.fromkeys(value for value, count in uses.items() if count > 1 and _is_compound(value))
        sizes: dict[Term, int] = {}  # of their texts, in operations
        for value in terms:
            size = 1 + sum(sizes[part] for part in value.parts)
            if size > _MOST_OPERATIONS:
                raise InputError(
                    f"a metric repeats a condition too often: written out in SQL, it has more than {_MOST_OPERATIONS} "
                    "operations; use rs.evaluate"
                )
            sizes[value] = 1 if value in self._shared or value.op in _WITH_COLUMNS else size

    def parts(self) -> list[Step]:
        """The steps with shared values per query, each after those it reads."""
        steps: list[Step] = []
        waiting = dict.fromkeys(value for value in self._shared if value.kind == "query" and not _is_pooled(value))
        while waiting:
            ready = [value for value in waiting if not any(part in waiting for part in _all_of(value.parts))]
            source = steps[-1].name if steps else self.step("query_sums")
            at = At(self, values=dict(self.named_parts))
            name = self.step("query_parts" + (f"_{len(steps) + 1}" if steps else ""))
            steps.append(self._extended(name, "values that others are made of" * (not steps), source, ready, at))
            self.named_parts.update((value, self.name_of(value)) for value in ready)
            waiting = dict.fromkeys(value for value in waiting if value not in self.named_parts)
        self.per_query = steps[-1].name if steps else self.step("query_sums")
        return steps

    def visit(self, value: Term) -> None:
        """Require all parts of an expression."""
        if value in self._visited:
            return
        self._visited.add(value)
        if value.op == "column":
            self.column(_of(value), value.args[0])
        elif value.op == "of query":
            self._lists[_of(value).suffix] = None
        elif value.op == "highest grade":
            self._highest[value.args[0]] = None
            self.column(value.args[0], "grade")
        for part in value.parts:
            self.visit(part)
        op = "window" if self.is_window(value) else value.op
        if op in _WITH_COLUMNS:
            self.used(_of(value)).terms[op].append(value)
        if value.op == "window" and value.args[0] in ("level", "level and above", "nth"):
            self.column(_of(value), "items_above")

    def is_window(self, value: Term) -> bool:
        """Whether a value of items has a column in a separate step."""
        return value.op == "window" or (value in self._shared and value.kind == "item")

    def stage(self, value: Term) -> int:
        """Number of window steps that a value of items needs before it."""
        if value not in self._stages:
            inside = max(map(self.stage, value.parts), default=0)
            self._stages[value] = 0 if value.op in ("carried", "spread") else inside + self.is_window(value)
        return self._stages[value]

    # -- windows and sums ------------------------------------------------------------------------------------

    def window(self, value: Term, at: At) -> str:
        if value.op != "window":
            return self.write(value, at)
        over, how, inside, order = value.args
        text = self.write(inside, at)
        if over == "same":
            return text
        each, level = ("", "items_above") if _of(value).whole else ("partition by query ", "query, items_above")
        if over == "nth":
            return self.double(f"row_number() over (partition by {level} order by {text})")
        if over == "level":
            return f"{how}({text}) over (partition by {level})"
        if over == "all":
            return f"{how}({text}) over ({each.strip()})"
        by = "items_above" if over == "level and above" else self.write(order, at)
        total = f"sum({text}) over ({each}order by {by} {_FRAMES[over]})"
        return f"coalesce({total}, 0)" if over == "before" else total

    def _extended(self, name: str, comment: str, source: str, values: Iterable[Term], at: At) -> Step:
        """A step with more columns."""
        columns = [f"{source}.*", *(f"{self.window(value, at)} as {self.name_of(value)}" for value in values)]
        return Step(name, comment, f"{select(columns)}\nfrom {source}")

    # -- steps -----------------------------------------------------------------------------------------------

    def steps(self) -> list[Step]:
        """All required steps in order. Requirements of the truth are complete last."""
        by_items: dict[Items, list[Step]] = {}
        for items in sorted(self._used, key=_depth, reverse=True):
            by_items[items] = [*self._layers(items), *self._sums(items)]
        for items in self._used:
            by_items[items][:0] = self._base(items)
        out: list[Step] = []
        for items in sorted(self._used, key=_depth):
            if items.what == "ranked":
                out += self.returned(items.suffix)
            out += by_items[items]
            if items in self._highest:
                most = "coalesce(max(grade), 0)"
                body = (
                    f"select case when {most} > 0 then {most} else 0 end as highest_grade\nfrom {self.rows_of(items)}"
                )
                out.append(Step(self.highest(items), "the highest grade of all", body))
        ranked = {items.suffix for items in self._used if items.what == "ranked"}
        out += [step for suffix in self.hows if suffix not in ranked for step in self.returned(suffix)]
        for suffix in dict.fromkeys(["", *self._lists]):
            out += self.list_lengths(suffix)
        return [*self.user_steps(), *out]

    def _layers(self, items: Items) -> Iterator[Step]:
        windows: dict[int, list[Term]] = {}
        for value in self._used[items].terms["window"]:
            windows.setdefault(self.stage(value), []).append(value)
        for stage in sorted(windows):
            before, at = self.layer(items, stage - 1), At(self, items, stage - 1)
            yield self._extended(self.layer(items, stage), "", before, windows[stage], at)

    def layer(self, items: Items, stage: int) -> str:
        """The step with all windows up to a stage."""
        return self.rows_of(items) + (f"_{stage + 1}" if stage else "")

    def at_last(self, items: Items) -> At:
        """The scope of the step with all windows."""
        return At(self, items, max(map(self.stage, self._used[items].terms["window"]), default=0))

    def last(self, items: Items) -> str:
        """The step with all windows."""
        return self.layer(items, self.at_last(items).stage)

    def _sums(self, items: Items) -> Iterator[Step]:
        aggregates = self._used[items].terms["aggregate"]
        if not aggregates:
            return
        at = self.at_last(items)
        columns = [f"{self._aggregate(value, at)} as {self.name_of(value)}" for value in aggregates]
        each = not items.whole
        body = select(["query", *columns] if each else columns) + f"\nfrom {self.last(items)}"
        yield Step(self.sums_of(items), "", body + ("\ngroup by query" if each else ""))

    def _aggregate(self, value: Term, at: At) -> str:
        how, inside = value.args
        if how == "sum" and inside.number == 1:
            return self.double("count(*)")
        return f"{how}({self.write(inside, at)})"

    def _base(self, items: Items) -> list[Step]:
        """The steps that make some rows."""
        used = self._used[items]
        if items.what == "judged":
            return list(self._judged(items, used))
        if items.what == "ranked":
            return [Step(self.rows_of(items), "where each returned item stands", self._ranked(items, used))]
        if items.what == "placed":
            return self._placed(items, used)
        return [self._reordered(items, used)]

    def _reordered(self, items: Items, used: _Used) -> Step:
        """Rows derived from others: the ideal list, or all queries as one list."""
        name = self.rows_of(items)
        assert items.of is not None
        source = self.last(items.of)
        carried = [column for column in used.columns if column not in _WINDOWS]
        carried += [column for column in used.judgements.values() if column not in carried]
        spread, joins = self._spread(items, "i")
        columns = [f"i.{column} as {column}" for column in carried]
        if items.what == "pooled":
            comment, order = "all queries as one", "order by i.score desc"
            columns += self._windows(used, f"row_number() over ({order})", order, "i.score")
            where = "" if items.kept is None else "\nwhere " + self.write(items.kept, self.at_last(items.of))
        else:
            comment = "the best order of what " + ("is judged" if items.of.what != "placed" else "was found")
            by = "grade" if items.order is None else self.write(items.order, self.at_last(items.of))
            by = f"i.{by}" if re.fullmatch(r"\w+", by) else by
            each = "" if items.whole else "partition by i.query "
            columns = ["i.query as query"] * bool(each) + columns
            columns.append(f"{self.double(f'row_number() over ({each}order by {by} desc)')} as item_rank")
            where = "\nwhere i.grade <> 0" if items.nonzero else ""
        return Step(name, comment, f"{select(columns + spread)}\nfrom {source} as i{joins}{where}")

    def _windows(self, used: _Used, rank: str, best_first: str, level: str) -> list[str]:
        """The rank columns that are read."""
        windows = (rank, f"rank() over ({best_first}) - 1", f"count(*) over (partition by {level})")
        texts = dict(zip(_WINDOWS, windows, strict=True))
        return [f"{self.double(text)} as {name}" for name, text in texts.items() if name in used.columns]

    def _spread(self, items: Items, letter: str) -> tuple[list[str], str]:
        """Columns with values of each item's query, and their joins."""
        spreads = self._used[items].terms["spread"]
        if items.whole:
            return [f"{At(self).named(value.args[0])} as {self.name_of(value)}" for value in spreads], ""
        return self._query_columns(letter, ((value.args[0], value) for value in spreads))

    def _query_columns(self, letter: str, values: Iterable[tuple[Term, Term]]) -> tuple[list[str], str]:
        """Columns with values of each row's query, each under the name of another term, and their joins."""
        columns: list[str] = []
        joins: dict[str, str] = {}
        for value, other in values:
            alias = joins.setdefault(self.of_query(value), f"s{len(joins) + 1}")
            column = f"{alias}.{value.args[0] if value.op == 'of query' else self.name_of(value)}"
            filled = column if value.infinite else f"coalesce({column}, {self.number(0.0)})"  # there may be no row
            columns.append(f"{filled} as {self.column_of(other)}")
        on = (f"\nleft join {step} as {alias} on {alias}.query = {letter}.query" for step, alias in joins.items())
        return columns, "".join(on)

    def of_query(self, value: Term) -> str:
        """The step that holds a value of each query."""
        return self.lists(_of(value).suffix) if value.op == "of query" else self.sums_of(_of(value))

    def column_of(self, value: Term) -> str:
        """Its column name among the values of a query."""
        return value.args[0] + _of(value).suffix if value.op == "of query" else self.name_of(value)

    # -- the user's rows -------------------------------------------------------------------------------------

    def _order(self, how: How) -> str:
        """In ranked order, ties by item."""
        rule = TIES[how.order]
        direction = " desc" if rule.descending else ""
        if rule.by == "input":
            return f"order by r.score desc, r.position{direction}"
        if self.ids is None and self.dialect.by_kind:
            return f"order by r.score desc, {self.dialect.by_kind.format('r.item', direction)}"
        return f"order by r.score desc, r.item{direction}"

    def _judged(self, items: Items, used: _Used) -> Iterator[Step]:
        side, how = self.truth, self.hows[items.suffix]
        rows, item, position, value = self.opened(side)
        columns = [f"{self.query_of(side)} as query", f"{self.id_of(item)} as item"]
        columns.append(f"{self.value_of(value) if value else self.double('1')} as grade")
        ordered = "place" in used.columns or how.truth_duplicates == "first"
        if ordered:
            columns.append(f"{self.double(position)} as place")
        gains = [f"{text} as {name}" for text, name in used.judgements.items()]
        spread, joins = self._spread(items, "j")
        name, comment, source = (
            self.rows_of(items),
            "what is judged, and what it is worth",
            self.all_judged(items.suffix),
        )
        inside = f"{select(columns, 4)}\n  from {rows}"
        if source != name:
            yield Step(source, "all judgements", f"{select(columns)}\nfrom {rows}")
            inside = f"select * from {source}"
        elif not gains and not spread and how.truth_duplicates != "count":
            yield Step(name, comment, f"{select(columns)}\nfrom {rows}")
            return
        outer = ["j.query as query" if spread else "query", "item", "grade", *(["place"] if ordered else []), *gains]
        outer += spread
        where = ""
        if how.truth_duplicates in ("first", "count"):
            by = "place" if how.truth_duplicates == "first" else "grade"
            nth = f"row_number() over (partition by query, item order by {by}) as nth_judgement"
            inside = f"select j.*, {nth}\n  from (\n  {inside}\n  ) as j"
            outer.append("nth_judgement")
            where = "\nwhere nth_judgement = 1" if how.truth_duplicates == "first" else ""
        elif how.merges_truth:
            merged = ["query", "item", "max(grade) as grade", *(["min(place) as place"] if ordered else [])]
            inside = f"{select(merged, 4)}\n  from {source}\n  group by query, item"
        yield Step(name, comment, f"{select(outer)}\nfrom (\n  {inside}\n) as j{joins}{where}")

    def _counts_ties(self, suffix: str) -> bool:
        """Whether tied items are counted for judged items only, instead of sorting all items."""
        ranked = self._used.get(self.tree.items("ranked", suffix))
        by_item = self.dialect.counts_ties and TIES[self.hows[suffix].order].by == "item"
        return by_item and ranked is not None and not (ranked.terms["window"] or ranked.terms["aggregate"])

    def _ranked(self, items: Items, used: _Used) -> str:
        how, apart = self.hows[items.suffix], self._counts_ties(items.suffix)
        columns = ["r.query as query", "r.item as item"]
        if "score" in used.columns or apart:
            columns.append("r.score as score")
        best_first = "partition by r.query order by r.score desc"
        rank = (
            f"rank() over ({best_first})" if apart else f"row_number() over (partition by r.query {self._order(how)})"
        )
        columns += self._windows(used, rank, best_first, "r.query, r.score")
        spread, joins = self._spread(items, "r")
        return f"{select(columns + spread)}\nfrom {self.step('returned_items' + items.suffix)} as r{joins}"

    def _placed(self, items: Items, used: _Used) -> list[Step]:
        how, apart = self.hows[items.suffix], self._counts_ties(items.suffix)
        ranked, judged = (self.tree.items(what, items.suffix) for what in ("ranked", "judged"))
        own = ["query", *(["item", "item_rank"] if apart or how.duplicates == "once" else []), *["score"] * apart]
        names = list(dict.fromkeys([*own, *used.columns, *used.judgements.values()]))
        truth = {"grade", "place", *used.judgements.values()}
        columns = [f"{'t' if name in truth else 'r'}.{name} as {name}" for name in names]
        columns += [f"r.{self.name_of(value.args[0])} as {self.name_of(value)}" for value in used.terms["carried"]]
        spread, joins = self._spread(items, "r")
        on = "t.query = r.query and t.item = r.item" + " and t.nth_judgement = 1" * (how.truth_duplicates == "count")
        body = (
            f"{select(columns + spread)}\nfrom {self.last(ranked)} as r\njoin {self.last(judged)} as t on {on}{joins}"
        )
        steps = [Step(self.rows_of(items), "the judged items among the returned ones", body)]
        if apart:
            names += [self.name_of(value) for op in ("carried", "spread") for value in used.terms[op]]
            steps = self._counted(items.suffix, steps[0], names)
        if how.duplicates == "once":
            nth = "row_number() over (partition by query, item order by item_rank) as nth_return"
            inside = f"select r.*, {nth}\nfrom (\n{indented(steps[-1].body)}\n) as r"
            body = f"select *\nfrom (\n{indented(inside)}\n) as r\nwhere nth_return = 1"
            steps[-1] = Step(steps[-1].name, "the judged items among the returned ones, each once", body)
        return steps

    def _counted(self, suffix: str, placed: Step, names: Sequence[str]) -> list[Step]:
        """The same with tied items counted: those of the same score that are ranked above."""
        how, hits, tied = self.hows[suffix], self.step("found_items" + suffix), self.step("tied_items" + suffix)
        keys, before = ("query", "item", "score"), ">" if TIES[how.order].descending else "<"
        source, rank = hits, "f.item_rank + coalesce(a.ahead, 0)"
        if how.duplicates in ("count", "once"):  # a repeated row has two ranks
            source = f"(select distinct {', '.join(keys)} from {hits})"
            rank += " + row_number() over (partition by f.query, f.item, f.score) - 1"
        level = f"r.query = f.query and r.score = f.score and r.item {before} f.item"
        count = select([*(f"f.{key} as {key}" for key in keys), "count(*) as ahead"])
        count += f"\nfrom {source} as f\njoin {self.step('returned_items' + suffix)} as r on {level}"
        columns = [f"{self.double(rank) if name == 'item_rank' else f'f.{name}'} as {name}" for name in names]
        same = " and ".join(f"a.{key} = f.{key}" for key in keys)
        body = f"{select(columns)}\nfrom {hits} as f\nleft join {tied} as a on {same}"
        return [
            Step(hits, placed.comment, placed.body),
            Step(tied, "how many of the same score come first", f"{count}\ngroup by f.query, f.item, f.score"),
            Step(placed.name, "where they stand", body),
        ]

    # -- queries ---------------------------------------------------------------------------------------------

    def query_sums(self, values: Iterable[Term], more: Sequence[str], joins: str) -> Step:
        """Numerators and denominators per query."""
        columns, joined = self._query_columns("q", ((value, value) for value in values))
        columns = ["q.query as query", "q.is_judged as is_judged", *more, *columns]
        return Step(
            self.step("query_sums"),
            "numerators and denominators per query",
            f"{select(columns)}\nfrom {self.step('queries')} as q{joined}{joins}",
        )

    def leaves(self, values: Iterable[Term]) -> dict[Term, None]:
        """The values per query that expressions read."""
        leaves: dict[Term, None] = {}
        for value in outermost(values, lambda value: value.op in ("aggregate", "of query")):
            if not _of(value).whole:
                leaves[value] = None
            elif value.op == "of query":
                own = self.tree.items("ranked", _of(value).suffix)
                leaves[self.tree.node("of query", value.args[0], kind="query", items=own)] = None
        return leaves


@dataclass(frozen=True)
class At:
    """The scope of an expression: the columns it can read."""

    to: Statement
    items: Items | None = None
    stage: int = 0
    values: dict[Term, str] = field(default_factory=dict)  # columns of query_values

    def named(self, value: Term) -> str | None:
        """The column of a value in this scope, if any."""
        if value in self.values:
            return self.values[value]
        if value.op == "column":
            return str(value.args[0])
        if value.op in ("carried", "spread"):
            return self.to.name_of(value)
        if self.to.is_window(value):
            return self.to.name_of(value) if self.to.stage(value) <= self.stage else None
        if value.op in ("aggregate", "of query"):
            return self._of_query(value)
        if value.op == "highest grade":
            return f"(select highest_grade from {self.to.highest(value.args[0])})"
        if value.op == "weight":
            return "weight"
        if value.op == "is judged":
            return "is_judged"
        if value.name and self.items is not None and value.op not in ("number", "parameter") and _judges(value):
            return self._judgement(value)
        return None

    def _of_query(self, value: Term) -> str:
        to, items = self.to, _of(value)
        if not items.whole:
            return to.column_of(value)
        if value.op == "of query":
            return f"(select sum({to.column_of(value)}) from {to.step('query_sums')})"
        column = to.name_of(value)
        filled = column if value.infinite else f"coalesce({column}, 0)"
        return f"(select {filled} from {to.sums_of(items)})"

    def _judgement(self, value: Term) -> str:
        """A value that depends on the grade only is computed once, next to the grade."""
        text = self.to.write(value, At(self.to))
        items, name = self.items, self.to.name_of(text, value.name)
        while items is not None:
            self.to.used(items).judgements[text] = name
            if items.what == "placed":
                self.to.used(self.to.tree.items("judged", items.suffix)).judgements[text] = name
            items = items.of
        return name


def _of(value: Term) -> Items:
    assert value.items is not None
    return value.items


def _depth(items: Items) -> int:
    """Rows that others are derived from come first."""
    depth = {"judged": 0, "ranked": 1, "placed": 2, "ideal": 3, "pooled": 5}[items.what]
    return depth + 3 * (items.whole and items.what == "ideal")


_COMPOUND = ("where", "+", "-", "*", "/", "power", "log2", "ln", "exp", "sqrt", "least", "greatest", "or_else")


def _is_compound(value: Term) -> bool:
    """Whether a term is worth a column: an operation on operations that no step has already."""
    named = value.kind == "item" and value.name and _judges(value)  # a column next to the grade
    if value.op not in _COMPOUND or value.kind not in ("item", "query") or named:
        return False
    if value.items is not None and value.items.what == "ranked":
        return False
    return any(part.op in _COMPOUND or value.op == "where" for part in value.parts)


def _is_pooled(value: Term) -> bool:
    """Whether a value reads all queries as one list."""
    return any(part.items is not None and part.items.whole for part in _all_of([value]))


def _all_of(values: Iterable[Term]) -> dict[Term, None]:
    """Terms and all their parts."""
    terms: dict[Term, None] = {}
    waiting = list(values)
    while waiting:
        if (value := waiting.pop()) not in terms:
            terms[value] = None
            waiting += value.parts
    return terms


@lru_cache(maxsize=1 << 14)
def _judges(value: Term) -> bool:
    """Whether a value depends on the grade only."""
    if value.op == "column":
        return bool(value.args[0] == "grade")
    if value.op in ("window", "aggregate", "of query", "spread", "carried"):
        return False
    return all(map(_judges, value.parts)) and (bool(value.parts) or value.op in ("number", "null", "parameter"))
