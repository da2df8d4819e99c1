# SPDX-License-Identifier: GPL-3.0-or-later
"""Define the metadata that a shared data file keeps: allowed keys, with the form of each value.

Everything else is left out, whatever its name, so a new kind of secret needs no new pattern. Only
TITLE, NOTE and the batch's name and title are free text. Known patterns of secrets in them are
replaced (secrets.py), and the user is asked to read them. strip.py applies the table to a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from flent_aqm.measure.parsers.ndt7 import CRATE, MLAB
from flent_aqm.results.share.secrets import Secrets, is_address
from flent_aqm.results.share.vocabulary import is_common
from flent_aqm.router.shaping import IFB_DEVICE
from flent_aqm.spec.flent_settings import LAB_HOSTS
from flent_aqm.spec.testbeds import NETNS, VIRTUAL

# Replaces a value that determines the run. `replay` refuses files with it, so that it doesn't make
# another run.
GONE = "removed"
# Name of what stands for test parameters whose names can't be published.
NAMELESS = "parameter"
# Reported for a value that is not kept.
LEFT_OUT = "removed"
ERROR_LEFT_OUT = "the tool's error text was removed"

_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:?\d\d(:?\d\d)?(\.\d{1,9})?(Z|[+-]\d\d:?\d\d)?")
_HASH = re.compile(r"[0-9a-f]{16}|[0-9a-f]{40}|[0-9a-f]{64}")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PSCHED = re.compile(r"[0-9a-f]{8}( [0-9a-f]{8}){3}")
_TEST_ID = re.compile(r"[a-z0-9]+_\d+_[0-9A-F]{16}")
_HANDLE = re.compile(r"[0-9a-f]{0,4}:[0-9a-f]{0,4}")
_VERSION = re.compile(
    r"v?\d{1,9}(\.\d{1,9}){0,4}([-+~._]?(rc|alpha|beta|dev|post|pre|deb|ubuntu|bpo|generic|amd64|"
    r"arm64|aarch64|x86|armv7|cloud|lowlatency|rt|lts|default|azure|aws|gcp|kvm|virtual|rpi|arch|"
    r"g[0-9a-f]{7,40}|[a-z]{1,2}(?![a-z])|\d{1,9})\d{0,9}){0,8}", re.IGNORECASE)
_NUMERIC_PART = re.compile(r"v?\d{1,5}(\.\d{1,5}){0,2}")
_NUMBERS = re.compile(r"-?\d{1,12}(\.\d{1,12})?(e[+-]\d\d?)?(\s+-?\d{1,12}(\.\d{1,12})?)*|")
_DEVICE = re.compile(r"(down|up|lo|eth|en[ops]|wlan|wl|br-?|lan|wan|ppp|pppoe-|vlan|ifb|veth|tun|"
                     r"wg|bond|sfp|usb|wwan|dsl)[0-9.]{0,6}((p|s|f|d)\d{1,3}|lan|wan){0,3}")
# Names of test parameters that are accounts or secrets, even if their value is a number.
_PRIVATE_NAME = re.compile(r"pass|secret|token|user|auth|login|hmac|cred|api_?key|command",
                           re.IGNORECASE)
_SSH = "ssh://"
_NUMBER_TYPES = (int, float, bool, type(None))

_CLIENTS = (CRATE, MLAB)
Kind = Callable[["_Reader", Any, str], Any]
# Returned for a value that the shared file must not have.
NOTHING = object()


class _Reader:
    """Copies allowed values of a data file. Each public method is for one kind of value. It takes
    the value and its place in the metadata, such as "AQM.kernel", and returns the copy, with parts
    replaced or left out, or GONE or another replacement. It returns NOTHING for a value that the
    shared file must not have. Text has "words that programs write" only if is_common() is true of
    it. Secrets are "known" if Secrets.clean() finds them.

    Attributes:
        secrets: the secrets of the file.
        removed: place of a value in the metadata -> what was removed or replaced, such as "removed"
            or "host name". Methods add to it.
    """

    def __init__(self, secrets: Secrets) -> None:
        self.secrets = secrets
        self.removed: dict[str, str] = {}

    def _leave_out(self, place: str) -> Any:
        """Record that the value at a place in the metadata is left out, and return NOTHING."""
        self.removed[place] = LEFT_OUT
        return NOTHING

    def number(self, value: Any, place: str) -> Any:
        """Copy a number, True, False, None, or text that is empty or consists of decimal numbers of
        usual length (_NUMBERS) and has no known secret. Other values are left out (NOTHING)."""
        if type(value) in _NUMBER_TYPES:
            return value
        if isinstance(value, str) and _NUMBERS.fullmatch(value) \
                and not self.secrets.clean(value)[1]:
            return value
        return self._leave_out(place)

    def free_text(self, value: Any, place: str) -> Any:
        """Copy text of the user with known secrets replaced. Numbers, True, False and None are
        copied as they are, and other values left out (NOTHING)."""
        if not isinstance(value, str):
            return self.number(value, place)
        clean, kinds = self.secrets.clean(value)
        if kinds:
            self.removed[place] = kinds
        return clean

    def program_text(self, value: Any, place: str) -> Any:
        """Copy text of numbers or of words that programs write, with known secrets replaced,
        handles of qdiscs such as "8001:", and the words of /proc/net/psched. Numbers, True, False
        and None are copied, too. Any other value is left out (NOTHING)."""
        if not isinstance(value, str):
            return self.number(value, place)
        if any(form.fullmatch(value) for form in (_HANDLE, _PSCHED)):
            return value
        clean, kinds = self.secrets.clean(value)
        if not (is_common(clean) or _NUMBERS.fullmatch(clean)):
            return self._leave_out(place)
        if kinds:
            self.removed[place] = kinds
        return clean

    def version(self, value: Any, place: str) -> Any:
        """Copy a version. If it has other parts than usual ones (_VERSION), or could be an IP
        address, only its beginning is copied: up to three numbers with points between them, and a
        "v" before them. A number of more than five digits is cut to five, and ends the copy. It is
        left out (NOTHING) if it contains a known secret or doesn't begin with a number. Numbers,
        True, False, None and "" are copied, and other values left out.

        place: the value's place in the metadata, such as "AQM.kernel.version", for `removed`.
        """
        if not isinstance(value, str) or not value:
            return self.number(value, place)
        _clean, kinds = self.secrets.clean(value)
        if not kinds and _VERSION.fullmatch(value) and not is_address(value):
            return value
        number = _NUMERIC_PART.match(value)
        self.removed[place] = LEFT_OUT
        return NOTHING if number is None or kinds else number[0]

    def hash(self, value: Any, place: str) -> Any:
        """Copy a hash of 16, 40 or 64 hexadecimal digits in lower case, a number, True, False or
        None. Any other value is left out (NOTHING)."""
        return self._matching(_HASH, value, place)

    def time(self, value: Any, place: str) -> Any:
        """Copy text that is a date with a time, such as "2026-01-31T23:59:59.000Z", a number, True,
        False or None. Any other value is left out: record `place` in `removed`, and return NOTHING.

        place: the value's place in the metadata, such as "BATCH_TIME".
        """
        return self._matching(_TIME, value, place)

    def uuid(self, value: Any, place: str) -> Any:
        """Copy a UUID in lower case with known secrets replaced, such as a hardware address in it.
        Numbers, True, False and None are copied, too. Any other value is left out (NOTHING). What
        was replaced or left out is recorded in `removed`.

        place: place of the value in the metadata, such as "BATCH_UUID".
        """
        value = self._matching(_UUID, value, place)
        return self.free_text(value, place) if isinstance(value, str) else value

    def _matching(self, pattern: re.Pattern[str], value: Any, place: str) -> Any:
        """Copy text that matches a pattern as a whole, a number, True, False or None. Other values
        are left out (NOTHING)."""
        if isinstance(value, str) and not pattern.fullmatch(value):
            return self._leave_out(place)
        return value if isinstance(value, str) else self.number(value, place)

    def device(self, value: Any, place: str) -> Any:
        """Copy the name of a network device, if it is a usual one (_DEVICE), "flent-ifb"
        (IFB_DEVICE) or "". Other text is replaced by "device". Values other than text: as number().
        """
        if not isinstance(value, str) or _DEVICE.fullmatch(value) or value in ("", IFB_DEVICE):
            return value if isinstance(value, str) else self.number(value, place)
        self.removed[place] = "device"
        return "device"

    def host(self, value: Any, place: str) -> Any:
        """Copy a host's name or address. It is replaced by a stand-in, unless it is "", a name in
        LAB_HOSTS, of words that programs write, or an address that reveals nobody. Values other
        than text: as number()."""
        if not isinstance(value, str):
            return self.number(value, place)
        if value in (*LAB_HOSTS, "localhost", ""):
            return value
        clean, _kinds = self.secrets.clean(value)
        if not (is_common(clean) or is_address(clean)):
            clean = self.secrets.stand_in_for(clean)
        if clean != value:
            self.removed[place] = "host name"
        return clean

    def hosts(self, value: Any, place: str) -> Any:
        """Copy a list of hosts, or a text of hosts separated by commas, semicolons or blanks, each
        host as host() does it, which may replace it. Elements of a list that are no text are left
        out without a record. Numbers, True, False and None are copied. Any other value is left out
        (NOTHING)."""
        if isinstance(value, list):
            return [self.host(one, f"{place}.{number}") for number, one in enumerate(value)
                    if isinstance(one, str)]
        if not isinstance(value, str):
            return self.number(value, place)
        parts = re.split(r"([,;\s]+)", value)
        return "".join(self.host(part, place) if number % 2 == 0 else part
                       for number, part in enumerate(parts))

    def testbed(self, value: Any, place: str) -> Any:
        """Copy a testbed: "virtual" and "netns" as they are. The address of a router, "ssh://…", is
        replaced by "ssh://root@router". Other values: as _text_or_gone(), which may replace them by
        GONE."""
        if isinstance(value, str) and value.startswith(_SSH):
            clean = f"{_SSH}root@router"
            if clean != value:
                self.removed[place] = "router's address"
            return clean
        return value if value in (VIRTUAL, NETNS, "") else self._text_or_gone(value, place)

    def always_gone(self, value: Any, place: str) -> Any:
        """Replace a value that determines the run by GONE, whatever its words, such as a command of
        the user. None and "" are kept."""
        if value in (None, ""):
            return value
        self.removed[place] = LEFT_OUT
        return GONE

    def _text_or_gone(self, value: Any, place: str) -> Any:
        """Copy a number, True, False, None, or text that program_text() copies unaltered. Return
        GONE for any other value, and record it as removed. Text with a part replaced would request
        another run."""
        kept = self.program_text(value, place)
        if kept is NOTHING or (isinstance(value, str) and kept != value):
            self.removed[place] = LEFT_OUT
            return GONE
        return kept

    def value_or_gone(self, value: Any, place: str) -> Any:
        """Copy a value that determines the run. If it is not allowed or has a known secret, it is
        replaced by GONE, so that `replay` refuses the file. A list or object is replaced as a whole
        if tree() leaves out or alters a part of it."""
        if isinstance(value, (dict, list)):
            return value if self.tree(value, place) == value else GONE
        return self._text_or_gone(value, place)

    def tree(self, value: Any, place: str) -> Any:
        """Copy a value that programs report: a list, an object, or what program_text() copies, with
        known secrets replaced. Parts that may not be shared are left out of lists and objects, with
        their keys; for a whole value, return NOTHING. Keys must have words that programs write
        only, and values of the keys in _IN_TREES are copied by the methods there."""
        if isinstance(value, list):
            kept = [self.tree(one, f"{place}.{number}") for number, one in enumerate(value)]
            return [one for one in kept if one is not NOTHING]
        if isinstance(value, dict):
            return self.mapping(value, place, _IN_TREES, _Reader.tree)
        return self.program_text(value, place)

    def mapping(self, value: Any, place: str, known: Mapping[str, Kind], others: Kind | None
                ) -> Any:
        """Copy an object with the keys that are allowed. Other keys are left out, and recorded as
        removed (without `others`, only if their value isn't empty). Known keys whose method returns
        NOTHING are left out, too. A value that is not an object is copied if it is a number, True,
        False, None or text of numbers, and else left out (NOTHING).

        Args:
            value: the object.
            place: its place in the metadata, "" for the metadata itself.
            known: key -> method that copies its value, called with this reader, the value and its
                place.
            others: method for the values of all other keys that program_text() copies; known
                secrets in these keys are replaced, and a key that is there already gets a number
                (unused()). None to leave all other keys out.
        """
        if not isinstance(value, dict):
            return self.number(value, place)
        kept: dict[str, Any] = {}
        for key, one in value.items():
            where = f"{place}.{key}" if place else key
            kind = known.get(key)
            if kind is None and others is not None:
                shown = self.program_text(key, f"{place}, a key")
                kind, key = others, key if shown is NOTHING else shown
                if shown is NOTHING:
                    continue
                where = f"{place}.{key}" if place else key
            if kind is None:
                if one not in (None, "", {}, []):
                    # An unknown key may itself reveal a machine or a person.
                    self.removed[where if is_common(key) else f"{place or 'metadata'}, a key"] = \
                        LEFT_OUT
                continue
            copied = kind(self, one, where)
            if copied is not NOTHING:
                # Two keys may have become the same when their secrets were replaced.
                kept[unused(key, kept)] = copied
        return kept

    def leave_out(self, value: Any, place: str) -> Any:
        """Leave out a value: return NOTHING. It is recorded as removed unless it is None, "", {} or
        []."""
        return NOTHING if value in (None, "", {}, []) else self._leave_out(place)

    def leave_out_silently(self, value: Any, place: str) -> Any:
        """Leave out a value that is not true of the shared file: return NOTHING, without a
        record."""
        return NOTHING

    def parameters(self, value: Any, place: str) -> Any:
        """Copy the object with test parameters, name -> value. A value that is not an object is
        copied if it is a number, True, False, None or text of numbers, and else left out (NOTHING).
        Parameters whose name is that of an account or a secret are left out, and hosts are replaced
        in those that name hosts or devices. Of the others, what program_text() copies is copied:
        numbers, True, False, None, and text of words that programs write, with known secrets
        replaced. Other values are left out, and so are parameters whose name has words that
        programs don't write."""
        return self._parameters(value, place, _Reader.leave_out, _Reader.program_text)

    def run_parameters(self, value: Any, place: str) -> Any:
        """Copy the test parameters with which a run is repeated, name -> value. Those whose name is
        that of an account or a secret are replaced by GONE unless they are None or "", and hosts
        are replaced in those that name hosts or devices. Others are copied unaltered, or replaced
        by GONE if they are not allowed or have a known secret. If a parameter's name is left out or
        altered, such as one with words that programs don't write, a parameter NAMELESS with the
        value GONE is added. A value that is not an object: as number()."""
        kept = self._parameters(value, place, _Reader.always_gone, _Reader.value_or_gone)
        if isinstance(value, dict) and not value.keys() <= kept.keys():
            kept[NAMELESS] = GONE  # so that `replay` doesn't make the run without it
        return kept

    def _parameters(self, value: Any, place: str, private: Kind, others: Kind) -> Any:
        """Copy test parameters. Hosts are replaced in those that name hosts or devices.

        Args:
            value: name of a parameter -> its value. If it is not an object, it is copied if it is a
                number, True, False, None or text of numbers, and else left out (NOTHING).
            place: the place in the metadata.
            private: method for parameters whose name is that of an account or a secret.
            others: method for all other parameters. Parameters whose name has words that programs
                don't write are left out, whichever they are.
        """
        if not isinstance(value, dict):
            return self.number(value, place)
        kinds: dict[str, Kind] = {}
        for name in value:
            if _PRIVATE_NAME.search(name):
                kinds[name] = private if is_common(name) else _Reader.leave_out
            elif re.search("host|binds?$|station|interface|device", name) and is_common(name):
                kinds[name] = _Reader.hosts
        return self.mapping(value, place, kinds, others)

    def settings(self, value: Any, place: str) -> Any:
        """Copy the object with Flent's settings for the run. Hosts in HOSTS and CONTROL_HOST are
        replaced, local addresses are replaced by GONE, and test parameters copied by
        run_parameters(). Other values are copied unaltered, or replaced by GONE if they are not
        allowed or have a known secret. Settings whose name has words that programs don't write are
        left out. A value that is not an object is copied if it is a number, True, False, None or
        text of numbers, and else left out (NOTHING)."""
        return self.mapping(value, place, _SETTINGS, _Reader.value_or_gone)

    def requested(self, value: Any, place: str) -> Any:
        """Copy the object with the requested settings of the testbed. Programs of the user are
        replaced by GONE, testbeds and devices copied as by testbed() and device(), and other values
        as by value_or_gone(). Settings whose name has words that programs don't write are left out.
        A value that is not an object is copied if it is a number, True, False, None or text of
        numbers, and else left out (NOTHING)."""
        return self.mapping(value, place, _REQUESTED, _Reader.value_or_gone)

    def command(self, value: Any, place: str) -> Any:
        """Copy a tool's command line. It is left out (NOTHING) if it has a known secret, words that
        programs don't write, or an option for a secret or an account. A value other than text is
        left out, too. If only the folder of the program has a secret or such words, the folder is
        removed without a record."""
        if not isinstance(value, str):
            return self._leave_out(place)
        program, _, rest = value.partition(" ")
        shown = f"{program.rpartition('/')[2]} {rest}".strip()
        clean, kinds = self.secrets.clean(shown)
        if kinds or not is_common(clean) or _PRIVATE_OPTION.search(clean):
            return self._leave_out(place)
        return value if is_common(program) and not self.secrets.clean(program)[1] else clean

    def errors(self, value: Any, place: str) -> Any:
        """Replace the list of a tool's errors by a list of ERROR_LEFT_OUT alone, and record it. An
        empty list, or a value that is not a list, is left out (NOTHING) without a record."""
        if not isinstance(value, list) or not value:
            return NOTHING
        self.removed[place] = LEFT_OUT
        return [ERROR_LEFT_OUT]

    def series_meta(self, value: Any, place: str) -> Any:
        """Copy the metadata of series, name of a series -> its metadata. In the names of series,
        words that programs don't write, such as hosts, are replaced. If names become the same, a
        number is added (unused()). Entries of a series are copied by the methods in _OF_SERIES,
        others as tree() does. A `value` that is not an object becomes an empty object."""
        if not isinstance(value, dict):
            return {}
        kept: dict[str, Any] = {}
        for name, meta in value.items():
            clean = self.secrets.series_name(name)
            if clean != name:
                self.removed[f"{place}.{clean}"] = "host name in its name"
            copied = self.mapping(meta, f"{place}.{clean}", _OF_SERIES, _Reader.tree)
            if copied is not NOTHING:
                kept[unused(clean, kept)] = copied
        return kept

    def aqm(self, value: Any, place: str) -> Any:
        """Copy the object AQM with the keys of _AQM. Other keys are left out. A value that is not
        an object: as number()."""
        return self.mapping(value, place, _AQM, None)

    def run(self, value: Any, place: str) -> Any:
        """Copy the object AQM.run, which records how the run was started: test, settings and
        commands. Settings are copied as by settings(). Test and commands are replaced by GONE if
        they are not allowed. Other keys are left out. A value that is not an object is copied if it
        is a number, True, False, None or text of numbers, and else left out (NOTHING).

        place: the value's place in the metadata, "AQM.run".
        """
        return self.mapping(value, place, {
            "test": _Reader.value_or_gone, "settings": _Reader.settings,
            "commands": _Reader.value_or_gone}, None)

    def kernel(self, value: Any, place: str) -> Any:
        """Copy version, hash and name of the lab's kernel, as version(), hash() and value_or_gone()
        do. Other keys are left out. A value that is not an object: as number()."""
        return self.mapping(value, place, {
            "version": _Reader.version, "hash": _Reader.hash, "name": _Reader.value_or_gone}, None)

    def tools(self, value: Any, place: str) -> Any:
        """Copy the object with versions of tools, each as version() does. Tools whose name has
        words that programs don't write are left out. A value that is not an object: as number()."""
        return self.mapping(value, place, {}, _Reader.version)

    def ndt7(self, value: Any, place: str) -> Any:
        """Copy the object with results of NDT7. Keys of _NDT7 are copied by the methods there,
        which replaces hosts in the client's summary, others as by tree(). A value that is not an
        object: as number()."""
        return self.mapping(value, place, _NDT7, _Reader.tree)

    def runner(self, value: Any, place: str) -> Any:
        """Copy the name of a runner's class, such as PingRunner, if the words in it are ones that
        programs write. Other values are copied or left out as program_text() does."""
        if isinstance(value, str) and value.isalnum() \
                and is_common(re.sub("(?<=[a-z0-9])(?=[A-Z])", " ", value)):
            return value
        return self.program_text(value, place)

    def test_id(self, value: Any, place: str) -> Any:
        """Copy the NDT7 server's name for a test if it consists of the name of one of the lab's
        hosts, a number and 16 hexadecimal digits, with "_" between them. Others are left out
        (NOTHING) without a record."""
        host = str(value).partition("_")[0]
        return value if host in LAB_HOSTS and _TEST_ID.fullmatch(value) else NOTHING

    def client(self, value: Any, place: str) -> Any:
        """Copy the name of the NDT7 client if it is a known one. Other values are copied or left
        out (NOTHING) as program_text() does."""
        return value if value in _CLIENTS else self.program_text(value, place)

    def client_summary(self, value: Any, place: str) -> Any:
        """Copy the object that the NDT7 client printed at the end of its test. Hosts in it are
        replaced, and other keys than the client's usual ones left out. A value that is not an
        object: as number()."""
        numbers = dict.fromkeys(("LatencyMs", "RetransmissionPct", "ThroughputMbps"),
                                _Reader.number)

        def summary_of_direction(reader: _Reader, summary: Any, where: str) -> Any:
            """Copy latency, retransmission and throughput from the summary's object `Download` or
            `Upload`. All other keys are left out, and recorded unless their value is empty."""
            return reader.mapping(summary, where, numbers, None)

        return self.mapping(value, place, {
            "ServerFQDN": _Reader.host, "ServerIP": _Reader.host, "ClientIP": _Reader.host,
            "Download": summary_of_direction, "Upload": summary_of_direction}, None)


def unused(name: str, taken: Mapping[str, object]) -> str:
    """Return a name that is not a key of `taken`: the given name, or the name with the first free
    number, "NAME #2", "NAME #3", …"""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} #{number}"
    return free


_PRIVATE_OPTION = re.compile(r"\s-Z|pass|secret|token|hmac|auth|\buser|login|key\b", re.IGNORECASE)
_IN_TREES: Mapping[str, Kind] = {
    "device": _Reader.device, "hash": _Reader.hash, "sha256": _Reader.hash,
    "trace": _Reader.value_or_gone, "kernel": _Reader.version, "version": _Reader.version,
    "ver": _Reader.version, "file": _Reader.leave_out_silently}
_REQUESTED: Mapping[str, Kind] = {
    **dict.fromkeys(("client_program", "server_program", "router_program"), _Reader.always_gone),
    "testbed": _Reader.testbed, "server_testbed": _Reader.testbed,
    "dev_down": _Reader.device, "dev_up": _Reader.device}
_SETTINGS: Mapping[str, Kind] = {
    "HOSTS": _Reader.hosts, "CONTROL_HOST": _Reader.hosts,
    "TEST_PARAMETERS": _Reader.run_parameters,
    "LOCAL_BIND": _Reader.always_gone, "CONTROL_LOCAL_BIND": _Reader.always_gone}
# uuid contains the name of the machine.
_NDT7: Mapping[str, Kind] = {
    "uuid": _Reader.test_id, "client": _Reader.client,
    "summary_of_client": _Reader.client_summary}
_OF_SERIES: Mapping[str, Kind] = {
    **_IN_TREES, "RUNNER": _Reader.runner, "COMMAND": _Reader.command, "ERROR": _Reader.errors,
    "FROM_HOST": _Reader.host, "REMOTE_HOST": _Reader.host, "NDT7": _Reader.ndt7}
_AQM: Mapping[str, Kind] = {
    "schema": _Reader.number, "testbed": _Reader.testbed, "router_model": _Reader.value_or_gone,
    "seed": _Reader.number, "requested": _Reader.requested, "run": _Reader.run,
    **dict.fromkeys(("router", "client", "server", "before", "after", "links", "wifi", "hosts",
                     "warnings"), _Reader.tree),
    "kernel": _Reader.kernel, "tools": _Reader.tools, "flent_aqm": _Reader.version,
    "flent_aqm_hash": _Reader.hash, "virtual_s": _Reader.number, "wall_s": _Reader.number,
    "finished_at": _Reader.time, "samples_sha256": _Reader.leave_out_silently}
# Keys whose values are the user's own words.
FREE_TEXTS = ("TITLE", "NOTE", "BATCH_NAME", "BATCH_TITLE")
_METADATA: Mapping[str, Kind] = {
    "NAME": _Reader.free_text, "HOST": _Reader.host, "HOSTS": _Reader.hosts,
    "LOCAL_HOST": _Reader.host, **dict.fromkeys(FREE_TEXTS, _Reader.free_text),
    **dict.fromkeys(("TIME", "T0", "BATCH_TIME"), _Reader.time),
    **dict.fromkeys(("LENGTH", "TOTAL_LENGTH", "STEP_SIZE", "DELAY", "IP_VERSION", "IRTT_INTERVAL",
                     "FAILED_RUNNERS", "HTTP_GETTER_WORKERS", "HTTP_GETTER_DNS",
                     "HTTP_GETTER_URLLIST"), _Reader.number),
    "FLENT_VERSION": _Reader.version, "KERNEL_RELEASE": _Reader.version,
    "KERNEL_NAME": _Reader.program_text, "BATCH_UUID": _Reader.uuid,
    "MODULE_VERSIONS": _Reader.tree, "SYSCTLS": _Reader.tree,
    "TEST_PARAMETERS": _Reader.parameters, "SERIES_META": _Reader.series_meta,
    "AQM": _Reader.aqm, "DATA_FILENAME": _Reader.leave_out_silently}

# Keys of metadata that a shared file may have.
SHARED_METADATA = frozenset(_METADATA)
# Entries of a series that it has only if they reveal nobody.
NOT_ALWAYS_SHARED = ("SERIES_META.*.COMMAND", "SERIES_META.*.NDT7.uuid")


def allowed_metadata(metadata: Mapping[str, Any], secrets: Secrets
                     ) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the metadata that may be shared, and what was removed or replaced: place in the
    metadata, such as "AQM.kernel" -> what happened, such as "removed" or "host name". Some entries
    are left out without a record: empty ones of unknown keys, those that are not true of the shared
    file (DATA_FILENAME, AQM.samples_sha256), and NDT7's name of a test outside the lab. The
    argument `metadata` is not changed, but what is returned may share lists and objects with it.

    secrets: the secrets of the file. It learns names that are replaced.
    """
    reader = _Reader(secrets)
    kept = reader.mapping(dict(metadata), "", _METADATA, None)
    return kept, reader.removed


def allowed_samples(samples: list[dict[str, Any]], name: str, secrets: Secrets
                    ) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the samples of a series that may be shared, and what was removed or replaced: place ->
    kind. Values are copied as by _Reader.tree(): numbers, and texts of words that programs write.
    Other values are left out of their sample. Keys that have a known secret or words that programs
    don't write are replaced. If all values are numbers, True, False or None, and no key has to be
    replaced, `samples` itself is returned.

    Args:
        samples: raw samples of the series.
        name: name of the series, which must not reveal anything.
        secrets: the secrets of the file. It learns words of keys that are replaced.
    """
    keys: set[str] = set()
    kinds: set[type] = set()
    for sample in samples:
        keys.update(sample)
        kinds.update(map(type, sample.values()))
    reader = _Reader(secrets)
    names = {key: key for key in keys}
    for key in keys:
        if not is_common(key) or secrets.clean(key)[1]:
            names[key] = unused(secrets.series_name(key), names)
            reader.removed[f"raw_values.{name}, a key"] = "name"
    if kinds <= set(_NUMBER_TYPES) and all(key == clean for key, clean in names.items()):
        return samples, {}
    clean_samples = []
    for sample in samples:
        copied = {names[key]: reader.tree(value, f"raw_values.{name}.{names[key]}")
                  for key, value in sample.items()}
        clean_samples.append({key: value for key, value in copied.items() if value is not NOTHING})
    return clean_samples, reader.removed



