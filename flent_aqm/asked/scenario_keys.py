# SPDX-License-Identifier: GPL-3.0-or-later
"""How the keys of a batch or command line are read: each value checked, and in one form.

Pairs of values that are right alone and can't be had together are refused by the scenario.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Mapping

from flent_aqm.asked.cross_traffic import parse_cross_traffic
from flent_aqm.asked.kernel import STOCK, parse_kernel
from flent_aqm.asked.link.keys import link_settings
from flent_aqm.asked.queues.foreign import is_foreign
from flent_aqm.asked.queues.parameters import check_parameter
from flent_aqm.asked.queues.table import QUEUES
from flent_aqm.asked.router_model import parse_router_model, with_parameters
from flent_aqm.asked.wifi.keys import wifi_settings
from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError
from flent_aqm.base.switch import switch

_DEVICE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,14}")
# No name begins with -, which ssh would take for an option.
_SSH = re.compile(r"ssh://([A-Za-z0-9_][A-Za-z0-9_.-]*@)?([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?")
_MOST_COMMAND = 4096
DUMBBELL = "dumbbell"


def read_fields(given: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a scenario, by name.

    given: keys of those names, `rate_mbps` for both directions, `modem_mbps` likewise, and
    `aqm_NAME` for a parameter of the AQM; keys of others are left alone. Raise ConfigError that
    names the key and the value.
    """
    rate = given.get("rate_mbps", 100)
    modem = given.get("modem_mbps")
    modem_down, modem_up = (_if_given(_rate, key, given.get(key, modem))
                            for key in ("modem_down_mbps", "modem_up_mbps"))
    kernel = parse_kernel("kernel", given.get("kernel") or STOCK)
    aqm = _aqm("aqm", given.get("aqm", "no_aqm"), kernel)
    return {
        "aqm": aqm,
        "rate_up_mbps": _shaper_rate("rate_up_mbps", given.get("rate_up_mbps", rate), modem_up),
        "rate_down_mbps": _shaper_rate("rate_down_mbps", given.get("rate_down_mbps", rate),
                                       modem_down),
        "burst_shaping": parse_flag("burst_shaping", given.get("burst_shaping", False)),
        "cross_traffic": parse_cross_traffic("cross_traffic", given.get("cross_traffic", False)),
        "base_delay_ms": _delay("base_delay_ms", given.get("base_delay_ms", 0),
                                defaults.MAX_FAR_DELAY_MS),
        "router_model": with_parameters(str(given.get("router_model", "ideal")),
                                        _router_parameters(given)),
        "testbed": _testbed(given.get("testbed", "virtual")),
        "seed": _seed(given.get("seed")),
        "aqm_parameters": _aqm_parameters(aqm, given, "aqm_"),
        "shaper": _choice("shaper", given.get("shaper", "htb"), defaults.SHAPERS),
        "ingress": _choice("ingress", given.get("ingress", "lan"), defaults.INGRESSES),
        "tiers": int(_choice("tiers", str(given.get("tiers", "1")), ("1", "3"))),
        "txqueuelen": _txqueuelen(given.get("txqueuelen")),
        "dev_down": _device("dev_down", given.get("dev_down", "")),
        "dev_up": _device("dev_up", given.get("dev_up", "")),
        "server_testbed": _server(given.get("server_testbed", "")),
        "up_aqm": (up_aqm := _up_aqm(aqm, given, kernel)),
        "up_aqm_parameters": _aqm_parameters(up_aqm, given, "up_aqm_") if up_aqm else (),
        "tcp_ecn": _tcp_ecn("tcp_ecn", given.get("tcp_ecn", False)),
        "dest2_delay_ms": _if_given(_far_delay, "dest2_delay_ms", given.get("dest2_delay_ms")),
        "modem_down_mbps": modem_down,
        "modem_up_mbps": modem_up,
        "modem_down_buffer_ms": _delay("modem_down_buffer_ms", given.get(
            "modem_down_buffer_ms", defaults.MODEM_BUFFER_MS)),
        "modem_up_buffer_ms": _delay("modem_up_buffer_ms", given.get(
            "modem_up_buffer_ms", defaults.MODEM_BUFFER_MS)),
        "client_model": _host_model("client_model", given),
        "server_model": _host_model("server_model", given),
        "ndt7_server": _choice("ndt7_server", given.get("ndt7_server", "own"),
                               defaults.NDT7_SERVERS),
        "kernel": kernel,
        "router_program": _program("router_program", given.get("router_program")),
        "tx_queues": _tx_queues(given.get("tx_queues")),
        "topology": _topology("topology", given.get("topology")),
        **_link_settings(given),
        **_wifi_settings(given),
    }


def _choice(key: str, value: object, known: tuple[str, ...]) -> str:
    if value not in known:
        raise ConfigError(f"{key}: unknown value {value!r}; known: {', '.join(known)}")
    return str(value)


def _router_parameters(given: Mapping[str, object]) -> dict[str, object]:
    """Keys router_NAME: parameters of the router's model."""
    return {key.removeprefix("router_"): value for key, value in given.items()
            if key.startswith("router_") and key not in ("router_model", "router_program")}


def _link_settings(given: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a link; none where no key of one is given."""
    if not any(value not in (None, "") for key, value in given.items()
               if key.startswith("link_") or key.endswith("_buffer_packets")):
        return {}
    return link_settings(given)


def _wifi_settings(given: Mapping[str, object]) -> dict[str, str]:
    """The fields of a Wi-Fi channel; as with a link's."""
    if not any(value not in (None, "") for key, value in given.items()
               if key.startswith("wifi_")):
        return {}
    return wifi_settings(given)


def _program(key: str, value: object) -> str:
    text = str(value or "").strip()
    if not text:
        return ""
    try:
        words = shlex.split(text)
    except ValueError as fault:
        raise ConfigError(f"{key}: {text[:60]!r}: {fault}; give a command as for a "
                          "shell") from None
    if len(text) > _MOST_COMMAND or re.search(r"[\x00-\x1f\x7f]", text) or not words[0]:
        raise ConfigError(f"{key}: {text[:60]!r} is not a command; expected one line of up to "
                          f"{_MOST_COMMAND} characters")
    return text


def _topology(key: str, value: object) -> str:
    """In one form for all ways to write it. What reads it is imported where one is given."""
    if value in (None, "", DUMBBELL):
        return DUMBBELL
    from flent_aqm.asked.topology.topology import parse_topology

    return parse_topology(key, value).text


def _host_model(key: str, given: Mapping[str, object]) -> str:
    model = with_parameters(str(given.get(key) or "ideal"), {}, key)
    if parse_router_model(model, key).timer_latency_us:
        raise ConfigError(f"{key}: {model} has a timer latency, which is the same for all hosts "
                          "of the lab; add +timer_latency_us=0, and give the latency in "
                          "router_model")
    return model


def _number(key: str, value: object, unit: str) -> float:
    try:
        if isinstance(value, bool):
            raise ValueError
        number = float(str(value))
    except ValueError:
        raise ConfigError(f"{key}: {value!r} is not a number; give it in {unit}") from None
    if not math.isfinite(number):
        raise ConfigError(f"{key}: {value!r} is not a finite number; give it in {unit}")
    return number


def _rate(key: str, value: object) -> float:
    rate = _number(key, value, "Mbit/s")
    if not defaults.MIN_RATE_MBPS <= rate <= defaults.MAX_RATE_MBPS:
        raise ConfigError(
            f"{key}: {value} Mbit/s is out of range; "
            f"expected {defaults.MIN_RATE_MBPS:g} to {defaults.MAX_RATE_MBPS:g}")
    return rate


def _shaper_rate(key: str, value: object, modem_mbps: float | None) -> float:
    """Return a rate that may be given as a share of the modem's, such as 85%."""
    text = str(value).strip()
    if not text.endswith("%"):
        return _rate(key, value)
    share_pct = _number(key, text[:-1].strip(), "% of the modem's rate")
    if not 1 <= share_pct <= 100:
        raise ConfigError(f"{key}: {text} is out of range; expected 1 to 100 % of the modem's rate")
    if modem_mbps is None:
        way = key.split("_")[1]
        raise ConfigError(f"{key}: {text} is a share of the modem's rate, which is not given; set "
                          f"modem_{way}_mbps or modem_mbps, or give the rate in Mbit/s")
    return _rate(key, round(modem_mbps * share_pct / 100, 6))


def _delay(key: str, value: object, most_ms: float = defaults.MAX_DELAY_MS) -> float:
    delay = _number(key, value, "ms")
    if not 0 <= delay <= most_ms:
        raise ConfigError(f"{key}: {value} ms is out of range; expected 0 to {most_ms:.10g}")
    return delay


def _far_delay(key: str, value: object) -> float:
    return _delay(key, value, defaults.MAX_FAR_DELAY_MS)


def parse_flag(key: str, value: object) -> bool:
    """Return a switch, by any of the words that Flent takes for one. Raises ConfigError."""
    on = switch(value)
    if on is None:
        raise ConfigError(f"{key}: {value!r} is not a switch; give yes or no")
    return on


def _tcp_ecn(key: str, value: object) -> bool | str:
    """Return a switch, or ACCECN."""
    if value == defaults.ACCECN:
        return defaults.ACCECN
    on = switch(value)
    if on is None:
        raise ConfigError(f"{key}: {value!r} is not known; give 0, 1 or {defaults.ACCECN}")
    return on


def _if_given(check: Callable[[str, object], float], key: str, value: object) -> float | None:
    return None if value is None or value == "" else check(key, value)


def _aqm(key: str, value: object, kernel: str) -> str:
    """Return a queue of the table; on a kernel of the user's any, which is looked for there."""
    if kernel != STOCK and is_foreign(str(value)):
        return str(value)
    return _choice(key, value, tuple(QUEUES))


def _up_aqm(aqm: str, given: Mapping[str, object], kernel: str) -> str | None:
    """Return the AQM of the upload, where it or a parameter of it is given."""
    named = given.get("up_aqm")
    if named:
        return _aqm("up_aqm", named, kernel)
    own = any(key.startswith("up_aqm_") and value for key, value in given.items())
    return aqm if own else None


def _aqm_parameters(aqm: str, given: Mapping[str, object],
                    prefix: str) -> tuple[tuple[str, str], ...]:
    """From one mapping (as_dict's form) and from keys aqm_NAME, checked and sorted."""
    whole = given.get(f"{prefix}parameters") or {}
    if not isinstance(whole, Mapping):
        raise ConfigError(f"{prefix}parameters: {whole!r}; give each one as {prefix}NAME = value")
    asked = {str(name): value for name, value in whole.items()}
    # What a batch leaves empty isn't given.
    asked |= {key[len(prefix):]: value for key, value in given.items()
              if key.startswith(prefix) and key != f"{prefix}parameters" and value != ""}
    # Flent makes True and False of words and of 0 and 1.
    texts = {name: str(int(value)) if isinstance(value, bool) else str(value).strip()
             for name, value in asked.items()}
    return tuple(sorted((name, check_parameter(aqm, name, text))
                        for name, text in texts.items()))


def _txqueuelen(value: object) -> int | None:
    if value is None or value == "":
        return None
    # Flent makes True and False of 1 and 0.
    text = str(int(value)) if isinstance(value, bool) else str(value)
    if not re.fullmatch(r"[0-9]{1,7}", text):
        raise ConfigError(f"txqueuelen: {text!r} is not a number of packets below 10 million")
    return int(text)


def _tx_queues(value: object) -> int | None:
    if value is None or value == "":
        return None
    # Flent makes True of 1.
    text = str(int(value)) if isinstance(value, bool) else str(value)
    if not re.fullmatch(r"[1-9][0-9]?", text) or int(text) > defaults.MOST_TX_QUEUES:
        raise ConfigError(f"tx_queues: {text!r} is not a whole number from 1 to "
                          f"{defaults.MOST_TX_QUEUES}")
    return int(text)


def _device(key: str, value: object) -> str:
    text = str(value)
    if text and not _DEVICE.fullmatch(text):
        raise ConfigError(f"{key}: {text!r} is not a valid name of a network device")
    return text


def _server(value: object) -> str:
    text = str(value)
    if text and not _SSH.fullmatch(text):
        raise ConfigError(f"server_testbed: {text!r} is not an address; "
                          "expected ssh://[user@]server[:port]")
    return text


def _testbed(value: object) -> str:
    text = str(value)
    if text in ("virtual", "netns") or _SSH.fullmatch(text):
        return text
    raise ConfigError(f"testbed: unknown value {text!r}; "
                      "known: virtual, netns, ssh://[user@]router[:port]")


def _seed(value: object) -> int | None:
    if value is None or value == "":
        return None
    text = str(value)
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise ConfigError(f"seed: {text!r} is not a whole number from 0 to 10^18 - 1")
    return int(text)
