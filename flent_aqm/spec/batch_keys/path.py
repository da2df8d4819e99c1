# SPDX-License-Identifier: GPL-3.0-or-later
"""Defines the keys of the path between client and server: delays, a modem, the topology."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError
from flent_aqm.spec.key import Record, key
from flent_aqm.spec.readers import delay, rate, text_of

DUMBBELL = "dumbbell"
_DELAY = "0 to 604800000"
_far = partial(delay, most_ms=defaults.MAX_FAR_DELAY_MS)


def _read_topology(name: str, value: object) -> str:
    """Return the value of the key `topology` in canonical form: "dumbbell", another named topology
    as NAME:N with its words, or links in one line, also those of a file. Raises ConfigError if it
    is no topology, or if its file can't be read.

    name: name of the key, for the message.
    """
    if value == DUMBBELL:
        return DUMBBELL
    # Imported here, because topology.py imports this module.
    from flent_aqm.spec.topology.topology import parse_topology

    return parse_topology(name, text_of(name, value, "a topology, such as clients:2")).text


_each_modem: Any = partial(key, None, "0.064 to 40000", "a modem behind the router", rate,
                           both="modem_mbps", is_paired=True, unit="Mbit/s", usual="none")


@dataclass(frozen=True)
class Path(Record):
    """Settings of the path between client and server.

    Attributes:
        base_delay_ms: round-trip delay that the server adds, in ms, half of it in each direction.
        dest2_delay_ms: how much longer the round-trip delay of a second server is, in ms. None
            without this server.
        reorder_ms: greatest random delay of a packet at each server, in each direction, in ms.
            Packets overtake each other, as netem draws a delay for each.
        modem_down_mbps: rate of the modem between router and server, in Mbit/s. Its queues are
            drop-tail. None without a modem, or if a link's trace gives the rate.
        modem_up_mbps: as modem_down_mbps, for the upload.
        modem_down_buffer_ms: size of the modem's queue for the download, as time at its rate.
        modem_up_buffer_ms: as modem_down_buffer_ms, for the upload.
        topology: canonical text of the network, "dumbbell" for client, router and server.
    """

    heading = "The line"

    base_delay_ms: float = key(0.0, _DELAY, "added round-trip delay, half in each direction, at "
                                            "the server", _far,
                               unit="ms", label="added delay, ms", heading="delay ms",
                               format="+{} ms".format)
    dest2_delay_ms: float | None = key(None, _DELAY, "adds a second server `dest2`, whose "
                                                     "round-trip delay is longer by this",
                                       _far, unit="ms", usual="none")
    reorder_ms: float = key(0.0, "0 to 1000", "random delay of each packet at each server, up to "
                            "this, in both directions: packets overtake each other",
                            partial(delay, most_ms=1000), unit="ms")
    modem_down_mbps: float | None = _each_modem()
    modem_up_mbps: float | None = _each_modem()
    modem_down_buffer_ms: float = key(
        defaults.MODEM_BUFFER_MS, "0 to 10000", "length of the modem's drop-tail queue for the "
                                                "download", delay,
        unit="ms")
    modem_up_buffer_ms: float = key(
        defaults.MODEM_BUFFER_MS, "0 to 10000", "length of the modem's drop-tail queue for the "
                                                "upload", delay, unit="ms")
    topology: str = key(DUMBBELL, "`clients:N`, `parking_lot:N`, `subscribers:N`, file, links",
                        "the network of hosts and routers: [topologies](../topology.md)",
                        _read_topology)

    def refuse_odd_pairs(self, scenario: Any) -> None:
        """Raise ConfigError if reorder_ms isn't 0, and base_delay_ms or dest2_delay_ms is above
        MAX_DELAY_MS, a delay that netem doesn't make.

        scenario: the Scenario of which this record is a part.
        """
        for key_, delay_ms in (("base_delay_ms", self.base_delay_ms),
                               ("dest2_delay_ms", self.dest2_delay_ms or 0)):
            if self.reorder_ms and delay_ms > defaults.MAX_DELAY_MS:
                raise ConfigError(f"reorder_ms: {self.reorder_ms:g} ms can't be combined with "
                                  f"{key_} = {delay_ms:.15g}, only with "
                                  f"{defaults.MAX_DELAY_MS:g} ms or less; give a shorter delay, or "
                                  "leave reorder_ms out", "reorder_ms")

    def modem_mbps(self, direction: str) -> float | None:
        """Return the modem's rate in Mbit/s. None without a modem, or if a link's trace gives the
        rate of this direction.

        direction: "down" or "up".
        """
        return self.modem_up_mbps if direction == "up" else self.modem_down_mbps

    def modem_buffer_ms(self, direction: str) -> float:
        """Return the size of the modem's buffer as time at its rate, in ms. Without a modem, it has
        no effect.

        direction: "down" or "up".
        """
        return self.modem_up_buffer_ms if direction == "up" else self.modem_down_buffer_ms
