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
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


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


def _script_checks(name: str, lists: Sequence[str], checks: Sequence[str], functions: Sequence[str]) -> str:
    exported = f"if (typeof module !== \"undefined\") {{\n    module.exports = {{ {', '.join(functions)}, check }};\n"
    return f"""/** Computes the test cases; throws where a number is not the one that rankstone computes. */
function check() {{
    const equal = (metric, nth, value, expected) => {{
        const same = Number.isNaN(expected) ? Number.isNaN(value) : Math.abs(value - expected) <= 1e-12 * Math.max(1, Math.abs(expected));
        if (!same) {{
            throw new Error(`${{metric}} of case ${{nth}} is ${{value}}, not ${{expected}}`);
        }}
    }};
{_lines([*lists, *checks])}
}}

{exported}    if (typeof require !== "undefined" && require.main === module) {{
        check();
        console.log("{len(checks)} numbers are right");
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
        "sort_by_id_descending": "{0}.subarray(0, {1}).sort((a, b) => compareIds({2}[b][0], {2}[a][0]))",
        "sort_by_id_ascending": "{0}.subarray(0, {1}).sort((a, b) => compareIds({2}[a][0], {2}[b][0]))",
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
    signs={"and": "&&", "or": "||", "==": "===", "!=": "!==", "//": "{0} >> 1"},
)  # fmt: skip

_SCRIPT_TYPES = {
    "float": "number", "int": "number", "bool": "boolean", "Floats": "Float64Array", "Ints": "Int32Array",
    "Truth": "Truth", "Run": "Run", "Lists": "Lists",
}  # fmt: skip


def _typed(text: str) -> str:
    """A helper of JavaScript with types."""
    for old, new in _SIGNATURES.items():
        text = text.replace(old, new)
    return text


_SIGNATURES = {
    "function pairsOf(list)": "function pairsOf(list: Truth | Run): [Id, number][]",
    "Array.from(list": "Array.from<[Id, number] | Id, [Id, number]>(list",
    "function compareIds(a, b)": "function compareIds(a: Id, b: Id): number",
    "(unit) =>": "(unit: number) =>",
    "function rint(x)": "function rint(x: number): number",
    "function check()": "export function check(): void",
    "(metric, nth, value, expected)": "(metric: string, nth: number, value: number, expected: number)",
}


def _typescript_checks(name: str, lists: Sequence[str], checks: Sequence[str], functions: Sequence[str]) -> str:
    text = _script_checks(name, lists, checks, functions).partition("\n\nif (typeof module")[0]
    return _typed(text)


TYPESCRIPT = replace(
    JAVASCRIPT,
    name="typescript",
    endings=("ts", "mts"),
    types=_SCRIPT_TYPES,
    head=lambda printer, function: (
        f"{'export ' * (function.name in printer.public)}function {printer.name(function.name)}"
        f"({_parameters(printer, function, '{0}: {1}')}): {_SCRIPT_TYPES[printer.type_of_result(function)]}"
    ),
    structure=lambda fields: "\n".join(
        ["interface Lists {", *(f"    {camel(name)}: {_SCRIPT_TYPES[kind]};" for name, kind in fields.items()), "}"]
    ),
    calls={**JAVASCRIPT.calls, "new_map": "new Map<Id, number>()"},
    helpers={
        "Run": """export type Id = string | number;
export type Truth = Iterable<[Id, number]>;
/** Items with scores, or in their order without scores; null: the query is missing. */
export type Run = Iterable<[Id, number] | Id> | null;""",
        **{name: _typed(text) for name, text in JAVASCRIPT.helpers.items()},
    },
    checks=_typescript_checks,
    list_of_case="const {name}: {side} = {rows};",
)

# -- C ---------------------------------------------------------------------------------------------------------------


def _c_head(printer: Printer, function: ast.FunctionDef) -> str:
    if function.name in printer.public:
        return f"static double {function.name}_value(Memory *memory, Items truth, Items run)"
    memory = "Memory *memory, " * (function.name in printer.allocating)
    parameters = memory + _parameters(printer, function, "{1} {0}")
    return f"static {printer.result(function)} {printer.name(function.name)}({parameters})".replace("* ", "*")


def _c_after(printer: Printer, function: ast.FunctionDef) -> str:
    return f"""
double {function.name}(Items truth, Items run, const char **error) {{
    Memory memory = {{0}};
    return finished(&memory, {function.name}_value(&memory, truth, run), error);
}}"""


def _c_rows(rows: Rows, ids: str) -> str:
    if rows is None:
        return "{NULL, 0}"
    items = ", ".join(f"{{{Language.text(id) if isinstance(id, str) else id}, {_number(value, {'NAN': 'NAN'})}}}" for id, value in rows)
    return f"{{(const Item[]){{{items or '{0}'}}}, {len(rows)}}}"


def _c_checks(name: str, lists: Sequence[str], checks: Sequence[str], functions: Sequence[str]) -> str:
    return f"""#ifdef CHECK
#include <stdio.h>

static int failures = 0;

static void equal(const char *metric, int nth, double value, double expected) {{
    int same = isnan(expected) ? isnan(value) : fabs(value - expected) <= 1e-12 * fmax(1.0, fabs(expected));
    if (!same) {{
        printf("%s of case %d is %.17g, not %.17g\\n", metric, nth, value, expected);
        failures++;
    }}
}}

/* Computes the test cases: cc -DCHECK {name}.c -lm && ./a.out */
int main(void) {{
{_lines([*lists, *checks])}
    if (failures == 0) {{
        printf("{len(checks)} numbers are right\\n");
    }}
    return failures != 0;
}}
#endif"""


def _c_ids(ids: str) -> Language:
    if ids == "text":
        return C
    changes = {"const char *id;": "int64_t id;", "strcmp(a->id, b->id)": "((a->id > b->id) - (a->id < b->id))",
               "strcmp(map->ids[at], id) != 0": "map->ids[at] != id", "const char **ids": "int64_t *ids",
               "const char *id,": "int64_t id,", "const char *id)": "int64_t id)",
               "(const char **)": "(int64_t *)", "sizeof(char *)": "sizeof(int64_t)"}  # fmt: skip
    helpers = dict(C.helpers)
    for name, text in helpers.items():
        for old, new in changes.items():
            text = text.replace(old, new)
        helpers[name] = re.sub(r"    for \(const char \*c = id; .*\n", "    hash = (hash ^ (uint64_t)id) * 1099511628211u;\n", text)
    return replace(C, helpers=helpers)


_C_TYPES = {
    "float": "double", "int": "size_t", "bool": "bool", "Floats": "double *", "Ints": "size_t *", "Rows": "Items",
    "Truth": "Items", "Run": "Items", "Map": "Map *", "Lists": "Lists", "Id": "Id",
}  # fmt: skip
C = Language(
    name="c",
    endings=("c", "h"),
    types=_C_TYPES,
    head=_c_head,
    after_public=_c_after,
    structure=lambda fields: "\n".join(
        ["typedef struct {", *(f"    {_C_TYPES[kind]} {name};".replace("* ", "*") for name, kind in fields.items()), "} Lists;"]
    ),
    calls={
        "numbers": "allocate(memory, {0}, sizeof(double))", "ints": "allocate(memory, {0}, sizeof(size_t))",
        "new_map": "new_map(memory, {0})", "truth_rows": "{0}", "run_rows": "{0}", "size": "{0}.count",
        "value_of": "{0}.items[{1}].value", "id_of": "{0}.items[{1}].id", "look_up": "look_up({0}, {1})",
        "put": "put({0}, {1}, {2})", "float": "(double)({0})", "index": "(size_t)({0})", "is_nan": "isnan({0})",
        "is_finite": "isfinite({0})", "is_present": "{0}.items != NULL", "same": "{0}", "float32": "(double)(float)({0})",
        "sort_by_id_descending": "sort_by_id(memory, {0}, {1}, {2}, true)",
        "sort_by_id_ascending": "sort_by_id(memory, {0}, {1}, {2}, false)", "sort_descending": "sort_by(memory, {0}, {1}, {2}, -1.0)",
        "sort_ascending": "sort_by(memory, {0}, {1}, {2}, 1.0)", "min": "fmin({0}, {1})", "max": "fmax({0}, {1})",
        "power": "pow({0}, {1})", "divide": "({0}) / ({1})", "rint": "nearbyint({0})", "abs": "fabs({0})",
        **{name: f"{name}({{0}})" for name in ("log2", "log", "sqrt", "exp", "floor", "ceil")},
    },
    constants={
        "True": "true", "False": "false", "INFINITY": "INFINITY", "NAN": "NAN", "NOWHERE": "NOWHERE",
        "no float": "NAN", "no Lists": "(Lists){0}",
    },
    helpers={
        "Items": """/* An item, and its grade or its score; a score of NAN is none, in a run that is only an order. */
typedef struct {
    const char *id;
    double value;
} Item;

/* A truth or a run; items of NULL: the query is missing. */
typedef struct {
    const Item *items;
    size_t count;
} Items;""",
        "memory": """/* What a call allocates, and what is wrong with its data. */
typedef struct Memory {
    void *last;
    const char *error;
} Memory;

static void *allocate(Memory *memory, size_t count, size_t size) {
    void **block = calloc(1, sizeof(double) * 2 + count * size);
    if (block == NULL) {
        abort();
    }
    *block = memory->last;
    memory->last = block;
    return (double *)block + 2;
}

static double finished(Memory *memory, double value, const char **error) {
    while (memory->last != NULL) {
        void *block = memory->last;
        memory->last = *(void **)block;
        free(block);
    }
    if (error != NULL) {
        *error = memory->error;
    }
    return memory->error == NULL ? value : NAN;
}""",
        "Map": """#define NOWHERE SIZE_MAX

/* Where each id is; open addressing. */
typedef struct {
    size_t size;
    const char **ids;
    size_t *at;
} Map;

static Map *new_map(Memory *memory, size_t count) {
    Map *map = allocate(memory, 1, sizeof(Map));
    map->size = 16;
    while (map->size < 2 * count) {
        map->size *= 2;
    }
    map->ids = (const char **)allocate(memory, map->size, sizeof(char *));
    map->at = allocate(memory, map->size, sizeof(size_t));
    memset(map->at, 0xff, map->size * sizeof(size_t));
    return map;
}

static size_t slot_of(const Map *map, const char *id) {
    uint64_t hash = 14695981039346656037u;
    for (const char *c = id; *c != 0; c++) hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    size_t at = (size_t)(hash ^ hash >> 32) & (map->size - 1);
    while (map->at[at] != NOWHERE && strcmp(map->ids[at], id) != 0) {
        at = (at + 1) & (map->size - 1);
    }
    return at;
}

static size_t look_up(const Map *map, const char *id) { return map->at[slot_of(map, id)]; }

static void put(Map *map, const char *id, size_t place) {
    size_t at = slot_of(map, id);
    map->ids[at] = id;
    map->at[at] = place;
}""",
        "sort_by": """typedef struct {
    double key;
    size_t row, nth;
} Keyed;

static int compare_keys(const void *first, const void *second) {
    const Keyed *a = first, *b = second;
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return a->nth < b->nth ? -1 : 1;
}

/* Sorts rows by their keys times a sign, the lowest first; equal ones stay in their order. */
static void sort_by(Memory *memory, size_t *order, size_t count, const double *keys, double sign) {
    Keyed *rows = allocate(memory, count, sizeof(Keyed));
    for (size_t i = 0; i < count; i++) {
        rows[i] = (Keyed){sign * keys[order[i]], order[i], i};
    }
    qsort(rows, count, sizeof(Keyed), compare_keys);
    for (size_t i = 0; i < count; i++) {
        order[i] = rows[i].row;
    }
}""",
        "sort_by_id": """typedef struct {
    const char *id;
    size_t row, nth;
} Named;

static int compare_ids(const void *first, const void *second) {
    const Named *a = first, *b = second;
    int compared = strcmp(a->id, b->id);
    return compared != 0 ? compared : a->nth < b->nth ? -1 : 1;
}

/* Sorts rows by their ids, as bytes. */
static void sort_by_id(Memory *memory, size_t *order, size_t count, Items rows, bool descending) {
    Named *named = allocate(memory, count, sizeof(Named));
    for (size_t i = 0; i < count; i++) {
        named[i] = (Named){rows.items[order[i]].id, order[i], i};
    }
    qsort(named, count, sizeof(Named), compare_ids);
    for (size_t i = 0; i < count; i++) {
        order[i] = named[descending ? count - 1 - i : i].row;
    }
}""",
    },
    imports={
        "fabs": "#include <math.h>",
        "bool": "#include <stdbool.h>",
        "size_t": "#include <stddef.h>\n#include <stdint.h>",
        "free": "#include <stdlib.h>\n#include <string.h>",
    },
    rows=_c_rows,
    checks=_c_checks,
    check="equal({metric}, {case}, {call}, {value});",
    list_of_case="Items {name} = {rows};",
    call_of_case="{0}({1}, NULL)",
    comment=("/*", " * ", " */"),
    for_="for (size_t {0} = {1}; {0} < {2}; {0}++)",
    raise_='memory->error = {0};\nreturn {nothing}',
    after_fallible="if (memory->error != NULL) {\n    return NAN;\n}",
    signs={"and": "&&", "or": "||", "//": "{0} / {1}"},
    reference="{0}",
    first_argument="memory",
    field_set=".{0} = {1}",
    new_lists="(Lists){{ {0} }}",
    of_ids=_c_ids,
)  # fmt: skip

# -- Python ----------------------------------------------------------------------------------------------------------


def _python_rows(rows: Rows, ids: str) -> str:
    if rows is None:
        return "None"
    pairs = [repr(id) if score is None else f"({id!r}, {score!r})" for id, score in rows]
    return f"[{', '.join(pairs)}]"


def _python_checks(name: str, lists: Sequence[str], checks: Sequence[str], functions: Sequence[str]) -> str:
    return f'''def check():
    """Compute the test cases; raise where a number is not the one that rankstone computes."""

    def equal(metric, nth, value, expected):
        same = isnan(value) if isnan(expected) else abs(value - expected) <= 1e-12 * max(1.0, abs(expected))
        if not same:
            raise AssertionError(f"{{metric}} of case {{nth}} is {{value}}, not {{expected}}")

{_lines([*lists, *checks])}


if __name__ == "__main__":
    check()
    print("{len(checks)} numbers are right")'''


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
        "sort_by_id_descending": "{0}[:{1}] = sorted({0}[:{1}], key=lambda row: {2}[row][0], reverse=True)",
        "sort_by_id_ascending": "{0}[:{1}] = sorted({0}[:{1}], key=lambda row: {2}[row][0])",
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

# -- Java ------------------------------------------------------------------------------------------------------------


def _java_rows(rows: Rows, ids: str) -> str:
    if rows is None:
        return "null"
    names = {"NAN": "Double.NaN"}
    items = [
        f"new Item({Language.text(id) if isinstance(id, str) else f'{id}L'}, {_number(value, names)})" for id, value in rows
    ]
    return f"List.of({', '.join(items)})"


def _java_checks(name: str, lists: Sequence[str], checks: Sequence[str], functions: Sequence[str]) -> str:
    parts = [checks[start : start + 200] for start in range(0, len(checks), 200)]  # a method has 64 kilobytes at most
    methods = "\n\n".join(
        f"private static void check{nth}() {{\n{_lines(part)}\n}}" for nth, part in enumerate(parts, 1)
    )
    listed = "\n".join(lists)
    calls = _lines([f"check{nth}();" for nth in range(1, len(parts) + 1)])
    return f"""private static void equal(String metric, int nth, double value, double expected) {{
    boolean same = Double.isNaN(expected) ? Double.isNaN(value) : Math.abs(value - expected) <= 1e-12 * Math.max(1.0, Math.abs(expected));
    if (!same) {{
        throw new AssertionError(metric + " of case " + nth + " is " + value + ", not " + expected);
    }}
}}

{listed}

{methods}

/** Computes the test cases; throws where a number is not the one that rankstone computes. */
public static void main(String[] arguments) {{
{calls}
    System.out.println("{len(checks)} numbers are right");
}}"""


def _java_file(name: str, text: str) -> str:
    head, _, body = text.partition("\n\n")
    imports, _, body = body.partition("\n\n")
    return f"{head}\n\n{imports}\n\npublic final class {_pascal(name)} {{\n{_lines([body])}\n}}".replace("\n    \n", "\n\n")


def _java_ids(ids: str) -> Language:
    if ids == "text":
        return JAVA
    helpers = {word: text.replace("String id", "long id").replace("compareIds(left, right)", "Long.compare(left, right)") for word, text in JAVA.helpers.items() if word != "compareIds"}
    calls = {word: text.replace("compareIds", "Long.compare").replace("<String", "<Long") for word, text in JAVA.calls.items()}
    return replace(JAVA, helpers=helpers, calls=calls)


_JAVA_TYPES = {
    "float": "double", "int": "int", "bool": "boolean", "Floats": "double[]", "Ints": "int[]", "Rows": "List<Item>",
    "Truth": "List<Item>", "Run": "List<Item>", "Map": "var", "Lists": "Lists",
}  # fmt: skip
JAVA = Language(
    name="java",
    endings=("java",),
    types=_JAVA_TYPES,
    head=lambda printer, function: (
        f"{'public' if function.name in printer.public else 'private'} static {printer.result(function)} "
        f"{printer.name(function.name)}({_parameters(printer, function, '{1} {0}')})"
    ),
    structure=lambda fields: (
        f"private record Lists({', '.join(f'{_JAVA_TYPES[kind]} {camel(name)}' for name, kind in fields.items())}) {{}}"
    ),
    calls={
        "numbers": "new double[{0}]", "ints": "new int[{0}]", "new_map": "new HashMap<String, Integer>()",
        "truth_rows": "{0}", "run_rows": "rowsOf({0})", "size": "{0}.size()", "value_of": "{0}.get({1}).value()",
        "id_of": "{0}.get({1}).id()", "look_up": "{0}.getOrDefault({1}, -1)", "put": "{0}.put({1}, {2})",
        "float": "(double) ({0})", "index": "(int) ({0})", "is_nan": "Double.isNaN({0})",
        "is_finite": "Double.isFinite({0})", "is_present": "{0} != null", "same": "{0}",
        "float32": "(double) (float) ({0})",
        "sort_by_id_descending": "sort({0}, {1}, (a, b) -> compareIds({2}.get(b).id(), {2}.get(a).id()))",
        "sort_by_id_ascending": "sort({0}, {1}, (a, b) -> compareIds({2}.get(a).id(), {2}.get(b).id()))",
        "sort_descending": "sort({0}, {1}, (a, b) -> {2}[a] > {2}[b] ? -1 : {2}[a] < {2}[b] ? 1 : 0)",
        "sort_ascending": "sort({0}, {1}, (a, b) -> {2}[a] < {2}[b] ? -1 : {2}[a] > {2}[b] ? 1 : 0)",
        "min": "Math.min({0}, {1})", "max": "Math.max({0}, {1})", "power": "Math.pow({0}, {1})",
        "divide": "({0}) / ({1})", "rint": "Math.rint({0})", "log2": "log2({0})",
        **{name: f"Math.{name}({{0}})" for name in ("log", "sqrt", "exp", "abs", "floor", "ceil")},
    },
    constants={
        "True": "true", "False": "false", "INFINITY": "Double.POSITIVE_INFINITY", "NAN": "Double.NaN", "NOWHERE": "-1",
    },
    helpers={
        "Item": """/** An item, and its grade or its score; a score of NaN is none, in a run that is only an order. */
public record Item(String id, double value) {}""",
        "rowsOf": """/** A run's items; null: the query is missing. */
private static List<Item> rowsOf(List<Item> run) {
    return run == null ? List.of() : run;
}""",
        "sort": """/** Sorts the first rows; equal ones stay in their order. */
private static void sort(int[] order, int count, Comparator<Integer> comparator) {
    int[] sorted = Arrays.stream(order, 0, count).boxed().sorted(comparator).mapToInt(row -> row).toArray();
    System.arraycopy(sorted, 0, order, 0, count);
}""",
        "compareIds": """/** Compares ids by code points, as UTF-8 does. */
private static int compareIds(String a, String b) {
    for (int i = 0; i < Math.min(a.length(), b.length()); i++) {
        if (a.charAt(i) != b.charAt(i)) {
            return place(a.charAt(i)) - place(b.charAt(i));
        }
    }
    return a.length() - b.length();
}

private static int place(char unit) {
    return unit >= 0xe000 ? unit - 0x800 : unit >= 0xd800 ? unit + 0x2000 : unit;
}""",
        "log2": """private static double log2(double x) {
    return Math.log(x) / Math.log(2.0);
}""",
    },
    imports={"List": "import java.util.Arrays;\nimport java.util.Comparator;\nimport java.util.HashMap;\nimport java.util.List;"},
    rows=_java_rows,
    checks=_java_checks,
    check="equal({metric}, {case}, {call}, {value});",
    list_of_case="private static final List<Item> {name} = {rows};",
    name_of=camel,
    public_name=camel,
    wrap=_java_file,
    for_="for (int {0} = {1}; {0} < {2}; {0}++)",
    raise_="throw new IllegalArgumentException({0})",
    raise_value="throw new IllegalArgumentException({0} + {1} + {2})",
    signs={"and": "&&", "or": "||", "//": "{0} / {1}"},
    field_set="{1}",
    new_lists="new Lists({0})",
    of_ids=_java_ids,
)  # fmt: skip

# -- Rust ------------------------------------------------------------------------------------------------------------


def _rust_rows(rows: Rows, ids: str) -> str:
    items = (
        f"({Language.text(id) if isinstance(id, str) else id}, {_number(value, {'NAN': 'f64::NAN'})})" for id, value in rows or ()
    )
    return f"&[{', '.join(items)}]"


def _rust_checks(name: str, lists: Sequence[str], checks: Sequence[str], functions: Sequence[str]) -> str:
    return f"""#[cfg(test)]
mod tests {{
    use super::*;

    fn equal(metric: &str, nth: usize, value: Result<f64, String>, expected: f64) {{
        let value = value.unwrap();
        let same = if expected.is_nan() {{ value.is_nan() }} else {{ (value - expected).abs() <= 1e-12 * f64::max(1.0, expected.abs()) }};
        assert!(same, "{{metric}} of case {{nth}} is {{value}}, not {{expected}}");
    }}

    /// The numbers that rankstone computes.
    #[test]
    fn check() {{
{_lines([*lists, *checks], "        ")}
    }}
}}"""


def _rust_ids(ids: str) -> Language:
    if ids == "text":
        return RUST
    return replace(
        RUST,
        helpers={word: text.replace("Item<'a> = (&'a str, f64)", "Item = (i64, f64)") for word, text in RUST.helpers.items()},
    )


def _rust_head(printer: Printer, function: ast.FunctionDef) -> str:
    result = printer.result(function)
    if function.name in printer.fallible:
        result = f"Result<{result}, String>"
    public = "pub " * (function.name in printer.public)
    return f"{public}fn {printer.name(function.name)}({_parameters(printer, function, '{0}: {1}')}) -> {result}"


_RUST_TYPES = {
    "float": "f64", "int": "usize", "bool": "bool", "Floats": "&[f64]", "Ints": "&[usize]", "Rows": "", "Id": "",
    "Truth": "&[Item]", "Run": "Option<&[Item]>", "Map": "", "Lists": "&Lists",
}  # fmt: skip
_RUST_RESULTS = {"Floats": "Vec<f64>", "Ints": "Vec<usize>", "Lists": "Lists"}
RUST = Language(
    name="rust",
    endings=("rs",),
    types=_RUST_TYPES,
    results=_RUST_RESULTS,
    head=_rust_head,
    structure=lambda fields: "\n".join(
        ["struct Lists {", *(f"    {name}: {_RUST_RESULTS.get(kind, _RUST_TYPES[kind])}," for name, kind in fields.items()), "}"]
    ),
    calls={
        "numbers": "vec![0.0; {0}]", "ints": "vec![0; {0}]", "new_map": "HashMap::new()", "truth_rows": "{0}",
        "run_rows": "{0}.unwrap_or(&[])", "size": "{0}.len()", "value_of": "{0}[{1}].1", "id_of": "{0}[{1}].0",
        "look_up": "{0}.get(&{1}).copied().unwrap_or(usize::MAX)", "put": "{0}.insert({1}, {2})",
        "float": "{0} as f64", "index": "{0} as usize", "is_nan": "f64::is_nan({0})",
        "is_finite": "f64::is_finite({0})", "is_present": "{0}.is_some()", "same": "{0}.clone()",
        "float32": "{0} as f32 as f64",
        "sort_by_id_descending": "{0}[..{1}].sort_by(|&a, &b| {2}[b].0.cmp(&{2}[a].0))",
        "sort_by_id_ascending": "{0}[..{1}].sort_by(|&a, &b| {2}[a].0.cmp(&{2}[b].0))",
        "sort_descending": "{0}[..{1}].sort_by(|&a, &b| compare({2}[b], {2}[a]))",
        "sort_ascending": "{0}[..{1}].sort_by(|&a, &b| compare({2}[a], {2}[b]))",
        "min": "f64::min({0}, {1})", "max": "f64::max({0}, {1})", "power": "f64::powf({0}, {1})",
        "divide": "({0}) / ({1})", "rint": "f64::round_ties_even({0})", "log": "f64::ln({0})",
        **{name: f"f64::{name}({{0}})" for name in ("log2", "sqrt", "exp", "abs", "floor", "ceil")},
    },
    constants={
        "True": "true", "False": "false", "INFINITY": "f64::INFINITY", "NAN": "f64::NAN", "NOWHERE": "usize::MAX",
    },
    helpers={
        "Item": """/// An item, and its grade or its score; a score of NaN is none, in a run that is only an order. A run of None: the
/// query is missing.
pub type Item<'a> = (&'a str, f64);""",
        "compare": """fn compare(a: f64, b: f64) -> std::cmp::Ordering {
    a.partial_cmp(&b).unwrap_or(std::cmp::Ordering::Equal)
}""",
    },
    imports={"HashMap": "use std::collections::HashMap;"},
    rows=_rust_rows,
    checks=_rust_checks,
    check="equal({metric}, {case}, {call}, {value});",
    list_of_case="let {name}: &[Item] = {rows};",
    reference_of_case="{0}.into()",
    comment=("", "/// ", ""),
    if_="if {0}",
    while_="while {0}",
    for_="for {0} in {1}..{2}",
    declare="let mut {name} = {value}",
    declare_fixed="let {name} = {value}",
    fallible_call="{0}?",
    modified_is_mutable=True,
    raise_="return Err({0}.to_string())",
    raise_value='return Err(format!("{{}}{{}}{{}}", {0}, {1}, {2}))',
    return_fallible="return Ok({0})",
    either="if {0} {{ {1} }} else {{ {2} }}",
    either_parts=0,
    signs={"and": "&&", "or": "||", "//": "{0} / {1}"},
    reference="&{0}",
    new_lists="Lists {{ {0} }}",
    of_ids=_rust_ids,
)  # fmt: skip

# -- Go --------------------------------------------------------------------------------------------------------------


def _go_rows(rows: Rows, ids: str) -> str:
    if rows is None:
        return "nil"
    items = (
        f"{{{Language.text(id) if isinstance(id, str) else id}, {_number(value, {'NAN': 'math.NaN()'})}}}" for id, value in rows
    )
    return f"[]Item{{{', '.join(items)}}}"


def _go_checks(name: str, lists: Sequence[str], checks: Sequence[str], functions: Sequence[str]) -> str:
    main = f"""

func main() {{
    if err := Check(); err != nil {{
        panic(err)
    }}
    fmt.Println("{len(checks)} numbers are right")
}}"""
    return f"""// Check computes the test cases; it is an error where a number is not the one that rankstone computes.
func Check() error {{
    var problem error
    equal := func(metric string, nth int, expected float64) func(float64, error) {{
        return func(value float64, err error) {{
            same := math.Abs(value-expected) <= 1e-12*math.Max(1.0, math.Abs(expected))
            if math.IsNaN(expected) {{
                same = math.IsNaN(value)
            }}
            if err != nil || !same {{
                problem = fmt.Errorf("%s of case %d is %v, not %v: %v", metric, nth, value, expected, err)
            }}
        }}
    }}
{_lines([*lists, *checks])}
    return problem
}}{main * (name == "main")}"""


def _go_ids(ids: str) -> Language:
    if ids == "text":
        return GO
    helpers = {word: text.replace("string", "int64") for word, text in GO.helpers.items()}
    return replace(GO, helpers=helpers, calls={**GO.calls, "new_map": "make(map[int64]int)"})


def _go_head(printer: Printer, function: ast.FunctionDef) -> str:
    result = printer.result(function)
    if function.name in printer.fallible:
        result = f"({result}, error)"
    return f"func {printer.name(function.name)}({_parameters(printer, function, '{0} {1}')}) {result}"


def _tabs(name: str, text: str) -> str:
    return re.sub(r"^( {4})+", lambda match: "\t" * (len(match[0]) // 4), text, flags=re.MULTILINE)


_GO_TYPES = {
    "float": "float64", "int": "int", "bool": "bool", "Floats": "[]float64", "Ints": "[]int", "Rows": "[]Item",
    "Truth": "[]Item", "Run": "[]Item", "Map": "", "Id": "", "Lists": "Lists",
}  # fmt: skip
GO = Language(
    name="go",
    endings=("go",),
    types=_GO_TYPES,
    head=_go_head,
    structure=lambda fields: "\n".join(
        ["type Lists struct {", *(f"    {camel(name)} {_GO_TYPES[kind]}" for name, kind in fields.items()), "}"]
    ),
    calls={
        "numbers": "make([]float64, {0})", "ints": "make([]int, {0})", "new_map": "make(map[string]int)",
        "truth_rows": "{0}", "run_rows": "{0}", "size": "len({0})", "value_of": "{0}[{1}].Value",
        "id_of": "{0}[{1}].ID", "look_up": "lookUp({0}, {1})", "put": "{0}[{1}] = {2}", "float": "float64({0})",
        "index": "int({0})", "is_nan": "math.IsNaN({0})", "is_finite": "isFinite({0})", "is_present": "{0} != nil",
        "same": "{0}", "float32": "float64(float32({0}))",
        "sort_by_id_descending": "sortRows({0}[:{1}], func(a, b int) bool {{ return {2}[a].ID > {2}[b].ID }})",
        "sort_by_id_ascending": "sortRows({0}[:{1}], func(a, b int) bool {{ return {2}[a].ID < {2}[b].ID }})",
        "sort_descending": "sortRows({0}[:{1}], func(a, b int) bool {{ return {2}[a] > {2}[b] }})",
        "sort_ascending": "sortRows({0}[:{1}], func(a, b int) bool {{ return {2}[a] < {2}[b] }})",
        "min": "math.Min({0}, {1})", "max": "math.Max({0}, {1})", "power": "math.Pow({0}, {1})",
        "divide": "({0}) / ({1})", "rint": "math.RoundToEven({0})",
        **{name: f"math.{name.title()}({{0}})" for name in ("log2", "log", "sqrt", "exp", "abs", "floor", "ceil")},
    },
    constants={
        "True": "true", "False": "false", "INFINITY": "math.Inf(1)", "NAN": "math.NaN()", "NOWHERE": "-1",
        "no float": "math.NaN()", "no Lists": "Lists{}",
    },
    helpers={
        "Item": """// Item is an item, and its grade or its score; a score of NaN is none, in a run that is only an order. A run of nil: the
// query is missing.
type Item struct {
    ID    string
    Value float64
}""",
        "lookUp": """func lookUp(position map[string]int, id string) int {
    if at, ok := position[id]; ok {
        return at
    }
    return -1
}""",
        "isFinite": """func isFinite(x float64) bool {
    return !math.IsNaN(x) && !math.IsInf(x, 0)
}""",
        "sortRows": """func sortRows(order []int, before func(a, b int) bool) {
    sort.SliceStable(order, func(i, j int) bool { return before(order[i], order[j]) })
}""",
        "where": """func where(condition bool, yes, no float64) float64 {
    if condition {
        return yes
    }
    return no
}""",
    },
    imports={
        "": "package NAME\n",
        "errors.": 'import "errors"',
        "fmt.": 'import "fmt"',
        "math.": 'import "math"',
        "sort.": 'import "sort"',
    },
    rows=_go_rows,
    checks=_go_checks,
    check="equal({metric}, {case}, {value})({call})",
    list_of_case="{name} := {rows}",
    name_of=camel,
    public_name=_pascal,
    comment=("", "// ", ""),
    wrap=_tabs,
    if_="if {0}",
    while_="for {0}",
    for_="for {0} := {1}; {0} < {2}; {0}++",
    end="",
    declare="{name} := {value}",
    declare_fallible="{name}, err := {value}",
    after_fallible="if err != nil {\n    return math.NaN(), err\n}",
    raise_="return {nothing}, errors.New({0})",
    raise_value='return {nothing}, fmt.Errorf("%s%g%s", {0}, {1}, {2})',
    return_fallible="return {0}, nil",
    either="where({0}, {1}, {2})",
    either_binds=9,
    signs={"and": "&&", "or": "||", "//": "{0} / {1}"},
    new_lists="Lists{{{0}}}",
    of_ids=_go_ids,
)  # fmt: skip

LANGUAGES: dict[str, Language] = {row.name: row for row in (JAVASCRIPT, TYPESCRIPT, PYTHON, C, JAVA, RUST, GO)}
