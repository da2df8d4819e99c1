# SPDX-License-Identifier: GPL-3.0-or-later
"""Both sides of each limit of the cleaning: what is just replaced or found, and what just isn't."""

from __future__ import annotations

import pwd
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.results.data_file import DataFile
from flent_aqm.results.share.allowed import allowed_metadata, unused
from flent_aqm.results.share.batch_text import clean_batch, lines_that_tell
from flent_aqm.results.share.left_over import left_over
from flent_aqm.results.share.secrets import (
    Secrets,
    host_names,
    is_address,
    is_domain,
    tells_of_nobody,
    texts,
)
from flent_aqm.results.share.strip import strip
from flent_aqm.results.share.vocabulary import is_common


@pytest.fixture(autouse=True)
def nobody_has_an_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of users of this machine would be removed, too."""
    monkeypatch.setattr(pwd, "getpwall", list)


@pytest.mark.parametrize(("text", "clean"), [
    # With 0x, eight digits need a first byte, a low half and a letter. Its lowest bit counts.
    ("0x01aa8080", "0x00000000"), ("x 0x01aa8080", "x 0x00000000"), ("0X01aa8080", "0X00000000"),
    ("01aa8080", "01aa8080"), ("0x00ffabcd", "0x00ffabcd"), ("0xab010000", "0xab010000"),
    ("0xab010001", "0x00000000"), ("0x01018080", "0x01018080"), ("0xab018000", "0x00000000"),
    # Of a private network in either byte order, 0x or not.
    ("0a000001", "00000000"), ("0000000a", "00000000"), ("ac100001", "00000000"),
    ("0b000001", "0b000001"), ("00000000", "00000000"),
    # Words of programs stay, though they look random or like a domain.
    ("TCP/upload/download/1", "TCP/upload/download/1"), ("TCP/upload/finkload/1", "removed"),
    ("tcp.udp.icmp", "tcp.udp.icmp"), ("finkx.tar.gz", "finkx.tar.gz"),
    ("fink.nas.haus", "host"),
    # A number of three digits is no name of a network.
    ("ESSID: 123", "ESSID: 123"), ("ESSID: 1234", "ESSID: removed"),
    # A user and a host, each of usual words or not.
    ("root%40nas7x", "user%40host"), ("anna7x%40server", "user%40host"),
    ("root%40server", "root%40server"), ("server@client", "server@client"),
    ("anna7x@server", "user@server"), ("server@nas7x", "user@host"), ("root@nas7x", "root@nas7x"),
    ("008.008.008.008", "203.0.113.1"), ("000.000.000.000", "000.000.000.000"),
    ("serial 12ab", "serial removed"), ("x +49 30 123456", "x removed"),
    ("--1s4.ipv6-literal.net", "--1s4.ipv6-literal.net"),
    # Two colons behind an IPv4 address begin none of IPv6, which left three of its numbers.
    ("server 81.2.69.142::80", "server 203.0.113.1::80"),
    ("x.2a02:1::5", "x.2001:db8::1"), ("81.2.69.142:80", "203.0.113.1:80"),
    ("fe80::1::", "2001:db8::1::"), ("10.0.0.1:", "203.0.113.1:"),
    # With dashes, an address is beside a letter or one sign and a letter.
    ("a-10-0-0-1", "a-203-0-113-1"), ("a--10-0-0-1", "a--10-0-0-1"),
    ("10-0-0-1-a", "203-0-113-1-a"), ("10-0-0-1--a", "10-0-0-1--a"),
    ("3232235776", "0000000000"), ("2130706433", "2130706433"), ("16777217", "16777217"),
])
def test_text_is_cleaned_on_one_side_of_each_limit(text: str, clean: str) -> None:
    secrets = Secrets({})
    answer, kinds = secrets.clean(text)
    assert answer == clean
    assert bool(kinds) is (clean != text)
    assert bool(secrets.removed) is (clean != text)


@pytest.mark.parametrize(("name", "is_one"), [
    ("nas.fink.example", True), ("tcp.udp.icmp", False), ("finkx.tar.gz", False),
    ("tcp.json", False), ("10.0.0.1", False), ("finkx.GZ", False), ("finkx.gzx", True)])
def test_domain_is_no_file_no_address_and_has_a_word_of_its_own(name: str, is_one: bool) -> None:
    assert is_domain(name) is is_one


@pytest.mark.parametrize(("text", "left"), [
    (".1.2.3.4", "1.2.3.4"), ("..1.2.3.4", "1.2.3.4"), ("1.2.3.4..", "1.2.3.4"),
    ("1.2.3.4-", "1.2.3.4"), ("a--1-2-3-4", ""), ("a-1-2-3-4", "1-2-3-4"),
    ("1-2-3-4-a-", "1-2-3-4"), ("1-2-3-4--a", ""), ("-1-2-3-4a", ""), ("1-2-3-4ab", "1-2-3-4"),
    ("525:54:00:ab:cd:ef", ""), ("52-54-00-ab-cd-ef-", "52-54-00-ab-cd-ef"),
    ("52:54:00:ab:cd:ef:01", ""), ("enxx525400abcdef", ""), ("fe80::1:.", "fe80::1"),
    ("http://root:@h/", ""), ("http://user:x@h/", "user:x@h"), ("/anna\tx", "anna"),
    ("/x/anna", "anna"), ("anna/x", ""), ("1:2", "")])
def test_last_check_finds_on_one_side_of_each_limit(text: str, left: str) -> None:
    assert left_over((), {"anna"}, [text]) == left


@pytest.mark.parametrize(("removed", "text", "left"), [
    ("--", "x---", "--"), ("--", "x--", ""), ("ab", "xab-ab", "ab"), ("ab", "ab", "ab"),
    ("ab", "abx-", ""), ("ab", "x ab", "ab"), ("ab", "x AB", "AB"), ("ab", "İ AB", "ab")])
def test_removed_text_is_searched_from_each_place_on(removed: str, text: str, left: str) -> None:
    """Also one character after the place where it was part of a longer word. It is returned as it
    is written, unless the text is longer in lower case."""
    assert left_over({removed}, (), [text]) == left


@pytest.mark.parametrize(("text", "clean"), [
    # A name in a list of hosts is known in lines before it, whichever key it has and where it is.
    ("title = at nas9x\nlocal_bind = nas9x\n", "title = at host\nlocal_bind = host\n"),
    ("title = at nas9x\nhosts = server, nas9x\n", "title = at host\nhosts = server, host\n"),
    ("title = at nas9x\nhosts=nas8x;nas9x\n", "title = at host\nhosts=host2;host\n"),
    # But not words of programs, or those of other keys.
    ("note = server.cake\nhosts = server.cake\n", "note = server.cake\nhosts = server.cake\n"),
    ("title = at nas9x\ncomment = nas9x\n", "title = at nas9x\ncomment = nas9x\n"),
    ("hosts = , nas9x\n", "hosts = , host\n"),
    # What can't be a name is replaced in a list of hosts, too. A key of the user stays.
    ("hosts = nas9größe, server\n", "hosts = host, server\n"),
    ("finkx = cake\n", "finkx = cake\n"),
    # A testbed that is no router, a folder, and what is relative.
    ("testbed = netns\n", "testbed = netns\n"),
    ("testbed = ssh:x\n", "testbed = ssh://root@router\n"),
    ("data_dir = C:\\finkx\n", "data_dir = removed\n"),
    ("data_dir = finkx\n", "data_dir = finkx\n"), ("data_dir = /finkx/cake\n", "data_dir = cake\n"),
    ("data_dir = /cake/\n", "data_dir = cake\n"), ("data_dir = ~\n", "data_dir = ~\n")])
def test_line_of_a_batch_is_cleaned_on_one_side_of_each_limit(text: str, clean: str) -> None:
    assert clean_batch("b", text).text == clean


def test_each_telling_line_has_its_number() -> None:
    assert list(lines_that_tell("at 10.1.2.3\n\nx\nat 10.1.2.4")) == [
        (1, "10.1.2.3"), (4, "10.1.2.4")]


@pytest.mark.parametrize(("word", "is_usual"), [
    ("1", True), ("x", True), ("00000000000", True), ("00000000001", False), ("999999999", True),
    ("1234567890", False),
    ("123456789ms", True), ("1234567890ms", False), ("1abcde", False), ("1234xcubic", True),
    ("12345xcubic", False), ("2x123456", True), ("2x1234567", False), ("2xcubic1234", True),
    ("2xcubic12345", False), ("eth1234", True), ("0x000000", True), ("0x1bcd", True),
    ("0x1bcde", False), ("server-nasx", False), ("server server", True), ("1server", False)])
def test_word_is_usual_on_one_side_of_each_limit(word: str, is_usual: bool) -> None:
    assert is_common(word) is is_usual


def content(path: str, title: str = "", **whole: Any) -> DataFile:
    """Return a data file without series, with the given title, if any, and further content."""
    metadata = {"NAME": "rrul", **({"TITLE": title} if title else {})}
    return DataFile(Path(path), 4, metadata, {}, {}, {"metadata": {}, **whole})


def test_file_without_version_and_values_gets_those_of_the_first_format() -> None:
    stripped = strip(content("x.flent.gz"))
    assert stripped.whole == {"version": 1, "metadata": {
        "NAME": "rrul", "DATA_FILENAME": "x.flent.gz"}, "x_values": [], "results": {},
        "raw_values": {}}
    assert (stripped.name, stripped.removed) == ("x.flent.gz", [])
    kept = strip(content("x.flent.gz", version=4, x_values=[1])).whole
    assert (kept["version"], kept["x_values"]) == (4, [1])


@pytest.mark.parametrize(("name", "shared"), [
    ("a\nb.flent.gz", "a_b.flent.gz"), ("at-10.1.2.3.flent", "at-203.0.113.1.flent.gz"),
    ("x.flent.y.flent.gz", "x.flent.gz")])
def test_name_of_a_shared_file_is_easy_to_type_and_tells_of_nobody(
        name: str, shared: str) -> None:
    assert strip(content(name)).name == shared


def test_address_in_a_files_name_is_replaced_with_any_separator() -> None:
    """If the file has it."""
    stripped = strip(content("of_10-1-2-3_2.flent.gz", title="at 10.1.2.3"))
    assert stripped.name == "of_203.0.113.1_2.flent.gz"
    assert stripped.whole["metadata"]["TITLE"] == "at 203.0.113.1"
    assert stripped.removed == ["TITLE: address", "name of the file: address"]


@pytest.mark.parametrize(("metadata", "is_refused"), [
    ({"TITLE": "v1-2-3-4"}, True), ({"KERNEL_RELEASE": "v1-2-3-4"}, False),
    ({"FLENT_VERSION": "v1-2-3-4"}, False), ({"AQM": {"tools": {"tc": "v1-2-3-4"}}}, False),
    ({"AQM": {"flent_aqm": "v1-2-3-4"}}, False), ({"AQM": {"warnings": ["1.2.3.4"]}}, True),
    ({}, False)])
def test_last_check_leaves_out_versions(
        metadata: dict[str, Any], is_refused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no pattern had known the form of the address that it looks like."""
    monkeypatch.setattr(Secrets, "clean", lambda *args, **options: (args[1], ""))
    data = content("x.flent.gz")
    data.metadata.update(metadata)
    if is_refused:
        with pytest.raises(BadResult, match=r"^not shared: its copy would contain '1.2.3.4'"):
            strip(data)
    else:
        assert strip(data).whole["metadata"].items() >= metadata.items()


def test_last_check_tells_what_is_left_in_the_name_from_what_is_in_the_file(
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Secrets, "clean", lambda *args, **options: (args[1], ""))
    with pytest.raises(BadResult, match=r"would have in its name '1\.2\.3\.4'.*; rename the file$"):
        strip(content("to_1.2.3.4_x.flent.gz"))


@pytest.mark.parametrize(("count", "last"), [
    (39, "TITLE: address"), (40, "TITLE: address"), (41, "and 1 more"), (45, "and 5 more")])
def test_forty_removed_things_are_told(count: int, last: str) -> None:
    data = content("x.flent.gz")
    data.metadata.update({f"cross{number}": "x" for number in range(count - 1)})
    data.metadata["TITLE"] = "at 10.1.2.3"
    told = strip(data).removed
    assert len(told) == min(count, 41)
    assert told[-1] == last


def test_series_have_clean_names_in_results_and_samples() -> None:
    data = content("x.flent.gz", results={"TCP nas7x": [1], "TCP": [2]})
    data.raw_values["TCP nas7x"] = [{"t": 1}]
    stripped = strip(data)
    assert stripped.whole["results"] == {"TCP host": [1], "TCP": [2]}
    assert stripped.whole["raw_values"] == {"TCP host": [{"t": 1}]}
    assert stripped.removed == ["results.TCP host: host name in its name",
                                "raw_values.TCP host: host name in its name"]
    assert strip(content("x.flent.gz", results=[1])).whole["results"] == {}


@pytest.mark.parametrize(("taken", "free"), [
    ((), "a"), (("b",), "a"), (("a",), "a #2"), (("a", "a #2"), "a #3"), (("a", "a #3"), "a #2")])
def test_name_that_is_taken_gets_the_first_free_number(taken: tuple[str, ...], free: str) -> None:
    assert unused("a", dict.fromkeys(taken)) == free


@pytest.mark.parametrize(("word", "is_one", "is_nobodys"), [
    ("10.0.0.1", True, False), ("10.0.0", False, None), ("127.9.9.9", True, True),
    ("0.0.0.0", True, True), ("0.0.0.1", True, False), ("192.0.2.255", True, True),
    ("192.0.3.0", True, False), ("198.19.255.255", True, True), ("198.20.0.0", True, False),
    ("203.0.113.0", True, True), ("198.51.100.9", True, True), ("::1", True, True),
    ("::2", True, False), ("2001:db8:ffff::", True, True), ("2001:db9::", True, False)])
def test_address_reveals_nobody_within_its_networks(
        word: str, is_one: bool, is_nobodys: bool | None) -> None:
    assert is_address(word) is is_one
    if is_nobodys is not None:
        assert tells_of_nobody(word) is is_nobodys


@pytest.mark.parametrize(("taken", "clean"), [
    (0xfffe, "2001:db8::ffff"), (0xffff, "203.0.113.254")])
def test_stand_ins_of_ipv6_are_65535(taken: int, clean: str) -> None:
    """Then the last one serves, as for IPv4."""
    secrets = Secrets({})
    secrets._taken |= {f"2001:db8::{number:x}" for number in range(1, taken + 1)}
    assert secrets.clean("fe80::5") == (clean, "address")


def test_each_text_of_a_tree_is_given_once() -> None:
    assert sorted(texts({"a": ["b", {"c": "a"}, 1, None, ("d",)], "e": "b"})) == [
        "a", "b", "c", "e"]


def test_hosts_are_those_of_routers_and_parameters() -> None:
    """With a user, a port and a slash, or without."""
    requested = {"testbed": "ssh://nas7", "server_testbed": "ssh://a@nas8:1/"}
    assert list(host_names({"AQM": {"requested": requested}, "LOCAL_HOST": " x , y "})) == [
        "nas7", "nas8", "x", "y"]


@pytest.mark.parametrize(("metadata", "kept", "removed"), [
    # An empty value is left out without a word, whatever its kind. 0 and False are values.
    ({"NEW": []}, {}, {}), ({"NEW": {}}, {}, {}), ({"NEW": ""}, {}, {}), ({"NEW": None}, {}, {}),
    ({"NEW": [1]}, {}, {"NEW": "removed"}), ({"NEW": 5}, {}, {"NEW": "removed"}),
    ({"AQM": {"finkx": 1}}, {"AQM": {}}, {"AQM, a key": "removed"}),
    ({"HOSTS": ["nas7x", 7, "server"]}, {"HOSTS": ["host", "server"]}, {"HOSTS.0": "host name"}),
    ({"HOSTS": ["server", "nas7x"]}, {"HOSTS": ["server", "host"]}, {"HOSTS.1": "host name"}),
    ({"HOSTS": "server, nas7x"}, {"HOSTS": "server, host"}, {"HOSTS": "host name"}),
    ({"AQM": {"run": {"settings": {"TEST_PARAMETERS": {"cc": "cubic", "finkx": "1"}}}}},
     {"AQM": {"run": {"settings": {"TEST_PARAMETERS": {"cc": "cubic", "parameter": "removed"}}}}},
     {"AQM.run.settings.TEST_PARAMETERS, a key": "removed"}),
    ({"AQM": {"run": {"settings": {"TEST_PARAMETERS": {"cc": "cubic"}}}}},
     {"AQM": {"run": {"settings": {"TEST_PARAMETERS": {"cc": "cubic"}}}}}, {}),
    ({"AQM": {"requested": {"testbed": "virtual", "router_program": None}}},
     {"AQM": {"requested": {"testbed": "virtual", "router_program": None}}}, {}),
    ({"SERIES_META": {"TCP": {"ERROR": []}}}, {"SERIES_META": {"TCP": {}}}, {}),
    ({"SERIES_META": {"TCP": {"RUNNER": "PingRunner"}}},
     {"SERIES_META": {"TCP": {"RUNNER": "PingRunner"}}}, {}),
    ({"SERIES_META": {"TCP": {"RUNNER": "Ping Runner"}}},
     {"SERIES_META": {"TCP": {"RUNNER": "Ping Runner"}}}, {}),
    ({"SERIES_META": {"TCP": {"COMMAND": "/finkx/ping -n"}}},
     {"SERIES_META": {"TCP": {"COMMAND": "ping -n"}}}, {}),
    ({"SERIES_META": {"TCP": {"COMMAND": "ping"}}}, {"SERIES_META": {"TCP": {"COMMAND": "ping"}}},
     {}),
    ({"AQM": {"before": [["cake", "finkx"], 1]}}, {"AQM": {"before": [["cake"], 1]}},
     {"AQM.before.0.1": "removed"}),
    # A key has its secrets replaced, too.
    ({"AQM": {"before": {"10.0.0.1": 5}}}, {"AQM": {"before": {"203.0.113.1": 5}}},
     {"AQM.before, a key": "address"}),
    ({"FLENT_VERSION": "2.3.0"}, {"FLENT_VERSION": "2.3.0"}, {}),
    ({"FLENT_VERSION": "2.3-finkx"}, {"FLENT_VERSION": "2.3"}, {"FLENT_VERSION": "removed"}),
    ({"FLENT_VERSION": "finkx"}, {}, {"FLENT_VERSION": "removed"}),
    ({"FLENT_VERSION": "1.2.3.4"}, {}, {"FLENT_VERSION": "removed"}),
])
def test_metadata_are_kept_on_one_side_of_each_limit(
        metadata: dict[str, Any], kept: dict[str, Any], removed: dict[str, str]) -> None:
    assert allowed_metadata(metadata, Secrets({})) == (kept, removed)
