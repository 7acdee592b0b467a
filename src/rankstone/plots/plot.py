"""A plot that shows itself in a notebook, and is saved as SVG, PNG or PDF."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankstone.data.atomic import replacing
from rankstone.errors import InputError
from rankstone.plots import matplotlib, svg
from rankstone.plots.marks import Drawing

if TYPE_CHECKING:
    from rankstone.typing import Path

VECTORS = ("svg",)
PAINTED = ("png", "pdf")  # by matplotlib


@dataclass(frozen=True, repr=False)
class Plot(Drawing):
    """A plot that shows itself in a notebook.

    Attributes
    ----------
    title, sentence : str
        Title, and a text alternative with the main numbers.
    data : dict
        The plotted numbers, as columns by name.
    """

    def svg(self, *, styled: bool = True) -> str:
        """The plot as SVG.

        Parameters
        ----------
        styled : bool, default True
            Include the style sheet.

        Returns
        -------
        str
        """
        return svg.draw(self, styled=styled)

    def save(self, path: Path) -> None:
        """Write the plot to a file, in the format of its extension.

        Parameters
        ----------
        path : str or PathLike
            The file: .svg, or .png and .pdf with matplotlib (`pip install 'rankstone[plots]'`).
        """
        name = os.fspath(path)
        ending = name.rpartition(".")[2].lower()
        if ending in VECTORS:
            with replacing(path) as stream:
                stream.write(self.svg().encode())
        elif ending in PAINTED:
            figure = self.to_matplotlib().figure
            with replacing(path) as stream:
                figure.savefig(stream, format=ending, dpi=200)
        else:
            raise InputError(f"cannot save a plot as {name!r}; end it with .{', .'.join((*VECTORS, *PAINTED))}")

    def to_matplotlib(self, ax: Any = None) -> Any:
        """Draw the plot with matplotlib.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on; by default those of a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return matplotlib.draw(self, ax)

    def _repr_html_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return f"{self.title}: {self.sentence}"


def counted(x: Sequence[float], y: Sequence[float]) -> tuple[list[float], list[float], list[int], list[int]]:
    """Distinct points, the number of points at each, and the position of the first of them."""
    points = np.round(np.column_stack([x, y]), 12).reshape(-1, 2)
    distinct, first, many = np.unique(points, axis=0, return_index=True, return_counts=True)
    return distinct[:, 0].tolist(), distinct[:, 1].tolist(), many.tolist(), first.tolist()
