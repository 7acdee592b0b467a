"""What a user may catch. All errors are ValueErrors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple


class Hint(NamedTuple):
    """An argument that an error names: `by=`, or with a value `ties='input'`. In a dict, `...` stands for any."""

    name: str
    value: object = ...

    def __str__(self) -> str:
        return f"{self.name}={'' if self.value is ... else _written(self.value)}"


def _written(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join("..." if key is ... else f"{key!r}: {_written(to)}" for key, to in value.items()) + "}"
    return "..." if value is ... else repr(value)


class Advice(str):
    """The text of an error that names arguments. Each is a `Hint` in `parts`, which a command writes as its option."""

    parts: tuple[str | Hint, ...]

    def __new__(cls, *parts: str | Hint) -> Advice:
        """Parts of the text, in order; a part may be advice itself."""
        made = super().__new__(cls, "".join(map(str, parts)))
        made.parts = tuple(each for part in parts for each in (part.parts if isinstance(part, Advice) else (part,)))
        return made

    def __str__(self) -> Advice:
        return self  # so that `str(error)` is still advice

    def spelled(self, spell: Callable[[Hint], str]) -> str:
        """The text with its hints written in another way."""
        return "".join(spell(part) if isinstance(part, Hint) else part for part in self.parts)


class NoExpectedValue(ValueError):  # noqa: N818  it says what is the matter
    """A metric that has no closed form over all orders of tied items."""


class NotGiven(ValueError):  # noqa: N818  it says what is the matter
    """Something that a metric needs, and nobody gave: a history, a catalogue, vectors of the items."""


class DataError(ValueError):
    """Data that cannot be measured, and where it is as far as that is known; what is not known is None.

    kind: `twice` (an item or a query that is there twice), `number` (a grade or score that is none, or not finite, or
    not exact), `missing` (a null), `id` (one that cannot be hashed, compared or stored) or `shape`. side: `truth`,
    `run` or `log`. query, item: their ids. row: where in the columns, lists or matrix, from 0.
    """

    def __init__(
        self,
        text: str,
        kind: str | None = None,
        side: str | None = None,
        query: object = None,
        item: object = None,
        row: int | None = None,
    ) -> None:
        super().__init__(text)
        self.kind, self.side, self.query, self.item, self.row = kind, side, query, item, row


class DataTypeError(DataError, TypeError):
    """Data of the wrong type."""


class FileError(ValueError):
    """A file that cannot be read: which, at what line, and why."""

    def __init__(self, path: str, problem: str, line: int | None = None) -> None:
        super().__init__(path, problem, line)  # so that it can be pickled
        self.path, self.problem, self.line = path, problem, line
        self.__suppress_context__ = True  # which way of reading it was tried before tells nobody anything

    def __str__(self) -> str:
        return Advice(f"{self.path}:{self.line}: " if self.line else f"{self.path}: ", self.problem)


class NoRowsError(FileError):
    """A file without a row."""

    def __init__(self, path: str, problem: str = "has no rows", line: int | None = None) -> None:
        super().__init__(path, problem, line)


class GatesError(ValueError):
    """Gates that say something that cannot be: an unknown key, a limit that is none, no candidate."""


class UnmatchedWarning(UserWarning):
    """No returned item is judged: every value that follows is honest, and perhaps not what was meant."""


class WeightsWarning(UserWarning):
    """A few logged lists have nearly all of the weight, so that an estimate rests on them."""


class QueryError(ValueError):
    """A query that cannot be measured: what the problem is, and the query's id (or, inside, its number)."""

    def __init__(self, problem: str, query: object) -> None:
        super().__init__(problem, query)
        self.problem, self.query = problem, query

    @property
    def number(self) -> int:
        """Which query it is, where ids are not known yet."""
        assert isinstance(self.query, int)
        return self.query

    def __str__(self) -> str:
        return f"{self.problem} in query {self.query!r}"


SOME = 5  # names in an error


def some(names: Collection[object], count: int = SOME) -> str:
    """The first few, for an error."""
    return ", ".join(repr(name) for name in list(names)[:count]) + (" ..." if len(names) > count else "")
