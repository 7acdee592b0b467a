"""Statistics of paired samples: values of queries in, answers out. `rs.compare` is made of these."""

from rankstone.statistics.adjust import CORRECTIONS, adjust
from rankstone.statistics.flips import Flips, flips
from rankstone.statistics.intervals import INTERVALS, Interval, bootstrap, share, skewed
from rankstone.statistics.max_t import MaxT, max_t
from rankstone.statistics.paired import TESTS
from rankstone.statistics.power import (
    Effect,
    Needed,
    detectable,
    detectable_noncentrality,
    differences_of,
    effect,
    hedges_correction,
    needed,
    noncentral_power,
    noncentral_tail,
    power,
    wins_ties_losses,
)
from rankstone.statistics.ranks import Sign, Wilcoxon, sign, wilcoxon
from rankstone.statistics.student import Jackknife, Student, influence, jackknife, student, without_groups
from rankstone.statistics.tukey import Tukey, TukeyRandomised, tukey, tukey_randomised

__all__ = [
    "CORRECTIONS",
    "INTERVALS",
    "TESTS",
    "Effect",
    "Flips",
    "Interval",
    "Jackknife",
    "MaxT",
    "Needed",
    "Sign",
    "Student",
    "Tukey",
    "TukeyRandomised",
    "Wilcoxon",
    "adjust",
    "bootstrap",
    "detectable",
    "detectable_noncentrality",
    "differences_of",
    "effect",
    "flips",
    "hedges_correction",
    "influence",
    "jackknife",
    "max_t",
    "needed",
    "noncentral_power",
    "noncentral_tail",
    "power",
    "share",
    "sign",
    "skewed",
    "student",
    "tukey",
    "tukey_randomised",
    "wilcoxon",
    "wins_ties_losses",
    "without_groups",
]
