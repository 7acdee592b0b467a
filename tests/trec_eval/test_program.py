"""trec_eval itself beside ours on random calls: the same bytes and the same exit code.

Runs where TREC_EVAL names the program (version 10); TREC_EVAL_CALLS says how many calls. What the program leaves to
chance is left out by rule: it reads memory that nobody set for a query (or a group of judgments) without any grade from
0 up, for preferences with levels below 0, and for rbp, which is compared where TREC_EVAL_RBP says that unset memory is
0 in this build (-ftrivial-auto-var-init=zero); and dcg, ideal_dcg and ndcg take and free each other's parameters.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from rankstone.trec_eval import main
from rankstone.trec_eval.measures import MEASURES, NICKNAMES, Measure

PROGRAM = os.environ.get("TREC_EVAL", "")
RBP = bool(os.environ.get("TREC_EVAL_RBP"))
CALLS = int(os.environ.get("TREC_EVAL_CALLS", "400"))
pytestmark = pytest.mark.skipif(not PROGRAM, reason="TREC_EVAL names no program")

NAMES = ["d", "D", "é".encode().decode("latin-1"), "\xff", "_", "z#", "clueweb12-0000wb-"]  # as bytes in Latin-1
GRADES = [["0", "1"], ["0", "1", "2", "3"], ["-2", "-1", "0", "1", "2", "4"], ["-1", "0", "1"], ["0"], ["0", "12"],
          ["0", "+1", "2.7", "-1.5", "03"]]  # fmt: skip
SCORES: list[Callable[[random.Random], str]] = [
    lambda chance: str(chance.randint(0, 4)),
    lambda chance: f"{chance.gauss(0, 1):.17g}",
    lambda chance: f"{-5 * chance.random():.3f}",
    lambda chance: repr(1 + chance.randint(0, 9) * 1e-9),
    lambda chance: chance.choice(["0", "-0.0", "+.5", "5.", "1e3", "-1E-3", "inf", "-inf", "1e400"]),
    lambda chance: "0",
]


@dataclass
class Call:
    """One call of the command."""

    options: list[str]
    judgments: bytes
    results: bytes


# -- files -----------------------------------------------------------------------------------------------------


def _text(chance: random.Random, lines: list[list[str]], *, blanks: bool) -> bytes:
    """Lines with the spacing of people; each comment, if there are any, between two lines."""
    odd = chance.random() < 0.4
    end = chance.choice(["\n", "\n", "\r\n", " \n"])
    out = ["# one comment\n"] if chance.random() < 0.1 else []
    for fields in lines:
        space = chance.choice([" ", "\t", "  ", " \t", "\v", "\f "]) if odd else " "
        out.append((chance.choice(["", " ", "\t"]) if odd else "") + space.join(fields) + end)
        if odd and blanks and chance.random() < 0.1:
            out.append(chance.choice(["\n", " \n"]))
    if odd and len(out) > 2 and not out[0].startswith("#"):
        out.insert(chance.randint(0, len(out) - 1), "#another\n")
    text = "".join(out)
    return (text.removesuffix("\n") if chance.random() < 0.1 else text).encode("latin-1")


def _queries(chance: random.Random) -> list[str]:
    return [chance.choice(["q", "Q", "1", "10", "\xe9"]) + f"{at}_{chance.randint(1, 3)}"
            for at in range(chance.randint(1, 6))]  # fmt: skip


def _judged(chance: random.Random, items: list[str], grades: list[str]) -> list[tuple[str, str]]:
    """Some items and their grades, one of them from 0 up."""
    chosen = chance.sample(items, chance.randint(1, len(items)))
    pairs = [(item, chance.choice(grades)) for item in chosen]
    if all(grade.startswith("-") for _, grade in pairs):
        pairs[0] = (pairs[0][0], "0")
    return pairs


def _judgments(chance: random.Random, form: str, queries: list[str], items: list[str]) -> list[list[str]]:
    grades = chance.choice(GRADES[:2] if form == "qrels_prefs" else GRADES)
    if form == "qrels":
        return [[query, "0", *pair] for query in queries for pair in _judged(chance, items, grades)]
    groups = ["A", "B", "C"][: chance.randint(1, 3)]
    if form in ("qrels_jg", "qrels_prefs"):
        return [
            [query, group, *pair]
            for query in queries
            for group in chance.sample(groups, chance.randint(1, len(groups)))
            for pair in _judged(chance, items, grades)
        ]
    lines = []
    for query in queries:
        for group in groups:
            hidden = {item: chance.randint(0, 30) for item in items}  # so that few groups contradict themselves
            for part in range(chance.choice([1, 1, 2, 4])):
                chosen, unit = chance.sample(items, min(len(items), chance.randint(2, 12))), chance.choice([1, 2])
                lines += [[query, group, f"s{part}", item, f"{hidden[item] / unit:g}"] for item in chosen]
    return lines


def _results(chance: random.Random, queries: list[str], items: list[str]) -> list[list[str]]:
    score = chance.choice(SCORES)
    lines = []
    for query in queries:
        for item in chance.sample(items, chance.randint(1, len(items))):
            more = ["more", "fields"] if chance.random() < 0.02 else []
            lines.append([query, "Q0", item, str(chance.randint(0, 99)), score(chance), "run\xfc", *more])
    return lines


# -- options ---------------------------------------------------------------------------------------------------


def _parameters(chance: random.Random, measure: Measure) -> str:
    """Parameters that a measure takes, or seldom none it takes; as they are written after its name."""
    if measure.form == "cuts":
        cuts = [str(chance.choice([1, 2, 3, 5, 10, 20, 64, 100, 1000])) for _ in range(chance.randint(1, 5))]
        return ",".join(cuts if chance.random() < 0.02 else sorted(set(cuts), reverse=True))
    if measure.form == "shares":
        shares = {f"{chance.choice([1, 1, 2, 5]) * chance.random():.2f}" for _ in range(chance.randint(1, 5))}
        return ",".join(shares | ({"-0.3"} if chance.random() < 0.1 else set()))
    if measure.name == "relstring":
        return str(chance.choice([1, 3, 20, 1000]))
    if measure.name == "utility":
        return ",".join(f"{chance.uniform(-2, 2):.2g}" for _ in range(4 if chance.random() < 0.98 else 3))
    if measure.name == "set_F":
        return f"{chance.choice([0.25, 0.5, 2, 3.7])}"
    if measure.form == "numbers":
        return ",".join(f"{chance.uniform(-0.1, 1.2):.2f}" for _ in range(chance.randint(1, 5)))
    pairs = []
    for _ in range(chance.randint(1, 4)):
        gain = chance.choice(["1", "2", "3.5", "0.5", "0", "-1", "9", "0.7", "1e-3"])
        pairs.append(f"{chance.choice(['0', '1', '2', '3', '4', '12', '+1', '-1', '-2', '7'])}={gain}")
    if measure.name.startswith("rbp"):
        pairs.append(f"p={chance.choice(['0.5', '.8', '0.95', '1', '0'])}")
    return ",".join(pairs)


def _measures(chance: random.Random, form: str) -> list[str]:
    form = "prefs" if form == "qrels_prefs" else form
    if chance.random() < 0.25:
        return [chance.choice({"qrels": ["official", "all_trec", "set"], "qrels_jg": ["qrels_jg"],
                               "prefs": ["prefs", "all_prefs"]}[form])]  # fmt: skip
    known = [measure for measure in MEASURES.values() if measure.over in ("", form)]
    chosen = []
    for measure in chance.sample(known, chance.randint(1, min(len(known), 12))):
        given = bool(measure.form) and chance.random() < 0.6
        chosen.append(f"{measure.name}.{_parameters(chance, measure)}" if given else measure.name)
    sharing = [name for name in chosen if name.partition(".")[0] in ("dcg", "ideal_dcg", "ndcg")]
    alone = {*sharing[1:]} if any("." in name for name in sharing) else set()
    return [name for name in chosen if name not in alone]


def _zscores(chance: random.Random, queries: list[str]) -> bytes:
    """The program looks one beyond the end for a name after the last, so the last is after all others."""
    names = [name for name in NICKNAMES["all_trec"] if chance.random() < 0.5] + ["P_5", "P_10", "~"]
    lines = [
        f"{query} {name} {chance.choice(['0', '0.25', '1'])} {chance.choice(['0', '0.5', '.3'])}\n"
        for query in [*queries, "\xff\xff"]
        for name in names
    ]
    return "".join(lines).encode("latin-1")


def _call(chance: random.Random, folder: Path) -> Call:
    form = chance.choice(["qrels"] * 7 + ["qrels_jg", "prefs", "qrels_prefs"])
    size = chance.choice([1, 3, 8, 30] if form in ("prefs", "qrels_prefs") else [1, 3, 8, 30, 120, 1100])
    items = [chance.choice(NAMES) + str(at) for at in range(size)]
    queries = _queries(chance)
    returned = [query for query in queries if chance.random() < 0.93] + ["only-in-results"] * (chance.random() < 0.3)
    judgments = _judgments(chance, form, queries, items)
    results = _results(chance, returned or queries, items + [f"n{at}" for at in range(chance.choice([0, 0, 1, size]))])
    for lines, likely in ((judgments, 0.02 if form == "qrels" else 0.0), (results, 0.03)):
        if chance.random() < likely:
            lines.append(chance.choice(lines))
        if chance.random() < 0.5:
            chance.shuffle(lines)
    measures = _measures(chance, form)
    options = [word for name in measures for word in ("-m", name)] + ["-R", form]
    for option, likely in (("-q", 0.7), ("-c", 0.4), ("-n", 0.1), ("-J", 0.2)):
        options += [option] * (chance.random() < likely)
    options += [f"-l{chance.choice([0, 1, 2, 3, 5])}"] * (chance.random() < 0.3)
    options += [f"-M{chance.choice([0, 1, 2, 5, 10, 100])}"] * (chance.random() < 0.25)
    options += [f"-N{chance.choice([0, 50, 100000])}"] * (chance.random() < 0.2)
    options += ["-D0." + os.fsdecode(chance.choice(queries).encode("latin-1"))] * (chance.random() < 0.05)
    if chance.random() < 0.1:
        (folder / "zscores").write_bytes(_zscores(chance, queries))
        options += ["-Z", str(folder / "zscores")]
    return Call(options, _text(chance, judgments, blanks=False), _text(chance, results, blanks=True))


# -- both ------------------------------------------------------------------------------------------------------


def _ours(arguments: list[str]) -> tuple[int, bytes]:
    raw = io.BytesIO()
    with (
        contextlib.redirect_stdout(io.TextIOWrapper(raw)) as out,
        contextlib.redirect_stderr(io.StringIO()),
    ):
        code = main(arguments)
        out.flush()
        return code, raw.getvalue()


def _theirs(arguments: list[str]) -> tuple[int, bytes]:
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, check=False)
    return done.returncode, done.stdout


def _comparable(out: bytes) -> bytes:
    return out if RBP else re.sub(rb"^Z?rbp(?!_resid).*\n", b"", out, flags=re.MULTILINE)


@pytest.mark.parametrize("seed", range(CALLS if PROGRAM else 1))
def test_same_bytes(seed: int, tmp_path: Path) -> None:
    call = _call(random.Random(seed), tmp_path)
    files = [tmp_path / "judgments", tmp_path / "results"]
    for path, text in zip(files, (call.judgments, call.results), strict=True):
        path.write_bytes(text)
    arguments = [*call.options, *map(str, files)]
    code, out = _theirs(arguments)
    if code < 0:
        pytest.skip("the program crashed")
    mine, text = _ours(arguments)
    assert (mine, _comparable(text)) == (code, _comparable(out)), arguments
