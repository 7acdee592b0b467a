"""Tables that people read: in a terminal, in a notebook, and in what they write."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

Rows = Sequence[Sequence[str]]  # the head first

WIDTH = 100  # of remarks, where nobody says how wide a line can be


class Page(ABC):
    """What prints as a title, a table and remarks under it."""

    _left: str = "<"  # how its first columns are aligned, < or >; the others are numbers

    @property
    def _title(self) -> str:
        """A line above the table; none if empty."""
        return ""

    @abstractmethod
    def rows(self) -> list[list[str]]:
        """The table that is printed, its head first."""

    @abstractmethod
    def remarks(self) -> list[str]:
        """What the table does not say."""

    def defined(self) -> list[str]:
        """What the numbers mean, if remarks do not say so."""
        return []

    def _tips(self) -> Mapping[str, str]:
        """What a notebook shows when one points at a row, by the row's first cell."""
        return {}

    def _tables(self, width: int | None) -> list[list[list[str]]]:
        """The table, in as many parts as the width asks for."""
        return [self.rows()]

    def notes(self, quiet: bool = False) -> list[str]:
        """All lines under the table; if quiet, without the definitions."""
        return [*self.remarks(), *([] if quiet else self.defined())]

    def text(self, width: int | None = None, quiet: bool = False) -> str:
        """As it is printed, on a screen that is so many letters wide."""
        lines = [self._title] if self._title else []
        for rows in self._tables(width):
            lines += text_table(rows, self._align(rows))
        return "\n".join([*lines, *wrapped(self.notes(quiet), min(width or WIDTH, WIDTH))])

    def render(self, form: str, quiet: bool = False) -> str:
        """The same as `markdown`, `latex` or `html`, or the `table` that is printed."""
        rows = self.rows()
        notes = [*([self._title] if self._title else []), *self.notes(quiet)]
        if form == "html":
            return html_table(rows, self._align(rows), notes, self._tips())
        if form == "latex":
            return "\n".join([render([row for row in rows if row], form), *(f"% {line}" for line in wrapped(notes))])
        if form == "markdown":
            return markdown_page(rows, notes)
        return self.text(quiet=quiet)

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return self.render("html")

    def _align(self, rows: Rows) -> str:
        return self._left.ljust(len(rows[0]), ">")


class Sheet(ABC):
    """What has columns of data, and so becomes a table of other libraries."""

    @abstractmethod
    def _columns(self) -> Mapping[str, Sequence[Any]]:
        """The columns by name, all of one length."""

    def to_arrow(self) -> Any:
        """The columns as a pyarrow table."""
        import pyarrow

        def column(values: Any) -> Any:
            try:
                return pyarrow.array(values)
            except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):  # ids of several kinds, or objects
                return pyarrow.array(list(map(str, values)))

        return pyarrow.table({name: column(values) for name, values in self._columns().items()})

    def to_pandas(self) -> Any:
        """The columns as a pandas frame."""
        import pandas

        return pandas.DataFrame(dict(self._columns()))

    def to_polars(self) -> Any:
        """The columns as a polars frame."""
        import polars

        return polars.from_arrow(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The columns by the Arrow PyCapsule protocol."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


class DataPage(Page, Sheet):
    """A page that shows its columns."""

    def rows(self) -> list[list[str]]:
        """The table that is printed, its head first."""
        columns = self._columns()
        return [list(columns), *([_cell(value) for value in row] for row in zip(*columns.values(), strict=True))]

    def _tables(self, width: int | None) -> list[list[list[str]]]:
        return _parts(self.rows(), width, len(self._left))


def _parts(rows: list[list[str]], width: int | None, fixed: int) -> list[list[list[str]]]:
    """The table as it is, or cut into tables of fewer columns, each with the first ones."""
    widths = [max(len(row[at]) for row in rows) + 2 for at in range(len(rows[0]))]
    parts: list[list[int]] = [[]]
    for at in range(fixed, len(widths)):
        if (
            width is not None
            and parts[-1]
            and sum(widths[:fixed]) + sum(widths[i] for i in parts[-1]) + widths[at] - 2 > width
        ):
            parts.append([])
        parts[-1].append(at)
    return [[[*row[:fixed], *(row[at] for at in part)] for row in rows] for part in parts]


def turned(rows: list[list[str]]) -> list[list[str]]:
    """Rows as columns."""
    return [list(column) for column in zip(*rows, strict=True)]


def width_of(rows: Rows) -> int:
    """How many letters the widest line has."""
    return max(map(len, aligned(rows, ">" * len(rows[0]))))


def number(value: float) -> str:
    """To four decimals; a count as it is."""
    whole = 1 < abs(value) < 1e15 and value == int(value)
    return f"{value:.0f}" if whole else f"{value:.4f}"


def queries(count: float) -> str:
    """So many of them."""
    return f"{count:,.0f} quer{'y' if count == 1 else 'ies'}"


def signed(value: float) -> str:
    """With its sign, to four decimals."""
    return f"{value:+.4f}" if math.isfinite(value) else "" if math.isnan(value) else "-inf" if value < 0 else "+inf"


def p_value(value: float) -> str:
    """A p to four decimals, never 0; nothing where there is none."""
    return "" if math.isnan(value) else "<0.0001" if value < 0.0001 else f"{value:.4f}"


def p_said(value: float) -> str:
    """The same in a sentence."""
    shown = p_value(value)
    return f"p {shown[0]} {shown[1:]}" if shown.startswith("<") else f"p = {shown}"


def _cell(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)


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


def html_table(rows: Rows, align: str, remarks: Sequence[str], tips: Mapping[str, str] | None = None) -> str:
    """The same for a notebook, with remarks under it, and with tips by the rows' first cells."""
    from html import escape

    def line(row: Sequence[str], tag: str) -> str:
        sides = ("left" if side == "<" else "right" for side in align)
        tip = f" title='{escape(tips[row[0]], quote=True)}'" if tips and row[0] in tips else ""
        return "".join(
            f"<{tag}{'' if at else tip} style='text-align:{side}'>{escape(cell)}</{tag}>"
            for at, (cell, side) in enumerate(zip(row, sides, strict=False))
        )

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows[1:] if row)
    text = "<br>".join(map(escape, remarks))
    return (
        f"<table><thead><tr>{line(rows[0], 'th')}</tr></thead><tbody>{body}</tbody></table><p><small>{text}</small></p>"
    )


def render(rows: Rows, form: str) -> str:
    """The same as a `table` of plain text, `markdown`, `latex`, `html`, `csv` or `tsv`; numbers stand at the right."""
    if form in ("csv", "tsv"):
        import csv
        import io

        out = io.StringIO()
        csv.writer(out, lineterminator="\n", delimiter="," if form == "csv" else "\t").writerows(rows)
        return out.getvalue().rstrip("\n")
    first = rows[1] if len(rows) > 1 else ["", *("0" for _ in rows[0][1:])]
    align = "".join(">" if _is_number(cell) else "<" for cell in first)
    if form == "html":
        return html_table(rows, align, ())
    if form == "latex":
        return tabular([list(map(latex, row)) for row in rows], align)
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


_LATEX = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


class Latex(str):
    """Text of LaTeX, in which marks are marks."""


def latex(text: str) -> Latex:
    """Text in which nothing is a mark."""
    return Latex(re.sub(r"[\\^~_%&#${}<>]", lambda mark: _LATEX.get(mark[0], "\\" + mark[0]), " ".join(text.split())))


def tabular(rows: Sequence[Sequence[Latex]], align: str) -> str:
    """A table of the package booktabs; the head first."""
    head, *body = [" & ".join(row) + r" \\" for row in rows]
    shape = align.replace("<", "l").replace(">", "r")
    return "\n".join(
        [rf"\begin{{tabular}}{{{shape}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
    )


def latex_page(head: Sequence[str], body: Sequence[Sequence[Latex]], caption: str) -> str:
    """A whole table with its caption, for a paper that uses the package booktabs."""
    rows = [list(map(latex, head)), *body]
    return "\n".join([
        r"\begin{table}", r"\centering", rf"\caption{{{latex(caption)}}}", tabular(rows, "<".ljust(len(head), ">")),
        r"\end{table}",
    ])  # fmt: skip


def markdown_page(rows: Rows, notes: Sequence[str]) -> str:
    """A table with lines under it."""
    under = ["", "  \n".join(map(_markdown, notes))] if notes else []
    return "\n".join([render([row for row in rows if row], "markdown"), *under])


def _markdown(text: str) -> str:
    """Text in which nothing is a mark."""
    return re.sub(r"[\\`*_<|]", r"\\\g<0>", text)


def wrapped(lines: Sequence[str], width: int = WIDTH) -> list[str]:
    """The lines, none of them longer than a screen is wide."""
    import textwrap

    return [part for line in lines for part in textwrap.wrap(line, width, subsequent_indent="  ")]
