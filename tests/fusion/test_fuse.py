"""Fused runs, worked out by hand: methods, normalisations, choices, words and errors."""

from math import log, sqrt

import numpy as np
import pandas as pd
import pytest

import rankstone as rs

LEXICAL = {"q": {"a": 9.0, "b": 6.0, "c": 3.0}}  # a b c
NEURAL = {"q": {"c": 0.9, "a": 0.5, "d": 0.1}}  # c a d
THIRD = {"q": {"a": 8.0, "c": 2.0}}
RUNS = [LEXICAL, NEURAL]


def fused(method="rrf", runs=RUNS, **choices):
    return rs.fuse(runs, method, **choices).to_dict()["q"]


def close(expected):
    return pytest.approx(expected, rel=1e-14, abs=1e-15)


# -- methods -------------------------------------------------------------------------------------------------

METHODS = {
    "rrf": {"a": 1 / 61 + 1 / 62, "b": 1 / 62, "c": 1 / 63 + 1 / 61, "d": 1 / 63},
    "isr": {"a": 2 * (1 / 1 + 1 / 4), "b": 1 / 4, "c": 2 * (1 / 9 + 1 / 1), "d": 1 / 9},
    "log_isr": {"a": log(2) * (1 / 1 + 1 / 4), "b": 0, "c": log(2) * (1 / 9 + 1 / 1), "d": 0},
    "logn_isr": {
        "a": log(2.01) * (1 / 1 + 1 / 4), "b": log(1.01) / 4, "c": log(2.01) * (1 / 9 + 1 / 1), "d": log(1.01) / 9
    },
    "rbc": {"a": 0.2 * (1 + 0.8), "b": 0.2 * 0.8, "c": 0.2 * (0.64 + 1), "d": 0.2 * 0.64},
    "borda": {"a": 4 + 3, "b": 3 + (4 - 3 + 1) / 2, "c": 2 + 4, "d": (4 - 3 + 1) / 2 + 2},
    "comb_sum": {"a": 9 + 0.5, "b": 6, "c": 3 + 0.9, "d": 0.1},
    "comb_mnz": {"a": 2 * (9 + 0.5), "b": 6, "c": 2 * (3 + 0.9), "d": 0.1},
    "comb_gmnz": {"a": 9 + 0.5 + 9 + 0.5, "b": 6, "c": 2 * (3 + 0.9), "d": 0.1},
    "mixed": {"a": sqrt(2) * (9 + 0.5), "b": 6, "c": sqrt(2) * (3 + 0.9), "d": 0.1},
    "comb_anz": {"a": (9 + 0.5) / 2, "b": 6, "c": (3 + 0.9) / 2, "d": 0.1},
    "comb_min": {"a": 0.5, "b": 6, "c": 0.9, "d": 0.1},
    "comb_max": {"a": 9, "b": 6, "c": 3, "d": 0.1},
    "comb_med": {"a": (9 + 0.5) / 2, "b": 6, "c": (3 + 0.9) / 2, "d": 0.1},
}  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_method(method):
    assert fused(method) == close(METHODS[method])


def test_every_method_is_worked_out():
    assert {
        name for name in rs.fusion.methods if rs.fusion.methods[name].function.__module__.startswith("rankstone.")
    } == set(METHODS)


@pytest.mark.parametrize("short", ["sum", "mnz", "gmnz", "anz", "min", "max", "med"])
def test_short_names_are_aliases_that_are_not_printed(short):
    method = rs.fusion.methods[f"comb_{short}"]
    for alias in (short, f"comb{short}", f"Comb{short.upper()}"):
        assert rs.fusion.methods[alias] is method
        assert rs.fuse(RUNS, alias).definition.metric == f"comb_{short}"
    assert repr(method).startswith(f"comb_{short}: ")
    assert short not in list(rs.fusion.methods)


def test_parameters():
    assert fused("rrf", k=0)["a"] == close(1 / 1 + 1 / 2)
    assert fused("gmnz", gamma=3)["a"] == close(2**3 * 9.5)
    assert fused("logn_isr", sigma=1)["d"] == close(log(2) / 9)
    assert fused("rbc", p=0.5)["c"] == close(0.5 * 0.25 + 0.5)


def test_median_of_three_and_four():
    assert fused("med", [LEXICAL, NEURAL, THIRD]) == close({"a": 8, "b": 6, "c": 2, "d": 0.1})
    assert fused("med", [LEXICAL, NEURAL, THIRD, THIRD])["c"] == close((2 + 2) / 2)
    assert fused("med", [LEXICAL, NEURAL, THIRD, {"q": {"a": 1}}])["a"] == close((1 + 8) / 2)


WEIGHTED = {
    "rrf": {"a": 2 / 61 + 3 / 62, "b": 2 / 62, "c": 2 / 63 + 3 / 61, "d": 3 / 63},
    "isr": {"a": 2 * (2 / 1 + 3 / 4), "b": 2 / 4, "c": 2 * (2 / 9 + 3 / 1), "d": 3 / 9},
    "rbc": {"a": 0.2 * (2 + 3 * 0.8), "b": 0.2 * 2 * 0.8, "c": 0.2 * (2 * 0.64 + 3), "d": 0.2 * 3 * 0.64},
    "borda": {"a": 2 * 4 + 3 * 3, "b": 2 * 3 + 3 * 1, "c": 2 * 2 + 3 * 4, "d": 2 * 1 + 3 * 2},
    "comb_sum": {"a": 2 * 9 + 3 * 0.5, "b": 2 * 6, "c": 2 * 3 + 3 * 0.9, "d": 3 * 0.1},
    "comb_mnz": {"a": (2 + 3) * 9.5, "b": 2 * 6, "c": (2 + 3) * 3.9, "d": 3 * 0.1},
    "mixed": {"a": sqrt(2) * (2 * 9 + 3 * 0.5), "b": 2 * 6, "c": sqrt(2) * (2 * 3 + 3 * 0.9), "d": 3 * 0.1},
}


@pytest.mark.parametrize("method", WEIGHTED)
def test_weights(method):
    assert fused(method, weights=[2, 3]) == close(WEIGHTED[method])
    by_name = rs.fuse({"lexical": LEXICAL, "neural": NEURAL}, method, weights={"neural": 3, "lexical": 2})
    assert by_name.to_dict()["q"] == close(WEIGHTED[method])


def test_weights_that_cannot_be():
    for weights, problem in (
        ([1], "there are 2 runs but 1 weights"),
        ([1, float("nan")], "finite"),
        (["x", 1], "one number per run"),
        ({"one": 1}, "weights= are for one; the runs are run 1, run 2"),
    ):
        with pytest.raises((ValueError, TypeError), match=problem):
            rs.fuse(RUNS, weights=weights)
    with pytest.raises(ValueError, match="weights= would have no effect: comb_med has no weights"):
        rs.fuse(RUNS, "med", weights=[1, 2])


# -- normalisations ------------------------------------------------------------------------------------------

NORMS = {
    "min-max": {"a": 1, "b": (6 - 3) / 6, "c": 0},
    "min-max-inverted": {"a": 0, "b": (9 - 6) / 6, "c": 1},
    "max": {"a": 1, "b": 6 / 9, "c": 3 / 9},
    "sum": {"a": 6 / 9, "b": 3 / 9, "c": 0},
    "zmuv": {"a": 3 / sqrt((9 + 0 + 9) / 3), "b": 0, "c": -3 / sqrt((9 + 0 + 9) / 3)},
    "rank": {"a": 1, "b": 1 - 1 / 3, "c": 1 - 2 / 3},
    "borda": {"a": 1, "b": 1 - 1 / 3, "c": 1 - 2 / 3},
}


@pytest.mark.parametrize("norm", NORMS)
def test_norm(norm):
    assert fused("sum", [LEXICAL], norm=norm) == close(NORMS[norm])


def test_norms_bring_runs_to_one_scale():
    assert fused("sum", norm="min-max") == close({"a": 1 + 0.4 / 0.8, "b": 3 / 6, "c": 0 + 1, "d": 0})


def test_borda_as_a_norm_places_every_item():
    """Of 4 candidates, an item that a list of 3 does not have gets the one point that is left, of 4."""
    expected = {"a": 1 + 3 / 4, "b": 3 / 4 + 1 / 4, "c": 2 / 4 + 1, "d": 1 / 4 + 2 / 4}
    assert fused("sum", norm="borda") == close(expected)
    assert fused("mnz", norm="borda") == close({item: 2 * score for item, score in expected.items()})


def test_inverted_scores_are_distances_for_ranks_too():
    assert fused("rrf", [{"q": {"far": 5.0, "near": 1.0}}], norm="min-max-inverted") == close(
        {"near": 1 / 61, "far": 1 / 62}
    )


@pytest.mark.parametrize(
    "run", [{"q": {"a": 7.0}}, {"q": {"a": 0.1, "b": 0.1, "c": 0.1}}, {"q": {"a": -3.0, "b": -3.0}}]
)
def test_a_list_of_equal_scores(run):
    """They were all returned: the best that the scale has, an equal share, or the mean."""
    size = len(run["q"])
    assert set(fused("sum", [run], norm="min-max").values()) == {1.0}
    assert set(fused("sum", [run], norm="min-max-inverted").values()) == {1.0}
    assert set(fused("sum", [run], norm="sum").values()) == {1 / size}
    assert set(fused("sum", [run], norm="zmuv").values()) == {0.0}
    assert set(fused("sum", [run], norm="min-max", constant=0.5).values()) == {0.5}
    assert set(fused("sum", [run], norm="min-max", floor=1e-9).values()) == {0.0}


def test_max_needs_something_above_nothing():
    with pytest.raises(rs.errors.DataError, match=r"run 1: query 'q': norm='max' divides by the highest score.*-1"):
        fused("sum", [{"q": {"a": -1.0, "b": -2.0}}], norm="max")


# -- choices -------------------------------------------------------------------------------------------------


def test_missing_items():
    """d is not in the lexical run: nothing, a number, or its lowest score after its last."""
    assert fused("min", missing=0) == close({"a": 0.5, "b": 0, "c": 0.9, "d": 0})
    assert fused("anz", missing=1)["d"] == close((1 + 0.1) / 2)
    assert fused("sum", missing="lowest") == close({"a": 9.5, "b": 6 + 0.1, "c": 3.9, "d": 3 + 0.1})
    assert fused("rrf", missing="lowest") == close(
        {"a": 1 / 61 + 1 / 62, "b": 1 / 62 + 1 / 64, "c": 1 / 63 + 1 / 61, "d": 1 / 64 + 1 / 63}
    )
    assert fused("rrf", missing=0) == close(METHODS["rrf"])
    assert fused("borda", missing=0) == close({"a": 7, "b": 3, "c": 6, "d": 2})
    assert fused("borda", missing="lowest") == close({"a": 7, "b": 3 + (4 - 3), "c": 6, "d": (4 - 3) + 2})
    with pytest.raises(ValueError, match=r"missing=0.5 would have no effect: rrf reads ranks"):
        fused("rrf", missing=0.5)


def test_first_rank():
    assert fused("rrf", first_rank=0) == close({"a": 1 / 60 + 1 / 61, "b": 1 / 61, "c": 1 / 62 + 1 / 60, "d": 1 / 62})
    with pytest.raises(ValueError, match="first_rank=0 would have no effect: comb_sum reads no ranks"):
        fused("sum", first_rank=0)
    with pytest.raises(ValueError, match=r"query 'q', item 'a': the fused score is inf; check .* first_rank="):
        fused("isr", first_rank=0)


def test_depth_and_keep():
    assert fused("rrf", depth=1) == close({"a": 1 / 61, "c": 1 / 61})
    assert fused("sum", depth=2, norm="min-max") == close({"a": 1 + 0, "b": 0, "c": 1})  # cut first, then scaled
    assert list(fused("sum", keep=2)) == list(fused("sum", keep=np.int64(2))) == ["a", "b"]
    for choice in ("depth", "keep"):
        for bad in (0, -1, 1.5, True, "3"):
            with pytest.raises(ValueError, match=f"{choice}=.*; give a whole number from 1"):
                fused(**{choice: bad})


def test_ties():
    tied = {"q": {"x": 1.0, "z": 1.0, "y": 1.0, "top": 2.0}}
    places = {"item_desc": "zyx", "item_asc": "xyz", "input": "xzy", "reverse_input": "yzx"}
    for ties, order in places.items():
        found = rs.fuse([tied], ties=ties).to_dict()["q"]
        assert found == close({"top": 1 / 61, **{item: 1 / (62 + at) for at, item in enumerate(order)}}), ties
    with pytest.raises(ValueError, match="ties='expected'; choose from 'item_desc'"):
        rs.fuse([tied], ties="expected")


def test_equal_fused_scores_are_in_the_order_of_ties():
    assert list(fused("rrf", [{"q": ["a"]}, {"q": ["b"]}])) == ["b", "a"]
    assert list(fused("rrf", [{"q": ["a"]}, {"q": ["b"]}], ties="item_asc")) == ["a", "b"]
    several = [{"q": [name]} for name in "bdac"]
    assert list(fused("rrf", several)) == ["d", "c", "b", "a"]
    assert list(fused("rrf", several, ties="input")) == ["b", "d", "a", "c"]


def test_queries_that_not_every_run_has():
    one, other = {"q1": ["a"], "q2": ["a"]}, {"q2": ["b"], "q3": ["b"]}
    assert set(rs.fuse([one, other]).to_dict()) == {"q1", "q2", "q3"}
    assert set(rs.fuse([one, other], queries="shared").to_dict()) == {"q2"}
    with pytest.raises(rs.errors.DataError, match="run 2 has no query 'q1'; queries='union'") as caught:
        rs.fuse([one, other], queries="error")
    assert caught.value.query == "q1"
    borda = rs.fuse([{"q": ["a", "b"]}, {"p": ["c"]}], "borda").to_dict()["q"]
    assert borda == close({"a": 2 + (2 + 1) / 2, "b": 1 + (2 + 1) / 2})  # an empty list shares all of its points


def test_an_empty_list_stays():
    for runs in ([{"q": [], "p": ["a"]}, {"q": {}, "p": ["a"]}], [rs.lists([[], ["a"]], query=["q", "p"])] * 2):
        fused = rs.fuse(runs)
        assert fused.to_dict() == {"q": {}, "p": {"a": close(2 / 61)}}
        assert rs.evaluate({"q": ["a"], "p": ["a"]}, fused, "rr", missing="error")["rr"] == (0 + 1) / 2


def test_nothing_at_all():
    assert rs.fuse([{}, {}]).to_dict() == {}
    with pytest.raises(ValueError, match="no runs; pass a list"):
        rs.fuse([])


# -- conventions ---------------------------------------------------------------------------------------------


def test_presets():
    assert fused("rrf", convention="pyterrier")["a"] == close(1 / 60 + 1 / 61)
    assert fused("sum", [{"q": {"a": 1.0}}], convention="ranx") == {"a": 0.0}
    assert fused("sum", [{"q": {"a": 4.0}}], convention="ranx", norm=None) == {"a": 4.0}
    with pytest.raises(ValueError, match="queries='union'"):
        rs.fuse([{"q": ["a"]}, {"p": ["a"]}], convention="ranx")
    long = {"q": {f"d{n:04}": float(n) for n in range(1200)}}
    assert (
        len(fused("rrf", [long], convention="trectools")) == len(fused("rrf", [long], convention="pyterrier")) == 1000
    )
    assert fused("rrf", [long], convention="trectools", depth=None, keep=None)["d0000"] == close(1 / 1260)
    with pytest.raises(ValueError, match="unknown convention of fusion 'terrier'; did you mean 'pyterrier'"):
        fused(convention="terrier")


# -- words ---------------------------------------------------------------------------------------------------


def test_a_fused_run_tells_how_it_was_made():
    made = rs.fuse({"bm25": LEXICAL, "dense": NEURAL}, "sum", norm="min-max", weights=[0.7, 0.3], depth=100)
    said = made.definition.cite
    for words in (
        "comb_sum: sum of the scores",
        "each run's term times its weight: 0.7 (bm25), 0.3 (dense)",
        "(score - lowest) / (highest - lowest) of the list",
        "first 100 items of each list",
        "1 where all scores of a list are equal",
        "no contribution from runs that did not return the item",
        "ties broken by item id, descending",
        "convention rankstone with norm='min-max', depth=100",
    ):
        assert words in said, words
    assert made.definition.choices["weights"] == [0.7, 0.3]
    assert "sum of 1 / (60 + rank)" in rs.fuse(RUNS).render(verbose=True)
    assert "rrf of 2 runs (run 1, run 2): 1 query, 4 items" in repr(rs.fuse(RUNS))
    assert "score" not in rs.fuse(RUNS).definition.cite.replace("equal scores", "")  # it does not read them
    assert "did not return" not in "".join(rs.fuse(RUNS, "borda").definition.edge_cases)  # the formula says it


def test_two_definitions_that_differ_read_differently():
    values = {
        "norm": (None, *NORMS),
        "missing": (None, 0, 1, "lowest"),
        "depth": (None, 1, 2),
        "keep": (None, 1),
        "ties": ("item_desc", "item_asc", "input", "reverse_input"),
        "queries": ("union", "shared", "error"),
    }
    for name, each in values.items():
        told = {rs.fuse(RUNS, "sum", **{name: value}).definition.cite.rpartition(". ")[0] for value in each}
        assert len(told) == len(each), name
    floors = [{}, {"floor": 1e-9}, {"constant": 0.5}]
    assert len({rs.fuse(RUNS, "sum", norm="sum", **one).definition.cite.rpartition(". ")[0] for one in floors}) == 3


def test_the_listing():
    assert set(rs.fusion.methods) >= set(METHODS)
    assert "rrf: sum of 1 / (60 + rank); Reciprocal rank fusion" in repr(rs.fusion.methods)
    assert rs.fusion.methods["wsum"] is rs.fusion.methods["sum"]
    assert "comb_mnz: number of runs x sum of the scores; CombMNZ" in repr(rs.fusion.methods)
    with pytest.raises(KeyError, match="unknown fusion 'bordafus'; did you mean 'borda'"):
        rs.fusion.methods["bordafus"]


@pytest.fixture
def own_registry(monkeypatch):
    """Fusions that a test declares are gone after it."""
    for name in ("rows", "names"):
        monkeypatch.setattr(rs.fusion.methods, name, dict(getattr(rs.fusion.methods, name)))


def test_a_fusion_of_your_own(own_registry):
    @rs.fusion.method(
        "top_heavy_of_mine", formula="sum of 1 / rank^<power>", reads="rank", weighted="each term times it"
    )
    def top_heavy(found, *, power=3):
        """Only the top counts."""
        return found.sum(found.weight / found.rank**power)

    assert fused("top_heavy_of_mine", weights=[1, 10], power=2)["a"] == close(1 + 10 / 4)
    assert fused(top_heavy)["a"] == close(1 + 1 / 8)
    assert rs.fuse(RUNS, top_heavy).definition.formula == "sum of 1 / rank^3"
    assert "top_heavy_of_mine" in repr(rs.fusion.methods)
    with pytest.raises(ValueError, match=r"unknown fusion 'nothing_like_it'; there are borda, .* more"):
        rs.fuse(RUNS, "nothing_like_it")
    with pytest.raises(ValueError, match="'rrf' is a fusion of rankstone's own"):
        rs.fusion.method("rrf")(lambda found: found.count)

    @rs.fusion.method("scores_of_mine", reads="rank")
    def scores(found):
        return found.sum(found.score)

    with pytest.raises(TypeError, match="declare it with reads='score'"):
        fused("scores_of_mine")

    @rs.fusion.method("short_of_mine")
    def short(found):
        return found.score[:1]

    with pytest.raises(ValueError, match="short_of_mine returned 1 scores for 4 items"):
        fused("short_of_mine")


# -- errors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: rs.fuse(RUNS, "comb_sun"), "unknown fusion 'comb_sun'; did you mean 'comb_sum'"),
        (lambda: rs.fuse(RUNS, 3), "unknown fusion 3"),
        (lambda: rs.fuse(RUNS, "sum", k=60), "unknown choice or parameter of comb_sum 'k'"),
        (lambda: rs.fuse(RUNS, kk=60), "unknown choice or parameter of rrf 'kk'"),
        (lambda: rs.fuse(RUNS, k=-1), "rrf: k must"),
        (lambda: rs.fuse(RUNS, "rbc", p=1), "rbc: p must lie between 0 and 1"),
        (lambda: rs.fuse(RUNS, norm="minmax"), "norm='minmax'; choose from None, 'min-max'"),
        (lambda: rs.fuse(RUNS, norm="min-max"), "norm='min-max' would have no effect: rrf reads ranks"),
        (lambda: rs.fuse(RUNS, "sum", constant=0), "constant=0 would have no effect"),
        (lambda: rs.fuse(RUNS, "sum", norm="rank", floor=1), "floor=1 would have no effect"),
        (lambda: rs.fuse(RUNS, "sum", norm="max", floor=-1), "floor=-1; give a number above 0"),
        (lambda: rs.fuse(RUNS, "sum", norm="borda", missing=0), "missing=0 .*: norm='borda' has its own rule"),
        (lambda: rs.fuse(RUNS, "sum", missing="worst"), "missing='worst'; choose from a number, or None, 'lowest'"),
        (lambda: rs.fuse(RUNS, "sum", missing=float("nan")), "missing=nan is not a finite number"),
        (lambda: rs.fuse(RUNS, queries="some"), "queries='some'; choose from 'union'"),
        (lambda: rs.fuse(LEXICAL), r"runs\['q'\] is one list of items, not a run"),
        (lambda: rs.fuse({"q": ["a"]}), r"runs\['q'\] is one list of items, not a run"),
        (lambda: rs.fuse(rs.columns(query=["q"], item=["a"])), "this is one run; pass a list of runs"),
        (lambda: rs.fuse(None), "this is NoneType; pass a list of runs"),
        (lambda: rs.fuse([{"q": {"a": 1e308, "b": -1e308}}], "sum", norm="zmuv"), "norm='zmuv' overflows"),
        (lambda: rs.fuse([{"q": {"a": 1e308}}] * 2, "sum"), "query 'q', item 'a': the fused score is inf"),
        (lambda: rs.fuse(pd.DataFrame({"query": ["q"], "item": ["a"]})), "this is one run; pass a list of runs"),
        (lambda: rs.fuse(rs.fuse(RUNS)), "this is one run; pass a list of runs"),
        (lambda: rs.fuse(np.eye(2)), "this is one run; pass a list of runs"),
        (lambda: rs.fuse("a.run"), "this is one run; pass a list of runs"),
        (lambda: rs.fuse([np.eye(2)]), "run 1 is a matrix; pass scipy.sparse.csr_array"),
        (lambda: rs.fuse([LEXICAL, 3]), "run 2 is int, not a run"),
        (lambda: rs.fuse([{"q": {"a", "b"}}]), "run 1: query 'q': the run must be a dict .* not set"),
    ],
)  # fmt: skip
def test_what_is_refused(call, problem):
    with pytest.raises((ValueError, TypeError), match=problem):
        call()


BAD = {
    "nan": ({"q": {"a": 1.0, "b": float("nan")}}, "new: query 'q', item 'b': score is nan", "number"),
    "none": ({"q": {"a": 1.0, "b": None}}, "new: query 'q', item 'b': score None is not a number", "number"),
    "text": ({"q": {"b": "1"}}, "new: query 'q', item 'b': score '1' is not a number", "number"),
    "twice": ({"q": ["a", "b", "a"]}, "new: query 'q': item 'a' appears twice", "twice"),
    "huge": ({"q": {"a": 2**70 + 1}}, "too large to be exact", "number"),
    "unhashable": ({"q": ["a", {}]}, "cannot be hashed", "id"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_data_is_named(what):
    run, problem, kind = BAD[what]
    with pytest.raises(rs.errors.DataError, match=problem) as caught:
        rs.fuse({"old": LEXICAL, "new": run})
    assert (caught.value.kind, caught.value.side, caught.value.query) == (kind, "run", "q")


def test_bad_columns_are_named():
    good = rs.columns(query=["q"], item=["a"], score=[1.0])
    for bad, problem in (
        (rs.columns(query=["q", "q"], item=["a", "a"], score=[1, 2]), "run 2: query 'q': item 'a' appears twice"),
        (rs.columns(query=["q"], item=["a"], score=[float("nan")]), "run 2: query 'q', item 'a': score is nan"),
        (rs.columns(query=["q", "q"], item=["a", "b"], score=[1, None]), "run 2: score of row 1 is null"),
        (rs.columns(query=["q", "q"], item=["a", None]), "run 2: item of row 1 is null"),
        (rs.columns(query=["q"], item=[7]), "run 2: items are integers but run 1: items are strings"),
        (rs.columns(query=["q"], item=[0.5]), "run 2: item ids are double; ids must be strings or integers"),
    ):
        with pytest.raises((ValueError, TypeError), match=problem):
            rs.fuse([good, bad])


def test_an_order_has_no_scores():
    order = {"q": ["a", "b"]}
    table = rs.columns(query=["q", "q"], item=["a", "b"])
    for run in (order, table):
        with pytest.raises(
            rs.errors.DataError, match="run 2 has ranks but no scores, and comb_sum reads scores; norm='rank'"
        ):
            rs.fuse([LEXICAL, run], "sum", norm="min-max")
        assert fused("sum", [LEXICAL, run], norm="rank")["b"] == close((1 - 1 / 3) + (1 - 1 / 2))
        assert fused("rrf", [LEXICAL, run])["b"] == close(1 / 62 + 1 / 62)


def test_one_list_without_scores_among_others():
    table = rs.columns(query=["q"], item=["a"], score=[1.0])
    for side_info in (LEXICAL, table):
        with pytest.raises(rs.errors.DataError, match="run 2 has ranks but no scores"):
            rs.fuse([side_info, {"p": {"a": 1.0}, "q": ["a"]}], "sum")
        with pytest.raises(rs.errors.DataError, match="run 2: query 'q': item 'a' appears twice"):
            rs.fuse([side_info, {"p": {"a": 1.0}, "q": ["a", "a"]}])
        assert rs.fuse([side_info, {"p": {"a": 1.0}, "q": []}], "sum").to_dict()["p"] == {"a": 1.0}


def test_ranks_are_no_scores(tmp_path):
    ranked = pd.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "rank": [2, 1]})
    ranked.to_csv(tmp_path / "r.csv", index=False)
    (tmp_path / "r.jsonl").write_text(
        '{"query": "q", "item": "a", "rank": 2}\n{"query": "q", "item": "b", "rank": 1}\n'
    )
    listed = pd.DataFrame({"query": ["q"], "items": [["a", "b"]], "rank": [[2, 1]]})
    for run in (ranked, tmp_path / "r.csv", tmp_path / "r.jsonl", listed):
        with pytest.raises(rs.errors.DataError, match="has ranks but no scores"):
            rs.fuse([run], "sum")
        assert fused("rrf", [run]) == close({"b": 1 / 61, "a": 1 / 62})


def test_infinite_scores():
    endless = {"q": {"a": float("inf"), "b": 1.0, "c": float("-inf")}}
    assert fused("rrf", [endless]) == close({"a": 1 / 61, "b": 1 / 62, "c": 1 / 63})
    with pytest.raises(
        rs.errors.DataError, match="run 1: query 'q', item 'a': score is inf, which comb_sum cannot use"
    ):
        fused("sum", [endless])


def test_ids_of_any_kind():
    one, other = {("u", 1): {("x", 1): 2.0, 7: 1.0}}, {("u", 1): {7: 3.0, None: 2.0}}
    fused = rs.fuse([one, other])
    assert fused.to_dict() == {("u", 1): {7: 1 / 62 + 1 / 61, ("x", 1): 1 / 61, None: 1 / 62}}
    assert rs.evaluate({("u", 1): {None: 1}}, fused, "rr")["rr"] == 1 / 3
    with pytest.raises(
        rs.errors.DataError, match=r"items .* have the same score and ids that cannot be compared; ties=\"input\""
    ):
        rs.fuse([{"q": {("x",): 1.0, 7: 1.0}}])
    apart = [{"q": [None]}, {"q": [7]}]
    with pytest.raises(rs.errors.DataError, match=r"the fused run: query 'q': items .* ids that cannot be compared"):
        rs.fuse(apart).to_dict()
    assert rs.fuse(apart, ties="input").to_dict() == {"q": {None: 1 / 61, 7: 1 / 61}}


@pytest.mark.parametrize(
    "ids",
    [["a", "b", "c", "d"], [-7, 8, 9, 10], [("x", 1), ("x", 2), ("y", 0), ("z",)], [b"a", b"b", b"\xfe", b"\xff"]],
    ids=["text", "integers", "tuples", "bytes"],
)
def test_more_than_two_tied_items_by_id(ids):
    one, two, three, four = ids
    run = {"q": {three: 1.0, one: 1.0, two: 1.0, four: 2.0}, "p": {two: 1.0, one: 1.0}}
    runs = [run]
    if not isinstance(one, tuple):
        rows = [(query, item, score) for query, content in run.items() for item, score in content.items()]
        runs.append(pd.DataFrame(rows, columns=["query", "item", "score"]))
    for shape in runs:
        found = rs.fuse([shape]).to_dict()
        assert [*found["q"]] == [four, three, two, one]
        assert [*found["p"]] == [two, one]
        assert [*rs.fuse([shape], ties="item_asc").to_dict()["q"]] == [four, one, two, three]
        assert [*rs.fuse([shape], ties="reverse_input").to_dict()["q"]] == [four, two, one, three]
        assert rs.pool([shape], 2).to_dict() == {"q": [three, four], "p": [one, two]}


def test_tied_items_that_cannot_be_compared_are_named():
    with pytest.raises(rs.errors.DataError, match=r"run 1: query 'q': items \('x', 1\) and \('x', 'y'\) have the same"):
        rs.fuse([{"q": {("x", 1): 1.0, ("x", 2): 1.0, ("x", "y"): 1.0}}])


def test_whole_numbers_and_text_are_not_the_same_ids():
    """Nothing of a run is in any other: 1 was perhaps meant to be "1"."""
    with pytest.raises(TypeError, match="run 1: items are strings but run 3: items are integers"):
        rs.fuse([{"q": ["1", "2"]}, {"q": ["2", "3"]}, {"q": [1, 2]}])
    with pytest.raises(TypeError, match="run 2: queries are strings but run 1: queries are integers"):
        rs.fuse([{1: ["a"]}, {"1": ["a"]}])
    assert rs.fuse([{"q": ["1"]}, {"q": ["2"]}]).to_dict() == {"q": {"2": 1 / 61, "1": 1 / 61}}


def test_runs_that_change_while_they_are_fused(monkeypatch):
    from rankstone.fusion import merge

    unite = merge._core.unite_dicts

    def united(names, queries, contents):
        answer = unite(names, queries, contents)
        contents[0][0]["late"] = 0.1
        return answer

    monkeypatch.setattr(merge, "_core", type("Core", (), {"unite_dicts": staticmethod(united)}))
    with pytest.raises(rs.errors.DataError, match="the runs changed while they were fused"):
        rs.fuse([{"q": {"a": 1.0, "b": 0.5}}, {"q": {"b": 1.0}}])
