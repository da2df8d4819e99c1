# SPDX-License-Identifier: GPL-3.0-or-later
"""Find data in a data file that reveal machines, networks and people, and replace them.

Each thing has one replacement, wherever it occurs. So a series that is named after a host, and the
test parameter that names the host, still agree.
"""

from __future__ import annotations

import ipaddress
import os
import pwd
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from flent_aqm.base.errors import BadResult
from flent_aqm.results.share import patterns
from flent_aqm.results.share.patterns import END, START
from flent_aqm.results.share.vocabulary import is_common
from flent_aqm.spec.flent_settings import LAB_HOSTS

DOCUMENTATION = [ipaddress.ip_network(text) for text in (
    "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32",
    # of test equipment, and of the lab (RFC 2544)
    "198.18.0.0/15")]
# Largest number of hosts in a data file. Each is searched for in every text.
MOST_HOSTS = 200
# Names of hosts that reveal nobody. Some also are words in names of series.
COMMON = frozenset((
    *LAB_HOSTS, "localhost", "host", "gateway", "www", "test", "ping", "udp", "tcp", "icmp", "irtt",
    "download", "upload", "totals", "netperf", "netserver", "iperf", "iperf3", "ndt7", "flent",
    "speedtest", "debian", "ubuntu", "linux", "openwrt", "lab", "user", "root", "ms", "be", "bk",
    "ef", "avg", "sum", "first", "second", "capture", "queues", "cross", "rate", "of", "the"))

_SSH_HOST = re.compile(r"ssh://(?:[^@/]*@)?([A-Za-z0-9][\w.-]*)(?::\d+)?/?")
_URL_HOST = re.compile(r"\b[a-z][a-z0-9+]*://(?:[^\s/@]*@)?([A-Za-z0-9][\w.-]*)")
# Suffixes of file names, which look like names of domains with three parts.
_FILE_NAMES = re.compile(
    r"\.(?:gz|py|sh|conf|batch|json|log|pcap|txt|md|html?|csv|png|svg|xz|bz2|zip|deb|so|c|h|inc|flent|"
    r"patch|yaml|toml|cfg|exe|service|slice|mount|parquet)$", re.IGNORECASE)
REPLACED = "removed"
_WORD_OF_NAME = re.compile(r"(\s+|::)")
# Names of users that reveal nobody.
NOBODY = frozenset(("user", "root", "nobody", "shared", "public", "guest", "default",
                    "sudo", "adm", "wheel", "users", "netdev", "plugdev", "docker", "audio"))
_MOST_USERS = 100
_FIRST_PERSON = 1000
# IPv4 networks whose addresses are looked for in numbers, too (RFC 1918, RFC 3927). Those of public
# ones can't be told from other numbers.
_PRIVATE_NETWORKS = [ipaddress.ip_network(text) for text in (
    "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16")]


class Secrets:
    """Finds and replaces the data in one data file that reveal machines, networks and people.

    A private method that takes a match is called by re.sub(). It returns the replacement and adds
    the match, or the part of it that reveals something, to `removed`. It returns the matched text
    if that reveals nobody.

    Args:
        metadata: metadata of the file, in which names of hosts and users are searched.

    Attributes:
        removed: texts that were replaced so far, names of hosts in lower case. Some have harmless
            text around them, such as the key of a value.
        users: names of people that the file reveals, and users of this machine, as users() returns
            them.

    Raises BadResult if the metadata name more than MOST_HOSTS hosts. An address in place of a
    host's name counts.
    """

    def __init__(self, metadata: Mapping[str, Any]) -> None:
        self._stand_ins: dict[str, str] = {}
        self._taken: set[str] = set()
        self._addresses: list[str] = []
        self.removed: set[str] = set()
        # Texts without secrets. They are kept, because keys and messages repeat.
        self._harmless: set[str] = set()
        names: dict[str, None] = {}
        for text in texts(metadata):
            names |= dict.fromkeys(_URL_HOST.findall(text))
            names |= dict.fromkeys(_hosts_in(text))
            self._taken |= set(patterns.IPV4.findall(text))
            self._taken |= {str(ipaddress.ip_address(word)) for match in
                            patterns.IPV6.findall(text) if (word := _without_colon(match))}
        names = {**dict.fromkeys(host_names(metadata)), **names}
        if len(names) > MOST_HOSTS:
            raise BadResult(f"it names {len(names):,} hosts; expected {MOST_HOSTS} at most, as no "
                            "more can be replaced: remove some, or leave it out")
        self._names = [one for name in names if (one := _Name.of(name))]
        self.users = users(metadata)
        # Folders that have the name of a user.
        self._users = re.compile(
            rf"([/\\~])({'|'.join(map(re.escape, sorted(self.users)))})(?=[/\\\s:;,'\"]|$)"
            if self.users else r"(?!)()()")

    def clean(self, text: str, *, apart: bool = False) -> tuple[str, str]:
        """Return the text with everything replaced that is known to reveal a machine or a person,
        and the kinds of what was replaced, such as "address, user name", or "" if nothing was.

        Args:
            text: the text.
            apart: True for the name of a file: also find domains of three or more parts with _ in
                place of dots, and IPv4 addresses that were replaced before with one of . _ : - in
                place of each dot.
        """
        if text in self._harmless and not apart:
            return text, ""
        kinds = []
        steps: list[tuple[str, re.Pattern[str], Callable[[re.Match[str]], str]]] = [
            *(("password or token", pattern, self._credential) for pattern in patterns.CREDENTIALS),
            ("name of a network", patterns.NETWORK, self._second_group),
            # Replaced by an address in the form that settings require.
            ("router's address", patterns.SSH, lambda match: self._record_removed(match,
                                                                         "ssh://root@router")),
            ("user or password", patterns.IN_URL, self._in_url),
            ("user or password", patterns.IN_QUERY, self._second_group),
            ("user name", patterns.USER_AT, self._user_at),
            ("user name", patterns.ENCODED_AT, self._encoded_at),
            ("user name", patterns.USER_AT_NAME, self._user_at_name),
            ("user name", patterns.USER_OPTION, self._account),
            ("user name", patterns.FILE_OWNER, self._user),
            ("number of a device", patterns.DEVICE_NUMBER, self._device_number),
            ("user name", patterns.USER_ID, self._user),
            ("user name", patterns.GROUP_IN_LIST, self._user),
            *self._address_patterns(text.lower()),
            *(("host name", name.pattern, partial(self._host, name)) for name in self._names
              if any(one in text.lower() for one in name.marks)),
            ("host name", patterns.DOMAIN_NAME, self._domain),
            ("user name", patterns.USER_FOLDER, self._user),
            ("user name", patterns.SYSTEMD_FOLDER, self._user),
            ("user name", patterns.USER_VARIABLE, self._user),
            ("password or token", patterns.RANDOM_TEXT, self._random),
            ("user name", self._users, self._user)]
        if apart:
            steps.append(("host name", patterns.DOMAIN_IN_FILE_NAME, self._domain_in_file_name))
            steps += [("address", re.compile(rf"(?<!\d){re.sub(r'[.:]', '[._:-]', one)}(?!\d)"),
                       self._seen_address) for one in self._addresses]
        for kind, pattern, by in steps:
            shorter = pattern.sub(by, text)
            if shorter != text:
                text = shorter
                kinds.append(kind)
        if not kinds and not apart:
            self._harmless.add(text)
        return text, ", ".join(dict.fromkeys(kinds))

    def _address_patterns(self, lowered: str) -> list[
            tuple[str, re.Pattern[str], Callable[[re.Match[str]], str]]]:
        """Return the patterns of IP and hardware addresses, in the order in which they have to be
        replaced: kind, pattern and function that replaces a match. Those for names in
        ipv6-literal.net, ip6.arpa and in-addr.arpa are left out if the text has no such name.

        Args:
            lowered: the text in lower case.
        """
        return [("hardware address", patterns.MAC_IN_UUID, self._mac_in_uuid),
                ("hardware address", patterns.MAC, self._mac),
                *([("address", patterns.IPV6_LITERAL, self._literal)]
                  if "ipv6-literal" in lowered else []),
                *([("address", patterns.IPV6_REVERSE, self._reverse)]
                  if "ip6.arpa" in lowered else []),
                *([("address", patterns.IPV4_REVERSE, self._reverse_ipv4)]
                  if "in-addr" in lowered else []),
                ("address", patterns.IPV6, self._address),
                ("address", patterns.IPV4_AND_PORT, self._address),
                ("address", patterns.PADDED_IPV4, self._padded),
                ("address", patterns.IPV4, self._address),
                ("address", patterns.DASHED_IPV4, self._dashed),
                ("address", patterns.HEX_ENDPOINT, self._zeros),
                ("address", patterns.HEX_IPV6, self._zeros),
                ("address", patterns.HEX_IPV4, self._hex),
                ("address", patterns.DECIMAL_IPV4, self._decimal)]

    def _credential(self, match: re.Match[str]) -> str:
        """Return the match with its group `secret`, and quotes around it, replaced by REPLACED.
        Return the match if the group is empty but for quotes, or was replaced before."""
        secret = match["secret"].strip("'\"")
        if not secret or secret == REPLACED or is_stand_in_of_router(secret):
            return match[0]
        self.removed.add(secret)
        whole, (start, end), begin = match[0], match.span("secret"), match.start()
        return whole[:start - begin] + REPLACED + whole[end - begin:]

    def _second_group(self, match: re.Match[str]) -> str:
        """Return the match with its second group replaced by REPLACED, or the match if that group
        is empty, was replaced before, or is a number of up to three digits."""
        value = match[2].strip("'\"")
        if not value or value == REPLACED or re.fullmatch(r"\d{1,3}", value):
            return match[0]
        self.removed.add(match[0])
        return match[1] + REPLACED

    def _account(self, match: re.Match[str]) -> str:
        """Return the match with the name of an account, its second group, replaced by "user", or
        the match if the name is in NOBODY, was replaced before, or is "s", "the" or "a"."""
        name = match[2].strip("'\"")
        if name in NOBODY or name in (REPLACED, "s", "the", "a"):
            return match[0]
        self.removed.add(name)
        quote = match[2][0] if match[2][0] in "'\"" else ""
        return f"{match[1]}{quote}user"

    def _device_number(self, match: re.Match[str]) -> str:
        """Return the match with the number of a device replaced by REPLACED, or REPLACED alone for
        the number of a telephone, which begins with "+"."""
        before, number = (match[1], match[2]) if match[1] else (match[3], match[4])
        self.removed.add(number)
        return f"{before if match[1] else ''}{REPLACED}"

    def _encoded_at(self, match: re.Match[str]) -> str:
        """Return "user%40host" for a user and host with the URL's code for @ between them, or the
        match if the user is in NOBODY and the host is of usual words (is_common())."""
        if match[1] in NOBODY and is_common(match[2]):
            return match[0]
        self.removed.add(match[0])
        return "user%40host"

    def _user_at_name(self, match: re.Match[str]) -> str:
        """Return "user@" and the replacement for the host, for user@host without a domain. A
        host of usual words (is_common()) stays. Return the match if the user is in NOBODY, or if
        both names are of usual words."""
        if match[1] in NOBODY or (is_common(match[1]) and is_common(match[2])):
            return match[0]
        self.removed.add(match[0])
        return f"user@{match[2] if is_common(match[2]) else self.stand_in_for(match[2])}"

    def _domain(self, match: re.Match[str]) -> str:
        """Return the replacement for the name of a domain, or the match if it is the name of a
        file, an address, or of usual words (is_common())."""
        if not is_domain(match[0]):
            return match[0]
        return self.stand_in_for(match[0])

    def _domain_in_file_name(self, match: re.Match[str]) -> str:
        """Return the replacement for the name of a domain with _ in place of dots. Words with
        hyphens before it stay, up to the first that isn't usual (is_common()) and doesn't begin
        with a digit. Return the match if the name isn't that of a domain, see is_domain()."""
        words = match[1].split("-")
        first = next((at for at, word in enumerate(words[:-1])
                      if not (is_common(word) or word[:1].isdigit())), len(words) - 1)
        before = "".join(f"{word}-" for word in words[:first])
        name = _with_dots(match[0][len(before):])
        return before + self.stand_in_for(name) if is_domain(name) else match[0]

    def _random(self, match: re.Match[str]) -> str:
        """Return REPLACED for random text, or the match if it is of usual words (is_common())."""
        if is_common(match[0]):
            return match[0]
        self.removed.add(match[0])
        return REPLACED

    def _padded(self, match: re.Match[str]) -> str:
        """Return the replacement for an IPv4 address with leading zeros, or the match if it is no
        address or reveals nobody (tells_of_nobody())."""
        word = ".".join(str(int(part)) for part in match[0].split("."))
        if not is_address(word) or tells_of_nobody(word):
            return match[0]
        self.removed.add(match[0])
        return self._stand_in_for_address(word)

    def _reverse_ipv4(self, match: re.Match[str]) -> str:
        """Return "0." in place of each of the one to three numbers before in-addr.arpa, which name
        a reversed IPv4 subnet, and record them, followed by in-addr.arpa, as removed. Return the
        match if each is "0". Whole addresses, of four numbers, are replaced by _address()."""
        parts = [part for part in match[1].split(".") if part]
        if all(part == "0" for part in parts):
            return match[0]
        # A number by itself would be found in many texts.
        self.removed.add(f"{match[1]}in-addr.arpa")
        return "0." * len(parts)

    def _zeros(self, match: re.Match[str]) -> str:
        """Return as many zeros as the match has characters, for a match of hexadecimal digits
        alone. A match of zeros is not recorded as removed."""
        if not match[0].strip("0"):
            return match[0]
        return self._record_removed(match, "0" * len(match[0]))

    def _hex(self, match: re.Match[str]) -> str:
        """Return zeros in place of eight hexadecimal digits that are a private address in either
        byte order, or that follow 0x, have a letter, and don't begin with 00 or end with 0000.
        Return the match otherwise."""
        value = int(match[0], 16)
        turned = int.from_bytes(value.to_bytes(4, "little"))
        of_c = match.string[max(match.start() - 2, 0):match.start()].lower() == "0x"
        if value and (_is_private(value) or _is_private(turned) or (
                of_c and value >> 24 and value & 0xffff and not match[0].isdigit())):
            return self._zeros(match)
        return match[0]

    def _decimal(self, match: re.Match[str]) -> str:
        """Return zeros in place of a decimal number that is a private IPv4 address. Return the
        match otherwise."""
        value = int(match[0])
        return self._zeros(match) if value < 1 << 32 and _is_private(value) else match[0]

    def is_stand_in(self, text: str) -> bool:
        """Return whether a text is a replacement that a host or an address of this file has got so
        far."""
        return text in self._stand_ins.values()

    def stand_in_for(self, name: str) -> str:
        """Return the replacement for the name of a host, "host", "host2", …, which is always the
        same for a name, in upper or lower case, and with any of . - _ as separators. The name is
        added to `removed`, in lower case."""
        key = _with_dots(name.lower().strip("."))
        self.removed.add(name.lower())
        if key not in self._stand_ins:
            hosts = sum(one.startswith("host") for one in self._stand_ins.values())
            self._stand_ins[key] = f"host{hosts + 1}" if hosts else "host"
        return self._stand_ins[key]

    def learn(self, name: str) -> None:
        """Replace a host's name in all texts that are cleaned from now on. A name for which
        _Name.of() returns None is ignored, as is each name if MOST_HOSTS are already known."""
        if len(self._names) < MOST_HOSTS and (one := _Name.of(name)):
            self._names.append(one)
            self._harmless.clear()

    def series_name(self, name: str) -> str:
        """Return a series' name, as clean() returns it, with those words replaced that are not
        usual ones (is_common()). Words end at blanks and "::". Each such word is also replaced in
        all texts that are cleaned later, unless learn() ignores it."""
        clean, _kinds = self.clean(name)
        words = _WORD_OF_NAME.split(clean)
        return "".join(word if is_common(word) else self._stand_in_word(word) for word in words)

    def _stand_in_word(self, word: str) -> str:
        """Return a word of a series' name, without the brackets, commas and semicolons at its ends,
        replaced as a host's name (stand_in_for()), between the same brackets, commas and
        semicolons. It is also replaced in all texts that are cleaned later, unless learn() ignores
        it."""
        inner = word.strip("()[],;")
        self.learn(inner)
        start = word.index(inner) if inner else 0
        return word[:start] + self.stand_in_for(inner) + word[start + len(inner):]

    def _host(self, name: _Name, match: re.Match[str]) -> str:
        """Return the replacement for a form of a host's name, after "user@" if a user stands before
        it. The form, without the user, is added to `removed` in lower case.

        Args:
            name: the host's name.
            match: match of the name's pattern (_Name.pattern).
        """
        text = match[2].lower()
        self.removed.add(text)
        # The match may be another host of the same domain, or another form of the name.
        dotted = _with_dots(text)
        key = name.first if dotted.startswith(_with_dots(name.first)) else dotted
        if key not in self._stand_ins:
            hosts = sum(one.startswith("host") for one in self._stand_ins.values())
            self._stand_ins[key] = f"host{hosts + 1}" if hosts else "host"
        return f"user@{self._stand_ins[key]}" if match[1] else self._stand_ins[key]

    def _record_removed(self, match: re.Match[str], by: str) -> str:
        """Record a match as removed, and return its replacement `by`."""
        self.removed.add(match[0])
        return by

    def _mac(self, match: re.Match[str]) -> str:
        """Return six pairs of zeros, with the same separator, for a hardware address in any form of
        patterns.MAC, or twelve zeros if it has no separator. Return the match if all of its digits
        are 0."""
        text = match[0]
        digits = re.sub("[^0-9A-Fa-f]", "", text)
        if not digits.strip("0"):
            return text
        between = re.sub("[0-9A-Fa-f]", "", text)[:1]
        return self._record_removed(match, between.join(["00"] * 6) if between else "0" * 12)

    def _mac_in_uuid(self, match: re.Match[str]) -> str:
        """Return the UUID with zeros in place of the hardware address that it contains. Return the
        match if all digits of that address are 0."""
        if not match[2].strip("0"):
            return match[0]
        self.removed.add(match[2])
        return match[1] + "0" * 12

    def _in_url(self, match: re.Match[str]) -> str:
        """Return the URL's start with "user" in place of the text before the @, a user and perhaps
        a password. Return the match if that text is empty or a name in NOBODY."""
        if not match[2] or match[2] in NOBODY:
            return match[0]
        self.removed.add(f"{match[2]}@")
        return f"{match[1]}user@"

    def _user_at(self, match: re.Match[str]) -> str:
        """Return "user@" in place of a user and "@" before an IP address or a name with a
        domain, which isn't part of the match and stays. Return the match if the user is in
        NOBODY."""
        if match[1] in NOBODY:
            return match[0]
        self.removed.add(match[0])
        return "user@"

    def _user(self, match: re.Match[str]) -> str:
        """Return the match with the name of a user, its second group, replaced by "user", or the
        match if the user is in NOBODY."""
        if match[2] in NOBODY:
            return match[0]
        self.removed.add(match[0])
        return f"{match[1]}user"

    def _address(self, match: re.Match[str]) -> str:
        """Return the replacement for an IP address, with punctuation that follows it, or the match
        if it is no address or reveals nobody (tells_of_nobody())."""
        text = match[0]
        word = _without_colon(text)
        if not word or tells_of_nobody(word):
            return text
        self.removed.add(word)
        return self._stand_in_for_address(word) + text[len(word):]

    def _dashed(self, match: re.Match[str]) -> str:
        """Return the replacement for an IPv4 address with dashes or underscores that is part of a
        name, with the same separator. Return the match if it is not part of a name, is no address,
        or reveals nobody."""
        whole, (start, end) = match.string, match.span()
        named = (patterns.NAME_BEFORE.search(whole[max(start - 2, 0):start])
                 or patterns.NAME_BEHIND.match(whole[end:end + 2]))
        word = ".".join(match.group(1, 3, 4, 5))
        if not named or not is_address(word) or tells_of_nobody(word):
            return match[0]
        self.removed.add(match[0])
        return self._stand_in_for_address(word).replace(".", match[2])

    def _literal(self, match: re.Match[str]) -> str:
        """Return the replacement for an IPv6 address before .ipv6-literal.net, with dashes in place
        of colons, or the match if it is no address or reveals nobody. A zone, such as s4, is
        dropped."""
        word = match[1].replace("-", ":")
        if not is_address(word) or tells_of_nobody(word):
            return match[0]
        self.removed.add(match[0])
        return self._stand_in_for_address(word).replace(":", "-")

    def _reverse(self, match: re.Match[str]) -> str:
        """Return the replacement for a reversed IPv6 address or network before ip6.arpa: 32
        hexadecimal digits in reverse order, each with a dot behind it. Return the match if it
        reveals nobody."""
        digits = match[1].replace(".", "")[::-1].ljust(32, "0")
        word = ":".join(digits[place:place + 4] for place in range(0, 32, 4))
        if tells_of_nobody(word):
            return match[0]
        self.removed.add(match[0])
        by = ipaddress.ip_address(self._stand_in_for_address(word)).exploded.replace(":", "")
        return "".join(f"{digit}." for digit in reversed(by))

    @property
    def gone(self) -> set[str]:
        """Texts that must not occur in the shared file: those of `removed` that are not also a
        replacement for a host or an address."""
        return self.removed - set(self._stand_ins.values())

    def _seen_address(self, match: re.Match[str]) -> str:
        """Return the replacement, with dots, for an IPv4 address that was replaced before and
        stands here with any of . _ : - as separators. Nothing is added to `removed`."""
        return self._stand_ins[str(ipaddress.ip_address(re.sub("[._:-]", ".", match[0])))]

    def _stand_in_for_address(self, word: str) -> str:
        """Return the replacement for an IP address: one that is reserved for documentation and that
        does not occur in the metadata, always the same for an address. If all are in use, it is
        203.0.113.254, also for further addresses and for IPv6. Raises ValueError if the word is not
        an address. Nothing is added to `removed`."""
        address = ipaddress.ip_address(word)
        if str(address) not in self._stand_ins:
            if address.version == 4:
                self._addresses.append(str(address))
                free = (str(one) for network in reversed(DOCUMENTATION[:3])
                        for one in network.hosts())
            else:
                free = (f"2001:db8::{number:x}" for number in range(1, 1 << 16))
            substitute = next((one for one in free if one not in self._taken), None)
            self._stand_ins[str(address)] = substitute or "203.0.113.254"
            self._taken.add(self._stand_ins[str(address)])
        return self._stand_ins[str(address)]


def _without_colon(match: str) -> str:
    """Return the IP address that a match of patterns.IPV6 or patterns.IPV4 consists of, without the
    colons behind it that may be punctuation. "" if the match is no address."""
    return next((one for one in (match, match[:-1], match.rstrip(":")) if is_address(one)), "")


@dataclass(frozen=True)
class _Name:
    """A host's name.

    Attributes:
        first: its first part, before the first dot, in lower case.
        marks: texts in lower case. Each text with the name contains one of them.
        pattern: matches its forms in upper and lower case, with any of . - _ as separators: a name
            with a domain as a whole, the first part alone or with any domain unless it is a usual
            word, and, if the domain has several parts, the domain alone or after another host.
            Group 1 is a user before it with "@", None without a user, group 2 the form.
    """

    first: str
    marks: tuple[str, ...]
    pattern: re.Pattern[str]

    @classmethod
    def of(cls, name: str) -> _Name | None:
        """Return the record of a host's name. None for an address, for text that can't be a name by
        its characters or length, and for a name without a domain that is a number, in COMMON, or of
        usual words (is_common())."""
        name = name.strip(".").lower()
        if is_address(name) or not re.fullmatch(r"[a-z0-9_][a-z0-9_.-]{0,250}", name):
            return None
        first, *domain = name.split(".")
        forms, marks = [], []
        if len(domain) > 1:
            forms.append(r"(?:[a-z0-9-]{1,63}[._-])?" + _pattern_any_separator(".".join(domain)))
            marks.append(_longest_part(".".join(domain)))
        if domain:
            forms.append(_pattern_any_separator(name))
            marks.append(_longest_part(name))
        if first not in COMMON and not first.isdigit() and not is_common(first):
            # Any domain may follow, because a resolver may have added one.
            forms.append(_pattern_any_separator(first) + r"(?:\.[a-z0-9-]+)*")
            marks.append(_longest_part(first))
        if not forms:
            return None
        return cls(first, tuple(marks), re.compile(
            rf"{START}([\w.+-]{{1,64}}@)?({'|'.join(forms)}){END}", re.IGNORECASE))


def _hosts_in(text: str) -> Iterator[str]:
    """Yield the names of hosts that a text contains: in the messages and options of programs,
    domains, and hosts after a user. Names of usual words (is_common()) and of files are left out. A
    name may occur several times."""
    for pattern in patterns.HOSTS_IN_MESSAGES:
        for match in pattern.finditer(text):
            name = match["host"].strip(".")
            if not is_common(name) and not _FILE_NAMES.search(name):
                yield name
    yield from (match[0] for match in patterns.DOMAIN_NAME.finditer(text) if is_domain(match[0]))
    for match in patterns.USER_AT_NAME.finditer(text):
        if not is_common(match[2]):
            yield match[2]


def is_domain(name: str) -> bool:
    """Return whether a name in the form of a domain's (patterns.DOMAIN_NAME) is that of a domain:
    not of a file or an address, and not of usual words (is_common()) alone."""
    return not (is_common(name) or _FILE_NAMES.search(name)) and not is_address(name)


def is_stand_in_of_router(text: str) -> bool:
    """Return whether a text is the replacement for a router's address, ssh://root@router."""
    return text == "ssh://root@router"


def _is_private(value: int) -> bool:
    """Return whether a number below 2^32 is an IPv4 address of _PRIVATE_NETWORKS."""
    address = ipaddress.ip_address(value)
    return any(address in network for network in _PRIVATE_NETWORKS)


def host_names(metadata: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names or addresses of the hosts that took part, from the metadata in which Flent
    and this package record them: HOST, HOSTS, LOCAL_HOST, test parameters with "host" in their
    name, and, in AQM, the names of the router and of the servers' machine behind ssh, but not their
    addresses. One may occur several times."""
    aqm = metadata.get("AQM")
    requested = aqm.get("requested") if isinstance(aqm, dict) else None
    requested = requested if isinstance(requested, dict) else {}
    for key in ("testbed", "server_testbed"):
        # A name may also occur elsewhere, such as in an error of ssh.
        match = _SSH_HOST.fullmatch(str(requested.get(key)))
        if match and not is_address(match[1]):
            yield match[1]
    parameters = metadata.get("TEST_PARAMETERS")
    parameter_hosts = [value for key, value in parameters.items() if "host" in str(key).lower()] \
        if isinstance(parameters, dict) else []
    hosts = metadata.get("HOSTS")
    for text in (metadata.get("HOST"), *(hosts if isinstance(hosts, list) else ()),
                 metadata.get("LOCAL_HOST"), *parameter_hosts):
        if isinstance(text, str):
            yield from filter(None, re.split(r"[,;\s]+", text))


def users(metadata: Mapping[str, Any]) -> set[str]:
    """Return the names of people, at most _MOST_USERS: those that the file's environment, paths and
    variables reveal, and the accounts and home folders of the users of this machine. Left out are
    names in COMMON and NOBODY, of a single character, and of more than 64.

    metadata: metadata of the file.
    """
    environment = metadata.get("ENVIRONMENT")
    values = [environment.get(key) for key in ("USER", "LOGNAME", "HOME", "SUDO_USER")] \
        if isinstance(environment, dict) else []
    names = {os.path.basename(one.rstrip("/")) for one in values if isinstance(one, str)}
    for text in texts(metadata):
        for pattern in (patterns.USER_FOLDER, patterns.USER_VARIABLE):
            names |= {one[1] for one in pattern.findall(text)}
    names |= {name for account in pwd.getpwall() if account.pw_uid >= _FIRST_PERSON
              for name in (account.pw_name, os.path.basename(account.pw_dir))}
    usable = sorted(one for one in names if 2 <= len(one) <= 64 and one.lower() not in COMMON
                    and one not in NOBODY)
    return set(usable[:_MOST_USERS])


def texts(tree: Any) -> Iterator[str]:
    """Yield each different text in a tree of dicts and lists, including keys, once, in any order.
    """
    seen: set[str] = set()
    pending: list[Any] = [tree]
    while pending:
        one = pending.pop()
        if isinstance(one, str):
            if one not in seen:
                seen.add(one)
                yield one
        elif isinstance(one, dict):
            pending += one
            pending += one.values()
        elif isinstance(one, list):
            pending += one


def is_address(word: str) -> bool:
    """Return whether a word is an IP address."""
    try:
        ipaddress.ip_address(word)
    except ValueError:
        return False
    return True


def tells_of_nobody(word: str) -> bool:
    """Return whether an IP address reveals nobody: loopback, unspecified, or reserved for
    documentation or benchmarks. Raises ValueError if the word is not an address."""
    address = ipaddress.ip_address(word)
    return address.is_loopback or address.is_unspecified or any(
        address in network for network in DOCUMENTATION if network.version == address.version)


def _with_dots(name: str) -> str:
    """Return a name with its separators, dots, dashes and underscores, replaced by dots."""
    return re.sub("[._-]", ".", name)


def _longest_part(name: str) -> str:
    """Return the longest part of a name between dots, dashes and underscores."""
    return max(re.split("[._-]", name), key=len)


def _pattern_any_separator(name: str) -> str:
    """Return the text of a pattern of a name that accepts any of . - _ as separator, as file names
    have them."""
    return "[._-]".join(map(re.escape, re.split("[._-]", name)))
