"""The table of a comparison: its differences, the notes under them, and the table of a paper."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from rankstone.compare.caveats import general_caveats
from rankstone.compare.differences import Difference, Experiment
from rankstone.results.answer import Answer, Latex, Paper, latex, number, p_value, queries, signed
from rankstone.results.definition import summarize

_MANY = 12  # lines of one kind under a table
_TEXTS = ("metric", "run", "than", "verdict")  # columns that are not numbers
_MARKS = {"better": r"$^{\dagger}$", "worse": r"$^{\ddagger}$"}


def answer_of(data: Experiment, slices: Answer | None) -> Answer:
    """What is printed; slices: the differences by group, if they are printed too."""
    table = _table(data)
    definitions = list(data.definitions.values())
    *defined, origin = summarize(definitions)
    return Answer(
        table,
        notes=[*notes_of(data, slices), origin],
        definitions=defined,
        align="".join("<" if name in _TEXTS else ">" for name in table[0]),
        fixed=2 if data.baseline is not None else 3,
        below=() if slices is None else (slices,),
        tips={definition.metric: definition.cite for definition in definitions},
        paper=_paper(data, defined, origin),
    )


def _table(data: Experiment) -> list[list[str]]:
    percent = f"{100 * data.rules.confidence:g} % interval"
    head = ["metric", "run", *(["than"] if data.baseline is None else []), "mean", "difference", percent, "p",
            "adjusted", "better", "same", "worse", "verdict"]  # fmt: skip
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
    known = not math.isnan(of.low)
    return [
        of.run, *([of.baseline] if data.baseline is None else []), number(of.second), signed(of.difference),
        f"{signed(of.low)} {signed(of.high)}" if known else "", p_value(of.p), p_value(of.adjusted),
        str(of.wins), str(of.ties), str(of.losses), of.verdict,
    ]  # fmt: skip


# -- notes ---------------------------------------------------------------------------------------------------


def notes_of(data: Experiment, slices: Answer | None) -> list[str]:
    """The test, what would have been found, and what should be known before this is believed."""
    by_group = [] if slices is None else slices.notes
    return [
        *method_of(data), *detectable_of(data), *_seeds(data), *by_group, *general_caveats(data), *_caveats(data)
    ]  # fmt: skip


def method_of(data: Experiment) -> list[str]:
    """The test and the correction, and of how many queries."""
    rules, n = data.rules, sorted({int(sample.kept.sum()) for sample in data.samples.values()})
    deciding = sum(bool(of.verdict) for of in data.differences)
    count = queries(n[0]) if len(n) == 1 else f"{n[0]:,} to {queries(n[-1])}"
    test, paired = rules.paired_test, data.paired
    over = f" over {deciding} comparison{'s' * (deciding != 1)}" if rules.adjustment.corrects else ""
    chance = f" ({rules.resamples:,} flips, seed {rules.seed})" if rules.is_random else ""
    clusters = f" in {int(paired.clusters.max()) + 1:,} clusters" if paired.clusters is not None else ""
    lines = [f"{count}{clusters}; {test.words}, {rules.adjustment.words}{over}{chance}"]
    if test.has_interval and not test.is_student:
        lines.append("the intervals are Student's, of the mean difference")
    if paired.alone:
        lines.append(f"{paired.alone:,} queries that not all runs have are left out")
    if rules.population is not None:
        whole = n[-1] == rules.population
        lines.append("these are all queries, so that nothing is left to test" if whole else
                     f"a sample of {rules.population:,} queries in all")  # fmt: skip
    return lines


def detectable_of(data: Experiment) -> list[str]:
    """For each run, what difference would have been found."""
    by_pair: dict[str, list[str]] = {}
    for of in data.differences:
        if of.verdict and math.isfinite(of.low) and of.error > 0:
            by_pair.setdefault(data.pair(of), []).append(f"{of.detectable():.3g} ({of.metric})")
    if len(by_pair) > _MANY:
        return []
    return [f"{pair}: differences of {_listed(several)} and more would be found in 80 of 100 such samples"
            for pair, several in by_pair.items()]  # fmt: skip


def _listed(several: Sequence[str]) -> str:
    return " and ".join([", ".join(several[:-1]), several[-1]]) if len(several) > 1 else several[0]


def _seeds(data: Experiment) -> Iterator[str]:
    """How far the means of a system's several runs are apart."""
    for name in data.names:
        for label in data.labels:
            if means := data.paired.seeds(name, label):
                yield (
                    f"{name}: {len(means)} runs, whose {label} is {number(min(means))} to {number(max(means))} "
                    f"(standard deviation {np.std(means, ddof=1):.4f}); their mean is compared"
                )


def _caveats(data: Experiment) -> list[str]:
    """The caveats of the differences, those that say the same together."""
    metrics: dict[tuple[str, str], list[str]] = {}
    for of in data.differences:
        for caveat in of.warnings:
            metrics.setdefault((data.pair(of), caveat.sentence), []).append(of.metric)
    lines = [f"{pair} ({', '.join(several)}): {sentence}" for (pair, sentence), several in metrics.items()]
    more = [f"{len(lines) - _MANY} more warnings: comparison.warnings has all"] if len(lines) > _MANY else []
    return [*lines[:_MANY], *more]


# -- for a paper ---------------------------------------------------------------------------------------------


def _paper(data: Experiment, defined: Sequence[str], origin: str) -> Paper:
    said = [f"Means of {method_of(data)[0]}.", "Bold: the best, and all that are equal to it as printed."]
    if data.baseline is not None:
        level = f"p at most {data.rules.level:.3g}"
        said.append(f"A dagger: better than {data.baseline} ({level} after correction), a double dagger: worse.")
    verdicts = {} if data.baseline is None else {(of.run, of.metric): of.verdict for of in data.differences}
    body = []
    for at, name in enumerate(data.names):
        cells = [_mean(data, label, at) + _MARKS.get(verdicts.get((name, label), ""), "") for label in data.labels]
        body.append([latex(name), *map(Latex, cells)])
    return Paper(["run", *data.labels], body, " ".join(said), [f"{line}." for line in defined], f"{origin}.")


def _mean(data: Experiment, label: str, at: int) -> str:
    """A run's mean, in bold if none is better."""
    means, direction = data.samples[label].means, data.directions[label]
    shown = number(means[at])
    is_best = bool(direction) and shown == number(means[int(np.argmax(direction * means))])
    return rf"\textbf{{{latex(shown)}}}" if is_best else latex(shown)
