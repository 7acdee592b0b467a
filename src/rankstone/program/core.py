"""The core's back-end: a graph becomes steps that program.cpp runs over a few queries at a time, on all cores."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from rankstone import _core
from rankstone.align.alignment import Alignment, Floats, lengths
from rankstone.align.elementwise import ELEMENTWISE, Discount, discount_table, table_lookup
from rankstone.program.flat import Flat
from rankstone.program.graph import CONDITIONS, EXPANSIONS, Call, Expression, Fault, FunctionsOf, Space, walk

_ALL = 1 << 60  # more items than there are
_FEW = 32  # entries of a gain table that are compared one by one
SHORT = 1024  # entries of a table of discounts, at least: so that short lists need no new table


class Table(NamedTuple):
    """Discounts by rank, or their sums."""

    discount: Discount
    summed: bool
    space: Space
    depth: float  # the deepest place that any metric looks at

    def over(self, flat: Flat) -> Floats:
        """Its entries, down to the deepest place that is looked up."""
        deep = self.depth if self.depth < SHORT else max(SHORT, min(self.depth, _deepest(self.space, flat)))
        return self.entries(deep)

    def entries(self, depth: float) -> Floats:
        return discount_table(self.discount, int(depth), self.summed)


def _deepest(space: Space, flat: Flat) -> int:
    """The deepest place of any item, and the longest list."""
    alignment = flat.view(space)
    longest = int(lengths(flat.rows(space).offsets).max(initial=0)) if space.ranked_by_place else 0
    return max(alignment.deepest, longest, 1)


# -- depth: how far down the lists some values look ------------------------------------------------------------


def depths(values: Iterable[Expression]) -> tuple[dict[Expression, float], dict[Space, float]]:
    """How many items of a list are needed: of each expression that others are made of, and of each space."""
    need: dict[Expression, float] = {}
    spaces: dict[Space, float] = {}
    for one in reversed(list(walk(values))):
        inside = need.setdefault(one, math.inf)
        if one.space is not None and (one.kind == "item" or one.op == "length"):
            whole = one.op == "length" or one.space.what == "subtopics"
            spaces[one.space] = max(spaces.get(one.space, 0.0), math.inf if whole else inside)
        if one.op in _FURTHER or one.kind == "query":
            inside = math.inf
        if one.op == "sum_to" and _in_order(one.args[1]) and one.args[2].number is not None:
            inside = one.args[2].number  # the nth item never stands above rank n
        for arg in one.args:
            need[arg] = max(need.get(arg, 0.0), inside)
    return need, spaces


_FURTHER = ("tied_sum", "above_sum", "tied_nth", "at", "upto")  # which read items further down, or of other lists


def _in_order(rank: Expression) -> bool:
    """Are ranks at least 1, 2, 3 ... down the list."""
    space = cast("Space", rank.space)
    return space.what != "subtopics" and (space.ranked_by_place or rank.op == "column")


# -- operations that the core has no step for, in terms of those that it has -----------------------------------


def _expanded(one: Expression, args: Sequence[Expression], need: float) -> Expression:
    return EXPANSIONS[one.op](one.graph, one, *args)


def _sum_to(one: Expression, args: Sequence[Expression], need: float) -> Expression:
    graph, space = one.graph, cast("Space", one.space)
    values, rank, k = args
    if not (space.ranked_by_place or rank.op == "column"):
        return _expanded(one, args, need)
    # The first k places are the top of the list: its running sum serves every k.
    running = graph.node("running", values, kind="item", space=space)
    count = k if rank.op == "nth" else graph.node("upto", rank, k, params=(space,), kind="query")
    return graph.node("at", running, count, params=(space,), kind="query")


def _table(one: Expression, at: Expression, summed: bool, need: float) -> Expression:
    table = Table(one.params[0], summed, cast("Space", one.space), need)
    return one.graph.node("table", at, params=(table,), kind=at.kind, space=at.space)


def _discount_total(one: Expression, args: Sequence[Expression], need: float) -> Expression | None:
    within = args[0].args if args[0].op == "minimum" else args
    if not any(part.op == "column" and part.params == ("retrieved",) for part in within):
        return None  # places beyond the lists
    return _table(one, args[0], True, math.inf)


def _rounded(one: Expression, args: Sequence[Expression], need: float) -> Expression:
    scale = 10.0 ** cast("float", args[1].number)
    return one.graph.node("rint", args[0] * scale, kind=one.kind, space=one.space) / scale


def _where(one: Expression, args: Sequence[Expression], need: float) -> Expression | None:
    is_number = args[0].op in CONDITIONS and (args[1].number, args[2].number) == (1.0, 0.0)
    return args[0] if is_number else one.graph.call("where", *args)


def _lookup(one: Expression, args: Sequence[Expression], need: float) -> Expression | None:
    return None if len(one.params[0]) > _FEW else table_lookup(FunctionsOf(one.graph), args[0], one.params[0])


# Each gives an expression of other operations, or None where only arrays can compute it.
LOWERED: Mapping[str, Callable[[Expression, Sequence[Expression], float], Expression | None]] = {
    **dict.fromkeys(EXPANSIONS, _expanded),
    "sum_to": _sum_to,
    "discount": lambda one, args, need: _table(one, args[0], False, need),
    "discount_sum": lambda one, args, need: _table(one, args[0], True, need),
    "discount_total": _discount_total,
    "lookup": _lookup,
    "round": _rounded,
    "where": _where,
    "by_count": lambda one, args, need: one.graph.of(one.params[0](FunctionsOf(one.graph), args[0])),
}
# Steps by the core's names.
STEPS = {
    **{op: op for op in ELEMENTWISE},
    **{op: op for op in ("spread", "nth", "length", "sum", "highest", "lowest", "product", "running", "surviving")},
    **{op: op for op in ("rint", "table", "at", "upto", "elsewhere")},
    "above_sum": "higher",
    "tied_sum": "level",
}


class _Lowering:
    """A graph in the core's steps."""

    def __init__(self, values: Sequence[Expression]) -> None:
        self.need, self.depths = depths(values)
        self._lowered: dict[Expression, Expression] = {}

    def __call__(self, value: Expression) -> Expression:
        for one in walk([value], self._lowered):
            self._lowered[one] = self._made(one)
        return self._lowered[value]

    def _made(self, one: Expression) -> Expression:
        if one.kind == "number" or one.op in ("column", "array"):
            return one
        args = [self._lowered[arg] for arg in one.args]
        made: Expression | None = None
        if one.op in LOWERED:
            made = LOWERED[one.op](one, args, self.need.get(one, math.inf))
            made = made if made is None or made is one else self(made)
        elif one.op in STEPS:
            made = one if all(new is old for new, old in zip(args, one.args, strict=True)) else self._again(one, args)
        if made is None:  # computed over arrays, and read as a column
            made = one.graph.node("array", params=(one,), kind=one.kind, space=one.space)
        return made

    def _again(self, one: Expression, args: Sequence[Expression]) -> Expression:
        return one.graph.node(one.op, *args, params=one.params, kind=one.kind, space=one.space)


# -- programs ------------------------------------------------------------------------------------------------


class CoreColumn(NamedTuple):
    """What a step reads of an alignment."""

    what: str  # "item", "query", "offsets" or "array"
    space: Space | None
    name: str
    params: tuple[Any, ...] = ()

    def fetch(self, flat: Flat) -> Any:
        """The array; None where nothing is tied."""
        space = cast("Space", self.space)
        if self.what == "array":
            size = len(flat.alignment) if self.params[0].kind == "query" else int(flat.rows(space).offsets[-1])
            return np.ascontiguousarray(np.broadcast_to(flat.value(self.params[0]), size), dtype=np.float64)
        if self.what == "offsets":
            return flat.rows(space).offsets
        if self.params or (self.what == "query" and space.what == "subtopics"):
            column = flat.run(Call("column", (self.name, *self.params), self.what, space))
        elif self.what == "query":
            column = getattr(flat.view(space), self.name)
        else:
            column = flat.rows(space).column(self.name)
        if column is None or column.dtype in (np.float64, np.int64, np.bool_):
            return column
        return column.astype(np.float64)

    @property
    def field(self) -> str | None:
        """Its name among the core's own fields; None for what is made of them."""
        space = cast("Space", self.space)
        if self.params or space.view is not None or space.order is not None or space.nonzero:
            return None
        if space.of is not None and space.of.what != "truth":  # the best order of others than the truth's
            return None
        return _FIELDS.get((self.what, space.what, self.name))


_FIELDS = {
    ("offsets", "placed", ""): "placed_offsets",
    ("offsets", "truth", ""): "truth_offsets",
    ("offsets", "ideal", ""): "truth_offsets",
    ("item", "truth", "grade"): "truth_grades",
    ("item", "ideal", "grade"): "ideal_grades",
    **{("item", "placed", name): name for name in ("rank", "grade", "score", "place", "above", "tied")},
    **{("query", "placed", name): name for name in ("retrieved", "present")},
}


class Program:
    """The steps that make some values of each query."""

    def __init__(self, values: Sequence[Expression], faults: Sequence[Fault]) -> None:
        self.values, self.faults = values, tuple(faults)
        conditions = [part for fault in faults for part in (fault.condition, fault.value) if part is not None]
        lower = _Lowering([*values, *conditions])
        writer = _Writer(lower)
        for at, fault in enumerate(faults):
            writer.raise_where(fault, at)
        self.at = writer.answers(values)
        self.columns, self.numbers = list(writer.columns), list(writer.numbers)
        self.tables = list(writer.tables)
        # Is a query's value the same whatever other queries there are, and made of the alignment's own fields.
        known = all(value.kind != "number" or value.number is not None for value in (*values, *writer.numbers))
        self.alone = known and all(column.field is not None for column in self.columns)
        spaces = [
            (writer.columns[CoreColumn("offsets", space, "")], None if depth > _ALL else int(depth))
            for space in writer.spaces
            if space is not None
            for depth in (lower.depths.get(space, math.inf),)
        ]
        steps, registers = _with_few_registers(writer.steps, list(writer.numbers.values()))
        self.core = _core.Program(
            steps, spaces, list(range(len(self.numbers))), registers, len(self.columns), len(self.tables), len(self.at),
            len(faults),
        )  # fmt: skip

    def run(
        self, alignment: Alignment, threads: int
    ) -> tuple[dict[Expression, Floats | float], list[Exception | None]]:
        """The values of each query, or a number where it is the same for all; and what is wrong, by fault."""
        flat = Flat(alignment)
        answers, failures = self.core.run(
            len(alignment),
            [column.fetch(flat) for column in self.columns],
            [float(flat.value(number)) for number in self.numbers],
            [table.over(flat) for table in self.tables],
            threads,
        )
        values: dict[Expression, Floats | float] = {
            value: answers[self.at[value]] if value in self.at else float(flat.value(value)) for value in self.values
        }
        errors = [
            None if query < 0 else fault.error(query, value)
            for fault, (query, value) in zip(self.faults, failures, strict=True)
        ]
        return values, errors


# Which parts of a step are registers; else all three are.
_READS = {"column": (), "nth": (), "length": (), "table": (3,), "sum": (3,), "highest": (3,), "lowest": (3,),
          "product": (3,), "at": (3, 5), "upto": (3, 5), "elsewhere": (3, 5), "refuse": (3, 5),
          "answer": (3,)}  # fmt: skip


def _with_few_registers(steps: list[tuple[Any, ...]], kept: list[int]) -> tuple[list[tuple[Any, ...]], int]:
    """The same steps with registers that are used again after their last read; those that are kept come first."""
    last = {step[at]: nth for nth, step in enumerate(steps) for at in _READS.get(step[0], (3, 4, 5))}
    where = {register: at for at, register in enumerate(kept)}
    free: list[int] = []
    stay, count = set(kept), len(kept)
    out = []
    for nth, step in enumerate(steps):
        reads = _READS.get(step[0], (3, 4, 5))
        parts = [where.get(part, part) if at in reads else part for at, part in enumerate(step)]
        if step[2] >= 0:
            if not free:
                free.append(count)
                count += 1
            parts[2] = where[step[2]] = free.pop()
        free += {where[step[at]] for at in reads if last[step[at]] == nth and step[at] >= 0 and step[at] not in stay}
        out.append(tuple(parts))
    return out, count


class _Writer:
    """Writes expressions down as steps, each once."""

    def __init__(self, lower: _Lowering) -> None:
        self.lower = lower
        self.steps: list[tuple[Any, ...]] = []
        self.spaces: dict[Space | None, int] = {None: 0}
        self.columns: dict[CoreColumn, int] = {}
        self.numbers: dict[Expression, int] = {}  # with the registers they stay in
        self.tables: dict[Table, int] = {}
        self._registers = 0
        self._at: dict[Expression, int] = {}  # registers, as if there were no end of them

    def raise_where(self, fault: Fault, at: int) -> None:
        condition, value = self.lower(fault.condition), fault.value
        shown = -1 if value is None else self.write(self.lower(value))
        self._step("refuse", condition, -1, self.write(condition), at, shown)

    def answers(self, values: Sequence[Expression]) -> dict[Expression, int]:
        """Each value that is not the same for all, once."""
        at: dict[Expression, int] = {}
        for value in values:
            if value.kind != "number" and value not in at:
                at[value] = len(at)
                made = self.lower(value)
                self._step("answer", made, -1, self.write(made), at[value])
        return at

    def write(self, value: Expression) -> int:
        """The register that it is in."""
        for one in walk([value], self._at):
            if one.kind == "number":
                self._at[one] = self.numbers[one] = self._register()
            else:
                self._at[one] = self._made(one, [self._at[arg] for arg in one.args])
        return self._at[value]

    def _made(self, value: Expression, parts: list[int]) -> int:
        operands: Sequence[int] = parts
        op = value.op
        if op in ("column", "array"):
            op, operands = "column", self._field(value)
        elif op == "table":
            operands = parts[0], self._table(value.params[0])
        elif op in ("length", "sum", "highest", "lowest", "product"):
            operands = parts[0] if parts else -1, self._space(value.space)
        elif op == "elsewhere":
            operands = parts[0], self._table(value.params[0]), parts[1]
        elif op in ("at", "upto"):
            operands = parts[0], self._space(value.params[0]), parts[1]
        to = self._register()
        self._step(STEPS.get(op, op), value, to, *operands)
        return to

    def _field(self, value: Expression) -> tuple[int, ...]:
        if value.op == "array":
            return self._column(CoreColumn("array", value.space, "", value.params)), -1, 0
        name, *params = value.params
        if name == "above":  # where nothing is tied, all above are at another rank
            return (
                self._column(CoreColumn("item", value.space, "above")),
                self._column(CoreColumn("item", value.space, "rank")),
                -1,
            )
        if name == "level":
            return self._column(CoreColumn("item", value.space, "tied")), -1, 1
        return self._column(CoreColumn(value.kind, value.space, name, tuple(params))), -1, 0

    def _step(self, op: str, value: Expression, to: int, *operands: int) -> None:
        space = value.space if value.kind == "item" or op == "elsewhere" else None
        self.steps.append((op, self._space(space), to, *operands, *(-1,) * (3 - len(operands))))

    def _space(self, space: Space | None) -> int:
        """The number of a list."""
        if space not in self.spaces:
            self.spaces[space] = len(self.spaces)
            self._column(CoreColumn("offsets", space, ""))
        return self.spaces[space]

    def _table(self, table: Table) -> int:
        return self.tables.setdefault(table, len(self.tables))

    def _column(self, column: CoreColumn) -> int:
        return self.columns.setdefault(column, len(self.columns))

    def _register(self) -> int:
        self._registers += 1
        return self._registers - 1
