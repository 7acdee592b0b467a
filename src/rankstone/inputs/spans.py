"""Items that are spans of documents, (document, start, end): a returned one is the true one that it covers, once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import isfinite
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rankstone.errors import DataError, DataTypeError
from rankstone.inputs.arrow import arrow_table, is_table, plain_ids
from rankstone.inputs.dicts import Dicts, plain_dict
from rankstone.inputs.roles import find_all
from rankstone.inputs.tables import as_columns, from_table

if TYPE_CHECKING:
    from rankstone.typing import Roles

Span: TypeAlias = "tuple[Any, float, float]"  # ("doc1", 0, 120): from the first character to before the last


def covered(truth: object, run: object, overlap: float, columns: Roles | None) -> Dicts:
    """A truth and a run of spans as one of items.

    From the top of a list, a returned span finds a true one of which it covers at least this share. A true span is
    found once, and a returned one finds one: of those that are left the one of the highest grade, of which it covers
    most. A returned span that finds none is an item that nobody judged.
    """
    if isinstance(overlap, bool) or not isinstance(overlap, Real) or not 0 < overlap <= 1:
        raise ValueError(f"overlap={overlap!r}; give the share of a true span that must be covered, above 0, at most 1")
    judged, returned = _side(truth, "truth", columns), _side(run, "run", columns)
    found, again = {}, 0
    for query, spans in returned.items():
        found[query], repeated = _found(judged.get(query, ()), _in_order(spans, query), overlap)
        again += repeated
    said = f"{again:,} returned span{'s' * (again != 1)} not relevant again, as the true one had been found (overlap)"
    return Dicts(judged, found, remarks=(said,))


def _side(side: Any, what: str, columns: Roles | None) -> dict[Any, Any]:
    """By query: spans, with their grades or scores if they have any."""
    if is_table(side):
        side = _from_table(side, what, columns)
    if not isinstance(side, Mapping):
        raise TypeError(
            f"overlap= takes a {what} as {{query: spans}}, each span a tuple (document, start, end), or as a table "
            "with these columns"
        )
    plain = plain_dict(side, what)
    for query, spans in plain.items():
        for span in spans:
            _check(span, what, query)
    return plain


def _from_table(table: Any, what: str, columns: Roles | None) -> dict[Any, Any]:
    import pyarrow

    arrow = arrow_table(table)
    roles = find_all(arrow.column_names, ("document", "start", "end"), what, {})
    spans = list(zip(*(arrow[name].to_pylist() for name in roles.values()), strict=True))
    rows = arrow.drop_columns(list(roles.values())).append_column("item", pyarrow.array(np.arange(len(spans))))
    found = as_columns(from_table(rows, what, columns), what)
    values = found.grade if what == "truth" else found.score
    numbers = None if values is None else np.asarray(values).tolist()
    out: dict[Any, Any] = {}
    for at, (query, row) in enumerate(zip(plain_ids(found.query), plain_ids(found.item), strict=True)):
        span = spans[row]
        content = out.setdefault(query, {} if numbers is not None else [])
        if span in content:
            raise DataError(f"query {query!r}: span {span!r} is in the {what} twice", "twice", what, query, span)
        if numbers is None:
            content.append(span)
        else:
            content[span] = numbers[at]
    return out


def _check(span: Any, what: str, query: Any) -> None:
    if not isinstance(span, tuple) or len(span) != 3:
        raise DataTypeError(
            f"query {query!r}: {span!r} of the {what} is no span; overlap= takes tuples (document, start, end)",
            "shape", what, query, span,
        )  # fmt: skip
    start, end = span[1:]
    numbers = all(isinstance(edge, Real) and isfinite(edge) for edge in (start, end))
    if not numbers or not start < end:
        raise DataError(
            f"query {query!r}: span {span!r} of the {what} must start before it ends", "number", what, query, span
        )


def _in_order(spans: Any, query: Any) -> Sequence[Span]:
    """Best first. Equal scores leave open which of two spans finds a true one, so they are refused."""
    if not isinstance(spans, dict):
        return list(spans)
    order = sorted(spans, key=lambda span: -spans[span])
    for one, other in pairwise(order):
        if spans[one] == spans[other]:
            raise DataError(
                f"query {query!r}: spans {one!r} and {other!r} have the same score, and which comes first decides what "
                "is found; give lists, best first",
                "number", "run", query, one,
            )  # fmt: skip
    return order


def _found(judged: Any, returned: Sequence[Span], overlap: float) -> tuple[list[Any], int]:
    """The list with true spans in the places where they are found, and how many others cover one found before."""
    grades = judged if isinstance(judged, dict) else dict.fromkeys(judged, 1)
    left, out, again = dict(grades), [], 0
    for nth, span in enumerate(returned):
        shares = {true: _share(true, span) for true in grades}
        fitting = [true for true in left if shares[true] >= overlap]
        if fitting:
            best = max(fitting, key=lambda true: (left[true], shares[true]))
            del left[best]
            out.append(best)
            continue
        again += any(share >= overlap for share in shares.values())
        out.append((*span, nth))  # unlike every true one, and unlike itself if it comes twice
    return out, again


def _share(true: Span, returned: Span) -> float:
    """Which part of the true span the returned one covers."""
    if true[0] != returned[0]:
        return 0.0
    return max(0.0, min(true[2], returned[2]) - max(true[1], returned[1])) / (true[2] - true[1])
