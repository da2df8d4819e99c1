# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of real runs, as readers of an explanation see them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flent_aqm.parts.why.settings import in_short, settings_of
from flent_aqm.results.data_file import as_data_file
from flent_aqm.results.metrics.run import as_run
from flent_aqm.sweep.replay import recorded
from tests.files import GOLDEN

QUICK = GOLDEN / "batches" / "quick"


@pytest.mark.parametrize(("aqm", "queue"), [
    ("no_aqm", "no_aqm (pfifo), limit 1000 packets"),
    ("codel", "codel, limit 1000 packets, interval 100 ms, target 5 ms"),
])
def test_settings_have_the_limit_rate_and_rtt(aqm: str, queue: str) -> None:
    """As the kernel reported them, in units of readers."""
    path = QUICK / f"iperf3_upload-{aqm}.flent.gz"
    was = recorded.read(path, path.parent)
    told = dict(settings_of(was.cell, as_run(as_data_file(was.data, path))))
    assert told["Queue"] == queue
    assert told["Rate"] == "100 Mbit/s"
    assert told["Base RTT"] == "0 ms, without any queue"
    assert told["Cross traffic"] == "none"
    assert in_short(list(told.items())).startswith(
        f"iperf3_upload; {queue.replace(' (pfifo)', '')}; 100 Mbit/s; base RTT 0 ms; seed ")


def test_directions_that_differ_have_lines_of_their_own() -> None:
    path = QUICK / "iperf3_upload-codel.flent.gz"
    was = recorded.read(path, path.parent)
    was.data["metadata"]["AQM"]["after"]["applied"]["down"]["qdisc_parameters"]["limit_packets"] = 7
    settings = settings_of(was.cell, as_run(as_data_file(was.data, path)))
    told = dict(settings)
    assert "limit 7 packets" in told["Queue, download"]
    assert "limit 1000 packets" in told["Queue, upload"]
    assert "Queue" not in told
    assert in_short(settings).startswith("iperf3_upload; upload codel, limit 1000 packets, ")
    assert "; download codel, limit 7 packets, " in in_short(settings)


@pytest.mark.parametrize(("given", "told"), [
    ("off", "none"), ("No", "none"), (False, "none"), ("0", "none"),
    ("1", "bulk"), (True, "bulk"), ("yes", "bulk"), ("bulk", "bulk"), ("Video", "video")])
def test_cross_traffic_is_told_by_its_kind(given: object, told: str) -> None:
    """A data file has the word that a user or a command gave."""
    path = QUICK / "iperf3_upload-codel.flent.gz"
    was = recorded.read(path, path.parent)
    cell = replace(was.cell, settings={**was.cell.settings, "TEST_PARAMETERS": {
        "cross_traffic": given}})
    settings = settings_of(cell, as_run(as_data_file(was.data, path)))
    assert dict(settings)["Cross traffic"] == told
    assert ("cross traffic" in in_short(settings)) == (told != "none")


@pytest.mark.parametrize(("settings", "rate"), [
    ({}, "100 Mbit/s"),
    ({"modem_up_mbps": 40, "modem_down_mbps": 40},
     "of the shaper: 100 Mbit/s; of the modem: 40 Mbit/s"),
    ({"modem_up_mbps": 10, "modem_down_mbps": 40, "rate_down_mbps": 36},
     "of the shaper: 100 Mbit/s upload, 36 download; of the modem: 10 Mbit/s upload, 40 download"),
    ({"modem_up_mbps": 40, "modem_down_mbps": 40, "shaper": "none"},
     "of the modem: 40 Mbit/s; the router does not shape"),
    ({"link_down_trace": "seeded", "link_up_trace": "seeded"},
     "of the shaper: 100 Mbit/s; of the link: trace seeded"),
    ({"link_down_trace": "seeded", "modem_up_mbps": 8.0},
     "of the shaper: 100 Mbit/s; of the link: trace seeded/8"),
    ({"link_down_trace": "seeded"}, "of the shaper: 100 Mbit/s; of the link: trace seeded/100"),
    ({"shaper": "none"}, "not limited; the router does not shape"),
])
def test_rate_is_that_of_the_shaper_and_of_what_may_be_slower(
    settings: dict[str, object], rate: str
) -> None:
    path = QUICK / "iperf3_upload-codel.flent.gz"
    was = recorded.read(path, path.parent)
    cell = replace(was.cell, scenario=was.cell.scenario.but(**settings))
    was.data["metadata"]["AQM"]["requested"] |= cell.scenario.as_dict()
    told = dict(settings_of(cell, as_run(as_data_file(was.data, path))))
    assert told["Rate"] == rate
