"""Replays of `judge_next` on pools that are judged already: judgements until it stops, against pooling by depth.

    python benchmarks/judge_next_replay.py QRELS RUN RUN ... [--queries 50] [--samples 10] [--batch 25]

Each replay has two of the runs and a sample of the queries. It starts without judgements, judges what `judge_next`
names, a batch at a time, and ends where that says to stop. The verdict of all judgements (paired t-test, 95 %) is the
truth. Pooling by depth needs the smallest depth from which its verdict stays that of all judgements.
"""

import argparse
import itertools
import json
import pathlib
import warnings

import numpy as np

import rankstone as rs


def verdict(truth, runs, metric):
    """better, worse or inconclusive."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = rs.compare(truth, runs, metric, baseline="first")["second", metric].verdict
    return found if found in ("better", "worse") else "inconclusive"


def top(runs, depth):
    """The first items of either run, by query."""
    return {query: {item for run in runs.values() for item in run.get(query, ())[:depth]} for query in runs["first"]}


def judged(pool, qrels):
    return {query: {item: qrels[query].get(item, 0) for item in items} for query, items in pool.items()}


def replay(qrels, runs, metric, batch, error, machine=None):
    """Judgements and verdicts of one replay."""
    k = int(metric.rpartition("@")[2])
    final = verdict(judged(top(runs, k), qrels), runs, metric)
    by_depth = [judged(top(runs, depth), qrels) for depth in range(1, k + 1)]
    verdicts = [verdict(pool, runs, metric) for pool in by_depth]
    wrong = [depth for depth, own in enumerate(verdicts, 1) if own != final]
    sizes = [sum(map(len, pool.values())) for pool in by_depth]
    truth, number, settled = {}, 0, 0
    while True:
        following = rs.judge_next(truth or None, runs, metric, batch, machine=machine, error=error, baseline="first")
        if following.forecasts[0].verdict != final:
            settled = number + batch  # it is not yet
        if following.stop:
            break
        for row in following.items:
            truth.setdefault(row.query, {})[row.item] = qrels[row.query].get(row.item, 0)
            number += 1
    own = following.forecasts[0].verdict
    own_depth = sizes[max(wrong, default=0)]
    counts = {"judged": number, "settled": min(settled, number), "depth": own_depth, "pool": sizes[-1]}
    return {"final": final, "own": own, **counts}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qrels")
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--metric", default="ndcg@10")
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--batch", type=int, default=25)
    parser.add_argument("--error", type=float, default=0.05)
    parser.add_argument("--correct", type=float, help="use a machine that is right so often")
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    table = rs.read_truth(arguments.qrels)
    qrels = {}
    for query, item, grade in zip(*(np.asarray(column).tolist() for column in (table.query, table.item, table.grade)),
                                  strict=True):  # fmt: skip
        qrels.setdefault(str(query), {})[str(item)] = int(grade)
    runs = {}
    for path in arguments.runs:
        own = {}
        for line in pathlib.Path(path).read_text().splitlines():
            query, _, item, _, score, *_ = line.split()
            own.setdefault(query, []).append((-float(score), item))
        runs[pathlib.Path(path).stem] = {query: [item for _, item in sorted(rows)[:50]] for query, rows in own.items()}
    common = sorted(set(qrels).intersection(*runs.values()))
    machine = None
    if arguments.correct is not None:
        items = {query: {item for run in runs.values() for item in run[query]} for query in common}
        machine = {query: {} for query in common}
        for query, own in items.items():
            for item in sorted(own):
                off = int(rng.choice([-1, 1])) if rng.random() > arguments.correct else 0
                machine[query][item] = max(0, qrels[query].get(item, 0) + off)
    rows = []
    for first, second in itertools.combinations(runs, 2):
        for _ in range(arguments.samples):
            chosen = rng.choice(common, min(arguments.queries, len(common)), replace=False).tolist()
            pair = {"first": {q: runs[first][q] for q in chosen}, "second": {q: runs[second][q] for q in chosen}}
            row = replay(qrels, pair, arguments.metric, arguments.batch, arguments.error, machine)
            rows.append({"runs": [first, second], **row})
            print(json.dumps(rows[-1]), flush=True)
    wrong = np.mean([row["own"] != row["final"] for row in rows])
    reversed_signs = np.mean([{row["own"], row["final"]} == {"better", "worse"} for row in rows])
    share = sum(row["settled"] for row in rows) / sum(row["depth"] for row in rows)
    of_pool = sum(row["judged"] for row in rows) / sum(row["pool"] for row in rows)
    said = f"false verdicts {100 * wrong:.1f} %, better for worse {100 * reversed_signs:.1f} %"
    until = f"until the forecast is right {100 * share:.0f} % of those by depth"
    print(f"{len(rows)} replays of {arguments.metric}: {said}")
    print(f"judgements: until it stops {100 * of_pool:.0f} % of the pool, {until}")


if __name__ == "__main__":
    main()
