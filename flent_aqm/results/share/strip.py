# SPDX-License-Identifier: GPL-3.0-or-later
"""A data file's content without names of hosts and people and without addresses, and under
the name of a test that every Flent has."""

from __future__ import annotations

import copy
import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from flent_aqm.asked.flent_settings import LAB_HOSTS
from flent_aqm.results.data_file import SHARED_TEST, DataFile

# Our test -> Flent's with the same names of series.
STORED_AS: Mapping[str, str] = {
    "ndt7": "tcp_bidirectional", "ndt7_download": "tcp_download", "ndt7_upload": "tcp_upload",
    "iperf3_bidirectional": "tcp_bidirectional", "iperf3_download": "tcp_download",
    "iperf3_upload": "tcp_upload"}
# Whole entries of Flent's metadata that tell of a machine and its network.
REMOVED = ("EGRESS_INFO", "INGRESS_INFO", "GATEWAYS", "IP_ADDRS", "WIFI_DATA", "WIFI",
           "REMOTE_METADATA", "ENVIRONMENT", "LOCAL_BIND")
# In the object AQM. Made by programs: what looks like an address there is a version.
KEPT = ("tools", "kernel", "schema", "flent_aqm")
# What replay makes a run of the lab from; host names and addresses in it are the lab's.
KEPT_OF_THE_LAB = ("run", "requested")

_SSH = re.compile(r"\bssh://(?!root@router\b)[^\s'\",;]+")
_SSH_HOST = re.compile(r"ssh://(?:[^@/]*@)?([A-Za-z][\w.-]*)(?::\d+)?/?")
_MAC = re.compile(r"\b[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}\b")
_ADDRESS = re.compile(r"(?<![\w:.])[0-9A-Fa-f:.]{3,45}(?![\w:])")
_HOME = re.compile(r"(/home/|/Users/)[^/\s:'\"]+")
_DOCUMENTATION = [ipaddress.ip_network(text) for text in (
    "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32")]


def strip(data: DataFile) -> tuple[dict[str, Any], list[str]]:
    """The content to share, and in a line each what was taken out of it or changed."""
    whole = copy.deepcopy(data.whole)
    metadata = whole["metadata"]
    removed = []
    for key in REMOVED:
        if metadata.pop(key, None):
            removed.append(f"{key}: removed")
    names = sorted({name for name in _host_names(metadata) if name not in LAB_HOSTS},
                   key=len, reverse=True)
    changed: dict[str, str] = {}
    aqm = metadata.get("AQM")
    in_lab = isinstance(aqm, dict) and aqm.get("testbed") == "virtual"
    _walk(metadata, (), names, KEPT + KEPT_OF_THE_LAB if in_lab else KEPT, changed)
    removed += [f"{place}: {what}" for place, what in changed.items()]
    stored_as = STORED_AS.get(str(metadata.get("NAME")))
    if stored_as:
        metadata[SHARED_TEST] = {"name": metadata["NAME"], "stored_as": stored_as}
        metadata["NAME"] = stored_as
    return whole, removed


def _host_names(metadata: Mapping[str, Any]) -> Iterator[str]:
    hosts = metadata.get("HOSTS")
    aqm = metadata.get("AQM")
    requested = aqm.get("requested") if isinstance(aqm, dict) else None
    requested = requested if isinstance(requested, dict) else {}
    for key in ("testbed", "server_testbed"):
        # A router's name may stand elsewhere, too, such as in an error of ssh.
        found = _SSH_HOST.fullmatch(str(requested.get(key)))
        if found and found[1] not in LAB_HOSTS:
            yield found[1]
    for name in (metadata.get("LOCAL_HOST"), metadata.get("HOST"),
                 *(hosts if isinstance(hosts, list) else ())):
        if isinstance(name, str) and name:
            yield name


def _walk(tree: Any, path: tuple[str, ...], names: list[str], kept: Sequence[str],
          changed: dict[str, str]) -> None:
    """Clean every text below a dict or list, in place; kept: keys of AQM to pass over."""
    places = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in list(places):
        here = (*path, str(key))
        if len(here) == 2 and here[0] == "AQM" and key in kept:
            continue
        if isinstance(value, (dict, list)):
            _walk(value, here, names, kept, changed)
        elif isinstance(value, str) and here not in (("NAME",), ("TIME",), ("T0",)):
            clean, what = _clean(value, names)
            if what:
                tree[key] = clean
                changed[".".join(here)] = what


def _clean(text: str, names: list[str]) -> tuple[str, str]:
    """The text without what tells of a machine, and the kinds that were in it."""
    kinds = []
    # Whole addresses before the names in them.
    patterns: list[tuple[str, re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
        ("router's address", _SSH, "ssh://root@router"),  # of the form that settings want
        *(("host name", re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-])"), "host")
          for name in names),
        ("hardware address", _MAC, "00:00:00:00:00:00"),
        ("address", _ADDRESS, _address), ("user name", _HOME, r"\1user")]
    for kind, pattern, by in patterns:
        shorter = pattern.sub(by, text)
        if shorter != text:
            text = shorter
            kinds.append(kind)
    return text, ", ".join(dict.fromkeys(kinds))


def _address(found: re.Match[str]) -> str:
    word = found[0].rstrip(".:") if found[0] != "::" else found[0]
    try:
        address = ipaddress.ip_address(word)
    except ValueError:
        return found[0]
    if address.is_loopback or address.is_unspecified or any(
            address in network for network in _DOCUMENTATION
            if network.version == address.version):
        return found[0]
    return ("203.0.113.1" if address.version == 4 else "2001:db8::1") + found[0][len(word):]
