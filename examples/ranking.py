"""Rows with features, labels and queries, for the training examples: read from a LETOR file, or made up."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Part(NamedTuple):
    """The rows of some queries, each query's rows together."""

    rows: np.ndarray
    labels: np.ndarray
    sizes: np.ndarray  # how many rows each query has

    @property
    def queries(self) -> np.ndarray:
        """The query of each row."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)


def load() -> tuple[Part, Part]:
    """A training part and a validation part: of the file that the command line names, or made up.

    The file has lines such as `2 1:0.7 5:0.1`, a label and features, with `qid:7` after the label; or without it, if
    there is a file of the same name with .query after it, that has the number of rows of each query.
    """
    whole = read(Path(sys.argv[1])) if len(sys.argv) > 1 else made_up()
    half = len(whole.sizes) * 3 // 5
    at = int(whole.sizes[:half].sum())
    return (
        Part(whole.rows[:at], whole.labels[:at], whole.sizes[:half]),
        Part(whole.rows[at:], whole.labels[at:], whole.sizes[half:]),
    )


def read(path: Path) -> Part:
    labels, features, queries = [], [], []
    for line in path.read_text(encoding="utf-8").splitlines():
        label, *pairs = line.partition("#")[0].split()
        named = dict(pair.split(":") for pair in pairs)
        queries.append(named.pop("qid", ""))
        labels.append(float(label))
        features.append({int(name): float(value) for name, value in named.items()})
    rows = np.zeros((len(labels), 1 + max(max(one, default=0) for one in features)))
    for row, one in zip(rows, features, strict=True):
        row[list(one)] = list(one.values())
    groups_file = path.with_name(path.name + ".query")
    if groups_file.exists():
        sizes = np.loadtxt(groups_file, dtype=int)
    else:
        changes = [at for at in range(1, len(queries)) if queries[at] != queries[at - 1]]
        sizes = np.diff([0, *changes, len(queries)])
    return Part(rows, np.array(labels), sizes)


def made_up(queries: int = 150) -> Part:
    """Labels from 0 to 4 that depend on a few of the features."""
    random = np.random.default_rng(0)
    sizes = random.integers(8, 25, queries)
    rows = random.normal(size=(sizes.sum(), 12))
    worth = rows[:, 0] + 0.5 * rows[:, 1] * rows[:, 2] + random.normal(size=len(rows))
    return Part(rows, np.clip(np.rint(worth + 1), 0, 4), sizes)


if __name__ == "__main__":
    for name, part in zip(("training", "validation"), load(), strict=True):
        print(f"{name}: {len(part.sizes)} queries, {len(part.rows)} rows, {part.rows.shape[1]} features")
