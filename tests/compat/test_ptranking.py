"""PT-Ranking's first functions, beside their own code on torch tensors."""

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankstone.compat import ptranking

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


def test_each_value_stays_at_its_k():
    """Where a k beyond the list comes before one that is not, the original moves values forward."""
    assert ptranking.tor_p_at_ks([1, 0, 1], [5, 1, 3]) == [0, 1 / 1, 2 / 3]


def test_binary_labels_are_not_for_err():
    with pytest.raises(NotImplementedError, match="multi-level labels only"):
        ptranking.tor_err_at_ks([1, 0], [1], multi_level_rele=False)


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
