"""Draws the two pictures of the README and the first page: `python docs/figures.py`, from the project's folder.

The numbers are read, not written here: those of tools from the record of the golden tests, those of speed from the
tables of benchmarks/README.md.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

sys.path.append(str(Path(__file__).parent))
import recorded

HERE = Path(__file__).parent
WIDTH, ROW, LETTER = 720, 26, 7.6
BLUE, GREY, TEXT, SOFT = "#1565a9", "#98a2ad", "#1f2328", "#59636e"

# A list for which tools that are all well known compute seven values of nDCG@3, and one tool for each.
CASE, METRIC, K = "c_ties_graded", "ndcg", 3
TOOLS = {
    "pytrec_eval": "pytrec_eval",
    "ranx": "ranx",
    "sklearn": "scikit-learn",
    "lightgbm": "LightGBM",
    "evidently": "Evidently",
    "pyspark": "Spark",
    "lenskit": "LensKit",
}
# Rows of the benchmarks: what the picture calls them, and words of their first and third cell.
SPEED = {
    ("TREC files, 1.5 M lines", "pytrec_eval"): ("from files to 10 metrics", "pytrec_eval-terrier"),
    ("dicts, 1 M rows", "ranx"): ("dicts of strings", "ranx"),
    ("dicts, 1 M rows", "pytrec_eval"): ("dicts of strings", "pytrec_eval-terrier"),
    ("columns, 10 M rows", "DuckDB"): ("int64 columns, 100,000 queries x 100, rows grouped", "duckdb"),
    ("columns, 10 M rows", "Polars"): ("int64 columns, 100,000 queries x 100, rows grouped", "polars"),
    ("trec_eval -m all_trec", "trec_eval (C)"): ("by the clock", "built with -O3"),
    ("one query, kept evaluator", "pytrec_eval"): ("kept evaluator", "pytrec_eval-terrier"),
}


class Bar(NamedTuple):
    """One row of a picture."""

    label: str
    note: str
    length: float  # share of the width
    value: str
    strong: bool = True


def tools() -> list[Bar]:
    """What each of the tools computed."""
    answers = {answer.tool.split()[0]: answer for answer in recorded.answers(CASE, METRIC, K)}
    return [
        Bar(label, answers[name].tool.split()[1], float(answers[name].value), answers[name].number(3))
        for name, label in TOOLS.items()
    ]


def speed() -> list[Bar]:
    """How many times faster, as the benchmarks measured it; below 1 where another is faster."""
    text = (HERE.parent / "benchmarks" / "README.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:]] for line in text.splitlines() if line.count("|") == 8]
    out = []
    for (label, other), (work, against) in SPEED.items():
        ours, theirs = next((row[1], row[3]) for row in rows if work in row[0] and against in row[2])
        ratio = _seconds(theirs) / _seconds(ours)
        shown = f"{ratio:.0f}x" if ratio >= 10 else f"{ratio:.1f}x" if ratio >= 1 else f"{ratio:.2f}x"
        out.append(Bar(label, f"vs {other}", ratio, shown, ratio >= 1))
    return [bar._replace(length=bar.length / max(bar.length for bar in out)) for bar in out]


def _seconds(cell: str) -> float:
    number, unit = re.match(r"([\d.]+) (m?s)", cell).groups()
    return float(number) * {"s": 1, "ms": 1e-3}[unit]


def chart(title: str, bars: Sequence[Bar], caption: Sequence[str]) -> str:
    """Bars on a card of their own, which is legible on white and on dark pages."""
    left = 36 + LETTER * max(len(f"{bar.label} {bar.note}") for bar in bars)
    height = 64 + ROW * len(bars) + 18 * len(caption) + 6
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
            f'font-family="system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif" font-size="14">',
            f"<title>{escape(title)}</title>",
            f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="10" fill="#fff" stroke="#d0d7de"/>',
            f'<text x="24" y="34" font-size="17" font-weight="600" fill="{TEXT}">{escape(title)}</text>',
            *(line for at, bar in enumerate(bars) for line in _bar(bar, left, 52 + ROW * at)),
            *(
                f'<text x="24" y="{72 + ROW * len(bars) + 18 * at}" font-size="12" fill="{SOFT}">{escape(line)}</text>'
                for at, line in enumerate(caption)
            ),
            "</svg>",
            "",
        ]
    )


def _bar(bar: Bar, left: float, top: float) -> Iterator[str]:
    length = bar.length * (WIDTH - left - 94)
    middle, colour = top + 15, BLUE if bar.strong else GREY
    yield (
        f'<text x="{left - 12:.1f}" y="{middle}" text-anchor="end" fill="{TEXT}">{escape(bar.label)} '
        f'<tspan fill="{SOFT}">{escape(bar.note)}</tspan></text>'
    )
    yield f'<rect x="{left:.1f}" y="{top + 2}" width="{length:.1f}" height="18" rx="3" fill="{colour}"/>'
    yield f'<text x="{left + length + 8:.1f}" y="{middle}" font-weight="600" fill="{TEXT}">{bar.value}</text>'


def pictures() -> dict[str, str]:
    """Both pictures, by the names of their files."""
    return {
        "seven-tools.svg": chart(
            f"One list, {METRIC}@{K}, seven tools, seven values",
            tools(),
            [
                "Items 2, 10, 9 have grades 1, 2, 3; returned: 7 (score 0.9), then 2, 10, 9 (equal scores of 0.5).",
                "Recorded from the tools themselves, at the versions shown. rankstone reproduces each of them by name.",
            ],
        ),
        "speed.svg": chart(
            "How many times faster rankstone is",
            speed(),
            [
                "Same numbers from the same data on 2 cores of an AMD EPYC; benchmarks/README.md has them all.",
                "Grey: not the fastest; one query at a time, a kept pytrec_eval evaluator takes a third of the time.",
            ],
        ),
    }


if __name__ == "__main__":
    for name, text in pictures().items():
        (HERE / "assets" / name).write_text(text, encoding="utf-8")
