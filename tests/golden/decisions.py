"""rankstone's answers to the cases of `decisions.json`, through its public functions.

`compute` takes the kind, the tool with its command, and the input of a case; it has every number under the name that
the file gives it.
"""

import re
from itertools import permutations

import numpy as np

import rankstone as rs

METHODS = {"simes-hochberg": "hochberg", "fdr_bh": "bh", "fdr_by": "by", "holm-sidak": "holm_sidak"}


def compute(case):
    """The answer to a case: a dict with every number that the file has for its kind, and perhaps more."""
    given = {name: np.array(value) if isinstance(value, list) else value for name, value in case["input"].items()}
    return plain(KINDS[case["kind"]](given, case["tool"], case["command"]))


def plain(value):
    """The same without NumPy."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def difference_of(given):
    return given["difference"] if "difference" in given else given["treatment"] - given["baseline"]


def paired_t(given, tool, command):
    found = rs.statistics.student(difference_of(given))
    low, high = found.interval(0.95)
    return {
        "difference": found.mean,
        "statistic": found.statistic,
        "df": found.freedom,
        "p_two_sided": found.p(),
        "p_greater": found.above(),
        "p_less": found.below(),
        "low": low,
        "high": high,
        "standard_error": found.error,
        "variance": found.error**2 * (found.freedom + 1),
        "effect_size_dz": rs.statistics.effect(given["baseline"], given["treatment"]).dz,
        "half_width_95": high - found.mean,
    }


def wilcoxon(given, tool, command):
    asked = re.search(r"zero_method='(\w+)'|zero\.method=\"(\w+)\"", command)
    zeros = (asked[1] or asked[2]).lower().replace("wilcoxon", "wilcox") if asked else "wilcox"
    exact = any(
        word in command for word in ("method='exact'", "PermutationMethod", 'distribution="exact"', "exact=TRUE")
    )
    found = rs.statistics.wilcoxon(
        difference_of(given),
        zeros=zeros,
        correction="correction=True" in command or "correct=TRUE" in command,
        method="exact" if exact else "asymptotic",
    )
    return {
        "statistic": found.statistic,
        "v": found.v,
        "z": -abs(found.z) if tool == "scipy" else found.z,
        "p_two_sided": found.p,
        "p_greater": found.greater,
        "p_less": found.less,
        "distinct_sizes": found.sizes,
    }


def sign(given, tool, command):
    found = rs.statistics.sign_test(difference_of(given))
    return {
        **found._asdict(),
        "p_two_sided": found.p,
        "p_greater": found.greater,
        "share_low": found.low,
        "share_high": found.high,
    }


def sign_flip(given, tool, command):
    difference = difference_of(given)
    found = rs.statistics.randomization_test(difference, signs=given.get("signs"))
    # The file counts the signs of differences of 0 too.
    times = 2.0 ** (len(difference) - found.nonzero) if found.exact else 1
    return {
        "difference": rs.statistics.student(difference).mean,
        "patterns": found.patterns * times,
        "as_extreme": found.as_extreme * times,
        "nonzero": found.nonzero,
        "p_two_sided": found.p,
        "p_greater": found.greater,
        "p_less": found.less,
    }


def tukey_randomised(given, tool, command):
    found = rs.statistics.tukey_randomised(given["scores"])
    return {**found._asdict(), "differences": np.abs(found.differences)}  # the file has them without a sign


def westfall_young(given, tool, command):
    pairs = [(0, run) for run in range(1, given["scores"].shape[1])]
    found = rs.statistics.westfall_young(given["scores"], pairs, signs=given["signs"])
    return {
        "statistics": found.statistics,
        "p_raw": found.p,
        "p_single_step": found.single_step,
        "p_step_down": found.step_down,
    }


def tukey_hsd(given, tool, command):
    found = rs.statistics.tukey(given["scores"], paired="run + query" in command)
    answer = {
        "pairs": found.pairs,
        "differences": found.differences,
        "low": found.low,
        "high": found.high,
        "p": found.p,
        "residual_df": found.freedom,
        "residual_ms": found.mean_square,
        "f_runs": found.f_runs,
        "p_runs": found.p_runs,
        "f_queries": found.f_queries,
        "p_queries": found.p_queries,
    }
    if tool == "R":
        return {**answer, "pairs": [f"r{second:02d}-r{first:02d}" for first, second in found.pairs]}
    # first less second
    return {**answer, "differences": -found.differences, "low": -found.high, "high": -found.low}


def adjust(given, tool, command):
    if tool == "R":
        names = ("holm", "hochberg", "hommel", "bonferroni", "BH", "BY")
        return {name: rs.statistics.adjust(given["p"], name.lower()) for name in names}
    method = re.search(r"method='([\w-]+)'", command)[1]
    adjusted = rs.statistics.adjust(given["p"], METHODS.get(method, method))
    return {"adjusted": adjusted, "rejected_at_0.05": adjusted <= 0.05}


def t_interval(given, tool, command):
    found = rs.statistics.student(given["values"])
    answer = {"mean": found.mean, "standard_error": found.error}
    for confidence in (0.9, 0.95, 0.99):
        answer[f"low_{confidence}"], answer[f"high_{confidence}"] = found.interval(confidence)
    return answer


def bootstrap_interval(given, tool, command):
    asked = re.search(r"method='(\w+)'", command)
    method = asked[1].lower() if asked else "studentised"
    found = rs.statistics.bootstrap(given["values"], method=method, indices=given["indices"])
    return {**found._asdict(), "standard_error": found.error}


def effect_size(given, tool, command):
    first, second = given["baseline"], given["treatment"]
    found = rs.statistics.effect(first, second)
    return {
        **found._asdict(),
        "hedges_gz": found.hedges,
        "dz_low": found.low,
        "dz_high": found.high,
        "relative_change": found.relative,
        "cohen_d_av": found.d_av,
        "hedges_g": found.d_av * rs.statistics.hedges_correction(2 * len(first) - 2, "approximate"),
    }


def dz_of(given):
    if "delta" in given:
        return given["delta"] / given["sd"]
    return given["d"] if "d" in given else given["effect_size_dz"]


def power(given, tool, command):
    dz, n, alpha = dz_of(given), given["n"], given.get("alpha", 0.05)
    both = rs.statistics.power(dz, n, alpha)
    return {
        "power_two_sided": both,
        "power_both_tails": both,
        "power_greater": rs.statistics.power(dz, n, alpha, "greater"),
        "power_one_tail": rs.statistics.power(dz, n, alpha / 2, "greater"),
    }


def needed_n(given, tool, command):
    dz, goal, alpha = dz_of(given), given["power"], given["alpha"]
    both = rs.statistics.sample_size(dz, goal, alpha)
    return {
        "n_two_sided": both.n,
        "n_two_sided_whole": both.whole,
        "n_greater": rs.statistics.sample_size(dz, goal, alpha, "greater").n,
    }


def detectable(given, tool, command):
    dz = rs.statistics.detectable(given["n"], given["power"], given["alpha"])
    return {"effect_size_dz": dz, "difference": dz * (given["sd"] if "sd" in given else given["sd_of_differences"])}


def margin(given, tool, command):
    found, size = rs.statistics.student(difference_of(given)), given["margin"]
    above, below = found.above(-size), found.below(size)
    return {
        "p_equivalent": max(above, below),
        "p_not_worse": above,
        "p_below_margin": below,
        "t_above_minus_margin": (found.mean + size) / found.error,
        "t_below_margin": (found.mean - size) / found.error,
    }


def ratio(given, tool, command):
    found = rs.statistics.student(rs.statistics.influence(given["top"], given["bottom"]))
    left = rs.statistics.jackknife(given["top"], given["bottom"])
    return {
        "ratio": found.mean,
        "standard_error_delta": found.error,
        "standard_error_jackknife": left.error,
        "mean_of_jackknife": left.mean,
    }


def ratio_difference(given, tool, command):
    first = given["top_baseline"], given["bottom_baseline"]
    second = given["top_treatment"], given["bottom_treatment"]
    found = rs.statistics.student(rs.statistics.influence(*second) - rs.statistics.influence(*first))
    left = rs.statistics.student(rs.statistics.jackknife(*second).pseudo - rs.statistics.jackknife(*first).pseudo)
    return {
        "difference": found.mean,
        "standard_error_delta": found.error,
        "standard_error_jackknife": left.error,
        "t": found.statistic,
        "p_two_sided": found.p(),
    }


def cluster(given, tool, command):
    found = rs.statistics.student(given["difference"], given["cluster"])
    clusters = found.freedom + 1
    return {
        "mean": found.mean,
        "clusters": clusters,
        "standard_error_naive": rs.statistics.student(given["difference"]).error,
        "standard_error_cluster": found.error,
        "standard_error_cluster_statsmodels": found.error,
        "standard_error_cluster_plain": found.error * np.sqrt(found.freedom / clusters),
        "t": found.statistic,
        "df": found.freedom,
        "p_two_sided": found.p(),
    }


def cluster_bootstrap(given, tool, command):
    found = rs.statistics.bootstrap(
        given["difference"], method="percentile", clusters=given["cluster"], indices=given["cluster_indices"]
    )
    return {
        "mean": found.mean,
        "standard_error": found.error,
        "low_percentile": found.low,
        "high_percentile": found.high,
    }


def mcnemar(given, tool, command):
    return {"p_exact": rs.statistics.sign_test(given["treatment"] - given["baseline"]).p}


def share_interval(given, tool, command):
    answer = {}
    for method in ("wilson", "jeffreys", "exact"):
        found = rs.statistics.proportion_interval(given["hits"], given["n"], method=method)
        answer[f"{method}_low"], answer[f"{method}_high"] = found.low, found.high
    return answer


def skew_interval(given, tool, command):
    found = rs.statistics.hall_interval(given["values"])
    low, high = rs.statistics.student(given["values"]).interval(0.95)
    return {**found._asdict(), "t_low": low, "t_high": high}


def comparison(given, tool, command):
    metrics = re.findall(r"'([\w@]+)'", re.search(r"\[('.*?)\]", command)[1])
    if tool == "ranx":
        return all_pairs(given, metrics)
    correction = re.search(r"correction='(\w+)'", command)[1]
    answer = {}
    for metric in metrics:  # a family each
        found = rs.compare(
            given["truth"],
            given["runs"],
            [metric],
            baseline=given["baseline"],
            convention="trec_eval",
            correction=METHODS.get(correction, correction),
        )
        answer[metric] = {}
        for name in given["runs"]:
            if name == given["baseline"]:
                continue
            one = found[name, metric]
            answer[metric][given["baseline"]] = {"mean": one.first}
            answer[metric][name] = {
                "mean": one.second,
                "wins": one.wins,
                "losses": one.losses,
                "p": one.p,
                "p_adjusted": one.adjusted,
            }
    return answer


def all_pairs(given, metrics):
    found = rs.compare(given["truth"], given["runs"], metrics, convention="trec_eval", correction="none")
    names = list(given["runs"])
    answer = {name: {"scores": {}, "p": {}, "win_tie_loss": {}} for name in names}
    for one, other in permutations(names, 2):
        pair = sorted((one, other), key=names.index)
        for metric in metrics:
            of = found[pair[0], pair[1], metric]
            answer[pair[0]]["scores"][metric], answer[pair[1]]["scores"][metric] = of.first, of.second
            answer[one]["p"].setdefault(other, {})[metric] = of.p
            won, lost = (of.losses, of.wins) if pair[0] == one else (of.wins, of.losses)
            counts = {"W": won, "T": of.ties, "L": lost}
            answer[one]["win_tie_loss"].setdefault(other, {})[metric] = counts
    return answer


KINDS = {
    "adjust": adjust,
    "bootstrap_interval": bootstrap_interval,
    "cluster": cluster,
    "cluster_bootstrap": cluster_bootstrap,
    "comparison": comparison,
    "detectable": detectable,
    "effect_size": effect_size,
    "margin": margin,
    "max_t": westfall_young,
    "mcnemar": mcnemar,
    "needed_n": needed_n,
    "paired_t": paired_t,
    "power": power,
    "ratio": ratio,
    "ratio_difference": ratio_difference,
    "share_interval": share_interval,
    "sign": sign,
    "sign_flip_exact": sign_flip,
    "sign_flip_random": sign_flip,
    "skew_interval": skew_interval,
    "t_interval": t_interval,
    "tukey_hsd": tukey_hsd,
    "tukey_randomised": tukey_randomised,
    "wilcoxon": wilcoxon,
}
