"""The SQL functions, whichever engine calls them: Arrow arrays in, one number a row out."""

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
from rankstone.conventions.plan import Capabilities, Plan, check_supported, make_plans, unsupported
from rankstone.data.arrow import Pieces, is_list, is_text, one_piece
from rankstone.data.dicts import Dicts
from rankstone.data.lists import GradeLists, ListPair, Lists, lists
from rankstone.errors import QueryError
from rankstone.evaluate.checks import refuse_ungraded
from rankstone.evaluate.means import Sums, mean_from, shares_of
from rankstone.evaluate.values import Measured, measure
from rankstone.metrics.registry import declared, on_declare
from rankstone.program.sql import Term as Value
from rankstone.program.sql import Tree

if TYPE_CHECKING:
    import py4j.java_gateway
    import sqlglot

# "avg(x)", sqlglot.parse_one("avg(x)"), or an object of Spark's
Expression: TypeAlias = "str | sqlglot.Expression | py4j.java_gateway.JavaObject"
Arguments = Sequence[Expression]
Constant = str | float | bool | None  # "a", 1, 0.5, True

GRADED_ROWS = Capabilities(
    all_queries="a function sees some of the rows at a time",
    notes="a function is given grades alone",
    shown="a function is given one list and its truth",
    otherwise="as in '-max_grade 4'",
)

# Measures of a row that holds a list and its truth. As an aggregate, each is the mean over the rows.
MEASURES: Mapping[str, str] = {
    "recall_at": "recall",
    "precision_at": "precision",
    "average_precision": "ap",
    "auc": "auc",
    "mrr": "rr",
    "ndcg": "ndcg",
    "hitrate": "hit_rate",
}
# Measures of rows that hold one prediction each. As an aggregate, each is one number for all rows together.
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
    """Every measure of a list by its SQL name: the usual ones, and each metric there is as `rs_<metric>`."""
    return {**MEASURES, **{f"rs_{name}": name for name in declared()}}


def _convention(name: str, given: str | Convention | None) -> str | Convention:
    """Whose definitions a function follows: Hivemall's own names Hivemall's, if nothing else is said."""
    return given or ("rankstone" if name.startswith("rs_") else "hivemall")


def values(name: str, arguments: Sequence[Pieces], convention: str | Convention | None = None) -> pa.Array:
    """A metric of each row of (rec, truth[, k][, options]); null where a row does not count.

    rec: items, best first; a map of items to scores; or, where the truth is grades alone, structs that begin with the
    item's grade. truth: the relevant items; a map of items to grades; or grades, best first. A null rec is a query that
    the run does not have; a row with a null truth does not count. options: a text such as
    `-convention trec_eval -threshold 2`.
    """
    _, found, judged = _measured(name, arguments, convention)
    return pa.array(found.values, mask=~(judged if found.counted is None else judged & found.counted))


def _share(part: int, name: str, arguments: Sequence[Pieces], convention: str | Convention | None = None) -> pa.Array:
    """What each row adds to one of the two sums of the mean; null where it does not count."""
    plan, found, judged = _measured(name, arguments, convention)
    rule, own = mean_of(name, convention), mean_of(name, convention, _arguments(name, arguments)[2])
    if rule.form != own.form:
        raise ValueError(
            f"{name} was made known with another mean, which options cannot change to {plan.choices['averaging']!r}: "
            "connect or register with a convention that has it, or use rs.evaluate"
        )
    *shares, kept = shares_of(plan, found)
    return pa.array(shares[part], mask=~(judged & kept))


KERNELS: Mapping[str, Callable[..., pa.Array]] = {
    "score": values,
    "top": partial(_share, 0),
    "bottom": partial(_share, 1),
}


def _measured(
    name: str, arguments: Sequence[Pieces], convention: str | Convention | None
) -> tuple[Plan, Measured, Bools]:
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
        refuse_ungraded(plan, aligned.graded)
        ranked = aligned.ranked
        found = measure(plan, ranked if sizes is None else ranked.replace(retrieved=sizes))
    except QueryError as error:
        raise ValueError(f"{name}: {error.problem} with the truth {_shown(truth[error.number])}") from None
    return plan, found, truth.is_valid().to_numpy(zero_copy_only=False)


def of_rows(name: str, arguments: Sequence[Pieces], convention: str | Convention | None = None) -> pa.Array:
    """One number for each row of two lists, which hold what the rows of a group had. A pair with a null is left out;
    in `fmeasure` it is an error.

    `auc` takes scores and labels, or lists and truths, of which it gives the mean; `mae` and its kin predictions and
    actual values; `fmeasure` and `f1score` actual and predicted labels: 1, 0 or -1, true or false, or an array each.
    """
    (left, right), k, options = _arguments(name, arguments)
    if k is not None:
        raise TypeError(f"{name} takes no k: it measures all rows of a group together")
    if name in MEASURES and (is_list(left.type.value_type) or pa.types.is_map(left.type.value_type)):
        own = values(name, [left.flatten(), right.flatten()], convention)
        offsets = left.offsets.to_numpy() - left.offsets[0].as_py()
        return _quotients(offsets, pc.fill_null(own, 0), own.is_valid())
    if name == "fmeasure" and (left.flatten().null_count or right.flatten().null_count):
        raise ValueError("fmeasure: a label is null")
    groups, left, right = _pairs(name, left, right)
    convention = _convention(name, convention)
    try:
        if ROWS[name] == "f":
            return _f(groups, left, right, convention, options)
        predicted, actual = _numbers(left), _numbers(right)
        if name == "auc":
            actual = _labels_of(predicted, actual)
        plan = _plan(ROWS[name], convention, options)
        at = np.arange(len(actual))
        pair = ListPair(lists(at, grades=actual, offsets=groups), lists(at, scores=predicted, offsets=groups))
        found = measure(plan, pair.align(replace(plan.alignment, zeros=True)).ranked).values
    except QueryError:
        raise ValueError(f"{name}: all labels of a group are the same") from None
    if plan.choices["no_queries"] == 0:
        found = np.where(np.diff(groups) == 0, 0.0, found)
    return pa.array(found)


class Calls(Protocol):
    """Writes calls of functions."""

    def call(self, name: str, *arguments: Expression) -> Expression: ...
    def operator(self, sign: str, left: Expression, right: Expression) -> Expression: ...
    def constant(self, value: Constant) -> Expression: ...
    def refuse(self, problem: str) -> Expression:
        """An expression that is an error, or the error itself."""


class Writer(Calls, Protocol):
    """Writes lists and maps, too."""

    def field(self, of: Expression, name: str) -> Expression: ...
    def function(self, names: Sequence[str], body: Callable[..., Expression]) -> Expression: ...
    def read(self, argument: Expression) -> Constant:
        """The value of a constant; None for anything else."""


class Text:
    """Writes plain text, for the body of a macro."""

    def call(self, name: str, *arguments: str) -> str:
        return f"{name}({', '.join(arguments)})"

    def operator(self, sign: str, left: str, right: str) -> str:
        return f"({left} {sign} {right})"

    def constant(self, value: Constant) -> str:
        return "null::double" if value is None else f"{value!r}::double"

    def refuse(self, problem: str) -> str:
        quoted = problem.replace("'", "''")
        return f"error('{quoted}')"


@dataclass(frozen=True, eq=False)
class Mean:
    """How a convention makes the mean of a measure's rows, of what each adds to its sums; or why SQL cannot say it."""

    value: Value | None
    problem: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """The functions of one row that it needs, and the value itself."""
        return ("score", "top", "bottom") if "bottom" in self.form else ("score", "top")

    @property
    def form(self) -> str:
        """Two means that read the same are the same."""
        return str(self.write(Text(), "", ()))

    def write(self, to: Calls, name: str, arguments: Sequence[Expression]) -> Expression:
        """The mean as an expression."""
        if self.value is None:
            return to.refuse(f"{name}: {self.problem}")
        return _written(self.value, to, lambda part: to.call(f"{name}_{part}", *arguments))


_CALLED = {"total": "sum", "average": "avg", "where": "if", "or_else": "coalesce"}


def _written(value: Value, to: Calls, part: Callable[[str], Expression]) -> Expression:
    """An expression by who writes expressions."""
    if value.op in ("top", "bottom"):
        return part(value.op)
    if value.op in ("number", "null"):
        return to.constant(value.number)
    arguments = [_written(argument, to, part) for argument in value.args]
    if value.op in ("=", "/"):
        return to.operator(value.op, *arguments)
    return to.call(_CALLED.get(value.op, value.op), *arguments)


# What an aggregate cannot know.
AGGREGATED = Capabilities(
    one_list="a function sees one row at a time",
    weights="a function is given none",
    notes="a function is given grades alone",
    shown="a function is given one list and its truth",
    parts="a function has one value a row",
    digits="databases round halves in their own ways",
    otherwise="or use rs.evaluate",
)


@lru_cache(maxsize=512)
def mean_of(name: str, convention: str | Convention | None, options: str = "") -> Mean:
    """The convention's mean of a function; where it has no such metric, calling the function says so."""
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
    except TypeError:  # a function of the user's own after the division
        return Mean(None, "SQL has no such mean; use rs.evaluate")


def ends_at_k(plan: Plan) -> bool:
    """Is what lies below a cutoff never looked at: neither by the metric, nor for an item that comes twice."""
    whole = plan.arguments.get("ideal") == "retrieved" or plan.arguments.get("nonrelevant") == "list"
    whole = whole or plan.choices["known"] != "truth" or plan.choices["duplicates"] not in ("count", "once")
    return plan.metric.declaration.ends_at_k and not whole


# -- arguments -----------------------------------------------------------------------------------------------


def _arguments(name: str, arguments: Sequence[Pieces]) -> tuple[tuple[pa.Array, pa.Array], pa.Array | None, str]:
    arrays = list(map(one_piece, arguments))
    options = ""
    if len(arrays) > 2 and is_text(arrays[-1].type):
        texts = pc.unique(arrays.pop()).to_pylist()
        if len(texts) > 1:
            raise ValueError(f"{name}: the options must be the same in all rows, not {texts[0]!r} and {texts[1]!r}")
        options = (texts[0] if texts else "") or ""
    if not 2 <= len(arrays) <= 3:
        raise TypeError(
            f"{name} takes a list, its truth, and maybe k and a text of options, not {len(arguments)} arguments"
        )
    return (arrays[0], arrays[1]), arrays[2] if len(arrays) > 2 else None, options


@lru_cache(maxsize=512)
def _plan(metric: str, convention: str | Convention, options: str) -> Plan:
    return _choose(metric, convention, parse_options(options))


def _choose(metric: str, convention: str | Convention, choices: dict[str, Any]) -> Plan:
    return make_plans(metric, choices.pop("convention", convention), choices)[0]


def _plan_of(name: str, convention: str | Convention | None, options: str = "", *, cut: bool = False) -> Plan:
    """The plan of a measure by its SQL name; cut: with some cutoff, as any will do to make the choices."""
    return replace(_plan(measures()[name] + "@1" * cut, _convention(name, convention), options), label=name)


on_declare.append(_plan.cache_clear)


def planned(name: str, convention: str | Convention | None, *, cut: bool) -> Plan | None:
    """The plan of a measure by its SQL name, with some cutoff or without any; None if there is no such number."""
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
            raise ValueError(f"options are written like '-convention trec_eval', and {text!r} has a bare {word!r}")
        value = next(words, None)
        if value is None:
            raise ValueError(f"option {word} has no value")
        try:
            out[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            out[name] = value
    return out


def _depths(k: pa.Array, rec: pa.Array) -> int | Ints:
    """The cutoff of all rows, or one a row."""
    if not pa.types.is_integer(k.type):
        raise TypeError(f"k must be a whole number, not {k.type}")
    if k.null_count:
        at = int(np.argmax(k.is_null().to_numpy(zero_copy_only=False)))
        raise ValueError(f"k is null beside the list {_shown(rec[at])}; leave it out to use the whole list")
    ks = k.to_numpy().astype(np.int64, copy=False)
    if len(ks) and ks.min() < 1:
        at = int(ks.argmin())
        raise ValueError(f"k must be a whole number from 1; beside the list {_shown(rec[at])} it is {ks[at]}")
    return int(ks[0]) if len(ks) and (ks == ks[0]).all() else ks


def _shown(row: pa.Scalar, most: int = 5) -> str:
    """A list for an error, its first items if it is long."""
    items = row.as_py()
    if not isinstance(items, list) or len(items) <= most:
        return repr(items)
    return f"{repr(items[:most])[:-1]}, ...] of {len(items)} items"


# -- lists ---------------------------------------------------------------------------------------------------


def _first(lists: pa.Array, k: int | Ints) -> tuple[pa.Array, Ints | None]:
    """The first k items of each list, and how long the lists were; all, and nothing, where that saves no work."""
    if not (pa.types.is_list(lists.type) or pa.types.is_large_list(lists.type)) or lists.null_count:
        return lists, None
    starts = lists.offsets.to_numpy().astype(np.int64)
    sizes = np.diff(starts)
    kept = np.minimum(sizes, k)
    if 2 * kept.sum() > sizes.sum():
        return lists, None
    ends = np.append(0, np.cumsum(kept))
    at = np.arange(ends[-1]) + np.repeat(starts[:-1] - ends[:-1], kept)
    return type(lists).from_arrays(pa.array(ends, lists.offsets.type), lists.values.take(pa.array(at))), sizes


def _source(rec: pa.Array, truth: pa.Array) -> ListPair:
    given, rec, truth = rec.is_valid(), _without_nulls("rec", rec), _without_nulls("truth", truth)
    if not pa.types.is_map(rec.type) and pa.types.is_struct(rec.type.value_type):
        pair: ListPair = GradeLists(
            rec.offsets.to_numpy(),
            _numbers(rec.values.flatten()[0]),
            truth.offsets.to_numpy(),
            _numbers(truth.values),
        )
    else:
        pair = ListPair(_lists(truth, "grades"), _lists(rec, "scores"))
    if given.null_count or not pc.all(given).as_py():
        there = given.to_numpy(zero_copy_only=False)
        pair.run_rows = np.where(there, np.arange(len(there)), -1)
    return pair


def _lists(column: pa.Array, values: str) -> Lists:
    if pa.types.is_map(column.type):
        made = lists(column.keys, offsets=column.offsets.to_numpy(), **{values: _numbers(column.items)})
        return replace(made, ordered=False)  # a map has no order
    return lists(column.values, offsets=column.offsets.to_numpy())


def _without_nulls(name: str, column: pa.Array) -> pa.Array:
    """The same with an empty list where there is none."""
    kind = column.type
    if pa.types.is_fixed_size_list(kind):
        column = column.cast(pa.large_list(kind.value_type))
    elif pa.types.is_null(kind):
        column = column.cast(pa.list_(pa.int64()))
    elif not (is_list(kind) or pa.types.is_map(kind)):
        raise TypeError(f"{name} is {kind}; it must be a list of items")
    if column.null_count:
        column = pc.if_else(column.is_valid(), column, pa.array([[]] * len(column), column.type))
    return column


def _numbers(values: pa.Array) -> Floats:
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
    if not any(fits(values.type) for fits in kinds):
        raise TypeError(f"{values.type} are no numbers")
    if values.null_count:
        raise ValueError("a grade or a score is null")
    return values.cast(pa.float64()).to_numpy()


# -- rows ----------------------------------------------------------------------------------------------------


def _pairs(name: str, left: pa.Array, right: pa.Array) -> tuple[Ints, pa.Array, pa.Array]:
    """Where each group starts, and what its rows hold on either side, pairs with a null left out."""
    left, right = _without_nulls(name, left), _without_nulls(name, right)
    offsets = left.offsets.to_numpy() - left.offsets[0].as_py()
    if (np.diff(right.offsets.to_numpy()) != np.diff(offsets)).any():
        raise ValueError(f"{name}: the two lists of a row differ in length")
    left, right = left.flatten(), right.flatten()
    both = pc.and_(left.is_valid(), right.is_valid())
    if not pc.all(both).as_py():
        before = np.concatenate([[0], np.cumsum(both.to_numpy(zero_copy_only=False))])
        offsets, left, right = before[offsets], left.filter(both), right.filter(both)
    return offsets, left, right


def _quotients(offsets: Ints, top: Floats, bottom: Floats) -> pa.Array:
    """The sum of each group's tops over that of its bottoms; 0 where this is 0."""
    tops, bottoms = (np.diff(np.append(0.0, np.cumsum(part))[offsets]) for part in (top, bottom))
    return pa.array(np.divide(tops, bottoms, out=np.zeros_like(tops), where=bottoms != 0))


def _labels_of(scores: Floats, labels: Floats) -> Floats:
    if len(scores) and not (scores.min() >= 0 and scores.max() <= 1):
        raise ValueError(f"score {scores[(scores < 0) | (scores > 1)][0]:g} is not a probability, between 0 and 1")
    _refuse_labels(labels)
    return np.maximum(labels, 0.0)


def _refuse_labels(labels: Floats | Ints) -> None:
    odd = ~np.isin(labels, (1, 0, -1))
    if odd.any():
        raise ValueError(f"label {labels[odd][0]:g} is not 1, 0 or -1")


def _f(groups: Ints, actual: pa.Array, predicted: pa.Array, convention: str | Convention, options: str) -> pa.Array:
    """F of all rows of each group together."""
    choices = parse_options(options)
    average = choices.pop("average", "micro")
    if average not in ("micro", "binary"):
        raise ValueError(f"-average {average} is not supported; choose micro or binary")
    if _kind(actual) != _kind(predicted):
        raise TypeError(f"actual labels are {actual.type} and predicted ones {predicted.type}; give one kind of both")
    plan = _choose("f", convention, choices)
    pair = ListPair(_label_lists(actual, average), _label_lists(predicted, average))
    ratio = measure(plan, pair.align(plan.alignment).ranked).ratio
    return _quotients(groups, ratio.numerator, ratio.denominator)


def _kind(labels: pa.Array) -> str:
    return "bool" if pa.types.is_boolean(labels.type) else "number" if pa.types.is_integer(labels.type) else "list"


def _label_lists(labels: pa.Array, average: str) -> Lists:
    if is_list(labels.type):
        if average == "binary":
            raise ValueError("-average binary takes one label a row, not lists")
        return lists(labels)
    if pa.types.is_boolean(labels.type):
        labels = labels.cast(pa.int8())
    if not pa.types.is_integer(labels.type):
        raise TypeError(f"labels must be lists, 1, 0 or -1, or true or false, not {labels.type}")
    numbers = labels.to_numpy()
    _refuse_labels(numbers)
    positive = numbers == 1
    if average == "binary":
        return lists(np.ones(positive.sum(), dtype=np.int64), offsets=np.append(0, np.cumsum(positive)))
    return lists(positive.astype(np.int64), offsets=np.arange(len(positive) + 1))
