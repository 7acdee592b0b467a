"""Which cases of the conformance suite other libraries pass, as the handbook's page on it says.

`python -m tests.peers.test_conformance` writes the table into the page.
"""

import re
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from rankstone.audit.calling import caller_of
from rankstone.audit.candidates import Candidate, Questionnaire
from rankstone.audit.conformance import REFUSED, cases, definitions
from rankstone.audit.questions import Query, Question

from .functions import PEERS

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]
PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"
TABLE = re.compile(r"(?<=<!-- tools -->\n)(\|.*\n)+")
PACKAGES = {"pytrec_eval": "pytrec_eval-terrier", "llamaindex": "llama-index-core", "haystack": "haystack-ai",
            "mlflow": "mlflow-skinny", "spark": "pyspark"}  # fmt: skip
STANDARD = "trec_eval"
PARTS = list(dict.fromkeys(case.part for case in cases()))
TOLERANCE = 1e-6  # some have single precision
LONG = 50  # no list has as many items


def question(case, takes_k):
    """A case as the audit asks it."""
    sides = (case.truth, case.run)
    rows = ([None if query not in side else tuple((item, float(value)) for item, value in side[query].items())
             for side in sides] for query in dict.fromkeys([*case.truth, *case.run]))  # fmt: skip
    return Question(tuple(Query(*both) for both in rows), case.k or LONG if takes_k else None)


def close(one, other):
    return bool(np.isclose(one, np.nan if other is None else other, TOLERANCE, TOLERANCE, equal_nan=True))


def passed(peer):
    """By convention and part: how many cases pass, and how many can be asked.

    A case can be asked if the calling style keeps what the convention reads of it: its value is the same.
    """
    caller = caller_of(peer.function(), peer.calling, 3, 60.0)
    asked = [caller.form.fit(question(case, caller.pass_k)) for case in cases()]
    answers = [caller(each) for each in asked]
    counts = {}
    for convention in dict.fromkeys((peer.convention, STANDARD)):
        each = next(each for each in definitions(peer.metric) if convention in each.conventions)
        values = Questionnaire(asked, caller.form.scores).values(Candidate(convention, each.plan))
        rows = counts[convention] = {part: [0, 0] for part in PARTS}
        for case, value, answer, expected in zip(cases(), values, answers, each.expected, strict=True):
            if expected.mean != REFUSED and close(value, expected.mean):
                rows[case.part][0] += expected.accepts(answer, TOLERANCE)
                rows[case.part][1] += 1
    return counts


def row(peer):
    """A row of the table."""
    counts = passed(peer)
    own = np.sum([*counts[peer.convention].values()], axis=0)
    tool = f"{peer.tool} {version(PACKAGES.get(peer.tool, peer.tool))}"
    cells = [tool, peer.metric, peer.convention, "{} of {}".format(*own)]
    cells += ["{} of {}".format(*part) if part[1] else "" for part in counts[STANDARD].values()]
    return f"| {' | '.join(cells)} |\n"


HEAD = f"| tool | metric | convention | its cases | {' | '.join(PARTS)} |\n" + "|---" * (4 + len(PARTS)) + "|\n"


@pytest.fixture(scope="module")
def table():
    return TABLE.search(PAGE.read_text(encoding="utf-8"))[0]


def of_trec_eval(name):
    """Whether trec_eval has the metric."""
    return any(STANDARD in each.conventions for each in definitions(PEERS[name].metric))


@pytest.mark.parametrize("name", list(filter(of_trec_eval, PEERS)))
def test_the_table_of_tools(name, table, request):
    if PEERS[name].tool == "spark":
        request.getfixturevalue("spark")
    of_any_version = re.compile(r"(?m)^(\| [\w-]+) \S+")
    assert of_any_version.sub(r"\1", row(PEERS[name])) in of_any_version.sub(r"\1", table)


if __name__ == "__main__":
    import warnings

    from pyspark.sql import SparkSession

    warnings.simplefilter("ignore")
    SparkSession.builder.master("local[1]").getOrCreate()
    made = HEAD + "".join(row(PEERS[name]) for name in PEERS if of_trec_eval(name))
    PAGE.write_text(TABLE.sub(lambda _: made, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
