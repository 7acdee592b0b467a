"""Says which definition a number follows: in a formula, in words, and in a line to cite."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from rankstone.conventions.choices import CHOICES, current_names
from rankstone.conventions.convention import Convention, find_convention
from rankstone.conventions.plan import Plan, make_plans, reads_choice, unread
from rankstone.errors import InputError, check_not_text
from rankstone.metrics.registry import Metric, Parameter, Value, parse, parse_all, parse_one
from rankstone.results.answer import wrapped
from rankstone.results.schema import OBJECT, TEXT, record_of
from rankstone.version import __version__

if TYPE_CHECKING:
    from rankstone.typing import Id, Metrics

Plain: TypeAlias = Mapping[str, Any]  # as JSON has it: {"metric": "ap", "choices": {"threshold": 1}, "rules": []}
T = TypeVar("T")
_OF_TRUTH = ("missing", "extra", "truth_duplicates")  # choices that mean nothing without one
_STAGES = ("metric", "align", "mean")


@dataclass(frozen=True)
class Definition:
    """What a number means. `cite` says all of it in one line; two numbers compare if their `choices` are the same."""

    metric: str
    formula: str
    latex: str
    sentence: str
    rules: tuple[str, ...]  # what holds for every query
    edge_cases: tuple[str, ...]
    choices: Mapping[str, Any]  # every choice and parameter that it depends on, k included
    convention: str
    version: str

    @property
    def cite(self) -> str:
        """One line to put under a number."""
        said = "; ".join([f"{self.metric}: {self.formula}", *self.rules, *self.edge_cases])
        return f"{said}. {self.origin}"

    @property
    def origin(self) -> str:
        """Version and convention."""
        return f"rankstone {self.version}, convention {self.convention}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as JSON has it."""
        return _plain({**asdict(self), "cite": self.cite})

    @classmethod
    def from_dict(cls, data: Plain) -> Definition:
        """The definition of which `to_dict` made plain data.

        Parameters
        ----------
        data : dict
            What `to_dict` returned.
        """
        fields = {name: data[name] for name in cls.__dataclass_fields__}
        lists = {name: tuple(fields[name]) for name in ("rules", "edge_cases")}
        return cls(**{**fields, **lists, "choices": current_names(fields["choices"])})

    def differences(self, other: Definition) -> dict[str, tuple[Any, Any]]:
        """The choices that the two make differently, with both values.

        Parameters
        ----------
        other : Definition
            The definition to compare with.
        """
        ours, theirs = self.choices, other.choices
        names = [name for name in ours if name in theirs and ours[name] != theirs[name]]  # the others are not read
        return {name: (ours[name], theirs[name]) for name in names}

    def __str__(self) -> str:
        lines = [f"{self.metric}: {self.sentence}", "", f"    {self.formula}", ""]
        return "\n".join([*lines, *(f"- {rule}" for rule in (*self.rules, *self.edge_cases)), "", self.origin])

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(f"<li>{escape(rule)}</li>" for rule in (*self.rules, *self.edge_cases))
        return (
            f"<p><code>{escape(self.metric)}</code>: {escape(self.sentence)}</p><p>$${escape(self.latex)}$$</p>"
            f"<ul>{rows}</ul><p><small>{escape(self.origin)}</small></p>"
        )


DEFINITION = record_of(Definition, choices=OBJECT, cite=TEXT)


class Definitions(dict[str, Definition]):
    """What each number means, by metric; found by any name that the metric has."""

    def __missing__(self, metric: str | Metric) -> Definition:
        return self[label_of(metric, self)]

    def __repr__(self) -> str:
        return "\n".join(wrapped(summarize(list(self.values()))) if self else [])

    def _repr_html_(self) -> str:
        return "".join(definition._repr_html_() for definition in self.values())


class ByMetric(Mapping[str, T]):
    """Something of each metric, found by the metric or its name, and what each number means."""

    def __init__(self, rows: Mapping[str, T], definitions: dict[str, Definition]) -> None:
        self._found, self.definitions = rows, definitions

    def __getitem__(self, metric: str | Metric) -> T:
        return self._found[str(metric)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def _plain(data: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON has it, so that what was written and read again is the same."""
    plain: dict[str, Any] = json.loads(json.dumps(dict(data), default=str))
    return plain


def define(metric: str | Metric, *, convention: str | Convention = "rankstone", **choices: Value) -> Definition:
    """What a metric's number means: `formula`, `latex`, `sentence`, `edge_cases`, and `cite`, a line to put under it.

    Parameters
    ----------
    metric : str or Metric
        One metric, such as "ndcg@10".
    convention : str or Convention, default "rankstone"
        Whose definition.
    **choices
        Choices made otherwise, such as `threshold=2`.

    Returns
    -------
    Definition

    Examples
    --------
    >>> rs.define("precision@5", convention="hivemall").formula
    'hits(k) / min(k, retrieved)'
    """
    (plan,) = make_plans(parse_one(metric), convention, choices)
    return definition_of(plan, find_convention(convention).with_choices(**choices))


def manual(metric: Metric) -> str:
    """All about a metric: its formula, what it is for, and what each of its parameters can be."""
    declaration = metric.declaration
    named = metric @ 10 if declaration.takes_k and metric.k is None else metric
    lines = [f"{metric}{'@k' * (named is not metric)}: {define(named).formula}"]
    if others := [*declaration.aliases, *declaration.spellings]:
        lines.append(f"also called {', '.join(others)}")
    lines += ["", cleandoc(declaration.function.__doc__ or "")]
    for title, text in (("Use", declaration.use_when), ("Beware", declaration.caveat)):
        if text:
            lines += ["", f"{title}: {text}"]
    for name, default in declaration.defaults.items():
        about = declaration.about[name]
        lines += ["", f"{name} (default {default!r}): {about.meaning}"]
        lines += [f"    {word!r}: {about.labels.get(word, '')}".rstrip(": ") for word in about.allowed]
    return "\n".join(lines)


def definition_of(plan: Plan, convention: Convention, judged: bool = True) -> Definition:
    """The definition that a metric follows once every choice is made; judged: is there a truth."""
    declaration = plan.metric.declaration
    text, latex = declaration.formula or declaration.summary, declaration.latex
    about = declaration.about
    templates = "".join([text, *(frame for parameter in about.values() for frame in parameter.text.values())])
    unprinted = [name for name in about if f"<{name}>" not in templates or isinstance(plan.arguments[name], tuple)]
    ignored = unread(plan)
    parameters = [about[name].describe(name, plan.arguments[name]) for name in unprinted if name not in ignored]
    order = sorted(CHOICES, key=lambda name: _STAGES.index(CHOICES[name].stage))
    words = {
        name: CHOICES[name].describe(name, plan.choices[name])
        for name in order
        if name not in ignored and (judged or name not in _OF_TRUTH)
    }
    if declaration.kind in ("ratings", "agreement", "recommendations"):
        words["undefined"] = words["undefined"].replace("without relevant items", "whose denominator is 0")
    if declaration.of_unanswerable:
        words["undefined"] = words["undefined"].replace("whose denominator is 0", "with relevant items")
        words["missing"] = words.get("missing", "").replace("score 0", "count as empty lists")
    formula = _filled(text, plan, _in_text)
    if plan.arguments.get("k") is None:
        parameters = [_without_cutoff(words) for words in parameters]
    elif not re.search(r"\bk\b", formula):
        formula += ", with cutoff k"
    return Definition(
        metric=plan.label,
        formula=formula,
        latex=_filled(latex, plan, _in_latex) or rf"\text{{{formula}}}",
        sentence=_sentence(plan, text),
        rules=tuple(filter(None, [*parameters, *(words[name] for name in words if CHOICES[name].always)])),
        edge_cases=tuple(filter(None, (words[name] for name in words if not CHOICES[name].always))),
        choices=_plain(
            {name: value for name, value in {**plan.arguments, **plan.choices}.items() if name not in ignored}
        ),
        convention=convention.name_for(lambda name: reads_choice(plan, name)),
        version=__version__,
    )


def _sentence(plan: Plan, template: str) -> str:
    """The metric's summary, which describes its default definition; of another definition, the formula."""
    declaration, formula = plan.metric.declaration, _filled(template, plan, _in_text)
    default = replace(plan, arguments={**plan.arguments, **declaration.defaults})
    averaging = declaration.choices.get("averaging", CHOICES["averaging"].default)
    of_default = formula == _filled(template, default, _in_text) and plan.choices["averaging"] == averaging
    summary = declaration.summary if plan.arguments.get("k") is not None else _without_cutoff(declaration.summary)
    return summary if of_default and summary else f"{formula[0].upper()}{formula[1:]}."


def _without_cutoff(text: str) -> str:
    """A text about the top k where there is no k: about whole lists; nothing if it is about k only."""
    for words, whole in (("top k items", "returned items"), ("top k", "list"), ("at k and at", "at")):
        text = text.replace(words, whole)
    return "" if re.search(r"\bk\b", text) else text


def summarize(definitions: Sequence[Definition]) -> list[str]:
    """A few lines for many metrics: what each of them is, then what they have in common."""
    every = [(*definition.rules, *definition.edge_cases) for definition in definitions]
    common = [words for words in every[0] if all(words in other for other in every)] if len(every) > 1 else []
    lines: dict[str, list[str]] = {}
    for definition, words in zip(definitions, every, strict=True):
        own = "; ".join([definition.formula, *(part for part in words if part not in common)])
        lines.setdefault(own, []).append(definition.metric)
    said = [f"{', '.join(names)}: {own}" for own, names in lines.items()]
    return [*said, *([f"all: {'; '.join(common)}"] if common else []), common_origin(definitions)]


def common_origin(definitions: Sequence[Definition]) -> str:
    """Version and convention, with the choices that some of the metrics read."""
    return max((definition.origin for definition in definitions), key=len)


def _filled(template: str, plan: Plan, spell: Callable[[Parameter, str, Any], str]) -> str:
    """A formula with the parameters' values in their places; what a value reads as may hold others."""
    about, arguments = plan.metric.declaration.about, plan.arguments
    whole = arguments.get("k") is None
    while named := [name for name in about if f"<{name}>" in template]:
        for name in named:
            value = _without_k(arguments[name]) if whole else arguments[name]
            template = template.replace(f"<{name}>", spell(about[name], name, value))
    template = re.sub(r"\[k: (.*?)\]", "" if whole else r"\1", template)
    for at_k, without in _WITHOUT_K.items() if whole else ():
        template = template.replace(at_k, without)
    return template


_WITHOUT_K = {
    "(k)": "",
    r"i \le k": "i",
    "min(k, retrieved)": "retrieved",
    r"\min(k, \mathrm{retrieved})": r"\mathrm{retrieved}",
    "at least k items": "at least 1 item",
}


def _without_k(value: Any) -> Any:
    """A bound by k where there is no k: a list's own length takes its place, and other bounds fall away."""
    if not isinstance(value, str):
        return value
    inside = re.fullmatch(r"min\((.*)\)", value)
    parts = inside[1].split(",") if inside else [value]
    kept = [parts[0] if parts[0] != "k" else "retrieved", *(part for part in parts[1:] if part != "k")]
    kept = list(dict.fromkeys(kept))
    return kept[0] if len(kept) == 1 else f"min({','.join(kept)})"


def _in_text(about: Parameter, name: str, value: Any) -> str:
    return _framed(about.text, value, _text(name, value))


def _in_latex(about: Parameter, name: str, value: Any) -> str:
    return _framed(about.latex, value, _latex(name, value))


def _framed(frames: Mapping[Any, str], value: Any, spelled: str) -> str:
    frame = "{}" if isinstance(value, tuple) else frames.get(value, frames.get(..., "{}"))
    return frame.replace("{}", spelled)


def _text(name: str, value: Any) -> str:
    if name == "gain":
        return _gain(value, "grade", "(2^grade - 1)", "relevant", "gain(grade)").replace("2^", f"{_base(value)}^")
    return _number(value).replace(",", ", ")


def _number(value: Any) -> str:
    """A value in a formula: 1.0 is 1."""
    return str(value).removesuffix(".0")


def _latex(name: str, value: Any) -> str:
    if name == "gain":
        gain = _gain(value, "g_i", "(2^{g_i} - 1)", r"\mathrm{rel}_i", r"\mathrm{gain}(g_i)")
        return gain.replace("2^", f"{_base(value)}^")
    names = {"log2": r"\log_2", "ln": r"\ln", "max": r"\max", "min": r"\min", "rank": "i", "k": "k"}
    return re.sub(
        r"[A-Za-z_]\w*", lambda word: names.get(word[0], rf"\mathrm{{{word[0]}}}"), _number(value).replace(",", ", ")
    )


def _gain(value: Any, linear: str, power: str, binary: str, other: str) -> str:
    if isinstance(value, str) and re.fullmatch(r"exp[\d.]+", value):
        return power
    return {"linear": linear, "binary": binary}.get(value, other) if isinstance(value, str) else other


def _base(value: Any) -> str:
    return value[3:] if isinstance(value, str) and value.startswith("exp") else "2"


# -- metrics by their names, queries by their ids -------------------------------------------------------------


def cutoffs_of(metrics: Metrics) -> tuple[str, list[str], list[int]]:
    """What metrics that differ in their cutoff only are called, each of them, and their cutoffs."""
    parsed = parse_all(metrics)
    names = {str(metric).rpartition("@")[0] for metric in parsed}
    if len(names) != 1 or any(metric.k is None for metric in parsed):
        raise InputError(f"{metrics!r}: plot one metric at many cutoffs, as 'ndcg@{{1..100}}'")
    parsed.sort(key=lambda metric: metric.k or 0)
    return names.pop(), list(map(str, parsed)), [metric.k or 0 for metric in parsed]


def groups_in_order(
    groups: Mapping[Id, Hashable] | Sequence[Hashable], queries: Sequence[Hashable], what: str
) -> list[Hashable]:
    """Each query's group; `groups` is a dict by query, or has one for each of them in order."""
    if isinstance(groups, Mapping):
        if _all_text(queries) and _all_whole(groups):  # a run's ids have made a file's numbers text
            groups = {str(query): group for query, group in groups.items()}
        lost = [query for query in queries if query not in groups]
        if lost:
            raise InputError(f"{what} has no entry for query {lost[0]!r}")
        return [groups[query] for query in queries]
    check_not_text(groups, what)
    labels = list(groups)
    if len(labels) != len(queries):
        raise InputError(f"there are {len(queries)} queries but {len(labels)} {what}")
    return labels


def ids_alike(several: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Ids of the same queries: as text if some of them are, as ids of files are once the other side's are."""
    if any(map(_all_text, several)):
        return [list(map(str, ids)) if _all_whole(ids) else list(ids) for ids in several]
    return list(map(list, several))


def _all_text(ids: Iterable[Any]) -> bool:
    return all(isinstance(one, str) for one in ids)


def _all_whole(ids: Iterable[Any]) -> bool:
    return all(isinstance(one, (int, np.integer)) for one in ids)


def label_of(metric: str | Metric, labels: Mapping[str, Any]) -> str:
    """The name under which a metric is known, whatever it is called."""
    label = str(metric)
    if label in labels:
        return label
    parsed = parse(metric) if isinstance(metric, str) else (metric,)
    if len(parsed) > 1:
        raise KeyError(f"{metric!r} names {len(parsed)} values; ask for one: {', '.join(map(str, parsed))}")
    for other in labels:  # beta=1 is beta=1.0
        with suppress(ValueError):  # a metric that is not declared here
            if parse(other) == parsed:
                return other
    raise KeyError(f"{str(parsed[0])!r} was not evaluated; there are {', '.join(labels)}")
