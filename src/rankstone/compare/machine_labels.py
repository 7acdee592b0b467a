"""Machine labels of a comparison: the values of all runs under them, split into those with human labels and others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from rankstone.align.alignment import Floats
from rankstone.compare.config import Rules
from rankstone.compare.pairing import Paired, Sample
from rankstone.errors import Advice, Hint, InputError
from rankstone.evaluate.human_part import Parts, check_plan, check_random, parts_of
from rankstone.statistics.prediction_powered import prediction_powered


@dataclass(frozen=True, eq=False)
class MachineLabels:
    """The runs under human labels and under the machine's."""

    human: Paired
    machine: Paired
    vouched: bool  # that the queries with human labels are a random part

    @cached_property
    def parts(self) -> Parts:
        """Which of the machine's queries have human labels."""
        return parts_of(self.human.queries, self.machine.queries)

    def values(self, label: str) -> tuple[Floats, Floats]:
        """The machine's values of the queries with human labels, and of the others: a column per run."""
        human, machine = self.human.sample(label), self.machine.sample(label)
        for paired, sample in ((self.human, human), (self.machine, machine)):
            if not sample.mask.all():
                problem = f"{label}: some queries have no value in some runs; choose undefined=0, or leave out "
                raise InputError(Advice(problem, Hint("machine", ...)))
            check_plan(paired.first._measurement.plan(label), [sample.values])
        if not self.vouched:
            check_random(self.parts, {label: machine.values.mean(axis=1)})
        return machine.values[self.parts.same], machine.values[self.parts.others]

    def assisted(self, sample: Sample) -> Sample:
        """The sample with means estimated from both kinds of labels."""
        same, others = self.values(sample.label)
        means = sample.means.copy()
        for run, human in enumerate(sample.values.T):
            means[run] = prediction_powered(human, same[:, run], others[:, run], method="t").value
        return replace(sample, means=means)


def require_rules(rules: Rules) -> None:
    """Raise where the test or the correction resamples values, which machine labels do not allow."""
    rules.require("machine", "machine=")
    if rules.population is not None:
        raise InputError(Advice(Hint("population", rules.population), " does not go with ", Hint("machine", ...)))
