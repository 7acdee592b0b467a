"""Statistics of paired samples: tests, corrections, intervals, effect sizes and power. `rs.compare` uses these."""

from rankstone.statistics.agreement_coefficients import COEFFICIENTS, AgreementCoefficient, agreement_coefficient
from rankstone.statistics.corrections import CORRECTIONS, adjust
from rankstone.statistics.intervals import INTERVALS, Interval, bootstrap, hall_interval, proportion_interval
from rankstone.statistics.paired import TESTS
from rankstone.statistics.power import (
    Effect,
    SampleSize,
    detectable,
    detectable_noncentrality,
    differences_of,
    effect,
    hedges_correction,
    noncentral_power,
    noncentral_tail,
    power,
    sample_size,
    wins_ties_losses,
)
from rankstone.statistics.prediction_powered import PredictionPowered, prediction_powered
from rankstone.statistics.randomization import Randomization, randomization_test
from rankstone.statistics.rank_aggregation import RankInterval, borda_count, rank_interval
from rankstone.statistics.rank_tests import Sign, Wilcoxon, sign_test, wilcoxon
from rankstone.statistics.student_t import Jackknife, Student, influence, jackknife, student, without_groups
from rankstone.statistics.tukey import Tukey, TukeyRandomised, tukey, tukey_randomised
from rankstone.statistics.westfall_young import WestfallYoung, westfall_young

__all__ = [
    "COEFFICIENTS",
    "CORRECTIONS",
    "INTERVALS",
    "TESTS",
    "AgreementCoefficient",
    "Effect",
    "Interval",
    "Jackknife",
    "PredictionPowered",
    "Randomization",
    "RankInterval",
    "SampleSize",
    "Sign",
    "Student",
    "Tukey",
    "TukeyRandomised",
    "WestfallYoung",
    "Wilcoxon",
    "adjust",
    "agreement_coefficient",
    "bootstrap",
    "borda_count",
    "detectable",
    "detectable_noncentrality",
    "differences_of",
    "effect",
    "hall_interval",
    "hedges_correction",
    "influence",
    "jackknife",
    "noncentral_power",
    "noncentral_tail",
    "power",
    "prediction_powered",
    "proportion_interval",
    "randomization_test",
    "rank_interval",
    "sample_size",
    "sign_test",
    "student",
    "tukey",
    "tukey_randomised",
    "westfall_young",
    "wilcoxon",
    "wins_ties_losses",
    "without_groups",
]
