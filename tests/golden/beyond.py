"""rankstone's answers to the cases of `beyond.json`, through its public functions.

`compute` reads a case's tool, command, metric, params and input. Each module beside it answers for some tools: `TOOLS`
has a function for a tool, or for one metric of it or that metric's first word, and `DEVIATIONS` where rankstone answers
otherwise, and why.
"""

from . import fused, intents, judging, logged, shown

TOOLS = {}
DEVIATIONS = {}
for module in (fused, intents, judging, logged, shown):
    TOOLS.update(module.TOOLS)
    DEVIATIONS.update(module.DEVIATIONS)


def compute(case):
    """The answer to a case: a dict with every number that the file has for it, and perhaps more."""
    return answering(case)(case)


def answering(case):
    """The function that answers a case; None where there is none."""
    tool, metric = case["tool"], case["metric"]
    return TOOLS.get((tool, metric)) or TOOLS.get((tool, metric.partition("_")[0])) or TOOLS.get(tool)
