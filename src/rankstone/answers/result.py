"""What `evaluate` returns: means, values a query, definitions, and an account of what happened."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.align.ranked import Bools, Floats, Ints, Ranked
from rankstone.align.ranking import Ratio
from rankstone.answers.definition import Definition, Plain, definition_of, summarize
from rankstone.answers.table import text_table, wrapped
from rankstone.conventions.convention import Convention
from rankstone.inputs.source import Align, Aligned
from rankstone.measure.sums import Measured, Outcome, mean_from, measure, outcome_of, sums_of
from rankstone.measure.values import view_for, without_pairs
from rankstone.metrics.registry import ByName, Metric, parse
from rankstone.version import __version__

if TYPE_CHECKING:
    from rankstone.typing import Id, Path

_ALIGN = "<>>>"


@dataclass(frozen=True)
class TieRange:
    """What another order of tied items could have made of a mean."""

    lowest: float
    highest: float
    queries: int  # how many queries' values depend on that order


@dataclass(frozen=True)
class Account:
    """What happened to the queries."""

    judged: int
    missing: int  # judged, but not in the run
    extra: int | None  # in the run, but not judged; None: too many for a stream to remember
    nothing_relevant: int
    dropped_rows: int  # rows of the run that the rule for duplicates removed
    tied: int  # queries for which the order of tied items changes any of the metrics
    no_pairs: int = 0  # nothing but relevant items, where a metric asks for others too


class Means(Mapping[str, float]):
    """What a result has, fresh or read from a file: means by metric name, values a query, and what they mean."""

    definitions: dict[str, Definition]
    account: Account
    inputs: dict[str, str]  # digests of the truth and of the run, as they were aligned

    @property
    @abstractmethod
    def queries(self) -> Sequence[Any]:
        """The queries' ids, in the truth's order."""

    @property
    @abstractmethod
    def per_query(self) -> Mapping[str, Floats]:
        """Values by metric, an array each, in the order of `queries`; NaN where a query does not count."""

    def define(self, metric: str | Metric) -> Definition:
        """Which definition the number follows; its `cite` says it in one line."""
        return self.definitions[self._label(metric)]

    def _label(self, metric: str | Metric) -> str:
        label = str(metric)
        if label not in self.definitions and isinstance(metric, str):
            found = parse(metric)
            if len(found) > 1:
                raise KeyError(f"{metric!r} names {len(found)} values; ask for one: {', '.join(map(str, found))}")
            label = str(found[0])
        if label not in self.definitions:
            raise KeyError(f"{label!r} was not evaluated; there are {', '.join(self)}")
        return label

    def compare(self, other: Means) -> Comparison:
        """Means side by side. Refused if the two follow different definitions, or have different truths."""
        both = [label for label in self if label in other.definitions]
        if not both:
            raise ValueError(f"no metric in common: {', '.join(self)} and {', '.join(other)}")
        for label in both:
            for name, (ours, theirs) in self.definitions[label].differences(other.definitions[label]).items():
                raise ValueError(
                    f"{label} is not the same number in both: {name} is {ours!r} in one, {theirs!r} in the other"
                )
        if self.inputs["truth"] != other.inputs["truth"]:
            raise ValueError(_other_truth(self.queries, other.queries))
        return Comparison(
            {label: (self[label], other[label]) for label in both}, [self.definitions[label] for label in both]
        )


def _other_truth(ours: Sequence[Any], theirs: Sequence[Any]) -> str:
    for these, those, which in ((ours, theirs, "second"), (theirs, ours, "first")):
        known = set(those)
        lost = [query for query in these if query not in known]
        if lost:
            return f"the truths differ: the {which} lacks {_count(len(lost), 'query', 'queries')}, such as {lost[0]!r}"
    return "the truths differ: the same queries, but in another order or with other grades"


@dataclass(frozen=True)
class Comparison:
    """Two results' means, by metric, and their differences."""

    means: dict[str, tuple[float, float]]
    definitions: list[Definition]

    def __getitem__(self, metric: str) -> float:
        """The second mean less the first."""
        first, second = self.means[metric]
        return second - first

    def __repr__(self) -> str:
        rows: list[tuple[str, ...]] = [("metric", "first", "second", "difference")]
        rows += [(label, *map(_number, pair), f"{self[label]:+.4f}") for label, pair in self.means.items()]
        return "\n".join([*text_table(rows, _ALIGN), *wrapped(summarize(self.definitions))])


class Result(Means):
    """Means by metric name; `per_query`, `define`, `account` and tables beside them."""

    def __init__(
        self,
        outcomes: dict[str, Outcome],
        aligned: Mapping[Align, Aligned],
        convention: Convention,
        choices: ByName,
        weights: Floats | None,
    ) -> None:
        self._outcomes = outcomes
        self._aligned = aligned
        self._first = next(iter(aligned.values()))
        self.convention = convention
        self.choices = dict(choices)
        self._weights = weights

    # -- means -----------------------------------------------------------------------------------------------

    def __getitem__(self, metric: str | Metric) -> float:
        return self._outcomes[self._label(metric)].mean

    def __iter__(self) -> Iterator[str]:
        return iter(self._outcomes)

    def __len__(self) -> int:
        return len(self._outcomes)

    def __contains__(self, metric: object) -> bool:
        try:
            return self._label(metric) in self._outcomes  # type: ignore[arg-type]
        except (KeyError, ValueError):
            return False

    def _label(self, metric: str | Metric) -> str:
        return str(metric) if metric in self._outcomes else super()._label(metric)

    # -- queries ---------------------------------------------------------------------------------------------

    @property
    def queries(self) -> Sequence[Any]:
        """The queries' ids, in the truth's order."""
        return self._first.queries

    @cached_property
    def per_query(self) -> _PerQuery:
        """Values by metric, an array each, in the order of `queries`; NaN where a query does not count."""
        return _PerQuery(self)

    def ratio(self, metric: str | Metric) -> Ratio:
        """What each query earned and could have earned."""
        return self._outcomes[self._label(metric)].ratio

    # -- what it means ---------------------------------------------------------------------------------------

    @cached_property
    def definitions(self) -> dict[str, Definition]:  # type: ignore[override]
        """What each number means, by metric."""
        named = self.convention.with_choices(**self.choices)
        return {label: definition_of(outcome.plan, named) for label, outcome in self._outcomes.items()}

    @cached_property
    def inputs(self) -> dict[str, str]:  # type: ignore[override]
        """Digests of the truth and of the run, as they were aligned: items judged 0 are left out."""
        return digests(self._first)

    @cached_property
    def account(self) -> Account:  # type: ignore[override]
        """How many queries were judged, missing, extra, without anything relevant, or decided by ties."""
        ranked = self._first.ranked
        truths = len(ranked) - (self._first.extra_count if self._appended else 0)
        relevance = next(iter(self._outcomes.values())).plan.relevance
        relevant = ranked.judged_by(relevance).relevant[:truths]
        tied, no_pairs = np.zeros(len(ranked), dtype=bool), np.zeros(len(ranked), dtype=bool)
        for outcome in self._outcomes.values():
            no_pairs |= without_pairs(outcome.plan, self._aligned[outcome.plan.align].ranked, outcome.ratio)
        for decided in self._tied.values():
            tied |= decided[2]
        return Account(
            judged=truths,
            missing=int((~ranked.present[:truths]).sum()),
            extra=self._first.extra_count if self._first.extra_known else None,
            nothing_relevant=int((relevant == 0).sum()),
            dropped_rows=self._first.dropped,
            tied=int(tied.sum()),
            no_pairs=int(no_pairs[:truths].sum()),
        )

    @property
    def _appended(self) -> bool:
        return next(iter(self._outcomes.values())).plan.choices["extra"] == "zero"

    @cached_property
    def ties(self) -> dict[str, TieRange]:
        """By metric: the lowest and highest mean that another order of the tied items would give."""
        return {label: TieRange(low, high, int(moved.sum())) for label, (low, high, moved) in self._tied.items()}

    @cached_property
    def _tied(self) -> dict[str, tuple[float, float, Bools]]:
        out = {}
        for label, outcome in self._outcomes.items():
            ranked = self._aligned[outcome.plan.align].ranked
            if ranked.tied is None or outcome.plan.metric.declaration.kind == "ratings":
                out[label] = (outcome.mean, outcome.mean, np.zeros(len(ranked), dtype=bool))
                continue
            others = (measure(outcome.plan, ranked, ties) for ties in outcome.plan.metric.declaration.extremes)
            ends = [outcome_of(outcome.plan, other, self._weights) for other in others]
            moved = ~np.isclose(ends[0].values, ends[1].values, rtol=1e-12, atol=1e-15, equal_nan=True)
            means = sorted([outcome.mean, *(end.mean for end in ends)])
            out[label] = (means[0], means[-1], moved)
        return out

    def by(self, groups: Mapping[Id, Hashable] | Sequence[Hashable]) -> dict[Any, dict[str, float]]:
        """Means by group of queries: `groups` says each query's group, as a dict or in the order of `queries`."""
        if isinstance(groups, Mapping):
            lost = [query for query in self.queries if query not in groups]
            if lost:
                raise ValueError(f"groups has no entry for query {lost[0]!r}")
            labels = [groups[query] for query in self.queries]
        else:
            labels = list(groups)
            if len(labels) != len(self.queries):
                raise ValueError(f"there are {len(self.queries)} queries but {len(labels)} groups")
        members: dict[Any, Bools] = {}
        for at, label in enumerate(labels):
            members.setdefault(label, np.zeros(len(labels), dtype=bool))[at] = True
        out: dict[Any, dict[str, float]] = {}
        for label, inside in members.items():
            weights = None if self._weights is None else self._weights[inside]
            parts = {align: aligned.ranked.only(inside) for align, aligned in self._aligned.items()}
            out[label] = {
                name: _mean_within(outcome, parts[outcome.plan.align], inside, weights)
                for name, outcome in self._outcomes.items()
            }
        return out

    # -- tables ----------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain data: means, definitions, versions, digests of the inputs, account, and the values of each query."""
        return {
            "convention": self.convention.name,
            "choices": dict(self.choices),
            "means": dict(self),
            "definitions": {label: definition.to_dict() for label, definition in self.definitions.items()},
            "versions": {"rankstone": __version__, "numpy": np.__version__},
            "inputs": dict(self.inputs),
            "account": {name: getattr(self.account, name) for name in Account.__dataclass_fields__},
            "queries": list(self.queries),
            "per_query": {label: outcome.values.tolist() for label, outcome in self._outcomes.items()},
        }

    def to_arrow(self) -> Any:
        """Values a query as a pyarrow table: a query column, then one a metric."""
        import pyarrow

        ids = list(self.queries)
        try:
            query = pyarrow.array(ids)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):  # ids of several kinds, or objects
            query = pyarrow.array(list(map(str, ids)))
        return pyarrow.table({"query": query, **{label: outcome.values for label, outcome in self._outcomes.items()}})

    def to_pandas(self) -> Any:
        """Values a query as a pandas frame."""
        import pandas

        return pandas.DataFrame(
            {"query": list(self.queries), **{label: outcome.values for label, outcome in self._outcomes.items()}}
        )

    def to_polars(self) -> Any:
        """Values a query as a polars frame."""
        import polars

        return polars.from_arrow(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The table of values a query, by the Arrow PyCapsule protocol."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def write(self, path: Path, format: str | None = None) -> None:  # noqa: A002
        """Write to a file: json for all of it, or the values of each query as csv, tsv, jsonl, parquet or trec.

        `read_result` reads json again. A parquet file has the definitions in its metadata; beside the others, which
        have no room for them, they are written to a file of the same name with .json after it.
        """
        from rankstone.answers.write import write

        write(self, path, format)

    # -- looks -----------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return "\n".join([*text_table(self._rows(), _ALIGN), *self._footnotes()])

    def _repr_html_(self) -> str:
        from html import escape

        head, *body = self._rows()
        cells = "".join(f"<th>{escape(cell)}</th>" for cell in head)
        rows = "".join(
            f"<tr><td title='{escape(self.define(row[0]).cite, quote=True)}'><code>{escape(row[0])}</code></td>"
            + "".join(f"<td style='text-align:right'>{escape(cell)}</td>" for cell in row[1:])
            + "</tr>"
            for row in body
        )
        remarks = "<br>".join(escape(line) for line in self._footnotes())
        return f"<table><thead><tr>{cells}</tr></thead><tbody>{rows}</tbody></table><p><small>{remarks}</small></p>"

    def _rows(self) -> list[tuple[str, ...]]:
        ties = self.account.tied > 0
        rows = [("metric", "mean", *(("lowest", "highest") if ties else ()))]
        for label, outcome in self._outcomes.items():
            ends = (self.ties[label].lowest, self.ties[label].highest) if ties else ()
            rows.append((label, *map(_number, (outcome.mean, *ends))))
        return rows

    def remarks(self) -> list[str]:
        """What a reader of the means should know: the convention, and what happened to the queries."""
        account = self.account
        made = "".join(f", {name}={value!r}" for name, value in self.choices.items())
        judged = _count(account.judged, "judged query", "judged queries")
        lines = [f"rankstone {__version__}, convention {self.convention.name}{made}; {judged}"]
        if account.missing:
            lines.append(f"{account.missing} missing from the run ({_fate(self._outcomes, 'missing')})")
        if account.nothing_relevant:
            lines.append(f"{account.nothing_relevant} with nothing relevant ({_fate(self._outcomes, 'no_relevant')})")
        if account.no_pairs:
            asking = {name: one for name, one in self._outcomes.items() if one.plan.metric.declaration.two_sided}
            lines.append(
                f"{account.no_pairs} with nothing but relevant items to compare in {', '.join(asking)} "
                f"({_fate(asking, 'undefined')})"
            )
        if account.extra != 0:
            extra = f"more than {self._first.extra_count - 1:,}" if account.extra is None else account.extra
            lines.append(f"{extra} in the run but not judged ({_fate(self._outcomes, 'extra')})")
        if account.dropped_rows:
            lines.append(f"{_count(account.dropped_rows, 'repeated row', 'repeated rows')} left out")
        if account.tied:
            lines.append(f"{account.tied} decided by the order of tied items")
        return lines

    def defined(self) -> list[str]:
        """The definitions of all the metrics in a few lines, what they share said once."""
        return wrapped(summarize(list(self.definitions.values()))[:-1])

    def _footnotes(self) -> list[str]:
        ranges = ["lowest and highest are the means that other orders of the tied items would give"]
        return [*self.remarks(), *(ranges if self.account.tied else ()), *self.defined()]


def _mean_within(outcome: Outcome, ranked: Ranked, inside: Bools, weights: Floats | None) -> float:
    """The mean of some queries' values, as they are: a metric may look at all queries, as for the highest grade."""
    counted = None if outcome.counted is None else outcome.counted[inside]
    found = Measured(view_for(outcome.plan, ranked), outcome.ratio.only(inside), outcome.values[inside], counted)
    return mean_from(outcome.plan, sums_of(outcome.plan, found, weights), outcome.ratio.finish)


class Saved(Means):
    """A result read from a file."""

    def __init__(self, data: Plain) -> None:
        self._data = data
        self.definitions = {label: Definition.from_dict(saved) for label, saved in data["definitions"].items()}
        self.account = Account(**data["account"])
        self.inputs = dict(data["inputs"])
        self.versions: dict[str, str] = dict(data["versions"])

    def __getitem__(self, metric: str | Metric) -> float:
        value = self._data["means"][self._label(metric)]
        return float("nan") if value is None else float(value)

    def __iter__(self) -> Iterator[str]:
        return iter(self._data["means"])

    def __len__(self) -> int:
        return len(self._data["means"])

    @property
    def queries(self) -> Sequence[Any]:
        return list(self._data["queries"])

    @cached_property
    def per_query(self) -> dict[str, Floats]:
        return {label: np.array(values, dtype=np.float64) for label, values in self._data["per_query"].items()}

    def __repr__(self) -> str:
        rows: list[tuple[str, ...]] = [("metric", "mean"), *((label, _number(self[label])) for label in self)]
        return "\n".join([*text_table(rows, _ALIGN), *wrapped(summarize(list(self.definitions.values())))])


def digests(aligned: Aligned) -> dict[str, str]:
    """Digests of what was judged and of what was returned. Items judged 0 are left out, as some metrics need none."""
    ranked = aligned.ranked

    def digest(offsets: Ints, grades: Floats, hits: Sequence[Any] = (), queries: Sequence[Any] = ()) -> str:
        keep = grades != 0
        inside = np.concatenate(([0], np.cumsum(keep)))[offsets]
        from hashlib import blake2b

        found = blake2b("\n".join(map(repr, aligned.queries)).encode(), digest_size=16)
        for part in (inside, grades[keep], *(column[keep] for column in hits), *queries):
            found.update(np.ascontiguousarray(part).tobytes())
        return f"blake2b:{found.hexdigest()}"

    return {
        "truth": digest(ranked.truth_offsets, ranked.ideal_grades),
        "run": digest(
            ranked.placed_offsets,
            ranked.grade,
            (ranked.rank_unchecked, ranked.score),
            (ranked.retrieved, ranked.present),
        ),
    }


class _PerQuery(Mapping[str, Floats]):
    def __init__(self, result: Result) -> None:
        self._result = result

    def __getitem__(self, metric: str | Metric) -> Floats:
        return self._result._outcomes[self._result._label(metric)].values

    def __iter__(self) -> Iterator[str]:
        return iter(self._result)

    def __len__(self) -> int:
        return len(self._result)

    def __repr__(self) -> str:
        return f"per-query values of {', '.join(self._result)} for {len(self._result.queries)} queries"


def _fate(outcomes: Mapping[str, Outcome], choice: str) -> str:
    fates = {
        str(choices["undefined"] if choices[choice] is None else choices[choice])
        for choices in (outcome.plan.choices for outcome in outcomes.values())
    }
    words = {"zero": "counted as empty lists", "skip": "left out of the mean", "error": "an error", "nan": "NaN"}
    return " or ".join(sorted(words.get(fate, f"counted as {fate}") for fate in fates))


def _number(value: float) -> str:
    whole = 1 < abs(value) < 1e15 and value == int(value)
    return f"{value:.0f}" if whole else f"{value:.4f}"


def _count(n: int, singular: str, plural: str) -> str:
    return f"{n:,} {singular if n == 1 else plural}"
