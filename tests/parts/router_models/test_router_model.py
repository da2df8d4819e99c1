# SPDX-License-Identifier: GPL-3.0-or-later
"""Router models as they are written in batches."""

from __future__ import annotations

import re

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.lab.protocol import refuse_virtual_settings
from flent_aqm.parts.router_models.known_routers import KNOWN_ROUTERS
from flent_aqm.parts.router_models.model import (
    PARAMETERS,
    RouterModel,
    parse_router_model,
    with_latency,
    with_parameters,
)
from flent_aqm.spec.scenario import Scenario


@pytest.mark.parametrize(("text", "latency_ns"), [
    ("ideal", 0), ("12.5us", 12_500), ("0us", 0), ("1000us", 1_000_000),
    ("ideal+timer_latency_us=3", 3000)])
def test_model_of_late_timers_alone_has_no_cards(text: str, latency_ns: int) -> None:
    """Names and latencies are models; without other parameters packets pass at once."""
    model = parse_router_model(text)
    assert model.timer_latency_ns == latency_ns
    assert not model.has_cards


def test_model_of_a_latency_reads_back() -> None:
    """The latency that a model is made of is the one that it has."""
    assert parse_router_model(with_latency(17_000)).timer_latency_ns == 17_000


@pytest.mark.parametrize(("model", "advice", "latency_us"), [
    ("12us", "ideal", "12"), ("omnia+timer_latency_us=50", "omnia+timer_latency_us=0", "50"),
    ("omnia+timer_latency_us=50+cores=1", "omnia+cores=1+timer_latency_us=0", "50")])
def test_advice_on_a_hosts_timer_latency_is_accepted(model: str, advice: str, latency_us: str
                                                     ) -> None:
    """All hosts of the lab share one."""
    with pytest.raises(ConfigError) as fault:
        Scenario.from_settings({"client_model": model})
    assert str(fault.value).endswith(f"give client_model = {advice}, and router_timer_latency_us = "
                                     f"{latency_us}")
    Scenario.from_settings({"client_model": advice, "router_timer_latency_us": latency_us})


@pytest.mark.parametrize("name", [name for name in KNOWN_ROUTERS if name != "ideal"])
def test_named_router_has_cards_and_can_carry_its_own_link_or_says_why_not(name: str) -> None:
    """A named router is a whole one: its packets cost time, and its ring has an end."""
    model = KNOWN_ROUTERS[name]
    assert model.has_cards
    assert model.rx_packet_ns > 0
    assert model.line_mbps > 0


@pytest.mark.parametrize(("text", "message"), [
    ("turris", "unknown value 'turris'; known: ideal, omnia"),
    ("1001us", "from 0us to 1000us"),
    ("12.5555us", "from 0us to 1000us, with three decimals at most, such as 12.5us"),
    ("", "unknown value ''"),
    ("omnia+ring=3", "'ring' is not a parameter of a router model; expected NAME=VALUE"),
    ("omnia+core=2", "'core' is not a parameter of a router model; did you mean 'cores'?; expect"),
    ("omnia+cores", "'cores' has no = and value; expected NAME=VALUE, with a NAME of timer"),
    ("ideal+rx_ring_packets=0", "'0' is out of range; expected a whole number from 1 to 65536"),
    ("ideal+rx_ring_packets=1.5", "'1.5' is not whole; expected a whole number"),
    ("ideal+rx_packet_ns=nan", "rx_packet_ns: 'nan' is not a number"),
    ("ideal+rx_packet_ns=x", "rx_packet_ns: 'x' is not a number"),
    ("ideal+cores=3", "expected a whole number from 1 to 2"),
    ("ideal+cores=1+cores=2", "gives the parameter cores more than once"),
    ("ideal+bql=yes", "bql: 'yes' is neither 0 nor 1"),
    ("ideal+other_work_kind=cron", "unknown value 'cron'; known: process, interrupt"),
    ("ideal+rx_packet_ns=5000000", "the probes alone are 200; expected less than 5 ms: give sm"),
    ("ideal+other_work_per_s=1000+other_work_us=1000", "takes a whole core"),
])
def test_wrong_model_is_refused_with_what_was_expected(text: str, message: str) -> None:
    """One line names the parameter, the value and the values that are right."""
    with pytest.raises(ConfigError, match=re.escape(message)) as caught:
        parse_router_model(text)
    assert "\n" not in str(caught.value)


def test_every_parameter_is_a_key_of_a_batch() -> None:
    """Each parameter given as router_NAME is in the model that the scenario names."""
    values = {"timer_latency_us": "1", "line_mbps": "1000", "line_up_mbps": "20",
              "rx_ring_packets": "64",
              "tx_ring_packets": "32", "bql": False, "rx_coalesce_us": "10",
              "rx_coalesce_packets": "8", "cores": "2", "rx_packet_ns": "100",
              "rx_byte_ns": "0.5", "tx_packet_ns": "50", "tx_byte_ns": "0.25", "wakeup_us": "3",
              "napi_weight": "32", "netdev_budget": "64", "softirq_limit_us": "1000",
              "other_work_per_s": "5", "other_work_us": "7", "other_work_kind": "interrupt",
              "process_slice_us": "100"}
    assert set(values) == set(PARAMETERS)
    scenario = Scenario.from_settings({f"router_{name}": value for name, value in values.items()})
    model = parse_router_model(scenario.record("models").router_model)
    default = RouterModel()
    assert all(getattr(model, name) != getattr(default, name) for name in PARAMETERS)
    assert Scenario.from_json(scenario.as_json()) == scenario
    full = scenario.described()["router"]
    assert isinstance(full, dict)
    assert set(full) == {"model", *PARAMETERS}


def test_parameters_of_one_model_in_any_order_name_it_the_same() -> None:
    """Runs of one model are one group, however it was written; a key of a batch wins."""
    one = with_parameters("omnia+rx_packet_ns=7+cores=2", {"rx_ring_packets": "9"})
    other = with_parameters("omnia+rx_ring_packets=8+cores=2", {
        "rx_packet_ns": "7", "rx_ring_packets": "9", "bql": ""})
    assert one == other == "omnia+cores=2+rx_packet_ns=7+rx_ring_packets=9"


def test_scenario_without_a_model_is_what_it_was_before_there_were_any() -> None:
    """A default model changes no seed and no metadata."""
    scenario = Scenario.from_settings({})
    assert scenario.record("models").router_model == "ideal"
    assert "client_model" not in scenario.identity()
    assert scenario.described() == {"router_model": "ideal"}


def test_late_timers_of_a_host_are_refused() -> None:
    """The lab's kernel has one latency for all timers, and that is the router's."""
    with pytest.raises(ConfigError, match="client_model: 20us has a timer latency"):
        Scenario.from_settings({"client_model": "20us"})


def test_unknown_router_key_is_refused() -> None:
    """A key that looks like a parameter of the router and is none doesn't go unnoticed."""
    with pytest.raises(ConfigError, match="router_speed: unknown key; a router model has the "
                                          "parameters timer_latency_us, line_mbps"):
        Scenario.from_settings({"router_speed": "3"})


@pytest.mark.parametrize(("settings", "message"), [
    ({"router_cores": "5"}, "router_cores: '5' is out of range; expected a whole number from 1"),
    ({"router_bql": "never"}, "router_bql: 'never' is neither 0 nor 1"),
    ({"router_core": "2"}, "router_core: unknown key; did you mean 'cores'?"),
    ({"router_model": "omnia+cores=5"}, "router_model: cores: '5' is out of range"),
    ({"router_model": True}, "router_model: yes, on and true are no values of this key; expected"),
    ({"client_model": False}, "client_model: no, off and false are no values of this key"),
])
def test_message_names_the_key_that_was_given(settings: dict[str, object], message: str) -> None:
    """Flent has made True or False of a word, and a parameter has a key of its own."""
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}") as caught:
        Scenario.from_settings(settings)
    assert caught.value.key == next(iter(settings))


def test_model_is_refused_on_another_testbed_without_calling_its_router_real() -> None:
    """Namespaces are none."""
    for settings in ({"router_model": "omnia"}, {"router_timer_latency_us": "50"}):
        with pytest.raises(ConfigError, match=(
                "is a model of the virtual lab, which testbed netns doesn't have: leave "
                "router_model and keys router_… of its parameters out, or use")):
            refuse_virtual_settings("netns", Scenario.from_settings(settings))
    with pytest.raises(ConfigError, match=r"^client_model: .*: leave client_model out"):
        refuse_virtual_settings("netns", Scenario.from_settings(
            {"client_model": "omnia+timer_latency_us=0"}))
