"""The 2x2 table of decisions: what was returned and what was not, by what is relevant and what is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.align.alignment import Floats
from rankstone.conventions.convention import Convention
from rankstone.evaluate.evaluate import evaluate
from rankstone.metrics.registry import Value
from rankstone.metrics.registry import metrics as known
from rankstone.results.answer import Answer, Readable, queries

if TYPE_CHECKING:
    from rankstone.typing import Array, Numbers, Roles, Run, Truth


def confusion(
    truth: Truth,
    run: Run | None = None,
    k: int | None = None,
    *,
    convention: str | Convention = "rankstone",
    columns: Roles | None = None,
    mask: Array | None = None,
    lengths: Numbers | None = None,
    groups: Numbers | None = None,
    catalogue: int | None = None,
    threads: int = 0,
    **choices: Value,
) -> Confusion:
    """Count true and false positives and negatives of the first k places, for each query and in all.

    An item that nobody judged is not relevant. True negatives need to know how many items there are: `catalogue`.
    Data and choices are as `evaluate` takes them.

    >>> table = rs.confusion({"u1": ["a", "b", "x"]}, {"u1": ["a", "c", "b"]}, k=2, catalogue=10)
    >>> table.tp, table.fp, table.fn, table.tn
    (1.0, 1.0, 2.0, 6.0)
    """
    found, returned, relevant = (known[name] for name in ("num_rel_ret", "num_ret", "num_rel"))
    found, returned = (found, returned) if k is None else (found @ k, returned @ k)
    result = evaluate(
        truth, run, [found, returned, relevant], convention=convention, columns=columns, mask=mask, lengths=lengths,
        groups=groups, threads=threads, **choices,
    )  # fmt: skip
    tp, shown, wanted = (result.per_query[str(metric)] for metric in (found, returned, relevant))
    cells = {"tp": tp, "fp": shown - tp, "fn": wanted - tp}
    if catalogue is not None:
        cells["tn"] = catalogue - tp - cells["fp"] - cells["fn"]
        if (cells["tn"] < 0).any():
            query = result.queries[int(np.argmax(cells["tn"] < 0))]
            raise ValueError(f"a catalogue of {catalogue} items cannot hold the items of query {query!r}")
    return Confusion(k, result.queries, cells)


@dataclass(frozen=True, repr=False)
class Confusion(Readable):
    """`tp`, `fp`, `fn` and `tn` over all queries, and `per_query` an array for each, in the order of `queries`.

    NaN stands for a query that the choices leave out.
    """

    k: int | None
    queries: Sequence[Any]
    per_query: Mapping[str, Floats]

    @property
    def tp(self) -> float:
        """Relevant items in the first k places."""
        return self._total("tp")

    @property
    def fp(self) -> float:
        """Other items in the first k places."""
        return self._total("fp")

    @property
    def fn(self) -> float:
        """Relevant items that are not there."""
        return self._total("fn")

    @property
    def tn(self) -> float:
        """Other items that are not there."""
        if "tn" not in self.per_query:
            raise AttributeError("true negatives are not known; say how many items there are: catalogue=")
        return self._total("tn")

    def to_dict(self) -> dict[str, float]:
        """The numbers over all queries; without a catalogue there is no `tn`."""
        return {name: self._total(name) for name in self.per_query}

    def _total(self, name: str) -> float:
        return float(np.nansum(self.per_query[name]))

    def answer(self) -> Answer:
        """The table over all queries."""
        cells = {name: f"{total:,.10g}" for name, total in self.to_dict().items()}
        table = [
            ["", "relevant", "not relevant"],
            ["returned", cells["tp"], cells["fp"]],
            ["not returned", cells["fn"], cells.get("tn", "?")],
        ]
        title = f"{queries(len(self.queries))}, {'all' if self.k is None else f'the first {self.k:,}'} places"
        notes = [] if "tn" in cells else ["? needs catalogue=, the number of items there are"]
        return Answer(table, title, notes)
