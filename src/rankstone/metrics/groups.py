"""Who gets the exposure: groups of items, such as providers, and how evenly or justly they are shown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from rankstone.align.alignment import Floats, Ints
from rankstone.align.functions import Depth
from rankstone.align.shown import Shown
from rankstone.metrics.registry import ByName, Parameter, metric
from rankstone.metrics.shown import Exposure, Patience, exposure_at, relative, weights
from rankstone.program.ranking import Ratio

__all__ = [
    "awrf", "ee_d", "ee_l", "ee_r", "exposure", "exposure_difference", "exposure_ratio", "group_pairs", "iaa", "ndkl",
    "reo", "rsp",
]  # fmt: skip

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
        {"none": "", "sum": "times 1 - patience", "percent": "times 100 (1 - patience)"},
        quiet=("none",),
        when=("exposure", "geometric"),
    ),
]
_TARGETS = {"catalogue": "against the groups' shares of the catalogue", "equal": "against equal shares"}
ListTarget = Annotated[
    Literal["catalogue", "equal"] | Mapping[str, float],
    Parameter(
        "the share that each group should have: that of its items in the catalogue, all alike, or {group: share}",
        _TARGETS,
    ),
]
Target = Annotated[
    Literal["catalogue", "equal", "ideal"] | Mapping[str, float],
    Parameter(
        "the share that each group should have: that of its items in the catalogue, all alike, what the best orders of "
        "the truth give it, or {group: share}",
        {**_TARGETS, "ideal": "against the mean of the best orders, where relevant items share their places"},
    ),
]
TargetLength = Annotated[
    int | None,
    Parameter("how many places the target fills; None: as many as the list", {None: ""}, quiet=(None,), above=0),
]
Counted = Annotated[
    Literal["shown", "relevant"],
    Parameter("whose exposure counts", {"shown": "", "relevant": "of relevant items only"}, quiet=("shown",)),
]
ExposureOf = Annotated[
    Literal["shown", "relevant", "ideal"],
    Parameter(
        "whose exposure counts",
        {"shown": "", "relevant": "of relevant items only", "ideal": "in the best orders of the same items"},
        quiet=("shown",),
    ),
]
Smoothing = Annotated[
    float, Parameter("added to every share", {0: "", ...: "{:g} added to every share"}, quiet=(0,), at_least=0)
]
GroupBy = Annotated[
    Literal["group", "popularity"],
    Parameter(
        "which groups",
        {"group": "", "popularity": "of the popular items, which hold 80 % of the interactions, and the others"},
        quiet=("group",),
    ),
]


def all_groups(parameters: ByName) -> str:
    """What a metric asks of all lists at once."""
    return "adds up what each group gets in all lists; choose metrics of each list by itself"


def per_relevance(parameters: ByName) -> bool:
    """Does it divide by what was earned."""
    return bool(parameters["per"] == "relevance")


class Exposed(NamedTuple):
    """What each row gives to each group of its item."""

    row: Ints
    code: Ints  # of the group
    amount: Floats
    names: tuple[Any, ...]
    size: Floats  # how many items each group has

    def total(self) -> Floats:
        """What each group gets in all lists."""
        return np.bincount(self.code, self.amount, minlength=len(self.names)).astype(np.float64)

    def of(self, shown: Shown, worth: Floats) -> Floats:
        """What each list gives to all groups, times what each of these is worth."""
        return shown.sum(np.bincount(self.row, self.amount * worth[self.code], minlength=len(shown.item)))


def exposed(shown: Shown, each: Floats) -> Exposed:
    """What each row gives to the groups of its item."""
    words = shown.known.words("group", shown.universe)
    size: Floats = np.bincount(words.codes, words.weights, minlength=len(words.names)).astype(np.float64)
    mine = words.of(shown.item)
    row = np.repeat(np.arange(len(shown.item)), np.diff(mine.offsets))
    return Exposed(row, mine.codes, each[row] * mine.weights, words.names, size)


def scaled(shown: Shown, exposure: str, patience: float, scale: str) -> Floats:
    """How much exposure each row has, in the unit asked for."""
    if scale != "none" and exposure != "geometric":
        raise ValueError(f"exposure_scale={scale!r} goes with exposure='geometric', not with {exposure!r}")
    unit = {"none": 1.0, "sum": 1.0 - patience, "percent": 100.0 * (1.0 - patience)}[scale]
    return unit * weights(shown, exposure, patience)


def _over(shown: Shown, found: Exposed, per: str) -> Floats:
    """What the exposure of each group is divided by."""
    if per == "relevance":
        grades = np.where(np.isnan(shown.grade), 0.0, shown.grade)
        return np.bincount(found.code, grades[found.row], minlength=len(found.names)).astype(np.float64)
    return found.size if per == "item" else np.ones(len(found.names))


@metric(
    "exposure",
    reads="shown",
    grades=lambda parameters: parameters["of"] != "shown" or parameters["per"] == "relevance",
    formula="exposure of the group's items shown, <per>",
    latex=r"\frac{1}{|g|} \sum_{r : i_r \in g} e(r)",
    use="How much attention one group gets: exposure(group='women')@10.",
    beware="By itself it says nothing: compare groups, or with the group's share of the catalogue.",
    choices={"undefined": "skip"},
    bounds=(0.0, math.inf),
    better="neither",
)
def exposure(
    shown: Shown,
    *,
    k: Depth = None,
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
    found = exposed(shown, each)
    if group is not None and group not in found.names:
        known = ", ".join(map(repr, found.names[:10]))
        raise ValueError(f"there is no group {group!r}; write exposure(group=...)@10, with one of {known}")
    mine = np.array([group in (None, name) for name in found.names], dtype=np.float64)
    if per == "relevance":
        earned = exposed(shown, np.where(np.isnan(shown.grade), 0.0, shown.grade))
        return Ratio(found.of(shown, mine), earned.of(shown, mine))
    return Ratio(found.of(shown, mine), shown.per_query(float(found.size @ mine) if per == "item" else 1.0))


@metric(
    "exposure_ratio",
    aliases=("disparate_exposure",),
    reads="shown",
    grades=per_relevance,
    formula="exposure of the least exposed group / that of the most exposed one, each <per>",
    latex=r"\frac{\min_g E_g}{\max_g E_g}",
    use="One number for all groups: 1 if each item has the same exposure, whatever its group.",
    beware="It ignores who is relevant, unless per='relevance'. A group that is never shown makes it 0.",
    choices={"averaging": "micro", "undefined": "skip"},
    all_queries=all_groups,
)
def exposure_ratio(
    shown: Shown,
    *,
    k: Depth = None,
    per: Per = "item",
    exposure: Exposure = "log2",
    patience: Patience = 0.5,
) -> Ratio:
    """The least exposed group's exposure for each of its items, over the most exposed one's.

    >>> films = rs.catalogue(["a", "b"], group=["x", "y"])
    >>> result = rs.evaluate(run={"u1": ["a", "b"], "u2": ["b", "a"]}, metrics="exposure_ratio@2", catalogue=films)
    >>> result["exposure_ratio@2"]
    1.0
    """
    found = exposed(shown, weights(shown, exposure, patience))
    share, over = _shares(shown, found, per)
    low = np.zeros(len(share))
    low[np.argmin(share)] = 1.0
    # Each list has its part of what the most exposed group gets in all, or one that does not show it would not count.
    return Ratio(found.of(shown, low / over), shown.per_query(share.max(initial=0.0) / len(shown)))


@metric(
    "exposure_difference",
    reads="shown",
    grades=per_relevance,
    formula="exposure of the most exposed group - that of the least exposed one, each <per>",
    latex=r"\max_g E_g - \min_g E_g",
    use="As exposure_ratio, in the unit of exposure; 0 is even.",
    beware="Its size depends on k and the exposure of a place.",
    choices={"undefined": "skip"},
    all_queries=all_groups,
    bounds=(0.0, math.inf),
    better="lower",
)
def exposure_difference(
    shown: Shown,
    *,
    k: Depth = None,
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
    found = exposed(shown, scaled(shown, exposure, patience, exposure_scale))
    share, over = _shares(shown, found, per)
    worth = np.zeros(len(share))
    worth[np.argmax(share)] += 1.0
    worth[np.argmin(share)] -= 1.0
    return Ratio(found.of(shown, worth / over), shown.per_query(1.0))


def _shares(shown: Shown, found: Exposed, per: str) -> tuple[Floats, Floats]:
    over = _over(shown, found, per)
    over = np.where(over > 0, over, np.inf)
    return found.total() / over, over


@metric(
    "group_pairs",
    aliases=("attention_parity",),
    reads="shown",
    formula="highest share of pairs of two groups that a group's items win - lowest",
    latex=r"\max_g W_g - \min_g W_g",
    use="Whether items of one group stand above those of others more often than the other way round.",
    beware="Pairs near the bottom count as those at the top.",
    choices={"undefined": "skip"},
    all_queries=all_groups,
    better="lower",
)
def group_pairs(shown: Shown, *, k: Depth = None, group: Group = None) -> Ratio:
    """How far apart the groups are in the share of pairs, one item of the group and one of another, that they win.

    group: the share of that group alone.

    >>> films = rs.catalogue(["a", "b"], group=["x", "y"])
    >>> rs.evaluate(run={"u1": ["a", "b"]}, metrics="group_pairs@2", catalogue=films)["group_pairs@2"]
    1.0
    """
    found = exposed(shown, np.ones(len(shown.item)))
    many = len(found.names)
    length = shown.shown[shown.query[found.row]]
    below = length - shown.rank[found.row]  # rows of the list under each
    key = shown.query[found.row] * many + found.code
    count = np.bincount(key, minlength=len(shown) * many).reshape(len(shown), many)
    inside = count * (count - 1) / 2  # pairs within the group, of which each has one above
    won = np.bincount(key, below, minlength=len(shown) * many).reshape(len(shown), many) - inside
    mixed = count * (shown.shown[:, None] - count)
    shares = np.where(mixed > 0, won / np.maximum(mixed, 1), 0.0)
    if group is not None:
        at = found.names.index(group)
        return Ratio(shares[:, at], (mixed[:, at] > 0).astype(np.float64))
    total = shares.sum(axis=0)
    high, low = int(np.argmax(total)), int(np.argmin(total))
    return Ratio(shares[:, high] - shares[:, low], (mixed.sum(axis=1) > 0).astype(np.float64))


@metric(
    "iaa",
    aliases=("inequity_of_attention",),
    reads="shown",
    grades=True,
    formula="sum over the items shown of |exposure - grade|",
    latex=r"\sum_{r \le k} |e(r) - \mathrm{grade}_r|",
    use="Whether single items get the attention that they deserve, where grades are such shares.",
    beware="Exposure and grades must be in one unit; an item without a judgement deserves none.",
    choices={"undefined": "skip"},
    bounds=(0.0, math.inf),
    better="lower",
)
def iaa(shown: Shown, *, k: Depth = None, exposure: Exposure = "log2", patience: Patience = 0.5) -> Ratio:
    """How far the attention that items get is from what they deserve, added up (Biega et al. 2018).

    >>> rs.evaluate({"u1": {"a": 1, "b": 0.5}}, {"u1": ["a", "b"]}, "iaa@2", exposure="1/rank")["iaa@2"]
    0.0
    """
    grades = np.where(np.isnan(shown.grade), 0.0, shown.grade)
    return Ratio(shown.sum(np.abs(weights(shown, exposure, patience) - grades)), (shown.shown > 0).astype(np.float64))


def _target(found: Exposed, target: Any) -> Floats:
    """The share that each group should have."""
    if target == "equal":
        return np.full(len(found.names), 1.0 / len(found.names))
    if target == "catalogue":
        return found.size / found.size.sum()
    known = dict(target)
    lost = [name for name in known if name not in found.names and known[name]]
    if lost:
        raise ValueError(f"target names {lost[0]!r}; the groups are {', '.join(map(repr, found.names[:10]))}")
    shares = np.array([float(known.get(name, 0.0)) for name in found.names])
    if abs(shares.sum() - 1.0) > 1e-6:
        raise ValueError(f"the shares of target add up to {shares.sum():g}, not to 1")
    return shares


@metric(
    "awrf",
    aliases=("attention_weighted_rank_fairness",),
    reads="shown",
    formula="1 - Jensen and Shannon's divergence of the groups' shares of exposure and the target",
    latex=r"1 - \mathrm{JS}(E, T)",
    use="Whether each list gives groups the share of attention they should have; 1 is as it should be.",
    beware="The target is yours to choose. One list of ten can hardly be right for many small groups.",
    choices={"undefined": "skip"},
)
def awrf(
    shown: Shown,
    *,
    k: Depth = None,
    target: ListTarget = "catalogue",
    exposure: Exposure = "log2_from_2",
    patience: Patience = 0.5,
) -> Ratio:
    """How close the groups' shares of a list's exposure come to a target (Sapiezynski et al. 2019; TREC Fair 2022).

    >>> films = rs.catalogue(["a", "b"], group=["x", "y"])
    >>> rs.evaluate(run={"u1": ["a", "b"]}, metrics="awrf@2", catalogue=films)["awrf@2"]
    1.0
    """
    found = exposed(shown, weights(shown, exposure, patience))
    wanted, many = _target(found, target), len(found.names)
    keys, at = np.unique(shown.query[found.row] * many + found.code, return_inverse=True)
    amount = np.bincount(at, found.amount, minlength=len(keys))
    query, code = keys // max(many, 1), keys % max(many, 1)
    total = np.bincount(query, amount, minlength=len(shown))
    p, q = amount / total[query], wanted[code]
    middle = (p + q) / 2
    # A group that the list does not show has p = 0, and adds q log 2 / 2.
    ours = relative(p, middle) + relative(q, middle)
    absent = 1.0 - np.bincount(query, q, minlength=len(shown))
    divergence = (np.bincount(query, ours, minlength=len(shown)) + absent * math.log(2)) / 2
    return Ratio(np.where(total > 0, 1.0 - divergence, 0.0), (total > 0).astype(np.float64))


@metric(
    "ndkl",
    aliases=("normalised_discounted_kl",),
    reads="shown",
    formula="divergence of the groups of each prefix from the list's, weighed by 1 / log2(length+1)",
    latex=r"\frac{1}{Z} \sum_{i} \frac{\mathrm{KL}(D_i \| D)}{\log_2(i+1)}",
    use="Whether a group is pushed to the bottom of a list.",
    beware="It compares with the list's own groups: a list without a group is not blamed for it.",
    choices={"undefined": "skip"},
    bounds=(0.0, math.inf),
    better="lower",
)
def ndkl(
    shown: Shown,
    *,
    k: Depth = None,
    smoothing: Smoothing = 0.0,
) -> Ratio:
    """How far the groups of a list's prefixes are from those of the whole list (Geyik et al. 2019).

    >>> films = rs.catalogue(["a", "b"], group=["x", "x"])
    >>> rs.evaluate(run={"u1": ["a", "b"]}, metrics="ndkl@2", catalogue=films)["ndkl@2"]
    0.0
    """
    found = exposed(shown, np.ones(len(shown.item)))
    each = weights(shown, "log2", 0.0)
    terms = np.zeros(len(shown.item))
    for code in range(len(found.names)):
        mine = np.bincount(found.row[found.code == code], minlength=len(shown.item)).astype(np.float64)
        p = shown.running(mine) / shown.rank + smoothing
        q = shown.spread(shown.sum(mine) / np.maximum(shown.shown, 1.0)) + smoothing
        terms += relative(p, q)
    return Ratio(shown.sum(each * terms), shown.sum(each))


# -- expected exposure ---------------------------------------------------------------------------------------


def _expected(
    shown: Shown, target: Any, target_length: int | None, exposure: str, patience: float, of: str
) -> tuple[Exposed, Floats, Floats, Any]:
    """Exposure of each row by group; each group's mean over the lists; its target; and the target of each list."""
    each = weights(shown, exposure, patience)
    if of == "relevant":
        each = each * shown.credit
    found = exposed(shown, each)
    lists = max(len(shown), 1)
    mean = found.total() / lists
    if target == "ideal":
        wanted = exposed(shown, _ideal_exposure(shown, weights(shown, exposure, patience)))
        return found, mean, wanted.total() / lists, wanted
    share = _target(found, target)
    if target_length is None:
        places = shown.sum(weights(shown, exposure, patience))
    else:
        ranks = np.arange(1.0, target_length + 1.0)
        places = shown.per_query(exposure_at(ranks, exposure, patience).sum())
    return found, mean, share * places.mean() if len(places) else share, places


def _ideal_exposure(shown: Shown, each: Floats) -> Floats:
    """The exposure of each row's item, on average over the best orders: relevant items share their places."""
    grades = shown.credit
    order = np.lexsort((-grades, shown.query))
    key = shown.query * 2 + (grades <= 0)
    total = np.bincount(key[order], each, minlength=2 * len(shown))  # places from the top go to the best
    count = np.bincount(key, minlength=2 * len(shown))
    return (total / np.maximum(count, 1))[key]


def _of_relevant(parameters: ByName) -> bool:
    return parameters["of"] == "relevant" or parameters.get("target") == "ideal"


_EE: dict[str, Any] = {
    "reads": "shown",
    "grades": _of_relevant,
    "choices": {"undefined": "skip"},
    "all_queries": all_groups,
    "bounds": (0.0, math.inf),
}


@metric(
    "ee_l",
    aliases=("eel",),
    formula="sum over groups of (mean exposure - target)^2",
    latex=r"\sum_g (\bar e_g - t_g)^2",
    use="Whether groups get the exposure that they should, on average over many lists; 0 is as it should be.",
    beware="It is ee_d - 2 ee_r + a constant: look at both to see whether it is uneven or irrelevant.",
    better="lower",
    **_EE,
)
def ee_l(
    shown: Shown,
    *,
    k: Depth = None,
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
    found, mean, wanted, each = _expected(shown, target, target_length, exposure, patience, of)
    off = mean - wanted
    aim = each.of(shown, off) if isinstance(each, Exposed) else each * float(_target(found, target) @ off)
    return Ratio(found.of(shown, off) - aim, shown.per_query(1.0))


@metric(
    "ee_d",
    aliases=("eed",),
    formula="sum over groups of mean exposure^2",
    latex=r"\sum_g \bar e_g^2",
    use="How uneven exposure is among the groups.",
    beware="Its lowest value depends on k and the number of groups.",
    better="lower",
    **_EE,
)
def ee_d(
    shown: Shown,
    *,
    k: Depth = None,
    exposure: Exposure = "log2_from_2",
    patience: Patience = 0.5,
    of: Counted = "shown",
) -> Ratio:
    """How unevenly exposure falls on the groups: the part of ee_l that no target changes (Diaz et al. 2020).

    >>> films = rs.catalogue(["a", "b"], group=["x", "y"])
    >>> rs.evaluate(run={"u1": ["a", "b"], "u2": ["b", "a"]}, metrics="ee_d@2", catalogue=films)["ee_d@2"]
    2.0
    """
    found, mean, _, _ = _expected(shown, "equal", None, exposure, patience, of)
    return Ratio(found.of(shown, mean), shown.per_query(1.0))


@metric(
    "ee_r",
    aliases=("eer",),
    formula="sum over groups of mean exposure times target",
    latex=r"\sum_g \bar e_g t_g",
    use="How much of the exposure goes where it should.",
    beware="Its highest value depends on k and the target.",
    **_EE,
)
def ee_r(
    shown: Shown,
    *,
    k: Depth = None,
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
    found, _, wanted, _ = _expected(shown, target, target_length, exposure, patience, of)
    return Ratio(found.of(shown, wanted), shown.per_query(1.0))


# -- chances to be shown -------------------------------------------------------------------------------------


def _chances(shown: Shown, grouping: str, relevant: bool) -> Ratio:
    """Deviation of the groups' chances to be shown, over their mean."""
    known = shown.known
    if grouping == "popularity":
        tail = known.in_tail("interactions", "interactions", 0.8, "catalogue", shown.universe)
        codes, many = tail.astype(np.int64), 2
        member = np.arange(shown.universe), codes
    else:
        words = known.words("group", shown.universe)
        many = len(words.names)
        member = np.repeat(np.arange(shown.universe), np.diff(words.offsets)), words.codes
    inside = shown.within("catalogue", "join").base
    listed = np.ones(shown.universe, dtype=bool) if inside is None else inside[0]

    def count(items: Ints, each: Floats) -> Floats:
        times = np.bincount(items, each, minlength=shown.universe)[: shown.universe]
        return np.bincount(member[1], times[member[0]] * listed[member[0]], minlength=many).astype(np.float64)

    credit = shown.credit if relevant else np.ones(len(shown.item))
    if relevant:
        query, items, each = shown.relevant_items
        if known.beside.history is not None:  # what users had before is not there to be found
            credit = np.where(shown.seen, 0.0, credit)
            each = np.where(shown.had(query, items), 0.0, each)
        could = count(items, each)
    else:
        offsets, items = shown.history
        pairs = np.unique(np.repeat(np.arange(len(shown)), np.diff(offsets)) * shown.universe + items)
        everywhere = count(np.arange(shown.universe), np.full(shown.universe, float(len(shown))))
        could = everywhere - count(pairs % max(shown.universe, 1), np.ones(len(pairs)))
    got = count(shown.item, credit)
    if (could == 0).any():  # a group that cannot be shown has no chance to compare
        return Ratio(np.zeros(len(shown)), np.zeros(len(shown)))
    chance = got / could
    mean, spread = chance.mean(), chance.std()
    each = 1.0 / could / many
    off = each * (chance - mean) / (spread if spread > 0 else 1.0)

    def of(worth: Floats) -> Floats:
        by_item = np.bincount(member[0], worth[member[1]] * listed[member[0]], minlength=shown.universe)
        return shown.sum(by_item[shown.item] * credit)

    return Ratio(of(off) if spread > 0 else np.zeros(len(shown)), of(each))


@metric(
    "rsp",
    aliases=("ranking_statistical_parity",),
    reads="shown",
    spellings={"pop_rsp": "rsp(grouping='popularity')"},
    formula="deviation over mean of the groups' chances to be shown, among items that the user had not had",
    latex=r"\frac{\mathrm{std}_g P_g}{\mathrm{mean}_g P_g}",
    use="Whether items of each group are as likely to be shown; 0 is even.",
    beware="It asks for even chances, relevant or not.",
    choices={"averaging": "micro", "undefined": "skip"},
    all_queries=all_groups,
    bounds=(0.0, math.inf),
    better="lower",
)
def rsp(shown: Shown, *, k: Depth = None, grouping: GroupBy = "group") -> Ratio:
    """How unequal the groups' chances to be shown are (Zhu et al. 2020).

    >>> films = rs.catalogue(["a", "b"], group=["x", "y"])
    >>> rs.evaluate(run={"u1": ["a"], "u2": ["b"]}, metrics="rsp@1", catalogue=films, history={"u3": ["a"]})["rsp@1"]
    0.0
    """
    return _chances(shown, grouping, relevant=False)


@metric(
    "reo",
    aliases=("ranking_equal_opportunity",),
    reads="shown",
    grades=True,
    spellings={"pop_reo": "reo(grouping='popularity')"},
    formula="deviation over mean of the groups' chances to be shown where they are relevant",
    latex=r"\frac{\mathrm{std}_g R_g}{\mathrm{mean}_g R_g}",
    use="Whether relevant items of each group are as likely to be found; 0 is even.",
    beware="A group with few relevant items makes it noisy.",
    choices={"averaging": "micro", "undefined": "skip"},
    all_queries=all_groups,
    bounds=(0.0, math.inf),
    better="lower",
)
def reo(shown: Shown, *, k: Depth = None, grouping: GroupBy = "group") -> Ratio:
    """How unequal the groups' chances to be shown are where their items are relevant (Zhu et al. 2020).

    >>> films = rs.catalogue(["a", "b"], group=["x", "y"])
    >>> rs.evaluate({"u1": ["a"], "u2": ["b"]}, {"u1": ["a"], "u2": ["b"]}, "reo@1", catalogue=films)["reo@1"]
    0.0
    """
    return _chances(shown, grouping, relevant=True)
