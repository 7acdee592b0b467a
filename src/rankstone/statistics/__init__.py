"""Statistics of paired samples: values of queries in, answers out. `rs.compare` is made of these."""

from rankstone.statistics.student import Student, student

__all__ = ["Student", "student"]
