# SPDX-License-Identifier: GPL-3.0-or-later
"""The tests that can be scored, and how each says good or bad."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from flent_aqm.base.errors import ConfigError, ToolMissing
from flent_aqm.base.nearest import did_you_mean
from flent_aqm.setup.optional import check_tools
from flent_aqm.show.figures.speedtests import SHOWN
from flent_aqm.spec.needs import needs_of_run
from flent_aqm.spec.scenario import Scenario
from flent_aqm.tools import own
from flent_aqm.tools.table import tool_of
from flent_aqm.tools.tool import Shown


@dataclass(frozen=True)
class Verdict:
    """A test's own words. metric: that has them; good, bad: those that say so; others say
    neither. Of a metric without words, 1 is good and 0 is bad."""

    metric: str
    good: Sequence[str] = ()
    bad: Sequence[str] = ()


@dataclass(frozen=True)
class Contestant:
    """A test in the scorecard. test: the name of its definition; label: what readers see; shown:
    the metrics that it shows, by whole names; verdict: None where it doesn't judge; parameters: of
    the test; method: how it measures."""

    test: str
    label: str
    shown: Shown
    verdict: Verdict | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    method: str = ""


# What a test's maker says of a line that is good for calls and games.
_VERDICTS = {
    # The draft's classes, of RPM.
    "responsiveness": Verdict("responsiveness_rpm", ("good", "excellent"), ("poor",)),
    # AIM's words for calls.
    "cloudflare": Verdict("cloudflare_aim_rtc", ("good", "great"), ("bad", "poor")),
}
# As in batches/speedtests.batch, for its reasons.
_PARAMETERS = {
    "responsiveness": {"interval_s": "1", "probes_per_s": "20"},
    "goresponsiveness": {"probes_per_s": "20"},
    "iperf3_bidirectional": {"tcp_cong_control": "cubic"},
    # HTTP/2, as on its own page.
    "cloudflare_browser": {"speedtest_tls": "yes"},
}
# A run in a browser takes the lab a minute or more, on any line.
_SLOW = ("cloudflare_browser",)


def _method(test: str) -> str:
    tool = tool_of(test)
    return tool.method if tool else ""


# Without a throughput it is no speed test.
CONTESTANTS: Mapping[str, Contestant] = {
    test: Contestant(test, " ".join(shown.label.split()), shown, _VERDICTS.get(test),
                     _PARAMETERS.get(test, {}), _method(test))
    for test, shown in SHOWN.items() if shown.rates}


def own_contestant() -> Contestant:
    """Return that of the user's file, which FLENT_AQM_OWN_TOOL names. Raises ConfigError."""
    tool, default = own.tool(), CONTESTANTS[own.NAME]
    verdict = Verdict(tool.metric("good")) if any(
        number.name == "good" for number in tool.numbers) else None
    return replace(default, verdict=verdict)


def contestant(name: str) -> Contestant:
    """Return that of a name. Raises ConfigError."""
    if name not in CONTESTANTS:
        raise ConfigError(f"{name!r} is no speed test{did_you_mean(name, CONTESTANTS)}; known: "
                          f"{', '.join(CONTESTANTS)}; or give a file of yours, FILE.py")
    return CONTESTANTS[name]


def why_not(one: Contestant) -> str:
    """Return why it isn't one of all: this machine can't run it, or it takes an hour; "" where it
    is."""
    try:
        check_tools(needs_of_run(one.test, Scenario(), one.parameters).tools)
    except ToolMissing as missing:
        return str(missing)
    return f"it takes an hour; name it: scorecard {one.test}" if one.test in _SLOW else ""
