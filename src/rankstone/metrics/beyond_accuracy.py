"""Beyond accuracy, over all recommended lists: catalogue coverage, inequality, popularity, novelty."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Literal

import numpy as np

from rankstone.align.alignment import Floats, Ints
from rankstone.align.elementwise import NUMPY, Discount, Values
from rankstone.align.recommendations import Base, Cutoff, Outside, Popularity, Recommendations
from rankstone.data.id_encoder import order_of
from rankstone.metrics.gains import DISCOUNTS, Geometric
from rankstone.metrics.registry import Parameter, metric
from rankstone.program.ranking import Ratio

# -- parameters that several metrics share -------------------------------------------------------------------

ItemBase = Annotated[
    Base,
    Parameter(
        "which items are counted as the catalogue",
        {
            "catalogue": "items of the catalogue, or of the history without a catalogue",
            "history": "items of the history",
            "shown": "items recommended at least once",
        },
        hidden=("catalogue",),
    ),
]
OutsideRule = Annotated[
    Outside,
    Parameter(
        "a recommended item that is not in the catalogue",
        {
            "error": "an item outside the catalogue is an error",
            "skip": "items outside the catalogue are ignored",
            "count": "items outside the catalogue are counted, without enlarging it",
            "join": "items outside the catalogue are added to it",
        },
        hidden=("error",),
    ),
]
PopularityOf = Annotated[
    Popularity,
    Parameter(
        "popularity of an item: users in the history, interactions, or the catalogue's column",
        {
            "users": "popularity: users of the history",
            "interactions": "popularity: interactions of the history",
            "given": "popularity: column of the catalogue",
        },
    ),
]
_SHARES = {"interactions": "relative to all interactions", "highest": "relative to the most popular item"}
Total = Annotated[
    Literal["users", "interactions", "highest"] | float,
    Parameter(
        "what popularity is divided by: users, interactions, the most popular item, or a number",
        {"users": "relative to all users", **_SHARES, ...: "relative to {:g}"},
    ),
]
_COLD = {"zero": "items without history count 0", "skip": "items without history are ignored"}
Cold = Annotated[
    Literal["one", "least", "skip", "zero"],
    Parameter(
        "treatment of cold items, which are not in the history",
        {
            "one": "items without history count as popularity 1",
            "least": "items without history count as the least popular item",
            **_COLD,
        },
    ),
]
ColdPopularity = Annotated[
    Literal["zero", "skip"], Parameter("treatment of cold items, which are not in the history", _COLD, hidden=("zero",))
]
Log = Annotated[
    Literal[2, "e"],
    Parameter("base of the logarithm", {2: "logarithm to base 2", "e": "natural logarithm"}, hidden=(2,)),
]
Scale = Annotated[
    Literal["none", "log_users"],
    Parameter(
        "normalisation of the value",
        {"log_users": "divided by the logarithm of the number of users"},
        hidden=("none",),
    ),
]
ListDivisor = Annotated[
    Literal["shown", "k"],
    Parameter(
        "denominator of a list's sum: the number of recommended items, or k",
        {"shown": "divided by the number of recommended items", "k": "divided by k"},
        hidden=("shown",),
        text={"shown": "number of recommended items", "k": "k", "retrieved": "number of recommended items"},
        latex={"shown": r"\mathrm{length}(k)", "k": "k"},
    ),
]
Unit = Annotated[
    Literal["share", "count", "percent"],
    Parameter("unit of the value", {"count": "as a number of items", "percent": "in percent"}, hidden=("share",)),
]
Padding = Annotated[
    int,
    Parameter(
        "number of items added to the catalogue's size",
        {...: "{} more items in the catalogue"},
        hidden=(0,),
        at_least=0,
    ),
]
Exposure = Annotated[
    Literal["one", "geometric", "log2", "log2_from_2", "1/rank"],
    Parameter(
        "exposure of a rank",
        {
            "one": "all ranks have the same exposure",
            "geometric": "exposure patience^(rank - 1)",
            "log2": "exposure 1 / log2(rank + 1)",
            "log2_from_2": "exposure 1 / log2(rank), 1 at ranks 1 and 2",
            "1/rank": "exposure 1 / rank",
        },
        hidden=("one",),
    ),
]
GEOMETRIC = ("exposure", ("geometric",))
Patience = Annotated[
    float,
    Parameter(
        "probability of continuing to the next rank", {...: "patience {:g}"}, above=0, below=1, applies_when=GEOMETRIC
    ),
]
GiniDivisor = Annotated[
    Literal["n", "n-1"],
    Parameter(
        "normalisation: number of items, or that minus 1",
        {"n-1": "divided by n - 1"},
        hidden=("n",),
        text={"n": "n", "n-1": "(n - 1)"},
        latex={"n": "n", "n-1": "(n - 1)"},
    ),
]
Sign = Annotated[
    Literal["inequality", "equality"],
    Parameter(
        "direction of the scale",
        {
            "inequality": "0 if all items are recommended equally often",
            "equality": "1 if all items are recommended equally often",
        },
        hidden=("inequality",),
    ),
]
EntropyDivisor = Annotated[
    Literal["rows", "rows*items"],
    Parameter(
        "normalisation", {"rows*items": "divided by the number of different items recommended"}, hidden=("rows",)
    ),
]
PopularityScale = Annotated[
    Literal["none", "share", "highest", "percentile"],
    Parameter(
        "scale of popularity",
        {
            "share": _SHARES["interactions"],
            "highest": _SHARES["highest"],
            "percentile": "as a percentile among the items of the history, ties counting half",
        },
        hidden=("none",),
    ),
]
TailRule = Annotated[
    Literal["interactions", "items", "count"],
    Parameter(
        "which items are in the long tail",
        {
            "interactions": "tail: all items but the most popular ones with this share of the interactions",
            "items": "tail: this share of the items in the history, the least popular ones",
            "count": "tail: items with at most this many interactions",
        },
    ),
]
TailAt = Annotated[float, Parameter("where the tail begins: a share, or a number of interactions", above=0)]
TailTies = Annotated[
    Literal["catalogue", "item"],
    Parameter(
        "order of equally popular items: by position in the catalogue, or by id",
        {"item": "of equally popular items, those with lower ids are in the tail"},
        hidden=("catalogue",),
    ),
]
AtLeast = Annotated[
    int | None,
    Parameter(
        "number of items of a full list",
        {...: "of at least {} items"},
        text={None: "at least k items", ...: "at least {} items"},
        hidden=(None,),
        above=0,
    ),
]

# -- shared by several metrics ---------------------------------------------------------------------------------

per_list = partial(metric, reads="recommendations", choices={"undefined": "skip"})  # one value per list
over_lists = partial(  # one value of all lists together
    metric,
    reads="recommendations",
    choices={"averaging": "micro", "undefined": "skip"},
    all_queries=lambda _: "counts each item over all lists; choose metrics with one value per list",
)
ABOVE_ZERO = (0.0, math.inf)  # bounds
TINY = 1e-300  # replaces a denominator of 0

EXPOSURES: Mapping[str, Discount] = {  # by rank; "geometric" depends on patience
    "one": lambda f, rank: np.ones(len(rank)),
    "log2": DISCOUNTS["log2(rank+1)"],
    "log2_from_2": DISCOUNTS["log2(max(rank,2))"],
    "1/rank": DISCOUNTS["rank"],
}


def exposures(rank: Ints, exposure: str, patience: float = 0.0) -> Floats:
    """The exposure of each rank."""
    discount = Geometric(patience) if exposure == "geometric" else EXPOSURES[exposure]
    return discount(NUMPY, rank.astype(np.float64))


def logarithm(x: Values, base: int | str) -> Values:
    """Logarithm to base 2, or natural."""
    return np.log2(x) if base == 2 else np.log(x)


def relative(p: Floats, q: Floats, log: int | str = "e") -> Floats:
    """The terms of the Kullback-Leibler divergence of p from q."""
    return np.where(p > 0, p * logarithm(np.where(p > 0, p, 1.0) / np.where(p > 0, q, 1.0), log), 0.0)


def jensen_shannon(p: Floats, q: Floats, log: int | str = "e") -> Floats:
    """The terms of the Jensen-Shannon divergence of p and q."""
    return (relative(p, (p + q) / 2, log) + relative(q, (p + q) / 2, log)) / 2


def shares_by_list(
    lists: Recommendations, row: Ints, code: Ints, amount: Floats, many: int
) -> tuple[Ints, Floats, Floats]:
    """The share of each code in its list: keys (list * many + code), shares, and the sum per list."""
    keys, at = np.unique(lists.query[row] * many + code, return_inverse=True)
    amounts = np.bincount(at, amount, minlength=len(keys))
    total: Floats = np.bincount(keys // many, amounts, minlength=len(lists)).astype(np.float64)
    return keys, amounts / total[keys // many], total


def one_less(value: Values) -> Values:
    """1 - value."""
    return 1.0 - value


def share_of(lists: Recommendations, by: Popularity, total: str | float) -> tuple[Floats, float]:
    """The popularity of each item, and the total that it is divided by."""
    popular = lists.popularity(by)
    if not isinstance(total, str):
        whole = float(total)
    elif total == "highest":
        whole = float(popular.max(initial=0.0))
    else:
        whole = float(lists.catalogue.users.count if total == "users" else len(lists.catalogue.history_item))
    return popular, max(whole, TINY)


def surprise(popular: Floats, total: float, cold: str, log: int | str) -> Floats:
    """Self-information of each item, from its popularity."""
    had = popular > 0
    least = popular[had].min(initial=math.inf) if cold == "least" else 1.0
    values = -logarithm(np.where(had, popular, 1.0 if math.isinf(least) else least) / total, log) + 0.0
    return np.where(had, values, 0.0) if cold == "zero" else values


# -- the metrics ---------------------------------------------------------------------------------------------


@over_lists(
    "coverage",
    aliases=("catalog_coverage", "catalogue_coverage", "item_coverage"),
    formula="distinct items recommended(k) / items in the catalogue",
    latex=r"\frac{|\bigcup_{l} \mathrm{items}_l(k)|}{n}",
    use_when="How much of the catalogue is recommended to at least one user.",
    caveat="It grows with the number of lists: compare runs on the same queries. Once counts as often as many.",
)
def coverage(
    lists: Recommendations,
    *,
    k: Cutoff = None,
    items: ItemBase = "catalogue",
    outside: OutsideRule = "error",
    unit: Unit = "share",
    padding: Padding = 0,
) -> Ratio:
    """Catalogue coverage: the fraction of the catalogue that at least one list recommends.

    Ge, Delgado-Battenfeld and Jannach, 2010, doi:10.1145/1864708.1864761.

    >>> rs.evaluate(run={"u1": ["a", "b"], "u2": ["a", "c"]}, metrics="coverage@2", catalogue=[*"abcdef"])["coverage@2"]
    0.5
    """
    view = lists if unit == "count" and items == "catalogue" else lists.within(items, outside)
    size = 1.0 if unit == "count" else (view.size + padding) * (0.01 if unit == "percent" else 1.0)
    return Ratio(view.sum(1.0 / view.row_frequency), view.per_query(size / len(lists)))


@over_lists(
    "gini",
    title="Gini index",
    aliases=("gini_index",),
    formula=(
        "sum over items of (2 i - n - 1) * frequency, divided by <divisor> * sum of frequencies, "
        "with items i = 1..n in ascending order of frequency"
    ),
    latex=r"\frac{\sum_{i} (2\,i - n - 1)\,\mathrm{frequency}_i}{<divisor>\,\sum_{i} \mathrm{frequency}_i}",
    use_when="How concentrated recommendations are: 0 if all items are equally frequent, near 1 if a few dominate.",
    caveat="Over a large catalogue it is high for short lists with any model; libraries differ in n.",
    better="neither",
)
def gini(
    lists: Recommendations,
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
    """Gini index of how often items are recommended, or exposed; 0 if all equally often.

    Gini, 1912.

    >>> rs.evaluate(run={"u1": ["a", "b"], "u2": ["a", "c"]}, metrics="gini@2", catalogue=[*"abc"])["gini@2"]
    0.16666666666666666
    """
    view = lists.within(items, outside)
    n = view.size + padding
    each = None if exposure == "one" else exposures(view.rank, exposure, patience)
    unequal = view.look_up(_double_places(view, view.frequency(exposure=each))) - (n + 1.0 - 2 * padding)
    total = view.length if each is None else view.sum(each)
    numerator = view.sum(unequal if each is None else each * unequal)
    return Ratio(numerator, total * (n if divisor == "n" else n - 1), None if sign == "inequality" else one_less)


def _double_places(lists: Recommendations, times: Ints) -> Ints:
    """Twice the position of each item in ascending order of frequency; equally frequent items share their mean."""
    inside = None if lists.base is None or lists.base[0].all() else np.flatnonzero(lists.base[0])
    counted = times if inside is None else times[inside]
    order = order_of(counted)
    starts = np.flatnonzero(np.diff(counted[order], prepend=-1.0))
    sizes = np.diff(starts, append=len(order))
    doubled = np.zeros(lists.universe, dtype=np.int64)
    shared = 2 * (lists.size - len(order) + starts) + sizes + 1
    doubled[order if inside is None else inside[order]] = np.repeat(shared, sizes)
    return doubled


@over_lists(
    "entropy",
    title="Shannon entropy",
    aliases=("shannon_entropy",),
    formula="Shannon entropy of recommended items: -sum over items of p log p, with p = frequency / rows",
    latex=r"-\sum_{i} \frac{\mathrm{frequency}_i}{\mathrm{rows}} \log_2 \frac{\mathrm{frequency}_i}{\mathrm{rows}}",
    use_when="How evenly recommendations are spread over items, in bits.",
    caveat="It grows with the number of lists and items and has no fixed maximum.",
    bounds=ABOVE_ZERO,
)
def entropy(lists: Recommendations, *, k: Cutoff = None, log: Log = 2, divisor: EntropyDivisor = "rows") -> Ratio:
    """Shannon entropy of the recommended items over all lists.

    Shannon, 1948.

    >>> rs.evaluate(run={"u1": ["a"], "u2": ["b"]}, metrics="entropy@1")["entropy@1"]
    1.0
    """
    times = lists.frequency()
    rows = max(len(lists.item), 1)
    different = np.count_nonzero(times) if divisor == "rows*items" else 1
    often = np.arange(1, int(times.max(initial=0)) + 1)  # few, where rows are many
    bits = np.concatenate(([0.0], -logarithm(often / rows, log)))
    return Ratio(lists.sum(bits[lists.row_frequency]), lists.length * different)


@per_list(
    "popularity",
    aliases=("arp", "avg_rec_popularity", "average_popularity", "mean_popularity"),
    formula="sum of the popularity of the recommended items / <divisor>",
    latex=r"\frac{1}{<divisor>} \sum_{r \le k} \mathrm{popularity}(i_r)",
    use_when="Popularity bias: whether lists repeat popular items.",
    caveat="A few very popular items dominate the mean; users and interactions give different values.",
    bounds=ABOVE_ZERO,
    better="neither",
)
def popularity(
    lists: Recommendations,
    *,
    k: Cutoff = None,
    popularity: PopularityOf = "users",
    scale: PopularityScale = "none",
    divisor: ListDivisor = "shown",
    cold: ColdPopularity = "zero",
) -> Ratio:
    """Average recommendation popularity: the mean number of users in the history of the recommended items.

    >>> had = {"u1": ["a"], "u2": ["a", "b"]}
    >>> rs.evaluate(run={"u3": ["a", "b"]}, metrics="popularity@2", history=had)["popularity@2"]
    1.5
    """
    values = popular = lists.popularity(popularity)
    if scale == "percentile":
        order = np.sort(popular[popular > 0])
        low, high = np.searchsorted(order, popular, "left"), np.searchsorted(order, popular, "right")
        values = np.where(popular > 0, (low + high + 1) / 2 / max(len(order), 1), 0.0)
    elif scale != "none":
        values = popular / max(popular.sum() if scale == "share" else popular.max(initial=0.0), TINY)
    over = lists.places(k, divisor) if cold == "zero" else lists.sum(lists.look_up(popular > 0))
    return Ratio(lists.sum(lists.look_up(values)), over)


@per_list(
    "novelty",
    aliases=("mean_inv_user_freq", "miuf", "surprisal", "self_information"),
    formula="sum over the recommended items of -log(popularity / total) / <divisor>",
    latex=r"\frac{1}{<divisor>} \sum_{r \le k} -\log_2 p(i_r)",
    use_when="How unpopular the recommended items are, in bits.",
    caveat="It depends strongly on the treatment of cold items (cold=). Non-relevant items are novel too.",
    bounds=ABOVE_ZERO,
)
def novelty(
    lists: Recommendations,
    *,
    k: Cutoff = None,
    popularity: PopularityOf = "users",
    popularity_total: Total = "users",
    cold: Cold = "one",
    log: Log = 2,
    scale: Scale = "none",
    divisor: ListDivisor = "shown",
) -> Ratio:
    """Novelty: the mean self-information of the recommended items, from their popularity in the history.

    Zhou et al., 2010, doi:10.1073/pnas.1000488107.

    >>> had = {"u1": ["a"], "u2": ["a", "b"]}
    >>> rs.evaluate(run={"u3": ["a", "b"]}, metrics="novelty@2", history=had)["novelty@2"]
    0.5
    """
    popular, total = share_of(lists, popularity, popularity_total)
    values, had = surprise(popular, total, cold, log), popular > 0
    if scale == "log_users":
        values = values / max(float(logarithm(lists.catalogue.users.count, log)), TINY)
    if cold_rows := int(lists.frequency()[~had].sum()):
        lists.catalogue.note(f"{cold_rows:,} of {len(lists.item):,} recommended items have no history (cold={cold!r})")
    if cold == "skip":
        return Ratio(lists.sum(lists.look_up(np.where(had, values, 0.0))), lists.sum(lists.look_up(had)))
    return Ratio(lists.sum(lists.look_up(values)), lists.places(k, divisor))


discovery = partial(  # unpopular relevant items, discounted by rank
    metric,
    reads="recommendations",
    grades=True,
    choices={"undefined": 0},
    caveat="A list without a relevant item scores 0, however novel its items are.",
)


@discovery(
    "epc",
    aliases=("expected_popularity_complement",),
    formula="sum over relevant items of (1 - popularity / total) / log2(rank+1), divided by sum of 1 / log2(rank+1)",
    latex=r"\frac{\sum_{r \le k} \mathrm{rel}_r (1 - p(i_r)) / \log_2(r+1)}{\sum_{r \le k} 1 / \log_2(r+1)}",
    use_when="Novelty of the relevant items, with more weight at the top.",
)
def epc(
    lists: Recommendations, *, k: Cutoff = None, popularity: PopularityOf = "users", popularity_total: Total = "users"
) -> Ratio:
    """Expected popularity complement: how unpopular the relevant recommended items are, discounted by rank.

    Vargas and Castells, 2011, doi:10.1145/2043932.2043955.

    >>> had = {"u1": ["a"], "u2": ["a", "b"]}
    >>> rs.evaluate({"u3": ["b"]}, {"u3": ["b"]}, "epc@1", history=had)["epc@1"]
    0.5
    """
    popular, total = share_of(lists, popularity, popularity_total)
    return _discovery(lists, 1.0 - popular / total)


@discovery(
    "efd",
    aliases=("expected_free_discovery",),
    formula="sum over relevant items of -log(popularity / total) / log2(rank+1), divided by sum of 1 / log2(rank+1)",
    latex=r"\frac{\sum_{r \le k} -\mathrm{rel}_r \log_2 p(i_r) / \log_2(r+1)}{\sum_{r \le k} 1 / \log_2(r+1)}",
    use_when="As epc, as self-information in bits.",
    bounds=ABOVE_ZERO,
)
def efd(
    lists: Recommendations,
    *,
    k: Cutoff = None,
    popularity: PopularityOf = "users",
    popularity_total: Total = "interactions",
    cold: Cold = "least",
    log: Log = 2,
) -> Ratio:
    """Expected free discovery: self-information of the relevant recommended items, discounted by rank.

    Vargas and Castells, 2011, doi:10.1145/2043932.2043955.

    >>> had = {"u1": ["a"], "u2": ["a", "b", "c"]}
    >>> rs.evaluate({"u3": ["b"]}, {"u3": ["b"]}, "efd@1", history=had)["efd@1"]
    2.0
    """
    popular, total = share_of(lists, popularity, popularity_total)
    return _discovery(lists, surprise(popular, total, cold, log))


def _discovery(lists: Recommendations, gain: Floats) -> Ratio:
    each = exposures(lists.rank, "log2")
    return Ratio(lists.sum(each * lists.credit * lists.look_up(gain)), lists.sum(each))


@per_list(
    "tail",
    title="Long tail share",
    aliases=("aplt", "tail_percentage", "tail_share"),
    formula="recommended items in the long tail(k) / <divisor>",
    latex=r"\frac{|\{r \le k : i_r \in \mathrm{tail}\}|}{<divisor>}",
    use_when="How much of the lists is long-tail items.",
    caveat="It depends on where the tail begins; whether cold items are in the tail depends on tail_rule.",
    better="neither",
    bounds=ABOVE_ZERO,
)
def tail(
    lists: Recommendations,
    *,
    k: Cutoff = None,
    tail_rule: TailRule = "interactions",
    tail_at: TailAt = 0.8,
    tail_ties: TailTies = "catalogue",
    divisor: ListDivisor = "shown",
    unit: Unit = "share",
    popularity: PopularityOf = "interactions",
) -> Ratio:
    """Fraction of the recommended items that are in the long tail.

    Abdollahpouri, Burke and Mobasher, 2017 (average percentage of long-tail items).

    >>> had = {"u1": ["a"], "u2": ["a", "b"], "u3": ["a"], "u4": ["a"]}
    >>> rs.evaluate(run={"u5": ["a", "b"]}, metrics="tail@2", history=had, catalogue=["a", "b", "c"])["tail@2"]
    0.5
    """
    inside = lists.catalogue.in_tail(popularity, tail_rule, tail_at, tail_ties, lists.universe)
    over = lists.per_query(1.0) if unit == "count" else lists.places(k, divisor)
    return Ratio(lists.sum(lists.look_up(inside)) * (100.0 if unit == "percent" else 1.0), over)


@per_list(
    "unseen",
    title="Unseen items",
    aliases=("unseen_share",),
    formula="recommended items not in the user's history(k) / <divisor>",
    latex=r"\frac{|\{r \le k : i_r \notin \mathrm{history}\}|}{<divisor>}",
    use_when="Whether lists contain items that the user has not interacted with.",
    caveat="In domains with repeat consumption (groceries, music) 1 is not the goal.",
    better="neither",
)
def unseen(lists: Recommendations, *, k: Cutoff = None, divisor: ListDivisor = "shown") -> Ratio:
    """Fraction of the recommended items that are not in the user's history.

    >>> rs.evaluate(run={"u1": ["a", "b"]}, metrics="unseen@2", history={"u1": ["a"]})["unseen@2"]
    0.5
    """
    places = lists.places(k, divisor)  # empty ranks count as unseen
    return Ratio(places - lists.sum(lists.in_history(lists.query, lists.item)), places)


@metric(
    "filled",
    title="Full lists",
    aliases=("sufficient_reco", "full_lists"),
    reads="recommendations",
    formula="1 if the list has <at_least>, else 0",
    latex=r"[\mathrm{length}(k) \ge k]",
    use_when="Fraction of users with a full list; with at_least=1, with a non-empty list.",
    caveat="It does not measure quality.",
)
def filled(lists: Recommendations, *, k: Cutoff = None, at_least: AtLeast = None) -> Ratio:
    """1 if a list is full, else 0.

    A list is full with k items, or with at_least items.

    >>> rs.evaluate(run={"u1": ["a", "b"], "u2": ["a"]}, metrics="filled@2")["filled@2"]
    0.5
    """
    return Ratio(lists.number(lists.length >= (at_least or k or 1)), lists.per_query(1.0))
