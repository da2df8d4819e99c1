# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of an AQM's parameters: read as tc reads them, rounded as the kernel does.

Sources: iproute2 lib/utils.c (get_size, get_time, get_unsigned); Linux include/net/codel.h
(CoDel's time), include/net/pkt_sched.h (psched's time), kernel/time/time.c (jiffies).
Values that tc would silently reinterpret are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.switch import switch
from flent_aqm.spec.queues.units import Scalar

# One value, or all that a kernel may make of it, as not every kernel tells its HZ.
Expected = Scalar | frozenset[Scalar]
Reader = Callable[[str], Scalar]

_NUMBER = re.compile(r"(\d{1,15}(?:\.\d{1,12})?)([A-Za-z]*)")
_SIZE = {"": 1, "b": 1, "k": 2**10, "kb": 2**10, "m": 2**20, "mb": 2**20,
         "g": 2**30, "gb": 2**30}
_TIME_US = {"s": 10**6, "sec": 10**6, "secs": 10**6, "ms": 1000, "msec": 1000, "msecs": 1000,
            "us": 1, "usec": 1, "usecs": 1}
_TIME_NS = {"ns": 1, "nsec": 1, "nsecs": 1, **{name: us * 1000 for name, us in _TIME_US.items()}}
# tc's units of rates are powers of 1000, and of 1024 with an i.
_RATE_BIT_S = {"bit": 1, **{f"{prefix}bit": 1000**power for power, prefix in enumerate(
    ("k", "m", "g", "t"), 1)}, **{f"{prefix}ibit": 1024**power for power, prefix in enumerate(
        ("k", "m", "g", "t"), 1)}}
_U32 = 2**32 - 1
# What kernels are built with; OpenWrt's have 100 or 250, Debian's 250, Ubuntu's 1000.
_KERNEL_HZ = (100, 128, 250, 256, 300, 500, 512, 1000, 1024)


def whole(text: str) -> int:
    """Return a count, of packets, bytes without a unit, flows."""
    if not re.fullmatch(r"\d{1,10}", text) or int(text) > _U32:
        raise ConfigError("expected a whole number from 0 to 2^32 - 1")
    return int(text)


def count_to(most: int) -> Reader:
    """Return a reader of whole numbers from 1 to this."""
    def read(text: str) -> int:
        if not re.fullmatch(r"\d{1,10}", text) or not 1 <= int(text) <= most:
            raise ConfigError(f"expected 1 to {most}")
        return int(text)
    return read


def power_of_two(most: int) -> Reader:
    """Return a reader of powers of two, from 1 to this."""
    def read(text: str) -> int:
        if not re.fullmatch(r"\d{1,10}", text) or int(text) > most or int(text).bit_count() != 1:
            raise ConfigError(f"expected a power of two, up to {most}")
        return int(text)
    return read


def size_bytes(text: str) -> int:
    """Return a size: 1500, 15KB, 32Mb; K, M and G are powers of 1024, and B is for bytes."""
    match = _NUMBER.fullmatch(text)
    if not match or match[2].lower() not in _SIZE:
        raise ConfigError("expected a size in bytes, such as 1500, 15KB or 32MB")
    size = int(float(match[1]) * _SIZE[match[2].lower()])
    if size > _U32:
        raise ConfigError("expected a size below 4 GB")
    return size


def time_us(text: str) -> int:
    """Return a time with its unit: 500us, 5ms, 1s; in microseconds. A 0 needs no unit."""
    match = _NUMBER.fullmatch(text)
    if match and not float(match[1]) and not match[2]:
        return 0
    if not match or match[2].lower() not in _TIME_US:
        raise ConfigError("expected a time with its unit, such as 500us, 5ms or 1s")
    time = int(float(match[1]) * _TIME_US[match[2].lower()])
    if time > _U32:
        raise ConfigError("expected a time below 4295 s")
    return time


def fraction(text: str) -> float:
    """Return a probability."""
    if not re.fullmatch(r"\d{1,3}(\.\d{1,12})?", text) or float(text) > 1:
        raise ConfigError("expected a number from 0 to 1")
    return float(text)


def below_1(text: str) -> float:
    """Return a probability that tc keeps in 32 bits: of 1 they keep nothing."""
    if fraction(text) == 1:
        raise ConfigError("expected a number below 1")
    return fraction(text)


def percent(text: str) -> int:
    """Return a share in percent, without the sign."""
    if not re.fullmatch(r"\d{1,3}", text) or int(text) > 100:
        raise ConfigError("expected a whole number from 0 to 100, in percent")
    return int(text)


def number(text: str) -> float:
    """Return a number that may have decimals."""
    if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text):
        raise ConfigError("expected a number")
    return float(text)


def flag(text: str) -> bool:
    """Return a switch."""
    on = switch(text)
    if on is None:
        raise ConfigError("expected yes or no")
    return on


@dataclass(frozen=True)
class Choice:
    """Reader of one of some words, each of which is a word of tc's, too."""

    words: tuple[str, ...]

    def __call__(self, text: str) -> str:
        """Return the word. Raises ConfigError for any other text."""
        if text not in self.words:
            raise ConfigError(f"expected one of {', '.join(self.words)}")
        return text


@dataclass(frozen=True)
class Graded:
    """Reader of a switch that can be on to a further degree. words: of tc's for off and on, then
    for each degree. Off and on are read as `flag` does, a degree by its name."""

    words: tuple[str, str, str]
    degree: str

    def __call__(self, text: str) -> Scalar:
        """Return False, True or the degree. Raises ConfigError."""
        if text == self.degree:
            return text
        on = switch(text)
        if on is None:
            raise ConfigError(f"expected yes, no or {self.degree}")
        return on

    def tc_word(self, value: Scalar) -> str:
        """Return tc's word for a value."""
        return self.words[2 if value == self.degree else 1 if value else 0]


@dataclass(frozen=True)
class NamedTime:
    """Reader of a time in microseconds, by its number or by tc's word for it."""

    words: Mapping[str, int]

    def __call__(self, text: str) -> int:
        """Return microseconds. Raises ConfigError."""
        if text in self.words:
            return self.words[text]
        try:
            return time_us(text)
        except ConfigError as fault:
            raise ConfigError(f"{fault}; or one of {', '.join(self.words)}") from None


@dataclass(frozen=True)
class Framing:
    """What tc's words for a link's framing add up to. overhead: in bytes; link_layer: atm, ptm,
    noatm, or "" where no word says so; mpu: the least size in bytes, 0 for none; raw: whether the
    sizes are those that the kernel knows."""

    overhead: int
    link_layer: str = ""
    mpu: int = 0
    raw: bool = False


@dataclass(frozen=True)
class Overhead:
    """Reader of bytes that each packet has on the link, by their number or by tc's words for kinds
    of links. words: what each word stands for."""

    least: int
    most: int
    words: Mapping[str, Framing]

    def __call__(self, text: str) -> Scalar:
        """Return a number of bytes, or the words. Raises ConfigError."""
        if re.fullmatch(r"-?\d{1,4}", text) and self.least <= int(text) <= self.most:
            return int(text)
        words = text.split()
        if not words or not set(words) <= self.words.keys():
            raise ConfigError(f"expected bytes from {self.least} to {self.most}, or one or more of "
                              f"{', '.join(self.words)}")
        return " ".join(words)

    def framing(self, value: Scalar) -> Framing:
        """Return what a value of this reader stands for, as tc adds words up: each adds its bytes,
        but `conservative`, which replaces them, and `raw`, which comes first."""
        if isinstance(value, int):
            return Framing(value)
        overhead, link_layer, mpu = 0, "", 0
        for word in str(value).split():
            one = self.words[word]
            overhead = one.overhead if word in ("raw", "conservative") else overhead + one.overhead
            link_layer = one.link_layer or link_layer
            mpu = one.mpu or mpu
        return Framing(overhead, link_layer, mpu, "raw" in str(value).split())


def mask(text: str) -> str:
    """Return a mask of 32 bits as tc prints it: hexadecimal with 0x, and 0 for none."""
    if not re.fullmatch(r"0[xX][0-9a-fA-F]{1,8}|\d{1,10}", text) or int(text, 0) > _U32:
        raise ConfigError("expected a mask of 32 bits, such as 0xff")
    return f"{int(text, 0):#x}" if int(text, 0) else "0"


def selector(text: str) -> str:
    """Return VALUE/MASK of eight bits each, as tc prints them: hexadecimal, and 0 without 0x."""
    parts = text.split("/")
    if len(parts) != 2 or not all(re.fullmatch(r"0[xX][0-9a-fA-F]{1,2}|\d{1,3}", part)
                                  and int(part, 0) < 256 for part in parts):
        raise ConfigError("expected VALUE/MASK of eight bits each, such as 0x1/0x3")
    return "/".join(f"{int(part, 0):#x}" if int(part, 0) else "0" for part in parts)


def time_ns(text: str) -> int:
    """Return a time with its unit: 500ns, 10us, 1ms; in nanoseconds."""
    match = _NUMBER.fullmatch(text)
    factor = _TIME_NS.get(match[2].lower()) if match else None
    if match is None or factor is None or int(float(match[1]) * factor) > _U32:
        raise ConfigError("expected a time with its unit below 4.29 s, such as 500ns or 10us")
    return int(float(match[1]) * factor)


def rate_bytes_per_s(text: str) -> int:
    """Return a rate with its unit: 512kbit, 20mbit, 1gbit; in bytes per second, as the kernel keeps
    it, in 32 bits."""
    match = _NUMBER.fullmatch(text)
    factor = _RATE_BIT_S.get(match[2].lower()) if match else None
    if match is None or factor is None:
        if match and not match[2] and not float(match[1]):
            return 0
        raise ConfigError("expected a rate with its unit, such as 512kbit or 20mbit")
    rate = int(float(match[1]) * factor) // 8
    if rate >= _U32:
        raise ConfigError("expected a rate below 34 gbit")
    return rate


def between(low: int, high: int) -> Reader:
    """Return a reader of whole numbers within these bounds."""
    def read(text: str) -> int:
        if not re.fullmatch(r"\d{1,10}", text) or not low <= int(text) <= high:
            raise ConfigError(f"expected a whole number from {low} to {high}")
        return int(text)
    return read


def time_or_packets(text: str) -> Scalar:
    """Return a time in microseconds, or, of a text such as `5p`, so many packets as a text."""
    match = re.fullmatch(r"(\d{1,10})(p|pkts?|packets?)", text)
    if match and 0 < int(match[1]) <= _U32:
        return f"{int(match[1])}p"
    try:
        return time_us(text)
    except ConfigError as fault:
        raise ConfigError(f"{fault}, or a number of packets, such as 5p") from None


def as_requested(value: Scalar) -> Expected:
    """The kernel keeps the value as it is."""
    return value


def codel_us(value: Scalar) -> Expected:
    """CoDel keeps time in units of 1024 ns: 5 ms come back as 4882 units = 4999 us."""
    return ((int(value) * 1000 >> 10) << 10) // 1000


def psched_us(value: Scalar) -> Expected:
    """PIE's target, kept in ticks of 64 ns; told in nanoseconds of 32 bits."""
    return ((int(value) * 1000 >> 6) << 6) % 2**32 // 1000


def jiffies_us(value: Scalar) -> Expected:
    """Microseconds that the kernel keeps in its timer's ticks, rounded up."""
    return frozenset(-(-int(value) * hz // 10**6) * 10**6 // hz for hz in _KERNEL_HZ)


def jiffies_ms_in_us(value: Scalar) -> Expected:
    """Milliseconds that the kernel keeps in ticks, and tc prints as microseconds, of 32 bits."""
    return frozenset(-(-int(value) * hz // 1000) * 1000 // hz * 1000 % 2**32 for hz in _KERNEL_HZ)


def six_digits(value: float) -> float:
    """Return a number with decimals as tc prints it."""
    return float(f"{value:g}")


def dualpi2_factor(value: Scalar) -> Expected:
    """DualPI2's alpha and beta: tc sends 256ths, and the kernel keeps them in units that
    don't give each back (dualpi2_scale_alpha_beta)."""
    kept = (int(float(value) * 256) * _U32 >> 2) // 10**9
    return six_digits(((kept * 10**9 << 2) // _U32) / 256)


def sfb_share(value: Scalar) -> Expected:
    """SFB's probabilities are kept in 65535ths."""
    return six_digits(int(float(value) * 0xFFFF + 0.5) / 0xFFFF)


def at_least(least: int) -> Callable[[Scalar], Expected]:
    """The kernel raises smaller values to this."""
    return lambda value: max(least, int(value))


def newly_at_least(least: int) -> Callable[[Scalar], Expected]:
    """Newer kernels raise smaller values to this, older ones keep them."""
    return lambda value: frozenset({value, max(least, int(value))})


def at_most(most: int) -> Callable[[Scalar], Expected]:
    """The kernel lowers larger values to this."""
    return lambda value: min(most, int(value))
