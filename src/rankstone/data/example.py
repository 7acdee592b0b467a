"""A small data set for trying things: 60 simulated users of a film service, and three recommenders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from rankstone.data.side_info import Catalogue, catalogue


class Example(NamedTuple):
    """The data of `rs.example()`.

    Attributes
    ----------
    truth : dict
        `{user: {film: grade}}`: held-out films that the user watched, with grades 1 to 3.
    runs : dict
        `{name: {user: {film: score}}}`: 20 films for each user, by "popular", "neighbours" and "hybrid".
    groups : dict
        `{user: "new" or "regular"}`.
    catalogue : Catalogue
        All 240 films, with their popularity and genres.
    """

    truth: dict[str, dict[str, int]]
    runs: dict[str, dict[str, dict[str, float]]]
    groups: dict[str, str]
    catalogue: Catalogue


def example() -> Example:
    """A small data set for trying things: 60 simulated users of a film service, and three recommenders.

    Returns
    -------
    Example
        With the fields truth, runs, groups and catalogue.

    Examples
    --------
    >>> truth, runs, groups, films = rs.example()
    >>> round(rs.evaluate(truth, runs["hybrid"], "ndcg@10")["ndcg@10"], 4)
    0.3509
    """
    data = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    films = catalogue(list(data["popularity"]), popularity=data["popularity"], category=data["genres"])
    return Example(data["truth"], data["runs"], data["groups"], films)
