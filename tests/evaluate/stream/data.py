"""Truths and runs with ties, batches of any size in any order, and what it means that results are the same."""

import numpy as np

import rankstone as rs


def pair(rng, *, text=False, text_queries=False, queries=12, rows=30, judged=7, levels=5, extra=2, shuffled=True):
    """A truth and a run as columns. Every fifth query is not in the run, and `extra` ones are not in the truth."""
    truth, run = [], []
    for query in rng.permutation(queries + extra):
        pool = rng.permutation(3 * rows)
        if query < queries:
            truth += [(query, item, rng.integers(-1, 4)) for item in pool[:judged]]
        if query % 5 != 3:
            listed = rng.permutation(np.concatenate((pool[: judged // 2 + 1], pool[judged : judged + rows])))
            run += [(query, item, rng.integers(0, levels) / 4) for item in listed]
    if shuffled:
        rng.shuffle(truth)
        rng.shuffle(run)
    return _side(truth, "grade", text, text_queries), _side(run, "score", text, text_queries)


def _side(rows, value, text, text_queries):
    query, item, values = zip(*rows, strict=True)
    return rs.columns(
        query=[f"q{one}" for one in query] if text_queries else np.array(query),
        item=[f"i{one}" for one in item] if text else np.array(item),
        **{value: np.array(values, dtype=float)},
    )


def cut(run, rng, count=5):
    """A run in batches of any size, in any order, some of them empty."""
    ends = np.sort(rng.integers(0, len(run.query) + 1, count - 1))
    spans = list(zip([0, *ends], [*ends, len(run.query)], strict=True))
    rng.shuffle(spans)
    return [
        rs.columns(query=run.query[start:end], item=run.item[start:end], score=run.score[start:end])
        for start, end in spans
    ]


def streamed(stream, batches):
    """The result of both passes, the second in another order."""
    for batch in batches:
        stream.first_pass(batch)
    for batch in reversed(batches):
        stream.second_pass(batch)
    return stream.compute()


def assert_same(got, want):
    """Both say the same of every query, and of what happened."""
    assert list(got) == list(want)
    assert list(got.queries) == list(want.queries)
    for name in want:
        np.testing.assert_allclose(got.per_query[name], want.per_query[name], rtol=1e-12, atol=1e-15, err_msg=name)
        np.testing.assert_allclose(got[name], want[name], rtol=1e-12, atol=1e-15, err_msg=name)
        assert got.definitions[name] == want.definitions[name]
    assert got.account == want.account
    assert str(got) == str(want)
