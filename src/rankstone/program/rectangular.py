"""The rectangular back-end: rows of scores and labels, in any array library and on the device where they live.

A value per item is an array (rows, places), or (rows, columns) where no order is needed; a value per query is
(rows, 1), so that it stands at each of its items.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, reduce
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np
from array_api_compat import array_namespace, device

from rankstone.align.alignment import Relevance
from rankstone.align.elementwise import NUMPY, discount_table, table_lookup
from rankstone.align.ties import TIES, TieRule
from rankstone.data.arrow import PADDING, check_unmasked
from rankstone.errors import InputError, InputTypeError
from rankstone.program import array_libraries as libraries
from rankstone.program.array_libraries import Array
from rankstone.program.graph import Expression, Fault, FunctionsOf, Graph, Space, walk
from rankstone.program.ranking import Ranking, StaticFacts

Layout = Literal["places", "columns"]
Node: TypeAlias = Any  # an expression, whose space is there


class Batch:
    """Rows of items with labels and scores, or with labels in ranked order; no arithmetic of metrics."""

    def __init__(
        self,
        scores: Array,
        labels: Array,
        mask: Array,
        lengths: Array,
        by_rank: Array,
        truth: Array = None,  # the grades of all judged items, where the rows do not hold them all; NaN is none
        *,
        ties: TieRule,
        check: bool = True,  # may a number be read from the device
        float32: bool = False,
        returned_only: bool = False,
        misses: bool = False,
        ranked: bool = True,  # False: no order is needed
        detach: bool = True,  # False: gradients are wanted
    ) -> None:
        self.ties, self.returned_only = ties, returned_only
        self.problems: list[tuple[Array, str]] = []  # rows that have no value, and why
        if (by_rank is None) == (scores is None) or (scores is None) != (labels is None):
            raise InputTypeError("give scores and labels, or labels_by_rank")
        if mask is not None and lengths is not None:
            raise InputTypeError("give a mask or lengths, not both")
        labels = by_rank if labels is None else labels
        given = {"labels": labels, "scores": scores, "mask": mask, "lengths": lengths, "truth": truth}
        present = {name: array for name, array in given.items() if array is not None}
        for array in present.values():
            check_unmasked(array)
        if detach:
            present = {name: libraries.detached(array) for name, array in present.items()}
        self.home = libraries.library_of(present)
        precision = libraries.precision_of(self.home, present)
        self.lent = detach and all(map(libraries.in_host_memory, present.values()))
        if self.lent:
            present = {name: libraries.lent(self.home, array) for name, array in present.items()}
        self.xp = xp = array_namespace(*present.values())
        self.dtype = getattr(xp, precision)
        info = xp.__array_namespace_info__()
        self.whole = info.default_dtypes()["indexing"]
        self.wide = "int64" in info.dtypes(kind="signed integer")
        shape = present["labels"].shape
        if len(shape) not in (1, 2):
            raise InputError(f"labels have shape {tuple(shape)}; give (rows, items) or (items,)")
        for name, array in present.items():
            if name == "truth" and tuple(array.shape[:-1]) == tuple(shape[:-1]):
                continue  # as many items as there are
            if tuple(array.shape) != tuple(shape[:-1] if name == "lengths" else shape):
                raise InputError(f"labels have shape {tuple(shape)} but {name} {tuple(array.shape)}")
        self.flat = len(shape) == 1
        if self.flat:
            present = {name: array[None, ...] for name, array in present.items()}
        labels, scores = present["labels"], present.get("scores")
        self.device = device(labels)
        rows, self.width = labels.shape
        mask = present.get("mask")
        if mask is not None and mask.dtype != xp.bool:
            raise InputTypeError(f"the mask holds {mask.dtype}; it must hold bool, True for a real item")
        if lengths is not None:
            sizes = present["lengths"]
            wrong = (sizes < 0) | (sizes > self.width)
            self.problems.append((wrong, f"lengths must lie between 0 and {self.width}, but do not"))
            mask = xp.arange(self.width, device=self.device)[None, :] < sizes[:, None]
        if self.width == 0:  # one that is not real is easier to work with than none
            labels, mask = (xp.zeros((rows, 1), dtype=d, device=self.device) for d in (labels.dtype, xp.bool))
            scores, self.width = None if scores is None else labels, 1
        self.mask = mask
        self.given = labels  # whole numbers are only turned into others where they are needed
        if xp.isdtype(labels.dtype, "real floating"):
            self.given = self._by_column(xp.astype(labels, self.dtype, copy=False))
            for extreme in (xp.max, xp.min):  # a NaN is both
                self.problems.append((~xp.isfinite(extreme(self.given, axis=-1)), "a label is not finite"))
        elif mask is not None or labels.dtype == xp.bool:
            self.given = self._by_column(xp.astype(labels, self.dtype))
        if xp.isdtype(labels.dtype, ("signed integer", "real floating")):
            problem = f"labels of {PADDING} are padding, not grades (pass mask=labels != {PADDING}),"
            self.problems.append((xp.min(self.given, axis=-1) == PADDING, problem))
        self.truth: Array = None  # None: the rows hold all that is known
        if "truth" in present:
            if returned_only:
                raise InputTypeError(
                    "unjudged='only_returned' reads the list alone: leave truth= out, or use unjudged='nonrelevant'"
                )
            self.truth = self._read_truth(present["truth"])
        self.most = self.width if self.truth is None else self.truth.shape[-1]
        self.scores: Array = None if scores is None else self._comparable(scores, float32)
        self.misses = misses and self.scores is not None
        # Labels by rank with gaps in them have to be moved up, as if they had scores.
        self.ordered = not ranked or (scores is None and (mask is None or lengths is not None))
        self.depth = self.width  # places that are looked at
        if ties.averaged and (self.ordered or (check and self._untied())):
            self.ties = ties = TIES["item_desc"]  # nothing is tied
        if ties.arrange is not None and not self.ordered:
            self._arrange(ties)

    def facts(self, rule: Relevance) -> StaticFacts:
        """What decides the expressions of a metric."""
        return StaticFacts(
            rule, self.ties if self.ties.averaged else None, returned_only=self.returned_only, misses=self.misses,
            ordered_grades=self.truth is not None, tied=not self.ordered and self.ties.arrange is None,
        )  # fmt: skip

    def _arrange(self, ties: TieRule) -> None:
        """Put tied items where the rule says: by what it makes of their grades."""
        ranking = Ranking(Graph(), StaticFacts(Relevance()))
        rank = Rectangular(self).value(ranking.arranged(*cast("Any", ties.arrange)(ranking))._arranged)
        rank = rank if self.inside is None else self.xp.where(self.inside, rank, math.inf)
        self.__dict__["columns"] = self.xp.take_along_axis(self.columns, self.xp.argsort(rank, axis=-1), axis=-1)

    def look(self, depth: float) -> None:
        """Say how many places are looked at."""
        self.depth = int(min(self.width, depth))
        for name in ("places", "inside", "groups"):
            self.__dict__.pop(name, None)

    def _read_truth(self, truth: Array) -> Array:
        """Grades; `judged_cells` says which of them are real."""
        xp = self.xp
        if truth.shape[-1] == 0:
            truth = xp.full((truth.shape[0], 1), math.nan, dtype=self.dtype, device=self.device)
        truth = xp.astype(truth, self.dtype, copy=False)
        self.judged_cells = ~xp.isnan(truth)
        self.problems.append((xp.any(xp.isinf(truth), axis=-1), "a grade of the truth is not finite"))
        return xp.where(self.judged_cells, truth, 0.0)

    def _comparable(self, scores: Array, float32: bool) -> Array:
        xp = self.xp
        if not xp.isdtype(scores.dtype, "real floating"):
            dtypes = xp.__array_namespace_info__().dtypes(kind="real floating")
            scores = xp.astype(scores, dtypes.get("float64", xp.float32))
        self.problems.append((xp.isnan(xp.max(self._by_column(scores), axis=-1)), "a score is NaN"))
        single = float32 or scores.dtype != xp.float64
        return xp.astype(scores, xp.float32 if single else xp.float64, copy=False)

    def number(self, values: Array) -> Array:
        """In the precision that is computed in."""
        return self.xp.astype(values, self.dtype, copy=False)

    def constant(self, values: Array) -> Array:
        """Numbers that do not depend on the data."""
        return self.xp.asarray(np.asarray(values, dtype=np.float64).tolist(), dtype=self.dtype, device=self.device)

    def per_row(self, value: Array) -> Array:
        """A value of each row, (rows, 1)."""
        if isinstance(value, (int, float)):
            return self.xp.full((self.given.shape[0], 1), value, dtype=self.dtype, device=self.device)
        return self.number(value)

    def counting(self, count: int) -> Array:
        """1, 2, ... of shape (1, count), as whole numbers."""
        return self.xp.arange(1, count + 1, dtype=self.whole, device=self.device)[None, :]

    def _by_column(self, values: Array, otherwise: float = 0.0) -> Array:
        """Values by column, 0 for items that are not real."""
        return values if self.mask is None else self.xp.where(self.mask, values, otherwise)

    def count(self, cells: Array) -> Array:
        """How many are true by row, (rows, 1)."""
        return self.number(self.xp.count_nonzero(cells, axis=-1))[:, None]

    @cached_property
    def retrieved(self) -> Array:
        return self.per_row(float(self.width)) if self.mask is None else self.count(self.mask)

    # -- order -----------------------------------------------------------------------------------------------

    @cached_property
    def places(self) -> Array:
        return self.counting(self.depth)

    @cached_property
    def _sorted(self) -> tuple[Array, Array]:
        """The column at each place, and a number that tied items share and no other item of the row has."""
        xp, reverse = self.xp, self.ties.descending  # the columns are the items: of tied ones the last goes first
        columns = xp.arange(self.width, dtype=self.whole, device=self.device)
        scores = self.scores
        if scores is None:
            scores = self.number(-columns)[None, :] + 0 * self.number(self.given)
        keys = self._keys(scores)
        turn = columns if reverse else self.width - 1 - columns  # the higher goes first
        if not self.wide:
            tied, at = libraries.largest(xp, xp.flip(keys, axis=-1) if reverse else keys, self.depth)
            return self.width - 1 - at if reverse else at, tied
        if keys.dtype == xp.int64:  # too wide to be packed with the column: number the different ones
            at = xp.argsort(keys, axis=-1, stable=False)
            keys = xp.take_along_axis(keys, at, axis=-1)
            opens = xp.astype(keys[:, 1:] != keys[:, :-1], xp.int64)
            keys = xp.cumulative_sum(opens, axis=-1, include_initial=True)
            turn = at if reverse else self.width - 1 - at
        keys = xp.astype(keys, xp.int64)
        keys <<= 32
        keys |= turn
        packed, _ = libraries.largest(xp, keys, self.depth, spoil=True)
        turn = packed & 0xFFFFFFFF
        return turn if reverse else self.width - 1 - turn, packed >> 32

    def _keys(self, scores: Array) -> Array:
        """Whole numbers in the order of the scores; items that are not real have the lowest."""
        whole, highest = (self.xp.int32, 2**31 - 1) if scores.dtype == self.xp.float32 else (self.xp.int64, 2**63 - 1)
        keys = (scores + 0.0).view(whole)  # -0.0 is 0.0
        flip = keys >> (31 if highest < 2**31 else 63)
        flip &= highest
        keys ^= flip
        return self._by_column(keys, -highest - 1)

    def _untied(self) -> bool:
        """Has no row two items of the same score. Then there is one order, and no need to look beyond the cutoffs."""
        tied = self._sorted[1]
        same = tied[:, 1:] == tied[:, :-1]
        if self.mask is not None:
            place = self.xp.arange(2, tied.shape[-1] + 1, dtype=self.dtype, device=self.device)
            same = self.xp.where(place <= self.retrieved, same, False)
        return not bool(self.xp.any(same))

    @cached_property
    def columns(self) -> Array:
        """The column at each place, from 0."""
        return self.places - 1 if self.ordered else self._sorted[0][:, : self.depth]

    def placed(self, values: Array) -> Array:
        """Values by column in the order of the places."""
        if self.ordered:
            return values[:, : self.depth]
        return self.xp.take_along_axis(values, self.columns[:, : self.depth], axis=-1)

    @cached_property
    def inside(self) -> Array | None:
        """Which places hold an item; None for all of them."""
        if self.mask is None:
            return None
        return self.mask[:, : self.depth] if self.ordered else self.number(self.places) <= self.retrieved

    @cached_property
    def groups(self) -> tuple[Array, Array]:
        """For each place, how many items have a higher score than its item, and how many that or a higher one."""
        xp = self.xp
        if self.ordered:
            return self.places - 1 + xp.zeros_like(self.given, dtype=self.whole), self.places
        tied = self._sorted[1][:, : self.depth]
        opens = xp.concat([xp.ones_like(tied[:, :1], dtype=xp.bool), tied[:, 1:] != tied[:, :-1]], axis=-1)
        starts = self.depth - libraries.largest(xp, xp.where(opens, self.depth + 1 - self.places, 0), self.depth)[0]
        starts = xp.concat([starts, xp.full_like(starts[:, :1], self.depth)], axis=-1)
        group = xp.cumulative_sum(xp.astype(opens, self.whole), axis=-1)
        above, end = (xp.take_along_axis(starts, at, axis=-1) for at in (group - 1, group))
        return above, end

    def first(self, condition: Array) -> Array:
        """Rank of the first item for which a condition holds, by column: nothing is sorted, those above are counted."""
        xp = self.xp
        holds = condition if self.mask is None else condition & self.mask
        best = xp.max(xp.where(holds, self.scores, -math.inf), axis=-1, keepdims=True)
        turn = xp.arange(self.width, dtype=xp.int32, device=self.device)[None, :]
        turn = turn if self.ties.descending else self.width - 1 - turn
        tied = self.scores == best
        next_ = xp.max(xp.where(holds & tied, turn, -1), axis=-1, keepdims=True)
        tied &= turn > next_
        tied |= self.scores > best
        above = self.count(tied if self.mask is None else tied & self.mask)
        return xp.where(next_ >= 0, above + 1.0, math.inf)


class RectangularItems(NamedTuple):
    """The items of a space: (rows, places) each."""

    grade: Array
    nth: Array  # place of each item, (1, places) or (rows, places), as whole numbers
    inside: Array | None  # which places hold an item; None for all of them
    plain: bool  # are the places 1, 2, ...


class Rectangular:
    """Runs expressions over a batch."""

    def __init__(self, batch: Batch, deep: Mapping[Space, float] | None = None, **parameters: Array) -> None:
        self.batch, self.xp, self.parameters = batch, batch.xp, parameters
        self.table = libraries.elementwise(batch.xp, batch.constant, batch.number)
        self._deep = deep or {}
        self._values: dict[tuple[Expression, Layout], Array] = {}
        self._rows: dict[Space, RectangularItems] = {}
        self.grouped: dict[Expression, tuple[Array, Array]] = {}  # sums over sets of tied items

    def run(self, values: Sequence[Expression], faults: Sequence[Fault], label: str, check: bool) -> list[Array]:
        """Values of each row, (rows, 1): NaN for a row that has none, or an error that names the first one."""
        batch, xp = self.batch, self.xp
        found = [batch.per_row(self.value(value)) for value in values]
        problems: list[tuple[Array, str, Array, Any]] = [(*problem, None, None) for problem in batch.problems]
        for fault in faults:
            bad = self.value(fault.condition)
            if fault.condition.kind != "item":
                problems.append((bad[:, 0], fault.problem, None, None))
                continue
            inside = self.rows(cast("Space", fault.condition.space)).inside
            bad = bad if inside is None else bad & inside
            problems.append((xp.any(bad, axis=-1), fault.problem, bad, fault.value))
        if not problems:
            return found
        faulty = reduce(operator.or_, (rows for rows, *_ in problems))
        if not check:
            return [xp.where(faulty[:, None], math.nan, value) for value in found]
        if bool(xp.any(faulty)):
            rows, text, items, value = next(problem for problem in problems if bool(xp.any(problem[0])))
            row = int(xp.argmax(xp.astype(rows, batch.whole)))
            if items is not None and value is not None:
                at = int(xp.argmax(xp.astype(items[row, :], batch.whole)))
                text = text.format(float((self.value(value) + 0.0 * batch.number(items))[row, at]))
            raise InputError(f"{label}: {text} in row {row}")
        return found

    def value(self, value: Expression, layout: Layout = "places") -> Array:
        """A value per item by place or by column, per query (rows, 1), or a plain number."""
        waiting, done = [(value, layout)], self._values
        while waiting:  # not by recursion, as a long sum goes deep
            one, at = waiting[-1]
            if (one, at) not in done:
                if one.op in self.table:
                    parts: list[Any] = [(arg, at if arg.kind == "item" else "places") for arg in one.args]
                    if missing := [part for part in parts if part not in done and part[0].op != "number"]:
                        waiting += missing
                        continue
                    values = [part[0].params[0] if part[0].op == "number" else done[part] for part in parts]
                    done[one, at] = self.table[one.op](*values)
                else:
                    done[one, at] = OPERATIONS[one.op](self, one, at)
            waiting.pop()
        return done[value, layout]

    def call(self, op: str, *operands: Array) -> Array:
        """An operation on values one by one."""
        return self.table[op](*operands)

    def operand(self, one: Node, otherwise: float = 0.0) -> Array:
        """The values that an operation goes over, by place."""
        return self.real(self.value(one.args[0]), one.space, otherwise=otherwise)

    def real(self, values: Array, space: Space, layout: Layout = "places", otherwise: float = 0.0) -> Array:
        """Values, and 0 where there is no item; of all items of the list, also where they are the same for all."""
        batch = self.batch
        by_column = layout == "columns"
        grade = batch.number(batch.given) if by_column else self.rows(space).grade
        inside = batch.mask if by_column else self.rows(space).inside
        if isinstance(values, (int, float)) or values.dtype == self.xp.bool or values.shape[-1] != grade.shape[-1]:
            values = (batch.number(values) if not isinstance(values, (int, float)) else values) + 0.0 * grade
        return values if inside is None else self.xp.where(inside, values, otherwise)

    def rows(self, space: Space) -> RectangularItems:
        """The items of a space."""
        if space not in self._rows:
            self._rows[space] = {"placed": self._placed, "truth": self._truth, "ideal": self._ideal}[space.what](space)
        return self._rows[space]

    def _placed(self, space: Space) -> RectangularItems:
        batch = self.batch
        return RectangularItems(batch.number(batch.placed(batch.given)), batch.places, batch.inside, True)

    def _truth(self, space: Space) -> RectangularItems:
        batch, xp = self.batch, self.xp
        labels, mask = batch.given, batch.mask
        if batch.truth is not None:
            labels, mask = batch.truth, batch.judged_cells
        if mask is None:
            return RectangularItems(batch.number(labels), batch.counting(labels.shape[-1]), None, True)
        places = xp.clip(xp.cumulative_sum(xp.astype(mask, batch.whole), axis=-1), 1, None)
        return RectangularItems(batch.number(labels), places, mask, False)

    def _ideal(self, space: Space) -> RectangularItems:
        batch, xp, of = self.batch, self.xp, cast("Space", space.of)
        if of.what == "placed":
            labels, mask, count = batch.given, batch.mask, batch.retrieved
        else:
            rows = self._truth(of)
            labels, mask = rows.grade if batch.truth is not None else batch.given, rows.inside
            count = batch.retrieved if mask is None else batch.count(mask)
        depth = labels.shape[-1]
        if space.order is not None:
            grade = batch.number(labels)
            layout: Layout = "columns" if of.what == "placed" else "places"
            gains = self.real(self.value(space.order, layout), of, layout, -math.inf)
            order = xp.argsort(gains, axis=-1, descending=True, stable=True)
            grade = xp.take_along_axis(grade, order, axis=-1)
        else:
            if not space.nonzero:
                depth = int(min(self._deep.get(space, math.inf), depth))
            real = labels if mask is None else xp.where(mask, labels, -math.inf)
            grade = batch.number(libraries.largest(xp, real, depth)[0])
        places = batch.counting(depth)
        inside = None if mask is None else batch.number(places) <= count
        if inside is not None:
            grade = xp.where(inside, grade, 0.0)
        if not space.nonzero:
            return RectangularItems(grade, places, inside, True)
        nonzero = grade != 0 if inside is None else (grade != 0) & inside
        places = xp.cumulative_sum(xp.astype(nonzero, batch.whole), axis=-1)
        return RectangularItems(grade, xp.clip(places, 1, None), nonzero, False)

    def take(self, table: Array, at: Array) -> Array:
        """Entries of a table of numbers, by whole numbers of any shape."""
        at = self.xp.astype(at, self.batch.whole, copy=False)
        return self.xp.reshape(self.xp.take(self.batch.constant(table), self.xp.reshape(at, (-1,))), at.shape)


def _column(to: Rectangular, one: Node, layout: Layout) -> Array:
    batch, name = to.batch, one.params[0]
    if one.kind == "query":
        return batch.retrieved >= 0 if name == "present" else batch.retrieved
    if name == "rank":
        return batch.number(batch.places)
    if name in ("above", "level"):
        above, end = batch.groups
        return batch.number(above if name == "above" else end - above)
    if name == "grade":
        return batch.number(batch.given) if layout == "columns" else to.rows(one.space).grade
    if name == "score" and batch.scores is None:
        return to.rows(one.space).grade * math.nan
    if name == "score":
        column = batch.scores
    elif batch.mask is None:
        column = batch.counting(batch.width) + 0 * batch.given
    else:
        column = to.xp.cumulative_sum(to.xp.astype(batch.mask, batch.whole), axis=-1)
    return batch.number(column if layout == "columns" else batch.placed(column))


def _highest_grade(to: Rectangular, one: Node, layout: Layout) -> Array:
    batch = to.batch
    if 0 in batch.given.shape:
        return 0.0
    known = batch._by_column(batch.number(batch.given)) if batch.truth is None else batch.truth
    return to.xp.max(to.table["maximum"](known, 0.0))


def _length(to: Rectangular, one: Node, layout: Layout) -> Array:
    if one.space.what == "truth" and to.batch.truth is not None:
        return to.batch.count(to.batch.judged_cells)
    return to.batch.retrieved


# Operations, and columns, that need the order of the items.
_IN_ORDER = ("nth", "running", "surviving", "above_sum", "tied_sum", "tied_nth", "discount", "mean_discount", "same")


def _unordered(to: Rectangular, value: Node) -> bool:
    """Can values be computed by column, without an order."""
    if to.batch.ordered or value.kind != "item" or value.space.what != "placed":
        return False
    return not any(
        one.op in _IN_ORDER or (one.op == "column" and one.params[0] in ("rank", "above", "level"))
        for one in walk([value])
        if one.kind == "item"
    )


def _reduced(to: Rectangular, one: Node, otherwise: float = 0.0) -> Array:
    """The values that are reduced, by place or by column."""
    layout: Layout = "columns" if _unordered(to, one.args[0]) else "places"
    return to.real(to.value(one.args[0], layout), one.space, layout, otherwise)


def _sum(to: Rectangular, one: Node, layout: Layout) -> Array:
    values = one.args[0]
    if values.number is not None:
        return values.number * _length(to, one, layout)
    if values.op == "where" and (values.args[1].number, values.args[2].number) == (1.0, 0.0):  # whole numbers
        at: Layout = "columns" if _unordered(to, values) else "places"
        cells, inside = to.value(values.args[0], at), to.batch.mask if at == "columns" else to.rows(one.space).inside
        if cells.shape[-1] > 1:
            return to.batch.count(cells if inside is None else cells & inside)
    return to.xp.sum(_reduced(to, one), axis=-1, keepdims=True)


def _sum_to(to: Rectangular, one: Node, layout: Layout) -> Array:
    k, values = to.value(one.args[2]), to.operand(one)
    if one.args[2].op == "parameter":  # several cutoffs at once
        return to.xp.cumulative_sum(values, axis=-1)[:, to.parameters["last"]]
    if to.rows(one.space).plain and one.args[1].op in ("column", "nth") and isinstance(k, (int, float)):
        values = values[:, : int(min(k, values.shape[-1]))]
    else:
        values = to.xp.where(to.value(one.args[1]) <= k, values, 0.0)
    return to.xp.sum(values, axis=-1, keepdims=True)


def _highest(to: Rectangular, one: Node, layout: Layout) -> Array:
    found = to.xp.max(_reduced(to, one, -math.inf), axis=-1, keepdims=True)
    return to.xp.where(found == -math.inf, 0.0, found)


def _first(to: Rectangular, one: Node, layout: Layout) -> Array:
    batch, (condition, rank) = to.batch, one.args
    counted = rank.op == "column" and rank.params[0] == "rank" and batch.ties.arrange is None
    if counted and batch.scores is not None and _unordered(to, condition):
        return batch.first(to.value(condition, "columns"))
    ranks = to.xp.where(to.value(condition), to.value(rank) + 0.0 * to.rows(one.space).grade, math.inf)
    return to.xp.min(to.real(ranks, one.space, otherwise=math.inf), axis=-1, keepdims=True)


def _surviving(to: Rectangular, one: Node, layout: Layout) -> Array:
    reading = to.xp.cumulative_prod(1.0 - to.operand(one), axis=-1)
    return to.xp.concat([to.xp.ones_like(reading[:, :1]), reading[:, :-1]], axis=-1)


def _in_group(to: Rectangular, one: Node) -> tuple[Array, Array]:
    """For each place: sums over the items with a higher score, and over the tied ones."""
    if one.args[0] not in to.grouped:
        above, end = to.batch.groups
        sums = to.xp.cumulative_sum(to.operand(one), axis=-1, include_initial=True)
        before = to.xp.take_along_axis(sums, above, axis=-1)
        to.grouped[one.args[0]] = before, to.xp.take_along_axis(sums, end + 0 * above, axis=-1) - before
    return to.grouped[one.args[0]]


def _tied_nth(to: Rectangular, one: Node, layout: Layout) -> Array:
    xp, above = to.xp, to.batch.groups[0]
    at = xp.argsort(to.value(one.args[0]), axis=-1, stable=True)
    order = xp.argsort(xp.take_along_axis(above, at, axis=-1), axis=-1, stable=True)
    place = xp.argsort(xp.take_along_axis(at, order, axis=-1), axis=-1)
    return to.batch.number(place - above + 1)


def _discount(to: Rectangular, one: Node, layout: Layout) -> Array:
    batch, rank, summed = to.batch, one.args[0], one.op != "discount"
    table = discount_table(one.params[0], max(batch.width, batch.most), summed)
    if summed or rank.kind != "item" or rank.op not in ("column", "nth"):
        return to.take(table, to.value(rank))
    rows = to.rows(one.space)
    return batch.constant(table[1 : rows.nth.shape[-1] + 1])[None, :] if rows.plain else to.take(table, rows.nth)


def _mean_discount(to: Rectangular, one: Node, layout: Layout) -> Array:
    above, level, *k = (to.value(arg) for arg in one.args)
    table = discount_table(one.params[0], to.batch.width, True)
    ends = (to.call("minimum", end, k[0]) if k else end for end in (above, above + level))
    low, high = (to.take(table, end) for end in ends)
    return (high - low) / level


def _by_count(to: Rectangular, one: Node, layout: Layout) -> Array:
    return to.take(one.params[0](NUMPY, np.arange(to.batch.most + 1.0)), to.value(one.args[0]))


def _first_hit(to: Rectangular, one: Node, layout: Layout) -> Array:
    """The mean of 1/rank of the first of `count` relevant items among `size` tied ones after `above` others."""
    above, size, count, limit = (to.value(arg) for arg in one.args)
    step = to.batch.number(to.batch.counting(to.batch.width))
    left = to.table["maximum"](size - step + 1.0, 1.0)
    none = to.xp.cumulative_prod(to.table["maximum"](left - count, 0.0) / left, axis=-1)
    before = to.xp.concat([to.xp.ones_like(none[:, :1]), none[:, :-1]], axis=-1)
    inside = (step <= size) & (above + step <= limit) & (count > 0)
    return to.xp.sum(to.xp.where(inside, (before - none) / (above + step), 0.0), axis=-1, keepdims=True)


OPERATIONS: Mapping[str, Callable[[Rectangular, Node, Layout], Array]] = {
    "number": lambda to, one, layout: one.params[0],
    "parameter": lambda to, one, layout: to.parameters[one.params[0]],
    "column": _column,
    "highest_grade": _highest_grade,
    "spread": lambda to, one, layout: to.value(one.args[0]),
    "same": lambda to, one, layout: to.value(one.args[0]),
    "nth": lambda to, one, layout: to.batch.number(to.rows(one.space).nth),
    "length": _length,
    "sum": _sum,
    "sum_to": _sum_to,
    "highest": _highest,
    "product": lambda to, one, layout: to.xp.prod(to.operand(one, 1.0), axis=-1, keepdims=True),
    "first": _first,
    "running": lambda to, one, layout: to.xp.cumulative_sum(to.operand(one), axis=-1),
    "surviving": _surviving,
    "above_sum": lambda to, one, layout: _in_group(to, one)[0],
    "tied_sum": lambda to, one, layout: _in_group(to, one)[1],
    "tied_nth": _tied_nth,
    "is_repeat": lambda to, one, layout: 0.0,  # a row of a batch has each item once
    "discount": _discount,
    "mean_discount": _mean_discount,
    "discount_total": _discount,
    "lookup": lambda to, one, at: table_lookup(FunctionsOf(to), to.value(one.args[0], at), one.params[0]),
    "by_count": _by_count,
    "first_hit": _first_hit,
}
