# SPDX-License-Identifier: GPL-3.0-or-later
"""Routers that say yes and do something else, in the lab's kernel."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from flent_aqm.base.errors import RouterDisagrees
from flent_aqm.router.proof import differences, prove
from flent_aqm.router.tc.read_back import ReadBack, parse_read_back
from flent_aqm.spec.scenario import Scenario

from ..on_router import apply

pytestmark = pytest.mark.lab
InGuest = Callable[[str], str]

ASKED = Scenario().but(aqm="fq_codel", rate_down_mbps=100, rate_up_mbps=20)

# swallow SCRIPT CODE: runs the code with a tc whose batches go through sed first.
SWALLOW = """
swallow() {
    export SCRIPT="$1"
    fake_tc <<'END'
case $* in *-batch*) sed "$SCRIPT" | "$real_tc" "$@" ;; *) exec "$real_tc" "$@" ;; esac
END
    eval "$2"
    real_tc_again
}
""" + f"obey() {{ {apply(aqm='fq_codel')}; }}\n"
QDISCS = "htb 1: at root, fq_codel 10: at 1:1"
CLASSES = "1:1 at root with 10:"


def differs(what: str, requested: str, reported: str) -> str:
    """The line that differences() gives."""
    return f"{what}: asked for {requested}, the kernel reports {reported}"


# Name -> code for a router that was to have ASKED, and the differences to be found.
CASES = {
    "keeps the old leaf": (
        f"{apply(aqm='sfq')}; swallow '/dev up/d' obey",
        [differs("up: qdiscs", QDISCS, "htb 1: at root, sfq 10: at 1:1")]),
    "adds no leaf": (
        "swallow '/dev down parent 1:1/d' obey",
        [differs("down: qdiscs", QDISCS, "htb 1: at root"),
         differs("down: classes", CLASSES, "1:1 at root with no qdisc")]),
    "rounds the rate": (
        "swallow 's/100000000bit/98304000bit/g' obey",
        [differs("down: rate", "100Mbit", "98304Kbit"),
         differs("down: ceil", "100Mbit", "98304Kbit"),
         differs("down: burst", "2000 ticks (1600 bytes)", "2031 ticks (1624 bytes)"),
         differs("down: cburst", "2000 ticks (1600 bytes)", "2031 ticks (1624 bytes)")]),
    "keeps the last rate": (
        f"{apply(aqm='fq_codel', rate_up_mbps=25)}; swallow d obey",
        [differs("up: rate", "20Mbit", "25Mbit"),
         differs("up: ceil", "20Mbit", "25Mbit"),
         differs("up: burst", "10000 ticks (1600 bytes)", "8000 ticks (1280 bytes)"),
         differs("up: cburst", "10000 ticks (1600 bytes)", "8000 ticks (1280 bytes)")]),
    "changes parameters later": (
        "obey; on_router tc qdisc change dev up handle 10: parent 1:1 fq_codel target 20ms noecn",
        [differs("up: fq_codel ecn", "True", "nothing"),
         differs("up: fq_codel target", "4999 us", "19999 us")]),
    "changes a burst later": (
        "obey; on_router tc class change dev up classid 1:1 htb rate 20mbit burst 15KB quantum 9",
        [differs("up: burst", "10000 ticks (1600 bytes)", "96000 ticks (15360 bytes)")]),
    "shapes what arrives, too": (
        "obey; on_router tc qdisc add dev down clsact",
        [differs("down: qdiscs", QDISCS, f"{QDISCS}, clsact ffff: at ffff:fff1")]),
    "has one more class": (
        "obey; on_router tc class add dev down parent 1: classid 1:2 htb rate 1mbit quantum 1514",
        [differs("down: classes", CLASSES, f"{CLASSES}, 1:2 at root with no qdisc")]),
    "does nothing at all": (
        "swallow d obey",
        [differs("down: qdiscs", QDISCS, "noqueue 0: at root"),
         differs("down: classes", CLASSES, "none"),
         differs("up: qdiscs", QDISCS, "noqueue 0: at root"),
         differs("up: classes", CLASSES, "none")]),
}


@pytest.fixture(scope="module")
def reports(in_guest: InGuest) -> dict[str, ReadBack]:
    """What each of those routers reports, from one boot."""
    code = SWALLOW + "".join(f"hook undo\n{code}\nhook read-back\n"
                             "on_router tc qdisc del dev down clsact 2>/dev/null\n"
                             for code, _ in CASES.values())
    texts = re.findall(r"@format .*?@end\n", in_guest(code + "true"), re.DOTALL)
    return dict(zip(CASES, map(parse_read_back, texts), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_disobedient_router_when_read_back_is_found_out(
        name: str, reports: dict[str, ReadBack]) -> None:
    """Each setting that differs is told with what was asked and what the kernel has."""
    assert differences(ASKED, reports[name]) == CASES[name][1]


def test_disobedient_router_when_proof_is_asked_fails_the_run(reports: dict[str, ReadBack]) -> None:
    """prove() raises one line with all differences."""
    with pytest.raises(RouterDisagrees) as raised:
        prove(ASKED, reports["changes parameters later"])
    assert "; ".join(CASES["changes parameters later"][1]) in str(raised.value)
    assert "\n" not in str(raised.value)
