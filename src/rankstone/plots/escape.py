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


# Letters that are written from right to left: what follows them would be drawn before them.
_TURNING = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]+")
_STRAIGHT = "\N{LEFT-TO-RIGHT MARK}"


def shown(text: object, longest: int | None = LONGEST) -> str:
    """A text in which every mark is seen, and that is not too long; not escaped. It is cut in the middle: names of
    runs, files and pages that belong together often differ at the end."""
    whole = str(text)
    if longest is None or len(whole) <= longest:
        seen = _seen(whole)
    else:
        seen = _seen(whole[:longest]) + _seen(whole[-longest:])  # the rest is cut out in any case
    if longest is None or len(seen) <= longest:
        return seen
    end = (longest - 1) // 2
    return f"{seen[: longest - 1 - end]}\N{HORIZONTAL ELLIPSIS}{seen[len(seen) - end :]}"


def _seen(text: str) -> str:
    return _UNSEEN.sub(lambda mark: f"<U+{ord(mark[0]):04X}>", text)


def safe(text: object, longest: int | None = LONGEST) -> str:
    """The same for text and attributes of HTML and SVG."""
    return escape(shown(text, longest), quote=True)


def prose(text: str, longest: int | None = None) -> str:
    """The same for sentences that have ids in them: an id written from right to left does not move what follows it."""
    cut = text if longest is None or len(text) <= longest else text[: longest - 1] + "\N{HORIZONTAL ELLIPSIS}"
    return _TURNING.sub(lambda letters: letters[0] + _STRAIGHT, safe(cut, None))
