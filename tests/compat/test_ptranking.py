"""PT-Ranking's first functions, beside their own code on torch tensors."""

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankstone as rs
from rankstone.compat import ptranking

from ..effort import cpu_limit
from .documents import document, functions


@pytest.mark.parametrize(
    ("function", "more"),
    [
        (ptranking.tor_p_at_ks, ([1, 3, 5],)),
        (ptranking.tor_ap_at_ks, ([1, 3, 5],)),
        (ptranking.tor_err_at_ks, ([1, 3, 5], True, 3)),
        (ptranking.tor_discounted_cumu_gain_at_ks, (3,)),
        (ptranking.tor_discounted_cumu_gain_at_ks, (0,)),
    ],
)
def test_an_array_gives_an_array(function, more):
    labels = [3, 0, 1]
    found, expected = function(np.array(labels), *more), function(labels, *more)
    assert isinstance(found, np.ndarray)
    assert found.tolist() == expected


def test_gains_of_an_array():
    gains = ptranking.rele_gain(np.array([[0, 1], [2, 3]]), gain_base=3.0)
    assert gains.tolist() == [[3**0 - 1, 3**1 - 1], [3**2 - 1, 3**3 - 1]]
    assert isinstance(ptranking.rele_gain(2), float)


class Tensor:
    """An array of another library: NumPy's numbers behind the interface of the array API standard."""

    def __init__(self, values):
        self.values = np.asarray(values)
        self.dtype, self.shape = self.values.dtype, self.values.shape

    def __array_namespace__(self, api_version=None):
        return Library

    def __sub__(self, other):
        return Tensor(self.values - other)


class Library:
    isdtype = staticmethod(np.isdtype)

    @staticmethod
    def __array_namespace_info__():
        return np.__array_namespace_info__()

    @staticmethod
    def astype(array, dtype):
        return Tensor(array.values.astype(dtype))

    @staticmethod
    def full_like(array, value):
        return Tensor(np.full_like(array.values, value))

    @staticmethod
    def pow(base, exponent):
        return Tensor(base.values**exponent.values)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_gains_keep_library_and_type(dtype):
    labels = np.array([0, 1, 3], dtype=dtype)
    for form in (np.asarray, Tensor):
        gains = ptranking.rele_gain(form(labels))
        assert type(gains) is type(form(labels))
        assert gains.dtype == ("float64" if dtype == "int64" else dtype)
        assert getattr(gains, "values", gains).tolist() == [2**0 - 1, 2**1 - 1, 2**3 - 1]


def test_linear_gain_of_permutation_labels():
    """LABEL_TYPE.Permutation: labels are n - position, and the gain is the label."""
    labels = [5, 2, 4, 1, 3]
    discount = np.log2(3)
    dcg, ideal = (ptranking.tor_discounted_cumu_gain_at_ks(one, 2, False) for one in (labels, sorted(labels)[::-1]))
    assert (dcg[1], ideal[1]) == (pytest.approx(5 + 2 / discount), pytest.approx(5 + 4 / discount))
    for convention in ("ptranking", "ptranking-head"):
        value = rs.ndcg(labels=labels, k=2, gain="linear", convention=convention)
        assert value == pytest.approx(dcg[1] / ideal[1])  # 0.8323
        exponential = (31 + 3 / discount) / (31 + 15 / discount)  # 0.8129, the gain of multi-level labels
        assert rs.ndcg(labels=labels, k=2, convention=convention) == pytest.approx(exponential)


def test_each_value_stays_at_its_k():
    """Where a k beyond the list comes before one that is not, the original moves values forward."""
    assert ptranking.tor_p_at_ks([1, 0, 1], [5, 1, 3]) == [0, 1 / 1, 2 / 3]


def test_binary_labels_are_not_for_err():
    with pytest.raises(NotImplementedError, match="multi-level labels only"):
        ptranking.tor_err_at_ks([1, 0], [1], multi_level_rele=False)


@pytest.mark.parametrize(
    ("labels", "more", "problem"),
    [
        ([1, 0], ([0, 1],), r"ks are \[0, 1\]; a list is cut at ranks, whole numbers from 1"),
        ([1, 0], ([1.5],), "whole numbers from 1"),
        ([1, 0], ([3, 4],), r"holds 2 labels, fewer than each k of \[3, 4\]"),
        ([[1, 0], [0, 1]], ([1],), r"shape \(2, 2\); give those of one list, or use rs.arrays.err"),
        ([3, 0], ([1],), "grade 3 is above max_grade=2"),
        ([-1, 1], ([2],), "label -1 is negative"),
        ([1, float("nan")], ([2],), "label nan is no number"),
    ],
)
def test_what_has_no_value_is_refused(labels, more, problem):
    with pytest.raises(ValueError, match=problem):
        ptranking.tor_err_at_ks(labels, *more, max_rele_level=2)


@pytest.mark.parametrize("base", [2, 1.0, 0.5])
def test_gains_of_any_base(base, original):
    """A base of 1 makes every label worth nothing, one below 1 makes gains negative: so the original has it."""
    levels = np.array([0.0, 1.0, 2.0, -1.0])
    assert ptranking.rele_gain(levels, base).tolist() == original["rele_gain"](levels, base).tolist()


def test_relevant_is_above_zero_and_nan_is_not(original):
    import torch

    labels = torch.tensor([float("nan"), 1.0, float("inf"), -1.0])
    for name in ("tor_p_at_ks", "tor_ap_at_ks"):
        assert getattr(ptranking, name)(labels, [1, 4]).tolist() == original[name](labels, [1, 4]).tolist()


@pytest.mark.parametrize(
    ("name", "more"), [("tor_discounted_cumu_gain_at_ks", (3,)), ("tor_err_at_ks", ([1, 3], True, 4))]
)
def test_gradients(name, more, original):
    import torch

    found = []
    for function in (getattr(ptranking, name), original[name]):
        labels = torch.tensor([3.0, 0.0, 2.0], requires_grad=True)
        function(labels, *more).sum().backward()
        found.append(labels.grad.numpy())
    np.testing.assert_allclose(*found, rtol=1e-6)


def test_time():
    """The original's code checks nothing; ours may take a few times as long, not hundreds of times."""
    torch = pytest.importorskip("torch")
    labels = torch.arange(1000.0) % 5
    calls = [("tor_p_at_ks", ([1, 5, 10],)), ("tor_err_at_ks", ([1, 5, 10], True, 4)),
             ("tor_discounted_cumu_gain_at_ks", (1000,))]  # fmt: skip
    with cpu_limit(30):
        for name, more in calls:
            for _ in range(500):
                getattr(ptranking, name)(labels, *more)


@pytest.fixture(scope="module")
def original(shared):
    torch = pytest.importorskip("torch")
    return functions(document(shared, "001"), torch=torch, np=np)


@pytest.mark.parametrize("name", ptranking.__all__)
def test_signatures(name, original):
    ours, theirs = (
        [(one.name, one.default) for one in inspect.signature(function).parameters.values()]
        for function in (getattr(ptranking, name), original[name])
    )
    assert ours == theirs


labels = st.lists(st.integers(0, 4), min_size=1, max_size=12)


@given(labels=labels, dtype=st.sampled_from(["float32", "float64"]), ks=st.sets(st.integers(1, 15), min_size=1))
def test_the_originals_own_code(original, labels, dtype, ks):
    import torch

    given_labels, ks = torch.tensor(labels, dtype=getattr(torch, dtype)), sorted(ks)
    if ks[0] > len(labels):
        return
    calls = [("tor_p_at_ks", (ks,)), ("tor_ap_at_ks", (ks,)), ("tor_err_at_ks", (ks, True, 4)),
             ("tor_discounted_cumu_gain_at_ks", (len(labels),)),
             ("tor_discounted_cumu_gain_at_ks", (len(labels), False))]  # fmt: skip
    for name, more in calls:
        found, expected = getattr(ptranking, name)(given_labels, *more), original[name](given_labels, *more)
        assert isinstance(found, torch.Tensor)
        assert found.dtype == given_labels.dtype
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6, atol=1e-6)


def test_whole_numbers_have_the_default_type():
    torch = pytest.importorskip("torch")
    found = ptranking.tor_ap_at_ks(torch.tensor([1, 0, 1]), [1, 3])
    assert found.dtype == torch.get_default_dtype()
