# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare whole answers of the cleaning with tests/golden/share: each cleaned text with the kinds
and the removed parts, and what is kept of each value of the metadata."""

from __future__ import annotations

import json
import pwd
from typing import Any

import pytest

from flent_aqm.results.share.allowed import GONE, NAMELESS, allowed_metadata, allowed_samples
from flent_aqm.results.share.batch_text import clean_batch
from flent_aqm.results.share.left_over import left_over
from flent_aqm.results.share.secrets import Secrets, host_names, users
from tests import files
from tests.files import assert_as_kept

from .test_allowed import SECRETS
from .test_batch_text import MINE
from .test_secrets import HARMLESS, TELLING

GOLDEN = files.GOLDEN / "share"
# Each branch's edge: the text beside it differs in one point and gets another answer.
EDGES = (
    "password = abc", "--password = abc", "token => abc", "secret : x y", "password == abc",
    "password==abc", "password :=abc", "a password was removed here", "token is abc",
    "ESSID: 12", "ESSID: 1234", "ESSID: removed", 'ESSID: ""', "SSID Fink", "SSID := x",
    "password=removed", "password=''", "password=ssh://root@router", "x password='a b' y",
    "--user s", "--user root", "--user removed", "--user anna", "user: the", "user: a",
    "imei: 356938035643809", "serial no. X12", "serial X12 of two", "call +49 30 1234567 now",
    "root%40server", "root%40nas7", "anna%40server",
    "root@nas7", "user@server", "ms@server", "nas7x@server", "cubic@nas7x", "anna7@fritz7",
    "Abcdefghijklmnop1234", "Abcdefghijklmnop123", "tcpUploadDownload1234",
    "192.168.001.007", "127.000.000.001", "192.168.999.007",
    "178.168.192.in-addr.arpa", "0.0.in-addr.arpa", "10.in-addr.arpa", "1.2.3.4.in-addr.arpa",
    "0xc0a8b217", "0x08080808", "0x8080808a", "0x0080808a", "0x80800000", "0x8080800a",
    "8080808a", "c0a80001", "0100a8c0", "0100007f", "00a8c0ab", "ffffffff", "12345678",
    "3232235521", "167772161", "4294967296", "2886729729", "2130706433", "4026531841",
    "0.0.0.1", "10.0.0.1: x", "10.0.0.1.", "fe80::1: up", "fe80::1", "1::", "a10-0-0-1",
    "10-0-0-1a", "10-0-0-1.b", "x.10-0-0-1", "7.10-0-0-1", "10-0-0-1", "127-0-0-1.nip.io",
    "x-300-1-1-1-y", "x_10_0_0_1_y", "--1.ipv6-literal.net", "2a02--1--2.ipv6-literal.net",
    "1.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa", "8.b.d.1.1.0.0.2.ip6.arpa",
    "52-54-00-ab-cd-ef", "525400abcdef", "0x525400abcdef", "000000000000", "52 54 00 ab cd ef",
    "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "http://root@server/", "http://root:x@server/",
    "http://anna@server/", "root@10.0.0.1", "anna@10.0.0.1", "/home/root/x", "/home/anna/x",
    "USER=root x", "~anna", "a ~bertha/x", "x bertha x", "/bertha/", "nas.example.org",
    "www.example.org:80", "x.tar.gz", "fq_codel.service.conf", "Größe 10.0.0.1",
    "uid=0(root) gid=0(root) groups=0(root),4(adm),27(sudo),1000(anna)",
    "Linux server 6.1", "ping: server: unknown host", "ssh -p 22 nas7x tc", "-H nas7x,other7x")
# What the last check finds or passes by, each beside its limit.
LAST_CHECK = (
    "1.2.3.4", "1.2.3.4.5", "x1.2.3.4", "v1.2.3.4.", "1.2.3.4.x", "1.2.3.4-5", "5-1.2.3.4",
    "1-2-3-4", "a1-2-3-4", "a-1-2-3-4", "ab-1-2-3-4", "-1-2-3-4", "1-2-3-4a", "1-2-3-4-a",
    "1-2-3-4-5", "1_2_3_4.b", "1-2.3-4", "1.2.3", "300.1.1.1", "127.0.0.1", "0-1-2-3-4",
    "5.1.2.3.4", "x 1.2.3.4 y", "1:2:3:4", "a:1.2.3.4:b",
    "1.2.3.4.5.6.7.8", "a.1.2.3.4", "a.1.2.3.4.b", "1-2-3-4.b-5", "a1-2-3-4-b5-6",
    "52:54:00:ab:cd:ef", "52-54-00-ab-cd-ef", "52_54_00_ab_cd_ef", "2:4:0:b:d:f", "2-4-0-b-d-f",
    "52-54-00-ab-cd", "52-54-00-ab-cd-ef-01", "525-54-00-ab-cd-ef", "52-54-00-ab-cd-eg",
    "00:00:00:00:00:00", "00:00:00:00:00:01", "[52:54:00:ab:cd:ef]", "%52:54:00:ab:cd:ef.",
    "enx525400abcdef", "ENX525400ABCDEF", "enx525400abcde", "enx525400abcdef0",
    "enx525400abcdeg", "enx000000000000", "xen525400abcdef",
    "fe80::1", "fe80::1:", "fe80::1.", "::1", "a:b", "::", "2001:db8::1", "12:34:56",
    "http://anna@h/", "http://root@h/", "http://root:x@h/", "http://:x@h/", "http://h/",
    "'http://anna@h/',", "http://[x/", "x http://anna@h", "anna@h",
    "/anna", "/anna/x", "anna/x", "x/anna", "~anna", r"x\anna", "/Anna; x", "/annas", "/ /",
    "/anna x", "(/'anna')", "/x/y/anna:")


@pytest.fixture(autouse=True)
def nobody_has_an_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of users of this machine would be removed, too."""
    monkeypatch.setattr(pwd, "getpwall", list)


def test_each_text_is_cleaned_as_kept() -> None:
    """The text, the kinds of what was replaced, and what was removed, so that the last check
    searches it. Harmless texts map to an empty list."""
    found = {}
    for text in (*SECRETS, *TELLING, *HARMLESS, *EDGES):
        secrets = Secrets({"ENVIRONMENT": {"USER": "bertha"}})
        clean, kinds = secrets.clean(text)
        found[text] = [clean, kinds, sorted(secrets.removed)] if kinds else []
        assert Secrets({}).clean(clean) == (clean, "")
        if not kinds:
            assert clean == text
    assert_as_kept(GOLDEN / "texts.json", found)


def test_the_metadatas_own_texts_are_cleaned_as_kept() -> None:
    """Hosts and users that are found in a text are removed from the text itself, in all forms."""
    found = {}
    for text in (*SECRETS, *EDGES):
        secrets = Secrets({"NOTE": text})
        clean, kinds = secrets.clean(text)
        found[text] = [clean, kinds] if kinds else []
    assert_as_kept(GOLDEN / "own_texts.json", found)


def test_last_check_finds_what_is_kept() -> None:
    """The first part of the text that reveals somebody, "" if there is none."""
    assert_as_kept(GOLDEN / "last_check.json", {
        text: left_over((), {"anna"}, [text]) for text in (*LAST_CHECK, *EDGES)})


@pytest.mark.parametrize(("text", "is_found"), [
    ("nas7", True), ("xnas7", False), ("nas7x", False), ("7nas7", False), ("-nas7-", True),
    ("a nas7", True), ("nas7 a", True), ("nas77 nas7", True), ("nas7nas7 ", False),
    ("xnas7 nas7", True), ("NAS7", True), ("nas", False), ("", False), ("(nas7x) xnas7", False)])
def test_removed_text_is_found_as_a_word(text: str, is_found: bool) -> None:
    """Not within a longer word. The second place in a text counts as the first."""
    assert left_over({"Nas7"}, (), [text]).lower() == ("nas7" if is_found else "")


# Values that each kind of metadata may have: good, at the edge, and bad.
VALUES: tuple[Any, ...] = (
    1, 1.5, True, None, "", "12", "-1.5e+10", "1 2", "x1y", "10.0.0.1", "192.0.2.1", "server",
    "nas7", "nas7, server", "5ms", "cake", "finkx", "a:1", "12345678 12345678 12345678 12345678",
    "6.1.0-18-amd64", "6.1-finkx", "0.2.0.dev3+g1a2b3c4d", "6.1.38-2+deb12u1",
    "5.10.0-el8_5.x86_64", "finkx-6.1", "v2", "1.2.3.4", "6.1 on 10.0.0.1",
    "0123456789abcdef", "0123456789abcde", "2026-01-31T12:00:00Z", "2026-01-31",
    "f47ac10b-58cc-4372-a567-0e02b2c3d479", "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    "eth0", "fritz0", "down", "virtual", "netns", "ssh://root@router", "ssh://root@nas7",
    "localhost", "user=finkx", "router, 10.0.0.1;nas7", [], ["server", "nas7", 7], {}, [1, "finkx"],
    {"drops": 1, "finkx": 2, "device": "fritz0"}, ["a", ["nas7"]],
    "/usr/bin/ping -n server", "/opt/finkx/ping -n", "/opt/10.0.0.1/ping -n", "ping -Z x",
    "ping nas7", "ping --user", "PingRunner", "FinkxRunner", "server_12_0123456789ABCDEF",
    "nas7_12_0123456789ABCDEF", "server_12_01234", "ndt7-client", "ndt7-client-rs 1")


def test_each_value_of_the_metadata_is_copied_as_kept() -> None:
    """For each key of the metadata: what stays and what is told -> the values of which that is
    so."""
    places: dict[str, tuple[str, ...]] = {name: (name,) for name in (
        "LENGTH", "TITLE", "HOST", "HOSTS", "TIME", "FLENT_VERSION", "KERNEL_NAME", "BATCH_UUID",
        "MODULE_VERSIONS", "TEST_PARAMETERS", "SERIES_META", "AQM", "DATA_FILENAME", "NEW")}
    for words in (
            "TEST_PARAMETERS ping_hosts", "TEST_PARAMETERS udp_password", "TEST_PARAMETERS cc",
            "TEST_PARAMETERS bind", "SERIES_META TCP RUNNER", "SERIES_META TCP COMMAND",
            "SERIES_META TCP ERROR", "SERIES_META TCP REMOTE_HOST", "SERIES_META nas7 UNITS",
            "SERIES_META TCP NDT7", "SERIES_META TCP NDT7 uuid", "SERIES_META TCP NDT7 client",
            "SERIES_META TCP NDT7 summary_of_client",
            "SERIES_META TCP NDT7 summary_of_client Download",
            "SERIES_META TCP NDT7 summary_of_client Download LatencyMs",
            "SERIES_META TCP NDT7 summary_of_client Upload finkx",
            "SERIES_META TCP NDT7 summary_of_client ServerIP",
            "AQM testbed", "AQM seed", "AQM requested", "AQM requested testbed",
            "AQM requested router_program", "AQM requested dev_up", "AQM requested aqm",
            "AQM run", "AQM run test", "AQM run settings", "AQM run settings HOSTS",
            "AQM run settings LOCAL_BIND", "AQM run settings TEST_PARAMETERS",
            "AQM run settings TEST_PARAMETERS token", "AQM run settings TEST_PARAMETERS cc",
            "AQM run settings TEST_PARAMETERS ping_hosts", "AQM kernel", "AQM kernel hash",
            "AQM kernel version", "AQM kernel name", "AQM tools tc", "AQM tools finkx",
            "AQM links down trace", "AQM links down file", "AQM before finkx", "AQM warnings",
            "AQM finished_at", "AQM finkx", "AQM samples_sha256"):
        places[words] = tuple(words.split())
    found: dict[str, dict[str, str]] = {}
    for words, place in places.items():
        for value in VALUES:
            metadata: Any = value
            for key in reversed(place):
                metadata = {key: metadata}
            kept, removed = allowed_metadata(metadata, Secrets({}))
            as_it_was = json.dumps(kept) == json.dumps(metadata) and not removed
            answer = "as it was" if as_it_was else json.dumps([kept, removed])
            values = found.setdefault(words, {})
            values[answer] = f"{values.get(answer, '')} {json.dumps(value)}".strip()
    assert_as_kept(GOLDEN / "metadata.json", found)


def test_name_of_a_private_parameter_stays_only_if_programs_write_it() -> None:
    """It may name a place, too."""
    parameters = {"udp_password": "x1", "wolfsburgkeller_password": "x2", "cc": "bbr"}
    kept, removed = allowed_metadata(
        {"AQM": {"run": {"settings": {"TEST_PARAMETERS": parameters}}}}, Secrets({}))
    assert kept["AQM"]["run"]["settings"]["TEST_PARAMETERS"] == {
        "udp_password": GONE, "cc": "bbr", NAMELESS: GONE}
    assert len(removed) == 2


def test_values_of_keys_that_become_the_same_are_all_kept() -> None:
    """One of the two was lost without a word."""
    keys = ("user alice@foo.example.org", "user bob@foo.example.org")
    secrets = Secrets({"NOTE": ", ".join(keys)})
    kept, _ = allowed_metadata({"AQM": {"before": dict(zip(keys, (1, 2), strict=True))}}, secrets)
    assert sorted(kept["AQM"]["before"].values()) == [1, 2]
    assert not {"alice", "bob"} & set(str(kept))


def test_samples_keep_their_numbers_and_words_of_programs() -> None:
    """A key that nobody's program writes gets a stand-in, and texts that don't are left out."""
    samples: list[dict[str, Any]] = [
        {"t": 1, "val": 2.5, "nas7": 3, "host": 4}, {"t": 2, "val": None, "nas7": "finkx"},
        {"t": 3, "val": "cake", "10.0.0.1": [1, "finkx"]}]
    assert allowed_samples(samples, "Ping", Secrets({})) == (
        [{"t": 1, "val": 2.5, "host #2": 3, "host": 4}, {"t": 2, "val": None},
         {"t": 3, "val": "cake", "203.0.113.1": [1]}], {
            "raw_values.Ping, a key": "name", "raw_values.Ping.host #2": "removed",
            "raw_values.Ping.203.0.113.1.1": "removed"})


def test_samples_of_numbers_are_not_copied() -> None:
    """They are many. True and None are numbers here, and texts aren't."""
    numbers: list[dict[str, Any]] = [{"t": 1, "val": 2.5}, {"t": True, "val": None}]
    kept, removed = allowed_samples(numbers, "Ping", Secrets({}))
    assert kept is numbers
    assert removed == {}
    texts: list[dict[str, Any]] = [{"t": 1, "val": "cake"}]
    kept, removed = allowed_samples(texts, "Ping", Secrets({}))
    assert kept == texts
    assert kept is not texts


@pytest.mark.parametrize(("metadata", "hosts"), [
    ({}, []), ({"AQM": 1, "HOSTS": 2, "HOST": 3, "TEST_PARAMETERS": 4}, []),
    ({"AQM": {"requested": 5}}, []),
    ({"AQM": {"requested": {"testbed": "ssh://root@nas7:22", "server_testbed": "ssh://nas8/"}}},
     ["nas7", "nas8"]),
    ({"AQM": {"requested": {"testbed": "ssh://root@2nd-router"}}}, ["2nd-router"]),
    ({"AQM": {"requested": {"testbed": "virtual", "server_testbed": "ssh://root@10.0.0.1"}}}, []),
    ({"HOST": "a", "HOSTS": ["b", 7, "c,d"], "LOCAL_HOST": "e f;g",
      "TEST_PARAMETERS": {"ping_hosts": "h,i", "HOST_2": "j", "cc": "k", "x_host": 7}},
     ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]),
])
def test_hosts_that_took_part_are_read_from_the_metadata(metadata: Any, hosts: list[str]) -> None:
    """From each key in which Flent and this package record them. Other forms are no hosts."""
    assert list(host_names(metadata)) == hosts


def test_at_most_a_hundred_users_are_searched_for() -> None:
    """The first ones in alphabetical order."""
    names = [f"anna{number:03}" for number in range(101)]
    assert users({"NOTE": " ".join(f"/home/{name}/" for name in names)}) == set(names[:100])
    assert users({"ENVIRONMENT": 7, "NOTE": "USER=carla /home/Root /home/Lab"}) == {"carla"}


def test_learnt_hosts_are_removed_from_texts_that_were_clean_before() -> None:
    """Up to 200 of them."""
    secrets = Secrets({})
    assert secrets.clean("x nas7 y") == ("x nas7 y", "")
    secrets.learn("nas7")
    assert secrets.clean("x nas7 y") == ("x host y", "host name")
    secrets = Secrets({"HOSTS": [f"fink{number}" for number in range(199)]})
    secrets.learn("nas7")
    secrets.learn("nas8")
    assert secrets.clean("x nas7 nas8 y")[0] == "x host nas8 y"


def test_series_keep_their_form_around_a_replaced_word() -> None:
    """Words of programs, blanks and punctuation stay. A word that was replaced is replaced in later
    texts, and by the same stand-in."""
    secrets = Secrets({})
    assert secrets.series_name("Ping  (ms) (nas7)::udp, [finkx]") == (
        "Ping  (ms) (host)::udp, [host2]")
    assert secrets.series_name("nas7") == "host"
    assert secrets.clean("on finkx") == ("on host2", "host name")
    assert secrets.series_name("TCP ()") == "TCP ()"
    assert secrets.removed == {"nas7", "finkx"}


def test_addresses_get_stand_ins_that_the_file_does_not_use() -> None:
    """The same for an address in each form. Addresses for documentation that the file has are
    not used again. When all are used, the last one serves."""
    secrets = Secrets({"NOTE": "203.0.113.1 203.0.113.3", "OTHER": "to 2001:DB8:0::2: refused"})
    assert [secrets.clean(f"at {text}")[0] for text in ("10.0.0.1", "10.0.0.2", "010.000.000.001",
                                                       "fe80::5", "fe80::6", "fe80:0::5")] == [
        "at 203.0.113.2", "at 203.0.113.4", "at 203.0.113.2", "at 2001:db8::1", "at 2001:db8::3",
        "at 2001:db8::1"]
    assert secrets.clean("run-10_0_0_1-10-0-0-2-110.0.0.1", apart=True) == (
        "run-203.0.113.2-203.0.113.4-203.0.113.5", "address")
    secrets = Secrets({})
    for number in range(254 * 3):
        secrets.clean(f"10.0.{number // 200}.{number % 200 + 1}")
    assert secrets.clean("10.1.1.1") == ("203.0.113.254", "address")


def test_form_of_an_address_is_found_in_a_file_name_though_it_was_harmless_in_text() -> None:
    """Numbers with dashes may be anything. In a name they are an address if the file has it."""
    secrets = Secrets({})
    assert secrets.clean("at 10.20.30.40") == ("at 203.0.113.1", "address")
    assert secrets.clean("10-20-30-40") == ("10-20-30-40", "")
    assert secrets.clean("10-20-30-40", apart=True) == ("203.0.113.1", "address")


def test_address_in_the_name_of_a_host_is_the_one_in_plain_form() -> None:
    assert Secrets({}).clean("ip-192-168-1-7.x ip-192-168-1-9.x 192.168.1.7")[0] == (
        "ip-203-0-113-1.x ip-203-0-113-2.x 203.0.113.1")


@pytest.mark.parametrize(("number", "clean"), [
    ("3232235777", "0000000000"), ("4294967295", "4294967295"), ("4294967296", "4294967296"),
    ("9999999999", "9999999999"), ("134744072", "134744072")])
def test_decimal_number_is_an_address_if_it_is_a_private_one(number: str, clean: str) -> None:
    """192.168.1.1 is; the largest address, 8.8.8.8 and what is larger than any address aren't."""
    assert Secrets({}).clean(f"n {number} x")[0] == f"n {clean} x"


def test_domain_of_one_word_does_not_tell_a_host() -> None:
    """Of nas.lan, not each "lan" is part; of nas.home.example, each name in home.example is."""
    secrets = Secrets({"HOST": "nas.lan"})
    assert secrets.clean("the lan is fast, nas.lan, nas")[0] == "the lan is fast, host, host"
    secrets = Secrets({"HOST": "nas.home.example"})
    assert "home" not in secrets.clean("at printer.home.example and nas.home.example")[0]


def test_stand_ins_are_not_among_the_removed_texts() -> None:
    """A host that is called as a stand-in would else be left in each file."""
    secrets = Secrets({})
    secrets.stand_in_for("nas7")
    secrets.stand_in_for("host")
    assert secrets.removed == {"nas7", "host"}
    assert secrets.gone == {"nas7"}


BATCH = """\

; a comment of one line
[Batch::mine]
note: nas7 at 10.0.0.1
testbed = virtual
testbed = ssh://anna@nas9
hosts = nas7, server;10.0.0.2 192.0.2.1
remote_metadata = nas8
  local_bind = nas6
data_dir = /home/anna/cake
data_path = ~/nas5
result_file = results/cake
trace_file = c:\\x\\fq_codel
trace_file = /x/${nas_4}cake/
output_path = /
password = abc
finkx_key = 7
exec = echo password = abc
rate_mbps = 10
"""


@pytest.mark.parametrize("text", [MINE, BATCH, "[Batch::b]\naqm = cake\n", "# one\n[a]\n",
                                  "# one\n# two\n\n[a]\n\n"])
def test_batch_is_cleaned_as_kept(text: str) -> None:
    """The whole text, and each line that is told."""
    cleaned = clean_batch("mine.batch", text)
    name = f"batch_{[MINE, BATCH].index(text)}.json" if text in (MINE, BATCH) else None
    if name:
        assert_as_kept(GOLDEN / name, {"text": cleaned.text.splitlines(),
                                       "changed": cleaned.changed})
    else:
        assert (cleaned.text, cleaned.changed) == {
            "[Batch::b]\naqm = cake\n": ("[Batch::b]\naqm = cake\n", []),
            "# one\n[a]\n": ("[a]\n", ["mine.batch: 1 line of comments removed"]),
            "# one\n# two\n\n[a]\n\n": ("[a]\n\n", ["mine.batch: 2 lines of comments removed"]),
        }[text]
