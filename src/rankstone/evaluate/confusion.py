"""Confusion matrix: returned or not, by relevant or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.align.alignment import Floats
from rankstone.conventions.convention import Convention
from rankstone.errors import InputError, InputTypeError, is_finite, show
from rankstone.evaluate.evaluate import evaluate
from rankstone.metrics.registry import Value
from rankstone.metrics.registry import metrics as all_metrics
from rankstone.results.answer import Answer, Readable, queries

if TYPE_CHECKING:
    from rankstone.typing import Array, ColumnRoles, Numbers, Run, Truth


def confusion(
    truth: Truth,
    run: Run | None = None,
    k: int | None = None,
    *,
    convention: str | Convention = "rankstone",
    columns: ColumnRoles | None = None,
    mask: Array | None = None,
    lengths: Numbers | None = None,
    groups: Numbers | None = None,
    catalogue: int | None = None,
    threads: int = 0,
    **choices: Value,
) -> Confusion:
    """Count true and false positives and negatives of the first k ranks, per query and in total.

    Unjudged items count as non-relevant.

    Parameters
    ----------
    truth : truth-like
        The relevant items of each query, as in `rs.evaluate`.
    run : run-like, optional
        The returned items of each query, as in `rs.evaluate`.
    k : int, optional
        Cutoff; by default the whole list.
    convention : str or Convention, default "rankstone"
        Whose definitions to follow.
    columns, mask, lengths, groups : optional
        As in `rs.evaluate`.
    catalogue : int, optional
        Number of items in the catalogue, which true negatives need.
    threads : int, default 0
        Number of cores to use, 0 for all.
    **choices
        Choices by name, such as `threshold=2`; see `rs.choices`.

    Returns
    -------
    Confusion
        With `tp`, `fp`, `fn` and `tn`, and arrays in `per_query`.

    Examples
    --------
    >>> table = rs.confusion({"u1": ["a", "b", "x"]}, {"u1": ["a", "c", "b"]}, k=2, catalogue=10)
    >>> table.tp, table.fp, table.fn, table.tn
    (1.0, 1.0, 2.0, 6.0)
    """
    hits, returned, relevant = (all_metrics[name] for name in ("num_rel_ret", "num_ret", "num_rel"))
    hits, returned = (hits, returned) if k is None else (hits @ k, returned @ k)
    result = evaluate(
        truth, run, [hits, returned, relevant], convention=convention, columns=columns, mask=mask, lengths=lengths,
        groups=groups, threads=threads, **choices,
    )  # fmt: skip
    tp, positives, relevant_items = (result.per_query[str(metric)] for metric in (hits, returned, relevant))
    cells = {"tp": tp, "fp": positives - tp, "fn": relevant_items - tp}
    if catalogue is not None:
        if isinstance(catalogue, bool) or not isinstance(catalogue, (int, np.integer)) or not is_finite(catalogue):
            raise InputTypeError(f"catalogue={show(catalogue)}; give the number of items")
        cells["tn"] = catalogue - tp - cells["fp"] - cells["fn"]
        if (cells["tn"] < 0).any():
            query = result.queries[int(np.argmax(cells["tn"] < 0))]
            raise InputError(f"a catalogue of {catalogue} items cannot hold the items of query {query!r}")
    return Confusion(k, result.queries, cells)


@dataclass(frozen=True, repr=False)
class Confusion(Readable):
    """Confusion matrix over all queries. What `rs.confusion` returns.

    Attributes
    ----------
    k : int or None
        The cutoff.
    queries : sequence
        Query ids.
    per_query : dict
        Arrays of "tp", "fp", "fn" and, with a catalogue, "tn", in the order of `queries`; NaN for ignored queries.
    """

    k: int | None
    queries: Sequence[Any]
    per_query: Mapping[str, Floats]

    @property
    def tp(self) -> float:
        """True positives: relevant items in the first k ranks."""
        return self._total("tp")

    @property
    def fp(self) -> float:
        """False positives: non-relevant items in the first k ranks."""
        return self._total("fp")

    @property
    def fn(self) -> float:
        """False negatives: relevant items that are not in the first k ranks."""
        return self._total("fn")

    @property
    def tn(self) -> float:
        """True negatives: non-relevant items that are not in the first k ranks; needs `catalogue`."""
        if "tn" not in self.per_query:
            raise AttributeError("true negatives need the number of items: rs.confusion(..., catalogue=)")
        return self._total("tn")

    def to_dict(self) -> dict[str, float]:
        """Totals over all queries; without a catalogue there is no `tn`."""
        return {name: self._total(name) for name in self.per_query}

    def _total(self, name: str) -> float:
        return float(np.nansum(self.per_query[name]))

    def _answer(self) -> Answer:
        """The table over all queries."""
        cells = {name: f"{total:,.10g}" for name, total in self.to_dict().items()}
        table = [
            ["", "relevant", "non-relevant"],
            ["returned", cells["tp"], cells["fp"]],
            ["not returned", cells["fn"], cells.get("tn", "?")],
        ]
        title = f"{queries(len(self.queries))}, {'all' if self.k is None else f'first {self.k:,}'} ranks"
        notes = [] if "tn" in cells else ["? needs catalogue=, the number of items"]
        return Answer(table, title, notes)
