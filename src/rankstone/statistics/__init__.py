"""Statistics of paired samples: values of queries in, answers out. `rs.compare` is made of these."""

from rankstone.statistics.flips import Flips, flips
from rankstone.statistics.max_t import MaxT, max_t
from rankstone.statistics.student import Student, student

__all__ = ["Flips", "MaxT", "Student", "flips", "max_t", "student"]
