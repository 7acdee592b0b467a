"""Spark: `evaluate` for tables that live on a cluster, and the SQL functions in Spark SQL."""

try:
    import pyspark  # noqa: F401
except ImportError:
    raise ImportError("rs.spark needs Spark: pip install 'rankstone[spark]'") from None

from rankstone.spark.distributed import evaluate
from rankstone.spark.spark_sql import register, sql
from rankstone.spark.workers import SparkResult

__all__ = ["SparkResult", "evaluate", "register", "sql"]


def __dir__() -> list[str]:
    return __all__
