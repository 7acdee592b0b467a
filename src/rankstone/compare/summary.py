"""The printed table of a comparison, the notes under it, and its LaTeX table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from rankstone.compare.caveats import general_caveats
from rankstone.compare.config import Rules, default_correction
from rankstone.compare.differences import Difference, Experiment
from rankstone.compare.paper import Block, Paper
from rankstone.errors import InputError
from rankstone.evaluate.human_part import worth
from rankstone.plots.marks import printable
from rankstone.results.answer import Answer, number, p_value, queries, signed
from rankstone.results.definition import Definition, summarize
from rankstone.results.reproduction import command_line

if TYPE_CHECKING:
    from rankstone.compare.collections import CollectionDifference

    Verdict: TypeAlias = Difference | CollectionDifference

_MANY = 12  # caveats under a table
_QUICK = 20_000  # judged and returned items, up to which a certificate is printed
_TEXTS = ("metric", "run", "than", "verdict")  # columns that are not numbers
_BOUNDS = ("at least", "at most")  # columns of the bounds over unjudged items


def answer_of(data: Experiment, slices: Answer | None) -> Answer:
    """The printed table; slices: the differences by group, if they are printed too."""
    table = _table(data)
    definitions = list(data.definitions.values())
    *defined, origin = summarize(definitions)
    return Answer(
        table,
        title=headline_of(data),
        notes=notes_of(data, slices),
        definitions=[*defined, origin],
        align="".join("<" if name in _TEXTS else ">" for name in table[0]),
        fixed=2 if data.baseline is not None else 3,
        later=(*_BOUNDS, "p", "better", "same", "worse"),
        below=() if slices is None else (slices,),
        tips={definition.metric: definition.cite for definition in definitions},
        paper=paper_of(data).table(),
        more="print(comparison.definitions)",
    )


def _table(data: Experiment) -> list[list[str]]:
    """The head and the rows; the verdict comes early, so that a narrow terminal shows it in the first part."""
    percent = f"{100 * data.rules.confidence:g} %"
    percent = f"unadjusted {percent} CI" if data.is_adjusted else f"{percent} interval"
    head = ["metric", "run", *(["than"] if data.baseline is None else []), "mean", "difference", "verdict", percent,
            *(_BOUNDS if data.paired.is_bounded else ()), "p", "adjusted", "better", "same", "worse"]  # fmt: skip
    table = [head]
    for label, sample in data.samples.items():
        rows = [["", *_cells(data, of)] for of in data.differences if of.metric == label]
        if data.baseline is not None:
            mean = sample.means[data.names.index(data.baseline)]
            rows.insert(0, ["", data.baseline, number(mean), *[""] * (len(head) - 3)])
        rows[0][0] = label
        table += rows
    return table


def _cells(data: Experiment, of: Difference) -> list[str]:
    interval = "" if math.isnan(of.low) else f"{signed(of.low)} {signed(of.high)}"
    ends = of.bounds[:2] if data.paired.is_bounded else ()
    bounds = ("unknown" if math.isnan(end) else signed(end) for end in ends)
    return [
        of.run, *([of.baseline] if data.baseline is None else []), number(of.second), signed(of.difference),
        of.verdict, interval, *bounds, p_value(of.p), p_value(of.adjusted), str(of.wins), str(of.ties), str(of.losses),
    ]  # fmt: skip


# -- the verdicts in words -----------------------------------------------------------------------------------

_COMPARATIVES = ("better", "higher", "worse", "lower")
_OPPOSITES = {"worse": "better", "lower": "higher"}
_SENTENCES = 3


class _Pair(NamedTuple):
    """Two runs, and their differences by verdict."""

    run: str
    baseline: str
    verdicts: dict[str, list[Verdict]]

    @property
    def winner_first(self) -> _Pair:
        """The same from the view of the run that is better, where only one is."""
        if not _OPPOSITES.keys() & self.verdicts or {"better", "higher"} & self.verdicts.keys():
            return self
        verdicts = {_OPPOSITES.get(verdict, verdict): several for verdict, several in self.verdicts.items()}
        return _Pair(self.baseline, self.run, verdicts)


def headline_of(data: Experiment) -> str:
    """The verdicts in a few sentences."""
    labels = [label for label in data.labels if data.rules.decides(label)]
    return sentences_of(data.differences, labels, data.baseline, data.is_adjusted)


def sentences_of(differences: Iterable[Verdict], labels: Sequence[str], baseline: str | None, is_adjusted: bool) -> str:
    """Sentences of verdicts, the decided ones first; pairs of runs with the same verdicts share one.

    labels: the metrics that have verdicts.
    """
    pairs: dict[tuple[str, str], _Pair] = {}
    for of in differences:
        if of.verdict:
            pair = pairs.setdefault((of.run, of.baseline), _Pair(of.run, of.baseline, {}))
            pair.verdicts.setdefault(of.verdict, []).append(of)
    groups: dict[tuple[str, str], list[_Pair]] = {}
    for pair in pairs.values():
        if baseline is None:
            pair = pair.winner_first
        alike = str([(verdict, [of.metric for of in several]) for verdict, several in pair.verdicts.items()])
        groups.setdefault((pair.baseline if baseline is not None else pair.run, alike), []).append(pair)
    order = sorted(groups.values(), key=lambda group: min(map(_rank, group[0].verdicts)))
    shown = order if len(order) <= _SENTENCES else order[: _SENTENCES - 1]
    rest = sum(map(len, order[len(shown) :]))
    more = [f"{rest} more pairs of runs are in the table."] if rest else []
    return " ".join([*(_sentence(labels, is_adjusted, group) for group in shown), *more])


def _rank(verdict: str) -> int:
    return _COMPARATIVES.index(verdict) if verdict in _COMPARATIVES else 9


def _sentence(labels: Sequence[str], is_adjusted: bool, group: Sequence[_Pair]) -> str:
    """The verdicts of pairs that have the same ones."""
    runs, baselines = dict.fromkeys(pair.run for pair in group), dict.fromkeys(pair.baseline for pair in group)
    than, clauses = f" than {_joined(baselines)}", list[str]()
    for verdict in sorted(group[0].verdicts, key=_rank):
        differences = [of for pair in group for of in pair.verdicts[verdict]]
        is_first = verdict in _COMPARATIVES and not clauses
        where = f"{_metrics(labels, differences)}{_largest_p(is_adjusted, differences)}"
        clauses.append(f"{verdict}{than * is_first} on {where}")
    subject = f"{_joined(runs)} {'are' if len(runs) > 1 else 'is'}"
    if not {*_COMPARATIVES} & group[0].verdicts.keys():
        subject = f"{_joined(runs)} vs. {_joined(baselines)}:"
    return f"{subject} {', '.join(clauses)}."


def _metrics(labels: Sequence[str], differences: Sequence[Verdict]) -> str:
    named = dict.fromkeys(of.metric for of in differences)
    if len(named) == len(labels) > 1:
        return "both metrics" if len(labels) == 2 else f"all {len(labels)} metrics"
    return _joined(named)


def _largest_p(is_adjusted: bool, differences: Sequence[Verdict]) -> str:
    """The largest p-value of decided differences, rounded up."""
    largest = max((of.adjusted for of in differences if of.verdict in _COMPARATIVES), default=math.nan)
    if math.isnan(largest):
        return ""
    size = "< 0.001" if largest < 0.001 else f"<= {math.ceil(1000 * largest) / 1000:g}"
    return f" ({'adjusted ' * is_adjusted}p {size})"


def _joined(names: Iterable[str]) -> str:
    """Names in a sentence."""
    *first, last = map(printable, names)
    return f"{', '.join(first)} and {last}" if first else last


# -- notes ---------------------------------------------------------------------------------------------------


def notes_of(data: Experiment, slices: Answer | None) -> list[str]:
    """The test and the convention, power, and caveats."""
    by_group = [] if slices is None else slices.notes
    first, *others = method_of(data)
    name, choices = split_convention(data.definitions)
    return [
        f"{first}; {name} definitions{f' with {choices}' if choices else ''}", *others, *detectable_of(data),
        *_bounds(data), *_seeds(data), *by_group, *_machine(data), *_certificate(data),
        *general_caveats(data), *_caveats(data),
    ]  # fmt: skip


def split_convention(definitions: Mapping[str, Definition]) -> tuple[str, str]:
    """The name of the convention, and the choices that differ from it, as keywords."""
    name, _, choices = next(iter(definitions.values())).convention.partition(" with ")
    return name, choices


def method_of(data: Experiment) -> list[str]:
    """The number of queries, the test and the correction."""
    rules, n = data.rules, sorted({int(sample.mask.sum()) for sample in data.samples.values()})
    count = queries(n[0]) if len(n) == 1 else f"{n[0]:,} to {queries(n[-1])}"
    test, paired = rules.paired_test, data.paired
    over = f" over {data.deciding} comparison{'s' * (data.deciding != 1)}" if rules.adjustment.corrects else ""
    changes_p = data.deciding != 1 or rules.adjustment.p is not None
    correction = f", {rules.adjustment.words}{over}" if changes_p else ""
    random = f" ({rules.resamples:,} sign flips, seed {rules.seed})" if rules.is_random else ""
    clusters = f" in {int(paired.clusters.max()) + 1:,} clusters" if paired.clusters is not None else ""
    lines = [f"{count}{clusters}; {test.words}{correction}{random}"]
    if test.anytime:
        lines.append(f"intervals and p hold at every look; they are narrowest at {rules.tuning:,.0f} queries")
    elif test.has_interval and not test.is_student:
        lines.append("intervals: Student's t, of the mean difference")
    if paired.unpaired:
        lines.append(f"{paired.unpaired:,} queries that not all runs have are left out")
    if rules.population is not None:
        is_all = n[-1] == rules.population
        lines.append("the queries are the whole population: nothing to test" if is_all else
                     f"a sample from a population of {rules.population:,} queries")  # fmt: skip
    return lines


def detectable_of(data: Experiment) -> list[str]:
    """The smallest detectable differences, per metric; a range where there are several pairs of runs."""
    by_metric: dict[str, list[float]] = {}
    for of in data.differences:
        if of.verdict and math.isfinite(of.low) and of.error > 0 and not of.is_anytime:
            by_metric.setdefault(of.metric, []).append(of.detectable())
    if not by_metric:
        return []
    cells = [f"{_span(sizes)}{f' ({label})' if len(data.labels) > 1 else ''}" for label, sizes in by_metric.items()]
    return [f"smallest detectable difference (80 % power): {', '.join(cells)}"]


def _bounds(data: Experiment) -> list[str]:
    """What the bounds over unjudged items are; by metric, where they are conservative or unknown."""
    if not data.paired.is_bounded:
        return []
    kinds: dict[str, list[str]] = {"conservative": [], "unknown": []}
    for of in data.differences:
        kind = "unknown" if math.isnan(of.bounds.lowest) else "" if of.bounds.exact else "conservative"
        if kind and of.metric not in kinds[kind]:
            kinds[kind].append(of.metric)
    cells = [f"{kind} for {', '.join(labels)}" for kind, labels in kinds.items() if labels]
    which = f" ({'; '.join(cells)})" if cells else ""
    return [f"{' and '.join(_BOUNDS)}: the range of the difference over all grades of the unjudged items{which}"]


def _certificate(data: Experiment) -> Iterator[str]:
    """How many labels must be wrong before the first decided verdict falls, where that is quick to say."""
    decided = next((of for of in data.differences if of.verdict in _COMPARATIVES), None)
    if decided is None or data.origin is None or data.machine is not None:
        return
    measured = [result._measurement for name in (decided.baseline, decided.run) for result in data.paired.systems[name]]
    if len(measured) > 2 or not all(each.has_lists for each in measured):
        return
    aligned = [each.aligned(each.plan(decided.metric)).ranked for each in measured]
    if sum(int(each.truth_offsets[-1] + each.retrieved.sum()) for each in aligned) > _QUICK:
        return
    with suppress(InputError):
        which = [decided.run] if len(data.differences) > 1 else []
        which += [f"on {decided.metric}"] if len(data.labels) > 1 else []
        yield f"{' '.join(which)}{': ' if which else ''}{decided.certificate().sentence}"


def _machine(data: Experiment) -> Iterator[str]:
    """What the machine's labels were worth, and how far off they are by themselves."""
    if data.machine is None:
        return
    parts = data.machine.parts
    many = len(parts.same) + len(parts.others)
    yield (f"human labels for {len(parts.same):,} of {many:,} queries, machine labels for all (prediction-powered "
           "inference; a mean is that of the other run plus the difference)")  # fmt: skip
    for of in data.differences:
        if of.machine is not None:
            naive = f"by machine labels alone {signed(of.machine.machine)}, off by {signed(of.machine.bias)}"
            yield f"{data.pair(of)}{_only([of.metric], data.labels)}: {worth(of.machine)}; {naive}"


def _span(sizes: Sequence[float]) -> str:
    low, high = f"{min(sizes):.3g}", f"{max(sizes):.3g}"
    return low if low == high else f"{low} to {high}"


def _seeds(data: Experiment) -> Iterator[str]:
    """The spread of the means over the seeds of a system."""
    for name in data.names:
        means = {label: data.paired.seeds(name, label) for label in data.labels}
        cells = [
            f"{label} {number(min(values))} to {number(max(values))}, standard deviation {np.std(values, ddof=1):.4f}"
            for label, values in means.items() if values
        ]  # fmt: skip
        if cells:
            yield f"{name}: mean of {len(means[data.labels[0]])} runs ({'; '.join(cells)})"


def _caveats(data: Experiment) -> list[str]:
    """The caveats of the differences, the same sentence once."""
    metrics: dict[tuple[str, str], list[str]] = {}
    for of in data.differences:
        for caveat in of.caveats if of.verdict != "identical" else ():  # which says the same
            metrics.setdefault((caveat.sentence, data.pair(of)), []).append(of.metric)
    pairs: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (sentence, pair), labels in metrics.items():
        pairs.setdefault((sentence, tuple(labels)), []).append(pair)
    lines = [
        f"{', '.join(several)}{_only(labels, data.labels)}: {sentence}" for (sentence, labels), several in pairs.items()
    ]
    more = [f"{len(lines) - _MANY} more caveats in comparison.caveats"] if len(lines) > _MANY else []
    return [*lines[:_MANY], *more]


def _only(labels: Sequence[str], every: Sequence[str]) -> str:
    """The metrics in parentheses, unless it is all of them."""
    return f" ({', '.join(labels)})" if len(labels) < len(every) else ""


# -- for a paper ---------------------------------------------------------------------------------------------


def paper_of(data: Experiment) -> Paper:
    """The table of a paper."""
    *defined, origin = summarize(list(data.definitions.values()))
    method, *_ = method_of(data)
    count, _, test = method.partition("; ")
    means = {label: sample.means.tolist() for label, sample in data.samples.items()}
    block = Block(
        "", {label: dict(zip(data.names, values, strict=True)) for label, values in means.items()}, data.directions,
        {(of.baseline, of.run, of.metric): of.verdict for of in data.differences},
    )  # fmt: skip
    level = f"{test}, p at most {data.rules.level:.3g}"
    return Paper(data.names, data.baseline, [block], level, count, [f"{line}." for line in defined], f"{origin}.")


# -- the same again ------------------------------------------------------------------------------------------


def command_of(data: Experiment) -> str:
    """The command that makes the comparison; empty where there is none: data in memory, or options in memory."""
    if data.command or data.origin is None:
        return data.command
    runs, rules = data.origin.runs, data.rules
    in_memory = data.by is not None or data.paired.clusters is not None or data.is_weighted or callable(rules.test)
    if in_memory or any(len(several) > 1 for several in runs.values()):
        return ""
    defaults = Rules(correction=default_correction(data.baseline))
    options = {name: value for name, value in rules._asdict().items() if value != getattr(defaults, name)}
    how = {**data.origin.how, **options, "baseline": data.baseline}
    return command_line("compare", data.origin.truth, {name: run for name, (run,) in runs.items()}, data.labels, how)
