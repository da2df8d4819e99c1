# SPDX-License-Identifier: GPL-3.0-or-later
"""Router models: how slow the lab's router or one of its hosts is.

A model is written as a name, followed by changed parameters:

    ideal                               every packet passes, and every timer fires, at once
    20us                                the timers of all qdiscs fire 20 us late, else as ideal
    omnia                               a named router, see known_routers.py
    omnia+rx_packet_ns=12000+cores=2    the model omnia with two parameters changed

A model with a parameter other than `timer_latency_us` has network cards and a processor, which
patch 0010 of the lab's kernel implements. docs/router-models.md explains each parameter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError
from flent_aqm.base.nearest import did_you_mean, unknown_value
from flent_aqm.spec.readers import as_text, number_or_nan

_LATENCY = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,3})?)us")
# On the link a frame has a preamble, a checksum and a gap around it: 8 + 4 + 12 bytes.
_LINK_OVERHEAD_BYTES = 24
# Packets per second that the probes of irtt alone send through the router, in both directions.
_PROBES_PER_S = 2 / defaults.IRTT_INTERVAL_S
_KINDS = ("process", "interrupt")


@dataclass(frozen=True)
class RouterModel:
    """Timers, cards and processor of a router or a host. The defaults are those of an infinitely
    fast router.

    Attributes:
        timer_latency_us: delay of the timers of qdiscs, for reasons of the hardware.
        line_mbps: rate of each port's link, 0: not limited. A frame takes 24 bytes more than its
            own on the link.
        line_up_mbps: rate of the link of the port towards the server, 0: as line_mbps.
        rx_ring_packets: descriptors of each port's receive ring.
        tx_ring_packets: descriptors of each port's transmit ring.
        bql: True if the transmit ring has byte queue limits.
        rx_coalesce_us: interrupt moderation (ethtool's rx-usecs): an interrupt comes so long after
            a packet, or after rx_coalesce_packets, whichever is first.
        rx_coalesce_packets: number of arrived packets that cause an interrupt (ethtool's
            rx-frames). 0: no limit in packets.
        cores: 1, or 2: one core for each port.
        rx_packet_ns: processor time for taking a packet from the receive ring and forwarding it,
            per packet.
        rx_byte_ns: the same, per byte of the packet.
        tx_packet_ns: processor time for dequeuing and sending a packet, per packet.
        tx_byte_ns: the same, per byte of the packet.
        wakeup_us: time from an interrupt to the beginning of work on the first packet.
        napi_weight: most packets of one port in a poll.
        netdev_budget: after so many packets, counted at the end of each poll, a round of polls
            ends, and the timers of qdiscs are looked at. A round also ends after softirq_limit_us.
        softirq_limit_us: after so long in softirqs without a break, or after ten rounds, processes
            run.
        other_work_per_s: work other than packets: mean number per second (a Poisson process).
        other_work_us: mean duration of other work (exponentially distributed).
        other_work_kind: `process`: it runs when no packet waits, and for process_slice_us whenever
            processes run although packets wait (softirq_limit_us). `interrupt`: it takes the
            processor at once.
        process_slice_us: longest time for which processes run while packets wait.
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
        """Delay in ns of the timers of qdiscs, with which the lab's kernel is booted."""
        return round(self.timer_latency_us * 1000)

    @property
    def has_cards(self) -> bool:
        """Whether the model has more than a timer latency: cards and a processor."""
        return self != RouterModel(timer_latency_us=self.timer_latency_us)

    def packet_ns(self, frame_bytes: int) -> float:
        """Return the processor time in ns to receive, forward and send a packet.

        Args:
            frame_bytes: size of its frame.
        """
        return (self.rx_packet_ns + self.tx_packet_ns
                + frame_bytes * (self.rx_byte_ns + self.tx_byte_ns))

    def card(self, device: str, core: int, seed: int) -> str:
        """Return the line for a device in /sys/module/lab_router/parameters/card: the device and
        NAME=VALUE words, without a newline.

        Args:
            device: the network device. "up" is the port towards the server, which may have a rate
                of its own, line_up_mbps.
            core: number of the port, from 0. With one core, all ports share it.
            seed: seed of the random numbers of other work.
        """
        line_mbps = (device == "up" and self.line_up_mbps) or self.line_mbps
        words = {
            "core": core % self.cores,
            # ps per byte
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
        """Return all parameters in a form that JSON can hold."""
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
    """Parse the text of a router model.

    Args:
        text: name of a model, or its timer latency, then +PARAMETER=VALUE for each changed
            parameter, such as "omnia+cores=2" or "20us".
        key: the batch key, for messages.

    Raises ConfigError if the name or a parameter is unknown, a parameter is given twice, a value is
    out of range or of another kind, or the probes' packets alone or other work alone would take all
    of the processor's time.
    """
    from flent_aqm.parts.router_models.known_routers import KNOWN_ROUTERS

    name, *changes = text.split("+")
    latency = _LATENCY.fullmatch(name)
    if name in KNOWN_ROUTERS:
        model = KNOWN_ROUTERS[name]
    elif latency and float(latency[1]) * 1000 <= defaults.MAX_WATCHDOG_LATENCY_NS:
        model = RouterModel(timer_latency_us=float(latency[1]))
    else:
        raise ConfigError(
            f"{key}: {unknown_value(name, KNOWN_ROUTERS)}, or a timer latency from 0us to "
            f"{defaults.MAX_WATCHDOG_LATENCY_NS // 1000}us, with three decimals at most, such as "
            "12.5us")
    parameters: dict[str, Any] = dict(_parse_change(key, change) for change in changes)
    if len(parameters) != len(changes):
        given = [change.partition("=")[0] for change in changes]
        twice = next(one for one in given if given.count(one) > 1)
        raise ConfigError(f"{key}: {text!r} gives the parameter {twice} more than once; give it "
                          "once")
    model = replace(model, **parameters)
    if parameters:
        _refuse_useless(key, model)
    return model


def with_parameters(text: str, parameters: Mapping[str, object], key: str = "router_model") -> str:
    """Return the model's text with these parameters added or replaced.

    The parameters are sorted, so that equal changes give equal texts.

    Args:
        text: text of the model.
        parameters: name -> value. None and "" change nothing.
        key: the batch key, for messages.

    Raises ConfigError if the text or the result is no valid model.
    """
    name, *changes = text.split("+")
    texts = dict(change.partition("=")[::2] for change in changes)
    texts |= {parameter: as_text(value)
              for parameter, value in parameters.items() if value not in ("", None)}
    joined = "+".join([name, *(f"{parameter}={texts[parameter]}" for parameter in sorted(texts))])
    parse_router_model(text, key)
    parse_router_model(joined, key)
    return joined


def with_latency(latency_ns: int) -> str:
    """Return the text of the model that has this timer latency only, such as `20us`."""
    return f"{latency_ns / 1000:g}us"


def _parse_change(key: str, change: str) -> tuple[str, float | int | str | bool]:
    """Parse `NAME=VALUE`. Return the parameter's name and its value: text for other_work_kind, True
    or False for bql (1 or 0), otherwise a number.

    Args:
        key: the batch key, for messages.
        change: the text.

    Raises ConfigError if the text has another form, the parameter is unknown, or the value is out
    of range or of another kind.
    """
    name, equals, text = change.partition("=")
    if not equals or name not in PARAMETERS:
        why = (f"{name!r} is not a parameter of a router model{did_you_mean(name, PARAMETERS)}"
               if equals else f"{change!r} has no = and value")
        raise ConfigError(f"{key}: {why}; expected NAME=VALUE, with a NAME of "
                          f"{', '.join(PARAMETERS)}")
    return name, parse_value(f"{key}: {name}", name, text)


def parse_value(where: str, name: str, text: str) -> float | int | str | bool:
    """Parse the value of a parameter. Return text for other_work_kind, True or False for bql (1 or
    0), otherwise a number.

    Args:
        where: beginning of messages, which says where the value is given.
        name: the parameter, one of PARAMETERS.
        text: the value.

    Raises ConfigError if the value is out of range or of another kind.
    """
    if name == "other_work_kind":
        if text not in _KINDS:
            raise ConfigError(f"{where}: {unknown_value(text, _KINDS)}")
        return text
    if name == "bql":
        if text not in ("0", "1"):
            raise ConfigError(f"{where}: {text!r} is neither 0 nor 1")
        return text == "1"
    low, high = _BOUNDS[name]
    whole = name in _WHOLE
    number = number_or_nan(text)
    if not low <= number <= high or (whole and number != int(number)):
        kind = "a whole number" if whole else "a number"
        wrong = "is not a number" if math.isnan(number) else "is out of range" if not (
            low <= number <= high) else "is not whole"
        raise ConfigError(f"{where}: {text!r} {wrong}; "
                          f"expected {kind} from {low:.10g} to {high:.10g}")
    return int(number) if whole else number


def _refuse_useless(key: str, model: RouterModel) -> None:
    """Raise ConfigError if the probes alone, or the other work alone, keep the processor busy:
    nothing could be measured.

    Args:
        key: the batch key, for messages.
        model: the model.
    """
    cost_ns = model.packet_ns(100)
    if cost_ns * _PROBES_PER_S >= 1e9:
        raise ConfigError(
            f"{key}: a packet of 100 bytes costs {cost_ns / 1e6:g} ms of processor time, so this "
            f"router forwards {1e9 / cost_ns:.0f} packets a second, but the probes alone are "
            f"{_PROBES_PER_S:g}; expected less than {1e3 / _PROBES_PER_S:g} ms: give smaller "
            "rx_packet_ns, rx_byte_ns, tx_packet_ns or tx_byte_ns")
    if model.other_work_per_s * model.other_work_us >= 1e6:
        raise ConfigError(
            f"{key}: other work {model.other_work_per_s:.12g} times a second for "
            f"{model.other_work_us:.12g} us takes a whole core; expected less than 1000000 us a "
            "second in all: give a smaller other_work_per_s or other_work_us")
