"""Definitions as functions of JavaScript, computed as the page does; without a browser."""

import json
import re
import shutil
import subprocess
from typing import Any

import pytest

import rankstone as rs
from rankstone.conventions.plan import make_plans
from rankstone.metrics.registry import declared, is_built_in

from .conftest import DOCS
from .lists import One, evaluated_all, off, random_lists

CONVENTIONS = list(rs.conventions)
RUN = """
const fs = require("fs");
const { program, asked } = JSON.parse(fs.readFileSync(0, "utf8"));
const listing = fs.readFileSync(process.argv[1], "utf8").replace('"use strict";', "");
(0, eval)(program.script + listing + ";globalThis.Listing = Listing");
const answers = asked.map(({ run, truth, k, made }) =>
  made.map(([how, root]) => new Listing(program, run, truth, k, how).measure(root)));
console.log(JSON.stringify(answers));
"""


def computed(program: Any, asked: list[tuple[One, list[Any]]]) -> Any:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")
    lists = [{"run": one.run, "truth": one.truth, "k": one.k, "made": made} for one, made in asked]
    text = json.dumps({"program": program.to_dict(), "asked": lists})
    lists_file = str(DOCS / "play" / "lists.js")
    done = subprocess.run([node, "-e", RUN, lists_file], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def one_plan(metric: str | rs.authoring.Metric, convention: str = "rankstone", **choices: Any) -> Any:
    return make_plans(metric, convention, choices)[0]


class TestNumbers:
    def test_hand_worked(self, play: Any) -> None:
        program = play.Program()
        one = One([("a", None), ("x", None), ("b", None)], [("a", 1), ("b", 1), ("c", 1)], 3)
        metrics = ["ap@1", "precision@1", "rr@1", "recall@1"]
        made = [program.compile(one_plan(metric), True) for metric in metrics]
        ((ap, precision, rr, recall),) = computed(program, [(one, made)])
        assert ap["value"] == pytest.approx((1 / 1 + 2 / 3) / 3)
        assert (precision["value"], rr["value"], recall["value"]) == pytest.approx((2 / 3, 1, 2 / 3))

    def test_equal_scores(self, play: Any) -> None:
        program = play.Program()
        one = One([("a", 2.0), ("b", 2.0), ("c", 1.0)], [("b", 1)], None)
        orders = ["item_asc", "item_desc", "input", "reverse_input", "optimistic", "pessimistic"]
        made = [program.compile(one_plan("rr", ties=ties), False) for ties in orders]
        ((asc, desc, first, last, best, worst),) = computed(program, [(one, made)])
        assert [asc["value"], desc["value"], first["value"]] == [1 / 2, 1, 1 / 2]
        assert [last["value"], best["value"], worst["value"]] == [1, 1, 1 / 2]

    def test_what_cannot_be_measured_is_told(self, play: Any) -> None:
        program = play.Program()
        one = One([("a", None)], [("a", 2)], None)
        plans = [
            one_plan(rs.ndcg(gain={0: 0, 1: 1})),
            one_plan("mae"),
            one_plan("ap", threshold=3, no_relevant="error"),
            one_plan("ap", threshold=3, no_relevant="skip"),
        ]
        ((table, error, none, skipped),) = computed(program, [(one, [program.compile(plan, False) for plan in plans])])
        assert table["problem"] == "the gain table has no entry for grade 2"
        assert "needs scores" in error["problem"]
        assert none["problem"] == "there is no relevant item"
        assert skipped == {"value": None}

    @pytest.mark.slow
    @pytest.mark.parametrize("convention", CONVENTIONS)
    def test_equal_to_evaluate(self, play: Any, convention: str) -> None:
        program = play.Program()
        rows = [row for row in declared().values() if is_built_in(row) and row.kind not in play.LEFT_OUT]
        asked, labels = [], []
        for one in random_lists(12, seed=CONVENTIONS.index(convention)):
            found: dict[str, Any] = {}
            for row in rows:
                symbolic = row.takes_k and one.k is not None
                try:
                    plan = one_plan(f"{row.name}@1" if symbolic else row.name, convention)
                except ValueError:
                    continue
                found[f"{row.name}@{one.k}" if symbolic else row.name] = program.compile(plan, symbolic)
            asked.append((one, list(found.values())))
            labels.append(list(found))
        for (one, _), metrics, answers in zip(asked, labels, computed(program, asked), strict=True):
            wanted = evaluated_all(one, metrics, convention)
            for metric, answer in zip(metrics, answers, strict=True):
                assert off(answer, wanted[metric]) <= 1e-9, (one, metric, answer, wanted[metric])


class TestSharing:
    def test_equal_definitions_are_one(self, play: Any) -> None:
        program = play.Program()
        made = [program.compile(one_plan("ap@1", name), True) for name in ("rankstone", "ranx", "trec_eval", "spark")]
        assert made[0].root == made[1].root  # they differ in the order of equal scores
        assert made[0].how != made[1].how
        assert made[0].root != made[3].root  # one divides by min(relevant,k)

    def test_sums_are_shared(self, play: Any) -> None:
        program = play.Program()
        for name in ("precision@1", "recall@1", "f1@1"):
            program.compile(one_plan(name), True)
        loops = [lines for lines in program.functions if "for i" in lines]
        assert len(loops) == 2  # hits and relevant items, each once
        assert len(program.functions) > 4

    def test_k_is_the_pages(self, play: Any) -> None:
        program = play.Program()
        assert program.compile(one_plan("ndcg@1"), True) == program.compile(one_plan("ndcg@7"), True)
        assert any("<= k" in lines for lines in program.functions)

    def test_k_of_a_convention_is_its_own(self, play: Any) -> None:
        program = play.Program()
        program.compile(one_plan("ndcg", "xgboost"), False)
        assert any("<= 32.0" in lines for lines in program.functions)
        assert not any("<= k" in lines for lines in program.functions)


def test_the_page_knows_no_metric(play: Any) -> None:
    kept = {name for name, row in declared().items() if is_built_in(row) and row.kind not in play.LEFT_OUT}
    names = kept - {"judged", "unjudged"}  # which are words for rows too
    for path in sorted((DOCS / "play").glob("*.js")):
        words = set(re.findall(r"\w+", path.read_text(encoding="utf-8")))
        assert not {name for name in names if len(name) > 1} & words, path.name
