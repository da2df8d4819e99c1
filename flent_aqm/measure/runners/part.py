# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes a further series of a tool that another runner runs: a runner for Flent.

The tool's runner puts its further series into its metadata under PARTS. The test's definition has
an AqmPartRunner for each, which gives the series its name. Series whose names the definition can't
know before the run are in MORE.
"""

from __future__ import annotations

from typing import Any

from flent_aqm.base.flent_api import NullRunner

# Key of a runner's metadata until take_parts(): name of the part -> series, raw samples, metadata.
PARTS = "PARTS"
# Key of a runner's metadata until take_parts(): name of a series that the test's definition doesn't
# have -> series, raw samples, metadata.
MORE = "MORE"
_REQUESTED_PART = "PART"


class AqmPartRunner(NullRunner):
    """Runs nothing: stands for a further series of a tool that another runner runs. take_parts()
    fills it in after the test.

    Keys of the data set:
        of: name of that runner's series.
        part: that runner's name for this series.
        units: unit of this series.
    """

    def __init__(self, *, of: str, part: str, units: str = "Mbits/s", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.metadata |= {"UNITS": units, _REQUESTED_PART: (of, part)}


def take_parts(measurements: dict[str, Any], series: dict[str, dict[str, Any]],
               raw_values: dict[str, Any]) -> int:
    """Put the parts of all tools, and the series under MORE, into Flent's collected results. Return
    the number of parts without data. All three arguments are changed.

    A part that its tool didn't give becomes an empty series, with the reason under ERROR in its
    metadata. A part for which the test has no AqmPartRunner is dropped.

    Args:
        measurements: pairs of time and value, by series.
        series: metadata by series.
        raw_values: raw samples by series.
    """
    parts = {name: about.pop(PARTS, {}) for name, about in series.items()}
    empty = 0
    for name, about in series.items():
        if _REQUESTED_PART not in about:
            continue
        of, part = about.pop(_REQUESTED_PART)
        # If the tool itself failed, that is the reason for its parts, too.
        reasons = series[of].get("ERROR") or [f"the tool of the series '{of}' gave no {part}"]
        values, samples, metadata = parts[of].get(part, ([], [], {"ERROR": list(reasons)}))
        measurements[name], raw_values[name] = values, samples
        about |= {"RUNNER": series[of]["RUNNER"], **metadata}
        empty += not values
    for more in [about.pop(MORE) for about in series.values() if MORE in about]:
        for name, (values, samples, metadata) in more.items():
            measurements[name], raw_values[name] = values, samples
            series[name] = metadata
    return empty
