"""Batches of arrays: the engine's numbers, in every library, without a loop and without a copy."""

import math
import random
import re
import sys
import zlib
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import rankstone as rs
from rankstone import arrays
from rankstone.conventions.convention import takes
from rankstone.metrics import declared
from rankstone.program import array_libraries

from ..golden.recorded import read

BATCHED = [
    name
    for name, row in declared().items()
    if row.function.__module__.startswith("rankstone.") and hasattr(arrays, name)
]
GRADES = {"binary": (0, 1), "graded": (0, 1, 2, 3, 4), "any": (-2, -1, 0, 1, 2, 0.5, 0.25, 1.5)}
SCORES = (2.0, 1.0, 0.5, -1.0, 0.0, -0.0, 1.25, -math.inf, 0.75, 0.3)
KS = [1, 3, 20, 5, 9]
PARAMETERS = {  # those that are not one of a few words
    "beta": (0.5, 2.0),
    "catalogue": (None, 100),
    "gain": ("linear", "exp2", "exp1.5", "binary", {one: abs(one) % 3 for one in GRADES["any"] + GRADES["graded"]}),
    "max_grade": (4, 5.5),
    "p": (0.1, 0.5, 0.95),
    "recall": (0.0, 0.1, 0.3, 0.5, 1.0),
    "term_digits": (None, 6),
    "unjudged_gain": (0.0, 1.5),
}  # fmt: skip
CHOICES = {
    "ties": rs.choices["ties"].allowed,
    "threshold": (1, 2, ">0", 0, -1, "all", "relative"),
    "undefined": (0, 0.5, "nan", "skip", "error"),
    "no_relevant": (None, 0, 1, "nan", "skip", "error"),
    "both_empty": (None, 1, "nan"),
    "empty_list": ("count", "skip", "error"),
    "empty_truth": ("count", "skip"),
    "short_list": ("count", "zero"),
    "relevance": ("binary", "clipped"),
    "truth_depth": ("all", "k"),
    "unjudged": ("nonrelevant", "only_returned"),
    "nonpositive_score": ("count", "miss"),
    "score_precision": ("float64", "float32"),
}


def computed(name, **given):
    """The metric of a batch, with what it has to be told."""
    if "max_grade" in declared()[name].defaults:
        given.setdefault("max_grade", 4)
    return getattr(arrays, name)(**given)


class Library:
    def __init__(self, name):
        self.name = name
        if not name.startswith("numpy"):
            self.module = pytest.importorskip("torch" if name.startswith("torch") else "jax")
        self.wide = name != "jax" or self.module.config.jax_enable_x64

    def __call__(self, array):
        if array is None or self.name.startswith("numpy"):
            return array
        return self.module.numpy.asarray(array) if self.name == "jax" else self.module.from_numpy(array)


@pytest.fixture(params=["numpy", "numpy as CuPy", "torch", "torch elsewhere", "jax"])
def library(request, monkeypatch):
    """A library; "elsewhere": as on a device whose memory NumPy does not reach; "as CuPy": sorted in no special way."""
    if request.param == "torch elsewhere":
        monkeypatch.setattr(array_libraries, "in_host_memory", lambda array: False)
    if request.param == "numpy as CuPy":
        monkeypatch.setattr(array_libraries, "is_numpy_array", lambda array: False)
    return Library(request.param)


def some_batch(random_, numbers, dtype, kind):
    """Rows with ties; one without a relevant item, one empty, one complete."""
    shape = (8, 9)
    scores = numbers.choice(SCORES, size=shape) if random_.random() < 0.7 else numbers.normal(size=shape)
    labels = numbers.choice(GRADES[random_.choice(list(GRADES))], size=shape)
    labels[1] = 0
    mask = None
    if random_.random() < 0.6:
        mask = numbers.random(shape) < 0.7
        mask[2], mask[3] = False, True
    if kind == "ratings":
        scores = numbers.choice((0.0, 0.125, 0.4, 0.5, 0.9, 1.0), size=shape)
    return scores.astype(dtype), labels.astype(dtype), mask


def some_choices(random_, row):
    chosen = {}
    for name in row.defaults:
        if random_.random() < 0.25:
            chosen[name] = random_.choice(row.words(name) or PARAMETERS[name])
    moving = {name: words for name, words in CHOICES.items() if takes(rs.authoring.Metric(row.name), name)}
    chosen.update({name: random_.choice(words) for name, words in moving.items() if random_.random() < 0.1})
    if "max_grade" in row.defaults:  # a batch does not know it
        chosen.setdefault("max_grade", 4)
    if row.name == "auc":  # the engine's own pairs of partly relevant items depend on whether any scores are tied
        chosen.pop("relevance", None)
    return chosen


def engine(metric, ks, scores, labels, mask, convention, choices):
    """Values of `rs.evaluate`, row by cutoff. It may have none for the mean, which is not asked for."""
    asked, (choices, *_) = zip(*(rs.authoring.Metric(metric, k).with_parameters(choices) for k in ks), strict=True)
    means = {"missing": "zero", "no_queries": "nan", "averaging": "macro"}
    kept = declared()[metric].choices.get("averaging") == "one_list" or "micro" in str(
        rs.conventions[convention].choices
    )
    result = rs.evaluate(labels, scores, asked, mask=mask, convention=convention, **choices, **({} if kept else means))
    return np.stack([result.per_query[str(one)] for one in asked], axis=1)


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("metric", BATCHED)
def test_same_values_as_the_engine(metric, precision, library):
    if precision == "float64" and not library.wide:
        pytest.skip("JAX has no float64 unless told to")
    row, tolerance = declared()[metric], 1e-12 if precision == "float64" else 1e-5
    seed = zlib.crc32(metric.encode())
    random_, numbers = random.Random(seed), np.random.default_rng(seed)
    compared = 0
    for convention in rs.conventions:
        scores, labels, mask = some_batch(random_, numbers, precision, row.kind)
        own = rs.conventions[convention].choices.get("threshold")  # asked for, it goes with any grades
        choices = {
            **({"threshold": own} if own is not None and row.kind != "ratings" else {}),
            **some_choices(random_, row),
        }
        ks = [None] if not row.takes_k or random_.random() < 0.3 else KS
        given = {"mask": library(mask), "convention": convention, **choices}
        try:
            expected = engine(metric, ks, scores, labels, mask, convention, choices)
        except (ValueError, TypeError) as error:
            with pytest.raises((ValueError, TypeError)):
                raise_for(
                    error,
                    getattr(arrays, metric)(scores=library(scores), labels=library(labels), k=ks[0] and ks, **given),
                )
            continue
        try:
            found = getattr(arrays, metric)(scores=library(scores), labels=library(labels), k=ks[0] and ks, **given)
        except rs.errors.NoClosedFormError:  # the engine computes it if no scores happen to be tied
            assert "expected" in (choices.get("ties"), rs.conventions[convention].choices.get(f"{metric}_ties"))
            continue
        assert type(found) is type(library(scores))
        assert str(found.dtype).endswith(precision)
        found = np.asarray(found).reshape(expected.shape)
        digits = choices.get("query_digits", rs.conventions[convention].choices.get("query_digits"))
        step = 10.0**-digits if digits is not None and precision == "float32" else 0.0  # a half may round either way
        np.testing.assert_allclose(found, expected, tolerance, tolerance + step, err_msg=f"{convention} {choices}")
        compared += 1
    assert compared > 20


def raise_for(error, found):
    pytest.fail(f"{error}: but there is a value, {found}")


def test_every_other_metric_is_named():
    own = {name: row for name, row in declared().items() if row.function.__module__.startswith("rankstone.")}
    others = {*own} - {*BATCHED}
    assert {name for name in others if own[name].kind == "agreement"} == {"spearman", "kendall", "tau_ap", "rbo"}
    assert {own[name].kind for name in others} == {"agreement", "intents", "recommendations"}
    for name in others:
        with pytest.raises(AttributeError, match=rf"rs\.evaluate\(labels, scores, '{name}'\)"):
            getattr(arrays, name)


# -- document 001 ------------------------------------------------------------------------------------------------

FUNCTIONS = {
    "p_at_ks": "precision", "ap_at_ks": "ap", "err_at_ks": "err", "dcg_at_ks": "dcg", "ndcg_at_ks": "ndcg",
    "torch_precision_at_ks": "precision", "torch_ap_at_ks": "ap", "torch_ndcg_at_ks": "ndcg",
    "torch_nerr_at_ks": "nerr", "dcg_linear": "dcg", "cg": "cg",
}  # fmt: skip


def test_numbers_of_document_001(library):
    """Those whose ideal list is that of the labels, as it must be here, and that no error or k below 1 is about."""
    cases = [case for case in read("seeds.json") if case["seed"] == "001"]
    compared = set()
    for case in cases:
        labels, params = case["inputs"].get("labels", []), case["params"]
        ideal = np.array(case["inputs"].get("ideal", labels)) if "NaN" not in labels else np.array([])
        ks = params.get("ks") or range(1, params.get("max_cutoff", params.get("p", 0)) + 1)
        sortable = ideal.size and np.array_equal(np.sort(labels)[..., ::-1], np.sort(ideal)[..., ::-1])
        if case["metric"] not in FUNCTIONS or case.get("raises") or not sortable or not ks or min(ks) < 1:
            continue
        choices = {"convention": "ptranking-head" if case["impl"].startswith("ptranking HEAD") else "ptranking"}
        if FUNCTIONS[case["metric"]] in ("err", "nerr"):
            choices["max_grade"] = params.get("max_rele_level") or params.get("max_label") or ideal.max()
        if params.get("multi_level_rele") is False or "p" in params:
            choices["gain"] = "linear"
        given = library(np.array(labels, dtype=np.float32))
        found = getattr(arrays, FUNCTIONS[case["metric"]])(labels_by_rank=given, k=list(ks), **choices)
        found = np.asarray(found)[..., -1] if "p" in params else np.asarray(found)
        expected = np.array(case["expected"], dtype=float)  # reads "NaN" too
        np.testing.assert_allclose(found, expected, atol=max(case["tol"], 1e-6), err_msg=case["id"])
        compared.add(case["id"])
    assert len(compared) == 33
    assert {case.split("-")[2] for case in compared} == {*FUNCTIONS}


# -- shapes and kinds --------------------------------------------------------------------------------------------

LABELS = np.array([[3, 0, 2, 0], [0, 1, 0, 0]])
SCORED = np.array([[0.1, 0.9, 0.8, 0.3], [0.4, 0.2, 0.6, 0.1]], dtype=np.float32)


def test_by_hand(library):
    """In ranked order the labels are 0 2 0 3, and 0 0 1 0."""
    scores, labels = library(SCORED), library(LABELS)
    found = arrays.ap(scores=scores, labels=labels, k=[2, 4])
    np.testing.assert_allclose(found, [[(1 / 2) / 2, (1 / 2 + 2 / 4) / 2], [0, 1 / 3]], rtol=1e-6)
    np.testing.assert_allclose(arrays.rr(scores=scores, labels=labels), [1 / 2, 1 / 3], rtol=1e-6)
    best = 3 + 2 / math.log2(3)
    np.testing.assert_allclose(arrays.ndcg(scores=scores, labels=labels, k=3)[0], 2 / math.log2(3) / best, rtol=1e-6)


def test_shapes(library):
    scores, labels = library(SCORED), library(LABELS)
    assert arrays.ndcg(scores=scores, labels=labels).shape == (2,)
    assert arrays.ndcg(scores=scores, labels=labels, k=2).shape == (2,)
    assert arrays.ndcg(scores=scores, labels=labels, k=(2, 9, 2)).shape == (2, 3)
    assert arrays.ndcg(scores=scores[0], labels=labels[0], k=2).shape == ()
    assert arrays.ndcg(scores=scores[0], labels=labels[0], k=(2, 3)).shape == (2,)
    assert float(arrays.ndcg(scores=scores[0], labels=labels[0], k=2)) == float(
        arrays.ndcg(scores=scores, labels=labels, k=2)[0]
    )
    assert computed("err", scores=scores[:0], labels=labels[:0], k=(2, 3)).shape == (0, 2)


def test_lists_of_nothing(library):
    none = library(np.zeros((3, 0), dtype=np.float32))
    assert np.asarray(arrays.recall(scores=none, labels=none, k=5)).tolist() == [0, 0, 0]
    assert np.isnan(np.asarray(arrays.recall(scores=none, labels=none, k=5, undefined="skip"))).all()
    assert np.asarray(arrays.ap(labels_by_rank=none, k=(1, 2), convention="hivemall")).tolist() == [[1, 1]] * 3


def test_labels_by_rank_are_in_order(library):
    order = np.argsort(-SCORED, axis=1)
    by_rank = library(np.take_along_axis(LABELS, order, axis=1))
    mask = np.array([[True, False, True, True], [False, True, True, True]])
    masked = library(np.take_along_axis(mask, order, axis=1))
    for name in ("precision", "ap", "rr", "ndcg", "err", "auc", "r_precision", "bpref", "judged"):
        metric = partial(computed, name)
        np.testing.assert_allclose(
            metric(labels_by_rank=by_rank),
            metric(scores=library(SCORED), labels=library(LABELS)),
            rtol=1e-6,
            err_msg=name,
        )
        np.testing.assert_allclose(
            metric(labels_by_rank=by_rank, mask=masked),
            metric(scores=library(SCORED), labels=library(LABELS), mask=library(mask)),
            rtol=1e-6,
            err_msg=name,
        )


JUDGED = np.array([[3, 2, 2, 1, 0], [1, 1, 0, np.nan, np.nan]])  # of which the rows hold some; NaN is none


def test_a_truth_apart_by_hand(library):
    """The rows hold one of three relevant items and more."""
    by_rank, truth = library(np.array([[0.0, 3], [1, 0]])), library(np.array([[3.0, 2, 1], [1, math.nan, math.nan]]))
    given = {"labels_by_rank": by_rank, "truth": truth}
    np.testing.assert_allclose(arrays.recall(**given), [1 / 3, 1], rtol=1e-6)
    np.testing.assert_allclose(arrays.ap(**given), [(1 / 2) / 3, 1], rtol=1e-6)
    best = 3 + 2 / math.log2(3)
    np.testing.assert_allclose(arrays.ndcg(**given, k=2), [3 / math.log2(3) / best, 1], rtol=1e-6)
    np.testing.assert_allclose(arrays.recall(labels_by_rank=by_rank[0], truth=truth[0]), 1 / 3, rtol=1e-6)


@pytest.mark.parametrize("convention", ["rankstone", "hivemall", "ptranking-head", "rankereval"])
@pytest.mark.parametrize("name", [name for name in BATCHED if declared()[name].kind != "ratings" and name != "gmap"])
def test_a_truth_apart_is_that_of_one_list(name, convention):
    row = declared()[name]
    said = {"max_grade": 4} if "max_grade" in row.defaults else {}
    for k in (None, 1, 3, 9) if row.takes_k else (None,):
        given = {"convention": convention, **said, **({} if k is None else {"k": k})}
        found = getattr(arrays, name)(scores=SCORED, labels=LABELS, truth=JUDGED, **given)
        rows = zip(LABELS, SCORED, (JUDGED[0], JUDGED[1, :3]), strict=True)
        one = [rs.metrics[name](labels=y, scores=s, truth=all_, **given) for y, s, all_ in rows]
        np.testing.assert_allclose(found, one, rtol=1e-6, err_msg=str(k))


def test_a_truth_apart_that_cannot_be():
    problem = "unjudged='only_returned' reads the list alone: leave truth= out, or use unjudged='nonrelevant'"
    with pytest.raises(TypeError, match=problem):
        arrays.recall(labels_by_rank=LABELS, truth=JUDGED, unjudged="only_returned")
    with pytest.raises(ValueError, match=r"labels have shape \(2, 4\) but truth \(1, 5\)"):
        arrays.recall(labels_by_rank=LABELS, truth=JUDGED[:1])
    with pytest.raises(ValueError, match="a grade of the truth is not finite in row 0"):
        arrays.recall(labels_by_rank=LABELS, truth=np.where(JUDGED == 3, math.inf, JUDGED))


def test_lengths_are_masks(library):
    lengths, mask = np.array([3, 0]), np.array([[True, True, True, False], [False] * 4])
    given = {"scores": library(SCORED), "labels": library(LABELS), "k": 2}
    assert equal(arrays.ndcg(**given, lengths=library(lengths)), arrays.ndcg(**given, mask=library(mask)))
    by_rank = {"labels_by_rank": library(LABELS), "k": (2, 4)}
    assert equal(arrays.ap(**by_rank, lengths=library(lengths)), arrays.ap(**by_rank, mask=library(mask)))


def equal(one, other):
    return np.array_equal(np.asarray(one), np.asarray(other), equal_nan=True)


def test_what_is_masked_is_not_read():
    mask = np.array([[True, True, False], [True, True, True]])
    for name in BATCHED:
        scores, labels = np.array([[0.5, 0.25, math.nan], [0.5, 0.25, 0.75]]), np.array([[1, 0, math.nan], [1, 0, 0.0]])
        found = computed(name, scores=scores, labels=labels, mask=mask)
        scores[0, 2], labels[0, 2] = 0.1, 0
        assert equal(found, computed(name, scores=scores, labels=labels, mask=mask)), name


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_half_precision_is_computed_in_single(kind):
    torch = pytest.importorskip("torch")
    scores, labels = torch.from_numpy(SCORED).to(getattr(torch, kind)), torch.from_numpy(LABELS)
    found = arrays.ndcg(scores=scores, labels=labels.to(scores.dtype), k=3)
    assert found.dtype == torch.float32
    assert torch.equal(found, arrays.ndcg(scores=scores.float(), labels=labels, k=3))


@pytest.mark.parametrize("kind", ["int8", "int32", "int64", "uint8", "bool"])
def test_labels_and_scores_of_whole_numbers(kind, library):
    scores = np.array([[3, 1, 2, 2]])
    labels = np.array([[1, 0, 0, 1]]).astype(kind)
    found = arrays.ap(scores=library(scores), labels=library(labels), ties="input")  # ranked, the labels are 1 0 1 0
    np.testing.assert_allclose(found, [(1 / 1 + 2 / 3) / 2], rtol=1e-6)


def test_gradients_stop_here():
    torch = pytest.importorskip("torch")
    scores = torch.from_numpy(SCORED.copy()).requires_grad_()
    assert not arrays.ndcg(scores=scores, labels=torch.from_numpy(LABELS)).requires_grad


def test_in_a_compiled_function():
    jax = pytest.importorskip("jax")
    for name in BATCHED:
        metric = partial(computed, name)
        compiled = jax.jit(lambda s, y, metric=metric: metric(scores=s, labels=y, check=False))
        np.testing.assert_allclose(
            compiled(SCORED, LABELS), metric(scores=SCORED, labels=LABELS), rtol=1e-5, err_msg=name
        )


def test_an_ideal_list_of_less_than_nothing(library):
    given = {"labels_by_rank": library(np.array([[-2, -1]])), "negative": "signed"}
    best = -1 - 2 / math.log2(3)
    np.testing.assert_allclose(arrays.ndcg(**given), [(-2 - 1 / math.log2(3)) / best], rtol=1e-6)
    np.testing.assert_allclose(arrays.ndcg(**given, ideal_sign="positive"), [0])


def test_what_is_given_stays_as_it_is(library):
    scores, labels = library(SCORED.copy()), library(LABELS.astype(np.float32))
    for name in BATCHED:
        computed(name, scores=scores, labels=labels)
    assert equal(scores, SCORED)
    assert equal(labels, LABELS)


# -- what is not done --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", BATCHED)
def test_nothing_is_copied_to_the_host(metric, monkeypatch):
    torch = pytest.importorskip("torch")
    scores, labels = torch.from_numpy(SCORED), torch.from_numpy(LABELS)
    expected = computed(metric, scores=scores, labels=labels)
    monkeypatch.setattr(array_libraries, "in_host_memory", lambda array: False)

    def no(*_, **__):
        pytest.fail("an array leaves its device")

    for way in (
        "cpu",
        "numpy",
        "tolist",
        "item",
        "__array__",
        "__dlpack__",
        "__bool__",
        "__int__",
        "__float__",
        "__iter__",
    ):
        monkeypatch.setattr(torch.Tensor, way, no)
    found = computed(metric, scores=scores, labels=labels, check=False)
    monkeypatch.undo()
    torch.testing.assert_close(found, expected, equal_nan=True)


def every_choice(row):
    """One choice at a time, of all that a metric takes: each of its words, and a few of the numbers."""
    yield {}
    for name in row.defaults:
        yield from ({name: word} for word in row.words(name) or PARAMETERS[name])
        yield from ({name: word, "ties": "expected"} for word in row.words(name))
    for name, words in CHOICES.items():
        if takes(rs.authoring.Metric(row.name), name):
            yield from ({name: word} for word in words)
    yield from ({"query_digits": digits} for digits in (None, 4))


@pytest.mark.slow
@pytest.mark.parametrize("metric", BATCHED)
def test_no_value_is_asked_for(metric):
    """Tensors on torch's "meta" device have none: what asks for a value, or for a shape that depends on one, fails."""
    torch = pytest.importorskip("torch")
    row, measured, refused = declared()[metric], 0, set()

    def empty(*shape, kind="float32"):
        return torch.empty(shape, dtype=getattr(torch, kind), device="meta")

    scored = {"scores": empty(4, 9), "labels": empty(4, 9, kind="int64")}
    by_rank = {"labels_by_rank": empty(4, 9)}
    shapes = [
        scored,
        {**scored, "mask": empty(4, 9, kind="bool")},
        {**scored, "lengths": empty(4, kind="int64")},
        {"scores": empty(9, kind="float64"), "labels": empty(9, kind="bool")},
        {"scores": empty(4, 9, kind="int64"), "labels": empty(4, 9, kind="bfloat16"), "truth": empty(4, 5)},
        {"scores": empty(4, 0), "labels": empty(4, 0)},
    ]
    if row.kind != "ratings":
        shapes += [by_rank, {**by_rank, "mask": empty(4, 9, kind="bool")}]
    for n, choices in enumerate(every_choice(row)):
        # The plain shape and one of the others in turn.
        for given in (shapes[0], shapes[1 + n % (len(shapes) - 1)]):
            if "truth" in given and (row.kind == "ratings" or choices.get("unjudged") == "only_returned"):
                continue
            try:
                found = computed(metric, **given, **choices, k=[1, 20, 5] if row.takes_k else None, check=False)
            except (rs.errors.NoClosedFormError, ValueError) as error:
                refused.add(str(error))
                continue
            assert found.device.type == "meta"
            measured += 1
    assert measured > 30
    assert all(re.search("no closed form|asks which items are relevant", problem) for problem in refused)


@pytest.mark.parametrize(("ties", "reads"), [("input", 1), ("expected", 2), ("group_end", 2)])
def test_a_check_reads_one_number_and_ties_another(ties, reads, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(array_libraries, "in_host_memory", lambda array: False)
    read, ask = [], torch.Tensor.__bool__
    monkeypatch.setattr(torch.Tensor, "__bool__", lambda tensor: read.append(tensor) or ask(tensor))
    scores, labels = torch.from_numpy(SCORED), torch.from_numpy(LABELS)
    arrays.ndcg(scores=scores, labels=labels, k=[1, 3], ties=ties, gain={0: 0, 1: 1, 2: 3, 3: 7})
    assert len(read) == reads


def test_in_the_hosts_memory_nothing_is_copied_either(monkeypatch):
    torch = pytest.importorskip("torch")
    scores, lent = torch.from_numpy(SCORED), []
    lend = array_libraries.lent
    monkeypatch.setattr(array_libraries, "lent", lambda xp, one: lent.append(lend(xp, one)) or lent[-1])
    arrays.ndcg(scores=scores, labels=torch.from_numpy(LABELS), k=3)
    assert np.shares_memory(lent[1], SCORED)
    assert np.shares_memory(lent[0], LABELS)


@pytest.mark.parametrize("metric", BATCHED)
def test_no_loop_over_rows(metric):
    def calls(count):
        numbers = np.random.default_rng(0)
        scores, labels = numbers.random((count, 6)), numbers.integers(0, 2, (count, 6))
        found = 0

        def count_one(frame, event, argument):
            nonlocal found
            found += event in ("call", "c_call")

        sys.setprofile(count_one)
        try:
            computed(metric, scores=scores, labels=labels)
        finally:
            sys.setprofile(None)
        return found

    calls(3)
    assert calls(3000) < 2 * calls(3)


@pytest.mark.parametrize("metric", ["rr", "hit_rate", "num_rel", "num_ret", "mae"])
def test_nothing_is_sorted_that_need_not_be(metric, monkeypatch):
    expected = getattr(arrays, metric)(scores=SCORED, labels=LABELS)
    monkeypatch.setattr(array_libraries, "largest", lambda *_: pytest.fail("sorted"))
    assert equal(getattr(arrays, metric)(scores=SCORED, labels=LABELS), expected)


# -- errors ------------------------------------------------------------------------------------------------------


def test_what_is_wrong_is_named_or_nan(library):
    scores = SCORED.copy()
    scores[1, 2] = math.nan
    with pytest.raises(ValueError, match="ndcg@3: a score is NaN in row 1"):
        arrays.ndcg(scores=library(scores), labels=library(LABELS), k=3)
    found = np.asarray(arrays.ndcg(scores=library(scores), labels=library(LABELS), k=3, check=False))
    assert np.isnan(found).tolist() == [False, True]
    labels = LABELS.astype(np.float32)
    labels[1, 0] = math.inf
    with pytest.raises(ValueError, match="a label is not finite in row 1"):
        arrays.recall(scores=library(SCORED), labels=library(labels))


@pytest.mark.parametrize(
    ("metric", "choices", "message"),
    [
        ("ndcg", {"negative": "error"}, "grade -1 is negative.* in row 1"),
        ("ndcg", {"gain": {0: 0, 1: 1}}, "no entry for grade 3 in row 0"),
        ("ndcg", {"gain": "exp1e9"}, "choose from 'linear'"),
        ("err", {"max_grade": 2}, "above max_grade=2 in row 0"),
        ("err", {"stop_chance": "grade"}, "not a probability.* in row 0"),
        ("auc", {"catalogue": 3}, "cannot hold the items in row 0"),
        ("recall", {"threshold": 9, "undefined": "error"}, "the value is undefined: its denominator is 0 in row 0"),
        ("recall", {"averaging": "micro"}, "averaging= is about the mean"),
        ("recall", {"recall_digits": 3}, "recall_digits= is about the mean"),
        ("recall", {"k": []}, "empty sequence"),
        ("recall", {"k": 0}, "k must be a whole number from 1"),
        ("recall", {"gian": 1}, "unknown choice 'gian'"),
        ("r_precision", {"k": 3}, "no place for a cutoff"),
        ("rbp", {"p": 1.5}, "between 0 and 1"),
        ("err", {"ties": "expected"}, "no closed form"),
        ("err", {}, "set max_grade=.*a batch is some of the rows"),
        ("auc", {"ties": "expected", "k": 3}, "no closed form"),
        ("recall", {"mask": np.ones((2, 3), dtype=bool)}, "but mask"),
        ("recall", {"lengths": np.array([4, 5])}, "lengths must lie between 0 and 4.* in row 1"),
    ],
)
def test_errors(metric, choices, message):
    scores, labels = SCORED.round(), np.array([[3, 0, 2, 0], [0, 1, -1, 0]])  # with ties
    with pytest.raises(ValueError, match=message):
        getattr(arrays, metric)(scores=scores, labels=labels, **choices)


def test_without_ties_there_is_one_order():
    ks = [1, 3]
    assert equal(
        arrays.auc(scores=SCORED, labels=LABELS, k=ks, ties="expected"),
        arrays.auc(scores=SCORED, labels=LABELS, k=ks, ties="input"),
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scores": SCORED}, "give scores and labels, or labels_by_rank"),
        ({"scores": SCORED, "labels": LABELS, "labels_by_rank": LABELS}, "give scores and labels, or labels_by_rank"),
        ({"labels_by_rank": LABELS, "mask": LABELS}, "it must hold bool"),
        ({"labels_by_rank": LABELS, "mask": LABELS > 0, "lengths": LABELS[0]}, "not both"),
        ({"labels_by_rank": LABELS, "k": 1.5}, "k must be a whole number"),
        ({"labels_by_rank": [1, 0]}, "array"),
    ],
)
def test_arguments_that_do_not_go_together(given, message):
    with pytest.raises(TypeError, match=message):
        arrays.recall(**given)


def test_arrays_are_of_one_library():
    with pytest.raises(TypeError, match=r"one library .*; here are labels a builtins\.list, scores a numpy"):
        rs.arrays.ndcg(scores=SCORED, labels=LABELS.tolist())
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match=r"here are labels a numpy\.ndarray, scores a torch\.Tensor"):
        rs.arrays.ndcg(scores=torch.from_numpy(SCORED), labels=LABELS)
    both = rs.evaluate(LABELS, SCORED, "ndcg")["ndcg"]  # which takes them as they come
    assert rs.evaluate(LABELS, torch.from_numpy(SCORED), "ndcg")["ndcg"] == both
    assert rs.evaluate(torch.from_numpy(LABELS), SCORED, "ndcg")["ndcg"] == both


def test_predictions_need_scores():
    with pytest.raises(TypeError, match="needs scores"):
        arrays.mae(labels_by_rank=LABELS)


def test_torch_compile_calls_metrics_as_they_are(monkeypatch):
    """torch's decorator is put on the entry, once, as soon as torch is loaded."""
    disabled = []

    def disable(function):
        disabled.append(function)
        return lambda *args, **kwargs: function(*args, **kwargs)

    entry = rs.arrays.BatchMetric.__call__
    torch = SimpleNamespace(compiler=SimpleNamespace(disable=disable), Tensor=type("Tensor", (), {}))
    monkeypatch.setattr(rs.arrays.BatchMetric, "__call__", getattr(entry, "__wrapped__", entry))
    monkeypatch.setitem(sys.modules, "torch", torch)
    for _ in range(2):
        assert rs.arrays.rr(labels_by_rank=np.array([[0, 1]])).tolist() == [1 / 2]
    assert len(disabled) == 1


def test_inside_torch_compile():
    """What stands around the metric is compiled; the metric has its own values and errors."""
    torch = pytest.importorskip("torch")
    scores, labels = torch.from_numpy(SCORED), torch.from_numpy(LABELS)

    def step(scores, labels):
        return 2 * arrays.ndcg(scores=scores + 1, labels=labels, k=3).mean()

    compiled = torch.compile(step, backend="eager")
    assert compiled(scores, labels).item() == 2 * arrays.ndcg(scores=scores, labels=labels, k=3).mean().item()
    with pytest.raises(ValueError, match="NaN"):
        compiled(scores * math.nan, labels)


def test_torch_vmap_is_refused():
    torch = pytest.importorskip("torch")
    one = partial(arrays.ndcg, k=3)
    with pytest.raises(TypeError, match="call the metric with all rows"):
        torch.vmap(lambda scores, labels: one(scores=scores, labels=labels))(
            torch.from_numpy(SCORED), torch.from_numpy(LABELS)
        )


def test_labels_that_are_padding():
    """As in evaluate: an error that names the mask, with which the two others remain."""
    scores, labels = np.array([[0.2, 0.9, 0.95]]), np.array([[1, 0, -100]])
    for kind in (np.int64, np.float32):
        with pytest.raises(
            ValueError, match=r"labels of -100 are padding, not grades \(pass mask=labels != -100\), in row 0"
        ):
            rs.arrays.ndcg(scores=scores, labels=labels.astype(kind))
        masked = rs.arrays.ndcg(scores=scores, labels=labels.astype(kind), mask=labels != -100)
        assert masked == pytest.approx([1 / np.log2(3)])
    assert np.isnan(rs.arrays.ndcg(scores=scores, labels=labels, check=False)).all()
    assert rs.arrays.rr(scores=scores, labels=labels.astype(np.uint8) % 2 == 1) == pytest.approx([1 / 3])


def test_masked_arrays_are_refused():
    scores = np.ma.masked_array([[0.5, 0.9, 0.1]], mask=[[False, True, False]])
    with pytest.raises(TypeError, match="a masked array hides values"):
        rs.arrays.rr(scores=scores, labels=np.array([[1, 0, 0]]))


def test_a_threshold_of_ratings_and_labels_of_0_and_1():
    """As in evaluate: none of them is above 3."""
    scores, labels = np.array([[2.0, 1.0]]), np.array([[1, 0]])
    with pytest.raises(ValueError, match="grades of 0 and 1 only, and threshold='>3' would leave none of them"):
        rs.arrays.hit_rate(scores=scores, labels=labels, k=1, convention="recsys-blog")
    assert rs.arrays.hit_rate(scores=scores, labels=labels, k=1, convention="recsys-blog", threshold=1) == 1
    assert rs.arrays.hit_rate(scores=scores, labels=5 * labels, k=1, convention="recsys-blog") == 1
    assert rs.arrays.hit_rate(scores=scores, labels=0 * labels, k=1, convention="recsys-blog") == 0
