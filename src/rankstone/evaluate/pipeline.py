"""From data to a `Source`, from a `Source` to each alignment once; and side information, wherever it is given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from numbers import Integral
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from rankstone.align.recommendations import Shown
from rankstone.align.ties import TIES
from rankstone.conventions.convention import takes
from rankstone.conventions.plan import Plan
from rankstone.data.arrow import movable
from rankstone.data.dicts import Dicts
from rankstone.data.source import Align, Aligned, First, Source
from rankstone.errors import Advice, Hint
from rankstone.metrics.registry import ByName, parse_all

if TYPE_CHECKING:
    from rankstone.data.side_info import Beside, Known
    from rankstone.typing import Array, Column, Metrics, Numbers, Parent, Roles, Run, Stock, Truth


def open_source(
    truth: Truth | None,
    run: Run | None,
    *,
    mask: Array | None = None,
    lengths: Numbers | None = None,
    groups: Numbers | None = None,
    query: Column | None = None,
    columns: Roles | None = None,
    exclude: Truth | None = None,
    parent: Parent | None = None,
    overlap: float | None = None,
) -> Source:
    """The source of a truth and a run in any shape."""
    # The common case, first.
    plain = mask is lengths is groups is query is exclude is parent is None and overlap is None
    if type(truth) is dict and type(run) is dict and plain:
        return Dicts(truth, run)
    from rankstone.data.loaders import load  # a quick start: a dict needs none of the others

    return load(
        truth, run, mask=mask, lengths=lengths, groups=groups, query=query, columns=columns, exclude=exclude,
        parent=parent, overlap=overlap,
    )  # fmt: skip


def refuse_truthless(plans: Iterable[Plan], *, judged: bool) -> None:
    """Stop at metrics that need a truth where there is none."""
    for plan in plans:
        if plan.needs_truth and not judged:
            raise ValueError(f"{plan.label} needs a truth: evaluate(truth, run, ...)")


def after_topk(firsts: Mapping[Align, First], source: Source, wanted: Mapping[Align, Align]) -> dict[Align, Align]:
    """The alignments, where the lists have been looked through: an item that is there twice was an error then."""
    return {
        asked: replace(how, duplicates="count")  # which looks for none
        if asked in firsts and how.duplicates == "error" and source.repeatable
        else how
        for asked, how in wanted.items()
    }


def show(
    source: Source,
    firsts: Mapping[Align, First],
    aligned: dict[Align, Aligned],
    beside: Beside | None,
    threads: int,
) -> Known | None:
    """Add what the lists show to the alignments of metrics that read it; what is known of the items, if any does."""
    if not firsts:
        return None
    from rankstone.data.side_info import Beside, Known  # a quick start: most metrics need none of it

    known = Known(beside or Beside(), getattr(source, "truth", None))
    for align, first in firsts.items():
        found = aligned[align]  # which others may share, that read less
        shown = Shown.of(
            found.ranked, known, first, partial(getattr, found, "queries"), align.keeping(True, threads)
        )  # fmt: skip
        aligned[align] = replace(found, shown=shown)
    return known


def firsts_of(source: Source, plans: Iterable[Plan], threads: int) -> dict[Align, First]:
    """What the lists show, as deep as metrics look, by alignment."""
    depths = depths_of(plans)
    return {align: source.first(align.keeping(True, threads), depth) for align, depth in depths.items()}


def depths_of(plans: Iterable[Plan]) -> dict[Align, int | None]:
    """How many rows of a list have to be known, by alignment; None: all. Metrics that read no such rows need none."""
    depths: dict[Align, list[int | None]] = {}
    for plan in plans:
        if plan.metric.declaration.reads == "shown":
            k = plan.arguments.get("k")
            whole = TIES[plan.choices["ties"]].place is not None  # where a place is for all of equal scores
            # One more tells whether the last place was open.
            depths.setdefault(plan.align, []).append(None if k is None or whole else k + 1)
    every = {align: [depth for depth in several if depth is not None] for align, several in depths.items()}
    return {align: max(found) if len(found) == len(depths[align]) else None for align, found in every.items()}


def align_all(source: Source, wanted: Mapping[Align, Align]) -> dict[Align, Aligned]:
    """Each alignment once. Rules for what is there twice make no difference where nothing is."""
    if len(wanted) == 1:
        return {asked: source.align(how) for asked, how in wanted.items()}
    alike: dict[Align, list[Align]] = {}
    for asked, how in wanted.items():
        alike.setdefault(replace(how, duplicates="error", truth_duplicates="error", zeros=True), []).append(asked)
    out: dict[Align, Aligned] = {}
    for strict, several in alike.items():
        if len(several) > 1 and source.repeatable:
            try:
                keep = any(wanted[asked].zeros for asked in several)
                out.update(dict.fromkeys(several, source.align(replace(strict, zeros=keep))))
                continue
            except ValueError:  # something is there twice, or wrong in a way that is said below
                pass
        out.update({asked: source.align(wanted[asked]) for asked in several})
    return {asked: out[asked] for asked in wanted}


# -- side information -----------------------------------------------------------------------------------------


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


def made_of(beside: Beside | None, reference: Any, catalogue: Any = None) -> dict[str, Any]:
    """The same as it is given to `__init__`. catalogue: as it was given, which may be how many items there are."""
    if beside is None:
        return {} if catalogue is None else {"catalogue": catalogue}
    items = catalogue if beside.catalogue is None else beside.catalogue
    return {"catalogue": items, "history": beside.history, "reference": reference}
