"""JUnit XML, which build servers read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple


class JUnitCase(NamedTuple):
    """A test case."""

    group: str
    name: str
    details: str
    outcome: str = ""  # "failure" or "skipped"; empty: passed
    message: str = ""  # of one that has not passed; empty: the details


def junit(suite: str, cases: Sequence[JUnitCase]) -> str:
    """The test cases as XML."""
    from xml.etree import ElementTree

    failed, skipped = (sum(case.outcome == outcome for case in cases) for outcome in ("failure", "skipped"))
    counts = {"tests": str(len(cases)), "failures": str(failed), "errors": "0", "skipped": str(skipped)}
    top = ElementTree.Element("testsuites", counts)
    inner = ElementTree.SubElement(top, "testsuite", {"name": suite, **counts})
    for case in cases:
        element = ElementTree.SubElement(inner, "testcase", {"classname": case.group, "name": _xml(case.name)})
        message = {"message": _xml(case.message or case.details)} if case.outcome else {}
        ElementTree.SubElement(element, case.outcome or "system-out", message).text = _xml(case.details)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(top, encoding="unicode")


def _xml(text: str) -> str:
    """Text without the characters that XML does not allow."""
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
