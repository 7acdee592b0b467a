"""Diversity within and between lists: intra-list diversity, personalisation, serendipity, categories, calibration."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from rankstone.align.alignment import Bools, Floats, Ints
from rankstone.align.recommendations import Cutoff, Recommendations
from rankstone.data.id_encoder import among, distinct, pair
from rankstone.metrics.beyond_accuracy import (
    ABOVE_ZERO,
    Exposure,
    ListDivisor,
    Log,
    Patience,
    exposures,
    jensen_shannon,
    one_less,
    over_lists,
    per_list,
    relative,
    shares_by_list,
)
from rankstone.metrics.registry import Parameter
from rankstone.program.ranking import Ratio

_DISTANCE = Parameter(
    "distance of two items",
    {
        "cosine": "distance: 1 - cosine similarity of the item vectors",
        "hamming": "distance: number of different entries of the item vectors",
        "jaccard": "distance: 1 - entries that both item vectors have / entries that either has",
        "cooccurrence": "distance: 1 - users of both items / sqrt(users of one * users of the other)",
    },
    applies_when=("form", ("history", "relevant")),
)
Distance = Annotated[Literal["cosine", "hamming", "jaccard", "cooccurrence"], _DISTANCE]
CosineDistance = Annotated[Literal["cosine", "cooccurrence"], _DISTANCE]
Vectors: TypeAlias = Any  # one row per item, dense or sparse
PairDivisor = Annotated[
    Literal["pairs", "shown"],
    Parameter(
        "denominator of the sum over pairs",
        {"pairs": "divided by the number of pairs", "shown": "divided by the number of recommended items"},
        hidden=("pairs",),
        text={"pairs": "number of pairs", "shown": "number of recommended items"},
    ),
]
MissingFeatures = Annotated[
    Literal["error", "skip", "zero"],
    Parameter(
        "treatment of items without a vector",
        {
            "error": "an item without a vector is an error",
            "skip": "pairs with an item without a vector are ignored",
            "zero": "an item without a vector has similarity 0 to all others",
        },
        hidden=("error",),
        applies_when=("form", ("history", "relevant")),
    ),
]
Likeness = Annotated[
    Literal["difference", "likeness"],
    Parameter("diversity or similarity", {"likeness": "as a similarity: 1 - value"}, hidden=("difference",)),
]
Difference = Annotated[
    Literal["likeness", "difference"],
    Parameter("overlap or its complement", {"difference": "as a difference: 1 - value"}, hidden=("likeness",)),
]
ListLength = Annotated[
    Literal["own", "k"],
    Parameter("length of the lists", {"k": "each list counts as k items long"}, hidden=("own",)),
]
Divergence = Annotated[
    Literal["kl", "js"],
    Parameter(
        "divergence of two distributions",
        hidden=("kl", "js"),
        text={"kl": "Kullback-Leibler divergence", "js": "Jensen-Shannon divergence"},
    ),
]
Mixed = Annotated[float, Parameter("smoothing: weight of the other distribution that is mixed in", above=0, below=1)]
SerendipityForm = Annotated[
    Literal["popularity", "history", "relevant"],
    Parameter(
        "definition of serendipity",
        {
            "popularity": "relevant items ranked above their popularity rank",
            "history": "items dissimilar to the user's history",
            "relevant": "relevant items dissimilar to the user's history",
        },
        text={
            "popularity": (
                "mean over the recommended items of relevance * max(0, rank score - popularity score), "
                "with scores from 1 (first) to 1 / items (last)"
            ),
            "history": "mean over the recommended items of the distance to the items of the user's history",
            "relevant": "1 - sum over the relevant recommended items of the mean similarity to the user's history",
        },
    ),
]
CategoryDivisor = Annotated[
    Literal["shown", "k", "categories"],
    Parameter(
        "denominator of the number of categories",
        {
            "shown": "divided by the number of recommended items",
            "k": "divided by k",
            "categories": "divided by the number of all categories",
        },
        text={
            "shown": "number of recommended items",
            "k": "k",
            "retrieved": "number of recommended items",
            "categories": "number of all categories",
        },
        latex={"shown": r"\mathrm{length}(k)", "k": "k", "categories": r"\mathrm{categories}"},
    ),
]
CategoriesOf = Annotated[
    Literal["shown", "relevant"],
    Parameter(
        "items whose categories are counted", {"relevant": "categories of the relevant items only"}, hidden=("shown",)
    ),
]


def vectors_of(lists: Recommendations, distance: str, missing: str) -> tuple[Any, Bools]:
    """One vector per item, sparse or dense, and which items have one."""
    if distance == "cooccurrence":
        return lists.remember("users", lambda: _users(lists)), np.ones(lists.universe, dtype=bool)
    vectors, there = lists.catalogue.vectors(lists.universe)
    lost = ~lists.look_up(there)
    if lost.any():
        count = int(np.count_nonzero(lost))
        lists.catalogue.note(
            f"{count:,} of {len(lost):,} recommended items have no vector (missing_features={missing!r})"
        )
    if missing == "error":
        lists.raise_at_items(lost, "item {} has no vector; missing_features='skip' ignores pairs with it")
    return vectors, there


def _users(lists: Recommendations) -> Any:
    """The users of each item in the history."""
    import scipy.sparse as sparse

    user, item = lists.catalogue.pairs
    return sparse.csr_array((np.ones(len(item)), (item, user)), shape=(lists.universe, lists.catalogue.users.count))


_BATCH = 1 << 18  # numbers held at a time; they fit into the cache
_SMALL = 1 << 22  # numbers of a table that is not read in batches


def scales(vectors: Vectors, there: Bools, *items: Ints) -> Floats:
    """The factors that normalise the vectors of items; 0 for items without a vector, or with a vector of zeros."""
    wanted = np.zeros(len(there), dtype=bool)
    for rows in items:
        wanted[rows] = True
    at, size = np.flatnonzero(wanted & there), np.zeros(len(there))
    step = _rows_at_once(vectors)
    for rows in (at[start : start + step] for start in range(0, len(at), step)):
        gathered = _gathered(vectors, rows)
        size[rows] = np.sqrt(_products(gathered, gathered))
    return np.divide(1.0, size, where=size > 0, out=size)


def squared_sums(lists: Recommendations, vectors: Vectors, scale: Floats) -> Floats:
    """The squared length of the sum of the vectors of each list's items, each multiplied by its scale."""
    out = np.zeros(len(lists))
    for batch, sums in in_batches(lists, vectors, scale):
        out[batch] = _products(sums, sums)
    return out


def in_batches(lists: Recommendations, vectors: Vectors, scale: Floats) -> Any:
    """Batches of lists, with the sum of the vectors of each list's items, each multiplied by its scale."""
    import scipy.sparse as sparse

    small = not isinstance(vectors, np.ndarray) or vectors.size <= _SMALL
    table = np.asarray(vectors, dtype=np.float64) if small and isinstance(vectors, np.ndarray) else vectors
    first, step = 0, _rows_at_once(vectors)
    while first < len(lists):
        last = max(first + 1, int(np.searchsorted(lists.offsets, lists.offsets[first] + step, "right")) - 1)
        offsets = lists.offsets[first : last + 1]
        weights, at = _described(scale, lists.item[offsets[0] : offsets[-1]])
        gathered = table if small else _gathered(table, at)
        index = at if small else np.arange(len(at), dtype=np.int32)
        by_list = (weights, index, (offsets - offsets[0]).astype(np.int32))
        yield slice(first, last), sparse.csr_array(by_list, shape=(last - first, gathered.shape[0])) @ gathered
        first = last


def _rows_at_once(vectors: Vectors) -> int:
    """The number of rows whose vectors fit into the cache; more for sparse vectors, which are small."""
    return max(_BATCH // max(vectors.shape[1], 1), 1) if isinstance(vectors, np.ndarray) else _BATCH


def _described(scale: Floats, items: Ints) -> tuple[Floats, Ints]:
    """The scale of each item, and the item; item 0 where the scale is 0."""
    weights = scale[items]
    return weights, np.where(weights > 0, items, 0)


def _gathered(vectors: Vectors, items: Ints) -> Any:
    """The vectors of items."""
    return (
        np.asarray(vectors.take(items, axis=0), dtype=np.float64) if isinstance(vectors, np.ndarray) else vectors[items]
    )


def _products(left: Any, right: Any) -> Floats:
    """The inner product of each row of two matrices, both dense or both sparse."""
    if not isinstance(left, np.ndarray):
        return np.asarray(left.multiply(right).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", left, right)


@per_list(
    "ild",
    title="Intra-list diversity (ILD)",
    aliases=("intra_list_diversity", "intralist_diversity", "diversity"),
    spellings={"ils": "ild(sign='likeness')", "intra_list_similarity": "ild(sign='likeness')"},
    formula="sum of the distances of all pairs of recommended items / <divisor>",
    latex=r"\frac{2}{s (s-1)} \sum_{i < j} d(i, j)",
    use_when="Whether the items of a list differ from each other.",
    caveat="Random lists have the highest value. Lists of one item have no pairs and are ignored.",
    bounds=(-math.inf, math.inf),
)
def ild(
    lists: Recommendations,
    *,
    k: Cutoff = None,
    distance: Distance = "cosine",
    divisor: PairDivisor = "pairs",
    missing_features: MissingFeatures = "error",
    sign: Likeness = "difference",
) -> Ratio:
    """Intra-list diversity: the mean distance of the pairs of items in a list.

    Ziegler et al., 2005, doi:10.1145/1060745.1060754.

    >>> films = rs.catalogue(["a", "b", "c"], embedding=[[1, 0], [0, 1], [1, 0]])
    >>> rs.evaluate(run={"u1": ["a", "b", "c"]}, metrics="ild@3", catalogue=films)["ild@3"]
    0.6666666666666666
    """
    vectors, there = vectors_of(lists, distance, missing_features)
    view = lists.rows(lists.look_up(there)) if missing_features == "skip" else lists
    pairs = view.length * (view.length - 1) / 2
    if distance == "hamming":
        vectors, entries = one_hot(vectors), vectors.shape[1]
        equal = squared_sums(view, vectors, there.astype(np.float64)) - entries * view.sum(view.look_up(there))
        far = pairs * entries - equal / 2
    elif distance == "jaccard":
        far = _jaccard_distances(view, vectors, there)
    else:
        scale = scales(vectors, there, view.item)
        far = pairs - (squared_sums(view, vectors, scale) - view.sum(view.look_up(scale > 0))) / 2
    return Ratio(far, pairs if divisor == "pairs" else lists.length, one_less if sign == "likeness" else None)


def _jaccard_distances(lists: Recommendations, vectors: Vectors, there: Bools) -> Floats:
    """The sum of the Jaccard distances of all pairs of each list's items; 1 to an item without a vector."""
    import scipy.sparse as sparse

    entries = sparse.csr_array(vectors != 0).astype(np.float64)
    sizes, out = np.diff(entries.indptr), np.zeros(len(lists))
    ends = lists.broadcast(lists.offsets[1:])
    for step in range(1, int(lists.length.max(initial=0))):
        first = np.flatnonzero(np.arange(len(lists.item)) + step < ends)
        both = np.logical_and(*(lists.look_up(there)[rows] for rows in (first, first + step)))
        left, right = (np.where(both, lists.item[rows], 0) for rows in (first, first + step))
        common = _products(entries[left], entries[right])
        either = sizes[left] + sizes[right] - common
        near = np.where(both, np.where(either > 0, common / np.maximum(either, 1), 1.0), 0.0)
        out += np.bincount(lists.query[first], 1.0 - near, minlength=len(lists))
    return out


def one_hot(vectors: Vectors) -> Any:
    """One-hot encoding of each entry, so that the product of two vectors counts their equal entries."""
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
    """Small whole numbers from 0, if each column has such values after subtracting its minimum; else None."""
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
    formula="1 - mean over pairs of lists of common items / sqrt(length of one * length of the other)",
    latex=r"1 - \frac{1}{L (L-1)} \sum_{a \ne b} \frac{|a \cap b|}{\sqrt{|a|\,|b|}}",
    use_when="Whether lists differ between users: 0 if all are the same, 1 if no item is in two lists.",
    caveat="Random lists have the highest value. Empty lists are ignored.",
    bounds=(-math.inf, math.inf),
)
def personalisation(lists: Recommendations, *, k: Cutoff = None, list_length: ListLength = "own") -> Ratio:
    """Personalisation (inter-list diversity): 1 - the mean cosine similarity of the lists of two users.

    Zhou et al., 2010, doi:10.1073/pnas.1000488107.

    >>> rs.evaluate(run={"u1": ["a", "b"], "u2": ["a", "c"]}, metrics="personalisation@2")["personalisation@2"]
    0.5
    """
    if list_length == "k":
        size = float(k or lists.length.max(initial=1.0))
        count = len(lists)
        common = (lists.sum(lists.row_frequency) - size) / size
        return Ratio(count - 1 - common, lists.per_query(count - 1.0))
    count = int(np.count_nonzero(lists.length))
    share = 1.0 / np.sqrt(np.maximum(lists.length, 1.0))
    mine = share[lists.query]
    others = lists.look_up(lists.frequency(exposure=mine)) - mine
    there = lists.length > 0
    return Ratio(np.where(there, count - 1 - lists.sum(mine * others), 0.0), np.where(there, count - 1.0, 0.0))


@per_list(
    "overlap",
    title="List overlap",
    aliases=("list_overlap",),
    spellings={"unexpectedness": "overlap(sign='difference')"},
    formula="items in common with the reference list(k) / <divisor>",
    latex=r"\frac{|\mathrm{list}(k) \cap \mathrm{reference}(k)|}{<divisor>}",
    use_when="Similarity to the lists of a baseline.",
    caveat="A different list is not necessarily better.",
    better="neither",
)
def overlap(
    lists: Recommendations, *, k: Cutoff = None, divisor: ListDivisor = "shown", sign: Difference = "likeness"
) -> Ratio:
    """Fraction of the recommended items that are in the reference list of the same query.

    >>> rs.evaluate(run={"u1": ["a", "b"]}, metrics="overlap@2", reference={"u1": ["b", "c"]})["overlap@2"]
    0.5
    """
    reference = lists.reference
    both = among(pair(lists.query, lists.item), pair(reference.query, reference.item))
    over = np.where(lists.length > 0, lists.places(k, divisor), 0.0)
    return Ratio(lists.sum(both), over, one_less if sign == "difference" else None)


@per_list(
    "serendipity",
    grades=lambda parameters: parameters["form"] != "history",
    formula="<form>",
    use_when="Whether lists contain relevant items that the user would not expect.",
    caveat="Libraries define serendipity differently: always report the form.",
    bounds=(-math.inf, math.inf),
)
def serendipity(
    lists: Recommendations,
    *,
    k: Cutoff = None,
    form: SerendipityForm = "popularity",
    distance: CosineDistance = "cosine",
    missing_features: MissingFeatures = "error",
) -> Ratio:
    """Serendipity: how unexpected, and with a truth relevant, the recommended items are.

    Ge, Delgado-Battenfeld and Jannach, 2010, doi:10.1145/1864708.1864761.

    >>> had = {"u1": ["a"], "u2": ["a", "b"], "u3": ["a", "b", "c"]}
    >>> rs.evaluate({"u4": ["c"]}, {"u4": ["c", "a"]}, "serendipity@2", history=had)["serendipity@2"]
    0.3333333333333333
    """
    if form == "popularity":
        return _unexpected(lists)
    had = lists.history
    vectors, there = vectors_of(lists, distance, missing_features)
    near = _nearness(lists, had, vectors, there)  # per row, summed over the history
    size = had.length
    if form == "history":
        sizes = lists.broadcast(size)
        each = np.where(sizes > 0, 1.0 - near / np.maximum(sizes, 1.0), 0.0)
        return Ratio(lists.sum(each), np.where(size > 0, lists.length, 0.0))
    return Ratio(size - lists.sum(near * lists.credit), np.where(lists.sum(lists.credit) > 0, size, 0.0))


def _unexpected(lists: Recommendations) -> Ratio:
    popular = lists.popularity("interactions")
    _, level = np.unique(-popular, return_inverse=True)
    n = lists.size
    expected = np.where(popular > 0, (n - level) / n, 0.0)  # the most popular items are first
    ahead = np.maximum((n + 1.0 - lists.rank) / n - lists.look_up(expected), 0.0)
    return Ratio(lists.sum(ahead * lists.credit), lists.length)


def _nearness(lists: Recommendations, had: Recommendations, vectors: Vectors, there: Bools) -> Floats:
    """The similarity of each row's item to the items of its query's history, summed."""
    out, scale = np.zeros(len(lists.item)), scales(vectors, there, lists.item, had.item)
    for batch, sums in in_batches(had, vectors, scale):
        rows = slice(int(lists.offsets[batch.start]), int(lists.offsets[batch.stop]))
        weights, at = _described(scale, lists.item[rows])
        out[rows] = weights * _products(_gathered(vectors, at), sums[lists.query[rows] - batch.start])
    return out


@per_list(
    "categories",
    title="Categorical diversity",
    aliases=("categorical_diversity",),
    spellings={"srecall": "categories(of='relevant', divisor='categories')"},
    grades=lambda parameters: parameters["of"] == "relevant",
    formula="distinct categories of the recommended items(k) / <divisor>",
    latex=r"\frac{|\bigcup_{r \le k} \mathrm{categories}(i_r)|}{<divisor>}",
    use_when="How many different categories a list covers.",
    caveat="Items without a category are ignored in the numerator.",
    bounds=ABOVE_ZERO,
)
def categories(
    lists: Recommendations, *, k: Cutoff = None, divisor: CategoryDivisor = "shown", of: CategoriesOf = "shown"
) -> Ratio:
    """Number of distinct categories in a list, per recommended item.

    >>> films = rs.catalogue(["a", "b", "c"], category=["drama", "war", "drama"])
    >>> rs.evaluate(run={"u1": ["a", "b", "c"]}, metrics="categories@3", catalogue=films)["categories@3"]
    0.6666666666666666
    """
    labels = lists.labels("category")
    view = lists if of == "shown" else lists.rows(lists.credit > 0)
    row, mine = labels.by_row(view.item)
    different = distinct(pair(view.query[row], mine.codes)) >> 32
    count = np.bincount(different, minlength=len(lists)).astype(np.float64)
    over = lists.per_query(len(labels.names)) if divisor == "categories" else lists.places(k, divisor)
    return Ratio(count, over)


@per_list(
    "calibration",
    aliases=("miscalibration",),
    formula="<form> between the category distributions of the history and of the list",
    latex=r"\sum_c p_c \log \frac{p_c}{(1-\alpha) q_c + \alpha p_c}",
    use_when="Whether the categories of a list follow those of the user's history; 0 is calibrated.",
    caveat="Short lists cannot be calibrated for users with many interests.",
    bounds=ABOVE_ZERO,
    better="lower",
)
def calibration(
    lists: Recommendations,
    *,
    k: Cutoff = None,
    form: Divergence = "kl",
    alpha: Mixed = 0.01,
    log: Log = "e",
    exposure: Exposure = "one",
    patience: Patience = 0.85,
) -> Ratio:
    """Miscalibration: divergence of the category distributions of a list and of the user's history.

    Each category of an item has the same share. Steck, 2018, doi:10.1145/3240323.3240372.

    >>> films = rs.catalogue(["a", "b"], category=["drama", "war"])
    >>> had = {"u1": ["a", "b"]}
    >>> rs.evaluate(run={"u1": ["a", "b"]}, metrics="calibration@2", catalogue=films, history=had)["calibration@2"]
    0.0
    """
    had = lists.history
    many = max(len(lists.labels("category").names), 1)
    ours, q = _shares(lists, exposures(lists.rank, exposure, patience))
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
    value = np.bincount(keys // many, terms, minlength=len(lists))
    defined = (np.bincount(theirs // many, minlength=len(lists)) > 0) & (lists.length > 0)
    return Ratio(np.where(defined, value, 0.0), lists.number(defined))


def _shares(lists: Recommendations, each: Floats) -> tuple[Ints, Floats]:
    """The share of each category per list: keys of list and category, and the shares."""
    row, mine = lists.labels("category").by_row(lists.item)
    per_item = np.bincount(row, mine.weights, minlength=len(lists.item))
    share = each[row] * mine.weights / np.maximum(per_item, 1e-300)[row]
    return shares_by_list(lists, row, mine.codes, share, max(len(mine.names), 1))[:2]
