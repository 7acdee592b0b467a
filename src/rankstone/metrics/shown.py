"""Recommended lists as a whole: catalogue coverage, inequality, popularity, novelty."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from rankstone.align.alignment import Floats, Ints
from rankstone.align.functions import NUMPY, Discount, Values
from rankstone.align.recommendations import Base, Cutoff, Outside, Popularity, Shown
from rankstone.data.id_encoder import order_of
from rankstone.metrics.gains import DISCOUNTS, Geometric
from rankstone.metrics.registry import Parameter, metric
from rankstone.program.ranking import Ratio

# -- parameters that several metrics share -------------------------------------------------------------------

ItemBase = Annotated[
    Base,
    Parameter(
        "which items there are",
        {
            "catalogue": "of the catalogue, or of the history where there is none",
            "history": "of the history",
            "shown": "of the items shown",
        },
        quiet=("catalogue",),
    ),
]
OutsideRule = Annotated[
    Outside,
    Parameter(
        "a shown item that is none of these",
        {
            "error": "an item outside of it is an error",
            "skip": "items outside of it are left out",
            "count": "items outside of it count, and do not make it larger",
            "join": "items outside of it join it",
        },
        quiet=("error",),
    ),
]
PopularityOf = Annotated[
    Popularity,
    Parameter(
        "what makes an item popular: users of the history that had it, its rows, or the catalogue's own number",
        {
            "users": "popularity by users of the history",
            "interactions": "popularity by rows of the history",
            "given": "popularity as the catalogue has it",
        },
    ),
]
_SHARES = {"interactions": "as a share of all interactions", "highest": "as a share of the most popular item's"}
Total = Annotated[
    Literal["users", "interactions", "highest"] | float,
    Parameter(
        "what popularity is a share of: all users of the history, all its rows, the most popular item, or a number",
        {"users": "as a share of the users", **_SHARES, ...: "as a share of {:g}"},
    ),
]
_COLD = {"zero": "an item without history adds 0", "skip": "items without history are left out"}
Cold = Annotated[
    Literal["one", "least", "skip", "zero"],
    Parameter(
        "an item that the history does not have",
        {
            "one": "an item without history as if one had had it",
            "least": "an item without history as the least popular one",
            **_COLD,
        },
    ),
]
ColdPopularity = Annotated[
    Literal["zero", "skip"], Parameter("an item that the history does not have", _COLD, quiet=("zero",))
]
Log = Annotated[
    Literal[2, "e"],
    Parameter("base of the logarithm", {2: "logarithm to base 2", "e": "natural logarithm"}, quiet=(2,)),
]
Scale = Annotated[
    Literal["none", "log_users"],
    Parameter(
        "what the value is divided by",
        {"log_users": "divided by the logarithm of the number of users"},
        quiet=("none",),
    ),
]
ShownDivisor = Annotated[
    Literal["shown", "k"],
    Parameter(
        "what a list's sum is divided by: the items that it shows, or k",
        {"shown": "over the items shown", "k": "over k"},
        quiet=("shown",),
        latex={"shown": r"\mathrm{shown}(k)", "k": "k"},
    ),
]
Unit = Annotated[
    Literal["share", "count", "percent"],
    Parameter("the unit of the answer", {"count": "as a number of items", "percent": "in percent"}, quiet=("share",)),
]
Padding = Annotated[
    int,
    Parameter(
        "items that are counted beside those there are",
        {...: "and {} more items that there are not"},
        quiet=(0,),
        at_least=0,
    ),
]
Exposure = Annotated[
    Literal["one", "geometric", "log2", "log2_from_2", "1/rank"],
    Parameter(
        "how much exposure a place has",
        {
            "one": "each place exposes alike",
            "geometric": "exposure patience^(rank - 1)",
            "log2": "exposure 1 / log2(rank + 1)",
            "log2_from_2": "exposure 1 / log2(rank), 1 at the first two places",
            "1/rank": "exposure 1 / rank",
        },
        quiet=("one",),
    ),
]
GEOMETRIC = ("exposure", "geometric")
Patience = Annotated[
    float,
    Parameter("chance to go on to the next place", {...: "patience {:g}"}, above=0, below=1, when=GEOMETRIC),
]
GiniDivisor = Annotated[
    Literal["n", "n-1"],
    Parameter(
        "what the sum is divided by, beside the rows",
        {"n-1": "over n - 1"},
        quiet=("n",),
        latex={"n": "n", "n-1": "(n - 1)"},
    ),
]
Sign = Annotated[
    Literal["inequality", "equality"],
    Parameter(
        "which end is 0",
        {"inequality": "0 if all items are shown alike", "equality": "1 if all items are shown alike"},
        quiet=("inequality",),
    ),
]
EntropyDivisor = Annotated[
    Literal["rows", "rows*items"],
    Parameter("what the sum is divided by", {"rows*items": "divided by the items shown"}, quiet=("rows",)),
]
PopularityScale = Annotated[
    Literal["none", "share", "highest", "percentile"],
    Parameter(
        "how popularity is expressed",
        {
            "share": _SHARES["interactions"],
            "highest": _SHARES["highest"],
            "percentile": "as the share of the items seen that are less popular, equal ones counting half",
        },
        quiet=("none",),
    ),
]
TailRule = Annotated[
    Literal["interactions", "items", "count"],
    Parameter(
        "which items are the tail",
        {
            "interactions": "tail: all but the most popular items that hold this share of the interactions",
            "items": "tail: this share of the items seen, the least popular ones",
            "count": "tail: items seen at most so many times",
        },
    ),
]
TailAt = Annotated[float, Parameter("the share, or the number, that the tail begins at", above=0)]
TailTies = Annotated[
    Literal["catalogue", "item"],
    Parameter(
        "who of equally popular items is the more popular one: the first in the catalogue, or the last by id",
        {"item": "of equally popular items those of lower ids are the tail"},
        quiet=("catalogue",),
    ),
]
AtLeast = Annotated[
    int | None, Parameter("how many items fill a list", {...: "of at least {} items"}, quiet=(None,), above=0)
]

# -- what several metrics share ------------------------------------------------------------------------------

per_list = partial(metric, reads="shown", choices={"undefined": "skip"})  # one value per list
over_lists = partial(  # one value of all lists together
    metric,
    reads="shown",
    choices={"averaging": "micro", "undefined": "skip"},
    all_queries=lambda _: "counts how often each item is shown in all lists; choose metrics of each list by itself",
)
ABOVE_ZERO = (0.0, math.inf)  # bounds
TINY = 1e-300  # what a sum of 0 is replaced by, to be divided by

EXPOSURES: Mapping[str, Discount] = {  # of places; "geometric" is by the patience
    "one": lambda f, rank: np.ones(len(rank)),
    "log2": DISCOUNTS["log2(rank+1)"],
    "log2_from_2": DISCOUNTS["log2(max(rank,2))"],
    "1/rank": DISCOUNTS["rank"],
}


def exposures(rank: Ints, exposure: str, patience: float = 0.0) -> Floats:
    """How much exposure places have."""
    discount = Geometric(patience) if exposure == "geometric" else EXPOSURES[exposure]
    return discount(NUMPY, rank.astype(np.float64))


def logarithm(x: Values, base: int | str) -> Values:
    """To base 2, or natural."""
    return np.log2(x) if base == 2 else np.log(x)


def relative(p: Floats, q: Floats, log: int | str = "e") -> Floats:
    """The terms of the divergence of one distribution from another, Kullback and Leibler's."""
    return np.where(p > 0, p * logarithm(np.where(p > 0, p, 1.0) / np.where(p > 0, q, 1.0), log), 0.0)


def jensen_shannon(p: Floats, q: Floats, log: int | str = "e") -> Floats:
    """The terms of the divergence of two distributions from their mean, Jensen and Shannon's."""
    return (relative(p, (p + q) / 2, log) + relative(q, (p + q) / 2, log)) / 2


def shares_by_list(shown: Shown, row: Ints, code: Ints, amount: Floats, many: int) -> tuple[Ints, Floats, Floats]:
    """The share that each of many codes has of its list: keys (list times many plus code), shares, sums of lists."""
    keys, at = np.unique(shown.query[row] * many + code, return_inverse=True)
    amounts = np.bincount(at, amount, minlength=len(keys))
    total: Floats = np.bincount(keys // many, amounts, minlength=len(shown)).astype(np.float64)
    return keys, amounts / total[keys // many], total


def one_less(value: Values) -> Values:
    """1 less a value."""
    return 1.0 - value


def share_of(shown: Shown, by: Popularity, total: str | float) -> tuple[Floats, float]:
    """The popularity of each item, and what it is a share of."""
    popular = shown.popularity(by)
    if not isinstance(total, str):
        whole = float(total)
    elif total == "highest":
        whole = float(popular.max(initial=0.0))
    else:
        whole = float(shown.catalogue.users.count if total == "users" else len(shown.catalogue.history_item))
    return popular, max(whole, TINY)


def surprise(popular: Floats, total: float, cold: str, log: int | str) -> Floats:
    """How surprising each item is by its popularity."""
    had = popular > 0
    least = popular[had].min(initial=math.inf) if cold == "least" else 1.0
    values = -logarithm(np.where(had, popular, 1.0 if math.isinf(least) else least) / total, log) + 0.0
    return np.where(had, values, 0.0) if cold == "zero" else values


# -- the metrics ---------------------------------------------------------------------------------------------


@over_lists(
    "coverage",
    aliases=("catalog_coverage", "catalogue_coverage", "item_coverage"),
    formula="different items shown in all lists / items",
    latex=r"\frac{|\bigcup_{l} \mathrm{shown}_l(k)|}{n}",
    use="How much of the catalogue anybody gets to see.",
    beware="It grows with the number of lists: compare runs on the same ones. Popular items count no more than others.",
)
def coverage(
    shown: Shown,
    *,
    k: Cutoff = None,
    items: ItemBase = "catalogue",
    outside: OutsideRule = "error",
    unit: Unit = "share",
    padding: Padding = 0,
) -> Ratio:
    """Share of the catalogue that the first k places of all lists together hold.

    >>> rs.evaluate(run={"u1": ["a", "b"], "u2": ["a", "c"]}, metrics="coverage@2", catalogue=[*"abcdef"])["coverage@2"]
    0.5
    """
    view = shown if unit == "count" and items == "catalogue" else shown.within(items, outside)
    size = 1.0 if unit == "count" else (view.size + padding) * (0.01 if unit == "percent" else 1.0)
    return Ratio(view.sum(1.0 / view.row_times), view.per_query(size / len(shown)))


@over_lists(
    "gini",
    aliases=("gini_index",),
    formula="sum over items of (2 place - n - 1) times shown, over n times rows; place 1 is the least shown item",
    latex=r"\frac{\sum_{i} (2\,\mathrm{place}_i - n - 1)\,\mathrm{times}_i}{<divisor>\,\sum_{i} \mathrm{times}_i}",
    use="How unevenly items are shown: 0 if all alike, near 1 if a few have it all.",
    beware="Over the whole catalogue it is high for short lists, whatever the model does; libraries differ in n.",
    better="neither",
)
def gini(
    shown: Shown,
    *,
    k: Cutoff = None,
    items: ItemBase = "catalogue",
    outside: OutsideRule = "error",
    divisor: GiniDivisor = "n",
    sign: Sign = "inequality",
    exposure: Exposure = "one",
    patience: Patience = 0.85,
    padding: Padding = 0,
) -> Ratio:
    """Gini's measure of how unevenly the items are shown, or exposed: 0 if all alike (Gini 1912).

    >>> rs.evaluate(run={"u1": ["a", "b"], "u2": ["a", "c"]}, metrics="gini@2", catalogue=[*"abc"])["gini@2"]
    0.16666666666666666
    """
    view = shown.within(items, outside)
    n = view.size + padding
    each = None if exposure == "one" else exposures(view.rank, exposure, patience)
    unequal = 2.0 * view.look_up(_places(view, view.times(exposure=each)))
    unequal -= n + 1 - 2 * padding
    total = view.shown if each is None else view.sum(each)
    earned = view.sum(unequal if each is None else each * unequal)
    return Ratio(earned, total * (n if divisor == "n" else n - 1), None if sign == "inequality" else one_less)


def _places(shown: Shown, times: Ints) -> NDArray[np.int32]:
    """Each item's place among those that count by how often it is shown, the least shown first."""
    inside = None if shown.base is None or shown.base[0].all() else np.flatnonzero(shown.base[0])
    order = order_of(times if inside is None else times[inside])
    first = shown.size - len(order) + 1
    place = np.zeros(shown.universe, dtype=np.int32)
    place[order if inside is None else inside[order]] = np.arange(first, first + len(order), dtype=np.int32)
    return place


@over_lists(
    "entropy",
    aliases=("shannon_entropy",),
    formula="mean over rows of -log2(times shown / rows)",
    latex=r"-\sum_{i} \frac{\mathrm{times}_i}{\mathrm{rows}} \log_2 \frac{\mathrm{times}_i}{\mathrm{rows}}",
    use="How spread out the shown items are, in bits; popular items that are shown often lower it.",
    beware="It grows with the number of lists and items; there is no highest value to compare it with.",
    bounds=ABOVE_ZERO,
)
def entropy(shown: Shown, *, k: Cutoff = None, log: Log = 2, divisor: EntropyDivisor = "rows") -> Ratio:
    """How surprising it is, on average, which item a place shows, if only the shares of all lists are known (Shannon).

    >>> rs.evaluate(run={"u1": ["a"], "u2": ["b"]}, metrics="entropy@1")["entropy@1"]
    1.0
    """
    times = shown.times()
    rows = max(len(shown.item), 1)
    different = np.count_nonzero(times) if divisor == "rows*items" else 1
    often = np.arange(1, int(times.max(initial=0)) + 1)  # few, where rows are many
    bits = np.concatenate(([0.0], -logarithm(often / rows, log)))
    return Ratio(shown.sum(bits[shown.row_times]), shown.shown * different)


@per_list(
    "popularity",
    aliases=("arp", "avg_rec_popularity", "average_popularity", "mean_popularity"),
    formula="mean popularity of the items shown",
    latex=r"\frac{1}{\mathrm{shown}(k)} \sum_{r \le k} \mathrm{popularity}(i_r)",
    use="Whether lists just repeat what everybody has anyway.",
    beware="One blockbuster outweighs all else; by users and by interactions are different numbers.",
    bounds=ABOVE_ZERO,
    better="neither",
)
def popularity(
    shown: Shown,
    *,
    k: Cutoff = None,
    popularity: PopularityOf = "users",
    scale: PopularityScale = "none",
    divisor: ShownDivisor = "shown",
    cold: ColdPopularity = "zero",
) -> Ratio:
    """How many users of the history had the items shown, on average.

    >>> had = {"u1": ["a"], "u2": ["a", "b"]}
    >>> rs.evaluate(run={"u3": ["a", "b"]}, metrics="popularity@2", history=had)["popularity@2"]
    1.5
    """
    values = popular = shown.popularity(popularity)
    if scale == "percentile":
        order = np.sort(popular[popular > 0])
        low, high = np.searchsorted(order, popular, "left"), np.searchsorted(order, popular, "right")
        values = np.where(popular > 0, (low + high + 1) / 2 / max(len(order), 1), 0.0)
    elif scale != "none":
        values = popular / max(popular.sum() if scale == "share" else popular.max(initial=0.0), TINY)
    over = shown.places(k, divisor) if cold == "zero" else shown.sum(shown.look_up(popular > 0))
    return Ratio(shown.sum(shown.look_up(values)), over)


@per_list(
    "novelty",
    aliases=("mean_inv_user_freq", "miuf", "surprisal", "self_information"),
    formula="mean over the items shown of -log2(share of users who had it)",
    latex=r"\frac{1}{<divisor>} \sum_{r \le k} -\log_2 p(i_r)",
    use="How far from the well-trodden path the lists lead, in bits.",
    beware="What an item counts that nobody had decides much: see cold=. Irrelevant items are novel too.",
    bounds=ABOVE_ZERO,
)
def novelty(
    shown: Shown,
    *,
    k: Cutoff = None,
    popularity: PopularityOf = "users",
    popularity_total: Total = "users",
    cold: Cold = "one",
    log: Log = 2,
    scale: Scale = "none",
    divisor: ShownDivisor = "shown",
) -> Ratio:
    """How surprising the items shown are, by how few had them before (Zhou et al. 2010).

    >>> had = {"u1": ["a"], "u2": ["a", "b"]}
    >>> rs.evaluate(run={"u3": ["a", "b"]}, metrics="novelty@2", history=had)["novelty@2"]
    0.5
    """
    popular, total = share_of(shown, popularity, popularity_total)
    values, had = surprise(popular, total, cold, log), popular > 0
    if scale == "log_users":
        values = values / max(float(logarithm(shown.catalogue.users.count, log)), TINY)
    if cold_rows := int(shown.times()[~had].sum()):
        shown.catalogue.note(f"{cold_rows:,} of {len(shown.item):,} shown items have no history (cold={cold!r})")
    if cold == "skip":
        return Ratio(shown.sum(shown.look_up(np.where(had, values, 0.0))), shown.sum(shown.look_up(had)))
    return Ratio(shown.sum(shown.look_up(values)), shown.places(k, divisor))


discovery = partial(  # relevant items that few had before, those near the top counting more
    metric,
    reads="shown",
    grades=True,
    choices={"undefined": 0},
    beware="A list without a hit has 0, however new its items are.",
)


@discovery(
    "epc",
    aliases=("expected_popularity_complement",),
    formula="sum over relevant items of (1 - share of users who had it) / log2(rank+1), over sum of 1 / log2(rank+1)",
    latex=r"\frac{\sum_{r \le k} \mathrm{rel}_r (1 - p(i_r)) / \log_2(r+1)}{\sum_{r \le k} 1 / \log_2(r+1)}",
    use="Novelty of what was liked: relevant items that few had before, near the top.",
)
def epc(
    shown: Shown, *, k: Cutoff = None, popularity: PopularityOf = "users", popularity_total: Total = "users"
) -> Ratio:
    """How unpopular the relevant items shown are, those near the top counting more (Vargas and Castells 2011).

    >>> had = {"u1": ["a"], "u2": ["a", "b"]}
    >>> rs.evaluate({"u3": ["b"]}, {"u3": ["b"]}, "epc@1", history=had)["epc@1"]
    0.5
    """
    popular, total = share_of(shown, popularity, popularity_total)
    return _discovered(shown, 1.0 - popular / total)


@discovery(
    "efd",
    aliases=("expected_free_discovery",),
    formula="sum over relevant items of -log2(share of interactions) / log2(rank+1), over sum of 1 / log2(rank+1)",
    latex=r"\frac{\sum_{r \le k} -\mathrm{rel}_r \log_2 p(i_r) / \log_2(r+1)}{\sum_{r \le k} 1 / \log_2(r+1)}",
    use="As epc, in bits.",
    bounds=ABOVE_ZERO,
)
def efd(
    shown: Shown,
    *,
    k: Cutoff = None,
    popularity: PopularityOf = "users",
    popularity_total: Total = "interactions",
    cold: Cold = "least",
    log: Log = 2,
) -> Ratio:
    """How surprising the relevant items shown are, those near the top counting more (Vargas and Castells 2011).

    >>> had = {"u1": ["a"], "u2": ["a", "b", "c"]}
    >>> rs.evaluate({"u3": ["b"]}, {"u3": ["b"]}, "efd@1", history=had)["efd@1"]
    2.0
    """
    popular, total = share_of(shown, popularity, popularity_total)
    return _discovered(shown, surprise(popular, total, cold, log))


def _discovered(shown: Shown, gain: Floats) -> Ratio:
    each = exposures(shown.rank, "log2")
    return Ratio(shown.sum(each * shown.credit * shown.look_up(gain)), shown.sum(each))


@per_list(
    "tail",
    aliases=("aplt", "tail_percentage", "tail_share"),
    formula="shown items of the tail / items shown",
    latex=r"\frac{|\{r \le k : i_r \in \mathrm{tail}\}|}{<divisor>}",
    use="Whether the long tail gets a place at all.",
    beware="Where the tail begins is a choice; items that nobody had are in it or not, by tail_rule.",
    better="neither",
    bounds=ABOVE_ZERO,
)
def tail(
    shown: Shown,
    *,
    k: Cutoff = None,
    tail_rule: TailRule = "interactions",
    tail_at: TailAt = 0.8,
    tail_ties: TailTies = "catalogue",
    divisor: ShownDivisor = "shown",
    unit: Unit = "share",
    popularity: PopularityOf = "interactions",
) -> Ratio:
    """Share of the items shown that are of the long tail.

    >>> had = {"u1": ["a"], "u2": ["a", "b"], "u3": ["a"], "u4": ["a"]}
    >>> rs.evaluate(run={"u5": ["a", "b"]}, metrics="tail@2", history=had, catalogue=["a", "b", "c"])["tail@2"]
    0.5
    """
    inside = shown.catalogue.in_tail(popularity, tail_rule, tail_at, tail_ties, shown.universe)
    over = shown.per_query(1.0) if unit == "count" else shown.places(k, divisor)
    return Ratio(shown.sum(shown.look_up(inside)) * (100.0 if unit == "percent" else 1.0), over)


@per_list(
    "unseen",
    aliases=("unseen_share",),
    formula="shown items that the query had not had / items shown",
    latex=r"\frac{|\{r \le k : i_r \notin \mathrm{history}\}|}{<divisor>}",
    use="Whether lists lead to anything the user does not have yet.",
    beware="Where a shop repeats on purpose (groceries, music), it should not be 1.",
    better="neither",
)
def unseen(shown: Shown, *, k: Cutoff = None, divisor: ShownDivisor = "shown") -> Ratio:
    """Share of the items shown that the user has not had before.

    >>> rs.evaluate(run={"u1": ["a", "b"]}, metrics="unseen@2", history={"u1": ["a"]})["unseen@2"]
    0.5
    """
    places = shown.places(k, divisor)  # one that a list leaves empty shows nothing that was seen
    return Ratio(places - shown.sum(shown.in_history(shown.query, shown.item)), places)


@metric(
    "filled",
    aliases=("sufficient_reco", "full_lists"),
    reads="shown",
    formula="1 if the list shows k items, or any without a cutoff",
    latex=r"[\mathrm{shown}(k) \ge k]",
    use="How many users get a full list; with at_least=1, how many get any.",
    beware="",
)
def filled(shown: Shown, *, k: Cutoff = None, at_least: AtLeast = None) -> Ratio:
    """1 if a list is as long as it should be: k items, or at least so many.

    >>> rs.evaluate(run={"u1": ["a", "b"], "u2": ["a"]}, metrics="filled@2")["filled@2"]
    0.5
    """
    return Ratio(shown.number(shown.shown >= (at_least or k or 1)), shown.per_query(1.0))
