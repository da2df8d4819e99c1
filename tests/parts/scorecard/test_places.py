# SPDX-License-Identifier: GPL-3.0-or-later
"""The sets of cells."""

from __future__ import annotations

from pathlib import Path

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.parts.scorecard.contestant import contestant
from flent_aqm.parts.scorecard.places import BBR, CUBIC, SETS, Line, Place, places
from flent_aqm.parts.scorecard.runs import cell_of
from flent_aqm.spec.scenario import Scenario


@pytest.mark.parametrize("name", SETS)
def test_set_has_a_name_for_each_place_and_scenarios_that_are_right(name: str) -> None:
    """Two places with one name would share a data file."""
    selected = places(name)
    assert len({place.name for place in selected}) == len(selected)
    for place in selected:
        Scenario.from_settings(place.settings())


def test_sizes_are_as_the_help_says() -> None:
    """And the core's rates, queues and seeds as the documents say."""
    assert {name: len(places(name)) for name in SETS} == {
        "small": 4, "core": 77, "ten": 10, "full": 576}
    core = places("core")
    assert {place.seed for place in core} == {1, 2, 3}
    assert [sum(place.beside == control for place in core) for control in (CUBIC, BBR)] == [8, 8]
    assert {str(place.line) for place in core if place.line.jitter_ms} == {
        f"50 Mbit/s, {rtt_ms} ms with 4 ms of jitter" for rtt_ms in (5, 20, 50)}


def test_drop_tail_is_as_long_as_its_time_in_both_directions() -> None:
    """50 ms at 300 and at 30 Mbit/s."""
    router = Scenario.from_settings(Place(Line(300, 30, 10), "fifo_50ms").settings()).router
    assert router.queue("down") == ("bfifo", (("limit", "1875000"),))
    assert router.queue("up") == ("bfifo", (("limit", "187500"),))


def test_jitter_is_that_of_a_link_which_keeps_no_queue() -> None:
    """Its rate is ten times the router's. Names of files and descriptions say it."""
    place = Place(Line(50, 50, 5, jitter_ms=4), "codel", BBR)
    scenario = Scenario.from_settings(place.settings())
    assert scenario.path.modem_down_mbps == 500
    assert scenario.as_dict()["link_up_jitter_ms"] == 4
    assert place.name == "50mbit-5ms-jitter4ms-codel-beside-bbr-seed1"
    assert str(place) == ("50 Mbit/s, 5 ms with 4 ms of jitter, CoDel, beside a bulk flow of BBR, "
                          "seed 1")


def test_places_are_chosen_by_seed_and_by_name() -> None:
    """Each place once, whatever seeds its set has."""
    selected = places("core", seeds=(7, 8), only=("50mbit-40ms-cake-seed",))
    assert [place.name for place in selected] == [
        "50mbit-40ms-cake-seed7", "50mbit-40ms-cake-seed8"]


def test_unknown_sets_and_names_are_refused() -> None:
    """With those that there are."""
    with pytest.raises(ConfigError, match=r"--cells: unknown set of cells 'cor'.*core"):
        places("cor")
    with pytest.raises(ConfigError, match=r"--only: 7mbit: .*names are, for example, 10mbit-40ms"):
        places("small", only=("7mbit",))


@pytest.mark.parametrize(("testbed", "burst", "seeded"), [
    ("virtual", False, True), ("netns", True, False)])
def test_run_outside_the_virtual_lab_has_burst_shaping_and_no_seed(
        tmp_path: Path, testbed: str, burst: bool, seeded: bool) -> None:
    """There, a single late timer would cost throughput, and a seed has no effect."""
    place = places("small")[0]
    cell = cell_of(contestant("ndt7"), place, tmp_path, testbed)
    assert cell.scenario.lab.testbed == testbed
    assert (cell.scenario.router.burst_shaping, cell.scenario.lab.seed is not None) == (
        burst, seeded)
    assert (cell.name, cell.test_name) == (place.name, "ndt7")


def test_lines_are_those_of_the_documents() -> None:
    """docs/scorecard.md names rates and round trips. Real time needs no delay of its own."""
    names = {name: {place.line.name for place in places(name)} for name in SETS}
    rates = ("10mbit", "50mbit", "300-30mbit", "900mbit")
    assert names["full"] == {f"{rate}-{rtt_ms}ms" for rate in rates for rtt_ms in (10, 40, 120)}
    assert {name for name in names["core"] if "jitter" not in name} < names["full"]
    assert {name.split("-")[0] for name in names["core"]} == {name.split("-")[0] for name in rates}
    assert names["ten"] == {"10mbit-0ms", "50mbit-0ms"}
    assert names["small"] == {"10mbit-40ms"}


def test_queue_holds_two_frames_at_least() -> None:
    """Of 1514 bytes each: with less, none could arrive while another is sent."""
    slow = Place(Line(1, 100, 10), "fifo_10ms").settings()
    assert (slow["aqm_limit"], slow["up_aqm_limit"]) == ("3028", "125000")
    assert "up_aqm_limit" not in Place(Line(10, 10, 10), "fifo_10ms").settings()
