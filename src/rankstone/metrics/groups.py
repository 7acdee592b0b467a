"""Exposure of groups of items, such as providers: how evenly or fairly lists show them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import log
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from rankstone.align.alignment import Floats, Ints
from rankstone.align.recommendations import Cutoff, Shown, lists_of
from rankstone.errors import NotGiven
from rankstone.metrics.registry import Parameter
from rankstone.metrics.shown import (
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
from rankstone.program.ranking import Ratio

Group = Annotated[
    Any, Parameter("the group; None: all of them", {None: "of all groups", ...: "of group {}"}, quiet=(None,))
]
Per = Annotated[
    Literal["item", "none", "relevance"],
    Parameter(
        "what a group's exposure is divided by",
        {"item": "for each item of the group", "none": "of the whole group", "relevance": "for each grade earned"},
    ),
]
ExposureScale = Annotated[
    Literal["none", "sum", "percent"],
    Parameter(
        "what all places together add up to, where patience decides: 1 / (1 - patience), 1 or 100",
        {"sum": "times 1 - patience", "percent": "times 100 (1 - patience)"},
        quiet=("none",),
        when=GEOMETRIC,
    ),
]
_SHARE = "the share that each group should have: that of its items in the catalogue, all alike, "
_TARGETS = {"catalogue": "against the groups' shares of the catalogue", "equal": "against equal shares"}
_IDEAL = {"ideal": "against the mean of the best orders, where relevant items share their places"}
ListTarget = Annotated[
    Literal["catalogue", "equal"] | Mapping[str, float], Parameter(_SHARE + "or {group: share}", _TARGETS)
]
Target = Annotated[
    Literal["catalogue", "equal", "ideal"] | Mapping[str, float],
    Parameter(_SHARE + "what the best orders of the truth give it, or {group: share}", {**_TARGETS, **_IDEAL}),
]
TargetLength = Annotated[
    int | None, Parameter("how many places the target fills; None: as many as the list", quiet=(None,), above=0)
]
_RELEVANT = {"relevant": "of relevant items only"}
Counted = Annotated[Literal["shown", "relevant"], Parameter("whose exposure counts", _RELEVANT, quiet=("shown",))]
ExposureOf = Annotated[
    Literal["shown", "relevant", "ideal"],
    Parameter(
        "whose exposure counts", {**_RELEVANT, "ideal": "in the best orders of the same items"}, quiet=("shown",)
    ),
]
Smoothing = Annotated[
    float, Parameter("added to every share", {...: "{:g} added to every share"}, quiet=(0,), at_least=0)
]
GroupBy = Annotated[
    Literal["group", "popularity"],
    Parameter(
        "which groups",
        {"popularity": "of the popular items, which hold 80 % of the interactions, and the others"},
        quiet=("group",),
    ),
]

# One value per list, which depends on the other lists.
among_lists = partial(
    per_list, all_queries=lambda _: "adds up what each group gets in all lists; choose metrics of each list by itself"
)
over_groups = partial(among_lists, choices={"averaging": "micro", "undefined": "skip"})  # one value of all lists
of_chances = partial(over_groups, bounds=ABOVE_ZERO, better="lower")


class GroupExposure(NamedTuple):
    """The exposure that each row gives to each group of its item."""

    shown: Shown
    row: Ints
    group: Ints  # its number
    amount: Floats
    names: tuple[Any, ...]
    size: Floats  # how many items each group has

    @classmethod
    def of(cls, shown: Shown, each: Floats) -> GroupExposure:
        """From the exposure of each row."""
        labels = shown.labels("group")
        size: Floats = np.bincount(labels.codes, labels.weights, minlength=len(labels.names)).astype(np.float64)
        row, mine = labels.by_row(shown.item)
        return cls(shown, row, mine.codes, each[row] * mine.weights, labels.names, size)

    def total(self) -> Floats:
        """What each group gets in all lists."""
        return np.bincount(self.group, self.amount, minlength=len(self.names)).astype(np.float64)

    def per_list(self, factor: Floats) -> Floats:
        """What each list gives to all groups, times a factor of each group."""
        return self.shown.sum(np.bincount(self.row, self.amount * factor[self.group], minlength=len(self.shown.item)))

    def shares(self, per: str) -> tuple[Floats, Floats]:
        """What each group gets in all lists, over what that is divided by; and the latter."""
        over = self.size if per == "item" else np.ones(len(self.names))
        if per == "relevance":
            grades = self.shown.grade_or_zero[self.row]
            over = np.bincount(self.group, grades, minlength=len(self.names)).astype(np.float64)
        over = np.where(over > 0, over, np.inf)
        return self.total() / over, over

    def target(self, target: ListTarget) -> Floats:
        """The share that each group should have."""
        if target == "equal":
            return np.full(len(self.names), 1.0 / len(self.names))
        if target == "catalogue":
            return self.size / self.size.sum()
        by_name = dict(target)
        lost = [name for name in by_name if name not in self.names and by_name[name]]
        if lost:
            raise ValueError(f"target names {lost[0]!r}; the groups are {', '.join(map(repr, self.names[:10]))}")
        shares = np.array([float(by_name.get(name, 0.0)) for name in self.names])
        if abs(shares.sum() - 1.0) > 1e-6:
            raise ValueError(f"the shares of target add up to {shares.sum():g}, not to 1")
        return shares


def scaled(shown: Shown, exposure: str, patience: float, scale: str) -> Floats:
    """How much exposure each row has, in the unit asked for."""
    if scale != "none" and exposure != "geometric":
        raise ValueError(f"exposure_scale={scale!r} goes with exposure='geometric', not with {exposure!r}")
    unit = {"none": 1.0, "sum": 1.0 - patience, "percent": 100.0 * (1.0 - patience)}[scale]
    return unit * exposures(shown.rank, exposure, patience)


def at(count: int, place: np.intp, value: float) -> Floats:
    """A value at one place of many, 0 elsewhere."""
    out = np.zeros(count)
    out[place] = value
    return out


@per_list(
    "exposure",
    grades=lambda parameters: parameters["of"] != "shown" or parameters["per"] == "relevance",
    formula="exposure of the group's items shown, <per>",
    latex=r"\frac{1}{|g|} \sum_{r : i_r \in g} e(r)",
    use="How much attention one group gets: exposure(group='women')@10.",
    beware="By itself it says nothing: compare groups, or with the group's share of the catalogue.",
    bounds=ABOVE_ZERO,
    better="neither",
)
def exposure(
    shown: Shown,
    *,
    k: Cutoff = None,
    group: Group = None,
    per: Per = "item",
    exposure: Exposure = "log2",
    patience: Patience = 0.5,
    exposure_scale: ExposureScale = "none",
    of: ExposureOf = "shown",
) -> Ratio:
    """How much exposure a list gives to one group of items, for each item of the group (Singh and Joachims 2018).

    >>> films = rs.catalogue(["a", "b"], group=["x", "y"])
    >>> rs.evaluate(run={"u1": ["a", "b"]}, metrics="exposure(group='x')@2", catalogue=films)["exposure(group='x')@2"]
    1.0
    """
    each = scaled(shown, exposure, patience, exposure_scale)
    if of == "relevant":
        each = each * shown.credit
    elif of == "ideal":
        each = _ideal_exposure(shown, each)
    found = GroupExposure.of(shown, each)
    if group is not None and group not in found.names:
        groups = ", ".join(map(repr, found.names[:10]))
        raise ValueError(f"there is no group {group!r}; write exposure(group=...)@10, with one of {groups}")
    mine = np.array([group in (None, name) for name in found.names], dtype=np.float64)
    if per == "relevance":
        over = GroupExposure.of(shown, shown.grade_or_zero).per_list(mine)
    else:
        over = shown.per_query(float(found.size @ mine) if per == "item" else 1.0)
    return Ratio(found.per_list(mine), over)


@over_groups(
    "exposure_ratio",
    aliases=("disparate_exposure",),
    grades=lambda parameters: parameters["per"] == "relevance",
    formula="exposure of the least exposed group / that of the most exposed one, each <per>",
    latex=r"\frac{\min_g E_g}{\max_g E_g}",
    use="One number for all groups: 1 if each item has the same exposure, whatever its group.",
    beware="It ignores who is relevant, unless per='relevance'. A group that is never shown makes it 0.",
)
def exposure_ratio(
    shown: Shown, *, k: Cutoff = None, per: Per = "item", exposure: Exposure = "log2", patience: Patience = 0.5
) -> Ratio:
    """The least exposed group's exposure for each of its items, over the most exposed one's.

    >>> films = rs.catalogue(["a", "b"], group=["x", "y"])
    >>> result = rs.evaluate(run={"u1": ["a", "b"], "u2": ["b", "a"]}, metrics="exposure_ratio@2", catalogue=films)
    >>> result["exposure_ratio@2"]
    1.0
    """
    found = GroupExposure.of(shown, exposures(shown.rank, exposure, patience))
    share, over = found.shares(per)
    low = at(len(share), np.argmin(share), 1.0)
    # Each list has its part of what the most exposed group gets in all, or one that does not show it would not count.
    return Ratio(found.per_list(low / over), shown.per_query(share.max(initial=0.0) / len(shown)))


@among_lists(
    "exposure_difference",
    grades=lambda parameters: parameters["per"] == "relevance",
    formula="exposure of the most exposed group - that of the least exposed one, each <per>",
    latex=r"\max_g E_g - \min_g E_g",
    use="As exposure_ratio, in the unit of exposure; 0 is even.",
    beware="Its size depends on k and the exposure of a place.",
    bounds=ABOVE_ZERO,
    better="lower",
)
def exposure_difference(
    shown: Shown,
    *,
    k: Cutoff = None,
    per: Per = "item",
    exposure: Exposure = "log2",
    patience: Patience = 0.5,
    exposure_scale: ExposureScale = "none",
) -> Ratio:
    """The most exposed group's exposure for each of its items, less the least exposed one's.

    >>> films = rs.catalogue(["a", "b"], group=["x", "y"])
    >>> lists = {"u1": ["a", "b"], "u2": ["b", "a"]}
    >>> rs.evaluate(run=lists, metrics="exposure_difference@2", catalogue=films)["exposure_difference@2"]
    0.0
    """
    found = GroupExposure.of(shown, scaled(shown, exposure, patience, exposure_scale))
    share, over = found.shares(per)
    factor = at(len(share), np.argmax(share), 1.0) + at(len(share), np.argmin(share), -1.0)
    return Ratio(found.per_list(factor / over), shown.per_query(1.0))


@among_lists(
    "group_pairs",
    aliases=("attention_parity",),
    formula="highest share of pairs of two groups that a group's items win - lowest",
    latex=r"\max_g W_g - \min_g W_g",
    use="Whether items of one group stand above those of others more often than the other way round.",
    beware="Pairs near the bottom count as those at the top.",
    better="lower",
)
def group_pairs(shown: Shown, *, k: Cutoff = None, group: Group = None) -> Ratio:
    """How far apart the groups are in the share of pairs, one item of the group and one of another, that they win.

    group: the share of that group alone.

    >>> films = rs.catalogue(["a", "b"], group=["x", "y"])
    >>> rs.evaluate(run={"u1": ["a", "b"]}, metrics="group_pairs@2", catalogue=films)["group_pairs@2"]
    1.0
    """
    found = GroupExposure.of(shown, np.ones(len(shown.item)))
    shape = len(shown), len(found.names)
    query = shown.query[found.row]
    below = shown.shown[query] - shown.rank[found.row]  # rows of the list under each
    key = query * shape[1] + found.group
    count = np.bincount(key, minlength=shape[0] * shape[1]).reshape(shape)
    inside = count * (count - 1) / 2  # pairs within the group, of which each has one above
    won = np.bincount(key, below, minlength=shape[0] * shape[1]).reshape(shape) - inside
    mixed = count * (shown.shown[:, None] - count)
    shares = np.where(mixed > 0, won / np.maximum(mixed, 1), 0.0)
    if group is not None:
        column = found.names.index(group)
        return Ratio(shares[:, column], shown.number(mixed[:, column] > 0))
    total = shares.sum(axis=0)
    high, low = int(np.argmax(total)), int(np.argmin(total))
    return Ratio(shares[:, high] - shares[:, low], shown.number(mixed.sum(axis=1) > 0))


@per_list(
    "iaa",
    aliases=("inequity_of_attention",),
    grades=True,
    formula="sum over the items shown of |exposure - grade|",
    latex=r"\sum_{r \le k} |e(r) - \mathrm{grade}_r|",
    use="Whether single items get the attention that they deserve, where grades are such shares.",
    beware="Exposure and grades must be in one unit; an item without a judgement deserves none.",
    bounds=ABOVE_ZERO,
    better="lower",
)
def iaa(shown: Shown, *, k: Cutoff = None, exposure: Exposure = "log2", patience: Patience = 0.5) -> Ratio:
    """How far the attention that items get is from what they deserve, added up (Biega et al. 2018).

    >>> rs.evaluate({"u1": {"a": 1, "b": 0.5}}, {"u1": ["a", "b"]}, "iaa@2", exposure="1/rank")["iaa@2"]
    0.0
    """
    off = np.abs(exposures(shown.rank, exposure, patience) - shown.grade_or_zero)
    return Ratio(shown.sum(off), shown.number(shown.shown > 0))


@per_list(
    "awrf",
    aliases=("attention_weighted_rank_fairness",),
    formula="1 - Jensen and Shannon's divergence of the groups' shares of exposure and the target",
    latex=r"1 - \mathrm{JS}(E, T)",
    use="Whether each list gives groups the share of attention they should have; 1 is as it should be.",
    beware="The target is yours to choose. One list of ten can hardly be right for many small groups.",
)
def awrf(
    shown: Shown,
    *,
    k: Cutoff = None,
    target: ListTarget = "catalogue",
    exposure: Exposure = "log2_from_2",
    patience: Patience = 0.5,
) -> Ratio:
    """How close the groups' shares of a list's exposure come to a target (Sapiezynski et al. 2019; TREC Fair 2022).

    >>> films = rs.catalogue(["a", "b"], group=["x", "y"])
    >>> rs.evaluate(run={"u1": ["a", "b"]}, metrics="awrf@2", catalogue=films)["awrf@2"]
    1.0
    """
    found = GroupExposure.of(shown, exposures(shown.rank, exposure, patience))
    wanted, many = found.target(target), max(len(found.names), 1)
    keys, p, total = shares_by_list(shown, found.row, found.group, found.amount, many)
    query, q = keys // many, wanted[keys % many]
    # A group that the list does not show has p = 0, and adds q log 2 / 2.
    absent = 1.0 - np.bincount(query, q, minlength=len(shown))
    divergence = np.bincount(query, jensen_shannon(p, q), minlength=len(shown)) + absent * log(2) / 2
    return Ratio(np.where(total > 0, 1.0 - divergence, 0.0), shown.number(total > 0))


@per_list(
    "ndkl",
    aliases=("normalised_discounted_kl",),
    formula="divergence of the groups of each prefix from the list's, weighed by 1 / log2(length+1)",
    latex=r"\frac{1}{Z} \sum_{i} \frac{\mathrm{KL}(D_i \| D)}{\log_2(i+1)}",
    use="Whether a group is pushed to the bottom of a list.",
    beware="It compares with the list's own groups: a list without a group is not blamed for it.",
    bounds=ABOVE_ZERO,
    better="lower",
)
def ndkl(shown: Shown, *, k: Cutoff = None, smoothing: Smoothing = 0.0) -> Ratio:
    """How far the groups of a list's prefixes are from those of the whole list (Geyik et al. 2019).

    >>> films = rs.catalogue(["a", "b"], group=["x", "x"])
    >>> rs.evaluate(run={"u1": ["a", "b"]}, metrics="ndkl@2", catalogue=films)["ndkl@2"]
    0.0
    """
    found = GroupExposure.of(shown, np.ones(len(shown.item)))
    each = exposures(shown.rank, "log2")
    terms = np.zeros(len(shown.item))
    for group in range(len(found.names)):
        mine = np.bincount(found.row[found.group == group], minlength=len(shown.item)).astype(np.float64)
        p = shown.running(mine) / shown.rank + smoothing
        q = shown.spread(shown.sum(mine) / np.maximum(shown.shown, 1.0)) + smoothing
        terms += relative(p, q)
    return Ratio(shown.sum(each * terms), shown.sum(each))


# -- expected exposure ---------------------------------------------------------------------------------------


class _Expected(NamedTuple):
    """Exposure of groups, its mean over the lists, and the same of its target."""

    found: GroupExposure
    mean: Floats
    wanted: Floats
    target: Callable[[Floats], Floats]  # what each list should give to all groups, times a factor of each group

    @classmethod
    def of(cls, shown: Shown, target: Target, length: int | None, exposure: str, patience: float, of: str) -> _Expected:
        each = exposures(shown.rank, exposure, patience)
        found = GroupExposure.of(shown, each * shown.credit if of == "relevant" else each)
        lists = max(len(shown), 1)
        mean = found.total() / lists
        if target == "ideal":
            ideal = GroupExposure.of(shown, _ideal_exposure(shown, each))
            return cls(found, mean, ideal.total() / lists, ideal.per_list)
        share = found.target(target)
        if length is None:
            places = shown.sum(each)
        else:
            places = shown.per_query(exposures(np.arange(1, length + 1), exposure, patience).sum())
        wanted = share * places.mean() if len(places) else share
        return cls(found, mean, wanted, lambda factor: places * float(share @ factor))


def _ideal_exposure(shown: Shown, each: Floats) -> Floats:
    """The exposure of each row's item, on average over the best orders: relevant items share their places."""
    grades = shown.credit
    order = np.lexsort((-grades, shown.query))
    key = shown.query * 2 + (grades <= 0)
    total = np.bincount(key[order], each, minlength=2 * len(shown))  # places from the top go to the best
    count = np.bincount(key, minlength=2 * len(shown))
    return (total / np.maximum(count, 1))[key]


expected = partial(
    among_lists,
    grades=lambda parameters: parameters["of"] == "relevant" or parameters.get("target") == "ideal",
    bounds=ABOVE_ZERO,
)


@expected(
    "ee_l",
    aliases=("eel",),
    formula="sum over groups of (mean exposure - target)^2",
    latex=r"\sum_g (\bar e_g - t_g)^2",
    use="Whether groups get the exposure that they should, on average over many lists; 0 is as it should be.",
    beware="It is ee_d - 2 ee_r + a constant: look at both to see whether it is uneven or irrelevant.",
    better="lower",
)
def ee_l(
    shown: Shown,
    *,
    k: Cutoff = None,
    target: Target = "catalogue",
    target_length: TargetLength = None,
    exposure: Exposure = "log2_from_2",
    patience: Patience = 0.5,
    of: Counted = "shown",
) -> Ratio:
    """How far the groups' exposure is from its target, squared (Diaz et al. 2020; TREC Fair 2022).

    >>> films = rs.catalogue(["a", "b"], group=["x", "y"])
    >>> rs.evaluate(run={"u1": ["a", "b"], "u2": ["b", "a"]}, metrics="ee_l@2", catalogue=films)["ee_l@2"]
    0.0
    """
    both = _Expected.of(shown, target, target_length, exposure, patience, of)
    off = both.mean - both.wanted
    return Ratio(both.found.per_list(off) - both.target(off), shown.per_query(1.0))


@expected(
    "ee_d",
    aliases=("eed",),
    formula="sum over groups of mean exposure^2",
    latex=r"\sum_g \bar e_g^2",
    use="How uneven exposure is among the groups.",
    beware="Its lowest value depends on k and the number of groups.",
    better="lower",
)
def ee_d(
    shown: Shown,
    *,
    k: Cutoff = None,
    exposure: Exposure = "log2_from_2",
    patience: Patience = 0.5,
    of: Counted = "shown",
) -> Ratio:
    """How unevenly exposure falls on the groups: the part of ee_l that no target changes (Diaz et al. 2020).

    >>> films = rs.catalogue(["a", "b"], group=["x", "y"])
    >>> rs.evaluate(run={"u1": ["a", "b"], "u2": ["b", "a"]}, metrics="ee_d@2", catalogue=films)["ee_d@2"]
    2.0
    """
    both = _Expected.of(shown, "equal", None, exposure, patience, of)
    return Ratio(both.found.per_list(both.mean), shown.per_query(1.0))


@expected(
    "ee_r",
    aliases=("eer",),
    formula="sum over groups of mean exposure times target",
    latex=r"\sum_g \bar e_g t_g",
    use="How much of the exposure goes where it should.",
    beware="Its highest value depends on k and the target.",
)
def ee_r(
    shown: Shown,
    *,
    k: Cutoff = None,
    target: Target = "catalogue",
    target_length: TargetLength = None,
    exposure: Exposure = "log2_from_2",
    patience: Patience = 0.5,
    of: Counted = "shown",
) -> Ratio:
    """How much exposure goes to the groups that should have it (Diaz et al. 2020).

    >>> films = rs.catalogue(["a", "b"], group=["x", "y"])
    >>> rs.evaluate(run={"u1": ["a", "b"], "u2": ["b", "a"]}, metrics="ee_r@2", catalogue=films)["ee_r@2"]
    2.0
    """
    both = _Expected.of(shown, target, target_length, exposure, patience, of)
    return Ratio(both.found.per_list(both.wanted), shown.per_query(1.0))


# -- chances to be shown -------------------------------------------------------------------------------------


def _chances(shown: Shown, grouping: str, relevant: bool) -> Ratio:
    """Deviation of the groups' chances to be shown, over their mean."""
    catalogue, universe = shown.catalogue, shown.universe
    if grouping == "popularity":
        tail = catalogue.in_tail("interactions", "interactions", 0.8, "catalogue", universe)
        item, group, many = np.arange(universe), tail.astype(np.int64), 2
    else:
        labels = shown.labels("group")
        item, group, many = np.repeat(np.arange(universe), np.diff(labels.offsets)), labels.codes, len(labels.names)
    inside = shown.within("catalogue", "join").base
    counts = np.ones(universe, dtype=bool) if inside is None else inside[0]
    item, group = item[counts[item]], group[counts[item]]

    def by_group(items: Ints, each: Floats) -> Floats:
        times = np.bincount(items, each, minlength=universe)[:universe]
        return np.bincount(group, times[item], minlength=many).astype(np.float64)

    credit = shown.credit if relevant else np.ones(len(shown.item))
    if relevant:
        query, items, each = _relevant_items(shown)
        if catalogue.beside.history is not None:  # what users had before is not there to be found
            credit = np.where(shown.in_history(shown.query, shown.item), 0.0, credit)
            each = np.where(shown.in_history(query, items), 0.0, each)
        could = by_group(items, each)
    else:
        had = shown.history
        pairs = np.unique(had.query * universe + had.item)
        everywhere = by_group(np.arange(universe), np.full(universe, float(len(shown))))
        could = everywhere - by_group(pairs % max(universe, 1), np.ones(len(pairs)))
    got = by_group(shown.item, credit)
    if (could == 0).any():  # a group that cannot be shown has no chance to compare
        return Ratio(np.zeros(len(shown)), np.zeros(len(shown)))
    chance = got / could
    mean, deviation = chance.mean(), chance.std()
    each = 1.0 / could / many
    off = each * (chance - mean) / (deviation if deviation > 0 else 1.0)

    def per_list(factor: Floats) -> Floats:
        by_item = np.bincount(item, factor[group], minlength=universe)
        return shown.sum(by_item[shown.item] * credit)

    return Ratio(per_list(off) if deviation > 0 else np.zeros(len(shown)), per_list(each))


def _relevant_items(shown: Shown) -> tuple[Ints, Ints, Floats]:
    """All relevant items of the truth: number of the list, number of the item, and what it counts."""
    truth = shown.catalogue.truth()
    if truth is None:
        raise NotGiven("give a truth: evaluate(truth, run, ...)")
    query = lists_of(shown, truth.query)
    grades = np.ones(len(query)) if truth.grade is None else np.asarray(truth.grade, dtype=np.float64)
    credit = shown.relevance(grades)
    keep = (query >= 0) & (credit > 0)
    return query[keep], shown.catalogue.codes.find(truth.item, "truth")[keep], credit[keep]


@of_chances(
    "rsp",
    aliases=("ranking_statistical_parity",),
    spellings={"pop_rsp": "rsp(grouping='popularity')"},
    formula="deviation over mean of the groups' chances to be shown, among items that the user had not had",
    latex=r"\frac{\mathrm{std}_g P_g}{\mathrm{mean}_g P_g}",
    use="Whether items of each group are as likely to be shown; 0 is even.",
    beware="It asks for even chances, relevant or not.",
)
def rsp(shown: Shown, *, k: Cutoff = None, grouping: GroupBy = "group") -> Ratio:
    """How unequal the groups' chances to be shown are (Zhu et al. 2020).

    >>> films = rs.catalogue(["a", "b"], group=["x", "y"])
    >>> rs.evaluate(run={"u1": ["a"], "u2": ["b"]}, metrics="rsp@1", catalogue=films, history={"u3": ["a"]})["rsp@1"]
    0.0
    """
    return _chances(shown, grouping, relevant=False)


@of_chances(
    "reo",
    aliases=("ranking_equal_opportunity",),
    grades=True,
    spellings={"pop_reo": "reo(grouping='popularity')"},
    formula="deviation over mean of the groups' chances to be shown where they are relevant",
    latex=r"\frac{\mathrm{std}_g R_g}{\mathrm{mean}_g R_g}",
    use="Whether relevant items of each group are as likely to be found; 0 is even.",
    beware="A group with few relevant items makes it noisy.",
)
def reo(shown: Shown, *, k: Cutoff = None, grouping: GroupBy = "group") -> Ratio:
    """How unequal the groups' chances to be shown are where their items are relevant (Zhu et al. 2020).

    >>> films = rs.catalogue(["a", "b"], group=["x", "y"])
    >>> rs.evaluate({"u1": ["a"], "u2": ["b"]}, {"u1": ["a"], "u2": ["b"]}, "reo@1", catalogue=films)["reo@1"]
    0.0
    """
    return _chances(shown, grouping, relevant=True)
