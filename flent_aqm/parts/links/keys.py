# SPDX-License-Identifier: GPL-3.0-or-later
"""Batch keys of a link that plays a schedule: medium access, loss, outages, seeded traces.

The module has their records and the parsers of their values. Only the texts are checked here: trace
files aren't read, because the guest checks the keys too and has no trace files. The named models of
medium access are examples with the numbers of their sources. They are no statement about a product.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError
from flent_aqm.spec.key import Record, key
from flent_aqm.spec.model_words import parse_words
from flent_aqm.spec.readers import number_or_nan, one_of, text_of, whole

NS = 10**9  # ns per second
OPPORTUNITY_BYTES = 1500  # size of one delivery opportunity in mahimahi's traces
_LOSS_PERCENT = r"(\d{1,3}(?:\.\d{1,9})?)%"
_LOSS_FORM = re.compile(rf"{_LOSS_PERCENT}|gemodel((?: {_LOSS_PERCENT}){{1,4}})")
EXPECTED_LOSS = ("expected a share such as 1%, or gemodel P [R [1-H [1-K]]] such as gemodel 1% "
                 "10%, each share 100% at most, with 9 decimals at most")
_OUTAGE = re.compile(r"(\d{1,6}(?:\.\d{0,9})?|\.\d{1,9})-(\d{1,6}(?:\.\d{0,9})?|\.\d{1,9})")
Outage = tuple[int, int]  # begin and end, in ns
_MOST_PATH = 4096
# Values of link_trace_end: after its end a trace repeats, or its last row holds for ever.
ENDS = ("repeat", "hold")


@dataclass(frozen=True)
class Loss:
    """A model of loss: the Markov chain of E. N. Gilbert (1960) and E. O. Elliott (1963), with one
    step per packet. All values are from 0 to 1. Loss without states has `p` 0, and its share is
    `good`.

    Attributes:
        p: probability to change from the good to the bad state.
        r: probability to change from the bad to the good state.
        bad: share of packets that is lost in the bad state.
        good: share of packets that is lost in the good state.
    """

    p: float = 0.0
    r: float = 1.0
    bad: float = 1.0
    good: float = 0.0

    @property
    def mean(self) -> float:
        """Share of packets that is lost in the long run, from 0 to 1."""
        if not self.p:
            return self.good
        return (self.r * self.good + self.p * self.bad) / (self.p + self.r)


def parse_loss(key: str, text: str) -> Loss | None:
    """Parse the value of a loss key.

    Omitted values of gemodel are those of netem: r = 1 - p, 1-h = 100%, 1-k = 0%.

    Args:
        key: the batch key, for messages.
        text: a share such as `1%`, or `gemodel P [R [1-H [1-K]]]`, where each is a share, too:
            Loss.p, r, bad and good. Each has a % sign.

    Returns:
        The model. Of a single share, it is a loss without states. None for an empty text.

    Raises ConfigError if the text has another form, a share is above 100%, or all packets would be
    lost in the long run.
    """
    words = " ".join(text.split())
    if not words:
        return None
    match = _LOSS_FORM.fullmatch(words)
    shares = [float(one) / 100 for one in re.findall(_LOSS_PERCENT, words)] if match else []
    if not shares or max(shares) > 1:
        raise ConfigError(f"{key}: {text[:60]!r} is not a loss; {EXPECTED_LOSS}")
    if match and match[1] is not None:
        loss = Loss(good=shares[0])
    else:
        p, r, bad, good = (*shares, *((1 - shares[0], 1.0, 0.0)[len(shares) - 1:]))
        loss = Loss(p, r, bad, good)
    if loss.mean >= 1:
        raise ConfigError(f"{key}: {text[:60]!r} loses {_why_all_is_lost(loss)}")
    return loss


def _why_all_is_lost(loss: Loss) -> str:
    """Return the end of a message about a loss whose long-term share is 1: from when on it loses
    all packets, and what to give instead."""
    if not loss.p and loss.good == 1:
        return "every packet; expected a loss below 100%, such as 1%"
    if loss.good == 1:
        return ("every packet in both states; expected 1-H or 1-K below 100%, such as gemodel 1% "
                "10%")
    return ("every packet once it is in the bad state, which it never leaves, because R is 0% "
            "(without R it is 100% - P); give an R above 0%, such as gemodel 1% 10%")


def parse_outages(key: str, text: str) -> tuple[Outage, ...]:
    """Parse a list of outages.

    Args:
        key: the batch key, for messages.
        text: such as `10-12, 30-30.5`, in seconds since the link began to play its schedule.

    Returns:
        (begin, end) of each outage, in ns. Empty for an empty text.

    Raises ConfigError if one has another form, or doesn't end after it begins, or if they overlap
    or don't ascend. One may begin where the one before ends.
    """
    outages: list[Outage] = []
    for word in filter(None, (word.strip() for word in text.split(","))):
        parts = _OUTAGE.fullmatch(word)
        outage = (round(float(parts[1]) * NS), round(float(parts[2]) * NS)) if parts else (0, 0)
        if outage[1] <= outage[0]:
            raise ConfigError(f"{key}: {word[:40]!r} is not an outage; expected FROM-TO in "
                              "seconds below 1000000 with 9 decimals at most, TO after FROM, "
                              "such as 10-12, with commas between several")
        outages.append(outage)
    for (_, end), (begin, _) in pairwise(outages):
        if begin < end:
            raise ConfigError(f"{key}: {text[:60]!r} goes back in time from {end / NS:.15g} to "
                              f"{begin / NS:.15g} s; give outages in ascending order, without "
                              "overlap")
    return tuple(outages)


@dataclass(frozen=True)
class Access:
    """A model of a link's medium access. 0 switches a feature off.

    Attributes:
        cycle_ms: length of a cycle. At the end of a cycle the link sends at once what it could have
            carried in that cycle. 0: it sends continuously.
        request_ms: shortest time from a packet's arrival to its departure, because the sender
            requests capacity first.
        period_s: interval at which the link is reallocated: its rate and delay are drawn anew. 0:
            never, and the following attributes have no effect.
        offset_s: time of a reallocation after the link began. Others are whole periods before and
            after it, the first less than a period after the beginning. Rate and delay are drawn for
            the time before it, too.
        rate_spread_pct: greatest deviation of the rate, up or down. Evenly distributed.
        delay_spread_ms: greatest extra one-way delay. Evenly distributed.
        gap_ms: time without transmission at each reallocation.
    """

    cycle_ms: float = 0.0
    request_ms: float = 0.0
    period_s: float = 0.0
    offset_s: float = 0.0
    rate_spread_pct: float = 0.0
    delay_spread_ms: float = 0.0
    gap_ms: float = 0.0


# The lab's clock begins at a full minute, and runs 3 s before a link does.
_STARLINK = Access(period_s=15, offset_s=9, rate_spread_pct=40, delay_spread_ms=10, gap_ms=50)
# Direction -> name -> model. The sender of the download allocates capacity itself, so it needs no
# request. Sources of each number: docs/links.md.
ACCESS_MODELS = {
    "down": {"docsis": Access(), "lte": Access(cycle_ms=1), "starlink": _STARLINK},
    "up": {"docsis": Access(cycle_ms=2, request_ms=2), "lte": Access(cycle_ms=1, request_ms=8),
           "starlink": _STARLINK},
}
# Least and greatest value of each parameter.
_ACCESS_BOUNDS = {
    "cycle_ms": (0.0, 1000.0), "request_ms": (0.0, 1000.0), "period_s": (0.0, 3600.0),
    "offset_s": (0.0, 3600.0), "rate_spread_pct": (0.0, 100.0), "delay_spread_ms": (0.0, 1000.0),
    "gap_ms": (0.0, 10_000.0)}


def parse_access(key: str, text: str, direction: str) -> Access:
    """Parse `NAME+PARAMETER=VALUE+…` into an access model: the named model with changed attributes.

    Args:
        key: the batch key, for messages.
        text: the value of the key, with a NAME of ACCESS_MODELS, alone or with attributes of Access
            as parameters.
        direction: "down" or "up", the direction, which has named models of its own.

    Raises ConfigError if the text has another form, the name or a parameter is unknown, a parameter
    is given twice, or a value is no number or out of range.
    """
    return parse_words(key, text, ACCESS_MODELS[direction], _ACCESS_BOUNDS)


SEEDED = "seeded"


@dataclass(frozen=True)
class Seeded:
    """Parameters of a seeded trace.

    Attributes:
        mean_mbps: mean of the random rates over the whole trace, to which they are scaled.
        sigma_mbps: standard deviation of the rate's change within one second, before the rates are
            scaled to their mean. The default is Sprout's value: 200 packets of 1500 bytes.
        outage_s: mean length of an outage. The default is Sprout's value.
        length_s: length of the trace, after which it repeats.
    """

    mean_mbps: float = 10.0
    sigma_mbps: float = 2.4
    outage_s: float = 1.0
    length_s: float = 120.0


_SEEDED_BOUNDS = {"mean_mbps": (0.1, 1000.0), "sigma_mbps": (0.0, 1000.0),
                  "outage_s": (0.01, 60.0), "length_s": (1.0, 3600.0)}


def parse_seeded(key: str, text: str) -> Seeded | None:
    """Parse `seeded+NAME=VALUE+…`.

    Args:
        key: the batch key, for messages.
        text: the value of the key. Parameters are the attributes of Seeded; `seeded` alone is all
            defaults.

    Returns:
        The parameters, None for any other text, which is a file's path.

    Raises ConfigError if what follows `seeded` has another form, a parameter is unknown or given
    twice, or its value is no number or out of range.
    """
    if text.split("+")[0] != SEEDED:
        return None
    return parse_words(key, text, {SEEDED: Seeded()}, _SEEDED_BOUNDS)


def _check_trace(key: str, value: object) -> str:
    """Return the value of a trace's key as text. Raises ConfigError if it is longer than 4096
    characters, contains control characters, is a wrong `seeded+…`, or True or False. No file is
    looked for."""
    text = text_of(key, value, "the path of a file, or seeded+NAME=VALUE")
    if len(text) > _MOST_PATH:
        raise ConfigError(f"{key}: the path {text[:60]!r}… is longer than {_MOST_PATH} characters; "
                          "give a shorter one")
    if re.search(r"[\x00-\x1f\x7f]", text):
        raise ConfigError(f"{key}: the path {text[:60]!r} contains control characters; rename the "
                          "file")
    parse_seeded(key, text)
    return text


def _check_loss(key: str, value: object) -> str:
    """Return the value of a loss's key as text. Raises ConfigError if parse_loss() refuses it, or
    for True and False."""
    text = text_of(key, value, "a share such as 1%")
    parse_loss(key, text)
    return text


def _check_access(key: str, value: object) -> str:
    """Return the value of an access's key as text. Raises ConfigError if parse_access() refuses it,
    or for True and False.

    Args:
        key: link_down_access or link_up_access, which tells the direction.
        value: the given value.
    """
    text = text_of(key, value, "a model such as docsis")
    parse_access(key, text, "down" if "_down_" in key else "up")
    return text


def _check_outages(key: str, value: object) -> str:
    """Return the value of the outages' key as text. Raises ConfigError if parse_outages() refuses
    it, or for True and False."""
    text = text_of(key, value, "times such as 10-12")
    parse_outages(key, text)
    return text


def _read_jitter_ms(key: str, value: object) -> float:
    """Return the jitter in ms. Raises ConfigError if the value is no number from 0 to 4000, also
    for True and False."""
    form = f"a number of ms from 0 to {defaults.MAX_JITTER_MS:g}"
    number = number_or_nan(text_of(key, value, form))
    if not 0 <= number <= defaults.MAX_JITTER_MS:
        raise ConfigError(f"{key}: {str(value)[:40]!r}; expected {form}")
    return number


_each_trace: Any = partial(
    key, "", "file, `seeded+NAME=VALUE…`", "how the link's rate changes over time: "
                                           "[links](../links.md)", _check_trace,
    both="link_trace", usual="none", is_file=True)
_each_access: Any = partial(
    key, "", "`docsis`, `lte`, `starlink`, `+NAME=VALUE`", "how the link grants its capacity to "
                                                           "senders", _check_access,
    both="link_access", usual="none")
_each_loss: Any = partial(
    key, "", "`1%`, `gemodel P [R [1-H [1-K]]]`", "random loss behind the modem's buffer, in the "
                                                  "words of tc-netem(8)", _check_loss,
    both="link_loss", usual="none")
_each_jitter: Any = partial(
    key, 0.0, "0 to 4000", "random delay of each packet, up to this, without "
                           "reordering", _read_jitter_ms, both="link_jitter_ms",
    unit="ms")
_each_buffer: Any = partial(
    key, None, "1 to 9999999", "the modem's buffer in packets", partial(
        whole, low=1, high=9_999_999), both="modem_buffer_packets", unit="packets", usual="none")


@dataclass(frozen=True)
class Link(Record):
    """Settings of a link that plays a schedule in place of the modem's TBF.

    Traces are paths of files, or `seeded+…`. Losses, accesses and outages are texts that
    parse_loss(), parse_access() and parse_outages() take. Each of these is "" if it isn't given, a
    buffer None, a jitter 0. docs/links.md explains the keys.
    """

    heading = "A link that changes"

    link_down_trace: str = _each_trace()
    link_up_trace: str = _each_trace()
    link_trace_end: str = key(ENDS[0], "`repeat`, `hold`", "after the end of a trace: start "
                                                           "again, or hold the last rate",
                              partial(one_of, choices=ENDS))
    link_down_access: str = _each_access()
    link_up_access: str = _each_access()
    link_down_loss: str = _each_loss()
    link_up_loss: str = _each_loss()
    link_down_jitter_ms: float = _each_jitter()
    link_up_jitter_ms: float = _each_jitter()
    link_outages_s: str = key("", "`10-12, 30-30.5`", "times in which the link carries nothing, "
                                                      "in seconds of the run", _check_outages,
                              usual="none")
    modem_down_buffer_packets: int | None = _each_buffer()
    modem_up_buffer_packets: int | None = _each_buffer()

    @property
    def replaces_modem(self) -> bool:
        """Whether the link takes the modem's place, which it does if any value of this record
        differs from its default."""
        return self.is_there

    @property
    def only_in_lab(self) -> str:
        """Error message for a testbed in real time if any value differs from its default, otherwise
        "": only the lab's kernel plays schedules. The caller puts the testbed in place of
        "{testbed}"."""
        return ("link_…, modem_…_buffer_packets: a link that plays a schedule needs the virtual "
                "lab's kernel; on testbed {testbed} leave these keys out" if self.is_there else "")

    def refuse_odd_pairs(self, scenario: Any) -> None:
        """Check the record together with the other settings.

        Args:
            scenario: settings of the whole run.

        Raises ConfigError if a direction has both link_..._trace and modem_..._mbps.
        """
        for direction in ("down", "up"):
            if self.of(direction, "link_trace") and scenario.path.modem_mbps(direction):
                raise ConfigError(
                    f"{self.shown_key(direction, 'link_trace')}: the trace gives the rate; give no "
                    f"modem_{direction}_mbps, nor modem_mbps, which sets both directions",
                    f"link_{direction}_trace")

    def of(self, role: str, name: str) -> Any:
        """Return the value of a setting in one direction. Example: `of("up", "link_loss")` returns
        link_up_loss.

        Args:
            role: the direction, "down" or "up".
            name: name of the key without the direction.
        """
        group, _, rest = name.partition("_")
        return getattr(self, f"{group}_{role}_{rest}")

    def shown_key(self, role: str, name: str) -> str:
        """Return the key of a setting in one direction for messages. If both directions have the
        same value, this is the key for both, because users usually give that key.

        Args:
            role: the direction, "down" or "up".
            name: name of the key without the direction, such as "link_trace".
        """
        group, _, rest = name.partition("_")
        is_same = self.of("down", name) == self.of("up", name)
        return name if is_same else f"{group}_{role}_{rest}"
