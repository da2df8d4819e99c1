# SPDX-License-Identifier: GPL-3.0-or-later
"""What stations get of a Wi-Fi channel, by analysis.

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
    """A station that is sent aggregates of so many IP packets each, on average."""

    rate_mbps: float
    frames: float
    packet_bytes: int = 1500


@dataclass(frozen=True)
class Share:
    """airtime: of all data's, 0 to 1; alone_mbps: what the station would get with the channel to
    itself; mbps: what it gets of it, of IP packets."""

    airtime: float
    alone_mbps: float
    mbps: float


def published(phy: Phy, receivers: Sequence[Receiver], *, fair: bool) -> list[Share]:
    """Return the shares as the paper has them. fair: turns by airtime; else each station's next
    aggregate in turn. What contention and acknowledgements cost is charged to each station in
    proportion to its airtime."""
    data = [phy.data_us(one.frames, one.packet_bytes, one.rate_mbps) for one in receivers]
    shares = [1 / len(data) if fair else one / sum(data) for one in data]
    all_shares = []
    for one, data_us, share in zip(receivers, data, shares, strict=True):
        alone = (8 * one.frames * one.packet_bytes
                 / (data_us + phy.overhead_us(one.rate_mbps)))
        all_shares.append(Share(share, alone, share * alone))
    return all_shares


def by_turns(phy: Phy, receivers: Sequence[Receiver], *, fair: bool) -> list[Share]:
    """Return the shares with each aggregate's own overhead: how many aggregates a station is sent
    for each of the others' follows from the turns, and how long all of them take. Where the
    stations' aggregates differ in length, that is not quite what published() says."""
    data = [phy.data_us(one.frames, one.packet_bytes, one.rate_mbps) for one in receivers]
    turns = [1 / one if fair else 1.0 for one in data]
    whole = [data_us + phy.overhead_us(one.rate_mbps)
             for one, data_us in zip(receivers, data, strict=True)]
    round_us = sum(turn * each for turn, each in zip(turns, whole, strict=True))
    air_us = sum(turn * each for turn, each in zip(turns, data, strict=True))
    return [Share(turn * data_us / air_us, 8 * one.frames * one.packet_bytes / each,
                  turn * 8 * one.frames * one.packet_bytes / round_us)
            for one, data_us, turn, each in zip(receivers, data, turns, whole, strict=True)]
