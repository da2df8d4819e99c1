# SPDX-License-Identifier: GPL-3.0-or-later
"""Compute what stations get of a Wi-Fi channel, by analysis.

Source: T. Høiland-Jørgensen, M. Kazior, D. Täht, P. Hurtig, A. Brunstrom, "Ending the Anomaly:
Achieving Low Latency and Airtime Fairness in WiFi", USENIX ATC 2017, section 2.2.1: the time of an
aggregate's data, what one station alone would get with it, and the share of the air that each has
of stations which always have something to receive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flent_aqm.parts.wifi.phy import Phy


@dataclass(frozen=True)
class Receiver:
    """A station that always has aggregates to receive.

    Attributes:
        rate_mbps: bit rate at which its data are sent on the channel.
        frames: mean number of IP packets in an aggregate.
        packet_bytes: size of an IP packet.
    """

    rate_mbps: float
    frames: float
    packet_bytes: int = 1500


@dataclass(frozen=True)
class Share:
    """What a station gets of the channel.

    Attributes:
        airtime: its share of the airtime of all data, 0 to 1.
        alone_mbps: rate of IP packets that it would get with the channel to itself.
        mbps: rate of IP packets that it gets.
    """

    airtime: float
    alone_mbps: float
    mbps: float


def published(phy: Phy, receivers: Sequence[Receiver], *, fair: bool) -> list[Share]:
    """Return each receiver's share by the paper's formulas, which charge the cost of contention and
    acknowledgements to each station in proportion to its airtime.

    Args:
        phy: parameters of the channel.
        receivers: the stations.
        fair: True: turns by airtime. False: each station's next aggregate in turn.
    """
    data = [phy.data_us(one.frames, one.packet_bytes, one.rate_mbps) for one in receivers]
    shares = [1 / len(data) if fair else one / sum(data) for one in data]
    all_shares = []
    for one, data_us, share in zip(receivers, data, shares, strict=True):
        alone = (8 * one.frames * one.packet_bytes
                 / (data_us + phy.overhead_us(one.rate_mbps)))
        all_shares.append(Share(share, alone, share * alone))
    return all_shares


def by_turns(phy: Phy, receivers: Sequence[Receiver], *, fair: bool) -> list[Share]:
    """Return each receiver's share with each aggregate's own overhead: the turns give the number of
    aggregates of each station, and how long all of them take. If the stations' aggregates differ in
    length, the result differs a little from published().

    Args:
        phy: parameters of the channel.
        receivers: the stations.
        fair: True: turns by airtime. False: each station's next aggregate in turn.
    """
    data = [phy.data_us(one.frames, one.packet_bytes, one.rate_mbps) for one in receivers]
    turns = [1 / one if fair else 1.0 for one in data]
    whole = [data_us + phy.overhead_us(one.rate_mbps)
             for one, data_us in zip(receivers, data, strict=True)]
    round_us = sum(turn * each for turn, each in zip(turns, whole, strict=True))
    air_us = sum(turn * each for turn, each in zip(turns, data, strict=True))
    return [Share(turn * data_us / air_us, 8 * one.frames * one.packet_bytes / each,
                  turn * 8 * one.frames * one.packet_bytes / round_us)
            for one, data_us, turn, each in zip(receivers, data, turns, whole, strict=True)]
