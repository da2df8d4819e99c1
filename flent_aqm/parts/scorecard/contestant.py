# SPDX-License-Identifier: GPL-3.0-or-later
"""The tests that can be scored, and the metrics by which they call a line good or bad."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from flent_aqm.base import environment
from flent_aqm.base.errors import ConfigError, ToolMissing
from flent_aqm.base.nearest import did_you_mean
from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.setup.optional import check_tools
from flent_aqm.show.figures.speedtests import SHOWN
from flent_aqm.spec.needs import needs_of_run
from flent_aqm.spec.scenario import Scenario
from flent_aqm.tools import own
from flent_aqm.tools.table import tool_of
from flent_aqm.tools.tool import Shown


@dataclass(frozen=True)
class StatedVerdict:
    """A test's own verdict on a line.

    Attributes:
        metric: name of the metric with the verdict. If its values aren't words, 0 is bad and any
            other value is good.
        good: words that mean good. Words in neither list are no verdict.
        bad: words that mean bad.
    """

    metric: str
    good: Sequence[str] = ()
    bad: Sequence[str] = ()


@dataclass(frozen=True)
class Contestant:
    """A row of the scorecard: a test with its parameters, and the numbers that count.

    Attributes:
        test: name of the test definition.
        label: label for readers.
        shown: metrics that the test shows to its user, by their full names.
        idle: metrics of the latency that the test shows for the idle line, by their full names.
        verdict: how it judges a line, None if it doesn't.
        parameters: parameters of the test.
        method: description of how the test measures, "" for none.
        variant: name on the command line and of the folder, "" for that of the test definition.
        runs_of: name of the row whose runs are used, "" for runs of its own.
    """

    test: str
    label: str
    shown: Shown
    verdict: StatedVerdict | None = None
    idle: Sequence[str] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)
    method: str = ""
    variant: str = ""
    runs_of: str = ""

    @property
    def name(self) -> str:
        """Name on the command line and of the folder with the card. The user's own test is
        `own_test`, but is given by its file, and its folder has another name."""
        return self.variant or self.test


# Test -> how its maker's classes describe a line that is good for calls and games.
_VERDICTS = {
    # Classes of RPM in the draft.
    "responsiveness": StatedVerdict("responsiveness_rpm", ("good", "excellent"), ("poor",)),
    # Classes of AIM for calls.
    "cloudflare": StatedVerdict("cloudflare_aim_rtc", ("good", "great"), ("bad", "poor")),
}
# The same parameters as in batches/speedtests.batch, which has the reasons.
_PARAMETERS = {
    "responsiveness": {"interval_s": "1", "probes_per_s": "20"},
    "goresponsiveness": {"probes_per_s": "20"},
    "iperf3_bidirectional": {"tcp_cong_control": "cubic"},
}
# Labels of tests whose usual label says too little in a table of all tests.
_LABELS = {
    "iperf3_bidirectional": "iperf3, both directions at once",
    "ookla_style": "Ookla-style (connections and sizes are ours)",
}
# Metrics of the latency that a test shows for the idle line.
_IDLE = {
    "cloudflare": ("cloudflare_latency_ms",),
    "cloudflare_browser": ("cloudflare_browser_latency_ms",),
    "librespeed": ("librespeed_ping_ms",),
    "librespeed_browser": ("librespeed_browser_ping_ms",),
    "librespeed_cli": ("librespeed_cli_ping_ms",),
    "responsiveness": ("responsiveness_idle_ms",),
    "bbperf": ("bbperf_unloaded_rtt_download_ms", "bbperf_unloaded_rtt_upload_ms"),
    "crusader": ("crusader_idle_ms",),
}
# A run in a browser takes the lab a minute or more, on any line.
_SLOW = ("cloudflare_browser",)


def _method_of(test: str) -> str:
    """Return the description of how a test measures, "" if there is none."""
    tool = tool_of(test)
    return tool.method if tool else ""


def _by_test() -> dict[str, Contestant]:
    """Return name of a test definition -> its row, for each test that shows a throughput."""
    return {test: Contestant(test, _LABELS.get(test, " ".join(shown.label.split())), shown,
                             _VERDICTS.get(test), _IDLE.get(test, ()), _PARAMETERS.get(test, {}),
                             _method_of(test))
            for test, shown in SHOWN.items() if shown.rates}


def _variants(by_test: Mapping[str, Contestant]) -> Iterator[Contestant]:
    """Yield further rows: NDT7 with the numbers of the server's archive, Cloudflare over HTTP/2,
    and iperf3 in one direction, once for each.

    by_test: result of _by_test().
    """
    # The clients print TCP's smallest round trip. Who reads the archive has all of them.
    ndt7 = by_test["ndt7"]
    archived = replace(ndt7.shown, latency=tuple(f"ndt7_rtt_{name}_ms" for name in DIRECTIONS))
    yield replace(
        ndt7, variant="ndt7_archived", runs_of="ndt7", label="NDT7, as archived", shown=archived,
        method="Median of the round trips (TCPInfo.RTT) that the server's measurements have.")
    # The real service speaks HTTP/1.1. Over HTTP/2, latency requests wait behind the data.
    cloudflare = by_test["cloudflare"]
    yield replace(cloudflare, variant="cloudflare_http2", label="Cloudflare (its method, HTTP/2)",
                  parameters={**cloudflare.parameters, "http_version": "2"})
    for name in DIRECTIONS:
        rate = f"throughput_{name}_mbps"
        yield Contestant(f"iperf3_{name}", f"iperf3, {name} alone",
                         Shown("", rates=(rate, rate)),
                         parameters={"tcp_cong_control": "cubic"})


# All rows by their names.
CONTESTANTS: Mapping[str, Contestant] = {
    **(_TESTS := _by_test()), **{one.name: one for one in _variants(_TESTS)}}


def own_contestant() -> Contestant:
    """Return the row of the user's own test, with a verdict if its TOOL has a number `good`.

    FLENT_AQM_OWN_TOOL must name the test's file before this module is imported. That import
    executes the file, and raises ConfigError if the file can't be read, fails, or has no valid
    TOOL.

    Raises ConfigError if no file is named, or `shown` of its TOOL has no rates.
    """
    tool = own.tool()
    if tool is own.UNSET:
        raise ConfigError(own.REFUSAL)
    path = os.environ[environment.OWN_TOOL]
    if own.NAME not in CONTESTANTS:
        raise ConfigError(f"{path}: `shown` of its TOOL has rates=(), but the scorecard needs a "
                          "rate; leave rates out, which means download_mbps and upload_mbps")
    verdict = StatedVerdict(tool.metric("good")) if any(
        number.name == "good" for number in tool.numbers) else None
    return replace(CONTESTANTS[own.NAME], verdict=verdict)


def contestant(name: str) -> Contestant:
    """Return the test with this name. Raises ConfigError if it is unknown."""
    if name not in CONTESTANTS:
        near = did_you_mean(name, CONTESTANTS)
        raise ConfigError(f"unknown speed test {name[:60]!r}{f'{near} K' if near else '; k'}nown: "
                          f"{', '.join(CONTESTANTS)}; or give your own file, FILE.py")
    return CONTESTANTS[name]


def check_programs(contestant: Contestant) -> None:
    """Raise ToolMissing if a program that a test needs isn't installed."""
    check_tools(needs_of_run(contestant.test, Scenario(), contestant.parameters).tools)


def why_not(contestant: Contestant) -> str:
    """Return why --all leaves a test out: a program that it needs isn't installed, or it takes an
    hour. "" if --all includes it."""
    try:
        check_programs(contestant)
    except ToolMissing as missing:
        return str(missing)
    return (f"it takes an hour; name it: scorecard {contestant.name}"
            if contestant.test in _SLOW else "")
