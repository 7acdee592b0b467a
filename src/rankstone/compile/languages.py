"""The languages that metrics are compiled to, one row each."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rankstone.compile.translate import Language, Printer, Rows


def camel(name: str) -> str:
    """A name in camel case: ndcg_at_10 is ndcgAt10."""
    return re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), name)


def _pascal(name: str) -> str:
    return camel(f"_{name}")


def _parameters(printer: Printer, function: ast.FunctionDef, template: str) -> str:
    return ", ".join(
        template.format(printer.language.name_of(name), printer.language.types[kind])
        for name, kind in printer.parameters.items()
    )


def _lines(texts: Sequence[str], indent: str = "    ") -> str:
    return "\n".join(f"{indent}{line}" for text in texts for line in text.split("\n"))


def _number(value: float | None, names: Mapping[str, str]) -> str:
    """A number of a test case."""
    if value is None or value != value:
        return names["NAN"]
    return repr(float(value))


# -- JavaScript and TypeScript ---------------------------------------------------------------------------------------

_COMPARE_IDS = """/** Compares ids by code points, as UTF-8 does. */
function compareIds(a, b) {
    if (typeof a !== "string" || typeof b !== "string") {
        return a < b ? -1 : a > b ? 1 : 0;
    }
    const after = (unit) => (unit >= 0xe000 ? unit - 0x800 : unit >= 0xd800 ? unit + 0x2000 : unit);
    for (let i = 0; i < a.length && i < b.length; i++) {
        if (a[i] !== b[i]) {
            return after(a.charCodeAt(i)) - after(b.charCodeAt(i));
        }
    }
    return a.length - b.length;
}"""
_RINT = """/** The nearest whole number; a half goes to the even one. */
function rint(x) {
    const rest = x - Math.floor(x);
    return rest === 0.5 ? 2 * Math.round(x / 2) : Math.round(x);
}"""


def _script_rows(rows: Rows, ids: str) -> str:
    if rows is None:
        return "null"
    pairs = [
        Language.text(id) if isinstance(id, str) and score is None else
        str(id) if score is None else f"[{Language.text(id) if isinstance(id, str) else id}, {_number(score, {'NAN': 'NaN'})}]"
        for id, score in rows
    ]  # fmt: skip
    return f"[{', '.join(pairs)}]"


def _script_checks(name: str, checks: Sequence[str], functions: Sequence[str], count: int) -> str:
    exported = f"if (typeof module !== \"undefined\") {{\n    module.exports = {{ {', '.join(functions)}, check }};\n"
    return f"""/** Computes the test cases; throws where a number is not the one that rankstone computes. */
function check() {{
    const equal = (metric, nth, value, expected) => {{
        const same = Number.isNaN(expected) ? Number.isNaN(value) : Math.abs(value - expected) <= 1e-12 * Math.max(1, Math.abs(expected));
        if (!same) {{
            throw new Error(`${{metric}} of case ${{nth}} is ${{value}}, not ${{expected}}`);
        }}
    }};
{_lines(checks)}
}}

{exported}    if (typeof require !== "undefined" && require.main === module) {{
        check();
        console.log("{count} numbers are right");
    }}
}}"""


JAVASCRIPT = Language(
    name="javascript",
    endings=("js", "cjs"),
    types=dict.fromkeys(("float", "int", "bool", "Floats", "Ints", "Rows", "Map", "Lists", "Truth", "Run", "Id"), ""),
    head=lambda printer, function: f"function {printer.name(function.name)}({_parameters(printer, function, '{0}')})",
    structure=lambda fields: "",
    calls={
        "numbers": "new Float64Array({0})", "ints": "new Int32Array({0})", "new_map": "new Map()",
        "truth_rows": "pairsOf({0})", "run_rows": "pairsOf({0})", "size": "{0}.length", "value_of": "{0}[{1}][1]",
        "id_of": "{0}[{1}][0]", "look_up": "{0}.get({1}) ?? -1", "put": "{0}.set({1}, {2})", "float": "{0}",
        "index": "{0}", "is_nan": "Number.isNaN({0})", "is_finite": "Number.isFinite({0})", "is_present": "{0} != null",
        "same": "{0}", "float32": "Math.fround({0})",
        "sort_by_id": "{0}.subarray(0, {1}).sort((a, b) => ({3} ? -1 : 1) * compareIds({2}[a][0], {2}[b][0]))",
        "sort_descending": "{0}.subarray(0, {1}).sort((a, b) => {2}[b] - {2}[a])",
        "sort_ascending": "{0}.subarray(0, {1}).sort((a, b) => {2}[a] - {2}[b])",
        "min": "Math.min({0}, {1})", "max": "Math.max({0}, {1})", "power": "Math.pow({0}, {1})",
        "divide": "{0} / {1}", "rint": "rint({0})",
        **{name: f"Math.{name}({{0}})" for name in ("log2", "log", "sqrt", "exp", "abs", "floor", "ceil")},
    },
    constants={"True": "true", "False": "false", "INFINITY": "Infinity", "NAN": "NaN", "NOWHERE": "-1"},
    helpers={
        "pairsOf": """/** Pairs of an id and a number, of an array of pairs, a Map, or an array of ids (best first, without scores). */
function pairsOf(list) {
    return Array.from(list ?? [], (row) => (Array.isArray(row) ? row : [row, NaN]));
}""",
        "compareIds": _COMPARE_IDS,
        "rint": _RINT,
    },
    rows=_script_rows,
    checks=_script_checks,
    check="equal({metric}, {case}, {call}, {value});",
    list_of_case="const {name} = {rows};",
    name_of=camel,
    public_name=camel,
    declare="let {name} = {value}",
    declare_fixed="const {name} = {value}",
    raise_value="throw new Error({0} + {1} + {2})",
    signs={"and": "&&", "or": "||", "==": "===", "!=": "!==", "//": "{0} / 2 | 0"},
)  # fmt: skip

# -- Python ----------------------------------------------------------------------------------------------------------


def _python_rows(rows: Rows, ids: str) -> str:
    if rows is None:
        return "None"
    pairs = [repr(id) if score is None else f"({id!r}, {score!r})" for id, score in rows]
    return f"[{', '.join(pairs)}]"


def _python_checks(name: str, checks: Sequence[str], functions: Sequence[str], count: int) -> str:
    return f'''def check():
    """Compute the test cases; raise where a number is not the one that rankstone computes."""

    def equal(metric, nth, value, expected):
        same = isnan(value) if isnan(expected) else abs(value - expected) <= 1e-12 * max(1.0, abs(expected))
        if not same:
            raise AssertionError(f"{{metric}} of case {{nth}} is {{value}}, not {{expected}}")

{_lines(checks)}


if __name__ == "__main__":
    check()
    print("{count} numbers are right")'''


PYTHON = Language(
    name="python",
    endings=("py",),
    types=dict.fromkeys(JAVASCRIPT.types, ""),
    head=lambda printer, function: f"def {printer.name(function.name)}({_parameters(printer, function, '{0}')})",
    structure=lambda fields: "",
    calls={
        "numbers": "[0.0] * ({0})", "ints": "[0] * ({0})", "new_map": "{{}}", "truth_rows": "pairs_of({0})",
        "run_rows": "pairs_of({0})", "size": "len({0})", "value_of": "{0}[{1}][1]", "id_of": "{0}[{1}][0]",
        "look_up": "{0}.get({1}, -1)", "put": "{0}[{1}] = {2}", "float": "float({0})", "index": "int({0})",
        "is_nan": "isnan({0})", "is_finite": "isfinite({0})", "is_present": "{0} is not None", "same": "{0}",
        "float32": "float32({0})",
        "sort_by_id": "{0}[:{1}] = sorted({0}[:{1}], key=lambda row: {2}[row][0], reverse={3})",
        "sort_descending": "{0}[:{1}] = sorted({0}[:{1}], key=lambda row: -{2}[row])",
        "sort_ascending": "{0}[:{1}] = sorted({0}[:{1}], key=lambda row: {2}[row])",
        "min": "min({0}, {1})", "max": "max({0}, {1})", "power": "power({0}, {1})", "divide": "divide({0}, {1})",
        "rint": "rint({0})", "abs": "abs({0})",
        **{name: f"{name}({{0}})" for name in ("log2", "log", "sqrt", "exp", "floor", "ceil")},
    },
    constants={"True": "True", "False": "False", "INFINITY": "inf", "NAN": "nan", "NOWHERE": "-1"},
    helpers={
        "pairs_of": '''def pairs_of(rows):
    """Pairs of an id and a number, of a dict, of pairs, or of a list of ids (best first, without scores)."""
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
    rows=_python_rows,
    checks=_python_checks,
    check="equal({metric}, {case}, {call}, {value})",
    list_of_case="{name} = {rows}",
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
    new_lists="SimpleNamespace({0})",
    field_set="{0}={1}",
    not_=("not {0}", 3),
)  # fmt: skip

LANGUAGES: dict[str, Language] = {row.name: row for row in (JAVASCRIPT, PYTHON)}
