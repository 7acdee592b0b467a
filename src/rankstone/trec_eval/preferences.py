"""Preferences of one document over another, and how many of them an order fulfils."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankstone.align.alignment import Floats, Ints
from rankstone.trec_eval.lists import Lines, Setup

Matrix = NDArray[np.int32]


class Contradiction(Exception):  # noqa: N818  it says what is the matter
    """Judgments of one group that cannot all be true."""


@dataclass(eq=False, repr=False)
class Group:
    """One person's preferences. Documents are numbered: first those retrieved, by rank, then the others, by name."""

    prefers: Matrix  # how often the document of the row is preferred to that of the column
    retrieved: int  # how many documents were
    document: Ints  # one entry a judgment, by level from the top, then by document
    level: Floats
    complete: bool  # were all the documents compared with each other

    @cached_property
    def both(self) -> Matrix:
        """Preferences between retrieved documents."""
        return self.prefers[: self.retrieved, : self.retrieved]

    @cached_property
    def fulfilled_ret(self) -> int:
        return int(np.triu(self.both, 1).sum())

    @cached_property
    def possible_ret(self) -> int:
        return int(self.both.sum())

    @cached_property
    def fulfilled_imp(self) -> int:
        return int(self.prefers[: self.retrieved, self.retrieved :].sum())

    @cached_property
    def possible_imp(self) -> int:
        return self.fulfilled_imp + int(self.prefers[self.retrieved :, : self.retrieved].sum())

    @cached_property
    def possible(self) -> int:
        return int(self.prefers.sum())

    def levels(self) -> tuple[Ints, Floats]:
        """Documents and their levels: one entry a judgment, or a document's last if not all were compared."""
        if self.complete:
            return self.document, self.level
        last = dict(zip(self.document.tolist(), self.level.tolist(), strict=True))
        documents = np.array(sorted(last), dtype=np.int64)
        return documents, np.array([last[document] for document in documents.tolist()])

    def balanced(self, retrieved_only: bool) -> float:
        """Share fulfilled, as if as many documents were not relevant as are."""
        documents, levels = self.levels()
        good = levels > 0
        bad = ~good if self.complete else levels == 0
        found = documents < self.retrieved
        goods, bads = (int((kind & found).sum() if retrieved_only else kind.sum()) for kind in (good, bad))
        if goods >= bads:
            fulfilled = self.fulfilled_ret + (0 if retrieved_only else self.fulfilled_imp)
            possible = self.possible_ret if retrieved_only else self.possible
            fulfilled += int((good & found).sum()) * (goods - bads)
            possible += int(good.sum()) * (goods - bads)
        elif self.complete:
            fulfilled, possible = self._fewer_of_last_level(goods, retrieved_only)
        else:
            fulfilled, possible = self._fewer_documents(documents[bad], int(good.sum()), retrieved_only)
        return fulfilled / possible if possible else float("nan")

    def _fewer_of_last_level(self, count: int, retrieved_only: bool) -> tuple[int, int]:
        """Only the first so many documents of the lowest level count, against all others and, as it is, themselves."""
        last = self.level == self.level.min()
        few = self.document[last][:count]
        fulfilled = possible = 0
        for upper, lower, prefers in (
            (self.document[~last], self.document[~last], self.level[~last][:, None] > self.level[~last]),
            (self.document, few, np.ones((len(self.document), len(few)), dtype=bool)),
        ):
            kept = prefers
            if retrieved_only:
                kept = prefers & (upper[:, None] < self.retrieved) & (lower < self.retrieved)
            fulfilled += int((kept & (upper[:, None] < lower) & (upper[:, None] < self.retrieved)).sum())
            possible += int(kept.sum())
        return fulfilled, possible

    def _fewer_documents(self, bad: Ints, count: int, retrieved_only: bool) -> tuple[int, int]:
        """Only the first so many documents that are not relevant count."""
        if retrieved_only:
            bad = bad[bad < self.retrieved]
        prefers = self.prefers.copy()
        prefers[bad[count:]] = 0
        prefers[:, bad[count:]] = 0
        fewer = Group(prefers, self.retrieved, self.document, self.level, self.complete)
        if retrieved_only:
            return fewer.fulfilled_ret, fewer.possible_ret
        return fewer.fulfilled_ret + fewer.fulfilled_imp, fewer.possible


class Preferences:
    """The preferences of some queries, by group, beside the order of their documents."""

    def __init__(self, lines: Lines, queries: Ints, setup: Setup) -> None:
        rank = lines.rank if setup.depth is None else np.where(lines.rank <= setup.depth, lines.rank, 0)
        order = np.argsort(lines.pair, kind="stable")  # by query, then by document
        levels = lines.grade.astype(setup.score_precision).astype(np.float64)
        self.queries: list[list[Group]] = []
        for query in queries.tolist():
            mine = order[slice(*np.searchsorted(lines.query[order], (query, query + 1)))]
            documents, retrieved = _numbered(lines.pair[mine], rank[mine])
            groups = []
            for group in np.unique(lines.group[mine]).tolist():
                his = lines.group[mine] == group
                parts = lines.subgroup[mine[his]]
                groups.append(_group(documents[his], parts, levels[mine[his]], retrieved, int(documents.max()) + 1))
            self.queries.append(groups)

    # -- counts ------------------------------------------------------------------------------------------------

    def _sum(self, count: Callable[[Group], int]) -> Floats:
        return np.array([sum(map(count, groups)) for groups in self.queries], dtype=np.float64)

    def possible(self) -> Floats:
        return self._sum(lambda group: group.possible)

    def fulfilled(self) -> Floats:
        return self._sum(lambda group: group.fulfilled_ret + group.fulfilled_imp)

    def fulfilled_ret(self) -> Floats:
        return self._sum(lambda group: group.fulfilled_ret)

    # -- shares of all preferences -------------------------------------------------------------------------------

    def simple(self) -> Floats:
        return _share(self.fulfilled(), self.possible())

    def simple_ret(self) -> Floats:
        return _share(self.fulfilled_ret(), self._sum(lambda group: group.possible_ret))

    def simple_imp(self) -> Floats:
        return _share(self.fulfilled(), self._sum(lambda group: group.possible_ret + group.possible_imp))

    # -- shares by group, averaged ---------------------------------------------------------------------------------

    def _average(self, share: Callable[[Group], float]) -> Floats:
        out = np.zeros(len(self.queries))
        for at, groups in enumerate(self.queries):
            total = 0.0
            for group in groups:
                total += share(group)
            out[at] = total / len(groups) if total > 0 else 0.0  # no number is not above 0
        return out

    def average(self) -> Floats:
        return self._average(lambda group: _part(group.fulfilled_ret + group.fulfilled_imp, group.possible))

    def average_ret(self) -> Floats:
        return self._average(lambda group: _part(group.fulfilled_ret, group.possible_ret))

    def average_imp(self) -> Floats:
        return self._average(
            lambda group: _part(group.fulfilled_ret + group.fulfilled_imp, group.possible_ret + group.possible_imp)
        )

    def average_balanced(self) -> Floats:
        return self._average(lambda group: group.balanced(retrieved_only=False))

    def average_balanced_ret(self) -> Floats:
        return self._average(lambda group: group.balanced(retrieved_only=True))

    # -- shares by pair of documents, averaged -----------------------------------------------------------------------

    @cached_property
    def _pairs(self) -> list[tuple[Floats, Floats, int]]:
        """By query: the share of each pair with both documents retrieved, and with one; how many pairs have neither."""
        return [_pair_shares(groups) for groups in self.queries]

    def pair(self) -> Floats:
        return np.array([_mean_of(np.append(both, single), neither) for both, single, neither in self._pairs])

    def pair_ret(self) -> Floats:
        return np.array([_mean_of(both, 0) for both, _, _ in self._pairs])

    def pair_imp(self) -> Floats:
        return np.array([_mean_of(np.append(both, single), 0) for both, single, _ in self._pairs])


def _numbered(pair: Ints, rank: Ints) -> tuple[Ints, int]:
    """Each line's document as a number: those retrieved first, by rank, then the others, by name."""
    distinct, first, at = np.unique(pair, return_index=True, return_inverse=True)
    ranks = rank[first]
    order = np.lexsort((distinct, ranks, ranks == 0))
    numbers = np.empty(len(distinct), dtype=np.int64)
    numbers[order] = np.arange(len(distinct))
    return numbers[at], int((ranks > 0).sum())


def _group(documents: Ints, parts: Ints, levels: Floats, retrieved: int, size: int) -> Group:
    order = np.lexsort((documents, -levels, parts))
    documents, parts, levels = documents[order], parts[order], levels[order]
    complete = parts[0] == parts[-1]
    prefers: Matrix = np.zeros((size, size), dtype=np.int32)
    if complete:
        distinct, first, times = np.unique(documents, return_index=True, return_counts=True)
        if (levels != levels[first][np.searchsorted(distinct, documents)]).any():
            raise Contradiction("a document has two levels in one group of judgments")
        above = levels[first][:, None] > levels[first]
        prefers[np.ix_(distinct, distinct)] = above * np.outer(times, times)
    else:
        for part in np.unique(parts).tolist():
            mine, level = documents[parts == part], levels[parts == part]
            better, worse = np.nonzero(level[:, None] > level)
            prefers[mine[better], mine[worse]] = 1
        zero = set(documents[levels == 0].tolist())
        if zero & set(documents[levels > 0].tolist()):
            raise Contradiction("a document has both level 0 and another in one group of judgments")
        prefers = _closed(prefers)
    return Group(prefers, retrieved, documents, levels, bool(complete))


def _closed(prefers: Matrix) -> Matrix:
    """With the preferences that follow: if A is preferred to B and B to C, then A to C."""
    reached = prefers.astype(np.float32)
    np.fill_diagonal(reached, 1.0)
    while True:
        further = (reached @ reached > 0).astype(np.float32)
        if (further == reached).all():
            break
        reached = further
    np.fill_diagonal(reached, 0.0)
    if ((reached > 0) & (reached.T > 0)).any():
        raise Contradiction("two documents are each preferred to the other in one group of judgments")
    return reached.astype(np.int32)


def _pair_shares(groups: list[Group]) -> tuple[Floats, Floats, int]:
    counts = groups[0].prefers
    for group in groups[1:]:
        counts = counts + group.prefers
    retrieved = groups[0].retrieved
    right, total = np.triu(counts, 1), np.triu(counts, 1) + np.tril(counts, -1).T
    both, single = total[:retrieved, :retrieved], total[:retrieved, retrieved:]
    shares = [
        right[:retrieved, :retrieved][both > 0] / both[both > 0],
        right[:retrieved, retrieved:][single > 0] / single[single > 0],
    ]
    return shares[0], shares[1], int((total[retrieved:, retrieved:] > 0).sum())


def _mean_of(shares: Floats, others: int) -> float:
    """Mean, added up term by term, with so many other terms of 0."""
    count = len(shares) + others
    return float(np.add.accumulate(shares)[-1]) / count if len(shares) else 0.0


def _share(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole != 0)


def _part(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
