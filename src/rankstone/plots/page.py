"""An HTML page in one file, with inline style and script and without external requests."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, NamedTuple

from rankstone.plots.marks import escape, escape_sentence
from rankstone.plots.plot import Plot
from rankstone.plots.svg import STYLE as PLOT_STYLE
from rankstone.plots.svg import around

_COLUMNS = 14  # of the widest table
_WHOLE = 860  # pixels, of a picture as wide as the page
_STACKED = 4  # columns, above which a row is a list of its cells on a phone

# Dark or light as the reader's machine is; on paper light.
STYLE = (
    ":root{color-scheme:light dark;--ink:#1b1f24;--quiet:#57606a;--paper:#fff;--line:#d0d7de;--stripe:#f3f5f7;"
    "--good:#0b6b3a;--bad:#a8320a;--good-back:#e6f4ea;--bad-back:#fdeae3;--open-back:#f1f2f4;--note-back:#fff8e6;"
    "--note:#9a5b00}"
    "@media screen and (prefers-color-scheme:dark){:root{--ink:#e6edf3;--quiet:#a4aeb9;--paper:#0d1117;--line:#30363d;"
    "--stripe:#161b22;--good:#5fd39a;--bad:#ff9d7a;--good-back:#0f2a1b;--bad-back:#331a12;--open-back:#1a2028;"
    "--note-back:#2b2311;--note:#e3b341}}"
    "*{box-sizing:border-box}body{margin:0 auto;padding:1rem;max-width:70rem;color:var(--ink);background:var(--paper);"
    "font:15px/1.5 system-ui,sans-serif;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}"
    "h1{font-size:1.5rem}h2{font-size:1.2rem;margin:2.2rem 0 .6rem;border-bottom:1px solid var(--line)}"
    "h3,h4{font-size:1rem;margin:1.4rem 0 .4rem}h4{margin-top:.8rem;font-weight:500}"
    "p{margin:.4rem 0}.quiet{color:var(--quiet)}"
    ".scroll{overflow-x:auto;margin:.5rem 0}table{border-collapse:collapse}"
    "th,td{padding:.15rem .6rem;text-align:right;vertical-align:top;white-space:nowrap;max-width:22rem;"
    "overflow-wrap:break-word}th{white-space:normal}.w{min-width:12rem;white-space:normal;overflow-wrap:anywhere}"
    "th{border-bottom:1px solid var(--line);font-weight:600}tbody tr:nth-child(even){background:var(--stripe)}"
    "table:has(th:nth-child(9)){font-size:.8rem}table:has(th:nth-child(9)) :is(th,td){padding:.15rem .4rem}"
    ".l{text-align:left}"
    + ",".join(f".l{at} td:nth-child({at + 1})" for at in range(_COLUMNS))
    + "{text-align:left;overflow-wrap:anywhere}"
    ".tall{max-height:26rem;overflow:auto}"
    ".tall th{position:sticky;top:0;background:var(--paper)}"
    ".up{color:var(--good);font-weight:600}.down{color:var(--bad);font-weight:600}"
    "h1{margin:.4rem 0 0}header p{margin:0}"
    ".lead,.caveats{border-left:5px solid var(--line);border-radius:.4rem;padding:.6rem 1rem;margin:1rem 0}"
    ".lead{font-size:1.1rem;background:var(--open-back)}.lead p{margin:0}"
    ".lead.good{border-color:var(--good);background:var(--good-back)}"
    ".lead.bad{border-color:var(--bad);background:var(--bad-back)}"
    ".caveats{border-color:var(--note);background:var(--note-back)}.caveats ul{margin:.2rem 0;padding-left:1.2rem}"
    "table.grid{width:100%;border-collapse:separate;border-spacing:.25rem;table-layout:fixed}"
    "table.grid th,table.grid td{text-align:left;white-space:normal;max-width:none;overflow-wrap:anywhere;"
    "border:0;background:none}table.grid td{padding:.4rem .6rem;border-radius:.4rem;background:var(--open-back)}"
    "table.grid td.good{background:var(--good-back)}table.grid td.bad{background:var(--bad-back)}"
    "table.grid b{font-size:1.05rem}table.grid small{display:block;color:var(--quiet);line-height:1.35}"
    "table.grid tr{background:none}table.grid th:first-child{width:14%}th small{font-weight:400}"
    ".chip,i{color:var(--quiet)}.good .chip,.good i{color:var(--good)}.bad .chip,.bad i{color:var(--bad)}"
    "i{font-style:normal}.chip{display:inline-block;border:1px solid;border-radius:1rem;padding:0 .5rem;"
    "font-size:.8rem;font-weight:600;margin-top:.15rem}"
    "details.part{border-top:1px solid var(--line)}details.part>summary{padding:.5rem 0}"
    "details.part>summary h2{display:inline;border:0;margin:0;font-size:1.1rem}details.part[open]{padding-bottom:1rem}"
    "summary{cursor:pointer}:focus-visible{outline:2px solid #0072b2;outline-offset:2px}"
    "input{font:inherit;color:inherit;background:var(--paper);border:1px solid var(--quiet);padding:.2rem .4rem;"
    "max-width:100%}button{font:inherit;color:inherit;background:none;border:0;padding:0;cursor:pointer}"
    "td button{text-decoration:underline;text-align:left}"
    ".pictures{display:flex;flex-wrap:wrap;gap:1rem;align-items:flex-start}.pictures>*{min-width:0;flex:1 1 27rem}"
    ".folds{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(20rem,100%),1fr));gap:0 1rem}"
    ".folds>[open]{grid-column:1/-1}figure{margin:.5rem 0;overflow-x:auto}"
    "@media(max-width:40rem){th,td{max-width:12rem;padding:.15rem .4rem;white-space:normal}.w{min-width:9rem}"
    ".stacked{width:100%}.stacked thead{display:none}.stacked tr{display:block;padding:.3rem 0;"
    "border-bottom:1px solid var(--line)}.stacked td,.stacked th{display:flex;gap:1rem;justify-content:space-between;"
    "max-width:none;white-space:normal}.stacked td::before{content:attr(data-l);color:var(--quiet)}"
    "table.grid.stacked :is(td,th:first-child){display:block;width:auto}"
    "table.grid.stacked td::before{display:block;font-size:.8rem}table.grid.stacked tr{border:0}"
    f'figure .rs[width="640"],figure .rs[width="{_WHOLE}"]{{min-width:32rem;max-width:none}}'
    ".pictures>*{flex-basis:100%}}"
    "pre{white-space:pre-wrap}[hidden]{display:none}figure[data-table] svg{cursor:pointer}"
    "tbody tr.at{outline:2px solid #0072b2;outline-offset:-2px}"
    "@page{margin:14mm}"
    "@media print{body{max-width:none;padding:0;font-size:13px}.scroll{max-height:none;overflow:visible}"
    ".tools,.folds>:not([open]),details.part:not([open]):not(#definitions){display:none}"
    ".why:not(:has([open])){display:none}#definitions::details-content{content-visibility:visible;block-size:auto}"
    ".lead,.caveats,td{print-color-adjust:exact}"
    "table{font-size:11px}table:has(th:nth-child(10)){font-size:9px}"
    "th,td{padding:.1rem .25rem;max-width:12rem;white-space:normal}.w{min-width:3rem}.pictures{display:block}"
    ".pictures>*{display:inline-block;width:48%;vertical-align:top}h2,h3,caption{break-after:avoid}figure,tr{break-inside:avoid}"
    ".tall th{position:static}}"
)

_TALL = 30  # rows, above which a table scrolls by itself
_WIDE = 40  # letters, above which a cell has lines
_ROWS = 500  # pixels, of a picture with names
_SMALL = 440  # pixels, of one of two pictures side by side

# Sorts tables, filters rows and links bars with rows. The page is complete without it.
SCRIPT = """
for (const figure of document.querySelectorAll('figure[data-table]')) {
  const name = figure.dataset.table, count = Number(figure.dataset.count);
  const rows = [...document.getElementById(name).tBodies[0].rows], half = rows.length / 2;
  const show = at => {
    for (const other of document.querySelectorAll('tr.at')) other.classList.remove('at');
    rows[at].classList.add('at');
    rows[at].hidden = false;
    const folds = [at, at - rows.length].map(place => document.querySelector(`details[data-row="${name} ${place}"]`));
    for (const fold of folds) if (fold) fold.open = true;
    figure.closest('details').open = true;
    rows[at].scrollIntoView({block: 'center'});
  };
  if (figure.dataset.low) {
    const low = Number(figure.dataset.low), span = Number(figure.dataset.high) - low;
    figure.addEventListener('click', event => {
      const area = figure.querySelector('.rule').getBoundingClientRect();
      const [x, y] = [(event.clientX - area.left) / area.width, (area.bottom - event.clientY) / area.height];
      const share = cell => (parseFloat(cell.textContent) - low) / span;
      const far = row => Math.hypot(x - share(row.cells[1]), y - share(row.cells[2]));
      const nearest = rows.reduce((a, b) => far(b) < far(a) ? b : a);
      if (far(nearest) < 0.04) show(rows.indexOf(nearest));
    });
    continue;
  }
  rows.forEach((row, at) => row.addEventListener('click', () => show(at)));
  figure.addEventListener('click', event => {
    const area = figure.querySelector('.strong').getBoundingClientRect();
    const at = Math.floor((event.clientX - area.left) / area.width * count);
    if (at >= 0 && at < count) show(at < half ? at : Math.max(at - count + rows.length, Math.floor(half)));
  });
}
for (const table of document.querySelectorAll('table.sorted')) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, at) => {
    const button = document.createElement('button');
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener('click', () => {
      const up = head.getAttribute('aria-sort') !== 'ascending';
      for (const other of head.parentNode.cells) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      const value = row => { const cell = row.cells[at], number = parseFloat(cell.textContent);
        return head.classList.contains('l') || Number.isNaN(number) ? cell.textContent : number; };
      const rows = [...body.rows].map(row => [value(row), row]);
      rows.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (up ? 1 : -1));
      body.append(...rows.map(([, row]) => row));
    });
  });
}
for (const box of document.querySelectorAll('input.filter')) {
  box.closest(".tools").hidden = false;
  const table = document.getElementById(box.dataset.table), counter = box.nextElementSibling;
  box.addEventListener('input', () => {
    const wanted = box.value.toLowerCase();
    let many = 0;
    for (const row of table.tBodies[0].rows) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
      many += row.hidden ? 0 : 1;
    }
    counter.textContent = many + ' shown';
  });
}
for (const table of document.querySelectorAll('table[data-links]')) {
  for (const row of table.tBodies[0].rows) {
    const cell = row.cells[table.dataset.links], button = document.createElement('button');
    button.append(...cell.childNodes);
    cell.append(button);
    button.addEventListener('click', () => {
      for (const box of document.querySelectorAll('input.filter')) {
        box.value = button.textContent;
        box.dispatchEvent(new Event('input'));
      }
      document.querySelector('input.filter').closest('details').open = true;
      document.querySelector('input.filter').focus();
    });
  }
}
"""


def page(title: str, subtitle: Sequence[str], lead: str, sections: Sequence[tuple[str, str, str]]) -> str:
    """A whole page; lead: HTML that is seen at once, sections: folded, each an anchor, a heading and HTML."""
    style = STYLE + PLOT_STYLE
    own = f"style-src {_hashed(style)}; script-src {_hashed(SCRIPT)}"
    policy = f"default-src 'none'; {own}; base-uri 'none'; form-action 'none'"
    body = "".join(
        f'<details class="part" id="{anchor}"><summary><h2>{escape(heading)}</h2></summary>{text}</details>'
        for anchor, heading, text in sections
    )
    under = escape_sentence(" \N{MIDDLE DOT} ".join(filter(None, subtitle)), 600)
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title, 200)}</title><style>{style}</style></head><body>"
        f'<header><h1>{escape(title, 200)}</h1><p class="quiet">{under}</p></header>'
        f"<main>{lead}{body}</main><script>{SCRIPT}</script></body></html>\n"
    )


def box(kind: str, text: str) -> str:
    """HTML in a coloured box."""
    return f'<div class="{kind}">{text}</div>'


class Cell(NamedTuple):
    """A cell of a grid of verdicts."""

    value: str
    change: str = ""
    details: Sequence[str] = ()  # lines
    verdict: str = ""  # with its mark
    kind: str = ""  # of its colour

    def html(self, label: str) -> str:
        """The cell; label: of its column, for a phone."""
        kind = f' class="{self.kind}"' if self.kind else ""
        details = "".join(f"<small>{escape(line)}</small>" for line in self.details)
        chip = f'<span class="chip">{escape(self.verdict)}</span>' if self.verdict else ""
        text = f"<b>{escape(self.value)}</b> <i>{escape(self.change)}</i>{details}{chip}"
        return f'<td{kind} data-l="{escape(label)}">{text}</td>'


def grid(head: Sequence[str], rows: Iterable[tuple[str, str, Sequence[Cell]]], caption: str) -> str:
    """Verdicts by run and metric; a row has a name, a text under it, and cells."""
    body = "".join(
        f'<tr><th scope="row">{escape(name)}<small>{escape(under)}</small></th>'
        f"{''.join(cell.html(label) for label, cell in zip(head[1:], cells, strict=True))}</tr>"
        for name, under, cells in rows
    )
    names = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    return (
        f'<table class="grid stacked"><caption class="l quiet">{escape_sentence(caption)}</caption>'
        f"<thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"
    )


def _hashed(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of text."""
    name = f' class="{kind}"' if kind else ""
    return f"<p{name}>{escape_sentence(text)}</p>"


def bullets(lines: Iterable[str]) -> str:
    """A list of sentences."""
    items = "".join(f"<li>{escape_sentence(line, 2_000)}</li>" for line in lines)
    return f"<ul>{items}</ul>" if items else ""


def figure(plot: Plot, anchor: str = "", count: int = 0) -> str:
    """A plot with its caption; anchor: the table of its queries, or with `count` bars, of the first and last ones."""
    ends = f'data-count="{count}"' if count else f'data-low="{plot.x.low}" data-high="{plot.x.high}"'
    more = f' data-table="{anchor}" {ends}' if anchor else ""
    caption = f'<figcaption class="quiet">{escape_sentence(plot.sentence, 600)}</figcaption>' if plot.sentence else ""
    return f"<figure{more}>{plot.svg(styled=False)}{caption}</figure>"


def figures(*drawn: str) -> str:
    """Plots in a row where there is room."""
    return f'<div class="pictures">{"".join(drawn)}</div>'


def rows_figure(plot: Plot) -> str:
    """A plot with a name per row: narrow enough for a phone, if its names are short."""
    return figure(replace(plot, width=_ROWS) if around(plot) < _ROWS / 2 else plot)


def wide_figure(plot: Plot) -> str:
    """A plot as wide as the page, without its caption."""
    return f"<figure>{replace(plot, width=_WHOLE).svg(styled=False)}</figure>"


def small_figure(plot: Plot, anchor: str = "", count: int = 0) -> str:
    """The same in half of the page, small enough for a phone."""
    return figure(replace(plot, width=_SMALL, height=round(_SMALL * 0.8)), anchor, count)


def table(
    rows: Sequence[Sequence[Any]],
    left: Sequence[int] = (0,),
    *,
    anchor: str = "",
    caption: str = "",
    signs: Sequence[int] = (),
    links: int | None = None,
) -> str:
    """A table, its head first; left: columns of text; signs: columns whose numbers are good above 0; anchor: sorted;
    links: a column whose words are looked for in the tables that have a box for that."""

    stacked = len(rows[0]) > _STACKED

    def cell(tag: str, at: int, value: Any) -> str:
        text = str(value)
        kinds = ["l"] if tag == "th" and at in left else []
        if tag == "td" and at in signs and text[:1] in "+-" and text.strip("+-0.,"):
            kinds.append("up" if text[0] == "+" else "down")
        kinds += ["w"] if len(text) > _WIDE else []
        name = f' class="{" ".join(kinds)}"' if kinds else ""
        more = f' title="{escape(text, 2_000)}"' if len(text) > 80 else ""
        more += f' data-l="{escape(rows[0][at])}"' if stacked and tag == "td" else ""
        scope = ' scope="col"' if tag == "th" else ""
        return f"<{tag}{name}{more}{scope}>{escape(text)}</{tag}>"

    def line(tag: str, row: Sequence[Any]) -> str:
        return f"<tr>{''.join(cell(tag, at, value) for at, value in enumerate(row))}</tr>"

    kinds = ["sorted"] * bool(anchor) + ["stacked"] * stacked
    kinds += [f"l{at}" for at in left]  # shorter than a class in every cell
    name = f' class="{" ".join(kinds)}"' + (f' id="{anchor}"' if anchor else "")
    name += f' data-links="{links}"' if links is not None else ""
    caption_html = f'<caption class="l quiet">{escape(caption)}</caption>' if caption else ""
    body = "".join(line("td", row) for row in rows[1:] if row)
    tall = " tall" if len(rows) > _TALL else ""
    return (
        f'<div class="scroll{tall}" tabindex="0" role="region" aria-label="{escape(caption or "Table")}">'
        f"<table{name}>{caption_html}"
        f"<thead>{line('th', rows[0])}</thead><tbody>{body}</tbody></table></div>"
    )


def filter_box(anchor: str) -> str:
    """A box that shows the rows of a table that hold a text; there only if the script runs."""
    return (
        f'<p class="tools" hidden><label>Show rows with <input class="filter" data-table="{anchor}"> '
        '<span class="quiet" aria-live="polite"></span></label></p>'
    )


def fold(heading: str, text: str, row: str = "") -> str:
    """HTML in a collapsed block; row: the anchor of a table and the position of its row."""
    more = f' data-row="{row}"' if row else ""
    return f"<details{more}><summary>{escape_sentence(heading)}</summary>{text}</details>"


def folds(heading: str, parts: Sequence[str]) -> str:
    """Collapsed blocks under a heading."""
    return (
        f'<div class="why"><h4>{escape(heading)}</h4><div class="folds">{"".join(parts)}</div></div>' if parts else ""
    )
