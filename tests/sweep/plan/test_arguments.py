# SPDX-License-Identifier: GPL-3.0-or-later
"""Overrides of keys that the matrix varies."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from flent.batch import new

from flent_aqm.base.errors import ConfigError
from flent_aqm.sweep.plan.arguments import (
    _apply_overrides,
    _unquoted,
    argument_lists,
    keys_and_values,
    restore_zeros,
)

ARGS: dict[str, dict[str, object]] = {
    "codel": {"aqm": "codel"}, "sfq": {"aqm": "sfq"},
    "off": {"burst_shaping": "0"}, "on": {"burst_shaping": "1"},
}
BATCH = {"for_aqm": "codel, sfq", "for_burst": "off, on", "repetitions": "2"}


def lists(overrides: Mapping[str, object], **keys: object) -> tuple[list[Any], dict[str, Any]]:
    """What a batch varies, and the arguments that there are then."""
    runner = new(SimpleNamespace(BATCH_FILES=[], INPUT=[], BATCH_NAMES=None, NAME=None))
    runner.args = dict(ARGS)
    runner.settings.BATCH_OVERRIDE = dict(overrides)
    *names, repetitions = argument_lists(runner, {**BATCH, **keys, **overrides})
    assert list(repetitions) == [1, 2]
    return names, runner.args


def test_override_keeps_the_arguments_with_the_value() -> None:
    """What no override speaks of stays as it is."""
    assert lists({"aqm": "sfq", "other": 1})[0] == [["sfq"], ["off", "on"]]


def test_overrides_of_switches_are_flents_booleans() -> None:
    """Flent makes True and False of yes and no."""
    assert lists({"burst_shaping": True})[0][1] == ["on"]
    assert lists({"burst_shaping": "off"})[0][1] == ["off"]


def test_override_makes_an_argument_for_a_new_value() -> None:
    """A value that no argument has becomes the list's only one."""
    names, args = lists({"aqm": "pie"})
    assert [args[name]["aqm"] for name in names[0]] == ["pie"]


@pytest.mark.parametrize(("key", "of_arguments", "override", "values"), [
    ("rate_mbps", ["20", "100"], "100,50", ["100", "50"]),
    ("rate_mbps", ["20", "100"], "20, 20", ["20"]),
    ("rate_mbps", ["20", "100"], "20,", ["20,"]),  # no list of several
    ("share", ["85", "90", "100"], "90,100", ["90", "100"]),
    ("modem", [True, False], "on,off", [True, False]),  # Flent makes True of on in batch files
    ("modem", ["on", "off"], "no", ["off"]),
    ("ccs", ["cubic,bbr", "cubic,reno"], "cubic,reno", ["cubic,reno"]),
    ("rates", ["10,100", "100,10"], "5,10", ["5,10"]),
])
def test_several_numbers_of_an_override_are_a_value_each(
        key: str, of_arguments: list[object], override: str, values: list[object]) -> None:
    """Only where the batch's own values are one number each, or as many switches."""
    args: dict[str, dict[str, object]] = {f"a{n}": {key: v} for n, v in enumerate(of_arguments)}
    runner = new(SimpleNamespace(BATCH_FILES=[], INPUT=[], BATCH_NAMES=None, NAME=None))
    runner.args, runner.settings.BATCH_OVERRIDE = args, {key: override}
    (names, _) = argument_lists(runner, {"for_x": ", ".join(args), "repetitions": "1"})
    assert [runner.args[name][key] for name in names] == values


def test_several_kernels_are_a_list_of_their_own() -> None:
    """Whether the batch names them or an override; each once."""
    for overrides, keys in (({}, {"kernel": "mine, stock, mine"}),
                            ({"kernel": "mine,stock"}, {})):
        names, args = lists(overrides, **keys)
        assert [args[name]["kernel"] for name in names[2]] == ["mine", "stock"]
    assert len(lists({"kernel": "mine"})[0]) == 2


def test_several_queues_take_the_place_of_the_batchs_list() -> None:
    """As several kernels do; a list whose arguments say more than the queue stays."""
    all_names, args = lists({"aqm": "pie,codel"}, aqm="pie,codel")
    assert ["pie", "codel"] in [[args[name].get("aqm") for name in names] for names in all_names]
    assert sum(all("aqm" in args[name] for name in names) for names in all_names) == 1


@pytest.mark.parametrize(("key", "words", "end"), [
    ("for_rate_mbp", "16", "choice; for_rate_mbps takes values themselves"),
    ("for_rates", "16", "choice; for_rate_mbps takes values themselves"),
    ("for_shapr", "tbf", "choice; for_shaper takes values themselves"),
    ("for_tool", "tcp_upload", "choice; for_test_name takes values themselves"),
    ("for_mine", "tcp_upload", "sets the keys of this choice")])
def test_unknown_word_of_a_list_names_the_list_that_was_meant(
        key: str, words: str, end: str) -> None:
    with pytest.raises(ConfigError) as caught:
        lists({}, **{key: words})
    assert str(caught.value).endswith(end)
    assert str(caught.value).startswith(f"{key}: no section [Arg::{words}]; expected")


def test_similar_word_of_a_list_is_named() -> None:
    with pytest.raises(ConfigError, match=(
            r"^for_queue: no section \[Arg::code\]; did you mean 'codel'\? Expected the name of")):
        lists({}, for_queue="code")


def test_tests_are_a_list_of_values() -> None:
    """Any test of Flent's, without a section for each."""
    names, args = lists({}, for_test_name="rrul, tcp_upload")
    assert [args[name]["test_name"] for name in names[-1]] == ["rrul", "tcp_upload"]


def test_choice_that_no_argument_is_called_is_refused() -> None:
    """A key that only the batch knows names its choices: a cell of another name would be the
    first of them. A setting, and a key that a choice consists of, take any value."""
    def with_choices(override: Mapping[str, object]) -> list[object]:
        runner = new(SimpleNamespace(BATCH_FILES=[], INPUT=[], BATCH_NAMES=None, NAME=None))
        runner.args = {"fair": {"check": "fair", "rate_mbps": "20", "up_aqm_x": "1", "length": "5"},
                       "bursts": {"check": "bursts", "rate_mbps": "50", "up_aqm_x": "2",
                                  "length": "6"},
                       "cubic": {"control": "cubic"}}
        runner.settings.BATCH_OVERRIDE = dict(override)
        runner.settings.LENGTH = 60
        names, controls, _ = argument_lists(runner, {"for_check": "fair, bursts",
                                                     "for_control": "cubic", "repetitions": "1"})
        key = next(iter(override))
        return [runner.args[name][key] for name in (*names, *controls) if key in runner.args[name]]

    for value in ("burst", "fair,burst", "burst;fair"):
        with pytest.raises(ConfigError, match=(
                r"^check: 'burst' is none of this batch's choices; .*bursts.*; expected "
                r"one or more of fair, bursts$")):
            with_choices({"check": value})
    assert with_choices({"check": "bursts"}) == ["bursts"]
    assert with_choices({"check": "bursts,fair"}) == ["bursts", "fair"]
    for key, value in (("rate_mbps", "7"), ("up_aqm_x", "3"), ("length", "9"), ("control", "bbr")):
        assert with_choices({key: value}) == [value], key


def test_restore_zeros_leaves_switches_alone() -> None:
    """A rate of 0 is a number, burst shaping of 0 is a no."""
    overrides: dict[str, object] = {
        "rate_mbps": False, "dest2_delay_ms": False, "jobs": False, "burst_shaping": False,
        "seed": "7"}
    restore_zeros(overrides)
    assert overrides == {"rate_mbps": "0", "dest2_delay_ms": "0", "jobs": "0",
                         "burst_shaping": False, "seed": "7"}


def test_list_of_a_single_word_for_a_switch_is_told_as_one() -> None:
    """Of `off` Flent makes False, which is the name of no section."""
    with pytest.raises(ConfigError, match=r"^for_burst: Flent reads .* as a switch; .* in quotes"):
        lists({}, for_burst=False)
    assert ["off"] in lists({}, for_burst='"off"')[0]
    # A list of rates isn't said to name a section that nobody wrote.
    with pytest.raises(ConfigError, match=r"^for_rate_mbps: Flent reads .* as a switch; "):
        lists({}, for_rate_mbps=True)


@pytest.mark.parametrize(("text", "values"), [
    ("test_parameters=a=1;b=2", {"test_parameters": "a=1;b=2"}),
    (" Test_Parameters = a=1 ; b=2,3 ", {"Test_Parameters": "a=1 ; b=2,3"}),
    ("aqm=pie;test_parameters=a=1;b=2", {"aqm": "pie", "test_parameters": "a=1;b=2"}),
    ("test_parameters='a=1;b=2'", {"test_parameters": "a=1;b=2"}),
    ("test_parameters=\"'a=1;b=2'\"", {"test_parameters": "a=1;b=2"}),
    ("test_parameters=", {"test_parameters": ""}),
    ("aqm=codel; rate_mbps=5", {"aqm": "codel", "rate_mbps": "5"}),
    ("router_model=omnia+cores=2", {"router_model": "omnia+cores=2"}),
    ("link_trace=seeded+mean_mbps=20;aqm=pie; link_up_access = starlink+gap_ms=5+period_s=9",
     {"link_trace": "seeded+mean_mbps=20", "aqm": "pie",
      "link_up_access": "starlink+gap_ms=5+period_s=9"}),
    ("router_program='env A=1 sh -c \"a; b\"';aqm=pie",
     {"router_program": 'env A=1 sh -c "a; b"', "aqm": "pie"}),
    ("aqm=pie; client_model = 'ideal+rx_packet_ns=5' ;rate_mbps=5;test_parameters=router_model=1",
     {"aqm": "pie", "client_model": "ideal+rx_packet_ns=5", "rate_mbps": "5",
      "test_parameters": "router_model=1"}),
])
def test_values_with_equals_signs_are_read_as_typed(text: str, values: dict[str, str]) -> None:
    """Test parameters take all that follows, other keys what is before the next ;, and Flent's own
    reader those without a further = sign."""
    from flent.util import keyval

    assert keys_and_values(keyval, text) == values


@pytest.mark.parametrize(("key", "words", "values"), [
    ("for_rate_up_mbps", "20, 20mbit, 1gbit, 500kbit", ["20", "1000", "0.5"]),
    ("for_base_delay_ms", "20, 1k", ["20", "1k"]), ("for_shaper", "htb, tbf", ["htb", "tbf"]),
    ("for_aqm_limit", "40, 100", ["40", "100"]), ("for_up_aqm_target", "5ms", ["5ms"])])
def test_values_of_a_list_lose_their_unit_if_they_are_rates(
        key: str, words: str, values: list[str]) -> None:
    """Each once; of another key each is taken as it is."""
    names, args = lists({}, **{key: words})
    setting = key.removeprefix("for_")
    assert values in [[args[name].get(setting) for name in each] for each in names]


@pytest.mark.parametrize(("value", "number"), [
    ("1", 1), (1, 1), (True, 1), ("03", 3), (" 2 ", 2), ("0", None), (False, None), (0, None),
    (-1, None), ("1000000", None), ("x", None), ("1.5", None), ("", None)])
def test_repetitions_are_a_whole_number_from_1_to_999999(value: object, number: int | None) -> None:
    """None made no run without a word; a word ended in a traceback of Flent's."""
    runner = new(SimpleNamespace(BATCH_FILES=[], INPUT=[], BATCH_NAMES=None, NAME=None))
    runner.args, runner.settings.BATCH_OVERRIDE = dict(ARGS), {}
    batch = {**BATCH, "repetitions": value}
    if number:
        assert len(argument_lists(runner, batch)[-1]) == number
        return
    with pytest.raises(ConfigError, match=r"repetitions: .*; expected a whole number from 1 to 9"):
        argument_lists(runner, batch)


@pytest.mark.parametrize(("text", "value"), [
    ("'", "'"), ("''", ""), ("'a'", "a"), ("\"'a'\"", "a"), ("'a\"", "'a\""), ("xax", "xax"),
    (" a ", "a")])
def test_pairs_of_quotes_around_a_value_are_taken_off(text: str, value: str) -> None:
    assert _unquoted(text) == value


@pytest.mark.parametrize(("key", "words", "added"), [
    ("for_rate", "20, 2.5mbit, 1gbit, 500kbit, 20mbit", {
        "20mbit": {"rate_mbps": "20"}, "2.5mbit": {"rate_mbps": "2.5"},
        "1000mbit": {"rate_mbps": "1000"}, "0.5mbit": {"rate_mbps": "0.5"}}),
    ("for_rate_mbps", "20", {"20mbit": {"rate_mbps": "20"}}),
    ("for_rate_down_mbps", "20mbit", {"rate_down_mbps_20": {"rate_down_mbps": "20"}}),
    ("for_base_delay_ms", "20", {"base_delay_ms_20": {"base_delay_ms": "20"}}),
    ("for_shaper", "HTB", {"shaper_htb": {"shaper": "HTB"}}),
    ("for_aqm", "codel", {}),  # a section's name stays one
    ("for_burst", "o*", {}),  # of no setting, a pattern of sections
])
def test_each_value_of_a_setting_gets_an_argument(
        key: str, words: str, added: dict[str, dict[str, str]]) -> None:
    """A rate's has the name that sections of rates have."""
    names, args = lists({}, **{key: words})
    assert {name: values for name, values in args.items() if name not in ARGS} == added
    assert list(added) in names or not added


@pytest.mark.parametrize(("key", "words", "fault"), [
    ("for_rate", "quick", "no section [Arg::quick]; expected a rate, such as 20, 2.5mbit or 1gbit"),
    ("for_rate_mbps", "20 mbyte", "no section [Arg::20 mbyte]; expected a rate"),
    ("for_rate", "1234567", "no section [Arg::1234567]; expected a rate"),
    ("for_aqms", "codl", "no section [Arg::codl]; did you mean 'codel'? Expected the name of a"),
    ("for_burst", "codel, x*", "no section [Arg::x*]; expected the name of a section"),
])
def test_word_that_is_neither_a_value_nor_a_section_is_refused(
        key: str, words: str, fault: str) -> None:
    """Rates are told only where rates may be."""
    with pytest.raises(ConfigError) as raised:
        lists({}, **{key: words})
    assert str(raised.value).startswith(f"{key}: {fault}")
    assert raised.value.key == key


def test_argument_that_an_override_makes_has_the_first_ones_other_keys() -> None:
    """As of a list that varies several keys; one without the key is none of the override's."""
    args: dict[str, dict[str, object]] = {
        "slow": {"rate_mbps": "1", "title": "slow"}, "fast": {"rate_mbps": "2", "title": "fast"},
        "other": {"title": "other"}}
    for listed, names in (("slow, fast", ["rate_mbps_50"]), ("slow, other", ["slow", "other"])):
        runner = new(SimpleNamespace(BATCH_FILES=[], INPUT=[], BATCH_NAMES=None, NAME=None))
        runner.args, runner.settings.BATCH_OVERRIDE = dict(args), {"rate_mbps": "50"}
        assert argument_lists(runner, {"for_x": listed})[0] == names
    assert _apply_overrides(["slow", "fast"], args, {"rate_mbps": "50"}) == ["rate_mbps_50"]
    assert args["rate_mbps_50"] == {"rate_mbps": "50", "title": "slow"}
    assert _apply_overrides([], args, {"rate_mbps": "60"}) == []


def test_list_whose_arguments_say_more_than_the_queue_stays() -> None:
    """Beside the queues that are named one by one; that of the queue alone goes."""
    args: dict[str, dict[str, object]] = {
        "codel": {"aqm": "codel"}, "pie": {"aqm": "pie", "title": "pie"}, "on": {"tiers": "1"}}
    runner = new(SimpleNamespace(BATCH_FILES=[], INPUT=[], BATCH_NAMES=None, NAME=None))
    runner.args, runner.settings.BATCH_OVERRIDE = args, {}
    *names, _ = argument_lists(runner, {
        "aqm": "sfq, red", "for_a": "codel", "for_b": "codel, pie", "for_c": "on"})
    assert names == [["codel", "pie"], ["on"], ["aqm_sfq", "aqm_red"]]
