# SPDX-License-Identifier: GPL-3.0-or-later
"""Secrets of many kinds in every place of a data file: none of them is in the shared file."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.results.reading.for_flent import read_to_share
from flent_aqm.results.share.allowed import GONE, allowed_metadata
from flent_aqm.results.share.secrets import Secrets
from flent_aqm.results.share.strip import strip
from flent_aqm.results.share.vocabulary import is_common
from flent_aqm.router.shaping import IFB_DEVICE
from flent_aqm.sweep.replay import recorded
from tests import files
from tests.files import load, save

from .conftest import GOLDEN

# Text -> what of it must be gone. Names and secrets are invented.
ADDRESSES = {
    "IP 192.168.178.23.51234 > 81.2.69.142.443: Flags [S]": "192.168.178",
    "81.2.69.142.53": "81.2.69", "23.178.168.192.in-addr.arpa": "178.168",
    "p5b0a1c2d.dip0.t-ipconnect.de": "5b0a1c2d",
    "dslb-084-057-012-003.pools.vodafone-ip.de": "057-012", "192.168.178.023": "178.023",
    "0x17B2A8C0": "17B2A8C0", "c0a8b217": "c0a8b217", "3232281111": "3232281111",
    "17B2A8C0:01BB 8E450251:C350": "17B2A8C0",
    "000080FE00000000FF2B1A3C4DFEFF2B:0016": "000080FE",
    "fe800000000000003e22fbfffe1a2b4d 02 40 20 80 eth0": "fe8000000",
    "2a02:8071:1234:5600:3e22:fbff:fe1a:2b4d": "3e22:fbff", "2a02:8071::5.443": "8071",
    "fe80::3e22:fbff:fe1a:2b4d%wlan0": "fbff",
    "3c:22:fb:1a:2b:4d": "1a:2b", "3C-22-FB-1A-2B-4D": "1A-2B", "3c22.fb1a.2b4d": "fb1a",
    "3c22-fb1a-2b4d": "fb1a", "3c22fb-1a2b4d": "1a2b4d", "3c22fb:1a2b4d": "1a2b4d",
    "3c22fb1a2b4d": "fb1a2b", "3c.22.fb.1a.2b.4d": "fb.1a", "3c 22 fb 1a 2b 4d": "fb 1a",
    "0x3c22fb1a2b4d": "fb1a2b", "3c:22:fb:ff:fe:1a:2b:4d": "fe:1a", "3e22fbfffe1a2b4d": "fe1a2b",
    "3c22:fb1a:2b4d": "fb1a", "3C22FB1A2B4D": "FB1A2B",
}
CREDENTIALS = dict.fromkeys((
    "--password hunter2x9", "password=hunter2x9", "passwd: hunter2x9",
    "Authorization: Bearer hunter2x9", "sshpass -p hunter2x9 ssh x",
    "sshpass -phunter2x9", "netperf -Z hunter2x9 -H x", "--hmac=hunter2x9",
    "irtt client --hmac hunter2x9 x", "https://srv.fink.example/api?token=hunter2x9&x=1",
    "https://x/?sig=hunter2x9", "https://x/?code=hunter2x9", "X-Api-Key: hunter2x9",
    "https://x/?X-Amz-Signature=hunter2x9", "curl -u jonas:hunter2x9 http://x",
    "Cookie: sid=hunter2x9; a=b", "PGPASSWORD=hunter2x9", "API_KEY=hunter2x9",
    '{"password": "hunter2x9"}', "mysql -u root -phunter2x9", "token hunter2x9",
    "wpa_passphrase FinkNet hunter2x9", 'psk="hunter2x9"', "secret='hunter2 x9'"), "hunter2")
CREDENTIALS |= {
    "Authorization: Basic aHVudGVyMjpzZWNyZXQ=": "aHVudG",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcDEF123": "eyJhbG",
    "ghp_abcdefABCDEF0123456789abcdefABCDEF01": "ghp_abc",
    "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY": "wJalr",
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ jonas@nas7": "AAAAB3",
}
HOSTS = dict.fromkeys((
    "ping: nas7fink: Name or service not known", "curl: (6) Could not resolve host: nas7fink",
    "ssh: Could not resolve hostname nas7fink: Name or service not known",
    "ssh: connect to host nas7fink port 22: Connection refused", "connect to nas7fink failed",
    "Connection to nas7fink closed.", "nas7fink.local", "nas7fink: Host unreachable",
    "irtt: Error: lookup nas7fink on 192.168.1.1:53: no such host", "jonas@nas7fink",
    "ssh nas7fink tc qdisc", "64 bytes from nas7fink (192.168.1.5): icmp_seq=1",
    "From nas7fink icmp_seq=1 Destination Host Unreachable", "getaddrinfo(nas7fink) failed",
    "netperf -H nas7fink -t TCP", "Nmap scan report for nas7fink", r"\\nas7fink\share",
    "HOSTNAME=nas7fink", "Linux nas7fink 6.1.0-18-amd64 #1 SMP"), "nas7fink")
HOSTS |= {"gw7.finkhome.example.org": "finkhome", "fritz7.box": "fritz7",
          "SSID: FinkNet": "FinkNet",
          'ESSID:"Fink Net"': "Fink Net", "http://x.finkhome.example/": "finkhome"}
PEOPLE = dict.fromkeys((
    "jonasfink@nas7", "ssh -l jonasfink nas7", "/home/jonasfink/x", r"C:\Users\jonasfink\x",
    "uid=1000(jonasfink) gid=1000(jonasfink) groups=1000(jonasfink),27(sudo)",
    "%2Fhome%2Fjonasfink%2Fx", "file:///home/jonasfink/x", r"\/home\/jonasfink\/x",
    r"\x2fhome\x2fjonasfink", "home-jonasfink-x.mount", "jonasfink%40finkhome.example",
    "/Users/jonasfink", "sudo -u jonasfink x", "user=jonasfink", "--user jonasfink",
    "Owner: jonasfink", "drwxr-xr-x 2 jonasfink users", "jonasfink ALL=(ALL)"), "jonasfink")
SECRETS = {**ADDRESSES, **CREDENTIALS, **HOSTS, **PEOPLE}
PING = "Ping (ms) ICMP"


def _everywhere(whole: Any, text: str) -> None:
    """Put a text into each place that isn't the user's own words."""
    metadata = whole["metadata"]
    series, aqm = metadata["SERIES_META"], metadata["AQM"]
    whole["extra"], whole[text] = text, 1
    metadata |= {"KERNEL_RELEASE": text, "KERNEL_NAME": text, "FLENT_VERSION": text, "NEW": [text],
                 text: text, "MODULE_VERSIONS": {"cake": text}, "HTTP_GETTER_DNS": text,
                 "REMOTE_METADATA": {text: {"KERNEL_NAME": text}}, "LOCAL_BIND": text,
                 "TEST_PARAMETERS": {"ping_hosts": text, "udp_bandwidth": text, text: "1"}}
    metadata["SYSCTLS"] |= {"net.ipv4.tcp_ecn": text, text: 1}
    aqm |= {"warnings": [text, f"gso on {text}: up to 64 KB"], text: text, "finished_at": text,
            "tools": {"tc": text, text: "1.0"}, "flent_aqm": text, "flent_aqm_hash": text,
            "kernel": {"version": text, "hash": text, "name": text}, "router": {"model": text},
            "links": {"down": {"trace": text, "sha256": text, text: 1}},
            "run": {"test": text, "commands": text,
                    "settings": {"HOSTS": [text], "LOCAL_BIND": text, text: text}}}
    aqm["requested"] |= {"router_program": text, "kernel": text, "dev_up": text, text: 1,
                         "link_up_trace": text, "topology": text, "testbed": f"ssh://root@{text}"}
    for moment in ("before", "after"):
        aqm[moment]["router"]["down"] |= {"device": text, "hardware": text, text: text}
        aqm[moment]["router"] |= {"tc": text, "kernel": text, "psched": text}
        aqm[moment]["applied"]["down"] |= {"qdisc": text, "filters": [text]}
        aqm[moment]["counters"]["down"]["qdisc"] |= {text: 1, "drops": text}
    series[PING] |= {"COMMAND": f"/usr/bin/ping {text}", "ERROR": [text], "UNITS": "ms",
                     "RUNNER": text, text: text, "NEW": {text: text}, "REMOTE_HOST": text,
                     "NDT7": {"uuid": text, "summary_of_client": {"ServerFQDN": text}}}
    name = f"Ping (ms) {text}"
    for part in (whole["raw_values"], whole["results"], series):
        part[name] = copy.deepcopy(part[PING])
    whole["raw_values"][PING] = [{**one, "from": text, text: 1.0, "more": {text: [text]}}
                                 for one in whole["raw_values"][PING]]


def _told(place: str) -> Callable[[Any, str], None]:
    """Put a text among the user's own words."""
    def change(whole: Any, text: str) -> None:
        whole["metadata"][place] = text if place != "NOTE" else f"it was {text}"

    return change


PLACES: dict[str, Callable[[Any, str], None]] = {
    "everywhere": _everywhere,
    **{place: _told(place) for place in ("TITLE", "NOTE", "BATCH_NAME", "BATCH_TITLE", "HOST",
                                         "LOCAL_HOST")}}
# Without the sentence's begin and end these can't be told from words.
NOT_IN_A_SENTENCE = {"jonasfink ALL=(ALL)", "drwxr-xr-x 2 jonasfink users"}


@pytest.fixture(scope="module")
def golden_run() -> Any:
    """The content of a data file. Not to be changed."""
    return load(GOLDEN / "stock_ping.flent.gz")


@pytest.mark.parametrize("place", PLACES)
def test_no_secret_is_in_a_shared_file(place: str, golden_run: Any, tmp_path: Path) -> None:
    """What is not on the list of allowed keys and forms is left out, whatever it is."""
    left, refused = [], []
    for text, part in SECRETS.items():
        if place == "NOTE" and text in NOT_IN_A_SENTENCE:
            continue
        whole = copy.deepcopy(golden_run)
        PLACES[place](whole, text)
        file = tmp_path / "run.flent.gz"
        save(file, whole)
        try:
            stripped = strip(read_to_share(file))
        except BadResult as fault:
            refused.append(f"{text}: {fault}")
            continue
        shared = json.dumps(stripped.whole).lower().replace("\\\\", "\\")
        if part.lower() in shared:
            left.append(text)
        assert stripped.removed
    assert left == []
    # A file that can't be cleaned isn't shared; that is for what nobody foresaw.
    assert len(refused) <= len(SECRETS) // 10, refused


def test_shared_file_keeps_what_was_measured(golden_run: Any, tmp_path: Path) -> None:
    """With a secret in every place, samples, results, numbers and settings of words stay."""
    whole = copy.deepcopy(golden_run)
    _everywhere(whole, "nas7.fink.example")
    file = tmp_path / "run.flent.gz"
    save(file, whole)
    shared = strip(read_to_share(file)).whole
    for key in ("t", "val"):
        assert [one.get(key) for one in shared["raw_values"][PING]] == [
            one.get(key) for one in golden_run["raw_values"][PING]]
    assert shared["results"][PING] == golden_run["results"][PING]
    was, now = golden_run["metadata"], shared["metadata"]
    for key in ("LENGTH", "TOTAL_LENGTH", "STEP_SIZE", "TITLE", "TIME"):
        assert now[key] == was[key]
    assert now["AQM"]["requested"]["aqm"] == was["AQM"]["requested"]["aqm"]
    assert now["AQM"]["after"]["applied"]["up"] == was["AQM"]["after"]["applied"]["up"]
    assert now["SERIES_META"][PING]["MEAN_VALUE"] == was["SERIES_META"][PING]["MEAN_VALUE"]
    # A setting that decides the run is not missing, so that no other run is made again.
    assert now["AQM"]["requested"]["router_program"]
    # The same host has the same name in a series and in the parameter that requests it.
    assert f"Ping (ms) {now['TEST_PARAMETERS']['ping_hosts']}" in shared["raw_values"]


@pytest.mark.parametrize("word", [
    "nas7", "jonas", "hunter2", "fritz", "kitchen", "gw7", "Ünal", "1xjo", "7fink"])
def test_names_that_people_give_are_no_words_of_programs(word: str) -> None:
    assert not is_common(word)


@pytest.mark.parametrize("text", [
    "Ping (ms) UDP irtt", "TCP upload::1", "UDP upload 1xudp8@1-3", "TCP download BE",
    "1xbbr+2xlp", "TCP upload 1xbbr",
    "fq_codel", "5ms", "drop_overlimit", "gemodel 1% 10%", "Mbits/s", "tcp_congestion_control",
    "gso, gro on eth0: up to 64 KB count as one packet in the queue"])
def test_words_of_programs_are_common(text: str) -> None:
    assert is_common(text)


@pytest.mark.parametrize(("device", "shared"), [
    ("down", "down"), ("eth0.2", "eth0.2"), (IFB_DEVICE, IFB_DEVICE), ("fritz0", "device")])
def test_device_keeps_its_name_unless_somebody_invented_it(
        device: str, shared: str, golden_run: Any, tmp_path: Path) -> None:
    """The device that `ingress = ifb` adds is in every such run."""
    whole = copy.deepcopy(golden_run)
    whole["metadata"]["AQM"]["after"]["router"]["down"]["device"] = device
    save(tmp_path / "run.flent.gz", whole)
    stripped = strip(read_to_share(tmp_path / "run.flent.gz"))
    assert stripped.whole["metadata"]["AQM"]["after"]["router"]["down"]["device"] == shared


def test_names_of_every_queues_counters_are_common() -> None:
    """In all versions of tc: a run whose counters lost one would not be the run repeated."""
    outputs = [path for folder in ("json", "versions")
               for path in (files.GOLDEN / "tc" / folder).glob("*.txt")]
    keys = {key for path in outputs for key in re.findall(r'"([A-Za-z0-9_-]+)":', path.read_text())}
    assert {"max_pkt_len", "ecn_mark"} <= keys
    assert sorted(key for key in keys if not is_common(key)) == []


def test_what_is_left_out_is_told_unless_it_was_empty() -> None:
    """By its key if that is a word of Flent's, else without it."""
    metadata: dict[str, Any] = {
        "EGRESS_INFO": {"iface": "eth0"}, "GATEWAYS": [], "WIFI_DATA": None, "LENGTH": 10,
        "nas7fink": "x"}
    assert allowed_metadata(metadata, Secrets(metadata)) == (
        {"LENGTH": 10}, {"EGRESS_INFO": "removed", "metadata, a key": "removed"})


@pytest.fixture(scope="module")
def repeatable() -> Any:
    """The content of a data file of aqm_flows whose run can be repeated, made of two: one with
    results, one that records its run. Not to be changed."""
    return {**load(files.RUNS / "aqm_flows.flent.gz"),
            "metadata": load(files.GOLDEN / "papers" / "scherrer2022.flent.gz")["metadata"]}


REQUESTED: tuple[str, ...] = ("AQM", "requested")
PARAMETERS: tuple[str, ...] = ("AQM", "run", "settings", "TEST_PARAMETERS")


@pytest.mark.parametrize(("place", "key", "value"), [
    # A name of this machine, whose stand-in "host" would be another kernel's name.
    (REQUESTED, "kernel", "nas7fink"),
    (REQUESTED, "kernel", "fix.fink.example"),
    (REQUESTED, "aqm_options", "limit 10 seed 192.168.178.23"),
    (REQUESTED, "router_program", "/home/jonasfink/aqm"),
    # A congestion control of one's own: without the parameter, another one would send.
    (PARAMETERS, "flows", "4xfinkcc+4xcubic"),
    (PARAMETERS, "cc", "nas7.example"),
    (("AQM", "run", "settings"), "LOCAL_BIND", "192.168.178.23"),
])
def test_replay_refuses_a_shared_file_without_a_value_that_determines_the_run(
        place: tuple[str, ...], key: str, value: str, repeatable: Any, tmp_path: Path) -> None:
    """An altered or missing value would request another run. It is the value's removal that
    `replay` names, and the place is among what was removed."""
    whole = copy.deepcopy(repeatable)
    whole["metadata"]["LOCAL_HOST"] = "nas7fink"
    values = whole["metadata"]
    for part in place:
        values = values[part]
    values[key] = value
    save(tmp_path / "run.flent.gz", whole)
    stripped = strip(read_to_share(tmp_path / "run.flent.gz"))
    values = stripped.whole["metadata"]
    for part in place:
        values = values[part]
    assert values[key] == GONE
    where = ".".join((*place, key))
    assert f"{where}: removed" in stripped.removed
    save(tmp_path / "shared.flent.gz", stripped.whole)
    with pytest.raises(BadResult, match=rf"{where} was removed when the file was shared"):
        recorded.read(tmp_path / "shared.flent.gz", tmp_path, run_programs=True)


def test_replay_refuses_a_shared_file_without_a_parameter_whose_name_tells_of_somebody(
        repeatable: Any, tmp_path: Path) -> None:
    """Its name can't stand in the file, but that it was there can."""
    whole = copy.deepcopy(repeatable)
    whole["metadata"]["AQM"]["run"]["settings"]["TEST_PARAMETERS"]["jonasfink"] = "1"
    save(tmp_path / "run.flent.gz", whole)
    stripped = strip(read_to_share(tmp_path / "run.flent.gz"))
    assert "jonasfink" not in json.dumps(stripped.whole)
    save(tmp_path / "shared.flent.gz", stripped.whole)
    with pytest.raises(BadResult, match=rf"{'.'.join(PARAMETERS)}.parameter was removed when the"):
        recorded.read(tmp_path / "shared.flent.gz", tmp_path)


def test_replay_accepts_a_shared_file_whose_values_are_words_of_programs(
        repeatable: Any, tmp_path: Path) -> None:
    """They are the same before and after."""
    file, shared = tmp_path / "run.flent.gz", tmp_path / "shared.flent.gz"
    save(file, repeatable)
    save(shared, strip(read_to_share(file)).whole)
    was, now = (recorded.read(path, tmp_path).cell for path in (file, shared))
    assert now.scenario == was.scenario
    assert now.settings == was.settings == {
        "HOSTS": ["server"], "TEST_PARAMETERS": {"cross_traffic": "0", "flows": "2xbbr"}}


def test_forty_removed_things_are_told_and_others_counted(
        golden_run: Any, tmp_path: Path) -> None:
    """Each by its place."""
    def told(count: int) -> list[str]:
        whole = copy.deepcopy(golden_run)
        whole["metadata"] |= {f"cross{number}": "x" for number in range(count)}
        file = tmp_path / "run.flent.gz"
        save(file, whole)
        return strip(read_to_share(file)).removed

    always = len(told(0))
    lines = told(40 - always)
    assert len(lines) == 40
    assert "more" not in lines[-1]
    assert told(41 - always)[40:] == ["and 1 more"]
    assert told(45 - always)[40:] == ["and 5 more"]
