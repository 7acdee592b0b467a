"""Times and spans of time as people write them: numbers, datetimes, "2024-01-01T12:00:00"; "1h", timedeltas."""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta, timezone
from typing import Any, TypeAlias

import numpy as np

Time: TypeAlias = float | str | datetime | np.datetime64  # 1704067200, "2024-01-01T00:00:00", datetime(2024, 1, 1)
Span: TypeAlias = float | str | timedelta  # 3600, "1h", timedelta(hours=1)

NUMBERS, ZONELESS, ZONED = KINDS = ("numbers", "times without a zone", "times with a zone")
_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
_PART = rf"(\d+(?:\.\d+)?)\s*({'|'.join(sorted(_UNITS, key=len, reverse=True))})"


def finite(name: str, value: Any) -> float:
    """A number that is one."""
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{name} {value!r} is not a finite number")
    return number


def read_time(time: Time) -> tuple[float, str]:
    """A time in seconds, and which kind of time it is. One without a zone is in UTC."""
    if isinstance(time, np.datetime64):
        time = time.astype("datetime64[us]").item()
    if isinstance(time, str):
        time = _from_text(time)
    if isinstance(time, datetime):
        zoned = time.tzinfo is not None
        return (time if zoned else time.replace(tzinfo=timezone.utc)).timestamp(), ZONED if zoned else ZONELESS
    try:
        return finite("time", time), NUMBERS
    except TypeError:
        raise TypeError(f"time {time!r} is no time; {_TIMES}") from None


_TIMES = "give a number, a datetime, or text such as '2024-01-01T12:00:00'"


def _from_text(text: str) -> datetime:
    try:
        if not re.match(r"\d{4}-", text):  # 20240101 may be a number, too
            raise ValueError
        return datetime.fromisoformat(re.sub("[zZ]$", "+00:00", text))  # Python 3.10 does not know the Z
    except ValueError:
        raise ValueError(f"time {text!r} is no time; {_TIMES}") from None


def read_span(name: str, span: Span, endless: bool = False) -> float:
    """A span of time in seconds, or in whatever the times are counted."""
    if isinstance(span, timedelta):
        seconds = span.total_seconds()
    elif isinstance(span, str):
        if not re.fullmatch(rf"\s*({_PART}\s*)+", span):
            raise ValueError(f"{name}={span!r}; write it as '1h', '30min' or '1d 12h' (units: {', '.join(_UNITS)})")
        seconds = sum(float(number) * _UNITS[unit] for number, unit in re.findall(_PART, span))
    else:
        seconds = float(span)
    if not (0 < seconds < math.inf or (endless and seconds == math.inf)):
        raise ValueError(f"{name}={span!r}; give a time above 0")
    return seconds


def has_unit(span: Any) -> bool:
    """Is it in hours, say, and not in whatever the times are counted."""
    return isinstance(span, (str, timedelta))


def written(seconds: float, kind: str | None) -> str:
    """A time as people read it."""
    if kind in (ZONELESS, ZONED) and 0 <= seconds < 1e11:
        return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%S" + " UTC" * (kind == ZONED))
    return f"{seconds:.15g}"
