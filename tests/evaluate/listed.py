"""Lists with ties, what is known of their items, and every metric of what was shown; and what it means to be equal."""

import numpy as np
import pytest

import rankstone as rs
from rankstone.metrics.registry import declared, is_built_in

ITEMS = 60
PARAMETERS = {"exposure": "(group=x)", "group_pairs": "(group=x)"}  # of metrics that ask for one
SHOWN = [
    f"{row.name}{PARAMETERS.get(row.name, '')}{'@5' * row.takes_k}"
    for row in declared().values()
    if is_built_in(row) and row.reads == "recommendations"
]


def some_lists(seed=0, queries=17, rows=12):
    """A truth, a run, and what goes beside them."""
    rng = np.random.default_rng(seed)
    names = [f"i{at}" for at in range(ITEMS)]

    def drawn(count):
        return [names[at] for at in rng.permutation(ITEMS)[:count]]

    ids = [f"u{at}" for at in range(queries)]
    truth = {query: {item: int(rng.integers(0, 3)) for item in drawn(9)} for query in ids}
    run = {query: {item: float(rng.integers(0, 6)) / 4 for item in drawn(int(rng.integers(1, rows)))} for query in ids}
    films = rs.catalogue(
        names,
        category=[["drama", "war", "love"][at % 3] for at in range(ITEMS)],
        group=["x" if at % 4 else "y" for at in range(ITEMS)],
        embedding=rng.random((ITEMS, 3)),
    )
    history = {query: drawn(15) for query in ids}
    reference = {query: drawn(8) for query in ids}
    return truth, run, {"catalogue": films, "history": history, "reference": reference}


def near(value):
    return pytest.approx(value, rel=1e-12, abs=1e-12, nan_ok=True)


def assert_equal(got, want):
    """The same means and, by query, the same values; in whatever order the queries are."""
    assert dict(got) == {label: near(value) for label, value in want.items()}
    assert sorted(got.queries) == sorted(want.queries)
    place = {query: at for at, query in enumerate(got.queries)}
    for label in want:
        values = [got.per_query[label][place[query]] for query in want.queries]
        np.testing.assert_allclose(values, want.per_query[label], rtol=1e-12, atol=1e-12, err_msg=label)
    assert got.account == want.account
