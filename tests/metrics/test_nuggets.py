"""Nugget scores, worked by hand, and from the file of an assigner."""

import json

import pytest

import rankstone as rs

# vital: supported, supported in part, not; okay: supported, supported in part, missing
TRUTH = {"q": {"v1": 2, "v2": 2, "v3": 2, "o1": 1, "o2": 1, "o3": 1}, "none": {"o": 1}}
RUN = {"q": {"v1": 1.0, "v2": 0.5, "v3": 0.0, "o1": 1.0, "o2": 0.5}, "none": {"o": 0.5}}


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        ("strict_vital", (1 / 3 + 0) / 2),
        ("vital", (1.5 / 3 + 0) / 2),
        ("strict_all", (2 / 6 + 0) / 2),
        ("all", (3 / 6 + 0.5) / 2),
    ],
)
def test_nuggets(score, expected):
    """A query without vital nuggets scores 0, and counts."""
    (value,) = rs.evaluate(TRUTH, RUN, f"nuggets(score={score!r})").values()
    assert value == pytest.approx(expected)


def test_a_file_has_both_sides(tmp_path):
    assignments = {1.0: "support", 0.5: "partial_support", 0.0: "not_support"}
    rows = [
        {"query": query, "qid": query, "nuggets": [
            {"text": text, "importance": ("okay", "vital")[grade - 1],
             "assignment": assignments[RUN[query].get(text, 0.0)]} for text, grade in nuggets.items()]}
        for query, nuggets in TRUTH.items()
    ]  # fmt: skip
    path = tmp_path / "assignments.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    result = rs.evaluate(path, metrics=["nuggets(score='vital')", "nuggets"])
    assert list(result.values()) == pytest.approx([1.5 / 3 / 2, (3 / 6 + 0.5) / 2])
    assert "read as nuggets" in "".join(result.notes)
