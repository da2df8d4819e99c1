# SPDX-License-Identifier: GPL-3.0-or-later
"""Router models: how slow the lab's router is, or one of its hosts.

A model is written as a name with parameters of one's own behind it:

    ideal                               every packet passes, and every timer fires, at once
    20us                                the timers of all qdiscs fire 20 us late, no more
    omnia                               a named router, see known_routers.py
    omnia+rx_packet_ns=12000+cores=2    the same with two parameters changed

A router with a parameter beside `timer_latency_us` has network cards and a processor: patch
0010 of the lab's kernel. docs/router-models.md explains each parameter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError
from flent_aqm.base.nearest import unknown_value

_LATENCY = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,3})?)us")
# On the link a frame has a preamble, a checksum and a gap around it: 8 + 4 + 12 bytes.
_LINK_OVERHEAD_BYTES = 24
# What the probes alone send through the router: irtt, there and back.
_PROBES_PER_S = 2 / defaults.IRTT_INTERVAL_S
_KINDS = ("process", "interrupt")


@dataclass(frozen=True)
class RouterModel:
    """A router's timers, cards and processor. Defaults are those of an infinitely fast one.

    timer_latency_us: how late a qdisc's timer fires for reasons of the hardware
    line_mbps: rate of each port's link, 0: none. A frame takes 24 bytes more than its own.
    line_up_mbps: of the link of the port towards the server, 0: as line_mbps
    rx_ring_packets, tx_ring_packets: descriptors of each port
    bql: the transmit ring has byte queue limits
    rx_coalesce_us, rx_coalesce_packets: an interrupt comes so long after a packet, or when
        so many are there, whatever is first (ethtool's rx-usecs and rx-frames); 0: no limit
        by packets
    cores: 1, or 2: one for each port
    rx_packet_ns, rx_byte_ns: what taking a packet out of the ring and forwarding it costs
    tx_packet_ns, tx_byte_ns: what dequeuing and sending it costs
    wakeup_us: from an interrupt to the first packet's begin
    napi_weight, netdev_budget: packets of one port's turn, and of all turns between looks at
        the qdiscs' timers
    softirq_limit_us: after this time without a break processes get their turn
    other_work_per_s, other_work_us: work beside packets, a Poisson process with lengths that
        are exponentially distributed
    other_work_kind: `process`, which runs when no packet waits and, at the limit above, for
        process_slice_us; or `interrupt`, which takes the processor at once
    """

    timer_latency_us: float = 0
    line_mbps: float = 0
    line_up_mbps: float = 0
    rx_ring_packets: int = 512
    tx_ring_packets: int = 1024
    bql: bool = True
    rx_coalesce_us: float = 0
    rx_coalesce_packets: int = 0
    cores: int = 1
    rx_packet_ns: float = 0
    rx_byte_ns: float = 0
    tx_packet_ns: float = 0
    tx_byte_ns: float = 0
    wakeup_us: float = 0
    napi_weight: int = 64
    netdev_budget: int = 300
    softirq_limit_us: float = 2000
    other_work_per_s: float = 0
    other_work_us: float = 0
    other_work_kind: str = "process"
    process_slice_us: float = 3000

    @property
    def timer_latency_ns(self) -> int:
        """What the lab's kernel is booted with."""
        return round(self.timer_latency_us * 1000)

    @property
    def has_cards(self) -> bool:
        """Whether there is more to it than late timers."""
        return self != RouterModel(timer_latency_us=self.timer_latency_us)

    def packet_ns(self, frame_bytes: int) -> float:
        """Return what a packet costs the processor on its way through the router."""
        return (self.rx_packet_ns + self.tx_packet_ns
                + frame_bytes * (self.rx_byte_ns + self.tx_byte_ns))

    def card(self, device: str, core: int, seed: int) -> str:
        """Return one device's line for /sys/module/lab_router/parameters/card."""
        line_mbps = (device == "up" and self.line_up_mbps) or self.line_mbps
        words = {
            "core": core % self.cores,
            # ps a byte
            "line_ps": round(8e6 / line_mbps) if line_mbps else 0,
            "overhead": _LINK_OVERHEAD_BYTES,
            "rx_ring": self.rx_ring_packets, "tx_ring": self.tx_ring_packets,
            "bql": int(self.bql),
            "rx_wait_ns": round(self.rx_coalesce_us * 1000),
            "rx_frames": self.rx_coalesce_packets,
            "rx_packet_ns": round(self.rx_packet_ns),
            "rx_byte_ps": round(self.rx_byte_ns * 1000),
            "tx_packet_ns": round(self.tx_packet_ns),
            "tx_byte_ps": round(self.tx_byte_ns * 1000),
            "wake_ns": round(self.wakeup_us * 1000),
            "weight": self.napi_weight, "budget": self.netdev_budget,
            "softirq_ns": round(self.softirq_limit_us * 1000),
            "other_gap_ns": round(1e9 / self.other_work_per_s) if self.other_work_per_s else 0,
            "other_ns": round(self.other_work_us * 1000),
            "other_irq": int(self.other_work_kind == "interrupt"),
            "slice_ns": round(self.process_slice_us * 1000),
            "seed": seed,
        }
        return " ".join([device, *(f"{name}={value}" for name, value in words.items())])

    def as_dict(self) -> dict[str, object]:
        """Return all parameters, fit for JSON."""
        return asdict(self)


# Least and greatest value of each number.
_BOUNDS: Mapping[str, tuple[float, float]] = {
    "timer_latency_us": (0, defaults.MAX_WATCHDOG_LATENCY_NS / 1000),
    **dict.fromkeys(("line_mbps", "line_up_mbps"), (0, defaults.MAX_RATE_MBPS)),
    "rx_ring_packets": (1, 65_536),
    "tx_ring_packets": (2, 65_536),
    "rx_coalesce_us": (0, 10_000),
    "rx_coalesce_packets": (0, 65_536),
    "cores": (1, 2),
    "rx_packet_ns": (0, 1e9), "rx_byte_ns": (0, 1e6),
    "tx_packet_ns": (0, 1e9), "tx_byte_ns": (0, 1e6),
    "wakeup_us": (0, 10_000),
    "napi_weight": (1, 65_536),
    "netdev_budget": (1, 65_536),
    "softirq_limit_us": (100, 1_000_000),
    "other_work_per_s": (0, 100_000),
    "other_work_us": (0, 1_000_000),
    "process_slice_us": (1, 1_000_000),
}

PARAMETERS = tuple(one.name for one in fields(RouterModel))
_WHOLE = {one.name for one in fields(RouterModel) if one.type == "int"}


def parse_router_model(text: str, key: str = "router_model") -> RouterModel:
    """Return the model of that text. key: for messages. Raises ConfigError."""
    from flent_aqm.parts.router_models.known_routers import KNOWN_ROUTERS

    name, *changes = text.split("+")
    latency = _LATENCY.fullmatch(name)
    if name in KNOWN_ROUTERS:
        model = KNOWN_ROUTERS[name]
    elif latency and float(latency[1]) * 1000 <= defaults.MAX_WATCHDOG_LATENCY_NS:
        model = RouterModel(timer_latency_us=float(latency[1]))
    else:
        raise ConfigError(
            f"{key}: {unknown_value(name, KNOWN_ROUTERS)}, or a timer latency "
            f"from 0us to {defaults.MAX_WATCHDOG_LATENCY_NS // 1000}us such as 12.5us")
    parameters: dict[str, Any] = dict(_change(key, change) for change in changes)
    if len(parameters) != len(changes):
        raise ConfigError(f"{key}: {text!r} gives a parameter twice; give it once")
    model = replace(model, **parameters)
    if parameters:
        _refuse_useless(key, model)
    return model


def with_parameters(text: str, parameters: Mapping[str, object], key: str = "router_model") -> str:
    """Return the model's text with these parameters in it, checked, in the one order that all
    runs of this model have. What is empty isn't given. Raises ConfigError."""
    name, *changes = text.split("+")
    texts = dict(change.partition("=")[::2] for change in changes)
    # Flent makes True and False of words and of 0 and 1.
    texts |= {parameter: str(int(value)) if isinstance(value, bool) else str(value)
                for parameter, value in parameters.items() if value not in ("", None)}
    joined = "+".join([name, *(f"{parameter}={texts[parameter]}" for parameter in sorted(texts))])
    parse_router_model(text, key)
    parse_router_model(joined, key)
    return joined


def with_latency(latency_ns: int) -> str:
    """Return the model that adds so many ns to timers, as it stands in a batch."""
    return f"{latency_ns / 1000:g}us"


def _change(key: str, change: str) -> tuple[str, float | int | str | bool]:
    name, equals, text = change.partition("=")
    if not equals or name not in PARAMETERS:
        raise ConfigError(f"{key}: {change!r} is not a parameter of a router model; expected "
                          f"NAME=VALUE, with a NAME of {', '.join(PARAMETERS)}")
    if name == "other_work_kind":
        if text not in _KINDS:
            raise ConfigError(f"{key}: {name}: {unknown_value(text, _KINDS)}")
        return name, text
    if name == "bql":
        if text not in ("0", "1"):
            raise ConfigError(f"{key}: {name}: {text!r} is neither 0 nor 1")
        return name, text == "1"
    low, high = _BOUNDS[name]
    whole = name in _WHOLE
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not low <= number <= high or (whole and number != int(number)):
        kind = "a whole number" if whole else "a number"
        raise ConfigError(f"{key}: {name}: {text!r} is out of range; "
                          f"expected {kind} from {low:g} to {high:g}")
    return name, int(number) if whole else number


def _refuse_useless(key: str, model: RouterModel) -> None:
    """Refuse a processor that the probes alone keep busy: nothing could be measured."""
    cost_ns = model.packet_ns(100)
    if cost_ns * _PROBES_PER_S >= 1e9:
        raise ConfigError(
            f"{key}: a packet of 100 bytes costs {cost_ns / 1e6:g} ms, so this router "
            f"forwards {1e9 / cost_ns:.0f} packets a second, but the probes alone are "
            f"{_PROBES_PER_S:g}; give less than {1e3 / _PROBES_PER_S:g} ms")
    if model.other_work_per_s * model.other_work_us >= 1e6:
        raise ConfigError(
            f"{key}: other work {model.other_work_per_s:g} times a second for "
            f"{model.other_work_us:g} us takes a whole core; give less than 1000000 us a second "
            "in all")
