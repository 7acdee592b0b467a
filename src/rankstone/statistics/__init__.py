"""Statistics of paired samples: values of queries in, answers out. `rs.compare` is made of these."""

from rankstone.statistics.flips import Flips, flips
from rankstone.statistics.max_t import MaxT, max_t
from rankstone.statistics.student import Student, student
from rankstone.statistics.tukey_randomised import TukeyRandomised, tukey_randomised

__all__ = ["Flips", "MaxT", "Student", "TukeyRandomised", "flips", "max_t", "student", "tukey_randomised"]
