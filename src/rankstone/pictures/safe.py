"""Text of strangers, made safe: ids, names and labels go through here before they reach a page."""

from __future__ import annotations

import re
from html import escape

LONGEST = 80  # letters that are shown of an id

# Marks that turn or hide what stands beside them: controls, bidirectional ones, those of no width, lone surrogates.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202f\u205f-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)


def shown(text: object, longest: int | None = LONGEST) -> str:
    """A text in which every mark is seen, and that is not too long; not escaped."""
    whole = str(text)
    cut = whole if longest is None or len(whole) <= longest else whole[: longest - 1] + "\N{HORIZONTAL ELLIPSIS}"
    return _UNSEEN.sub(lambda mark: f"<U+{ord(mark[0]):04X}>", cut)


def safe(text: object, longest: int | None = LONGEST) -> str:
    """The same for text and attributes of HTML and SVG."""
    return escape(shown(text, longest), quote=True)
