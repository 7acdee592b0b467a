"""The LaTeX table of a comparison, as papers print it."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rankstone.align.alignment import Floats
from rankstone.errors import Advice, Hint, InputError
from rankstone.metrics.registry import metrics as METRICS  # noqa: N812
from rankstone.metrics.registry import parse_one
from rankstone.results.answer import Latex, PaperTable, latex, number

# What papers call a metric; the others have their own names.
PAPER_NAMES = {
    "ap": "MAP", "gmap": "GMAP", "rr": "MRR", "ndcg": "nDCG", "dcg": "DCG", "precision": "P", "recall": "Recall",
    "r_precision": "R-Prec", "f1": "F1", "hit_rate": "HR", "err": "ERR", "nerr": "nERR", "rbp": "RBP", "auc": "AUC",
    "infap": "infAP", "alpha_ndcg": r"$\alpha$-nDCG", "err_ia": "ERR-IA", "ild": "ILD", "gini": "Gini",
    "rmse": "RMSE", "mae": "MAE",
}  # fmt: skip
_LETTERS = string.ascii_lowercase + string.ascii_uppercase
BETTER, WORSE = ("better", "higher"), ("worse", "lower")


class Marking(NamedTuple):
    """A way to mark significant differences."""

    words: str  # of the caption; {baseline} and {test}
    baseline: bool = False  # needs one
    letters: bool = False  # has a column of the runs' letters


MARKINGS = {
    "daggers": Marking(r"$^\dagger$, $^\ddagger$: significantly better, worse than {baseline} ({test})", baseline=True),
    "superscripts": Marking("superscripts: significantly better than these ({test})", letters=True),
    "none": Marking(""),
}


class Block(NamedTuple):
    """The columns of one collection."""

    title: str
    means: Mapping[str, Mapping[str, float]]  # by metric and run
    directions: Mapping[str, int]
    verdicts: Mapping[tuple[str, str, str], str]  # by baseline, run and metric: of the run


@dataclass(frozen=True)
class Paper:
    """What the table says, and how."""

    runs: Sequence[str]
    baseline: str | None
    blocks: Sequence[Block]
    test: str  # in words, with the correction
    queries: str  # in words
    definitions: Sequence[str] = ()
    origin: str = ""

    def table(
        self,
        digits: int | None = None,
        caption: str | None = None,
        label: str | None = None,
        percent: bool = False,
        marks: str | None = None,
        names: Mapping[str, str] | None = None,
    ) -> PaperTable:
        """The table; see `Comparison.latex`."""
        many = len(self.runs)
        if not marks:
            by_letters = "superscripts" if many <= len(_LETTERS) else "none"
            marks = by_letters if self.baseline is None else "daggers"
        if marks not in MARKINGS:
            raise InputError(Advice(Hint("marks", marks), f"; choose from {', '.join(map(repr, MARKINGS))}"))
        marking = MARKINGS[marks]
        if marking.baseline and self.baseline is None:
            raise InputError(f"marks={marks!r} needs a baseline: rs.compare(..., baseline='bm25')")
        if marking.letters and many > len(_LETTERS):
            raise InputError(f"marks={marks!r} has letters for {len(_LETTERS)} runs, not for {many}")
        if digits is not None and (not isinstance(digits, int) or not 0 <= digits <= 15):
            raise InputError(Advice(Hint("digits", digits), "; give a whole number from 0 to 15"))
        # Names of metrics, however they are spelt.
        own = {name if name in METRICS.rows else str(parse_one(name)): text for name, text in (names or {}).items()}
        columns = [
            self._column(block, metric, digits, percent, marking) for block in self.blocks for metric in block.means
        ]
        letters = [[Latex(letter)] if marking.letters else [] for letter in _LETTERS.ljust(many)[:many]]
        body = [[*letters[at], latex(name), *(column[at] for column in columns)] for at, name in enumerate(self.runs)]
        first = [Latex(r"\#"), Latex("run")] if marking.letters else [Latex("run")]
        head = [*first, *(paper_name(metric, own) for block in self.blocks for metric in block.means)]
        groups = [(block.title, len(block.means)) for block in self.blocks] if len(self.blocks) > 1 else []
        sentence = marking.words.format(baseline=latex(str(self.baseline)), test=latex(self.test))
        means = f"Means{' in percent' * percent} of {latex(self.queries)}"
        text = f"{'; '.join(filter(None, [means, 'bold: best, underlined: second best', sentence]))}."
        return PaperTable(
            head, body, Latex(text if caption is None else caption), self.definitions,
            self.origin if caption is None else "", label, groups, len(first), marked=bool(marking.words),
        )  # fmt: skip

    def _column(self, block: Block, metric: str, digits: int | None, percent: bool, marking: Marking) -> list[Latex]:
        """The cells of a metric: the best mean bold, the next one underlined, and marks."""
        means = np.array([block.means[metric].get(name, np.nan) for name in self.runs])
        cells = _numbers(metric, means, digits, percent)
        direction = block.directions[metric]
        ranked = list(dict.fromkeys(cells[at] for at in np.argsort(-direction * means) if np.isfinite(means[at])))
        best = (r"\textbf{%s}", r"\underline{%s}")[: 1 if len(ranked) < 3 else 2]
        styles = dict(zip(ranked if direction else [], best, strict=False))
        column = []
        for run, cell, mean in zip(self.runs, cells, means.tolist(), strict=True):
            styled = styles.get(cell, "%s") % cell if np.isfinite(mean) else "--"
            column.append(Latex(styled + self._marks(block, metric, run, marking)))
        return column

    def _marks(self, block: Block, metric: str, run: str, marking: Marking) -> str:
        """What stands after a mean."""
        verdict = block.verdicts.get
        if marking.letters:
            letters = "".join(
                letter for letter, other in zip(_LETTERS, self.runs, strict=False)
                if verdict((other, run, metric)) in BETTER or verdict((run, other, metric)) in WORSE
            )  # fmt: skip
            return f"$^{{{letters}}}$" if letters else ""
        word = verdict((str(self.baseline), run, metric)) if marking.baseline else None
        return r"$^{\dagger}$" if word in BETTER else r"$^{\ddagger}$" if word in WORSE else ""


def _numbers(metric: str, means: Floats, digits: int | None, percent: bool) -> list[Latex]:
    """Means as printed; in percent where the metric is a share."""
    if percent and parse_one(metric).declaration.bounds == (0, 1):
        return [Latex(f"{100 * mean:.{1 if digits is None else digits}f}") for mean in means.tolist()]
    return [latex(number(mean) if digits is None else f"{mean:.{digits}f}") for mean in means.tolist()]


def paper_name(metric: str, own: Mapping[str, str] = {}) -> Latex:
    """What a paper calls a metric, with its cutoff; own: other names, by metric or by its name without parameters."""
    parsed = parse_one(metric)
    if metric in own:
        return Latex(own[metric])
    name = own.get(parsed.name, PAPER_NAMES.get(parsed.name))
    return latex(metric) if name is None else Latex(name + latex(metric.removeprefix(parsed.name)))
