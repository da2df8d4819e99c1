# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the series of a data file of any format, in the units of the newest format.

Samples are converted only here. Files of 2012 to 2017 (formats before 4, and netperf-wrapper's)
differ from today's:

- netperf's request/response tests give transactions per second instead of ms.
- The HTTP latency is in seconds, iperf's throughput in bit/s.
- SERIES_META has no units, no RUNNER, or does not exist.
- There are no raw samples, but only Flent's interpolated values at every step.

Metrics, export, report and plots read series from here, so that all of them have the same values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from flent_aqm.base.words import plain
from flent_aqm.results.data_file import DataFile, a_number

# Since this version of the format, raw samples have the same units as results.
CONVERTED_VERSION = 4
MS, MBPS = "ms", "Mbits/s"
_TO_MBPS = {MBPS: 1.0, "bits/s": 1e-6}
# Key of the metadata that Flent sets if it made raw samples of interpolated steps.
MADE_OF_STEPS = "FAKE_RAW_VALUES"
LONGEST_REASON = 200


class ProbeTool(Enum):
    """The program that measured a latency series: IRTT, PING, UDP_RR or TCP_RR (netperf's). Members
    are in the order of their quality for percentiles and losses, the best first. The value is the
    tool's name for users."""

    IRTT = "irtt"
    PING = "ping"
    UDP_RR = "netperf UDP_RR"
    TCP_RR = "netperf TCP_RR"

    @property
    def is_request_response(self) -> bool:
        """Whether the tool sends the next packet when it has the reply, and reports means."""
        return self in (ProbeTool.UDP_RR, ProbeTool.TCP_RR)


class SeriesKind(Enum):
    """Quantity that a series measures: LATENCY (in ms), THROUGHPUT (in Mbit/s) or OTHER."""

    LATENCY = "latency"
    THROUGHPUT = "throughput"
    OTHER = "other"


@dataclass(frozen=True, eq=False)
class Series:
    """A measured series of a data file, in ms or Mbit/s if it is latency or throughput.

    Attributes:
        name: name of the series.
        kind: kind of its samples.
        meta: its entry in SERIES_META, {} if it has none. For latency and throughput, UNITS is that
            of the samples here. The mean of a throughput is converted, too.
        samples: raw samples with converted values, or interpolated steps. Steps have their length
            in s as `dur` if the file has no raw samples.
        tool: tool of a latency series, None for others.
        of_steps: whether the samples are Flent's interpolated steps.
        failure: reason why a series of latency or throughput has no sample with a value or of a
            lost probe, or why a series with a name of such a series is of another kind, which is a
            unit that is not known. "" if there is no such reason.
    """

    name: str
    kind: SeriesKind
    meta: Mapping[str, Any]
    samples: Sequence[Mapping[str, Any]]
    tool: ProbeTool | None = None
    of_steps: bool = False
    failure: str = field(default="")


_TOOLS = {
    "AqmIrttRunner": ProbeTool.IRTT, "IrttRunner": ProbeTool.IRTT,
    "NetperfDemoRunner": ProbeTool.UDP_RR,
    "AqmPingRunner": ProbeTool.PING, "PingRunner": ProbeTool.PING,
}
# This runner chooses its tool for each run. The samples show which.
_DELEGATING = "UdpRttRunner"
# Fields that only irtt's samples have, and the one of netperf's.
_OF_IRTT, _OF_NETPERF = ("owd_up", "ipdv", "lost"), "dur"
# Runners of series that Flent computes from others. Files before 2016 don't name runners.
_COMPUTING = ("AverageRunner", "SmoothAverageRunner", "SumRunner", "DiffMinRunner",
              "FairnessRunner", "NullRunner")
_COMPUTED_NAME = re.compile(r"\b(avg|average|sum|totals?|fairness)\b", re.IGNORECASE)
# Name of a series that is a field of another series' samples.
_FIELD_NAME = re.compile(r"::tcp_\w+$")
_LATENCY_NAME = "Ping"
_THROUGHPUT_NAME = re.compile(r"(TCP|UDP|QUIC)\b|.*(download|upload)", re.IGNORECASE)
_HTTP_LATENCY = "HTTP latency"


def series_of(data: DataFile) -> dict[str, Series]:
    """Return name of a series -> measured series of a file, in the order of its SERIES_META, then
    series that have only samples. Series without samples are included.

    Series that Flent computed from others are left out. If the file has no raw samples, the series
    consist of its interpolated steps.
    """
    raw, of_steps = data.raw_values, bool(data.metadata.get(MADE_OF_STEPS))
    if not any(raw.values()):
        raw, of_steps = _samples_of_steps(data), True
    return {name: _read_series(name, data.series_meta.get(name, {}), raw.get(name, ()),
                               data.version, of_steps)
            for name in dict.fromkeys([*data.series_meta, *raw])
            if not _is_computed(name, data.series_meta.get(name, {}), raw.get(name, ()), of_steps)}


def unit_of(name: str, meta: Mapping[str, Any]) -> str:
    """Return the unit of a series as Flent writes it, from its metadata, else guessed by its name:
    MS or MBPS. "" if it is not known."""
    units = meta.get("UNITS")
    if isinstance(units, str) and units:
        return units
    if name.startswith(_LATENCY_NAME):
        return MS
    return MBPS if _THROUGHPUT_NAME.match(name) and not _FIELD_NAME.search(name) else ""


def _is_computed(name: str, meta: Mapping[str, Any], samples: Sequence[Any], of_steps: bool
                 ) -> bool:
    """Return whether a series repeats others: Flent computed it, by its runner, its name is that of
    a field of another series' samples, as in "TCP upload::tcp_rtt", or its name has a word such as
    "total" and it has no raw samples.

    Args:
        name: name of the series.
        meta: its entry in SERIES_META, {} if it has none.
        samples: its samples in the file.
        of_steps: the samples are Flent's interpolated steps.
    """
    if meta.get("RUNNER") in _COMPUTING or _FIELD_NAME.search(name):
        return True
    return bool(_COMPUTED_NAME.search(name)) and (of_steps or not samples)


def _read_series(name: str, meta: Mapping[str, Any], samples: Sequence[Mapping[str, Any]],
                 version: int, of_steps: bool) -> Series:
    """Return a series in the units of format 4.

    Args:
        name: name of the series.
        meta: its entry in SERIES_META, {} if it has none.
        samples: its samples in the file.
        version: version of the file's format.
        of_steps: the samples are interpolated steps.
    """
    kind = _kind_of(name, meta, samples)
    tool = _tool_of(name, meta, () if of_steps else samples) if kind is SeriesKind.LATENCY else None
    if kind is SeriesKind.LATENCY and tool is None:
        kind = SeriesKind.OTHER
    if version < CONVERTED_VERSION and not of_steps:
        samples = _with_latencies_in_ms(name, kind, samples)
    if kind is SeriesKind.THROUGHPUT:
        factor = _factor_to_mbps(name, meta, samples, version)
        if factor != 1:
            samples = [_scaled(one, factor) for one in samples]
            mean = a_number(meta.get("MEAN_VALUE"))
            meta = meta if mean is None else {**meta, "MEAN_VALUE": mean * factor}
        meta = {**meta, "UNITS": MBPS}
    elif kind is SeriesKind.LATENCY:
        meta = {**meta, "UNITS": MS}
    if kind is SeriesKind.OTHER:
        failure = _why_other_unit(name, meta)
    else:
        failure = "" if any(one.get("val") is not None or "lost" in one
                            for one in samples) else _why_no_samples(name, meta)
    return Series(name, kind, meta, samples, tool, of_steps, failure)


def _kind_of(name: str, meta: Mapping[str, Any],
             samples: Sequence[Mapping[str, Any]]) -> SeriesKind:
    """Return the kind of a series: LATENCY for the unit ms, THROUGHPUT for Mbits/s and bits/s,
    OTHER for any other unit. Without a unit, OTHER if it has samples, but none with the key `val`,
    else what unit_of() guesses by the name.

    Args:
        name: name of the series.
        meta: its entry in SERIES_META, {} if it has none.
        samples: its samples in the file.
    """
    units = meta.get("UNITS")
    if units == MS:
        return SeriesKind.LATENCY
    if isinstance(units, str) and units in _TO_MBPS:
        return SeriesKind.THROUGHPUT
    if units or (samples and not any("val" in one for one in samples)):
        return SeriesKind.OTHER
    return {MS: SeriesKind.LATENCY, MBPS: SeriesKind.THROUGHPUT}.get(
        unit_of(name, meta), SeriesKind.OTHER)


def _tool_of(name: str, meta: Mapping[str, Any], samples: Sequence[Mapping[str, Any]]
          ) -> ProbeTool | None:
    """Return the tool of a latency series, None if it was measured by something else, such as the
    load time of web pages, or by a runner that is not known here. Arguments: as for _read_series(),
    but no samples if they are interpolated steps."""
    runner = meta.get("RUNNER")
    if runner not in (None, _DELEGATING, "NetperfDemoRunner"):
        return _TOOLS.get(str(runner))
    if runner is None and not name.startswith(_LATENCY_NAME):
        return None
    if any(key in one for one in samples[:100] for key in _OF_IRTT):
        return ProbeTool.IRTT
    if runner is not None or any(_OF_NETPERF in one for one in samples):
        return ProbeTool.TCP_RR if "TCP" in name else ProbeTool.UDP_RR
    return ProbeTool.UDP_RR if "UDP" in name else ProbeTool.PING


def _with_latencies_in_ms(name: str, kind: SeriesKind, samples: Sequence[Mapping[str, Any]]
               ) -> Sequence[Mapping[str, Any]]:
    """Return raw samples of a format before 4 with latencies in ms. The HTTP latency is converted
    from s, and netperf's samples from transactions per second. Others, also throughput, are
    returned unchanged. Arguments: as for _read_series(), and the kind of the series."""
    if name == _HTTP_LATENCY:
        return [_scaled(one, 1000.0) for one in samples]
    if kind is not SeriesKind.LATENCY or not any(_OF_NETPERF in one for one in samples):
        return samples
    return [_rate_to_ms(one) if _OF_NETPERF in one else one for one in samples]


def _rate_to_ms(sample: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a sample of transactions per second with the time of a transaction in ms as its value,
    None if there was no transaction. A sample whose value is missing, negative or no finite number
    is returned unchanged."""
    rate = a_number(sample.get("val"))
    if rate is None or rate < 0:
        return sample  # damaged; an error is raised where the sample is used
    return {**sample, "val": 1000 / rate if rate and math.isfinite(1000 / rate) else None}


def _factor_to_mbps(name: str, meta: Mapping[str, Any], samples: Sequence[Mapping[str, Any]],
                    version: int) -> float:
    """Return the factor from the unit of a throughput series to Mbit/s: 1e-6 for bit/s, and for
    series "UDP …" without a unit in a format before 4, which are iperf's. Otherwise 1, also if the
    unit is not known. Arguments: as for _read_series()."""
    units = meta.get("UNITS")
    if not units and version < CONVERTED_VERSION and name.startswith("UDP "):
        # A series of iperf, whose samples have no interval.
        return _TO_MBPS["bits/s"]
    return _TO_MBPS.get(str(units), 1.0)


def _scaled(sample: Mapping[str, Any], factor: float) -> Mapping[str, Any]:
    """Return a copy of a sample with its value multiplied by a factor, or the sample itself if its
    value is missing or no finite number."""
    value = a_number(sample.get("val"))
    return sample if value is None else {**sample, "val": value * factor}


def series_by_error(series_meta: Mapping[str, Any], most: int | None = None
                    ) -> dict[str, list[str]]:
    """Return each error in the metadata -> names of the series that have it. All series that one
    tool measured have its errors. Series without a list of errors (ERROR) are left out.

    Args:
        series_meta: name of a series -> its metadata.
        most: number of errors of each series that count, the first ones, None for all.
    """
    names: dict[str, list[str]] = {}
    for name, meta in series_meta.items():
        errors = meta.get("ERROR") if isinstance(meta, dict) else None
        for line in errors[:most] if isinstance(errors, list) else ():
            names.setdefault(str(line), []).append(name)
    return names


def recorded_error(name: str, meta: Mapping[str, Any]) -> str:
    """Return the first error of a series' tool, behind the series' name and cut to LONGEST_REASON
    characters, "" if none is recorded.

    Args:
        name: name of the series.
        meta: its entry in SERIES_META.
    """
    errors = meta.get("ERROR")
    if isinstance(errors, list) and errors:
        return f"{plain(name)}: {plain(str(errors[0])[:LONGEST_REASON])}"
    return ""


def _why_no_samples(name: str, meta: Mapping[str, Any]) -> str:
    """Return the reason why a series has no samples, with the series' name: recorded_error(), else
    that the tool gave no data."""
    return recorded_error(name, meta) or f"the tool of {plain(name)!r} gave no data"


def _why_other_unit(name: str, meta: Mapping[str, Any]) -> str:
    """Return the reason why a series whose name is that of a latency or throughput is neither: a
    unit that is not known. "" if its name is another, or its unit is known."""
    unit = unit_of(name, meta)
    expected = {MS: MS, MBPS: " or ".join(_TO_MBPS)}.get(unit_of(name, {}))
    if expected is None or unit in (MS, *_TO_MBPS):
        return ""
    return (f"{plain(name)!r} has the unit {plain(unit[:LONGEST_REASON])!r}, which is not read; "
            f"expected {expected}")


def _samples_of_steps(data: DataFile) -> dict[str, list[dict[str, Any]]]:
    """Return name of a series -> its interpolated values as samples: `t`, the time in epoch seconds
    (since the run's start if the metadata have no date), `val`, and `dur`, the length of a step in
    s. Steps without a number as time or value are left out, and series that are not lists. {} if
    x_values or results are missing."""
    steps, results = data.whole.get("x_values"), data.whole.get("results")
    if not isinstance(steps, list) or not isinstance(results, dict):
        return {}
    at_s = [a_number(one) for one in steps]
    length_s = a_number(data.metadata.get("STEP_SIZE")) or 0.2
    began_s = _run_start_s(data.metadata)
    return {name: [{"t": began_s + at, "val": value, "dur": length_s}
                   for at, one in zip(at_s, values, strict=False)
                   if at is not None and (value := a_number(one)) is not None]
            for name, values in results.items() if isinstance(values, list)}


def _run_start_s(metadata: Mapping[str, Any]) -> float:
    """Return the start of the run in epoch seconds from the metadata T0, or else TIME. A time
    without a zone is in UTC. 0 if neither is a date and time."""
    for key in ("T0", "TIME"):
        try:
            began = datetime.fromisoformat(str(metadata[key]).replace("Z", "+00:00"))
            return (began if began.tzinfo else began.replace(tzinfo=UTC)).timestamp()
        except (KeyError, ValueError, OverflowError):
            continue
    return 0.0
