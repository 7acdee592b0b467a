"""Pictures and the HTML page of the agreement of judges."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from rankstone.errors import InputError
from rankstone.plots.marks import Axis, Dots, RefLine
from rankstone.plots.page import box, bullets, figures, page, paragraph, small_figure, table
from rankstone.plots.plot import Plot
from rankstone.results.answer import number
from rankstone.version import __version__

if TYPE_CHECKING:
    from rankstone.judges.agreement import Agreement


def _confusion(of: Agreement, first: str, second: str, metric: str | None) -> Plot:
    """Items by the grades of two judges; the area of a dot is their number."""
    items = np.array(of.confusion(first, second))
    row, column = np.nonzero(items)
    many = items[row, column].tolist()
    names = [f"{grade:g}" for grade in of.scale]
    titles = [f"{first} {names[a]}, {second} {names[b]}: {n:,}" for a, b, n in zip(row, column, many, strict=True)]
    total = max(int(items.sum()), 1)
    above, below = (float(np.triu(part, 1).sum()) / total for part in (items, items.T))
    sentence = f"{second} grades {100 * above:.1f} % of the items higher than {first}, and {100 * below:.1f} % lower."
    x, y = (Axis.of_names(name, names) for name in (f"grade of {first}", f"grade of {second}"))
    return Plot(
        f"Grades of {first} and {second}", sentence, x, y,
        (RefLine(axis="both"), Dots(row.tolist(), column.tolist(), many, titles)),
        {first: [of.scale[at] for at in row], second: [of.scale[at] for at in column], "items": many},
        height=440, width=480,
    )  # fmt: skip


def _runs(of: Agreement, first: str, second: str, metric: str | None) -> Plot:
    """Means of the runs under two judges."""
    if of.effect is None:
        raise InputError("there are no runs: rs.agreement(judges, runs, metrics)")
    metric = metric or next(iter(of.effect.means))
    means = of.effect.means[metric]
    runs, x, y = [*means[first]], [*means[first].values()], [*means[second].values()]
    titles = [f"{run}: {number(a)}, {number(b)}" for run, a, b in zip(runs, x, y, strict=True)]
    row = next(row for row in of.effect.orders if row.metric == metric and {row.first, row.second} == {first, second})
    axis = Axis.over(f"{metric} by {first}", [*x, *y])
    return Plot(
        f"{metric}: runs under two judges",
        f"Kendall's tau of the order of runs: {row.kendall:.2f}, tau_ap: {row.tau_ap:.2f}.",
        axis, Axis(f"{metric} by {second}", axis.low, axis.high),
        (RefLine(axis="both"), Dots(x, y, titles=titles)), {"run": runs, first: x, second: y},
        height=440, width=480,
    )  # fmt: skip


KINDS: dict[str, Callable[[Agreement, str, str, str | None], Plot]] = {"confusion": _confusion, "runs": _runs}


def picture_of(of: Agreement, kind: str, names: tuple[str, ...]) -> Plot:
    """A picture by its name; names: two judges, and a metric."""
    if kind not in KINDS:
        raise InputError(f"unknown plot {kind!r}; choose from {', '.join(map(repr, KINDS))}")
    judges = [name for name in names if name in of.judges]
    others = [name for name in names if name not in of.judges]
    metrics = () if of.effect is None else tuple(of.effect.means)
    if len(others) > 1 or len(judges) > 2 or (others and others[0] not in metrics):
        raise InputError(f"{names!r}: name two judges of {', '.join(of.judges)}, and a metric of {', '.join(metrics)}")
    first, second = of._pair(*[*judges, None, None][:2])
    return KINDS[kind](of, first, second, others[0] if others else None)


def report_of(of: Agreement, title: str | None) -> str:
    """The page of an agreement."""
    answer = of._answer()
    kinds = KINDS if of.effect is not None else {"confusion": _confusion}
    others = [judge for judge in of.judges if judge != of.reference]
    plots = [draw(of, of.reference, judge, None) for draw in kinds.values() for judge in others]
    lead = box("lead", paragraph(answer.title)) + figures(*map(small_figure, plots))
    names = ("Thresholds", "Is a judge harsh or lenient", "Queries", "Runs under each judge", "Order of runs",
             "Verdicts")  # fmt: skip
    sections = [("coefficients", "Coefficients", table(answer.table) + bullets(answer.notes))]
    sections += [
        (f"part-{at}", name, table(part.table, range(len(part.align.rstrip(">")) or 1)))
        for at, (name, part) in enumerate(zip(names, answer.below, strict=False))
    ]
    return page(
        title or " and ".join(of.judges), [f"{len(of.judges)} judges", f"rankstone {__version__}"], lead, sections
    )
