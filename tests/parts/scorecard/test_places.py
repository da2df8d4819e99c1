# SPDX-License-Identifier: GPL-3.0-or-later
"""The sets of cells."""

from __future__ import annotations

from pathlib import Path

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.parts.scorecard.contestant import contestant
from flent_aqm.parts.scorecard.places import BBR, CUBIC, SETS, AccessLine, Place, drop_tail, places
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
    router = Scenario.from_settings(Place(AccessLine(300, 30, 10), "fifo_50ms").settings()).router
    assert router.queue("down") == ("bfifo", (("limit", "1875000"),))
    assert router.queue("up") == ("bfifo", (("limit", "187500"),))


def test_jitter_is_that_of_a_link_which_keeps_no_queue() -> None:
    """Its rate is ten times the router's. Names of files and descriptions say it."""
    place = Place(AccessLine(50, 50, 5, jitter_ms=4), "codel", BBR)
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
    with pytest.raises(ConfigError, match=r"--cells: unknown value 'cor'; did you mean 'core'"):
        places("cor")
    with pytest.raises(ConfigError, match=r"'7mbit' in its name; names are, .* 10mbit-40ms"):
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
    slow = Place(AccessLine(1, 100, 10), "fifo_10ms").settings()
    assert (slow["aqm_limit"], slow["up_aqm_limit"]) == ("3028", "125000")
    assert "up_aqm_limit" not in Place(AccessLine(10, 10, 10), "fifo_10ms").settings()


ALL = ("fifo_50ms", "fifo_250ms", "fifo_1000p", "red", "codel", "pie", "fq_codel", "cake")
WITH_JITTER = ("fifo_250ms", "codel", "fq_codel")
CORE = {
    **{f"50mbit-40ms-seed{seed}": ALL for seed in (1, 2, 3)},
    "50mbit-40ms-beside-seed1": ALL, "50mbit-40ms-beside-bbr-seed1": ALL,
    "10mbit-40ms-seed1": ALL, "300-30mbit-10ms-seed1": ALL,
    "50mbit-120ms-seed1": ("fifo_50ms", "fifo_250ms", "codel", "pie", "fq_codel"),
    "50mbit-10ms-seed1": ("fifo_250ms", "fq_codel", "cake"),
    "900mbit-10ms-seed1": ("fifo_50ms", "fifo_1000p", "fq_codel", "cake"),
    **{f"50mbit-{rtt_ms}ms-jitter4ms-seed1": WITH_JITTER for rtt_ms in (5, 20, 50)}}
FULL = {f"{rates}-{rtt_ms}ms{beside}-seed{seed}": ALL
        for rates in ("10mbit", "50mbit", "300-30mbit", "900mbit") for rtt_ms in (10, 40, 120)
        for beside in ("", "-beside") for seed in (1, 2, 3)}
TEN = tuple(f"fifo_{buffer_ms}ms" for buffer_ms in (10, 25, 50, 100, 250))


@pytest.mark.parametrize(("name", "groups"), [
    ("core", CORE), ("full", FULL), ("ten", {"10mbit-0ms-seed1": TEN, "50mbit-0ms-seed1": TEN}),
    ("small", {"10mbit-40ms-seed1": ("fifo_250ms", "fifo_1000p", "codel", "fq_codel")})])
def test_sets_have_these_lines_and_queues(name: str, groups: dict[str, tuple[str, ...]]) -> None:
    """Runs that are stored keep their names, and cards of two versions the same places."""
    found: dict[str, list[str]] = {}
    for place in places(name):
        found.setdefault(place.group, []).append(place.queue)
    assert {group: tuple(queues) for group, queues in found.items()} == groups


@pytest.mark.parametrize(("line", "name", "words", "settings"), [
    (AccessLine(50, 50, 40), "50mbit-40ms", "50 Mbit/s, 40 ms", {}),
    (AccessLine(300, 30, 10), "300-30mbit-10ms", "300/30 Mbit/s, 10 ms", {}),
    # The link behind is ten times as fast as the faster direction.
    (AccessLine(10, 50, 0.5, 0.5), "10-50mbit-0.5ms-jitter0.5ms",
     "10/50 Mbit/s, 0.5 ms with 0.5 ms of jitter", {"modem_mbps": 500, "link_jitter_ms": 0.5}),
])
def test_line_is_named_by_both_rates_if_they_differ_and_by_its_jitter(
        line: AccessLine, name: str, words: str, settings: dict[str, object]) -> None:
    assert (line.name, str(line)) == (name, words)
    assert line.settings() == {"rate_down_mbps": line.down_mbps, "rate_up_mbps": line.up_mbps,
                               "base_delay_ms": line.rtt_ms, **settings}


def test_places_are_kept_that_have_one_of_the_texts() -> None:
    """And without any text, all."""
    named = {place.name for place in places("small", only=("fq_", "1000p"))}
    assert named == {"10mbit-40ms-fq_codel-seed1", "10mbit-40ms-fifo_1000p-seed1"}
    with pytest.raises(ConfigError, match=r"for example, (\S+, ){2}\S+$"):
        places("small", only=("nothing",))


@pytest.mark.parametrize(("buffer_ms", "name", "bytes_at_50_mbit"), [
    (50, "fifo_50ms", "312500"), (49.6, "fifo_50ms", "312500"), (0.4, "fifo_0ms", "3028")])
def test_buffer_is_of_whole_milliseconds(
        buffer_ms: float, name: str, bytes_at_50_mbit: str) -> None:
    """125 bytes per ms and Mbit/s."""
    assert drop_tail(buffer_ms) == name
    place = Place(AccessLine(50, 50, 40), name)
    assert place.settings()["aqm_limit"] == bytes_at_50_mbit
    assert place.buffer.words == f"drop-tail of {name[5:-2]} ms"
    assert place.settings()["cross_traffic"] is False
    assert place.seed == 1
