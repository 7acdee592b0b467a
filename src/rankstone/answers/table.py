"""Tables that people read, in a terminal and in a notebook."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

Rows = Sequence[Sequence[str]]


class Page(ABC):
    """What prints as a title, a table and remarks under it."""

    _left: str  # how its first columns are aligned, < or >; the others are numbers

    @property
    @abstractmethod
    def _title(self) -> str: ...

    @abstractmethod
    def rows(self) -> list[list[str]]:
        """The table that is printed, its head first."""

    @abstractmethod
    def remarks(self) -> list[str]:
        """What the table does not say."""

    def __repr__(self) -> str:
        rows = self.rows()
        return "\n".join(
            [self._title, *text_table(rows, self._left.ljust(len(rows[0]), ">")), *wrapped(self.remarks())]
        )

    def _repr_html_(self) -> str:
        rows = self.rows()
        return html_table(rows, self._left.ljust(len(rows[0]), ">"), [self._title, *self.remarks()])


def aligned(rows: Rows, align: str) -> list[str]:
    """A line for each row, with columns of equal width; `align` has < or > for each column."""
    widths = [max(len(row[at]) for row in rows if row) for at in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if side == "<" else cell.rjust(width)
            for cell, width, side in zip(row, widths, align, strict=False)
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def text_table(rows: Rows, align: str) -> list[str]:
    """Lines of a table, its head first. An empty row is a line across."""
    lines = aligned(rows, align)
    rule = "-" * max(map(len, lines))
    return [lines[0], rule, *(line or rule for line in lines[1:]), rule]


def html_table(rows: Rows, align: str, remarks: Sequence[str]) -> str:
    """The same for a notebook, with remarks under it."""
    from html import escape

    def line(row: Sequence[str], tag: str) -> str:
        sides = ("left" if side == "<" else "right" for side in align)
        return "".join(
            f"<{tag} style='text-align:{side}'>{escape(cell)}</{tag}>" for cell, side in zip(row, sides, strict=False)
        )

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows[1:] if row)
    text = "<br>".join(escape(remark) for remark in remarks)
    return (
        f"<table><thead><tr>{line(rows[0], 'th')}</tr></thead><tbody>{body}</tbody></table><p><small>{text}</small></p>"
    )


def wrapped(lines: Sequence[str]) -> list[str]:
    """The lines, none of them longer than a screen is wide."""
    import textwrap

    return [part for line in lines for part in textwrap.wrap(line, 100, subsequent_indent="  ")]
