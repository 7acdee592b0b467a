"""Says which definition a number follows: in a formula, in words, and in a line to cite."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rankstone.align.ranking import Relevance

if TYPE_CHECKING:
    from rankstone.conventions.convention import Convention
    from rankstone.conventions.plan import Plan
    from rankstone.metrics.registry import Metric, Row

# Text and LaTeX of each metric. <divisor> stands for a parameter's value, (k) falls away where there is no cutoff.
FORMULAS: Mapping[str, tuple[str, str]] = {
    "precision": ("hits(k) / <divisor>", r"\frac{\mathrm{hits}(k)}{<divisor>}"),
    "recall": ("hits(k) / <divisor>", r"\frac{\mathrm{hits}(k)}{<divisor>}"),
    "f": (
        "(1 + <beta>^2) hits(k) / (<beta>^2 <recall_divisor> + <precision_divisor>)",
        r"\frac{(1 + <beta>^2)\,\mathrm{hits}(k)}{<beta>^2\,<recall_divisor> + <precision_divisor>}",
    ),
    "f1": (
        "2 hits(k) / (<recall_divisor> + <precision_divisor>)",
        r"\frac{2\,\mathrm{hits}(k)}{<recall_divisor> + <precision_divisor>}",
    ),
    "hit_rate": ("1 if hits(k) > 0 else 0", r"[\mathrm{hits}(k) > 0]"),
    "r_precision": ("hits(relevant) / relevant", r"\frac{\mathrm{hits}(\mathrm{relevant})}{\mathrm{relevant}}"),
    "fallout": ("nonrelevant(k) / nonrelevant", r"\frac{\mathrm{nonrelevant}(k)}{\mathrm{nonrelevant}}"),
    "num_ret": ("min(k, retrieved)", r"\min(k, \mathrm{retrieved})"),
    "num_rel": ("relevant", r"\mathrm{relevant}"),
    "num_rel_ret": ("hits(k)", r"\mathrm{hits}(k)"),
    "judged": ("judged(k) / <divisor>", r"\frac{\mathrm{judged}(k)}{<divisor>}"),
    "ap": (
        "sum over relevant hits of nth / rank, over <divisor>",
        r"\frac{1}{<divisor>} \sum_{i \le k} \mathrm{rel}_i \, \frac{\mathrm{hits}(i)}{i}",
    ),
    "gmap": (
        "geometric mean over queries of: sum over relevant hits of nth / rank, over <divisor>",
        r"\Bigl(\prod_{q} \frac{1}{<divisor>} \sum_{i \le k} \mathrm{rel}_i \,"
        r" \frac{\mathrm{hits}(i)}{i}\Bigr)^{1/|Q|}",
    ),
    "rr": ("1 / first", r"\frac{1}{\min \{i \le k : \mathrm{rel}_i\}}"),
    "iprec": (
        "highest precision at or beyond recall <recall>",
        r"\max_{i : \mathrm{recall}(i) \ge <recall>} \mathrm{precision}(i)",
    ),
    "iprec11": (
        "mean of iprec at recall 0, 0.1 ... 1",
        r"\frac{1}{11} \sum_{r \in \{0, 0.1, \ldots, 1\}} \max_{i : \mathrm{recall}(i) \ge r} \mathrm{precision}(i)",
    ),
    "cg": ("sum of <gain>", r"\sum_{i \le k} <gain>"),
    "dcg": ("sum of <gain> / <discount>", r"\sum_{i \le k} \frac{<gain>}{<discount>}"),
    "ndcg": (
        "sum of <gain> / <discount>, over that of the ideal list",
        r"\frac{\sum_{i \le k} <gain> / <discount>}{\sum_{i \in \mathrm{ideal}} <gain> / <discount>}",
    ),
    "rbp": (
        "(1 - <p>) * sum of <p>^(rank - 1) over relevant hits",
        r"(1 - <p>) \sum_{i \le k} \mathrm{rel}_i \, <p>^{i - 1}",
    ),
    "err": (
        "sum of R(i) / i * product of 1 - R(j) above i, with R = (2^grade - 1) / 2^max_grade",
        r"\sum_{i \le k} \frac{R_i}{i} \prod_{j < i} (1 - R_j), \quad R_i = \frac{2^{g_i} - 1}{2^{g_{\max}}}",
    ),
    "nerr": (
        "err(k) / err(k) of the ideal list",
        r"\frac{\mathrm{ERR}(k)}{\mathrm{ERR}(k)\ \mathrm{of\ the\ ideal\ list}}",
    ),
    "auc": (
        "pairs in the right order / pairs",
        r"\frac{|\{(a, b) : g_a > g_b,\ s_a > s_b\}|}{|\{(a, b) : g_a > g_b\}|}",
    ),
    "bpref": (
        "sum over relevant hits of 1 - nonrelevant above / min(relevant, nonrelevant), over relevant",
        r"\frac{1}{\mathrm{relevant}} \sum_{i} \mathrm{rel}_i \Bigl(1 - \frac{\mathrm{nonrelevant}(i)}"
        r"{\min(\mathrm{relevant}, \mathrm{nonrelevant})}\Bigr)",
    ),
    "infap": (
        "sum over relevant hits of estimated precision, over relevant",
        r"\frac{1}{\mathrm{relevant}} \sum_{i} \mathrm{rel}_i \, E[\mathrm{precision}(i)]",
    ),
    "mae": ("sum |score - grade| / n", r"\frac{1}{n} \sum_i |s_i - g_i|"),
    "mse": ("sum (score - grade)^2 / n", r"\frac{1}{n} \sum_i (s_i - g_i)^2"),
    "rmse": ("sqrt(sum (score - grade)^2 / n)", r"\sqrt{\frac{1}{n} \sum_i (s_i - g_i)^2}"),
    "r2": (
        "1 - sum (score - grade)^2 / sum (grade - mean)^2",
        r"1 - \frac{\sum_i (s_i - g_i)^2}{\sum_i (g_i - \bar g)^2}",
    ),
    "logloss": (
        "-sum (grade ln score + (1 - grade) ln (1 - score)) / n",
        r"-\frac{1}{n} \sum_i \bigl(g_i \ln s_i + (1 - g_i) \ln (1 - s_i)\bigr)",
    ),
    "pearson": (
        "covariance / (deviation * deviation)",
        r"\frac{\sum_i (s_i - \bar s)(g_i - \bar g)}{\sqrt{\sum_i (s_i - \bar s)^2 \sum_i (g_i - \bar g)^2}}",
    ),
    "spearman": ("pearson of the two rank numbers", r"\mathrm{pearson}(\mathrm{rank}(s), \mathrm{rank}(g))"),
    "kendall": (
        "(concordant - discordant) / pairs",
        r"\frac{\mathrm{concordant} - \mathrm{discordant}}{\mathrm{pairs}}",
    ),
    "tau_ap": (
        "2 / (n - 1) * sum over i > 1 of right above i / (i - 1), less 1",
        r"\frac{2}{n - 1} \sum_{i > 1} \frac{\mathrm{right\ above}(i)}{i - 1} - 1",
    ),
    "rbo": (
        "(1 - <p>) * sum of <p>^(d - 1) * overlap(d) / d, extrapolated",
        r"(1 - <p>) \sum_{d} <p>^{d - 1} \frac{\mathrm{overlap}(d)}{d}",
    ),
}

# How a choice reads in a sentence; those at their most ordinary value may say nothing.
_WORDS: Mapping[tuple[str, Any], str] = {
    ("ties", "item_desc"): "equal scores in descending order of item id",
    ("ties", "item_asc"): "equal scores in ascending order of item id",
    ("ties", "input"): "equal scores in input order",
    ("ties", "reverse_input"): "equal scores in reverse input order",
    ("ties", "optimistic"): "equal scores with the best item first",
    ("ties", "pessimistic"): "equal scores with the worst item first",
    ("ties", "expected"): "mean over all orders of equal scores",
    ("ties", "group_end"): "items with equal scores all at the last of their places",
    ("ties", "group_mean"): "items with equal scores all at their mean place, rounded down",
    ("pool", "list"): "only the items returned are known, those nobody judged have grade 0",
    ("nonpositive_score", "miss"): "an item with a score of 0 or less is never found",
    ("score_precision", "float64"): "",
    ("score_precision", "float32"): "scores compared as float32",
    ("duplicates", "error"): "",
    ("duplicates", "first"): "of a repeated item only the first row",
    ("duplicates", "best"): "of a repeated item only the best row",
    ("duplicates", "count"): "a repeated item counts each time",
    ("duplicates", "once"): "a repeated item counts once but keeps its places",
    ("truth_duplicates", "error"): "",
    ("truth_duplicates", "first"): "of an item judged twice only the first judgement",
    ("truth_duplicates", "count"): "an item judged twice counts twice in the truth",
    ("credit", "whole"): "",
    ("credit", "clamp"): "a grade below 1 counts in part",
    ("truth_depth", "all"): "",
    ("truth_depth", "k"): "only the first k items of the truth can be relevant",
    ("both_empty", None): "",
    ("both_empty", "nan"): "NaN for an empty list and an empty truth",
    ("no_relevant", "skip"): "queries without a relevant item are left out",
    ("no_relevant", "nan"): "NaN for a query without a relevant item",
    ("no_relevant", "error"): "a query without a relevant item is an error",
    ("empty_list", "skip"): "queries with an empty list are left out",
    ("empty_list", "error"): "a query with an empty list is an error",
    ("empty_truth", "skip"): "queries whose truth judges nothing are left out",
    ("nan_in_mean", "zero"): "NaN counts 0 in the mean",
    ("default_k", None): "",
    ("query_digits", None): "",
    ("short_list", "count"): "",
    ("short_list", "zero"): "0 if the list is shorter than k",
    ("missing", "zero"): "a judged query missing from the run counts as an empty list",
    ("missing", "skip"): "judged queries missing from the run are left out",
    ("missing", "error"): "judged queries missing from the run are an error",
    ("extra", "skip"): "queries nobody judged are left out",
    ("extra", "zero"): "queries nobody judged count as having nothing relevant",
    ("extra", "error"): "queries nobody judged are an error",
    ("undefined", "skip"): "queries where nothing could be earned are left out",
    ("undefined", "nan"): "NaN where nothing could be earned",
    ("undefined", "error"): "an error where nothing could be earned",
    ("averaging", "macro"): "mean of the queries' values",
    ("averaging", "micro"): "sum of all numerators over sum of all denominators",
    ("averaging", "weighted"): "weighted mean of the queries' values",
    ("averaging", "pooled"): "over all rows of all queries as one list",
    ("averaging", "parts"): "of the mean precision and the mean recall",
    ("averaging", "geometric"): "geometric mean of the queries' values, each at least 0.00001",
    ("averaging", "sum"): "sum over the queries",
    ("no_queries", "nan"): "",
    ("no_queries", 0): "0 if no query counts",
    ("no_queries", "error"): "an error if no query counts",
    ("digits", None): "",
    ("negative", "zero"): "negative grades count 0",
    ("negative", "signed"): "negative grades count against",
    ("negative", "error"): "a negative grade is an error",
    ("below", "gain"): "",
    ("below", "none"): "no gain below the threshold",
    ("gain", "linear"): "gain is the grade",
    ("gain", "exp2"): "gain is 2^grade - 1",
    ("gain", "binary"): "gain is 1 for a relevant item",
    ("ideal", "judged"): "ideal list of all judged items",
    ("ideal", "nonzero"): "ideal list of all items judged other than 0",
    ("ideal", "retrieved"): "ideal list of the judged items in the run",
    ("ideal", "ones"): "ideal list of k relevant items",
    ("ideal", "given"): "ideal list in the order of the truth as given",
    ("ideal_sign", "any"): "",
    ("ideal_sign", "positive"): "nothing could be earned where the ideal list earns no more than 0",
    ("ideal_depth", "k"): "cut at k",
    ("ideal_depth", "min(k,retrieved)"): "cut at k or the length of the list",
    ("ideal_depth", "all"): "not cut",
    ("over", "first"): "",
    ("needed", "ceil(x)"): "",
    ("needed", "floor(x+0.9)"): "a share of x items needs floor(x+0.9) of them",
    ("needed", "round(x)"): "a share of x items needs round(x) of them",
    ("over", "all"): "summed over all relevant items",
    ("term_digits", None): "",
    ("catalogue", None): "over judged items",
    ("max_grade", None): "max_grade is the highest grade of the truth",
    ("stop", "exp2"): "",
    ("stop", "grade"): "the grade is the chance to stop",
    ("among", "judged"): "",
    ("among", "list"): "over the items of the list",
    ("alone", "undefined"): "",
    ("alone", "right"): "1 where all items are relevant",
    ("equal", "half"): "equal scores count half",
    ("equal", "order"): "equal scores by their order",
    ("equal", "wrong"): "equal scores count as wrong",
    ("pairs", "judged"): "pairs of judged items",
    ("pairs", "list"): "pairs within the first k places",
}
_STAGES = ("metric", "align", "mean")
_ALWAYS = (
    "default_k",
    "threshold",
    "credit",
    "truth_depth",
    "averaging",
    "query_digits",
    "digits",
)  # of every query; the others are edge cases


@dataclass(frozen=True)
class Definition:
    """What a number means. `cite` says all of it in one line; two numbers compare if their `choices` are the same."""

    metric: str
    formula: str
    latex: str
    sentence: str
    rules: tuple[str, ...]  # what holds for every query
    edge_cases: tuple[str, ...]
    choices: Mapping[str, Any]  # every choice and parameter, k included
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
        found: dict[str, Any] = json.loads(json.dumps({**asdict(self), "cite": self.cite}, default=str))
        return found

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Definition:
        """The definition that `to_dict` made this of."""
        known = {name: data[name] for name in cls.__dataclass_fields__}
        return cls(**{**known, **{name: tuple(known[name]) for name in ("rules", "edge_cases")}})

    def differences(self, other: Definition) -> dict[str, tuple[Any, Any]]:
        """The choices that the two make differently, with both values."""
        ours, theirs = (json.loads(json.dumps(dict(one.choices), default=str)) for one in (self, other))
        names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
        return {name: (ours.get(name), theirs.get(name)) for name in names}

    def __str__(self) -> str:
        lines = [f"{self.metric}: {self.sentence}", "", f"    {self.formula}", ""]
        return "\n".join([*lines, *(f"- {one}" for one in (*self.rules, *self.edge_cases)), "", self.origin])

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(f"<li>{escape(one)}</li>" for one in (*self.rules, *self.edge_cases))
        return (
            f"<p><code>{escape(self.metric)}</code>: {escape(self.sentence)}</p><p>$${escape(self.latex)}$$</p>"
            f"<ul>{rows}</ul><p><small>{escape(self.origin)}</small></p>"
        )


def definition(metric: str | Metric, *, convention: str | Convention = "rankstone", **choices: Any) -> Definition:
    """What a metric's number means: `formula`, `latex`, `sentence`, `edge_cases`, and `cite`, a line to put under it.

    >>> rs.definition("precision@5", convention="hivemall").formula
    'hits(k) / min(k, retrieved)'
    """
    from rankstone.conventions.convention import convention as find_convention
    from rankstone.conventions.plan import make_plans

    plans = make_plans(metric, convention, choices)
    if len(plans) > 1:
        raise ValueError(f"{metric!r} names {len(plans)} metrics; ask for one: {', '.join(one.label for one in plans)}")
    return define(plans[0], find_convention(convention).but(**choices))


def define(plan: Plan, convention: Convention) -> Definition:
    """The definition that a metric follows once every choice is made."""
    from rankstone import __version__
    from rankstone.conventions.convention import CHOICES

    row = plan.metric.row
    text, latex = FORMULAS.get(row.name, (row.formula or row.summary, ""))
    said = [name for name, value in plan.arguments.items() if f"<{name}>" in text and not isinstance(value, tuple)]
    parameters = [_say(name, value) for name, value in plan.arguments.items() if name not in (*said, "k")]
    order = sorted((name for name in CHOICES if not _idle(name, row)), key=lambda n: _STAGES.index(CHOICES[n].stage))
    told = {name: _say(name, plan.choices[name]) for name in order}
    k = plan.arguments.get("k")
    return Definition(
        metric=plan.label,
        formula=_filled(text, plan.arguments, _in_text),
        latex=_filled(latex, plan.arguments, _in_latex) or rf"\text{{{text}}}",
        sentence=row.summary,
        rules=tuple(filter(None, [*parameters, *(told[name] for name in order if name in _ALWAYS)])),
        edge_cases=tuple(filter(None, (told[name] for name in order if name not in _ALWAYS))),
        choices={**plan.arguments, **plan.choices, **({} if k is None else {"k": k})},
        convention=convention.name,
        version=__version__,
    )


def summarize(definitions: Sequence[Definition]) -> list[str]:
    """A few lines for many metrics: what each of them is, then what they have in common."""
    every = [(*one.rules, *one.edge_cases) for one in definitions]
    common = [words for words in every[0] if all(words in other for other in every)] if len(every) > 1 else []
    lines: dict[str, list[str]] = {}
    for one, words in zip(definitions, every, strict=True):
        own = "; ".join([one.formula, *(part for part in words if part not in common)])
        lines.setdefault(own, []).append(one.metric)
    told = [f"{', '.join(names)}: {own}" for own, names in lines.items()]
    return [*told, *([f"all: {'; '.join(common)}"] if common else []), definitions[0].origin]


def _filled(template: str, arguments: Mapping[str, Any], spell: Any) -> str:
    whole = arguments.get("k") is None
    for name, value in arguments.items():
        if f"<{name}>" in template:
            template = template.replace(f"<{name}>", spell(name, _without_k(value) if whole else value))
    if whole:
        template = template.replace("(k)", "").replace(r"i \le k", "i").replace("min(k, retrieved)", "retrieved")
        template = template.replace(r"\min(k, \mathrm{retrieved})", r"\mathrm{retrieved}")
    return template


def _without_k(value: Any) -> Any:
    """A bound by k where there is no k: a list's own length takes its place, and other bounds fall away."""
    if not isinstance(value, str):
        return value
    inside = re.fullmatch(r"min\((.*)\)", value)
    parts = inside[1].split(",") if inside else [value]
    kept = [parts[0] if parts[0] != "k" else "retrieved", *(part for part in parts[1:] if part != "k")]
    kept = list(dict.fromkeys(kept))
    return kept[0] if len(kept) == 1 else f"min({','.join(kept)})"


def _in_text(name: str, value: Any) -> str:
    if name == "gain":
        return _gain(value, "grade", "(2^grade - 1)", "relevant", "gain(grade)").replace("2^", f"{_base(value)}^")
    return str(value).replace(",", ", ")


def _in_latex(name: str, value: Any) -> str:
    if name == "gain":
        gain = _gain(value, "g_i", "(2^{g_i} - 1)", r"\mathrm{rel}_i", r"\mathrm{gain}(g_i)")
        return gain.replace("2^", f"{_base(value)}^")
    names = {"log2": r"\log_2", "ln": r"\ln", "max": r"\max", "min": r"\min", "rank": "i", "k": "k"}
    return re.sub(
        r"[A-Za-z_]\w*", lambda word: names.get(word[0], rf"\mathrm{{{word[0]}}}"), str(value).replace(",", ", ")
    )


def _gain(value: Any, linear: str, power: str, binary: str, other: str) -> str:
    if isinstance(value, str) and re.fullmatch(r"exp[\d.]+", value):
        return power
    return {"linear": linear, "binary": binary}.get(value, other) if isinstance(value, str) else other


def _base(value: Any) -> str:
    return value[3:] if isinstance(value, str) and value.startswith("exp") else "2"


# Metrics that count the relevant items of the first k, which is all that a cut truth changes.
_COUNTING = ("precision", "recall", "f", "f1", "hit_rate", "r_precision", "num_rel_ret")


def _idle(name: str, row: Row) -> bool:
    """Choices that cannot move this metric."""
    if name == "truth_depth":
        return row.name not in _COUNTING
    return row.kind in ("ratings", "agreement") and name in ("threshold", "credit", "short_list")


def _say(name: str, value: Any) -> str:
    try:
        if (name, value) in _WORDS:
            return _WORDS[name, value]
    except TypeError:
        pass
    if name == "threshold":
        if value == "all":
            return "every judged item is relevant"
        relevance = Relevance.of(value)
        return f"relevant {'above' if relevance.strict else 'from'} grade {relevance.threshold:g}"
    if name == "undefined":
        return f"{value:g} where nothing could be earned"
    if name == "both_empty":
        return f"{value:g} for an empty list and an empty truth"
    if name == "no_relevant":
        return "" if value is None else f"{value:g} for a query without a relevant item"
    if name == "default_k":
        return f"cut at {value} where no cutoff is given"
    if name == "query_digits":
        return f"each query's value rounded to {value} decimals"
    if name == "digits":
        return f"rounded to {value} decimals"
    if name == "term_digits":
        return f"each precision rounded to {value} decimals"
    if name.endswith("divisor"):
        return f"{name.replace('_', ' ')} {value}"
    if name == "discount":
        return f"discount 1/{value}"
    if isinstance(value, tuple):
        return f"{name} {dict(value)}"
    from rankstone.conventions.convention import CHOICES

    return "" if name in CHOICES and value == CHOICES[name].default else f"{name} {value}"
