"""Compiled files as programs that read lists and print numbers, one row per language; and random lists for them.

A line of a program's input is a truth and a run: how many items, then their ids and numbers; -1 items is no run.
Ids that are text are their bytes in hexadecimal, after an x. Its output has the numbers of all functions, or `error`.
"""

import math
import os
import random
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rankstone.compile import SourceCode


class One(NamedTuple):
    """One list: pairs of an item and a grade, and of an item and a score (None: only an order); no run: missing."""

    truth: list[tuple[Any, float]]
    run: list[tuple[Any, float | None]] | None


TEXTS = [*"abcdefghij", "é", "\N{GRINNING FACE}", "\N{FULLWIDTH LATIN SMALL LETTER A}", "Z", "a1", "a10", "\ue000"]
INTEGERS = [1, 2, 3, 10, 9, 11, 20, -5, 300, 7_000_000_000, 12, 13, 14, 15, 0, -20, 100]


def random_lists(count: int, seed: int, ids: str = "text", repeats: bool = False, missing: bool = False) -> list[One]:
    """Ties, unjudged items, empty truths and lists, negative and fractional grades, zeros of both signs."""
    draw = random.Random(seed)
    return [_one(draw, ids, repeats, missing) for _ in range(count)]


def _one(draw: random.Random, ids: str, repeats: bool, missing: bool) -> One:
    names: list[Any] = list(TEXTS if ids == "text" else INTEGERS)
    draw.shuffle(names)
    items = names[: draw.choice([0, 1, 2, 3, 5, 8, 12])]
    if repeats and items and draw.random() < 0.5:
        items += draw.choices(items, k=draw.choice([1, 2]))
        draw.shuffle(items)
    grades = draw.choice([[0, 1], [1], [0], [0, 1, 2, 3, 4], [-1, 0, 1, 2], [0, 0.5, 1], [0.25, 1.5, 3.75, -0.5]])
    share = draw.choice([0, 0.3, 0.7, 1])
    judged = [(name, float(draw.choice(grades))) for name in names if draw.random() < share]
    draw.shuffle(judged)
    kind = draw.choice(["order", "few", "many", "close"])
    score = {
        "order": lambda: None,
        "few": lambda: draw.choice([-1.0, 0.0, -0.0, 0.5, 1.0]),
        "many": lambda: float(draw.randint(-1, 9)),
        "close": lambda: 1 + draw.choice([0, 1e-9, 2e-9]),  # equal as float32
    }[kind]
    return One(judged, None if missing and draw.random() < 0.1 else [(item, score()) for item in items])


# -- programs ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Program:
    """How a compiled file becomes a program."""

    file: str
    compiler: str
    main: str  # what follows the file; FUNCTIONS are its functions
    build: Sequence[Sequence[str]]
    run: Sequence[str]
    name: str = "metrics"
    function: str = "{0}"
    before: tuple[str, str] = ("", "")  # a text of the file, and what takes its place


_SCRIPT = r"""
const functions = [FUNCTIONS];
const lines = require("fs").readFileSync(0, "utf8").trim().split("\n");
const idOf = (word) => (word[0] === "x" ? Buffer.from(word.slice(1), "hex").toString("utf8") : Number(word));
console.log(lines.map((line) => {
    const words = line.split(" ");
    const read = () => {
        const count = Number(words.shift());
        if (count < 0) return null;
        const rows = Array.from({ length: count }, () => [idOf(words.shift()), Number(words.shift())]);
        return rows.length && rows.every(([, value]) => Number.isNaN(value)) ? rows.map(([id]) => id) : rows;
    };
    const [truth, run] = [read(), read()];
    return functions.map((metric) => {
        try {
            return String(metric(truth, run));
        } catch {
            return "error";
        }
    }).join(" ");
}).join("\n"));
"""

_TYPED_SCRIPT = _SCRIPT
for _old, _new in (("(word) =>", "(word: string) =>"), ("(line) =>", "(line: string) =>"), ("shift()", "shift()!"),
                   ("(truth, run)", "(truth as Truth, run)"), ("= () => {", "= (): any => {")):  # fmt: skip
    _TYPED_SCRIPT = _TYPED_SCRIPT.replace(_old, _new)

_PYTHON = r"""
import sys
functions = [FUNCTIONS]
for line in sys.stdin:
    words = iter(line.split())
    def read():
        count = int(next(words))
        ids = lambda word: bytes.fromhex(word[1:]).decode() if word[0] == "x" else int(word)
        rows = [(ids(next(words)), float(next(words))) for _ in range(count)]
        if rows and all(isnan(value) for _, value in rows):
            return [id for id, _ in rows]
        return None if count < 0 else rows
    truth, run = read(), read()
    def value(metric):
        try:
            return repr(metric(truth, run))
        except ValueError:
            return "error"
    print(*map(value, functions))
"""

_C = r"""
#include <stdio.h>
static Items read_items(void) {
    int count;
    if (scanf("%d", &count) != 1) exit(0);
    if (count < 0) return (Items){NULL, 0};
    Item *items = calloc((size_t)count + 1, sizeof(Item));
    for (int i = 0; i < count; i++) {
        char word[200], number[60];
        if (scanf("%199s %59s", word, number) != 2) abort();
        items[i].value = strtod(number, NULL);
        READ_ID
    }
    return (Items){items, (size_t)count};
}
int main(void) {
    double (*functions[])(Items, Items, const char **) = {FUNCTIONS};
    for (;;) {
        Items truth = read_items(), run = read_items();
        for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
            const char *error;
            double value = functions[i](truth, run, &error);
            if (error != NULL && isnan(value)) printf("error "); else printf("%.17g ", value);
        }
        printf("\n");
    }
}
"""

_JAVA = r"""
class Main {
    interface Function { double of(java.util.List<Metrics.Item> truth, java.util.List<Metrics.Item> run); }
    static java.util.List<Metrics.Item> read(java.util.Scanner words) {
        int count = words.nextInt();
        if (count < 0) return null;
        var items = new java.util.ArrayList<Metrics.Item>();
        for (int i = 0; i < count; i++) {
            String word = words.next();
            ID
            items.add(new Metrics.Item(id, Double.parseDouble(words.next().replace("nan", "NaN"))));
        }
        return items;
    }
    public static void main(String[] arguments) throws Exception {
        Function[] functions = {FUNCTIONS};
        var out = new StringBuilder();
        for (String line : new String(System.in.readAllBytes()).trim().split("\n")) {
            var words = new java.util.Scanner(line);
            var truth = read(words);
            var run = read(words);
            for (Function function : functions) {
                try {
                    out.append(function.of(truth, run)).append(' ');
                } catch (IllegalArgumentException error) {
                    out.append("error ");
                }
            }
            out.append('\n');
        }
        System.out.print(out);
    }
}
"""

_RUST = r"""
fn main() {
    let functions: Vec<for<'a, 'b, 'c, 'd> fn(TRUTH, RUN) -> Result<f64, String>> = vec![FUNCTIONS];
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let mut words = line.split_whitespace();
        let mut lists: Vec<Option<Vec<(OWNED, f64)>>> = Vec::new();
        for _ in 0..2 {
            let count: i64 = words.next().unwrap().parse().unwrap();
            let mut rows = Vec::new();
            for _ in 0..count.max(0) {
                let word = words.next().unwrap();
                READ_ID
                rows.push((id, words.next().unwrap().parse::<f64>().unwrap()));
            }
            lists.push(if count < 0 { None } else { Some(rows) });
        }
        let borrowed: Vec<Option<Vec<Item>>> = lists
            .iter()
            .map(|rows| rows.as_ref().map(|rows| rows.iter().map(|row| (BORROW, row.1)).collect()))
            .collect();
        let texts: Vec<String> = functions.iter().map(|function| {
            let value = function(borrowed[0].as_ref().unwrap(), borrowed[1].as_deref());
            value.map_or("error".to_string(), |value| format!("{value:?}"))
        }).collect();
        println!("{}", texts.join(" "));
    }
}
"""

_GO = r"""
func readItems(words []string) ([]Item, []string) {
	count, _ := strconv.Atoi(words[0])
	words = words[1:]
	if count < 0 {
		return nil, words
	}
	items := []Item{}
	for i := 0; i < count; i++ {
		READ_ID
		value, _ := strconv.ParseFloat(words[1], 64)
		items = append(items, Item{id, value})
		words = words[2:]
	}
	return items, words
}

func main() {
	functions := []func([]Item, []Item) (float64, error){FUNCTIONS}
	scanner := bufio.NewScanner(os.Stdin)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		truth, words := readItems(strings.Fields(scanner.Text()))
		run, _ := readItems(words)
		for _, function := range functions {
			value, err := function(truth, run)
			if err != nil {
				fmt.Print("error ")
			} else {
				fmt.Print(strconv.FormatFloat(value, 'g', -1, 64), " ")
			}
		}
		fmt.Println()
	}
}
"""

PROGRAMS = {
    "javascript": Program("metrics.js", "node", _SCRIPT, (), ("node", "metrics.js")),
    "typescript": Program(
        "metrics.ts", "tsc", "declare const require: any, Buffer: any;" + _TYPED_SCRIPT,
        [("tsc", "--strict", "--noUnusedLocals", "--target", "es2020", "--lib", "es2020,dom", "--module", "commonjs",
          "metrics.ts")],
        ("node", "metrics.js"),
    ),
    "python": Program("metrics.py", "python3", _PYTHON, (), ("python3", "metrics.py"),
                      before=('if __name__ == "__main__"', 'if __name__ == "check"')),
    "c": Program(
        "metrics.c", "gcc", _C,
        [("gcc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "metrics.c", "-lm", "-o", "metrics")],
        ("./metrics",),
    ),
    "java": Program("Metrics.java", "javac", _JAVA, [("javac", "-Xlint:all", "-Werror", "Metrics.java")],
                    ("java", "Main"), function="Metrics::{0}"),
    "rust": Program("metrics.rs", "rustc", _RUST, [("rustc", "--edition", "2021", "-D", "warnings", "metrics.rs")],
                    ("./metrics",)),
    "go": Program("metrics.go", "go", _GO, [("go", "vet", "metrics.go"), ("go", "build", "metrics.go")], ("./metrics",),
                  name="main", before=("func main() {\n\tif err := Check()", "func checked() {\n\tif err := Check()")),
}  # fmt: skip
INSTALLED = ("node", "python3", "gcc", "javac", "rustc", "go")  # by the Makefile

_OF_IDS = {
    ("c", "text"): {
        "READ_ID": "size_t size = (strlen(word) - 1) / 2; char *id = calloc(size + 1, 1);\n"
        'for (size_t j = 0; j < size; j++) sscanf(word + 1 + 2 * j, "%2hhx", (unsigned char *)&id[j]);\n'
        "items[i].id = id;"
    },
    ("c", "integer"): {"READ_ID": "items[i].id = strtoll(word, NULL, 10);"},
    ("java", "text"): {
        " ID\n": " byte[] bytes = new java.math.BigInteger(\"01\" + word.substring(1), 16).toByteArray();\n"
        " String id = new String(bytes, 1, bytes.length - 1, java.nio.charset.StandardCharsets.UTF_8);\n"
    },
    ("java", "integer"): {" ID\n": " long id = Long.parseLong(word);\n"},
    ("rust", "text"): {
        "READ_ID": "let id = String::from_utf8((1..word.len()).step_by(2).map(|at| "
        "u8::from_str_radix(&word[at..at + 2], 16).unwrap()).collect()).unwrap();",
        "OWNED": "String", "BORROW": "row.0.as_str()", "TRUTH": "&'a [Item<'b>]", "RUN": "Option<&'c [Item<'d>]>",
    },
    ("rust", "integer"): {
        "READ_ID": "let id: i64 = word.parse().unwrap();", "OWNED": "i64", "BORROW": "row.0",
        "for<'a, 'b, 'c, 'd> ": "", "TRUTH": "&[Item]", "RUN": "Option<&[Item]>",
    },
    ("go", "text"): {"READ_ID": 'bytes, _ := hex.DecodeString(words[0][1:])\n\t\tid := string(bytes)'},
    ("go", "integer"): {"READ_ID": "id, _ := strconv.ParseInt(words[0], 10, 64)"},
}  # fmt: skip


def command(name: str) -> str:
    """A compiler; skips without it, but where CI installs it."""
    path = os.environ.get(name.upper()) or shutil.which(name)
    if path is None:
        if os.environ.get("CI") and name in INSTALLED:
            pytest.fail(f"needs {name}")
        pytest.skip(f"needs {name}")
    return path


def answers(code: SourceCode, lists: Sequence[One], folder: Path, ids: str = "text") -> list[list[float | None]]:
    """The numbers of all functions for each list; None for an error."""
    program = PROGRAMS[code.language]
    compiler = command(program.compiler)
    main = program.main
    for word, text in _OF_IDS.get((code.language, ids), {}).items():
        main = main.replace(word, text)
    main = main.replace("FUNCTIONS", ", ".join(map(program.function.format, code.functions.values())))
    text = code.text.replace(*program.before) if program.before[0] else code.text
    if code.language == "go":
        imports = [name for name in ("bufio", "fmt", "os", "strconv", "strings", "encoding/hex")
                   if f"{name.rpartition('/')[2]}." in main and f'import "{name}"' not in text]  # fmt: skip
        text = text.replace("package main\n", "package main\n" + "".join(f'import "{name}"\n' for name in imports))
    if code.language in ("javascript", "typescript"):  # the check of the file itself is not what is run
        text = text.replace("require.main === module", "false")
    (folder / program.file).write_text(text + main, encoding="utf-8")
    for line in program.build:
        words = [compiler if word == program.compiler else word for word in line]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        problems = done.stdout + done.stderr
        assert done.returncode == 0, problems[:3000]
    words = "\n".join(_line(one) for one in lists) + "\n"
    run = [shutil.which(program.run[0]) or program.run[0], *program.run[1:]]
    done = subprocess.run(run, cwd=folder, input=words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    rows = [line.split() for line in done.stdout.strip("\n").split("\n")]
    assert len(rows) == len(lists)
    return [[None if word == "error" else float(word) for word in row] for row in rows]


def _line(one: One) -> str:
    return f"{_words(one.truth)} {_words(one.run)}"


def _words(rows: Sequence[tuple[Any, float | None]] | None) -> str:
    if rows is None:
        return "-1"
    words = [str(len(rows))]
    for item, value in rows:
        words.append(f"x{item.encode().hex()}" if isinstance(item, str) else str(item))
        words.append(repr(math.nan if value is None else value))
    return " ".join(words)
