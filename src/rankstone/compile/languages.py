"""The languages that metrics are compiled to, one row each; here those without types, and TypeScript."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from rankstone.compile.translate import SORTS, Language, all_replaced, replaced


def camel(name: str) -> str:
    """A name in camel case: ndcg_at_10 is ndcgAt10."""
    return re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), name)


def pascal(name: str) -> str:
    """The same with a capital."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def numbers(prefix: str, case: Callable[[str], str] = str) -> dict[str, str]:
    """Calls of functions of numbers, where a language has most of them by their usual names, with a prefix."""
    one = ("log2", "log", "sqrt", "exp", "abs", "floor", "ceil")
    two = {"min": "min", "max": "max", "power": "pow"}
    return {
        **{name: f"{prefix}{case(name)}({{0}})" for name in one},
        **{name: f"{prefix}{case(function)}({{0}}, {{1}})" for name, function in two.items()},
    }


def sorts(call: str, *orders: str) -> dict[str, str]:
    """Calls that sort rows, as SORTS names them, by the ORDER in each."""
    return {name: call.replace("ORDER", order) for name, order in zip(SORTS, orders, strict=True)}


# Calls of most languages.
CALLS = {"truth_rows": "{0}", "run_rows": "{0}", "same": "{0}", "divide": "{0} / {1}"}
CONSTANTS = {"True": "true", "False": "false", "NOWHERE": "-1"}


JAVASCRIPT = Language(
    name="javascript",
    endings=("js", "cjs"),
    head="function {name}({parameters})",
    calls={
        **CALLS, "numbers": "new Float64Array({0})", "ints": "new Int32Array({0})", "new_map": "new Map()",
        "truth_rows": "pairsOf({0})", "run_rows": "pairsOf({0})", "size": "{0}.length", "value_of": "{0}[{1}][1]",
        "id_of": "{0}[{1}][0]", "look_up": "{0}.get({1}) ?? -1", "put": "{0}.set({1}, {2})", "float": "{0}",
        "index": "{0}", "is_nan": "Number.isNaN({0})", "is_finite": "Number.isFinite({0})", "is_present": "{0} != null",
        "float32": "Math.fround({0})", **numbers("Math."), "rint": "rint({0})",
        **sorts(
            "{0}.subarray(0, {1}).sort((a, b) => ORDER)", "compareIds({2}[b][0], {2}[a][0])",
            "compareIds({2}[a][0], {2}[b][0])", "{2}[b] - {2}[a]", "{2}[a] - {2}[b]",
        ),
    },
    constants={**CONSTANTS, "INFINITY": "Infinity", "NAN": "NaN"},
    helpers={
        "pairsOf": """/** Pairs of an id and a number: of an array of them, a Map, or ids without numbers. */
function pairsOf(list) {
    return Array.from(list ?? [], (row) => (Array.isArray(row) ? row : [row, NaN]));
}""",
        "compareIds": """/** Compares ids by code points, as UTF-8 does. */
function compareIds(a, b) {
    if (typeof a !== "string" || typeof b !== "string") {
        return Number(a) - Number(b);
    }
    const place = (unit) => (unit >= 0xe000 ? unit - 0x800 : unit >= 0xd800 ? unit + 0x2000 : unit);
    for (let i = 0; i < a.length && i < b.length; i++) {
        if (a[i] !== b[i]) {
            return place(a.charCodeAt(i)) - place(b.charCodeAt(i));
        }
    }
    return a.length - b.length;
}""",
        "rint": """/** The nearest whole number; a half goes to the even one. */
function rint(x) {
    return x - Math.floor(x) === 0.5 ? 2 * Math.round(x / 2) : Math.round(x);
}""",
    },
    row="[{id}, {value}]",
    row_without_value="{id}",
    list_of_case="const {name} = [{rows}];",
    checks="""/** Computes the test cases; throws where a number is not the one that rankstone computes. */
function check() {
    const equal = (metric, nth, value, expected) => {
        const most = 1e-12 * Math.max(1, Math.abs(expected));
        if (Number.isNaN(expected) ? !Number.isNaN(value) : !(Math.abs(value - expected) <= most)) {
            throw new Error(`${metric} of case ${nth} is ${value}, not ${expected}`);
        }
    };
    CHECKS
}

if (typeof module !== "undefined") {
    module.exports = { FUNCTIONS, check };
    if (typeof require !== "undefined" && require.main === module) {
        check();
        console.log("COUNT numbers are right");
    }
}""",
    name_of=camel,
    public_name=camel,
    declare="let {name} = {value}",
    declare_fixed="const {name} = {value}",
    raise_value="throw new Error({0} + {1} + {2})",
    signs={"and": "&&", "or": "||", "==": "===", "!=": "!==", "//": "{0} >> 1"},
)  # fmt: skip


_TYPED = {
    "function pairsOf(list)": "function pairsOf(list: Truth | Run): [Id, number][]",
    "Array.from(list": "Array.from<[Id, number] | Id, [Id, number]>(list",
    "function compareIds(a, b)": "function compareIds(a: Id, b: Id): number",
    "(unit) =>": "(unit: number) =>",
    "function rint(x)": "function rint(x: number): number",
    "function check()": "export function check(): void",
    "(metric, nth, value, expected)": "(metric: string, nth: number, value: number, expected: number)",
}


TYPESCRIPT = replace(
    JAVASCRIPT,
    name="typescript",
    endings=("ts", "mts"),
    types={
        "float": "number", "int": "number", "bool": "boolean", "Floats": "Float64Array", "Ints": "Int32Array",
        "Truth": "Truth", "Run": "Run", "Lists": "Lists",
    },
    head="{access}function {name}({parameters}): {result}",
    access=("", "export "),
    parameter="{0}: {1}",
    structure="interface Lists {\n    FIELDS\n}",
    field_of_structure="{name}: {type};",
    calls={**JAVASCRIPT.calls, "new_map": "new Map<Id, number>()"},
    helpers={
        "Run": """export type Id = string | number;
export type Truth = Iterable<[Id, number]>;
/** Items with scores, or in their order without scores; null: the query is missing. */
export type Run = Iterable<[Id, number] | Id> | null;""",
        **all_replaced(JAVASCRIPT.helpers, _TYPED),
    },
    checks=replaced(JAVASCRIPT.checks.partition("\n\nif (typeof module")[0], _TYPED),
    list_of_case="const {name}: {side} = [{rows}];",
)  # fmt: skip

PYTHON = Language(
    name="python",
    endings=("py",),
    head="def {name}({parameters})",
    calls={
        **CALLS, "numbers": "[0.0] * ({0})", "ints": "[0] * ({0})", "new_map": "{{}}", "truth_rows": "pairs_of({0})",
        "run_rows": "pairs_of({0})", "size": "len({0})", "value_of": "{0}[{1}][1]", "id_of": "{0}[{1}][0]",
        "look_up": "{0}.get({1}, -1)", "put": "{0}[{1}] = {2}", "float": "float({0})", "index": "int({0})",
        "is_nan": "isnan({0})", "is_finite": "isfinite({0})", "is_present": "{0} is not None",
        "float32": "float32({0})", **numbers(""), "power": "power({0}, {1})", "divide": "divide({0}, {1})",
        "rint": "rint({0})",
        **sorts(
            "{0}[:{1}] = sorted({0}[:{1}], key=lambda row: ORDER)", "{2}[row][0], reverse=True", "{2}[row][0]",
            "-{2}[row]", "{2}[row]",
        ),
    },
    constants={"True": "True", "False": "False", "INFINITY": "inf", "NAN": "nan", "NOWHERE": "-1"},
    helpers={
        "pairs_of": '''def pairs_of(rows):
    """Pairs of an id and a number: of a dict, of pairs, or of a list of ids, which have no numbers."""
    if isinstance(rows, dict):
        return list(rows.items())
    return [row if isinstance(row, tuple) else (row, nan) for row in rows or []]''',
        "float32": '''def float32(x):
    """The nearest number of 32 bits."""
    try:
        return struct.unpack("f", struct.pack("f", x))[0]
    except OverflowError:
        return inf if x > 0 else -inf''',
        "divide": '''def divide(a, b):
    """A quotient, also by 0."""
    return a / b if b != 0.0 else nan if a == 0.0 or isnan(a) else inf if a > 0.0 else -inf''',
        "power": '''def power(base, exponent):
    """A power; infinite where it is too large."""
    try:
        return float(base**exponent)
    except OverflowError:
        return inf''',
        "rint": '''def rint(x):
    """The nearest whole number; a half goes to the even one."""
    return float(round(x)) if isfinite(x) else x''',
    },
    imports={
        "struct.": "import struct",
        "SimpleNamespace(": "from types import SimpleNamespace",
        "(": "from math import ceil, exp, floor, inf, isfinite, isnan, log, log2, nan, sqrt  # noqa: F401",
    },
    row="({id}, {value})",
    row_without_value="{id}",
    list_of_case="{name} = [{rows}]",
    check="equal({metric}, {case}, {call}, {value})",
    checks='''def check():
    """Compute the test cases; raise where a number is not the one that rankstone computes."""

    def equal(metric, nth, value, expected):
        most = 1e-12 * max(1.0, abs(expected))
        if not (isnan(value) if isnan(expected) else abs(value - expected) <= most):
            raise AssertionError(f"{metric} of case {nth} is {value}, not {expected}")

    CHECKS


if __name__ == "__main__":
    check()
    print("COUNT numbers are right")''',
    comment=("", "", ""),
    file_comment="#",
    block="{0}:",
    close="",
    otherwise="else:",
    if_="if {0}",
    while_="while {0}",
    for_="for {0} in range({1}, {2})",
    end="",
    declare="{name} = {value}",
    raise_="raise ValueError({0})",
    raise_value='raise ValueError({0} + format({1}, "g") + {2})',
    either="{1} if {0} else {2}",
    field_set="{0}={1}",
    new_lists="SimpleNamespace({0})",
    signs={},
    not_=("not {0}", 3),
    between="\n\n\n",
)  # fmt: skip
