"""`rs.compile`: metrics as one file in another language, without a dependency, and with test cases of its own."""

from __future__ import annotations

import ast
import math
import os
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain, count, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rankstone.align.ties import TIES
from rankstone.compile.aligned_list import TEXT
from rankstone.compile.translate import FIELDS, Language, Printer, called, fields_read, functions_of, specialised
from rankstone.compile.typed_languages import LANGUAGES
from rankstone.conventions.convention import Convention, find_convention
from rankstone.conventions.plan import Capabilities, Plan, check_supported, make_plans
from rankstone.data.dicts import OneList
from rankstone.errors import InputError, NoClosedFormError
from rankstone.evaluate.checks import check_data
from rankstone.evaluate.values import counted_of, measure, ratio_of, values_of
from rankstone.metrics.declaration import unknown_word
from rankstone.program.graph import Expression, Graph
from rankstone.program.ranking import Ranking, StaticFacts
from rankstone.program.statements import Statements
from rankstone.results.definition import common_origin, definition_of

if TYPE_CHECKING:
    from rankstone.metrics.registry import Value
    from rankstone.typing import Metrics

_CANNOT = "a function of one list does not read it"
_CAPABILITIES = Capabilities(recommendations=_CANNOT, annotations=_CANNOT, otherwise="or use rs.evaluate")


class SourceCode:
    """The text of a compiled file, in `text`; `functions` are the names of its functions by metric."""

    def __init__(self, text: str, language: str, functions: Mapping[str, str]) -> None:
        self.text, self.language, self.functions = text, language, dict(functions)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<{self.language} code of {', '.join(self.functions)}: {self.text.count(chr(10))} lines>"

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the file.

        Parameters
        ----------
        path : str or path
            Where to.
        """
        Path(path).write_text(self.text, encoding="utf-8", newline="\n")


def compile_metrics(
    metrics: Metrics,
    language: str,
    convention: str | Convention = "rankstone",
    *,
    ids: Literal["text", "integer"] = "text",
    truth: Literal["grades", "order"] = "grades",
    name: str = "metrics",
    **choices: Value,
) -> SourceCode:
    """Metrics as functions of one list in another language, in one file without dependencies.

    A function takes a truth and a list, and returns the value of the query: the number that `rs.evaluate` has, NaN
    where the definition leaves the query out of the mean. Errors in the data are errors of the language.

    Parameters
    ----------
    metrics : str, Metric or sequence of these
        Metrics, as for `evaluate`.
    language : str
        "javascript", "typescript", "python", "c", "java", "rust" or "go".
    convention : str or Convention, default "rankstone"
        Convention of the metrics.
    ids : "text" or "integer", default "text"
        Type of the items' ids.
    truth : "grades" or "order", default "grades"
        Whether the truth has grades, or is a list of items, best first.
    name : str, default "metrics"
        Name of the class in Java, and of the package in Go.
    **choices
        Choices that replace those of the convention.

    Returns
    -------
    SourceCode
        Its `str()` is the text; `write(path)` writes it.

    Raises
    ------
    ValueError
        If a function of one list cannot compute a metric, or a choice.

    Examples
    --------
    >>> code = rs.compile("precision@2", "python")
    >>> namespace = {"__name__": "metrics"}
    >>> exec(str(code), namespace)
    >>> namespace["precision_at_2"]({"a": 1, "b": 0}, ["a", "b", "c"])
    0.5
    """
    if language not in LANGUAGES:
        raise InputError(unknown_word("language", language, LANGUAGES))
    for word, value, allowed in (("ids", ids, ("text", "integer")), ("truth", truth, ("grades", "order"))):
        if value not in allowed:
            raise InputError(f"{word}={value!r}; choose from {', '.join(map(repr, allowed))}")
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise InputError(f"name={name!r} is not a name of a class or a package")
    plans = make_plans(metrics, convention, choices)
    check_supported(plans, _CAPABILITIES)
    file = File(plans, find_convention(convention).with_choices(**choices), LANGUAGES[language], truth)
    return file.source(ids, name, list(_cases(plans, ids, truth)))


def language_of(path: str) -> str | None:
    """The language of a file by its ending; None if no language has it."""
    ending = path.rpartition(".")[2]
    return next((name for name, row in LANGUAGES.items() if ending in row.endings), None)


# -- functions -------------------------------------------------------------------------------------------------


def traced(plan: Plan, facts: StaticFacts, graph: Graph) -> Expression:
    """The value of a query as an expression; the graph has what is an error."""
    ranking = Ranking(graph, facts)
    ratio = ratio_of(plan, ranking).map(graph.of)
    values, _ = values_of(plan, ranking, ratio, counted_of(plan, ranking))
    if plan.choices["missing"] == "error":
        ranking.raise_where(~ranking.present, "the query is missing from the run")
    if plan.choices["empty_list"] == "error":
        ranking.raise_where(ranking.present & (ranking.retrieved == 0), "the list is empty")
    return graph.of(values)


def facts_of(plan: Plan, truth: str) -> StaticFacts:
    rule, choices = TIES[plan.choices["ties"]], plan.choices
    returned = choices["unjudged"] == "only_returned" and plan.metric.declaration.kind in ("ranking", "count")
    return StaticFacts(
        plan.relevance,
        ties=rule if rule.averaged else None,
        returned_only=returned,
        unjudged=returned,
        misses=choices["nonpositive_score"] == "miss",
        ordered_truth=truth == "order",
        tied=rule.arrange is None,
    )


@cache
def _shared() -> dict[str, ast.FunctionDef]:
    """The functions of aligned_list.py by name."""
    return functions_of(TEXT)


@lru_cache(maxsize=512)
def _specialised(
    name: str, choices: tuple[tuple[str, object], ...], fields: frozenset[str], renamed: str = ""
) -> ast.FunctionDef:
    """One of them as some choices and the fields that are read make it."""
    function = specialised(_shared()[name], dict(choices), fields)
    function.name = renamed or name
    return function


def _function(head: str, docstring: str, lines: Iterable[str]) -> ast.FunctionDef:
    """A function of its lines."""
    (function,) = functions_of("\n".join([head, *(f"    {line}" for line in lines)])).values()
    function.body.insert(0, ast.Expr(ast.Constant(docstring)))
    return function


class File:
    """The functions of some metrics, and those that they share."""

    def __init__(self, plans: Sequence[Plan], convention: Convention, language: Language, truth: str) -> None:
        self.plans, self.language, self.truth = plans, language, truth
        self.definitions = [definition_of(plan, convention) for plan in plans]
        self.shared = _shared()
        self.choices: dict[str, dict[str, object]] = {}  # of each function that aligns
        self.own: dict[str, ast.FunctionDef] = {}
        self.public: dict[str, str] = {}
        self._by_lines: dict[tuple[str, ...], str] = {}  # functions that put tied items in order
        for plan, definition in zip(plans, self.definitions, strict=True):
            parts = [f"{definition.metric}: {definition.formula}", *definition.rules, *definition.edge_cases]
            self._add(plan, "\n".join(textwrap.wrap("; ".join(parts).replace("*/", "* /"), 100)))

    def _add(self, plan: Plan, docstring: str) -> None:
        name = self._unused(re.sub(r"[\W_]+", "_", plan.label.replace("@", "_at_")).strip("_").lower())
        self.own[name] = _function(f"def {name}(truth: Truth, run: Run) -> float:", docstring, self._lines(plan))
        self.public[plan.label] = name

    def _unused(self, name: str) -> str:
        taken = {*self.own, *self.shared}
        names = chain([name], (f"{name}_{at}" for at in count(2)))
        return next(other for other in names if other not in taken)

    def _lines(self, plan: Plan) -> list[str]:
        rule, facts = TIES[plan.choices["ties"]], facts_of(plan, self.truth)
        graph = Graph()
        try:
            value = traced(plan, facts, graph)
        except NoClosedFormError as error:  # but there is one where nothing is tied
            graph = Graph()
            ranking = Ranking(graph, facts)
            ranking.raise_at_items(ranking.items_tied > 1.0, str(error), None)
            value = traced(plan, facts._replace(ties=None), graph)
        statements = Statements(graph, [value], graph.faults)
        aligned = f"{self.aligned(plan, facts)}(truth, run)"
        lines = [f"lists = {aligned}"]
        if rule.arrange is not None:
            lines = [f"aligned = {aligned}", f"lists = {self.arranged(rule.name, facts)}(aligned)"]
        return [*lines, *statements.lines, f"return {statements.text(statements.values[0], statements.names_of_query)}"]

    def aligned(self, plan: Plan, facts: StaticFacts) -> str:
        """The function that aligns a list as a plan asks for."""
        rule, unjudged = TIES[plan.choices["ties"]], plan.choices["unjudged"]
        choices: dict[str, object] = {
            "TRUTH": self.truth,
            "ORDER": rule.order if rule.by else "item_desc",
            **{name.upper(): plan.choices[name] for name in ("duplicates", "truth_duplicates", "score_precision")},
            "UNJUDGED": "nonrelevant" if unjudged == "only_returned" and not facts.returned_only else unjudged,
        }
        for name, others in self.choices.items():
            if others == choices:
                return name
        name = "align" if not self.choices else f"align_{len(self.choices) + 1}"
        self.choices[name] = choices
        return name

    def arranged(self, rule: str, facts: StaticFacts) -> str:
        """The function that puts tied items in the order of a rule."""
        graph = Graph()
        ranking = Ranking(graph, facts._replace(tied=True))
        arrange = TIES[rule].arrange
        assert arrange is not None
        rank = ranking.arranged(*arrange(ranking)).rank
        statements = Statements(graph, [], graph.faults, column=rank)
        lines = (*statements.lines, f"return reordered(lists, {statements.column_name})")
        if lines not in self._by_lines:
            name = self._by_lines[lines] = self._unused(f"{rule}_order")
            words = TIES[rule].words.replace("ties ", "with ties ").replace("with ties with", "with")
            self.own[name] = _function(f"def {name}(lists: Lists) -> Lists:", f"The list {words}.", lines)
        return self._by_lines[lines]

    def source(self, ids: str, name: str, cases: Sequence[Case]) -> SourceCode:
        """The file."""
        functions, fields = self.all()
        language = self.language.of_ids(ids)
        printer = Printer(language, functions, set(self.public.values()))
        texts = [printer.function(function) for function in functions.values()]
        names = {label: printer.name(function) for label, function in self.public.items()}
        checks = self._checks(language, names, cases)
        tests = language.checks.replace("COUNT", str(sum(len(case.values) for case in cases))).replace("NAME", name)
        tests = tests.replace("FUNCTIONS", ", ".join(names.values()))
        tests = re.sub("^( *)CHECKS", lambda match: textwrap.indent("\n".join(checks), match[1]), tests, flags=re.M)
        body = language.between.join(filter(None, [self._structure(language, fields), *texts, tests]))
        helpers = dict[str, str]()
        while more := {
            word: text
            for word, text in language.helpers.items()
            if word not in helpers and re.search(rf"\b{word}\b", body + "".join(helpers.values()))
        }:
            helpers.update(more)
        body = language.between.join([*(text for word, text in language.helpers.items() if word in helpers), body])
        imports = [line.replace("NAME", name) for word, line in language.imports.items() if word in body]
        head = "\n".join(f"{language.file_comment} {line}".rstrip() for line in self._head(functions))
        text = language.wrap(name, "\n\n".join(filter(None, [head, "\n".join(imports), body]))) + "\n"
        return SourceCode(text, language.name, names)

    @staticmethod
    def _structure(language: Language, fields: Sequence[str]) -> str:
        """The type of an aligned list."""
        lines = []
        for name in fields:
            kind = language.result_type(FIELDS[name])
            line = language.field_of_structure.format(name=language.name_of(name), type=kind)
            lines.append(line.replace("* ", "*"))
        return language.structure.replace("FIELDS", language.between_fields.join(lines))

    @staticmethod
    def _checks(language: Language, names: Mapping[str, str], cases: Sequence[Case]) -> list[str]:
        """The lists of the test cases, and a line per number."""
        lists: dict[tuple[str, tuple[Any, ...]], str] = {}
        checks = []
        for nth, case in enumerate(cases, 1):
            keys = ("Truth", tuple(case.truth)), ("Run", tuple(case.run))
            for key in keys:
                lists.setdefault(key, f"{key[0].lower()}{len(lists) + 1}")
            arguments = ", ".join(language.argument_of_case.format(lists[key]) for key in keys)
            for label, value in case.values.items():
                call = language.call_of_case.format(names[label], arguments)
                number = language.constants["NAN"] if math.isnan(value) else repr(value)
                checks.append(language.check.format(metric=language.text(label), case=nth, call=call, value=number))
        return [*(language.list(name, side, rows) for (side, rows), name in lists.items()), *checks]

    def _head(self, functions: Mapping[str, ast.FunctionDef]) -> Iterator[str]:
        yield f"Written by {common_origin(self.definitions)}: the values of single queries."
        yield "truth: the judged items with their grades. run: the returned items with their scores, or in their order"
        yield "without scores. A value of NaN is not a part of the mean."
        if "highest_grade" in functions:
            yield "The highest grade is that of the list's own truth; of many queries choose max_grade."

    def all(self) -> tuple[dict[str, ast.FunctionDef], list[str]]:
        """All functions, those that are called first; and the fields of an aligned list that they read."""
        functions = dict(self.own)
        self._add_called(functions, list(functions.values()), frozenset(FIELDS))
        aligning = {*self.choices, "reordered"}
        fields = fields_read(function for name, function in functions.items() if name not in aligning)
        if "reordered" in functions:
            fields |= {"placed", "truth_size"}
            functions["reordered"] = _specialised("reordered", (), frozenset(fields))
        for name, choices in self.choices.items():
            facts = {"READS_TIES": bool({"above", "tied"} & fields), "READS_PLACE": "place" in fields}
            functions[name] = _specialised("align", (*choices.items(), *facts.items()), frozenset(fields), name)
            self._add_called(functions, [functions[name]], frozenset(fields))
        ordered: dict[str, ast.FunctionDef] = {}

        def add(name: str) -> None:
            for other in called(functions[name]):
                if other in functions and other not in ordered and other != name:
                    add(other)
            ordered[name] = functions[name]

        for name in (*self.own, *self.choices):
            if name not in ordered:
                add(name)
        return ordered, [field for field in FIELDS if field in fields]

    def _add_called(
        self, functions: dict[str, ast.FunctionDef], waiting: list[ast.FunctionDef], fields: frozenset[str]
    ) -> None:
        """Add the shared functions that some functions call, and those that these call."""
        while waiting:
            for name in called(waiting.pop()):
                if name in self.shared and name not in functions and name not in self.choices:
                    functions[name] = _specialised(name, (("TRUTH", self.truth),), fields)
                    waiting.append(functions[name])


# -- test cases --------------------------------------------------------------------------------------------------


class Case(NamedTuple):
    """A truth, a run, and the value of each metric that has one."""

    truth: Sequence[tuple[Any, float]]
    run: Sequence[tuple[Any, float | None]]
    values: Mapping[str, float]


_TRUTHS: Sequence[dict[str, float]] = (
    {"a": 1, "b": 0, "c": 2, "d": 1, "z": 3},
    {"a": 1, "é": 1, "b": 0},
    {"c": 0, "d": 0},
    {},
)
_RUNS: Sequence[Mapping[str, float | None]] = (
    {"d": 0.9, "x": 0.8, "a": 0.5, "b": 0.5, "c": 0.5, "y": 0.1},
    dict.fromkeys(["b", "x", "é", "a"]),  # an order without scores
    {"é": 2.0, "a": 2.0, "q": 2.0, "c": 1.0, "d": -1.0},
    {},
)


def _cases(plans: Sequence[Plan], ids: str, truth: str) -> Iterator[Case]:
    """A few lists, and what `rs.evaluate` says of them."""
    numbers = {name: nth for nth, name in enumerate(sorted({*"abcdqxyzé"}), 8)}
    as_id: Callable[[str], Any] = numbers.__getitem__ if ids == "integer" else str
    for judged, returned in product(_TRUTHS, _RUNS):
        truth_rows = [(as_id(item), 1.0 if truth == "order" else grade) for item, grade in judged.items()]
        run_rows = [(as_id(item), score) for item, score in returned.items()]
        as_truth = [item for item, _ in truth_rows] if truth == "order" else dict(truth_rows)
        as_run = [item for item, _ in run_rows] if not any(returned.values()) else dict(run_rows)
        values = {plan.label: value for plan in plans if (value := _value(plan, as_truth, as_run)) is not None}
        yield Case(truth_rows, run_rows, values)


def _value(plan: Plan, truth: Any, run: Any) -> float | None:
    """The value of one list; None if that is an error."""
    try:
        aligned = OneList(0, truth, run).align(plan.alignment)
        check_data(plan, aligned)
        return float(measure(plan, aligned.ranked).values[0])
    except ValueError:
        return None
