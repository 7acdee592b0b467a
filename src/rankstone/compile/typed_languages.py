"""The languages with types that metrics are compiled to: C, Java, Rust and Go, one row each."""

from __future__ import annotations

import re

from rankstone.compile.languages import (
    CALLS,
    CONSTANTS,
    JAVASCRIPT,
    PYTHON,
    TYPESCRIPT,
    camel,
    numbers,
    pascal,
    sorts,
)
from rankstone.compile.translate import Language

C = Language(
    name="c",
    endings=("c", "h"),
    types={
        "float": "double", "int": "size_t", "bool": "bool", "Floats": "double *", "Ints": "size_t *", "Rows": "Items",
        "Truth": "Items", "Run": "Items", "Map": "Map *", "Lists": "Lists",
    },
    head="static {result} {name}({parameters})",
    parameter="{1} {0}",
    first_parameter="Memory *memory",
    first_argument="memory",
    after_public="""double NAME(Items truth, Items run, const char **error) {
    Memory memory = {0};
    return finished(&memory, NAME_value(&memory, truth, run), error);
}""",
    structure="typedef struct {\n    FIELDS\n} Lists;",
    field_of_structure="{type} {name};",
    calls={
        **CALLS, "numbers": "allocate(memory, {0}, sizeof(double))", "ints": "allocate(memory, {0}, sizeof(size_t))",
        "new_map": "new_map(memory, {0})", "size": "{0}.count", "value_of": "{0}.items[{1}].value",
        "id_of": "{0}.items[{1}].id", "look_up": "look_up({0}, {1})", "put": "put({0}, {1}, {2})",
        "float": "(double)({0})", "index": "(size_t)({0})", "is_nan": "isnan({0})", "is_finite": "isfinite({0})",
        "is_present": "{0}.items != NULL", "float32": "(double)(float)({0})", **numbers(""), "min": "fmin({0}, {1})",
        "max": "fmax({0}, {1})", "rint": "nearbyint({0})", "abs": "fabs({0})",
        "sort_by_id_descending": "sort_by_id(memory, {0}, {1}, {2}, true)",
        "sort_by_id_ascending": "sort_by_id(memory, {0}, {1}, {2}, false)",
        "sort_descending": "sort_by(memory, {0}, {1}, {2}, -1.0)",
        "sort_ascending": "sort_by(memory, {0}, {1}, {2}, 1.0)",
    },
    constants={
        **CONSTANTS, "INFINITY": "INFINITY", "NAN": "NAN", "NOWHERE": "NOWHERE", "no float": "NAN",
        "no Lists": "(Lists){0}",
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
    integer_ids={
        "const char *id;": "int64_t id;", "strcmp(a->id, b->id)": "(a->id > b->id) - (a->id < b->id)",
        "strcmp(map->ids[at], id) != 0": "map->ids[at] != id", "const char **ids": "int64_t *ids",
        "const char *id": "int64_t id", "(const char **)": "", "sizeof(char *)": "sizeof(int64_t)",
        "for (const char *c = id; *c != 0; c++) hash = (hash ^ (unsigned char)*c) * 1099511628211u;":
            "hash = (hash ^ (uint64_t)id) * 1099511628211u;",
    },
    imports={
        "(": "\n".join(f"#include <{name}.h>" for name in ("math", "stdbool", "stdint", "stdlib", "string")),
    },
    row="{{{id}, {value}}}",
    list_of_case="Items {name} = {{(const Item[]){{{rows}}}, {count}}};",
    no_rows="{0}",
    call_of_case="{0}({1}, NULL)",
    check="failures += !equal({metric}, {case}, {call}, {value});",
    checks="""#ifdef CHECK
#include <stdio.h>

static bool equal(const char *metric, int nth, double value, double expected) {
    double most = 1e-12 * fmax(1.0, fabs(expected));
    bool same = isnan(expected) ? isnan(value) : fabs(value - expected) <= most;
    if (!same) {
        printf("%s of case %d is %.17g, not %.17g\\n", metric, nth, value, expected);
    }
    return same;
}

/* Computes the test cases: cc -DCHECK NAME.c -lm && ./a.out */
int main(void) {
    int failures = 0;
    CHECKS
    printf("%d of COUNT numbers are wrong\\n", failures);
    return failures != 0;
}
#endif""",
    comment=("/*", " * ", " */"),
    for_="for (size_t {0} = {1}; {0} < {2}; {0}++)",
    raise_="memory->error = {0};\nreturn {nothing}",
    after_fallible="if (memory->error != NULL) {\n    return NAN;\n}",
    field_set=".{0} = {1}",
    new_lists="(Lists){{ {0} }}",
)  # fmt: skip


def _java_file(name: str, text: str) -> str:
    head, imports, body = text.split("\n\n", 2)
    inside = re.sub(r"^(?=.)", "    ", body, flags=re.MULTILINE)
    return f"{head}\n\n{imports}\n\npublic final class {pascal(name)} {{\n{inside}\n}}"


JAVA = Language(
    name="java",
    endings=("java",),
    types={
        "float": "double", "int": "int", "bool": "boolean", "Floats": "double[]", "Ints": "int[]", "Rows": "List<Item>",
        "Truth": "List<Item>", "Run": "List<Item>", "Map": "var", "Lists": "Lists",
    },
    head="{access} static {result} {name}({parameters})",
    access=("private", "public"),
    parameter="{1} {0}",
    structure="private record Lists(FIELDS) {}",
    field_of_structure="{type} {name}",
    between_fields=", ",
    calls={
        **CALLS, "numbers": "new double[{0}]", "ints": "new int[{0}]", "new_map": "new HashMap<String, Integer>()",
        "run_rows": "rowsOf({0})", "size": "{0}.size()", "value_of": "{0}.get({1}).value()",
        "id_of": "{0}.get({1}).id()", "look_up": "{0}.getOrDefault({1}, -1)", "put": "{0}.put({1}, {2})",
        "float": "(double) ({0})", "index": "(int) ({0})", "is_nan": "Double.isNaN({0})",
        "is_finite": "Double.isFinite({0})", "is_present": "{0} != null", "float32": "(double) (float) ({0})",
        **numbers("Math."), "rint": "Math.rint({0})", "log2": "log2({0})",
        **sorts(
            "sort({0}, {1}, (a, b) -> ORDER)", "compareIds({2}.get(b).id(), {2}.get(a).id())",
            "compareIds({2}.get(a).id(), {2}.get(b).id())", "{2}[a] > {2}[b] ? -1 : {2}[a] < {2}[b] ? 1 : 0",
            "{2}[a] < {2}[b] ? -1 : {2}[a] > {2}[b] ? 1 : 0",
        ),
    },
    constants={**CONSTANTS, "INFINITY": "Double.POSITIVE_INFINITY", "NAN": "Double.NaN"},
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
    integer_ids={"String id": "long id", "<String": "<Long", "-> compareIds(": "-> Long.compare("},
    imports={
        "(": "\n".join(f"import java.util.{name};" for name in ("Arrays", "Comparator", "HashMap", "List"))
    },
    row="new Item({id}, {value})",
    integer="{0}L",
    list_of_case="List<Item> {name} = List.of({rows});",
    checks="""private static void equal(String metric, int nth, double value, double expected) {
    double most = 1e-12 * Math.max(1.0, Math.abs(expected));
    if (Double.isNaN(expected) ? !Double.isNaN(value) : !(Math.abs(value - expected) <= most)) {
        throw new AssertionError(metric + " of case " + nth + " is " + value + ", not " + expected);
    }
}

/** Computes the test cases; throws where a number is not the one that rankstone computes. */
public static void main(String[] arguments) {
    CHECKS
    System.out.println("COUNT numbers are right");
}""",
    name_of=camel,
    public_name=camel,
    wrap=_java_file,
    for_="for (int {0} = {1}; {0} < {2}; {0}++)",
    raise_="throw new IllegalArgumentException({0})",
    raise_value="throw new IllegalArgumentException({0} + {1} + {2})",
    field_set="{1}",
    new_lists="new Lists({0})",
)  # fmt: skip


RUST = Language(
    name="rust",
    endings=("rs",),
    types={
        "float": "f64", "int": "usize", "bool": "bool", "Floats": "&[f64]", "Ints": "&[usize]", "Lists": "&Lists",
        "Truth": "&[Item]", "Run": "Option<&[Item]>",
    },
    results={"Floats": "Vec<f64>", "Ints": "Vec<usize>", "Lists": "Lists"},
    head="{access}fn {name}({parameters}) -> {result}",
    access=("", "pub "),
    parameter="{0}: {1}",
    fallible_result="Result<{0}, String>",
    structure="struct Lists {\n    FIELDS\n}",
    field_of_structure="{name}: {type},",
    calls={
        **CALLS, "numbers": "vec![0.0; {0}]", "ints": "vec![0; {0}]", "new_map": "HashMap::new()",
        "run_rows": "{0}.unwrap_or(&[])", "size": "{0}.len()", "value_of": "{0}[{1}].1", "id_of": "{0}[{1}].0",
        "look_up": "{0}.get(&{1}).copied().unwrap_or(usize::MAX)", "put": "{0}.insert({1}, {2})",
        "float": "{0} as f64", "index": "{0} as usize", "is_nan": "f64::is_nan({0})",
        "is_finite": "f64::is_finite({0})", "is_present": "{0}.is_some()", "same": "{0}.clone()",
        "float32": "{0} as f32 as f64", **numbers("f64::"), "power": "f64::powf({0}, {1})", "log": "f64::ln({0})",
        "rint": "rint({0})",
        **sorts(
            "{0}[..{1}].sort_by(|&a, &b| ORDER)", "{2}[b].0.cmp(&{2}[a].0)", "{2}[a].0.cmp(&{2}[b].0)",
            "compare({2}[b], {2}[a])", "compare({2}[a], {2}[b])",
        ),
    },
    constants={**CONSTANTS, "INFINITY": "f64::INFINITY", "NAN": "f64::NAN", "NOWHERE": "usize::MAX"},
    helpers={
        "Item": """/// An item, and its grade or its score; a score of NaN is none, in a run that is only an order.
/// A run of None: the query is missing.
pub type Item<'a> = (&'a str, f64);""",
        "rint": """/// The nearest whole number; a half goes to the even one.
fn rint(x: f64) -> f64 {
    if (x - x.floor()) == 0.5 { 2.0 * (x / 2.0).round() } else { x.round() }
}""",
        "compare": """fn compare(a: f64, b: f64) -> std::cmp::Ordering {
    a.partial_cmp(&b).unwrap_or(std::cmp::Ordering::Equal)
}""",
    },
    integer_ids={"Item<'a> = (&'a str, f64)": "Item = (i64, f64)"},
    imports={"HashMap": "use std::collections::HashMap;"},
    row="({id}, {value})",
    list_of_case="let {name}: &[Item] = &[{rows}];",
    argument_of_case="{0}.into()",
    checks="""#[cfg(test)]
mod tests {
    use super::*;

    fn equal(metric: &str, nth: usize, value: Result<f64, String>, expected: f64) {
        let (value, most) = (value.unwrap(), 1e-12 * f64::max(1.0, expected.abs()));
        let same = if expected.is_nan() { value.is_nan() } else { (value - expected).abs() <= most };
        assert!(same, "{metric} of case {nth} is {value}, not {expected}");
    }

    /// The COUNT numbers that rankstone computes.
    #[test]
    fn check() {
        CHECKS
    }
}""",
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
    reference="&{0}",
    new_lists="Lists {{ {0} }}",
)  # fmt: skip


def _go_file(name: str, text: str) -> str:
    main = "\n\nfunc main() {\n    if err := Check(); err != nil {\n        panic(err)\n    }\n}"
    text += main * (name == "main")
    return re.sub(r"^( {4})+", lambda match: "\t" * (len(match[0]) // 4), text, flags=re.MULTILINE)


GO = Language(
    name="go",
    endings=("go",),
    types={
        "float": "float64", "int": "int", "bool": "bool", "Floats": "[]float64", "Ints": "[]int", "Lists": "Lists",
        "Truth": "[]Item", "Run": "[]Item",
    },
    head="func {name}({parameters}) {result}",
    parameter="{0} {1}",
    fallible_result="({0}, error)",
    structure="type Lists struct {\n    FIELDS\n}",
    field_of_structure="{name} {type}",
    calls={
        **CALLS, "numbers": "make([]float64, {0})", "ints": "make([]int, {0})", "new_map": "make(map[string]int)",
        "size": "len({0})", "value_of": "{0}[{1}].Value", "id_of": "{0}[{1}].ID", "look_up": "lookUp({0}, {1})",
        "put": "{0}[{1}] = {2}", "float": "float64({0})", "index": "int({0})", "is_nan": "math.IsNaN({0})",
        "is_finite": "isFinite({0})", "is_present": "{0} != nil", "float32": "float64(float32({0}))",
        **numbers("math.", str.title), "rint": "math.RoundToEven({0})",
        **sorts(
            "sortRows({0}[:{1}], func(a, b int) bool {{ return ORDER }})", "{2}[a].ID > {2}[b].ID",
            "{2}[a].ID < {2}[b].ID", "{2}[a] > {2}[b]", "{2}[a] < {2}[b]",
        ),
    },
    constants={
        **CONSTANTS, "INFINITY": "math.Inf(1)", "NAN": "math.NaN()", "no float": "math.NaN()", "no Lists": "Lists{}",
    },
    helpers={
        "Item": """// Item is an item and its grade or score; a score of NaN is none, in a run that is only an order.
// A run of nil: the query is missing.
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
    integer_ids={"string": "int64"},
    imports={
        "": "package NAME\n",
        "errors.": 'import "errors"',
        "fmt.": 'import "fmt"',
        "math.": 'import "math"',
        "sort.": 'import "sort"',
    },
    row="{{{id}, {value}}}",
    list_of_case="{name} := []Item{{{rows}}}",
    check="equal({metric}, {case}, {value})({call})",
    checks="""// Check computes the test cases; it is an error where a number is not the one that rankstone computes.
func Check() error {
    var problem error
    equal := func(metric string, nth int, expected float64) func(float64, error) {
        return func(value float64, err error) {
            same := math.Abs(value-expected) <= 1e-12*math.Max(1.0, math.Abs(expected))
            if math.IsNaN(expected) {
                same = math.IsNaN(value)
            }
            if err != nil || !same {
                problem = fmt.Errorf("%s of case %d is %v, not %v: %v", metric, nth, value, expected, err)
            }
        }
    }
    CHECKS
    return problem
}""",
    name_of=camel,
    public_name=pascal,
    comment=("", "// ", ""),
    wrap=_go_file,
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
    new_lists="Lists{{{0}}}",
)  # fmt: skip

LANGUAGES: dict[str, Language] = {row.name: row for row in (JAVASCRIPT, TYPESCRIPT, PYTHON, C, JAVA, RUST, GO)}
