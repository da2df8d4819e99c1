# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints values as tc's text output does, so that they can be compared with it.

Source: iproute2 tc/tc_util.c (print_time), lib/json_print_math.c (sprint_size), tc/q_*.c.
"""

from __future__ import annotations

from flent_aqm.spec.queues.table import reported_parameter
from flent_aqm.spec.queues.units import Scalar


def printed(kind: str, name: str, unit: str, value: Scalar) -> frozenset[Scalar]:
    """Return the set of all texts that versions of tc print for a parameter's value. For a text or
    a switch, the set has only the value itself, except for HTB's `default`, from which old versions
    leave out 0x.

    Args:
        kind: name of the qdisc.
        name: name of the parameter in tc's JSON.
        unit: unit of the value, as unit_of() returns it.
        value: the value as tc's JSON has it.
    """
    if (kind, name) == ("htb", "default"):  # iproute2 before 4.20 leaves 0x out
        return frozenset({value, str(value).removeprefix("0x")})
    if isinstance(value, (bool, str)):
        return frozenset({value})
    if unit == "us":
        texts = {time_text(int(value)), old_time_text(int(value))}
        parameter = reported_parameter(kind, name)
        if parameter and parameter.also_ms:
            texts.add(f"{int(value) // 1000}ms")
        return frozenset(texts)
    if unit == "ns":
        return frozenset({time_ns_text(int(value))})
    if unit == "bytes":
        # With the unit, or in some qdiscs as a bare number.
        return frozenset({size_text(int(value)), f"{value}b", f"{value}B", str(value)})
    if unit == "packets":
        return frozenset({f"{value}p", str(value)})
    if unit == "packets_per_s":
        return frozenset({f"{value}pps", str(value)})
    if unit == "s":
        return frozenset({f"{value}sec"})
    if unit == "bytes_per_s":
        return frozenset({rate_text(int(value))})
    if unit == "percent":
        return frozenset({str(value), f"{value}%"})
    if isinstance(value, float):  # DualPI2's have %f; SFB's once had %.5f
        return frozenset({f"{value:g}", f"{round(value * 256) / 256:f}", f"{value:.5f}"})
    return frozenset({str(value)})


def time_text(time_us: int) -> str:
    """Return a time as tc prints it, in s, ms or us with at most three significant digits, such as
    "5ms". Below 1 ms it is in whole us: "500us". A number that rounds to 1000 or more has an
    exponent: "1.2e+03s"."""
    if time_us >= 10**6:
        return f"{_three_digits(time_us / 10**6)}s"
    if time_us >= 1000:
        return f"{_three_digits(time_us / 1000)}ms"
    return f"{time_us}us"


def time_ns_text(time_ns: int) -> str:
    """Return a time in ns as tc prints it, in s, ms, us or ns with at most three significant
    digits, such as "10us". Below 1 us it is in whole ns. A number that rounds to 1000 or more has
    an exponent: "1e+03us"."""
    for unit, letters in ((10**9, "s"), (10**6, "ms"), (1000, "us")):
        if time_ns >= unit:
            return f"{_three_digits(time_ns / unit)}{letters}"
    return f"{time_ns}ns"


def old_time_text(time_us: int) -> str:
    """Return a time as tc of iproute2 before 5.7 prints it, with one decimal, such as "5.0ms".
    Below 1 ms it has none: "500us"."""
    if time_us >= 10**6:
        return f"{time_us / 10**6:.1f}s"
    if time_us >= 1000:
        return f"{time_us / 1000:.1f}ms"
    return f"{time_us}us"


def size_text(size_bytes: int) -> str:
    """Return a size as tc prints it, such as "32Mb" or "1514b": from 2^20 bytes on as a multiple of
    these if it is less than 1024 bytes from one, else from 2^10 bytes on as a multiple of these if
    it is less than 16 bytes from one, otherwise in bytes."""
    for unit, letter, near in ((2**20, "M", 1024), (2**10, "K", 16)):
        count = round(size_bytes / unit)
        if size_bytes >= unit and abs(unit * count - size_bytes) < near:
            return f"{count:g}{letter}b"
    return f"{size_bytes}b"


def rate_text(bytes_per_s: int) -> str:
    """Return a rate as tc prints it, in bit/s with a decimal prefix, such as "100Mbit".

    A rate that is no whole multiple of the next unit stays in the smaller unit: "1500Kbit". From
    1,000,000 of a unit on, the larger unit is used, and the remainder is dropped."""
    rate = bytes_per_s * 8
    for unit in ("", "K", "M", "G"):
        if rate < 1000 or (rate % 1000 and rate < 1_000_000):
            return f"{rate}{unit}bit"
        rate //= 1000
    return f"{rate}Tbit"


def _three_digits(value: float) -> str:
    """Return a number rounded to three significant digits, without zeros at the end of decimals, as
    tc prints times. A number that rounds to 1000 or more has an exponent: 1234 becomes "1.23e+03".
    """
    return f"{value:.3g}"
