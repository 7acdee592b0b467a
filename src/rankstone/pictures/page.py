"""A page of HTML in one file: no request to anywhere, nothing in it but its own style and script."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

from rankstone.pictures.plot import Plot
from rankstone.pictures.safe import safe
from rankstone.pictures.svg import STYLE as PLOT_STYLE

# Dark or light as the reader's machine is; on paper light.
STYLE = (
    ":root{color-scheme:light dark;--ink:#1b1f24;--quiet:#57606a;--paper:#fff;--line:#d0d7de;--stripe:#f3f5f7;"
    "--good:#0b6b3a;--bad:#a8320a}"
    "@media screen and (prefers-color-scheme:dark){:root{--ink:#e6edf3;--quiet:#a4aeb9;--paper:#0d1117;--line:#30363d;"
    "--stripe:#161b22;--good:#5fd39a;--bad:#ff9d7a}}"
    "*{box-sizing:border-box}body{margin:0 auto;padding:1rem;max-width:64rem;color:var(--ink);background:var(--paper);"
    "font:15px/1.5 system-ui,sans-serif;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}"
    "h1{font-size:1.5rem}h2{font-size:1.2rem;margin:2.2rem 0 .6rem;border-bottom:1px solid var(--line)}"
    "h3{font-size:1rem;margin:1.4rem 0 .4rem}p{margin:.4rem 0}.quiet{color:var(--quiet)}"
    ".scroll{overflow-x:auto;margin:.5rem 0}table{border-collapse:collapse}"
    "th,td{padding:.15rem .6rem;text-align:right;vertical-align:top;white-space:nowrap}"
    "th{border-bottom:1px solid var(--line);font-weight:600}tbody tr:nth-child(even){background:var(--stripe)}"
    ".l{text-align:left}.tall{max-height:26rem;overflow:auto}"
    ".tall th{position:sticky;top:0;background:var(--paper)}"
    ".up{color:var(--good);font-weight:600}.down{color:var(--bad);font-weight:600}"
    "nav ul{display:flex;flex-wrap:wrap;gap:.2rem 1rem;padding:0;list-style:none}a{color:inherit}"
    "summary{cursor:pointer}:focus-visible{outline:2px solid #0072b2;outline-offset:2px}"
    "input{font:inherit;color:inherit;background:var(--paper);border:1px solid var(--quiet);padding:.2rem .4rem;"
    "max-width:100%}button{font:inherit;color:inherit;background:none;border:0;padding:0;cursor:pointer}"
    ".pictures{display:flex;flex-wrap:wrap;gap:1rem;align-items:flex-start}.pictures>*{min-width:0;flex:1 1 20rem}"
    "figure{margin:.5rem 0;overflow-x:auto}@media(max-width:40rem){figure .rs{min-width:32rem;max-width:none}}"
    "pre{overflow-x:auto}[hidden]{display:none}figure[data-table] svg{cursor:pointer}"
    "tbody tr.at{outline:2px solid #0072b2;outline-offset:-2px}"
    "@media print{body{max-width:none}.tall{max-height:none;overflow:visible}nav,.tools{display:none}"
    "h2{break-after:avoid}figure,tr{break-inside:avoid}}"
)

_TALL = 30  # rows, above which a table scrolls by itself

# Sorts a table by a column, shows the rows that hold a text, and the row of a bar. Without it all is there.
SCRIPT = """
for (const figure of document.querySelectorAll('figure[data-table]')) {
  const name = figure.dataset.table, count = Number(figure.dataset.count);
  const rows = [...document.getElementById(name).tBodies[0].rows], half = rows.length / 2;
  const show = at => {
    for (const other of document.querySelectorAll('tr.at')) other.classList.remove('at');
    rows[at].classList.add('at');
    rows[at].hidden = false;
    const found = [at, at - rows.length].map(place => document.querySelector(`details[data-row="${name} ${place}"]`));
    for (const fold of found) if (fold) fold.open = true;
    rows[at].scrollIntoView({block: 'center'});
  };
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
  const table = document.getElementById(box.dataset.table), told = box.nextElementSibling;
  box.addEventListener('input', () => {
    const wanted = box.value.toLowerCase();
    let many = 0;
    for (const row of table.tBodies[0].rows) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
      many += row.hidden ? 0 : 1;
    }
    told.textContent = many + ' shown';
  });
}
"""


def page(title: str, sections: Sequence[tuple[str, str, str]]) -> str:
    """A whole page; sections: an anchor of ours, a heading, and its HTML."""
    style = STYLE + PLOT_STYLE
    own = f"style-src {_hashed(style)}; script-src {_hashed(SCRIPT)}"
    policy = f"default-src 'none'; {own}; base-uri 'none'; form-action 'none'"
    links = "".join(f'<li><a href="#{anchor}">{safe(heading)}</a></li>' for anchor, heading, _ in sections)
    body = "".join(
        f'<section id="{anchor}"><h2>{safe(heading)}</h2>{text}</section>' for anchor, heading, text in sections
    )
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{safe(title)}</title><style>{style}</style></head><body><header><h1>{safe(title)}</h1></header>"
        f'<nav aria-label="Parts of this page"><ul>{links}</ul></nav><main>{body}</main>'
        f"<script>{SCRIPT}</script></body></html>\n"
    )


def _hashed(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of text."""
    name = f' class="{kind}"' if kind else ""
    return f"<p{name}>{safe(text, None)}</p>"


def bullets(lines: Iterable[str]) -> str:
    """A list of sentences."""
    items = "".join(f"<li>{safe(line, 2_000)}</li>" for line in lines)
    return f"<ul>{items}</ul>" if items else ""


def figure(plot: Plot, anchor: str = "", count: int = 0) -> str:
    """A picture with what it says under it; anchor: a table with the first and the last of the bars' `count` rows."""
    more = f' data-table="{anchor}" data-count="{count}"' if anchor else ""
    said = f'<figcaption class="quiet">{safe(plot.sentence, 600)}</figcaption>'
    return f"<figure{more}>{plot.svg(styled=False)}{said}</figure>"


def table(
    rows: Sequence[Sequence[Any]],
    left: Sequence[int] = (0,),
    *,
    anchor: str = "",
    caption: str = "",
    signs: Sequence[int] = (),
) -> str:
    """A table, its head first; left: columns of text; signs: columns whose numbers are good above 0; anchor: sorted."""

    def cell(tag: str, at: int, value: Any) -> str:
        text = str(value)
        kinds = ["l"] if at in left else []
        if tag == "td" and at in signs and text[:1] in "+-" and text.strip("+-0.,"):
            kinds.append("up" if text[0] == "+" else "down")
        name = f' class="{" ".join(kinds)}"' if kinds else ""
        more = f' title="{safe(text, 2_000)}"' if len(text) > 80 else ""
        scope = ' scope="col"' if tag == "th" else ""
        return f"<{tag}{name}{more}{scope}>{safe(text)}</{tag}>"

    def line(tag: str, row: Sequence[Any]) -> str:
        return f"<tr>{''.join(cell(tag, at, value) for at, value in enumerate(row))}</tr>"

    name = f' class="sorted" id="{anchor}"' if anchor else ""
    said = f'<caption class="l quiet">{safe(caption)}</caption>' if caption else ""
    body = "".join(line("td", row) for row in rows[1:] if row)
    tall = " tall" if len(rows) > _TALL else ""
    return (
        f'<div class="scroll{tall}" tabindex="0" role="region" aria-label="{safe(caption or "Table")}">'
        f"<table{name}>{said}"
        f"<thead>{line('th', rows[0])}</thead><tbody>{body}</tbody></table></div>"
    )


def filter_box(anchor: str) -> str:
    """A box that shows the rows of a table that hold a text; there only if the script runs."""
    return (
        f'<p class="tools" hidden><label>Show rows with <input class="filter" data-table="{anchor}"> '
        '<span class="quiet" aria-live="polite"></span></label></p>'
    )


def fold(heading: str, text: str, row: str = "") -> str:
    """HTML that is shown when asked for; row: a table's anchor and the place of the row that it is about."""
    more = f' data-row="{row}"' if row else ""
    return f"<details{more}><summary>{safe(heading, 200)}</summary>{text}</details>"
