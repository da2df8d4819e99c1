# SPDX-License-Identifier: GPL-3.0-or-later
"""Defines the keys of the hosts: TCP, NDT7 server, network card, cross traffic."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError
from flent_aqm.base.switch import SWITCH_WORDS, switch
from flent_aqm.spec.cross_traffic import parse_cross_traffic
from flent_aqm.spec.key import Record, key, with_or_without
from flent_aqm.spec.readers import flag, one_of, whole


def _read_tcp_ecn(name: str, value: object) -> bool | str:
    """Return True or False for a word for a switch (see base/switch.py), and "accecn" for "accecn"
    in lower case. Raises ConfigError for another value.

    name: name of the key, for the message.
    """
    if value == defaults.ACCECN:
        return defaults.ACCECN
    on = switch(value)
    if on is None:
        raise ConfigError(f"{name}: unknown value {str(value)[:40]!r}; expected "
                          f"{defaults.ACCECN}, {SWITCH_WORDS}")
    return on


@dataclass(frozen=True)
class Hosts(Record):
    """Settings of client and server, and of other traffic.

    Attributes:
        cross_traffic: False for none, True for bulk, or the name of another kind.
        tcp_ecn: True if hosts request ECN as in RFC 3168 for TCP, "accecn" if they request accurate
            ECN (RFC 9768), False if they request neither.
        ndt7_server: "own" for this package's NDT7 server, "mlab" for M-Lab's.
        ndt7_cc: congestion control of this package's NDT7 server.
        host_moderation_us: least time between two receive interrupts of a host's network card, in
            µs.
        host_gso: True if hosts send packets of up to 64 kB, which enter the router's queue whole.
    """

    heading = "Hosts and traffic"

    cross_traffic: bool | str = key(
        False, "0; 1 or `bulk`; `call`, `video`, `web`, `quic`",
        "[other traffic](tools.md#cross-traffic) on the line", parse_cross_traffic,
        label="cross traffic", heading="cross", format=with_or_without("cross traffic"))
    tcp_ecn: bool | str = key(False, "0, 1, `accecn`",
                              "hosts request ECN (1), or accurate ECN (RFC 9768), for "
                              "TCP", _read_tcp_ecn)
    ndt7_server: str = key("own", "`own`, `mlab`", "NDT7 server: this package's own, or M-Lab's",
                           partial(one_of, choices=defaults.NDT7_SERVERS))
    ndt7_cc: str = key("bbr", "`bbr`, `cubic`, `reno`", "congestion control of this package's "
                                                        "NDT7 server",
                       partial(one_of, choices=defaults.NDT7_CCS))

    host_moderation_us: int = key(
        defaults.HOST_MODERATION_US, f"0 to {defaults.MOST_HOST_MODERATION_US}",
        "least time between two receive interrupts of a host's network card",
        partial(whole, low=0, high=defaults.MOST_HOST_MODERATION_US), unit="µs")

    host_gso: bool = key(False, "0, 1", "hosts send packets of up to 64 kB (TSO, GSO), which "
                         "enter the router's queue whole", flag)

    def refuse_odd_pairs(self, scenario: Any) -> None:
        """Raise ConfigError if ndt7_cc differs from its default, and either the NDT7 server is
        M-Lab's or the router is behind ssh.

        scenario: the Scenario of which this record is a part.
        """
        if self.ndt7_cc == self.__class__.ndt7_cc:
            return
        if self.ndt7_server != "own":
            raise ConfigError(f"ndt7_cc: {self.ndt7_cc} can't be set with ndt7_server = "
                              f"{self.ndt7_server}, because M-Lab's server always uses BBR; give "
                              "ndt7_server = own, or leave ndt7_cc out", "ndt7_cc")
        if scenario.behind_ssh:
            raise ConfigError(f"ndt7_cc: {self.ndt7_cc} can't be set with a router behind ssh; "
                              "leave the keys ndt7_cc and server_testbed out, and start the "
                              f"server by hand with --congestion-control {self.ndt7_cc}",
                              "ndt7_cc")
