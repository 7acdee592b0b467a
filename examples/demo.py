"""Three recommenders of a film service compared: a verdict, why tools disagree on one list, and a report."""

import time
from pathlib import Path

import rankstone as rs


def main() -> None:
    start = time.perf_counter()
    truth, runs, groups, _ = rs.example()
    comparison = rs.compare(truth, runs, ["ndcg@10", "ap", "recall@20"], baseline="popular")
    print("Is it better? Three recommenders, 60 users.\n")
    print(comparison.render(width=80))

    print("\nWhy is my number different? One list, under the definitions of two tools.\n")
    print(rs.explain(truth, runs["hybrid"], "ndcg@10", query="u02", convention=("trec_eval", "lightgbm")))

    report = Path("demo.html").resolve()
    rs.compare(truth, runs, ["ndcg@10", "ap", "recall@20"], baseline="popular", by=groups).write(report)
    print(f"\nThis took {time.perf_counter() - start:.1f} s. The report: {report}")


if __name__ == "__main__":
    main()
