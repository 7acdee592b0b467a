"""Files: TREC text against the tools that read it, Parquet against SQL over the same files, and a very long run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow
from columns import GROUPED, METRICS, SHUFFLED, SQL_HITS, SQL_METRICS
from data import integers, shuffled
from pyarrow import parquet
from race import Absent, Contender, Goal, Numbers, Row, audition, faster, invite, named, race, row, say

import rankstone as rs

# The same ten by rankstone, pytrec_eval and ir_measures.
TREC = {
    "ap": ("map", "AP"),
    "rr": ("recip_rank", "RR"),
    "ndcg": ("ndcg", "nDCG"),
    "ndcg@10": ("ndcg_cut_10", "nDCG@10"),
    "precision@5": ("P_5", "P@5"),
    "precision@10": ("P_10", "P@10"),
    "recall@10": ("recall_10", "R@10"),
    "recall@100": ("recall_100", "R@100"),
    "recall@1000": ("recall_1000", "R@1000"),
    "r_precision": ("Rprec", "Rprec"),
}
FIVE = ("ndcg@10", "recall@10", "ap@10", "rr@10", "precision@10")
LONG_QUERIES, LONG_ITEMS, LONG_JUDGED = 1_000_000, 100, 10


def trec_rows(scale: float, repeats: int) -> Iterator[Row]:
    queries, items = max(int(1_500 * scale), 1), 1_000
    with tempfile.TemporaryDirectory() as folder:
        qrels, run = _write_trec(Path(folder), queries, items)
        work = f"a TREC run of {queries * items:,} lines and its qrels, from files to 10 metrics"
        peers = [invite("pytrec_eval-terrier", lambda: _pytrec_eval(qrels, run), faster(15))]
        yield from race(work, lambda: dict(rs.evaluate(qrels, run, list(TREC), convention="trec_eval")), peers, repeats)
        peers = [invite("ir-measures", lambda: _ir_measures(qrels, run), faster(12))]
        yield from race(f"{work}, as commands", lambda: _our_command(qrels, run), peers, min(repeats, 3))


def trec_eval_rows(scale: float, repeats: int) -> Iterator[Row]:
    """The command `rankstone trec_eval` and the program whose output it prints."""
    queries = max(int(1_500 * scale), 1)
    program = os.environ.get("TREC_EVAL") or shutil.which("trec_eval")
    with tempfile.TemporaryDirectory() as folder:
        words = ["-m", "all_trec", *_write_trec(Path(folder), queries, 1_000)]
        work = f"`trec_eval -m all_trec`, a TREC run of {queries * 1_000:,} lines"
        for cpu, goal in ((True, faster(5)), (False, faster(8))):
            if program is None:
                peer: Contender | Absent = Absent("trec_eval", "not on the PATH; --trec-eval names it", goal)
            else:
                peer = Contender("trec_eval, the program", partial(_values, [program, *words]), goal)
            ours = partial(_values, [sys.executable, "-m", "rankstone", "trec_eval", *words])
            yield from race(
                f"{work}, {'all cores together' if cpu else 'by the clock'}", ours, [peer], repeats, cpu=cpu
            )


def _values(command: Sequence[str]) -> Numbers:
    """What it prints, but for rbp, for which the program reads uninitialised memory."""
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")
    cells = [line.split() for line in lines if line]
    return {name: float(value) for name, _, value in cells if name not in ("runid", "rbp", "relstring")}


def _write_trec(folder: Path, queries: int, items: int) -> tuple[str, str]:
    data = integers(queries, items, 100)
    qrels, run = folder / "qrels.txt", folder / "run.txt"
    with qrels.open("w") as file:
        for query, item, grade in zip(data.truth.query, data.truth.item, data.truth.value, strict=True):
            file.write(f"{query} 0 doc{item:07} {grade}\n")
    with run.open("w") as file:
        ranks = np.tile(np.arange(items), queries)
        for query, item, rank, score in zip(data.run.query, data.run.item, ranks, data.run.value, strict=True):
            file.write(f"{query} Q0 doc{item:07} {rank} {score:.6f} made\n")
    return str(qrels), str(run)


def _pytrec_eval(qrels: str, run: str) -> Contender:
    import pytrec_eval

    def call() -> Numbers:
        with open(qrels) as judged, open(run) as returned:
            truth, lists = pytrec_eval.parse_qrel(judged), pytrec_eval.parse_run(returned)
        measures = {"map", "recip_rank", "ndcg", "ndcg_cut.10", "P.5,10", "recall.10,100,1000", "Rprec"}
        found = pytrec_eval.RelevanceEvaluator(truth, measures).evaluate(lists)
        return {ours: float(np.mean([one[theirs] for one in found.values()])) for ours, (theirs, _) in TREC.items()}

    return Contender(f"{named('pytrec_eval-terrier')} with its own readers", call, faster(15))


def _ir_measures(qrels: str, run: str) -> Contender:
    import ir_measures  # noqa: F401  the command needs it

    names = {theirs: ours for ours, (_, theirs) in TREC.items()}

    def call() -> Numbers:
        command = [sys.executable, "-m", "ir_measures", "--places", "9", qrels, run, *names]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")
        return {names[name]: float(value) for name, value in (line.split() for line in lines if line)}

    return Contender(f"{named('ir-measures')}, the command", call, faster(12))


def _our_command(qrels: str, run: str) -> Numbers:
    options = [word for metric in TREC for word in ("-m", metric)]
    command = [sys.executable, "-m", "rankstone", "evaluate", qrels, run, *options, "--format", "json"]
    (found,) = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["runs"].values()
    return {name: float(value) for name, value in found["means"].items()}


def parquet_rows(scale: float, repeats: int) -> Iterator[Row]:
    queries = max(int(100_000 * scale), 1)
    data = integers(queries, 100, 10)
    for order, goal in ((GROUPED, faster(4.5)), (SHUFFLED, faster(4))):
        data = data if order == GROUPED else shuffled(data)
        with tempfile.TemporaryDirectory() as folder:
            paths = [str(Path(folder) / f"{side}.parquet") for side in ("truth", "run")]
            parquet.write_table(data.truth.table("grade"), paths[0])
            parquet.write_table(data.run.table("score"), paths[1])
            work = f"a Parquet run of {queries * 100:,} rows, {order}"
            peers = [invite("duckdb", lambda paths=paths, goal=goal: _duckdb(*paths, goal), goal)]
            yield from race(work, lambda paths=paths: dict(rs.evaluate(*paths, METRICS)), peers, repeats)


def _duckdb(truth: str, run: str, goal: Goal) -> Contender:
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"CREATE VIEW truth AS FROM '{truth}'; CREATE VIEW run AS FROM '{run}'")

    def entry(hits: str):
        query = f"WITH {hits}{SQL_METRICS}"
        return lambda: dict(zip(METRICS, connection.execute(query).fetchall()[0], strict=True))

    chosen, call = audition("DuckDB over the files", {name: entry(hits) for name, hits in SQL_HITS.items()})
    return Contender(f"{named('duckdb')} over the same files ({chosen})", call, goal)


def long_rows(scale: float, repeats: int) -> Iterator[Row]:
    """A run that is larger than what it may take in memory; each order in a fresh process."""
    queries = max(int(LONG_QUERIES * scale), 1000)
    for order, rate in ((GROUPED, 45), (SHUFFLED, 25)):
        with tempfile.TemporaryDirectory() as folder:
            paths = _write_long(Path(folder), queries, grouped=order == GROUPED)
            command = [sys.executable, __file__, *paths]
            done = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        took, peak, count = float(done[0]), int(done[1]), int(done[2])
        say(f"    {order}: {count:,} rows in {took:.1f} s, peak {peak / 1e6:.0f} MB")
        work = f"a Parquet run of {count:,} rows, truth of {queries // 10 * LONG_JUDGED:,}, {order}"
        yield row(work, f"{took:.1f} s", "rows a second", "", count / took / 1e6, Goal(rate, True, " M/s"))
        yield row(
            work, f"{took:.1f} s", "peak memory of the process", "", peak / 1e6, Goal(500, at_least=False, unit=" MB")
        )


def _write_long(folder: Path, queries: int, *, grouped: bool) -> list[str]:
    """In pieces, so that making it takes little memory. A tenth of the queries is judged."""
    rng = np.random.default_rng(3)
    truth, run = str(folder / "truth.parquet"), str(folder / "run.parquet")
    pieces = 20 if queries >= 20_000 else 1
    schema = pyarrow.schema([("query", pyarrow.int64()), ("item", pyarrow.int64()), ("score", pyarrow.float64())])
    judged = []
    with parquet.ParquetWriter(run, schema) as file:
        for piece in range(pieces):
            own = (
                np.arange(piece, queries, pieces)
                if not grouped
                else np.arange(queries * piece // pieces, queries * (piece + 1) // pieces)
            )
            query = np.repeat(own, LONG_ITEMS)
            item = (query * 7919 + np.tile(np.arange(LONG_ITEMS), len(own)) * 104_729) % 1_000_003
            known = own[own % 10 == 0]
            places = rng.integers(0, 2 * LONG_ITEMS // LONG_JUDGED, (len(known), LONG_JUDGED))
            places += np.arange(LONG_JUDGED) * (2 * LONG_ITEMS // LONG_JUDGED)  # half of them lie beyond the list
            judged.append((np.repeat(known, LONG_JUDGED), (known[:, None] * 7919 + places * 104_729) % 1_000_003))
            order = np.arange(len(query)) if grouped else rng.permutation(len(query))
            file.write_table(pyarrow.table([query[order], item[order], rng.random(len(query))], schema=schema))
    query, item = np.concatenate([one for one, _ in judged]), np.concatenate([one.ravel() for _, one in judged])
    parquet.write_table(pyarrow.table({"query": query, "item": item, "grade": np.ones(len(query))}), truth)
    return [truth, run]


def _measure(truth: str, run: str) -> None:
    from memory import status

    start = time.perf_counter()
    rs.evaluate(truth, run, list(FIVE))
    took = time.perf_counter() - start
    print(took, status("VmHWM"), parquet.ParquetFile(run).metadata.num_rows)


if __name__ == "__main__":
    _measure(*sys.argv[1:])
