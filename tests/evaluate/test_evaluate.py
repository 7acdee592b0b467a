"""`evaluate`: queries that are missing or extra, means of every kind, choices, weights, and metrics of one's own."""

import math

import numpy as np
import pytest

import rankstone as rs
from tests.table.cases import built_in

# AP: q 1/2, r 1, s missing from the run, t has nothing relevant; u is not judged.
TRUTH = {"q": {"a": 1}, "r": {"b": 1, "c": 1}, "s": {"d": 1}, "t": {"e": 0}}
RUN = {"q": {"x": 2.0, "a": 1.0}, "r": {"b": 2.0, "c": 1.0}, "t": {"e": 1.0}, "u": {"f": 1.0}}


def ap(**choices):
    return rs.evaluate(TRUTH, RUN, "ap", **choices)["ap"]


def test_every_judged_query_counts():
    result = rs.evaluate(TRUTH, RUN, "ap")
    assert list(result.queries) == ["q", "r", "s", "t"]
    assert result.per_query["ap"] == pytest.approx([1 / 2, 1, 0, 0])
    assert result["ap"] == pytest.approx((1 / 2 + 1 + 0 + 0) / 4)


def test_missing():
    assert ap(missing="zero") == pytest.approx((1 / 2 + 1 + 0 + 0) / 4)
    assert ap(missing="skip") == pytest.approx((1 / 2 + 1 + 0) / 3)
    with pytest.raises(ValueError, match="the run lacks 1 judged queries: 's'"):
        ap(missing="error")


def test_extra():
    assert ap(extra="skip") == pytest.approx((1 / 2 + 1 + 0 + 0) / 4)
    assert ap(extra="zero") == pytest.approx((1 / 2 + 1 + 0 + 0 + 0) / 5)
    with pytest.raises(ValueError, match="the truth lacks 1 queries of the run: 'u'"):
        ap(extra="error")
    result = rs.evaluate(TRUTH, RUN, "ap", extra="zero")
    assert list(result.queries) == ["q", "r", "s", "t", "u"]


def test_extra_queries_for_all_metrics_or_none():
    with pytest.raises(ValueError, match="extra='zero' adds queries, so it must hold for all metrics"):
        rs.evaluate(TRUTH, RUN, ["ap", "rr(extra='zero')"])


def test_undefined():
    """Only t has no value: nothing is relevant there."""
    assert ap(undefined=1) == pytest.approx((1 / 2 + 1 + 0 + 1) / 4)
    assert ap(undefined=0.25) == pytest.approx((1 / 2 + 1 + 0 + 0.25) / 4)
    assert ap(undefined="skip") == pytest.approx((1 / 2 + 1 + 0) / 3)
    assert math.isnan(ap(undefined="nan"))
    assert math.isnan(ap(undefined=float("nan")))
    with pytest.raises(ValueError, match=r"ap: the value is undefined: its denominator is 0 in query 't'"):
        ap(undefined="error")


def test_undefined_and_missing_together():
    """A query that is left out as missing is no error for having nothing relevant."""
    truth = {"q": {"a": 1}, "t": {"e": 0}}
    assert rs.evaluate(truth, {"q": ["a"]}, "ap", missing="skip", undefined="error")["ap"] == 1
    assert rs.evaluate({"q": {}}, {"q": {}}, "ap", both_empty=1, undefined="error")["ap"] == 1


def test_many_missing_queries_are_not_all_named():
    with pytest.raises(ValueError, match=r"lacks 9 judged queries: 0, 1, 2, 3, 4 \.\.\.; missing='zero'"):
        rs.evaluate({number: ["a"] for number in range(9)}, {}, missing="error")


def test_no_query_at_all():
    assert math.isnan(rs.evaluate({}, {}, "ap")["ap"])
    assert rs.evaluate({}, RUN, "ap", no_queries=0)["ap"] == 0
    assert rs.evaluate(TRUTH, {}, "ap")["ap"] == 0
    with pytest.raises(ValueError, match="ap: there is no query to average over"):
        rs.evaluate(TRUTH, {}, "ap", missing="skip", no_queries="error")


def test_short_list_scored_zero():
    """Lists shorter than k; in a ratio of sums they earn nothing either."""
    truth, run = {"q": ["a"], "r": ["b"]}, {"q": ["a"], "r": ["b", "x"]}
    assert rs.evaluate(truth, run, "precision@2", short_list="zero").per_query["precision@2"] == pytest.approx(
        [0, 1 / 2]
    )
    micro = rs.evaluate(truth, run, "precision@2", short_list="zero", averaging="micro")
    assert micro["precision@2"] == pytest.approx((0 + 1) / (2 + 2))


# -- means ---------------------------------------------------------------------------------------------------


def test_macro_and_micro():
    """Recall: q 1 of 1, r 1 of 3."""
    truth, run = {"q": ["a"], "r": ["b", "c", "d"]}, {"q": ["a"], "r": ["b"]}
    assert rs.evaluate(truth, run, "recall")["recall"] == pytest.approx((1 + 1 / 3) / 2)
    assert rs.evaluate(truth, run, "recall", averaging="micro")["recall"] == pytest.approx((1 + 1) / (1 + 3))
    assert rs.evaluate(truth, run, "recall", averaging="sum")["recall"] == pytest.approx(1 + 1 / 3)
    assert rs.evaluate(truth, run, "recall", averaging="geometric")["recall"] == pytest.approx(math.sqrt(1 * 1 / 3))


def test_micro_leaves_out_what_the_mean_leaves_out():
    truth, run = {"q": ["a"], "r": ["b", "c", "d"]}, {"q": ["a"]}
    assert rs.evaluate(truth, run, "recall", averaging="micro")["recall"] == pytest.approx(1 / (1 + 3))
    assert rs.evaluate(truth, run, "recall", averaging="micro", missing="skip")["recall"] == pytest.approx(1 / 1)


def test_micro_of_nothing():
    truth, run = {"q": {"a": 0}}, {"q": ["a"]}
    assert rs.evaluate(truth, run, "recall", averaging="micro", undefined=0.5)["recall"] == 0.5
    with pytest.raises(ValueError, match="recall: no query has a relevant item"):
        rs.evaluate(truth, run, "recall", averaging="micro", undefined="error")


def test_pooled_rows():
    """All rows as one list, by score; that needs an order and a grade for each of them."""
    truth = {"q": {"a": 1, "b": 0}, "r": {"c": 0, "d": 1}}
    run = {"q": {"a": 3.0, "b": 1.0}, "r": {"c": 2.0, "d": 1.0}}
    asked = {"averaging": "one_list", "ties": "input"}
    assert rs.evaluate(truth, run, "auc", **asked)["auc"] == pytest.approx((1 + 1 + 0 + 0.5) / 4)
    assert rs.evaluate(truth, run, "precision@1", **asked)["precision@1"] == 1 / 1
    worst = rs.evaluate(truth, run, "ap", averaging="one_list", ties="pessimistic")
    assert worst["ap"] == pytest.approx((1 + 2 / 4) / 2)
    with pytest.raises(ValueError, match=r"precision@1: with averaging='one_list',? .* by ties='item_desc'"):
        rs.evaluate(truth, run, "precision@1", averaging="one_list")
    run["q"]["x"] = 0.0
    with pytest.raises(ValueError, match=r"auc: averaging='one_list' needs a grade for every row; 1 "):
        rs.evaluate(truth, run, "auc", **asked)


def test_digits():
    assert ap(digits=2) == 0.38  # 0.375
    assert ap(digits=0) == 0


@pytest.mark.parametrize(
    "weights",
    [{"q": 1, "r": 3, "s": 0, "t": 4, "zz": 9}, [1, 3, 0, 4], np.array([1.0, 3.0, 0.0, 4.0]), (1, 3, 0, 4)],
    ids=str,
)
def test_weights(weights):
    result = rs.evaluate(TRUTH, RUN, "ap", weights=weights)
    assert result["ap"] == pytest.approx((1 * 1 / 2 + 3 * 1 + 0 * 0 + 4 * 0) / (1 + 3 + 0 + 4))


def test_weights_of_queries_that_do_not_count():
    weights = {"q": 1, "r": 3, "s": 5, "t": 4}
    result = rs.evaluate(TRUTH, RUN, "ap", weights=weights, missing="skip", undefined="skip")
    assert result["ap"] == pytest.approx((1 * 1 / 2 + 3 * 1) / (1 + 3))


@pytest.mark.parametrize(
    ("weights", "choices", "message"),
    [
        ([1, 2], {}, r"weights has shape \(2,\); there are 4 queries"),
        (1.0, {}, r"weights has shape \(\); there are 4 queries"),
        ({"q": 1}, {}, "weights has no entry for query 'r'"),
        ([1, 1, -1, 1], {}, "weight -1.0 of query 's' is not a finite number >= 0"),
        ([1, np.nan, 1, 1], {}, "weight nan of query 'r' is not a finite number >= 0"),
        ([1, 1, 1, np.inf], {}, "weight inf of query 't' is not a finite number >= 0"),
        ([1, 1, 1, 1], {"averaging": "micro"}, "weights= needs averaging='weighted', not 'micro'"),
        (None, {"averaging": "weighted"}, "averaging='weighted' needs weights="),
    ],
)
def test_bad_weights(weights, choices, message):
    with pytest.raises(ValueError, match=message):
        rs.evaluate(TRUTH, RUN, "ap", weights=weights, **choices)


def test_weights_that_are_all_zero():
    assert math.isnan(rs.evaluate(TRUTH, RUN, "ap", weights=[0, 0, 0, 0])["ap"])


# -- metrics and choices -------------------------------------------------------------------------------------


def test_ways_to_ask_for_metrics():
    asked = ["ndcg@10", rs.ap, rs.recall @ 5, "recall@{1,5}", "MAP", rs.ndcg(gain="exp2") @ 3, "p@1"]
    result = rs.evaluate(TRUTH, RUN, asked)
    assert list(result) == ["ndcg@10", "ap", "recall@5", "recall@1", "ndcg(gain='exp2')@3", "precision@1"]
    assert list(rs.evaluate(TRUTH, RUN, rs.ap)) == ["ap"]
    assert list(rs.evaluate(TRUTH, RUN, (name for name in ("ap", "rr")))) == ["ap", "rr"]
    assert list(rs.evaluate(TRUTH, RUN)) == ["ndcg@10", "ap", "rr", "precision@10", "recall@10"]


def test_a_choice_for_one_metric():
    """In its name, or for all; the nearest word wins."""
    truth, run = {"q": {"a": 1, "b": 2}}, {"q": ["a", "b"]}
    result = rs.evaluate(truth, run, ["precision@1", "precision(threshold=2)@1", "recall@1"], threshold=1)
    assert dict(result) == {"precision@1": 1, "precision(threshold=2)@1": 0, "recall@1": 1 / 2}
    result = rs.evaluate(truth, run, ["precision@1", "recall(threshold=2)@1"], threshold=1)
    assert dict(result) == {"precision@1": 1, "recall(threshold=2)@1": 0}
    result = rs.evaluate(truth, run, ["ap(divisor='k')@1", "ap(divisor='none')@1", "ap@1"])
    assert dict(result) == {"ap(divisor='k')@1": 1 / 1, "ap(divisor='none')@1": 1, "ap@1": 1 / 2}
    with pytest.raises(ValueError, match=r"recall_threshold= .* of recall; write it there: 'recall\(threshold=2\)@1'"):
        rs.evaluate(truth, run, ["precision@1", "recall@1"], recall_threshold=2)


def test_a_word_that_one_of_the_metrics_does_not_know():
    with pytest.raises(ValueError, match="recall: divisor='k'; choose from"):
        rs.evaluate(TRUTH, RUN, ["precision(divisor='k')@1", "recall(divisor='k')@1"])
    with pytest.raises(
        ValueError, match=r"divisor= is a parameter of precision; write it .*precision\(divisor='k'\)@1"
    ):
        rs.evaluate(TRUTH, RUN, ["precision@1", "recall@1"], divisor="k")


WRONG = {
    "misspelt metric": ({"metrics": "ndgc@10"}, ValueError, r"unknown metric 'ndgc@10'; did you mean 'ndcg@10'\?"),
    "no such metric": (
        {"metrics": "qqqqqq"},
        ValueError,
        r"metric 'qqqqqq'; there are [a-z_]+, .* and \d+ more",
    ),
    "k of 0": ({"metrics": "ndcg@0"}, ValueError, "k must be a whole number from 1, not 0"),
    "k of -1": ({"metrics": "ndcg@-1"}, ValueError, "k must be a whole number from 1, not -1"),
    "k that is a word": ({"metrics": "ndcg@x"}, ValueError, "cutoff 'x' is not a whole number"),
    "k with a fraction": ({"metrics": "ndcg@1.5"}, ValueError, "cutoff '1.5' is not a whole number"),
    "no place for k": ({"metrics": "bpref@3"}, ValueError, "bpref has no place for a cutoff"),
    "a number as metric": ({"metrics": 5}, TypeError, "a metric is a name such as 'ndcg@10' .* not 5"),
    "numbers as metrics": ({"metrics": [5]}, TypeError, "a metric is a name such as 'ndcg@10' .* not 5"),
    "no metrics": ({"metrics": []}, ValueError, "no metric was asked for"),
    "empty name": ({"metrics": ""}, ValueError, "cannot read metric ''"),
    "open bracket": ({"metrics": "rbp(p=0.5"}, ValueError, "cannot read metric 'rbp"),
    "code in brackets": (
        {"metrics": "rbp(p=print(1))"},
        ValueError,
        r"'rbp\(p=print\(1\)\)': p=print\(1\) is not a plain value",
    ),
    "parameter twice": ({"metrics": "rbp(0.5, p=0.5)"}, ValueError, "parameter 'p' is given twice"),
    "too many": ({"metrics": "r_precision(1)"}, ValueError, "r_precision takes no parameters"),
    "unknown parameter": (
        {"metrics": "ndcg(gian='exp2')"},
        ValueError,
        r"unknown parameter of ndcg 'gian'; did you mean 'gain'\?",
    ),
    "wrong word": ({"metrics": "ap(divisor='q')"}, ValueError, "ap: divisor='q'; choose from 'relevant'"),
    "wrong type": ({"metrics": "rbp(p='x')"}, TypeError, "rbp: p='x' is not a number"),
    "not whole": ({"metrics": "ap(term_digits=1.5)"}, TypeError, "ap: term_digits=1.5 is not a whole number"),
    "unknown choice": ({"tie": "input"}, ValueError, r"unknown choice 'tie'; did you mean 'ties'\?"),
    "unknown choice of a metric": ({"ap_colour": 1}, ValueError, "unknown choice 'ap_colour'; there are ties, "),
    "unknown value": ({"ties": "random"}, ValueError, "ties='random'; choose from 'item_desc', 'item_asc'"),
    "unknown convention": (
        {"convention": "treceval"},
        ValueError,
        r"unknown convention 'treceval'; did you mean 'trec_eval' or 'trec_eval-9'\?",
    ),
    "no convention": ({"convention": None}, ValueError, "unknown convention None"),
    "threshold": ({"threshold": "high"}, ValueError, "threshold 'high' is not a grade; write 2, '>=2', '>2', 'all'"),
    "threshold of nothing": ({"threshold": None}, TypeError, "threshold must be a grade, not None"),
    "endless threshold": ({"threshold": math.inf}, ValueError, "threshold must be finite"),
    "undefined": (
        {"undefined": "none"},
        ValueError,
        "undefined='none'; choose from a number, or 'nan', 'skip', 'error'",
    ),
    "both_empty": ({"both_empty": "x"}, ValueError, "both_empty='x'; choose from a number, or 'nan', None"),
    "digits": ({"digits": -1}, ValueError, "digits=-1; give a number of decimals"),
    "threads": ({"threads": -1}, ValueError, "threads must be 0"),
    "part of a two-sided metric": (
        {"metrics": "bpref", "relevance": "clipped"},
        ValueError,
        "bpref asks which items are relevant and which are not: relevance='clipped'",
    ),
    "parts": ({"averaging": "parts"}, ValueError, "has no parts; averaging='parts' is for f1"),
    "unjudged relevant": (
        {"unjudged": "only_returned", "threshold": 0},
        ValueError,
        "unjudged='only_returned' gives unjudged items grade 0",
    ),
    "default_k": ({"default_k": 0}, ValueError, "k must be a whole number from 1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_asked(name):
    asked, kind, message = WRONG[name]
    with pytest.raises(kind, match=message):
        rs.evaluate(TRUTH, RUN, **{"metrics": "ap", **asked})


@pytest.mark.parametrize("threads", [0, 1, 2, 5])
def test_threads_change_nothing(threads):
    random = np.random.default_rng(0)
    labels, scores = random.integers(0, 3, (300, 20)), random.integers(0, 6, (300, 20)) / 2
    one, other = (rs.evaluate(labels, scores, threads=number) for number in (1, threads))
    assert dict(one) == dict(other)


def test_scores_compared_as_float32():
    """1e-9 apart is a tie in float32: then the higher id goes first."""
    truth, run = {"q": ["a"]}, {"q": {"a": 1.0 + 1e-9, "b": 1.0}}
    assert rs.evaluate(truth, run, "rr")["rr"] == 1
    assert rs.evaluate(truth, run, "rr", score_precision="float32")["rr"] == 1 / 2


@pytest.mark.parametrize(
    ("ties", "rank"),
    [("item_desc", 2), ("item_asc", 3), ("input", 4), ("reverse_input", 1), ("optimistic", 1), ("pessimistic", 4)],
)
def test_orders_of_tied_items(ties, rank):
    """All four are tied; c is the only relevant one, and the last in the input."""
    run = {"q": {"d": 1.0, "b": 1.0, "a": 1.0, "c": 1.0}}
    assert rs.evaluate({"q": ["c"]}, run, "rr", ties=ties)["rr"] == pytest.approx(1 / rank)


def test_numbers_are_compared_as_numbers_and_text_as_text():
    assert rs.evaluate({"q": [10]}, {"q": {9: 1.0, 10: 1.0}}, "rr")["rr"] == 1
    assert rs.evaluate({"q": ["10"]}, {"q": {"9": 1.0, "10": 1.0}}, "rr")["rr"] == 1 / 2
    assert rs.evaluate({"q": ["é"]}, {"q": {"é": 1.0, "z": 1.0}}, "rr")["rr"] == 1  # by code point


# -- metrics of one's own ------------------------------------------------------------------------------------


@pytest.fixture
def own_metric():
    """Declared for one test, and forgotten."""
    from rankstone.metrics import registry

    rows, names = dict(registry.metrics.rows), dict(registry.metrics.names)
    yield rs.metric
    registry.metrics.rows.clear()
    registry.metrics.rows.update(rows)
    registry.metrics.names.clear()
    registry.metrics.names.update(names)
    for forget in registry.on_declare:
        forget()


def test_own_metric(own_metric):
    @own_metric("top_share", aliases=("ts",), formula="weight * hits(k) / k", expected=True)
    def top_share(ranked, *, k=None, weight: float = 1.0):
        """Weighted share of the first k that is relevant."""
        return rs.authoring.Ratio(weight * ranked.hits(k), ranked.places(k))

    assert isinstance(top_share, rs.authoring.Metric)
    result = rs.evaluate(TRUTH, RUN, ["precision@2", top_share @ 2, "TS(weight=2.5)@2", "top_share@1"])
    assert list(result) == ["precision@2", "top_share@2", "top_share(weight=2.5)@2", "top_share@1"]
    assert result["top_share@2"] == result["precision@2"]
    assert result[top_share(weight=2.5) @ 2] == pytest.approx(2.5 * result["precision@2"])
    assert "top_share@2" in repr(result)
    assert result.definitions["top_share@2"].cite.startswith(
        "top_share@2: weight * hits(k) / k; weight 1.0; relevant if grade >= 1"
    )
    assert top_share(["a", "x"], truth=["a"], k=2) == 1 / 2
    assert rs.evaluate({"q": ["a"]}, {"q": {"a": 1.0, "b": 1.0}}, "ts@1", ties="expected")["ts@1"] == 1 / 2


def test_metric_declared_again_is_the_new_one(own_metric):
    """As when a notebook's cell runs twice."""
    for weight in (1.0, 2.0):

        @own_metric("twice", formula="weight")
        def twice(ranked, *, weight: float = weight):
            """Weight."""
            return rs.authoring.Ratio(np.full(len(ranked), weight), np.ones(len(ranked)))

        assert rs.evaluate(TRUTH, RUN, twice)["twice"] == weight
        assert rs.evaluate(TRUTH, RUN, "twice")["twice"] == weight


def test_names_that_are_taken(own_metric):
    with pytest.raises(ValueError, match="'ndcg' is a metric of rankstone's own; choose another name"):
        own_metric("ndcg")(lambda ranked: None)
    with pytest.raises(ValueError, match="metric name 'map' is already an alias of 'ap'"):
        own_metric("mine", aliases=("map",))(lambda ranked: None)
    with pytest.raises(ValueError, match="'my metric' cannot be a metric's name"):
        own_metric("my metric")(lambda ranked: None)
    assert rs.ndcg(["a"], truth=["a"]) == 1
    with pytest.raises(ValueError, match="unknown metric 'mine'"):
        rs.authoring.Metric.parse("mine")


def test_own_metric_that_needs_an_order_has_no_expected_value(own_metric):
    @own_metric("deepest", formula="deepest rank", expected=True)
    def deepest(ranked):
        """Rank of the deepest hit; declared as if it had a mean over all orders, which it has not."""
        return rs.authoring.Ratio(ranked.sum(ranked.rank.astype(float)), np.ones(len(ranked)))

    with pytest.raises(rs.errors.NoClosedFormError, match="deepest has no closed form"):
        rs.evaluate({"q": ["a"]}, {"q": {"a": 1.0, "b": 1.0}}, "deepest", ties="expected")


# -- queries without a relevant item ---------------------------------------------------------------------------

NOT_OF_RELEVANT_ITEMS = ("fallout", "judged", "unjudged")
RELEVANT = [row.name for row in built_in().values() if row.kind == "ranking" and row.name not in NOT_OF_RELEVANT_ITEMS]


@pytest.mark.parametrize("name", RELEVANT)
@pytest.mark.parametrize(("undefined", "value"), [("skip", math.nan), ("nan", math.nan), (1, 1), (0.25, 0.25)])
def test_nothing_to_earn_is_the_same_in_every_metric(name, undefined, value):
    truth, run = {"u": {"a": 1, "c": 0}, "v": {"b": 0}}, {"u": ["a", "c"], "v": ["b", "x"]}
    found = rs.evaluate(truth, run, name, undefined=undefined)
    np.testing.assert_array_equal(found.per_query[name][1], value)
    whole = rs.evaluate({"u": truth["u"]}, run, name)[name]
    if undefined == "skip":
        assert found[name] == whole
    with pytest.raises(ValueError, match="the value is undefined: its denominator is 0 in query 'v'"):
        rs.evaluate(truth, run, name, undefined="error")


def test_one_rule_for_several_metrics():
    truth, run = {"u": ["a"], "v": {"b": 0}}, {"u": ["a"], "v": ["b"]}
    assert dict(rs.evaluate(truth, run, ["recall@1", "hr@1"], undefined="skip")) == {"recall@1": 1, "hit_rate@1": 1}
    assert dict(rs.evaluate(truth, run, ["recall@1", "hr@1"])) == {"recall@1": 1 / 2, "hit_rate@1": 1 / 2}
    # what is said of them alone goes before
    assert rs.evaluate(truth, run, "hr@1", undefined="skip", no_relevant=0)["hr@1"] == 1 / 2


def test_an_empty_list_can_be_nan():
    found = rs.evaluate({"u": ["a"], "v": ["a"]}, {"u": [], "v": ["b"]}, "precision@1", empty_list="nan")
    np.testing.assert_array_equal(found.per_query["precision@1"], [math.nan, 0])


@pytest.mark.parametrize("truth", [{"u": ["a"]}, {"u": {"a"}}, rs.columns(query=["u"], item=["a"])])
def test_a_threshold_for_a_truth_without_grades(truth):
    run = {"u": ["a"]} if isinstance(truth, dict) else rs.columns(query=["u"], item=["a"], score=[1.0])
    with pytest.raises(ValueError, match=r"hit_rate@1: the truth has no grades, .* threshold='>3' .* or threshold=1"):
        rs.evaluate(truth, run, ["ndcg@1", "hr@1"], convention="recsys-blog")
    found = rs.evaluate(truth, run, ["ndcg@1", "hr@1"], convention="recsys-blog", threshold=1)
    assert dict(found) == {"ndcg@1": 1, "hit_rate@1": 1}
    assert rs.evaluate(truth, run, "ndcg@1", convention="recsys-blog")["ndcg@1"] == 1


@pytest.mark.parametrize("rows", [False, True])
def test_a_threshold_of_ratings_for_clicks(rows):
    """A click is no rating of 1: without a threshold of one's own, nothing would be relevant."""
    truth, run = {"u": {"a": 1, "b": 0}}, {"u": {"a": 2.0, "b": 1.0}}
    if rows:
        truth = rs.columns(query=["u", "u"], item=["a", "b"], grade=[1, 0])
        run = rs.columns(query=["u", "u"], item=["a", "b"], score=[2, 1])
    for metrics in ("hit_rate@1", ["ndcg@1", "hit_rate@1"]):
        with pytest.raises(ValueError, match=r"the truth has grades of 0 and 1 only, .* threshold='>3' .* threshold=1"):
            rs.evaluate(truth, run, metrics, convention="recsys-blog")
    assert rs.evaluate(truth, run, "hit_rate@1", convention="recsys-blog", threshold=1)["hit_rate@1"] == 1
    assert rs.evaluate(truth, run, "hit_rate@1", convention="recsys-blog", threshold=">3")["hit_rate@1"] == 0
