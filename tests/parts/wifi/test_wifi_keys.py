# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be asked of a Wi-Fi channel, and what analysis says of it."""

from __future__ import annotations

from typing import Any

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.lab.path_model import path_models
from flent_aqm.lab.protocol import refuse_virtual_settings
from flent_aqm.parts.wifi.in_lab import WifiModel
from flent_aqm.parts.wifi.phy import PHYS, ack_us, on_air_bytes
from flent_aqm.parts.wifi.plan import wifi_plan
from flent_aqm.spec.cell import derive_seed
from flent_aqm.spec.scenario import Scenario
from research.validation.wifi_theory import Receiver, by_turns, published

STATIONS = {"topology": "clients:3", "wifi_rates_mbps": "2x144.4+7.2"}


def test_wifi_left_out_leaves_a_run_as_it_was() -> None:
    """The same seed, and no report of a channel."""
    scenario = Scenario.from_settings({"wifi_rates_mbps": "", "wifi_ap": "", "wifi_phy": ""})
    assert scenario == Scenario()
    assert wifi_plan(scenario) is None
    assert list(path_models(scenario)) == []
    assert derive_seed("ndt7", scenario, 1) != derive_seed(
        "ndt7", Scenario.from_settings({**STATIONS}), 1)


def test_wifi_scenario_survives_json_and_says_all_that_it_is() -> None:
    """The guest gets the same; defaults are told."""
    scenario = Scenario.from_settings({**STATIONS, "wifi_phy": "ac+frames=8"})
    assert Scenario.from_json(scenario.as_json()) == scenario
    plan = wifi_plan(scenario)
    assert plan is not None
    assert plan.rates_mbps == {"client": 144.4, "client2": 144.4, "client3": 7.2}
    assert plan.about() | {"frames": 8, "ap": "airtime", "preamble_us": 40} == plan.about()
    line = plan.channel("down").split()
    assert line[0] == "down"
    assert {"weight_ns=256000", "most_frames=8", "sifs_ns=16000"} < set(line)
    assert not [word for word in line if word.startswith("driver")]
    fifo = wifi_plan(scenario.but(wifi_ap="fifo"))
    assert fifo is not None
    assert "driver=123" in fifo.channel("down")
    assert "weight_ns" not in fifo.channel("down")


def test_wifi_rate_of_one_is_no_switch() -> None:
    """Flent turns 1 into True, and 1 Mbit/s is a rate of 802.11b."""
    plan = wifi_plan(Scenario.from_settings({"topology": "clients:2", "wifi_rates_mbps": True}))
    assert plan is not None
    assert set(plan.rates_mbps.values()) == {1}


def test_wifi_one_rate_is_that_of_all_stations() -> None:
    """Of as many as the topology has, with NAT and several servers as well."""
    plan = wifi_plan(Scenario.from_settings({"topology": "clients:2+servers",
                                             "wifi_rates_mbps": "65"}))
    assert plan is not None
    assert plan.rates_mbps == {"client": 65, "client2": 65}


@pytest.mark.parametrize(("settings", "output"), [
    ({"wifi_rates_mbps": "2x144.4+7.2"},
     "only the clients of .* not those of dumbbell; give topology = clients:3"),
    ({**STATIONS, "topology": "clients:4"}, "has 3 rates, and topology clients:4 has 4 clients"),
    ({**STATIONS, "wifi_rates_mbps": "144.4+fast"}, "column 7: 'fast' is not a rate"),
    ({**STATIONS, "wifi_rates_mbps": "144.4+0.5"}, "column 7: 0.5 Mbit/s is out of range"),
    ({**STATIONS, "wifi_rates_mbps": "144.4+866.6667"},
     ("column 7: '866.6667' is not a rate; expected .Nx.RATE with N stations, RATE in Mbit/s with "
      "up to 3 decimals")),
    ({**STATIONS, "wifi_rates_mbps": "100000"}, "column 1: 100000 Mbit/s is out of range"),
    ({**STATIONS, "wifi_rates_mbps": "99x54"}, "99 stations; expected 16 at most"),
    ({**STATIONS, "wifi_rates_mbps": "100x54"}, "100 stations; expected 16 at most"),
    ({**STATIONS, "wifi_ap": "fq"}, "^wifi_ap: unknown value 'fq'.*fifo, fq_mac, airtime"),
    ({**STATIONS, "wifi_phy": "ax"}, "^wifi_phy: unknown value 'ax'; known: n, ac"),
    ({**STATIONS, "wifi_phy": "n+frames=0"}, "frames has the value '0'; expected .* 1 to 1024"),
    ({**STATIONS, "wifi_phy": "n+frames=1.5"}, "frames: 1.5 is not a whole number"),
    ({**STATIONS, "wifi_phy": "n+bytes=1000000.25"}, "bytes: 1000000.25 is not a whole number"),
    ({**STATIONS, "wifi_phy": "n+cw_max=7"}, "cw_min, 15, is above cw_max, 7; raise cw_max, or lo"),
    ({**STATIONS, "wifi_phy": "n+colour=7"}, "'colour=7' is not a parameter of n"),
    ({**STATIONS, "wifi_phy": "n+cw_min=7+cw_min=15"}, "the parameter cw_min is given twice"),
    ({"wifi_ap": "fifo"}, "^wifi_ap: 'fifo' needs wifi_rates_mbps"),
    ({"wifi_ap": False}, "^wifi_ap: no, off and false are no values of this key; expected a name,"),
    ({**STATIONS, "wifi_ap": False}, "^wifi_ap: no, off and false are no v"),
    ({**STATIONS, "wifi_phy": True}, "^wifi_phy: yes, on and true are no v")])
def test_wifi_settings_that_cannot_be_are_refused_by_name(
    settings: dict[str, object], output: str
) -> None:
    """One line with the key, the value seen and the value wanted."""
    with pytest.raises(ConfigError, match=output) as refused:
        Scenario.from_settings(settings)
    assert str(refused.value).startswith("wifi_")
    assert "\n" not in str(refused.value)


def test_wifi_is_refused_where_the_kernel_is_not_ours() -> None:
    """On the machine's own kernel and on routers behind ssh."""
    with pytest.raises(ConfigError, match=r"^wifi_rates_mbps: .*testbed netns leave wifi_"):
        refuse_virtual_settings("netns", Scenario.from_settings({**STATIONS, "testbed": "netns"}))


def test_wifi_times_are_those_of_the_standard() -> None:
    """A block acknowledgement of 32 bytes as OFDM at 24, 12 and 6 Mbit/s; a frame of 1500 bytes
    with 42 of its own, filled up to four."""
    assert [ack_us(rate) for rate in (144.4, 12, 7.2, 1)] == [32, 44, 68, 68]
    assert on_air_bytes(1500) == 1544
    phy = PHYS["n"]
    assert phy.data_us(1, 1500, 72.2) == pytest.approx(36 + 1544 * 8 / 72.2)


@pytest.mark.parametrize("analysis", [published, by_turns])
def test_wifi_analysis_of_the_anomaly(analysis: Any) -> None:
    """Two fast stations and a slow one. By turns the slow one takes three quarters of the air and
    all get hardly more than it does; with fair airtime a third each, and several times as much
    in all."""
    receivers = [Receiver(144.4, 4.5), Receiver(144.4, 5), Receiver(7.2, 1.9)]
    by_turn = analysis(PHYS["n"], receivers, fair=False)
    assert [round(100 * one.airtime) for one in by_turn] == [10, 11, 79]
    assert 18 < sum(one.mbps for one in by_turn) < 32
    receivers = [Receiver(144.4, 18), Receiver(144.4, 19), Receiver(7.2, 1.9)]
    fair = analysis(PHYS["n"], receivers, fair=True)
    assert [one.airtime for one in fair] == pytest.approx([1 / 3] * 3)
    assert sum(one.mbps for one in fair) > 2.5 * sum(one.mbps for one in by_turn)
    alone = analysis(PHYS["n"], receivers[:1], fair=True)[0]
    assert alone.mbps == pytest.approx(alone.alone_mbps)
    assert alone.airtime == 1


def test_report_takes_only_what_a_kernel_says() -> None:
    """Words of strangers in the counters are left out."""
    scenario = Scenario.from_settings(STATIONS)
    output = ("channel busy_ns=12 exchanges=x collisions=3\n"
            "queue airtime_ns packets\n"
            "down1 5 6\nup3 7 8\ndown4 9 9\ndown2 1 <b>\n\nevil\n")
    stored = WifiModel().report(scenario, output)
    assert stored["channel"] == {"busy_ns": 12, "collisions": 3}
    assert stored["stations"] == {"client": {"down": {"airtime_ns": 5, "packets": 6}},
                                  "client2": {},
                                  "client3": {"up": {"airtime_ns": 7, "packets": 8}}}
    assert stored["rates_mbps"] == {"client": 144.4, "client2": 144.4, "client3": 7.2}
