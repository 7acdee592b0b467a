"""Fairness of exposure: for groups of items, such as providers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import log
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from rankstone.align.alignment import Floats, Ints
from rankstone.align.recommendations import Cutoff, Recommendations, lists_of
from rankstone.data.columns import grades_of
from rankstone.errors import InputError, MissingInputError
from rankstone.metrics.beyond_accuracy import (
    ABOVE_ZERO,
    GEOMETRIC,
    Exposure,
    Patience,
    exposures,
    jensen_shannon,
    per_list,
    relative,
    shares_by_list,
)
from rankstone.metrics.registry import Parameter
from rankstone.program.ranking import Ratio

Group = Annotated[
    Any, Parameter("group of items; None: all groups", {None: "all groups", ...: "group {}"}, hidden=(None,))
]
Per = Annotated[
    Literal["item", "none", "relevance"],
    Parameter(
        "normalisation of a group's exposure",
        {"item": "per item of the group", "none": "total of the group", "relevance": "per unit of relevance"},
        text={"item": " per item of the group", "none": "", "relevance": " per unit of its relevance"},
    ),
]
ExposureScale = Annotated[
    Literal["none", "sum", "percent"],
    Parameter(
        "sum of the exposure of all ranks with geometric exposure: 1 / (1 - patience), 1 or 100",
        {"sum": "times 1 - patience", "percent": "times 100 (1 - patience)"},
        hidden=("none",),
        applies_when=GEOMETRIC,
    ),
]
_SHARE = "target share of each group: its share of the catalogue, equal shares, "
_TARGETS = {"catalogue": "target: share of the catalogue", "equal": "target: equal shares"}
_IDEAL = {"ideal": "target: mean exposure over all ideal rankings"}
ListTarget = Annotated[
    Literal["catalogue", "equal"] | Mapping[str, float], Parameter(_SHARE + "or {group: share}", _TARGETS)
]
Target = Annotated[
    Literal["catalogue", "equal", "ideal"] | Mapping[str, float],
    Parameter(_SHARE + "its share in the ideal rankings, or {group: share}", {**_TARGETS, **_IDEAL}),
]
TargetLength = Annotated[
    int | None, Parameter("number of ranks of the target; None: the length of the list", hidden=(None,), above=0)
]
_RELEVANT = {"relevant": "exposure of relevant items only"}
Counted = Annotated[
    Literal["shown", "relevant"], Parameter("items whose exposure is counted", _RELEVANT, hidden=("shown",))
]
ExposureOf = Annotated[
    Literal["shown", "relevant", "ideal"],
    Parameter(
        "items whose exposure is counted",
        {**_RELEVANT, "ideal": "mean exposure over the ideal rankings of the same items"},
        hidden=("shown",),
    ),
]
Smoothing = Annotated[
    float, Parameter("smoothing: added to each share", {...: "smoothing {:g}"}, hidden=(0,), at_least=0)
]
GroupBy = Annotated[
    Literal["group", "popularity"],
    Parameter(
        "grouping of the items",
        {"popularity": "two groups: popular items, with 80 % of the interactions, and the others"},
        hidden=("group",),
    ),
]

# One value per list, which depends on the other lists.
among_lists = partial(
    per_list,
    all_queries=lambda _: "sums the exposure of each group over all lists; choose metrics with one value per list",
)
over_groups = partial(among_lists, choices={"averaging": "micro", "undefined": "skip"})  # one value of all lists
of_chances = partial(over_groups, bounds=ABOVE_ZERO, better="lower")


class GroupExposure(NamedTuple):
    """The exposure of each group, per row."""

    lists: Recommendations
    row: Ints
    group: Ints  # number of the group
    amount: Floats
    names: tuple[Any, ...]
    size: Floats  # number of items per group

    @classmethod
    def of(cls, lists: Recommendations, each: Floats) -> GroupExposure:
        """From the exposure of each row."""
        labels = lists.labels("group")
        size: Floats = np.bincount(labels.codes, labels.weights, minlength=len(labels.names)).astype(np.float64)
        row, mine = labels.by_row(lists.item)
        return cls(lists, row, mine.codes, each[row] * mine.weights, labels.names, size)

    def total(self) -> Floats:
        """The exposure of each group over all lists."""
        return np.bincount(self.group, self.amount, minlength=len(self.names)).astype(np.float64)

    def per_list(self, factor: Floats) -> Floats:
        """The exposure per list, summed over groups with a factor per group."""
        return self.lists.sum(np.bincount(self.row, self.amount * factor[self.group], minlength=len(self.lists.item)))

    def shares(self, per: str) -> tuple[Floats, Floats]:
        """The normalised exposure of each group over all lists, and its denominator."""
        over = self.size if per == "item" else np.ones(len(self.names))
        if per == "relevance":
            grades = self.lists.grade_or_zero[self.row]
            over = np.bincount(self.group, grades, minlength=len(self.names)).astype(np.float64)
        over = np.where(over > 0, over, np.inf)
        return self.total() / over, over

    def target(self, target: ListTarget) -> Floats:
        """The target share of each group."""
        if target == "equal":
            return np.full(len(self.names), 1.0 / len(self.names))
        if target == "catalogue":
            return self.size / self.size.sum()
        by_name = dict(target)
        lost = [name for name in by_name if name not in self.names and by_name[name]]
        if lost:
            raise InputError(f"target names {lost[0]!r}; the groups are {', '.join(map(repr, self.names[:10]))}")
        shares = np.array([float(by_name.get(name, 0.0)) for name in self.names])
        if abs(shares.sum() - 1.0) > 1e-6:
            raise InputError(f"the shares of target add up to {shares.sum():g}, not to 1")
        return shares


def scaled(lists: Recommendations, exposure: str, patience: float, scale: str) -> Floats:
    """The exposure of each row, in the unit of `scale`."""
    if scale != "none" and exposure != "geometric":
        raise InputError(f"exposure_scale={scale!r} requires exposure='geometric', not {exposure!r}")
    unit = {"none": 1.0, "sum": 1.0 - patience, "percent": 100.0 * (1.0 - patience)}[scale]
    return unit * exposures(lists.rank, exposure, patience)


def at(count: int, place: np.intp, value: float) -> Floats:
    """An array of zeros with one value."""
    out = np.zeros(count)
    out[place] = value
    return out


@per_list(
    "exposure",
    grades=lambda parameters: parameters["of"] != "shown" or parameters["per"] == "relevance",
    formula="exposure of the recommended items of the group<per>",
    latex=r"\frac{1}{|g|} \sum_{r : i_r \in g} e(r)",
    use_when="Exposure of one group: exposure(group='women')@10.",
    caveat="Only meaningful in comparison with other groups, or with the group's share of the catalogue.",
    bounds=ABOVE_ZERO,
    better="neither",
)
def exposure(
    lists: Recommendations,
    *,
    k: Cutoff = None,
    group: Group = None,
    per: Per = "item",
    exposure: Exposure = "log2",
    patience: Patience = 0.5,
    exposure_scale: ExposureScale = "none",
    of: ExposureOf = "shown",
) -> Ratio:
    """Exposure of a group of items in a list, per item of the group.

    Singh and Joachims, 2018, doi:10.1145/3219819.3220088.

    >>> films = rs.catalogue(["a", "b"], group=["x", "y"])
    >>> rs.evaluate(run={"u1": ["a", "b"]}, metrics="exposure(group='x')@2", catalogue=films)["exposure(group='x')@2"]
    1.0
    """
    each = scaled(lists, exposure, patience, exposure_scale)
    if of == "relevant":
        each = each * lists.credit
    elif of == "ideal":
        each = _ideal_exposure(lists, each)
    groups = GroupExposure.of(lists, each)
    if group is not None and group not in groups.names:
        names = ", ".join(map(repr, groups.names[:10]))
        raise InputError(f"there is no group {group!r}; write exposure(group=...)@10, with one of {names}")
    mine = np.array([group in (None, name) for name in groups.names], dtype=np.float64)
    if per == "relevance":
        over = GroupExposure.of(lists, lists.grade_or_zero).per_list(mine)
    else:
        over = lists.per_query(float(groups.size @ mine) if per == "item" else 1.0)
    return Ratio(groups.per_list(mine), over)


@over_groups(
    "exposure_ratio",
    aliases=("disparate_exposure",),
    grades=lambda parameters: parameters["per"] == "relevance",
    formula="exposure<per> of the least exposed group / exposure<per> of the most exposed group",
    latex=r"\frac{\min_g E_g}{\max_g E_g}",
    use_when="Parity of exposure over all groups: 1 if all groups have the same exposure per item.",
    caveat="It ignores relevance unless per='relevance'. A group that is never recommended makes it 0.",
)
def exposure_ratio(
    lists: Recommendations,
    *,
    k: Cutoff = None,
    per: Per = "item",
    exposure: Exposure = "log2",
    patience: Patience = 0.5,
) -> Ratio:
    """Exposure of the least exposed group, divided by that of the most exposed group.

    >>> films = rs.catalogue(["a", "b"], group=["x", "y"])
    >>> result = rs.evaluate(run={"u1": ["a", "b"], "u2": ["b", "a"]}, metrics="exposure_ratio@2", catalogue=films)
    >>> result["exposure_ratio@2"]
    1.0
    """
    groups = GroupExposure.of(lists, exposures(lists.rank, exposure, patience))
    share, over = groups.shares(per)
    low = at(len(share), np.argmin(share), 1.0)
    # Each list has an equal part of the highest exposure, so that lists without that group count too.
    return Ratio(groups.per_list(low / over), lists.per_query(share.max(initial=0.0) / len(lists)))


@among_lists(
    "exposure_difference",
    grades=lambda parameters: parameters["per"] == "relevance",
    formula="exposure<per> of the most exposed group - exposure<per> of the least exposed group",
    latex=r"\max_g E_g - \min_g E_g",
    use_when="As exposure_ratio, as a difference; 0 is parity.",
    caveat="Its scale depends on k and on the exposure of the ranks.",
    bounds=ABOVE_ZERO,
    better="lower",
)
def exposure_difference(
    lists: Recommendations,
    *,
    k: Cutoff = None,
    per: Per = "item",
    exposure: Exposure = "log2",
    patience: Patience = 0.5,
    exposure_scale: ExposureScale = "none",
) -> Ratio:
    """Exposure of the most exposed group, minus that of the least exposed group.

    >>> films = rs.catalogue(["a", "b"], group=["x", "y"])
    >>> lists = {"u1": ["a", "b"], "u2": ["b", "a"]}
    >>> rs.evaluate(run=lists, metrics="exposure_difference@2", catalogue=films)["exposure_difference@2"]
    0.0
    """
    groups = GroupExposure.of(lists, scaled(lists, exposure, patience, exposure_scale))
    share, over = groups.shares(per)
    factor = at(len(share), np.argmax(share), 1.0) + at(len(share), np.argmin(share), -1.0)
    return Ratio(groups.per_list(factor / over), lists.per_query(1.0))


@among_lists(
    "group_pairs",
    title="Pairs between groups",
    aliases=("attention_parity",),
    formula="highest - lowest fraction of pairs with another group's item in which a group's item is ranked above",
    latex=r"\max_g W_g - \min_g W_g",
    use_when="Whether items of one group are ranked above items of other groups more often than the reverse.",
    caveat="Pairs at the bottom count as much as pairs at the top.",
    better="lower",
)
def group_pairs(lists: Recommendations, *, k: Cutoff = None, group: Group = None) -> Ratio:
    """Difference between groups in the fraction of pairs in which their item is ranked above another group's.

    group: the fraction of that group only.

    >>> films = rs.catalogue(["a", "b"], group=["x", "y"])
    >>> rs.evaluate(run={"u1": ["a", "b"]}, metrics="group_pairs@2", catalogue=films)["group_pairs@2"]
    1.0
    """
    groups = GroupExposure.of(lists, np.ones(len(lists.item)))
    shape = len(lists), len(groups.names)
    query = lists.query[groups.row]
    below = lists.length[query] - lists.rank[groups.row]  # items of the list below each row
    key = query * shape[1] + groups.group
    count = np.bincount(key, minlength=shape[0] * shape[1]).reshape(shape)
    inside = count * (count - 1) / 2  # pairs within the group
    won = np.bincount(key, below, minlength=shape[0] * shape[1]).reshape(shape) - inside
    mixed = count * (lists.length[:, None] - count)
    shares = np.where(mixed > 0, won / np.maximum(mixed, 1), 0.0)
    if group is not None:
        column = groups.names.index(group)
        return Ratio(shares[:, column], lists.number(mixed[:, column] > 0))
    total = shares.sum(axis=0)
    high, low = int(np.argmax(total)), int(np.argmin(total))
    return Ratio(shares[:, high] - shares[:, low], lists.number(mixed.sum(axis=1) > 0))


@per_list(
    "iaa",
    aliases=("inequity_of_attention",),
    grades=True,
    formula="sum over the recommended items of |exposure - grade|",
    latex=r"\sum_{r \le k} |e(r) - \mathrm{grade}_r|",
    use_when="Whether individual items get exposure in proportion to their relevance.",
    caveat="Exposure and grades must have the same unit; unjudged items have grade 0.",
    bounds=ABOVE_ZERO,
    better="lower",
)
def iaa(lists: Recommendations, *, k: Cutoff = None, exposure: Exposure = "log2", patience: Patience = 0.5) -> Ratio:
    """Inequity of amortised attention: the sum of the differences of exposure and relevance.

    Biega, Gummadi and Weikum, 2018, doi:10.1145/3209978.3210063.

    >>> metric = "iaa(exposure='1/rank')@2"
    >>> rs.evaluate({"u1": {"a": 1, "b": 0.5}}, {"u1": ["a", "b"]}, metric)[metric]
    0.0
    """
    off = np.abs(exposures(lists.rank, exposure, patience) - lists.grade_or_zero)
    return Ratio(lists.sum(off), lists.number(lists.length > 0))


@per_list(
    "awrf",
    aliases=("attention_weighted_rank_fairness",),
    formula="1 - Jensen-Shannon divergence of the groups' exposure shares and the target",
    latex=r"1 - \mathrm{JS}(E, T)",
    use_when="Whether each list gives groups their target share of exposure; 1 is fair.",
    caveat="It depends on the target. A short list cannot match a target of many small groups.",
)
def awrf(
    lists: Recommendations,
    *,
    k: Cutoff = None,
    target: ListTarget = "catalogue",
    exposure: Exposure = "log2_from_2",
    patience: Patience = 0.5,
) -> Ratio:
    """Attention-weighted rank fairness: similarity of the groups' exposure shares to a target.

    Sapiezynski et al., 2019; TREC Fair Ranking 2022.

    >>> films = rs.catalogue(["a", "b"], group=["x", "y"])
    >>> rs.evaluate(run={"u1": ["a", "b"]}, metrics="awrf@2", catalogue=films)["awrf@2"]
    1.0
    """
    groups = GroupExposure.of(lists, exposures(lists.rank, exposure, patience))
    wanted, many = groups.target(target), max(len(groups.names), 1)
    keys, p, total = shares_by_list(lists, groups.row, groups.group, groups.amount, many)
    query, q = keys // many, wanted[keys % many]
    # A group without an item in the list has p = 0, and adds q log 2 / 2.
    absent = 1.0 - np.bincount(query, q, minlength=len(lists))
    divergence = np.bincount(query, jensen_shannon(p, q), minlength=len(lists)) + absent * log(2) / 2
    return Ratio(np.where(total > 0, 1.0 - divergence, 0.0), lists.number(total > 0))


@per_list(
    "ndkl",
    title="Normalised discounted KL divergence (NDKL)",
    aliases=("normalised_discounted_kl",),
    formula=(
        "Kullback-Leibler divergence of the group distributions of each prefix and of the list, "
        "averaged with weights 1 / log2(prefix length + 1)"
    ),
    latex=r"\frac{1}{Z} \sum_{i} \frac{\mathrm{KL}(D_i \| D)}{\log_2(i+1)}",
    use_when="Whether a group is ranked towards the bottom of a list.",
    caveat="It compares with the groups of the list itself: a group without an item in the list is ignored.",
    bounds=ABOVE_ZERO,
    better="lower",
)
def ndkl(lists: Recommendations, *, k: Cutoff = None, smoothing: Smoothing = 0.0) -> Ratio:
    """Normalised discounted KL divergence of the group distributions of the prefixes and of the whole list.

    Geyik, Ambler and Kenthapadi, 2019, doi:10.1145/3292500.3330691.

    >>> films = rs.catalogue(["a", "b"], group=["x", "x"])
    >>> rs.evaluate(run={"u1": ["a", "b"]}, metrics="ndkl@2", catalogue=films)["ndkl@2"]
    0.0
    """
    groups = GroupExposure.of(lists, np.ones(len(lists.item)))
    each = exposures(lists.rank, "log2")
    terms = np.zeros(len(lists.item))
    for group in range(len(groups.names)):
        mine = np.bincount(groups.row[groups.group == group], minlength=len(lists.item)).astype(np.float64)
        p = lists.running(mine) / lists.rank + smoothing
        q = lists.broadcast(lists.sum(mine) / np.maximum(lists.length, 1.0)) + smoothing
        terms += relative(p, q)
    return Ratio(lists.sum(each * terms), lists.sum(each))


# -- expected exposure ---------------------------------------------------------------------------------------


class _Expected(NamedTuple):
    """Exposure of groups: mean over lists, and target."""

    groups: GroupExposure
    mean: Floats
    wanted: Floats
    target: Callable[[Floats], Floats]  # target exposure per list, summed over groups with a factor per group

    @classmethod
    def of(
        cls, lists: Recommendations, target: Target, length: int | None, exposure: str, patience: float, of: str
    ) -> _Expected:
        each = exposures(lists.rank, exposure, patience)
        groups = GroupExposure.of(lists, each * lists.credit if of == "relevant" else each)
        count = max(len(lists), 1)
        mean = groups.total() / count
        if target == "ideal":
            ideal = GroupExposure.of(lists, _ideal_exposure(lists, each))
            return cls(groups, mean, ideal.total() / count, ideal.per_list)
        share = groups.target(target)
        if length is None:
            places = lists.sum(each)
        else:
            places = lists.per_query(exposures(np.arange(1, length + 1), exposure, patience).sum())
        wanted = share * places.mean() if len(places) else share
        return cls(groups, mean, wanted, lambda factor: places * float(share @ factor))


def _ideal_exposure(lists: Recommendations, each: Floats) -> Floats:
    """The mean exposure of each row's item over all ideal rankings: relevant items share the top ranks."""
    grades = lists.credit
    order = np.lexsort((-grades, lists.query))
    key = lists.query * 2 + (grades <= 0)
    total = np.bincount(key[order], each, minlength=2 * len(lists))  # relevant items have the top ranks
    count = np.bincount(key, minlength=2 * len(lists))
    return (total / np.maximum(count, 1))[key]


expected = partial(
    among_lists,
    grades=lambda parameters: parameters["of"] == "relevant" or parameters.get("target") == "ideal",
    bounds=ABOVE_ZERO,
)


@expected(
    "ee_l",
    aliases=("eel",),
    formula="sum over groups of (mean exposure - target exposure)^2",
    latex=r"\sum_g (\bar e_g - t_g)^2",
    use_when="Whether groups get their target exposure on average over many lists; 0 is fair.",
    caveat="It equals ee_d - 2 ee_r + a constant: report both to separate disparity from relevance.",
    better="lower",
)
def ee_l(
    lists: Recommendations,
    *,
    k: Cutoff = None,
    target: Target = "catalogue",
    target_length: TargetLength = None,
    exposure: Exposure = "log2_from_2",
    patience: Patience = 0.5,
    of: Counted = "shown",
) -> Ratio:
    """Expected exposure loss: squared distance of the groups' mean exposure from the target.

    Diaz et al., 2020, doi:10.1145/3340531.3411962; TREC Fair Ranking 2022.

    >>> films = rs.catalogue(["a", "b"], group=["x", "y"])
    >>> rs.evaluate(run={"u1": ["a", "b"], "u2": ["b", "a"]}, metrics="ee_l@2", catalogue=films)["ee_l@2"]
    0.0
    """
    both = _Expected.of(lists, target, target_length, exposure, patience, of)
    off = both.mean - both.wanted
    return Ratio(both.groups.per_list(off) - both.target(off), lists.per_query(1.0))


@expected(
    "ee_d",
    aliases=("eed",),
    formula="sum over groups of mean exposure^2",
    latex=r"\sum_g \bar e_g^2",
    use_when="How unequal the exposure of groups is.",
    caveat="Its minimum depends on k and the number of groups.",
    better="lower",
)
def ee_d(
    lists: Recommendations,
    *,
    k: Cutoff = None,
    exposure: Exposure = "log2_from_2",
    patience: Patience = 0.5,
    of: Counted = "shown",
) -> Ratio:
    """Expected exposure disparity: the part of ee_l that does not depend on the target.

    Diaz et al., 2020, doi:10.1145/3340531.3411962.

    >>> films = rs.catalogue(["a", "b"], group=["x", "y"])
    >>> rs.evaluate(run={"u1": ["a", "b"], "u2": ["b", "a"]}, metrics="ee_d@2", catalogue=films)["ee_d@2"]
    2.0
    """
    both = _Expected.of(lists, "equal", None, exposure, patience, of)
    return Ratio(both.groups.per_list(both.mean), lists.per_query(1.0))


@expected(
    "ee_r",
    aliases=("eer",),
    formula="sum over groups of mean exposure * target exposure",
    latex=r"\sum_g \bar e_g t_g",
    use_when="How well exposure follows the target.",
    caveat="Its maximum depends on k and the target.",
)
def ee_r(
    lists: Recommendations,
    *,
    k: Cutoff = None,
    target: Target = "catalogue",
    target_length: TargetLength = None,
    exposure: Exposure = "log2_from_2",
    patience: Patience = 0.5,
    of: Counted = "shown",
) -> Ratio:
    """Expected exposure relevance: agreement of the groups' exposure with the target.

    Diaz et al., 2020, doi:10.1145/3340531.3411962.

    >>> films = rs.catalogue(["a", "b"], group=["x", "y"])
    >>> rs.evaluate(run={"u1": ["a", "b"], "u2": ["b", "a"]}, metrics="ee_r@2", catalogue=films)["ee_r@2"]
    2.0
    """
    both = _Expected.of(lists, target, target_length, exposure, patience, of)
    return Ratio(both.groups.per_list(both.wanted), lists.per_query(1.0))


# -- probabilities of recommendation -------------------------------------------------------------------------


def _chances(lists: Recommendations, grouping: str, relevant: bool) -> Ratio:
    """Coefficient of variation of the groups' probabilities of being recommended."""
    catalogue, universe = lists.catalogue, lists.universe
    if grouping == "popularity":
        tail = catalogue.in_tail("interactions", "interactions", 0.8, "catalogue", universe)
        item, group, many = np.arange(universe), tail.astype(np.int64), 2
    else:
        labels = lists.labels("group")
        item, group, many = np.repeat(np.arange(universe), np.diff(labels.offsets)), labels.codes, len(labels.names)
    inside = lists.within("catalogue", "join").base
    counts = np.ones(universe, dtype=bool) if inside is None else inside[0]
    item, group = item[counts[item]], group[counts[item]]

    def by_group(items: Ints, each: Floats) -> Floats:
        times = np.bincount(items, each, minlength=universe)[:universe]
        return np.bincount(group, times[item], minlength=many).astype(np.float64)

    credit = lists.credit if relevant else np.ones(len(lists.item))
    if relevant:
        query, items, each = _relevant_items(lists)
        if catalogue.side_info.history is not None:  # items of the history are not relevant
            credit = np.where(lists.in_history(lists.query, lists.item), 0.0, credit)
            each = np.where(lists.in_history(query, items), 0.0, each)
        could = by_group(items, each)
    else:
        had = lists.history
        pairs = np.unique(had.query * universe + had.item)
        everywhere = by_group(np.arange(universe), np.full(universe, float(len(lists))))
        could = everywhere - by_group(pairs % max(universe, 1), np.ones(len(pairs)))
    got = by_group(lists.item, credit)
    if (could == 0).any():  # undefined if a group cannot be recommended
        return Ratio(np.zeros(len(lists)), np.zeros(len(lists)))
    chance = got / could
    mean, deviation = chance.mean(), chance.std()
    each = 1.0 / could / many
    off = each * (chance - mean) / (deviation if deviation > 0 else 1.0)

    def per_list(factor: Floats) -> Floats:
        by_item = np.bincount(item, factor[group], minlength=universe)
        return lists.sum(by_item[lists.item] * credit)

    return Ratio(per_list(off) if deviation > 0 else np.zeros(len(lists)), per_list(each))


def _relevant_items(lists: Recommendations) -> tuple[Ints, Ints, Floats]:
    """All relevant items of the truth: number of the list, number of the item, and relevance."""
    truth = lists.catalogue.truth()
    if truth is None:
        raise MissingInputError("give a truth: evaluate(truth, run, ...)")
    query = lists_of(lists, truth.query)
    credit = lists.relevance(grades_of(truth))
    keep = (query >= 0) & (credit > 0)
    return query[keep], lists.catalogue.codes.find(truth.item, "truth")[keep], credit[keep]


@of_chances(
    "rsp",
    aliases=("ranking_statistical_parity",),
    spellings={"pop_rsp": "rsp(grouping='popularity')"},
    formula="std / mean of the groups' probabilities of being recommended, among items not in the user's history",
    latex=r"\frac{\mathrm{std}_g P_g}{\mathrm{mean}_g P_g}",
    use_when="Whether items of all groups are equally likely to be recommended; 0 is parity.",
    caveat="It ignores relevance.",
)
def rsp(lists: Recommendations, *, k: Cutoff = None, grouping: GroupBy = "group") -> Ratio:
    """Ranking-based statistical parity: variation of the groups' probabilities of being recommended.

    Zhu, Wang and Caverlee, 2020, doi:10.1145/3397271.3401177.

    >>> films = rs.catalogue(["a", "b"], group=["x", "y"])
    >>> rs.evaluate(run={"u1": ["a"], "u2": ["b"]}, metrics="rsp@1", catalogue=films, history={"u3": ["a"]})["rsp@1"]
    0.0
    """
    return _chances(lists, grouping, relevant=False)


@of_chances(
    "reo",
    aliases=("ranking_equal_opportunity",),
    grades=True,
    spellings={"pop_reo": "reo(grouping='popularity')"},
    formula="std / mean of the groups' probabilities of being recommended, given that the item is relevant",
    latex=r"\frac{\mathrm{std}_g R_g}{\mathrm{mean}_g R_g}",
    use_when="Whether relevant items of all groups are equally likely to be recommended; 0 is parity.",
    caveat="It is noisy if a group has few relevant items.",
)
def reo(lists: Recommendations, *, k: Cutoff = None, grouping: GroupBy = "group") -> Ratio:
    """Ranking-based equal opportunity: variation of the groups' probabilities of being recommended if relevant.

    Zhu, Wang and Caverlee, 2020, doi:10.1145/3397271.3401177.

    >>> films = rs.catalogue(["a", "b"], group=["x", "y"])
    >>> rs.evaluate({"u1": ["a"], "u2": ["b"]}, {"u1": ["a"], "u2": ["b"]}, "reo@1", catalogue=films)["reo@1"]
    0.0
    """
    return _chances(lists, grouping, relevant=True)
