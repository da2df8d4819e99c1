# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists Flent's settings that influence a run, with their options and checks for data files.

A run depends only on these settings, the test's name and the scenario. Each data file has them in
AQM.run, so that the run can be repeated. A value from a data file is only accepted if it passes the
check, because the file may come from anybody.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError
from flent_aqm.base.nearest import did_you_mean
from flent_aqm.spec.cross_traffic import FORM as CROSS_TRAFFIC
from flent_aqm.spec.cross_traffic import KINDS
from flent_aqm.spec.flow_groups import FLOWS, RATES
from flent_aqm.tools.table import SERVERS, TOOLS
from flent_aqm.tools.tool import Form


@dataclass(frozen=True)
class Check:
    """A check of values from data files. Called with a value, it returns whether that is accepted.

    Attributes:
        accepts: function (value) that returns whether it is accepted.
        form: the accepted values in words, for messages.
    """

    accepts: Callable[[object], bool]
    form: str

    def __call__(self, value: object) -> bool:
        """Return whether the value is accepted."""
        return self.accepts(value)


SECOND_SERVER = ("dest1", "dest2")
LAB_HOSTS = ("client", "router", "server", *SECOND_SERVER)


def number(lowest: float, highest: float) -> Check:
    """Return a check that accepts int and float from `lowest` to `highest`, both included, but not
    True and False."""
    return Check(lambda value: (isinstance(value, int | float) and not isinstance(value, bool)
                                and lowest <= value <= highest),
                 f"a number from {lowest:.10g} to {highest:.10g}")


def text(pattern: str, form: str = "") -> Check:
    """Return a check that accepts texts that the regular expression matches as a whole.

    form: the accepted texts in words, for messages. "" to show the regular expression.
    """
    return Check(lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None,
                 form or f"text that the regular expression {pattern} matches")


def list_of(check: Check) -> Check:
    """Return a check that accepts lists whose elements pass `check`."""
    return Check(lambda value: isinstance(value, list) and all(map(check, value)),
                 f"a list, each element {check.form}")


def _is_bool(value: object) -> bool:
    """Return whether the value is True or False."""
    return isinstance(value, bool)


def _is_ip_version(value: object) -> bool:
    """Return whether the value is 4 or 6. A float such as 4.0 would give Flent the option -4.0."""
    return isinstance(value, int) and value in (4, 6)


def _never(value: object) -> bool:
    """Return False. It is the check of settings whose values are never accepted from a data file.
    """
    return False


_FLAG = text("(?i)yes|no|true|false|on|off|1|0", "yes or no")
_COUNT = text("[1-9][0-9]{0,3}", "a whole number from 1 to 9999")
_DECIMAL = text("[0-9]{1,9}(\\.[0-9]{1,9})?", "a number without sign and exponent, such as 0.5")
_PORT = text("[1-9][0-9]{0,4}", "the number of a port")
_WORDS = text("[A-Za-z0-9][A-Za-z0-9_.,-]{0,99}",
              "up to 100 letters, digits and _ . , -, the first a letter or digit")
# Hosts of a topology (spec/topology/graph.py) may have other names. No name server knows any of
# them.
_LAB_HOST = text(defaults.HOST_NAME, "the name of a host of the lab: up to 14 of a-z, 0-9 and _, a "
                                     "letter first")


def _matches_any(forms: Sequence[Form]) -> Check:
    """Return a check that accepts texts of one of these forms."""
    checks = [text(form.pattern) for form in forms]
    return Check(lambda value: any(check(value) for check in checks),
                 " or ".join(dict.fromkeys(form.expected for form in forms)))


def _tool_parameter_checks() -> Iterator[tuple[str, Check]]:
    """Yield the name and the check of each test parameter of the tools. If several tools have the
    same parameter, the check accepts the values of each."""
    forms: dict[str, list[Form]] = {}
    for tool in TOOLS.values():
        for name, form in tool.parameters.items():
            forms.setdefault(name, []).append(form)
    for name, of_tools in forms.items():
        yield name, _matches_any(of_tools)


# Test parameter -> check of values from a data file. Flent makes command lines of some parameters
# (`command`, `ping_hosts`, …), so parameters that aren't listed here are refused.
TEST_PARAMETERS: dict[str, Check] = {
    **{server.parameter: _PORT for server in SERVERS.values() if server.parameter},
    **dict(_tool_parameter_checks()),
    "cross_traffic": text(CROSS_TRAFFIC, f"yes, no or one of {', '.join(KINDS)}"),
    "cross_direction": text("upload|download|both", "upload, download or both"),
    "cross_port": _PORT,
    "cross_cong_control": _WORDS,
    "keep_pcap": _FLAG,
    "round_trips": _FLAG,
    "start_jitter_ms": _DECIMAL,
    "cross_jitter_ms": _DECIMAL,
    "streams": _COUNT,
    "probes": text("all|ping", "all or ping"),
    "ping_host": _LAB_HOST,
    "tcp_cong_control": _WORDS,
    # of ping_exp
    "load": text("empty|upload|download|both", "empty, upload, download or both"),
    "uploads": _COUNT,
    "downloads": _COUNT,
    "ping_count": text("[1-9][0-9]{0,5}", "a whole number from 1 to 999999"),
    "ping_interval": _DECIMAL,
    "lead_time": _DECIMAL,
    # of aqm_flows
    "flows": text(FLOWS, "groups of flows such as 2xreno with + between"),
    "direction": text("upload|download", "upload or download"),
    "rates_mbps": text(RATES, "rates in Mbit/s with commas between"),
    "rate_step_s": _DECIMAL,
    # of rrul_compete
    "second_start": text("[0-9]{1,5}"),
    "second_length": text("[0-9]{1,5}"),
    # of tcp_compete, and of Flent's own tests
    "upload_streams": text("[1-9][0-9]{0,3}|num_cpus"),
    "download_streams": text("[1-9][0-9]{0,3}|num_cpus"),
    "bidir_streams": text("[1-9][0-9]{0,3}|num_cpus"),
    "cc": _WORDS,
    "ccs": _WORDS,
    "cong_control": _WORDS,
    "cong_controls": _WORDS,
    "markings": _WORDS,
    "ping_markings": _WORDS,
    "stream_delays": text("[0-9]{1,4}(,[0-9]{1,4}){0,99}"),
    "udp_bandwidth": text("[0-9.]{1,12}[kKmMgG]?"),
    "udp_pktsize": _COUNT,
}


def _are_test_parameters(value: object) -> bool:
    """Return whether the value is a dict of known test parameters with accepted values. Each value
    is checked as text."""
    return isinstance(value, dict) and all(
        name in TEST_PARAMETERS and TEST_PARAMETERS[name](str(parameter))
        for name, parameter in value.items())


@dataclass(frozen=True)
class Setting:
    """A setting of Flent.

    Attributes:
        option: option of Flent's command line, such as "--length". For IP_VERSION "-", which the
            version follows.
        may_come_from_data: function that returns True if a value from a data file is harmless and
            has the right form.
    """

    option: str
    may_come_from_data: Check


_SWITCH, _NEVER = Check(_is_bool, "true or false"), Check(_never, "")

SETTINGS: dict[str, Setting] = {
    "EXTENDED_METADATA": Setting("--extended-metadata", _SWITCH),
    "HOSTS": Setting("--host", list_of(_LAB_HOST)),
    "LOCAL_BIND": Setting("--local-bind", _NEVER),
    "LENGTH": Setting("--length", number(1, 86_400)),
    "STEP_SIZE": Setting("--step-size", number(0.001, 60)),
    "DELAY": Setting("--delay", number(0, 3600)),
    "IP_VERSION": Setting("-", Check(_is_ip_version, "4 or 6")),
    "SOCKET_TIMEOUT": Setting("--socket-timeout", number(0, 3600)),
    "SEND_SIZE": Setting("--send-size", list_of(
        text("[1-9][0-9]{0,8}", "a whole number of bytes as text"))),
    "TEST_PAYLOAD": Setting("--test-payload", _NEVER),
    "TEST_PARAMETERS": Setting("--test-parameter", Check(
        _are_test_parameters, "an object with test parameters")),
    "SWAP_UPDOWN": Setting("--swap-up-down", _SWITCH),
    "SOCKET_STATS": Setting("--socket-stats", _SWITCH),
    "MARKING_NAMES": Setting("--marking-name", _NEVER),
    "CONTROL_HOST": Setting("--control-host", _LAB_HOST),
    "CONTROL_LOCAL_BIND": Setting("--control-local-bind", _NEVER),
    "NETPERF_CONTROL_PORT": Setting("--netperf-control-port", number(1, 65_535)),
    "IRTT_INTERVAL": Setting("--irtt-sampling-interval", number(1, 60_000)),
}


def as_words(settings: Mapping[str, object]) -> list[str]:
    """Return the settings as arguments for Flent's command line, in the order of SETTINGS. Settings
    that aren't in SETTINGS are left out, and so are switches that are off.

    Each argument is one word, "OPTION=VALUE", "OPTION" for a switch that is on, or "-4" or "-6" for
    IP_VERSION. A list becomes one argument per element, and the test parameters one
    "OPTION=NAME=VALUE" each, sorted by name.

    settings: values by their names in SETTINGS.
    """
    words: list[str] = []
    for key, setting in SETTINGS.items():
        if key not in settings:
            continue
        value = settings[key]
        if isinstance(value, bool):
            words += [setting.option] if value else []
        elif isinstance(value, dict):
            words += [f"{setting.option}={name}={value[name]}" for name in sorted(value)]
        elif isinstance(value, list):
            words += [f"{setting.option}={element}" for element in value]
        elif key == "IP_VERSION":
            words.append(f"-{value}")
        else:
            words.append(f"{setting.option}={value}")
    return words


# What a user can do who trusts a refused value.
_BY_HAND = "if you trust it, run the test by a batch of your own, or by flent"


def check_from_data(settings: Mapping[str, object]) -> None:
    """Raise ConfigError if a setting from a data file is unknown, or if its value isn't accepted
    from a data file. The message names the first such setting, or one of its test parameters.

    settings: values by their names in SETTINGS.
    """
    for key, value in settings.items():
        if key not in SETTINGS:
            raise ConfigError(f"unknown setting {key[:40]!r} in AQM.run.settings of its metadata"
                              f"{did_you_mean(key, SETTINGS)}; for the file of a newer flent-aqm, "
                              "use its version; if it was changed, replay the original file")
        if SETTINGS[key].may_come_from_data(value):
            continue
        if SETTINGS[key].may_come_from_data is _NEVER:
            raise ConfigError(f"{key}: {value!r:.60}: this setting is never accepted from a "
                              f"data file, because it could do harm; {_BY_HAND} with "
                              f"{SETTINGS[key].option}")
        option = SETTINGS[key].option if key != "IP_VERSION" else "-4 or -6"
        form = SETTINGS[key].may_come_from_data.form
        if key == "TEST_PARAMETERS" and isinstance(value, dict):
            if unknown := value.keys() - TEST_PARAMETERS.keys():
                raise ConfigError(f"test parameter {min(unknown)[:40]!r}: it is unknown, or not "
                                  "accepted from a data file, because it could do harm; "
                                  f"{_BY_HAND} with --test-parameter")
            key, value, form = next(
                (f"test parameter {name[:40]!r}", parameter, TEST_PARAMETERS[name].form)
                for name, parameter in value.items()
                if not TEST_PARAMETERS[name](str(parameter)))
        raise ConfigError(f"{key}: {value!r:.60} is not accepted from a data file; expected "
                          f"{form}; {_BY_HAND} with {option}")
