"""Lists that come best first are counted in another way; the ranks are the same as in any other order."""

import numpy as np
import pytest

from rankstone import _core
from rankstone.data.source import AlignOptions

FIELDS = ("retrieved", "rank", "grade", "score", "place", "above", "tied")


def told(found):
    return [None if (array := getattr(found, name)) is None else array.tolist() for name in FIELDS]


@pytest.mark.parametrize("rows", [1, 2, 3, 255, 256, 257, 258, 1000])
@pytest.mark.parametrize("levels", [1, 2, 40, 100_000])
@pytest.mark.parametrize("judged", [1, 2, 30, 500])
def test_best_first_or_not(rows, levels, judged):
    rng = np.random.default_rng(rows * levels + judged)
    scores = np.sort(rng.integers(0, levels, rows) / 8 - 1)[::-1]
    items = rng.permutation(rows).tolist()
    truth = {"q": {item: float(item % 3) for item in range(min(judged, 2 * rows))}}
    run = dict(zip(items, scores.tolist(), strict=True))
    mixed = dict(sorted(run.items(), key=lambda pair: hash((pair[0], rows))))
    raised = {**run, items[-1]: 1e9} if rows > 1 else run  # in order but for the last
    for order in ("item_desc", "item_asc"):
        how = AlignOptions(order, threads=1)
        in_order = told(_core.align_dicts(truth, {"q": run}, how))
        assert in_order == told(_core.align_dicts(truth, {"q": mixed}, how))
        query, item = np.zeros(rows, dtype=np.int64), np.array(items)
        found = _core.align_columns(
            np.zeros(len(truth["q"]), dtype=np.int64), np.array([*truth["q"]]), np.array([*truth["q"].values()]),
            query, item, scores, how,
        )  # fmt: skip
        assert told(found) == in_order
        again = dict(sorted(raised.items(), key=lambda pair: hash((pair[0], rows))))
        assert told(_core.align_dicts(truth, {"q": raised}, how)) == told(_core.align_dicts(truth, {"q": again}, how))
    scores_below = [sum(other > score for other in scores) for score in in_order[3]]
    assert (in_order[5] or [rank - 1 for rank in in_order[1]]) == scores_below


def test_a_score_of_infinity_or_none_that_compares():
    truth, run = {"q": {"a": 1, "b": 1, "c": 1}}, {"q": {"a": float("inf"), "b": 1.0, "c": float("-inf")}}
    assert _core.align_dicts(truth, run, AlignOptions(threads=1)).rank.tolist() == [1, 2, 3]
