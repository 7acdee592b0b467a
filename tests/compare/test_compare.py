"""Is one run better than another: against SciPy, statsmodels and hand calculations."""

import json
import math
from fractions import Fraction
from itertools import product
from math import log2
from random import Random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import rankstone as rs
from rankstone.compare.caveats import suggested_groups

ITEMS = [f"d{number}" for number in range(20)]


def made(queries=60, runs=("a", "b", "c"), seed=0, noise=(2.0, 1.2, 1.9)):
    """A truth and runs of it, each with its own noise."""
    rng = np.random.default_rng(seed)
    truth = {
        f"q{query}": {item: int(rng.integers(0, 3)) for item in rng.choice(ITEMS, 8, replace=False)}
        for query in range(queries)
    }
    found = {
        name: {
            query: {item: grades.get(item, 0) + spread * float(rng.normal()) for item in ITEMS}
            for query, grades in truth.items()
        }
        for name, spread in zip(runs, noise, strict=False)
    }
    return truth, found


@pytest.fixture(scope="module")
def data():
    return made()


@pytest.fixture(scope="module")
def comparison(data):
    return rs.compare(*data, ["ndcg@10", "rr"], baseline="a")


def values(data, run, metric, **choices):
    return rs.evaluate(data[0], data[1][run], metric, **choices).per_query[metric]


class TestNumbers:
    @pytest.mark.parametrize("metric", ["ndcg@10", "rr"])
    @pytest.mark.parametrize("run", ["b", "c"])
    def test_the_t_test_is_scipys(self, data, comparison, run, metric):
        first, second = values(data, "a", metric), values(data, run, metric)
        theirs = stats.ttest_rel(second, first)
        ours = comparison[run, metric]
        assert (ours.first, ours.second) == pytest.approx((first.mean(), second.mean()))
        assert ours.difference == pytest.approx(second.mean() - first.mean())
        assert ours.p == pytest.approx(theirs.pvalue, rel=1e-10)
        assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval(0.95)), rel=1e-10)
        assert ours.wins == (second > first).sum()
        assert (ours.ties, ours.losses) == ((second == first).sum(), (second < first).sum())
        assert ours.relative == pytest.approx(second.mean() / first.mean() - 1)
        assert ours.above(0.05) == pytest.approx(stats.ttest_1samp(second - first, 0.05, alternative="greater").pvalue)
        assert ours.below(0.05) == pytest.approx(stats.ttest_1samp(second - first, 0.05, alternative="less").pvalue)
        assert ours.effect.dz == pytest.approx((second - first).mean() / (second - first).std(ddof=1))

    @pytest.mark.parametrize(
        ("ours", "theirs"),
        [("holm", "holm"), ("bonferroni", "bonferroni"), ("hochberg", "simes-hochberg"), ("bh", "fdr_bh"),
         ("by", "fdr_by"), ("hommel", "hommel")],
    )  # fmt: skip
    def test_corrections_are_those_of_statsmodels(self, data, ours, theirs):
        multitest = pytest.importorskip("statsmodels.stats.multitest")
        found = rs.compare(*data, ["ndcg@10", "rr"], baseline="a", correction=ours)
        raw = [difference.p for difference in found]
        adjusted = multitest.multipletests(raw, method=theirs)[1]
        assert [difference.adjusted for difference in found] == pytest.approx(adjusted, rel=1e-10)

    def test_the_mean_that_is_compared_is_that_of_evaluate(self, data, comparison):
        result = rs.evaluate(data[0], data[1]["c"], ["ndcg@10", "rr"])
        assert {label: comparison["c", label].second for label in result} == dict(result)

    def test_micro_means_by_the_delta_method(self, data):
        found = rs.compare(data[0], {"a": data[1]["a"], "b": data[1]["b"]}, "precision@5", averaging="micro")
        results = [rs.evaluate(data[0], data[1][run], "precision@5", averaging="micro") for run in "ab"]
        parts = [result._measurement.ratio("precision@5") for result in results]
        off = [
            ratio.numerator / ratio.denominator.mean()
            - ratio.numerator.sum() / ratio.denominator.sum() * ratio.denominator / ratio.denominator.mean()
            for ratio in parts
        ]
        between = off[1] - off[0]
        error = between.std(ddof=1) / math.sqrt(len(between))
        difference = results[1]["precision@5"] - results[0]["precision@5"]
        ours = found["b", "precision@5"]
        assert ours.difference == pytest.approx(difference)
        assert ours.p == pytest.approx(2 * stats.t.sf(abs(difference / error), len(between) - 1), rel=1e-9)

    def test_weighted_means_are_those_of_statsmodels(self, data):
        api = pytest.importorskip("statsmodels.api")
        weights = {query: 1 + int(query[1:]) % 5 for query in data[0]}
        found = rs.compare(data[0], {"a": data[1]["a"], "b": data[1]["b"]}, "ap", weights=weights)["b", "ap"]
        between = values(data, "b", "ap") - values(data, "a", "ap")
        fit = api.WLS(between, np.ones(len(between)), weights=list(weights.values())).fit(cov_type="HC1", use_t=True)
        assert found.difference == pytest.approx(fit.params[0])
        assert found.p == pytest.approx(fit.pvalues[0], rel=1e-8)

    def test_clusters_are_those_of_statsmodels(self, data):
        api = pytest.importorskip("statsmodels.api")
        clusters = {query: int(query[1:]) // 4 for query in data[0]}
        found = rs.compare(data[0], {"a": data[1]["a"], "b": data[1]["b"]}, "ap", clusters=clusters)["b", "ap"]
        between = values(data, "b", "ap") - values(data, "a", "ap")
        fit = api.OLS(between, np.ones(len(between))).fit(
            cov_type="cluster", cov_kwds={"groups": list(clusters.values())}, use_t=True
        )
        assert found.p == pytest.approx(fit.pvalues[0], rel=1e-8)
        assert (found.low, found.high) == pytest.approx(tuple(fit.conf_int()[0]), rel=1e-8)

    def test_geometric_means_are_compared_by_logarithms(self, data):
        found = rs.compare(data[0], {"a": data[1]["a"], "b": data[1]["b"]}, "gmap")["b", "gmap"]
        logs = [np.log(np.maximum(values(data, run, "ap"), 1e-5)) for run in "ab"]
        theirs = stats.ttest_rel(logs[1], logs[0])
        assert found.p == pytest.approx(theirs.pvalue, rel=1e-10)
        low, high = theirs.confidence_interval(0.95)
        first = math.exp(logs[0].mean())
        assert (found.low, found.high) == pytest.approx((first * (math.exp(low) - 1), first * (math.exp(high) - 1)))
        assert found.difference == pytest.approx(math.exp(logs[1].mean()) - first)
        assert found.above(found.low) == pytest.approx(0.025)

    def test_sums_are_compared_as_means_are(self, data):
        pair = {"a": data[1]["a"], "b": data[1]["b"]}
        mean, total = (rs.compare(data[0], pair, "ap", averaging=name)["b", "ap"] for name in ("macro", "sum"))
        assert total.p == pytest.approx(mean.p)
        assert (total.difference, total.low) == pytest.approx((60 * mean.difference, 60 * mean.low))

    def test_root_of_a_micro_mean(self):
        """The slope of a square root is 1 / (2 sqrt)."""
        rng = np.random.default_rng(1)
        truth = {f"q{at}": {f"d{n}": float(rng.integers(1, 6)) for n in range(3 + at % 4)} for at in range(30)}
        runs = {
            name: {q: {d: g + float(rng.normal()) * spread for d, g in items.items()} for q, items in truth.items()}
            for name, spread in (("a", 1.0), ("b", 1.3))
        }
        found = rs.compare(truth, runs, "rmse", averaging="micro")["b", "rmse"]
        off = []
        for run in runs.values():
            squares = np.array([sum((run[q][d] - g) ** 2 for d, g in items.items()) for q, items in truth.items()])
            counts = np.array([len(items) for items in truth.values()])
            ratio = squares.sum() / counts.sum()
            off.append((squares - ratio * counts) / counts.mean() / (2 * math.sqrt(ratio)))
        error = (off[1] - off[0]).std(ddof=1) / math.sqrt(len(truth))
        assert found.p == pytest.approx(2 * stats.t.sf(abs(found.difference) / error, len(truth) - 1), rel=1e-6)
        assert found.direction == -1
        assert found.verdict == ("worse" if found.adjusted <= 0.05 else "inconclusive")

    def test_a_mean_of_parts(self, data):
        """F of the mean precision and the mean recall: its slopes by hand."""
        found = rs.compare(data[0], {"a": data[1]["a"], "b": data[1]["b"]}, "f1@5", averaging="parts")["b", "f1@5"]
        off, means = [], []
        for run in "ab":
            p, r = values(data, run, "precision@5"), values(data, run, "recall@5")
            mp, mr = p.mean(), r.mean()
            means.append(2 * mp * mr / (mp + mr))
            off.append(2 * mr**2 / (mp + mr) ** 2 * (p - mp) + 2 * mp**2 / (mp + mr) ** 2 * (r - mr))
        error = (off[1] - off[0]).std(ddof=1) / math.sqrt(60)
        assert found.difference == pytest.approx(means[1] - means[0])
        assert found.p == pytest.approx(2 * stats.t.sf(abs(found.difference) / error, 59), rel=1e-6)

    def test_what_is_made_of_all_rows_is_compared_by_leaving_out_pieces(self):
        truth, runs = made(queries=40, runs=("a", "b"))
        whole_lists = {query: {item: grades.get(item, 0) for item in ITEMS} for query, grades in truth.items()}
        how = {"averaging": "one_list", "ties": "expected"}
        found = rs.compare(whole_lists, runs, "auc", **how)["b", "auc"]
        whole = {name: rs.evaluate(whole_lists, run, "auc", **how)["auc"] for name, run in runs.items()}
        pseudo = []
        for out in truth:
            rest = {query: grades for query, grades in whole_lists.items() if query != out}
            less = {name: rs.evaluate(rest, run, "auc", **how)["auc"] for name, run in runs.items()}
            pseudo.append(40 * (whole["b"] - whole["a"]) - 39 * (less["b"] - less["a"]))
        assert found.difference == pytest.approx(whole["b"] - whole["a"])
        assert found.p == pytest.approx(stats.ttest_1samp(pseudo, found.difference * 0).pvalue, rel=0.05)
        assert (found.high - found.low) / 2 == pytest.approx(
            stats.t.ppf(0.975, 39) * np.std(pseudo, ddof=1) / math.sqrt(40), rel=0.01
        )

    def test_errors_of_all_rows_are_a_ratio_of_sums(self):
        truth, runs = made(queries=40, runs=("a", "b"))
        found = rs.compare(truth, runs, "mae")["b", "mae"]
        assert found.p == rs.compare(truth, runs, "mae", averaging="micro")["b", "mae"].p

    def test_power(self, comparison):
        ours = comparison["b", "rr"]
        error, n = (ours.high - ours.low) / 2 / stats.t.ppf(0.975, 59), 60
        bound = stats.t.ppf(0.975, n - 1)
        expected = stats.nct.sf(bound, n - 1, 0.05 / error) + stats.nct.cdf(-bound, n - 1, 0.05 / error)
        assert ours.power(0.05) == pytest.approx(expected, abs=1e-9)
        assert ours.power(ours.detectable()) == pytest.approx(0.8, abs=1e-6)
        needed = ours.sample_size(0.05)
        assert ours.detectable(queries=needed) <= 0.05 < ours.detectable(queries=needed - 1)
        assert comparison.sample_size(0.05)["b", "rr"] == needed

    def test_needed_without_data(self):
        assert rs.sample_size(difference=0.02, deviation=0.2) == 787  # R's power.t.test
        with pytest.raises(ValueError, match="must not be 0"):
            rs.sample_size(difference=0, deviation=0.2)

    def test_probabilities_are_areas_of_t(self, comparison):
        ours = comparison["c", "rr"]
        error = (ours.high - ours.low) / 2 / stats.t.ppf(0.975, 59)
        found = ours.probabilities(0.01)
        assert found["better"] == pytest.approx(stats.t.sf((0.01 - ours.difference) / error, 59))
        assert found["worse"] == pytest.approx(stats.t.cdf((-0.01 - ours.difference) / error, 59))
        assert sum(found.values()) == pytest.approx(1)


class TestTests:
    def test_flips_are_exact_where_they_can_be(self):
        truth = {f"q{at}": {"x": 1} for at in range(10)}
        ranks = ([1, 2, 1, 4, 3, 1, 2, 5, 1, 2], [2, 1, 1, 1, 1, 1, 1, 2, 3, 1])
        runs = {
            name: {f"q{at}": [*("abcdefg"[: rank - 1]), "x"] for at, rank in enumerate(own)}
            for name, own in zip("ab", ranks, strict=True)
        }
        between = [Fraction(1, b) - Fraction(1, a) for a, b in zip(*ranks, strict=True)]
        sums = [abs(sum(s * d for s, d in zip(signs, between, strict=True))) for signs in product((1, -1), repeat=10)]
        expected = Fraction(sum(one >= abs(sum(between)) for one in sums), 1024)
        found = rs.compare(truth, runs, "rr", test="randomization")["b", "rr"]
        assert found.p == pytest.approx(float(expected), abs=1e-15)

    def test_flips_of_many_queries_agree_with_t(self, data):
        found = rs.compare(*data, "ndcg@10", baseline="a", test="randomization")
        plain = rs.compare(*data, "ndcg@10", baseline="a")
        for ours, theirs in zip(found, plain, strict=True):
            assert ours.p == pytest.approx(theirs.p, abs=0.02)
        assert "randomisation test" in repr(found)
        assert "100,000 sign flips, seed 0" in repr(found)

    def test_wilcoxon_and_sign_are_scipys(self, data):
        first, second = values(data, "a", "ndcg@10"), values(data, "b", "ndcg@10")
        pair = {"a": data[1]["a"], "b": data[1]["b"]}
        found = rs.compare(data[0], pair, "ndcg@10", test="sign")["b", "ndcg@10"]
        assert found.p == pytest.approx(
            stats.binomtest(int((second > first).sum()), int((second != first).sum())).pvalue
        )
        found = rs.compare(data[0], pair, "ndcg@10", test="wilcoxon")["b", "ndcg@10"]
        assert found.p == pytest.approx(stats.wilcoxon(second - first, method="exact").pvalue, rel=1e-6)

    def test_a_test_of_ones_own(self, data):
        found = rs.compare(*data, "rr", baseline="a", test=lambda first, second: stats.ttest_ind(first, second).pvalue)
        ours = found["b", "rr"]
        assert ours.p == pytest.approx(stats.ttest_ind(values(data, "a", "rr"), values(data, "b", "rr")).pvalue)
        assert math.isnan(ours.low)
        assert "user-defined test" in repr(found)
        with pytest.raises(ValueError, match="the test returned 2; a p-value is a number from 0 to 1"):
            rs.compare(*data, "rr", baseline="a", test=lambda *_: 2)

    def test_all_pairs(self, data):
        found = rs.compare(*data, ["ndcg@10", "rr"])
        assert len(found) == 6
        assert found.to_dict()["correction"] == "westfall_young"
        assert found["a", "b", "rr"].difference == pytest.approx(
            -rs.compare(*data, "rr", baseline="b")["a", "rr"].difference
        )
        for ours in found:
            assert ours.adjusted >= ours.p * 0.9 - 1e-3
        with pytest.raises(KeyError, match="names no pair of runs, or several"):
            found["b"]

    def test_tukey_by_name(self, data):
        found = rs.compare(*data, "rr", correction="tukey")
        columns = np.column_stack([values(data, run, "rr") for run in "abc"])
        rest = columns - columns.mean(axis=1, keepdims=True) - columns.mean(axis=0) + columns.mean()
        n = len(columns)
        error = math.sqrt((rest**2).sum() / (2 * (n - 1)) / n)
        q = abs(columns[:, 1].mean() - columns[:, 0].mean()) / error
        expected = stats.studentized_range.sf(q, 3, 2 * (n - 1))
        assert found["a", "b", "rr"].adjusted == pytest.approx(expected, rel=1e-6)

    @pytest.mark.parametrize("test", ["t", "randomization"])
    def test_one_thread_and_eight(self, data, test):
        one, eight = (rs.compare(*data, ["ndcg@10", "rr"], test=test, threads=threads) for threads in (1, 8))
        assert [(of.p, of.adjusted) for of in one] == [(of.p, of.adjusted) for of in eight]

    def test_the_seed_is_the_only_chance(self, data):
        again = [
            rs.compare(*data, "ndcg@10", test="randomization", seed=seed)["a", "c", "ndcg@10"].p for seed in (0, 0, 1)
        ]
        assert again[0] == again[1] != again[2]


class TestVerdicts:
    def test_better_worse_and_not_decided(self, data):
        found = rs.compare(data[0], data[1], "ndcg@10", baseline="a")
        assert found["b", "ndcg@10"].verdict == "better"
        turned = rs.compare(data[0], data[1], "ndcg@10", baseline="b")
        assert turned["a", "ndcg@10"].verdict == "worse"
        assert turned["a", "ndcg@10"].difference == -found["b", "ndcg@10"].difference
        assert found["c", "ndcg@10"].verdict == "inconclusive"
        assert found.verdicts == {("b", "ndcg@10"): "better", ("c", "ndcg@10"): "inconclusive"}

    def test_same_within_the_margin_by_two_one_sided_tests(self, data):
        weightstats = pytest.importorskip("statsmodels.stats.weightstats")
        first, second = values(data, "a", "rr"), values(data, "c", "rr")
        pair = {"a": data[1]["a"], "c": data[1]["c"]}
        for margin in (0.05, 0.1, 0.15, 0.2, 0.3):
            p = weightstats.ttost_paired(second, first, -margin, margin)[0]
            verdict = rs.compare(data[0], pair, "rr", margin=margin)["c", "rr"].verdict
            assert (verdict == f"equivalent (margin {margin:g})") == (p <= 0.05), margin

    def test_a_margin_by_metric(self, data):
        found = rs.compare(*data, ["rr", "ndcg@10"], baseline="a", margin={"rr": 0.9})
        assert found["c", "rr"].verdict == "equivalent (margin 0.9)"
        assert found["c", "ndcg@10"].verdict == "inconclusive"
        with pytest.raises(KeyError, match="'ap' was not evaluated"):
            rs.compare(*data, "rr", baseline="a", margin={"ap": 0.9})
        with pytest.raises(ValueError, match="margin=0; give a number above 0"):
            rs.compare(*data, "rr", baseline="a", margin=0)

    def test_primary_metrics_decide(self, data):
        found = rs.compare(*data, ["ndcg@10", "rr"], baseline="a", primary="rr")
        alone = rs.compare(*data, "rr", baseline="a")
        assert found["b", "rr"].adjusted == alone["b", "rr"].adjusted
        assert found["b", "ndcg@10"].verdict == ""
        assert math.isnan(found["b", "ndcg@10"].adjusted)
        assert "Holm over 2 comparisons" in repr(found)

    def test_only_primary_metrics_share_a_margin(self, data):
        alone = rs.compare(*data, "rr", baseline="a", margin=0.13)
        found = rs.compare(*data, ["rr", "ndcg@10", "ap", "recall@5"], baseline="a", margin=0.13, primary="rr")
        assert found["c", "rr"].verdict == alone["c", "rr"].verdict

    def test_lower_is_better(self):
        truth = {f"q{at}": {"a": 3.0, "b": 1.0} for at in range(30)}
        rng = np.random.default_rng(0)
        runs = {
            name: {
                query: {item: grade + spread * float(rng.random()) for item, grade in items.items()}
                for query, items in truth.items()
            }
            for name, spread in (("far", 2.0), ("near", 0.5))
        }
        found = rs.compare(truth, runs, "mae")["near", "mae"]
        assert found.difference < 0
        assert found.verdict == "better"
        assert found.wins > found.losses
        assert found.probabilities()["better"] > 0.99
        assert rs.compare(truth, runs, "mae").leaderboard("mae").best[0] == "near"

    def test_a_run_against_itself(self, data):
        found = rs.compare(data[0], {"a": data[1]["a"], "again": data[1]["a"]}, ["rr", "ndcg@10"])
        for of in found:
            assert (of.difference, of.low, of.high, of.p, of.adjusted) == (0, 0, 0, 1, 1)
            assert of.verdict == "identical"
            assert [caveat.code for caveat in of.caveats] == ["equal"]
        assert found.headline == "again vs. a: identical on both metrics."
        assert repr(found).count("identical") == 3
        secondary = rs.compare(data[0], {"a": data[1]["a"], "again": data[1]["a"]}, ["rr", "ndcg@10"], primary="rr")
        assert secondary["again", "ndcg@10"].verdict == ""
        assert "again (ndcg@10): equal on every query" in repr(secondary)

    def test_one_query(self):
        found = rs.compare({"q": {"a": 1}}, {"x": {"q": ["b", "a"]}, "y": {"q": ["a"]}}, "rr")
        ours = found["y", "rr"]
        assert ours.difference == 0.5
        assert math.isnan(ours.p)
        assert ours.verdict == "inconclusive"
        assert (ours.low, ours.high) == (-math.inf, math.inf)
        assert "1 of 1 queries differ" in repr(found)

    def test_no_query_that_counts(self):
        with pytest.raises(ValueError, match="no query"):
            rs.compare(
                {"q": {"a": 0}}, {"x": {"q": ["b"]}, "y": {"q": ["a"]}}, "rr", undefined="skip", no_queries="error"
            )
        found = rs.compare({"q": {"a": 0}}, {"x": {"q": ["b"]}, "y": {"q": ["a"]}}, "rr", undefined="skip")
        assert found["y", "rr"].queries == 0
        assert found["y", "rr"].verdict == "inconclusive"
        assert repr(found)

    def test_nan_is_refused(self):
        truth = {"q": {"a": 1}, "r": {"b": 0}}
        with pytest.raises(ValueError, match=r"rr: query 'r' of x has no number \(NaN\)"):
            rs.compare(truth, {"x": {"q": ["a"]}, "y": {"q": ["a"]}}, "rr", undefined="nan")

    def test_the_whole_population_is_a_fact(self, data):
        found = rs.compare(data[0], {"a": data[1]["a"], "c": data[1]["c"]}, "rr", population=60)["c", "rr"]
        assert (found.low, found.high) == pytest.approx((found.difference, found.difference))
        assert math.isnan(found.p)
        assert found.verdict == ("better" if found.difference > 0 else "worse")
        half = rs.compare(data[0], {"a": data[1]["a"], "c": data[1]["c"]}, "rr", population=120)["c", "rr"]
        whole = rs.compare(data[0], {"a": data[1]["a"], "c": data[1]["c"]}, "rr")["c", "rr"]
        assert half.high - half.low == pytest.approx((whole.high - whole.low) * math.sqrt(1 / 2))
        with pytest.raises(ValueError, match="population=59, but there are 60 queries"):
            rs.compare(*data, "rr", baseline="a", population=59)


class TestPairing:
    def test_by_id_and_never_by_order(self, data, tmp_path):
        truth, runs = data
        turned = dict(reversed(truth.items()))
        results = {"a": rs.evaluate(truth, runs["a"], "rr"), "b": rs.evaluate(turned, runs["b"], "rr")}
        expected = rs.compare(truth, {name: runs[name] for name in "ab"}, "rr")["b", "rr"]
        found = rs.compare(results)["b", "rr"]
        assert (found.p, found.low) == pytest.approx((expected.p, expected.low))
        results["b"].write(tmp_path / "b.json")
        saved = rs.compare({"a": results["a"], "b": rs.read_result(tmp_path / "b.json")})["b", "rr"]
        assert saved.p == found.p
        flipped = [
            rs.compare(given, {name: runs[name] for name in "ab"}, "ndcg@10", test="randomization")["b", "ndcg@10"].p
            for given in (truth, turned)
        ]
        assert flipped[0] == flipped[1]

    @pytest.mark.parametrize("choices", [{"averaging": "micro"}, {"weights": True}, {"averaging": "geometric"}, {}])
    def test_saved_results_answer_as_fresh_ones(self, data, tmp_path, choices):
        truth, runs = data
        if "weights" in choices:
            choices = {"weights": {query: 1 + at % 3 for at, query in enumerate(truth)}}
        results = {name: rs.evaluate(truth, runs[name], "precision@5", **choices) for name in "ab"}
        saved = {}
        for name, result in results.items():
            result.write(tmp_path / f"{name}.json")
            saved[name] = rs.read_result(tmp_path / f"{name}.json")
        fresh, read = (rs.compare(some)["b", "precision@5"] for some in (results, saved))
        assert (fresh.difference, fresh.p, fresh.low) == (read.difference, read.p, read.low)

    def test_order_of_runs_does_not_matter(self, data):
        truth, runs = data
        found = rs.compare(truth, runs, ["rr", "ap"], baseline="a")
        turned = rs.compare(truth, dict(reversed(runs.items())), ["ap", "rr"], baseline="a")
        for of in found:
            other = turned[of.run, of.metric]
            assert (of.p, of.adjusted, of.verdict) == pytest.approx((other.p, other.adjusted, other.verdict))

    def test_every_shape(self, data, tmp_path):
        truth, runs = data
        expected = rs.compare(truth, {name: runs[name] for name in "ab"}, "rr")["b", "rr"].p
        rows = [(query, item, grade) for query, items in truth.items() for item, grade in items.items()]
        frame = pd.DataFrame(rows, columns=["query", "item", "grade"])
        frames = {
            name: pd.DataFrame(
                [(query, item, score) for query, items in runs[name].items() for item, score in items.items()],
                columns=["query", "item", "score"],
            )
            for name in "ab"
        }
        assert rs.compare(frame, frames, "rr")["b", "rr"].p == pytest.approx(expected)
        frame.to_csv(tmp_path / "truth.csv", index=False)
        for name, table in frames.items():
            table.to_csv(tmp_path / f"{name}.csv", index=False)
        files = [tmp_path / f"{name}.csv" for name in "ab"]
        found = rs.compare(tmp_path / "truth.csv", files, "rr")
        assert found.runs == ("a.csv", "b.csv")
        assert found["b.csv", "rr"].p == pytest.approx(expected)
        labels = np.array([[truth[query].get(item, 0) for item in ITEMS] for query in truth])
        scores = {name: np.array([[runs[name][query][item] for item in ITEMS] for query in truth]) for name in "ab"}
        assert rs.compare(labels, scores, "ndcg@5")["b", "ndcg@5"].p == pytest.approx(
            rs.compare(truth, {name: runs[name] for name in "ab"}, "ndcg@5")["b", "ndcg@5"].p
        )

    def test_seeds_of_one_system(self, data):
        truth, runs = data
        found = rs.compare(truth, {"a": runs["a"], "b": [runs["b"], runs["c"]]}, "rr")
        means = (values(data, "b", "rr") + values(data, "c", "rr")) / 2
        assert found["b", "rr"].p == pytest.approx(stats.ttest_rel(means, values(data, "a", "rr")).pvalue)
        both = [rs.evaluate(truth, runs[name], "rr")["rr"] for name in "bc"]
        assert found["b", "rr"].second == pytest.approx(sum(both) / 2)
        assert f"b: mean of 2 runs (rr {min(both):.4f} to {max(both):.4f}" in " ".join(repr(found).split())

    @pytest.mark.parametrize("averaging", ["macro", "micro"])
    def test_folds_of_one_system(self, data, averaging):
        truth, runs = data
        folds = [
            {query: items for at, (query, items) in enumerate(runs["b"].items()) if at % 3 == part} for part in range(3)
        ]
        found = rs.compare(truth, {"a": runs["a"], "b": folds}, "precision@5", averaging=averaging)
        whole = rs.compare(truth, {"a": runs["a"], "b": runs["b"]}, "precision@5", averaging=averaging)
        ours, expected = found["b", "precision@5"], whole["b", "precision@5"]
        assert (ours.second, ours.p) == pytest.approx((expected.second, expected.p))
        assert not any(caveat.code == "missing" for caveat in ours.caveats)

    def test_saved_folds_are_refused(self, data, tmp_path):
        truth, runs = data
        saved = []
        for part in range(2):
            fold = {query: items for at, (query, items) in enumerate(runs["b"].items()) if at % 2 == part}
            rs.evaluate(truth, fold, "rr").write(tmp_path / f"{part}.json")
            saved.append(rs.read_result(tmp_path / f"{part}.json"))
        with pytest.raises(
            ValueError, match="b: some of its runs lack queries; saved results do not record whether they are folds"
        ):
            rs.compare({"a": rs.evaluate(truth, runs["a"], "rr"), "b": saved})

    def test_a_query_that_does_not_count_in_one_counts_in_none(self):
        truth = {"q": {"a": 1}, "r": {"b": 1}, "s": {"c": 1}}
        runs = {"x": {"q": ["a"], "r": ["z", "b"], "s": ["c"]}, "y": {"q": ["z", "a"], "r": ["b"]}}
        found = rs.compare(truth, runs, "rr", missing="skip")["y", "rr"]
        assert found.queries == 2
        assert (found.first, found.second) == (0.75, 0.75)

    def test_unlike_results_are_refused(self, data):
        truth, runs = data
        results = {"a": rs.evaluate(truth, runs["a"], "rr"), "b": rs.evaluate(truth, runs["b"], "rr", threshold=2)}
        with pytest.raises(ValueError, match="rr is not the same number in both: threshold is 1 in a, 2 in b"):
            rs.compare(results)
        less = {query: items for query, items in truth.items() if query != "q3"}
        with pytest.raises(ValueError, match="the truths differ: b lacks 1 query, such as 'q3'"):
            rs.compare({"a": results["a"], "b": rs.evaluate(less, runs["b"], "rr")})

    def test_bad_words(self, data):
        truth, runs = data
        for words, problem in [
            ({"baseline": "z"}, "baseline='z' is none of the runs: 'a', 'b', 'c'"),
            (
                {"test": "anova"},
                "test='anova'; choose from 't', 'randomization', 'wilcoxon', 'sign', 'anytime', or give a function",
            ),
            ({"correction": "sidak?"}, "correction='sidak\\?'; choose from 'holm'"),
            ({"confidence": 95}, "confidence=95; give a number from 0.5 to 1"),
            ({"resamples": 0}, "resamples=0"),
            ({"clusters": {"q1": 1}}, "clusters has no entry for query 'q0'"),
            ({"clusters": "talk"}, "the truth is no table with a column 'talk'"),
            ({"test": "sign", "clusters": list(range(60))}, "test='sign' does not support clusters=; choose from 't'"),
            ({"test": lambda *_: 1, "clusters": list(range(60))}, "test='<lambda>' does not support clusters="),
            ({"correction": "tukey", "clusters": list(range(60))}, "correction='tukey' does not support clusters="),
            (
                {"test": "randomization", "population": 90},
                "test='randomization' does not support population=; choose from 't'",
            ),
            ({"population": 90}, "correction='westfall_young' does not support population=; choose from 'holm'"),
        ]:
            with pytest.raises(ValueError, match=problem):
                rs.compare(truth, runs, "rr", **words)
        with pytest.raises(ValueError, match="there is one run only, 'a'"):
            rs.compare(truth, {"a": runs["a"]}, "rr")
        with pytest.raises(TypeError, match="'a' is dict, not a result; give runs="):
            rs.compare(runs)
        with pytest.raises(TypeError, match="ties= goes with a truth and runs"):
            rs.compare({"a": rs.evaluate(truth, runs["a"], "rr")}, ties="expected")
        with pytest.raises(TypeError, match=r"runs\['a'\] is a result; leave the truth out"):
            rs.compare(truth, {"a": rs.evaluate(truth, runs["a"], "rr")})
        for run in (runs["a"], {query: list(items) for query, items in runs["a"].items()}):
            with pytest.raises(TypeError, match=r"runs\['q0'\] is one list of items; give runs by name"):
                rs.compare(truth, run, "rr")
        with pytest.raises(TypeError, match="runs= is a dict of runs by name, or a list of files"):
            rs.compare(truth, [runs["a"]])


class TestCloser:
    def test_queries_by_change(self, data, comparison):
        found = comparison.queries("b", "rr")
        changes = [change.change for change in found]
        assert changes == sorted(changes, reverse=True)
        assert len(found) == 60
        first = found[0]
        assert first.change == pytest.approx(
            values(data, "b", "rr")[list(data[0]).index(first.query)]
            - values(data, "a", "rr")[list(data[0]).index(first.query)]
        )
        explained = first.explain()
        assert repr(explained) == repr(rs.explain(data[0], (data[1]["a"], data[1]["b"]), "rr", query=first.query))
        assert "40 queries between them are not shown" in repr(found)
        assert found.to_pandas().columns.tolist() == ["query", "a", "b", "change"]

    def test_saved_results_have_nothing_to_explain(self, data):
        found = rs.compare({name: rs.evaluate(data[0], data[1][name], "rr") for name in "ab"})
        with pytest.raises(ValueError, match="results do not contain the runs"):
            found.queries("b", "rr")[0].explain()

    def test_slices(self, data, comparison):
        groups = {query: "even" if int(query[1:]) % 2 == 0 else "odd" for query in data[0]}
        found = comparison.slices(groups, "b", "rr")
        between = values(data, "b", "rr") - values(data, "a", "rr")
        even = np.array([groups[query] == "even" for query in data[0]])
        assert found["even"].queries == 30
        assert found["even"].p == pytest.approx(stats.ttest_1samp(between[even], 0).pvalue)
        assert found["even"].difference == pytest.approx(between[even].mean())
        assert found.differ["a", "b", "rr"] == pytest.approx(stats.f_oneway(between[even], between[~even]).pvalue)
        assert "F test" in repr(found)
        every = comparison.slices(groups)
        assert len(every) == 2 * 2 * 2
        raw = [one.p for one in every]
        assert [one.adjusted for one in every] == pytest.approx(stats.false_discovery_control(raw))

    def test_small_slices_are_one(self, comparison, data):
        groups = {query: min(int(query[1:]) // 10, 3) for query in data[0]}  # three of 10, one of 30
        found = comparison.slices(groups, "b", "rr")
        assert {one.group: one.queries for one in found} == {3: 30, "other": 30}

    def test_slices_by_a_column(self, data, tmp_path):
        rows = [(q, item, grade, f"c{int(q[1:]) % 2}") for q, items in data[0].items() for item, grade in items.items()]
        frame = pd.DataFrame(rows, columns=["query", "item", "grade", "country"])
        pair = {name: data[1][name] for name in "ab"}
        groups = {query: f"c{int(query[1:]) % 2}" for query in data[0]}
        found = rs.compare(frame, pair, "rr").slices("country")
        expected = rs.compare(data[0], pair, "rr").slices(groups)
        assert {one.group: one.p for one in found} == pytest.approx({one.group: one.p for one in expected})
        by = rs.compare(frame, pair, "rr", by="country", clusters="country")
        assert "c0" in repr(by)
        assert "2 clusters" in repr(by)
        with pytest.raises(ValueError, match="town"):
            rs.compare(frame, pair, "rr", by="town")
        with pytest.raises(ValueError, match="is in two groups"):
            rs.compare(frame.assign(country=range(len(frame))), pair, "rr", by="country")

    def test_leaderboard(self, data):
        found = rs.compare(*data, ["rr", "ndcg@10"]).leaderboard("ndcg@10")
        assert [place.run for place in found] == sorted("abc", key=lambda run: -values(data, run, "ndcg@10").mean())
        assert (found["b"].best_rank, found["b"].worst_rank) == (1, 1)
        assert (found["a"].best_rank, found["a"].worst_rank) == (2, 3)
        assert found.best == ["b"]
        low, high, *_ = rs.evaluate(data[0], data[1]["a"], "ndcg@10").interval("ndcg@10")
        assert (found["a"].low, found["a"].high) == pytest.approx((low, high))
        with pytest.raises(ValueError, match="name one of the metrics: rr, ndcg@10"):
            rs.compare(*data, ["rr", "ndcg@10"]).leaderboard()


class TestWarnings:
    def codes(self, found):
        return {caveat.code for difference in found for caveat in difference.caveats}

    def test_few_queries(self):
        truth, runs = made(queries=12, runs=("a", "b"))
        found = rs.compare(truth, runs, "rr")
        assert "few" in self.codes(found)
        assert "exact randomisation test: p = " in " ".join(repr(found).split())

    def test_discrete_differences(self, data):
        found = rs.compare(data[0], {name: data[1][name] for name in "ab"}, "precision@5")
        assert "discrete" in self.codes(found)

    def test_mean_and_wins_point_apart(self):
        truth = {f"q{at}": {"x": 1} for at in range(30)}
        runs = {
            "a": {
                query: ["y", "x"] if at < 25 else ["y"] * 0 + [f"n{n}" for n in range(40)] + ["x"]
                for at, query in enumerate(truth)
            },
            "b": {query: ["y", "z", "x"] if at < 25 else ["x"] for at, query in enumerate(truth)},
        }
        found = rs.compare(truth, runs, "rr")["b", "rr"]
        assert found.difference > 0
        assert found.losses == 25
        assert "better on average, but worse on more queries" in [caveat.sentence for caveat in found.caveats]

    def test_one_query_makes_it(self):
        truth = {f"q{at}": {"x": 1} for at in range(30)}
        first = {query: [f"n{n}" for n in range(9)] + ["x"] for query in truth}
        second = {query: [f"n{n}" for n in range(8 if at % 2 else 9)] + ["x"] for at, query in enumerate(truth)}
        second["q0"] = ["n0", "n1", "x"]
        found = rs.compare(truth, {"a": first, "b": second}, "rr", confidence=0.9)["b", "rr"]
        assert any(caveat.code == "one" and "'q0'" in caveat.sentence for caveat in found.caveats) == (
            found.verdict == "better"
        )
        assert found.verdict == "better"

    def test_ties_that_decide(self):
        truth = {f"q{at}": {"z": 1} for at in range(30)}
        runs = {
            "a": {query: {"a": 1.0, "b": 0.5, "z": 0.4} for query in truth},
            "b": {query: {"a": 0.4, "b": 0.4, "m": 0.4, "z": 0.4 if at else 0.5} for at, query in enumerate(truth)},
        }
        found = rs.compare(truth, runs, "rr")["b", "rr"]
        assert found.verdict == "inconclusive: ties"
        assert "ties" in {caveat.code for caveat in found.caveats}
        expected = rs.compare(truth, runs, "ndcg", ties="expected")["b", "ndcg"]
        assert expected.verdict == "better"
        assert "ties" not in {caveat.code for caveat in expected.caveats}

    def test_missing_queries(self, data):
        truth, runs = data
        less = {query: items for query, items in runs["b"].items() if query not in ("q3", "q4")}
        found = rs.compare(truth, {"a": runs["a"], "b": less}, "rr")
        rest = {query: grades for query, grades in truth.items() if query in less}
        without = rs.compare(rest, {"a": runs["a"], "b": less}, "rr")["b", "rr"].difference
        (caveat,) = [caveat for caveat in found["b", "rr"].caveats if caveat.code == "missing"]
        assert caveat.sentence == (
            f"b lacks 2 of the queries, which score as empty lists; without them the difference is {without:+.4f}"
        )

    def test_judged_less(self):
        truth = {f"q{at}": {"good": 1, "bad": 0, "worse": 0} for at in range(30)}
        runs = {
            "pooled": {query: ["bad", "good", "worse"] for query in truth},
            "new": {query: [f"n{at}", f"m{at}", "good"] for at, query in enumerate(truth)},
        }
        found = rs.compare(truth, runs, "ndcg@3")["new", "ndcg@3"]
        assert any(
            "judged@3 is 0.33 (pooled: 1.00): the less judged run may be underestimated" in caveat.sentence
            for caveat in found.caveats
        )
        folds = [{query: runs["pooled"][query] for at, query in enumerate(truth) if at % 2 == part} for part in (0, 1)]
        found = rs.compare(truth, {"pooled": runs["pooled"], "folds": folds}, "ndcg@3")["folds", "ndcg@3"]
        assert "judged" not in {caveat.code for caveat in found.caveats}
        only_good = {query: {"good": 1} for query in truth}
        found = rs.compare(only_good, runs, "rr")["new", "rr"]
        assert "judged" not in {caveat.code for caveat in found.caveats}

    def test_certain_and_too_small(self):
        truth, runs = made(queries=300, runs=("a", "b"), noise=(1.2, 1.0))
        found = rs.compare(truth, runs, "ndcg@10", margin=0.5)["b", "ndcg@10"]
        assert found.p < 0.001
        assert found.verdict == "equivalent (margin 0.5)"
        assert "large" in {caveat.code for caveat in found.caveats}

    def test_clusters(self, data):
        truth, runs = data
        turned = {f"{int(query[1:]) // 5}_{int(query[1:]) % 5}": grades for query, grades in truth.items()}
        rename = dict(zip(truth, turned, strict=True))
        pair = {name: {rename[query]: items for query, items in runs[name].items()} for name in "ab"}
        assert "query ids suggest 12 groups ('0_...'); if they are related, pass clusters=" in " ".join(
            repr(rs.compare(turned, pair, "rr")).split()
        )
        clusters = {query: query.partition("_")[0] for query in turned}
        text = " ".join(repr(rs.compare(turned, pair, "rr", clusters=clusters)).split())
        assert "60 queries in 12 clusters: fewer than 20 clusters are unreliable" in text
        assert "60 queries in 12 clusters" in text

    def test_ids_that_are_not_grouped(self):
        assert suggested_groups([f"user_{at}" for at in range(50)]) is None
        assert suggested_groups(list(range(50))) is None
        assert suggested_groups([f"a{at}-{at}" for at in range(50)]) is None
        assert suggested_groups([]) is None

    def test_many_runs(self):
        truth, runs = made(queries=20, runs=[f"r{at}" for at in range(7)], noise=[1.0] * 7)
        assert "7 runs on one truth" in repr(rs.compare(truth, runs, "rr", baseline="r0"))


class TestPages:
    def test_a_terminal(self, comparison):
        for width in (60, 80, 120):
            assert max(map(len, comparison.render(width=width).splitlines())) <= width
        head = next(line.split() for line in comparison.render(width=120).splitlines() if line.startswith("metric"))
        assert head[:4] == ["metric", "run", "mean", "difference"]
        assert head[4:7] == ["verdict", "unadjusted", "95"]
        assert head[-3:] == ["better", "same", "worse"]
        narrow = next(line for line in comparison.render(width=80).splitlines() if line.startswith("metric"))
        assert "verdict" in narrow

    def test_latex(self, data):
        pair = {r"a_b\c^~": data[1]["a"], "100 % & more #{}$": data[1]["b"], "twin": data[1]["b"]}
        text = rs.compare(data[0], pair, ["ndcg@10"], baseline=r"a_b\c^~").render("latex", verbose=True)
        assert r"a\_b\textbackslash{}c\textasciicircum{}\textasciitilde{}" in text
        assert r"100 \% \& more \#\{\}\$" in text
        assert [mark in text for mark in (r"\toprule", r"\midrule", r"\bottomrule", r"\caption{", r"\hline")] == [
            True
        ] * 4 + [False]
        assert text.count(r"\textbf{") == 2  # both that are equally good
        assert text.count(r"$^{\dagger}$") == 2
        for said in ("paired t-test", "Holm over 2 comparisons", "60 queries", "convention rankstone", "ideal"):
            assert said in text

    def test_data(self, comparison, tmp_path):
        frame = comparison.to_pandas()
        assert frame["p"].tolist() == [of.p for of in comparison]
        assert comparison.to_polars()["run"].to_list() == ["b", "c", "b", "c"]
        assert comparison.to_arrow().num_rows == 4
        comparison.write(tmp_path / "c.json")
        saved = json.loads((tmp_path / "c.json").read_text())
        assert saved["test"] == "t"
        assert [one["p"] for one in saved["differences"]] == [of.p for of in comparison]
        assert saved["means"]["rr"]["a"] == comparison["b", "rr"].first
        for name in ("c.csv", "c.md", "c.tex", "c.html", "c.txt", "c.parquet"):
            comparison.write(tmp_path / name)
            assert (tmp_path / name).stat().st_size
        assert pd.read_csv(tmp_path / "c.csv")["verdict"].tolist() == [of.verdict for of in comparison]
        assert "| metric" in comparison.render("markdown")

    def test_names_are_escaped(self, data):
        found = rs.compare(data[0], {"<b>": data[1]["a"], "x|y": data[1]["b"]}, "rr")
        assert "<b>" not in found._repr_html_()
        assert r"x\|y" in found.render("markdown")


class TestIntervals:
    def test_methods(self, data):
        result = rs.evaluate(data[0], data[1]["a"], ["rr", "hit_rate@1"])
        rr = result.per_query["rr"]
        t = result.interval("rr", method="t")
        assert (t.low, t.high) == pytest.approx(tuple(stats.ttest_1samp(rr, 0).confidence_interval(0.95)))
        hits = int(result.per_query["hit_rate@1"].sum())
        wilson = stats.binomtest(hits, 60).proportion_ci(method="wilson")
        assert tuple(result.interval("hit_rate@1"))[:2] == pytest.approx((wilson.low, wilson.high))
        n, mean = len(rr), rr.mean()
        g = ((rr - mean) ** 3).mean() / ((rr - mean) ** 2).mean() ** 1.5
        error, q = rr.std(ddof=1) / math.sqrt(n), stats.t.ppf(0.975, n - 1)
        ends = [
            mean - error * 3 * math.sqrt(n) / g * (np.cbrt(1 + g * (end - g / (6 * math.sqrt(n))) / math.sqrt(n)) - 1)
            for end in (q, -q)
        ]
        assert tuple(result.interval("rr"))[:2] == pytest.approx(ends)
        for method in ("bca", "percentile", "basic", "studentised"):
            found = result.interval("rr", method=method)
            assert found.low < mean < found.high
            assert found == result.interval("rr", method=method)
        with pytest.raises(ValueError, match="method='wald'; choose from 'wilson', 'hall', 't'"):
            result.interval("rr", method="wald")
        with pytest.raises(ValueError, match="method='wilson' does not support values other than 0 and 1"):
            result.interval("rr", method="wilson")

    def test_clusters(self, data):
        result = rs.evaluate(data[0], data[1]["a"], "rr")
        clusters = {query: int(query[1:]) // 3 for query in data[0]}
        rr = result.per_query["rr"]
        sums = np.bincount(list(clusters.values()), weights=rr - rr.mean())
        error = math.sqrt((sums**2).sum() * 20 / 19) / 60
        found = result.interval("rr", clusters=clusters)
        assert (found.high - found.low) / 2 == pytest.approx(stats.t.ppf(0.975, 19) * error)

    def test_printed_on_request(self, data):
        result = rs.evaluate(data[0], data[1]["a"], "rr")
        assert "interval" not in repr(result)
        found = result.interval("rr", 0.9)
        assert f"{found.low:.4f} {found.high:.4f}" in repr(result._with_intervals(0.9))
        assert "90 % interval" in repr(result._with_intervals(0.9))


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=2, max_size=30))
def test_swapping_runs_turns_signs(ranks):
    truth = {f"q{at}": {"x": 1} for at in range(len(ranks))}
    runs = {
        name: {f"q{at}": [*"abcdefg"[: pair[which] - 1], "x"] for at, pair in enumerate(ranks)}
        for which, name in enumerate("ab")
    }
    for test in ("t", "randomization"):
        one = rs.compare(truth, runs, "rr", baseline="a", test=test)["b", "rr"]
        two = rs.compare(truth, runs, "rr", baseline="b", test=test)["a", "rr"]
        assert one.difference == -two.difference
        assert (one.wins, one.losses) == (two.losses, two.wins)
        assert (one.low, one.high) == pytest.approx((-two.high, -two.low), nan_ok=True)
        assert one.p == pytest.approx(two.p, nan_ok=True)
        assert math.isnan(one.p) or 0 <= one.p <= one.adjusted + 1e-12 <= 1 + 1e-9


def test_names_of_earlier_versions_are_read(data):
    """0.1.0 called the randomisation test "flips" and Westfall-Young "max_t"."""
    old = rs.compare(*data, "rr", test="flips", correction="max_t", resamples=999)
    new = rs.compare(*data, "rr", test="randomization", correction="westfall_young", resamples=999)
    assert old.to_dict() == new.to_dict()
    assert (old.to_dict()["test"], old.to_dict()["correction"]) == ("randomization", "westfall_young")
    with pytest.raises(
        ValueError, match="choose from 't', 'randomization', 'wilcoxon', 'sign', 'anytime', or"
    ) as error:
        rs.compare(*data, "rr", test="flip")
    assert "flips" not in str(error.value)


def test_public_names():
    names = {name for name in dir(rs.Comparison) if not name.startswith("_")}
    assert names == {
        "baseline", "runs", "metrics", "definitions", "queries", "slices", "leaderboard", "plot", "sample_size",
        "winner", "latex", "caveats", "verdicts", "headline", "notes", "render", "write", "report",
        "to_dict",
        "to_arrow", "to_pandas", "to_polars",
    }  # fmt: skip


def test_a_short_answer(data):
    """Two runs and one metric: the table, one line on the method, one on power and one on wrong labels."""
    truth = {query: {item: 1 for item, grade in grades.items() if grade} for query, grades in data[0].items()}
    pair = {name: data[1][name] for name in "ab"}
    lines = rs.compare(truth, pair, "ndcg@10").notes
    assert lines[0] == "60 queries; paired t-test; rankstone definitions"
    assert lines[1].startswith("smallest detectable difference (80 % power): 0.")
    assert lines[2].startswith("the verdict (better) holds unless at least ")
    assert len(lines) == 3


# -- bounds over unjudged items ------------------------------------------------------------------------------

BOUNDED = ["precision@2", "precision", "dcg", "dcg@2", "rbp", "rbp(gain='linear')", "rr(terms='all')",
           "ndcg(ideal='ones')@2", "ap", "ap@2", "ndcg", "ndcg@2", "ndcg(gain='binary')", "rr", "recall@2", "f1@2",
           "hit_rate@1", "err", "iprec", "num_rel_ret", "num_rel"]  # fmt: skip
SUMS = {"precision@2", "dcg", "dcg@2", "rbp", "rbp(gain='linear')", "rr(terms='all')", "ndcg(ideal='ones')@2"}


def extremes(truth, runs, metrics):
    """By metric: the mean difference of two runs, lowest and highest over every grade of every unjudged item."""
    ends = dict.fromkeys(metrics, (0.0, 0.0))
    top = max(grade for grades in truth.values() for grade in grades.values())
    for query, grades in truth.items():
        items = sorted({item for run in runs.values() for item in run[query]} - set(grades))
        values = {metric: [] for metric in metrics}
        for chosen in product(range(top + 1), repeat=len(items)):
            # A query of the highest grade, so that err has the same scale.
            judged = {query: {**grades, **dict(zip(items, chosen, strict=True))}, "other": {"a": top}}
            old, new = (rs.evaluate(judged, {query: run[query]}, metrics).per_query for run in runs.values())
            for metric in metrics:
                values[metric].append(new[metric][0] - old[metric][0])
        whole = {metric: 1 if metric.startswith("num") else len(truth) for metric in metrics}
        ends = {
            metric: (low + min(values[metric]) / whole[metric], high + max(values[metric]) / whole[metric])
            for metric, (low, high) in ends.items()
        }
    return ends


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.filterwarnings("ignore:none of the items")
def test_bounds_of_a_difference(seed):
    """Exact for sums over items, of which one grade counts in both lists; elsewhere they contain the range."""
    random = Random(seed)
    truth = {q: {item: random.randrange(3) for item in random.sample("abc", 2)} | {"d": 2} for q in ("q", "r")}
    runs = {
        name: {q: random.sample(sorted({*"abcdxy"} - {random.choice("abxy")}), random.randrange(2, 5)) for q in truth}
        for name in ("old", "new")
    }
    comparison = rs.compare(truth, runs, BOUNDED, bounds=True)
    ends = extremes(truth, runs, list(comparison.metrics))
    for of in comparison:
        low, high = ends[of.metric]
        if of.metric in SUMS:
            assert of.bounds == (pytest.approx(low, abs=1e-12), pytest.approx(high, abs=1e-12), True)
        else:
            assert of.bounds.lowest <= low + 1e-12 <= high + 1e-12 <= of.bounds.highest + 2e-12


def test_bounds_of_a_difference_by_hand():
    """x, at places 1 and 2, has one grade in both lists; y is in the first list only."""
    truth, runs = {"q": {"a": 1}}, {"old": {"q": ["x", "a", "y"]}, "new": {"q": ["a", "x"]}}
    bounds = rs.compare(truth, runs, ["precision@2", "dcg", "recall"], bounds=True)
    assert bounds["new", "precision@2"].bounds == (0, 0, True)
    own, x = 1 - 1 / log2(3), 1 / log2(3) - 1
    assert bounds["new", "dcg"].bounds == (pytest.approx(own + x - 1 / log2(4)), pytest.approx(own), True)
    assert bounds["new", "recall"].bounds == (1 / 2 - 1, 1 - 1, False)  # if y is relevant, the second list lacks it


def test_bounds_do_not_depend_on_the_order_of_queries_and_types_of_ids():
    truth = {"q": {1: 1}, "r": {1: 2}}
    old, new = {"q": [7, 1], "r": [1, 8]}, {"r": ["8", "1"], "q": ["1", "7"]}
    judged = {query: {str(item): grade for item, grade in grades.items()} for query, grades in truth.items()}
    weights = {"q": 3, "r": 1}
    results = {
        "old": rs.evaluate(truth, old, "dcg", bounds=True, weights=weights),
        "new": rs.evaluate(dict(reversed(judged.items())), new, "dcg", bounds=True, weights=weights),
    }
    up = 1 - 1 / log2(3)  # q: a up by one place, r: down; with 7 and 8 of grade 2 the other way round
    bounds = rs.compare(results)["new", "dcg"].bounds
    assert bounds == (
        pytest.approx((3 * (1 - 2) * up - 2 * up) / 4),
        pytest.approx((3 * up - 2 * up + 2 * up) / 4),
        True,
    )


def test_bounds_are_printed_and_written(tmp_path):
    truth, runs = {"q": {"a": 1}}, {"old": {"q": ["x", "a"]}, "new": {"q": ["a", "x"]}}
    comparison = rs.compare(truth, runs, ["dcg", "ap", "bpref", "r_precision"], bounds=True)
    text = " ".join(str(comparison).split())
    assert "at least and at most: the range of the difference over all grades of the unjudged items" in text
    assert "(conservative for ap; unknown for bpref, r_precision)" in text
    comparison.write(tmp_path / "c.csv")
    assert (tmp_path / "c.csv").read_text().splitlines()[0].endswith(",lowest,highest")
    assert comparison.to_dict()["differences"][0]["bounds"]["exact"] is True
    with pytest.raises(ValueError, match=r"not computed: rs.compare\(truth, runs, ..., bounds=True\)"):
        _ = rs.compare(truth, runs, "dcg")["new", "dcg"].bounds
    assert "bounds" not in rs.compare(truth, runs, "dcg").to_dict()["differences"][0]


def test_bounds_that_are_unknown():
    """Seeds, and queries that count or not by their grades."""
    truth, old = {"q": {"a": 1}, "r": {"a": 0}}, {"q": ["x", "a"], "r": ["a", "x"]}
    new = {"q": ["a"], "r": ["a"]}
    seeds = rs.compare(truth, {"old": [old, new], "new": new}, "dcg", bounds=True)["new", "dcg"].bounds
    skipped = rs.compare(truth, {"old": old, "new": new}, "ap", undefined="skip", bounds=True)["new", "ap"].bounds
    assert all(map(math.isnan, (*seeds[:2], *skipped[:2])))
    saved = {"old": rs.evaluate(truth, old, "dcg"), "new": rs.evaluate(truth, new, "dcg")}
    with pytest.raises(TypeError, match="bounds= goes with a truth and runs"):
        rs.compare(saved, bounds=True)
