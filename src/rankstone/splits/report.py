"""What a split gives: two parts, and what one knows of the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from rankstone.data.arrow import Frame
from rankstone.results.answer import Answer, aligned


@dataclass(frozen=True)
class Report:
    """What a split made of the rows, and what the training part knows of the test."""

    how: str
    rows: int
    train_rows: int
    test_rows: int
    dropped_rows: int  # of users with fewer rows than the minimum
    dropped_users: int
    train_users: int
    test_users: int
    train_items: int
    test_items: int
    unseen_users: int  # in the test, and not in training
    unseen_user_rows: int  # of the test
    unseen_items: int
    unseen_item_rows: int
    later_rows: int | None  # of training, after the first row of the test; None if there are no times
    own_later_rows: int | None  # of training, after the first row of the same user in the test
    untimed_rows: int | None  # rows without a time, which are not looked at for these two

    def to_dict(self) -> dict[str, Any]:
        """The same by name."""
        return asdict(self)

    def __str__(self) -> str:
        table = aligned(self._lines(), "<><")
        return "\n".join([f"{self.how}; {self.rows:,} rows", *(f"  {line}" for line in table)])

    def _repr_html_(self) -> str:
        title = f"{self.how}; {self.rows:,} rows"
        return Answer([["part", "rows", ""], *self._lines()], title, align="<><").render("html")

    def _lines(self) -> list[list[str]]:
        lines = [
            ("training", self.train_rows, f"{self.train_users:,} users, {self.train_items:,} items"),
            ("test", self.test_rows, f"{self.test_users:,} users, {self.test_items:,} items"),
            ("dropped", self.dropped_rows, f"{self.dropped_users:,} users with too few rows"),
            ("test, user not in training", self.unseen_user_rows, f"{self.unseen_users:,} users"),
            ("test, item not in training", self.unseen_item_rows, f"{self.unseen_items:,} items"),
        ]
        if self.later_rows is not None and self.own_later_rows is not None:
            lines += [
                ("training, after the first test row", self.later_rows, ""),
                ("training, after the user's first test row", self.own_later_rows, ""),
            ]
        if self.untimed_rows:
            lines.append(("without a time", self.untimed_rows, "not counted as before or after"))
        return [[name, f"{count:,}", more] for name, count, more in lines]


@dataclass(frozen=True, eq=False)
class Split:
    """Frames of the given kind, rows in the given order. `train, test = split` works too."""

    train: Frame
    test: Frame
    dropped: Frame  # rows in neither
    report: Report

    def __iter__(self) -> Iterator[Frame]:
        return iter((self.train, self.test))

    def __repr__(self) -> str:
        return f"<Split: {self.report.train_rows:,} rows to train on, {self.report.test_rows:,} to test on>"

    def _repr_html_(self) -> str:
        return self.report._repr_html_()
