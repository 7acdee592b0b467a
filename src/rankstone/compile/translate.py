"""Translates functions in a small part of Python to a language, by the row of the language.

They have loops over `range`, `while`, `if`, assignments, numbers, columns of numbers, calls, `raise` and `return`.
Every variable has one type, and every column its length from the start.
"""

from __future__ import annotations

import ast
import copy
import json
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeAlias, cast

Rows: TypeAlias = "Sequence[tuple[Any, float | None]]"  # ids with grades or scores
FIELDS = {
    "present": "bool", "retrieved": "float", "judged": "float", "unjudged": "float", "truth_size": "int",
    "truth_grade": "Floats", "placed": "int", "rank": "Floats", "grade": "Floats", "score": "Floats", "place": "Floats",
    "above": "Floats", "tied": "Floats",
}  # fmt: skip
_RESULTS = {
    "numbers": "Floats", "ints": "Ints", "new_map": "Map", "truth_rows": "Rows", "run_rows": "Rows", "id_of": "Id",
    "size": "int", "look_up": "int", "index": "int", "is_nan": "bool", "is_finite": "bool", "is_present": "bool",
    "same": "Floats", "Lists": "Lists",
}  # fmt: skip
SORTS = ("sort_by_id_descending", "sort_by_id_ascending", "sort_descending", "sort_ascending")
_MODIFIES = ("put", *SORTS)  # calls that change their first argument
_ALLOCATES = {"numbers", "ints", "new_map", *_MODIFIES}
_OF_COLUMN = {"Floats": "float", "Ints": "int"}
_SIGNS: Mapping[type, tuple[str, int]] = {
    ast.Or: ("or", 1), ast.And: ("and", 2), ast.Add: ("+", 5), ast.Sub: ("-", 5), ast.Mult: ("*", 6),
    ast.Div: ("/", 6), ast.FloorDiv: ("//", 6), ast.Lt: ("<", 4), ast.LtE: ("<=", 4), ast.Gt: (">", 4),
    ast.GtE: (">=", 4), ast.Eq: ("==", 4), ast.NotEq: ("!=", 4),
}  # fmt: skip
_ATOM = 9


@dataclass(frozen=True, eq=False)
class Language:
    """How a language writes what functions are made of; in templates {0} is the first part."""

    name: str
    endings: tuple[str, ...]  # of its files
    head: str  # the first line of a function: its access, name, parameters and result
    calls: Mapping[str, str]  # how each function of the small part of Python is written
    constants: Mapping[str, str]
    helpers: Mapping[str, str]  # what a file needs where it has a word
    checks: str  # the test function, with LISTS and CHECKS, their COUNT, and the FUNCTIONS
    list_of_case: str  # a variable with a list of test cases
    row: str  # of such a list: an id and a number
    check: str = "equal({metric}, {case}, {call}, {value});"  # of a number
    row_without_value: str = ""  # where the list is only an order; empty: the number is NaN
    no_rows: str = ""  # what stands in an empty list
    integer: str = "{0}"  # an id that is an integer
    integer_ids: Mapping[str, str] = field(default_factory=dict)  # in calls and helpers, if all ids are
    argument_of_case: str = "{0}"
    call_of_case: str = "{0}({1})"
    structure: str = ""  # the type of an aligned list, with its FIELDS
    field_of_structure: str = ""
    between_fields: str = "\n    "
    types: Mapping[str, str] = field(default_factory=dict)
    results: Mapping[str, str] = field(default_factory=dict)  # types of results, where they are not those of parameters
    after_public: str = ""  # what follows the function of a metric, by its NAME
    access: tuple[str, str] = ("", "")  # of a function of the file only, and of that of a metric
    parameter: str = "{0}"  # its name and its type
    first_parameter: str = ""  # of a function that allocates memory
    first_argument: str = ""  # for it
    fallible_result: str = "{0}"  # the type of the result of a function that can fail
    name_of: Callable[[str], str] = str  # a name in the language's case
    public_name: Callable[[str], str] = str
    comment: tuple[str, str, str] = ("/**", " * ", " */")  # of a function: its first line, all others, its last line
    file_comment: str = "//"
    imports: Mapping[str, str] = field(default_factory=dict)  # lines for what a file uses
    wrap: Callable[[str, str], str] = lambda name, text: text  # of the file's name and text
    between: str = "\n\n"  # functions
    block: str = "{0} {{"  # a line that opens a block
    close: str = "}"
    otherwise: str = "} else {"
    if_: str = "if ({0})"
    while_: str = "while ({0})"
    for_: str = "for (let {0} = {1}; {0} < {2}; {0}++)"
    end: str = ";"
    declare: str = "{type} {name} = {value}"
    declare_fixed: str = ""  # of a variable that does not change, where that is written in another way
    declare_fallible: str = ""  # of a variable with the result of a function that can fail
    after_fallible: str = ""  # the lines after it
    fallible_call: str = "{0}"
    modified_is_mutable: bool = False  # is a column whose entries change one that changes
    raise_: str = "throw new Error({0})"
    raise_value: str = ""  # with a number between two texts; empty: without it
    return_fallible: str = "return {0}"  # of a function that can fail
    either: str = "{0} ? {1} : {2}"
    either_binds: int = 0
    either_parts: int = 1  # what the parts of it must bind, not to be in parentheses
    signs: Mapping[str, str] = field(default_factory=lambda: {"and": "&&", "or": "||", "//": "{0} / {1}"})
    not_: tuple[str, int] = ("!{0}", 7)
    reference: str = "{0}"  # a column or a list as an argument
    field_set: str = "{0}: {1}"
    new_lists: str = "{{ {0} }}"

    def of_ids(self, ids: str) -> Language:
        """The same for ids that are all text, or all integers."""
        changes = self.integer_ids if ids == "integer" else {}
        return replace(self, calls=all_replaced(self.calls, changes), helpers=all_replaced(self.helpers, changes))

    def result_type(self, kind: str) -> str:
        """The type of a result or a variable; empty in a language without types."""
        return self.results.get(kind) or self.types.get(kind, "")

    def list(self, name: str, side: str, rows: Rows) -> str:
        """A variable with a list of a test case."""
        texts = []
        for item, value in rows:
            name_of_item = self.text(item) if isinstance(item, str) else self.integer.format(item)
            template = self.row_without_value if value is None and self.row_without_value else self.row
            number = self.constants["NAN"] if value is None else repr(float(value))
            texts.append(template.format(id=name_of_item, value=number))
        return self.list_of_case.format(name=name, side=side, rows=", ".join(texts) or self.no_rows, count=len(rows))

    @staticmethod
    def text(text: str) -> str:
        """A text in quotes."""
        return json.dumps(text, ensure_ascii=False)


def replaced(text: str, changes: Mapping[str, str]) -> str:
    """A text with some parts replaced."""
    for old, new in changes.items():
        text = text.replace(old, new)
    return text


def all_replaced(texts: Mapping[str, str], changes: Mapping[str, str]) -> dict[str, str]:
    """Texts by the same names, each with some parts replaced."""
    return {name: replaced(text, changes) for name, text in texts.items()}


# -- specialise: choices are decided, and what nothing reads is left out ---------------------------------------------


class _Decided(ast.NodeTransformer):
    """Without conditions of choices."""

    def __init__(self, choices: Mapping[str, object]) -> None:
        self.choices = choices

    def _decided(self, node: ast.If | ast.IfExp) -> Any:
        self.generic_visit(node)
        names = [part.id for part in ast.walk(node.test) if isinstance(part, ast.Name)]
        if not names or not all(name in self.choices for name in names):
            return node
        holds = eval(compile(ast.Expression(node.test), "", "eval"), {}, dict(self.choices))
        return node.body if holds else node.orelse

    visit_If = visit_IfExp = _decided  # noqa: N815


class _Pruned(ast.NodeTransformer):
    """Without columns and variables that are written and never read, and without fields that no function reads."""

    def __init__(self, fields: Collection[str]) -> None:
        self.fields = fields
        self.read: set[str] = set()

    def once(self, function: ast.FunctionDef) -> ast.FunctionDef:
        nodes = list(ast.walk(function))
        columns = [node.value for node in nodes if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)]
        names = [node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
        self.read = {node.id for node in names if node not in columns}
        return cast("ast.FunctionDef", self.visit(function))

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        node.keywords = [keyword for keyword in node.keywords if keyword.arg in self.fields]
        return node

    def _if_read(self, node: ast.Assign | ast.AugAssign) -> Any:
        self.generic_visit(node)
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        return node if _variable_in(target) in self.read else None

    def _if_not_empty(self, node: ast.If | ast.For) -> Any:
        self.generic_visit(node)
        return node if node.body or node.orelse else None

    visit_Assign = visit_AugAssign = _if_read  # noqa: N815
    visit_If = visit_For = _if_not_empty  # noqa: N815


def _variable_in(target: ast.expr) -> str:
    """The variable that is assigned, or whose entry is."""
    while isinstance(target, ast.Subscript):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""


def functions_of(text: str) -> dict[str, ast.FunctionDef]:
    """The functions of a text by name."""
    return {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}


def specialised(function: ast.FunctionDef, choices: Mapping[str, object], fields: Collection[str]) -> ast.FunctionDef:
    """A function once choices are made, for those of the fields of an aligned list that are read."""
    decided = cast("ast.FunctionDef", _Decided(choices).visit(copy.deepcopy(function)))
    before = ""
    while (now := ast.dump(decided)) != before:
        before, decided = now, _Pruned(fields).once(decided)
    return decided


def fields_read(functions: Iterable[ast.FunctionDef]) -> set[str]:
    """The fields of an aligned list that some functions read."""
    return {node.attr for function in functions for node in ast.walk(function) if isinstance(node, ast.Attribute)}


@lru_cache(maxsize=1 << 15)
def called(function: ast.FunctionDef) -> list[str]:
    """The functions that one calls."""
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    return [call.id for call in calls if isinstance(call, ast.Name)]


# -- print -----------------------------------------------------------------------------------------------------------


class Printer:
    """Writes functions in a language."""

    def __init__(self, language: Language, functions: Mapping[str, ast.FunctionDef], public: Collection[str]) -> None:
        self.language, self.functions, self.public = language, functions, public
        self.fallible, self.allocating = set[str](), set[str]()
        for name, function in functions.items():  # those that are called come first
            raises = any(isinstance(node, ast.Raise) for node in ast.walk(function))
            calls = called(function)
            if raises or name in public or not self.fallible.isdisjoint(calls):
                self.fallible.add(name)
            if raises or not self.allocating.isdisjoint(calls) or not _ALLOCATES.isdisjoint(calls):
                self.allocating.add(name)

    def name(self, name: str) -> str:
        """A function's name in the language."""
        return (self.language.public_name if name in self.public else self.language.name_of)(name)

    def type_of_result(self, function: ast.FunctionDef) -> str:
        return cast("ast.Name", function.returns).id

    def result(self, function: ast.FunctionDef) -> str:
        """The type of a function's result in the language."""
        return self.language.result_type(self.type_of_result(function))

    def function(self, function: ast.FunctionDef) -> str:
        """A function as text."""
        self.current = function
        self.parameters = {arg.arg: cast("ast.Name", arg.annotation).id for arg in function.args.args}
        self.changed: set[int] = set()  # assignments that declare a variable which changes
        self.modified: set[int] = set()  # that declare a column whose entries change
        for _ in range(2):  # the second time it is clear which variables change
            self.scopes: list[dict[str, tuple[str, int]]] = [
                {name: (kind, 0) for name, kind in self.parameters.items()}
            ]
            lines = list(self._function(function))
        if function.name in self.public and self.language.after_public:
            lines += ["", self.language.after_public.replace("NAME", function.name)]
        return "\n".join(lines)

    def _function(self, function: ast.FunctionDef) -> Iterator[str]:
        language, docstring = self.language, ast.get_docstring(function)
        if docstring and language.close:
            first, each, last = language.comment
            yield from filter(None, [first, *(f"{each}{line}".rstrip() for line in docstring.split("\n")), last])
        yield language.block.format(self._head(function))
        if docstring and not language.close:
            end = "\n" * ("\n" in docstring)
            yield from textwrap.indent(f'"""{docstring}{end}"""', "    ").split("\n")
        yield from self._block(function.body if docstring is None else function.body[1:])
        yield from self._closed()

    def _head(self, function: ast.FunctionDef) -> str:
        language, is_public = self.language, function.name in self.public
        parameters = [language.parameter.format(language.name_of(name), language.types.get(kind, ""))
                      for name, kind in self.parameters.items()]  # fmt: skip
        if language.first_parameter and function.name in self.allocating:
            parameters.insert(0, language.first_parameter)
        result = self.result(function)
        return language.head.format(
            access=language.access[is_public],
            name=self.name(function.name) + ("_value" if is_public and language.after_public else ""),
            parameters=", ".join(parameters),
            result=language.fallible_result.format(result) if function.name in self.fallible else result,
        ).replace("* ", "*")  # a pointer

    def _block(self, body: Sequence[ast.stmt], names: Mapping[str, tuple[str, int]] | None = None) -> Iterator[str]:
        self.scopes.append(dict(names or {}))
        for statement in body:
            for line in getattr(self, f"_{type(statement).__name__}")(statement):
                yield f"    {line}"
        self.scopes.pop()

    def _variable(self, name: str) -> tuple[str, int] | None:
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    # -- statements -------------------------------------------------------------------------------------------

    def _Assign(self, node: ast.Assign) -> Iterator[str]:  # noqa: N802
        language, target = self.language, node.targets[0]
        value = self.text(node.value)
        if not isinstance(target, ast.Name):
            self._note_modified(target)
            yield f"{self.text(target)} = {value}{language.end}"
            return
        call = node.value.func if isinstance(node.value, ast.Call) else None
        fails = isinstance(call, ast.Name) and call.id in self.fallible
        variable = self._variable(target.id)
        if variable is not None:
            self.changed.add(variable[1])
            yield f"{language.name_of(target.id)} = {value}{language.end}"
        else:
            kind = self.type_of(node.value)
            self.scopes[-1][target.id] = (kind, id(node))
            mutable = id(node) in self.changed or (language.modified_is_mutable and id(node) in self.modified)
            template = language.declare if mutable or not language.declare_fixed else language.declare_fixed
            template = (fails and language.declare_fallible) or template
            type_ = language.result_type(kind)
            line = template.format(type=type_, name=language.name_of(target.id), value=value) + language.end
            yield line.replace(" * ", " *", 1) if type_.endswith("*") else line
        if fails and language.after_fallible:
            yield from language.after_fallible.split("\n")

    def _note_modified(self, target: ast.expr) -> None:
        if variable := self._variable(_variable_in(target)):
            self.modified.add(variable[1])

    def _AugAssign(self, node: ast.AugAssign) -> Iterator[str]:  # noqa: N802
        if isinstance(node.target, ast.Name):
            self.changed.add(cast("tuple[str, int]", self._variable(node.target.id))[1])
        self._note_modified(node.target)
        yield f"{self.text(node.target)} {_SIGNS[type(node.op)][0]}= {self.text(node.value)}{self.language.end}"

    def _For(self, node: ast.For) -> Iterator[str]:  # noqa: N802
        target, ends = cast("ast.Name", node.target).id, cast("ast.Call", node.iter).args
        first, last = (["0"] if len(ends) == 1 else []) + [self.text(end) for end in ends]
        head = self.language.for_.format(self.language.name_of(target), first, last)
        yield from self._blocks(head, node, {target: ("int", 0)})

    def _While(self, node: ast.While) -> Iterator[str]:  # noqa: N802
        yield from self._blocks(self.language.while_.format(self.text(node.test)), node)

    def _If(self, node: ast.If) -> Iterator[str]:  # noqa: N802
        yield from self._blocks(self.language.if_.format(self.text(node.test)), node)

    def _blocks(
        self, head: str, node: ast.For | ast.While | ast.If, names: Mapping[str, tuple[str, int]] | None = None
    ) -> Iterator[str]:
        yield self.language.block.format(head)
        yield from self._block(node.body, names)
        if node.orelse:
            yield self.language.otherwise
            yield from self._block(node.orelse)
        yield from self._closed()

    def _closed(self) -> Iterator[str]:
        if self.language.close:
            yield self.language.close

    def _Return(self, node: ast.Return) -> Iterator[str]:  # noqa: N802
        template = self.language.return_fallible if self.current.name in self.fallible else "return {0}"
        yield template.format(self.text(cast("ast.expr", node.value))) + self.language.end

    def _Raise(self, node: ast.Raise) -> Iterator[str]:  # noqa: N802
        first, *more = cast("ast.Call", node.exc).args
        texts = [cast("ast.Constant", part).value for part in (first, *more[1:])]
        nothing = self.language.constants.get(f"no {self.type_of_result(self.current)}", "")
        if more and self.language.raise_value:
            before, after = (self.language.text(str(text)) for text in texts)
            line = self.language.raise_value.format(before, self.text(more[0]), after, nothing=nothing)
        else:
            line = self.language.raise_.format(self.language.text("...".join(map(str, texts))), nothing=nothing)
        yield from (line + self.language.end).split("\n")

    def _Continue(self, node: ast.Continue) -> Iterator[str]:  # noqa: N802
        yield f"continue{self.language.end}"

    def _Expr(self, node: ast.Expr) -> Iterator[str]:  # noqa: N802
        yield f"{self.text(node.value)}{self.language.end}"

    # -- expressions ------------------------------------------------------------------------------------------

    def text(self, node: ast.expr, least: int = 0) -> str:
        """An expression as text; in parentheses if it binds less than `least`."""
        text, binds = self._bound(node)
        return text if binds >= least else f"({text})"

    def _bound(self, node: ast.expr) -> tuple[str, int]:
        """An expression as text, and how strongly it binds."""
        return cast("tuple[str, int]", getattr(self, f"_{type(node).__name__}")(node))

    def _Constant(self, node: ast.Constant) -> tuple[str, int]:  # noqa: N802
        value = node.value
        if isinstance(value, bool):
            return self.language.constants[str(value)], _ATOM
        return repr(value), _ATOM

    def _Name(self, node: ast.Name) -> tuple[str, int]:  # noqa: N802
        return self.language.constants.get(node.id) or self.language.name_of(node.id), _ATOM

    def _Attribute(self, node: ast.Attribute) -> tuple[str, int]:  # noqa: N802
        return f"{self.text(node.value)}.{self.language.name_of(node.attr)}", _ATOM

    def _Subscript(self, node: ast.Subscript) -> tuple[str, int]:  # noqa: N802
        return f"{self.text(node.value)}[{self.text(node.slice)}]", _ATOM

    def _BinOp(self, node: ast.BinOp) -> tuple[str, int]:  # noqa: N802
        sign, binds = _SIGNS[type(node.op)]
        template = self.language.signs.get(sign, f"{{0}} {sign} {{1}}")
        return template.format(self.text(node.left, binds), self.text(node.right, binds + 1)), binds

    def _BoolOp(self, node: ast.BoolOp) -> tuple[str, int]:  # noqa: N802
        sign, binds = _SIGNS[type(node.op)]
        joined = f" {self.language.signs.get(sign, sign)} "
        return joined.join(self.text(value, 3) for value in node.values), binds  # "and" in "or" is in parentheses

    def _Compare(self, node: ast.Compare) -> tuple[str, int]:  # noqa: N802
        sign, binds = _SIGNS[type(node.ops[0])]
        sign = self.language.signs.get(sign, sign)
        return f"{self.text(node.left, binds + 1)} {sign} {self.text(node.comparators[0], binds + 1)}", binds

    def _UnaryOp(self, node: ast.UnaryOp) -> tuple[str, int]:  # noqa: N802
        if isinstance(node.op, ast.USub):
            return f"-{self.text(node.operand, 7)}", 7
        template, binds = self.language.not_
        return template.format(self.text(node.operand, binds + 1)), binds

    def _IfExp(self, node: ast.IfExp) -> tuple[str, int]:  # noqa: N802
        parts = [self.text(part, self.language.either_parts) for part in (node.test, node.body, node.orelse)]
        return self.language.either.format(*parts), self.language.either_binds

    def _Call(self, node: ast.Call) -> tuple[str, int]:  # noqa: N802
        name = cast("ast.Name", node.func).id
        if name == "Lists":
            fields = [(self.language.name_of(str(one.arg)), self.text(one.value)) for one in node.keywords]
            parts = [self.language.field_set.format(field, value) for field, value in fields]
            return self.language.new_lists.format(", ".join(parts)), _ATOM
        if name in _MODIFIES:
            self._note_modified(node.args[0])
        if name in self.functions:
            arguments = [self._argument(arg) for arg in node.args]
            if self.language.first_argument and name in self.allocating:
                arguments.insert(0, self.language.first_argument)
            text = f"{self.name(name)}({', '.join(arguments)})"
            return (self.language.fallible_call.format(text) if name in self.fallible else text), _ATOM
        template = self.language.calls[name]
        if template == "{0}":
            return self._bound(node.args[0])
        parts = [self.text(arg, 8 if template.startswith("{0}") else 0) for arg in node.args]
        return template.format(*parts), 3 if " " in template.replace(", ", "") else 8

    def _argument(self, node: ast.expr) -> str:
        text, kind = self.text(node), self.type_of(node)
        is_parameter = isinstance(node, ast.Name) and node.id in self.parameters
        by_reference = kind in ("Floats", "Ints", "Lists") and not is_parameter
        return self.language.reference.format(text) if by_reference else text

    # -- types ------------------------------------------------------------------------------------------------

    def type_of(self, node: ast.expr) -> str:
        """The type of an expression."""
        if isinstance(node, ast.Constant):
            return type(node.value).__name__
        if isinstance(node, ast.Name):
            variable = self._variable(node.id)
            return "float" if variable is None else variable[0]
        if isinstance(node, ast.Attribute):
            return FIELDS[node.attr]
        if isinstance(node, ast.Subscript):
            return _OF_COLUMN[self.type_of(node.value)]
        if isinstance(node, (ast.Compare, ast.BoolOp)):
            return "bool"
        if isinstance(node, ast.Call):
            name = cast("ast.Name", node.func).id
            if name in self.functions:
                return self.type_of_result(self.functions[name])
            return _RESULTS.get(name, "float")
        if isinstance(node, ast.UnaryOp):
            return "bool" if isinstance(node.op, ast.Not) else self.type_of(node.operand)
        return self.type_of(node.left if isinstance(node, ast.BinOp) else cast("ast.IfExp", node).body)
