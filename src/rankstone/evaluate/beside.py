"""What is known beside a truth and a run, wherever it is given: `catalogue=`, `history=` and `reference=`."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from rankstone.conventions.convention import takes
from rankstone.data.arrow import movable
from rankstone.errors import Advice, Hint
from rankstone.metrics.registry import ByName, parse_all

if TYPE_CHECKING:
    from rankstone.data.side_info import Beside
    from rankstone.typing import Metrics, Run, Stock, Truth


def given_beside(
    catalogue: Stock | int | None = None,
    history: Truth | None = None,
    reference: Run | None = None,
    metrics: Metrics = (),
    choices: ByName = MappingProxyType({}),
) -> tuple[Beside | None, dict[str, Any]]:
    """What is known, or None; and the choices, with the number of items, which some metrics take for a parameter."""
    choices = dict(choices)
    if isinstance(catalogue, Integral) and not isinstance(catalogue, bool):
        choices, catalogue = {"catalogue": int(catalogue), **choices}, None
    if catalogue is None and history is None and reference is None:
        return None, choices
    from rankstone.data.loaders import open_beside  # a quick start: few metrics need it

    beside = open_beside(cast("Stock | None", catalogue), history, reference)
    wanted = parse_all(metrics)
    if beside.catalogue is not None and any(takes(metric, "catalogue") for metric in wanted):
        choices = {"catalogue": len(beside.catalogue), **choices}
    elif all(metric.declaration.reads == "ranking" for metric in wanted):
        labels = ", ".join(map(str, wanted))
        raise ValueError(
            Advice(Hint("catalogue"), ", ", Hint("history"), " and ", Hint("reference"),
                   f" would change nothing: {labels} read none of them")
        )  # fmt: skip
    return beside, choices


def movable_beside(beside: Beside | None) -> Beside | None:
    """The same in a form that can be pickled."""
    if beside is not None and beside.catalogue is not None:
        beside = replace(beside, catalogue=replace(beside.catalogue, item=movable(beside.catalogue.item)))
    if beside is not None and beside.history is not None:
        rows = beside.history
        beside = replace(beside, history=replace(rows, query=movable(rows.query), item=movable(rows.item)))
    return beside
