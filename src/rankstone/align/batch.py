"""`Batch`: rows of scores and labels as a ranking, in any array library and on the device where they live.

A value an item is an array (rows, places); a value a query is (rows, 1), so that it stands at each of its items.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property, reduce
from operator import or_
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np
from array_api_compat import array_namespace, device, is_jax_array, is_numpy_array, is_torch_array

from rankstone.align.ranked import NUMPY, discounts_up_to, sums_of_discounts
from rankstone.align.ranking import Depth, Discount, Functions, Ideal, Ranking, Relevance, Worth
from rankstone.align.ties import BY_GRADE, SHARED
from rankstone.errors import NoExpectedValue

Array: TypeAlias = Any  # of any library: np.zeros((2, 3)), torch.zeros(2, 3); or a plain number
T = TypeVar("T")

_REVERSED = ("item_desc", "reverse_input")  # the columns are the items: of tied ones the last goes first


class Fault(NamedTuple):
    """Rows that cannot be measured, and why; {} in it is the value of the row's first item that is at fault."""

    rows: Array
    problem: str
    items: Array = None
    values: Array = None


class Rows(Ranking):
    """Lists of items, one a row, from the top; beyond the end of a list stands nothing that counts."""

    dtype: Any  # what is computed in
    whole: Any  # the type of whole numbers
    device: Any
    faults: list[Fault]
    width: int  # items of a row, real or not
    most: int  # items that a row's truth can have
    depth: int  # places that are looked at
    places_of: Array  # the rank at each place, (1, depth) or (rows, depth), as whole numbers
    _memo: dict[Any, Any]

    def _list(self, grade: Array, places_of: Array, inside: Array | None) -> Rows:
        """Other lists of the same rows."""
        other = object.__new__(IdealRows)
        other.__dict__.update(
            {name: getattr(self, name) for name in ("xp", "dtype", "whole", "device", "rule", "faults")},
            batch=weakref.proxy(self),  # it remembers its ideal lists: a circle would keep the memory of both
            grade=grade,
            places_of=places_of,
            inside=inside,
            depth=grade.shape[-1],
            width=max(self.width, grade.shape[-1]),
            _memo={},
        )
        return other

    @cached_property
    def inside(self) -> Array | None:
        """Which places hold an item; None for all of them."""
        return None

    # -- numbers ---------------------------------------------------------------------------------------------

    def number(self, condition: Array) -> Array:
        return self.xp.astype(condition, self.dtype, copy=False)

    def constant(self, values: Array) -> Array:
        """Numbers that do not depend on the data."""
        return self.xp.asarray(np.asarray(values, dtype=np.float64).tolist(), dtype=self.dtype, device=self.device)

    def per_query(self, value: Array) -> Array:
        return self.constant([[value]]) if isinstance(value, (int, float)) else self.number(value)

    def spread(self, values: Array) -> Array:
        return values

    def minimum(self, a: Array, b: Array) -> Array:
        return self.xp.minimum(self._array(a), self._array(b))

    def maximum(self, a: Array, b: Array) -> Array:
        return self.xp.maximum(self._array(a), self._array(b))

    def _array(self, value: Array) -> Array:
        """A number as an array, where the library wants arrays only."""
        return self.constant(value) if isinstance(value, (int, float)) and self.xp is not np else value

    # -- places ----------------------------------------------------------------------------------------------

    @cached_property
    def rank(self) -> Array:
        """The rank of the item at each place: the place, or what tied items share."""
        return self.number(self.places_of)

    @cached_property
    def _places(self) -> Array:
        """1, 2, ... of shape (1, depth)."""
        return self.xp.arange(1, self.depth + 1, dtype=self.whole, device=self.device)[None, :]

    def _real(self, values: Array, otherwise: float = 0.0) -> Array:
        """Values by place, and 0 beyond the end of the list."""
        return values if self.inside is None else self.xp.where(self.inside, values, otherwise)

    def sum(self, values: Array, k: Depth = None) -> Array:
        values = self._real(values)
        return self._cut(self._mean_in_group(values) if self.expected else values, k)

    def _cut(self, values: Array, k: Depth) -> Array:
        """Sum of values by place down to a rank, (rows, 1)."""
        if k is not None:
            if isinstance(k, int) and self.places_of is self._places:
                values = values[:, :k]
            else:
                values = self.xp.where(self.rank <= k, values, 0.0)
        return self.xp.sum(values, axis=-1, keepdims=True)

    def running(self, values: Array) -> Array:
        return self.xp.cumulative_sum(self._real(values), axis=-1)

    def surviving(self, stops: Array) -> Array:
        reading = self.xp.cumulative_prod(1.0 - self._real(stops), axis=-1)
        return self.xp.concat([self.xp.ones_like(reading[:, :1]), reading[:, :-1]], axis=-1)

    def highest(self, values: Array) -> Array:
        if self.inside is None:
            return self.xp.max(values, axis=-1, keepdims=True)
        found = self.xp.max(self._real(values, -math.inf), axis=-1, keepdims=True)
        return self.xp.where(self.xp.any(self.inside, axis=-1, keepdims=True), found, 0.0)

    def discounted(self, gains: Array, discount: Discount, k: Depth = None) -> Array:
        gains = self._real(gains)
        return self._cut((self._mean_in_group(gains) if self.expected else gains) * self._weights(discount), k)

    def _weights(self, discount: Discount) -> Array:
        """What the discount makes of each rank."""
        return self.remember(("discount", discount), lambda: self._looked_up_by_rank(discount))

    def _looked_up_by_rank(self, discount: Discount) -> Array:
        table = self.constant(discounts_up_to(discount, self.width)[1:])
        if self.places_of is self._places:
            return table[None, : self.depth]
        at = self.xp.reshape(self.places_of - 1, (-1,))
        return self.xp.reshape(self.xp.take(table, at), self.places_of.shape)

    def sum_of_discounts(self, discount: Discount, depth: Depth, smooth: bool = False) -> Array:
        if isinstance(depth, int):
            return self.constant([[float(sums_of_discounts(discount, float(depth), smooth))]])
        sums = self.constant(np.cumsum([0.0, *discounts_up_to(discount, self.width)[1:]]))
        depth = self.retrieved if depth is None else depth
        at = self.xp.astype(self.xp.reshape(depth, (-1,)), self.whole)
        return self.xp.reshape(self.xp.take(sums, at), depth.shape)

    def looked_up(self, grades: Array, table: tuple[tuple[float, float], ...]) -> Array:
        values, known = self.xp.zeros_like(grades), grades != grades
        for grade, worth in table:
            values, known = self.xp.where(grades == grade, worth, values), known | (grades == grade)
        self.refuse_items(~known, "the gain table has no entry for grade {:g}", grades)
        return values

    def by_count(self, of: Callable[[Functions, Array], Array]) -> Array:
        if self.rule.credit != "whole":  # then it is no count
            return of(self, self.relevant)
        table = self.constant(of(NUMPY, np.arange(self.most + 1.0)))
        return self.xp.take(table, self.xp.astype(self.relevant[:, 0], self.whole))[:, None]

    def power(self, base: float, exponent: Array) -> Array:
        return base**exponent

    # -- what cannot be measured -----------------------------------------------------------------------------

    def refuse(self, queries: Array, problem: str) -> None:
        self.faults.append(Fault(queries[:, 0], problem))

    def refuse_items(self, items: Array, problem: str, values: Array) -> None:
        items = items if self.inside is None else items & self.inside
        self.faults.append(Fault(self.xp.any(items, axis=-1), problem, items, values))

    def remember(self, key: Hashable, make: Callable[[], T]) -> T:
        if key in self._memo:
            return cast("T", self._memo[key])
        value = self._memo[key] = make()
        return value

    # -- sets of tied items ----------------------------------------------------------------------------------

    @cached_property
    def _groups(self) -> tuple[Array, Array]:
        """For each place, how many items have a higher score than its item, and how many that or a higher one."""
        return self._places - 1 + self.xp.zeros_like(self.grade, dtype=self.whole), self._places

    @property
    def items_above(self) -> Array:
        return self.number(self._groups[0])

    @property
    def items_level(self) -> Array:
        return self.number(self._groups[1] - self._groups[0])

    def higher(self, values: Array) -> Array:
        return self._in_group(values)[0]

    def level(self, values: Array) -> Array:
        return self._in_group(values)[1]

    def _in_group(self, values: Array) -> tuple[Array, Array]:
        """For each place: sums over the items with a higher score, and over the tied ones."""
        above, end = self._groups
        sums = self.xp.cumulative_sum(self._real(values), axis=-1, include_initial=True)
        before = self.xp.take_along_axis(sums, above, axis=-1)
        return before, self.xp.take_along_axis(sums, end + 0 * above, axis=-1) - before

    def _mean_in_group(self, values: Array) -> Array:
        return self.level(values) / self.items_level

    # -- closed forms over all orders of tied items ----------------------------------------------------------

    def expected_precisions(self, k: Depth) -> Array:
        if self.rule.credit != "whole":
            raise NoExpectedValue("has no closed form over all orders of tied items for partly relevant ones")
        before, found = self._in_group(self.credit)
        place, count = self.number(self._places), self.items_level
        nth = place - 1.0 - self.items_above  # of the group, from 0
        slope = (found - 1.0) / self.maximum(count - 1.0, 1.0)
        return self._cut(found / count * (before + 1.0 + nth * slope) / place, k)

    def expected_reciprocal(self, k: Depth) -> Array:
        none = self._none_yet
        before = self.xp.concat([self.xp.ones_like(none[:, :1]), none[:, :-1]], axis=-1)
        return self._cut((before - none) / self.number(self._places), k)

    def chance_of_none(self, k: Depth) -> Array:
        if k is None or isinstance(k, int):
            return self._none_yet[:, min(k or self.depth, self.depth) - 1, None]
        last = self.xp.astype(self.minimum(self.maximum(k, 1.0), float(self.depth)), self.whole) - 1
        return self.xp.where(k < 1, 1.0, self.xp.take_along_axis(self._none_yet, last, axis=-1))

    @cached_property
    def _none_yet(self) -> Array:
        """The chance that no relevant item stands at a place or above it."""
        found = self.level(self.number(self.credit > 0))
        left = self.items_level - (self.number(self._places) - 1.0 - self.items_above)  # of the group, not yet placed
        return self.xp.cumulative_prod(self.maximum(left - found, 0.0) / left, axis=-1)

    def ideal(self, items: Ideal = "judged", worth: Worth | None = None, k: Depth = None) -> Ranking:
        raise TypeError("an ideal list has no ideal list of its own")


class IdealRows(Rows):
    """The ideal lists of a batch, which has the same truth."""

    batch: Batch

    @property
    def retrieved(self) -> Array:
        return self.batch.retrieved

    @property
    def relevant(self) -> Array:
        return self.batch.relevant

    @property
    def nonrelevant(self) -> Array:
        return self.batch.nonrelevant

    @property
    def highest_grade(self) -> Array:
        return self.batch.highest_grade


class Batch(Rows):
    """Rows of items with labels and scores, or with labels in ranked order."""

    def __init__(
        self,
        scores: Array,
        labels: Array,
        mask: Array,
        lengths: Array,
        by_rank: Array,
        truth: Array = None,  # the grades of all judged items, where the rows do not hold them all; NaN is none
        *,
        rule: Relevance,
        ties: str,
        depths: Sequence[int | None],  # how far down the lists will be looked at
        check: bool = True,  # may a number be read from the device
        float32: bool = False,
        listed: bool = False,
        nonpositive_misses: bool = False,
        ranked: bool = True,  # False: no order is needed
    ) -> None:
        self.rule, self.ties, self.listed, self._memo = rule, ties, listed, {}
        self.faults = []
        if (by_rank is None) == (scores is None) or (scores is None) != (labels is None):
            raise TypeError("give scores and labels, or labels_by_rank")
        if mask is not None and lengths is not None:
            raise TypeError("give a mask or lengths, not both")
        labels = by_rank if labels is None else labels
        given = {"labels": labels, "scores": scores, "mask": mask, "lengths": lengths, "truth": truth}
        present = {name: _detached(array) for name, array in given.items() if array is not None}
        self.home = _library(present)
        precision = _precision(self.home, present)
        self.lent = all(map(_in_numpys_reach, present.values()))
        if self.lent:
            present = {name: _lent(self.home, array) for name, array in present.items()}
        self.xp = xp = array_namespace(*present.values())
        self.dtype = getattr(xp, precision)
        info = xp.__array_namespace_info__()
        self.whole = info.default_dtypes()["indexing"]
        self.wide = "int64" in info.dtypes(kind="signed integer")
        shape = present["labels"].shape
        if len(shape) not in (1, 2):
            raise ValueError(f"labels have shape {tuple(shape)}; give (rows, items) or (items,)")
        for name, array in present.items():
            if name == "truth" and tuple(array.shape[:-1]) == tuple(shape[:-1]):
                continue  # as many items as there are
            if tuple(array.shape) != tuple(shape[:-1] if name == "lengths" else shape):
                raise ValueError(f"labels have shape {tuple(shape)} but {name} {tuple(array.shape)}")
        self.flat = len(shape) == 1
        if self.flat:
            present = {name: array[None, ...] for name, array in present.items()}
        labels, scores = present["labels"], present.get("scores")
        self.device = device(labels)
        rows, self.width = labels.shape
        mask = present.get("mask")
        if mask is not None and mask.dtype != xp.bool:
            raise TypeError(f"the mask holds {mask.dtype}; it must hold bool, True for a real item")
        if lengths is not None:
            sizes = present["lengths"]
            wrong = (sizes < 0) | (sizes > self.width)
            self.faults.append(Fault(wrong, f"lengths must lie between 0 and {self.width}, but do not"))
            mask = xp.arange(self.width, device=self.device)[None, :] < sizes[:, None]
        if self.width == 0:  # one that is not real is easier to work with than none
            labels, mask = (xp.zeros((rows, 1), dtype=d, device=self.device) for d in (labels.dtype, xp.bool))
            scores, self.width = None if scores is None else labels, 1
        self.mask = mask
        self.given = labels  # whole numbers are only turned into others where they are needed
        if xp.isdtype(labels.dtype, "real floating"):
            self.given = self._by_column(xp.astype(labels, self.dtype, copy=False))
            for extreme in (xp.max, xp.min):  # a NaN is both
                self.faults.append(Fault(~xp.isfinite(extreme(self.given, axis=-1)), "a label is not finite"))
        elif mask is not None or labels.dtype == xp.bool:
            self.given = self._by_column(xp.astype(labels, self.dtype))
        self.truth: Array = None  # None: the rows hold all that is known
        if "truth" in present:
            if listed:
                raise TypeError("known='returned' looks at the list alone: leave truth= out, or choose known='truth'")
            self.truth = self._read_truth(present["truth"])
        self.ordered_grades = self.truth is not None
        self.most = self.width if self.truth is None else self.truth.shape[-1]
        self.scores: Array = None if scores is None else self._comparable(scores, float32)
        self.nonpositive_misses = nonpositive_misses and self.scores is not None
        # Labels by rank with gaps in them have to be moved up, as if they had scores.
        self.ordered = not ranked or (scores is None and (mask is None or lengths is not None))
        self.depth = self.width
        self.expected, self.shared = ties == "expected", ties in SHARED
        if (self.expected or self.shared) and (self.ordered or (check and self._untied())):
            self.expected = self.shared = False
        self._deepest = 0 if None in depths else max(cast("Sequence[int]", depths))
        if not (self.expected or self.shared) and self._deepest:
            self.depth = min(self.width, self._deepest)

    def _read_truth(self, truth: Array) -> Array:
        """Grades; `_judged_cells` says which of them are real."""
        xp = self.xp
        if truth.shape[-1] == 0:
            truth = xp.full((truth.shape[0], 1), math.nan, dtype=self.dtype, device=self.device)
        truth = xp.astype(truth, self.dtype, copy=False)
        self._judged_cells = ~xp.isnan(truth)
        self.faults.append(Fault(xp.any(xp.isinf(truth), axis=-1), "a grade of the truth is not finite"))
        return xp.where(self._judged_cells, truth, 0.0)

    def _comparable(self, scores: Array, float32: bool) -> Array:
        xp = self.xp
        if not xp.isdtype(scores.dtype, "real floating"):
            found = xp.__array_namespace_info__().dtypes(kind="real floating")
            scores = xp.astype(scores, found.get("float64", xp.float32))
        self.faults.append(Fault(xp.isnan(xp.max(self._by_column(scores), axis=-1)), "a score is NaN"))
        single = float32 or scores.dtype != xp.float64
        return xp.astype(scores, xp.float32 if single else xp.float64, copy=False)

    def checked(self, values: Array, label: str, check: bool) -> Array:
        """The values, or an error that names the first row that has none: all that is read from the device."""
        if not self.faults:
            return values
        faulty = reduce(or_, (fault.rows for fault in self.faults))
        if not check:
            return self.xp.where(faulty[:, None], math.nan, values)
        if bool(self.xp.any(faulty)):
            fault = next(fault for fault in self.faults if bool(self.xp.any(fault.rows)))
            row, problem = int(self.xp.argmax(self.xp.astype(fault.rows, self.whole))), fault.problem
            if fault.items is not None:
                at = int(self.xp.argmax(self.xp.astype(fault.items[row, :], self.whole)))
                problem = problem.format(float(fault.values[row, at]))
            raise ValueError(f"{label}: {problem} in row {row}")
        return values

    # -- by column, and by row -------------------------------------------------------------------------------

    def _by_column(self, values: Array, otherwise: float = 0.0) -> Array:
        """Values by column, 0 for items that are not real."""
        return values if self.mask is None else self.xp.where(self.mask, values, otherwise)

    def _count(self, cells: Array) -> Array:
        """How many are true by row, (rows, 1)."""
        return self.number(self.xp.count_nonzero(cells, axis=-1))[:, None]

    @cached_property
    def retrieved(self) -> Array:
        if self.mask is None:
            rows = self.given.shape[0]
            return self.xp.full((rows, 1), float(self.width), dtype=self.dtype, device=self.device)
        return self._count(self.mask)

    @property
    def placed(self) -> Array:
        return self.retrieved

    @property
    def judged(self) -> Array:
        # Every item of a row is judged, and returned.
        return self.retrieved if self.truth is None else self._count(self._judged_cells)

    @property
    def present(self) -> Array:
        return self.retrieved >= 0

    @cached_property
    def _relevant_cells(self) -> Array:
        """Which columns hold a relevant item."""
        rule = self.rule
        if rule.credit == "clamp":
            found = self.given > 0
        else:
            found = self.given > rule.threshold if rule.strict else self.given >= rule.threshold
        return found if self.mask is None else found & self.mask

    @cached_property
    def relevant(self) -> Array:
        return self._found if self.truth is None else self._in_truth(self.relevance(self.truth))

    def _in_truth(self, values: Array) -> Array:
        return self.xp.sum(self.xp.where(self._judged_cells, values, 0.0), axis=-1, keepdims=True)

    @cached_property
    def _found(self) -> Array:
        """How many relevant items a row holds."""
        if self.rule.credit == "clamp":
            return self.xp.sum(self._by_column(self.relevance(self.number(self.given))), axis=-1, keepdims=True)
        return self._count(self._relevant_cells)

    @cached_property
    def nonrelevant(self) -> Array:
        if self.truth is not None:
            return self._in_truth(self.number((self.truth >= 0) & (self.relevance(self.truth) == 0)))
        bad = (self.given >= 0) & ~self._relevant_cells
        return self._count(bad if self.mask is None else bad & self.mask)

    @cached_property
    def highest_grade(self) -> Array:
        if 0 in self.given.shape:
            return self.constant(0.0)
        known = self._by_column(self.number(self.given)) if self.truth is None else self.truth
        return self.xp.max(self.maximum(known, 0.0))

    def hits(self, k: Depth = None) -> Array:
        if k is not None:
            return super().hits(k)
        if not self.nonpositive_misses:
            return self._found
        cells = self.xp.where(self.scores <= 0, 0.0, self.relevance(self.number(self.given)))
        return self.xp.sum(self._by_column(cells), axis=-1, keepdims=True)

    def returned_at(self, k: Depth = None) -> Array:
        return self.relevant_at(k) if self._cut_at(k) else self.hits()  # places below k may not have been looked at

    # -- order -----------------------------------------------------------------------------------------------

    @cached_property
    def _sorted(self) -> tuple[Array, Array]:
        """The column at each place, and a number that tied items share and no other item of the row has."""
        xp = self.xp
        columns = xp.arange(self.width, dtype=self.whole, device=self.device)
        scores = self.scores
        if scores is None:
            scores = self.number(-columns)[None, :] + 0 * self.number(self.given)
        keys = self._keys(scores)
        if self.ties in BY_GRADE:
            at = xp.argsort(self.number(self.given), axis=-1, descending=self.ties == "optimistic", stable=True)
            order = xp.argsort(xp.take_along_axis(keys, at, axis=-1), axis=-1, descending=True, stable=True)
            at = xp.take_along_axis(at, order, axis=-1)[:, : self.depth]
            return at, self._places + 0 * at  # no ties are left
        turn = columns if self.ties in _REVERSED else self.width - 1 - columns  # the higher goes first
        if not self.wide:
            tied, at = _largest(xp, xp.flip(keys, axis=-1) if self.ties in _REVERSED else keys, self.depth)
            return self.width - 1 - at if self.ties in _REVERSED else at, tied
        if keys.dtype == xp.int64:  # too wide to be packed with the column: number the different ones
            at = xp.argsort(keys, axis=-1, stable=False)
            keys = xp.take_along_axis(keys, at, axis=-1)
            opens = xp.astype(keys[:, 1:] != keys[:, :-1], xp.int64)
            keys = xp.cumulative_sum(opens, axis=-1, include_initial=True)
            turn = at if self.ties in _REVERSED else self.width - 1 - at
        keys = xp.astype(keys, xp.int64)
        keys <<= 32
        keys |= turn
        packed, _ = _largest(xp, keys, self.depth, spoil=True)
        turn = packed & 0xFFFFFFFF
        return turn if self.ties in _REVERSED else self.width - 1 - turn, packed >> 32

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
    def _columns(self) -> Array:
        """The column at each place, from 0."""
        return self._places - 1 if self.ordered else self._sorted[0][:, : self.depth]

    def _placed(self, values: Array) -> Array:
        """Values by column in the order of the places."""
        return values[:, : self.depth] if self.ordered else self.xp.take_along_axis(values, self._columns, axis=-1)

    @cached_property
    def inside(self) -> Array | None:
        if self.mask is None:
            return None
        return self.mask[:, : self.depth] if self.ordered else self.number(self._places) <= self.retrieved

    @cached_property
    def places_of(self) -> Array:
        if not self.shared:
            return self._places
        above, end = self._groups
        return end if self.ties == "group_end" else above + (end - above + 1) // 2

    @cached_property
    def grade(self) -> Array:
        return self.number(self._placed(self.given))

    @cached_property
    def place(self) -> Array:
        """Position of each item among the real ones of its row, from 1."""
        if self.mask is None:
            return self._columns + 1
        return self._placed(self.xp.cumulative_sum(self.xp.astype(self.mask, self.whole), axis=-1))

    @cached_property
    def score(self) -> Array:
        if self.scores is None:
            return self.grade * math.nan
        return self.xp.astype(self._placed(self.scores), self.dtype, copy=False)

    @property
    def predicted(self) -> Array:
        if self.scores is None:
            raise TypeError("a prediction error needs scores; labels_by_rank is only an order of items")
        return self._real(self.score)

    @cached_property
    def credit(self) -> Array:
        credit = self._real(self.relevance(self.grade))
        return self.xp.where(self._placed(self.scores) <= 0, 0.0, credit) if self.nonpositive_misses else credit

    @cached_property
    def _groups(self) -> tuple[Array, Array]:
        xp = self.xp
        if self.ordered or self.ties in BY_GRADE:
            return self._places - 1 + xp.zeros_like(self.grade, dtype=self.whole), self._places
        tied = self._sorted[1][:, : self.depth]
        opens = xp.concat([xp.ones_like(tied[:, :1], dtype=xp.bool), tied[:, 1:] != tied[:, :-1]], axis=-1)
        starts = self.depth - _largest(xp, xp.where(opens, self.depth + 1 - self._places, 0), self.depth)[0]
        starts = xp.concat([starts, xp.full_like(starts[:, :1], self.depth)], axis=-1)
        group = xp.cumulative_sum(xp.astype(opens, self.whole), axis=-1)
        above, end = (xp.take_along_axis(starts, at, axis=-1) for at in (group - 1, group))
        return above, end

    @cached_property
    def first_rank(self) -> Array:
        xp = self.xp
        if self.scores is None or self.shared or self.ties in BY_GRADE:
            return xp.min(xp.where(self.credit > 0, self.rank, math.inf), axis=-1, keepdims=True)
        # Nothing is sorted: those above the best relevant item are counted.
        found = self._relevant_cells & (self.scores > 0) if self.nonpositive_misses else self._relevant_cells
        best = xp.max(xp.where(found, self.scores, -math.inf), axis=-1, keepdims=True)
        turn = xp.arange(self.width, dtype=xp.int32, device=self.device)[None, :]
        turn = turn if self.ties in _REVERSED else self.width - 1 - turn
        tied = self.scores == best
        next_ = xp.max(xp.where(found & tied, turn, -1), axis=-1, keepdims=True)
        tied &= turn > next_
        tied |= self.scores > best
        return xp.where(next_ >= 0, self._count(tied if self.mask is None else tied & self.mask) + 1.0, math.inf)

    # -- the ideal list ----------------------------------------------------------------------------------------

    def ideal(self, items: Ideal = "judged", worth: Worth | None = None, k: Depth = None) -> Rows:
        if worth is not None:
            given = self.ideal(items)
            order = self.xp.argsort(given._real(worth(given), -math.inf), axis=-1, descending=True, stable=True)
            inside = None if given.inside is None else self.xp.take_along_axis(given.inside, order, axis=-1)
            return self._list(self.xp.take_along_axis(given.grade, order, axis=-1), given._places, inside)
        depth = width = self.width if items == "retrieved" else self.most
        if isinstance(k, int) and items in ("judged", "retrieved"):  # one list for all cutoffs
            depth = min(max(k, self._deepest), width)
        return self.remember(("ideal", items, depth), lambda: self._ideal(items, depth))

    def _ideal(self, items: Ideal, depth: int) -> Rows:
        xp = self.xp
        places = xp.arange(1, depth + 1, dtype=self.whole, device=self.device)[None, :]
        given, mask, count = self.given, self.mask, self.retrieved
        if self.truth is not None and items != "retrieved":
            given, mask, count = self.truth, self._judged_cells, self.judged
        if items == "given":
            if mask is not None:
                places = xp.clip(xp.cumulative_sum(xp.astype(mask, self.whole), axis=-1), 1, None)
            return self._list(self.number(given), places, mask)
        real = given if mask is None else xp.where(mask, given, -math.inf)
        grade = self.number(_largest(xp, real, depth)[0])
        inside = None if mask is None else self.number(places) <= count
        if inside is not None:
            grade = xp.where(inside, grade, 0.0)
        if items != "nonzero":
            made = self._list(grade, places, inside)
            made.__dict__["_places"] = places  # the same array, as they are the ranks
            return made
        zero = grade == 0 if inside is None else (grade == 0) & inside
        places = places - xp.where(grade < 0, xp.sum(xp.astype(zero, self.whole), axis=-1, keepdims=True), 0)
        return self._list(grade, xp.clip(places, 1, None), ~zero if inside is None else inside & ~zero)


def _detached(array: Array) -> Array:
    return array.detach() if is_torch_array(array) else array


def _library(present: dict[str, Array]) -> Any:
    """Whose arrays they are."""
    try:
        return array_namespace(*present.values())
    except TypeError:
        kinds = {
            name: f"{type(array).__module__.split('.')[0]}.{type(array).__name__}" for name, array in present.items()
        }
        said = ", ".join(f"{name} a {kind}" for name, kind in kinds.items())
        raise TypeError(f"give arrays of one library (NumPy, torch, JAX or CuPy); here are {said}") from None


def _precision(xp: Any, present: dict[str, Array]) -> str:
    """What is computed in: float64 if the labels or the scores hold it, float32 if they hold other floats."""
    kinds = [present[name].dtype for name in ("labels", "scores") if name in present]
    found = [kind for kind in kinds if xp.isdtype(kind, "real floating")]
    found = found or [xp.__array_namespace_info__().default_dtypes()["real floating"]]
    return "float64" if xp.float64 in found else "float32"


def _in_numpys_reach(array: Array) -> bool:
    """Is it a tensor in the host's memory. NumPy reads it without a copy, and is faster on short rows."""
    return is_torch_array(array) and array.device.type == "cpu"


def _lent(xp: Any, tensor: Array) -> Array:
    return np.from_dlpack(tensor.float() if tensor.dtype == xp.bfloat16 else tensor)


def _largest(xp: Any, values: Array, depth: int, spoil: bool = False) -> tuple[Array, Array]:
    """The largest of each row in descending order, and, in libraries of narrow integers, where they stand.

    spoil: the values are not needed any more.
    """
    if is_numpy_array(values):
        if depth < values.shape[-1]:
            values = values if spoil else values.copy()
            values.partition(values.shape[-1] - depth, axis=-1)
        return np.sort(values[:, -depth:], axis=-1)[:, ::-1], None
    if is_torch_array(values):
        return xp.topk(values, depth).values, None
    if is_jax_array(values):
        from jax.lax import top_k

        return tuple(top_k(values, depth))
    return xp.sort(values, axis=-1, descending=True)[:, :depth], None
