"""For tests of one's own: `rs.testing.assert_not_worse(truth, {"main": a, "new": b}, "ndcg@10", margin=0.01)`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankstone.compare.check import FAILED, INCONCLUSIVE, PASSED, not_worse
from rankstone.compare.compare import compare
from rankstone.compare.comparison import Comparison
from rankstone.compare.differences import Difference
from rankstone.compare.gates import UNDECIDED, margin_of
from rankstone.errors import InputError
from rankstone.results.answer import number, signed
from rankstone.results.definition import label_of
from rankstone.results.result import Result

if TYPE_CHECKING:
    from rankstone.typing import Metrics, Run, Truth

__all__ = ["assert_not_worse"]


def __dir__() -> list[str]:
    return __all__


def assert_not_worse(
    truth: Truth | Mapping[str, Result | Sequence[Result]],
    runs: Mapping[str, Run | Sequence[Run]] | Sequence[Run] | None = None,
    metrics: Metrics | None = None,
    *,
    margin: float | str | Mapping[str, float | str],
    baseline: str | None = None,
    confidence: float = 0.95,
    undecided: str = "fail",
    **rules: Any,
) -> None:
    """Fail unless it is proven that no run is worse than the baseline by more than a margin.

    Parameters
    ----------
    truth, runs, metrics
        As `rs.compare` takes them, or results by name.
    margin : float, str or dict
        In the metric's unit, "2 %" of the baseline's mean, or by metric.
    baseline : str, optional
        A run's name; by default the first.
    confidence : float, default 0.95
        Confidence level of the one-sided test.
    undecided : str, default "fail"
        If neither proven nor refuted: "fail", "warn" or "pass".
    **rules
        Other keywords of `rs.compare`, such as `clusters=`, `convention=` or `threshold=`.

    Raises
    ------
    AssertionError
        With the gates that failed.

    Examples
    --------
    >>> truth = {q: {"a": 1} for q in range(40)}
    >>> runs = {"main": {q: ["a"] for q in truth}, "new": {q: ["a"] if q else ["b", "a"] for q in truth}}
    >>> rs.testing.assert_not_worse(truth, runs, "rr", margin=0.05)
    """
    if undecided not in UNDECIDED:
        raise InputError(f"undecided={undecided!r}; choose from {', '.join(map(repr, UNDECIDED))}")
    candidates: Any = truth if runs is None else runs
    if baseline is None and len(candidates) > 2:
        baseline = next(iter(candidates)) if isinstance(candidates, Mapping) else None
    comparison = compare(truth, runs, metrics, baseline=baseline, confidence=confidence, **rules)
    if comparison.baseline is None:
        raise InputError(f"say which run is the baseline= of the others: {', '.join(comparison.runs)}")
    failing = {FAILED, INCONCLUSIVE} if undecided == "fail" else {FAILED}
    outcomes = [(verdict, line) for of in comparison for verdict, line in [_judged(comparison, of, margin, confidence)]]
    if any(verdict in failing for verdict, _ in outcomes):
        lines = [line for verdict, line in outcomes if verdict != PASSED]
        raise AssertionError("\n".join([*lines, "", str(comparison)]))
    for verdict, line in outcomes:
        if verdict == INCONCLUSIVE and undecided == "warn":
            warnings.warn(line, stacklevel=2)


def _judged(comparison: Comparison, of: Difference, margin: Any, confidence: float) -> tuple[str, str]:
    """The verdict of a difference, and a line about it."""
    if not of.direction:
        raise InputError(f"neither a higher nor a lower {of.metric} is better, so none is worse")
    if isinstance(margin, Mapping):
        by_label = {label_of(name, dict.fromkeys(comparison.metrics)): value for name, value in margin.items()}
        if of.metric not in by_label:
            raise InputError(f"margin has no entry for {of.metric}; there are {', '.join(by_label)}")
        margin = by_label[of.metric]
    allowed = margin_of(margin, of.first)
    verdict, low, high, many = not_worse(of, allowed, confidence)
    said = {FAILED: "is worse", INCONCLUSIVE: "not worse"}.get(verdict, "")
    than = f"{said} than {of.baseline} by more than" if said else ""
    ends = f"{100 * confidence:g} % sure: from {signed(low)}, and up to {signed(high)}"
    line = (
        f"{of.metric}: {of.run} {than} {allowed:g}: {verdict}; {number(of.first)} to {number(of.second)}, "
        f"{signed(of.difference)} ({ends})"
    )
    if many is not None and many > of.queries:
        line += (
            f"; about {many:,} queries like these would prove it in 80 of 100 samples, if the two are alike; there "
            f"are {of.queries:,}"
        )
    return verdict, line
