# SPDX-License-Identifier: GPL-3.0-or-later
"""Forms of what tells of machines and people: addresses, hardware addresses, users."""

from __future__ import annotations

import re

END, START = r"(?![0-9A-Za-z])", r"(?<![0-9A-Za-z])"
_HEX = "[0-9A-F]"
_QUAD = r"(?:\d{1,3}\.){3}\d{1,3}"

IPV4 = re.compile(rf"(?<![\d.]){_QUAD}(?!\.?\d)")
# It may end in ::, or have a prefix's length behind it.
IPV6 = re.compile(rf"{START}{_HEX}{{0,4}}:[0-9A-F:]{{0,40}}:(?:{_QUAD}|{_HEX}{{1,4}})?{END}",
                  re.IGNORECASE)
# As names of hosts have them: ip-10-1-2-3.example, 10-1-2-3.nip.io. Not in the middle of more
# numbers, which are dates and lists.
DASHED_IPV4 = re.compile(r"(?<![\d])(?<!\d[-_])(\d{1,3})([-_])(\d{1,3})\2(\d{1,3})\2(\d{1,3})"
                         r"(?!\d)(?![-_]\d)")
# What such a quadruple has to have on one of its sides to be one.
NAME_BEFORE = re.compile(r"[A-Za-z][._-]?$")
NAME_BEHIND = re.compile(r"[._-][A-Za-z]")
# fe80--1s4.ipv6-literal.net
IPV6_LITERAL = re.compile(r"([0-9A-F-]{2,45})(s\w{1,15})?(?=\.ipv6-literal\.net)", re.IGNORECASE)
# Nibbles, the last first.
IPV6_REVERSE = re.compile(rf"{START}((?:{_HEX}\.){{8,32}})(?=ip6\.arpa)", re.IGNORECASE)

MAC = re.compile(
    # Twice two digits, or one as some systems print them; as routers do; in names of devices,
    # such as enx525400abcdef; without anything between, which is no end of a UUID.
    rf"{START}(?:{_HEX}{{2}}([:_-])(?:{_HEX}{{2}}\1){{4}}{_HEX}{{2}}"
    rf"|{_HEX}{{1,2}}:(?:{_HEX}{{1,2}}:){{4}}{_HEX}{{1,2}}"
    rf"|{_HEX}{{4}}\.{_HEX}{{4}}\.{_HEX}{{4}}){END}(?![:]{_HEX})"
    rf"|(?<=enx|wlx|wwx|slx){_HEX}{{12}}{END}"
    rf"|{START}(?<![0-9A-Fa-f]{{4}}-[0-9A-Fa-f]{{4}}-)(?!20\d\d[01]\d[0-3]\d[0-2]\d[0-5]\d)"
    rf"{_HEX}{{12}}{END}", re.IGNORECASE)
# The last part of a UUID of version 1 is the address of a card.
MAC_IN_UUID = re.compile(rf"({START}{_HEX}{{8}}-{_HEX}{{4}}-1{_HEX}{{3}}-[89AB]{_HEX}{{3}}-)"
                         rf"({_HEX}{{12}}){END}", re.IGNORECASE)

SSH = re.compile(r"\bssh://(?!root@router(?![\w.:-]))[^\s'\",;]+")
# User and password before a URL's host, and values that go with such names in its query.
IN_URL = re.compile(r"\b([A-Za-z][A-Za-z0-9+.-]{0,30}://)([^\s/?#'\"<>]*)@")
IN_QUERY = re.compile(r"([?&;](?:user(?:name)?|login|pass(?:w(?:or)?d)?|token|secret|auth|key|"
                      r"api_?key|access_token)=)([^&;#\s'\"]+)", re.IGNORECASE)
# Of what is called by an address, or by a name that ends like a domain.
USER_AT = re.compile(
    rf"(?<![\w.+/:-])([\w.+-]{{1,64}})"
    rf"@(?=\[|{_QUAD}|[\w-]{{1,64}}(?:\.[\w-]{{1,64}}){{0,9}}\.[a-z]{{2}})", re.IGNORECASE)
USER_FOLDER = re.compile(
    r"((?:[/\\](?:home|homes|users|people|students|staff|mail|u|media)|~)(?:[/\\]{1,2}|(?<=~)))"
    r"([^/\\\s:;,'\"<>|]+)", re.IGNORECASE)
USER_VARIABLE = re.compile(r"\b((?:USER|LOGNAME|USERNAME|SUDO_USER)=)([^\s;,'\"]+)")
