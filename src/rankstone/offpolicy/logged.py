"""What another policy would have earned: `rs.logged(log, ["ips", "snips"])`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.align.alignment import Floats
from rankstone.compare.caveats import FEW, Doubt
from rankstone.compare.pairing import codes_of
from rankstone.errors import WeightsWarning
from rankstone.metrics.declaration import ByName, Value, nearest, unknown_word
from rankstone.offpolicy.estimators import CONVENTIONS, Estimator, estimators, parse
from rankstone.offpolicy.form import CHANGES, Logged
from rankstone.offpolicy.read import Log, read
from rankstone.program.ranking import Ratio
from rankstone.results.answer import Answer, Readable, number
from rankstone.results.definition import groups_in_order
from rankstone.statistics.intervals import Interval, interval_of
from rankstone.statistics.student import influence
from rankstone.version import __version__

if TYPE_CHECKING:
    from rankstone.typing import Array, Arrow, Column, Id, Path

_ENOUGH = 100  # lists, of which so few that count call for a warning
_THIRD = 1 / 3  # of all weight, on one list
_FAR = 4  # standard errors of the mean weight from 1


def logged(
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
) -> Estimates:
    """Estimate what a target policy would have earned from what another one showed and earned.

    data: a table, a dict of columns or a file with a row for each item shown, or the same as arrays by name. reward:
    what it earned. propensity: how likely the logging policy was to show it, target: how likely the target is. list,
    place: which rows were shown together, and where; without them each row stands alone. For lists, `weight=` says what
    the probabilities are of: the whole "list", each "item" at its place, or the list so far ("cascade").

    target may be a matrix with a column for each item (`items=` are their ids, else 0, 1, ...), and so may be
    predicted, what a model expects of each item, for "dm" and "dr". Both policies may be dicts of all their lists,
    `{("a", "b"): 0.25, ...}`, and of such by list.

    estimate: names from `rs.estimators`; without any, those that the data allows. clip=, switch=, shrink= or
    subgaussian= change the weights, of all of them, or of one: "dr(clip=10)".
    """
    if convention not in CONVENTIONS:
        known = [*CONVENTIONS]
        raise ValueError(unknown_word("convention of estimators", convention, nearest(convention, known), known))
    given = {
        "reward": reward, "propensity": propensity, "target": target, "list": list, "place": place, "item": item,
        "predicted": predicted, "expected": expected,
    }  # fmt: skip
    log = read(data, columns, given, items, convention == "obp")
    asked = parse(estimate) if estimate is not None else _possible(log, parameters)
    return Estimates(log, asked, parameters, convention)


def _possible(log: Log, parameters: ByName) -> tuple[Estimator, ...]:
    """The plain estimators that the data allows."""
    names = ["ips", "snips"]
    if log.predicts:
        names += ["dr"] if log.places > 1 and parameters.get("weight") != "item" else ["dm", "dr"]
    return tuple(estimators[name] for name in names)


class Estimates(Readable, Mapping[str, float]):
    """Estimates by name, what each list adds to them, and how far the weights bear them."""

    def __init__(self, log: Log, asked: Sequence[Estimator], parameters: ByName, convention: str) -> None:
        self.convention, self._log = convention, log
        _refuse_idle(asked, parameters)
        self._asked = {str(one): one for one in asked}
        self._parameters: dict[str, ByName] = {}
        self._views: dict[str, Logged] = {}
        self._terms: dict[str, tuple[Ratio, ...]] = {}
        self._means: dict[str, float] = {}
        forms = set()
        for label, one in self._asked.items():
            over = {name: value for name, value in parameters.items() if _takes(one, name)}
            chosen = Estimator(one.name, tuple(sorted({**over, **dict(one.params)}.items())))  # checks them
            self._parameters[label] = chosen.decided({}, convention)
            forms.add(log.form(self._parameters[label]["weight"]))
        if len(forms) > 1 and not log.forms():
            raise ValueError(
                f"weights of {' and of '.join(sorted(forms))} need probabilities of each: propensity={{'list': ..., "
                "'item': ..., 'cascade': ...}, and target= likewise"
            )
        for label, one in self._asked.items():
            self._measure(label, one)
        self._warn()

    def _measure(self, label: str, one: Estimator) -> None:
        method, parameters = one.method, self._parameters[label]
        view = self._log.view(parameters)
        own = {name: value for name, value in parameters.items() if name not in ("weight", *CHANGES)}
        found = method.function(view, **own)
        terms = (found,) if isinstance(found, Ratio) else tuple(found)
        # Where a change of the weights makes all of them 0, predictions are left.
        if method.weighted and not view.effective and not (method.predicts and self._ratio(label).any()):
            raise ValueError(
                f"{label}: every weight is 0, so the log says nothing of the target: it never shows what was logged"
            )
        for term in terms:
            if len(term.numerator) != len(view) or len(term.denominator) != len(view):
                raise ValueError(f"{label}: its ratios must have one number for each of the {len(view)} lists")
        sums = [(term.numerator.sum(), term.denominator.sum()) for term in terms]
        if not all(bottom for _, bottom in sums):
            raise ValueError(f"{label}: its weights add up to 0, so there is nothing to divide by")
        self._views[label], self._terms[label] = view, terms
        self._means[label] = float(sum(top / bottom for top, bottom in sums))

    def _ratio(self, label: str) -> Floats:
        return self._log.ratio(self._log.form(self._parameters[label]["weight"]))

    # -- numbers ---------------------------------------------------------------------------------------------

    def __getitem__(self, estimate: str | Estimator) -> float:
        return self._means[self._label(estimate)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._asked)

    def __len__(self) -> int:
        return len(self._asked)

    def _label(self, estimate: str | Estimator) -> str:
        if str(estimate) in self._asked:
            return str(estimate)
        found = parse(estimate)
        if len(found) == 1 and str(found[0]) in self._asked:
            return str(found[0])
        raise KeyError(f"{estimate} was not asked for; there are {', '.join(self._asked)}")

    @property
    def lists(self) -> Sequence[Any]:
        """The lists' ids, as they come in the log; numbers from 0 where they have none."""
        return self._log.lists

    @cached_property
    def per_list(self) -> Mapping[str, Floats]:
        """What each list adds, by estimator: values whose mean is the estimate."""
        return {label: sum(map(_shared, terms)) for label, terms in self._terms.items()}

    @property
    def effective(self) -> dict[str, float]:
        """By estimator, how many lists of equal weight would say as much: (sum w)^2 / sum w^2."""
        return {label: self._views[label].effective for label in self._weighted}

    @property
    def largest_weight(self) -> dict[str, float]:
        """By estimator, the highest weight of any row."""
        return {label: self._views[label].largest_weight for label in self._weighted}

    @property
    def _weighted(self) -> list[str]:
        return [label for label, one in self._asked.items() if one.method.weighted]

    def ratio(self, estimate: str | Estimator) -> tuple[Ratio, ...]:
        """What each list earned over what it counts; several ratios add up."""
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
        """Where the estimate would be with ever more lists like these: `low` and `high`.

        method and clusters: as for `Result.interval`; lists of one user, say, are a cluster.
        """
        terms = self._terms[self._label(estimate)]
        values = np.sum([_influence(term) for term in terms], axis=0)
        groups = None if clusters is None else codes_of(groups_in_order(clusters, self.lists, "clusters"))
        if groups is None:
            values = np.sort(values)  # so that chance does not depend on the order of the rows
            if not all((term.denominator == 1).all() for term in terms):
                method = method or "hall"  # parts of a ratio are no hits and misses, even if they are 0 and 1
        found = interval_of(values, groups, confidence, method, resamples, seed)
        low, high, error, mean = map(float, (found.low, found.high, found.error, found.mean))
        return found._replace(low=low, high=high, error=error, mean=mean)

    # -- doubts ----------------------------------------------------------------------------------------------

    @cached_property
    def doubts(self) -> dict[str, tuple[Doubt, ...]]:
        """By estimator, reasons to look twice: each has a code and a sentence."""
        return {label: tuple(self._doubts(label)) for label in self._weighted}

    def _doubts(self, label: str) -> Iterator[Doubt]:
        view, many = self._views[label], len(self._log)
        if view.effective < FEW:
            yield Doubt(
                "effective",
                f"by weight, {many:,} list{'s are' if many != 1 else ' is'} worth {view.effective:,.1f}: "
                "the interval can be wrong by more than it says",
            )
        weights = np.abs(view.mean(view.weight)).astype(np.float64)
        share = float(weights.max() / weights.sum())
        if many > 3 and share > _THIRD:
            name = self.lists[int(np.argmax(weights))]
            yield Doubt("one", f"list {name!r} has {100 * share:.0f} % of all weight")
        if any(self._parameters[label][name] is not None for name in CHANGES):
            return  # these are not meant to have the mean 1
        means = view.mean(view.weight).astype(np.float64)
        error = float(means.std(ddof=1) / math.sqrt(many)) if many >= FEW else math.inf
        off = abs(float(means.mean()) - 1)
        if off > _FAR * error and off > 1e-6:
            yield Doubt(
                "mean",
                f"the mean weight is {means.mean():.3f}, {off / error if error else math.inf:.0f} standard errors from "
                "1: the propensities are not those of the log, or the target shows what the log never does",
            )

    def _warn(self) -> None:
        poor = [label for label in self._weighted if self._views[label].effective < FEW]
        if poor and len(self._log) >= _ENOUGH:
            warnings.warn(
                f"{', '.join(poor)}: by weight, {len(self._log):,} lists are worth "
                f"{self._views[poor[0]].effective:,.1f}; see .doubts",
                WeightsWarning,
                stacklevel=4,
            )

    # -- looks -----------------------------------------------------------------------------------------------

    def answer(self) -> Answer:
        """What is printed: estimates, their intervals and weights, what to know of them, and what they mean."""
        table = [["estimator", "value", "95 % interval", "effective lists", "largest weight"]]
        for label in self:
            low, high = self.interval(label)[:2]
            ends = f"{number(low)} {number(high)}" if math.isfinite(low) else "unknown"
            weights = ["", ""]
            if label in self._weighted:
                weights = [f"{self._views[label].effective:,.1f}", f"{self._views[label].largest_weight:,.2f}"]
            table.append([label, number(self[label]), ends, *weights])
        meaning = "r: what a list earned, w: the target's probability over the logged one"
        if any(one.method.predicts for one in self._asked.values()):
            meaning += ", q: predicted"
        return Answer(table, notes=self._notes(), definitions=[*map(self.define, self), meaning])

    def _notes(self) -> list[str]:
        """What a reader of the numbers should know."""
        log, earned = self._log, float(self._log.reward.sum()) / len(self._log)
        many = f"{len(log):,} list{'s' * (len(log) != 1)}"
        if log.places > 1:
            many += f" of up to {log.places} places"
        notes = [f"rankstone {__version__}, convention {self.convention}; {many}, which earned {earned:.4f} each"]
        if log.unseen:
            notes.append(
                f"the target makes lists that the log never has, with probability {log.unseen:.3g}: what they would "
                "earn, weights cannot tell"
            )
        said: dict[str, list[str]] = {}
        for label, doubts in self.doubts.items():
            for doubt in doubts:
                said.setdefault(doubt.sentence, []).append(label)
        return [*notes, *(f"{', '.join(labels)}: {sentence}" for sentence, labels in said.items())]

    def define(self, estimate: str | Estimator) -> str:
        """What the number is, in one line."""
        label = self._label(estimate)
        method, chosen = self._asked[label].method, dict(self._parameters[label])
        if self._log.places == 1 or not method.weighted:
            chosen["weight"] = None
        words = [method.about[name].say(name, value) for name, value in chosen.items()]
        return "; ".join([f"{label}: {method.formula or method.summary}", *filter(None, words)])

    def _columns(self) -> dict[str, Any]:
        return {"list": [*self.lists], **{label: values.astype(np.float64) for label, values in self.per_list.items()}}

    def to_dict(self) -> dict[str, Any]:
        """Plain data: estimates, their intervals, definitions, weights and doubts, and what each list adds."""
        return {
            "estimates": dict(self),
            "intervals": {label: [*self.interval(label)[:2]] for label in self},
            "definitions": {label: self.define(label) for label in self},
            "effective": self.effective,
            "largest_weight": self.largest_weight,
            "doubts": {label: [doubt._asdict() for doubt in doubts] for label, doubts in self.doubts.items()},
            "convention": self.convention,
            "versions": {"rankstone": __version__},
            "lists": [*self.lists],
            "per_list": {label: values.astype(np.float64).tolist() for label, values in self.per_list.items()},
        }


def _takes(one: Estimator, name: str) -> bool:
    return name in one.method.defaults and (one.method.weighted or name not in CHANGES)


def _refuse_idle(asked: Sequence[Estimator], parameters: ByName) -> None:
    for name, value in parameters.items():
        if not any(_takes(one, name) for one in asked):
            known = sorted({parameter for one in asked for parameter in one.method.defaults})
            if name in known:
                raise ValueError(f"{name}={value!r} would change nothing: {', '.join(map(str, asked))} have no weights")
            raise TypeError(unknown_word("parameter", name, nearest(name, known), known))


def _shared(term: Ratio) -> Any:
    """What each list adds to it, times the number of lists."""
    return term.numerator * len(term.numerator) / term.denominator.sum()


def _influence(term: Ratio) -> Floats:
    top, bottom = (np.asarray(side, dtype=np.float64) for side in term[:2])
    return top if (bottom == 1).all() else influence(top, bottom)
