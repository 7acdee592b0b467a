"""`DifferenceBounds`: a difference of two means over all grades of the unjudged items."""

from __future__ import annotations

import math
from typing import NamedTuple


class DifferenceBounds(NamedTuple):
    """The lowest and highest difference of two means over all grades of the items that either list returned unjudged.

    Attributes
    ----------
    lowest, highest : float
        NaN where they are unknown.
    exact : bool
        Whether some grades reach them: for sums over items, such as precision and DCG. Otherwise they are conservative:
        the lowest mean of one run minus the highest of the other.
    """

    lowest: float
    highest: float
    exact: bool

    def around(self, difference: float) -> DifferenceBounds:
        """The same with the difference itself, at grade 0, within them to the last bit."""
        return self._replace(lowest=min(self.lowest, difference), highest=max(self.highest, difference))


UNKNOWN = DifferenceBounds(math.nan, math.nan, False)
