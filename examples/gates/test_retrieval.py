"""The same gate in a test of your own: pytest examples/gates."""

from pathlib import Path

import rankstone as rs

HERE = Path(__file__).parent


def test_the_candidate_is_not_worse() -> None:
    runs = {"main": HERE / "main.run", "candidate": HERE / "candidate.jsonl"}
    rs.testing.assert_not_worse(HERE / "gold.csv", runs, "recall@5", margin=0.02)
