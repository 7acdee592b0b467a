"""Off-policy evaluation: `rs.offpolicy.estimate(log, ["ips", "snips"])`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.align.alignment import Floats
from rankstone.compare.caveats import FEW, Caveat
from rankstone.compare.pairing import codes_of
from rankstone.errors import InputError, InputTypeError, WeightsWarning
from rankstone.metrics.declaration import ByName, Value, unknown_word
from rankstone.offpolicy.estimators import CONVENTIONS, Estimator, estimators, parse
from rankstone.offpolicy.log_reader import Log, read
from rankstone.offpolicy.logged_data import CHANGES, LoggedData
from rankstone.program.ranking import Ratio
from rankstone.results.answer import Answer, Readable, number
from rankstone.results.definition import groups_in_order
from rankstone.statistics.intervals import Interval, interval_of
from rankstone.statistics.student_t import influence
from rankstone.version import __version__

if TYPE_CHECKING:
    from rankstone.typing import Array, Arrow, Column, Id, Path

_ENOUGH = 100  # lists from which a small effective sample size is a warning
_THIRD = 1 / 3  # share of the total weight of one list that is a caveat
_FAR = 4  # distance of the mean weight from 1 that is a caveat, in standard errors


def estimate(
    data: Arrow | Path | Mapping[str, object] | None = None,
    estimate: str | Estimator | Iterable[str | Estimator] | None = None,
    *,
    reward: Column | None = None,
    propensity: Column | Array | Mapping[Id, object] | None = None,
    target: Column | Array | Mapping[Id, object] | None = None,
    list: Column | None = None,  # noqa: A002
    place: Column | None = None,
    item: Column | None = None,
    predicted: Column | Array | None = None,
    expected: Column | None = None,
    items: Sequence[Id] | None = None,
    columns: Mapping[str, str | None] | None = None,
    convention: str = "rankstone",
    **parameters: Value,
) -> OffPolicyResult:
    """Estimate the value of a target policy from data logged under another policy (counterfactual evaluation).

    Parameters
    ----------
    data : table, path or mapping of columns, optional
        The log: one row per logged item. Columns can also be passed as the keyword arguments below.
    estimate : str, Estimator or iterable of these, optional
        Estimators, names of `rs.offpolicy.estimators`; by default those that the data allows.
    reward : column, optional
        Observed reward per row.
    propensity : column, array or mapping, optional
        Probability of the logging policy per row; or a matrix with one column per item; or a distribution over lists,
        `{("a", "b"): 0.25, ...}`, for all lists or by list id.
    target : column, array or mapping, optional
        Probability of the target policy, in the same forms.
    list : column, optional
        List id per row; without it each row is a list of its own.
    place : column, optional
        Position in the list per row, from 0 or 1.
    item : column, optional
        Item id per row; needed with matrices and with distributions over lists.
    predicted : column or array, optional
        Predicted rewards of a reward model, for "dm", "dr" and "sndr": a matrix with one column per item, or one value
        per row, of the logged item.
    expected : column, optional
        Expected predicted reward under the target policy per row, if `predicted` has one value per row.
    items : sequence of ids, optional
        Item ids of the columns of matrices; by default 0, 1, 2, ...
    columns : mapping of str to str or None, optional
        Column names of `data` by role.
    convention : str, default "rankstone"
        "rankstone" or "obp".
    **parameters
        Parameters for all estimators. `weight`: what the probabilities of lists refer to, the whole "list", each "item"
        at its position, the list down to it ("cascade"), or "pseudo_inverse". `clip`, `switch`, `shrink` and
        `subgaussian` transform the weights. For one estimator: "dr(clip=10)".

    Returns
    -------
    OffPolicyResult
        Estimates by name, with intervals, effective sample sizes and caveats.

    Raises
    ------
    ValueError
        If a role is missing, or a name or a parameter is unknown.
    DataError
        If a row is not valid: a missing reward, a propensity of 0, a gap in the positions.

    Examples
    --------
    >>> log = {"reward": [1, 0, 1], "propensity": [0.5, 0.5, 0.25], "target": [0.5, 0.25, 0.5]}
    >>> rs.offpolicy.estimate(log, ["ips"])["ips"]
    1.0
    """
    if convention not in CONVENTIONS:
        names = [*CONVENTIONS]
        raise InputError(unknown_word("convention of estimators", convention, names))
    values = {
        "reward": reward, "propensity": propensity, "target": target, "list": list, "place": place, "item": item,
        "predicted": predicted, "expected": expected,
    }  # fmt: skip
    log = read(data, columns, values, items, convention == "obp")
    chosen = parse(estimate) if estimate is not None else _defaults(log, parameters)
    return OffPolicyResult(log, chosen, parameters, convention)


def _defaults(log: Log, parameters: ByName) -> tuple[Estimator, ...]:
    """The estimators that the data allows, without transformations of the weights."""
    names = ["ips", "snips"]
    if log.predicts:
        names += ["dr"] if log.places > 1 and parameters.get("weight") != "item" else ["dm", "dr"]
    return tuple(estimators[name] for name in names)


class OffPolicyResult(Readable, Mapping[str, float]):
    """Estimates by name, with the contribution of each list, intervals and diagnostics of the weights.

    A mapping: `result["ips"]` is the estimate. Printed, it is a table.

    Attributes
    ----------
    convention : str
        The convention of the call.

    Examples
    --------
    >>> log = {"reward": [1, 0, 1], "propensity": [0.5, 0.5, 0.25], "target": [0.5, 0.25, 0.5]}
    >>> result = rs.offpolicy.estimate(log, ["ips", "snips"])
    >>> result.per_list["ips"].tolist()
    [1.0, 0.0, 2.0]
    >>> round(result.effective_sample_size["ips"], 2)
    2.33
    """

    def __init__(self, log: Log, chosen: Sequence[Estimator], parameters: ByName, convention: str) -> None:
        self.convention, self._log = convention, log
        _check_parameters(chosen, parameters)
        self._estimators = {str(estimator): estimator for estimator in chosen}
        self._parameters: dict[str, ByName] = {}
        self._views: dict[str, LoggedData] = {}
        self._terms: dict[str, tuple[Ratio, ...]] = {}
        self._means: dict[str, float] = {}
        forms = set()
        for label, estimator in self._estimators.items():
            over = {name: value for name, value in parameters.items() if _takes(estimator, name)}
            whole = Estimator(estimator.name, tuple(sorted({**over, **dict(estimator.params)}.items())))  # checks them
            self._parameters[label] = whole.decided({}, convention)
            forms.add(log.form(self._parameters[label]["weight"]))
        if len(forms) > 1 and not log.forms():
            raise InputError(
                f"weights of {' and of '.join(sorted(forms))} need probabilities for each: propensity={{'list': ..., "
                "'item': ..., 'cascade': ...}, and target= likewise"
            )
        for label, estimator in self._estimators.items():
            self._measure(label, estimator)
        self._warn()

    def _measure(self, label: str, estimator: Estimator) -> None:
        method, parameters = estimator.method, self._parameters[label]
        view = self._log.view(parameters)
        own = {name: value for name, value in parameters.items() if name not in ("weight", *CHANGES)}
        ratios = method.function(view, **own)
        terms = (ratios,) if isinstance(ratios, Ratio) else tuple(ratios)
        # If a transformation sets all weights to 0, the predictions remain.
        if method.weighted and not view.effective_sample_size and not (method.predicts and self._ratio(label).any()):
            raise InputError(f"{label}: all weights are 0: the target policy never shows the logged items")
        for term in terms:
            if len(term.numerator) != len(view) or len(term.denominator) != len(view):
                raise InputError(f"{label}: its ratios must have one value per list, {len(view)}")
        sums = [(term.numerator.sum(), term.denominator.sum()) for term in terms]
        if not all(bottom for _, bottom in sums):
            raise InputError(f"{label}: its weights add up to 0")
        self._views[label], self._terms[label] = view, terms
        self._means[label] = float(sum(top / bottom for top, bottom in sums))

    def _ratio(self, label: str) -> Floats:
        return self._log.ratio(self._log.form(self._parameters[label]["weight"]))

    # -- numbers ---------------------------------------------------------------------------------------------

    def __getitem__(self, estimate: str | Estimator) -> float:
        return self._means[self._label(estimate)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._estimators)

    def __len__(self) -> int:
        return len(self._estimators)

    def _label(self, estimate: str | Estimator) -> str:
        if str(estimate) in self._estimators:
            return str(estimate)
        parsed = parse(estimate)
        if len(parsed) == 1 and str(parsed[0]) in self._estimators:
            return str(parsed[0])
        raise KeyError(f"{estimate} is not in this result; choose from {', '.join(self._estimators)}")

    @property
    def lists(self) -> Sequence[Any]:
        """List ids, in the order of the log; 0, 1, 2, ... without ids."""
        return self._log.lists

    @cached_property
    def per_list(self) -> Mapping[str, Floats]:
        """Contribution of each list, by estimator: values whose mean is the estimate."""
        return {label: sum(map(_contributions, terms)) for label, terms in self._terms.items()}

    @property
    def effective_sample_size(self) -> dict[str, float]:
        """Effective sample size (Kish), (sum w)^2 / sum w^2, by estimator."""
        return {label: self._views[label].effective_sample_size for label in self._weighted}

    @property
    def largest_weight(self) -> dict[str, float]:
        """Largest weight of a row, by estimator."""
        return {label: self._views[label].largest_weight for label in self._weighted}

    @property
    def _weighted(self) -> list[str]:
        return [label for label, estimator in self._estimators.items() if estimator.method.weighted]

    def ratio(self, estimate: str | Estimator) -> tuple[Ratio, ...]:
        """Numerators and denominators per list.

        Parameters
        ----------
        estimate : str or Estimator
            The estimator.

        Returns
        -------
        tuple of Ratio
            The estimate is the sum over the ratios of sum of numerators / sum of denominators.
        """
        return self._terms[self._label(estimate)]

    def interval(
        self,
        estimate: str | Estimator,
        confidence: float = 0.95,
        *,
        method: str | None = None,
        clusters: Mapping[Id, Hashable] | Sequence[Hashable] | None = None,
        resamples: int = 9999,
        seed: int = 0,
    ) -> Interval:
        """Confidence interval of an estimate.

        Parameters
        ----------
        estimate : str or Estimator
            The estimator.
        confidence : float, default 0.95
            Confidence level.
        method : str, optional
            Interval method, as for `Result.interval`.
        clusters : mapping of list id to label, or sequence of labels, optional
            Cluster of each list, such as its user.
        resamples : int, default 9999
            Number of bootstrap samples.
        seed : int, default 0
            Random seed.

        Returns
        -------
        Interval
            `low`, `high`, `error` (standard error) and `mean`.
        """
        terms = self._terms[self._label(estimate)]
        values = np.sum([_influence(term) for term in terms], axis=0)
        groups = None if clusters is None else codes_of(groups_in_order(clusters, self.lists, "clusters"))
        if groups is None:
            values = np.sort(values)  # random numbers must not depend on the row order
            if not all((term.denominator == 1).all() for term in terms):
                method = method or "hall"  # not proportions, even if all values are 0 and 1
        interval = interval_of(values, groups, confidence, method, resamples, seed)
        low, high, error, mean = map(float, (interval.low, interval.high, interval.error, interval.mean))
        return interval._replace(low=low, high=high, error=error, mean=mean)

    # -- caveats ---------------------------------------------------------------------------------------------

    @cached_property
    def caveats(self) -> dict[str, tuple[Caveat, ...]]:
        """Caveats by estimator, each with a code and a sentence."""
        return {label: tuple(self._caveats(label)) for label in self._weighted}

    def _caveats(self, label: str) -> Iterator[Caveat]:
        view, many = self._views[label], len(self._log)
        if view.effective_sample_size < FEW:
            yield Caveat(
                "effective",
                f"effective sample size {view.effective_sample_size:,.1f} of {many:,} list{'s' * (many != 1)}: "
                "the interval may be too narrow",
            )
        weights = np.abs(view.mean(view.weight)).astype(np.float64)
        share = float(weights.max() / weights.sum())
        if many > 3 and share > _THIRD:
            name = self.lists[int(np.argmax(weights))]
            yield Caveat("one", f"list {name!r} has {100 * share:.0f} % of the total weight")
        if any(self._parameters[label][name] is not None for name in CHANGES):
            return  # transformed weights need not have mean 1
        means = view.mean(view.weight).astype(np.float64)
        error = float(means.std(ddof=1) / math.sqrt(many)) if many >= FEW else math.inf
        off = abs(float(means.mean()) - 1)
        if off > _FAR * error and off > 1e-6:
            yield Caveat(
                "mean",
                f"the mean weight is {means.mean():.3f}, {off / error if error else math.inf:.0f} standard errors from "
                "1: the propensities are not those of the log, or the target policy shows items that the log never has",
            )

    def _warn(self) -> None:
        poor = [label for label in self._weighted if self._views[label].effective_sample_size < FEW]
        if poor and len(self._log) >= _ENOUGH:
            warnings.warn(
                f"{', '.join(poor)}: effective sample size {self._views[poor[0]].effective_sample_size:,.1f} of "
                f"{len(self._log):,} lists; see .caveats",
                WeightsWarning,
                stacklevel=4,
            )

    # -- output ----------------------------------------------------------------------------------------------

    def _answer(self) -> Answer:
        """Estimates with intervals, weights, notes and formulas."""
        table = [["estimator", "value", "95 % interval", "effective n", "largest weight"]]
        for label in self:
            low, high = self.interval(label)[:2]
            ends = f"{number(low)} {number(high)}" if math.isfinite(low) else "unknown"
            weights = ["", ""]
            if label in self._weighted:
                weights = [
                    f"{self._views[label].effective_sample_size:,.1f}",
                    f"{self._views[label].largest_weight:,.2f}",
                ]
            table.append([label, number(self[label]), ends, *weights])
        meaning = "r: reward, w: target probability / propensity"
        if any(estimator.method.predicts for estimator in self._estimators.values()):
            meaning += ", q: predicted reward, E[q]: its expectation under the target policy"
        return Answer(table, notes=self._notes(), definitions=[*map(self.define, self), meaning])

    def _notes(self) -> list[str]:
        """Notes under the table: the log, and the caveats."""
        log, mean = self._log, float(self._log.reward.sum()) / len(self._log)
        many = f"{len(log):,} list{'s' * (len(log) != 1)}"
        if log.places > 1:
            many += f" of up to {log.places} positions"
        notes = [f"rankstone {__version__}, convention {self.convention}; {many}, mean reward {mean:.4f}"]
        if log.unsupported:
            notes.append(
                f"the target policy shows lists that the log never has, with probability {log.unsupported:.3g}: "
                "weights cannot estimate their reward"
            )
        by_sentence: dict[str, list[str]] = {}
        for label, caveats in self.caveats.items():
            for caveat in caveats:
                by_sentence.setdefault(caveat.sentence, []).append(label)
        return [*notes, *(f"{', '.join(labels)}: {sentence}" for sentence, labels in by_sentence.items())]

    def define(self, estimate: str | Estimator) -> str:
        """Definition of an estimate in one line: formula and parameters.

        Parameters
        ----------
        estimate : str or Estimator
            The estimator.

        Returns
        -------
        str
        """
        label = self._label(estimate)
        method, chosen = self._estimators[label].method, dict(self._parameters[label])
        if self._log.places == 1 or not method.weighted:
            chosen["weight"] = None
        words = [method.about[name].describe(name, value) for name, value in chosen.items()]
        return "; ".join([f"{label}: {method.formula or method.summary}", *filter(None, words)])

    def _columns(self) -> dict[str, Any]:
        return {"list": [*self.lists], **{label: values.astype(np.float64) for label, values in self.per_list.items()}}

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data: estimates, intervals, definitions, weights, caveats and values per list."""
        return {
            "estimates": dict(self),
            "intervals": {label: [*self.interval(label)[:2]] for label in self},
            "definitions": {label: self.define(label) for label in self},
            "effective_sample_size": self.effective_sample_size,
            "largest_weight": self.largest_weight,
            "caveats": {label: [caveat._asdict() for caveat in caveats] for label, caveats in self.caveats.items()},
            "convention": self.convention,
            "versions": {"rankstone": __version__},
            "lists": [*self.lists],
            "per_list": {label: values.astype(np.float64).tolist() for label, values in self.per_list.items()},
        }


def _takes(estimator: Estimator, name: str) -> bool:
    return name in estimator.method.defaults and (estimator.method.weighted or name not in CHANGES)


def _check_parameters(chosen: Sequence[Estimator], parameters: ByName) -> None:
    for name, value in parameters.items():
        if not any(_takes(estimator, name) for estimator in chosen):
            allowed = sorted({parameter for estimator in chosen for parameter in estimator.method.defaults})
            if name in allowed:
                raise InputError(
                    f"{name}={value!r} would have no effect: {', '.join(map(str, chosen))} have no weights"
                )
            raise InputTypeError(unknown_word("parameter", name, allowed))


def _contributions(term: Ratio) -> Any:
    """Contribution of each list, times the number of lists."""
    return term.numerator * len(term.numerator) / term.denominator.sum()


def _influence(term: Ratio) -> Floats:
    top, bottom = (np.asarray(side, dtype=np.float64) for side in term[:2])
    return top if (bottom == 1).all() else influence(top, bottom)
