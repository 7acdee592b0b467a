"""Tables that people read: in a terminal, in a notebook, and in what they write."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

Rows = Sequence[Sequence[str]]  # the head first


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
    return ["  ".join(cells).rstrip() for cells in _padded(rows, align)]


def _padded(rows: Rows, align: str) -> list[list[str]]:
    widths = [max(len(row[at]) for row in rows if row) for at in range(len(rows[0]))]
    return [
        [
            cell.ljust(width) if side == "<" else cell.rjust(width)
            for cell, width, side in zip(row, widths, align, strict=False)
        ]
        for row in rows
    ]


def text_table(rows: Rows, align: str) -> list[str]:
    """Lines of a table. An empty row is a line across."""
    lines = aligned(rows, align)
    rule = "-" * max(map(len, lines))
    body = [line if row else rule for row, line in zip(rows, lines, strict=True)]
    return [body[0], rule, *body[1:], *([rule] if len(body) > 1 else [])]


def html_table(rows: Rows, align: str, remarks: Sequence[str]) -> str:
    """The same for a notebook, with remarks under it."""
    from html import escape

    def line(row: Sequence[str], tag: str) -> str:
        sides = ("left" if side == "<" else "right" for side in align)
        return "".join(
            f"<{tag} style='text-align:{side}'>{escape(cell)}</{tag}>" for cell, side in zip(row, sides, strict=False)
        )

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows[1:] if row)
    text = "<br>".join(map(escape, remarks))
    return (
        f"<table><thead><tr>{line(rows[0], 'th')}</tr></thead><tbody>{body}</tbody></table><p><small>{text}</small></p>"
    )


def render(rows: Rows, form: str) -> str:
    """The same as a `table` of plain text, `markdown`, `latex` or `csv`; numbers stand at the right."""
    if form == "csv":
        import csv
        import io

        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(rows)
        return out.getvalue().rstrip("\n")
    first = rows[1] if len(rows) > 1 else ["", *("0" for _ in rows[0][1:])]
    align = "".join(">" if _is_number(cell) else "<" for cell in first)
    if form == "latex":
        head, *body = [" & ".join(map(_latex, row)) + r" \\" for row in rows]
        shape = align.replace("<", "l").replace(">", "r")
        begin, end = rf"\begin{{tabular}}{{{shape}}}", r"\end{tabular}"
        return "\n".join([begin, r"\hline", head, r"\hline", *body, r"\hline", end])
    if form == "markdown":
        padded = _padded([[cell.replace("|", r"\|") for cell in row] for row in rows], align)
        rule = [
            "-" * (len(cell) - 1) + ("-" if side == "<" else ":") for cell, side in zip(padded[0], align, strict=True)
        ]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in [padded[0], rule, *padded[1:]])
    return "\n".join(text_table(rows, align))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _latex(text: str) -> str:
    for mark in ("\\", "_", "%", "&", "#", "$", "{", "}"):
        text = text.replace(mark, r"\textbackslash{}" if mark == "\\" else "\\" + mark)
    return text


def wrapped(lines: Sequence[str]) -> list[str]:
    """The lines, none of them longer than a screen is wide."""
    import textwrap

    return [part for line in lines for part in textwrap.wrap(line, 100, subsequent_indent="  ")]
