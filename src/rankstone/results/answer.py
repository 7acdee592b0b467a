"""Tables that people read: in a terminal, in a notebook, and in what they write."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from rankstone.data.arrow import convertible

T = TypeVar("T")
Rows = Sequence[Sequence[str]]  # the head first

WIDTH = 100  # of notes, where the width of the terminal is unknown
_LONG, _SHORT = 16, 10  # letters of a name that may be shortened on a narrow screen, and that are left of it


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
_ANSI = {"good": 32, "bad": 31, "open": 90, "same": 36, "head": 1, "note": 2}


def verdict_of(text: str, column: str = "verdict") -> Verdict | None:
    """How a title, or a cell of a column, looks if its first word is a verdict."""
    word = re.search(r"\w+", text) if column == "verdict" else None
    return VERDICTS.get(word[0].lower()) if word else None


def comparative(difference: float, direction: int) -> str:
    """The verdict of a significant difference; direction: 1 if a higher mean is better, -1 if a lower one, else 0."""
    higher, lower = {1: ("better", "worse"), -1: ("worse", "better"), 0: ("higher", "lower")}[direction]
    return higher if difference > 0 else lower


class Screen(NamedTuple):
    """What a text is printed on."""

    width: int | None = None
    colour: bool = False
    marks: bool = False  # whether verdicts have them

    def ink(self, kind: str, text: str) -> str:
        """The text in the colour of its kind."""
        return f"\x1b[{_ANSI[kind]}m{text}\x1b[0m" if self.colour else text

    def verdict(self, cell: str, column: str) -> str:
        """A cell, if it is a verdict in its colour."""
        look = verdict_of(cell, column)
        return self.ink(look.kind, cell) if look else cell


class _Part(NamedTuple):
    """A table that fits the screen, its alignment, the space between columns, and the names that were shortened."""

    rows: Rows
    align: str
    gap: int = 2
    names: Mapping[str, str] = {}


@dataclass(frozen=True)
class Answer:
    """A table that people read: a title above it, notes under it, and the definitions of its numbers."""

    table: Rows  # what is printed, the head first; an empty row is a line across
    title: str = ""
    notes: Sequence[str] = ()
    definitions: Sequence[str] = ()
    align: str = "<"  # of the first columns, < or >; the others are numbers
    fixed: int = 0  # columns that each part of a table repeats that is too wide for the screen; 0: it is never cut
    later: Sequence[str] = ()  # columns that move to a second table first
    turns: bool = False  # may rows and columns change places on a narrow screen
    below: Sequence[Answer] = ()  # tables printed under this one
    tips: Mapping[str, str] = field(default_factory=dict)  # shown in a notebook on pointing at a row, by its first cell
    paper: PaperTable | None = None  # the table of a LaTeX document, where it is another one
    more: str = ""  # what shows the definitions, where they are left out
    heading: str = ""  # in Markdown, for a pull request; empty: the title is the first note

    def render(self, form: str = "table", *, verbose: bool = False, width: int | None = None) -> str:
        """As `markdown`, `latex`, `html`, or the `table` that is printed; verbose: with definitions."""
        notes = self._notes(verbose, self.more)
        title = [self.title] if self.title else []
        if form == "html":
            return html_table(self)
        if form == "markdown" and self.heading:
            return f"**{self.heading}**\n\n{markdown_page(self.table, notes)}"
        if form == "markdown":
            return markdown_page(self.table, [*title, *notes])
        if form == "latex" and self.paper is not None:
            return self.paper.render(verbose)
        if form == "latex":
            rows = render([row for row in self.table if row], form)
            return "\n".join([rows, *(f"% {line}" for line in wrapped([*title, *notes]))])
        return self.text(Screen(width), verbose, self.more)

    def text(self, screen: Screen, verbose: bool = False, more: str = "") -> str:
        """The table that is printed; more: what shows the definitions, where they are left out."""
        parts = self._parts(screen)
        names = {short: name for part in parts for short, name in part.names.items()}
        notes = [*self._notes(verbose, more), *(f"{short}: {name}" for short, name in names.items())]
        title, *notes = map(_visible, (self.title, *notes))
        wide, look = min(screen.width or WIDTH, WIDTH), verdict_of(self.title)
        return "\n".join([
            *(screen.ink(look.kind if look else "head", line) for line in wrapped([title], wide)),
            *(line for part in parts for line in text_table(part.rows, part.align, part.gap, screen)),
            *(screen.ink("note", line) for line in wrapped(notes, wide)),
        ])  # fmt: skip

    def _notes(self, verbose: bool, more: str) -> list[str]:
        notes = [*self.notes, *(self.definitions if verbose else ())]
        if notes and more and self.definitions and not verbose:
            notes[0] += f" ({more} for all)"
        return notes

    def _parts(self, screen: Screen) -> list[_Part]:
        """The table in as many parts as the width asks for, and those below it."""
        rows: Rows = [list(map(_visible, row)) for row in self.table]
        width = screen.width or math.inf
        if not rows:
            return []
        if screen.marks:
            rows = [list(map(_marked, row, rows[0])) for row in rows]
        tables = [_Part(rows, self._sides(rows))]
        if width_of(rows) > width:
            if self.turns:
                head, *body = map(list, zip(*rows, strict=True))
                tables.append(_Part([["run", *head[1:]], *body], self._sides(body)))
            each = (_cut(table, int(width), self) if self.fixed else [_folded(table, int(width))] for table in tables)
            tables = min(each, key=len)
        return [*tables, *(part for answer in self.below for part in answer._parts(screen))]

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
        return (self._printed() if form == "table" else self._answer()).render(form, verbose=verbose, width=width)

    def _printed(self) -> Answer:
        """What a terminal shows, where it is less."""
        return self._answer()

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


class Records(Readable, Generic[T]):
    """A result that consists of records; iterating yields them."""

    _records: tuple[T, ...]
    _names: Sequence[str]  # fields that are columns

    def __iter__(self) -> Iterator[T]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def _columns(self) -> dict[str, Any]:
        return {name: [getattr(record, name) for record in self] for name in self._names}


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


def _visible(text: str) -> str:
    """The text with codes of a terminal, which ids may hold, as text."""
    from rankstone.plots.marks import printable

    return printable(text, None)


def _marked(cell: str, column: str) -> str:
    """A cell, if it is a verdict with its mark."""
    look = verdict_of(cell, column)
    return f"{look.mark} {cell}" if look else cell


def _cut(part: _Part, width: int, answer: Answer) -> list[_Part]:
    """The table in parts of fewer columns, each with the fixed ones; set closer and with short names first."""
    align, fixed = part.align, [*range(answer.fixed)]
    first = [at for at, name in enumerate(part.rows[0]) if name not in answer.later]
    long = [at for at in fixed if _width(part.rows, [at]) > _LONG]
    rest = width - len(long) - _width(part.rows, [at for at in first if at not in long], 1)
    rows, names = part.rows, part.names
    if long and _width(rows, first, 1) > width:
        least = 0 if answer.later else min(_LONG, width // 5)
        rows, names = _shortened(rows, long, max(_SHORT, least, rest // len(long)))
    gap = 1 if _width(rows, first) > width else 2
    parts = [fixed]
    for at in sorted(range(len(fixed), len(align)), key=lambda at: at not in first):
        if len(parts[-1]) > len(fixed) and _width(rows, [*parts[-1], at], gap) > width:
            parts.append(fixed)
        parts[-1] = sorted([*parts[-1], at])
    return [_Part([[row[at] for at in own] for row in rows], "".join(align[at] for at in own), gap, names)
            for own in parts]  # fmt: skip


def _width(rows: Rows, columns: Sequence[int], gap: int = 2) -> int:
    return sum(max(len(row[at]) for row in rows) + gap for at in columns) - gap


def _shortened(rows: Rows, columns: Sequence[int], longest: int) -> tuple[Rows, Mapping[str, str]]:
    """The table with names shortened in the middle, and the whole names; as it is if two would look the same."""
    from rankstone.plots.marks import printable

    names = dict.fromkeys(row[at] for row in rows for at in columns)
    short = {name: printable(name, longest) for name in names}
    if len(set(short.values())) < len(names):
        return rows, {}
    whole = {cut: name for name, cut in short.items() if cut != name}
    return [[short[cell] if at in columns else cell for at, cell in enumerate(row)] for row in rows], whole


def _folded(part: _Part, width: int) -> _Part:
    """The table with the texts of its last column on several lines."""
    import textwrap

    room = width - _width([row for row in part.rows if row], range(len(part.align) - 1)) - 2
    if not part.align.endswith("<") or room < _LONG:
        return part
    rows: list[Sequence[str]] = []
    for row in part.rows:
        lines = textwrap.wrap(row[-1], room) if row else []
        rows += [[*(row[:-1] if not at else [""] * (len(row) - 1)), line] for at, line in enumerate(lines)] or [row]
    return part._replace(rows=rows)


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


def text_table(rows: Rows, align: str, gap: int = 2, screen: Screen = Screen()) -> list[str]:  # noqa: B008
    """Lines of a table. An empty row is a line across."""
    head, *body = _padded(rows, align)
    space = " " * gap
    rule = screen.ink("note", "-" * max(len(space.join(cells).rstrip()) for cells in (head, *body)))
    lines = [space.join(map(screen.verdict, cells, rows[0])).rstrip() if cells else rule for cells in body]
    return [screen.ink("head", space.join(head).rstrip()), rule, *lines, *([rule] if body else [])]


# Colours are mixed with that of the page's text, so that they suit light and dark pages.
_STYLE = (
    ".rankstone{font-variant-numeric:tabular-nums;overflow-x:auto}.rankstone strong{display:block;margin:.3em 0}"
    ".rankstone table{border-collapse:collapse;margin:.2em 0 .4em;font-size:.92em}"
    ".rankstone :is(th,td){padding:.25em .5em;border:0;background:none;white-space:nowrap}"
    ".rankstone th{border-bottom:1px solid currentColor}"
    ".rankstone td{border-bottom:1px solid color-mix(in srgb,currentColor 15%,transparent)}"
    ".rankstone :is(p,details){margin:.2em 0;font-size:.85em;opacity:.8}.rankstone summary{cursor:pointer}"
    ".rankstone b{--c:currentColor;color:color-mix(in srgb,var(--c) 60%,currentColor);font-weight:600;"
    "background:color-mix(in srgb,var(--c) 16%,transparent);border-radius:1em;padding:.1em .6em}"
    ".rankstone .good{--c:#2da44e}.rankstone .bad{--c:#e5484d}.rankstone .same{--c:#1f8fbf}.rankstone .open{--c:#888}"
)


def html_table(answer: Answer) -> str:
    """The same for a notebook."""
    from html import escape

    head, *body = answer.table
    align = ["left" if side == "<" else "right" for side in answer._sides(answer.table)]

    def chip(cell: str, column: str) -> str:
        look, text = verdict_of(cell, column), escape(_marked(cell, column))
        return f"<b class='{look.kind}'>{text}</b>" if look else text

    def cells(row: Sequence[str], tag: str) -> str:
        tips = [f" title='{escape(answer.tips[row[0]])}'" if row[0] in answer.tips else "", *[""] * len(row)]
        each = zip(tips, align, map(chip, row, head), strict=False)
        return "".join(f"<{tag}{tip} style='text-align:{side}'>{text}</{tag}>" for tip, side, text in each)

    rows = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in body if row)
    title = f"<strong>{escape(answer.title)}</strong>" if answer.title else ""
    notes, definitions = ("<br>".join(map(escape, lines)) for lines in (answer.notes, answer.definitions))
    return (
        f"<div class='rankstone'><style>{_STYLE}</style>{title}<table><thead><tr>{cells(head, 'th')}</tr></thead>"
        f"<tbody>{rows}</tbody></table>{notes and f'<p>{notes}</p>'}"
        f"{definitions and f'<details><summary>Definitions</summary>{definitions}</details>'}</div>"
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
        return html_table(Answer(rows, align=align))
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


def tabular(rows: Sequence[Sequence[Latex]], align: str, above: Sequence[str] = ()) -> str:
    """A table of the package booktabs; the head first; above: lines over it."""
    head, *body = [" & ".join(row) + r" \\" for row in rows]
    shape = align.replace("<", "l").replace(">", "r")
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{shape}}}",
            r"\toprule",
            *above,
            head,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


@dataclass(frozen=True)
class PaperTable:
    """A whole table with its caption, for a paper that uses the package booktabs."""

    head: Sequence[Latex]
    body: Sequence[Sequence[Latex]]
    caption: Latex
    definitions: Sequence[str] = ()  # sentences of the caption
    origin: str = ""  # its last sentence, or a comment
    label: str | None = None  # for \\ref
    groups: Sequence[tuple[str, int]] = ()  # titles above the columns after the names, and how many they span
    names: int = 1  # columns at the left that are not numbers
    marked: bool = False  # whether marks follow the numbers, which are aligned at the left then

    def render(self, verbose: bool) -> str:
        """The table; verbose: with definitions in the caption."""
        caption = " ".join([self.caption, *map(latex, [*self.definitions, self.origin] if verbose else [])])
        return "\n".join([
            r"\begin{table}", r"\centering", rf"\caption{{{caption}}}",
            *([] if self.label is None else [rf"\label{{{self.label}}}"]),
            tabular(
                [self.head, *self.body],
                "<" * self.names + ("<" if self.marked else ">") * (len(self.head) - self.names), self._titles(),
            ),
            *(f"% {line}" for line in wrapped([self.origin] if self.origin and not verbose else [])), r"\end{table}",
        ])  # fmt: skip

    def _titles(self) -> list[str]:
        """The line of titles, and the rules under them."""
        if not self.groups:
            return []
        cells, rules, at = [""] * self.names, [], self.names + 1
        for title, span in self.groups:
            cells.append(rf"\multicolumn{{{span}}}{{c}}{{{latex(title)}}}")
            rules.append(rf"\cmidrule(lr){{{at}-{at + span - 1}}}")
            at += span
        return [" & ".join(cells) + r" \\", " ".join(rules)]


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
    return _MENTION.sub("&#64;", _MARKDOWN.sub(r"\\\g<0>", one_line(text)))


def one_line(text: object) -> str:
    """Text without line breaks and control characters."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", str(text))


def wrapped(lines: Sequence[str], width: int = WIDTH) -> list[str]:
    """The lines, none of them longer than a screen is wide."""
    import textwrap

    return [part for line in lines for part in textwrap.wrap(line, width, subsequent_indent="  ")]
