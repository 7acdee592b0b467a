"""Statistics of paired samples: values of queries in, answers out. `rs.compare` is made of these."""

from rankstone.statistics.adjust import adjust
from rankstone.statistics.effect import Effect, common_language, effect, hedges_correction
from rankstone.statistics.intervals import BOOTSTRAPS, Interval, bootstrap, share, skewed
from rankstone.statistics.power import (
    Needed,
    detectable,
    detectable_noncentrality,
    needed,
    noncentral_power,
    noncentral_tail,
    power,
)
from rankstone.statistics.ranks import (
    Friedman,
    Kendall,
    McNemar,
    Nemenyi,
    Sign,
    Wilcoxon,
    friedman,
    kendall,
    mcnemar,
    nemenyi,
    sign,
    wilcoxon,
)
from rankstone.statistics.ratios import Jackknife, influence, jackknife
from rankstone.statistics.student import Student, student
from rankstone.statistics.tukey import Tukey, tukey

__all__ = [
    "BOOTSTRAPS",
    "Effect",
    "Friedman",
    "Interval",
    "Jackknife",
    "Kendall",
    "McNemar",
    "Needed",
    "Nemenyi",
    "Sign",
    "Student",
    "Tukey",
    "Wilcoxon",
    "adjust",
    "bootstrap",
    "common_language",
    "detectable",
    "detectable_noncentrality",
    "effect",
    "friedman",
    "hedges_correction",
    "influence",
    "jackknife",
    "kendall",
    "mcnemar",
    "needed",
    "nemenyi",
    "noncentral_power",
    "noncentral_tail",
    "power",
    "share",
    "sign",
    "skewed",
    "student",
    "tukey",
    "wilcoxon",
]
