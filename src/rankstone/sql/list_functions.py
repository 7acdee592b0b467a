"""The SQL functions of all engines: Arrow arrays in, one number per row out."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rankstone.align.alignment import Bools, Floats, Ints
from rankstone.conventions.convention import Convention
from rankstone.conventions.plan import Capabilities, Plan, check_supported, plan_one, unsupported
from rankstone.data.arrow import Pieces, is_list, is_text, one_piece
from rankstone.data.dicts import Dicts
from rankstone.data.lists import GradeLists, ListPair, Lists, lists
from rankstone.errors import InputError, InputTypeError, QueryError
from rankstone.evaluate.checks import require_grades
from rankstone.evaluate.means import Sums, mean_from, shares_of
from rankstone.evaluate.values import MetricValues, measure
from rankstone.metrics.registry import declared, on_declare
from rankstone.program.sql_terms import Term as Value
from rankstone.program.sql_terms import Tree

if TYPE_CHECKING:
    import py4j.java_gateway
    import sqlglot

# "avg(x)", sqlglot.parse_one("avg(x)"), or an object of Spark's
Expression: TypeAlias = "str | sqlglot.Expression | py4j.java_gateway.JavaObject"
Arguments = Sequence[Expression]
Constant = str | float | bool | None  # "a", 1, 0.5, True

GRADED_ROWS = Capabilities(
    all_queries="a function reads some of the rows at a time",
    annotations="a function takes grades only",
    recommendations="a function takes one list and its truth",
    otherwise="as in '-max_grade 4'",
)

# Metrics of a row with a list and its truth. As an aggregate, the mean over the rows.
MEASURES: Mapping[str, str] = {
    "recall_at": "recall",
    "precision_at": "precision",
    "average_precision": "ap",
    "auc": "auc",
    "mrr": "rr",
    "ndcg": "ndcg",
    "hitrate": "hit_rate",
}
# Metrics of rows with one prediction each. As an aggregate, one number for all rows.
ROWS: Mapping[str, str] = {
    "auc": "auc(pairs='judged', tied_pairs='half', undefined='error')",
    "f1score": "f",
    "fmeasure": "f",
    "mae": "mae",
    "mse": "mse",
    "rmse": "rmse",
    "r2": "r2",
    "logloss": "logloss",
}


def measures() -> dict[str, str]:
    """Every metric of a list by SQL name: Hivemall's names, and `rs_<metric>` for each metric."""
    return {**MEASURES, **{f"rs_{name}": name for name in declared()}}


def _convention(name: str, convention: str | Convention | None) -> str | Convention:
    """The convention of a function; by default, Hivemall's names follow Hivemall."""
    return convention or ("rankstone" if name.startswith("rs_") else "hivemall")


def values(name: str, arguments: Sequence[Pieces], convention: str | Convention | None = None) -> pa.Array:
    """A metric per row of (rec, truth[, k][, options]); null if a row is not averaged.

    rec: items in ranked order; a map of items to scores; or, if the truth has grades only, structs that start with the
    item's grade. truth: the relevant items; a map of items to grades; or grades in descending order. A null rec is a
    query missing from the run; a row with a null truth is not averaged. options: a text such as
    `-convention trec_eval -threshold 2`.
    """
    _, measured, judged = _measured(name, arguments, convention)
    return pa.array(measured.values, mask=~(judged if measured.counted is None else judged & measured.counted))


def _share(part: int, name: str, arguments: Sequence[Pieces], convention: str | Convention | None = None) -> pa.Array:
    """What each row adds to one of the two sums of the mean; null if it is not averaged."""
    plan, measured, judged = _measured(name, arguments, convention)
    rule, own = mean_of(name, convention), mean_of(name, convention, _arguments(name, arguments)[2])
    if rule.form != own.form:
        raise InputError(
            f"{name} was registered with another mean, which options cannot change to {plan.choices['averaging']!r}: "
            "connect or register with a convention that has it, or use rs.evaluate"
        )
    *shares, counted = shares_of(plan, measured)
    return pa.array(shares[part], mask=~(judged & counted))


KERNELS: Mapping[str, Callable[..., pa.Array]] = {
    "score": values,
    "top": partial(_share, 0),
    "bottom": partial(_share, 1),
}


def _measured(
    name: str, arguments: Sequence[Pieces], convention: str | Convention | None
) -> tuple[Plan, MetricValues, Bools]:
    (rec, truth), k, options = _arguments(name, arguments)
    plan, sizes = _plan_of(name, convention, options, cut=k is not None), None
    if k is not None:  # each row has its own
        depths = _depths(k, rec)
        plan = replace(plan, arguments={**plan.arguments, "k": depths})
        if ends_at_k(plan):
            rec, sizes = _first(rec, depths)
    source = _source(rec, truth)
    if source.truth.values is not None:
        check_supported([plan], GRADED_ROWS)
    try:
        aligned = source.align(plan.alignment)
        require_grades(plan, aligned.graded)
        ranked = aligned.ranked
        measured = measure(plan, ranked if sizes is None else ranked.replace(retrieved=sizes))
    except QueryError as error:
        raise InputError(f"{name}: {error.problem} with the truth {_excerpt(truth[error.number])}") from None
    return plan, measured, truth.is_valid().to_numpy(zero_copy_only=False)


def of_rows(name: str, arguments: Sequence[Pieces], convention: str | Convention | None = None) -> pa.Array:
    """One number per row of two lists, two columns of a group. A pair with a null is ignored; in `fmeasure`, an error.

    `auc` takes scores and labels, or lists and truths, whose mean it is; `mae`, `mse` and the like take predictions and
    actual values; `fmeasure` and `f1score` actual and predicted labels: 1, 0 or -1, true or false, or an array each.
    """
    (left, right), k, options = _arguments(name, arguments)
    if k is not None:
        raise InputTypeError(f"{name} takes no k: it is one value for all rows of a group")
    if name in MEASURES and (is_list(left.type.value_type) or pa.types.is_map(left.type.value_type)):
        own = values(name, [left.flatten(), right.flatten()], convention)
        offsets = left.offsets.to_numpy() - left.offsets[0].as_py()
        return _quotients(offsets, pc.fill_null(own, 0), own.is_valid())
    if name == "fmeasure" and (left.flatten().null_count or right.flatten().null_count):
        raise InputError("fmeasure: a label is null")
    groups, left, right = _pairs(name, left, right)
    convention = _convention(name, convention)
    try:
        if ROWS[name] == "f":
            if pa.types.is_null(left.type) or pa.types.is_null(right.type):
                return pa.nulls(len(groups) - 1, pa.float64())
            numbers = _f(groups, left, right, convention, options).to_numpy()
            return pa.array(numbers, mask=np.diff(groups) == 0)  # no rows, no value
        predicted, actual = _numbers(left), _numbers(right)
        if name == "auc":
            actual = _labels_of(predicted, actual)
        plan = _plan(ROWS[name], convention, options)
        at = np.arange(len(actual))
        pair = ListPair(lists(at, grades=actual, offsets=groups), lists(at, scores=predicted, offsets=groups))
        numbers = measure(plan, pair.align(replace(plan.alignment, keep_zero_grades=True)).ranked).values
    except QueryError:
        raise InputError(f"{name}: all labels of a group are the same") from None
    if plan.choices["no_queries"] == 0:
        numbers = np.where(np.diff(groups) == 0, 0.0, numbers)
    return pa.array(numbers)


class Calls(Protocol):
    """Writes calls of functions."""

    def call(self, name: str, *arguments: Expression) -> Expression: ...
    def operator(self, sign: str, left: Expression, right: Expression) -> Expression: ...
    def constant(self, value: Constant) -> Expression: ...
    def raise_where(self, problem: str) -> Expression:
        """An expression that raises an error, or the error itself."""


class Writer(Calls, Protocol):
    """Also writes lists and maps."""

    def field(self, of: Expression, name: str) -> Expression: ...
    def function(self, names: Sequence[str], body: Callable[..., Expression]) -> Expression: ...
    def read(self, argument: Expression) -> Constant:
        """The value of a constant; None for other expressions."""


class MacroText:
    """Writes plain text, for the body of a macro."""

    def call(self, name: str, *arguments: str) -> str:
        return f"{name}({', '.join(arguments)})"

    def operator(self, sign: str, left: str, right: str) -> str:
        return f"({left} {sign} {right})"

    def constant(self, value: Constant) -> str:
        return "null::double" if value is None else f"{value!r}::double"

    def raise_where(self, problem: str) -> str:
        quoted = problem.replace("'", "''")
        return f"error('{quoted}')"


@dataclass(frozen=True, eq=False)
class Mean:
    """The mean over rows under a convention, from two sums; or why SQL cannot express it."""

    value: Value | None
    problem: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """The functions of one row that it reads."""
        return ("score", "top", "bottom") if "bottom" in self.form else ("score", "top")

    @property
    def form(self) -> str:
        """The mean as text; equal means have equal texts."""
        return str(self.write(MacroText(), "", ()))

    def write(self, to: Calls, name: str, arguments: Sequence[Expression]) -> Expression:
        """The mean as an expression."""
        if self.value is None:
            return to.raise_where(f"{name}: {self.problem}")
        return _written(self.value, to, lambda part: to.call(f"{name}_{part}", *arguments))


_CALLED = {"total": "sum", "average": "avg", "where": "if", "or_else": "coalesce"}


def _written(value: Value, to: Calls, part: Callable[[str], Expression]) -> Expression:
    """A term as an expression of the writer."""
    if value.op in ("top", "bottom"):
        return part(value.op)
    if value.op in ("number", "null"):
        return to.constant(value.number)
    arguments = [_written(argument, to, part) for argument in value.args]
    if value.op in ("=", "/"):
        return to.operator(value.op, *arguments)
    return to.call(_CALLED.get(value.op, value.op), *arguments)


# What an aggregate does not support.
AGGREGATED = Capabilities(
    one_list="a function reads one row at a time",
    weights="a function takes none",
    annotations="a function takes grades only",
    recommendations="a function takes one list and its truth",
    parts="a function has one value per row",
    digits="databases round halves in their own ways",
    otherwise="or use rs.evaluate",
)


@lru_cache(maxsize=512)
def mean_of(name: str, convention: str | Convention | None, options: str = "") -> Mean:
    """The convention's mean of a function; if the metric is not defined there, calling the function is an error."""
    try:
        plan = _plan(measures()[name], _convention(name, convention), options)
    except ValueError:
        tree = Tree()
        return Mean(tree.node("average", tree.node("top", kind="query"), kind="mean"))
    problem = unsupported([plan], AGGREGATED)
    return Mean(None, problem) if problem else _mean_of(plan)


on_declare.append(mean_of.cache_clear)


def _mean_of(plan: Plan) -> Mean:
    tree = Tree()
    top, bottom = (tree.node(part, kind="query") for part in ("top", "bottom"))
    finish = measure(plan, Dicts({}, {}).align(plan.alignment).ranked).finish
    divides = plan.averaging.divides
    below = tree.or_else(tree.total(bottom), 0.0) if divides else tree.count(top)
    try:
        return Mean(tree.of(mean_from(plan, Sums(tree.total(top), below, cast(Any, tree.count(top))), finish, tree)))
    except TypeError:  # a user-defined function after the division
        return Mean(None, "SQL has no such mean; use rs.evaluate")


def ends_at_k(plan: Plan) -> bool:
    """Whether items below the cutoff are never read: neither by the metric nor to check for repeated items."""
    whole = plan.arguments.get("ideal") == "retrieved" or plan.arguments.get("nonrelevant") == "list"
    whole = whole or plan.choices["unjudged"] != "nonrelevant" or plan.choices["duplicates"] not in ("count", "once")
    return plan.metric.declaration.ends_at_k and not whole


# -- arguments -----------------------------------------------------------------------------------------------


def _arguments(name: str, arguments: Sequence[Pieces]) -> tuple[tuple[pa.Array, pa.Array], pa.Array | None, str]:
    arrays = list(map(one_piece, arguments))
    options = ""
    if len(arrays) > 2 and is_text(arrays[-1].type):
        texts = pc.unique(arrays.pop()).to_pylist()
        if len(texts) > 1:
            raise InputError(f"{name}: the options must be the same in all rows, not {texts[0]!r} and {texts[1]!r}")
        options = (texts[0] if texts else "") or ""
    if not 2 <= len(arrays) <= 3:
        raise InputTypeError(
            f"{name} takes a list, its truth, and optionally k and options, not {len(arguments)} arguments"
        )
    return (arrays[0], arrays[1]), arrays[2] if len(arrays) > 2 else None, options


@lru_cache(maxsize=512)
def _plan(metric: str, convention: str | Convention, options: str) -> Plan:
    return _choose(metric, convention, parse_options(options))


def _choose(metric: str, convention: str | Convention, choices: dict[str, Any]) -> Plan:
    return plan_one(metric, choices.pop("convention", convention), choices)


def _plan_of(name: str, convention: str | Convention | None, options: str = "", *, cut: bool = False) -> Plan:
    """The plan of a metric by SQL name; cut: with a cutoff, whose value does not matter here."""
    return replace(_plan(measures()[name] + "@1" * cut, _convention(name, convention), options), label=name)


on_declare.append(_plan.cache_clear)


def planned(name: str, convention: str | Convention | None, *, cut: bool) -> Plan | None:
    """The plan of a metric by SQL name, with or without a cutoff; None if it is not defined."""
    if cut and not declared()[measures()[name]].takes_k:
        return None
    try:
        return _plan_of(name, convention, cut=cut)
    except ValueError:
        return None


def parse_options(text: str) -> dict[str, Any]:
    """`-convention trec_eval -threshold 2` as choices by name."""
    words = iter(shlex.split(text.replace("=", " ")))
    out: dict[str, Any] = {}
    for word in words:
        name = word.removeprefix("-")
        if word == name:
            raise InputError(f"options are written like '-convention trec_eval', and {text!r} has a bare {word!r}")
        value = next(words, None)
        if value is None:
            raise InputError(f"option {word} has no value")
        try:
            out[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            out[name] = value
    return out


def _depths(k: pa.Array, rec: pa.Array) -> int | Ints:
    """The cutoff of all rows, or one per row."""
    if not pa.types.is_integer(k.type):
        raise InputTypeError(f"k must be a whole number, not {k.type}")
    if k.null_count:
        at = int(np.argmax(k.is_null().to_numpy(zero_copy_only=False)))
        raise InputError(f"k is null for the list {_excerpt(rec[at])}; leave it out to use the whole list")
    ks = k.to_numpy().astype(np.int64, copy=False)
    if len(ks) and ks.min() < 1:
        at = int(ks.argmin())
        raise InputError(f"k must be a whole number from 1; for the list {_excerpt(rec[at])} it is {ks[at]}")
    return int(ks[0]) if len(ks) and (ks == ks[0]).all() else ks


def _excerpt(row: pa.Scalar, most: int = 5) -> str:
    """A list in an error message; only its first items if it is long."""
    items = row.as_py()
    if not isinstance(items, list) or len(items) <= most:
        return repr(items)
    return f"{repr(items[:most])[:-1]}, ...] of {len(items)} items"


# -- lists ---------------------------------------------------------------------------------------------------


def _first(lists: pa.Array, k: int | Ints) -> tuple[pa.Array, Ints | None]:
    """The first k items of each list and the lengths before; all items and None if that saves no work."""
    if not (pa.types.is_list(lists.type) or pa.types.is_large_list(lists.type)) or lists.null_count:
        return lists, None
    starts = lists.offsets.to_numpy().astype(np.int64)
    sizes = np.diff(starts)
    lengths = np.minimum(sizes, k)
    if 2 * lengths.sum() > sizes.sum():
        return lists, None
    ends = np.append(0, np.cumsum(lengths))
    at = np.arange(ends[-1]) + np.repeat(starts[:-1] - ends[:-1], lengths)
    return type(lists).from_arrays(pa.array(ends, lists.offsets.type), lists.values.take(pa.array(at))), sizes


def _source(rec: pa.Array, truth: pa.Array) -> ListPair:
    valid, rec, truth = rec.is_valid(), _without_nulls("rec", rec), _without_nulls("truth", truth)
    if not pa.types.is_map(rec.type) and pa.types.is_struct(rec.type.value_type):
        pair: ListPair = GradeLists(
            rec.offsets.to_numpy(),
            _numbers(rec.values.flatten()[0]),
            truth.offsets.to_numpy(),
            _numbers(truth.values),
        )
    else:
        pair = ListPair(_lists(truth, "grades"), _lists(rec, "scores"))
    if valid.null_count or not pc.all(valid).as_py():
        present = valid.to_numpy(zero_copy_only=False)
        pair.run_rows = np.where(present, np.arange(len(present)), -1)
    return pair


def _lists(column: pa.Array, values: str) -> Lists:
    if pa.types.is_map(column.type):
        scored = lists(column.keys, offsets=column.offsets.to_numpy(), **{values: _numbers(column.items)})
        return replace(scored, ordered=False)  # a map has no order
    return lists(column.values, offsets=column.offsets.to_numpy())


def _without_nulls(name: str, column: pa.Array) -> pa.Array:
    """The column with empty lists instead of nulls."""
    kind = column.type
    if pa.types.is_fixed_size_list(kind):
        column = column.cast(pa.large_list(kind.value_type))
    elif pa.types.is_null(kind):
        column = column.cast(pa.list_(pa.int64()))
    elif not (is_list(kind) or pa.types.is_map(kind)):
        raise InputTypeError(f"{name} is {kind}; it must be a list of items")
    if column.null_count:
        column = pc.if_else(column.is_valid(), column, pa.array([[]] * len(column), column.type))
    return column


def _numbers(values: pa.Array) -> Floats:
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
    if not any(fits(values.type) for fits in kinds):
        raise InputTypeError(f"{values.type} is not a numeric type")
    if values.null_count:
        raise InputError("a grade or a score is null")
    return values.cast(pa.float64()).to_numpy()


# -- rows ----------------------------------------------------------------------------------------------------


def _pairs(name: str, left: pa.Array, right: pa.Array) -> tuple[Ints, pa.Array, pa.Array]:
    """Offsets of the groups, and the values of both columns without pairs that contain a null."""
    left, right = _without_nulls(name, left), _without_nulls(name, right)
    offsets = left.offsets.to_numpy() - left.offsets[0].as_py()
    if (np.diff(right.offsets.to_numpy()) != np.diff(offsets)).any():
        raise InputError(f"{name}: the two lists of a row differ in length")
    left, right = left.flatten(), right.flatten()
    both = pc.and_(left.is_valid(), right.is_valid())
    if not pc.all(both).as_py():
        before = np.concatenate([[0], np.cumsum(both.to_numpy(zero_copy_only=False))])
        offsets, left, right = before[offsets], left.filter(both), right.filter(both)
    return offsets, left, right


def _quotients(offsets: Ints, top: Floats, bottom: Floats) -> pa.Array:
    """Per group, the sum of the numerators divided by that of the denominators; 0 if the latter is 0."""
    tops, bottoms = (np.diff(np.append(0.0, np.cumsum(part))[offsets]) for part in (top, bottom))
    return pa.array(np.divide(tops, bottoms, out=np.zeros_like(tops), where=bottoms != 0))


def _labels_of(scores: Floats, labels: Floats) -> Floats:
    if len(scores) and not (scores.min() >= 0 and scores.max() <= 1):
        raise InputError(f"score {scores[(scores < 0) | (scores > 1)][0]:g} is not a probability, between 0 and 1")
    _check_labels(labels)
    return np.maximum(labels, 0.0)


def _check_labels(labels: Floats | Ints) -> None:
    odd = ~np.isin(labels, (1, 0, -1))
    if odd.any():
        raise InputError(f"label {labels[odd][0]:g} is not 1, 0 or -1")


def _f(groups: Ints, actual: pa.Array, predicted: pa.Array, convention: str | Convention, options: str) -> pa.Array:
    """F of all rows of each group."""
    choices = parse_options(options)
    average = choices.pop("average", "micro")
    if average not in ("micro", "binary"):
        raise InputError(f"-average {average} is not supported; choose micro or binary")
    if _kind(actual) != _kind(predicted):
        raise InputTypeError(
            f"actual labels are {actual.type} and predicted ones {predicted.type}; use the same type for both"
        )
    plan = _choose("f", convention, choices)
    pair = ListPair(_label_lists(actual, average), _label_lists(predicted, average))
    ratio = measure(plan, pair.align(plan.alignment).ranked).ratio
    return _quotients(groups, ratio.numerator, ratio.denominator)


def _kind(labels: pa.Array) -> str:
    return "bool" if pa.types.is_boolean(labels.type) else "number" if pa.types.is_integer(labels.type) else "list"


def _label_lists(labels: pa.Array, average: str) -> Lists:
    if is_list(labels.type):
        if average == "binary":
            raise InputError("-average binary takes one label per row, not lists")
        return lists(labels)
    if pa.types.is_boolean(labels.type):
        labels = labels.cast(pa.int8())
    if not pa.types.is_integer(labels.type):
        raise InputTypeError(f"labels must be lists, 1, 0 or -1, or true or false, not {labels.type}")
    numbers = labels.to_numpy()
    _check_labels(numbers)
    positive = numbers == 1
    if average == "binary":
        return lists(np.ones(positive.sum(), dtype=np.int64), offsets=np.append(0, np.cumsum(positive)))
    return lists(positive.astype(np.int64), offsets=np.arange(len(positive) + 1))
