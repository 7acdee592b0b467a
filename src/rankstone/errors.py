"""What a user may catch. All of them are ValueErrors."""

from __future__ import annotations


class NoExpectedValue(ValueError):  # noqa: N818  it says what is the matter
    """A metric that has no closed form over all orders of tied items."""


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
