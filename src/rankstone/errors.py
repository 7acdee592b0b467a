"""Exceptions and warnings that a user may catch. All exceptions are RankstoneErrors, and ValueErrors or TypeErrors."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from numbers import Real
from typing import NamedTuple


class Hint(NamedTuple):
    """An argument that an error names: `by=`, or with a value `ties='input'`. In a dict, `...` stands for any value."""

    name: str
    value: object = ...

    def __str__(self) -> str:
        return f"{self.name}={'' if self.value is ... else _written(self.value)}"


def _written(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join("..." if key is ... else f"{key!r}: {_written(to)}" for key, to in value.items()) + "}"
    return "..." if value is ... else repr(value)


class Advice(str):
    """The text of an error that names arguments. Each is a `Hint` in `parts`, which the CLI prints as its option."""

    parts: tuple[str | Hint, ...]

    def __new__(cls, *parts: str | Hint) -> Advice:
        """Join parts of the text; a part may be an `Advice` itself."""
        advice = super().__new__(cls, "".join(map(str, parts)))
        advice.parts = tuple(each for part in parts for each in (part.parts if isinstance(part, Advice) else (part,)))
        return advice

    def __str__(self) -> Advice:
        return self  # so that `str(error)` is still an Advice

    def spelled(self, spell: Callable[[Hint], str]) -> str:
        """The text with its hints formatted by `spell`."""
        return "".join(spell(part) if isinstance(part, Hint) else part for part in self.parts)


class RankstoneError(Exception):
    """What rankstone refuses: all of its errors are of this class."""


class InputError(RankstoneError, ValueError):
    """An argument, choice or metric whose value is refused."""


class InputTypeError(RankstoneError, TypeError):
    """An argument or input of a type that is refused."""


class NoClosedFormError(RankstoneError, ValueError):
    """A metric has no closed form of its expected value over all orders of tied items."""


class MissingInputError(RankstoneError, ValueError):
    """An input that a metric needs is missing: a history, a catalogue, or embeddings of the items."""


class PerItemError(RankstoneError, ValueError):
    """A metric of the user's returns one value per item where it needs one per query."""


_FOR_DUPLICATES = {
    side: Advice(Hint(choice, "first"), " counts one of them")
    for side, choice in (("run", "duplicates"), ("truth", "truth_duplicates"))
}


class DataError(RankstoneError, ValueError):
    """Data that cannot be evaluated, and its location as far as it can be determined.

    Parameters
    ----------
    text : str
        The message.
    kind : {"twice", "number", "missing", "id", "shape"}, optional
        A duplicate item or query; a grade or score that is not a number, not finite or not exact; a null; an id that
        cannot be hashed, compared or stored; or a wrong shape.
    side : {"truth", "run", "log"}, optional
        The input with the problem.
    query : object, optional
        Id of the query.
    item : object, optional
        Id of the item.
    row : int, optional
        Row of the columns, lists or matrix, from 0.
    remedy : str, optional
        What to do; by default the choice that allows duplicate items, if it is one.
    """

    def __init__(
        self,
        text: str,
        kind: str | None = None,
        side: str | None = None,
        query: object = None,
        item: object = None,
        row: int | None = None,
        remedy: str = "",
    ) -> None:
        super().__init__(text)
        self.kind, self.side, self.query, self.item, self.row = kind, side, query, item, row
        is_item = kind == "twice" and item is not None
        self.remedy = remedy or (_FOR_DUPLICATES.get(side or "", "") if is_item else "")

    def __str__(self) -> str:
        return Advice(self.args[0], "; " if self.remedy else "", self.remedy)

    def at(self, place: str) -> DataError:
        """The same error with a run, a file or a line before its message."""
        text = Advice(f"{place}: ", self.args[0])
        return type(self)(text, self.kind, self.side, self.query, self.item, self.row, self.remedy)


class DataTypeError(DataError, TypeError):
    """Data of the wrong type."""


class FileError(RankstoneError, ValueError):
    """A file that cannot be read.

    Parameters
    ----------
    path : str
        The file.
    problem : str
        What is wrong.
    line : int, optional
        Number of the line, from 1.
    """

    def __init__(self, path: str, problem: str, line: int | None = None) -> None:
        super().__init__(path, problem, line)  # so that it can be pickled
        self.path, self.problem, self.line = path, problem, line
        self.__suppress_context__ = True  # errors of parsers tried before are not of interest

    def __str__(self) -> str:
        return Advice(f"{self.path}:{self.line}: " if self.line else f"{self.path}: ", self.problem)


class NoRowsError(FileError):
    """A file without rows.

    Parameters
    ----------
    path : str
        The file.
    problem : str, default "has no rows"
        What is wrong.
    line : int, optional
        Number of the line, from 1.
    """

    def __init__(self, path: str, problem: str = "has no rows", line: int | None = None) -> None:
        super().__init__(path, problem, line)


class GatesError(RankstoneError, ValueError):
    """Invalid gates: an unknown key, a limit that is not a number, or no candidate."""


class UnmatchedWarning(UserWarning):
    """No returned item is judged. The values are correct, but the ids may not match as intended."""


class UndefinedWarning(UserWarning):
    """The metric is undefined for this list: it compares relevant with non-relevant items, and one kind is missing."""


class WeightsWarning(UserWarning):
    """A few logged lists have most of the importance weight, so the estimate depends on them."""


class MergeWarning(UserWarning):
    """Two states were merged too late: lists were final in one before their feedback came from the other."""


class QueryError(RankstoneError, ValueError):
    """A query that cannot be evaluated.

    Parameters
    ----------
    problem : str
        What is wrong.
    query : object
        Id of the query; internally its number.
    """

    def __init__(self, problem: str, query: object) -> None:
        super().__init__(problem, query)
        self.problem, self.query = problem, query

    @property
    def number(self) -> int:
        """Number of the query, where its id is not yet available."""
        assert isinstance(self.query, int)
        return self.query

    def __str__(self) -> str:
        return f"{self.problem} in query {self.query!r}"


@contextmanager
def naming_run(name: str) -> Iterator[None]:
    """Errors and warnings about one of several runs, with its name."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            yield
        for warning in caught:
            warnings.warn(f"{name}: {warning.message}", warning.category, stacklevel=4)
    except DataError as error:
        raise error.at(name) from None
    except (InputError, InputTypeError) as error:
        raise type(error)(Advice(f"{name}: ", str(error))) from None


def show(value: object) -> str:
    """A value in an error, cut if it is long."""
    try:
        text = repr(value)
    except RecursionError:
        return f"a {type(value).__name__} that is nested too deeply"
    return text if len(text) <= 60 else f"{text[:50]}...{text[-1]}"


def unencodable(error: UnicodeEncodeError) -> str:
    """The text that UTF-8 cannot hold, and why."""
    bad = error.object[max(error.start - 20, 0) : error.end + 20]
    return f"{bad!r} has half of a surrogate pair, which UTF-8 cannot hold; read the ids with the encoding they have"


def is_finite(value: object) -> bool:
    """Whether it is a number that a float can hold: not NaN, infinite or larger than all floats."""
    return isinstance(value, Real) and bool(abs(value) <= sys.float_info.max)  # type: ignore[operator]


SOME = 5  # names in an error


def check_not_text(values: object, what: str) -> None:
    """Raise for a text, which would be taken for a sequence of letters."""
    if isinstance(values, (str, bytes)):
        raise InputTypeError(f"{what} is the text {values!r}; pass a dict or a list with an entry each")


def some(names: Collection[object], count: int = SOME) -> str:
    """The first few names, for an error."""
    return ", ".join(repr(name) for name in list(names)[:count]) + (" ..." if len(names) > count else "")
