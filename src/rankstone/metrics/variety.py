"""Diversity within and between lists: intra-list diversity, personalisation, serendipity, categories, calibration."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from rankstone.align.alignment import Bools, Floats, Ints
from rankstone.align.recommendations import Cutoff, Shown
from rankstone.data.id_encoder import among, distinct, pair
from rankstone.metrics.registry import Parameter
from rankstone.metrics.shown import (
    ABOVE_ZERO,
    Exposure,
    Log,
    Patience,
    ShownDivisor,
    exposures,
    jensen_shannon,
    one_less,
    over_lists,
    per_list,
    relative,
    shares_by_list,
)
from rankstone.program.ranking import Ratio

Distance = Annotated[
    Literal["cosine", "hamming", "cooccurrence"],
    Parameter(
        "how far two items are from each other",
        {
            "cosine": "1 - cosine of the items' vectors",
            "hamming": "how many entries of the vectors differ",
            "cooccurrence": "1 - users who had both / root of the users of either multiplied",
        },
    ),
]
Vectors: TypeAlias = Any  # a row an item, dense or sparse
PairDivisor = Annotated[
    Literal["pairs", "shown"],
    Parameter(
        "what the sum over pairs is divided by",
        {"pairs": "over the pairs", "shown": "over the items shown"},
        quiet=("pairs",),
    ),
]
MissingFeatures = Annotated[
    Literal["error", "skip", "zero"],
    Parameter(
        "an item that has no vector",
        {
            "error": "an item without a vector is an error",
            "skip": "pairs with an item that has no vector are left out",
            "zero": "an item without a vector is like no other",
        },
        quiet=("error",),
    ),
]
Likeness = Annotated[
    Literal["difference", "likeness"],
    Parameter("which end is 0", {"likeness": "as a likeness: 1 less it"}, quiet=("difference",)),
]
Difference = Annotated[
    Literal["likeness", "difference"],
    Parameter("which end is 0", {"difference": "as a difference: 1 less it"}, quiet=("likeness",)),
]
ListLength = Annotated[
    Literal["own", "k"],
    Parameter("how long lists are taken to be", {"k": "every list taken to hold k items"}, quiet=("own",)),
]
Divergence = Annotated[
    Literal["kl", "js"],
    Parameter(
        "how two distributions are compared",
        quiet=("kl", "js"),
        text={"kl": "Kullback and Leibler's divergence", "js": "Jensen and Shannon's divergence"},
    ),
]
Mixed = Annotated[float, Parameter("how much of the other distribution is mixed in", above=0, below=1)]
LuckyForm = Annotated[
    Literal["popularity", "history", "relevant"],
    Parameter(
        "what makes an item a lucky find",
        {
            "popularity": "a relevant item that stands higher than its popularity would put it",
            "history": "an item that is unlike what the user had",
            "relevant": "1 - likeness of all relevant items shown to what the user had, added up",
        },
    ),
]
CategoryDivisor = Annotated[
    Literal["shown", "k", "categories"],
    Parameter(
        "what the number of categories is divided by",
        {"shown": "over the items shown", "k": "over k", "categories": "over all categories"},
        latex={"shown": r"\mathrm{shown}(k)", "k": "k", "categories": r"\mathrm{categories}"},
    ),
]
CategoriesOf = Annotated[
    Literal["shown", "relevant"],
    Parameter("whose categories count", {"relevant": "of the relevant items shown"}, quiet=("shown",)),
]


def vectors_of(shown: Shown, distance: str, missing: str) -> tuple[Any, Bools]:
    """A vector for each item, sparse or dense, and which items have one."""
    if distance == "cooccurrence":
        return shown.remember("users", lambda: _users(shown)), np.ones(shown.universe, dtype=bool)
    vectors, there = shown.catalogue.vectors(shown.universe)
    lost = ~shown.look_up(there)
    if lost.any():
        count = int(np.count_nonzero(lost))
        shown.catalogue.note(f"{count:,} of {len(lost):,} shown items have no vector (missing_features={missing!r})")
    if missing == "error":
        shown.refuse_items(lost, "item {} has no vector; missing_features='skip' leaves out pairs with it")
    return vectors, there


def _users(shown: Shown) -> Any:
    """The users that had each item."""
    import scipy.sparse as sparse

    user, item = shown.catalogue.pairs
    return sparse.csr_array((np.ones(len(item)), (item, user)), shape=(shown.universe, shown.catalogue.users.count))


_BATCH = 1 << 18  # numbers that are held at a time, so few that they stay in the cache
_SMALL = 1 << 22  # numbers of a table that is read as it is


def scales(vectors: Vectors, there: Bools, *items: Ints) -> Floats:
    """What the vectors of some items are multiplied by to be 1 long; 0 for items that have none, or no direction."""
    wanted = np.zeros(len(there), dtype=bool)
    for some in items:
        wanted[some] = True
    at, size = np.flatnonzero(wanted & there), np.zeros(len(there))
    step = _rows_at_once(vectors)
    for some in (at[start : start + step] for start in range(0, len(at), step)):
        found = _gathered(vectors, some)
        size[some] = np.sqrt(_products(found, found))
    return np.divide(1.0, size, where=size > 0, out=size)


def squared_sums(shown: Shown, vectors: Vectors, scale: Floats) -> Floats:
    """The squared length of the sum of the vectors of each list's items, each multiplied by its scale."""
    out = np.zeros(len(shown))
    for lists, sums in in_batches(shown, vectors, scale):
        out[lists] = _products(sums, sums)
    return out


def in_batches(shown: Shown, vectors: Vectors, scale: Floats) -> Any:
    """Some lists at a time, with the sum of the vectors of each one's items, each multiplied by its scale."""
    import scipy.sparse as sparse

    small = not isinstance(vectors, np.ndarray) or vectors.size <= _SMALL
    table = np.asarray(vectors, dtype=np.float64) if small and isinstance(vectors, np.ndarray) else vectors
    first, step = 0, _rows_at_once(vectors)
    while first < len(shown):
        last = max(first + 1, int(np.searchsorted(shown.offsets, shown.offsets[first] + step, "right")) - 1)
        offsets = shown.offsets[first : last + 1]
        weights, at = _described(scale, shown.item[offsets[0] : offsets[-1]])
        found = table if small else _gathered(table, at)
        index = at if small else np.arange(len(at), dtype=np.int32)
        by_list = (weights, index, (offsets - offsets[0]).astype(np.int32))
        yield slice(first, last), sparse.csr_array(by_list, shape=(last - first, found.shape[0])) @ found
        first = last


def _rows_at_once(vectors: Vectors) -> int:
    """So many rows that their vectors fit the cache; more of sparse ones, which take little room and more steps."""
    return max(_BATCH // max(vectors.shape[1], 1), 1) if isinstance(vectors, np.ndarray) else _BATCH


def _described(scale: Floats, items: Ints) -> tuple[Floats, Ints]:
    """The scale of each item, and the item; any other one that has a vector, where the scale is 0."""
    weights = scale[items]
    return weights, np.where(weights > 0, items, 0)


def _gathered(vectors: Vectors, items: Ints) -> Any:
    """The vectors of some items."""
    return (
        np.asarray(vectors.take(items, axis=0), dtype=np.float64) if isinstance(vectors, np.ndarray) else vectors[items]
    )


def _products(one: Any, other: Any) -> Floats:
    """The inner product of each row of two matrices, both dense or both sparse."""
    if not isinstance(one, np.ndarray):
        return np.asarray(one.multiply(other).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", one, other)


@per_list(
    "ild",
    aliases=("intra_list_diversity", "intralist_diversity", "diversity"),
    spellings={"ils": "ild(sign='likeness')", "intra_list_similarity": "ild(sign='likeness')"},
    formula="mean distance of the pairs of items shown",
    latex=r"\frac{2}{s (s-1)} \sum_{i < j} d(i, j)",
    use="Whether a list offers a choice, or the same thing ten times.",
    beware="Random lists have the highest. A list of one item has no pair, and is left out.",
    bounds=(-math.inf, math.inf),
)
def ild(
    shown: Shown,
    *,
    k: Cutoff = None,
    distance: Distance = "cosine",
    divisor: PairDivisor = "pairs",
    missing_features: MissingFeatures = "error",
    sign: Likeness = "difference",
) -> Ratio:
    """How different the items of a list are from each other, on average over its pairs (Ziegler et al. 2005).

    >>> films = rs.catalogue(["a", "b", "c"], embedding=[[1, 0], [0, 1], [1, 0]])
    >>> rs.evaluate(run={"u1": ["a", "b", "c"]}, metrics="ild@3", catalogue=films)["ild@3"]
    0.6666666666666666
    """
    vectors, there = vectors_of(shown, distance, missing_features)
    view = shown.rows(shown.look_up(there)) if missing_features == "skip" else shown
    pairs = view.shown * (view.shown - 1) / 2
    if distance == "hamming":
        vectors, entries = one_hot(vectors), vectors.shape[1]
        equal = squared_sums(view, vectors, there.astype(np.float64)) - entries * view.sum(view.look_up(there))
        far = pairs * entries - equal / 2
    else:
        scale = scales(vectors, there, view.item)
        far = pairs - (squared_sums(view, vectors, scale) - view.sum(view.look_up(scale > 0))) / 2
    return Ratio(far, pairs if divisor == "pairs" else shown.shown, one_less if sign == "likeness" else None)


def one_hot(vectors: Vectors) -> Any:
    """For each entry of a vector a 1 at its value's place, so that two vectors' product counts the equal entries."""
    import scipy.sparse as sparse

    values = vectors if isinstance(vectors, np.ndarray) else vectors.toarray()
    most = 8 * values.shape[1]  # as many bytes as the values take
    codes = _small_numbers(values, most)
    if codes is None:
        codes = np.empty(values.shape, dtype=np.int64)
        for at, column in enumerate(values.T):
            codes[:, at] = np.unique(column, return_inverse=True)[1]
    sizes = codes.max(axis=0, initial=0) + 1
    codes += np.cumsum(sizes) - sizes
    shape = (len(values), int(sizes.sum()))
    if shape[1] <= most:
        out = np.zeros(shape, dtype=np.uint8)
        np.put_along_axis(out, codes, 1, axis=1)
        return out
    starts = np.arange(len(values) + 1) * values.shape[1]
    return sparse.csr_array((np.ones(codes.size), codes.ravel(), starts), shape=shape)


def _small_numbers(values: Any, most: int) -> Ints | None:
    """Whole numbers from 0 on, if the values are such but for the least of each column, with few different ones."""
    if values.dtype.kind not in "biuf" or not values.size or not np.abs(values).max() < 1 << 31:  # or not a number
        return None
    codes = values.astype(np.int64)
    if values.dtype.kind == "f" and (codes != values).any():
        return None
    codes -= codes.min(axis=0)
    return codes if codes.max(axis=0).sum() + values.shape[1] <= most else None


@over_lists(
    "personalisation",
    aliases=("personalization", "inter_list_diversity", "interlist_diversity"),
    formula="1 - mean over pairs of lists of the items in common / root of the lengths multiplied",
    latex=r"1 - \frac{1}{L (L-1)} \sum_{a \ne b} \frac{|a \cap b|}{\sqrt{|a|\,|b|}}",
    use="Whether users get lists of their own: 0 if all get the same, 1 if no item is shown twice.",
    beware="Random lists have the highest. Lists without an item are left out.",
    bounds=(-math.inf, math.inf),
)
def personalisation(shown: Shown, *, k: Cutoff = None, list_length: ListLength = "own") -> Ratio:
    """How little two users' lists have in common, on average over all pairs of lists.

    >>> rs.evaluate(run={"u1": ["a", "b"], "u2": ["a", "c"]}, metrics="personalisation@2")["personalisation@2"]
    0.5
    """
    if list_length == "k":
        size = float(k or shown.shown.max(initial=1.0))
        lists = len(shown)
        common = (shown.sum(shown.row_times) - size) / size
        return Ratio(lists - 1 - common, shown.per_query(lists - 1.0))
    lists = int(np.count_nonzero(shown.shown))
    share = 1.0 / np.sqrt(np.maximum(shown.shown, 1.0))
    mine = share[shown.query]
    others = shown.look_up(shown.times(exposure=mine)) - mine
    there = shown.shown > 0
    return Ratio(np.where(there, lists - 1 - shown.sum(mine * others), 0.0), np.where(there, lists - 1.0, 0.0))


@per_list(
    "overlap",
    aliases=("list_overlap",),
    spellings={"unexpectedness": "overlap(sign='difference')"},
    formula="items in common with the reference's list / items shown",
    latex=r"\frac{|\mathrm{shown}(k) \cap \mathrm{reference}(k)|}{<divisor>}",
    use="How much of a list a baseline would have shown as well.",
    beware="A different list is not a better one.",
    better="neither",
)
def overlap(shown: Shown, *, k: Cutoff = None, divisor: ShownDivisor = "shown", sign: Difference = "likeness") -> Ratio:
    """Share of a list that is in the reference's list of the same query too.

    >>> rs.evaluate(run={"u1": ["a", "b"]}, metrics="overlap@2", reference={"u1": ["b", "c"]})["overlap@2"]
    0.5
    """
    other = shown.reference
    both = among(pair(shown.query, shown.item), pair(other.query, other.item))
    over = np.where(shown.shown > 0, shown.places(k, divisor), 0.0)
    return Ratio(shown.sum(both), over, one_less if sign == "difference" else None)


@per_list(
    "serendipity",
    grades=lambda parameters: parameters["form"] != "history",
    formula="<form>",
    latex=r"\mathrm{serendipity}",
    use="Whether a list holds what the user likes and would not have found.",
    beware="No two libraries mean the same: choose a form, and name it.",
    bounds=(-math.inf, math.inf),
)
def serendipity(
    shown: Shown,
    *,
    k: Cutoff = None,
    form: LuckyForm = "popularity",
    distance: Distance = "cosine",
    missing_features: MissingFeatures = "error",
) -> Ratio:
    """How much of a list is a lucky find: unexpected, and (where a truth is given) relevant.

    >>> had = {"u1": ["a"], "u2": ["a", "b"], "u3": ["a", "b", "c"]}
    >>> rs.evaluate({"u4": ["c"]}, {"u4": ["c", "a"]}, "serendipity@2", history=had)["serendipity@2"]
    0.3333333333333333
    """
    if form == "popularity":
        return _unexpected(shown)
    had = shown.history
    vectors, there = vectors_of(shown, distance, missing_features)
    near = _nearness(shown, had, vectors, there)  # of each row, added up over the history
    size = had.shown
    if form == "history":
        sizes = shown.spread(size)
        each = np.where(sizes > 0, 1.0 - near / np.maximum(sizes, 1.0), 0.0)
        return Ratio(shown.sum(each), np.where(size > 0, shown.shown, 0.0))
    return Ratio(size - shown.sum(near * shown.credit), np.where(shown.sum(shown.credit) > 0, size, 0.0))


def _unexpected(shown: Shown) -> Ratio:
    popular = shown.popularity("interactions")
    _, level = np.unique(-popular, return_inverse=True)
    n = shown.size
    expected = np.where(popular > 0, (n - level) / n, 0.0)  # the most popular items stand first
    ahead = np.maximum((n + 1.0 - shown.rank) / n - shown.look_up(expected), 0.0)
    return Ratio(shown.sum(ahead * shown.credit), shown.shown)


def _nearness(shown: Shown, had: Shown, vectors: Vectors, there: Bools) -> Floats:
    """The likeness of each row's item to all that its query had, added up."""
    out, scale = np.zeros(len(shown.item)), scales(vectors, there, shown.item, had.item)
    for lists, sums in in_batches(had, vectors, scale):
        rows = slice(int(shown.offsets[lists.start]), int(shown.offsets[lists.stop]))
        weights, at = _described(scale, shown.item[rows])
        out[rows] = weights * _products(_gathered(vectors, at), sums[shown.query[rows] - lists.start])
    return out


@per_list(
    "categories",
    aliases=("categorical_diversity",),
    spellings={"srecall": "categories(of='relevant', divisor='categories')"},
    grades=lambda parameters: parameters["of"] == "relevant",
    formula="different categories of the items shown / items shown",
    latex=r"\frac{|\bigcup_{r \le k} \mathrm{categories}(i_r)|}{<divisor>}",
    use="How many kinds of things a list offers.",
    beware="An item without a category adds none.",
    bounds=ABOVE_ZERO,
)
def categories(
    shown: Shown, *, k: Cutoff = None, divisor: CategoryDivisor = "shown", of: CategoriesOf = "shown"
) -> Ratio:
    """How many different categories a list has, for each item shown.

    >>> films = rs.catalogue(["a", "b", "c"], category=["drama", "war", "drama"])
    >>> rs.evaluate(run={"u1": ["a", "b", "c"]}, metrics="categories@3", catalogue=films)["categories@3"]
    0.6666666666666666
    """
    labels = shown.labels("category")
    view = shown if of == "shown" else shown.rows(shown.credit > 0)
    row, mine = labels.by_row(view.item)
    different = distinct(pair(view.query[row], mine.codes)) >> 32
    count = np.bincount(different, minlength=len(shown)).astype(np.float64)
    over = shown.per_query(len(labels.names)) if divisor == "categories" else shown.places(k, divisor)
    return Ratio(count, over)


@per_list(
    "calibration",
    aliases=("miscalibration",),
    formula="<form> of the categories of the history and of the list",
    latex=r"\sum_c p_c \log \frac{p_c}{(1-\alpha) q_c + \alpha p_c}",
    use="Whether a user who watches a third war films gets a third war films. 0 is calibrated.",
    beware="Short lists cannot be calibrated for users of many interests.",
    bounds=ABOVE_ZERO,
    better="lower",
)
def calibration(
    shown: Shown,
    *,
    k: Cutoff = None,
    form: Divergence = "kl",
    alpha: Mixed = 0.01,
    log: Log = "e",
    exposure: Exposure = "one",
    patience: Patience = 0.85,
) -> Ratio:
    """How far the categories of a list are from those of what the user had (Steck 2018).

    An item gives each of its categories an equal share.

    >>> films = rs.catalogue(["a", "b"], category=["drama", "war"])
    >>> had = {"u1": ["a", "b"]}
    >>> rs.evaluate(run={"u1": ["a", "b"]}, metrics="calibration@2", catalogue=films, history=had)["calibration@2"]
    0.0
    """
    had = shown.history
    many = max(len(shown.labels("category").names), 1)
    ours, q = _shares(shown, exposures(shown.rank, exposure, patience))
    theirs, p = _shares(had, np.ones(len(had.item)))
    keys = np.union1d(ours, theirs)
    both = np.zeros((2, len(keys)))
    both[0, np.searchsorted(keys, theirs)] = p
    both[1, np.searchsorted(keys, ours)] = q
    p, q = both
    if form == "kl":
        terms = relative(p, (1 - alpha) * q + alpha * p, log)
    else:
        terms = jensen_shannon((1 - alpha) * p + alpha * q, (1 - alpha) * q + alpha * p, log)
    value = np.bincount(keys // many, terms, minlength=len(shown))
    defined = (np.bincount(theirs // many, minlength=len(shown)) > 0) & (shown.shown > 0)
    return Ratio(np.where(defined, value, 0.0), shown.number(defined))


def _shares(shown: Shown, each: Floats) -> tuple[Ints, Floats]:
    """The share of each category in each list: keys of both, and the shares."""
    row, mine = shown.labels("category").by_row(shown.item)
    per_item = np.bincount(row, mine.weights, minlength=len(shown.item))
    share = each[row] * mine.weights / np.maximum(per_item, 1e-300)[row]
    return shares_by_list(shown, row, mine.codes, share, max(len(mine.names), 1))[:2]
