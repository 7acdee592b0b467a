"""Every number of search and RAG tools in `tools.json`, by the convention of each tool; `tools.py` asks for it."""

import collections
import math

import numpy as np
import pytest

import rankstone as rs

from . import tools
from .recorded import read, same

READ = ("tool", "version", "call", "metric", "k", "truth", "run", "options")  # the answer may depend on nothing else
# Tools that are answered, with the number of cases compared.
COMPARED = {
    "beir": 111,
    "elasticsearch": 66,
    "growthbook": 45,
    "haystack": 49,
    "hf-evaluate-trec_eval": 75,
    "irrCAC": 183,
    "krippendorff": 47,
    "llama_index": 76,
    "mlflow": 72,
    "mpkato-interleaving": 58,
    "mteb": 209,
    "mteb-before-2.18.19": 188,
    "mteb-nauc": 36,
    "opensearch": 83,
    "opensearch-3.1": 73,
    "nuggetizer": 38,
    "opensearch-coec": 11,
    "opensearch-pairwise": 48,
    "phoenix": 80,
    "ppi_py": 45,
    "quepid": 74,
    "quepid-server": 56,
    "ragas": 44,
    "scikit-learn-kappa": 46,
    "sentence-transformers": 143,
    "sentence-transformers-5": 124,
    "statsmodels-kappa": 50,
    "trulens": 85,
    "vespa": 82,
}
TOLERANCE = 1e-9


def asked(case):
    return {name: case[name] for name in READ}


def near(found, expected):
    """The same, in proportion where it is above 1, in dicts and lists too."""
    if isinstance(expected, dict):
        same_keys = isinstance(found, dict) and expected.keys() == found.keys()
        return same_keys and all(near(found[key], expected[key]) for key in expected)
    if isinstance(expected, list):
        same_length = isinstance(found, list) and len(found) == len(expected)
        return same_length and all(map(near, found, expected))
    expected = float(expected) if isinstance(expected, str) else expected
    scale = max(1.0, abs(expected)) if isinstance(expected, float | int) else 1.0
    return same(found, expected, TOLERANCE * scale)


def agrees(found, case):
    expected = case["output"]
    if in_no_order(case):  # its reciprocal rank is whatever an unstable sort makes of equal scores
        expected = {**expected, "per_query": dict(list(expected["per_query"].items())[1:])}
        found = {**found, "per_query": {name: found["per_query"][name] for name in expected["per_query"]}}
    if "distribution" in case:  # exactly, in any order
        return found["distribution"] == sorted(case["distribution"], key=str)
    values = expected["per_query"] is None or near(found["per_query"], expected["per_query"])
    return near(found["value"], expected["value"]) and values


JUDGES = ("irrCAC", "krippendorff", "nuggetizer", "ppi_py", "scikit-learn-kappa", "statsmodels-kappa")


def in_no_order(case):
    scores = [score for _, score in case["run"]["q1"]] if case["metric"].startswith("ce_rerank") else []
    return len(set(scores)) < len(scores)


@pytest.mark.recorded("tools.json")
@pytest.mark.parametrize("tool", COMPARED)
@pytest.mark.filterwarnings("ignore::rankstone.errors.UnmatchedWarning")
def test_tool(recorded, tool):
    compared, different = 0, []
    for case in recorded:
        if case["tool"] != tool:
            continue
        try:
            found = tools.compute(asked(case))
        except NotImplementedError:
            continue
        compared += 1
        if not agrees(found, case):
            different.append((case["id"], case["metric"], case["output"], found))
    assert not different, f"{len(different)} of {compared}: {different[:3]}"
    assert compared == COMPARED[tool]


# What is not answered, and why.
LEFT_OUT = {
    "clicks": lambda case: case["tool"] == "pyclick",
    "the case names a file": lambda case: isinstance(case["truth"], str) or isinstance(case["run"], str),
}


@pytest.mark.recorded("tools.json")
def test_what_is_left_out_has_a_reason(recorded):
    left_out = collections.Counter()
    for case in recorded:
        reasons = [reason for reason, fits in LEFT_OUT.items() if fits(case)]
        if reasons:
            left_out.update(reasons)
            with pytest.raises(NotImplementedError, match=case["tool"]):
                tools.compute(asked(case))
        else:
            assert case["tool"] in COMPARED
    assert set(left_out) == set(LEFT_OUT)
    assert sum(left_out.values()) + sum(COMPARED.values()) == len(recorded)


def test_the_tools_disagree():
    """One of five relevant documents is returned: three tools give 1, and the conventions tell them apart."""
    truth, run = {"q": dict.fromkeys("abcde", 3)}, {"q": ["a"]}
    ideal = sum(1 / math.log2(rank + 1) for rank in (1, 2, 3, 4, 5))
    tools = {"elasticsearch": 1, "mlflow": 1, "phoenix": 1, "quepid": 1 / ideal, "opensearch": round(1 / ideal, 2)}
    values = {tool: rs.evaluate(truth, run, "ndcg@10", convention=tool)["ndcg@10"] for tool in tools}
    assert values == pytest.approx(tools, abs=1e-12)


@pytest.mark.recorded("tools.json")
def test_aggregates_of_mlflow_are_numpys(recorded):
    for case in recorded:
        if case["tool"] == "mlflow" and not isinstance(case["truth"], str):
            values = list(tools.compute(asked(case))["per_query"].values())
            ours = {"mean": np.mean(values), "variance": np.var(values), "p90": np.percentile(values, 90)}
            assert near({name: float(value) for name, value in ours.items()}, case["options"]["aggregates"])


def test_every_convention_has_cases():
    """Of each tool's name there is a convention, but for those with one of another name."""
    other = {"hf-evaluate-trec_eval": "hf-evaluate", "llama_index": "llamaindex"}
    no_convention = {
        "mpkato-interleaving",
        "mteb-nauc",
        "growthbook",
        "opensearch-coec",
        "opensearch-pairwise",
    }  # its numbers are not of metrics
    assert all(rs.conventions[other.get(tool, tool)] for tool in COMPARED.keys() - no_convention - {*JUDGES})
    assert {case["tool"] for case in read("tools.json")} >= set(COMPARED)
