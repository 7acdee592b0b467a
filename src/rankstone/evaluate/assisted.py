"""Means by human labels of a part of the queries, made precise by machine labels of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from rankstone.errors import InputError
from rankstone.evaluate.human_part import Parts, check_plan, check_random, parts_of, worth
from rankstone.results.answer import Answer, number, plain, signed
from rankstone.results.result import Result
from rankstone.statistics.intervals import Interval
from rankstone.statistics.prediction_powered import PredictionPowered, prediction_powered
from rankstone.statistics.student_t import level

if TYPE_CHECKING:
    from rankstone.compare.config import Groups
    from rankstone.typing import Path


def assist(human: Result, machine: Result, vouched: bool) -> AssistedResult:
    """Human results corrected by a machine's of more queries."""
    parts = parts_of(human.queries, machine.queries)
    values = {label: (human.per_query[label], machine.per_query[label]) for label in human}
    for label, pair in values.items():
        check_plan(human._measurement.plan(label), pair)
    if not vouched:
        check_random(parts, {label: theirs for label, (_, theirs) in values.items()})
    estimates = {
        label: prediction_powered(own, theirs[parts.same], theirs[parts.others])
        for label, (own, theirs) in values.items()
    }
    result = AssistedResult({label: estimate.value for label, estimate in estimates.items()}, None)
    result.__dict__.update(_measurement=human._measurement, _name=human._name, _machine=machine, _parts=parts)
    result.estimates = estimates
    return result


class AssistedResult(Result):
    """Means by human labels of a random part of the queries, made precise by machine labels of all of them.

    `per_query` and `queries` are those with human labels. `interval` is by prediction-powered inference: Student's,
    corrected for skewness, without `method=` and `clusters=`.

    Attributes
    ----------
    estimates : dict of str to PredictionPowered
        By metric: the estimate with its interval, the weight of the machine's labels, the human mean and the naive
        mean of the machine's labels.
    """

    estimates: dict[str, PredictionPowered]
    _machine: Result
    _parts: Parts

    def _interval_of(
        self, label: str, confidence: float, method: str | None, clusters: Groups | None, *resampling: int
    ) -> Interval:
        """By prediction-powered inference."""
        if method is not None or clusters is not None:
            raise InputError("method= and clusters= do not go with machine labels; the interval is Student's")
        theirs = self._machine.per_query[label]
        estimate = prediction_powered(
            self.per_query[label], theirs[self._parts.same], theirs[self._parts.others],
            confidence=level(confidence, "confidence"),
        )  # fmt: skip
        return Interval(estimate.low, estimate.high, estimate.error, "prediction-powered", confidence, estimate.value)

    def compare(self, other: Result, names: tuple[str, str] | None = None, **rules: object) -> NoReturn:
        """Not supported: paired differences need both runs under both kinds of labels."""
        raise InputError(
            "estimates cannot be compared by themselves; use rs.compare(truth, runs, metrics, machine=...)"
        )

    @property
    def notes(self) -> list[str]:
        """What to know about the input, and what the machine's labels were worth."""
        humans, many = len(self._parts.same), len(self._parts.same) + len(self._parts.others)
        head = f"human labels for {humans:,} of {many:,} queries, machine labels for all (prediction-powered inference)"
        return [head, *(f"{label}: {worth(estimate)}" for label, estimate in self.estimates.items()), *super().notes]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: the estimates, and the results under each kind of labels."""
        estimates = {
            label: {**plain(row), "effective": row.effective, "bias": row.bias} for label, row in self.estimates.items()
        }
        return {"estimates": estimates, "human": super().to_dict(), "machine": self._machine.to_dict()}

    def write(self, path: Path, format: str | None = None) -> None:  # noqa: A002
        """Write the estimates to a file, in the format of its extension.

        Parameters
        ----------
        path : str or PathLike
            The file. "-" is standard output.
        format : str, optional
            txt, md, tex, html (the printed table), json (both results, too), csv, tsv, jsonl or parquet.
        """
        from rankstone.results.export import result_format, write_answer

        form = result_format(path, format)
        if form == "trec":
            raise InputError("trec has values of queries, and an estimate has none; choose csv or json")
        write_answer(self, path, form, {})

    def _columns(self) -> dict[str, Any]:
        names = PredictionPowered._fields
        return {"metric": [*self.estimates],
                **{name: [getattr(row, name) for row in self.estimates.values()] for name in names}}  # fmt: skip

    def _answer(self) -> Answer:
        confidence = 0.95 if self._confidence is None else self._confidence
        percent = f"{100 * confidence:g} % interval"
        rows = [["metric", "estimate", percent, "human only", "machine only", "machine is off by"]]
        for label, row in self.estimates.items():
            low, high, *_ = self.interval(label, confidence)
            ends = f"{number(low)} {number(high)}"
            rows.append([label, number(row.value), ends, number(row.human), number(row.machine), signed(row.bias)])
        tips = {label: definition.cite for label, definition in self.definitions.items()}
        return Answer(rows, notes=self.notes, tips=tips)
