# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the result of `flent-aqm assert` as JUnit XML, which CI systems show test by test."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flent_aqm.base.whole_file import written_whole


@dataclass(frozen=True)
class JunitCase:
    """One condition, checked for one file or group of runs.

    Attributes:
        subject: name of the file, or the settings of the group and its number of runs.
        condition: text of the condition.
        failure: values of the metrics if the condition does not hold, "" if it holds or could not
            be decided.
        error: why the condition could not be decided, such as a damaged file, "" if it could.
    """

    subject: str
    condition: str
    failure: str = ""
    error: str = ""


def write_junit(path: Path, cases: Sequence[JunitCase]) -> None:
    """Write a test case for each result, atomically. One with a failure has an element `failure`,
    one that could not be decided an element `error`. Raises OSError if the file can't be written,
    also because its folder doesn't exist.

    Args:
        path: the file, which is overwritten if it exists.
        cases: the results.
    """
    failures = sum(bool(case.failure) for case in cases)
    errors = sum(bool(case.error) for case in cases)
    suite = ElementTree.Element("testsuite", {
        "name": "flent-aqm assert", "tests": str(len(cases)), "failures": str(failures),
        "errors": str(errors)})
    for case in cases:
        element = ElementTree.SubElement(suite, "testcase", {
            "classname": case.subject, "name": case.condition})
        for kind, why in (("failure", case.failure), ("error", case.error)):
            if why:
                ElementTree.SubElement(element, kind, {"message": why})
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    with written_whole(path) as file:
        ElementTree.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)
        file.write(b"\n")
