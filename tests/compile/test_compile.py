"""Compiled metrics: worked by hand, in Python, where they run at once; refusals; the text."""

import math
import re
from collections.abc import Callable
from math import log2
from typing import Any

import pytest

import rankstone as rs
from rankstone.compile import LANGUAGES, language_of
from rankstone.metrics.registry import declared, is_built_in

from .programs import One, random_lists

ALIGNING = {  # choices of lists, which conventions combine in few ways
    "duplicates": ("first", "best", "count", "once"),
    "ties": tuple(rs.choices["ties"].allowed),
    "unjudged": ("nonrelevant", "only_returned", "condensed"),
    "missing": ("zero", "skip", "error"),
    "empty_list": ("count", "skip", "nan", "error"),
    "empty_truth": ("count", "skip"),
    "both_empty": (None, 1, "nan"),
    "undefined": (0, 0.5, "nan", "skip", "error"),
    "no_relevant": (None, 1, "nan", "skip", "error"),
    "nonpositive_score": ("count", "miss"),
    "score_precision": ("float64", "float32"),
    "short_list": ("count", "zero"),
    "query_digits": (None, 4),
    "threshold": (1, ">0", 2, "all", "relative"),
    "relevance": ("binary", "clipped"),
    "truth_depth": ("all", "k"),
}


def function_of(metric: Any, **options: Any) -> Callable[..., float]:
    """A compiled metric, as a function of Python."""
    code = rs.compile(metric, "python", **options)
    namespace: dict[str, Any] = {"__name__": "compiled"}
    exec(str(code), namespace)
    (name,) = code.functions.values()
    function: Callable[..., float] = namespace[name]
    return function


def expected(one: One, metric: Any, **options: Any) -> float | None:
    """The value that `rs.evaluate` has; None for an error."""
    run: Any = (
        {} if one.run is None else {"q": one.run if all(s is not None for _, s in one.run) else [i for i, _ in one.run]}
    )
    truth: Any = {"q": dict(one.truth), "other": {"a": 1, "b": 0}}  # so that there is a run
    scored = not one.run or one.run[0][1] is not None
    run["other"] = {"a": 2.0, "b": 1.0} if scored else ["a", "b"]
    if one.run and one.run[0][1] is not None and len(dict(one.run)) < len(one.run):  # columns can have an item twice
        rows = [("q", item, score) for item, score in one.run] + [("other", "a", 2.0), ("other", "b", 1.0)]
        run = rs.columns(**dict(zip(("query", "item", "score"), map(list, zip(*rows, strict=True)), strict=True)))
        rows = [(query, item, grade) for query, items in truth.items() for item, grade in items.items()]
        truth = rs.columns(**dict(zip(("query", "item", "grade"), map(list, zip(*rows, strict=True)), strict=True)))
    try:
        result = rs.evaluate(truth, run, [metric], **options)
    except ValueError:
        return None
    return float(result.per_query[metric][list(result.queries).index("q")])


def same(value: float | None, wanted: float | None) -> bool:
    if value is None or wanted is None:
        return value is wanted
    if math.isnan(wanted):
        return math.isnan(value)
    return abs(value - wanted) <= 1e-12 * max(1.0, abs(wanted))


def value_of(function: Callable[..., float], one: One) -> float | None:
    run: Any = one.run
    if run and all(score is None for _, score in run):
        run = [item for item, _ in run]
    try:
        return function(one.truth, run)
    except ValueError:
        return None


class TestByHand:
    def test_a_list_in_order(self) -> None:
        ndcg = function_of("ndcg@2")
        assert ndcg({"a": 1, "b": 3, "c": 2}, ["a", "x", "b"]) == pytest.approx(1 / (3 + 2 / log2(3)))

    def test_ties_by_id(self) -> None:
        run = {"a": 1.0, "\N{GRINNING FACE}": 1.0, "\ue000": 1.0}
        assert function_of("rr")({"\N{GRINNING FACE}": 1}, run) == 1 / 1  # the highest code point is first
        assert function_of("rr", ties="item_asc")({"\N{GRINNING FACE}": 1}, run) == 1 / 3
        assert function_of("rr", ids="integer")({9: 1}, {9: 1.0, 10: 1.0}) == 1 / 2  # as numbers, not as text

    def test_expected_over_ties(self) -> None:
        function = function_of("precision@1", ties="expected")
        assert function({"a": 1}, {"a": 1.0, "b": 1.0, "c": 1.0}) == pytest.approx(1 / 3)

    def test_the_mean_leaves_it_out(self) -> None:
        assert math.isnan(function_of("ap", no_relevant="skip")({"a": 0}, ["a"]))
        assert math.isnan(function_of("ap", missing="skip")({"a": 1}, None))
        assert function_of("ap")({"a": 1}, None) == 0

    def test_errors(self) -> None:
        ap = function_of("ap")
        for truth, run, problem in (
            ([("a", 1), ("a", 0)], ["a"], "judged twice"),
            ({"a": math.inf}, ["a"], "grade that is not a finite number"),
            ({"a": 1}, ["a", "a"], "in the run twice"),
            ({"a": 1}, {"a": math.inf}, "score that is not a finite number"),
            ({"a": 1}, [("a", 1.0), ("b", math.nan)], "score for some of its items only"),
        ):
            with pytest.raises(ValueError, match=problem):
                ap(truth, run)
        with pytest.raises(ValueError, match=r"no entry for grade 2$"):
            function_of(rs.ndcg(gain={0: 0, 1: 1}))({"a": 2}, ["a"])
        with pytest.raises(ValueError, match="no relevant item"):
            function_of("ap", no_relevant="error")({"a": 0}, ["a"])

    def test_items_judged_twice(self) -> None:
        unequal, equal = [("a", 0), ("a", 1)], [("a", 1), ("a", 1)]
        assert function_of("ap", truth_duplicates="first")(unequal, ["a"]) == 0
        assert function_of("ap", truth_duplicates="max")(unequal, ["a"]) == 1
        assert function_of("ap", truth_duplicates="count")(equal, ["a"]) == 1 / 2
        assert function_of("ap", truth_duplicates="distinct")(equal, ["a"]) == 1
        with pytest.raises(ValueError, match="with two grades"):
            function_of("ap", truth_duplicates="count")(unequal, ["a"])

    def test_a_truth_that_is_an_order(self) -> None:
        assert function_of("tau_ap", truth="order")(["a", "b", "c"], ["a", "c", "b"]) == 0.5


class TestChoices:
    @pytest.mark.slow
    @pytest.mark.parametrize("choice", ALIGNING)
    def test_each_value(self, choice: str) -> None:
        lists = random_lists(25, seed=7, repeats=choice == "duplicates", missing=True)
        compared = refused = 0
        for value in ALIGNING[choice]:
            for metric in (
                "ap",
                "ndcg@3",
                "precision@2",
                "bpref",
                "rr@3",
                "auc",
                "recall@2",
                "spearman",
                "rbp",
                "num_ret",
            ):
                options = {choice: value}
                try:
                    function = function_of(metric, **options)
                except ValueError:
                    refused += 1
                    continue
                for one in lists:
                    if choice == "duplicates" and not one.truth:
                        continue  # which rows of a query cannot have
                    wanted = expected(one, metric, **options)
                    assert same(value_of(function, one), wanted), (metric, options, one, wanted)
                    compared += 1
        assert compared > 200
        assert refused < 30

    @pytest.mark.slow
    @pytest.mark.parametrize("row", [row for row in declared().values() if is_built_in(row)], ids=lambda row: row.name)
    def test_each_parameter(self, row: Any) -> None:
        lists = random_lists(12, seed=3)
        for name, about in row.about.items():
            for value in about.allowed:
                metric = rs.authoring.Metric(row.name, 3 if row.takes_k else None).given(**{name: value})
                try:
                    function = function_of(metric)
                except ValueError:
                    continue
                for one in lists:
                    if row.kind == "ratings" and one.run and one.run[0][1] is None:
                        continue  # an error, also of the other query
                    assert same(value_of(function, one), expected(one, metric)), (str(metric), one)


class TestRefusals:
    @pytest.mark.parametrize(
        ("metric", "options", "problem"),
        [
            ("coverage@10", {}, "reads all that lists show, judged or not"),
            ("alpha_ndcg@10", {}, "needs subtopics"),
            ("recall@10", {"relevance": "weighted"}, "needs weights of items; choose binary, or use rs.evaluate"),
            ("err@10", {"ties": "expected"}, "no closed form over all orders of tied items"),
            ("ap", {"language": "cobol"}, "unknown language 'cobol'"),
            ("ap", {"ids": "number"}, "choose from 'text', 'integer'"),
            ("ap", {"name": "my-class"}, "is not a name of a class or a package"),
        ],
    )
    def test_says_why(self, metric: str, options: dict[str, Any], problem: str) -> None:
        with pytest.raises(ValueError, match=re.escape(problem)):
            rs.compile(metric, **{"language": "javascript", **options})

    def test_no_closed_form_where_scores_are_tied(self) -> None:
        """As `rs.evaluate`: a number where nothing is tied, and an error where something is."""
        metric = rs.precision(divisor="judged") @ 2
        function = function_of(metric, ties="expected")
        assert function({"a": 1, "b": 0}, {"a": 2.0, "b": 1.0}) == 1 / 2
        with pytest.raises(ValueError, match="no closed form over all orders of tied items"):
            function({"a": 1, "b": 0}, {"a": 1.0, "b": 1.0})


class TestText:
    @pytest.mark.parametrize("language", LANGUAGES)
    def test_it_is_written_once_and_says_what_it_is(self, language: str) -> None:
        text = str(rs.compile(["ndcg@10", "ap", "rr@10"], language, convention="trec_eval"))
        assert text.count("order, and look up its items in the truth") == 1
        assert "convention trec_eval" in text
        flat = re.sub(r"[\s/*#]+", " ", text)
        for metric in ("ndcg@10", "ap", "rr@10"):
            definition = rs.define(metric, convention="trec_eval")
            assert re.sub(r"[\s/*#]+", " ", "; ".join([f"{metric}: {definition.formula}", *definition.rules])) in flat
        assert not re.search(r"\bNone\b.*;$|<function|Expression|object at", text)

    def test_reads_as_a_person_would_write(self) -> None:
        text = str(rs.compile("ndcg@10", "javascript"))
        body = text[text.index("function ndcgAt10") : text.index("/** Computes the test cases")]
        assert "idealDiscounted += Math.max(idealGrade[i], 0.0) * (1.0 / Math.log2(rank + 1.0));" in body
        assert "return idealDiscounted !== 0.0 ? discounted / idealDiscounted : 0.0;" in body
        assert body.count("for (") == 2
        assert "above" not in text  # what no metric reads is not there

    def test_names(self) -> None:
        code = rs.compile(["ndcg(gain='exp2')@10", "ap"], "go")
        assert code.functions == {"ndcg(gain='exp2')@10": "NdcgGainExp2At10", "ap": "Ap"}
        assert language_of("metrics.rs") == "rust"
        assert language_of("metrics.txt") is None

    def test_its_cases_fail_if_a_number_is_another(self, tmp_path: Any) -> None:
        code = rs.compile("ap", "python")
        namespace: dict[str, Any] = {"__name__": "compiled"}
        exec(str(code).replace("relevant_so_far / ", "1.0 / ").replace("relevant_so_far / ", ""), namespace)
        with pytest.raises(AssertionError, match="ap of case 1 is"):
            namespace["check"]()
        code.write(tmp_path / "ap.py")
        assert (tmp_path / "ap.py").read_text(encoding="utf-8") == str(code)


def test_user_metrics_are_compiled() -> None:
    @rs.metric("first_grade", formula="the grade of the first item", latex="g")
    def first_grade(ranking: Any) -> Any:
        """The grade of the first item."""
        return rs.authoring.Ratio(ranking.sum(ranking.where(ranking.rank == 1, ranking.grade, 0.0)), ranking.one)

    assert function_of(first_grade)({"a": 3, "b": 1}, ["b", "a"]) == 1
