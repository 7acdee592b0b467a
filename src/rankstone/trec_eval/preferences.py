"""Preferences of one document over another, and how many of them an order fulfils."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rankstone.align.alignment import Floats, Ints
from rankstone.trec_eval.ranked_lists import Lines, Setup

Matrix = NDArray[np.int32]
Scope = Literal["all", "both", "one"]  # of preferences: all, with both documents retrieved, with one of them or both


class ContradictionError(Exception):
    """Judgments of one group that cannot all be true."""


@dataclass(eq=False, repr=False)
class Group:
    """The preferences of one judgment group. Documents are numbered: retrieved ones by rank, then others by name."""

    prefers: Matrix  # how often the document of the row is preferred to that of the column
    retrieved: int  # how many documents were
    document: Ints  # one entry per judgment, by level from the top, then by document
    level: Floats
    complete: bool  # whether all documents were compared with each other

    @cached_property
    def counts(self) -> dict[Scope, tuple[int, int]]:
        """How many preferences the order fulfils, and how many there are."""
        cut = self.retrieved
        both, ahead, behind = self.prefers[:cut, :cut], self.prefers[:cut, cut:].sum(), self.prefers[cut:, :cut].sum()
        right, among = np.triu(both, 1).sum(), both.sum()
        return {
            "all": (int(right + ahead), int(self.prefers.sum())),
            "both": (int(right), int(among)),
            "one": (int(right + ahead), int(among + ahead + behind)),
        }

    def share(self, scope: Scope) -> float:
        fulfilled, possible = self.counts[scope]
        return fulfilled / possible if possible else 0.0

    def levels(self) -> tuple[Ints, Floats]:
        """Documents and their levels: one entry per judgment, or a document's last if not all were compared."""
        if self.complete:
            return self.document, self.level
        last = dict(zip(self.document.tolist(), self.level.tolist(), strict=True))
        documents = np.array(sorted(last), dtype=np.int64)
        return documents, np.array([last[document] for document in documents.tolist()])

    def balanced(self, scope: Scope) -> float:
        """Share fulfilled, with as many non-relevant documents as relevant ones."""
        retrieved_only = scope == "both"
        documents, levels = self.levels()
        good = levels > 0
        bad = ~good if self.complete else levels == 0
        returned = documents < self.retrieved
        goods, bads = (int((kind & returned).sum() if retrieved_only else kind.sum()) for kind in (good, bad))
        if goods >= bads:
            fulfilled, possible = self.counts[scope]
            fulfilled += int((good & returned).sum()) * (goods - bads)
            possible += int(good.sum()) * (goods - bads)
        elif self.complete:
            fulfilled, possible = self._fewer_of_last_level(goods, retrieved_only)
        else:
            fulfilled, possible = self._fewer_documents(documents[bad], int(good.sum()), scope)
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
            pairs = prefers
            if retrieved_only:
                pairs = prefers & (upper[:, None] < self.retrieved) & (lower < self.retrieved)
            fulfilled += int((pairs & (upper[:, None] < lower) & (upper[:, None] < self.retrieved)).sum())
            possible += int(pairs.sum())
        return fulfilled, possible

    def _fewer_documents(self, bad: Ints, count: int, scope: Scope) -> tuple[int, int]:
        """Only the first so many documents that are not relevant count."""
        if scope == "both":
            bad = bad[bad < self.retrieved]
        prefers = self.prefers.copy()
        prefers[bad[count:]] = 0
        prefers[:, bad[count:]] = 0
        return replace(self, prefers=prefers).counts[scope]


class Preferences:
    """The preferences of some queries by group, with the ranking of their documents."""

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
                inside = lines.group[mine] == group
                parts = lines.subgroup[mine[inside]]
                groups.append(
                    _group(documents[inside], parts, levels[mine[inside]], retrieved, int(documents.max()) + 1)
                )
            self.queries.append(groups)

    def fulfilled(self, scope: Scope) -> Floats:
        return self._sums(scope)[:, 0]

    def possible(self, scope: Scope) -> Floats:
        return self._sums(scope)[:, 1]

    def _sums(self, scope: Scope) -> Floats:
        sums = [np.sum([group.counts[scope] for group in groups], axis=0) for groups in self.queries]
        return np.array(sums, dtype=np.float64).reshape(-1, 2)

    def share(self, scope: Scope) -> Floats:
        """Of all preferences of a query, how many are fulfilled."""
        fulfilled, possible = self._sums(scope).T
        return np.divide(fulfilled, possible, out=np.zeros(len(possible)), where=possible != 0)

    def by_group(self, scope: Scope) -> Floats:
        """The same for each group, averaged."""
        return self._average(lambda group: group.share(scope))

    def balanced(self, scope: Scope) -> Floats:
        return self._average(lambda group: group.balanced(scope))

    def _average(self, share: Callable[[Group], float]) -> Floats:
        out = np.zeros(len(self.queries))
        for at, groups in enumerate(self.queries):
            total = 0.0
            for group in groups:
                total += share(group)
            out[at] = total / len(groups) if total > 0 else 0.0  # NaN is not above 0
        return out

    def by_pair(self, scope: Scope) -> Floats:
        """The same for each pair of documents, averaged."""
        return np.array([_mean_of_pairs(*shares, scope) for shares in self._pairs])

    @cached_property
    def _pairs(self) -> list[tuple[Floats, Floats, int]]:
        """By query: the share of each pair with both documents retrieved, and with one; how many pairs have neither."""
        return [_pair_shares(groups) for groups in self.queries]


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
            raise ContradictionError("a document has two levels in one group of judgments")
        above = levels[first][:, None] > levels[first]
        prefers[np.ix_(distinct, distinct)] = above * np.outer(times, times)
    else:
        for part in np.unique(parts).tolist():
            mine, level = documents[parts == part], levels[parts == part]
            better, worse = np.nonzero(level[:, None] > level)
            prefers[mine[better], mine[worse]] = 1
        zero = set(documents[levels == 0].tolist())
        if zero & set(documents[levels > 0].tolist()):
            raise ContradictionError("a document has both level 0 and another in one group of judgments")
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
        raise ContradictionError("two documents are each preferred to the other in one group of judgments")
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


def _mean_of_pairs(both: Floats, single: Floats, neither: int, scope: Scope) -> float:
    """Mean, added up term by term; what has no share counts 0."""
    shares = both if scope == "both" else np.append(both, single)
    count = len(shares) + (neither if scope == "all" else 0)
    return float(np.add.accumulate(shares)[-1]) / count if len(shares) else 0.0
