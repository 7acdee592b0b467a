"""For authors of metrics and conventions: what a metric's function reads and returns, and how it is declared."""

from rankstone.align.recommendations import Recommendations
from rankstone.conventions.convention import Convention
from rankstone.metrics.declaration import Parameter
from rankstone.metrics.registry import Metric, metric
from rankstone.program.ranking import Ranking, Ratio

__all__ = ["Convention", "Metric", "Parameter", "Ranking", "Ratio", "Recommendations", "metric"]
