# SPDX-License-Identifier: GPL-3.0-or-later
"""Forms of addresses, cards and users: each is replaced, and seen by the last look if it isn't."""

from __future__ import annotations

import ipaddress
import pwd
import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.results.share.left_over import left_over
from flent_aqm.results.share.secrets import MOST_HOSTS, Secrets, users
from flent_aqm.results.share.vocabulary import is_common

# Text -> what of it must be gone.
TELLING = {
    "net 2a02:8071:1::, and more": "2a02:8071:1", "2a02:8071:1::/48": "2a02:8071:1",
    "at fe80::12": "fe80::12", "[2a02:1::5]:80": "2a02:1::5", "2a02:1::5%eth0/64": "2a02:1::5",
    "::ffff:10.1.2.3": "10.1.2.3", "dev enx525400abcdef up": "525400abcdef",
    "wlx00c0ca123456": "00c0ca123456", "mac 525400ABCDEF": "525400ABCDEF",
    "52_54_00_ab_cd_ef": "ab_cd", "0:1b:63:84:45:e6": "84:45", "5254.00ab.cdef": "00ab",
    "00c0ca123456.pcap": "00c0ca123456",
    "6ba7b810-9dad-11d1-80b4-00c04fd430c8": "00c04fd430c8",
    "http://anna:hunter2@srv.example/x": "hunter2", "ftp://anna@srv.example": "anna",
    "https://srv.example/?user=anna&token=hunter2": "hunter2",
    "anna@10.1.2.3:/tmp": "anna", "mail anna.b@example.org": "anna",
    "ip-10-1-2-3.eu-west.internal": "10-1-2-3", "dsl84-12-33-7.provider": "84-12-33-7",
    "10-1-2-3.nip.io": "10-1-2-3", "84_12_33_7.provider.example": "84_12_33_7",
    "fe80--1234s4.ipv6-literal.net": "fe80--1234", "2a02-1--5.ipv6-literal.net": "2a02-1--5",
    "5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1.0.0.0.2.0.a.2.ip6.arpa": "2.0.a.2",
    "/export/home/anna/x": "anna", "/var/mail/anna": "anna", "/data/users/anna/run": "anna",
    "~anna/bin": "anna", r"C:\Users\anna\x": "anna", "/media/anna/disk": "anna",
    "USER=anna flent": "anna", "/nfs/homes/anna": "anna", "/srv/work/bertha/flent": "bertha",
    "/scratch/bertha": "bertha", r"\\srv\share\bertha\x": "bertha",
}
HARMLESS = (
    "TCP download::1", "Capture::download", "std::vector", "Ping (ms)::1", "12:34:56.789",
    "2026-01-31T12:00:00", "202601311200", "UDP upload 1xudp8@20-40", "link_outages 10-12, 30-30.5",
    "10-20-30-40", "rates 10-20-30-40 Mbit/s", "7.3.4-1", "a3f2c1d4e5b6a7c8",
    "f47ac10b-58cc-4372-a567-0e02b2c3d479", "ssh://root@router", "00:00:00:00:00:00",
    "http://server:8080/x", "/home/user/x", "1.2.3.4.5", "quick-2026-11-21T083614",
    "192.0.2.7", "2001:db8::7", "::", "127.0.0.1", "gemodel 1% 10%", "git@github",
    # 192.0.0.0, which no host has, and the number of bytes 0xc0 in the other byte order
    "crc 000000c0", "c00000c0", "3221225472",
)


def _secrets() -> Secrets:
    return Secrets({"ENVIRONMENT": {"USER": "bertha"}})


@pytest.mark.parametrize("text", TELLING)
def test_what_tells_of_somebody_is_replaced_and_seen_if_it_is_not(text: str) -> None:
    """Nothing that a host or a person is known by is left; cleaned again, it stays as it is."""
    secrets = _secrets()
    clean, kinds = secrets.clean(text)
    assert TELLING[text].lower() not in clean.lower()
    assert kinds
    assert left_over(secrets.gone, secrets.users, [clean]) == ""
    again = _secrets()
    assert again.clean(clean) == (clean, "")


@pytest.mark.parametrize("text", HARMLESS)
def test_what_tells_of_nobody_stays(text: str) -> None:
    """Names of series, times, versions, settings, and what stands for somebody already."""
    secrets = _secrets()
    assert secrets.clean(text) == (text, "")
    assert left_over(secrets.gone, secrets.users, [text]) == ""


# What the last look finds by itself, where nothing was replaced.
SEEN = [text for text in TELLING if not text.startswith((
    "/", "~", "C:", "USER=", "mac ", "anna@", "mail ", "https:", "5.0.", "6ba7", "5254.", "00c0",
    "fe80--", "2a02-"))]


@pytest.mark.parametrize("text", [*SEEN, "/srv/work/bertha/flent", r"\\srv\share\bertha\x"])
def test_last_look_finds_by_itself_what_was_missed(text: str) -> None:
    """As if no pattern had known the form."""
    assert left_over((), _secrets().users, {"key": [text]}) != ""


def _ipv4(chance: random.Random) -> str:
    return ".".join(str(chance.randrange(1, 127)) for _ in range(4))


def _ipv6(chance: random.Random) -> str:
    address = ipaddress.IPv6Address(chance.choice((0x2a02, 0xfd00, 0xfe80)) << 112
                                    | chance.getrandbits(chance.choice((16, 48, 64, 100))))
    if chance.random() < 0.3:
        address = ipaddress.IPv6Address(int(address) >> 64 << 64)
    return chance.choice((str(address), address.exploded, str(address).upper(),
                          f"{address}/{chance.randrange(8, 128)}"))


def _mac(chance: random.Random) -> str:
    digits = f"{chance.getrandbits(40):010x}"
    six = ["02", *(digits[place:place + 2] for place in range(0, 10, 2))]
    return chance.choice((":".join(six), "-".join(six), "enx" + "".join(six),
                          "_".join(six).upper()))


def _url(chance: random.Random) -> str:
    return f"http://u{chance.getrandbits(30):x}:p{chance.getrandbits(30):x}@server/"


def _dashed(chance: random.Random) -> str:
    return f"dsl-{_ipv4(chance).replace('.', chance.choice('-_'))}.example"


MAKERS: tuple[Callable[[random.Random], str], ...] = (_ipv4, _ipv6, _mac, _url, _dashed)
AROUND = ("{}", "at {}, then", "[{}]", "({})", "'{}'", "{}; x", "a={}", "{} {}", "<{}>", "{}|x",
          "x/{}/y", "{}\tq", "\"{}\"", "host {}", "-H {}")


@pytest.mark.parametrize("maker", MAKERS)
def test_random_ones_are_replaced_and_both_looks_agree(maker: Any) -> None:
    """In many surroundings: the last look sees each before it is replaced, and none after."""
    chance = random.Random(1)
    for _ in range(400):
        one = maker(chance)
        text = chance.choice(AROUND).replace("{}", one)
        assert left_over((), (), [text]) != "", text
        secrets = Secrets({})
        clean, _kinds = secrets.clean(text)
        assert one.lower() not in clean.lower(), (text, clean)
        assert left_over(secrets.gone, (), [clean]) == "", (text, clean)


def test_uuid_without_an_address_of_a_card_reveals_nothing() -> None:
    """Zeros that were there, or replaced an address before, are not searched for as removed."""
    secrets = Secrets({})
    text = "run 6ba7b810-9dad-11d1-80b4-000000000000 of 525400abcdef"
    clean, _kinds = secrets.clean(text)
    assert clean == "run 6ba7b810-9dad-11d1-80b4-000000000000 of 000000000000"
    assert left_over(secrets.gone, secrets.users, [clean]) == ""


def test_each_host_has_a_stand_in_of_its_own() -> None:
    """However it is written, always the same one."""
    secrets = _secrets()
    names = ["nas.example", "NAS.example.", "nas-example", "other", "third", "other"]
    assert [secrets.stand_in_for(name) for name in names] == [
        "host", "host", "host", "host2", "host3", "host2"]
    assert [secrets.is_stand_in(text) for text in ("host", "host3", "host4")] == [
        True, True, False]


def test_file_may_name_200_hosts() -> None:
    """Each is searched for in every text."""
    hosts = [f"nas{number}fink" for number in range(MOST_HOSTS)]
    clean, _kinds = Secrets({"HOSTS": hosts}).clean("from nas199fink")
    assert "nas" not in clean
    with pytest.raises(BadResult, match="names 201 hosts; expected 200 at most"):
        Secrets({"HOSTS": [*hosts, "nas200fink"]})


def test_users_are_those_of_the_file_and_the_people_of_this_machine(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """From number 1000 on, as Debian gives them. A letter or a very long word is no name."""
    monkeypatch.setattr(pwd, "getpwall", lambda: [
        SimpleNamespace(pw_name=name, pw_uid=number, pw_dir=f"/home/{name}-dir")
        for name, number in (("daemon-x", 999), ("anna", 1000), ("bert", 1001))])
    longest = "x" * 64
    environment = {"USER": "ab", "LOGNAME": "c", "HOME": f"/home/{longest}/",
                   "SUDO_USER": "y" * 65}
    assert users({"ENVIRONMENT": environment}) == {
        "ab", longest, "anna", "anna-dir", "bert", "bert-dir"}
    assert users({"ENVIRONMENT": {"USER": "root"}, "NOTE": "/home/carla/x"}) == {
        "carla", "anna", "anna-dir", "bert", "bert-dir"}


@pytest.mark.parametrize(("word", "is_usual"), [
    ("123456789", True), ("1234567890", False), ("0000000000", True), ("5ms", True),
    ("5xyz", False), ("2xcubic", True), ("1xudp8", True), ("2xanna", False), ("eth0", True),
    ("eth12345", False), ("0x1a2b", True), ("0x1a2b3", False), ("x", True), ("xq", False),
    ("Größe", False), ("", True), ("TCP download::1", True), ("TCP anna::1", False)])
def test_words_are_usual_if_programs_write_them(word: str, is_usual: bool) -> None:
    """Numbers of up to nine digits, units, flows, and numbered devices are."""
    assert is_common(word) is is_usual


def test_more_addresses_than_documentation_has_share_the_last_one() -> None:
    """Three networks of 254; those that the file itself has are not taken."""
    secrets = Secrets({"NOTE": "server 203.0.113.1"})
    texts = [secrets.clean(f"10.0.{number // 200}.{number % 200 + 1}")[0] for number in range(800)]
    free = [f"203.0.113.{host}" for host in range(2, 255)]
    free += [f"{network}.{host}" for network in ("198.51.100", "192.0.2")
             for host in range(1, 255)]
    assert texts == [*free, *["203.0.113.254"] * (800 - len(free))]
    assert secrets.clean("10.0.0.1") == ("203.0.113.2", "address")


@pytest.mark.parametrize(("hosts", "is_learnt"), [
    (MOST_HOSTS - 1, True), (MOST_HOSTS, False)])
def test_host_is_learnt_up_to_the_most_of_a_file(hosts: int, is_learnt: bool) -> None:
    """A text that was harmless before is cleaned, too."""
    secrets = Secrets({"HOSTS": [f"nas{number}fink" for number in range(hosts)]})
    assert secrets.clean("from specht9") == ("from specht9", "")
    secrets.learn("specht9")
    assert (secrets.clean("from specht9")[1] == "host name") is is_learnt


@pytest.mark.parametrize("name", ["10.1.2.3", "x y", "server", "7", "", "x" * 252])
def test_what_is_no_name_of_a_host_is_not_learnt(name: str) -> None:
    secrets = Secrets({})
    secrets.learn(name)
    assert secrets._names == []


def test_users_of_a_file_are_a_hundred_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first in the order of letters."""
    monkeypatch.setattr(pwd, "getpwall", list)
    names = [f"user{number:03}x" for number in range(101)]
    found = users({"NOTE": " ".join(f"/home/{name}/x" for name in names)})
    assert found == set(names[:100])


@pytest.mark.parametrize(("text", "clean"), [
    # A user before a host, and other hosts of its domain.
    ("anna@nas7fink", "user@host"), ("nas7fink.haus.example", "host"),
    ("drucker.haus.example nas7fink drucker.haus.example", "host2 host host2"),
    ("nas7fink-haus-example", "host"), ("nas7fink_x", "host_x"), ("xnas7fink", "xnas7fink")])
def test_host_has_one_stand_in_in_all_of_its_forms(text: str, clean: str) -> None:
    """Of a file that names nas7fink.haus.example."""
    secrets = Secrets({"HOST": "nas7fink.haus.example"})
    secrets.clean("nas7fink")
    assert secrets.clean(text)[0] == clean


@pytest.mark.parametrize(("name", "clean"), [
    ("Ping (ms) (nas7fink)", "Ping (ms) (host)"), ("TCP nas7fink::1", "TCP host::1"),
    ("nas7fink,", "host,"), ("Ping ()", "Ping ()"), ("[specht9];", "[host];")])
def test_word_of_a_series_is_replaced_within_its_punctuation(name: str, clean: str) -> None:
    """And is known in later texts."""
    secrets = Secrets({})
    assert secrets.series_name(name) == clean
    for word in ("nas7fink", "specht9"):
        if word in name:
            assert secrets.clean(f"from {word} on") == ("from host on", "host name")


@pytest.mark.parametrize(("name", "clean"), [
    ("batch-2026-11-28T1730-ndt7-codel-jroe-pc_example_org-01",
     "batch-2026-11-28T1730-ndt7-codel-host-01"),
    ("nas7fink_home_lan", "host"), ("rrul_be-no_aqm-01", "rrul_be-no_aqm-01"),
    ("first_second_third", "first_second_third")])
def test_domains_in_a_files_name_have_no_dots(name: str, clean: str) -> None:
    """Flent puts _ in place of them."""
    assert Secrets({}).clean(name, apart=True)[0] == clean


def test_addresses_in_a_files_name_have_any_separator() -> None:
    """If they were replaced before, and are not part of a longer number."""
    secrets = Secrets({})
    assert secrets.clean("10.1.2.3")[0] == "203.0.113.1"
    for name, clean in (("10.1.2.3", "203.0.113.1"), ("10:1:2:3", "203.0.113.1"),
                        ("10_1_2_3", "203_0_113_1"), ("10-1-2-3", "203-0-113-1")):
        assert secrets.clean(f"run-{name}x", apart=True)[0] == f"run-{clean}x"
    assert secrets.clean("run-110-1-2-3-4", apart=True)[0] == "run-110-1-2-3-4"
