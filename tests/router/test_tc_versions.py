# SPDX-License-Identifier: GPL-3.0-or-later
"""Read-backs that tc of other versions printed: parsed and compared with what was asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from flent_aqm.router.proof import differences
from flent_aqm.router.tc.read_back import parse_read_back
from flent_aqm.spec.scenario import Scenario
from tests import files

GOLDEN = files.GOLDEN / "tc"
SETTINGS = GOLDEN / "settings.json"  # of all captures
VERSIONS = sorted((GOLDEN / "versions").glob("*.txt"))
# What no version before these could do, as major and minor number.
SINCE = {"cake": (4, 19), "fq_pie": (5, 6), "dualpi2": (6, 18)}
# Captured with iproute2 7.2 only, as the table got them after the others were captured.
CAPTURED_LATER = {"fq": (7, 2)}


def captured(path: Path) -> Iterator[tuple[Scenario, str]]:
    """What was asked of that version, and the read-back, or `refused: …`."""
    _, *blocks = ("\n" + path.read_text()).split("\n# ")
    for block in blocks:
        requested, _, body = block.partition("\n")
        yield Scenario.from_settings(
            {**json.loads(requested), "rate_down_mbps": 100.7, "rate_up_mbps": 20}), body + "\n"


def version_of(path: Path) -> tuple[int, int]:
    """Major and minor number of iproute2."""
    major, minor, _ = path.stem.removeprefix("iproute2-").split(".")
    return int(major), int(minor)


@pytest.mark.parametrize("path", VERSIONS, ids=lambda path: path.stem)
def test_proof_holds_for_what_another_tc_printed(path: Path) -> None:
    """No difference from what was asked, and one from what wasn't."""
    proved = set()
    for requested, body in captured(path):
        if body.startswith("refused: "):
            continue
        report = parse_read_back(body)
        assert differences(requested, report) == []
        assert differences(requested.but(rate_up_mbps=21), report) or (
            requested.router.shaper == "none")
        assert differences(requested.but(aqm="codel" if requested.router.aqm != "codel" else "sfq",
                                   aqm_parameters=(), shaper="htb"), report)
        proved.add(requested.router.aqm)
    lacking = {aqm for aqm, since in (SINCE | CAPTURED_LATER).items()
               if version_of(path) < since}
    assert proved == {requested["aqm"] for requested in json.loads(SETTINGS.read_text())} - lacking


@pytest.mark.parametrize("path", VERSIONS, ids=lambda path: path.stem)
def test_memory_of_cake_is_compared_where_tc_shows_only_what_is_in_use(path: Path) -> None:
    """Before iproute2 5.10 not among the settings: another limit is found out all the same."""
    if version_of(path) < SINCE["cake"]:
        return
    (requested, body), = ((requested, body) for requested, body in captured(path)
                      if "memlimit" in dict(requested.router.aqm_parameters))
    others = tuple((name, value) for name, value in requested.router.aqm_parameters
                   if name != "memlimit")
    mismatches = differences(requested.but(aqm_parameters=(*others, ("memlimit", "4MB"))),
                             parse_read_back(body))
    assert [line.split(": asked for")[0] for line in mismatches] == [
        "down: cake memlimit", "up: cake memlimit"]


@pytest.mark.parametrize("path", VERSIONS, ids=lambda path: path.stem)
def test_hook_refuses_what_that_tc_cannot_do(path: Path) -> None:
    """A queue or a parameter that is too new, by the words of the hook, before any change."""
    for requested, body in captured(path):
        if body.startswith("refused: "):
            assert "nothing was changed" in body
            assert requested.router.aqm in SINCE or requested.router.aqm_parameters
