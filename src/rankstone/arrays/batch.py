"""What a formula of `rs.arrays` may read: a batch of rows in ranked order, in any array library."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_jax_array, is_numpy_array, is_torch_array

from rankstone.align.ties import SHARED
from rankstone.conventions.plan import Plan

Array = Any  # of any library
Pair = tuple[Array, Array]
Weigh = Callable[[Any], Any]

_REVERSED = ("item_desc", "reverse_input")  # the columns are the items: of tied ones the last goes first
_BY_GRADE = ("optimistic", "pessimistic")


class Batch:
    """Rows of items as one metric sees them, by column and by place.

    One a column: `labels`, `bad`. One a place, as far down as the cutoffs: `grade`, `credit`, `rank`. One a row:
    `size`, `relevant`, `first`.
    """

    def __init__(
        self,
        one: Plan,
        ks: list[Any],
        scores: Array,
        labels: Array,
        mask: Array,
        lengths: Array,
        by_rank: Array,
        check: bool,
    ) -> None:
        self.plan, self.ks, self.ties = one, ks, one.choices["ties"]
        self.faults: list[tuple[Array, str]] = []  # rows that cannot be measured, and why
        if (by_rank is None) == (scores is None) or (scores is None) != (labels is None):
            raise TypeError("give scores and labels, or labels_by_rank")
        if mask is not None and lengths is not None:
            raise TypeError("give a mask or lengths, not both")
        labels = by_rank if labels is None else labels
        given = {"labels": labels, "scores": scores, "mask": mask, "lengths": lengths}
        present = {name: _detached(array) for name, array in given.items() if array is not None}
        self.home = array_namespace(*present.values())
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
            if tuple(array.shape) != tuple(shape[:-1] if name == "lengths" else shape):
                raise ValueError(f"labels have shape {tuple(shape)} but {name} {tuple(array.shape)}")
        self.flat = len(shape) == 1
        if self.flat:
            present = {name: array[None, ...] for name, array in present.items()}
        labels, scores = present["labels"], present.get("scores")
        self.device = device(labels)
        self.rows, self.width = labels.shape
        mask = present.get("mask")
        if mask is not None and mask.dtype != xp.bool:
            raise TypeError(f"the mask holds {mask.dtype}; it must hold bool, True for a real item")
        if lengths is not None:
            sizes = present["lengths"]
            self.fault((sizes < 0) | (sizes > self.width), f"lengths must lie between 0 and {self.width}, but do not")
            mask = xp.arange(self.width, device=self.device)[None, :] < sizes[:, None]
        if self.width == 0:  # one that is not real is easier to work with than none
            labels, mask = (xp.zeros((self.rows, 1), dtype=d, device=self.device) for d in (labels.dtype, xp.bool))
            scores, self.width = None if scores is None else labels, 1
        self.mask = mask
        self.given = labels  # whole numbers are only turned into others where they are needed
        if xp.isdtype(labels.dtype, "real floating"):
            self.given = self.real(xp.astype(labels, self.dtype, copy=False))
            for extreme in (xp.max, xp.min):  # a NaN is both
                self.fault(~xp.isfinite(extreme(self.given, axis=-1)), "a label is not finite")
        elif mask is not None or labels.dtype == xp.bool:
            self.given = self.real(xp.astype(labels, self.dtype))
        self.scores = None if scores is None else self._comparable(scores)
        # Labels by rank with gaps in them have to be moved up, as if they had scores.
        self.ordered = scores is None and (mask is None or lengths is not None)
        self.listed = one.choices["pool"] == "list"
        self.depth = self.width
        self.expected, self.shared = self.ties == "expected", self.ties in SHARED
        if (self.expected or self.shared) and (self.ordered or (check and self._untied())):
            self.expected = self.shared = False
        if not (self.expected or self.shared or None in ks):
            self.depth = min(self.width, max(ks))

    def _comparable(self, scores: Array) -> Array:
        xp = self.xp
        if not xp.isdtype(scores.dtype, "real floating"):
            found = xp.__array_namespace_info__().dtypes(kind="real floating")
            scores = xp.astype(scores, found.get("float64", xp.float32))
        self.fault(xp.isnan(xp.max(self.real(scores), axis=-1)), "a score is NaN")
        single = self.plan.choices["score_precision"] == "float32" or scores.dtype != xp.float64
        return xp.astype(scores, xp.float32 if single else xp.float64, copy=False)

    def _any(self, cells: Array) -> Array:
        return self.xp.any(cells, axis=-1)

    def fault(self, where: Array, message: str) -> None:
        """Rows that cannot be measured."""
        self.faults.append((where, message))

    def checked(self, values: Array, check: bool) -> Array:
        """The values, or an error that names the first row that has none."""
        for where, message in self.faults:
            if not check:
                values = self.xp.where(where[:, None], math.nan, values)
            elif bool(self.xp.any(where)):
                row = int(self.xp.argmax(self.xp.astype(where, self.whole)))
                raise ValueError(f"{self.plan.label}: {message} in row {row}")
        return values

    # -- by column -------------------------------------------------------------------------------------------

    def real(self, values: Array, otherwise: float = 0.0) -> Array:
        """Values by column, 0 for items that are not real."""
        return values if self.mask is None else self.xp.where(self.mask, values, otherwise)

    def number(self, cells: Array) -> Array:
        """As numbers of the kind that is computed in."""
        return self.xp.astype(cells, self.dtype, copy=False)

    def constant(self, values: Any) -> Array:
        """Numbers that do not depend on the data."""
        return self.xp.asarray(np.asarray(values, dtype=np.float64).tolist(), dtype=self.dtype, device=self.device)

    @cached_property
    def size(self) -> Array:
        """How many items each row has, (rows, 1)."""
        if self.mask is None:
            return self.xp.full((self.rows, 1), float(self.width), dtype=self.dtype, device=self.device)
        return self.count(self.mask)

    @cached_property
    def labels(self) -> Array:
        """The labels by column, 0 for items that are not real."""
        return self.number(self.given)

    def _is_relevant(self, grades: Array) -> Array:
        relevance = self.plan.relevance
        if relevance.credit == "clamp":
            return grades > 0
        return grades > relevance.threshold if relevance.strict else grades >= relevance.threshold

    def relevance(self, grades: Array) -> Array:
        """What items of these grades count, real or not."""
        if self.plan.relevance.credit == "clamp":
            return self.xp.clip(grades, 0.0, 1.0)
        return self.number(self._is_relevant(grades))

    @cached_property
    def _found(self) -> Array:
        """Which columns hold a relevant item."""
        found = self._is_relevant(self.given)
        return found if self.mask is None else found & self.mask

    @cached_property
    def relevant(self) -> Array:
        """How many relevant items each row has, (rows, 1)."""
        if self.plan.relevance.credit == "clamp":
            return self.sum(self.relevance(self.labels))
        return self.count(self._found)

    @cached_property
    def missed(self) -> Array | None:
        """Which columns count as if they were not relevant; None for none."""
        miss = self.plan.choices["nonpositive_score"] == "miss"
        return self.scores <= 0 if miss and self.scores is not None else None

    @cached_property
    def bad(self) -> Array:
        """1 for each column that is judged not relevant; a negative grade is no judgement."""
        found = self._found if self.missed is None else self._found & ~self.missed
        return self.real(self.number((self.given >= 0) & ~found))

    @cached_property
    def nonrelevant(self) -> Array:
        """How many items of each row are judged not relevant, (rows, 1)."""
        return self.sum(self.real(self.number((self.given >= 0) & ~self._found)))

    def sum(self, values: Array) -> Array:
        """Sum by row, (rows, 1)."""
        return self.xp.sum(values, axis=-1, keepdims=True)

    def count(self, cells: Array) -> Array:
        """How many are true by row, (rows, 1)."""
        return self.number(self.xp.count_nonzero(cells, axis=-1))[:, None]

    # -- order -----------------------------------------------------------------------------------------------

    @cached_property
    def _sorted(self) -> tuple[Array, Array]:
        """The column at each place, and a number that tied items share and no other item of the row has."""
        xp = self.xp
        columns = xp.arange(self.width, dtype=self.whole, device=self.device)
        scores = self.number(-columns)[None, :] + 0 * self.labels if self.scores is None else self.scores
        keys = self._keys(scores)
        if self.ties in _BY_GRADE:
            at = xp.argsort(self.labels, axis=-1, descending=self.ties == "optimistic", stable=True)
            order = xp.argsort(xp.take_along_axis(keys, at, axis=-1), axis=-1, descending=True, stable=True)
            at = xp.take_along_axis(at, order, axis=-1)[:, : self.depth]
            return at, self.places + 0 * at  # no ties are left
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
        return self.real(keys, -highest - 1)

    def _untied(self) -> bool:
        """Has no row two items of the same score. Then there is one order, and no need to look beyond the cutoffs."""
        tied = self._sorted[1]
        return not bool(self.xp.any(self.taken(tied[:, 1:] == tied[:, :-1], False, first=2)))

    @cached_property
    def columns(self) -> Array:
        """The column at each place."""
        return self.places - 1 if self.ordered else self._sorted[0][:, : self.depth]

    def placed(self, values: Array) -> Array:
        """Values by column in the order of the places."""
        return values[:, : self.depth] if self.ordered else self.xp.take_along_axis(values, self.columns, axis=-1)

    @cached_property
    def grade(self) -> Array:
        return self.number(self.placed(self.given))

    @cached_property
    def credit(self) -> Array:
        """What the item at each place counts."""
        credit = self.taken(self.relevance(self.grade))
        return credit if self.missed is None else self.xp.where(self.placed(self.missed), 0.0, credit)

    @cached_property
    def places(self) -> Array:
        """1, 2, ... of shape (1, depth)."""
        return self.xp.arange(1, self.depth + 1, dtype=self.whole, device=self.device)[None, :]

    @cached_property
    def place(self) -> Array:
        return self.number(self.places)

    def taken(self, values: Array, otherwise: float = 0.0, first: int = 1) -> Array:
        """Values by place, from the first, and 0 beyond the end of the list."""
        if self.mask is None:
            return values
        place = self.xp.arange(first, values.shape[-1] + first, dtype=self.dtype, device=self.device)
        return self.xp.where(place <= self.size, values, otherwise)

    @cached_property
    def groups(self) -> tuple[Array, Array]:
        """For each place, how many items have a higher score than its item, and how many that or a higher one."""
        xp = self.xp
        if self.ordered or self.ties in _BY_GRADE:
            return self.places - 1 + xp.zeros_like(self.grade, dtype=self.whole), self.places
        tied = self._sorted[1][:, : self.depth]
        opens = xp.concat([xp.ones_like(tied[:, :1], dtype=xp.bool), tied[:, 1:] != tied[:, :-1]], axis=-1)
        starts = self.depth - _largest(xp, xp.where(opens, self.depth + 1 - self.places, 0), self.depth)[0]
        starts = xp.concat([starts, xp.full_like(starts[:, :1], self.depth)], axis=-1)
        group = xp.cumulative_sum(xp.astype(opens, self.whole), axis=-1)
        return tuple(xp.take_along_axis(starts, at, axis=-1) for at in (group - 1, group))

    @cached_property
    def rank(self) -> Array:
        """The rank of the item at each place: the place, or what tied items share."""
        if not self.shared:
            return self.places
        above, end = self.groups
        return end if self.ties == "group_end" else above + (end - above + 1) // 2

    def running(self, values: Array) -> Array:
        """Running sums from the top, beginning with 0, (rows, depth + 1)."""
        return self.xp.cumulative_sum(values, axis=-1, include_initial=True)

    def in_group(self, values: Array) -> tuple[Array, Array, Array]:
        """For each place: sums over the items with a higher score, over the tied ones, and how many these are."""
        above, end = self.groups
        sums = self.running(values)
        before = self.xp.take_along_axis(sums, above, axis=-1)
        within = self.xp.take_along_axis(sums, end + 0 * above, axis=-1) - before
        return before, within, self.number(end - above)

    def total(self, values: Array, weigh: Weigh | None = None, ks: list[Any] | None = None) -> Array:
        """For each cutoff the sum over its places of a value times weigh(rank), (rows, cutoffs)."""
        if self.expected:
            _, within, count = self.in_group(values)
            values = within / count
        if weigh is not None:
            values = values * self.weights(weigh, self.rank if self.shared else self.places)
        return self.cut(values, self.rank if self.shared else None, ks)

    def weights(self, weigh: Weigh, rank: Array) -> Array:
        """What weigh makes of each rank."""
        table = self.constant(weigh(np.arange(1.0, self.width + 1)))
        if rank is self.places:
            return table[None, : self.depth]
        return self.xp.reshape(self.xp.take(table, self.xp.reshape(rank - 1, (-1,))), rank.shape)

    def cut(self, values: Array, rank: Array | None = None, ks: list[Any] | None = None) -> Array:
        """For each cutoff the sum of the values up to it, (rows, cutoffs); their ranks are 1, 2, ... unless given."""
        ks = self.ks if ks is None else ks
        if rank is not None:
            cells = (values if k is None else self.xp.where(rank <= k, values, 0.0) for k in ks)
            return self.xp.concat([self.sum(one) for one in cells], axis=-1)
        ends = [values.shape[-1] if k is None else min(k, values.shape[-1]) for k in ks]
        sums: dict[int, Array] = {}
        done, so_far = 0, 0.0
        for end in sorted(set(ends)):  # each value is added once, however many cutoffs there are
            so_far = sums[end] = so_far + self.sum(values[:, done:end])
            done = end
        return self.xp.concat([sums[end] for end in ends], axis=-1)

    # -- what most metrics are made of -----------------------------------------------------------------------

    @cached_property
    def cutoffs(self) -> Array:
        """The cutoffs, (1, cutoffs); infinite for none."""
        return self.constant([[math.inf if k is None else k for k in self.ks]])

    def each(self, of_one: Callable[[Any], Array]) -> Array:
        """One column a cutoff."""
        return self.xp.concat([of_one(k) for k in self.ks], axis=-1)

    @cached_property
    def hits(self) -> Array:
        """Relevant items in the first places, or their expected number."""
        if self.plan.relevance.truth_depth == "all" or None in self.ks:
            return self.total(self.credit)
        return self.each(lambda k: self.total(self.xp.where(self.columns < k, self.credit, 0.0), ks=[k]))

    def extent(self, divisor: str) -> Array:
        """How many places count: the cutoff, or fewer if the list or the relevant items are fewer."""
        cut = None in self.ks or divisor == "min(k,retrieved)"
        extent = self.xp.minimum(self.cutoffs, self.size) if cut else self.cutoffs
        return self.xp.minimum(extent, self.relevant) if divisor == "min(k,relevant)" else extent

    @cached_property
    def one(self) -> Array:
        return self.constant([[1.0]])

    @cached_property
    def found(self) -> Array:
        """How many relevant items each row's list holds, whatever the cutoff, (rows, 1)."""
        if self.missed is None:
            return self.relevant
        return self.sum(self.xp.where(self.missed, 0.0, self.real(self.relevance(self.labels))))

    @cached_property
    def first(self) -> Array:
        """Rank of each row's first relevant item, (rows, 1); infinite where there is none."""
        xp = self.xp
        if self.scores is None or self.shared or self.ties in _BY_GRADE:
            return xp.min(xp.where(self.credit > 0, self.number(self.rank), math.inf), axis=-1, keepdims=True)
        # Nothing is sorted: those above the best relevant item are counted.
        found = self._found if self.missed is None else self._found & ~self.missed
        best = xp.max(xp.where(found, self.scores, -math.inf), axis=-1, keepdims=True)
        turn = xp.arange(self.width, dtype=xp.int32, device=self.device)[None, :]
        turn = turn if self.ties in _REVERSED else self.width - 1 - turn
        tied = self.scores == best
        next_ = xp.max(xp.where(found & tied, turn, -1), axis=-1, keepdims=True)
        tied &= turn > next_
        tied |= self.scores > best
        return xp.where(next_ >= 0, self.count(tied if self.mask is None else tied & self.mask) + 1.0, math.inf)

    @cached_property
    def none_yet(self) -> Array:
        """The chance that no relevant item stands at a place or above it, over all orders of tied items."""
        above, _ = self.groups
        _, found, count = self.in_group(self.number(self.credit > 0))
        left = count - (self.place - 1 - self.number(above))  # of the group, not yet placed
        return self.xp.cumulative_prod(self.xp.clip(left - found, 0.0, None) / left, axis=-1)

    def ideal(self, depth: int | None = None) -> Array:
        """The labels in descending order, as deep as the cutoffs; what is not real comes last, as -inf."""
        return self.number(self.descending(self.real(self.given, -math.inf), depth))

    def descending(self, values: Array, depth: int | None = None) -> Array:
        """Values by column in descending order."""
        return _largest(self.xp, values, depth or self.depth)[0]


def _detached(array: Array) -> Array:
    return array.detach() if is_torch_array(array) else array


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


def _largest(xp: Any, values: Array, depth: int, spoil: bool = False) -> Pair:
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
