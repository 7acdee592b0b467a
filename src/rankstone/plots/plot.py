"""A plot that shows itself in a notebook, and is saved as SVG, PNG or PDF."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.plots import matplotlib, svg
from rankstone.plots.marks import Drawing

if TYPE_CHECKING:
    from rankstone.typing import Path

VECTORS = ("svg",)
PAINTED = ("png", "pdf")  # by matplotlib


@dataclass(frozen=True, repr=False)
class Plot(Drawing):
    """A picture that shows itself in a notebook; `data` has the numbers behind it, `save` writes it to a file."""

    def svg(self, *, styled: bool = True) -> str:
        """The picture as SVG; without its style, where a page has it already."""
        return svg.draw(self, styled=styled)

    def save(self, path: Path) -> None:
        """Write it as the name ends: svg, or png and pdf by matplotlib (`pip install rankstone[plots]`)."""
        name = os.fspath(path)
        ending = name.rpartition(".")[2].lower()
        if ending in VECTORS:
            with open(name, "w", encoding="utf-8") as stream:
                stream.write(self.svg())
        elif ending in PAINTED:
            figure = self.to_matplotlib().figure
            figure.savefig(name, dpi=200)
        else:
            raise ValueError(f"cannot save a plot as {name!r}; end it with .{', .'.join((*VECTORS, *PAINTED))}")

    def to_matplotlib(self, ax: Any = None) -> Any:
        """The same drawn by matplotlib, on axes that are given or new ones; returns the axes."""
        return matplotlib.draw(self, ax)

    def _repr_html_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return f"{self.title}: {self.sentence}"


def counted(x: Sequence[float], y: Sequence[float]) -> tuple[list[float], list[float], list[int], list[int]]:
    """Points that coincide, once, how many of them there are, and the place of the first of them."""
    points = np.round(np.column_stack([x, y]), 12).reshape(-1, 2)
    found, first, many = np.unique(points, axis=0, return_index=True, return_counts=True)
    return found[:, 0].tolist(), found[:, 1].tolist(), many.tolist(), first.tolist()
