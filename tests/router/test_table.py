# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of queues, and what has to agree with it."""

from __future__ import annotations

import shlex

import pytest

from flent_aqm.lab.virtual import Lab
from flent_aqm.router.hook import apply_command, read_back_command
from flent_aqm.router.proof import differences
from flent_aqm.router.tc.read_back import Direction, parse_read_back
from flent_aqm.router.warnings import warnings
from flent_aqm.spec.queues.table import LINES, QUEUES, unit_of
from flent_aqm.spec.scenario import Scenario
from tests.files import ROOT

from ..on_router import UNDO

GOLDEN = ROOT / "tests" / "golden" / "tc"


def test_looks_differ_in_colour_and_in_grey() -> None:
    """No two queues share a colour, or marker and line together."""
    looks = [queue.look for queue in QUEUES.values()]
    assert len({look.colour for look in looks}) == len(looks)
    assert len({(look.marker, look.line) for look in looks}) == len(looks)
    assert {look.line for look in looks} <= set(LINES)


@pytest.mark.parametrize(("kind", "name", "unit"), [
    ("sfb", "target", "packets"), ("codel", "target", "us"), ("bfifo", "limit", "bytes"),
    ("pfifo", "limit", "packets"), ("cake", "bandwidth", "bytes_per_s"), ("cake", "flowmode", ""),
    ("dualpi2", "step-thresh-us", "us"), ("htb", "limit", ""), ("no such", "limit", ""),
])
def test_unit_is_that_of_the_kind(kind: str, name: str, unit: str) -> None:
    """The same word is packets in one queue and bytes or microseconds in another."""
    assert unit_of(kind, name) == unit


def test_warning_looks_at_the_queue_of_its_direction() -> None:
    """CAKE splits large packets, on the one device where it is."""
    report = parse_read_back((GOLDEN / "json" / "cake.txt").read_text())
    merged = {role: _with_gso(direction) for role, direction in report.directions.items()}
    report = type(report)(report.kernel, report.tc, report.clock, merged)
    assert warnings(Scenario().but(aqm="cake"), report) == []
    [line] = warnings(Scenario().but(aqm="cake", up_aqm="codel"), report)
    assert line.startswith("up: gso on up")
    [line] = warnings(Scenario().but(aqm="codel", up_aqm="cake"), report)
    assert line.startswith("down: gso on down")


def test_warning_of_an_ifb_device_looks_where_packets_arrive() -> None:
    """The device itself says that it could take large packets, and makes none."""
    report = parse_read_back((GOLDEN / "json" / "codel.txt").read_text())

    def with_ifb(gro: bool) -> list[str]:
        down = Direction(**{**vars(report.directions["down"]), "device": "flent-ifb",
                            "offloads": {"tso": True, "gso": True, "gro": True}})
        up = Direction(**{**vars(report.directions["up"]), "device": "wan",
                          "offloads": {"gro": gro}})
        return warnings(Scenario().but(aqm="codel", ingress="ifb"), type(report)(
            report.kernel, report.tc, report.clock, {"down": down, "up": up}))

    assert with_ifb(gro=False) == []
    assert [line.partition(" off")[0] for line in with_ifb(gro=True)] == [
        f"{way}: gro on wan: up to 64 KB count as one packet in the queue; switch"
        for way in ("down", "up")]


def _with_gso(direction: Direction) -> Direction:
    return Direction(**{**vars(direction), "offloads": {"gso": True}})


@pytest.mark.lab
def test_each_queue_of_a_device_has_its_cake_and_the_seed_places_flows() -> None:
    """Four CAKEs on either device, as asked; eight uploads are spread by the seed; undone, the
    queues are as before."""
    shares = []
    for seed in (1, 2):
        scenario = Scenario.from_settings({
            "aqm": "cake_mq", "shaper": "cake", "tx_queues": 4, "rate_mbps": 50,
            "aqm_overhead": 38, "aqm_diffserv": "besteffort", "seed": seed})
        apply, read_back = map(shlex.join, (apply_command(scenario), read_back_command(scenario)))
        code = (f"ip netns exec router tc qdisc >/tmp/before; {apply} || exit; "
                f"iperf3 -c server -P 8 -t 1 >/dev/null || exit; {read_back} || exit; "
                f"{UNDO} && ip netns exec router tc qdisc | cmp - /tmp/before && echo same")
        with Lab(scenario, ["sh", "-c", code], servers=("iperf3",)) as lab:
            outcome = lab.run()
            assert outcome.status == 0, lab.stderr.read_text()
            text, _, end = lab.stdout.read_text().partition("@end\n")
        assert end == "same\n"
        report = parse_read_back(text + "@end\n")
        assert differences(scenario, report) == []
        shares.append([qdisc.counters["bytes"] for qdisc in report.directions["up"].qdiscs
                       if qdisc.kind == "cake"])
    assert all(len(each) == 4 and sum(map(bool, each)) > 1 for each in shares)
    assert shares[0] != shares[1]


@pytest.mark.lab
def test_queue_of_the_upload_alone_gets_the_tc_that_it_needs() -> None:
    """DualPI2 for the upload only: Debian 12's tc doesn't know it."""
    scenario = Scenario().but(aqm="fq_codel", up_aqm="dualpi2", rate_down_mbps=20, rate_up_mbps=5)
    with Lab(scenario, read_back_command(scenario), prelude=[apply_command(scenario)],
             servers=()) as lab:
        outcome = lab.run()
        assert outcome.status == 0, lab.stderr.read_text()
        assert differences(scenario, parse_read_back(lab.stdout.read_text())) == []
