"""`rs.sql.text`: metrics as one SQL statement, in many dialects, for databases without Python; and as dbt macros."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from rankstone.align.ties import TIES
from rankstone.conventions.convention import Convention, find_convention
from rankstone.conventions.plan import (
    DEFAULT_METRICS,
    Capabilities,
    Plan,
    alignments,
    check_supported,
    common_relevance_rule,
    make_plans,
    unsupported,
)
from rankstone.data.roles import SEPARATOR
from rankstone.errors import InputError
from rankstone.evaluate.checks import require_grades
from rankstone.evaluate.means import Sums, as_one, mean_from, parts_of
from rankstone.evaluate.values import MetricValues, apply, counted_of, extreme_for, ratio_of, values_of, view_for
from rankstone.metrics.registry import declared
from rankstone.program.graph import Expression, Fault
from rankstone.program.ranking import Ratio
from rankstone.program.sql_terms import HUGE, Tables, Term, Tree
from rankstone.results.definition import common_origin, definition_of
from rankstone.sql.dialects import Dialect, find_dialect
from rankstone.sql.expressions import Step, indented, outermost, select, statement
from rankstone.sql.statement import At, Statement
from rankstone.sql.table_sources import How, Side, column_of, side_of, source_of
from rankstone.version import __version__

if TYPE_CHECKING:
    from rankstone.metrics.registry import Value
    from rankstone.typing import ColumnRoles, Metrics

# Counts of queries.
_COUNTS = ("judged", "missing", "nothing_relevant", "tied", "extra")
_NO_ORDER = "rows of a table have no order"


def text(
    metrics: Metrics = DEFAULT_METRICS,
    truth: str = "judgments",
    run: str = "results",
    dialect: str = "duckdb",
    *,
    convention: str | Convention = "rankstone",
    columns: ColumnRoles | None = None,
    lists: bool | Literal["truth", "run"] = False,
    per_query: bool = False,
    by: str | Sequence[str] | None = None,
    weights: str | None = None,
    account: bool = False,
    ids: Literal["text", "integer"] | None = None,
    **choices: Value,
) -> str:
    """Metrics as one SQL statement that computes the same values as `rs.evaluate`.

    Parameters
    ----------
    metrics : str, Metric or sequence of these
        Metrics, as for `evaluate`.
    truth : str, default "judgments"
        Table or query with one row per judged item: query, item, grade.
    run : str, default "results"
        Table or query with one row per returned item: query, item, and score or rank.
    dialect : str, default "duckdb"
        SQL dialect: "spark", "postgres", "bigquery", "snowflake" and others.
    convention : str or Convention, default "rankstone"
        Convention of the metrics.
    columns : mapping, optional
        Column names by role: `{"query": "user_id"}`, or `{"truth": {...}, "run": {...}}`. With `{"grade": None}`, all
        items of the truth are relevant. With `{"query": ["user", "week"]}`, a query is a user in a week: `u1|7`.
    lists : bool, "truth" or "run", default False
        Which of the two tables have one row per query, with a list of items.
    per_query : bool, default False
        One row per query instead of the means.
    by : str or sequence of str, optional
        Columns of the truth that group the queries.
    weights : str, optional
        Table or query with the columns query and weight.
    account : bool, default False
        Add the number of queries that are judged, missing, without relevant items, affected by ties, and extra.
    ids : "text" or "integer", optional
        Type of the ids, for databases that do not compare strings by bytes.
    **choices
        Choices that replace those of the convention.

    Returns
    -------
    str
        The statement, with the definitions as comments.

    Raises
    ------
    ValueError
        If SQL cannot express a metric or a choice.

    Examples
    --------
    >>> print(rs.sql.text("rr@10", truth="judgments", run="results").splitlines()[0])
    -- rankstone 0.1.0, convention rankstone
    """
    if weights is not None and choices.setdefault("averaging", "weighted") != "weighted":
        raise InputError(f"weights= go with averaging='weighted', not with {choices['averaging']!r}")
    plans = make_plans(metrics, convention, choices)
    alignments(plans)
    to = find_dialect(dialect)
    for word, value, allowed in (
        ("lists", lists, (True, False, "truth", "run")),
        ("ids", ids, (None, "text", "integer")),
    ):
        if value not in allowed:
            raise InputError(f"{word}={value!r}; choose from {', '.join(map(repr, allowed))}")
    opened = {side: lists is True or lists == side for side in ("truth", "run")}
    sides = {side: side_of(side, table, columns, opened[side], to) for side, table in (("truth", truth), ("run", run))}
    check_supported(plans, capabilities_of(sides, weights, to))
    for plan in plans:
        require_grades(plan, sides["truth"].value is not None)
    grouped = [by] if isinstance(by, str) else list(by or ())
    named = find_convention(convention).with_choices(**choices)
    try:
        return written(Request(plans, named, to, sides, per_query, grouped, weights, account, ids))
    except RecursionError:
        raise InputError("a metric has too many nested operations for SQL; use rs.evaluate") from None


class Request(NamedTuple):
    """Contents of a statement."""

    plans: Sequence[Plan]
    convention: Convention
    dialect: Dialect
    sides: Mapping[str, Side]
    per_query: bool = False
    by: Sequence[str] = ()
    weights: str | None = None
    account: bool = False
    ids: str | None = None


def written(request: Request) -> str:
    """The statement of a request."""
    writing = _Writing(request)
    definitions = [definition_of(plan, request.convention) for plan in request.plans]
    head = [common_origin(definitions), ""]
    for definition, name in zip(definitions, writing.names.values(), strict=True):
        text = " ".join("; ".join([definition.formula, *definition.rules, *definition.edge_cases]).split())
        called = name if name == definition.metric else f"{name}, {definition.metric}"
        head += textwrap.wrap(f"{called}: {text}", 116, subsequent_indent="  ")
    return statement(head, *writing.parts())


def capabilities_of(sides: Mapping[str, Side], weights: str | None, to: Dialect) -> Capabilities:
    """What tables in a database do not support."""
    lists = {name: "" if side.lists else _NO_ORDER for name, side in sides.items()}
    return Capabilities(
        row_order=lists["run"],
        ties_order="" if sides["run"].lists or sides["run"].value == "rank" else _NO_ORDER,
        truth_order=lists["truth"],
        weights="" if weights else "pass weights=, a table with query and weight",
        agreement="SQL cannot express it",
        recommendations="SQL cannot express it",
        annotations="SQL cannot express it",
        digits="databases round halves in their own ways",
        query_thresholds="SQL cannot express it",
        repeats="SQL cannot express it",
        float32="" if to.single or sides["run"].value != "score" else f"{to.name} has no such numbers",
        otherwise="or use rs.evaluate",
    )


class MetricTerms(NamedTuple):
    """A metric per query: its ratio as expressions, its values as terms."""

    view: Tables
    ratio: Ratio
    expressions: tuple[Expression, Expression | None]  # of the values, and of which queries are averaged (None: all)
    values: Term  # null if a query is not averaged
    counted: Term  # whether it is


def values_and_ratio(plan: Plan, aligned: Tables) -> MetricTerms:
    """A metric of tables."""
    view = view_for(plan, aligned)
    ranking, graph = view.ranking, view.graph
    ratio = ratio_of(plan, ranking).map(graph.of)
    values, counted = values_of(plan, ranking, ratio, counted_of(plan, ranking))
    terms = view.term(values), view.tree.of(True) if counted is None else view.condition(counted)
    view.faults()
    return MetricTerms(view, ratio, (graph.of(values), counted), *terms)


def mean_of_values(plan: Plan, tree: Tree, terms: MetricTerms, weighted: bool) -> Term:
    """The mean over queries, by the plan's averaging."""
    view, counted = terms.view, terms.counted
    measured = MetricValues(cast(Any, view), terms.ratio, *cast(Any, terms.expressions))
    weight = view.graph.node("weight", kind="query") if weighted else None
    parts = [view.term(part) for part in parts_of(plan, measured, weight) if part is not None]
    view.faults()
    simplified = [tree.given(counted, True, part) for part in parts]
    averaged = [tree.where(counted, part, math.nan) for part in simplified]
    totals = [_total(tree, counted, *pair) for pair in zip(averaged, simplified, strict=True)]
    queries = tree.count(counted if simplified[0].nullable else averaged[0])
    sums = Sums(totals[0], totals[1] if len(totals) > 1 else queries, cast(Any, queries))
    return tree.of(mean_from(plan, sums, terms.ratio.finish, tree))


def mean_of_rows(plan: Plan, tree: Tree, terms: MetricTerms) -> Term:
    """The metric of the rows of all queries as one list."""
    view = terms.view
    if plan.metric.declaration.kind in ("ranking", "count"):
        ranking = view.ranking
        ranking.raise_where(ranking.retrieved > ranking.placed, "averaging='one_list' needs a grade for every row")
        view.faults()
    whole = as_one(plan, view, lambda plan, view: view.as_one_list())
    assert whole is not None  # None is for ranges over orders of tied items
    ratio = apply(plan, whole.ranking)
    sides = whole.term(ratio.numerator), whole.term(ratio.denominator)
    whole.faults()
    sums = Sums(*sides, cast(Any, tree.count(terms.counted)))
    return tree.of(mean_from(plan, sums, terms.ratio.finish, tree))


def _total(tree: Tree, counted: Term, part: Term, simplified: Term) -> Term:
    """A sum over queries; null if a query that is averaged has no value, as NaN makes a sum NaN."""
    total = tree.total(part)
    if not simplified.nullable:
        return total
    lost = tree.count(tree.both(counted, tree.negated(tree.known_(part))))
    return tree.where(lost == 0, total, math.nan)


class _Writing:
    """The parts of a statement, from plans."""

    def __init__(self, request: Request) -> None:
        self.request, self.plans, self.sides = request, request.plans, request.sides
        dialect, by = request.dialect, request.by
        self.weights = None if request.weights is None else source_of("weights", request.weights, dialect)
        extra = self.plans[0].choices["extra"] == "zero"
        self.to = Statement(dialect, self.sides["truth"], self.sides["run"], extra=extra, ids=request.ids)
        self.to.taken(*(_COUNTS if request.account else ()), *by)
        self.groups = {self.to.unique(f"group_{at + 1}"): column_of(name, dialect) for at, name in enumerate(by)}
        self.tree: Tree = self.to.tree
        self.names = {plan.label: self.to.unique(plan.label.replace("'", "")) for plan in self.plans}
        self.values: dict[str, Term] = {}
        self.means: dict[str, Term] = {}
        self.faults: list[tuple[str, Fault]] = []
        self.views: dict[How, Tables] = {}
        for plan in self.plans:
            self._measure(plan)

    # -- expressions -----------------------------------------------------------------------------------------

    def _view(self, plan: Plan) -> Tables:
        """The ranking that a plan reads."""
        choices, run = plan.choices, self.sides["run"]
        rule = TIES[choices["ties"]]
        order = rule.name if rule.by else "item_desc"
        single = choices["score_precision"] == "float32" and run.value == "score"
        if rule.by == "input" and not (run.lists and run.value):  # there are no ties
            order = "item_desc"
        judged = choices["unjudged"] == "condensed"
        how = How(order, single, choices["duplicates"], choices["truth_duplicates"], judged)
        if how not in self.views:
            suffix = f"_v{len(self.views) + 1}" if self.views else ""  # placed_items_2 is a step of placed_items
            self.to.hows[suffix] = how
            self.views[how] = Tables(
                self.tree,
                suffix,
                scored=run.value == "score",
                ordered_truth=self.sides["truth"].lists,
                ordered_grades=self.sides["truth"].lists and self.sides["truth"].value is not None,
            )
        return self.views[how]

    def _measure(self, plan: Plan) -> None:
        if plan.choices["nonpositive_score"] == "miss" and self.sides["run"].value == "rank":
            raise InputError(
                f"{plan.label}: nonpositive_score='miss' needs scores, and the run has ranks; choose count"
            )
        terms = values_and_ratio(plan, self._view(plan))
        self.values[plan.label] = terms.values
        if plan.averaging.pooled:
            if self.groups:
                raise InputError(f"{plan.label}: averaging='one_list' does not group queries; leave out by=")
            if self.sides["run"].value is None:
                raise InputError(f"{plan.label}: averaging='one_list' needs scores, and the run has none")
            self.means[plan.label] = mean_of_rows(plan, self.tree, terms)
        else:
            self.means[plan.label] = mean_of_values(plan, self.tree, terms, self.weights is not None)
        self.faults += [(plan.label, fault) for fault in self.tree.faults]
        self.tree.faults.clear()

    # -- text ------------------------------------------------------------------------------------------------

    def parts(self) -> tuple[list[Step], str]:
        """The steps of the statement, and its final select."""
        to, (per_query, account) = self.to, (self.request.per_query, self.request.account)
        columns = {value: self.names[label] for label, value in self.values.items()}
        if not per_query:
            read = _inside(self.means.values())
            columns = {value: columns.get(value) or to.unique(value.name or "part") for value in read}
        counts = self._counts() if account else {}
        conditions = [fault.condition for _, fault in self.faults]
        values = [fault.value for _, fault in self.faults if fault.value is not None]
        everything = [*columns, *self.means.values(), *counts.values(), *conditions, *values]
        to.share(everything)
        for value in everything:
            to.visit(value)
        for suffix in to.hows:  # at least for the queries
            to.used(self.tree.items("judged", suffix))
        leaves = to.leaves([*columns, *self.means.values(), *counts.values(), *conditions])
        parts = to.parts()
        problems = [
            *self._problems(),
            *self._problems_of_queries(),
            *self._faults(columns),
        ]  # before the steps, since it may need more columns
        own, more, joins = self._groups_and_weights()
        steps = [*to.steps(), to.queries(), to.query_sides(), *own, to.query_sums(leaves, more, joins), *parts]
        at = At(to, values=to.named_parts)
        selected = ["query", *self.groups, *(f"{to.write(value, at)} as {name}" for value, name in columns.items())]
        selected += [f"{to.write(self.tree.where(value, 1.0, 0.0), at)} as {name}" for name, value in counts.items()]
        body = f"{select(selected)}\nfrom {to.per_query}"
        steps.append(Step(to.step("query_values"), "the values of each query", body))
        steps.append(Step(to.step("problems"), "data that would give a wrong number", "\nunion all\n".join(problems)))
        fail = self.request.dialect.fail.format("min(problem)")
        body = f"select case when count(*) > 0 then {fail} end as problem\nfrom {to.step('problems')}"
        steps.append(Step(to.step("checked"), "an error where there is such data", body))
        checked = f"cross join {to.step('checked')} as c\nwhere c.problem is null"
        if per_query:
            selected = ["v.query as query", *(f"v.{name} as {column}" for name, column in self.groups.items())]
            selected += [f"v.{columns[value]} as {self.names[label]}" for label, value in self.values.items()]
            selected += [f"v.{name} as {name}" for name in counts]
            return steps, f"{select(selected)}\nfrom {to.step('query_values')} as v\n{checked}"
        # With the table alias: ClickHouse resolves a bare name to the mean of that name.
        after = At(to, values={value: f"v.{name}" for value, name in columns.items()})
        means = {}
        for label, mean in self.means.items():
            text = to.write(mean, after)
            means[self.names[label]] = text if mean.kind == "mean" else f"max({text})"
        means |= {name: f"coalesce(sum({name}), 0)" for name in counts}
        if account and not self.groups:
            means["extra"] = f"(select count(*) from {to.step('query_sides')} where is_judged = 0)"
        listed = [*self.groups, *(f"{text} as {name}" for name, text in means.items())]
        grouped = f"\ngroup by {', '.join(self.groups)}" if self.groups else ""
        body = f"{select(listed)}\nfrom {to.step('query_values')} as v{grouped}"
        steps.append(Step(to.step("means"), "", body))  # one row even without queries, so that problems are checked
        selected = [f"m.{name} as {column}" for name, column in self.groups.items()]
        selected += [f"m.{name} as {name}" for name in means]
        return steps, f"{select(selected)}\nfrom {to.step('means')} as m\n{checked}"

    def _groups_and_weights(self) -> tuple[list[Step], list[str], str]:
        """Steps with the groups and the weights of the queries, and the columns and joins of `query_sums` for them."""
        steps, columns, joins = list[Step](), list[str](), ""
        to, truth = self.to, self.sides["truth"]
        query = to.query_of(truth)
        if self.groups:
            own = [f"{query} as query", *(f"min(t.{column}) as {name}" for name, column in self.groups.items())]
            changing = " or ".join(f"min(t.{column}) <> max(t.{column})" for column in self.groups.values())
            own.append(f"case when {changing} then 1 else 0 end as differs")
            body = f"{select(own)}\nfrom {to.source(truth)} as t\ngroup by {query}"
            steps.append(Step(to.step("query_groups"), "which group a query is in", body))
            columns += [f"g.{name} as {name}" for name in self.groups]
            joins += f"\nleft join {steps[-1].name} as g on g.query = q.query"
        if self.weights is not None:
            own = [f"{to.id_of('t.query')} as query", f"{to.double('t.weight')} as weight"]
            source, _, is_query = self.weights
            source = f"(\n{indented(source)}\n)" if is_query else source
            body = f"{select(own)}\nfrom {source} as t"
            steps.append(Step(to.step("query_weights"), "how much a query weighs", body))
            columns.append("w.weight as weight")
            joins += f"\nleft join {steps[-1].name} as w on w.query = q.query"
        return steps, columns, joins

    def _counts(self) -> dict[str, Term]:
        """Conditions that are counted over the queries, by name."""
        first = self.views[next(iter(self.views))].judged_by(common_relevance_rule(self.plans))
        relevant, present = first.term(first.ranking.relevant), first.condition(first.ranking.present)
        judged = self.tree.node("is judged", kind="query") == 1.0
        decided = self.tree.of(False)
        for plan in self.plans:
            decided = decided | self._decided(plan)
        return {
            "judged": judged,
            "missing": judged & ~present,
            "nothing_relevant": judged & (relevant == 0),
            "tied": decided,
        }

    def _values(self, plan: Plan, view: Tables) -> Term:
        ranking = view.ranking
        return view.term(values_of(plan, ranking, ratio_of(plan, ranking), counted_of(plan, ranking))[0])

    def _decided(self, plan: Plan) -> Term:
        """Whether the order of tied items changes the value of a query."""
        aligned, tree = self._view(plan), self.tree
        if plan.metric.declaration.kind == "ratings":
            return tree.of(False)
        worst, best = extreme_for(plan, aligned, best=False), extreme_for(plan, aligned, best=True)
        if worst is None or best is None:
            ranking = aligned.ranking
            return aligned.condition(ranking.sum(ranking.number(ranking.items_tied > 1)) > 0)  # possibly
        low, high = self._values(plan, worst), self._values(plan, best)
        return tree.compare(">", tree.make("abs", low - high), 1e-15 + 1e-12 * tree.make("abs", high))

    # -- problems of the data -------------------------------------------------------------------------

    def _problem(self, rows: str, *message: str) -> str:
        """A query for invalid data; message: texts and expressions in turn."""
        parts = [part if at % 2 else self.request.dialect.literal(part) for at, part in enumerate(message)]
        return f"select {self.to.text(*parts)} as problem\nfrom {rows}"

    def _problems(self) -> Iterator[str]:
        """Problems of rows and lists."""
        to = self.to
        query, item = to.as_text("query"), to.as_text("item")
        for suffix, how in to.hows.items():
            judged, returned = to.all_judged(suffix), to.all_returned(suffix)
            for side, rows, value in (("truth", judged, "grade"), ("run", returned, "score")):
                bad = f"query is null or item is null or {value} is null or not (abs({value}) <= {HUGE!r})"
                quote = self.request.dialect.literal
                lacking = quote(f"has a row without a query, an item or a {value}")
                infinite = quote(f"has a {value} that is NaN or infinite")
                which = f"case when query is null or item is null or {value} is null then {lacking} else {infinite} end"
                ids = (f"coalesce({query}, '?')", ", item ", f"coalesce({item}, '?')")
                yield self._problem(f"{rows}\nwhere {bad}", f"the {side} ", which, ": query ", *ids)
                twice = how.duplicates if side == "run" else how.truth_duplicates
                if twice == "error":
                    repeated = f"(select query, item from {rows} group by query, item having count(*) > 1) as r"
                    inside = f"\nwhere query in (select query from {to.step('queries')})" if side == "run" else ""
                    message = f" appears twice in the {side}"
                    yield self._problem(repeated + inside, "query ", query, ": item ", item, message)
                elif side == "truth" and twice in ("count", "distinct"):
                    differing = f"{rows}\ngroup by query, item\nhaving min(grade) <> max(grade)"
                    yield self._problem(
                        differing, "query ", query, ": item ", item, " is judged twice, with two grades"
                    )
        for name, listed in self.sides.items():
            if listed.query:  # two queries must not have one id
                parts = [f"t.{column}" for column in (listed.columns["query"], *listed.query)]
                bad = " or ".join(f"{to.as_text(part)} like '%{SEPARATOR}%'" for part in parts[:-1])
                problem = f"the {name} has a {SEPARATOR} within the columns of a query, which it separates: "
                rows = f"{to.source(listed)} as t\nwhere {bad}"
                yield self._problem(rows, problem, to.query_of(listed), "; make one column of them, in a query")
            if listed.lists:
                column = to.query_of(listed)
                rows = f"{to.source(listed)} as t\ngroup by {column}\nhaving count(*) > 1"
                yield self._problem(rows, f"the {name} has two lists for query ", to.as_text(column))

    def _problems_of_queries(self) -> Iterator[str]:
        to, look = self.to, self._problem
        query, sides = to.as_text("query"), to.step("query_sides")
        choices = [plan.choices for plan in self.plans]
        judged = f"select min({to.as_text('q.query')}) as judged, count(l.query) as in_common"
        judged += f"\nfrom {to.step('queries')} as q\nleft join {to.lists('')} as l on l.query = q.query"
        judged += "\nwhere q.is_judged = 1"
        returned = f"select min({query}) as returned from {to.lists('')}"
        nothing = "judged is not null and returned is not null and in_common = 0"
        rows = f"(\n{indented(judged)}\n) as j\ncross join ({returned}) as r\nwhere {nothing}"
        message = "the truth and the run have no query in common: the truth has "
        yield look(rows, message, "judged", ", the run has ", "returned")
        if any(choice["missing"] == "error" for choice in choices):
            yield look(f"{sides}\nwhere is_returned = 0", "the run lacks query ", query)
        if any(choice["extra"] == "error" for choice in choices):
            yield look(f"{sides}\nwhere is_judged = 0", "the truth lacks query ", query)
        strict = [plan for plan in self.plans if plan.choices["empty_list"] == "error"]
        if not self.sides["run"].lists:  # rows make no empty list, unless unjudged items are removed
            strict = [plan for plan in strict if plan.choices["unjudged"] == "condensed"]
        for view in dict.fromkeys(map(self._view, strict)):
            to.visit(view.of_query("retrieved"))
            measured = f"query in (select query from {to.step('queries')})"
            rows = f"{to.lists(view.suffix)}\nwhere retrieved = 0 and {measured}"
            yield look(rows, "the run has an empty list for query ", query)
        if self.sides["run"].value == "rank" and any(TIES[choice["ties"]].by == "input" for choice in choices):
            rows = f"{to.step('returned_items')}\ngroup by query, score\nhaving count(*) > 1"
            yield look(rows, "query ", query, ": two items of one rank")
        if self.groups:
            columns = ", ".join(self.request.by)
            whole = [self.sides["truth"].columns["query"], *self.sides["truth"].query, *self.request.by]
            remedy = f"; make {columns} a part of the query ids: columns={{'query': {whole}}}"
            rows = f"{to.step('query_groups')}\nwhere differs = 1"
            yield look(rows, f"the truth has several {columns} for query ", query, remedy)
        if self.weights is not None:
            bad = f"weight is null or not (weight >= 0 and weight <= {HUGE!r})"
            yield look(f"{to.step('query_sums')}\nwhere {bad}", "weights has no weight from 0 for query ", query)
            rows = f"{to.step('query_weights')}\ngroup by query\nhaving count(*) > 1"
            yield look(rows, "weights has two weights for query ", query)

    def _faults(self, columns: Mapping[Term, str]) -> Iterator[str]:
        """Problems that the metrics report; those of all queries together only for means."""
        for label, fault in self.faults:
            if not (self.request.per_query and _is_of_all(fault.condition)):
                yield self._fault(label, fault, columns)

    def _fault(self, label: str, fault: Fault, columns: Mapping[Term, str]) -> str:
        to, quote = self.to, self.request.dialect.literal
        condition = fault.condition
        before, brace, after = fault.problem.replace("{:g}", "{}").partition("{}")
        if condition.kind == "item":
            assert condition.items is not None
            at = to.at_last(condition.items)
            query_id = [to.as_text("query")] if not condition.items.whole else []
            value = [to.as_text(to.write(fault.value, at))] if brace and fault.value is not None else []
            message = to.text(quote(f"{label}: query "), *query_id, quote(f": {before}"), *value, quote(after))
            return f"select {message} as problem\nfrom {to.last(condition.items)}\nwhere {to.write(condition, at)}"
        if _is_of_all(condition):
            grouped = f" group by {', '.join(self.groups)}" if self.groups else ""
            bad = to.write(condition, At(to, values=dict(columns)))
            rows = f"(select case when {bad} then 1 else 0 end as bad from {to.step('query_values')}{grouped}) as m"
            return f"select {quote(fault.problem)} as problem\nfrom {rows}\nwhere bad = 1"
        test = to.write(condition, At(to, values=to.named_parts))
        query = to.as_text("query")
        return self._problem(f"{to.per_query}\nwhere {test}", f"{label}: query ", query, f": {fault.problem}")


@lru_cache(maxsize=1 << 14)
def _is_of_all(condition: Term) -> bool:
    """Whether a condition is about all queries together."""
    whole = condition.items is not None and condition.items.whole
    return condition.kind == "mean" or whole or any(map(_is_of_all, condition.parts))


def _inside(means: Iterable[Term]) -> list[Term]:
    """The terms inside sums over queries."""
    sums = outermost(means, lambda value: value.op in ("total", "average", "count"))
    return list(dict.fromkeys(value.args[0] for value in sums if value.args[0].number is None))


# -- macros for dbt: Jinja around statements -----------------------------------------------------------------

_ROLES = ("query", "item", "grade", "score")
_DBT_TEST = """{{% test rankstone_metric({arguments}) %}}
{{%- if minimum is none and maximum is none -%}}
{{{{ exceptions.raise_compiler_error('rankstone_metric needs a minimum or a maximum') }}}}
{{%- endif -%}}
{{%- set macros = {{{macros}}} -%}}
{{%- if metric not in macros -%}}
{{%- set problem = 'rankstone_metric has no metric ' ~ metric ~ '; choose from ' ~ macros | join(', ') -%}}
{{{{ exceptions.raise_compiler_error(problem) }}}}
{{%- endif -%}}
{{%- set columns = dict({columns}) -%}}
{{%- set columns = columns if k is none else dict(columns, k=k) -%}}
{{%- set columns = columns if by is none else dict(columns, by=by) -%}}
select *
from (
{{{{ macros[metric](truth, model, **columns) }}}}
) as m
where m.{{{{ metric }}}} is null
{{%- if minimum is not none %}} or m.{{{{ metric }}}} < {{{{ minimum }}}}{{% endif %}}
{{%- if maximum is not none %}} or m.{{{{ metric }}}} > {{{{ maximum }}}}{{% endif %}}
{{% endtest %}}"""


def package(dialect: str, convention: str | Convention = "rankstone") -> str:
    """A file of dbt macros: `{{ rankstone_ndcg(ref('judgments'), ref('results'), k=10) }}` is a query."""
    to, named = find_dialect(dialect), find_convention(convention)
    if re.search(r"[{}%#]", named.name):
        raise InputError(
            f"the convention's name {named.name!r} has characters of dbt's own, one of {{ }} % #; rename it"
        )
    head = (
        f"{{# rankstone {__version__}: ranking metrics in {to.name}, convention {named.name}.\n"
        "   rankstone_<metric>(truth, run) is the mean, rankstone_<metric>_per_query has one row per query.\n"
        "   truth: rows of query, item, grade; run: rows of query, item, score; pass other column names by role.\n"
        "   grade=none: all items of the truth are relevant. by='week': one row per week, a column of the truth.\n"
        "   The test rankstone_metric of a run fails if a mean is below its minimum or above its maximum. #}"
    )
    macros = {name: list(_dbt_macros(name, named, to)) for name in declared()}
    return "\n\n".join([head, *chain(*macros.values()), _dbt_test(name for name in macros if macros[name])]) + "\n"


def _dbt_macros(name: str, named: Convention, to: Dialect) -> Iterator[str]:
    """The macros of a metric; none if SQL cannot express it."""
    columns = {role: f"{{{{ {role} }}}}" for role in _ROLES}
    sides = {
        "truth": Side("{{ truth }}", {role: columns[role] for role in ("query", "item", "grade")}),
        "run": Side("{{ run }}", {role: columns[role] for role in ("query", "item", "score")}),
    }
    cuts = (None, "{{ k }}") if declared()[name].takes_k else (None,)
    for per_query in (False, True):
        bodies = []
        for k in cuts:
            plain, grouped = (_dbt_body(name, k, named, to, sides, per_query, by) for by in ((), ("{{ by }}",)))
            bodies.append(_unless_none("by", plain, grouped))
        if bodies[0]:
            text = "\n".join(_unless_none("k", bodies[0], bodies[-1]))
            options = [f"{option}=none" for option in ("k", "by") if f"%- if {option} is" in text]
            arguments = ["truth", "run", *options, *(f"{role}='{role}'" for role in _ROLES)]
            macro = f"rankstone_{name}{'_per_query' * per_query}({', '.join(arguments)})"
            yield f"{{% macro {macro} %}}\n{text}\n{{% endmacro %}}"


def _dbt_body(
    name: str,
    k: str | None,
    named: Convention,
    to: Dialect,
    sides: Mapping[str, Side],
    per_query: bool,
    by: Sequence[str],
) -> list[str]:
    """Lines of the statement of a metric; none if the convention does not define it, or SQL cannot express it."""
    try:
        (plan,) = make_plans(name if k is None else f"{name}@1", named, {})
        if unsupported([plan], capabilities_of(sides, None, to)):
            return []
        if k is not None:
            plan = replace(plan, arguments={**plan.arguments, "k": k}, label=plan.label.removesuffix("@1"))
        body = written(Request([plan], named, to, sides, per_query, by))
    except ValueError:
        return []
    for column in by:  # dbt's users quote it themselves, as the others
        body = body.replace(to.quoted(column), column)
    return body.replace("t.{{ grade }}", f"{{{{ {_ungraded(plan)} if grade is none else 't.' ~ grade }}}}").splitlines()


def _ungraded(plan: Plan) -> str:
    """Jinja for the grade of an item of a truth without grades."""
    try:
        require_grades(plan, graded=False)
    except ValueError as error:
        problem = re.sub(r"[\\'{}]", "", str(error))
        return f"exceptions.raise_compiler_error('{problem}')"
    return "1"


def _unless_none(argument: str, without: list[str], using: list[str]) -> list[str]:
    """Jinja for one of two statements, by whether an argument is none; only lines that differ are written twice.

    A block of Jinja is one of the lines.
    """
    lines = list[str]()
    for same, a, b, c, d in SequenceMatcher(None, without, using, autojunk=False).get_opcodes() if using else ():
        if same == "equal":
            lines += without[a:b]
        elif same == "insert":
            lines.append("\n".join([f"{{%- if {argument} is not none %}}", *using[c:d], "{%- endif %}"]))
        else:
            either = [f"{{%- if {argument} is none %}}", *without[a:b], "{%- else %}", *using[c:d], "{%- endif %}"]
            lines.append("\n".join(either))
    return lines if using else without


def _dbt_test(names: Iterable[str]) -> str:
    """A generic test of dbt, by the macros of the means."""
    options = [f"{name}=none" for name in ("minimum", "maximum", "k", "by")]
    arguments = ", ".join(["model", "truth", "metric", *options, *(f"{role}='{role}'" for role in _ROLES)])
    macros = ", ".join(f"'{name}': rankstone_{name}" for name in names)
    columns = ", ".join(f"{role}={role}" for role in _ROLES)
    return _DBT_TEST.format(arguments=arguments, macros=macros, columns=columns)
