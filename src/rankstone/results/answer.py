"""Tables that people read: in a terminal, in a notebook, and in what they write."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, NamedTuple

from rankstone.data.arrow import convertible

Rows = Sequence[Sequence[str]]  # the head first

WIDTH = 100  # of notes, where the width of the terminal is unknown


class Verdict(NamedTuple):
    """How a verdict looks: a mark, so that it does not depend on colours, and the kind of its colour."""

    mark: str
    kind: str


VERDICTS = {  # by the first word of a cell in the column `verdict`
    "better": Verdict("\N{BLACK UP-POINTING TRIANGLE}", "good"), "passed": Verdict("\N{CHECK MARK}", "good"),
    "worse": Verdict("\N{BLACK DOWN-POINTING TRIANGLE}", "bad"), "failed": Verdict("\N{BALLOT X}", "bad"),
    "inconclusive": Verdict("?", "open"), "equivalent": Verdict("\N{ALMOST EQUAL TO}", "same"),
    "identical": Verdict("=", "same"), "higher": Verdict("\N{UPWARDS ARROW}", "same"),
    "lower": Verdict("\N{DOWNWARDS ARROW}", "same"),
}  # fmt: skip


def verdict_of(text: str) -> Verdict | None:
    """How a cell or a title looks whose first word is a verdict."""
    word = re.search(r"\w+", text)
    return VERDICTS.get(word[0].lower()) if word else None


@dataclass(frozen=True)
class Answer:
    """A table that people read: a title above it, notes under it, and the definitions of its numbers."""

    table: Rows  # what is printed, the head first; an empty row is a line across
    title: str = ""
    notes: Sequence[str] = ()
    definitions: Sequence[str] = ()
    align: str = "<"  # of the first columns, < or >; the others are numbers
    fixed: int = 0  # columns that each part of a table repeats that is too wide for the screen; 0: it is never cut
    turns: bool = False  # may rows and columns change places on a narrow screen
    below: Sequence[Answer] = ()  # tables printed under this one
    tips: Mapping[str, str] = field(default_factory=dict)  # shown in a notebook on pointing at a row, by its first cell
    paper: PaperTable | None = None  # the table of a LaTeX document, where it is another one
    more: str = ""  # what shows the definitions, where they are left out

    def render(
        self, form: str = "table", *, verbose: bool = False, width: int | None = None, more: str | None = None
    ) -> str:
        """As `markdown`, `latex`, `html`, or the `table` that is printed; verbose: with definitions.

        more: what shows the definitions, instead of the answer's own.
        """
        notes = [*self.notes, *(self.definitions if verbose else ())]
        more = self.more if more is None else more
        if notes and more and self.definitions and not verbose:
            notes[0] += f" ({more} for all)"
        title = [self.title] if self.title else []
        if form == "html":
            return html_table(self.table, self._sides(self.table), [*title, *notes], self.tips)
        if form == "markdown":
            return markdown_page(self.table, [*title, *notes])
        if form == "latex" and self.paper is not None:
            return self.paper.render(verbose)
        if form == "latex":
            rows = render([row for row in self.table if row], form)
            return "\n".join([rows, *(f"% {line}" for line in wrapped([*title, *notes]))])
        wide = min(width or WIDTH, WIDTH)
        lines = [line for rows, align in self._tables(width) for line in text_table(rows, align)]
        return "\n".join([*wrapped(title, wide), *lines, *wrapped(notes, wide)])

    def _tables(self, width: int | None) -> list[tuple[Rows, str]]:
        """The table in as many parts as the width asks for, and those below it, each with its alignment."""
        rows = self.table
        if self.turns and width is not None and width_of(rows) > width:
            turned = [list(column) for column in zip(*rows, strict=True)]
            rows = rows if width_of(turned) > width else [["run", *turned[0][1:]], *turned[1:]]
        align = self._sides(rows)
        parts = _parts(rows, align, width, self.fixed) if self.fixed else [(rows, align)]
        return [*parts, *(part for answer in self.below for part in answer._tables(width))]

    def _sides(self, rows: Rows) -> str:
        return self.align.ljust(len(rows[0]), ">")


class Readable(ABC):
    """What prints as its answer, in a terminal, in a notebook and in documents, and has columns for other libraries."""

    @abstractmethod
    def _answer(self) -> Answer:
        """What is printed."""

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        """The data by name, all of one length, for other libraries and files."""
        raise NotImplementedError

    def render(self, form: str = "table", *, verbose: bool = False, width: int | None = None) -> str:
        """The printed table in another form.

        Parameters
        ----------
        form : str, default "table"
            "table" (plain text), "markdown", "latex" or "html".
        verbose : bool, default False
            Include the definitions of all metrics.
        width : int, optional
            Width of the terminal, in characters.

        Returns
        -------
        str
        """
        return self._answer().render(form, verbose=verbose, width=width)

    def __repr__(self) -> str:
        return self.render()

    def _repr_html_(self) -> str:
        return self.render("html")

    def to_arrow(self) -> Any:
        """The columns as a pyarrow table."""
        import pyarrow

        def column(values: Any) -> Any:
            try:
                return pyarrow.array(values)
            except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, OverflowError):  # ids of several kinds, or objects
                return pyarrow.array(list(map(str, values)))

        with convertible("the columns"):
            return pyarrow.table({name: column(values) for name, values in self._columns().items()})

    def to_pandas(self) -> Any:
        """The columns as a pandas frame."""
        import pandas

        with convertible("the columns"):
            return pandas.DataFrame(dict(self._columns()))

    def to_polars(self) -> Any:
        """The columns as a polars frame."""
        import polars

        return polars.from_arrow(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The columns by the Arrow PyCapsule protocol."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def plain(record: Any) -> dict[str, Any]:
    """A dataclass, a named tuple or a mapping as plain data, with all that is in it."""
    if is_dataclass(record):
        pairs: Any = ((entry.name, getattr(record, entry.name)) for entry in fields(record))
    else:
        pairs = (record if isinstance(record, Mapping) else record._asdict()).items()
    return {name: _plain_value(value) for name, value in pairs}


def _plain_value(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value) or isinstance(value, Mapping) or hasattr(value, "_asdict"):
        return plain(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map(_plain_value, value))
    return value.tolist() if hasattr(value, "tolist") else value


def table_of(columns: Mapping[str, Sequence[object]]) -> list[list[str]]:
    """The columns as a printed table, the head first."""
    cells = ([number(value) if isinstance(value, float) else str(value) for value in row]
             for row in zip(*columns.values(), strict=True))  # fmt: skip
    return [list(columns), *cells]


def _parts(rows: Rows, align: str, width: int | None, fixed: int) -> list[tuple[Rows, str]]:
    """The table as it is, or cut into tables of fewer columns, each with the first ones."""
    widths = [max(len(row[at]) for row in rows) + 2 for at in range(len(rows[0]))]
    parts = [[*range(fixed)]]
    for at in range(fixed, len(widths)):
        if width is not None and len(parts[-1]) > fixed and sum(widths[i] for i in [*parts[-1], at]) - 2 > width:
            parts.append([*range(fixed)])
        parts[-1].append(at)
    return [([[row[at] for at in part] for row in rows], "".join(align[at] for at in part)) for part in parts]


def width_of(rows: Rows) -> int:
    """How many letters the widest line has."""
    return max(map(len, aligned(rows, ">" * len(rows[0]))))


def number(value: float) -> str:
    """To four decimals; a count as it is."""
    whole = 1 < abs(value) < 1e15 and value == int(value)
    return f"{value:.0f}" if whole else _unsigned_zero(f"{value:.4f}")


def _unsigned_zero(text: str) -> str:
    """A number that rounds to 0 without a sign."""
    return "0.0000" if text in ("-0.0000", "+0.0000") else text


def queries(count: float) -> str:
    """So many of them."""
    return f"{count:,.0f} quer{'y' if count == 1 else 'ies'}"


def signed(value: float) -> str:
    """With its sign, to four decimals."""
    if not math.isfinite(value):
        return "" if math.isnan(value) else "-inf" if value < 0 else "+inf"
    return _unsigned_zero(f"{value:+.4f}")


def p_value(value: float) -> str:
    """A p to four decimals, never 0; nothing where there is none."""
    return "" if math.isnan(value) else "<0.0001" if value < 0.0001 else f"{value:.4f}"


def p_said(value: float) -> str:
    """The same in a sentence."""
    shown = p_value(value)
    return f"p {shown[0]} {shown[1:]}" if shown.startswith("<") else f"p = {shown}"


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


def html_table(rows: Rows, align: str, notes: Sequence[str], tips: Mapping[str, str] | None = None) -> str:
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
    text = "<br>".join(map(escape, notes))
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
        padded = _padded([list(map(markdown, row)) for row in rows], align)
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
    """Text in which nothing is a mark. A bracket or star at its start would belong to the end of the row before it."""
    line = " ".join(text.split())
    escaped = re.sub(r"[\\^~_%&#${}<>]", lambda mark: _LATEX.get(mark[0], "\\" + mark[0]), line)
    return Latex("{}" * line.startswith(("[", "*")) + escaped)


def tabular(rows: Sequence[Sequence[Latex]], align: str) -> str:
    """A table of the package booktabs; the head first."""
    head, *body = [" & ".join(row) + r" \\" for row in rows]
    shape = align.replace("<", "l").replace(">", "r")
    return "\n".join(
        [rf"\begin{{tabular}}{{{shape}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
    )


@dataclass(frozen=True)
class PaperTable:
    """A whole table with its caption, for a paper that uses the package booktabs."""

    head: Sequence[str]
    body: Sequence[Sequence[Latex]]
    caption: str
    definitions: Sequence[str] = ()  # sentences of the caption
    origin: str = ""  # its last sentence

    def render(self, verbose: bool) -> str:
        """The table; verbose: with definitions in the caption."""
        rows = [list(map(latex, self.head)), *self.body]
        caption = " ".join([self.caption, *(self.definitions if verbose else ()), self.origin])
        return "\n".join([
            r"\begin{table}", r"\centering", rf"\caption{{{latex(caption)}}}",
            tabular(rows, "<".ljust(len(self.head), ">")), r"\end{table}",
        ])  # fmt: skip


def markdown_page(rows: Rows, notes: Sequence[str]) -> str:
    """A table with lines under it."""
    under = ["", "  \n".join(_LINE_MARK.sub(r"\1\\\2", markdown(note)) for note in notes)] if notes else []
    return "\n".join([render([row for row in rows if row], "markdown"), *under])


# Marks of Markdown, where they can be live: names may be those of other people. `hit_rate@3` has none.
_MARKDOWN = re.compile(r"[\\`*\[\]<>|~&]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.", re.IGNORECASE)
_MENTION = re.compile(r"(?<![^\W_])@(?=\w)|(?<=\w)@(?=[\w-]+\.\w)")  # of a person, or an e-mail address
_LINE_MARK = re.compile(r"^(\d*)([#+=.)-])(?=[\s#=-])")  # of a heading, a list or a rule


def markdown(text: str) -> str:
    """Text in one line, in which nothing is a mark."""
    line = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", text)
    return _MENTION.sub("&#64;", _MARKDOWN.sub(r"\\\g<0>", line))


def wrapped(lines: Sequence[str], width: int = WIDTH) -> list[str]:
    """The lines, none of them longer than a screen is wide."""
    import textwrap

    return [part for line in lines for part in textwrap.wrap(line, width, subsequent_indent="  ")]
