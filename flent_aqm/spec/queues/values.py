# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads values of an AQM's parameters as tc does, and rounds them as the kernel does.

Sources: iproute2 lib/utils.c (get_size, get_time, get_unsigned); Linux include/net/codel.h
(CoDel's time), include/net/pkt_sched.h (psched's time), kernel/time/time.c (jiffies).
Readers raise ConfigError. They also refuse values that tc would silently reinterpret.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.switch import SWITCH_WORDS, switch
from flent_aqm.spec.queues.units import Scalar

# A value, or all values that kernels may report, because not every kernel reveals its HZ.
Expected = Scalar | frozenset[Scalar]
Reader = Callable[[str], Scalar]

_NUMBER = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,12})?)([A-Za-z]*)")
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
# Timer frequencies of kernels. OpenWrt's have 100 or 250, Debian's 250, Ubuntu's 1000.
_KERNEL_HZ = (100, 128, 250, 256, 300, 500, 512, 1000, 1024)


def _digits(text: str) -> int:
    """Return the whole number of up to ten digits that a text is, -1 if it is none. Raises
    ConfigError for a number with zeros before it, which tc takes for octal."""
    if re.fullmatch("0[0-9]{1,9}", text):
        raise ConfigError("expected a whole number without zeros before it, because tc takes it as "
                          "octal")
    return int(text) if re.fullmatch("[0-9]{1,10}", text) else -1


def whole(text: str) -> int:
    """Return a whole number from 0 to 2^32 - 1, such as a number of packets, from up to ten decimal
    digits. Raises ConfigError for other texts."""
    if not 0 <= _digits(text) <= _U32:
        raise ConfigError("expected a whole number without a sign, 2^32 - 1 at most")
    return int(text)


def count_to(most: int) -> Reader:
    """Return a reader of whole numbers from 1 to `most`: a function from text to int, which raises
    ConfigError for other texts."""
    def read(text: str) -> int:
        """Return a whole number from 1 to `most`, the argument of count_to(). Raises ConfigError
        for other texts."""
        if not 1 <= _digits(text) <= most:
            raise ConfigError(f"expected a whole number from 1 to {most}")
        return int(text)
    return read


def power_of_two(most: int) -> Reader:
    """Return a reader of powers of two from 1 to `most`: a function from text to int, which raises
    ConfigError for other texts."""
    def read(text: str) -> int:
        """Return a power of two from 1 to `most`, the argument of power_of_two(). Raises
        ConfigError for other texts."""
        if not 1 <= _digits(text) <= most or int(text).bit_count() != 1:
            raise ConfigError(f"expected a power of two from 1 to {most}")
        return int(text)
    return read


def size_bytes(text: str) -> int:
    """Return a size in bytes, rounded down, from texts such as 1500, 1.5k, 15KB, 32Mb. K, M and G,
    in upper or lower case, are powers of 1024, and both B and b mean bytes. Raises ConfigError for
    other texts, and from 4 GB on."""
    match = _NUMBER.fullmatch(text)
    factor = _SIZE.get(match[2].lower()) if match else None
    if match is None or factor is None or int(float(match[1]) * factor) > _U32:
        raise ConfigError("expected a size in bytes below 4 GB, without a blank, such as 1500, "
                          "15KB or 32MB; units: k, kb, m, mb, g, gb (powers of 1024), b or none")
    return int(float(match[1]) * factor)


def time_us(text: str) -> int:
    """Return a time in us, rounded down, from texts such as 500us, 5ms, 1s. 0 needs no unit. Raises
    ConfigError for other texts, and for more than 2^32 - 1 us (4295 s)."""
    match = _NUMBER.fullmatch(text)
    if match and not float(match[1]) and not match[2]:
        return 0
    factor = _TIME_US.get(match[2].lower()) if match else None
    if match is None or factor is None or int(float(match[1]) * factor) > _U32:
        raise ConfigError("expected a time of 4294.967295 s at most with its unit and without a "
                          f"blank, such as 500us, 5ms or 1s; units: {', '.join(_TIME_US)}")
    return int(float(match[1]) * factor)


def fraction(text: str) -> float:
    """Return a number from 0 to 1, from texts such as 0, 0.02 and 1. Raises ConfigError for other
    texts, such as 2%, .5 and 1e-3."""
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,12})?", text) or float(text) > 1:
        raise ConfigError("expected a number from 0 to 1 in the form 0.02")
    return float(text)


def below_1(text: str) -> float:
    """Return a number from 0 to below 1, from texts as for fraction(). Raises ConfigError for other
    texts. tc stores such probabilities in 32 bits, in which 1 becomes 0."""
    try:
        share = fraction(text)
    except ConfigError:
        share = 1.0
    if share == 1:
        raise ConfigError("expected a number from 0 to below 1 in the form 0.02")
    return share


def percent(text: str) -> int:
    """Return a percentage as a whole number from 0 to 100, from texts such as 10. Raises
    ConfigError for other texts, such as 10% and 2.5."""
    if not 0 <= _digits(text) <= 100:
        raise ConfigError("expected a whole number from 0 to 100, in percent, without a sign")
    return int(text)


def number(text: str) -> float:
    """Return a number from 0 to below 10^9, which may have up to nine decimals. Raises
    ConfigError for other texts."""
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
        raise ConfigError("expected a number in the form 2 or 0.5, with at most 9 digits on each "
                          "side of the decimal point")
    return float(text)


def flag(text: str) -> bool:
    """Return True or False for one of the words for a switch (base/switch.py), such as yes or off.
    Raises ConfigError for other texts."""
    on = switch(text)
    if on is None:
        raise ConfigError(f"expected {SWITCH_WORDS}")
    return on


@dataclass(frozen=True)
class Choice:
    """Reader of one of several words, which are tc's words as well. Called with a text, it returns
    the text, and raises ConfigError for any other.

    Attributes:
        words: the words that are accepted.
    """

    words: tuple[str, ...]

    def __call__(self, text: str) -> str:
        """Return the text if it is one of the words. Raises ConfigError otherwise."""
        if text not in self.words:
            raise ConfigError(f"expected one of {', '.join(self.words)}")
        return text


@dataclass(frozen=True)
class Graded:
    """Reader of a switch with a third position, such as no, yes, aggressive. Called with a text, it
    returns False, True or `degree`, and raises ConfigError for any other text.

    Attributes:
        words: tc's words for off, on and the third position.
        degree: the user's word for the third position.
    """

    words: tuple[str, str, str]
    degree: str

    def __call__(self, text: str) -> Scalar:
        """Return False, True, or the user's word for the third position. Raises ConfigError for
        another text."""
        if text == self.degree:
            return text
        on = switch(text)
        if on is None:
            raise ConfigError(f"expected {self.degree}, {SWITCH_WORDS}")
        return on

    def tc_word(self, value: Scalar) -> str:
        """Return tc's word for a result of this reader: False, True or `degree`."""
        return self.words[2 if value == self.degree else 1 if value else 0]


@dataclass(frozen=True)
class NamedTime:
    """Reader of a time in us, given as a number with a unit or by one of tc's names. Called with a
    text, it returns the time, and raises ConfigError for any other text.

    Attributes:
        words: name of a time -> us.
    """

    words: Mapping[str, int]

    def __call__(self, text: str) -> int:
        """Return the time in us. Raises ConfigError if the text is neither a name nor a time with
        its unit."""
        if text in self.words:
            return self.words[text]
        try:
            return time_us(text)
        except ConfigError as fault:
            raise ConfigError(f"{fault}; or one of {', '.join(self.words)}") from None


@dataclass(frozen=True)
class Framing:
    """The bytes that a link adds to packets, as CAKE counts them.

    Attributes:
        overhead: bytes added to each packet.
        link_layer: atm, ptm, noatm, or "" for the default.
        mpu: least size of a packet in bytes, 0 for none.
        raw: True if the bytes are added to the kernel's size of the packet, with its Ethernet
            header, False if they are added to the IP packet.
    """

    overhead: int
    link_layer: str = ""
    mpu: int = 0
    raw: bool = False


@dataclass(frozen=True)
class Overhead:
    """Reader of the bytes that a link adds to each packet, given as a number or by one or more of
    tc's words for kinds of links, separated by blanks. Called with a text, it returns the number as
    int, or the words as text with single blanks, and raises ConfigError for any other text.
    framing() explains the result.

    Attributes:
        least: least number of bytes that is accepted.
        most: greatest number of bytes that is accepted.
        words: tc's word -> its framing.
    """

    least: int
    most: int
    words: Mapping[str, Framing]

    def __call__(self, text: str) -> Scalar:
        """Return a number of bytes as int, or tc's words with single blanks between them. Raises
        ConfigError for a number out of range, or an unknown word."""
        if _digits(text.removeprefix("-")) >= 0 and self.least <= int(text) <= self.most:
            return int(text)
        words = text.split()
        if not words or not set(words) <= self.words.keys():
            layers = [word for word in words
                      if word in {framing.link_layer for framing in self.words.values()}]
            raise ConfigError(f"expected either one number of bytes from {self.least} to "
                              f"{self.most}, without a unit, or one or more of "
                              f"{', '.join(self.words)}, and not both"
                              + (f"; {layers[0]} is a value of linklayer" if layers else ""))
        return " ".join(words)

    def framing(self, value: Scalar) -> Framing:
        """Return the framing for a result of this reader.

        tc adds the bytes of several words. `conservative` and `raw` replace the bytes of the words
        before them. Of several link layers or mpu, the last one counts.
        """
        if isinstance(value, int):
            return Framing(value)
        overhead, link_layer, mpu = 0, "", 0
        for word in str(value).split():
            added = self.words[word]
            replaces = word in ("raw", "conservative")
            overhead = added.overhead if replaces else overhead + added.overhead
            link_layer = added.link_layer or link_layer
            mpu = added.mpu or mpu
        return Framing(overhead, link_layer, mpu, "raw" in str(value).split())


def mask(text: str) -> str:
    """Return a mask of 32 bits as tc prints it: hexadecimal with 0x, or 0. The text is hexadecimal
    with 0x, or decimal. Raises ConfigError for other texts."""
    if not re.fullmatch(r"0[xX][0-9a-fA-F]{1,8}|0|[1-9][0-9]{0,9}", text) or int(text, 0) > _U32:
        raise ConfigError("expected a mask of 32 bits, hexadecimal with 0x, such as 0xff, or "
                          "decimal without zeros before it")
    return f"{int(text, 0):#x}" if int(text, 0) else "0"


def selector(text: str) -> str:
    """Return VALUE/MASK of eight bits each as tc prints them: hexadecimal with 0x, or 0. In the
    text, each is hexadecimal with 0x, or decimal. Raises ConfigError for other texts."""
    parts = text.split("/")
    if len(parts) != 2 or not all(re.fullmatch(r"0[xX][0-9a-fA-F]{1,2}|0|[1-9][0-9]{0,2}", part)
                                  and int(part, 0) < 256 for part in parts):
        raise ConfigError("expected VALUE/MASK of eight bits each, such as 0x1/0x3, hexadecimal "
                          "with 0x, or decimal without zeros before it")
    return "/".join(f"{int(part, 0):#x}" if int(part, 0) else "0" for part in parts)


def time_ns(text: str) -> int:
    """Return a time in ns, rounded down, from texts such as 500ns, 10us, 1ms. Even 0 needs a unit.
    Raises ConfigError for other texts, and for more than 2^32 - 1 ns (4.29 s)."""
    match = _NUMBER.fullmatch(text)
    factor = _TIME_NS.get(match[2].lower()) if match else None
    if match is None or factor is None or int(float(match[1]) * factor) > _U32:
        raise ConfigError("expected a time of 4.294967295 s at most with its unit and without a "
                          f"blank, such as 500ns or 10us; units: {', '.join(_TIME_NS)}")
    return int(float(match[1]) * factor)


def rate_bytes_per_s(text: str) -> int:
    """Return a rate in bytes per second, rounded down, from texts such as 512kbit, 20mbit, 1gbit.
    It has to be below 2^32 - 1, which fq takes for no limit. 0 needs no unit. Raises ConfigError
    for other texts."""
    match = _NUMBER.fullmatch(text)
    factor = _RATE_BIT_S.get(match[2].lower()) if match else None
    if match and not match[2] and not float(match[1]):
        return 0
    if match is None or factor is None or int(float(match[1]) * factor) // 8 >= _U32:
        raise ConfigError(f"expected a rate in bits per second below {_U32 * 8}bit (about 34.36 "
                          "gbit) with its unit and without a blank, such as 512kbit or 20mbit; "
                          f"units: {', '.join(_RATE_BIT_S)}")
    return int(float(match[1]) * factor) // 8


def between(low: int, high: int) -> Reader:
    """Return a reader of whole numbers from `low` to `high`: a function from text to int, which
    raises ConfigError for other texts."""
    def read(text: str) -> int:
        """Return a whole number from `low` to `high`, the arguments of between(). Raises
        ConfigError for other texts."""
        if not low <= _digits(text) <= high:
            raise ConfigError(f"expected a whole number from {low} to {high}")
        return int(text)
    return read


def time_or_packets(text: str) -> Scalar:
    """Return a time in us as int. For a number of packets from 1 on, such as 5packets, 5pkts or 5p,
    return text in the form "5p". Raises ConfigError for other texts."""
    match = re.fullmatch("([0-9]{1,10})(p|pkts?|packets?)", text)
    if match and 0 < _digits(match[1]) <= _U32:
        return f"{int(match[1])}p"
    try:
        return time_us(text)
    except ConfigError as fault:
        raise ConfigError(f"{fault}; or a number of packets, 1 or more, such as 5p"
                          ) from None


def as_requested(value: Scalar) -> Expected:
    """Return the value unchanged, because the kernel reports what was requested."""
    return value


def codel_us(value: Scalar) -> Expected:
    """Return the time in us that the kernel reports for a time of CoDel of `value` us. It stores it
    in units of 1024 ns: 5000 us become 4882 units = 4999 us."""
    return ((int(value) * 1000 >> 10) << 10) // 1000


def psched_us(value: Scalar) -> Expected:
    """Return the time in us that the kernel reports for a target of PIE of `value` us. It stores
    the time in ticks of 64 ns, rounded down, and reports the lowest 32 bits of the ns."""
    return ((int(value) * 1000 >> 6) << 6) % 2**32 // 1000


def jiffies_us(value: Scalar) -> Expected:
    """Return the set of times in us that kernels may report for a time of `value` us. They store it
    in timer ticks, rounded up, and their timer frequencies differ."""
    return frozenset(-(-int(value) * hz // 10**6) * 10**6 // hz for hz in _KERNEL_HZ)


def jiffies_ms_in_us(value: Scalar) -> Expected:
    """Return the set of times in us that tc may print for a time of `value` ms. Kernels store it in
    timer ticks, rounded up, and report whole ms, rounded down. tc prints the lowest 32 bits of the
    us."""
    return frozenset(-(-int(value) * hz // 1000) * 1000 // hz * 1000 % 2**32 for hz in _KERNEL_HZ)


def six_digits(value: float) -> float:
    """Return a number rounded to the six significant digits that tc prints."""
    return float(f"{value:g}")


def dualpi2_factor(value: Scalar) -> Expected:
    """Return the number that tc reports for a requested alpha or beta of DualPI2. It may differ a
    little from the requested one: tc sends whole 256ths, the kernel stores them in coarser units
    (dualpi2_scale_alpha_beta), and tc prints six digits."""
    kept = (int(float(value) * 256) * _U32 >> 2) // 10**9
    return six_digits(((kept * 10**9 << 2) // _U32) / 256)


def sfb_share(value: Scalar) -> Expected:
    """Return the value that tc reports for a probability of SFB, which is stored in 65535ths and
    printed with six digits."""
    return six_digits(int(float(value) * 0xFFFF + 0.5) / 0xFFFF)


def at_least(least: int) -> Callable[[Scalar], Expected]:
    """Return a function from a requested to the reported value, for a kernel that raises smaller
    values to `least`."""
    return lambda value: max(least, int(value))


def newly_at_least(least: int) -> Callable[[Scalar], Expected]:
    """Return a function from a requested value to the set of values that kernels may report: newer
    ones raise smaller values to `least`, older ones keep them."""
    return lambda value: frozenset({value, max(least, int(value))})


def at_most(most: int) -> Callable[[Scalar], Expected]:
    """Return a function from a requested to the reported value, for a kernel that lowers larger
    values to `most`."""
    return lambda value: min(most, int(value))
