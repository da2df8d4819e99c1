# SPDX-License-Identifier: GPL-3.0-or-later
"""Defines the keys of the router: its queue, and the shaper above it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError, about
from flent_aqm.base.switch import switch
from flent_aqm.spec.batch_keys.path import DUMBBELL
from flent_aqm.spec.kernel import STOCK, parse_kernel
from flent_aqm.spec.key import Record, Settings, key, named_value, with_or_without
from flent_aqm.spec.queues.external import OPTIONS, is_external, queue_of
from flent_aqm.spec.queues.parameters import (
    check_parameter,
    check_shaper_parameter,
    from_tc_words,
)
from flent_aqm.spec.queues.shapers import SHAPER_PARAMETERS
from flent_aqm.spec.queues.table import QUEUES
from flent_aqm.spec.queues.units import Scalar
from flent_aqm.spec.readers import (
    as_text,
    command,
    flag,
    number,
    number_or_nan,
    one_of,
    packets,
    rate,
    whole,
    words_for,
)
from flent_aqm.spec.testbeds import VIRTUAL

Parameters = tuple[tuple[str, str], ...]
# AQMs with a shaper of their own, for shaper = cake.
_OWN_SHAPER = ("cake", "cake_mq")
_USUAL_MBPS = 100.0


def _check_aqm(key: str, value: object, settings: Settings) -> str:
    """Return the name of an AQM in the table of queues. With a kernel that the user built, other
    valid names of qdiscs are returned, too. They are looked up in that kernel later.

    Args:
        key: "aqm" or "up_aqm", for the message.
        value: the given name.
        settings: all given settings, of which `kernel` is used.

    Raises ConfigError for an unknown name, for the qdisc's name of a queue that is called otherwise
    here, such as pfifo, or if the name of the kernel isn't valid.
    """
    for name, queue in QUEUES.items():
        if value == queue.kind and value not in QUEUES:
            raise ConfigError(f"{key}: the qdisc {value} is called {name} here; give {key} = {name}"
                              )
    is_own = parse_kernel("kernel", settings.get("kernel") or STOCK) != STOCK
    if is_own and not isinstance(value, bool) and is_external(str(value)):
        return str(value)
    try:
        return one_of(key, value, tuple(QUEUES))
    except ConfigError as fault:
        if is_own and not isinstance(value, bool):
            raise ConfigError(f"{fault}, or the name of a qdisc of your kernel: up to 15 "
                              "lower-case letters, digits and _, a letter first") from None
        if not is_external(str(value)) or settings.get("testbed") not in (None, "", VIRTUAL):
            raise
        raise ConfigError(f"{fault}; a queue of a kernel of yours needs kernel = NAME, too (names: "
                          "flent-aqm kernel list)") from None


def _read_aqm(key: str, settings: Settings) -> str:
    """Return the download's AQM, "no_aqm" if the value is missing or "". Raises ConfigError
    if _check_aqm() refuses the name.

    Args:
        key: "aqm".
        settings: all given settings.
    """
    _, value = named_value(key, "", settings)
    return _check_aqm(key, "no_aqm" if value is None else value, settings)


def _read_up_aqm(key: str, settings: Settings) -> str | None:
    """Return the upload's AQM. If `key` is missing or "": the download's if parameters of
    the upload's are given, otherwise None, which means that the upload has the download's AQM with
    the same parameters. Raises ConfigError if _check_aqm() refuses the name.

    Args:
        key: "up_aqm".
        settings: all given settings.
    """
    _, value = named_value(key, "", settings)
    if value is not None:
        return _check_aqm(key, value, settings)
    # False and 0 are values: up_aqm_ecn = no. Empty values of a batch count as not given.
    own = any(name.startswith("up_aqm_") and value not in ("", None, {})
              for name, value in settings.items())
    return _read_aqm("aqm", settings) if own else None


def _given_parameters(key: str, settings: Settings) -> dict[str, str]:
    """Return the given parameters of a queue or shaper, name -> text without blanks at its ends.
    They come from keys PREFIX_NAME, unless their value is "" or None, and from a mapping under the
    key PREFIX_parameters, the form of Scenario.as_dict(), without values that are None. If both
    have a parameter, that of PREFIX_NAME counts. True and False become "1" and "0".

    Args:
        key: PREFIX_parameters, such as "aqm_parameters".
        settings: all given settings.

    Raises ConfigError if `key` has a value that is neither a mapping nor empty.
    """
    prefix = key.removesuffix("parameters")
    _, as_mapping = named_value(key, "", settings)
    as_mapping = {} if as_mapping is None else as_mapping
    if not isinstance(as_mapping, Mapping):
        raise ConfigError(f"{key}: {str(as_mapping)[:60]!r} is not a set of parameters; give each "
                          f"parameter as {prefix}NAME = value", key)
    requested = {str(name): value for name, value in as_mapping.items() if value is not None}
    # Empty values of a batch count as not given.
    requested |= {name[len(prefix):]: value for name, value in settings.items()
                  if name.startswith(prefix) and name != key and value not in ("", None)}
    return {name: as_text(value).strip() for name, value in requested.items()}


def _read_shaper_parameters(key: str, settings: Settings) -> Parameters:
    """Return the shaper's given parameters as pairs (name, text), checked, and sorted by name.
    Raises ConfigError if the shaper has no such parameter, if a value isn't valid, or if the value
    of `key` is neither a mapping nor empty.

    Args:
        key: "shaper_parameters".
        settings: all given settings.
    """
    shaper = str(settings.get("shaper") or defaults.SHAPERS[0])
    with _as_written(settings):
        return tuple(sorted((name, check_shaper_parameter(shaper, name, text))
                            for name, text in _given_parameters(key, settings).items()))


@contextmanager
def _as_written(settings: Settings, options: Collection[str] = (), prefix: str = ""
                ) -> Iterator[None]:
    """Context manager: in a ConfigError of the block about a parameter, name what the user wrote:
    the key of options instead of the parameter's own key, and the words of which Flent makes True
    or False instead of "1" and "0".

    Args:
        settings: all given settings.
        options: names of parameters that are given in the key of options.
        prefix: prefix of the parameters' keys, such as "aqm_".
    """
    try:
        yield
    except ConfigError as fault:
        text, given = str(fault), settings.get(fault.key)
        if fault.key.startswith(prefix) and fault.key.removeprefix(prefix) in options:
            key = f"{prefix}{OPTIONS}"
            raise ConfigError(f"{key}: {text.removeprefix(prefix)}", key) from None
        if isinstance(given, bool):
            one = as_text(given)
            text = text.replace(repr(one), f"{one} ({words_for(given)} count as {one})", 1)
        raise ConfigError(text, fault.key) from None


def _read_parameters(key: str, settings: Settings) -> Parameters:
    """Return the given parameters of one direction's AQM as pairs (name, text), checked, and sorted
    by name. A switch has the text "yes" or "no". Of a queue in the table of queues, tc's words in
    PREFIX_options are converted to such pairs. Empty if none are given.

    Args:
        key: "aqm_parameters" or "up_aqm_parameters", PREFIX_parameters.
        settings: all given settings.

    Raises ConfigError if the AQM is unknown or has no such parameter, if a value isn't valid, if
    from_tc_words() refuses PREFIX_options, if a parameter is also in PREFIX_options, or if the
    value of `key` is neither a mapping nor empty.
    """
    prefix = key.removesuffix("parameters")
    read = _read_up_aqm if prefix == "up_aqm_" else _read_aqm
    aqm = read(prefix.removesuffix("_"), settings)
    if aqm is None:
        return ()
    requested = _given_parameters(key, settings)
    from_options: Mapping[str, str] = {}
    if OPTIONS in requested and not queue_of(aqm).external:
        from_options = from_tc_words(aqm, f"{prefix}{OPTIONS}", requested.pop(OPTIONS))
        for name in from_options.keys() & requested.keys():
            raise ConfigError(f"{prefix}{name}: given twice, here and in {prefix}{OPTIONS}; "
                              "leave one of them out",
                              f"{prefix}{name}")
        requested |= from_options
    with _as_written(settings, from_options, prefix):
        return tuple(sorted((name, check_parameter(aqm, name, text, prefix))
                            for name, text in requested.items()))


def _read_rate(key: str, settings: Settings) -> float:
    """Return the rate of a direction in Mbit/s, 100 if none is given. A percentage from 1% to 100%
    is converted with the modem's rate in this direction.

    Args:
        key: "rate_down_mbps" or "rate_up_mbps". If it isn't given, the key `rate_mbps` counts.
        settings: all given settings.

    Raises ConfigError if the rate or percentage isn't a number or is out of range, if it is a
    percentage without a modem, as beside a link's trace, or if the modem's rate isn't valid.
    """
    name, value = named_value(key, "rate_mbps", settings)
    if value is None:
        return _USUAL_MBPS
    text = str(value).strip()
    if not text.endswith("%"):
        try:
            return rate(name, value)
        except ConfigError as fault:
            none = "; for no limit give shaper = none" if switch(value) is False else ""
            raise ConfigError(f"{fault}, or 1% to 100% of the modem's rate{none}", fault.key
                              ) from None
    share_pct = number_or_nan(text[:-1])
    if not 1 <= share_pct <= 100:
        raise ConfigError(f"{name}: {text[:40]!r}; expected 1% to 100% of the modem's rate", name)
    modem = key.replace("rate_", "modem_")
    modem_key, whole_mbps = named_value(modem, "modem_mbps", settings)
    if whole_mbps is None:
        trace_key, trace = named_value(f"link_{key.split('_')[1]}_trace", "link_trace", settings)
        if trace is not None:
            raise ConfigError(f"{name}: {text} is a share of the modem's rate, but {trace_key} "
                              "gives a rate that changes, in place of a modem's; give the "
                              "shaper's rate in Mbit/s", name)
        way = "download" if key == "rate_down_mbps" else "upload"
        # Alone, the modem's rate in one direction would be refused.
        modems = ("modem_mbps" if name == "rate_mbps" else
                  f"{modem} or modem_mbps"
                  if any(settings.get(one) for one in ("modem_down_mbps", "modem_up_mbps")) else
                  "modem_mbps, or modem_down_mbps and modem_up_mbps")
        raise ConfigError(f"{name}: {text} is a share of the modem's {way} rate, which is not "
                          f"given; set {modems}, or give the rate in Mbit/s", name)
    with about(modem_key):
        mbps = round(rate(modem_key, whole_mbps) * share_pct / 100, 6)
    if mbps < defaults.MIN_RATE_MBPS:
        raise ConfigError(f"{name}: {text} of the modem's rate is {mbps:g} Mbit/s; expected "
                          f"{defaults.MIN_RATE_MBPS:g} Mbit/s or more", name)
    return mbps


def _read_tbf_burst_ms(key: str, value: object) -> float:
    """Return the burst of the TBF shaper, as time at its rate in ms. Raises ConfigError if it isn't
    a number above 0 and up to MAX_TBF_BURST_MS.

    key: name of the key, for the message.
    """
    burst_ms = number(key, value, "ms")
    if not 0 < burst_ms <= defaults.MAX_TBF_BURST_MS:
        raise ConfigError(f"{key}: {value} ms is out of range; expected more than 0, and "
                          f"{defaults.MAX_TBF_BURST_MS:g} ms at most")
    return burst_ms


def _rate_text(value: str) -> str:
    """Return a rate with its unit. The name of a trace, which stands for the rate of a link that
    plays it, has none."""
    return f"{value} Mbit/s" if re.fullmatch(r"[\d./]+", value) else value


_each_rate: Any = partial(
    key, _USUAL_MBPS, "0.064 to 40000, or `85%` of the modem's", "rate of the router's shaper",
    reader=_read_rate, both="rate_mbps", unit="Mbit/s", label="link rate", heading="Mbit/s",
    format=_rate_text)


@dataclass(frozen=True)
class Router(Record):
    """Settings of the router: its queue, and the shaper above it.

    Attributes:
        aqm: name of the download's AQM, and of the upload's if `up_aqm` is None.
        aqm_parameters: given parameters as pairs of name and text, such as ("target", "10ms"),
            sorted by name.
        up_aqm: name of the upload's AQM. None for the download's AQM and parameters.
        up_aqm_parameters: given parameters of the upload's AQM, empty if `up_aqm` is None.
        rate_down_mbps, rate_up_mbps: rates to which the shaper limits the directions, in Mbit/s.
        shaper: "htb", "hfsc", "tbf", "cake", or "none" for no shaper.
        shaper_parameters: given parameters of the shaper, in the form of aqm_parameters.
        tbf_burst_ms: burst of the TBF shaper, as time at its rate. None for 1 ms.
        tiers: 3 for three classes by DSCP, otherwise 1.
        ingress: where the download is shaped: "lan", as it leaves to the LAN, or "ifb", as it
            arrives.
        burst_shaping: True to let HTB exceed the rate in bursts.
        txqueuelen: transmit queue length of the router's devices in packets. None to leave it.
        tx_queues: number of transmit queues of each device. None for one, and behind ssh for as
            many as the router has.
        router_program: command line of a program that is started on the router when its queue is in
            place. "" for none.
    """

    heading = "The router and its queue"

    aqm: str = key("no_aqm", "a name of [queues](queues.md)",
                   "queue (AQM) for both directions", reader=_read_aqm, heading="AQM",
                   format=str)
    aqm_parameters: Parameters = key(
        (), "see [queues](queues.md); `aqm_options`: words as tc takes them",
        "parameter of the queue, such as `aqm_target = 10ms`", reader=_read_parameters,
        shown="aqm_NAME", usual="the kernel's")
    up_aqm: str | None = key(None, "as `aqm`", "queue (AQM) for the upload "
                                               "alone", reader=_read_up_aqm,
                             usual="as `aqm`")
    up_aqm_parameters: Parameters = key(
        (), "as `aqm_NAME`", "parameter of the upload's queue", reader=_read_parameters,
        shown="up_aqm_NAME", usual="as `aqm_NAME`")
    rate_down_mbps: float = _each_rate()
    rate_up_mbps: float = _each_rate()
    shaper: str = key("htb", "`htb`, `hfsc`, `tbf`, `cake`, `none`", "the shaper, which limits "
                                                                     "the rate",
                      partial(one_of, choices=defaults.SHAPERS))
    shaper_parameters: Parameters = key(
        (), "see [queues](queues.md#shapers)", "parameter of the shaper, such as `shaper_overhead "
                                               "= 44`",
        reader=_read_shaper_parameters, shown="shaper_NAME", usual="tc's")
    tbf_burst_ms: float | None = key(
        None, "up to 1000", "TBF's burst, as time at the rate; above a `bfifo` of 3028 bytes "
        "it is a policer", _read_tbf_burst_ms, unit="ms", usual="1")
    tiers: int = key(1, "1, 3", "with 3, HTB or HFSC has three classes by DSCP",
                     lambda name, value: int(one_of(name, value, ("1", "3"))))
    ingress: str = key("lan", "`lan`, `ifb`", "where the download is shaped: as it leaves to the "
                                              "LAN, or as it arrives (IFB)",
                       partial(one_of, choices=defaults.INGRESSES))
    burst_shaping: bool = key(False, "0, 1", "let HTB exceed the rate in bursts: ceil 1.6 × rate, "
                                             "burst 15KB, cburst 30KB",
                              flag, label="burst shaping", heading="burst",
                              format=with_or_without("burst shaping"))
    txqueuelen: int | None = key(None, "packets", "transmit queue length of the router's "
                                                  "devices", packets,
                                 unit="packets", usual="the device's")
    tx_queues: int | None = key(
        None, "1 to 16", "number of transmit queues of each of the router's devices",
        partial(whole, low=1, high=defaults.MOST_TX_QUEUES), usual="1")
    router_program: str = key("", "a command",
                              "program to run on the router during the run, such as one that "
                              "adapts the rate", command)

    def queue(self, direction: str) -> tuple[str, Parameters]:
        """Return the name and the parameters, pairs (name, text), of a direction's AQM.

        direction: "down" or "up".
        """
        if direction == "up" and self.up_aqm is not None:
            return self.up_aqm, self.up_aqm_parameters
        return self.aqm, self.aqm_parameters

    def shaper_values(self) -> dict[str, Scalar]:
        """Return the requested parameters of the shaper, by name, as the numbers or words that tc
        sends. Sizes are in bytes. Empty if none are requested."""
        known = SHAPER_PARAMETERS.get(self.shaper, {})
        return {name: known[name].read(text) for name, text in self.shaper_parameters}

    def rate_mbps(self, direction: str) -> float:
        """Return the rate in Mbit/s to which the shaper limits a direction. With shaper = none it
        limits nothing, but RED's thresholds still follow from it.

        direction: "down" or "up".
        """
        return self.rate_up_mbps if direction == "up" else self.rate_down_mbps

    @property
    def queues(self) -> tuple[str, ...]:
        """Names of the AQMs of both directions, the download's first, without duplicates."""
        return tuple(dict.fromkeys(self.queue(direction)[0] for direction in ("down", "up")))

    @property
    def takes_no_shaper(self) -> bool:
        """Whether the AQM of a direction works only on the device's own queues, with no shaper of
        another kind above it, such as HTB."""
        return any(name in QUEUES and QUEUES[name].per_queue for name in self.queues)

    @property
    def queues_text(self) -> str:
        """Name of the AQM. If the upload has another AQM: "AQM down, AQM up"."""
        down, up = self.queue("down")[0], self.queue("up")[0]
        return down if down == up else f"{down} down, {up} up"

    def refuse_odd_pairs(self, scenario: Any) -> None:
        """Raise ConfigError for settings of the router that are valid alone but can't be combined
        with each other, or with a router behind ssh.

        scenario: the Scenario of which this record is a part.
        """
        behind_ssh = scenario.behind_ssh
        for key_ in ("aqm", "up_aqm"):
            name = getattr(self, key_)
            if self.shaper == "cake" and name not in (None, *_OWN_SHAPER):
                raise ConfigError(f"shaper: cake is AQM and shaper in one, but {key_} is {name}; "
                                  f"give {key_} = {' or '.join(_OWN_SHAPER)}, or another shaper",
                                  "shaper")
            if name in QUEUES and QUEUES[name].per_queue:
                self._refuse_single_queue(key_, name, scenario)
        if self.tx_queues is not None and behind_ssh:
            raise ConfigError("tx_queues: a router behind ssh has the queues that its network "
                              "cards have; leave the key out", "tx_queues")
        no_shaper = self.takes_no_shaper
        tbf, tiers = self.tbf_burst_ms is not None, self.tiers != 1
        if self.burst_shaping and self.shaper != "htb":
            give = "" if no_shaper or tbf or tiers else "give that, or "
            raise ConfigError(f"burst_shaping: needs shaper = htb, not {self.shaper}; {give}leave "
                              "burst_shaping out", "burst_shaping")
        sizes = [f"shaper_{name}" for name in ("burst", "cburst")
                 if name in dict(self.shaper_parameters)]
        if self.burst_shaping and sizes:
            raise ConfigError(f"{sizes[0]}: burst_shaping sets burst and cburst; leave out "
                              f"{' and '.join(sizes)}, or burst_shaping", sizes[0])
        if "prio" in dict(self.shaper_parameters) and self.tiers != 1:
            raise ConfigError("shaper_prio: with tiers = 3 each class has a priority already; "
                              "leave shaper_prio out", "shaper_prio")
        if tbf and self.shaper != "tbf":
            give = "" if no_shaper or tiers or self.burst_shaping else "give that, or "
            raise ConfigError(f"tbf_burst_ms: needs shaper = tbf, not {self.shaper}; {give}leave "
                              "tbf_burst_ms out", "tbf_burst_ms")
        if tiers and self.shaper not in ("htb", "hfsc"):
            give = "" if no_shaper or tbf else "give one of these, or "
            raise ConfigError(f"tiers: {self.tiers} needs shaper = htb or hfsc, not "
                              f"{self.shaper}; {give}leave tiers out", "tiers")
        if self.burst_shaping and tiers:
            raise ConfigError("tiers: 3 can't be combined with burst_shaping; leave one of the two "
                              "out", "tiers")

    def _refuse_single_queue(self, key_: str, name: str, scenario: Any) -> None:
        """Raise ConfigError if an AQM for devices with several queues can't work, because there is
        a shaper above it, it is the download's and that is shaped on the IFB device, or the devices
        have a single queue each, as in a topology. How many those of a router behind ssh have isn't
        known.

        Args:
            key_: "aqm" or "up_aqm", for the message.
            name: name of the AQM.
            scenario: the Scenario of which this record is a part.
        """
        if self.shaper not in ("cake", "none"):
            fitting = "cake or none" if {*self.queues} <= {*_OWN_SHAPER} else "none"
            raise ConfigError(f"{key_}: {name} works only on the device's own queues, with no "
                              f"shaper above it, but shaper is {self.shaper}; give shaper = "
                              f"{fitting}", key_)
        if key_ == "aqm" and self.ingress != "lan":
            raise ConfigError(f"aqm: {name} needs ingress = lan: with ingress = {self.ingress} the "
                              "download is shaped on an IFB device, which has one queue", key_)
        if scenario.path.topology != DUMBBELL:
            several = " and give tx_queues, such as tx_queues = 4" * (self.tx_queues in (None, 1))
            raise ConfigError(f"{key_}: {name} is for devices with several queues, and those of "
                              f"topology {scenario.path.topology} have one each; choose another "
                              f"queue, or leave topology out{several}", key_)
        if self.tx_queues in (None, 1) and not scenario.behind_ssh:
            raise ConfigError(f"{key_}: {name} is for devices with several queues; give tx_queues "
                              f"from 2 to {defaults.MOST_TX_QUEUES}, such as tx_queues = 4", key_)
