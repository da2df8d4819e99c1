# SPDX-License-Identifier: GPL-3.0-or-later
"""Parameters of a Wi-Fi channel: times of the physical layer, and limits of an aggregate.

The times include those of channel access and of acknowledgements. Sources of each number:
docs/wifi.md. Numbers without another source are from IEEE Std 802.11-2020.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from flent_aqm.base.errors import ConfigError
from flent_aqm.spec.model_words import parse_words

# Bytes of a frame in addition to its IP packet: MPDU delimiter 4, QoS MAC header 26, LLC and SNAP
# 8, FCS 4. The whole frame is padded to a multiple of four bytes.
FRAME_BYTES = 42
_PADDED_TO = 4
# A compressed block acknowledgement, sent as OFDM: preamble and signal 20 us, then
# symbols of 4 us for 16 bits of service, the frame, 6 bits of tail.
_ACK_BYTES, _LEGACY_PREAMBLE_US, _SYMBOL_US, _MORE_BITS = 32, 20, 4, 22
# The acknowledgement is sent at the highest of these rates that isn't above the data's.
_BASIC_RATES_MBPS = (24, 12, 6)


@dataclass(frozen=True)
class Phy:
    """Parameters of a Wi-Fi channel.

    Attributes:
        slot_us: length of a backoff slot.
        sifs_us: short interframe space, before an acknowledgement.
        aifs_us: time for which the channel has to be idle before backoff slots are counted.
        cw_min: least contention window, in slots.
        cw_max: greatest contention window, in slots.
        retries: most retransmissions of an aggregate, which then is given up.
        preamble_us: time on the air before the data of an aggregate.
        frames: most frames of an aggregate.
        bytes: most bytes of an aggregate of several frames, as on_air_bytes() counts them.
        txop_us: longest time on the air of an aggregate of several frames, with its preamble.
        hardware: most aggregates that each sender has ready, the one on the air included.
        driver_packets: packets that the driver's FIFO takes from the qdisc above it (wifi_ap =
            fifo).
        memory_mb: limit of the memory of mac80211's queues, in MiB.
    """

    slot_us: float = 9
    sifs_us: float = 16
    aifs_us: float = 43
    cw_min: float = 15
    cw_max: float = 1023
    retries: float = 7
    preamble_us: float = 36
    frames: float = 32
    bytes: float = 65535
    txop_us: float = 4000
    hardware: float = 2
    driver_packets: float = 123
    memory_mb: float = 4

    def data_us(self, frames: float, packet_bytes: int, rate_mbps: float) -> float:
        """Return the time in us that an aggregate is on the air, including its preamble. The limits
        of an aggregate are not applied.

        Args:
            frames: number of IP packets in the aggregate.
            packet_bytes: size of each IP packet.
            rate_mbps: the station's rate.
        """
        return self.preamble_us + frames * on_air_bytes(packet_bytes) * 8 / rate_mbps

    def overhead_us(self, rate_mbps: float) -> float:
        """Return the time in us that an aggregate takes on the channel in addition to data_us(), if
        no other station contends: AIFS, a mean backoff of half the window, SIFS and
        acknowledgement.

        Args:
            rate_mbps: the station's rate.
        """
        return (self.aifs_us + self.slot_us * self.cw_min / 2 + self.sifs_us
                + ack_us(rate_mbps))


PHYS: Mapping[str, Phy] = {
    "n": Phy(),
    "ac": Phy(preamble_us=40, frames=64, bytes=1048575, txop_us=5484, memory_mb=16),
}
_BOUNDS: Mapping[str, tuple[float, float]] = {
    "slot_us": (1, 100), "sifs_us": (0, 100), "aifs_us": (0, 1000), "cw_min": (0, 32767),
    "cw_max": (0, 32767), "retries": (0, 100), "preamble_us": (0, 1000), "frames": (1, 1024),
    "bytes": (1, 1 << 24), "txop_us": (1, 20_000), "hardware": (1, 8),
    "driver_packets": (1, 100_000), "memory_mb": (1, 64)}
_WHOLE = ("cw_min", "cw_max", "retries", "frames", "bytes", "hardware", "driver_packets")


def parse_phy(key: str, text: str) -> Phy:
    """Parse `NAME+PARAMETER=VALUE+…` into a channel's parameters: those of NAME, a name of PHYS
    such as "n", with other values for the given attributes of Phy.

    Args:
        key: the batch key, for messages.
        text: value of the key.

    Raises ConfigError if the text has another form, a name is unknown, a parameter is given twice,
    a value is out of range, a count isn't whole, or cw_max is below cw_min.
    """
    phy = parse_words(key, text, PHYS, _BOUNDS)
    for name in _WHOLE:
        value = getattr(phy, name)
        if value != int(value):
            raise ConfigError(f"{key}: {name}: {value:.15g} is not a whole number; give one")
    if phy.cw_max < phy.cw_min:
        raise ConfigError(f"{key}: cw_min, {phy.cw_min:g}, is above cw_max, {phy.cw_max:g}; raise "
                          "cw_max, or lower cw_min")
    return phy


def on_air_bytes(packet_bytes: int) -> int:
    """Return the bytes that a frame takes in an aggregate, with its headers and padding.

    Args:
        packet_bytes: size of its IP packet.
    """
    return -(-(packet_bytes + FRAME_BYTES) // _PADDED_TO) * _PADDED_TO


def ack_us(rate_mbps: float) -> float:
    """Return the time in us that the block acknowledgement of data at this rate is on the air."""
    basic = next((rate for rate in _BASIC_RATES_MBPS if rate <= rate_mbps), _BASIC_RATES_MBPS[-1])
    symbols = math.ceil((_ACK_BYTES * 8 + _MORE_BITS) / (basic * _SYMBOL_US))
    return _LEGACY_PREAMBLE_US + symbols * _SYMBOL_US
