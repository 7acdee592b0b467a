"""Small calls: one query, ten items, three metrics; one list and one metric; a plan that is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from race import Contender, Goal, Numbers, Row, faster, invite, named, race, within

import rankstone as rs

METRICS = {"ndcg@10": "ndcg_cut_10", "ap": "map", "rr": "recip_rank"}
CALLS = 2_000  # in one round
Side = dict[str, dict[str, float]]


def rows(scale: float, repeats: int) -> Iterator[Row]:
    truth: Side = {"q": {f"d{i}": 1 + i % 3 for i in range(0, 20, 4)}}
    run: Side = {"q": {f"d{i}": 1.0 / (i + 1) for i in range(10)}}
    calls, names = max(int(CALLS * scale), 1), list(METRICS)
    kept = rs.Evaluator(names)
    items, relevant = list(run["q"]), truth["q"]

    def many(call: Callable[[], Numbers]) -> Callable[[], Numbers]:
        def repeated() -> Numbers:
            for _ in range(calls):
                found = call()
            return found

        return repeated

    work = f"one query, 10 items, 3 metrics, {calls:,} calls"
    fresh = invite("pytrec_eval-terrier", lambda: pytrec_eval(truth, run, many, faster(2)), faster(2))
    yield from race(work, many(lambda: dict(rs.evaluate(truth, run, names))), [fresh], repeats, cpu=True)
    held = invite("pytrec_eval-terrier", lambda: pytrec_eval(truth, run, many, within(4), keep=True), within(4))
    yield from race(f"{work} of a kept evaluator", many(lambda: dict(kept(truth, run))), [held], repeats, cpu=True)
    one = many(lambda: {"ndcg@10": rs.ndcg(items, truth=relevant, k=10)})
    share = Goal(80 / 15, at_least=True)  # 15 µs where a new evaluator takes 80
    alone = invite("pytrec_eval-terrier", lambda: pytrec_eval(truth, run, many, share, only="ndcg@10"), share)
    yield from race(f"one list of 10 items, nDCG@10, {calls:,} calls", one, [alone], repeats, cpu=True)


def pytrec_eval(
    truth: Side,
    run: Side,
    many: Callable[[Callable[[], Numbers]], Callable[[], Numbers]],
    goal: Goal,
    *,
    keep: bool = False,
    only: str = "",
) -> Contender:
    import pytrec_eval as library

    wanted = {ours: theirs for ours, theirs in METRICS.items() if only in ("", ours)}
    asked = {theirs.replace("cut_", "cut.") for theirs in wanted.values()}
    held = library.RelevanceEvaluator(truth, asked)

    def call() -> Numbers:
        found = (held if keep else library.RelevanceEvaluator(truth, asked)).evaluate(run)["q"]
        return {ours: found[theirs] for ours, theirs in wanted.items()}

    return Contender(named("pytrec_eval-terrier") + (", kept" if keep else ", a new evaluator"), many(call), goal)
