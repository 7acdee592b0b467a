"""Rows with features, labels and queries, to train on."""

from typing import NamedTuple

import numpy as np
import pytest


class Part(NamedTuple):
    """Some queries."""

    rows: np.ndarray
    labels: np.ndarray
    sizes: np.ndarray

    @property
    def queries(self):
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def relevant_from(self, grade):
        return self._replace(labels=(self.labels >= grade).astype(float))

    def all_with_relevant(self):
        labels = self.labels.copy()
        labels[np.cumsum(self.sizes) - 1] = np.maximum(labels[np.cumsum(self.sizes) - 1], 1)
        return self._replace(labels=labels)


class Data(NamedTuple):
    train: Part
    valid: Part

    def relevant_from(self, grade):
        return Data(self.train.relevant_from(grade), self.valid.relevant_from(grade))

    def all_with_relevant(self):
        return Data(self.train.all_with_relevant(), self.valid.all_with_relevant())


def split(rows, labels, sizes):
    half = len(sizes) * 3 // 5
    at = int(sizes[:half].sum())
    return Data(Part(rows[:at], labels[:at], sizes[:half]), Part(rows[at:], labels[at:], sizes[half:]))


@pytest.fixture(params=["real", "made up"])
def data(request, shared):
    """LightGBM's own ranking set; and one with tied scores, short lists and queries where nothing is relevant."""
    if request.param == "real":
        path = shared("data/lightgbm/rank.test")
        rows, labels = pytest.importorskip("sklearn.datasets").load_svmlight_file(str(path))
        return split(rows.toarray(), labels, np.loadtxt(f"{path}.query", dtype=int))
    random = np.random.default_rng(11)
    sizes = random.integers(1, 25, 70)
    rows = random.integers(0, 3, (sizes.sum(), 4)).astype(float)  # few different rows, so that scores are tied
    labels = np.clip(np.rint(rows[:, 0] + random.normal(0, 1.2, len(rows))), 0, 4)
    labels[np.repeat(random.random(70) < 0.2, sizes)] = 0
    return split(rows, labels, sizes)
