# SPDX-License-Identifier: GPL-3.0-or-later
"""Runner for a further series of a tool that another runner runs.

The tool's runner puts its further series into its metadata under PARTS. The test's definition has
an AqmPartRunner for each, which gives the series its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flent_aqm.base.flent_api import NullRunner

# Key of a runner's metadata until take_parts(): name of the part -> series, raw samples, metadata.
PARTS = "PARTS"
_ASKED = "PART"


class AqmPartRunner(NullRunner):
    """A further series of a tool that another runner runs.

    Keys of the data set:
        of: name of that runner's series.
        part: that runner's name for this series.
    """

    def __init__(self, *, of: str, part: str, units: str = "Mbits/s", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.metadata |= {"UNITS": units, _ASKED: (of, part)}


def take_parts(measurements: dict[str, Any], series: Mapping[str, dict[str, Any]],
               raw_values: dict[str, Any]) -> int:
    """Put the parts of all tools into Flent's collected results. Return the number of parts without
    data.

    Args:
        measurements: series -> values. Changed.
        series: series -> metadata. Changed.
        raw_values: series -> raw samples. Changed.
    """
    parts = {name: about.pop(PARTS, {}) for name, about in series.items()}
    empty = 0
    for name, about in series.items():
        if _ASKED not in about:
            continue
        of, part = about.pop(_ASKED)
        values, samples, metadata = parts[of].get(
            part, ([], [], {"ERROR": [f"{of} gave no {part}"]}))
        measurements[name], raw_values[name] = values, samples
        about |= {"RUNNER": series[of]["RUNNER"], **metadata}
        empty += not values
    return empty
