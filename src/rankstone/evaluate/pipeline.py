"""From data to a `Source`, from a `Source` to each alignment once; and side information."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from numbers import Integral
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from rankstone.align.recommendations import Recommendations
from rankstone.align.ties import TIES
from rankstone.conventions.convention import takes
from rankstone.conventions.plan import Plan
from rankstone.data.arrow import movable
from rankstone.data.dicts import Dicts
from rankstone.data.source import Aligned, AlignOptions, Source, TopK, own_leads
from rankstone.errors import Advice, DataError, Hint, InputError
from rankstone.metrics.registry import ByName, parse_all

if TYPE_CHECKING:
    from rankstone.data.side_info import ItemIndex, SideInfo
    from rankstone.typing import Array, CatalogueLike, Column, ColumnRoles, Metrics, Numbers, Parent, Path, Run, Truth


def open_source(
    truth: Truth | None,
    run: Run | None,
    *,
    mask: Array | None = None,
    lengths: Numbers | None = None,
    groups: Numbers | None = None,
    query: Column | None = None,
    columns: ColumnRoles | None = None,
    exclude: Truth | None = None,
    exclude_from_truth: bool = False,
    parent: Parent | None = None,
    overlap: float | None = None,
    queries: Column | Path | None = None,
) -> Source:
    """The source of a truth and a run in any form."""
    # The common case, first.
    plain = mask is lengths is groups is query is exclude is parent is queries is None and overlap is None
    if type(truth) is dict and type(run) is dict and plain and not exclude_from_truth:
        return Dicts(truth, run, notes=own_leads(run))
    from rankstone.data.loaders import load  # a fast import: dicts need no loader

    return load(
        truth, run, mask=mask, lengths=lengths, groups=groups, query=query, columns=columns, exclude=exclude,
        exclude_from_truth=exclude_from_truth, parent=parent, overlap=overlap, queries=queries,
    )  # fmt: skip


@contextmanager
def locating(source: Source) -> Iterator[None]:
    """Errors of a side's data with its file and line."""
    try:
        yield
    except DataError as error:
        side = getattr(getattr(source, "source", source), error.side or "", None)
        path = getattr(side, "path", "")
        if not path:
            raise
        from rankstone.data.files import place_in  # a fast import: dicts have no lines

        raise error.at(place_in(path, error.query, error.item)) from None


def require_truth(plans: Iterable[Plan], *, judged: bool) -> None:
    """Raise for metrics that need a truth where there is none."""
    for plan in plans:
        if plan.needs_truth and not judged:
            raise InputError(f"{plan.label} needs a truth: evaluate(truth, run, ...)")


def after_topk(
    firsts: Mapping[AlignOptions, TopK], source: Source, wanted: Mapping[AlignOptions, AlignOptions]
) -> dict[AlignOptions, AlignOptions]:
    """The alignments after the top k were read: these have checked the lists for duplicates."""
    return {
        align: replace(options, duplicates="count")  # no second check
        if align in firsts and options.duplicates == "error" and source.repeatable
        else options
        for align, options in wanted.items()
    }


def show(
    source: Source,
    firsts: Mapping[AlignOptions, TopK],
    aligned: dict[AlignOptions, Aligned],
    side_info: SideInfo | None,
    threads: int,
) -> ItemIndex | None:
    """Add the recommendations to the alignments of metrics that read them; returns their side information."""
    if not firsts:
        return None
    from rankstone.data.side_info import ItemIndex, SideInfo  # a fast import: few metrics need it

    items = ItemIndex(side_info or SideInfo(), getattr(source, "truth", None))
    for align, first in firsts.items():
        shared = aligned[align]  # other alignments may be the same object
        recommendations = Recommendations.of(
            shared.ranked, items, first, partial(getattr, shared, "queries"), align.with_(True, threads)
        )
        aligned[align] = replace(shared, shown=recommendations)
    return items


def firsts_of(source: Source, plans: Iterable[Plan], threads: int) -> dict[AlignOptions, TopK]:
    """The first rows of the lists, by alignment, as deep as the metrics need."""
    depths = depths_of(plans)
    return {align: source.first(align.with_(True, threads), depth) for align, depth in depths.items()}


def depths_of(plans: Iterable[Plan]) -> dict[AlignOptions, int | None]:
    """How many rows per list are needed, by alignment of metrics that read recommendations; None: all."""
    depths: dict[AlignOptions, list[int | None]] = {}
    for plan in plans:
        if plan.metric.declaration.reads == "recommendations":
            k = plan.depth
            whole = TIES[plan.choices["ties"]].place is not None  # tied items share a rank
            # One more row shows whether there is a tie at the cutoff.
            depths.setdefault(plan.align, []).append(None if k is None or whole else k + 1)
    every = {align: [depth for depth in several if depth is not None] for align, several in depths.items()}
    return {align: max(finite) if len(finite) == len(depths[align]) else None for align, finite in every.items()}


def align_all(source: Source, wanted: Mapping[AlignOptions, AlignOptions]) -> dict[AlignOptions, Aligned]:
    """Each alignment once. Alignments that differ only in rules for duplicates are equal where there are none."""
    if len(wanted) == 1:
        return {align: source.align(options) for align, options in wanted.items()}
    alike: dict[AlignOptions, list[AlignOptions]] = {}
    for align, options in wanted.items():
        alike.setdefault(
            replace(options, duplicates="error", truth_duplicates="error", keep_zero_grades=True), []
        ).append(align)
    out: dict[AlignOptions, Aligned] = {}
    for strict, several in alike.items():
        if len(several) > 1 and source.repeatable:
            try:
                keep = any(wanted[align].keep_zero_grades for align in several)
                out.update(dict.fromkeys(several, source.align(replace(strict, keep_zero_grades=keep))))
                continue
            except ValueError:  # duplicates, or another error that is raised below
                pass
        out.update({align: source.align(wanted[align]) for align in several})
    return {align: out[align] for align in wanted}


# -- side information -----------------------------------------------------------------------------------------


def resolve_side_info(
    catalogue: CatalogueLike | int | None = None,
    history: Truth | None = None,
    reference: Run | None = None,
    metrics: Metrics = (),
    choices: ByName = MappingProxyType({}),
) -> tuple[SideInfo | None, dict[str, Any]]:
    """The side information, or None; and the choices, with the number of items for metrics that take it."""
    choices = dict(choices)
    if isinstance(catalogue, Integral) and not isinstance(catalogue, bool):
        choices, catalogue = {"catalogue": int(catalogue), **choices}, None
    if catalogue is None and history is None and reference is None:
        return None, choices
    from rankstone.data.loaders import open_side_info  # a fast import: few metrics need it

    side_info = open_side_info(cast("CatalogueLike | None", catalogue), history, reference)
    wanted = parse_all(metrics)
    if side_info.catalogue is not None and any(takes(metric, "catalogue") for metric in wanted):
        choices = {"catalogue": len(side_info.catalogue), **choices}
    elif all(metric.declaration.reads == "ranking" for metric in wanted):
        labels = ", ".join(map(str, wanted))
        raise InputError(
            Advice(Hint("catalogue"), ", ", Hint("history"), " and ", Hint("reference"),
                   f" have no effect: {labels} read none of them")
        )  # fmt: skip
    return side_info, choices


def movable_side_info(side_info: SideInfo | None) -> SideInfo | None:
    """The same in a form that can be pickled."""
    if side_info is not None and side_info.catalogue is not None:
        side_info = replace(side_info, catalogue=replace(side_info.catalogue, item=movable(side_info.catalogue.item)))
    if side_info is not None and side_info.history is not None:
        rows = side_info.history
        side_info = replace(side_info, history=replace(rows, query=movable(rows.query), item=movable(rows.item)))
    return side_info


def side_info_arguments(side_info: SideInfo | None, reference: object, catalogue: object = None) -> dict[str, Any]:
    """Side information as arguments. catalogue: the argument, which may be the number of items."""
    if side_info is None:
        return {} if catalogue is None else {"catalogue": catalogue}
    items = catalogue if side_info.catalogue is None else side_info.catalogue
    return {"catalogue": items, "history": side_info.history, "reference": reference}
